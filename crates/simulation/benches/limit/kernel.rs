//! What the worm engine's work takes at least: the same model for one case only, written by hand.
//!
//! Uniform unicasts of one length over e-cube on a square mesh, one injection and one consumption channel a node, no startup, no
//! routing delay: Poisson arrivals in their order, queues of requests by (cycle, worm), releases by the closed form of
//! docs/worm-engine.md, a counter of flits a channel, a record a message. The same messages as a run of the library with this seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use wormcast_network::split_mix::mix;

pub(crate) const NONE: u32 = u32::MAX;
/// Cycles ahead in which a channel may be woken: more than the flits of a message.
pub(crate) const AHEAD: usize = 1 << 12;

/// What is simulated.
pub(crate) struct Case {
    pub(crate) side: u32,
    pub(crate) flits: u32,
    pub(crate) buffer: u32,
    /// Messages a node a microsecond, and a cycle in nanoseconds.
    pub(crate) rate: f64,
    pub(crate) cycle_ns: f64,
    pub(crate) messages: u64,
    pub(crate) seed: u64,
}

/// When each cycle was over, if that is asked for.
#[derive(Default)]
pub(crate) struct Clock(pub(crate) Option<Vec<Instant>>);

impl Clock {
    pub(crate) fn tick(&mut self) {
        if let Some(times) = &mut self.0 {
            times.push(Instant::now());
        }
    }

    /// Nanoseconds of each cycle but the first.
    pub(crate) fn nanoseconds(self) -> impl Iterator<Item = u64> {
        let times = self.0.unwrap_or_default();
        (1..times.len()).map(move |place| (times[place] - times[place - 1]).as_nanos() as u64)
    }
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) mean_latency: f64,
    /// Flits over links.
    pub(crate) flit_hops: u64,
    /// Of all messages, whatever their order: where they went to, from when to when.
    pub(crate) digest: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Channel {
    /// From when on it can be granted; `u64::MAX` while nobody knows.
    pub(crate) free: u64,
    /// The worms that wait for it.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) flits: u64,
}

impl Channel {
    pub(crate) const IDLE: Self = Self { free: 0, first: NONE, last: NONE, flits: 0 };
}

/// A worm's way so far: channel number m was granted in `times[m]` of its ring.
#[derive(Clone, Copy)]
pub(crate) struct Worm {
    pub(crate) id: u64,
    pub(crate) generated: u64,
    pub(crate) at: u32,
    pub(crate) target: u32,
    /// Channels granted.
    pub(crate) granted: u32,
    /// The first vertex whose departure is not known.
    pub(crate) settled: u32,
    /// The vertex behind which the header waited so long that it holds back the flits behind it most; 0: none.
    pub(crate) peak: u32,
    pub(crate) behind: u32,
}

impl Worm {
    pub(crate) fn new(id: u64, generated: u64, node: u32, target: u32) -> Self {
        Self { id, generated, at: node, target, granted: 0, settled: 1, peak: 0, behind: NONE }
    }
}

/// What is kept of a message.
#[allow(dead_code, reason = "writing it is what counts")]
pub(crate) struct Record {
    pub(crate) message: u64,
    pub(crate) target: u32,
    pub(crate) latency: u32,
    pub(crate) generated: u64,
    pub(crate) delivered: u64,
}

impl Record {
    pub(crate) fn new(worm: &Worm, delivered: u64) -> Self {
        let &Worm { id: message, target, generated, .. } = worm;
        Self { message, target, latency: (delivered - generated) as u32, generated, delivered }
    }
}

pub(crate) struct Node {
    pub(crate) rng: Xoshiro256PlusPlus,
    pub(crate) clock: f64,
    pub(crate) messages: u64,
}

pub(crate) fn generator(seed: u64, purpose: u64, index: u64, sequence: u64) -> Xoshiro256PlusPlus {
    let number = [purpose, index, sequence].into_iter().fold(seed, |state, value| mix(state ^ mix(value)));
    Xoshiro256PlusPlus::seed_from_u64(number)
}

/// A node before its first message.
pub(crate) fn source(case: &Case, node: u32) -> Node {
    Node { rng: generator(case.seed, 1, u64::from(node), 0), clock: 0.0, messages: 0 }
}

/// The cycle of a node's next message.
pub(crate) fn arrive(case: &Case, node: &mut Node) -> u64 {
    let gap: f64 = Exp1.sample(&mut node.rng);
    node.clock += gap / (case.rate * case.cycle_ns / 1000.0);
    node.clock as u64
}

/// What came of a run with these records.
pub(crate) fn outcome<'a>(records: impl Iterator<Item = &'a Record>, flit_hops: u64) -> Outcome {
    let (mut total, mut count, mut digest) = (0, 0, 0u64);
    for record in records {
        total += u64::from(record.latency);
        count += 1;
        digest = digest.wrapping_add(mix(record.generated ^ mix(record.delivered ^ mix(u64::from(record.target)))));
    }
    Outcome { mean_latency: total as f64 / f64::from(count), flit_hops, digest }
}

struct Kernel {
    side: u32,
    flits: u32,
    buffer: u32,
    /// Vertices that the last flit of a worm is behind the first at most.
    reach: u32,
    ring: u32,
    now: u64,
    /// Four links a router, towards -x, +x, -y and +y; then an injection and a consumption channel a node.
    channels: Vec<Channel>,
    worms: Vec<Worm>,
    free: Vec<u32>,
    /// (cycle, channel) of the grants of a worm, `ring` of them a worm.
    grants: Vec<(u64, u32)>,
    wakes: Vec<Vec<u32>>,
    /// Headers that request in the next cycle.
    next: Vec<(u64, u32)>,
    records: Vec<Record>,
}

impl Kernel {
    fn wanted(&self, worm: &Worm) -> u32 {
        let (x, y) = (worm.at % self.side, worm.at / self.side);
        let (to_x, to_y) = (worm.target % self.side, worm.target / self.side);
        if worm.granted == 0 {
            4 * self.side * self.side + worm.at
        } else if x != to_x {
            4 * worm.at + u32::from(to_x > x)
        } else if y != to_y {
            4 * worm.at + 2 + u32::from(to_y > y)
        } else {
            5 * self.side * self.side + worm.at
        }
    }

    fn request(&mut self, slot: u32) {
        let wanted = self.wanted(&self.worms[slot as usize]);
        let channel = &mut self.channels[wanted as usize];
        if channel.free <= self.now && channel.first == NONE {
            channel.free = u64::MAX;
            return self.grant(slot, wanted);
        }
        if channel.first == NONE {
            channel.first = slot;
            if channel.free != u64::MAX {
                self.wakes[channel.free as usize % AHEAD].push(wanted);
            }
        } else {
            self.worms[channel.last as usize].behind = slot;
        }
        channel.last = slot;
        self.worms[slot as usize].behind = NONE;
    }

    fn wake(&mut self, wanted: u32) {
        let channel = &mut self.channels[wanted as usize];
        let slot = channel.first;
        channel.first = self.worms[slot as usize].behind;
        channel.free = u64::MAX;
        self.grant(slot, wanted);
    }

    fn release(&mut self, index: u32, departs: u64) {
        let channel = &mut self.channels[index as usize];
        channel.free = departs + 1;
        channel.flits += u64::from(self.flits);
        if channel.first != NONE {
            self.wakes[(departs + 1) as usize % AHEAD].push(index);
        }
    }

    fn grant(&mut self, slot: u32, channel: u32) {
        let (now, ring, buffer, last) = (self.now, self.ring - 1, u64::from(self.buffer), u64::from(self.flits - 1));
        let base = slot * self.ring;
        let place = |m: u32| (base + (m & ring)) as usize;
        let worm = &mut self.worms[slot as usize];
        let m = worm.granted;
        worm.granted += 1;
        self.grants[place(m)] = (now, channel);
        if channel >= 5 * self.side * self.side {
            let mut departs = now + last;
            let worm = *worm;
            self.records.push(Record::new(&worm, departs + 1));
            self.release(channel, departs);
            for v in (worm.settled..=m).rev() {
                departs = departs.max(self.grants[place(v)].0 + last);
                self.release(self.grants[place(v - 1)].1, departs);
                departs -= buffer.min(departs);
            }
            return self.free.push(slot);
        }
        worm.at = match channel % 4 {
            _ if m == 0 => worm.at,
            0 => worm.at - 1,
            1 => worm.at + 1,
            2 => worm.at - self.side,
            _ => worm.at + self.side,
        };
        self.next.push((worm.id, slot));
        // A header that did not wait holds nothing back: only those that did count, besides the vertex itself.
        let weight = |grants: &[(u64, u32)], m: u32| grants[place(m)].0 as i64 - (u64::from(m) * buffer) as i64;
        let waited = |grants: &[(u64, u32)], m: u32| grants[place(m)].0 > grants[place(m - 1)].0 + 1;
        // A peak that is behind makes room at the next departure, when all are looked at.
        let heavier = worm.peak > worm.settled && weight(&self.grants, m) >= weight(&self.grants, worm.peak);
        if m > 0 && (worm.peak == 0 || heavier) && waited(&self.grants, m) {
            worm.peak = m;
        }
        if m >= self.reach + worm.settled {
            let v = worm.settled;
            if worm.peak > 0 && worm.peak <= v {
                let waits = (v + 1..=m).filter(|&m| waited(&self.grants, m));
                worm.peak = waits.max_by_key(|&m| weight(&self.grants, m)).unwrap_or(0);
            }
            worm.settled += 1;
            let held = if worm.peak > v { weight(&self.grants, worm.peak) } else { i64::MIN };
            let departs = held.max(weight(&self.grants, v)) + last as i64 + (u64::from(v) * buffer) as i64;
            self.release(self.grants[place(v - 1)].1, departs as u64);
        }
    }
}

/// Simulates until all messages have arrived, and tells `clock` of the cycles.
pub(crate) fn simulate(case: &Case, clock: &mut Clock) -> Outcome {
    let nodes = case.side * case.side;
    let reach = (case.flits - 1) / case.buffer;
    let mut kernel = Kernel {
        side: case.side,
        flits: case.flits,
        buffer: case.buffer,
        reach,
        ring: (reach + 2).next_power_of_two(),
        now: 0,
        channels: vec![Channel::IDLE; 6 * nodes as usize],
        worms: Vec::new(),
        free: Vec::new(),
        grants: Vec::new(),
        wakes: vec![Vec::new(); AHEAD],
        next: Vec::new(),
        records: Vec::new(),
    };
    let mut sources: Vec<Node> = (0..nodes).map(|node| source(case, node)).collect();
    let mut arrivals: BinaryHeap<Reverse<(u64, u32)>> =
        sources.iter_mut().zip(0..).map(|(source, node)| Reverse((arrive(case, source), node))).collect();
    let (mut generated, mut requests, mut due) = (0, Vec::new(), Vec::new());
    while kernel.records.len() < case.messages as usize {
        std::mem::swap(&mut due, &mut kernel.wakes[kernel.now as usize % AHEAD]);
        for channel in due.drain(..) {
            kernel.wake(channel);
        }
        for (_, slot) in requests.drain(..) {
            kernel.request(slot);
        }
        while let Some(mut first) = arrivals.peek_mut()
            && generated < case.messages
            && first.0.0 == kernel.now
        {
            let (generated_at, node) = first.0;
            let source = &mut sources[node as usize];
            first.0.0 = arrive(case, source);
            drop(first);
            let mut rng = generator(case.seed, 2, u64::from(node), source.messages);
            source.messages += 1;
            let _: u32 = rng.random_range(case.flits..=case.flits);
            let target = std::iter::repeat_with(|| rng.random_range(0..nodes)).find(|&other| other != node);
            let worm = Worm::new(generated, generated_at, node, target.unwrap_or(node));
            generated += 1;
            let slot = kernel.free.pop().unwrap_or_else(|| {
                kernel.worms.push(worm);
                kernel.grants.resize(kernel.worms.len() * kernel.ring as usize, (0, NONE));
                kernel.worms.len() as u32 - 1
            });
            kernel.worms[slot as usize] = worm;
            kernel.request(slot);
        }
        kernel.now += 1;
        clock.tick();
        std::mem::swap(&mut requests, &mut kernel.next);
        if !requests.is_sorted() {
            requests.sort_unstable();
        }
    }
    let links = &kernel.channels[..4 * nodes as usize];
    outcome(kernel.records.iter(), links.iter().map(|channel| channel.flits).sum())
}
