//! [`kernel`](super::kernel) on several cores: the network in strips of rows, each with its channels, its nodes and the worms whose headers are there.
//!
//! What a cycle does elsewhere acts in the next one at the earliest: a header that crosses a border asks for a channel behind it then, and a channel
//! that a worm gives back can be granted then. So the strips simulate a cycle side by side, and pass on what concerns others between two cycles. Within a
//! cycle only requests for the same channel have an order, and a channel belongs to one strip: it is that of worms, (cycle of generation, node), which
//! a strip knows without the others. Nothing depends on the order in which strips get on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;

use super::kernel::{
    AHEAD, Case, Channel, Clock, NONE, Node, Outcome, Record, Worm, arrive, generator, outcome, source,
};

/// Set in the numbers of injection and consumption channels, two a node; links are numbered as in [`super::kernel`]. So what a strip owns of either is a range.
const PORT: u32 = 1 << 31;
/// Looks at the others before a thread lets somebody else have its core.
const SPINS: u32 = 3_000;
/// How often it does so before it sleeps.
const YIELDS: u32 = 3;

/// What a strip tells another between two cycles.
#[derive(Default)]
struct Mail {
    /// Channels that worms give back, with the last cycle that they need them.
    releases: Vec<(u32, u64)>,
    /// Worms whose header enters, and of each the grants that count, the first of them being that of the vertex before `settled`.
    worms: Vec<Worm>,
    grants: Vec<(u64, u32)>,
}

impl Mail {
    fn take(&mut self, other: &mut Self) {
        self.releases.append(&mut other.releases);
        self.worms.append(&mut other.worms);
        self.grants.append(&mut other.grants);
    }

    fn is_empty(&self) -> bool {
        self.releases.is_empty() && self.worms.is_empty()
    }
}

/// What all strips see of one. Of a pair, cycles take turns: nobody is ahead by more than one.
#[derive(Default)]
#[repr(align(128))]
struct Board {
    /// Cycles that the strip is ready for.
    ready: AtomicU64,
    /// Messages that its nodes generate in the cycle, and those that have arrived there before it.
    coming: [AtomicU64; 2],
    arrived: [AtomicU64; 2],
    inbox: [Mutex<Mail>; 2],
}

/// How strips deal with what they get from others.
#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code, reason = "wrong ways are there to be found out")]
pub(crate) enum Post {
    /// In the next cycle, headers in the order of worms.
    Exact,
    /// A cycle late.
    Late,
    /// Headers after the strip's own, whatever their worms.
    Unsorted,
}

/// What a run has taken, cycle by cycle.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Grants of each strip, a cycle after the other.
    pub(crate) grants: Vec<Vec<u16>>,
    /// Headers and releases that crossed a border.
    pub(crate) headers: u64,
    pub(crate) releases: u64,
    /// Nanoseconds of each strip's cycles, one strip after the other in a cycle, where they have no threads.
    pub(crate) nanoseconds: Vec<u64>,
}

struct Part<'a> {
    case: &'a Case,
    boards: &'a [Board],
    /// The strip of each row.
    strip_of_row: &'a [u32],
    number: u32,
    /// The first router, and how many there are.
    first: u32,
    nodes: u32,
    reach: u32,
    ring: u32,
    now: u64,
    links: Vec<Channel>,
    ports: Vec<Channel>,
    worms: Vec<Worm>,
    free: Vec<u32>,
    grants: Vec<(u64, u32)>,
    wakes: Vec<Vec<u32>>,
    next: Vec<(u64, u32)>,
    requests: Vec<(u64, u32)>,
    due: Vec<u32>,
    records: Vec<Record>,
    sources: Vec<Node>,
    arrivals: BinaryHeap<Reverse<(u64, u32)>>,
    /// The nodes that generate a message in the coming cycle.
    coming: Vec<u32>,
    /// Messages of all strips so far.
    generated: u64,
    out: Vec<Mail>,
    post: Post,
    /// What is held back for a cycle.
    held: Vec<Mail>,
    received: Mail,
    granted: u16,
    work: Vec<u16>,
    headers: u64,
    releases: u64,
}

impl<'a> Part<'a> {
    fn new(case: &'a Case, boards: &'a [Board], strip_of_row: &'a [u32], (number, post): (u32, Post)) -> Self {
        let own = |&part: &u32| part == number;
        let rows = strip_of_row.iter().filter(|part| own(part)).count() as u32;
        let first = strip_of_row.iter().position(own).unwrap_or(0) as u32 * case.side;
        let nodes = rows * case.side;
        let mut sources: Vec<Node> = (first..first + nodes).map(|node| source(case, node)).collect();
        let arrivals = sources.iter_mut().zip(first..).map(|(source, node)| Reverse((arrive(case, source), node)));
        let reach = (case.flits - 1) / case.buffer;
        let mut part = Self {
            case,
            boards,
            strip_of_row,
            number,
            first,
            nodes,
            reach,
            ring: (reach + 2).next_power_of_two(),
            now: 0,
            links: vec![Channel::IDLE; 4 * nodes as usize],
            ports: vec![Channel::IDLE; 2 * nodes as usize],
            worms: Vec::new(),
            free: Vec::new(),
            grants: Vec::new(),
            wakes: vec![Vec::new(); AHEAD],
            next: Vec::new(),
            requests: Vec::new(),
            due: Vec::new(),
            records: Vec::new(),
            arrivals: arrivals.collect(),
            sources,
            coming: Vec::new(),
            generated: 0,
            out: boards.iter().map(|_| Mail::default()).collect(),
            post,
            held: boards.iter().map(|_| Mail::default()).collect(),
            received: Mail::default(),
            granted: 0,
            work: Vec::new(),
            headers: 0,
            releases: 0,
        };
        part.publish(0);
        part
    }

    fn part_of(&self, router: u32) -> u32 {
        self.strip_of_row[(router / self.case.side) as usize]
    }

    fn wanted(&self, worm: &Worm) -> u32 {
        let side = self.case.side;
        let (x, y) = (worm.at % side, worm.at / side);
        let (to_x, to_y) = (worm.target % side, worm.target / side);
        if worm.granted == 0 {
            PORT | (2 * worm.at)
        } else if x != to_x {
            4 * worm.at + u32::from(to_x > x)
        } else if y != to_y {
            4 * worm.at + 2 + u32::from(to_y > y)
        } else {
            PORT | (2 * worm.at + 1)
        }
    }

    /// A channel, if it is the strip's.
    fn channel(&mut self, number: u32) -> Option<&mut Channel> {
        if number & PORT == 0 {
            self.links.get_mut(number.wrapping_sub(4 * self.first) as usize)
        } else {
            self.ports.get_mut((number & !PORT).wrapping_sub(2 * self.first) as usize)
        }
    }

    fn request(&mut self, slot: u32) {
        let wanted = self.wanted(&self.worms[slot as usize]);
        let now = self.now;
        let Some(channel) = self.channel(wanted) else { return };
        if channel.free <= now && channel.first == NONE {
            channel.free = u64::MAX;
            return self.grant(slot, wanted);
        }
        let (free, last) = (channel.free, std::mem::replace(&mut channel.last, slot));
        if channel.first == NONE {
            channel.first = slot;
            if free != u64::MAX {
                self.wakes[free as usize % AHEAD].push(wanted);
            }
        } else {
            self.worms[last as usize].behind = slot;
        }
        self.worms[slot as usize].behind = NONE;
    }

    fn wake(&mut self, wanted: u32) {
        let Some(slot) = self.channel(wanted).map(|channel| channel.first) else { return };
        let behind = self.worms[slot as usize].behind;
        if let Some(channel) = self.channel(wanted) {
            (channel.first, channel.free) = (behind, u64::MAX);
        }
        self.grant(slot, wanted);
    }

    fn release(&mut self, number: u32, departs: u64) {
        let flits = u64::from(self.case.flits);
        let Some(channel) = self.channel(number) else {
            // A worm's injection channel may be strips behind its header, too.
            let router = if number & PORT == 0 { number / 4 } else { (number & !PORT) / 2 };
            let part = self.part_of(router);
            self.releases += 1;
            return self.out[part as usize].releases.push((number, departs));
        };
        channel.free = departs + 1;
        channel.flits += flits;
        if channel.first != NONE {
            self.wakes[(departs + 1) as usize % AHEAD].push(number);
        }
    }

    fn grant(&mut self, slot: u32, channel: u32) {
        let (now, ring, buffer) = (self.now, self.ring - 1, u64::from(self.case.buffer));
        let last = u64::from(self.case.flits - 1);
        let base = slot * self.ring;
        let place = |m: u32| (base + (m & ring)) as usize;
        self.granted += 1;
        let worm = &mut self.worms[slot as usize];
        let m = worm.granted;
        worm.granted += 1;
        self.grants[place(m)] = (now, channel);
        if channel & PORT != 0 && m > 0 {
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
        let side = self.case.side;
        worm.at = match channel % 4 {
            _ if m == 0 => worm.at,
            0 => worm.at - 1,
            1 => worm.at + 1,
            2 => worm.at - side,
            _ => worm.at + side,
        };
        let (id, at) = (worm.id, worm.at);
        let weight = |grants: &[(u64, u32)], m: u32| grants[place(m)].0 as i64 - (u64::from(m) * buffer) as i64;
        let waited = |grants: &[(u64, u32)], m: u32| grants[place(m)].0 > grants[place(m - 1)].0 + 1;
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
        if at.wrapping_sub(self.first) < self.nodes {
            return self.next.push((id, slot));
        }
        // It goes on in another strip.
        let part = self.part_of(at);
        let worm = self.worms[slot as usize];
        let mail = &mut self.out[part as usize];
        mail.worms.push(worm);
        mail.grants.extend((worm.settled - 1..worm.granted).map(|m| self.grants[place(m)]));
        self.headers += 1;
        self.free.push(slot);
    }

    /// Takes a worm in.
    fn enter(&mut self, worm: Worm) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.worms.push(worm);
            self.grants.resize(self.worms.len() * self.ring as usize, (0, NONE));
            self.worms.len() as u32 - 1
        });
        self.worms[slot as usize] = worm;
        slot
    }

    /// Simulates a cycle that all strips are ready for; returns whether there is another.
    fn cycle(&mut self) -> bool {
        let (now, boards, turn) = (self.now, self.boards, self.now as usize % 2);
        let mut received = std::mem::take(&mut self.received);
        received.take(&mut boards[self.number as usize].inbox[turn].lock().unwrap());
        for (channel, departs) in received.releases.drain(..) {
            self.release(channel, departs);
        }
        let sum = |of: fn(&Board) -> &[AtomicU64; 2], boards: &[Board]| -> u64 {
            boards.iter().map(|board| of(board)[turn].load(Ordering::Relaxed)).sum()
        };
        if sum(|board| &board.arrived, boards) == self.case.messages {
            return false;
        }
        let mut requests = std::mem::take(&mut self.requests);
        std::mem::swap(&mut requests, &mut self.next);
        let mut due = std::mem::take(&mut self.due);
        std::mem::swap(&mut due, &mut self.wakes[now as usize % AHEAD]);
        due.drain(..).for_each(|channel| self.wake(channel));
        self.due = due;
        let mut grants = received.grants.drain(..);
        for worm in received.worms.drain(..) {
            let slot = self.enter(worm);
            let base = slot * self.ring;
            for (m, grant) in (worm.settled - 1..worm.granted).zip(&mut grants) {
                self.grants[(base + (m & (self.ring - 1))) as usize] = grant;
            }
            requests.push((worm.id, slot));
        }
        drop(grants);
        self.received = received;
        if self.post != Post::Unsorted && !requests.is_sorted() {
            requests.sort_unstable();
        }
        requests.drain(..).for_each(|(_, slot)| self.request(slot));
        self.requests = requests;
        // Nodes are in the order of strips: of the last cycle's messages the first ones count.
        let left = self.case.messages - self.generated;
        let before = sum(|board| &board.coming, &boards[..self.number as usize]);
        self.generated = self.case.messages.min(self.generated + sum(|board| &board.coming, boards));
        let mut coming = std::mem::take(&mut self.coming);
        for node in coming.drain(..).take(left.saturating_sub(before) as usize) {
            self.generate(node);
        }
        self.coming = coming;
        self.work.push(std::mem::take(&mut self.granted));
        self.now += 1;
        self.publish(self.now);
        true
    }

    fn generate(&mut self, node: u32) {
        let (case, nodes) = (self.case, self.case.side * self.case.side);
        let source = &mut self.sources[(node - self.first) as usize];
        let mut rng = generator(case.seed, 2, u64::from(node), source.messages);
        source.messages += 1;
        let _: u32 = rng.random_range(case.flits..=case.flits);
        let target = std::iter::repeat_with(|| rng.random_range(0..nodes)).find(|&other| other != node);
        let slot = self.enter(Worm::new(self.now << 24 | u64::from(node), self.now, node, target.unwrap_or(node)));
        self.request(slot);
    }

    /// Tells the others what cycle `now` begins with.
    fn publish(&mut self, now: u64) {
        while let Some(mut first) = self.arrivals.peek_mut()
            && first.0.0 == now
        {
            let node = first.0.1;
            first.0.0 = arrive(self.case, &mut self.sources[(node - self.first) as usize]);
            self.coming.push(node);
        }
        let (boards, turn) = (self.boards, now as usize % 2);
        if self.post == Post::Late {
            std::mem::swap(&mut self.out, &mut self.held);
        }
        for (board, mail) in boards.iter().zip(&mut self.out) {
            if !mail.is_empty() {
                board.inbox[turn].lock().unwrap().take(mail);
            }
        }
        let board = &boards[self.number as usize];
        board.coming[turn].store(self.coming.len() as u64, Ordering::Relaxed);
        board.arrived[turn].store(self.records.len() as u64, Ordering::Relaxed);
        board.ready.store(now + 1, Ordering::Release);
    }

    /// Waits until all strips are ready for the cycle.
    fn wait(&self) {
        for board in self.boards {
            let mut spins = 0;
            while board.ready.load(Ordering::Acquire) <= self.now {
                spins += 1;
                if spins < SPINS {
                    std::hint::spin_loop();
                } else if spins < SPINS + YIELDS {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}

/// Has so many threads wait for each other as in a run, and do nothing else.
pub(crate) fn wait_for_each_other(case: &Case, strips: u32, cycles: u64, clock: &mut Clock) {
    let boards: Vec<Board> = (0..strips).map(|_| Board::default()).collect();
    let strip_of_row: Vec<u32> = (0..case.side).collect();
    let run = &|number, clock: &mut Clock| {
        let mut part = Part::new(case, &boards, &strip_of_row, (number, Post::Exact));
        while part.now < cycles {
            part.wait();
            clock.tick();
            part.now += 1;
            part.publish(part.now);
        }
    };
    std::thread::scope(|scope| {
        (1..strips).for_each(|number| drop(scope.spawn(move || run(number, &mut Clock::default()))));
        run(0, clock);
    });
}

/// Simulates until all messages have arrived, in so many strips: each with a thread, or one after the other.
pub(crate) fn simulate(case: &Case, (strips, post): (u32, Post), threaded: bool, clock: &mut Clock) -> (Outcome, Work) {
    let boards: Vec<Board> = (0..strips).map(|_| Board::default()).collect();
    let strip_of_row: Vec<u32> = (0..case.side).map(|row| row * strips / case.side).collect();
    let mut work = Work::default();
    let parts: Vec<Part> = if threaded {
        let run = &|number, clock: &mut Clock| {
            let mut part = Part::new(case, &boards, &strip_of_row, (number, post));
            part.wait();
            while part.cycle() {
                clock.tick();
                part.wait();
            }
            part
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (1..strips).map(|number| scope.spawn(move || run(number, &mut Clock::default()))).collect();
            let own = run(0, clock);
            std::iter::once(own).chain(threads.into_iter().map(|thread| thread.join().unwrap())).collect()
        })
    } else {
        let part = |number| Part::new(case, &boards, &strip_of_row, (number, post));
        let mut parts: Vec<Part> = (0..strips).map(part).collect();
        let mut more = true;
        while more {
            for part in &mut parts {
                let begin = Instant::now();
                more = part.cycle();
                work.nanoseconds.push(begin.elapsed().as_nanos() as u64);
            }
        }
        parts
    };
    let flit_hops = parts.iter().flat_map(|part| &part.links).map(|link| link.flits).sum();
    let outcome = outcome(parts.iter().flat_map(|part| &part.records), flit_hops);
    for part in parts {
        work.headers += part.headers;
        work.releases += part.releases;
        work.grants.push(part.work);
    }
    (outcome, work)
}
