//! First come, first served: queues of requests in one memory.

use wormcast_network::RouterId;

use super::arbiter::NONE;
use super::hold::Hold;

/// A request's place in a queue.
#[derive(Clone, Copy)]
struct Entry {
    request: u32,
    previous: u32,
    next: u32,
}

/// What every hop looks at of a link, next to each other in memory; and the same of a pool.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Of a link that has one virtual channel, or a pool of one.
    pub(super) hold: Hold,
    /// The last entry of the queue, or `NONE`. Entries form rings, so the last one leads to the first.
    last: u32,
    /// The router that the link enters.
    pub(super) to: RouterId,
}

impl Line {
    /// Whether nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last == NONE
    }
}

/// Many queues, most of them empty. Entries keep their index until they are removed, from anywhere in the queue: O(1).
///
/// Memory: 16 bytes a queue, 12 an entry.
pub(super) struct Queues {
    pub(super) lines: Vec<Line>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Queues {
    /// Empty queues, for links to these routers and for so many pools.
    pub(super) fn new(links: impl Iterator<Item = RouterId>, pools: usize) -> Self {
        let line = |to| Line { hold: Hold::FREE, last: NONE, to };
        let pools = std::iter::repeat_n(RouterId::new(NONE), pools);
        Self { lines: links.chain(pools).map(line).collect(), entries: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self, queue: usize) -> bool {
        self.lines[queue].is_empty()
    }

    /// The first entry, or `NONE`.
    #[inline]
    fn head(&self, queue: usize) -> u32 {
        match self.lines[queue].last {
            NONE => NONE,
            last => self.entries[last as usize].next,
        }
    }

    #[inline]
    pub(super) fn is_first(&self, queue: usize, entry: u32) -> bool {
        self.head(queue) == entry
    }

    /// The first request.
    #[inline]
    pub(super) fn first(&self, queue: usize) -> Option<u32> {
        match self.head(queue) {
            NONE => None,
            head => Some(self.entries[head as usize].request),
        }
    }

    /// The requests in their order.
    pub(super) fn iter(&self, queue: usize) -> impl Iterator<Item = u32> {
        let last = self.lines[queue].last;
        let mut next = self.head(queue);
        std::iter::from_fn(move || {
            if next == NONE {
                return None;
            }
            let Entry { request, next: after, .. } = self.entries[next as usize];
            next = if next == last { NONE } else { after };
            Some(request)
        })
    }

    /// The requests before an entry, the nearest first.
    pub(super) fn before(&self, queue: usize, mut entry: u32) -> impl Iterator<Item = u32> {
        let head = self.head(queue);
        std::iter::from_fn(move || {
            if entry == head {
                return None;
            }
            entry = self.entries[entry as usize].previous;
            Some(self.entries[entry as usize].request)
        })
    }

    /// Puts a request at the end; returns its entry.
    #[inline]
    pub(super) fn push(&mut self, queue: usize, request: u32) -> u32 {
        let index = self.free.pop().unwrap_or(self.entries.len() as u32);
        let last = std::mem::replace(&mut self.lines[queue].last, index);
        let (previous, next) = match last {
            NONE => (index, index),
            _ => {
                let next = std::mem::replace(&mut self.entries[last as usize].next, index);
                self.entries[next as usize].previous = index;
                (last, next)
            }
        };
        let entry = Entry { request, previous, next };
        match self.entries.get_mut(index as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        index
    }

    /// Takes the first entry out, if there is one.
    #[inline]
    pub(super) fn remove_first(&mut self, queue: usize) {
        let line = &mut self.lines[queue];
        let last = line.last;
        if last == NONE {
            return;
        }
        let first = self.entries[last as usize].next;
        self.free.push(first);
        if first == last {
            line.last = NONE;
        } else {
            let second = self.entries[first as usize].next;
            self.entries[last as usize].next = second;
            self.entries[second as usize].previous = last;
        }
    }

    /// Takes an entry out; returns whether the queue has a new head.
    pub(super) fn remove(&mut self, queue: usize, index: u32) -> bool {
        let was_head = self.head(queue) == index;
        let Entry { previous, next, .. } = self.entries[index as usize];
        self.entries[previous as usize].next = next;
        self.entries[next as usize].previous = previous;
        if self.lines[queue].last == index {
            self.lines[queue].last = if previous == index { NONE } else { previous };
        }
        self.free.push(index);
        was_head && self.lines[queue].last != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    proptest! {
        /// Against one deque a queue.
        #[test]
        fn queues_are_queues(steps in prop::collection::vec((0usize..3, 0u32..100, any::<bool>()), 1..200)) {
            let mut queues = Queues::new(std::iter::empty(), 3);
            let mut model: [VecDeque<(u32, u32)>; 3] = Default::default();
            for (queue, number, push) in steps {
                if push {
                    let entry = queues.push(queue, number);
                    model[queue].push_back((entry, number));
                } else if !model[queue].is_empty() {
                    let position = number as usize % model[queue].len();
                    let (entry, _) = model[queue].remove(position).unwrap();
                    if position == 0 && number % 2 == 0 {
                        queues.remove_first(queue);
                    } else {
                        prop_assert_eq!(queues.remove(queue, entry), position == 0 && !model[queue].is_empty());
                    }
                }
                for (queue, model) in model.iter().enumerate() {
                    prop_assert_eq!(queues.is_empty(queue), model.is_empty());
                    prop_assert_eq!(queues.first(queue), model.front().map(|front| front.1));
                    prop_assert!(queues.iter(queue).eq(model.iter().map(|item| item.1)));
                    if let Some(&(last, _)) = model.back() {
                        prop_assert!(queues.before(queue, last).eq(model.iter().rev().skip(1).map(|item| item.1)));
                        prop_assert_eq!(queues.is_first(queue, last), model.len() == 1);
                    }
                }
            }
        }
    }
}
