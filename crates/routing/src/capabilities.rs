//! What routing relations can do beside leading headers.

use wormcast_network::{ChannelId, RouterId};

use crate::multidestination::MultidestinationRouting;
use crate::relation::RoutingRelation;
use crate::turns::turn_routing::TurnRouting;

/// What a relation can do beside leading headers; by default nothing. Whoever asks on every hop asks once, before.
#[derive(Clone, Copy, Default)]
pub struct RoutingCapabilities<'r> {
    /// Parallel channels in the place of candidates.
    pub spread: Option<&'r dyn Spread>,
    /// Ways down trees, where routers decode the headers of multicasts.
    pub descent: Option<&'r dyn TreeDescent>,
    /// The relation as routing over a set of turns, if that is what it is.
    pub turns: Option<&'r TurnRouting>,
    /// How switches route worms whose headers encode several destinations. What goes to one destination then goes as a unicast does.
    pub multidestination: Option<&'r dyn MultidestinationRouting>,
    /// A division of the virtual channels of links, of which headers may take only some. Without it, any will do.
    pub virtual_channels: Option<&'r dyn VirtualChannels>,
    /// Bytes of tables, at least, for each router that worms have gone to.
    pub target_bytes: u64,
    /// Of a relation that is watched: what it did first that no relation may, as a sentence without its end. It then gave no channels.
    pub fault: Option<&'r str>,
}

/// Knows which parallel channels a header may take in place of a candidate.
pub trait Spread: Send + Sync {
    /// As [`RoutingRelation::candidates`], and with them the parallel channels that will do as well: the channels on offer where
    /// routers choose among several (`selection` other than `first`). Parallel channels are different ones, and stand for each
    /// other only where the relation says so; the static check then assumes that any of them may be taken.
    fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>);
}

/// Knows the way down trees.
pub trait TreeDescent: Send + Sync {
    /// The channel by which a header at `at` goes down to `target`, below it, on the tree that channel `on` of this router
    /// belongs to (paper 5, section 3.1.2). `None` if there is none.
    fn down(&self, at: RouterId, on: ChannelId, target: RouterId) -> Option<ChannelId>;
}

/// Some virtual channels of a link, which are counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VcRange {
    /// The first.
    pub first: u8,
    /// The last; beyond those that the link has, it is the last of these.
    pub last: u8,
}

impl VcRange {
    /// All of them.
    pub const ANY: Self = Self { first: 0, last: u8::MAX };

    /// This one alone.
    pub const fn only(virtual_channel: u8) -> Self {
        Self { first: virtual_channel, last: virtual_channel }
    }

    /// Those of a link with `count` of them.
    #[inline]
    pub fn of(self, count: u32) -> std::ops::Range<u32> {
        u32::from(self.first)..count.min(u32::from(self.last) + 1)
    }

    /// Whether some are in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Divides the virtual channels of links, so that worms which could block each other forever hold different ones (Dally and Seitz 1987).
///
/// Engines grant a header only the virtual channels that it may have, and let it pass those at a link who may have none of them. The
/// static check of the [relation](crate::Dependencies::of_relation) tells them apart.
pub trait VirtualChannels: Send + Sync {
    /// The virtual channels that links need to have, at least.
    fn needed(&self) -> u8;

    /// Those of `channel` that a header may take that is where [`candidates`](RoutingRelation::candidates) is asked with the same arguments; the channel
    /// is one of those, or a first channel that a plan names. Called once for each of them and hop; it must not allocate.
    fn range(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, channel: ChannelId) -> VcRange;
}

impl dyn RoutingRelation + '_ {
    /// What gives the candidates, and the parallel channels that will do as well, if the relation [knows](Spread) any: for loops, which look that up
    /// once.
    pub fn spreading(&self) -> impl Fn(RouterId, Option<ChannelId>, RouterId, &mut Vec<ChannelId>) {
        let spread = self.capabilities().spread;
        move |at, arrived, target, out| match spread {
            Some(spread) => spread.spread(at, arrived, target, out),
            None => self.candidates(at, arrived, target, out),
        }
    }

    /// Calls what `spreading` returns, once.
    pub fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.spreading()(at, arrived, target, out);
    }
}
