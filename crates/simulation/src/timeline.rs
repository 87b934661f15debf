//! A timeline of a run in the Trace Event Format, which Perfetto and Chrome's tracing page open.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use serde_json::{Value, json};
use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId};

use crate::observer::{Cycle, Delivery, Observer};

/// Records which worm held which channel when, and what nodes did. A cycle becomes `cycle_ns` nanoseconds on the time axis.
///
/// One process groups the routers, with a track for each channel that was ever held; another groups the nodes, with a track for
/// each that ever sent or received.
#[derive(Debug)]
pub struct Timeline {
    space: ChannelSpace,
    cycle_ns: f64,
    /// Names of links, `from->to`.
    links: Vec<(u32, u32)>,
    holding: HashMap<(ChannelId, u64), Cycle>,
    /// (channel, worm, from, to, flits)
    held: Vec<(ChannelId, u64, Cycle, Cycle, Option<u32>)>,
    /// (node, worm, message, cycle)
    startups: Vec<(NodeId, u64, u64, Cycle)>,
    deliveries: Vec<Delivery>,
    startup: u32,
    last: Cycle,
}

const CHANNELS: u32 = 1;
const NODES: u32 = 2;

impl Timeline {
    /// A timeline of a run on `network` with the channels of `space`, `cycle_ns` nanoseconds a cycle, and startups that take
    /// `startup` cycles.
    pub fn new(network: &Network, space: ChannelSpace, cycle_ns: f64, startup: u32) -> Self {
        let channel = |c| (network.from(ChannelId::new(c)).raw(), network.to(ChannelId::new(c)).raw());
        Self {
            space,
            cycle_ns,
            links: (0..network.channels() as u32).map(channel).collect(),
            holding: HashMap::new(),
            held: Vec::new(),
            startups: Vec::new(),
            deliveries: Vec::new(),
            startup,
            last: 0,
        }
    }

    /// Writes the timeline as JSON.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        let microseconds = |cycle: Cycle| cycle as f64 * self.cycle_ns / 1000.0;
        // Channels still held at the end last until then.
        let mut held = self.held.clone();
        held.extend(self.holding.iter().map(|(&(channel, worm), &from)| (channel, worm, from, self.last + 1, None)));
        held.sort_unstable();
        let tracks: BTreeSet<ChannelId> = held.iter().map(|&(channel, ..)| channel).collect();
        let nodes: BTreeSet<NodeId> =
            self.startups.iter().map(|s| s.0).chain(self.deliveries.iter().map(|d| d.node)).collect();
        writeln!(out, "{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
        let named = |pid: u32, name| json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}});
        write!(out, "{}", named(CHANNELS, "channels"))?;
        let mut write = |event: Value| write!(out, ",\n{event}");
        write(named(NODES, "nodes"))?;
        let track = |pid: u32, tid: u32, name: String| json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}});
        for channel in tracks {
            write(track(CHANNELS, channel.raw(), self.name(channel)))?;
        }
        for node in nodes {
            write(track(NODES, node.raw(), format!("node {node}")))?;
        }
        for (channel, worm, from, to, flits) in held {
            write(json!({
                "ph": "X", "pid": CHANNELS, "tid": channel.raw(), "name": format!("worm {worm}"),
                "ts": microseconds(from), "dur": microseconds(to - from),
                "args": {"worm": worm, "from_cycle": from, "to_cycle": to, "flits": flits},
            }))?;
        }
        for &(node, worm, message, at) in &self.startups {
            write(json!({
                "ph": "X", "pid": NODES, "tid": node.raw(), "name": format!("startup of worm {worm}"),
                "ts": microseconds(at), "dur": microseconds(Cycle::from(self.startup)),
                "args": {"worm": worm, "message": message, "cycle": at},
            }))?;
        }
        for delivery in &self.deliveries {
            write(json!({
                "ph": "i", "s": "t", "pid": NODES, "tid": delivery.node.raw(),
                "name": format!("message {} delivered", delivery.message), "ts": microseconds(delivery.delivered),
                "args": {"message": delivery.message, "worm": delivery.worm, "cycle": delivery.delivered},
            }))?;
        }
        writeln!(out, "\n]}}")?;
        out.flush()
    }

    fn name(&self, channel: ChannelId) -> String {
        match self.space.kind(channel) {
            ChannelKind::Link => {
                let (from, to) = self.links[channel.index()];
                format!("{from} -> {to}")
            }
            ChannelKind::Injection(node, port) => format!("injection {node}.{port}"),
            ChannelKind::Consumption(node, port) => format!("consumption {node}.{port}"),
        }
    }
}

impl Observer for Timeline {
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        self.startups.push((node, worm, message, at));
        self.last = self.last.max(at);
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.holding.insert((channel, worm), at);
        self.last = self.last.max(at);
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        if let Some(from) = self.holding.remove(&(channel, worm)) {
            self.held.push((channel, worm, from, at + 1, Some(flits)));
        }
        self.last = self.last.max(at);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
        self.last = self.last.max(delivery.delivered);
    }
}
