//! How worms of an algorithm are replicated, and whether they can block each other then.

use clap::ValueEnum;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Arguments;
use crate::failure::Failure;
use crate::multicast::Algorithm;
use crate::network::Network;
use crate::routing::{Branching, Dependencies, Resource, synchronous_deadlock};
use crate::simulation::{Buffer, EngineConfig, MAX_LENGTH, Replication, Reservation, Timing, Wormhole};

/// How worms are replicated, and outputs reserved for them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Replicating {
    /// Trees: a flit leaves on all branches or on none.
    Lockstep,
    /// Trees: branches go on by themselves.
    Independent,
    /// Switches: branches go on by themselves, and a switch that accepts a packet has room for all of it.
    Asynchronous,
    /// Switches: a flit leaves on all branches or on none; outputs are reserved one by one.
    Synchronous,
    /// Switches: a flit leaves on all branches or on none; outputs are reserved all at once.
    SynchronousTogether,
}

impl Replicating {
    /// For people.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Lockstep => "lockstep, a flit on all branches or on none",
            Self::Independent => "independent branches",
            Self::Asynchronous => "asynchronous, with room for whole packets",
            Self::Synchronous => "synchronous, outputs reserved one by one",
            Self::SynchronousTogether => "synchronous, outputs reserved together",
        }
    }
}

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

/// What the options say of the switches.
pub(super) fn switching(arguments: &Arguments) -> Wormhole {
    let replication = match arguments.replication {
        Some(Replicating::Lockstep) => Some(Replication::Lockstep),
        Some(Replicating::Independent) => Some(Replication::Independent),
        _ => None,
    };
    let (buffer, reservation) = (arguments.buffer, arguments.reservation);
    Wormhole { buffer, replication, reservation, ..Wormhole::default() }
}

/// How the trees of given multicasts branch: in lockstep, where the options say nothing else.
pub(super) fn given_branching(arguments: &Arguments, network: &Network) -> Result<Branching, Failure> {
    let switching = switching(arguments);
    if arguments.replication.is_some() && switching.replication.is_none() {
        return Err(Failure::BadInput(
            "the worms of given multicasts are not replicated by buffered switches: expected `--replication lockstep` or \
             `independent`"
                .to_owned(),
        ));
    }
    let switching = switching.for_branching(Branching::LOCKSTEP);
    Ok(EngineConfig::new(&switching, &Timing::default(), network).branching())
}

/// A cycle of resources that worms may block each other by.
type Cycle = Option<Vec<Resource>>;

/// What an algorithm's worms wait for, replicated as the arguments say, and a cycle if they can block each other.
pub(super) fn replicated<'n>(
    arguments: &Arguments,
    network: &'n Network,
    algorithm: &dyn Algorithm,
    consumption_ports: u32,
) -> Result<(Dependencies<'n>, Cycle), Failure> {
    let (name, given) = (algorithm.name(), arguments.replication);
    let switching = switching(arguments);
    let (tree, buffer, reservation) = (switching.replication, switching.buffer, switching.reservation);
    let switches = algorithm.switches();
    if switches.is_none() && given.is_some() && tree.is_none() {
        return Err(Failure::BadInput(format!(
            "switches do not replicate the worms of `{name}`: leave `--replication` out; it is for `bit-string` and \
             `multiport`"
        )));
    }
    if switches.is_some() && (tree.is_some() || buffer.is_some() || reservation.is_some()) {
        return Err(Failure::BadInput(format!(
            "switches replicate the worms of `{name}`: expected `--replication asynchronous`, `synchronous` or \
             `synchronous-together`, and neither `--buffer` nor `--reservation`"
        )));
    }
    let switching = switching.for_branching(algorithm.branching());
    let branching = EngineConfig::new(&switching, &Timing::default(), network).branching();
    let dependencies = algorithm.dependencies_with(network, branching);
    let dependencies = dependencies.with_virtual_channels(arguments.virtual_channels.unwrap_or(1));
    let bound = dependencies.bound_channels();
    if consumption_ports < bound {
        return Err(Failure::BadInput(format!(
            "`{name}` binds its worms to {bound} consumption channels at every node, not {consumption_ports}; set \
             `--consumption-ports {bound}` or more"
        )));
    }
    let deadlock = match (switches, given) {
        (Some(switches), Some(Replicating::Synchronous | Replicating::SynchronousTogether)) => {
            let together = given == Some(Replicating::SynchronousTogether);
            synchronous_deadlock(network, switches, together).map(|cycle| cycle.to_vec())
        }
        _ => dependencies.deadlock(consumption_ports),
    };
    Ok((dependencies, deadlock))
}
