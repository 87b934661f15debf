//! Threads of a sweep that stop at once when they are told to, even in the middle of a replication.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::runs::runner::Runner;
use crate::runs::scenarios::JobError;
use crate::runs::sweep::{Batch, BatchResult, Workers, WorkersError};

/// How often it is asked whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// Threads of this process, each of which computes a replication at a time, for [`run_sweep_with`](crate::run_sweep_with). They do not borrow from where
/// they are started, and ask whether to stop twenty times a second: a stopped replication leaves no result.
pub struct StoppableThreads<'a> {
    handles: Vec<JoinHandle<()>>,
    batches: Option<Sender<Batch>>,
    finished: Receiver<BatchResult<JobError>>,
    /// Why to stop; `None`: go on.
    ask: Box<dyn FnMut() -> Option<String> + 'a>,
    /// Whether nobody wants results any more: the sweep was stopped, or has failed.
    over: Arc<AtomicBool>,
}

impl<'a> StoppableThreads<'a> {
    /// Starts them, or as many as the system allows. `ask` says why to stop, which is then the error of the sweep, or `None` to go on; the
    /// thread that waits for results calls it.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(
        count: NonZeroUsize,
        runner: &Arc<Runner<'static>>,
        ask: impl FnMut() -> Option<String> + 'a,
    ) -> Result<Self, WorkersError> {
        let (batches, receiver) = mpsc::channel();
        let (results, finished) = mpsc::channel();
        let (receiver, over) = (Arc::new(Mutex::new(receiver)), Arc::new(AtomicBool::new(false)));
        let mut handles = Vec::new();
        while handles.len() < count.get() {
            let (runner, receiver, results, over) =
                (Arc::clone(runner), Arc::clone(&receiver), results.clone(), Arc::clone(&over));
            match Builder::new().spawn(move || work(&runner, &receiver, &results, &over)) {
                Ok(handle) => handles.push(handle),
                Err(reason) if handles.is_empty() => {
                    return Err(WorkersError(format!("no thread can be started: {reason}")));
                }
                Err(_) => break,
            }
        }
        Ok(Self { handles, batches: Some(batches), finished, ask: Box::new(ask), over })
    }
}

/// Does batches until there are no more, or all is to stop.
fn work(
    runner: &Runner<'_>,
    batches: &Mutex<Receiver<Batch>>,
    results: &Sender<BatchResult<JobError>>,
    over: &AtomicBool,
) {
    loop {
        let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { break };
        let result = runner.compute_until(batch, Some(over));
        if over.load(Ordering::Relaxed) || results.send(result).is_err() {
            break;
        }
    }
}

impl Workers<JobError> for StoppableThreads<'_> {
    fn capacity(&mut self) -> usize {
        self.handles.len()
    }

    fn most(&self) -> u32 {
        1
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        self.batches.as_ref().and_then(|batches| batches.send(batch).ok()).ok_or_else(gone)
    }

    fn finished(&mut self) -> Result<BatchResult<JobError>, WorkersError> {
        loop {
            match self.finished.recv_timeout(TICK) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(why) = (self.ask)() {
                        return Err(WorkersError(why));
                    }
                }
            }
        }
    }
}

impl Drop for StoppableThreads<'_> {
    /// Ends what they compute, and waits for them.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.batches = None;
        for thread in self.handles.drain(..) {
            // A panic of a replication is its result.
            drop(thread.join());
        }
    }
}

fn gone() -> WorkersError {
    WorkersError("the threads of the sweep are gone".to_owned())
}
