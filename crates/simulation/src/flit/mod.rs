//! The flit engine: the reference, every flit on every hop (model.md).
//!
//! A cycle has five phases: triggers, startups, requests, arbitration, movement. The worms move one by one, each from its
//! header backwards: a channel belongs to one worm, so what one does in a cycle cannot matter to another before the next. A
//! worm that could not move at all sleeps until it is granted a channel.

mod arbiter;
mod dead;
mod movement;
mod shared_links;
mod trees;
mod worm;

use wormcast_multicast::{Itinerary, Plan};
use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId, Ports, RouterId};
use wormcast_routing::RoutingRelation;

use crate::calendar::Calendar;
use crate::config::{Header, Replication, Reservation, StartupMode};
use crate::contention_free::WormTiming;
use crate::observer::{Cycle, Delivery, LatencyParts, Observer};
use crate::result::Deadlock;
use arbiter::{Arbiter, Grant, Key, NONE, Pool};
use shared_links::SharedLinks;
use trees::TreeEvent;
use worm::{Body, Worm};

/// Cycles between searches for deadlocks among worms while others still move.
const DEADLOCK_INTERVAL: Cycle = 1 << 13;

/// What an engine needs to know of switches and nodes, in cycles and flits. Checked by [`Scenario`](crate::Scenario).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineConfig {
    /// Injection and consumption channels of each node.
    pub ports: Ports,
    /// Flits a buffer, at least 1.
    pub buffer: u32,
    /// Virtual channels a link, at least 1; more than one for paths only.
    pub virtual_channels: u32,
    /// Startup cycles a worm.
    pub startup: u32,
    /// What a startup keeps busy.
    pub startup_mode: StartupMode,
    /// Routing delay.
    pub routing_delay: u32,
    /// Strip delay.
    pub strip_delay: u32,
    /// Cycles between a delivery and the readiness of what it triggers.
    pub receive_overhead: u32,
    /// What travels in front of the data.
    pub header: Header,
    /// Flits of a fixed header.
    pub header_flits: u32,
    /// How flits leave a replication point.
    pub replication: Replication,
    /// How independent branches are reserved.
    pub reservation: Reservation,
}

/// How far a call of [`FlitEngine::run_until`] has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// To the end that was asked for.
    Reached,
    /// To a cycle after which the observer was done.
    Stopped,
    /// To a deadlock.
    Deadlock(Deadlock),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worm is ready for its startup: (worm id, slot).
    Ready(u64, u32),
    /// A node's processor, or one of its ports, is free again.
    Free(u32),
    /// A worm's startup is over: (worm id, slot).
    Prepared(u64, u32),
    /// A header's routing delay is over: (worm id, slot, vertex).
    Routed(u64, u32, u32),
    /// An address flit is due to be stripped: (worm id, slot).
    Strip(u64, u32),
}

/// A node's startups (rules 5 and 6).
#[derive(Clone, Copy)]
struct NodeState {
    /// When the processor is free (serial mode).
    free_at: Cycle,
    /// The worms that wait for their startup, in the order of (ready cycle, worm id).
    first: u32,
    last: u32,
}

/// The flit engine.
///
/// Takes worms at times that do not decrease and tells an [`Observer`] what happens to them. Memory: 12 bytes a channel, 40 a
/// node, and for each worm in the network about 16 bytes a hop.
pub struct FlitEngine<'a, O> {
    network: &'a Network,
    routing: &'a dyn RoutingRelation,
    config: EngineConfig,
    space: ChannelSpace,
    observer: O,
    now: Cycle,
    next_worm: u64,
    worms: Vec<Worm>,
    free_worms: Vec<u32>,
    nodes: Vec<NodeState>,
    calendar: Calendar<Event>,
    arbiter: Arbiter,
    /// Slots of worms that may move.
    active: Vec<u32>,
    shared_links: SharedLinks,
    flit_hops: u64,
    next_deadlock_search: Cycle,
    // Scratch, kept for its memory.
    due: Vec<Event>,
    grant: Grant,
    candidates: Vec<ChannelId>,
    strips: Vec<bool>,
    tree_events: Vec<TreeEvent>,
}

impl<'a, O: Observer> FlitEngine<'a, O> {
    /// An empty network in cycle 0.
    pub fn new(network: &'a Network, routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        let space = ChannelSpace::new(network, config.ports);
        let horizon = [config.startup, config.routing_delay + config.strip_delay + 3, config.receive_overhead + 1];
        Self {
            network,
            routing,
            config,
            space,
            observer,
            now: 0,
            next_worm: 0,
            worms: Vec::new(),
            free_worms: Vec::new(),
            nodes: vec![NodeState { free_at: 0, first: NONE, last: NONE }; network.nodes()],
            calendar: Calendar::new(u64::from(horizon.into_iter().max().unwrap_or(0)) + 1),
            arbiter: Arbiter::new(space, network.nodes(), config.virtual_channels),
            active: Vec::new(),
            shared_links: SharedLinks::default(),
            flit_hops: 0,
            next_deadlock_search: DEADLOCK_INTERVAL,
            due: Vec::new(),
            grant: Grant::default(),
            candidates: Vec::new(),
            strips: Vec::new(),
            tree_events: Vec::new(),
        }
    }

    /// The first cycle that has not been simulated.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to change.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Ends the run and gives the observer back.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Flits that have crossed channels between routers that are released again.
    pub fn flit_hops(&self) -> u64 {
        self.flit_hops
    }

    /// Whether no worm is left.
    pub fn is_empty(&self) -> bool {
        self.free_worms.len() == self.worms.len()
    }

    /// Puts the worms of a message's plan into the queue of its source: the message is generated at `at`, a cycle that has not
    /// been simulated. `length` is its number of data flits, at least 1.
    pub fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) {
        debug_assert!(at >= self.now && length > 0);
        let first_id = self.next_worm;
        self.next_worm += plan.worms.len() as u64;
        let mut slots: Vec<u32> = Vec::with_capacity(plan.worms.len());
        for (index, planned) in plan.worms.into_iter().enumerate() {
            let slot = self.free_worms.pop().unwrap_or_else(|| {
                self.worms.push(Worm::default());
                self.worms.len() as u32 - 1
            });
            slots.push(slot);
            let router = self.network.router_of(planned.from);
            let worm = &mut self.worms[slot as usize];
            debug_assert!(!worm.live && worm.requests == 0 && worm.timers == 0);
            (worm.id, worm.message, worm.live) = (first_id + index as u64, message, true);
            (worm.from, worm.class) = (planned.from, planned.consumption_class);
            (worm.carried, worm.waited) = (LatencyParts::default(), 0);
            (worm.first_child, worm.sibling, worm.queued_behind) = (NONE, NONE, NONE);
            worm.header = match (self.config.header, &planned.itinerary) {
                (Header::BitString, _) => self.config.header_flits,
                (Header::AllDestinations, Itinerary::Path(path)) => path.stops.len() as u32,
                (Header::Tree, Itinerary::Tree(tree)) => trees::header_flits(tree),
                _ => 0,
            };
            worm.flits = worm.header + length;
            match planned.itinerary {
                Itinerary::Path(path) => {
                    if !matches!(worm.body, Body::Path(_)) {
                        worm.body = Body::default();
                    }
                    if let Body::Path(body) = &mut worm.body {
                        body.reset();
                        (body.stops, body.exit) = (path.stops, path.exit);
                    }
                }
                Itinerary::Tree(tree) => {
                    let scripted = self.config.header == Header::Tree;
                    worm.body = Body::Tree(Box::new(trees::body(self.network, router, &tree, worm, length, scripted)));
                }
            }
            let id = worm.id;
            match planned.after {
                None => {
                    worm.ready = at;
                    self.calendar.push(at, Event::Ready(id, slot));
                }
                Some(trigger) => {
                    let trigger = slots[trigger as usize];
                    let first = std::mem::replace(&mut self.worms[trigger as usize].first_child, slot);
                    self.worms[slot as usize].sibling = first;
                }
            }
        }
    }

    /// Simulates all cycles before `end`, or less if the observer is done or worms are dead. With `Cycle::MAX`, until nothing
    /// is left to happen.
    pub fn run_until(&mut self, end: Cycle) -> Progress {
        while self.now < end {
            if self.active.is_empty() && !self.arbiter.has_work() {
                // Nothing happens until the next event.
                match self.calendar.next(self.now) {
                    None if self.arbiter.pending() > 0 => {
                        if let Some(deadlock) = self.find_deadlock() {
                            return Progress::Deadlock(deadlock);
                        }
                        unreachable!("worms wait and nothing can happen, but none is dead");
                    }
                    Some(at) if at < end => self.now = at,
                    _ => {
                        if end != Cycle::MAX {
                            self.now = end;
                        }
                        break;
                    }
                }
            }
            self.cycle();
            self.now += 1;
            if self.observer.done() {
                return Progress::Stopped;
            }
            if self.now >= self.next_deadlock_search {
                self.next_deadlock_search = self.now + DEADLOCK_INTERVAL;
                if let Some(deadlock) = self.find_deadlock() {
                    return Progress::Deadlock(deadlock);
                }
            }
        }
        Progress::Reached
    }

    /// One cycle.
    fn cycle(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.calendar.take(self.now, &mut due);
        // The order of events within a cycle is that of the phases: what is ready, what is free, who starts, who requests.
        // A startup that takes no time is over in the same cycle.
        let mut next = 0;
        while next < due.len() {
            let event = due[next];
            next += 1;
            match event {
                Event::Ready(_, slot) => {
                    let node = self.worms[slot as usize].from;
                    self.enqueue_startup(slot);
                    self.start_worms(node, &mut due, next);
                }
                Event::Free(node) => self.start_worms(NodeId::new(node), &mut due, next),
                Event::Prepared(id, slot) => self.prepared(id, slot),
                Event::Routed(_, slot, vertex) => {
                    self.worms[slot as usize].timers -= 1;
                    self.request(slot, vertex);
                }
                Event::Strip(_, slot) => {
                    self.worms[slot as usize].timers -= 1;
                    self.activate(slot);
                }
            }
        }
        due.clear();
        self.due = due;

        let mut grant = std::mem::take(&mut self.grant);
        while self.arbiter.next_grant(&mut grant) {
            self.apply(&grant);
        }
        self.grant = grant;

        if self.config.virtual_channels > 1 {
            self.move_on_shared_links();
        } else {
            self.move_worms();
        }
    }

    fn enqueue_startup(&mut self, slot: u32) {
        let node = &mut self.nodes[self.worms[slot as usize].from.index()];
        match node.last {
            NONE => node.first = slot,
            last => self.worms[last as usize].queued_behind = slot,
        }
        node.last = slot;
    }

    /// Begins the startups that a node has room for. Those that take no time are put among the cycle's events, from position
    /// `next` on.
    fn start_worms(&mut self, node: NodeId, due: &mut Vec<Event>, next: usize) {
        loop {
            let state = self.nodes[node.index()];
            let slot = state.first;
            if slot == NONE {
                return;
            }
            let port = match self.config.startup_mode {
                StartupMode::Serial if state.free_at > self.now => return,
                StartupMode::Serial => None,
                StartupMode::PerPort => match self.arbiter.free_member(Pool::Injection(node)) {
                    None => return,
                    port => port,
                },
            };
            let worm = &mut self.worms[slot as usize];
            let behind = std::mem::replace(&mut worm.queued_behind, NONE);
            let state = &mut self.nodes[node.index()];
            state.first = behind;
            if behind == NONE {
                state.last = NONE;
            }
            worm.started = self.now;
            worm.prepared = self.now + Cycle::from(self.config.startup);
            let (id, prepared) = (worm.id, worm.prepared);
            self.observer.started(self.now, worm.message, id, node);
            if let Some(channel) = port {
                self.arbiter.hold(channel, 0, slot);
                self.observer.granted(self.now, id, channel);
                self.worms[slot as usize].first_hop(channel);
            } else {
                state.free_at = prepared;
                if prepared > self.now {
                    self.calendar.push(prepared, Event::Free(node.raw()));
                }
            }
            let event = Event::Prepared(id, slot);
            if prepared > self.now {
                self.calendar.push(prepared, event);
            } else {
                let position = next + due[next..].partition_point(|other| *other < event);
                due.insert(position, event);
            }
        }
    }

    /// A startup is over: in serial mode the worm asks for an injection channel, in per-port mode it has one.
    fn prepared(&mut self, id: u64, slot: u32) {
        match self.config.startup_mode {
            StartupMode::PerPort => self.activate(slot),
            StartupMode::Serial => {
                let worm = &mut self.worms[slot as usize];
                worm.requests += 1;
                let pool = Some(Pool::Injection(worm.from));
                let key = Key { cycle: self.now, worm: id, part: 0 };
                self.arbiter.submit(key, slot, 0, pool, &[], true);
            }
        }
    }

    /// A worm that may move from this cycle's movement phase on.
    fn activate(&mut self, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        if !worm.active {
            worm.active = true;
            self.active.push(slot);
        }
    }

    /// A header asks for what it needs at the vertex where it is.
    fn request(&mut self, slot: u32, vertex: u32) {
        let worm = &mut self.worms[slot as usize];
        match &worm.body {
            Body::Tree(_) => self.request_branches(slot, vertex),
            Body::Path(body) => {
                let arrived = body.entered_by[vertex as usize];
                let at_source = vertex == 1;
                let at = if at_source { self.network.router_of(worm.from) } else { self.network.to(arrived) };
                let stop = body.stops[body.next_stop];
                let delivers = self.network.router_of(stop) == at;
                let target = if delivers { body.stops.get(body.next_stop + 1).copied() } else { Some(stop) };
                self.candidates.clear();
                match (target, body.exit) {
                    (None, _) => {}
                    (Some(_), Some(exit)) if at_source => self.candidates.push(exit),
                    (Some(target), _) => {
                        let arrived = (!at_source).then_some(arrived);
                        let target = self.network.router_of(target);
                        self.routing.candidates(self.network, at, arrived, target, &mut self.candidates);
                    }
                }
                worm.requests += 1;
                let pool = delivers.then_some(Pool::Consumption(stop, worm.class));
                let key = Key { cycle: self.now, worm: worm.id, part: vertex };
                self.arbiter.submit(key, slot, vertex, pool, &self.candidates, false);
            }
        }
    }

    /// Hands a worm what it was granted.
    fn apply(&mut self, grant: &Grant) {
        let worm = &mut self.worms[grant.worm as usize];
        worm.requests -= 1;
        for channel in grant.pooled.into_iter().chain(grant.links.iter().map(|&(link, _)| link)) {
            self.observer.granted(self.now, worm.id, channel);
        }
        if grant.vertex == 0 {
            if let Some(channel) = grant.pooled {
                worm.first_hop(channel);
            }
        } else {
            match &mut worm.body {
                Body::Path(body) => {
                    if let Some(channel) = grant.pooled {
                        body.consumption[grant.vertex as usize] = channel.raw();
                        body.next_stop += 1;
                    }
                    match grant.links.first() {
                        Some(&(link, virtual_channel)) => body.push(link, virtual_channel),
                        None => body.draining = true,
                    }
                }
                Body::Tree(_) => self.apply_to_tree(grant),
            }
        }
        self.activate(grant.worm);
    }

    /// A flit has entered the router at a vertex as the header there, or has become the header because the address flit before
    /// it is stripped.
    fn header_arrived(&mut self, slot: u32, vertex: u32) {
        let worm = &mut self.worms[slot as usize];
        worm.timers += 1;
        if let Body::Path(body) = &mut worm.body {
            body.arrived = true;
            let names_this_router = self.config.header == Header::AllDestinations
                && vertex > 1
                && body.strip_at == Cycle::MAX
                && self.network.to(body.entered_by[vertex as usize])
                    == self.network.router_of(body.stops[body.next_stop]);
            if names_this_router {
                body.strip_at = self.now + 1 + Cycle::from(self.config.strip_delay);
                self.calendar.push(body.strip_at, Event::Strip(worm.id, slot));
                return;
            }
        }
        let routed = self.now + 1 + Cycle::from(self.config.routing_delay);
        self.calendar.push(routed, Event::Routed(worm.id, slot, vertex));
    }

    /// Gives a channel back that `flits` flits of a worm have crossed.
    fn release(&mut self, slot: u32, channel: ChannelId, virtual_channel: u32, flits: u32) {
        let worm = &self.worms[slot as usize];
        self.arbiter.release(channel, virtual_channel, slot);
        self.observer.released(self.now, worm.id, channel, flits);
        match self.space.kind(channel) {
            ChannelKind::Link => self.flit_hops += u64::from(flits),
            ChannelKind::Injection(node, _) => {
                let waiting = self.nodes[node.index()].first != NONE;
                if self.config.startup_mode == StartupMode::PerPort && waiting {
                    self.calendar.push(self.now + 1, Event::Free(node.raw()));
                }
            }
            ChannelKind::Consumption(..) => {}
        }
    }

    /// The last data flit has crossed a consumption channel at a vertex: reports the delivery and triggers what waits for it.
    fn deliver(&mut self, slot: u32, vertex: usize, node: NodeId) {
        let delivered = self.now + 1;
        let network = self.network_time(slot, vertex);
        let worm = &self.worms[slot as usize];
        let in_network = delivered - worm.prepared;
        debug_assert!(network <= in_network, "nothing is faster than in an empty network");
        let parts = LatencyParts {
            queueing: worm.carried.queueing + (worm.started - worm.ready),
            startup: worm.carried.startup + (worm.prepared - worm.started),
            network: worm.carried.network + network,
            blocking: worm.carried.blocking + (in_network - network),
        };
        self.observer.delivered(&Delivery { message: worm.message, worm: worm.id, node, delivered, parts });
        // A worm that is triggered leaves the list: it may be gone, and its slot another's, before this one delivers again.
        let (mut child, mut previous) = (worm.first_child, NONE);
        while child != NONE {
            let triggered = &mut self.worms[child as usize];
            let next = triggered.sibling;
            if triggered.from == node {
                let ready = delivered + Cycle::from(self.config.receive_overhead);
                triggered.ready = ready;
                triggered.carried = parts;
                triggered.carried.startup += u64::from(self.config.receive_overhead);
                self.calendar.push(ready, Event::Ready(triggered.id, child));
                match previous {
                    NONE => self.worms[slot as usize].first_child = next,
                    _ => self.worms[previous as usize].sibling = next,
                }
            } else {
                previous = child;
            }
            child = next;
        }
    }

    /// What the worm would have taken in an empty network, from the end of its startup, to deliver at a vertex.
    ///
    /// The closed forms of `contention_free` for paths and for lockstep trees with one common header. For other trees: all the
    /// time but that which requests waited.
    fn network_time(&mut self, slot: u32, vertex: usize) -> u64 {
        let worm = &self.worms[slot as usize];
        let timing = WormTiming {
            routing_delay: self.config.routing_delay,
            strip_delay: self.config.strip_delay,
            buffer: self.config.buffer,
            flits: worm.flits,
        };
        match &worm.body {
            Body::Path(body) => {
                let stripping = self.config.header == Header::AllDestinations;
                self.strips.clear();
                self.strips.extend(body.consumption[1..].iter().map(|&channel| stripping && channel != NONE));
                if let Some(last) = self.strips.last_mut() {
                    // Its consumption channel may still have to be granted.
                    *last |= body.strip_at != Cycle::MAX;
                }
                crate::contention_free::path_delivery(timing, &self.strips, vertex - 1)
            }
            Body::Tree(body) => {
                let common = self.config.replication == Replication::Lockstep && self.config.header != Header::Tree;
                if common {
                    crate::contention_free::lockstep_tree_delivery(timing, &trees::heights_above(body, vertex))
                } else {
                    (self.now + 1 - worm.prepared).saturating_sub(worm.waited)
                }
            }
        }
    }

    /// A worm whose last flit has left its last vertex.
    fn finish(&mut self, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        debug_assert!(worm.requests == 0 && worm.timers == 0);
        worm.live = false;
        if let Body::Tree(_) = worm.body {
            worm.body = Body::default();
        }
        self.free_worms.push(slot);
    }

    /// Calls `visit` with every link that a worm holds and the flits that have crossed it so far.
    pub fn each_held_link(&self, mut visit: impl FnMut(ChannelId, u32)) {
        for worm in self.worms.iter().filter(|worm| worm.live) {
            match &worm.body {
                Body::Path(body) => {
                    let stripping = self.config.header == Header::AllDestinations;
                    let mut stripped = body.stripped;
                    for vertex in body.first.max(1)..body.left.len() {
                        if vertex > 1 {
                            visit(body.entered_by[vertex], body.left[vertex - 1] - stripped);
                        }
                        // Only the last vertex can still have its address flit, and nothing is counted behind it.
                        stripped += u32::from(stripping && body.consumption[vertex] != NONE);
                    }
                }
                Body::Tree(body) => {
                    for vertex in body.vertices.iter().skip(2).filter(|v| v.reserved && v.left < v.total) {
                        visit(vertex.entered_by, vertex.entered);
                    }
                }
            }
        }
    }

    /// The router at a vertex of a worm, for reports.
    fn router_at(&self, worm: &Worm, vertex: u32) -> RouterId {
        let entered_by = match &worm.body {
            _ if vertex <= 1 => return self.network.router_of(worm.from),
            Body::Path(body) => body.entered_by[vertex as usize],
            Body::Tree(body) => body.vertices[vertex as usize].entered_by,
        };
        self.network.to(entered_by)
    }
}

impl Worm {
    /// The injection channel is granted.
    fn first_hop(&mut self, injection: ChannelId) {
        match &mut self.body {
            Body::Path(body) => body.push(injection, 0),
            Body::Tree(body) => {
                body.vertices[0].granted = true;
                body.vertices[1].reserved = true;
                body.vertices[1].entered_by = injection;
            }
        }
    }
}
