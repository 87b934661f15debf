//! What the core has been asked to do in a later cycle.

use std::cmp::Ordering;

use wormcast_network::NodeId;

/// What happens in a cycle besides headers that are routed, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A worm is ready for its startup.
    Ready = 0,
    /// A node's processor, or one of its ports, is free again.
    Free = 1,
    /// A worm's startup is over.
    Prepared = 2,
    /// Something that the engine asked to be reminded of.
    Reminder = 3,
    /// A channel that requests wait for is free again.
    Wake = 4,
    /// The last flit of a worm crosses the consumption channel at a vertex, in the movement phase (worm engine).
    Delivers = 5,
    /// A header enters the router at a vertex, in the movement phase (worm engine).
    Enters = 6,
}

/// An event; its order is that of the phases, then of worm ids. 16 bytes: most of an engine's memory traffic is events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// The kind in the top bits; below it the worm's id, the node or the queue.
    order: u64,
    pub(crate) slot: u32,
    pub(crate) vertex: u32,
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.number() < other.number()
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl Event {
    /// All of it, as one number.
    #[inline]
    fn number(self) -> u128 {
        u128::from(self.order) << 64 | u128::from(self.slot) << 32 | u128::from(self.vertex)
    }

    const ID_BITS: u32 = 60;

    /// What happens to the worm `id` in `slot`, at a vertex if it matters.
    #[inline]
    pub(crate) fn of_worm(kind: Kind, id: u64, slot: u32, vertex: u32) -> Self {
        debug_assert!(id >> Self::ID_BITS == 0);
        Self { order: (kind as u64) << Self::ID_BITS | id, slot, vertex }
    }

    /// Whether it happens to the worm `id`.
    pub(crate) fn is_of(self, id: u64) -> bool {
        self.order & ((1 << Self::ID_BITS) - 1) == id
    }

    pub(crate) fn free(node: NodeId) -> Self {
        Self::of_worm(Kind::Free, u64::from(node.raw()), 0, 0)
    }

    pub(crate) fn wake(queue: u32) -> Self {
        Self::of_worm(Kind::Wake, u64::from(queue), 0, 0)
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.order >> Self::ID_BITS {
            0 => Kind::Ready,
            1 => Kind::Free,
            2 => Kind::Prepared,
            3 => Kind::Reminder,
            4 => Kind::Wake,
            5 => Kind::Delivers,
            _ => Kind::Enters,
        }
    }

    /// The node of a `Free` event.
    pub(crate) fn node(self) -> NodeId {
        NodeId::new(self.order as u32)
    }

    /// The queue of a `Wake` event.
    pub(crate) fn queue(self) -> u32 {
        self.order as u32
    }
}
