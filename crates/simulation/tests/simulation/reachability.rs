//! The search for deadlocks that can be reached, against runs: on small networks its answers are the engines'.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Multicast, Options, Plan, Worm, add_plan, algorithm_by_name};
use wormcast_network::{ChannelId, Network, NodeId, Ports, RouterId, TopologySpec};
use wormcast_routing::{
    Branching, Dateline, Dependencies, Duato, ECube, Lanes, MergedClasses, RoutingCapabilities, RoutingRelation,
    VcRange, VirtualChannels,
};
use wormcast_simulation::{
    Cycle, Engine, EngineConfig, FlitEngine, Reachability, ReachabilityVerdict, Sendable, StopReason, Timing,
    WormEngine, Wormhole, search_deadlock,
};

use crate::support::Told;

/// On these virtual channels.
fn on(config: EngineConfig, virtual_channels: u32) -> EngineConfig {
    EngineConfig { virtual_channels, ..config }
}

/// A next channel for each router and target.
#[derive(Debug)]
struct Table {
    network: Arc<Network>,
    next: Vec<Vec<Option<ChannelId>>>,
}

impl RoutingRelation for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        out.extend(self.next[at.index()][target.index()]);
    }
}

/// Numbers from a seed, for networks and tables.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A connected network of a few routers, with a node at each, and ways in it: shortest ones, or any that trees of the targets make.
fn irregular(seed: u64, routers: u64, chords: u64, shortest: bool) -> (Arc<Network>, Table) {
    let mut numbers = Numbers(seed);
    let mut links: Vec<(u32, u32)> = (1..routers).map(|router| (numbers.below(router) as u32, router as u32)).collect();
    for _ in 0..chords {
        let (a, b) = (numbers.below(routers) as u32, numbers.below(routers) as u32);
        let link = (a.min(b), a.max(b));
        if a != b && !links.contains(&link) {
            links.push(link);
        }
    }
    let network = Network::from_links("irregular", routers as usize, &links);
    let mut next = vec![vec![None; routers as usize]; routers as usize];
    for target in network.router_ids() {
        let mut distance = vec![u32::MAX; network.routers()];
        distance[target.index()] = 0;
        let mut reached = vec![target];
        let mut place = 0;
        while place < reached.len() {
            // Out of turn, for ways that are not the shortest.
            let pick = if shortest { place } else { place + numbers.below((reached.len() - place) as u64) as usize };
            reached.swap(place, pick);
            let at = reached[place];
            place += 1;
            let mut outputs: Vec<ChannelId> = network.outputs(at).collect();
            for last in (1..outputs.len()).rev() {
                outputs.swap(last, numbers.below(last as u64 + 1) as usize);
            }
            for channel in outputs {
                let from = network.to(channel);
                if distance[from.index()] == u32::MAX {
                    distance[from.index()] = distance[at.index()] + 1;
                    next[from.index()][target.index()] = Some(network.reverse(channel));
                    reached.push(from);
                }
            }
        }
    }
    (Arc::clone(&network), Table { network, next })
}

fn unicasts(network: &Arc<Network>) -> Vec<Sendable> {
    let pairs = network.node_ids().flat_map(|from| network.node_ids().map(move |to| (from, to)));
    let message = |(from, to): (NodeId, NodeId)| Sendable {
        multicast: Multicast::new(from, &[to]),
        plan: Plan { worms: vec![Worm::path(from, vec![to])] },
    };
    pairs.filter(|(from, to)| from != to).map(message).collect()
}

fn config(network: &Arc<Network>, ports: Ports, buffer: u32, startup: u32, routing_delay: u32) -> EngineConfig {
    let timing = Timing { startup, routing_delay, ..Timing::default() };
    EngineConfig { ports, buffer, ..EngineConfig::new(&Wormhole::default(), &timing, network) }
}

type Sent = (Cycle, usize, u32);

fn play<E: Engine>(mut engine: E, messages: &[Sendable], sent: &[Sent]) -> bool {
    for (number, &(at, message, length)) in (0..).zip(sent) {
        if let StopReason::Deadlock(_) = engine.run_until(at) {
            return true;
        }
        engine.submit(at, number, length, messages[message].plan.clone());
    }
    matches!(engine.run_until(Cycle::MAX), StopReason::Deadlock(_))
}

fn deadlocks(routing: &dyn RoutingRelation, config: EngineConfig, messages: &[Sendable], sent: &[Sent]) -> bool {
    if WormEngine::<()>::objection(&config).is_none() {
        play(WormEngine::new(routing, config, Told::nobody()), messages, sent)
    } else {
        play(FlitEngine::new(routing, config, Told::nobody()), messages, sent)
    }
}

/// Replays a witness in both engines, or in the one that is exact for the settings; `None`: there is none.
fn replays(
    routing: &dyn RoutingRelation,
    config: EngineConfig,
    messages: &[Sendable],
    found: &Reachability,
) -> Option<Vec<Sent>> {
    let ReachabilityVerdict::Reachable(witness) = &found.verdict else { return None };
    let sent: Vec<Sent> = witness.messages.iter().map(|m| (m.at, m.message, m.length)).collect();
    assert!(sent.is_sorted_by_key(|message| message.0));
    if WormEngine::<()>::objection(&config).is_none() {
        assert!(play(WormEngine::new(routing, config, Told::nobody()), messages, &sent), "{witness}");
    }
    assert!(play(FlitEngine::new(routing, config, Told::nobody()), messages, &sent), "{witness}");
    Some(sent)
}

/// Verdicts by name, for figures.
fn name(verdict: &ReachabilityVerdict) -> &'static str {
    match verdict {
        ReachabilityVerdict::Reachable(_) => "reachable",
        ReachabilityVerdict::NotReachable => "not reachable",
        ReachabilityVerdict::NotDecided(_) => "not decided",
    }
}

/// Many bursts of random messages.
fn bursts(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    config: EngineConfig,
    messages: &[Sendable],
    (numbers, count): (&mut Numbers, u32),
) -> Option<Vec<Sent>> {
    (0..count).find_map(|round| {
        let spread = [1, 4, 16, 64][round as usize % 4];
        let longest = [2, 4, 9, 40][(round / 4) as usize % 4];
        let size = 2 + numbers.below(3 * network.nodes() as u64);
        let mut sent: Vec<Sent> = (0..size)
            .map(|_| {
                let message = numbers.below(messages.len() as u64) as usize;
                (numbers.below(spread), message, 1 + numbers.below(longest) as u32)
            })
            .collect();
        sent.sort_unstable();
        deadlocks(routing, config, messages, &sent).then_some(sent)
    })
}

/// What the search said of the cases of one kind.
#[derive(Default)]
struct Tally {
    safe: u32,
    reachable: u32,
    not_reachable: u32,
    not_decided: u32,
}

/// Searches a case, and holds the answer against runs.
fn decide(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    config: EngineConfig,
    messages: &[Sendable],
    (tally, safe, seed): (&mut Tally, bool, u64),
) {
    let found = search_deadlock(routing, &config, messages, 100_000).unwrap();
    replays(routing, config, messages, &found);
    if safe {
        assert_eq!(found.verdict, ReachabilityVerdict::NotReachable, "the static check rules a deadlock out");
        tally.safe += 1;
        return;
    }
    match found.verdict {
        ReachabilityVerdict::Reachable(_) => tally.reachable += 1,
        ReachabilityVerdict::NotDecided(_) => tally.not_decided += 1,
        ReachabilityVerdict::NotReachable => {
            tally.not_reachable += 1;
            let dead = bursts(network, routing, config, messages, (&mut Numbers(seed), 200));
            assert_eq!(dead, None, "{network:?}");
        }
    }
}

/// How many of `kind` there are, for the figures of docs/reachability.md.
fn tell(kind: &str, tally: &Tally) {
    let Tally { safe, reachable, not_reachable, not_decided } = tally;
    println!("{kind}: {safe} safe, {reachable} reachable, {not_reachable} not reachable, {not_decided} not decided");
}

fn cases(default: u64) -> u64 {
    std::env::var("WORMCAST_CASES").map_or(default, |cases| cases.parse().expect("a number of cases"))
}

/// Unicasts by the tables of random small networks.
#[test]
fn unicasts_on_irregular_networks_are_decided() {
    let mut reachable = 0;
    for (routers, chords, shortest) in [(5, 3, true), (6, 4, true), (6, 4, false), (8, 5, true), (8, 5, false)] {
        let mut tally = Tally::default();
        for seed in 0..cases(40) {
            let (network, table) = irregular(seed * 7919 + routers * 31 + chords, routers, chords, shortest);
            let safe = Dependencies::of_relation(&table).deadlock(4).is_none();
            let config = config(&network, Ports { injection: 1, consumption: 4 }, 1, 0, 2);
            decide(&network, &table, config, &unicasts(&network), (&mut tally, safe, seed));
        }
        let ways = if shortest { "shortest ways" } else { "other ways" };
        tell(&format!("{routers} routers, {chords} more links, {ways}"), &tally);
        reachable += tally.reachable;
    }
    assert!(reachable > 0);
}

/// A few multicasts, as trees in lockstep, beside unicasts, on random small networks.
#[test]
fn trees_on_irregular_networks_are_decided() {
    let (mut reachable, mut refined) = (0, 0);
    for (routers, chords, trees) in [(5, 1, 2), (6, 2, 2), (6, 2, 3), (8, 3, 2), (8, 3, 3)] {
        let mut tally = Tally::default();
        for seed in 0..cases(40) {
            let mut numbers = Numbers(seed * 104_729 + routers);
            let (network, _) = irregular(seed * 7919 + routers * 31 + chords, routers, chords, true);
            let options = Options::routed_by("up-down-deterministic").unwrap();
            let made = algorithm_by_name("separate", &network, &options).unwrap();
            let options = Options::routed_by("up-down").unwrap();
            let branching = algorithm_by_name("tree-one", &network, &options).unwrap();
            let mut messages = unicasts(&network);
            let mut dependencies = Dependencies::of_relation(made.routing());
            for _ in 0..trees {
                let source = NodeId::new(numbers.below(routers) as u32);
                let wanted: Vec<NodeId> = network.node_ids().filter(|_| numbers.below(2) == 0).collect();
                let Ok(multicast) = Multicast::checked(source, &wanted) else { continue };
                let plan = branching.plan(&multicast);
                dependencies.add_worms(|worms| add_plan(worms, made.routing(), &plan, Branching::LOCKSTEP)).unwrap();
                messages.push(Sendable { multicast, plan });
            }
            let safe = dependencies.deadlock(4).is_none();
            let config = config(&network, Ports { injection: 4, consumption: 4 }, 1, 0, 2);
            decide(&network, made.routing(), config, &messages, (&mut tally, safe, seed));
        }
        tell(&format!("{routers} routers, {chords} more links, {trees} trees"), &tally);
        reachable += tally.reachable;
        refined += tally.not_reachable;
    }
    assert!(reachable > 0 && refined > 0, "{reachable} {refined}");
}

/// All schedules of three messages on rings of three routers, within a few cycles and up to three flits long: none deadlocks where
/// the search says that none can. Three messages are enough to fill the ring.
#[test]
fn answers_are_those_of_all_schedules_on_rings() {
    let (mut found_dead, mut found_safe) = (0, 0);
    for seed in 0..40 {
        // Three routers in a ring, and any ways: 2^6 tables at most.
        let network = Network::from_links("ring", 3, &[(0, 1), (1, 2), (2, 0)]);
        let mut next = vec![vec![None; 3]; 3];
        for (at, target) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let third = 3 - at - target;
            let through = (seed >> (at * 2 + usize::from(target > third))) & 1 == 1;
            let to = if through { third } else { target };
            next[at][target] = network.channel_between(RouterId::new(at as u32), RouterId::new(to as u32));
        }
        let table = Table { network: Arc::clone(&network), next };
        if !arrives(&network, &table) {
            continue;
        }
        let messages = unicasts(&network);
        let config = config(&network, Ports { injection: 1, consumption: 1 }, 1, 0, 1);
        let found = search_deadlock(&table, &config, &messages, 100_000).unwrap();
        replays(&table, config, &messages, &found);
        let mut dead = false;
        let one = |at: Cycle| (0..messages.len()).flat_map(move |message| [1, 3].map(|length| (at, message, length)));
        'all: for first in one(0) {
            for second in (0..4).flat_map(one) {
                for third in (second.0..4).flat_map(one) {
                    if deadlocks(&table, config, &messages, &[first, second, third]) {
                        dead = true;
                        break 'all;
                    }
                }
            }
        }
        match found.verdict {
            ReachabilityVerdict::Reachable(_) => found_dead += 1,
            ReachabilityVerdict::NotReachable => {
                assert!(!dead, "a schedule of three deadlocks: {table:?}");
                found_safe += 1;
            }
            ReachabilityVerdict::NotDecided(why) => panic!("{why:?} on a ring of three"),
        }
        assert!(!dead || matches!(name(&found.verdict), "reachable"));
    }
    assert!(found_dead > 0 && found_safe > 0, "{found_dead} {found_safe}");
}

fn build(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}

/// Dimension order on tori needs its datelines: with their classes merged there are messages that deadlock in both engines, and the same
/// messages do not with the classes. Each of them is needed.
#[test]
fn tori_deadlock_without_their_datelines() {
    for (topology, safe) in [
        ("torus:3", true),
        ("torus:3x3", true),
        ("torus:4", false),
        ("torus:5", false),
        ("torus:4x3", false),
        ("torus:4x4", false),
        ("torus:5x4", false),
        ("torus:5x5", false),
    ] {
        let torus = build(topology);
        let messages = unicasts(&torus);
        let plain = config(&torus, Ports { injection: 4, consumption: 4 }, 1, 1000, 4);
        let e_cube = ECube::new(&torus).unwrap();
        for balanced in [false, true] {
            let dateline = Dateline::new(&torus, balanced).unwrap();
            let check = |count| Dependencies::of_relation(&dateline).with_virtual_channels(count).deadlock(4);
            assert_eq!((check(1).is_none(), check(2)), (safe, None), "{topology}");
            let merged = MergedClasses::new(&dateline);
            let found = search_deadlock(&merged, &plain, &messages, 1_000_000).unwrap();
            let Some(sent) = replays(&merged, plain, &messages, &found) else {
                assert!(safe && found.verdict == ReachabilityVerdict::NotReachable, "{topology}: {found:?}");
                continue;
            };
            assert!(!safe, "{topology}");
            // Without classes the channels are those of e-cube.
            assert!(deadlocks(&e_cube, plain, &messages, &sent));
            assert!(!deadlocks(&dateline, on(plain, 2), &messages, &sent), "{topology}");
            for without in 0..sent.len() {
                let fewer: Vec<Sent> =
                    sent.iter().enumerate().filter(|&(at, _)| at != without).map(|(_, &one)| one).collect();
                assert!(!deadlocks(&merged, plain, &messages, &fewer), "{topology}: one message too many");
            }
        }
    }
}

/// Two virtual channels that any worm may take are no classes; with a dateline they are, and nothing deadlocks that is in the search's reach.
#[test]
fn virtual_channels_without_classes_do_not_help_a_ring() {
    let ring = build("torus:4");
    let messages = unicasts(&ring);
    let ports = Ports { injection: 4, consumption: 4 };
    let config_of = |network: &Arc<Network>| config(network, ports, 1, 0, 2);
    let config = on(config_of(&ring), 2);
    let found = search_deadlock(&ECube::new(&ring).unwrap(), &config, &messages, 1_000_000).unwrap();
    assert!(replays(&ECube::new(&ring).unwrap(), config, &messages, &found).is_some(), "{found:?}");
    for balanced in [false, true] {
        let dateline = Dateline::new(&ring, balanced).unwrap();
        let found = search_deadlock(&dateline, &config, &messages, 1_000_000).unwrap();
        assert_eq!(found.verdict, ReachabilityVerdict::NotReachable, "{found:?}");
    }
    // Adaptive routing whose escape is one with the other virtual channels.
    for (spec, needed) in [("mesh:3x3", 2), ("torus:4x4", 3)] {
        let network = build(spec);
        let messages = unicasts(&network);
        let duato = Duato::new(&network).unwrap();
        let merged = MergedClasses::new(&duato);
        let config = config_of(&network);
        let found = search_deadlock(&merged, &config, &messages, 1_000_000).unwrap();
        let sent = replays(&merged, config, &messages, &found).unwrap_or_else(|| panic!("{spec}: {found:?}"));
        assert!(!deadlocks(&duato, on(config, needed), &messages, &sent), "{spec}");
    }
    let mesh = build("mesh:2x2");
    let duato = Duato::new(&mesh).unwrap();
    let config = on(config_of(&mesh), 2);
    let found = search_deadlock(&duato, &config, &unicasts(&mesh), 1_000_000).unwrap();
    assert_eq!(found.verdict, ReachabilityVerdict::NotReachable, "{found:?}");
}

/// Shortest ways on a grid, on virtual channels that a seed draws for each router and target.
struct Drawn {
    duato: Duato,
    count: u8,
    seed: u64,
}

impl RoutingRelation for Drawn {
    fn name(&self) -> &'static str {
        "drawn"
    }

    fn network(&self) -> &Arc<Network> {
        self.duato.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let mut lanes = Lanes::new();
        self.lanes(at, arrived, target, self.count, &mut lanes);
        out.clear();
        for (channel, _) in lanes {
            if !out.contains(&channel) {
                out.push(channel);
            }
        }
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Drawn {
    fn needed(&self) -> u8 {
        self.count
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        self.duato.lanes(at, arrived, target, self.count, out);
        for (channel, range) in out {
            let mut numbers =
                Numbers((self.seed * 1009 + u64::from(channel.raw())).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            if numbers.below(4) == 0 {
                *range = VcRange::only(numbers.below(self.count.into()) as u8);
            }
        }
    }
}

/// A virtual channel.
type OnLink = (ChannelId, u32);

/// The check as it would be if a worm held nothing but the virtual channel behind its header.
fn looks_safe_at_headers(
    network: &Network,
    count: u32,
    lanes: impl Fn(RouterId, Option<ChannelId>, RouterId, &mut Lanes),
) -> bool {
    let mut states: Vec<(OnLink, Vec<OnLink>)> = Vec::new();
    let next = |at, arrived, target| {
        let mut all = Lanes::new();
        lanes(at, arrived, target, &mut all);
        all.iter().flat_map(|&(c, range)| range.of(count).map(move |vc| (c, vc))).collect::<Vec<_>>()
    };
    for target in network.router_ids() {
        let mut seen = Vec::new();
        let mut work: Vec<_> = network.router_ids().flat_map(|source| next(source, None, target)).collect();
        while let Some(held) = work.pop() {
            if network.to(held.0) != target && !seen.contains(&held) {
                seen.push(held);
                let all = next(network.to(held.0), Some(held.0), target);
                work.extend(&all);
                states.push((held, all));
            }
        }
    }
    let mut stuck: Vec<OnLink> = states.iter().map(|state| state.0).collect();
    loop {
        let blocked = |held: &OnLink| {
            states.iter().any(|(other, all)| other == held && all.iter().all(|next| stuck.contains(next)))
        };
        let still: Vec<_> = stuck.iter().filter(|held| blocked(held)).copied().collect();
        if still.len() == stuck.len() {
            return stuck.is_empty();
        }
        stuck = still;
    }
}

/// What the check of classes calls safe is not reachable, of unicasts and of paths with several stops.
#[test]
fn the_check_of_classes_misses_no_deadlock() {
    let (mut safe_cases, mut reachable) = ([0; 2], [0; 2]);
    for (topology, count) in [("mesh:2x2", 2), ("mesh:3x2", 2), ("mesh:3x3", 2), ("torus:4", 3), ("torus:3x3", 3)] {
        for several_stops in [false, true] {
            let mut tally = Tally::default();
            for seed in 0..cases(12) {
                let network = build(topology);
                let routing = Drawn { duato: Duato::new(&network).unwrap(), count, seed };
                let mut numbers = Numbers(seed * 7919 + u64::from(several_stops));
                let consumption = 1 + (seed % 2) as u32;
                let config = on(config(&network, Ports { injection: 4, consumption }, 1, 0, 2), count.into());
                let mut dependencies = Dependencies::of_relation(&routing).with_virtual_channels(count.into());
                let mut messages = unicasts(&network);
                for _ in 0..if several_stops { 4 } else { 0 } {
                    let mut nodes: Vec<NodeId> = network.node_ids().collect();
                    let source = nodes.remove(numbers.below(nodes.len() as u64) as usize);
                    let stops: Vec<NodeId> = (0..2 + numbers.below(2))
                        .map(|_| nodes.remove(numbers.below(nodes.len() as u64) as usize))
                        .collect();
                    let plan = Plan { worms: vec![Worm::path(source, stops.clone())] };
                    dependencies.add_worms(|worms| add_plan(worms, &routing, &plan, Branching::LOCKSTEP)).unwrap();
                    messages.push(Sendable { multicast: Multicast::new(source, &stops), plan });
                }
                let safe = dependencies.deadlock(consumption).is_none();
                let found = search_deadlock(&routing, &config, &messages, 20_000).unwrap();
                let reached = replays(&routing, config, &messages, &found).is_some();
                assert!(!(safe && reached), "{topology}, seed {seed}, {several_stops}: {found:?}");
                match found.verdict {
                    _ if safe => tally.safe += 1,
                    ReachabilityVerdict::Reachable(_) => tally.reachable += 1,
                    ReachabilityVerdict::NotReachable => tally.not_reachable += 1,
                    ReachabilityVerdict::NotDecided(_) => tally.not_decided += 1,
                }
            }
            tell(&format!("{topology}, {}", if several_stops { "paths" } else { "unicasts" }), &tally);
            safe_cases[usize::from(several_stops)] += tally.safe;
            reachable[usize::from(several_stops)] += tally.reachable;
        }
    }
    assert!(safe_cases.iter().chain(&reachable).all(|&count| count > 0), "{safe_cases:?} {reachable:?}");
}

/// Worms from the even routers of a ring of six to the router three hops on. From the first one on, they may go on along the ring, or beside it, by a router where nobody else comes.
///
/// On virtual channel 0. All others go along a tree, on virtual channel 1.
struct Bypass {
    network: Arc<Network>,
    tree: Table,
}

impl Bypass {
    fn new() -> Self {
        let ring = (0..6).map(|router| (router, (router + 1) % 6));
        let beside = [1, 3, 5].into_iter().zip(6..).flat_map(|(from, by)| [(from, by), (by, (from + 2) % 6)]);
        let network = Network::from_links("bypass", 9, &ring.chain(beside).collect::<Vec<_>>());
        // Away from router 0 and back to it, by the routers of smallest number.
        let mut parent = [None; 9];
        let mut reached = vec![0];
        let mut place = 0;
        while place < reached.len() {
            for channel in network.outputs(RouterId::new(reached[place])) {
                let to = network.to(channel).raw();
                if !reached.contains(&to) {
                    parent[to as usize] = Some(network.reverse(channel));
                    reached.push(to);
                }
            }
            place += 1;
        }
        let up = |router: usize| std::iter::successors(Some(router), |&at| Some(network.to(parent[at]?).index()));
        let next = |at: usize, target: usize| match up(target).take_while(|&below| below != at).last() {
            Some(below) if up(target).any(|above| above == at) => parent[below].map(|channel| network.reverse(channel)),
            _ => parent[at],
        };
        let next = (0..9).map(|at| (0..9).map(|target| next(at, target)).collect()).collect();
        Self { tree: Table { network: Arc::clone(&network), next }, network }
    }
}

impl RoutingRelation for Bypass {
    fn name(&self) -> &'static str {
        "bypass"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let mut lanes = Lanes::new();
        self.lanes(at, arrived, target, 2, &mut lanes);
        out.clear();
        out.extend(lanes.into_iter().map(|lane| lane.0));
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Bypass {
    fn needed(&self) -> u8 {
        2
    }

    fn lanes(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        let (from, to) = (at.raw(), target.raw());
        let between = |a, b| self.network.channel_between(RouterId::new(a), RouterId::new(b)).unwrap();
        let ring = |ahead: u32| (to + 6 - ahead) % 6;
        out.clear();
        match to {
            1 | 3 | 5 if from == ring(3) => out.push((between(from, ring(2)), VcRange::only(0))),
            1 | 3 | 5 if from == ring(2) => {
                out.push((between(from, ring(1)), VcRange::only(0)));
                out.push((between(from, 6 + from / 2), VcRange::only(0)));
            }
            1 | 3 | 5 if from == ring(1) || from == 6 + ring(2) / 2 => out.push((between(from, to), VcRange::only(0))),
            _ => out.extend(self.tree.next[at.index()][target.index()].map(|way| (way, VcRange::only(1)))),
        }
    }
}

/// Long worms hold virtual channels behind which there was another way: they deadlock here, though no header that stands right behind one of these would have to wait.
#[test]
fn what_worms_hold_behind_a_choice_counts() {
    let routing = Bypass::new();
    let network = Arc::clone(&routing.network);
    let lanes = |at, arrived, target: RouterId, out: &mut Lanes| routing.lanes(at, arrived, target, 2, out);
    assert!(looks_safe_at_headers(&network, 2, lanes));
    assert!(Dependencies::of_relation(&routing).with_virtual_channels(2).deadlock(4).is_some());
    let node = NodeId::new;
    let message = |(from, to)| Sendable {
        multicast: Multicast::new(node(from), &[node(to)]),
        plan: Plan { worms: vec![Worm::path(node(from), vec![node(to)])] },
    };
    let messages: Vec<Sendable> = [(0, 3), (2, 5), (4, 1)].into_iter().map(message).collect();
    let config = on(config(&network, Ports { injection: 1, consumption: 1 }, 1, 0, 2), 2);
    let found = search_deadlock(&routing, &config, &messages, 10_000).unwrap();
    let sent = replays(&routing, config, &messages, &found).expect("each holds what another waits for");
    assert_eq!(sent.len(), 3);
    // Worms of one flit hold nothing behind their headers.
    let short: Vec<Sent> = sent.iter().map(|&(at, message, _)| (at, message, 1)).collect();
    assert!(!deadlocks(&routing, config, &messages, &short));
}

/// Whether ways lead to every target.
fn arrives(network: &Arc<Network>, table: &Table) -> bool {
    network.router_ids().all(|target| {
        network.router_ids().all(|from| {
            let mut at = from;
            (0..=network.routers()).any(|_| {
                let there = at == target;
                if let Some(channel) = table.next[at.index()][target.index()].filter(|_| !there) {
                    at = network.to(channel);
                }
                there
            })
        })
    })
}

/// All messages of an algorithm.
fn multicasts(network: &Arc<Network>, algorithm: &dyn Algorithm) -> Vec<Sendable> {
    let mut messages = Vec::new();
    for source in network.node_ids() {
        let others: Vec<NodeId> = network.node_ids().filter(|&node| node != source).collect();
        for set in 1u32..1 << others.len() {
            let chosen = others.iter().enumerate().filter(|&(place, _)| set & 1 << place != 0);
            let multicast = Multicast::from_vec(source, chosen.map(|(_, &node)| node).collect());
            messages.push(Sendable { plan: algorithm.plan(&multicast), multicast });
        }
    }
    messages
}

/// Paths with few consumption channels and trees in lockstep, each with all that they may ever send: where nothing is reachable no burst
/// deadlocks, and there are networks of both kinds.
#[test]
fn algorithms_are_decided_as_runs_end() {
    let cases: [(&str, &str, u32, u32); 8] = [
        ("mesh:3x2", "dual-path", 1, 1),
        ("mesh:3x2", "dual-path", 2, 1),
        ("mesh:2x2", "dual-path", 1, 1),
        ("mesh:3", "tree-one", 4, 1),
        ("mesh:4", "tree-one", 1, 1),
        ("mesh:4", "tree-one", 4, 2),
        ("random:nodes=5,degree=2.4,seed=1", "tree-zero", 4, 1),
        ("ring:4", "tree-one", 4, 1),
    ];
    let mut verdicts = std::collections::BTreeSet::new();
    for (topology, algorithm, consumption, buffer) in cases {
        let Ok(spec) = topology.parse::<wormcast_network::TopologySpec>() else { continue };
        let network = spec.build().unwrap();
        let made = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
        let messages = multicasts(&network, made.as_ref());
        let config = config(&network, Ports { injection: 1, consumption }, buffer, 0, 1);
        let begun = std::time::Instant::now();
        let found = search_deadlock(made.routing(), &config, &messages, 300_000).unwrap();
        println!("{topology} {algorithm} {consumption} {buffer}: {} {:?}", name(&found.verdict), begun.elapsed());
        replays(made.routing(), config, &messages, &found);
        let safe = made.dependencies_with(config.branching()).deadlock(consumption).is_none();
        assert!(!safe || found.verdict == ReachabilityVerdict::NotReachable);
        if found.verdict == ReachabilityVerdict::NotReachable {
            let dead = bursts(&network, made.routing(), config, &messages, (&mut Numbers(7), 400));
            assert_eq!(dead, None, "{topology} {algorithm}");
        }
        verdicts.insert(name(&found.verdict));
    }
    assert!(verdicts.contains("reachable") && verdicts.contains("not reachable"), "{verdicts:?}");
}
