//! The engines for wormhole switching: the core, and a movement of flits behind the headers.

pub(crate) mod flit;
pub(crate) mod worm;

use wormcast_multicast::Plan;
use wormcast_network::ChannelId;
use wormcast_routing::RoutingRelation;

use crate::core::worm::Flits;
use crate::core::{Core, Search};
use crate::engine::{Engine, EngineConfig, StopReason};
use crate::observers::observer::{Cycle, Observer};
use crate::run::result::Deadlock;
use crate::run::run_end::{Held, WormAtEnd};

/// An engine for wormhole switching: [`FlitEngine`](crate::FlitEngine) or [`WormEngine`](crate::WormEngine).
pub struct WormholeEngine<'a, O, M: Flits> {
    pub(crate) core: Core<'a, O, M>,
    pub(crate) movement: M,
}

/// How the flits of worms follow their headers, and what is known of them.
pub trait Movement<O: Observer>: Flits + Sized {
    /// The engine's name in results.
    const NAME: &'static str;

    /// The first cycle, from now on, in which anything happens.
    fn next_event(engine: &WormholeEngine<'_, O, Self>) -> Option<Cycle>;

    /// The cycle, from now on, before which the last flits that are under way will have stopped, if nothing else happens.
    fn quiet_from(engine: &WormholeEngine<'_, O, Self>) -> Cycle;

    /// The movement phase of a cycle.
    fn follow(engine: &mut WormholeEngine<'_, O, Self>);

    /// Whether a worm whose header waits gives nothing back before that gets on.
    fn is_stuck(engine: &WormholeEngine<'_, O, Self>, slot: u32) -> bool;

    /// Reports all that happened in earlier cycles and has not been reported.
    fn catch_up(_: &mut WormholeEngine<'_, O, Self>) {}

    /// As [`Engine::each_settled`].
    fn each_settled(_: &WormholeEngine<'_, O, Self>, _: &mut dyn FnMut(ChannelId, Cycle, u32)) {}

    /// Calls `visit` with each channel that a worm holds, its virtual channel and the flits that have crossed it.
    fn each_held(engine: &WormholeEngine<'_, O, Self>, slot: u32, visit: &mut dyn FnMut(ChannelId, u32, u32));
}

impl<'a, O: Observer, M: Movement<O>> WormholeEngine<'a, O, M> {
    pub(crate) fn with(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O, movement: M) -> Self {
        Self { core: Core::new(routing, config, observer), movement }
    }

    /// Simulates cycle `now` and makes the next one `now`.
    fn cycle(&mut self) {
        self.core.begin_cycle();
        M::follow(self);
        self.core.now += 1;
    }

    /// Finds the worms that wait for each other forever.
    fn searched<T>(&mut self, found: impl FnOnce(&mut Self, &mut Search) -> T) -> T {
        if O::RELEASES {
            M::catch_up(self);
        }
        let mut search = std::mem::take(&mut self.core.search);
        self.core.find_dead(&mut search, |slot| M::is_stuck(self, slot));
        let found = found(self, &mut search);
        self.core.search = search;
        found
    }

    fn find_deadlock(&mut self) -> Option<Deadlock> {
        self.searched(|engine, search| {
            if search.found_any() {
                // What dead worms hold is named.
                M::catch_up(engine);
            }
            engine.core.deadlock(search)
        })
    }

    /// As [`Engine::run_until`]. If the engine is to be drained, the last worm ends it: what was arranged for a channel that worms waited
    /// for, among others, may lie behind.
    fn run(&mut self, end: Cycle, drain: bool) -> StopReason {
        while self.core.now < end && !(drain && self.core.is_empty()) {
            match M::next_event(self) {
                Some(at) if at < end => self.core.now = at,
                None if self.core.channels.arbiter.pending() > 0 && M::quiet_from(self) < end => {
                    self.core.now = M::quiet_from(self);
                    let dead = self.find_deadlock();
                    return StopReason::Deadlock(dead.unwrap_or_else(|| unreachable!("worms wait for nothing")));
                }
                _ => {
                    if end != Cycle::MAX {
                        self.core.now = end;
                    }
                    break;
                }
            }
            self.cycle();
            if self.core.no_route.is_some()
                && let Some(no_route) = self.core.no_route.take()
            {
                return StopReason::NoRoute(no_route);
            }
            if self.core.reports.observer.done() {
                return StopReason::ObserverDone;
            }
            if self.core.deadlock_search_is_due()
                && let Some(deadlock) = self.find_deadlock()
            {
                return StopReason::Deadlock(deadlock);
            }
        }
        StopReason::EndReached
    }
}

impl<O: Observer, M: Movement<O>> Engine for WormholeEngine<'_, O, M> {
    type Observer = O;

    fn name(&self) -> &'static str {
        M::NAME
    }

    fn now(&self) -> Cycle {
        self.core.now
    }

    fn has_room(&mut self, worms: usize) -> bool {
        self.core.has_room(worms)
    }

    fn submit(&mut self, at: Cycle, message: u64, length: u32, mut plan: Plan) {
        self.core.submit(at, message, length, &mut plan);
    }

    fn submit_from(&mut self, at: Cycle, message: u64, length: u32, plan: &mut Plan) {
        self.core.submit(at, message, length, plan);
    }

    fn run_until(&mut self, end: Cycle) -> StopReason {
        self.run(end, false)
    }

    fn drain(&mut self, limit: Cycle) -> StopReason {
        self.run(limit, true)
    }

    fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    fn deadlock(&mut self) -> Option<Deadlock> {
        self.find_deadlock()
    }

    fn flit_hops(&mut self) -> u64 {
        let mut to_come = 0;
        self.each_settled(&mut |_, _, flits| to_come += u64::from(flits));
        self.core.reports.flit_hops - to_come
    }

    fn each_held(&mut self, visit: &mut dyn FnMut(Held)) {
        M::catch_up(self);
        for (slot, worm) in (0..).zip(&self.core.worms).filter(|(_, worm)| worm.live) {
            M::each_held(self, slot, &mut |channel, virtual_channel, flits| {
                visit(Held { channel, virtual_channel, worm: worm.id, flits });
            });
        }
    }

    fn each_settled(&mut self, visit: &mut dyn FnMut(ChannelId, Cycle, u32)) {
        M::catch_up(self);
        M::each_settled(self, visit);
    }

    fn worms(&mut self) -> Vec<WormAtEnd> {
        M::catch_up(self);
        self.searched(|engine, search| engine.core.worms_at_end(search))
    }

    fn observer(&self) -> &O {
        &self.core.reports.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.core.reports.observer
    }

    fn into_observer(mut self) -> O {
        M::catch_up(&mut self);
        self.core.reports.observer
    }
}
