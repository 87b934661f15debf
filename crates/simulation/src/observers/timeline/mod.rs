//! A timeline of a run in the Trace Event Format, which Perfetto and Chrome's tracing page open.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::Range;

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId};

use crate::observers::observer::{Cycle, Delivery, Observer};
use crate::observers::sink::Sink;
use crate::run::run_end::RunEnd;
use beside::Beside;
use waits::{Ended, Waits};

mod beside;
mod waits;

/// Writes which worm held which channel when, and what nodes did. A cycle becomes `cycle_ns` nanoseconds on the time axis, where times are rounded to
/// whole nanoseconds: viewers keep no more, and rounding the beginning and the length of a slice by themselves would let it reach into the next.
///
/// One process groups the routers, with a track for each channel that was ever held; another groups the nodes, with a track for
/// each that ever sent or received; a third has the worms that wait, on tracks by the channel that they wait for (the first of
/// several). Viewers drop slices that overlap with others of their track, so where several worms hold a channel, on virtual channels, or a node prepares several at
/// once, each has a track beside the others. A deadlock is a line across all tracks, and those that wait forever say so. Events are written as the run goes on,
/// each when it has ended: they are in no particular order, and readers of the format need none.
///
/// Memory: what worms in flight hold, and an entry a track. A disk takes about 150 bytes a hold, startup or delivery.
#[derive(Debug)]
pub struct Timeline<'n, W: Write> {
    network: &'n Network,
    space: ChannelSpace,
    cycle_ns: f64,
    /// Cycles: what lies in others is left out.
    window: Range<Cycle>,
    /// Since when, and on which track of the channel.
    holding: HashMap<(ChannelId, u64), (Cycle, u32)>,
    /// Where the channels have virtual channels, what is held of them.
    virtual_channels: Option<Beside>,
    starting: Beside,
    waits: Waits,
    /// Tracks that have a name: process and number.
    tracks: HashSet<(u32, u64)>,
    startup: u32,
    /// When channels that are still held are shown as given back: as the run ended, or after the last event seen.
    end: Cycle,
    out: Sink<W>,
}

const CHANNELS: u32 = 1;
const NODES: u32 = 2;
const WAITS: u32 = 3;

impl<'n, W: Write> Timeline<'n, W> {
    /// A timeline of a run on `network` with the channels of `space`, `cycle_ns` nanoseconds a cycle, and startups that take
    /// `startup` cycles. It is written to `out`, in small pieces that are buffered. If channels have several virtual channels, it has to be
    /// [told](Self::with_virtual_channels).
    pub fn new(network: &'n Network, space: ChannelSpace, cycle_ns: f64, startup: u32, out: W) -> Self {
        let mut out = Sink::new(out);
        out.write(|out| {
            writeln!(out, r#"{{"displayTimeUnit": "ns", "traceEvents": ["#)?;
            // The first event has no comma before it.
            write!(out, r#"{{"ph":"M","pid":{CHANNELS},"name":"process_name","args":{{"name":"channels"}}}}"#)?;
            for (process, name) in [(NODES, "nodes"), (WAITS, "waiting")] {
                write!(out, ",\n{{\"ph\":\"M\",\"pid\":{process},\"name\":\"process_name\"")?;
                write!(out, r#","args":{{"name":"{name}"}}}}"#)?;
            }
            Ok(())
        });
        Self {
            network,
            space,
            cycle_ns,
            window: 0..Cycle::MAX,
            holding: HashMap::new(),
            virtual_channels: None,
            starting: Beside::default(),
            waits: Waits::default(),
            tracks: HashSet::new(),
            startup,
            end: 0,
            out,
        }
    }

    /// Restricts the timeline to what overlaps with these cycles.
    #[must_use]
    pub fn within(self, window: Range<Cycle>) -> Self {
        Self { window, ..self }
    }

    /// With as many tracks for a channel as worms hold it at once, if there are several virtual channels. Without them only one does, though it may be reported
    /// late that it has given the channel back.
    #[must_use]
    pub fn with_virtual_channels(self, virtual_channels: u32) -> Self {
        Self { virtual_channels: (virtual_channels > 1).then(Beside::default), ..self }
    }

    /// Ends the file and returns the writer.
    ///
    /// # Errors
    /// If writing failed, now or during the run.
    pub fn finish(mut self) -> io::Result<W> {
        // Channels still held at the end last until then.
        let mut held: Vec<_> = self.holding.drain().collect();
        held.sort_unstable();
        for ((channel, worm), (from, lane)) in held {
            self.held((channel, lane), worm, from..self.end.max(from), None);
        }
        self.out.write(|out| writeln!(out, "\n]}}"));
        self.out.finish()
    }

    /// Whether something that lasts so long, or happens at its start if it lasts no time, is to be shown.
    fn shows(&self, time: &Range<Cycle>) -> bool {
        time.start < self.window.end && time.end.max(time.start.saturating_add(1)) > self.window.start
    }

    /// Writes what a track shows for some time, with its arguments as JSON.
    fn slice(&mut self, (process, track): (u32, u64), name: &str, time: Range<Cycle>, arguments: &str) {
        let [start, end] = [time.start, time.end].map(|cycle| self.nanoseconds(cycle));
        let (at, lasts) = (start / 1000.0, (end - start) / 1000.0);
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"X\",\"pid\":{process},\"tid\":{track},\"name\":\"{name}\"")?;
            write!(out, r#","ts":{at},"dur":{lasts},"args":{{{arguments}}}}}"#)
        });
    }

    fn held(&mut self, (channel, lane): (ChannelId, u32), worm: u64, time: Range<Cycle>, flits: Option<u32>) {
        if !self.shows(&time) {
            return;
        }
        let track = (CHANNELS, u64::from(channel.raw()) + u64::from(lane) * self.space.len() as u64);
        if self.tracks.insert(track) {
            let name = beside(&self.space.label(self.network, channel), lane);
            self.name_track(track, &name);
        }
        let flits = flits.map_or_else(|| "null".to_owned(), |flits| flits.to_string());
        let arguments = format!(r#""worm":{worm},"from_cycle":{},"to_cycle":{},"flits":{flits}"#, time.start, time.end);
        self.slice(track, &format!("worm {worm}"), time, &arguments);
    }

    fn node_track(&mut self, node: NodeId, lane: u32) -> (u32, u64) {
        let track = (NODES, u64::from(node.raw()) + u64::from(lane) * self.network.nodes() as u64);
        if self.tracks.insert(track) {
            let name = beside(&format!("node {}", self.network.node_label(node)), lane);
            self.name_track(track, &name);
        }
        track
    }

    fn name_track(&mut self, (process, track): (u32, u64), name: &str) {
        let name = serde_json::Value::from(name);
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"M\",\"pid\":{process},\"tid\":{track},\"name\":\"thread_name\"")?;
            write!(out, r#","args":{{"name":{name}}}}}"#)
        });
    }

    /// Writes a wait; `dead`: it would never have ended.
    fn waited(&mut self, worm: u64, ended: &Ended, dead: bool) {
        let Ended { wait, time, track } = ended;
        if self.shows(time) {
            if self.tracks.insert((WAITS, u64::from(*track))) {
                let (channel, lane) = ended.place();
                let name = beside(&format!("for {}", self.place(channel)), lane);
                self.name_track((WAITS, u64::from(*track)), &name);
            }
            let mut wanted: Vec<String> = wait.channels.iter().map(|&channel| self.place(channel)).collect();
            wanted.dedup();
            let wanted = serde_json::Value::from(wanted);
            let arguments = format!(
                r#""worm":{worm},"for":{wanted},"from_cycle":{},"to_cycle":{},"deadlocked":{dead}"#,
                time.start, time.end
            );
            let name = if dead { format!("worm {worm} waits forever") } else { format!("worm {worm} waits") };
            self.slice((WAITS, u64::from(*track)), &name, time.clone(), &arguments);
        }
    }

    /// What a worm waits for: a link, or any port of a node.
    fn place(&self, channel: ChannelId) -> String {
        match self.space.kind(channel) {
            ChannelKind::Link => self.network.link_label(channel),
            ChannelKind::Injection(node, _) => format!("injection {}", self.network.node_label(node)),
            ChannelKind::Consumption(node, _) => format!("consumption {}", self.network.node_label(node)),
        }
    }

    fn nanoseconds(&self, cycle: Cycle) -> f64 {
        (cycle as f64 * self.cycle_ns).round()
    }

    fn microseconds(&self, cycle: Cycle) -> f64 {
        self.nanoseconds(cycle) / 1000.0
    }
}

/// The name of a track, the first of its kind or one beside it.
fn beside(name: &str, lane: u32) -> String {
    if lane == 0 { name.to_owned() } else { format!("{name} ({})", lane + 1) }
}

impl<W: Write> Observer for Timeline<'_, W> {
    const WAITS: bool = true;
    const END: bool = true;

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        self.end = self.end.max(at + 1);
        let time = at..at + Cycle::from(self.startup);
        if self.shows(&time) {
            let lane = self.starting.take(node.index(), time.clone());
            let track = self.node_track(node, lane);
            let arguments = format!(r#""worm":{worm},"message":{message},"cycle":{at}"#);
            self.slice(track, &format!("startup of worm {worm}"), time, &arguments);
        }
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        if at < self.window.end {
            self.waits.begin(at, worm, channels);
        }
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        if let Some(ended) = self.waits.end(at, worm, channel) {
            self.waited(worm, &ended, false);
        }
        self.end = self.end.max(at + 1);
        if at < self.window.end {
            let lane = match &mut self.virtual_channels {
                None => 0,
                Some(held) => held.take(channel.index(), at..Cycle::MAX),
            };
            self.holding.insert((channel, worm), (at, lane));
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        self.end = self.end.max(at + 1);
        if let Some((from, lane)) = self.holding.remove(&(channel, worm)) {
            if let Some(held) = &mut self.virtual_channels {
                held.end(channel.index(), lane, at + 1);
            }
            self.held((channel, lane), worm, from..at + 1, Some(flits));
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let &Delivery { message, worm, node, delivered, .. } = delivery;
        self.end = self.end.max(delivered + 1);
        if !self.shows(&(delivered..delivered)) {
            return;
        }
        let (process, track) = self.node_track(node, 0);
        let at = self.microseconds(delivered);
        self.out.write(|out| {
            write!(out, ",\n{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{process},\"tid\":{track}")?;
            write!(out, r#","name":"message {message} delivered","ts":{at}"#)?;
            write!(out, r#","args":{{"message":{message},"worm":{worm},"cycle":{delivered}}}}}"#)
        });
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.end = end.at;
        let dead: HashSet<u64> = end.worms.iter().filter(|worm| worm.deadlocked).map(|worm| worm.worm).collect();
        for (worm, ended) in self.waits.end_all(end.at) {
            self.waited(worm, &ended, dead.contains(&worm));
        }
        if !dead.is_empty() && self.shows(&(end.at..end.at)) {
            let at = self.microseconds(end.at);
            let (count, cycle) = (dead.len(), end.at);
            self.out.write(|out| {
                write!(
                    out,
                    ",\n{{\"ph\":\"i\",\"s\":\"g\",\"pid\":{WAITS},\"tid\":0,\"name\":\"deadlock of {count} worms\""
                )?;
                write!(out, r#","ts":{at},"args":{{"worms":{count},"cycle":{cycle}}}}}"#)
            });
        }
    }

    /// A run whose timeline cannot be written need not go on.
    fn done(&self) -> bool {
        self.out.has_failed()
    }
}
