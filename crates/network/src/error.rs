//! What can be wrong with a topology or a node that a user names.

use thiserror::Error;

use crate::memory::MemoryError;

/// A number of routers in figures that can be read.
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
        /// What was given.
        given: String,
        /// The nearest valid name, or the forms that are understood, as the end of the message.
        hint: String,
    },
    /// The part behind the colon does not fit its family.
    #[error("topology `{given}`: {problem}{}", if .expected.is_empty() { String::new() } else { format!("; expected {expected}") })]
    Malformed {
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: String,
        /// A form that would be right; empty where the problem says it.
        expected: String,
    },
    /// The topology exceeds what 32-bit ids address comfortably.
    #[error("topology `{given}` has {} routers; at most {limit} are supported", number(*routers))]
    TooLarge {
        /// What was given.
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
    /// A file format has no place for some of a network.
    #[error("{format} has no place for {problem}, as in {name}; use {instead}")]
    Inexpressible {
        /// The network.
        name: String,
        /// The format.
        format: &'static str,
        /// What has no place.
        problem: String,
        /// Formats that have one.
        instead: &'static str,
    },
    /// Chance made no network of the wanted kind.
    #[error("topology `{given}`: {problem}")]
    Unlucky {
        /// What was given.
        given: String,
        /// What was tried, and what would help.
        problem: String,
    },
    /// A line of a topology file makes no sense.
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

/// A node that a user names and the network does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Neither a number nor coordinates.
    #[error("`{given}` is not a node: expected {expected}")]
    Malformed {
        /// What was given.
        given: String,
        /// The forms that this network understands.
        expected: String,
    },
    /// A name that several nodes have.
    #[error("`{given}` is the name of nodes {first} and {second}: use a number")]
    Ambiguous {
        /// What was given.
        given: String,
        /// The first node of that name.
        first: u32,
        /// The second.
        second: u32,
    },
    /// A node number beyond the network.
    #[error("node {given} is out of range: {network} has nodes 0 to {last}")]
    OutOfRange {
        /// What was given.
        given: String,
        /// The network's name.
        network: String,
        /// Its last node.
        last: usize,
    },
    /// Coordinates beyond the network.
    #[error("node {given} is out of range: dimension {dimension} of {network} goes from 0 to {last}")]
    CoordinateOutOfRange {
        /// What was given.
        given: String,
        /// The network's name.
        network: String,
        /// The dimension whose coordinate is too large.
        dimension: usize,
        /// Its last coordinate.
        last: usize,
    },
}
