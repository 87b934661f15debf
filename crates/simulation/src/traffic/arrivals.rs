//! The next arrival of each node: a calendar queue (Brown 1988).

use std::cmp::Reverse;

use crate::calendar::sort;
use crate::observers::observer::Cycle;

/// No node.
const NONE: u32 = u32::MAX;

/// The nodes that wait for their next arrival, each once, in the order of (cycle, node). Adding and taking one costs O(1) on average, if arrivals are about as
/// far apart as expected.
///
/// Memory: 16 bytes a node, and 8 to 16 for the days.
pub(super) struct Arrivals {
    /// The cycle of each node's arrival, and the node behind it in the list of its day.
    nodes: Vec<(Cycle, u32)>,
    /// The first node of each day's list. A day has as many cycles as its logarithm says; those that are a whole number of rounds apart share
    /// a list.
    days: Vec<u32>,
    log_cycles: u32,
    /// The first day whose arrivals are in lists.
    next_day: u64,
    /// Those of the days before, the first one last.
    due: Vec<(Cycle, u32)>,
    /// How many are in lists.
    listed: usize,
}

impl Arrivals {
    /// None yet; `gap` is the mean number of cycles between arrivals of a node.
    pub(super) fn new(nodes: usize, gap: f64) -> Self {
        let days = (2 * nodes.max(32)).next_power_of_two();
        let log_cycles = (2.0 * gap / days as f64).log2().round().clamp(0.0, 40.0) as u32;
        Self {
            nodes: vec![(0, NONE); nodes],
            days: vec![NONE; days],
            log_cycles,
            next_day: 0,
            due: Vec::new(),
            listed: 0,
        }
    }

    /// Adds a node that is not waiting. Cycles must not be before that of the arrival that was taken last.
    pub(super) fn push(&mut self, at: Cycle, node: u32) {
        let day = at >> self.log_cycles;
        if day < self.next_day {
            let place = self.due.partition_point(|&other| other > (at, node));
            self.due.insert(place, (at, node));
        } else {
            let place = self.place(day);
            self.nodes[node as usize] = (at, std::mem::replace(&mut self.days[place], node));
            self.listed += 1;
        }
    }

    fn place(&self, day: u64) -> usize {
        day as usize & (self.days.len() - 1)
    }

    /// Takes the first arrival.
    pub(super) fn pop(&mut self) -> Option<(Cycle, u32)> {
        let mut looked = 0;
        while self.due.is_empty() {
            if self.listed == 0 {
                return None;
            }
            if looked == self.days.len() {
                // Nothing for a whole round: go to where there is something.
                let days = self.days.iter().filter(|&&first| first != NONE);
                self.next_day = days.flat_map(|&first| self.list(first)).min().unwrap_or(self.next_day);
            }
            self.begin_day();
            looked += 1;
        }
        self.due.pop()
    }

    /// The days of the nodes in a list.
    fn list(&self, first: u32) -> impl Iterator<Item = u64> {
        let next = |&node: &u32| Some(self.nodes[node as usize].1).filter(|&node| node != NONE);
        std::iter::successors(Some(first), next).map(|node| self.nodes[node as usize].0 >> self.log_cycles)
    }

    /// Takes the next day's arrivals from its list.
    fn begin_day(&mut self) {
        let day = self.next_day;
        self.next_day += 1;
        let place = self.place(day);
        let mut node = std::mem::replace(&mut self.days[place], NONE);
        while node != NONE {
            let (at, behind) = self.nodes[node as usize];
            if at >> self.log_cycles == day {
                self.due.push((at, node));
                self.listed -= 1;
            } else {
                self.nodes[node as usize].1 = std::mem::replace(&mut self.days[place], node);
            }
            node = behind;
        }
        if self.due.len() > 1 {
            sort(&mut self.due, |&arrival| Reverse(arrival));
        }
    }

    /// Whether no node waits.
    pub(super) fn is_empty(&self) -> bool {
        self.listed == 0 && self.due.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted set, with gaps shorter and longer than expected, and nodes that do not come again.
        #[test]
        fn arrivals_come_in_order(
            gaps in prop::collection::vec((0usize..6, 0u64..400, 0u64..40), 1..300),
            nodes in 1u32..90,
            expected in prop::sample::select(vec![0.01, 3.0, 100.0, 4000.0, 1e9]),
        ) {
            let mut arrivals = Arrivals::new(nodes as usize, expected);
            let mut model = std::collections::BTreeSet::new();
            let scale = [0, 1, 1, 1, 30, 100_000];
            let mut draws = gaps.iter().cycle().map(|&(kind, gap, _)| scale[kind] * gap);
            for (node, at) in (0..nodes).zip(&mut draws) {
                arrivals.push(at, node);
                model.insert((at, node));
            }
            for (gap, &(.., leaves)) in draws.zip(&gaps) {
                let first = model.pop_first();
                prop_assert_eq!(arrivals.pop(), first);
                let Some((at, node)) = first else { break };
                if leaves > 0 {
                    arrivals.push(at + gap, node);
                    model.insert((at + gap, node));
                }
                prop_assert_eq!(arrivals.is_empty(), model.is_empty());
            }
        }
    }
}
