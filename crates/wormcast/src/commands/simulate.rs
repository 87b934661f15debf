//! `wormcast simulate`: one run.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::experiment::{ExperimentArguments, warn_of_idle};
use super::output::summary;
use super::safety::warn_of_deadlock;
use super::{Format, write_figure, write_json};
use crate::analysis::deadlock_of_scenario;
use crate::failure::Failure;
use crate::network::{ChannelId, input_name};
use crate::routing::Resource;
use crate::simulation::{Cycle, Distribution, RunResult, Scenario, SimulationError};
use at_end::{AtEnd, BusyLink};
use outputs::{check_outputs, observed, window};

mod at_end;
mod outputs;

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
    /// Only these cycles of the timeline, from FROM up to, not including, TO; one of them may be left out. What overlaps with them is
    /// shown.
    #[arg(long, value_name = "FROM:TO", value_parser = window, requires = "timeline")]
    timeline_window: Option<Range<Cycle>>,
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
    /// Write all worms that are there when the run ends, with what each holds, what it waits for since when, who has that, and
    /// whether it waits for ever: as JSON, or as a picture if FILE ends in `.svg`, or for Graphviz if it ends in `.dot`; `-`: to
    /// standard output.
    #[arg(long, value_name = "FILE")]
    waits: Option<PathBuf>,
    /// Draw how busy each link was in the measured part of the run, as an SVG picture of the network; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    heat_map: Option<PathBuf>,
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
    /// The links that were crossed by the most flits in the measured window.
    busiest_links: &'a [BusyLink],
    /// What the static analysis says of all worms that the algorithm may send; null if the network is too large for it.
    static_check: Option<&'a StaticCheck>,
}

/// Whether worms can block each other for ever, whatever the traffic.
#[derive(Serialize)]
struct StaticCheck {
    deadlock_free: bool,
    /// The links of a cycle of dependencies.
    cycle: Option<Vec<[u32; 2]>>,
    /// The same as users write them.
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_names: Option<Vec<String>>,
}

impl StaticCheck {
    /// Routers times channels beyond which analysing a routing takes longer than most runs.
    const LIMIT: usize = 1 << 28;

    fn new(scenario: &Scenario) -> Option<Self> {
        let network = scenario.network();
        if network.routers().saturating_mul(network.channels()) > Self::LIMIT {
            return None;
        }
        let link = |resource: &Resource| match *resource {
            Resource::Channel(channel) => Some(channel),
            Resource::Consumption(_) => None,
        };
        let found = deadlock_of_scenario(scenario);
        let cycle: Option<Vec<ChannelId>> = found.map(|cycle| cycle.iter().filter_map(link).collect());
        let ends = |&channel: &ChannelId| [network.from(channel).raw(), network.to(channel).raw()];
        Some(Self {
            deadlock_free: cycle.is_none(),
            cycle: cycle.as_ref().map(|cycle| cycle.iter().map(ends).collect()),
            cycle_names: cycle.map(|cycle| cycle.into_iter().map(|channel| network.link_label(channel)).collect()),
        })
    }
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
    arguments.experiment.warn_of_a_sweeps();
    let point = experiment.point().map_err(Failure::diagnostic)?;
    let scenario = experiment.scenario(&point).map_err(Failure::diagnostic)?;
    let check = StaticCheck::new(&scenario);
    if check.as_ref().is_some_and(|check| !check.deadlock_free) {
        warn_of_deadlock(&point.spec, &scenario);
    }

    // Said before the run, which may take long.
    if let Some(warning) = scenario.trace_warning() {
        Failure::warn(warning);
    }
    let data_on_output = check_outputs(arguments, &scenario, &experiment, &point)?;
    warn_of_idle(&experiment, std::slice::from_ref(&point), |_| scenario.idle_settings())?;
    let mut end = AtEnd::new(arguments);
    let result = observed(arguments, &scenario, (point.spec.engine.into(), point.spec.seed), &mut end, out)?;
    let result = result.map_err(|error| match experiment.explain(&point, &error) {
        Some(diagnostic) => Failure::diagnostic(diagnostic),
        None if matches!(error, SimulationError::OutOfMemory { .. }) => Failure::failed(error),
        None => Failure::bad_input(error),
    })?;
    let title = format!("{} on {}", point.spec.algorithm, input_name(&point.spec.topology));
    end.write(arguments, &scenario, &title, out)?;
    let busiest = end.busiest(scenario.network());
    let mut summary = summary(data_on_output, out);
    match arguments.format {
        Format::Json => {
            let report = Report {
                config_hash: point.spec.config_hash(),
                topology: &point.spec.topology,
                algorithm: &point.spec.algorithm,
                result: &result,
                busiest_links: &busiest,
                static_check: check.as_ref(),
            };
            write_json(&mut summary, &report)?;
        }
        Format::Text => write_text(&mut summary, &title, (&result, &busiest[..]), scenario.cycle_ns())?,
    }
    summary.flush()?;
    drop(summary);
    out.flush()?;
    match &result.deadlock {
        None => Ok(()),
        Some(deadlock) => Err(Failure::Failed(format!(
            "deadlock in cycle {}: {} worms wait for each other for ever{}",
            deadlock.at,
            deadlock.dead,
            if arguments.waits.is_some() {
                ""
            } else {
                "; `--waits FILE` writes who waits for whom, `FILE.svg` as a picture"
            }
        ))),
    }
}

/// What stands for figures of a run that ended before its window.
const NOTHING: &str = "nothing was measured";

fn write_text(
    out: &mut dyn Write,
    title: &str,
    (result, busiest): (&RunResult, &[BusyLink]),
    cycle_ns: f64,
) -> Result<(), Failure> {
    let messages = result.messages;
    if let Some(plan) = &result.plan {
        writeln!(out, "{title}, seed {}, planned only", result.seed)?;
        write_figure(out, "messages", format!("{} planned", messages.measured))?;
        write_figure(out, "steps", format!("{:.2}", plan.steps))?;
        write_figure(out, "startups", format!("{:.2} a node, {} for the busiest", plan.mean_startups, plan.startups))?;
        write_figure(out, "channels", format!("{:.2} a message", plan.channels))?;
        write_figure(out, "contention", format!("in {:.1}% of the plans", plan.contention * 100.0))?;
        return Ok(());
    }
    writeln!(out, "{title}, seed {}, {} engine", result.seed, result.engine)?;
    let warmup = match result.warmup {
        0 => String::new(),
        warmup if warmup >= result.cycles => ", all of them warm-up".to_owned(),
        warmup => format!(", the first {warmup} as warm-up"),
    };
    write_figure(out, "cycles", format!("{}{warmup}", result.cycles))?;
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
    if result.given_up {
        let lower = if messages.measured > 0 { ": the latencies are lower bounds" } else { "" };
        write_figure(out, "saturated", format!("given up at `run.max_cycles`, with messages in flight{lower}"))?;
    } else if result.saturated {
        write_figure(out, "saturated", "yes: messages pile up, and the latencies are lower bounds")?;
    } else if result.trend == Some(true) {
        write_figure(out, "window", "too short: the mean latency depends on it; set more `run.messages`")?;
    }
    let latency =
        |distribution: &Distribution| match (distribution.mean, distribution.p50, distribution.p99, distribution.max) {
            (Some(mean), Some(p50), Some(p99), Some(max)) => format!(
                "mean {mean:.1} cycles ({:.3} µs), median {p50:.0}, 99% {p99:.0}, largest {max:.0}",
                mean * cycle_ns / 1000.0
            ),
            _ => NOTHING.to_owned(),
        };
    write_figure(out, "latency, last", latency(&result.latency.last))?;
    write_figure(out, "latency, mean", latency(&result.latency.mean))?;
    if let (Some(unicast), Some(multicast)) = (&result.latency.unicast, &result.latency.multicast) {
        write_figure(out, "of unicasts", latency(&unicast.last))?;
        write_figure(out, "of multicasts", latency(&multicast.last))?;
    }
    let parts = result.latency.parts;
    let parts = format!(
        "queueing {:.1}, startup {:.1}, network {:.1}, blocking {:.1}",
        parts.queueing, parts.startup, parts.network, parts.blocking
    );
    write_figure(out, "parts of the last", if messages.measured > 0 { &parts } else { NOTHING })?;
    let load = format!(
        "{:.4} data flits per node per cycle asked for, {:.4} delivered",
        result.offered_load, result.delivered_load
    );
    let links = format!(
        "{:.1}% busy (the busiest {:.1}%), {:.1}% blocked",
        result.links.busy * 100.0,
        result.links.busiest * 100.0,
        result.links.blocked * 100.0
    );
    let window = result.window.to > result.window.from;
    write_figure(out, "load", if window { &load } else { NOTHING })?;
    write_figure(out, "links", if window { &links } else { NOTHING })?;
    if !busiest.is_empty() {
        writeln!(out, "  The busiest channels:")?;
    }
    for link in busiest {
        writeln!(out, "    {:>5.1}%  {}", link.busy * 100.0, link.label)?;
    }
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
                "    worm {} (message {}) at {} holds {} and waits for {}",
                worm.worm,
                worm.message,
                worm.router,
                worm.holds.join("; "),
                worm.waits_for.join("; ")
            )?;
        }
    }
    Ok(())
}
