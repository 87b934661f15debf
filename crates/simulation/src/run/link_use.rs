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

/// Counts flits that crossed links and cycles in which these were held, between two cycles of a run. Memory: 4 bytes a link until a window is closed, 12 then.
pub(crate) struct LinkCounter {
    /// Cycles that all links were held, to their release if that is known, less the grant times of the other `holders`: adding the time for
    /// each of them completes it.
    held: i64,
    holders: i64,
    /// Flits that have crossed each link since the window was opened, or will have when it is released, modulo 2^32: every hop counts some.
    flits: Vec<u32>,
    /// The links whose count has passed 2^32, as often as it has.
    passed: Vec<u32>,
    /// What is to be added to that: what worms that held links had sent before.
    before: Vec<(ChannelId, i64)>,
    /// Flits that crossed each link in the window that was closed last.
    crossed: Vec<i64>,
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
            passed: Vec::new(),
            before: Vec::new(),
            crossed: Vec::new(),
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
        let passed = std::mem::take(&mut part.passed);
        if self.opened.is_some() {
            self.passed.extend(passed);
            for (link, &flits) in part.flits.iter().enumerate() {
                self.add(link, flits);
            }
        }
        part.flits.fill(0);
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
                let passed;
                (*count, passed) = count.overflowing_add(flits);
                if passed {
                    self.pass(channel.index());
                }
            } else if self.opened.is_some() {
                self.note(channel, flits);
            }
        }
    }

    #[inline]
    fn add(&mut self, link: usize, flits: u32) {
        let (sum, passed) = self.flits[link].overflowing_add(flits);
        self.flits[link] = sum;
        if passed {
            self.pass(link);
        }
    }

    #[cold]
    fn pass(&mut self, link: usize) {
        self.passed.push(link as u32);
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
        let mut noted = std::mem::take(&mut self.noted);
        for (link, flits) in noted.drain(..) {
            self.add(link as usize, flits);
        }
        self.noted = noted;
    }

    /// Starts the window at the beginning of cycle `now`; `crossing` lists the links that are held.
    pub(crate) fn open(&mut self, now: Cycle, crossing: &Crossing) {
        self.flits.fill(0);
        self.passed.clear();
        self.before = Self::under_way(crossing).map(|(channel, flits)| (channel, -flits)).collect();
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
        self.crossed = self.flits.iter().map(|&flits| i64::from(flits)).collect();
        for &link in &self.passed {
            self.crossed[link as usize] += 1 << 32;
        }
        for (channel, flits) in self.before.drain(..).chain(Self::under_way(crossing)) {
            self.crossed[channel.index()] += flits;
        }
        let links = self.flits.len() as f64;
        let busy = self.crossed.iter().sum::<i64>() as f64 / links / cycles;
        let held = (self.held_until(now, crossing) - held_before) as f64 / links / cycles;
        let busiest = self.crossed.iter().max().copied().unwrap_or(0) as f64 / cycles;
        self.closed = LinkUse { busy, busiest, held, blocked: (held - busy).max(0.0) };
    }

    /// Cycles before `now` that links were held.
    fn held_until(&self, now: Cycle, crossing: &Crossing) -> i64 {
        self.held + self.holders * now as i64 - crossing.ahead(now)
    }

    /// Flits of the worms that hold links which have crossed these, less those of links that have been counted and are still to be released.
    fn under_way(crossing: &Crossing) -> impl Iterator<Item = (ChannelId, i64)> {
        let held = crossing.held.iter().map(|&(channel, crossed)| (channel, i64::from(crossed)));
        held.chain(crossing.settled.iter().map(|&(channel, _, flits)| (channel, -i64::from(flits))))
    }

    /// Flits that crossed each link in the window that was closed last.
    pub(crate) fn flits(&mut self) -> &[i64] {
        // Without a window, none.
        self.crossed.resize(self.flits.len(), 0);
        &self.crossed
    }

    pub(crate) fn result(&self) -> LinkUse {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What worms that hold links have sent.
    fn crossing(held: &[(u32, u32)], settled: &[(u32, Cycle, u32)]) -> Crossing {
        Crossing {
            held: held.iter().map(|&(link, flits)| (ChannelId::new(link), flits)).collect(),
            settled: settled.iter().map(|&(link, at, flits)| (ChannelId::new(link), at, flits)).collect(),
        }
    }

    #[test]
    fn counts_of_a_window_go_beyond_32_bits() {
        // Few links, and so many that additions are put off; two parts of each count for a third counter.
        for links in [3, MANY] {
            let (mut all, mut parts) = (LinkCounter::new(links), [0; 2].map(|_| LinkCounter::of_part(links)));
            all.settled(1, ChannelId::new(1), 5);
            all.open(10, &crossing(&[(0, 4), (1, 7)], &[(1, 12, 9)]));
            for _ in 0..3 {
                all.settled(20, ChannelId::new(1), u32::MAX);
                parts[0].settled(20, ChannelId::new(1), u32::MAX - 2);
                parts[1].settled(20, ChannelId::new(2), 1 << 30);
            }
            all.settled(20, ChannelId::new(0), 6);
            for part in &mut parts {
                all.take(part);
            }
            all.close(30, &crossing(&[(2, 3)], &[(2, 40, 8)]));
            let most = i64::from(u32::MAX);
            assert_eq!(all.flits()[..3], [6 - 4, 3 * most + 3 * (most - 2) - 7 + 9, (3 << 30) + 3 - 8]);
            assert_eq!(all.flits().len(), links);
            assert!(parts.iter().all(|part| part.flits.iter().all(|&flits| flits == 0) && part.passed.is_empty()));
            // Another window begins anew.
            all.open(50, &crossing(&[], &[]));
            all.settled(60, ChannelId::new(1), 2);
            all.close(70, &crossing(&[], &[]));
            assert_eq!(all.flits()[..3], [0, 2, 0]);
        }
        assert_eq!(LinkCounter::new(2).flits(), [0, 0], "without a window");
    }
}
