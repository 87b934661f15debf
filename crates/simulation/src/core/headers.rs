//! Headers that spend their routing delay: the events of every hop, in queues of their own.
//!
//! All headers that enter a router in one cycle request in the same later one, and those that are freed by a flit that is
//! stripped are as late as each other. So a queue each is in the order of cycles without being sorted, which a calendar would
//! have to find out.

use crate::calendar::sort;
use crate::observer::Cycle;

/// A header that requests in cycle `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routed {
    at: Cycle,
    worm: u64,
    pub(crate) slot: u32,
    pub(crate) vertex: u32,
}

impl Routed {
    #[inline]
    fn order(&self) -> (Cycle, u64, u32) {
        (self.at, self.worm, self.vertex)
    }
}

/// The headers in routers, those that were stripped and those that were not merged by worm.
#[derive(Default)]
pub(crate) struct Headers {
    entering: Queue,
    stripped: Queue,
}

#[derive(Default)]
struct Queue {
    /// In the order of cycles; the first `taken` are gone.
    headers: Vec<Routed>,
    taken: usize,
    /// The last cycle whose headers were not added in the order of worms.
    unsorted: Cycle,
}

impl Headers {
    /// Adds the header of a worm, which enters a router, or is freed there by a flit that is stripped. Each of the two kinds has
    /// to come in the order of cycles.
    #[inline]
    pub(crate) fn push(&mut self, at: Cycle, worm: u64, slot: u32, vertex: u32, stripped: bool) {
        let queue = if stripped { &mut self.stripped } else { &mut self.entering };
        queue.push(Routed { at, worm, slot, vertex });
    }

    /// The cycle of the first headers.
    #[inline]
    pub(crate) fn next(&self) -> Option<Cycle> {
        match (self.entering.first(), self.stripped.first()) {
            (Some(a), Some(b)) => Some(a.at.min(b.at)),
            (a, b) => a.or(b).map(|header| header.at),
        }
    }

    /// Goes on to a cycle, whose headers [`take`](Self::take) takes then.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle) {
        self.entering.begin(now);
        self.stripped.begin(now);
    }

    /// The next header of the cycle, in the order of worms.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycle) -> Option<Routed> {
        let strips_first =
            self.stripped.first().is_some_and(|b| self.entering.first().is_none_or(|a| b.order() < a.order()));
        let queue = if strips_first { &mut self.stripped } else { &mut self.entering };
        let header = queue.first().filter(|header| header.at <= now).copied();
        queue.taken += usize::from(header.is_some());
        header
    }
}

impl Queue {
    #[inline]
    fn first(&self) -> Option<&Routed> {
        self.headers.get(self.taken)
    }

    #[inline]
    fn push(&mut self, header: Routed) {
        if self.taken == self.headers.len() {
            self.headers.clear();
            self.taken = 0;
        } else if let Some(last) = self.headers.last()
            && header.at == last.at
            && header.worm < last.worm
        {
            self.unsorted = header.at;
        }
        if self.headers.len() == self.headers.capacity() && self.taken > self.headers.len() / 2 {
            self.headers.drain(..self.taken);
            self.taken = 0;
        }
        self.headers.push(header);
    }

    #[inline]
    fn begin(&mut self, now: Cycle) {
        if self.unsorted >= now {
            let headers = &mut self.headers[self.taken..];
            let due = headers.partition_point(|header| header.at <= now);
            sort(&mut headers[..due], Routed::order);
        }
    }
}
