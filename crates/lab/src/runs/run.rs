//! Runs experiments: every point by its job, for `sweep` to schedule, and judges what was found. Tests of `sweep` itself run made-up results.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;

use thiserror::Error;

use crate::comparison::{SeriesComparison, rank_series};
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::file::Stop;
use crate::experiment::point::{Point, PointSpec};
use crate::output::OutputError;
use crate::runs::replication::Replication;
use crate::runs::runner::Runner;
use crate::runs::scenarios::JobError;
use crate::runs::sweep::{Budget, PointRuns, SweepError, SweepObserver, Workers, stored, sweep, sweep_with};
use crate::statistics::summary::{PointSummary, summarise};
use crate::store::origin::Origin;
use crate::store::{Store, StoreError};
use crate::verdict::{ClaimVerdict, verdicts};

/// What a sweep has found.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// Its points.
    pub summaries: Vec<PointSummary>,
    /// The replications of each point that count.
    pub runs: Vec<PointRuns>,
    /// What they say of the experiment's claims, each claim once.
    pub verdicts: Vec<ClaimVerdict>,
    /// Which of its series is best where, by each quantity that it shows, as far as anything is certain.
    pub rankings: Vec<SeriesComparison>,
    /// The seed of its points, if they have one in common.
    pub seed: Option<u64>,
}

/// The runs of one value of a swept setting in the place of those of another, as if these had been found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitution {
    /// The swept setting's dotted path.
    pub setting: String,
    /// The value whose runs are replaced.
    pub of: String,
    /// The value whose runs stand in for them.
    pub by: String,
    /// Replaced at points with these values of other swept settings only.
    pub only: BTreeMap<String, String>,
}

impl Findings {
    /// What the sweep would say of the experiment's claims if the runs of one value of a swept setting were those of another. Shows whether
    /// the claims' tests tell the two apart.
    ///
    /// # Errors
    /// If the experiment is invalid.
    pub fn judged_with(
        &self,
        experiment: &Experiment,
        Substitution { setting, of, by, only }: &Substitution,
    ) -> Result<Vec<ClaimVerdict>, Diagnostic> {
        let points = experiment.points()?;
        let others = |point: &Point| -> Vec<String> {
            point.coordinates.iter().filter(|other| other.key != *setting).map(|other| format!("{other:?}")).collect()
        };
        let has =
            |point: &Point, setting: &str, value: &str| point.coordinate(setting).is_some_and(|at| at.text() == value);
        let runs = points.iter().zip(&self.runs).map(|(point, own)| {
            if !has(point, setting, of) || !only.iter().all(|(setting, value)| has(point, setting, value)) {
                return own.clone();
            }
            let mut all = points.iter().zip(&self.runs);
            all.find(|(other, _)| has(other, setting, by) && others(other) == others(point))
                .map_or(own, |(_, runs)| runs)
                .clone()
        });
        Ok(verdicts(experiment, &points, &runs.collect::<Vec<_>>()))
    }
}

/// Why an experiment has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The experiment is invalid: bad input.
    #[error(transparent)]
    Input(#[from] Box<Diagnostic>),
    /// A single run failed.
    #[error(transparent)]
    Run(#[from] JobError),
    /// A sweep failed.
    #[error(transparent)]
    Sweep(#[from] SweepError<JobError>),
    /// The observer has stopped it before there was a result. What was computed is in the store.
    #[error("stopped before there was a result")]
    Stopped,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Input(Box::new(diagnostic))
    }
}

/// Runs the single configuration of an experiment, with the experiment's seed as the run's.
///
/// # Errors
/// If the experiment is invalid, or the engine asked for cannot run it.
pub fn run_point(experiment: &Experiment) -> Result<(Point, Replication), RunError> {
    let point = experiment.point()?;
    let result = experiment.job(&point)?.run(point.spec.engine, point.spec.seed, point.spec.run.messages, None)?;
    Ok((point, result))
}

/// Runs all points of an experiment on `jobs` threads, summarises them, and judges the experiment's claims. Everything is checked before the first run. With
/// `fresh`, what the store has of these points is forgotten first.
///
/// # Errors
/// If the experiment is invalid, a replication fails, or the store does.
pub fn run_sweep(
    experiment: &Experiment,
    jobs: NonZeroUsize,
    store: &mut Store,
    fresh: bool,
    observer: &mut dyn SweepObserver,
) -> Result<Findings, RunError> {
    let points = experiment.points()?;
    if fresh {
        experiment.jobs(&points)?;
        forget_points(&points, store, observer)?;
    }
    let runs = run_points(experiment, &points, jobs, store, observer)?;
    Ok(findings(experiment, &points, runs))
}

/// Forgets what a store has of points, with windows of any length.
pub(crate) fn forget_points(
    points: &[Point],
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<(), StoreError> {
    // Damaged rows are not read even to forget them.
    let hashes: Vec<String> = points.iter().map(|point| point.spec.config_hash()).collect();
    for row in store.set_aside(hashes.iter().map(String::as_str))? {
        observer.damaged(&row);
    }
    let hashes = points.iter().map(|point| stored_as(&point.spec, store)).collect::<Result<Vec<_>, StoreError>>()?;
    store.forget(hashes.iter().flatten().map(String::as_str))
}

/// More messages than any run can simulate.
const MOST_MESSAGES: u64 = 1 << 40;

/// The names in the store of a point's runs, with windows of any length.
fn stored_as(spec: &PointSpec, store: &Store) -> Result<Vec<String>, StoreError> {
    let mut hashes = vec![spec.config_hash()];
    let first = store.load(&hashes[0])?;
    let mut messages = spec
        .run
        .messages
        .or_else(|| first.values().filter_map(Replication::simulated).map(|run| run.window.generated).max())
        .unwrap_or(0);
    let mut longer = spec.clone();
    while let Some(doubled) = messages.checked_mul(2).filter(|&doubled| 0 < doubled && doubled <= MOST_MESSAGES) {
        messages = doubled;
        longer.run.messages = Some(messages);
        hashes.push(longer.config_hash());
    }
    Ok(hashes)
}

/// Runs some points of an experiment.
pub(crate) fn run_points(
    experiment: &Experiment,
    points: &[Point],
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<Vec<PointRuns>, RunError> {
    run_points_until(&mut Budget::default(), experiment, points, experiment.stop(), jobs, store, observer)
}

/// Runs some points of an experiment until they are as precise as `stop` asks for, as far as the budget lasts.
pub(crate) fn run_points_until(
    budget: &mut Budget,
    experiment: &Experiment,
    points: &[Point],
    stop: &Stop,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<Vec<PointRuns>, RunError> {
    let runner = Runner::prepared(experiment, points)?;
    let places: HashMap<usize, usize> = points.iter().enumerate().map(|(place, point)| (point.index, place)).collect();
    Ok(sweep(budget, points, stop, jobs, store, observer, |point, replication| {
        runner.run(places[&point.index], point, replication)
    })?)
}

/// As [`run_sweep`], for all points of a [prepared](Runner::keeping_prepared) runner, but replications are computed by `workers`, wherever they are: they may
/// use the runner, or have one of their own.
///
/// # Errors
/// As [`run_sweep`], and if the workers are gone.
pub fn run_sweep_with(
    runner: &Runner<'_>,
    workers: &mut dyn Workers<JobError>,
    store: &mut Store,
    fresh: bool,
    observer: &mut dyn SweepObserver,
) -> Result<Findings, RunError> {
    let (experiment, points) = (runner.experiment(), runner.points());
    if fresh {
        forget_points(points, store, observer)?;
    }
    let runs = sweep_with(&mut Budget::default(), points, experiment.stop(), workers, store, observer)?;
    Ok(findings(experiment, points, runs))
}

/// Summarises and judges what the store has of an experiment's points, without running anything.
///
/// # Errors
/// If the experiment is invalid, or the store fails.
pub fn stored_sweep(experiment: &Experiment, store: &Store) -> Result<Findings, RunError> {
    let points = experiment.points()?;
    let runs = stored(&points, experiment.stop(), store)?;
    Ok(findings(experiment, &points, runs))
}

/// A variation of an experiment.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Its name.
    pub name: String,
    /// What it sets, in words.
    pub settings: String,
    /// What its results say of its claims.
    pub verdicts: Vec<ClaimVerdict>,
}

/// What a store has of the variations of an experiment: those with results, but for such as an experiment has itself that shares points with them.
///
/// # Errors
/// If a variation is invalid, or the store fails.
pub fn stored_variations(experiment: &Experiment, store: &Store) -> Result<Vec<Variation>, RunError> {
    let mut varied = Vec::new();
    let of_all: BTreeSet<String> = experiment.points()?.iter().map(|point| point.spec.config_hash()).collect();
    for name in experiment.variations() {
        let variation = experiment.variation(&name)?;
        let found = stored_sweep(&variation, store)?;
        let has_results: Vec<bool> = found.summaries.iter().map(|summary| summary.replications > 0).collect();
        let own = variation.points()?.into_iter().map(|point| !of_all.contains(&point.spec.config_hash()));
        let missing = has_results.iter().filter(|&&has| !has).count();
        if missing > 0 && !own.zip(&has_results).any(|(own, &has)| own && has) {
            continue;
        }
        let mut settings = experiment.variation_settings(&name);
        if missing > 0 {
            settings = format!("{settings}; {missing} of {} points have no results", has_results.len());
        }
        varied.push(Variation { name, settings, verdicts: found.verdicts });
    }
    Ok(varied)
}

/// Where the results come from that a store has of experiments.
///
/// # Errors
/// If an experiment is invalid, or the store fails.
pub fn origins<'e>(
    experiments: impl IntoIterator<Item = &'e Experiment>,
    store: &Store,
) -> Result<Vec<Origin>, RunError> {
    let mut hashes = BTreeSet::new();
    for experiment in experiments {
        for point in experiment.points()? {
            hashes.extend(stored_as(&point.spec, store)?);
        }
    }
    Ok(store.origins(hashes.iter().map(String::as_str))?)
}

pub(crate) fn findings(experiment: &Experiment, points: &[Point], runs: Vec<PointRuns>) -> Findings {
    let figure = experiment.figure();
    // Without a plot, algorithms are compared.
    let series = figure.as_ref().map_or(Some("algorithm"), |figure| figure.series.as_deref());
    let summaries = summarise(points, &runs, experiment.stop().confidence, series);
    let mut seeds = points.iter().map(|point| point.spec.seed);
    let seed = seeds.next().filter(|&first| seeds.all(|seed| seed == first));
    let shown = experiment.shown().into_iter();
    let rankings = shown.filter_map(|quantity| rank_series(experiment, points, &runs, quantity)).collect();
    let verdicts = verdicts(experiment, points, &runs);
    Findings { summaries, runs, verdicts, rankings, seed }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn runs_with_longer_windows_have_an_origin_too() {
        let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.messages = 100\n";
        let experiment = Experiment::parse("x.toml", text, &[]).unwrap();
        let mut longer = experiment.points().unwrap()[0].spec.clone();
        longer.run.messages = Some(400);
        let mut store = Store::in_memory().unwrap();
        store.note(&longer.config_hash(), Duration::from_secs(2)).unwrap();
        let origins = origins([&experiment], &store).unwrap();
        assert_eq!(origins.iter().map(|origin| origin.replications).collect::<Vec<_>>(), [1]);
    }
}
