//! The worm rule of the negative-first algorithms.

use wormcast_network::{ChannelId, Direction, Network};
use wormcast_routing::WormRule;

/// Negative channels before positive ones, stops anywhere.
pub(crate) struct NegativeFirstRule {
    /// Whether worms take shortest paths to every stop, and so never turn back.
    pub(crate) minimal: bool,
}

impl WormRule for NegativeFirstRule {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        let (Some((d1, arriving)), Some((d2, leaving))) = (network.heading(arriving), network.heading(leaving)) else {
            return false;
        };
        match (arriving, leaving) {
            (Direction::Positive, Direction::Negative) => false,
            (Direction::Negative, Direction::Positive) => !self.minimal || d1 != d2,
            _ => true,
        }
    }

    fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
        true
    }
}
