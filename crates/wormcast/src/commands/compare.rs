//! `wormcast compare`: two series of an experiment against each other.

use std::io::Write;
use std::num::NonZeroUsize;

use clap::Args;

use super::experiment::ExperimentArguments;
use super::results::{AGAIN, Places, failure, threads, unusable, watched};
use super::{Format, write_json};
use crate::failure::Failure;
use crate::lab::{Crossover, Duel, Quantity, SeriesComparison, Store, compare_series};

/// Compare two algorithms, or two values of whatever an experiment calls its series: which is better, where, and by how much.
///
/// Both meet the same random numbers, and intervals are those of the differences, so wide that all of them hold together. What the
/// store lacks is run.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast compare pure-negative-first minimal-negative-first")]
pub(crate) struct Arguments {
    /// The one series, such as an algorithm.
    #[arg(value_name = "A")]
    a: String,
    /// The other.
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    experiment: ExperimentArguments,
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

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = arguments.experiment.read(&[])?;
    arguments.places.make()?;
    let mut store = Store::open(&arguments.places.store()).map_err(unusable)?;
    let jobs = threads(arguments.jobs);
    let names = (arguments.a.as_str(), arguments.b.as_str());
    let comparison = watched(&mut store, AGAIN, |store, progress| {
        compare_series(&experiment, names, arguments.y, jobs, store, progress)
    })
    .map_err(failure)?;
    match arguments.format {
        Format::Json => write_json(out, &comparison)?,
        Format::Text => print(&comparison, out)?,
    }
    Ok(out.flush()?)
}

fn print(comparison: &SeriesComparison, out: &mut dyn Write) -> std::io::Result<()> {
    let SeriesComparison { a, b, quantity, confidence, points, crossovers, .. } = comparison;
    let unit = if comparison.unit == "us" { "µs" } else { &comparison.unit };
    let name = quantity.name();
    writeln!(out, "{a} against {b}: {name}, differences with {:.3}% confidence each", 100.0 * confidence)?;
    let of = |of: &str| if of.is_empty() { String::new() } else { format!("{of}, ") };
    for Duel { of: others, at, difference, better } in points {
        let by = match difference {
            Some(estimate) => {
                let sign = if estimate.mean > 0.0 { "+" } else { "" };
                format!("{sign}{} {unit}, {} pairs", estimate.text(), estimate.count).replace(" ,", ",")
            }
            None if better.is_some() => "the other is saturated".to_owned(),
            None => "nothing to compare: both are saturated, or have no results".to_owned(),
        };
        let better = better.as_deref().unwrap_or("open");
        writeln!(out, "  {}{at:<14}{better:<28}{}", of(others), by.trim_end())?;
    }
    for Crossover { of: others, between: [from, to], about, before, after } in crossovers {
        let about = about.map_or_else(String::new, |about| format!(", about {about:.6}"));
        writeln!(out, "{}{before} is better up to {from}, {after} from {to} on{about}", of(others))?;
    }
    let wins = |name: &str| points.iter().filter(|duel| duel.better.as_deref() == Some(name)).count();
    let open = points.iter().filter(|duel| duel.better.is_none()).count();
    writeln!(out, "{a} is better at {} of {} points, {b} at {}; {open} are open", wins(a), points.len(), wins(b))
}
