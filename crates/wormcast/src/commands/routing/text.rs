//! The analysis of a routing for people.

use std::io::Write;

use super::super::output::is_output;
use super::super::{write_figure, yes_or_no};
use super::export::Exported;
use super::fabric::ExportedTrees;
use super::repaired::{BeforeAfter, Repaired};
use super::{Printed, SHOWN};
use crate::analysis::{
    Blame, ClosedBy, Groups, LaneFound, LanesFound, Load, LoadedChannel, Reached, Report, Sampled, SampledTurns, Sent,
    TablesFound,
};
use crate::failure::Failure;
use crate::network::{ChannelId, CycleSvg, Network, NodeId, RouterId};

pub(super) fn write_text(out: &mut dyn Write, printed: &Printed, network: &Network) -> Result<(), Failure> {
    let Printed { report: analysis, failed_links, exported, exported_multicast, repair } = printed;
    let what = match &analysis.algorithm {
        Some(algorithm) => format!("{algorithm}, routed by {}", analysis.routing),
        None => analysis.routing.clone(),
    };
    writeln!(out, "{what} on {}", analysis.topology)?;
    if !failed_links.is_empty() {
        write_figure(out, "failed links", list(failed_links))?;
    }
    if let Some(resources) = &analysis.resources {
        write_figure(out, "deadlock-free", "no")?;
        writeln!(out, "  A cycle, in which each may be held by a worm that waits for the next:")?;
        for (place, resource) in resources.iter().enumerate() {
            write!(out, "    {resource}")?;
            if let Some(closed_by) = &analysis.closed_by {
                write!(out, ": {}", worms(&closed_by[place]))?;
            }
            writeln!(out)?;
        }
    } else {
        write_figure(out, "deadlock-free", "yes")?;
    }
    if let Some(reachability) = &analysis.reachability {
        write_reachability(out, reachability, network)?;
    }
    if let Some(replication) = analysis.replication {
        write_figure(out, "replication", replication.text())?;
    }
    if let Some(count) = analysis.multicasts {
        write_figure(out, "multicasts", count)?;
    }
    if analysis.algorithm.is_some() || analysis.multicasts.is_some() {
        write_figure(out, "consumption ports", analysis.consumption_ports)?;
    }
    if let Some(connected) = analysis.connected {
        write_figure(out, "connected", yes_or_no(connected))?;
    }
    if let Some(diameter) = analysis.diameter {
        write_figure(out, "diameter", diameter)?;
    }
    if let Some(sample) = &analysis.sample {
        write_sample(out, analysis, sample)?;
    } else if let Some(average) = analysis.average_distance {
        match analysis.node_distance.filter(|nodes| (nodes - average).abs() > 1e-9) {
            Some(nodes) => {
                let both = format_args!("{average:.3} between routers with nodes, {nodes:.3} between nodes");
                write_figure(out, "average distance", both)?;
            }
            None => write_figure(out, "average distance", format_args!("{average:.3}"))?,
        }
    }
    if let (Some(ways), Some(_)) = (analysis.distances_of, analysis.average_distance) {
        write_figure(out, "", format_args!("distances and loads count {ways} only; most worms take longer ones"))?;
    }
    // Of an algorithm's worms, what its routing does with unicasts says little; where turns are its subject, it is part of them.
    let of_unicasts = analysis.algorithm.is_none();
    if let Some(load) = analysis.link_load.as_ref().filter(|_| of_unicasts || analysis.turns.is_some()) {
        let Load { mean, max, most_loaded, .. } = load;
        write_figure(
            out,
            "link load",
            format_args!("mean {:.2}, largest {:.2} pairs a channel", mean + 0.0, max + 0.0),
        )?;
        if of_unicasts {
            write_most_loaded(out, most_loaded)?;
        }
    }
    if let Some(tables) = &analysis.tables {
        write_tables(out, tables, network)?;
    }
    if let Some(lanes) = &analysis.lanes {
        write_lanes(out, lanes)?;
    }
    if let Some(groups) = &analysis.multicast_tables {
        write_groups(out, groups)?;
    }
    write_turns(out, analysis)?;
    if let Some(Exported { file, entries, detours, average_distance }) = exported {
        let place = if is_output(file) { "standard output" } else { file };
        write_figure(out, "tables", format_args!("{entries} entries in {place}"))?;
        if let Some(average) = average_distance {
            write_figure(out, "their distance", format_args!("{average:.3} on average"))?;
        }
        if !detours.is_empty() {
            let count = detours.len();
            write_figure(out, "detours", format_args!("to {count} {}", plural(count as u64, "router")))?;
        }
    }
    if let Some(ExportedTrees { file, groups }) = exported_multicast {
        let place = if is_output(file) { "standard output" } else { file };
        let groups = format_args!("of {groups} {} in {place}", plural(*groups as u64, "group"));
        write_figure(out, "multicast tables", groups)?;
    }
    if let Some(repaired) = repair {
        write_repair(out, repaired)?;
    }
    Ok(())
}

/// What is known of distances from a sample.
fn write_sample(out: &mut dyn Write, analysis: &Report, sample: &Sampled) -> Result<(), Failure> {
    let Sampled { destinations, of, longest, .. } = sample;
    match analysis.connected {
        Some(false) => write_figure(out, "longest route", format_args!("{longest} of those that were found"))?,
        _ => {
            write_figure(out, "connected", "not known: all routes that were looked for exist")?;
            write_figure(out, "diameter", format_args!("at least {longest}"))?;
        }
    }
    let distance = |mean: Option<f64>, half_width| Some(with_half_width(mean?, half_width, 3));
    let average = distance(analysis.average_distance, sample.average_distance_half_width);
    let nodes = distance(analysis.node_distance, sample.node_distance_half_width);
    match (average, nodes) {
        (Some(average), Some(nodes)) if average != nodes => {
            let both = format_args!("{average} between routers with nodes, {nodes} between nodes");
            write_figure(out, "average distance", both)?;
        }
        (Some(average), _) => write_figure(out, "average distance", average)?,
        (None, _) => {}
    }
    // As without a sample.
    let shows_load = analysis.algorithm.is_none() || analysis.turns.is_some();
    if let Some(load) = sample.mean_load.filter(|_| shows_load) {
        let load = with_half_width(load, sample.mean_load_half_width, 0);
        write_figure(out, "link load", format_args!("mean {load} pairs a channel"))?;
    }
    let from =
        format_args!("95% intervals, from the routes to {destinations} of {of} routers with nodes, drawn at random");
    Ok(write_figure(out, "", from)?)
}

/// A mean with its half-width, which has two significant digits, or more if there are to be so many decimals; the mean has as many.
fn with_half_width(mean: f64, half_width: Option<f64>, least: usize) -> String {
    let Some(half_width) = half_width else {
        return format!("{mean:.3} (no interval: all that were drawn are alike)");
    };
    let digits = if half_width > 0.0 { (1.0 - half_width.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    let decimals = digits.max(least);
    format!("{mean:.decimals$} ± {half_width:.decimals$}")
}

/// The cycle of a deadlock on the network; `None` if there is none.
pub(super) fn cycle_picture(analysis: &Report, network: &Network) -> Option<String> {
    let resources = analysis.resources.as_ref()?;
    let closed_by = analysis.closed_by.as_ref();
    let mut cycle: Vec<(ChannelId, String)> = Vec::new();
    for (place, resource) in resources.iter().enumerate() {
        let who = closed_by.map_or_else(String::new, |closed_by| format!(": {}", worms(&closed_by[place])));
        match (resource.channel(), cycle.last_mut()) {
            (Some(channel), _) => cycle.push((channel, format!("{resource}{who}"))),
            // What is waited for where a channel ends.
            (None, Some((_, last))) => *last = format!("{last}; {resource}"),
            (None, None) => {}
        }
    }
    let name = analysis.algorithm.as_ref().unwrap_or(&analysis.routing);
    let title = format!("{name} on {}: each may be held by a worm that waits for the next", network.name());
    Some(CycleSvg { network, cycle: &cycle, title: &title }.to_string())
}

/// What a repair changed, and what it costs.
fn write_repair(out: &mut dyn Write, repaired: &Repaired) -> Result<(), Failure> {
    write_figure(out, "repair", repaired.text())?;
    if repaired.changed != "nothing" {
        let Repaired { average_distance, largest_load, groups, .. } = repaired;
        if let (Some(before), Some(after)) = (average_distance.before, average_distance.after) {
            write_figure(out, "", format_args!("average distance {before:.3} before, {after:.3} after"))?;
        }
        let BeforeAfter { before, after } = largest_load;
        write_figure(out, "", format_args!("largest link load {before:.2} pairs before, {after:.2} after"))?;
        let links = |of: fn(&BeforeAfter<usize>) -> usize| groups.iter().map(|group| of(&group.links)).sum::<usize>();
        if !groups.is_empty() {
            let (before, after) = (links(|links| links.before), links(|links| links.after));
            write_figure(out, "", format_args!("tree links of all groups {before} before, {after} after"))?;
        }
    }
    write_figure(out, "written", format_args!("{} in {}", repaired.files.join(", "), repaired.folder))?;
    Ok(())
}

/// What is known of virtual lanes.
fn write_lanes(out: &mut dyn Write, found: &LanesFound) -> Result<(), Failure> {
    let LanesFound { count, switches_without, without_level, dropped, by_lane } = found;
    write_figure(out, "virtual lanes", count)?;
    if *switches_without > 0 {
        let switches = plural(*switches_without as u64, "switch").replace("switchs", "switches");
        write_figure(
            out,
            "",
            format_args!("at {switches_without} {switches}, each service level is a lane of its own"),
        )?;
    }
    if *without_level > 0 {
        let pairs = plural(*without_level, "pair");
        write_figure(out, "", format_args!("{without_level} {pairs} without a service level, taken for level 0"))?;
    }
    if *dropped > 0 {
        let pairs = plural(*dropped, "pair");
        write_figure(out, "", format_args!("{dropped} {pairs} whose packets are dropped: their lane is 15"))?;
    }
    for LaneFound { lane, blocked, .. } in by_lane.iter().filter(|lane| !lane.deadlock_free) {
        let channels = plural(*blocked as u64, "channel");
        writeln!(out, "    on lane {lane}, packets can be blocked forever on {blocked} {channels}")?;
    }
    Ok(())
}

/// What is known of multicast tables.
fn write_groups(out: &mut dyn Write, found: &Groups) -> Result<(), Failure> {
    let Groups { branching, groups, blame } = found;
    write_figure(out, "groups", format_args!("{} (branching: {branching})", groups.len()))?;
    if let Some(Blame { unicasts_alone, alone, smallest, is_smallest }) = blame {
        let who = match (unicasts_alone, &alone[..], &smallest[..]) {
            (true, ..) => "unicasts alone".to_owned(),
            (false, [], set) if *is_smallest => format!("{} together, none of them alone", list(set)),
            (false, [], set) => format!("{} together; without any of these there is no deadlock", list(set)),
            (false, alone, _) => format!("{}{}", list(alone), if alone.len() > 1 { ", each alone" } else { " alone" }),
        };
        write_figure(out, "to blame", who)?;
    }
    for group in groups {
        let members = group.members.len();
        let mut faults = Vec::new();
        let mut fault = |what: &str, nodes: &[String]| {
            if !nodes.is_empty() {
                faults.push(format!("{what} {}", list(nodes)));
            }
        };
        fault("does not reach", &group.missing);
        fault("reaches more than once", &group.doubled);
        fault("reaches others, too:", &group.strangers);
        let nowhere: Vec<String> = group
            .nowhere
            .iter()
            .map(|(router, port)| format!("port {port} of {router}, where nothing is attached"))
            .collect();
        fault("leaves by", &nowhere);
        if group.circle.is_some() {
            faults.push("runs in a circle".to_owned());
        }
        if faults.is_empty() && !group.connected {
            faults.push("does not connect all members".to_owned());
        }
        let said = if faults.is_empty() { "reaches all".to_owned() } else { faults.join("; ") };
        writeln!(out, "    {}: {members} {}, {said}", group.mlid, plural(members as u64, "member"))?;
    }
    Ok(())
}

/// The first of some names.
fn list(names: &[String]) -> String {
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ") + &more
}

/// The channels with the most load, unless all have as much.
fn write_most_loaded(out: &mut dyn Write, most_loaded: &[LoadedChannel]) -> Result<(), Failure> {
    if !most_loaded.is_empty() {
        writeln!(out, "  The most loaded channels:")?;
    }
    let width = most_loaded.first().map_or(0, |first| format!("{:.2}", first.load).len());
    for LoadedChannel { channel, load } in most_loaded {
        writeln!(out, "    {load:>width$.2}  {channel}")?;
    }
    Ok(())
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{what}s") }
}

/// Whether a deadlock can be reached, and messages that reach it.
fn write_reachability(out: &mut dyn Write, reached: &Reached, network: &Network) -> Result<(), Failure> {
    write_figure(out, "deadlock", reached.verdict)?;
    if let Some(reason) = &reached.reason {
        write_figure(out, "", reason)?;
    }
    let Some(witness) = &reached.witness else { return Ok(()) };
    writeln!(out, "  Messages that deadlock, with {}:", reached.settings.text())?;
    for Sent { cycle, source, length, destinations } in witness.iter().take(SHOWN) {
        let node = |&node: &u32| network.node_label(NodeId::new(node));
        let destinations: Vec<String> = destinations.iter().map(node).collect();
        let flits = plural(u64::from(*length), "flit");
        writeln!(out, "    cycle {cycle}: {length} {flits} from {} to {}", node(source), destinations.join("; "))?;
    }
    if witness.len() > SHOWN {
        writeln!(out, "    and {} more, which --witness writes", witness.len() - SHOWN)?;
    }
    Ok(())
}

/// The worms that close a dependency.
fn worms(closed_by: &ClosedBy) -> String {
    let ClosedBy { pairs, labels, multicasts, groups, .. } = closed_by;
    let of_coordinates = labels.iter().flatten().any(|label| label.contains(','));
    let mut shown: Vec<String> = labels.iter().map(|[from, to]| format!("{from} to {to}")).collect();
    let more = pairs.unwrap_or(0).saturating_sub(shown.len() as u64);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    if !multicasts.is_empty() {
        let lines: Vec<String> = multicasts.iter().take(3).map(ToString::to_string).collect();
        let more = if multicasts.len() > 3 { format!(" and {} more", multicasts.len() - 3) } else { String::new() };
        shown.push(format!("multicasts of {} {}{more}", plural(multicasts.len() as u64, "line"), lines.join(", ")));
    }
    if !groups.is_empty() {
        shown.push(format!("{} {}", plural(groups.len() as u64, "group"), list(groups)));
    }
    if shown.is_empty() { "no pair of nodes".to_owned() } else { shown.join(if of_coordinates { "; " } else { ", " }) }
}

/// What is known of tables.
fn write_tables(out: &mut dyn Write, tables: &TablesFound, network: &Network) -> Result<(), Failure> {
    let label = |node: u32| network.node_label(NodeId::new(node));
    write_figure(out, "entries", tables.entries)?;
    let nodes = network.nodes() as u64;
    let of_what =
        if tables.pairs == nodes * nodes.saturating_sub(1) { "pairs" } else { "pairs of a node and an address" };
    write_figure(out, "undelivered", format_args!("{} of {} {of_what}", tables.undelivered_pairs, tables.pairs))?;
    write_figure(out, "forwarding loops", tables.loop_count)?;
    write_figure(out, "missing entries", tables.missing_count)?;
    if tables.unidentified > 0 {
        write_figure(out, "left out", format_args!("{}, for unknown addresses", tables.unidentified))?;
    }
    let more = |out: &mut dyn Write, all: u64| -> Result<(), Failure> {
        if all > SHOWN as u64 {
            writeln!(out, "    and {} more", all - SHOWN as u64)?;
        }
        Ok(())
    };
    if !tables.undelivered.is_empty() {
        writeln!(out, "  Messages that do not arrive:")?;
        for lost in tables.undelivered.iter().take(SHOWN) {
            let [from, to] = lost.names.clone().unwrap_or_else(|| [lost.source, lost.destination].map(label));
            writeln!(out, "    {from} to {to}: {}", lost.reason)?;
        }
        more(out, tables.undelivered_pairs)?;
    }
    if !tables.loops.is_empty() {
        writeln!(out, "  Loops:")?;
        for ring in tables.loops.iter().take(SHOWN) {
            let name = ring.name.clone().unwrap_or_else(|| format!("node {}", label(ring.destination)));
            let channels: Vec<String> = ring.channels.iter().map(ToString::to_string).collect();
            writeln!(out, "    to {name}: {}", channels.join(", "))?;
        }
        more(out, tables.loop_count)?;
    }
    if !tables.missing.is_empty() {
        writeln!(out, "  Missing entries:")?;
        for (place, [router, node]) in tables.missing.iter().take(SHOWN).enumerate() {
            match tables.missing_names.get(place).filter(|_| tables.missing_names.len() == tables.missing.len()) {
                Some([router, node]) => writeln!(out, "    at {router} for {node}")?,
                None => {
                    let router = network.router_label(RouterId::new(*router));
                    writeln!(out, "    at router {router} for node {}", label(*node))?;
                }
            }
        }
        more(out, tables.missing_count)?;
    }
    Ok(())
}

/// What is known of a turn set; nothing for other routings.
fn write_turns(out: &mut dyn Write, analysis: &Report) -> Result<(), Failure> {
    let (Some(turns), Some(prohibited), Some(fraction)) = (analysis.turns, &analysis.prohibited, analysis.fraction)
    else {
        return Ok(());
    };
    let (count, percent) = (analysis.all_prohibited, 100.0 * fraction);
    write_figure(out, "turns", turns)?;
    write_figure(out, "prohibited turns", format_args!("{count} ({percent:.1}%)"))?;
    let unknown =
        if analysis.irreducible_interrupted { "not checked: interrupted" } else { "not checked: too many turns" };
    match analysis.sample.as_ref().and_then(|sample| sample.turns) {
        Some(SampledTurns { drawn, needed }) => {
            let found = if needed < drawn { "no" } else { "not known" };
            let of = format_args!("{found}: {needed} of {drawn} prohibited turns drawn at random are needed");
            write_figure(out, "irreducible", of)?;
        }
        None => write_figure(out, "irreducible", analysis.irreducible.map_or(unknown, yes_or_no))?,
    }
    if !prohibited.is_empty() {
        writeln!(out, "  Prohibited, both ways:")?;
    }
    for turn in &analysis.prohibited_names {
        writeln!(out, "    {turn}")?;
    }
    let more = count - prohibited.len() as u64;
    if more > 0 {
        writeln!(out, "    and {more} more, which --format json lists")?;
    }
    Ok(())
}
