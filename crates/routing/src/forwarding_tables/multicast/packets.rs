//! What the packets of a group do, and how they fare.

use std::collections::{HashMap, HashSet};

use fixedbitset::FixedBitSet;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::{Mask, MulticastGroup};
use crate::forwarding_tables::Target;
use crate::forwarding_tables::lanes::{Arrival, VirtualLanes};

/// How a group's packets fare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupReport {
    /// Its address.
    pub mlid: u16,
    /// Its members, nodes before switches: those that are given, or else all that its tables deliver to.
    pub members: Vec<Target>,
    /// Whether the packets of each node reach all other members.
    pub connected: bool,
    /// The members that are not reached from the one whose packets get furthest.
    pub missing: Vec<Target>,
    /// The members that get a packet of some member more than once.
    pub doubled: Vec<Target>,
    /// What else gets packets.
    pub strangers: Vec<Target>,
    /// Channels that a packet takes again and again.
    pub circle: Option<Vec<ChannelId>>,
    /// Ports where nothing is attached, by switch.
    pub nowhere: Vec<(RouterId, u32)>,
}

/// The packets of a group in a network: where they go on, lane by lane if there are lanes. Channels are then those of the
/// [network in lanes](Network::in_lanes).
#[derive(Clone, Copy)]
pub(super) struct Packets<'a> {
    pub(super) network: &'a Network,
    pub(super) group: &'a MulticastGroup,
    pub(super) lanes: Option<&'a VirtualLanes>,
}

/// Members whose packets go the same ways.
pub(super) struct Sender {
    pub(super) members: Vec<NodeId>,
    /// The service level of their packets.
    pub(super) level: u8,
}

impl Sender {
    pub(super) fn arrival(&self) -> Arrival {
        Arrival::Node(self.members[0])
    }
}

impl<'a> Packets<'a> {
    /// Members at one switch send alike, unless a switch may put what comes from one of them on another lane.
    pub(super) fn senders(&self) -> Vec<Sender> {
        let mut senders: Vec<Sender> = Vec::new();
        for member in self.group.senders() {
            let router = self.network.entry_of(member);
            match (self.lanes, senders.last_mut()) {
                (None, Some(last)) if self.network.entry_of(last.members[0]) == router => last.members.push(member),
                (lanes, _) => {
                    let level = lanes.map_or(0, |lanes| lanes.level_of_group(member, self.group.mlid));
                    senders.push(Sender { members: vec![member], level });
                }
            }
        }
        senders
    }

    pub(super) fn count(&self) -> u32 {
        self.lanes.map_or(1, VirtualLanes::count)
    }

    fn router(&self, at: Arrival) -> RouterId {
        match at {
            Arrival::Node(node) => self.network.entry_of(node),
            Arrival::Channel(channel) => self.network.to(channel),
        }
    }

    /// The channel whose lane this is.
    fn arrival(&self, held: ChannelId) -> Arrival {
        Arrival::Channel(ChannelId::new(held.raw() / self.count()))
    }

    fn mask(&self, at: Arrival) -> Option<&'a Mask> {
        self.group.mask(self.router(at))
    }

    /// The channels that packets take next, which are not the one back.
    fn onward(self, at: Arrival, level: u8) -> impl Iterator<Item = ChannelId> + 'a {
        let back = match at {
            Arrival::Node(_) => None,
            Arrival::Channel(channel) => Some(self.network.reverse(channel)),
        };
        let channels = self.mask(at).map_or(&[][..], |mask| &mask.channels);
        let others = channels.iter().copied().filter(move |&channel| Some(channel) != back);
        others.filter_map(move |channel| {
            let lane = self.lanes.map_or(Some(0), |lanes| lanes.lane(at, channel, level))?;
            Some(ChannelId::new(channel.raw() * self.count() + lane))
        })
    }

    /// What packets are delivered to.
    fn delivered(self, at: Arrival, level: u8) -> impl Iterator<Item = Target> + 'a {
        let own = self.mask(at).is_some_and(|mask| mask.own).then(|| Target::Router(self.router(at)));
        self.nodes(at, level).map(Target::Node).chain(own)
    }

    /// The nodes that packets are delivered to.
    pub(super) fn nodes(self, at: Arrival, level: u8) -> impl Iterator<Item = NodeId> + 'a {
        let nodes = self.mask(at).map_or(&[][..], |mask| &mask.nodes);
        nodes.iter().copied().filter(move |&node| self.lanes.is_none_or(|lanes| lanes.delivers(at, node, level)))
    }

    /// Calls `visit` for all pairs of channels that members' packets take one after the other: O(their channels x degree).
    pub(super) fn follow(self, mut visit: impl FnMut(ChannelId, ChannelId)) {
        let channels = self.network.channels() * self.count() as usize;
        let senders = self.senders();
        let highest = senders.iter().map(|sender| usize::from(sender.level)).max().unwrap_or(0);
        // By level and channel.
        let mut seen = FixedBitSet::with_capacity(channels * (highest + 1));
        let mut is_new = |level: u8, channel: ChannelId| !seen.put(usize::from(level) * channels + channel.index());
        let mut work: Vec<ChannelId> = Vec::new();
        for sender in senders {
            let level = sender.level;
            work.extend(self.onward(sender.arrival(), level).filter(|&channel| is_new(level, channel)));
            while let Some(held) = work.pop() {
                for next in self.onward(self.arrival(held), level) {
                    visit(held, next);
                    if is_new(level, next) {
                        work.push(next);
                    }
                }
            }
        }
    }

    /// The tree of a sender's packets: each channel with the position of the one before it, and whether it delivers at its end. `None`
    /// if they run in a circle.
    pub(super) fn tree_of(self, sender: &Sender) -> Option<Vec<(ChannelId, Option<usize>, bool)>> {
        let delivers = |channel| self.nodes(self.arrival(channel), sender.level).next().is_some();
        let first = self.onward(sender.arrival(), sender.level);
        let mut tree: Vec<(ChannelId, Option<usize>, bool)> =
            first.map(|channel| (channel, None, delivers(channel))).collect();
        let mut seen: HashSet<ChannelId> = tree.iter().map(|&(channel, ..)| channel).collect();
        let mut at = 0;
        while at < tree.len() {
            for next in self.onward(self.arrival(tree[at].0), sender.level) {
                if !seen.insert(next) {
                    return None;
                }
                tree.push((next, Some(at), delivers(next)));
            }
            at += 1;
        }
        Some(tree)
    }

    /// The switches of the group by tree that they are in, if all links of its tables are in both switches' tables and close no circle: a packet then
    /// reaches all of its sender's tree, each place once. `None` otherwise, and where there are lanes, which may drop some.
    pub(super) fn trees(self) -> Option<HashMap<RouterId, usize>> {
        if self.lanes.is_some() {
            return None;
        }
        let mut trees: HashMap<RouterId, usize> = HashMap::with_capacity(self.group.masks.len());
        let mut work: Vec<(RouterId, Option<ChannelId>)> = Vec::new();
        for (number, &start) in self.group.masks.keys().enumerate() {
            if trees.contains_key(&start) {
                continue;
            }
            trees.insert(start, number);
            work.push((start, None));
            while let Some((at, back)) = work.pop() {
                let channels = &self.group.mask(at)?.channels;
                if back.is_some_and(|back| !channels.contains(&back)) {
                    return None;
                }
                for &channel in channels.iter().filter(|&&channel| Some(channel) != back) {
                    let next = self.network.to(channel);
                    if trees.insert(next, number).is_some() {
                        return None;
                    }
                    work.push((next, Some(self.network.reverse(channel))));
                }
            }
        }
        Some(trees)
    }

    /// The report on a group whose switches are in these trees: O(switches + members).
    fn report_on_trees(self, trees: &HashMap<RouterId, usize>) -> GroupReport {
        let members = self.group.members();
        let senders = self.group.senders();
        let of = |target: Target| match target {
            Target::Node(node) => trees.get(&self.network.entry_of(node)).copied(),
            Target::Router(router) => trees.get(&router).copied(),
        };
        let reached: Vec<(Target, Option<usize>)> =
            self.group.delivered().into_iter().map(|target| (target, of(target))).collect();
        let sending: HashSet<Option<usize>> = senders.iter().map(|&node| of(Target::Node(node))).collect();
        // By tree, how many members it delivers to.
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for (target, tree) in &reached {
            if let (Some(tree), Ok(_)) = (tree, members.binary_search(target)) {
                *counts.entry(*tree).or_default() += 1;
            }
        }
        let count = |tree: Option<usize>| tree.and_then(|tree| counts.get(&tree).copied()).unwrap_or(0);
        let furthest =
            senders.iter().map(|&node| of(Target::Node(node))).rev().max_by_key(|&tree| count(tree)).flatten();
        let is_reached = |member: Target| {
            let place = reached.binary_search_by_key(&member, |&(target, _)| target);
            furthest.is_some() && place.is_ok_and(|place| reached[place].1 == furthest)
        };
        let needs_none = senders.is_empty() || members.len() == 1;
        let only = alone(&senders);
        let lacks = |&member: &Target| !needs_none && !is_reached(member) && Some(member) != only;
        let missing: Vec<Target> = members.iter().copied().filter(lacks).collect();
        let strangers =
            reached.iter().filter(|(target, tree)| sending.contains(tree) && members.binary_search(target).is_err());
        let strangers = strangers.map(|&(target, _)| target).collect();
        let dead =
            self.group.masks.iter().flat_map(|(&router, mask)| mask.nowhere.iter().map(move |&port| (router, port)));
        let mut nowhere: Vec<(RouterId, u32)> = dead.collect();
        nowhere.sort_unstable();
        let (doubled, circle, connected) = (Vec::new(), None, missing.is_empty());
        GroupReport { mlid: self.group.mlid, members, connected, missing, doubled, strangers, circle, nowhere }
    }

    pub(super) fn report(self) -> GroupReport {
        match self.trees() {
            Some(trees) => self.report_on_trees(&trees),
            None => self.report_by_packets(),
        }
    }

    /// The report by following the packets of each sender.
    pub(super) fn report_by_packets(self) -> GroupReport {
        let members = self.group.members();
        let is_member: HashSet<Target> = members.iter().copied().collect();
        let mut report = GroupReport {
            mlid: self.group.mlid,
            members: members.clone(),
            connected: true,
            missing: Vec::new(),
            doubled: Vec::new(),
            strangers: Vec::new(),
            circle: None,
            nowhere: Vec::new(),
        };
        let (mut doubled, mut strangers) = (HashSet::new(), HashSet::new());
        let mut furthest: Option<(usize, HashSet<Target>)> = None;
        let senders = self.senders();
        let needs_none = senders.is_empty() || members.len() == 1;
        let only = alone(&self.group.senders());
        for sender in senders {
            let mut got: HashMap<Target, u32> = HashMap::new();
            let mut deliver =
                |at: Arrival| self.delivered(at, sender.level).for_each(|target| *got.entry(target).or_default() += 1);
            deliver(sender.arrival());
            match self.tree_of(&sender) {
                Some(tree) => tree.iter().for_each(|&(channel, ..)| deliver(self.arrival(channel))),
                None => {
                    report.circle = report.circle.take().or_else(|| self.circle_of(&sender));
                    // Each switch that is reached, once: how often is another matter.
                    let mut seen: HashSet<RouterId> = HashSet::from([self.router(sender.arrival())]);
                    let mut work = vec![sender.arrival()];
                    while let Some(at) = work.pop() {
                        for channel in self.onward(at, sender.level) {
                            let next = self.arrival(channel);
                            if seen.insert(self.router(next)) {
                                deliver(next);
                                work.push(next);
                            }
                        }
                    }
                }
            }
            let reached: HashSet<Target> = got.keys().copied().filter(|target| is_member.contains(target)).collect();
            let again = got.iter().filter(|&(target, &times)| times > 1 && is_member.contains(target));
            doubled.extend(again.map(|(&target, _)| target));
            strangers.extend(got.keys().copied().filter(|target| !is_member.contains(target)));
            // A sender gets its own packets only if they come back; one that is not in the mask of its own switch is not reached by the others there.
            let is_own = |member: &Target| matches!(sender.members[..], [only] if *member == Target::Node(only));
            let lacking = members.iter().filter(|&member| !(reached.contains(member) || is_own(member)));
            if lacking.count() > 0 {
                report.connected = false;
            }
            if furthest.as_ref().is_none_or(|(most, _)| reached.len() > *most) {
                furthest = Some((reached.len(), reached));
            }
        }
        let reached = furthest.map(|(_, reached)| reached).unwrap_or_default();
        let lacks = |&member: &Target| !needs_none && !reached.contains(&member) && Some(member) != only;
        report.missing = members.into_iter().filter(lacks).collect();
        report.connected &= report.missing.is_empty();
        report.doubled = sorted(doubled);
        report.strangers = sorted(strangers);
        let masks = self.group.masks.iter();
        let dead = masks.flat_map(|(&router, mask)| mask.nowhere.iter().map(move |&port| (router, port)));
        report.nowhere = dead.collect();
        report.nowhere.sort_unstable();
        report
    }

    /// The channels of a circle that a sender's packets run in.
    fn circle_of(self, sender: &Sender) -> Option<Vec<ChannelId>> {
        let mut way: Vec<ChannelId> = Vec::new();
        let mut done: HashSet<ChannelId> = HashSet::new();
        let first = self.onward(sender.arrival(), sender.level);
        let mut work: Vec<(usize, ChannelId)> = first.map(|channel| (0, channel)).collect();
        while let Some((depth, channel)) = work.pop() {
            way.truncate(depth);
            if let Some(first) = way.iter().position(|&other| other == channel) {
                return Some(way[first..].iter().map(|lane| ChannelId::new(lane.raw() / self.count())).collect());
            }
            if !done.insert(channel) {
                continue;
            }
            way.push(channel);
            work.extend(self.onward(self.arrival(channel), sender.level).map(|next| (depth + 1, next)));
        }
        None
    }
}

/// The sender, if there is one alone: nobody sends to it.
fn alone(senders: &[NodeId]) -> Option<Target> {
    if let [only] = senders { Some(Target::Node(*only)) } else { None }
}

fn sorted(targets: HashSet<Target>) -> Vec<Target> {
    let mut targets: Vec<Target> = targets.into_iter().collect();
    targets.sort_unstable();
    targets
}
