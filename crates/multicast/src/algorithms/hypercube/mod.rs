//! Software multicast on all-port hypercubes.

pub(crate) mod combine;
pub(crate) mod cube_chain;
pub(crate) mod maxport;
pub(crate) mod u_cube;
pub(crate) mod w_sort;
pub(crate) mod weighted_sort;
