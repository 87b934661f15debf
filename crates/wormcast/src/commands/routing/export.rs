//! Forwarding tables written to a file.

use std::io::Write;

use clap::ValueEnum;
use serde::Serialize;

use crate::analysis::router_text as router;
use crate::commands::output::write_to;
use crate::failure::Failure;
use crate::network::{ChannelId, Network, TopologyError};
use crate::routing::{
    Arrival, ChannelNumbering, Conflict, Dependencies, ForwardingTables, NetworkLfts, NoTables, RoutingRelation,
    TablesError, TablesText, analyse_tables, choose_tables,
};

/// The form of exported tables.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Form {
    /// As `OpenSM` dumps and loads them.
    #[default]
    Opensm,
    /// Lines of text, with names.
    Text,
}

/// Tables that were written.
#[derive(Serialize)]
pub(super) struct Exported {
    pub(super) file: String,
    pub(super) entries: usize,
    /// Routers to which some routes are longer than the routing's.
    pub(super) detours: Vec<u32>,
    /// Between nodes at different routers.
    pub(super) average_distance: Option<f64>,
}

/// Writes tables for a routing, if there are any and they are safe.
pub(super) fn export_routing(
    relation: &dyn RoutingRelation,
    (file, form): (&str, Form),
    detours: bool,
    out: &mut dyn Write,
) -> Result<Exported, Failure> {
    let (name, network) = (relation.name(), relation.network());
    let chosen = choose_tables(relation, detours)
        .map_err(|error| Failure::bad_input(inexpressible(relation, &error, detours)))?;
    let dependencies = Dependencies::of_tables(&chosen.tables);
    let may_follow = |held, next| dependencies.contains(held, next);
    let proof = ChannelNumbering::find(network, may_follow);
    if !proof.is_ok_and(|proof| proof.check(network, may_follow).is_ok()) {
        let network = network.name();
        let classes = match relation.capabilities().virtual_channels.map_or(1, crate::routing::VirtualChannels::needed)
        {
            0 | 1 => String::new(),
            needed => {
                format!("takes {needed} classes of virtual channels, which these tables do not have: with one it ")
            }
        };
        return Err(Failure::bad_input(format!(
            "`{name}` on `{network}` {classes}can deadlock, so no tables are written; `up-down` and `turn-prohibition` cannot"
        )));
    }
    let exported = write(&chosen.tables, (file, form), out)?;
    Ok(Exported { detours: chosen.detours.iter().map(|router| router.raw()).collect(), ..exported })
}

/// Writes tables.
pub(super) fn write(
    tables: &ForwardingTables,
    (file, form): (&str, Form),
    out: &mut dyn Write,
) -> Result<Exported, Failure> {
    let text = match form {
        Form::Opensm => NetworkLfts::new(tables).map_err(no_fabric)?.to_string(),
        Form::Text => TablesText(tables).to_string(),
    };
    write_to(file, text.as_bytes(), out)?;
    let average_distance = analyse_tables(tables).survey.average_distance;
    Ok(Exported { file: file.to_owned(), entries: tables.entries(), detours: Vec::new(), average_distance })
}

/// The failure for a network that is no fabric: the other form has room for its tables.
fn no_fabric(error: TablesError) -> Failure {
    match error {
        TablesError::Network(TopologyError::Inexpressible { name, problem, .. }) => Failure::BadInput(format!(
            "`OpenSM`'s tables have no place for {problem}, as in {name}; use `--export-form text`"
        )),
        other => Failure::bad_input(other),
    }
}

/// Why there are no tables, with an example and a way out.
fn inexpressible(relation: &dyn RoutingRelation, error: &NoTables, detours: bool) -> String {
    let network = relation.network();
    let what = format!("forwarding tables cannot express `{}` on `{}`", relation.name(), network.name());
    let hint = match (error, relation.capabilities().turns) {
        // No detour leads where there is no route.
        (NoTables::NoRoute { .. }, _) => "",
        (_, Some(_)) if !detours => "; `--allow-detours` takes longer ways over permitted turns where that is so",
        _ => "",
    };
    match error {
        NoTables::Conflict(conflict) => {
            let Conflict { router: at, target, needs: [one, other], proven } = conflict.as_ref();
            let [one, other] = [one, other].map(|(arrival, outputs)| need(network, *arrival, outputs));
            let sure = if *proven { "" } else { ", and no choice elsewhere was found that avoids it" };
            let (at, target) = (router(network, *at), router(network, *target));
            format!(
                "{what}: at {at}, of the worms to {target}, {one} and {other}; one entry cannot say both{sure}{hint}"
            )
        }
        other => format!("{what}: {}{hint}", named(network, other)),
    }
}

fn named(network: &Network, error: &NoTables) -> String {
    match error {
        NoTables::NoRoute { from, to } => {
            format!("there is no route from {} to {}", router(network, *from), router(network, *to))
        }
        other => other.to_string(),
    }
}

/// On which channels worms have to continue.
fn need(network: &Network, arrival: Arrival, outputs: &[ChannelId]) -> String {
    let port =
        |channel: ChannelId| network.port_of(channel).map_or_else(String::new, |port| format!(" by port {port}"));
    let ways: Vec<String> = outputs.iter().map(|&c| format!("{}{}", router(network, network.to(c)), port(c))).collect();
    let ways = ways.join(" or ");
    match arrival {
        Arrival::Source => format!("those that start there have to go on to {ways}"),
        Arrival::By(channel) => {
            let back = network.reverse(channel);
            let from = format!("{}{}", router(network, network.from(channel)), port(back));
            format!("those that come from {from} have to go on to {ways}")
        }
    }
}
