//! The settings of an analysis: channels, buffers, and how worms are replicated.

use serde::Serialize;
use wormcast_multicast::Algorithm;
use wormcast_network::Network;
use wormcast_routing::{Branching, Dependencies, Resource, RoutingRelation, synchronous_deadlock};
use wormcast_simulation::{BranchReplication, Buffer, EngineConfig, Reservation, Timing, Wormhole};

use crate::error::AnalysisError;
use crate::sample::Sample;

/// The settings of an analysis. The default is what the algorithm is defined with or meant for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Consumption channels of every node: worms that deliver on their way hold one. `None`: what the algorithm is defined with,
    /// or 4.
    pub consumption_ports: Option<u32>,
    /// Virtual channels of every link. `None`: as many as the routing needs, which is 1 unless it divides them.
    pub virtual_channels: Option<u32>,
    /// Buffers of channels, for trees.
    pub buffer: Option<Buffer>,
    /// How worms are replicated.
    pub replication: Option<Replicating>,
    /// How outputs are reserved for the branches of trees.
    pub reservation: Option<Reservation>,
    /// The most steps of a search that decides whether a deadlock can be reached. `None`: no search.
    pub reachable: Option<u64>,
    /// How many prohibited turns are listed at most. `None`: all.
    pub listed_turns: Option<usize>,
    /// The destinations to which routes are measured. `None`: all, with the load of each link. Routes by forwarding tables are all followed in any case.
    pub sample: Option<Sample>,
}

/// How worms are replicated, and outputs reserved for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Replicating {
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
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Lockstep => "lockstep, a flit on all branches or on none",
            Self::Independent => "independent branches",
            Self::Asynchronous => "asynchronous, with room for whole packets",
            Self::Synchronous => "synchronous, outputs reserved one by one",
            Self::SynchronousTogether => "synchronous, outputs reserved together",
        }
    }
}

impl Settings {
    /// Consumption channels of every node: what is asked for, what the algorithm is defined with, or 4.
    pub(crate) fn consumption_ports(&self, algorithm: Option<&dyn Algorithm>) -> u32 {
        let own =
            || algorithm.and_then(|algorithm| algorithm.capabilities().ports).map_or(4, |ports| ports.consumption);
        self.consumption_ports.unwrap_or_else(own)
    }

    /// The settings with as many virtual channels as a relation needs, unless they say how many there are. Of fewer, its classes fall together.
    pub(crate) fn on_channels_of(&self, relation: &dyn RoutingRelation) -> Self {
        let needed = relation.capabilities().virtual_channels.map_or(1, |division| u32::from(division.needed()));
        self.on_channels(needed)
    }

    /// The settings with as many virtual channels as something needs, unless they say how many there are. Of fewer, its classes fall together.
    pub(crate) fn on_channels(&self, needed: u32) -> Self {
        Self { virtual_channels: Some(self.virtual_channels.unwrap_or(needed)), ..self.clone() }
    }

    pub(crate) fn virtual_channels(&self) -> u32 {
        self.virtual_channels.unwrap_or(1)
    }

    /// Wormhole switches with these settings; whatever is not set is as the worms are meant for.
    pub fn switching(&self) -> Wormhole {
        let replication = match self.replication {
            Some(Replicating::Lockstep) => Some(BranchReplication::Lockstep),
            Some(Replicating::Independent) => Some(BranchReplication::Independent),
            _ => None,
        };
        Wormhole { buffer: self.buffer, replication, reservation: self.reservation, ..Wormhole::default() }
    }

    /// How the trees of given multicasts branch: in lockstep, where the settings say nothing else.
    pub(crate) fn given_branching(&self, network: &Network) -> Result<Branching, AnalysisError> {
        let switching = self.switching();
        if self.replication.is_some() && switching.replication.is_none() {
            return Err(AnalysisError::Given);
        }
        Ok(branching(&switching, Branching::LOCKSTEP, network))
    }
}

/// How trees branch in these switches, which are otherwise as they are meant to be for them.
fn branching(switching: &Wormhole, meant: Branching, network: &Network) -> Branching {
    EngineConfig::new(&switching.for_branching(meant), &Timing::default(), network).branching()
}

/// A cycle of resources that worms may block each other by.
pub(crate) type Cycle = Option<Vec<Resource>>;

/// The dependencies of an algorithm's worms, replicated as the settings say, and a cycle if they can block each other.
pub(crate) fn replicated<'n>(
    settings: &Settings,
    algorithm: &'n dyn Algorithm,
    consumption_ports: u32,
) -> Result<(Dependencies<'n>, Cycle), AnalysisError> {
    let (name, given) = (|| algorithm.name().to_owned(), settings.replication);
    let switching = settings.switching();
    let (tree, buffer, reservation) = (switching.replication, switching.buffer, switching.reservation);
    let switches = algorithm.capabilities().switches;
    if switches.is_none() && given.is_some() && tree.is_none() {
        return Err(AnalysisError::NotReplicatedBySwitches(name()));
    }
    if switches.is_some() && (tree.is_some() || buffer.is_some() || reservation.is_some()) {
        return Err(AnalysisError::ReplicatedBySwitches(name()));
    }
    let dependencies = algorithm.dependencies_with(branching(&switching, algorithm.branching(), algorithm.network()));
    let dependencies = dependencies.with_virtual_channels(settings.virtual_channels());
    let bound = dependencies.bound_channels();
    if consumption_ports < bound {
        return Err(AnalysisError::TooFewConsumptionPorts { algorithm: name(), bound, given: consumption_ports });
    }
    let deadlock = match (switches, given) {
        (Some(switches), Some(Replicating::Synchronous | Replicating::SynchronousTogether)) => {
            let together = given == Some(Replicating::SynchronousTogether);
            synchronous_deadlock(switches, together).map(|cycle| cycle.to_vec())
        }
        _ => dependencies.deadlock(consumption_ports),
    };
    Ok((dependencies, deadlock))
}
