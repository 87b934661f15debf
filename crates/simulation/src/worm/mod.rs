//! The worm engine: header grants and deliveries only, equal to the flit engine to the cycle (docs/worm-engine.md).
//!
//! Where a worm does not share the bandwidth of its channels, its flits have no free will: once the header has crossed a channel,
//! the cycle in which any other flit crosses it follows from when the header crosses that channel and those ahead. So each
//! channel's release is scheduled as soon as the header is far enough ahead, and nothing happens in between.

mod copies;
mod headed;
mod paths;
mod trees;

use std::collections::VecDeque;

use wormcast_multicast::Plan;
use wormcast_routing::{NoRoute, RoutingRelation};

use crate::core::arbiter::NONE;
use crate::core::worm::Route;
use crate::core::{Core, Event, Kind, Search, Steps, run_until};
use crate::engine::{Engine, EngineConfig, Progress};
use crate::observer::{Cycle, Observer};
use crate::result::Deadlock;
use crate::run_end::{Held, WormAtEnd};
use crate::switching::{Header, Replication};
use copies::{CopyTimes, Granted};
use headed::HeadedTimes;
use paths::{Pace, PathTimes};
use trees::TreeTimes;

/// The worm engine. Memory: that of the core, 56 bytes a vertex of tree worms, and with tree headers as much again and 24 for each
/// header flit that enters it.
pub struct WormEngine<'a, O> {
    core: Core<'a, O>,
    /// What is known of each worm's flits, by slot.
    times: Vec<Times>,
    /// Departures found by the step at hand: (vertex, cycle).
    found: Vec<(u32, Cycle)>,
    /// What a tree was granted in the step at hand.
    copies: Granted,
    /// Windows of path worms that are gone, kept for their memory.
    windows: Vec<VecDeque<u32>>,
}

/// What is known of a worm's flits.
enum Times {
    Path(PathTimes),
    Tree(TreeTimes),
    Headed(HeadedTimes),
    Copies(CopyTimes),
}

impl Times {
    /// The last departure that is known. Until a header gets on, there is no later one.
    fn last_departure(&self) -> Cycle {
        match self {
            Self::Path(times) => times.last_departure(),
            Self::Tree(times) => times.last_departure(),
            Self::Headed(times) => times.data.last_departure(),
            Self::Copies(times) => times.last_departure(),
        }
    }
}

impl<'a, O: Observer> WormEngine<'a, O> {
    /// Why the worm engine is not exact for a configuration; `None` if it is.
    pub fn objection(config: &EngineConfig) -> Option<&'static str> {
        if O::FLITS {
            Some("an observer asks for single flits")
        } else if config.virtual_channels > 1 {
            Some("virtual channels share the bandwidth of their links")
        } else if config.replication == Replication::Independent && !config.branching().whole_worms {
            Some("branches that copy flits independently are covered with `buffer = \"message\"` only")
        } else if config.header == Header::Tree && config.replication == Replication::Independent {
            Some("tree headers need lockstep")
        } else {
            None
        }
    }

    /// An empty network in cycle 0. The configuration must be one without [`objection`](Self::objection).
    pub fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        debug_assert_eq!(Self::objection(&config), None);
        Self {
            core: Core::new(routing, config, observer),
            times: Vec::new(),
            found: Vec::new(),
            copies: Granted::default(),
            windows: Vec::new(),
        }
    }

    /// A header crosses what it was granted at a vertex, in this same cycle.
    fn header_leaves(&mut self, slot: u32, vertex: u32) {
        let core = &mut self.core;
        let now = core.now;
        let worm = &mut core.worms[slot as usize];
        let (id, flits, config) = (worm.id, worm.flits, &core.config);
        match (&mut self.times[slot as usize], &mut worm.route) {
            (Times::Path(times), Route::Path(route)) => {
                if vertex == 0 {
                    times.start(self.windows.pop().unwrap_or_default());
                }
                times.header_leaves(route, vertex, now);
                if !route.complete {
                    // It enters the next router. If it is stripped there, the next flit is there by then.
                    let mut freed = now;
                    let stripped = config.header == Header::AllDestinations && route.strips();
                    if stripped {
                        freed = now + 1 + Cycle::from(config.strip_delay);
                        times.strips(freed);
                    }
                    worm.timers += 1;
                    let routed = freed + 1 + Cycle::from(config.routing_delay);
                    core.channels.headers.push(routed, id, slot, vertex + 1, stripped);
                }
                let pace = Pace { flits, buffer: config.buffer };
                let departing = times.settle(route, vertex + 1, pace);
                for vertex in departing {
                    if route.gives_back(slot, flits, vertex, &mut core.channels) {
                        let event = Event::of_worm(Kind::Delivers, id, slot, vertex);
                        core.channels.deliver(now, route.hop(vertex).departs, event);
                    }
                }
            }
            (Times::Tree(times), Route::Tree(route)) => {
                times.grow(route);
                times.header_leaves(route, vertex as usize, now, &mut self.found);
                let mut child = route.vertices[vertex as usize].first_child;
                while child != NONE {
                    core.route_header(slot, child);
                    let Route::Tree(route) = &core.worms[slot as usize].route else { break };
                    child = route.vertices[child as usize].sibling;
                }
                self.tree_departures(slot);
            }
            (Times::Headed(times), Route::Tree(route)) => {
                times.granted(route, vertex as usize, now, core.network, core.descent, &mut self.found);
                if let Some((from, to)) = times.lost {
                    core.stranded = Some(NoRoute::new(core.routing, from, to));
                }
                for (vertex, at) in times.arrivals.drain(..) {
                    core.route_header_from(at, slot, vertex);
                }
                self.tree_departures(slot);
            }
            (Times::Copies(times), Route::Tree(route)) => {
                times.granted(route, vertex, now, &mut self.copies);
                for &child in &self.copies.children {
                    core.route_header(slot, child);
                }
                for &delivery in &self.copies.deliveries {
                    core.tree_consumes(slot, delivery, self.copies.last);
                    let event = Event::of_worm(Kind::Delivers, id, slot, delivery);
                    core.channels.deliver(now, self.copies.last, event);
                }
                if self.copies.all {
                    core.tree_departs(slot, vertex, self.copies.last);
                }
            }
            _ => {}
        }
    }

    /// A lockstep tree gives back what it holds for the departures found, and delivers.
    fn tree_departures(&mut self, slot: u32) {
        let core = &mut self.core;
        for (vertex, at) in self.found.drain(..) {
            core.tree_departs(slot, vertex, at);
            let worm = &core.worms[slot as usize];
            let (id, Route::Tree(route)) = (worm.id, &worm.route) else { break };
            let (first, end) = route.vertices[vertex as usize].deliveries;
            for delivery in first..end {
                core.tree_consumes(slot, delivery, at);
                core.channels.deliver(core.now, at, Event::of_worm(Kind::Delivers, id, slot, delivery));
            }
        }
    }

    /// The last flit of a worm crosses the consumption channels at a vertex of a path, or that of a delivery of a tree, in this
    /// cycle.
    fn delivers(&mut self, slot: u32, which: u32) {
        let core = &mut self.core;
        match core.worms[slot as usize].route {
            Route::Path(_) => core.deliver(slot, which),
            Route::Tree(_) => core.deliver_tree(slot, which),
        }
        let done = match (&mut self.times[slot as usize], &core.worms[slot as usize].route) {
            (Times::Path(times), Route::Path(route)) => {
                let done = route.complete && which == route.last();
                if done {
                    self.windows.push(times.retire());
                }
                core.report_departures(slot, core.now + 1);
                done
            }
            (times, _) => {
                let done = match times {
                    Times::Tree(times) => times.delivered(),
                    Times::Headed(times) => times.data.delivered(),
                    Times::Copies(times) => times.delivered(),
                    Times::Path(_) => false,
                };
                if done {
                    core.report_tree_departures(slot, core.now + 1);
                }
                done
            }
        };
        if done {
            core.finish(slot);
        }
    }

    fn find_dead(&self, search: &mut Search) {
        let now = self.core.now;
        self.core.find_dead(search, |slot| self.times[slot as usize].last_departure() < now);
    }

    /// Reports all releases in earlier cycles that have not been reported.
    fn catch_up(&mut self) {
        let now = self.core.now;
        for slot in 0..self.core.worms.len() as u32 {
            if self.core.worms[slot as usize].live {
                self.core.report_departures(slot, now);
                self.core.report_tree_departures(slot, now);
            }
        }
    }
}

impl<'a, O: Observer> Steps<'a> for WormEngine<'a, O> {
    type Observer = O;

    fn core(&mut self) -> &mut Core<'a, O> {
        &mut self.core
    }

    fn next_event(&self) -> Option<Cycle> {
        self.core.next_event()
    }

    fn quiet_from(&self) -> Cycle {
        let live = self.core.worms.iter().zip(&self.times).filter(|(worm, _)| worm.live);
        live.map(|(_, times)| times.last_departure()).max().map_or(self.core.now, |last| self.core.now.max(last + 1))
    }

    fn cycle(&mut self) {
        self.core.begin_cycle();
        for position in 0..self.core.granted.len() {
            let (slot, vertex) = self.core.granted[position];
            self.header_leaves(slot, vertex);
        }
        for position in 0..self.core.channels.delivering.len() {
            let Event { slot, vertex: which, .. } = self.core.channels.delivering[position];
            self.delivers(slot, which);
        }
        self.core.now += 1;
    }

    fn find_deadlock(&mut self) -> Option<Deadlock> {
        self.catch_up();
        let mut search = std::mem::take(&mut self.core.search);
        self.find_dead(&mut search);
        let found = self.core.deadlock(&mut search);
        self.core.search = search;
        found
    }
}

impl<O: Observer> Engine for WormEngine<'_, O> {
    type Observer = O;

    fn name(&self) -> &'static str {
        "worm"
    }

    fn now(&self) -> Cycle {
        self.core.now
    }

    fn has_room(&mut self, worms: usize) -> bool {
        self.core.has_room(worms, &mut self.times)
    }

    fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) {
        let (buffer, replication) = (self.core.config.buffer, self.core.config.replication);
        let tree_header = self.core.config.header == Header::Tree;
        self.core.submit(at, message, length, plan);
        for &slot in &self.core.submitted {
            let slot = slot as usize;
            if self.times.len() <= slot {
                self.times.resize_with(slot + 1, || Times::Path(PathTimes::default()));
            }
            let (flits, header) = (self.core.worms[slot].flits, self.core.worms[slot].header);
            match (&mut self.times[slot], &self.core.worms[slot].route) {
                (times, Route::Path(_)) => *times = Times::Path(PathTimes::default()),
                (times, Route::Tree(route)) => {
                    *times = match replication {
                        Replication::Lockstep if tree_header => {
                            Times::Headed(HeadedTimes::new(route, header, flits - header, buffer))
                        }
                        Replication::Lockstep => Times::Tree(TreeTimes::new(route, flits, buffer)),
                        Replication::Independent => Times::Copies(CopyTimes::new(route, flits)),
                    }
                }
            }
        }
    }

    fn run_until(&mut self, end: Cycle) -> Progress {
        run_until(self, end, false)
    }

    fn drain(&mut self, limit: Cycle) -> Progress {
        run_until(self, limit, true)
    }

    fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    fn flit_hops(&mut self) -> u64 {
        self.catch_up();
        self.core.reports.flit_hops
    }

    fn each_held(&mut self, visit: &mut dyn FnMut(Held)) {
        self.catch_up();
        let (now, config) = (self.core.now, self.core.config);
        for (worm, times) in self.core.worms.iter().zip(&self.times).filter(|(worm, _)| worm.live) {
            let mut visit = |channel, virtual_channel, flits| {
                visit(Held { channel, virtual_channel, worm: worm.id, flits });
            };
            match (times, &worm.route) {
                (Times::Path(times), Route::Path(route)) => {
                    let pace = Pace { flits: worm.flits, buffer: config.buffer };
                    let addresses = if config.header == Header::AllDestinations { worm.header } else { 0 };
                    for (vertex, hop) in route.hops() {
                        if vertex > 0 {
                            visit(hop.entered_by, hop.virtual_channel, times.entered(route, vertex, now, pace));
                        }
                        if hop.consumption != NONE {
                            let consumed = times.passed_by(route, vertex, now, pace).saturating_sub(addresses);
                            route.consumption(vertex).for_each(|channel| visit(channel, 0, consumed));
                        }
                    }
                }
                (Times::Tree(_) | Times::Headed(_), Route::Tree(route)) => {
                    if !route.vertices.iter().skip(1).any(|at| at.reserved) {
                        continue;
                    }
                    // Header flits that routers strip or send on to each other are not consumed.
                    let (entered, data) = match times {
                        Times::Headed(times) => times.crossed(route, now),
                        Times::Tree(times) => times.crossed(route, now, |_, _| 0),
                        _ => continue,
                    };
                    for (v, at) in route.vertices.iter().enumerate().skip(1) {
                        if at.reserved {
                            visit(at.entered_by, at.virtual_channel, entered[v]);
                        }
                        let held = route.deliveries_of(at).iter().filter(|delivery| delivery.channel.raw() != NONE);
                        held.for_each(|delivery| visit(delivery.channel, 0, data[v]));
                    }
                }
                (Times::Copies(times), Route::Tree(route)) => {
                    for (v, at) in route.vertices.iter().enumerate().skip(1) {
                        if at.reserved {
                            visit(at.entered_by, at.virtual_channel, times.entered(v, now));
                        }
                        let held = route.deliveries_of(at).iter().filter(|delivery| delivery.channel.raw() != NONE);
                        held.for_each(|delivery| visit(delivery.channel, 0, times.consumed(delivery, now)));
                    }
                }
                _ => {}
            }
        }
    }

    fn worms(&mut self) -> Vec<WormAtEnd> {
        self.catch_up();
        let mut search = std::mem::take(&mut self.core.search);
        self.find_dead(&mut search);
        let worms = self.core.worms_at_end(&search);
        self.core.search = search;
        worms
    }

    fn observer(&self) -> &O {
        &self.core.reports.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.core.reports.observer
    }

    fn into_observer(mut self) -> O {
        self.catch_up();
        self.core.reports.observer
    }
}
