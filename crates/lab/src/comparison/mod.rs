//! Compares series of a sweep: which is best, where, and by how much.

mod decide;
mod ranking;
mod series;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::num::NonZeroUsize;

use serde::Serialize;
use wormcast_network::text::short_list;

use self::decide::{Decided, Measured, Work, unlimited};
use self::ranking::{Arena, Outcome as At};
use self::series::{chosen, series_key};
use crate::experiment::Experiment;
use crate::experiment::claim::{Claim, Order, Scope};
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::Point;
use crate::figure::Figure;
use crate::runs::run::RunError;
use crate::runs::stopping::Outcome;
use crate::runs::sweep::{Budget, PointRuns, SweepObserver};
use crate::statistics::Estimate;
use crate::statistics::quantity::Quantity;
use crate::store::Store;
use crate::verdict::{Entry, FEW_EQUAL, Measurements, position};

/// How series compare.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SeriesComparison {
    /// The swept setting whose values are the series.
    pub key: String,
    /// The series.
    pub series: Vec<String>,
    /// The series that differences are taken from, or `None` for the one with the best mean at each point.
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
    /// Where the order of two of them changes.
    pub crossings: Vec<Crossing>,
    /// What was added to decide, if that was asked for.
    #[serde(rename = "until_decided", skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionCost>,
}

/// What was added so that a comparison decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct DecisionCost {
    /// Replications that might be added.
    pub budget: u64,
    /// Replications that were added.
    pub spent: u64,
    /// Whether everything is decided: a certain best at each of the experiment's own points, unless contenders are equal in all pairs, and
    /// where series change places to 2%.
    pub done: bool,
    /// Replications that it would take to decide the rest, if differences and their variances stay what they are; `None` if everything is
    /// decided, or if that cannot be estimated.
    pub needed: Option<u64>,
    /// Whether that is the least: further values are to be added, and how many replications these take besides cannot be told.
    pub at_least: bool,
    /// Whether something is open that nothing decides: an interval into which no further value fits, or a series without results.
    pub stuck: bool,
}

/// All series at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedPoint {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The value on the horizontal axis; empty if there is none.
    pub at: String,
    /// Whether the value was added to narrow down where series change places. Which series is best here may stay open.
    pub added: bool,
    /// The series that is certainly the best: all others are certainly worse than some other. Saturated and deadlocked ones are worse
    /// than those that are not.
    pub best: Option<String>,
    /// The series that are not certainly worse than another: one of them is the best.
    pub contenders: Vec<String>,
    /// The series that differences are taken from here; `None` if no series has a value.
    pub reference: Option<String>,
    /// The series: as they were named, or from the best mean to the worst.
    pub standings: Vec<Standing>,
}

impl ComparedPoint {
    /// Whether any mean here still depends on the length of its window.
    pub fn depends_on_windows(&self) -> bool {
        self.standings.iter().any(|standing| standing.state == State::Unsettled)
    }

    /// Why no series carries the load, in words; `None` if one does, or may.
    pub fn all_fail(&self) -> Option<&'static str> {
        let all = |states: &[State]| self.standings.iter().all(|standing| states.contains(&standing.state));
        if all(&[State::Saturated]) {
            Some("all are saturated")
        } else if all(&[State::Deadlocked]) {
            Some("all are deadlocked")
        } else {
            all(&[State::Saturated, State::Deadlocked]).then_some("all are saturated or deadlocked")
        }
    }
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
    /// How much more it is than the reference, over the replications that both have.
    pub difference: Option<Estimate>,
    /// Whether these met the same messages, so that what messages have in common falls out of the difference. They did not where one of the two needed longer windows.
    pub same_messages: Option<bool>,
    /// Whether it is certainly better or worse than the reference; `None` if that is open.
    pub relation: Option<Relation>,
}

impl Standing {
    /// Why its difference decides nothing, if it is for want of runs and not because the interval is too wide.
    pub fn open_because(&self) -> Option<&'static str> {
        let difference = self.difference.filter(|of| of.count > 1 && self.relation.is_none())?;
        if difference.interval().is_none() {
            Some("no interval: it takes more runs")
        } else if difference.half_width == Some(0.0) && difference.mean != 0.0 {
            Some(FEW_EQUAL)
        } else {
            None
        }
    }
}

/// Whether a series has a value at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has a value.
    Measured,
    /// It has a value, but its mean still depends on the length of the window: what is certain holds for runs of this length.
    Unsettled,
    /// Messages pile up: latencies have no mean.
    Saturated,
    /// Worms wait for each other forever.
    Deadlocked,
    /// No replication has a value.
    NoResult,
}

/// How a series compares with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Certainly better.
    Better,
    /// Certainly worse.
    Worse,
}

/// Where the order of two series changes: somewhere in an interval, which is as narrow as what was run allows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Crossing {
    /// The other settings that are swept; empty if there are none.
    pub of: String,
    /// The series that is certainly better at `from`, and the one that is at `to`.
    pub between: [String; 2],
    /// The last value of the horizontal axis at which the first is certainly better.
    pub from: f64,
    /// The first value at which the second is.
    pub to: f64,
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, between: [first, then], from, to } = self;
        let of = if of.is_empty() { String::new() } else { format!("{of}: ") };
        write!(f, "{of}{first} is better than {then} up to {from}, and worse from {to} on")
    }
}

/// A comparison, and what is needed to draw it.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The comparison.
    pub comparison: SeriesComparison,
    /// What a plot of it shows the differences of: the quantity along the horizontal axis, or for each series if there is no other
    /// setting.
    pub figure: Figure,
}

/// Checks that an experiment has what [`compare_series`] would compare, without running anything, and without the [jobs](Experiment::jobs) of its points.
///
/// # Errors
/// If a series is not swept, or the quantity has no better side or is not measured.
pub fn check_comparison(
    experiment: &Experiment,
    names: &[String],
    quantity: Option<Quantity>,
) -> Result<(), Diagnostic> {
    settings(experiment, names, quantity).map(drop)
}

fn settings(experiment: &Experiment, names: &[String], quantity: Option<Quantity>) -> Result<Settings, Diagnostic> {
    let points = experiment.points()?;
    let key = series_key(experiment, &points)?;
    let field = chosen(experiment, &points, &key, names)?;
    let quantity = quantity.unwrap_or_else(|| experiment.quantities()[0]);
    let Some(higher_is_better) = quantity.higher_is_better() else {
        let message =
            format!("whether a higher or a lower `{}` is better depends: compare something else", quantity.name());
        return Err(Diagnostic::file(experiment.path(), message));
    };
    if !experiment.may_measure(quantity) {
        let all = Quantity::ALL.iter().map(|&(_, other)| other);
        return Err(unmeasured(experiment, quantity, all.filter(|&other| experiment.may_measure(other))));
    }
    Ok(Settings { key, field, quantity, higher_is_better })
}

/// Compares series of a sweep at all its points: two with each other, one with all others, and otherwise each of those named, or of all,
/// with each other. Runs what the store lacks, and as many replications of each series at a point as the one with most has.
///
/// With a budget, at most so many replications are added, until the intervals in which two series change places are at most 2% of their upper ends, and it
/// is certain which series is best at each of the experiment's own points. Values of the horizontal axis are added next to the ends of such intervals, and
/// replications where the order is open, the cheapest decision first. Each round at most doubles the replications of a point.
///
/// # Errors
/// If a series is not swept, or the quantity has no better side or is not measured; and as [`run_sweep`](crate::run_sweep).
pub fn compare_series(
    experiment: &Experiment,
    names: &[String],
    quantity: Option<Quantity>,
    budget: Option<u64>,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<Compared, RunError> {
    let settings = settings(experiment, names, quantity)?;
    let quantity = settings.quantity;
    let (mut replications, mut left) = (HashMap::new(), Budget::default());
    let mut work = Work { settings: &settings, jobs, store, observer };
    let first = work.measured(experiment, &mut left, &replications)?;
    let Some(mut measured) = first else {
        return Err(if left.is_stopped() { RunError::Stopped } else { unlimited(experiment).into() });
    };
    check_measured(experiment, quantity, &measured.runs)?;
    let mut refined = experiment.clone();
    let mut decision = None;
    if let Some(budget) = budget {
        left = Budget::of(budget);
        let Decided { done, stuck, needed } = work.decide(&mut refined, &mut measured, &mut left, &mut replications)?;
        let (at_least, needed) = (needed.is_some_and(|of| of.at_least), needed.map(|of| of.replications));
        decision = Some(DecisionCost { budget, spent: budget - left.left(), done, needed, at_least, stuck });
    }
    let Measured { points, runs } = measured;
    let mut comparison = SeriesComparison { decision, ..settings.compare(&refined, &points, &runs) };
    let own = places(experiment, comparison.along.as_deref())?;
    comparison.points.iter_mut().for_each(|point| point.added = !own.contains(&point.at));
    let figure = settings.figure(&refined, &points, comparison.along.as_deref());
    Ok(Compared { comparison, figure })
}

/// Where pairs of an experiment's series change places; nothing if there are no series that could be compared.
pub(crate) fn crossings_of(experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> Vec<Crossing> {
    let quantity = experiment.quantities()[0];
    let key = series_key(experiment, points).ok();
    let field = key.as_ref().and_then(|key| chosen(experiment, points, key, &[]).ok());
    let (Some(key), Some(field), Some(higher_is_better)) = (key, field, quantity.higher_is_better()) else {
        return Vec::new();
    };
    Settings { key, field, quantity, higher_is_better }.compare(experiment, points, runs).crossings
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

/// The values of the horizontal axis, as points say them.
fn places(experiment: &Experiment, along: Option<&str>) -> Result<BTreeSet<String>, Diagnostic> {
    let Some(along) = along else { return Ok(BTreeSet::from([String::new()])) };
    let points = experiment.points()?;
    Ok(points.iter().filter_map(|point| Some(point.coordinate(along)?.text())).collect())
}

/// Which series are compared with which.
struct Field {
    series: Vec<String>,
    /// The series that all others are compared with, if not each with each.
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
        self.ranked(experiment, points, runs).0
    }

    /// Compares, and returns what each of the comparison's points rests on, too.
    fn ranked(&self, experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> (SeriesComparison, Vec<Arena>) {
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
        let measured = Measurements::new((experiment, experiment), &claim, points, runs);
        let reference = field.reference.as_ref().and_then(|name| field.series.iter().position(|one| one == name));
        let count = field.series.len();
        let pairs_at_a_point = if reference.is_some() { count - 1 } else { count * (count - 1) / 2 };
        let pairs = pairs_at_a_point * measured.contexts.len() * measured.places.len();
        let confidence = measured.shared_confidence(pairs);
        // An axis of which one value was chosen is none.
        let along = experiment.claim_axis(&claim).filter(|along| experiment.swept().contains(&along.as_str()));
        let (mut ranked, mut all_arenas) = (Vec::new(), Vec::new());
        let mut crossings = Vec::new();
        for context in 0..measured.contexts.len() {
            let at = |place| {
                let of = |name: &String| {
                    measured.entry(context, name, place).map_or(At::NoResult, |entry| self.outcome(entry, &measured))
                };
                field.series.iter().map(of).collect()
            };
            let arenas: Vec<Arena> = (0..measured.places.len())
                .map(|place| Arena::new(at(place), reference, *higher_is_better, confidence))
                .collect();
            let of = &measured.contexts[context];
            for (arena, place) in arenas.iter().zip(&measured.places) {
                let at = if along.is_some() { &*place.text } else { "" };
                ranked.push(arena.point(field, of, at, experiment.stop().confidence));
            }
            let numbers: Option<Vec<f64>> = measured.places.iter().map(|place| place.number).collect();
            if let Some(numbers) = numbers {
                crossings.extend(ranking::crossings(&field.series, of, &numbers, &arenas));
            }
            all_arenas.extend(arenas);
        }
        let comparison = SeriesComparison {
            key: key.clone(),
            series: field.series.clone(),
            reference: field.reference.clone(),
            quantity: *quantity,
            unit: measured.unit_name().to_owned(),
            higher_is_better: *higher_is_better,
            pairs,
            confidence,
            along,
            points: ranked,
            crossings,
            decision: None,
        };
        (comparison, all_arenas)
    }

    /// What a series has at a point.
    fn outcome(&self, entry: &Entry<'_>, measured: &Measurements<'_>) -> At {
        match entry.runs.outcome {
            Outcome::Saturated if self.quantity.is_latency() => At::Saturated,
            Outcome::Deadlocked => At::Deadlocked,
            Outcome::Incomplete => At::NoResult,
            _ => {
                let values = measured.measured(entry.point, entry.runs);
                let settled = entry.runs.outcome != Outcome::Unsettled;
                let Some(estimate) = measured.estimate(entry.point, entry.runs) else { return At::NoResult };
                // Those of means follow from the values.
                let estimate = Some(estimate).filter(|one| one.ends.is_some() || one.half_width.is_none());
                let doubled = entry.runs.lengthened.map_or(0, |lengthened| lengthened.doubled);
                At::Values { values, settled, doubled, estimate }
            }
        }
    }

    /// The plot of what is compared along a setting.
    fn figure(&self, experiment: &Experiment, points: &[Point], along: Option<&str>) -> Figure {
        let mut networks: Vec<&str> = Vec::new();
        for point in points {
            position(&mut networks, point.spec.topology.as_str());
        }
        let network = if let [network] = networks[..] { format!(", {network}") } else { String::new() };
        let x = along.unwrap_or(&self.key).to_owned();
        let mut figure = Figure {
            title: String::new(),
            log_x: experiment.log_x(&x),
            x,
            along: along.map(str::to_owned),
            // Differences may be 0, or less.
            log_y: false,
            y: self.quantity,
            series: Some(self.key.clone()),
            unit: experiment.unit(),
            confidence: experiment.stop().confidence,
        };
        // Other settings than those that the file's title speaks of may be compared.
        figure.title = format!("{} by {}{network}", figure.words(self.quantity).0, self.key);
        figure
    }
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
    let expected = if names.is_empty() { String::new() } else { format!(": expected one of {}", short_list(names)) };
    let message = format!("`{}` is not measured in this experiment{expected}", quantity.name());
    Diagnostic::file(experiment.path(), message)
}
