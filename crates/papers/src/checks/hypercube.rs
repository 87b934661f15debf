//! Lemmas 1 and 2 and Theorems 1 to 4 of paper 2, in all cases that small hypercubes have.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::SliceRandom;
use wormcast_multicast::{
    Algorithm, AlgorithmOptions, COMBINE, Descriptor, MAXPORT, Multicast, Options, Plan, PortModel, Resolution,
    SEPARATE, U_CUBE, W_SORT,
};
use wormcast_network::NodeId;
use wormcast_routing::{ECube, append_route};

use super::weighted_sort::is_cube_ordered;
use super::{CheckOutcome, generator, network};

/// The nodes of a path, its ends included.
type Path = Vec<u32>;

/// Whether a node is in the subcube of a number of free bits and a mask (Definition 2), in a hypercube of so many dimensions.
type Member = fn(node: u32, free: u32, mask: u32, dimensions: u32) -> bool;

/// Definition 2: the bits that are stated are the highest.
fn in_subcube(node: u32, free: u32, mask: u32, _: u32) -> bool {
    node >> free == mask
}

/// What is wrong on purpose: the bits that are stated are the lowest.
fn in_low_subcube(node: u32, free: u32, mask: u32, dimensions: u32) -> bool {
    node & ((1 << (dimensions - free)) - 1) == mask
}

/// A path from each node of a hypercube to each.
struct Paths {
    dimensions: u32,
    all: Vec<Path>,
}

impl Paths {
    /// Those of the program's e-cube routing.
    fn routed(dimensions: u32) -> Self {
        let cube = network(&format!("hypercube:{dimensions}"));
        let routing = ECube::new(&cube).unwrap_or_else(|error| unreachable!("{error}"));
        Self::of(dimensions, |from, to| {
            let (mut channels, router) = (Vec::new(), |node| cube.router_of(NodeId::new(node)));
            let reached = append_route(&routing, router(from), None, router(to), &mut channels);
            assert!(reached.is_ok(), "e-cube reaches every node");
            [from].into_iter().chain(channels.iter().map(|&channel| cube.to(channel).raw())).collect()
        })
    }

    /// What is wrong on purpose: shortest paths that resolve dimensions in a random order.
    fn in_random_order(dimensions: u32) -> Self {
        let mut random = generator(1);
        Self::of(dimensions, |from, to| {
            let mut order: Vec<u32> = (0..dimensions).filter(|&dimension| (from ^ to) >> dimension & 1 == 1).collect();
            order.shuffle(&mut random);
            let mut path = vec![from];
            path.extend(order.into_iter().scan(from, |at, dimension| {
                *at ^= 1 << dimension;
                Some(*at)
            }));
            path
        })
    }

    fn of(dimensions: u32, mut path: impl FnMut(u32, u32) -> Path) -> Self {
        let nodes = 1 << dimensions;
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        Self { dimensions, all: all.map(|(from, to)| path(from, to)).collect() }
    }

    fn nodes(&self) -> std::ops::Range<u32> {
        0..1 << self.dimensions
    }

    fn path(&self, from: u32, to: u32) -> &[u32] {
        &self.all[(from << self.dimensions | to) as usize]
    }

    fn arcs(&self, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        self.path(from, to).windows(2).map(|arc| (arc[0], arc[1]))
    }
}

/// Whether two nodes have the same bit at a position: `u ⊗ 2^k = v ⊗ 2^k`.
fn agree(one: u32, other: u32, position: u32) -> bool {
    (one ^ other) >> position & 1 == 0
}

/// The first dimension in which two nodes differ, δ; `None` if they do not.
fn delta(one: u32, other: u32) -> Option<u32> {
    (one ^ other).checked_ilog2()
}

/// The subcubes of a hypercube: free bits and mask.
fn subcubes(dimensions: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..=dimensions).flat_map(move |free| (0..1 << (dimensions - free)).map(move |mask| (free, mask)))
}

/// What comes of trying all cases: how many there were, or the first that failed.
fn outcome(tried: Result<String, String>) -> CheckOutcome {
    match tried {
        Ok(cases) => CheckOutcome::of(true, cases),
        Err(example) => CheckOutcome::of(false, example),
    }
}

/// The largest cube whose cases are all tried.
fn dimensions(quick: bool) -> u32 {
    if quick { 5 } else { 6 }
}

pub(super) fn lemma_1(quick: bool) -> CheckOutcome {
    outcome(lemma_1_of(dimensions(quick), Paths::routed))
}

pub(super) fn lemma_1_in_random_order(quick: bool) -> CheckOutcome {
    outcome(lemma_1_of(dimensions(quick), Paths::in_random_order))
}

/// The three conditions of Lemma 1 as printed, and what the sentence below it says of them.
fn lemma_1_of(largest: u32, paths: fn(u32) -> Paths) -> Result<String, String> {
    let mut arcs = 0u64;
    for dimensions in 1..=largest {
        let paths = paths(dimensions);
        for (x, y) in paths.nodes().flat_map(|x| paths.nodes().map(move |y| (x, y))) {
            let path = paths.path(x, y);
            let ends = path.first() == Some(&x) && path.last() == Some(&y);
            let shortest = path.len() == (x ^ y).count_ones() as usize + 1;
            let mut above = dimensions;
            for (i, (from, to)) in paths.arcs(x, y).enumerate() {
                arcs += 1;
                let d = delta(from, to).unwrap_or(dimensions);
                let before = path[1..=i].iter().all(|&w| (0..=d).all(|k| agree(w, x, k)));
                // w_p is the last node but one.
                let behind = path[i + 1..path.len() - 1].iter().all(|&w| (d + 1..dimensions).all(|k| agree(w, y, k)));
                let falls = d < std::mem::replace(&mut above, d);
                if !(ends && shortest && from ^ to == 1 << d && before && behind && !agree(x, y, d) && falls) {
                    return Err(format!("{from:b} to {to:b} on the path {path:?} in a {dimensions}-cube"));
                }
            }
        }
    }
    Ok(format!("{arcs} arcs: those of all paths of cubes of 1 to {largest} dimensions"))
}

pub(super) fn lemma_2(quick: bool) -> CheckOutcome {
    outcome(lemma_2_of(dimensions(quick), in_subcube))
}

pub(super) fn lemma_2_of_low_bits(quick: bool) -> CheckOutcome {
    outcome(lemma_2_of(dimensions(quick), in_low_subcube))
}

fn lemma_2_of(largest: u32, member: Member) -> Result<String, String> {
    let mut triples = 0u64;
    for dimensions in 1..=largest {
        for (free, mask) in subcubes(dimensions) {
            let inside: Vec<u32> = (0..1 << dimensions).filter(|&node| member(node, free, mask, dimensions)).collect();
            for (&x, &z) in inside.iter().flat_map(|x| inside.iter().map(move |z| (x, z))).filter(|(x, z)| x <= z) {
                for y in x..=z {
                    triples += 1;
                    if !member(y, free, mask, dimensions) {
                        return Err(format!(
                            "{y} lies between {x} and {z}, but not in their subcube of {free} free bits"
                        ));
                    }
                }
            }
        }
    }
    Ok(format!("{triples} triples: all of all subcubes of cubes of 1 to {largest} dimensions"))
}

pub(super) fn theorem_1(quick: bool) -> CheckOutcome {
    outcome(theorem_1_of(dimensions(quick), Paths::routed))
}

pub(super) fn theorem_1_in_random_order(quick: bool) -> CheckOutcome {
    outcome(theorem_1_of(dimensions(quick), Paths::in_random_order))
}

fn theorem_1_of(largest: u32, paths: fn(u32) -> Paths) -> Result<String, String> {
    let mut pairs = 0u64;
    for dimensions in 1..=largest {
        let paths = paths(dimensions);
        for (x, y) in paths.nodes().flat_map(|x| paths.nodes().map(move |y| (x, y))).filter(|(x, y)| x != y) {
            for v in paths.nodes().filter(|&v| v != x && delta(x, v) != delta(x, y)) {
                pairs += 1;
                if paths.arcs(x, y).any(|arc| paths.arcs(x, v).any(|other| other == arc)) {
                    return Err(format!("{x} to {y} and {x} to {v} share an arc in a {dimensions}-cube"));
                }
            }
        }
    }
    Ok(format!("{pairs} pairs of paths: all of cubes of 1 to {largest} dimensions"))
}

pub(super) fn theorem_2(quick: bool) -> CheckOutcome {
    outcome(theorem_2_of(dimensions(quick), Paths::routed))
}

pub(super) fn theorem_2_in_random_order(quick: bool) -> CheckOutcome {
    outcome(theorem_2_of(dimensions(quick), Paths::in_random_order))
}

fn theorem_2_of(largest: u32, paths: fn(u32) -> Paths) -> Result<String, String> {
    let (mut cubes, mut pairs) = (0u64, 0u64);
    for dimensions in 1..=largest {
        let paths = paths(dimensions);
        for (free, mask) in subcubes(dimensions) {
            let (inside, outside): (Vec<u32>, Vec<u32>) =
                paths.nodes().partition(|&node| in_subcube(node, free, mask, dimensions));
            let between = |nodes: &[u32]| -> BTreeSet<(u32, u32)> {
                let ends = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
                ends.flat_map(|(from, to)| paths.arcs(from, to)).collect()
            };
            if let Some((from, to)) = between(&inside).intersection(&between(&outside)).next() {
                return Err(format!(
                    "{from} to {to} is on paths inside and outside of {inside:?} in a {dimensions}-cube"
                ));
            }
            cubes += 1;
            pairs += (inside.len() * outside.len()).pow(2) as u64;
        }
    }
    Ok(format!("{pairs} pairs of paths: all of the {cubes} subcubes of cubes of 1 to {largest} dimensions"))
}

pub(super) fn theorem_3(quick: bool) -> CheckOutcome {
    outcome(theorem_3_of(dimensions(quick) - 1, false))
}

/// What is wrong on purpose: both unicasts in the same step, even if they leave by one channel.
pub(super) fn theorem_3_in_one_step(quick: bool) -> CheckOutcome {
    outcome(theorem_3_of(dimensions(quick) - 1, true))
}

/// Definition 4 of what the program plans: two unicasts of one node, in the steps that ports permit.
fn theorem_3_of(largest: u32, in_one_step: bool) -> Result<String, String> {
    let mut cases = 0u64;
    for dimensions in 1..=largest {
        let cube = network(&format!("hypercube:{dimensions}"));
        let separate = SEPARATE.make(&cube, &Options::default()).unwrap_or_else(|error| unreachable!("{error}"));
        let nodes = || (0..1 << dimensions).map(NodeId::new);
        let pairs = nodes().flat_map(|v| nodes().map(move |y| (v, y)));
        for (u, (v, y)) in nodes().flat_map(|u| pairs.clone().map(move |pair| (u, pair))) {
            if u == v || u == y || v == y {
                continue;
            }
            let plan: Plan = separate.plan(&Multicast::new(u, &[v, y]));
            for ports in [PortModel::One, PortModel::All] {
                cases += 1;
                let mut summary =
                    plan.summary(separate.routing(), ports).unwrap_or_else(|error| unreachable!("{error}"));
                if in_one_step {
                    summary.worms.iter_mut().for_each(|worm| worm.step = 1);
                }
                // Of one sender, two unicasts contend if they share a channel in the same step.
                let [first, second] = &summary.worms[..] else { unreachable!("there are two unicasts") };
                let meet = first.channels.iter().any(|channel| second.channels.contains(channel));
                let contend = meet && first.step == second.step;
                if contend || !in_one_step && summary.contention().is_some() {
                    return Err(format!("{} to {} and {} contend in a {dimensions}-cube", u.raw(), v.raw(), y.raw()));
                }
            }
        }
    }
    Ok(format!("{cases} cases: all pairs of unicasts of cubes of 1 to {largest} dimensions, on one port and on all"))
}

pub(super) fn theorem_4(quick: bool) -> CheckOutcome {
    outcome(theorem_4_of(quick, |chain, _| chain.to_vec()))
}

/// What is wrong on purpose: subcubes of the lowest bits.
pub(super) fn theorem_4_of_low_bits(quick: bool) -> CheckOutcome {
    let reversed = |chain: &[u32], dimensions: u32| {
        chain.iter().map(|address| address.reverse_bits() >> (32 - dimensions)).collect()
    };
    outcome(theorem_4_of(quick, reversed))
}

/// Dimension order as section 4.1 defines it, between two different nodes.
fn dimension_order(a: u32, b: u32, dimensions: u32) -> Ordering {
    let bit = |node: u32, position: u32| node >> position & 1;
    let before =
        |a, b| (0..dimensions).any(|j| bit(a, j) < bit(b, j) && (j + 1..dimensions).all(|i| bit(a, i) == bit(b, i)));
    match (before(a, b), before(b, a)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// On every dimension-ordered chain of a 4-cube and random ones of an 8-cube; `seen` is how subcubes see its addresses.
fn theorem_4_of(quick: bool, seen: fn(&[u32], u32) -> Vec<u32>) -> Result<String, String> {
    let small = (0..1u32 << 16).map(|set| (4, (0..16).filter(|&address| set >> address & 1 == 1).collect()));
    let mut random = generator(4);
    let count = if quick { 500 } else { 10_000 };
    let large = (0..count).map(|_| {
        let drawn: BTreeSet<u32> = (0..random.random_range(1..200)).map(|_| random.random_range(0..256)).collect();
        (8, drawn.into_iter().collect())
    });
    let mut chains = 0u32;
    let all: &mut dyn Iterator<Item = (u32, Vec<u32>)> = &mut small.chain(large);
    for (dimensions, mut chain) in all {
        chain.reverse();
        chain.sort_by(|&a, &b| dimension_order(a, b, dimensions));
        chains += 1;
        if !is_cube_ordered(&seen(&chain, dimensions), dimensions) {
            return Err(format!("{chain:?} is in dimension order, and not cube-ordered"));
        }
    }
    Ok(format!("{chains} chains: all of a 4-cube, and random ones of an 8-cube"))
}

pub(super) fn resolution(quick: bool) -> CheckOutcome {
    outcome(resolution_of(quick, Resolution::Ascending))
}

/// What is wrong on purpose: trees for the highest dimension first on routes that resolve the lowest first.
pub(super) fn resolution_of_routes_alone(quick: bool) -> CheckOutcome {
    outcome(resolution_of(quick, Resolution::Descending))
}

/// Whether trees that are made for an order, on routes that resolve the lowest dimension first, are those of routes that resolve the highest
/// first with the bits of all addresses reversed, in the same steps and without contention.
fn resolution_of(quick: bool, of_trees: Resolution) -> Result<String, String> {
    let mut random = generator(2);
    let (step, count) = if quick { (64, 250) } else { (1, 5_000) };
    let small = (0..1u32 << 16).step_by(step).map(|set| (0..16).filter(|node| set >> node & 1 == 1).collect());
    let large = (0..count).map(|_| (0..random.random_range(1..200)).map(|_| random.random_range(0..256)).collect());
    let sets: [Vec<Vec<u32>>; 2] = [small.collect(), large.collect()];
    let mut plans = 0u32;
    for (dimensions, sets) in [4, 8].into_iter().zip(sets) {
        let cube = network(&format!("hypercube:{dimensions}"));
        let made = |algorithm: &Descriptor, resolution| {
            let own = AlgorithmOptions { resolution: Some(resolution), ..AlgorithmOptions::default() };
            let options = Options { own, ..Options::default() };
            algorithm.make(&cube, &options).unwrap_or_else(|error| unreachable!("{error}"))
        };
        let reversed = |node: NodeId| NodeId::new(node.raw().reverse_bits() >> (32 - dimensions));
        let sent = |trees: &dyn Algorithm, routes: &dyn Algorithm, multicast: &Multicast| {
            let plan = trees.plan(multicast);
            let summary = plan.summary(routes.routing(), PortModel::All);
            summary.unwrap_or_else(|error| unreachable!("{error}"))
        };
        for algorithm in [&U_CUBE, &MAXPORT, &COMBINE, &W_SORT] {
            let [highest, lowest, trees] =
                [Resolution::Descending, Resolution::Ascending, of_trees].map(|order| made(algorithm, order));
            for (source, set) in sets.iter().enumerate() {
                plans += 1;
                let source = NodeId::new(source as u32 % (1 << dimensions));
                let nodes: Vec<NodeId> = set.iter().copied().map(NodeId::new).collect();
                let mirrored: Vec<NodeId> = nodes.iter().copied().map(reversed).collect();
                let one = sent(highest.as_ref(), highest.as_ref(), &Multicast::new(source, &nodes));
                let other = sent(trees.as_ref(), lowest.as_ref(), &Multicast::new(reversed(source), &mirrored));
                let same = one.worms.len() == other.worms.len()
                    && one.worms.iter().zip(&other.worms).all(|(one, other)| {
                        let visits: Vec<NodeId> = one.visits.iter().copied().map(reversed).collect();
                        (reversed(one.from), visits, one.step) == (other.from, other.visits.clone(), other.step)
                    });
                if !same || one.contention().is_some() || other.contention().is_some() {
                    let (name, from) = (algorithm.name, source.raw());
                    return Err(format!(
                        "{name} from {from} to {set:?} in a {dimensions}-cube: {} and {} steps",
                        one.steps, other.steps
                    ));
                }
            }
        }
    }
    Ok(format!("{plans} plans with the bits of addresses reversed: sets of a 4-cube, and random ones of an 8-cube"))
}
