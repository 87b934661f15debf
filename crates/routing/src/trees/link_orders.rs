//! Orders in which links are considered for trees.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId};

/// Keeps these random choices apart from others that are made with the same seed.
const PURPOSE: u64 = 0x7472_6565_7320_6f66;

/// A sequence of random orders of some links: a function of the seed alone.
pub(crate) struct RandomOrders {
    rng: Xoshiro256PlusPlus,
    links: Vec<ChannelId>,
}

impl RandomOrders {
    pub(crate) fn new(links: Vec<ChannelId>, seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ PURPOSE), links }
    }

    /// The next order; all are equally likely.
    pub(crate) fn next(&mut self) -> &[ChannelId] {
        self.links.shuffle(&mut self.rng);
        &self.links
    }
}

/// The order of the links of a square torus for which the algorithm of Roskind and Tarjan finds two Hamilton paths: row by row,
/// each from the router on the diagonal on in positive direction; then the links between rows, again each row from the diagonal on,
/// without the very last on the diagonal.
///
/// *Source:* paper 5, section 5.3 and Figure 7, with the row index outermost for the links along rows as well; in print they
/// are the other way round.
pub(crate) fn hamilton_order(network: &Network, grid: &Grid) -> Vec<ChannelId> {
    let side = grid.extents()[0];
    let along = |dimension| {
        (0..side).flat_map(move |row| (0..side).map(move |step| (row, (row + step) % side))).filter_map(
            move |(row, column)| {
                let router = RouterId::new(grid.index(&[column, row]) as u32);
                network.channel_along(router, dimension, Direction::Positive)
            },
        )
    };
    let mut links: Vec<ChannelId> = along(0).collect();
    let last = RouterId::new(network.routers() as u32 - 1);
    let last = network.channel_along(last, 1, Direction::Positive);
    links.extend(along(1).filter(|&channel| Some(channel) != last));
    links
}
