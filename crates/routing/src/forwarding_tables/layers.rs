//! Unicast routes spread over virtual lanes, so that they close no cycle on any.

use std::collections::{BTreeMap, HashMap};

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, NodeId, split_mix};

use super::lanes::VirtualLanes;
use super::{ForwardingTables, Output, Target};

/// Hops of all routes; more take too much memory.
const HOPS: usize = 20_000_000;
/// Channels that are looked at before the search is given up.
const LOOKS: u64 = 2_000_000_000;
/// Routes of which no other is a part; with more, not all ways to spread them are tried.
const ROUTES: usize = 400;
/// Routes that are put on a lane while all ways are tried, before that is given up.
const TRIES: u64 = 300_000;
/// Orders in which routes are put back.
const ORDERS: u64 = 6;

/// How the search for lanes ended.
pub(super) enum Spread {
    /// These levels, and how many pairs of a node and an address have another than before.
    Found(Box<VirtualLanes>, u64),
    /// There are none: all ways were tried.
    Proven,
    /// None were found: there may be some.
    GivenUp,
}

/// Turns that are on a lane whatever happens to the routes: those of groups.
pub(super) type Fixed<'a> = (u32, &'a [(ChannelId, ChannelId)]);

/// The routes from the nodes of a switch that have the same service level to all addresses of a node, which share a level: `OpenSM` takes levels by port.
struct Route {
    nodes: Vec<NodeId>,
    to: NodeId,
    /// The lane that it had before.
    before: u32,
    /// For each address, the channels on the way.
    ways: Vec<std::ops::Range<usize>>,
}

/// All routes with at least two channels on a way: the others wait for nothing.
struct Routes {
    all: Vec<Route>,
    channels: Vec<u32>,
}

impl Routes {
    /// `None` if there are too many.
    fn new(tables: &ForwardingTables, before: &VirtualLanes) -> Option<Self> {
        let network = &*tables.network;
        let mut routes = Self { all: Vec::new(), channels: Vec::new() };
        for to in network.node_ids() {
            let places = tables.addresses_of(Target::Node(to));
            let Some(address) = places.clone().find_map(|place| tables.destinations()[place].address) else { continue };
            for source in network.router_ids().filter(|&router| network.nodes_of(router).len() > 0) {
                let mut ways = Vec::new();
                for place in places.clone() {
                    let first = routes.channels.len();
                    let mut at = source;
                    while let Some(Output::Channel(channel)) = tables.output(at, place) {
                        routes.channels.push(channel.raw());
                        at = network.to(channel);
                        if routes.channels.len() > HOPS {
                            return None;
                        }
                    }
                    let way = first..routes.channels.len();
                    if way.len() < 2 {
                        routes.channels.truncate(first);
                    } else {
                        ways.push(way);
                    }
                }
                if ways.is_empty() {
                    continue;
                }
                let mut by_level: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
                for node in network.nodes_of(source).filter(|&node| node != to) {
                    let level = before.level(node, address).unwrap_or(0);
                    by_level.entry(u32::from(level)).or_default().push(node);
                }
                for (before, nodes) in by_level {
                    routes.all.push(Route { nodes, to, before, ways: ways.clone() });
                }
            }
        }
        Some(routes)
    }

    fn edges(&self, route: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let ways = self.all[route].ways.iter().flat_map(|way| self.channels[way.clone()].windows(2));
        ways.map(|pair| (pair[0], pair[1]))
    }

    fn length(&self, route: usize) -> usize {
        self.all[route].ways.iter().map(ExactSizeIterator::len).sum()
    }
}

/// What waits for what on each lane, with how many routes do, and the channels that have been looked at.
#[derive(Clone)]
struct Lanes {
    /// By lane and channel that is held: those that are requested, and by how many routes.
    requested: Vec<HashMap<u32, Vec<(u32, u32)>>>,
    channels: usize,
    looks: u64,
}

impl Lanes {
    fn new(channels: usize, lanes: u32, fixed: Option<Fixed<'_>>) -> Self {
        let mut all = Self { requested: vec![HashMap::new(); lanes as usize], channels, looks: 0 };
        if let Some((lane, turns)) = fixed {
            for &(held, next) in turns {
                all.add(lane, (held.raw(), next.raw()));
            }
        }
        all
    }

    fn add(&mut self, lane: u32, (held, next): (u32, u32)) {
        let row = self.requested[lane as usize].entry(held).or_default();
        match row.iter_mut().find(|(other, _)| *other == next) {
            Some((_, routes)) => *routes += 1,
            None => row.push((next, 1)),
        }
    }

    fn remove(&mut self, lane: u32, (held, next): (u32, u32)) {
        let Some(row) = self.requested[lane as usize].get_mut(&held) else { return };
        if let Some(place) = row.iter().position(|&(other, _)| other == next) {
            row[place].1 -= 1;
            if row[place].1 == 0 {
                row.swap_remove(place);
            }
        }
    }

    fn row(&self, lane: u32, held: u32) -> &[(u32, u32)] {
        self.requested[lane as usize].get(&held).map_or(&[], Vec::as_slice)
    }

    /// The dependencies of a cycle on a lane.
    fn cycle(&mut self, lane: u32) -> Option<Vec<(u32, u32)>> {
        let mut seen = FixedBitSet::with_capacity(self.channels);
        let mut is_open = FixedBitSet::with_capacity(self.channels);
        let mut starts: Vec<u32> = self.requested[lane as usize].keys().copied().collect();
        starts.sort_unstable();
        for start in starts {
            if seen.put(start as usize) {
                continue;
            }
            is_open.insert(start as usize);
            let mut way = vec![(start, 0)];
            while let Some((at, next)) = way.last_mut() {
                let (held, place) = (*at, *next);
                *next += 1;
                self.looks += 1;
                let Some(&(next, _)) = self.row(lane, held).get(place) else {
                    is_open.set(held as usize, false);
                    way.pop();
                    continue;
                };
                if is_open.contains(next as usize) {
                    let first = way.iter().position(|&(at, _)| at == next).unwrap_or(0);
                    let ends = way[first..].iter().map(|&(at, _)| at);
                    let after = way[first + 1..].iter().map(|&(at, _)| at).chain([next]);
                    return Some(ends.zip(after).collect());
                }
                if !seen.put(next as usize) {
                    is_open.insert(next as usize);
                    way.push((next, 0));
                }
            }
        }
        None
    }

    /// Adds a route to a lane that has no cycle, unless it closes one there.
    fn take(&mut self, lane: u32, edges: &[(u32, u32)]) -> bool {
        let is_there = |&(held, next): &(u32, u32)| self.row(lane, held).iter().any(|&(other, _)| other == next);
        let new: Vec<(u32, u32)> = edges.iter().copied().filter(|edge| !is_there(edge)).collect();
        for &edge in edges {
            self.add(lane, edge);
        }
        let closes = new.iter().any(|&(held, next)| self.leads(lane, next, held));
        if closes {
            for &edge in edges {
                self.remove(lane, edge);
            }
        }
        !closes
    }

    fn leads(&mut self, lane: u32, from: u32, to: u32) -> bool {
        let mut seen = FixedBitSet::with_capacity(self.channels);
        let mut work = vec![from];
        seen.insert(from as usize);
        while let Some(at) = work.pop() {
            self.looks += 1;
            if at == to {
                return true;
            }
            work.extend(self.row(lane, at).iter().map(|&(next, _)| next).filter(|&next| !seen.put(next as usize)));
        }
        false
    }
}

/// Puts routes on as many lanes, so that no lane has a cycle, beside what is fixed; routes keep the lane that they had where they can. Before, all addresses of a
/// node have the same level from each other one, and so they have afterwards.
///
/// Routes behind the dependency of a cycle that the fewest take are taken off their lane until none has a cycle, and put back where they close none:
/// where they were, or else on the first lane. In several orders, and last, in small networks, all ways are tried.
pub(super) fn spread(tables: &ForwardingTables, before: &VirtualLanes, lanes: u32, fixed: Option<Fixed<'_>>) -> Spread {
    let Some(routes) = Routes::new(tables, before) else { return Spread::GivenUp };
    let channels = tables.network.channels();
    match greedy(&routes, channels, lanes, fixed) {
        Some(chosen) => assigned(tables, before, lanes, &routes, &chosen),
        None => match exact(&routes, channels, lanes, fixed) {
            Some(Some(chosen)) => assigned(tables, before, lanes, &routes, &chosen),
            Some(None) => Spread::Proven,
            None => Spread::GivenUp,
        },
    }
}

/// A lane for each route, if that is found without trying all.
fn greedy(routes: &Routes, channels: usize, lanes: u32, fixed: Option<Fixed<'_>>) -> Option<Vec<u32>> {
    let mut all = Lanes::new(channels, lanes, fixed);
    let mut chosen: Vec<Option<u32>> = Vec::with_capacity(routes.all.len());
    let mut by_edge: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for (number, route) in routes.all.iter().enumerate() {
        let lane = Some(route.before).filter(|&lane| lane < lanes);
        chosen.push(lane);
        for edge in routes.edges(number) {
            by_edge.entry(edge).or_default().push(number as u32);
            if let Some(lane) = lane {
                all.add(lane, edge);
            }
        }
    }
    for lane in 0..lanes {
        step("spreading routes over lanes", "lanes", lane as usize, lanes as usize);
        while let Some(cycle) = all.cycle(lane) {
            let on_lane = |edge: &(u32, u32)| {
                let routes = by_edge.get(edge).into_iter().flatten();
                routes.copied().filter(|&route| chosen[route as usize] == Some(lane)).collect::<Vec<u32>>()
            };
            let is_fixed = |edge: &(u32, u32)| {
                let turn = (ChannelId::new(edge.0), ChannelId::new(edge.1));
                fixed.is_some_and(|(own, turns)| own == lane && turns.contains(&turn))
            };
            let weight = |edge: &(u32, u32)| -> usize {
                on_lane(edge).into_iter().map(|route| routes.all[route as usize].nodes.len()).sum()
            };
            let edge = cycle.iter().filter(|edge| !is_fixed(edge)).min_by_key(|edge| weight(edge))?;
            for route in on_lane(edge) {
                routes.edges(route as usize).for_each(|edge| all.remove(lane, edge));
                chosen[route as usize] = None;
            }
            if all.looks > LOOKS {
                return None;
            }
        }
    }
    let mut pending: Vec<usize> = (0..chosen.len()).filter(|&route| chosen[route].is_none()).collect();
    pending.sort_by_key(|&route| std::cmp::Reverse(routes.length(route)));
    for order in 0..ORDERS {
        if order > 0 {
            pending.sort_by_key(|&route| split_mix::mix(order << 32 | route as u64));
        }
        let (mut lanes_now, mut chosen) = (all.clone(), chosen.clone());
        let mut put = |&route: &usize| {
            let edges: Vec<(u32, u32)> = routes.edges(route).collect();
            let before = routes.all[route].before;
            let others = (0..lanes).filter(|&lane| lane != before);
            let lane = Some(before).filter(|&lane| lane < lanes).into_iter().chain(others);
            chosen[route] = lane.into_iter().find(|&lane| lanes_now.take(lane, &edges));
            chosen[route].is_some() && lanes_now.looks <= LOOKS
        };
        if pending.iter().all(&mut put) {
            return chosen.into_iter().collect();
        }
    }
    None
}

/// A lane for each route by trying all ways, or that there is none; `None` if there are too many.
#[allow(clippy::option_option, reason = "nobody knows, there is none, or this one")]
fn exact(routes: &Routes, channels: usize, lanes: u32, fixed: Option<Fixed<'_>>) -> Option<Option<Vec<u32>>> {
    // A route that is a part of another can always be on its lane.
    let mut longest: Vec<usize> = (0..routes.all.len()).collect();
    longest.sort_by_key(|&route| (std::cmp::Reverse(routes.length(route)), route));
    let mut edges: Vec<Vec<(u32, u32)>> = Vec::new();
    for route in longest {
        let own: Vec<(u32, u32)> = routes.edges(route).collect();
        if !edges.iter().any(|other| own.iter().all(|edge| other.contains(edge))) {
            edges.push(own);
        }
        if edges.len() > ROUTES {
            return None;
        }
    }
    let mut all = Lanes::new(channels, lanes, fixed);
    if fixed.is_some_and(|(lane, _)| all.cycle(lane).is_some()) {
        return Some(None);
    }
    // The lane of each route so far, from which the search goes back.
    let mut chosen: Vec<u32> = Vec::with_capacity(edges.len());
    let mut tries = 0;
    let mut from = 0;
    while chosen.len() < edges.len() {
        let own = &edges[chosen.len()];
        // Of lanes on which nothing is, one is as good as another.
        let is_empty = |lane: u32, chosen: &[u32]| !chosen.contains(&lane) && fixed.is_none_or(|(own, _)| own != lane);
        let first_empty = (0..lanes).find(|&lane| is_empty(lane, &chosen));
        let candidates = (from..lanes).filter(|&lane| !is_empty(lane, &chosen) || Some(lane) == first_empty);
        let candidates: Vec<u32> = candidates.collect();
        let found = candidates.into_iter().find(|&lane| {
            tries += 1;
            all.take(lane, own)
        });
        if tries > TRIES || all.looks > LOOKS {
            return None;
        }
        match found {
            Some(lane) => {
                chosen.push(lane);
                from = 0;
            }
            None => {
                let Some(lane) = chosen.pop() else { return Some(None) };
                edges[chosen.len()].iter().for_each(|&edge| all.remove(lane, edge));
                from = lane + 1;
            }
        }
    }
    // All routes, where they were if they close nothing there.
    let mut lanes_of = Vec::with_capacity(routes.all.len());
    for route in 0..routes.all.len() {
        let own: Vec<(u32, u32)> = routes.edges(route).collect();
        let before = Some(routes.all[route].before).filter(|&lane| lane < lanes);
        let lane = before.into_iter().chain(0..lanes).find(|&lane| all.take(lane, &own))?;
        lanes_of.push(lane);
    }
    Some(Some(lanes_of))
}

/// The levels of the chosen lanes.
fn assigned(tables: &ForwardingTables, before: &VirtualLanes, lanes: u32, routes: &Routes, chosen: &[u32]) -> Spread {
    let mut levels = before.clone().with_lanes(lanes);
    let mut moved = 0;
    for (route, &lane) in routes.all.iter().zip(chosen) {
        let places = tables.addresses_of(Target::Node(route.to)).filter(|_| lane != route.before);
        for address in places.filter_map(|place| tables.destinations()[place].address) {
            moved += route.nodes.len() as u64;
            route.nodes.iter().for_each(|&node| levels.set_level(node, address, lane as u8));
        }
    }
    // Routes of one channel wait for nothing.
    moved += levels.hold_below(lanes);
    Spread::Found(Box::new(levels), moved)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wormcast_network::{Network, RouterId};

    use super::*;
    use crate::forwarding_tables::{Destination, UnicastWaits};

    /// A number below a limit, the next of a sequence.
    fn draw(state: &mut u64, limit: usize) -> usize {
        *state += 1;
        (split_mix::mix(*state) % limit as u64) as usize
    }

    /// Few routers with a node each, linked at random, and for each node a random tree of routes, with addresses.
    fn random_tables(state: &mut u64) -> ForwardingTables {
        let routers = 4 + draw(state, 2);
        let mut links: Vec<(u32, u32)> = (1..routers).map(|v| (draw(state, v) as u32, v as u32)).collect();
        for _ in 0..draw(state, 4) {
            let (a, b) = (draw(state, routers) as u32, draw(state, routers) as u32);
            if a != b && !links.contains(&(a, b)) && !links.contains(&(b, a)) {
                links.push((a, b));
            }
        }
        let network: Arc<Network> = Network::from_links("random", routers, &links);
        let mut entries = Vec::new();
        for node in network.node_ids() {
            let target = Destination { target: Target::Node(node), address: Some(1 + node.raw() as u16) };
            entries.push((target, network.router_of(node), Output::Node(node)));
            let mut joined = vec![network.router_of(node)];
            while joined.len() < routers {
                let at = joined[draw(state, joined.len())];
                let channels: Vec<ChannelId> = network.outputs(at).collect();
                let into = network.reverse(channels[draw(state, channels.len())]);
                if !joined.contains(&network.from(into)) {
                    joined.push(network.from(into));
                    entries.push((target, network.from(into), Output::Channel(into)));
                }
            }
        }
        ForwardingTables::new(&network, &entries).unwrap()
    }

    fn is_free(routes: &Routes, channels: usize, lanes: u32, fixed: Option<Fixed<'_>>, chosen: &[u32]) -> bool {
        let mut all = Lanes::new(channels, lanes, fixed);
        for (route, &lane) in chosen.iter().enumerate() {
            routes.edges(route).for_each(|edge| all.add(lane, edge));
        }
        (0..lanes).all(|lane| all.cycle(lane).is_none())
    }

    #[test]
    fn what_is_found_has_no_cycle_and_what_is_proven_is_so() {
        let mut state = 3;
        let (mut found, mut proven, mut moved_all) = (0, 0, 0);
        for _ in 0..1500 {
            let tables = random_tables(&mut state);
            let network = Arc::clone(&tables.network);
            let before = VirtualLanes::new(&network).unwrap();
            let routes = Routes::new(&tables, &before).unwrap();
            let lanes = 1 + draw(&mut state, 2) as u32;
            let turns: Vec<(ChannelId, ChannelId)> = network
                .channel_ids()
                .flat_map(|held| network.outputs(network.to(held)).map(move |next| (held, next)))
                .filter(|&(held, next)| next != network.reverse(held))
                .filter(|_| draw(&mut state, 4) == 0)
                .collect();
            let fixed = Some((0, &turns[..])).filter(|_| draw(&mut state, 2) == 0);
            if routes.all.len() > 12 {
                continue;
            }
            let ways = (0..u64::from(lanes).pow(routes.all.len() as u32)).map(|mut way| {
                let mut lane = || {
                    let lane = way % u64::from(lanes);
                    way /= u64::from(lanes);
                    lane as u32
                };
                (0..routes.all.len()).map(|_| lane()).collect::<Vec<u32>>()
            });
            let channels = network.channels();
            let exists = ways.into_iter().any(|way| is_free(&routes, channels, lanes, fixed, &way));
            let tried = exact(&routes, channels, lanes, fixed).expect("few routes");
            assert_eq!(tried.is_some(), exists);
            if let Some(way) = tried {
                assert!(is_free(&routes, channels, lanes, fixed, &way));
            }
            if let Some(way) = greedy(&routes, channels, lanes, fixed) {
                assert!(is_free(&routes, channels, lanes, fixed, &way));
            }
            match spread(&tables, &before, lanes, fixed) {
                Spread::Found(levels, moved) => {
                    found += 1;
                    moved_all += moved;
                    let own = UnicastWaits::in_lanes(&tables, &levels);
                    assert!(exists && own.numbering().is_some());
                    // Nothing moves if nothing has to.
                    let all_before = vec![0; routes.all.len()];
                    assert_eq!(moved == 0, is_free(&routes, channels, lanes, fixed, &all_before));
                }
                Spread::Proven => {
                    proven += 1;
                    assert!(!exists);
                }
                Spread::GivenUp => panic!("few routes"),
            }
        }
        assert!(found > 100 && proven > 50 && moved_all > 50, "{found} found, {proven} proven, {moved_all} moved");
    }

    /// A lane has no cycle if one of the five steps from a channel to the next is taken by none of its routes. Routes of four channels take three steps in a row,
    /// among which are any two of the five for some route: so two lanes are not enough.
    #[test]
    fn one_way_round_a_ring_of_five_takes_three_lanes() {
        let ring = Network::from_links("ring", 5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
        let mut entries = Vec::new();
        for node in ring.node_ids() {
            let target = Destination { target: Target::Node(node), address: Some(1 + node.raw() as u16) };
            for router in ring.router_ids() {
                let next = RouterId::new((router.raw() + 1) % 5);
                let onward = ring.channel_between(router, next).map(Output::Channel).unwrap();
                entries.push((
                    target,
                    router,
                    if ring.router_of(node) == router { Output::Node(node) } else { onward },
                ));
            }
        }
        let tables = ForwardingTables::new(&ring, &entries).unwrap();
        let before = VirtualLanes::new(&ring).unwrap();
        assert!((1..=2).all(|lanes| matches!(spread(&tables, &before, lanes, None), Spread::Proven)));
        let Spread::Found(levels, moved) = spread(&tables, &before, 3, None) else { panic!("three lanes are enough") };
        // Three routes of four channels, two of three and one of two take a step.
        assert!((6..=10).contains(&moved), "{moved}");
        let read = VirtualLanes::new(&ring).unwrap().with_levels(&tables, "levels", &levels.text(&tables)).unwrap();
        assert!(UnicastWaits::in_lanes(&tables, &read).numbering().is_some());
        // Levels beyond the lanes that there are go, those of the shortest routes, too.
        let mut high = before;
        for (node, address) in ring.node_ids().flat_map(|node| (1..=5).map(move |address| (node, address))) {
            high.set_level(node, address, 7);
        }
        let Spread::Found(lower, _) = spread(&tables, &high, 3, None) else { panic!("three lanes are enough") };
        assert_eq!(lower.count(), 3);
        let ends_low = |line: &str| ["0", "1", "2"].iter().any(|level| line.ends_with(level));
        assert!(lower.text(&tables).lines().all(ends_low), "{}", lower.text(&tables));
        let policy = levels.policy(&tables);
        assert!(policy.starts_with("port-groups\n") && policy.contains("sl: 1"), "{policy}");
    }

    /// To the first address of each node one way round a ring, to the second the other way round. Shared out by address, other sources move for the one than for
    /// the other; shared out by node they do not.
    #[test]
    fn all_addresses_of_a_node_are_on_one_lane() {
        let ring = Network::from_links("ring", 5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
        let mut entries = Vec::new();
        for (node, way) in ring.node_ids().flat_map(|node| [(node, 1), (node, 4)]) {
            let address = Some(2 * node.raw() as u16 + if way == 1 { 1 } else { 2 });
            let target = Destination { target: Target::Node(node), address };
            for router in ring.router_ids() {
                let next = RouterId::new((router.raw() + way) % 5);
                let onward = ring.channel_between(router, next).map(Output::Channel).unwrap();
                let own = ring.router_of(node) == router;
                entries.push((target, router, if own { Output::Node(node) } else { onward }));
            }
        }
        let tables = ForwardingTables::new(&ring, &entries).unwrap();
        let before = VirtualLanes::new(&ring).unwrap();
        let Spread::Found(levels, moved) = spread(&tables, &before, 4, None) else { panic!("four lanes are enough") };
        assert!(moved > 0 && moved.is_multiple_of(2), "{moved}");
        assert!(UnicastWaits::in_lanes(&tables, &levels).numbering().is_some());
        assert_eq!(levels.differing(&tables), []);
        // By address, no policy says it.
        let mut by_address = levels.clone();
        let (source, address) = (NodeId::new(0), 3);
        by_address.set_level(source, address, 1 - levels.level(source, address).unwrap().min(1));
        let level = levels.level(source, address).unwrap();
        assert_eq!(by_address.differing(&tables), [(source, 4, by_address.level(source, address).unwrap())]);
        assert_ne!(by_address.level(source, address), Some(level));
        assert_eq!((by_address.policy(&tables), levels.policy(&tables).is_empty()), (String::new(), false));
    }
}
