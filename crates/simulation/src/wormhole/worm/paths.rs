//! The closed form for path worms.
//!
//! Flits are numbered 1 to F as they are injected; vertices are numbered from the sender's processor, 0. Let h(m) be the cycle in
//! which the first flit leaves vertex m and f(m) its number: 1 + the address flits stripped at vertices up to m. The last flit
//! leaves vertex v in the maximum, over all m >= v with F - (m - v)B >= f(m), of h(m) + F - (m - v)B - f(m); where a router
//! strips, the stripped flit counts like one that leaves.

use wormcast_network::ChannelId;

use crate::core::departures::Departures;
use crate::core::worm::PathRoute;
use crate::observers::observer::{Cycle, Observer};

/// What follows from when a path worm's header has left its vertices.
///
/// What every hop looks at comes first: in that order, and not in the compiler's.
#[derive(Default)]
#[repr(C)]
pub struct PathTimes {
    /// The first vertex whose departure is not known.
    settled: u32,
    /// It will be as soon as the header has left all vertices before this one; 0 if that has to be [looked for](Self::settle).
    due: u32,
    /// The first vertex of the window, or 0: the processor never holds the maximum of a window that begins behind it.
    late: u32,
    /// Whether an address flit was stripped.
    strips: bool,
    /// Whether it has entered the network.
    started: bool,
    /// When the header left the vertex that it left last, or `Cycle::MAX`.
    left_at: Cycle,
    /// Vertices that may hold the maximum of the window of `settled`: decreasing. Where nothing has been stripped, all windows still to come
    /// reach to the header, and those are enough that are later than B cycles after the one before: others hold back that one's flits at most.
    window: Vec<Late>,
    /// The first of them that counts.
    first: u32,
    /// The number of the first flit that left the vertex that the header left last, if something was stripped.
    passed: u32,
}

/// A vertex that its header left late, and what it [contributes](Pace::weight) to windows: their vertices may be far from those that a hop looks at.
#[derive(Clone, Copy)]
pub struct Late {
    vertex: u32,
    weight: i64,
}

/// What the flits of a worm depend on besides its header.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) flits: u32,
    pub(super) buffer: u32,
}

impl Pace {
    /// The number of the flit that has to leave vertex m before the last one can leave vertex v.
    #[inline]
    fn flit(self, m: u32, v: u32) -> i64 {
        i64::from(self.flits) - (u64::from(m - v) * u64::from(self.buffer)) as i64
    }

    /// So many vertices ahead, no flit has to leave before the last one can.
    #[inline]
    fn reach(self) -> u32 {
        self.flits.div_ceil(self.buffer)
    }

    /// h(m) - mB - f(m), where f(m) is `first`: what vertex m contributes to the maxima of windows, less what depends on the window's start.
    #[inline]
    fn weight(self, m: u32, first: u32, route: &PathRoute) -> i64 {
        route.leaves(m) as i64 - (u64::from(m) * u64::from(self.buffer)) as i64 - i64::from(first)
    }
}

impl PathTimes {
    /// Another worm, which is not in the network yet; the one before has retired.
    #[inline]
    pub(super) fn reset(&mut self) {
        (self.settled, self.started) = (0, false);
    }

    /// The worm enters the network. Returns whether its last flit does so at once.
    #[inline]
    pub(super) fn start(&mut self, pace: Pace, now: Cycle) -> bool {
        debug_assert!(self.settled == 0 && self.window.is_empty());
        self.due = pace.reach();
        (self.started, self.late, self.strips, self.left_at) = (true, 0, false, now);
        self.has_more(1)
    }

    /// The worm has left it: gives the memory of its window back.
    #[inline]
    pub(super) fn retire(&mut self, spare: &mut Vec<Vec<Late>>) {
        if self.window.capacity() > 0 {
            self.forget_all();
            spare.push(std::mem::take(&mut self.window));
        }
    }

    /// The header leaves a vertex, and the route says so.
    #[allow(clippy::inline_always, reason = "on every hop")]
    #[inline(always)]
    pub(super) fn header_leaves(
        &mut self,
        route: &mut PathRoute,
        vertex: u32,
        now: Cycle,
        pace: Pace,
        spare: &mut Vec<Vec<Late>>,
    ) {
        if self.strips {
            self.leaves_stripping(route, now);
        } else if now.saturating_sub(self.left_at) > Cycle::from(pace.buffer) {
            self.add_to_window(route, vertex, pace, spare);
        }
        self.left_at = now;
    }

    fn leaves_stripping(&mut self, route: &mut PathRoute, now: Cycle) {
        let rare = route.rare_mut();
        if rare.strip_at != Cycle::MAX {
            self.passed += 1;
            rare.since_strip.push((now - rare.strip_at) as u32);
            rare.strip_at = Cycle::MAX;
        }
    }

    /// The header arrives at the next vertex, and the flit that names that is stripped at `strip_at`.
    pub(super) fn strips(&mut self, route: &mut PathRoute, strip_at: Cycle) {
        let rare = route.rare_mut();
        rare.strip_at = strip_at;
        if !std::mem::replace(&mut self.strips, true) {
            (self.due, self.passed) = (0, 1);
            rare.window_end = self.settled;
            self.forget_all();
        }
    }

    /// The last of what every hop looks at.
    #[cfg(test)]
    pub(super) fn last_of_every_hop(&self) -> &Cycle {
        &self.left_at
    }

    #[inline]
    pub(super) fn first_unknown(&self) -> u32 {
        self.settled
    }

    /// The last departure that is known. Until a header gets on, there is no later one.
    pub(super) fn last_departure(&self, route: &PathRoute) -> Cycle {
        self.settled.checked_sub(1).map_or(0, |last| route.departs(last))
    }

    /// Whether [`settle`](Self::settle) may find anything, unless the route is complete: then it does.
    #[inline]
    pub(super) fn has_more(&self, known: u32) -> bool {
        known >= self.due
    }

    /// Finds the departures that are determined as soon as the header has left the vertices before `known`, puts them down in the
    /// vertices and tells of them. O(1) amortised a vertex.
    #[allow(clippy::inline_always, reason = "twice a message, from one place")]
    #[inline(always)]
    pub(super) fn settle<O: Observer>(
        &mut self,
        route: &mut PathRoute,
        known: u32,
        pace: Pace,
        (mut departures, spare): (Departures<'_, O>, &mut Vec<Vec<Late>>),
    ) {
        if self.strips {
            self.settle_windows(route, known, pace, (&mut departures, spare));
        } else if route.complete {
            self.settle_rest(route, known, pace, &mut departures);
        } else {
            while self.has_more(known) {
                self.settle_first(route, pace, &mut departures);
            }
        }
    }

    /// Finds the departure of the first vertex, the window of which reaches to the header.
    #[inline]
    fn settle_first<O: Observer>(&mut self, route: &mut PathRoute, pace: Pace, departures: &mut Departures<'_, O>) {
        let v = self.settled;
        if self.late != 0 && self.late <= v {
            self.forget_until(v);
        }
        let mut held_until = 0;
        if self.late != 0
            && let Some(late) = self.front()
        {
            // The first flit is the header.
            held_until = (late.weight + (u64::from(v) * u64::from(pace.buffer)) as i64 + 1).max(0) as Cycle;
        }
        self.settled += 1;
        self.due += 1;
        let found = route.departs_when(v, |leaves| leaves.max(held_until) + Cycle::from(pace.flits - 1));
        departures.found(route, v, found);
    }

    /// As [`settle_first`](Self::settle_first) behind a link, where its header has not held the flits back and nobody gets the message: puts the departure down, and returns it with the link.
    #[allow(clippy::inline_always, reason = "once a hop")]
    #[inline(always)]
    pub(super) fn settle_plain(&mut self, route: &mut PathRoute, pace: Pace) -> Option<(Cycle, ChannelId)> {
        if self.settled < 2 || self.late != 0 || self.strips {
            return None;
        }
        let found = route.follows_after(self.settled, pace.flits - 1)?;
        self.settled += 1;
        self.due += 1;
        Some(found)
    }

    /// Takes the vertices out of the window that the first one waits for no longer.
    #[inline(never)]
    fn forget_until(&mut self, v: u32) {
        while self.front().is_some_and(|late| late.vertex <= v) {
            self.first += 1;
        }
        self.late = self.front().map_or(0, |late| late.vertex);
    }

    /// The first vertex of the window.
    #[inline]
    fn front(&self) -> Option<&Late> {
        self.window.get(self.first as usize)
    }

    #[inline]
    fn forget_all(&mut self) {
        self.window.clear();
        self.first = 0;
    }

    /// Adds a vertex to the window, which takes those out that it outweighs.
    #[inline(never)]
    fn add_to_window(&mut self, route: &PathRoute, vertex: u32, pace: Pace, spare: &mut Vec<Vec<Late>>) {
        if self.window.capacity() == 0 {
            self.window = spare.pop().unwrap_or_default();
        }
        let first_flit = if self.strips { route.first_flit(vertex) } else { 1 };
        let weight = pace.weight(vertex, first_flit, route);
        let first = self.first as usize;
        while self.window.len() > first && self.window.last().is_some_and(|late| late.weight <= weight) {
            self.window.pop();
        }
        if self.window.len() <= first {
            self.late = vertex;
            self.forget_all();
        } else if first > self.window.len() / 2 {
            // Those that no longer count are most.
            self.window.drain(..first);
            self.first = 0;
        }
        self.window.push(Late { vertex, weight });
    }

    /// The times where something is stripped.
    #[inline(never)]
    fn settle_windows<O: Observer>(
        &mut self,
        route: &mut PathRoute,
        known: u32,
        pace: Pace,
        (departures, spare): (&mut Departures<'_, O>, &mut Vec<Vec<Late>>),
    ) {
        let (passed, strip_at) = (self.passed, route.rare().strip_at);
        while self.settled < known {
            let v = self.settled;
            let mut last = i64::MIN;
            if !route.complete {
                // The vertex where the header is: `passed` flits stripped before it, less one.
                let flit = pace.flit(known, v);
                if flit >= i64::from(passed) {
                    if strip_at == Cycle::MAX || flit > i64::from(passed) {
                        return;
                    }
                    last = strip_at as i64;
                }
            }
            let mut behind = route.rare().window_end;
            while behind < known && pace.flit(behind, v) >= i64::from(route.first_flit(behind)) {
                self.add_to_window(route, behind, pace, spare);
                behind += 1;
            }
            route.rare_mut().window_end = behind;
            while self.front().is_some_and(|late| late.vertex < v) {
                self.first += 1;
            }
            if let Some(late) = self.front() {
                let start = i64::from(pace.flits) + (u64::from(v) * u64::from(pace.buffer)) as i64;
                last = last.max(late.weight + start);
            }
            // The flit that is paced by the one stripped just behind the window.
            if behind < known {
                let (leaves, first) = (route.leaves(behind), route.first_flit(behind));
                if pace.flit(behind, v) == i64::from(first) - 1
                    && let Ok(strip) = route.rare().strips.binary_search(&(behind - 1))
                {
                    last = last.max((leaves - Cycle::from(route.rare().since_strip[strip])) as i64);
                }
            }
            self.settled += 1;
            let found = route.departs_when(v, |_| last as Cycle);
            departures.found(route, v, found);
        }
    }

    /// The times where nothing is stripped and all windows reach to the path's end: running maxima from there.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn settle_rest<O: Observer>(
        &mut self,
        route: &mut PathRoute,
        known: u32,
        pace: Pace,
        departures: &mut Departures<'_, O>,
    ) {
        let settled = std::mem::replace(&mut self.settled, known);
        if !departures.found_rest(route, settled, pace.buffer) {
            Self::settle_rest_each(route, (settled, known), pace, departures);
        }
    }

    #[inline(never)]
    fn settle_rest_each<O: Observer>(
        route: &mut PathRoute,
        (settled, known): (u32, u32),
        pace: Pace,
        departures: &mut Departures<'_, O>,
    ) {
        let mut held_until = 0;
        // The window's start moves one vertex back, and every term in it gets that much later or is the start's own.
        for vertex in (settled..known).rev() {
            let found = route.departs_when(vertex, |leaves| held_until.max(leaves + Cycle::from(pace.flits - 1)));
            held_until = found.departs.saturating_sub(Cycle::from(pace.buffer));
            departures.found(route, vertex, found);
        }
    }

    /// Flits that have entered a vertex in cycles before `now`.
    pub(super) fn entered(&self, route: &PathRoute, vertex: u32, now: Cycle, pace: Pace) -> u32 {
        let left = self.passed_by(route, vertex - 1, now, pace);
        if left == 0 { 0 } else { left + 1 - route.first_flit(vertex - 1) }
    }

    /// The number of the last flit that has left a vertex in cycles before `now`; 0 if none has.
    pub(super) fn passed_by(&self, route: &PathRoute, v: u32, now: Cycle, pace: Pace) -> u32 {
        if !self.started {
            // It holds a port and is still being prepared.
            return 0;
        }
        let known = route.last() + u32::from(route.complete);
        let room = |m: u32| (u64::from(m - v) * u64::from(pace.buffer)) as i64;
        // The greatest flit that no vertex ahead has held back until now.
        let passed = |m: u32| (now - 1 - route.leaves(m)) as i64 + i64::from(route.first_flit(m)) + room(m);
        let mut flit = (v..known).map(passed).min().unwrap_or(0).min(i64::from(pace.flits));
        if !route.complete {
            let stripped = i64::from(route.first_flit(known - 1)) - 1 + i64::from(route.rare().strip_at < now);
            flit = flit.min(stripped + room(known));
        }
        flit as u32
    }
}
