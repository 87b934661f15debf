//! The part that all worm engines share: which worm may use which channel when (model.md, rules 1, 3, 5 to 15).
//!
//! The core runs everything up to the movement phase of a cycle: triggers, startups, requests and arbitration. Engines differ in
//! how they let the flits follow the headers, and tell the core when a header has arrived and when a tail leaves.

pub(crate) mod arbiter;
mod at_end;
mod channels;
mod deadlock;
pub(crate) mod departures;
mod event;
mod headers;
mod hold;
pub(crate) mod part;
mod queues;
mod requests;
mod startups;
mod tree_route;
pub(crate) mod worm;

use wormcast_multicast::{Itinerary, Plan};
use wormcast_network::{ChannelId, ChannelSpace, Network, RouterId};
use wormcast_routing::{
    NoRoute, RoutingCapabilities, RoutingRelation, Spread, TreeDescent, VcRange, VirtualChannels, Waypoints,
};

use crate::calendar::Calendar;
use crate::config::StartupMode;
use crate::config::delay::Lags;
use crate::config::switching::SelectionPolicy;
use crate::engine::{EngineConfig, has_room};
use crate::observers::observer::{Cycle, Observer};
use crate::selection::Selector;
use arbiter::{Arbiter, Grant, NONE, Pool};
use channels::{Channels, Reports};
pub(crate) use deadlock::Search;
pub(crate) use event::{Event, Kind};
use headers::{Headers, Routed};
use part::Part;
use requests::Divided;
use startups::NodeState;
use worm::{Flits, HopPool, Route, WormState};

/// So many headers are looked at together, if they are not few.
const TOGETHER: usize = 32;
const FEW: usize = 8;

/// The links of a network whose channels and worms do not fit into a cache.
const SCATTERED: usize = 1 << 15;

/// Cycles between searches for deadlocks among worms while others still move.
const DEADLOCK_INTERVAL: Cycle = 1 << 13;

/// When in a cycle paths start and deliver, which in some engines concerns later cycles and the worm alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// In the movement phase: where somebody is told of all that happens in its order, and where worms branch, as these may have several requests, the order of which counts.
    OfPhases,
    /// As soon as a path has its port, and when the cycle of a delivery begins.
    AtOnce,
    /// The same, and those that need no startup come behind all other worms: only others of the same node care when in the cycle they start.
    AtOnceAndLast,
}

/// The shared part of an engine. Memory: 16 bytes a link, 8 a port where nodes have several, 48 a node, and for each worm 256 bytes and 32 to 64 a channel that
/// it holds.
pub(crate) struct Core<'a, O, F: Flits> {
    pub(crate) network: &'a Network,
    pub(crate) routing: &'a dyn RoutingRelation,
    /// Parallel channels, where headers choose among those that are free.
    spread: Option<&'a dyn Spread>,
    pub(crate) descent: Option<&'a dyn TreeDescent>,
    /// Which virtual channels headers may take.
    division: Option<&'a dyn VirtualChannels>,
    /// Over which routers worms go first.
    waypoints: Option<&'a dyn Waypoints>,
    /// Whether what headers look at is spread over more memory than fits into a cache.
    scattered: bool,
    /// Whether paths ask for what the relation offers them and nothing else.
    plain: bool,
    /// Whether the relation is asked for ways of paths: where it says none, it is asked for lists alone.
    finds_ways: bool,
    /// When in a cycle paths start and deliver.
    order: Order,
    pub(crate) config: EngineConfig,
    pub(crate) now: Cycle,
    pub(crate) next_worm: u64,
    pub(crate) worms: Vec<WormState<F>>,
    free_worms: Vec<u32>,
    hops: HopPool,
    nodes: Vec<NodeState>,
    pub(crate) channels: Channels,
    pub(crate) reports: Reports<O>,
    /// Headers that have been granted what they asked for in this cycle: (slot, vertex). Vertex 0: the injection channel, at the
    /// end of the startup if that is later.
    pub(crate) granted: Vec<(u32, u32)>,
    /// Slots whose reminder has come in this cycle.
    pub(crate) reminded: Vec<u32>,
    /// Slots of the worms that were taken in last.
    pub(crate) submitted: Vec<u32>,
    /// Those that are ready in this cycle, in the order of their ids, which are greater than those of all that the calendar has for it.
    fresh: Vec<u32>,
    /// Memory that path worms have given back.
    pub(crate) spare: F::Spare,
    /// A header that found no channel to go on: the run ends with an error.
    pub(crate) no_route: Option<NoRoute>,
    next_deadlock_search: Cycle,
    pub(crate) search: Search,
    // Scratch, kept for its memory.
    grant: Grant,
    candidates: Vec<ChannelId>,
    /// The virtual channels of each candidate, where the relation divides them.
    ranges: Vec<VcRange>,
    divided: Divided,
    children: Vec<u32>,
    pools: Vec<Pool>,
}

impl<'a, O: Observer, F: Flits> Core<'a, O, F> {
    /// An empty network in cycle 0.
    pub(crate) fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        let network = &**routing.network();
        let RoutingCapabilities { spread, descent, virtual_channels: division, waypoints, .. } = routing.capabilities();
        let space = ChannelSpace::new(network, config.ports);
        // Most deliveries and releases are known less than this ahead.
        let horizon = [config.startup, config.receive_overhead + 1, 1 << 10];
        let mut arbiter = Arbiter::new(
            network,
            space,
            config.virtual_channels,
            Selector::new(config.selection, config.seed, space.links()),
        );
        if waypoints.is_some() {
            arbiter.count_loads();
        }
        let spread = spread.filter(|_| config.selection != SelectionPolicy::First);
        let lags = Lags::new(config.delay, network);
        let one_channel = config.virtual_channels == 1 && lags.is_empty();
        let plain_links = one_channel && !arbiter.selector.counts_flits() && !config.header.strips_paths();
        let plain = spread.is_none() && division.is_none() && waypoints.is_none() && config.virtual_channels == 1;
        let order = match config.startup_mode {
            _ if !F::AT_ONCE || O::RELEASES || O::WAITS || O::PART => Order::OfPhases,
            StartupMode::Serial if config.startup == 0 => Order::AtOnceAndLast,
            _ => Order::AtOnce,
        };
        Self {
            network,
            routing,
            spread,
            plain,
            finds_ways: plain,
            order,
            scattered: network.channels() >= SCATTERED,
            descent,
            division,
            waypoints,
            config,
            now: 0,
            next_worm: 0,
            worms: Vec::new(),
            free_worms: Vec::new(),
            hops: HopPool::new(network.channels() >= SCATTERED),
            nodes: vec![NodeState::IDLE; network.nodes()],
            channels: Channels {
                space,
                arbiter,
                calendar: Calendar::new(u64::from(horizon.into_iter().max().unwrap_or(0)) + 1),
                headers: Headers::default(),
                asked: Vec::new(),
                delivering: Vec::new(),
                ports_start_worms: config.startup_mode == StartupMode::PerPort,
                plain_links,
                shared_links: config.has_streams(),
                lags,
                part: Part::default(),
            },
            reports: Reports { observer, flit_hops: 0, links: space.links() },
            granted: Vec::new(),
            reminded: Vec::new(),
            submitted: Vec::new(),
            fresh: Vec::new(),
            spare: F::Spare::default(),
            no_route: None,
            next_deadlock_search: DEADLOCK_INTERVAL,
            search: Search::default(),
            grant: Grant::default(),
            candidates: Vec::new(),
            ranges: Vec::new(),
            divided: Divided::default(),
            children: Vec::new(),
            pools: Vec::new(),
        }
    }

    /// Whether no worm is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.free_worms.len() == self.worms.len()
    }

    /// Worms that are left.
    pub(crate) fn live(&self) -> u64 {
        (self.worms.len() - self.free_worms.len()) as u64
    }

    /// The first cycle, from now on, that has something to do before its movement phase.
    #[inline]
    pub(crate) fn next_event(&self) -> Option<Cycle> {
        let headers = self.channels.headers.next();
        if headers == Some(self.now) || self.channels.calendar.is_due(self.now) || !self.fresh.is_empty() {
            return Some(self.now);
        }
        headers.into_iter().chain(self.channels.calendar.next(self.now)).min()
    }

    /// Whether it is time to look for deadlocks; asked after each cycle.
    #[inline]
    pub(crate) fn deadlock_search_is_due(&mut self) -> bool {
        let due = self.now >= self.next_deadlock_search;
        if due {
            // A search looks at every worm: with millions of them, less often.
            self.next_deadlock_search = self.now + DEADLOCK_INTERVAL.max(self.worms.len() as Cycle / 16);
        }
        due
    }

    /// Makes room for so many more worms (see [`Engine::has_room`](crate::Engine::has_room)).
    #[inline]
    pub(crate) fn has_room(&mut self, worms: usize) -> bool {
        worms <= self.free_worms.len() || has_room(&mut self.worms, worms.saturating_sub(self.free_worms.len()))
    }

    /// Takes in the worms of a message (see [`Engine::submit_from`](crate::Engine::submit_from)); leaves their slots in
    /// `submitted`.
    pub(crate) fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: &mut Plan) {
        debug_assert!(at >= self.now && length > 0);
        let first_id = self.next_worm;
        self.next_worm += plan.worms.len() as u64;
        self.submitted.clear();
        for (index, planned) in plan.worms.iter_mut().enumerate() {
            let slot = self.free_worms.pop().unwrap_or_else(|| {
                self.worms.push(WormState::default());
                self.worms.len() as u32 - 1
            });
            self.submitted.push(slot);
            let worm = &mut self.worms[slot as usize];
            debug_assert!(!worm.live && worm.requests == 0 && worm.timers == 0);
            (worm.id, worm.message, worm.live) = (first_id + index as u64, message, true);
            (worm.from, worm.class) = (planned.from, planned.consumption_class);
            worm.virtual_channels = planned.virtual_channels.unwrap_or(VcRange::ANY);
            (worm.triggered, worm.waited) = (false, 0);
            // Those that another triggers are ready later.
            worm.ready = at;
            worm.started = Cycle::MAX;
            (worm.first_child, worm.sibling, worm.queued_behind) = (NONE, NONE, NONE);
            worm.header = self.config.header.flits(&planned.itinerary, self.config.header_flits);
            worm.flits = worm.header + length;
            match &mut planned.itinerary {
                Itinerary::Path(path) => {
                    if let Route::Tree(..) = worm.route {
                        worm.route = Route::default();
                    }
                    if let Route::Path(route, flits) = &mut worm.route {
                        route.reset(&mut path.stops, path.exit, self.network);
                        F::reset(flits);
                    }
                }
                Itinerary::Encoded(_) => unreachable!("`simulate` refuses them: they need buffered switches"),
                Itinerary::Tree(tree) => {
                    self.order = Order::OfPhases;
                    self.channels.arbiter.takes_branching();
                    let route = tree_route::route(std::mem::take(tree), worm.flits, length, self.config.header);
                    let flits = F::of_tree(&route, worm.header, worm.flits, &self.config);
                    worm.route = Route::Tree(Box::new(route), flits);
                }
            }
            let id = worm.id;
            match planned.after {
                None if at == self.now => self.fresh.push(slot),
                None => self.channels.calendar.push(at, Event::of_worm(Kind::Ready, id, slot, 0)),
                Some(trigger) => {
                    let trigger = self.submitted[trigger as usize];
                    let first = std::mem::replace(&mut self.worms[trigger as usize].first_child, slot);
                    self.worms[slot as usize].sibling = first;
                }
            }
        }
    }

    /// The phases of cycle `now` up to arbitration. Fills `granted` and `reminded`.
    pub(crate) fn begin_cycle(&mut self) {
        self.granted.clear();
        self.reminded.clear();
        self.channels.delivering.clear();
        self.channels.arbiter.begin(self.now);
        // Before what is granted to others in this cycle adds some for later ones.
        let (mut place, end) = (0, self.channels.headers.take(self.now));
        if self.channels.calendar.comes_to(self.now) {
            self.take_events();
        } else if self.order != Order::AtOnceAndLast && !self.fresh.is_empty() {
            self.start_fresh();
        }
        while place < end {
            let mut together = end;
            if self.scattered && end - place >= FEW {
                together = end.min(place + TOGETHER);
                self.fetch((place..together).map(|place| self.channels.headers.at(place).slot));
            }
            while place < together {
                let Routed { slot, vertex, .. } = self.channels.headers.at(place);
                self.request(slot, vertex);
                place += 1;
            }
        }
        // Behind those of all other worms, their headers are in order.
        if !self.fresh.is_empty() {
            self.start_fresh();
        }
        if self.channels.arbiter.has_work() {
            self.serve_requests();
        }
    }

    /// Reads what these worms will look at: all of them at once, so that memory is waited for together, and not for each in turn. Each loop needs what the one
    /// before it has read.
    #[inline(never)]
    fn fetch(&self, slots: impl Iterator<Item = u32> + Clone) {
        let worms = slots.filter_map(|slot| self.worms.get(slot as usize));
        let mut read = 0;
        for worm in worms.clone() {
            read ^= worm.read();
        }
        let mut links = [0; 3 * TOGETHER];
        let mut count = 0;
        for worm in worms {
            if let Route::Path(route, flits) = &worm.route {
                let left = route.leads_to(F::settled(flits));
                read ^= route.read();
                let [first, last] = route.next_channels(self.network);
                (links[count], links[count + 1], links[count + 2]) = (left, first, last);
                // Where it is known, there is only one.
                count += 2 + usize::from(first != last);
            }
        }
        for &link in &links[..count] {
            read ^= self.channels.arbiter.read(link);
        }
        std::hint::black_box(read);
    }

    /// As [`fetch`](Self::fetch), for the worms that these events are about: for a channel that is free again, the first one that waits for it.
    #[inline(never)]
    fn fetch_events(&self, events: &[Event]) {
        let arbiter = &self.channels.arbiter;
        let read = events
            .iter()
            .filter(|event| event.kind() == Kind::Wake)
            .fold(0, |read, event| read ^ arbiter.read(event.queue()));
        std::hint::black_box(read);
        let mut slots = [0; TOGETHER];
        for (slot, event) in slots.iter_mut().zip(events) {
            *slot = if event.kind() == Kind::Wake { arbiter.first_waiting(event.queue()) } else { event.slot };
        }
        self.fetch(slots.iter().copied().take(events.len()));
    }

    /// The events of the cycle.
    #[inline(never)]
    fn take_events(&mut self) {
        let due = self.channels.calendar.take(self.now);
        for place in 0..due {
            if self.scattered && place.is_multiple_of(TOGETHER) && due - place >= FEW {
                self.fetch_events(&self.channels.calendar.taken()[place..due.min(place + TOGETHER)]);
            }
            let event = self.channels.calendar.taken()[place];
            let (slot, kind) = (event.slot, event.kind());
            if kind != Kind::Ready && !self.fresh.is_empty() && self.order != Order::AtOnceAndLast {
                self.start_fresh();
            }
            match kind {
                Kind::Ready => self.ready(slot),
                Kind::Free => self.start_worms(event.node()),
                Kind::Prepared => self.prepared(slot),
                Kind::Reminder => {
                    self.worms[slot as usize].timers -= 1;
                    self.reminded.push(slot);
                }
                Kind::Wake => self.wake(event.queue()),
                Kind::Delivers if self.order != Order::OfPhases => self.deliver_path(slot, event.vertex),
                Kind::Delivers => self.channels.delivering.push(event),
                Kind::Enters => {
                    self.worms[slot as usize].timers -= 1;
                    self.route_header(slot, event.vertex);
                }
            }
        }
        self.channels.calendar.clear();
        if !self.fresh.is_empty() && self.order != Order::AtOnceAndLast {
            self.start_fresh();
        }
    }

    /// The worms that were taken in for this cycle are ready.
    #[inline(never)]
    fn start_fresh(&mut self) {
        for place in 0..self.fresh.len() {
            self.ready(self.fresh[place]);
        }
        self.fresh.clear();
    }

    /// A channel that requests wait for is free.
    fn wake(&mut self, queue: u32) {
        if let Some((slot, vertex, channel, to)) = self.channels.arbiter.grant_one(queue) {
            self.worms[slot as usize].requests -= 1;
            return match to {
                Some(to) => self.take_link(slot, vertex, channel, to),
                None => self.take_port(slot, vertex, channel),
            };
        }
        let mut grant = std::mem::take(&mut self.grant);
        let mut served = false;
        while self.channels.arbiter.grant_first(queue, &mut grant) {
            served = true;
            self.worms[grant.worm as usize].requests -= 1;
            self.apply(&grant);
            if self.channels.arbiter.is_for_one(queue) {
                break;
            }
        }
        self.grant = grant;
        if !(served && self.channels.arbiter.is_for_one(queue)) {
            self.channels.arbiter.wake(queue);
        }
    }

    /// The cycle's pass of arbitration.
    fn serve_requests(&mut self) {
        let mut grant = std::mem::take(&mut self.grant);
        while self.channels.arbiter.next_grant(&mut grant) {
            self.worms[grant.worm as usize].requests -= 1;
            self.apply(&grant);
        }
        self.grant = grant;
    }

    /// A header that enters the router at a vertex in this cycle spends its routing delay and then requests.
    #[inline]
    pub(crate) fn route_header(&mut self, slot: u32, vertex: u32) {
        let worm = &mut self.worms[slot as usize];
        // A path is routed, or waits for what it asked for.
        worm.timers += u32::from(matches!(worm.route, Route::Tree(..)));
        let routed = self.now + 1 + Cycle::from(self.config.routing_delay);
        self.channels.headers.push(routed, worm.id, slot, vertex, false);
    }

    /// Has a header routed that enters the router in cycle `at`, now or later.
    pub(crate) fn route_header_from(&mut self, at: Cycle, slot: u32, vertex: u32) {
        if at == self.now {
            return self.route_header(slot, vertex);
        }
        let worm = &mut self.worms[slot as usize];
        worm.timers += 1;
        self.channels.calendar.push(at, Event::of_worm(Kind::Enters, worm.id, slot, vertex));
    }

    /// Asks for a slot to be among `reminded` in a later cycle.
    pub(crate) fn remind(&mut self, at: Cycle, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        worm.timers += 1;
        self.channels.calendar.push(at, Event::of_worm(Kind::Reminder, worm.id, slot, 0));
    }

    /// A worm whose last flit has left its last vertex.
    pub(crate) fn finish(&mut self, slot: u32) {
        let worm = &mut self.worms[slot as usize];
        debug_assert!(worm.requests == 0 && worm.timers == 0);
        worm.live = false;
        match &mut worm.route {
            Route::Path(route, _) => route.retire(&mut self.hops),
            Route::Tree(..) => worm.route = Route::default(),
        }
        self.free_worms.push(slot);
    }

    /// The router at a vertex of a worm that it has not left.
    pub(crate) fn router_at(&self, slot: u32, vertex: u32) -> RouterId {
        let worm = &self.worms[slot as usize];
        let entered_by = match &worm.route {
            _ if vertex <= 1 => return self.network.entry_of(worm.from),
            Route::Path(route, _) => route.entered_by(vertex),
            Route::Tree(route, _) => route.vertices[vertex as usize].entered_by,
        };
        self.network.to(entered_by)
    }
}
