//! `wormcast sweep` and `wormcast plot`: an experiment from its points to a table and a plot.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use clap::Args;

use super::experiment::ExperimentArguments;
use super::results::{AGAIN, Places, failure, threads, unusable, watched};
use crate::failure::Failure;
use crate::lab::{
    Estimate, Experiment, Findings, Outcome, PlotError, PointSummary, Quantity, TimeUnit, csv, plot, run_sweep,
    stored_sweep, write_file,
};
use crate::program;

/// Run every point of an experiment until it is precise enough; write a table and plots.
///
/// Every replication goes to the store as soon as it is there: a sweep that is interrupted, in whatever way, goes on where it was
/// when the same command is run again, and one that is done is answered at once. The results do not depend on --jobs.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast sweep experiments/quick.toml --jobs 2")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    places: Places,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Forget what the store has of these points.
    #[arg(long)]
    fresh: bool,
}

/// Draw the plots and write the table of an experiment from the store, without running anything.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast plot experiments/quick.toml --out figures")]
pub(crate) struct PlotArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    places: Places,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = arguments.experiment.read(&[])?;
    // What makes no sense is said before anything is made.
    let points = experiment.points().map_err(Failure::diagnostic)?;
    experiment.jobs(&points).map_err(Failure::diagnostic)?;
    let places = &arguments.places;
    places.make()?;
    let mut store = program::store(&places.store()).map_err(unusable)?;
    let jobs = threads(arguments.jobs);
    let again = if arguments.fresh { "the same command without `--fresh`" } else { AGAIN };
    let findings =
        watched(&mut store, again, |store, progress| run_sweep(&experiment, jobs, store, arguments.fresh, progress))
            .map_err(failure)?;
    publish(&experiment, &findings, places.folder(), &arguments.experiment.stem(), out)
}

pub(crate) fn run_plot(arguments: &PlotArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = arguments.experiment.read(&[])?;
    let (path, store) = (arguments.places.store(), arguments.places.existing_store()?);
    let findings = stored_sweep(&experiment, &store).map_err(failure)?;
    if findings.summaries.iter().all(|summary| summary.replications == 0) {
        let (path, program) = (path.display(), program::name());
        let message = format!("`{path}` has no results of this experiment: run `{program} sweep` first");
        return Err(Failure::BadInput(message));
    }
    arguments.places.make()?;
    publish(&experiment, &findings, arguments.places.folder(), &arguments.experiment.stem(), out)
}

/// Writes the table, the plots and the verdicts, and says what there is to see.
fn publish(
    experiment: &Experiment,
    Findings { summaries, verdicts, .. }: &Findings,
    folder: &Path,
    stem: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut files = Vec::new();
    let mut write = |ending: &str, contents: &[u8]| {
        let path = folder.join(format!("{stem}{ending}"));
        files.push(path.display().to_string());
        write_file(&path, contents).map_err(Failure::failed)
    };
    write(".csv", csv(summaries).as_bytes())?;
    let figures = experiment.figures();
    for figure in &figures {
        let which = figure.file_suffix(&figures);
        match plot(figure, summaries) {
            Ok(plot) => {
                write(&format!("{which}.svg"), plot.svg.as_bytes())?;
                write(&format!("{which}.png"), &plot.png)?;
            }
            Err(error @ PlotError::Empty { .. }) => Failure::warn(&error.to_string()),
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    if !verdicts.is_empty() {
        let mut json = serde_json::to_vec_pretty(verdicts)?;
        json.push(b'\n');
        write(".claims.json", &json)?;
    }
    if !experiment.title().is_empty() {
        writeln!(out, "{}", experiment.title())?;
    }
    let plotted = experiment.quantities()[0];
    for summary in summaries {
        let point: Vec<String> = summary.coordinates.iter().map(|c| format!("{}={}", c.key, c.text())).collect();
        let label = if point.is_empty() { String::new() } else { format!("{}: ", point.join(" ")) };
        writeln!(out, "  {label}{}", describe(summary, plotted, experiment.unit()))?;
    }
    for verdict in verdicts {
        writeln!(out, "claim {}: {}", verdict.claim, verdict.verdict)?;
        for part in &verdict.evidence {
            writeln!(out, "  {}: {}", part.text.trim_end_matches('.'), part.verdict)?;
            for line in part.because.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    writeln!(out, "Wrote {}.", files.join(", "))?;
    out.flush()?;
    let deadlocked = summaries.iter().filter(|summary| summary.outcome == Outcome::Deadlocked).count();
    if deadlocked > 0 {
        let (points, program) = (summaries.len(), program::name());
        let (of, end) = (if points == 1 { "point" } else { "points" }, if deadlocked == 1 { "ends" } else { "end" });
        let message =
            format!("{deadlocked} of {points} {of} {end} in a deadlock; `{program} simulate` names its worms");
        return Err(Failure::Failed(message));
    }
    Ok(())
}

/// A point's result in words: what is plotted, unless that comes first anyway, and then what its mode is about.
fn describe(summary: &PointSummary, plotted: Quantity, unit: TimeUnit) -> String {
    let usual = if summary.plan.is_some() {
        Quantity::PlanSteps
    } else if summary.trees.is_some() {
        Quantity::TreesDiameter
    } else {
        Quantity::LatencyLast
    };
    let shown = summary.outcome != Outcome::Deadlocked && plotted != usual;
    let Some((mean, half_width)) = summary.quantity(plotted).filter(|_| shown) else { return result(summary) };
    let (scale, unit) = match unit {
        _ if !plotted.is_latency() => (1.0, ""),
        TimeUnit::Microseconds => (summary.cycle_ns / 1000.0, " µs"),
        TimeUnit::Cycles => (1.0, " cycles"),
    };
    let half_width = half_width.map(|half_width| half_width * scale);
    let value = Estimate { mean: mean * scale, half_width, count: summary.replications };
    let usual = if summary.latency.is_some() { "latency.last " } else { "" };
    format!("{} {}{unit}; {usual}{}", plotted.name(), value.text(), result(summary))
}

/// What the mode of a point is about.
fn result(summary: &PointSummary) -> String {
    let replications = summary.replications;
    if let Some(plan) = &summary.plan {
        let interval = plan.steps.half_width.map_or_else(String::new, |half| format!(" ± {half:.2}"));
        return format!(
            "{:.2}{interval} steps, {} channels; startups {:.2} a node, {} for the busiest ({replications} replications)",
            plan.steps.mean,
            short(plan.channels.mean),
            plan.mean_startups.mean,
            short(plan.startups.mean)
        );
    }
    if let Some(trees) = &summary.trees {
        return format!(
            "combined diameter {}, at least {}; average distance {:.3} ({replications} replications)",
            trees.diameter.text(),
            short(trees.least_diameter.mean),
            trees.average_distance.mean
        );
    }
    match (&summary.latency, summary.outcome) {
        (Some(latency), outcome) => {
            let scale = summary.cycle_ns / 1000.0;
            let interval = latency.last.half_width.map_or_else(String::new, |half| format!(" ± {:.2}", half * scale));
            let exhausted = if outcome == Outcome::Exhausted { ", not as precise as asked for" } else { "" };
            format!("{:.2}{interval} µs ({replications} replications{exhausted})", latency.last.mean * scale)
        }
        (None, Outcome::Saturated) => {
            let accepted = summary.load.as_ref().map_or(0.0, |load| load.delivered);
            format!("saturated: {accepted:.4} data flits delivered a node and cycle ({replications} replications)")
        }
        (None, Outcome::Deadlocked) => "deadlocked".to_owned(),
        (None, _) => "no results".to_owned(),
    }
}

/// A number without decimals that say nothing.
fn short(number: f64) -> String {
    crate::lab::number_text(number, 4)
}
