//! `wormcast routing`: whether worms can deadlock, and how far they go.

use std::io::Write;

use clap::{ArgGroup, Args};
use serde::Serialize;
use wormcast::multicast::{ALGORITHMS, Options, algorithm_by_name};
use wormcast::network::{MAX_PORTS, Network};
use wormcast::routing::{Dependencies, ROUTINGS, Resource, Survey, routing_by_name, survey};

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
    /// Consumption channels at every node: worms that deliver on their way hold one.
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PORTS)))]
    consumption_ports: u32,
    /// Virtual channels of every link, any of which a worm may take: with more, more worms hold consumption channels of a node.
    #[arg(long, value_name = "V", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    virtual_channels: u32,
    /// The seed of routings and algorithms that make random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What the analysis finds. Fields of turn sets are null for routings that are none.
#[derive(Serialize)]
struct Analysis {
    topology: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<String>,
    routing: String,
    consumption_ports: u32,
    deadlock_free: bool,
    /// The links of a shortest cycle of dependencies found.
    cycle: Option<Vec<[u32; 2]>>,
    /// The same cycle with the consumption channels on it: each item may be held by a worm that waits for the next.
    resources: Option<Vec<Held>>,
    connected: bool,
    turns: Option<u64>,
    prohibited: Option<Vec<[u32; 3]>>,
    fraction: Option<f64>,
    irreducible: Option<bool>,
    average_distance: Option<f64>,
    diameter: Option<u32>,
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
    let ports = arguments.consumption_ports;
    let analysis = |routing: &str, deadlock: Option<Vec<Resource>>, survey: Survey| {
        let resources: Option<Vec<Held>> =
            deadlock.map(|cycle| cycle.into_iter().map(|resource| Held::new(network, resource)).collect());
        Analysis {
            topology: network.name().to_owned(),
            algorithm: arguments.algorithm.clone(),
            routing: routing.to_owned(),
            consumption_ports: ports,
            deadlock_free: resources.is_none(),
            cycle: resources.as_ref().map(|cycle| cycle.iter().filter_map(Held::link).collect()),
            resources,
            connected: survey.connected,
            turns: None,
            prohibited: None,
            fraction: None,
            irreducible: None,
            average_distance: survey.average_distance,
            diameter: survey.diameter,
        }
    };
    if let Some(name) = &arguments.algorithm {
        let options = Options { routing: arguments.routing.clone(), seed: arguments.seed };
        let algorithm = algorithm_by_name(name, network, &options).map_err(Failure::bad_input)?;
        let dependencies = algorithm.dependencies(network).with_virtual_channels(arguments.virtual_channels);
        let deadlock = dependencies.deadlock(ports);
        Ok(analysis(algorithm.routing().name(), deadlock, survey(network, algorithm.routing())))
    } else {
        // Usage requires one of the two.
        let name = arguments.routing.as_deref().unwrap_or_default();
        let relation = routing_by_name(name).map_err(Failure::bad_input)?;
        relation.supports(network).map_err(Failure::bad_input)?;
        let deadlock = Dependencies::of_relation(network, relation.as_ref()).deadlock(ports);
        Ok(analysis(relation.name(), deadlock, survey(network, relation.as_ref())))
    }
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
    if analysis.algorithm.is_some() {
        write_figure(out, "consumption ports", analysis.consumption_ports)?;
    }
    write_figure(out, "connected", yes_or_no(analysis.connected))?;
    if let (Some(diameter), Some(average)) = (analysis.diameter, analysis.average_distance) {
        write_figure(out, "diameter", diameter)?;
        write_figure(out, "average distance", format_args!("{average:.3}"))?;
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
