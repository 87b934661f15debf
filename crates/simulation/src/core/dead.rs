//! Deadlock detection: the greatest set of worms that wait for each other (model.md, "Deadlock").

use std::collections::HashSet;

use wormcast_network::{ChannelId, ChannelKind};

use super::Core;
use super::arbiter::{NONE, Request};
use super::worm::{Route, Worm};
use crate::observer::Observer;
use crate::result::{DeadWorm, Deadlock};

impl<O: Observer> Core<'_, O> {
    /// Finds dead worms, if there are any, and a cycle among them.
    ///
    /// Only worms with nothing but requests ahead of them can be dead, and only those that are `stuck`: that will give nothing
    /// back before a request is granted. Of these, one is struck out if any of its requests has, for each of its parts, a
    /// candidate that is neither held by nor queued behind a worm that remains; the rest is dead.
    pub(crate) fn find_deadlock(&self, stuck: impl Fn(u32) -> bool) -> Option<Deadlock> {
        let mut requests: Vec<Vec<u32>> = vec![Vec::new(); self.worms.len()];
        for (index, request) in self.channels.arbiter.requests() {
            requests[request.worm as usize].push(index);
        }
        let mut suspects: Vec<u32> = (0..self.worms.len() as u32)
            .filter(|&slot| {
                let worm = &self.worms[slot as usize];
                worm.live && worm.timers == 0 && worm.requests > 0 && stuck(slot)
            })
            .collect();
        let mut dead: Vec<bool> = vec![false; self.worms.len()];
        for &slot in &suspects {
            dead[slot as usize] = true;
        }
        loop {
            let before = suspects.len();
            suspects.retain(|&slot| {
                let stuck = requests[slot as usize]
                    .iter()
                    .filter_map(|&index| self.channels.arbiter.request(index))
                    .all(|request| !self.blockers(request, &dead).is_empty());
                dead[slot as usize] = stuck;
                stuck
            });
            if suspects.len() == before {
                break;
            }
        }
        let blocker = |slot: u32| {
            let index = *requests[slot as usize].first()?;
            self.blockers(self.channels.arbiter.request(index)?, &dead).first().copied()
        };
        // Worms that wait for a first channel hold nothing and block nobody, but lead to those that do.
        let mut path = vec![*suspects.first()?];
        let start = loop {
            let next = blocker(path[path.len() - 1])?;
            match path.iter().position(|&slot| slot == next) {
                Some(start) => break start,
                None => path.push(next),
            }
        };
        let cycle = path[start..].iter().map(|&slot| self.describe(slot, &requests[slot as usize])).collect();
        Some(Deadlock { at: self.now, dead: suspects.len(), cycle })
    }

    /// The dead worms that keep a request from being granted for ever; none if it may be granted yet.
    fn blockers(&self, request: &Request, dead: &[bool]) -> Vec<u32> {
        if let Some(pool) = request.pool {
            let holders: Vec<u32> =
                self.channels.arbiter.members(pool).map(|channel| self.channels.arbiter.holder(channel, 0)).collect();
            if holders.iter().all(|&holder| holder != NONE && dead[holder as usize]) {
                return holders;
            }
        }
        let mut blockers = Vec::new();
        for (position, &link) in request.links.iter().enumerate() {
            let holders: Vec<u32> = self.channels.arbiter.link_holders(link).collect();
            let ahead =
                self.channels.arbiter.ahead(request, position).filter_map(|index| self.channels.arbiter.request(index));
            let dead_ahead = ahead.map(|other| other.worm).find(|&worm| worm != request.worm && dead[worm as usize]);
            if holders.iter().all(|&holder| holder != NONE && dead[holder as usize]) {
                blockers.extend(holders);
            } else if let Some(worm) = dead_ahead {
                blockers.push(worm);
            } else if !request.all_links {
                return Vec::new();
            } else {
                continue;
            }
            if request.all_links {
                return blockers;
            }
        }
        blockers
    }

    fn describe(&self, slot: u32, requests: &[u32]) -> DeadWorm {
        let worm = &self.worms[slot as usize];
        let requests: Vec<&Request> =
            requests.iter().filter_map(|&index| self.channels.arbiter.request(index)).collect();
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
