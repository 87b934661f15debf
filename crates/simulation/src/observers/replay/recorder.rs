//! The observer that writes the file.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use wormcast_network::{ChannelId, ChannelSpace, Network, NetworkOutline, NodeId};

use super::columns::{Wiring, encode};
use super::file::{Pieces, Place, VERSION};
use super::measures::Measures;
use super::record::{ReplayHop, ReplayWait, ReplayWorm};
use crate::observers::observer::{Cycle, Delivery, Generated, Observer};
use crate::observers::waits::worm_json;
use crate::run::result::Deadlock;
use crate::run::run_end::RunEnd;

/// When a chunk is written: with so many worms, or channels.
const WORMS: usize = 4096;
const HOPS: usize = 1 << 16;

/// Writes a run as the file that docs/replay.md describes, while it goes on. `K` messages under way and a network of `C` channels take O(K x hops + C) memory; beside
/// them, there are some thousand finished worms of each order of magnitude of their durations.
#[derive(Debug)]
pub struct Replay<'n, W: Write> {
    network: &'n Network,
    wiring: Wiring,
    out: Pieces<W>,
    messages: HashMap<u64, Message>,
    worms: HashMap<u64, Live>,
    /// Finished worms, by the binary logarithm of the time for which they were there. Those of one chunk are there at about the same time, so that few
    /// chunks have the worms of a cycle.
    finished: Vec<Finished>,
    measures: Measures,
    counts: Counts,
    chunks: Vec<Chunk>,
    end: Cycle,
    /// Worms that wait forever, as the file of waits has them.
    dead: Vec<Value>,
    /// An event that contradicts the earlier ones.
    broken: Option<String>,
}

/// What is said of a run at its end.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRun<'a> {
    /// The program, and its version.
    pub program: &'a str,
    /// The run in a few words.
    pub title: &'a str,
    /// The topology as it was given.
    pub topology: &'a str,
    /// The multicast algorithm.
    pub algorithm: &'a str,
    /// Further settings, as an object.
    pub settings: &'a Value,
    /// The deadlock that ended the run.
    pub deadlock: Option<&'a Deadlock>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

#[derive(Debug)]
struct Message {
    source: NodeId,
    generated: Cycle,
    length: u32,
    /// By node, and whether it has the message.
    destinations: Box<[(NodeId, bool)]>,
    /// How many of them have not.
    left: usize,
    worms: Vec<u64>,
}

/// A worm that is not finished.
#[derive(Debug)]
struct Live {
    record: ReplayWorm,
    /// Channels that it holds.
    held: usize,
    /// Hops before this one are released.
    released: usize,
    waiting: Vec<ReplayWait>,
}

#[derive(Debug, Default)]
struct Finished {
    worms: Vec<ReplayWorm>,
    hops: usize,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    messages: u64,
    worms: u64,
    deliveries: u64,
    hops: u64,
    waits: u64,
}

#[derive(Debug, Serialize)]
struct Chunk {
    first_cycle: Cycle,
    last_cycle: Cycle,
    worms: usize,
    #[serde(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Header<'a> {
    version: u32,
    program: &'a str,
    title: &'a str,
    topology: &'a str,
    algorithm: &'a str,
    cycles: Cycle,
    interrupted: bool,
    counts: Counts,
    settings: &'a Value,
    ports: Ports,
    deadlock: Option<&'a Deadlock>,
    dead: &'a [Value],
    network: NetworkOutline,
    measures: &'a Measures,
    chunks: &'a [Chunk],
}

#[derive(Serialize)]
struct Ports {
    injection: u32,
    consumption: u32,
}

impl Message {
    /// Whether a delivery there is the first to one of its destinations.
    fn arrives(&mut self, node: NodeId) {
        if let Ok(place) = self.destinations.binary_search_by_key(&node, |&(node, _)| node)
            && !self.destinations[place].1
        {
            self.destinations[place].1 = true;
            self.left -= 1;
        }
    }
}

impl<'n, W: Write> Replay<'n, W> {
    /// Without events yet. `space` numbers the channels of `network`; the file is written to `out`, in pieces that are buffered.
    pub fn new(network: &'n Network, space: ChannelSpace, out: W) -> Self {
        let ends =
            |end: fn(&Network, ChannelId) -> u32| network.channel_ids().map(|channel| end(network, channel)).collect();
        let links =
            [ends(|network, channel| network.from(channel).raw()), ends(|network, channel| network.to(channel).raw())];
        let nodes = [
            network.node_ids().map(|node| network.router_of(node).raw()).collect(),
            network.node_ids().map(|node| network.entry_of(node).raw()).collect(),
        ];
        let wiring =
            Wiring::new(space, network.routers(), links, nodes).expect("networks are numbered router by router");
        Self {
            network,
            wiring,
            out: Pieces::new(out),
            messages: HashMap::new(),
            worms: HashMap::new(),
            finished: Vec::new(),
            measures: Measures::new(space.len()),
            counts: Counts::default(),
            chunks: Vec::new(),
            end: 0,
            dead: Vec::new(),
            broken: None,
        }
    }

    /// Writes what is left, the index, and what is known of the run. Returns the writer.
    ///
    /// # Errors
    /// If writing failed, now or during the run.
    pub fn finish(mut self, run: &ReplayRun<'_>) -> io::Result<W> {
        if let Some(broken) = self.broken {
            return Err(io::Error::other(broken));
        }
        for class in 0..self.finished.len() {
            self.write(class);
        }
        self.chunks.sort_by_key(|chunk| chunk.place.offset);
        let &ReplayRun { program, title, topology, algorithm, settings, deadlock, interrupted } = run;
        let ports = self.wiring.space.ports();
        let header = Header {
            version: VERSION,
            program,
            title,
            topology,
            algorithm,
            cycles: self.end,
            interrupted,
            counts: self.counts,
            settings,
            ports: Ports { injection: ports.injection, consumption: ports.consumption },
            deadlock,
            dead: &self.dead,
            network: NetworkOutline::new(self.network),
            measures: &self.measures,
            chunks: &self.chunks,
        };
        self.out.finish(&serde_json::to_vec(&header)?)
    }

    /// The worm of an event.
    fn live(&mut self, worm: u64) -> Option<&mut Live> {
        let live = self.worms.get_mut(&worm);
        if live.is_none() {
            // Nothing of a run is left out without a word.
            self.broken.get_or_insert_with(|| {
                format!("something happened to worm {worm} before it started or after it ended")
            });
        }
        live
    }

    /// Where a worm goes on from, if a channel leads on from one that it has.
    fn parent(wiring: &Wiring, hops: &[ReplayHop], channel: ChannelId) -> Option<u32> {
        let start = wiring.start(channel)?;
        hops.iter().rposition(|hop| wiring.end(hop.channel) == Some(start)).map(|hop| hop as u32)
    }

    /// Passes on the worms of a message that has arrived everywhere, once they have given everything back.
    fn settle(&mut self, message: u64) {
        let settled = self.messages.get(&message).is_some_and(|known| {
            let quiet = |worm| self.worms.get(worm).is_none_or(|live| live.held == 0 && live.waiting.is_empty());
            known.left == 0 && known.worms.iter().all(quiet)
        });
        if !settled {
            return;
        }
        let worms = self.messages.remove(&message).map_or_else(Vec::new, |known| known.worms);
        for worm in worms {
            if let Some(live) = self.worms.remove(&worm) {
                self.pass_on(live.record);
            }
        }
    }

    /// Counts a worm that is finished, and writes it soon.
    fn pass_on(&mut self, worm: ReplayWorm) {
        let (first, last) = worm.active(self.end);
        self.measures.add(&worm, self.end);
        self.counts.worms += 1;
        self.counts.deliveries += worm.deliveries.len() as u64;
        self.counts.hops += worm.hops.len() as u64;
        self.counts.waits += worm.waits.len() as u64;
        let class = (last.saturating_sub(first) + 1).ilog2() as usize;
        if self.finished.len() <= class {
            self.finished.resize_with(class + 1, Finished::default);
        }
        let finished = &mut self.finished[class];
        finished.hops += worm.hops.len();
        finished.worms.push(worm);
        if finished.worms.len() >= WORMS || finished.hops >= HOPS {
            self.write(class);
        }
    }

    /// Writes a chunk, if there is anything in it.
    fn write(&mut self, class: usize) {
        let Finished { mut worms, .. } = std::mem::take(&mut self.finished[class]);
        if worms.is_empty() {
            return;
        }
        worms.sort_unstable_by_key(|worm| worm.worm);
        let active = || worms.iter().map(|worm| worm.active(self.end));
        let first_cycle = active().map(|(first, _)| first).min().unwrap_or_default();
        let last_cycle = active().map(|(_, last)| last).max().unwrap_or_default();
        let place = self.out.append(&encode(&worms, &self.wiring, self.end));
        self.chunks.push(Chunk { first_cycle, last_cycle, worms: worms.len(), place });
    }
}

impl<W: Write> Observer for Replay<'_, W> {
    const WAITS: bool = true;
    const END: bool = true;

    fn generated(&mut self, message: &Generated<'_>) {
        let mut destinations: Box<[_]> = message.destinations.iter().map(|&node| (node, false)).collect();
        destinations.sort_unstable();
        let known = Message {
            source: message.source,
            generated: message.at,
            length: message.length,
            left: destinations.len(),
            destinations,
            worms: Vec::new(),
        };
        self.messages.insert(message.message, known);
        self.counts.messages += 1;
    }

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        let Some(known) = self.messages.get_mut(&message) else {
            self.broken.get_or_insert_with(|| format!("worm {worm} started after its message had arrived everywhere"));
            return;
        };
        known.worms.push(worm);
        let record = known.worm(worm, message, node, Some(at));
        self.worms.insert(worm, Live { record, held: 0, released: 0, waiting: Vec::new() });
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        if let (Some(live), false) = (self.live(worm), channels.is_empty()) {
            live.waiting.push(ReplayWait { hop: None, since: at, channels: channels.into() });
        }
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        let Some(live) = self.worms.get_mut(&worm) else {
            self.live(worm);
            return;
        };
        let hops = &mut live.record.hops;
        let hop = hops.len() as u32;
        let parent = Self::parent(&self.wiring, hops, channel);
        hops.push(ReplayHop { channel, parent, granted: at, released: None, flits: 0 });
        live.held += 1;
        if let Some(place) = live.waiting.iter().position(|wait| wait.channels.contains(&channel)) {
            let wait = live.waiting.remove(place);
            if wait.since < at {
                live.record.waits.push(ReplayWait { hop: Some(hop), ..wait });
            }
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let Some(live) = self.live(worm) else { return };
        let message = live.record.message;
        let hops = &mut live.record.hops;
        let held = |hop: &ReplayHop| hop.released.is_none() && hop.channel == channel;
        let Some(place) = hops[live.released..].iter().position(held) else { return };
        let hop = &mut hops[live.released + place];
        (hop.released, hop.flits) = (Some(at), flits);
        live.held -= 1;
        live.released += hops[live.released..].iter().take_while(|hop| hop.released.is_some()).count();
        if live.held == 0 {
            self.settle(message);
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let &Delivery { message, worm, node, delivered, .. } = delivery;
        if let Some(live) = self.live(worm) {
            live.record.deliveries.push((node, delivered));
        }
        if let Some(known) = self.messages.get_mut(&message) {
            known.arrives(node);
            if known.left == 0 {
                self.settle(message);
            }
        }
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.end = end.at;
        for held in end.held {
            let hops = self.worms.get_mut(&held.worm).map(|live| &mut live.record.hops);
            // Of a link that it holds twice, one after the other.
            let of_it = |hop: &&mut ReplayHop| hop.channel == held.channel && hop.released.is_none() && hop.flits == 0;
            if let Some(hop) = hops.and_then(|hops| hops.iter_mut().find(of_it)) {
                hop.flits = held.flits;
            }
        }
        for worm in end.worms {
            if worm.deadlocked {
                self.dead.push(worm_json(self.network, self.wiring.space, worm));
            }
            if !self.worms.contains_key(&worm.worm)
                && let Some(known) = self.messages.get(&worm.message)
            {
                // It was never started.
                let record = known.worm(worm.worm, worm.message, worm.source, None);
                self.worms.insert(worm.worm, Live { record, held: 0, released: 0, waiting: Vec::new() });
            }
            let Some(live) = self.worms.get_mut(&worm.worm) else { continue };
            live.record.dead = worm.deadlocked;
            let has = |node: &&NodeId| live.record.deliveries.iter().all(|(to, _)| to != *node);
            live.record.undelivered = worm.destinations.iter().filter(has).copied().collect();
        }
        let mut left: Vec<(u64, Live)> = self.worms.drain().collect();
        left.sort_unstable_by_key(|&(worm, _)| worm);
        for (_, mut live) in left {
            live.record.waits.extend(live.waiting.into_iter().filter(|wait| wait.since < end.at));
            self.pass_on(live.record);
        }
    }

    /// A run that cannot be written need not go on.
    fn done(&self) -> bool {
        self.out.has_failed()
    }
}

impl Message {
    /// A worm of it that has done nothing yet.
    fn worm(&self, worm: u64, message: u64, from: NodeId, started: Option<Cycle>) -> ReplayWorm {
        ReplayWorm {
            worm,
            message,
            from,
            source: self.source,
            destinations: self.destinations.len() as u64,
            length: self.length,
            generated: self.generated,
            started,
            dead: false,
            deliveries: Vec::new(),
            undelivered: Vec::new(),
            hops: Vec::new(),
            waits: Vec::new(),
        }
    }
}
