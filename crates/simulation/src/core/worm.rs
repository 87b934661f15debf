//! A worm as everything but its flits sees it: who sends it, where it has got to, and what it holds there.
//!
//! Vertex 0 is the sender's processor, vertex 1 its router, the others are the routers that the worm has entered or reserved
//! a channel to, each entered by one channel. Between two vertices lies a channel with its buffer.

use wormcast_network::{ChannelId, NodeId};

use super::arbiter::NONE;
use crate::observer::{Cycle, LatencyParts};

/// A worm in an engine.
pub(crate) struct Worm {
    pub(crate) id: u64,
    pub(crate) message: u64,
    pub(crate) from: NodeId,
    /// The one consumption channel that it may use at each node.
    pub(crate) class: Option<u8>,
    /// Header and data flits that its sender injects.
    pub(crate) flits: u32,
    /// Header flits among them.
    pub(crate) header: u32,
    /// When it was ready for its startup, when that began and when it ended.
    pub(crate) ready: Cycle,
    pub(crate) started: Cycle,
    pub(crate) prepared: Cycle,
    /// The parts of the latency until it was ready.
    pub(crate) carried: LatencyParts,
    /// Cycles that its requests have waited so far (see `Core::network_time`).
    pub(crate) waited: u64,
    /// Worms that its deliveries trigger, as a list through `sibling`.
    pub(crate) first_child: u32,
    pub(crate) sibling: u32,
    /// The next worm in its sender's startup queue.
    pub(crate) queued_behind: u32,
    /// Headers that are spending their routing delay.
    pub(crate) timers: u32,
    /// Requests that wait.
    pub(crate) requests: u32,
    /// Whether the slot is in use.
    pub(crate) live: bool,
    pub(crate) route: Route,
}

impl Default for Worm {
    fn default() -> Self {
        Self {
            id: 0,
            message: 0,
            from: NodeId::new(0),
            class: None,
            flits: 0,
            header: 0,
            ready: 0,
            started: 0,
            prepared: 0,
            carried: LatencyParts::default(),
            waited: 0,
            first_child: NONE,
            sibling: NONE,
            queued_behind: NONE,
            timers: 0,
            requests: 0,
            live: false,
            route: Route::Path(PathRoute::default()),
        }
    }
}

/// Where it has got to.
pub(crate) enum Route {
    Path(PathRoute),
    Tree(TreeRoute),
}

/// The way of a path worm; vectors are indexed by vertex.
#[derive(Default)]
pub(crate) struct PathRoute {
    /// The channel by which each vertex is entered; nothing for vertex 0.
    pub(crate) entered_by: Vec<ChannelId>,
    /// The virtual channel of it.
    pub(crate) virtual_channel: Vec<u32>,
    /// The consumption channel held at each vertex, or `NONE`.
    pub(crate) consumption: Vec<u32>,
    /// The first vertex that flits have still to leave.
    pub(crate) tail: usize,
    /// Address flits stripped at vertices before `tail`.
    pub(crate) stripped: u32,
    /// Whether the address flit that has arrived at the last vertex names it.
    pub(crate) named: bool,
    /// Whether the last vertex is the last stop and its consumption channel is granted.
    pub(crate) complete: bool,
    pub(crate) stops: Vec<NodeId>,
    pub(crate) next_stop: usize,
    pub(crate) exit: Option<ChannelId>,
}

impl PathRoute {
    /// Starts over, keeping memory.
    pub(crate) fn reset(&mut self) {
        self.entered_by.clear();
        self.virtual_channel.clear();
        self.consumption.clear();
        (self.tail, self.stripped, self.complete, self.next_stop) = (0, 0, false, 0);
        self.push(ChannelId::new(NONE), 0);
    }

    /// Adds a vertex behind a channel that was granted.
    pub(crate) fn push(&mut self, entered_by: ChannelId, virtual_channel: u32) {
        self.entered_by.push(entered_by);
        self.virtual_channel.push(virtual_channel);
        self.consumption.push(NONE);
        self.named = false;
    }

    /// The vertex where the header is, or is heading for.
    pub(crate) fn last(&self) -> usize {
        self.entered_by.len() - 1
    }
}

/// A vertex of a tree worm.
pub(crate) struct TreeVertex {
    pub(crate) parent: u32,
    pub(crate) first_child: u32,
    pub(crate) sibling: u32,
    pub(crate) entered_by: ChannelId,
    pub(crate) virtual_channel: u32,
    pub(crate) depth: u32,
    /// The node that wants the message here.
    pub(crate) delivers: Option<NodeId>,
    /// The consumption channel held here, or `NONE`.
    pub(crate) consumption: u32,
    /// Flits that will have entered in the end.
    pub(crate) total: u32,
    /// Whether flits may enter: the channel that leads here is granted and not given back.
    pub(crate) reserved: bool,
    /// Whether flits may leave (in lockstep: on all branches).
    pub(crate) granted: bool,
    /// With a header of address flits: what becomes of each of those that enter.
    pub(crate) script: Vec<Address>,
}

/// An address flit of a tree worm at a vertex.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Its number among all flits of the worm.
    pub(crate) flit: u32,
    /// The child that it goes on to; the vertex itself if the flit names it.
    pub(crate) to: u32,
}

/// The way of a tree worm: its vertices, parents first.
pub(crate) struct TreeRoute {
    pub(crate) vertices: Vec<TreeVertex>,
}

impl TreeRoute {
    pub(crate) fn children(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let first = self.vertices[vertex].first_child;
        std::iter::successors((first != NONE).then_some(first as usize), |&child| {
            let next = self.vertices[child].sibling;
            (next != NONE).then_some(next as usize)
        })
    }

    /// The heights of a vertex's ancestors, from the sender's router down to the vertex itself: the longest ways down, in hops.
    pub(crate) fn heights_above(&self, vertex: usize) -> Vec<u32> {
        let mut deepest: Vec<u32> = self.vertices.iter().map(|v| v.depth).collect();
        for child in (2..self.vertices.len()).rev() {
            let parent = self.vertices[child].parent as usize;
            deepest[parent] = deepest[parent].max(deepest[child]);
        }
        let mut heights = Vec::new();
        let mut at = vertex;
        while at > 0 {
            heights.push(deepest[at] - self.vertices[at].depth);
            at = self.vertices[at].parent as usize;
        }
        heights.reverse();
        heights
    }
}
