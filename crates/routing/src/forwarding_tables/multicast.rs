//! Multicast forwarding tables: at every switch, the ports that packets of a group leave by, whichever they came by.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, NodeId, RouterId, as_fabric, parse_node};

use super::hop_matrix::{Branch, HopMatrix};
use super::lanes::{Arrival, VirtualLanes};
use super::opensm::{Identities, check_port, hexadecimal_after, output, quoted_name};
use super::{ForwardingTables, Output, TablesContext, TablesError, Target, text_of};
use crate::analysis::dependency::{Branching, Worms};

const EXPECTED: &str = "multicast tables as OpenSM writes them to `opensm.mcfdbs` (`Switch 0x…`, then lines such as `0xC001 : 0x001  0x002`), \
                        or as `dump_mfts` prints them (`Multicast mlids … of switch …`, then a line of crosses for each group)";
const GROUPS_EXPECTED: &str =
    "a group a line, `0xc001: member;member;…`, whose members are names, identifiers or addresses";
/// The addresses of groups.
const MLIDS: std::ops::RangeInclusive<u32> = 0xc000..=0xfffe;

/// Where a switch sends the packets of a group: on all of these, but for the one that they came by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Mask {
    channels: Vec<ChannelId>,
    nodes: Vec<NodeId>,
    /// Ports where nothing is attached.
    nowhere: Vec<u32>,
}

/// The tables of a group, and its members if they are known.
#[derive(Clone, Debug)]
pub struct MulticastGroup {
    /// Its address.
    pub mlid: u16,
    masks: HashMap<RouterId, Mask>,
    members: Option<Vec<NodeId>>,
}

/// Multicast forwarding tables, and the members of their groups.
#[derive(Clone, Debug)]
pub struct MulticastTables {
    network: Arc<Network>,
    /// By address.
    groups: Vec<MulticastGroup>,
}

/// The channels that the packets of a member take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupTree {
    /// The nodes at the member's own switch that get them.
    pub delivers: Vec<NodeId>,
    /// Each channel, with the position of the one before it (`None` for those that leave the member's switch) and the nodes that get the packets at
    /// its end.
    pub branches: Vec<(ChannelId, Option<usize>, Vec<NodeId>)>,
}

/// How the branches of a packet wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupBranching {
    /// Switches store packets whole, and each copy goes on by itself: what members' packets do in InfiniBand switches.
    Packets,
    /// A flit leaves on all branches or on none.
    Lockstep,
    /// As `ibdmchk -M` takes it: at each switch, what comes by any port of a group may leave by any other, whether or not anything comes that way.
    /// Only what unicasts of hosts can be held up by counts.
    Ibdmchk,
}

impl GroupBranching {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Packets, Self::Lockstep, Self::Ibdmchk];

    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Lockstep => "lockstep",
            Self::Ibdmchk => "ibdmchk",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// How a group's packets fare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupReport {
    /// Its address.
    pub mlid: u16,
    /// Its members: those that are given, or else all nodes that its tables deliver to.
    pub members: Vec<NodeId>,
    /// Whether the packets of each member reach all others.
    pub connected: bool,
    /// The members that are not reached from the one whose packets get furthest.
    pub missing: Vec<NodeId>,
    /// The members that get a packet of some member more than once.
    pub doubled: Vec<NodeId>,
    /// Nodes that get packets and are not members.
    pub strangers: Vec<NodeId>,
    /// Channels that a packet takes again and again.
    pub circle: Option<Vec<ChannelId>>,
    /// Ports where nothing is attached, by switch.
    pub nowhere: Vec<(RouterId, u32)>,
}

impl MulticastGroup {
    fn mask(&self, router: RouterId) -> Option<&Mask> {
        self.masks.get(&router)
    }

    /// The nodes that its tables deliver to, in order.
    fn delivered(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.masks.values().flat_map(|mask| &mask.nodes).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Its members: those that are given, or else all nodes that its tables deliver to.
    pub fn members(&self) -> Vec<NodeId> {
        self.members.clone().unwrap_or_else(|| self.delivered())
    }
}

/// The packets of a group in a network: where they go on, lane by lane if there are lanes. Channels are then those of the
/// [network in lanes](Network::in_lanes).
#[derive(Clone, Copy)]
struct Packets<'a> {
    network: &'a Network,
    group: &'a MulticastGroup,
    lanes: Option<&'a VirtualLanes>,
}

/// Members whose packets go the same ways.
struct Sender {
    members: Vec<NodeId>,
    /// The service level of their packets.
    level: u8,
}

impl Sender {
    fn arrival(&self) -> Arrival {
        Arrival::Node(self.members[0])
    }
}

impl<'a> Packets<'a> {
    /// Members at one switch send alike, unless a switch may put what comes from one of them on another lane.
    fn senders(&self) -> Vec<Sender> {
        let mut senders: Vec<Sender> = Vec::new();
        for member in self.group.members() {
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

    fn count(&self) -> u32 {
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

    /// The nodes that packets are delivered to.
    fn delivered(self, at: Arrival, level: u8) -> impl Iterator<Item = NodeId> + 'a {
        let nodes = self.mask(at).map_or(&[][..], |mask| &mask.nodes);
        nodes.iter().copied().filter(move |&node| self.lanes.is_none_or(|lanes| lanes.delivers(at, node, level)))
    }

    /// Calls `visit` for all pairs of channels that members' packets take one after the other: O(their channels x degree).
    fn follow(self, mut visit: impl FnMut(ChannelId, ChannelId)) {
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
    fn tree_of(self, sender: &Sender) -> Option<Vec<(ChannelId, Option<usize>, bool)>> {
        let delivers = |channel| self.delivered(self.arrival(channel), sender.level).next().is_some();
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
    fn trees(self) -> Option<HashMap<RouterId, usize>> {
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
        let of = |node: NodeId| trees.get(&self.network.entry_of(node)).copied();
        let reached: Vec<(NodeId, Option<usize>)> =
            self.group.delivered().into_iter().map(|node| (node, of(node))).collect();
        let senders: HashSet<Option<usize>> = members.iter().map(|&member| of(member)).collect();
        // By tree, how many members it delivers to.
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for (node, tree) in &reached {
            if let (Some(tree), Ok(_)) = (tree, members.binary_search(node)) {
                *counts.entry(*tree).or_default() += 1;
            }
        }
        let count = |tree: Option<usize>| tree.and_then(|tree| counts.get(&tree).copied()).unwrap_or(0);
        let furthest = members.iter().map(|&member| of(member)).rev().max_by_key(|&tree| count(tree)).flatten();
        let is_reached = |node: NodeId| {
            let place = reached.binary_search_by_key(&node, |&(node, _)| node);
            furthest.is_some() && place.is_ok_and(|place| reached[place].1 == furthest)
        };
        let alone = members.len() == 1;
        let missing: Vec<NodeId> = members.iter().copied().filter(|&node| !alone && !is_reached(node)).collect();
        let strangers =
            reached.iter().filter(|(node, tree)| senders.contains(tree) && members.binary_search(node).is_err());
        let strangers = strangers.map(|&(node, _)| node).collect();
        let dead =
            self.group.masks.iter().flat_map(|(&router, mask)| mask.nowhere.iter().map(move |&port| (router, port)));
        let mut nowhere: Vec<(RouterId, u32)> = dead.collect();
        nowhere.sort_unstable();
        let (doubled, circle, connected) = (Vec::new(), None, missing.is_empty());
        GroupReport { mlid: self.group.mlid, members, connected, missing, doubled, strangers, circle, nowhere }
    }

    fn report(self) -> GroupReport {
        match self.trees() {
            Some(trees) => self.report_on_trees(&trees),
            None => self.report_by_packets(),
        }
    }

    /// The report by following the packets of each sender.
    fn report_by_packets(self) -> GroupReport {
        let members = self.group.members();
        let is_member: HashSet<NodeId> = members.iter().copied().collect();
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
        let mut furthest: Option<(usize, HashSet<NodeId>)> = None;
        for sender in self.senders() {
            let mut got: HashMap<NodeId, u32> = HashMap::new();
            let mut deliver =
                |at: Arrival| self.delivered(at, sender.level).for_each(|node| *got.entry(node).or_default() += 1);
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
            let reached: HashSet<NodeId> = got.keys().copied().filter(|node| is_member.contains(node)).collect();
            doubled.extend(
                got.iter().filter(|&(node, &times)| times > 1 && is_member.contains(node)).map(|(&node, _)| node),
            );
            strangers.extend(got.keys().copied().filter(|node| !is_member.contains(node)));
            // A sender gets its own packets only if they come back; one that is not in the mask of its own switch is not reached by the others there.
            let own = &sender.members[..];
            let lacking = members.iter().filter(|&node| !(reached.contains(node) || own == [*node]));
            if lacking.count() > 0 {
                report.connected = false;
            }
            if furthest.as_ref().is_none_or(|(most, _)| reached.len() > *most) {
                furthest = Some((reached.len(), reached));
            }
        }
        let reached = furthest.map(|(_, reached)| reached).unwrap_or_default();
        let alone = members.len() == 1;
        report.missing = members.into_iter().filter(|node| !reached.contains(node) && !alone).collect();
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

fn sorted(nodes: HashSet<NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
    nodes.sort_unstable();
    nodes
}

impl MulticastTables {
    /// The groups, by address.
    pub fn groups(&self) -> &[MulticastGroup] {
        &self.groups
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// No group: [members](Self::with_members) and then [trees](Self::with_trees) can be added.
    pub fn empty(network: &Arc<Network>) -> Self {
        Self { network: Arc::clone(network), groups: Vec::new() }
    }

    /// The trees that `OpenSM` builds by a matrix for the members of each group, in place of what was there.
    #[must_use]
    pub fn with_trees(mut self, matrix: &HopMatrix) -> Self {
        for group in &mut self.groups {
            let members = group.members();
            let tree = matrix.tree(&members).into_iter().flatten();
            group.masks = tree
                .map(|(router, Branch { mut channels, members })| {
                    channels.sort_unstable();
                    channels.dedup();
                    (router, Mask { channels, nodes: members, nowhere: Vec::new() })
                })
                .collect();
            group.members = Some(members);
        }
        self
    }

    fn packets<'a>(&'a self, group: usize, lanes: Option<&'a VirtualLanes>) -> Packets<'a> {
        Packets { network: &self.network, group: &self.groups[group], lanes }
    }

    /// The tree of what a member sends to a group; `None` if its packets run in a circle. O(channels of the group).
    pub fn tree(&self, group: usize, member: NodeId) -> Option<GroupTree> {
        let packets = self.packets(group, None);
        let sender = Sender { members: vec![member], level: 0 };
        let delivers = |at| packets.delivered(at, sender.level).filter(|&node| node != member).collect();
        let branch = |(channel, parent, _)| (channel, parent, delivers(Arrival::Channel(channel)));
        let branches = packets.tree_of(&sender)?.into_iter().map(branch).collect();
        Some(GroupTree { delivers: delivers(sender.arrival()), branches })
    }

    /// How the packets of each group fare: O(members' switches x channels of the group) for each, or members in place of their switches where there are
    /// lanes.
    pub fn reports(&self, lanes: Option<&VirtualLanes>) -> Vec<GroupReport> {
        (0..self.groups.len()).map(|group| self.packets(group, lanes).report()).collect()
    }

    /// For each group, the links of its tree and the most hops that a packet of a member takes; `None` if packets run in a circle.
    pub fn sizes(&self) -> Vec<(usize, Option<u32>)> {
        let size = |group: usize| {
            let packets = self.packets(group, None);
            let links: HashSet<ChannelId> = self.groups[group]
                .masks
                .values()
                .flat_map(|mask| &mask.channels)
                .map(|&channel| channel.min(self.network.reverse(channel)))
                .collect();
            let depth = |sender: &Sender| {
                let tree = packets.tree_of(sender)?;
                let mut hops: Vec<u32> = Vec::with_capacity(tree.len());
                for &(_, before, _) in &tree {
                    hops.push(before.map_or(1, |before| hops[before] + 1));
                }
                Some(hops.into_iter().max().unwrap_or(0))
            };
            let hops: Option<Vec<u32>> = packets.senders().iter().map(depth).collect();
            (links.len(), hops.map(|hops| hops.into_iter().max().unwrap_or(0)))
        };
        (0..self.groups.len()).map(size).collect()
    }

    /// The members of the groups, in the form that [`with_members`](Self::with_members) reads.
    pub fn members_text(&self) -> String {
        let line = |group: &MulticastGroup| {
            let label =
                |node| self.network.node_name(node).map_or_else(|| self.network.node_label(node), str::to_owned);
            let members: Vec<String> = group.members().into_iter().map(label).collect();
            format!("{:#06x}: {}\n", group.mlid, members.join(";"))
        };
        self.groups.iter().map(line).collect()
    }

    /// What packets of a group that branch independently hold and request meanwhile: channels, or lanes of them.
    pub fn hops(&self, group: usize, lanes: Option<&VirtualLanes>) -> Vec<(ChannelId, ChannelId)> {
        let mut hops = Vec::new();
        self.packets(group, lanes).follow(|held, next| hops.push((held, next)));
        hops
    }

    /// The channels of a group.
    pub(super) fn channels(&self, group: usize) -> impl Iterator<Item = ChannelId> + '_ {
        self.groups[group].masks.values().flat_map(|mask| &mask.channels).copied()
    }

    /// All turns at each switch between the ports of a group, whether or not a packet takes them.
    pub fn turns(&self, group: usize) -> Vec<(ChannelId, ChannelId)> {
        let mut turns = Vec::new();
        for mask in self.groups[group].masks.values() {
            for &back in &mask.channels {
                let arriving = self.network.reverse(back);
                turns.extend(mask.channels.iter().filter(|&&next| next != back).map(|&next| (arriving, next)));
            }
        }
        turns
    }

    /// Adds what packets of a group wait for while they hold a channel, or a lane of one.
    pub fn add(
        &self,
        worms: &mut Worms<'_, '_>,
        group: usize,
        branching: GroupBranching,
        lanes: Option<&VirtualLanes>,
    ) {
        let packets = self.packets(group, lanes);
        let mut each_hop = || packets.follow(|held, next| worms.hop(held, next, false));
        match branching {
            GroupBranching::Packets => each_hop(),
            GroupBranching::Lockstep => {
                for sender in packets.senders() {
                    match packets.tree_of(&sender) {
                        // Members take whatever arrives: a delivery holds nobody up.
                        Some(mut tree) => {
                            for (.., delivers) in &mut tree {
                                *delivers = false;
                            }
                            worms.tree(&tree, Branching::LOCKSTEP);
                        }
                        None => packets.follow(|held, next| worms.hop(held, next, false)),
                    }
                }
            }
            GroupBranching::Ibdmchk => {
                let network = &*self.network;
                for mask in self.groups[group].masks.values() {
                    for &back in &mask.channels {
                        let arriving = network.reverse(back);
                        for &leaving in mask.channels.iter().filter(|&&leaving| leaving != back) {
                            // All groups have level 0, and a packet comes on the lane that it leaves on.
                            let lane = lanes.map_or(Some(0), |lanes| lanes.of_turn(arriving, leaving));
                            let on = |channel: ChannelId, lane| ChannelId::new(channel.raw() * packets.count() + lane);
                            if let Some(lane) = lane {
                                worms.hop(on(arriving, lane), on(leaving, lane), false);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Takes the members of its groups from a text: a line for each, `0xc001: member;member;…`, of names, identifiers (`0x…`) or addresses of the
    /// unicast tables. Groups that the tables have no entries for are added: none of their packets arrives anywhere.
    ///
    /// # Errors
    /// If the text is not of this form, or names what the network does not have.
    pub fn with_members(mut self, unicasts: &ForwardingTables, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: GROUPS_EXPECTED };
        let fabric = as_fabric(&self.network)?;
        let identities = Identities::new(&fabric);
        let mut known: BTreeMap<u16, (usize, Vec<NodeId>)> = BTreeMap::new();
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (mlid, list) =
                content.split_once(':').ok_or_else(|| file.error(line, "there is no `:` behind the group"))?;
            let mlid = mlid_of(mlid.trim()).map_err(|problem| file.error(line, problem))?;
            let mut members = Vec::new();
            for text in list.split(';').map(str::trim).filter(|text| !text.is_empty()) {
                let member =
                    member(&fabric, &identities, unicasts, text).map_err(|problem| file.error(line, problem))?;
                members.push(member);
            }
            members.sort_unstable();
            members.dedup();
            if members.is_empty() {
                return Err(file.error(line, "the group has no members"));
            }
            if let Some((first, _)) = known.insert(mlid, (line, members)) {
                return Err(file.error(line, format!("the group {mlid:#06x} is there already, in line {first}")));
            }
        }
        if known.is_empty() {
            return Err(file.error(text.lines().count().max(1), "there is no group"));
        }
        for (mlid, (_, members)) in known {
            match self.groups.iter_mut().find(|group| group.mlid == mlid) {
                Some(group) => group.members = Some(members),
                None => self.groups.push(MulticastGroup { mlid, masks: HashMap::new(), members: Some(members) }),
            }
        }
        self.groups.sort_by_key(|group| group.mlid);
        Ok(self)
    }
}

/// Multicast tables as `OpenSM` writes them to `opensm.mcfdbs`: switches in the order of identifiers whose bytes are read backwards, without those that
/// have no entries.
pub struct NetworkMcfdbs<'t> {
    tables: &'t MulticastTables,
    fabric: Arc<Network>,
}

impl<'t> NetworkMcfdbs<'t> {
    /// Multicast tables of this network.
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn new(tables: &'t MulticastTables) -> Result<Self, TablesError> {
        Ok(Self { tables, fabric: as_fabric(&tables.network)? })
    }
}

impl fmt::Display for NetworkMcfdbs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fabric = &*self.fabric;
        let mut routers: Vec<RouterId> = fabric.router_ids().collect();
        routers.sort_by_key(|&router| fabric.router_guid(router).map(u64::swap_bytes));
        for router in routers {
            let mut is_first = true;
            for group in &self.tables.groups {
                let Some(mask) = group.mask(router) else { continue };
                let channels = mask.channels.iter().filter_map(|&channel| fabric.port_of(channel));
                let nodes = mask.nodes.iter().filter_map(|&node| fabric.node_port(node));
                let mut ports: Vec<u32> = channels.chain(nodes).chain(mask.nowhere.iter().copied()).collect();
                if ports.is_empty() {
                    continue;
                }
                ports.sort_unstable();
                if std::mem::take(&mut is_first) {
                    let guid = fabric.router_guid(router).unwrap_or(0);
                    write!(f, "\nSwitch {guid:#018x}\nLID    : Out Port(s)\n")?;
                }
                write!(f, "0x{:04X} :", group.mlid)?;
                ports.iter().try_for_each(|port| write!(f, " 0x{port:03X} "))?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

fn mlid_of(text: &str) -> Result<u16, String> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let mlid = number.filter(|number| MLIDS.contains(number));
    let shown = text.chars().take(64).collect::<String>();
    mlid.map(|mlid| mlid as u16)
        .ok_or_else(|| format!("`{shown}` is no address of a group: these are 0xc000 to 0xfffe"))
}

/// A member by its name, identifier or address.
fn member(
    fabric: &Network,
    identities: &Identities,
    unicasts: &ForwardingTables,
    text: &str,
) -> Result<NodeId, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let guid = u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no identifier"))?;
        return match identities.target(guid)? {
            Some(Target::Node(node)) => Ok(node),
            Some(Target::Router(_)) => Err(format!("{guid:#018x} is a switch: members are hosts")),
            None => {
                let lid = u16::try_from(guid).ok().and_then(|lid| at_address(unicasts, lid));
                lid.ok_or_else(|| format!("the network has no host with the identifier {guid:#018x}"))
            }
        };
    }
    // A name, before an address that looks like one.
    if let Some(node) = fabric.node_ids().find(|&node| fabric.node_name(node) == Some(text)) {
        return Ok(node);
    }
    if let Ok(lid) = text.parse::<u16>() {
        let has_addresses = unicasts.destinations().iter().any(|destination| destination.address.is_some());
        if has_addresses {
            return at_address(unicasts, lid).ok_or_else(|| format!("no host has the address {lid}"));
        }
    }
    parse_node(fabric, text).map_err(|error| error.to_string())
}

fn at_address(unicasts: &ForwardingTables, lid: u16) -> Option<NodeId> {
    unicasts.destinations().iter().find_map(|destination| match destination.target {
        Target::Node(node) if destination.address == Some(lid) => Some(node),
        _ => None,
    })
}

/// Reads multicast tables for a network, in one of the two forms that [`parse_multicast_tables`] takes.
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_multicast_tables(network: &Arc<Network>, path: &str) -> Result<MulticastTables, TablesError> {
    let text = text_of(path, "the multicast tables", MAX_FILE_BYTES)?;
    parse_multicast_tables(network, wormcast_network::input::input_name(path), &text)
}

/// Takes the members of groups from a file: see [`MulticastTables::with_members`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_members(
    tables: MulticastTables,
    unicasts: &ForwardingTables,
    path: &str,
) -> Result<MulticastTables, TablesError> {
    let text = text_of(path, "the groups", MAX_FILE_BYTES)?;
    tables.with_members(unicasts, wormcast_network::input::input_name(path), &text)
}

/// Reads multicast tables: what `OpenSM` writes to `opensm.mcfdbs`, or what `dump_mfts` (`dump_fts -M`) and `ibroute -M` print.
///
/// Switches are found by their identifiers; in a network without any, by those of [`as_fabric`]. Several parts for one switch, as of a table that is printed by blocks, are joined.
///
/// # Errors
/// If the text is of neither form, or belongs to another network.
pub fn parse_multicast_tables(network: &Arc<Network>, path: &str, text: &str) -> Result<MulticastTables, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let fabric = as_fabric(network)?;
    let identities = Identities::new(&fabric);
    let mut section: Option<(RouterId, bool)> = None;
    let mut groups: BTreeMap<u16, HashMap<RouterId, Mask>> = BTreeMap::new();
    let mut lines = HashMap::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |problem: String| file.error(line, problem);
        let trimmed = content.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some((guid, crosses)) = begins(trimmed) {
            let guid = guid.ok_or_else(|| wrong("the switch has no identifier".to_owned()))?;
            let unknown = || {
                wrong(format!(
                    "`{}` has no switch with the identifier {guid:#018x}{}",
                    network.name(),
                    quoted_name(trimmed)
                ))
            };
            section = Some((identities.router(guid).map_err(wrong)?.ok_or_else(unknown)?, crosses));
            continue;
        }
        if trimmed.starts_with("0x") {
            let (router, crosses) = section.ok_or_else(|| wrong("an entry before the first switch".to_owned()))?;
            let (mlid, ports) = if crosses { crossed(content) } else { listed(trimmed) }.map_err(wrong)?;
            if let Some(before) = lines.insert((mlid, router), line) {
                let switch = network.router_label(router);
                return Err(wrong(format!("{switch} has an entry for {mlid:#06x} already, in line {before}")));
            }
            let mask = groups.entry(mlid).or_default().entry(router).or_default();
            for port in ports {
                check_port(&fabric, router, port).map_err(wrong)?;
                // Port 0 is the switch itself.
                match output(&fabric, router, port) {
                    Output::Own => {}
                    Output::Channel(channel) => put(&mut mask.channels, channel),
                    Output::Node(node) => put(&mut mask.nodes, node),
                    Output::Nowhere(port) => put(&mut mask.nowhere, port),
                }
            }
            continue;
        }
        let head = trimmed.split_whitespace().next().unwrap_or("");
        let is_header = ["LID", "MLid", "Ports:", "***"].contains(&head)
            || trimmed.ends_with("mlids dumped")
            || trimmed.chars().all(|c| c.is_ascii_digit() || c.is_whitespace());
        if !is_header {
            let kind = if head == "Unicast" { "unicast tables" } else { head };
            return Err(wrong(format!("found `{}`", kind.chars().take(64).collect::<String>())));
        }
    }
    if section.is_none() {
        let problem = if text.trim().is_empty() {
            "there is no switch: OpenSM writes none if no group has two members; leave the multicast tables out then"
        } else {
            "there is no switch"
        };
        return Err(file.error(text.lines().count().max(1), problem));
    }
    let groups = groups.into_iter().map(|(mlid, masks)| MulticastGroup { mlid, masks, members: None }).collect();
    Ok(MulticastTables { network: Arc::clone(network), groups })
}

fn put<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The switch that a line begins the table of, and whether its entries are crosses.
fn begins(line: &str) -> Option<(Option<u64>, bool)> {
    if let Some(rest) = line.strip_prefix("Switch ") {
        return Some((hexadecimal_after(rest, "0x"), false));
    }
    line.starts_with("Multicast").then(|| (hexadecimal_after(line, " guid 0x"), true))
}

/// An entry as `0xC001 : 0x001  0x002`.
fn listed(line: &str) -> Result<(u16, Vec<u32>), String> {
    let (mlid, ports) = line.split_once(':').ok_or("an entry needs a `:` between the group and its ports")?;
    let port = |text: &str| {
        let number = text.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.filter(|&port| port <= 254).ok_or_else(|| format!("`{text}` is no port from 0x000 to 0x0fe"))
    };
    Ok((mlid_of(mlid.trim())?, ports.split_whitespace().map(port).collect::<Result<_, _>>()?))
}

/// An entry as `0xc001      x   x`: the cross of port p is in column 12 + 2p.
fn crossed(line: &str) -> Result<(u16, Vec<u32>), String> {
    const FIRST: usize = 12;
    let start = line.find("0x").unwrap_or(0);
    let mlid = line[start..].split_whitespace().next().unwrap_or("");
    let mut ports = Vec::new();
    for (column, letter) in
        line.char_indices().filter(|&(column, letter)| column >= start + mlid.len() && !letter.is_whitespace())
    {
        if letter != 'x' || column < FIRST || !(column - FIRST).is_multiple_of(2) {
            return Err(format!(
                "found `{letter}` in column {}: crosses are in every second column from {} on",
                column + 1,
                FIRST + 1
            ));
        }
        ports.push(((column - FIRST) / 2) as u32);
    }
    Ok((mlid_of(mlid)?, ports))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::analysis::dependency::Dependencies;
    use crate::forwarding_tables::UnicastWaits;
    use crate::forwarding_tables::choose_tables;
    use crate::registry::RoutingOptions;
    use crate::relations::up_down::UP_DOWN;

    /// A ring of six switches with a host each, and its up*/down* tables rooted at the first.
    fn ring() -> (Arc<Network>, ForwardingTables) {
        let ring = "ring:6".parse::<TopologySpec>().unwrap().build().unwrap();
        let ring = FileFormat::Fabric.parse("ring", &NetworkIbsim(&ring).to_string()).unwrap();
        let relation = UP_DOWN.make(&ring, &RoutingOptions::default()).unwrap();
        let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
        (ring, tables)
    }

    /// The tree over the ring without the link between two neighbours, as `OpenSM` writes it: port 1 of a switch leads to the smaller of its neighbours.
    fn tree(ring: &Network, without: [u32; 2]) -> String {
        let mut text = String::new();
        for router in ring.router_ids() {
            let mut ports = Vec::new();
            for channel in ring.outputs(router) {
                let ends = [ring.from(channel).raw(), ring.to(channel).raw()];
                if ends != without && ends != [without[1], without[0]] {
                    ports.push(ring.port_of(channel).unwrap());
                }
            }
            ports.extend(ring.nodes_of(router).map(|node| ring.node_port(node).unwrap()));
            let ports: Vec<String> = ports.iter().map(|port| format!("{port:#05x} ")).collect();
            let guid = ring.router_guid(router).unwrap();
            write!(text, "\nSwitch {guid:#018x}\nLID    : Out Port(s)\n0xC001 : {}\n", ports.join(" ")).unwrap();
        }
        text
    }

    /// Groups of random masks over small networks, most of which are no trees: where the short way to a report is taken, it is what following packets gives.
    #[test]
    fn reports_on_trees_are_those_of_their_packets() {
        let mut state = 11;
        let mut draw = |limit: usize| {
            state += 1;
            (wormcast_network::split_mix::mix(state) % limit as u64) as usize
        };
        let (mut trees, mut missing, mut strangers) = (0, 0, 0);
        for _ in 0..4000 {
            let mut builder = wormcast_network::NetworkBuilder::new("random".to_owned());
            let routers = 2 + draw(4);
            builder.at_least(routers).unwrap();
            for v in 1..routers {
                builder.link(RouterId::new(draw(v) as u32), RouterId::new(v as u32)).unwrap();
            }
            for _ in 0..2 + draw(5) {
                let details = wormcast_network::NodeDetails::default();
                builder.node(RouterId::new(draw(routers) as u32), details).unwrap();
            }
            let network = builder.build().unwrap();
            let mut masks: HashMap<RouterId, Mask> = HashMap::new();
            for channel in network.channel_ids().filter(|&channel| channel < network.reverse(channel)) {
                for end in [channel, network.reverse(channel)] {
                    // Now and then in one direction only.
                    if draw(12) > 0 {
                        masks.entry(network.from(end)).or_default().channels.push(end);
                    }
                }
            }
            for node in network.node_ids().filter(|_| draw(4) > 0) {
                masks.entry(network.router_of(node)).or_default().nodes.push(node);
            }
            let members: Vec<NodeId> = network.node_ids().filter(|_| draw(4) > 0).collect();
            let members = Some(members).filter(|members| draw(3) > 0 && !members.is_empty());
            let group = MulticastGroup { mlid: 0xc001, masks, members };
            let packets = Packets { network: &network, group: &group, lanes: None };
            let report = packets.report_by_packets();
            if packets.trees().is_some() {
                trees += 1;
                missing += usize::from(!report.missing.is_empty());
                strangers += usize::from(!report.strangers.is_empty());
            }
            assert_eq!(packets.report(), report);
        }
        assert!(trees > 500 && missing > 100 && strangers > 100, "{trees} trees, {missing}, {strangers}");
    }

    fn deadlock(tables: &ForwardingTables, groups: &MulticastTables, branching: GroupBranching) -> bool {
        let mut union = Dependencies::of_tables(tables);
        union.add_worms(|worms| (0..groups.groups().len()).for_each(|group| groups.add(worms, group, branching, None)));
        let unicasts = UnicastWaits::by_channel(tables);
        let union = if branching == GroupBranching::Ibdmchk { union.reached_by_hosts(&unicasts) } else { union };
        union.deadlock(1).is_some()
    }

    #[test]
    fn six_trees_over_a_ring_are_told_apart() {
        // Without S0-S1, S1-S2, S4-S5 or S5-S0 `ibdmchk -M` reports credit loops, without S2-S3 or S3-S4 none.
        let (ring, tables) = ring();
        assert!(Dependencies::of_tables(&tables).deadlock(1).is_none());
        let loops: Vec<bool> = (0..6)
            .map(|first| {
                let groups = parse_multicast_tables(&ring, "mc", &tree(&ring, [first, (first + 1) % 6])).unwrap();
                let [packets, ibdmchk] =
                    [GroupBranching::Packets, GroupBranching::Ibdmchk].map(|how| deadlock(&tables, &groups, how));
                assert_eq!(packets, ibdmchk, "every switch has a member");
                packets
            })
            .collect();
        assert_eq!(loops, [true, true, false, false, true, true]);
    }

    #[test]
    fn crosses_are_the_same_masks() {
        let (ring, _) = ring();
        let listed = parse_multicast_tables(&ring, "mc", &tree(&ring, [2, 3])).unwrap();
        let mut crosses = String::new();
        for router in ring.router_ids() {
            let mask = listed.groups[0].mask(router).unwrap();
            let mut ports: Vec<u32> = mask.channels.iter().map(|&channel| ring.port_of(channel).unwrap()).collect();
            ports.extend(mask.nodes.iter().map(|&node| ring.node_port(node).unwrap()));
            let guid = ring.router_guid(router).unwrap();
            let line: String = (0..4).map(|port| if ports.contains(&port) { "x " } else { "  " }).collect();
            write!(crosses, "Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0,1,1 guid {guid:#018x} (S{router}):\n            0       \n     Ports: 0 1 2 3 \n MLid\n0xc001      {line}\n1 valid mlids dumped \n").unwrap();
        }
        let crossed = parse_multicast_tables(&ring, "mc", &crosses).unwrap();
        let masks = |tables: &MulticastTables| {
            let sorted = |router| {
                let mut mask = tables.groups[0].mask(router).unwrap().clone();
                mask.channels.sort_unstable();
                mask
            };
            ring.router_ids().map(sorted).collect::<Vec<_>>()
        };
        assert_eq!(masks(&crossed), masks(&listed));
        assert_eq!(crossed.groups[0].mlid, 0xc001);
    }

    #[test]
    fn members_that_are_missed_doubled_and_strange_are_named() {
        let (ring, tables) = ring();
        let text = tree(&ring, [2, 3]);
        let whole = parse_multicast_tables(&ring, "mc", &text).unwrap();
        let all: Vec<NodeId> = ring.node_ids().collect();
        let report = &whole.reports(None)[0];
        assert_eq!((&report.members, report.connected, report.missing.len()), (&all, true, 0));
        assert!(report.doubled.is_empty() && report.strangers.is_empty() && report.circle.is_none());

        // Only some are members.
        let of = |members: &str| {
            parse_multicast_tables(&ring, "mc", &text)
                .unwrap()
                .with_members(&tables, "groups", members)
                .unwrap()
                .reports(None)
        };
        let some = &of("0xC001: H0;H2; H0\n# none\n")[0];
        assert_eq!((some.members.len(), some.connected, some.strangers.len()), (2, true, 4));
        // A group without entries reaches nobody.
        let none = &of("0xc002: H0;H1\n")[1];
        assert_eq!((none.connected, none.missing.len()), (false, 2));

        // Both ways round: packets run in a circle.
        let rows = text.lines().map(|line| {
            let (mlid, ports) = line.split_once(" : ").unwrap_or((line, ""));
            if mlid == "0xC001" { format!("0xC001 : 0x001  0x002 {ports}\n") } else { format!("{line}\n") }
        });
        let full: String = rows.collect();
        let circle = parse_multicast_tables(&ring, "mc", &full).unwrap();
        assert_eq!(circle.reports(None)[0].circle.as_ref().map(Vec::len), Some(6));

        // One switch forgets its links.
        let guid = format!("{:#018x}", ring.router_guid(RouterId::new(1)).unwrap());
        let (before, after) = text.split_once(&format!("Switch {guid}")).unwrap();
        let after = after.split_once("\nSwitch").unwrap().1;
        let cut = parse_multicast_tables(&ring, "mc", &format!("{before}Switch{after}")).unwrap();
        let cut = cut.with_members(&tables, "groups", "0xc001: H0;H1;H2;H3;H4;H5").unwrap();
        let report = &cut.reports(None)[0];
        assert!(!report.connected && report.missing.contains(&NodeId::new(1)));
    }

    #[test]
    fn errors_name_file_line_and_what_is_wrong() {
        let (ring, tables) = ring();
        let message = |text: &str| parse_multicast_tables(&ring, "mc", text).unwrap_err().to_string();
        let guid = ring.router_guid(RouterId::new(0)).unwrap();
        for (text, said) in [
            ("\n", "mc:1: there is no switch: OpenSM writes none if no group has two members"),
            ("LID    : Out Port(s)", "mc:1: there is no switch;"),
            ("0xC001 : 0x001", "mc:1: an entry before the first switch"),
            ("Switch 0x0000000000000bad\n", "mc:1: `ring` has no switch with the identifier 0x0000000000000bad"),
            ("Unicast lids", "mc:1: found `unicast tables`"),
            (&format!("Switch {guid:#018x}\n0x0001 : 0x001"), "mc:2: `0x0001` is no address of a group"),
            (&format!("Switch {guid:#018x}\n0xC001 : 1"), "mc:2: `1` is no port"),
            (&format!("Switch {guid:#018x}\n0xC001 0x001"), "mc:2: an entry needs a `:`"),
            (
                &format!("Switch {guid:#018x}\n0xC001 : 0x001\n0xC002 : 0x001\n0xC001 : 0x002"),
                "mc:4: S0 has an entry for 0xc001 already, in line 2",
            ),
            (
                &format!("Multicast mlids of switch guid {guid:#018x} (S0):\n0xc001       x"),
                "mc:2: found `x` in column 14",
            ),
        ] {
            assert!(message(text).starts_with(said), "{}", message(text));
        }
        let groups = |text: &str| {
            let tables_of_groups = parse_multicast_tables(&ring, "mc", &tree(&ring, [0, 1])).unwrap();
            tables_of_groups.with_members(&tables, "groups", text).unwrap_err().to_string()
        };
        for (text, said) in [
            ("", "groups:1: there is no group"),
            ("0xc001 H0", "groups:1: there is no `:`"),
            ("0xc001:", "groups:1: the group has no members"),
            ("0xc001: H0\n0xc001: H1", "groups:2: the group 0xc001 is there already, in line 1"),
            ("1: H0", "groups:1: `1` is no address of a group"),
            ("0xc001: H9", "groups:1: "),
            ("0xc001: 0xzz", "groups:1: `0xzz` is no identifier"),
        ] {
            assert!(groups(text).starts_with(said), "{}", groups(text));
        }
    }
}
