//! Multicast on edge-disjoint spanning trees.

pub(crate) mod dstm;
pub(crate) mod dstm_tarjan;
pub(crate) mod dstm_torus;
