//! Multicast forwarding tables: at every switch, the ports that packets of a group leave by, whichever they came by.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use wormcast_network::input::input_name;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use self::packets::{Packets, Sender};
use super::lanes::{Arrival, VirtualLanes};
use super::tree_rules::{Branch, TreeRule};
use super::{Target, first_of};
use crate::analysis::dependency::{Branching, Worms};

mod files;
mod members;
mod packets;

pub(super) use files::mlid_of;
pub use files::{MULTICAST_TABLES_INPUT, NetworkMcfdbs, parse_multicast_tables, read_multicast_tables};
pub use members::{GROUPS_INPUT, read_members};
pub use packets::GroupReport;

/// Where a switch sends the packets of a group: on all of these, except for the one that they came by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Mask {
    channels: Vec<ChannelId>,
    nodes: Vec<NodeId>,
    /// Whether the switch itself gets them: port 0.
    own: bool,
    /// Ports where nothing is attached.
    nowhere: Vec<u32>,
}

/// The tables of a group, and its members if they are known.
#[derive(Clone, Debug)]
pub struct MulticastGroup {
    /// Its address.
    pub mlid: u16,
    masks: HashMap<RouterId, Mask>,
    /// Nodes and then switches, each in order.
    members: Option<Vec<Target>>,
}

/// Multicast forwarding tables, and the members of their groups.
#[derive(Clone, Debug)]
pub struct MulticastTables {
    network: Arc<Network>,
    /// By address.
    groups: Vec<MulticastGroup>,
    /// What of the file that they are from is not as it is written.
    doubt: Option<String>,
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

impl MulticastGroup {
    fn mask(&self, router: RouterId) -> Option<&Mask> {
        self.masks.get(&router)
    }

    /// What its tables deliver to, in order.
    fn delivered(&self) -> Vec<Target> {
        let own = self.masks.iter().filter(|(_, mask)| mask.own).map(|(&router, _)| Target::Router(router));
        let nodes = self.masks.values().flat_map(|mask| &mask.nodes).copied().map(Target::Node);
        let mut all: Vec<Target> = nodes.chain(own).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Its members, nodes before switches: those that are given, or else all that its tables deliver to.
    pub fn members(&self) -> Vec<Target> {
        self.members.clone().unwrap_or_else(|| self.delivered())
    }

    /// The members that send: switches are not taken to.
    pub fn senders(&self) -> Vec<NodeId> {
        self.members().into_iter().filter_map(Target::node).collect()
    }

    /// The routers of its members, each once.
    pub(super) fn routers(&self, network: &Network) -> Vec<RouterId> {
        let mut routers: Vec<RouterId> = self.members().iter().map(|member| member.router(network)).collect();
        routers.sort_unstable();
        routers.dedup();
        routers
    }
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
        Self { network: Arc::clone(network), groups: Vec::new(), doubt: None }
    }

    /// What tells that the file that they are from may be cut, if anything does: a switch without entries, an entry without ports, a last line without
    /// its end, where `OpenSM` writes none of these. [`one_sided`](Self::one_sided) finds what such a cut leaves in trees.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// The trees that `OpenSM` builds by a matrix for the members of each group, in place of what was there.
    #[must_use]
    pub fn with_trees(mut self, rule: &dyn TreeRule) -> Self {
        for group in &mut self.groups {
            let members = group.members();
            let tree = rule.tree(group.mlid, &members);
            group.masks = tree
                .into_iter()
                .map(|(router, Branch { mut channels, members, own })| {
                    channels.sort_unstable();
                    channels.dedup();
                    (router, Mask { channels, nodes: members, own, nowhere: Vec::new() })
                })
                .collect();
            group.members = Some(members);
        }
        self
    }

    /// Why the file from which these were read may not be the whole of it: how its text ends, as [`doubt`](Self::doubt) says, and [switches that send no packets
    /// back](Self::one_sided).
    pub fn doubts(&self, path: &str) -> Vec<String> {
        let one_sided = self.one_sided();
        let lacks = one_sided.first().map(|&(mlid, _)| {
            let own = one_sided.iter().filter(|&&(other, _)| other == mlid);
            let names: Vec<String> = own.map(|&(_, router)| self.network.router_label(router)).collect();
            let mut groups: Vec<u16> = one_sided.iter().map(|&(mlid, _)| mlid).collect();
            groups.dedup();
            let others = match groups.len() - 1 {
                0 => String::new(),
                1 => ", and of another group".to_owned(),
                others => format!(", and of {others} other groups"),
            };
            let (file, names) = (input_name(path), first_of(&names));
            format!("`{file}` lacks entries of the group {mlid:#06x} at {names}, to which others send its packets{others}: is it truncated?")
        });
        self.doubt.iter().cloned().chain(lacks).collect()
    }

    /// These for nodes alone, without the switches that are members.
    #[must_use]
    pub fn of_nodes(mut self) -> Self {
        for group in &mut self.groups {
            if let Some(members) = &mut group.members {
                members.retain(|member| member.node().is_some());
            }
            group.masks.values_mut().for_each(|mask| mask.own = false);
        }
        self
    }

    /// What is to be said of groups whose members are switches alone, if there are any.
    pub fn silence(&self) -> Option<String> {
        let is_silent = |group: &&MulticastGroup| group.senders().is_empty() && !group.members().is_empty();
        let mut silent = self.groups.iter().filter(is_silent).map(|group| format!("{:#06x}", group.mlid)).peekable();
        silent.peek()?;
        let names = first_of(&silent.collect::<Vec<_>>());
        Some(format!(
            "members of {names} are switches alone, which are not taken to send: no packet of such a group is followed"
        ))
    }

    /// The switches at whose end a link is not in the tables of a group, though it is at its other end: packets of the group come there, and none go back. In
    /// trees as subnet managers build them there are none, so the tables may be cut. By group and switch, each once.
    pub fn one_sided(&self) -> Vec<(u16, RouterId)> {
        let mut found = Vec::new();
        for group in &self.groups {
            let channels = group.masks.values().flat_map(|mask| &mask.channels);
            let lacks = |&&channel: &&ChannelId| {
                let back = self.network.reverse(channel);
                !group.mask(self.network.to(channel)).is_some_and(|mask| mask.channels.contains(&back))
            };
            found.extend(channels.filter(lacks).map(|&channel| (group.mlid, self.network.to(channel))));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn packets<'a>(&'a self, group: usize, lanes: Option<&'a VirtualLanes>) -> Packets<'a> {
        Packets { network: &self.network, group: &self.groups[group], lanes }
    }

    /// The tree of what a member sends to a group; `None` if its packets run in a circle. O(channels of the group).
    pub fn tree(&self, group: usize, member: NodeId) -> Option<GroupTree> {
        let packets = self.packets(group, None);
        let sender = Sender { members: vec![member], level: 0 };
        let delivers = |at| packets.nodes(at, sender.level).filter(|&node| node != member).collect();
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
}

#[cfg(test)]
mod tests;
