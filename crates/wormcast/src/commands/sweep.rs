//! `wormcast sweep` and `wormcast plot`: an experiment from its points to a table and a plot.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;

use super::experiment::{ExperimentArguments, warn_of_idle};
use super::output::{Files, write_plot};
use super::results::{
    AGAIN, Places, failure, has_nothing_of, threads, unless_deadlocked, unless_invalid, unusable, with_progress,
};
use super::safety::warn_of_unsafe_points;
use crate::failure::Failure;
use crate::lab::report::shell_line;
use crate::lab::{
    Estimate, Experiment, Findings, Outcome, Point, PointSummary, Quantity, RefinedSweep, Refinement, Shard, TimeUnit,
    check_file, csv, incomplete_points, number_text, plot, refine_sweep, replaced, replication_seed, replications_csv,
    replications_json, run_shard, run_sweep, stored_sweep, write_file,
};
use crate::program;
use crate::usage::positive;

/// Run every point of an experiment until it is precise enough; write a table and plots.
///
/// Every replication goes to the store as soon as it is finished. If a sweep is interrupted, however that happens, the same command
/// continues where it stopped; a sweep that is complete is answered from the store at once. The results do not depend on --jobs.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast sweep experiments/quick.toml --jobs 2")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    places: Places,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// Discard what the store already has for these points.
    #[arg(long)]
    fresh: bool,
    /// After the sweep, add loads where they matter: where a series becomes saturated or no longer is, and where two change places. Ends when each
    /// of these places is known to within 2%, or after this many replications.
    #[arg(long, value_name = "BUDGET", value_parser = positive::<NonZeroU64>)]
    refine: Option<NonZeroU64>,
    /// Run only part I of N, into a store of its own, `NAME-shard-I-of-N.db` in the output folder unless `--store` names another: for
    /// jobs on several machines. The subcommand `merge` brings the stores together.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["refine", "replications"])]
    shard: Option<Shard>,
    #[command(flatten)]
    rows: Rows,
}

/// A row for each replication.
#[derive(Args)]
struct Rows {
    /// Also write a row for each replication: CSV, or JSON lines if the name ends in `.jsonl`.
    #[arg(long, value_name = "FILE.csv|FILE.jsonl", value_parser = rows_file)]
    replications: Option<PathBuf>,
}

fn rows_file(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension().and_then(OsStr::to_str) {
        Some("csv" | "jsonl") => Ok(path),
        _ => Err("expected the name of a file that ends in `.csv` or `.jsonl`".to_owned()),
    }
}

impl Rows {
    /// Says what is wrong with the file before anything runs.
    fn check(&self) -> Result<(), Failure> {
        self.replications.as_deref().map_or(Ok(()), check_file).map_err(Failure::failed)
    }

    /// That neither the rows nor the store take the place of another file of the command.
    fn check_places(
        &self,
        arguments: &ExperimentArguments,
        places: &Places,
        experiment: &Experiment,
        points: &[Point],
    ) -> Result<(), Failure> {
        let mut files = Files::default().writes("--store", Some(places.store()));
        for ending in endings(experiment) {
            files = files.writes("the results", Some(places.folder().join(format!("{}{ending}", experiment.name()))));
        }
        files = files.writes("--replications", self.replications.as_deref());
        files.reads_experiment(arguments.file(), experiment, points).check().map(drop)
    }

    /// The file and its contents.
    fn file(&self, findings: &Findings) -> Option<(&Path, String)> {
        let path = self.replications.as_deref()?;
        let rows = match path.extension().and_then(OsStr::to_str) {
            Some("jsonl") => replications_json(&findings.summaries, &findings.runs),
            _ => replications_csv(&findings.summaries, &findings.runs),
        };
        Some((path, rows))
    }
}

/// Draw the plots and write the table of an experiment from the store, without running anything.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast plot experiments/quick.toml --out figures")]
pub(crate) struct PlotArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    places: Places,
    #[command(flatten)]
    rows: Rows,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = arguments.places.named(arguments.experiment.read(&[])?);
    // What makes no sense is said before anything is made.
    experiment.check_measured().map_err(Failure::diagnostic)?;
    let points = experiment.points().map_err(Failure::diagnostic)?;
    let made = experiment.jobs(&points).map_err(Failure::diagnostic)?;
    warn_of_idle(&experiment, &points, &made)?;
    let warnings: BTreeSet<&str> = made.iter().filter_map(|job| job.trace_warning()).collect();
    warnings.into_iter().for_each(Failure::warn);
    warn_of_unsafe_points(&experiment, &points, &made);
    drop(made);
    let places = &arguments.places;
    arguments.rows.check_places(&arguments.experiment, places, &experiment, &points)?;
    if arguments.refine.is_some() {
        experiment.refined_axis().map_err(Failure::diagnostic)?;
        let refined = experiment.clone().called(&refined_name(&experiment));
        arguments.rows.check_places(&arguments.experiment, places, &refined, &points)?;
    }
    places.make()?;
    arguments.rows.check()?;
    let jobs = threads(arguments.jobs);
    let again = if arguments.fresh { "the same command without `--fresh`" } else { AGAIN };
    if let Some(shard) = arguments.shard {
        let mut store = program::store(&places.store_of(&shard_name(&experiment, shard))).map_err(unusable)?;
        let summaries = with_progress(&mut store, again, |store, progress| {
            run_shard(&experiment, shard, jobs, store, arguments.fresh, progress)
        })
        .map_err(failure)?;
        return told_of_shard(&experiment, shard, points.len(), &summaries, store.path(), out);
    }
    let mut store = program::store(&places.store()).map_err(unusable)?;
    let findings = with_progress(&mut store, again, |store, progress| {
        run_sweep(&experiment, jobs, store, arguments.fresh, progress)
    })
    .map_err(failure)?;
    let Some(budget) = arguments.refine else {
        return publish(&experiment, &findings, (&arguments.experiment, places), &arguments.rows, out);
    };
    let refined = with_progress(&mut store, again, |store, progress| {
        refine_sweep(&experiment, budget.get(), jobs, store, progress)
    })
    .map_err(failure)?;
    // Beside what `plot` draws, which knows of no values but the file's.
    let shown = refined.experiment.clone().called(&refined_name(&experiment));
    publish(&shown, &refined.findings, (&arguments.experiment, places), &arguments.rows, out)?;
    told(&refined, out)
}

/// The name of the store of a part of a sweep.
fn shard_name(experiment: &Experiment, shard: Shard) -> String {
    format!("{}-{}.db", experiment.name(), shard.file_part())
}

/// Says what a part of a sweep has found. Tables, plots and verdicts take all points.
fn told_of_shard(
    experiment: &Experiment,
    shard: Shard,
    points: usize,
    summaries: &[PointSummary],
    store: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !experiment.title().is_empty() {
        writeln!(out, "{}", experiment.title())?;
    }
    let of = if points == 1 { "point" } else { "points" };
    writeln!(out, "Part {shard} has {} of {points} {of}", summaries.len())?;
    write_points(experiment, summaries, out)?;
    writeln!(out, "Wrote {}; `{} merge` brings the stores of all parts together.", store.display(), program::name())?;
    out.flush()?;
    unless_deadlocked(summaries.iter().map(|summary| summary.outcome == Outcome::Deadlocked), None)
}

/// The name of the files of an experiment that was refined.
fn refined_name(experiment: &Experiment) -> String {
    format!("{}-refined", experiment.name())
}

/// Says what a refinement has found.
fn told(refined: &RefinedSweep, out: &mut dyn Write) -> Result<(), Failure> {
    for onset in &refined.onsets {
        writeln!(out, "{onset}")?;
    }
    for crossing in &refined.crossings {
        writeln!(out, "{crossing}")?;
    }
    let Refinement { budget, spent, widest, undecided, unfinished, .. } = refined.refinement;
    let short = unfinished.map_or(String::new(), |value| {
        format!(" (the last of them at {value}, where they do not suffice: they are in the store, but in no table)")
    });
    writeln!(out, "Added {spent} of {budget} replications{short}: {}", left(widest, undecided))?;
    Ok(out.flush()?)
}

/// What a refinement has left: the widest interval that more values would narrow, and the widest in which they would not.
fn left(widest: Option<f64>, undecided: Option<f64>) -> String {
    const REPLICATIONS: &str =
        "needs more replications at its ends, not more values between them (`compare --until-decided`)";
    let narrowed =
        widest.map(|width| format!("the widest interval that more replications would narrow is {:.0}%", 100.0 * width));
    let decided = undecided.map(|width| format!("an interval of {:.0}% {REPLICATIONS}", 100.0 * width));
    match (narrowed, decided) {
        (Some(narrowed), Some(decided)) => format!("{narrowed}; {decided}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "no interval is wider than 2%".to_owned(),
    }
}

pub(crate) fn run_plot(arguments: &PlotArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = arguments.places.named(arguments.experiment.read(&[])?);
    experiment.check_measured().map_err(Failure::diagnostic)?;
    let settings =
        [arguments.experiment.words(), arguments.places.words(|path| path.display().to_string(), true)].concat();
    let again = shell_line([program::name(), "sweep"].into_iter().chain(settings.iter().map(String::as_str)));
    let store = arguments.places.existing_store(&again).map_err(|missing| unless_invalid(&experiment, missing))?;
    let path = arguments.places.store();
    let findings = stored_sweep(&experiment, &store).map_err(failure)?;
    experiment.check_missing(&findings).map_err(Failure::diagnostic)?;
    let points = experiment.points().map_err(Failure::diagnostic)?;
    if findings.summaries.iter().all(|summary| summary.replications == 0) {
        let has = has_nothing_of(&points, &store, "this experiment");
        return Err(Failure::BadInput(format!("`{}` {has}: run `{again}` first", path.display())));
    }
    arguments.rows.check_places(&arguments.experiment, &arguments.places, &experiment, &points)?;
    arguments.places.make()?;
    arguments.rows.check()?;
    publish(&experiment, &findings, (&arguments.experiment, &arguments.places), &arguments.rows, out)
}

/// What the names of the files of an experiment end with.
fn endings(experiment: &Experiment) -> Vec<String> {
    let figures = experiment.figures();
    let plots = figures.iter().flat_map(|figure| {
        let which = figure.file_suffix(&figures);
        ["svg", "png"].map(|ending| format!("{which}.{ending}"))
    });
    let claims = (!experiment.claim_ids().is_empty()).then(|| ".claims.json".to_owned());
    std::iter::once(".csv".to_owned()).chain(plots).chain(claims).collect()
}

/// Writes the table, the plots and the verdicts, and says what there is to see.
fn publish(
    experiment: &Experiment,
    findings: &Findings,
    (arguments, places): (&ExperimentArguments, &Places),
    rows: &Rows,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Findings { summaries, verdicts, .. } = findings;
    let (stem, mut files) = (experiment.name(), Vec::new());
    let mut write = |ending: &str, contents: &[u8]| {
        let path = places.folder().join(format!("{stem}{ending}"));
        files.push(path.display().to_string());
        write_file(&path, contents).map_err(Failure::failed)
    };
    // An experiment may be called as a variation of another.
    let table = places.folder().join(format!("{stem}.csv"));
    let old = std::fs::read(&table).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(had) = old.ok().and_then(|old| replaced(&old, summaries)) {
        let (table, another) = (table.display(), if places.name().is_some() { "another `--name`" } else { "`--name`" });
        let kept =
            if had.contains("results of other settings") { "the store keeps what it has of them, and " } else { "" };
        Failure::warn(&format!("`{table}` {had}, and is replaced: {kept}{another} gives files another name"));
    }
    write(".csv", csv(summaries).as_bytes())?;
    let figures = experiment.figures();
    for figure in &figures {
        let which = figure.file_suffix(&figures);
        match plot(figure, summaries) {
            Ok(plot) => write_plot(&which, &plot, &mut write)?,
            Err(error) if error.is_empty() => Failure::warn(&error.to_string()),
            Err(error) => return Err(Failure::failed(error)),
        }
    }
    if !verdicts.is_empty() {
        let mut json = serde_json::to_vec_pretty(verdicts)?;
        json.push(b'\n');
        write(".claims.json", &json)?;
    }
    if let Some((path, rows)) = rows.file(findings) {
        files.push(path.display().to_string());
        write_file(path, rows.as_bytes()).map_err(Failure::failed)?;
    }
    if !experiment.title().is_empty() {
        writeln!(out, "{}", experiment.title())?;
    }
    if let Some(incomplete) = incomplete_points(summaries) {
        let settings = [arguments.words(), places.words(|path| path.display().to_string(), true)].concat();
        let words = [program::name(), "sweep"].into_iter().chain(settings.iter().map(String::as_str));
        writeln!(out, "{incomplete}: `{}` adds what is missing.", shell_line(words))?;
    }
    write_points(experiment, summaries, out)?;
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
    let again = deadlocked_run(experiment, arguments.words(), summaries);
    unless_deadlocked(summaries.iter().map(|summary| summary.outcome == Outcome::Deadlocked), again)
}

/// The command that simulates the first replication that deadlocked; `None` if there is none, or lists or tables are swept.
fn deadlocked_run(experiment: &Experiment, words: Vec<String>, summaries: &[PointSummary]) -> Option<String> {
    let (summary, replication) = summaries.iter().find_map(|summary| Some((summary, summary.deadlock.as_ref()?.0)))?;
    let points = experiment.points().ok()?;
    let point = points.iter().find(|point| point.spec.config_hash() == summary.config_hash)?;
    let mut words = [vec![program::name().to_owned(), "simulate".to_owned()], words].concat();
    let mut set = |key: &str, value: &str| words.extend(["--set".to_owned(), format!("{key}={value}")]);
    // The seed and the window of that run are given below.
    for coordinate in
        point.coordinates.iter().filter(|coordinate| !["seed", "run.messages"].contains(&&*coordinate.key))
    {
        if coordinate.value.is_array() || coordinate.value.is_object() {
            return None;
        }
        set(&coordinate.key, &coordinate.text());
    }
    if let Some(messages) = point.spec.run.messages {
        set("run.messages", &messages.max(summary.window).to_string());
    }
    words.extend(["--seed".to_owned(), replication_seed(point.spec.seed, replication).to_string()]);
    Some(shell_line(words.iter().map(String::as_str)))
}

/// Writes a line for each point, and what its reservations mean.
fn write_points(experiment: &Experiment, summaries: &[PointSummary], out: &mut dyn Write) -> Result<(), Failure> {
    let plotted = experiment.quantities();
    for summary in summaries {
        let point: Vec<String> = summary.coordinates.iter().map(|c| format!("{}={}", c.key, c.text())).collect();
        let label = if point.is_empty() { String::new() } else { format!("{}: ", point.join(" ")) };
        writeln!(out, "  {label}{}", describe(summary, &plotted, experiment.unit()))?;
    }
    if summaries.iter().any(|summary| summary.outcome == Outcome::Unsettled) {
        writeln!(out, "{UNSETTLED}")?;
    }
    if summaries.iter().any(|summary| summary.short) && plotted.iter().any(|quantity| !quantity.is_latency()) {
        writeln!(out, "{TOO_SHORT}")?;
    }
    if summaries.iter().any(|summary| summary.unmeasured > 0.0) {
        writeln!(out, "{UNMEASURED}")?;
    }
    Ok(())
}

/// A point's result in words: what is plotted, unless that comes first anyway, and then what its mode is about.
fn describe(summary: &PointSummary, plotted: &[Quantity], unit: TimeUnit) -> String {
    let shown =
        |quantity: &&Quantity| summary.outcome != Outcome::Deadlocked && **quantity != summary.kind().decisive();
    let one = |&quantity: &Quantity| {
        let value = summary.quantity(quantity)?;
        // Of single runs nobody expects one.
        let alone = value.count > 1 && value.interval().is_none();
        let bare = if alone { " (no interval: it takes more runs)" } else { "" };
        let value = if quantity.is_latency() { time(value, summary, unit) } else { value.text() };
        let short = if summary.short && !quantity.is_latency() { too_short(summary) } else { String::new() };
        Some(format!("{} {value}{bare}{short}; ", quantity.name()))
    };
    let plotted: String = plotted.iter().filter(shown).filter_map(one).collect();
    let usual = if summary.latency().is_some() && !plotted.is_empty() { "latency.last " } else { "" };
    format!("{plotted}{usual}{}", result(summary, unit))
}

/// A time of a point, which is in cycles, with its unit.
fn time(cycles: Estimate, summary: &PointSummary, unit: TimeUnit) -> String {
    let (scale, unit) = match unit {
        TimeUnit::Microseconds => (summary.cycle_ns / 1000.0, "µs"),
        TimeUnit::Cycles => (1.0, "cycles"),
    };
    format!("{} {unit}", cycles.scaled(scale).text())
}

/// What the mode of a point is about.
fn result(summary: &PointSummary, unit: TimeUnit) -> String {
    let replications = match summary.replications {
        1 => "1 replication".to_owned(),
        several => format!("{several} replications"),
    };
    let reservation = match summary.outcome {
        Outcome::Exhausted => ", not as precise as asked for".to_owned(),
        Outcome::Incomplete => ", incomplete: the store lacks some".to_owned(),
        Outcome::Unsettled => unsettled(summary),
        _ => String::new(),
    };
    if let Some(plan) = summary.plan() {
        let steps = plan.steps.text();
        let of = if steps == "1" { "step" } else { "steps" };
        return format!(
            "{steps} {of}, {} channels; startups {} a node, {} for the busiest ({replications}{reservation})",
            short(plan.channels.mean),
            short(plan.mean_startups.mean),
            short(plan.startups.mean)
        );
    }
    if let Some(trees) = summary.trees() {
        // Of several sets a run, what the best and the worst of them are like.
        let (least, largest) = (trees.least_diameter.mean, trees.largest_diameter.mean);
        let range = if least < largest {
            format!(" ({} for the best of a run's sets, {} for the worst)", short(least), short(largest))
        } else {
            String::new()
        };
        return format!(
            "combined diameter {}{range}; average distance of routers {} ({replications}{reservation})",
            trees.diameter.text(),
            trees.average_distance.text()
        );
    }
    match (summary.latency(), summary.outcome) {
        (Some(latency), _) => {
            let unmeasured = match summary.unmeasured {
                share if share > 0.0 => format!(", {:.1}% of the messages not measured", 100.0 * share),
                _ => String::new(),
            };
            let cut_short = match summary.given_up {
                0 => String::new(),
                number => format!(", {number} of them cut short at `run.max_cycles`"),
            };
            let latency = time(latency.last, summary, unit);
            format!("{latency} ({replications}{reservation}{unmeasured}{cut_short})")
        }
        (None, Outcome::Saturated) => {
            let accepted = summary.load().map_or(0.0, |load| load.delivered.mean);
            let given_up = match summary.given_up {
                0 => String::new(),
                number => format!(", {number} of them given up at `run.max_cycles`"),
            };
            let accepted = match summary.short {
                true if accepted == 0.0 => "windows end before anything is delivered".to_owned(),
                short => {
                    let load =
                        if short { format!("about {}", number_text(accepted, 2)) } else { format!("{accepted:.4}") };
                    format!("{load} data flits delivered per node per cycle")
                }
            };
            format!("saturated: {accepted} ({replications}{given_up})")
        }
        (None, Outcome::Deadlocked) => "deadlocked".to_owned(),
        (None, Outcome::Incomplete) if summary.replications > 0 => {
            format!("incomplete: the store lacks some, and those that it has are saturated ({replications})")
        }
        (None, _) => "no results".to_owned(),
    }
}

/// How long the window is, and how long it would have to be at least.
fn unsettled(summary: &PointSummary) -> String {
    let window = summary.window;
    let needed = summary.needed.map_or_else(String::new, |needed| {
        let factor = (needed as f64 / window.max(1) as f64).log2().ceil().exp2();
        format!(" of {} or more", window.saturating_mul(factor as u64))
    });
    format!(", unsettled: {window}{needed} messages")
}

/// How long the window of a saturated point is, and how long it would have to be for its loads.
fn too_short(summary: &PointSummary) -> String {
    let needed = summary.needed.map_or_else(String::new, |needed| format!(" of {needed} or more"));
    format!(" (too short: {}{needed} messages)", summary.window)
}

/// What windows that are too short for loads mean, once for all points.
const TOO_SHORT: &str = "Too short: beyond saturation all nodes are busy and in step, so a window that is shorter than 20 times what a node needs for a message \
                         counts too much or too little, in all replications alike. Set `run.messages` to the number that is named there, or the largest of several.";

/// What unsettled means, once for all points.
const UNSETTLED: &str = "Unsettled: the mean still depends on the length of the window. Set `run.messages` to the number that is named there, or the largest of several, or raise \
                         `stop.max_replications`; if the mean goes on growing with the window, the load is more than the network carries.";

/// What unmeasured messages mean, once for all points.
const UNMEASURED: &str = "Not measured: messages still in flight when a finite run ends, slow ones above all. `run.mode = \"drain\"` measures all.";

/// A number without decimals that say nothing.
fn short(number: f64) -> String {
    crate::lab::number_text(number, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_intervals_that_are_left_are_named() {
        let narrowed = "the widest interval that more replications would narrow is 13%";
        let decided = "needs more replications at its ends, not more values between them (`compare --until-decided`)";
        assert_eq!(left(Some(0.13), None), narrowed);
        assert_eq!(left(Some(0.13), Some(0.2)), format!("{narrowed}; an interval of 20% {decided}"));
        assert_eq!(left(None, Some(0.2)), format!("an interval of 20% {decided}"));
        assert_eq!(left(None, None), "no interval is wider than 2%");
    }
}
