//! Fabrics by their forwarding tables, and traffic to groups.

use std::io::Write as _;
use std::sync::Arc;

use wormcast_multicast::{Algorithm, AlgorithmOptions, Itinerary, Multicast, Multicasts, Options, algorithm_by_name};
use wormcast_network::{Network, NetworkBuilder, NodeDetails, NodeId, RouterId};
use wormcast_simulation::{
    Arrivals, Destinations, EngineChoice, MulticastTraffic, Process, Run, Scenario, Switching, Timing, Traffic,
    Wormhole, simulate,
};

/// Three switches in a ring with two nodes each; nodes 0 and 1 are at the first.
fn ring() -> Arc<Network> {
    let mut builder = NetworkBuilder::new("ring");
    builder.at_least(3).unwrap();
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        builder.link(RouterId::new(a), RouterId::new(b)).unwrap();
    }
    for router in [0, 0, 1, 1, 2, 2] {
        builder.node(RouterId::new(router), NodeDetails::default()).unwrap();
    }
    builder.build().unwrap()
}

fn made(network: &Arc<Network>, masks: &str, multicasts: Multicasts) -> Result<Box<dyn Algorithm>, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(masks.as_bytes()).unwrap();
    let multicast_tables = Some(file.path().display().to_string());
    let own = AlgorithmOptions { multicast_tables, multicasts: Some(multicasts), ..AlgorithmOptions::default() };
    algorithm_by_name("tables", network, &Options { own, ..Options::default() }).map_err(|error| error.to_string())
}

/// Multicast tables of the group 0xc001, by the ports of each switch: 1 and 2 are links in the order in which they were made, 3 and 4 nodes.
fn masks(of: [&[u32]; 3]) -> String {
    let network = wormcast_network::as_fabric(&ring()).unwrap();
    let of_switch = |(router, ports): (RouterId, &[u32])| {
        let guid = network.router_guid(router).unwrap();
        let ports: Vec<String> = ports.iter().map(|port| format!("0x{port:03X}")).collect();
        format!("\nSwitch {guid:#018x}\nLID    : Out Port(s)\n0xC001 : {}\n", ports.join("  "))
    };
    network.router_ids().zip(of).map(of_switch).collect()
}

fn nodes(ids: &[u32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId::new).collect()
}

#[test]
fn groups_go_down_their_tree_and_other_sets_one_by_one() {
    let network = ring();
    // Over the links 0-1 and 1-2: nodes 0, 1, 2 and 4.
    let tree = masks([&[1, 3, 4], &[1, 2, 3], &[1, 3]]);
    let tables = made(&network, &tree, Multicasts::Tables).unwrap();
    assert_eq!(tables.capabilities().groups, Some(&[nodes(&[0, 1, 2, 4])][..]));
    let plan = tables.plan(&Multicast::new(NodeId::new(0), &nodes(&[4, 1, 2])));
    let [worm] = &plan.worms[..] else { panic!("{plan:?}") };
    let Itinerary::Tree(tree) = &worm.itinerary else { panic!("{worm:?}") };
    assert_eq!(tree.delivers, nodes(&[1]));
    let ways: Vec<_> = tree
        .branches
        .iter()
        .map(|branch| (network.from(branch.channel).raw(), network.to(branch.channel).raw(), branch.delivers.clone()))
        .collect();
    assert_eq!(ways, [(0, 1, nodes(&[2])), (1, 2, nodes(&[4]))]);
    for others in [&[4, 1][..], &[4, 1, 2, 3]] {
        assert_eq!(tables.plan(&Multicast::new(NodeId::new(0), &nodes(others))).worms.len(), others.len());
    }
}

#[test]
fn trees_that_do_not_deliver_are_refused() {
    let network = ring();
    let refused = |of| made(&network, &masks(of), Multicasts::Tables).err().unwrap();
    assert_eq!(refused([&[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]), "group 0xc001: its packets run in a circle");
    let missed = refused([&[3], &[3], &[3]]);
    assert!(missed.starts_with("group 0xc001: its packets do not get to its member "), "{missed}");
    let dead_end = refused([&[1, 3], &[1, 2, 3], &[1]]);
    assert!(dead_end.ends_with("where no node is a member: its tree has to be pruned"), "{dead_end}");
}

/// Both engines and all ways to send have the same messages; the switches need fewer flits on links than software.
#[test]
fn traffic_to_groups_is_the_same_whichever_way_it_is_sent() {
    let network = ring();
    let tree = masks([&[1, 3, 4], &[1, 2, 3], &[1, 3]]);
    let traffic = Traffic {
        arrivals: Some(Arrivals {
            process: Process::Poisson,
            rate: Some(0.05),
            load: None,
            successes: None,
            sources: None,
            interval: None,
        }),
        multicast: Some(MulticastTraffic { destinations: Destinations::Group, fraction: 0.5, sets: None }),
        ..Traffic::default()
    };
    let run = Run { messages: Some(2_000), ..Run::default() };
    let results: Vec<_> = [Multicasts::Tables, Multicasts::Separate, Multicasts::Binomial]
        .into_iter()
        .map(|multicasts| {
            let algorithm: Arc<dyn Algorithm> = Arc::from(made(&network, &tree, multicasts).unwrap());
            let settings: Switching = Wormhole::default().into();
            let scenario = Scenario::new(algorithm, &settings, &Timing::default(), &traffic, &run).unwrap();
            let [worm, flit] =
                [EngineChoice::Worm, EngineChoice::Flit].map(|engine| simulate(&scenario, engine, 7).unwrap());
            assert_eq!(
                (&worm.latency.last, worm.cycles, worm.deliveries),
                (&flit.latency.last, flit.cycles, flit.deliveries)
            );
            assert!(worm.latency.last.mean.is_some());
            worm
        })
        .collect();
    let [tables, separate, binomial] = [0, 1, 2].map(|way: usize| results[way].latency.last.mean);
    assert!(tables < binomial && binomial < separate, "{tables:?} {binomial:?} {separate:?}");
}
