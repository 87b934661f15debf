//! The dependencies of the worms of given plans.

use std::collections::HashSet;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{Branching, Dependencies, RoutingRelation, Uncovered, VcRange, Worms};

use crate::plan::{Branch, Itinerary, Plan, Trunk, Worm};

/// A worm is routed by the switches from its header, so its plan does not tell what it may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "switches choose the routes of its worms, which are not checked one by one; check all that the algorithm may send"
)]
pub struct UnknownRoute;

/// Adds the worms of a plan to a static check: of path worms every route that `routing` permits from stop to stop, of trees every
/// route that it permits to where their branches begin, and all branches, which hold each other up as `branching` says.
///
/// O(channels that a worm may take x degree) for a path, O(channels^2 x height) for a tree, times the ports by which it may come to
/// where its branches begin.
///
/// # Errors
/// If a worm has an encoded header, from which switches route it. The worms before it have been added.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, add_plan, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
/// use wormcast_routing::{Branching, Dependencies};
///
/// // Two multicasts on a line, from its inner routers to both ends: each holds what the other's second branch needs.
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let trees = algorithm_by_name("tree-one", &line, &Options::default())?;
/// let plan = |source| trees.plan(&Multicast::new(NodeId::new(source), &[NodeId::new(0), NodeId::new(3)]));
/// let mut dependencies = Dependencies::new(&line);
/// dependencies.add_worms(|worms| add_plan(worms, trees.routing(), &plan(1), Branching::LOCKSTEP))?;
/// assert!(dependencies.deadlock(4).is_none());
/// dependencies.add_worms(|worms| add_plan(worms, trees.routing(), &plan(2), Branching::LOCKSTEP))?;
/// assert!(dependencies.deadlock(4).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_plan(
    worms: &mut Worms<'_, '_>,
    routing: &dyn RoutingRelation,
    plan: &Plan,
    branching: Branching,
) -> Result<(), UnknownRoute> {
    let network = &**routing.network();
    let mut routes = Routes { network, routing, candidates: Vec::new(), work: Vec::new() };
    for worm in &plan.worms {
        let source = network.entry_of(worm.from);
        match &worm.itinerary {
            Itinerary::Path(path) => {
                let stops: Vec<RouterId> = path.stops.iter().map(|&stop| network.router_of(stop)).collect();
                let own = worm.virtual_channels.unwrap_or(VcRange::ANY);
                worms.path(routing, (source, path.exit, &stops), own, |worms| {
                    let mut arrivals = vec![None];
                    for (leg, &stop) in stops.iter().enumerate() {
                        arrivals = routes.leg(worms, (source, path.exit), &arrivals, stop, leg > 0);
                    }
                });
            }
            Itinerary::Tree(tree) => {
                let Some(Trunk { exit, to }) = tree.trunk else {
                    let branches: Vec<_> = tree.branches.iter().map(|one| branch(one, 0)).collect();
                    worms.tree_from(!tree.delivers.is_empty(), &branches, branching);
                    continue;
                };
                // Whichever channel the trunk ends with, the branches go on from it.
                for last in routes.leg(worms, (source, exit), &[None], to, false).into_iter().flatten() {
                    let mut channels = vec![(last, None, !tree.delivers.is_empty())];
                    channels.extend(tree.branches.iter().map(|one| {
                        let (channel, parent, delivers) = branch(one, 1);
                        (channel, Some(parent.unwrap_or(0)), delivers)
                    }));
                    worms.tree(&channels, branching);
                }
            }
            Itinerary::Encoded(_) => return Err(UnknownRoute),
        }
    }
    Ok(())
}

/// A branch with its parent so many places further on, as checks take it.
fn branch(branch: &Branch, shift: usize) -> (ChannelId, Option<usize>, bool) {
    (branch.channel, branch.parent.map(|parent| parent as usize + shift), !branch.delivers.is_empty())
}

/// What a worm, if it is a tree, does that these dependencies do not cover, on its way to where its branches begin or on these.
pub(crate) fn uncovered_tree(
    routing: &dyn RoutingRelation,
    worm: &Worm,
    declared: &Dependencies<'_>,
) -> Option<Uncovered> {
    let Itinerary::Tree(tree) = &worm.itinerary else { return None };
    let network = &**routing.network();
    let mut routes = Routes { network, routing, candidates: Vec::new(), work: Vec::new() };
    let mut hops = Dependencies::new(network);
    let arrivals = tree.trunk.map_or_else(Vec::new, |Trunk { exit, to }| {
        hops.add_worms(|worms| routes.leg(worms, (network.entry_of(worm.from), exit), &[None], to, false))
    });
    let arrivals: Vec<ChannelId> = arrivals.into_iter().flatten().collect();
    let branches: Vec<_> = tree.branches.iter().map(|one| branch(one, 0)).collect();
    declared.uncovered(&hops, &arrivals, &branches)
}

/// All routes that a relation permits.
struct Routes<'n> {
    network: &'n Network,
    routing: &'n dyn RoutingRelation,
    candidates: Vec<ChannelId>,
    work: Vec<ChannelId>,
}

impl Routes<'_> {
    /// Adds what a worm may hold on its way to `target`, if it arrived at its last stop on any of `arrivals` (`None`: it has not left its
    /// source, from where it may have to take a certain channel), and returns the channels on which it may arrive there. `stopped`: it delivered where it
    /// begins.
    fn leg(
        &mut self,
        worms: &mut Worms<'_, '_>,
        (source, exit): (RouterId, Option<ChannelId>),
        arrivals: &[Option<ChannelId>],
        target: RouterId,
        stopped: bool,
    ) -> Vec<Option<ChannelId>> {
        let Self { network, routing, candidates, work } = self;
        let mut reached = HashSet::new();
        let mut next_arrivals = Vec::new();
        for &arrival in arrivals {
            let at = arrival.map_or(source, |channel| network.to(channel));
            match (arrival, exit) {
                (None, Some(exit)) => *candidates = vec![exit],
                _ if at == target => {
                    next_arrivals.push(arrival);
                    continue;
                }
                _ => routing.candidates(at, arrival, target, candidates),
            }
            for &leaving in &*candidates {
                match arrival {
                    Some(arriving) => worms.hop(arriving, leaving, stopped),
                    // It has delivered beside its sender.
                    None if stopped => worms.tree_from(true, &[(leaving, None, false)], Branching::LOCKSTEP),
                    None => {}
                }
                work.extend(reached.insert(leaving).then_some(leaving));
            }
        }
        while let Some(channel) = work.pop() {
            let at = network.to(channel);
            if at == target {
                next_arrivals.push(Some(channel));
                continue;
            }
            routing.candidates(at, Some(channel), target, candidates);
            for &leaving in &*candidates {
                worms.hop(channel, leaving, false);
                work.extend(reached.insert(leaving).then_some(leaving));
            }
        }
        next_arrivals
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::{NetworkBuilder, NodeDetails, NodeId, TopologySpec};
    use wormcast_routing::Dependencies;

    use super::*;
    use crate::plan::{Tree, Worm};
    use crate::{Multicast, Options, algorithm_by_name};

    /// Two routers with two nodes each: a tree from either delivers to the other node at its own router, and to one that the other tree holds.
    #[test]
    fn deliveries_beside_the_sender_count() {
        let mut pair = NetworkBuilder::new("pair");
        pair.at_least(2).unwrap();
        pair.link(RouterId::new(0), RouterId::new(1)).unwrap();
        for router in [0, 0, 1, 1] {
            pair.node(RouterId::new(router), NodeDetails::default()).unwrap();
        }
        let pair = pair.build().unwrap();
        let trees = algorithm_by_name("tree-one", &pair, &Options::default()).unwrap();
        let mut dependencies = Dependencies::new(&pair);
        for (source, others) in [(0, [1, 2]), (2, [3, 0])] {
            assert_eq!(dependencies.deadlock(1), None);
            let plan = trees.plan(&Multicast::new(NodeId::new(source), &others.map(NodeId::new)));
            dependencies.add_worms(|worms| add_plan(worms, trees.routing(), &plan, Branching::LOCKSTEP)).unwrap();
        }
        assert!(dependencies.deadlock(1).is_some());
        assert_eq!(dependencies.deadlock(2), None);
    }

    /// The same by paths that deliver there before they leave; on their own, those are free of deadlock.
    #[test]
    fn stops_beside_the_sender_count() {
        let pair = "mesh:2,nodes=2".parse::<TopologySpec>().unwrap().build().unwrap();
        let routing = wormcast_routing::ECube::new(&pair).unwrap();
        let deadlock = |paths: &[(u32, &[u32])]| {
            let mut dependencies = Dependencies::new(&pair);
            for &(source, stops) in paths {
                let stops = stops.iter().copied().map(NodeId::new).collect();
                let plan = Plan { worms: vec![Worm::path(NodeId::new(source), stops)] };
                dependencies.add_worms(|worms| add_plan(worms, &routing, &plan, Branching::LOCKSTEP)).unwrap();
            }
            [1, 2].map(|ports| dependencies.deadlock(ports).is_some())
        };
        assert_eq!(deadlock(&[(0, &[1, 2]), (2, &[3, 0])]), [true, false]);
        assert_eq!(deadlock(&[(0, &[2]), (0, &[1]), (2, &[0]), (2, &[3])]), [false, false]);
    }

    #[test]
    fn branches_are_waited_for_while_the_trunk_is_held() {
        let network = "mesh:3x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let spam = algorithm_by_name("spam", &network, &Options::default()).unwrap();
        let mut trunks = 0;
        for source in 0..9 {
            let everyone: Vec<NodeId> = (0..9).filter(|&node| node != source).map(NodeId::new).collect();
            let plan = spam.plan(&Multicast::new(NodeId::new(source), &everyone));
            let mut dependencies = Dependencies::new(&network);
            dependencies.add_worms(|worms| add_plan(worms, spam.routing(), &plan, Branching::LOCKSTEP)).unwrap();
            for worm in &plan.worms {
                let Itinerary::Tree(Tree { trunk: Some(trunk), branches, .. }) = &worm.itinerary else { continue };
                trunks += 1;
                let ends: Vec<ChannelId> = (0..network.channels() as u32)
                    .map(ChannelId::new)
                    .filter(|&channel| network.to(channel) == trunk.to)
                    .collect();
                let held_while_waiting = |end: ChannelId| {
                    let mut own = Dependencies::new(&network);
                    own.add_worms(|worms| {
                        let roots = branches.iter().filter(|branch| branch.parent.is_none());
                        roots.for_each(|root| worms.hop(end, root.channel, false));
                    });
                    dependencies.missing(&own).is_none()
                };
                assert!(ends.into_iter().any(held_while_waiting), "from {source}");
            }
        }
        assert!(trunks > 0, "no worm had a trunk");
    }
}
