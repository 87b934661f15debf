//! Floor 5 of wormcast: experiments.
//!
//! An [`Experiment`] is a file: one configuration, or a sweep over several. Its [points](Experiment::points) are plain data with a
//! [hash](PointSpec::config_hash). [`sweep`] replicates each until it is precise enough, on any number of threads and with the
//! same result on each; a [`Store`] keeps every replication as soon as it is there, so that a sweep can be interrupted at any
//! moment. [`summarise`] makes means with confidence intervals, [`csv`] a table and [`plot`] a drawing of them.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use wormcast_lab::{Experiment, Store, csv, run_sweep};
//!
//! let text = r#"
//! topology = "mesh:4x4"
//! run.messages = 100
//! traffic.arrivals = { process = "poisson", rate = 0.001 }
//! traffic.multicast.destinations = 3
//! stop = { min_replications = 2, max_replications = 2 }
//! sweep.algorithm = ["dual-path", "column-path"]
//! "#;
//! let experiment = Experiment::parse("example.toml", text, &[])?;
//! let mut store = Store::in_memory()?;
//! # // The engine comes later.
//! # if false {
//! let summaries = run_sweep(&experiment, NonZeroUsize::MIN, &mut store, false, &mut ())?;
//! assert_eq!(csv(&summaries).lines().count(), 3);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axis;
mod diagnostic;
mod document;
mod experiment;
mod figure;
mod file;
mod output;
mod plot;
mod point;
mod run;
mod scenarios;
mod seed;
mod statistics;
mod stopping;
mod store;
mod summary;
mod sweep;
#[cfg(test)]
mod synthetic;

pub use diagnostic::Diagnostic;
pub use document::Override;
pub use experiment::Experiment;
pub use figure::Figure;
pub use file::{Engine, Quantity, Stop, TimeUnit, schema};
pub use output::{OutputError, csv, write_file};
pub use plot::{Plot, PlotError, plot};
pub use point::{Coordinate, Point, PointSpec};
pub use run::{RunError, run_point, run_sweep, stored_sweep};
pub use seed::replication_seed;
pub use statistics::Estimate;
pub use stopping::Outcome;
pub use store::{MODEL_VERSION, Store, StoreError};
pub use summary::{LatencySummary, LoadSummary, PointSummary, summarise};
pub use sweep::{Observer, PointRuns, PointStatus, Status, SweepError, stored, sweep};
