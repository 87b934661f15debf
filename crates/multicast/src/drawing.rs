//! Plans as pictures.

mod dot;
mod offset;
mod palette;
mod svg;
mod tree;

pub use dot::plan_dot;
pub use svg::plan_svg;

use wormcast_network::{Network, NodeId, Shape};

/// A node as users write it: coordinates in meshes and tori, its number elsewhere.
pub fn node_name(network: &Network, node: NodeId) -> String {
    match network.shape() {
        Shape::Mesh(grid) | Shape::Torus(grid) => {
            let coordinates = grid.coordinates(network.router_of(node).index());
            coordinates.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        _ => node.to_string(),
    }
}
