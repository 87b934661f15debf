//! Replications of an experiment, one at a time, by whoever asks: a thread of a sweep, or a process somewhere else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wormcast_simulation::SimulationError;

use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::Point;
use crate::runs::replication::Replication;
use crate::runs::scenarios::{Job, JobError, drawn_with};
use crate::runs::seed::replication_seed;
use crate::runs::sweep::{Batch, BatchResult, compute};

/// Computes replications of an experiment's points. Networks and algorithms are made once, with the first replication that needs them.
pub struct Runner<'e> {
    experiment: &'e Experiment,
    points: Vec<Point>,
    /// By the position of the point; `None`: not made yet.
    jobs: Vec<Mutex<Option<Arc<Job>>>>,
}

impl<'e> Runner<'e> {
    /// For all points of an experiment.
    ///
    /// # Errors
    /// If the experiment is invalid. What is wrong with a single point is found when it is run.
    pub fn new(experiment: &'e Experiment) -> Result<Self, Diagnostic> {
        let points = experiment.points()?;
        let jobs = points.iter().map(|_| Mutex::default()).collect();
        Ok(Self { experiment, points, jobs })
    }

    /// With all networks and algorithms made, which those points share that have them in common.
    ///
    /// # Errors
    /// If a point is invalid.
    pub fn prepared(experiment: &'e Experiment, points: &[Point]) -> Result<Self, Diagnostic> {
        let jobs = experiment.jobs(points)?.into_iter().map(|job| Mutex::new(Some(Arc::new(job)))).collect();
        Ok(Self { experiment, points: points.to_vec(), jobs })
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
        let seed = replication_seed(point.spec.seed, replication);
        let (engine, messages) = (point.spec.engine, point.spec.run.messages);
        let invalid = |error: Diagnostic| SimulationError::Scenario { seed, problem: error.to_string() };
        let is_drawn = drawn_with(&point.spec.topology, 0).is_some() || point.spec.draws_trees_anew();
        if is_drawn {
            return self.experiment.job_of(point, seed).map_err(invalid)?.run(engine, seed, messages);
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
        job.run(engine, seed, messages)
    }

    /// Computes a batch that somebody else hands out: see [`Workers`](crate::Workers).
    pub fn compute(&self, batch: Batch) -> BatchResult<JobError> {
        let position = batch.position;
        if position >= self.points.len() {
            return BatchResult { batch, took: Duration::ZERO, replications: Vec::new(), failure: None };
        }
        compute(batch, |point, replication| self.run(position, point, replication))
    }
}
