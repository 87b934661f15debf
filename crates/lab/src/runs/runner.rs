//! Replications of an experiment, one at a time, by whoever asks: a thread of a sweep, or a process somewhere else.

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wormcast_simulation::SimulationError;

use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::Point;
use crate::runs::replication::Replication;
use crate::runs::scenarios::{Job, JobError};
use crate::runs::seed::replication_seed;
use crate::runs::sweep::{Batch, BatchResult, compute};

/// Computes replications of an experiment's points. Networks and algorithms are made once, with the first replication that needs them.
pub struct Runner<'e> {
    experiment: Cow<'e, Experiment>,
    points: Vec<Point>,
    /// By the position of the point; `None`: not made yet.
    jobs: Vec<Mutex<Option<Arc<Job>>>>,
}

/// The jobs of points, as a runner keeps them.
fn made(experiment: &Experiment, points: &[Point]) -> Result<Vec<Mutex<Option<Arc<Job>>>>, Diagnostic> {
    Ok(experiment.jobs(points)?.into_iter().map(|job| Mutex::new(Some(Arc::new(job)))).collect())
}

impl Runner<'static> {
    /// As [`new`](Self::new), for whoever keeps no experiment.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn keeping(experiment: Experiment) -> Result<Self, Diagnostic> {
        Self::of(Cow::Owned(experiment))
    }

    /// As [`keeping`](Self::keeping), with everything made: what the points have in common is shared.
    ///
    /// # Errors
    /// If the experiment or a point of it is invalid.
    pub fn keeping_prepared(experiment: Experiment) -> Result<Self, Diagnostic> {
        let points = experiment.points()?;
        let jobs = made(&experiment, &points)?;
        Ok(Self { experiment: Cow::Owned(experiment), points, jobs })
    }
}

impl<'e> Runner<'e> {
    /// For all points of an experiment.
    ///
    /// # Errors
    /// If the experiment is invalid. What is wrong with a single point is found when it is run.
    pub fn new(experiment: &'e Experiment) -> Result<Self, Diagnostic> {
        Self::of(Cow::Borrowed(experiment))
    }

    fn of(experiment: Cow<'e, Experiment>) -> Result<Self, Diagnostic> {
        let points = experiment.points()?;
        let jobs = points.iter().map(|_| Mutex::default()).collect();
        Ok(Self { experiment, points, jobs })
    }

    /// With all networks and algorithms made, which those points share that have them in common.
    ///
    /// # Errors
    /// If a point is invalid.
    pub fn prepared(experiment: &'e Experiment, points: &[Point]) -> Result<Self, Diagnostic> {
        Ok(Self { experiment: Cow::Borrowed(experiment), points: points.to_vec(), jobs: made(experiment, points)? })
    }

    /// The experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// A replication of the point at this position, with the window of `point`, which is that point or one whose window is longer.
    ///
    /// # Errors
    /// If the point is invalid or cannot be simulated.
    pub fn run(&self, position: usize, point: &Point, replication: u32) -> Result<Replication, JobError> {
        self.run_until(position, point, replication, None)
    }

    /// As [`run`](Self::run); what is simulated ends early, with a result that is nobody's, if `stop` says so.
    fn run_until(
        &self,
        position: usize,
        point: &Point,
        replication: u32,
        stop: Option<&AtomicBool>,
    ) -> Result<Replication, JobError> {
        let seed = replication_seed(point.spec.seed, replication);
        let (engine, messages) = (point.spec.engine, point.spec.run.messages);
        let invalid = |error: Diagnostic| SimulationError::Scenario { seed, problem: error.to_string() };
        let is_drawn = point.spec.draws_graphs_anew() || point.spec.draws_trees_anew();
        if is_drawn {
            return self.experiment.job_of(point, seed).map_err(invalid)?.run(engine, seed, messages, stop);
        }
        let job = {
            let mut made = self.jobs[position].lock().unwrap_or_else(PoisonError::into_inner);
            match &*made {
                Some(job) => Arc::clone(job),
                None => {
                    let jobs = self.experiment.jobs(std::slice::from_ref(&self.points[position]));
                    let job = jobs.map_err(invalid)?.into_iter().next().map(Arc::new);
                    Arc::clone(made.insert(job.ok_or_else(|| SimulationError::Scenario {
                        seed,
                        problem: "there is no such point".to_owned(),
                    })?))
                }
            }
        };
        job.run(engine, seed, messages, stop)
    }

    /// Computes a batch that somebody else hands out: see [`Workers`](crate::Workers).
    pub fn compute(&self, batch: Batch) -> BatchResult<JobError> {
        self.compute_until(batch, None)
    }

    /// As [`compute`](Self::compute). Whoever says `stop` must see to it that nobody takes what comes then for results.
    pub(crate) fn compute_until(&self, batch: Batch, stop: Option<&AtomicBool>) -> BatchResult<JobError> {
        let position = batch.position;
        if position >= self.points.len() {
            return BatchResult { batch, took: Duration::ZERO, replications: Vec::new(), failure: None };
        }
        compute(batch, |point, replication| self.run_until(position, point, replication, stop))
    }
}
