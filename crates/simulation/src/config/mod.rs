//! The settings of a run, as plain data and as experiment files spell them: a module for each table of a file.

mod amounts;
pub(crate) mod buffer;
pub(crate) mod delay;
mod run;
pub(crate) mod switching;
mod timing;
mod traffic;

pub use amounts::{Count, Destinations, Length};
pub use run::{Mode, Run, Warmup};
pub use timing::{StartupMode, Timing, TimingPreset};
pub use traffic::{Arrivals, MulticastTraffic, Pattern, Process, Traffic, UnicastTraffic};
