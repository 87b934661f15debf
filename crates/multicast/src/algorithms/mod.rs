//! The multicast algorithms, by the networks that they are for.

pub(crate) mod hypercube;
pub(crate) mod irregular;
pub(crate) mod mesh;
pub(crate) mod multistage;
pub(crate) mod separate;
pub(crate) mod torus;
pub(crate) mod tree_plan;
pub(crate) mod unicast_tree;
