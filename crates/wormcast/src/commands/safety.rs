//! Warnings of what the static analysis finds.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::lab::{Job, Point, PointSpec, SweepSafety, sweep_safety};
use crate::multicast::AlgorithmOptions;
use crate::program;
use crate::simulation::Scenario;

/// How many kinds of points are warned of.
const WARNED: usize = 5;

/// Says which points of a sweep may deadlock.
pub(super) fn warn_of_unsafe_points(points: &[Point], jobs: &[Job]) {
    let SweepSafety { unsafe_points: found, skipped } = sweep_safety(points, jobs);
    if let Some(&first) = skipped.first() {
        let PointSpec { topology, algorithm, .. } = &points[first].spec;
        let more = if skipped.len() > 1 { format!(" and {} more", skipped.len() - 1) } else { String::new() };
        Failure::warn(&format!(
            "whether worms of `{algorithm}` on `{topology}`{more} can deadlock is not analysed before a sweep, whose networks are analysed until their routers times channels add up to 2^28: `{} routing` does it",
            program::name()
        ));
    }
    for place in found.iter().take(WARNED).map(|found| found.point) {
        if let Ok(scenario) = jobs[place].scenario() {
            warn_of_deadlock(&points[place].spec, scenario);
        }
    }
    if let Some(more) = found.len().checked_sub(WARNED).filter(|&more| more > 0) {
        Failure::warn(&format!(
            "the static analysis finds that worms can deadlock in {more} more variants of these points"
        ));
    }
}

/// Says that there may be a deadlock, and which command explains it.
pub(super) fn warn_of_deadlock(spec: &PointSpec, scenario: &Scenario) {
    if scenario.switch_config().is_some_and(|switch| switch.is_synchronous()) {
        return Failure::warn(&format!(
            "the static analysis finds that worms of `{0}` can deadlock here: see `{2} routing --topology {1} --algorithm {0} --replication synchronous`",
            spec.algorithm,
            spec.topology,
            program::name()
        ));
    }
    let config = scenario.engine_config();
    let mut options = spec.routing.as_ref().map_or_else(String::new, |name| format!(" --routing {name}"));
    // When trees are drawn makes no difference to how worms depend on each other.
    let own = json!(AlgorithmOptions { draw: None, ..spec.options.clone() });
    for (key, value) in own.as_object().into_iter().flatten() {
        let _ = write!(options, " --option {key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    if config.virtual_channels > 1 {
        let _ = write!(options, " --virtual-channels {}", config.virtual_channels);
    }
    if config.branching() != scenario.algorithm().branching() {
        let buffer = if config.branching().whole_worms { "message".to_owned() } else { config.buffer.to_string() };
        let spelled = |value: Json| value.as_str().unwrap_or_default().to_owned();
        let (replication, reservation) = (json!(config.replication), json!(config.reservation));
        let _ = write!(options, " --buffer {buffer} --replication {}", spelled(replication));
        let _ = write!(options, " --reservation {}", spelled(reservation));
    }
    Failure::warn(&format!(
        "the static analysis finds that worms of `{0}` can deadlock here: see `{3} routing --topology {1} --algorithm {0} --consumption-ports {2}{options}`",
        spec.algorithm,
        spec.topology,
        config.ports.consumption,
        program::name()
    ));
}
