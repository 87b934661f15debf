//! The movement phase for path worms, where links have one virtual channel.

use wormcast_network::ChannelId;

use super::FlitEngine;
use super::shared_links::SharedLinks;
use crate::core::worm::{PathRoute, Route};
use crate::observers::observer::{Cycle, Observer};

/// Where the flits of a path worm are.
///
/// All of its vertices move together, 64 at a time: each has a bit in some numbers, the last vertex the lowest one. In the first of
/// them, a bit says whether a flit has left the vertex in this cycle; in the second, whether it is the sender's processor and has flits
/// to send; the others are the binary digits of how many flits the vertex's buffer holds. Where virtual channels share links, streams
/// count flits instead, and of all this there is only what was stripped.
#[derive(Default)]
pub struct PathFlits {
    /// The numbers of its vertices, if these are no more than 64 from the tail on, and buffers are no deeper than four digits say.
    near: [u64; NEAR],
    /// Otherwise: those of the last 64 vertices, of the 64 before, and so on, up to the tail.
    wide: Vec<u64>,
    /// How many there are of 64 vertices.
    width: u32,
    /// The most flits that a buffer ever holds.
    most: u32,
    /// The last vertex.
    last: u32,
    /// Flits that are at the sender's processor.
    to_send: u32,
    /// Flits that have left the last vertex: they were stripped, or the way ends there.
    gone: u32,
    /// Vertices that flits leave by streams, where virtual channels share links.
    streams: u32,
    /// Whether the header has arrived at the last vertex: the address flit, and once that is stripped the one behind it.
    arrived: bool,
    /// When the address flit at the last vertex is stripped.
    strip_at: Cycle,
    /// The lags of the links that it has taken, where some have any.
    lags: Vec<u32>,
}

/// What a worm did in a cycle.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) moved: bool,
    /// What follows from it, as a sum.
    pub(super) happens: u32,
}

impl Step {
    /// There is a header at the last vertex that was not there before.
    const HEADER: u32 = 1;
    /// The last flit has left the first vertex that it had not left yet.
    const TAIL: u32 = 2;
    /// The worm is a tree, whose flits have still to move.
    pub(super) const TREE: u32 = 4;
    pub(super) const OF_TREE: Self = Self { moved: true, happens: Self::TREE };
}

/// What finds the buffers of 64 vertices that hold so many flits: all ones for each digit that is 0, and for the others no ones.
fn full(most: u32, digit: usize) -> u64 {
    u64::from(most >> digit & 1).wrapping_sub(1)
}

/// The same for the digits that are kept at hand.
pub(super) type Full = [u64; NEAR - DIGITS];

pub(super) fn full_near(buffer: u32) -> Full {
    std::array::from_fn(|digit| full(buffer, digit))
}

/// What the numbers say of a cycle.
#[derive(Clone, Copy)]
struct Moved {
    any: bool,
    /// Flits that have left the sender's processor, and the last vertex: one or none.
    sent: u32,
    consumed: u32,
    /// Whether the last vertex holds flits now, and, of the last 64 numbered vertices, which do.
    front: bool,
    back: u64,
}

/// The numbers of 64 vertices: what comes before their digits.
const MOVING: usize = 0;
const SENDS: usize = 1;
const DIGITS: usize = 2;
/// So many numbers of 64 vertices are kept at hand.
pub(super) const NEAR: usize = DIGITS + 4;

/// How many numbers say how many flits buffers hold, where that is so many at most, with the two before them.
pub(super) fn width(most: u32) -> usize {
    DIGITS + (u32::BITS - most.leading_zeros()) as usize
}

/// Moves every flit that can move: it crosses if it was there at the start of the cycle and the buffer ahead has room, counting the flit that leaves it in this same
/// cycle. `numbers` come `width` by `width`; `is_full` says how full buffers are [found](full), and `consumes` whether flits leave the last vertex.
#[allow(
    clippy::inline_always,
    reason = "of 64 vertices and a known width it is one piece of straight code, for each worm in every cycle"
)]
#[inline(always)]
fn advance(numbers: &mut [u64], width: usize, is_full: impl Fn(usize) -> u64, consumes: bool) -> Moved {
    let (mut room, mut carry, mut any) = (0, consumes, 0);
    for vertices in numbers.chunks_exact_mut(width) {
        let (mut holds, mut full) = (vertices[SENDS], u64::MAX);
        for (place, digit) in vertices[DIGITS..].iter().enumerate() {
            holds |= digit;
            full &= digit ^ is_full(place);
        }
        // A flit moves if there is one, and ahead there is room or one that moves. That is how an addition carries.
        let open = holds & (!full << 1 | room);
        let (sum, over) = holds.overflowing_add(open);
        let (sum, again) = sum.overflowing_add(u64::from(carry));
        let carries = sum ^ holds ^ open;
        (room, carry) = (!full >> 63, over | again);
        vertices[MOVING] = carries >> 1 | u64::from(carry) << 63;
        any |= vertices[MOVING];
    }
    let (mut front, mut back) = (None, 0);
    for place in (0..numbers.len()).step_by(width) {
        let comes = numbers.get(place + width + MOVING).map_or(0, |behind| behind << 63);
        back = count(&mut numbers[place..place + width], comes);
        front = front.or(Some(back));
    }
    let hindmost = numbers.len() - width;
    Moved {
        any: any != 0,
        sent: u32::from(numbers[hindmost + MOVING] & numbers[hindmost + SENDS] != 0),
        consumed: u32::from(consumes) & numbers[MOVING] as u32,
        front: front.is_some_and(|held| held & 1 == 1),
        back,
    }
}

/// Counts the flits that have moved out of 64 vertices and into them, the hindmost of them as `comes` says; returns which hold any now.
#[allow(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn count(vertices: &mut [u64], comes: u64) -> u64 {
    let (comes, leaves) = (vertices[MOVING] >> 1 | comes, vertices[MOVING] & !vertices[SENDS]);
    let (mut more, mut less, mut held) = (comes & !leaves, leaves & !comes, 0);
    for digit in &mut vertices[DIGITS..] {
        let before = *digit;
        *digit ^= more | less;
        held |= *digit;
        (more, less) = (more & before, less & !before);
    }
    held
}

impl PathFlits {
    /// Starts over, keeping memory.
    pub(super) fn reset(&mut self) {
        self.near = [0; NEAR];
        self.wide.clear();
        self.lags.clear();
        (self.width, self.last, self.gone, self.streams) = (0, 0, 0, 0);
        (self.arrived, self.strip_at) = (false, Cycle::MAX);
    }

    /// The worm, which has so many flits, was granted channels: there may be a new last vertex.
    #[inline]
    pub(super) fn granted(&mut self, route: &PathRoute, flits: u32, buffer: u32) {
        if self.last == route.last() {
            return;
        }
        if self.last == 0 {
            self.begin(flits, buffer);
        }
        self.last += 1;
        debug_assert_eq!(self.last, route.last());
        (self.arrived, self.strip_at) = (false, Cycle::MAX);
        // All vertices are one further from the last one.
        if self.wide.is_empty() && self.last - route.tail < u64::BITS {
            for number in &mut self.near {
                *number <<= 1;
            }
        } else {
            self.moves_away(self.last - route.tail);
        }
    }

    /// The worm enters the network.
    #[inline]
    fn begin(&mut self, flits: u32, buffer: u32) {
        (self.to_send, self.most, self.width) = (flits, buffer.min(flits), width(buffer) as u32);
        if self.width as usize > NEAR {
            self.width = width(self.most) as u32;
            self.wide.resize(self.width as usize, 0);
            self.wide[SENDS] = 1;
        }
        self.near[SENDS] = 1;
    }

    /// All vertices are one further from the last one: the tail is so many behind it now.
    #[inline(never)]
    fn moves_away(&mut self, tail: u32) {
        if self.wide.is_empty() {
            self.wide.extend_from_slice(&self.near[..self.width as usize]);
        }
        self.wide.resize(self.numbers_up_to(tail), 0);
        for place in 0..self.width as usize {
            let mut carry = 0;
            for number in self.wide[place..].iter_mut().step_by(self.width as usize) {
                (*number, carry) = (*number << 1 | carry, *number >> 63);
            }
        }
    }

    /// The numbers of all vertices.
    fn numbers(&self) -> &[u64] {
        if self.wide.is_empty() { &self.near[..self.width as usize] } else { &self.wide }
    }

    /// The worm leaves a vertex by a stream: that, or the one behind it, is the last.
    pub(super) fn opened(&mut self, vertex: u32) {
        (self.streams, self.arrived, self.strip_at) = (vertex + 1, false, Cycle::MAX);
    }

    /// It takes a link that has this lag.
    pub(super) fn takes_link(&mut self, lag: u32) {
        self.lags.push(lag);
    }

    /// Those of the links that it has taken.
    pub(super) fn lags(&self) -> &[u32] {
        &self.lags
    }

    /// Address flits that were stripped.
    pub(super) fn stripped(&self) -> u32 {
        self.gone
    }

    /// Moves every flit that can move; `W` is the [`width`] that belongs to buffers, if so many numbers are kept at hand.
    #[allow(clippy::inline_always, reason = "for each worm in every cycle")]
    #[inline(always)]
    fn step<const W: usize>(&mut self, route: &PathRoute, now: Cycle, full: &Full) -> Step {
        if self.strip_at == now || !self.wide.is_empty() {
            return self.step_or_strip(route, now);
        }
        let Some(numbers) = self.near.first_chunk_mut::<W>() else { return Step::OF_TREE };
        let moved = advance(numbers, W, |place| full.get(place).copied().unwrap_or(0), route.complete);
        self.settle(route, moved)
    }

    /// The same where an address flit may be stripped, or where vertices are many or buffers deep.
    #[inline(never)]
    fn step_or_strip(&mut self, route: &PathRoute, now: Cycle) -> Step {
        let strips = self.strip_at == now && !route.complete;
        if strips {
            self.strip();
        }
        self.wide.truncate(self.numbers_up_to(self.last - route.tail));
        let (width, most) = (self.width as usize, self.most);
        let numbers = if self.wide.is_empty() { &mut self.near[..width] } else { &mut self.wide };
        let moved = advance(numbers, width, |place| full(most, place), route.complete);
        if self.to_send == moved.sent && !self.wide.is_empty() {
            let hindmost = self.wide.len() - width;
            self.wide[hindmost + SENDS] = 0;
        }
        let Step { moved, happens } = self.settle(route, moved);
        Step { moved: moved || strips, happens }
    }

    /// What follows from a move.
    #[allow(clippy::inline_always, reason = "for each worm in every cycle")]
    #[inline(always)]
    fn settle(&mut self, route: &PathRoute, moved: Moved) -> Step {
        self.gone += moved.consumed;
        self.to_send -= moved.sent;
        let mut happens = Step::HEADER * u32::from(!self.arrived & moved.front);
        if self.to_send == 0 {
            self.near[SENDS] = 0;
            let tail_left = moved.back >> ((self.last - route.tail) % u64::BITS) == 0;
            happens |= Step::TAIL * u32::from(tail_left);
        }
        Step { moved: moved.any, happens }
    }

    fn numbers_up_to(&self, tail: u32) -> usize {
        (tail / u64::BITS + 1) as usize * self.width as usize
    }

    /// Strips the address flit at the last vertex: the next flit is the header there as soon as it is there.
    pub(super) fn strip(&mut self) {
        self.gone += 1;
        self.arrived = false;
        if self.last == 0 {
            // Streams count flits.
            return;
        }
        // One less is an exclusive or with all digits up to the lowest one that is not 0.
        let mut less = 1;
        let numbers = if self.wide.is_empty() { &mut self.near[..] } else { &mut self.wide[..self.width as usize] };
        for digit in &mut numbers[DIGITS..] {
            *digit ^= less;
            less &= *digit;
        }
    }

    /// The flits that have moved in the cycle at hand, from the header backwards: the vertex that one has left, and its number.
    fn moved(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut left = self.gone;
        (0..=self.last).zip(self.each_vertex()).filter_map(move |(behind, (moved, held))| {
            let flit = left;
            left += held;
            moved.then_some((self.last - behind, flit))
        })
    }

    /// Of each vertex from the last one to the tail, or further: whether a flit has left it in the cycle at hand, and how many its buffer holds.
    fn each_vertex(&self) -> impl Iterator<Item = (bool, u32)> {
        let bit = |number: u64, place: u32| (number >> place & 1) as u32;
        self.numbers().chunks_exact(self.width.max(1) as usize).flat_map(move |vertices| {
            (0..u64::BITS).map(move |place| {
                let held = (0..).zip(&vertices[DIGITS..]).map(|(power, &digit)| bit(digit, place) << power).sum();
                (bit(vertices[MOVING], place) == 1, held)
            })
        })
    }

    /// Whether the worm, whose header waits, will give nothing back before that is granted something: the buffers ahead of its
    /// tail have no room for all that is left of it.
    pub(super) fn holds_on(&self, route: &PathRoute, flits: u32, buffer: u32) -> bool {
        // Before the worm enters the network, it has no vertex.
        let ahead = route.vertices().skip(1).count() as u64;
        u64::from(self.gone) + ahead * u64::from(buffer) < u64::from(flits)
    }

    /// The number of the last flit that has left a vertex.
    pub(super) fn left(&self, vertex: u32) -> u32 {
        // A channel that has just been granted leads to a vertex that no flit is counted at.
        let Some(ahead) = self.last.checked_sub(vertex) else { return 0 };
        self.gone + self.each_vertex().take(ahead as usize).map(|(_, held)| held).sum::<u32>()
    }

    /// The same where virtual channels share links.
    pub(super) fn left_by_streams(&self, shared: &SharedLinks, route: &PathRoute, flits: u32, vertex: u32) -> u32 {
        if vertex < self.streams { shared.left(route, flits, vertex) } else { 0 }
    }

    /// Calls `visit` with each channel that is held, its virtual channel and the flits that have crossed it; `addresses` is the
    /// number of header flits, if they are stripped, and `left` the last flit that has left a vertex.
    pub(super) fn each_held(
        route: &PathRoute,
        addresses: Option<u32>,
        left: impl Fn(u32) -> u32,
        visit: &mut dyn FnMut(ChannelId, u32, u32),
    ) {
        let mut stripped = route.rare().stripped;
        for (vertex, at) in route.vertices() {
            if vertex > 0 {
                visit(at.entered_by, route.virtual_channel(vertex), left(vertex - 1).saturating_sub(stripped));
            }
            let consumed = left(vertex).saturating_sub(addresses.unwrap_or(0));
            route.consumption(vertex).for_each(|channel| visit(channel, 0, consumed));
            // Only the last vertex can still have its address flit, and nothing is counted behind it.
            stripped += u32::from(addresses.is_some() && at.delivers);
        }
    }

    /// No flit is lost, made up or out of its buffer.
    fn check(&self, flits: u32, buffer: u32) {
        let held = || self.each_vertex().map(|(_, held)| held);
        debug_assert!(held().all(|held| held <= buffer), "a buffer holds at most {buffer} flits");
        debug_assert_eq!(held().sum::<u32>() + self.to_send + self.gone, flits);
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    /// Moves the flits of a path worm.
    #[allow(clippy::inline_always, reason = "for each worm in every cycle")]
    #[inline(always)]
    pub(super) fn move_path<const W: usize>(&mut self, slot: u32, full: &Full) -> Step {
        let (now, config) = (self.core.now, self.core.config);
        let worm = &mut self.core.worms[slot as usize];
        let Route::Path(route, flits) = &mut worm.route else { return Step::OF_TREE };
        let step = flits.step::<W>(route, now, full);
        if O::FLITS {
            let addresses = config.header.stripped_of_path(worm.header).unwrap_or(0);
            for (vertex, flit) in flits.moved() {
                report_crossing(&mut self.core.reports.observer, now, worm.id, route, vertex, flit, addresses);
            }
        }
        if cfg!(debug_assertions) {
            flits.check(worm.flits, config.buffer);
        }
        step
    }

    /// Does what follows from a path worm's step; returns whether it is done.
    #[inline]
    pub(super) fn settle_path(&mut self, slot: u32, happens: u32) -> bool {
        let Route::Path(route, _) = &self.core.worms[slot as usize].route else { return false };
        // At most one vertex a cycle: the next one holds the flit.
        let tail = route.tail;
        if happens & Step::HEADER != 0 {
            self.header_arrives(slot);
        }
        happens & Step::TAIL != 0 && self.tail_leaves(slot, tail)
    }

    /// There is a header at the last vertex of a path worm, unless it was there before.
    pub(super) fn header_arrives(&mut self, slot: u32) {
        let Route::Path(route, flits) = &mut self.core.worms[slot as usize].route else { return };
        if std::mem::replace(&mut flits.arrived, true) {
            return;
        }
        let strips = flits.strip_at == Cycle::MAX && self.core.config.header.strips_paths() && route.strips();
        if strips {
            let strip_at = self.core.now + 1 + Cycle::from(self.core.config.strip_delay);
            flits.strip_at = strip_at;
            self.core.remind(strip_at, slot);
        } else {
            let last = route.last();
            self.core.route_header(slot, last);
        }
    }

    /// The last flit of a path worm leaves a vertex in this cycle; returns whether that was the last vertex.
    pub(super) fn tail_leaves(&mut self, slot: u32, vertex: u32) -> bool {
        let now = self.core.now;
        if self.core.departs(slot, vertex, now) {
            self.core.deliver(slot, vertex);
        }
        let Route::Path(route, _) = &mut self.core.worms[slot as usize].route else { return false };
        if !O::RELEASES && route.leaves_behind(vertex) {
            return false;
        }
        let done = route.complete && vertex == route.last();
        self.core.report_departures(slot, now + 1);
        if done {
            self.core.finish(slot);
        }
        done
    }
}

/// Tells the observer which channels a flit crosses as it leaves a vertex: the one to the next vertex, and the consumption
/// channel if it is one that the node takes (the first `addresses` flits are not).
pub(super) fn report_crossing<O: Observer>(
    observer: &mut O,
    now: Cycle,
    worm: u64,
    route: &PathRoute,
    vertex: u32,
    flit: u32,
    addresses: u32,
) {
    if vertex < route.last() {
        observer.flit(now, worm, route.entered_by(vertex + 1), flit);
    }
    if flit > addresses {
        route.consumption(vertex).for_each(|channel| observer.flit(now, worm, channel, flit));
    }
}
