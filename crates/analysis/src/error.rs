//! Why there is no analysis.

use thiserror::Error;
use wormcast_multicast::UnknownWay;
use wormcast_network::MemoryError;
use wormcast_simulation::NotCovered;

/// Why there is no analysis.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// A way of replication that is for worms which switches replicate.
    #[error("switches do not replicate the worms of `{0}`: it takes `lockstep` or `independent` replication")]
    NotReplicatedBySwitches(String),
    /// A way of replication, a buffer or a reservation that is for trees.
    #[error(
        "switches replicate the worms of `{0}`: it takes `asynchronous`, `synchronous` or `synchronous-together` replication, \
         and neither a buffer nor a reservation"
    )]
    ReplicatedBySwitches(String),
    /// A way of replication by switches, of given multicasts.
    #[error(
        "the worms of given multicasts are not replicated by switches: they take `lockstep` or `independent` replication"
    )]
    Given,
    /// Trees move on one virtual channel only.
    #[error("{0} sends trees, which move on one virtual channel only")]
    TreesOnVirtualChannels(String),
    /// Fewer consumption channels than worms are bound to.
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
    /// A given worm whose way is not known from its plan.
    #[error(transparent)]
    UnknownWay(#[from] UnknownWay),
    /// Whether a deadlock can be reached is asked of tables that do not deliver all messages.
    #[error("whether a deadlock can be reached is known only of tables by which every message arrives")]
    Undelivered,
    /// Whether a deadlock can be reached is asked of worms that the search does not know of.
    #[error("whether a deadlock can be reached is not known here: {0}")]
    NotCovered(#[from] NotCovered),
}
