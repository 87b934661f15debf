//! Runs without time: the cost of plans.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wormcast_multicast::{Algorithm, Multicast, Planner, PortModel};
use wormcast_network::watch::step;

use crate::config::switching::Switching;
use crate::config::{Mode, Run, Timing, Traffic};
use crate::run::plan_checker::PlanChecker;
use crate::run::recorder::Goal;
use crate::run::scenario::{ConfigError, Scenario};
use crate::run::simulate::{SimulationError, goal};
use crate::traffic::MessageSource;

/// The checked settings of a run that only plans messages.
#[derive(Clone)]
pub struct Planning {
    scenario: Scenario,
    ports: PortModel,
}

impl Planning {
    /// Checks the settings as [`Scenario::new`] does. `messages` are planned, by default all of a trace or of a single burst, and otherwise
    /// as many as a simulation would measure; nodes send as `ports` says in each step.
    ///
    /// # Errors
    /// The first setting that is invalid.
    pub fn new(
        algorithm: Arc<dyn Algorithm>,
        (switching, timing): (&Switching, &Timing),
        traffic: &Traffic,
        messages: Option<u64>,
        ports: PortModel,
    ) -> Result<Self, ConfigError> {
        let run = Run { mode: Some(Mode::Finite), messages, ..Run::default() };
        // Plans wait for no channel, so there are as many as the algorithm asks for.
        let mut switching = switching.clone();
        if let Switching::Wormhole(wormhole) = &mut switching {
            wormhole.virtual_channels = wormhole.virtual_channels.max(u32::from(algorithm.needed_virtual_channels().0));
        }
        let scenario = Scenario::checked(algorithm, &switching, timing, traffic, &run)?;
        // No engine takes any.
        scenario.require(scenario.tables_memory())?;
        Ok(Self { scenario, ports })
    }

    /// The scenario: algorithm, network, and how the plans would be carried out.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

/// The outcome of a run that only plans.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanResult {
    /// The seed of the run's random choices.
    pub seed: u64,
    /// Messages planned.
    pub messages: u64,
    /// The cost of their plans.
    pub costs: PlanCosts,
}

/// The cost of plans, apart from time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PlanCosts {
    /// The steps of a message's plan: the mean over messages.
    pub steps: f64,
    /// Worms that the busiest node sends for all messages of the run together.
    pub startups: u64,
    /// Worms that a node sends for all messages of the run together: the mean over nodes.
    pub mean_startups: f64,
    /// Channels that the worms of a plan take, each counted as often as it is taken: the mean over messages.
    pub channels: f64,
    /// The share of plans that are not contention-free (paper 2, Definition 4).
    pub contention: f64,
    /// The share of turns that the routing prohibits; `None` for a routing that is not one over permitted turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prohibited: Option<f64>,
}

/// Plans the messages of a run and counts; the result is a function of the planning and the seed alone.
///
/// # Errors
/// If a plan is not correct, or has no route.
pub fn plan_messages(planning: &Planning, seed: u64) -> Result<PlanResult, SimulationError> {
    let Planning { scenario, ports } = planning;
    let (network, algorithm) = (&*scenario.network, &*scenario.algorithm);
    let count = match goal(scenario) {
        Goal::Finite { count } => count.unwrap_or(u64::MAX),
        Goal::Steady { count, .. } | Goal::Drained { count, .. } => count,
    };
    let mut checker = PlanChecker::of(scenario);
    let mut planner = Planner::new(algorithm);
    let mut sent = vec![0u64; network.nodes()];
    let (mut messages, mut steps, mut channels, mut contending) = (0u64, 0u64, 0u64, 0u64);
    for message in MessageSource::new(&scenario.traffic, network.nodes(), seed) {
        if messages >= count {
            break;
        }
        step("planning", "messages", messages as usize, if count < u64::MAX { count as usize } else { 0 });
        let multicast = Multicast::from_vec(message.source, message.destinations);
        let plan = planner.plan(&multicast);
        checker.check(scenario, &multicast, &plan)?;
        let summary = plan.summary(algorithm.routing(), *ports)?;
        messages += 1;
        steps += u64::from(summary.steps);
        channels += u64::from(summary.channels);
        contending += u64::from(summary.contention().is_some());
        for worm in &summary.worms {
            sent[worm.from.index()] += 1;
        }
    }
    let each = |sum: u64| sum as f64 / messages.max(1) as f64;
    let costs = PlanCosts {
        steps: each(steps),
        startups: sent.iter().copied().max().unwrap_or(0),
        mean_startups: sent.iter().sum::<u64>() as f64 / sent.len().max(1) as f64,
        channels: each(channels),
        contention: each(contending),
        prohibited: algorithm.routing().capabilities().turns.map(|routing| routing.turns().fraction()),
    };
    Ok(PlanResult { seed, messages, costs })
}
