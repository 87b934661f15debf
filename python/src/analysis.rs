//! Static analyses.

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use wormcast::analysis::{Fabric, IdleSetting, Replicating, Report, Sample, Settings, of_fabric, of_routing};
use wormcast::multicast::routing_named;
use wormcast::routing::{
    GroupBranching, MulticastTables, RoutingOptions, RoutingRelation, TablesError, VirtualLanes, read_levels,
    read_maps, read_members, read_multicast_tables, read_tables,
};

use crate::algorithm::setting;
use crate::failure::input;
use crate::network::Network;
use crate::signals::interruptible;

/// Reads the settings of an analysis from JSON, each under its own name.
pub(crate) fn settings(json: &str) -> PyResult<Settings> {
    fn of<T: DeserializeOwned>(given: &Map<String, Json>, name: &str) -> PyResult<Option<T>> {
        let value = given.get(name).filter(|value| !value.is_null());
        value.map(|value| setting(name, &value.to_string())).transpose()
    }
    let given: Map<String, Json> = setting("settings", json)?;
    let replication: Option<String> = of(&given, "replication")?;
    Ok(Settings {
        consumption_ports: of(&given, "consumption_ports")?,
        virtual_channels: of(&given, "virtual_channels")?,
        buffer: of(&given, "buffer")?,
        replication: replication.map(|name| replicating(&name)).transpose()?,
        reservation: of(&given, "reservation")?,
        reachable: of(&given, "reachable")?,
        listed_turns: None,
        sample: of(&given, "sample")?
            .map(|destinations| PyResult::Ok(Sample { destinations, seed: of(&given, "seed")?.unwrap_or_default() }))
            .transpose()?,
    })
}

fn replicating(name: &str) -> PyResult<Replicating> {
    let all = [
        Replicating::Lockstep,
        Replicating::Independent,
        Replicating::Asynchronous,
        Replicating::Synchronous,
        Replicating::SynchronousTogether,
    ];
    let known = all.map(|one| (serde_json::to_value(one).unwrap_or_default(), one));
    let names: Vec<&str> = known.iter().filter_map(|(name, _)| name.as_str()).collect();
    known.iter().find(|(known, _)| known.as_str() == Some(name)).map(|(_, one)| *one).ok_or_else(|| {
        let expected = wormcast::network::text::expected_name(name, names.iter().copied());
        input(format!("replication: unknown `{name}`{expected}"))
    })
}

/// The JSON of `routing`, and what is to be said of settings without effect.
pub(crate) type Analysed = (String, Vec<String>);

/// A report as JSON.
pub(crate) fn printed(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

/// What is to be said of a setting without effect.
pub(crate) fn warning(name: &str, reason: &str) -> String {
    format!("`{name}` makes no difference: {reason}")
}

pub(crate) fn warnings(idle: Vec<IdleSetting>) -> Vec<String> {
    idle.into_iter().map(|IdleSetting { name, reason }| warning(name, &reason)).collect()
}

/// What is to be said of a sample and of a seed without effect: `seed` says why that draws nothing but the sample, if it was given.
pub(crate) fn idle_draws(
    settings: &Settings,
    relation: &dyn RoutingRelation,
    seed: Option<String>,
) -> impl Iterator<Item = String> + use<> {
    let sample = settings.sample.map(|sample| sample.is_idle(relation));
    let draws = matches!(sample, Some(None));
    sample.flatten().map(|reason| warning("sample", &reason)).into_iter().chain(seed.filter(|_| !draws))
}

/// Refuses settings that are about other worms than unicasts, and tells of those without effect.
fn of_unicasts(settings: &Settings, divided: bool) -> PyResult<Vec<String>> {
    match settings.about_multicasts() {
        Some(name) => Err(input(format!("{name}: it is about worms with several destinations: give an algorithm"))),
        None => Ok(warnings(settings.idle_ports(divided))),
    }
}

/// Analyses the unicasts of a routing.
#[pyfunction]
pub(crate) fn analyse_routing(
    py: Python<'_>,
    network: &Network,
    routing: &str,
    root: Option<&str>,
    seed: u64,
    given: &str,
) -> PyResult<Analysed> {
    let settings = settings(given)?;
    let descriptor = routing_named(routing).map_err(input)?;
    let root = descriptor.root(&network.network, root).map_err(input)?;
    let options = RoutingOptions { seed, root, ..RoutingOptions::default() };
    let relation = interruptible(py, || descriptor.make(&network.network, &options))?.map_err(input)?;
    let mut idle = of_unicasts(&settings, relation.capabilities().virtual_channels.is_some())?;
    let of_seed = (seed != 0 && !descriptor.draws_on(&network.network))
        .then(|| warning("seed", &format!("`{routing}` makes no random choices")));
    idle.extend(idle_draws(&settings, relation.as_ref(), of_seed));
    let report = interruptible(py, || of_routing(relation.as_ref(), &settings))?.map_err(input)?;
    Ok((printed(&report), idle))
}

/// Analyses the unicasts of a file of forwarding tables together with what else is given of a fabric: multicast tables, groups, service levels, lanes.
#[pyfunction]
pub(crate) fn analyse_tables(
    py: Python<'_>,
    network: &Network,
    path: &str,
    beside: [Option<String>; 4],
    branching: &str,
    given: &str,
) -> PyResult<Analysed> {
    let settings = settings(given)?;
    let mut idle = of_unicasts(&settings, false)?;
    let branching = GroupBranching::named(branching)
        .ok_or_else(|| input("branching: expected `packets`, `lockstep` or `ibdmchk`"))?;
    let [multicasts, groups, levels, maps] = beside;
    let network = &network.network;
    let read = interruptible(py, || {
        let tables = read_tables(network, path)?;
        let mut read = multicasts.map(|file| read_multicast_tables(network, &file)).transpose()?;
        if let Some(groups) = &groups {
            read = read.map(|members| read_members(members, &tables, groups)).transpose()?;
        }
        let mut lanes = None;
        if levels.is_some() || maps.is_some() {
            let mut of_fabric = VirtualLanes::new(network)?;
            if let Some(levels) = levels {
                of_fabric = read_levels(of_fabric, &tables, &levels)?;
            }
            if let Some(maps) = maps {
                of_fabric = read_maps(of_fabric, &maps)?;
            }
            lanes = Some(of_fabric);
        }
        Ok::<_, TablesError>((tables, read, lanes))
    });
    let (tables, multicasts, lanes) = read?.map_err(input)?;
    idle.extend(multicasts.as_ref().and_then(MulticastTables::doubt).map(str::to_owned));
    let multicasts = multicasts.as_ref().map(|tables| (tables, branching));
    let fabric = Fabric { name: path, tables: &tables, multicasts, lanes: lanes.as_ref() };
    let report = interruptible(py, || of_fabric(&fabric, &settings))?.map_err(input)?;
    Ok((printed(&report), idle))
}
