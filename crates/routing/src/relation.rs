//! The routing relation: the trait that everything that routes worms implements.

use std::sync::Arc;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::RoutingCapabilities;

/// Which output channels a header may take.
///
/// A relation with one answer everywhere is deterministic routing, one with several is adaptive. What a header remembers is
/// the channel by which it arrived; a relation may keep tables of its network, but answers do not depend on what was asked before.
/// It is made for one network, holds it, and refuses those that it is not defined on when it is made.
pub trait RoutingRelation: Send + Sync {
    /// The name under which users ask for it.
    fn name(&self) -> &'static str;

    /// The network that it is made for: routers and channels are those of this one.
    fn network(&self) -> &Arc<Network>;

    /// Replaces `out` by the channels that a header at `at`, which came by `arrived` (`None` in its source router), may
    /// take towards `target`, the preferred one first. Empty if `at` is the target or there is no permitted route.
    ///
    /// Called once for each hop of a header; it must not allocate beyond the growth of `out`.
    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>);

    /// The one channel that [`candidates`](Self::candidates) lists, whichever way the header came, and how its way goes on, where the relation finds that
    /// without a list: simulations ask where a header turns, and not on every hop. `None` where it does not, or there is no channel.
    fn straight(&self, at: RouterId, target: RouterId) -> Option<Straight> {
        let _ = (at, target);
        None
    }

    /// Appends the channels that a header takes in an idle network, as [`append_route`] does, to `route`, and says whether it gets to `to`. Of `candidates`, only the
    /// memory counts.
    ///
    /// Provided: each relation has a loop of its own, in which asking it is no virtual call.
    fn follow(
        &self,
        from: RouterId,
        arrived: Option<ChannelId>,
        to: RouterId,
        candidates: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        follow_step_by_step(self, (from, arrived), to, candidates, route)
    }

    /// Its optional capabilities.
    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities::default()
    }
}

/// [`RoutingRelation::follow`], for relations that know nothing quicker.
#[inline]
pub(crate) fn follow_step_by_step(
    relation: &(impl RoutingRelation + ?Sized),
    (from, arrived): (RouterId, Option<ChannelId>),
    to: RouterId,
    candidates: &mut Vec<ChannelId>,
    route: &mut Vec<ChannelId>,
) -> bool {
    let network = &**relation.network();
    let most = route.len() + longest_way(network);
    let (mut at, mut arrived) = (from, arrived);
    while at != to {
        if route.len() >= most {
            return false;
        }
        let (first, more, position) = match relation.straight(at, to) {
            Some(Straight { first, more, position }) => (first, more, position),
            None => {
                relation.candidates(at, arrived, to, candidates);
                let Some(&first) = candidates.first() else { return false };
                (first, 0, 0)
            }
        };
        route.push(first);
        (at, arrived) = (network.to(first), Some(first));
        for _ in 0..more {
            let Some(next) = network.output(at, position) else { break };
            route.push(next);
            (at, arrived) = (network.to(next), Some(next));
        }
    }
    true
}

/// The most hops of a route that is taken to end.
pub(crate) fn longest_way(network: &Network) -> usize {
    2 * network.channels()
}

/// A part of a route along which headers leave all routers but the first by the same of their channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Straight {
    /// The channel that leaves the first router.
    pub first: ChannelId,
    /// How many channels follow it.
    pub more: u32,
    /// The [position](Network::output) of each of those among the channels that leave their router.
    pub position: u32,
}

/// A routing or an algorithm is not defined on this network.
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
    /// A suggestion, as `; …`, or nothing.
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

    /// The error for `name`, which needs a connected network.
    pub fn disconnected(name: &str, network: &Network) -> Self {
        Self { is: "not".to_owned(), ..Self::new(name, "a connected network", network) }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = format!("; {hint}");
        self
    }

    /// Whether it has a suggestion.
    pub fn has_hint(&self) -> bool {
        !self.hint.is_empty()
    }
}

/// Replaces `out` by those of the channels from which there are the fewest hops still to go, in their order; `None`: no route.
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

/// A relation has no route: no permitted channel at a router, or a loop.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct NoRoute {
    /// The relation.
    pub routing: &'static str,
    /// Where the route starts.
    pub from: RouterId,
    /// Where it should end.
    pub to: RouterId,
    message: Box<str>,
}

impl NoRoute {
    /// The error for a relation that gives no channel at `from` towards `to`.
    #[cold]
    pub fn new(relation: &dyn RoutingRelation, from: RouterId, to: RouterId) -> Self {
        let none = Self::named(relation.network(), relation.name(), from, to);
        match relation.capabilities().fault {
            Some(fault) => Self { message: fault.into(), ..none },
            None => none,
        }
    }

    /// The error for something other than a relation that routes, under this name.
    #[cold]
    pub fn named(network: &Network, routing: &'static str, from: RouterId, to: RouterId) -> Self {
        let (start, end) = (network.router_label(from), network.router_label(to));
        Self {
            routing,
            from,
            to,
            message: format!("`{routing}` has no route from router {start} to router {end}").into(),
        }
    }

    /// The error for a relation that leads from `from` through these channels, the last of which it has given before.
    #[cold]
    fn in_a_loop(
        network: &Network,
        routing: &'static str,
        (from, to): (RouterId, RouterId),
        way: &[ChannelId],
    ) -> Self {
        /// Routers of a loop that are named.
        const NAMED: usize = 8;
        // A network without channels.
        if way.is_empty() {
            return Self::named(network, routing, from, to);
        }
        let before = way.split_last().and_then(|(last, before)| Some((last, before.iter().rposition(|c| c == last)?)));
        let lap = before.map_or(way, |(_, start)| &way[start + 1..]);
        let mut routers: Vec<String> = lap.iter().take(NAMED).map(|&c| network.router_label(network.from(c))).collect();
        let closing = if lap.len() > NAMED { "…".to_owned() } else { routers.first().cloned().unwrap_or_default() };
        routers.push(closing);
        let (start, end) = (network.router_label(from), network.router_label(to));
        let routers = routers.join(" > ");
        let message =
            format!("a loop: `{routing}` leads from router {start} towards router {end} by {routers}, forever");
        Self { routing, from, to, message: message.into() }
    }
}

/// Appends the channels that a header takes in an idle network from `from`, where it arrived on `arrived`, to `to`: always the
/// preferred candidate.
///
/// # Errors
/// If there is no route, or it takes more than twice as many hops as the network has channels.
pub fn append_route(
    relation: &dyn RoutingRelation,
    from: RouterId,
    arrived: Option<ChannelId>,
    to: RouterId,
    route: &mut Vec<ChannelId>,
) -> Result<(), NoRoute> {
    append_route_with(relation, (from, arrived), to, &mut Vec::new(), route)
}

/// As [`append_route`], with a list that may be used again.
///
/// # Errors
/// As [`append_route`].
pub fn append_route_with(
    relation: &dyn RoutingRelation,
    (from, arrived): (RouterId, Option<ChannelId>),
    to: RouterId,
    candidates: &mut Vec<ChannelId>,
    route: &mut Vec<ChannelId>,
) -> Result<(), NoRoute> {
    let start = route.len();
    if relation.follow(from, arrived, to, candidates, route) {
        return Ok(());
    }
    let (network, way) = (relation.network(), &route[start..]);
    if way.len() >= longest_way(network) {
        return Err(NoRoute::in_a_loop(network, relation.name(), (from, to), way));
    }
    Err(NoRoute::new(relation, from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ECube, ROUTINGS, RoutingOptions};
    use wormcast_network::TopologySpec;

    /// Always turns right, around the south-western square.
    struct Circle {
        network: Arc<Network>,
    }

    impl RoutingRelation for Circle {
        fn name(&self) -> &'static str {
            "circle"
        }

        fn network(&self) -> &Arc<Network> {
            &self.network
        }

        fn candidates(&self, at: RouterId, _: Option<ChannelId>, _: RouterId, out: &mut Vec<ChannelId>) {
            let network = self.network();
            out.clear();
            let next = [(0, 1), (1, 4), (4, 3), (3, 0)].iter().find(|(from, _)| *from == at.raw());
            out.extend(next.and_then(|&(_, to)| network.channel_between(at, RouterId::new(to))));
        }
    }

    #[test]
    fn loops_and_dead_ends_are_told_apart() {
        let circle = Circle { network: "mesh:3x3".parse::<TopologySpec>().unwrap().build().unwrap() };
        let message = |from| {
            let route = append_route(&circle, RouterId::new(from), None, RouterId::new(8), &mut Vec::new());
            route.unwrap_err().to_string()
        };
        let round = "0,0 > 1,0 > 1,1 > 0,1 > 0,0";
        assert_eq!(
            message(0),
            format!("a loop: `circle` leads from router 0,0 towards router 2,2 by {round}, forever")
        );
        assert_eq!(message(2), "`circle` has no route from router 2,0 to router 2,2");
        let apart = NoRoute::in_a_loop(&circle.network, "circle", (RouterId::new(0), RouterId::new(8)), &[]);
        assert_eq!(apart.to_string(), "`circle` has no route from router 0,0 to router 2,2", "without channels");
    }

    /// The shorter ways of finding routes find those of the candidates, hop by hop, or none either.
    #[test]
    fn routes_are_those_of_the_candidates() {
        let mut compared = 0;
        for spec in [
            "mesh:5x3",
            "mesh:3x2x3",
            "torus:4x3",
            "hypercube:4",
            "bmin:2x3",
            "bmin:3x3",
            "omega:2x3",
            "random:nodes=14,degree=3,seed=1",
        ] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let made = ROUTINGS.iter().filter_map(|routing| routing.make(&network, &RoutingOptions::default()).ok());
            let ascending = ECube::new(&network).map(|e_cube| Box::new(e_cube.ascending()) as Box<dyn RoutingRelation>);
            for relation in made.chain(ascending) {
                let mut candidates = Vec::new();
                let pairs = network.router_ids().flat_map(|from| network.router_ids().map(move |to| (from, to)));
                let started =
                    |(from, to)| [None].into_iter().chain(network.inputs(from).map(Some)).map(move |by| (from, by, to));
                for (from, arrived, to) in pairs.flat_map(started) {
                    let (mut at, mut way) = (from, Vec::new());
                    while at != to && way.len() < longest_way(&network) {
                        relation.candidates(at, way.last().copied().or(arrived), to, &mut candidates);
                        let Some(&channel) = candidates.first() else { break };
                        way.push(channel);
                        at = network.to(channel);
                    }
                    let mut route = Vec::new();
                    let arrives = relation.follow(from, arrived, to, &mut candidates, &mut route);
                    let name = relation.name();
                    assert_eq!((arrives, &route), (at == to, &way), "{name} on {spec}: {from} to {to}, by {arrived:?}");
                    assert_eq!(append_route(relation.as_ref(), from, arrived, to, &mut Vec::new()).is_ok(), arrives);
                    compared += usize::from(arrives);
                }
            }
        }
        assert!(compared > 5000, "{compared}");
    }
}
