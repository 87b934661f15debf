//! The movement phase for path worms, where links have one virtual channel.

use wormcast_network::ChannelId;

use super::FlitEngine;
use super::shared_links::SharedLinks;
use crate::core::arbiter::NONE;
use crate::core::worm::{PathRoute, Route};
use crate::observers::observer::{Cycle, Observer};

/// Where the flits of a path worm are.
///
/// Flits are numbered from 1 as they are injected. `left[v]` is the greatest number that has left vertex `v`; where an address
/// flit is stripped, that counts as leaving. So vertex `v + 1` holds `left[v] - left[v + 1]` flits, stripping or not. Where virtual
/// channels share links, streams count what leaves, and this is that of the last vertex alone: what was stripped.
#[derive(Default)]
pub struct PathFlits {
    left: Vec<u32>,
    /// Vertices that flits leave by streams, where virtual channels share links.
    streams: u32,
    /// The lags of the links that it has taken, where some have any.
    lags: Vec<u32>,
    /// Whether the header has arrived at the last vertex: the address flit, and once that is stripped the one behind it.
    arrived: bool,
    /// When the address flit at the last vertex is stripped.
    strip_at: Cycle,
}

/// What a path worm did in a cycle.
#[derive(Clone, Copy)]
struct Step {
    moved: bool,
    /// There is a header at the last vertex that was not there before.
    header_arrived: bool,
    /// Its last flit has left the first vertex that it had not left yet.
    tail_left: bool,
}

impl PathFlits {
    /// Starts over, keeping memory.
    pub(super) fn reset(&mut self) {
        self.left.clear();
        self.left.push(0);
        self.lags.clear();
        (self.streams, self.arrived, self.strip_at) = (0, false, Cycle::MAX);
    }

    /// The worm was granted channels: there may be a new last vertex.
    pub(super) fn granted(&mut self, route: &PathRoute) {
        while self.left.len() <= route.last() as usize {
            self.left.push(self.left.last().copied().unwrap_or(0));
            (self.arrived, self.strip_at) = (false, Cycle::MAX);
        }
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
        self.left.last().copied().unwrap_or(0)
    }

    /// Moves every flit that can move, from the header backwards: a flit crosses if it was there at the start of the cycle and
    /// the buffer ahead has room, counting the flit that leaves it in this same cycle. Calls `cross` with each vertex that a
    /// flit leaves and the flit's number.
    #[inline]
    fn step(
        &mut self,
        route: &PathRoute,
        flits: u32,
        buffer: u32,
        now: Cycle,
        mut cross: impl FnMut(usize, u32),
    ) -> Step {
        let mut moved = false;
        if !route.complete && self.strip_at == now {
            self.strip();
            moved = true;
        }
        let left = self.left.as_mut_slice();
        let last = left.len() - 1;
        if route.complete && left[last - 1] > left[last] {
            left[last] += 1;
            moved = true;
            cross(last, left[last]);
        }
        let (mut ahead, mut here) = (left[last], left[last - 1]);
        let mut follow = |left: &mut u32, vertex: usize, supply: u32| {
            if supply > here && here - ahead < buffer {
                here += 1;
                *left = here;
                moved = true;
                cross(vertex, here);
            }
            (ahead, here) = (here, supply);
        };
        let tail = route.tail as usize;
        let behind = tail.max(1) - 1;
        let among = &mut left[behind..last];
        for place in (1..among.len()).rev() {
            let supply = among[place - 1];
            follow(&mut among[place], behind + place, supply);
        }
        if tail == 0 {
            follow(&mut left[0], 0, flits);
        }
        Step { moved, header_arrived: self.header_arrived(), tail_left: self.left[route.tail as usize] == flits }
    }

    /// Strips the address flit at the last vertex: the next flit is the header there as soon as it is there.
    pub(super) fn strip(&mut self) {
        let last = self.left.len() - 1;
        self.left[last] += 1;
        self.arrived = false;
    }

    /// Whether there is a header at the last vertex that was not there before.
    fn header_arrived(&self) -> bool {
        let last = self.left.len() - 1;
        !self.arrived && self.left[last - 1] > self.left[last]
    }

    /// Whether the worm, whose header waits, will give nothing back before that is granted something: the buffers ahead of its
    /// tail have no room for all that is left of it.
    pub(super) fn holds_on(&self, route: &PathRoute, flits: u32, buffer: u32) -> bool {
        let left = self.left.last().copied().unwrap_or(0);
        // Before the worm enters the network, it has no vertex.
        let ahead = route.hops().skip(1).count() as u64;
        u64::from(left) + ahead * u64::from(buffer) < u64::from(flits)
    }

    /// The number of the last flit that has left a vertex.
    pub(super) fn left(&self, vertex: u32) -> u32 {
        // A channel that has just been granted leads to a vertex that no flit is counted at.
        self.left.get(vertex as usize).copied().unwrap_or(0)
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
        let mut stripped = route.stripped;
        for (vertex, hop) in route.hops() {
            if vertex > 0 {
                visit(hop.entered_by, hop.virtual_channel, left(vertex - 1).saturating_sub(stripped));
            }
            let consumed = left(vertex).saturating_sub(addresses.unwrap_or(0));
            route.consumption(vertex).for_each(|channel| visit(channel, 0, consumed));
            // Only the last vertex can still have its address flit, and nothing is counted behind it.
            stripped += u32::from(addresses.is_some() && hop.consumption != NONE);
        }
    }

    /// No flit is lost, made up or out of its buffer.
    fn check(&self, flits: u32, buffer: u32) {
        debug_assert!(self.left[0] <= flits);
        debug_assert!(
            self.left.windows(2).all(|pair| pair[1] <= pair[0] && pair[0] - pair[1] <= buffer),
            "between two vertices there are from none to {buffer} flits"
        );
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    /// Returns whether the worm has moved and is not done.
    pub(super) fn move_path(&mut self, slot: u32) -> bool {
        let (now, config) = (self.core.now, self.core.config);
        let worm = &mut self.core.worms[slot as usize];
        let addresses = config.header.stripped_of_path(worm.header).unwrap_or(0);
        let Route::Path(route, flits) = &mut worm.route else { return false };
        let step = if O::FLITS {
            let observer = &mut self.core.reports.observer;
            flits.step(route, worm.flits, config.buffer, now, |vertex, flit| {
                report_crossing(observer, now, worm.id, route, vertex, flit, addresses);
            })
        } else {
            flits.step(route, worm.flits, config.buffer, now, |_, _| {})
        };
        if cfg!(debug_assertions) {
            flits.check(worm.flits, config.buffer);
        }
        self.settle_path(slot, step)
    }

    /// Does what follows from a path worm's step; returns whether it goes on.
    fn settle_path(&mut self, slot: u32, step: Step) -> bool {
        let Route::Path(route, _) = &self.core.worms[slot as usize].route else { return false };
        let tail = route.tail;
        if step.header_arrived {
            self.header_arrives(slot);
        }
        // At most one vertex a cycle: the next one holds the flit.
        let gone = step.tail_left && self.tail_leaves(slot, tail);
        step.moved && !gone
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
    vertex: usize,
    flit: u32,
    addresses: u32,
) {
    let vertex = vertex as u32;
    if vertex < route.last() {
        observer.flit(now, worm, route.hop(vertex + 1).entered_by, flit);
    }
    if flit > addresses {
        route.consumption(vertex).for_each(|channel| observer.flit(now, worm, channel, flit));
    }
}
