//! The worm engine on several threads: parts of the network, each simulated by one of them, cycle by cycle. There may be more parts than threads.
//!
//! The thread that runs the scenario takes messages, in their order, to the parts of their sources, begins cycles, simulates the first part, and tells the observer what
//! the others delivered. Nothing depends on which thread is ahead: what parts tell each other in a cycle is read in the next one, and in the order of worms.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wormcast_multicast::Plan;
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{NoRoute, RoutingRelation};

use super::{WormEngine, WormMovement};
use crate::core::part::{Mail, Part};
use crate::engine::{Engine, EngineConfig, StopReason};
use crate::observers::observer::{Cycle, Delivery, Observer};
use crate::run::link_use::LinkCounter;
use crate::run::recorder::Recorder;
use crate::run::result::Deadlock;
use crate::run::run_end::{Held, WormAtEnd};

/// How often a thread looks whether the others are ready before it lets other programs have its core, and how often it does that before it sleeps.
const SPINS: u32 = 3_000;
const YIELDS: u32 = 3;
const PATIENCE: u32 = SPINS + YIELDS;
const SLEEP: Duration = Duration::from_micros(50);
/// Instead of the number of a cycle: there is none any more.
const OVER: u64 = u64::MAX;

/// A number that one thread writes and others wait for, in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Signal(AtomicU64);

impl Signal {
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    /// Waits for at least this value; returns what there is.
    fn wait(&self, value: u64) -> u64 {
        let mut looks = 0;
        loop {
            let found = self.0.load(Ordering::Acquire);
            if found >= value {
                return found;
            }
            looks += 1;
            match looks {
                ..SPINS => std::hint::spin_loop(),
                SPINS..PATIENCE => std::thread::yield_now(),
                _ => std::thread::sleep(SLEEP),
            }
        }
    }
}

/// What is counted of a part.
struct PartRecorder {
    links: LinkCounter,
    deliveries: Vec<Delivery>,
}

impl Observer for PartRecorder {
    const RELEASES: bool = false;
    const PART: bool = true;

    #[inline]
    fn granted(&mut self, at: Cycle, _worm: u64, channel: ChannelId) {
        self.links.granted(at, channel);
    }

    #[inline]
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        self.links.settled(at, channel, flits);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
}

type Letters = Mail<WormMovement>;

/// A part of the network, and what it has for the others.
struct Station<'a> {
    engine: WormEngine<'a, PartRecorder>,
    out: Vec<Letters>,
    received: Letters,
    /// The first cycle that has something to do, as far as it knows.
    next: Option<Cycle>,
    /// Worms here and on their way to the others.
    live: u64,
}

/// The parts of a network, and where threads meet.
pub(crate) struct Parts<'a> {
    stations: Vec<Mutex<Station<'a>>>,
    /// What they have got from others: those of odd and of even steps take turns, so that nobody reads what is still being written.
    inboxes: Vec<[Mutex<Letters>; 2]>,
    /// The first router behind each part.
    ends: Vec<u32>,
    /// The step that has begun, its cycle, and those that threads have finished.
    step: Signal,
    cycle: AtomicU64,
    finished: Vec<Signal>,
}

/// The value, whatever happened to another thread: a panic of that ends the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Parts<'a> {
    /// Why a network cannot be simulated in parts.
    pub(crate) fn objection(network: &Network) -> Option<&'static str> {
        let alike = network.has_one_node_each()
            && (0..network.nodes() as u32)
                .all(|node| network.entry_of(wormcast_network::NodeId::new(node)).raw() == node);
        let from = network.channel_ids().map(|link| network.from(link).raw());
        (!alike || !from.is_sorted()).then_some("its routers, nodes and links are not numbered alike")
    }

    /// Empty, in cycle 0; the network is one without [`objection`](Self::objection).
    pub(crate) fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, parts: usize) -> Self {
        let network = &**routing.network();
        let routers = network.routers();
        let ends: Vec<u32> = (1..=parts).map(|part| (part * routers / parts) as u32).collect();
        let mut links = 0;
        let station = |part: usize| {
            let first = if part == 0 { 0 } else { ends[part - 1] };
            let leave = (first..ends[part]).map(|router| network.outputs(RouterId::new(router)).len() as u32);
            let first_link = links;
            links += leave.sum::<u32>();
            let recorder = PartRecorder { links: LinkCounter::of_part(network.channels()), deliveries: Vec::new() };
            let mut engine = WormEngine::new(routing, config, recorder);
            engine.core.channels.part = Part::new(first..ends[part], first_link..links);
            let out = (0..parts).map(|_| Mail::default()).collect();
            Mutex::new(Station { engine, out, received: Mail::default(), next: None, live: 0 })
        };
        Self {
            stations: (0..parts).map(station).collect(),
            inboxes: (0..parts).map(|_| <[Mutex<Letters>; 2]>::default()).collect(),
            step: Signal::default(),
            cycle: AtomicU64::new(0),
            finished: (0..parts).map(|_| Signal::default()).collect(),
            ends,
        }
    }

    fn part_of(&self, router: RouterId) -> usize {
        self.ends.partition_point(|&end| end <= router.raw())
    }

    /// Simulates the parts of a thread, but the first, as long as there are cycles.
    pub(crate) fn work(&self, thread: usize, parts: Range<usize>) {
        /// Whoever waits for a thread that panicked need not wait any longer.
        struct Finished<'p>(&'p Signal);
        impl Drop for Finished<'_> {
            fn drop(&mut self) {
                self.0.set(OVER);
            }
        }
        let finished = Finished(&self.finished[thread]);
        let mut step = 1;
        while self.step.wait(step) != OVER {
            parts.clone().for_each(|part| self.simulate(part, step));
            finished.0.set(step);
            step += 1;
        }
    }

    /// Simulates a cycle of a part.
    fn simulate(&self, part: usize, step: u64) {
        let station = &mut *lock(&self.stations[part]);
        let Station { engine, out, received, next, live } = station;
        received.take(&mut lock(&self.inboxes[part][step as usize % 2]));
        engine.core.now = self.cycle.load(Ordering::Relaxed);
        engine.core.receive(received);
        engine.cycle();
        *next = engine.core.next_event();
        // Those that are about to leave are still there.
        *live = engine.core.live();
        engine.core.send(|router| self.part_of(router), out);
        for (to, letters) in out.iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty()) {
            // They are read in the next cycle.
            *next = Some(engine.core.now);
            lock(&self.inboxes[to][(step + 1) as usize % 2]).take(letters);
        }
    }
}

/// Ends the other threads when the run is over, however it ends.
struct End<'p>(&'p Signal);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set(OVER);
    }
}

/// The worm engine on several threads, for paths that cannot deadlock and wait for no delivery of another.
pub(crate) struct PartsEngine<'p, 'a, O> {
    parts: &'p Parts<'a>,
    _end: End<'p>,
    /// The parts that this thread simulates, and the others that there are.
    own: Vec<Range<usize>>,
    others: Vec<usize>,
    observer: (Recorder, O),
    now: Cycle,
    step: u64,
    /// The first cycle that has something to do.
    next: Option<Cycle>,
    worms: u64,
    /// Worms in the network or on their way to it.
    live: u64,
    no_route: Option<NoRoute>,
    deliveries: Vec<Delivery>,
}

impl<'p, 'a, O: Observer> PartsEngine<'p, 'a, O> {
    /// An empty network in cycle 0. `start` starts one of so many threads, the second or a later one, which is to [`work`](Parts::work) at some parts; returns whether
    /// it could. The parts of those that cannot be started are simulated by this one.
    pub(crate) fn new(
        parts: &'p Parts<'a>,
        threads: usize,
        start: impl Fn(usize, Range<usize>) -> bool,
        observer: (Recorder, O),
    ) -> Self {
        let all = parts.stations.len();
        let of = |thread: usize| all * thread / threads..all * (thread + 1) / threads;
        let (others, missing): (Vec<usize>, Vec<usize>) = (1..threads).partition(|&thread| start(thread, of(thread)));
        Self {
            parts,
            _end: End(&parts.step),
            own: std::iter::once(0).chain(missing).map(of).collect(),
            others,
            observer,
            now: 0,
            step: 0,
            next: None,
            worms: 0,
            live: 0,
            no_route: None,
            deliveries: Vec::new(),
        }
    }

    /// Simulates cycle `now` and makes the next one `now`.
    fn cycle(&mut self) {
        self.step += 1;
        self.parts.cycle.store(self.now, Ordering::Relaxed);
        self.parts.step.set(self.step);
        for part in self.own.iter().cloned().flatten() {
            self.parts.simulate(part, self.step);
        }
        for &thread in &self.others {
            self.parts.finished[thread].wait(self.step);
        }
        self.now += 1;
        (self.next, self.live) = (None, 0);
        for station in &self.parts.stations {
            let station = &mut *lock(station);
            self.next = self.next.into_iter().chain(station.next).min();
            self.live += station.live;
            self.deliveries.append(&mut station.engine.core.reports.observer.deliveries);
            self.no_route = self.no_route.take().or_else(|| station.engine.core.no_route.take());
        }
        self.deliveries.sort_unstable_by_key(|delivery| delivery.worm);
        for delivery in self.deliveries.drain(..) {
            self.observer.delivered(&delivery);
        }
    }

    fn run(&mut self, end: Cycle, drain: bool) -> StopReason {
        while self.now < end && !(drain && self.live == 0) {
            match self.next {
                Some(at) if at < end => self.now = self.now.max(at),
                _ => {
                    if end != Cycle::MAX {
                        self.now = end;
                    }
                    break;
                }
            }
            self.cycle();
            if let Some(no_route) = self.no_route.take() {
                return StopReason::NoRoute(no_route);
            }
            if self.observer.done() {
                return StopReason::ObserverDone;
            }
        }
        StopReason::EndReached
    }

    /// The parts one after the other, between two cycles.
    fn each_part(&mut self, mut visit: impl FnMut(&mut WormEngine<'a, PartRecorder>, &mut (Recorder, O))) {
        for (station, inboxes) in self.parts.stations.iter().zip(&self.parts.inboxes) {
            let Station { engine, .. } = &mut *lock(station);
            engine.core.now = self.now;
            for inbox in inboxes {
                engine.core.receive(&mut lock(inbox));
            }
            visit(engine, &mut self.observer);
        }
    }
}

impl<O: Observer> Engine for PartsEngine<'_, '_, O> {
    type Observer = (Recorder, O);

    fn name(&self) -> &'static str {
        "worm"
    }

    fn now(&self) -> Cycle {
        self.now
    }

    fn has_room(&mut self, worms: usize) -> bool {
        self.parts.stations.iter().all(|station| lock(station).engine.has_room(worms))
    }

    fn submit(&mut self, at: Cycle, message: u64, length: u32, mut plan: Plan) {
        self.submit_from(at, message, length, &mut plan);
    }

    fn submit_from(&mut self, at: Cycle, message: u64, length: u32, plan: &mut Plan) {
        let Some(source) = plan.worms.first().map(|worm| worm.from) else { return };
        debug_assert!(plan.worms.iter().all(|worm| worm.from == source && worm.after.is_none()));
        let first = self.worms;
        self.worms += plan.worms.len() as u64;
        self.live += plan.worms.len() as u64;
        let mut station = lock(&self.parts.stations[self.parts.part_of(RouterId::new(source.raw()))]);
        station.engine.core.next_worm = first;
        station.engine.submit_from(at, message, length, plan);
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    fn run_until(&mut self, end: Cycle) -> StopReason {
        self.run(end, false)
    }

    fn drain(&mut self, limit: Cycle) -> StopReason {
        self.run(limit, true)
    }

    fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Runs that might deadlock have one thread.
    fn deadlock(&mut self) -> Option<Deadlock> {
        None
    }

    fn flit_hops(&mut self) -> u64 {
        // A worm may have been counted where it came from.
        let (mut hops, mut to_come) = (0, 0);
        self.each_part(|engine, _| {
            hops += engine.core.reports.flit_hops;
            engine.each_settled(&mut |_, _, flits| to_come += u64::from(flits));
        });
        hops - to_come
    }

    fn each_held(&mut self, visit: &mut dyn FnMut(Held)) {
        self.each_part(|engine, _| engine.each_held(visit));
    }

    fn each_settled(&mut self, visit: &mut dyn FnMut(ChannelId, Cycle, u32)) {
        self.each_part(|engine, (recorder, _)| {
            recorder.links.take(&mut engine.observer_mut().links);
            engine.each_settled(visit);
        });
    }

    /// Runs with observers that ask for them have one thread.
    fn worms(&mut self) -> Vec<WormAtEnd> {
        Vec::new()
    }

    fn observer(&self) -> &(Recorder, O) {
        &self.observer
    }

    fn observer_mut(&mut self) -> &mut (Recorder, O) {
        &mut self.observer
    }

    fn into_observer(self) -> (Recorder, O) {
        self.observer
    }
}
