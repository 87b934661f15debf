//! What watches a run: its measurements, and files that are written as it goes on.

pub(crate) mod buffer_use;
pub(crate) mod channel_use;
pub(crate) mod deliveries;
pub(crate) mod observer;
pub(crate) mod sink;
pub(crate) mod timeline;
pub(crate) mod waits;
