//! Worms that cause a dependency.

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, NodeId, RouterId};

use super::dependency::virtual_channels::{legs_of_unicasts, numbers, on_links};
use crate::capabilities::Lanes;
use crate::relation::RoutingRelation;

/// Worms that hold one channel and wait for another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The number of (source, destination) pairs, if they have been counted.
    pub pairs: Option<u64>,
    /// Some of the pairs.
    pub examples: Vec<(NodeId, NodeId)>,
}

/// A unicast that may take `held` and then `requested`, routed by `relation`: one for each of at most `limit` destinations.
///
/// O(routers x channels) at worst.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{ECube, witness_of_relation};
///
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let channel = |from, to| line.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
/// let witness = witness_of_relation(&ECube::new(&line)?, (channel(1, 2), channel(2, 3)), 3);
/// assert_eq!(witness.examples.len(), 1);
/// assert_eq!(witness.examples[0].1.raw(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn witness_of_relation(
    relation: &dyn RoutingRelation,
    (held, requested): (ChannelId, ChannelId),
    limit: usize,
) -> Witness {
    let network = relation.network();
    let routers = || network.router_ids();
    let first_node = |router: RouterId| network.nodes_of(router).next();
    let mut witness = Witness { pairs: None, examples: Vec::new() };
    let spread = relation.spreading();
    let mut candidates = Vec::new();
    // The router where a worm that reaches a channel started.
    let mut start: Vec<Option<RouterId>> = vec![None; network.channels()];
    let mut work: Vec<ChannelId> = Vec::new();
    for target in routers() {
        step("looking for worms of the cycle", "destinations", target.index(), network.routers());
        if witness.examples.len() >= limit {
            break;
        }
        let Some(destination) = first_node(target) else { continue };
        spread(network.to(held), Some(held), target, &mut candidates);
        if network.to(held) == target || !candidates.contains(&requested) {
            continue;
        }
        start.fill(None);
        for source in routers().filter(|&source| source != target && first_node(source).is_some()) {
            spread(source, None, target, &mut candidates);
            for &channel in &candidates {
                if start[channel.index()].is_none() {
                    start[channel.index()] = Some(source);
                    work.push(channel);
                }
            }
            while let Some(channel) = work.pop() {
                spread(network.to(channel), Some(channel), target, &mut candidates);
                for &next in &candidates {
                    if start[next.index()].is_none() {
                        start[next.index()] = Some(source);
                        work.push(next);
                    }
                }
            }
            if start[held.index()].is_some() {
                break;
            }
        }
        let source = start[held.index()].and_then(first_node);
        witness.examples.extend(source.map(|source| (source, destination)));
    }
    witness
}

/// As [`witness_of_relation`], where the relation [divides virtual channels](crate::VirtualChannels) and perhaps leads worms [over waypoints](crate::Waypoints): a unicast that may hold the one
/// virtual channel, each given as a channel and its number there, while it waits for the other, if links have `links_have`. Of a relation that does not divide them, there is none.
///
/// O(legs x virtual channels), where a leg is the way to a router from anywhere, or from a waypoint.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Valiant, witness_in_classes};
///
/// let network = "hyperx:3x3".parse::<TopologySpec>()?.build()?;
/// let channel = |from, to| network.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
/// let there_and_back = [(channel(0, 1), 0), (channel(1, 0), 0)];
/// let valiant = Valiant::new(&network)?;
/// // From 0 to 3 over 1, which is beside it.
/// let witness = witness_in_classes(&valiant, there_and_back, 1, 1);
/// assert_eq!(witness.examples[0].0.raw(), 0);
/// // Another class of virtual channels leads back.
/// assert!(witness_in_classes(&valiant, there_and_back, 2, 1).examples.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn witness_in_classes(
    relation: &dyn RoutingRelation,
    [held, requested]: [(ChannelId, u32); 2],
    links_have: usize,
    limit: usize,
) -> Witness {
    let mut witness = Witness { pairs: None, examples: Vec::new() };
    let Some(division) = relation.capabilities().virtual_channels else { return witness };
    let network = &**relation.network();
    let count = on_links(links_have);
    let number = |(channel, on): (ChannelId, u32)| channel.raw() * count + on.min(count - 1);
    let end_of = |vertex: u32| network.to(ChannelId::new(vertex / count));
    // A worm may wait further on than at the end of what it holds, if it cannot wait there.
    let there = network.to(held.0) == network.from(requested.0);
    let (held, requested) = (number(held), number(requested));
    let waits = |header: Header, next: &[u32]| {
        let holds = header.holds && (header.at == held || !there);
        holds && next.binary_search(&requested).is_ok()
    };
    let legs = legs_of_unicasts(relation, division, links_have);
    let first_node = |router: RouterId| network.nodes_of(router).next();
    let waypoints = relation.capabilities().waypoints;
    let may_lead = |source, target, over| waypoints.is_some_and(|waypoints| waypoints.may_lead(source, target, over));
    let mut lanes = Lanes::new();
    let mut reached = Reached::new(network.channels() * count as usize);
    // Headers at waypoints.
    let mut ended: Vec<(usize, Header)> = Vec::new();
    for (place, leg) in legs.iter().enumerate() {
        step("looking for worms of the cycle", "destinations", place, legs.len());
        if witness.examples.len() >= limit {
            break;
        }
        let is_last = leg.next.is_empty();
        let mut next = |at: RouterId, arrived: Option<ChannelId>| {
            lanes.clear();
            (leg.lanes)(at, arrived, &mut lanes);
            numbers(&lanes, count)
        };
        // The source of a worm that waits on this leg.
        let mut found: Option<RouterId> = None;
        reached.clear();
        let straight = leg.sources.iter().filter(|&&source| source != leg.target).map(|&source| (None, source));
        let over = ended.iter().filter(|(before, header)| {
            let is_next = legs[*before].next.contains(&place) && header.source != leg.target;
            is_next && may_lead(header.source, leg.target, legs[*before].target)
        });
        let entries: Vec<_> = straight.chain(over.map(|&(_, header)| (Some(header), header.source))).collect();
        for (before, source) in entries {
            let next_of = |vertex: u32, holds| Header { at: vertex, source, holds: holds || vertex == held };
            let first = match before {
                None => next(source, None),
                Some(header) => next(end_of(header.at), Some(ChannelId::new(header.at / count))),
            };
            if before.is_some_and(|header| waits(header, &first)) {
                found.get_or_insert(source);
            }
            let holds = before.is_some_and(|header| header.holds);
            reached.work.extend(first.into_iter().map(|vertex| next_of(vertex, holds)));
            while let Some(header) = reached.next().filter(|_| found.is_none() || !is_last) {
                if end_of(header.at) == leg.target {
                    if !is_last {
                        ended.push((place, header));
                    }
                    continue;
                }
                let onward = next(end_of(header.at), Some(ChannelId::new(header.at / count)));
                if waits(header, &onward) {
                    found.get_or_insert(source);
                }
                reached.work.extend(onward.into_iter().map(|vertex| next_of(vertex, header.holds)));
            }
            if found.is_some() && is_last {
                break;
            }
        }
        let Some(source) = found else { continue };
        let targets = if is_last { place..place + 1 } else { leg.next.clone() };
        let targets = targets.map(|leg| legs[leg].target).filter(|&target| target != source);
        for target in targets.filter(|&target| is_last || may_lead(source, target, leg.target)) {
            if let (Some(source), Some(destination)) = (first_node(source), first_node(target))
                && witness.examples.len() < limit
                && witness.examples.iter().all(|&(_, other)| other != destination)
            {
                witness.examples.push((source, destination));
            }
        }
    }
    witness
}

/// A header at the end of a virtual channel.
#[derive(Clone, Copy)]
struct Header {
    at: u32,
    source: RouterId,
    /// Whether its worm holds the virtual channel that is looked for.
    holds: bool,
}

/// How many sources of the worms that reach a virtual channel are told apart.
const SOURCES: usize = 4;

/// Where headers have been on a leg.
struct Reached {
    /// For each virtual channel, and for worms that do not hold what is looked for and those that do: the sources of some of them, as not all may send to every
    /// destination over the same waypoint.
    by: Vec<[[Option<RouterId>; SOURCES]; 2]>,
    seen: Vec<u32>,
    work: Vec<Header>,
}

impl Reached {
    fn new(vertices: usize) -> Self {
        Self { by: vec![[[None; SOURCES]; 2]; vertices], seen: Vec::new(), work: Vec::new() }
    }

    fn clear(&mut self) {
        for vertex in self.seen.drain(..) {
            self.by[vertex as usize] = [[None; SOURCES]; 2];
        }
        self.work.clear();
    }

    /// The next header to follow, of those that say something new.
    fn next(&mut self) -> Option<Header> {
        while let Some(header) = self.work.pop() {
            let sources = &mut self.by[header.at as usize][usize::from(header.holds)];
            let free = sources.iter_mut().find(|known| known.is_none_or(|known| known == header.source));
            if let Some(place) = free
                && place.is_none()
            {
                *place = Some(header.source);
                self.seen.push(header.at);
                return Some(header);
            }
        }
        None
    }
}
