//! The routing relation: the one trait between topologies and everything that moves worms.

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::multidestination::MultidestinationRouting;
use crate::turn_routing::TurnRouting;

/// Which output channels a header may take.
///
/// A relation with one answer everywhere is deterministic routing, one with several is adaptive. What a header remembers is
/// the channel by which it arrived; a relation may keep tables of the network that it was made for, but answers do not
/// depend on what was asked before.
pub trait RoutingRelation: Send + Sync {
    /// The name under which users ask for it.
    fn name(&self) -> &'static str;

    /// Whether the relation is defined on this network.
    ///
    /// # Errors
    /// If it is not, saying what it needs.
    fn supports(&self, network: &Network) -> Result<(), Unsupported>;

    /// Replaces `out` by the channels that a header at `at`, which came by `arrived` (`None` in its source router), may
    /// take towards `target`, the preferred one first. Empty if `at` is the target or there is no permitted way.
    ///
    /// Called once for each hop of a header; it must not allocate beyond the growth of `out`.
    fn candidates(
        &self,
        network: &Network,
        at: RouterId,
        arrived: Option<ChannelId>,
        target: RouterId,
        out: &mut Vec<ChannelId>,
    );

    /// The channel by which a header at `at` goes down to `target`, below it, on the tree that channel `on` of this router
    /// belongs to: where routers decode the headers of multicasts (paper 5, section 3.1.2). `None` if the relation knows no
    /// trees.
    fn down(&self, _network: &Network, _at: RouterId, _on: ChannelId, _target: RouterId) -> Option<ChannelId> {
        None
    }

    /// This relation as routing over a set of turns, if that is what it is.
    fn turn_routing(&self) -> Option<&TurnRouting> {
        None
    }

    /// How switches route worms whose headers encode several destinations, if this relation says so. What goes to one
    /// destination then goes as a unicast does.
    fn multidestination(&self) -> Option<&dyn MultidestinationRouting> {
        None
    }
}

/// A routing or an algorithm was asked to work on a network that it is not defined for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` needs {needs}, but `{network}` is {is}{hint}")]
pub struct Unsupported {
    /// The routing or algorithm.
    pub name: String,
    /// What it needs.
    pub needs: String,
    /// The network's name.
    pub network: String,
    /// What the network is instead.
    pub is: String,
    /// A way out, as `; …`, or nothing.
    pub hint: String,
}

impl Unsupported {
    /// The error for `name`, which needs `needs`, on `network`.
    pub fn new(name: &str, needs: &str, network: &Network) -> Self {
        let shape = network.shape();
        let is = match shape.mesh() {
            Some(grid) => format!("a {}-D mesh", grid.dimensions()),
            None => shape.describe().to_owned(),
        };
        Self {
            name: name.to_owned(),
            needs: needs.to_owned(),
            network: network.name().to_owned(),
            is,
            hint: String::new(),
        }
    }

    /// Adds a way out.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = format!("; {hint}");
        self
    }
}

/// Whether a network is the one that a relation with tables was made for, as far as its name and the sizes of the tables tell.
pub(crate) fn made_for(name: &str, own: &str, fits: bool, network: &Network) -> Result<(), Unsupported> {
    if own == network.name() && fits {
        return Ok(());
    }
    Err(Unsupported::new(name, &format!("`{own}`, which it was made for"), network))
}

/// Replaces `out` by those of the channels from which there are the fewest hops still to go, in their order; `None`: no way.
///
/// ```
/// use wormcast_network::ChannelId;
/// use wormcast_routing::nearest_channels;
///
/// let mut out = Vec::new();
/// let hops = [Some(4), None, Some(3), Some(3)];
/// nearest_channels((0..4).map(ChannelId::new).zip(hops), &mut out);
/// assert_eq!(out, [2, 3].map(ChannelId::new));
/// ```
#[inline]
pub fn nearest_channels(channels: impl Iterator<Item = (ChannelId, Option<u32>)>, out: &mut Vec<ChannelId>) {
    out.clear();
    let mut best = u32::MAX;
    for (channel, hops) in channels {
        let Some(hops) = hops.filter(|&hops| hops <= best) else { continue };
        if hops < best {
            best = hops;
            out.clear();
        }
        out.push(channel);
    }
}

/// A relation that leads nowhere: no permitted channel at a router, or no arrival within twice as many hops as the
/// network has channels.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{routing}` has no route from router {from} to router {to}")]
pub struct NoRoute {
    /// The relation.
    pub routing: &'static str,
    /// Where the route starts.
    pub from: RouterId,
    /// Where it should end.
    pub to: RouterId,
}

/// Appends the channels that a header takes from `from`, reached by `arrived`, to `to` in an idle network: always the
/// preferred candidate.
///
/// # Errors
/// If the relation leads nowhere.
pub fn append_route(
    network: &Network,
    relation: &dyn RoutingRelation,
    from: RouterId,
    arrived: Option<ChannelId>,
    to: RouterId,
    route: &mut Vec<ChannelId>,
) -> Result<(), NoRoute> {
    let (mut at, mut arrived) = (from, arrived);
    let mut candidates = Vec::new();
    let mut hops = 0;
    while at != to {
        relation.candidates(network, at, arrived, to, &mut candidates);
        let &channel = candidates.first().filter(|_| hops < 2 * network.channels()).ok_or(NoRoute {
            routing: relation.name(),
            from,
            to,
        })?;
        route.push(channel);
        (at, arrived) = (network.to(channel), Some(channel));
        hops += 1;
    }
    Ok(())
}
