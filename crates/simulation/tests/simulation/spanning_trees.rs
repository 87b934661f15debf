//! Multicasts on spanning trees: routers follow the header that they decode, and nothing blocks anything forever.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use wormcast_multicast::{
    Algorithm, FaultInformation, HeaderFlit, Itinerary, Multicast, Options, Plan, Worm, algorithm_by_name,
};
use wormcast_network::{NodeId, Ports};
use wormcast_routing::RoutingRelation;
use wormcast_simulation::{
    Arrivals, BranchReplication, Buffer, Count, Cycle, Delivery, Destinations, Engine, EngineChoice, EngineConfig,
    FlitEngine, Header, Length, Mode, MulticastTraffic, Observer, Reservation, Run, Scenario, StopReason, Timing,
    Traffic, WormEngine, Wormhole, simulate,
};

use crate::support::{Told, build, node, plain, run_with, shared};

/// Who gets the message of a worm whose header was changed; `None` if routers can make nothing of it.
fn delivered(
    topology: &str,
    source: u32,
    destinations: &[u32],
    change: impl Fn(&mut Vec<HeaderFlit>),
) -> Option<Vec<u32>> {
    let network = build(topology);
    let spam = algorithm_by_name("spam", &network, &Options::default()).unwrap();
    let destinations: Vec<NodeId> = destinations.iter().map(|&id| node(id)).collect();
    let mut worms = spam.plan(&Multicast::new(node(source), &destinations)).worms;
    let Itinerary::Tree(tree) = &mut worms[0].itinerary else { panic!("a tree") };
    change(&mut tree.header);
    let config = EngineConfig { header: Header::Tree, ..plain() };
    let (log, progress) = run_with(spam.routing(), config, vec![(0, 6, worms)]);
    match progress {
        StopReason::EndReached => {
            let mut nodes: Vec<u32> = log.deliveries.iter().map(|delivery| delivery.node.raw()).collect();
            nodes.sort_unstable();
            Some(nodes)
        }
        StopReason::NoRoute(_) => None,
        other => panic!("{other:?}"),
    }
}

/// In `mesh:4x2`, the tree from 0 is 0-1-2-3 and each router's neighbour above. From 7 to 1, 2 and 5: by 3 or by 6 up to 1, where
/// branches part towards 2 and 5.
#[test]
fn routers_do_what_the_header_says() {
    let with = |change: &dyn Fn(&mut Vec<HeaderFlit>)| delivered("mesh:4x2", 7, &[1, 2, 5], change);
    assert_eq!(with(&|_| ()), Some(vec![1, 2, 5]));
    // The branches part without a delivery in 1.
    assert_eq!(with(&|header| header[0].nodes = 0), Some(vec![2, 5]));
    // One that goes further than it should, and one that ends before it should.
    let last = |header: &[HeaderFlit], router| header.iter().position(|flit| flit.router.raw() == router).unwrap();
    let further = |header: &mut Vec<HeaderFlit>| {
        let two = last(header, 2);
        header[two].router = wormcast_network::RouterId::new(3);
    };
    assert_eq!(with(&further), Some(vec![1, 3, 5]));
    // A branch that no flit follows: data alone tells no router anything.
    let missing = |header: &mut Vec<HeaderFlit>| {
        let five = last(header, 5);
        header.remove(five);
    };
    assert_eq!(with(&missing), None);
    // Children before their parent: the worm goes to 2, from where no route leads down to 1.
    let backwards = |header: &mut Vec<HeaderFlit>| header.reverse();
    assert_ne!(with(&backwards), Some(vec![1, 2, 5]));
    // An output that leads to nobody who is named.
    let stray = |header: &mut Vec<HeaderFlit>| {
        let two = last(header, 2);
        header[two].router = wormcast_network::RouterId::new(4);
    };
    assert_eq!(with(&stray), None);
}

/// A message's destinations that have still to get it.
#[derive(Default)]
struct Tally {
    missing: HashMap<u64, Vec<NodeId>>,
    /// Whether nodes may get a message only to send it on.
    relays: bool,
}

impl Observer for Tally {
    fn delivered(&mut self, delivery: &Delivery) {
        let missing = self.missing.get_mut(&delivery.message).expect("a message that is under way");
        let place = missing.iter().position(|&node| node == delivery.node);
        if place.is_none() && self.relays {
            return;
        }
        let place = place.expect("a destination, once");
        missing.swap_remove(place);
        if missing.is_empty() {
            self.missing.remove(&delivery.message);
        }
    }
}

/// Numbers that look random: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Submits planned messages as long as fewer than so many are under way, and waits until the last has arrived.
fn drive<'a, E: Engine<Observer = Told<'a>>>(
    mut engine: E,
    tally: &RefCell<Tally>,
    messages: u64,
    limit: usize,
    plan: &mut dyn FnMut(u64) -> (Multicast, Plan, u32),
) {
    let mut sent = 0;
    let mut at: Cycle = 0;
    while sent < messages {
        while sent < messages && tally.borrow().missing.len() < limit {
            let (multicast, plan, length) = plan(sent);
            if !multicast.destinations().is_empty() {
                tally.borrow_mut().missing.insert(sent, multicast.destinations().to_vec());
                engine.submit(at, sent, length, plan);
            }
            sent += 1;
        }
        at += 100;
        assert_eq!(engine.run_until(at), StopReason::EndReached);
    }
    assert_eq!(engine.run_until(Cycle::MAX), StopReason::EndReached);
    assert!(engine.is_empty() && tally.borrow().missing.is_empty(), "nothing is lost");
}
/// Sends so many messages, nine of ten to one node and the others to up to a quarter of all, as fast as nodes can start them and
/// faster: there are always 16 a node that are not delivered.
fn stress(
    topology: &str,
    algorithm: &str,
    (header, flit_by_flit): (Header, bool),
    messages: u64,
    faults: Option<(usize, FaultInformation)>,
) {
    let network = build(topology);
    let mut options = Options { seed: 5, ..Options::default() };
    if let Some((count, information)) = faults {
        options.faults.information = information;
        options.faults.fail_at_random(&network, count, 11).unwrap();
    }
    let algorithm = algorithm_by_name(algorithm, &network, &options).unwrap();
    let ports = algorithm.capabilities().ports.unwrap_or(Ports { injection: 1, consumption: 2 });
    let dependencies = algorithm.dependencies();
    assert_eq!(dependencies.deadlock(ports.consumption), None);
    let config = EngineConfig { ports, header, header_flits: 4, ..plain() };
    let nodes = network.nodes() as u64;
    let mut numbers = Numbers(messages);
    let mut plan = |message: u64| -> (Multicast, Plan, u32) {
        let source = node(numbers.below(nodes) as u32);
        let count = if message.is_multiple_of(10) { 1 + numbers.below(nodes / 4) } else { 1 };
        let destinations: Vec<NodeId> = (0..count).map(|_| node(numbers.below(nodes) as u32)).collect();
        let multicast = Multicast::new(source, &destinations);
        let plan = algorithm.plan(&multicast);
        (multicast, plan, 1 + numbers.below(24) as u32)
    };
    let tally = shared(Tally { relays: faults.is_some(), ..Tally::default() });
    let told = Told::new(&tally);
    let (limit, routing): (_, &dyn RoutingRelation) = (16 * network.nodes(), algorithm.routing());
    if flit_by_flit {
        drive(FlitEngine::new(routing, config, told), &tally, messages, limit, &mut plan);
    } else {
        drive(WormEngine::new(routing, config, told), &tally, messages, limit, &mut plan);
    }
}

/// Headers, and whether the flit engine runs.
const HEADERS: [(Header, bool); 3] = [(Header::None, false), (Header::Tree, true), (Header::Tree, false)];

/// Topologies and the algorithms that are defined on them.
const STRESSED: [(&str, &str); 6] = [
    ("torus:4x4", "dstm-1"),
    ("torus:5x4", "dstm-2"),
    ("torus:4x4x3", "dstm-tarjan"),
    ("hypercube:4", "dstm-tarjan"),
    ("torus:5x5", "spam"),
    ("random:nodes=24,degree=4,seed=2", "spam"),
];

#[test]
fn nothing_is_lost_far_beyond_saturation() {
    for (topology, algorithm) in STRESSED {
        for header in HEADERS {
            stress(topology, algorithm, header, 2_000, None);
        }
    }
}

#[test]
fn nothing_is_lost_at_failed_links() {
    for (topology, algorithm, count, information) in [
        ("torus:4x4", "dstm-1", 1, FaultInformation::Global),
        ("torus:5x4", "dstm-2", 1, FaultInformation::Local),
        ("torus:4x4", "dstm-tarjan", 1, FaultInformation::Local),
        ("torus:4x4", "dstm-1", 6, FaultInformation::Global),
        ("torus:5x5", "spam", 5, FaultInformation::Global),
    ] {
        for header in HEADERS {
            stress(topology, algorithm, header, 1_000, Some((count, information)));
        }
    }
}

/// `cargo test --release -p wormcast-simulation --test simulation a_million -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn a_million_messages_far_beyond_saturation() {
    let algorithms = ["dstm-1", "dstm-2", "dstm-tarjan", "dstm-tarjan-path", "spam"];
    for (algorithm, header) in algorithms.into_iter().flat_map(|algorithm| HEADERS.map(|header| (algorithm, header))) {
        let start = std::time::Instant::now();
        stress("torus:8x8", algorithm, header, 1_000_000, None);
        println!("{algorithm}, {header:?}: {:.0?}", start.elapsed());
    }
}

/// Branches that copy flits by themselves are served by the same trees.
#[test]
fn independent_branches_arrive_too() {
    let network = build("torus:4x4");
    let spam = algorithm_by_name("spam", &network, &Options::default()).unwrap();
    let multicast = Multicast::new(node(6), &[1, 9, 11, 14].map(NodeId::new));
    let worms: Vec<Worm> = spam.plan(&multicast).worms;
    let config = EngineConfig { replication: BranchReplication::Independent, ..plain() };
    let (log, progress) = run_with(spam.routing(), config, vec![(0, 6, worms)]);
    assert_eq!((progress, log.deliveries.len()), (StopReason::EndReached, 4));
}

/// What the check calls safe ends, with branches of their own on one to three virtual channels, reserved together or one by one: 240 bursts, of which some
/// are called safe and some deadlock.
#[test]
fn independent_branches_that_are_called_safe_never_deadlock() {
    let mut numbers = Numbers(17);
    let (mut safe, mut dead) = (0, 0);
    for round in 0..240 {
        let (topology, name) = INDEPENDENT[round % INDEPENDENT.len()];
        let network = build(topology);
        let algorithm: Arc<dyn Algorithm> = Arc::from(algorithm_by_name(name, &network, &Options::default()).unwrap());
        let least = algorithm.capabilities().ports.map_or(1, |ports| ports.consumption);
        let switching = Wormhole {
            buffer: Some([Buffer::Flits(1), Buffer::Flits(4)][numbers.below(2) as usize]),
            virtual_channels: 1 + numbers.below(3) as u32,
            injection_ports: Some(1 + numbers.below(2) as u32),
            consumption_ports: Some(least + numbers.below(2) as u32),
            replication: Some(BranchReplication::Independent),
            reservation: Some([Reservation::Atomic, Reservation::Separate][numbers.below(2) as usize]),
            ..Wormhole::default()
        };
        let timing = Timing { startup: 0, routing_delay: 0, ..Timing::default() };
        let burst = Arrivals { interval: Some(20), ..Arrivals::burst(network.nodes() as u32) };
        let destinations = Destinations::Count(Count { least: 1, most: 5 });
        let length = 1 + numbers.below(40) as u32;
        let traffic = Traffic {
            arrivals: Some(burst),
            length: Some(Length::from(Count { least: length, most: length })),
            multicast: Some(MulticastTraffic { destinations, fraction: 1.0, sets: None }),
            ..Traffic::default()
        };
        let run = Run { mode: Some(Mode::Drain), messages: Some(600), ..Run::default() };
        let scenario = Scenario::new(algorithm, &switching.into(), &timing, &traffic, &run).unwrap();
        let config = scenario.engine_config();
        let dependencies =
            scenario.algorithm().dependencies_with(config.branching()).with_virtual_channels(config.virtual_channels);
        let called_safe = dependencies.deadlock(config.ports.consumption).is_none();
        let result = simulate(&scenario, EngineChoice::Flit, round as u64).unwrap();
        assert!(!called_safe || result.deadlock.is_none(), "{topology} {name} {config:?}");
        safe += usize::from(called_safe);
        dead += usize::from(result.deadlock.is_some());
    }
    assert!(safe > 40 && dead > 10, "{safe} safe, {dead} deadlocks");
}

/// Topologies and algorithms that replicate on spanning trees.
const INDEPENDENT: [(&str, &str); 6] = [
    ("torus:4x4", "dstm-1"),
    ("torus:4x4", "dstm-2"),
    ("random:nodes=11,degree=3,seed=43", "dstm-tarjan"),
    ("random:nodes=10,degree=3,seed=84", "spam"),
    ("mesh:3x3", "spam"),
    ("ring:6", "spam"),
];
