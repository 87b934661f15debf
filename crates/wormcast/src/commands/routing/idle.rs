//! Options that make no difference to an analysis, or contradict it.

use super::Arguments;
use super::replication::{Replicating, switching};
use crate::commands::warn_of_idle_option;
use crate::failure::Failure;
use crate::multicast::{Algorithm, WormKinds, worm_kinds};
use crate::network::Network;
use crate::routing::Branching;
use crate::simulation::{EngineConfig, Replication, Timing};

/// What worms are analysed, as far as options are about them.
pub(super) struct Worms<'a> {
    /// Who sends them, such as `` `dual-path` ``.
    pub(super) sender: &'a str,
    /// Whether some are trees that wormhole switches replicate.
    pub(super) trees: bool,
    /// Whether all are unicasts.
    pub(super) unicasts: bool,
    /// What trees do unless they are told otherwise.
    pub(super) branching: Branching,
}

impl<'a> Worms<'a> {
    /// Those of an algorithm, if all are unicasts or not.
    pub(super) fn of(algorithm: &dyn Algorithm, network: &Network, sender: &'a str, unicasts: bool) -> Self {
        let WormKinds { trees, .. } = worm_kinds(algorithm, network);
        Self { sender, trees, unicasts, branching: algorithm.branching() }
    }
}

/// Refuses several virtual channels for trees, which go over one only; warns of options that make no difference to these worms.
pub(super) fn check_options(arguments: &Arguments, network: &Network, worms: &Worms<'_>) -> Result<(), Failure> {
    let Arguments { buffer, replication, reservation, .. } = arguments;
    let sender = worms.sender;
    if worms.trees && arguments.virtual_channels.is_some_and(|channels| channels > 1) {
        return Err(Failure::BadInput(format!(
            "{sender} sends trees, which move on one virtual channel only: leave `--virtual-channels` out"
        )));
    }
    if worms.unicasts {
        warn_of_idle_ports(arguments);
    }
    if worms.trees {
        let config =
            EngineConfig::new(&switching(arguments).for_branching(worms.branching), &Timing::default(), network);
        if config.replication == Replication::Lockstep {
            let reason = "the branches of trees in lockstep are reserved all at once";
            warn_of_idle_option("--reservation", reservation.is_some(), reason);
        }
        return Ok(());
    }
    let reason = format!("{sender} sends no trees");
    // What lies between the header and the tail of a worm decides what can be reached.
    warn_of_idle_option("--buffer", buffer.is_some() && arguments.reachable.is_none(), &reason);
    let of_trees = matches!(replication, Some(Replicating::Lockstep | Replicating::Independent));
    warn_of_idle_option("--replication", of_trees, &reason);
    warn_of_idle_option("--reservation", reservation.is_some(), &reason);
    Ok(())
}

/// Warns of numbers of channels that make no difference to unicasts.
fn warn_of_idle_ports(arguments: &Arguments) {
    if arguments.reachable.is_none() {
        let reason = "unicasts hold a consumption channel only where they end";
        warn_of_idle_option("--consumption-ports", arguments.consumption_ports.is_some(), reason);
        warn_of_idle_option("--virtual-channels", arguments.virtual_channels.is_some(), reason);
    }
}

/// If there are only the unicasts of a routing or of tables: refuses options about other worms, and warns of those that make no difference.
pub(super) fn check_unicasts(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.multicasts.is_some() {
        return Ok(());
    }
    warn_of_idle_ports(arguments);
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
