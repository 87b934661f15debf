//! Which points of a sweep the static analysis calls unsafe.

use std::collections::{BTreeSet, HashMap, HashSet};

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
        let kinds = kinds(&points, &jobs);
        let SweepSafety { unsafe_points, skipped } = sweep_safety(&points, &jobs);
        let is_safe = |point: usize| {
            let is = |kind| !skipped.contains(&kind) && unsafe_points.iter().all(|found| found.point != kind);
            kinds[point].is_some_and(is)
        };
        let sentence = |UnsafePoint { point, cycle }: &UnsafePoint| {
            let (point, spec) = (*point, &points[*point].spec);
            let ports = jobs[point].scenario().map_or(0, |scenario| scenario.engine_config().ports.consumption);
            let cycle: Vec<String> = cycle.iter().map(ToString::to_string).collect();
            format!(
                "Worms of {}{} on {}{} can deadlock, whether or not one did in this sweep: with {ports} consumption channel{} at each node, each of \
                 these may be held by a worm that waits for the next: {}.",
                spec.algorithm,
                spec.routing.as_ref().map_or_else(String::new, |routing| format!(", routed by {routing},")),
                spec.topology,
                with_swept(&points, point, &is_safe),
                if ports == 1 { "" } else { "s" },
                cycle.join("; ")
            )
        };
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
        let all = unsafe_points.iter().map(sentence).chain(skipped.iter().copied().map(not_analysed));
        Ok(all.filter(|sentence| said.insert(sentence.clone())).collect())
    }
}

/// The swept settings that make the worms of a point unsafe, beside those that are named in any case: `, with switching.buffer=4,`. A setting does if a point
/// that differs in it alone is safe. If there is no such point, all settings count in which some safe point differs.
fn with_swept(points: &[Point], point: usize, is_safe: &dyn Fn(usize) -> bool) -> String {
    let own = &points[point];
    let is_named = |key: &str| ["topology", "algorithm", "routing"].contains(&key) || key.starts_with("topology.");
    let differing = |other: &Point| -> Vec<usize> {
        let pairs = own.coordinates.iter().zip(&other.coordinates).enumerate();
        pairs.filter(|(_, (own, other))| own != other).map(|(axis, _)| axis).collect()
    };
    let safe = points.iter().enumerate().filter(|&(place, _)| is_safe(place));
    let from_safe: Vec<Vec<usize>> = safe
        .map(|(_, other)| differing(other))
        .filter(|axes| axes.iter().all(|&axis| !is_named(&own.coordinates[axis].key)))
        .collect();
    let alone: BTreeSet<usize> = from_safe.iter().filter(|axes| axes.len() == 1).flatten().copied().collect();
    let axes = if alone.is_empty() { from_safe.into_iter().flatten().collect() } else { alone };
    let said = axes.into_iter().map(|axis| format!("{}={}", own.coordinates[axis].key, own.coordinates[axis].text()));
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!(", with {},", said.join(" and ")) }
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
    /// The points whose worms can deadlock, one for all that differ only in what makes no difference to that, as times do.
    pub unsafe_points: Vec<UnsafePoint>,
    /// The points that were not analysed, one for all that differ only in what makes no difference to that, as times do.
    pub skipped: Vec<usize>,
}

/// The points whose worms can deadlock. Networks are analysed until their [steps](steps_of_scenario) add up to 2^28; beyond that, it would
/// take longer than most runs, and points are skipped. Of graphs that each replication draws anew, that of the first is analysed.
pub fn sweep_safety(points: &[Point], jobs: &[Job]) -> SweepSafety {
    let mut left = LIMIT;
    let mut safety = SweepSafety::default();
    let firsts = kinds(points, jobs).into_iter().enumerate().filter(|&(place, kind)| kind == Some(place));
    for (place, job) in firsts.map(|(place, _)| (place, &jobs[place])) {
        let Job::Simulate(scenario) = job else { continue };
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

/// For each point, the first whose worms may wait for the same; `None` where nothing is sent.
fn kinds(points: &[Point], jobs: &[Job]) -> Vec<Option<usize>> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut kind = |(place, (point, job)): (usize, (&Point, &Job))| {
        let Job::Simulate(scenario) = job else { return None };
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
        // A seed of its own makes another kind of point only where worms depend on it, and traffic where buffers hold all of its worms.
        let seed = draws(point, scenario).then_some(spec.seed);
        let branching = scenario.engine_config().branching();
        Some(*known.entry(format!("{same:?} {seed:?} {branching:?}")).or_insert(place))
    };
    points.iter().zip(jobs).enumerate().map(&mut kind).collect()
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
    fn what_is_said_names_the_swept_settings_that_make_the_difference_and_no_others() {
        let said = |settings: &str, sweep: &str| {
            let text = format!(
                "topology = 'mesh:4x4'\nalgorithm = 'xy-tree'\n{settings}\n\
                 traffic = {{ arrivals = {{ process = 'burst', sources = 1 }}, length = 8, multicast = {{ destinations = 3 }} }}\n\
                 sweep = {{ {sweep} }}\n"
            );
            let said = Experiment::parse("x.toml", &text, &[]).unwrap().unsafe_worms().unwrap();
            let end = |sentence: &String| sentence.split_once(" can deadlock, whether").unwrap().0.to_owned();
            said.iter().map(end).collect::<Vec<_>>()
        };
        let with = |settings: &str| vec![format!("Worms of xy-tree on mesh:4x4{settings}")];
        let lockstep = "switching = { replication = 'lockstep', buffer = 2 }";
        let selection = "'switching.selection' = ['first', 'random', 'round-robin']";
        assert_eq!(said(lockstep, selection), with(""));
        let replication = "'switching.replication' = ['independent', 'lockstep']";
        assert_eq!(said("", &format!("{replication}, {selection}")), with(", with switching.replication=lockstep,"));
        // A buffer that holds all worms is one for whole messages, in whatever order the lengths come.
        for lengths in ["[8, 16]", "[16, 8]"] {
            let length = format!("'traffic.length' = {lengths}, 'timing.startup' = [1, 2]");
            assert_eq!(said("switching.buffer = 8", &length), with(", with traffic.length=16,"));
        }
    }

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
