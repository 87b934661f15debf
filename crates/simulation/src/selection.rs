//! Which of several free channels a header takes (model.md, rule 19).

use std::collections::HashMap;

use wormcast_network::ChannelId;

use crate::config::switching::SelectionPolicy;
use crate::observers::observer::Cycle;
use crate::rng::{Purpose, number};

/// Chooses among channels that are free, and remembers what it has to for that.
///
/// Memory: nothing for `first` and `random`, 8 bytes a link for `least-loaded`, a few words for each set of candidates that has been
/// met for `round-robin`.
pub(crate) struct Selector {
    selection: SelectionPolicy,
    /// The seed of the run.
    seed: u64,
    /// `least-loaded`: flits that have crossed each link.
    sent: Vec<u64>,
    /// `round-robin`: the channel of each set of candidates that was taken last. Sets are in the order of channels.
    last: HashMap<Box<[ChannelId]>, ChannelId>,
    /// The candidates in the order of channels.
    set: Vec<ChannelId>,
}

impl Selector {
    /// For a network of so many links.
    pub(crate) fn new(selection: SelectionPolicy, seed: u64, links: usize) -> Self {
        let sent = if selection == SelectionPolicy::LeastLoaded { vec![0; links] } else { Vec::new() };
        Self { selection, seed, sent, last: HashMap::new(), set: Vec::new() }
    }

    /// Whether it takes the first of those that are free.
    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.selection == SelectionPolicy::First
    }

    /// Whether it has to be told of flits.
    #[inline]
    pub(crate) fn counts_flits(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Flits have crossed a link.
    pub(crate) fn crossed(&mut self, link: ChannelId, flits: u32) {
        self.sent[link.index()] += u64::from(flits);
    }

    /// The one of `free` that a worm takes in cycle `now`; they are some of its `candidates`, at least one, both in the order of
    /// preference. `waiting` says how many requests wait for one.
    pub(crate) fn choose(
        &mut self,
        (now, worm): (Cycle, u64),
        candidates: &[ChannelId],
        free: &[ChannelId],
        waiting: impl Fn(ChannelId) -> usize,
    ) -> ChannelId {
        debug_assert!(!free.is_empty());
        let first = free[0];
        if candidates.len() == 1 {
            return first;
        }
        match self.selection {
            SelectionPolicy::First => first,
            SelectionPolicy::Random => {
                let drawn = number(self.seed, Purpose::Selection, worm, now);
                free[((u128::from(drawn) * free.len() as u128) >> 64) as usize]
            }
            SelectionPolicy::RoundRobin => {
                self.set.clear();
                self.set.extend_from_slice(candidates);
                self.set.sort_unstable();
                self.set.dedup();
                let last = self.last.get(self.set.as_slice()).copied();
                // Those behind the last one first, each group in the order of channels.
                let turn = |channel: &ChannelId| (last.is_some_and(|last| *channel <= last), *channel);
                let chosen = free.iter().copied().min_by_key(turn).unwrap_or(first);
                match self.last.get_mut(self.set.as_slice()) {
                    Some(last) => *last = chosen,
                    None => drop(self.last.insert(self.set.as_slice().into(), chosen)),
                }
                chosen
            }
            SelectionPolicy::LeastLoaded => {
                // Of several the first.
                free.iter().copied().min_by_key(|&link| (waiting(link), self.sent[link.index()])).unwrap_or(first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels<const N: usize>(raw: [u32; N]) -> [ChannelId; N] {
        raw.map(ChannelId::new)
    }

    /// Takes of `free`, in cycle after cycle, what a worm with these candidates gets.
    fn taken(selector: &mut Selector, candidates: &[ChannelId], free: &[&[u32]]) -> Vec<u32> {
        let take = |(now, free): (u64, &&[u32])| {
            let free: Vec<ChannelId> = free.iter().copied().map(ChannelId::new).collect();
            selector.choose((now, 1), candidates, &free, |_| 0).raw()
        };
        (0..).zip(free).map(take).collect()
    }

    #[test]
    fn round_robin_goes_by_channel_and_knows_sets_apart() {
        let mut selector = Selector::new(SelectionPolicy::RoundRobin, 0, 9);
        let all: &[u32] = &[7, 3, 5];
        assert_eq!(taken(&mut selector, &channels([7, 3, 5]), &[all, all, all, all]), [3, 5, 7, 3]);
        // Another order of preference is the same set; what is not free is passed over.
        assert_eq!(taken(&mut selector, &channels([3, 5, 7]), &[&[3, 7], &[5, 7], &[5]]), [7, 5, 5]);
        assert_eq!(taken(&mut selector, &channels([3, 7]), &[&[3, 7]]), [3]);
        assert_eq!(taken(&mut selector, &channels([3, 5, 7]), &[all]), [7]);
    }

    #[test]
    fn least_loaded_looks_at_waiting_requests_first() {
        let mut selector = Selector::new(SelectionPolicy::LeastLoaded, 0, 9);
        selector.crossed(ChannelId::new(7), 10);
        selector.crossed(ChannelId::new(5), 4);
        let all = channels([7, 3, 5]);
        assert_eq!(selector.choose((0, 1), &all, &all, |_| 0).raw(), 3);
        assert_eq!(selector.choose((0, 1), &all, &all, |link| usize::from(link.raw() == 3)).raw(), 5);
        // Of several the preferred one.
        selector.crossed(ChannelId::new(3), 10);
        assert_eq!(selector.choose((0, 1), &all, &channels([7, 3]), |_| 0).raw(), 7);
    }

    #[test]
    fn random_depends_on_seed_worm_and_cycle_alone() {
        let all = channels([7, 3, 5]);
        let draw = |seed, now, worm| {
            Selector::new(SelectionPolicy::Random, seed, 9).choose((now, worm), &all, &all, |_| 0).raw()
        };
        let mut counts = [0; 8];
        for now in 0..3000 {
            counts[draw(1, now, 5) as usize] += 1;
            assert_eq!(draw(1, now, 5), draw(1, now, 5));
        }
        assert!(all.iter().all(|link| (900..1100).contains(&counts[link.index()])), "{counts:?}");
        let differ = |other: &dyn Fn(u64) -> u32| (0..100).any(|now| other(now) != draw(1, now, 5));
        assert!(differ(&|now| draw(2, now, 5)) && differ(&|now| draw(1, now, 6)) && differ(&|now| draw(1, now + 1, 5)));
    }
}
