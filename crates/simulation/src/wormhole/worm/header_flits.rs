//! Lockstep trees with a header flit for each router that it names (`header = "tree"`): header flits one by one, data by the closed
//! form (docs/worm-engine.md).
//!
//! A header flit goes one way while the other branches idle, so its times follow from those around it alone: from the flit before
//! it in its router, from its arrival, and from the room ahead. They are found as soon as these are known, by a list of vertices
//! where something may have become known. The same holds for the first data flit. All data takes all branches: from its first
//! flit on, a vertex is one of `TreeTimes`, and only what the buffers below it still have of the header is added.

use std::cmp::Ordering;

use wormcast_network::{Network, RouterId};
use wormcast_routing::TreeDescent;

use super::trees::TreeTimes;
use crate::core::arbiter::NONE;
use crate::core::worm::{TreeRoute, UNKNOWN};
use crate::observers::observer::Cycle;

/// What is known of the flits of a tree worm with a header flit for each router that it names.
pub struct HeaderFlitTimes {
    vertices: Vec<HeaderFlitVertex>,
    /// The header flits at all vertices.
    flits: Vec<HeaderTimes>,
    /// The data.
    pub(super) data: TreeTimes,
    length: u32,
    buffer: u32,
    /// A header flit that no output of its router leads on: where it is, and the router that it names.
    pub(super) lost: Option<(RouterId, RouterId)>,
}

/// What a grant has brought to light, in lists that serve all worms.
#[derive(Default)]
pub(super) struct Findings {
    /// Departures: (vertex, cycle).
    pub(super) departures: Vec<(u32, Cycle)>,
    /// Headers that enter a vertex, and when.
    pub(super) arrivals: Vec<(u32, Cycle)>,
    /// Vertices where a flit may have got to know when it leaves.
    work: Vec<u32>,
}

/// What is known of a vertex.
#[derive(Clone)]
struct HeaderFlitVertex {
    /// When the channels that lead on were granted.
    granted: Option<Cycle>,
    /// How many header flits enter, as far as that is known.
    entered: u32,
    /// How many of them are known to leave.
    left: u32,
    /// The first that enters, the last, the last that is known to leave, and the one that is a buffer ahead of the next to enter; `NONE`: there is none.
    first: u32,
    last: u32,
    last_left: u32,
    ahead: u32,
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
    /// The one behind it at the vertex.
    next: u32,
    enters: Cycle,
    /// When it leaves, or is stripped.
    leaves: Cycle,
}

impl HeaderFlitVertex {
    /// One that no flit has come to.
    const NEW: Self = Self {
        granted: None,
        entered: 0,
        left: 0,
        first: NONE,
        last: NONE,
        last_left: NONE,
        ahead: NONE,
        data_enters: None,
        data_leaves: false,
        settled: false,
    };

    /// The header flits, in order.
    fn flits<'a>(&self, flits: &'a [HeaderTimes]) -> impl Iterator<Item = &'a HeaderTimes> {
        std::iter::successors(flits.get(self.first as usize), |flit| flits.get(flit.next as usize))
    }
}

impl HeaderFlitTimes {
    pub(super) fn new(route: &TreeRoute, header: u32, length: u32, buffer: u32) -> Self {
        let source = HeaderFlitVertex { data_enters: Some(0), settled: true, ..HeaderFlitVertex::NEW };
        let data = TreeTimes::behind_header(route, length, buffer);
        // What short headers need, all at once.
        let room = 8 * header.min(16) as usize;
        let (mut vertices, flits) = (Vec::with_capacity(room), Vec::with_capacity(2 * room));
        vertices.push(source);
        let mut times = Self { vertices, flits, data, length, buffer, lost: None };
        // The processor has the whole worm from the beginning on.
        (1..=header).for_each(|number| times.enter(0, number, 0));
        times
    }

    /// A header flit enters a vertex.
    fn enter(&mut self, v: usize, number: u32, enters: Cycle) {
        let flit = self.flits.len() as u32;
        self.flits.push(HeaderTimes { number, next: NONE, enters, leaves: UNKNOWN });
        let at = &mut self.vertices[v];
        match self.flits.get_mut(at.last as usize) {
            Some(last) => last.next = flit,
            None => at.first = flit,
        }
        at.last = flit;
        at.entered += 1;
        match at.entered.cmp(&self.buffer) {
            Ordering::Less => {}
            Ordering::Equal => at.ahead = at.first,
            Ordering::Greater => at.ahead = self.flits[at.ahead as usize].next,
        }
    }

    /// What a vertex asked for is granted in cycle `now`. Appends the departures and arrivals that are determined by that.
    ///
    /// O(1) for each header flit at each vertex, and as `TreeTimes` for the data.
    pub(super) fn granted(
        &mut self,
        route: &mut TreeRoute,
        vertex: usize,
        now: Cycle,
        network: &Network,
        descent: Option<&dyn TreeDescent>,
        found: &mut Findings,
    ) {
        self.vertices.resize(route.vertices.len(), HeaderFlitVertex::NEW);
        self.data.grow(route);
        self.vertices[vertex].granted = Some(now);
        found.work.push(vertex as u32);
        while let Some(vertex) = found.work.pop() {
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
        found: &mut Findings,
    ) -> bool {
        let at = &self.vertices[v];
        let Some(granted) = at.granted else { return false };
        // The flit before it leaves in an earlier cycle, or is stripped in one.
        let before = self.flits.get(at.last_left as usize);
        let behind = before.map_or(granted, |last| granted.max(last.leaves + 1));
        let next = before.map_or(at.first, |last| last.next);
        let arrived = |enters: Cycle| if v == 0 { 0 } else { enters + 1 };
        if let Some(&HeaderTimes { number, enters, .. }) = self.flits.get(next as usize) {
            let mut leaves = behind.max(arrived(enters));
            let to = match route.heads_for(v, at.left as usize, number, network, descent) {
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
                if self.vertices[to as usize].entered == 0 {
                    route.vertices[to as usize].front = number;
                    found.arrivals.push((to, leaves));
                }
                self.enter(to as usize, number, leaves);
                found.work.push(to);
            }
            self.flits[next as usize].leaves = leaves;
            let at = &mut self.vertices[v];
            at.last_left = next;
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
            self.data.header_leaves(route, v, leaves, &mut found.departures);
            let mut child = route.vertices[v].first_child;
            while child != NONE {
                let below = &mut self.vertices[child as usize];
                below.data_enters = Some(leaves);
                if below.entered == 0 {
                    found.arrivals.push((child, leaves));
                }
                route.vertices[child as usize].total = below.entered + self.length;
                found.work.push(child);
                self.settle(route, child as usize, found);
                child = route.vertices[child as usize].sibling;
            }
        }
        let parent = route.vertices[v].parent;
        if parent != NONE {
            found.work.push(parent);
        }
        true
    }

    /// From when on there is room for a further flit at a vertex, if that is known: the flit that is a buffer ahead of it leaves in
    /// the same cycle at the latest.
    fn room_from(&self, v: usize) -> Option<Cycle> {
        let at = &self.vertices[v];
        match self.flits.get(at.ahead as usize) {
            None => Some(0),
            Some(ahead) => (at.entered - self.buffer < at.left).then_some(ahead.leaves),
        }
    }

    /// Tells the data what the header at a vertex does to the last data flit, if that is known by now: where whole buffers do not
    /// divide the data, the last data flit is a number of buffers behind a header flit.
    fn settle(&mut self, route: &TreeRoute, v: usize, found: &mut Findings) {
        let at = &mut self.vertices[v];
        if at.settled || at.data_enters.is_none() {
            return;
        }
        let beside = match self.length % self.buffer {
            0 => 0,
            rest => self.buffer - rest,
        };
        let held_until = match at.entered.checked_sub(beside) {
            None | Some(0) => 0,
            Some(place) if place > at.left => return,
            Some(place) if place == at.entered => self.flits[at.last as usize].leaves,
            Some(place) => at.flits(&self.flits).nth(place as usize - 1).map_or(0, |flit| flit.leaves),
        };
        at.settled = true;
        self.data.header_holds(route, v, held_until, &mut found.departures);
    }

    /// Flits that have entered each vertex in cycles before `now`, and data flits that have left it.
    pub(super) fn crossed(&self, route: &TreeRoute, now: Cycle) -> (Vec<u32>, Vec<u32>) {
        let headed = |v: usize| self.vertices.get(v).into_iter().flat_map(|at| at.flits(&self.flits));
        let missing = |v: usize, until: Cycle| headed(v).filter(|flit| flit.leaves > until).count() as u64;
        let (data, left) = self.data.crossed(route, now, missing);
        let entered = |v: usize| headed(v).filter(|flit| flit.enters < now).count() as u32;
        (data.into_iter().enumerate().map(|(v, data)| data + entered(v)).collect(), left)
    }
}
