//! The state of a worm apart from its flits: its sender, how far it has got, and what it holds there.
//!
//! Vertex 0 is the sender's processor, vertex 1 its router, the others are the routers that the worm has entered or reserved
//! a channel to, each entered by one channel. Between two vertices lies a channel with its buffer.

use std::ops::Range;

use wormcast_multicast::{HeaderFlit, Tree};
use wormcast_network::{ChannelId, Network, NodeId, RouterId, Shape};
use wormcast_routing::{RoutingRelation, Straight, VcRange};

use super::arbiter::NONE;
use super::channels::{Channels, Reports};
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, LatencyParts, Observer};

/// A departure whose cycle is not known yet.
pub(crate) const UNKNOWN: Cycle = Cycle::MAX;

/// A worm in an engine.
///
/// What the message needs is in the first cache line, what every hop looks at in the next two, what few worms need behind them: in that order, and not in the compiler's.
#[repr(C, align(64))]
pub struct WormState<F: Flits> {
    pub(crate) message: u64,
    /// When it was ready for its startup, when that began and when it ended.
    pub(crate) ready: Cycle,
    pub(crate) started: Cycle,
    pub(crate) prepared: Cycle,
    pub(crate) from: NodeId,
    /// The next worm in its sender's startup queue.
    pub(crate) queued_behind: u32,
    /// Worms that its deliveries trigger, as a list through `sibling`.
    pub(crate) first_child: u32,
    pub(crate) sibling: u32,
    /// Headers of a tree that are spending their routing delay, and reminders.
    pub(crate) timers: u32,
    /// The one consumption channel that it may use at each node.
    pub(crate) class: Option<u8>,
    /// Whether another one has triggered it.
    pub(crate) triggered: bool,
    /// Cycles that the requests of a tree have waited so far (see `Core::network_time`).
    pub(crate) waited: u64,
    pub(crate) id: u64,
    /// Header and data flits that its sender injects.
    pub(crate) flits: u32,
    /// Header flits among them.
    pub(crate) header: u32,
    /// Requests that wait.
    pub(crate) requests: u32,
    /// The virtual channels that it may take of links.
    pub(crate) virtual_channels: VcRange,
    /// Whether the slot is in use.
    pub(crate) live: bool,
    pub(crate) route: Route<F>,
    /// The parts of the latency until it was ready, if it was triggered.
    pub(crate) carried: LatencyParts,
}

impl<F: Flits> WormState<F> {
    /// Reads what every hop looks at, for a cache to have it; the number means nothing.
    #[inline]
    pub(super) fn read(&self) -> u32 {
        let Route::Path(route, flits) = &self.route else { return 0 };
        self.flits ^ route.tail ^ F::settled(flits)
    }
}

impl<F: Flits> Default for WormState<F> {
    fn default() -> Self {
        Self {
            id: 0,
            message: 0,
            from: NodeId::new(0),
            class: None,
            triggered: false,
            virtual_channels: VcRange::ANY,
            flits: 0,
            header: 0,
            ready: 0,
            started: 0,
            prepared: 0,
            carried: LatencyParts::default(),
            waited: 0,
            first_child: NONE,
            sibling: NONE,
            queued_behind: NONE,
            timers: 0,
            requests: 0,
            live: false,
            route: Route::default(),
        }
    }
}

/// Where it has got to, and what is known of its flits there. In this order, too.
#[repr(C)]
pub(crate) enum Route<F: Flits> {
    Path(PathRoute, F::OfPath),
    /// In memory of its own, as there may be millions of worms, and paths need less.
    Tree(Box<TreeRoute>, F::OfTree),
}

impl<F: Flits> Default for Route<F> {
    fn default() -> Self {
        Self::Path(PathRoute::default(), F::OfPath::default())
    }
}

/// What an engine knows of the flits of worms.
pub trait Flits {
    /// Of a worm that follows a path.
    type OfPath: Default;
    /// Of a worm that branches.
    type OfTree;

    /// Memory that path worms take and give back.
    type Spare: Default;

    /// Forgets the path worm that was there before, but keeps its memory.
    fn reset(flits: &mut Self::OfPath);

    /// The lags of the links that a path worm has taken, from its sender's router on; empty if links take one cycle.
    fn lags(_: &Self::OfPath) -> &[u32] {
        &[]
    }

    /// Whether what follows from a path's start or delivery in the same cycle concerns the same worm alone, so that it does not matter when in the cycle that is seen to.
    const AT_ONCE: bool = false;

    /// A path worm was granted its injection channel in this cycle and is prepared. What follows from it that has still to be done.
    fn starts<O: Observer>(
        _worm: &mut WormState<Self>,
        _at: Place,
        _surroundings: Surroundings<'_, O, Self::Spare>,
    ) -> Follows
    where
        Self: Sized,
    {
        Follows::Movement
    }

    /// A path worm has delivered everything: gives its memory back.
    fn retire(_: &mut Self::OfPath, _: &mut Self::Spare) {}

    /// The first vertex of a path worm whose departure is not known.
    fn settled(_: &Self::OfPath) -> u32 {
        u32::MAX
    }

    /// Of a tree worm that has not begun, with so many header flits and flits in all.
    fn of_tree(route: &TreeRoute, header: u32, flits: u32, config: &EngineConfig) -> Self::OfTree;

    /// A path worm's header was granted what it needs at a vertex behind the first, in this cycle. What follows from it that has still to be done.
    fn goes_on<O: Observer>(
        _worm: &mut WormState<Self>,
        _at: Place,
        _surroundings: Surroundings<'_, O, Self::Spare>,
    ) -> Follows
    where
        Self: Sized,
    {
        Follows::Movement
    }

    /// Finds the departures that follow from that.
    fn settle<O: Observer>(_worm: &mut WormState<Self>, _at: Place, _surroundings: Surroundings<'_, O, Self::Spare>)
    where
        Self: Sized,
    {
    }
}

/// What follows from a grant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Nothing more.
    Nothing,
    /// Departures, which [`Flits::settle`] finds.
    Departures,
    /// What the movement phase does: the worm is put among those that were `granted` something in this cycle.
    Movement,
}

/// A vertex of a worm, and when something happens there.
#[derive(Clone, Copy)]
pub struct Place {
    pub(crate) slot: u32,
    pub(crate) vertex: u32,
    pub(crate) now: Cycle,
}

/// What worms share.
pub struct Surroundings<'a, O, S> {
    pub(crate) config: &'a EngineConfig,
    pub(crate) spare: &'a mut S,
    pub(crate) channels: &'a mut Channels,
    pub(crate) reports: &'a mut Reports<O>,
}

/// The route of a path worm, as far as it holds anything there: its memory depends on the worm's extent in the network, not on the whole route.
///
/// In this order, for what every hop looks at.
#[repr(C)]
pub(crate) struct PathRoute {
    /// A ring, as large as a power of two, with the vertices from the one before `tail`, from where flits enter that, to the one where the header is, or is heading for.
    /// What is there of the last one means nothing until the header has left it.
    hops: Box<[Hop]>,
    /// The vertices so far, and the first of those in the ring: at most `tail - 1`.
    pub(super) end: u32,
    origin: u32,
    /// The first vertex that flits have still to leave, or whose release has still to be reported.
    pub(crate) tail: u32,
    /// The router of the last vertex.
    pub(crate) at: RouterId,
    /// What is known of the way ahead.
    way: Way,
    pub(crate) heads_for: RouterId,
    /// The position in `stops` of the next stop, whose router that is.
    next_stop: u32,
    /// The stop, if there is only one; several are in `rest`.
    only_stop: NodeId,
    /// The consumption channel of the only stop.
    consumption: ChannelId,
    /// Whether the address flit that has arrived at the last vertex names it.
    pub(crate) named: bool,
    /// Whether the last vertex is the last stop and its consumption channel is granted.
    pub(crate) complete: bool,
    several_stops: bool,
    /// Whether `rest` is about this worm, and not about another one that was in its slot before.
    has_rest: bool,
    rest: Option<Box<PathRest>>,
}

/// The way of a path as far as it is known: up to four parts of 16 bits, the next one last. In each the worm leaves so many routers, 10 bits, by their output at the same position, 6 bits.
/// A header that turns goes on without having to ask, and without a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way(u64);

impl Way {
    const UNKNOWN: Self = Self(0);
    const PART: u32 = 16;
    const COUNT: u32 = 10;
    const MOST: u32 = (1 << Self::COUNT) - 1;

    #[inline]
    fn of(routing: &dyn RoutingRelation, from: RouterId, target: RouterId, to: impl Fn(ChannelId) -> RouterId) -> Self {
        let network = &**routing.network();
        // Straight parts of meshes go by equal steps, one for each dimension.
        let (even, dimensions) = match network.shape() {
            Shape::Mesh(grid) => (true, grid.axes().len()),
            _ => (false, usize::MAX),
        };
        let (mut way, mut known, mut at) = (0, 0, from);
        for dimension in 1..=dimensions {
            let Some(Straight { first, more, position }) = routing.straight(at, target) else { break };
            let first_position = first.raw() - network.output_places(at).0;
            if position.max(first_position) >= 1 << (Self::PART - Self::COUNT) {
                break;
            }
            // Borders lack channels, so the first position may be another one. Which it is, and whether others follow, is hard to foresee: without a branch.
            way |= u64::from(1 | first_position << Self::COUNT) << known;
            known += Self::PART;
            if known == u64::BITS {
                break;
            }
            let follow = u32::from(more > 0);
            way |= u64::from(follow * (more.min(Self::MOST) | position << Self::COUNT)) << known;
            known += follow * Self::PART;
            if dimension == dimensions || known == u64::BITS || more > 0 && !even || more > Self::MOST {
                break;
            }
            let next = to(first).raw();
            at = RouterId::new(at.raw().wrapping_add(next.wrapping_sub(at.raw()).wrapping_mul(more + 1)));
            if at == target {
                break;
            }
        }
        Self(way)
    }

    /// By which output it goes on.
    #[inline]
    fn next(self) -> Option<u32> {
        (self.0 != 0).then_some((self.0 >> Self::COUNT) as u32 % (1 << (Self::PART - Self::COUNT)))
    }

    /// It does, if that is known.
    #[inline]
    fn goes_on(&mut self) {
        let rest = self.0 - 1;
        let ends = rest & u64::from(Self::MOST) == 0;
        self.0 = rest >> (Self::PART * u32::from(ends));
    }
}

/// The part of a path worm's route that few worms have: unicasts that may take any channel have none of it.
pub(crate) struct PathRest {
    pub(crate) exit: Option<ChannelId>,
    /// A router that it goes to before its first stop.
    pub(crate) waypoint: Option<RouterId>,
    /// (vertex, consumption channel) for the nodes that get the message, in order, if there are several stops.
    consumption: Vec<(u32, ChannelId)>,
    /// How many of them have delivered.
    delivered: usize,
    stops: Vec<NodeId>,
    rare: Option<Box<PathRare>>,
}

impl PathRest {
    const NOTHING: Self =
        Self { exit: None, waypoint: None, consumption: Vec::new(), delivered: 0, stops: Vec::new(), rare: None };

    /// Forgets all of it, but keeps the memory.
    fn clear(&mut self) {
        (self.exit, self.waypoint, self.delivered) = (None, None, 0);
        self.consumption.clear();
        self.stops.clear();
        if let Some(rare) = &mut self.rare {
            rare.clear();
        }
    }
}

/// What fewer have still: in memory of its own, as there may be millions of worms with several stops.
pub(crate) struct PathRare {
    /// By vertex, the virtual channel that leads to it; 0 for those that are not listed.
    virtual_channels: Vec<u32>,
    /// Vertices that the last flit leaves so long after the first that [`Hop`] has no room for it, and when.
    far: Vec<(u32, Cycle)>,
    /// The routers, counted from the sender's, where address flits were stripped so far.
    pub(crate) strips: Vec<u32>,
    /// Address flits stripped at vertices before `tail`.
    pub(crate) stripped: u32,
    /// At those that the header has left, how long after that (worm engine).
    pub(crate) since_strip: Vec<u32>,
    /// When the address flit at the vertex where the header is now is stripped, or `Cycle::MAX` (worm engine).
    pub(crate) strip_at: Cycle,
    /// Vertices before this one have been looked at for when the last flit leaves, if something was stripped (worm engine).
    pub(crate) window_end: u32,
}

impl PathRare {
    const NOTHING: Self = Self {
        virtual_channels: Vec::new(),
        far: Vec::new(),
        strips: Vec::new(),
        since_strip: Vec::new(),
        stripped: 0,
        strip_at: Cycle::MAX,
        window_end: 0,
    };

    /// Forgets all of it, but keeps the memory.
    fn clear(&mut self) {
        (self.stripped, self.strip_at, self.window_end) = (0, Cycle::MAX, 0);
        self.virtual_channels.clear();
        self.far.clear();
        self.strips.clear();
        self.since_strip.clear();
    }
}

/// The places of what is listed for a vertex, from the first one on.
#[inline]
pub(super) fn several_at(listed: &[(u32, ChannelId)], vertex: u32, first: usize) -> Range<usize> {
    debug_assert!(listed.get(first).is_some_and(|at| at.0 == vertex));
    let mut end = first;
    while listed.get(end).is_some_and(|at| at.0 == vertex) {
        end += 1;
    }
    first..end
}

/// A vertex of a path worm: 16 bytes, which are most of what is read and written of a network that does not fit into a cache.
#[derive(Clone, Copy)]
struct Hop {
    /// When the header was granted what it needs here: then the first flit has left (worm engine).
    leaves: Cycle,
    /// The channel by which it is left; `NONE` at the last stop.
    left_by: ChannelId,
    /// How long after that cycle the last flit leaves, `AHEAD` if that is not known yet, or `FAR`; and `DELIVERS` if consumption channels are held here.
    stays: u32,
}

impl Hop {
    const AHEAD: u32 = Self::DELIVERS - 1;
    const FAR: u32 = Self::DELIVERS - 2;
    const DELIVERS: u32 = 1 << 31;
    const NONE: Self = Self { leaves: 0, left_by: ChannelId::new(NONE), stays: Self::AHEAD };
}

/// What is known of a vertex of a path worm.
#[derive(Clone, Copy)]
pub(crate) struct Vertex {
    /// When the last flit leaves, or `UNKNOWN`.
    pub(crate) departs: Cycle,
    /// The channel by which it is entered; `NONE` for vertex 0.
    pub(crate) entered_by: ChannelId,
    /// Whether consumption channels are held here.
    pub(crate) delivers: bool,
}

impl Default for PathRoute {
    fn default() -> Self {
        Self {
            hops: Box::default(),
            end: 0,
            origin: 0,
            tail: 0,
            at: RouterId::new(0),
            way: Way::UNKNOWN,
            heads_for: RouterId::new(0),
            next_stop: 0,
            only_stop: NodeId::new(0),
            named: false,
            complete: false,
            several_stops: false,
            consumption: ChannelId::new(NONE),
            has_rest: false,
            rest: None,
        }
    }
}

impl PathRoute {
    /// Reads where the last vertex is; the number means nothing.
    #[inline]
    pub(super) fn read(&self) -> u32 {
        self.place(self.end.wrapping_sub(1)).map_or(0, |hop| hop.stays)
    }

    /// The channel that leads to a vertex, if it is in the ring, or another one.
    #[inline]
    pub(super) fn leads_to(&self, vertex: u32) -> u32 {
        self.place(vertex.wrapping_sub(1)).map_or(0, |hop| hop.left_by.raw())
    }

    #[inline]
    fn place(&self, vertex: u32) -> Option<&Hop> {
        self.hops.get(vertex as usize & self.hops.len().wrapping_sub(1))
    }

    /// The next channel; where that is not known, the first and the last one that leave the router.
    #[inline]
    pub(super) fn next_channels(&self, network: &Network) -> [u32; 2] {
        let (first, end) = network.output_places(self.at);
        match self.way.next() {
            Some(position) => [first + position; 2],
            None => [first, end.max(1) - 1],
        }
    }

    /// Starts over, before the sender's processor, with the stops of another worm, in whose list nothing else counts any more.
    #[allow(clippy::inline_always, reason = "once a message, from one place")]
    #[inline(always)]
    pub(crate) fn reset(&mut self, stops: &mut Vec<NodeId>, exit: Option<ChannelId>, network: &Network) {
        debug_assert!(self.hops.is_empty());
        (self.has_rest, self.several_stops) = (false, false);
        if let &[stop] = &stops[..] {
            self.only_stop = stop;
        } else {
            self.several_stops = true;
            std::mem::swap(&mut self.rest_mut().stops, stops);
        }
        if exit.is_some() {
            self.rest_mut().exit = exit;
        }
        (self.end, self.origin, self.tail, self.way, self.next_stop) = (0, 0, 0, Way::UNKNOWN, 0);
        self.complete = false;
        self.head_for(network);
    }

    /// The next channel, if it is known.
    #[inline]
    pub(super) fn goes_by(&mut self, network: &Network) -> Option<ChannelId> {
        let position = self.way.next()?;
        self.way.goes_on();
        network.output(self.at, position)
    }

    /// Finds the way to the next stop, as far as the relation says it without a list; returns whether it does.
    #[inline(never)]
    pub(super) fn find_way(&mut self, routing: &dyn RoutingRelation, to: impl Fn(ChannelId) -> RouterId) -> bool {
        if self.at == self.heads_for || self.last() == 1 && self.rest().exit.is_some() {
            return true;
        }
        self.way = Way::of(routing, self.at, self.heads_for, to);
        self.way != Way::UNKNOWN
    }

    /// The next stop, and those directly behind it at the same router.
    #[inline]
    pub(crate) fn next_stops(&self, network: &Network) -> &[NodeId] {
        let stops = self.stops_ahead();
        let here = |&&stop: &&NodeId| network.router_of(stop) == self.heads_for;
        &stops[..stops.iter().take_while(here).count()]
    }

    /// The stops that are ahead.
    #[inline]
    pub(crate) fn stops_ahead(&self) -> &[NodeId] {
        self.stops().get(self.next_stop as usize..).unwrap_or_default()
    }

    /// All stops.
    #[inline]
    pub(crate) fn stops(&self) -> &[NodeId] {
        if self.several_stops { &self.rest().stops } else { std::slice::from_ref(&self.only_stop) }
    }

    #[inline]
    pub(crate) fn rest(&self) -> &PathRest {
        const NOTHING: &PathRest = &PathRest::NOTHING;
        if self.has_rest { self.rest.as_deref().unwrap_or(NOTHING) } else { NOTHING }
    }

    #[inline]
    pub(crate) fn rest_mut(&mut self) -> &mut PathRest {
        let rest = self.rest.get_or_insert_with(|| Box::new(PathRest::NOTHING));
        if !std::mem::replace(&mut self.has_rest, true) {
            rest.clear();
        }
        rest
    }

    #[inline]
    pub(crate) fn rare(&self) -> &PathRare {
        const NOTHING: &PathRare = &PathRare::NOTHING;
        self.rest().rare.as_deref().unwrap_or(NOTHING)
    }

    #[inline]
    pub(crate) fn rare_mut(&mut self) -> &mut PathRare {
        self.rest_mut().rare.get_or_insert_with(|| Box::new(PathRare::NOTHING))
    }

    /// The first stop behind the next so many.
    pub(crate) fn stop_after(&self, stops: usize) -> Option<NodeId> {
        self.stops().get(self.next_stop as usize + stops).copied()
    }

    /// The consumption channels of the next so many stops are granted: there is another to head for, or none.
    pub(crate) fn reach_stops(&mut self, stops: usize, network: &Network) {
        self.next_stop += stops as u32;
        self.head_for(network);
    }

    /// The consumption channel of the last stop is granted.
    #[inline]
    pub(super) fn reach_last_stop(&mut self, now: Cycle, channel: ChannelId) {
        self.next_stop += 1;
        self.add_consumption(channel);
        self.complete(now);
        self.delivers_at(self.last());
    }

    /// Everything is granted.
    #[inline]
    pub(super) fn complete(&mut self, now: Cycle) {
        let last = self.last();
        *self.hop_mut(last) = Hop { leaves: now, ..Hop::NONE };
        self.complete = true;
    }

    /// A consumption channel is granted at the last vertex.
    #[inline]
    pub(super) fn add_consumption(&mut self, channel: ChannelId) {
        if self.several_stops {
            let vertex = self.last();
            self.rest_mut().consumption.push((vertex, channel));
        } else {
            self.consumption = channel;
        }
    }

    /// Consumption channels are held at a vertex that its header leaves in this cycle.
    #[inline]
    pub(super) fn delivers_at(&mut self, vertex: u32) {
        self.hop_mut(vertex).stays |= Hop::DELIVERS;
    }

    /// Whether consumption channels are held at a vertex, or were.
    #[inline]
    pub(crate) fn delivers(&self, vertex: u32) -> bool {
        self.has_left(vertex) && self.hop(vertex).stays & Hop::DELIVERS != 0
    }

    /// The consumption channels held at a vertex.
    #[inline]
    pub(crate) fn consumption(&self, vertex: u32) -> impl Iterator<Item = ChannelId> {
        let places = if self.delivers(vertex) { self.places_of_consumption(vertex) } else { 0..0 };
        places.map(|place| self.consumption_at(place))
    }

    /// All consumption channels of a worm that has several stops, with their vertices.
    pub(super) fn several(&self) -> Option<&[(u32, ChannelId)]> {
        self.several_stops.then(|| &self.rest().consumption[..])
    }

    /// The places of those among all of the worm, where some are held.
    #[inline]
    pub(super) fn places_of_consumption(&self, vertex: u32) -> Range<usize> {
        if !self.several_stops {
            return 0..1;
        }
        let several = &self.rest().consumption;
        several_at(several, vertex, several.partition_point(|at| at.0 < vertex))
    }

    /// The same, of the next vertex that delivers.
    #[inline]
    pub(super) fn takes_deliveries(&mut self, vertex: u32) -> Range<usize> {
        if !self.several_stops {
            return 0..1;
        }
        let rest = self.rest_mut();
        let places = several_at(&rest.consumption, vertex, rest.delivered);
        rest.delivered = places.end;
        places
    }

    /// The one at a place.
    #[inline]
    pub(super) fn consumption_at(&self, place: usize) -> ChannelId {
        if self.several_stops { self.rest().consumption[place].1 } else { self.consumption }
    }

    /// The first of them, or `NONE`.
    #[inline]
    pub(crate) fn first_consumption(&self, vertex: u32) -> u32 {
        self.consumption(vertex).next().map_or(NONE, ChannelId::raw)
    }

    #[inline]
    fn head_for(&mut self, network: &Network) {
        if let Some(&stop) = self.stops().get(self.next_stop as usize) {
            self.heads_for = network.router_of(stop);
        }
    }

    /// The injection channel of the sender, whose router is `at`, is granted: the first two vertices.
    #[allow(clippy::inline_always, reason = "once a message, from one place")]
    #[inline(always)]
    pub(super) fn begin(&mut self, now: Cycle, injection: ChannelId, at: RouterId, pool: &mut HopPool) {
        debug_assert!(self.hops.is_empty() && self.end == 0);
        let mut hops = pool.first();
        if let Some(first) = hops.first_chunk_mut() {
            *first = [Hop { leaves: now, left_by: injection, ..Hop::NONE }, Hop::NONE];
        }
        self.hops = hops;
        (self.end, self.at, self.named) = (2, at, false);
    }

    /// Adds a vertex behind a channel that was granted, which leads to router `at`.
    #[allow(clippy::inline_always, reason = "from one place")]
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        now: Cycle,
        left_by: ChannelId,
        virtual_channel: u32,
        at: RouterId,
        pool: &mut HopPool,
    ) {
        self.make_room(pool);
        self.enter(now, left_by, at);
        if virtual_channel > 0 {
            let vertex = self.last();
            let listed = &mut self.rare_mut().virtual_channels;
            listed.resize(vertex as usize, 0);
            listed.push(virtual_channel);
        }
    }

    /// As [`push`](Self::push), where there is room, and one virtual channel.
    #[inline]
    pub(super) fn enter(&mut self, now: Cycle, left_by: ChannelId, at: RouterId) {
        let vertex = self.last();
        *self.hop_mut(vertex) = Hop { leaves: now, left_by, stays: Hop::AHEAD };
        self.end += 1;
        self.at = at;
        self.named = false;
    }

    /// Makes room in the ring: that of vertices that are no longer needed, or, unless they are many enough, a ring twice as large. O(1) amortised.
    pub(super) fn make_room(&mut self, pool: &mut HopPool) {
        if !self.is_full() {
            return;
        }
        let capacity = self.hops.len() as u32;
        self.origin = self.tail.saturating_sub(1);
        let held = self.origin..self.end;
        if 4 * held.len() <= 3 * capacity as usize {
            return;
        }
        let mut larger = pool.get(capacity as usize);
        let mask = larger.len() as u32 - 1;
        held.for_each(|vertex| larger[(vertex & mask) as usize] = *self.hop(vertex));
        pool.put(std::mem::replace(&mut self.hops, larger));
    }

    /// Whether the next vertex needs room that those make which are no longer needed.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.origin >= self.hops.len() as u32
    }

    /// Returns its memory to the pool.
    #[inline]
    pub(crate) fn retire(&mut self, pool: &mut HopPool) {
        pool.put(std::mem::take(&mut self.hops));
    }

    /// The vertex where the header is, or is heading for.
    #[inline]
    pub(crate) fn last(&self) -> u32 {
        self.end - 1
    }

    /// An address flit enters the router at the last vertex: whether it names it, and is stripped.
    pub(crate) fn strips(&mut self) -> bool {
        let vertex = self.last();
        self.named = vertex > 1 && self.at == self.heads_for && self.rest().waypoint.is_none();
        if self.named {
            self.rare_mut().strips.push(vertex - 1);
        }
        self.named
    }

    /// A vertex from the one before `tail` on.
    #[inline]
    fn hop(&self, vertex: u32) -> &Hop {
        debug_assert!((self.origin..self.end).contains(&vertex));
        &self.hops[vertex as usize & (self.hops.len() - 1)]
    }

    #[inline]
    fn hop_mut(&mut self, vertex: u32) -> &mut Hop {
        debug_assert!((self.origin..self.end).contains(&vertex));
        let mask = self.hops.len() - 1;
        &mut self.hops[vertex as usize & mask]
    }

    /// Whether the header has left a vertex, or been granted all that it needs there.
    #[inline]
    fn has_left(&self, vertex: u32) -> bool {
        vertex + 1 < self.end || self.complete
    }

    /// When the first flit has left a vertex (worm engine).
    #[inline]
    pub(crate) fn leaves(&self, vertex: u32) -> Cycle {
        self.hop(vertex).leaves
    }

    /// The sender's processor begins to send.
    #[inline]
    pub(crate) fn begins(&mut self, now: Cycle) {
        self.hop_mut(0).leaves = now;
    }

    /// The number of the first flit that has left a vertex: all before it were stripped there, or before (worm engine).
    #[inline]
    pub(crate) fn first_flit(&self, vertex: u32) -> u32 {
        self.rare().strips.partition_point(|&router| router < vertex) as u32 + 1
    }

    /// The channel that leads to a vertex; `NONE` for vertex 0.
    #[inline]
    pub(crate) fn entered_by(&self, vertex: u32) -> ChannelId {
        match vertex {
            0 => ChannelId::new(NONE),
            _ => self.hop(vertex - 1).left_by,
        }
    }

    /// The virtual channel of that.
    #[inline]
    pub(crate) fn virtual_channel(&self, vertex: u32) -> u32 {
        self.rare().virtual_channels.get(vertex as usize).copied().unwrap_or(0)
    }

    /// When the last flit leaves a vertex, or `UNKNOWN`.
    #[inline]
    pub(crate) fn departs(&self, vertex: u32) -> Cycle {
        if !self.has_left(vertex) {
            return UNKNOWN;
        }
        let Hop { leaves, stays, .. } = *self.hop(vertex);
        match stays & !Hop::DELIVERS {
            Hop::AHEAD => UNKNOWN,
            Hop::FAR => self.departs_far(vertex),
            stays => leaves + Cycle::from(stays),
        }
    }

    #[cold]
    fn departs_far(&self, vertex: u32) -> Cycle {
        self.rare().far.iter().find(|far| far.0 == vertex).map_or(UNKNOWN, |far| far.1)
    }

    /// The last flit leaves a vertex in cycle `at`, of when the first one has, now or later; returns what is known of it then.
    #[allow(clippy::inline_always, reason = "once a hop")]
    #[inline(always)]
    pub(crate) fn departs_when(&mut self, vertex: u32, at: impl FnOnce(Cycle) -> Cycle) -> Vertex {
        debug_assert_eq!(self.departs(vertex), UNKNOWN);
        let entered_by = self.entered_by(vertex);
        let hop = self.hop_mut(vertex);
        let delivers = hop.stays & Hop::DELIVERS;
        let departs = at(hop.leaves);
        let stays = departs - hop.leaves;
        if stays < Cycle::from(Hop::FAR) {
            hop.stays = stays as u32 | delivers;
        } else {
            hop.stays = Hop::FAR | delivers;
            self.adds_far(vertex, departs);
        }
        Vertex { departs, entered_by, delivers: delivers != 0 }
    }

    /// Whether all vertices from this one on can be put down in a [`Hop`] each, if the last flit has left them by a cycle.
    #[inline]
    pub(super) fn has_room_until(&self, vertex: u32, end: Cycle) -> bool {
        end - self.hop(vertex).leaves < Cycle::from(Hop::FAR)
    }

    /// The last flit leaves the vertices from `first` on, which are behind links and [have room](Self::has_room_until) for that, in the cycles that `when` says, from the last one on: it is
    /// told when the first one has, and the link.
    #[allow(clippy::inline_always, reason = "on every hop")]
    #[inline(always)]
    pub(super) fn departs_from_last(&mut self, first: u32, mut when: impl FnMut(Cycle, ChannelId) -> Cycle) {
        debug_assert!(first > 1 && self.complete);
        let mut vertex = self.end - 1;
        let hops = &mut *self.hops;
        let mask = hops.len() - 1;
        let mut hop = hops[vertex as usize & mask];
        while vertex >= first {
            let before = hops[(vertex - 1) as usize & mask];
            let departs = when(hop.leaves, before.left_by);
            hops[vertex as usize & mask].stays = (departs - hop.leaves) as u32 | hop.stays & Hop::DELIVERS;
            (hop, vertex) = (before, vertex - 1);
        }
    }

    #[cold]
    fn adds_far(&mut self, vertex: u32, at: Cycle) {
        self.rare_mut().far.push((vertex, at));
    }

    /// As [`departs_when`](Self::departs_when), so many cycles after the first one: few enough for a [`Hop`]. Does nothing where consumption channels are held. Returns when, and the channel
    /// that leads to the vertex, which is not the first.
    #[inline]
    pub(crate) fn follows_after(&mut self, vertex: u32, stays: u32) -> Option<(Cycle, ChannelId)> {
        debug_assert!(stays < Hop::FAR);
        let hop = self.hop_mut(vertex);
        if hop.stays != Hop::AHEAD {
            return None;
        }
        hop.stays = stays;
        Some((hop.leaves + Cycle::from(stays), self.hop(vertex - 1).left_by))
    }

    /// What is known of a vertex.
    #[inline]
    pub(crate) fn vertex(&self, vertex: u32) -> Vertex {
        Vertex { departs: self.departs(vertex), entered_by: self.entered_by(vertex), delivers: self.delivers(vertex) }
    }

    /// The last flit leaves a vertex. Whether nothing has to be said of it, as nobody delivers there, if releases are of no interest.
    #[inline]
    pub(crate) fn leaves_behind(&mut self, vertex: u32) -> bool {
        let plain = self.tail == vertex && !self.delivers(vertex);
        self.tail += u32::from(plain);
        plain
    }

    /// The vertices at which it delivers in a cycle that is known, and not before `now`; and that cycle.
    pub(crate) fn deliveries_from(&self, now: Cycle) -> impl Iterator<Item = (u32, Cycle)> {
        let known = move |at: &Vertex| at.delivers && at.departs != UNKNOWN && at.departs >= now;
        self.vertices().filter(move |(_, at)| known(at)).map(|(vertex, at)| (vertex, at.departs))
    }

    /// The vertices from `tail` on.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = (u32, Vertex)> {
        (self.tail..self.end).map(|vertex| (vertex, self.vertex(vertex)))
    }
}

/// Memory for the vertices of path worms, by powers of two: worms take it when they enter the network and give it back when they
/// have left, so that it is that of the worms in the network at the same time, and nothing is allocated in the long run.
pub(crate) struct HopPool {
    /// The first number of vertices that a worm gets, and the rings of so many.
    first: usize,
    first_spare: Vec<Box<[Hop]>>,
    /// Larger ones.
    spare: Vec<Vec<Box<[Hop]>>>,
}

impl HopPool {
    /// The least number of vertices that is given out to worms that get on, and to those that have not left their senders where these are many: of a million,
    /// most may wait there.
    const LEAST: usize = 32;
    const WAITING: usize = 4;

    pub(super) fn new(many: bool) -> Self {
        let first = if many { Self::WAITING } else { Self::LEAST };
        Self { first, first_spare: Vec::new(), spare: Vec::new() }
    }

    fn class(capacity: usize) -> Option<usize> {
        match capacity / Self::LEAST {
            0 => (capacity > 0).then_some(0),
            times => Some(times.ilog2() as usize + 1),
        }
    }

    /// The first ring of a worm.
    #[inline]
    fn first(&mut self) -> Box<[Hop]> {
        self.first_spare.pop().unwrap_or_else(|| Self::ring(self.first))
    }

    /// A ring for more than so many vertices, which are those of one.
    fn get(&mut self, more_than: usize) -> Box<[Hop]> {
        let capacity = (2 * more_than).max(Self::LEAST);
        let spare = Self::class(capacity).and_then(|class| self.spare.get_mut(class)?.pop());
        spare.unwrap_or_else(|| Self::ring(capacity))
    }

    #[cold]
    fn ring(capacity: usize) -> Box<[Hop]> {
        vec![Hop::NONE; capacity].into_boxed_slice()
    }

    #[inline]
    fn put(&mut self, hops: Box<[Hop]>) {
        if hops.len() == self.first { self.first_spare.push(hops) } else { self.put_larger(hops) }
    }

    #[inline(never)]
    fn put_larger(&mut self, hops: Box<[Hop]>) {
        let Some(class) = Self::class(hops.len()) else { return };
        if self.spare.len() <= class {
            self.spare.resize_with(class + 1, Vec::new);
        }
        self.spare[class].push(hops);
    }
}

/// A vertex of a tree worm.
pub(crate) struct TreeVertex {
    /// When the last flit leaves on all branches, or `UNKNOWN`.
    pub(crate) departs: Cycle,
    pub(crate) parent: u32,
    pub(crate) first_child: u32,
    pub(crate) sibling: u32,
    pub(crate) entered_by: ChannelId,
    pub(crate) virtual_channel: u32,
    /// The height: the most hops down from here.
    pub(crate) height: u32,
    /// Where the deliveries to nodes here are among those of the worm.
    pub(crate) deliveries: (u32, u32),
    /// Flits that will have entered in the end.
    pub(crate) total: u32,
    /// Whether flits may enter: the channel that leads here is granted and not given back.
    pub(crate) reserved: bool,
    /// Whether flits may leave (in lockstep: on all branches).
    pub(crate) granted: bool,
    /// With a header of address flits that no router decodes: what becomes of each of those that enter.
    pub(crate) script: Vec<Address>,
    /// With a header that is decoded: the number of the header flit that came first, or 0; whether it named the router and set
    /// it up; and the nearest vertex above where one did, or `NONE`: below one, flits have their split flag set.
    pub(crate) front: u32,
    pub(crate) set_up: bool,
    pub(crate) set_up_above: u32,
}

impl TreeVertex {
    pub(super) fn new(parent: u32, entered_by: ChannelId, total: u32) -> Self {
        Self {
            departs: UNKNOWN,
            parent,
            first_child: NONE,
            sibling: NONE,
            entered_by,
            virtual_channel: 0,
            height: 0,
            deliveries: (0, 0),
            total,
            reserved: false,
            granted: false,
            script: Vec::new(),
            front: 0,
            set_up: false,
            set_up_above: NONE,
        }
    }
}

/// An address flit of a tree worm at a vertex.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Its number among all flits of the worm.
    pub(crate) flit: u32,
    /// The child that it goes on to; the vertex itself if the flit names it.
    pub(crate) to: u32,
}

/// A delivery of a tree worm.
pub(crate) struct TreeDelivery {
    pub(crate) vertex: u32,
    pub(crate) node: NodeId,
    /// The consumption channel that is held for it, or `NONE`.
    pub(crate) channel: ChannelId,
    /// When the last flit crosses that, or `UNKNOWN`.
    pub(crate) departs: Cycle,
}

/// The route of a tree worm: its vertices, parents first, and its deliveries in the order of their vertices.
pub struct TreeRoute {
    pub(crate) vertices: Vec<TreeVertex>,
    pub(crate) deliveries: Vec<TreeDelivery>,
    pub(crate) guide: Guide,
}

/// How a tree worm gets to know its vertices.
pub(crate) enum Guide {
    /// It knows them all.
    Known,
    /// The relation takes it to where the branches of this tree begin.
    Trunk(Tree),
    /// Routers decode its header.
    Header {
        /// The channel that it must take first, if its header does not name its source's router.
        exit: Option<ChannelId>,
        /// The header.
        flits: Vec<HeaderFlit>,
    },
}

impl TreeRoute {
    /// The deliveries at a vertex.
    pub(crate) fn deliveries_of(&self, vertex: &TreeVertex) -> &[TreeDelivery] {
        &self.deliveries[vertex.deliveries.0 as usize..vertex.deliveries.1 as usize]
    }

    pub(crate) fn children(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let first = self.vertices[vertex].first_child;
        std::iter::successors((first != NONE).then_some(first as usize), |&child| {
            let next = self.vertices[child].sibling;
            (next != NONE).then_some(next as usize)
        })
    }

    /// The heights of a vertex and its ancestors, the vertex first and the sender's router last.
    pub(crate) fn heights_above(&self, vertex: usize) -> impl Iterator<Item = u32> + Clone {
        let up = |&at: &usize| Some(self.vertices[at].parent as usize).filter(|&parent| parent > 0);
        std::iter::successors(Some(vertex), up).map(|at| self.vertices[at].height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;
    use wormcast_routing::{RoutingOptions, routing_by_name};

    /// Follows ways from each router to some others: at each router, the channel that the relation says; returns how often it was asked for the longest.
    fn asked(topology: &str, routing: &str, every: usize) -> usize {
        let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
        let routing = routing_by_name(routing, &network, &RoutingOptions::default()).unwrap();
        let mut most = 0;
        for from in network.router_ids() {
            for to in network.router_ids().skip(from.index() % every).step_by(every) {
                let (mut at, mut way, mut asked) = (from, Way::UNKNOWN, 0);
                while at != to {
                    if way == Way::UNKNOWN {
                        way = Way::of(routing.as_ref(), at, to, |link| network.to(link));
                        asked += 1;
                    }
                    let link = network.output(at, way.next().unwrap()).unwrap();
                    assert_eq!(
                        Some(link),
                        routing.straight(at, to).map(|straight| straight.first),
                        "{topology} {from} {to}"
                    );
                    way.goes_on();
                    at = network.to(link);
                }
                assert_eq!(way, Way::UNKNOWN, "{topology} {from} {to}: no further than it has to go");
                most = most.max(asked);
            }
        }
        most
    }

    #[test]
    fn ways_are_those_of_the_relation() {
        // In two dimensions it is asked once, however near to a border; elsewhere there is room for four parts.
        for mesh in ["mesh:2", "mesh:7", "mesh:2x2", "mesh:5x4", "mesh:1x6", "mesh:9x2"] {
            assert_eq!(asked(mesh, "e-cube", 1), 1, "{mesh}");
        }
        assert_eq!(asked("mesh:3x4x3", "e-cube", 1), 2);
        assert_eq!(asked("hypercube:6", "e-cube", 1), 2);
        // More than a part can count.
        assert_eq!(asked("mesh:2100", "e-cube", 2099), 3);
    }

    #[test]
    fn ways_that_a_relation_does_not_say_are_unknown() {
        for (topology, routing) in
            [("torus:4x4", "e-cube"), ("mesh:4x4", "hamiltonian"), ("mesh:4x4", "negative-first")]
        {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            let routing = routing_by_name(routing, &network, &RoutingOptions::default()).unwrap();
            let way = Way::of(routing.as_ref(), RouterId::new(0), RouterId::new(7), |link| network.to(link));
            assert_eq!(way, Way::UNKNOWN, "{topology}");
        }
    }
}
