//! What worms of the negative-first algorithms may do.

use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId};
use wormcast_routing::WormRule;

/// Negative channels before positive ones, stops anywhere.
pub(crate) struct NegativeFirstRule {
    /// Whether worms take shortest paths to every stop, and so never turn back.
    pub(crate) minimal: bool,
}

/// The dimension and direction of a mesh's channel.
pub(crate) fn heading(network: &Network, channel: ChannelId) -> Option<(usize, Direction)> {
    let grid = network.shape().mesh()?;
    let (from, to) = (network.from(channel), network.to(channel));
    let coordinates = |grid: &Grid, router: RouterId, d| grid.coordinate(router.index(), d);
    (0..grid.dimensions()).find_map(|d| match coordinates(grid, to, d).cmp(&coordinates(grid, from, d)) {
        std::cmp::Ordering::Less => Some((d, Direction::Negative)),
        std::cmp::Ordering::Greater => Some((d, Direction::Positive)),
        std::cmp::Ordering::Equal => None,
    })
}

impl WormRule for NegativeFirstRule {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        let (Some((d1, arriving)), Some((d2, leaving))) = (heading(network, arriving), heading(network, leaving))
        else {
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
