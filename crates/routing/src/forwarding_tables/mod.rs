//! Forwarding tables by destination, as InfiniBand and Ethernet switches use them.

use std::sync::Arc;

use thiserror::Error;
use wormcast_network::input::{ReadError, input_name, open_lines, read_text};
use wormcast_network::text::{LONGEST_SHOWN, shortened};
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, NodeId, RouterId, TopologyError};

use crate::relation::RoutingRelation;

mod analysis;
mod choice;
mod hop_matrix;
mod lanes;
mod layers;
mod multicast;
mod opensm;
mod repair;
mod text;
mod tree_rules;
mod waits;

pub use analysis::{Fault, ForwardingLoop, MOST_LISTED, TablesReport, Undelivered, analyse_tables, witness_of_tables};
pub use choice::{Arrival, ChosenTables, Conflict, NoTables, choose_tables};
pub use hop_matrix::{HopMatrix, parse_hop_matrix, read_hop_matrix};
pub use lanes::{VirtualLanes, read_levels, read_maps};
pub use multicast::{
    GROUPS_INPUT, GroupBranching, GroupReport, GroupTree, MULTICAST_TABLES_INPUT, MulticastGroup, MulticastTables,
    NetworkMcfdbs, parse_multicast_tables, read_members, read_multicast_tables,
};
pub use opensm::{NetworkLfts, parse_fdbs, parse_lfts};
pub use repair::{Changed, NoRepair, Repair, SearchEnd, permitted_trees, repair};
pub use text::{TablesText, parse_tables};
pub use tree_rules::{Branch, NoWeights, Torus2QosTrees, TreeRule, WeighedEngine, WeighedTrees, read_torus};
pub use waits::{UnicastWaits, witness_in_lanes};

/// The target of a table entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// A node.
    Node(NodeId),
    /// A router itself, that is, the management port of a switch.
    Router(RouterId),
}

impl Target {
    /// The node, if it is one.
    pub fn node(self) -> Option<NodeId> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }

    /// The router that it is at, or is.
    pub(crate) fn router(self, network: &Network) -> RouterId {
        match self {
            Self::Node(node) => network.router_of(node),
            Self::Router(router) => router,
        }
    }
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

/// An output in one word; 0 where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Code(u32);

impl Code {
    const NONE: Self = Self(0);

    fn new(output: Output) -> Self {
        let (tag, value) = match output {
            Output::Own => (0, 0),
            Output::Channel(channel) => (1, channel.raw()),
            Output::Node(node) => (2, node.raw()),
            Output::Nowhere(port) => (3, port),
        };
        // Numbers of channels and nodes are below 2^28.
        Self((value << 2 | tag) + 1)
    }

    fn output(self) -> Option<Output> {
        let code = self.0.checked_sub(1)?;
        let value = code >> 2;
        Some(match code & 3 {
            0 => Output::Own,
            1 => Output::Channel(ChannelId::new(value)),
            2 => Output::Node(NodeId::new(value)),
            _ => Output::Nowhere(value),
        })
    }
}

/// The entries for one destination.
#[derive(Clone, Debug)]
enum Column {
    /// By router.
    Dense(Box<[Code]>),
    /// Few, with their routers, which rise.
    Sparse(Box<[(u32, Code)]>),
}

impl Column {
    fn new(routers: usize, entries: &[(u32, Code)]) -> Self {
        if entries.len() * 2 < routers {
            return Self::Sparse(entries.into());
        }
        let mut codes = vec![Code::NONE; routers];
        for &(router, code) in entries {
            codes[router as usize] = code;
        }
        Self::Dense(codes.into())
    }

    fn len(&self) -> usize {
        match self {
            Self::Dense(codes) => codes.iter().filter(|&&code| code != Code::NONE).count(),
            Self::Sparse(entries) => entries.len(),
        }
    }

    fn at(&self, router: RouterId) -> Option<Output> {
        match self {
            Self::Dense(codes) => codes[router.index()].output(),
            Self::Sparse(entries) => {
                let place = entries.binary_search_by_key(&router.raw(), |&(router, _)| router);
                place.ok().and_then(|place| entries[place].1.output())
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = (RouterId, Output)> + '_ {
        let (dense, sparse): (&[Code], &[(u32, Code)]) = match self {
            Self::Dense(codes) => (codes, &[]),
            Self::Sparse(entries) => (&[], entries),
        };
        let dense = (0u32..).zip(dense).map(|(router, &code)| (router, code));
        dense.chain(sparse.iter().copied()).filter_map(|(router, code)| Some((RouterId::new(router), code.output()?)))
    }
}

/// Forwarding tables: at every router, one output for each destination, whatever the input.
///
/// Entries may be missing or lead nowhere; [`analyse_tables`] finds both, and loops. As a
/// [`RoutingRelation`], whose targets are routers, they route to a router's own destination, or else to the first of its nodes.
///
/// Memory: 4 bytes a router for each destination, or 8 an entry where only few routers have one.
#[derive(Clone, Debug)]
pub struct ForwardingTables {
    network: Arc<Network>,
    /// Sorted: nodes first.
    destinations: Vec<Destination>,
    columns: Vec<Column>,
    entries: usize,
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
        let mut columns: Vec<(Destination, Column)> = Vec::new();
        for of_destination in order.chunk_by(|&a, &b| entries[a].0 == entries[b].0) {
            let mut column: Vec<(u32, Code)> = Vec::with_capacity(of_destination.len());
            for &i in of_destination {
                let (_, router, output) = entries[i];
                match column.last() {
                    Some(&(last, code)) if last == router.raw() => {
                        if code != Code::new(output) {
                            return Err(i);
                        }
                    }
                    _ => column.push((router.raw(), Code::new(output))),
                }
            }
            columns.push((entries[of_destination[0]].0, Column::new(network.routers(), &column)));
        }
        Ok(Self::of_columns(network, columns, 0))
    }

    /// Tables from the entries for each destination, in any order.
    fn of_columns(network: &Arc<Network>, mut columns: Vec<(Destination, Column)>, unidentified: usize) -> Self {
        columns.sort_by_key(|&(destination, _)| destination);
        let (destinations, columns): (Vec<Destination>, Vec<Column>) = columns.into_iter().unzip();
        let entries = columns.iter().map(Column::len).sum();
        Self { network: Arc::clone(network), destinations, columns, entries, unidentified }
    }

    /// The destinations that there are entries for, nodes first.
    pub fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The number of entries that were left out because the device of their address is unknown.
    pub fn unidentified(&self) -> usize {
        self.unidentified
    }

    /// Why a file from which these were read may not be the whole of it, if there is reason to think so: it says nothing of some routers. O(entries).
    pub fn doubt(&self, path: &str) -> Option<String> {
        let without: Vec<String> = self.without_entries().map(|router| self.network.router_label(router)).collect();
        let (file, names) = (input_name(path), first_of(&without));
        (!without.is_empty()).then(|| format!("`{file}` has no entries of {names}: is it truncated?"))
    }

    /// The routers without any entry, such as those after the end of a truncated file.
    pub fn without_entries(&self) -> impl Iterator<Item = RouterId> + use<> {
        let mut with = vec![false; self.network.routers()];
        let mut left = with.len();
        for column in &self.columns {
            for (router, _) in column.entries() {
                left -= usize::from(!std::mem::replace(&mut with[router.index()], true));
            }
            if left == 0 {
                break;
            }
        }
        (0u32..).zip(with).filter(|&(_, with)| !with).map(|(router, _)| RouterId::new(router))
    }

    /// The entries for the destination at this position of [`destinations`](Self::destinations), by router.
    pub fn entries_for(&self, destination: usize) -> impl Iterator<Item = (RouterId, Output)> + '_ {
        self.columns[destination].entries()
    }

    /// Where `router` sends messages for the destination at this position; O(1), or O(log routers) where few have an entry.
    pub fn output(&self, router: RouterId, destination: usize) -> Option<Output> {
        self.columns[destination].at(router)
    }

    /// The channels from a node to the first address of another; `None` if messages do not get there. O(distance).
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<ChannelId>> {
        let place = self.addresses_of(Target::Node(to)).next()?;
        let mut channels = Vec::new();
        let mut at = self.network.entry_of(from);
        while channels.len() < self.network.routers() {
            match self.output(at, place)? {
                Output::Channel(channel) => {
                    channels.push(channel);
                    at = self.network.to(channel);
                }
                Output::Node(node) if node == to => return Some(channels),
                _ => return None,
            }
        }
        None
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
    let mut lines = open_lines(path, TABLES_INPUT)?;
    let head = String::from_utf8_lossy(lines.peek()?).into_owned();
    if head.lines().any(|line| line.trim_start().starts_with("Unicast")) {
        opensm::read_lfts(network, input_name(path), &mut lines)
    } else if opensm::is_fdbs(&head) {
        opensm::read_fdbs(network, input_name(path), &mut lines)
    } else {
        drop(lines);
        parse_tables(network, input_name(path), &text_of(path, TABLES_INPUT, MAX_FILE_BYTES)?)
    }
}

/// What [`read_tables`] reads, as [`read_input`](wormcast_network::input::read_input) is told: who reads the same file before uses the same words.
pub const TABLES_INPUT: &str = "the forwarding tables";

/// The text of a file of tables.
fn text_of(path: &str, what: &'static str, most: u64) -> Result<String, TablesError> {
    Ok(read_text(path, what, most)?)
}

impl From<ReadError> for TablesError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotText { path, line } => {
                Self::File { path, line, problem: "the bytes are not UTF-8".to_owned(), expected: "text" }
            }
            ReadError::Unreadable { path, reason } => Self::Unreadable { path, reason },
        }
    }
}

/// The first few of some names, and how many more there are.
fn first_of(names: &[String]) -> String {
    const NAMED: usize = 3;
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
