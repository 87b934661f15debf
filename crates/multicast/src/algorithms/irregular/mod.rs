//! Multicast on irregular networks: trees, a chain, and the forwarding tables of fabrics.

pub(crate) mod chain_ordered;
pub(crate) mod covering_matrix;
pub(crate) mod shortest_ways;
pub(crate) mod spam;
pub(crate) mod tables;
pub(crate) mod tree_infinity;
pub(crate) mod tree_one;
pub(crate) mod tree_zero;
pub(crate) mod turn_trees;
