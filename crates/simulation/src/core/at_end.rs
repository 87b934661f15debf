//! What the worms of wormhole engines hold and wait for when a run ends.

use std::collections::HashMap;

use wormcast_network::{ChannelId, NodeId};

use super::arbiter::{NONE, Pool, Request};
use super::worm::{Flits, Guide, Route, WormState};
use super::{Core, Search};
use crate::config::StartupMode;
use crate::observers::observer::{Cycle, Observer};
use crate::run::run_end::{Awaited, Wait, WaitResource, WormAtEnd};

/// Which worm holds what, by slots.
struct Owners {
    /// By channel and virtual channel.
    channels: HashMap<(ChannelId, u32), u32>,
    /// The worm in its startup at each node where there is one.
    processors: HashMap<NodeId, u32>,
    /// The worm that triggers each of those that are to be triggered.
    triggers: HashMap<u32, u32>,
}

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// All worms, by id, after a search for dead ones and after all earlier releases have been reported.
    pub(crate) fn worms_at_end(&self, search: &Search) -> Vec<WormAtEnd> {
        let owners = self.owners();
        let waiting = self.startup_queues(&owners);
        let live = (0..self.worms.len() as u32).filter(|&slot| self.worms[slot as usize].live);
        let state = |slot: u32| {
            let worm = &self.worms[slot as usize];
            let mut waits = Vec::new();
            if let Some(trigger) = owners.triggers.get(&slot) {
                let worms = vec![self.worms[*trigger as usize].id];
                let options = vec![Awaited { resource: WaitResource::Delivery(worm.from), worms }];
                waits.push(Wait { since: Some(worm.ready), at: None, options });
            }
            waits.extend(waiting.get(&slot).cloned());
            let mut requests: Vec<&Request> =
                search.requests(slot).filter_map(|index| self.channels.arbiter.request(index)).collect();
            requests.sort_by_key(|request| request.key);
            for request in requests {
                self.wait_for(request, &owners, &mut waits);
            }
            WormAtEnd {
                worm: worm.id,
                message: worm.message,
                source: worm.from,
                destinations: self.destinations(worm),
                holds: held(worm).into_iter().map(|(channel, vc)| WaitResource::Channel(channel, vc)).collect(),
                waits,
                deadlocked: search.is_dead(slot),
            }
        };
        let mut worms: Vec<WormAtEnd> = live.map(state).collect();
        worms.sort_unstable_by_key(|worm| worm.worm);
        worms
    }

    fn owners(&self) -> Owners {
        let (mut channels, mut processors, mut triggers) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (slot, worm) in (0u32..).zip(&self.worms).filter(|(_, worm)| worm.live) {
            channels.extend(held(worm).into_iter().map(|at| (at, slot)));
            if worm.started != Cycle::MAX && worm.prepared > self.now {
                processors.insert(worm.from, slot);
            }
            let mut child = worm.first_child;
            while child != NONE {
                triggers.insert(child, slot);
                child = self.worms[child as usize].sibling;
            }
        }
        Owners { channels, processors, triggers }
    }

    /// What the worms that wait for their startups wait for.
    fn startup_queues(&self, owners: &Owners) -> HashMap<u32, Wait> {
        let mut waits = HashMap::new();
        for (node, state) in self.network.node_ids().zip(&self.nodes) {
            let (mut slot, mut before) = (state.first, None);
            while slot != NONE {
                let worm = &self.worms[slot as usize];
                let (resource, holders) = match self.config.startup_mode {
                    StartupMode::Serial => {
                        (WaitResource::Processor(node), owners.processors.get(&node).copied().into_iter().collect())
                    }
                    StartupMode::PerPort => {
                        (WaitResource::Injection(node), self.holders(Pool::Injection(node), owners))
                    }
                };
                let worms = before.map_or(holders, |before| vec![before]);
                let worms = worms.into_iter().map(|slot| self.worms[slot as usize].id).collect();
                let options = vec![Awaited { resource, worms }];
                waits.insert(slot, Wait { since: Some(worm.ready), at: None, options });
                (before, slot) = (Some(slot), worm.queued_behind);
            }
        }
        waits
    }

    /// The worms that have channels of a pool, without repetition.
    fn holders(&self, pool: Pool, owners: &Owners) -> Vec<u32> {
        let mut holders: Vec<u32> = Vec::new();
        for channel in self.channels.arbiter.members(pool) {
            holders.extend(owners.channels.get(&(channel, 0)).filter(|slot| !holders.contains(slot)));
        }
        holders
    }

    /// What a request waits for: one wait for each of its parts.
    fn wait_for(&self, request: &Request, owners: &Owners, waits: &mut Vec<Wait>) {
        let arbiter = &self.channels.arbiter;
        let ids = |slots: Vec<u32>| slots.into_iter().map(|slot| self.worms[slot as usize].id).collect();
        let at = (request.vertex > 0).then(|| self.router_at(request.worm, request.vertex));
        let mut wait = |options| waits.push(Wait { since: Some(request.key.cycle), at, options });
        for &pool in request.pools() {
            let resource = match pool {
                Pool::Injection(node) => WaitResource::Injection(node),
                Pool::Consumption(node, None) => WaitResource::Consumption(node),
                Pool::Consumption(node, Some(_)) => match arbiter.members(pool).next() {
                    Some(channel) => WaitResource::Channel(channel, 0),
                    None => WaitResource::Consumption(node),
                },
            };
            wait(vec![Awaited { resource, worms: ids(self.holders(pool, owners)) }]);
        }
        let mut links = request.links().iter().enumerate().map(|(position, &link)| {
            let range = request.range(position).of(self.config.virtual_channels);
            let held = range.filter_map(|vc| owners.channels.get(&(link, vc)).copied());
            let mut worms: Vec<u32> = held.collect();
            // In a queue of its own for each virtual channel, though some ask for several.
            let range = request.range(position).of(self.config.virtual_channels);
            let mut ahead: Vec<u32> = Vec::new();
            for vc in if arbiter.is_divided() { range } else { 0..1 } {
                let before = arbiter.ahead(request, position, vc).filter_map(|index| arbiter.request(index));
                for other in before.map(|other| other.worm) {
                    if !ahead.contains(&other) {
                        ahead.push(other);
                    }
                }
            }
            ahead.reverse();
            worms.extend(ahead);
            Awaited { resource: WaitResource::Channel(link, 0), worms: ids(worms) }
        });
        if request.all_links {
            links.for_each(|link| wait(vec![link]));
        } else if let Some(first) = links.next() {
            wait(std::iter::once(first).chain(links).collect());
        }
    }

    fn destinations(&self, worm: &WormState<F>) -> Vec<NodeId> {
        match &worm.route {
            Route::Path(route, _) => route.stops().to_vec(),
            Route::Tree(route, _) => match &route.guide {
                Guide::Known => route.deliveries.iter().map(|delivery| delivery.node).collect(),
                Guide::Trunk(tree) => {
                    let below = tree.branches.iter().flat_map(|branch| &branch.delivers);
                    tree.delivers.iter().chain(below).copied().collect()
                }
                Guide::Header { flits, .. } => flits.iter().flat_map(|flit| flit.delivers(self.network)).collect(),
            },
        }
    }
}

/// The channels that a worm holds, with their virtual channels, from its tail on.
pub(super) fn held<F: Flits>(worm: &WormState<F>) -> Vec<(ChannelId, u32)> {
    let mut held = Vec::new();
    match &worm.route {
        Route::Path(route, _) => {
            for (vertex, at) in route.vertices() {
                if at.entered_by.raw() != NONE {
                    held.push((at.entered_by, route.virtual_channel(vertex)));
                }
                held.extend(route.consumption(vertex).map(|channel| (channel, 0)));
            }
        }
        Route::Tree(route, _) => {
            for vertex in route.vertices.iter().skip(1) {
                if vertex.reserved {
                    held.push((vertex.entered_by, vertex.virtual_channel));
                }
                let consumption = route.deliveries_of(vertex).iter().map(|delivery| delivery.channel);
                held.extend(consumption.filter(|channel| channel.raw() != NONE).map(|channel| (channel, 0)));
            }
        }
    }
    held
}
