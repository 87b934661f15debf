//! Under which switching tree worms are safe: each combination is proved to be, or deadlocks before our eyes, and the static check
//! has called every deadlock possible.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Algorithm, Options, algorithm_by_name};
use wormcast_network::{Network, NetworkBuilder, NodeDetails, RouterId};
use wormcast_routing::Branching;
use wormcast_simulation::{
    Arrivals, BranchReplication, Buffer, Count, EngineChoice, Header, Mode, MulticastTraffic, Process, Reservation,
    Run, RunResult, Scenario, StartupMode, Timing, Traffic, Wormhole, simulate,
};

use crate::support::build;

const ALGORITHMS: [&str; 3] = ["tree-zero", "tree-one", "tree-infinity"];

fn make(network: &Arc<Network>, name: &str, routing: &str) -> Arc<dyn Algorithm> {
    let options = Options::routed_by(routing).unwrap();
    Arc::from(algorithm_by_name(name, network, &options).unwrap())
}

/// Bursts from every node, without rest.
fn scenario(network: &Arc<Network>, algorithm: Arc<dyn Algorithm>, switching: &Wormhole, timing: &Timing) -> Scenario {
    let most = network.nodes() as u32 - 1;
    let arrivals = Arrivals {
        process: Process::Burst,
        rate: None,
        successes: None,
        sources: None,
        interval: Some(20),
        load: None,
    };
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 2, most: 40 }.into()),
        multicast: Some(MulticastTraffic {
            destinations: Count { least: 1, most: most.min(6) }.into(),
            fraction: 0.9,
            sets: None,
        }),
        unicast: None,
        trace: None,
    };
    let run = Run { mode: Some(Mode::Finite), messages: Some(12 * u64::from(most + 1)), ..Run::default() };
    Scenario::new(algorithm, &switching.clone().into(), timing, &traffic, &run).unwrap()
}

fn fast() -> Timing {
    Timing { startup: 0, routing_delay: 1, startup_mode: Some(StartupMode::PerPort), ..Timing::default() }
}

/// Whether the static check calls a deadlock possible.
fn warned(scenario: &Scenario) -> bool {
    let config = scenario.engine_config();
    let dependencies = scenario.algorithm().dependencies_with(config.branching());
    dependencies.deadlock(config.ports.consumption).is_some()
}

fn check(scenario: &Scenario, result: &RunResult) -> bool {
    if result.deadlock.is_none() {
        assert_eq!(result.messages.in_flight, result.messages.generated - result.messages.delivered);
        assert!(result.saturated || result.messages.in_flight < result.messages.generated);
    }
    assert!(result.deadlock.is_none() || warned(scenario), "nobody warned of {:?}", result.deadlock);
    result.deadlock.is_some()
}

/// The table of docs/routing.md, cell by cell.
#[test]
fn every_combination_is_proved_safe_or_deadlocks() {
    use BranchReplication::{Independent, Lockstep};
    use Reservation::{Atomic, Separate};
    let networks =
        ["mesh:4x4", "torus:4x3", "random:nodes=16,degree=4,seed=1", "mesh:4 3", "random:nodes=10,degree=3,seed=2 21"]
            .map(build);
    let mut safe = Vec::new();
    for routing in ["turn-prohibition", "up-down"] {
        for (replication, reservation) in [(Lockstep, Atomic), (Independent, Atomic), (Independent, Separate)] {
            for buffer in [Buffer::Flits(1), Buffer::Flits(8), Buffer::Message] {
                let cell = format!("{routing}, {replication:?}, {reservation:?}, {buffer:?}");
                let (mut proved, mut dead) = (0, 0);
                for (seed, network) in (0..).zip(&networks) {
                    for algorithm in ALGORITHMS {
                        let algorithm = make(network, algorithm, routing);
                        let switching = Wormhole {
                            buffer: Some(buffer),
                            replication: Some(replication),
                            reservation: Some(reservation),
                            ..Wormhole::default()
                        };
                        let scenario = scenario(network, algorithm, &switching, &fast());
                        let result = simulate(&scenario, EngineChoice::Auto, seed).unwrap();
                        proved += u32::from(!warned(&scenario));
                        dead += u32::from(check(&scenario, &result));
                    }
                }
                let all = networks.len() as u32 * 3;
                assert!(proved == all && dead == 0 || proved == 0 && dead > 0, "{cell}: {proved} proved, {dead} dead");
                if proved > 0 {
                    safe.push(cell);
                }
            }
        }
    }
    assert_eq!(
        safe,
        ["turn-prohibition", "up-down"].map(|routing| format!("{routing}, Independent, Separate, Message"))
    );
}

/// Without a word about switching, trees are safe.
#[test]
fn trees_are_safe_by_default() {
    let network = build("random:nodes=24,degree=4,seed=3");
    for algorithm in ALGORITHMS {
        let scenario = scenario(&network, make(&network, algorithm, "up-down"), &Wormhole::default(), &fast());
        assert_eq!(scenario.engine_config().branching(), Branching::STORED);
        assert!(!warned(&scenario));
        let result = simulate(&scenario, EngineChoice::Auto, 1).unwrap();
        assert_eq!((result.engine.as_str(), check(&scenario, &result)), ("worm", false));
    }
    // Paths keep what they have.
    let paths = scenario(&network, make(&network, "separate", "up-down"), &Wormhole::default(), &fast());
    assert_eq!((paths.engine_config().buffer, paths.engine_config().replication), (1, BranchReplication::Lockstep));
    // Depth enough for the longest worm is as good as the word.
    let deep = |flits| Wormhole { buffer: Some(Buffer::Flits(flits)), ..Wormhole::default() };
    for (flits, enough) in [(39, false), (40, true)] {
        let scenario = scenario(&network, make(&network, "tree-one", "up-down"), &deep(flits), &fast());
        assert_eq!(scenario.engine_config().branching().packet_buffers, enough);
        assert_eq!(warned(&scenario), !enough);
    }
}

#[derive(Clone, Debug)]
struct Case {
    /// The router that each further router hangs on, and links besides: parallel ones, and rings.
    parents: Vec<u32>,
    chords: Vec<(u32, u32)>,
    /// Nodes at each router.
    nodes: Vec<u32>,
    algorithm: &'static str,
    routing: &'static str,
    switching: Wormhole,
    startup_mode: StartupMode,
    routing_delay: u32,
    seed: u64,
}

impl Case {
    fn network(&self) -> Arc<Network> {
        let routers = self.parents.len() as u32 + 1;
        let mut builder = NetworkBuilder::new("case");
        builder.at_least(routers as usize).unwrap();
        let mut link = |a: u32, b: u32| builder.link(RouterId::new(a), RouterId::new(b)).unwrap();
        for (child, parent) in (1..).zip(&self.parents) {
            link(child, parent % child);
        }
        for (a, b) in self.chords.iter().map(|(a, b)| (a % routers, b % routers)).filter(|(a, b)| a != b) {
            link(a, b);
        }
        // Nobody to send to otherwise.
        let nodes =
            if self.nodes.iter().take(routers as usize).sum::<u32>() < 2 { vec![2] } else { self.nodes.clone() };
        for (router, &count) in (0..routers).zip(nodes.iter().cycle()) {
            for _ in 0..count {
                builder.node(RouterId::new(router), NodeDetails::default()).unwrap();
            }
        }
        builder.build().unwrap()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let switching = (
        prop::sample::select(vec![
            Buffer::Flits(1),
            Buffer::Flits(1),
            Buffer::Flits(3),
            Buffer::Flits(20),
            Buffer::Message,
        ]),
        prop::sample::select(vec![BranchReplication::Lockstep, BranchReplication::Independent]),
        prop::sample::select(vec![Reservation::Atomic, Reservation::Separate]),
        (1u32..=2, 1u32..=4),
        prop::sample::select(vec![Header::None, Header::BitString, Header::Tree]),
    );
    let switching =
        switching.prop_map(|(buffer, replication, reservation, (injection_ports, consumption_ports), header)| {
            // Tree headers are for lockstep.
            let header = if replication == BranchReplication::Independent { Header::None } else { header };
            Wormhole {
                buffer: Some(buffer),
                replication: Some(replication),
                reservation: Some(reservation),
                injection_ports: Some(injection_ports),
                consumption_ports: Some(consumption_ports),
                header,
                ..Wormhole::default()
            }
        });
    // Small trees and stars, where some things are safe, as well as networks with rings.
    let chords = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec((0u32..9, 0u32..9), 1..6)];
    let parents = prop_oneof![
        prop::collection::vec(Just(0u32), 1..6),
        prop::collection::vec(0u32..2, 1..4),
        prop::collection::vec(any::<u32>(), 1..8),
    ];
    let nodes = prop_oneof![Just(vec![1u32]), prop::collection::vec(0u32..4, 1..9)];
    let algorithm = prop::sample::select(ALGORITHMS.to_vec());
    let routing = prop::sample::select(vec!["turn-prohibition", "up-down"]);
    let mode = prop::sample::select(vec![StartupMode::Serial, StartupMode::PerPort]);
    (parents, chords, nodes, algorithm, routing, switching, (mode, 0u32..4), any::<u64>()).prop_map(
        |(parents, chords, nodes, algorithm, routing, switching, (startup_mode, routing_delay), seed)| Case {
            parents,
            chords,
            nodes,
            algorithm,
            routing,
            switching,
            startup_mode,
            routing_delay,
            seed,
        },
    )
}

/// What the simulator finds dead, the static check has called possible: on small random networks, with few and many consumption
/// channels. `WORMCAST_CASES` sets the number of runs.
#[test]
fn whatever_deadlocks_was_called_possible() {
    let number = std::env::var("WORMCAST_CASES").map_or(400, |number| number.parse().expect("a number of cases"));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(number) };
    let mut counts: BTreeMap<(bool, bool), u32> = BTreeMap::new();
    let counts_in = std::cell::RefCell::new(&mut counts);
    proptest!(config, |(case in cases())| {
        let network = case.network();
        let algorithm = make(&network, case.algorithm, case.routing);
        let timing = Timing { startup_mode: Some(case.startup_mode), routing_delay: case.routing_delay, ..fast() };
        let scenario = scenario(&network, algorithm, &case.switching, &timing);
        let result = simulate(&scenario, EngineChoice::Auto, case.seed).unwrap();
        let (dead, warned) = (result.deadlock.is_some(), warned(&scenario));
        *counts_in.borrow_mut().entry((dead, warned)).or_default() += 1;
        prop_assert!(warned || !dead, "{:?}", result.deadlock);
    });
    // All that is allowed happens, and often.
    let count = |dead, warned| counts.get(&(dead, warned)).copied().unwrap_or(0);
    assert!(count(true, true) > number / 20 && count(false, false) > number / 20, "{counts:?}");
}
