//! What the worms of given plans may hold while they wait for what.

use thiserror::Error;
use wormcast_network::{ChannelId, Network, NodeId};
use wormcast_routing::{Branching, RoutingRelation, Worms};

use crate::plan::{Itinerary, Path, Plan};

/// A worm whose way the switches choose by its header: what it may hold is not known from its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "switches choose the ways of its worms, which are not checked one by one; check all that the algorithm may send"
)]
pub struct UnknownWay;

/// Adds the worms of a plan to a static check: of path worms every way that `routing` may take them from stop to stop, of trees all
/// branches, which hold each other up as `branching` says.
///
/// O(channels that a worm may take x degree) for a path, O(channels^2 x height) for a tree.
///
/// # Errors
/// If a worm has an encoded header, by which switches route it. Worms before it have been added.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, add_plan, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
/// use wormcast_routing::{Branching, Dependencies};
///
/// // Two multicasts on a line, from its inner routers to both ends: each holds what the other's second branch needs.
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let trees = algorithm_by_name("tree-one", &line, &Options::default())?;
/// let plan = |source| trees.plan(&line, &Multicast::new(NodeId::new(source), &[NodeId::new(0), NodeId::new(3)]));
/// let mut dependencies = Dependencies::new(&line);
/// dependencies.add_worms(|worms| add_plan(worms, &line, trees.routing(), &plan(1), Branching::LOCKSTEP))?;
/// assert!(dependencies.deadlock(4).is_none());
/// dependencies.add_worms(|worms| add_plan(worms, &line, trees.routing(), &plan(2), Branching::LOCKSTEP))?;
/// assert!(dependencies.deadlock(4).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_plan(
    worms: &mut Worms<'_, '_>,
    network: &Network,
    routing: &dyn RoutingRelation,
    plan: &Plan,
    branching: Branching,
) -> Result<(), UnknownWay> {
    for worm in &plan.worms {
        match &worm.itinerary {
            Itinerary::Path(path) => add_path(worms, network, routing, worm.from, path),
            Itinerary::Tree(tree) => {
                let branch_of = |branch: &crate::plan::Branch| {
                    (branch.channel, branch.parent.map(|parent| parent as usize), !branch.delivers.is_empty())
                };
                worms.tree(&tree.branches.iter().map(branch_of).collect::<Vec<_>>(), branching);
            }
            Itinerary::Encoded(_) => return Err(UnknownWay),
        }
    }
    Ok(())
}

fn add_path(worms: &mut Worms<'_, '_>, network: &Network, routing: &dyn RoutingRelation, from: NodeId, path: &Path) {
    let mut candidates = Vec::new();
    // The channels by which the worm may have come to the last stop; `None`: it has not left the source's router.
    let mut arrivals: Vec<Option<ChannelId>> = vec![None];
    let mut work: Vec<ChannelId> = Vec::new();
    for (leg, &stop) in path.stops.iter().enumerate() {
        let target = network.router_of(stop);
        let mut reached = std::collections::HashSet::new();
        let mut next_arrivals = Vec::new();
        for arrival in arrivals {
            let at = arrival.map_or(network.router_of(from), |channel| network.to(channel));
            match (arrival, path.exit) {
                (None, Some(exit)) => candidates = vec![exit],
                _ if at == target => {
                    next_arrivals.push(arrival);
                    continue;
                }
                _ => routing.candidates(network, at, arrival, target, &mut candidates),
            }
            for &leaving in &candidates {
                if let Some(arriving) = arrival {
                    worms.hop(arriving, leaving, leg > 0);
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
            routing.candidates(network, at, Some(channel), target, &mut candidates);
            for &leaving in &candidates {
                worms.hop(channel, leaving, false);
                work.extend(reached.insert(leaving).then_some(leaving));
            }
        }
        arrivals = next_arrivals;
    }
}
