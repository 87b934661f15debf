//! Static analyses.

use pyo3::prelude::*;
use serde::Deserialize;
use wormcast::analysis::{AnalysisError, Replicating, Report, Settings, of_multicast_tables, of_routing, of_tables};
use wormcast::routing::{
    GroupBranching, RoutingDescriptor, RoutingOptions, read_members, read_multicast_tables, read_tables,
};
use wormcast::simulation::{Buffer, Reservation};

use crate::algorithm::setting;
use crate::failure::input;
use crate::network::Network;
use crate::signals::interruptible;

/// The settings of an analysis, as Python gives them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    consumption_ports: Option<u32>,
    virtual_channels: Option<u32>,
    buffer: Option<Buffer>,
    replication: Option<String>,
    reservation: Option<Reservation>,
    reachable: Option<u64>,
}

/// Reads the settings of an analysis from JSON.
pub(crate) fn settings(json: &str) -> PyResult<Settings> {
    let Given { consumption_ports, virtual_channels, buffer, replication, reservation, reachable } =
        setting("settings", json)?;
    for (name, given, most) in
        [("consumption_ports", consumption_ports, 64), ("virtual_channels", virtual_channels, 64)]
    {
        if given.is_some_and(|given| !(1..=most).contains(&given)) {
            return Err(input(format!("{name}: expected 1 to {most}")));
        }
    }
    let replication = replication.map(|name| replicating(&name)).transpose()?;
    Ok(Settings {
        consumption_ports,
        virtual_channels,
        buffer,
        replication,
        reservation,
        reachable,
        listed_turns: None,
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

/// A report as JSON.
pub(crate) fn printed(report: Result<Report, AnalysisError>) -> PyResult<String> {
    Ok(serde_json::to_string(&report.map_err(input)?).unwrap_or_default())
}

/// Analyses the unicasts of a routing. Returns the JSON of `routing`.
#[pyfunction]
pub(crate) fn analyse_routing(
    py: Python<'_>,
    network: &Network,
    routing: &str,
    root: Option<&str>,
    seed: u64,
    given: &str,
) -> PyResult<String> {
    let settings = settings(given)?;
    let descriptor = RoutingDescriptor::named(routing).map_err(input)?;
    let root = descriptor.root(&network.network, root).map_err(input)?;
    let options = RoutingOptions { seed, root, ..RoutingOptions::default() };
    let relation = interruptible(py, || descriptor.make(&network.network, &options))?.map_err(input)?;
    printed(interruptible(py, || of_routing(relation.as_ref(), &settings))?)
}

/// Analyses the unicasts of a file of forwarding tables, and if multicast tables are given, these together with them. Returns the JSON of `routing`.
#[pyfunction]
pub(crate) fn analyse_tables(
    py: Python<'_>,
    network: &Network,
    path: &str,
    multicasts: Option<&str>,
    groups: Option<&str>,
    branching: &str,
    given: &str,
) -> PyResult<String> {
    let settings = settings(given)?;
    let branching = GroupBranching::named(branching)
        .ok_or_else(|| input("branching: expected `packets`, `lockstep` or `ibdmchk`"))?;
    let tables = interruptible(py, || read_tables(&network.network, path))?.map_err(input)?;
    let Some(multicasts) = multicasts else {
        return printed(interruptible(py, || of_tables(path, &tables, &settings))?);
    };
    let multicasts = interruptible(py, || {
        let multicasts = read_multicast_tables(&network.network, multicasts)?;
        match groups {
            Some(groups) => read_members(multicasts, &tables, groups),
            None => Ok(multicasts),
        }
    });
    let multicasts = multicasts?.map_err(input)?;
    printed(interruptible(py, || of_multicast_tables(path, &tables, &multicasts, branching, &settings))?)
}
