//! Which points of a sweep the static analysis calls unsafe.

use std::collections::HashSet;

use wormcast_analysis::{Held, deadlock_of_scenario};
use wormcast_simulation::Scenario;

use crate::diagnostic::Diagnostic;
use crate::experiment::Experiment;
use crate::point::Point;
use crate::scenarios::Job;

/// A point whose worms can deadlock, whatever is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsafePoint {
    /// Its position among the points.
    pub point: usize,
    /// A cycle of what worms may hold while they wait for the next.
    pub cycle: Vec<Held>,
}

impl Experiment {
    /// What the static analysis says of the points whose worms can deadlock, a sentence each.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs).
    pub fn unsafe_worms(&self) -> Result<Vec<String>, Diagnostic> {
        let points = self.points()?;
        let jobs = self.jobs(&points)?;
        let sentence = |UnsafePoint { point, cycle }: UnsafePoint| {
            let spec = &points[point].spec;
            let ports = jobs[point].scenario().map_or(0, |scenario| scenario.engine_config().ports.consumption);
            let cycle: Vec<String> = cycle.iter().map(ToString::to_string).collect();
            format!(
                "Worms of {} on {} can deadlock, whatever this sweep shows: with {ports} consumption channel{} a node, each of these may \
                 be held by a worm that waits for the next: {}.",
                spec.algorithm,
                spec.topology,
                if ports == 1 { "" } else { "s" },
                cycle.join("; ")
            )
        };
        Ok(unsafe_points(&points, &jobs).into_iter().map(sentence).collect())
    }
}

/// Routers times channels, over all networks of a sweep, beyond which the analysis would take longer than most runs.
const LIMIT: usize = 1 << 28;

/// The points whose worms can deadlock, one for all that differ in traffic and timing alone. Points on networks that are too large to be
/// analysed beside a run, or too many, are not among them.
pub fn unsafe_points(points: &[Point], jobs: &[Job]) -> Vec<UnsafePoint> {
    let mut left = LIMIT;
    let mut known: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for (place, (point, job)) in points.iter().zip(jobs).enumerate() {
        let Some(scenario) = job.scenario() else { continue };
        let spec = &point.spec;
        let kind =
            (&spec.topology, &spec.algorithm, &spec.routing, &spec.root, spec.seed, &spec.faults, &spec.switching);
        if !known.insert(format!("{kind:?}")) {
            continue;
        }
        let Some(rest) = left.checked_sub(size(scenario)) else { continue };
        left = rest;
        if let Some(cycle) = deadlock_of_scenario(scenario) {
            let cycle = cycle.into_iter().map(|resource| Held::new(scenario.network(), resource)).collect();
            found.push(UnsafePoint { point: place, cycle });
        }
    }
    found
}

fn size(scenario: &Scenario) -> usize {
    scenario.network().routers().saturating_mul(scenario.network().channels())
}
