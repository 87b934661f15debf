//! Errors of analyses.

use thiserror::Error;
use wormcast_multicast::UnknownRoute;
use wormcast_network::MemoryError;
use wormcast_simulation::NotCovered;

/// Why an analysis is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The kind of replication is for worms that switches replicate.
    #[error("switches do not replicate the worms of `{0}`: it takes `lockstep` or `independent` replication")]
    NotReplicatedBySwitches(String),
    /// The kind of replication, the buffer or the reservation is for trees.
    #[error(
        "switches replicate the worms of `{0}`: it takes `asynchronous`, `synchronous` or `synchronous-together` replication, \
         and neither a buffer nor a reservation"
    )]
    ReplicatedBySwitches(String),
    /// Replication by switches is set for given multicasts.
    #[error(
        "the worms of given multicasts are not replicated by switches: they take `lockstep` or `independent` replication"
    )]
    Given,
    /// There are fewer consumption channels than worms are bound to.
    #[error("`{algorithm}` binds its worms to {bound} consumption channels at every node, not {given}")]
    TooFewConsumptionPorts {
        /// The algorithm.
        algorithm: String,
        /// How many consumption channels a node has to have.
        bound: u32,
        /// How many it would have.
        given: u32,
    },
    /// The tables of a routing do not fit in memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The route of a given worm is not known from its plan.
    #[error(transparent)]
    UnknownRoute(#[from] UnknownRoute),
    /// The search for a reachable deadlock does not know multicast tables.
    #[error("whether a deadlock can be reached is not known of multicast tables")]
    ReachableOfTables,
    /// The search for a reachable deadlock needs tables that deliver all messages.
    #[error("whether a deadlock can be reached is known only of tables by which every message arrives")]
    Undelivered,
    /// The search for a reachable deadlock does not cover the worms.
    #[error("whether a deadlock can be reached is not known here: {0}")]
    NotCovered(#[from] NotCovered),
}
