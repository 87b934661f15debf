//! Lockstep trees with a header flit for each router that it names (`header = "tree"`): header flits one by one, data by the closed
//! form (docs/worm-engine.md).
//!
//! A header flit goes one way while the other branches idle, so its times follow from those around it alone: from the flit before
//! it in its router, from its arrival, and from the room ahead. They are found as soon as these are known, by a list of vertices
//! where something may have become known. The same holds for the first data flit. All data takes all branches: from its first
//! flit on, a vertex is one of `TreeTimes`, and only what the buffers below it still have of the header is added.

use wormcast_network::{Network, RouterId};
use wormcast_routing::TreeDescent;

use super::trees::TreeTimes;
use crate::core::arbiter::NONE;
use crate::core::worm::{TreeRoute, UNKNOWN};
use crate::observers::observer::Cycle;

/// What is known of the flits of a tree worm with a header flit for each router that it names.
pub struct HeaderFlitTimes {
    vertices: Vec<HeaderFlitVertex>,
    /// The data.
    pub(super) data: TreeTimes,
    length: u32,
    buffer: u32,
    /// Vertices where a flit may have got to know when it leaves.
    work: Vec<u32>,
    /// Headers that enter a vertex, and when: appended by [`granted`](Self::granted).
    pub(super) arrivals: Vec<(u32, Cycle)>,
    /// A header flit that no output of its router leads on: where it is, and the router that it names.
    pub(super) lost: Option<(RouterId, RouterId)>,
}

/// What is known of a vertex.
#[derive(Default)]
struct HeaderFlitVertex {
    /// When the channels that lead on were granted.
    granted: Option<Cycle>,
    /// The header flits that enter, as far as that is known.
    flits: Vec<HeaderTimes>,
    /// How many of them are known to leave.
    left: usize,
    /// When the first data flit enters. No header flit comes after it.
    data_enters: Option<Cycle>,
    /// Whether it is known when that leaves.
    data_leaves: bool,
    /// Whether it is known what the header flits here do to the last data flit further up.
    settled: bool,
}

/// A header flit at a vertex.
#[derive(Clone, Copy)]
struct HeaderTimes {
    /// Its number among the worm's flits.
    number: u32,
    enters: Cycle,
    /// When it leaves, or is stripped.
    leaves: Cycle,
}

impl HeaderFlitTimes {
    pub(super) fn new(route: &TreeRoute, header: u32, length: u32, buffer: u32) -> Self {
        let mut vertices = vec![HeaderFlitVertex::default()];
        // The processor has the whole worm from the beginning on.
        let prepared = |number| HeaderTimes { number, enters: 0, leaves: UNKNOWN };
        vertices[0].flits = (1..=header).map(prepared).collect();
        vertices[0].data_enters = Some(0);
        vertices[0].settled = true;
        let data = TreeTimes::behind_header(route, length, buffer);
        Self { vertices, data, length, buffer, work: Vec::new(), arrivals: Vec::new(), lost: None }
    }

    /// What a vertex asked for is granted in cycle `now`. Appends the departures (vertex, cycle) that are determined by that to
    /// `found`, and the arrivals of headers to `arrivals`.
    ///
    /// O(1) for each header flit at each vertex, and as `TreeTimes` for the data.
    pub(super) fn granted(
        &mut self,
        route: &mut TreeRoute,
        vertex: usize,
        now: Cycle,
        network: &Network,
        descent: Option<&dyn TreeDescent>,
        found: &mut Vec<(u32, Cycle)>,
    ) {
        self.vertices.resize_with(route.vertices.len(), HeaderFlitVertex::default);
        self.data.grow(route);
        self.vertices[vertex].granted = Some(now);
        self.work.push(vertex as u32);
        while let Some(vertex) = self.work.pop() {
            while self.advance(route, vertex as usize, network, descent, found) {}
        }
    }

    /// Finds out when the next flit up to the first of the data leaves a vertex, if that is known by now.
    fn advance(
        &mut self,
        route: &mut TreeRoute,
        v: usize,
        network: &Network,
        descent: Option<&dyn TreeDescent>,
        found: &mut Vec<(u32, Cycle)>,
    ) -> bool {
        let at = &self.vertices[v];
        let Some(granted) = at.granted else { return false };
        let next = at.left;
        // The flit before it leaves in an earlier cycle, or is stripped in one.
        let behind = next.checked_sub(1).map_or(granted, |last| granted.max(at.flits[last].leaves + 1));
        let arrived = |enters: Cycle| if v == 0 { 0 } else { enters + 1 };
        if let Some(&HeaderTimes { number, enters, .. }) = at.flits.get(next) {
            let mut leaves = behind.max(arrived(enters));
            let to = match route.heads_for(v, next, number, network, descent) {
                Ok(to) => to,
                Err(lost) => {
                    self.lost = Some(lost);
                    return false;
                }
            };
            // A flit that names the router is stripped.
            if to as usize != v {
                let Some(room) = self.room_from(to as usize) else { return false };
                leaves = leaves.max(room);
                let below = &mut self.vertices[to as usize];
                if below.flits.is_empty() {
                    route.vertices[to as usize].front = number;
                    self.arrivals.push((to, leaves));
                }
                below.flits.push(HeaderTimes { number, enters: leaves, leaves: UNKNOWN });
                self.work.push(to);
            }
            let at = &mut self.vertices[v];
            at.flits[next].leaves = leaves;
            at.left += 1;
            self.settle(route, v, found);
        } else {
            let Some(enters) = at.data_enters.filter(|_| !at.data_leaves) else { return false };
            let mut leaves = behind.max(arrived(enters));
            for child in route.children(v) {
                let Some(room) = self.room_from(child) else { return false };
                leaves = leaves.max(room);
            }
            self.vertices[v].data_leaves = true;
            self.data.header_leaves(route, v, leaves, found);
            let mut child = route.vertices[v].first_child;
            while child != NONE {
                let below = &mut self.vertices[child as usize];
                below.data_enters = Some(leaves);
                if below.flits.is_empty() {
                    self.arrivals.push((child, leaves));
                }
                route.vertices[child as usize].total = below.flits.len() as u32 + self.length;
                self.work.push(child);
                self.settle(route, child as usize, found);
                child = route.vertices[child as usize].sibling;
            }
        }
        let parent = route.vertices[v].parent;
        if parent != NONE {
            self.work.push(parent);
        }
        true
    }

    /// From when on there is room for a further flit at a vertex, if that is known: the flit that is a buffer ahead of it leaves in
    /// the same cycle at the latest.
    fn room_from(&self, v: usize) -> Option<Cycle> {
        let at = &self.vertices[v];
        match at.flits.len().checked_sub(self.buffer as usize) {
            None => Some(0),
            Some(ahead) => (ahead < at.left).then(|| at.flits[ahead].leaves),
        }
    }

    /// Tells the data what the header at a vertex does to the last data flit, if that is known by now: where whole buffers do not
    /// divide the data, the last data flit is a number of buffers behind a header flit.
    fn settle(&mut self, route: &TreeRoute, v: usize, found: &mut Vec<(u32, Cycle)>) {
        let at = &mut self.vertices[v];
        if at.settled || at.data_enters.is_none() {
            return;
        }
        let beside = match self.length % self.buffer {
            0 => 0,
            rest => self.buffer - rest,
        };
        let held_until = match at.flits.len().checked_sub(beside as usize) {
            None | Some(0) => 0,
            Some(place) if place <= at.left => at.flits[place - 1].leaves,
            Some(_) => return,
        };
        at.settled = true;
        self.data.header_holds(route, v, held_until, found);
    }

    /// Flits that have entered each vertex in cycles before `now`, and data flits that have left it.
    pub(super) fn crossed(&self, route: &TreeRoute, now: Cycle) -> (Vec<u32>, Vec<u32>) {
        let headed = |v: usize| self.vertices.get(v).map_or(&[][..], |at| &at.flits);
        let before = |v: usize, leaves_by: Cycle| headed(v).partition_point(|flit| flit.leaves <= leaves_by);
        let missing = |v: usize, until: Cycle| (headed(v).len() - before(v, until)) as u64;
        let (data, left) = self.data.crossed(route, now, missing);
        let entered = |v: usize| headed(v).partition_point(|flit| flit.enters < now) as u32;
        (data.into_iter().enumerate().map(|(v, data)| data + entered(v)).collect(), left)
    }
}
