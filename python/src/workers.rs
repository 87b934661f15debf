//! Workers anywhere, which a pool of Python hands batches to; and what they return.

use std::collections::HashMap;
use std::time::Duration;

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use wormcast::command::this_program;
use wormcast::lab::{
    Batch, BatchResult, Failure, JobError, Replication, Runner, Workers, WorkersError, replication_seed,
};
use wormcast::simulation::MODEL_VERSION;

/// What a worker returns, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The version and revision of its program, and the version of its model.
    program: (String, String, u32),
    /// The point, with the window of these replications.
    config_hash: String,
    /// The number of the first replication.
    first: u32,
    /// Seconds that it took.
    seconds: f64,
    /// The results, up to the one that failed if one did.
    replications: Vec<Replication>,
    /// Why the next one has no result.
    error: Option<String>,
    /// Whether that is what an algorithm of the user's own, or the program, failed with.
    panicked: bool,
}

/// This program, as answers name it.
fn this() -> (String, String, u32) {
    let program = this_program();
    (program.version.to_owned(), program.revision.to_owned(), MODEL_VERSION)
}

impl Answer {
    /// Computes a batch.
    pub(crate) fn compute(runner: &Runner<'_>, batch: Batch) -> Self {
        let (config_hash, first) = (batch.point.spec.config_hash(), batch.replications.start);
        let BatchResult { took, replications, failure, .. } = runner.compute(batch);
        let panicked = matches!(failure, Some(Failure::Panic(_)));
        let error = failure.map(|failure| match failure {
            Failure::Error(error) => error.to_string(),
            Failure::Panic(message) => message,
        });
        Self { program: this(), config_hash, first, seconds: took.as_secs_f64(), replications, error, panicked }
    }

    /// The result of a batch, if that is what it is.
    fn of(text: &[u8], batch: Batch) -> Result<BatchResult<JobError>, WorkersError> {
        let refused = |problem: String| WorkersError(format!("a worker's answer is refused: {problem}"));
        let answer: Self = serde_json::from_slice(text)
            .map_err(|error| refused(format!("it is not what a worker of this version returns ({error})")))?;
        if answer.program != this() {
            return Err(refused(format!("it runs {}, and this is {}", named(&answer.program), named(&this()))));
        }
        let hash = batch.point.spec.config_hash();
        if (&answer.config_hash, answer.first) != (&hash, batch.replications.start) {
            return Err(refused(format!(
                "it is about replication {} of {}, and {} of {hash} was asked for",
                answer.first, answer.config_hash, batch.replications.start
            )));
        }
        let asked = batch.replications.len();
        let count = answer.replications.len();
        if count > asked || (count < asked && answer.error.is_none()) {
            return Err(refused(format!("it has {count} of {asked} replications")));
        }
        let seeds = batch.numbers().map(|number| replication_seed(batch.point.spec.seed, number));
        let kind = batch.point.spec.kind();
        for (replication, seed) in answer.replications.iter().zip(seeds) {
            if replication.seed() != seed || replication.kind() != kind {
                return Err(refused("it has results of other runs".to_owned()));
            }
        }
        let took = Duration::try_from_secs_f64(answer.seconds).map_err(|_| refused("its time is none".to_owned()))?;
        let failure = answer.error.map(|error| {
            if answer.panicked { Failure::Panic(error) } else { Failure::Error(JobError::Elsewhere(error)) }
        });
        Ok(BatchResult { batch, took, replications: answer.replications, failure })
    }
}

/// A program in words.
fn named((version, revision, model): &(String, String, u32)) -> String {
    let commit = if revision.is_empty() { String::new() } else { format!(", commit {revision}") };
    format!("wormcast {version}{commit}, model {model}")
}

/// A pool of Python: see `wormcast/_pool.py`.
pub(crate) struct Pool {
    handle: Py<PyAny>,
    under_way: HashMap<u64, Batch>,
    next: u64,
    /// Seconds that a batch should take.
    seconds: f64,
    /// Seconds that a replication takes, as the last batches did.
    each: Option<f64>,
    /// What the pool has raised.
    pub(crate) raised: Option<PyErr>,
}

impl Pool {
    /// The most replications of a batch.
    const MOST: f64 = 1000.0;

    pub(crate) fn new(pool: Py<PyAny>) -> PyResult<Self> {
        let seconds = Python::attach(|py| pool.getattr(py, "batch_seconds")?.extract(py))?;
        Ok(Self { handle: pool, under_way: HashMap::new(), next: 0, seconds, each: None, raised: None })
    }

    /// Learns how long replications take.
    fn note(&mut self, result: &BatchResult<JobError>) {
        /// What the last batch counts.
        const SHARE: f64 = 0.3;
        if !result.replications.is_empty() {
            let last = result.took.as_secs_f64() / result.replications.len() as f64;
            self.each = Some(self.each.map_or(last, |each| (1.0 - SHARE) * each + SHARE * last));
        }
    }

    /// Asks the pool; what it raises ends the sweep.
    fn ask<T>(&mut self, work: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>) -> Result<T, WorkersError> {
        Python::attach(|py| work(py, &self.handle)).map_err(|error| {
            let text = error.to_string();
            self.raised = Some(error);
            WorkersError(text)
        })
    }
}

impl Workers<JobError> for Pool {
    fn capacity(&mut self) -> usize {
        // What it raises, it raises again when it is asked for something else.
        self.ask(|py, pool| pool.call_method0(py, "capacity")?.extract(py)).unwrap_or(0)
    }

    fn most(&self) -> u32 {
        self.each.map_or(1, |each| (self.seconds / each.max(1e-9)).clamp(1.0, Self::MOST) as u32)
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        let ticket = self.next;
        self.next += 1;
        let Batch { position, point, replications } = &batch;
        let (start, count) = (replications.start, replications.len());
        let window = (point.doubled(), point.spec.run.messages);
        let hash = point.spec.config_hash();
        let task = (ticket, *position, window, start, count, hash);
        self.ask(|py, pool| pool.call_method1(py, "start", task).map(drop))?;
        self.under_way.insert(ticket, batch);
        Ok(())
    }

    fn finished(&mut self) -> Result<BatchResult<JobError>, WorkersError> {
        let (ticket, text) = self.ask(|py, pool| pool.call_method0(py, "finished")?.extract::<(u64, Vec<u8>)>(py))?;
        let batch = self.under_way.remove(&ticket);
        let batch = batch.ok_or_else(|| WorkersError(format!("the pool has no batch {ticket} under way")))?;
        let result = Answer::of(&text, batch)?;
        self.note(&result);
        Ok(result)
    }
}
