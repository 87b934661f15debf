//! How links are used in a part of a run.

use wormcast_network::ChannelId;

use crate::observers::observer::Cycle;
use crate::run::result::LinkUse;

/// Counts flits that crossed links and cycles in which these were held, between two cycles of a run. Memory: 8 bytes a link.
pub(crate) struct LinkCounter {
    /// Cycles that all links were held, less the grant times of those who hold one now: adding the time for each of them
    /// completes it.
    held: i64,
    holders: i64,
    /// Flits that have crossed each link since the window was opened, less those that its holder had sent before.
    flits: Vec<i64>,
    /// The first cycle of the window, and cycles held before.
    opened: Option<(Cycle, i64)>,
    closed: LinkUse,
}

impl LinkCounter {
    pub(crate) fn new(links: usize) -> Self {
        Self { held: 0, holders: 0, flits: vec![0; links], opened: None, closed: LinkUse::default() }
    }

    #[inline]
    pub(crate) fn granted(&mut self, at: Cycle, channel: ChannelId) {
        if channel.index() < self.flits.len() {
            self.held -= at as i64;
            self.holders += 1;
        }
    }

    #[inline]
    pub(crate) fn released(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        if let Some(count) = self.flits.get_mut(channel.index()) {
            self.held += at as i64 + 1;
            self.holders -= 1;
            // What crosses after the window is no part of it.
            if self.opened.is_some() {
                *count += i64::from(flits);
            }
        }
    }

    /// Starts the window at the beginning of cycle `now`; `crossing` lists the links that are held and the flits that have
    /// crossed them for their holders.
    pub(crate) fn open(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        self.flits.fill(0);
        for &(channel, crossed) in crossing {
            self.flits[channel.index()] -= i64::from(crossed);
        }
        self.opened = Some((now, self.held + self.holders * now as i64));
    }

    /// Ends it at the beginning of cycle `now`.
    pub(crate) fn close(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        let Some((from, held_before)) = self.opened.take() else { return };
        let cycles = now.saturating_sub(from) as f64;
        if cycles == 0.0 || self.flits.is_empty() {
            return;
        }
        for &(channel, crossed) in crossing {
            self.flits[channel.index()] += i64::from(crossed);
        }
        let links = self.flits.len() as f64;
        let busy = self.flits.iter().sum::<i64>() as f64 / links / cycles;
        let held = (self.held + self.holders * now as i64 - held_before) as f64 / links / cycles;
        let busiest = self.flits.iter().max().copied().unwrap_or(0) as f64 / cycles;
        self.closed = LinkUse { busy, busiest, held, blocked: (held - busy).max(0.0) };
    }

    /// Flits that crossed each link in the window that was closed last.
    pub(crate) fn flits(&self) -> &[i64] {
        &self.flits
    }

    pub(crate) fn result(&self) -> LinkUse {
        self.closed
    }
}
