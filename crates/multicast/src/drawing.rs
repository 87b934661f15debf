//! Plans and trees as pictures.

mod branches;
mod dot;
mod legend;
mod offset;
mod palette;
mod svg;
mod tree;
mod trees;

pub use dot::plan_dot;
pub use svg::plan_svg;
pub use trees::trees_svg;

use wormcast_network::{Network, NodeId, Shape};

/// A node as users write it: coordinates in meshes and tori, elsewhere its name if it has one, or its number.
pub fn node_name(network: &Network, node: NodeId) -> String {
    match network.shape() {
        Shape::Mesh(_) | Shape::Torus(_) => network.router_label(network.router_of(node)),
        _ => network.node_name(node).map_or_else(|| node.to_string(), str::to_owned),
    }
}
