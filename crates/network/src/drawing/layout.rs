//! Where routers and channels lie in a drawing.

use std::f64::consts::TAU;

use super::layered::Layers;
use crate::grid::{Direction, Grid};
use crate::ids::{ChannelId, NodeId, RouterId};
use crate::network::Network;
use crate::shape::Shape;

/// The distance between neighbours in a grid, in pixels.
const UNIT: f64 = 48.0;
/// The space around a drawing, for captions and for the links that wrap around.
pub(super) const MARGIN: f64 = 50.0;
/// The space between planes of a grid of more than two dimensions.
const GAP: f64 = 40.0;
/// How far a link that wraps around sticks out.
const STUB: f64 = 20.0;
/// The most that a link between planes bends away; less than the margin.
const BEND: f64 = 36.0;

/// A place in a drawing, in pixels from its upper left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A piece of text beside the routers: a coordinate along an axis, or a router's number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Caption {
    /// Its centre.
    pub at: Point,
    /// What it says.
    pub text: String,
}

/// A network's plane embedding.
///
/// Grids have x to the right and y upwards with the origin at the bottom left, as in paper 1; those of more dimensions are
/// tiled plane by plane, the third dimension to the right, the fourth upwards, and so on. Multistage networks lie in layers, the nodes
/// at the bottom, or left and right if links are one-way. Other networks lie on a circle, clockwise from the top.
pub struct Layout<'n> {
    network: &'n Network,
    layers: Option<Layers>,
    /// The distance between neighbours along each dimension of a grid.
    pitches: Vec<f64>,
    width: f64,
    height: f64,
}

impl<'n> Layout<'n> {
    /// The layout of a network.
    pub fn new(network: &'n Network) -> Self {
        if let Some(&stages) = network.shape().stages() {
            let layers = Layers::new(stages, network.is_one_way());
            let (width, height) = (layers.width(), layers.height());
            return Self { network, layers: Some(layers), pitches: Vec::new(), width, height };
        }
        let Some(grid) = network.shape().grid() else {
            let side = 2.0 * (radius(network) + MARGIN);
            return Self { network, layers: None, pitches: Vec::new(), width: side, height: side };
        };
        let extents: Vec<f64> = grid.extents().iter().map(|&k| f64::from(k)).collect();
        let mut pitches: Vec<f64> = Vec::with_capacity(extents.len());
        for dimension in 0..extents.len() {
            pitches.push(match dimension.checked_sub(2) {
                None => UNIT,
                Some(inner) => extents[inner] * pitches[inner] + GAP,
            });
        }
        let span = |first: usize| -> f64 {
            (first..extents.len()).step_by(2).map(|d| (extents[d] - 1.0) * pitches[d]).sum::<f64>() + 2.0 * MARGIN
        };
        let (width, height) = (span(0), span(1));
        Self { network, layers: None, pitches, width, height }
    }

    /// The network that is laid out.
    pub fn network(&self) -> &'n Network {
        self.network
    }

    /// The width of the drawing in pixels.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The height of the drawing in pixels.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The centre of a router: O(dimensions).
    pub fn position(&self, router: RouterId) -> Point {
        if let Some(layers) = self.layers {
            return layers.router(router);
        }
        match self.network.shape().grid() {
            Some(grid) => {
                let along = |first: usize| -> f64 {
                    let dimensions = (first..grid.dimensions()).step_by(2);
                    dimensions.map(|d| f64::from(grid.coordinate(router.index(), d)) * self.pitches[d]).sum()
                };
                Point { x: MARGIN + along(0), y: self.height - MARGIN - along(1) }
            }
            None => self.on_circle(router, radius(self.network)),
        }
    }

    /// The centre of a node, where nodes are drawn apart from their routers: in multistage networks.
    pub fn node_position(&self, node: NodeId) -> Option<Point> {
        self.layers.map(|layers| layers.node(node))
    }

    /// The centre of a node where it injects: [`node_position`](Self::node_position), unless links are one-way.
    pub fn entry_position(&self, node: NodeId) -> Option<Point> {
        self.layers.map(|layers| layers.entry(node))
    }

    fn on_circle(&self, router: RouterId, radius: f64) -> Point {
        let angle = f64::from(router.raw()) / self.network.routers() as f64 * TAU;
        Point { x: self.width / 2.0 + radius * angle.sin(), y: self.height / 2.0 - radius * angle.cos() }
    }

    /// The lines along which a channel is drawn, in its direction. Both channels of a link lie on the same lines; a link that
    /// wraps around a plane is two stubs.
    pub fn lines(&self, channel: ChannelId) -> Vec<Vec<Point>> {
        let network = self.network;
        let (from, to) = (network.from(channel), network.to(channel));
        let (a, b) = (self.position(from), self.position(to));
        match network.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) | Shape::Hypercube(grid) => {
                let differs = |d: &usize| grid.coordinate(from.index(), *d) != grid.coordinate(to.index(), *d);
                let dimension = (0..grid.dimensions()).find(differs).unwrap_or(0);
                if dimension >= 2 {
                    // Straight, it would run over the routers in between.
                    vec![bent(a, b, 0.16, from < to)]
                } else if let Some(direction) = self.wraps(grid, dimension, channel) {
                    let out = match direction {
                        Direction::Negative => -STUB,
                        Direction::Positive => STUB,
                    };
                    let (dx, dy) = if dimension == 0 { (out, 0.0) } else { (0.0, -out) };
                    vec![vec![a, Point { x: a.x + dx, y: a.y + dy }], vec![Point { x: b.x - dx, y: b.y - dy }, b]]
                } else {
                    vec![vec![a, b]]
                }
            }
            Shape::Bmin(_) | Shape::Butterfly(_) | Shape::Omega(_) => vec![vec![a, b]],
            Shape::Irregular => {
                let link = channel.min(network.reverse(channel));
                let low = network.from(link);
                let parallel = network.outputs(low).filter(|&c| c < link && network.to(c) == network.to(link)).count();
                if parallel == 0 { vec![vec![a, b]] } else { vec![bent(a, b, 0.1 * parallel as f64, from < to)] }
            }
        }
    }

    /// The direction of a torus's channel that wraps around.
    fn wraps(&self, grid: &Grid, dimension: usize, channel: ChannelId) -> Option<Direction> {
        if !self.network.shape().wraps() {
            return None;
        }
        let from = self.network.from(channel);
        let last = grid.extents()[dimension] - 1;
        let edge = match grid.coordinate(from.index(), dimension) {
            0 => Direction::Negative,
            c if c == last => Direction::Positive,
            _ => return None,
        };
        (self.network.channel_along(from, dimension, edge) == Some(channel)).then_some(edge)
    }

    /// Coordinates beside each plane of a mesh or torus; the routers' numbers elsewhere.
    pub(crate) fn captions(&self) -> Vec<Caption> {
        const BESIDE: f64 = 28.0;
        let network = self.network;
        let routers = network.router_ids();
        let (Shape::Mesh(grid) | Shape::Torus(grid)) = network.shape() else {
            let at = |router| match network.shape().grid() {
                Some(_) => {
                    let centre = self.position(router);
                    Point { x: centre.x + 14.0, y: centre.y - 14.0 }
                }
                None if self.layers.is_some() => self.position(router),
                None => self.on_circle(router, radius(network) + 20.0),
            };
            return routers.map(|router| Caption { at: at(router), text: router.to_string() }).collect();
        };
        let mut captions = Vec::new();
        for router in routers {
            let centre = self.position(router);
            let c = |d: usize| if d < grid.dimensions() { grid.coordinate(router.index(), d) } else { 0 };
            if c(1) == 0 {
                captions.push(Caption { at: Point { y: centre.y + BESIDE, ..centre }, text: c(0).to_string() });
            }
            if c(0) == 0 && grid.dimensions() > 1 {
                captions.push(Caption { at: Point { x: centre.x - BESIDE, ..centre }, text: c(1).to_string() });
            }
            if c(0) == 0 && c(1) == 0 && grid.dimensions() > 2 {
                let plane: Vec<String> = (2..grid.dimensions()).map(|d| c(d).to_string()).collect();
                let middle = centre.x + f64::from(grid.extents()[0] - 1) * UNIT / 2.0;
                let at = Point { x: middle, y: centre.y + BESIDE + 14.0 };
                captions.push(Caption { at, text: format!("x,y,{}", plane.join(",")) });
            }
        }
        captions
    }
}

/// The radius of the circle on which irregular networks lie.
fn radius(network: &Network) -> f64 {
    (network.routers() as f64 * 34.0 / TAU).max(1.5 * UNIT)
}

/// A curve from `a` to `b` that bends away by a fraction of its length, within limits; to the same side whichever way it is drawn.
fn bent(a: Point, b: Point, bend: f64, forwards: bool) -> Vec<Point> {
    const STEPS: u32 = 16;
    let length = (b.x - a.x).hypot(b.y - a.y).max(1e-9);
    let bend = bend.min(BEND / length);
    let side = if forwards { bend } else { -bend };
    // A quadratic curve comes half as near to its control point.
    let control = Point {
        x: f64::midpoint(a.x, b.x) + 2.0 * side * (b.y - a.y),
        y: f64::midpoint(a.y, b.y) - 2.0 * side * (b.x - a.x),
    };
    let at = |step: u32| {
        let t = f64::from(step) / f64::from(STEPS);
        let mix = |a: f64, c: f64, b: f64| (1.0 - t).powi(2) * a + 2.0 * t * (1.0 - t) * c + t.powi(2) * b;
        Point { x: mix(a.x, control.x, b.x), y: mix(a.y, control.y, b.y) }
    };
    (0..=STEPS).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;

    #[test]
    fn the_origin_is_at_the_bottom_left() {
        let mesh = "mesh:3x2".parse::<TopologySpec>().unwrap().build().unwrap();
        let layout = Layout::new(&mesh);
        let (origin, east, north) = (0, 1, 3);
        let at = |router| layout.position(RouterId::new(router));
        assert!(at(origin).x < at(east).x && (at(origin).y - at(east).y).abs() < 1e-9);
        assert!(at(origin).y > at(north).y && (at(origin).x - at(north).x).abs() < 1e-9);
    }

    #[test]
    fn channels_start_and_end_at_their_routers_and_links_are_drawn_once() {
        for spec in ["mesh:3x2x3", "torus:2x3", "torus:3x3x3", "hypercube:4", "bmin:3x3", "omega:2x3"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let layout = Layout::new(&network);
            for channel in network.channel_ids() {
                let lines = layout.lines(channel);
                let near = |a: Point, b: Point| (a.x - b.x).abs() + (a.y - b.y).abs() < 1e-6;
                assert!(near(lines[0][0], layout.position(network.from(channel))));
                let last = lines.last().and_then(|line| line.last()).unwrap();
                assert!(near(*last, layout.position(network.to(channel))));
                if network.is_one_way() {
                    continue;
                }
                let mut back = layout.lines(network.reverse(channel));
                back.reverse();
                for (line, mut other) in lines.into_iter().zip(back) {
                    other.reverse();
                    assert!(line.iter().zip(&other).all(|(&a, &b)| near(a, b)), "{spec} {channel}");
                }
            }
        }
    }
}
