//! The closed form for lockstep tree worms whose branches carry the same flits.
//!
//! Let h(v) be the cycle in which the first of F flits leaves vertex v, on all branches, and D(v) the maximum, over the
//! descendants m of v (v included) at depth k with kB <= F - 1, of h(m) + (F - 1) - kB. The last flit leaves the processor in
//! D and any other vertex v in max(D(v), 1 + the cycle in which it leaves v's parent): a branch is held back by its ancestors'
//! other branches too.

use crate::core::arbiter::NONE;
use crate::core::worm::TreeRoute;
use crate::observers::observer::Cycle;

/// When a tree worm's header has left its vertices, and what follows from it.
pub struct TreeTimes {
    vertices: Vec<VertexTimes>,
    /// The depth to which a vertex is held back by those below it: the greatest k with kB <= F - 1.
    reach: u32,
    flits: u32,
    buffer: u32,
    /// The last departure that is known.
    last_departure: Cycle,
    /// Deliveries to come. Every leaf delivers, so the last of them is the worm's end, if no others become known.
    undelivered: usize,
    /// Deliveries that are known.
    deliveries: usize,
    /// Vertices whose departures are not known: while there are any, there may be further vertices and deliveries.
    open: usize,
    /// Whether there are flits in front of these that go their own ways: they hold the last one back `reach + 1` further up.
    headed: bool,
}

#[derive(Clone, Copy)]
struct VertexTimes {
    /// h(v).
    leaves: Option<Cycle>,
    /// D(v) over the descendants that the header has left.
    held_until: Cycle,
    /// Descendants within reach that the header has still to leave, but has come to, v included; and those `reach + 1` below of
    /// which it is not known what the flits in front hold back.
    unknown: u32,
    /// When the last flit leaves.
    departs: Option<Cycle>,
    /// Hops from the processor.
    depth: u32,
    /// A vertex further up, or itself for the processor.
    jump: u32,
}

impl TreeTimes {
    pub(super) fn new(route: &TreeRoute, flits: u32, buffer: u32) -> Self {
        Self::with_header(route, flits, buffer, false)
    }

    /// Of the data behind header flits that go their own ways.
    pub(super) fn behind_header(route: &TreeRoute, flits: u32, buffer: u32) -> Self {
        Self::with_header(route, flits, buffer, true)
    }

    fn with_header(route: &TreeRoute, flits: u32, buffer: u32, headed: bool) -> Self {
        let reach = (flits - 1) / buffer;
        let mut times = Self {
            vertices: Vec::new(),
            reach,
            flits,
            buffer,
            last_departure: 0,
            deliveries: 0,
            undelivered: 0,
            open: 0,
            headed,
        };
        times.grow(route);
        times
    }

    /// Takes in the vertices that the route has got since the last call. Their parents have still to be left. O(1) for each.
    pub(super) fn grow(&mut self, route: &TreeRoute) {
        self.open += route.vertices.len() - self.vertices.len();
        for at in &route.vertices[self.vertices.len()..] {
            let (depth, jump) = match self.vertices.get(at.parent as usize) {
                None => (0, 0),
                Some(parent) => {
                    // The way up goes by jumps as long as two that are equally long and follow each other, or by one hop.
                    let first = &self.vertices[parent.jump as usize];
                    let second = &self.vertices[first.jump as usize];
                    let equal = parent.depth - first.depth == first.depth - second.depth;
                    (parent.depth + 1, if equal { first.jump } else { at.parent })
                }
            };
            self.vertices.push(VertexTimes { leaves: None, held_until: 0, unknown: 1, departs: None, depth, jump });
        }
        self.undelivered += route.deliveries.len() - std::mem::replace(&mut self.deliveries, route.deliveries.len());
    }

    /// The vertex that is `hops` above another: O(log depth).
    fn above(&self, route: &TreeRoute, vertex: usize, hops: u32) -> Option<usize> {
        let depth = self.vertices[vertex].depth.checked_sub(hops)?;
        let mut at = vertex;
        while self.vertices[at].depth > depth {
            let jump = self.vertices[at].jump as usize;
            at = if self.vertices[jump].depth >= depth { jump } else { route.vertices[at].parent as usize };
        }
        Some(at)
    }

    /// The header leaves a vertex on all branches: appends the departures (vertex, cycle) that are determined by that.
    ///
    /// O(depth), and O(1) for each departure and each child of such a vertex. With one-flit buffers O(log depth) where the worm goes
    /// on by one branch: what holds the last flit back is further down then, except for the vertex `reach` above.
    pub(super) fn header_leaves(
        &mut self,
        route: &TreeRoute,
        vertex: usize,
        now: Cycle,
        found: &mut Vec<(u32, Cycle)>,
    ) {
        self.vertices[vertex].leaves = Some(now);
        let onwards = route.children(vertex).count() as u32;
        let passes = onwards == 1 && self.buffer == 1;
        let (mut at, mut k) =
            if passes { (self.above(route, vertex, self.reach), self.reach) } else { (Some(vertex), 0) };
        let mut highest = None;
        while let Some(above) = at {
            let ancestor = &mut self.vertices[above];
            let held = now + Cycle::from(self.flits - 1 - k * self.buffer);
            ancestor.held_until = ancestor.held_until.max(held);
            // Instead of the vertex, its children have to be left; those that are too far down, by the flits in front of these.
            ancestor.unknown += if k < self.reach || self.headed { onwards } else { 0 };
            ancestor.unknown -= 1;
            highest = at;
            let parent = route.vertices[above].parent;
            at = (k < self.reach && parent != NONE).then_some(parent as usize);
            k += 1;
        }
        if let Some(highest) = highest {
            self.determine_from(route, highest, found);
        }
    }

    /// What the flits in front of these hold back at a vertex, which its parent has been left for, is known: the last one cannot
    /// leave the vertex `reach + 1` above before `until`. Appends the departures that are determined by that.
    pub(super) fn header_holds(
        &mut self,
        route: &TreeRoute,
        vertex: usize,
        until: Cycle,
        found: &mut Vec<(u32, Cycle)>,
    ) {
        if let Some(above) = self.above(route, vertex, self.reach + 1) {
            let ancestor = &mut self.vertices[above];
            ancestor.held_until = ancestor.held_until.max(until);
            ancestor.unknown -= 1;
            self.determine_from(route, above, found);
        }
    }

    /// Appends the departures that are determined by what has become known of a vertex. Only on the way down from there can
    /// anything be, parents before their children: `found` is the list of vertices whose children have to be looked at, too.
    fn determine_from(&mut self, route: &TreeRoute, highest: usize, found: &mut Vec<(u32, Cycle)>) {
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
            self.open -= 1;
            self.last_departure = self.last_departure.max(departs);
            found.push((v as u32, departs));
        }
    }

    /// A delivery has happened; returns whether it was the last.
    pub(super) fn delivered(&mut self) -> bool {
        self.undelivered -= 1;
        self.undelivered == 0 && self.open == 0
    }

    /// The last departure that is known. Until a header gets on, there is no later one.
    pub(super) fn last_departure(&self) -> Cycle {
        self.last_departure
    }

    /// Flits that have entered each vertex in cycles before `now`, and those that have left it, without those in front of these, of
    /// which `missing` says how many have not left a vertex up to and including a cycle: O(vertices x height).
    ///
    /// A flit leaves a vertex after it has left all ancestors, each a cycle earlier, and each held back by all below it.
    pub(super) fn crossed(
        &self,
        route: &TreeRoute,
        now: Cycle,
        missing: impl Fn(usize, Cycle) -> u64,
    ) -> (Vec<u32>, Vec<u32>) {
        let vertices = route.vertices.len();
        let mut left = vec![u64::from(self.flits); vertices];
        let mut ancestor: Vec<u32> = (0..vertices as u32).collect();
        let mut passed = vec![0; vertices];
        let mut until = now.checked_sub(1);
        while ancestor.iter().any(|&ancestor| ancestor != NONE) {
            self.passed(route, until, &missing, &mut passed);
            for (left, ancestor) in left.iter_mut().zip(&mut ancestor).filter(|(_, ancestor)| **ancestor != NONE) {
                *left = (*left).min(passed[*ancestor as usize]);
                *ancestor = route.vertices[*ancestor as usize].parent;
            }
            until = until.and_then(|until| until.checked_sub(1));
        }
        let left: Vec<u32> = left.into_iter().map(|count| count as u32).collect();
        let entered = route.vertices.iter().map(|vertex| match vertex.parent {
            NONE => self.flits,
            parent => left[parent as usize],
        });
        (entered.collect(), left)
    }

    /// The flits that the vertices below each one, and itself, have let leave it up to and including a cycle.
    fn passed(
        &self,
        route: &TreeRoute,
        until: Option<Cycle>,
        missing: &impl Fn(usize, Cycle) -> u64,
        passed: &mut [u64],
    ) {
        // Children after their parents.
        for v in (0..route.vertices.len()).rev() {
            let own = match (self.vertices.get(v).and_then(|vertex| vertex.leaves), until) {
                (Some(leaves), Some(until)) if leaves <= until => until - leaves + 1,
                _ => 0,
            };
            let room = |child: usize| {
                let missing = until.map_or(0, |until| missing(child, until));
                (passed[child] + u64::from(self.buffer)).saturating_sub(missing)
            };
            let below = route.children(v).map(room).min();
            passed[v] = below.map_or(own, |below| own.min(below));
        }
    }
}
