//! The contract of an algorithm, and checks that it is kept.

pub(crate) mod checked_algorithm;
#[cfg(test)]
pub(crate) mod conformance;
pub(crate) mod contract;
