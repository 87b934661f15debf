//! The worm engine: header grants and deliveries only, equal to the flit engine to the cycle (docs/worm-engine.md).
//!
//! Where a worm does not share the bandwidth of its channels, its flits have no free will: once the header has crossed a channel,
//! the cycle in which any other flit crosses it follows from when the header crosses that channel and those ahead. So each
//! channel's release is scheduled as soon as the header is far enough ahead, and nothing happens in between.

mod copies;
mod header_flits;
mod paths;
mod trees;

use std::collections::VecDeque;

use wormcast_network::ChannelId;
use wormcast_routing::{NoRoute, RoutingRelation};

use crate::config::switching::BranchReplication;
use crate::core::arbiter::NONE;
use crate::core::worm::Route;
use crate::core::{Event, Kind};
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, Observer};
use crate::wormhole::{Movement, WormholeEngine};
use copies::{CopyTimes, Granted};
use header_flits::HeaderFlitTimes;
use paths::{Pace, PathTimes};
use trees::TreeTimes;

/// The worm engine. Memory: that of the core, 56 bytes a vertex of tree worms, and with tree headers as much again and 24 for each
/// header flit that enters it.
pub type WormEngine<'a, O> = WormholeEngine<'a, O, WormMovement>;

/// Flits that follow their headers by closed forms.
#[derive(Default)]
pub struct WormMovement {
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
    HeaderFlits(HeaderFlitTimes),
    Copies(CopyTimes),
}

impl Times {
    /// The last departure that is known. Until a header gets on, there is no later one.
    fn last_departure(&self) -> Cycle {
        match self {
            Self::Path(times) => times.last_departure(),
            Self::Tree(times) => times.last_departure(),
            Self::HeaderFlits(times) => times.data.last_departure(),
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
        } else if config.replication == BranchReplication::Independent && !config.branching().packet_buffers {
            Some("branches that copy flits independently are covered with `buffer = \"message\"` only")
        } else if config.header.strips_trees() && config.replication == BranchReplication::Independent {
            Some("tree headers need lockstep")
        } else {
            None
        }
    }

    /// An empty network in cycle 0. The configuration must be one without [`objection`](Self::objection).
    pub fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        debug_assert_eq!(Self::objection(&config), None);
        Self::with(routing, config, observer, WormMovement::default())
    }

    /// A header crosses what it was granted at a vertex, in this same cycle.
    fn header_leaves(&mut self, slot: u32, vertex: u32) {
        let core = &mut self.core;
        let now = core.now;
        let worm = &mut core.worms[slot as usize];
        let (id, flits, config) = (worm.id, worm.flits, &core.config);
        match (&mut self.movement.times[slot as usize], &mut worm.route) {
            (Times::Path(times), Route::Path(route)) => {
                if vertex == 0 {
                    times.start(self.movement.windows.pop().unwrap_or_default());
                }
                times.header_leaves(route, vertex, now);
                if !route.complete {
                    // It enters the next router. If it is stripped there, the next flit is there by then.
                    let mut freed = now;
                    let stripped = config.header.strips_paths() && route.strips();
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
                times.header_leaves(route, vertex as usize, now, &mut self.movement.found);
                let mut child = route.vertices[vertex as usize].first_child;
                while child != NONE {
                    core.route_header(slot, child);
                    let Route::Tree(route) = &core.worms[slot as usize].route else { break };
                    child = route.vertices[child as usize].sibling;
                }
                self.tree_departures(slot);
            }
            (Times::HeaderFlits(times), Route::Tree(route)) => {
                times.granted(route, vertex as usize, now, core.network, core.descent, &mut self.movement.found);
                if let Some((from, to)) = times.lost {
                    core.no_route = Some(NoRoute::new(core.routing, from, to));
                }
                for (vertex, at) in times.arrivals.drain(..) {
                    core.route_header_from(at, slot, vertex);
                }
                self.tree_departures(slot);
            }
            (Times::Copies(times), Route::Tree(route)) => {
                times.granted(route, vertex, now, &mut self.movement.copies);
                for &child in &self.movement.copies.children {
                    core.route_header(slot, child);
                }
                for &delivery in &self.movement.copies.deliveries {
                    core.tree_consumes(slot, delivery, self.movement.copies.last);
                    let event = Event::of_worm(Kind::Delivers, id, slot, delivery);
                    core.channels.deliver(now, self.movement.copies.last, event);
                }
                if self.movement.copies.all {
                    core.tree_departs(slot, vertex, self.movement.copies.last);
                }
            }
            _ => {}
        }
    }

    /// A lockstep tree gives back what it holds for the departures found, and delivers.
    fn tree_departures(&mut self, slot: u32) {
        let core = &mut self.core;
        for (vertex, at) in self.movement.found.drain(..) {
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
        let done = match (&mut self.movement.times[slot as usize], &core.worms[slot as usize].route) {
            (Times::Path(times), Route::Path(route)) => {
                let done = route.complete && which == route.last();
                if done {
                    self.movement.windows.push(times.retire());
                }
                core.report_departures(slot, core.now + 1);
                done
            }
            (times, _) => {
                let done = match times {
                    Times::Tree(times) => times.delivered(),
                    Times::HeaderFlits(times) => times.data.delivered(),
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
}

impl<O: Observer> Movement<O> for WormMovement {
    const NAME: &'static str = "worm";

    fn has_room(engine: &mut WormEngine<'_, O>, worms: usize) -> bool {
        engine.core.has_room(worms, &mut engine.movement.times)
    }

    fn take_in(engine: &mut WormEngine<'_, O>) {
        let WormEngine { core, movement: WormMovement { times, .. } } = engine;
        let (buffer, tree_header) = (core.config.buffer, core.config.header.strips_trees());
        for &slot in &core.submitted {
            let slot = slot as usize;
            if times.len() <= slot {
                times.resize_with(slot + 1, || Times::Path(PathTimes::default()));
            }
            let (flits, header) = (core.worms[slot].flits, core.worms[slot].header);
            times[slot] = match (&core.worms[slot].route, core.config.replication) {
                (Route::Path(_), _) => Times::Path(PathTimes::default()),
                (Route::Tree(route), BranchReplication::Lockstep) if tree_header => {
                    Times::HeaderFlits(HeaderFlitTimes::new(route, header, flits - header, buffer))
                }
                (Route::Tree(route), BranchReplication::Lockstep) => Times::Tree(TreeTimes::new(route, flits, buffer)),
                (Route::Tree(route), BranchReplication::Independent) => Times::Copies(CopyTimes::new(route, flits)),
            };
        }
    }

    fn next_event(engine: &WormEngine<'_, O>) -> Option<Cycle> {
        engine.core.next_event()
    }

    fn quiet_from(engine: &WormEngine<'_, O>) -> Cycle {
        let WormEngine { core, movement } = engine;
        let live = core.worms.iter().zip(&movement.times).filter(|(worm, _)| worm.live);
        live.map(|(_, times)| times.last_departure()).max().map_or(core.now, |last| core.now.max(last + 1))
    }

    fn follow(engine: &mut WormEngine<'_, O>) {
        for position in 0..engine.core.granted.len() {
            let (slot, vertex) = engine.core.granted[position];
            engine.header_leaves(slot, vertex);
        }
        for position in 0..engine.core.channels.delivering.len() {
            let Event { slot, vertex: which, .. } = engine.core.channels.delivering[position];
            engine.delivers(slot, which);
        }
    }

    fn is_stuck(engine: &WormEngine<'_, O>, slot: u32) -> bool {
        engine.movement.times[slot as usize].last_departure() < engine.core.now
    }

    fn catch_up(engine: &mut WormEngine<'_, O>) {
        let core = &mut engine.core;
        let now = core.now;
        for slot in 0..core.worms.len() as u32 {
            if core.worms[slot as usize].live {
                core.report_departures(slot, now);
                core.report_tree_departures(slot, now);
            }
        }
    }

    fn each_held(engine: &WormEngine<'_, O>, slot: u32, visit: &mut dyn FnMut(ChannelId, u32, u32)) {
        let (now, config) = (engine.core.now, engine.core.config);
        let (worm, times) = (&engine.core.worms[slot as usize], &engine.movement.times[slot as usize]);
        match (times, &worm.route) {
            (Times::Path(times), Route::Path(route)) => {
                let pace = Pace { flits: worm.flits, buffer: config.buffer };
                let addresses = config.header.stripped_of_path(worm.header).unwrap_or(0);
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
            (Times::Tree(_) | Times::HeaderFlits(_), Route::Tree(route)) => {
                if !route.vertices.iter().skip(1).any(|at| at.reserved) {
                    return;
                }
                // Header flits that routers strip or send on to each other are not consumed.
                let (entered, data) = match times {
                    Times::HeaderFlits(times) => times.crossed(route, now),
                    Times::Tree(times) => times.crossed(route, now, |_, _| 0),
                    _ => return,
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
