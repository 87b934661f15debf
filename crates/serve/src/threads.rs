//! The threads of a sweep, which stop at once when they are told to, also in the middle of a replication.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wormcast_lab::{Batch, BatchResult, JobError, Runner, Workers, WorkersError};
use wormcast_simulation::Observer;

use crate::work::Stop;

/// How often is looked whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// Threads that compute a replication at a time.
pub(crate) struct Threads {
    handles: Vec<JoinHandle<()>>,
    batches: Option<Sender<Batch>>,
    finished: Receiver<BatchResult<JobError>>,
    stop: Arc<Stop>,
    /// Whether nobody wants results any more: the sweep was stopped, or has failed.
    over: Arc<AtomicBool>,
}

impl Threads {
    pub(crate) fn new(count: NonZeroUsize, runner: &Arc<Runner<'static>>, stop: &Arc<Stop>) -> Self {
        let (batches, receiver) = mpsc::channel();
        let (results, finished) = mpsc::channel();
        let (receiver, over) = (Arc::new(Mutex::new(receiver)), Arc::new(AtomicBool::new(false)));
        let threads = (0..count.get()).map(|_| {
            let (runner, receiver, results) = (Arc::clone(runner), Arc::clone(&receiver), results.clone());
            let over = Arc::clone(&over);
            std::thread::spawn(move || compute(&runner, &receiver, &results, &over))
        });
        Self { handles: threads.collect(), batches: Some(batches), finished, stop: Arc::clone(stop), over }
    }
}

/// Computes batches until there are no more, or all is to stop.
fn compute(
    runner: &Runner<'_>,
    batches: &Mutex<Receiver<Batch>>,
    results: &Sender<BatchResult<JobError>>,
    over: &AtomicBool,
) {
    loop {
        let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { break };
        let result = runner.compute_observed(batch, &mut Until(over));
        // A run that was stopped is none.
        if over.load(Ordering::Relaxed) || results.send(result).is_err() {
            break;
        }
    }
}

/// Ends a run when all is to stop.
struct Until<'a>(&'a AtomicBool);

impl Observer for Until<'_> {
    fn done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Workers<JobError> for Threads {
    fn capacity(&mut self) -> usize {
        self.handles.len()
    }

    fn most(&self) -> u32 {
        1
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        self.batches.as_ref().and_then(|batches| batches.send(batch).ok()).ok_or_else(|| self.gone())
    }

    fn finished(&mut self) -> Result<BatchResult<JobError>, WorkersError> {
        loop {
            match self.finished.recv_timeout(TICK) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) if !self.stop.is_stopped() => {}
                Err(_) => return Err(self.gone()),
            }
        }
    }
}

impl Threads {
    fn gone(&self) -> WorkersError {
        let why = if self.stop.is_stopped() { self.stop.why() } else { "the threads of the sweep are gone".to_owned() };
        WorkersError(why)
    }
}

impl Drop for Threads {
    /// Ends what they compute, and waits for them.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.batches = None;
        for thread in self.handles.drain(..) {
            // A panic of a replication is its result; one of the thread itself has been told.
            drop(thread.join());
        }
    }
}
