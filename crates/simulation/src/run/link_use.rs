//! How links are used in a part of a run.

use wormcast_network::ChannelId;

use crate::observers::observer::Cycle;
use crate::run::result::LinkUse;

/// The links that worms hold at the beginning of a cycle.
#[derive(Default)]
pub(crate) struct Crossing {
    /// With the flits that have crossed them.
    pub(crate) held: Vec<(ChannelId, u32)>,
    /// Those of them whose release the counter has been told of and is still to come: its cycle, and the flits that will have crossed by then.
    pub(crate) settled: Vec<(ChannelId, Cycle, u32)>,
}

impl Crossing {
    /// Cycles from `now` on in which links will have been held that have been counted.
    fn ahead(&self, now: Cycle) -> i64 {
        self.settled.iter().map(|&(_, at, _)| at as i64 + 1 - now as i64).sum()
    }
}

/// The counts of so many links do not fit into a cache: additions are put off until there are `NOTED` of them.
const MANY: usize = 1 << 15;
const NOTED: usize = 256;

/// Counts flits that crossed links and cycles in which these were held, between two cycles of a run. Memory: 8 bytes a link.
pub(crate) struct LinkCounter {
    /// Cycles that all links were held, to their release if that is known, less the grant times of the other `holders`: adding the time for
    /// each of them completes it.
    held: i64,
    holders: i64,
    /// Flits that have crossed each link since the window was opened, less those that its holder had sent before.
    flits: Vec<i64>,
    /// Whether flits are added at once.
    at_once: bool,
    /// What of that has still to be added, link by link: memory is waited for once for many of them.
    noted: Vec<(u32, u32)>,
    /// The first cycle of the window, and cycles held before.
    opened: Option<(Cycle, i64)>,
    closed: LinkUse,
}

impl LinkCounter {
    pub(crate) fn new(links: usize) -> Self {
        Self {
            held: 0,
            holders: 0,
            flits: vec![0; links],
            at_once: false,
            noted: Vec::new(),
            opened: None,
            closed: LinkUse::default(),
        }
    }

    /// A counter for another one, which takes what it has counted from time to time.
    pub(crate) fn of_part(links: usize) -> Self {
        Self { opened: Some((0, 0)), at_once: links < MANY, ..Self::new(links) }
    }

    /// Takes over what another one has counted.
    pub(crate) fn take(&mut self, part: &mut Self) {
        self.held += std::mem::take(&mut part.held);
        self.holders += std::mem::take(&mut part.holders);
        part.add_noted();
        for (count, of_part) in self.flits.iter_mut().zip(&mut part.flits) {
            let flits = std::mem::take(of_part);
            if self.opened.is_some() {
                *count += flits;
            }
        }
    }

    #[inline]
    pub(crate) fn granted(&mut self, at: Cycle, channel: ChannelId) {
        if channel.index() < self.flits.len() {
            self.held -= at as i64;
            self.holders += 1;
        }
    }

    /// It has become known that a channel is released in cycle `at`.
    #[inline]
    pub(crate) fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        if let Some(count) = self.flits.get_mut(channel.index()) {
            self.held += at as i64 + 1;
            self.holders -= 1;
            // What crosses after the window is no part of it.
            if self.at_once {
                *count += i64::from(flits);
            } else if self.opened.is_some() {
                self.note(channel, flits);
            }
        }
    }

    #[inline]
    fn note(&mut self, channel: ChannelId, flits: u32) {
        self.noted.push((channel.raw(), flits));
        if self.noted.len() == NOTED {
            self.add_noted();
        }
    }

    #[inline(never)]
    fn add_noted(&mut self) {
        for (link, flits) in self.noted.drain(..) {
            self.flits[link as usize] += i64::from(flits);
        }
    }

    /// Starts the window at the beginning of cycle `now`; `crossing` lists the links that are held.
    pub(crate) fn open(&mut self, now: Cycle, crossing: &Crossing) {
        self.flits.fill(0);
        for &(channel, crossed) in &crossing.held {
            self.flits[channel.index()] -= i64::from(crossed);
        }
        for &(channel, _, flits) in &crossing.settled {
            self.flits[channel.index()] += i64::from(flits);
        }
        self.opened = Some((now, self.held_until(now, crossing)));
        self.at_once = self.flits.len() < MANY;
    }

    /// Ends it at the beginning of cycle `now`.
    pub(crate) fn close(&mut self, now: Cycle, crossing: &Crossing) {
        let Some((from, held_before)) = self.opened.take() else { return };
        self.at_once = false;
        self.add_noted();
        let cycles = now.saturating_sub(from) as f64;
        if cycles == 0.0 || self.flits.is_empty() {
            return;
        }
        for &(channel, crossed) in &crossing.held {
            self.flits[channel.index()] += i64::from(crossed);
        }
        for &(channel, _, flits) in &crossing.settled {
            self.flits[channel.index()] -= i64::from(flits);
        }
        let links = self.flits.len() as f64;
        let busy = self.flits.iter().sum::<i64>() as f64 / links / cycles;
        let held = (self.held_until(now, crossing) - held_before) as f64 / links / cycles;
        let busiest = self.flits.iter().max().copied().unwrap_or(0) as f64 / cycles;
        self.closed = LinkUse { busy, busiest, held, blocked: (held - busy).max(0.0) };
    }

    /// Cycles before `now` that links were held.
    fn held_until(&self, now: Cycle, crossing: &Crossing) -> i64 {
        self.held + self.holders * now as i64 - crossing.ahead(now)
    }

    /// Flits that crossed each link in the window that was closed last.
    pub(crate) fn flits(&self) -> &[i64] {
        &self.flits
    }

    pub(crate) fn result(&self) -> LinkUse {
        self.closed
    }
}
