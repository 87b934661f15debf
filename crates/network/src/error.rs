//! Errors in topologies and nodes that users name.

use std::borrow::Cow;

use thiserror::Error;

use crate::memory::MemoryError;
use crate::text::{LONGEST_SHOWN, shortened};

/// As much of a text as messages repeat.
fn short(text: &str) -> Cow<'_, str> {
    shortened(text, LONGEST_SHOWN)
}

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
    #[error("unknown topology `{}`{hint}", short(given))]
    Unknown {
        /// The text given.
        given: String,
        /// The nearest valid name, or the forms that are understood; the message ends with it.
        hint: String,
    },
    /// The part after the colon does not fit its family.
    #[error("topology `{}`: {}{}", short(given), short(problem), if .expected.is_empty() { String::new() } else { format!("; expected {expected}") })]
    Malformed {
        /// The text given.
        given: String,
        /// What is wrong with it.
        problem: String,
        /// A form that would be right; empty if the problem says it already.
        expected: String,
    },
    /// The topology has too many routers.
    #[error("topology `{}` has {} routers; at most {limit} are supported", short(given), number(*routers))]
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
        instead: String,
    },
    /// No random draw gave a network of the kind asked for.
    #[error("topology `{}`: {problem}", short(given))]
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
    #[error("`{}` is not a node: expected {expected}", short(given))]
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
    /// Several routers have this name.
    #[error("`{given}` is the name of routers {first} and {second}: use a number")]
    AmbiguousRouter {
        /// The text given.
        given: String,
        /// The first router of that name.
        first: u32,
        /// The second.
        second: u32,
    },
    /// A node number beyond the network.
    #[error("node {} is out of range: {network} has nodes 0 to {last}", short(given))]
    OutOfRange {
        /// The text given.
        given: String,
        /// The network's name.
        network: String,
        /// Its last node.
        last: usize,
    },
    /// A router with several nodes, of which none is named.
    #[error("`{given}` is a router with several nodes: expected one of `{given}.0` to `{given}.{last}`")]
    Router {
        /// The text given.
        given: String,
        /// The last node of a router, counted from 0.
        last: usize,
    },
    /// More than the nodes of a router.
    #[error("node {} is out of range: a router of {network} has nodes 0 to {last}", short(given))]
    NodeOfRouterOutOfRange {
        /// The text given.
        given: String,
        /// The network's name.
        network: String,
        /// The last node of a router, counted from 0.
        last: usize,
    },
    /// Coordinates beyond the network.
    #[error("node {} is out of range: dimension {dimension} of {network} goes from 0 to {last}", short(given))]
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
