//! Runs: their checked settings, the loop around an engine, and their results.

pub(crate) mod batches;
pub(crate) mod carried;
pub(crate) mod idle;
pub(crate) mod link_use;
pub(crate) mod plan_checker;
pub(crate) mod planning;
pub(crate) mod quantiles;
pub(crate) mod recorder;
pub(crate) mod result;
pub(crate) mod run_end;
pub(crate) mod sample;
pub(crate) mod scenario;
pub(crate) mod simulate;
