//! The movement phase for tree worms: replication in lockstep or on independent branches, with one common header or one flit a
//! router (model.md, rules 16 and 17).

use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{NoRoute, TreeDescent};

use super::FlitEngine;
use crate::config::switching::BranchReplication;
use crate::core::arbiter::NONE;
use crate::core::worm::{Address, Guide, Route, TreeRoute};
use crate::observers::observer::{Cycle, Observer};

/// What happened to a tree worm at a vertex in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TreeEvent {
    /// The first flit has entered.
    HeaderArrived(u32),
    /// The last flit has left on all branches.
    TailLeft(u32),
    /// The consumption channel of a delivery has taken the last flit.
    Consumed(u32),
}

/// A copy that an independent branch makes of a flit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copying {
    /// Over the channel to this vertex.
    To(u32),
    /// Over the consumption channel of this delivery.
    Consumed(u32),
}

/// Where the flits of a tree worm are.
pub struct TreeFlits {
    vertices: Vec<VertexFlits>,
    /// Flits that each delivery's consumption channel has taken (independent branches).
    consumed: Vec<u32>,
    /// Vertices that flits have still to leave.
    open: usize,
    /// Whether routers decode the header.
    decoded: bool,
    /// Data flits.
    length: u32,
    /// A header flit that no output of its router leads on: where it is, and the router that it names.
    lost: Option<(RouterId, RouterId)>,
    /// When copies were made last on shared links (in lockstep: flits left vertices), `Cycle::MAX` before the first, and how many.
    copied_in: Cycle,
    copied: usize,
}

/// What routers decode headers with.
struct Decoder<'a> {
    network: &'a Network,
    descent: Option<&'a dyn TreeDescent>,
}

/// Flits that have entered a vertex, or are on the link to it, and have left it on all branches; and whether the flit that names its router is stripped in
/// this cycle.
#[derive(Clone, Default)]
struct VertexFlits {
    entered: u32,
    /// Those that have come to the end of the link (on shared links).
    landed: u32,
    left: u32,
    strips: bool,
    /// The cycles in which a flit entered, and left, last (in lockstep on shared links; `None` before the first).
    came_in: Option<Cycle>,
    left_in: Option<Cycle>,
    /// With a header that is decoded: the numbers of the header flits among those that have entered.
    addresses: Vec<u32>,
}

impl TreeFlits {
    pub(super) fn new(route: &TreeRoute, header: u32, length: u32) -> Self {
        let decoded = matches!(route.guide, Guide::Header { .. });
        let mut flits = Self {
            vertices: Vec::new(),
            consumed: Vec::new(),
            open: 0,
            decoded,
            length,
            lost: None,
            copied_in: Cycle::MAX,
            copied: 0,
        };
        flits.grow(route);
        if decoded {
            flits.vertices[0].addresses = (1..=header).collect();
        }
        flits
    }

    /// Takes in the vertices that the route has got since the last call.
    fn grow(&mut self, route: &TreeRoute) {
        self.open += route.vertices.len() - self.vertices.len();
        self.vertices.resize_with(route.vertices.len(), VertexFlits::default);
        self.consumed.resize(route.deliveries.len(), 0);
    }

    /// The header at a vertex was granted channels: if it names the router, it is stripped.
    pub(super) fn granted(&mut self, route: &TreeRoute, vertex: u32) {
        self.grow(route);
        let at = &route.vertices[vertex as usize];
        let named = at.set_up || at.script.first().is_some_and(|address| address.to == vertex);
        self.vertices[vertex as usize].strips = named;
    }

    /// Flits that will have entered a vertex in the end, as far as that is known: once data follows, no header flit will.
    fn total(&self, route: &TreeRoute, v: usize) -> u32 {
        let flits = &self.vertices[v];
        match self.decoded && v > 0 {
            false => route.vertices[v].total,
            true if flits.entered as usize > flits.addresses.len() => flits.addresses.len() as u32 + self.length,
            true => u32::MAX,
        }
    }

    /// Calls `visit` with each channel that is held, its virtual channel and the flits that have crossed it.
    pub(super) fn each_held(
        &self,
        route: &TreeRoute,
        replication: BranchReplication,
        visit: &mut dyn FnMut(ChannelId, u32, u32),
    ) {
        for (vertex, flits) in route.vertices.iter().zip(&self.vertices).skip(1) {
            if vertex.reserved {
                visit(vertex.entered_by, vertex.virtual_channel, flits.entered);
            }
            // Address flits leave a router for the next one, or are stripped.
            let addresses = if self.decoded { flits.addresses.len() } else { vertex.script.len() } as u32;
            let (first, end) = vertex.deliveries;
            for delivery in (first as usize..end as usize).filter(|&at| route.deliveries[at].channel.raw() != NONE) {
                let consumed = match replication {
                    BranchReplication::Lockstep => flits.left.saturating_sub(addresses),
                    BranchReplication::Independent => self.consumed.get(delivery).copied().unwrap_or(0),
                };
                visit(route.deliveries[delivery].channel, 0, consumed);
            }
        }
    }

    /// Moves every flit that can move, children before parents; `cross` is called with each channel that a flit crosses and the
    /// flit's number.
    fn step(
        &mut self,
        route: &TreeRoute,
        buffer: u32,
        replication: BranchReplication,
        decoder: &Decoder<'_>,
        events: &mut Vec<TreeEvent>,
        mut cross: impl FnMut(ChannelId, u32),
    ) -> bool {
        self.grow(route);
        let mut moved = false;
        for v in (0..self.vertices.len()).rev() {
            let total = self.total(route, v);
            if self.vertices[v].left == total {
                continue;
            }
            let before = self.vertices[v].left;
            moved |= match replication {
                BranchReplication::Lockstep => self.leave_together(route, v, buffer, decoder, events, &mut cross),
                BranchReplication::Independent => self.leave_apart(route, v, buffer, events, &mut cross),
            };
            let vertex = &self.vertices[v];
            if vertex.left > before && vertex.left == total {
                self.open -= 1;
                events.push(TreeEvent::TailLeft(v as u32));
            }
        }
        moved
    }

    /// Flits at a vertex at the start of the cycle that have not left it: parents move after their children.
    fn waiting(&self, route: &TreeRoute, v: usize) -> u32 {
        let flits = &self.vertices[v];
        if v == 0 { route.vertices[0].total - flits.left } else { flits.entered - flits.left }
    }

    fn has_room(&self, v: usize, buffer: u32) -> bool {
        self.vertices[v].entered - self.vertices[v].left < buffer
    }

    fn enter(&mut self, v: usize, events: &mut Vec<TreeEvent>) {
        let vertex = &mut self.vertices[v];
        vertex.entered += 1;
        if vertex.entered == 1 {
            events.push(TreeEvent::HeaderArrived(v as u32));
        }
    }

    /// Lockstep: a flit leaves on all branches that carry it, or on none.
    fn leave_together(
        &mut self,
        route: &TreeRoute,
        v: usize,
        buffer: u32,
        decoder: &Decoder<'_>,
        events: &mut Vec<TreeEvent>,
        cross: &mut impl FnMut(ChannelId, u32),
    ) -> bool {
        if std::mem::take(&mut self.vertices[v].strips) {
            self.vertices[v].left += 1;
            return true;
        }
        if !route.vertices[v].granted || self.waiting(route, v) == 0 {
            return false;
        }
        let flit = self.vertices[v].left + 1;
        match self.address(route, v, flit, decoder) {
            Some(Address { flit: number, to }) => {
                let child = to as usize;
                if to == NONE || !self.has_room(child, buffer) {
                    return false;
                }
                cross(route.vertices[child].entered_by, number);
                self.enter(child, events);
                if self.decoded {
                    self.vertices[child].addresses.push(number);
                }
            }
            None => {
                if !route.children(v).all(|child| self.has_room(child, buffer)) {
                    return false;
                }
                // Address flits that do not come here were injected before the data.
                let total = self.total(route, v);
                let number = flit + (route.vertices[0].total - total);
                let mut child = route.vertices[v].first_child;
                while child != NONE {
                    cross(route.vertices[child as usize].entered_by, number);
                    self.enter(child as usize, events);
                    child = route.vertices[child as usize].sibling;
                }
                let (first, end) = route.vertices[v].deliveries;
                for delivery in first..end {
                    cross(route.deliveries[delivery as usize].channel, number);
                    if flit == total {
                        events.push(TreeEvent::Consumed(delivery));
                    }
                }
            }
        }
        self.vertices[v].left = flit;
        true
    }

    /// The address flit that leaves a vertex next, if it is one, and the child that it goes on to (`NONE`: it is lost).
    fn address(&mut self, route: &TreeRoute, v: usize, flit: u32, decoder: &Decoder<'_>) -> Option<Address> {
        let place = flit as usize - 1;
        if !self.decoded {
            return route.vertices[v].script.get(place).copied();
        }
        let number = *self.vertices[v].addresses.get(place)?;
        let to = route.heads_for(v, place, number, decoder.network, decoder.descent).unwrap_or_else(|lost| {
            self.lost = Some(lost);
            NONE
        });
        Some(Address { flit: number, to })
    }

    /// Independent branches: each copies a flit when it can, and the slot frees with the last copy.
    fn leave_apart(
        &mut self,
        route: &TreeRoute,
        v: usize,
        buffer: u32,
        events: &mut Vec<TreeEvent>,
        cross: &mut impl FnMut(ChannelId, u32),
    ) -> bool {
        let arrived = if v == 0 { route.vertices[0].total } else { self.vertices[v].entered };
        let mut moved = false;
        let mut copied = u32::MAX;
        let mut child = route.vertices[v].first_child;
        while child != NONE {
            let c = child as usize;
            if route.vertices[c].reserved && arrived > self.vertices[c].entered && self.has_room(c, buffer) {
                cross(route.vertices[c].entered_by, self.vertices[c].entered + 1);
                self.enter(c, events);
                moved = true;
            }
            copied = copied.min(self.vertices[c].entered);
            child = route.vertices[c].sibling;
        }
        let (first, end) = route.vertices[v].deliveries;
        for delivery in first..end {
            let consumed = &mut self.consumed[delivery as usize];
            let channel = route.deliveries[delivery as usize].channel;
            if channel.raw() != NONE && arrived > *consumed {
                *consumed += 1;
                moved = true;
                cross(channel, *consumed);
                if *consumed == route.vertices[v].total {
                    events.push(TreeEvent::Consumed(delivery));
                }
            }
            copied = copied.min(*consumed);
        }
        // Until the header has found its way, there is nothing to copy to.
        if copied < u32::MAX {
            self.vertices[v].left = copied;
        }
        moved
    }

    /// Flits that a vertex has had, and has to make copies of.
    pub(super) fn arrived(&self, route: &TreeRoute, v: usize) -> u32 {
        if v == 0 { route.vertices[0].total } else { self.vertices[v].landed }
    }

    /// A flit comes to the end of the link to a vertex; returns whether it is the first.
    pub(super) fn lands(&mut self, v: usize) -> bool {
        self.vertices[v].landed += 1;
        self.vertices[v].landed == 1
    }

    /// Whether nothing has been copied there.
    pub(super) fn is_untouched(&self, copying: Copying) -> bool {
        0 == match copying {
            Copying::To(vertex) => self.vertices[vertex as usize].entered,
            Copying::Consumed(delivery) => self.consumed[delivery as usize],
        }
    }

    /// Whether a copy was made in one of the last so many cycles before `now`, on shared links.
    pub(super) fn has_moved_before(&self, now: Cycle, cycles: u32) -> bool {
        self.copied_in.checked_add(Cycle::from(cycles)).is_some_and(|until| until >= now)
    }

    /// Makes a copy in cycle `now`, on shared links, which comes to the end of its link in this cycle or not; calls `event` with what follows. Returns the vertex where it was the last one of a flit, whose slot is free.
    pub(super) fn copy(
        &mut self,
        route: &TreeRoute,
        copying: Copying,
        (now, lands): (Cycle, bool),
        mut event: impl FnMut(TreeEvent),
    ) -> Option<usize> {
        self.moves_in(now);
        let v = match copying {
            Copying::To(c) => {
                self.vertices[c as usize].entered += 1;
                if lands && self.lands(c as usize) {
                    event(TreeEvent::HeaderArrived(c));
                }
                route.vertices[c as usize].parent
            }
            Copying::Consumed(delivery) => {
                let vertex = route.deliveries[delivery as usize].vertex;
                let consumed = &mut self.consumed[delivery as usize];
                *consumed += 1;
                if *consumed == route.vertices[vertex as usize].total {
                    event(TreeEvent::Consumed(delivery));
                }
                vertex
            }
        } as usize;
        let (first, end) = route.vertices[v].deliveries;
        let copied = route.children(v).map(|c| self.vertices[c].entered);
        let copied = copied.chain((first..end).map(|delivery| self.consumed[delivery as usize])).min()?;
        let frees = copied > self.vertices[v].left;
        if frees {
            self.vertices[v].left = copied;
            if copied == route.vertices[v].total {
                event(TreeEvent::TailLeft(v as u32));
            }
        }
        frees.then_some(v)
    }

    /// Vertices that are known.
    pub(super) fn known(&self) -> usize {
        self.vertices.len()
    }

    /// In lockstep on shared links: whether a flit that was there when cycle `now` began can leave a vertex on all branches, if it gets their links.
    pub(super) fn may_leave(&self, route: &TreeRoute, v: usize, buffer: u32, now: Cycle) -> bool {
        let flits = &self.vertices[v];
        let waiting = self.waiting(route, v) - u32::from(flits.came_in == Some(now));
        let is_free = flits.left_in != Some(now) && route.vertices[v].granted;
        is_free && waiting > 0 && route.children(v).all(|child| self.has_room(child, buffer))
    }

    /// In lockstep on shared links: a flit leaves a vertex on all branches; calls `cross` with each channel that it takes and its number.
    pub(super) fn leave(
        &mut self,
        route: &TreeRoute,
        v: usize,
        now: Cycle,
        events: &mut Vec<TreeEvent>,
        mut cross: impl FnMut(ChannelId, u32),
    ) {
        self.moves_in(now);
        let flit = self.vertices[v].left + 1;
        let total = route.vertices[v].total;
        for child in route.children(v) {
            cross(route.vertices[child].entered_by, flit);
            self.enter(child, events);
            self.vertices[child].came_in = Some(now);
        }
        let (first, end) = route.vertices[v].deliveries;
        for delivery in first..end {
            cross(route.deliveries[delivery as usize].channel, flit);
            if flit == total {
                events.push(TreeEvent::Consumed(delivery));
            }
        }
        (self.vertices[v].left, self.vertices[v].left_in) = (flit, Some(now));
        if flit == total {
            events.push(TreeEvent::TailLeft(v as u32));
        }
    }

    /// Counts a move in cycle `now`.
    fn moves_in(&mut self, now: Cycle) {
        self.copied = if self.copied_in == now { self.copied + 1 } else { 1 };
        self.copied_in = now;
    }

    /// No flit is lost, made up or out of its buffer.
    fn check(&self, route: &TreeRoute, buffer: u32) {
        for (v, flits) in self.vertices.iter().enumerate().skip(1) {
            debug_assert!(flits.left <= flits.entered && flits.entered <= self.total(route, v));
            debug_assert!(flits.entered - flits.left <= buffer, "a buffer holds at most {buffer} flits");
        }
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    /// Moves a tree worm; returns whether it has moved and is not done.
    pub(super) fn move_tree(&mut self, slot: u32) -> bool {
        let (now, buffer, replication) = (self.core.now, self.core.config.buffer, self.core.config.replication);
        let mut events = std::mem::take(&mut self.movement.tree_events);
        let worm = &mut self.core.worms[slot as usize];
        let id = worm.id;
        let Route::Tree(route, flits) = &mut worm.route else { return false };
        let observer = &mut self.core.reports.observer;
        let decoder = Decoder { network: self.core.network, descent: self.core.descent };
        let moved = flits.step(route, buffer, replication, &decoder, &mut events, |channel, flit| {
            if O::FLITS {
                observer.flit(now, id, channel, flit);
            }
        });
        self.movement.tree_events = events;
        self.settle_tree(slot, moved)
    }

    /// Does what follows from an event of a tree worm on shared links. If the worm is done then, returns how many copies it has made in this cycle.
    pub(super) fn settle_branch(&mut self, slot: u32, event: TreeEvent) -> usize {
        self.follow_event(slot, event);
        let Route::Tree(route, flits) = &mut self.core.worms[slot as usize].route else { return 0 };
        if cfg!(debug_assertions) {
            flits.check(route, self.core.config.buffer);
        }
        // What a vertex delivers is settled before its tail, so the last of these is the end.
        if let TreeEvent::TailLeft(_) = event {
            flits.open -= 1;
            if flits.open == 0 {
                let copied = flits.copied;
                self.core.finish(slot);
                return copied;
            }
        }
        0
    }

    /// Does what follows from the events of a tree worm; returns whether it goes on, which it does not once it is done.
    fn settle_tree(&mut self, slot: u32, goes_on: bool) -> bool {
        let buffer = self.core.config.buffer;
        let mut events = std::mem::take(&mut self.movement.tree_events);
        let worm = &mut self.core.worms[slot as usize];
        let Route::Tree(route, flits) = &mut worm.route else { return false };
        if cfg!(debug_assertions) {
            flits.check(route, buffer);
        }
        let done = flits.open == 0;
        if let Some((from, to)) = flits.lost {
            self.core.no_route = Some(NoRoute::new(self.core.routing, from, to));
        }
        if flits.decoded {
            // What the core has to know of a header that only its flits tell.
            for &event in &events {
                match event {
                    TreeEvent::HeaderArrived(v) => {
                        route.vertices[v as usize].front =
                            flits.vertices[v as usize].addresses.first().copied().unwrap_or(0);
                    }
                    TreeEvent::TailLeft(v) => route.vertices[v as usize].total = flits.total(route, v as usize),
                    TreeEvent::Consumed(_) => {}
                }
            }
        }
        for event in events.drain(..) {
            self.follow_event(slot, event);
        }
        self.movement.tree_events = events;
        if done {
            self.core.finish(slot);
        }
        goes_on && !done
    }

    fn follow_event(&mut self, slot: u32, event: TreeEvent) {
        let now = self.core.now;
        match event {
            TreeEvent::HeaderArrived(vertex) => self.core.route_header(slot, vertex),
            TreeEvent::TailLeft(vertex) => {
                self.core.tree_departs(slot, vertex, now);
                self.core.report_tree_departure(slot, vertex, now + 1);
            }
            TreeEvent::Consumed(delivery) => {
                self.core.tree_consumes(slot, delivery, now);
                self.core.report_consumption(slot, delivery, now + 1);
                self.core.deliver_tree(slot, delivery);
            }
        }
    }
}
