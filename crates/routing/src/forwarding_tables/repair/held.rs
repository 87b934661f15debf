//! Unicast tables held to the turns of an up*/down*, with as few entries changed as can be found.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, RouterId};

use super::{NoRepair, ROOTS};
use crate::forwarding_tables::choice::choose_tables;
use crate::forwarding_tables::{Destination, ForwardingTables, Output, Target};
use crate::registry::RoutingOptions;
use crate::relation::RoutingRelation;
use crate::relations::up_down::{Root, UP_DOWN, up_down};
use crate::turns::turn_set::TurnSet;

/// Entries that are looked at to choose a root of up*/down*, at least once each.
const STEPS: usize = 200_000_000;

/// The root of up*/down* by whose turns the fewest entries are followed by one that is prohibited, the tables that take no others, and how many entries
/// are changed. Roots with many links are tried first, and as many as [`STEPS`] allow.
pub(super) fn held_to_up_down(tables: &ForwardingTables) -> Result<(RouterId, ForwardingTables, usize), NoRepair> {
    let network = tables.network();
    let most = (STEPS / tables.entries().max(1)).clamp(1, ROOTS);
    let mut roots: Vec<RouterId> = network.router_ids().collect();
    roots.sort_by_key(|&root| std::cmp::Reverse(network.outputs(root).len()));
    roots.truncate(most);
    let mut best: Option<(usize, RouterId)> = None;
    for (tried, &root) in roots.iter().enumerate() {
        step("choosing a root", "roots", tried, roots.len());
        let violations = violations(tables, &up_down(network, Root::Router(root))?);
        if best.is_none_or(|(fewest, _)| violations < fewest) {
            best = Some((violations, root));
        }
    }
    let root = best.map_or(RouterId::new(0), |(_, root)| root);
    let turns = up_down(network, Root::Router(root))?;
    let options = RoutingOptions { root: Some(Root::Router(root)), ..RoutingOptions::default() };
    let others = choose_tables(UP_DOWN.make(network, &options)?.as_ref(), true)?.tables;
    let (tables, changed) = held_to(tables, &turns, &others);
    Ok((root, tables, changed))
}

/// The outputs of all routers for the destination at this place.
fn outputs(tables: &ForwardingTables, place: usize, next: &mut [Option<Output>]) {
    next.fill(None);
    for (router, output) in tables.entries_for(place) {
        next[router.index()] = Some(output);
    }
}

/// How many entries lead where the next entry takes a prohibited turn.
fn violations(tables: &ForwardingTables, turns: &TurnSet) -> usize {
    let network = &**tables.network();
    let mut next: Vec<Option<Output>> = vec![None; network.routers()];
    let mut count = 0;
    for place in 0..tables.destinations().len() {
        outputs(tables, place, &mut next);
        let turn = |output: &Option<Output>| {
            let Some(Output::Channel(channel)) = *output else { return None };
            let Some(Output::Channel(onward)) = next[network.to(channel).index()] else { return None };
            Some((channel, onward))
        };
        count += next.iter().filter_map(turn).filter(|&(c, onward)| !turns.permits(network, c, onward)).count();
    }
    count
}

/// Tables that take permitted turns only, and how many entries are others than before. Destinations to which no change of single entries leads are
/// taken from `others`.
fn held_to(tables: &ForwardingTables, turns: &TurnSet, others: &ForwardingTables) -> (ForwardingTables, usize) {
    let network = &**tables.network();
    let mut entries: Vec<(Destination, RouterId, Output)> = Vec::new();
    let mut changed = 0;
    let mut next: Vec<Option<Output>> = vec![None; network.routers()];
    for (place, &destination) in tables.destinations().iter().enumerate() {
        outputs(tables, place, &mut next);
        let mut held = hold(network, turns, destination.target, &next);
        if held.iter().any(Option::is_none)
            && let Some(place) = others.addresses_of(destination.target).next()
        {
            outputs(others, place, &mut held);
        }
        for (router, output) in network.router_ids().zip(held) {
            changed += usize::from(next[router.index()] != output);
            entries.extend(output.map(|output| (destination, router, output)));
        }
    }
    let mut held =
        ForwardingTables::new(tables.network(), &entries).expect("one entry for each router and destination");
    held.unidentified = tables.unidentified;
    (held, changed)
}

/// The entries for one destination with as few changed as can be found: routers keep theirs if the turn after it is permitted, and else take the nearest
/// link after which one is.
fn hold(network: &Network, turns: &TurnSet, target: Target, next: &[Option<Output>]) -> Vec<Option<Output>> {
    let end = match target {
        Target::Node(node) => network.router_of(node),
        Target::Router(router) => router,
    };
    let mut held: Vec<Option<Output>> = vec![None; network.routers()];
    held[end.index()] = next[end.index()];
    let mut settled = FixedBitSet::with_capacity(network.routers());
    settled.insert(end.index());
    let may_take = |channel: ChannelId, held: &[Option<Output>]| match held[network.to(channel).index()] {
        Some(Output::Channel(onward)) => turns.permits(network, channel, onward),
        _ => network.to(channel) == end,
    };
    // Routers whose entry leads to a settled one, and routers beside settled ones, the nearest first.
    let mut by_entry: Vec<Vec<ChannelId>> = vec![Vec::new(); network.routers()];
    for output in next.iter().flatten() {
        if let Output::Channel(channel) = *output {
            by_entry[network.to(channel).index()].push(channel);
        }
    }
    let mut fresh = vec![end];
    let mut beside: VecDeque<RouterId> = VecDeque::from([end]);
    loop {
        while let Some(at) = fresh.pop() {
            for &channel in &by_entry[at.index()] {
                let from = network.from(channel);
                if !settled.contains(from.index()) && may_take(channel, &held) {
                    held[from.index()] = Some(Output::Channel(channel));
                    settled.insert(from.index());
                    fresh.push(from);
                    beside.push_back(from);
                }
            }
        }
        let mut found = None;
        for &at in &beside {
            let into = network.outputs(at).map(|channel| network.reverse(channel));
            let mut into =
                into.filter(|&channel| !settled.contains(network.from(channel).index()) && may_take(channel, &held));
            found = into.next();
            if found.is_some() {
                break;
            }
        }
        let Some(channel) = found else { return held };
        let from = network.from(channel);
        held[from.index()] = Some(Output::Channel(channel));
        settled.insert(from.index());
        fresh.push(from);
        beside.push_back(from);
    }
}
