//! Headers that spend their routing delay: the events of every hop, in queues of their own.
//!
//! All headers that enter a router in one cycle request in the same later one, and those that are freed by a flit that is
//! stripped are as late as each other. And nearly all of them were granted something in the order of worms. So those of a cycle
//! are next to each other, and sorted seldom, which a calendar would have to find out.

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
}

/// Headers in the order of cycles.
#[derive(Default)]
struct Queue {
    /// Those of later cycles, and the first of them that is not gone.
    headers: Vec<Routed>,
    taken: usize,
    /// The worm of the last of them, if none has come before one with a greater id; otherwise more than any.
    last: u64,
    /// Those of the cycle at hand.
    due: Vec<Routed>,
    /// Scratch: those of a cycle that are not where they belong.
    others: Vec<Routed>,
}

/// So few are sorted as they are.
const FEW: usize = 24;

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
        match (self.entering.next(), self.freed.next()) {
            (Some(entering), Some(freed)) => Some(entering.min(freed)),
            (next, None) | (None, next) => next,
        }
    }

    /// Takes the headers of a cycle; returns how many there are.
    #[allow(clippy::inline_always, reason = "in every cycle")]
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Cycle) -> usize {
        let in_order = self.entering.take(now);
        if self.freed.next() == Some(now) {
            self.take_freed(now);
        } else if !in_order {
            self.entering.order();
        }
        self.entering.due.len()
    }

    /// Puts the headers that are freed in this cycle among those that enter routers.
    #[inline(never)]
    fn take_freed(&mut self, now: Cycle) {
        self.freed.take(now);
        self.entering.due.append(&mut self.freed.due);
        self.entering.order();
    }

    /// The header at a place, in the order of worms, until the next cycle's are taken.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Routed {
        self.entering.due[place]
    }
}

impl Routed {
    #[inline]
    fn order(&self) -> (u64, u32) {
        (self.worm, self.vertex)
    }
}

impl Queue {
    /// The first cycle in which any request.
    #[inline]
    fn next(&self) -> Option<Cycle> {
        self.headers.get(self.taken).map(|header| header.at)
    }

    /// Takes those of a cycle; returns whether they are known to be in the order of worms.
    #[allow(clippy::inline_always, reason = "in every cycle")]
    #[inline(always)]
    fn take(&mut self, now: Cycle) -> bool {
        self.due.clear();
        match self.headers.last() {
            // Mostly all of them, where routing takes no time.
            Some(last) if last.at == now && self.taken == 0 => {
                std::mem::swap(&mut self.due, &mut self.headers);
                std::mem::take(&mut self.last) < u64::MAX
            }
            Some(_) => {
                self.take_first(now);
                false
            }
            None => true,
        }
    }

    /// Takes those of a cycle, of others that are later.
    #[inline(never)]
    fn take_first(&mut self, now: Cycle) {
        let waiting = self.headers[self.taken..].iter();
        self.due.extend(waiting.take_while(|header| header.at == now));
        self.taken += self.due.len();
        if self.taken == self.headers.len() {
            self.headers.clear();
            self.taken = 0;
        } else if self.taken > 64 && self.taken > self.headers.len() / 2 {
            self.headers.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// Puts those of a cycle in order.
    #[inline(never)]
    fn order(&mut self) {
        if !self.due.is_sorted_by_key(Routed::order) {
            self.put_in_order();
        }
    }

    /// Most are in order: behind those that were granted what they had waited for, which come first. So the longest part that is in order stays together, and
    /// the others are put between.
    fn put_in_order(&mut self) {
        let headers = &mut self.due[..];
        if headers.len() <= FEW {
            return sort(headers, Routed::order);
        }
        let (mut longest, mut begin) = (0..0, 0);
        for end in 1..=headers.len() {
            if headers.get(end).is_none_or(|next| headers[end - 1].order() > next.order()) {
                if end - begin > longest.len() {
                    longest = begin..end;
                }
                begin = end;
            }
        }
        self.others.clear();
        self.others.extend_from_slice(&headers[..longest.start]);
        self.others.extend_from_slice(&headers[longest.end..]);
        sort(&mut self.others, Routed::order);
        let mut next = self.others.len();
        headers.copy_within(longest, next);
        let mut place = 0;
        for other in &self.others {
            while next < headers.len() && headers[next].order() < other.order() {
                headers[place] = headers[next];
                (place, next) = (place + 1, next + 1);
            }
            headers[place] = *other;
            place += 1;
        }
    }

    #[inline]
    fn push(&mut self, header: Routed) {
        debug_assert!(self.headers.last().is_none_or(|last| last.at <= header.at));
        // Once one comes too late, so do all: none has a greater id.
        self.last = if header.worm <= self.last { u64::MAX } else { header.worm };
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
            cycles in prop::collection::vec(prop::collection::vec((0u64..1000, 1u32..4, any::<bool>()), 0..90), 1..20),
            (routing, stripping) in (0u64..6, 1u64..9),
        ) {
            let (mut headers, mut expected, mut found) = (Headers::default(), Vec::new(), Vec::new());
            for (now, entering) in (0..).zip(&cycles) {
                for header in (0..headers.take(now)).map(|place| headers.at(place)) {
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
