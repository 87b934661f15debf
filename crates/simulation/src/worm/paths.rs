//! The closed form for path worms.
//!
//! Flits are numbered 1 to F as they are injected; vertices are numbered from the sender's processor, 0. Let h(m) be the cycle in
//! which the first flit leaves vertex m and f(m) its number: 1 + the address flits stripped at vertices up to m. The last flit
//! leaves vertex v in the maximum, over all m >= v with F - (m - v)B >= f(m), of h(m) + F - (m - v)B - f(m); where a router
//! strips, the stripped flit counts like one that leaves.

use std::collections::VecDeque;

use crate::observer::Cycle;

/// When a path worm's header has left its vertices, and what follows from it. Kept for as many vertices as the worm's length in
/// the network, however long its way.
#[derive(Default)]
pub(super) struct PathTimes {
    /// The vertices that the header has left, from `base` on: at least from the one before the first that flits have still to
    /// leave.
    hops: VecDeque<HopTimes>,
    base: u32,
    /// The first vertex whose departure is not known.
    settled: u32,
    /// The last departure that is known.
    last_departure: Cycle,
    /// When the address flit at the vertex where the header is now is stripped, or `Cycle::MAX`.
    strip_at: Cycle,
    /// Vertices from `settled` to `window_end`, in the window of the former, that may hold its maximum: decreasing.
    window: VecDeque<u32>,
    window_end: u32,
}

/// A vertex that the header has left.
#[derive(Clone, Copy)]
struct HopTimes {
    /// h(m).
    leaves: Cycle,
    /// f(m).
    first: u32,
    /// How long before that the flit before was stripped there; 0 if none was.
    since_strip: u32,
}

impl PathTimes {
    /// Starts over, keeping memory.
    pub(super) fn reset(&mut self) {
        self.hops.clear();
        self.window.clear();
        (self.base, self.settled, self.window_end) = (0, 0, 0);
        (self.strip_at, self.last_departure) = (Cycle::MAX, 0);
    }

    /// The vertex that the header has still to leave.
    fn known(&self) -> u32 {
        self.base + self.hops.len() as u32
    }

    fn hop(&self, vertex: u32) -> &HopTimes {
        &self.hops[(vertex - self.base) as usize]
    }

    /// The header leaves the vertex where it is; flits have left all vertices before `tail`, and nobody will ask for them.
    #[inline]
    pub(super) fn header_leaves(&mut self, now: Cycle, tail: u32) {
        while self.base + 1 < tail {
            self.hops.pop_front();
            self.base += 1;
        }
        let before = self.hops.back().map_or(1, |hop| hop.first);
        let stripped = self.strip_at != Cycle::MAX;
        let since_strip = if stripped { (now - self.strip_at) as u32 } else { 0 };
        self.hops.push_back(HopTimes { leaves: now, first: before + u32::from(stripped), since_strip });
        self.strip_at = Cycle::MAX;
    }

    /// The header arrives at the next vertex, where it is stripped at `strip_at`, if at all.
    #[inline]
    pub(super) fn header_arrives(&mut self, strip_at: Option<Cycle>) {
        self.strip_at = strip_at.unwrap_or(Cycle::MAX);
    }

    /// The last departure that is known. Until a header gets on, there is no later one.
    pub(super) fn last_departure(&self) -> Cycle {
        self.last_departure
    }

    /// h(m) - mB - f(m): what vertex m contributes to the maxima of windows, less what depends on the window's start.
    fn weight(&self, m: u32, buffer: u32) -> i64 {
        let hop = self.hop(m);
        hop.leaves as i64 - (u64::from(m) * u64::from(buffer)) as i64 - i64::from(hop.first)
    }

    /// The number of the flit that has to leave vertex m before the last one can leave vertex v.
    #[inline]
    fn paced(m: u32, v: u32, flits: u32, buffer: u32) -> i64 {
        i64::from(flits) - (u64::from(m - v) * u64::from(buffer)) as i64
    }

    /// Finds all departures that are determined now: calls `departs` with (vertex, cycle). O(1) amortised a vertex.
    #[inline]
    pub(super) fn settle(&mut self, flits: u32, buffer: u32, complete: bool, departs: impl FnMut(u32, Cycle)) {
        let known = self.known();
        let passed = self.hop(known - 1).first;
        if !complete {
            // Most headers are still within the reach of the flits behind them: nothing can be known.
            let flit = Self::paced(known, self.settled, flits, buffer);
            if flit > i64::from(passed) || (flit == i64::from(passed) && self.strip_at == Cycle::MAX) {
                return;
            }
        } else if passed == 1 && Self::paced(known - 1, self.settled, flits, buffer) >= 1 {
            self.settle_rest(flits, buffer, departs);
            return;
        }
        self.settle_windows(flits, buffer, complete, departs);
    }

    fn settle_windows(&mut self, flits: u32, buffer: u32, complete: bool, mut departs: impl FnMut(u32, Cycle)) {
        let known = self.known();
        let passed = self.hop(known - 1).first;
        while self.settled < known {
            let v = self.settled;
            let mut last = i64::MIN;
            if !complete {
                // The vertex where the header is: `passed` flits stripped before it, less one.
                let flit = Self::paced(known, v, flits, buffer);
                if flit >= i64::from(passed) {
                    if self.strip_at == Cycle::MAX || flit > i64::from(passed) {
                        return;
                    }
                    last = self.strip_at as i64;
                }
            }
            while self.window_end < known
                && Self::paced(self.window_end, v, flits, buffer) >= i64::from(self.hop(self.window_end).first)
            {
                let weight = self.weight(self.window_end, buffer);
                while self.window.back().is_some_and(|&m| self.weight(m, buffer) <= weight) {
                    self.window.pop_back();
                }
                self.window.push_back(self.window_end);
                self.window_end += 1;
            }
            while self.window.front().is_some_and(|&m| m < v) {
                self.window.pop_front();
            }
            if let Some(&m) = self.window.front() {
                let start = i64::from(flits) + (u64::from(v) * u64::from(buffer)) as i64;
                last = last.max(self.weight(m, buffer) + start);
            }
            // The flit that is paced by the one stripped just behind the window.
            let behind = self.window_end;
            if behind < known {
                let HopTimes { leaves, first, since_strip } = *self.hop(behind);
                if since_strip > 0 && Self::paced(behind, v, flits, buffer) == i64::from(first) - 1 {
                    last = last.max((leaves - Cycle::from(since_strip)) as i64);
                }
            }
            departs(v, last as Cycle);
            self.last_departure = last as Cycle;
            self.settled += 1;
        }
    }

    /// The same where nothing is stripped and all windows reach to the path's end: running maxima from there.
    fn settle_rest(&mut self, flits: u32, buffer: u32, mut departs: impl FnMut(u32, Cycle)) {
        let mut held_until = 0;
        let known = self.known();
        let rest = self.hops.range((self.settled - self.base) as usize..).rev();
        // The window's start moves one vertex back, and every term in it gets that much later or is the start's own.
        for (v, hop) in (self.settled..known).rev().zip(rest) {
            let own = hop.leaves + Cycle::from(flits - 1);
            held_until = own.max(held_until);
            departs(v, held_until);
            if v == known - 1 {
                self.last_departure = held_until;
            }
            held_until = held_until.saturating_sub(Cycle::from(buffer));
        }
        self.settled = known;
    }

    /// Flits that have entered a vertex in cycles before `now`; `complete` says whether the last vertex is the worm's last stop.
    pub(super) fn entered(&self, vertex: u32, now: Cycle, flits: u32, buffer: u32, complete: bool) -> u32 {
        let v = vertex - 1;
        let known = self.known();
        let room = |m: u32| (u64::from(m - v) * u64::from(buffer)) as i64;
        // The greatest flit that no vertex ahead has held back until now.
        let passed = |m: u32| (now - 1 - self.hop(m).leaves) as i64 + i64::from(self.hop(m).first) + room(m);
        let mut flit = (v..known).map(passed).min().unwrap_or(0).min(i64::from(flits));
        if !complete {
            let stripped = i64::from(self.hop(known - 1).first) - 1 + i64::from(self.strip_at < now);
            flit = flit.min(stripped + room(known));
        }
        (flit - i64::from(self.hop(v).first) + 1) as u32
    }
}
