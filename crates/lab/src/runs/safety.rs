//! Which points of a sweep the static analysis calls unsafe.

use std::collections::HashSet;

use wormcast_analysis::{CycleResource, deadlock_of_scenario, steps_of_scenario};
use wormcast_multicast::Descriptor;
use wormcast_routing::RoutingDescriptor;
use wormcast_simulation::{EngineChoice, Scenario, Timing, Traffic};

use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::{Point, PointSpec};
use crate::runs::kind::RunTable;
use crate::runs::scenarios::Job;

/// A point whose worms can deadlock, whatever is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsafePoint {
    /// Its position among the points.
    pub point: usize,
    /// A cycle of what worms may hold while they wait for the next.
    pub cycle: Vec<CycleResource>,
}

impl Experiment {
    /// What the static analysis says of the points whose worms can deadlock or that were too large for it, a sentence each.
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
                "Worms of {}{} on {}{} can deadlock, whether or not one did in this sweep: with {ports} consumption channel{} at each node, each of \
                 these may be held by a worm that waits for the next: {}.",
                spec.algorithm,
                spec.routing.as_ref().map_or_else(String::new, |routing| format!(", routed by {routing},")),
                spec.topology,
                with_swept(&points[point]),
                if ports == 1 { "" } else { "s" },
                cycle.join("; ")
            )
        };
        let SweepSafety { unsafe_points, skipped } = sweep_safety(&points, &jobs);
        let not_analysed = |point: usize| {
            let spec = &points[point].spec;
            format!(
                "Whether worms of {} on {} can deadlock was not analysed: the networks of a sweep are until their routers times channels, \
                 where routes have to be followed, add up to 2^28.",
                spec.algorithm, spec.topology
            )
        };
        // What differs between points need not make a difference to what is said.
        let mut said = HashSet::new();
        let all = unsafe_points.into_iter().map(sentence).chain(skipped.into_iter().map(not_analysed));
        Ok(all.filter(|sentence| said.insert(sentence.clone())).collect())
    }
}

/// The swept settings on which it depends what worms wait for, beside those that are named in any case: `, with switching.buffer=4,`.
fn with_swept(point: &Point) -> String {
    let named = |key: &str| ["topology", "algorithm", "routing"].contains(&key) || key.starts_with("topology.");
    let idle = |key: &str| {
        ["traffic", "timing", "run", "stop", "engine", "seed"].contains(&key.split('.').next().unwrap_or(key))
    };
    let swept = point.coordinates.iter().filter(|coordinate| !named(&coordinate.key) && !idle(&coordinate.key));
    let swept: Vec<String> = swept.map(|coordinate| format!("{}={}", coordinate.key, coordinate.text())).collect();
    if swept.is_empty() { String::new() } else { format!(", with {},", swept.join(" and ")) }
}

/// Steps up to which routings are analysed before a run or, added up, a sweep: beyond, it takes longer than most runs. Where routes have to be followed, these are the routers times the channels.
const LIMIT: usize = 1 << 28;

/// Whether the static analysis looks at the worms of a run beforehand: unless routes have to be followed, always but on networks of millions of channels; if they have to, up to 2^28 routers times
/// channels. Beyond, it would take longer than most runs.
pub fn is_analysed(scenario: &Scenario) -> bool {
    steps_of_scenario(scenario) <= LIMIT
}

/// What the static analysis says of the points of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepSafety {
    /// The points whose worms can deadlock, one for all that differ in traffic and timing alone.
    pub unsafe_points: Vec<UnsafePoint>,
    /// The points that were not analysed, one for all that differ in traffic and timing alone.
    pub skipped: Vec<usize>,
}

/// The points whose worms can deadlock. Networks are analysed until their [steps](steps_of_scenario) add up to 2^28; beyond that, it would
/// take longer than most runs, and points are skipped. Of graphs that each replication draws anew, that of the first is analysed.
pub fn sweep_safety(points: &[Point], jobs: &[Job]) -> SweepSafety {
    let mut left = LIMIT;
    let mut known: HashSet<String> = HashSet::new();
    let mut safety = SweepSafety::default();
    for (place, (point, job)) in points.iter().zip(jobs).enumerate() {
        // Nothing is sent otherwise.
        let Job::Simulate(scenario) = job else { continue };
        let spec = &point.spec;
        // All that the point's worms depend on, whatever may be asked of an algorithm; and nothing beside traffic, timing and the run.
        let same = PointSpec {
            traffic: Traffic::default(),
            timing: Timing::default(),
            run: RunTable::default(),
            engine: EngineChoice::default(),
            seed: 0,
            ..spec.clone()
        };
        // A seed of its own makes another kind of point only where worms depend on it.
        let seed = draws(point, scenario).then_some(spec.seed);
        if !known.insert(format!("{same:?} {seed:?}")) {
            continue;
        }
        let Some(rest) = left.checked_sub(steps_of_scenario(scenario)) else {
            safety.skipped.push(place);
            continue;
        };
        left = rest;
        if let Some(cycle) = deadlock_of_scenario(scenario) {
            let cycle = cycle.into_iter().map(|resource| CycleResource::new(scenario.network(), resource)).collect();
            safety.unsafe_points.push(UnsafePoint { point: place, cycle });
        }
    }
    safety
}

/// Whether the worms that may be sent depend on the seed.
fn draws(point: &Point, scenario: &Scenario) -> bool {
    let routing = point.spec.routing.as_deref().and_then(|name| RoutingDescriptor::named(name).ok());
    let draws = |descriptor: &Descriptor| descriptor.draws_on(scenario.network(), routing);
    point.spec.draws_graphs_anew()
        || point.spec.faults.random > 0
        || Descriptor::named(&point.spec.algorithm).is_ok_and(draws)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_are_too_large_to_analyse_are_named_once() {
        let text = "algorithm = 'separate'\nrouting = 'west-first'\ntraffic.arrivals = { process = 'burst', sources = 1 }\n\
                    sweep = { topology = ['mesh:4x4', 'mesh:128x128'], 'traffic.length' = [8, 16] }\n";
        let experiment = Experiment::parse("x.toml", text, &[]).unwrap();
        let points = experiment.points().unwrap();
        let safety = sweep_safety(&points, &experiment.jobs(&points).unwrap());
        let topologies = |places: &[usize]| -> Vec<String> {
            places.iter().map(|&place| points[place].spec.topology.clone()).collect()
        };
        assert_eq!(topologies(&safety.skipped), ["mesh:128x128"]);
        assert!(safety.unsafe_points.iter().all(|of| points[of.point].spec.topology == "mesh:4x4"));
        // Where no routes have to be followed, a network of that size is analysed.
        for quick in
            ["algorithm = 'dual-path'", "routing = 'e-cube'", "routing = 'turn-prohibition'", "routing = 'up-down'"]
        {
            let routing = if quick.starts_with("routing") { "\nalgorithm = 'separate'" } else { "" };
            let text = format!(
                "{quick}{routing}\ntopology = 'mesh:128x128'\ntraffic.arrivals = {{ process = 'burst', sources = 1 }}\n"
            );
            let experiment = Experiment::parse("x.toml", &text, &[]).unwrap();
            let points = experiment.points().unwrap();
            let safety = sweep_safety(&points, &experiment.jobs(&points).unwrap());
            assert_eq!(safety, SweepSafety::default(), "{quick}");
        }
        let said = experiment.unsafe_worms().unwrap();
        let last = "Whether worms of separate on mesh:128x128 can deadlock was not analysed: ";
        assert!(said.last().is_some_and(|sentence| sentence.starts_with(last)), "{said:?}");
    }
}
