//! Run experiments: sweep over settings, replicate until the results are precise, store, compare and plot them.
//!
//! An [`Experiment`] is a file with one configuration, or a sweep over several. [`run_sweep`] simulates each of its points until the
//! confidence interval is narrow enough, the point is certainly saturated or deadlocked, or the replications that the file allows are used up, and keeps every replication in a [`Store`]:
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
//! let found = run_sweep(&experiment, jobs, &mut store, /* fresh: */ false, &mut ())?;
//! write_file(Path::new("quick.csv"), csv(&found.summaries).as_bytes())?;
//! if let Some(figure) = experiment.figure() {
//!     write_file(Path::new("quick.svg"), plot(&figure, &found.summaries)?.svg.as_bytes())?;
//! }
//! for verdict in found.verdicts {
//!     println!("{}: {}", verdict.claim, verdict.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - A replication depends on its point's description, the seed and its number alone: the results are the same with any number of threads.
//! - Every replication that counts is stored as soon as it is done, so a sweep can be interrupted at any time and goes on where it stopped.
//! - A point's [hash](PointSpec::config_hash) names its results in the store. It covers the settings of the point and the contents of the files that it names, but not titles, plots, claims and the stop rule.
//! - Errors in an experiment file are [`Diagnostic`]s with file, line and column. Nearly all are reported before anything runs; what only a run can meet, such as a worm that the switching cannot carry, [`Experiment::explain`] traces to its setting.
//! - Files are replaced as a whole or not at all.
//!
//! # Where to look next
//!
//! - [`schema`] describes experiment files as a JSON Schema.
//! - [`summarise`] computes means with confidence intervals, [`csv()`] writes them as a table.
//! - [`compare_series`] says which series is best, where, and how surely; [`refine_sweep`] adds the loads at which that is decided.
//! - A claim in the file gets a [`Verdict`] with its evidence.
//! - [`report`] writes pages in HTML and Markdown.

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
    Compared, ComparedPoint, Crossing, DecisionCost, Relation, SeriesComparison, Standing, State, check_comparison,
    compare_series,
};
pub use experiment::diagnostic::{Diagnostic, plain_words};
pub use experiment::document::Override;
pub use experiment::file::{FaultSettings, Stop, TimeUnit};
pub use experiment::file_name::is_file_name;
pub use experiment::open::OpenSetting;
pub use experiment::point::{Coordinate, Point, PointSpec};
pub use experiment::schema::schema;
pub use experiment::{Experiment, file_part};
pub use figure::{Figure, setting_unit};
pub use output::{OutputError, OutputFile, check_file, ending_of_one_kind, file_place, write_file};
pub use plot::{Plot, PlotAxis, PlotData, PlotError, PlotPoint, PlotSeries, plot, plot_comparison, plot_data};
pub use runs::kind::{Kind, RunMode, RunTable};
pub use runs::refine::{Onset, RefinedSweep, Refinement, refine_sweep};
pub use runs::replication::{Replication, Shown};
pub use runs::run::{
    Findings, RunError, Substitution, Variation, origins, run_point, run_sweep, run_sweep_with, stored_sweep,
    stored_variations,
};
pub use runs::runner::Runner;
pub use runs::safety::{SweepSafety, UnsafePoint, is_analysed, sweep_safety};
pub use runs::scenarios::{Job, JobError, SendsNothing};
pub use runs::seed::replication_seed;
pub use runs::shard::{SettingElsewhere, Shard, differences_text, other_settings, run_shard};
pub use runs::stoppable::StoppableThreads;
pub use runs::stopping::Outcome;
pub use runs::sweep::{
    Batch, BatchResult, Budget, Failure, Lengthened, MAX_THREADS, PointRuns, PointStatus, Status, SweepError,
    SweepObserver, Workers, WorkersError, stored, sweep, sweep_with,
};
pub use runs::tree_runs::{TreeFigures, TreeResult, TreeRuns};
pub use statistics::quantity::Quantity;
pub use statistics::summary::{
    Figures, LatencySummary, LoadSummary, PlanCostSummary, PointSummary, TreeSummary, incomplete_points, summarise,
};
pub use statistics::table::{
    Cell, Table, TableColumn, csv, replaced, replications_csv, replications_json, replications_table, table,
};
pub use statistics::{Estimate, in_percent, number_text};
pub use store::origin::{Origin, Program};
pub use store::{DamagedRow, Gap, Merged, Store, StoreError, StoreProblem};
pub use verdict::{Bracket, ClaimVerdict, Comparison, Finding, Part, Range, Verdict, Wording};
