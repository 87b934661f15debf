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

/// A message's figures, complete or not. A cache line: a run keeps one for each of its messages.
struct Record {
    generated: Cycle,
    /// When its last destination had it, or `PENDING`.
    completed: Cycle,
    length: u32,
    destinations: u32,
    mean: f64,
    parts: LatencyParts,
}

/// A message that some destination has not got.
const PENDING: Cycle = Cycle::MAX;

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
    /// The sum of the latencies of those among the counted ones that are complete.
    total_latency: u64,
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
            total_latency: 0,
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
        self.total_latency as f64 / self.complete.max(1) as f64
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
    fn measured(&self) -> impl Iterator<Item = &Record> + Clone {
        let counted = match self.goal {
            Goal::Finite { .. } => &self.records[..],
            Goal::Steady { first, count, .. } => {
                let generated = self.records.len();
                let first = first.map_or(generated, |first| generated.min(first as usize));
                &self.records[first..generated.min(first.saturating_add(count as usize))]
            }
        };
        let complete = counted.iter().filter(|record| record.completed != PENDING);
        let warmup = match self.goal {
            Goal::Steady { discard, .. } if discard > 0 => {
                let latencies: Vec<f64> = complete.clone().map(|record| record.latency() as f64).collect();
                mser_5(&latencies, discard as usize)
            }
            _ => 0,
        };
        complete.skip(warmup)
    }

    /// Latencies of the measured messages and the generation time of the first.
    pub(crate) fn latency(&self, cycle_ns: f64) -> (Latency, u64, Cycle) {
        let measured = self.measured();
        // In one pass: of millions of messages, the records are more than any cache holds.
        let room = self.complete as usize;
        let (mut last, mut mean) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let mut total = LatencyParts::default();
        let mut unicasts = 0;
        for record in measured.clone() {
            last.push(record.latency() as f64);
            mean.push(record.mean);
            total.queueing += record.parts.queueing;
            total.startup += record.parts.startup;
            total.network += record.parts.network;
            total.blocking += record.parts.blocking;
            unicasts += usize::from(record.destinations == 1);
        }
        let count = last.len();
        let share = |part: u64| part as f64 / count.max(1) as f64;
        let kind = |several: bool| -> Option<Box<KindLatency>> {
            if unicasts == 0 || unicasts == count {
                return None;
            }
            let some = measured.clone().filter(|record| (record.destinations > 1) == several);
            Some(Box::new(KindLatency {
                measured: some.clone().count() as u64,
                last: distribution(some.clone().map(|record| record.latency() as f64).collect(), cycle_ns),
                mean: distribution(some.map(|record| record.mean).collect(), cycle_ns),
            }))
        };
        let last = distribution(last, cycle_ns);
        let latency = Latency {
            unicast: kind(false),
            multicast: kind(true),
            // To one destination they are the same.
            mean: if unicasts == count { last.clone() } else { distribution(mean, cycle_ns) },
            last,
            parts: Parts {
                queueing: share(total.queueing),
                startup: share(total.startup),
                network: share(total.network),
                blocking: share(total.blocking),
            },
        };
        (latency, count as u64, measured.map(|record| record.generated).next().unwrap_or(0))
    }

    pub(crate) fn messages(&self, measured: u64) -> Messages {
        let generated = self.generated();
        Messages { generated, delivered: self.delivered, in_flight: generated - self.delivered, measured }
    }
}

impl Record {
    fn latency(&self) -> u64 {
        self.completed - self.generated
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
            completed: PENDING,
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
            (record.completed, record.parts) = (last.delivered, last.parts);
        }
        record.mean = open.sum as f64 / f64::from(record.destinations);
        let latency = record.latency();
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
        if self.counts(delivery.message) {
            self.complete += 1;
            self.total_latency += latency;
        }
    }

    fn done(&self) -> bool {
        match self.goal {
            Goal::Steady { count, .. } => self.complete >= count,
            Goal::Finite { count } => count.is_some_and(|count| self.complete >= count),
        }
    }
}
