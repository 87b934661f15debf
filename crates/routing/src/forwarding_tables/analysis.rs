//! Analysis of forwarding tables: which messages arrive, loops, loads, and dependencies.

use std::collections::BTreeSet;

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::{Destination, ForwardingTables, Output, Target};
use crate::analysis::link_load::LinkLoad;
use crate::analysis::survey::Survey;
use crate::analysis::witness::Witness;

/// Why a message does not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A router on its route has no entry.
    Missing(RouterId),
    /// It runs in a loop through this router.
    Loop(RouterId),
    /// A router on its route sends it to a port where nothing is attached.
    Nowhere(RouterId, u32),
    /// It arrives at another node.
    Wrong(NodeId),
    /// A router on its route consumes it.
    Own(RouterId),
}

impl Fault {
    /// What happens to a message, as what follows `from A to B:`.
    pub fn reason(self, network: &Network) -> String {
        let router = |at| match network.router_name(at) {
            Some(name) => format!("`{name}`"),
            None => format!("router {}", network.router_label(at)),
        };
        match self {
            Self::Missing(at) => format!("{} has no entry", router(at)),
            Self::Loop(at) => format!("runs in a loop through {}", router(at)),
            Self::Nowhere(at, port) => format!("{} sends it to port {port}, where nothing is attached", router(at)),
            Self::Wrong(node) => {
                let name = network.node_name(node).map_or_else(|| network.node_label(node), |name| format!("`{name}`"));
                format!("comes to node {name} instead")
            }
            Self::Own(at) => format!("{} takes it for its own", router(at)),
        }
    }
}

/// A message that does not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undelivered {
    /// Its source.
    pub source: NodeId,
    /// Its destination.
    pub destination: NodeId,
    /// The destination's address, if tables have addresses.
    pub address: Option<u16>,
    /// Why it does not arrive.
    pub fault: Fault,
}

/// A loop of channels that messages to one destination never leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForwardingLoop {
    /// The destination.
    pub destination: NodeId,
    /// Its address, if tables have addresses.
    pub address: Option<u16>,
    /// The channels, each of which ends where the next starts.
    pub channels: Vec<ChannelId>,
}

/// The result of [`analyse_tables`]. Lists are cut after [`MOST_LISTED`] entries; counts are complete.
#[derive(Clone, Debug)]
pub struct TablesReport {
    /// Pairs of a source node and an address of another node.
    pub pairs: u64,
    /// Pairs whose messages do not arrive.
    pub undelivered_pairs: u64,
    /// The first of them.
    pub undelivered: Vec<Undelivered>,
    /// The number of loops, counted separately for each destination.
    pub loop_count: u64,
    /// The first of them.
    pub loops: Vec<ForwardingLoop>,
    /// Entries for nodes that are missing at routers.
    pub missing_count: u64,
    /// The first of them.
    pub missing: Vec<(RouterId, NodeId)>,
    /// Lengths of the routes between nodes at different routers.
    pub survey: Survey,
    /// The loads of channels, in pairs of nodes, of which each address of the destination has its part.
    pub load: LinkLoad,
}

/// The most entries of a list in a report.
pub const MOST_LISTED: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Unknown,
    /// On the route that is being followed.
    Followed,
    Delivered(u32),
    /// A place in the list of faults.
    Fails(u32),
}

/// The tables' part for one destination, spread out by router; made once and used for all.
pub(super) struct Row<'a> {
    network: &'a Network,
    /// By router, `None` where there is no entry.
    next: Vec<Option<Output>>,
    fate: Vec<Fate>,
    faults: Vec<Fault>,
    /// Routers with entries, in an order in which each comes after the one that it sends to, those in loops excepted.
    order: Vec<RouterId>,
    loops: Vec<Vec<ChannelId>>,
    touched: Vec<RouterId>,
    /// Messages of this many sources pass a router.
    flow: Vec<u64>,
}

impl<'a> Row<'a> {
    pub(super) fn new(network: &'a Network) -> Self {
        let routers = network.routers();
        Self {
            network,
            next: vec![None; routers],
            fate: vec![Fate::Unknown; routers],
            faults: Vec::new(),
            order: Vec::new(),
            loops: Vec::new(),
            touched: Vec::new(),
            flow: vec![0; routers],
        }
    }

    /// Takes up another destination, or none; O(its entries).
    pub(super) fn load(&mut self, tables: &ForwardingTables, places: std::ops::Range<usize>) {
        for router in self.touched.drain(..) {
            self.next[router.index()] = None;
            self.fate[router.index()] = Fate::Unknown;
            self.flow[router.index()] = 0;
        }
        self.order.clear();
        self.faults.clear();
        self.loops.clear();
        for (router, output) in places.flat_map(|place| tables.entries_for(place)) {
            self.next[router.index()] = Some(output);
            self.touched.push(router);
        }
    }

    pub(super) fn onward(&self, router: RouterId) -> Option<ChannelId> {
        match self.next[router.index()] {
            Some(Output::Channel(channel)) => Some(channel),
            _ => None,
        }
    }

    /// Determines what happens to messages to `destination` at every router with an entry.
    fn follow(&mut self, destination: NodeId) {
        let mut way: Vec<RouterId> = Vec::new();
        for position in 0..self.touched.len() {
            let mut at = self.touched[position];
            let fate = loop {
                match self.fate[at.index()] {
                    Fate::Unknown => {}
                    Fate::Followed => break self.close_loop(at),
                    known => break known,
                }
                let fault = match self.next[at.index()] {
                    Some(Output::Channel(channel)) => {
                        self.fate[at.index()] = Fate::Followed;
                        way.push(at);
                        at = self.network.to(channel);
                        continue;
                    }
                    Some(Output::Node(node)) if node == destination => {
                        way.push(at);
                        // One hop is added on the way back.
                        break Fate::Delivered(u32::MAX);
                    }
                    Some(Output::Node(node)) => Fault::Wrong(node),
                    Some(Output::Own) => Fault::Own(at),
                    Some(Output::Nowhere(port)) => Fault::Nowhere(at, port),
                    None => Fault::Missing(at),
                };
                if self.next[at.index()].is_some() {
                    way.push(at);
                }
                self.faults.push(fault);
                break Fate::Fails(self.faults.len() as u32 - 1);
            };
            let mut fate = fate;
            while let Some(router) = way.pop() {
                if let Fate::Delivered(hops) = &mut fate {
                    *hops = hops.wrapping_add(1);
                }
                self.fate[router.index()] = fate;
                self.order.push(router);
            }
        }
    }

    fn close_loop(&mut self, start: RouterId) -> Fate {
        let mut channels = Vec::new();
        let mut at = start;
        while let Some(channel) = self.onward(at) {
            channels.push(channel);
            at = self.network.to(channel);
            if at == start {
                break;
            }
        }
        self.loops.push(channels);
        self.faults.push(Fault::Loop(start));
        Fate::Fails(self.faults.len() as u32 - 1)
    }

    /// The nodes at a router that may send to `destination`.
    fn sources(&self, router: RouterId, destination: NodeId) -> u64 {
        self.network.nodes_of(router).len() as u64 - u64::from(self.network.router_of(destination) == router)
    }

    /// Calls `visit` for channels that messages to `destination` take one after the other; O(entries).
    pub(super) fn dependencies(&mut self, destination: NodeId, mut visit: impl FnMut(ChannelId, ChannelId)) {
        // Flows mark what has been seen.
        for position in 0..self.touched.len() {
            let mut at = self.touched[position];
            if self.sources(at, destination) == 0 {
                continue;
            }
            while let Some(channel) = self.onward(at).filter(|_| self.flow[at.index()] == 0) {
                self.flow[at.index()] = 1;
                at = self.network.to(channel);
                if let Some(next) = self.onward(at) {
                    visit(channel, next);
                }
            }
        }
        for router in &self.touched {
            self.flow[router.index()] = 0;
        }
    }
}

/// Follows every message from every node to every address of every other; O(entries).
///
/// Entries for routers themselves, which management alone uses, are left out.
pub fn analyse_tables(tables: &ForwardingTables) -> TablesReport {
    let network = &*tables.network;
    let all_nodes = network.nodes() as u64;
    let mut report = TablesReport {
        pairs: 0,
        undelivered_pairs: 0,
        undelivered: Vec::new(),
        loop_count: 0,
        loops: Vec::new(),
        missing_count: 0,
        missing: Vec::new(),
        survey: Survey { connected: true, average_distance: None, node_distance: None, diameter: None },
        load: LinkLoad::new(Vec::new()),
    };
    let mut row = Row::new(network);
    let mut load = vec![0.0; network.channels()];
    // Of pairs of nodes: a pair is on the way to each of the destination's addresses in the same part.
    let (mut ways, mut hops_of_all, mut longest) = (0.0, 0.0, 0);
    // By router: the addresses of its nodes, and the hops to all of them from each other router that has nodes.
    let mut to_router = vec![(0u64, 0u64); network.routers()];
    for node in network.node_ids() {
        step("following the tables", "destinations", node.index(), network.nodes());
        let addresses = tables.addresses_of(Target::Node(node));
        if addresses.is_empty() {
            report.pairs += all_nodes - 1;
            report.undelivered_pairs += all_nodes - 1;
            report.missing_count += network.routers() as u64;
            row.load(tables, 0..0);
            list_missing(&mut report, &row, node, None);
        }
        let part = 1.0 / addresses.len() as f64;
        for place in addresses {
            let Destination { address, .. } = tables.destinations()[place];
            let (addresses, hops_to) = &mut to_router[network.router_of(node).index()];
            *addresses += 1;
            row.load(tables, place..place + 1);
            row.follow(node);
            report.pairs += all_nodes - 1;
            report.missing_count += (network.routers() - row.touched.len()) as u64;
            report.loop_count += row.loops.len() as u64;
            let room = MOST_LISTED - report.loops.len();
            report.loops.extend(row.loops.iter().take(room).map(|channels| ForwardingLoop {
                destination: node,
                address,
                channels: channels.clone(),
            }));
            let mut arriving = 0;
            for position in (0..row.order.len()).rev() {
                let router = row.order[position];
                let Fate::Delivered(hops) = row.fate[router.index()] else { continue };
                let sources = row.sources(router, node);
                arriving += sources;
                if hops > 0 {
                    ways += sources as f64 * part;
                    hops_of_all += (sources * u64::from(hops)) as f64 * part;
                    if sources > 0 {
                        longest = longest.max(hops);
                        *hops_to += u64::from(hops);
                    }
                }
                row.flow[router.index()] += sources;
                if let Some(channel) = row.onward(router) {
                    load[channel.index()] += row.flow[router.index()] as f64 * part;
                    row.flow[network.to(channel).index()] += row.flow[router.index()];
                }
            }
            report.undelivered_pairs += all_nodes - 1 - arriving;
            list_missing(&mut report, &row, node, address);
        }
    }
    let connected = report.undelivered_pairs == 0;
    let known = connected && ways > 0.0;
    let node_distance = known.then(|| hops_of_all / ways);
    // Routes to nodes of one router may differ: they are averaged first.
    let ends = to_router.iter().filter(|(addresses, _)| *addresses > 0);
    let average_distance = known.then(|| {
        let (count, total) = ends.fold((0.0, 0.0), |(count, total), &(addresses, hops)| {
            (count + 1.0, total + hops as f64 / addresses as f64)
        });
        total / (count * (count - 1.0))
    });
    report.survey = Survey { connected, average_distance, node_distance, diameter: connected.then_some(longest) };
    report.load = LinkLoad::new(load);
    report
}

/// Puts what fails towards one destination into the lists, as long as there is room.
fn list_missing(report: &mut TablesReport, row: &Row<'_>, destination: NodeId, address: Option<u16>) {
    let network = row.network;
    if report.missing.len() < MOST_LISTED && row.touched.len() < network.routers() {
        let routers = network.router_ids();
        let missing = routers.filter(|router| row.next[router.index()].is_none()).map(|router| (router, destination));
        report.missing.extend(missing.take(MOST_LISTED - report.missing.len()));
    }
    if report.undelivered.len() < MOST_LISTED && report.undelivered_pairs > report.undelivered.len() as u64 {
        let nodes = network.node_ids().filter(|&source| source != destination);
        let failing = nodes.filter_map(|source| {
            let router = network.router_of(source);
            let fault = match row.fate[router.index()] {
                Fate::Delivered(_) => return None,
                Fate::Fails(fault) => row.faults[fault as usize],
                Fate::Unknown | Fate::Followed => Fault::Missing(router),
            };
            Some(Undelivered { source, destination, address, fault })
        });
        report.undelivered.extend(failing.take(MOST_LISTED - report.undelivered.len()));
    }
}

/// The pairs of nodes whose messages take `held` and then `requested`: how many there are, and at most `limit` of them; O(destinations + routers, for each destination that
/// is routed so, from which messages come that way).
pub fn witness_of_tables(
    tables: &ForwardingTables,
    (held, requested): (ChannelId, ChannelId),
    limit: usize,
) -> Witness {
    let mut witness = Witness { pairs: Some(0), examples: Vec::new() };
    let network = &*tables.network;
    let row = Row::new(network);
    let (first, second) = (network.from(held), network.to(held));
    let mut passing: Vec<RouterId> = Vec::new();
    // A pair of nodes counts once, whichever of the destination's addresses it is about.
    let mut counted: (Option<NodeId>, BTreeSet<RouterId>) = (None, BTreeSet::new());
    for (place, destination) in tables.destinations().iter().enumerate() {
        let Target::Node(node) = destination.target else { continue };
        if counted.0 != Some(node) {
            counted = (Some(node), BTreeSet::new());
        }
        let leads = |router, channel| tables.output(router, place) == Some(Output::Channel(channel));
        if !leads(first, held) || !leads(second, requested) {
            continue;
        }
        // Each router sends one way, so none is come by twice but the first, in a loop.
        passing.clear();
        passing.push(first);
        let mut next = 0;
        while let Some(&at) = passing.get(next) {
            let before = network.inputs(at).map(|channel| (network.from(channel), channel));
            passing
                .extend(before.filter(|&(from, channel)| from != first && leads(from, channel)).map(|(from, _)| from));
            next += 1;
        }
        passing.sort_unstable();
        for &router in passing.iter().filter(|&&router| counted.1.insert(router)) {
            witness.pairs = witness.pairs.map(|pairs| pairs + row.sources(router, node));
            let room = limit.saturating_sub(witness.examples.len());
            let sources = network.nodes_of(router).filter(|&source| source != node);
            witness.examples.extend(sources.take(room).map(|source| (source, node)));
        }
    }
    witness
}
