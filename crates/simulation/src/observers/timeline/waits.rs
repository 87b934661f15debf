//! Which worms wait for which channels, on tracks.

use std::collections::HashMap;
use std::ops::Range;

use wormcast_network::ChannelId;

use crate::observers::observer::Cycle;
use crate::observers::timeline::beside::Beside;

/// The waits that have not ended. Those for one channel, the first of several that will do or are wanted together, share its tracks,
/// one beside the other.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// By worm.
    open: HashMap<u64, Vec<Wait>>,
    /// The places at each channel.
    lanes: Beside,
    /// The number of each track so far: by channel and place there.
    tracks: HashMap<(ChannelId, u32), u32>,
}

/// A worm waits.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) since: Cycle,
    pub(super) channels: Box<[ChannelId]>,
    lane: u32,
}

/// Where a wait that has ended is shown.
pub(super) struct Ended {
    pub(super) wait: Wait,
    pub(super) time: Range<Cycle>,
    pub(super) track: u32,
}

impl Ended {
    /// The channel whose track it is, and the place beside others there.
    pub(super) fn place(&self) -> (ChannelId, u32) {
        (self.wait.channels[0], self.wait.lane)
    }
}

impl Waits {
    pub(super) fn begin(&mut self, since: Cycle, worm: u64, channels: &[ChannelId]) {
        let Some(first) = channels.first() else { return };
        let lane = self.lanes.take(first.index(), since..Cycle::MAX);
        self.open.entry(worm).or_default().push(Wait { since, channels: channels.into(), lane });
    }

    /// A worm gets a channel: ends its wait for that, if there is one and it has taken any time.
    pub(super) fn end(&mut self, at: Cycle, worm: u64, channel: ChannelId) -> Option<Ended> {
        let waits = self.open.get_mut(&worm)?;
        let place = waits.iter().position(|wait| wait.channels.contains(&channel))?;
        let wait = waits.swap_remove(place);
        if waits.is_empty() {
            self.open.remove(&worm);
        }
        self.close(wait, at)
    }

    /// Ends all waits, with their worms.
    pub(super) fn end_all(&mut self, at: Cycle) -> Vec<(u64, Ended)> {
        let mut open: Vec<(u64, Vec<Wait>)> = self.open.drain().collect();
        open.sort_unstable_by_key(|&(worm, _)| worm);
        let all = open.into_iter().flat_map(|(worm, waits)| waits.into_iter().map(move |wait| (worm, wait)));
        all.filter_map(|(worm, wait)| Some((worm, self.close(wait, at)?))).collect()
    }

    fn close(&mut self, wait: Wait, at: Cycle) -> Option<Ended> {
        let channel = wait.channels[0];
        self.lanes.end(channel.index(), wait.lane, at);
        if at <= wait.since {
            return None;
        }
        let next = self.tracks.len() as u32;
        let track = *self.tracks.entry((channel, wait.lane)).or_insert(next);
        Some(Ended { time: wait.since..at, track, wait })
    }
}
