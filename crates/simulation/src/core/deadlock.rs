//! Deadlock detection: the largest set of worms that wait for each other (model.md, "Deadlock").

use std::collections::HashSet;

use wormcast_network::ChannelId;

use super::Core;
use super::arbiter::{NONE, Pool, Request};
use super::at_end::held;
use super::worm::Flits;
use crate::observers::observer::Observer;
use crate::run::result::{DeadWorm, Deadlock};

/// Scratch space of searches.
#[derive(Default)]
pub(crate) struct Search {
    /// The first request of each worm, by slot, and the one after each request; or `NONE`.
    first: Vec<u32>,
    next: Vec<u32>,
    suspects: Vec<u32>,
    /// Whether a worm has been looked at, or will be; and those of them that wait for each other, the last one for none.
    seen: Vec<bool>,
    chain: Vec<u32>,
    /// Whether a worm is a suspect that has not been struck out.
    dead: Vec<bool>,
    /// The last entry in `watches` of the worms that depend on a worm, by its slot: (dependent, entry before).
    watched: Vec<u32>,
    watches: Vec<(u32, u32)>,
    /// Worms that have been struck out, and whose dependents have still to be looked at.
    struck: Vec<u32>,
    /// The worms that keep a request from being granted.
    blockers: Vec<u32>,
}

impl Search {
    pub(super) fn requests(&self, slot: u32) -> impl Iterator<Item = u32> {
        let index = |index: u32| (index != NONE).then_some(index);
        std::iter::successors(index(self.first[slot as usize]), move |&at| index(self.next[at as usize]))
    }

    /// Whether any worm waits forever, after a search.
    pub(crate) fn found_any(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Whether a worm waits forever, after a search.
    pub(super) fn is_dead(&self, slot: u32) -> bool {
        slot != NONE && self.dead[slot as usize]
    }
}

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// Finds dead worms: says which are, in `search`.
    ///
    /// Only worms with nothing but requests ahead of them can be dead, and only those that are `stuck`: that will give nothing
    /// back before a request is granted. Of these, one is struck out if any of its requests has, for each of its parts, a
    /// candidate that is neither held by nor queued behind a worm that remains; the rest are dead. When a worm is struck out,
    /// the worms that depended on it are looked at again: about linear in worms and requests.
    pub(crate) fn find_dead(&self, search: &mut Search, stuck: impl Fn(u32) -> bool) {
        let worms = self.worms.len();
        search.first.clear();
        search.first.resize(worms, NONE);
        for (index, request) in self.channels.arbiter.requests() {
            if search.next.len() <= index as usize {
                search.next.resize(index as usize + 1, NONE);
            }
            search.next[index as usize] = std::mem::replace(&mut search.first[request.worm as usize], index);
        }
        let mut suspects = std::mem::take(&mut search.suspects);
        suspects.clear();
        suspects.extend((0..worms as u32).filter(|&slot| {
            let worm = &self.worms[slot as usize];
            worm.live && worm.timers == 0 && worm.requests > 0 && stuck(slot)
        }));
        search.dead.clear();
        search.dead.resize(worms, false);
        for &slot in &suspects {
            search.dead[slot as usize] = true;
        }
        search.watched.clear();
        search.watched.resize(worms, NONE);
        search.watches.clear();
        search.seen.clear();
        search.seen.resize(worms, false);
        for &slot in &suspects {
            self.follow(slot, search);
            while let Some(next) = search.chain.pop() {
                self.look_at(next, search);
                while let Some(struck) = search.struck.pop() {
                    let mut watch = search.watched[struck as usize];
                    while watch != NONE {
                        let (dependent, before) = search.watches[watch as usize];
                        self.look_at(dependent, search);
                        watch = before;
                    }
                }
            }
        }
        suspects.retain(|&slot| search.dead[slot as usize]);
        search.suspects = suspects;
    }

    /// The dead worms that a search has found, if it has, with a cycle of them.
    pub(crate) fn deadlock(&self, search: &mut Search) -> Option<Deadlock> {
        let (first, count) = (search.suspects.first().copied(), search.suspects.len());
        // Worms that wait for a first channel hold nothing and block no other, but lead to those that do.
        let first = first?;
        let mut path = vec![first];
        let start = loop {
            let request = self.channels.arbiter.request(search.first[path[path.len() - 1] as usize])?;
            self.find_blockers(request, search);
            let next = *search.blockers.first()?;
            match path.iter().position(|&slot| slot == next) {
                Some(start) => break start,
                None => path.push(next),
            }
        };
        let cycle = path[start..].iter().map(|&slot| self.describe(slot, search)).collect();
        Some(Deadlock { at: self.now, dead: count, cycle })
    }

    /// Adds a suspect to `chain`, behind it the one that holds what it asks for first, and so on. Most can be struck out as soon as those are that they wait
    /// for: so these come first, and nearly all worms are looked at once.
    fn follow(&self, slot: u32, search: &mut Search) {
        let arbiter = &self.channels.arbiter;
        let mut next = slot;
        while search.is_dead(next) && !std::mem::replace(&mut search.seen[next as usize], true) {
            search.chain.push(next);
            let Some(request) = arbiter.request(search.first[next as usize]) else { return };
            let of_pool = || request.pools().first().and_then(|&pool| arbiter.members(pool).next());
            next = request.links().first().copied().or_else(of_pool).map_or(NONE, |channel| arbiter.holder(channel, 0));
        }
    }

    /// Strikes a suspect out if it need not wait forever; otherwise it is looked at again when that may have changed.
    fn look_at(&self, slot: u32, search: &mut Search) {
        if !search.dead[slot as usize] {
            return;
        }
        let mut index = search.first[slot as usize];
        while let Some(request) = self.channels.arbiter.request(index) {
            self.find_blockers(request, search);
            if search.blockers.is_empty() {
                search.dead[slot as usize] = false;
                search.struck.push(slot);
                return;
            }
            for &blocker in &search.blockers {
                let watch = search.watches.len() as u32;
                search.watches.push((slot, std::mem::replace(&mut search.watched[blocker as usize], watch)));
            }
            index = search.next[index as usize];
        }
    }

    /// Dead worms that keep a request from being granted for as long as all of them are dead; none if it may be granted yet.
    fn find_blockers(&self, request: &Request, search: &mut Search) {
        let arbiter = &self.channels.arbiter;
        let mut blockers = std::mem::take(&mut search.blockers);
        blockers.clear();
        for &pool in request.pools() {
            blockers.extend(arbiter.members(pool).map(|channel| arbiter.holder(channel, 0)));
            if blockers.iter().all(|&holder| search.is_dead(holder)) {
                break;
            }
            blockers.clear();
        }
        if blockers.is_empty() {
            for (position, &link) in request.links().iter().enumerate() {
                let before = blockers.len();
                blockers.extend(arbiter.link_holders(link, request.range(position)));
                if !blockers[before..].iter().all(|&holder| search.is_dead(holder)) {
                    blockers.truncate(before);
                    let dead = |worm: &u32| *worm != request.worm && search.is_dead(*worm);
                    let ahead = |vc| {
                        let before = arbiter.ahead(request, position, vc).filter_map(|index| arbiter.request(index));
                        before.map(|other| other.worm).find(dead)
                    };
                    if arbiter.is_divided() {
                        // Each virtual channel by its holder, or by who waits for it.
                        for vc in request.range(position).of(self.config.virtual_channels) {
                            let holder = Some(arbiter.holder(link, vc)).filter(|&holder| search.is_dead(holder));
                            let Some(blocker) = holder.or_else(|| ahead(vc)) else {
                                blockers.truncate(before);
                                break;
                            };
                            blockers.push(blocker);
                        }
                    } else {
                        blockers.extend(ahead(0));
                    }
                }
                let blocked = blockers.len() > before;
                if blocked && request.all_links {
                    // One link that never comes is enough.
                    break;
                }
                if !blocked && !request.all_links {
                    blockers.clear();
                    break;
                }
            }
        }
        search.blockers = blockers;
    }

    fn describe(&self, slot: u32, search: &Search) -> DeadWorm {
        let worm = &self.worms[slot as usize];
        let requests = search.requests(slot).filter_map(|index| self.channels.arbiter.request(index));
        let mut requests: Vec<&Request> = requests.collect();
        requests.sort_by_key(|request| request.key);
        let mut waits_for = Vec::new();
        let mut seen = HashSet::new();
        for request in &requests {
            let pools = request.pools().iter().map(|&pool| self.pool_label(pool));
            let links = request.links().iter().map(|&link| self.label(link));
            for name in pools.chain(links) {
                if seen.insert(name.clone()) {
                    waits_for.push(name);
                }
            }
        }
        let router = self.router_at(slot, requests.first().map_or(0, |request| request.vertex));
        DeadWorm {
            worm: worm.id,
            message: worm.message,
            header_at: router.raw(),
            router: self.network.router_label(router),
            holds: held(worm).into_iter().map(|(channel, _)| self.label(channel)).collect(),
            waits_for,
        }
    }

    fn label(&self, channel: ChannelId) -> String {
        self.channels.space.label(self.network, channel)
    }

    /// A pool as users write it; the one channel of it that a worm is bound to.
    fn pool_label(&self, pool: Pool) -> String {
        match pool {
            Pool::Injection(node) => format!("injection {}", self.network.node_label(node)),
            Pool::Consumption(node, None) => format!("consumption {}", self.network.node_label(node)),
            Pool::Consumption(..) => self.channels.arbiter.members(pool).map(|channel| self.label(channel)).collect(),
        }
    }
}
