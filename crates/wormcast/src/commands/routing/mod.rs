//! `wormcast routing`: whether worms can deadlock, and how long their routes are.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgGroup, Args, ValueHint};
use serde::Serialize;

use super::choice::Choice;
use super::output::{Files, check_ending, summary, write_to};
use super::plan::batch::plan_all;
use super::{Format, failed_link_text, network, topology_help, warn_of_idle_option, write_json};
use crate::analysis::{
    AnalysisError, Replicating, Report, Sample, Settings, Unicasts, of_algorithm, of_multicasts, of_routing, of_tables,
};
use crate::failure::Failure;
use crate::multicast::{AlgorithmOption, Descriptor, algorithms};
use crate::network::input::input_name;
use crate::network::{HeatMapSvg, MAX_NODE_PORTS, Network};
use crate::routing::{Branching, ChannelNumbering, RoutingDescriptor, RoutingOptions, RoutingRelation, read_tables};
use crate::simulation::{Buffer, Reservation};
use crate::usage::{at_most, from_to};
use crate::work;
use export::{Exported, Form, export_routing};
use fabric::{ExportedTrees, FabricArguments};
use idle::{buffer, check_unicasts, reservation, warn_of};
use repaired::Repaired;

mod export;
mod fabric;
mod idle;
mod repaired;
mod text;

/// How many of a list people are shown.
const SHOWN: usize = 12;

/// Analyse a routing, forwarding tables, or every worm that a multicast algorithm may send.
///
/// That there can be a deadlock is an answer, not a failure: the exit code is 0 either way.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true).args(["routing", "algorithm", "tables"]),
    after_help = "Example:\n  wormcast routing --topology mesh:8x8 --algorithm dual-path --consumption-ports 2"
)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "SPEC", help = topology_help())]
    topology: String,
    #[command(flatten)]
    choice: Choice,
    /// Forwarding tables: what `OpenSM` dumps, or what `--export` wrote.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["routing", "algorithm", "root"])]
    tables: Option<String>,
    #[command(flatten)]
    fabric: FabricArguments,
    /// Multicasts that are sent beside the unicasts of the routing or the tables: requests as for `plan --batch`, one per line. Trees are
    /// replicated in lockstep, unless other options say so.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "algorithm")]
    multicasts: Option<String>,
    /// Write forwarding tables for the routing: one output for each router and destination. This fails if the routing has no such tables,
    /// or if they could deadlock. With `--tables`, write the given tables in another form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "algorithm")]
    export: Option<String>,
    /// The form of exported tables.
    #[arg(long, value_enum, default_value_t, requires = "export")]
    export_form: Form,
    /// If no tables have all the shortest permitted routes, write tables with some longer ones, still over permitted turns.
    #[arg(long, requires = "export", conflicts_with = "tables")]
    allow_detours: bool,
    /// Write the proof that unicasts cannot deadlock: a number for each channel that rises along every route, as CSV.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    numbering: Option<String>,
    /// Write, as CSV, how many pairs of nodes have worms that cross each channel if all nodes send to all others:
    /// `channel,from,to,from_name,to_name,from_port,to_port,link,load`; `-`: to standard output, and nothing else.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    links: Option<PathBuf>,
    /// Draw the same as an SVG picture of the network: the more pairs cross a link, the darker and wider its line; `-`: to
    /// standard output, and nothing else.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    heat_map: Option<PathBuf>,
    /// Draw the cycle of a deadlock on the network, as an SVG picture; `-`: to standard output, and nothing else. Not written if there can be no deadlock.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cycle_map: Option<PathBuf>,
    /// Estimate distances from the routes to this many routers with nodes, instead of measuring the routes of all pairs: for networks where that takes too long. They are drawn at
    /// random with `--seed`, which is the routing's seed, too. Without a number, 1,000. Of the loads of links only the mean is then known.
    #[arg(
        long, value_name = "ROUTERS", num_args = 0..=1, default_missing_value = "1000",
        value_parser = from_to::<u32, { Sample::LEAST as u64 }, { u32::MAX as u64 }>, conflicts_with_all = ["tables", "links", "heat_map"]
    )]
    sample: Option<u32>,
    /// Consumption channels at every node: worms that deliver on their way hold one. Default: what the algorithm is defined with,
    /// or 4.
    #[arg(long, value_name = "K", value_parser = at_most::<u32, { MAX_NODE_PORTS as u64 }>)]
    consumption_ports: Option<u32>,
    /// Virtual channels of every link. The more there are, the more worms can hold a node's consumption channels at once. Default: as many
    /// as the routing
    /// needs, which is 1 unless it divides them.
    #[arg(long, value_name = "V", value_parser = at_most::<u32, 64>)]
    virtual_channels: Option<u32>,
    /// The buffers, for trees: `message` (room for any whole worm), or a smaller number of flits. Default: what the algorithm is meant for;
    /// for `--multicasts`, one flit.
    #[arg(long, value_name = "FLITS|message", value_parser = buffer)]
    buffer: Option<Buffer>,
    /// How worms are replicated: trees in `lockstep` or by `independent` branches, worms that switches replicate in one of the other ways.
    /// Default: what the algorithm is meant for.
    #[arg(long, value_name = "HOW", value_enum)]
    replication: Option<Replicating>,
    /// How independent branches are reserved. Default: what the algorithm is meant for.
    #[arg(long, value_name = "HOW", value_parser = reservation)]
    reservation: Option<Reservation>,
    /// Decide whether a deadlock that the check calls possible can be reached, by a search of at most this many steps. A step takes about a
    /// microsecond and at most a few hundred bytes of memory; the schedules that are then run, of which there are some fifty thousand at most, come
    /// on top. Without a number, a million steps, which is usually enough for small networks.
    #[arg(
        long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "1000000",
        value_parser = at_most::<u64, { u64::MAX }>
    )]
    reachable: Option<u64>,
    /// Write messages that deadlock, as a trace that `simulate` reads; `-`: to standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "reachable")]
    witness: Option<String>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What an analysis is to know.
fn settings(arguments: &Arguments) -> Settings {
    Settings {
        consumption_ports: arguments.consumption_ports,
        virtual_channels: arguments.virtual_channels,
        buffer: arguments.buffer,
        replication: arguments.replication,
        reservation: arguments.reservation,
        reachable: arguments.reachable,
        listed_turns: (arguments.format == Format::Text).then_some(SHOWN),
        sample: sample(arguments),
    }
}

fn sample(arguments: &Arguments) -> Option<Sample> {
    let seed = arguments.choice.seed.unwrap_or_default();
    arguments.sample.map(|destinations| Sample { destinations: destinations as usize, seed })
}

/// The failure for an analysis error, with the options that are to blame.
fn refusal(error: &AnalysisError) -> Failure {
    Failure::BadInput(match error {
        AnalysisError::NotReplicatedBySwitches(name) => format!(
            "switches do not replicate the worms of `{name}`: this `--replication` is for `bit-string` and `multiport`. Leave it \
             out or, for trees, give `lockstep` or `independent`"
        ),
        AnalysisError::ReplicatedBySwitches(name) => format!(
            "switches replicate the worms of `{name}`: expected `--replication asynchronous`, `synchronous` or \
             `synchronous-together`, and neither `--buffer` nor `--reservation`"
        ),
        AnalysisError::Given => "the worms of given multicasts are not replicated by buffered switches: expected \
             `--replication lockstep` or `independent`"
            .to_owned(),
        AnalysisError::TooFewConsumptionPorts { bound, .. } => {
            format!("{error}; set `--consumption-ports {bound}` or more")
        }
        AnalysisError::Undelivered => "`--reachable` needs tables by which every message arrives".to_owned(),
        AnalysisError::NotCovered(why) => format!("`--reachable` has no answer here: {why}"),
        AnalysisError::ReachableOfTables => {
            "`--reachable` knows neither multicast tables nor virtual lanes: leave it out".to_owned()
        }
        other => other.to_string(),
    })
}

/// What the command prints: the report, and the tables that were written.
#[derive(Serialize)]
struct Printed {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_links: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exported: Option<Exported>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exported_multicast: Option<ExportedTrees>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<Repaired>,
}

impl Printed {
    fn new(report: Report) -> Self {
        report.missing.iter().for_each(|missing| work::lacks(missing));
        Self { report, failed_links: Vec::new(), exported: None, exported_multicast: None, repair: None }
    }
}

fn analyse_algorithm(
    arguments: &Arguments,
    network: &Arc<Network>,
    descriptor: &'static Descriptor,
) -> Result<Printed, Failure> {
    let sender = format!("`{}`", descriptor.name);
    let request = arguments.choice.request(descriptor)?;
    let algorithm = request.make(network).map_err(Failure::bad_input)?;
    let settings = settings(arguments);
    let report = of_algorithm(algorithm.as_ref(), &settings).map_err(|error| refusal(&error))?;
    let divided = algorithm.needed_virtual_channels().0 > 1;
    warn_of(settings.idle(network, &report, &sender, algorithm.branching(), divided));
    if let Some(doubt) = algorithm.capabilities().doubt {
        Failure::warn(doubt);
    }
    if let Some((option, reason)) = algorithm.capabilities().idle_option() {
        warn_of_idle_option(&format!("--option {option}"), true, reason);
    }
    warn_of_idle_sample(arguments, algorithm.routing());
    let failed = request.faults.on(network, request.seed).map_err(Failure::bad_input)?.links;
    let failed_links = failed.iter().map(|&link| failed_link_text(network, link)).collect();
    Ok(Printed { failed_links, ..Printed::new(report) })
}

/// Warns of a sample where all pairs are measured, and of a seed by which nothing is drawn.
fn warn_of_idle_sample(arguments: &Arguments, relation: &dyn RoutingRelation) {
    let idle = sample(arguments).map(|sample| sample.is_idle(relation));
    if let Some(Some(reason)) = &idle {
        warn_of_idle_option("--sample", true, reason);
    }
    if !matches!(idle, Some(None)) {
        arguments.choice.warn_of_idle_seed(relation.network());
    }
}

/// Why there is no analysis of given multicasts: for their sake, or for another.
enum Refused {
    Multicasts(Failure),
    Analysis(AnalysisError),
}

impl From<AnalysisError> for Refused {
    fn from(error: AnalysisError) -> Self {
        Self::Analysis(error)
    }
}

/// The analysis of unicasts, and of multicasts beside them if some were given.
fn analyse_unicasts(arguments: &Arguments, unicasts: Unicasts<'_>) -> Result<Printed, Failure> {
    let settings = settings(arguments);
    let divided = matches!(unicasts, Unicasts::Routing(relation) if relation.capabilities().virtual_channels.is_some());
    let Some(file) = &arguments.multicasts else {
        check_unicasts(&settings, divided)?;
        let report = match unicasts {
            Unicasts::Routing(relation) => of_routing(relation, &settings),
            Unicasts::Tables(name, tables) => of_tables(name, tables, &settings),
        };
        return Ok(Printed::new(report.map_err(|error| refusal(&error))?));
    };
    let sender = format!("`{}`", input_name(file));
    let report = of_multicasts(unicasts, &settings, |adding| {
        plan_all(file, &arguments.topology, |line, algorithm, multicast, plan| {
            adding.add(line, algorithm.routing(), multicast, plan).map_err(Failure::bad_input)
        })
        .map_err(Refused::Multicasts)
    });
    let report = report.map_err(|refused| match refused {
        Refused::Multicasts(failure) => failure,
        Refused::Analysis(error) => refusal(&error),
    })?;
    warn_of(settings.idle(unicasts.network(), &report, &sender, Branching::LOCKSTEP, divided));
    Ok(Printed::new(report))
}

fn analyse_routing(
    arguments: &Arguments,
    network: &Arc<Network>,
    routing: &RoutingDescriptor,
    out: &mut dyn Write,
) -> Result<Printed, Failure> {
    let Choice { seed, root, .. } = &arguments.choice;
    let root = routing.root(network, root.as_deref()).map_err(Failure::bad_input)?;
    let given = arguments.choice.options()?;
    if let Some(other) = given.given().find(|&option| option != AlgorithmOption::CrossLinks || !routing.cross_links) {
        return Err(Failure::BadInput(format!("the routing `{}` has no option `{other}`", routing.name)));
    }
    let options = RoutingOptions { seed: seed.unwrap_or_default(), root, tree_only: given.tree_only() };
    let relation = routing.make(network, &options).map_err(Failure::bad_input)?;
    let relation = relation.as_ref();
    warn_of_idle_sample(arguments, relation);
    let mut printed = analyse_unicasts(arguments, Unicasts::Routing(relation))?;
    if let Some(file) = &arguments.export {
        let place = (file.as_str(), arguments.export_form);
        let exported = || export_routing(relation, place, arguments.allow_detours, out);
        printed.exported = work::part("the tables of `--export`", exported).transpose()?;
    }
    Ok(printed)
}

fn analyse_forwarding(
    arguments: &Arguments,
    network: &Arc<Network>,
    file: &str,
    out: &mut dyn Write,
) -> Result<Printed, Failure> {
    let tables = read_tables(network, file).map_err(Failure::bad_input)?;
    arguments.choice.warn_of_idle_seed(network);
    if let Some(doubt) = tables.doubt(file) {
        Failure::warn(&doubt);
    }
    let mut printed = if arguments.fabric.given().is_some() {
        let settings = settings(arguments);
        check_unicasts(&settings, false)?;
        fabric::analyse(&arguments.fabric, &settings, network, (file, &tables), out)?
    } else {
        analyse_unicasts(arguments, Unicasts::Tables(file, &tables))?
    };
    if let Some(file) = &arguments.export {
        let exported = || export::write(&tables, (file, arguments.export_form), out);
        printed.exported = work::part("the tables of `--export`", exported).transpose()?;
    }
    Ok(printed)
}

/// Writes a proof as CSV, a channel a line.
fn write_numbering(
    network: &Network,
    numbering: &ChannelNumbering,
    file: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut lines = vec!["channel,from,to,number,from_name,to_name,from_port,to_port,link".to_owned()];
    for channel in network.channel_ids() {
        let (from, to, ends) = (network.from(channel), network.to(channel), network.link_ends(channel));
        let number = numbering.number(channel).map_or_else(String::new, |number| number.to_string());
        lines.push(format!("{channel},{from},{to},{number},{ends}"));
    }
    write_to(file, (lines.join("\n") + "\n").as_bytes(), out)
}

/// What an answer lacks without the loads of channels.
const LOADS: &str = "the files of `--links` and `--heat-map`";

/// Writes the load of each channel as CSV, and as a picture.
fn write_loads(
    arguments: &Arguments,
    network: &Network,
    analysis: &Report,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if arguments.links.is_none() && arguments.heat_map.is_none() {
        return Ok(());
    }
    let routing = &analysis.routing;
    let Some(load) = analysis.link_load.as_ref().map(|load| &load.by_channel[..]) else {
        if analysis.load_interrupted {
            work::lacks(LOADS);
            return Ok(());
        }
        return Err(Failure::BadInput(format!(
            "worms of `{routing}` may cross a channel more than once, so its loads are not known: leave `--links` and `--heat-map` out"
        )));
    };
    if let Some(path) = &arguments.links {
        let mut lines = vec!["channel,from,to,from_name,to_name,from_port,to_port,link,load".to_owned()];
        lines.extend(network.channel_ids().zip(load).map(|(channel, load)| {
            let (from, to, ends) = (network.from(channel), network.to(channel), network.link_ends(channel));
            format!("{channel},{from},{to},{ends},{load}")
        }));
        write_to(path, (lines.join("\n") + "\n").as_bytes(), out)?;
    }
    if let Some(path) = &arguments.heat_map {
        let title = format!("{routing} on {}: pairs of nodes whose worms cross each channel", network.name());
        let digits = if load.iter().all(|load| load.fract() == 0.0) { 0 } else { 2 };
        let picture = HeatMapSvg { network, loads: load, title: &title, digits }.to_string();
        write_to(path, picture.as_bytes(), out)?;
    }
    Ok(())
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let data_on_output = Files::default()
        .writes("--export", arguments.export.as_deref())
        .writes("--numbering", arguments.numbering.as_deref())
        .writes("--witness", arguments.witness.as_deref())
        .writes("--links", arguments.links.as_deref())
        .writes("--heat-map", arguments.heat_map.as_deref())
        .writes("--cycle-map", arguments.cycle_map.as_deref())
        .reads_topology(&arguments.topology)
        .reads("--tables", arguments.tables.as_deref())
        .reads("--multicasts", arguments.multicasts.as_deref());
    let data_on_output = arguments.fabric.files(data_on_output).check()?;
    let path = |file: &Option<String>| file.as_ref().map(PathBuf::from);
    check_ending("--export", path(&arguments.export).as_deref(), "`.lfts` or `.txt`")?;
    check_ending("--numbering", path(&arguments.numbering).as_deref(), "`.csv`")?;
    check_ending("--witness", path(&arguments.witness).as_deref(), "`.trace`")?;
    check_ending("--links", arguments.links.as_deref(), "`.csv`")?;
    check_ending("--heat-map", arguments.heat_map.as_deref(), "`.svg`")?;
    check_ending("--cycle-map", arguments.cycle_map.as_deref(), "`.svg`")?;
    if let (Some(option), None) = (arguments.fabric.given(), &arguments.tables) {
        let message = format!("`{option}` goes with unicast tables: expected `--tables FILE`, too");
        return Err(Failure::BadInput(message));
    }
    if !arguments.choice.failed_link.is_empty() && arguments.choice.algorithm.is_none() {
        let can = algorithms().into_iter().filter(|algorithm| algorithm.faults).map(|algorithm| algorithm.name);
        let can = can.collect::<Vec<_>>().join(", ");
        let message =
            format!("`--failed-link` is about an algorithm's worms: expected `--algorithm` with one of {can}");
        return Err(Failure::BadInput(message));
    }
    let network = network(&arguments.topology)?;
    let printed = match (&arguments.tables, &arguments.choice) {
        (Some(_), Choice { option, .. }) if !option.is_empty() => {
            let message = "`--option` is about an algorithm or a routing, which tables are not: leave it out";
            return Err(Failure::BadInput(message.to_owned()));
        }
        (Some(file), _) => analyse_forwarding(arguments, &network, file, out)?,
        (None, Choice { algorithm: Some(algorithm), .. }) => analyse_algorithm(arguments, &network, algorithm)?,
        (None, Choice { routing: Some(routing), .. }) => analyse_routing(arguments, &network, routing, out)?,
        // Usage requires one of the three.
        (None, _) => {
            let message = "expected `--routing NAME`, `--algorithm NAME` or `--tables FILE`";
            return Err(Failure::BadInput(message.to_owned()));
        }
    };
    let mut summary = summary(data_on_output, out);
    match arguments.format {
        Format::Text => text::write_text(&mut summary, &printed, &network)?,
        Format::Json => write_json(&mut summary, &printed)?,
    }
    drop(summary);
    let report = &printed.report;
    work::part(LOADS, || write_loads(arguments, &network, report, out)).transpose()?;
    if let Some(path) = &arguments.cycle_map {
        match text::cycle_picture(report, &network) {
            Some(picture) => write_to(path, picture.as_bytes(), out)?,
            None => Failure::warn(&format!("`{}` is not written: there is no cycle", path.display())),
        }
    }
    if let (Some(file), Some(reached)) = (&arguments.witness, &report.reachability) {
        match &reached.trace {
            Some(trace) => write_to(file, trace.as_bytes(), out)?,
            None => {
                let verdict = reached.verdict;
                return Err(Failure::failed(format!(
                    "`{file}` was not written: no messages are known that deadlock ({verdict})"
                )));
            }
        }
    }
    match (&arguments.numbering, &report.numbering) {
        (None, _) => Ok(()),
        (Some(file), Some(numbering)) => write_numbering(&network, numbering, file, out),
        (Some(file), None) => {
            let why = if report.deadlock_free {
                "worms here deliver on their way, branch, or keep to classes of virtual channels: a numbering of channels does not prove that these cannot deadlock"
            } else {
                "a numbering proves that unicasts cannot deadlock, and there is none here"
            };
            Err(Failure::failed(format!("`{file}` was not written: {why}")))
        }
    }
}
