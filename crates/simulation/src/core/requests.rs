//! Requests and grants: what headers ask for in routers, and what happens when they get it (model.md, rules 9 to 15).

use wormcast_routing::NoRoute;

use super::Core;
use super::arbiter::{Grant, Key, NONE, Pool, Wanted};
use super::worm::Route;
use crate::config::{Header, Replication, Reservation};
use crate::observer::{Cycle, Observer};

impl<O: Observer> Core<'_, O> {
    /// A header asks for what it needs at the vertex where it is.
    #[inline]
    pub(super) fn request(&mut self, slot: u32, vertex: u32) {
        match &self.worms[slot as usize].route {
            Route::Path(_) => self.request_path(slot, vertex),
            Route::Tree(_) => self.request_tree(slot, vertex),
        }
    }

    fn request_path(&mut self, slot: u32, vertex: u32) {
        let worm = &mut self.worms[slot as usize];
        let Route::Path(route) = &mut worm.route else { return };
        let at = route.at;
        let delivers = route.heads_for == at;
        let target =
            if delivers { route.stop_after().map(|stop| self.network.router_of(stop)) } else { Some(route.heads_for) };
        self.candidates.clear();
        if let Some(target) = target {
            let arrived = (vertex > 1).then(|| route.hop(vertex).entered_by);
            match (route.exit, arrived) {
                (Some(exit), None) => self.candidates.push(exit),
                _ => {
                    self.routing.candidates(self.network, at, arrived, target, &mut self.candidates);
                    if self.candidates.is_empty() {
                        self.stranded = Some(NoRoute { routing: self.routing.name(), from: at, to: target });
                        return;
                    }
                }
            }
        }
        let pool = delivers.then(|| Pool::Consumption(route.next_stop(), worm.class));
        // What headers ask for on nearly every hop is granted here and now, if nobody else wants it.
        let taken = match pool {
            None => self.channels.arbiter.take_link(&self.candidates, slot),
            Some(pool) if self.candidates.is_empty() => self.channels.arbiter.take_member(pool, slot),
            _ => None,
        };
        if let Some(channel) = taken {
            let addresses = (self.config.header == Header::AllDestinations).then_some(worm.header);
            route.report_departures(worm.id, worm.flits, addresses, self.now, &mut self.reports);
            self.reports.observer.granted(self.now, worm.id, channel);
            match pool {
                None => route.push(channel, 0, self.network.to(channel), &mut self.hops),
                Some(_) => route.ends(vertex, channel),
            }
            self.granted.push((slot, vertex));
            return;
        }
        let key = Key { cycle: self.now, worm: worm.id, part: vertex };
        let candidates = std::mem::take(&mut self.candidates);
        self.ask(key, slot, vertex, Wanted { pool, links: &candidates, all_links: false });
        self.candidates = candidates;
    }

    fn request_tree(&mut self, slot: u32, vertex: u32) {
        let worm = &self.worms[slot as usize];
        let Route::Tree(route) = &worm.route else { return };
        let (id, class, now) = (worm.id, worm.class, self.now);
        let key = |part| Key { cycle: now, worm: id, part };
        let (mut candidates, mut children) = (std::mem::take(&mut self.candidates), std::mem::take(&mut self.children));
        candidates.clear();
        children.clear();
        let pool = route.vertices[vertex as usize].delivers.map(|node| Pool::Consumption(node, class));
        children.extend(route.children(vertex as usize).map(|child| child as u32));
        candidates.extend(children.iter().map(|&child| route.vertices[child as usize].entered_by));
        let apart =
            self.config.replication == Replication::Independent && self.config.reservation == Reservation::Separate;
        if apart {
            if pool.is_some() {
                self.ask(key(vertex), slot, vertex, Wanted { pool, links: &[], all_links: true });
            }
            for (&child, link) in children.iter().zip(&candidates) {
                let wanted = Wanted { pool: None, links: std::slice::from_ref(link), all_links: true };
                self.ask(key(child), slot, vertex, wanted);
            }
        } else {
            self.ask(key(vertex), slot, vertex, Wanted { pool, links: &candidates, all_links: true });
        }
        (self.candidates, self.children) = (candidates, children);
    }

    /// Makes a request; it may be granted at once.
    pub(super) fn ask(&mut self, key: Key, slot: u32, vertex: u32, wanted: Wanted<'_>) {
        let mut grant = std::mem::take(&mut self.grant);
        if self.channels.arbiter.ask(key, slot, vertex, wanted, &mut grant) {
            self.apply(&grant);
        } else {
            self.worms[slot as usize].requests += 1;
            self.channels.arrange_wakes();
        }
        self.grant = grant;
    }

    /// Hands a worm what it was granted.
    pub(super) fn apply(&mut self, grant: &Grant) {
        self.report_departures(grant.worm, self.now);
        let worm = &mut self.worms[grant.worm as usize];
        for channel in grant.pooled.into_iter().chain(grant.links.iter().map(|&(link, _)| link)) {
            self.reports.observer.granted(self.now, worm.id, channel);
        }
        let v = grant.vertex as usize;
        if v == 0 {
            if let Some(channel) = grant.pooled {
                self.first_hop(grant.worm, channel);
            }
        } else {
            match &mut worm.route {
                Route::Path(route) => {
                    let link = grant.links.first();
                    match grant.pooled {
                        Some(channel) if link.is_none() => route.ends(grant.vertex, channel),
                        Some(channel) => route.reaches_stop(grant.vertex, channel, self.network),
                        None => {}
                    }
                    if let Some(&(link, vc)) = link {
                        route.push(link, vc, self.network.to(link), &mut self.hops);
                    }
                }
                Route::Tree(route) => {
                    worm.waited += self.now - grant.requested;
                    if let Some(channel) = grant.pooled {
                        route.vertices[v].consumption = channel.raw();
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

    /// A header flit of a path worm enters the router at its last vertex in this cycle: returns when it is stripped, if it is an
    /// address flit that names the router. The next flit is the header there.
    #[inline]
    pub(crate) fn strip_time(&mut self, slot: u32) -> Option<Cycle> {
        match &mut self.worms[slot as usize].route {
            Route::Path(route) if self.config.header == Header::AllDestinations => {
                route.strips().then(|| self.now + 1 + Cycle::from(self.config.strip_delay))
            }
            _ => None,
        }
    }
}
