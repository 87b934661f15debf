//! The worm engine: header grants and channel releases only, equal to the flit engine to the cycle (docs/worm-engine.md).
//!
//! Where a worm does not share the bandwidth of its channels, its flits have no free will: once the header has crossed a channel,
//! the cycle in which any other flit crosses it follows from when the header crosses that channel and those ahead. So each
//! channel's release is scheduled as soon as the header is far enough ahead, and nothing happens in between.

mod paths;
mod trees;

use wormcast_multicast::Plan;
use wormcast_network::{ChannelId, Network};
use wormcast_routing::RoutingRelation;

use crate::calendar::Calendar;
use crate::config::{Header, Replication};
use crate::core::worm::Route;
use crate::core::{Core, Steps, run_until};
use crate::engine::{Engine, EngineConfig, Progress};
use crate::observer::{Cycle, Observer};
use crate::result::Deadlock;
use paths::PathTimes;
use trees::TreeTimes;

/// The worm engine. Memory: that of the core, and 20 bytes a hop of the worms in the network.
pub struct WormEngine<'a, O> {
    core: Core<'a, O>,
    /// What is known of each worm's flits, by slot.
    times: Vec<Times>,
    /// Tails that leave vertices: (worm id, vertex, slot).
    departures: Calendar<(u64, u32, u32)>,
    leaving: Vec<(u64, u32, u32)>,
    /// Departures found by the step at hand: (cycle, vertex).
    found: Vec<(Cycle, u32)>,
}

/// What is known of a worm's flits.
enum Times {
    Path(PathTimes),
    Tree(TreeTimes),
}

impl<'a, O: Observer> WormEngine<'a, O> {
    /// Why the worm engine is not exact for a configuration; `None` if it is.
    pub fn objection(config: &EngineConfig) -> Option<&'static str> {
        if O::FLITS {
            Some("an observer asks for single flits")
        } else if config.virtual_channels > 1 {
            Some("virtual channels share the bandwidth of their links")
        } else if config.replication == Replication::Independent {
            Some("branches that copy flits independently are not covered")
        } else if config.header == Header::Tree {
            Some("trees whose branches carry different header flits are not covered")
        } else {
            None
        }
    }

    /// An empty network in cycle 0. The configuration must be one without [`objection`](Self::objection).
    pub fn new(network: &'a Network, routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        debug_assert_eq!(Self::objection(&config), None);
        Self {
            core: Core::new(network, routing, config, observer),
            times: Vec::new(),
            departures: Calendar::new(1 << 10),
            leaving: Vec::new(),
            found: Vec::new(),
        }
    }

    /// A header crosses what it was granted at a vertex, in this same cycle.
    fn header_leaves(&mut self, slot: u32, vertex: u32) {
        let now = self.core.now;
        let worm = &self.core.worms[slot as usize];
        let (id, flits, buffer) = (worm.id, worm.flits, self.core.config.buffer);
        match (&mut self.times[slot as usize], &worm.route) {
            (Times::Path(times), Route::Path(route)) => {
                let complete = route.complete;
                times.header_leaves(now);
                if !complete {
                    // It enters the next router. If it is stripped there, the next flit is there by then.
                    let strip_at = self.core.strip_time(slot, vertex + 1);
                    times.header_arrives(strip_at);
                    self.core.route_header(slot, vertex + 1, strip_at.unwrap_or(now));
                }
                times.settle(flits, buffer, complete, &mut self.found);
            }
            (Times::Tree(times), Route::Tree(route)) => {
                times.header_leaves(route, vertex as usize, now, &mut self.found);
                let mut child = route.vertices[vertex as usize].first_child;
                while child != crate::core::arbiter::NONE {
                    self.core.route_header(slot, child, now);
                    let Route::Tree(route) = &self.core.worms[slot as usize].route else { break };
                    child = route.vertices[child as usize].sibling;
                }
            }
            _ => {}
        }
        for (at, vertex) in self.found.drain(..) {
            self.departures.push(at, (id, vertex, slot));
        }
    }

    /// The last flit of a worm leaves a vertex in this cycle.
    fn tail_leaves(&mut self, slot: u32, vertex: u32) {
        match &mut self.times[slot as usize] {
            Times::Path(times) => {
                times.left();
                self.core.leave_path(slot, vertex as usize);
            }
            Times::Tree(times) => {
                let done = times.left();
                self.core.consume_tree(slot, vertex as usize);
                self.core.leave_tree(slot, vertex as usize);
                if done {
                    self.core.finish(slot);
                }
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
        let now = self.core.now;
        if self.departures.is_due(now) {
            return Some(now);
        }
        match self.core.next_event() {
            Some(at) if at == now => Some(now),
            event => event.into_iter().chain(self.departures.next(now)).min(),
        }
    }

    fn cycle(&mut self) {
        self.core.begin_cycle();
        for position in 0..self.core.granted.len() {
            let (slot, vertex) = self.core.granted[position];
            self.header_leaves(slot, vertex);
        }
        let mut leaving = std::mem::take(&mut self.leaving);
        self.departures.take(self.core.now, &mut leaving);
        for (_, vertex, slot) in leaving.drain(..) {
            self.tail_leaves(slot, vertex);
        }
        self.leaving = leaving;
        self.core.now += 1;
    }

    fn find_deadlock(&self) -> Option<Deadlock> {
        self.core.find_deadlock(|slot| match &self.times[slot as usize] {
            Times::Path(times) => times.holds_on(),
            Times::Tree(times) => times.holds_on(),
        })
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

    fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) {
        let buffer = self.core.config.buffer;
        for slot in self.core.submit(at, message, length, plan) {
            let slot = slot as usize;
            if self.times.len() <= slot {
                self.times.resize_with(slot + 1, || Times::Path(PathTimes::default()));
            }
            let flits = self.core.worms[slot].flits;
            match (&mut self.times[slot], &self.core.worms[slot].route) {
                (Times::Path(times), Route::Path(_)) => times.reset(),
                (times, Route::Path(_)) => *times = Times::Path(PathTimes::default()),
                (times, Route::Tree(route)) => *times = Times::Tree(TreeTimes::new(route, flits, buffer)),
            }
        }
    }

    fn run_until(&mut self, end: Cycle) -> Progress {
        run_until(self, end)
    }

    fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    fn flit_hops(&self) -> u64 {
        self.core.flit_hops
    }

    fn each_held_link(&self, visit: &mut dyn FnMut(ChannelId, u32)) {
        let (now, config) = (self.core.now, self.core.config);
        for (worm, times) in self.core.worms.iter().zip(&self.times).filter(|(worm, _)| worm.live) {
            match (times, &worm.route) {
                (Times::Path(times), Route::Path(route)) => {
                    for vertex in route.tail.max(2)..=route.last() {
                        let entered = times.entered(vertex, now, worm.flits, config.buffer, route.complete);
                        visit(route.entered_by[vertex], entered);
                    }
                }
                (Times::Tree(times), Route::Tree(route)) => {
                    for (vertex, at) in route.vertices.iter().enumerate().skip(2).filter(|(_, at)| at.reserved) {
                        visit(at.entered_by, times.entered(route, vertex, now, worm.flits, config.buffer));
                    }
                }
                _ => {}
            }
        }
    }

    fn observer(&self) -> &O {
        &self.core.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.core.observer
    }

    fn into_observer(self) -> O {
        self.core.observer
    }
}
