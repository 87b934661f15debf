//! What all subcommands that run or read sweeps share: where results are kept, and what their failures come to.

use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::lab::{RunError, Store, StoreError, SweepError};

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
            let message = format!("there is no result store `{}`: run `wormcast sweep` first", path.display());
            return Err(Failure::BadInput(message));
        }
        Store::open(&path).map_err(unusable)
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

/// A store that cannot be opened is the wrong choice, unless it is only the disk that is full.
pub(crate) fn unusable(error: StoreError) -> Failure {
    match error {
        StoreError::Full { .. } => Failure::failed(error),
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

/// A bar on standard error, if that is a terminal; `message` is where its message goes.
pub(crate) fn progress_bar(message: &str) -> ProgressBar {
    let bar = if io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) =
        ProgressStyle::with_template(&format!("{{bar:30}} {{percent:>3}}% {{elapsed}} left {{eta}}  {message}"))
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
