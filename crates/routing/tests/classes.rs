//! Routings that divide virtual channels, and turn models: what they permit, and whether worms can block each other forever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Network, RouterId, TopologySpec};
use wormcast_routing::{
    Dependencies, Duato, ECube, Lanes, OddEven, RoutingCapabilities, RoutingOptions, RoutingRelation, VcRange,
    VirtualChannels, Waypoints, hamiltonian_label, routing_by_name, survey, witness_in_classes,
};

fn build(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}

fn made(name: &str, network: &Arc<Network>) -> Box<dyn RoutingRelation> {
    routing_by_name(name, network, &RoutingOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn is_safe(relation: &dyn RoutingRelation, virtual_channels: u32) -> bool {
    Dependencies::of_relation(relation).with_virtual_channels(virtual_channels).deadlock(1).is_none()
}

/// A relation from a function that gives what headers may take.
struct Made<F> {
    network: Arc<Network>,
    needed: u8,
    lanes: F,
}

impl<F: Fn(RouterId, Option<ChannelId>, RouterId, &mut Lanes) + Send + Sync> RoutingRelation for Made<F> {
    fn name(&self) -> &'static str {
        "made"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let mut lanes = Vec::new();
        (self.lanes)(at, arrived, target, &mut lanes);
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

impl<F: Fn(RouterId, Option<ChannelId>, RouterId, &mut Lanes) + Send + Sync> VirtualChannels for Made<F> {
    fn needed(&self) -> u8 {
        self.needed
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        out.clear();
        (self.lanes)(at, arrived, target, out);
    }
}

/// What a header may take by a relation that divides `count` virtual channels.
fn lanes_of(relation: &dyn RoutingRelation, count: u8) -> impl Fn(RouterId, Option<ChannelId>, RouterId, &mut Lanes) {
    let division = relation.capabilities().virtual_channels.unwrap();
    move |at, arrived, target, out: &mut Lanes| division.lanes(at, arrived, target, count, out)
}

/// A virtual channel of a link.
type Held = (ChannelId, u32);

/// All that a worm may hold and take next, from every source to every target, and whether it is blocked forever: the definition, as literally as it can be put. A worm holds a virtual channel
/// while its header stands anywhere further on.
fn naively_safe(relation: &dyn RoutingRelation, count: u8) -> bool {
    let network = relation.network();
    let mut states: BTreeMap<(Held, RouterId), BTreeSet<Held>> = BTreeMap::new();
    let lanes_of = lanes_of(relation, count);
    let next = |at, arrived, target| {
        let mut lanes = Vec::new();
        lanes_of(at, arrived, target, &mut lanes);
        lanes.iter().flat_map(|&(c, range)| range.of(count.into()).map(move |vc| (c, vc))).collect::<BTreeSet<_>>()
    };
    for source in network.router_ids() {
        for target in network.router_ids().filter(|&target| target != source) {
            let mut work: Vec<_> = next(source, None, target).into_iter().collect();
            while let Some(held) = work.pop() {
                let at = network.to(held.0);
                if at != target && !states.contains_key(&(held, target)) {
                    let all = next(at, Some(held.0), target);
                    assert!(!all.is_empty());
                    work.extend(&all);
                    states.insert((held, target), all);
                }
            }
        }
    }
    let mut stuck: BTreeSet<(ChannelId, u32)> = states.keys().map(|state| state.0).collect();
    loop {
        let is_blocked = |&held: &&Held| {
            network.router_ids().any(|target| {
                let (mut seen, mut work) = (BTreeSet::from([*held]), vec![*held]);
                while let Some(header) = work.pop() {
                    let Some(all) = states.get(&(header, target)) else { continue };
                    if all.iter().all(|next| stuck.contains(next)) {
                        return true;
                    }
                    work.extend(all.iter().filter(|next| seen.insert(**next)));
                }
                false
            })
        };
        let still: BTreeSet<_> = stuck.iter().filter(is_blocked).copied().collect();
        if still.len() == stuck.len() {
            return stuck.is_empty();
        }
        stuck = still;
    }
}

#[test]
fn classes_are_safe_and_needed() {
    for (name, networks) in [
        ("dateline", &["torus:5", "torus:4x4", "torus:5x3", "torus:2x4", "torus:4x3x4"][..]),
        ("dateline-balanced", &["torus:5", "torus:4x4", "torus:6x5", "torus:7", "torus:8", "torus:4x3x4"]),
        ("duato", &["mesh:4x4", "mesh:3x3x3", "torus:5", "torus:4x4", "torus:5x3", "torus:2x4", "hypercube:4"]),
        ("hamiltonian-adaptive", &["mesh:3x3", "mesh:4x4", "mesh:3x5", "mesh:5x3"]),
    ] {
        for spec in networks {
            let network = build(spec);
            let relation = made(name, &network);
            let needed = relation.capabilities().virtual_channels.unwrap().needed();
            for count in needed..=needed + 2 {
                assert!(is_safe(&*relation, count.into()), "{name} on {spec} with {count}");
            }
            for count in 1..needed {
                assert!(!is_safe(&*relation, count.into()), "{name} on {spec} with {count}");
            }
            let found = survey(&*relation);
            let distances = network.distances();
            assert!(found.connected);
            assert_eq!(found.diameter, distances.diameter, "{name} on {spec}");
            assert!((found.average_distance.unwrap() - distances.average.unwrap()).abs() < 1e-12);
        }
    }
}

/// The channels of what a header may take are the candidates, each range lies within what links have, and adaptive virtual channels come before the escape.
#[test]
fn lanes_are_candidates() {
    for (name, spec) in [
        ("dateline", "torus:5x4"),
        ("dateline-balanced", "torus:5x4"),
        ("duato", "torus:5x4"),
        ("duato", "mesh:4x3"),
        ("duato", "hypercube:4"),
        ("hamiltonian-adaptive", "mesh:4x3"),
    ] {
        let network = build(spec);
        let relation = made(name, &network);
        let division = relation.capabilities().virtual_channels.unwrap();
        let (mut lanes, mut candidates) = (Vec::new(), Vec::new());
        for count in division.needed()..6 {
            for target in network.router_ids() {
                for at in network.router_ids() {
                    for arrived in network.inputs(at).map(Some).chain([None]) {
                        division.lanes(at, arrived, target, count, &mut lanes);
                        relation.candidates(at, arrived, target, &mut candidates);
                        assert_eq!(candidates.is_empty(), at == target);
                        let channels: BTreeSet<ChannelId> = lanes.iter().map(|lane| lane.0).collect();
                        assert_eq!(channels, candidates.iter().copied().collect(), "{name} on {spec}");
                        assert_eq!(lanes.first().map(|lane| lane.0), candidates.first().copied());
                        for &(channel, range) in &lanes {
                            assert!(network.from(channel) == at && range.first <= range.last && range.last < count);
                        }
                        if name == "duato" && at != target {
                            let (escape, adaptive) = lanes.split_last().unwrap();
                            assert!(escape.1.last + 1 < division.needed(), "one escape, and that last");
                            assert!(adaptive.iter().all(|lane| lane.1.first + 1 == division.needed()));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_check_agrees_with_the_definition() {
    for (name, spec, count) in [
        ("dateline", "torus:5", 2),
        ("dateline", "torus:4x3", 3),
        ("dateline-balanced", "torus:6", 2),
        ("dateline-balanced", "torus:4x3", 3),
        ("duato", "mesh:3x3", 2),
        ("duato", "torus:5", 3),
        ("duato", "torus:4x3", 3),
        ("hamiltonian-adaptive", "mesh:3x3", 2),
        ("hamiltonian-adaptive", "mesh:3x4", 2),
    ] {
        let network = build(spec);
        let relation = made(name, &network);
        assert!(naively_safe(&*relation, count) && is_safe(&*relation, count.into()), "{name} on {spec}");
        // The same with one virtual channel taken from somebody: classes at random.
        let mut verdicts = [0; 2];
        for seed in 0..40u64 {
            let lanes = lanes_of(&*relation, count);
            let changed = |at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Lanes| {
                lanes(at, arrived, target, out);
                for (channel, range) in out {
                    let mixed = (seed * 31 + u64::from(channel.raw())).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    if mixed % 4 == 0 {
                        *range = VcRange::only((mixed / 4 % u64::from(count)) as u8);
                    }
                }
            };
            let changed = Made { network: Arc::clone(&network), needed: count, lanes: changed };
            let safe = is_safe(&changed, count.into());
            assert_eq!(safe, naively_safe(&changed, count), "{name} on {spec}, seed {seed}");
            verdicts[usize::from(safe)] += 1;
        }
        assert!(verdicts[0] > 0, "{name} on {spec}: {verdicts:?}");
    }
}

/// What does not hold: an escape on a torus without a dateline, adaptive routing without an escape, one that headers ask for only where they may not be, and balance for worms
/// that have crossed the dateline.
#[test]
fn mutants_are_rejected() {
    let torus = build("torus:5x4");
    let duato = Duato::new(&torus).unwrap();
    let mutant = |needed, change: &(dyn Fn(&mut Lanes) + Sync)| {
        let lanes = lanes_of(&duato, 3);
        let lanes = move |at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Lanes| {
            lanes(at, arrived, target, out);
            change(out);
        };
        is_safe(&Made { network: Arc::clone(&torus), needed, lanes }, needed.into())
    };
    assert!(mutant(3, &|_| ()));
    let is_adaptive = |range: VcRange| range.first == 2;
    assert!(!mutant(3, &|lanes| {
        lanes.iter_mut().filter(|lane| !is_adaptive(lane.1)).for_each(|lane| lane.1 = VcRange::only(0));
    }));
    assert!(!mutant(3, &|lanes| lanes.retain(|lane| is_adaptive(lane.1))));
    // Without the adaptive ones it is the dateline again.
    assert!(mutant(3, &|lanes| lanes.retain(|lane| !is_adaptive(lane.1))));
    let ring = build("torus:7");
    let e_cube = ECube::new(&ring).unwrap();
    let crosses = |at: RouterId, channel: ChannelId, target: RouterId| match ring.heading(channel).unwrap().1 {
        Direction::Positive => at > target,
        Direction::Negative => at < target,
    };
    for (after, safe) in [(VcRange::only(1), true), (VcRange { first: 0, last: 1 }, true), (VcRange::only(0), false)] {
        let lanes = |at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Lanes| {
            let mut ways = Vec::new();
            e_cube.candidates(at, arrived, target, &mut ways);
            let class = |c| if crosses(at, c, target) { VcRange::only(0) } else { after };
            out.extend(ways.into_iter().map(|c| (c, class(c))));
        };
        let relation = Made { network: Arc::clone(&ring), needed: 2, lanes };
        // A header that may take either class takes the one that is free, so even those that have crossed may.
        assert_eq!((is_safe(&relation, 2), naively_safe(&relation, 2)), (safe, safe), "{after:?}");
    }
}

/// Path worms that stop in the order of labels, by the definition: every way of a header through every list of stops, and what the worm holds on it.
///
/// Another check than the library's in all but the definition: worms are followed one by one, with all that they hold, and consumption channels are counted for each header that stands at a router.
struct Naive<'a> {
    relation: &'a dyn RoutingRelation,
    count: u8,
    /// What was held when a header asked for something: the virtual channels, that behind the header last, and all that it asked for; whether it delivers there.
    asked: BTreeSet<(Vec<Held>, BTreeSet<Held>, bool)>,
}

impl Naive<'_> {
    fn follow(&mut self, held: &mut Vec<Held>, at: RouterId, stops: &[RouterId]) {
        let delivers = stops[0] == at;
        let later = if delivers { &stops[1..] } else { stops };
        let Some(&target) = later.first() else {
            self.asked.insert((held.clone(), BTreeSet::new(), true));
            return;
        };
        let mut lanes = Vec::new();
        lanes_of(self.relation, self.count)(at, held.last().map(|held| held.0), target, &mut lanes);
        let all: BTreeSet<Held> =
            lanes.iter().flat_map(|&(c, range)| range.of(self.count.into()).map(move |vc| (c, vc))).collect();
        assert!(!all.is_empty());
        self.asked.insert((held.clone(), all.clone(), delivers));
        for next in all {
            held.push(next);
            self.follow(held, self.relation.network().to(next.0), later);
            held.pop();
        }
    }

    fn is_safe(&self, ports: usize) -> bool {
        let network = self.relation.network();
        let mut stuck: BTreeSet<Held> = self.asked.iter().flat_map(|(held, ..)| held).copied().collect();
        loop {
            let is_blocked = |(held, all, _): &&(Vec<Held>, BTreeSet<Held>, bool)| {
                let Some(&last) = held.last() else { return false };
                let at = network.to(last.0);
                let others = self.asked.iter().filter(|(other, next, delivers)| {
                    let there =
                        other.last().is_some_and(|&by| by != last && network.to(by.0) == at && stuck.contains(&by));
                    *delivers && there && next.iter().any(|next| stuck.contains(next))
                });
                let (mut by, mut to) = (BTreeSet::<Held>::new(), BTreeSet::<Held>::new());
                for (other, next, _) in others {
                    by.insert(other[other.len() - 1]);
                    to.extend(next.iter().filter(|next| stuck.contains(next)));
                }
                !all.is_empty() && all.iter().all(|next| stuck.contains(next)) || by.len().min(to.len()) >= ports
            };
            let still: BTreeSet<Held> =
                self.asked.iter().filter(is_blocked).flat_map(|(held, ..)| held).copied().collect();
            let still: BTreeSet<Held> = still.intersection(&stuck).copied().collect();
            if still.len() == stuck.len() {
                return stuck.is_empty();
            }
            stuck = still;
        }
    }
}

/// All stops in the order of labels, rising and falling.
fn orders(network: &Network) -> Vec<Vec<RouterId>> {
    let grid = network.shape().mesh().unwrap();
    let mut rising: Vec<RouterId> = network.router_ids().collect();
    rising.sort_by_key(|&router| hamiltonian_label(grid, router));
    let falling = rising.iter().rev().copied().collect();
    vec![rising, falling]
}

/// What the check says of path worms with several stops is the definition: of adaptive label routing, and with classes at random, for all numbers of consumption channels that matter.
#[test]
fn stops_of_paths_count_by_the_definition() {
    let (mut verdicts, mut by_ports) = ([0; 2], 0);
    for spec in ["mesh:2x2", "mesh:3x2", "mesh:2x3"] {
        let network = build(spec);
        let relation = made("hamiltonian-adaptive", &network);
        for seed in 0..12u64 {
            let lanes = lanes_of(&*relation, 2);
            let changed = |at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Lanes| {
                lanes(at, arrived, target, out);
                for (channel, range) in out.iter_mut().filter(|_| seed > 0) {
                    let mixed = (seed * 31 + u64::from(channel.raw())).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                    if mixed % 3 == 0 {
                        *range = VcRange::only((mixed / 3 % 2) as u8);
                    }
                }
            };
            let changed = Made { network: Arc::clone(&network), needed: 2, lanes: changed };
            let mut naive = Naive { relation: &changed, count: 2, asked: BTreeSet::new() };
            for order in orders(&network) {
                for (place, &source) in order.iter().enumerate() {
                    let later = &order[place + 1..];
                    for set in 1u32..1 << later.len() {
                        let stops: Vec<RouterId> = later
                            .iter()
                            .enumerate()
                            .filter(|&(at, _)| set >> at & 1 == 1)
                            .map(|(_, &stop)| stop)
                            .collect();
                        naive.follow(&mut Vec::new(), source, &stops);
                    }
                }
            }
            let dependencies = Dependencies::of_ordered_paths(&changed, orders(&network)).with_virtual_channels(2);
            let mut before = false;
            for ports in 1..=6 {
                let safe = dependencies.deadlock(ports as u32).is_none();
                assert_eq!(safe, naive.is_safe(ports), "{spec}, seed {seed}, {ports}");
                assert!(safe || !before, "more consumption channels do no harm");
                by_ports += u32::from(safe && !before && ports > 1);
                before = safe;
                verdicts[usize::from(safe)] += 1;
            }
        }
    }
    assert!(verdicts[0] > 0 && verdicts[1] > 0 && by_ports > 0, "{verdicts:?} {by_ports}");
}

const TURN_MODELS: [&str; 3] = ["west-first", "north-last", "odd-even"];

#[test]
fn turn_models_are_safe_and_take_shortest_ways() {
    for spec in ["mesh:2x2", "mesh:4x4", "mesh:5x3", "mesh:3x5", "mesh:6x6", "mesh:1x4", "mesh:4x1"] {
        let mesh = build(spec);
        let distances = mesh.distances();
        for name in TURN_MODELS {
            let relation = made(name, &mesh);
            assert!(is_safe(&*relation, 1), "{name} on {spec}");
            let found = survey(&*relation);
            assert_eq!((found.connected, found.diameter), (true, distances.diameter), "{name} on {spec}");
            assert!((found.average_distance.unwrap() - distances.average.unwrap()).abs() < 1e-12);
        }
    }
    for spec in ["torus:4x4", "mesh:4", "mesh:3x3x3", "hypercube:2"] {
        let error = routing_by_name("odd-even", &build(spec), &RoutingOptions::default()).err().unwrap();
        assert!(error.to_string().starts_with("`odd-even` needs a 2-D mesh, but "), "{error}");
    }
}

/// A dimension, and which way along it.
type Heading = (usize, Direction);

/// Whether a turn in a column is permitted.
type Permits = fn(u32, Heading, Heading) -> bool;

/// The turns that worms take, as (from, to) in the four directions, by column.
fn turns(relation: &dyn RoutingRelation) -> BTreeSet<(u32, Heading, Heading)> {
    let mesh = relation.network();
    let mut turns = BTreeSet::new();
    let mut candidates = Vec::new();
    for target in mesh.router_ids() {
        let mut work: Vec<ChannelId> = Vec::new();
        let mut seen = BTreeSet::new();
        for source in mesh.router_ids() {
            relation.candidates(source, None, target, &mut candidates);
            work.extend(&candidates);
        }
        while let Some(held) = work.pop() {
            if !seen.insert(held) {
                continue;
            }
            let at = mesh.to(held);
            relation.candidates(at, Some(held), target, &mut candidates);
            for &next in &candidates {
                let (from, to) = (mesh.heading(held).unwrap(), mesh.heading(next).unwrap());
                if from != to {
                    turns.insert((mesh.shape().mesh().unwrap().coordinate(at.index(), 0), from, to));
                }
                work.push(next);
            }
        }
    }
    turns
}

const EAST: Heading = (0, Direction::Positive);
const WEST: Heading = (0, Direction::Negative);
const NORTH: Heading = (1, Direction::Positive);
const SOUTH: Heading = (1, Direction::Negative);

/// Glass and Ni prohibit two turns each, Chiu four that depend on the column; all others are taken.
#[test]
fn each_turn_model_prohibits_its_own_turns_only() {
    let mesh = build("mesh:6x6");
    let all = || {
        let vertical = [NORTH, SOUTH];
        let both = vertical.into_iter().flat_map(|v| [EAST, WEST].into_iter().flat_map(move |h| [(v, h), (h, v)]));
        both.flat_map(|(from, to)| (0..6).map(move |column| (column, from, to)))
    };
    let permitted: [(&str, Permits); 3] = [
        ("west-first", |_, _, to| to != WEST),
        ("north-last", |_, from, _| from != NORTH),
        ("odd-even", |column, from, to| if column % 2 == 0 { from != EAST } else { to != WEST }),
    ];
    for (name, permits) in permitted {
        // At the borders some turns lead out of the mesh, or come from there.
        let possible = |&(column, from, to): &(u32, _, _)| {
            let comes = if from == EAST { column > 0 } else { from != WEST || column < 5 };
            let goes = if to == EAST { column < 5 } else { to != WEST || column > 0 };
            comes && goes
        };
        let expected: BTreeSet<_> = all().filter(possible).filter(|&(c, from, to)| permits(c, from, to)).collect();
        assert_eq!(turns(&*made(name, &mesh)), expected, "{name}");
    }
}

/// Any one further turn lets worms block each other.
#[test]
fn a_turn_too_many_is_rejected() {
    let mesh = build("mesh:4x4");
    let duato = Duato::new(&mesh).unwrap();
    for name in TURN_MODELS {
        let own = made(name, &mesh);
        for extra in [0, 1] {
            let lanes = |at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Lanes| {
                let mut ways = Vec::new();
                own.candidates(at, arrived, target, &mut ways);
                if ways.is_empty() {
                    // Where a model would never lead.
                    duato.candidates(at, arrived, target, &mut ways);
                }
                let mut all = Vec::new();
                duato.candidates(at, arrived, target, &mut all);
                let may = |c: &ChannelId| match (name, arrived.map(|c| mesh.heading(c).unwrap())) {
                    ("west-first", Some(from)) => {
                        mesh.heading(*c) == Some(WEST) && from == [NORTH, SOUTH][extra] || ways.contains(c)
                    }
                    ("west-first", None) | ("odd-even", _) => true,
                    ("north-last", _) if mesh.heading(*c) == Some(NORTH) => true,
                    ("north-last", Some(from)) if from == NORTH => mesh.heading(*c) == Some([EAST, WEST][extra]),
                    _ => ways.contains(c),
                };
                let chosen: Vec<ChannelId> = all.iter().copied().filter(may).collect();
                out.extend(if chosen.is_empty() { ways } else { chosen }.into_iter().map(|c| (c, VcRange::ANY)));
            };
            let relation = Made { network: Arc::clone(&mesh), needed: 1, lanes };
            assert!(!is_safe(&relation, 1), "{name} with turn {extra}");
        }
    }
}

/// Chiu's function, which asks for the source, offers the same channels.
#[test]
fn odd_even_is_as_its_source_has_it() {
    let mesh = build("mesh:6x5");
    let odd_even = OddEven::new(&mesh).unwrap();
    let coordinates = |router: RouterId| (router.index() as i32 % 6, router.index() as i32 / 6);
    let mut candidates = Vec::new();
    for source in mesh.router_ids() {
        for target in mesh.router_ids() {
            let mut work = vec![(source, None)];
            let mut seen = BTreeSet::new();
            while let Some((at, arrived)) = work.pop() {
                if !seen.insert((at, arrived)) {
                    continue;
                }
                odd_even.candidates(at, arrived, target, &mut candidates);
                let ((cx, cy), (dx, dy), (sx, _)) = (coordinates(at), coordinates(target), coordinates(source));
                let (e0, e1) = (dx - cx, dy - cy);
                let vertical = if e1 > 0 { NORTH } else { SOUTH };
                let mut available = BTreeSet::new();
                if e0 == 0 && e1 != 0 {
                    available.insert(vertical);
                } else if e0 > 0 && e1 == 0 {
                    available.insert(EAST);
                } else if e0 > 0 {
                    if cx % 2 == 1 || cx == sx {
                        available.insert(vertical);
                    }
                    if dx % 2 == 1 || e0 != 1 {
                        available.insert(EAST);
                    }
                } else if e0 < 0 {
                    available.insert(WEST);
                    if cx % 2 == 0 && e1 != 0 {
                        available.insert(vertical);
                    }
                }
                let given: BTreeSet<_> = candidates.iter().map(|&c| mesh.heading(c).unwrap()).collect();
                assert_eq!(given, available, "from {source:?} at {at:?} to {target:?}");
                work.extend(candidates.iter().map(|&c| (mesh.to(c), Some(c))));
            }
        }
    }
}

/// The classes of a dragonfly: over a router 4, over a group 3; stepping the class at links between groups alone, or as `BookSim`'s UGAL has it with 3, is cyclic.
#[test]
fn classes_of_machines_are_told_apart() {
    for (name, spec, needed) in [
        ("minimal", "dragonfly:p=1,a=4,h=2", 2),
        ("minimal", "dragonfly:p=2,a=3,h=1", 2),
        ("minimal", "hyperx:4x4,nodes=1", 1),
        ("minimal", "hyperx:3x2x3,nodes=2", 1),
        ("minimal", "slimfly:q=5,nodes=1", 2),
        ("minimal", "slimfly:q=7,nodes=1", 2),
        ("valiant", "dragonfly:p=1,a=4,h=2", 4),
        ("valiant", "hyperx:4x4,nodes=1", 2),
        ("valiant", "hyperx:3x3x3,nodes=1", 2),
        ("valiant", "slimfly:q=5,nodes=1", 4),
        ("valiant-group", "dragonfly:p=1,a=4,h=2", 3),
        ("valiant-group", "dragonfly:p=1,a=3,h=2", 3),
        ("ugal", "dragonfly:p=1,a=4,h=2", 4),
        ("ugal", "hyperx:4x4,nodes=1", 2),
        ("ugal", "slimfly:q=5,nodes=1", 4),
        ("nca", "fattree:k=4,levels=2", 1),
        ("nca", "fattree:k=2,levels=4", 1),
    ] {
        let network = build(spec);
        let relation = made(name, &network);
        let division = relation.capabilities().virtual_channels;
        assert_eq!(division.map_or(1, VirtualChannels::needed), needed, "{name} on {spec}");
        for count in 1..=needed + 2 {
            assert_eq!(is_safe(&*relation, count.into()), count >= needed, "{name} on {spec} with {count}");
        }
        assert!(survey(&*relation).connected, "{name} on {spec}");
    }
}

/// Valiant over a router of a dragonfly, with other classes: (links within groups, links between groups) by (before the waypoint, whether the hop within a group is the last on the way there).
struct Stepped {
    ways: wormcast_routing::Valiant,
    class: fn(bool, Hop) -> u8,
    needed: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Hop {
    First,
    Between,
    Last,
}

impl Stepped {
    fn classify(&self, at: RouterId, target: RouterId, before: bool, out: &mut Lanes) {
        let mut ways = Vec::new();
        self.ways.candidates(at, None, target, &mut ways);
        let network = self.network();
        let wormcast_network::Shape::Dragonfly(dragonfly) = network.shape() else { panic!() };
        out.clear();
        out.extend(ways.into_iter().map(|channel| {
            let [here, next, there] = [at, network.to(channel), target].map(|router| dragonfly.group(router));
            let hop = match (here == next, next == there) {
                (false, _) => Hop::Between,
                (true, true) => Hop::Last,
                (true, false) => Hop::First,
            };
            (channel, VcRange::only((self.class)(before, hop)))
        }));
    }
}

impl RoutingRelation for Stepped {
    fn name(&self) -> &'static str {
        "stepped"
    }

    fn network(&self) -> &Arc<Network> {
        self.ways.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.ways.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), waypoints: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Stepped {
    fn needed(&self) -> u8 {
        self.needed
    }

    fn lanes(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        self.classify(at, target, false, out);
    }
}

impl Waypoints for Stepped {
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        load: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId> {
        self.ways.waypoint(source, target, drawn, load)
    }

    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool {
        self.ways.may_lead_over(source, waypoint)
    }

    fn lanes_to(&self, at: RouterId, _: Option<ChannelId>, waypoint: RouterId, _: u8, out: &mut Lanes) {
        self.classify(at, waypoint, true, out);
    }
}

#[test]
fn stepping_at_links_between_groups_alone_is_cyclic() {
    let network = build("dragonfly:p=1,a=4,h=2");
    let safe = |needed, class: fn(bool, Hop) -> u8| {
        let ways = wormcast_routing::Valiant::new(&network).unwrap();
        is_safe(&Stepped { ways, class, needed }, needed.into())
    };
    // As `valiant` has it.
    assert!(safe(4, |before, hop| match (before, hop) {
        (true, Hop::First | Hop::Between) => 0,
        (true, Hop::Last) | (false, Hop::Between) => 1,
        (false, Hop::First) => 2,
        (false, Hop::Last) => 3,
    }));
    // One more for each link between groups that has been crossed.
    assert!(!safe(3, |before, hop| u8::from(!before) + u8::from(hop == Hop::Last)));
    // BookSim's `ugal_dragonflynew`: 0 up to the waypoint; from there on 1, and 2 from the link between groups on.
    assert!(!safe(3, |before, hop| if before { 0 } else { 1 + u8::from(hop != Hop::First) }));
    // Over a group, three are enough.
    let groups = wormcast_routing::Valiant::over_groups(&network).unwrap();
    let class: fn(bool, Hop) -> u8 = |before, hop| u8::from(!before) + u8::from(hop == Hop::Last);
    assert!(is_safe(&Stepped { ways: groups, class, needed: 3 }, 3));
}

/// Every way over every waypoint comes to its target: two shortest ways, one behind the other.
#[test]
fn valiant_leads_over_waypoints() {
    for (name, spec) in [
        ("valiant", "dragonfly:p=1,a=4,h=2"),
        ("valiant-group", "dragonfly:p=1,a=4,h=2"),
        ("valiant", "hyperx:3x4,nodes=1"),
        ("valiant", "slimfly:q=5,nodes=1"),
    ] {
        let network = build(spec);
        let relation = made(name, &network);
        let (division, waypoints) = {
            let capabilities = relation.capabilities();
            (capabilities.virtual_channels.unwrap(), capabilities.waypoints.unwrap())
        };
        let longest = network.distances().diameter.unwrap();
        let (mut lanes, mut drawn, mut over) = (Vec::new(), 0u64, BTreeSet::new());
        for source in network.router_ids() {
            for target in network.router_ids().filter(|&target| target != source) {
                drawn = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let Some(waypoint) = waypoints.waypoint(source, target, drawn, &|_| 0) else { continue };
                assert!(waypoints.may_lead_over(source, waypoint) && waypoint != source && waypoint != target);
                over.insert(waypoint);
                let (mut at, mut arrived) = (source, None);
                for aim in [waypoint, target] {
                    let mut hops = 0;
                    while at != aim {
                        if aim == target {
                            division.lanes(at, arrived, aim, 4, &mut lanes);
                        } else {
                            waypoints.lanes_to(at, arrived, aim, 4, &mut lanes);
                        }
                        let (channel, _) = lanes[0];
                        assert_eq!(network.from(channel), at);
                        (at, arrived) = (network.to(channel), Some(channel));
                        hops += 1;
                        assert!(hops <= longest.max(3));
                    }
                }
            }
        }
        assert_eq!(over.len(), network.routers(), "{name} on {spec}: all are waypoints");
        assert_eq!(waypoints.waypoint(RouterId::new(0), RouterId::new(1), 0, &|_| 0), None, "its own router, or group");
    }
}

/// Pairs of nodes by the virtual channels, each a channel and a number, of which their worms hold the one while they wait for the other.
type Waiting = BTreeMap<[(ChannelId, u32); 2], BTreeSet<(u32, u32)>>;

/// Virtual channels, as channel and number, that the worms of all pairs hold while they wait for another, by following the worms of each pair over each of its waypoints by themselves.
fn who_waits(relation: &dyn RoutingRelation, count: u8) -> Waiting {
    let capabilities = relation.capabilities();
    let (network, division) = (relation.network(), capabilities.virtual_channels.unwrap());
    let asked = division.needed().max(count);
    let routers = network.routers() as u64;
    let mut all = Waiting::new();
    for (source, target) in network.router_ids().flat_map(|source| network.router_ids().map(move |to| (source, to))) {
        if source == target {
            continue;
        }
        let mut over = BTreeSet::from([None]);
        for drawn in (0..routers).map(|router| (u64::MAX / routers) * router + router + 1) {
            let Some(waypoints) = capabilities.waypoints else { break };
            for full in network.outputs(source) {
                over.insert(waypoints.waypoint(source, target, drawn, &|channel| u32::from(channel == full) * 100));
            }
        }
        for waypoint in over {
            if let (Some(over), Some(waypoints)) = (waypoint, capabilities.waypoints) {
                assert!(waypoints.may_lead(source, target, over), "{}: {source} {over} {target}", relation.name());
            }
            // Where the header is, by what it came, and whether the waypoint lies ahead.
            let mut work = vec![(source, None::<(ChannelId, u32)>, waypoint.is_some())];
            let mut seen = BTreeSet::new();
            while let Some((at, held, ahead)) = work.pop() {
                let ahead = ahead && Some(at) != waypoint;
                if at == target && !ahead || !seen.insert((at, held, ahead)) {
                    continue;
                }
                let (mut lanes, arrived) = (Lanes::new(), held.map(|(channel, _)| channel));
                match (waypoint, capabilities.waypoints) {
                    (Some(over), Some(waypoints)) if ahead => waypoints.lanes_to(at, arrived, over, asked, &mut lanes),
                    _ => division.lanes(at, arrived, target, asked, &mut lanes),
                }
                for (channel, range) in lanes {
                    for on in range.first.min(count - 1)..=range.last.min(count - 1) {
                        let next = (channel, u32::from(on));
                        let pair = (source.raw(), target.raw());
                        if let Some(held) = held {
                            all.entry([held, next]).or_default().insert(pair);
                        }
                        work.push((network.to(channel), Some(next), ahead));
                    }
                }
            }
        }
    }
    all
}

/// That worms are found of each two virtual channels of which there are any that hold the one and wait for the other, and that they do.
fn finds_who_waits(relation: &dyn RoutingRelation, counts: &[u8]) {
    let (network, name) = (relation.network(), relation.name());
    for &count in counts {
        let expected = who_waits(relation, count);
        let all = || network.channel_ids().flat_map(|channel| (0..u32::from(count)).map(move |on| (channel, on)));
        for held in all() {
            for requested in all().filter(|next| network.from(next.0) == network.to(held.0)) {
                let found = witness_in_classes(relation, [held, requested], count.into(), 3).examples;
                let pairs = expected.get(&[held, requested]);
                assert_eq!(found.is_empty(), pairs.is_none(), "{name} {count}: {held:?} {requested:?}");
                for (source, destination) in found {
                    let pair = (source.raw(), destination.raw());
                    assert!(pairs.is_some_and(|pairs| pairs.contains(&pair)), "{name} {count}: {pair:?}");
                }
            }
        }
    }
}

#[test]
fn worms_of_a_cycle_are_found_wherever_they_lead_over() {
    for (network, routing, counts) in [
        ("hyperx:3x3", "valiant", &[1, 2][..]),
        ("hyperx:3x2", "ugal", &[1, 2]),
        ("dragonfly:p=1,a=2,h=1", "valiant", &[1, 3, 4]),
        ("dragonfly:p=1,a=2,h=1", "valiant-group", &[1, 2, 3]),
        ("torus:4x3", "dateline", &[1, 2]),
        ("torus:5", "dateline", &[1, 2, 3]),
    ] {
        finds_who_waits(&*made(routing, &build(network)), counts);
    }
    // A routing that says no more of its waypoints than it has to.
    let ways = wormcast_routing::Valiant::new(&build("dragonfly:p=1,a=2,h=1")).unwrap();
    finds_who_waits(&Stepped { ways, class: |before, _| u8::from(!before), needed: 2 }, &[1, 2]);
}
