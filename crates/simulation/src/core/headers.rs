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
    /// Those of later cycles, behind others that are gone, or that are those of the cycle at hand.
    headers: Vec<Routed>,
    taken: usize,
    /// The worm of the last of them, if none has come before one with a greater id; otherwise more than any.
    last: u64,
    /// Those of the cycle at hand, if they are not still among the others; the place of the first, and how many there are.
    due: Vec<Routed>,
    among: bool,
    first: usize,
    count: usize,
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
        self.entering.count
    }

    /// Puts the headers that are freed in this cycle among those that enter routers.
    #[inline(never)]
    fn take_freed(&mut self, now: Cycle) {
        self.freed.take(now);
        let Self { entering, freed } = self;
        if std::mem::take(&mut entering.among) {
            entering.due.extend_from_slice(&entering.headers[entering.first..][..entering.count]);
            entering.first = 0;
        }
        entering.due.extend_from_slice(freed.due());
        entering.count = entering.due.len();
        entering.order();
    }

    /// The header at a place, in the order of worms, until the next cycle's are taken.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Routed {
        self.entering.at(place)
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

    /// One of those of the cycle at hand.
    #[inline]
    fn at(&self, place: usize) -> Routed {
        let list = if self.among { &self.headers } else { &self.due };
        list[self.first + place]
    }

    /// All of them.
    fn due(&self) -> &[Routed] {
        let list = if self.among { &self.headers } else { &self.due };
        &list[self.first..][..self.count]
    }

    /// Takes those of a cycle; returns whether they are known to be in the order of worms.
    #[allow(clippy::inline_always, reason = "in every cycle")]
    #[inline(always)]
    fn take(&mut self, now: Cycle) -> bool {
        self.due.clear();
        match self.headers.last() {
            // Mostly all of them, where routing takes no time.
            Some(last) if last.at == now && self.taken == 0 => {
                let empty = std::mem::take(&mut self.due);
                self.due = std::mem::replace(&mut self.headers, empty);
                (self.among, self.first, self.count) = (false, 0, self.due.len());
                std::mem::take(&mut self.last) < u64::MAX
            }
            _ if self.next() == Some(now) => self.take_first(now),
            _ => {
                if self.taken == self.headers.len() {
                    self.headers.clear();
                    (self.taken, self.last) = (0, 0);
                }
                (self.among, self.first, self.count) = (false, 0, 0);
                true
            }
        }
    }

    /// Takes those of a cycle, of others that are later; returns whether they are in the order of worms.
    #[allow(clippy::inline_always, reason = "in every cycle, where routing takes time")]
    #[inline(always)]
    fn take_first(&mut self, now: Cycle) -> bool {
        if self.taken > 64 && self.taken > self.headers.len() / 2 {
            self.forget_taken();
        }
        let (mut in_order, mut last) = (true, (0, 0));
        let mut next = self.taken;
        while let Some(header) = self.headers.get(next)
            && header.at == now
        {
            in_order &= last <= header.order();
            last = header.order();
            next += 1;
        }
        (self.among, self.first, self.count) = (true, self.taken, next - self.taken);
        self.taken = next;
        in_order
    }

    #[inline(never)]
    fn forget_taken(&mut self) {
        self.headers.drain(..self.taken);
        self.taken = 0;
    }

    /// Puts those of a cycle in order.
    #[inline(never)]
    fn order(&mut self) {
        let list = if self.among { &mut self.headers } else { &mut self.due };
        let due = &mut list[self.first..][..self.count];
        if !due.is_sorted_by_key(Routed::order) {
            put_in_order(due, &mut self.others);
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

/// Most are in order: behind those that were granted what they had waited for, which come first. So the longest part that is in order stays together, and
/// the others are put between.
fn put_in_order(headers: &mut [Routed], others: &mut Vec<Routed>) {
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
    others.clear();
    others.extend_from_slice(&headers[..longest.start]);
    others.extend_from_slice(&headers[longest.end..]);
    sort(others, Routed::order);
    let mut next = others.len();
    headers.copy_within(longest, next);
    let mut place = 0;
    for other in &*others {
        while next < headers.len() && headers[next].order() < other.order() {
            headers[place] = headers[next];
            (place, next) = (place + 1, next + 1);
        }
        headers[place] = *other;
        place += 1;
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
