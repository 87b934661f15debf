//! What several tests need.

use std::sync::Arc;

use wormcast_network::{Network, TopologySpec};

/// The network of a specification.
pub(crate) fn build(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}
