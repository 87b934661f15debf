//! Channel dependencies and the static check for deadlock.
//!
//! The check finds the largest set of channels whose holders could block each other forever. It generalises the
//! acyclic channel dependency graph of Dally and Seitz to multidestination worms, whose stops hold consumption channels,
//! and to trees, whose branches hold each other back. It may call a deadlock possible that no run reaches; it never misses
//! one.

use std::collections::HashSet;

use fixedbitset::FixedBitSet;
use wormcast_network::watch::{step, step_every};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use crate::capabilities::ClosedForm;
use crate::relation::RoutingRelation;
use check::Check;
use covered::CoveredTrees;
use virtual_channels::{Leg, Waits, legs_in_order, legs_of_unicasts};

mod check;
mod covered;
mod spanning;
mod trees;
pub(in crate::analysis) mod virtual_channels;
mod worms;

pub use covered::{Uncovered, UncoveredBinding};
pub use worms::Worms;

/// Which turns and stops the worms of a path-based multicast may make, whatever their destinations.
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
    /// Buffers are packet buffers: every one can hold a whole worm, so a branch that waits does not hold up the others.
    pub packet_buffers: bool,
    /// The channels that a worm needs at a router are requested and granted one by one, not all at once.
    pub separate: bool,
}

impl Branching {
    /// Small buffers, and all that a worm needs at a router at once: lockstep, or independent branches that are reserved together.
    pub const LOCKSTEP: Self = Self { packet_buffers: false, separate: false };

    /// Switches that store whole worms and forward each copy by itself: trees are as free of deadlock as unicasts over the same
    /// turns.
    pub const STORED: Self = Self { packet_buffers: true, separate: true };
}

/// A resource that a worm can hold while it waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// A channel between two routers.
    Channel(ChannelId),
    /// The consumption channels of a node, all of them. Where a router has several nodes, the check does not tell them
    /// apart, and names the first.
    Consumption(NodeId),
}

/// A delivery that does not end its worm: it holds a consumption channel of the router that `arriving` enters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Stop {
    arriving: ChannelId,
    /// The channel on which a path goes on; `None` in a tree, whose other branches may hold the delivery up.
    leaving: Option<ChannelId>,
}

/// The direct dependencies of worms (Dally and Seitz): which channels a worm may request next while it holds which. Of the channels that a
/// path holds, only the last one counts.
///
/// Memory: 8 bytes a dependency and 12 a channel.
pub struct Dependencies<'n> {
    network: &'n Network,
    /// (held, requested), sorted and without duplicates.
    waits: Vec<(u32, u32)>,
    /// The worms, virtual channel by virtual channel, where a relation divides these.
    divided: Option<Divided<'n>>,
    stops: Vec<Stop>,
    /// (held, arriving): a worm that holds the first may wait for a delivery where the second ends, on another branch of its tree.
    held_up: Vec<(u32, u32)>,
    /// Channels that trees may hold which also deliver to other nodes of the router where they start.
    starts: FixedBitSet,
    /// Whether such a tree may hold the consumption channel before it is granted any of its channels.
    separate: bool,
    /// Channels that trees request together: a worm that queues for one may have to wait for the others.
    together: Vec<(u32, u32)>,
    /// (held, requested), only where several worms can hold a channel between routers at the same time.
    shared: Vec<(u32, u32)>,
    /// Worms that can hold a channel between routers at the same time.
    virtual_channels: usize,
    /// For each channel, the one consumption channel that its worms use at every node; without it, worms may use any.
    classes: Option<Box<[Option<u8>]>>,
    /// Where groups of worms do not share virtual channels: how many that takes, and the dependencies of each group.
    apart: (usize, Vec<Dependencies<'n>>),
    covered: CoveredTrees,
}

/// Worms of a relation that divides virtual channels, and path worms beside them.
struct Divided<'n> {
    relation: &'n dyn RoutingRelation,
    /// The orders in which its path worms stop; none: its worms are unicasts.
    orders: Vec<Vec<RouterId>>,
    /// Path worms that were added.
    given: Option<Waits<'n>>,
}

impl<'n> Divided<'n> {
    /// What the worms may wait for where links have so many virtual channels, and nodes so many consumption channels. Whatever lies further ahead of a worm is
    /// looked at only if that may make a difference.
    fn waits(&self, network: &'n Network, links_have: usize, ports: usize) -> Option<Waits<'n>> {
        let division = self.relation.capabilities().virtual_channels?;
        let of_unicasts = self.orders.is_empty();
        let mut groups: Vec<Vec<Leg<'_>>> =
            self.orders.iter().map(|order| legs_in_order(division, order, links_have)).collect();
        if of_unicasts {
            groups.push(legs_of_unicasts(self.relation, division, links_have));
        }
        if of_unicasts && self.given.is_none() {
            let mut near = Waits::new(network, links_have);
            for legs in &groups {
                near.add(legs, false);
            }
            if near.is_decided(ports) {
                return Some(near);
            }
        }
        let mut waits = self.given.clone().unwrap_or_else(|| Waits::new(network, links_have));
        for legs in &groups {
            waits.add(legs, true);
        }
        Some(waits)
    }
}

impl<'n> Dependencies<'n> {
    /// No dependencies: add worms to it.
    pub fn new(network: &'n Network) -> Self {
        Self {
            network,
            waits: Vec::new(),
            divided: None,
            stops: Vec::new(),
            held_up: Vec::new(),
            starts: FixedBitSet::new(),
            separate: false,
            together: Vec::new(),
            shared: Vec::new(),
            virtual_channels: 1,
            classes: None,
            apart: (0, Vec::new()),
            covered: CoveredTrees::Added,
        }
    }

    /// The dependencies of groups of worms no two of which share a virtual channel, if links have as many as are `needed`; with
    /// [fewer](Self::with_virtual_channels) they are not told apart.
    ///
    /// Groups still share consumption channels: where worms hold these while they wait, all dependencies together have to be free of deadlock as well.
    pub fn of_groups(network: &'n Network, needed: u8, groups: Vec<Dependencies<'n>>) -> Self {
        let mut all = Self::new(network);
        for group in &groups {
            all.waits.extend(&group.waits);
            all.stops.extend(&group.stops);
            all.held_up.extend(&group.held_up);
            all.together.extend(&group.together);
            all.shared.extend(&group.shared);
            all.starts.grow(group.starts.len());
            all.starts.union_with(&group.starts);
            all.separate |= group.separate;
        }
        all.stops.sort_unstable();
        all.stops.dedup();
        all.tidy();
        Self { apart: (usize::from(needed), groups), ..all }
    }

    /// Sets how many virtual channels every link has, any of which a worm may take: more worms then hold consumption
    /// channels of the same router, and branches of worms on a [spanning tree](Self::of_spanning_trees) can block each other. Without this, there is one. Worms that are told apart by virtual
    /// channels have to be added after this.
    #[must_use]
    pub fn with_virtual_channels(mut self, count: u32) -> Self {
        // Path worms were followed on as many as there were.
        let same = self.virtual_channels == count as usize;
        self.divided = self.divided.filter(|divided| same || divided.given.is_none());
        self.virtual_channels = count as usize;
        if count > 1 {
            self.waits.append(&mut self.shared);
            self.waits.sort_unstable();
            self.waits.dedup();
        }
        self.apart.1 = self.apart.1.into_iter().map(|group| group.with_virtual_channels(count)).collect();
        self
    }

    /// The dependencies of unicast worms that follow `relation` from any node to any other, by any of the parallel channels that it
    /// [spreads](crate::Spread) them over.
    ///
    /// Follows, for every target, all channels that a worm to it can reach: O(routers x channels), or O(channels x degree) where the relation has a [closed
    /// form](crate::ClosedForm). Where the relation [divides virtual
    /// channels](crate::VirtualChannels), [`deadlock`](Self::deadlock) tells these apart if no other worms are added (classes that links
    /// [have no virtual channel](Self::with_virtual_channels) for are one with the last); everything else is about channels.
    pub fn of_relation(relation: &'n dyn RoutingRelation) -> Self {
        if let Some((closed_form, _)) = <dyn ClosedForm>::of(relation) {
            let network = &**relation.network();
            let mut dependencies = Self::new(network);
            for held in network.channel_ids() {
                step_every(12, "finding what waits for what", "channels", held.index(), network.channels());
                let next = network.outputs(network.to(held)).filter(|&next| closed_form.follows(held, next));
                dependencies.waits.extend(next.map(|next| (held.raw(), next.raw())));
            }
            return dependencies;
        }
        Self::of_routes(relation)
    }

    /// The same by following all routes.
    pub(crate) fn of_routes(relation: &'n dyn RoutingRelation) -> Self {
        let network = &**relation.network();
        let mut first = Vec::with_capacity(network.channels() + 1);
        let mut bits = 0;
        for channel in network.channel_ids() {
            first.push(bits);
            bits += network.outputs(network.to(channel)).len();
        }
        let spread = relation.spreading();
        let mut seen = FixedBitSet::with_capacity(bits);
        let mut reached = FixedBitSet::with_capacity(network.channels());
        let (mut work, mut candidates) = (Vec::new(), Vec::new());
        // Where no node is, no worm starts or ends.
        let ends = || network.router_ids().filter(|&router| network.nodes_of(router).len() > 0);
        let entering = network.entering_nodes();
        let all = ends().count();
        for (followed, target) in ends().enumerate() {
            step("following routes", "destinations", followed, all);
            reached.clear();
            for source in network.router_ids().filter(|router| entering[router.index()] > 0) {
                spread(source, None, target, &mut candidates);
                work.extend(candidates.iter().filter(|c| !reached.put(c.index())));
                while let Some(held) = work.pop() {
                    let at = network.to(held);
                    spread(at, Some(held), target, &mut candidates);
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
        for held in network.channel_ids() {
            for (position, next) in network.outputs(network.to(held)).enumerate() {
                if seen.contains(first[held.index()] + position) {
                    dependencies.waits.push((held.raw(), next.raw()));
                }
            }
        }
        let capabilities = relation.capabilities();
        dependencies.divided =
            capabilities.virtual_channels.map(|_| Divided { relation, orders: Vec::new(), given: None });
        if let (Some(_), Some(division)) = (capabilities.waypoints, capabilities.virtual_channels) {
            // Ways over waypoints are more than the candidates show.
            let needed = usize::from(division.needed());
            let mut all = Waits::new(network, needed);
            all.add(&legs_of_unicasts(relation, division, needed), false);
            dependencies.waits.extend(all.between_channels());
            dependencies.waits.sort_unstable();
            dependencies.waits.dedup();
        }
        dependencies
    }

    /// The dependencies of all path worms that start at some router of one of these orders and stop at any of the routers behind it, in this order, by a relation that
    /// [divides virtual channels](crate::VirtualChannels): [`deadlock`](Self::deadlock) tells these apart. Of a relation that does not, there are none.
    ///
    /// O(routers^2 x channels x virtual channels) for an order of all routers.
    pub fn of_ordered_paths(relation: &'n dyn RoutingRelation, orders: Vec<Vec<RouterId>>) -> Self {
        let network = &**relation.network();
        let mut dependencies = Self::new(network);
        let Some(division) = relation.capabilities().virtual_channels else { return dependencies };
        let needed = usize::from(division.needed());
        let mut all = Waits::new(network, needed);
        for order in &orders {
            all.add(&legs_in_order(division, order, needed), false);
        }
        dependencies.waits = all.between_channels().collect();
        dependencies.stops = all.stops().map(|(arriving, leaving)| Stop { arriving, leaving: Some(leaving) }).collect();
        dependencies.tidy();
        dependencies.stops.sort_unstable();
        dependencies.stops.dedup();
        dependencies.divided = Some(Divided { relation, orders, given: None });
        dependencies
    }

    /// The given dependencies, as (held, requested).
    pub(crate) fn of_pairs(network: &'n Network, mut waits: Vec<(u32, u32)>) -> Self {
        waits.sort_unstable();
        waits.dedup();
        Self { waits, ..Self::new(network) }
    }

    /// The dependencies of all path worms that obey `rule`: O(channels x degree).
    pub fn of_rule(network: &'n Network, rule: &dyn WormRule) -> Self {
        let mut dependencies = Self::new(network);
        for arriving in network.channel_ids() {
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

    fn tidy(&mut self) {
        self.apart.1.clear();
        for pairs in [&mut self.waits, &mut self.held_up, &mut self.together, &mut self.shared] {
            pairs.sort_unstable();
            pairs.dedup();
        }
    }

    /// Whether one channel directly depends on the other; O(log dependencies).
    ///
    /// For unicasts these are all dependencies, and a [numbering](crate::ChannelNumbering) that rises along them proves that there
    /// is no deadlock. Stops and trees need the full check: [`deadlock`](Self::deadlock).
    pub fn contains(&self, held: ChannelId, requested: ChannelId) -> bool {
        self.waits.binary_search(&(held.raw(), requested.raw())).is_ok()
    }

    /// All direct dependencies, as channels that are held and requested, by id. Of trees, there are further ones between their branches.
    pub fn direct(&self) -> impl ExactSizeIterator<Item = (ChannelId, ChannelId)> {
        self.waits.iter().map(|&(held, requested)| (ChannelId::new(held), ChannelId::new(requested)))
    }

    /// A dependency of `others` that is missing here: a channel that is held, and what is requested, or
    /// delivered to on the way, while it is held. `None` if nothing is missing, so that whatever is proved of these also holds for
    /// the others. Only dependencies of paths and unicasts are compared, not the further ones between branches of trees.
    ///
    /// O(dependencies).
    pub fn missing(&self, others: &Dependencies<'_>) -> Option<(ChannelId, Resource)> {
        let unknown = |&&(held, next): &&(u32, u32)| !self.contains(ChannelId::new(held), ChannelId::new(next));
        let wait = others.waits.iter().find(unknown);
        let wait = wait.map(|&(held, next)| (ChannelId::new(held), Resource::Channel(ChannelId::new(next))));
        let known: HashSet<Stop> = self.stops.iter().copied().collect();
        let stop = || others.stops.iter().filter(|stop| stop.leaving.is_some()).find(|stop| !known.contains(stop));
        wait.or_else(|| {
            let stop = stop()?;
            let node = self.network.nodes_of(self.network.to(stop.arriving)).next()?;
            Some((stop.arriving, Resource::Consumption(node)))
        })
    }

    /// Without what worms would hold or ask for of these links, in either direction: they have failed, and no worm goes over them.
    ///
    /// O(dependencies).
    #[must_use]
    pub fn without(mut self, failed: &[ChannelId]) -> Self {
        let both = |&link: &ChannelId| [link.index(), self.network.reverse(link).index()];
        let failed: FixedBitSet = failed.iter().flat_map(both).collect();
        let is_whole = |channel: u32| !failed.contains(channel as usize);
        for pairs in [&mut self.waits, &mut self.held_up, &mut self.together, &mut self.shared] {
            pairs.retain(|&(one, other)| is_whole(one) && is_whole(other));
        }
        self.stops
            .retain(|stop| is_whole(stop.arriving.raw()) && stop.leaving.is_none_or(|leaving| is_whole(leaving.raw())));
        self
    }

    /// Only those between channels that are reached from these, of worms that neither stop on their way nor branch.
    #[must_use]
    pub(crate) fn reached_from(mut self, starts: Vec<ChannelId>) -> Self {
        let mut reached = FixedBitSet::with_capacity(self.network.channels());
        let mut work: Vec<ChannelId> = starts.into_iter().filter(|channel| !reached.put(channel.index())).collect();
        while let Some(held) = work.pop() {
            let first = self.waits.partition_point(|&(other, _)| other < held.raw());
            for &(_, next) in self.waits[first..].iter().take_while(|&&(other, _)| other == held.raw()) {
                if !reached.put(next as usize) {
                    work.push(ChannelId::new(next));
                }
            }
        }
        self.waits.retain(|&(held, _)| reached.contains(held as usize));
        self
    }

    /// Whether these are dependencies of unicasts, which neither stop on their way nor branch.
    pub fn are_of_unicasts(&self) -> bool {
        self.stops.is_empty() && self.together.is_empty()
    }

    /// Looks for worms that could block each other forever where every node has `consumption_ports` consumption channels;
    /// returns a shortest cycle among them, or `None` if there can be no deadlock.
    ///
    /// A channel is suspect if its holder may request a suspect channel, or a consumption channel at a router where at least
    /// `consumption_ports` others may be held by worms that hold suspect channels. Worms that share a router hold different
    /// input and output channels (or virtual channels of one), which bounds their number. The largest set of suspects is what remains after everything
    /// that cannot be blocked is struck out; O(dependencies x degree).
    ///
    /// Where virtual channels are divided, those are suspect whose holder's header may be, there or further on, where all that it may take is suspect.
    pub fn deadlock(&self, consumption_ports: u32) -> Option<Vec<Resource>> {
        if self.divided.is_some() {
            return Some(self.divided_deadlock(consumption_ports)?.into_iter().map(|(resource, _)| resource).collect());
        }
        let ports = consumption_ports as usize;
        if self.are_told_apart() {
            let of_a_group = self.apart.1.iter().find_map(|group| Check::new(group, ports).run());
            if of_a_group.is_some() || self.stops.is_empty() {
                return of_a_group;
            }
        }
        Check::new(self, ports).run()
    }

    /// Whether links have enough virtual channels for groups not to share any.
    fn are_told_apart(&self) -> bool {
        !self.apart.1.is_empty() && self.virtual_channels >= self.apart.0
    }

    /// What worms may wait for, virtual channel by virtual channel, where these are divided.
    fn divided_waits(&self, ports: usize) -> Option<Waits<'n>> {
        self.divided.as_ref()?.waits(self.network, self.virtual_channels, ports)
    }

    /// The cycle of [`deadlock`](Self::deadlock) with the virtual channel of each channel, where a relation divides them; `None` too if there can be no deadlock.
    pub fn divided_deadlock(&self, consumption_ports: u32) -> Option<Vec<(Resource, Option<u32>)>> {
        let ports = consumption_ports as usize;
        self.divided_waits(ports)?.cycle(ports)
    }

    /// The channels whose holders could be blocked forever, by each other or by those that are: none if there can be no [deadlock](Self::deadlock).
    pub fn blocked(&self, consumption_ports: u32) -> Vec<ChannelId> {
        let ports = consumption_ports as usize;
        if let Some(waits) = self.divided_waits(ports) {
            return waits.blocked(ports);
        }
        if self.are_told_apart() && self.stops.is_empty() {
            let mut blocked: Vec<_> =
                self.apart.1.iter().flat_map(|group| Check::new(group, ports).blocked()).collect();
            blocked.sort_unstable();
            blocked.dedup();
            return blocked;
        }
        Check::new(self, ports).blocked()
    }
}
