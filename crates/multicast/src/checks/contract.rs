//! The contract of every algorithm, checked for one multicast.

use std::borrow::Borrow;

use thiserror::Error;
use wormcast_network::{ChannelId, Network};
use wormcast_routing::{Dependencies, NoRoute, Resource, Uncovered, UncoveredBinding};

use crate::algorithm::{Algorithm, Multicast};
use crate::plan::dependencies::{add_plan, uncovered_tree};
use crate::plan::{Itinerary, Plan, PlanError, Worm};

/// How an algorithm's plan breaks the [contract](Algorithm).
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ContractViolation {
    /// The plan does not carry out this multicast.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The routing relation has no route to where a worm has to go.
    #[error("worm {worm}: {problem}")]
    NoRoute {
        /// The worm.
        worm: usize,
        /// What is missing.
        problem: NoRoute,
    },
    /// A worm may do something that is not among the algorithm's dependencies, so the static deadlock check does not cover it.
    #[error("worm {worm} may {may}, which `dependencies` (in Python `promise`) does not include")]
    UndeclaredDependency {
        /// The worm.
        worm: usize,
        /// What it may do.
        may: String,
    },
}

/// Plans a multicast and checks the plan against the [contract](Algorithm): every destination gets the message exactly once, the
/// relation has a route from each stop to the next, and whatever a worm may hold while it waits is among the algorithm's
/// [dependencies](Algorithm::dependencies), on every route that an adaptive relation permits: turns and stops of paths, branches of trees, and the consumption
/// channels and virtual channels that worms are bound to. Of encoded headers, which switches route, only that there may be some. Returns the plan.
///
/// Besides planning, takes O(dependencies) for each worm: meant for tests, not for runs.
///
/// # Errors
/// The first violation found.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name, check_contract};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default())?;
/// for source in mesh.node_ids() {
///     let multicast = Multicast::new(source, &[0, 3, 7, 9].map(NodeId::new));
///     check_contract(algorithm.as_ref(), &multicast)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_contract(algorithm: &dyn Algorithm, multicast: &Multicast) -> Result<Plan, ContractViolation> {
    let plan = algorithm.plan(multicast);
    check_plan(algorithm, multicast, &plan, || algorithm.dependencies())?;
    Ok(plan)
}

/// Checks an existing plan as [`check_contract`] does. `declared` returns the algorithm's dependencies, so that many plans can share
/// them; it is called only if everything else is in order.
///
/// Takes O(network) for each plan, and O(log dependencies) for each stop and hop.
///
/// # Errors
/// The first violation found.
pub fn check_plan<'n, D: Borrow<Dependencies<'n>>>(
    algorithm: &'n dyn Algorithm,
    multicast: &Multicast,
    plan: &Plan,
    declared: impl FnOnce() -> D,
) -> Result<(), ContractViolation> {
    let network = &**algorithm.network();
    plan.check(network, multicast)?;
    for (number, worm) in plan.worms.iter().enumerate() {
        worm.channels(algorithm.routing()).map_err(|problem| ContractViolation::NoRoute { worm: number, problem })?;
    }
    let declared = declared();
    let declared = declared.borrow();
    // All worms at once first; one by one, to find the culprit, only if something is missing.
    let all = undeclared(algorithm, plan.worms.clone(), declared);
    let first = all.and_then(|_| {
        let mut worms = plan.worms.iter().enumerate();
        worms.find_map(|(number, worm)| Some((number, undeclared(algorithm, vec![worm.clone()], declared)?)))
    });
    first.map_or(Ok(()), |(worm, may)| Err(ContractViolation::UndeclaredDependency { worm, may }))
}

/// What some of these worms may do that is not among the dependencies that are declared.
fn undeclared(algorithm: &dyn Algorithm, worms: Vec<Worm>, declared: &Dependencies<'_>) -> Option<String> {
    let network = &**algorithm.network();
    let binding = worms.iter().find_map(|worm| {
        let channels = worm.channels(algorithm.routing()).ok()?;
        declared.uncovered_binding(&channels, worm.consumption_class, worm.virtual_channels)
    });
    if let Some(binding) = binding {
        return Some(match binding {
            UncoveredBinding::Consumption => "be bound to another consumption channel, or to none".to_owned(),
            UncoveredBinding::VirtualChannels => "be bound to other virtual channels, or to none".to_owned(),
        });
    }
    if worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Encoded(_))) && !declared.covers_encoded() {
        return Some("be routed and replicated by switches".to_owned());
    }
    let (paths, trees): (Vec<Worm>, Vec<Worm>) = worms
        .into_iter()
        .filter(|worm| !matches!(worm.itinerary, Itinerary::Encoded(_)))
        .partition(|worm| matches!(worm.itinerary, Itinerary::Path(_)));
    let own = |worms: Vec<Worm>| {
        let mut own = Dependencies::new(network);
        let known = own.add_worms(|all| add_plan(all, algorithm.routing(), &Plan { worms }, algorithm.branching()));
        debug_assert!(known.is_ok(), "only the routes of encoded headers are not known");
        own
    };
    if let Some((held, next)) = declared.missing(&own(paths)) {
        return Some(doing(network, held, next));
    }
    if !trees.is_empty() && declared.branching().is_some_and(|branching| branching != algorithm.branching()) {
        return Some(match algorithm.capabilities().trees {
            Some(_) => "be replicated by switches as its `BranchingTrees` names them".to_owned(),
            None => {
                "be replicated in lockstep, as its capabilities have no `trees` that name other switches".to_owned()
            }
        });
    }
    let uncovered = trees.iter().find_map(|worm| uncovered_tree(algorithm.routing(), worm, declared))?;
    // It may be one of those that were added one by one.
    let own = own(trees);
    if declared.missing(&own).is_none() && !declared.missing_of_trees(&own) {
        return None;
    }
    Some(match uncovered {
        Uncovered::Branching => "branch: it is a tree".to_owned(),
        Uncovered::Channel(channel) => {
            let [from, to] = [network.from(channel), network.to(channel)].map(|router| network.router_label(router));
            format!("branch by {from} > {to}")
        }
        Uncovered::Turn(held, next) => doing(network, held, Resource::Channel(next)),
    })
}

/// What a worm does when it holds a channel and asks for the next.
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
    use std::sync::Arc;

    use super::*;
    use crate::plan::{Branch, Trunk};
    use crate::registry::algorithm_by_name;
    use crate::registry::descriptor::Options;
    use wormcast_network::{Direction, NodeId, RouterId, TopologySpec};
    use wormcast_routing::{
        Branching, DUATO, E_CUBE, ECube, RoutingDescriptor, RoutingOptions, RoutingRelation, VcRange, WormRule,
    };

    /// Visits destinations in the given order on e-cube paths, and declares the dependencies of a rule.
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
    fn undeclared_dependencies_are_found() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let multicast = Multicast::new(NodeId::new(0), &[1, 6].map(NodeId::new));
        let check = |turns, stops| {
            let broken = check_contract(&Wanderer(ECube::new(&mesh).unwrap(), Rule { turns, stops }), &multicast).err();
            broken.map(|broken| broken.to_string())
        };
        assert_eq!(check(true, true), None);
        let undeclared = |what: &str| {
            Some(format!("worm 0 may {what}, which `dependencies` (in Python `promise`) does not include"))
        };
        assert_eq!(check(false, false), undeclared("turn from 0,0 > 1,0 to 1,0 > 2,0"));
        assert_eq!(check(true, false), undeclared("deliver to 1,0 on its way, having come from 0,0"));
    }

    /// The dependencies that a test declares.
    type Declared = for<'a> fn(&'a dyn RoutingRelation) -> Dependencies<'a>;

    /// Sends one worm, and declares given dependencies.
    struct Sender {
        routing: Box<dyn RoutingRelation>,
        worm: Worm,
        declared: Declared,
    }

    impl Algorithm for Sender {
        fn name(&self) -> &'static str {
            "sender"
        }

        fn routing(&self) -> &dyn RoutingRelation {
            self.routing.as_ref()
        }

        fn plan(&self, _: &Multicast) -> Plan {
            Plan { worms: vec![self.worm.clone()] }
        }

        fn dependencies(&self) -> Dependencies<'_> {
            (self.declared)(self.routing.as_ref())
        }
    }

    fn mesh() -> Arc<Network> {
        "mesh:3x3".parse::<TopologySpec>().unwrap().build().unwrap()
    }

    /// What is wrong with one worm from router 4 of a 3x3 mesh to all those of `to`, if these are the dependencies.
    fn refused_over(routing: &RoutingDescriptor, worm: &Worm, to: &[u32], declared: Declared) -> Option<String> {
        let to: Vec<NodeId> = to.iter().copied().map(NodeId::new).collect();
        let routing = routing.make(&mesh(), &RoutingOptions::default()).unwrap();
        let sender = Sender { routing, worm: worm.clone(), declared };
        let broken = check_contract(&sender, &Multicast::new(NodeId::new(4), &to)).err()?.to_string();
        let may = broken
            .strip_prefix("worm 0 may ")?
            .strip_suffix(", which `dependencies` (in Python `promise`) does not include")?;
        Some(may.to_owned())
    }

    fn refused(worm: &Worm, to: &[u32], declared: Declared) -> Option<String> {
        refused_over(&E_CUBE, worm, to, declared)
    }

    fn of_relation(relation: &dyn RoutingRelation) -> Dependencies<'_> {
        Dependencies::of_relation(relation)
    }

    fn of_anything(relation: &dyn RoutingRelation) -> Dependencies<'_> {
        Dependencies::of_rule(relation.network(), &Rule { turns: true, stops: true })
    }

    /// A tree from router 4 of a 3x3 mesh, by routers, that delivers where its branches end.
    fn tree(ways: &[&[u32]]) -> Worm {
        let mesh = mesh();
        let mut branches: Vec<Branch> = Vec::new();
        for way in ways {
            let mut parent = None;
            for (place, hop) in way.windows(2).enumerate() {
                let channel = mesh.channel_between(RouterId::new(hop[0]), RouterId::new(hop[1])).unwrap();
                let delivers = if place + 2 == way.len() { vec![NodeId::new(hop[1])] } else { Vec::new() };
                branches.push(Branch { channel, parent, delivers });
                parent = Some(branches.len() as u32 - 1);
            }
        }
        Worm::tree(NodeId::new(4), branches)
    }

    #[test]
    fn trees_have_to_be_among_the_dependencies() {
        /// Trees along x, then y.
        fn xy(relation: &dyn RoutingRelation) -> Dependencies<'_> {
            let network = &**relation.network();
            let along = |channel| network.heading(channel).unwrap();
            let may_turn = |a, b| along(a).0 < along(b).0 || along(a) == along(b);
            Dependencies::of_turning_trees(network, |_| true, may_turn, Branching::LOCKSTEP)
        }
        /// Trees that take no channel to the west.
        fn east(relation: &dyn RoutingRelation) -> Dependencies<'_> {
            let network = &**relation.network();
            let takes = |channel| network.heading(channel) != Some((0, Direction::Negative));
            Dependencies::of_turning_trees(network, takes, |_, _| true, Branching::LOCKSTEP)
        }
        /// Trees in switches that store whole worms.
        fn stored(relation: &dyn RoutingRelation) -> Dependencies<'_> {
            Dependencies::of_turning_trees(relation.network(), |_| true, |_, _| true, Branching::STORED)
        }
        /// One tree alone.
        fn added(relation: &dyn RoutingRelation) -> Dependencies<'_> {
            let mut dependencies = Dependencies::new(relation.network());
            let plan = Plan { worms: vec![tree(&[&[4, 3], &[4, 5]])] };
            dependencies.add_worms(|worms| add_plan(worms, relation, &plan, Branching::LOCKSTEP)).unwrap();
            dependencies
        }
        let may = |what: &str| Some(what.to_owned());
        let fork = tree(&[&[4, 3], &[4, 5]]);
        assert_eq!(refused(&fork, &[3, 5], of_relation), may("branch: it is a tree"));
        // Every turn and stop is declared; that both channels are held at once is not.
        assert_eq!(refused(&fork, &[3, 5], of_anything), may("branch: it is a tree"));
        assert_eq!(refused(&fork, &[3, 5], xy), None);
        let long = tree(&[&[4, 3, 0], &[4, 5]]);
        assert_eq!(refused(&long, &[0, 5], xy), None);
        let turns = tree(&[&[4, 7, 8], &[4, 3]]);
        assert_eq!(refused(&turns, &[8, 3], xy), may("turn from 1,1 > 1,2 to 1,2 > 2,2"));
        assert_eq!(refused(&fork, &[3, 5], east), may("branch by 1,1 > 0,1"));
        // The way to where branches begin counts, too.
        let Itinerary::Tree(mut trunk) = tree(&[]).itinerary else { unreachable!("it is a tree") };
        trunk.trunk = Some(Trunk { exit: None, to: RouterId::new(0) });
        let leaves = mesh().channel_between(RouterId::new(0), RouterId::new(1)).unwrap();
        trunk.branches.push(Branch { channel: leaves, parent: None, delivers: vec![NodeId::new(1)] });
        let trunk = Worm { itinerary: Itinerary::Tree(trunk), ..fork.clone() };
        assert_eq!(refused(&trunk, &[1], east), may("turn from 1,1 > 0,1 to 0,1 > 0,0"));
        let in_lockstep = "be replicated in lockstep, as its capabilities have no `trees` that name other switches";
        assert_eq!(refused(&fork, &[3, 5], stored), may(in_lockstep));
        assert_eq!(refused(&fork, &[3, 5], added), None);
        assert_eq!(refused(&tree(&[&[4, 3], &[4, 1]]), &[3, 1], added), may("branch: it is a tree"));
    }

    #[test]
    fn what_worms_are_bound_to_has_to_be_among_the_dependencies() {
        let unicast = Worm::path(NodeId::new(4), vec![NodeId::new(8)]);
        let path = Worm::path(NodeId::new(4), vec![NodeId::new(5), NodeId::new(8)]);
        let bound = |worm: &Worm| Worm { consumption_class: Some(0), ..worm.clone() };
        let consumption = Some("be bound to another consumption channel, or to none".to_owned());
        assert_eq!(refused(&path, &[5, 8], of_anything), None);
        assert_eq!(refused(&bound(&path), &[5, 8], of_anything), consumption);
        // Who ends there holds a consumption channel for a while only, whichever it is.
        assert_eq!(refused(&bound(&unicast), &[8], of_relation), None);
        // Without its escape, Duato's routing can deadlock.
        assert_eq!(refused_over(&DUATO, &unicast, &[8], of_relation), None);
        let adaptive = unicast.on_virtual_channels(VcRange::only(1));
        let virtual_channels = Some("be bound to other virtual channels, or to none".to_owned());
        assert_eq!(refused_over(&DUATO, &adaptive, &[8], of_relation), virtual_channels);
    }

    #[test]
    fn built_in_algorithms_keep_the_contract() {
        for (topology, nodes) in [
            ("mesh:5x4", 20),
            ("hypercube:4", 16),
            ("torus:4x4", 16),
            ("bmin:4x2", 16),
            ("mesh:3x3,nodes=2", 18),
            ("mesh:2x3x2,nodes=2", 24),
            ("torus:3x3,nodes=3", 27),
        ] {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            for name in crate::registry::ALGORITHMS.iter().map(|algorithm| algorithm.name) {
                let Ok(algorithm) = algorithm_by_name(name, &network, &Options::default()) else { continue };
                for source in [0, nodes / 2, nodes - 1].map(NodeId::new) {
                    let destinations = [1, 3, 6, 10, 11, 14].map(NodeId::new);
                    let kept = check_contract(algorithm.as_ref(), &Multicast::new(source, &destinations));
                    assert_eq!(kept.err(), None, "{name} on {topology} from {source}");
                }
            }
        }
    }
}
