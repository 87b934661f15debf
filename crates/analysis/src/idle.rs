//! Settings that make no difference to what is analysed.

use wormcast_network::Network;
use wormcast_routing::Branching;
use wormcast_simulation::{BranchReplication, EngineConfig, Timing};

use crate::report::Report;
use crate::settings::{Replicating, Settings};

/// A setting that was given and makes no difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleSetting {
    /// The name of its field in [`Settings`].
    pub name: &'static str,
    /// Why it makes none.
    pub reason: String,
}

impl IdleSetting {
    fn among<const N: usize>(settings: [(&'static str, bool, &str); N]) -> Vec<Self> {
        let idle = settings.into_iter().filter(|&(_, is_given, _)| is_given);
        idle.map(|(name, _, reason)| Self { name, reason: reason.to_owned() }).collect()
    }
}

impl Settings {
    /// The settings that make no difference to the worms that a report is about. They are those of `sender`, as in `` `dual-path` ``; its trees branch as
    /// `branching` says unless they are told otherwise, and `divided` says whether virtual channels are divided.
    pub fn idle(
        &self,
        network: &Network,
        report: &Report,
        sender: &str,
        branching: Branching,
        divided: bool,
    ) -> Vec<IdleSetting> {
        let mut idle = if report.worms.only_unicasts { self.idle_ports(divided) } else { Vec::new() };
        if report.worms.trees {
            let switching = self.switching().for_branching(branching);
            let config = EngineConfig::new(&switching, &Timing::default(), network);
            let at_once = config.replication == BranchReplication::Lockstep && self.reservation.is_some();
            let reason = "the branches of trees in lockstep are reserved all at once";
            idle.extend(IdleSetting::among([("reservation", at_once, reason)]));
            return idle;
        }
        let reason = format!("{sender} sends no trees");
        let of_trees = matches!(self.replication, Some(Replicating::Lockstep | Replicating::Independent));
        idle.extend(IdleSetting::among([
            // What lies between the header and the tail of a worm decides what can be reached.
            ("buffer", self.buffer.is_some() && self.reachable.is_none(), &reason),
            ("replication", of_trees, &reason),
            ("reservation", self.reservation.is_some(), &reason),
        ]));
        idle
    }

    /// Numbers of channels that make no difference to unicasts; `divided` says whether their routing divides virtual channels.
    pub fn idle_ports(&self, divided: bool) -> Vec<IdleSetting> {
        let searched = self.reachable.is_some();
        IdleSetting::among([
            (
                "consumption_ports",
                self.consumption_ports.is_some() && !searched,
                "these worms hold a consumption channel only where they end",
            ),
            (
                "virtual_channels",
                self.virtual_channels.is_some() && !divided && !searched,
                "the routing does not tell virtual channels apart",
            ),
        ])
    }

    /// The first setting that is about worms with several destinations, which unicasts are not.
    pub fn about_multicasts(&self) -> Option<&'static str> {
        let settings = [
            ("buffer", self.buffer.is_some() && self.reachable.is_none()),
            ("replication", self.replication.is_some()),
            ("reservation", self.reservation.is_some()),
        ];
        settings.iter().find(|(_, is_given)| *is_given).map(|&(name, _)| name)
    }
}
