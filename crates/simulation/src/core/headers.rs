//! Headers that spend their routing delay: the events of every hop, in queues of their own.
//!
//! All headers that enter a router in one cycle request in the same later one, and those that are freed by a flit that is
//! stripped are as late as each other. And nearly all of them were granted something in the order of worms. So queues are in
//! order without being sorted, which a calendar would have to find out.

use std::cmp::Reverse;

use crate::calendar::sort;
use crate::observers::observer::Cycle;

/// A header that requests in cycle `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routed {
    at: Cycle,
    worm: u64,
    pub(crate) slot: u32,
    pub(crate) vertex: u32,
}

/// The headers in routers.
#[derive(Default)]
pub(crate) struct Headers {
    /// Those that came in the order of worms, cycle by cycle.
    entering: Queue,
    /// Those that did not, as they had waited or enter their first router; those that were freed by a flit that is stripped.
    others: [Queue; 2],
    /// How many there are in `others`.
    aside: usize,
    /// Those of `others` that request in the cycle at hand, the last one first.
    due: Vec<Routed>,
}

/// Headers in the order of cycles.
#[derive(Default)]
struct Queue {
    headers: Vec<Routed>,
    /// The first that is not gone.
    taken: usize,
}

impl Headers {
    /// Adds the header of a worm, which enters the router at a vertex, or is freed there by a flit that is stripped. Each of the
    /// two kinds has to come in the order of cycles.
    #[inline]
    pub(crate) fn push(&mut self, at: Cycle, worm: u64, slot: u32, vertex: u32, stripped: bool) {
        let header = Routed { at, worm, slot, vertex };
        if !stripped && vertex > 1 && self.entering.continues(header) {
            self.entering.push(header);
        } else {
            self.others[usize::from(stripped)].push(header);
            self.aside += 1;
        }
    }

    /// The cycle of the first headers.
    #[inline]
    pub(crate) fn next(&self) -> Option<Cycle> {
        let entering = self.entering.first().map(|header| header.at);
        if self.aside == 0 {
            return entering;
        }
        let others = self.others.iter().filter_map(Queue::first).map(|header| header.at);
        others.chain(entering).min()
    }

    /// Goes on to a cycle, whose headers [`take`](Self::take) takes then.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle) {
        debug_assert!(self.due.is_empty());
        if self.aside > 0 {
            for queue in &mut self.others {
                while let Some(header) = queue.take(now) {
                    self.due.push(header);
                }
            }
            self.aside -= self.due.len();
            sort(&mut self.due, |header| Reverse(header.order()));
        }
    }

    /// The next header of the cycle, in the order of worms.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycle) -> Option<Routed> {
        match (self.due.last(), self.entering.first()) {
            (None, _) => self.entering.take(now),
            (Some(due), Some(first)) if first.order() < due.order() => self.entering.take(now),
            _ => self.due.pop(),
        }
    }
}

impl Routed {
    #[inline]
    fn order(&self) -> (Cycle, u64, u32) {
        (self.at, self.worm, self.vertex)
    }
}

impl Queue {
    #[inline]
    fn first(&self) -> Option<&Routed> {
        self.headers.get(self.taken)
    }

    #[inline]
    fn take(&mut self, now: Cycle) -> Option<Routed> {
        let header = self.first().filter(|header| header.at <= now).copied();
        self.taken += usize::from(header.is_some());
        header
    }

    /// Whether a header, which is no earlier than those that are there, comes after them in the order of worms.
    #[inline]
    fn continues(&self, header: Routed) -> bool {
        self.taken == self.headers.len()
            || self.headers.last().is_none_or(|last| last.at < header.at || last.worm < header.worm)
    }

    #[inline]
    fn push(&mut self, header: Routed) {
        if self.taken == self.headers.len() {
            self.headers.clear();
            self.taken = 0;
        } else if self.headers.len() == self.headers.capacity() && self.taken > self.headers.len() / 2 {
            self.headers.drain(..self.taken);
            self.taken = 0;
        }
        self.headers.push(header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: headers in any order within a cycle, some stripped, taken cycle by cycle.
        #[test]
        fn headers_come_out_in_the_order_of_worms(
            cycles in prop::collection::vec(prop::collection::vec((0u64..1000, 1u32..4, any::<bool>()), 0..30), 1..40),
            (routing, stripping) in (0u64..6, 1u64..9),
        ) {
            let (mut headers, mut expected, mut found) = (Headers::default(), Vec::new(), Vec::new());
            for (now, entering) in (0..).zip(&cycles) {
                headers.begin(now);
                while let Some(header) = headers.take(now) {
                    prop_assert_eq!(header.at, now);
                    found.push((now, header.worm, header.vertex));
                }
                for &(worm, vertex, stripped) in entering {
                    let at = now + 1 + routing + if stripped { stripping } else { 0 };
                    headers.push(at, worm, 0, vertex, stripped);
                    expected.push((at, worm, vertex));
                }
                expected.sort_unstable();
                prop_assert_eq!(headers.next(), expected.get(found.len()).map(|&(at, ..)| at));
            }
            prop_assert_eq!(&found[..], &expected[..found.len()]);
        }
    }
}
