//! A network as data for programs that draw it themselves.

use serde::Serialize;

use super::layout::{Layout, Position};
use crate::ids::NodeId;
use crate::network::Network;
use crate::topologies::shape::Shape;

/// A network with the positions of its routers, as columns: by router, by node and by channel, in the order of ids.
///
/// What has no names here is written as everywhere else: by its coordinates in meshes and tori, and elsewhere by its number.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkOutline {
    /// Its name.
    pub name: String,
    /// `mesh`, `torus`, `hypercube`, `bmin`, `butterfly`, `omega`, `dragonfly`, `hyperx`, `slimfly` or `irregular`.
    pub shape: &'static str,
    /// The routers along each dimension of a grid; of a multistage network, the ports on each side of its switches and its stages; else empty.
    pub size: Vec<u32>,
    /// Whether the dimensions of the grid wrap around.
    pub wraps: bool,
    /// Whether links lead in one direction only.
    pub unidirectional: bool,
    /// How many routers there are.
    pub routers: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// The width of the drawing, in pixels.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// The radius of a router's disc, in pixels.
    pub disc: f64,
    /// Of each router, the pixels from the left side of the drawing.
    pub x: Vec<f64>,
    /// Of each router, the pixels from its top.
    pub y: Vec<f64>,
    /// The name of each router, where they have names.
    pub labels: Option<Vec<String>>,
    /// The router of each node, to which its consumption channels belong.
    pub node_router: Vec<u32>,
    /// The router into which each node injects, where that is another one.
    pub entry_router: Option<Vec<u32>>,
    /// Of each node, the pixels from the left, where nodes are drawn apart from their routers.
    pub node_x: Option<Vec<f64>>,
    /// Of each node, the pixels from the top.
    pub node_y: Option<Vec<f64>>,
    /// The name of each node, where they have names, and in meshes and tori whose routers have several.
    pub node_labels: Option<Vec<String>>,
    /// The router from which each channel leads.
    pub from: Vec<u32>,
    /// The router to which each channel leads.
    pub to: Vec<u32>,
    /// The channel of the opposite direction.
    pub reverse: Vec<u32>,
    /// Each channel as users write it, where that takes more than its two routers.
    pub link_labels: Option<Vec<String>>,
}

impl NetworkOutline {
    /// The outline of a network. Takes the time of its [`Layout`].
    ///
    /// ```
    /// use wormcast_network::{NetworkOutline, TopologySpec};
    ///
    /// let outline = NetworkOutline::new(&*"mesh:3x2".parse::<TopologySpec>()?.build()?);
    /// assert_eq!((outline.shape, &outline.size[..], outline.routers), ("mesh", &[3, 2][..], 6));
    /// // The first router is at the bottom left.
    /// assert!(outline.x[0] < outline.x[1] && outline.y[0] > outline.y[3]);
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    pub fn new(network: &Network) -> Self {
        let layout = Layout::new(network);
        let places: Vec<Position> = network.router_ids().map(|router| layout.position(router)).collect();
        let apart: Option<Vec<Position>> = network.node_ids().map(|node| layout.node_position(node)).collect();
        let apart = apart.filter(|places| !places.is_empty());
        let [x, y] = columns(&places);
        let apart = apart.map(|places| columns(&places));
        let (node_x, node_y) = apart.map_or((None, None), |[x, y]| (Some(x), Some(y)));
        let (shape, size) = shape(network.shape());
        let grid = matches!(network.shape(), Shape::Mesh(_) | Shape::Torus(_));
        let named = !grid && network.has_names();
        let label_of_link = |channel| {
            let [from, to] = [network.from(channel), network.to(channel)].map(|end| network.router_label(end));
            let label = network.link_label(channel);
            (label != format!("{from} -> {to}"), label)
        };
        let (told_apart, links): (Vec<bool>, Vec<String>) = network.channel_ids().map(label_of_link).unzip();
        let entries = |node: NodeId| (network.entry_of(node), network.router_of(node));
        Self {
            name: network.name().to_owned(),
            shape,
            size,
            wraps: network.shape().wraps(),
            unidirectional: network.is_unidirectional(),
            routers: network.routers(),
            nodes: network.nodes(),
            width: rounded(layout.width()),
            height: rounded(layout.height()),
            disc: layout.disc(),
            x,
            y,
            labels: named.then(|| network.router_ids().map(|router| network.router_label(router)).collect()),
            node_router: network.node_ids().map(|node| network.router_of(node).raw()).collect(),
            entry_router: network
                .node_ids()
                .any(|node| entries(node).0 != entries(node).1)
                .then(|| network.node_ids().map(|node| network.entry_of(node).raw()).collect()),
            node_x,
            node_y,
            node_labels: (named || grid && !network.has_one_node_each())
                .then(|| network.node_ids().map(|node| network.node_label(node)).collect()),
            from: network.channel_ids().map(|channel| network.from(channel).raw()).collect(),
            to: network.channel_ids().map(|channel| network.to(channel).raw()).collect(),
            reverse: network.channel_ids().map(|channel| network.reverse(channel).raw()).collect(),
            link_labels: told_apart.contains(&true).then_some(links),
        }
    }
}

/// To tenths of a pixel, which is finer than anybody sees.
fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

fn columns(places: &[Position]) -> [Vec<f64>; 2] {
    [places.iter().map(|place| rounded(place.x)).collect(), places.iter().map(|place| rounded(place.y)).collect()]
}

fn shape(shape: &Shape) -> (&'static str, Vec<u32>) {
    match shape {
        Shape::Mesh(grid) => ("mesh", grid.extents().to_vec()),
        Shape::Torus(grid) => ("torus", grid.extents().to_vec()),
        Shape::Hypercube(grid) => ("hypercube", grid.extents().to_vec()),
        Shape::Bmin(stages) => ("bmin", vec![stages.radix(), stages.stages()]),
        Shape::Butterfly(stages) => ("butterfly", vec![stages.radix(), stages.stages()]),
        Shape::Omega(stages) => ("omega", vec![stages.radix(), stages.stages()]),
        Shape::Dragonfly(_) => ("dragonfly", Vec::new()),
        Shape::HyperX(_) => ("hyperx", Vec::new()),
        Shape::SlimFly(_) => ("slimfly", Vec::new()),
        Shape::Irregular => ("irregular", Vec::new()),
    }
}
