//! `wormcast compare`: series of an experiment against each other.

mod text;

use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::experiment::{SettingArguments, warn_of_idle};
use super::output::{Files, write_plot};
use super::results::{AGAIN, Places, failure, threads, unless_deadlocked, unusable, with_progress};
use super::safety::warn_of_unsafe_points;
use super::{Format, write_json};
use crate::failure::Failure;
use crate::lab::{
    Quantity, SeriesComparison, State, check_comparison, compare_series, file_part, plot_comparison, write_file,
};
use crate::network::input::is_standard_input;
use crate::network::text::{expected_name, nearest};
use crate::program;
use crate::usage::positive;

/// Compare algorithms, or values of whatever an experiment calls its series: which is best, where, and by how much.
///
/// Two names are compared with each other, and one with all others; with more names, or with none, all are ranked at each point. All meet
/// the same random numbers. The intervals are those of the differences, and wide enough for all of them to hold at once. Two series are
/// compared by the replications that both have; those that are missing are run. A plot of the comparison is written to the output folder.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast compare --set topology=mesh:32x32 --set traffic.arrivals.rate=0.001")]
pub(crate) struct Arguments {
    /// The series, such as algorithms, and at the end the experiment file, `-` for standard input; without a file, the built-in experiment: latency against
    /// arrival rate for 10 destinations in a 16x16 mesh.
    #[arg(value_name = "SERIES… EXPERIMENT.toml")]
    what: Vec<String>,
    #[command(flatten)]
    settings: SettingArguments,
    /// What to compare, such as `latency.mean`; by default what the experiment plots.
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    y: Option<Quantity>,
    #[command(flatten)]
    places: Places,
    /// Add replications and loads where they help to decide, the cheapest first, until it is certain at each of the experiment's points which series is best,
    /// and each crossing is known to within 2%. Adds at most this many replications.
    #[arg(long, value_name = "BUDGET", value_parser = positive::<NonZeroU64>)]
    until_decided: Option<NonZeroU64>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// How figures are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn quantity(name: &str) -> Result<Quantity, String> {
    let names = || Quantity::names().collect::<Vec<_>>();
    Quantity::named(name).ok_or_else(|| format!("there is no such quantity{}", expected_name(name, names())))
}

/// The comparison and the files that show it.
#[derive(Serialize)]
struct ComparisonJson<'a> {
    #[serde(flatten)]
    comparison: &'a SeriesComparison,
    /// The plots that were written.
    plots: Vec<String>,
}

fn is_toml(argument: &str) -> bool {
    Path::new(argument).extension().is_some_and(|ending| ending == "toml")
}

/// The experiment file that a name may stand for: without its ending, or as a slip.
fn file_like(name: &str) -> Option<String> {
    let whole = format!("{name}.toml");
    if Path::new(&whole).is_file() {
        return Some(whole);
    }
    let folder = Path::new(name).parent()?;
    let there = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.read_dir().ok()?;
    let files = there.flatten().filter_map(|entry| Some(folder.join(entry.file_name()).to_str()?.to_owned()));
    let files: Vec<String> = files.filter(|file| is_toml(file)).collect();
    // A name with a point in it is meant as a file: series have none.
    let near = nearest(name, files.iter().map(String::as_str)).filter(|_| name.contains('.'));
    near.map(str::to_owned)
}

impl Arguments {
    /// The names of series and the experiment file: the last argument, if it is a file or is named like one.
    fn split(&self) -> (&[String], Option<&Path>) {
        match self.what.split_last() {
            Some((last, names)) if is_toml(last) || is_standard_input(last) || Path::new(last).is_file() => {
                (names, Some(Path::new(last)))
            }
            _ => (&self.what, None),
        }
    }
}

/// The part of a file's name that says which series were named, so that a pair does not replace the plot of all of them.
fn series_part(names: &[String]) -> String {
    // File systems allow 255 bytes, some of them fewer characters than that.
    const MOST: usize = 100;
    let all = file_part(names);
    match names {
        [first, others @ ..] if all.len() > MOST => {
            let first: String = file_part(&[first]).chars().take(MOST / 4 + 1).collect();
            if others.is_empty() { first } else { format!("{first}-and-{}-more", others.len()) }
        }
        _ => all,
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let (names, file) = arguments.split();
    if let Some(misplaced) = names.iter().find(|name| is_toml(name)) {
        let message = format!("`{misplaced}` is not the last argument: expected series, and then one experiment file");
        return Err(Failure::BadInput(message));
    }
    let places = &arguments.places;
    let experiment = places.named(arguments.settings.read(file, &[])?);
    // A name that was given is the user's business.
    let series = if places.name().is_some() { String::new() } else { series_part(names) };
    let quantity =
        arguments.y.map_or_else(String::new, |quantity| format!("-{}", quantity.name().replace(['.', '_'], "-")));
    let stem = format!("{}{series}{quantity}-comparison", experiment.name());
    let points = experiment.points().map_err(Failure::diagnostic)?;
    let plot = |ending| Some(places.folder().join(format!("{stem}.{ending}")));
    Files::default()
        .writes("--store", Some(places.store()))
        .writes("the plot", plot("svg"))
        .writes("the plot", plot("png"))
        .reads_experiment(file, &experiment, &points)
        .check()?;
    // Before anything is made or written.
    if let (None, Some(last)) = (file, names.last()) {
        let is_swept = points.iter().flat_map(|point| &point.coordinates).any(|value| value.text() == *last);
        if let Some(named) = file_like(last).filter(|_| !is_swept) {
            let message =
                format!("`{last}` is no value that the built-in experiment sweeps: did you mean the file `{named}`?");
            return Err(Failure::BadInput(message));
        }
    }
    check_comparison(&experiment, names, arguments.y).map_err(Failure::diagnostic)?;
    let made = experiment.jobs(&points).map_err(Failure::diagnostic)?;
    warn_of_idle(&experiment, &points, &made)?;
    warn_of_unsafe_points(&experiment, &points, &made);
    places.make()?;
    let mut store = program::store(&places.store()).map_err(unusable)?;
    let jobs = threads(arguments.jobs);
    let compared = with_progress(&mut store, AGAIN, |store, progress| {
        compare_series(
            &experiment,
            names,
            arguments.y,
            arguments.until_decided.map(NonZeroU64::get),
            jobs,
            store,
            progress,
        )
    })
    .map_err(failure)?;
    let mut plots = Vec::new();
    match plot_comparison(&compared) {
        Ok(plot) => write_plot(&stem, &plot, |name, contents| {
            let path = places.folder().join(name);
            plots.push(path.display().to_string());
            write_file(&path, contents).map_err(Failure::failed)
        })?,
        Err(error) if error.is_empty() => Failure::warn(&error.to_string()),
        Err(error) => return Err(Failure::failed(error)),
    }
    match arguments.format {
        Format::Json => write_json(out, &ComparisonJson { comparison: &compared.comparison, plots })?,
        Format::Text => {
            text::print(&compared.comparison, names, out)?;
            if !plots.is_empty() {
                writeln!(out, "Wrote {}.", plots.join(", "))?;
            }
        }
    }
    out.flush()?;
    let standings = compared.comparison.points.iter().flat_map(|point| &point.standings);
    unless_deadlocked(standings.map(|standing| standing.state == State::Deadlocked), None)
}

#[cfg(test)]
mod tests {
    use super::series_part;

    #[test]
    fn the_names_of_series_make_short_and_safe_names_of_files() {
        let part = |names: &[&str]| series_part(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(part(&[]), "");
        assert_eq!(part(&["dual-path", "u-mesh"]), "-dual-path-u-mesh");
        assert_eq!(part(&["../a b", "random:nodes=9,degree=2.5"]), "-..-a-b-random-nodes-9-degree-2.5");
        assert_eq!(part(&["minimal-negative-first"; 7]), "-minimal-negative-first-and-6-more");
        assert!(part(&["\u{e9}".repeat(500).as_str()]).len() <= 101);
    }
}
