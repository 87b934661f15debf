//! Multicasts by software forwarding: contention-free (paper 2, Definition 4) and in as many steps as promised.
//!
//! `WORMCAST_CASES=10000 cargo test --release -p wormcast-multicast --test multicast unicast_trees` runs the long mode.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{
    Algorithm, AlgorithmOptions, Multicast, Options, PlanSummary, PortModel, Resolution, WormSummary, algorithm_by_name,
};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::Root;

use crate::support::build;

const IN_HYPERCUBES: [&str; 4] = ["u-cube", "maxport", "combine", "w-sort"];
const PORTS: [PortModel; 2] = [PortModel::One, PortModel::All];

fn cases() -> u32 {
    std::env::var("WORMCAST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

fn algorithms(network: &Arc<Network>) -> [Box<dyn Algorithm>; 4] {
    IN_HYPERCUBES.map(|name| algorithm_by_name(name, network, &Options::default()).unwrap())
}

/// The steps that m destinations take if everyone who has the message passes it on in every step.
fn doubling(destinations: usize) -> u32 {
    (destinations + 1).next_power_of_two().ilog2()
}

fn summary(network: &Arc<Network>, algorithm: &dyn Algorithm, multicast: &Multicast, ports: PortModel) -> PlanSummary {
    let plan = algorithm.plan(multicast);
    assert_eq!(plan.check(network, multicast), Ok(()));
    let summary = plan.summary(algorithm.routing(), ports).unwrap();
    assert_eq!(summary.contention(), None, "{}: {multicast:?}", algorithm.name());
    if ports == PortModel::One || !["u-cube", "u-mesh", "schl", "chain-ordered"].contains(&algorithm.name()) {
        assert_eq!(waits_for_others(&summary, ports), None, "{}: {multicast:?}", algorithm.name());
    }
    summary
}

/// A worm that waits for another node's worm, not only for its message, its sender's port and its sender's earlier worms.
fn waits_for_others(summary: &PlanSummary, ports: PortModel) -> Option<u32> {
    // The last step in which a node has used its port, or a channel.
    let mut last: HashMap<(NodeId, Option<ChannelId>), u32> = HashMap::new();
    let waits = |worm: &&WormSummary| {
        let uses: Vec<_> = match ports {
            PortModel::One => vec![(worm.from, None)],
            PortModel::All => worm.channels.iter().map(|&channel| (worm.from, Some(channel))).collect(),
        };
        let triggered = worm.after.map_or(0, |trigger| summary.worms[trigger as usize].step);
        let own = uses.iter().filter_map(|used| last.insert(*used, worm.step)).max().unwrap_or(0);
        worm.step > triggered.max(own) + 1
    };
    summary.worms.iter().find(waits).map(|worm| worm.id)
}

/// The steps of each algorithm on both kinds of ports, after checks of all that is promised of every instance.
fn steps(network: &Arc<Network>, algorithms: &[Box<dyn Algorithm>; 4], multicast: &Multicast) -> [[u32; 4]; 2] {
    let best = doubling(multicast.destinations().len());
    let dimensions = network.routers().ilog2();
    let all = PORTS.map(|ports| {
        [0, 1, 2, 3].map(|which| {
            let summary = summary(network, algorithms[which].as_ref(), multicast, ports);
            if ports == PortModel::All && ["maxport", "w-sort"].contains(&algorithms[which].name()) {
                // Every worm leaves as soon as its sender has the message.
                for worm in &summary.worms {
                    assert_eq!(worm.step, worm.after.map_or(0, |trigger| summary.worms[trigger as usize].step) + 1);
                }
                assert!(summary.steps <= dimensions);
            }
            summary.steps
        })
    });
    assert_eq!((all[0][0], all[1][0]), (best, best), "U-cube: {multicast:?}");
    assert!(all[0].iter().all(|&steps| steps >= best), "no tree on one port is faster: {multicast:?}");
    assert!(all[1][2] <= best, "Combine: {multicast:?}");
    all
}

/// Every set of destinations of the 4-cube, from three sources.
#[test]
fn all_multicasts_in_the_4_cube_are_contention_free() {
    let cube = build("hypercube:4");
    let algorithms = algorithms(&cube);
    let mut destinations = Vec::with_capacity(16);
    let mut total = [[0u64; 4]; 2];
    for source in [0b0000, 0b0110, 0b1011] {
        for set in (0u32..1 << 16).filter(|set| set >> source & 1 == 0) {
            destinations.clear();
            destinations.extend((0..16).filter(|node| set >> node & 1 == 1).map(NodeId::new));
            let steps = steps(&cube, &algorithms, &Multicast::new(NodeId::new(source), &destinations));
            for (total, steps) in total.as_flattened_mut().iter_mut().zip(steps.as_flattened()) {
                *total += u64::from(*steps);
            }
        }
    }
    // On average, not on every set: the paper's order on all ports.
    let [u_cube, maxport, combine, w_sort] = total[1];
    assert!(w_sort < combine && combine < maxport && maxport < u_cube, "{total:?}");
}

/// Figure 9 of paper 2: 100 random sets for each number of destinations in a 6-cube, on all ports.
///
/// On average Combine and W-sort never take more steps than U-cube, and W-sort fewer than the others. Maxport does take more just
/// below powers of two, where U-cube's staircase has its low points.
#[test]
fn figure_9_the_new_algorithms_smooth_the_staircase() {
    let cube = build("hypercube:6");
    let algorithms = algorithms(&cube);
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut others: Vec<NodeId> = (1..64).map(NodeId::new).collect();
    let mut total = [0; 4];
    let mut maxport_above = Vec::new();
    for destinations in 1..=63 {
        let mut sum = [0; 4];
        for _ in 0..100 {
            for position in 0..destinations {
                others.swap(position, position + random(63 - position));
            }
            let multicast = Multicast::new(NodeId::new(0), &others[..destinations]);
            for (sum, algorithm) in sum.iter_mut().zip(&algorithms) {
                *sum += summary(&cube, algorithm.as_ref(), &multicast, PortModel::All).steps;
            }
        }
        let [u_cube, maxport, combine, w_sort] = sum;
        assert_eq!(u_cube, 100 * doubling(destinations));
        assert!(w_sort <= combine && w_sort <= maxport && combine <= u_cube, "{destinations}: {sum:?}");
        if maxport > u_cube {
            maxport_above.push(destinations);
        }
        for (total, sum) in total.iter_mut().zip(sum) {
            *total += sum;
        }
    }
    let [u_cube, maxport, combine, w_sort] = total;
    assert!(w_sort < combine && combine < maxport && maxport < u_cube, "{total:?}");
    assert!(maxport_above.iter().all(|&m| [7, 15, 30, 31].contains(&m)), "{maxport_above:?}");
}

/// U-cube was made for one port. On all ports a node may have to send twice along one dimension while another one that it has
/// served in between could already send along the same way: 4 waits before it sends to 10, for the source's unicast to 11.
#[test]
fn on_all_ports_u_cube_counts_on_a_node_to_wait() {
    let cube = build("hypercube:5");
    let destinations = [4, 10, 11, 13, 14, 15, 20, 21, 22, 24, 29].map(NodeId::new);
    let multicast = Multicast::new(NodeId::new(0), &destinations);
    let [u_cube, _, combine, _] = algorithms(&cube);
    let plan = summary(&cube, u_cube.as_ref(), &multicast, PortModel::All);
    let worm = |id: usize| &plan.worms[id];
    let sent = |id: usize| (worm(id).from.raw(), worm(id).visits[0].raw(), worm(id).step);
    assert_eq!((sent(1), sent(2), sent(6)), ((0, 11, 2), (0, 4, 1), (4, 10, 3)));
    assert!(worm(1).channels.iter().any(|channel| worm(6).channels.contains(channel)));
    assert_eq!((worm(6).after, waits_for_others(&plan, PortModel::All)), (Some(2), Some(6)));
    assert_eq!(waits_for_others(&summary(&cube, combine.as_ref(), &multicast, PortModel::All), PortModel::All), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn multicasts_up_to_the_10_cube_are_contention_free(
        dimensions in 1u32..=10,
        source: prop::sample::Index,
        destinations in prop_oneof![
            prop::collection::vec(any::<u32>(), 0..20),
            prop::collection::vec(any::<u32>(), 0..300),
        ],
    ) {
        let cube = build(&format!("hypercube:{dimensions}"));
        let node = |raw: u32| NodeId::new(raw % cube.nodes() as u32);
        let destinations: Vec<NodeId> = destinations.into_iter().map(node).collect();
        let multicast = Multicast::new(NodeId::new(source.index(cube.nodes()) as u32), &destinations);
        steps(&cube, &algorithms(&cube), &multicast);
    }

    /// With the lowest dimension resolved first, plans are those with the highest first, with the bits of all addresses reversed: worm for
    /// worm, in the same steps on the same number of channels, and without contention.
    #[test]
    fn the_order_of_resolution_only_renames_nodes(
        dimensions in 1u32..=10,
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<u32>(), 0..200),
    ) {
        let cube = build(&format!("hypercube:{dimensions}"));
        let reversed = |node: NodeId| NodeId::new(node.raw().reverse_bits() >> (32 - dimensions));
        let source = NodeId::new(source.index(cube.nodes()) as u32);
        let nodes: Vec<NodeId> = destinations.into_iter().map(|raw| NodeId::new(raw % cube.nodes() as u32)).collect();
        let mirrored: Vec<NodeId> = nodes.iter().copied().map(reversed).collect();
        for name in IN_HYPERCUBES {
            let [descending, ascending] = [Resolution::Descending, Resolution::Ascending].map(|resolution| {
                let own = AlgorithmOptions { resolution: Some(resolution), ..AlgorithmOptions::default() };
                algorithm_by_name(name, &cube, &Options { own, ..Options::default() }).unwrap()
            });
            let multicast = Multicast::new(source, &nodes);
            let default = algorithm_by_name(name, &cube, &Options::default()).unwrap();
            prop_assert_eq!(default.plan(&multicast), descending.plan(&multicast));
            for ports in PORTS {
                let one = summary(&cube, descending.as_ref(), &multicast, ports);
                let other = summary(&cube, ascending.as_ref(), &Multicast::new(reversed(source), &mirrored), ports);
                let of = |worm: &WormSummary, name: &dyn Fn(NodeId) -> NodeId| {
                    let visits: Vec<NodeId> = worm.visits.iter().map(|&node| name(node)).collect();
                    let channels: Vec<_> = worm.channels.iter().map(|&channel| name(NodeId::new(cube.to(channel).raw()))).collect();
                    (worm.id, name(worm.from), worm.after, worm.step, visits, channels)
                };
                prop_assert_eq!(one.worms.len(), other.worms.len());
                for (one, other) in one.worms.iter().zip(&other.worms) {
                    prop_assert_eq!(of(one, &reversed), of(other, &|node| node));
                }
            }
        }
    }

    #[test]
    fn u_mesh_takes_the_fewest_steps_on_one_port_without_contention(
        extents in prop_oneof![
            prop::collection::vec(1u32..=12, 1),
            prop::collection::vec(1u32..=9, 2),
            prop::collection::vec(1u32..=5, 3),
            prop::collection::vec(1u32..=3, 4),
        ],
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
        let mesh = build(&format!("mesh:{}", extents.join("x")));
        let node = |index: prop::sample::Index| NodeId::new(index.index(mesh.nodes()) as u32);
        let destinations: Vec<NodeId> = destinations.into_iter().map(node).collect();
        let multicast = Multicast::new(node(source), &destinations);
        let u_mesh = algorithm_by_name("u-mesh", &mesh, &Options::default()).unwrap();
        let steps = PORTS.map(|ports| summary(&mesh, u_mesh.as_ref(), &multicast, ports).steps);
        let best = doubling(multicast.destinations().len());
        prop_assert_eq!(steps[0], best);
        prop_assert!(steps[1] <= best);
    }

    /// On a tree, with any router as the root of the order.
    #[test]
    fn chains_along_a_tree_are_contention_free(
        routers in 2u32..=40,
        parents in prop::collection::vec(any::<prop::sample::Index>(), 40),
        root: prop::sample::Index,
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let links: Vec<(u32, u32)> = (1..routers).map(|router| (parents[router as usize - 1].index(router as usize) as u32, router)).collect();
        let tree = Network::from_links("a tree", routers as usize, &links);
        let node = |index: prop::sample::Index| NodeId::new(index.index(tree.nodes()) as u32);
        let destinations: Vec<NodeId> = destinations.into_iter().map(node).collect();
        let multicast = Multicast::new(node(source), &destinations);
        let root = Some(Root::Router(RouterId::new(root.index(routers as usize) as u32)));
        let chain = algorithm_by_name("chain-ordered", &tree, &Options { root, ..Options::default() }).unwrap();
        let steps = PORTS.map(|ports| summary(&tree, chain.as_ref(), &multicast, ports).steps);
        let best = doubling(multicast.destinations().len());
        prop_assert_eq!(steps[0], best);
        prop_assert!(steps[1] <= best);
    }

    #[test]
    fn schl_is_contention_free(
        extents in prop::array::uniform2(1u32..=9),
        source: prop::sample::Index,
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let mesh = build(&format!("mesh:{}x{}", extents[0], extents[1]));
        let node = |index: prop::sample::Index| NodeId::new(index.index(mesh.nodes()) as u32);
        let destinations: Vec<NodeId> = destinations.into_iter().map(node).collect();
        let multicast = Multicast::new(node(source), &destinations);
        let schl = algorithm_by_name("schl", &mesh, &Options::default()).unwrap();
        for ports in PORTS {
            let summary = summary(&mesh, schl.as_ref(), &multicast, ports);
            // At most: log of the heads' unicasts, then a row each way, then a column.
            prop_assert!(ports == PortModel::All || summary.startups <= doubling(multicast.destinations().len()) + 3);
        }
    }
}

/// A mesh of extent 2 in every dimension is a hypercube, and a broadcast takes as many steps.
#[test]
fn u_mesh_and_u_cube_agree_on_a_broadcast() {
    let (mesh, cube) = (build("mesh:2x2x2x2x2"), build("hypercube:5"));
    let steps = |network: &Arc<Network>, name| {
        let everyone: Vec<NodeId> = (0..32).map(NodeId::new).collect();
        let algorithm = algorithm_by_name(name, network, &Options::default()).unwrap();
        (0..32)
            .map(|source| {
                summary(network, algorithm.as_ref(), &Multicast::new(NodeId::new(source), &everyone), PortModel::One)
                    .steps
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(&mesh, "u-mesh"), steps(&cube, "u-cube"));
}
