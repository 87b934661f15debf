//! `wormcast topology`: describe a network, or convert it.

use std::io::Write;

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;

use super::{network, topology_help, write_figure, write_json, yes_or_no};
use crate::failure::Failure;
use crate::network::watch::step;
use crate::network::{
    Degrees, FileFormat, Network, NetworkAnynet, NetworkDot, NetworkEdgeList, NetworkGraphml, NetworkIbsim,
    NetworkNodeLink, NetworkSvg, NodeId, RouterId,
};
use crate::work;

/// Describe a network, draw it, or convert it to another format.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast topology mesh:16x16 --format json")]
pub(crate) struct Arguments {
    #[arg(value_name = "SPEC", help = topology_help(), value_hint = ValueHint::FilePath)]
    topology: String,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Output,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// Figures for people.
    #[default]
    Text,
    /// Figures for programs: one line.
    Json,
    /// A Graphviz graph.
    Dot,
    /// A picture.
    Svg,
    /// GraphML.
    Graphml,
    /// Node-link JSON, as networkx has it.
    NodeLink,
    /// A link a line.
    EdgeList,
    /// An anynet file, as booksim has it.
    Anynet,
    /// An InfiniBand fabric, as ibsim has it.
    Ibsim,
}

impl Output {
    /// The format of the file that is written, if it is one that can be read back.
    fn file(self) -> Option<FileFormat> {
        match self {
            Self::Text | Self::Json | Self::Dot | Self::Svg => None,
            Self::Graphml => Some(FileFormat::Graphml),
            Self::NodeLink => Some(FileFormat::NodeLink),
            Self::EdgeList => Some(FileFormat::EdgeList),
            Self::Anynet => Some(FileFormat::Anynet),
            Self::Ibsim => Some(FileFormat::Fabric),
        }
    }
}

/// The most routers that the text lists one by one.
const MOST_LISTED: usize = 64;

#[derive(Serialize)]
struct Description<'a> {
    name: &'a str,
    routers: usize,
    nodes: usize,
    /// Directed channels between routers.
    channels: usize,
    links: usize,
    degree: Degree,
    diameter: Option<u32>,
    average_distance: Option<f64>,
    /// Null if the command was interrupted.
    connected: Option<bool>,
    /// Pairs of routers that are joined, by one link or by several.
    pairs: usize,
    /// Cycles that flits take over links, where the network's file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_delay: Option<Degree>,
    nodes_per_router: Degree,
    /// Host adapters, which may be several nodes each.
    #[serde(skip_serializing_if = "Option::is_none")]
    adapters: Option<usize>,
    /// By router and by node, where a file has names; null for those without.
    #[serde(skip_serializing_if = "Option::is_none")]
    router_names: Option<Vec<Option<&'a str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_names: Option<Vec<Option<&'a str>>>,
}

#[derive(Serialize)]
struct Degree {
    min: usize,
    mean: f64,
    max: usize,
}

impl Degree {
    /// Of the delays of links.
    fn of_delays(network: &Network) -> Self {
        let delays = || network.channel_ids().map(|channel| network.link_delay(channel).unwrap_or(1) as usize);
        let mean = delays().sum::<usize>() as f64 / network.channels().max(1) as f64;
        Self { min: delays().min().unwrap_or(1), mean, max: delays().max().unwrap_or(1) }
    }

    /// From the smallest to the largest.
    fn range(&self) -> String {
        let Self { min, max, .. } = self;
        if min == max { min.to_string() } else { format!("{min} to {max}") }
    }
}

impl From<Degrees> for Degree {
    fn from(degrees: Degrees) -> Self {
        Self { min: degrees.min, mean: degrees.mean, max: degrees.max }
    }
}

/// Names, if there is one at all.
fn names<'a>(mut names: impl Iterator<Item = Option<&'a str>> + Clone) -> Option<Vec<Option<&'a str>>> {
    let all = names.clone();
    names.any(|name| name.is_some()).then(|| all.collect())
}

impl<'a> Description<'a> {
    fn of(network: &'a Network) -> Self {
        let degrees = network.degrees();
        let distances =
            work::part("whether it is connected, the diameter and the average distance", || network.distances());
        Self {
            name: network.name(),
            routers: network.routers(),
            nodes: network.nodes(),
            channels: network.channels(),
            links: network.links(),
            degree: degrees.into(),
            diameter: distances.and_then(|distances| distances.diameter),
            average_distance: distances.and_then(|distances| distances.average),
            connected: distances.map(|distances| distances.connected),
            pairs: network.joined_pairs(),
            link_delay: network.has_link_delays().then(|| Degree::of_delays(network)),
            nodes_per_router: network.nodes_a_router().into(),
            adapters: network.adapters(),
            router_names: names((0..network.routers() as u32).map(|id| network.router_name(RouterId::new(id)))),
            node_names: names((0..network.nodes() as u32).map(|id| network.node_name(NodeId::new(id)))),
        }
    }

    fn write_text(&self, network: &Network, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", self.name)?;
        write_figure(out, "routers", self.routers)?;
        if network.has_one_node_each() {
            write_figure(out, "nodes", self.nodes)?;
        } else {
            write_figure(out, "nodes", format_args!("{}, {} a router", self.nodes, self.nodes_per_router.range()))?;
        }
        if let Some(adapters) = self.adapters {
            write_figure(out, "adapters", adapters)?;
        }
        if self.pairs == self.links {
            write_figure(out, "links", self.links)?;
        } else {
            write_figure(
                out,
                "links",
                format_args!(
                    "{}, between {} pair{} of routers",
                    self.links,
                    self.pairs,
                    if self.pairs == 1 { "" } else { "s" }
                ),
            )?;
        }
        write_figure(out, "channels", self.channels)?;
        if let Some(delay) = &self.link_delay {
            write_figure(out, "link delay", format_args!("{} cycles, mean {:.3}", delay.range(), delay.mean))?;
        }
        let Degree { min, mean, max } = self.degree;
        write_figure(out, "degree", format_args!("{min} to {max}, mean {mean:.3}"))?;
        if let Some(connected) = self.connected {
            write_figure(out, "connected", yes_or_no(connected))?;
        }
        if self.diameter.is_none() && self.connected == Some(true) {
            write_figure(out, "diameter", "not computed, nor distances: too many pairs of routers")?;
        }
        if let Some(diameter) = self.diameter {
            write_figure(out, "diameter", diameter)?;
        }
        if let Some(average) = self.average_distance {
            // With one node each, nodes are as far from each other as routers are.
            let of = if network.has_one_node_each() { "" } else { " between routers" };
            write_figure(out, "average distance", format_args!("{average:.3}{of}"))?;
        }
        if network.routers() <= MOST_LISTED && (self.router_names.is_some() || !network.has_one_node_each()) {
            writeln!(out, "\nrouter  nodes  links  name")?;
            for router in network.router_ids() {
                let (nodes, links) = (network.nodes_of(router).len(), network.outputs(router).len());
                let name = network.router_name(router).unwrap_or("-");
                writeln!(out, "{:<6}  {nodes:<5}  {links:<5}  {name}", router.raw())?;
            }
        }
        Ok(())
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let network = network(&arguments.topology)?;
    if let Some(format) = arguments.format.file() {
        format.check_expresses(&network).map_err(Failure::bad_input)?;
    }
    match arguments.format {
        Output::Text | Output::Json => {}
        _ => step("writing the network", "", 0, 0),
    }
    match arguments.format {
        Output::Text => Description::of(&network).write_text(&network, out)?,
        Output::Json => write_json(out, &Description::of(&network))?,
        Output::Dot => write!(out, "{}", NetworkDot(&network))?,
        Output::Svg => write!(out, "{}", NetworkSvg(&network))?,
        Output::Graphml => write!(out, "{}", NetworkGraphml(&network))?,
        Output::NodeLink => write!(out, "{}", NetworkNodeLink(&network))?,
        Output::EdgeList => write!(out, "{}", NetworkEdgeList(&network))?,
        Output::Anynet => write!(out, "{}", NetworkAnynet(&network))?,
        Output::Ibsim => write!(out, "{}", NetworkIbsim(&network))?,
    }
    Ok(())
}
