//! The analysis of all tables of a fabric together: unicasts, multicasts, virtual lanes.

use std::collections::HashMap;

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network};
use wormcast_routing::{
    Dependencies, ForwardingTables, GroupBranching, MulticastTables, Resource, RoutingRelation, TablesReport,
    UnicastWaits, VirtualLanes, Witness, analyse_tables, witness_in_lanes, witness_of_tables,
};

use crate::error::AnalysisError;
use crate::groups::{Blame, GroupFound, Groups, LaneFound, LanesFound, mlid_text};
use crate::report::{ClosedBy, CycleResource, EXAMPLES, Load, Report, WormsAnalysed};
use crate::settings::Settings;
use crate::tables::TablesFound;

/// All tables of a fabric.
#[derive(Clone, Copy)]
pub struct Fabric<'a> {
    /// The name of the unicast tables in the report, such as that of their file.
    pub name: &'a str,
    /// The unicast tables.
    pub tables: &'a ForwardingTables,
    /// The multicast tables, and how their packets branch.
    pub multicasts: Option<(&'a MulticastTables, GroupBranching)>,
    /// Virtual lanes; without them, everything is on one.
    pub lanes: Option<&'a VirtualLanes>,
}

/// Analyses the tables of a fabric: whether the packets of hosts and of groups can deadlock together, lane by lane, which packets arrive, and which
/// groups are to blame.
///
/// A deadlock takes O(entries + dependencies), with lanes O(pairs of nodes x distance); who is to blame takes, for each group, mostly the time of its
/// own dependencies.
///
/// # Errors
/// If the settings ask whether a deadlock can be reached: that is not known of multicast tables and lanes.
pub fn of_fabric(fabric: &Fabric<'_>, settings: &Settings) -> Result<Report, AnalysisError> {
    if fabric.multicasts.is_none() && fabric.lanes.is_none() {
        return crate::analyse::of_tables(fabric.name, fabric.tables, settings);
    }
    if settings.reachable.is_some() {
        return Err(AnalysisError::ReachableOfTables);
    }
    let network = &**fabric.tables.network();
    let laned = fabric.lanes.map(|lanes| network.in_lanes(lanes.count()));
    let union = Union::new(fabric, laned.as_ref().unwrap_or(network));
    let all = union.with(0..union.groups());
    let cycle = all.deadlock(1);
    let consumption_ports = settings.consumption_ports(None);
    let resources = cycle.as_deref().map(|cycle| cycle.iter().map(|&held| union.resource(held)).collect());
    let mut report = Report::new(network, fabric.tables.name(), consumption_ports, resources);
    report.worms = WormsAnalysed { only_unicasts: fabric.multicasts.is_none(), trees: fabric.multicasts.is_some() };
    let led: TablesReport = analyse_tables(fabric.tables);
    report.tables = Some(TablesFound::new(fabric.name, fabric.tables, &led));
    report.add_survey(led.survey);
    report.link_load = Some(Load::new(network, led.load));
    report.lanes = fabric.lanes.map(|lanes| union.lanes_found(lanes, &all, cycle.is_some()));
    report.closed_by =
        cycle.as_deref().and_then(|cycle| report.part("who closes the cycle", || union.closed_by(cycle)));
    report.multicast_tables = fabric.multicasts.map(|(multicasts, branching)| {
        let reports = multicasts.reports(fabric.lanes).into_iter();
        let groups = reports.map(|report| GroupFound::new(network, report)).collect();
        let blame = cycle.as_deref().map(|cycle| report.part("which groups are to blame", || union.blame(cycle)));
        Groups { branching: branching.name(), groups, blame: blame.flatten() }
    });
    Ok(report)
}

/// Each channel of a cycle with the next.
fn steps(cycle: &[Resource]) -> Vec<(ChannelId, ChannelId)> {
    let channels: Vec<ChannelId> = cycle
        .iter()
        .filter_map(|held| match *held {
            Resource::Channel(channel) => Some(channel),
            Resource::Consumption(_) => None,
        })
        .collect();
    channels.iter().copied().zip(channels.iter().copied().cycle().skip(1)).collect()
}

/// The tables of a fabric and what their unicasts wait for.
struct Union<'a> {
    fabric: &'a Fabric<'a>,
    /// The network, in lanes if there are any.
    network: &'a Network,
    unicasts: UnicastWaits,
    /// Of the unicasts, if they cannot deadlock by themselves.
    numbering: Option<Vec<u32>>,
}

impl<'a> Union<'a> {
    fn new(fabric: &'a Fabric<'a>, network: &'a Network) -> Self {
        let unicasts = match fabric.lanes {
            Some(lanes) => UnicastWaits::in_lanes(fabric.tables, lanes),
            None => UnicastWaits::by_channel(fabric.tables),
        };
        let numbering = unicasts.numbering();
        Self { fabric, network, unicasts, numbering }
    }

    fn groups(&self) -> usize {
        self.fabric.multicasts.map_or(0, |(multicasts, _)| multicasts.groups().len())
    }

    fn mlids(&self, groups: &[usize]) -> Vec<String> {
        let Some((multicasts, _)) = self.fabric.multicasts else { return Vec::new() };
        groups.iter().map(|&group| mlid_text(multicasts.groups()[group].mlid)).collect()
    }

    /// The dependencies of unicasts with those of some of the groups.
    fn with(&self, groups: impl IntoIterator<Item = usize>) -> Dependencies<'a> {
        let dependencies = self.unicasts.dependencies(self.network);
        let Some((multicasts, branching)) = self.fabric.multicasts else { return dependencies };
        let dependencies = self.add(dependencies, groups, multicasts, branching);
        match branching {
            GroupBranching::Ibdmchk => dependencies.reached_by_hosts(&self.unicasts),
            GroupBranching::Packets | GroupBranching::Lockstep => dependencies,
        }
    }

    fn add(
        &self,
        mut dependencies: Dependencies<'a>,
        groups: impl IntoIterator<Item = usize>,
        multicasts: &MulticastTables,
        branching: GroupBranching,
    ) -> Dependencies<'a> {
        dependencies.add_worms(|worms| {
            for group in groups {
                multicasts.add(worms, group, branching, self.fabric.lanes);
            }
        });
        dependencies
    }

    /// The dependencies of one group without unicasts.
    fn alone(&self, group: usize) -> Dependencies<'a> {
        let own = Dependencies::new(self.network);
        match self.fabric.multicasts {
            Some((multicasts, branching)) => self.add(own, [group], multicasts, branching),
            None => own,
        }
    }

    fn can_deadlock(&self, groups: &[usize]) -> bool {
        match (self.fabric.multicasts, &self.numbering) {
            (Some((multicasts, GroupBranching::Packets)), Some(numbering)) => {
                let hops = groups.iter().flat_map(|&group| multicasts.hops(group, self.fabric.lanes));
                self.unicasts.closes_with(numbering, &hops.collect::<Vec<_>>())
            }
            _ => self.with(groups.iter().copied()).deadlock(1).is_some(),
        }
    }

    /// The channel of the fabric, and its lane.
    fn on_lane(&self, channel: ChannelId) -> (ChannelId, Option<u32>) {
        match self.fabric.lanes.map(VirtualLanes::count) {
            Some(count) => (ChannelId::new(channel.raw() / count), Some(channel.raw() % count)),
            None => (channel, None),
        }
    }

    fn resource(&self, held: Resource) -> CycleResource {
        let network = self.fabric.tables.network();
        match held {
            Resource::Channel(channel) => {
                let (channel, lane) = self.on_lane(channel);
                CycleResource::new(network, Resource::Channel(channel)).on_lane(lane)
            }
            Resource::Consumption(_) => CycleResource::new(network, held),
        }
    }

    /// Who holds each channel of a cycle while waiting for the next.
    fn closed_by(&self, cycle: &[Resource]) -> Vec<ClosedBy> {
        let steps = steps(cycle);
        let groups = self.that_wait(&steps).into_iter().map(|groups| self.mlids(&groups));
        let network = self.fabric.tables.network();
        let unicasts = steps.iter().map(|&(held, next)| self.witness(held, next));
        let closed_by = unicasts.zip(groups);
        closed_by.map(|(unicasts, groups)| ClosedBy { groups, ..ClosedBy::new(network, &unicasts) }).collect()
    }

    /// The unicasts that hold one channel and request the other.
    fn witness(&self, held: ChannelId, next: ChannelId) -> Witness {
        let tables = self.fabric.tables;
        match (self.fabric.lanes, self.on_lane(held), self.on_lane(next)) {
            (Some(lanes), (held, Some(on)), (next, Some(then))) => {
                witness_in_lanes(tables, lanes, [(held, on), (next, then)], EXAMPLES)
            }
            (_, (held, _), (next, _)) => witness_of_tables(tables, (held, next), EXAMPLES),
        }
    }

    /// The groups whose packets may hold one channel while they wait for the other.
    fn that_wait(&self, steps: &[(ChannelId, ChannelId)]) -> Vec<Vec<usize>> {
        let mut found: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        let asked: HashMap<ChannelId, usize> =
            steps.iter().enumerate().map(|(place, &(held, _))| (held, place)).collect();
        for group in 0..self.groups() {
            if let Some((multicasts, GroupBranching::Packets)) = self.fabric.multicasts {
                let hops = multicasts.hops(group, self.fabric.lanes).into_iter();
                let mut waits: Vec<usize> = hops
                    .filter_map(|(held, next)| asked.get(&held).copied().filter(|&at| steps[at].1 == next))
                    .collect();
                waits.sort_unstable();
                waits.dedup();
                for place in waits {
                    found[place].push(group);
                }
                continue;
            }
            let own = self.alone(group);
            for (found, &(held, next)) in found.iter_mut().zip(steps) {
                if own.contains(held, next) {
                    found.push(group);
                }
            }
        }
        found
    }

    /// Groups that, with the unicasts, close this cycle; all of them if that is not seen from it.
    fn that_close(&self, cycle: &[Resource]) -> Vec<usize> {
        let steps = steps(cycle);
        let waits = self.that_wait(&steps);
        let of_unicasts =
            |&(held, next): &(ChannelId, ChannelId)| self.unicasts.requested(held).any(|other| other == next);
        let others = steps.iter().zip(&waits).filter(|(step, _)| !of_unicasts(step));
        let mut open: Vec<&Vec<usize>> = others.map(|(_, groups)| groups).collect();
        let mut set = Vec::new();
        // The group that most of the steps left wait for.
        while !open.is_empty() {
            let mut counts = vec![0u32; self.groups()];
            open.iter().copied().flatten().for_each(|&group| counts[group] += 1);
            let most = (0..counts.len()).rev().max_by_key(|&group| counts[group]);
            let Some(group) = most.filter(|&group| counts[group] > 0) else { break };
            set.push(group);
            open.retain(|groups| !groups.contains(&group));
        }
        set.sort_unstable();
        if self.can_deadlock(&set) { set } else { (0..self.groups()).collect() }
    }

    /// Which groups are to blame for a deadlock with this cycle.
    fn blame(&self, cycle: &[Resource]) -> Blame {
        /// Sets that are tried before the answer is just a set from which nothing can be left out.
        const SETS: usize = 2000;
        let all: Vec<usize> = (0..self.groups()).collect();
        if self.can_deadlock(&[]) {
            let alone: Vec<usize> = all.into_iter().filter(|&group| self.alone(group).deadlock(1).is_some()).collect();
            let alone = self.mlids(&alone);
            return Blame { unicasts_alone: true, alone, smallest: Vec::new(), is_smallest: true };
        }
        let is_alone = |&group: &usize| {
            step("looking for groups to blame", "groups", group, all.len());
            self.can_deadlock(&[group])
        };
        let alone: Vec<usize> = all.iter().copied().filter(is_alone).collect();
        if let Some(&first) = alone.first() {
            let (alone, smallest) = (self.mlids(&alone), self.mlids(&[first]));
            return Blame { unicasts_alone: false, alone, smallest, is_smallest: true };
        }
        // From groups that close a cycle, leave out what is not needed.
        let mut set = self.that_close(cycle);
        for group in set.clone() {
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
        Blame { unicasts_alone: false, alone: Vec::new(), smallest: self.mlids(&set), is_smallest }
    }

    fn lanes_found(&self, lanes: &VirtualLanes, all: &Dependencies<'_>, can_deadlock: bool) -> LanesFound {
        let blocked = if can_deadlock { all.blocked(1) } else { Vec::new() };
        let found = |lane| {
            let blocked = blocked.iter().filter(|&&channel| self.on_lane(channel).1 == Some(lane)).count();
            LaneFound { lane, deadlock_free: blocked == 0, blocked }
        };
        let groups = self.fabric.multicasts.map_or(&[][..], |(multicasts, _)| multicasts.groups());
        let to_groups = groups.iter().flat_map(|group| group.senders().into_iter().map(|node| (node, group.mlid)));
        let lacking = to_groups.filter(|&(node, mlid)| lanes.lacks_group(node, mlid)).count() as u64;
        LanesFound {
            count: lanes.count(),
            switches_without: lanes.switches_without(),
            without_level: self.unicasts.without_level + lacking,
            dropped: self.unicasts.dropped,
            by_lane: (0..lanes.count()).map(found).collect(),
        }
    }
}
