//! Static analysis of routings: dependencies, proofs, distances, loads.

pub(crate) mod dependency;
pub(crate) mod link_load;
pub(crate) mod numbering;
pub(crate) mod survey;
pub(crate) mod witness;
