//! `wormcast routing`: whether worms can deadlock, and how far they go.

use std::io::Write;

use clap::{ArgGroup, Args, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wormcast::multicast::{ALGORITHMS, Options, algorithm_by_name};
use wormcast::network::{MAX_PORTS, Network};
use wormcast::routing::{
    ChannelNumbering, Dependencies, LinkLoad, ROUTINGS, Resource, Root, RoutingOptions, RoutingRelation, TurnRouting,
    TurnSet, routing_by_name, survey, synchronous_deadlock,
};
use wormcast::simulation::{Buffer, EngineConfig, Replication, Reservation, Timing, Wormhole};

use super::{Format, network, one_of, topology_help, write_figure, write_json, yes_or_no};
use crate::failure::Failure;

/// Analyse a routing, or every worm that a multicast algorithm may send.
///
/// The answer to whether there can be a deadlock is not a failure: the exit code is 0 either way.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true),
    after_help = "Example:\n  wormcast routing --topology mesh:8x8 --algorithm dual-path --consumption-ports 2"
)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "SPEC", help = topology_help())]
    topology: String,
    /// The routing.
    #[arg(long, value_name = "NAME", value_parser = one_of(&ROUTINGS), group = "what")]
    routing: Option<String>,
    /// A multicast algorithm, whose multidestination worms are checked; `--routing` then is the routing that it shall use.
    #[arg(long, value_name = "NAME", value_parser = one_of(ALGORITHMS), group = "what")]
    algorithm: Option<String>,
    /// Consumption channels at every node: worms that deliver on their way hold one. Default: what the algorithm is defined with,
    /// or 4.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PORTS)))]
    consumption_ports: Option<u32>,
    /// Virtual channels of every link, any of which a worm may take: with more, more worms hold consumption channels of a node.
    #[arg(long, value_name = "V", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    virtual_channels: u32,
    /// Buffers, for algorithms that send trees: `message` (any worm as a whole), or a number of flits that is less. By default what
    /// the algorithm is meant for.
    #[arg(long, value_name = "FLITS|message", value_parser = buffer, requires = "algorithm")]
    buffer: Option<Buffer>,
    /// How worms are replicated, by default as the algorithm is meant for: flits of trees in `lockstep` or by `independent`
    /// branches, those of worms that switches replicate in one of the other ways.
    #[arg(long, value_name = "HOW", value_enum, requires = "algorithm")]
    replication: Option<Replicating>,
    /// How independent branches are reserved, by default as the algorithm is meant for.
    #[arg(long, value_name = "HOW", value_parser = reservation, requires = "algorithm")]
    reservation: Option<Reservation>,
    /// The root of up*/down*: `smallest-id`, `maximum-degree` or a router's number.
    #[arg(long, value_name = "ROOT", default_value_t, conflicts_with = "algorithm")]
    root: Root,
    /// The seed of routings and algorithms that make random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How worms are replicated, and outputs reserved for them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Replicating {
    /// Trees: a flit leaves on all branches or on none.
    Lockstep,
    /// Trees: branches go on by themselves.
    Independent,
    /// Switches: branches go on by themselves, and a switch that accepts a packet has room for all of it.
    Asynchronous,
    /// Switches: a flit leaves on all branches or on none; outputs are reserved one by one.
    Synchronous,
    /// Switches: a flit leaves on all branches or on none; outputs are reserved all at once.
    SynchronousTogether,
}

/// A setting as experiment files spell it.
fn setting<T: DeserializeOwned>(text: &str, expected: &str) -> Result<T, String> {
    let value = text.parse::<u32>().map_or_else(|_| text.into(), serde_json::Value::from);
    serde_json::from_value(value).map_err(|_| format!("expected {expected}"))
}

fn buffer(text: &str) -> Result<Buffer, String> {
    setting(text, "`message`, or a number of flits")
}

fn reservation(text: &str) -> Result<Reservation, String> {
    setting(text, "`atomic` or `separate`")
}

/// What the analysis finds. Fields of turn sets are null for routings that are none.
#[derive(Serialize)]
struct Analysis {
    topology: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<String>,
    routing: String,
    /// How switches replicate the worms, where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    replication: Option<Replicating>,
    consumption_ports: u32,
    deadlock_free: bool,
    /// The links of a shortest cycle of dependencies found.
    cycle: Option<Vec<[u32; 2]>>,
    /// The same cycle with the consumption channels on it: each item may be held by a worm that waits for the next.
    resources: Option<Vec<Held>>,
    connected: bool,
    turns: Option<u64>,
    /// All prohibited turns, or as many as are printed.
    prohibited: Option<Vec<[u32; 3]>>,
    #[serde(skip)]
    all_prohibited: u64,
    fraction: Option<f64>,
    irreducible: Option<bool>,
    average_distance: Option<f64>,
    diameter: Option<u32>,
    link_load: Option<Load>,
}

/// The load of channels under uniform traffic, in ordered pairs of routers whose worms cross a channel.
#[derive(Serialize)]
struct Load {
    mean: f64,
    max: f64,
}

/// A part of a cycle of dependencies.
#[derive(Serialize)]
#[serde(untagged)]
enum Held {
    Channel { channel: [u32; 2] },
    Consumption { consumption: u32 },
}

impl Held {
    fn new(network: &Network, resource: Resource) -> Self {
        match resource {
            Resource::Channel(channel) => {
                Self::Channel { channel: [network.from(channel).raw(), network.to(channel).raw()] }
            }
            Resource::Consumption(node) => Self::Consumption { consumption: node.raw() },
        }
    }

    fn link(&self) -> Option<[u32; 2]> {
        match *self {
            Self::Channel { channel } => Some(channel),
            Self::Consumption { .. } => None,
        }
    }
}

fn analyse(arguments: &Arguments, network: &Network) -> Result<Analysis, Failure> {
    if let Some(name) = &arguments.algorithm {
        let options = Options { routing: arguments.routing.clone(), seed: arguments.seed, ..Options::default() };
        let algorithm = algorithm_by_name(name, network, &options).map_err(Failure::bad_input)?;
        let default = algorithm.ports().map_or(CONSUMPTION_PORTS, |ports| ports.consumption);
        let ports = arguments.consumption_ports.unwrap_or(default);
        let given = arguments.replication;
        let tree = match given {
            Some(Replicating::Lockstep) => Some(Replication::Lockstep),
            Some(Replicating::Independent) => Some(Replication::Independent),
            _ => None,
        };
        let refuse = |problem: String| Err(Failure::BadInput(problem));
        let (replication, deadlock) = match algorithm.switches() {
            None if given.is_some() && tree.is_none() => {
                return refuse(format!(
                    "switches do not replicate the worms of `{name}`: leave `--replication` out; it is for `bit-string` \
                     and `multiport`"
                ));
            }
            Some(_) if tree.is_some() || arguments.buffer.is_some() || arguments.reservation.is_some() => {
                return refuse(format!(
                    "switches replicate the worms of `{name}`: expected `--replication asynchronous`, `synchronous` or \
                     `synchronous-together`, and neither `--buffer` nor `--reservation`"
                ));
            }
            Some(switches) if matches!(given, Some(Replicating::Synchronous | Replicating::SynchronousTogether)) => {
                let together = given == Some(Replicating::SynchronousTogether);
                (given, synchronous_deadlock(network, switches, together).map(|cycle| cycle.to_vec()))
            }
            switches => {
                let (buffer, reservation) = (arguments.buffer, arguments.reservation);
                let switching = Wormhole { buffer, replication: tree, reservation, ..Wormhole::default() };
                let switching = switching.for_branching(algorithm.branching());
                let branching = EngineConfig::new(&switching, &Timing::default(), network).branching();
                let dependencies = algorithm.dependencies_with(network, branching);
                let dependencies = dependencies.with_virtual_channels(arguments.virtual_channels);
                let replication = switches.map(|_| Replicating::Asynchronous).or(given);
                let bound = dependencies.bound_channels();
                if ports < bound {
                    return refuse(format!(
                        "`{name}` binds its worms to {bound} consumption channels at every node, not {ports}; set \
                         `--consumption-ports {bound}` or more"
                    ));
                }
                (replication, dependencies.deadlock(ports))
            }
        };
        Ok(Analysis { replication, ..describe(arguments, network, algorithm.routing(), ports, deadlock) })
    } else {
        // Usage requires one of the two.
        let name = arguments.routing.as_deref().unwrap_or_default();
        let options = RoutingOptions { seed: arguments.seed, root: arguments.root };
        let relation = routing_by_name(name, network, &options).map_err(Failure::bad_input)?;
        let ports = arguments.consumption_ports.unwrap_or(CONSUMPTION_PORTS);
        let deadlock = match relation.turn_routing() {
            // All permitted turns together say more than the routes that are taken, and sooner.
            Some(routing) if turns_are_safe(network, routing.turns()) => None,
            _ => Dependencies::of_relation(network, relation.as_ref()).deadlock(ports),
        };
        Ok(describe(arguments, network, relation.as_ref(), ports, deadlock))
    }
}

/// Consumption channels of every node where nothing else is said.
const CONSUMPTION_PORTS: u32 = 4;

/// How many turns a person wants to read.
const SHOWN: usize = 12;

/// Whether there is a proof that worms on permitted turns cannot deadlock, and it holds.
fn turns_are_safe(network: &Network, turns: &TurnSet) -> bool {
    let permits = |held, requested| turns.permits(network, held, requested);
    ChannelNumbering::find(network, permits).is_ok_and(|proof| proof.check(network, permits).is_ok())
}

fn describe(
    arguments: &Arguments,
    network: &Network,
    relation: &dyn RoutingRelation,
    consumption_ports: u32,
    deadlock: Option<Vec<Resource>>,
) -> Analysis {
    let resources: Option<Vec<Held>> =
        deadlock.map(|cycle| cycle.into_iter().map(|resource| Held::new(network, resource)).collect());
    let (survey, load) = match relation.turn_routing() {
        Some(routing) => {
            let (survey, load) = routing.survey(network);
            (survey, Some(load))
        }
        None => (survey(network, relation), None),
    };
    let turns = relation.turn_routing().map(TurnRouting::turns);
    let limit = if arguments.format == Format::Text { SHOWN } else { usize::MAX };
    Analysis {
        topology: network.name().to_owned(),
        algorithm: arguments.algorithm.clone(),
        routing: relation.name().to_owned(),
        replication: None,
        consumption_ports,
        deadlock_free: resources.is_none(),
        cycle: resources.as_ref().map(|cycle| cycle.iter().filter_map(Held::link).collect()),
        resources,
        connected: survey.connected,
        turns: turns.map(TurnSet::turns),
        prohibited: turns.map(|turns| prohibited(network, turns, limit)),
        all_prohibited: turns.map_or(0, TurnSet::prohibited_turns),
        fraction: turns.map(TurnSet::fraction),
        irreducible: turns.and_then(|turns| irreducible(network, turns)),
        average_distance: survey.average_distance,
        diameter: survey.diameter,
        link_load: load.map(|LinkLoad { mean, max }| Load { mean, max }),
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

fn write_text(out: &mut dyn Write, analysis: &Analysis) -> Result<(), Failure> {
    let what = match &analysis.algorithm {
        Some(algorithm) => format!("{algorithm}, routed by {}", analysis.routing),
        None => analysis.routing.clone(),
    };
    writeln!(out, "{what} on {}", analysis.topology)?;
    if let Some(resources) = &analysis.resources {
        write_figure(out, "deadlock-free", "no")?;
        writeln!(out, "  A cycle, in which each may be held by a worm that waits for the next:")?;
        for resource in resources {
            match resource {
                Held::Channel { channel: [from, to] } => writeln!(out, "    channel {from} -> {to}")?,
                Held::Consumption { consumption } => writeln!(out, "    consumption channels of node {consumption}")?,
            }
        }
    } else {
        write_figure(out, "deadlock-free", "yes")?;
    }
    if let Some(replication) = analysis.replication {
        let how = match replication {
            Replicating::Lockstep => "lockstep, a flit on all branches or on none",
            Replicating::Independent => "independent branches",
            Replicating::Asynchronous => "asynchronous, with room for whole packets",
            Replicating::Synchronous => "synchronous, outputs reserved one by one",
            Replicating::SynchronousTogether => "synchronous, outputs reserved together",
        };
        write_figure(out, "replication", how)?;
    }
    if analysis.algorithm.is_some() {
        write_figure(out, "consumption ports", analysis.consumption_ports)?;
    }
    write_figure(out, "connected", yes_or_no(analysis.connected))?;
    if let (Some(diameter), Some(average)) = (analysis.diameter, analysis.average_distance) {
        write_figure(out, "diameter", diameter)?;
        write_figure(out, "average distance", format_args!("{average:.3}"))?;
    }
    write_turns(out, analysis)
}

/// What is known of a turn set; nothing for other routings.
fn write_turns(out: &mut dyn Write, analysis: &Analysis) -> Result<(), Failure> {
    if let Some(load) = &analysis.link_load {
        let Load { mean, max } = load;
        write_figure(out, "link load", format_args!("mean {mean:.2}, largest {max:.2} pairs a channel"))?;
    }
    let (Some(turns), Some(prohibited), Some(fraction)) = (analysis.turns, &analysis.prohibited, analysis.fraction)
    else {
        return Ok(());
    };
    let (count, percent) = (analysis.all_prohibited, 100.0 * fraction);
    write_figure(out, "turns", turns)?;
    write_figure(out, "prohibited turns", format_args!("{count} ({percent:.1}%)"))?;
    write_figure(out, "irreducible", analysis.irreducible.map_or("not checked: too many turns", yes_or_no))?;
    if !prohibited.is_empty() {
        writeln!(out, "  Prohibited, both ways:")?;
    }
    for [a, b, c] in prohibited {
        writeln!(out, "    {a} - {b} - {c}")?;
    }
    let more = count - prohibited.len() as u64;
    if more > 0 {
        writeln!(out, "    and {more} more, which --format json lists")?;
    }
    Ok(())
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let network = network(&arguments.topology)?;
    let analysis = analyse(arguments, &network)?;
    match arguments.format {
        Format::Text => write_text(out, &analysis),
        Format::Json => write_json(out, &analysis),
    }
}
