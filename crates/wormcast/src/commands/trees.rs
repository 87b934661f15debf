//! `wormcast trees`: edge-disjoint spanning trees.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::choice::construction;
use super::{network, topology_help, warn_of_idle_option, write_figure, write_json, yes_or_no};
use crate::failure::Failure;
use crate::multicast::{Faults, trees_svg};
use crate::network::{ChannelId, Network, RouterId, parse_router};
use crate::routing::{
    BALANCES, BEST_BY, Balance, BestBy, CombinedDistance, EdgeDisjointTrees, Partition, SecondStart, SpanningTree,
    TorusMethod, TreeChoice, TreeDescriptor, TreeOptions, combined_distance, parse_start, working_links,
};
use crate::usage::at_most;
use crate::work;

/// Build edge-disjoint spanning trees, for multicast over several trees.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast trees --topology torus:8x8 --construction dstm-1")]
pub(crate) struct Arguments {
    #[arg(long, value_name = "SPEC", help = topology_help())]
    topology: String,
    /// How the trees are built.
    #[arg(long, value_name = "NAME", value_parser = construction())]
    construction: &'static TreeDescriptor,
    /// The starting node of the first tree of a torus; for the others, the root. Default of a torus: 0.
    #[arg(long, value_name = "NODE")]
    first: Option<String>,
    #[arg(long, value_name = "NODE", allow_hyphen_values = true, help = for_those("The starting node of the second tree of a torus", TreeChoice::Second, ": a node, `half`, `below-half` or `quarter`, or the way from the first, as `+4,-1`"))]
    second: Option<String>,
    #[arg(
        long, value_name = "METHOD", allow_hyphen_values = true,
        help = for_those("The directions in which trees of a torus are grown", TreeChoice::Method, ": as `(+x,-y)(-y,+x)`")
    )]
    method: Option<TorusMethod>,
    /// Where roots are: `none` at the starting nodes, `root` where the trees are balanced best without moving links, `branch` at the
    /// starting nodes, with half of a single branch moved to its other side.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(BALANCES))]
    balance: Option<String>,
    #[arg(
        long, value_name = "K", value_parser = at_most::<u32, { u32::MAX as u64 }>,
        help = for_those("How many trees", TreeChoice::Trees, ". Default: as many as there are")
    )]
    trees: Option<u32>,
    #[arg(
        long, value_name = "N", value_parser = at_most::<u32, { u32::MAX as u64 }>,
        help = for_those(
            "Of how many random orders of the links the best is taken", TreeChoice::BestOf,
            ""
        )
    )]
    best: Option<u32>,
    #[arg(
        long, value_name = "WHAT", value_parser = PossibleValuesParser::new(BEST_BY), requires = "best",
        help = for_those(
            "What is best", TreeChoice::BestBy,
            ": the smallest combined `diameter`, the smallest average `distance`, or, among the tenth with the smallest product of both, \
             the best `balance` at the roots. Default: `diameter`"
        )
    )]
    by: Option<String>,
    /// The seed of random orders of links. Default: 0.
    #[arg(long)]
    seed: Option<u64>,
    /// A link that has failed, by its routers, as `0-1` or `0,0-1,0`; can be repeated. Of parallel links, the first one.
    #[arg(long, value_name = "U-V")]
    failed_link: Vec<String>,
    /// Build new trees around failed links, rather than report which trees are left. Some constructions go around them in any case.
    #[arg(long, requires = "failed_link")]
    repair: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Output,
}

/// The help of an option that some constructions have a choice of.
fn for_those(what: &str, choice: TreeChoice, rest: &str) -> String {
    format!("{what}, for {}{rest}", choice.owners())
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs: one line.
    Json,
    /// A picture.
    Svg,
}

/// Trees as they are printed.
#[derive(Serialize)]
struct TreesJson<'a> {
    topology: &'a str,
    construction: &'a str,
    /// Trees without failed links.
    trees: Vec<Tree>,
    /// Links of none of these trees that have not failed.
    unused: Vec<[u32; 2]>,
    /// Over the trees above; null without any.
    combined_diameter: Option<u32>,
    average_distance: Option<f64>,
    failed: Vec<[u32; 2]>,
    /// Trees that failed links cut, without those links.
    cut: Vec<Tree>,
    /// The distances if worms use what is left of cut trees, too; null if no tree is cut, or some routers are then apart in all.
    with_cut: Option<Distance>,
    /// Why there are no more trees, if that was asked.
    limit: Option<Limit>,
}

#[derive(Serialize)]
struct Tree {
    root: u32,
    /// Links from parent to child.
    edges: Vec<[u32; 2]>,
    height: u32,
    binary: bool,
}

#[derive(Serialize)]
struct Distance {
    combined_diameter: u32,
    average_distance: f64,
}

impl From<CombinedDistance> for Distance {
    fn from(CombinedDistance { diameter, average }: CombinedDistance) -> Self {
        Self { combined_diameter: diameter, average_distance: average }
    }
}

/// A partition of the routers with so few links between its parts that they allow no more trees.
#[derive(Serialize)]
struct Limit {
    allows: usize,
    crossing: usize,
    parts: Vec<Vec<u32>>,
}

/// Trees, and what has become of them.
struct Found<'n> {
    network: &'n Network,
    failed: Vec<ChannelId>,
    whole: Vec<SpanningTree>,
    cut: Vec<SpanningTree>,
    limit: Option<Partition>,
}

impl Found<'_> {
    fn ends(&self, channel: ChannelId) -> [u32; 2] {
        [self.network.from(channel).raw(), self.network.to(channel).raw()]
    }

    fn has_failed(&self, link: ChannelId) -> bool {
        self.failed.iter().any(|&failed| failed == link || self.network.reverse(failed) == link)
    }

    fn tree(&self, tree: &SpanningTree) -> Tree {
        let links = tree.links().filter(|&link| !self.has_failed(link));
        Tree {
            root: tree.root().raw(),
            edges: links.map(|link| self.ends(link)).collect(),
            height: tree.height(),
            binary: tree.is_binary(),
        }
    }

    /// Links that work and are in no whole tree.
    fn unused(&self) -> Vec<ChannelId> {
        let mut links = working_links(self.network, &self.failed);
        links.retain(|&link| !self.whole.iter().any(|tree| tree.contains(self.network, link)));
        links
    }

    /// The inner `None`: some routers are apart; the outer one: interrupted.
    #[allow(clippy::option_option, reason = "two reasons to have none")]
    fn distance(&self) -> Option<Option<CombinedDistance>> {
        work::part("the combined diameter and the average distance", || {
            combined_distance(self.network, &self.whole, &self.failed)
        })
    }

    #[allow(clippy::option_option, reason = "two reasons to have none")]
    fn distance_with_cut(&self) -> Option<Option<CombinedDistance>> {
        if self.cut.is_empty() {
            return Some(None);
        }
        let all: Vec<SpanningTree> = self.whole.iter().chain(&self.cut).cloned().collect();
        work::part("distances with cut trees", || combined_distance(self.network, &all, &self.failed))
    }

    fn limit(&self) -> Option<Limit> {
        let limit = self.limit.as_ref()?;
        let ids = |routers: Vec<RouterId>| routers.into_iter().map(RouterId::raw).collect();
        Some(Limit {
            allows: limit.allows(self.network, &self.failed)?,
            crossing: limit.crossing(self.network, &self.failed),
            parts: limit.members().into_iter().map(ids).collect(),
        })
    }
}

/// The router that a user names by its number, its coordinates, one of its nodes or its name.
fn router(network: &Network, text: &str) -> Result<RouterId, Failure> {
    if network.shape().grid().is_some() && network.has_one_node_each() {
        return parse_router(network, text).map_err(Failure::bad_input);
    }
    // Elsewhere a router is not a node, and may have a name of its own.
    parse_start(network, text).map_err(Failure::bad_input)
}

fn find<'n>(arguments: &Arguments, network: &'n Network) -> Result<Found<'n>, Failure> {
    let mut faults = Faults::default();
    for link in &arguments.failed_link {
        faults.fail(network, link).map_err(Failure::bad_input)?;
    }
    let failed = faults.links;
    let construction = arguments.construction;
    let reason = format!("`{}` makes no random choices", construction.name);
    warn_of_idle_option("--seed", !construction.draws && arguments.seed.is_some(), &reason);
    let reason = format!("`{}` goes around failed links in any case", construction.name);
    warn_of_idle_option("--repair", construction.around_faults && arguments.repair, &reason);
    let named = |node: &Option<String>| node.as_deref().map(|text| router(network, text)).transpose();
    let second = arguments.second.as_deref().map(|text| SecondStart::parse(network, text));
    let options = TreeOptions {
        seed: arguments.seed.unwrap_or_default(),
        first: named(&arguments.first)?,
        second: second.transpose().map_err(Failure::bad_input)?,
        method: arguments.method,
        balance: arguments.balance.as_deref().and_then(Balance::by_name),
        trees: arguments.trees.map(|trees| trees as usize),
        best_of: arguments.best.map(|best| best as usize),
        best_by: arguments.by.as_deref().and_then(BestBy::by_name),
        failed: failed.clone(),
    };
    let build = |options: &TreeOptions| construction.build(network, options);
    // Whatever is left of trees: routers that nothing joins are an error.
    let EdgeDisjointTrees { trees, limit } = match build(&options) {
        Ok(rebuilt) if failed.is_empty() || arguments.repair || construction.around_faults => rebuilt,
        Ok(_) => build(&TreeOptions { failed: Vec::new(), ..options }).map_err(Failure::bad_input)?,
        Err(error) => return Err(Failure::bad_input(error)),
    };
    let (cut, whole) = trees.into_iter().partition(|tree| failed.iter().any(|&link| tree.contains(network, link)));
    Ok(Found { network, failed, whole, cut, limit })
}

fn write_text(out: &mut dyn Write, construction: &str, found: &Found) -> Result<(), Failure> {
    const SHOWN: usize = 12;
    let network = found.network;
    let list = |links: &[ChannelId]| {
        let name = |link: &ChannelId| {
            format!("{} - {}", network.router_label(network.from(*link)), network.router_label(network.to(*link)))
        };
        let shown: Vec<String> = links.iter().take(SHOWN).map(name).collect();
        let more = if links.len() > SHOWN { format!("; and {} more", links.len() - SHOWN) } else { String::new() };
        if links.is_empty() { "none".to_owned() } else { format!("{}{more}", shown.join("; ")) }
    };
    writeln!(out, "{construction} on {}", network.name())?;
    if !found.failed.is_empty() {
        write_figure(out, "failed links", list(&found.failed))?;
    }
    write_figure(out, "trees", found.whole.len())?;
    if !found.cut.is_empty() {
        write_figure(out, "cut by failures", found.cut.len())?;
    }
    let unused = found.unused();
    write_figure(out, "unused links", format_args!("{}: {}", unused.len(), list(&unused)))?;
    if let Some(distance) = found.distance() {
        write_distance(out, "", distance)?;
    }
    if let Some(distance) = found.distance_with_cut().filter(|_| !found.cut.is_empty()) {
        write_distance(out, ", with what is left of cut trees", distance)?;
    }
    if let Some(limit) = found.limit() {
        let (parts, next) = (limit.parts.len(), limit.allows + 1);
        write_figure(
            out,
            "no more trees",
            format_args!(
                "{} links between {parts} groups of routers, and {next} trees need {}",
                limit.crossing,
                next * (parts - 1)
            ),
        )?;
    }
    writeln!(out, "\ntree  root     height  binary  branches at the root")?;
    for (number, tree) in found.whole.iter().chain(&found.cut).enumerate() {
        let branches: Vec<String> = tree
            .children(tree.root())
            .iter()
            .map(|&channel| tree.subtree(network.to(channel)).len().to_string())
            .collect();
        let cut = if number >= found.whole.len() { " routers, cut" } else { " routers" };
        writeln!(
            out,
            "{number:<4}  {:<7}  {:<6}  {:<6}  {}{cut}",
            network.router_label(tree.root()),
            tree.height(),
            yes_or_no(tree.is_binary()),
            branches.join(", ")
        )?;
    }
    Ok(())
}

fn write_distance(out: &mut dyn Write, what: &str, distance: Option<CombinedDistance>) -> Result<(), Failure> {
    match distance {
        Some(CombinedDistance { diameter, average }) => {
            write_figure(out, "combined diameter", format_args!("{diameter}{what}"))?;
            write_figure(out, "average distance", format_args!("{average:.3}{what}"))?;
        }
        None => write_figure(out, "combined diameter", format_args!("none: some routers are apart{what}"))?,
    }
    Ok(())
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let network = network(&arguments.topology)?;
    let found = find(arguments, &network)?;
    match arguments.format {
        Output::Text => write_text(out, arguments.construction.name, &found),
        Output::Json => {
            let distance = found.distance().flatten();
            let answer = TreesJson {
                topology: network.name(),
                construction: arguments.construction.name,
                trees: found.whole.iter().map(|tree| found.tree(tree)).collect(),
                unused: found.unused().into_iter().map(|link| found.ends(link)).collect(),
                combined_diameter: distance.map(|distance| distance.diameter),
                average_distance: distance.map(|distance| distance.average),
                failed: found.failed.iter().map(|&link| found.ends(link)).collect(),
                cut: found.cut.iter().map(|tree| found.tree(tree)).collect(),
                with_cut: found.distance_with_cut().flatten().map(Into::into),
                limit: found.limit(),
            };
            write_json(out, &answer)
        }
        Output::Svg => {
            let title = format!("{} on {}", arguments.construction.name, network.name());
            let trees: Vec<SpanningTree> = found.whole.iter().chain(&found.cut).cloned().collect();
            Ok(out.write_all(trees_svg(&network, &title, &trees, &found.failed).as_bytes())?)
        }
    }
}
