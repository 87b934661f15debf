//! Points times replications on several threads, with results that do not depend on how many.

mod progress;
mod workers;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thiserror::Error;

use self::progress::{PointProgress, Tally};
pub(crate) use self::workers::compute;
pub use self::workers::{Batch, BatchResult, Failure, Workers, WorkersError};
use self::workers::{Threads, work};
use crate::experiment::file::Stop;
use crate::experiment::point::Point;
use crate::runs::replication::Replication;
use crate::runs::stopping::{Outcome, estimate};
use crate::statistics::Estimate;
use crate::store::{DamagedRow, Store, StoreError, StoreProblem};

/// The replications of a point that count.
#[derive(Clone, PartialEq, Debug)]
pub struct PointRuns {
    /// How the point ended.
    pub outcome: Outcome,
    /// Replications 0, 1, …: exactly those that its outcome was decided on.
    pub runs: Vec<Replication>,
    /// The window, if it had to be longer than the point's description says.
    pub lengthened: Option<Lengthened>,
}

/// A window that had to be longer than the description of its point says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengthened {
    /// The messages of a run's window.
    pub messages: u64,
    /// How often it was doubled.
    pub doubled: u32,
}

/// The first replication of those whose windows were doubled so often. Each length has replications of its own, so that the runs which are
/// averaged share no random numbers with those by which their length was chosen.
fn first_replication(doubled: u32) -> u32 {
    doubled << PER_LENGTH
}

/// Replications that there can be of each length, as a power of two.
const PER_LENGTH: u32 = 20;

/// How often the windows of a replication with this number in the store were doubled, and its number among those of that length.
pub(crate) fn replication_of(number: u32) -> (u32, u32) {
    (number >> PER_LENGTH, number & ((1 << PER_LENGTH) - 1))
}

impl PointRuns {
    /// Replications with the window that their point's description says.
    pub fn new(outcome: Outcome, runs: Vec<Replication>) -> Self {
        Self { outcome, runs, lengthened: None }
    }
}

/// The most threads of a sweep, whatever is asked for.
pub const MAX_THREADS: usize = 1024;

/// Follows the progress of a sweep.
pub trait SweepObserver {
    /// Called once before the first replication starts, and after each that is done, on the thread that called the sweep.
    ///
    /// [`Break`](ControlFlow::Break) stops the sweep, once and for all: no further replication begins, those that run are finished and
    /// stored, and points that lack some are [`Outcome::Incomplete`]. A later sweep goes on from there.
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()>;

    /// Called before that for each row of the store that was damaged: it has been set aside, and is simulated again where it is needed.
    fn damaged(&mut self, _row: &DamagedRow) {}
}

/// Ignores everything.
impl SweepObserver for () {
    fn update(&mut self, _: &Status<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The progress of a sweep.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status<'a> {
    /// Points of the sweep.
    pub points: usize,
    /// Points that are done.
    pub points_done: usize,
    /// Replications that are there, from the store or computed.
    pub replications: u64,
    /// Replications that the sweep needs, as far as is known: it grows while points turn out to need more.
    pub replications_expected: u64,
    /// Replications computed since the sweep started, of those that are there.
    pub computed: u64,
    /// The point that has a new replication; `None` at the start.
    pub point: Option<PointStatus<'a>>,
}

/// The progress of a point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PointStatus<'a> {
    /// The point.
    pub point: &'a Point,
    /// Replications that are there without a gap.
    pub replications: u32,
    /// The mean over these of what has to become precise: the latency to the last destination in cycles, of plans the steps, of trees the
    /// combined diameter.
    pub estimate: Option<Estimate>,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
}

/// Why a sweep ended early. What it had computed is in the store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError<E: std::error::Error> {
    /// A replication cannot be simulated.
    #[error("replication {replication} of point {}{} failed: {reason}", .index + 1, of(.label))]
    Run {
        /// The point's position in the sweep, from 0.
        index: usize,
        /// The point's coordinates.
        label: String,
        /// The replication.
        replication: u32,
        /// Why.
        reason: E,
    },
    /// A replication panicked: an error of the program.
    #[error("replication {replication} of point {}{} panicked: {message}", .index + 1, of(.label))]
    Panic {
        /// The point's position in the sweep, from 0.
        index: usize,
        /// The point's coordinates.
        label: String,
        /// The replication.
        replication: u32,
        /// What it said.
        message: String,
    },
    /// Whoever was to compute replications is gone, or gave what is no result.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn of(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!(" ({label})") }
}

/// Replications that may still be computed, however long their windows; by default as many as are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    left: u64,
    stopped: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(u64::MAX)
    }
}

impl Budget {
    /// A budget of so many replications.
    pub const fn of(replications: u64) -> Self {
        Self { left: replications, stopped: false }
    }

    /// The replications that are left.
    pub const fn left(self) -> u64 {
        self.left
    }

    /// Whether an observer has stopped a sweep: nothing is computed any more, whatever is left.
    pub const fn is_stopped(self) -> bool {
        self.stopped
    }
}

/// Computes every point until it is precise enough, saturated or deadlocked, and answers from the store what is there. Points for which the
/// budget does not last are [`Outcome::Incomplete`].
///
/// `run` simulates a replication of a point, whose [`RunTable::messages`](crate::RunTable::messages) is that of the point or, where
/// the window has to be longer, a multiple of it by a power of two, with replications of other numbers; it is called on `jobs` threads. The outcome is a function of the points, the stopping
/// rule and `run` alone: decisions fall only on complete prefixes of a point's replications, and what lies beyond the prefix that a
/// point needs is never used.
///
/// # Errors
/// If the store fails, or a replication fails or panics; the error is then that of the first such replication of the first such
/// point among those that were running.
pub fn sweep<E, F>(
    budget: &mut Budget,
    points: &[Point],
    stop: &Stop,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
    run: F,
) -> Result<Vec<PointRuns>, SweepError<E>>
where
    E: std::error::Error + Send,
    F: Fn(&Point, u32) -> Result<Replication, E> + Sync,
{
    // More threads than replications are idle, and the system cannot start any number of them.
    let replications = points.len().saturating_mul(stop.most() as usize);
    let threads = jobs.get().min(replications).min(MAX_THREADS);
    let (sender, receiver) = mpsc::channel::<Batch>();
    let batches = Mutex::new(receiver);
    let (results, finished) = mpsc::channel();
    thread::scope(|scope| {
        // Where the system starts no more threads, those that there are do the work.
        let mut count = 0;
        let mut refused = None;
        while count < threads && refused.is_none() {
            let (results, batches, run) = (results.clone(), &batches, &run);
            let started = thread::Builder::new().spawn_scoped(scope, move || work(batches, &results, run));
            count += usize::from(started.is_ok());
            refused = started.err();
        }
        if let Some(reason) = refused.filter(|_| count == 0) {
            return Err(WorkersError(format!("no thread can be started: {reason}")).into());
        }
        // The channel closes when this closure ends, however it ends, and with it the threads.
        let mut threads = Threads { count, sender, finished };
        sweep_with(budget, points, stop, &mut threads, store, observer)
    })
}

/// As [`sweep`], but what is to be computed is handed to `workers`, wherever they are.
///
/// # Errors
/// As [`sweep`], and if the workers are [lost](SweepError::Workers).
pub fn sweep_with<E: std::error::Error>(
    budget: &mut Budget,
    points: &[Point],
    stop: &Stop,
    workers: &mut dyn Workers<E>,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<Vec<PointRuns>, SweepError<E>> {
    let mut sweep = Sweep::begin(points, stop, store, observer)?;
    let mut goes_on = sweep.report(None);
    let mut failed: Option<((usize, u32, u32), Failure<E>)> = None;
    let mut running = 0;
    loop {
        if goes_on.is_break() {
            budget.stopped = true;
        }
        while failed.is_none() && running < workers.capacity() {
            let Some(batch) = sweep.take(budget, workers.most()) else { break };
            workers.start(batch)?;
            running += 1;
        }
        if running == 0 {
            break;
        }
        let BatchResult { batch, took, replications, failure } = workers.finished()?;
        running -= 1;
        let (index, doubled) = (batch.position, batch.point.doubled);
        let each = took / (replications.len() + usize::from(failure.is_some())).max(1) as u32;
        let (computed, asked) = (replications.len() as u32, batch.replications.len() as u32);
        if computed > asked || (computed < asked && failure.is_none()) {
            return Err(WorkersError(format!("a worker gave {computed} of {asked} results")).into());
        }
        for (replication, result) in batch.replications.clone().zip(replications) {
            sweep.finished((index, doubled, replication), each, result)?;
            goes_on = sweep.report(Some(index));
        }
        if let Some(failure) = failure {
            let task = (index, doubled, batch.replications.start + computed);
            if failed.as_ref().is_none_or(|(earlier, _)| task < *earlier) {
                failed = Some((task, failure));
            }
        }
    }
    match failed {
        None => Ok(sweep.progress.into_iter().map(PointProgress::finish).collect()),
        Some(((index, _, replication), failure)) => {
            let label = points[index].label();
            Err(match failure {
                Failure::Error(reason) => SweepError::Run { index, label, replication, reason },
                Failure::Panic(message) => SweepError::Panic { index, label, replication, message },
            })
        }
    }
}

/// A running sweep, on the thread that called it.
struct Sweep<'s> {
    points: &'s [Point],
    stop: &'s Stop,
    store: &'s mut Store,
    observer: &'s mut dyn SweepObserver,
    /// The names of the points, with the windows that their descriptions say.
    hashes: Vec<String>,
    progress: Vec<PointProgress>,
    tally: Tally,
    /// All points before it are done.
    first_open: usize,
}

impl<'s> Sweep<'s> {
    /// With what the store has.
    fn begin(
        points: &'s [Point],
        stop: &'s Stop,
        store: &'s mut Store,
        observer: &'s mut dyn SweepObserver,
    ) -> Result<Self, StoreError> {
        let hashes: Vec<String> = points.iter().map(|point| point.spec.config_hash()).collect();
        for row in store.set_aside(hashes.iter().map(String::as_str))? {
            observer.damaged(&row);
        }
        let progress = points
            .iter()
            .map(|point| mended(store, observer, |store| PointProgress::new(point, stop, store)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        store.describe(progress.iter().map(|progress| (progress.hash.as_str(), &progress.point.spec)))?;
        let tally = Tally::new(&progress);
        Ok(Self { points, stop, store, observer, hashes, progress, tally, first_open: 0 })
    }

    /// What is to be computed next, so many replications at most, if the budget has any left.
    fn take(&mut self, budget: &mut Budget, most: u32) -> Option<Batch> {
        while self.progress.get(self.first_open).is_some_and(|point| point.outcome.is_some()) {
            self.first_open += 1;
        }
        if budget.stopped || budget.left == 0 {
            return None;
        }
        let most = most.min(u32::try_from(budget.left).unwrap_or(u32::MAX));
        let (index, replications) =
            (self.first_open..self.points.len()).find_map(|index| Some((index, self.progress[index].take(most)?)))?;
        budget.left -= replications.len() as u64;
        Some(Batch { position: index, point: self.progress[index].point.clone(), replications })
    }

    /// Stores a replication, and decides what it allows to decide.
    fn finished(&mut self, task: (usize, u32, u32), took: Duration, result: Replication) -> Result<(), StoreError> {
        let Self { stop, store, observer, tally, .. } = self;
        let (index, doubled, replication) = task;
        let point = &mut self.progress[index];
        tally.computed += 1;
        // Windows may have grown since it was begun: then it is no longer needed.
        if doubled == point.point.doubled {
            store.insert(&point.hash, first_replication(point.point.doubled) + replication, &result)?;
            store.note(&self.hashes[index], took)?;
            tally.remove(point);
            if point.outcome.is_none() {
                point.there.insert(replication, result);
                mended(store, *observer, |store| point.advance(stop, store))?;
                if point.point.doubled > doubled {
                    store.describe([(point.hash.as_str(), &point.point.spec)])?;
                }
            }
            tally.add(point);
        }
        Ok(())
    }

    /// Tells the observer how far the sweep is, and of the point that made progress; whether it goes on.
    fn report(&mut self, of: Option<usize>) -> ControlFlow<()> {
        let point = of.map(|index| {
            let point = &self.progress[index];
            PointStatus {
                point: &self.points[index],
                replications: point.prefix.len() as u32,
                estimate: estimate(&point.prefix, self.stop.confidence),
                outcome: point.outcome,
            }
        });
        self.observer.update(&self.tally.status(point))
    }
}

/// What the store has of each point, judged as a sweep would; points that lack replications are [`Outcome::Incomplete`].
///
/// # Errors
/// If the store fails, or has damaged rows of these points: [`StoreProblem::Damaged`](crate::StoreProblem::Damaged) names all of them.
pub fn stored(points: &[Point], stop: &Stop, store: &Store) -> Result<Vec<PointRuns>, StoreError> {
    let hashes: Vec<String> = points.iter().map(|point| point.spec.config_hash()).collect();
    let mut rows = store.damaged(hashes.iter().map(String::as_str))?;
    let mut runs = Vec::with_capacity(points.len());
    for point in points {
        match PointProgress::new(point, stop, store) {
            Ok(progress) => runs.push(progress.finish()),
            Err(StoreError { problem: StoreProblem::Damaged(more), .. }) => {
                rows.extend(more.into_iter().filter(|row| !rows.contains(row)).collect::<Vec<_>>());
            }
            Err(error) => return Err(error),
        }
    }
    if rows.is_empty() { Ok(runs) } else { Err(StoreProblem::Damaged(rows).of(store.path())) }
}

/// Does what reads the store; damaged rows that it meets are set aside, and it is done again.
fn mended<T>(
    store: &mut Store,
    observer: &mut dyn SweepObserver,
    mut work: impl FnMut(&Store) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match work(store) {
            Err(StoreError { problem: StoreProblem::Damaged(rows), .. }) => {
                store.separate(&rows)?;
                for row in &rows {
                    observer.damaged(row);
                }
            }
            result => return result,
        }
    }
}
