//! Headers that spend their routing delay: the events of every hop, in queues of their own.
//!
//! All headers that enter a router in one cycle request in the same later one, and those that are freed by a flit that is
//! stripped are as late as each other. And nearly all of them were granted something in the order of worms. So those of a cycle
//! are next to each other, and sorted seldom, which a calendar would have to find out.

use std::ops::Range;

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
    /// Those that enter a router, and those that are freed by a flit that is stripped: each in the order of cycles.
    entering: Queue,
    freed: Queue,
    /// Whether any of the latter request in the cycle at hand.
    some_freed: bool,
}

/// Headers in the order of cycles.
#[derive(Default)]
struct Queue {
    headers: Vec<Routed>,
    /// The first that is not gone.
    taken: usize,
    /// The end of those that request in the cycle at hand, which are in the order of worms.
    due: usize,
}

impl Headers {
    /// Adds the header of a worm, which enters the router at a vertex, or is freed there by a flit that is stripped. Each of the
    /// two kinds has to come in the order of cycles.
    #[inline]
    pub(crate) fn push(&mut self, at: Cycle, worm: u64, slot: u32, vertex: u32, stripped: bool) {
        let queue = if stripped { &mut self.freed } else { &mut self.entering };
        queue.push(Routed { at, worm, slot, vertex });
    }

    /// The cycle of the first headers.
    #[inline]
    pub(crate) fn next(&self) -> Option<Cycle> {
        match (self.entering.headers.get(self.entering.taken), self.freed.headers.get(self.freed.taken)) {
            (Some(entering), Some(freed)) => Some(entering.at.min(freed.at)),
            (first, None) | (None, first) => first.map(|header| header.at),
        }
    }

    /// Goes on to a cycle, whose headers [`take`](Self::take) takes then.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle) {
        self.entering.begin(now);
        if !self.freed.headers.is_empty() {
            self.freed.begin(now);
            self.some_freed = self.freed.first().is_some();
        }
    }

    /// Where the headers of the cycle are, if they are next to each other in the order of worms; [`at`](Self::at) gives them, and they count as taken.
    #[inline]
    pub(crate) fn take_all(&mut self) -> Option<Range<usize>> {
        if self.some_freed {
            return None;
        }
        let taken = std::mem::replace(&mut self.entering.taken, self.entering.due);
        Some(taken..self.entering.due)
    }

    /// A header that enters a router, by its place.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Routed {
        self.entering.headers[place]
    }

    /// The next header of the cycle, in the order of worms.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Routed> {
        match (self.entering.first(), self.freed.first()) {
            (Some(entering), Some(freed)) if freed.order() < entering.order() => self.freed.take(),
            (Some(_), _) => self.entering.take(),
            (None, _) => self.freed.take(),
        }
    }
}

impl Routed {
    #[inline]
    fn order(&self) -> (u64, u32) {
        (self.worm, self.vertex)
    }
}

impl Queue {
    /// Puts those of a cycle in order.
    #[inline]
    fn begin(&mut self, now: Cycle) {
        if self.taken == self.headers.len() {
            self.headers.clear();
            (self.taken, self.due) = (0, 0);
            return;
        }
        let (mut end, mut sorted) = (self.taken, true);
        while let Some(header) = self.headers.get(end).filter(|header| header.at == now) {
            sorted &= end == self.taken || self.headers[end - 1].order() < header.order();
            end += 1;
        }
        self.due = end;
        if !sorted {
            sort(&mut self.headers[self.taken..end], Routed::order);
        }
        if self.taken > 64 && self.taken > self.headers.len() / 2 {
            self.headers.drain(..self.taken);
            (self.taken, self.due) = (0, self.due - self.taken);
        }
    }

    #[inline]
    fn first(&self) -> Option<&Routed> {
        if self.taken < self.due { self.headers.get(self.taken) } else { None }
    }

    #[inline]
    fn take(&mut self) -> Option<Routed> {
        let header = self.first().copied();
        self.taken += usize::from(header.is_some());
        header
    }

    #[inline]
    fn push(&mut self, header: Routed) {
        debug_assert!(self.headers.last().is_none_or(|last| last.at <= header.at));
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
                let all = headers.take_all();
                let places = all.clone().into_iter().flatten().map(|place| headers.at(place)).collect::<Vec<_>>();
                prop_assert!(all.is_none() || headers.take().is_none());
                for header in places.into_iter().chain(std::iter::from_fn(|| headers.take())) {
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
