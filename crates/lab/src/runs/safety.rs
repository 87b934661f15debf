//! Which points of a sweep the static analysis calls unsafe.

use std::collections::HashSet;

use wormcast_analysis::{Held, deadlock_of_scenario};
use wormcast_multicast::Descriptor;
use wormcast_routing::RoutingDescriptor;
use wormcast_simulation::Scenario;

use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::Point;
use crate::runs::scenarios::Job;

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
                "Worms of {} on {} can deadlock, even if none did in this sweep: with {ports} consumption channel{} at each node, each of \
                 these may be held by a worm that waits for the next: {}.",
                spec.algorithm,
                spec.topology,
                if ports == 1 { "" } else { "s" },
                cycle.join("; ")
            )
        };
        Ok(unsafe_points(&points, &jobs).into_iter().map(sentence).collect())
    }
}

/// Routers times channels that are analysed for a sweep.
const LIMIT: usize = 1 << 28;

/// The points whose worms can deadlock, one for all that differ in traffic and timing alone. Networks are analysed until their routers times
/// channels add up to 2^28: beyond that, analysing would take longer than most runs, and points are left out.
pub fn unsafe_points(points: &[Point], jobs: &[Job]) -> Vec<UnsafePoint> {
    let mut left = LIMIT;
    let mut known: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for (place, (point, job)) in points.iter().zip(jobs).enumerate() {
        // Nothing is sent otherwise.
        let Job::Simulate(scenario) = job else { continue };
        let spec = &point.spec;
        let kind = (&spec.topology, &spec.algorithm, &spec.routing, &spec.root, &spec.faults, &spec.switching);
        // A seed of its own makes another kind of point only where worms depend on it.
        let seed = draws(point, scenario).then_some(spec.seed);
        if !known.insert(format!("{kind:?} {seed:?}")) {
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

/// Whether the worms that may be sent depend on the seed.
fn draws(point: &Point, scenario: &Scenario) -> bool {
    let routing = point.spec.routing.as_deref().and_then(|name| RoutingDescriptor::named(name).ok());
    let draws = |descriptor: &Descriptor| descriptor.draws_on(scenario.network(), routing);
    point.spec.faults.random > 0 || Descriptor::named(&point.spec.algorithm).is_ok_and(draws)
}

fn size(scenario: &Scenario) -> usize {
    scenario.network().routers().saturating_mul(scenario.network().channels())
}
