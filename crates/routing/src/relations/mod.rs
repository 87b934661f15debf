//! The routing relations that the program has, one file each: which channels a header may take, by router, arriving channel and target.

pub(crate) mod destination_tag;
pub(crate) mod e_cube;
pub(crate) mod hamiltonian;
pub(crate) mod negative_first;
pub(crate) mod spam_routing;
pub(crate) mod tree_routing;
pub(crate) mod turn_prohibition;
pub(crate) mod turnaround;
pub(crate) mod up_down;
