//! The worm engine: header grants and deliveries only, equal to the flit engine to the cycle (docs/worm-engine.md).
//!
//! Where a worm does not share the bandwidth of its channels, its flits have no free will: once the header has crossed a channel,
//! the cycle in which any other flit crosses it follows from when the header crosses that channel and those ahead. So each
//! channel's release is scheduled as soon as the header is far enough ahead, and nothing happens in between.

mod copies;
mod header_flits;
pub(crate) mod parts;
mod paths;
mod trees;

use wormcast_network::ChannelId;
use wormcast_routing::{NoRoute, RoutingRelation};

use crate::config::switching::BranchReplication;
use crate::core::arbiter::NONE;
use crate::core::departures::Departures;
use crate::core::part::Leaving;
use crate::core::worm::{Flits, Follows, Place, Route, Surroundings, TreeDelivery, TreeRoute, UNKNOWN, WormState};
use crate::core::{Event, Kind};
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, Observer};
use crate::wormhole::{Movement, WormholeEngine};
use copies::{CopyTimes, Granted};
use header_flits::{Findings, HeaderFlitTimes};
use paths::{Late, Pace, PathTimes};
use trees::TreeTimes;

/// The worm engine. Memory: that of the core, 56 bytes a vertex of tree worms, and with tree headers 64 more and 24 for each
/// header flit that enters it.
pub type WormEngine<'a, O> = WormholeEngine<'a, O, WormMovement>;

/// Flits that follow their headers by closed forms.
#[derive(Default)]
pub struct WormMovement {
    /// What the step at hand has found of a tree in lockstep.
    found: Findings,
    /// What a tree was granted in the step at hand.
    copies: Granted,
}

/// What is known of the flits of a worm that branches.
pub enum BranchTimes {
    /// In lockstep, behind one common header.
    Lockstep(TreeTimes),
    /// In lockstep, with header flits that routers strip.
    HeaderFlits(Box<HeaderFlitTimes>),
    /// Branches copy flits independently.
    Copies(CopyTimes),
}

impl BranchTimes {
    /// The last departure that is known. Until a header gets on, there is no later one.
    fn last_departure(&self) -> Cycle {
        match self {
            Self::Lockstep(times) => times.last_departure(),
            Self::HeaderFlits(times) => times.data.last_departure(),
            Self::Copies(times) => times.last_departure(),
        }
    }

    /// The last flit has crossed the consumption channel of a delivery; returns whether it was the worm's last.
    fn delivered(&mut self) -> bool {
        match self {
            Self::Lockstep(times) => times.delivered(),
            Self::HeaderFlits(times) => times.data.delivered(),
            Self::Copies(times) => times.delivered(),
        }
    }
}

impl Flits for WormMovement {
    type OfPath = PathTimes;
    type OfTree = BranchTimes;
    /// Windows.
    type Spare = Vec<Vec<Late>>;

    #[inline]
    fn reset(times: &mut PathTimes) {
        times.reset();
    }

    #[inline]
    fn settled(times: &PathTimes) -> u32 {
        times.first_unknown()
    }

    fn of_tree(route: &TreeRoute, header: u32, flits: u32, config: &EngineConfig) -> BranchTimes {
        match config.replication {
            BranchReplication::Lockstep if config.header.strips_trees() => {
                let times = HeaderFlitTimes::new(route, header, flits - header, config.buffer);
                BranchTimes::HeaderFlits(Box::new(times))
            }
            BranchReplication::Lockstep => BranchTimes::Lockstep(TreeTimes::new(route, flits, config.buffer)),
            BranchReplication::Independent => BranchTimes::Copies(CopyTimes::new(route, flits)),
        }
    }

    /// A header requests in a later cycle than that in which it enters a router.
    const AT_ONCE: bool = true;

    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn starts<O: Observer>(
        worm: &mut WormState<Self>,
        at: Place,
        surroundings: Surroundings<'_, O, Self::Spare>,
    ) -> Follows {
        let Place { slot, now, .. } = at;
        let Surroundings { config, channels, .. } = surroundings;
        let Route::Path(_, times) = &mut worm.route else { return Follows::Movement };
        let departs = times.start(Pace { flits: worm.flits, buffer: config.buffer }, now);
        channels.headers.push(now + 1 + Cycle::from(config.routing_delay), worm.id, slot, 1, false);
        if departs { Follows::Departures } else { Follows::Nothing }
    }

    fn retire(times: &mut PathTimes, spare: &mut Self::Spare) {
        times.retire(spare);
    }

    /// What follows from a header's getting on concerns later cycles alone: no need to wait for the movement phase.
    #[allow(clippy::inline_always, reason = "on every hop, from a function that seems long enough without it")]
    #[inline(always)]
    fn goes_on<O: Observer>(
        worm: &mut WormState<Self>,
        at: Place,
        surroundings: Surroundings<'_, O, Self::Spare>,
    ) -> Follows {
        let Place { slot, vertex, now } = at;
        let Surroundings { config, spare, channels, reports } = surroundings;
        let Route::Path(route, times) = &mut worm.route else { return Follows::Nothing };
        let pace = Pace { flits: worm.flits, buffer: config.buffer };
        times.header_leaves(route, vertex, now, pace, spare);
        if !route.complete {
            // It enters the next router. If it is stripped there, the next flit is there by then.
            let mut freed = now;
            let stripped = !channels.plain_links && config.header.strips_paths() && route.strips();
            if stripped {
                freed = now + 1 + Cycle::from(config.strip_delay);
                times.strips(route, freed);
            }
            let routed = freed + 1 + Cycle::from(config.routing_delay);
            if O::PART && !channels.part.has(route.at) {
                channels.part.leaving.push(Leaving { routed, slot, vertex: vertex + 1, stripped });
            } else {
                channels.headers.push(routed, worm.id, slot, vertex + 1, stripped);
            }
            // Most headers are still within the reach of the flits behind them: no departure can be known.
            if !times.has_more(vertex + 1) {
                return Follows::Nothing;
            }
            // That of one link alone, with nothing else to be done, is what short messages find on nearly every hop.
            if !O::PART
                && channels.plain_links
                && let Some((departs, link)) = times.settle_plain(route, pace)
            {
                channels.free_one(slot, link, departs + 1);
                reports.link_settled(departs, link, worm.flits);
                if !times.has_more(vertex + 1) {
                    return Follows::Nothing;
                }
            }
        }
        Follows::Departures
    }

    #[allow(clippy::inline_always, reason = "twice a message")]
    #[inline(always)]
    fn settle<O: Observer>(worm: &mut WormState<Self>, at: Place, surroundings: Surroundings<'_, O, Self::Spare>) {
        let Place { slot, vertex, now } = at;
        let Surroundings { config, spare, channels, reports } = surroundings;
        let Route::Path(route, times) = &mut worm.route else { return };
        let pace = Pace { flits: worm.flits, buffer: config.buffer };
        let of_worm = (worm.flits, config.header.stripped_of_path(worm.header));
        let departures = Departures::new((worm.id, slot), of_worm, now, channels, reports);
        times.settle(route, vertex + 1, pace, (departures, spare));
    }
}

/// The last departure of a worm that is known. Until a header gets on, there is no later one.
fn last_departure(route: &Route<WormMovement>) -> Cycle {
    match route {
        Route::Path(route, times) => times.last_departure(route),
        Route::Tree(_, times) => times.last_departure(),
    }
}

impl<'a, O: Observer> WormEngine<'a, O> {
    /// Why the worm engine is not exact for a configuration; `None` if it is.
    pub fn objection(config: &EngineConfig) -> Option<&'static str> {
        if O::FLITS {
            Some("an observer asks for single flits")
        } else if config.virtual_channels > 1 {
            Some("virtual channels share the bandwidth of their links")
        } else if !config.delay.is_one() {
            Some("links take more than one cycle")
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
    #[inline]
    fn header_leaves(&mut self, slot: u32, vertex: u32) {
        let core = &mut self.core;
        let now = core.now;
        let worm = &mut core.worms[slot as usize];
        let id = worm.id;
        match &mut worm.route {
            Route::Path(route, times) => {
                // At its sender: what paths are granted behind that is seen to at once.
                debug_assert_eq!(vertex, 0);
                route.begins(now);
                let departs = times.start(Pace { flits: worm.flits, buffer: core.config.buffer }, now);
                core.route_header(slot, 1);
                if departs {
                    core.settle(slot, 0);
                }
            }
            Route::Tree(route, BranchTimes::Lockstep(times)) => {
                times.grow(route);
                times.header_leaves(route, vertex as usize, now, &mut self.movement.found.departures);
                let mut child = route.vertices[vertex as usize].first_child;
                while child != NONE {
                    core.route_header(slot, child);
                    let Route::Tree(route, _) = &core.worms[slot as usize].route else { break };
                    child = route.vertices[child as usize].sibling;
                }
                self.tree_departures(slot);
            }
            Route::Tree(route, BranchTimes::HeaderFlits(times)) => {
                times.granted(route, vertex as usize, now, core.network, core.descent, &mut self.movement.found);
                if let Some((from, to)) = times.lost {
                    core.no_route = Some(NoRoute::new(core.routing, from, to));
                }
                for (vertex, at) in self.movement.found.arrivals.drain(..) {
                    core.route_header_from(at, slot, vertex);
                }
                self.tree_departures(slot);
            }
            Route::Tree(route, BranchTimes::Copies(times)) => {
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
        }
    }

    /// A lockstep tree gives back what it holds for the departures found, and delivers.
    fn tree_departures(&mut self, slot: u32) {
        let core = &mut self.core;
        for (vertex, at) in self.movement.found.departures.drain(..) {
            core.tree_departs(slot, vertex, at);
            let worm = &core.worms[slot as usize];
            let (id, Route::Tree(route, _)) = (worm.id, &worm.route) else { break };
            let (first, end) = route.vertices[vertex as usize].deliveries;
            for delivery in first..end {
                core.tree_consumes(slot, delivery, at);
                core.channels.deliver(core.now, at, Event::of_worm(Kind::Delivers, id, slot, delivery));
            }
        }
    }

    /// The last flit of a worm crosses the consumption channels at a vertex of a path, or that of a delivery of a tree, in this
    /// cycle.
    #[inline]
    fn delivers(&mut self, slot: u32, which: u32) {
        let core = &mut self.core;
        if let Route::Path(..) = core.worms[slot as usize].route {
            return core.deliver_path(slot, which);
        }
        core.deliver_tree(slot, which);
        let Route::Tree(_, times) = &mut core.worms[slot as usize].route else { return };
        if times.delivered() {
            core.report_tree_departures(slot, core.now + 1);
            core.finish(slot);
        }
    }
}

impl<O: Observer> Movement<O> for WormMovement {
    const NAME: &'static str = "worm";

    #[inline]
    fn next_event(engine: &WormEngine<'_, O>) -> Option<Cycle> {
        engine.core.next_event()
    }

    fn quiet_from(engine: &WormEngine<'_, O>) -> Cycle {
        let core = &engine.core;
        let live = core.worms.iter().filter(|worm| worm.live);
        live.map(|worm| last_departure(&worm.route)).max().map_or(core.now, |last| core.now.max(last + 1))
    }

    #[inline]
    fn follow(engine: &mut WormEngine<'_, O>) {
        for position in 0..engine.core.granted.len() {
            let (slot, vertex) = engine.core.granted[position];
            engine.header_leaves(slot, vertex);
        }
        if O::PART {
            engine.core.forget_deliveries();
        }
        for position in 0..engine.core.channels.delivering.len() {
            let Event { slot, vertex: which, .. } = engine.core.channels.delivering[position];
            engine.delivers(slot, which);
        }
    }

    fn is_stuck(engine: &WormEngine<'_, O>, slot: u32) -> bool {
        last_departure(&engine.core.worms[slot as usize].route) < engine.core.now
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

    fn each_settled(engine: &WormEngine<'_, O>, visit: &mut dyn FnMut(ChannelId, Cycle, u32)) {
        let (now, config) = (engine.core.now, engine.core.config);
        for worm in engine.core.worms.iter().filter(|worm| worm.live) {
            match &worm.route {
                Route::Path(route, _) => {
                    let addresses = config.header.stripped_of_path(worm.header);
                    route.each_settled((worm.flits, addresses), now, visit);
                }
                Route::Tree(route, _) => {
                    let known = route.vertices.iter().skip(2).filter(|at| at.reserved && at.departs != UNKNOWN);
                    known.for_each(|at| visit(at.entered_by, at.departs, at.total));
                }
            }
        }
    }

    fn each_held(engine: &WormEngine<'_, O>, slot: u32, visit: &mut dyn FnMut(ChannelId, u32, u32)) {
        let (now, config) = (engine.core.now, engine.core.config);
        let worm = &engine.core.worms[slot as usize];
        match &worm.route {
            Route::Path(route, times) => {
                let pace = Pace { flits: worm.flits, buffer: config.buffer };
                let addresses = config.header.stripped_of_path(worm.header).unwrap_or(0);
                for (vertex, at) in route.vertices() {
                    if vertex > 0 {
                        visit(at.entered_by, 0, times.entered(route, vertex, now, pace));
                    }
                    if at.delivers {
                        let consumed = times.passed_by(route, vertex, now, pace).saturating_sub(addresses);
                        route.consumption(vertex).for_each(|channel| visit(channel, 0, consumed));
                    }
                }
            }
            Route::Tree(route, _) if !route.vertices.iter().skip(1).any(|at| at.reserved) => {}
            // Header flits that routers strip or send on to each other are not consumed.
            Route::Tree(route, BranchTimes::HeaderFlits(times)) => {
                let (entered, data) = times.crossed(route, now);
                each_branch_held(route, |v| entered[v], |delivery| data[delivery.vertex as usize], visit);
            }
            Route::Tree(route, BranchTimes::Lockstep(times)) => {
                let (entered, data) = times.crossed(route, now, |_, _| 0);
                each_branch_held(route, |v| entered[v], |delivery| data[delivery.vertex as usize], visit);
            }
            Route::Tree(route, BranchTimes::Copies(times)) => {
                each_branch_held(route, |v| times.entered(v, now), |delivery| times.consumed(delivery, now), visit);
            }
        }
    }
}

/// Calls `visit` with each channel that a tree worm holds, its virtual channel and the flits that have crossed it: those that have entered the
/// vertex that it leads to, or that a delivery has consumed.
fn each_branch_held(
    route: &TreeRoute,
    entered: impl Fn(usize) -> u32,
    consumed: impl Fn(&TreeDelivery) -> u32,
    visit: &mut dyn FnMut(ChannelId, u32, u32),
) {
    for (v, at) in route.vertices.iter().enumerate().skip(1) {
        if at.reserved {
            visit(at.entered_by, at.virtual_channel, entered(v));
        }
        let held = route.deliveries_of(at).iter().filter(|delivery| delivery.channel.raw() != NONE);
        held.for_each(|delivery| visit(delivery.channel, 0, consumed(delivery)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where something lies behind the beginning of a worm.
    fn offset<T>(worm: &WormState<WormMovement>, part: &T) -> usize {
        std::ptr::from_ref(part) as usize - std::ptr::from_ref(worm) as usize + size_of::<T>()
    }

    #[test]
    fn what_a_message_and_what_every_hop_looks_at_of_a_worm_is_in_three_cache_lines() {
        let worm = WormState::<WormMovement>::default();
        assert_eq!(std::ptr::from_ref(&worm) as usize % 64, 0);
        assert!(offset(&worm, &worm.waited) <= 64, "{}", offset(&worm, &worm.waited));
        let Route::Path(route, times) = &worm.route else { unreachable!("a slot that is not in use") };
        let ends = [
            offset(&worm, &worm.id),
            offset(&worm, &worm.live),
            offset(&worm, &route.complete),
            offset(&worm, times.last_of_every_hop()),
        ];
        assert!(ends.iter().all(|&end| (65..=192).contains(&end)), "{ends:?}");
        assert!(size_of_val(&worm) <= 256, "{}", size_of_val(&worm));
    }
}
