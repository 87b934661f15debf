//! What happened at each channel over the run: of all worms, and of multicasts.

use serde::{Deserialize, Serialize};
use wormcast_network::ChannelId;

use super::record::ReplayWorm;
use crate::observers::observer::Cycle;

/// Sums by channel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sums {
    /// Flits that crossed: as many cycles in which the channel was busy.
    pub(super) flits: Vec<u64>,
    /// Cycles in which a worm held it.
    pub(super) held: Vec<u64>,
    /// Cycles that worms waited until they were granted it, or to the end of the run if they asked for nothing else.
    pub(super) waited: Vec<u64>,
    /// Worms that were granted it.
    pub(super) worms: Vec<u64>,
}

/// Sums of all worms, and of those of messages to more than one destination.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measures {
    #[serde(flatten)]
    pub(super) all: Sums,
    pub(super) multicast: Sums,
}

impl Sums {
    fn new(channels: usize) -> Self {
        let zeros = || vec![0; channels];
        Self { flits: zeros(), held: zeros(), waited: zeros(), worms: zeros() }
    }

    fn add(&mut self, worm: &ReplayWorm, end: Cycle) {
        for hop in &worm.hops {
            let channel = hop.channel.index();
            self.flits[channel] += u64::from(hop.flits);
            self.held[channel] += hop.released.map_or(end, |last| last + 1).saturating_sub(hop.granted);
            self.worms[channel] += 1;
        }
        for wait in &worm.waits {
            let ended = wait.hop.and_then(|hop| worm.hops.get(hop as usize)).map(|hop| (hop.channel, hop.granted));
            let lasts = |channel: ChannelId| (channel, end);
            let only = if let [channel] = *wait.channels { Some(lasts(channel)) } else { None };
            if let Some((channel, until)) = ended.or(only) {
                self.waited[channel.index()] += until.saturating_sub(wait.since);
            }
        }
    }
}

impl Measures {
    pub(super) fn new(channels: usize) -> Self {
        Self { all: Sums::new(channels), multicast: Sums::new(channels) }
    }

    /// Adds a worm of a run that ends before cycle `end`.
    pub(super) fn add(&mut self, worm: &ReplayWorm, end: Cycle) {
        self.all.add(worm, end);
        if worm.destinations > 1 {
            self.multicast.add(worm, end);
        }
    }
}
