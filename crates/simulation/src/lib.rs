//! Simulate worms cycle by cycle, and measure how long messages take.
//!
//! A [`Scenario`] is everything that a run depends on except its seed: algorithm, switching, timing, traffic and length. [`simulate`] runs
//! one and returns a [`RunResult`] with latencies, loads and, if there was one, the deadlock:
//!
//! ```
//! use wormcast_multicast::{Options, algorithm_by_name};
//! use wormcast_network::TopologySpec;
//! use wormcast_simulation::{
//!     Arrivals, EngineChoice, Mode, Run, Scenario, Switching, Timing, Traffic, Wormhole, simulate,
//! };
//!
//! // One unicast of 32 flits in an 8x8 mesh.
//! let mesh = "mesh:8x8".parse::<TopologySpec>()?.build()?;
//! let algorithm = algorithm_by_name("separate", &mesh, &Options::default())?;
//! let traffic = Traffic { arrivals: Some(Arrivals::burst(1)), ..Traffic::default() };
//! let timing = Timing { startup: 100, ..Timing::default() };
//! let run = Run { mode: Some(Mode::Drain), ..Run::default() };
//! let switching = Switching::from(Wormhole::default());
//! let scenario = Scenario::new(algorithm.into(), &switching, &timing, &traffic, &run)?;
//! let result = simulate(&scenario, EngineChoice::Auto, 1)?;
//! assert_eq!((result.messages.delivered, result.deadlock.is_none()), (1, true));
//! // Startup and length are the least that it takes.
//! assert!(result.latency.last.mean > Some(100.0 + 32.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Underneath, an [`Engine`] takes plans at given cycles and tells an [`Observer`] what happens:
//!
//! ```
//! use wormcast_multicast::{Plan, Worm};
//! use wormcast_network::{NodeId, TopologySpec};
//! use wormcast_routing::ECube;
//! use wormcast_simulation::{Cycle, Delivery, Engine, EngineConfig, FlitEngine, Observer, Timing, Wormhole};
//!
//! #[derive(Default)]
//! struct Deliveries(Vec<(u32, Cycle)>);
//!
//! impl Observer for Deliveries {
//!     fn delivered(&mut self, delivery: &Delivery) {
//!         self.0.push((delivery.node.raw(), delivery.delivered));
//!     }
//! }
//!
//! // One worm of 10 flits from (0,0) via (2,0) to (2,1).
//! let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
//! let config = EngineConfig::new(&Wormhole::default(), &Timing { startup: 100, ..Timing::default() }, &mesh);
//! let e_cube = ECube::new(&mesh)?;
//! let mut engine = FlitEngine::new(&e_cube, config, Deliveries::default());
//! let stops = vec![NodeId::new(2), NodeId::new(6)];
//! engine.submit(0, 0, 10, Plan { worms: vec![Worm::path(NodeId::new(0), stops)] });
//! engine.run_until(Cycle::MAX);
//! // S + (D + 1)(r + 1) + L for the last stop, where S = 100 is the startup, D = 3 the hops, r = 4 the routing delay and L = 10 the length,
//! // all in cycles; at the first stop the last flit is later, as the header has to go on first.
//! assert_eq!(engine.observer().0, [(2, 129), (6, 130)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - The rules are written down, in `docs/model.md`, and the engines follow them to the cycle. Where the worm engine is exact, it gives the
//!   same results as the flit engine, which simulates every flit.
//! - A result depends on the scenario and the seed alone, not on the number of threads. (Gaps between arrivals are logarithms, whose last bit
//!   the platform's library decides.)
//! - A deadlock is found and is a result. A plan that is wrong, or a header without a route, is an error.
//! - Engines do not allocate for each flit, and the observer `()` costs nothing.
//!
//! # Where to look next
//!
//! - [`Scenario::new`] checks all settings against each other; [`simulate_observed`] adds an observer of your own.
//! - [`Timeline`], [`DeliveryLog`], [`ChannelUse`], [`BufferLog`], [`Replay`] and [`WaitLog`] are observers that become files.
//! - [`simulate_until`] ends when a flag is set, as sweeps that are stopped do.
//! - [`simulate_on`] simulates parts of a large network side by side, on several threads, with the same result; [`one_thread_because`] says where it cannot.
//! - [`plan_messages`] measures plans without simulating time.
//! - [`search_deadlock`] searches, within a budget, for messages that reach a deadlock, or proves that there are none.

mod calendar;
mod config;
mod contention_free;
mod core;
mod deadlock_search;
mod engine;
mod observers;
mod rng;
mod run;
mod selection;
mod switch;
mod traffic;
mod wormhole;

pub use config::buffer::Buffer;
pub use config::delay::LinkDelay;
pub use config::switching::{
    BranchReplication, BranchTiming, BufferedSwitch, Header, HeaderChunks, Organization, ReadPath, Reservation,
    SelectionPolicy, Switching, Wormhole,
};
pub use config::{
    Arrivals, Count, Destinations, Length, Mode, MulticastTraffic, Pattern, Process, Run, StartupMode, Timing,
    TimingPreset, Traffic, UnicastTraffic, Warmup,
};
pub use contention_free::{WormTiming, delayed_path_delivery, lockstep_tree_delivery, path_delivery};
pub use deadlock_search::{
    DeadlockSchedule, NotCovered, Reachability, ReachabilityVerdict, ScheduledMessage, Sendable, Undecided,
    search_deadlock,
};
pub use engine::{Engine, EngineConfig, StopReason};
pub use observers::buffer_use::BufferLog;
pub use observers::channel_use::ChannelUse;
pub use observers::deliveries::DeliveryLog;
pub use observers::observer::{Cycle, Delivery, Generated, LatencyParts, Observer};
pub use observers::replay::{
    REPLAY_MAGIC, Replay, ReplayChunk, ReplayError, ReplayFile, ReplayHop, ReplayRun, ReplayWait, ReplayWorm,
    replay_settings,
};
pub use observers::timeline::Timeline;
pub use observers::waits::{WaitLog, WaitsDot, WaitsSvg};
pub use run::batches::BACKLOG;
pub use run::idle::IdleSetting;
pub use run::planning::{PlanCosts, PlanResult, Planning, plan_messages};
pub use run::quantiles::Quantiles;
pub use run::result::{
    BufferUse, DeadWorm, Deadlock, Distribution, KindLatency, Latency, LinkUse, Messages, Parts, RunResult, Window,
};
pub use run::run_end::{Awaited, Held, RunEnd, Wait, WaitResource, WormAtEnd};
pub use run::scenario::{ConfigError, MAX_LENGTH, Scenario};
pub use run::simulate::{
    EngineChoice, MODEL_VERSION, SimulationError, one_thread_because, simulate, simulate_observed, simulate_on,
    simulate_until,
};
pub use switch::{SwitchConfig, SwitchEngine};
pub use wormhole::WormholeEngine;
pub use wormhole::flit::FlitEngine;
pub use wormhole::worm::WormEngine;
