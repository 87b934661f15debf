//! Multicast on multistage networks: by worms that switches replicate, and in software.

pub(crate) mod bit_string;
pub(crate) mod digit_products;
pub(crate) mod multiport;
pub(crate) mod switches;
pub(crate) mod u_min;
