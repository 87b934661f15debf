//! The analysis of a routing as data.

use serde::Serialize;

use super::super::most_loaded;
use super::Multicasts;
use super::reachable::Reached;
use super::replication::Replicating;
use crate::network::{ChannelId, Network, NodeId, RouterId};
use crate::routing::{
    Fault, ForwardingTables, LinkLoad, Resource, RoutingRelation, TablesReport, TurnRouting, TurnSet, Witness,
    link_load, survey,
};
use crate::work;

/// What the analysis finds. Fields of turn sets are null for routings that are none, those of tables for routings without.
#[derive(Serialize)]
pub(super) struct Analysis {
    pub(super) topology: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) algorithm: Option<String>,
    pub(super) routing: String,
    /// How worms are replicated, if switches do it or it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replication: Option<Replicating>,
    pub(super) consumption_ports: u32,
    pub(super) deadlock_free: bool,
    /// The links of a shortest cycle of dependencies found.
    pub(super) cycle: Option<Vec<[u32; 2]>>,
    /// The same cycle with the consumption channels on it: each item may be held by a worm that waits for the next.
    pub(super) resources: Option<Vec<Held>>,
    /// For each item, the unicasts that may hold it while they wait for the next, if that is what worms are.
    pub(super) closed_by: Option<Vec<ClosedBy>>,
    /// Null if the command was interrupted before that was known.
    pub(super) connected: Option<bool>,
    pub(super) turns: Option<u64>,
    /// All prohibited turns, or as many as are printed.
    pub(super) prohibited: Option<Vec<[u32; 3]>>,
    #[serde(skip)]
    pub(super) all_prohibited: u64,
    /// The first of them for people.
    #[serde(skip)]
    pub(super) prohibited_names: Vec<String>,
    pub(super) fraction: Option<f64>,
    pub(super) irreducible: Option<bool>,
    /// Whether that is not known because the command was interrupted.
    #[serde(skip)]
    pub(super) irreducible_interrupted: bool,
    pub(super) average_distance: Option<f64>,
    /// Between nodes at different routers.
    pub(super) node_distance: Option<f64>,
    pub(super) diameter: Option<u32>,
    pub(super) link_load: Option<Load>,
    /// Whether that is not known because the command was interrupted, and not because a worm may cross a channel again.
    #[serde(skip)]
    pub(super) load_interrupted: bool,
    /// How many multicasts there are beside the unicasts, if any were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) multicasts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tables: Option<Tables>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exported: Option<Exported>,
    /// Whether a deadlock can be reached, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reachability: Option<Reached>,
}

/// The load of channels under uniform traffic, in ordered pairs of nodes whose worms cross a channel.
#[derive(Serialize)]
pub(super) struct Load {
    pub(super) mean: f64,
    pub(super) max: f64,
    /// The channels with the most, the first of them first.
    pub(super) most_loaded: Vec<LoadedChannel>,
    /// The load of each channel.
    #[serde(skip)]
    pub(super) by_channel: Box<[f64]>,
}

/// A channel and its load.
#[derive(Serialize)]
pub(super) struct LoadedChannel {
    #[serde(flatten)]
    pub(super) channel: Held,
    pub(super) load: f64,
}

impl Load {
    fn new(network: &Network, load: LinkLoad) -> Self {
        let LinkLoad { mean, max, by_channel } = load;
        let loaded = |channel: ChannelId| LoadedChannel {
            channel: Held::new(network, Resource::Channel(channel)),
            load: by_channel[channel.index()],
        };
        let most_loaded = most_loaded(&by_channel).into_iter().map(loaded).collect();
        Self { mean, max, most_loaded, by_channel }
    }
}

/// A part of a cycle of dependencies, with names and port numbers where the network has them.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Held {
    Channel {
        channel: [u32; 2],
        #[serde(skip_serializing_if = "Option::is_none")]
        names: Option<[String; 2]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ports: Option<[u32; 2]>,
        /// For people.
        #[serde(skip)]
        label: String,
    },
    Consumption {
        consumption: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// For people.
        #[serde(skip)]
        label: String,
    },
}

impl Held {
    fn new(network: &Network, resource: Resource) -> Self {
        match resource {
            Resource::Channel(channel) => {
                let ends = [network.from(channel), network.to(channel)];
                let names = ends.map(|router| network.router_name(router).map(str::to_owned));
                let ports = [channel, network.reverse(channel)].map(|end| network.port_of(end));
                let label = network.link_label(channel);
                Self::Channel { channel: ends.map(RouterId::raw), names: both(names), ports: both(ports), label }
            }
            Resource::Consumption(node) => {
                let name = network.node_name(node).map(str::to_owned);
                Self::Consumption { consumption: node.raw(), name, label: network.node_label(node) }
            }
        }
    }

    fn link(&self) -> Option<[u32; 2]> {
        match *self {
            Self::Channel { channel, .. } => Some(channel),
            Self::Consumption { .. } => None,
        }
    }
}

fn both<T>([one, other]: [Option<T>; 2]) -> Option<[T; 2]> {
    Some([one?, other?])
}

/// Unicasts that hold one item of a cycle while they wait for the next.
#[derive(Serialize)]
pub(super) struct ClosedBy {
    /// How many pairs of source and destination there are, if they have been counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<u64>,
    /// Some of them.
    pub(super) examples: Vec<[u32; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<[String; 2]>,
    /// The same for people.
    #[serde(skip)]
    pub(super) labels: Vec<[String; 2]>,
    /// Multicasts that do so as well, by their lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) multicasts: Vec<u64>,
}

impl ClosedBy {
    fn new(network: &Network, witness: &Witness) -> Self {
        let names = |&(source, destination): &(NodeId, NodeId)| {
            both([source, destination].map(|node| network.node_name(node).map(str::to_owned)))
        };
        Self {
            pairs: witness.pairs,
            examples: witness.examples.iter().map(|&(from, to)| [from.raw(), to.raw()]).collect(),
            names: witness.examples.iter().filter_map(names).collect(),
            labels: witness
                .examples
                .iter()
                .map(|&(from, to)| [from, to].map(|node| network.node_label(node)))
                .collect(),
            multicasts: Vec::new(),
        }
    }
}

/// Who holds one channel and waits for another.
type FindWitness<'a> = dyn Fn((ChannelId, ChannelId)) -> Witness + 'a;

/// The channels of a cycle without consumption channels.
fn channels_only(cycle: &[Resource]) -> Option<Vec<ChannelId>> {
    let channel = |resource: &Resource| match *resource {
        Resource::Channel(channel) => Some(channel),
        Resource::Consumption(_) => None,
    };
    cycle.iter().map(channel).collect()
}

/// Who closes each dependency of a cycle of channels.
fn closed_by(network: &Network, cycle: &[Resource], find: &FindWitness<'_>) -> Option<Vec<ClosedBy>> {
    let channels = channels_only(cycle)?;
    let next = channels.iter().cycle().skip(1);
    let witnesses = channels.iter().zip(next).map(|(&held, &next)| find((held, next)));
    Some(witnesses.map(|witness| ClosedBy::new(network, &witness)).collect())
}

/// What tables do with messages from every node to every address of every other.
#[derive(Serialize)]
pub(super) struct Tables {
    pub(super) file: String,
    pub(super) entries: usize,
    /// Entries for addresses that the file does not identify.
    pub(super) unidentified: usize,
    pub(super) pairs: u64,
    pub(super) undelivered_pairs: u64,
    /// The first of them.
    pub(super) undelivered: Vec<Undelivered>,
    pub(super) loop_count: u64,
    /// The first of them.
    pub(super) loops: Vec<Loop>,
    /// Entries that routers lack for nodes.
    pub(super) missing_count: u64,
    /// The first of them: router and node.
    pub(super) missing: Vec<[u32; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing_names: Vec<[String; 2]>,
}

/// A message that does not arrive.
#[derive(Serialize)]
pub(super) struct Undelivered {
    pub(super) source: u32,
    pub(super) destination: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) names: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<u16>,
    pub(super) reason: String,
}

/// Routers that send what is for a destination round in a circle.
#[derive(Serialize)]
pub(super) struct Loop {
    pub(super) destination: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<u16>,
    pub(super) channels: Vec<Held>,
}

impl Tables {
    pub(super) fn new(network: &Network, file: &str, tables: &ForwardingTables, report: &TablesReport) -> Self {
        let node_name = |node: NodeId| network.node_name(node).map(str::to_owned);
        let undelivered = report.undelivered.iter().map(|lost| Undelivered {
            source: lost.source.raw(),
            destination: lost.destination.raw(),
            names: both([lost.source, lost.destination].map(node_name)),
            address: lost.address,
            reason: reason(network, lost.fault),
        });
        let loops = report.loops.iter().map(|ring| Loop {
            destination: ring.destination.raw(),
            name: node_name(ring.destination),
            address: ring.address,
            channels: ring.channels.iter().map(|&channel| Held::new(network, Resource::Channel(channel))).collect(),
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
pub(super) fn router(network: &Network, router: RouterId) -> String {
    network.router_name(router).map_or_else(|| format!("router {router}"), |name| format!("`{name}`"))
}

fn reason(network: &Network, fault: Fault) -> String {
    match fault {
        Fault::Missing(at) => format!("{} has no entry", router(network, at)),
        Fault::Loop(at) => format!("runs in a loop through {}", router(network, at)),
        Fault::Nowhere(at, port) => {
            format!("{} sends it to port {port}, where nothing is attached", router(network, at))
        }
        Fault::Wrong(node) => {
            let name = network.node_name(node).map_or_else(|| node.to_string(), |name| format!("`{name}`"));
            format!("comes to node {name} instead")
        }
        Fault::Own(at) => format!("{} takes it for its own", router(network, at)),
    }
}

/// Tables that were written.
#[derive(Serialize)]
pub(super) struct Exported {
    pub(super) file: String,
    pub(super) entries: usize,
    /// Routers to which some ways are longer than the routing's.
    pub(super) detours: Vec<u32>,
    /// Between nodes at different routers.
    pub(super) average_distance: Option<f64>,
}

/// How many turns a person wants to read.
pub(super) const SHOWN: usize = 12;

/// What is analysed.
pub(super) struct Subject<'a> {
    pub(super) network: &'a Network,
    pub(super) algorithm: Option<&'a str>,
    pub(super) relation: &'a dyn RoutingRelation,
    pub(super) consumption_ports: u32,
}

impl Analysis {
    /// The analysis of a routing, whose worms may or may not block each other. `all`: list all prohibited turns, not just what a
    /// person wants to read.
    pub(super) fn of_relation(
        subject: &Subject<'_>,
        deadlock: Option<&[Resource]>,
        witness: Option<&FindWitness<'_>>,
        all: bool,
    ) -> Self {
        let Subject { network, relation, .. } = *subject;
        let measured =
            work::part("whether all are connected, distances and link loads", || match relation.turn_routing() {
                Some(routing) => {
                    let (survey, load) = routing.survey(network);
                    (survey, Some(load))
                }
                None => (survey(network, relation), link_load(network, relation)),
            });
        let load_interrupted = measured.is_none();
        let (survey, load) = measured.unzip();
        let turns = relation.turn_routing().map(TurnRouting::turns);
        let limit = if all { usize::MAX } else { SHOWN };
        let irreducible =
            turns.map(|turns| work::part("whether all prohibited turns are needed", || irreducible(network, turns)));
        Self {
            connected: survey.map(|survey| survey.connected),
            turns: turns.map(TurnSet::turns),
            prohibited: turns.map(|turns| prohibited(network, turns, limit)),
            prohibited_names: turns.map_or_else(Vec::new, |turns| prohibited_names(network, turns)),
            all_prohibited: turns.map_or(0, TurnSet::prohibited_turns),
            fraction: turns.map(TurnSet::fraction),
            irreducible: irreducible.flatten().flatten(),
            irreducible_interrupted: irreducible == Some(None),
            average_distance: survey.and_then(|survey| survey.average_distance),
            node_distance: survey.and_then(|survey| survey.node_distance),
            diameter: survey.and_then(|survey| survey.diameter),
            link_load: load.flatten().map(|load| Load::new(network, load)),
            load_interrupted,
            ..Self::of_cycle(subject, deadlock, witness)
        }
    }

    /// The analysis of tables.
    pub(super) fn of_tables(
        subject: &Subject<'_>,
        deadlock: Option<&[Resource]>,
        witness: &FindWitness<'_>,
        report: &TablesReport,
        tables: Tables,
    ) -> Self {
        Self {
            connected: Some(report.survey.connected),
            average_distance: report.survey.average_distance,
            node_distance: report.survey.node_distance,
            diameter: report.survey.diameter,
            link_load: Some(Load::new(subject.network, report.load.clone())),
            tables: Some(tables),
            ..Self::of_cycle(subject, deadlock, Some(witness))
        }
    }

    /// Says which multicasts have a part in the cycle.
    pub(super) fn add_multicasts(&mut self, cycle: Option<&[Resource]>, multicasts: Option<&Multicasts<'_>>) {
        let Some(multicasts) = multicasts else { return };
        self.multicasts = Some(multicasts.count());
        if let (Some(closed_by), Some(channels)) = (&mut self.closed_by, cycle.and_then(channels_only)) {
            let next = channels.iter().cycle().skip(1);
            for (step, (&held, &next)) in closed_by.iter_mut().zip(channels.iter().zip(next)) {
                step.multicasts = multicasts.that_wait((held, next));
            }
        }
    }

    fn of_cycle(subject: &Subject<'_>, deadlock: Option<&[Resource]>, witness: Option<&FindWitness<'_>>) -> Self {
        let Subject { network, algorithm, relation, consumption_ports } = *subject;
        let held = |cycle: &[Resource]| cycle.iter().map(|&resource| Held::new(network, resource)).collect::<Vec<_>>();
        let resources = deadlock.map(held);
        Self {
            topology: network.name().to_owned(),
            algorithm: algorithm.map(str::to_owned),
            routing: relation.name().to_owned(),
            replication: None,
            consumption_ports,
            deadlock_free: resources.is_none(),
            cycle: resources.as_ref().map(|cycle| cycle.iter().filter_map(Held::link).collect()),
            resources,
            closed_by: deadlock.zip(witness).and_then(|(cycle, find)| {
                work::part("who closes the cycle", || closed_by(network, cycle, find)).flatten()
            }),
            connected: None,
            turns: None,
            prohibited: None,
            all_prohibited: 0,
            prohibited_names: Vec::new(),
            fraction: None,
            irreducible: None,
            irreducible_interrupted: false,
            average_distance: None,
            node_distance: None,
            diameter: None,
            link_load: None,
            load_interrupted: false,
            multicasts: None,
            tables: None,
            exported: None,
            reachability: None,
        }
    }
}

/// Whether every prohibited turn is needed; not for networks so large and dense that the answer would take minutes.
fn irreducible(network: &Network, turns: &TurnSet) -> Option<bool> {
    const STEPS: u64 = 20_000_000_000;
    let steps = (2 * turns.turns()).saturating_mul(network.channels().div_ceil(512) as u64);
    if steps > STEPS {
        return None;
    }
    turns.irreducible(network)
}

/// The prohibited turns as the routers that they lead through, sorted by the one in the middle: the first `limit` of them.
fn prohibited(network: &Network, turns: &TurnSet, limit: usize) -> Vec<[u32; 3]> {
    let mut prohibited: Vec<[u32; 3]> = Vec::new();
    for (one, other) in turns.prohibited(network) {
        let (a, b, c) = (network.to(one).raw(), network.from(one).raw(), network.to(other).raw());
        // They come router by router.
        if prohibited.len() >= limit && prohibited.last().is_some_and(|last| last[1] != b) {
            break;
        }
        prohibited.push([a.min(c), b, a.max(c)]);
    }
    prohibited.sort_unstable_by_key(|&[a, b, c]| [b, a, c]);
    prohibited.truncate(limit);
    prohibited
}

/// The first prohibited turns for people, as `S1 - S2[3,5] - S4` where ports have numbers: between ports 3 and 5 of S2. Where they have
/// none, the order of `prohibited`.
fn prohibited_names(network: &Network, turns: &TurnSet) -> Vec<String> {
    let name = |router: RouterId| network.router_label(router);
    if network.router_name(RouterId::new(0)).is_none() {
        let turn = |[a, b, c]: [u32; 3]| [a, b, c].map(|router| name(RouterId::new(router))).join(" - ");
        return prohibited(network, turns, SHOWN).into_iter().map(turn).collect();
    }
    let turn = |(one, other): (ChannelId, ChannelId)| {
        let ports = both([one, other].map(|channel| network.port_of(channel)));
        let ports = ports.map_or_else(String::new, |[one, other]| format!("[{one},{other}]"));
        format!("{} - {}{ports} - {}", name(network.to(one)), name(network.from(one)), name(network.to(other)))
    };
    turns.prohibited(network).take(SHOWN).map(turn).collect()
}
