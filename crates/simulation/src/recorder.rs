//! Turns what an engine reports into the figures of a run.

use std::collections::VecDeque;

use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::buffer_use::BufferCounter;
use crate::link_use::LinkCounter;
use crate::observer::{Cycle, Delivery, Generated, LatencyParts, Observer};
use crate::result::{Distribution, KindLatency, Latency, Messages, Parts, Window};
use crate::warmup::mser_5;

/// A message on its way.
struct Open {
    source: NodeId,
    /// Destinations in increasing order, with whether they have the message.
    wanted: Vec<(NodeId, bool)>,
    remaining: usize,
    /// Sum over deliveries of their latencies.
    sum: u64,
    last: Option<Delivery>,
}

/// A message's figures, complete or not.
struct Record {
    generated: Cycle,
    /// When its last destination had it.
    completed: Option<Cycle>,
    length: u32,
    destinations: u32,
    mean: f64,
    parts: LatencyParts,
}

/// Which messages count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The messages from `first` (an id) on, `count` of them; then the run is over. Up to `discard` of them may be discarded as
    /// warm-up.
    Steady { first: Option<u64>, count: u64, discard: u64 },
    /// All that are delivered until as many messages are.
    Finite { count: Option<u64> },
}

/// Watches every message and every link.
pub(crate) struct Recorder {
    goal: Goal,
    open: VecDeque<Option<Open>>,
    /// The id of the first message in `open`.
    first_open: u64,
    records: Vec<Record>,
    /// Lists of destinations of messages that are complete, kept for their memory.
    spare: Vec<Vec<(NodeId, bool)>>,
    /// Messages among the counted ones that are complete (steady), or messages that are (finite).
    complete: u64,
    pub(crate) delivered: u64,
    pub(crate) deliveries: u64,
    pub(crate) duplicates: u64,
    /// Deliveries to nodes that only send on, so far; and those to come, by message.
    pub(crate) forwarded: u64,
    relays: Vec<(u64, NodeId)>,
    pub(crate) links: LinkCounter,
    pub(crate) buffers: BufferCounter,
    /// The measured window, while it is open and afterwards.
    pub(crate) window: Window,
    window_open: bool,
    /// Data flits generated, asked for, completed and delivered within the window.
    pub(crate) flits: WindowFlits,
}

/// Data flits within the measured window.
#[derive(Clone, Copy, Default)]
pub(crate) struct WindowFlits {
    pub(crate) injected: u64,
    pub(crate) offered: u64,
    pub(crate) accepted: u64,
    pub(crate) delivered: u64,
}

impl Recorder {
    pub(crate) fn new(goal: Goal, links: usize) -> Self {
        Self {
            goal,
            open: VecDeque::new(),
            first_open: 0,
            records: Vec::new(),
            spare: Vec::new(),
            complete: 0,
            delivered: 0,
            deliveries: 0,
            duplicates: 0,
            forwarded: 0,
            relays: Vec::new(),
            links: LinkCounter::new(links),
            buffers: BufferCounter::default(),
            window: Window::default(),
            window_open: false,
            flits: WindowFlits::default(),
        }
    }

    pub(crate) fn open_window(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        self.window.from = now;
        self.window_open = true;
        self.links.open(now, crossing);
    }

    pub(crate) fn close_window(&mut self, now: Cycle, crossing: &[(ChannelId, u32)]) {
        if std::mem::take(&mut self.window_open) {
            self.window.to = now;
            self.links.close(now, crossing);
        }
    }

    /// Names the first message that counts.
    pub(crate) fn count_from(&mut self, message: u64) {
        if let Goal::Steady { first, .. } = &mut self.goal {
            *first = Some(message);
        }
    }

    /// The first message that counts, once it is known.
    pub(crate) fn first_counted(&self) -> Option<u64> {
        match self.goal {
            Goal::Steady { first, .. } => first,
            Goal::Finite { .. } => Some(0),
        }
    }

    /// The mean latency of the messages that count and are complete, warm-up included; 0 without any.
    pub(crate) fn mean_latency(&self) -> f64 {
        let counted = self.records.iter().enumerate().filter(|&(id, _)| self.counts(id as u64));
        let (count, sum) = counted
            .filter(|(_, record)| record.completed.is_some())
            .fold((0u64, 0u64), |(count, sum), (_, record)| (count + 1, sum + record.latency()));
        sum as f64 / count.max(1) as f64
    }

    /// Whether messages piled up in the measured window: more than `share` of those generated in it, and more than chance
    /// explains (three standard deviations of a Poisson count). A window shorter than twice the mean latency tells nothing, nor
    /// does one while no message is complete.
    pub(crate) fn piles_up(&self, share: f64) -> bool {
        let generated = self.window.generated as f64;
        let backlog = generated - self.window.completed as f64;
        let mean = self.mean_latency();
        let telling = mean > 0.0 && (self.window.to - self.window.from) as f64 >= 2.0 * mean;
        telling && backlog > (share * generated).max(3.0 * generated.sqrt())
    }

    /// A node will get a message only to send it on.
    pub(crate) fn relays(&mut self, message: u64, node: NodeId) {
        if !self.relays.contains(&(message, node)) {
            self.relays.push((message, node));
        }
    }

    /// Messages that were generated.
    pub(crate) fn generated(&self) -> u64 {
        self.records.len() as u64
    }

    fn counts(&self, message: u64) -> bool {
        match self.goal {
            Goal::Finite { .. } => true,
            Goal::Steady { first, count, .. } => first.is_some_and(|first| (first..first + count).contains(&message)),
        }
    }

    /// The messages that latencies are taken from: complete ones among those that count, less the warm-up.
    fn measured(&self) -> Vec<&Record> {
        let counted = self.records.iter().enumerate().filter(|&(id, _)| self.counts(id as u64));
        let complete: Vec<&Record> = counted.map(|(_, record)| record).filter(|r| r.completed.is_some()).collect();
        let Goal::Steady { discard, .. } = self.goal else { return complete };
        if discard == 0 {
            return complete;
        }
        let latencies: Vec<f64> = complete.iter().map(|record| record.latency() as f64).collect();
        complete[mser_5(&latencies, discard as usize)..].to_vec()
    }

    /// Latencies of the measured messages and the generation time of the first.
    pub(crate) fn latency(&self, cycle_ns: f64) -> (Latency, u64, Cycle) {
        let measured = self.measured();
        let share = |part: fn(&LatencyParts) -> u64| {
            measured.iter().map(|r| part(&r.parts)).sum::<u64>() as f64 / measured.len().max(1) as f64
        };
        let kind = |several: bool| -> Option<Box<KindLatency>> {
            let of_kind = |record: &&&Record| (record.destinations > 1) == several;
            let some: Vec<&Record> = measured.iter().filter(of_kind).copied().collect();
            (!some.is_empty() && some.len() < measured.len()).then(|| {
                Box::new(KindLatency {
                    measured: some.len() as u64,
                    last: distribution(some.iter().map(|record| record.latency() as f64).collect(), cycle_ns),
                    mean: distribution(some.iter().map(|record| record.mean).collect(), cycle_ns),
                })
            })
        };
        let latency = Latency {
            unicast: kind(false),
            multicast: kind(true),
            last: distribution(measured.iter().map(|record| record.latency() as f64).collect(), cycle_ns),
            mean: distribution(measured.iter().map(|record| record.mean).collect(), cycle_ns),
            parts: Parts {
                queueing: share(|parts| parts.queueing),
                startup: share(|parts| parts.startup),
                network: share(|parts| parts.network),
                blocking: share(|parts| parts.blocking),
            },
        };
        (latency, measured.len() as u64, measured.first().map_or(0, |record| record.generated))
    }

    pub(crate) fn messages(&self, measured: u64) -> Messages {
        let generated = self.generated();
        Messages { generated, delivered: self.delivered, in_flight: generated - self.delivered, measured }
    }
}

impl Record {
    fn latency(&self) -> u64 {
        self.completed.map_or(0, |completed| completed - self.generated)
    }
}

/// Summarises values; percentiles by nearest rank.
fn distribution(mut values: Vec<f64>, cycle_ns: f64) -> Distribution {
    if values.is_empty() {
        return Distribution::default();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // Nearest ranks, each found among the values from the one before on: no need to sort all.
    let mut from = 0;
    let mut rank = |share: f64| {
        let place = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
        let (_, value, _) = values[from..].select_nth_unstable_by(place - from, f64::total_cmp);
        from = place;
        *value
    };
    let (p50, p95, p99, max) = (rank(0.5), rank(0.95), rank(0.99), rank(1.0));
    Distribution {
        mean: Some(mean),
        mean_ns: Some(mean * cycle_ns),
        p50: Some(p50),
        p95: Some(p95),
        p99: Some(p99),
        max: Some(max),
    }
}

impl Observer for Recorder {
    const OCCUPANCY: bool = true;

    fn generated(&mut self, message: &Generated<'_>) {
        let mut wanted = self.spare.pop().unwrap_or_default();
        wanted.clear();
        wanted.extend(message.destinations.iter().map(|&node| (node, false)));
        wanted.sort_unstable();
        let remaining = wanted.len();
        self.open.push_back(Some(Open { source: message.source, wanted, remaining, sum: 0, last: None }));
        self.records.push(Record {
            generated: message.at,
            completed: None,
            length: message.length,
            destinations: remaining as u32,
            mean: 0.0,
            parts: LatencyParts::default(),
        });
        if self.window_open {
            self.window.generated += 1;
            self.flits.injected += u64::from(message.length);
            self.flits.offered += u64::from(message.length) * remaining as u64;
        }
    }

    #[inline]
    fn granted(&mut self, at: Cycle, _worm: u64, channel: ChannelId) {
        self.links.granted(at, channel);
    }

    #[inline]
    fn released(&mut self, at: Cycle, _worm: u64, channel: ChannelId, flits: u32) {
        self.links.released(at, channel, flits);
    }

    fn buffered(&mut self, _at: Cycle, switch: RouterId, flits: u64) {
        if self.window_open {
            self.buffers.add(switch, flits);
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        if let Some(place) = self.relays.iter().position(|&relay| relay == (delivery.message, delivery.node)) {
            self.relays.swap_remove(place);
            self.forwarded += 1;
            return;
        }
        self.deliveries += 1;
        let record = &mut self.records[delivery.message as usize];
        let open = delivery.message.checked_sub(self.first_open).and_then(|i| self.open[i as usize].as_mut());
        let unseen = open.and_then(|open| {
            let place = open.wanted.binary_search_by_key(&delivery.node, |wanted| wanted.0).ok()?;
            (!std::mem::replace(&mut open.wanted[place].1, true)).then_some(open)
        });
        let Some(open) = unseen else {
            self.duplicates += 1;
            return;
        };
        debug_assert_ne!(open.source, delivery.node);
        open.remaining -= 1;
        open.sum += delivery.delivered - record.generated;
        // Of several in the last cycle, the worm with the smallest id counts: the same on every engine.
        let order = |d: &Delivery| (d.delivered, std::cmp::Reverse((d.worm, d.node)));
        if open.last.as_ref().is_none_or(|last| order(last) < order(delivery)) {
            open.last = Some(*delivery);
        }
        if self.window_open {
            self.flits.delivered += u64::from(record.length);
        }
        if open.remaining > 0 {
            return;
        }
        if let Some(last) = open.last {
            (record.completed, record.parts) = (Some(last.delivered), last.parts);
        }
        record.mean = open.sum as f64 / f64::from(record.destinations);
        if self.window_open {
            self.window.completed += 1;
            self.flits.accepted += u64::from(record.length);
        }
        self.delivered += 1;
        if let Some(open) = self.open[(delivery.message - self.first_open) as usize].take() {
            self.spare.push(open.wanted);
        }
        while self.open.front().is_some_and(Option::is_none) {
            self.open.pop_front();
            self.first_open += 1;
        }
        self.complete += u64::from(self.counts(delivery.message));
    }

    fn done(&self) -> bool {
        match self.goal {
            Goal::Steady { count, .. } => self.complete >= count,
            Goal::Finite { count } => count.is_some_and(|count| self.complete >= count),
        }
    }
}
