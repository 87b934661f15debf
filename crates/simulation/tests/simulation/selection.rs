//! Rule 19 by hand, and what it is for: worms spread over parallel cables.

use std::collections::BTreeMap;
use std::sync::Arc;

use wormcast_multicast::{Options, Plan, algorithm_by_name};
use wormcast_network::{ChannelId, ChannelSpace, Network, Ports};
use wormcast_routing::{RoutingOptions, RoutingRelation, routing_by_name};
use wormcast_simulation::{
    ChannelUse, Cycle, Engine, EngineChoice, EngineConfig, Run, Scenario, SelectionPolicy, StopReason, Switching,
    Timing, Traffic, WormEngine,
};

use crate::support::{Log, Sent, plain, run_with, unicast, watch};

/// Six cables between two routers with a node each.
fn cables() -> Arc<Network> {
    Network::from_links("cables", 2, &[(0, 1); 6])
}

fn deterministic(network: &Arc<Network>) -> Box<dyn RoutingRelation> {
    routing_by_name("up-down-deterministic", network, &RoutingOptions::default()).unwrap()
}

fn config(selection: SelectionPolicy) -> EngineConfig {
    EngineConfig { ports: Ports { injection: 8, consumption: 8 }, selection, seed: 3, ..plain() }
}

/// The cables that worms from node 0 take, in the order of worms.
fn taken(routing: &dyn RoutingRelation, selection: SelectionPolicy, messages: Vec<Sent>) -> Vec<u32> {
    let (log, progress) = run_with(routing, config(selection), messages);
    assert_eq!(progress, StopReason::EndReached);
    let cable = |&(worm, channel): &(u64, u32)| (channel < 6).then_some((worm, channel));
    log.grants.keys().filter_map(cable).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// One worm after the other, of these lengths.
fn apart(lengths: &[u32]) -> Vec<Sent> {
    (0..).zip(lengths).map(|(i, &length)| (i * 100, length, vec![unicast(0, 1)])).collect()
}

#[test]
fn rule_19_each_selection_in_its_order() {
    let network = cables();
    let routing = deterministic(&network);
    let go = |selection, lengths: &[u32]| taken(routing.as_ref(), selection, apart(lengths));
    assert_eq!(go(SelectionPolicy::First, &[4; 8]), [0; 8]);
    assert_eq!(go(SelectionPolicy::RoundRobin, &[4; 8]), [0, 1, 2, 3, 4, 5, 0, 1]);
    // The cable that the fewest flits have crossed, the first of several.
    assert_eq!(go(SelectionPolicy::LeastLoaded, &[9, 2, 1, 3, 3, 3, 1, 2, 1]), [0, 1, 2, 3, 4, 5, 2, 1, 2]);
    // Worm w is granted in cycle 100w + 2; the numbers are those of the formula, worked out apart.
    assert_eq!(go(SelectionPolicy::Random, &[4; 8]), RANDOM);
}

/// With seed 3: floor(6 z / 2^64).
const RANDOM: [u32; 8] = [4, 4, 3, 5, 5, 5, 2, 3];

/// What is not free is passed over, and remembered by nobody; a worm that waits takes what is free first.
#[test]
fn rule_19_decides_among_the_free() {
    let network = cables();
    let routing = deterministic(&network);
    // Six long worms take all cables in turn, the seventh takes the first that it can: that of the shortest.
    let lengths = [50, 60, 20, 60, 60, 60, 5, 5];
    let together: Vec<Sent> = lengths.iter().map(|&length| (0, length, vec![unicast(0, 1)])).collect();
    for selection in [SelectionPolicy::RoundRobin, SelectionPolicy::LeastLoaded] {
        let cables = taken(routing.as_ref(), selection, together.clone());
        assert_eq!(cables, [0, 1, 2, 3, 4, 5, 2, 2], "{selection:?}");
    }
    // The pointer stands at the cable that was taken last, not at the one behind the last of six.
    let mut later = together;
    later.push((500, 5, vec![unicast(0, 1)]));
    assert_eq!(taken(routing.as_ref(), SelectionPolicy::RoundRobin, later).last(), Some(&3));
}

/// Unicasts that seldom meet: nearly all go by one of six cables with `first`, with deterministic routing all; and a sixth by each with
/// the others, adaptive or not.
#[test]
fn worms_spread_over_cables() {
    let network = cables();
    let messages: Vec<Sent> = (0..1200).map(|i: u64| (i * 40 + i * i % 37, 16, vec![unicast(0, 1)])).collect();
    for (name, by_one_cable) in [("up-down", 1080..1180), ("up-down-deterministic", 1200..1201)] {
        let routing = routing_by_name(name, &network, &RoutingOptions::default()).unwrap();
        let busiest = |selection| {
            let mut engine = WormEngine::new(routing.as_ref(), config(selection), Log::<false>::default());
            for (id, (at, length, worms)) in (0..).zip(&messages) {
                engine.run_until(*at);
                engine.submit(*at, id, *length, Plan { worms: worms.clone() });
            }
            assert_eq!(engine.run_until(Cycle::MAX), StopReason::EndReached);
            let log = engine.into_observer();
            let worms = |link| log.grants.keys().filter(|(_, channel)| *channel == link).count();
            (0..6).map(worms).max().unwrap()
        };
        let first = busiest(SelectionPolicy::First);
        assert!(by_one_cable.contains(&first), "{first}");
        assert!((200..=260).contains(&busiest(SelectionPolicy::Random)), "{}", busiest(SelectionPolicy::Random));
        assert_eq!(busiest(SelectionPolicy::RoundRobin), 200);
        assert_eq!(busiest(SelectionPolicy::LeastLoaded), 200);
    }
}

/// A torus with two rows has two links between its routers: e-cube's own is the preferred one, the other one will do.
#[test]
fn both_links_of_a_dimension_of_two() {
    let torus = crate::support::build("torus:2x3");
    let ecube: &dyn RoutingRelation = &wormcast_routing::ECube::new(&torus).unwrap();
    let (mut own, mut both) = (Vec::<ChannelId>::new(), Vec::new());
    let routers: Vec<_> = torus.router_ids().collect();
    ecube.candidates(routers[0], None, routers[1], &mut own);
    ecube.spread(routers[0], None, routers[1], &mut both);
    assert_eq!((own.len(), both.len(), both[0]), (1, 2, own[0]));
    // Along the dimension of three there is one.
    ecube.spread(routers[0], None, routers[2], &mut both);
    assert_eq!(both.len(), 1);
}

/// Settings as files spell them; the default is not written down, so that points keep their hashes.
#[test]
fn settings_name_the_selection() {
    for (name, selection) in [
        ("random", SelectionPolicy::Random),
        ("round-robin", SelectionPolicy::RoundRobin),
        ("least-loaded", SelectionPolicy::LeastLoaded),
    ] {
        let text = format!(r#"{{ "selection": "{name}" }}"#);
        let Switching::Wormhole(wormhole) = serde_json::from_str(&text).unwrap() else { panic!("wormhole") };
        assert_eq!(wormhole.selection, selection);
        assert!(serde_json::to_string(&Switching::from(wormhole)).unwrap().contains(name));
    }
    let first: Switching = serde_json::from_str(r#"{ "selection": "first" }"#).unwrap();
    assert_eq!(first, Switching::default());
    assert!(!serde_json::to_string(&first).unwrap().contains("selection"));
    let unknown = serde_json::from_str::<Switching>(r#"{ "selection": "last" }"#).unwrap_err().to_string();
    assert!(unknown.contains("`last`") && unknown.contains("`least-loaded`"), "{unknown}");
}

/// The same messages whatever the seed, and both engines: what is drawn depends on the run's seed, and on nothing else.
#[test]
fn draws_depend_on_the_seed_of_the_run() {
    let network = cables();
    let options = Options::routed_by("up-down").unwrap();
    let algorithm = Arc::from(algorithm_by_name("separate", &network, &options).unwrap());
    let use_of_cables = |selection: &str, engine, seed| {
        let switching: Switching = serde_json::from_str(&format!(r#"{{ "selection": "{selection}" }}"#)).unwrap();
        let traffic: Traffic =
            serde_json::from_str(r#"{ "arrivals": { "process": "burst", "interval": 50 }, "length": 8 }"#).unwrap();
        let (timing, run) = (Timing::default(), Run { messages: Some(60), ..Run::default() });
        let scenario = Scenario::new(Arc::clone(&algorithm), &switching, &timing, &traffic, &run);
        let scenario = scenario.unwrap();
        let used = ChannelUse::new(&network, ChannelSpace::new(&network, scenario.engine_config().ports));
        let (_, used) = watch(&scenario, engine, seed, used).unwrap();
        let mut csv = Vec::new();
        used.write_csv(&mut csv).unwrap();
        String::from_utf8(csv).unwrap()
    };
    let of = |selection, seed| {
        let worm = use_of_cables(selection, EngineChoice::Worm, seed);
        assert_eq!(worm, use_of_cables(selection, EngineChoice::Flit, seed));
        worm
    };
    assert_ne!(of("random", 1), of("random", 2));
    for selection in ["first", "round-robin", "least-loaded"] {
        assert_eq!(of(selection, 1), of(selection, 2));
    }
}
