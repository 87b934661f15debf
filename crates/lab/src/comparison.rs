//! Two series of a sweep against each other: which is better, where, and by how much.

use std::num::NonZeroUsize;

use serde::Serialize;

use crate::claim::{Claim, Order, Scope};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::experiment::Experiment;
use crate::file::Quantity;
use crate::point::{Coordinate, Point};
use crate::run::{RunError, run_points};
use crate::statistics::Estimate;
use crate::store::Store;
use crate::sweep::{Observer, PointRuns};
use crate::verdict::{Comparison, Finding, judge_part, position};

/// How two series compare.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SeriesComparison {
    /// The one.
    pub a: String,
    /// The other.
    pub b: String,
    /// What is compared.
    pub quantity: Quantity,
    /// The unit of differences: `us` or `cycles` for times, else empty.
    pub unit: String,
    /// The confidence of each interval, such that all of them hold together with the experiment's.
    pub confidence: f64,
    /// The points, along the horizontal axis.
    pub points: Vec<Duel>,
    /// Where the better one changes.
    pub crossovers: Vec<Crossover>,
}

/// Two series at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Duel {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The value on the horizontal axis.
    pub at: String,
    /// The mean of what the first has more than the second, over replications with the same random numbers; `None` if one has no value.
    pub difference: Option<Estimate>,
    /// The series that is certainly better: lower, or higher where more is better. One that is saturated loses against one that is not.
    pub better: Option<String>,
}

/// Where the better of two series changes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Crossover {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The last point at which the one is certainly better, and the first at which the other is.
    pub between: [f64; 2],
    /// Where the mean difference is 0 on the line between the two points around it, if both have one.
    pub about: Option<f64>,
    /// Who is better before.
    pub before: String,
    /// Who is better from there on.
    pub after: String,
}

/// Compares two series of a sweep at all its points; runs what the store has not.
///
/// # Errors
/// If a series is not swept, and as [`run_sweep`](crate::run_sweep).
pub fn compare_series(
    experiment: &Experiment,
    (a, b): (&str, &str),
    quantity: Option<Quantity>,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn Observer,
) -> Result<SeriesComparison, RunError> {
    let key = experiment.series_key();
    let points = experiment.points()?;
    let names = names(&points, &key);
    for name in [a, b] {
        if !names.iter().any(|known| known == name) {
            let message = match &names[..] {
                [] => format!("`{key}` is not swept: there are no series to compare"),
                names => format!("`{name}` is no value of `{key}` in this sweep: expected one of {}", names.join(", ")),
            };
            let help = did_you_mean(name, names.iter().map(String::as_str));
            return Err(Diagnostic::file(experiment.path(), message).with_help(help).into());
        }
    }
    if a == b {
        return Err(
            Diagnostic::file(experiment.path(), format!("`{a}` is compared with itself: expected two series")).into()
        );
    }
    let quantity = quantity.unwrap_or_else(|| experiment.quantities()[0]);
    let Some(higher_is_better) = quantity.higher_is_better() else {
        let message =
            format!("whether a higher or a lower `{}` is better depends: compare something else", quantity.name());
        return Err(Diagnostic::file(experiment.path(), message).into());
    };
    let of_two = |point: &Point| point.coordinate(&key).is_some_and(|name| [a, b].contains(&name.text().as_str()));
    let points: Vec<Point> = points.into_iter().filter(of_two).collect();
    let runs = run_points(experiment, &points, jobs, store, observer)?;
    Ok(compared(experiment, (a, b), (quantity, higher_is_better), &points, &runs))
}

/// The values of a swept setting, each once.
fn names(points: &[Point], key: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in points.iter().filter_map(|point| point.coordinate(key)).map(Coordinate::text) {
        position(&mut names, name);
    }
    names
}

fn compared(
    experiment: &Experiment,
    (a, b): (&str, &str),
    (quantity, higher_is_better): (Quantity, bool),
    points: &[Point],
    runs: &[PointRuns],
) -> SeriesComparison {
    // What a claim that the one is lower comes to, point by point.
    let order = Order {
        lower: vec![a.to_owned()],
        higher: vec![b.to_owned()],
        by: 0.0,
        scope: Scope::Each,
        over: None,
        rise: Vec::new(),
    };
    let part = judge_part(experiment, &Claim::of_order(order, quantity), points, runs);
    let duel = |comparison: &Comparison| {
        let certain = matches!(comparison.finding, Finding::Holds | Finding::Fails);
        let lower = match comparison.difference {
            Some(Estimate { mean, half_width: Some(half), .. }) if certain && half < mean.abs() => Some(mean < 0.0),
            None if certain => Some(comparison.finding == Finding::Holds),
            _ => None,
        };
        let better = lower.map(|lower| if lower == higher_is_better { b } else { a }.to_owned());
        // The series' name carries the other settings.
        let of = comparison.series.strip_prefix(a).unwrap_or_default().trim();
        let of = of.strip_prefix('(').and_then(|of| of.strip_suffix(')')).unwrap_or(of).to_owned();
        Duel { of, at: comparison.at.clone(), difference: comparison.difference, better }
    };
    let duels: Vec<Duel> = part.comparisons.iter().map(duel).collect();
    SeriesComparison {
        a: a.to_owned(),
        b: b.to_owned(),
        quantity,
        unit: part.unit,
        confidence: part.confidence,
        crossovers: duels.chunk_by(|one, next| one.of == next.of).flat_map(crossovers).collect(),
        points: duels,
    }
}

/// Where the certain winner changes along the horizontal axis, if that has numbers.
fn crossovers(duels: &[Duel]) -> Vec<Crossover> {
    let mut found = Vec::new();
    let mut last: Option<(usize, &str, f64)> = None;
    for (index, duel) in duels.iter().enumerate() {
        let (Some(better), Ok(x)) = (&duel.better, duel.at.parse::<f64>()) else { continue };
        if let Some((from, before, before_x)) = last
            && before != better
        {
            // Of all neighbours between the two, those whose means have different signs.
            let about = duels[from..=index].windows(2).find_map(|pair| {
                let [(x1, d1), (x2, d2)] = [(&pair[0].at, pair[0].difference), (&pair[1].at, pair[1].difference)];
                let (x1, x2) = (x1.parse::<f64>().ok()?, x2.parse::<f64>().ok()?);
                let (d1, d2) = (d1?.mean, d2?.mean);
                ((d1 < 0.0) != (d2 < 0.0)).then(|| d1.mul_add((x2 - x1) / (d1 - d2), x1))
            });
            let (before, after) = (before.to_owned(), better.clone());
            found.push(Crossover { of: duel.of.clone(), between: [before_x, x], about, before, after });
        }
        last = Some((index, better, x));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duel(at: &str, difference: Option<(f64, f64)>, better: Option<&str>) -> Duel {
        let estimate = |(mean, half)| Estimate { mean, half_width: Some(half), count: 5 };
        Duel {
            of: String::new(),
            at: at.to_owned(),
            difference: difference.map(estimate),
            better: better.map(str::to_owned),
        }
    }

    #[test]
    fn crossovers_lie_between_certain_points() {
        let duels = [
            duel("1", Some((-4.0, 1.0)), Some("a")),
            duel("2", Some((-1.0, 2.0)), None),
            duel("3", Some((3.0, 1.0)), Some("b")),
            duel("4", None, Some("b")),
        ];
        let [found] = &crossovers(&duels)[..] else { panic!("one crossover") };
        assert_eq!((found.between, found.about), ([1.0, 3.0], Some(2.25)));
        assert_eq!((found.before.as_str(), found.after.as_str()), ("a", "b"));
        // By saturation alone, nobody knows where in between.
        let settled = [duel("1", Some((-4.0, 1.0)), Some("a")), duel("2", None, Some("b"))];
        assert_eq!(crossovers(&settled)[0].about, None);
        assert!(crossovers(&duels[..2]).is_empty() && crossovers(&duels[2..]).is_empty());
    }
}
