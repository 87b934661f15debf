//! What all subcommands that run or read sweeps share: where results are kept, and what their failures come to.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::interrupt;
use crate::lab::{RunError, Store, StoreError, SweepError};
use crate::program;
use crate::progress::Progress;

/// What goes on where an interrupted run was.
pub(crate) const AGAIN: &str = "the same command";

/// Where results are kept.
#[derive(Args)]
pub(crate) struct Places {
    /// The result store; by default `store.db` in the output folder.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The folder for tables and plots; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

impl Places {
    /// Makes the folder.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.out)
            .map_err(|error| Failure::bad_input(format!("cannot make the folder `{}`: {error}", self.out.display())))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.out
    }

    /// The store, which must be there.
    pub(crate) fn existing_store(&self) -> Result<Store, Failure> {
        let path = self.store();
        if !path.exists() {
            let (path, program) = (path.display(), program::name());
            let message = format!("there is no result store `{path}`: run `{program} sweep` first");
            return Err(Failure::BadInput(message));
        }
        program::store(&path).map_err(unusable)
    }

    /// The path of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.store.clone().unwrap_or_else(|| self.out.join("store.db"))
    }
}

/// As many threads as are asked for, or as there are cores.
pub(crate) fn threads(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// A store that cannot be opened is the wrong choice, unless it is the disk that is full or broken.
pub(crate) fn unusable(error: StoreError) -> Failure {
    match error {
        StoreError::Full { .. } | StoreError::Disk { .. } => Failure::failed(error),
        _ => Failure::bad_input(error),
    }
}

/// What the failure of a sweep comes to.
pub(crate) fn failure(error: RunError) -> Failure {
    match error {
        RunError::Input(diagnostic) => Failure::diagnostic(*diagnostic),
        RunError::Simulation(error) => Failure::bad_input(error),
        // A run fails if the engine or the switching that is asked for cannot carry what the algorithm sends.
        RunError::Sweep(error @ SweepError::Run { .. }) => Failure::bad_input(error),
        other => Failure::failed(other),
    }
}

/// Runs what fills a store, with a display of how far it is; `again` is the command that goes on if it is interrupted.
pub(crate) fn watched<T, E>(
    store: &mut Store,
    again: &'static str,
    work: impl FnOnce(&mut Store, &mut Progress) -> Result<T, E>,
) -> Result<T, E> {
    let mut progress = Progress::new();
    interrupt::keep(store.path(), again, progress.bar());
    let result = work(store, &mut progress);
    progress.finish();
    result
}
