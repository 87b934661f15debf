//! Spanning trees, and edge-disjoint sets of them.

pub(crate) mod comb_distance;
pub(crate) mod edge_disjoint;
pub(crate) mod fault_distance;
pub(crate) mod link_forests;
pub(crate) mod link_orders;
pub(crate) mod registry;
pub(crate) mod spanning_tree;
pub(crate) mod tarjan_trees;
pub(crate) mod torus_trees;
pub(crate) mod tree_distance;
pub(crate) mod tree_error;
