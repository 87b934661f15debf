//! Series of a sweep against each other: which is best, where, and by how much.

mod ranking;
mod series;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;

use serde::Serialize;

use self::ranking::{Arena, Outcome as At};
use self::series::{chosen, series_key};
use crate::claim::{Claim, Order, Scope};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::file::Stop;
use crate::point::Point;
use crate::quantity::Quantity;
use crate::run::{RunError, run_points, run_points_until};
use crate::statistics::{Estimate, number_text};
use crate::stopping::Outcome;
use crate::store::Store;
use crate::summary::{PointSummary, summarise};
use crate::sweep::{Observer, PointRuns};
use crate::verdict::{Court, Entry, position};

/// How series compare.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SeriesComparison {
    /// The swept setting whose values are the series.
    pub key: String,
    /// The series.
    pub series: Vec<String>,
    /// What differences are from: a series, or `None` for the one with the best mean at each point.
    pub reference: Option<String>,
    /// What is compared.
    pub quantity: Quantity,
    /// The unit of values and differences: `us` or `cycles` for times, else empty.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// The pairs of series that are compared, over all points.
    pub pairs: usize,
    /// The confidence of each difference's interval, such that all of them hold together with the experiment's.
    pub confidence: f64,
    /// The swept setting along the horizontal axis; `None` if there is no other than the series.
    pub along: Option<String>,
    /// The points, along the horizontal axis.
    pub points: Vec<ComparedPoint>,
    /// Where the best one changes.
    pub crossovers: Vec<Crossover>,
}

/// All series at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedPoint {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The value on the horizontal axis; empty if there is none.
    pub at: String,
    /// The series that is certainly the best: all others are certainly worse than some other. Saturated and deadlocked ones are worse
    /// than those that are not.
    pub best: Option<String>,
    /// The series that are not certainly worse than another: one of them is the best.
    pub contenders: Vec<String>,
    /// What differences are from here; `None` if no series has a value.
    pub reference: Option<String>,
    /// The series: as they were named, or from the best mean to the worst.
    pub standings: Vec<Standing>,
}

/// A series at a point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Standing {
    /// The series.
    pub series: String,
    /// Whether it has a value.
    pub state: State,
    /// Its mean, with the interval that plots show.
    pub value: Option<Estimate>,
    /// How much more it is than the reference, over the replications that both have, which have the same random numbers.
    pub difference: Option<Estimate>,
    /// Whether it is certainly better or worse than the reference; `None` if that is open.
    pub relation: Option<Relation>,
}

/// Whether a series has a value at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has.
    Measured,
    /// Messages pile up: latencies have no mean.
    Saturated,
    /// Worms wait for each other for ever.
    Deadlocked,
    /// No replication has a value.
    NoResult,
}

/// How a series is to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Certainly better.
    Better,
    /// Certainly worse.
    Worse,
}

/// Where the best of the series changes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Crossover {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The last point at which the one is certainly the best, and the first at which the other is.
    pub between: [f64; 2],
    /// Where their mean difference is 0 on the line between the two points around it, if both have one.
    pub about: Option<f64>,
    /// Who is best before.
    pub before: String,
    /// Who is best from there on.
    pub after: String,
}

impl fmt::Display for Crossover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, between: [from, to], about, before, after } = self;
        let of = if of.is_empty() { String::new() } else { format!("{of}: ") };
        write!(f, "{of}{before} is best up to {from}, {after} from {to} on")?;
        about.map_or(Ok(()), |about| write!(f, ", about {}", number_text(about, 4)))
    }
}

/// A comparison, and what is needed to draw it.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// What it says.
    pub comparison: SeriesComparison,
    /// What a plot of it shows: the quantity along the horizontal axis, or for each series if there is no other setting.
    pub figure: Figure,
    /// What it is about.
    pub summaries: Vec<PointSummary>,
}

/// Compares series of a sweep at all its points: two with each other, one with all others, and otherwise each of those named, or of all,
/// with each other. Runs what the store lacks, and as many replications of each series at a point as the one with most has.
///
/// # Errors
/// If a series is not swept, or the quantity has no better side or is not measured; and as [`run_sweep`](crate::run_sweep).
pub fn compare_series(
    experiment: &Experiment,
    names: &[String],
    quantity: Option<Quantity>,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn Observer,
) -> Result<Compared, RunError> {
    let points = experiment.points()?;
    let key = series_key(experiment, &points)?;
    let field = chosen(experiment, &points, &key, names)?;
    let quantity = quantity.unwrap_or_else(|| experiment.quantities()[0]);
    let Some(higher_is_better) = quantity.higher_is_better() else {
        let message =
            format!("whether a higher or a lower `{}` is better depends: compare something else", quantity.name());
        return Err(Diagnostic::file(experiment.path(), message).into());
    };
    if !experiment.may_measure(quantity) {
        let all = Quantity::ALL.iter().map(|&(_, other)| other);
        return Err(unmeasured(experiment, quantity, all.filter(|&other| experiment.may_measure(other))).into());
    }
    let compared = |point: &Point| point.coordinate(&key).is_some_and(|name| field.series.contains(&name.text()));
    let points: Vec<Point> = points.into_iter().filter(compared).collect();
    let runs = run_points(experiment, &points, jobs, store, observer)?;
    check_measured(experiment, quantity, &runs)?;
    let runs = evened(experiment, (&points, runs), &key, jobs, store, observer)?;
    let settings = Settings { key, field, quantity, higher_is_better };
    let comparison = settings.compare(experiment, &points, &runs);
    let figure = settings.figure(experiment, &points);
    let summaries = summarise(&points, &runs, experiment.stop().confidence, Some(&settings.key));
    Ok(Compared { comparison, figure, summaries })
}

/// Ranks all series of a sweep by what there is of them, without running anything; `None` if they have no names but numbers, if the
/// quantity has no better side, or if nothing is certain.
pub(crate) fn rank_series(
    experiment: &Experiment,
    points: &[Point],
    runs: &[PointRuns],
    quantity: Quantity,
) -> Option<SeriesComparison> {
    let higher_is_better = quantity.higher_is_better()?;
    let key = series_key(experiment, points).ok()?;
    if points.iter().any(|point| !point.coordinate(&key).is_some_and(|name| name.value.is_string())) {
        return None;
    }
    let field = chosen(experiment, points, &key, &[]).ok()?;
    let comparison = Settings { key, field, quantity, higher_is_better }.compare(experiment, points, runs);
    let mut standings = comparison.points.iter().flat_map(|point| &point.standings);
    standings.any(|standing| standing.relation.is_some()).then_some(comparison)
}

/// Who is compared with whom.
struct Field {
    series: Vec<String>,
    /// With whom all others are compared, if not each with each.
    reference: Option<String>,
    /// Whether they are listed by their values.
    sorted: bool,
}

/// What is compared.
struct Settings {
    key: String,
    field: Field,
    quantity: Quantity,
    higher_is_better: bool,
}

impl Settings {
    fn compare(&self, experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> SeriesComparison {
        let Self { key, field, quantity, higher_is_better } = self;
        let order = Order {
            lower: field.series.clone(),
            higher: field.series.clone(),
            by: 0.0,
            scope: Scope::Each,
            over: None,
            rise: Vec::new(),
        };
        let claim = Claim { series: vec![key.clone()], ..Claim::of_order(order, *quantity) };
        let court = Court::new(experiment, &claim, points, runs);
        let reference = field.reference.as_ref().and_then(|name| field.series.iter().position(|one| one == name));
        let count = field.series.len();
        let pairs_at_a_point = if reference.is_some() { count - 1 } else { count * (count - 1) / 2 };
        let pairs = pairs_at_a_point * court.contexts.len() * court.places.len();
        let confidence = court.shared_confidence(pairs);
        let mut ranked = Vec::new();
        let mut crossovers = Vec::new();
        for context in 0..court.contexts.len() {
            let at = |place| {
                let of = |name: &String| {
                    court
                        .entry(context, name, place)
                        .map_or(At::NoResult, |entry| self.outcome(entry, court.scale(entry.point)))
                };
                field.series.iter().map(of).collect()
            };
            let arenas: Vec<Arena> = (0..court.places.len())
                .map(|place| Arena::new(at(place), reference, *higher_is_better, confidence))
                .collect();
            let of = &court.contexts[context];
            for (arena, place) in arenas.iter().zip(&court.places) {
                ranked.push(arena.point(field, of, &place.text, experiment.stop().confidence));
            }
            let numbers: Option<Vec<f64>> = court.places.iter().map(|place| place.number).collect();
            if let Some(numbers) = numbers {
                crossovers.extend(ranking::crossovers(&field.series, of, &numbers, &arenas));
            }
        }
        SeriesComparison {
            key: key.clone(),
            series: field.series.clone(),
            reference: field.reference.clone(),
            quantity: *quantity,
            unit: court.unit_name().to_owned(),
            higher_is_better: *higher_is_better,
            pairs,
            confidence,
            along: experiment.claim_axis(&claim).filter(|along| experiment.swept().contains(&along.as_str())),
            points: ranked,
            crossovers,
        }
    }

    /// What a series has at a point, in the unit that is `scale` times the runs'.
    fn outcome(&self, entry: &Entry<'_>, scale: f64) -> At {
        match entry.runs.outcome {
            Outcome::Saturated if self.quantity.is_latency() => At::Saturated,
            Outcome::Deadlocked => At::Deadlocked,
            Outcome::Incomplete => At::NoResult,
            _ => {
                let values = entry.runs.runs.iter().map(|run| self.quantity.of(run).map(|value| value * scale));
                let values: Vec<Option<f64>> = values.collect();
                if values.iter().any(Option::is_some) { At::Values(values) } else { At::NoResult }
            }
        }
    }

    /// The plot of what is compared.
    fn figure(&self, experiment: &Experiment, points: &[Point]) -> Figure {
        let mut networks: Vec<&str> = Vec::new();
        for point in points {
            position(&mut networks, point.spec.topology.as_str());
        }
        let network = if let [network] = networks[..] { format!(", {network}") } else { String::new() };
        // Other settings than those that the file's title speaks of may be compared.
        let title = format!("Comparison by {}{network}", self.key);
        let plotted = experiment.figure().filter(|figure| figure.along.as_ref() != Some(&self.key));
        let figure = plotted.unwrap_or_else(|| Figure {
            title: String::new(),
            x: self.key.clone(),
            along: None,
            log: false,
            y: self.quantity,
            series: None,
            unit: experiment.unit(),
            confidence: experiment.stop().confidence,
        });
        Figure { title, y: self.quantity, series: Some(self.key.clone()), ..figure }
    }
}

/// Runs further replications, so that all series of a point have as many as the one with most; those that are saturated or deadlocked
/// have nothing to pair. How points ended stays as it was: only a deadlock that turns up counts.
fn evened(
    experiment: &Experiment,
    (points, mut runs): (&[Point], Vec<PointRuns>),
    key: &str,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn Observer,
) -> Result<Vec<PointRuns>, RunError> {
    let measured = |runs: &PointRuns| matches!(runs.outcome, Outcome::Precise | Outcome::Exhausted);
    let beside = |point: &Point| -> Vec<usize> {
        point.coordinates.iter().zip(&point.choice).filter(|(c, _)| c.key != key).map(|(_, &choice)| choice).collect()
    };
    let mut most: HashMap<Vec<usize>, usize> = HashMap::new();
    for (point, of_point) in points.iter().zip(&runs).filter(|(_, of_point)| measured(of_point)) {
        let most = most.entry(beside(point)).or_default();
        *most = of_point.runs.len().max(*most);
    }
    let mut lacking: Vec<(usize, usize)> = Vec::new();
    for (index, (point, of_point)) in points.iter().zip(&runs).enumerate().filter(|(_, (_, runs))| measured(runs)) {
        let target = most[&beside(point)];
        if of_point.runs.len() < target {
            lacking.push((target, index));
        }
    }
    lacking.sort_unstable();
    for group in lacking.chunk_by(|a, b| a.0 == b.0) {
        let replications = group[0].0 as u32;
        let stop =
            Stop { min_replications: replications, max_replications: Some(replications), ..experiment.stop().clone() };
        let of_group: Vec<Point> = group.iter().map(|&(_, index)| points[index].clone()).collect();
        let further = run_points_until(experiment, &of_group, &stop, jobs, store, observer)?;
        for (&(_, index), further) in group.iter().zip(further) {
            let old = runs[index].outcome;
            let outcome = if further.outcome == Outcome::Deadlocked { further.outcome } else { old };
            runs[index] = PointRuns { outcome, runs: further.runs };
        }
    }
    Ok(runs)
}

/// Whether any run has a value, unless all are saturated.
fn check_measured(experiment: &Experiment, quantity: Quantity, runs: &[PointRuns]) -> Result<(), Diagnostic> {
    let has =
        |quantity: Quantity| runs.iter().flat_map(|of_point| &of_point.runs).any(|run| quantity.of(run).is_some());
    let hidden = |of_point: &PointRuns| matches!(of_point.outcome, Outcome::Saturated | Outcome::Deadlocked);
    let measured: Vec<Quantity> = Quantity::ALL.iter().map(|&(_, other)| other).filter(|&other| has(other)).collect();
    if measured.contains(&quantity) || !measured.iter().any(|other| other.is_latency()) && runs.iter().all(hidden) {
        return Ok(());
    }
    Err(unmeasured(experiment, quantity, measured))
}

fn unmeasured(experiment: &Experiment, quantity: Quantity, measured: impl IntoIterator<Item = Quantity>) -> Diagnostic {
    let comparable = measured.into_iter().filter(|measured| measured.higher_is_better().is_some());
    let names: Vec<&str> = comparable.map(Quantity::name).collect();
    let expected = if names.is_empty() { String::new() } else { format!(": expected one of {}", names.join(", ")) };
    let message = format!("`{}` is not measured in this experiment{expected}", quantity.name());
    Diagnostic::file(experiment.path(), message).with_help(did_you_mean(quantity.name(), names))
}
