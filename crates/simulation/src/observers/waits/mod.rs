//! Which worms wait for which when a run ends, as data and as pictures.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId};

use crate::observers::observer::{Cycle, Observer};
use crate::run::run_end::{Awaited, RunEnd, WaitResource, WormAtEnd};

mod dot;
mod svg;

pub use dot::WaitsDot;
pub use svg::WaitsSvg;

/// Keeps the worms that are there when a run ends, with what they hold and what they wait for.
#[derive(Clone, Debug, Default)]
pub struct WaitLog {
    at: Cycle,
    worms: Vec<WormAtEnd>,
}

impl Observer for WaitLog {
    const WAITS: bool = true;
    const END: bool = true;
    const RELEASES: bool = false;

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.at = end.at;
        self.worms = end.worms.to_vec();
    }
}

impl WaitLog {
    /// The first cycle that was not simulated.
    pub fn at(&self) -> Cycle {
        self.at
    }

    /// The worms, by id.
    pub fn worms(&self) -> &[WormAtEnd] {
        &self.worms
    }

    /// Writes an array with an object for each worm, one a line: `worm`, `message`, `source`, `destinations`, `holds`,
    /// `waits_for`, `since` (a cycle, or null) and `deadlocked`; docs/experiments.md describes them. `space` numbers the channels
    /// of `network`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_json(&self, network: &Network, space: ChannelSpace, mut out: impl Write) -> io::Result<()> {
        let names = Names { network, space };
        write!(out, "[")?;
        for (place, worm) in self.worms.iter().enumerate() {
            write!(out, "{}\n{}", if place == 0 { "" } else { "," }, names.worm(worm))?;
        }
        writeln!(out, "\n]")?;
        out.flush()
    }

    fn worm(&self, id: u64) -> Option<&WormAtEnd> {
        self.worms.binary_search_by_key(&id, |worm| worm.worm).ok().map(|place| &self.worms[place])
    }

    /// A cycle of dead worms, each of which waits for something that the next one has or gets first; empty if none is dead.
    pub fn cycle(&self) -> Vec<u64> {
        let dead = |id: &u64| self.worm(*id).is_some_and(|worm| worm.deadlocked);
        // The dead worm that keeps another from something forever.
        let next = |worm: &WormAtEnd| {
            let in_the_way = |option: &Awaited| option.worms.iter().copied().find(|id| dead(id) && *id != worm.worm);
            let hopeless = |options: &[Awaited]| {
                options.iter().map(in_the_way).collect::<Option<Vec<u64>>>().and_then(|worms| worms.first().copied())
            };
            worm.waits.iter().find_map(|wait| hopeless(&wait.options))
        };
        let mut walk: Vec<u64> =
            self.worms.iter().find(|worm| worm.deadlocked).map(|worm| worm.worm).into_iter().collect();
        while let Some(following) = walk.last().and_then(|&id| self.worm(id)).and_then(next) {
            if let Some(start) = walk.iter().position(|&id| id == following) {
                return walk.split_off(start);
            }
            walk.push(following);
        }
        Vec::new()
    }
}

/// A worm as the file of waits has it.
pub(crate) fn worm_json(network: &Network, space: ChannelSpace, worm: &WormAtEnd) -> Value {
    Names { network, space }.worm(worm)
}

/// Resources as users write them.
#[derive(Clone, Copy)]
struct Names<'n> {
    network: &'n Network,
    space: ChannelSpace,
}

impl Names<'_> {
    fn worm(self, worm: &WormAtEnd) -> Value {
        let nodes = |nodes: &[NodeId]| nodes.iter().map(|&node| self.network.node_label(node)).collect::<Vec<_>>();
        let mut waits = Vec::new();
        for (part, wait) in worm.waits.iter().enumerate() {
            for option in &wait.options {
                let mut fields = self.resource(option.resource, true);
                fields.insert("at".into(), wait.at.map(|at| self.network.router_label(at)).into());
                fields.insert("since".into(), wait.since.into());
                fields.insert("part".into(), part.into());
                fields.insert("worms".into(), option.worms.clone().into());
                waits.push(Value::Object(fields));
            }
        }
        json!({
            "worm": worm.worm,
            "message": worm.message,
            "source": worm.source.raw(),
            "source_name": self.network.node_label(worm.source),
            "destinations": worm.destinations.iter().map(|node| node.raw()).collect::<Vec<_>>(),
            "destination_names": nodes(&worm.destinations),
            "holds": worm.holds.iter().map(|&held| Value::Object(self.resource(held, false))).collect::<Vec<_>>(),
            "waits_for": waits,
            "since": worm.since(),
            "deadlocked": worm.deadlocked,
        })
    }

    /// What a resource is, as fields; whether it is waited for.
    fn resource(self, resource: WaitResource, awaited: bool) -> Map<String, Value> {
        let network = self.network;
        let mut fields = Map::new();
        fields.insert("label".into(), self.label(resource).into());
        let mut set = |key: &str, value: Value| {
            fields.insert(key.into(), value);
        };
        let node = |set: &mut dyn FnMut(&str, Value), kind: &str, node: NodeId| {
            set("kind", kind.into());
            set("node", node.raw().into());
            set("name", network.node_label(node).into());
        };
        let channel = |set: &mut dyn FnMut(&str, Value), channel: ChannelId| match self.space.kind(channel) {
            ChannelKind::Link => {
                set("channel", channel.raw().into());
                set("from", network.router_label(network.from(channel)).into());
                set("to", network.router_label(network.to(channel)).into());
                if let Some(number) = network.parallel_link(channel) {
                    set("link", number.into());
                }
                let ports = [channel, network.reverse(channel)].map(|end| network.port_of(end));
                if let ([Some(from), Some(to)], false) = (ports, network.is_unidirectional()) {
                    set("ports", json!([from, to]));
                }
            }
            ChannelKind::Injection(at, port) | ChannelKind::Consumption(at, port) => {
                set("channel", channel.raw().into());
                set("node", at.raw().into());
                set("port", port.into());
                let ends = [network.node_label(at), network.router_label(network.entry_of(at))];
                let [from, to] = match self.space.kind(channel) {
                    ChannelKind::Injection(..) => ends,
                    _ => [network.router_label(network.router_of(at)), network.node_label(at)],
                };
                set("from", from.into());
                set("to", to.into());
            }
        };
        match resource {
            WaitResource::Channel(id, virtual_channel) => {
                let kind = match self.space.kind(id) {
                    ChannelKind::Link => "link",
                    ChannelKind::Injection(..) => "injection",
                    ChannelKind::Consumption(..) => "consumption",
                };
                set("kind", kind.into());
                channel(&mut set, id);
                if !awaited && virtual_channel > 0 {
                    set("virtual_channel", virtual_channel.into());
                }
            }
            WaitResource::Injection(at) => node(&mut set, "injection", at),
            WaitResource::Consumption(at) => node(&mut set, "consumption", at),
            WaitResource::Processor(at) => node(&mut set, "processor", at),
            WaitResource::Delivery(at) => node(&mut set, "delivery", at),
            WaitResource::Slot(id) => {
                set("kind", "buffer".into());
                channel(&mut set, id);
            }
            WaitResource::Flits(id) => {
                set("kind", "flits".into());
                channel(&mut set, id);
            }
            WaitResource::Room(at) => {
                set("kind", "central-buffer".into());
                set("router", network.router_label(at).into());
            }
        }
        fields
    }

    fn label(self, resource: WaitResource) -> String {
        let network = self.network;
        let channel = |id| self.space.label(network, id);
        match resource {
            WaitResource::Channel(id, 0) => channel(id),
            WaitResource::Channel(id, virtual_channel) => format!("{} vc {virtual_channel}", channel(id)),
            WaitResource::Injection(at) => format!("injection {}", network.node_label(at)),
            WaitResource::Consumption(at) => format!("consumption {}", network.node_label(at)),
            WaitResource::Processor(at) => format!("processor {}", network.node_label(at)),
            WaitResource::Delivery(at) => format!("delivery at {}", network.node_label(at)),
            WaitResource::Slot(id) => format!("buffer behind {}", channel(id)),
            WaitResource::Flits(id) => format!("flits by {}", channel(id)),
            WaitResource::Room(at) => format!("central buffer of {}", network.router_label(at)),
        }
    }
}

/// The worms that a picture shows: those in the network that wait or are waited for, and all that are dead.
fn in_the_picture(log: &WaitLog) -> Vec<&WormAtEnd> {
    let entered = |worm: &&WormAtEnd| worm.deadlocked || !worm.holds.is_empty();
    let mut wanted: Vec<u64> = Vec::new();
    for worm in log.worms.iter().filter(entered) {
        wanted.extend(worm.waits.iter().flat_map(|wait| &wait.options).flat_map(|option| &option.worms));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let in_the_way = |worm: &WormAtEnd| wanted.binary_search(&worm.worm).is_ok();
    log.worms.iter().filter(entered).filter(|worm| !worm.waits.is_empty() || in_the_way(worm)).collect()
}
