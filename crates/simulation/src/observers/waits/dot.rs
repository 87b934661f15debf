//! The graph of worms that wait for each other, for Graphviz.

use std::collections::BTreeMap;
use std::fmt;

use wormcast_network::text::escape_dot;
use wormcast_network::{ChannelSpace, Network};

use super::{Names, WaitLog, in_the_picture};

/// The worms that were in the network when a run ended and waited, or were waited for, as a Graphviz graph: a box for each, and an
/// arrow to each worm that has what it waits for or gets it first. Dead worms are red, a cycle of them bold.
pub struct WaitsDot<'a> {
    /// The worms.
    pub log: &'a WaitLog,
    /// The network that they are in.
    pub network: &'a Network,
    /// The numbering of its channels.
    pub space: ChannelSpace,
}

impl fmt::Display for WaitsDot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names { network: self.network, space: self.space };
        let worms = in_the_picture(self.log);
        let shown = |id: u64| worms.binary_search_by_key(&id, |worm| worm.worm).is_ok();
        let cycle = self.log.cycle();
        let follows = |from: u64, to: u64| {
            let place = cycle.iter().position(|&id| id == from);
            place.is_some_and(|place| cycle[(place + 1) % cycle.len()] == to)
        };
        writeln!(f, "digraph \"waits on {} in cycle {}\" {{", escape_dot(self.network.name()), self.log.at)?;
        writeln!(f, "  node [shape=box, fontsize=10];\n  edge [fontsize=9];")?;
        for worm in &worms {
            let node = |node| self.network.node_label(node);
            let mut to: Vec<String> = worm.destinations.iter().take(3).map(|&at| node(at)).collect();
            if worm.destinations.len() > to.len() {
                to.push(format!("{} more", worm.destinations.len() - to.len()));
            }
            let from = node(worm.source);
            let name = escape_dot(&format!("worm {} of message {}", worm.worm, worm.message));
            let ends = escape_dot(&format!("{from} to {}", to.join("; ")));
            let look = match (worm.deadlocked, cycle.contains(&worm.worm)) {
                (true, true) => ", color=red, penwidth=2",
                (true, false) => ", color=red",
                _ => "",
            };
            writeln!(f, "  w{} [label=\"{name}\\n{ends}\"{look}];", worm.worm)?;
        }
        for worm in &worms {
            // One arrow for all that a worm wants of another.
            let mut arrows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
            for wait in &worm.waits {
                let since = wait.since.map_or_else(String::new, |since| format!(", since {since}"));
                for option in &wait.options {
                    let label = format!("{}{since}", names.label(option.resource));
                    option.worms.iter().for_each(|&other| arrows.entry(other).or_default().push(label.clone()));
                }
            }
            for (other, mut labels) in arrows.into_iter().filter(|&(other, _)| shown(other)) {
                labels.dedup();
                let dead = worm.deadlocked && self.log.worm(other).is_some_and(|other| other.deadlocked);
                let look = match (dead, follows(worm.worm, other)) {
                    (true, true) => ", color=red, penwidth=2",
                    (true, false) => ", color=red",
                    _ => ", color=grey",
                };
                let label: Vec<String> = labels.iter().map(|label| escape_dot(label)).collect();
                writeln!(f, "  w{} -> w{other} [label=\"{}\"{look}];", worm.worm, label.join("\\n"))?;
            }
        }
        writeln!(f, "}}")
    }
}
