//! The report of an analysis, as data.

use std::fmt;

use serde::Serialize;
use wormcast_network::watch::attempt;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{
    ChannelNumbering, LinkLoad, Resource, RoutingRelation, Survey, TurnRouting, TurnSet, Witness, link_load, survey,
};

use crate::groups::{Groups, LanesFound};
use crate::multicasts::Multicasts;
use crate::reachability::Reached;
use crate::sample::{Sample, Sampled};
use crate::settings::{Replicating, Settings};
use crate::tables::TablesFound;

/// The result of an analysis. Fields about turns are `None` for routings that are not over permitted turns, and fields about tables where there are none.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The network.
    pub topology: String,
    /// The algorithm whose worms were analysed; `None` for unicasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// The routing.
    pub routing: String,
    /// How worms are replicated, if switches do it or it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<Replicating>,
    /// Consumption channels of every node.
    pub consumption_ports: u32,
    /// Whether worms cannot deadlock, whatever is sent.
    pub deadlock_free: bool,
    /// The links of a shortest cycle of dependencies found, as routers.
    pub cycle: Option<Vec<[u32; 2]>>,
    /// The cycle with the consumption channels on it: each item may be held by a worm that waits for the next.
    pub resources: Option<Vec<CycleResource>>,
    /// For each item, the unicasts that may hold it while they wait for the next, if that is what worms are.
    pub closed_by: Option<Vec<ClosedBy>>,
    /// Whether every pair of routers with nodes has a route.
    pub connected: Option<bool>,
    /// The number of turns of the network, for a routing over permitted turns.
    pub turns: Option<u64>,
    /// Its prohibited turns, as the routers that they lead through, or as many as were to be listed.
    pub prohibited: Option<Vec<[u32; 3]>>,
    /// How many there are.
    #[serde(skip)]
    pub all_prohibited: u64,
    /// The first of them in readable form.
    #[serde(skip)]
    pub prohibited_names: Vec<String>,
    /// The share of turns that are prohibited.
    pub fraction: Option<f64>,
    /// Whether every prohibited turn is needed; `None` also where there are too many to tell.
    pub irreducible: Option<bool>,
    /// Whether that is not known because the analysis was stopped.
    #[serde(skip)]
    pub irreducible_interrupted: bool,
    /// Which ways [distances](Self::average_distance) and [loads](Self::link_load) are of, if not of all that worms take: those without a waypoint, where
    /// worms are led over one (Valiant 1982). Most then take longer ways, which load other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances_of: Option<&'static str>,
    /// The mean length of shortest permitted routes between routers with nodes, in hops.
    pub average_distance: Option<f64>,
    /// The average distance between nodes at different routers, in hops.
    pub node_distance: Option<f64>,
    /// The longest of these routes, in hops.
    pub diameter: Option<u32>,
    /// The destinations that distances are estimated from, if not from all. Then the diameter and the loads of single links are not known, nor whether all pairs
    /// have routes, unless one that has none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sampled>,
    /// How many pairs of nodes use each channel.
    pub link_load: Option<Load>,
    /// Whether that is not known because the analysis was stopped, and not because a worm may cross a channel again.
    #[serde(skip)]
    pub load_interrupted: bool,
    /// How many multicasts there are beside the unicasts, if any were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicasts: Option<usize>,
    /// The analysis of forwarding tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<TablesFound>,
    /// The analysis of multicast tables beside them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub multicast_tables: Option<Groups>,
    /// The virtual lanes of a fabric, if any were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<LanesFound>,
    /// Whether a deadlock can be reached, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reachability: Option<Reached>,
    /// The proof that unicasts cannot deadlock: a number for each channel that rises along every route.
    #[serde(skip)]
    pub numbering: Option<ChannelNumbering>,
    /// Which worms were analysed.
    #[serde(skip)]
    pub worms: WormsAnalysed,
    /// What the report lacks because the analysis was stopped, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<&'static str>,
}

/// Which worms an analysis was about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WormsAnalysed {
    /// Whether all are unicasts.
    pub only_unicasts: bool,
    /// Whether some are trees that wormhole switches replicate.
    pub trees: bool,
}

/// The load of channels under uniform traffic, in ordered pairs of nodes whose worms cross a channel.
#[derive(Debug, Serialize)]
pub struct Load {
    /// The mean over channels.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The most loaded channels, highest first; empty if all have the same load.
    pub most_loaded: Vec<LoadedChannel>,
    /// The load of each channel.
    #[serde(skip)]
    pub by_channel: Box<[f64]>,
}

/// A channel and its load.
#[derive(Debug, Serialize)]
pub struct LoadedChannel {
    /// The channel.
    #[serde(flatten)]
    pub channel: CycleResource,
    /// The ordered pairs of nodes whose worms cross it.
    pub load: f64,
}

impl Load {
    pub(crate) fn new(network: &Network, load: LinkLoad) -> Self {
        let LinkLoad { mean, max, by_channel } = load;
        let loaded = |channel: ChannelId| LoadedChannel {
            channel: CycleResource::new(network, Resource::Channel(channel)),
            load: by_channel[channel.index()],
        };
        let most_loaded = most_loaded(&by_channel).into_iter().map(loaded).collect();
        Self { mean, max, most_loaded, by_channel }
    }
}

/// A part of a cycle of dependencies, with names and port numbers where the network has them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum CycleResource {
    /// A channel between routers.
    Channel {
        /// The routers that it leads from and to.
        channel: [u32; 2],
        /// Their names.
        #[serde(skip_serializing_if = "Option::is_none")]
        names: Option<[String; 2]>,
        /// Their ports.
        #[serde(skip_serializing_if = "Option::is_none")]
        ports: Option<[u32; 2]>,
        /// Its virtual lane, if the fabric has lanes.
        #[serde(skip_serializing_if = "Option::is_none")]
        lane: Option<u32>,
        /// Its virtual channel, if the routing divides several into classes.
        #[serde(skip_serializing_if = "Option::is_none")]
        virtual_channel: Option<u32>,
        /// Its id in the network.
        #[serde(skip)]
        id: ChannelId,
        /// The channel in readable form.
        #[serde(skip)]
        label: String,
    },
    /// The consumption channels of a node.
    Consumption {
        /// The node.
        consumption: u32,
        /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The node in readable form.
        #[serde(skip)]
        label: String,
    },
}

/// In readable form: `S1[3] -> S2[4]` with names and ports.
impl fmt::Display for CycleResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel { names: Some(_), label, .. } => f.write_str(label),
            Self::Channel { label, .. } => write!(f, "channel {label}"),
            Self::Consumption { name: Some(_), label, .. } => write!(f, "consumption channels of {label}"),
            Self::Consumption { label, .. } => write!(f, "consumption channels of node {label}"),
        }
    }
}

impl CycleResource {
    /// What this is on the network.
    pub fn new(network: &Network, resource: Resource) -> Self {
        match resource {
            Resource::Channel(channel) => {
                let ends = [network.from(channel), network.to(channel)];
                let names = ends.map(|router| network.router_name(router).map(str::to_owned));
                let ports = [channel, network.reverse(channel)].map(|end| network.port_of(end));
                let label = network.link_label(channel);
                Self::Channel {
                    channel: ends.map(RouterId::raw),
                    names: both(names),
                    ports: both(ports),
                    lane: None,
                    virtual_channel: None,
                    id: channel,
                    label,
                }
            }
            Resource::Consumption(node) => {
                let name = network.node_name(node).map(str::to_owned);
                Self::Consumption { consumption: node.raw(), name, label: network.node_label(node) }
            }
        }
    }

    /// The channel of the network that this is, whatever its lane.
    pub fn channel(&self) -> Option<ChannelId> {
        match *self {
            Self::Channel { id, .. } => Some(id),
            Self::Consumption { .. } => None,
        }
    }

    /// The resources of a deadlock.
    pub(crate) fn all(network: &Network, deadlock: Option<&[Resource]>) -> Option<Vec<Self>> {
        deadlock.map(|cycle| cycle.iter().map(|&resource| Self::new(network, resource)).collect())
    }

    /// This channel on a virtual lane.
    pub(crate) fn on_lane(mut self, on: Option<u32>) -> Self {
        if let (Self::Channel { lane, label, .. }, Some(on)) = (&mut self, on) {
            *lane = Some(on);
            *label = format!("{label} on lane {on}");
        }
        self
    }

    /// This channel on a virtual channel.
    pub(crate) fn on_virtual_channel(mut self, on: u32) -> Self {
        if let Self::Channel { virtual_channel, label, .. } = &mut self {
            *virtual_channel = Some(on);
            *label = format!("{label} on virtual channel {on}");
        }
        self
    }

    fn link(&self) -> Option<[u32; 2]> {
        match *self {
            Self::Channel { channel, .. } => Some(channel),
            Self::Consumption { .. } => None,
        }
    }
}

pub(crate) fn both<T>([one, other]: [Option<T>; 2]) -> Option<[T; 2]> {
    Some([one?, other?])
}

/// Unicasts that hold one item of a cycle while they wait for the next.
#[derive(Debug, Serialize)]
pub struct ClosedBy {
    /// How many pairs of source and destination there are, if they have been counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Some of them.
    pub examples: Vec<[u32; 2]>,
    /// Their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<[String; 2]>,
    /// The links in readable form.
    #[serde(skip)]
    pub labels: Vec<[String; 2]>,
    /// Given multicasts that do so as well, by their lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub multicasts: Vec<u64>,
    /// Groups of multicast tables whose packets do so as well, by their addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl ClosedBy {
    pub(crate) fn new(network: &Network, witness: &Witness) -> Self {
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
            groups: Vec::new(),
        }
    }
}

/// Two channels of a cycle, the held one first, each with its virtual channel there.
pub(crate) type Step = [(ChannelId, u32); 2];

/// Worms that hold one channel and wait for another.
pub(crate) type FindWitness<'a> = dyn Fn(Step) -> Witness + 'a;

/// The channels of a cycle without consumption channels.
fn channels_only(cycle: &[Resource]) -> Option<Vec<ChannelId>> {
    let channel = |resource: &Resource| match *resource {
        Resource::Channel(channel) => Some(channel),
        Resource::Consumption(_) => None,
    };
    cycle.iter().map(channel).collect()
}

/// How many pairs are named for each dependency of a cycle.
pub(crate) const EXAMPLES: usize = 3;

/// How many prohibited turns are named for people, if not all are listed.
const NAMED: usize = 12;

/// How many channels a list of the most loaded has.
const MOST_LOADED: usize = 10;

/// The most loaded channels, highest first; none if all have the same load.
pub fn most_loaded(loads: &[f64]) -> Vec<ChannelId> {
    // Sums of shares differ in their last digits.
    let uneven = loads.iter().any(|load| (load - loads[0]).abs() > 1e-9 * loads[0].abs().max(1.0));
    let mut channels: Vec<u32> = (0..loads.len() as u32).filter(|_| uneven).collect();
    channels.sort_by(|&a, &b| loads[b as usize].total_cmp(&loads[a as usize]).then(a.cmp(&b)));
    channels.into_iter().take(MOST_LOADED).filter(|&at| loads[at as usize] > 0.0).map(ChannelId::new).collect()
}

impl Report {
    /// Does an optional part of the work; `None` if it was stopped. `missing` names what the report then lacks.
    pub(crate) fn part<T>(&mut self, missing: &'static str, work: impl FnOnce() -> T) -> Option<T> {
        attempt(work).map_err(|_| self.missing.push(missing)).ok()
    }

    /// Adds that worms cannot deadlock, or the cycle by which they can.
    pub(crate) fn new(
        network: &Network,
        routing: &str,
        consumption_ports: u32,
        resources: Option<Vec<CycleResource>>,
    ) -> Self {
        Self {
            topology: network.name().to_owned(),
            algorithm: None,
            routing: routing.to_owned(),
            replication: None,
            consumption_ports,
            deadlock_free: resources.is_none(),
            cycle: resources.as_ref().map(|cycle| cycle.iter().filter_map(CycleResource::link).collect()),
            resources,
            closed_by: None,
            connected: None,
            turns: None,
            prohibited: None,
            all_prohibited: 0,
            prohibited_names: Vec::new(),
            fraction: None,
            irreducible: None,
            irreducible_interrupted: false,
            distances_of: None,
            average_distance: None,
            node_distance: None,
            diameter: None,
            sample: None,
            link_load: None,
            load_interrupted: false,
            multicasts: None,
            tables: None,
            multicast_tables: None,
            lanes: None,
            reachability: None,
            numbering: None,
            worms: WormsAnalysed::default(),
            missing: Vec::new(),
        }
    }

    /// Adds the lengths of routes, the loads of links, and the turns, of which at most so many are listed.
    pub(crate) fn add_routing(&mut self, relation: &dyn RoutingRelation, settings: &Settings) {
        self.distances_of = relation.capabilities().waypoints.map(|_| "ways without a waypoint");
        let sample = settings.sample.filter(|sample| sample.is_idle(relation).is_none());
        match sample {
            Some(sample) => self.add_sample(relation, sample),
            None => self.add_lengths_and_loads(relation),
        }
        self.add_turns(relation, sample, settings.listed_turns);
    }

    /// Adds the lengths of the routes between all pairs, and the loads of links.
    fn add_lengths_and_loads(&mut self, relation: &dyn RoutingRelation) {
        let measured =
            self.part("whether all are connected, distances and link loads", || match relation.capabilities().turns {
                Some(routing) => {
                    let (survey, load) = routing.survey();
                    (survey, Some(load))
                }
                None => (survey(relation), link_load(relation)),
            });
        self.load_interrupted = measured.is_none();
        if let Some((survey, load)) = measured {
            self.add_survey(survey);
            self.link_load = load.map(|load| Load::new(relation.network(), load));
        }
    }

    /// Adds estimates of the lengths of routes.
    fn add_sample(&mut self, relation: &dyn RoutingRelation, sample: Sample) {
        let Some(routes) = self.part("distances", || sample.routes(relation)) else { return };
        self.connected = (!routes.all_found).then_some(false);
        self.average_distance = routes.average_distance.map(|mean| mean.value);
        self.node_distance = routes.node_distance.map(|mean| mean.value);
        self.sample = Some(routes.sampled);
    }

    fn add_turns(&mut self, relation: &dyn RoutingRelation, sample: Option<Sample>, listed: Option<usize>) {
        let network = relation.network();
        let Some(turns) = relation.capabilities().turns.map(TurnRouting::turns) else { return };
        let irreducible = self.part("whether all prohibited turns are needed", || {
            let drawn = sample.and_then(|sample| sample.turns(network, turns));
            let all = || irreducible(network, turns);
            (drawn, drawn.map_or_else(all, |drawn| (drawn.needed < drawn.drawn).then_some(false)))
        });
        let (drawn, irreducible) = irreducible.map_or((None, None), |(drawn, irreducible)| (drawn, Some(irreducible)));
        if let Some(sample) = &mut self.sample {
            sample.turns = drawn;
        }
        self.irreducible_interrupted = irreducible.is_none();
        self.irreducible = irreducible.flatten();
        self.turns = Some(turns.turn_count());
        self.prohibited = Some(prohibited(network, turns, listed.unwrap_or(usize::MAX)));
        self.prohibited_names = prohibited_names(network, turns);
        self.all_prohibited = turns.prohibited_turns();
        self.fraction = Some(turns.fraction());
    }

    pub(crate) fn add_survey(&mut self, survey: Survey) {
        let Survey { connected, average_distance, node_distance, diameter } = survey;
        self.connected = Some(connected);
        (self.average_distance, self.node_distance, self.diameter) = (average_distance, node_distance, diameter);
    }

    /// Adds the unicasts and the given multicasts that close a cycle of channels.
    pub(crate) fn add_witnesses(
        &mut self,
        network: &Network,
        cycle: Option<&[Resource]>,
        virtual_channels: Option<&[Option<u32>]>,
        find: &FindWitness<'_>,
        multicasts: Option<&Multicasts<'_>>,
    ) {
        self.multicasts = multicasts.map(Multicasts::count);
        let Some(channels) = cycle.and_then(channels_only) else { return };
        let on = |place: usize| virtual_channels.and_then(|on| on.get(place).copied().flatten()).unwrap_or(0);
        let channels: Vec<(ChannelId, u32)> =
            channels.into_iter().enumerate().map(|(place, channel)| (channel, on(place))).collect();
        let steps =
            || channels.iter().zip(channels.iter().cycle().skip(1)).map(|(&held, &requested)| [held, requested]);
        let closed_by = || steps().map(|step| ClosedBy::new(network, &find(step))).collect::<Vec<_>>();
        self.closed_by = self.part("who closes the cycle", closed_by);
        if let (Some(closed_by), Some(multicasts)) = (&mut self.closed_by, multicasts) {
            for (closed_by, step) in closed_by.iter_mut().zip(steps()) {
                let [held, requested] = step;
                closed_by.multicasts = multicasts.that_wait((held.0, requested.0));
            }
        }
    }
}

/// Whether every prohibited turn is needed; not for networks so large and dense that the answer would take minutes.
fn irreducible(network: &Network, turns: &TurnSet) -> Option<bool> {
    const STEPS: u64 = 20_000_000_000;
    let steps = (2 * turns.turn_count()).saturating_mul(network.channels().div_ceil(512) as u64);
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
        return prohibited(network, turns, NAMED).into_iter().map(turn).collect();
    }
    let turn = |(one, other): (ChannelId, ChannelId)| {
        let ports = both([one, other].map(|channel| network.port_of(channel)));
        let ports = ports.map_or_else(String::new, |[one, other]| format!("[{one},{other}]"));
        format!("{} - {}{ports} - {}", name(network.to(one)), name(network.from(one)), name(network.to(other)))
    };
    turns.prohibited(network).take(NAMED).map(turn).collect()
}
