//! Errors in topologies and nodes that users name.

use thiserror::Error;

use crate::memory::MemoryError;

/// A number of routers in a readable form.
fn number(routers: u128) -> String {
    const LARGEST: u128 = 1_000_000_000_000;
    if routers > LARGEST { format!("more than {LARGEST}") } else { routers.to_string() }
}

/// A topology that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The specification's family is unknown, and no file of that name exists.
    #[error("unknown topology `{given}`{hint}")]
    Unknown {
        /// The text given.
        given: String,
        /// The nearest valid name, or the forms that are understood; the message ends with it.
        hint: String,
    },
    /// The part after the colon does not fit its family.
    #[error("topology `{given}`: {problem}{}", if .expected.is_empty() { String::new() } else { format!("; expected {expected}") })]
    Malformed {
        /// The text given.
        given: String,
        /// What is wrong with it.
        problem: String,
        /// A form that would be right; empty if the problem says it already.
        expected: String,
    },
    /// The topology has too many routers.
    #[error("topology `{given}` has {} routers; at most {limit} are supported", number(*routers))]
    TooLarge {
        /// The text given.
        given: String,
        /// How many routers it would have.
        routers: u128,
        /// The largest number supported.
        limit: usize,
    },
    /// The network does not fit in memory.
    #[error(transparent)]
    Memory(MemoryError),
    /// A topology file could not be read.
    #[error("cannot read topology file `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// A file format cannot express some part of the network.
    #[error("{format} has no place for {problem}, as in {name}; use {instead}")]
    Inexpressible {
        /// The network.
        name: String,
        /// The format.
        format: &'static str,
        /// What it cannot express.
        problem: String,
        /// Formats that can.
        instead: &'static str,
    },
    /// No random draw gave a network of the kind asked for.
    #[error("topology `{given}`: {problem}")]
    Unlucky {
        /// The text given.
        given: String,
        /// What was tried, and what would help.
        problem: String,
    },
    /// A line of a topology file is not understood.
    #[error("{path}:{line}: {problem}; expected {expected}")]
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
        /// What the line should look like.
        expected: &'static str,
    },
}

/// Why a text does not name a node of the network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// It is neither a number nor coordinates.
    #[error("`{given}` is not a node: expected {expected}")]
    Malformed {
        /// The text given.
        given: String,
        /// The forms that this network understands.
        expected: String,
    },
    /// Several nodes have this name.
    #[error("`{given}` is the name of nodes {first} and {second}: use a number")]
    Ambiguous {
        /// The text given.
        given: String,
        /// The first node of that name.
        first: u32,
        /// The second.
        second: u32,
    },
    /// A node number beyond the network.
    #[error("node {given} is out of range: {network} has nodes 0 to {last}")]
    OutOfRange {
        /// The text given.
        given: String,
        /// The network's name.
        network: String,
        /// Its last node.
        last: usize,
    },
    /// Coordinates beyond the network.
    #[error("node {given} is out of range: dimension {dimension} of {network} goes from 0 to {last}")]
    CoordinateOutOfRange {
        /// The text given.
        given: String,
        /// The network's name.
        network: String,
        /// The dimension whose coordinate is too large.
        dimension: usize,
        /// Its last coordinate.
        last: usize,
    },
}
