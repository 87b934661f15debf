//! Tails: channels that worms give back, deliveries, and what these trigger (model.md, rules 7 and 8).

use std::ops::Range;

use wormcast_network::{ChannelId, ChannelKind, NodeId};

use super::Core;
use super::arbiter::NONE;
use super::channels::{Channels, Reports};
use super::event::{Event, Kind};
use super::worm::{Flits, PathRoute, Route, UNKNOWN, Vertex, several_at};
use crate::config::switching::BranchReplication;
use crate::contention_free::{WormTiming, delayed_path_delivery, lockstep_tree_delivery, path_delivery};
use crate::observers::observer::{Cycle, Delivery, LatencyParts, Observer};

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// The last flit of a path worm leaves a vertex in cycle `at`, now or later: gives back what the worm holds for it. Returns
    /// whether that is a delivery.
    #[inline]
    pub(crate) fn departs(&mut self, slot: u32, vertex: u32, at: Cycle) -> bool {
        let worm = &mut self.worms[slot as usize];
        let Route::Path(route, _) = &mut worm.route else { return false };
        let Vertex { entered_by: link, delivers, .. } = route.departs_when(vertex, |_| at);
        // On nearly every hop there is a link and nothing else.
        if vertex > 1 && !delivers && self.channels.plain_links {
            self.channels.free_one(slot, link, at + 1);
            self.reports.link_settled(at, link, worm.flits);
            return false;
        }
        let addresses = self.config.header.stripped_of_path(worm.header);
        route.gives_back(slot, (worm.flits, addresses), vertex, &mut self.channels, &mut self.reports)
    }

    /// The last flit of a tree worm leaves a vertex on all branches in cycle `at`, now or later: gives back the channel that leads
    /// there.
    pub(crate) fn tree_departs(&mut self, slot: u32, vertex: u32, at: Cycle) {
        let Route::Tree(route, _) = &mut self.worms[slot as usize].route else { return };
        let here = &mut route.vertices[vertex as usize];
        here.departs = at;
        let (channel, virtual_channel, flits) = (here.entered_by, here.virtual_channel, here.total);
        if vertex > 1 {
            self.channels.count_flits(channel, flits);
        }
        if vertex > 0 {
            self.channels.free(slot, channel, virtual_channel, at + 1);
            self.reports.settled(at, channel, flits);
        }
    }

    /// The last flit of a tree worm crosses the consumption channel of a delivery in cycle `at`, now or later: gives it back.
    pub(crate) fn tree_consumes(&mut self, slot: u32, delivery: u32, at: Cycle) {
        let worm = &mut self.worms[slot as usize];
        let Route::Tree(route, _) = &mut worm.route else { return };
        let delivery = &mut route.deliveries[delivery as usize];
        delivery.departs = at;
        self.channels.free(slot, delivery.channel, 0, at + 1);
        let consumed = worm.flits - self.config.header.stripped_of_tree(worm.header);
        self.reports.settled(at, delivery.channel, consumed);
    }

    /// Reports what a path worm has given back in cycles before `before`. Until then its vertices stay.
    #[inline]
    pub(crate) fn report_departures(&mut self, slot: u32, before: Cycle) {
        let worm = &mut self.worms[slot as usize];
        let header = self.config.header.stripped_of_path(worm.header);
        if let Route::Path(route, _) = &mut worm.route {
            route.report_departures(worm.id, worm.flits, header, before, &mut self.reports);
        }
    }

    /// Reports what a tree worm has given back in cycles before `before`: O(vertices).
    pub(crate) fn report_tree_departures(&mut self, slot: u32, before: Cycle) {
        let Route::Tree(route, _) = &self.worms[slot as usize].route else { return };
        let (vertices, deliveries) = (route.vertices.len() as u32, route.deliveries.len() as u32);
        (0..vertices).for_each(|vertex| self.report_tree_departure(slot, vertex, before));
        (0..deliveries).for_each(|delivery| self.report_consumption(slot, delivery, before));
    }

    /// Reports the channel to a vertex, if it was given back in a cycle before `before`.
    pub(crate) fn report_tree_departure(&mut self, slot: u32, vertex: u32, before: Cycle) {
        let worm = &mut self.worms[slot as usize];
        let Route::Tree(route, _) = &mut worm.route else { return };
        let at = &mut route.vertices[vertex as usize];
        if at.departs < before && std::mem::replace(&mut at.reserved, false) {
            let (id, channel, departs, crossed) = (worm.id, at.entered_by, at.departs, at.total);
            self.reports.observer.released(departs, id, channel, crossed);
        }
    }

    /// Reports the consumption channel of a delivery, if it was given back in a cycle before `before`.
    pub(crate) fn report_consumption(&mut self, slot: u32, delivery: u32, before: Cycle) {
        let worm = &mut self.worms[slot as usize];
        let Route::Tree(route, _) = &mut worm.route else { return };
        let delivery = &mut route.deliveries[delivery as usize];
        if delivery.departs < before && delivery.channel.raw() != NONE {
            let channel = std::mem::replace(&mut delivery.channel, ChannelId::new(NONE));
            let consumed = worm.flits - self.config.header.stripped_of_tree(worm.header);
            self.reports.observer.released(delivery.departs, worm.id, channel, consumed);
        }
    }

    /// The last data flit of a path worm crosses the consumption channels at a vertex: reports the deliveries.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    pub(crate) fn deliver(&mut self, slot: u32, vertex: u32) {
        let Route::Path(route, _) = &mut self.worms[slot as usize].route else { return };
        for place in route.takes_deliveries(vertex) {
            let Route::Path(route, _) = &self.worms[slot as usize].route else { return };
            self.consume(slot, vertex, route.consumption_at(place));
        }
    }

    /// The last flit of a path worm crosses the consumption channels at a vertex, in this cycle; behind the last ones nothing is left of it.
    #[inline]
    pub(crate) fn deliver_path(&mut self, slot: u32, vertex: u32) {
        self.deliver(slot, vertex);
        let Route::Path(route, flits) = &mut self.worms[slot as usize].route else { return };
        let done = route.complete && vertex == route.last();
        if done {
            F::retire(flits, &mut self.spare);
        }
        if O::RELEASES {
            self.report_departures(slot, self.now + 1);
        }
        if done {
            self.finish(slot);
        }
    }

    /// Paths of one flit deliver in the cycle of the grant.
    #[cold]
    pub(super) fn deliver_at_once(&mut self) {
        for place in 0..self.channels.delivering.len() {
            let Event { slot, vertex, .. } = self.channels.delivering[place];
            self.deliver_path(slot, vertex);
        }
        self.channels.delivering.clear();
    }

    /// The last data flit of a path worm crosses one of the consumption channels at a vertex.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn consume(&mut self, slot: u32, vertex: u32, channel: ChannelId) {
        if let ChannelKind::Consumption(node, _) = self.channels.space.kind(channel) {
            self.deliver_to(slot, vertex, node);
        }
    }

    /// The last data flit of a tree worm crosses the consumption channel of a delivery: reports that.
    pub(crate) fn deliver_tree(&mut self, slot: u32, delivery: u32) {
        let Route::Tree(route, _) = &self.worms[slot as usize].route else { return };
        let delivery = &route.deliveries[delivery as usize];
        self.deliver_to(slot, delivery.vertex, delivery.node);
    }

    /// A node has the message, by a worm that is at a vertex: reports it, and triggers what waits for it.
    fn deliver_to(&mut self, slot: u32, vertex: u32, node: NodeId) {
        let delivered = self.now + 1;
        let network = self.network_time(slot, vertex);
        let worm = &self.worms[slot as usize];
        let in_network = delivered - worm.prepared;
        debug_assert!(network <= in_network, "nothing is faster than in an empty network");
        let mut parts = LatencyParts {
            queueing: worm.started - worm.ready,
            startup: worm.prepared - worm.started,
            network,
            blocking: in_network - network,
        };
        if worm.triggered {
            parts += worm.carried;
        }
        self.reports.observer.delivered(&Delivery { message: worm.message, worm: worm.id, node, delivered, parts });
        // A worm that is triggered leaves the list: it may be gone, and its slot another's, before this one delivers again.
        let (mut child, mut previous) = (worm.first_child, NONE);
        while child != NONE {
            let triggered = &mut self.worms[child as usize];
            let next = triggered.sibling;
            if triggered.from == node {
                let ready = delivered + Cycle::from(self.config.receive_overhead);
                triggered.ready = ready;
                (triggered.triggered, triggered.carried) = (true, parts);
                triggered.carried.startup += u64::from(self.config.receive_overhead);
                self.channels.calendar.push(ready, Event::of_worm(Kind::Ready, triggered.id, child, 0));
                match previous {
                    NONE => self.worms[slot as usize].first_child = next,
                    _ => self.worms[previous as usize].sibling = next,
                }
            } else {
                previous = child;
            }
            child = next;
        }
    }

    /// What the worm would have taken in an empty network, from the end of its startup, to deliver at a vertex.
    ///
    /// The closed forms of `contention_free` for paths, and for trees with one common header that are replicated in lockstep or
    /// stored whole, over links of one cycle. For other trees: all the time but that which requests waited.
    #[inline]
    fn network_time(&self, slot: u32, vertex: u32) -> u64 {
        let worm = &self.worms[slot as usize];
        let timing = WormTiming {
            routing_delay: self.config.routing_delay,
            strip_delay: self.config.strip_delay,
            buffer: self.config.buffer,
            flits: worm.flits,
        };
        match &worm.route {
            Route::Path(route, flits) if !self.channels.lags.is_empty() => {
                delayed_path_delivery(timing, F::lags(flits), &route.rare().strips, vertex - 1)
            }
            Route::Path(route, _) => path_delivery(timing, &route.rare().strips, route.last(), vertex - 1),
            Route::Tree(route, _) => {
                // Where buffers take whole worms, branches do not hold each other up, in lockstep or not.
                let like_one =
                    self.config.replication == BranchReplication::Lockstep || self.config.branching().packet_buffers;
                if like_one && !self.config.header.strips_trees() && self.channels.lags.is_empty() {
                    lockstep_tree_delivery(timing, route.heights_above(vertex as usize))
                } else {
                    (self.now + 1 - worm.prepared).saturating_sub(worm.waited)
                }
            }
        }
    }
}

/// What becomes of the departures of a path worm that are found one after the other, where links have one virtual channel and take one cycle.
pub(crate) struct Departures<'a, O> {
    id: u64,
    slot: u32,
    flits: u32,
    /// The number of header flits, if they are stripped.
    addresses: Option<u32>,
    /// Whether a link needs nothing but to be given back.
    simple: bool,
    now: Cycle,
    channels: &'a mut Channels,
    reports: &'a mut Reports<O>,
}

impl<'a, O: Observer> Departures<'a, O> {
    /// Of the worm with an id in a slot, and with so many flits.
    pub(crate) fn new(
        (id, slot): (u64, u32),
        (flits, addresses): (u32, Option<u32>),
        now: Cycle,
        channels: &'a mut Channels,
        reports: &'a mut Reports<O>,
    ) -> Self {
        let simple = channels.plain_links;
        Self { id, slot, flits, addresses, simple, now, channels, reports }
    }

    /// The cycle in which the last flit leaves a vertex is known, and put down there: gives back what the worm holds for it, and arranges what it delivers there.
    #[allow(clippy::inline_always, reason = "once a hop")]
    #[inline(always)]
    pub(crate) fn found(&mut self, route: &PathRoute, vertex: u32, found: Vertex) {
        let Vertex { departs, entered_by: link, delivers } = found;
        if vertex < 2 {
            self.found_at_sender(route, vertex, departs);
        } else if self.simple {
            if O::PART && !self.channels.part.has_link(link) {
                self.channels.part.releases.push((link, departs + 1));
            } else {
                // In a part, a worm that has come back may have another slot than when it was granted the link.
                let slot = if O::PART { self.channels.arbiter.holder(link, 0) } else { self.slot };
                self.channels.free_one(slot, link, departs + 1);
            }
            self.reports.link_settled(departs, link, self.flits);
            // On nearly every hop there is a link and nothing else.
            if delivers {
                self.ends_delivery(route, vertex, departs, route.places_of_consumption(vertex));
            }
        } else {
            self.found_other(route, vertex, departs);
        }
    }

    /// As [`found`](Self::found), at the sender's processor or router.
    #[inline(never)]
    pub(crate) fn found_at_sender(&mut self, route: &PathRoute, vertex: u32, departs: Cycle) {
        if vertex == 1 {
            route.gives_port_back(self.slot, self.flits, self.channels, self.reports);
            if route.delivers(1) {
                self.ends_delivery(route, 1, departs, route.places_of_consumption(1));
            }
        }
    }

    /// The worm has been granted everything: finds and puts down all departures that are not known, and does the same for them as [`found`](Self::found). Returns whether it could:
    /// where links need nothing but to be given back, and no flit has stayed too long to be put down in short.
    #[allow(clippy::inline_always, reason = "once a message, from one place")]
    #[inline(always)]
    pub(crate) fn found_rest(&mut self, route: &mut PathRoute, settled: u32, buffer: u32) -> bool {
        let (slot, flits, last_flit) = (self.slot, self.flits, Cycle::from(self.flits - 1));
        if O::PART || !self.simple || !route.has_room_until(settled, self.now + last_flit) {
            return false;
        }
        let mut held_until = 0;
        let mut when = |leaves: Cycle| {
            // The window's start moves one vertex back, and every term in it gets that much later or is the start's own.
            let departs = held_until.max(leaves + last_flit);
            held_until = departs.saturating_sub(Cycle::from(buffer));
            departs
        };
        let (channels, reports) = (&mut *self.channels, &mut *self.reports);
        route.departs_from_last(settled.max(2), |leaves, link| {
            let departs = when(leaves);
            channels.free_one(slot, link, departs + 1);
            reports.link_settled(departs, link, flits);
            departs
        });
        if settled < 2 {
            route.departs_when(1, &mut when);
            route.gives_port_back(slot, flits, channels, reports);
        }
        if settled == 0 {
            route.departs_when(0, when);
        }
        self.end_deliveries(route, settled);
        true
    }

    /// Does what follows from the departures at the vertices from the first one on that deliver.
    #[allow(clippy::inline_always, reason = "once a message, from one place")]
    #[inline(always)]
    fn end_deliveries(&mut self, route: &PathRoute, first: u32) {
        let Some(several) = route.several() else {
            return self.ends_delivery(route, route.last(), route.departs(route.last()), 0..1);
        };
        let mut next = several.partition_point(|at| at.0 < first);
        while let Some(&(vertex, _)) = several.get(next) {
            let places = several_at(several, vertex, next);
            next = places.end;
            self.ends_delivery(route, vertex, route.departs(vertex), places);
        }
    }

    /// As [`found`](Self::found), where more has to be done than to give a link back.
    #[inline(never)]
    fn found_other(&mut self, route: &PathRoute, vertex: u32, departs: Cycle) {
        route.gives_link_back(self.slot, (self.flits, self.addresses), vertex, self.channels, self.reports);
        if route.delivers(vertex) {
            self.ends_delivery(route, vertex, departs, route.places_of_consumption(vertex));
        }
    }

    /// The cycle of a delivery is known: gives the consumption channels back, and arranges it.
    #[inline(never)]
    fn ends_delivery(&mut self, route: &PathRoute, vertex: u32, departs: Cycle, places: Range<usize>) {
        let consumed = self.flits - self.addresses.unwrap_or(0);
        route.ends_delivery(self.slot, (places, departs), consumed, self.channels, self.reports);
        let event = Event::of_worm(Kind::Delivers, self.id, self.slot, vertex);
        self.channels.deliver(self.now, departs, event);
    }
}

impl PathRoute {
    /// The cycle in which the last flit leaves the vertex is known: gives back what the worm holds for it. Returns whether that is
    /// a delivery. `flits` is the number that the worm's sender injects, with the number of header flits, if they are stripped.
    #[inline(never)]
    pub(crate) fn gives_back<O: Observer>(
        &self,
        slot: u32,
        (flits, addresses): (u32, Option<u32>),
        vertex: u32,
        channels: &mut Channels,
        reports: &mut Reports<O>,
    ) -> bool {
        match vertex {
            0 => {}
            1 => self.gives_port_back(slot, flits, channels, reports),
            _ => self.gives_link_back(slot, (flits, addresses), vertex, channels, reports),
        }
        let delivers = self.delivers(vertex);
        if delivers {
            let places = self.places_of_consumption(vertex);
            self.ends_delivery(slot, (places, self.departs(vertex)), flits - addresses.unwrap_or(0), channels, reports);
        }
        delivers
    }

    /// Gives the link to a vertex back, or what is held of it.
    #[inline]
    fn gives_link_back<O: Observer>(
        &self,
        slot: u32,
        (flits, addresses): (u32, Option<u32>),
        vertex: u32,
        channels: &mut Channels,
        reports: &mut Reports<O>,
    ) {
        let Vertex { departs, entered_by: link, .. } = self.vertex(vertex);
        let stripped = match addresses {
            None => 0,
            Some(_) => self.rare().strips.partition_point(|&router| router + 1 < vertex) as u32,
        };
        channels.count_flits(link, flits - stripped);
        if O::PART {
            channels.free_in_part(link, departs + 1);
        } else {
            channels.free_link(slot, link, self.virtual_channel(vertex), departs + 1);
        }
        reports.settled(departs, link, flits - stripped);
    }

    /// Gives the injection channel back.
    #[inline]
    fn gives_port_back<O: Observer>(&self, slot: u32, flits: u32, channels: &mut Channels, reports: &mut Reports<O>) {
        let (departs, port) = (self.departs(1), self.entered_by(1));
        if O::PART {
            channels.free_in_part(port, departs + 1);
        } else {
            channels.free_port(slot, port, departs + 1);
        }
        reports.settled(departs, port, flits);
    }

    /// Gives the consumption channels at a vertex back, which so many flits cross.
    #[inline]
    fn ends_delivery<O: Observer>(
        &self,
        slot: u32,
        (places, at): (Range<usize>, Cycle),
        consumed: u32,
        channels: &mut Channels,
        reports: &mut Reports<O>,
    ) {
        for place in places {
            let channel = self.consumption_at(place);
            if O::PART {
                channels.free_in_part(channel, at + 1);
            } else {
                channels.free_port(slot, channel, at + 1);
            }
            reports.settled(at, channel, consumed);
        }
    }

    /// Calls `visit` with each link that the worm holds and gives back in a cycle that is known and not before `now`: that cycle, and the flits that will
    /// have crossed it.
    pub(crate) fn each_settled(
        &self,
        (flits, addresses): (u32, Option<u32>),
        now: Cycle,
        visit: &mut dyn FnMut(ChannelId, Cycle, u32),
    ) {
        let known = |at: &Vertex| at.departs != UNKNOWN && at.departs >= now;
        for (vertex, at) in self.vertices().filter(|(vertex, at)| *vertex > 1 && known(at)) {
            let strips = if addresses.is_some() { &self.rare().strips[..] } else { &[] };
            let stripped = strips.partition_point(|&router| router + 1 < vertex) as u32;
            visit(at.entered_by, at.departs, flits - stripped);
        }
    }

    /// Reports what was given back in cycles before `before`; `addresses` is the number of header flits, if they are stripped.
    #[inline]
    pub(crate) fn report_departures<O: Observer>(
        &mut self,
        worm: u64,
        flits: u32,
        addresses: Option<u32>,
        before: Cycle,
        reports: &mut Reports<O>,
    ) {
        // Asked on every hop; there is nothing to report on most.
        if self.tail < self.end && self.departs(self.tail) < before {
            self.report_departed(worm, flits, addresses, before, reports);
        }
    }

    #[inline(never)]
    fn report_departed<O: Observer>(
        &mut self,
        worm: u64,
        flits: u32,
        addresses: Option<u32>,
        before: Cycle,
        reports: &mut Reports<O>,
    ) {
        while self.tail < self.end {
            let departs = self.departs(self.tail);
            if departs >= before {
                return;
            }
            let entered_by = self.entered_by(self.tail);
            if O::RELEASES && entered_by.raw() != NONE {
                reports.observer.released(departs, worm, entered_by, flits - self.rare().stripped);
            }
            if self.delivers(self.tail) {
                if addresses.is_some() {
                    self.rare_mut().stripped += 1;
                }
                if O::RELEASES {
                    let consumed = flits - addresses.unwrap_or(0);
                    let channels = self.consumption(self.tail);
                    channels.for_each(|channel| reports.observer.released(departs, worm, channel, consumed));
                }
            }
            self.tail += 1;
        }
    }
}
