//! Warnings of what the static analysis finds.

use serde_json::{Value as Json, json};

use crate::analysis::AnalysisError;
use crate::failure::Failure;
use crate::lab::report::shell_line;
use crate::lab::{Experiment, Job, Point, PointSpec, SweepSafety, sweep_safety};
use crate::multicast::{AlgorithmOptions, Descriptor, FaultInformation, Sends};
use crate::network::{ChannelId, Network};
use crate::program;
use crate::routing::RoutingDescriptor;
use crate::simulation::{BranchReplication, Scenario};

/// How many kinds of points are warned of.
const WARNED: usize = 5;

/// Says which points of a sweep may deadlock.
pub(super) fn warn_of_unsafe_points(experiment: &Experiment, points: &[Point], jobs: &[Job]) {
    let SweepSafety { unsafe_points: found, skipped } = sweep_safety(points, jobs);
    if let Some(&first) = skipped.first() {
        let PointSpec { topology, algorithm, .. } = &points[first].spec;
        let more = if skipped.len() > 1 { format!(" and {} more", skipped.len() - 1) } else { String::new() };
        Failure::warn(&format!(
            "whether worms of `{algorithm}` on `{topology}`{more} can deadlock is not analysed before a sweep, whose networks are analysed until their routers times channels, where routes have to be followed, add up to 2^28: `{} routing` does it",
            program::name()
        ));
    }
    let warning = |place: usize| {
        let spec = &points[place].spec;
        deadlock_warning(experiment, spec, jobs[place].scenario().ok()?, spec.seed_of_check())
    };
    // What differs in the failed links alone is said in the same words.
    let mut warnings: Vec<String> = Vec::new();
    for text in found.iter().filter_map(|found| warning(found.point)) {
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }
    warnings.iter().take(WARNED).for_each(|warning| Failure::warn(warning));
    if let Some(more) = warnings.len().checked_sub(WARNED).filter(|&more| more > 0) {
        let variants = if more == 1 { "variant" } else { "variants" };
        Failure::warn(&format!(
            "the static analysis finds that worms can deadlock in {more} more {variants} of these points"
        ));
    }
}

/// Warns of worms that can deadlock: see [`deadlock_warning`].
pub(super) fn warn_of_deadlock(experiment: &Experiment, spec: &PointSpec, scenario: &Scenario) {
    if let Some(warning) = deadlock_warning(experiment, spec, scenario, spec.seed) {
        Failure::warn(&warning);
    }
}

/// The warning that worms can deadlock, with the command that explains it; `None` for worms that the switches refuse anyway.
fn deadlock_warning(experiment: &Experiment, spec: &PointSpec, scenario: &Scenario, seed: u64) -> Option<String> {
    let sends = sends(spec);
    if scenario.switch_config().is_some() && matches!(sends, Some(Sends::Paths | Sends::Trees)) {
        return None;
    }
    let algorithm = &spec.algorithm;
    let found = format!("the static analysis finds that worms of `{algorithm}` can deadlock here");
    // `routing` has no analysis of worms that are bound to more channels than there are.
    let config = scenario.engine_config();
    let bound = scenario.algorithm().dependencies_with(config.branching()).bound_channels();
    if scenario.switch_config().is_none() && config.ports.consumption < bound {
        let (algorithm, given) = (algorithm.clone(), config.ports.consumption);
        return Some(format!("{found}: {}", AnalysisError::TooFewConsumptionPorts { algorithm, bound, given }));
    }
    Some(match analysis_command(experiment, spec, scenario, seed) {
        Some(command) => format!("{found}: see `{command}`"),
        None => format!("{found}, on the links that have not failed"),
    })
}

/// The links that have failed in a run that has this seed, as `--failed-link` takes them; `None` if there are too many for a command, or one that its routers do not tell from another.
fn failed_links(spec: &PointSpec, network: &Network, seed: u64) -> Option<Vec<String>> {
    const MOST: usize = 16;
    if spec.faults.random == 0 {
        return Some(spec.faults.links.clone()).filter(|links| links.len() <= MOST);
    }
    let request = spec.request(seed).ok()?;
    let links = request.faults.on(network, request.seed).ok()?.links;
    let named = |&link: &ChannelId| {
        let (from, to) = (network.from(link), network.to(link));
        let parallel = network.outputs(from).filter(|&other| network.to(other) == to).count();
        (parallel == 1).then(|| format!("{from}-{to}"))
    };
    links.iter().map(named).collect::<Option<Vec<_>>>().filter(|links| links.len() <= MOST)
}

fn sends(spec: &PointSpec) -> Option<Sends> {
    Descriptor::named(&spec.algorithm).ok().and_then(|descriptor| descriptor.sends)
}

/// The command that analyses all worms that the algorithm may send with the settings of a run that has this seed: those that make a difference to the analysis. `None` if it cannot be told which links have
/// failed.
pub(super) fn analysis_command(
    experiment: &Experiment,
    spec: &PointSpec,
    scenario: &Scenario,
    seed: u64,
) -> Option<String> {
    let failed = failed_links(spec, scenario.network(), seed)?;
    let mut words = vec![program::name().to_owned(), "routing".to_owned()];
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    let spelled = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // A graph that was drawn is called with its seed.
    let drawn = || scenario.network().name().to_owned();
    add("--topology", if spec.draws_graphs_anew() { drawn() } else { experiment.topology_of(spec) });
    add("--algorithm", spec.algorithm.clone());
    for link in &failed {
        add("--failed-link", link.clone());
    }
    if scenario.switch_config().is_some_and(|switch| switch.is_synchronous()) {
        add("--replication", "synchronous".to_owned());
        return Some(shell_line(words.iter().map(String::as_str)));
    }
    let config = scenario.engine_config();
    let unicasts_in_effect = || scenario.algorithm().dependencies_with(config.branching()).are_of_unicasts();
    let only_unicasts = sends(spec) == Some(Sends::Unicasts) || unicasts_in_effect();
    if !only_unicasts {
        add("--consumption-ports", config.ports.consumption.to_string());
    }
    if let Some(name) = &spec.routing {
        add("--routing", name.clone());
    }
    if let Some(root) = &spec.root {
        add("--root", root.clone());
    }
    let routing = spec.routing.as_deref().and_then(|name| RoutingDescriptor::named(name).ok());
    let draws = Descriptor::named(&spec.algorithm).is_ok_and(|named| named.draws_on(scenario.network(), routing));
    let request = spec.request(seed).ok()?;
    let seed = request.tree_seed.unwrap_or(request.seed);
    if draws && seed != 0 {
        add("--seed", seed.to_string());
    }
    // When trees are drawn makes no difference to how worms depend on each other.
    let options = spec.options.clone().with_files(|name| experiment.beside(name).display().to_string());
    let own = json!(AlgorithmOptions { draw: None, ..options });
    for (key, value) in own.as_object().into_iter().flatten() {
        add("--option", format!("{key}={}", spelled(value)));
    }
    let divided = scenario.algorithm().needed_virtual_channels().0 > 1;
    if config.virtual_channels > 1 && (divided || !only_unicasts) {
        add("--virtual-channels", config.virtual_channels.to_string());
    }
    if scenario.algorithm().may_send_trees() && config.branching() != scenario.algorithm().branching() {
        add(
            "--buffer",
            if config.branching().packet_buffers { "message".to_owned() } else { config.buffer.to_string() },
        );
        add("--replication", spelled(&json!(config.replication)));
        // Branches in lockstep are reserved all at once.
        if config.replication != BranchReplication::Lockstep {
            add("--reservation", spelled(&json!(config.reservation)));
        }
    }
    if !failed.is_empty() && spec.faults.information == FaultInformation::Local {
        words.push("--local-information".to_owned());
    }
    Some(shell_line(words.iter().map(String::as_str)))
}
