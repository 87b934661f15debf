//! What several tests need.

use wormcast_network::{Network, TopologySpec};

/// The network of a specification.
pub(crate) fn build(spec: &str) -> Network {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}
