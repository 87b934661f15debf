//! A worm of a recorded run.

use wormcast_network::{ChannelId, NodeId};

use crate::observers::observer::Cycle;

/// A worm, from its startup until its last flit was delivered or the run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayWorm {
    /// Its id.
    pub worm: u64,
    /// Its message's.
    pub message: u64,
    /// The node that sends it.
    pub from: NodeId,
    /// The node that generated its message.
    pub source: NodeId,
    /// How many destinations its message has: with more than one it is a multicast.
    pub destinations: u64,
    /// Data flits.
    pub length: u32,
    /// The cycle in which its message was generated.
    pub generated: Cycle,
    /// The cycle in which its startup began, if it did.
    pub started: Option<Cycle>,
    /// Whether it waits forever.
    pub dead: bool,
    /// The nodes that it delivered to, and the cycle after the one in which the last flit was consumed there, in that order.
    pub deliveries: Vec<(NodeId, Cycle)>,
    /// The nodes that it was to deliver to and had not when the run ended.
    pub undelivered: Vec<NodeId>,
    /// The channels that it was granted, in that order.
    pub hops: Vec<ReplayHop>,
    /// When it had to wait, in the order in which that ended; what had not ended is last.
    pub waits: Vec<ReplayWait>,
}

/// A channel that a worm held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayHop {
    /// The channel, in a numbering as in [`ChannelSpace`](wormcast_network::ChannelSpace).
    pub channel: ChannelId,
    /// The hop behind which it is; `None` where the worm enters the network.
    pub parent: Option<u32>,
    /// The first cycle in which it was held.
    pub granted: Cycle,
    /// The last one; `None` if it was held when the run ended.
    pub released: Option<Cycle>,
    /// The flits that crossed it.
    pub flits: u32,
}

/// A wait of a worm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayWait {
    /// The hop whose grant ended it; `None` if the worm still waited when the run ended.
    pub hop: Option<u32>,
    /// The cycle in which it asked and was not granted what it asked for.
    pub since: Cycle,
    /// What it asked for: any one of these, or all of them together.
    pub channels: Box<[ChannelId]>,
}

impl ReplayWorm {
    /// The first cycle in which it starts, asks for or is granted anything, and the last in which it does something, in a run that ended before
    /// cycle `end`.
    pub(super) fn active(&self, end: Cycle) -> (Cycle, Cycle) {
        let begins = self.started.into_iter().chain(self.hops.iter().map(|hop| hop.granted));
        let first = begins.chain(self.waits.iter().map(|wait| wait.since)).min();
        let waits = self.waits.iter().any(|wait| wait.hop.is_none()) || !self.undelivered.is_empty();
        let ends = self.hops.iter().map(|hop| hop.released.unwrap_or(end));
        let ends = ends.chain(self.deliveries.iter().map(|&(_, at)| at)).chain(self.started);
        let last = if waits { Some(end) } else { ends.max() };
        (first.unwrap_or(end), last.unwrap_or(end))
    }
}
