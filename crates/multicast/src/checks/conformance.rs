//! Every algorithm's plans obey its own rules, whichever candidates its adaptive hops take.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use wormcast_network::{ChannelId, Direction, Network, NodeId, RouterId, TopologySpec};
use wormcast_routing::{RoutingRelation, TurnRouting, WormRule, hamiltonian_label};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::column_path::ColumnRule;
use crate::algorithms::mesh::dual_path::LabelRule;
use crate::algorithms::mesh::negative_first_rule::NegativeFirstRule;
use crate::algorithms::mesh::schl::StraightStops;
use crate::plan::{Itinerary, Path, Tree, Worm};
use crate::registry::descriptor::Options;
use crate::registry::{ALGORITHMS, algorithm_by_name};

/// The contract of an algorithm's path worms.
struct Contract {
    /// What the static deadlock check assumes of the worms; `None`: it follows the routing relation itself.
    rule: Option<Box<dyn WormRule>>,
    /// Whether every stop is reached on a shortest path from the source.
    shortest: bool,
    /// What consecutive channels must satisfy, said independently of the rule.
    legal: fn(&Network, ChannelId, ChannelId) -> bool,
}

fn contract(algorithm: &str) -> Contract {
    let negative_first = |minimal| Some(Box::new(NegativeFirstRule { minimal }) as Box<dyn WormRule>);
    let (rule, shortest, legal): (_, _, fn(&Network, ChannelId, ChannelId) -> bool) = match algorithm {
        "separate" | "u-mesh" => (None, true, e_cube_legal),
        "u-cube" | "maxport" | "combine" | "w-sort" => (None, true, highest_first),
        "chain-ordered" => (None, false, |_, _, _| true),
        "pure-negative-first" | "bounded-negative-first" => (negative_first(false), false, negative_first_legal),
        "minimal-negative-first" | "minimal-negative-first-optimal" => {
            (negative_first(true), true, negative_first_legal)
        }
        "dual-path" | "multi-path" => (Some(Box::new(LabelRule) as Box<dyn WormRule>), false, labels_monotone),
        "dual-path-adaptive" => (None, false, never_back),
        "column-path" => (Some(Box::new(ColumnRule) as Box<dyn WormRule>), true, e_cube_legal),
        "tree-zero"
        | "tree-one"
        | "tree-infinity"
        | "tables"
        | "xy-tree"
        | "double-channel-xy-tree"
        | "yx-tree"
        | "xy-mask"
        | "yx-mask"
        | "rpm"
        | "vctm" => (None, false, |_, _, _| unreachable!("trees have no stops")),
        "spam"
        | "dstm-1"
        | "dstm-2"
        | "dstm-tarjan"
        | "dstm-tarjan-best"
        | "dstm-tarjan-average"
        | "dstm-tarjan-path" => (None, false, |_, _, _| true),
        "bit-string" => (None, false, |_, _, _| unreachable!("switches route its worms")),
        "multiport" | "u-min" => unreachable!("no mesh and no hypercube has stages"),
        "schl" => (Some(Box::new(StraightStops) as Box<dyn WormRule>), true, e_cube_legal),
        other => panic!("say here what `{other}` guarantees"),
    };
    Contract { rule, shortest, legal }
}

/// Definition 3: no negative channel after a positive one.
fn negative_first_legal(network: &Network, first: ChannelId, then: ChannelId) -> bool {
    let increases = |channel| network.to(channel) > network.from(channel);
    !increases(first) || increases(then)
}

fn labels_monotone(network: &Network, first: ChannelId, then: ChannelId) -> bool {
    let grid = network.shape().mesh().expect("a mesh");
    let label = |router: RouterId| hamiltonian_label(grid, router);
    let (a, b, c) = (label(network.from(first)), label(network.to(first)), label(network.to(then)));
    (a < b) == (b < c)
}

/// Never straight back.
fn never_back(network: &Network, first: ChannelId, then: ChannelId) -> bool {
    network.reverse(first) != then
}

/// One dimension after the other, never back.
fn e_cube_legal(network: &Network, first: ChannelId, then: ChannelId) -> bool {
    let ((d1, along1), (d2, along2)) = (network.heading(first).unwrap(), network.heading(then).unwrap());
    d1 < d2 || (d1, along1) == (d2, along2)
}

/// In a hypercube: the highest dimension first.
fn highest_first(network: &Network, first: ChannelId, then: ChannelId) -> bool {
    let dimension = |channel| network.from(channel).raw() ^ network.to(channel).raw();
    dimension(first) > dimension(then)
}

/// The channels of a path worm where `choose` picks among candidates, and how many are taken when each stop is reached.
fn walk(
    network: &Network,
    routing: &dyn RoutingRelation,
    from: NodeId,
    path: &Path,
    mut choose: impl FnMut(usize) -> usize,
) -> (Vec<ChannelId>, Vec<usize>) {
    let mut channels: Vec<ChannelId> = path.exit.into_iter().collect();
    let mut reached = Vec::new();
    let mut candidates = Vec::new();
    for &stop in &path.stops {
        loop {
            let arrived = channels.last().copied();
            let at = arrived.map_or(network.router_of(from), |channel| network.to(channel));
            if at == network.router_of(stop) {
                break;
            }
            routing.candidates(at, arrived, network.router_of(stop), &mut candidates);
            assert!(!candidates.is_empty(), "no route from router {at} to node {stop}");
            channels.push(candidates[choose(candidates.len())]);
        }
        reached.push(channels.len());
    }
    (channels, reached)
}

fn check_worm(
    network: &Network,
    contract: &Contract,
    source: NodeId,
    channels: &[ChannelId],
    path: &Path,
    reached: &[usize],
) -> TestCaseResult {
    if channels.is_empty() {
        // A worm to others at the source's router.
        prop_assert!(path.stops.iter().all(|&stop| network.router_of(stop) == network.router_of(source)));
        return Ok(());
    }
    prop_assert_eq!(network.from(channels[0]), network.router_of(source));
    prop_assert_eq!(reached.last(), Some(&channels.len()), "the worm ends at its last stop");
    for (position, pair) in channels.windows(2).enumerate() {
        let &[first, then] = pair else { unreachable!("windows of two") };
        prop_assert_eq!(network.to(first), network.from(then), "channels are contiguous");
        prop_assert!((contract.legal)(network, first, then), "the turn after hop {} is illegal", position);
        if let Some(rule) = &contract.rule {
            prop_assert!(rule.may_turn(network, first, then), "the deadlock check does not know turn {}", position);
            let stops = reached.contains(&(position + 1));
            prop_assert!(!stops || rule.may_stop(network, first, then), "nor the stop after hop {}", position);
        }
    }
    // Delivering at the first visit of whichever stop is next (model.md, rule 15) delivers where the plan says.
    let mut next = 0;
    for (hop, &channel) in channels.iter().enumerate() {
        while path.stops.get(next).is_some_and(|&stop| network.router_of(stop) == network.to(channel)) {
            prop_assert_eq!(reached[next], hop + 1);
            next += 1;
        }
    }
    prop_assert_eq!(next, path.stops.len());
    if contract.shortest {
        let grid = network.shape().grid().expect("a mesh or a hypercube");
        for (&stop, &hops) in path.stops.iter().zip(reached) {
            let [stop, source] = [stop, source].map(|node| network.router_of(node).index());
            let apart = |d| grid.coordinate(stop, d).abs_diff(grid.coordinate(source, d));
            prop_assert_eq!(hops as u32, (0..grid.dimensions()).map(apart).sum::<u32>());
        }
    }
    Ok(())
}

/// A tree on a spanning tree: every branch leads down it, and the header says what the branches do.
fn check_spanning(network: &Network, routing: &dyn RoutingRelation, worm: &Worm, tree: &Tree) -> TestCaseResult {
    let top = tree.trunk.map_or(network.router_of(worm.from), |trunk| trunk.to);
    for (place, branch) in tree.branches.iter().enumerate() {
        // Everything below a branch is reached through it.
        let mut below = vec![place];
        let mut next = 0;
        while next < below.len() {
            let at = below[next];
            let router = network.to(tree.branches[at].channel);
            if router != network.from(branch.channel) {
                let descent = routing.capabilities().descent.unwrap();
                let down = descent.down(network.from(branch.channel), branch.channel, router);
                prop_assert_eq!(down, Some(branch.channel));
            }
            below.extend((0..tree.branches.len()).filter(|&i| tree.branches[i].parent == Some(at as u32)));
            next += 1;
        }
    }
    let place = |place: Option<u32>, router, delivers: &[NodeId]| {
        let onward = tree.branches.iter().filter(|branch| branch.parent == place).map(|branch| branch.channel);
        let mut onward: Vec<ChannelId> = onward.collect();
        onward.sort_unstable();
        let flit = tree.header.iter().find(|flit| flit.router == router);
        if delivers.is_empty() && onward.len() < 2 {
            prop_assert!(flit.is_none());
            return Ok(());
        }
        let flit = flit.expect("a flit for each router that delivers or splits");
        prop_assert_eq!(flit.channels(network).collect::<Vec<_>>(), onward);
        prop_assert_eq!(flit.delivers(network).collect::<Vec<_>>(), delivers);
        Ok(())
    };
    place(None, top, &tree.delivers)?;
    for (position, branch) in tree.branches.iter().enumerate() {
        place(Some(position as u32), network.to(branch.channel), &branch.delivers)?;
    }
    Ok(())
}

fn check_counts(network: &Network, algorithm: &dyn Algorithm, lists: &[Vec<NodeId>]) -> TestCaseResult {
    // Nodes beside the source get a worm of their own.
    let beside = usize::from(!network.has_one_node_each());
    match algorithm.name() {
        "dual-path" | "dual-path-adaptive" => prop_assert!(lists.len() <= 2 + beside),
        "multi-path" => prop_assert!(lists.len() <= 4 + beside),
        "column-path" => {
            let grid = network.shape().mesh().expect("a mesh");
            let mut worms_of: HashMap<u32, usize> = HashMap::new();
            for list in lists {
                let of = |node: NodeId| grid.coordinate(network.router_of(node).index(), 0);
                let column = of(list[0]);
                prop_assert!(list.iter().all(|&node| of(node) == column));
                *worms_of.entry(column).or_default() += 1;
            }
            prop_assert!(worms_of.values().all(|&worms| worms <= 2 + beside));
        }
        _ => {}
    }
    Ok(())
}

fn meshes() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        1 => prop::collection::vec(1u32..=9, 1),
        6 => prop::collection::vec(1u32..=7, 2),
        3 => prop::collection::vec(1u32..=4, 3),
        1 => prop::collection::vec(1u32..=3, 4),
    ]
}

/// The algorithms that need a hypercube.
const IN_HYPERCUBES: [&str; 4] = ["u-cube", "maxport", "combine", "w-sort"];

/// The algorithms that need a 2-D torus.
const IN_TORI: [&str; 2] = ["dstm-1", "dstm-2"];

/// The trees that need a 2-D mesh.
const TREES_IN_2D_MESHES: [&str; 7] =
    ["double-channel-xy-tree", "xy-tree", "yx-tree", "xy-mask", "yx-mask", "rpm", "vctm"];

/// Those that draw many sets of trees before they plan anything, or that need a special network.
const SLOW_TO_MAKE: [&str; 3] = ["dstm-tarjan-best", "dstm-tarjan-average", "dstm-tarjan-path"];
/// Those that need stages: `multicast/tests/switches.rs` tests them.
const WITH_STAGES: [&str; 2] = ["multiport", "u-min"];

/// Checks every algorithm's plan of one multicast; `defined` says which there should be.
fn check_all(
    network: &Arc<Network>,
    source: prop::sample::Index,
    destinations: &[prop::sample::Index],
    choices: &[usize],
    defined: impl Fn(&str) -> bool,
) -> TestCaseResult {
    let node = |index: &prop::sample::Index| NodeId::new(index.index(network.nodes()) as u32);
    let destinations: Vec<NodeId> = destinations.iter().map(node).collect();
    let multicast = Multicast::new(node(&source), &destinations);
    let quick = ALGORITHMS.iter().map(|algorithm| algorithm.name).filter(|name| !SLOW_TO_MAKE.contains(name));
    for name in quick.filter(|&name| name != "separate" || network.shape().mesh().is_some()) {
        let algorithm = algorithm_by_name(name, network, &Options::default());
        prop_assert_eq!(algorithm.is_ok(), defined(name), "{}", name);
        let Ok(algorithm) = algorithm else { continue };
        if name == "tree-infinity" && (9..=12).contains(&multicast.destinations().len()) {
            // Takes too long here; fewer destinations go the same way.
            continue;
        }
        let contract = contract(name);
        let plan = algorithm.plan(&multicast);
        prop_assert_eq!(plan.check(network, &multicast), Ok(()));
        let lists: Vec<Vec<NodeId>> = plan.worms.iter().map(crate::plan::Worm::visits).collect();
        check_counts(network, algorithm.as_ref(), &lists)?;
        for worm in &plan.worms {
            let path = match &worm.itinerary {
                Itinerary::Path(path) => path,
                Itinerary::Tree(tree) if tree.trunk.is_some() || !tree.header.is_empty() => {
                    check_spanning(network, algorithm.routing(), worm, tree)?;
                    continue;
                }
                Itinerary::Encoded(encoded) => {
                    let mut choice = choices.iter().cycle();
                    let route = encoded.route(algorithm.routing(), worm.from, |_| *choice.next().unwrap());
                    let mut reached: Vec<NodeId> = route.unwrap().deliveries.iter().map(|&(node, _)| node).collect();
                    let mut wanted = encoded.destinations.clone();
                    reached.sort_unstable();
                    wanted.sort_unstable();
                    prop_assert_eq!(reached, wanted);
                    continue;
                }
                Itinerary::Tree(tree) => {
                    let turns = algorithm.routing().capabilities().turns.map(TurnRouting::turns);
                    let known = algorithm.dependencies();
                    let mut candidates = Vec::new();
                    for branch in &tree.branches {
                        let before = branch.parent.map(|parent| tree.branches[parent as usize].channel);
                        match turns {
                            Some(turns) => {
                                prop_assert!(before.is_none_or(|before| turns.permits(
                                    network,
                                    before,
                                    branch.channel
                                )));
                            }
                            None => {
                                prop_assert!(before.is_none_or(|before| known.contains(before, branch.channel)));
                                // Tables may have other routes to a router's other nodes than to its first.
                                if TREES_IN_2D_MESHES.contains(&name) || !network.has_one_node_each() {
                                    continue;
                                }
                                // Without groups, a route of the tables.
                                let at = network.from(branch.channel);
                                let to = network.router_of(worm.visits()[0]);
                                algorithm.routing().candidates(at, before, to, &mut candidates);
                                prop_assert_eq!(&candidates, &[branch.channel]);
                            }
                        }
                    }
                    continue;
                }
            };
            let preferred = walk(network, algorithm.routing(), worm.from, path, |_| 0);
            prop_assert_eq!(&worm.channels(algorithm.routing()).unwrap(), &preferred.0);
            let mut choice = choices.iter().cycle();
            let adaptive = walk(network, algorithm.routing(), worm.from, path, |n| choice.next().unwrap() % n);
            for (channels, reached) in [preferred, adaptive] {
                check_worm(network, &contract, worm.from, &channels, path, &reached)?;
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn plans_keep_the_contract(
        extents in meshes(),
        each in prop_oneof![2 => Just(1u32), 1 => 2u32..=4],
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..25),
        choices in prop::collection::vec(0usize..12, 1..20),
    ) {
        let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let mesh = format!("mesh:{name},nodes={each}").parse::<TopologySpec>().unwrap().build().unwrap();
        check_all(&mesh, source, &destinations, &choices, |name| match extents.len() {
            // Some are defined in two dimensions only.
            _ if IN_TORI.contains(&name) => false,
            _ if each > 1 && ["xy-mask", "yx-mask"].contains(&name) => false,
            2 => !IN_HYPERCUBES.contains(&name) && !WITH_STAGES.contains(&name),
            _ => {
                let elsewhere = [&IN_HYPERCUBES[..], &WITH_STAGES, &TREES_IN_2D_MESHES, &["multi-path", "column-path", "schl", "dual-path-adaptive"]].concat();
                !elsewhere.contains(&name)
            }
        })?;
    }

    #[test]
    fn plans_on_hypercubes_keep_the_contract(
        dimensions in 1u32..=7,
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let cube = format!("hypercube:{dimensions}").parse::<TopologySpec>().unwrap().build().unwrap();
        check_all(&cube, source, &destinations, &[0], |name| {
            IN_HYPERCUBES.contains(&name) || name.starts_with("tree-") || ["spam", "dstm-tarjan", "bit-string", "chain-ordered", "tables"].contains(&name)
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn plans_on_tori_keep_the_contract(
        (columns, rows, each) in (2u32..=7, 2u32..=7, 1u32..=3),
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        choices in prop::collection::vec(0usize..12, 1..20),
    ) {
        let torus = format!("torus:{columns}x{rows},nodes={each}").parse::<TopologySpec>().unwrap().build().unwrap();
        check_all(&torus, source, &destinations, &choices, |name| {
            IN_TORI.contains(&name) || name.starts_with("tree-") || ["spam", "separate", "dstm-tarjan", "bit-string", "chain-ordered", "tables"].contains(&name)
        })?;
    }
}

/// Negative channels lead to smaller router numbers in meshes: what [`negative_first_legal`] relies on.
#[test]
fn negative_means_a_smaller_number() {
    let mesh = "mesh:3x2x3".parse::<TopologySpec>().unwrap().build().unwrap();
    for channel in mesh.channel_ids() {
        let (_, direction) = mesh.heading(channel).unwrap();
        assert_eq!(direction == Direction::Positive, mesh.to(channel) > mesh.from(channel));
    }
}
