//! `wormcast simulate`: one run of an experiment's single point, its summary, and the files that observers write on the way.

use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::experiment::{ExperimentArguments, warn_of_idle};
use super::failed_link_text;
use super::output::summary;
use super::safety::{analysis_command, warn_of_deadlock};
use super::{Format, write_json};
use crate::analysis::deadlock_of_scenario;
use crate::failure::Failure;
use crate::lab::{Job, PointSpec, Replication, Shown, is_analysed};
use crate::network::ChannelId;
use crate::network::input::input_name;
use crate::routing::Resource;
use crate::simulation::{Cycle, EngineChoice, Mode, Planning, Scenario, SimulationError, plan_messages};
use crate::usage::positive;
use at_end::{AtEnd, BusyLink};
use outputs::{check_outputs, observed, warn_of_one_thread, window};
use text::write_text;

mod at_end;
mod outputs;
mod text;

/// Simulate one configuration of an experiment file.
///
/// A setting that the file sweeps has its plain value, or the one that --set gives it. One of the files that options name may be `-`,
/// standard output; the summary then goes to standard error. A deadlock ends the run with exit code 1, but the results so far are still
/// printed, with a cycle of worms that wait for each other.
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
    engine: Option<EngineChoice>,
    /// Simulate so many parts of the network side by side, each on a thread. The result is the same; on as many cores with nothing else to do it comes
    /// sooner for large networks (64x64 and more). Where that is not possible, a warning says why.
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN, hide_default_value = true, value_parser = positive::<NonZeroUsize>)]
    threads: NonZeroUsize,
    /// Write a timeline that Perfetto (ui.perfetto.dev) opens; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Only part of the timeline: the cycles from FROM up to, but not including, TO. Either may be left out. Everything that overlaps these
    /// cycles is shown.
    #[arg(long, value_name = "FROM:TO", value_parser = window, requires = "timeline")]
    timeline_window: Option<Range<Cycle>>,
    /// Record the run for the browser interface, which replays it: every worm with the channels that it held and what it waited for, compressed;
    /// `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Write every delivery as CSV: message,source,destination,generated,delivered, times in cycles; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    deliveries: Option<PathBuf>,
    /// Write the cycles in which each channel was busy, held and blocked as CSV: kind, ends, cycles and names; `-`: to
    /// standard output.
    #[arg(long, value_name = "FILE")]
    channels: Option<PathBuf>,
    /// Write what the buffers of buffered switches hold, in every 64th cycle, or where nothing moves until the switch's next line, as CSV: cycle,switch,flits; `-`: to standard output.
    #[arg(long, value_name = "FILE")]
    buffers: Option<PathBuf>,
    /// Write all worms in the network when the run ends, with what each holds, what it waits for and since when, which worm has that, and
    /// whether it waits forever: as JSON, or as a picture if FILE ends in `.svg`, or for Graphviz if it ends in `.dot`; `-`: to
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

/// What a run prints for programs.
#[derive(Serialize)]
struct Report<'a> {
    config_hash: String,
    topology: &'a str,
    algorithm: &'a str,
    #[serde(flatten)]
    result: Shown<'a>,
    /// Whether the run was interrupted: then this is what it had by then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    /// The links that have failed, as users write them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed_links: &'a [String],
    /// The links that were crossed by the most flits in the measured window.
    busiest_links: &'a [BusyLink],
    /// What the static analysis says of all worms that the algorithm may send; null if the network is too large for it.
    static_check: Option<&'a StaticCheck>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    static_check_skipped: Option<&'static str>,
}

/// Why there is no static check.
const TOO_LARGE_TO_CHECK: &str =
    "routes would have to be followed, and the routers times the channels of the network are more than 2^28";

/// Whether worms can block each other forever, whatever the traffic.
#[derive(Serialize)]
struct StaticCheck {
    deadlock_free: bool,
    /// The links of a cycle of dependencies.
    cycle: Option<Vec<[u32; 2]>>,
    /// The cycle as users write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_names: Option<Vec<String>>,
}

impl StaticCheck {
    fn new(scenario: &Scenario) -> Option<Self> {
        if !is_analysed(scenario) {
            return None;
        }
        let network = scenario.network();
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

/// Plans the messages without time, in which there is nothing that threads could share.
fn planned(planning: &Planning, seed: u64, threads: NonZeroUsize) -> Result<Replication, SimulationError> {
    warn_of_one_thread(threads, Some("plans take no time that could be shared"));
    plan_messages(planning, seed).map(Replication::Planned)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut overrides = Vec::new();
    if let Some(seed) = arguments.seed {
        overrides.push(("--seed", "seed", seed.to_string()));
    }
    if let Some(engine) = arguments.engine.and_then(|engine| engine.to_possible_value()) {
        overrides.push(("--engine", "engine", format!("\"{}\"", engine.get_name())));
    }
    let experiment = arguments.experiment.read_for_one_run(&overrides)?;
    let point = experiment.point().map_err(Failure::diagnostic)?;
    arguments.experiment.warn_of_a_sweeps();
    let job = experiment.job(&point).map_err(Failure::diagnostic)?;
    let scenario = job.scenario().map_err(Failure::bad_input)?;
    let check = StaticCheck::new(scenario);
    match &check {
        Some(StaticCheck { deadlock_free: true, .. }) => {}
        Some(_) => warn_of_deadlock(&experiment, &point.spec, scenario),
        None => {
            let PointSpec { algorithm, topology, seed, .. } = &point.spec;
            let command = analysis_command(&experiment, &point.spec, scenario, *seed);
            let see = command.map_or_else(String::new, |command| format!(": see `{command}`"));
            Failure::warn(&format!(
                "whether worms of `{algorithm}` on `{topology}` can deadlock is not analysed before the run, as {TOO_LARGE_TO_CHECK}{see}"
            ));
        }
    }

    // Said before the run, which may take long.
    if let Some(warning) = scenario.trace_warning() {
        Failure::warn(warning);
    }
    let data_on_output = check_outputs(arguments, scenario, &experiment, &point)?;
    warn_of_idle(&experiment, std::slice::from_ref(&point), std::slice::from_ref(&job))?;
    let mut end = AtEnd::new(arguments);
    let result = match &job {
        Job::Plan(planning) => planned(planning, point.spec.seed, arguments.threads),
        _ => observed(arguments, scenario, &point.spec, &mut end, out)?.map(Into::into),
    };
    let result = result.map_err(|error| match experiment.explain(&point, &error) {
        Some(diagnostic) => Failure::diagnostic(diagnostic),
        None if matches!(error, SimulationError::OutOfMemory { .. }) => Failure::failed(error),
        None => Failure::bad_input(error),
    })?;
    if let (Mode::Finite, Some(run)) = (scenario.mode(), result.simulated())
        && run.messages.in_flight > 0
        && !run.saturated
        && run.deadlock.is_none()
    {
        Failure::warn(&format!(
            "{} of {} messages were in flight at the end of this finite run and are not measured, slow ones above all; `run.mode = \"drain\"` measures all",
            run.messages.in_flight, run.messages.generated
        ));
    }
    if let (Some(window), Some(run)) = (&arguments.timeline_window, result.simulated())
        && window.start >= run.cycles
    {
        Failure::warn(&format!(
            "the timeline is empty: `--timeline-window` begins in cycle {}, and the run ends in cycle {}",
            window.start, run.cycles
        ));
    }
    let title = format!("{} on {}", point.spec.algorithm, input_name(&point.spec.topology));
    end.write(arguments, scenario, &title, out)?;
    let busiest = end.busiest(scenario.network());
    let network = scenario.network();
    let request = point.spec.request(point.spec.seed).map_err(Failure::bad_input)?;
    let faults = request.faults.on(network, request.seed).map_err(Failure::bad_input)?;
    let failed: Vec<String> = faults.links.iter().map(|&link| failed_link_text(network, link)).collect();
    let mut summary = summary(data_on_output, out);
    match arguments.format {
        Format::Json => {
            let report = Report {
                config_hash: point.spec.config_hash(),
                topology: &point.spec.topology,
                algorithm: &point.spec.algorithm,
                result: Shown(&result),
                interrupted: end.interrupted,
                failed_links: &failed,
                busiest_links: &busiest,
                static_check: check.as_ref(),
                static_check_skipped: check.is_none().then_some(TOO_LARGE_TO_CHECK),
            };
            write_json(&mut summary, &report)?;
        }
        Format::Text => write_text(&mut summary, &title, &result, (&failed, &busiest), (scenario, end.interrupted))?,
    }
    summary.flush()?;
    drop(summary);
    out.flush()?;
    match result.deadlock() {
        None => Ok(()),
        Some(deadlock) => Err(Failure::Failed(format!(
            "deadlock in cycle {}: {} worms wait for each other forever{}",
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
