//! The engine and the [`oracle`](crate::oracle) on random small runs: every start, grant, flit, release and delivery in the same
//! cycle, and the same worms stuck. `WORMCAST_CASES` sets the number of runs of each property.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use wormcast_multicast::{
    ALGORITHMS, Algorithm, Branch, Itinerary, Multicast, Options, Path, Plan, Tree, Worm, algorithm_by_name,
};
use wormcast_network::{ChannelId, ChannelSpace, Direction, Network, NodeId, Ports, RouterId};
use wormcast_routing::{RoutingOptions, RoutingRelation, VcRange, routing_by_name};
use wormcast_simulation::{
    BranchReplication, Buffer, Cycle, Delivery, Engine, EngineConfig, FlitEngine, Header, LinkDelay, Observer,
    Reservation, SelectionPolicy, StartupMode, StopReason,
};

use crate::oracle::{What, Wrong, tell};
use crate::support::{Dateline, Sent, build, path, plain};

/// Any minimal way: many candidates, and deadlocks.
struct Minimal {
    network: Arc<Network>,
}

impl RoutingRelation for Minimal {
    fn name(&self) -> &'static str {
        "minimal"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        let grid = network.shape().grid().unwrap();
        for dimension in (0..grid.dimensions()).rev() {
            let here = grid.coordinate(at.index(), dimension);
            let there = grid.coordinate(target.index(), dimension);
            let extent = grid.extents()[dimension];
            let up =
                if network.shape().wraps() { (there + extent - here) % extent } else { there.saturating_sub(here) };
            let down =
                if network.shape().wraps() { (here + extent - there) % extent } else { here.saturating_sub(there) };
            if up > 0 && (down == 0 || up <= down) {
                out.extend(network.channel_along(at, dimension, Direction::Positive));
            }
            if down > 0 && (up == 0 || down <= up) {
                out.extend(network.channel_along(at, dimension, Direction::Negative));
            }
        }
    }
}

const ROUTINGS: [&str; 5] = ["e-cube", "negative-first", "hamiltonian", "minimal", "up-down"];

const SELECTIONS: [SelectionPolicy; 4] =
    [SelectionPolicy::First, SelectionPolicy::Random, SelectionPolicy::RoundRobin, SelectionPolicy::LeastLoaded];

/// The routing of this name, or another one if the network does not know it.
fn routing_on(network: &Arc<Network>, name: &str) -> Box<dyn RoutingRelation> {
    if name == "minimal" && network.shape().grid().is_some() {
        return Box::new(Minimal { network: Arc::clone(network) });
    }
    if name == "dateline-by-hand" && network.shape().wraps() {
        return Box::new(Dateline::new(network, true));
    }
    let made = |name| routing_by_name(name, network, &RoutingOptions::default());
    made(name).or_else(|_| made("e-cube")).or_else(|_| made("up-down-deterministic")).unwrap()
}

/// A run, in the form in which a failure is printed.
#[derive(Clone)]
struct Case {
    topology: &'static str,
    /// The routing of path worms.
    routing: String,
    config: EngineConfig,
    messages: Vec<Sent>,
    /// The engine pauses after so many cycles, to be looked at.
    pause: Option<u64>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = build(self.topology);
        writeln!(f, "{} {} pause {:?}\n{:?}", self.topology, self.routing, self.pause, self.config)?;
        let mut id = 0;
        for (at, length, worms) in &self.messages {
            for worm in worms {
                write!(f, "worm {id}: cycle {at}, {length} flits, from {}, after {:?}, ", worm.from, worm.after)?;
                match &worm.itinerary {
                    Itinerary::Path(path) => write!(f, "exit {:?} stops {:?}", path.exit, path.stops)?,
                    Itinerary::Encoded(encoded) => write!(f, "{encoded:?}")?,
                    Itinerary::Tree(tree) => {
                        write!(f, "here {:?}; ", tree.delivers)?;
                        write!(f, "trunk {:?} delivers {:?}; ", tree.trunk, tree.delivers)?;
                        for b in &tree.branches {
                            let (from, to) = (network.from(b.channel), network.to(b.channel));
                            let mark = if b.delivers.is_empty() { "" } else { "!" };
                            write!(f, "{}: {from}->{to}{mark} under {:?}; ", b.channel, b.parent)?;
                        }
                    }
                }
                writeln!(f, " class {:?}", worm.consumption_class)?;
                id += 1;
            }
        }
        Ok(())
    }
}

/// What worms a property is about.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Algorithms,
    SpanningTrees,
    Paths,
    Trees,
    Mixed,
}

/// A message before it has worms.
#[derive(Clone, Debug)]
struct Draft {
    gap: u64,
    length: u32,
    source: u32,
    destinations: Vec<u32>,
    dice: Vec<u16>,
}

fn draft() -> impl Strategy<Value = Draft> {
    let destinations = prop::collection::vec(0u32..64, 1..7);
    let dice = prop::collection::vec(any::<u16>(), 1..24);
    (0u64..10_000, prop_oneof![1u32..6, 1u32..=40], 0u32..64, destinations, dice)
        .prop_map(|(gap, length, source, destinations, dice)| Draft { gap, length, source, destinations, dice })
}

/// Random choices that shrink.
struct Dice<'a> {
    rolls: &'a [u16],
    next: usize,
}

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        self.next += 1;
        // The same numbers again are not the same choices.
        let again = (self.next - 1) / self.rolls.len();
        (usize::from(self.rolls[(self.next - 1) % self.rolls.len()]) + 7 * again) % sides
    }
}

fn random_tree(network: &Arc<Network>, from: NodeId, group: &[NodeId], dice: &mut Dice<'_>) -> Worm {
    let wild = dice.roll(4) == 3;
    let home = |node: &NodeId| network.router_of(*node) == network.router_of(from);
    let here: Vec<NodeId> = group.iter().copied().filter(home).collect();
    let mut missing: BTreeSet<NodeId> = group.iter().copied().filter(|node| !home(node)).collect();
    let mut branches: Vec<Branch> = Vec::new();
    let mut routers = vec![network.router_of(from)];
    while !missing.is_empty() {
        let mut open = Vec::new();
        for (vertex, &router) in routers.iter().enumerate() {
            for channel in network.outputs(router) {
                let used = branches.iter().any(|branch| branch.channel == channel);
                if !used && (wild || !routers.contains(&network.to(channel))) {
                    open.push((vertex, channel));
                }
            }
        }
        let (vertex, channel) = open[dice.roll(open.len())];
        let router = network.to(channel);
        let delivers = network.nodes_of(router).filter(|node| missing.remove(node)).collect();
        branches.push(Branch { channel, parent: vertex.checked_sub(1).map(|p| p as u32), delivers });
        routers.push(router);
    }
    // Cut off what leads nowhere.
    let mut keep: Vec<bool> = branches.iter().map(|branch| !branch.delivers.is_empty()).collect();
    for position in (0..branches.len()).rev() {
        if let (true, Some(parent)) = (keep[position], branches[position].parent) {
            keep[parent as usize] = true;
        }
    }
    let mut renamed = BTreeMap::new();
    let mut kept: Vec<Branch> = Vec::new();
    for (position, branch) in branches.iter().enumerate().filter(|&(position, _)| keep[position]) {
        renamed.insert(position as u32, kept.len() as u32);
        kept.push(Branch { parent: branch.parent.map(|parent| renamed[&parent]), ..branch.clone() });
    }
    let itinerary = Itinerary::Tree(Tree { delivers: here, branches: kept, ..Tree::default() });
    Worm { from, after: None, itinerary, consumption_class: None, virtual_channels: None }
}

fn plan_by_hand(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    (ports, classes): (Ports, bool),
    kind: Kind,
    multicast: &Multicast,
    dice: &mut Dice<'_>,
) -> Plan {
    let mut plan = Plan::default();
    // Who has the message by which worm.
    let mut reached: Vec<(NodeId, u32)> = Vec::new();
    let mut left = multicast.destinations();
    while !left.is_empty() {
        let size = if dice.roll(2) == 0 { left.len() } else { 1 + dice.roll(left.len()) };
        let (group, rest) = left.split_at(size);
        left = rest;
        let (from, after) = match reached.len() {
            n if n > 0 && dice.roll(2) == 1 => {
                let (node, worm) = reached[dice.roll(n)];
                (node, Some(worm))
            }
            _ => (multicast.source(), None),
        };
        let tree = match kind {
            Kind::Trees => true,
            Kind::Mixed => dice.roll(2) == 1,
            _ => false,
        };
        let mut worms = if tree {
            vec![random_tree(network, from, group, dice)]
        } else {
            let mut worm = Worm::path(from, group.to_vec());
            if dice.roll(4) == 3 && network.router_of(group[0]) != network.router_of(from) {
                let outputs: Vec<ChannelId> = network.outputs(network.router_of(from)).collect();
                let exit = Some(outputs[dice.roll(outputs.len())]);
                worm.itinerary = Itinerary::Path(Path { exit, stops: group.to_vec() });
            }
            // By another way than the preferred one, up*/down* may not lead on from a stop.
            if routing.name() != "up-down" && worm.channels(routing).is_ok() {
                vec![worm]
            } else {
                group.iter().map(|&node| Worm::path(from, vec![node])).collect()
            }
        };
        for worm in &mut worms {
            worm.after = after;
            if dice.roll(4) == 3 {
                worm.consumption_class = Some(dice.roll(ports.consumption as usize) as u8);
            }
            // Every link has two, if it has several.
            if classes && dice.roll(2) == 1 {
                worm.virtual_channels = Some([VcRange::only(0), VcRange { first: 1, last: u8::MAX }][dice.roll(2)]);
            }
            let id = plan.worms.len() as u32;
            reached.extend(worm.visits().into_iter().map(|node| (node, id)));
            plan.worms.push(worm.clone());
        }
    }
    plan
}

/// The plans that an algorithm makes for parts of a multicast, some of them forwarded, bound to whichever consumption channels.
fn own_in_parts(own: &dyn Algorithm, ports: Ports, multicast: &Multicast, dice: &mut Dice<'_>) -> Plan {
    let mut plan = Plan::default();
    let mut left = multicast.destinations();
    let mut sender = (multicast.source(), None);
    while !left.is_empty() {
        let (group, rest) = left.split_at(1 + dice.roll(left.len()));
        left = rest;
        let class = dice.roll(ports.consumption as usize + 1).checked_sub(1).map(|class| class as u8);
        for worm in own.plan(&Multicast::new(sender.0, group)).worms {
            plan.worms.push(Worm { after: sender.1, consumption_class: class, ..worm });
        }
        if dice.roll(2) == 1 {
            let node = group[dice.roll(group.len())];
            let worm = plan.worms.iter().position(|worm| worm.visits().contains(&node));
            sender = (node, worm.map(|worm| worm as u32));
        }
    }
    plan
}

fn case(
    kind: Kind,
    topology: &'static str,
    algorithm: &str,
    routing: &str,
    config: EngineConfig,
    spacing: u64,
    drafts: &[Draft],
) -> Case {
    let network = build(topology);
    let options = Options { seed: 7, ..Options::default() };
    let mut own = algorithm_by_name(algorithm, &network, &options).ok();
    if algorithm == "separate" || own.is_none() {
        let name = routing_on(&network, if routing == "minimal" { "e-cube" } else { routing }).name().to_owned();
        let options = Options { seed: 7, ..Options::routed_by(&name).unwrap() };
        own = algorithm_by_name("separate", &network, &options).ok();
    }
    let own = own.expect("`separate` exists everywhere");
    let by_hand = routing_on(&network, routing);
    // An algorithm has the classes that its routing needs.
    let needed = if kind == Kind::Algorithms { u32::from(own.needed_virtual_channels().0) } else { 1 };
    let config = EngineConfig { virtual_channels: config.virtual_channels.max(needed), ..config };
    // Some worms keep to virtual channels of their own.
    let classes = config.virtual_channels > 1 && drafts[0].dice[0] % 2 == 1;
    let by_itself = matches!(kind, Kind::Algorithms | Kind::SpanningTrees);
    let routing = if by_itself { own.routing() } else { by_hand.as_ref() };
    let nodes = network.nodes() as u32;
    let mut at = 0;
    let mut messages = Vec::new();
    for draft in drafts {
        at += draft.gap % (spacing + 1);
        let source = NodeId::new(draft.source % nodes);
        let destinations: Vec<NodeId> = draft.destinations.iter().map(|&node| NodeId::new(node % nodes)).collect();
        let multicast = Multicast::new(source, &destinations);
        if multicast.destinations().is_empty() {
            continue;
        }
        let mut dice = Dice { rolls: &draft.dice, next: 0 };
        let plan = match kind {
            Kind::Algorithms => own.plan(&multicast),
            Kind::SpanningTrees => own_in_parts(own.as_ref(), config.ports, &multicast, &mut dice),
            _ => plan_by_hand(&network, routing, (config.ports, classes), kind, &multicast, &mut dice),
        };
        plan.check(&network, &multicast).expect("a good plan");
        messages.push((at, draft.length, plan.worms));
    }
    Case { topology, routing: routing.name().to_owned(), config, messages, pause: None }
}

const TOPOLOGIES: &[&str] = &[
    "mesh:2",
    "mesh:4",
    "mesh:2x2",
    "mesh:3x3",
    "mesh:4x3",
    "mesh:5x2",
    "mesh:2x2x2",
    "mesh:3x2x2",
    "hypercube:2",
    "hypercube:3",
    "torus:3",
    "torus:5",
    "torus:2x3",
    "torus:3x3",
    "torus:4x3",
    "mesh:8",
    "mesh:4x4",
    "hypercube:4",
    "mesh:2 2",
    "mesh:3 32",
    "mesh:3x2 203",
    "torus:4 123",
    "mesh:3x3 2",
    "torus:2 2",
    "torus:2x3 21",
    "mesh:2x2,nodes=2",
    "mesh:3x3,nodes=3",
    "torus:3x2,nodes=2",
];

/// What differs between the properties.
#[derive(Clone, Copy)]
struct About {
    kind: Kind,
    headers: &'static [Header],
    replications: &'static [BranchReplication],
    channels: (u32, u32),
}

fn cases(about: About) -> impl Strategy<Value = Case> {
    cases_on(TOPOLOGIES, about)
}

fn cases_on(topologies: &'static [&'static str], about: About) -> impl Strategy<Value = Case> {
    let About { kind, headers, replications, channels } = about;
    let switching = (
        prop_oneof![4 => Just(1u32), 4 => Just(2), 4 => 1u32..=8, 1 => Just(Buffer::WHOLE)],
        channels.0..=channels.1,
        (1u32..=3, 1u32..=4),
        select(headers),
        1u32..4,
        select(replications),
        select(&[Reservation::Atomic, Reservation::Separate][..]),
    );
    let timing = (
        prop_oneof![10 => Just(0u32), 20 => 0u32..20, 1 => 2000u32..5000],
        select(&[StartupMode::Serial, StartupMode::PerPort][..]),
        0u32..5,
        0u32..5,
        prop_oneof![Just(0u32), 0u32..8],
    );
    let selection = (select(&SELECTIONS[..]), any::<u64>());
    let config = (switching, timing, selection).prop_map(|(switching, timing, (selection, seed))| {
        let (buffer, virtual_channels, (injection, consumption), header, header_flits, replication, reservation) =
            switching;
        let (startup, startup_mode, routing_delay, strip_delay, receive_overhead) = timing;
        EngineConfig {
            ports: Ports { injection, consumption },
            buffer,
            virtual_channels,
            startup,
            startup_mode,
            routing_delay,
            strip_delay,
            receive_overhead,
            delay: LinkDelay::default(),
            header,
            header_flits,
            replication,
            reservation,
            selection,
            seed,
        }
    });
    let spacing = select(&[0u64, 0, 1, 1, 3, 3, 10, 10, 30, 30, 100, 300, 3000][..]);
    // The engine looks for deadlocks among moving worms after every 8192 cycles.
    let beginning = prop_oneof![5 => Just(0u64), 1 => 8000u64..8192];
    let pause = prop_oneof![4 => Just(None), 1 => (1u64..40).prop_map(Some)];
    let drafts = prop_oneof![3 => prop::collection::vec(draft(), 1..8), 1 => prop::collection::vec(draft(), 8..24)];
    // Other trees are made by hand.
    let on_spanning_trees = |name: &&str| *name == "spam" || name.starts_with("dstm");
    // Those whose relation has its name to itself.
    let known = |name: &&str| ["spam", "dstm-1"].contains(name);
    let trees = |name: &&str| {
        on_spanning_trees(name)
            || name.contains("tree")
            || name.ends_with("-mask")
            || ["bit-string", "tables", "rpm", "vctm"].contains(name)
    };
    let algorithms: Vec<&str> = ALGORITHMS
        .iter()
        .map(|algorithm| algorithm.name)
        .filter(|name| if kind == Kind::SpanningTrees { known(name) } else { !trees(name) })
        .collect();
    (select(topologies), select(algorithms), select(&ROUTINGS[..]), config, spacing, drafts, (beginning, pause))
        .prop_map(move |(topology, algorithm, routing, config, spacing, drafts, (beginning, pause))| {
            let mut config: EngineConfig = config;
            // Several nodes at a router: no stops that strip.
            if !build(topology).has_one_node_each() && config.header == AllDestinations {
                config.header = BitString;
            }
            let case = case(kind, topology, algorithm, routing, config, spacing, &drafts);
            let messages = case.messages.into_iter().map(|(at, length, worms)| (beginning + at, length, worms));
            Case { pause, messages: messages.collect(), ..case }
        })
}

/// What the engine says.
#[derive(Default)]
struct Listener {
    space: Option<ChannelSpace>,
    events: Vec<(Cycle, What)>,
    parts: Vec<Delivery>,
}

impl Observer for Listener {
    const FLITS: bool = true;

    fn started(&mut self, at: Cycle, _message: u64, worm: u64, node: NodeId) {
        self.events.push((at, What::Start { worm, node: node.raw() }));
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.events.push((at, What::Grant { worm, channel: channel.raw() }));
    }

    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        self.events.push((at, What::Flit { worm, channel: channel.raw(), flit }));
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        self.events.push((at, What::Release { worm, channel: channel.raw(), flits }));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let Delivery { worm, node, delivered, .. } = *delivery;
        self.events.push((delivered - 1, What::Delivery { worm, node: node.raw(), delivered }));
        self.parts.push(*delivery);
    }
}

/// What is known of channels that are held and of flits that have crossed them agrees with what was reported.
fn look_at(engine: &mut FlitEngine<'_, Listener>) -> Result<(), TestCaseError> {
    let (mut held, mut hops) = (BTreeMap::new(), 0);
    let space = engine.observer().space.unwrap();
    for &(_, what) in &engine.observer().events {
        match what {
            What::Flit { channel, .. } => *held.entry(channel).or_insert(0) += 1,
            What::Release { channel, flits, .. } => {
                *held.entry(channel).or_insert(0) -= i64::from(flits);
                if (channel as usize) < space.links() {
                    hops += u64::from(flits);
                }
            }
            _ => {}
        }
    }
    held.retain(|_, &mut flits| flits != 0);
    let mut said = BTreeMap::new();
    engine.each_held(&mut |held| *said.entry(held.channel.raw()).or_insert(0) += i64::from(held.flits));
    said.retain(|_, &mut flits| flits != 0);
    prop_assert_eq!(said, held, "flits on held channels in {}", engine.now());
    prop_assert_eq!(engine.flit_hops(), hops);
    Ok(())
}

fn run_until(
    engine: &mut FlitEngine<'_, Listener>,
    end: Cycle,
    pause: Option<u64>,
) -> Result<StopReason, TestCaseError> {
    for _ in 0..100 {
        match pause {
            Some(pause) if engine.now() + pause < end => {
                let progress = engine.run_until(engine.now() + pause);
                look_at(engine)?;
                if progress != StopReason::EndReached {
                    return Ok(progress);
                }
            }
            _ => break,
        }
    }
    Ok(engine.run_until(end))
}

fn compare(case: &Case) -> Result<(), TestCaseError> {
    compare_with(case, None)
}

fn compare_with(case: &Case, wrong: Option<Wrong>) -> Result<(), TestCaseError> {
    let network = build(case.topology);
    let routing = routing_on(&network, &case.routing);
    let space = Some(ChannelSpace::new(&network, case.config.ports));
    let listener = Listener { space, ..Listener::default() };
    let mut engine = FlitEngine::new(routing.as_ref(), case.config, listener);
    let mut progress = StopReason::EndReached;
    let mut submitted = 0;
    for (message, (at, length, worms)) in (0..).zip(&case.messages) {
        progress = run_until(&mut engine, *at, case.pause)?;
        if progress != StopReason::EndReached {
            break;
        }
        engine.submit(*at, message, *length, Plan { worms: worms.clone() });
        submitted += 1;
    }
    if progress == StopReason::EndReached {
        progress = run_until(&mut engine, Cycle::MAX, case.pause)?;
    }
    // Up to where both have come.
    let end = if progress == StopReason::EndReached { Cycle::MAX } else { engine.now() };
    let empty = engine.is_empty();
    let heard = engine.into_observer();
    let told = tell(&network, routing.as_ref(), case.config, &case.messages[..submitted], wrong);

    let in_order = |events: &[(Cycle, What)]| {
        let mut events: Vec<_> = events.iter().copied().filter(|&(at, _)| at < end).collect();
        events.sort_unstable();
        events
    };
    let (engine_events, oracle_events) = (in_order(&heard.events), in_order(&told.events));
    if engine_events != oracle_events {
        let same = engine_events.iter().zip(&oracle_events).take_while(|(a, b)| a == b).count();
        let some = |events: &[(Cycle, What)]| {
            let lines = events[same..].iter().take(8).map(|(at, what)| format!("\n    {at}: {what:?}"));
            lines.collect::<String>()
        };
        let before = same.saturating_sub(6);
        let last = oracle_events[before..same].iter().map(|(at, what)| format!("\n    {at}: {what:?}"));
        return Err(TestCaseError::fail(format!(
            "after{}\n  the engine has{}\n  the oracle has{}\n  {progress:?}",
            last.collect::<String>(),
            some(&engine_events),
            some(&oracle_events)
        )));
    }
    match progress {
        StopReason::EndReached => {
            prop_assert!(empty, "the engine stops with worms left");
            prop_assert!(told.stuck.is_empty(), "the engine sees no deadlock of {:?}", told.stuck);
        }
        StopReason::Deadlock(deadlock) => {
            prop_assert_eq!(deadlock.at, end);
            // When nothing moves any more, whoever asks for a channel is dead; a search meanwhile may find less.
            let all = told.asking.values().filter(|&&since| since < end).count();
            // For as long as a link takes, a flit on it is seen nowhere.
            let lag = case.config.delay.cycles().iter().copied().max().unwrap_or(1);
            let over = all == told.asking.len() && told.events.iter().all(|&(at, _)| at + u64::from(lag) < end);
            let found_all = deadlock.dead == all || (!over && deadlock.dead < all);
            prop_assert!(found_all, "{:?} are dead: {deadlock:?}", told.asking);
            prop_assert!(!deadlock.cycle.is_empty());
            for worm in &deadlock.cycle {
                prop_assert!(told.asking.contains_key(&worm.worm), "worm {} gets on, but {deadlock:?}", worm.worm);
            }
        }
        StopReason::ObserverDone => unreachable!("the listener is never done"),
        StopReason::NoRoute(no_route) => unreachable!("all routings lead everywhere: {no_route}"),
    }
    for delivery in &heard.parts {
        let parts = delivery.parts;
        let sum = parts.queueing + parts.startup + parts.network + parts.blocking;
        prop_assert_eq!(case.messages[delivery.message as usize].0 + sum, delivery.delivered, "{:?}", delivery);
    }
    Ok(())
}

fn check(about: About) {
    let number = std::env::var("WORMCAST_CASES").ok().map_or(500, |number| number.parse().expect("a number of cases"));
    let config =
        ProptestConfig { max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::with_cases(number) };
    proptest!(config, |(case in cases(about))| compare(&case)?);
}

use BranchReplication::{Independent, Lockstep};
use Header::{AllDestinations, BitString, None as Bare};

#[test]
fn plans_of_algorithms() {
    let headers = &[Bare, BitString, AllDestinations];
    check(About { kind: Kind::Algorithms, headers, replications: &[Lockstep], channels: (1, 1) });
}

#[test]
fn paths_by_hand() {
    let headers = &[Bare, BitString, AllDestinations];
    check(About { kind: Kind::Paths, headers, replications: &[Lockstep, Independent], channels: (1, 1) });
}

/// Worms that stretch over more than 64 routers, to and fro on a line: the engine moves so many at a time.
#[test]
fn long_worms() {
    let headers = &[Bare, BitString, AllDestinations];
    let about = About { kind: Kind::Paths, headers, replications: &[Lockstep], channels: (1, 1) };
    let lengthen = |(mut case, times): (Case, u32)| {
        case.messages.iter_mut().for_each(|message| message.1 *= times);
        case
    };
    let cases = (cases_on(&["mesh:70", "mesh:8x8", "mesh:2x34"], about), 1u32..10).prop_map(lengthen);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) };
    proptest!(config, |(case in cases)| compare(&case)?);
}

#[test]
fn lockstep_trees() {
    let headers = &[Bare, BitString, Header::Tree];
    check(About { kind: Kind::Trees, headers, replications: &[Lockstep], channels: (1, 1) });
}

#[test]
fn spanning_trees() {
    let headers = &[Bare, BitString, Header::Tree, Header::Tree];
    check(About { kind: Kind::SpanningTrees, headers, replications: &[Lockstep], channels: (1, 1) });
}

#[test]
fn independent_spanning_trees() {
    let headers = &[Bare, BitString];
    check(About { kind: Kind::SpanningTrees, headers, replications: &[Independent], channels: (1, 1) });
}

#[test]
fn independent_trees() {
    check(About { kind: Kind::Trees, headers: &[Bare, BitString], replications: &[Independent], channels: (1, 1) });
}

#[test]
fn paths_and_trees() {
    let replications = &[Lockstep, Independent];
    check(About { kind: Kind::Mixed, headers: &[Bare, BitString], replications, channels: (1, 1) });
}

#[test]
fn virtual_channels() {
    let headers = &[Bare, BitString, AllDestinations];
    check(About { kind: Kind::Paths, headers, replications: &[Lockstep], channels: (2, 4) });
}

/// Trees whose branches copy flits independently, and paths beside them: every branch waits for its own turn.
#[test]
fn virtual_channels_of_trees() {
    let headers = &[Bare, BitString];
    check(About { kind: Kind::Trees, headers, replications: &[Independent], channels: (2, 4) });
    check(About { kind: Kind::Mixed, headers, replications: &[Independent], channels: (2, 4) });
    check(About { kind: Kind::SpanningTrees, headers, replications: &[Independent], channels: (2, 4) });
}

/// Trees whose flits leave on all branches together, before others, and paths beside them.
#[test]
fn virtual_channels_of_trees_in_lockstep() {
    let headers = &[Bare, BitString];
    check(About { kind: Kind::Trees, headers, replications: &[Lockstep], channels: (2, 4) });
    check(About { kind: Kind::Mixed, headers, replications: &[Lockstep], channels: (2, 4) });
    check(About { kind: Kind::SpanningTrees, headers, replications: &[Lockstep], channels: (2, 4) });
}

/// With relations that divide virtual channels, plans name first channels only that they offer; with waypoints, none.
fn with_good_exits(mut case: Case) -> Case {
    let network = build(case.topology);
    let routing = routing_on(&network, &case.routing);
    let capabilities = routing.capabilities();
    let mut candidates = Vec::new();
    for worm in case.messages.iter_mut().flat_map(|message| &mut message.2) {
        // The relation alone divides them: with both, some links may be left with none.
        worm.virtual_channels = None;
        let from = network.router_of(worm.from);
        let Itinerary::Path(path) = &mut worm.itinerary else { continue };
        routing.candidates(from, None, network.router_of(path.stops[0]), &mut candidates);
        let offered = capabilities.waypoints.is_none() && path.exit.is_some_and(|exit| candidates.contains(&exit));
        if capabilities.virtual_channels.is_some() && !offered {
            path.exit = None;
        }
    }
    case
}

/// Headers may take some of the virtual channels only, of one channel or of several, and pass who waits for the others.
#[test]
fn divided_virtual_channels() {
    // Also tori on which datelines are crossed, and some have two shortest ways.
    const TORI: &[&str] = &["torus:5", "torus:6", "torus:4x3", "torus:4x4", "torus:2x3", "torus:3x2x2", "torus:4 123"];
    const OTHERS: &[&str] = &["mesh:3x3", "mesh:4x3", "mesh:5x2", "mesh:3x2x2", "hypercube:3", "mesh:3x2 203"];
    let about = About { kind: Kind::Paths, headers: &[Bare, BitString], replications: &[Lockstep], channels: (2, 5) };
    let cases = cases_on(TORI, about).prop_flat_map(|case| {
        (Just(case), select(&["dateline-by-hand", "dateline", "dateline-balanced", "duato"][..]))
    });
    let others = cases_on(OTHERS, about).prop_map(|case| (case, "duato"));
    let routed = |(case, routing): (Case, &str)| {
        let least = if case.topology.starts_with("torus") && routing == "duato" { 3 } else { 2 };
        let virtual_channels = case.config.virtual_channels.max(least);
        let config = EngineConfig { virtual_channels, ..case.config };
        with_good_exits(Case { routing: routing.to_owned(), config, ..case })
    };
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) };
    proptest!(config, |(case in prop_oneof![3 => cases, 1 => others].prop_map(routed))| compare(&case)?);
}

/// The networks of large machines: worms that go over waypoints pass their targets first, and take other virtual channels behind them.
#[test]
fn machines() {
    const MACHINES: &[&str] = &[
        "dragonfly:p=1,a=2,h=1",
        "dragonfly:p=2,a=2,h=2",
        "dragonfly:p=1,a=4,h=1",
        "hyperx:4,nodes=1",
        "hyperx:3x2,nodes=2",
        "hyperx:2x2x2,nodes=1",
        "slimfly:q=3,nodes=1",
    ];
    let headers = &[Bare, BitString];
    let about = About { kind: Kind::Paths, headers, replications: &[Lockstep], channels: (2, 6) };
    let routings = select(&["minimal", "valiant", "valiant-group", "ugal", "ugal"][..]);
    let cases = (cases_on(MACHINES, about), routings).prop_map(|(case, routing)| {
        let other = routing == "valiant-group" && !case.topology.starts_with("dragonfly");
        let routing = if other { "valiant" } else { routing };
        let virtual_channels =
            if routing == "minimal" { case.config.virtual_channels } else { case.config.virtual_channels.max(4) };
        let config = EngineConfig { virtual_channels, ..case.config };
        with_good_exits(Case { routing: routing.to_owned(), config, ..case })
    });
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) };
    proptest!(config, |(case in cases)| compare(&case)?);
    let trees = About { channels: (1, 1), ..about };
    let trees = (cases_on(&["fattree:k=2,levels=3", "fattree:k=3,levels=2"], trees))
        .prop_map(|case| Case { routing: "nca".to_owned(), ..case });
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) }, |(case in trees)| {
        compare(&case)?;
    });
}

/// The same case over links of several cycles: one number for all, or one for each class of links.
fn over_long_links(case: Case, (all, digits): (Option<u32>, u32)) -> Case {
    let classes = build(case.topology).link_classes() as u32;
    let of_class = |class: u32| 1 + (digits >> (3 * class)) % 8;
    let each: Vec<u32> = (0..classes).map(of_class).collect();
    let delay = all.map_or_else(|| LinkDelay::of_classes(&each).unwrap(), LinkDelay::all);
    Case { config: EngineConfig { delay, ..case.config }, ..case }
}

fn delays() -> impl Strategy<Value = (Option<u32>, u32)> {
    (prop_oneof![Just(None), (1u32..=12).prop_map(Some)], any::<u32>())
}

fn check_long_links(about: About) {
    let number = std::env::var("WORMCAST_CASES").ok().map_or(300, |number| number.parse().expect("a number of cases"));
    let config =
        ProptestConfig { max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::with_cases(number) };
    let cases = (cases(about), delays()).prop_map(|(case, delays)| over_long_links(case, delays));
    proptest!(config, |(case in cases)| compare(&case)?);
}

/// Rules 21 to 25.
#[test]
fn paths_over_long_links() {
    let headers = &[Bare, BitString, AllDestinations];
    let about = About { kind: Kind::Paths, headers, replications: &[Lockstep, Independent], channels: (1, 1) };
    check_long_links(about);
    check_long_links(About { channels: (2, 4), ..about });
    check_long_links(About {
        kind: Kind::Algorithms,
        replications: &[Independent],
        headers: &[Bare, BitString],
        ..about
    });
}

#[test]
fn independent_trees_over_long_links() {
    let headers = &[Bare, BitString];
    for kind in [Kind::Trees, Kind::Mixed, Kind::SpanningTrees] {
        check_long_links(About { kind, headers, replications: &[Independent], channels: (1, 1) });
        check_long_links(About { kind, headers, replications: &[Independent], channels: (2, 4) });
    }
}

/// Mutants: an oracle that takes one thing at once that takes a link's delay disagrees.
#[test]
fn every_part_of_a_delay_counts() {
    let messages = vec![(0, 3, vec![path(0, &[2])]), (0, 3, vec![path(0, &[2])])];
    let config = EngineConfig { delay: LinkDelay::all(3), buffer: 2, ..plain() };
    let case = Case { topology: "mesh:3", routing: "e-cube".to_owned(), config, messages, pause: None };
    compare(&case).unwrap();
    for wrong in [Wrong::Arrivals, Wrong::Slots, Wrong::Releases] {
        assert!(compare_with(&case, Some(wrong)).is_err(), "{wrong:?}");
        let short = Case { config: EngineConfig { delay: LinkDelay::all(1), ..config }, ..case.clone() };
        compare_with(&short, Some(wrong)).unwrap();
    }
}

/// Dragonflies and others, whose classes of links have delays of their own, with their routings.
#[test]
fn machines_with_long_links() {
    const MACHINES: &[&str] =
        &["dragonfly:p=1,a=2,h=1", "dragonfly:p=2,a=2,h=2", "hyperx:3x2,nodes=2", "torus:4x3,nodes=2"];
    let about = About { kind: Kind::Paths, headers: &[Bare], replications: &[Lockstep], channels: (4, 6) };
    let cases = (cases_on(MACHINES, about), delays(), select(&["minimal", "valiant", "ugal"][..]));
    let cases = cases.prop_map(|(case, delays, routing)| {
        let routing = if case.topology.starts_with("torus") { "duato" } else { routing };
        with_good_exits(over_long_links(Case { routing: routing.to_owned(), ..case }, delays))
    });
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) };
    proptest!(config, |(case in cases)| compare(&case)?);
}

/// Adaptive path multicast with an escape: the plans of its algorithm, and any stops in any order.
#[test]
fn adaptive_paths_with_an_escape() {
    const MESHES: &[&str] = &["mesh:4x4", "mesh:5x3", "mesh:3x5", "mesh:3x3", "mesh:2x4"];
    let headers = &[Bare, BitString, AllDestinations];
    let about = About { kind: Kind::Paths, headers, replications: &[Lockstep], channels: (2, 4) };
    let cases = cases_on(MESHES, about)
        .prop_map(|case| with_good_exits(Case { routing: "hamiltonian-adaptive".to_owned(), ..case }));
    let config = || ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) };
    proptest!(config(), |(case in cases)| compare(&case)?);
    let plans = cases_on(MESHES, about).prop_map(|mut case| {
        let network = build(case.topology);
        let adaptive = algorithm_by_name("dual-path-adaptive", &network, &Options::default()).unwrap();
        for (_, _, worms) in &mut case.messages {
            // Whoever the worms of the case visit.
            let all: Vec<NodeId> = worms.iter().flat_map(Worm::visits).collect();
            *worms = adaptive.plan(&Multicast::new(worms[0].from, &all)).worms;
        }
        case.messages.retain(|(_, _, worms)| !worms.is_empty());
        Case { routing: "hamiltonian-adaptive".to_owned(), ..case }
    });
    proptest!(config(), |(case in plans)| compare(&case)?);
}

/// Turn models of 2-D meshes, on one virtual channel or more.
#[test]
fn turn_models() {
    let about = About { kind: Kind::Paths, headers: &[Bare, BitString], replications: &[Lockstep], channels: (1, 3) };
    let cases = (cases_on(&["mesh:4x4", "mesh:5x3", "mesh:3x5", "mesh:3x2 203"], about), select(TURN_MODELS))
        .prop_map(|(case, routing)| Case { routing: routing.to_owned(), ..case });
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) }, |(case in cases)| {
        compare(&case)?;
    });
}

const TURN_MODELS: &[&str] = &["west-first", "north-last", "odd-even"];

#[test]
fn virtual_channels_of_algorithms() {
    let headers = &[Bare, BitString, AllDestinations];
    check(About { kind: Kind::Algorithms, headers, replications: &[Lockstep], channels: (2, 3) });
}

/// Worm 2, triggered by worm 1 at its first stop, is gone and its place taken by worm 3 when worm 1 comes to the node of worm 3.
#[test]
fn a_worm_is_triggered_once() {
    let messages = vec![
        (0, 40, vec![path(2, &[3])]),
        (0, 4, vec![path(0, &[1, 3]), path(1, &[5]).after(0)]),
        (30, 40, vec![path(3, &[7])]),
    ];
    let config = EngineConfig { buffer: 8, ..plain() };
    compare(&Case { topology: "mesh:4x2", routing: "e-cube".to_owned(), config, messages, pause: None }).unwrap();
}

/// A stripped address leaves the stop without a header for a while: the next flit waits for its turn on the link.
#[test]
fn a_header_asks_for_channels_once_it_has_come() {
    let unicasts = [path(0, &[1]), path(0, &[1])];
    let config = EngineConfig {
        ports: Ports { injection: 2, consumption: 2 },
        virtual_channels: 2,
        routing_delay: 0,
        strip_delay: 0,
        header: AllDestinations,
        ..plain()
    };
    let messages = vec![(0, 1, unicasts[..1].to_vec()), (0, 1, unicasts[1..].to_vec())];
    compare(&Case { topology: "mesh:2", routing: "e-cube".to_owned(), config, messages, pause: None }).unwrap();
}
