//! A worm on its way: which vertices it has reached and how many flits have left each.
//!
//! Vertex 0 is the sender's processor, vertex 1 its router, the others are the routers that the worm has entered or reserved
//! a channel to, each entered by one channel. Between two vertices lies a channel with its buffer.

use wormcast_network::{ChannelId, NodeId};

use super::arbiter::NONE;
use crate::observer::{Cycle, LatencyParts};

/// A worm in the engine.
#[derive(Default)]
pub(super) struct Worm {
    pub(super) id: u64,
    pub(super) message: u64,
    pub(super) from: NodeId,
    /// The one consumption channel that it may use at each node.
    pub(super) class: Option<u8>,
    /// Header and data flits that its sender injects.
    pub(super) flits: u32,
    /// Header flits among them.
    pub(super) header: u32,
    /// When it was ready for its startup, when that began and when it ended.
    pub(super) ready: Cycle,
    pub(super) started: Cycle,
    pub(super) prepared: Cycle,
    /// The parts of the latency until it was ready.
    pub(super) carried: LatencyParts,
    /// Cycles that its requests have waited so far (trees only: see `Engine::network_time`).
    pub(super) waited: u64,
    /// Worms that its deliveries trigger, as a list through `sibling`.
    pub(super) first_child: u32,
    pub(super) sibling: u32,
    /// The next worm in its sender's startup queue.
    pub(super) queued_behind: u32,
    /// Whether it is in the list of worms that may move.
    pub(super) active: bool,
    /// Headers that are spending their routing delay, or address flits that wait to be stripped.
    pub(super) timers: u32,
    /// Requests that wait.
    pub(super) requests: u32,
    /// Whether the slot is in use.
    pub(super) live: bool,
    pub(super) body: Body,
}

/// The moving part.
pub(super) enum Body {
    Path(PathBody),
    Tree(Box<TreeBody>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Path(PathBody::default())
    }
}

/// A path worm. Vectors are indexed by vertex.
///
/// Flits are numbered from 1 as they are injected. `left[v]` is the greatest number that has left vertex `v`; where an address
/// flit is stripped, that counts as leaving. So vertex `v + 1` holds `left[v] - left[v + 1]` flits, stripping or not.
#[derive(Default)]
pub(super) struct PathBody {
    pub(super) left: Vec<u32>,
    /// The channel by which each vertex is entered; nothing for vertex 0.
    pub(super) entered_by: Vec<ChannelId>,
    /// The virtual channel of it.
    pub(super) virtual_channel: Vec<u32>,
    /// The consumption channel held at each vertex, or `NONE`.
    pub(super) consumption: Vec<u32>,
    /// The first vertex that flits have still to leave.
    pub(super) first: usize,
    /// Address flits stripped before `first`.
    pub(super) stripped: u32,
    /// Whether the header has arrived at the last vertex: the address flit, and once that is stripped the one behind it.
    pub(super) arrived: bool,
    /// Whether the last vertex is the last stop and its consumption channel is granted.
    pub(super) draining: bool,
    /// When the address flit at the last vertex is stripped.
    pub(super) strip_at: Cycle,
    pub(super) stops: Vec<NodeId>,
    pub(super) next_stop: usize,
    pub(super) exit: Option<ChannelId>,
}

impl PathBody {
    /// Starts over, keeping memory.
    pub(super) fn reset(&mut self) {
        for list in [&mut self.left, &mut self.consumption, &mut self.virtual_channel] {
            list.clear();
        }
        self.entered_by.clear();
        (self.first, self.stripped, self.arrived, self.draining, self.next_stop) = (0, 0, false, false, 0);
        self.strip_at = Cycle::MAX;
        self.push(ChannelId::new(NONE), 0);
    }

    /// Adds a vertex behind a channel that was granted.
    pub(super) fn push(&mut self, entered_by: ChannelId, virtual_channel: u32) {
        self.left.push(self.left.last().copied().unwrap_or(0));
        self.entered_by.push(entered_by);
        self.virtual_channel.push(virtual_channel);
        self.consumption.push(NONE);
        self.arrived = false;
        self.strip_at = Cycle::MAX;
    }
}

/// A vertex of a tree worm.
pub(super) struct TreeVertex {
    pub(super) parent: u32,
    pub(super) first_child: u32,
    pub(super) sibling: u32,
    pub(super) entered_by: ChannelId,
    pub(super) virtual_channel: u32,
    pub(super) depth: u32,
    /// The node that wants the message here.
    pub(super) delivers: Option<NodeId>,
    pub(super) consumption: u32,
    /// Flits that have entered, have left on all branches, and will have entered in the end.
    pub(super) entered: u32,
    pub(super) left: u32,
    pub(super) total: u32,
    /// Flits that the consumption channel has taken (independent branches).
    pub(super) consumed: u32,
    /// Whether flits may leave on all branches (lockstep).
    pub(super) granted: bool,
    /// Whether flits may enter: the channel that leads here is granted.
    pub(super) reserved: bool,
    /// Whether the flit that names this router is stripped in this cycle.
    pub(super) strips: bool,
    /// With a header of address flits: what becomes of each of those that enter.
    pub(super) script: Vec<Address>,
}

/// An address flit of a tree worm at a vertex.
#[derive(Clone, Copy)]
pub(super) struct Address {
    /// Its number among all flits of the worm.
    pub(super) flit: u32,
    /// The child that it goes on to; the vertex itself if the flit names it.
    pub(super) to: u32,
}

/// A tree worm: its vertices, parents first.
pub(super) struct TreeBody {
    pub(super) vertices: Vec<TreeVertex>,
    /// Vertices that flits have still to leave.
    pub(super) open: usize,
}

impl TreeBody {
    pub(super) fn children(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let first = self.vertices[vertex].first_child;
        std::iter::successors((first != NONE).then_some(first as usize), |&child| {
            let next = self.vertices[child].sibling;
            (next != NONE).then_some(next as usize)
        })
    }
}
