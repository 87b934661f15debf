//! How links are used in a part of a run.

use wormcast_network::ChannelId;

use crate::observer::Cycle;
use crate::result::LinkUse;

/// Counts, for each link, flits that crossed and cycles in which it was held. Memory: 16 bytes a link, as much again while a
/// window is open.
pub(crate) struct LinkCounter {
    flits: Vec<u64>,
    /// Cycles held, less the grant times of those who hold the link now: adding the time for each holder completes it.
    held: Vec<i64>,
    holders: Vec<u32>,
    opened: Option<(Cycle, Vec<u64>, Vec<i64>)>,
    closed: LinkUse,
}

impl LinkCounter {
    pub(crate) fn new(links: usize) -> Self {
        Self {
            flits: vec![0; links],
            held: vec![0; links],
            holders: vec![0; links],
            opened: None,
            closed: LinkUse::default(),
        }
    }

    pub(crate) fn granted(&mut self, at: Cycle, channel: ChannelId) {
        if let Some(held) = self.held.get_mut(channel.index()) {
            *held -= at as i64;
            self.holders[channel.index()] += 1;
        }
    }

    pub(crate) fn released(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        if let Some(held) = self.held.get_mut(channel.index()) {
            *held += at as i64 + 1;
            self.holders[channel.index()] -= 1;
            self.flits[channel.index()] += u64::from(flits);
        }
    }

    /// Counts so far, including those of worms that hold links now: `crossing` lists (link, flits that have crossed).
    fn totals(&self, now: Cycle, crossing: &[(ChannelId, u32)]) -> (Vec<u64>, Vec<i64>) {
        let mut flits = self.flits.clone();
        for &(channel, crossed) in crossing {
            flits[channel.index()] += u64::from(crossed);
        }
        let held = self.held.iter().zip(&self.holders).map(|(&held, &n)| held + i64::from(n) * now as i64).collect();
        (flits, held)
    }

    /// Starts the window at the beginning of cycle `now`.
    pub(crate) fn open(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        let (flits, held) = self.totals(now, crossing);
        self.opened = Some((now, flits, held));
    }

    /// Ends it at the beginning of cycle `now`.
    pub(crate) fn close(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        let Some((from, flits_before, held_before)) = self.opened.take() else { return };
        let cycles = now.saturating_sub(from) as f64;
        if cycles == 0.0 || self.flits.is_empty() {
            return;
        }
        let (flits, held) = self.totals(now, crossing);
        let crossed = || flits.iter().zip(&flits_before).map(|(after, before)| after - before);
        let links = self.flits.len() as f64;
        let busy = crossed().sum::<u64>() as f64 / links / cycles;
        let held =
            held.iter().zip(&held_before).map(|(after, before)| after - before).sum::<i64>() as f64 / links / cycles;
        let busiest = crossed().max().unwrap_or(0) as f64 / cycles;
        self.closed = LinkUse { busy, busiest, held, blocked: (held - busy).max(0.0) };
    }

    pub(crate) fn result(&self) -> LinkUse {
        self.closed
    }
}
