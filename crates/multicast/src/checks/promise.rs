//! What every algorithm promises, checked for one multicast.

use std::borrow::Borrow;

use thiserror::Error;
use wormcast_network::{ChannelId, Network};
use wormcast_routing::{Branching, Dependencies, NoRoute, Resource};

use crate::algorithm::{Algorithm, Multicast};
use crate::plan::dependencies::add_plan;
use crate::plan::{Itinerary, Plan, PlanError, Worm};

/// A promise that an algorithm's plan does not keep.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BrokenPromise {
    /// The plan is none of this multicast.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The relation does not lead where a worm shall go.
    #[error("worm {worm}: {problem}")]
    NoRoute {
        /// The worm.
        worm: usize,
        /// What is missing.
        problem: NoRoute,
    },
    /// A worm may do what the static check has not been told of, so that its verdict says nothing.
    #[error("worm {worm} may {may}, of which `dependencies` does not tell")]
    Untold {
        /// The worm.
        worm: usize,
        /// What it may do.
        may: String,
    },
}

/// Plans a multicast and checks what the [contract of a plan](Algorithm) says: each destination is delivered to exactly once, the
/// relation leads from stop to stop, and whatever a path worm may hold while it waits is among the algorithm's
/// [dependencies](Algorithm::dependencies), by all the ways that an adaptive relation may take it. Of a tree's branches and of encoded headers the last is not
/// checked. Returns the plan.
///
/// O(dependencies) for each worm, besides planning: for tests, not for runs.
///
/// # Errors
/// The first promise that is broken.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name, check_promise};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default())?;
/// for source in mesh.node_ids() {
///     let multicast = Multicast::new(source, &[0, 3, 7, 9].map(NodeId::new));
///     check_promise(algorithm.as_ref(), &multicast)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_promise(algorithm: &dyn Algorithm, multicast: &Multicast) -> Result<Plan, BrokenPromise> {
    let plan = algorithm.plan(multicast);
    check_plan(algorithm, multicast, &plan, || algorithm.dependencies())?;
    Ok(plan)
}

/// As [`check_promise`], for a plan that has been made. `told` gives the algorithm's dependencies, which many plans can share; it is
/// asked for only if all else is as promised.
///
/// O(network) for each plan, and for each stop and hop the logarithm of the dependencies.
///
/// # Errors
/// The first promise that is broken.
pub fn check_plan<'n, D: Borrow<Dependencies<'n>>>(
    algorithm: &'n dyn Algorithm,
    multicast: &Multicast,
    plan: &Plan,
    told: impl FnOnce() -> D,
) -> Result<(), BrokenPromise> {
    let network = &**algorithm.network();
    plan.check(network, multicast)?;
    for (number, worm) in plan.worms.iter().enumerate() {
        worm.channels(algorithm.routing()).map_err(|problem| BrokenPromise::NoRoute { worm: number, problem })?;
    }
    let paths = || plan.worms.iter().enumerate().filter(|(_, worm)| matches!(worm.itinerary, Itinerary::Path(_)));
    // What several worms may hold is what each of them may hold: they are looked at one by one only if something is missing.
    let untold = |worms: Vec<Worm>, told: &Dependencies<'n>| {
        let mut own = Dependencies::new(network);
        let alone = Plan { worms };
        // Only headers that encode destinations have ways that are not known.
        let known = own.add_worms(|worms| add_plan(worms, algorithm.routing(), &alone, Branching::LOCKSTEP));
        known.is_ok().then(|| told.missing(&own)).flatten()
    };
    if paths().next().is_none() {
        return Ok(());
    }
    let told = told();
    if untold(paths().map(|(_, worm)| worm.clone()).collect(), told.borrow()).is_none() {
        return Ok(());
    }
    let first = paths().find_map(|(number, worm)| Some((number, untold(vec![worm.clone()], told.borrow())?)));
    first.map_or(Ok(()), |(worm, (held, next))| Err(BrokenPromise::Untold { worm, may: doing(network, held, next) }))
}

/// What a worm does that holds a channel and asks for the next.
fn doing(network: &Network, held: ChannelId, next: Resource) -> String {
    let name = |router| network.router_label(router);
    let (from, at) = (name(network.from(held)), name(network.to(held)));
    match next {
        Resource::Channel(next) => format!("turn from {from} > {at} to {at} > {}", name(network.to(next))),
        Resource::Consumption(node) => {
            format!("deliver to {} on its way, having come from {from}", network.node_label(node))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::algorithm_by_name;
    use crate::registry::descriptor::Options;
    use wormcast_network::{NodeId, TopologySpec};
    use wormcast_routing::{ECube, RoutingRelation, WormRule};

    /// Visits destinations in the order given, on e-cube paths, and says of its worms what `rule` says.
    struct Wanderer<R>(ECube, R);

    impl<R: WormRule> Algorithm for Wanderer<R> {
        fn name(&self) -> &'static str {
            "wanderer"
        }

        fn routing(&self) -> &dyn RoutingRelation {
            &self.0
        }

        fn plan(&self, multicast: &Multicast) -> Plan {
            Plan { worms: vec![Worm::path(multicast.source(), multicast.destinations().to_vec())] }
        }

        fn dependencies(&self) -> Dependencies<'_> {
            let network = self.network();
            Dependencies::of_rule(network, &self.1)
        }
    }

    struct Rule {
        turns: bool,
        stops: bool,
    }

    impl WormRule for Rule {
        fn may_turn(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
            self.turns
        }

        fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
            self.stops
        }
    }

    #[test]
    fn what_the_check_was_not_told_of_is_found() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let multicast = Multicast::new(NodeId::new(0), &[1, 6].map(NodeId::new));
        let check = |turns, stops| {
            let broken = check_promise(&Wanderer(ECube::new(&mesh).unwrap(), Rule { turns, stops }), &multicast).err();
            broken.map(|broken| broken.to_string())
        };
        assert_eq!(check(true, true), None);
        let untold = |what: &str| Some(format!("worm 0 may {what}, of which `dependencies` does not tell"));
        assert_eq!(check(false, false), untold("turn from 0,0 > 1,0 to 1,0 > 2,0"));
        assert_eq!(check(true, false), untold("deliver to 1,0 on its way, having come from 0,0"));
    }

    #[test]
    fn the_workbenchs_algorithms_keep_their_promises() {
        for (topology, nodes) in [("mesh:5x4", 20), ("hypercube:4", 16), ("torus:4x4", 16), ("bmin:4x2", 16)] {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            for name in crate::registry::ALGORITHMS.iter().map(|algorithm| algorithm.name) {
                let Ok(algorithm) = algorithm_by_name(name, &network, &Options::default()) else { continue };
                for source in [0, nodes / 2, nodes - 1].map(NodeId::new) {
                    let destinations = [1, 3, 6, 10, 11, 14].map(NodeId::new);
                    let kept = check_promise(algorithm.as_ref(), &Multicast::new(source, &destinations));
                    assert_eq!(kept.err(), None, "{name} on {topology} from {source}");
                }
            }
        }
    }
}
