//! Plans for Graphviz.

use std::fmt::{self, Write};

use wormcast_network::text::escape_dot;
use wormcast_network::{Layout, Network, line_style};

use crate::algorithm::Multicast;
use crate::plan::summary::PlanSummary;

/// A plan as a Graphviz graph: links in grey, the source in black, destinations in grey, and each worm's channels in its
/// colour with its id. Routers have positions, which `neato -n` uses.
pub fn plan_dot(network: &Network, summary: &PlanSummary, multicast: &Multicast) -> String {
    let mut dot = String::new();
    // Writing to a string does not fail.
    let _ = write_dot(&mut dot, network, summary, multicast);
    dot
}

fn write_dot(out: &mut String, network: &Network, summary: &PlanSummary, multicast: &Multicast) -> fmt::Result {
    let layout = Layout::new(network);
    writeln!(out, "digraph \"{}\" {{", escape_dot(network.name()))?;
    writeln!(out, "  node [shape=circle, fontsize=10, width=0.35, fixedsize=true];")?;
    for router in network.router_ids() {
        let at = layout.position(router);
        let fill = if router == network.entry_of(multicast.source()) {
            ", style=filled, fillcolor=black, fontcolor=white"
        } else if network.nodes_of(router).any(|node| multicast.destinations().contains(&node)) {
            ", style=filled, fillcolor=lightgrey"
        } else {
            ""
        };
        let name = escape_dot(&network.router_label(router));
        writeln!(out, "  {router} [label=\"{name}\", pos=\"{:.1},{:.1}!\"{fill}];", at.x, layout.height() - at.y)?;
    }
    for channel in network.channel_ids() {
        if channel <= network.reverse(channel) {
            writeln!(out, "  {} -> {} [dir=none, color=lightgrey];", network.from(channel), network.to(channel))?;
        }
    }
    for worm in &summary.worms {
        let style = line_style(worm.id);
        let dash = if style.dash.is_empty() { "" } else { ", style=dashed" };
        for &channel in &worm.channels {
            let (from, to) = (network.from(channel), network.to(channel));
            let (id, colour) = (worm.id, &style.colour);
            writeln!(out, "  {from} -> {to} [label=\"{id}\", color=\"{colour}\", fontcolor=\"{colour}\"{dash}];")?;
        }
    }
    writeln!(out, "}}")
}
