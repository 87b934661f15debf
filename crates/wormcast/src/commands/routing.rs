//! `wormcast routing`: whether worms can deadlock, and how far they go.

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use super::choice::Choice;
use super::output::{Files, summary, write_to};
use super::plan::batch::plan_all;
use super::{Format, network, topology_help, write_json};
use crate::failure::Failure;
use crate::multicast::{Algorithm, Descriptor, FaultRequest, Itinerary, add_plan};
use crate::network::{ChannelId, HeatMapSvg, MAX_PORTS, Network, input_name, require_memory};
use crate::routing::{
    Branching, ChannelNumbering, Dependencies, RoutingDescriptor, RoutingOptions, TurnRouting, analyse_tables,
    read_tables, witness_of_relation, witness_of_tables,
};
use crate::simulation::{Buffer, Reservation, Sendable};
use crate::work;
use export::{Form, export_routing};
use idle::{Worms, check_options, check_unicasts};
use reachable::{Question, by_tables, fixed, reach, unicasts};
use replication::{Replicating, buffer, given_branching, replicated, reservation};
use report::{Analysis, Subject, Tables};

mod export;
mod idle;
mod reachable;
mod replication;
mod report;
mod text;

/// How many pairs are named for each dependency of a cycle.
const EXAMPLES: usize = 3;

/// Analyse a routing, forwarding tables, or every worm that a multicast algorithm may send.
///
/// The answer to whether there can be a deadlock is not a failure: the exit code is 0 either way.
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
    /// Multicasts that are sent beside the unicasts of the routing or the tables: requests as for `plan --batch`, one a line. Trees are
    /// replicated in lockstep, unless other options say so.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "algorithm")]
    multicasts: Option<String>,
    /// Write forwarding tables for the routing, one output for each router and destination; refused where there are none, and where
    /// they could deadlock. With `--tables`, write those in another form.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "algorithm")]
    export: Option<String>,
    /// The form of exported tables.
    #[arg(long, value_enum, default_value_t, requires = "export")]
    export_form: Form,
    /// Where tables cannot have all shortest permitted ways, write some with longer ones, over permitted turns all the same.
    #[arg(long, requires = "export", conflicts_with = "tables")]
    allow_detours: bool,
    /// Write the proof that unicasts cannot deadlock: a number for each channel that rises along every way, as CSV.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    numbering: Option<String>,
    /// Write how many pairs of nodes' worms cross each channel, if all nodes send to all others, as CSV:
    /// `channel,from,to,from_name,to_name,from_port,to_port,link,load`; `-`: to standard output, and nothing else.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    links: Option<PathBuf>,
    /// Draw the same as an SVG picture of the network, in which lines are the darker and wider the more pairs cross them; `-`: to
    /// standard output, and nothing else.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    heat_map: Option<PathBuf>,
    /// Consumption channels at every node: worms that deliver on their way hold one. Default: what the algorithm is defined with,
    /// or 4.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PORTS)))]
    consumption_ports: Option<u32>,
    /// Virtual channels of every link, any of which a worm may take: with more, more worms hold consumption channels of a node.
    /// Default: 1.
    #[arg(long, value_name = "V", value_parser = clap::value_parser!(u32).range(1..=64))]
    virtual_channels: Option<u32>,
    /// Buffers, for trees: `message` (any worm as a whole), or a number of flits that is less. By default what the algorithm is meant
    /// for; for `--multicasts`, a flit.
    #[arg(long, value_name = "FLITS|message", value_parser = buffer)]
    buffer: Option<Buffer>,
    /// How worms are replicated, by default as the algorithm is meant for: flits of trees in `lockstep` or by `independent`
    /// branches, those of worms that switches replicate in one of the other ways.
    #[arg(long, value_name = "HOW", value_enum)]
    replication: Option<Replicating>,
    /// How independent branches are reserved, by default as the algorithm is meant for.
    #[arg(long, value_name = "HOW", value_parser = reservation)]
    reservation: Option<Reservation>,
    /// Decide whether a deadlock that the check calls possible can be reached, by a search of at most so many steps, about a microsecond
    /// and at most a few hundred bytes of memory each; on small networks that is mostly enough.
    #[arg(
        long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "1000000",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    reachable: Option<u64>,
    /// Write messages that deadlock, as a trace that `simulate` reads; `-`: to standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "reachable")]
    witness: Option<String>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A proof that worms cannot deadlock which take only such steps from channel to channel, checked.
fn proof(network: &Network, may_follow: impl Fn(ChannelId, ChannelId) -> bool) -> Option<ChannelNumbering> {
    let proof = ChannelNumbering::find(network, &may_follow).ok()?;
    proof.check(network, &may_follow).is_ok().then_some(proof)
}

fn is_safe(network: &Network, may_follow: impl Fn(ChannelId, ChannelId) -> bool) -> bool {
    proof(network, may_follow).is_some()
}

/// The same for dependencies, if all of them are of unicasts: stops and trees need more than a numbering.
fn unicast_proof(network: &Network, dependencies: &Dependencies<'_>) -> Option<ChannelNumbering> {
    let unicasts = dependencies.are_of_unicasts();
    unicasts.then(|| proof(network, |held, next| dependencies.contains(held, next))).flatten()
}

/// The analysis, and the proof if it is one of unicasts.
type Answer = (Analysis, Option<ChannelNumbering>);

/// Consumption channels of every node: what is asked for, what the algorithm is defined with, or 4.
fn consumption_ports(arguments: &Arguments, algorithm: Option<&dyn Algorithm>) -> u32 {
    let own = || algorithm.and_then(Algorithm::ports).map_or(4, |ports| ports.consumption);
    arguments.consumption_ports.unwrap_or_else(own)
}

fn analyse_algorithm(
    arguments: &Arguments,
    network: &Network,
    descriptor: &'static Descriptor,
) -> Result<Answer, Failure> {
    let name = descriptor.name;
    let request = arguments.choice.request(descriptor, FaultRequest::default());
    let algorithm = request.make(network).map_err(Failure::bad_input)?;
    let consumption_ports = consumption_ports(arguments, Some(algorithm.as_ref()));
    let (dependencies, deadlock) = replicated(arguments, network, algorithm.as_ref(), consumption_ports)?;
    let sender = format!("`{name}`");
    let worms = Worms::of(algorithm.as_ref(), network, &sender, dependencies.are_of_unicasts());
    check_options(arguments, network, &worms)?;
    arguments.choice.warn_of_idle_seed(network);
    let subject = Subject { network, algorithm: Some(name), relation: algorithm.routing(), consumption_ports };
    let proof = unicast_proof(network, &dependencies);
    let analysis = Analysis::of_relation(&subject, deadlock.as_deref(), None, arguments.format == Format::Json);
    let replication = arguments.replication.or_else(|| algorithm.switches().map(|_| Replicating::Asynchronous));
    let question =
        Question { messages: None, algorithm: Some(algorithm.as_ref()), consumption_ports, safe: deadlock.is_none() };
    let reachability = reach(arguments, network, algorithm.routing(), question)?;
    Ok((Analysis { replication, reachability, ..analysis }, proof))
}

/// Multicasts of a file, by line, each as what its worms add to the dependencies.
struct Multicasts<'n> {
    all: Vec<(u64, Dependencies<'n>)>,
    /// The same as messages, if `--reachable` asks for them and their worms have no choice of ways.
    messages: Option<Vec<Sendable>>,
}

impl<'n> Multicasts<'n> {
    /// Adds those that were asked for to the dependencies of the unicasts.
    fn add(
        arguments: &Arguments,
        network: &'n Network,
        dependencies: &mut Dependencies<'n>,
    ) -> Result<Option<Self>, Failure> {
        let Some(file) = &arguments.multicasts else { return Ok(None) };
        let branching = given_branching(arguments, network)?;
        let mut trees = false;
        let mut all = Vec::new();
        let mut messages = Some(Vec::new());
        dependencies.add_worms(|worms| {
            plan_all(file, &arguments.topology, |line, algorithm, multicast, plan| {
                add_plan(worms, network, algorithm.routing(), plan, branching).map_err(Failure::bad_input)?;
                let mut own = Dependencies::new(network);
                own.add_worms(|worms| add_plan(worms, network, algorithm.routing(), plan, branching))
                    .map_err(Failure::bad_input)?;
                trees |= plan.worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Tree(_)));
                all.push((line, own));
                let message = fixed(network, algorithm.routing(), plan);
                match (&mut messages, message) {
                    (Some(messages), Some(plan)) => messages.push(Sendable { multicast: multicast.clone(), plan }),
                    _ => messages = None,
                }
                Ok(())
            })
        })?;
        let sender = format!("`{}`", input_name(file));
        let worms = Worms { sender: &sender, trees, unicasts: false, branching: Branching::LOCKSTEP };
        check_options(arguments, network, &worms)?;
        Ok(Some(Self { all, messages }))
    }

    /// Adds them to the unicasts that may be sent. `None` if the worms of some choose their ways.
    fn beside(multicasts: Option<&Self>, unicasts: Option<Vec<Sendable>>) -> Option<Vec<Sendable>> {
        let mut all = unicasts?;
        if let Some(multicasts) = multicasts {
            all.extend(multicasts.messages.as_ref()?.iter().cloned());
        }
        Some(all)
    }

    fn count(&self) -> usize {
        self.all.len()
    }

    /// The lines of those that may hold one channel while they wait for the other.
    fn that_wait(&self, (held, requested): (ChannelId, ChannelId)) -> Vec<u64> {
        let mine = |(_, own): &&(u64, Dependencies<'_>)| own.contains(held, requested);
        self.all.iter().filter(mine).map(|&(line, _)| line).collect()
    }
}

fn analyse_routing(
    arguments: &Arguments,
    network: &Network,
    routing: &RoutingDescriptor,
    out: &mut dyn Write,
) -> Result<Answer, Failure> {
    let Choice { seed, root, .. } = &arguments.choice;
    let root = routing.root(network, root.as_deref()).map_err(Failure::bad_input)?;
    let options = RoutingOptions { seed: seed.unwrap_or_default(), root };
    let relation = routing.make(network, &options).map_err(Failure::bad_input)?;
    let relation = relation.as_ref();
    arguments.choice.warn_of_idle_seed(network);
    check_unicasts(arguments)?;
    // All permitted turns together say more than the routes that are taken, and sooner.
    let turns = relation.turn_routing().filter(|_| arguments.multicasts.is_none()).map(TurnRouting::turns);
    let mut numbering =
        turns.and_then(|turns| proof(network, |held, requested| turns.permits(network, held, requested)));
    let (mut deadlock, mut multicasts) = (None, None);
    if numbering.is_none() {
        // Routes to everyone are followed.
        let needed = relation.tables_memory(network, network.routers());
        require_memory(format_args!("`{}` on {} keeps tables and", routing.name, network.name()), needed, |_| None)
            .map_err(Failure::bad_input)?;
        let mut dependencies = Dependencies::of_relation(network, relation);
        multicasts = Multicasts::add(arguments, network, &mut dependencies)?;
        let dependencies = dependencies.with_virtual_channels(arguments.virtual_channels.unwrap_or(1));
        deadlock = dependencies.deadlock(consumption_ports(arguments, None));
        numbering = unicast_proof(network, &dependencies);
    }
    let subject = Subject { network, algorithm: None, relation, consumption_ports: consumption_ports(arguments, None) };
    let witness = |dependency| witness_of_relation(network, relation, dependency, EXAMPLES);
    let all = arguments.format == Format::Json;
    let mut analysis = Analysis::of_relation(&subject, deadlock.as_deref(), Some(&witness), all);
    analysis.replication = arguments.replication;
    analysis.add_multicasts(deadlock.as_deref(), multicasts.as_ref());
    if arguments.reachable.is_some() {
        let messages = Multicasts::beside(multicasts.as_ref(), Some(unicasts(network)));
        let (consumption_ports, safe) = (subject.consumption_ports, deadlock.is_none());
        let question = Question { messages, algorithm: None, consumption_ports, safe };
        analysis.reachability = reach(arguments, network, relation, question)?;
    }
    if let Some(file) = &arguments.export {
        let place = (file.as_str(), arguments.export_form);
        let exported = || export_routing(network, relation, place, arguments.allow_detours, out);
        analysis.exported = work::part("the tables of `--export`", exported).transpose()?;
    }
    Ok((analysis, numbering))
}

fn analyse_forwarding(
    arguments: &Arguments,
    network: &Network,
    file: &str,
    out: &mut dyn Write,
) -> Result<Answer, Failure> {
    let tables = read_tables(network, file).map_err(Failure::bad_input)?;
    arguments.choice.warn_of_idle_seed(network);
    check_unicasts(arguments)?;
    let without: Vec<String> = tables.without_entries().map(|router| network.router_label(router)).collect();
    if !without.is_empty() {
        let (file, count) = (input_name(file), without.len());
        let shown = without.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if count > EXAMPLES { format!(" and {} more", count - EXAMPLES) } else { String::new() };
        Failure::warn(&format!("`{file}` has no entries of {shown}{more}: is it truncated?"));
    }
    let report = analyse_tables(network, &tables);
    let mut dependencies = Dependencies::of_tables(network, &tables);
    let multicasts = Multicasts::add(arguments, network, &mut dependencies)?;
    let dependencies = dependencies.with_virtual_channels(arguments.virtual_channels.unwrap_or(1));
    let deadlock = dependencies.deadlock(consumption_ports(arguments, None));
    let numbering = unicast_proof(network, &dependencies);
    let subject =
        Subject { network, algorithm: None, relation: &tables, consumption_ports: consumption_ports(arguments, None) };
    let witness = |dependency| witness_of_tables(network, &tables, dependency, EXAMPLES);
    let described = Tables::new(network, file, &tables, &report);
    let mut analysis = Analysis::of_tables(&subject, deadlock.as_deref(), &witness, &report, described);
    analysis.replication = arguments.replication;
    analysis.add_multicasts(deadlock.as_deref(), multicasts.as_ref());
    if arguments.reachable.is_some() {
        let messages = Multicasts::beside(multicasts.as_ref(), by_tables(network, &tables));
        let (consumption_ports, safe) = (subject.consumption_ports, deadlock.is_none());
        let question = Question { messages, algorithm: None, consumption_ports, safe };
        analysis.reachability = reach(arguments, network, &tables, question)?;
    }
    if let Some(file) = &arguments.export {
        let exported = || export::write(network, &tables, (file, arguments.export_form), out);
        analysis.exported = work::part("the tables of `--export`", exported).transpose()?;
    }
    Ok((analysis, numbering))
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
    analysis: &Analysis,
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
        .reads_topology(&arguments.topology)
        .reads("--tables", arguments.tables.as_deref())
        .reads("--multicasts", arguments.multicasts.as_deref())
        .check()?;
    let network = network(&arguments.topology)?;
    let (analysis, numbering) = match (&arguments.tables, &arguments.choice) {
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
        Format::Text => text::write_text(&mut summary, &analysis)?,
        Format::Json => write_json(&mut summary, &analysis)?,
    }
    drop(summary);
    work::part(LOADS, || write_loads(arguments, &network, &analysis, out)).transpose()?;
    if let (Some(file), Some(reachability)) = (&arguments.witness, &analysis.reachability) {
        reachability.write_witness(file, out)?;
    }
    match (&arguments.numbering, numbering) {
        (None, _) => Ok(()),
        (Some(file), Some(numbering)) => write_numbering(&network, &numbering, file, out),
        (Some(file), None) => {
            let why = if analysis.deadlock_free {
                "worms here deliver on their way or branch, and that they cannot deadlock takes more than a numbering"
            } else {
                "a numbering proves that unicasts cannot deadlock, and there is none here"
            };
            Err(Failure::failed(format!("`{file}` was not written: {why}")))
        }
    }
}
