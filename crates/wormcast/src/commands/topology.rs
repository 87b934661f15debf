//! `wormcast topology`: describe a network, or convert it.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use wormcast::network::{Network, NetworkDot, NetworkGraphml, NetworkSvg};

use super::{network, topology_help, write_figure, write_json, yes_or_no};
use crate::failure::Failure;

/// Describe a network, draw it, or convert it for graph tools.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast topology mesh:16x16 --format json")]
pub(crate) struct Arguments {
    #[arg(value_name = "SPEC", help = topology_help())]
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
}

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
    connected: bool,
}

#[derive(Serialize)]
struct Degree {
    min: usize,
    mean: f64,
    max: usize,
}

impl<'a> Description<'a> {
    fn of(network: &'a Network) -> Self {
        let (degrees, distances) = (network.degrees(), network.distances());
        Self {
            name: network.name(),
            routers: network.routers(),
            nodes: network.nodes(),
            channels: network.channels(),
            links: network.links(),
            degree: Degree { min: degrees.min, mean: degrees.mean, max: degrees.max },
            diameter: distances.diameter,
            average_distance: distances.average,
            connected: distances.connected,
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", self.name)?;
        write_figure(out, "routers", self.routers)?;
        write_figure(out, "nodes", self.nodes)?;
        write_figure(out, "links", self.links)?;
        write_figure(out, "channels", self.channels)?;
        let Degree { min, mean, max } = self.degree;
        write_figure(out, "degree", format_args!("{min} to {max}, mean {mean:.3}"))?;
        write_figure(out, "connected", yes_or_no(self.connected))?;
        if let (Some(diameter), Some(average)) = (self.diameter, self.average_distance) {
            write_figure(out, "diameter", diameter)?;
            write_figure(out, "average distance", format_args!("{average:.3}"))?;
        }
        Ok(())
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let network = network(&arguments.topology)?;
    match arguments.format {
        Output::Text => Description::of(&network).write_text(out)?,
        Output::Json => write_json(out, &Description::of(&network))?,
        Output::Dot => write!(out, "{}", NetworkDot(&network))?,
        Output::Svg => write!(out, "{}", NetworkSvg(&network))?,
        Output::Graphml => write!(out, "{}", NetworkGraphml(&network))?,
    }
    Ok(())
}
