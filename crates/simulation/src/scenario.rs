//! One run, checked and ready.

use std::sync::Arc;

use thiserror::Error;
use wormcast_multicast::Algorithm;
use wormcast_network::Network;

use crate::config::{Run, Switching, Timing, Traffic};
use crate::result::RunResult;

/// Everything that a run depends on but its seed.
#[derive(Clone)]
pub struct Scenario {
    network: Arc<Network>,
    algorithm: Arc<dyn Algorithm>,
    switching: Switching,
    timing: Timing,
    traffic: Traffic,
    run: Run,
}

/// A setting that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{key}`: {problem}")]
pub struct ConfigError {
    /// The setting's path in the experiment file, such as `traffic.arrivals.rate`.
    pub key: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

/// Which engine runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EngineChoice {
    /// The fastest that is exact for the scenario.
    #[default]
    Auto,
    /// The flit engine.
    Flit,
    /// The worm engine.
    Worm,
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The engine that was asked for cannot run the scenario.
    #[error("the {engine} engine cannot run this: {reason}")]
    Engine {
        /// The engine.
        engine: &'static str,
        /// Why.
        reason: String,
    },
}

impl Scenario {
    /// Checks the settings against each other and the network.
    ///
    /// # Errors
    /// The first setting that makes no sense.
    pub fn new(
        network: Arc<Network>,
        algorithm: Arc<dyn Algorithm>,
        switching: Switching,
        timing: Timing,
        traffic: Traffic,
        run: Run,
    ) -> Result<Self, ConfigError> {
        Ok(Self { network, algorithm, switching, timing, traffic, run })
    }
}

/// Runs a scenario; the result is a function of the scenario and the seed alone. A deadlock is a result, not an error.
///
/// # Errors
/// If the engine asked for cannot run it.
pub fn simulate(scenario: &Scenario, engine: EngineChoice, seed: u64) -> Result<RunResult, SimulationError> {
    let _ = (scenario, engine, seed);
    Err(SimulationError::Engine { engine: "flit", reason: "not there yet".to_owned() })
}
