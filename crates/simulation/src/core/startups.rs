//! Startups: each node's worms wait for its processor or for one of its ports (model.md, rules 5 and 6).

use wormcast_network::{ChannelId, NodeId};
use wormcast_routing::VcRange;

use super::arbiter::{NONE, Pool};
use super::event::{Event, Kind};
use super::worm::{Flits, Place, Surroundings, WormState};
use super::{Core, Order, Route};
use crate::config::StartupMode;
use crate::observers::observer::{Cycle, Observer};

/// A node's startups.
#[derive(Clone, Copy)]
pub(super) struct NodeState {
    /// When the processor is free (serial mode).
    free_at: Cycle,
    /// The worms that wait for their startup, in the order of (ready cycle, worm id).
    pub(super) first: u32,
    last: u32,
}

impl NodeState {
    pub(super) const IDLE: Self = Self { free_at: 0, first: NONE, last: NONE };
}

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// A worm is ready for its startup.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    pub(super) fn ready(&mut self, slot: u32) {
        let from = self.worms[slot as usize].from;
        let last = self.nodes[from.index()].last;
        if last == NONE && self.start(slot, from) {
            return;
        }
        self.nodes[from.index()].last = slot;
        if last == NONE {
            self.nodes[from.index()].first = slot;
        } else {
            self.worms[last as usize].queued_behind = slot;
            self.start_worms(from);
        }
    }

    /// Begins the startups that a node has room for.
    pub(super) fn start_worms(&mut self, node: NodeId) {
        loop {
            let slot = self.nodes[node.index()].first;
            if slot == NONE || !self.start(slot, node) {
                return;
            }
            let behind = std::mem::replace(&mut self.worms[slot as usize].queued_behind, NONE);
            let state = &mut self.nodes[node.index()];
            state.first = behind;
            if behind == NONE {
                state.last = NONE;
            }
        }
    }

    /// Begins the startup of a worm, if its node has room for it now.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn start(&mut self, slot: u32, node: NodeId) -> bool {
        let state = &mut self.nodes[node.index()];
        let port = match self.config.startup_mode {
            StartupMode::Serial if state.free_at > self.now => return false,
            StartupMode::Serial => None,
            StartupMode::PerPort => match self.channels.arbiter.free_member(Pool::Injection(node)) {
                None => return false,
                port => port,
            },
        };
        let worm = &mut self.worms[slot as usize];
        worm.started = self.now;
        worm.prepared = self.now + Cycle::from(self.config.startup);
        let (id, prepared) = (worm.id, worm.prepared);
        self.reports.observer.started(self.now, worm.message, id, node);
        if let Some(channel) = port {
            self.channels.arbiter.hold(channel, 0, slot);
            self.reports.observer.granted(self.now, id, channel);
            self.first_hop(slot, channel);
        } else {
            state.free_at = prepared;
            if prepared > self.now {
                self.channels.calendar.push(prepared, Event::free(node));
            }
        }
        if prepared > self.now {
            self.channels.calendar.push(prepared, Event::of_worm(Kind::Prepared, id, slot, 0));
        } else {
            // All startups of the cycle are such, and those of a node come in the order of worms.
            self.prepared(slot);
        }
        true
    }

    /// A startup is over: in serial mode the worm asks for an injection channel, in per-port mode it has one.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    pub(super) fn prepared(&mut self, slot: u32) {
        match self.config.startup_mode {
            StartupMode::PerPort => self.granted.push((slot, 0)),
            StartupMode::Serial => {
                let WormState { id, from, .. } = self.worms[slot as usize];
                let pool = Pool::Injection(from);
                if let Some(channel) = self.channels.arbiter.take_member(pool, slot) {
                    self.reports.observer.granted(self.now, id, channel);
                    self.first_hop(slot, channel);
                    self.begins(slot);
                } else {
                    self.wait_for_pool(slot, 0, pool);
                }
            }
        }
    }

    /// A worm that is prepared has got its injection channel in this cycle.
    #[inline]
    pub(super) fn begins(&mut self, slot: u32) {
        if self.order == Order::OfPhases {
            return self.granted.push((slot, 0));
        }
        let Self { worms, config, spare, channels, reports, now, .. } = self;
        let at = Place { slot, vertex: 0, now: *now };
        let follows = F::starts(&mut worms[slot as usize], at, Surroundings { config, spare, channels, reports });
        self.carry_on(slot, 0, follows);
    }

    /// The injection channel is granted.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    pub(super) fn first_hop(&mut self, slot: u32, injection: ChannelId) {
        let worm = &mut self.worms[slot as usize];
        match &mut worm.route {
            Route::Path(route, _) => {
                route.begin(self.now, injection, self.network.entry_of(worm.from), &mut self.hops);
                if self.finds_ways && worm.virtual_channels == VcRange::ANY {
                    let arbiter = &self.channels.arbiter;
                    self.finds_ways = route.find_way(self.routing, |link| arbiter.end_of(link));
                }
            }
            Route::Tree(route, _) => {
                route.vertices[0].granted = true;
                route.vertices[1].reserved = true;
                route.vertices[1].entered_by = injection;
            }
        }
    }
}
