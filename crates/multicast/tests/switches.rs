//! Multicasts on multistage networks: paper 4, and what U-Min promises.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Itinerary, Multicast, Options, Plan, PlanSummary, PortModel, algorithm_by_name};
use wormcast_network::{Network, NodeId};
use wormcast_routing::{Adaptivity, DestinationTag, RoutingRelation, Turnaround};

use crate::support::build;

fn plan(
    network: &Arc<Network>,
    algorithm: &str,
    source: u32,
    ids: impl IntoIterator<Item = u32>,
) -> (Plan, PlanSummary) {
    let algorithm = algorithm_by_name(algorithm, network, &Options::default()).unwrap();
    let destinations: Vec<NodeId> = ids.into_iter().map(NodeId::new).collect();
    let multicast = Multicast::new(NodeId::new(source), &destinations);
    let plan = algorithm.plan(&multicast);
    assert_eq!(plan.check(network, &multicast), Ok(()));
    let summary = plan.summary(algorithm.routing(), PortModel::One).unwrap();
    (plan, summary)
}

fn logarithm(destinations: usize) -> u32 {
    (destinations + 1).next_power_of_two().trailing_zeros()
}

/// Contention-free by Definition 4 of paper 2, in ceil(log2(m + 1)) steps.
fn check_u_min(network: &Arc<Network>, source: u32, destinations: &[u32]) {
    let (_, summary) = plan(network, "u-min", source, destinations.iter().copied());
    assert_eq!(summary.steps, logarithm(destinations.len()), "from {source} to {destinations:?}");
    assert_eq!(summary.contention(), None, "from {source} to {destinations:?}");
}

#[test]
fn u_min_for_every_set_of_eight_nodes() {
    for spec in ["bmin:2x3", "bmin:8x1"] {
        let network = build(spec);
        for source in 0..8 {
            for set in (1u32..256).filter(|set| set >> source & 1 == 0) {
                let destinations: Vec<u32> = (0..8).filter(|node| set >> node & 1 == 1).collect();
                check_u_min(&network, source, &destinations);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn u_min_for_random_sets(
        spec in prop::sample::select(vec![
            "bmin:2x4", "bmin:4x2", "bmin:2x6", "bmin:4x3", "bmin:8x2", "bmin:2x8", "bmin:4x4", "bmin:16x2", "bmin:3x4",
        ]),
        source: prop::sample::Index,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..120),
    ) {
        let network = build(spec);
        let source = source.index(network.nodes()) as u32;
        let destinations: BTreeSet<u32> = picks.iter().map(|pick| pick.index(network.nodes()) as u32).collect();
        let destinations: Vec<u32> = destinations.into_iter().filter(|&node| node != source).collect();
        prop_assume!(!destinations.is_empty());
        check_u_min(&network, source, &destinations);
    }

    /// Each destination once, on any way up; and the masks of a multiport header lead to the nodes of its worm and no others.
    #[test]
    fn encoded_worms_reach_their_destinations(
        spec in prop::sample::select(vec![
            "bmin:2x4", "bmin:4x2", "bmin:4x3", "bmin:3x4", "bmin:16x1", "butterfly:2x4", "butterfly:4x3", "omega:2x4", "omega:3x3",
        ]),
        algorithm in prop::sample::select(vec!["bit-string", "multiport"]),
        source: prop::sample::Index,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        ways in prop::collection::vec(0usize..16, 1..8),
    ) {
        let network = build(spec);
        let stages = *network.shape().stages().unwrap();
        let source = source.index(network.nodes()) as u32;
        let (plan, summary) = plan(&network, algorithm, source, picks.iter().map(|p| p.index(network.nodes()) as u32));
        let routing: Box<dyn RoutingRelation> = if network.is_unidirectional() {
            Box::new(DestinationTag::new(&network).unwrap())
        } else {
            Box::new(Turnaround::new(&network, Adaptivity::Adaptive).unwrap())
        };
        for (worm, planned) in plan.worms.iter().zip(&summary.worms) {
            let Itinerary::Encoded(encoded) = &worm.itinerary else { panic!("switches replicate") };
            let top = encoded.destinations.iter().map(|&node| stages.common_stage(worm.from, node)).max().unwrap();
            // One-way, every worm crosses all stages.
            let (top, longest) = if network.is_unidirectional() { (stages.stages() - 1, stages.stages() - 1) } else { (top, 2 * top) };
            prop_assert_eq!(planned.longest, longest);
            let mut way = ways.iter().cycle();
            let route = encoded.route(routing.as_ref(), worm.from, |_| *way.next().unwrap()).unwrap();
            prop_assert_eq!(route.channels.len(), planned.channels.len(), "as many channels whatever the way up");
            let mut reached: Vec<NodeId> = route.deliveries.iter().map(|&(node, _)| node).collect();
            let mut wanted = encoded.destinations.clone();
            reached.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(&reached, &wanted);
            if algorithm == "multiport" {
                // What switches do that know only the masks: at stage s, out by the left ports that are in mask s.
                let mut told = vec![worm.from.raw() / stages.weight(top + 1) * stages.weight(top + 1)];
                for stage in (0..=top).rev() {
                    let mask: BTreeSet<u32> = wanted.iter().map(|node| stages.digit(node.raw(), stage)).collect();
                    told = told.iter().flat_map(|&a| mask.iter().map(move |&port| a + port * stages.weight(stage))).collect();
                }
                told.sort_unstable();
                prop_assert_eq!(told, wanted.iter().map(|node| node.raw()).collect::<Vec<_>>());
            }
        }
    }
}

/// Worked by hand: 16 nodes of Figure 3 of paper 4. A broadcast by one worm takes the channel up and one to each switch next to the nodes.
#[test]
fn broadcasts_on_sixteen_nodes() {
    let network = build("bmin:4x2");
    let (_, summary) = plan(&network, "bit-string", 5, 0..16);
    assert_eq!((summary.startups, summary.steps, summary.channels, summary.longest), (1, 1, 5, 2));
    // Multiport: to the 12 nodes of other switches, and then to the 3 of its own: from 5, which has no channel to take.
    let (_, summary) = plan(&network, "multiport", 5, 0..16);
    let sent: Vec<(u32, usize, u32)> =
        summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits.len(), worm.step)).collect();
    assert_eq!(sent, [(5, 12, 1), (5, 3, 2)]);
    assert_eq!((summary.steps, summary.channels), (2, 4));
    let (_, summary) = plan(&network, "u-min", 5, 0..16);
    assert_eq!((summary.worms.len(), summary.steps, summary.startups), (15, 4, 4));
    let (_, summary) = plan(&network, "separate", 5, 0..16);
    assert_eq!((summary.worms.len(), summary.steps, summary.startups), (15, 15, 15));
}

/// Worked by hand: in an omega network of eight nodes from 5 (101) to 0 and 7: it starts at switch 5 mod 4 = 1 of stage 0 and parts there.
#[test]
fn an_omega_network_of_eight_nodes() {
    let network = build("omega:2x3");
    let (_, summary) = plan(&network, "bit-string", 5, [0, 7]);
    let ends: Vec<(u32, u32)> =
        summary.worms[0].channels.iter().map(|&c| (network.from(c).raw(), network.to(c).raw())).collect();
    // By port 0 to position 2 of stage 1, by port 0 to position 0 of stage 2; by port 1 to position 3, by port 1 to position 3.
    assert_eq!(ends, [(1, 6), (1, 7), (6, 8), (7, 11)]);
    assert_eq!((summary.longest, summary.worms[0].header.unwrap().bits), (2, 8));
    // 0 is 000 and 7 is 111: no product.
    let (_, summary) = plan(&network, "multiport", 5, [0, 7]);
    assert_eq!((summary.worms.len(), summary.worms[0].header.unwrap().bits), (2, 6));
    let (_, summary) = plan(&network, "separate", 5, [0, 7]);
    assert_eq!((summary.worms.len(), summary.channels, summary.steps), (2, 4, 2));
}
