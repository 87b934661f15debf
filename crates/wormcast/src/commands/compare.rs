//! `wormcast compare`: series of an experiment against each other.

mod text;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::experiment::SettingArguments;
use super::results::{AGAIN, Places, failure, threads, unusable, watched};
use super::{Format, write_json};
use crate::failure::Failure;
use crate::lab::{PlotError, Quantity, SeriesComparison, compare_series, plot, write_file};
use crate::program;

/// Compare algorithms, or values of whatever an experiment calls its series: which is best, where, and by how much.
///
/// Two are compared with each other, one with all others; several, or without a name all, are ranked at each point. All meet the same
/// random numbers. Intervals are those of the differences, so wide that all of them hold together; of two series as many replications
/// count as both have, and what lacks is run. A plot of what is compared is written to the output folder.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast compare --set topology=mesh:32x32 --set traffic.arrivals.rate=0.001")]
pub(crate) struct Arguments {
    /// The series, such as algorithms, and at the end the experiment file; without a file, the built-in experiment: latency against
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
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How figures are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn quantity(name: &str) -> Result<Quantity, String> {
    Quantity::named(name).ok_or_else(|| {
        let names = Quantity::names().collect::<Vec<_>>();
        let meant = crate::network::did_you_mean(name, names.iter().copied());
        format!("expected one of {}{meant}", names.join(", "))
    })
}

/// The comparison and the files that show it.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    comparison: &'a SeriesComparison,
    /// The plots that were written.
    plots: Vec<String>,
}

fn is_toml(argument: &str) -> bool {
    Path::new(argument).extension().is_some_and(|ending| ending == "toml")
}

impl Arguments {
    /// The names of series and the experiment file: the last argument, if it is a file or is named like one.
    fn split(&self) -> (&[String], Option<&Path>) {
        match self.what.split_last() {
            Some((last, names)) if is_toml(last) || Path::new(last).is_file() => (names, Some(Path::new(last))),
            _ => (&self.what, None),
        }
    }
}

/// The part of a file's name that says which series were named, so that a pair does not replace the plot of all of them.
fn file_part(names: &[String]) -> String {
    // File systems allow 255 bytes, some of them fewer characters than that.
    const MOST: usize = 100;
    let safe = |name: &String| {
        let kept = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
        name.split(|c| !kept(c)).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let all: String = names.iter().flat_map(|name| ["-".to_owned(), safe(name)]).collect();
    match names {
        [first, others @ ..] if all.len() > MOST => {
            let first: String = safe(first).chars().take(MOST / 4).collect();
            if others.is_empty() { format!("-{first}") } else { format!("-{first}-and-{}-more", others.len()) }
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
    let experiment = arguments.settings.read(file, &[])?;
    let places = &arguments.places;
    places.make()?;
    let mut store = program::store(&places.store()).map_err(unusable)?;
    let jobs = threads(arguments.jobs);
    let compared = watched(&mut store, AGAIN, |store, progress| {
        compare_series(&experiment, names, arguments.y, jobs, store, progress)
    })
    .map_err(failure)?;
    let mut plots = Vec::new();
    let stem = format!("{}{}-comparison", arguments.settings.stem(file), file_part(names));
    match plot(&compared.figure, &compared.summaries) {
        Ok(plot) => {
            for (ending, contents) in [("svg", plot.svg.as_bytes()), ("png", &plot.png)] {
                let path = places.folder().join(format!("{stem}.{ending}"));
                write_file(&path, contents).map_err(Failure::failed)?;
                plots.push(path.display().to_string());
            }
        }
        Err(error @ PlotError::Empty { .. }) => Failure::warn(&error.to_string()),
        Err(error) => return Err(Failure::failed(error)),
    }
    match arguments.format {
        Format::Json => write_json(out, &Answer { comparison: &compared.comparison, plots })?,
        Format::Text => {
            text::print(&compared.comparison, names, out)?;
            if !plots.is_empty() {
                writeln!(out, "Wrote {}.", plots.join(", "))?;
            }
        }
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::file_part;

    #[test]
    fn the_names_of_series_make_short_and_safe_names_of_files() {
        let part = |names: &[&str]| file_part(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(part(&[]), "");
        assert_eq!(part(&["dual-path", "u-mesh"]), "-dual-path-u-mesh");
        assert_eq!(part(&["../a b", "random:nodes=9,degree=2.5"]), "-..-a-b-random-nodes-9-degree-2.5");
        assert_eq!(part(&["minimal-negative-first"; 7]), "-minimal-negative-first-and-6-more");
        assert!(part(&["\u{e9}".repeat(500).as_str()]).len() <= 101);
    }
}
