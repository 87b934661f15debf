//! The analysis of forwarding tables, as data.

use serde::Serialize;
use wormcast_network::{Network, NodeId, RouterId};
use wormcast_routing::{ForwardingTables, Resource, RoutingRelation, TablesReport};

use crate::report::{CycleResource, both};

/// What happens to messages from every node to every address of every other under the tables.
#[derive(Debug, Serialize)]
pub struct TablesFound {
    /// Their name, such as that of their file.
    pub file: String,
    /// How many entries there are.
    pub entries: usize,
    /// Entries for addresses that the file does not identify.
    pub unidentified: usize,
    /// Pairs of a node and an address of another node; with one address each, the ordered pairs of different nodes.
    pub pairs: u64,
    /// Pairs whose messages do not arrive.
    pub undelivered_pairs: u64,
    /// The first of them.
    pub undelivered: Vec<UndeliveredText>,
    /// How many loops there are.
    pub loop_count: u64,
    /// The first of them.
    pub loops: Vec<LoopText>,
    /// Entries for nodes that are missing at routers.
    pub missing_count: u64,
    /// The first of them: router and node.
    pub missing: Vec<[u32; 2]>,
    /// Their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_names: Vec<[String; 2]>,
}

/// A message that does not arrive.
#[derive(Debug, Serialize)]
pub struct UndeliveredText {
    /// Its source.
    pub source: u32,
    /// Its destination.
    pub destination: u32,
    /// The names of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<[String; 2]>,
    /// The address that it is sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u16>,
    /// Why, in words.
    pub reason: String,
}

/// A loop of routers that messages to one destination never leave.
#[derive(Debug, Serialize)]
pub struct LoopText {
    /// The destination.
    pub destination: u32,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address that it is sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u16>,
    /// The channels of the loop.
    pub channels: Vec<CycleResource>,
}

impl TablesFound {
    pub(crate) fn new(file: &str, tables: &ForwardingTables, report: &TablesReport) -> Self {
        let network = tables.network();
        let node_name = |node: NodeId| network.node_name(node).map(str::to_owned);
        let undelivered = report.undelivered.iter().map(|lost| UndeliveredText {
            source: lost.source.raw(),
            destination: lost.destination.raw(),
            names: both([lost.source, lost.destination].map(node_name)),
            address: lost.address,
            reason: lost.fault.reason(network),
        });
        let loops = report.loops.iter().map(|ring| LoopText {
            destination: ring.destination.raw(),
            name: node_name(ring.destination),
            address: ring.address,
            channels: ring
                .channels
                .iter()
                .map(|&channel| CycleResource::new(network, Resource::Channel(channel)))
                .collect(),
        });
        let names = |&(router, node): &(RouterId, NodeId)| {
            both([network.router_name(router).map(str::to_owned), node_name(node)])
        };
        Self {
            file: file.to_owned(),
            entries: tables.entries(),
            unidentified: tables.unidentified(),
            pairs: report.pairs,
            undelivered_pairs: report.undelivered_pairs,
            undelivered: undelivered.collect(),
            loop_count: report.loop_count,
            loops: loops.collect(),
            missing_count: report.missing_count,
            missing: report.missing.iter().map(|&(router, node)| [router.raw(), node.raw()]).collect(),
            missing_names: report.missing.iter().filter_map(names).collect(),
        }
    }
}

/// A router as messages call it: its name, or its number.
pub fn router_text(network: &Network, router: RouterId) -> String {
    network.router_name(router).map_or_else(|| format!("router {router}"), |name| format!("`{name}`"))
}
