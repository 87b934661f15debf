//! The closed form for tree worms whose branches copy flits independently, where every buffer takes a worm as a whole.
//!
//! Nothing ahead ever holds a flit back, and flits come without gaps: the j-th crosses a channel j - 1 cycles after the first, which
//! crosses it when it is granted. A router's buffer is empty once the branch that was granted last has taken all.

use crate::core::arbiter::NONE;
use crate::core::worm::{TreeDelivery, TreeRoute, UNKNOWN};
use crate::observers::observer::Cycle;

/// When a tree worm's channels were granted, and what follows from it.
pub struct CopyTimes {
    vertices: Vec<VertexTimes>,
    flits: u32,
    /// The last departure that is known.
    last_departure: Cycle,
    /// Deliveries to come. Every leaf delivers, so the last of them is the worm's end.
    undelivered: usize,
    /// Deliveries that are known.
    deliveries: usize,
}

#[derive(Clone, Copy, Default)]
struct VertexTimes {
    /// When the first flit enters.
    enters: Option<Cycle>,
    /// Branches and deliveries that have been granted.
    granted: u32,
}

/// What was granted at a vertex.
#[derive(Default)]
pub(super) struct Granted {
    /// Vertices that the header enters.
    pub(super) children: Vec<u32>,
    /// Deliveries.
    pub(super) deliveries: Vec<u32>,
    /// Whether that was all that the vertex waited for.
    pub(super) all: bool,
    /// When the last flit crosses what was granted.
    pub(super) last: Cycle,
}

impl CopyTimes {
    pub(super) fn new(route: &TreeRoute, flits: u32) -> Self {
        let mut times = Self { vertices: Vec::new(), flits, last_departure: 0, undelivered: 0, deliveries: 0 };
        times.grow(route);
        times
    }

    /// Takes in the vertices and deliveries that the route has got since the last call.
    fn grow(&mut self, route: &TreeRoute) {
        self.vertices.resize(route.vertices.len(), VertexTimes::default());
        self.undelivered += route.deliveries.len() - std::mem::replace(&mut self.deliveries, route.deliveries.len());
    }

    /// The worm was granted something at a vertex: fills in what. Once called, nothing is left for another grant of the same cycle.
    pub(super) fn granted(&mut self, route: &TreeRoute, vertex: u32, now: Cycle, granted: &mut Granted) {
        self.grow(route);
        granted.children.clear();
        granted.deliveries.clear();
        granted.last = now + Cycle::from(self.flits - 1);
        let at = &route.vertices[vertex as usize];
        let mut child = at.first_child;
        while child != NONE {
            let enters = &mut self.vertices[child as usize].enters;
            if route.vertices[child as usize].reserved && enters.is_none() {
                *enters = Some(now);
                granted.children.push(child);
            }
            child = route.vertices[child as usize].sibling;
        }
        let (first, end) = at.deliveries;
        let is_new = |&delivery: &u32| {
            let delivery = &route.deliveries[delivery as usize];
            delivery.channel.raw() != NONE && delivery.departs == UNKNOWN
        };
        granted.deliveries.extend((first..end).filter(is_new));
        let new = (granted.children.len() + granted.deliveries.len()) as u32;
        let wanted = route.children(vertex as usize).count() as u32 + (end - first);
        let so_far = &mut self.vertices[vertex as usize].granted;
        *so_far += new;
        granted.all = new > 0 && *so_far == wanted;
        if new > 0 {
            self.last_departure = granted.last;
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

    /// Flits that have entered a vertex in cycles before `now`.
    pub(super) fn entered(&self, vertex: usize, now: Cycle) -> u32 {
        let since = self.vertices.get(vertex).and_then(|vertex| vertex.enters).map_or(0, |enters| now - enters);
        since.min(Cycle::from(self.flits)) as u32
    }

    /// Flits that have crossed the consumption channel of a delivery in cycles before `now`, the last of them not among them.
    pub(super) fn consumed(&self, delivery: &TreeDelivery, now: Cycle) -> u32 {
        let to_come = delivery.departs.saturating_add(1).saturating_sub(now).min(Cycle::from(self.flits));
        self.flits - to_come as u32
    }
}
