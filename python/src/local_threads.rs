//! Threads of this process, which a signal stops at once.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use pyo3::prelude::*;
use wormcast::lab::{Batch, BatchResult, JobError, Runner, Workers, WorkersError};
use wormcast::simulation::Observer;

use crate::signals::OFTEN;

/// Threads that compute a replication at a time.
pub(crate) struct LocalThreads {
    threads: Vec<JoinHandle<()>>,
    batches: Option<Sender<Batch>>,
    finished: Receiver<BatchResult<JobError>>,
    stop: Arc<AtomicBool>,
    /// What a signal has raised.
    pub(crate) raised: Option<PyErr>,
}

impl LocalThreads {
    pub(crate) fn new(count: NonZeroUsize, runner: &Arc<Runner<'static>>) -> Self {
        let (batches, receiver) = mpsc::channel::<Batch>();
        let (results, finished) = mpsc::channel();
        let (receiver, stop) = (Arc::new(Mutex::new(receiver)), Arc::new(AtomicBool::new(false)));
        let threads = (0..count.get()).map(|_| {
            let (runner, receiver, results, stop) =
                (Arc::clone(runner), Arc::clone(&receiver), results.clone(), Arc::clone(&stop));
            std::thread::spawn(move || work(&runner, &receiver, &results, &stop))
        });
        Self { threads: threads.collect(), batches: Some(batches), finished, stop, raised: None }
    }
}

/// Does batches until there are no more, or all is to end.
fn work(
    runner: &Runner<'_>,
    batches: &Mutex<Receiver<Batch>>,
    results: &Sender<BatchResult<JobError>>,
    stop: &AtomicBool,
) {
    loop {
        let batch = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { break };
        let result = runner.compute_observed(batch, &mut Until(stop));
        // A run that was stopped is none.
        if stop.load(Ordering::Relaxed) || results.send(result).is_err() {
            break;
        }
    }
}

/// Ends runs when all is to end.
struct Until<'a>(&'a AtomicBool);

impl Observer for Until<'_> {
    fn done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Workers<JobError> for LocalThreads {
    fn capacity(&mut self) -> usize {
        self.threads.len()
    }

    fn most(&self) -> u32 {
        1
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        match &self.batches {
            Some(batches) => batches.send(batch).map_err(|_| gone()),
            None => Err(gone()),
        }
    }

    fn finished(&mut self) -> Result<BatchResult<JobError>, WorkersError> {
        loop {
            match self.finished.recv_timeout(OFTEN) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        self.raised = Some(error);
                        return Err(WorkersError("interrupted".to_owned()));
                    }
                }
            }
        }
    }
}

impl Drop for LocalThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.batches = None;
        for thread in self.threads.drain(..) {
            // A panic in it has been told already.
            drop(thread.join());
        }
    }
}

fn gone() -> WorkersError {
    WorkersError("the threads of the sweep are gone".to_owned())
}
