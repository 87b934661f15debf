//! A calendar queue: events in buckets by cycle, a heap behind them for the far future.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::observers::observer::Cycle;

/// Events by cycle. Those of one cycle come out in increasing order, whatever the order in which they were added.
pub(crate) struct Calendar<E> {
    /// Place `t & mask` says which of the lists holds the events of cycle `t`, for `now <= t < now + places.len()`.
    places: Vec<u32>,
    /// Lists of events; the first one stays empty.
    lists: Vec<Vec<E>>,
    /// Lists that are empty, last the one that was emptied last: its memory is most likely still in a cache.
    spare: Vec<u32>,
    /// A bit for each place that has a list.
    occupied: Vec<u64>,
    far: BinaryHeap<Reverse<(Cycle, E)>>,
    now: Cycle,
    /// Events, without those that were taken.
    len: usize,
    /// The list of those.
    taken: u32,
}

/// The list of cycles that have none.
const EMPTY: u32 = 0;

impl<E: Copy + Ord> Calendar<E> {
    /// An empty calendar whose ring covers at least `horizon` cycles: delays up to that cost O(1).
    pub(crate) fn new(horizon: u64) -> Self {
        let size = horizon.clamp(64, 1 << 16).next_power_of_two() as usize;
        Self {
            places: vec![EMPTY; size],
            lists: vec![Vec::new()],
            spare: Vec::new(),
            occupied: vec![0; size / 64],
            far: BinaryHeap::new(),
            now: 0,
            len: 0,
            taken: EMPTY,
        }
    }

    #[inline]
    fn place(&self, at: Cycle) -> usize {
        at as usize & (self.places.len() - 1)
    }

    /// Adds an event at a cycle that [`take`](Self::take) has not passed.
    #[inline(never)]
    pub(crate) fn push(&mut self, at: Cycle, event: E) {
        debug_assert!(at >= self.now, "an event in the past");
        self.len += 1;
        if at - self.now < self.places.len() as u64 {
            self.push_near(at, event);
        } else {
            self.push_far(at, event);
        }
    }

    #[allow(clippy::inline_always, reason = "of nearly every event")]
    #[inline(always)]
    fn push_near(&mut self, at: Cycle, event: E) {
        let place = self.place(at);
        if self.places[place] == EMPTY {
            self.places[place] = self.spare.pop().unwrap_or_else(|| {
                self.lists.push(Vec::new());
                self.lists.len() as u32 - 1
            });
            self.occupied[place / 64] |= 1 << (place % 64);
        }
        self.lists[self.places[place] as usize].push(event);
    }

    #[cold]
    fn push_far(&mut self, at: Cycle, event: E) {
        self.far.push(Reverse((at, event)));
    }

    /// Moves the events of cycle `now` that were far ahead when they were added into its list.
    #[cold]
    fn take_far(&mut self, now: Cycle) {
        while self.far.peek().is_some_and(|Reverse((at, _))| *at == now) {
            if let Some(Reverse((_, event))) = self.far.pop() {
                self.push_near(now, event);
            }
        }
    }

    /// Takes the events of cycle `now`, in order; returns how many there are. They [stay in their place](Self::taken) until they are [cleared](Self::clear): nothing is added
    /// there before. Cycles must not decrease.
    #[allow(clippy::inline_always, reason = "from one place")]
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Cycle) -> usize {
        debug_assert!(now >= self.now && self.taken == EMPTY);
        self.now = now;
        if !self.far.is_empty() {
            self.take_far(now);
        }
        let place = self.place(now);
        self.occupied[place / 64] &= !(1 << (place % 64));
        self.taken = std::mem::replace(&mut self.places[place], EMPTY);
        let due = &mut self.lists[self.taken as usize];
        self.len -= due.len();
        if due.len() > 1 {
            sort(due, |event| *event);
        }
        due.len()
    }

    /// Those that were taken in the cycle at hand.
    #[inline]
    pub(crate) fn taken(&self) -> &[E] {
        &self.lists[self.taken as usize]
    }

    /// They are done.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.taken != EMPTY {
            self.lists[self.taken as usize].clear();
            self.spare.push(self.taken);
            self.taken = EMPTY;
        }
    }

    /// Goes on to cycle `now`: whether it may have events to [`take`](Self::take).
    #[inline]
    pub(crate) fn comes_to(&mut self, now: Cycle) -> bool {
        debug_assert!(now >= self.now);
        self.now = now;
        self.is_due(now) || !self.far.is_empty()
    }

    /// Whether cycle `now` has events in the ring: the quick half of [`next`](Self::next).
    #[inline]
    pub(crate) fn is_due(&self, now: Cycle) -> bool {
        let place = self.place(now);
        self.occupied[place / 64] >> (place % 64) & 1 == 1
    }

    /// The first cycle, from `now` on, that has events.
    pub(crate) fn next(&self, now: Cycle) -> Option<Cycle> {
        if self.len == 0 {
            return None;
        }
        let far = self.far.peek().map(|Reverse((at, _))| *at);
        let start = self.place(now);
        let words = self.occupied.len();
        let near = (0..=words).find_map(|step| {
            let index = (start / 64 + step) % words;
            let mut word = self.occupied[index];
            if step == 0 {
                word &= u64::MAX << (start % 64);
            } else if step == words {
                word &= !(u64::MAX << (start % 64));
            }
            (word != 0).then(|| {
                let place = index * 64 + word.trailing_zeros() as usize;
                now + (place.wrapping_sub(start) & (self.places.len() - 1)) as u64
            })
        });
        near.into_iter().chain(far).min()
    }
}

/// Most cycles have few events, too few for a general sort to pay off.
#[inline(never)]
pub(crate) fn sort<E: Copy, K: Ord>(due: &mut [E], key: impl Fn(&E) -> K) {
    if due.len() > 12 {
        due.sort_unstable_by_key(key);
        return;
    }
    // Which of two comes first is hard to foresee: without a branch.
    if let [first, second] = due {
        let pair = [*first, *second];
        let later = usize::from(key(&pair[1]) < key(&pair[0]));
        (*first, *second) = (pair[later], pair[1 - later]);
        return;
    }
    for end in 1..due.len() {
        let mut place = end;
        while place > 0 && key(&due[place]) < key(&due[place - 1]) {
            due.swap(place, place - 1);
            place -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list, near and far events mixed, with new ones added on the way.
        #[test]
        fn events_come_out_in_order(
            delays in prop::collection::vec((0u64..300, 0u64..300), 1..200),
            horizon in prop::sample::select(vec![1, 200, 1000]),
        ) {
            let mut calendar = Calendar::new(horizon);
            let mut expected: Vec<(Cycle, usize)> = Vec::new();
            for (i, &(delay, _)) in delays.iter().enumerate() {
                calendar.push(delay, i);
                expected.push((delay, i));
            }
            let mut found = Vec::new();
            let (mut now, mut added) = (0, delays.len());
            while let Some(at) = calendar.next(now) {
                now = at;
                let due = calendar.take(now);
                for place in 0..due {
                    let event = calendar.taken()[place];
                    found.push((now, event));
                    if let Some(&(_, again)) = delays.get(event) {
                        calendar.push(now + 1 + again, added);
                        expected.push((now + 1 + again, added));
                        added += 1;
                    }
                }
                calendar.clear();
                now += 1;
            }
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
