//! Requests and grants: what headers ask for in routers, and what happens when they get it (model.md, rules 9 to 15).

use wormcast_network::{ChannelId, ChannelKind, NodeId, RouterId};
use wormcast_routing::{Lanes, NoRoute, VcRange, VirtualChannels, Waypoints};

use super::arbiter::{Grant, Key, NONE, Pool, Wanted};
use super::channels::Channels;
use super::event::Event;
use super::worm::{Flits, Follows, Guide, Place, Route, Surroundings};
use super::{Core, Order};
use crate::config::switching::{BranchReplication, Reservation};
use crate::engine::EngineConfig;
use crate::observers::observer::Observer;
use crate::rng::{Purpose, number};

/// What a header may take where virtual channels are divided.
#[derive(Default)]
pub(super) struct Divided {
    lanes: Lanes,
}

impl Divided {
    /// Determines it towards a target, or a waypoint that lies ahead; of the channel that a plan names alone, if it names one.
    fn find(
        &mut self,
        (division, over): (&dyn VirtualChannels, Option<(&dyn Waypoints, RouterId)>),
        config: &EngineConfig,
        (at, arrived, target): (RouterId, Option<ChannelId>, RouterId),
        named: Option<ChannelId>,
    ) {
        self.lanes.clear();
        // Nobody asks for more than 64.
        let count = config.virtual_channels.min(u32::from(u8::MAX)) as u8;
        if count < division.needed() {
            return;
        }
        match over {
            Some((waypoints, waypoint)) => waypoints.lanes_to(at, arrived, waypoint, count, &mut self.lanes),
            None => division.lanes(at, arrived, target, count, &mut self.lanes),
        }
        if let Some(named) = named {
            self.lanes.retain(|lane| lane.0 == named);
        }
    }

    fn list(&self, candidates: &mut Vec<ChannelId>, ranges: &mut Vec<VcRange>) {
        candidates.clear();
        candidates.extend(self.lanes.iter().map(|lane| lane.0));
        ranges.clear();
        ranges.extend(self.lanes.iter().map(|lane| lane.1));
    }
}

/// Keeps a worm to its `own` virtual channels, on links that have `count`; drops candidates of which it may take none. No ranges: it may take any.
#[inline]
fn keep_to(own: VcRange, count: u32, candidates: &mut Vec<ChannelId>, ranges: &mut Vec<VcRange>) {
    if own != VcRange::ANY {
        keep_within(own, count, candidates, ranges);
    }
}

#[inline(never)]
fn keep_within(own: VcRange, count: u32, candidates: &mut Vec<ChannelId>, ranges: &mut Vec<VcRange>) {
    ranges.resize(candidates.len(), VcRange::ANY);
    let mut kept = 0;
    for index in 0..candidates.len() {
        let range = ranges[index].and(own);
        if !range.of(count).is_empty() {
            (candidates[kept], ranges[kept]) = (candidates[index], range);
            kept += 1;
        }
    }
    candidates.truncate(kept);
    ranges.truncate(kept);
}

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// A header asks for what it needs at the vertex where it is.
    #[allow(clippy::inline_always, reason = "on every hop, in a loop of its own")]
    #[inline(always)]
    pub(super) fn request(&mut self, slot: u32, vertex: u32) {
        let Self { worms, config, spare, channels, reports, now, .. } = self;
        let worm = &mut worms[slot as usize];
        let Route::Path(route, _) = &mut worm.route else {
            worm.timers -= 1;
            return self.request_tree(slot, vertex);
        };
        // On nearly every hop there is one channel to ask for, and nothing that says otherwise.
        let mut link = route.goes_by(self.network);
        if link.is_none() && self.finds_ways && route.at != route.heads_for && worm.virtual_channels == VcRange::ANY {
            self.finds_ways = route.find_way(self.routing, |link| channels.arbiter.end_of(link));
            link = route.goes_by(self.network);
        }
        debug_assert!(link.is_none_or(|link| {
            self.routing.straight(route.at, route.heads_for).is_some_and(|way| way.first == link)
        }));
        let Some(link) = link else { return self.request_stop(slot, vertex) };
        let Some(to) = channels.arbiter.take_one(link, slot) else {
            return self.wait_for_one(slot, vertex, link, None);
        };
        if O::RELEASES || route.is_full() {
            return self.take_link(slot, vertex, link, to);
        }
        reports.observer.granted(*now, worm.id, link);
        route.enter(*now, link, to);
        let at = Place { slot, vertex, now: *now };
        let follows = F::goes_on(worm, at, Surroundings { config, spare, channels, reports });
        self.carry_on(slot, vertex, follows);
    }

    /// A path is granted a link.
    #[inline(never)]
    pub(super) fn take_link(&mut self, slot: u32, vertex: u32, link: ChannelId, to: RouterId) {
        let Self { worms, config, spare, channels, reports, hops, now, .. } = self;
        let worm = &mut worms[slot as usize];
        let Route::Path(route, _) = &mut worm.route else { return };
        if O::RELEASES || route.is_full() {
            let addresses = config.header.stripped_of_path(worm.header);
            route.report_departures(worm.id, worm.flits, addresses, *now, reports);
            route.make_room(hops);
        }
        reports.observer.granted(*now, worm.id, link);
        route.enter(*now, link, to);
        let at = Place { slot, vertex, now: *now };
        let follows = F::goes_on(worm, at, Surroundings { config, spare, channels, reports });
        self.carry_on(slot, vertex, follows);
    }

    /// Does what follows from a path's grant at a vertex, or has it done.
    #[allow(clippy::inline_always, reason = "on every hop")]
    #[inline(always)]
    pub(super) fn carry_on(&mut self, slot: u32, vertex: u32, follows: Follows) {
        match follows {
            Follows::Nothing => {}
            Follows::Departures => self.settle(slot, vertex),
            Follows::Movement => self.granted.push((slot, vertex)),
        }
    }

    /// Finds the departures that follow from a path's grant at a vertex.
    #[inline(never)]
    pub(crate) fn settle(&mut self, slot: u32, vertex: u32) {
        let Self { worms, config, spare, channels, reports, now, .. } = self;
        let at = Place { slot, vertex, now: *now };
        F::settle(&mut worms[slot as usize], at, Surroundings { config, spare, channels, reports });
        if self.order != Order::OfPhases && !self.channels.delivering.is_empty() {
            self.deliver_at_once();
        }
    }

    /// As [`request`](Self::request), where a path does not simply go on: mostly at its last stop.
    #[inline(never)]
    fn request_stop(&mut self, slot: u32, vertex: u32) {
        if self.plain
            && let Route::Path(route, _) = &self.worms[slot as usize].route
            && route.at == route.heads_for
            && let &[stop] = route.stops_ahead()
        {
            return self.request_end(slot, vertex, stop);
        }
        self.request_path(slot, vertex);
    }

    #[inline(never)]
    fn request_path(&mut self, slot: u32, vertex: u32) {
        let worm = &mut self.worms[slot as usize];
        let Route::Path(route, _) = &mut worm.route else { return };
        let at = route.at;
        if let Some(waypoints) = self.waypoints {
            if vertex == 1 && route.heads_for != at {
                let drawn = number(self.config.seed, Purpose::Waypoint, worm.id, 0);
                let arbiter = &self.channels.arbiter;
                let waypoint = waypoints.waypoint(at, route.heads_for, drawn, &|link| arbiter.load(link));
                route.rest_mut().waypoint = waypoint;
            }
            if route.rest().waypoint == Some(at) {
                route.rest_mut().waypoint = None;
            }
        }
        let waypoint = self.waypoints.and_then(|_| route.rest().waypoint);
        let delivers = route.heads_for == at && waypoint.is_none();
        if delivers && let &[stop] = route.stops_ahead() {
            return self.request_end(slot, vertex, stop);
        }
        let stops = if delivers { route.next_stops(self.network).len() } else { 0 };
        let target = if delivers {
            route.stop_after(stops).map(|stop| self.network.router_of(stop))
        } else {
            Some(route.heads_for)
        };
        self.candidates.clear();
        self.ranges.clear();
        if let Some(target) = target {
            let arrived = (vertex > 1).then(|| route.entered_by(vertex));
            let exit = if arrived.is_none() { route.rest().exit } else { None };
            match (self.division, exit) {
                (Some(division), _) => {
                    let place = (at, arrived, target);
                    let over = self.waypoints.zip(waypoint);
                    self.divided.find((division, over), &self.config, place, exit);
                    self.divided.list(&mut self.candidates, &mut self.ranges);
                }
                (None, Some(exit)) => self.candidates.push(exit),
                _ => match self.spread {
                    None => self.routing.candidates(at, arrived, target, &mut self.candidates),
                    Some(spread) => spread.spread(at, arrived, target, &mut self.candidates),
                },
            }
            keep_to(worm.virtual_channels, self.config.virtual_channels, &mut self.candidates, &mut self.ranges);
            if self.candidates.is_empty() {
                self.no_route = Some(NoRoute::new(self.routing, at, target));
                return;
            }
        }
        // What headers ask for on nearly every hop is granted here and now, if no other wants it.
        if stops == 0
            && let Some((link, to)) = self.channels.arbiter.take_link(&self.candidates, slot)
        {
            return self.take_link(slot, vertex, link, to);
        }
        let mut pools = std::mem::take(&mut self.pools);
        pools.clear();
        if delivers {
            pools.extend(route.next_stops(self.network).iter().map(|&stop| Pool::Consumption(stop, worm.class)));
        }
        let key = Key { cycle: self.now, worm: worm.id, part: vertex };
        let (candidates, ranges) = (std::mem::take(&mut self.candidates), std::mem::take(&mut self.ranges));
        let links = if candidates.is_empty() { &[][..] } else { &ranges[..] };
        self.ask(key, slot, vertex, Wanted { pools: &pools, links: &candidates, ranges: links, all_links: false });
        (self.candidates, self.ranges, self.pools) = (candidates, ranges, pools);
    }

    /// The header of a path asks for one link and nothing else, or a worm for one port, and has to wait.
    #[inline(never)]
    fn wait_for_one(&mut self, slot: u32, vertex: u32, channel: ChannelId, pool: Option<Pool>) {
        let worm = &mut self.worms[slot as usize];
        worm.requests += 1;
        let key = Key { cycle: self.now, worm: worm.id, part: vertex };
        if let Some(at) = self.channels.arbiter.queue_for_one(key, (slot, vertex), (channel, pool)) {
            self.channels.calendar.push(at, Event::wake(channel.raw()));
        }
        if O::WAITS {
            self.reports.observer.requested(self.now, key.worm, &[channel]);
        }
    }

    /// A worm asks for one channel of a pool and nothing else, and has to wait.
    #[inline(never)]
    pub(super) fn wait_for_pool(&mut self, slot: u32, vertex: u32, pool: Pool) {
        if let Some(port) = self.channels.arbiter.only_port(pool) {
            return self.wait_for_one(slot, vertex, port, Some(pool));
        }
        let key = Key { cycle: self.now, worm: self.worms[slot as usize].id, part: vertex };
        self.ask(key, slot, vertex, Wanted { pools: &[pool], links: &[], ranges: &[], all_links: false });
    }

    /// The header of a path asks for a consumption channel of its last stop, and nothing else: it is granted here and now, if no other wants it.
    #[allow(clippy::inline_always, reason = "once a message")]
    #[inline(always)]
    fn request_end(&mut self, slot: u32, vertex: u32, stop: NodeId) {
        let pool = Pool::Consumption(stop, self.worms[slot as usize].class);
        match self.channels.arbiter.take_member(pool, slot) {
            Some(channel) => self.reach_end(slot, vertex, channel),
            None => self.wait_for_pool(slot, vertex, pool),
        }
    }

    /// A worm is granted the one channel that it waited for, of a pool.
    #[inline(never)]
    pub(super) fn take_port(&mut self, slot: u32, vertex: u32, channel: ChannelId) {
        if vertex > 0 {
            return self.reach_end(slot, vertex, channel);
        }
        self.reports.observer.granted(self.now, self.worms[slot as usize].id, channel);
        self.first_hop(slot, channel);
        self.begins(slot);
    }

    /// A path is granted the one consumption channel of its last stop.
    #[inline]
    fn reach_end(&mut self, slot: u32, vertex: u32, channel: ChannelId) {
        if O::RELEASES {
            self.report_departures(slot, self.now);
        }
        let Self { worms, config, channels, reports, spare, now, .. } = self;
        let worm = &mut worms[slot as usize];
        let Route::Path(route, _) = &mut worm.route else { return };
        reports.observer.granted(*now, worm.id, channel);
        route.reach_last_stop(*now, channel);
        let at = Place { slot, vertex, now: *now };
        let follows = F::goes_on(worm, at, Surroundings { config, spare, channels, reports });
        self.carry_on(slot, vertex, follows);
    }

    /// A path has been granted all that it asked for at a vertex behind the first.
    #[inline(never)]
    fn goes_on(&mut self, slot: u32, vertex: u32) {
        let Self { worms, config, channels, reports, spare, now, .. } = self;
        let at = Place { slot, vertex, now: *now };
        let follows = F::goes_on(&mut worms[slot as usize], at, Surroundings { config, spare, channels, reports });
        self.carry_on(slot, vertex, follows);
    }

    fn request_tree(&mut self, slot: u32, vertex: u32) {
        if !self.find_way(slot, vertex) {
            return;
        }
        let worm = &self.worms[slot as usize];
        let Route::Tree(route, _) = &worm.route else { return };
        let (id, class, now, own) = (worm.id, worm.class, self.now, worm.virtual_channels);
        let key = |part| Key { cycle: now, worm: id, part };
        let (mut candidates, mut children) = (std::mem::take(&mut self.candidates), std::mem::take(&mut self.children));
        candidates.clear();
        children.clear();
        let mut pools = std::mem::take(&mut self.pools);
        pools.clear();
        let deliveries = route.deliveries_of(&route.vertices[vertex as usize]);
        pools.extend(deliveries.iter().map(|delivery| Pool::Consumption(delivery.node, class)));
        children.extend(route.children(vertex as usize).map(|child| child as u32));
        candidates.extend(children.iter().map(|&child| route.vertices[child as usize].entered_by));
        // Branches are no candidates of a relation.
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.clear();
        if own != VcRange::ANY {
            ranges.resize(candidates.len(), own);
        }
        let apart = self.config.replication == BranchReplication::Independent
            && self.config.reservation == Reservation::Separate;
        if apart {
            for pool in &pools {
                let wanted = Wanted { pools: std::slice::from_ref(pool), links: &[], ranges: &[], all_links: true };
                self.ask(key(vertex), slot, vertex, wanted);
            }
            for (&child, link) in children.iter().zip(&candidates) {
                let ranges = &ranges[..ranges.len().min(1)];
                let wanted = Wanted { pools: &[], links: std::slice::from_ref(link), ranges, all_links: true };
                self.ask(key(child), slot, vertex, wanted);
            }
        } else {
            self.ask(
                key(vertex),
                slot,
                vertex,
                Wanted { pools: &pools, links: &candidates, ranges: &ranges, all_links: true },
            );
        }
        (self.candidates, self.children, self.pools, self.ranges) = (candidates, children, pools, ranges);
    }

    /// Determines where a tree worm goes from the vertex where its header is: returns whether the vertex has got its children and
    /// deliveries. If it has not, the worm goes on by one of several channels: then it has asked for one, or has no route.
    fn find_way(&mut self, slot: u32, vertex: u32) -> bool {
        let router = self.router_at(slot, vertex);
        let worm = &mut self.worms[slot as usize];
        let (id, flits, own) = (worm.id, worm.flits, worm.virtual_channels);
        let Route::Tree(route, _) = &mut worm.route else { return true };
        let at = &route.vertices[vertex as usize];
        let arrived = (vertex > 1).then_some(at.entered_by);
        let (first, target, down) = match &mut route.guide {
            Guide::Known => return true,
            Guide::Trunk(tree) => match tree.trunk {
                Some(trunk) if trunk.to != router => (trunk.exit, trunk.to, None),
                _ => {
                    let tree = std::mem::take(tree);
                    route.guide = Guide::Known;
                    route.attach(&tree, vertex);
                    return true;
                }
            },
            Guide::Header { exit, flits: header } => {
                match (at.front as usize).checked_sub(1).map(|front| header[front]) {
                    Some(flit) if flit.router == router => {
                        route.vertices[vertex as usize].set_up = true;
                        for channel in flit.channels(self.network) {
                            route.push(vertex, channel, flits);
                        }
                        route.deliver_at(vertex, flit.delivers(self.network));
                        return true;
                    }
                    // Where a flit goes whose split flag is set is the router's decision alone.
                    Some(flit) => (*exit, flit.router, arrived.filter(|_| at.set_up_above != NONE)),
                    // Data, without a header.
                    None => {
                        self.no_route = Some(NoRoute::named(self.network, "tree header", router, router));
                        return false;
                    }
                }
            }
        };
        self.candidates.clear();
        self.ranges.clear();
        let exit = first.filter(|_| arrived.is_none());
        match (down, self.division, exit) {
            (Some(on), ..) => {
                self.candidates.extend(self.descent.and_then(|descent| descent.down(router, on, target)));
            }
            (None, Some(division), _) => {
                self.divided.find((division, None), &self.config, (router, arrived, target), exit);
                self.divided.list(&mut self.candidates, &mut self.ranges);
            }
            (None, None, Some(exit)) => self.candidates.push(exit),
            _ => match self.spread {
                None => self.routing.candidates(router, arrived, target, &mut self.candidates),
                Some(spread) => spread.spread(router, arrived, target, &mut self.candidates),
            },
        }
        keep_to(own, self.config.virtual_channels, &mut self.candidates, &mut self.ranges);
        if self.candidates.is_empty() {
            self.no_route = Some(NoRoute::new(self.routing, router, target));
            return false;
        }
        let key = Key { cycle: self.now, worm: id, part: vertex };
        let (candidates, ranges) = (std::mem::take(&mut self.candidates), std::mem::take(&mut self.ranges));
        self.ask(key, slot, vertex, Wanted { pools: &[], links: &candidates, ranges: &ranges, all_links: false });
        (self.candidates, self.ranges) = (candidates, ranges);
        false
    }

    /// Makes a request; it may be granted at once.
    pub(super) fn ask(&mut self, key: Key, slot: u32, vertex: u32, wanted: Wanted<'_>) {
        let mut grant = std::mem::take(&mut self.grant);
        if self.channels.arbiter.ask(key, slot, vertex, wanted, &mut grant) {
            self.apply(&grant);
        } else {
            self.waits(slot, key, wanted);
        }
        self.grant = grant;
    }

    /// A request has been queued.
    fn waits(&mut self, slot: u32, key: Key, wanted: Wanted<'_>) {
        self.worms[slot as usize].requests += 1;
        self.channels.arrange_wakes();
        if O::WAITS {
            let Channels { arbiter, asked, .. } = &mut self.channels;
            asked.clear();
            asked.extend_from_slice(wanted.links);
            asked.extend(wanted.pools.iter().flat_map(|&pool| arbiter.members(pool)));
            self.reports.observer.requested(self.now, key.worm, asked);
        }
    }

    /// Hands a worm what it was granted.
    pub(super) fn apply(&mut self, grant: &Grant) {
        self.report_departures(grant.worm, self.now);
        let worm = &mut self.worms[grant.worm as usize];
        for channel in grant.pooled.iter().copied().chain(grant.links.iter().map(|&(link, _)| link)) {
            self.reports.observer.granted(self.now, worm.id, channel);
        }
        let v = grant.vertex as usize;
        if v == 0 {
            if let Some(&channel) = grant.pooled.first() {
                self.first_hop(grant.worm, channel);
            }
        } else {
            match &mut worm.route {
                Route::Path(route, _) => {
                    grant.pooled.iter().for_each(|&channel| route.add_consumption(channel));
                    match grant.links.first() {
                        Some(&(link, vc)) => route.push(self.now, link, vc, self.network.to(link), &mut self.hops),
                        None => route.complete(self.now),
                    }
                    if !grant.pooled.is_empty() {
                        route.delivers_at(grant.vertex);
                        route.reach_stops(grant.pooled.len(), self.network);
                    }
                    return self.goes_on(grant.worm, grant.vertex);
                }
                Route::Tree(route, _) => {
                    worm.waited += self.now - grant.requested;
                    let (first, end) = route.vertices[v].deliveries;
                    for &channel in &grant.pooled {
                        let ChannelKind::Consumption(node, _) = self.channels.space.kind(channel) else { continue };
                        let mut here = route.deliveries[first as usize..end as usize].iter_mut();
                        if let Some(delivery) = here.find(|delivery| delivery.node == node) {
                            delivery.channel = channel;
                        }
                    }
                    // On its way to where its branches begin, it goes on by whichever link it got.
                    if let (NONE, Some(&(link, _))) = (route.vertices[v].first_child, grant.links.first()) {
                        route.push(grant.vertex, link, worm.flits);
                    }
                    let mut child = route.vertices[v].first_child;
                    while child != NONE {
                        let vertex = &mut route.vertices[child as usize];
                        if let Some(&(_, vc)) = grant.links.iter().find(|&&(link, _)| link == vertex.entered_by) {
                            (vertex.reserved, vertex.virtual_channel) = (true, vc);
                        }
                        child = vertex.sibling;
                    }
                    route.vertices[v].granted = true;
                }
            }
        }
        self.granted.push((grant.worm, grant.vertex));
    }
}
