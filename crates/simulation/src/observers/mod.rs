//! Observers of runs: measurements, and files that are written during the run.

pub(crate) mod buffer_use;
pub(crate) mod channel_use;
pub(crate) mod deliveries;
pub(crate) mod observer;
pub(crate) mod replay;
pub(crate) mod sink;
pub(crate) mod timeline;
pub(crate) mod waits;
