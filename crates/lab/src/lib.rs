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

mod axis;
mod claim;
mod comparison;
mod diagnostic;
mod document;
mod experiment;
mod figure;
mod file;
mod file_name;
mod kind;
mod origin;
mod output;
mod percentile;
mod plot;
mod point;
mod quantity;
mod refine;
mod replication;
pub mod report;
mod run;
mod safety;
mod scenarios;
mod schema;
mod seed;
mod statistics;
mod stopping;
mod store;
mod summary;
mod sweep;
#[cfg(test)]
mod synthetic;
mod table;
mod tree_runs;
mod verdict;
mod window;

pub use comparison::{
    Compared, ComparedPoint, Crossing, Decision, Relation, SeriesComparison, Standing, State, compare_series,
};
pub use diagnostic::{Diagnostic, plain_words};
pub use document::Override;
pub use experiment::{Experiment, file_part};
pub use figure::{Figure, setting_unit};
pub use file::{FaultSettings, Stop, TimeUnit};
pub use file_name::is_file_name;
pub use kind::{Kind, Mode, Run};
pub use origin::{Origin, Program};
pub use output::{OutputError, OutputFile, check_file, file_place, write_file};
pub use plot::{Plot, PlotError, plot, plot_comparison};
pub use point::{Coordinate, Point, PointSpec};
pub use quantity::Quantity;
pub use refine::{Onset, RefinedSweep, Refinement, refine_sweep};
pub use replication::Replication;
pub use run::{Findings, RunError, Variation, origins, run_point, run_sweep, stored_sweep, stored_variations};
pub use safety::{UnsafePoint, unsafe_points};
pub use scenarios::{Job, JobError};
pub use schema::schema;
pub use seed::replication_seed;
pub use statistics::{Estimate, number_text};
pub use stopping::Outcome;
pub use store::{DamagedRow, Store, StoreError, StoreProblem};
pub use summary::{Figures, LatencySummary, LoadSummary, PlanSummary, PointSummary, TreeSummary, summarise};
pub use sweep::{Lengthened, Observer, PointRuns, PointStatus, Status, SweepError, stored, sweep};
pub use table::{csv, replications_csv, replications_json};
pub use tree_runs::{TreeFigures, TreeResult, TreeRuns};
pub use verdict::{Bracket, ClaimVerdict, Comparison, Finding, Part, Verdict};
