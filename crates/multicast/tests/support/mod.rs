//! What several tests need.
#![allow(dead_code, reason = "each of them uses some of it")]

use std::sync::Arc;

use wormcast_multicast::Multicast;
use wormcast_network::{Network, NodeId, TopologySpec};

/// The network of a specification.
pub(crate) fn build(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}

/// Numbers that look random and are the same in every run: splitmix64.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    /// A multicast to so many different nodes.
    pub(crate) fn multicast(&mut self, network: &Arc<Network>, destinations: usize) -> Multicast {
        let source = self.below(network.nodes());
        let mut wanted = Vec::new();
        while wanted.len() < destinations {
            let node = self.below(network.nodes());
            if node != source && !wanted.contains(&node) {
                wanted.push(node);
            }
        }
        let node = |id: usize| NodeId::new(id as u32);
        Multicast::new(node(source), &wanted.into_iter().map(node).collect::<Vec<_>>())
    }
}
