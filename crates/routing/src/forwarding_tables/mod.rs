//! Forwarding tables by destination, as InfiniBand and Ethernet switches use them.

use std::sync::Arc;

use thiserror::Error;
use wormcast_network::input::{ReadError, input_name, read_text};
use wormcast_network::text::{LONGEST_SHOWN, shortened};
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, NodeId, RouterId, TopologyError};

use crate::relation::RoutingRelation;

mod analysis;
mod choice;
mod hop_matrix;
mod lanes;
mod multicast;
mod opensm;
mod repair;
mod text;
mod waits;

pub use analysis::{Fault, ForwardingLoop, MOST_LISTED, TablesReport, Undelivered, analyse_tables, witness_of_tables};
pub use choice::{Arrival, ChosenTables, Conflict, NoTables, choose_tables};
pub use hop_matrix::{HopMatrix, parse_hop_matrix, read_hop_matrix};
pub use lanes::{VirtualLanes, read_levels, read_maps};
pub use multicast::{
    GroupBranching, GroupReport, MulticastGroup, MulticastTables, NetworkMcfdbs, parse_multicast_tables, read_members,
    read_multicast_tables,
};
pub use opensm::{NetworkLfts, parse_fdbs, parse_lfts};
pub use repair::{Changed, NoRepair, Repair, TreeSearch, permitted_trees, repair};
pub use text::{TablesText, parse_tables};
pub use waits::{UnicastWaits, witness_in_lanes};

/// The target of a table entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// A node.
    Node(NodeId),
    /// A router itself, that is, the management port of a switch.
    Router(RouterId),
}

/// A destination that tables have entries for. A node with several addresses is several destinations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Destination {
    /// What is reached.
    pub target: Target,
    /// The address, if the tables came with one: an InfiniBand local identifier.
    pub address: Option<u16>,
}

/// Where a router sends messages for a destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Over a channel to another router.
    Channel(ChannelId),
    /// To a node of its own.
    Node(NodeId),
    /// To itself: port 0 of a switch.
    Own,
    /// To a port of this number, where nothing is attached.
    Nowhere(u32),
}

/// The entry of one router for one destination.
#[derive(Clone, Copy, Debug)]
struct Entry {
    router: u32,
    output: Output,
}

/// Forwarding tables: at every router, one output for each destination, whatever the input.
///
/// Entries may be missing or lead nowhere; [`analyse_tables`] finds both, and loops. As a
/// [`RoutingRelation`], whose targets are routers, they route to a router's own destination, or else to the first of its nodes.
///
/// Memory: 16 bytes an entry.
#[derive(Clone, Debug)]
pub struct ForwardingTables {
    network: Arc<Network>,
    /// Sorted: nodes first.
    destinations: Vec<Destination>,
    /// The entries for destination `d` are `first[d]..first[d + 1]`, sorted by router.
    first: Vec<usize>,
    entries: Vec<Entry>,
    /// Entries that were left out.
    unidentified: usize,
}

impl ForwardingTables {
    /// Tables from entries in any order.
    ///
    /// # Errors
    /// The position of an entry that contradicts an earlier one.
    pub(crate) fn new(network: &Arc<Network>, entries: &[(Destination, RouterId, Output)]) -> Result<Self, usize> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&i| (entries[i].0, entries[i].1));
        let mut destinations: Vec<Destination> = Vec::new();
        let (mut first, mut sorted) = (Vec::new(), Vec::with_capacity(entries.len()));
        let mut last = None;
        for i in order {
            let (destination, router, output) = entries[i];
            if last == Some((destination, router)) {
                if sorted.last().is_some_and(|entry: &Entry| entry.output != output) {
                    return Err(i);
                }
                continue;
            }
            last = Some((destination, router));
            if destinations.last() != Some(&destination) {
                destinations.push(destination);
                first.push(sorted.len());
            }
            sorted.push(Entry { router: router.raw(), output });
        }
        first.push(sorted.len());
        Ok(Self { network: Arc::clone(network), destinations, first, entries: sorted, unidentified: 0 })
    }

    /// The destinations that there are entries for, nodes first.
    pub fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The number of entries that were left out because the device of their address is unknown.
    pub fn unidentified(&self) -> usize {
        self.unidentified
    }

    /// The routers without any entry, such as those after the end of a truncated file.
    pub fn without_entries(&self) -> impl Iterator<Item = RouterId> + use<> {
        let mut with = vec![false; self.network.routers()];
        for entry in &self.entries {
            with[entry.router as usize] = true;
        }
        (0u32..).zip(with).filter(|&(_, with)| !with).map(|(router, _)| RouterId::new(router))
    }

    /// The entries for the destination at this position of [`destinations`](Self::destinations), by router.
    pub fn entries_for(&self, destination: usize) -> impl ExactSizeIterator<Item = (RouterId, Output)> + '_ {
        let entries = &self.entries[self.first[destination]..self.first[destination + 1]];
        entries.iter().map(|entry| (RouterId::new(entry.router), entry.output))
    }

    /// Where `router` sends messages for the destination at this position; O(log routers).
    pub fn output(&self, router: RouterId, destination: usize) -> Option<Output> {
        let entries = &self.entries[self.first[destination]..self.first[destination + 1]];
        entries.binary_search_by_key(&router.raw(), |entry| entry.router).ok().map(|entry| entries[entry].output)
    }

    /// The positions of the destinations that are this node; none if no router has an entry for it.
    pub fn addresses_of(&self, target: Target) -> std::ops::Range<usize> {
        let start = self.destinations.partition_point(|destination| destination.target < target);
        start..self.destinations.partition_point(|destination| destination.target <= target)
    }
}

impl RoutingRelation for ForwardingTables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        if at == target {
            return;
        }
        let nodes = network.nodes_of(target).map(Target::Node);
        let destination =
            std::iter::once(Target::Router(target)).chain(nodes).find_map(|t| self.addresses_of(t).next());
        if let Some(Output::Channel(channel)) = destination.and_then(|to| self.output(at, to)) {
            out.push(channel);
        }
    }
}

/// Why there are no tables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The file could not be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// The file is not understood, or does not fit this network.
    #[error("{path}:{line}: {problem}; expected {expected}")]
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// What should be there.
        expected: &'static str,
    },
    /// There are more destinations than addresses.
    #[error("a fabric has at most {limit} addresses, fewer than there are routers and nodes")]
    TooManyDestinations {
        /// The number of addresses.
        limit: usize,
    },
    /// The network does not fit into a fabric.
    #[error(transparent)]
    Network(#[from] TopologyError),
}

/// What the errors of one file have in common.
#[derive(Clone, Copy)]
struct TablesContext<'a> {
    path: &'a str,
    expected: &'static str,
}

impl TablesContext<'_> {
    fn error(&self, line: usize, problem: impl Into<String>) -> TablesError {
        let problem = shortened(&problem.into(), LONGEST_SHOWN).into_owned();
        TablesError::File { path: self.path.to_owned(), line, problem, expected: self.expected }
    }
}

/// Reads forwarding tables for a network: [what `OpenSM` dumps](parse_lfts) if the file has a line that begins with `Unicast`,
/// [its `opensm.fdbs`](parse_fdbs) if one begins with `dump_ucast_routes` or `Switch 0x`, otherwise [wormcast's own form](parse_tables).
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_tables(network: &Arc<Network>, path: &str) -> Result<ForwardingTables, TablesError> {
    let text = text_of(path, "the forwarding tables", MAX_FILE_BYTES)?;
    let path = input_name(path);
    if text.lines().any(|line| line.trim_start().starts_with("Unicast")) {
        parse_lfts(network, path, &text)
    } else if opensm::is_fdbs(&text) {
        parse_fdbs(network, path, &text)
    } else {
        parse_tables(network, path, &text)
    }
}

/// The text of a file of tables.
fn text_of(path: &str, what: &'static str, most: u64) -> Result<String, TablesError> {
    read_text(path, what, most).map_err(|error| match error {
        ReadError::NotText { path, line } => {
            TablesError::File { path, line, problem: "the bytes are not UTF-8".to_owned(), expected: "text" }
        }
        ReadError::Unreadable { path, reason } => TablesError::Unreadable { path, reason },
    })
}
