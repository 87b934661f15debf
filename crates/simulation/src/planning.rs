//! Runs without time: what the plans of messages cost.

use wormcast_multicast::{Multicast, PortModel};
use wormcast_network::watch::step;

use crate::promises::Promises;
use crate::recorder::Goal;
use crate::result::{Messages, PlanCosts, RunResult};
use crate::scenario::Scenario;
use crate::simulate::{SimulationError, goal};
use crate::traffic::MessageSource;

/// Plans the messages of a run and counts.
pub(crate) fn plan_messages(scenario: &Scenario, seed: u64) -> Result<RunResult, SimulationError> {
    let (network, algorithm) = (&*scenario.network, &*scenario.algorithm);
    let ports = PortModel::from(scenario.run.ports.unwrap_or_default());
    let count = match goal(scenario) {
        Goal::Finite { count } => count.unwrap_or(u64::MAX),
        Goal::Steady { count, .. } => count,
    };
    let mut promises = Promises::of(scenario);
    let mut sent = vec![0u64; network.nodes()];
    let (mut messages, mut steps, mut channels, mut contending) = (0u64, 0u64, 0u64, 0u64);
    for message in MessageSource::new(&scenario.traffic, network.nodes(), seed) {
        if messages >= count {
            break;
        }
        step("planning", "messages", messages as usize, if count < u64::MAX { count as usize } else { 0 });
        let multicast = Multicast::from_vec(message.source, message.destinations);
        let plan = algorithm.plan(&multicast);
        promises.check(scenario, &multicast, &plan)?;
        let summary = plan.summary(algorithm.routing(), ports)?;
        messages += 1;
        steps += u64::from(summary.steps);
        channels += u64::from(summary.channels);
        contending += u64::from(summary.contention().is_some());
        for worm in &summary.worms {
            sent[worm.from.index()] += 1;
        }
    }
    let each = |sum: u64| sum as f64 / messages.max(1) as f64;
    Ok(RunResult {
        messages: Messages { generated: messages, delivered: 0, in_flight: 0, measured: messages },
        plan: Some(PlanCosts {
            steps: each(steps),
            startups: sent.iter().copied().max().unwrap_or(0),
            mean_startups: sent.iter().sum::<u64>() as f64 / sent.len().max(1) as f64,
            channels: each(channels),
            contention: each(contending),
            prohibited: algorithm.routing().capabilities().turns.map(|routing| routing.turns().fraction()),
        }),
        ..RunResult::without_time(seed, "plan")
    })
}
