//! The closed form for lockstep tree worms whose branches carry the same flits.
//!
//! Let h(v) be the cycle in which the first of F flits leaves vertex v, on all branches, and D(v) the maximum, over the
//! descendants m of v (v included) at depth k with kB <= F - 1, of h(m) + (F - 1) - kB. The last flit leaves the processor in
//! D and any other vertex v in max(D(v), 1 + the cycle in which it leaves v's parent): a branch is held back by its ancestors'
//! other branches too.

use crate::core::arbiter::NONE;
use crate::core::worm::TreeRoute;
use crate::observer::Cycle;

/// When a tree worm's header has left its vertices, and what follows from it.
pub(super) struct TreeTimes {
    vertices: Vec<VertexTimes>,
    /// The depth to which a vertex is held back by those below it: the greatest k with kB <= F - 1.
    reach: u32,
    flits: u32,
    buffer: u32,
    /// The last departure that is known.
    last_departure: Cycle,
    /// Deliveries to come. Every leaf delivers, so the last of them is the worm's end.
    undelivered: usize,
    /// Deliveries that are known.
    deliveries: usize,
}

#[derive(Clone, Copy)]
struct VertexTimes {
    /// h(v).
    leaves: Option<Cycle>,
    /// D(v) over the descendants that the header has left.
    held_until: Cycle,
    /// Descendants within reach that the header has still to leave, v included.
    unknown: u32,
    /// When the last flit leaves.
    departs: Option<Cycle>,
}

impl TreeTimes {
    pub(super) fn new(route: &TreeRoute, flits: u32, buffer: u32) -> Self {
        let reach = (flits - 1) / buffer;
        let mut times =
            Self { vertices: Vec::new(), reach, flits, buffer, last_departure: 0, deliveries: 0, undelivered: 0 };
        times.grow(route);
        times
    }

    /// Takes in the vertices that the route has got since the last call. Their parents have still to be left.
    pub(super) fn grow(&mut self, route: &TreeRoute) {
        for start in self.vertices.len()..route.vertices.len() {
            self.vertices.push(VertexTimes { leaves: None, held_until: 0, unknown: 0, departs: None });
            let mut at = start as u32;
            for _ in 0..=self.reach {
                self.vertices[at as usize].unknown += 1;
                at = route.vertices[at as usize].parent;
                if at == NONE {
                    break;
                }
            }
        }
        self.undelivered += route.deliveries.len() - std::mem::replace(&mut self.deliveries, route.deliveries.len());
    }

    /// The header leaves a vertex on all branches: appends the departures (vertex, cycle) that are determined by that.
    /// O(depth), and O(1) for each departure and each child of such a vertex.
    pub(super) fn header_leaves(
        &mut self,
        route: &TreeRoute,
        vertex: usize,
        now: Cycle,
        found: &mut Vec<(u32, Cycle)>,
    ) {
        self.vertices[vertex].leaves = Some(now);
        let mut at = vertex as u32;
        let mut highest = vertex;
        for k in 0..=self.reach {
            let ancestor = &mut self.vertices[at as usize];
            let held = now + Cycle::from(self.flits - 1 - k * self.buffer);
            ancestor.held_until = ancestor.held_until.max(held);
            ancestor.unknown -= 1;
            highest = at as usize;
            at = route.vertices[at as usize].parent;
            if at == NONE {
                break;
            }
        }
        // Only on the way down from there can anything new be determined, parents before their children: `found` is the list of
        // vertices whose children have to be looked at, too.
        let mut next = found.len();
        self.determine(route, highest, found);
        while let Some(&(parent, _)) = found.get(next) {
            next += 1;
            for child in route.children(parent as usize) {
                self.determine(route, child, found);
            }
        }
    }

    /// Appends the departure from a vertex, if it is determined now.
    fn determine(&mut self, route: &TreeRoute, v: usize, found: &mut Vec<(u32, Cycle)>) {
        let parent = route.vertices[v].parent;
        let after = if parent == NONE { Some(0) } else { self.vertices[parent as usize].departs.map(|at| at + 1) };
        let at = &mut self.vertices[v];
        if let (Some(after), 0, None) = (after, at.unknown, at.departs) {
            let departs = at.held_until.max(after);
            at.departs = Some(departs);
            self.last_departure = self.last_departure.max(departs);
            found.push((v as u32, departs));
        }
    }

    /// A delivery has happened; returns whether it was the last.
    pub(super) fn delivered(&mut self) -> bool {
        self.undelivered -= 1;
        self.undelivered == 0
    }

    /// The last departure that is known. Until a header gets on, there is no later one.
    pub(super) fn last_departure(&self) -> Cycle {
        self.last_departure
    }

    /// Flits that have entered each vertex in cycles before `now`: O(vertices x height).
    ///
    /// A flit enters a vertex when it leaves the parent: after it has left all ancestors, each a cycle earlier, and each held back
    /// by all below it.
    pub(super) fn entered(&self, route: &TreeRoute, now: Cycle) -> Vec<u32> {
        let vertices = route.vertices.len();
        let mut count = vec![u64::from(self.flits); vertices];
        let mut ancestor: Vec<u32> = route.vertices.iter().map(|vertex| vertex.parent).collect();
        let mut passed = vec![0; vertices];
        let mut until = now.checked_sub(1);
        while ancestor.iter().any(|&ancestor| ancestor != NONE) {
            self.passed(route, until, &mut passed);
            for (count, ancestor) in count.iter_mut().zip(&mut ancestor).filter(|(_, ancestor)| **ancestor != NONE) {
                *count = (*count).min(passed[*ancestor as usize]);
                *ancestor = route.vertices[*ancestor as usize].parent;
            }
            until = until.and_then(|until| until.checked_sub(1));
        }
        count.into_iter().map(|count| count as u32).collect()
    }

    /// The flits that the vertices below each one, and itself, have let leave it up to and including a cycle.
    fn passed(&self, route: &TreeRoute, until: Option<Cycle>, passed: &mut [u64]) {
        // Children after their parents.
        for v in (0..route.vertices.len()).rev() {
            let own = match (self.vertices.get(v).and_then(|vertex| vertex.leaves), until) {
                (Some(leaves), Some(until)) if leaves <= until => until - leaves + 1,
                _ => 0,
            };
            let below = route.children(v).map(|child| passed[child] + u64::from(self.buffer)).min();
            passed[v] = below.map_or(own, |below| own.min(below));
        }
    }
}
