//! What unicasts by tables hold while they wait, channel by channel or lane by lane.

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, NodeId};

use super::analysis::Row;
use super::lanes::{Arrival, VirtualLanes};
use super::{ForwardingTables, Output, Target};
use crate::analysis::dependency::Dependencies;
use crate::analysis::witness::Witness;

/// What the packets of unicasts from every node to every address of every other hold, and what they request meanwhile.
///
/// Channels are those of the network, or, where there are [lanes](VirtualLanes), those of the [network in lanes](Network::in_lanes).
///
/// Memory: 4 bytes a dependency and 24 a channel.
#[derive(Clone, Debug)]
pub struct UnicastWaits {
    /// By channel that is held, sorted.
    requested: Vec<Vec<u32>>,
    /// Channels that packets take first.
    starts: Vec<bool>,
    /// Pairs of a source and an address whose packets are dropped, because a switch puts them on no lane for data.
    pub dropped: u64,
    /// Pairs of a source and an address of which no service level is said, though others of the source are. They are taken for level 0.
    pub without_level: u64,
}

impl UnicastWaits {
    fn empty(channels: usize) -> Self {
        Self { requested: vec![Vec::new(); channels], starts: vec![false; channels], dropped: 0, without_level: 0 }
    }

    /// Those of no unicasts at all.
    pub fn none(network: &Network) -> Self {
        Self::empty(network.channels())
    }

    /// These and further dependencies.
    #[must_use]
    pub fn with(mut self, further: impl IntoIterator<Item = (ChannelId, ChannelId)>) -> Self {
        for (held, next) in further {
            self.insert(held.raw(), next.raw());
        }
        self
    }

    fn insert(&mut self, held: u32, next: u32) {
        let requested = &mut self.requested[held as usize];
        if let Err(place) = requested.binary_search(&next) {
            requested.insert(place, next);
        }
    }

    /// By channels alone; packets that do not arrive hold what they have passed all the same. O(entries).
    pub fn by_channel(tables: &ForwardingTables) -> Self {
        let network = &*tables.network;
        let mut waits = Self::empty(network.channels());
        let mut row = Row::new(network);
        let with_nodes: Vec<bool> = network.router_ids().map(|router| network.nodes_of(router).len() > 0).collect();
        for (place, destination) in tables.destinations().iter().enumerate() {
            let Target::Node(node) = destination.target else { continue };
            step("following the tables", "destinations", place, tables.destinations().len());
            for (router, output) in tables.entries_for(place) {
                if let (Output::Channel(channel), true) = (output, with_nodes[router.index()]) {
                    waits.starts[channel.index()] = true;
                }
            }
            row.load(tables, place..place + 1);
            row.dependencies(node, |held, next| waits.insert(held.raw(), next.raw()));
        }
        waits
    }

    /// Lane by lane: O(pairs of nodes x distance), mostly less.
    pub fn in_lanes(tables: &ForwardingTables, lanes: &VirtualLanes) -> Self {
        let network = &*tables.network;
        let vertices = network.channels() * lanes.count() as usize;
        let mut waits = Self::empty(vertices);
        let mut row = Row::new(network);
        // For each lane of a channel and level, the last destination to which packets were followed from there, and whether they are dropped.
        let mut followed = vec![[(0u32, false); 16]; vertices];
        let mut way: Vec<u32> = Vec::new();
        for (place, destination) in (1u32..).zip(tables.destinations()) {
            let Target::Node(node) = destination.target else { continue };
            step("following the tables", "destinations", place as usize, tables.destinations().len());
            row.load(tables, place as usize - 1..place as usize);
            for source in network.node_ids().filter(|&source| source != node) {
                let level = destination.address.map_or(Some(0), |address| lanes.level(source, address));
                waits.without_level += u64::from(level.is_none());
                let further = destination.address.into_iter().flat_map(|to| lanes.further_levels(source, to));
                let mut is_dropped = false;
                for level in std::iter::once(level.unwrap_or(0)).chain(further) {
                    let mut route = Route::new(network, lanes, &row, source, level);
                    way.clear();
                    let mut known = None;
                    for next in &mut route {
                        match way.last() {
                            None => waits.starts[next as usize] = true,
                            Some(&held) => waits.insert(held, next),
                        }
                        let (last, dropped) = &mut followed[next as usize][usize::from(level)];
                        if std::mem::replace(last, place) == place {
                            known = Some(*dropped);
                            break;
                        }
                        *dropped = false;
                        way.push(next);
                    }
                    let dropped = known.unwrap_or(route.dropped);
                    if dropped {
                        for &on in &way {
                            followed[on as usize][usize::from(level)].1 = true;
                        }
                    }
                    is_dropped |= dropped;
                }
                waits.dropped += u64::from(is_dropped);
            }
        }
        waits
    }

    /// All dependencies, as (held, requested), sorted.
    pub fn pairs(&self) -> impl Iterator<Item = (ChannelId, ChannelId)> + '_ {
        let rows = (0u32..).zip(&self.requested);
        rows.flat_map(|(held, row)| row.iter().map(move |&next| (ChannelId::new(held), ChannelId::new(next))))
    }

    /// The channels on which one depends directly.
    pub fn requested(&self, held: ChannelId) -> impl Iterator<Item = ChannelId> + '_ {
        self.requested[held.index()].iter().map(|&next| ChannelId::new(next))
    }

    /// The channels that packets take first.
    pub(super) fn starts(&self) -> impl Iterator<Item = ChannelId> + '_ {
        (0u32..).zip(&self.starts).filter(|&(_, &start)| start).map(|(channel, _)| ChannelId::new(channel))
    }

    /// A number for each channel that rises along all of these; `None` if they close a cycle. O(dependencies).
    pub fn numbering(&self) -> Option<Vec<u32>> {
        let mut left = vec![0u32; self.requested.len()];
        self.pairs().for_each(|(_, next)| left[next.index()] += 1);
        let mut work: Vec<u32> =
            (0u32..).zip(&left).filter(|&(_, &left)| left == 0).map(|(channel, _)| channel).collect();
        let mut numbers = vec![0; left.len()];
        let mut numbered = 0;
        while let Some(channel) = work.pop() {
            numbers[channel as usize] = numbered;
            numbered += 1;
            for &next in &self.requested[channel as usize] {
                left[next as usize] -= 1;
                work.extend((left[next as usize] == 0).then_some(next));
            }
        }
        (numbered as usize == numbers.len()).then_some(numbers)
    }

    /// Whether these and further dependencies together close a cycle, where `numbering` is a [numbering](Self::numbering) of these. O(further ones) if
    /// all of them rise with it, too; else the time to follow those that do not.
    pub fn closes_with(&self, numbering: &[u32], further: &[(ChannelId, ChannelId)]) -> bool {
        let falls = |&&(held, next): &&(ChannelId, ChannelId)| numbering[held.index()] >= numbering[next.index()];
        let mut falling = further.iter().filter(falls).map(|&(_, next)| next).peekable();
        if falling.peek().is_none() {
            return false;
        }
        let mut rows: Vec<(ChannelId, ChannelId)> = further.to_vec();
        rows.sort_unstable();
        // Each cycle has one that falls, so every cycle can be come by from where one of them leads.
        let onward = |at: ChannelId, work: &mut Vec<ChannelId>| {
            work.extend(self.requested(at));
            let first = rows.partition_point(|&(held, _)| held < at);
            work.extend(rows[first..].iter().take_while(|&&(held, _)| held == at).map(|&(_, next)| next));
        };
        // Open while it is on the way that is followed.
        let (mut is_open, mut is_done) =
            (FixedBitSet::with_capacity(self.requested.len()), FixedBitSet::with_capacity(self.requested.len()));
        let mut work: Vec<ChannelId> = Vec::new();
        for start in falling {
            work.push(start);
            while let Some(&at) = work.last() {
                if is_done.contains(at.index()) {
                    work.pop();
                } else if is_open.put(at.index()) {
                    // All that it leads to is done.
                    is_done.insert(at.index());
                    work.pop();
                } else {
                    let first = work.len();
                    onward(at, &mut work);
                    if work[first..]
                        .iter()
                        .any(|next| is_open.contains(next.index()) && !is_done.contains(next.index()))
                    {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// These as dependencies on a network: the one that they are of, in lanes if there are any.
    pub fn dependencies<'n>(&self, network: &'n Network) -> Dependencies<'n> {
        Dependencies::of_pairs(network, self.pairs().map(|(held, next)| (held.raw(), next.raw())).collect())
    }
}

/// The lanes of channels that packets of a level take one after the other, as long as they are on a lane for data.
struct Route<'a> {
    network: &'a Network,
    lanes: &'a VirtualLanes,
    row: &'a Row<'a>,
    at: Arrival,
    level: u8,
    dropped: bool,
}

impl<'a> Route<'a> {
    fn new(network: &'a Network, lanes: &'a VirtualLanes, row: &'a Row<'a>, source: NodeId, level: u8) -> Self {
        Self { network, lanes, row, at: Arrival::Node(source), level, dropped: false }
    }
}

impl Iterator for Route<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let router = match self.at {
            Arrival::Node(node) => self.network.entry_of(node),
            Arrival::Channel(channel) => self.network.to(channel),
        };
        let channel = self.row.onward(router)?;
        let lane = self.lanes.lane(self.at, channel, self.level);
        self.dropped = lane.is_none();
        self.at = Arrival::Channel(channel);
        Some(channel.raw() * self.lanes.count() + lane?)
    }
}

impl<'n> Dependencies<'n> {
    /// The dependencies of messages from every node to every address of every other, as tables route them; those that do not
    /// arrive hold what they have passed all the same. O(entries).
    pub fn of_tables(tables: &'n ForwardingTables) -> Self {
        UnicastWaits::by_channel(tables).dependencies(&tables.network)
    }

    /// Only what such unicasts can be held up by: dependencies between channels that are reached from those at which hosts' messages begin.
    #[must_use]
    pub fn reached_by_hosts(self, unicasts: &UnicastWaits) -> Self {
        self.reached_from(unicasts.starts().collect())
    }
}

/// The messages that hold one lane of a channel and then request another, each as (channel, lane): how many there are, and at most `limit` of them.
/// O(destinations that are routed so x nodes x distance).
pub fn witness_in_lanes(
    tables: &ForwardingTables,
    lanes: &VirtualLanes,
    [held, requested]: [(ChannelId, u32); 2],
    limit: usize,
) -> Witness {
    let mut witness = Witness { pairs: Some(0), examples: Vec::new() };
    let network = &*tables.network;
    let mut row = Row::new(network);
    let leads = |(channel, _): (ChannelId, u32), place| {
        tables.output(network.from(channel), place) == Some(Output::Channel(channel))
    };
    let vertex = |(channel, lane): (ChannelId, u32)| channel.raw() * lanes.count() + lane;
    // A pair of nodes counts once, whichever of the destination's addresses it is about.
    let mut counted: (Option<NodeId>, BTreeSet<NodeId>) = (None, BTreeSet::new());
    for (place, destination) in tables.destinations().iter().enumerate() {
        let Target::Node(node) = destination.target else { continue };
        if counted.0 != Some(node) {
            counted = (Some(node), BTreeSet::new());
        }
        if !leads(held, place) || !leads(requested, place) {
            continue;
        }
        row.load(tables, place..place + 1);
        for source in network.node_ids().filter(|&source| source != node) {
            let level = destination.address.and_then(|address| lanes.level(source, address)).unwrap_or(0);
            let further = destination.address.into_iter().flat_map(|to| lanes.further_levels(source, to));
            let is_taken = std::iter::once(level).chain(further).any(|level| {
                // No route that goes on is longer than this.
                let route = Route::new(network, lanes, &row, source, level).take(network.channels() + 1);
                let mut before = None;
                let mut takes = route.map(|next| (before.replace(next), next));
                takes.any(|step| step == (Some(vertex(held)), vertex(requested)))
            });
            if is_taken && counted.1.insert(source) {
                witness.pairs = witness.pairs.map(|pairs| pairs + 1);
                if witness.examples.len() < limit {
                    witness.examples.push((source, node));
                }
            }
        }
    }
    witness
}
