//! Multicasts by software forwarding in time: who waits for whom, one multicast alone in the network.
//!
//! Contention-freedom (paper 2, Definition 4) is about steps. In time it means that no worm ever waits for a channel that a worm of
//! another sender holds; for the next worm of the same node to wait is no contention. `docs/algorithms.md` says what is promised.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Multicast, Options, Plan, algorithm_by_name};
use wormcast_network::{ChannelId, Network, NodeId, Ports};
use wormcast_simulation::{Cycle, Engine, EngineConfig, FlitEngine, Observer, StartupMode, StopReason, WormEngine};

use crate::support::{Told, alone, build, node, plain, shared};

/// Who sends each worm, and which channels it held from when to when.
#[derive(Default, Debug, PartialEq)]
struct Holds {
    senders: BTreeMap<u64, NodeId>,
    /// By worm, in the order of the grants.
    grants: BTreeMap<u64, Vec<(Cycle, ChannelId)>>,
    /// By channel and worm, the last cycle in which it was held.
    releases: BTreeMap<(ChannelId, u64), Cycle>,
    deliveries: BTreeMap<NodeId, Cycle>,
}

impl Observer for Holds {
    fn started(&mut self, _at: Cycle, _message: u64, worm: u64, node: NodeId) {
        self.senders.insert(worm, node);
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.grants.entry(worm).or_default().push((at, channel));
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, _flits: u32) {
        self.releases.insert((channel, worm), at);
    }

    fn delivered(&mut self, delivery: &wormcast_simulation::Delivery) {
        self.deliveries.insert(delivery.node, delivery.delivered);
    }
}

/// A worm that waited for a channel that a worm of another sender held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wait {
    worm: u64,
    behind: u64,
    /// Between which routers, or `None` for a consumption channel.
    link: Option<(u32, u32)>,
    cycles: u64,
}

impl Holds {
    /// All waits for other senders' worms. A header requests its next channel `routing_delay + 1` cycles after it was granted the one
    /// before, which it crosses at once (rules 1 and 3).
    fn waits(&self, network: &Arc<Network>, config: &EngineConfig) -> Vec<Wait> {
        let mut holders: BTreeMap<ChannelId, Vec<(Cycle, u64)>> = BTreeMap::new();
        for (&worm, grants) in &self.grants {
            for &(at, channel) in grants {
                holders.entry(channel).or_default().push((at, worm));
            }
        }
        let mut waits = Vec::new();
        for (&worm, grants) in &self.grants {
            assert!(grants.is_sorted_by_key(|&(at, _)| at), "a path is granted channel by channel");
            for &(granted, channel) in grants {
                // At a stop, the consumption channel and the link ahead are granted together.
                let earlier = grants.iter().rev().map(|&(at, _)| at).find(|&at| at < granted);
                let Some(requested) = earlier.map(|at| at + u64::from(config.routing_delay) + 1) else { continue };
                assert!(granted >= requested);
                let held = |&&(at, other): &&(Cycle, u64)| {
                    at < granted && self.releases[&(channel, other)] >= requested && other != worm
                };
                for &(_, behind) in holders[&channel].iter().filter(held) {
                    if self.senders[&behind] != self.senders[&worm] {
                        let link = (channel.index() < network.channels())
                            .then(|| (network.from(channel).raw(), network.to(channel).raw()));
                        waits.push(Wait { worm, behind, link, cycles: granted - requested });
                    }
                }
            }
        }
        waits
    }
}

/// One multicast, planned.
struct Case {
    network: Arc<Network>,
    algorithm: &'static str,
    plan: Plan,
}

impl Case {
    fn new(topology: &str, algorithm: &'static str, source: u32, destinations: &[u32]) -> Self {
        let network = build(topology);
        let destinations: Vec<NodeId> = destinations.iter().copied().map(node).collect();
        let made = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
        let plan = made.plan(&Multicast::new(node(source), &destinations));
        Self { network, algorithm, plan }
    }

    fn run(&self, config: EngineConfig, length: u32, flit: bool) -> Holds {
        let made = algorithm_by_name(self.algorithm, &self.network, &Options::default()).unwrap();
        let (routing, holds) = (made.routing(), shared(Holds::default()));
        if flit {
            run(FlitEngine::new(routing, config, Told::new(&holds)), length, &self.plan);
        } else {
            run(WormEngine::new(routing, config, Told::new(&holds)), length, &self.plan);
        }
        alone(holds)
    }

    fn waits(&self, config: EngineConfig, length: u32) -> Vec<Wait> {
        self.run(config, length, false).waits(&self.network, &config)
    }
}

fn run<E: Engine>(mut engine: E, length: u32, plan: &Plan) {
    engine.submit(0, 0, length, plan.clone());
    assert_eq!(engine.run_until(Cycle::MAX), StopReason::EndReached);
    assert!(engine.is_empty());
}

/// The longest time from a header's injection to its last request: `diameter` links, `routing_delay + 1` cycles each, and as many for
/// the injection channel.
fn header_time(diameter: u32, routing_delay: u32) -> u32 {
    (diameter + 1) * (routing_delay + 1)
}

/// Dimensions of a cube, its source and destinations.
fn cube_sets(most: u32) -> impl Strategy<Value = (u32, u32, Vec<u32>)> {
    (2..=most).prop_flat_map(|dimensions| {
        let nodes = 1u32 << dimensions;
        let count = 1..nodes as usize;
        (0..nodes, count).prop_flat_map(move |(source, count)| {
            let others: Vec<u32> = (0..nodes).filter(|&other| other != source).collect();
            (Just(dimensions), Just(source), prop::sample::subsequence(others, count))
        })
    })
}

/// Lengths of all magnitudes.
fn lengths() -> impl Strategy<Value = u32> {
    prop_oneof![1u32..8, 8u32..100, 100u32..5000]
}

/// A configuration with a startup of at least the longest network time of a header, or of nearly nothing.
fn configs() -> impl Strategy<Value = (EngineConfig, bool)> {
    let modes = prop_oneof![Just(StartupMode::Serial), Just(StartupMode::PerPort)];
    (1u32..5, 0u32..12, 0u32..40, modes, any::<bool>()).prop_map(
        |(buffer, routing_delay, startup, startup_mode, enough)| {
            (EngineConfig { buffer, routing_delay, startup, startup_mode, ..plain() }, enough)
        },
    )
}

/// The configuration in a network of this diameter, with so many ports.
fn at((config, enough): (EngineConfig, bool), diameter: u32, count: u32) -> EngineConfig {
    let least = if enough { header_time(diameter, config.routing_delay) } else { 0 };
    let startup = if enough { least + config.startup } else { config.startup / 10 };
    EngineConfig { startup, ports: Ports { injection: count, consumption: config.ports.consumption }, ..config }
}

/// A mesh, a source, and whether each node is a destination.
fn mesh_sets(least: u32) -> impl Strategy<Value = ([u32; 3], u32, Vec<u32>)> {
    let extents = (2u32..9, least..9, 1u32..4).prop_filter("small", |(x, y, z)| x * y * z <= 128);
    extents.prop_flat_map(move |(x, y, z)| {
        let z = if least > 1 { 1 } else { z };
        let nodes = x * y * z;
        (0..nodes, 1..nodes as usize).prop_flat_map(move |(source, count)| {
            let others: Vec<u32> = (0..nodes).filter(|&other| other != source).collect();
            (Just([x, y, z]), Just(source), prop::sample::subsequence(others, count))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// On all ports, and on any smaller number of them, whatever the startup: what the worms of two nodes have in common is passed
    /// by the first before the second can send.
    #[test]
    fn nobody_waits_on_all_ports(
        (dimensions, source, destinations) in cube_sets(8),
        algorithm in prop::sample::select(&["maxport", "combine", "w-sort"][..]),
        (length, config, fewer) in (lengths(), configs(), 0u32..12),
    ) {
        let case = Case::new(&format!("hypercube:{dimensions}"), algorithm, source, &destinations);
        let ports = if fewer < dimensions && fewer > 0 { fewer } else { dimensions };
        prop_assert_eq!(case.waits(at(config, dimensions, ports), length), vec![]);
    }

    /// On one port, hypercubes.
    #[test]
    fn nobody_waits_on_one_port(
        (dimensions, source, destinations) in cube_sets(8),
        (length, config) in (lengths(), configs()),
    ) {
        let case = Case::new(&format!("hypercube:{dimensions}"), "u-cube", source, &destinations);
        prop_assert_eq!(case.waits(at(config, dimensions, 1), length), vec![]);
    }

    /// On one port, meshes.
    #[test]
    fn nobody_waits_in_meshes(
        ([x, y, z], source, destinations) in mesh_sets(1),
        (length, config) in (lengths(), configs()),
    ) {
        let case = Case::new(&format!("mesh:{x}x{y}x{z}"), "u-mesh", source, &destinations);
        prop_assert_eq!(case.waits(at(config, x + y + z - 3, 1), length), vec![]);
    }

    /// The same with worms that stop on their way; they need three consumption channels.
    #[test]
    fn nobody_waits_among_leaders(
        ([x, y, _], source, destinations) in mesh_sets(2),
        (length, (config, enough)) in (lengths(), configs()),
    ) {
        let case = Case::new(&format!("mesh:{x}x{y}"), "schl", source, &destinations);
        let config = EngineConfig { ports: Ports { injection: 1, consumption: 3 }, ..config };
        prop_assert_eq!(case.waits(at((config, enough), x + y - 2, 1), length), vec![]);
    }
}

proptest! {
    /// The worm engine, on which the above stands, sees what the flit engine sees.
    #[test]
    fn both_engines_agree(
        (dimensions, source, destinations) in cube_sets(5),
        algorithm in prop::sample::select(&["u-cube", "maxport", "combine", "w-sort"][..]),
        (length, config, all) in (1u32..200, configs(), any::<bool>()),
    ) {
        let case = Case::new(&format!("hypercube:{dimensions}"), algorithm, source, &destinations);
        let config = at(config, dimensions, if all { dimensions } else { 1 });
        prop_assert_eq!(case.run(config, length, true), case.run(config, length, false));
    }
}

/// U-cube was made for one port. On all ports a node sends twice by one channel, and a node that it has served in between may be on
/// the second worm's way: 4 has the message and sends to 10, while the source's worm to 11 has waited for the source's worm to 15. A
/// larger startup only moves the lengths at which they meet.
#[test]
fn u_cube_waits_on_all_ports_whatever_the_startup() {
    let case = Case::new("hypercube:5", "u-cube", 0, &[4, 10, 11, 13, 14, 15, 20, 21, 22, 24, 29]);
    let config = |ports, startup| EngineConfig {
        ports: Ports { injection: ports, consumption: 1 },
        startup,
        startup_mode: StartupMode::PerPort,
        ..plain()
    };
    let enough = header_time(5, plain().routing_delay);
    for (startup, length, cycles) in [(0, 16, 18), (enough, 16, 6), (enough, 512, 502), (500, 256, 0), (500, 512, 14)] {
        let waits = case.waits(config(5, startup), length);
        let expected = Wait { worm: 6, behind: 1, link: Some((8, 10)), cycles };
        assert_eq!(waits, if cycles > 0 { vec![expected] } else { vec![] }, "startup {startup}, length {length}");
        assert_eq!(case.waits(config(1, startup), length), vec![]);
    }
}

/// So was U-mesh. Here it takes a startup of 16 cycles, of the 75 that are the longest network time of a header, until nobody waits
/// on four ports.
#[test]
fn u_mesh_waits_on_all_ports_if_startups_are_small() {
    let case = Case::new("mesh:8x8", "u-mesh", 1, &[13, 16, 17, 28, 36, 38, 51, 59]);
    let config = |ports, startup| EngineConfig {
        ports: Ports { injection: ports, consumption: 1 },
        startup,
        startup_mode: StartupMode::PerPort,
        routing_delay: 4,
        ..plain()
    };
    assert_eq!(header_time(14, 4), 75);
    for (startup, cycles) in [(0, 16), (2, 14), (10, 6), (16, 0), (75, 0)] {
        let expected = Wait { worm: 5, behind: 0, link: Some((19, 27)), cycles };
        assert_eq!(case.waits(config(4, startup), 90), if cycles > 0 { vec![expected] } else { vec![] });
        assert_eq!(case.waits(config(1, startup), 90), vec![]);
    }
}
