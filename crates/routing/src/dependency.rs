//! Channel dependencies and the static check for deadlock.
//!
//! The check finds the greatest set of channels whose holders could block each other for ever. It generalises the
//! acyclic channel dependency graph of Dally and Seitz to multidestination worms, whose stops hold consumption channels,
//! and to trees, whose branches hold each other back. It may call a deadlock possible that no run reaches; it never misses
//! one.

use std::collections::{HashMap, VecDeque};

use fixedbitset::FixedBitSet;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use crate::relation::RoutingRelation;
use crate::turn_set::TurnSet;

mod spanning;

/// What the worms of a path-based multicast may do, whatever their destinations.
pub trait WormRule: Send + Sync {
    /// Whether a worm that arrived by `arriving` may go on by `leaving`, which starts where `arriving` ends.
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool;

    /// Whether such a worm may also deliver at the router in between, and so hold a consumption channel there while it goes
    /// on. Only asked where [`may_turn`](Self::may_turn) holds.
    fn may_stop(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool;
}

/// What decides whether the branches of a tree worm can hold each other up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branching {
    /// Every buffer takes any worm as a whole, so that a branch that waits holds no other up.
    pub whole_worms: bool,
    /// What a worm needs at a router is requested and granted one by one, not all at once.
    pub separate: bool,
}

impl Branching {
    /// Small buffers, and all that a worm needs at a router at once: lockstep, or independent branches that are reserved together.
    pub const LOCKSTEP: Self = Self { whole_worms: false, separate: false };

    /// Switches that store whole worms and forward each copy by itself: trees are as free of deadlock as unicasts over the same
    /// turns.
    pub const STORED: Self = Self { whole_worms: true, separate: true };
}

/// Something that a worm holds while it waits for something else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// A channel between two routers.
    Channel(ChannelId),
    /// The consumption channels of a node, all of them. Where a router has several nodes, the check does not tell them
    /// apart, and names the first.
    Consumption(NodeId),
}

/// A delivery that does not end its worm: it holds a consumption channel of the router that `arriving` enters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Stop {
    arriving: ChannelId,
    /// The channel by which a path goes on; `None` in a tree, whose other branches may hold the delivery up.
    leaving: Option<ChannelId>,
}

/// Which channels a worm may request while it holds which others.
///
/// Memory: 8 bytes a dependency and 12 a channel.
pub struct Dependencies<'n> {
    network: &'n Network,
    /// (held, requested), sorted and without duplicates.
    waits: Vec<(u32, u32)>,
    stops: Vec<Stop>,
    /// (held, arriving): whoever holds the one may wait for a delivery where the other ends, on another branch of its tree.
    held_up: Vec<(u32, u32)>,
    /// Channels that trees may hold which also deliver to other nodes of the router where they start.
    starts: FixedBitSet,
    /// Whether such a tree may hold the consumption channel before it is granted any of its channels.
    separate: bool,
    /// Channels that trees request together: whoever queues for one may have to wait for the others.
    together: Vec<(u32, u32)>,
    /// Worms that can hold a channel between routers at the same time.
    virtual_channels: usize,
    /// For each channel the one consumption channel of its worms, at every node; without it, all are open to all.
    classes: Option<Box<[Option<u8>]>>,
}

impl<'n> Dependencies<'n> {
    /// No dependencies: add worms to it.
    pub fn new(network: &'n Network) -> Self {
        Self {
            network,
            waits: Vec::new(),
            stops: Vec::new(),
            held_up: Vec::new(),
            starts: FixedBitSet::new(),
            separate: false,
            together: Vec::new(),
            virtual_channels: 1,
            classes: None,
        }
    }

    /// The same with so many virtual channels on every link, any of which a worm may take: more worms then hold consumption
    /// channels of the same router. Without this, there is one.
    #[must_use]
    pub fn with_virtual_channels(mut self, count: u32) -> Self {
        self.virtual_channels = count as usize;
        self
    }

    /// The dependencies of unicast worms that follow `relation` from any node to any other.
    ///
    /// Follows, for every target, all channels that a worm to it can reach: O(routers x channels).
    pub fn of_relation(network: &'n Network, relation: &dyn RoutingRelation) -> Self {
        let mut first = Vec::with_capacity(network.channels() + 1);
        let mut bits = 0;
        for channel in channels(network) {
            first.push(bits);
            bits += network.outputs(network.to(channel)).len();
        }
        let mut seen = FixedBitSet::with_capacity(bits);
        let mut reached = FixedBitSet::with_capacity(network.channels());
        let (mut work, mut candidates) = (Vec::new(), Vec::new());
        // Where no node is, no worm starts or ends.
        let ends = || routers(network).filter(|&router| network.nodes_of(router).len() > 0);
        let entering = network.entering_nodes();
        for target in ends() {
            reached.clear();
            for source in routers(network).filter(|router| entering[router.index()] > 0) {
                relation.candidates(network, source, None, target, &mut candidates);
                work.extend(candidates.iter().filter(|c| !reached.put(c.index())));
                while let Some(held) = work.pop() {
                    let at = network.to(held);
                    relation.candidates(network, at, Some(held), target, &mut candidates);
                    for &next in &candidates {
                        let position =
                            network.outputs(at).position(|c| c == next).expect("a candidate leaves its router");
                        seen.insert(first[held.index()] + position);
                        if !reached.put(next.index()) {
                            work.push(next);
                        }
                    }
                }
            }
        }
        let mut dependencies = Self::new(network);
        for held in channels(network) {
            for (position, next) in network.outputs(network.to(held)).enumerate() {
                if seen.contains(first[held.index()] + position) {
                    dependencies.waits.push((held.raw(), next.raw()));
                }
            }
        }
        dependencies
    }

    /// These: (held, requested).
    pub(crate) fn of_pairs(network: &'n Network, mut waits: Vec<(u32, u32)>) -> Self {
        waits.sort_unstable();
        waits.dedup();
        Self { waits, ..Self::new(network) }
    }

    /// The dependencies of all path worms that obey `rule`: O(channels x degree).
    pub fn of_rule(network: &'n Network, rule: &dyn WormRule) -> Self {
        let mut dependencies = Self::new(network);
        for arriving in channels(network) {
            for leaving in network.outputs(network.to(arriving)) {
                if rule.may_turn(network, arriving, leaving) {
                    dependencies.waits.push((arriving.raw(), leaving.raw()));
                    if rule.may_stop(network, arriving, leaving) {
                        dependencies.stops.push(Stop { arriving, leaving: Some(leaving) });
                    }
                }
            }
        }
        dependencies
    }

    /// Tree worms that take permitted turns only, whatever their destinations: enough of their dependencies to tell whether they
    /// can block each other, not all.
    ///
    /// *If buffers take whole worms*, a worm that waits for a channel holds only those to the router where it waits. Requested one
    /// by one, channels are waited for along permitted turns, as by unicasts. Requested together, they are not: whoever queues for
    /// one of them waits for all, also for those that it could not turn into itself.
    ///
    /// *Else* a branch that waits holds up the others. Where a way of three links x - s - y - z is permitted, two trees can block
    /// each other: one from s holds s - x and waits for y - z, the other from y holds y - z and waits for s - x. Then these are
    /// listed, one such pair for each link in the middle, and the turns. Elsewhere a worm that holds a channel may wait for every
    /// channel that it may turn into, for those that come after a sibling of a channel on the way to the one held, and for a
    /// delivery at the end of that sibling. All branches at a router are requested together, every router with a node may be
    /// delivered to, and a router with several by worms that start there. If channels are requested one by one, a worm may hold
    /// one and wait for a sibling of it, whichever that is.
    ///
    /// It counts trees that nobody would send, such as those that enter a router twice without need, so it may call a
    /// deadlock possible where there is none (a ring of three routers). O(turns), or O(channels x degree^2) where buffers are
    /// small and no way has three links.
    pub fn of_trees(network: &'n Network, turns: &TurnSet, branching: Branching) -> Self {
        let mut dependencies = Self::new(network);
        let onwards = move |c: ChannelId| network.outputs(network.to(c)).filter(move |&d| turns.permits(network, c, d));
        let of_turns = channels(network).flat_map(|held| onwards(held).map(move |next| (held.raw(), next.raw())));
        dependencies.waits.extend(of_turns);
        if !branching.whole_worms {
            dependencies.hold_up_branches(&onwards, branching.separate);
        }
        if !branching.separate {
            for router in routers(network) {
                let outputs = || network.outputs(router);
                if network.nodes_of(router).len() > 0 {
                    // A worm may start here.
                    dependencies.together.extend(outputs().zip(outputs().skip(1)).map(|(a, b)| (a.raw(), b.raw())));
                } else {
                    let arriving = outputs().map(|output| network.reverse(output));
                    let pairs = arriving.flat_map(|c| onwards(c).zip(onwards(c).skip(1)));
                    dependencies.together.extend(pairs.map(|(a, b)| (a.raw(), b.raw())));
                }
            }
        }
        dependencies.tidy();
        dependencies
    }

    /// Adds what follows from small buffers: see [`of_trees`](Self::of_trees).
    fn hold_up_branches<I: Iterator<Item = ChannelId>>(&mut self, onwards: &impl Fn(ChannelId) -> I, separate: bool) {
        let network = self.network;
        let nodes_at = |router| network.nodes_of(router).len();
        self.separate = separate;
        self.starts.grow(network.channels());
        let mut blocking = false;
        for held in channels(network) {
            if nodes_at(network.to(held)) > 0 {
                self.stops.push(Stop { arriving: held, leaving: None });
            }
            self.starts.set(held.index(), nodes_at(network.from(held)) > 1);
            // The ends of a way with this link in the middle: on two routers if there is a choice.
            let ends = || onwards(network.reverse(held)).flat_map(|x| onwards(held).map(move |z| (x, z)));
            let apart = |&(x, z): &(ChannelId, ChannelId)| network.to(x) != network.to(z);
            if let Some((one, other)) = ends().find(apart).or_else(|| ends().next()) {
                self.waits.extend([(one.raw(), other.raw()), (other.raw(), one.raw())]);
                blocking = true;
            }
        }
        if separate {
            let outputs = |router| network.outputs(router);
            let siblings = routers(network).flat_map(|r| outputs(r).zip(outputs(r).skip(1)));
            self.waits.extend(siblings.flat_map(|(a, b)| [(a.raw(), b.raw()), (b.raw(), a.raw())]));
        }
        if blocking {
            return;
        }
        for first in channels(network) {
            for sibling in network.outputs(network.from(first)).filter(|&c| c != first) {
                // Nobody requests what it holds.
                let held = || std::iter::once(first).chain(onwards(first));
                for requested in onwards(sibling) {
                    let held = held().filter(|&held| held != requested);
                    self.waits.extend(held.map(|held| (held.raw(), requested.raw())));
                }
                let end = network.to(sibling);
                if network.outputs(end).len() > 1 || nodes_at(end) > 1 {
                    self.held_up.extend(held().map(|held| (held.raw(), sibling.raw())));
                }
            }
        }
    }

    fn tidy(&mut self) {
        for pairs in [&mut self.waits, &mut self.held_up, &mut self.together] {
            pairs.sort_unstable();
            pairs.dedup();
        }
    }

    /// Whether a worm may request one channel while it holds the other; O(log dependencies).
    ///
    /// For unicasts that is all there is, and a [numbering](crate::ChannelNumbering) that rises along it is a proof that there
    /// is no deadlock. Stops and trees need more than that: [`deadlock`](Self::deadlock).
    pub fn contains(&self, held: ChannelId, requested: ChannelId) -> bool {
        self.waits.binary_search(&(held.raw(), requested.raw())).is_ok()
    }

    /// Whether these are of unicasts: worms that stop nowhere on their way and do not branch.
    pub fn are_of_unicasts(&self) -> bool {
        self.stops.is_empty() && self.together.is_empty()
    }

    /// Adds a lockstep tree worm: its channels, each with the position of the one before it (`None` for those that leave
    /// the source's router) and whether the worm delivers at the router that it enters.
    ///
    /// A flit leaves a replication point on all branches or on none, and buffers are small: whoever holds a channel of the
    /// tree may wait for any other that is not granted by then, on other branches too (paper 5, Figure 1).
    pub fn add_lockstep_tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)]) {
        self.add_worms(|worms| worms.lockstep_tree(tree));
    }

    /// Adds any number of worms, for the price of one sort; returns what the closure does.
    pub fn add_worms<T>(&mut self, add: impl FnOnce(&mut Worms<'_, 'n>) -> T) -> T {
        let result = add(&mut Worms { dependencies: self });
        self.tidy();
        result
    }

    /// Looks for worms that could block each other for ever where every node has `consumption_ports` consumption channels;
    /// returns a shortest cycle among them, or `None` if there can be no deadlock.
    ///
    /// A channel is suspect if its holder may request a suspect channel, or a consumption channel at a router where at least
    /// `consumption_ports` others may be held by worms that hold suspect channels. Worms that share a router hold different
    /// input and output channels (or virtual channels of one), which bounds their number. The greatest set of suspects is what remains after everything
    /// that cannot be blocked is struck out; O(dependencies x degree).
    pub fn deadlock(&self, consumption_ports: u32) -> Option<Vec<Resource>> {
        Check::new(self, consumption_ports as usize).run()
    }
}

/// Takes worms for [`Dependencies::add_worms`].
pub struct Worms<'d, 'n> {
    dependencies: &'d mut Dependencies<'n>,
}

impl Worms<'_, '_> {
    /// A hop that a path worm may take: it came by `arriving` and goes on by `leaving`. `stops`: it delivers in between, and holds a
    /// consumption channel there while it goes on.
    pub fn hop(&mut self, arriving: ChannelId, leaving: ChannelId, stops: bool) {
        self.dependencies.waits.push((arriving.raw(), leaving.raw()));
        if stops {
            self.dependencies.stops.push(Stop { arriving, leaving: Some(leaving) });
        }
    }

    /// A tree worm, as [`Dependencies::add_lockstep_tree`] takes it: O(channels^2 x height).
    pub fn lockstep_tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)]) {
        let Dependencies { waits, together, stops, held_up, .. } = &mut *self.dependencies;
        for (i, &(held, parent, delivers)) in tree.iter().enumerate() {
            // What leaves the routers on the way to `held` was granted before it, or together with it.
            let mut granted = vec![parent];
            while let Some(Some(ancestor)) = granted.last() {
                granted.push(tree[*ancestor].1);
            }
            for (j, &(requested, other_parent, _)) in tree.iter().enumerate() {
                if !granted.contains(&other_parent) {
                    waits.push((held.raw(), requested.raw()));
                }
                if other_parent == parent && i < j {
                    together.push((held.raw(), requested.raw()));
                }
                // What is needed where another branch ends may not be granted yet, if this one does not go on from there.
                if i != j && !granted.contains(&Some(j)) {
                    held_up.push((held.raw(), requested.raw()));
                }
            }
            if delivers {
                stops.push(Stop { arriving: held, leaving: None });
            }
        }
    }
}

fn channels(network: &Network) -> impl Iterator<Item = ChannelId> + use<> {
    (0..network.channels() as u32).map(ChannelId::new)
}

fn routers(network: &Network) -> impl Iterator<Item = RouterId> + use<> {
    (0..network.routers() as u32).map(RouterId::new)
}

/// One run of the check: the suspects that remain and the indices to find what depends on what.
struct Check<'a> {
    network: &'a Network,
    ports: usize,
    virtual_channels: usize,
    classes: Option<&'a [Option<u8>]>,
    suspect: FixedBitSet,
    /// Requested channels by held channel, and the reverse.
    requested: Rows,
    holders: Rows,
    /// Where other branches may wait for deliveries, by held channel, and the reverse.
    held_up: Rows,
    holding_up: Rows,
    /// Positions in `stops` by router.
    stops_at: Rows,
    stops: &'a [Stop],
    starts: &'a FixedBitSet,
    separate: bool,
    /// For channels that trees request together: all of their group, the channel included.
    groups: HashMap<u32, Vec<u32>>,
}

/// Rows of numbers in one array.
struct Rows {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0u32; rows + 1];
        for (row, _) in pairs.clone() {
            first[row as usize + 1] += 1;
        }
        for row in 0..rows {
            first[row + 1] += first[row];
        }
        let mut next = first.clone();
        let mut items = vec![0; first[rows] as usize];
        for (row, item) in pairs {
            items[next[row as usize] as usize] = item;
            next[row as usize] += 1;
        }
        Self { first, items }
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.items[self.first[row] as usize..self.first[row + 1] as usize]
    }
}

impl<'a> Check<'a> {
    fn new(dependencies: &'a Dependencies<'a>, ports: usize) -> Self {
        let network = dependencies.network;
        let channels = network.channels();
        let waits = &dependencies.waits;
        let stops = &dependencies.stops;
        let router_of = |stop: &Stop| network.to(stop.arriving).raw();
        let mut suspect = FixedBitSet::with_capacity(channels);
        suspect.insert_range(..);
        Self {
            network,
            ports,
            virtual_channels: dependencies.virtual_channels,
            classes: dependencies.classes.as_deref(),
            suspect,
            requested: Rows::new(channels, waits.iter().copied()),
            holders: Rows::new(channels, waits.iter().map(|&(held, next)| (next, held))),
            held_up: Rows::new(channels, dependencies.held_up.iter().copied()),
            holding_up: Rows::new(channels, dependencies.held_up.iter().map(|&(held, at)| (at, held))),
            starts: &dependencies.starts,
            separate: dependencies.separate,
            stops_at: Rows::new(network.routers(), stops.iter().enumerate().map(|(i, s)| (router_of(s), i as u32))),
            stops,
            groups: groups(&dependencies.together),
        }
    }

    /// This channel if it is suspect, or else one that others request together with it and that is.
    fn suspect_request(&self, requested: u32) -> Option<u32> {
        let group = self.groups.get(&requested).map_or(&[][..], Vec::as_slice);
        let mut all = std::iter::once(requested).chain(group.iter().copied());
        all.find(|&c| self.suspect.contains(c as usize))
    }

    /// The channels whose holders may take every consumption channel where `arriving` ends, and stay.
    fn exhausting(&self, arriving: ChannelId) -> Vec<u32> {
        let router = self.network.to(arriving);
        if self.network.nodes_of(router).len() == 0 {
            // Nobody waits for a delivery here.
            return Vec::new();
        }
        let class = |channel: ChannelId| self.classes.map(|classes| classes[channel.index()]);
        let ports = if self.classes.is_some() { 1 } else { self.ports };
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for &stop in self.stops_at.row(router.index()) {
            let stop = self.stops[stop as usize];
            let held = stop.leaving.unwrap_or(stop.arriving).raw();
            // The worm that waits has one virtual channel of `arriving` to itself.
            let others = self.virtual_channels > 1 || stop.arriving != arriving;
            let others = others && class(stop.arriving) == class(arriving);
            if others && self.suspect.contains(held as usize) {
                inputs.push(stop.arriving.raw());
                outputs.push(held);
            }
        }
        for side in [&mut inputs, &mut outputs] {
            side.sort_unstable();
            side.dedup();
        }
        let own = usize::from(inputs.contains(&arriving.raw()));
        let through = (inputs.len() * self.virtual_channels - own).min(outputs.len() * self.virtual_channels);
        // Trees that start here and deliver to other nodes of this router: each holds a channel out of it, or waits for one.
        let suspect_start = |c: &ChannelId| self.starts.contains(c.index()) && self.suspect.contains(c.index());
        let starts: Vec<u32> = self.network.outputs(router).filter(suspect_start).map(ChannelId::raw).collect();
        let starting = if self.separate && !starts.is_empty() { ports } else { starts.len() };
        outputs.extend(starts);
        if through + starting >= ports { outputs } else { Vec::new() }
    }

    fn may_block(&self, channel: ChannelId) -> bool {
        self.requested.row(channel.index()).iter().any(|&c| self.suspect_request(c).is_some())
            || !self.exhausting(channel).is_empty()
            || self.held_up.row(channel.index()).iter().any(|&at| !self.exhausting(ChannelId::new(at)).is_empty())
    }

    fn run(mut self) -> Option<Vec<Resource>> {
        let mut work: Vec<ChannelId> = channels(self.network).collect();
        while let Some(channel) = work.pop() {
            if !self.suspect.contains(channel.index()) || self.may_block(channel) {
                continue;
            }
            self.suspect.set(channel.index(), false);
            let own = [channel.raw()];
            for &member in self.groups.get(&channel.raw()).map_or(&own[..], Vec::as_slice) {
                work.extend(self.holders.row(member as usize).iter().map(|&c| ChannelId::new(c)));
            }
            // As a stop, it counted at the router that it leaves (paths) or enters (trees).
            for router in [self.network.from(channel), self.network.to(channel)] {
                for arriving in self.network.inputs(router) {
                    work.push(arriving);
                    work.extend(self.holding_up.row(arriving.index()).iter().map(|&c| ChannelId::new(c)));
                }
            }
        }
        self.shortest_cycle()
    }

    /// The resources between a suspect channel and the suspects that may block it.
    fn blockers(&self, channel: u32) -> Vec<(Option<NodeId>, u32)> {
        let links = self.requested.row(channel as usize).iter().filter_map(|&c| self.suspect_request(c));
        let waits_at = std::iter::once(channel).chain(self.held_up.row(channel as usize).iter().copied());
        let stops = waits_at.map(ChannelId::new).flat_map(|arriving| {
            let node = self.network.nodes_of(self.network.to(arriving)).next();
            self.exhausting(arriving).into_iter().map(move |c| (node, c))
        });
        links.map(|c| (None, c)).chain(stops).collect()
    }

    fn shortest_cycle(&self) -> Option<Vec<Resource>> {
        const STARTS: usize = 256;
        let mut best: Option<Vec<Resource>> = None;
        for start in self.suspect.ones().take(STARTS) {
            let start = start as u32;
            let mut before: HashMap<u32, (u32, Option<NodeId>)> = HashMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(channel) = queue.pop_front() {
                for (node, next) in self.blockers(channel) {
                    if before.contains_key(&next) {
                        continue;
                    }
                    before.insert(next, (channel, node));
                    if next == start {
                        break 'search;
                    }
                    queue.push_back(next);
                }
            }
            let Some(&(mut channel, mut node)) = before.get(&start) else { continue };
            let mut cycle = Vec::new();
            loop {
                cycle.extend(node.map(Resource::Consumption));
                cycle.push(Resource::Channel(ChannelId::new(channel)));
                if channel == start {
                    break;
                }
                (channel, node) = before[&channel];
            }
            cycle.reverse();
            if best.as_ref().is_none_or(|b| cycle.len() < b.len()) {
                best = Some(cycle);
            }
        }
        // Every suspect leads to a cycle, but it need not lie on one: then the search has to start further on.
        best.or_else(|| self.suspect.ones().next().map(|start| self.walk(start as u32)))
    }

    fn walk(&self, start: u32) -> Vec<Resource> {
        let mut path: Vec<(u32, Option<NodeId>)> = vec![(start, None)];
        loop {
            let (channel, _) = path[path.len() - 1];
            let (node, next) = self.blockers(channel)[0];
            if let Some(position) = path.iter().position(|&(c, _)| c == next) {
                let mut cycle = Vec::new();
                for (i, &(channel, entered_by)) in path[position..].iter().enumerate() {
                    cycle.extend(entered_by.filter(|_| i > 0).map(Resource::Consumption));
                    cycle.push(Resource::Channel(ChannelId::new(channel)));
                }
                cycle.extend(node.map(Resource::Consumption));
                return cycle;
            }
            path.push((next, node));
        }
    }
}

/// The connected groups of channels that are requested together.
fn groups(together: &[(u32, u32)]) -> HashMap<u32, Vec<u32>> {
    let mut neighbours: HashMap<u32, Vec<u32>> = HashMap::new();
    for &(a, b) in together {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let mut groups = HashMap::new();
    for &start in neighbours.keys() {
        if groups.contains_key(&start) {
            continue;
        }
        let mut group = vec![start];
        let mut next = 0;
        while next < group.len() {
            for &channel in &neighbours[&group[next]] {
                if !group.contains(&channel) {
                    group.push(channel);
                }
            }
            next += 1;
        }
        group.sort_unstable();
        for &member in &group {
            groups.insert(member, group.clone());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChannelNumbering, ECube, Hamiltonian, NegativeFirst};
    use wormcast_network::{NetworkBuilder, NodeDetails, TopologySpec};

    fn build(spec: &str) -> Network {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn meshes_and_hypercubes_are_safe() {
        for spec in ["mesh:5x4", "mesh:3x3x3", "hypercube:4", "mesh:7"] {
            let network = build(spec);
            assert_eq!(Dependencies::of_relation(&network, &ECube).deadlock(1), None, "e-cube on {spec}");
            assert_eq!(
                Dependencies::of_relation(&network, &NegativeFirst).deadlock(1),
                None,
                "negative-first on {spec}"
            );
        }
        assert_eq!(Dependencies::of_relation(&build("mesh:4x3x3"), &Hamiltonian).deadlock(1), None);
    }

    #[test]
    fn e_cube_on_a_torus_has_a_ring_of_dependencies() {
        let torus = build("torus:4x4");
        let cycle = Dependencies::of_relation(&torus, &ECube).deadlock(1).expect("a ring");
        assert_eq!(cycle.len(), 4);
        for (i, &resource) in cycle.iter().enumerate() {
            let (Resource::Channel(held), Resource::Channel(next)) = (resource, cycle[(i + 1) % 4]) else {
                panic!("unicasts wait for links alone")
            };
            assert_eq!(torus.to(held), torus.from(next));
        }
        // A ring of three is too short: no route takes two hops in the same direction.
        assert_eq!(Dependencies::of_relation(&build("torus:3x3"), &ECube).deadlock(1), None);
    }

    #[test]
    fn unicasts_without_deadlock_have_a_proof() {
        for (spec, safe) in [("mesh:4x3", true), ("hypercube:4", true), ("torus:5x3", false)] {
            let network = build(spec);
            let dependencies = Dependencies::of_relation(&network, &ECube);
            let may_follow = |held, next| dependencies.contains(held, next);
            match ChannelNumbering::find(&network, may_follow) {
                Ok(proof) => {
                    assert!(safe);
                    assert_eq!(proof.check(&network, may_follow), Ok(()));
                    // All the same number: not a proof.
                    let numbers = ChannelNumbering::from_numbers(vec![7; network.channels()]);
                    assert!(numbers.check(&network, may_follow).is_err());
                }
                Err(cycle) => {
                    assert!(!safe);
                    assert!((0..cycle.len()).all(|i| may_follow(cycle[i], cycle[(i + 1) % cycle.len()])));
                }
            }
            assert_eq!(dependencies.deadlock(1).is_none(), safe);
        }
    }

    /// Paper 5, Figure 1: two lockstep trees, each of which holds what the other's sibling branch needs.
    #[test]
    fn sibling_branches_can_deadlock_where_paths_cannot() {
        let mesh = build("mesh:3x2");
        let channel = |u, v| mesh.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let mut dependencies = Dependencies::new(&mesh);
        // From 0: up then along; and along then up. Both reach 4 and 2 by different last channels.
        dependencies.add_lockstep_tree(&[
            (channel(1, 2), None, true),
            (channel(1, 0), None, false),
            (channel(0, 3), Some(1), true),
        ]);
        assert_eq!(dependencies.deadlock(4), None, "one tree alone cannot block itself");
        dependencies.add_lockstep_tree(&[
            (channel(0, 3), None, true),
            (channel(0, 1), None, false),
            (channel(1, 2), Some(1), true),
        ]);
        assert!(dependencies.deadlock(4).is_some());
    }

    #[test]
    fn trees_over_permitted_turns() {
        let free = |spec: &str, ports| {
            let network = build(spec);
            Dependencies::of_trees(&network, &crate::turn_prohibition(&network), Branching::LOCKSTEP)
                .deadlock(ports)
                .is_none()
        };
        // Two trees from the inner routers of a line of four, each to both ends.
        assert!(!free("mesh:4", 9));
        assert!(free("mesh:3", 2) && free("mesh:2", 1));
        for spec in ["mesh:3x3", "torus:5", "hypercube:3", "random:nodes=20,degree=3,seed=1"] {
            assert!(!free(spec, 9), "{spec}");
        }
        assert!(!free("random:nodes=2000,degree=8,seed=1", 9));
        // A star, at whose leaves nobody crowds.
        let star = Network::from_links("star", 6, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
        let dependencies = Dependencies::of_trees(&star, &crate::turn_prohibition(&star), Branching::LOCKSTEP);
        assert_eq!(dependencies.deadlock(5), None);
    }

    /// Three trees on a triangle, from each corner to the others: each waits at one for a delivery that the next one holds, as that
    /// waits on its other branch.
    #[test]
    fn a_delivery_holds_up_sibling_branches() {
        let ring = Network::from_links("ring", 3, &[(0, 1), (1, 2), (2, 0)]);
        let channel = |u, v| ring.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let mut dependencies = Dependencies::new(&ring);
        for (from, a, b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            assert_eq!(dependencies.deadlock(2), None);
            dependencies.add_lockstep_tree(&[(channel(from, a), None, true), (channel(from, b), None, true)]);
        }
        assert!(dependencies.deadlock(1).is_some());
        assert_eq!(dependencies.deadlock(2), None);
        assert!(dependencies.held_up.contains(&(channel(0, 1).raw(), channel(0, 2).raw())));
    }

    /// Two routers with several nodes each, and trees from either to the nodes of both: each holds a consumption channel where it
    /// starts and waits for one where the other started.
    #[test]
    fn deliveries_beside_the_source_count() {
        let mut pair = NetworkBuilder::new("pair");
        pair.at_least(2).unwrap();
        pair.link(RouterId::new(0), RouterId::new(1)).unwrap();
        for router in [0, 0, 1, 1] {
            pair.node(RouterId::new(router), NodeDetails::default()).unwrap();
        }
        let pair = pair.build().unwrap();
        let turns = crate::turn_prohibition(&pair);
        let deadlock = |whole_worms, separate, ports| {
            Dependencies::of_trees(&pair, &turns, Branching { whole_worms, separate }).deadlock(ports)
        };
        let cycle = deadlock(false, false, 1).unwrap();
        assert!(cycle.iter().any(|resource| matches!(resource, Resource::Consumption(_))), "{cycle:?}");
        // One worm at a time holds the channel out of a router. One by one, others may hold deliveries without it.
        assert_eq!(deadlock(false, false, 2), None);
        assert!(deadlock(false, true, 9).is_some());
        assert!(deadlock(true, true, 1).is_none() && deadlock(true, false, 1).is_none());
    }

    #[test]
    fn branching_decides() {
        let free = |spec: &str, whole_worms, separate| {
            let network = build(spec);
            let branching = Branching { whole_worms, separate };
            Dependencies::of_trees(&network, &crate::turn_prohibition(&network), branching).deadlock(1).is_none()
        };
        for spec in ["mesh:4", "mesh:3x3", "torus:5", "random:nodes=20,degree=3,seed=1"] {
            assert!(free(spec, true, true), "{spec}");
            // Who queues for one channel waits for those that are requested together with it.
            assert!(!free(spec, true, false), "{spec}");
            assert!(!free(spec, false, false) && !free(spec, false, true), "{spec}");
        }
        assert!(free("mesh:2", true, false) && free("mesh:3", true, true));
    }

    /// The cycle that is found is one of two trees, each of which holds what the other waits for.
    #[test]
    fn trees_that_block_each_other() {
        let network = build("random:nodes=14,degree=4,seed=3");
        let turns = crate::turn_prohibition(&network);
        let cycle = Dependencies::of_trees(&network, &turns, Branching::LOCKSTEP).deadlock(4).unwrap();
        let [Resource::Channel(one), Resource::Channel(other)] = cycle[..] else { panic!("{cycle:?}") };
        let middle = network.channel_between(network.from(one), network.from(other)).unwrap();
        let back = network.reverse(middle);
        let mut trees = Dependencies::new(&network);
        for (short, long) in [(one, [middle, other]), (other, [back, one])] {
            assert!(turns.permits(&network, long[0], long[1]));
            trees.add_lockstep_tree(&[(short, None, true), (long[0], None, false), (long[1], Some(1), true)]);
        }
        assert!(trees.deadlock(4).is_some());
    }

    /// A worm rule for both ways along a line, stopping anywhere.
    struct Line;

    impl WormRule for Line {
        fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
            network.reverse(arriving) != leaving
        }

        fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
            true
        }
    }

    #[test]
    fn one_consumption_channel_is_too_few_for_worms_that_meet() {
        let line = build("mesh:4");
        let dependencies = Dependencies::of_rule(&line, &Line);
        let cycle = dependencies.deadlock(1).expect("two worms that deliver to each other's stops");
        assert!(cycle.iter().any(|r| matches!(r, Resource::Consumption(_))));
        assert_eq!(dependencies.deadlock(2), None);
        // With two virtual channels, two worms each way.
        let dependencies = dependencies.with_virtual_channels(2);
        assert!(dependencies.deadlock(2).is_some());
        assert_eq!(dependencies.deadlock(3), None);
    }
}
