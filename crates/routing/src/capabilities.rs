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

impl dyn RoutingRelation + '_ {
    /// The candidates, and the parallel channels that will do as well, if the relation [knows](Spread) any.
    pub fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        match self.capabilities().spread {
            Some(spread) => spread.spread(at, arrived, target, out),
            None => self.candidates(at, arrived, target, out),
        }
    }
}
