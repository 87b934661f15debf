//! Verdicts on the tables of a fabric, and why they differ.

use std::collections::HashSet;
use std::path::Path;

use wormcast::analysis::{AnalysisError, Fabric, Replicating, Settings, Unicasts, of_fabric, of_multicasts};
use wormcast::multicast::{Multicast, Options, algorithm_by_name};
use wormcast::network::{ChannelId, Network};
use wormcast::routing::{
    Dependencies, ForwardingTables, GroupBranching, MulticastTables, RoutingRelation, UnicastWaits, VirtualLanes,
};
use wormcast::simulation::Buffer;

/// Steps of the search for messages that deadlock.
const STEPS: u64 = 300_000;

/// The tables of a fabric, with what else verdicts depend on.
pub(crate) struct Case<'a> {
    pub(crate) tables: &'a ForwardingTables,
    pub(crate) groups: &'a MulticastTables,
    pub(crate) lanes: Option<&'a VirtualLanes>,
}

impl Case<'_> {
    pub(crate) fn can_deadlock(&self, how: GroupBranching) -> bool {
        let fabric =
            Fabric { name: "tables", tables: self.tables, multicasts: Some((self.groups, how)), lanes: self.lanes };
        !of_fabric(&fabric, &Settings::default()).unwrap().deadlock_free
    }

    /// The rules of `ibdmchk` that make its verdict differ from what packets do: from its model to that of packets, one rule is dropped after the other.
    pub(crate) fn explained(&self) -> Vec<&'static str> {
        let network: &Network = self.tables.network();
        let count = self.lanes.map_or(1, VirtualLanes::count);
        let laned = network.in_lanes(count);
        let unicasts = match self.lanes {
            Some(lanes) => UnicastWaits::in_lanes(self.tables, lanes),
            None => UnicastWaits::by_channel(self.tables),
        };
        let (mut any, mut taken, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        for group in 0..self.groups.groups().len() {
            let mut own = Dependencies::new(&laned);
            own.add_worms(|worms| self.groups.add(worms, group, GroupBranching::Ibdmchk, self.lanes));
            let packets: HashSet<(ChannelId, ChannelId)> = self.groups.hops(group, None).into_iter().collect();
            for turn in self.groups.turns(group) {
                let on =
                    |lane| (ChannelId::new(turn.0.raw() * count + lane), ChannelId::new(turn.1.raw() * count + lane));
                for (held, next) in (0..count).map(on).filter(|&(held, next)| own.contains(held, next)) {
                    any.push((held, next));
                    if packets.contains(&turn) {
                        taken.push((held, next));
                    }
                }
            }
            exact.extend(self.groups.hops(group, self.lanes));
        }
        let verdict = |pairs: &[(ChannelId, ChannelId)], from_hosts: bool| {
            let waits = unicasts.clone().with(pairs.iter().copied());
            let all = waits.dependencies(&laned);
            let all = if from_hosts { all.reached_by_hosts(&unicasts) } else { all };
            all.deadlock(1).is_some()
        };
        let verdicts = [verdict(&any, true), verdict(&taken, true), verdict(&exact, true), verdict(&exact, false)];
        assert_eq!(verdicts[0], self.can_deadlock(GroupBranching::Ibdmchk));
        assert_eq!(verdicts[3], self.can_deadlock(GroupBranching::Packets));
        let rules = ["turns that no packet takes", "lanes of groups", "loops that only groups close"];
        verdicts.windows(2).zip(rules).filter(|(pair, _)| pair[0] != pair[1]).map(|(_, rule)| rule).collect()
    }
}

/// Whether messages reach a deadlock that only lockstep makes possible.
pub(crate) fn reached(folder: &Path, case: &Case<'_>) -> &'static str {
    let mut options = Options::default();
    let path = |name: &str| Some(folder.join(name).display().to_string());
    options.own.tables = path("opensm-lfts.dump");
    options.own.multicast_tables = path("opensm.mcfdbs");
    let network = case.tables.network();
    let Ok(algorithm) = algorithm_by_name("tables", network, &options) else { return "lockstep: refused" };
    let settings = Settings {
        consumption_ports: Some(32),
        buffer: Some(Buffer::Flits(1)),
        replication: Some(Replicating::Lockstep),
        reachable: Some(STEPS),
        ..Settings::default()
    };
    let report = of_multicasts(Unicasts::Tables("tables", case.tables), &settings, |adding| {
        for (group, line) in case.groups.groups().iter().zip(1..) {
            let members = group.senders();
            for &source in &members {
                let others: Vec<_> = members.iter().copied().filter(|&node| node != source).collect();
                if !others.is_empty() {
                    let multicast = Multicast::new(source, &others);
                    adding.add(line, algorithm.routing(), &multicast, &algorithm.plan(&multicast))?;
                }
            }
        }
        Ok::<(), AnalysisError>(())
    });
    match report.unwrap().reachability.map(|reached| reached.verdict) {
        Some("reachable") => "lockstep: deadlocks in a run",
        Some("not reachable") => "lockstep: no messages deadlock",
        _ => "lockstep: not decided",
    }
}
