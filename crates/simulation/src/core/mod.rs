//! What all engines for worms share: which worm may use which channel when (model.md, rules 1, 3, 5 to 15).
//!
//! The core runs everything up to the movement phase of a cycle: triggers, startups, requests and arbitration. Engines differ in
//! how they let the flits follow the headers, and tell the core when a header has arrived and when a tail has left.

pub(crate) mod arbiter;
mod dead;
mod tree_route;
pub(crate) mod worm;

use wormcast_multicast::{Itinerary, Plan};
use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId, RouterId};
use wormcast_routing::{NoRoute, RoutingRelation};

use crate::calendar::Calendar;
use crate::config::{Header, Replication, Reservation, StartupMode};
use crate::contention_free::{WormTiming, lockstep_tree_delivery, path_delivery};
use crate::engine::{EngineConfig, Progress};
use crate::observer::{Cycle, Delivery, LatencyParts, Observer};
use crate::result::Deadlock;
use arbiter::{Arbiter, Grant, Key, NONE, Pool, Wanted};
use worm::{PathRoute, Route, Worm};

/// Cycles between searches for deadlocks among worms while others still move.
const DEADLOCK_INTERVAL: Cycle = 1 << 13;

/// What happens in the phases of a cycle before arbitration, in this order.
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
    /// Something that the engine asked to be reminded of: (worm id, slot).
    Reminder(u64, u32),
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

/// The shared part of an engine. Memory: 12 bytes a channel, 40 a node, and for each worm about 300 bytes and 12 a hop.
pub(crate) struct Core<'a, O> {
    pub(crate) network: &'a Network,
    routing: &'a dyn RoutingRelation,
    pub(crate) config: EngineConfig,
    space: ChannelSpace,
    pub(crate) observer: O,
    pub(crate) now: Cycle,
    next_worm: u64,
    pub(crate) worms: Vec<Worm>,
    free_worms: Vec<u32>,
    nodes: Vec<NodeState>,
    calendar: Calendar<Event>,
    pub(crate) arbiter: Arbiter,
    /// Headers that have been granted what they asked for in this cycle: (slot, vertex). Vertex 0: the injection channel, at the
    /// end of the startup if that is later.
    pub(crate) granted: Vec<(u32, u32)>,
    /// Slots whose reminder has come in this cycle.
    pub(crate) reminded: Vec<u32>,
    pub(crate) flit_hops: u64,
    /// A header that found no channel to go on by: the run makes no sense from then on.
    pub(crate) stranded: Option<NoRoute>,
    next_deadlock_search: Cycle,
    // Scratch, kept for its memory.
    due: Vec<Event>,
    grant: Grant,
    candidates: Vec<ChannelId>,
    strips: Vec<bool>,
}

impl<'a, O: Observer> Core<'a, O> {
    /// An empty network in cycle 0.
    pub(crate) fn new(
        network: &'a Network,
        routing: &'a dyn RoutingRelation,
        config: EngineConfig,
        observer: O,
    ) -> Self {
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
            granted: Vec::new(),
            reminded: Vec::new(),
            flit_hops: 0,
            stranded: None,
            next_deadlock_search: DEADLOCK_INTERVAL,
            due: Vec::new(),
            grant: Grant::default(),
            candidates: Vec::new(),
            strips: Vec::new(),
        }
    }

    /// Whether no worm is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.free_worms.len() == self.worms.len()
    }

    /// The first cycle, from now on, that has something to do before its movement phase.
    pub(crate) fn next_event(&self) -> Option<Cycle> {
        let due = self.arbiter.has_work() || self.calendar.is_due(self.now);
        if due { Some(self.now) } else { self.calendar.next(self.now) }
    }

    /// Whether it is time to look for deadlocks; asked after each cycle.
    pub(crate) fn deadlock_search_is_due(&mut self) -> bool {
        let due = self.now >= self.next_deadlock_search;
        if due {
            self.next_deadlock_search = self.now + DEADLOCK_INTERVAL;
        }
        due
    }

    /// Takes in the worms of a message (see [`Engine::submit`](crate::Engine::submit)); returns their slots.
    pub(crate) fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) -> Vec<u32> {
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
            let worm = &mut self.worms[slot as usize];
            debug_assert!(!worm.live && worm.requests == 0 && worm.timers == 0);
            (worm.id, worm.message, worm.live) = (first_id + index as u64, message, true);
            (worm.from, worm.class) = (planned.from, planned.consumption_class);
            (worm.carried, worm.waited) = (LatencyParts::default(), 0);
            (worm.first_child, worm.sibling, worm.queued_behind) = (NONE, NONE, NONE);
            worm.header = match (self.config.header, &planned.itinerary) {
                (Header::BitString, _) => self.config.header_flits,
                (Header::AllDestinations, Itinerary::Path(path)) => path.stops.len() as u32,
                (Header::Tree, Itinerary::Tree(tree)) => tree_route::header_flits(tree),
                _ => 0,
            };
            worm.flits = worm.header + length;
            match planned.itinerary {
                Itinerary::Path(path) => {
                    if !matches!(worm.route, Route::Path(_)) {
                        worm.route = Route::Path(PathRoute::default());
                    }
                    if let Route::Path(route) = &mut worm.route {
                        route.reset();
                        (route.stops, route.exit) = (path.stops, path.exit);
                    }
                }
                Itinerary::Tree(tree) => {
                    let source = self.network.router_of(planned.from);
                    let scripted = self.config.header == Header::Tree;
                    let route = tree_route::route(self.network, source, &tree, worm, length, scripted);
                    worm.route = Route::Tree(route);
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
        slots
    }

    /// The phases of cycle `now` up to arbitration. Fills `granted` and `reminded`.
    pub(crate) fn begin_cycle(&mut self) {
        self.granted.clear();
        self.reminded.clear();
        let mut due = std::mem::take(&mut self.due);
        self.calendar.take(self.now, &mut due);
        // A startup that takes no time is over in the same cycle: what is due can grow.
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
                Event::Reminder(_, slot) => {
                    self.worms[slot as usize].timers -= 1;
                    self.reminded.push(slot);
                }
            }
        }
        due.clear();
        self.due = due;

        let mut grant = std::mem::take(&mut self.grant);
        while self.arbiter.next_grant(&mut grant) {
            self.worms[grant.worm as usize].requests -= 1;
            self.apply(&grant);
        }
        self.grant = grant;
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
            StartupMode::PerPort => self.granted.push((slot, 0)),
            StartupMode::Serial => {
                let pool = Pool::Injection(self.worms[slot as usize].from);
                self.ask(
                    Key { cycle: self.now, worm: id, part: 0 },
                    slot,
                    0,
                    Wanted { pool: Some(pool), links: &[], all_links: true },
                );
            }
        }
    }

    /// A header asks for what it needs at the vertex where it is.
    fn request(&mut self, slot: u32, vertex: u32) {
        let worm = &self.worms[slot as usize];
        let (id, class, now) = (worm.id, worm.class, self.now);
        let key = |part| Key { cycle: now, worm: id, part };
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        match &worm.route {
            Route::Path(route) => {
                let arrived = route.entered_by[vertex as usize];
                let at_source = vertex == 1;
                let at = if at_source { self.network.router_of(worm.from) } else { self.network.to(arrived) };
                let stop = route.stops[route.next_stop];
                let delivers = self.network.router_of(stop) == at;
                let target = if delivers { route.stops.get(route.next_stop + 1).copied() } else { Some(stop) };
                match (target, route.exit) {
                    (None, _) => {}
                    (Some(_), Some(exit)) if at_source => candidates.push(exit),
                    (Some(target), _) => {
                        let arrived = (!at_source).then_some(arrived);
                        let target = self.network.router_of(target);
                        self.routing.candidates(self.network, at, arrived, target, &mut candidates);
                        if candidates.is_empty() {
                            self.stranded = Some(NoRoute { routing: self.routing.name(), from: at, to: target });
                            self.candidates = candidates;
                            return;
                        }
                    }
                }
                if !delivers && let Some(link) = self.arbiter.take_link(&candidates, slot) {
                    self.granted_link(slot, vertex, link);
                } else {
                    let pool = delivers.then_some(Pool::Consumption(stop, class));
                    self.ask(key(vertex), slot, vertex, Wanted { pool, links: &candidates, all_links: false });
                }
            }
            Route::Tree(route) => {
                let pool = route.vertices[vertex as usize].delivers.map(|node| Pool::Consumption(node, class));
                let children: Vec<usize> = route.children(vertex as usize).collect();
                candidates.extend(children.iter().map(|&child| route.vertices[child].entered_by));
                let apart = self.config.replication == Replication::Independent
                    && self.config.reservation == Reservation::Separate;
                if apart {
                    if pool.is_some() {
                        self.ask(key(vertex), slot, vertex, Wanted { pool, links: &[], all_links: true });
                    }
                    for (&child, link) in children.iter().zip(&candidates) {
                        let wanted = Wanted { pool: None, links: std::slice::from_ref(link), all_links: true };
                        self.ask(key(child as u32), slot, vertex, wanted);
                    }
                } else {
                    self.ask(key(vertex), slot, vertex, Wanted { pool, links: &candidates, all_links: true });
                }
            }
        }
        self.candidates = candidates;
    }

    /// Makes a request; it may be granted at once.
    fn ask(&mut self, key: Key, slot: u32, vertex: u32, wanted: Wanted<'_>) {
        let mut grant = std::mem::take(&mut self.grant);
        if self.arbiter.ask(key, slot, vertex, wanted, &mut grant) {
            self.apply(&grant);
        } else {
            self.worms[slot as usize].requests += 1;
        }
        self.grant = grant;
    }

    /// Hands a path worm a link.
    fn granted_link(&mut self, slot: u32, vertex: u32, link: ChannelId) {
        let worm = &mut self.worms[slot as usize];
        self.observer.granted(self.now, worm.id, link);
        if let Route::Path(route) = &mut worm.route {
            route.push(link, 0);
        }
        self.granted.push((slot, vertex));
    }

    /// Hands a worm what it was granted.
    fn apply(&mut self, grant: &Grant) {
        let worm = &mut self.worms[grant.worm as usize];
        for channel in grant.pooled.into_iter().chain(grant.links.iter().map(|&(link, _)| link)) {
            self.observer.granted(self.now, worm.id, channel);
        }
        let v = grant.vertex as usize;
        if v == 0 {
            if let Some(channel) = grant.pooled {
                worm.first_hop(channel);
            }
        } else {
            match &mut worm.route {
                Route::Path(route) => {
                    if let Some(channel) = grant.pooled {
                        route.consumption[v] = channel.raw();
                        route.next_stop += 1;
                    }
                    match grant.links.first() {
                        Some(&(link, virtual_channel)) => route.push(link, virtual_channel),
                        None => route.complete = true,
                    }
                }
                Route::Tree(route) => {
                    worm.waited += self.now - grant.requested;
                    if let Some(channel) = grant.pooled {
                        route.vertices[v].consumption = channel.raw();
                    }
                    let mut child = route.vertices[v].first_child;
                    while child != NONE {
                        let vertex = &mut route.vertices[child as usize];
                        if let Some(&(_, vc)) = grant.links.iter().find(|&&(link, _)| link == vertex.entered_by) {
                            (vertex.reserved, vertex.virtual_channel) = (true, vc);
                        }
                        child = vertex.sibling;
                    }
                    route.vertices[v].granted = true;
                }
            }
        }
        self.granted.push((grant.worm, grant.vertex));
    }

    /// A header flit of a path worm enters the router at a vertex in this cycle: returns when it is stripped, if it is an address
    /// flit that names the router. The next flit is the header there.
    pub(crate) fn strip_time(&mut self, slot: u32, vertex: u32) -> Option<Cycle> {
        let Route::Path(route) = &mut self.worms[slot as usize].route else { return None };
        let stop = route.stops[route.next_stop];
        route.named = self.config.header == Header::AllDestinations
            && vertex > 1
            && self.network.to(route.entered_by[vertex as usize]) == self.network.router_of(stop);
        route.named.then(|| self.now + 1 + Cycle::from(self.config.strip_delay))
    }

    /// A header that enters the router at a vertex in cycle `at`, or is freed there by a flit that is stripped in `at`, spends its
    /// routing delay and then requests.
    pub(crate) fn route_header(&mut self, slot: u32, vertex: u32, at: Cycle) {
        let worm = &mut self.worms[slot as usize];
        worm.timers += 1;
        let routed = at + 1 + Cycle::from(self.config.routing_delay);
        self.calendar.push(routed, Event::Routed(worm.id, slot, vertex));
    }

    /// Asks for a slot to be among `reminded` in a later cycle.
    pub(crate) fn remind(&mut self, at: Cycle, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        worm.timers += 1;
        self.calendar.push(at, Event::Reminder(worm.id, slot));
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

    /// The last flit of a path worm leaves a vertex, the first that it has not left yet: releases what the worm holds for it, and
    /// delivers. Returns whether that was the last vertex; the worm is gone then.
    pub(crate) fn leave_path(&mut self, slot: u32, vertex: usize) -> bool {
        let stripping = self.config.header == Header::AllDestinations;
        let worm = &mut self.worms[slot as usize];
        let (flits, header) = (worm.flits, worm.header);
        let Route::Path(route) = &mut worm.route else { return false };
        debug_assert_eq!(route.tail, vertex);
        route.tail = vertex + 1;
        let done = route.complete && vertex == route.last();
        if vertex > 0 {
            let (channel, virtual_channel) = (route.entered_by[vertex], route.virtual_channel[vertex]);
            let consumption = route.consumption[vertex];
            let crossed = flits - route.stripped;
            route.stripped += u32::from(stripping && consumption != NONE);
            self.release(slot, channel, virtual_channel, crossed);
            if consumption != NONE {
                let consumed = if stripping { flits - header } else { flits };
                self.release(slot, ChannelId::new(consumption), 0, consumed);
                let node = self.network.node_of(self.router_at(slot, vertex as u32));
                self.deliver(slot, vertex, node);
            }
        }
        if done {
            self.finish(slot);
        }
        done
    }

    /// The last flit of a tree worm leaves a vertex on its last branch: releases the channel that leads there.
    pub(crate) fn leave_tree(&mut self, slot: u32, vertex: usize) {
        let Route::Tree(route) = &mut self.worms[slot as usize].route else { return };
        let at = &mut route.vertices[vertex];
        at.reserved = false;
        let (channel, virtual_channel, crossed) = (at.entered_by, at.virtual_channel, at.total);
        if vertex > 0 {
            self.release(slot, channel, virtual_channel, crossed);
        }
    }

    /// The last flit of a tree worm crosses the consumption channel at a vertex: releases it and delivers.
    pub(crate) fn consume_tree(&mut self, slot: u32, vertex: usize) {
        let Route::Tree(route) = &mut self.worms[slot as usize].route else { return };
        let at = &mut route.vertices[vertex];
        let consumption = std::mem::replace(&mut at.consumption, NONE);
        if let (Some(node), true) = (at.delivers, consumption != NONE) {
            let consumed = at.total - at.script.len() as u32;
            self.release(slot, ChannelId::new(consumption), 0, consumed);
            self.deliver(slot, vertex, node);
        }
    }

    /// The last data flit crosses a consumption channel at a vertex: reports the delivery and triggers what waits for it.
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
        match &worm.route {
            Route::Path(route) => {
                let stripping = self.config.header == Header::AllDestinations;
                self.strips.clear();
                self.strips.extend(route.consumption[1..].iter().map(|&channel| stripping && channel != NONE));
                if let Some(last) = self.strips.last_mut() {
                    // Its consumption channel may still have to be granted.
                    *last |= route.named;
                }
                path_delivery(timing, &self.strips, vertex - 1)
            }
            Route::Tree(route) => {
                let common = self.config.replication == Replication::Lockstep && self.config.header != Header::Tree;
                if common {
                    lockstep_tree_delivery(timing, &route.heights_above(vertex))
                } else {
                    (self.now + 1 - worm.prepared).saturating_sub(worm.waited)
                }
            }
        }
    }

    /// A worm whose last flit has left its last vertex.
    pub(crate) fn finish(&mut self, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        debug_assert!(worm.requests == 0 && worm.timers == 0);
        worm.live = false;
        if let Route::Tree(_) = worm.route {
            worm.route = Route::Path(PathRoute::default());
        }
        self.free_worms.push(slot);
    }

    /// The router at a vertex of a worm.
    fn router_at(&self, slot: u32, vertex: u32) -> RouterId {
        let worm = &self.worms[slot as usize];
        let entered_by = match &worm.route {
            _ if vertex <= 1 => return self.network.router_of(worm.from),
            Route::Path(route) => route.entered_by[vertex as usize],
            Route::Tree(route) => route.vertices[vertex as usize].entered_by,
        };
        self.network.to(entered_by)
    }
}

/// How an engine goes from cycle to cycle.
pub(crate) trait Steps<'a> {
    /// Who watches.
    type Observer: Observer;

    /// What it stands on.
    fn core(&mut self) -> &mut Core<'a, Self::Observer>;

    /// The first cycle, from now on, in which anything happens.
    fn next_event(&self) -> Option<Cycle>;

    /// Simulates cycle `now` and makes the next one `now`.
    fn cycle(&mut self);

    /// Worms that wait for each other for ever.
    fn find_deadlock(&self) -> Option<Deadlock>;
}

/// Runs an engine: see [`Engine::run_until`](crate::Engine::run_until).
pub(crate) fn run_until<'a>(engine: &mut impl Steps<'a>, end: Cycle) -> Progress {
    while engine.core().now < end {
        match engine.next_event() {
            Some(at) if at < end => engine.core().now = at,
            None if engine.core().arbiter.pending() > 0 => {
                let dead = engine.find_deadlock();
                return Progress::Deadlock(dead.unwrap_or_else(|| unreachable!("worms wait for nothing")));
            }
            _ => {
                if end != Cycle::MAX {
                    engine.core().now = end;
                }
                break;
            }
        }
        engine.cycle();
        let core = engine.core();
        if let Some(no_route) = core.stranded.take() {
            return Progress::Stranded(no_route);
        }
        if core.observer.done() {
            return Progress::Stopped;
        }
        if core.deadlock_search_is_due()
            && let Some(deadlock) = engine.find_deadlock()
        {
            return Progress::Deadlock(deadlock);
        }
    }
    Progress::Reached
}

impl Worm {
    /// The injection channel is granted.
    fn first_hop(&mut self, injection: ChannelId) {
        match &mut self.route {
            Route::Path(route) => route.push(injection, 0),
            Route::Tree(route) => {
                route.vertices[0].granted = true;
                route.vertices[1].reserved = true;
                route.vertices[1].entered_by = injection;
            }
        }
    }
}
