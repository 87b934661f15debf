//! The routing relations that the program has, one file each: which channels a header may take, by router, arriving channel and target.

mod compass;
pub(crate) mod dateline;
pub(crate) mod destination_tag;
pub(crate) mod duato;
pub(crate) mod e_cube;
pub(crate) mod hamiltonian;
pub(crate) mod hamiltonian_adaptive;
mod machine_ways;
pub(crate) mod merged_classes;
pub(crate) mod minimal;
pub(crate) mod nca;
pub(crate) mod negative_first;
pub(crate) mod north_last;
pub(crate) mod odd_even;
pub(crate) mod spam_routing;
pub(crate) mod tree_routing;
pub(crate) mod turn_prohibition;
pub(crate) mod turnaround;
pub(crate) mod ugal;
pub(crate) mod up_down;
pub(crate) mod valiant;
pub(crate) mod west_first;
