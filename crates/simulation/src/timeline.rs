//! A timeline of a run in the Trace Event Format, which Perfetto and Chrome's tracing page open.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::Range;

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId};

use crate::observer::{Cycle, Delivery, Observer};
use crate::sink::Sink;

/// Writes which worm held which channel when, and what nodes did. A cycle becomes `cycle_ns` nanoseconds on the time axis.
///
/// One process groups the routers, with a track for each channel that was ever held; another groups the nodes, with a track for
/// each that ever sent or received. Events are written as the run goes on, each when it has ended: they are in no particular order,
/// and readers of the format need none.
///
/// Memory: what worms in flight hold, and an entry a track. A disk takes about 150 bytes a hold, startup or delivery.
#[derive(Debug)]
pub struct Timeline<'n, W: Write> {
    network: &'n Network,
    space: ChannelSpace,
    cycle_ns: f64,
    /// Cycles: what lies in others is left out.
    window: Range<Cycle>,
    holding: HashMap<(ChannelId, u64), Cycle>,
    /// Tracks that have a name: process and number.
    tracks: HashSet<(u32, u32)>,
    startup: u32,
    last: Cycle,
    out: Sink<W>,
}

const CHANNELS: u32 = 1;
const NODES: u32 = 2;

impl<'n, W: Write> Timeline<'n, W> {
    /// A timeline of a run on `network` with the channels of `space`, `cycle_ns` nanoseconds a cycle, and startups that take
    /// `startup` cycles. It is written to `out`, in small pieces that are buffered.
    pub fn new(network: &'n Network, space: ChannelSpace, cycle_ns: f64, startup: u32, out: W) -> Self {
        let mut out = Sink::new(out);
        out.write(|out| {
            writeln!(out, r#"{{"displayTimeUnit": "ns", "traceEvents": ["#)?;
            // The first event has no comma before it.
            write!(out, r#"{{"ph":"M","pid":{CHANNELS},"name":"process_name","args":{{"name":"channels"}}}}"#)?;
            write!(out, ",\n{{\"ph\":\"M\",\"pid\":{NODES},\"name\":\"process_name\",\"args\":{{\"name\":\"nodes\"}}}}")
        });
        Self {
            network,
            space,
            cycle_ns,
            window: 0..Cycle::MAX,
            holding: HashMap::new(),
            tracks: HashSet::new(),
            startup,
            last: 0,
            out,
        }
    }

    /// The same timeline of these cycles only: of what overlaps with them.
    #[must_use]
    pub fn within(self, window: Range<Cycle>) -> Self {
        Self { window, ..self }
    }

    /// Ends the file, and gives the writer back.
    ///
    /// # Errors
    /// If writing failed, now or in the run.
    pub fn finish(mut self) -> io::Result<W> {
        // Channels still held at the end last until then.
        let mut held: Vec<_> = self.holding.drain().map(|((channel, worm), from)| (channel, worm, from)).collect();
        held.sort_unstable();
        for (channel, worm, from) in held {
            self.held(channel, worm, from..self.last + 1, None);
        }
        self.out.write(|out| writeln!(out, "\n]}}"));
        self.out.finish()
    }

    /// Whether something that lasts so long, or happens at its start if it lasts no time, is to be shown.
    fn shows(&self, time: &Range<Cycle>) -> bool {
        time.start < self.window.end && time.end.max(time.start.saturating_add(1)) > self.window.start
    }

    /// Writes what a track shows for some time, with its arguments as JSON.
    fn slice(&mut self, (process, track): (u32, u32), name: &str, time: Range<Cycle>, arguments: &str) {
        let (at, lasts) = (self.microseconds(time.start), self.microseconds(time.end - time.start));
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"X\",\"pid\":{process},\"tid\":{track},\"name\":\"{name}\"")?;
            write!(out, r#","ts":{at},"dur":{lasts},"args":{{{arguments}}}}}"#)
        });
    }

    fn held(&mut self, channel: ChannelId, worm: u64, time: Range<Cycle>, flits: Option<u32>) {
        if !self.shows(&time) {
            return;
        }
        if self.tracks.insert((CHANNELS, channel.raw())) {
            let name = self.name(channel);
            self.name_track((CHANNELS, channel.raw()), &name);
        }
        let flits = flits.map_or_else(|| "null".to_owned(), |flits| flits.to_string());
        let arguments = format!(r#""worm":{worm},"from_cycle":{},"to_cycle":{},"flits":{flits}"#, time.start, time.end);
        self.slice((CHANNELS, channel.raw()), &format!("worm {worm}"), time, &arguments);
    }

    fn node_track(&mut self, node: NodeId) -> (u32, u32) {
        let track = (NODES, node.raw());
        if self.tracks.insert(track) {
            self.name_track(track, &format!("node {node}"));
        }
        track
    }

    fn name_track(&mut self, (process, track): (u32, u32), name: &str) {
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"M\",\"pid\":{process},\"tid\":{track},\"name\":\"thread_name\"")?;
            write!(out, r#","args":{{"name":"{name}"}}}}"#)
        });
    }

    fn microseconds(&self, cycle: Cycle) -> f64 {
        cycle as f64 * self.cycle_ns / 1000.0
    }

    fn name(&self, channel: ChannelId) -> String {
        match self.space.kind(channel) {
            ChannelKind::Link => format!("{} -> {}", self.network.from(channel), self.network.to(channel)),
            ChannelKind::Injection(node, port) => format!("injection {node}.{port}"),
            ChannelKind::Consumption(node, port) => format!("consumption {node}.{port}"),
        }
    }
}

impl<W: Write> Observer for Timeline<'_, W> {
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        self.last = self.last.max(at);
        let time = at..at + Cycle::from(self.startup);
        if self.shows(&time) {
            let track = self.node_track(node);
            let arguments = format!(r#""worm":{worm},"message":{message},"cycle":{at}"#);
            self.slice(track, &format!("startup of worm {worm}"), time, &arguments);
        }
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.last = self.last.max(at);
        if at < self.window.end {
            self.holding.insert((channel, worm), at);
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        self.last = self.last.max(at);
        if let Some(from) = self.holding.remove(&(channel, worm)) {
            self.held(channel, worm, from..at + 1, Some(flits));
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let &Delivery { message, worm, node, delivered, .. } = delivery;
        self.last = self.last.max(delivered);
        if !self.shows(&(delivered..delivered)) {
            return;
        }
        let (process, track) = self.node_track(node);
        let at = self.microseconds(delivered);
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{process},\"tid\":{track}")?;
            write!(out, r#","name":"message {message} delivered","ts":{at}"#)?;
            write!(out, r#","args":{{"message":{message},"worm":{worm},"cycle":{delivered}}}}}"#)
        });
    }

    /// A run whose timeline cannot be written need not go on.
    fn done(&self) -> bool {
        self.out.has_failed()
    }
}
