//! The closed form for path worms.
//!
//! Flits are numbered 1 to F as they are injected; vertices are numbered from the sender's processor, 0. Let h(m) be the cycle in
//! which the first flit leaves vertex m and f(m) its number: 1 + the address flits stripped at vertices up to m. The last flit
//! leaves vertex v in the maximum, over all m >= v with F - (m - v)B >= f(m), of h(m) + F - (m - v)B - f(m); where a router
//! strips, the stripped flit counts like one that leaves.

use std::collections::VecDeque;

use crate::observer::Cycle;

/// When a path worm's header has left its vertices, and what follows from it.
#[derive(Default)]
pub(super) struct PathTimes {
    /// h(m) for the vertices that the header has left.
    leaves: Vec<Cycle>,
    /// f(m) for these.
    first: Vec<u32>,
    /// When the flit before was stripped there, or `Cycle::MAX`.
    stripped: Vec<Cycle>,
    /// When the address flit at the vertex where the header is now is stripped, or `Cycle::MAX`.
    strip_at: Cycle,
    /// The first vertex whose departure is not known.
    settled: usize,
    /// Departures that are known and have not happened.
    ahead: u32,
    /// Vertices from `settled` to `window_end`, in the window of the former, that may hold its maximum: decreasing.
    window: VecDeque<u32>,
    window_end: usize,
}

impl PathTimes {
    /// Starts over, keeping memory.
    pub(super) fn reset(&mut self) {
        self.leaves.clear();
        self.first.clear();
        self.stripped.clear();
        self.window.clear();
        (self.strip_at, self.settled, self.ahead, self.window_end) = (Cycle::MAX, 0, 0, 0);
    }

    /// The header leaves the vertex where it is.
    pub(super) fn header_leaves(&mut self, now: Cycle) {
        let before = self.first.last().copied().unwrap_or(1);
        self.first.push(before + u32::from(self.strip_at != Cycle::MAX));
        self.stripped.push(self.strip_at);
        self.leaves.push(now);
        self.strip_at = Cycle::MAX;
    }

    /// The header arrives at the next vertex, where it is stripped at `strip_at`, if at all.
    pub(super) fn header_arrives(&mut self, strip_at: Option<Cycle>) {
        self.strip_at = strip_at.unwrap_or(Cycle::MAX);
    }

    /// A departure has happened.
    pub(super) fn left(&mut self) {
        self.ahead -= 1;
    }

    /// Whether no departure is to come before the header gets on.
    pub(super) fn holds_on(&self) -> bool {
        self.ahead == 0
    }

    /// h(m) - mB - f(m): what vertex m contributes to the maxima of windows, less what depends on the window's start.
    fn weight(&self, m: usize, buffer: u32) -> i64 {
        self.leaves[m] as i64 - (m as u64 * u64::from(buffer)) as i64 - i64::from(self.first[m])
    }

    /// The number of the flit that has to leave vertex m before the last one can leave vertex v.
    fn paced(m: usize, v: usize, flits: u32, buffer: u32) -> i64 {
        i64::from(flits) - ((m - v) as u64 * u64::from(buffer)) as i64
    }

    /// Finds all departures that are determined now: appends (cycle, vertex). O(1) amortised a vertex.
    pub(super) fn settle(&mut self, flits: u32, buffer: u32, complete: bool, found: &mut Vec<(Cycle, u32)>) {
        let known = self.leaves.len();
        let passed = self.first[known - 1];
        if complete && passed == 1 && Self::paced(known - 1, self.settled, flits, buffer) >= 1 {
            self.settle_rest(flits, buffer, found);
            return;
        }
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
                && Self::paced(self.window_end, v, flits, buffer) >= i64::from(self.first[self.window_end])
            {
                let weight = self.weight(self.window_end, buffer);
                while self.window.back().is_some_and(|&m| self.weight(m as usize, buffer) <= weight) {
                    self.window.pop_back();
                }
                self.window.push_back(self.window_end as u32);
                self.window_end += 1;
            }
            while self.window.front().is_some_and(|&m| (m as usize) < v) {
                self.window.pop_front();
            }
            if let Some(&m) = self.window.front() {
                let start = i64::from(flits) + (v as u64 * u64::from(buffer)) as i64;
                last = last.max(self.weight(m as usize, buffer) + start);
            }
            // The flit that is paced by the one stripped just behind the window.
            let behind = self.window_end;
            if behind < known
                && self.stripped[behind] != Cycle::MAX
                && Self::paced(behind, v, flits, buffer) == i64::from(self.first[behind]) - 1
            {
                last = last.max(self.stripped[behind] as i64);
            }
            found.push((last as Cycle, v as u32));
            self.ahead += 1;
            self.settled += 1;
        }
    }

    /// The same where nothing is stripped and all windows reach to the path's end: running maxima from there.
    fn settle_rest(&mut self, flits: u32, buffer: u32, found: &mut Vec<(Cycle, u32)>) {
        let mut held_until = 0;
        // The window's start moves one vertex back, and every term in it gets that much later or is the start's own.
        for v in (self.settled..self.leaves.len()).rev() {
            let own = self.leaves[v] + Cycle::from(flits - 1);
            held_until = own.max(held_until);
            found.push((held_until, v as u32));
            self.ahead += 1;
            held_until = held_until.saturating_sub(Cycle::from(buffer));
        }
        self.settled = self.leaves.len();
    }

    /// Flits that have entered a vertex in cycles before `now`; `complete` says whether the last vertex is the worm's last stop.
    pub(super) fn entered(&self, vertex: usize, now: Cycle, flits: u32, buffer: u32, complete: bool) -> u32 {
        let v = vertex - 1;
        let known = self.leaves.len();
        let room = |m: usize| ((m - v) as u64 * u64::from(buffer)) as i64;
        // The greatest flit that no vertex ahead has held back until now.
        let passed = |m: usize| (now - 1 - self.leaves[m]) as i64 + i64::from(self.first[m]) + room(m);
        let mut flit = (v..known).map(passed).min().unwrap_or(0).min(i64::from(flits));
        if !complete {
            let stripped = i64::from(self.first[known - 1]) - 1 + i64::from(self.strip_at < now);
            flit = flit.min(stripped + room(known));
        }
        (flit - i64::from(self.first[v]) + 1) as u32
    }
}
