//! Turns what an engine reports into the figures of a run.

use std::collections::VecDeque;

use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::observers::buffer_use::BufferCounter;
use crate::observers::observer::{Cycle, Delivery, Generated, LatencyParts, Observer};
use crate::run::batches::{Batches, depends_on_window};
use crate::run::link_use::{Crossing, LinkCounter};
use crate::run::result::{KindLatency, Latency, Messages, Parts, Window};
use crate::run::sample::Sample;

/// A message on its way, or one that is complete behind others that are not.
///
/// 24 bytes: most of what runs keep of millions of messages.
struct Open {
    generated: Cycle,
    length: u32,
    /// Destinations without the message.
    remaining: u32,
    to: To,
}

/// Where a message goes.
#[derive(Clone, Copy)]
enum To {
    One(NodeId),
    /// To several destinations, which are in this place of a list.
    Several(u32),
}

/// The deliveries of a message to several destinations.
#[derive(Default)]
struct Several {
    /// Destinations in increasing order, with whether they have the message.
    wanted: Vec<(NodeId, bool)>,
    /// Sum over deliveries of their latencies.
    sum: u64,
    last: Option<Delivery>,
}

/// Which messages count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The messages from `first` (an id) on, `count` of them; then the run is over.
    Steady { first: Option<u64>, count: u64 },
    /// All that are delivered until as many messages are.
    Finite { count: Option<u64> },
    /// So many messages, or those of the cycles before `until`, all of which are delivered.
    Drained { count: u64, until: Cycle },
}

/// The messages of a run that are measured: figures whose memory does not grow with their number.
#[derive(Default)]
struct Measured {
    /// To the last destination, of messages to one destination and of the others.
    last: [Sample; 2],
    /// The mean over destinations, of messages to several of them: to one, it is the same.
    mean: Sample,
    parts: LatencyParts,
}

/// The number of messages that stands for all that a source has.
pub(crate) const ALL: u64 = u64::MAX / 4;

/// Watches every message and every link.
pub(crate) struct Recorder {
    goal: Goal,
    open: VecDeque<Open>,
    /// The id of the first message in `open`.
    first_open: u64,
    generated: u64,
    measured: Measured,
    /// The measured window in batches, where it is long enough.
    batches: Option<Batches>,
    /// Those of the messages to several destinations, and the places of those that are complete, for reuse.
    several: Vec<Several>,
    spare: Vec<u32>,
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
    /// Whether it ever was.
    pub(crate) measures: bool,
    /// Data flits generated, asked for, completed and delivered within the window.
    pub(crate) flits: WindowFlits,
    /// Where messages come in batches: the last one.
    batch: Option<Batch>,
}

/// Messages of one cycle.
#[derive(Clone, Copy, Default)]
struct Batch {
    at: Cycle,
    generated: u64,
    offered: u64,
    injected_flits: u64,
    offered_flits: u64,
}

/// Data flits within the measured window.
#[derive(Clone, Copy, Default)]
pub(crate) struct WindowFlits {
    pub(crate) injected: u64,
    pub(crate) offered: u64,
    pub(crate) accepted: u64,
    pub(crate) delivered: u64,
}

impl Several {
    /// Takes a delivery of a message that was generated in this cycle into account, if the destination did not have it.
    fn takes(&mut self, delivery: &Delivery, generated: Cycle) -> bool {
        let Ok(place) = self.wanted.binary_search_by_key(&delivery.node, |wanted| wanted.0) else { return false };
        if std::mem::replace(&mut self.wanted[place].1, true) {
            return false;
        }
        self.sum += delivery.delivered - generated;
        // Of several in the last cycle, the worm with the smallest id counts: the same on every engine.
        let order = |d: &Delivery| (d.delivered, std::cmp::Reverse((d.worm, d.node)));
        if self.last.is_none_or(|last| order(&last) <= order(delivery)) {
            self.last = Some(*delivery);
        }
        true
    }
}

impl Recorder {
    pub(crate) fn new(goal: Goal, links: usize) -> Self {
        Self {
            goal,
            open: VecDeque::new(),
            first_open: 0,
            generated: 0,
            measured: Measured::default(),
            batches: match goal {
                Goal::Steady { count, .. } if count < ALL => Batches::new(count),
                _ => None,
            },
            several: Vec::new(),
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
            measures: false,
            flits: WindowFlits::default(),
            batch: None,
        }
    }

    /// Counts whole batches of messages of the same cycle: a part of one would count with the time until the next, or without.
    pub(crate) fn count_batches(&mut self) {
        self.batch = Some(Batch::default());
    }

    /// Leaves out the last batch of a window that ends before the next one comes: what is offered in it is for a time that is not over.
    pub(crate) fn leave_out_last_batch(&mut self) {
        let Some(batch) = self.batch.filter(|_| self.window_open) else { return };
        self.window.generated -= batch.generated.min(self.window.generated);
        self.window.offered -= batch.offered.min(self.window.offered);
        self.flits.injected -= batch.injected_flits.min(self.flits.injected);
        self.flits.offered -= batch.offered_flits.min(self.flits.offered);
    }

    pub(crate) fn open_window(&mut self, now: Cycle, crossing: &Crossing) {
        if let Some(batch) = self.batch.filter(|batch| batch.at == now) {
            self.window.generated += batch.generated;
            self.window.offered += batch.offered;
            self.flits.injected += batch.injected_flits;
            self.flits.offered += batch.offered_flits;
        }
        self.window.from = now;
        self.window_open = true;
        self.measures = true;
        self.links.open(now, crossing);
    }

    pub(crate) fn close_window(&mut self, now: Cycle, crossing: &Crossing) {
        if std::mem::take(&mut self.window_open) {
            self.window.to = now;
            self.links.close(now, crossing);
            if let Some(batches) = &mut self.batches {
                batches.close();
            }
        }
    }

    /// Reserves memory for another message; `false` if there is not enough.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        let some = self.open.len() / 16 + 1;
        self.open.len() < self.open.capacity()
            || self.open.try_reserve(1).is_ok()
            || self.open.try_reserve_exact(some).is_ok()
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
            Goal::Finite { .. } | Goal::Drained { .. } => Some(0),
        }
    }

    /// The mean latency of the messages that count and are complete, warm-up included; 0 without any.
    pub(crate) fn mean_latency(&self) -> f64 {
        self.total_latency as f64 / self.complete.max(1) as f64
    }

    /// Whether messages that are generated now are measured.
    pub(crate) fn window_is_open(&self) -> bool {
        self.window_open
    }

    /// Whether deliveries fell behind by more than this share of what the window's messages asked for, beyond what chance explains;
    /// `None` if the window is too short to tell. Until the cycle `settled` nothing can have arrived.
    pub(crate) fn behind(&self, share: f64, settled: Cycle) -> Option<bool> {
        self.batches.as_ref()?.behind(share, settled)
    }

    /// A message is at all of its destinations, after this delivery.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn complete(&mut self, last: &Delivery) {
        let Open { generated, length, to, .. } = self.open[(last.message - self.first_open) as usize];
        if self.window_open {
            self.window.completed += 1;
            self.flits.accepted += u64::from(length);
        }
        self.delivered += 1;
        if let To::Several(place) = to {
            self.spare.push(place);
        }
        while self.open.front().is_some_and(|open| open.remaining == 0) {
            self.open.pop_front();
            self.first_open += 1;
        }
        let Some(place) = self.place(last.message) else { return };
        let latency = last.delivered - generated;
        self.complete += 1;
        self.total_latency += latency;
        let measured = &mut self.measured;
        match to {
            To::One(_) => measured.last[0].add(latency, 1),
            To::Several(place) => {
                let Several { wanted, sum, .. } = &self.several[place as usize];
                measured.last[1].add(latency, 1);
                measured.mean.add(*sum, wanted.len() as u32);
            }
        }
        measured.parts += last.parts;
        if let Some(batches) = &mut self.batches {
            batches.completed(place, latency);
        }
    }

    /// A place for the deliveries of a message to several destinations, or to none.
    fn destined_for(&mut self, destinations: &[NodeId]) -> To {
        let place = self.spare.pop().unwrap_or_else(|| {
            self.several.push(Several::default());
            self.several.len() as u32 - 1
        });
        let several = &mut self.several[place as usize];
        several.wanted.clear();
        several.wanted.extend(destinations.iter().map(|&node| (node, false)));
        several.wanted.sort_unstable();
        (several.sum, several.last) = (0, None);
        To::Several(place)
    }

    /// A node will get a message only to forward it.
    pub(crate) fn relays(&mut self, message: u64, node: NodeId) {
        if !self.relays.contains(&(message, node)) {
            self.relays.push((message, node));
        }
    }

    /// Messages that were generated.
    pub(crate) fn generated(&self) -> u64 {
        self.generated
    }

    /// The place of a message among those that count.
    fn place(&self, message: u64) -> Option<u64> {
        match self.goal {
            Goal::Finite { .. } | Goal::Drained { .. } => Some(message),
            Goal::Steady { first, count, .. } => message.checked_sub(first?).filter(|&place| place < count),
        }
    }

    /// Latencies of the measured messages, those that count and are complete, and how many there are.
    pub(crate) fn latency(&mut self, cycle_ns: f64) -> (Latency, u64) {
        let Measured { last: [unicast, multicast], mean, parts } = std::mem::take(&mut self.measured);
        let count = unicast.count() + multicast.count();
        let share = |part: u64| part as f64 / count.max(1) as f64;
        let parts = Parts {
            queueing: share(parts.queueing),
            startup: share(parts.startup),
            network: share(parts.network),
            blocking: share(parts.blocking),
        };
        let kind = |last: &Sample, mean: &Sample| -> Option<Box<KindLatency>> {
            (unicast.count() > 0 && multicast.count() > 0).then(|| {
                let (mut last, mut mean) = (last.clone(), mean.clone());
                Box::new(KindLatency {
                    measured: last.count(),
                    last: last.distribution(cycle_ns),
                    mean: mean.distribution(cycle_ns),
                })
            })
        };
        let (of_unicasts, of_multicasts) = (kind(&unicast, &unicast), kind(&multicast, &mean));
        let only_unicasts = multicast.count() == 0;
        let mut last = multicast.with(&unicast);
        let to_last = last.distribution(cycle_ns);
        let latency = Latency {
            unicast: of_unicasts,
            multicast: of_multicasts,
            // To one destination, they are the same.
            mean: if only_unicasts { to_last.clone() } else { mean.with(&unicast).distribution(cycle_ns) },
            last: to_last,
            quantiles: last.quantiles(),
            parts,
            batches: self.batches.as_ref().map(Batches::means).unwrap_or_default(),
        };
        (latency, count)
    }

    /// Whether the mean depends on the window, as far as one run can tell; `None` if it cannot.
    pub(crate) fn trend(latency: &Latency) -> Option<bool> {
        (!latency.batches.is_empty()).then(|| depends_on_window(&latency.batches))
    }

    pub(crate) fn messages(&self, measured: u64) -> Messages {
        let generated = self.generated();
        Messages { generated, delivered: self.delivered, in_flight: generated - self.delivered, measured }
    }
}

impl Observer for Recorder {
    const OCCUPANCY: bool = true;
    const RELEASES: bool = false;

    fn generated(&mut self, message: &Generated<'_>) {
        let to = match *message.destinations {
            [node] => To::One(node),
            ref several => self.destined_for(several),
        };
        let remaining = message.destinations.len() as u32;
        self.generated += 1;
        self.open.push_back(Open { generated: message.at, length: message.length, remaining, to });
        if self.window_open {
            self.window.generated += 1;
            self.window.offered += u64::from(remaining);
            if let (Some(place), Some(batches)) = (self.place(message.message), &mut self.batches) {
                batches.generated(place, message.at, u64::from(remaining));
            }
            self.flits.injected += u64::from(message.length);
            self.flits.offered += u64::from(message.length) * u64::from(remaining);
        }
        if let Some(batch) = &mut self.batch {
            if batch.at != message.at {
                *batch = Batch { at: message.at, ..Batch::default() };
            }
            batch.generated += 1;
            batch.offered += u64::from(remaining);
            batch.injected_flits += u64::from(message.length);
            batch.offered_flits += u64::from(message.length) * u64::from(remaining);
        }
    }

    #[inline]
    fn granted(&mut self, at: Cycle, _worm: u64, channel: ChannelId) {
        self.links.granted(at, channel);
    }

    #[inline]
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        self.links.settled(at, channel, flits);
    }

    fn buffered(&mut self, _at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        if self.window_open {
            self.buffers.add(switch, flits, samples);
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        if !self.relays.is_empty()
            && let Some(place) = self.relays.iter().position(|&relay| relay == (delivery.message, delivery.node))
        {
            self.relays.swap_remove(place);
            self.forwarded += 1;
            return;
        }
        self.deliveries += 1;
        let open = delivery.message.checked_sub(self.first_open).map(|place| &mut self.open[place as usize]);
        let Some(open) = open.filter(|open| match open.to {
            To::One(node) => node == delivery.node && open.remaining == 1,
            To::Several(place) => open.remaining > 0 && self.several[place as usize].takes(delivery, open.generated),
        }) else {
            self.duplicates += 1;
            return;
        };
        open.remaining -= 1;
        let (length, complete, to) = (open.length, open.remaining == 0, open.to);
        if self.window_open {
            self.window.delivered += 1;
            self.flits.delivered += u64::from(length);
            if let Some(batches) = &mut self.batches {
                batches.delivered();
            }
        }
        if complete {
            let last = match to {
                To::One(_) => None,
                To::Several(place) => self.several[place as usize].last,
            };
            self.complete(last.as_ref().unwrap_or(delivery));
        }
    }

    #[inline]
    fn done(&self) -> bool {
        match self.goal {
            // A window of batches ends with the next one.
            Goal::Steady { count, .. } => self.complete >= count && !(self.batch.is_some() && self.window_open),
            Goal::Finite { count } => count.is_some_and(|count| self.complete >= count),
            // Nobody knows that no more come but who generates them.
            Goal::Drained { .. } => false,
        }
    }
}
