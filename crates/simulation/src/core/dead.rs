//! Deadlock detection: the greatest set of worms that wait for each other (model.md, "Deadlock").

use std::collections::HashSet;

use wormcast_network::{ChannelId, ChannelKind};

use super::Core;
use super::arbiter::{NONE, Request};
use super::worm::{Route, Worm};
use crate::observer::Observer;
use crate::result::{DeadWorm, Deadlock};

/// Memory of searches.
#[derive(Default)]
pub(crate) struct Search {
    /// The first request of each worm, by slot, and the one after each request; or `NONE`.
    first: Vec<u32>,
    next: Vec<u32>,
    /// The worms that have not been struck out.
    suspects: Vec<u32>,
    dead: Vec<bool>,
}

impl Search {
    fn requests(&self, slot: u32) -> impl Iterator<Item = u32> {
        let index = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(index(self.first[slot as usize]), move |&at| index(self.next[at as usize]))
    }

    fn is_dead(&self, slot: u32) -> bool {
        slot != NONE && self.dead[slot as usize]
    }
}

impl<O: Observer> Core<'_, O> {
    /// Finds dead worms, if there are any, and a cycle among them.
    ///
    /// Only worms with nothing but requests ahead of them can be dead, and only those that are `stuck`: that will give nothing
    /// back before a request is granted. Of these, one is struck out if any of its requests has, for each of its parts, a
    /// candidate that is neither held by nor queued behind a worm that remains; the rest is dead.
    pub(crate) fn find_deadlock(&self, search: &mut Search, stuck: impl Fn(u32) -> bool) -> Option<Deadlock> {
        search.first.clear();
        search.first.resize(self.worms.len(), NONE);
        for (index, request) in self.channels.arbiter.requests() {
            if search.next.len() <= index as usize {
                search.next.resize(index as usize + 1, NONE);
            }
            search.next[index as usize] = std::mem::replace(&mut search.first[request.worm as usize], index);
        }
        search.suspects.clear();
        search.suspects.extend((0..self.worms.len() as u32).filter(|&slot| {
            let worm = &self.worms[slot as usize];
            worm.live && worm.timers == 0 && worm.requests > 0 && stuck(slot)
        }));
        search.dead.clear();
        search.dead.resize(self.worms.len(), false);
        for &slot in &search.suspects {
            search.dead[slot as usize] = true;
        }
        let mut suspects = std::mem::take(&mut search.suspects);
        loop {
            let before = suspects.len();
            suspects.retain(|&slot| {
                let requests = search.requests(slot).filter_map(|index| self.channels.arbiter.request(index));
                let stays = { requests }.all(|request| self.blocker(request, search).is_some());
                search.dead[slot as usize] = stays;
                stays
            });
            if suspects.len() == before {
                break;
            }
        }
        let (first, count) = (suspects.first().copied(), suspects.len());
        search.suspects = suspects;
        // Worms that wait for a first channel hold nothing and block nobody, but lead to those that do.
        let first = first?;
        let mut path = vec![first];
        let start = loop {
            let request = self.channels.arbiter.request(search.first[path[path.len() - 1] as usize])?;
            let next = self.blocker(request, search)?;
            match path.iter().position(|&slot| slot == next) {
                Some(start) => break start,
                None => path.push(next),
            }
        };
        let cycle = path[start..].iter().map(|&slot| self.describe(slot, search)).collect();
        Some(Deadlock { at: self.now, dead: count, cycle })
    }

    /// A dead worm that keeps a request from being granted for ever; none if it may be granted yet.
    fn blocker(&self, request: &Request, search: &Search) -> Option<u32> {
        let arbiter = &self.channels.arbiter;
        if let Some(pool) = request.pool {
            let mut holders = arbiter.members(pool).map(|channel| arbiter.holder(channel, 0));
            let first = holders.next()?;
            if search.is_dead(first) && holders.all(|holder| search.is_dead(holder)) {
                return Some(first);
            }
        }
        let mut any = None;
        for (position, &link) in request.links.iter().enumerate() {
            let mut holders = arbiter.link_holders(link);
            let first = holders.next()?;
            let blocker = if search.is_dead(first) && holders.all(|holder| search.is_dead(holder)) {
                Some(first)
            } else {
                let ahead = arbiter.ahead(request, position).filter_map(|index| arbiter.request(index));
                ahead.map(|other| other.worm).find(|&worm| worm != request.worm && search.is_dead(worm))
            };
            match (blocker, request.all_links) {
                // One link that never comes is enough to wait for ever, or all have to be such.
                (Some(_), true) => return blocker,
                (None, false) => return None,
                _ => any = any.or(blocker),
            }
        }
        any
    }

    fn describe(&self, slot: u32, search: &Search) -> DeadWorm {
        let worm = &self.worms[slot as usize];
        let requests = search.requests(slot).filter_map(|index| self.channels.arbiter.request(index));
        let mut requests: Vec<&Request> = requests.collect();
        requests.sort_by_key(|request| request.key);
        let mut waits_for = Vec::new();
        let mut seen = HashSet::new();
        for request in &requests {
            let pooled = request.pool.into_iter().flat_map(|pool| self.channels.arbiter.members(pool).take(1));
            for channel in pooled.chain(request.links.iter().copied()) {
                let name = match self.channels.space.kind(channel) {
                    ChannelKind::Link => self.name(channel),
                    ChannelKind::Injection(node, _) => format!("injection {node}"),
                    ChannelKind::Consumption(node, _) => format!("consumption {node}"),
                };
                if seen.insert(name.clone()) {
                    waits_for.push(name);
                }
            }
        }
        DeadWorm {
            worm: worm.id,
            message: worm.message,
            header_at: self.router_at(slot, requests.first().map_or(0, |request| request.vertex)).raw(),
            holds: held(worm).into_iter().map(|channel| self.name(channel)).collect(),
            waits_for,
        }
    }

    /// A channel as people read it.
    fn name(&self, channel: ChannelId) -> String {
        match self.channels.space.kind(channel) {
            ChannelKind::Link => format!("{}->{}", self.network.from(channel), self.network.to(channel)),
            ChannelKind::Injection(node, port) => format!("injection {node}.{port}"),
            ChannelKind::Consumption(node, port) => format!("consumption {node}.{port}"),
        }
    }
}

/// The channels that a worm holds, from its tail on.
fn held(worm: &Worm) -> Vec<ChannelId> {
    let mut held = Vec::new();
    match &worm.route {
        Route::Path(route) => {
            for (_, hop) in route.hops() {
                held.extend(Some(hop.entered_by).filter(|channel| channel.raw() != NONE));
                held.extend(Some(hop.consumption).filter(|&c| c != NONE).map(ChannelId::new));
            }
        }
        Route::Tree(route) => {
            for vertex in route.vertices.iter().skip(1) {
                held.extend(vertex.reserved.then_some(vertex.entered_by));
                held.extend((vertex.consumption != NONE).then(|| ChannelId::new(vertex.consumption)));
            }
        }
    }
    held
}
