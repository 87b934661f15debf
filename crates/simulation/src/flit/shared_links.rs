//! The movement phase where virtual channels share links (model.md, rule 18); path worms only.
//!
//! A link moves one flit a cycle, for the ready worm that comes first in the round robin after the last user. A worm is ready
//! on a link if it has a flit there, waiting since the start of the cycle, and the buffer ahead has room, counting what leaves
//! it in this cycle. The second condition depends on who is served further on, which may depend on this link in turn. So the
//! cycle is settled in rounds: first every link serves one of the worms that are ready by themselves; what that frees makes
//! others ready on links that have not served yet; and so on until nothing changes. Within a round all links decide at the
//! same time, so the outcome does not depend on the order in which they are looked at. Moves that share no link, those from and
//! to processors, take part in the rounds: what they free counts from the next round on. Stripped flits have left before the
//! first round.

use std::collections::HashMap;

use wormcast_network::ChannelId;

use super::paths::{Step, report_crossing};
use super::{FlitEngine, Flits};
use crate::core::worm::Route;
use crate::observer::Observer;
use crate::selection::Selector;
use crate::switching::Header;

/// Which virtual channel each link served last, and this cycle's bookkeeping.
#[derive(Default)]
pub(super) struct SharedLinks {
    last_user: HashMap<ChannelId, u32>,
    /// Links that have served in this cycle.
    served: HashMap<ChannelId, u32>,
    /// Best offer a link in this round: (distance in the round robin, virtual channel, worm, vertex that the flit leaves).
    offers: HashMap<ChannelId, (u32, u32, u32, usize)>,
    /// Moves of this round that share no link: (worm, vertex).
    free: Vec<(u32, usize)>,
    /// For each active worm, how many flits have left each vertex at the start of the cycle.
    before: Vec<Vec<u32>>,
}

impl SharedLinks {
    /// Nothing else moves in this cycle: those that were served have had their turn.
    fn end_rounds(&mut self, selector: &mut Selector) {
        if selector.counts_flits() {
            self.served.keys().for_each(|&link| selector.crossed(link, 1));
        }
        self.last_user.extend(self.served.iter().map(|(&link, &virtual_channel)| (link, virtual_channel)));
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    pub(super) fn move_on_shared_links(&mut self) {
        let mut shared = std::mem::take(&mut self.shared_links);
        let mut active = std::mem::take(&mut self.active);
        let virtual_channels = self.core.config.virtual_channels;
        shared.served.clear();
        shared.before.resize_with(active.len().max(shared.before.len()), Vec::new);
        for (before, &slot) in shared.before.iter_mut().zip(&active) {
            before.clear();
            let Route::Path(route) = &self.core.worms[slot as usize].route else { continue };
            if let Flits::Path(flits) = &mut self.flits[slot as usize] {
                before.extend_from_slice(&flits.left);
                if !route.complete && flits.strip_at == self.core.now {
                    flits.strip();
                }
            }
        }
        loop {
            shared.offers.clear();
            shared.free.clear();
            for (before, &slot) in shared.before.iter().zip(&active) {
                let worm = &self.core.worms[slot as usize];
                let (Flits::Path(flits), Route::Path(route)) = (&self.flits[slot as usize], &worm.route) else {
                    continue;
                };
                let last = route.last() as usize;
                for vertex in route.tail as usize..=last {
                    if flits.left[vertex] > before[vertex] || (vertex == last && !route.complete) {
                        continue;
                    }
                    let supply = if vertex == 0 { worm.flits } else { before[vertex - 1] };
                    let room = vertex == last || flits.left[vertex] - flits.left[vertex + 1] < self.core.config.buffer;
                    if supply <= flits.left[vertex] || !room {
                        continue;
                    }
                    if vertex == 0 || vertex == last {
                        shared.free.push((slot, vertex));
                        continue;
                    }
                    let (link, virtual_channel) = {
                        let hop = route.hop(vertex as u32 + 1);
                        (hop.entered_by, hop.virtual_channel)
                    };
                    if shared.served.contains_key(&link) {
                        continue;
                    }
                    let turn = shared.last_user.get(&link).map_or(0, |last| last + 1);
                    let distance = (virtual_channel + virtual_channels - turn) % virtual_channels;
                    let offer = (distance, virtual_channel, slot, vertex);
                    shared.offers.entry(link).and_modify(|best| *best = offer.min(*best)).or_insert(offer);
                }
            }
            if shared.offers.is_empty() && shared.free.is_empty() {
                break;
            }
            for (&link, &(_, virtual_channel, ..)) in &shared.offers {
                shared.served.insert(link, virtual_channel);
            }
            let winners = shared.offers.values().map(|&(_, _, slot, vertex)| (slot, vertex));
            for (slot, vertex) in winners.chain(shared.free.iter().copied()) {
                if let Flits::Path(flits) = &mut self.flits[slot as usize] {
                    flits.left[vertex] += 1;
                }
            }
        }
        shared.end_rounds(&mut self.core.channels.arbiter.selector);

        let mut position = 0;
        active.retain(|&slot| {
            let before = &shared.before[position];
            position += 1;
            let (now, config) = (self.core.now, self.core.config);
            let worm = &self.core.worms[slot as usize];
            let addresses = if config.header == Header::AllDestinations { worm.header } else { 0 };
            let (Flits::Path(flits), Route::Path(route)) = (&self.flits[slot as usize], &worm.route) else {
                return false;
            };
            if O::FLITS {
                let last = route.last() as usize;
                for vertex in (route.tail as usize..=last).filter(|&v| flits.left[v] > before[v]) {
                    if vertex < last || route.complete {
                        let observer = &mut self.core.reports.observer;
                        report_crossing(observer, now, worm.id, route, vertex, flits.left[vertex], addresses);
                    }
                }
            }
            let step = Step {
                moved: flits.left != *before,
                header_arrived: flits.header_arrived(),
                tail_left: flits.left[route.tail as usize] == worm.flits,
            };
            if cfg!(debug_assertions) {
                flits.check(worm.flits, config.buffer);
            }
            let goes_on = self.settle_path(slot, step);
            // A worm that lost every link may win one in the next cycle: it goes on until it is done or stuck.
            let waits_for_turn = !goes_on && self.core.worms[slot as usize].live && self.has_ready_flit(slot);
            self.is_active[slot as usize] = goes_on || waits_for_turn;
            goes_on || waits_for_turn
        });
        self.active = active;
        self.shared_links = shared;
    }

    /// Whether a flit of a path worm could cross if its link served it.
    fn has_ready_flit(&self, slot: u32) -> bool {
        let worm = &self.core.worms[slot as usize];
        let (Flits::Path(flits), Route::Path(route)) = (&self.flits[slot as usize], &worm.route) else { return false };
        (route.tail as usize..route.last() as usize).any(|vertex| {
            let supply = if vertex == 0 { worm.flits } else { flits.left[vertex - 1] };
            supply > flits.left[vertex] && flits.left[vertex] - flits.left[vertex + 1] < self.core.config.buffer
        })
    }
}
