//! Who computes replications: threads of this process, or anything that takes batches and gives results.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::first_replication;
use crate::experiment::point::Point;
use crate::runs::replication::Replication;

/// Replications of a point to compute, with consecutive numbers.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The point's place among those of the sweep.
    pub position: usize,
    /// The point, with the window that these replications have.
    pub point: Point,
    /// Their numbers among those with windows of this length.
    pub replications: Range<u32>,
}

impl Batch {
    /// The numbers of the replications in the store, each of which [`sweep`](super::sweep) computes: there, those with longer windows have numbers of their own.
    pub fn numbers(&self) -> Range<u32> {
        let first = first_replication(self.point.doubled);
        first + self.replications.start..first + self.replications.end
    }
}

/// What came of a batch.
pub struct BatchResult<E> {
    /// The batch.
    pub batch: Batch,
    /// How long it took to compute.
    pub took: Duration,
    /// The results of its first replications: of all of them, or of those before one that failed.
    pub replications: Vec<Replication>,
    /// Why the next one has no result.
    pub failure: Option<Failure<E>>,
}

/// Why a replication has no result.
pub enum Failure<E> {
    /// It cannot be simulated.
    Error(E),
    /// It panicked, and said this.
    Panic(String),
}

/// Whoever was to compute replications is gone, or gave what is no result.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct WorkersError(pub String);

/// Computes batches, several at a time. What a batch gives must be a function of its point and numbers alone, in whatever order batches are
/// finished.
pub trait Workers<E> {
    /// Batches that may be under way at the moment.
    fn capacity(&mut self) -> usize;

    /// Replications that a batch may have.
    fn most(&self) -> u32;

    /// Starts a batch.
    ///
    /// # Errors
    /// If there is nobody to compute it.
    fn start(&mut self, batch: Batch) -> Result<(), WorkersError>;

    /// Waits for one of those that were started, each of which it gives once.
    ///
    /// # Errors
    /// If none of them will be finished.
    fn finished(&mut self) -> Result<BatchResult<E>, WorkersError>;
}

/// Threads of this process, each of which computes a replication at a time.
pub(super) struct Threads<E> {
    pub(super) count: usize,
    pub(super) sender: Sender<Batch>,
    pub(super) finished: Receiver<BatchResult<E>>,
}

impl<E> Workers<E> for Threads<E> {
    fn capacity(&mut self) -> usize {
        self.count
    }

    fn most(&self) -> u32 {
        1
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        self.sender.send(batch).map_err(|_| gone())
    }

    fn finished(&mut self) -> Result<BatchResult<E>, WorkersError> {
        self.finished.recv().map_err(|_| gone())
    }
}

fn gone() -> WorkersError {
    WorkersError("the threads of the sweep are gone".to_owned())
}

/// Does batches until there are no more, or their results are no longer wanted.
pub(super) fn work<E, F>(batches: &Mutex<Receiver<Batch>>, results: &Sender<BatchResult<E>>, run: &F)
where
    F: Fn(&Point, u32) -> Result<Replication, E>,
{
    loop {
        let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { break };
        if results.send(compute(batch, run)).is_err() {
            break;
        }
    }
}

/// Computes a batch: the replications in order, up to the first that fails.
pub(crate) fn compute<E>(batch: Batch, mut run: impl FnMut(&Point, u32) -> Result<Replication, E>) -> BatchResult<E> {
    let start = Instant::now();
    let (mut replications, mut failure) = (Vec::new(), None);
    for number in batch.numbers() {
        match catch_unwind(AssertUnwindSafe(|| run(&batch.point, number))) {
            Ok(Ok(result)) => replications.push(result),
            Ok(Err(error)) => failure = Some(Failure::Error(error)),
            Err(panic) => failure = Some(Failure::Panic(panic_message(&*panic))),
        }
        if failure.is_some() {
            break;
        }
    }
    BatchResult { took: start.elapsed(), batch, replications, failure }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
