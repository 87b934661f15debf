//! Runs the points of an experiment: jobs, sweeps, and when they stop.

pub(crate) mod kind;
pub(crate) mod refine;
pub(crate) mod replication;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod safety;
pub(crate) mod scenarios;
pub(crate) mod seed;
pub(crate) mod shard;
pub(crate) mod stoppable;
pub(crate) mod stopping;
pub(crate) mod sweep;
pub(crate) mod tree_runs;
pub(crate) mod window;
