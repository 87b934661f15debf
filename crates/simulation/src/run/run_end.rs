//! The state at the end of a run: the worms in the network, what they hold, and what they wait for.

use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::observers::observer::Cycle;

/// The state in which a run ends.
#[derive(Clone, Debug)]
pub struct RunEnd<'a> {
    /// The first cycle that was not simulated.
    pub at: Cycle,
    /// Whether the run was ended by a deadlock.
    pub deadlock: bool,
    /// Every channel that a worm holds.
    pub held: &'a [Held],
    /// Every worm that has been submitted and has not delivered everywhere, by id; of observers with
    /// [`WAITS`](crate::Observer::WAITS) only.
    pub worms: &'a [WormAtEnd],
    /// The cycles of the measured window: its first, and the one after its last.
    pub window: (Cycle, Cycle),
    /// Flits that crossed each link in that window, by channel.
    pub link_flits: &'a [i64],
}

/// A channel that a worm holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Held {
    /// The channel, in a numbering as in [`ChannelSpace`](wormcast_network::ChannelSpace).
    pub channel: ChannelId,
    /// Which of the link's virtual channels; 0 for ports.
    pub virtual_channel: u32,
    /// The worm.
    pub worm: u64,
    /// Flits of it that have crossed the channel so far.
    pub flits: u32,
}

/// A worm that has not delivered everywhere when a run ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WormAtEnd {
    /// Its id.
    pub worm: u64,
    /// Its message's.
    pub message: u64,
    /// The node that sends it.
    pub source: NodeId,
    /// The nodes that it delivers to, those that it has delivered to already among them.
    pub destinations: Vec<NodeId>,
    /// What it has and others may want, from its tail to its headers.
    pub holds: Vec<WaitResource>,
    /// What it waits for, all of it at once; empty if it does not wait. Where the worm branches, some branches may wait and others
    /// not.
    pub waits: Vec<Wait>,
    /// Whether it waits forever.
    pub deadlocked: bool,
}

impl WormAtEnd {
    /// Since when it waits, for what it has waited for longest; `None` if it does not wait, or that is not known.
    pub fn since(&self) -> Option<Cycle> {
        self.waits.iter().filter_map(|wait| wait.since).min()
    }
}

/// Something that a worm needs to get on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The cycle in which it asked; of buffered switches that in which its header was routed there, and `None` for packets that stand
    /// behind others in a buffer.
    pub since: Option<Cycle>,
    /// The router where it waits; `None` before it has entered the network.
    pub at: Option<RouterId>,
    /// Any of these will do.
    pub options: Vec<Awaited>,
}

/// A resource that a worm waits for, and the worms in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The resource.
    pub resource: WaitResource,
    /// The worms that have it, then those that are before this one in the queue for it, the first of them first. Of queues for a
    /// processor or a buffer, the worm directly before this one alone. A worm may stand in its own way.
    pub worms: Vec<u64>,
}

/// A resource that worms hold and wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum WaitResource {
    /// A virtual channel of a link, or 0 and any one of them if it is waited for; or a port of a node.
    Channel(ChannelId, u32),
    /// Any injection channel of a node.
    Injection(NodeId),
    /// Any consumption channel of a node.
    Consumption(NodeId),
    /// The processor of a node, for a startup.
    Processor(NodeId),
    /// The message itself: the node that is to forward it has not got it yet.
    Delivery(NodeId),
    /// A place in the buffer at a channel's end; of buffered switches, as the following.
    Slot(ChannelId),
    /// Further flits of its own, which have still to cross a channel.
    Flits(ChannelId),
    /// Room in a switch's central buffer.
    Room(RouterId),
}
