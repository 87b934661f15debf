//! Multicast tables beside unicast tables: what the packets of each group wait for, which members they reach, and which groups are to blame for a deadlock.

use std::collections::HashSet;

use serde::Serialize;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, NodeId};
use wormcast_routing::{Dependencies, ForwardingTables, GroupBranching, GroupReport, MulticastTables, Resource};

use crate::report::CycleResource;

/// The analysis of multicast tables.
#[derive(Debug, Serialize)]
pub struct Groups {
    /// How packets branch.
    pub branching: &'static str,
    /// The groups, by address.
    pub groups: Vec<GroupFound>,
    /// Who is to blame for a deadlock, if there can be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
}

/// How the packets of a group fare.
#[derive(Debug, Serialize)]
pub struct GroupFound {
    /// Its address, as `0xc001`.
    pub mlid: String,
    /// Its members, as users write them.
    pub members: Vec<String>,
    /// Whether the packets of each member reach all others.
    pub connected: bool,
    /// The members that are not reached from the one whose packets get furthest.
    pub missing: Vec<String>,
    /// The members that get a packet more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubled: Vec<String>,
    /// Nodes that get packets and are not members.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<String>,
    /// Channels that packets take again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circle: Option<Vec<CycleResource>>,
    /// Ports where nothing is attached, by switch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nowhere: Vec<(String, u32)>,
}

/// Who is to blame for a deadlock.
#[derive(Debug, Serialize)]
pub struct Blame {
    /// Whether unicasts alone can deadlock.
    pub unicasts_alone: bool,
    /// The groups each of which, alone beside the unicasts, can deadlock.
    pub alone: Vec<String>,
    /// A smallest set of groups that can deadlock beside the unicasts; empty if unicasts alone can.
    pub smallest: Vec<String>,
    /// Whether no smaller set can: false where there are too many sets to try.
    pub is_smallest: bool,
}

impl GroupFound {
    fn new(network: &Network, report: GroupReport) -> Self {
        let names = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| network.node_label(node)).collect();
        let channel = |channel| CycleResource::new(network, Resource::Channel(channel));
        Self {
            mlid: mlid_text(report.mlid),
            members: names(report.members),
            connected: report.connected,
            missing: names(report.missing),
            doubled: names(report.doubled),
            strangers: names(report.strangers),
            circle: report.circle.map(|channels| channels.into_iter().map(channel).collect()),
            nowhere: report.nowhere.into_iter().map(|(router, port)| (network.router_label(router), port)).collect(),
        }
    }
}

fn mlid_text(mlid: u16) -> String {
    format!("{mlid:#06x}")
}

/// Unicast and multicast tables of a fabric.
pub(crate) struct Union<'n> {
    pub(crate) unicasts: &'n ForwardingTables,
    pub(crate) multicasts: &'n MulticastTables,
    pub(crate) branching: GroupBranching,
}

impl<'n> Union<'n> {
    /// The dependencies of unicasts with those of some of the groups.
    fn with(&self, groups: impl IntoIterator<Item = usize>) -> Dependencies<'n> {
        let mut dependencies = Dependencies::of_tables(self.unicasts);
        dependencies.add_worms(|worms| {
            for group in groups {
                self.multicasts.add(worms, group, self.branching);
            }
        });
        match self.branching {
            GroupBranching::Ibdmchk => dependencies.reached_by_hosts(self.unicasts),
            GroupBranching::Packets | GroupBranching::Lockstep => dependencies,
        }
    }

    pub(crate) fn dependencies(&self) -> Dependencies<'n> {
        self.with(0..self.multicasts.groups().len())
    }

    /// What is known of the groups; `deadlock` is a cycle of all together.
    pub(crate) fn found(&self, deadlock: Option<&[Resource]>) -> Groups {
        let network = self.multicasts.network();
        let reports = self.multicasts.reports().into_iter();
        Groups {
            branching: self.branching.name(),
            groups: reports.map(|report| GroupFound::new(network, report)).collect(),
            blame: deadlock.map(|_| self.blame()),
        }
    }

    fn can_deadlock(&self, groups: &[usize]) -> bool {
        self.with(groups.iter().copied()).deadlock(1).is_some()
    }

    fn blame(&self) -> Blame {
        /// Sets that are tried before the answer is just a set from which nothing can be left out.
        const SETS: usize = 2000;
        let groups = self.multicasts.groups();
        let names = |set: &[usize]| set.iter().map(|&group| mlid_text(groups[group].mlid)).collect();
        if self.can_deadlock(&[]) {
            return Blame { unicasts_alone: true, alone: self.alone(), smallest: Vec::new(), is_smallest: true };
        }
        let all: Vec<usize> = (0..groups.len()).collect();
        let is_alone = |&group: &usize| {
            step("looking for groups to blame", "groups", group, all.len());
            self.can_deadlock(&[group])
        };
        let alone: Vec<usize> = all.iter().copied().filter(is_alone).collect();
        if let Some(&first) = alone.first() {
            return Blame { unicasts_alone: false, alone: names(&alone), smallest: names(&[first]), is_smallest: true };
        }
        // From the largest set, leave out what is not needed.
        let mut set = all.clone();
        for group in all.iter().copied() {
            let without: Vec<usize> = set.iter().copied().filter(|&other| other != group).collect();
            if self.can_deadlock(&without) {
                set = without;
            }
        }
        let mut is_smallest = set.len() <= 2;
        if !is_smallest && all.len() * (all.len() - 1) / 2 <= SETS {
            let pairs = all.iter().flat_map(|&a| all[a + 1..].iter().map(move |&b| [a, b]));
            let mut pairs = pairs.filter(|pair| self.can_deadlock(pair));
            match pairs.next() {
                Some(pair) => (set, is_smallest) = (pair.to_vec(), true),
                None => is_smallest = set.len() == 3,
            }
        }
        Blame { unicasts_alone: false, alone: Vec::new(), smallest: names(&set), is_smallest }
    }

    /// The groups whose packets alone, without unicasts, can deadlock.
    fn alone(&self) -> Vec<String> {
        let network: &Network = self.multicasts.network();
        let groups = self.multicasts.groups().iter().enumerate();
        let can = |group: usize| {
            let mut own = Dependencies::new(network);
            own.add_worms(|worms| self.multicasts.add(worms, group, self.branching));
            own.deadlock(1).is_some()
        };
        groups.filter(|&(group, _)| can(group)).map(|(_, group)| mlid_text(group.mlid)).collect()
    }

    /// The groups whose packets may hold one channel while they wait for the other.
    pub(crate) fn that_wait(&self, steps: &[(ChannelId, ChannelId)]) -> Vec<Vec<String>> {
        let network: &Network = self.multicasts.network();
        let mut found: Vec<Vec<String>> = vec![Vec::new(); steps.len()];
        let asked: HashSet<ChannelId> = steps.iter().map(|&(held, _)| held).collect();
        for (number, group) in self.multicasts.groups().iter().enumerate() {
            let mut own = Dependencies::new(network);
            own.add_worms(|worms| self.multicasts.add(worms, number, self.branching));
            for (found, &(held, next)) in found.iter_mut().zip(steps) {
                if asked.contains(&held) && own.contains(held, next) {
                    found.push(mlid_text(group.mlid));
                }
            }
        }
        found
    }
}
