//! `wormcast simulate`: one run.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::experiment::{ExperimentArguments, warn_of_idle};
use super::output::{check_one_output, is_output, summary, write_to};
use super::{Format, write_figure, write_json};
use crate::failure::Failure;
use crate::lab::{PointSpec, check_file};
use crate::network::{ChannelSpace, input_name};
use crate::program;
use crate::routing::{Resource, synchronous_deadlock};
use crate::simulation::{
    BufferLog, ChannelUse, DeliveryLog, Distribution, Mode, RunResult, Scenario, Timeline, simulate, simulate_observed,
};

/// Simulate one configuration of an experiment file.
///
/// Settings that the file sweeps have their plain value, or the one that --set gives them. Of the files that options ask for, one may be
/// `-`, standard output: the summary then goes to standard error. A deadlock ends the run with exit
/// code 1; the results so far, and a cycle of worms that wait for each other, are printed all the same.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast simulate experiments/quick.toml --set algorithm=dual-path --format json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// The seed of the run's random choices.
    #[arg(long)]
    seed: Option<u64>,
    /// The engine.
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Write a timeline that Perfetto (ui.perfetto.dev) opens; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Write every delivery as CSV: message,source,destination,generated,delivered, times in cycles; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    deliveries: Option<PathBuf>,
    /// Write the cycles in which each channel was busy, held and blocked as CSV: kind,from,to,port,busy,held,blocked; `-`: to
    /// standard output.
    #[arg(long, value_name = "FILE")]
    channels: Option<PathBuf>,
    /// Write what the buffers of buffered switches hold, in every 64th cycle, as CSV: cycle,switch,flits; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    buffers: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Engine {
    /// The fastest that is exact for the configuration.
    Auto,
    /// Every flit on every hop.
    Flit,
    /// Headers and tails only.
    Worm,
}

/// What a run prints for programs.
#[derive(Serialize)]
struct Report<'a> {
    config_hash: String,
    topology: &'a str,
    algorithm: &'a str,
    #[serde(flatten)]
    result: &'a RunResult,
    /// What the static analysis says of all worms that the algorithm may send; null if the network is too large for it.
    static_check: Option<&'a StaticCheck>,
}

/// Whether worms can block each other for ever, whatever the traffic.
#[derive(Serialize)]
struct StaticCheck {
    deadlock_free: bool,
    /// The links of a cycle of dependencies.
    cycle: Option<Vec<[u32; 2]>>,
}

impl StaticCheck {
    /// Routers times channels beyond which analysing a routing takes longer than most runs.
    const LIMIT: usize = 1 << 28;

    fn new(scenario: &Scenario) -> Option<Self> {
        let network = scenario.network();
        if network.routers().saturating_mul(network.channels()) > Self::LIMIT {
            return None;
        }
        let config = scenario.engine_config();
        let link = |resource: Resource| match resource {
            Resource::Channel(channel) => Some([network.from(channel).raw(), network.to(channel).raw()]),
            Resource::Consumption(_) => None,
        };
        let algorithm = scenario.algorithm();
        let found = match algorithm.switches() {
            Some(switches) if scenario.switch_config().is_some_and(|switch| switch.is_synchronous()) => {
                synchronous_deadlock(network, switches, false).map(|held| held.to_vec())
            }
            _ => {
                let dependencies = algorithm.dependencies_with(network, config.branching());
                let dependencies = dependencies.with_virtual_channels(config.virtual_channels);
                dependencies.deadlock(config.ports.consumption)
            }
        };
        Some(Self {
            deadlock_free: found.is_none(),
            cycle: found.map(|cycle| cycle.into_iter().filter_map(link).collect()),
        })
    }
}

/// Says that there may be a deadlock, and which command explains it.
fn warn_of_deadlock(spec: &PointSpec, scenario: &Scenario) {
    if scenario.switch_config().is_some_and(|switch| switch.is_synchronous()) {
        return Failure::warn(&format!(
            "the static analysis finds that worms of `{0}` can deadlock here: see `{2} routing --topology {1} --algorithm {0} --replication synchronous`",
            spec.algorithm,
            spec.topology,
            program::name()
        ));
    }
    let config = scenario.engine_config();
    let mut options = spec.routing.as_ref().map_or_else(String::new, |name| format!(" --routing {name}"));
    if config.virtual_channels > 1 {
        let _ = write!(options, " --virtual-channels {}", config.virtual_channels);
    }
    if config.branching() != scenario.algorithm().branching() {
        let buffer = if config.branching().whole_worms { "message".to_owned() } else { config.buffer.to_string() };
        let spelled = |value: Json| value.as_str().unwrap_or_default().to_owned();
        let (replication, reservation) = (json!(config.replication), json!(config.reservation));
        let _ = write!(options, " --buffer {buffer} --replication {}", spelled(replication));
        let _ = write!(options, " --reservation {}", spelled(reservation));
    }
    Failure::warn(&format!(
        "the static analysis finds that worms of `{0}` can deadlock here: see `{3} routing --topology {1} --algorithm {0} --consumption-ports {2}{options}`",
        spec.algorithm,
        spec.topology,
        config.ports.consumption,
        program::name()
    ));
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut overrides = Vec::new();
    if let Some(seed) = arguments.seed {
        overrides.push(("--seed", "seed", seed.to_string()));
    }
    if let Some(engine) = arguments.engine.and_then(|engine| engine.to_possible_value()) {
        overrides.push(("--engine", "engine", format!("\"{}\"", engine.get_name())));
    }
    let experiment = arguments.experiment.read(&overrides)?;
    let point = experiment.point().map_err(Failure::diagnostic)?;
    let scenario = experiment.scenario(&point).map_err(Failure::diagnostic)?;
    let check = StaticCheck::new(&scenario);
    if check.as_ref().is_some_and(|check| !check.deadlock_free) {
        warn_of_deadlock(&point.spec, &scenario);
    }

    // Said before the run, which may take long.
    let data_on_output = check_outputs(arguments, &scenario)?;
    warn_of_idle(&experiment, std::slice::from_ref(&point), |_| scenario.idle_settings())?;
    let network = scenario.network();
    let space = ChannelSpace::new(network, scenario.engine_config().ports);
    let timeline = || Timeline::new(network, space, scenario.cycle_ns(), scenario.engine_config().startup);
    let mut observer = (
        arguments.timeline.as_ref().map(|_| timeline()),
        (
            arguments.deliveries.as_ref().map(|_| DeliveryLog::default()),
            (
                arguments.channels.as_ref().map(|_| ChannelUse::new(network, space)),
                arguments.buffers.as_ref().map(|_| BufferLog::default()),
            ),
        ),
    );
    let (engine, seed) = (point.spec.engine.into(), point.spec.seed);
    let result = match &observer {
        // An engine compiled for no observer does not even ask.
        (None, (None, (None, None))) => simulate(&scenario, engine, seed),
        _ => simulate_observed(&scenario, engine, seed, &mut observer),
    };
    let result = result.map_err(|error| match experiment.explain(&point, &error) {
        Some(diagnostic) => Failure::diagnostic(diagnostic),
        None => Failure::bad_input(error),
    })?;

    if let (Some(path), Some(timeline)) = (&arguments.timeline, &observer.0) {
        let mut json = Vec::new();
        timeline.write_json(&mut json)?;
        write_to(path, &json, out)?;
    }
    if let (Some(path), Some(log)) = (&arguments.deliveries, &observer.1.0) {
        let mut csv = Vec::new();
        log.write_csv(&mut csv)?;
        write_to(path, &csv, out)?;
    }
    if let (Some(path), Some(channels)) = (&arguments.channels, &observer.1.1.0) {
        let mut csv = Vec::new();
        channels.write_csv(&mut csv)?;
        write_to(path, &csv, out)?;
    }
    if let (Some(path), Some(buffers)) = (&arguments.buffers, &observer.1.1.1) {
        let mut csv = Vec::new();
        buffers.write_csv(&mut csv)?;
        write_to(path, &csv, out)?;
    }
    let mut summary = summary(data_on_output, out);
    match arguments.format {
        Format::Json => {
            let report = Report {
                config_hash: point.spec.config_hash(),
                topology: &point.spec.topology,
                algorithm: &point.spec.algorithm,
                result: &result,
                static_check: check.as_ref(),
            };
            write_json(&mut summary, &report)?;
        }
        Format::Text => {
            let topology = input_name(&point.spec.topology);
            write_text(&mut summary, topology, &point.spec.algorithm, &result, scenario.cycle_ns())?;
        }
    }
    summary.flush()?;
    drop(summary);
    out.flush()?;
    match &result.deadlock {
        None => Ok(()),
        Some(deadlock) => Err(Failure::Failed(format!(
            "deadlock in cycle {}: {} worms wait for each other for ever",
            deadlock.at, deadlock.dead
        ))),
    }
}

/// Whether the files that are asked for can be written, and there is something to write; whether one is standard output.
fn check_outputs(arguments: &Arguments, scenario: &Scenario) -> Result<bool, Failure> {
    let outputs = [
        ("--timeline", &arguments.timeline),
        ("--deliveries", &arguments.deliveries),
        ("--channels", &arguments.channels),
        ("--buffers", &arguments.buffers),
    ];
    if arguments.buffers.is_some() && scenario.switch_config().is_none() {
        let message = "`--buffers` writes what buffered switches hold: set `switching.model` to `central-buffer` or `input-buffer`";
        return Err(Failure::BadInput(message.to_owned()));
    }
    if let (Mode::Plan, Some((option, _))) = (scenario.mode(), outputs.iter().find(|(_, path)| path.is_some())) {
        let message =
            format!("`{option}` writes what happens in time, of which `mode = \"plan\"` knows nothing: leave it out");
        return Err(Failure::BadInput(message));
    }
    for (position, (option, path)) in outputs.iter().enumerate() {
        let Some(path) = path.as_ref().filter(|path| !is_output(path)) else { continue };
        if let Some((other, _)) = outputs[..position].iter().find(|(_, earlier)| earlier.as_ref() == Some(path)) {
            let message = format!("`{other}` and `{option}` both name `{}`: choose two files", path.display());
            return Err(Failure::BadInput(message));
        }
        check_file(path).map_err(Failure::failed)?;
    }
    check_one_output(outputs.iter().map(|(option, path)| (*option, path.as_deref())))
}

fn write_text(
    out: &mut dyn Write,
    topology: &str,
    algorithm: &str,
    result: &RunResult,
    cycle_ns: f64,
) -> Result<(), Failure> {
    let messages = result.messages;
    if let Some(plan) = &result.plan {
        writeln!(out, "{algorithm} on {topology}, seed {}, planned only", result.seed)?;
        write_figure(out, "messages", format!("{} planned", messages.measured))?;
        write_figure(out, "steps", format!("{:.2}", plan.steps))?;
        write_figure(out, "startups", format!("{:.2} a node, {} for the busiest", plan.mean_startups, plan.startups))?;
        write_figure(out, "channels", format!("{:.2} a message", plan.channels))?;
        write_figure(out, "contention", format!("in {:.1}% of the plans", plan.contention * 100.0))?;
        return Ok(());
    }
    writeln!(out, "{algorithm} on {topology}, seed {}, {} engine", result.seed, result.engine)?;
    write_figure(out, "cycles", format!("{}, the first {} as warm-up", result.cycles, result.warmup))?;
    write_figure(
        out,
        "messages",
        format!(
            "{} generated, {} delivered, {} in flight, {} measured",
            messages.generated, messages.delivered, messages.in_flight, messages.measured
        ),
    )?;
    write_figure(out, "deliveries", format!("{}, {} of them duplicates", result.deliveries, result.duplicates))?;
    if result.forwarded > 0 {
        write_figure(out, "forwarded", format!("{} at failed links", result.forwarded))?;
    }
    if result.saturated {
        write_figure(out, "saturated", "yes: messages pile up, and the latencies are lower bounds")?;
    }
    let latency =
        |distribution: &Distribution| match (distribution.mean, distribution.p50, distribution.p99, distribution.max) {
            (Some(mean), Some(p50), Some(p99), Some(max)) => format!(
                "mean {mean:.1} cycles ({:.3} us), median {p50:.0}, 99% {p99:.0}, largest {max:.0}",
                mean * cycle_ns / 1000.0
            ),
            _ => "nothing was measured".to_owned(),
        };
    write_figure(out, "latency, last", latency(&result.latency.last))?;
    write_figure(out, "latency, mean", latency(&result.latency.mean))?;
    if let (Some(unicast), Some(multicast)) = (&result.latency.unicast, &result.latency.multicast) {
        write_figure(out, "of unicasts", latency(&unicast.last))?;
        write_figure(out, "of multicasts", latency(&multicast.last))?;
    }
    let parts = result.latency.parts;
    write_figure(
        out,
        "parts of the last",
        format!(
            "queueing {:.1}, startup {:.1}, network {:.1}, blocking {:.1}",
            parts.queueing, parts.startup, parts.network, parts.blocking
        ),
    )?;
    write_figure(
        out,
        "load",
        format!(
            "{:.4} data flits a node and cycle asked for, {:.4} delivered",
            result.offered_load, result.delivered_load
        ),
    )?;
    write_figure(
        out,
        "links",
        format!(
            "{:.1}% busy (the busiest {:.1}%), {:.1}% blocked",
            result.links.busy * 100.0,
            result.links.busiest * 100.0,
            result.links.blocked * 100.0
        ),
    )?;
    if let Some(buffers) = &result.buffers {
        let text = format!(
            "{:.1}% taken, {:.1} flits a switch, {} at most",
            buffers.share * 100.0,
            buffers.mean,
            buffers.most
        );
        write_figure(out, "buffers", text)?;
    }
    if let Some(deadlock) = &result.deadlock {
        writeln!(out, "  deadlock in cycle {}: {} worms are dead; a cycle of them:", deadlock.at, deadlock.dead)?;
        for worm in &deadlock.cycle {
            writeln!(
                out,
                "    worm {} (message {}) at router {} holds {} and waits for {}",
                worm.worm,
                worm.message,
                worm.header_at,
                worm.holds.join(", "),
                worm.waits_for.join(" or ")
            )?;
        }
    }
    Ok(())
}
