//! The worm engine against the flit engine: every start, grant, release and delivery of every worm in the same cycle, and the same
//! use of links whenever one looks.
//!
//! `WORMCAST_CASES=20000 cargo test --release -p wormcast-simulation --test simulation engines` runs the long mode.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Branch, Itinerary, Multicast, Options, Plan, Tree, Worm, algorithm_by_name};
use wormcast_network::{ChannelSpace, Network, NodeId, Ports, RouterId};
use wormcast_routing::{RoutingOptions, RoutingRelation, routing_by_name};
use wormcast_simulation::{
    BranchReplication, Buffer, ChannelUse, Cycle, Delivery, Engine, EngineConfig, FlitEngine, Header, Held, Observer,
    Reservation, RunEnd, SelectionPolicy, StartupMode, StopReason, WormAtEnd, WormEngine,
};

use crate::support::{Log, Told, alone, build, node, plain, shared};

/// A random case, as small numbers that shrink.
#[derive(Clone, Debug)]
struct Case {
    topology: &'static str,
    /// With any, an irregular network instead: a line of routers and these links besides, parallel ones among them.
    chords: Vec<(u32, u32)>,
    scheme: Scheme,
    config: EngineConfig,
    messages: Vec<Message>,
}

/// How messages become worms.
#[derive(Clone, Copy, Debug)]
enum Scheme {
    /// By an algorithm, if it is defined for the topology; else as unicasts.
    Algorithm(&'static str),
    /// Stops in the order in which they come, over this routing.
    Stops(&'static str),
    /// Every stop but the first forwarded by the one before.
    Forwarded(&'static str),
    /// A breadth-first tree.
    Tree,
}

#[derive(Clone, Debug)]
struct Message {
    gap: u32,
    length: u32,
    source: u32,
    destinations: Vec<u32>,
}

#[allow(clippy::too_many_lines, reason = "a list of what varies")]
fn cases() -> impl Strategy<Value = Case> {
    let topology = prop::sample::select(vec![
        "mesh:3 32",
        "mesh:3x3 203",
        "torus:4 2",
        "mesh:5",
        "mesh:4x4",
        "mesh:3x5",
        "mesh:2x3x3",
        "torus:4x4",
        "torus:2x3",
        "torus:5",
        "hypercube:3",
        "hypercube:4",
    ]);
    let scheme = prop_oneof![
        prop::sample::select(vec![
            "separate",
            "pure-negative-first",
            "minimal-negative-first",
            "minimal-negative-first-optimal",
            "dual-path",
            "multi-path",
            "column-path",
            "spam",
            "dstm-1",
        ])
        .prop_map(Scheme::Algorithm),
        prop::sample::select(vec!["e-cube", "negative-first"]).prop_map(Scheme::Stops),
        prop::sample::select(vec!["e-cube", "negative-first"]).prop_map(Scheme::Forwarded),
        Just(Scheme::Tree),
    ];
    let header = prop::sample::select(vec![Header::None, Header::BitString, Header::AllDestinations, Header::Tree]);
    let mode = prop::sample::select(vec![StartupMode::Serial, StartupMode::PerPort]);
    let replication = prop::sample::select(vec![
        (BranchReplication::Lockstep, Reservation::Atomic),
        (BranchReplication::Lockstep, Reservation::Atomic),
        (BranchReplication::Independent, Reservation::Atomic),
        (BranchReplication::Independent, Reservation::Separate),
    ]);
    let buffer = prop_oneof![8 => 1u32..=16, 1 => Just(Buffer::WHOLE)];
    let delays = (0u32..20, 0u32..6, 0u32..6);
    let selection = prop::sample::select(vec![
        SelectionPolicy::First,
        SelectionPolicy::Random,
        SelectionPolicy::RoundRobin,
        SelectionPolicy::LeastLoaded,
    ]);
    let modes = (mode, 0u32..4, selection, any::<u64>());
    let config = (buffer, 1u32..4, 1u32..5, delays, (header, 1u32..5), modes, replication).prop_map(
        |(buffer, injection, consumption, delays, header, mode, replication)| {
            let (startup, routing_delay, strip_delay) = delays;
            EngineConfig {
                ports: Ports { injection, consumption },
                buffer,
                startup,
                routing_delay,
                strip_delay,
                header: header.0,
                header_flits: header.1,
                startup_mode: mode.0,
                receive_overhead: mode.1,
                replication: replication.0,
                reservation: replication.1,
                selection: mode.2,
                seed: mode.3,
                ..plain()
            }
        },
    );
    let message = |most: u32| {
        (0..most, 1u32..=200, any::<u32>(), prop::collection::vec(any::<u32>(), 1..8))
            .prop_map(|(gap, length, source, destinations)| Message { gap, length, source, destinations })
    };
    // From idle to deep saturation.
    let messages = prop_oneof![
        prop::collection::vec(message(400), 1..12),
        prop::collection::vec(message(40), 1..40),
        prop::collection::vec(message(3), 1..60),
    ];
    let chords = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec((0u32..IRREGULAR, 0u32..IRREGULAR), 1..20),
    ];
    (topology, chords, scheme, config, messages).prop_map(|(topology, chords, mut scheme, mut config, messages)| {
        if !chords.is_empty() {
            // Unicasts by a routing for any network, or trees, which bring their channels.
            scheme = match scheme {
                Scheme::Stops(_) => Scheme::Forwarded("turn-prohibition"),
                Scheme::Forwarded(_) => Scheme::Forwarded("up-down"),
                Scheme::Algorithm("separate" | "dual-path" | "spam") => Scheme::Forwarded("up-down-deterministic"),
                _ => Scheme::Tree,
            };
        }
        if config.replication == BranchReplication::Independent {
            config.buffer = Buffer::WHOLE;
            if config.header == Header::Tree {
                config.header = Header::BitString;
            }
        }
        if let Scheme::Algorithm("dstm-1") = scheme {
            // Runs are refused with fewer than a consumption channel for each tree.
            config.ports.consumption = config.ports.consumption.max(2);
        }
        let fabric = chords.is_empty() && topology.contains(' ');
        let trees = matches!(scheme, Scheme::Tree | Scheme::Algorithm("spam" | "dstm-1"));
        if (fabric || trees) && config.header == Header::AllDestinations {
            config.header = Header::None;
        }
        Case { topology, chords, scheme, config, messages }
    })
}

/// Routers of an irregular network.
const IRREGULAR: u32 = 12;

fn network(case: &Case) -> Arc<Network> {
    if case.chords.is_empty() {
        return build(case.topology);
    }
    let line = (1..IRREGULAR).map(|router| (router - 1, router));
    let chords = case.chords.iter().copied().filter(|(u, v)| u != v);
    let links: Vec<_> = line.chain(chords).collect();
    Network::from_links("irregular", IRREGULAR as usize, &links)
}

/// A breadth-first tree from a router to others, without the branches that lead to none of them.
fn tree(network: &Arc<Network>, source: RouterId, wanted: &[u32]) -> Tree {
    let delivers = network.nodes_of(source).filter(|node| wanted.contains(&node.raw())).collect();
    let source = source.raw();
    let mut branches: Vec<Branch> = Vec::new();
    let mut reached = BTreeMap::from([(source, None)]);
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(router) = queue.pop_front() {
        for channel in network.outputs(RouterId::new(router)) {
            let to = network.to(channel).raw();
            if !reached.contains_key(&to) {
                let delivers =
                    network.nodes_of(network.to(channel)).filter(|node| wanted.contains(&node.raw())).collect();
                branches.push(Branch { channel, parent: reached[&router], delivers });
                reached.insert(to, Some(branches.len() as u32 - 1));
                queue.push_back(to);
            }
        }
    }
    let mut kept: Vec<bool> = branches.iter().map(|branch| !branch.delivers.is_empty()).collect();
    for i in (0..branches.len()).rev() {
        if let (true, Some(parent)) = (kept[i], branches[i].parent) {
            kept[parent as usize] = true;
        }
    }
    let position: Vec<u32> =
        kept.iter().scan(0, |next, &kept| Some(std::mem::replace(next, *next + u32::from(kept)))).collect();
    let renumber = |branch: &Branch| Branch { parent: branch.parent.map(|p| position[p as usize]), ..branch.clone() };
    let kept = branches.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(branch, _)| renumber(branch));
    Tree { delivers, branches: kept.collect(), ..Tree::default() }
}

/// A message as engines take it: when, how long, and its worms.
type Planned = (Cycle, u32, Plan);

/// The plans of a case and the routing of their paths.
fn plans(case: &Case, network: &Arc<Network>) -> (Vec<Planned>, Box<dyn RoutingRelation>) {
    let nodes = network.nodes() as u32;
    let mut algorithm = None;
    let by_name = |name| routing_by_name(name, network, &RoutingOptions::default());
    let mut routing = by_name("e-cube").or_else(|_| by_name("up-down-deterministic")).unwrap();
    match case.scheme {
        Scheme::Algorithm(name) => {
            let separate = Options::routed_by(routing.name()).unwrap();
            let made = algorithm_by_name(name, network, &Options::default())
                .or_else(|_| algorithm_by_name("separate", network, &separate))
                .unwrap();
            routing = by_name(made.routing().name()).unwrap();
            algorithm = Some(made);
        }
        Scheme::Stops(name) | Scheme::Forwarded(name) => {
            if let Ok(wanted) = by_name(name) {
                routing = wanted;
            }
        }
        Scheme::Tree => {}
    }
    let mut at = 0;
    let plan = |message: &Message| {
        let source = message.source % nodes;
        let destinations: Vec<_> = message.destinations.iter().map(|d| node(d % nodes)).collect();
        let multicast = Multicast::new(node(source), &destinations);
        let stops = multicast.destinations().to_vec();
        let worms = match (&algorithm, case.scheme) {
            _ if stops.is_empty() => Vec::new(),
            (Some(algorithm), _) => algorithm.plan(&multicast).worms,
            (None, Scheme::Forwarded(_)) => {
                let chain = std::iter::once(node(source)).chain(stops.iter().copied());
                let hop = |(i, (from, &to)): (usize, (_, _))| {
                    let worm = Worm::path(from, vec![to]);
                    if i == 0 { worm } else { worm.after(i as u32 - 1) }
                };
                chain.zip(&stops).enumerate().map(hop).collect()
            }
            (None, Scheme::Tree) => {
                let wanted: Vec<u32> = stops.iter().map(|stop| stop.raw()).collect();
                let from = node(source);
                let itinerary = Itinerary::Tree(tree(network, network.router_of(from), &wanted));
                vec![Worm { from, after: None, itinerary, consumption_class: None, virtual_channels: None }]
            }
            (None, _) => {
                let worm = Worm::path(node(source), stops.clone());
                let leads = worm.channels(routing.as_ref()).is_ok();
                let unicast = |stop| Worm::path(node(source), vec![stop]);
                if leads { vec![worm] } else { stops.into_iter().map(unicast).collect() }
            }
        };
        let plan = Plan { worms };
        plan.check(network, &multicast).unwrap();
        plan
    };
    let timed = case.messages.iter().map(|message| {
        at += Cycle::from(message.gap);
        (at, message.length, plan(message))
    });
    (timed.collect(), routing)
}

/// What an engine did: its log, how it ended, what every worm held and waited for when messages came, and flit hops.
type Outcome<O> = (O, StopReason, Vec<Look>, u64);

/// A log without releases: nobody asks for the order of what happens in a cycle, and the worm engine does some of it as soon as it knows.
#[derive(Default)]
struct Quiet(Log<false>);

impl Observer for Quiet {
    const RELEASES: bool = false;

    fn started(&mut self, at: Cycle, message: u64, worm: u64, from: NodeId) {
        self.0.started(at, message, worm, from);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        Observer::delivered(&mut self.0, delivery);
    }
}

/// The channels that are held, with the flits that have crossed them, and the worms.
type Look = (Vec<Held>, Vec<WormAtEnd>);

fn look<E: Engine>(engine: &mut E) -> Look {
    let mut held = Vec::new();
    engine.each_held(&mut |channel| held.push(channel));
    held.sort_unstable();
    (held, engine.worms())
}

fn run<O, E: Engine<Observer = O>>(mut engine: E, messages: &[Planned]) -> Outcome<O> {
    let mut looks = Vec::new();
    let mut progress = StopReason::EndReached;
    for (id, (at, length, plan)) in (0..).zip(messages) {
        progress = engine.run_until(*at);
        if progress != StopReason::EndReached {
            break;
        }
        looks.push(look(&mut engine));
        engine.submit(*at, id, *length, plan.clone());
    }
    if progress == StopReason::EndReached {
        progress = engine.run_until(Cycle::MAX);
    }
    if progress == StopReason::EndReached {
        assert!(engine.is_empty(), "everything arrives");
    }
    let hops = engine.flit_hops();
    (engine.into_observer(), progress, looks, hops)
}

fn number_of_cases() -> u32 {
    std::env::var("WORMCAST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: number_of_cases(), max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_worm_engine_equals_the_flit_engine(case in cases()) {
        compare(&case)?;
    }

    /// Headers whose flits part at routers, decoded or not, on trees that run into each other and on those that do not.
    #[test]
    fn with_tree_headers_as_well(
        mut case in cases(),
        (topology, algorithm) in (
            prop::sample::select(vec!["torus:5x4", "torus:4x4", "torus:3x3x2", "hypercube:4"]),
            prop::sample::select(vec!["none", "spam", "dstm"]),
        ),
        buffer in prop_oneof![3 => Just(1u32), 2 => 2u32..=16, 1 => 17u32..300],
    ) {
        case.scheme = match algorithm {
            "none" => Scheme::Tree,
            _ => {
                (case.topology, case.chords) = (topology, Vec::new());
                // On the trees that the routing by the name of `tree` has.
                let dstm = if topology.matches('x').count() == 1 { "dstm-1" } else { "dstm-tarjan" };
                Scheme::Algorithm(if algorithm == "spam" { "spam" } else { dstm })
            }
        };
        case.config.header = Header::Tree;
        case.config.replication = BranchReplication::Lockstep;
        case.config.buffer = buffer;
        // One for each tree.
        case.config.ports.consumption = case.config.ports.consumption.max(3);
        for message in &mut case.messages {
            // A few destinations more than others have, so that branches part.
            let more = message.destinations.clone();
            message.destinations.extend(more.iter().map(|id| id.rotate_left(7) ^ id));
        }
        compare(&case)?;
    }

    /// Worms that stretch over more than 64 routers: the flit engine moves so many at a time.
    #[test]
    fn on_long_ways_as_well(
        mut case in cases(),
        topology in prop::sample::select(vec!["mesh:80", "mesh:200", "torus:150", "mesh:12x12"]),
        buffer in 1u32..=20,
    ) {
        (case.topology, case.chords, case.config.buffer) = (topology, Vec::new(), buffer);
        case.config.replication = BranchReplication::Lockstep;
        compare(&case)?;
    }
}

/// Both engines on a case.
fn compare(case: &Case) -> Result<(), TestCaseError> {
    let network = network(case);
    let (messages, routing) = plans(case, &network);
    prop_assert_eq!(WormEngine::<Log<false>>::objection(&case.config), None);
    let log = Log::<false>::default;
    let flit = run(FlitEngine::new(routing.as_ref(), case.config, log()), &messages);
    let worm = run(WormEngine::new(routing.as_ref(), case.config, log()), &messages);
    let quiet = run(WormEngine::new(routing.as_ref(), case.config, Quiet::default()), &messages);
    prop_assert_eq!((&quiet.1, &quiet.2, quiet.3), (&worm.1, &worm.2, worm.3));
    prop_assert_eq!((&quiet.0.0.starts, quiet.0.0.delivered()), (&worm.0.starts, worm.0.delivered()));
    prop_assert_eq!(format!("{:?}", quiet.0.0.deliveries), format!("{:?}", worm.0.deliveries));
    let dead = |progress: &StopReason| matches!(progress, StopReason::Deadlock(_));
    prop_assert_eq!(dead(&flit.1), dead(&worm.1));
    if dead(&flit.1) {
        // Found at different times, perhaps: one engine's log is a part of the other's, and dead worms are.
        return compare_until_the_end_of_the_shorter(&flit.0, &worm.0);
    }
    prop_assert_eq!(&flit.0.starts, &worm.0.starts);
    prop_assert_eq!(&flit.0.grants, &worm.0.grants);
    prop_assert_eq!(&flit.0.releases, &worm.0.releases);
    prop_assert_eq!(in_order(&flit.0.grants_again), in_order(&worm.0.grants_again));
    prop_assert_eq!(in_order(&flit.0.releases_again), in_order(&worm.0.releases_again));
    prop_assert_eq!(sorted(&flit.0), sorted(&worm.0));
    prop_assert_eq!(&flit.2, &worm.2);
    prop_assert_eq!(flit.3, worm.3);
    Ok(())
}

fn in_order(events: &[(Cycle, u64, u32)]) -> Vec<(Cycle, u64, u32)> {
    let mut events = events.to_vec();
    events.sort_unstable();
    events
}

/// Deliveries with their parts, by worm and node.
fn sorted(log: &Log<false>) -> Vec<String> {
    let mut all: Vec<_> = log.deliveries.clone();
    all.sort_by_key(|d| (d.worm, d.node));
    all.iter().map(|delivery| format!("{delivery:?}")).collect()
}

fn compare_until_the_end_of_the_shorter(a: &Log<false>, b: &Log<false>) -> Result<(), TestCaseError> {
    let end =
        |log: &Log<false>| log.grants.values().copied().chain(log.releases.values().map(|r| r.0)).max().unwrap_or(0);
    let until = end(a).min(end(b));
    let grants =
        |log: &Log<false>| log.grants.iter().filter(|g| *g.1 <= until).map(|(k, v)| (*k, *v)).collect::<Vec<_>>();
    let releases =
        |log: &Log<false>| log.releases.iter().filter(|r| r.1.0 <= until).map(|(k, v)| (*k, *v)).collect::<Vec<_>>();
    prop_assert_eq!(grants(a), grants(b));
    prop_assert_eq!(releases(a), releases(b));
    Ok(())
}

/// An observer of the kind that the worm engine cannot serve.
struct Flits;

impl Observer for Flits {
    const FLITS: bool = true;
}

#[test]
fn the_worm_engine_says_where_it_is_not_exact() {
    let objection = WormEngine::<()>::objection;
    assert_eq!(objection(&plain()), None);
    assert!(objection(&EngineConfig { virtual_channels: 2, ..plain() }).unwrap().contains("virtual channels"));
    let copies = EngineConfig { replication: BranchReplication::Independent, ..plain() };
    assert!(objection(&copies).unwrap().contains("copy flits independently"));
    let whole = EngineConfig { buffer: Buffer::WHOLE, ..copies };
    assert_eq!(objection(&whole), None);
    assert!(objection(&EngineConfig { header: Header::Tree, ..whole }).unwrap().contains("lockstep"));
    assert!(WormEngine::<Flits>::objection(&plain()).unwrap().contains("single flits"));
}

/// A header that takes so long that its flits hold channels for more cycles than 32 bits count, with a message behind it.
#[test]
fn channels_may_be_held_for_billions_of_cycles() {
    let mesh = build("mesh:40");
    let algorithm = algorithm_by_name("separate", &mesh, &Options::default()).unwrap();
    let config = EngineConfig { routing_delay: 1 << 28, buffer: 1, ..plain() };
    let to_the_end = |from: u32| algorithm.plan(&Multicast::new(node(from), &[node(39)]));
    let messages = [(0, 60, to_the_end(0)), (7, 60, to_the_end(1)), (1 << 33, 2, to_the_end(3))];
    let flit = run(FlitEngine::new(algorithm.routing(), config, Log::<false>::default()), &messages);
    let worm = run(WormEngine::new(algorithm.routing(), config, Log::<false>::default()), &messages);
    assert_eq!((&flit.0.starts, &flit.0.grants, &flit.0.releases), (&worm.0.starts, &worm.0.grants, &worm.0.releases));
    assert_eq!((sorted(&flit.0), &flit.2, flit.3), (sorted(&worm.0), &worm.2, worm.3));
    let longest = worm.0.releases.iter().map(|(at, release)| release.0 - worm.0.grants[at]).max();
    assert!(longest > Some(Cycle::from(u32::MAX)), "{longest:?}");
}

/// The use of channels by messages that come every five cycles, until the last has come.
fn use_of_channels<E: Engine<Observer: Observer>>(
    mut engine: E,
    used: Rc<RefCell<ChannelUse<'_>>>,
    plans: &[Plan],
) -> String {
    for (id, plan) in (0..).zip(plans) {
        assert_eq!(engine.run_until(id * 5), StopReason::EndReached);
        engine.submit(id * 5, id, 30, plan.clone());
    }
    // Before everything has arrived: holds that are open count until then.
    assert_eq!(engine.run_until(plans.len() as Cycle * 5), StopReason::EndReached);
    let (held, at) = (look(&mut engine).0, engine.now());
    assert!(!held.is_empty());
    engine.observer_mut().ended(&RunEnd {
        at,
        deadlock: false,
        held: &held,
        worms: &[],
        window: (0, at),
        link_flits: &[],
    });
    let mut csv = Vec::new();
    drop(engine);
    alone(used).write_csv(&mut csv).unwrap();
    String::from_utf8(csv).unwrap()
}

/// The use of each channel is the same on both engines, although the worm engine reports releases later.
#[test]
fn channels_are_used_alike() {
    let mesh = build("mesh:8x8");
    let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default()).unwrap();
    let config = EngineConfig { startup: 20, ports: Ports { injection: 2, consumption: 3 }, ..plain() };
    let space = ChannelSpace::new(&mesh, config.ports);
    let plan = |i: u32| {
        let destinations: Vec<_> = (1..7).map(|k| node((i * 11 + k * k * 5) % 64)).collect();
        algorithm.plan(&Multicast::new(node(i * 37 % 64), &destinations))
    };
    let plans: Vec<Plan> = (0..200).map(plan).collect();
    let routing = algorithm.routing();
    let used = || shared(ChannelUse::new(&mesh, space));
    let (of_flits, of_worms) = (used(), used());
    let flit = use_of_channels(FlitEngine::new(routing, config, Told::new(&of_flits)), of_flits, &plans);
    assert_eq!(flit, use_of_channels(WormEngine::new(routing, config, Told::new(&of_worms)), of_worms, &plans));
    assert!(flit.lines().filter(|line| line.starts_with("link") && !line.contains(",,0,0,0,")).count() > 50);
}
