//! Floor 4 of wormcast: what happens in time.

mod config;
mod result;

pub use config::{
    Arrivals, Count, Header, Mode, Model, MulticastTraffic, Pattern, Process, Replication, Reservation, Run,
    StartupMode, Switching, Timing, Traffic, UnicastTraffic, Warmup,
};
pub use result::{DeadWorm, Deadlock, Distribution, Latency, LinkUse, Messages, Parts, RunResult, Window};

mod scenario;
pub use scenario::{ConfigError, EngineChoice, Scenario, SimulationError, simulate};
