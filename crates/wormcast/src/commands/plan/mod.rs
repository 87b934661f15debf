//! `wormcast plan`: the worms of one multicast, or of many.

use std::io::Write;
use std::num::NonZeroU32;

use clap::{Args, ValueEnum};

use super::choice::Choice;
use super::{network, topology_help, warn_of_idle_option};
use crate::failure::Failure;
use crate::multicast::{
    Algorithm, Contention, CoveringMatrix, EncodedHeader, Join, Multicast, NoReduction, Plan, PlanReport, PlanSummary,
    PortModel, Reduction, check_contract, is_own, left_out, plan_dot, plan_svg,
};
use crate::network::watch::step;
use crate::network::{Network, is_all_nodes, parse_node, parse_node_list};
use crate::usage::positive;

pub(super) mod batch;
mod request;

/// Plan the worms of a multicast.
#[derive(Args)]
#[command(
    override_usage = usage(),
    mut_arg("algorithm", |algorithm| algorithm.required_unless_present("batch")),
    after_help = "Example:\n  wormcast plan --topology mesh:8x8 --algorithm dual-path --source 4,3 --destinations '1,4;7,2'"
)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "SPEC", help = topology_help(), required_unless_present = "batch")]
    topology: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// The sender: its number, or coordinates such as `4,3`.
    #[arg(long, value_name = "NODE", required_unless_present = "batch")]
    source: Option<String>,
    /// The receivers, separated by `;`, or `all`.
    #[arg(long, value_name = "LIST", required_unless_present = "batch")]
    destinations: Option<String>,
    /// How many worms a node sends in one step.
    #[arg(long, value_enum, default_value_t)]
    ports: PortModel,
    /// The bits of a flit, in which headers that encode destinations are counted. Default: 16.
    #[arg(long, value_name = "BITS", value_parser = positive::<NonZeroU32>)]
    flit_bits: Option<NonZeroU32>,
    /// Print the reduction, too, which is the plan's tree in reverse: the destinations contribute, routers combine what comes together, and the source
    /// gets the result.
    #[arg(long)]
    reduction: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Output,
    /// Answer the JSON requests in this file, one per line (`-`: standard input), with one line of JSON each. A request has the fields
    /// `topology`, `algorithm`, `source`, `destinations` and optionally `routing`, `root`, `options`, `ports`, `seed`, `flit_bits`.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["topology", "algorithm", "routing", "root", "option", "source", "destinations", "ports", "seed", "flit_bits", "reduction", "format", "failed_link", "local_information"]
    )]
    batch: Option<String>,
    /// End with exit code 1 if a request of a batch has no plan.
    #[arg(long)]
    strict: bool,
}

/// The bits of a flit.
#[derive(Clone, Copy, serde::Deserialize)]
struct FlitBits(NonZeroU32);

impl Default for FlitBits {
    fn default() -> Self {
        Self(const { NonZeroU32::new(PlanReport::FLIT_BITS).unwrap() })
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Output {
    /// A table for people.
    #[default]
    Text,
    /// For programs: one line.
    Json,
    /// A picture.
    Svg,
    /// A Graphviz graph.
    Dot,
}

/// The two ways to call it.
fn usage() -> String {
    format!(
        "{0} plan [OPTIONS] --topology <SPEC> --algorithm <NAME> --source <NODE> --destinations <LIST>\n       {0} plan --batch <FILE> [--strict]",
        crate::program::name()
    )
}

pub(super) fn run(arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.batch {
        return batch::run(path, arguments.strict, out);
    }
    if arguments.strict {
        let message = "`--strict` is about the requests of a batch: expected `--batch FILE`, too, or neither";
        return Err(Failure::BadInput(message.to_owned()));
    }
    // Usage requires these four.
    let given = |option: Option<String>| option.unwrap_or_default();
    let Some(descriptor) = arguments.choice.algorithm else {
        return Err(Failure::BadInput("expected `--algorithm NAME`, or `--batch FILE`".to_owned()));
    };
    let network = network(&given(arguments.topology))?;
    step("preparing the algorithm", "", 0, 0);
    let request = arguments.choice.request(descriptor)?;
    let algorithm = request.make(&network).map_err(Failure::bad_input)?;
    arguments.choice.warn_of_idle_seed(&network);
    let source = parse_node(&network, &given(arguments.source)).map_err(Failure::bad_input)?;
    let list = given(arguments.destinations);
    if list.chars().all(|letter| letter == ';' || letter.is_whitespace()) {
        let message = "`--destinations` is empty: expected nodes separated by `;`, as in `1,4;7,2`, or `all`";
        return Err(Failure::BadInput(message.to_owned()));
    }
    let destinations = parse_node_list(&network, &list).map_err(Failure::bad_input)?;

    let multicast = Multicast::checked(source, &destinations).map_err(Failure::bad_input)?;
    if !is_all_nodes(&list)
        && let Some(left_out) = left_out(&network, source, &destinations)
    {
        Failure::warn(&left_out);
    }
    let mut plan = Plan::default();
    plan_into(algorithm.as_ref(), &multicast, &mut plan)?;
    let summary = plan.summary(algorithm.routing(), arguments.ports).map_err(Failure::bad_input)?;
    let exact = algorithm.capabilities().minimum.map(|minimum| minimum.is_exact(&multicast));
    let unencoded = summary.worms.iter().all(|worm| worm.header.is_none());
    let reason = format!("no header of `{}` encodes destinations", descriptor.name);
    warn_of_idle_option("--flit-bits", unencoded && arguments.flit_bits.is_some(), &reason);
    if let Some(doubt) = algorithm.capabilities().doubt {
        Failure::warn(doubt);
    }
    if let Some((option, reason)) = algorithm.capabilities().idle_option() {
        warn_of_idle_option(&format!("--option {option}"), true, reason);
    }
    let reduction = if arguments.reduction { Some(reversed(&network, &summary, arguments.format)?) } else { None };
    let flit_bits = arguments.flit_bits.unwrap_or(FlitBits::default().0).get();
    let answer = PlanReport {
        network: &network,
        algorithm: algorithm.name(),
        multicast: &multicast,
        summary: &summary,
        exact,
        flit_bits,
        warning: None,
        reduction: reduction.as_ref(),
    };
    match arguments.format {
        Output::Text => {
            write_text(out, &answer)?;
            if let Some(reduction) = &reduction {
                write_reduction(out, &network, reduction)?;
            }
            let covers = algorithm.capabilities().covers;
            let matrices = covers.map_or_else(Vec::new, |covers| covers.covering_matrices(&multicast));
            matrices.iter().try_for_each(|matrix| write_matrix(out, &network, matrix))
        }
        Output::Json => Ok(writeln!(out, "{}", answer.json())?),
        Output::Svg => Ok(out.write_all(plan_svg(&network, algorithm.name(), &summary, &multicast).as_bytes())?),
        Output::Dot => Ok(out.write_all(plan_dot(&network, &summary, &multicast).as_bytes())?),
    }
}

/// A plan in reverse, which pictures do not show.
fn reversed(network: &Network, summary: &PlanSummary, format: Output) -> Result<Reduction, Failure> {
    if matches!(format, Output::Svg | Output::Dot) {
        let message = "`--reduction` is text or JSON: pictures show the multicast, which takes the same links the other way; leave it out";
        return Err(Failure::BadInput(message.to_owned()));
    }
    Reduction::of(network, summary).map_err(|error| match error {
        NoReduction::Worms(_) => {
            let message =
                "expected an algorithm that sends one tree, such as `yx-tree` on a mesh or `tree-zero` on any network";
            Failure::BadInput(format!("`--reduction`: {error}; {message}"))
        }
        NoReduction::OneWay(_) => Failure::BadInput(format!("`--reduction`: {error}")),
    })
}

/// Plans a multicast, in place of an earlier plan. The built-in algorithms are tested; the plans of a program's own algorithm are
/// checked against the contract.
fn plan_into(algorithm: &dyn Algorithm, multicast: &Multicast, plan: &mut Plan) -> Result<(), Failure> {
    step("planning", "worms", 0, 0);
    if let Some(refusal) = algorithm.refusal(multicast) {
        return Err(Failure::BadInput(refusal));
    }
    if !is_own(algorithm) {
        algorithm.plan_into(multicast, plan);
        return Ok(());
    }
    *plan = check_contract(algorithm, multicast).map_err(|broken| {
        Failure::bad_input(format!("the plan of `{}` is not as promised: {broken}", algorithm.name()))
    })?;
    Ok(())
}

/// What comes together where, and how long that takes.
fn write_reduction(out: &mut dyn Write, network: &Network, reduction: &Reduction) -> Result<(), Failure> {
    let Reduction { root, contributors, joins, depth, .. } = reduction;
    writeln!(
        out,
        "\nreduction to {}: {} combined in {}, depth {depth}",
        network.node_label(*root),
        count(contributors.len(), "contributor"),
        count(joins.len(), "router")
    )?;
    let name = |router| network.router_label(router);
    let length = depth + 1;
    writeln!(out, "alone: startup + {length} x (routing delay + 1) + flits, in cycles")?;
    writeln!(out, "several at once can deadlock, unless they share no channel and no contributor")?;
    let to = |join: &Join| join.output.map_or_else(|| "the root".to_owned(), |channel| name(network.to(channel)));
    let width = joins.iter().map(|join| name(join.router).len()).max().unwrap_or(0).max(6);
    let width_to = joins.iter().map(|join| to(join).len()).max().unwrap_or(0);
    writeln!(out, "\n{:<width$}  {:<width_to$}  combines", "router", "goes to")?;
    for join in joins {
        let links = join.inputs.iter().map(|&channel| format!("from {}", name(network.from(channel))));
        let own = join.nodes.iter().map(|&node| format!("of {}", network.node_label(node)));
        let inputs: Vec<String> = links.chain(own).collect();
        writeln!(out, "{:<width$}  {:<width_to$}  {}", name(join.router), to(join), inputs.join(", "))?;
    }
    Ok(())
}

/// So many things.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The choice of the One algorithm at a router, as in Table 1 of paper 3.
fn write_matrix(out: &mut dyn Write, network: &Network, matrix: &CoveringMatrix) -> Result<(), Failure> {
    let name = |router| network.router_label(router);
    let came = matrix.arrived.map_or_else(|| "the source".to_owned(), |c| format!("from {}", name(network.from(c))));
    writeln!(out, "\ncovering matrix at {} ({came}): hops from next routers, X: no route, *: taken", name(matrix.at))?;
    let heads: Vec<String> = matrix.destinations.iter().map(|&to| name(to)).collect();
    let nexts: Vec<String> = matrix.rows.iter().map(|row| name(network.to(row.channel))).collect();
    let first = nexts.iter().map(String::len).max().unwrap_or(0).max(4);
    let cell = |width: usize, text: &str, mark: &str| format!("  {text:>width$}{mark}", width = width.max(2));
    let line = |out: &mut dyn Write, next: &str, cells: String| writeln!(out, "{next:<first$}{}", cells.trim_end());
    line(out, "next", heads.iter().map(|head| cell(head.len(), head, " ")).collect())?;
    for (row, next) in matrix.rows.iter().zip(&nexts) {
        let cells = heads.iter().zip(row.hops.iter().zip(&row.taken)).map(|(head, (hops, &taken))| {
            let hops = hops.map_or_else(|| "X".to_owned(), |hops| hops.to_string());
            cell(head.len(), &hops, if taken { "*" } else { " " })
        });
        line(out, next, cells.collect())?;
    }
    Ok(())
}

fn write_text(out: &mut dyn Write, answer: &PlanReport) -> Result<(), Failure> {
    let &PlanReport { network, algorithm, multicast, summary, exact, flit_bits, .. } = answer;
    let source = network.node_label(multicast.source());
    let destinations = count(multicast.destinations().len(), "destination");
    writeln!(
        out,
        "{algorithm} on {}: {} from {source} to {destinations}",
        network.name(),
        count(summary.worms.len(), "worm")
    )?;
    let PlanSummary { startups, steps, channels, longest, .. } = summary;
    writeln!(out, "startups {startups}, steps {steps}, channels {channels}, longest {longest}")?;
    if summary.worms.is_empty() {
        return Ok(());
    }
    if let Some(Contention { first, second, channel }) = summary.contention() {
        let [from, to] = [network.from(channel), network.to(channel)].map(|end| network.router_label(end));
        writeln!(out, "contention: worms {first} and {second} may meet on the channel from {from} to {to}")?;
    } else {
        writeln!(out, "contention-free")?;
    }
    match exact {
        Some(true) => writeln!(out, "exact: no plan of this kind has fewer channels")?,
        Some(false) => writeln!(out, "not exact: found by a heuristic")?,
        None => {}
    }
    for header in headers(summary) {
        let EncodedHeader { encoding, bits } = header;
        let flits = count(bits.div_ceil(flit_bits) as usize, "flit");
        let [bits, each] = [bits, flit_bits].map(|bits| count(bits as usize, "bit"));
        writeln!(out, "{} header of {bits}, {flits} of {each}", encoding.name())?;
    }
    let width = summary.worms.iter().map(|worm| network.node_label(worm.from).len()).max().unwrap_or(0).max(4);
    writeln!(out, "\nworm  {:<width$}  after  step  channels  visits", "from")?;
    let relays = answer.relays();
    for worm in &summary.worms {
        let from = network.node_label(worm.from);
        let after = worm.after.map_or_else(|| "-".to_owned(), |trigger| trigger.to_string());
        let visit = |node: &crate::network::NodeId| {
            let absorbed = if relays.binary_search(node).is_ok() { " (absorbed)" } else { "" };
            format!("{}{absorbed}", network.node_label(*node))
        };
        let visits: Vec<String> = worm.visits.iter().map(visit).collect();
        writeln!(
            out,
            "{:<4}  {from:<width$}  {after:<5}  {:<4}  {:<8}  {}",
            worm.id,
            worm.step,
            worm.channels.len(),
            visits.join(" > ")
        )?;
    }
    Ok(())
}

/// The different headers of a plan's worms, in the order of their lengths.
fn headers(summary: &PlanSummary) -> Vec<EncodedHeader> {
    let mut headers: Vec<EncodedHeader> = summary.worms.iter().filter_map(|worm| worm.header).collect();
    headers.sort_unstable_by_key(|header| header.bits);
    headers.dedup();
    headers
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::multicast::{AlgorithmError, Descriptor, Options, Worm, register};
    use crate::network::TopologySpec;
    use crate::routing::{Dependencies, ECube, RoutingRelation};

    /// Forgets a destination, or tells the static check of unicasts and sends a path.
    struct Broken {
        routing: ECube,
        forgets: bool,
    }

    impl Algorithm for Broken {
        fn name(&self) -> &'static str {
            "broken"
        }

        fn routing(&self) -> &dyn RoutingRelation {
            &self.routing
        }

        fn plan(&self, multicast: &Multicast) -> Plan {
            let stops = &multicast.destinations()[usize::from(self.forgets)..];
            Plan { worms: vec![Worm::path(multicast.source(), stops.to_vec())] }
        }

        fn dependencies(&self) -> Dependencies<'_> {
            Dependencies::of_relation(&self.routing)
        }
    }

    #[test]
    fn plans_of_own_algorithms_are_held_to_the_contract() {
        let make = |network: &Arc<Network>, _: &Options| -> Result<Box<dyn Algorithm>, AlgorithmError> {
            Ok(Box::new(Broken { routing: ECube::new(network)?, forgets: true }))
        };
        register(Descriptor::new("broken", 1, make)).unwrap();
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let said = |forgets: bool, destinations: &str| {
            let destinations = parse_node_list(&mesh, destinations).unwrap();
            let multicast = Multicast::new(parse_node(&mesh, "0,0").unwrap(), &destinations);
            let broken = Broken { routing: ECube::new(&mesh).unwrap(), forgets };
            match plan_into(&broken, &multicast, &mut Plan::default()) {
                Ok(()) => "as promised".to_owned(),
                Err(Failure::BadInput(message)) => message,
                Err(_) => "another failure".to_owned(),
            }
        };
        assert_eq!(said(false, "3,0"), "as promised");
        let start = "the plan of `broken` is not as promised: ";
        assert_eq!(said(true, "1,0;2,0"), format!("{start}no worm delivers to destination 1"));
        let untold = "worm 0 may deliver to 1,0 on its way, having come from 0,0, which `dependencies` (in Python `promise`) does not include";
        assert_eq!(said(false, "1,0;2,0"), format!("{start}{untold}"));
    }
}
