//! Options that make no difference to an analysis, or contradict it.

use serde::de::DeserializeOwned;

use super::{Arguments, settings};
use crate::analysis::{Replicating, Report, WormsAnalysed};
use crate::commands::warn_of_idle_option;
use crate::failure::Failure;
use crate::network::Network;
use crate::routing::Branching;
use crate::simulation::{BranchReplication, Buffer, EngineConfig, MAX_LENGTH, Reservation, Timing};

/// A setting as experiment files spell it.
fn setting<T: DeserializeOwned>(text: &str, expected: &str) -> Result<T, String> {
    let value = text.parse::<u32>().map_or_else(|_| text.into(), serde_json::Value::from);
    serde_json::from_value(value).map_err(|_| format!("expected {expected}"))
}

pub(super) fn buffer(text: &str) -> Result<Buffer, String> {
    let expected = format!("`message`, or 1 to {MAX_LENGTH} flits");
    match setting(text, &expected)? {
        Buffer::Flits(flits) if !(1..=MAX_LENGTH).contains(&flits) => Err(format!("expected {expected}")),
        buffer => Ok(buffer),
    }
}

pub(super) fn reservation(text: &str) -> Result<Reservation, String> {
    setting(text, "`atomic` or `separate`")
}

/// What worms are analysed, as far as options are about them.
pub(super) struct Worms<'a> {
    /// Who sends them, such as `` `dual-path` ``.
    pub(super) sender: &'a str,
    kinds: WormsAnalysed,
    /// What trees do unless they are told otherwise.
    branching: Branching,
    /// Whether virtual channels are divided.
    divided: bool,
}

impl<'a> Worms<'a> {
    /// Those that a report is about.
    pub(super) fn new(report: &Report, sender: &'a str, branching: Branching, divided: bool) -> Self {
        Self { sender, kinds: report.worms, branching, divided }
    }
}

/// Warns of options that make no difference to these worms.
pub(super) fn check_options(arguments: &Arguments, network: &Network, worms: &Worms<'_>) {
    let Arguments { buffer, replication, reservation, .. } = arguments;
    if worms.kinds.only_unicasts {
        warn_of_idle_ports(arguments, worms.divided);
    }
    if worms.kinds.trees {
        let switching = settings(arguments).switching().for_branching(worms.branching);
        let config = EngineConfig::new(&switching, &Timing::default(), network);
        if config.replication == BranchReplication::Lockstep {
            let reason = "the branches of trees in lockstep are reserved all at once";
            warn_of_idle_option("--reservation", reservation.is_some(), reason);
        }
        return;
    }
    let reason = format!("{} sends no trees", worms.sender);
    // What lies between the header and the tail of a worm decides what can be reached.
    warn_of_idle_option("--buffer", buffer.is_some() && arguments.reachable.is_none(), &reason);
    let of_trees = matches!(replication, Some(Replicating::Lockstep | Replicating::Independent));
    warn_of_idle_option("--replication", of_trees, &reason);
    warn_of_idle_option("--reservation", reservation.is_some(), &reason);
}

/// Warns of numbers of channels that make no difference to unicasts; `divided` says whether their routing divides virtual channels.
fn warn_of_idle_ports(arguments: &Arguments, divided: bool) {
    if arguments.reachable.is_none() {
        let reason = "unicasts hold a consumption channel only where they end";
        warn_of_idle_option("--consumption-ports", arguments.consumption_ports.is_some(), reason);
        let reason = "the routing does not tell virtual channels apart";
        warn_of_idle_option("--virtual-channels", arguments.virtual_channels.is_some() && !divided, reason);
    }
}

/// Where there are only the unicasts of a routing or of tables, refuses options about other worms, and warns of those that make no difference.
pub(super) fn check_unicasts(arguments: &Arguments, divided: bool) -> Result<(), Failure> {
    warn_of_idle_ports(arguments, divided);
    let options = [
        ("--buffer", arguments.buffer.is_some() && arguments.reachable.is_none()),
        ("--replication", arguments.replication.is_some()),
        ("--reservation", arguments.reservation.is_some()),
    ];
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::BadInput(format!(
            "`{option}` is about worms with several destinations: expected `--algorithm` or `--multicasts`, too"
        ))),
        None => Ok(()),
    }
}
