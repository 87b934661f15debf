//! What algorithms promise, and whether they keep it.

#[cfg(test)]
pub(crate) mod conformance;
pub(crate) mod promise;
pub(crate) mod watched;
