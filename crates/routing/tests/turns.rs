//! Turn prohibition and up*/down* on random graphs: the theorems of paper 3 by independent verifiers, the rule against a
//! naive implementation, and routing against exhaustive search.
//!
//! `WORMCAST_CASES=10000 cargo test --release -p wormcast-routing --test routing turns` runs the long mode.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{
    Adaptivity, ChannelNumbering, Dependencies, ROUTINGS, Root, RoutingOptions, RoutingRelation, TurnRouting, TurnSet,
    routing_by_name, survey, turn_prohibition, up_down,
};

use crate::graphs::{self, Graph, graph, petersen};
use crate::naive;

fn cases() -> ProptestConfig {
    let cases = std::env::var("WORMCAST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    ProptestConfig { cases, max_shrink_iters: 5_000, ..ProptestConfig::default() }
}

/// A directed channel: the position of its link, and whether it goes from the second router to the first.
type Directed = (usize, bool);

/// A graph and the turns that may not be taken, as sorted pairs of links with the router between: nothing of the library.
#[derive(Clone)]
struct Turns {
    links: Vec<(u32, u32)>,
    prohibited: HashSet<(u32, usize, usize)>,
}

impl Turns {
    fn new(graph: &Graph, network: &Arc<Network>, turns: &TurnSet) -> Self {
        let link_of = link_of(graph, network);
        let prohibited: HashSet<_> = turns
            .prohibited(network)
            .map(|(one, other)| {
                assert_eq!(network.from(one), network.from(other));
                let (a, b) = (link_of[one.index()].0, link_of[other.index()].0);
                (network.from(one).raw(), a.min(b), a.max(b))
            })
            .collect();
        Self { links: graph.links.clone(), prohibited }
    }

    fn ends(&self, (link, back): Directed) -> (u32, u32) {
        let (u, v) = self.links[link];
        if back { (v, u) } else { (u, v) }
    }

    fn directed(&self) -> impl Iterator<Item = Directed> + use<> {
        (0..self.links.len()).flat_map(|link| [(link, false), (link, true)])
    }

    /// The channels that a worm may take after this one.
    fn after(&self, arriving: Directed) -> Vec<Directed> {
        let (_, at) = self.ends(arriving);
        let (link, _) = arriving;
        self.directed()
            .filter(|&next| self.ends(next).0 == at && next.0 != link)
            .filter(|&next| !self.prohibited.contains(&(at, link.min(next.0), link.max(next.0))))
            .collect()
    }

    /// Depth-first search for a cycle in the channel dependency graph.
    fn has_cycle(&self) -> bool {
        let index = |(link, back): Directed| 2 * link + usize::from(back);
        let after: Vec<Vec<Directed>> = self.directed().map(|channel| self.after(channel)).collect();
        let mut state = vec![0u8; after.len()];
        for start in self.directed() {
            if state[index(start)] != 0 {
                continue;
            }
            state[index(start)] = 1;
            let mut path = vec![(start, 0)];
            while let Some((channel, tried)) = path.last_mut() {
                if let Some(&next) = after[index(*channel)].get(*tried) {
                    *tried += 1;
                    match state[index(next)] {
                        0 => {
                            state[index(next)] = 1;
                            path.push((next, 0));
                        }
                        1 => return true,
                        _ => {}
                    }
                } else {
                    state[index(*channel)] = 2;
                    path.pop();
                }
            }
        }
        false
    }

    /// Whether permitting this turn closes a cycle.
    fn needs(&self, turn: &(u32, usize, usize)) -> bool {
        let mut without = self.clone();
        without.prohibited.remove(turn);
        without.has_cycle()
    }

    /// Hops of the shortest permitted paths from a router to all others, by a search forwards.
    fn hops(&self, source: u32, routers: usize) -> Vec<Option<u32>> {
        let mut hops = vec![None; routers];
        hops[source as usize] = Some(0);
        let mut level: Vec<Directed> = self.directed().filter(|&c| self.ends(c).0 == source).collect();
        let mut seen: HashSet<Directed> = level.iter().copied().collect();
        for distance in 1.. {
            if level.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for channel in level {
                hops[self.ends(channel).1 as usize].get_or_insert(distance);
                next.extend(self.after(channel).into_iter().filter(|&c| seen.insert(c)));
            }
            level = next;
        }
        hops
    }
}

/// For each channel of the network, the directed link that it is. Both number links in the order of the graph, router by
/// router.
fn link_of(graph: &Graph, network: &Arc<Network>) -> Vec<Directed> {
    let mut ends: Vec<Vec<Directed>> = vec![Vec::new(); graph.routers];
    for (link, &(u, v)) in graph.links.iter().enumerate() {
        ends[u as usize].push((link, false));
        ends[v as usize].push((link, true));
    }
    let all: Vec<Directed> = ends.into_iter().flatten().collect();
    assert_eq!(all.len(), network.channels());
    all
}

fn is_simple(graph: &Graph) -> bool {
    let mut seen = HashSet::new();
    graph.links.iter().all(|&(u, v)| seen.insert((u.min(v), u.max(v))))
}

/// Theorems 1, 2, 3 and 5.
fn check_theorems(graph: &Graph, network: &Arc<Network>, turns: &TurnSet) {
    let independent = Turns::new(graph, network, turns);
    assert_eq!(independent.prohibited.len() as u64, turns.prohibited_turns());
    assert_eq!(graph.turns(), turns.turn_count());
    assert!(!independent.has_cycle(), "Theorem 1");
    for source in network.router_ids() {
        let hops = independent.hops(source.raw(), graph.routers);
        assert!(hops.iter().all(Option::is_some), "Theorem 2: from {source}: {hops:?}");
    }
    for turn in &independent.prohibited {
        assert!(independent.needs(turn), "Theorem 3: {turn:?}");
    }
    let cycles = graph.links.len() + 1 - graph.routers;
    assert!(turns.prohibited_turns() >= cycles as u64, "Theorem 5");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn theorems_1_to_5_hold(graph in graph()) {
        let network = graph.network();
        let turns = turn_prohibition(&network);
        check_theorems(&graph, &network, &turns);
        prop_assert!(!is_simple(&graph) || 3 * turns.prohibited_turns() <= turns.turn_count(), "Theorem 4");
    }

    #[test]
    fn theorems_1_to_3_hold_for_up_down_too(graph in graph(), root in 0u32..4) {
        let network = graph.network();
        let router = RouterId::new(root % graph.routers as u32);
        for root in [Root::SmallestId, Root::MaximumDegree, Root::Router(router)] {
            check_theorems(&graph, &network, &up_down(&network, root).unwrap());
        }
    }

    #[test]
    fn the_rule_is_followed_to_the_letter(graph in graph()) {
        let network = graph.network();
        let turns = Turns::new(&graph, &network, &turn_prohibition(&network));
        let mut expected: Vec<_> = naive::turn_prohibition(&graph).into_iter().collect();
        let mut found: Vec<_> = turns.prohibited.into_iter().collect();
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn verdicts_have_witnesses(graph in graph(), missing in any::<prop::sample::Index>()) {
        let network = graph.network();
        let prohibition = turn_prohibition(&network);
        let up_down = up_down(&network, Root::SmallestId).unwrap();
        for turns in [&prohibition, &up_down] {
            let independent = Turns::new(&graph, &network, turns);
            let link_of = link_of(&graph, &network);
            // `permits` is the complement of `prohibited`.
            for held in network.channel_ids() {
                let after = independent.after(link_of[held.index()]);
                for next in network.outputs(network.to(held)) {
                    prop_assert_eq!(turns.permits(&network, held, next), after.contains(&link_of[next.index()]));
                }
            }
            let numbering = ChannelNumbering::find(&network, |a, b| turns.permits(&network, a, b)).unwrap();
            numbering.check(&network, |a, b| turns.permits(&network, a, b)).unwrap();
            let needed = independent.prohibited.iter().filter(|turn| independent.needs(turn)).count();
            let prohibited: Vec<_> = turns.prohibited(&network).collect();
            prop_assert_eq!(turns.needed(&network, &prohibited), Some(needed));
            prop_assert_eq!(turns.irreducible(&network), Some(needed == prohibited.len()));
        }
        // Without one of the prohibited turns there is no proof, but a cycle; and the old proof fails.
        let prohibited: Vec<_> = prohibition.prohibited(&network).collect();
        if prohibited.is_empty() {
            return Ok(());
        }
        let &(one, other) = missing.get(&prohibited);
        let may = |held: ChannelId, next: ChannelId| {
            let turn = (network.reverse(held), next);
            turn == (one, other) || turn == (other, one) || prohibition.permits(&network, held, next)
        };
        let proof = ChannelNumbering::find(&network, |a, b| prohibition.permits(&network, a, b)).unwrap();
        prop_assert!(proof.check(&network, may).is_err());
        let cycle = ChannelNumbering::find(&network, may).unwrap_err();
        for (i, &held) in cycle.iter().enumerate() {
            let next = cycle[(i + 1) % cycle.len()];
            prop_assert_eq!(network.to(held), network.from(next));
            prop_assert!(may(held, next));
        }
    }

    #[test]
    fn routes_are_the_shortest_permitted(graph in graph()) {
        let network = graph.network();
        for name in ROUTINGS.iter().filter(|routing| routing.over_turns).map(|routing| routing.name) {
            let relation = routing_by_name(name, &network, &RoutingOptions::default()).unwrap();
            let routing = relation.capabilities().turns.unwrap();
            let turns = Turns::new(&graph, &network, routing.turns());
            let deterministic = name.ends_with("deterministic");
            let hops: Vec<_> = network.router_ids().map(|source| turns.hops(source.raw(), graph.routers)).collect();
            let mut candidates = Vec::new();
            for (source, target) in pairs(&network) {
                relation.candidates(source, None, target, &mut candidates);
                let left = hops[source.index()][target.index()].unwrap();
                follow(&network, routing, target, left, &candidates, deterministic);
                if !deterministic {
                    // A neighbour that is as near by any turn is a candidate.
                    let first = |c: &ChannelId| left > 1 || network.to(*c) == target;
                    prop_assert!(candidates.iter().all(first));
                    let direct = network.outputs(source).filter(|&c| network.to(c) == target).count();
                    prop_assert!(left > 1 || candidates.len() == direct);
                }
            }
            let (found, load) = routing.survey();
            prop_assert!((load.mean - mean_load(&hops, &network)).abs() < 1e-9);
            let searched = survey(relation.as_ref());
            prop_assert_eq!(found.connected, searched.connected);
            prop_assert_eq!(found.diameter, searched.diameter);
            prop_assert_eq!(found.average_distance, searched.average_distance);
            let total: u32 = hops.iter().flatten().map(|h| h.unwrap()).sum();
            // Not about so much, as sums of fractions are.
            let exact = f64::from(total) / network.channels().max(1) as f64;
            prop_assert_eq!(load.mean.to_bits(), exact.to_bits());
            let pairs = graph.routers * (graph.routers - 1);
            prop_assert_eq!(found.average_distance, (pairs > 0).then(|| f64::from(total) / pairs as f64));
            prop_assert_eq!(Dependencies::of_relation(relation.as_ref()).deadlock(1), None);
        }
    }
}

fn pairs(network: &Arc<Network>) -> Vec<(RouterId, RouterId)> {
    network.router_ids().flat_map(|s| network.router_ids().filter(move |&t| s != t).map(move |t| (s, t))).collect()
}

/// Every hop brings a header one hop nearer, and only over permitted turns.
fn follow(
    network: &Arc<Network>,
    routing: &TurnRouting,
    target: RouterId,
    left: u32,
    candidates: &[ChannelId],
    deterministic: bool,
) {
    assert!(!candidates.is_empty());
    assert!(candidates.is_sorted());
    assert!(!deterministic || candidates.len() == 1);
    let mut next = Vec::new();
    for &channel in candidates {
        let at = network.to(channel);
        routing.candidates(at, Some(channel), target, &mut next);
        if at == target {
            assert!(left == 1 && next.is_empty());
        } else {
            assert!(left > 1 && next.iter().all(|&n| routing.turns().permits(network, channel, n)));
            follow(network, routing, target, left - 1, &next.clone(), deterministic);
        }
    }
}

fn mean_load(hops: &[Vec<Option<u32>>], network: &Arc<Network>) -> f64 {
    let total: u32 = hops.iter().flatten().map(|h| h.unwrap()).sum();
    f64::from(total) / network.channels().max(1) as f64
}

/// The load of every channel by following all worms.
#[test]
fn loads_are_what_worms_put_on_channels() {
    let graph = petersen();
    let network = graph.network();
    for choice in [Adaptivity::Adaptive, Adaptivity::First] {
        let routing = TurnRouting::new("test", &network, turn_prohibition(&network), choice);
        let mut load = vec![0.0; network.channels()];
        for (source, target) in pairs(&network) {
            let mut worms = vec![(source, None, 1.0)];
            while let Some((at, arrived, share)) = worms.pop() {
                let mut candidates = Vec::new();
                routing.candidates(at, arrived, target, &mut candidates);
                for &channel in &candidates {
                    let share = share / candidates.len() as f64;
                    load[channel.index()] += share;
                    worms.push((network.to(channel), Some(channel), share));
                }
            }
        }
        let (_, found) = routing.survey();
        assert!((found.max - load.iter().copied().fold(0.0, f64::max)).abs() < 1e-9);
        assert!((found.mean - load.iter().sum::<f64>() / load.len() as f64).abs() < 1e-9);
    }
}

/// The fewest turns that break all cycles, over all sets of turns.
fn fewest(graph: &Graph) -> u64 {
    let mut turns = Turns { links: graph.links.clone(), prohibited: HashSet::new() };
    let mut all = Vec::new();
    for router in 0..graph.routers as u32 {
        let own: Vec<usize> =
            (0..graph.links.len()).filter(|&l| graph.links[l].0 == router || graph.links[l].1 == router).collect();
        for (i, &one) in own.iter().enumerate() {
            all.extend(own[i + 1..].iter().map(|&other| (router, one, other)));
        }
    }
    let mut sets: Vec<u32> = (0..1 << all.len()).collect();
    sets.sort_by_key(|set: &u32| set.count_ones());
    let breaks = |set: &u32| {
        turns.prohibited = (0..all.len()).filter(|i| set >> i & 1 == 1).map(|i| all[i]).collect();
        !turns.has_cycle()
    };
    u64::from(sets.into_iter().find(breaks).unwrap().count_ones())
}

/// All connected graphs of up to four routers: turn prohibition is not always optimal, but never below the optimum, and the
/// optimum never below Theorem 5's bound.
#[test]
fn small_graphs_against_the_optimum() {
    for routers in 1..=4u32 {
        let all: Vec<(u32, u32)> = (0..routers).flat_map(|u| (u + 1..routers).map(move |v| (u, v))).collect();
        for set in 0..1u32 << all.len() {
            let links = (0..all.len()).filter(|i| set >> i & 1 == 1).map(|i| all[i]).collect();
            let graph = Graph { routers: routers as usize, links };
            let network = graph.network();
            if !network.distances().connected {
                continue;
            }
            let (found, optimum) = (turn_prohibition(&network).prohibited_turns(), fewest(&graph));
            assert!(optimum <= found);
            let cycles = graph.links.len() as u64 + 1 - u64::from(routers);
            assert!(optimum >= cycles);
            assert_eq!(found, optimum, "{graph:?}");
        }
    }
}

#[test]
fn a_third_of_the_turns_of_complete_graphs() {
    for n in 3..12 {
        let network = graphs::complete(n).network();
        let turns = turn_prohibition(&network);
        assert_eq!(3 * turns.prohibited_turns(), turns.turn_count());
    }
}

/// What parallel links add to the candidates of a deterministic routing: links to the same router, by permitted turns, from which the
/// target is as near. Whatever is taken of them leads there, and the check knows all of it.
#[test]
fn parallel_links_are_spread_over() {
    let cables = [(0, 1), (0, 1), (1, 2), (0, 1), (2, 3), (2, 3), (3, 0), (1, 2), (3, 0), (1, 4), (4, 2)];
    let network = Network::from_links("cables", 5, &cables);
    let mut added = 0;
    for name in ["up-down", "turn-prohibition"] {
        let by_name = |name: &str| routing_by_name(name, &network, &RoutingOptions::default()).unwrap();
        let (all, one) = (by_name(name), by_name(&format!("{name}-deterministic")));
        for relation in [&all, &one] {
            assert_eq!(Dependencies::of_relation(relation.as_ref()).deadlock(1), None);
        }
        let dependencies = Dependencies::of_relation(one.as_ref());
        let (mut first, mut spread, mut adaptive) = (Vec::new(), Vec::new(), Vec::new());
        for (source, target) in network.router_ids().flat_map(|s| network.router_ids().map(move |t| (s, t))) {
            let mut work = vec![(source, None, 0)];
            while let Some((at, arrived, hops)) = work.pop() {
                assert!(hops < 9, "a worm gets there");
                if at == target {
                    continue;
                }
                one.candidates(at, arrived, target, &mut first);
                one.spread(at, arrived, target, &mut spread);
                assert_eq!(first[..], spread[..1]);
                assert!(spread.iter().all(|&channel| network.to(channel) == network.to(first[0])));
                all.candidates(at, arrived, target, &mut adaptive);
                assert!(spread.iter().all(|channel| adaptive.contains(channel)), "as near, and permitted");
                let to = |channel: &&ChannelId| network.to(**channel) == network.to(first[0]);
                assert_eq!(adaptive.iter().filter(to).count(), spread.len(), "all that are as near");
                all.spread(at, arrived, target, &mut first);
                assert_eq!(first, adaptive);
                added += spread.len() - 1;
                for &channel in &spread {
                    assert!(arrived.is_none_or(|arrived| dependencies.contains(arrived, channel)));
                    work.push((network.to(channel), Some(channel), hops + 1));
                }
            }
        }
    }
    assert!(added > 20, "{added}");
}

/// Two links between two routers have a turn at each end, one of which has to go: Theorem 4 is one of simple graphs.
#[test]
fn parallel_links_have_turns_between_them() {
    let network = Network::from_links("pair", 2, &[(0, 1), (1, 0)]);
    let turns = turn_prohibition(&network);
    assert_eq!((turns.turn_count(), turns.prohibited_turns()), (2, 1));
    let (one, other) = turns.prohibited(&network).next().unwrap();
    assert_eq!([one, other].map(|c| (network.from(c).raw(), network.to(c).raw())), [(0, 1), (0, 1)]);
    assert_eq!(turns.irreducible(&network), Some(true));
}

/// Neither recursion nor quadratic time on long and on wide networks.
#[test]
fn large_simple_networks() {
    const N: u32 = 100_000;
    let path: Vec<_> = (1..N).map(|v| (v - 1, v)).collect();
    let ring: Vec<_> = path.iter().copied().chain([(N - 1, 0)]).collect();
    let star: Vec<_> = (1..N).map(|v| (0, v)).collect();
    let wheel: Vec<_> = star.iter().copied().chain((1..N).map(|v| (v, v % (N - 1) + 1))).collect();
    // A path whose routers are special in turn: pairs of triangles that share routers.
    let chain: Vec<_> =
        (1..N / 2).flat_map(|v| [(2 * v - 2, 2 * v - 1), (2 * v - 1, 2 * v), (2 * v - 2, 2 * v)]).collect();
    // Triangles joined by routers of degree two.
    let beads: Vec<_> = (0..N / 4 - 1)
        .flat_map(|i| {
            let v = 4 * i;
            [(v, v + 1), (v + 1, v + 2), (v, v + 2), (v + 2, v + 3), (v + 3, v + 4)]
        })
        .collect();
    for (name, links, prohibited) in [
        ("path", path, Some(0)),
        ("ring", ring, Some(1)),
        ("star", star, Some(0)),
        ("wheel", wheel, None),
        ("chain", chain, Some(u64::from(N / 2 - 1))),
        ("beads", beads, Some(u64::from(N / 4 - 1))),
    ] {
        let routers = links.iter().map(|&(u, v)| u.max(v)).max().unwrap() as usize + 1;
        let network = Network::from_links(name, routers, &links);
        let turns = turn_prohibition(&network);
        if let Some(prohibited) = prohibited {
            assert_eq!(turns.prohibited_turns(), prohibited, "{name}");
        }
        up_down(&network, Root::MaximumDegree).unwrap();
        let routing = TurnRouting::new("test", &network, turns, Adaptivity::Adaptive);
        let mut candidates = Vec::new();
        routing.candidates(RouterId::new(1), None, RouterId::new(N / 2), &mut candidates);
        assert_eq!(candidates.len(), 1, "{name}");
    }
}
