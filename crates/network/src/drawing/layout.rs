//! Where routers and channels lie in a drawing.

use std::f64::consts::TAU;

use super::layered::Layers;
use super::levels::{Levels, MOST_HOSTS};
use super::stress::Graph;
use super::{labels, map, stress};
use crate::ids::{ChannelId, NodeId, RouterId};
use crate::network::Network;
use crate::topologies::grid::{Direction, Grid};
use crate::topologies::shape::Shape;

/// The distance between neighbours in a grid, in pixels: of few routers, and of so many that the whole has to be seen from afar.
const UNITS: [f64; 2] = [48.0, 30.0];
const MANY: usize = 400;
/// The radius of routers' discs: in small networks, in irregular ones of more than so many routers, and of very many.
const DISC: f64 = 11.0;
const DISCS: [(usize, f64); 2] = [(100, 8.0), (1000, 5.0)];
/// The length of a link of an irregular network, in discs.
const LINK: f64 = 6.0;
/// The least distance of two routers, in discs.
const APART: f64 = 3.4;
/// The most routers of an irregular network that are laid out by their distances: the time grows with their number, to seconds.
const MOST: usize = 100_000;
/// The length of a circle for each node that lies on it.
const HOST: f64 = 30.0;
/// The space around a drawing, for captions and for the links that wrap around.
pub(super) const MARGIN: f64 = 50.0;
/// The space between planes of a grid of more than two dimensions.
const GAP: f64 = 40.0;
/// How far a link that wraps around sticks out.
const STUB: f64 = 20.0;
/// The most that a link between planes bends away; less than the margin.
const BEND: f64 = 36.0;

/// A position in a drawing, in pixels from its upper left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Position {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A piece of text beside the routers: a coordinate along an axis, or a router's number.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Caption {
    /// Its centre.
    pub at: Position,
    /// What it says.
    pub text: String,
}

/// The positions of a network's routers and channels in the plane.
///
/// Grids have x to the right and y upwards with the origin at the bottom left, as in paper 1; those of more dimensions are
/// tiled plane by plane, the third dimension to the right, the fourth upwards, and so on. Multistage networks lie in layers, the nodes
/// at the bottom, or left and right if links are unidirectional.
///
/// Routers of other networks lie where their file says they are; those of fabrics in levels, hosts at the bottom; rings and complete
/// networks on a circle, clockwise from the top, and outside of it the nodes of few that are not one at each router; and all others so that distances in the picture match the hop distances in the
/// network as well as possible. All distances count for up to 1,000 routers, the distances to 50 pivots for up to 100,000; this takes a few
/// seconds at most; larger networks lie on a circle, too. The same network always has
/// the same layout, on any machine.
pub struct Layout<'n> {
    network: &'n Network,
    places: Places,
    width: f64,
    height: f64,
}

/// Where routers lie.
enum Places {
    /// The distance between neighbours along each dimension.
    Grid(Vec<f64>),
    Layers(Layers),
    Levels(Levels),
    /// At any positions.
    Free(Vec<Position>),
    Circle {
        radius: f64,
        /// Nodes outside the circle, beside their routers; empty where each router has one, and where there are too many.
        nodes: Vec<Position>,
    },
}

impl<'n> Layout<'n> {
    /// The layout of a network.
    pub fn new(network: &'n Network) -> Self {
        if let Some(&stages) = network.shape().stages() {
            let layers = Layers::new(stages, network.is_unidirectional());
            let (width, height) = (layers.width(), layers.height());
            return Self { network, places: Places::Layers(layers), width, height };
        }
        let Some(grid) = network.shape().grid() else { return Self::irregular(network) };
        let unit = unit(network);
        let extents: Vec<f64> = grid.extents().iter().map(|&k| f64::from(k)).collect();
        let mut pitches: Vec<f64> = Vec::with_capacity(extents.len());
        for dimension in 0..extents.len() {
            pitches.push(match dimension.checked_sub(2) {
                None => unit,
                Some(inner) => extents[inner] * pitches[inner] + GAP,
            });
        }
        let span = |first: usize| -> f64 {
            (first..extents.len()).step_by(2).map(|d| (extents[d] - 1.0) * pitches[d]).sum::<f64>() + 2.0 * MARGIN
        };
        let (width, height) = (span(0), span(1));
        Self { network, places: Places::Grid(pitches), width, height }
    }

    fn irregular(network: &'n Network) -> Self {
        let routers = network.routers();
        let circle = || {
            let radius = (routers as f64 * 34.0 / TAU).max(1.5 * UNITS[0]);
            let apart = network.router_ids().any(|router| network.nodes_of(router).len() != 1);
            if !apart || network.nodes() > MOST_HOSTS {
                let side = 2.0 * (radius + MARGIN);
                return Self {
                    network,
                    places: Places::Circle { radius, nodes: Vec::new() },
                    width: side,
                    height: side,
                };
            }
            let at_one = network.router_ids().map(|router| network.nodes_of(router).len()).max().unwrap_or(0);
            let outside = (radius + UNITS[0]).max((routers * at_one) as f64 * HOST / TAU);
            let side = 2.0 * (outside + MARGIN);
            let mut nodes = vec![Position { x: side / 2.0, y: side / 2.0 }; network.nodes()];
            for router in network.router_ids() {
                let of_it = network.nodes_of(router);
                let middle = (of_it.len() as f64 - 1.0) / 2.0;
                for (place, node) in of_it.enumerate() {
                    let aside = place as f64 - middle;
                    let turn = router.index() as f64 * TAU / routers as f64 + aside * HOST / outside;
                    nodes[node.index()] = around(side / 2.0, turn, outside);
                }
            }
            Self { network, places: Places::Circle { radius, nodes }, width: side, height: side }
        };
        if routers > MOST {
            return circle();
        }
        let graph = graph(network);
        let disc = disc(network);
        let places = if let Some(places) = regular(network, APART * disc) {
            places
        } else if let Some(places) = map::layout(network, &graph, APART * disc) {
            places
        } else if let Some(levels) = Levels::new(network, &graph) {
            let (width, height) = (levels.width, levels.height);
            return Self { network, places: Places::Levels(levels), width, height };
        } else if is_round(&graph) {
            return circle();
        } else {
            let mut places = stress::layout(&graph);
            places.iter_mut().flatten().for_each(|along| *along *= LINK * disc);
            stress::spread(&mut places, APART * disc);
            places
        };
        let bounds = [0, 1].map(|axis| {
            let along = places.iter().map(|place| place[axis]);
            along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), along| (low.min(along), high.max(along)))
        });
        // Names need room at the sides.
        let named = network.router_ids().filter_map(|router| network.router_name(router));
        let longest = named.map(|name| name.chars().count()).max().unwrap_or(0).min(16) as f64;
        let side = MARGIN.max(DISC + longest * labels::CHARACTER);
        let point = |[x, y]: [f64; 2]| Position { x: x - bounds[0].0 + side, y: y - bounds[1].0 + MARGIN };
        let (width, height) = (bounds[0].1 - bounds[0].0 + 2.0 * side, bounds[1].1 - bounds[1].0 + 2.0 * MARGIN);
        Self { network, places: Places::Free(places.into_iter().map(point).collect()), width, height }
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

    /// The radius of a router's disc in pixels, such that links between neighbours can be seen.
    pub fn disc(&self) -> f64 {
        disc(self.network)
    }

    /// The centre of a router: O(dimensions).
    pub fn position(&self, router: RouterId) -> Position {
        match &self.places {
            Places::Layers(layers) => layers.router(router),
            Places::Levels(Levels { routers, .. }) | Places::Free(routers) => routers[router.index()],
            Places::Circle { radius, .. } => self.on_circle(router, *radius),
            Places::Grid(pitches) => {
                let along = |first: usize| -> f64 {
                    let Some(grid) = self.network.shape().grid() else { return 0.0 };
                    let dimensions = (first..grid.dimensions()).step_by(2);
                    dimensions.map(|d| f64::from(grid.coordinate(router.index(), d)) * pitches[d]).sum()
                };
                Position { x: MARGIN + along(0), y: self.height - MARGIN - along(1) }
            }
        }
    }

    /// The centre of a node, where nodes are drawn apart from their routers: in multistage networks, and in fabrics of few nodes.
    pub fn node_position(&self, node: NodeId) -> Option<Position> {
        match &self.places {
            Places::Layers(layers) => Some(layers.node(node)),
            Places::Levels(Levels { nodes, .. }) | Places::Circle { nodes, .. } => nodes.get(node.index()).copied(),
            _ => None,
        }
    }

    /// The centre of a node where it injects: [`node_position`](Self::node_position), unless links are unidirectional.
    pub fn entry_position(&self, node: NodeId) -> Option<Position> {
        match &self.places {
            Places::Layers(layers) => Some(layers.entry(node)),
            _ => self.node_position(node),
        }
    }

    fn on_circle(&self, router: RouterId, radius: f64) -> Position {
        around(self.width / 2.0, f64::from(router.raw()) / self.network.routers() as f64 * TAU, radius)
    }

    /// The lines along which a channel is drawn, in its direction. Both channels of a link lie on the same lines; a link that
    /// wraps around a plane is two stubs.
    pub fn lines(&self, channel: ChannelId) -> Vec<Vec<Position>> {
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
                    let out = out * unit(network) / UNITS[0];
                    let (dx, dy) = if dimension == 0 { (out, 0.0) } else { (0.0, -out) };
                    vec![vec![a, Position { x: a.x + dx, y: a.y + dy }], vec![Position { x: b.x - dx, y: b.y - dy }, b]]
                } else {
                    vec![vec![a, b]]
                }
            }
            Shape::Bmin(_) | Shape::Butterfly(_) | Shape::Omega(_) => vec![vec![a, b]],
            _ => {
                let link = channel.min(network.reverse(channel));
                let low = network.from(link);
                let parallel = network.outputs(low).filter(|&c| c < link && network.to(c) == network.to(link)).count();
                // Within a level a straight line would run over the switches in between.
                let level = matches!(self.places, Places::Levels(_)) && (a.y - b.y).abs() < 1e-6;
                let bend = 0.1 * parallel as f64 + if level { 0.12 } else { 0.0 };
                if bend == 0.0 { vec![vec![a, b]] } else { vec![bent(a, b, bend, from < to)] }
            }
        }
    }

    /// Texts beside the routers' discs, where there is room.
    pub(super) fn names(&self, text: impl Fn(RouterId) -> String) -> Vec<Caption> {
        let network = self.network;
        let mut discs: Vec<(Position, String)> =
            network.router_ids().map(|router| (self.position(router), text(router))).collect();
        let straight = |channel: ChannelId| (self.position(network.from(channel)), self.position(network.to(channel)));
        let mut links: Vec<(Position, Position)> =
            network.channel_ids().filter(|&channel| channel < network.reverse(channel)).map(straight).collect();
        for node in network.node_ids() {
            let Some(at) = self.node_position(node) else { break };
            links.push((self.position(network.router_of(node)), at));
            discs.push((at, String::new()));
        }
        labels::beside(&discs, self.disc(), &links, self.width)
            .into_iter()
            .filter(|caption| !caption.text.is_empty())
            .collect()
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

    /// Coordinates beside each plane of a mesh or torus; elsewhere the routers' names, or else their numbers, where there is room.
    pub(crate) fn captions(&self) -> Vec<Caption> {
        const BESIDE: f64 = 28.0;
        let network = self.network;
        let routers = network.router_ids();
        let (Shape::Mesh(grid) | Shape::Torus(grid)) = network.shape() else {
            let at = |router| match &self.places {
                Places::Grid(_) => {
                    let centre = self.position(router);
                    Position { x: centre.x + 14.0, y: centre.y - 14.0 }
                }
                Places::Circle { radius, .. } => self.on_circle(router, radius + 20.0),
                _ => self.position(router),
            };
            return match &self.places {
                Places::Free(_) | Places::Levels(_) => self.names(|router| network.router_label(router)),
                _ => routers.map(|router| Caption { at: at(router), text: router.to_string() }).collect(),
            };
        };
        let mut captions = Vec::new();
        for router in routers {
            let centre = self.position(router);
            let c = |d: usize| if d < grid.dimensions() { grid.coordinate(router.index(), d) } else { 0 };
            if c(1) == 0 {
                captions.push(Caption { at: Position { y: centre.y + BESIDE, ..centre }, text: c(0).to_string() });
            }
            if c(0) == 0 && grid.dimensions() > 1 {
                captions.push(Caption { at: Position { x: centre.x - BESIDE, ..centre }, text: c(1).to_string() });
            }
            if c(0) == 0 && c(1) == 0 && grid.dimensions() > 2 {
                let plane: Vec<String> = (2..grid.dimensions()).map(|d| c(d).to_string()).collect();
                let middle = centre.x + f64::from(grid.extents()[0] - 1) * unit(network) / 2.0;
                let at = Position { x: middle, y: centre.y + BESIDE + 14.0 };
                captions.push(Caption { at, text: format!("x,y,{}", plane.join(",")) });
            }
        }
        captions
    }
}

/// Which routers are joined.
pub(super) fn graph(network: &Network) -> Graph {
    let pairs = network.channel_ids().map(|channel| (network.from(channel).raw(), network.to(channel).raw()));
    Graph::new(network.routers(), pairs)
}

/// Whether the network is usually drawn as a circle: a ring, or a complete network.
fn is_round(graph: &Graph) -> bool {
    let n = graph.vertices();
    let degrees = |degree: usize| (0..n).all(|vertex| graph.neighbours(vertex).len() == degree);
    let follows = |vertex: usize| graph.neighbours(vertex).contains(&(((vertex + 1) % n) as u32));
    degrees(n - 1) || degrees(2) && (0..n).all(follows)
}

/// The routers of a dragonfly, group by group on a circle of circles, and those of a `HyperX`, in rows and columns that are bent, so that links do not lie on each other.
fn regular(network: &Network, apart: f64) -> Option<Vec<[f64; 2]>> {
    let on_circle = |number: u32, of: u32, radius: f64| {
        let angle = f64::from(number) / f64::from(of) * TAU;
        [radius * angle.sin(), -radius * angle.cos()]
    };
    match network.shape() {
        Shape::Dragonfly(dragonfly) => {
            let (size, groups) = (dragonfly.group_size(), dragonfly.groups());
            let small = (f64::from(size) * apart / TAU).max(apart * 0.8);
            let large = (f64::from(groups) * (2.0 * small + 1.5 * apart) / TAU).max(3.0 * small);
            let place = |router: RouterId| {
                let group = dragonfly.group(router);
                let (middle, turned) = (on_circle(group, groups, large), f64::from(group) / f64::from(groups) * TAU);
                let [x, y] = on_circle(router.raw() % size, size, small);
                let (sin, cos) = turned.sin_cos();
                [middle[0] + x * cos - y * sin, middle[1] + x * sin + y * cos]
            };
            Some(network.router_ids().map(place).collect())
        }
        Shape::HyperX(hyperx) => {
            let grid = hyperx.grid();
            let pitch = 2.2 * apart;
            let place = |router: RouterId| {
                let mut place = [0.0, 0.0];
                let mut step = [pitch, pitch];
                for (dimension, &extent) in grid.extents().iter().enumerate() {
                    let (axis, other) = (dimension % 2, 1 - dimension % 2);
                    let along = f64::from(grid.coordinate(router.index(), dimension)) - f64::from(extent - 1) / 2.0;
                    place[axis] += along * step[axis];
                    // A row is an arc.
                    let flat = f64::from(extent.max(2) - 1) / 2.0;
                    place[other] -= 0.6 * pitch * (along / flat).powi(2);
                    step[axis] *= f64::from(extent) + 0.7;
                }
                [place[0], -place[1]]
            };
            Some(network.router_ids().map(place).collect())
        }
        _ => None,
    }
}

/// A position on the circle of this radius around (`middle`, `middle`), an angle clockwise from its top.
fn around(middle: f64, angle: f64, radius: f64) -> Position {
    Position { x: middle + radius * angle.sin(), y: middle - radius * angle.cos() }
}

fn unit(network: &Network) -> f64 {
    UNITS[usize::from(network.routers() > MANY)]
}

fn disc(network: &Network) -> f64 {
    let irregular = network.shape().grid().is_none() && network.shape().stages().is_none();
    let large = DISCS.iter().rev().find(|&&(routers, _)| irregular && network.routers() > routers);
    large.map_or(DISC, |&(_, disc)| disc)
}

/// A curve from `a` to `b` that bends away by a fraction of its length, within limits; to the same side whichever way it is drawn.
fn bent(a: Position, b: Position, bend: f64, forwards: bool) -> Vec<Position> {
    const STEPS: u32 = 16;
    let length = (b.x - a.x).hypot(b.y - a.y).max(1e-9);
    let bend = bend.min(BEND / length);
    let side = if forwards { bend } else { -bend };
    // A quadratic curve comes half as near to its control point.
    let control = Position {
        x: f64::midpoint(a.x, b.x) + 2.0 * side * (b.y - a.y),
        y: f64::midpoint(a.y, b.y) - 2.0 * side * (b.x - a.x),
    };
    let at = |step: u32| {
        let t = f64::from(step) / f64::from(STEPS);
        let mix = |a: f64, c: f64, b: f64| (1.0 - t).powi(2) * a + 2.0 * t * (1.0 - t) * c + t.powi(2) * b;
        Position { x: mix(a.x, control.x, b.x), y: mix(a.y, control.y, b.y) }
    };
    (0..=STEPS).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;
    use crate::builder::{NetworkBuilder, NodeDetails};

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
    fn irregular_networks_have_room_for_their_discs() {
        for spec in ["random:nodes=60,degree=4,seed=3", "tree:nodes=300,seed=1", "petersen", "complete:9", "ring:30"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let layout = Layout::new(&network);
            let all: Vec<Position> = network.router_ids().map(|router| layout.position(router)).collect();
            for (index, a) in all.iter().enumerate() {
                assert!((0.0..layout.width()).contains(&a.x) && (0.0..layout.height()).contains(&a.y), "{spec}");
                let free = |b: &Position| (a.x - b.x).hypot(a.y - b.y) > 2.0 * layout.disc();
                assert!(all[..index].iter().all(free), "{spec} {index}");
            }
        }
    }

    /// In a ring, on a circle, neighbours are nearest; in a complete network all are on the circle.
    #[test]
    fn hosts_of_a_ring_lie_outside_of_it_and_apart() {
        for count in [2, 7] {
            let mut builder = NetworkBuilder::new("a ring of five switches");
            builder.at_least(5).unwrap();
            for switch in 0..5 {
                builder.link(RouterId::new(switch), RouterId::new((switch + 1) % 5)).unwrap();
                for _ in 0..count {
                    builder.node(RouterId::new(switch), NodeDetails::default()).unwrap();
                }
            }
            let network = builder.build().unwrap();
            let layout = Layout::new(&network);
            let centre = layout.width() / 2.0;
            let places: Vec<Position> = network.node_ids().map(|node| layout.node_position(node).unwrap()).collect();
            let routers = network.router_ids().map(|router| layout.position(router));
            let from_centre = |at: Position| (at.x - centre).hypot(at.y - centre);
            let outermost = routers.map(from_centre).fold(0.0, f64::max);
            for (place, &at) in places.iter().enumerate() {
                assert!(from_centre(at) > outermost + DISC + 10.0 && from_centre(at) < centre - 10.0);
                assert!(places[..place].iter().all(|&other| (at.x - other.x).hypot(at.y - other.y) > 25.0));
            }
        }
    }

    #[test]
    fn a_network_without_regularity_is_no_circle() {
        let from_centre = |spec: &str| {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let layout = Layout::new(&network);
            let centre = Position { x: layout.width() / 2.0, y: layout.height() / 2.0 };
            let away = |router| layout.position(router).x - centre.x;
            let down = |router| layout.position(router).y - centre.y;
            let distances: Vec<f64> = network.router_ids().map(|router| away(router).hypot(down(router))).collect();
            let most = distances.iter().copied().fold(0.0, f64::max);
            distances.into_iter().fold(f64::INFINITY, f64::min) / most
        };
        assert!(from_centre("ring:12") > 0.99 && from_centre("complete:7") > 0.99);
        assert!(from_centre("random:nodes=60,degree=4,seed=3") < 0.5);
    }

    #[test]
    fn a_map_has_north_above_and_east_to_the_right() {
        let cities = [("Zürich", 47.4, 8.5), ("Berlin", 52.5, 13.4), ("Madrid", 40.4, -3.7)];
        let vertex = |(name, latitude, longitude): (&str, f64, f64)| {
            format!(
                "<node id='{name}'><data key='Latitude'>{latitude}</data><data key='Longitude'>{longitude}</data></node>"
            )
        };
        let vertices: String = cities.map(vertex).concat();
        let edges = "<node id='sea'/><edge source='Zürich' target='sea'/><edge source='Madrid' target='sea'/>";
        let text = format!("<graphml><graph edgedefault='undirected'>{vertices}{edges}</graph></graphml>");
        let network = crate::FileFormat::Graphml.parse("map", &text).unwrap();
        let layout = Layout::new(&network);
        let [zurich, berlin, madrid, sea] = [0, 1, 2, 3].map(|router| layout.position(RouterId::new(router)));
        assert!(madrid.x < zurich.x && zurich.x < berlin.x && berlin.y < zurich.y && zurich.y < madrid.y);
        assert!((sea.x - f64::midpoint(zurich.x, madrid.x)).abs() < 1e-6, "between its neighbours");
        // Degrees of longitude are shorter than those of latitude.
        let scale = |across: f64, degrees: f64| across / degrees;
        let (east, south) = (scale(berlin.x - madrid.x, 17.1), scale(madrid.y - berlin.y, 12.1));
        assert!((east / south - 46.767f64.to_radians().cos()).abs() < 1e-3, "{east} {south}");
    }

    #[test]
    fn channels_start_and_end_at_their_routers_and_links_are_drawn_once() {
        let specs =
            ["mesh:3x2x3", "torus:2x3", "torus:3x3x3", "hypercube:4", "bmin:3x3", "omega:2x3", "petersen", "ring:9"];
        for spec in specs {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let layout = Layout::new(&network);
            for channel in network.channel_ids() {
                let lines = layout.lines(channel);
                let near = |a: Position, b: Position| (a.x - b.x).abs() + (a.y - b.y).abs() < 1e-6;
                assert!(near(lines[0][0], layout.position(network.from(channel))));
                let last = lines.last().and_then(|line| line.last()).unwrap();
                assert!(near(*last, layout.position(network.to(channel))));
                if network.is_unidirectional() {
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
