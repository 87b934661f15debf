//! Floor 5 of wormcast: experiments.
//!
//! An [`Experiment`] is a file: one configuration, or a sweep over several. Its [points](Experiment::points) are plain data with a
//! [hash](PointSpec::config_hash). [`sweep`] replicates each until it is precise enough, on any number of threads and with the
//! same result on each; a [`Store`] keeps every replication as soon as it is there, so that a sweep can be interrupted at any
//! moment. [`summarise`] makes means with confidence intervals, [`csv()`] a table and [`plot`] a drawing of them. What the file
//! claims about the sweep gets a [`Verdict`].
//!
//! ```no_run
//! use std::num::NonZeroUsize;
//! use std::path::Path;
//!
//! use wormcast_lab::{Experiment, Store, csv, plot, run_sweep, write_file};
//!
//! let experiment = Experiment::read(Path::new("experiments/quick.toml"), &[])?;
//! let mut store = Store::open(Path::new("results.db"))?;
//! let jobs = NonZeroUsize::new(4).expect("four threads");
//! let found = run_sweep(&experiment, jobs, &mut store, false, &mut ())?;
//! write_file(Path::new("quick.csv"), csv(&found.summaries).as_bytes())?;
//! if let Some(figure) = experiment.figure() {
//!     write_file(Path::new("quick.svg"), plot(&figure, &found.summaries)?.svg.as_bytes())?;
//! }
//! for verdict in found.verdicts {
//!     println!("{}: {}", verdict.claim, verdict.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod comparison;
mod experiment;
mod figure;
mod output;
mod plot;
pub mod report;
mod runs;
mod statistics;
mod store;
#[cfg(test)]
mod synthetic;
mod verdict;

pub use comparison::{
    Compared, ComparedPoint, Crossing, Decision, Relation, SeriesComparison, Standing, State, compare_series,
};
pub use experiment::diagnostic::{Diagnostic, plain_words};
pub use experiment::document::Override;
pub use experiment::file::{FaultSettings, Stop, TimeUnit};
pub use experiment::file_name::is_file_name;
pub use experiment::point::{Coordinate, Point, PointSpec};
pub use experiment::schema::schema;
pub use experiment::{Experiment, file_part};
pub use figure::{Figure, setting_unit};
pub use output::{OutputError, OutputFile, check_file, file_place, write_file};
pub use plot::{Plot, PlotError, plot, plot_comparison};
pub use runs::kind::{Kind, Mode, Run};
pub use runs::refine::{Onset, RefinedSweep, Refinement, refine_sweep};
pub use runs::replication::Replication;
pub use runs::run::{Findings, RunError, Variation, origins, run_point, run_sweep, stored_sweep, stored_variations};
pub use runs::safety::{SweepSafety, UnsafePoint, sweep_safety};
pub use runs::scenarios::{Job, JobError};
pub use runs::seed::replication_seed;
pub use runs::stopping::Outcome;
pub use runs::sweep::{Lengthened, Observer, PointRuns, PointStatus, Status, SweepError, stored, sweep};
pub use runs::tree_runs::{TreeFigures, TreeResult, TreeRuns};
pub use statistics::quantity::Quantity;
pub use statistics::summary::{
    Figures, LatencySummary, LoadSummary, PlanSummary, PointSummary, TreeSummary, summarise,
};
pub use statistics::table::{csv, replications_csv, replications_json};
pub use statistics::{Estimate, number_text};
pub use store::origin::{Origin, Program};
pub use store::{DamagedRow, Store, StoreError, StoreProblem};
pub use verdict::{Bracket, ClaimVerdict, Comparison, Finding, Part, Verdict};
