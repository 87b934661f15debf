//! The movement phase where virtual channels share links (model.md, rule 18), for path worms and trees with independent branches.
//!
//! A link moves one flit a cycle, for the ready worm that comes first in the round robin after the last user. A worm is ready
//! on a link if it has a flit there, waiting since the start of the cycle, and the buffer ahead has room, counting what leaves
//! it in this cycle. The second condition depends on who is served further on, which may depend on this link in turn. So the
//! cycle is settled in rounds: first every link serves one of the worms that are ready by themselves; what that frees makes
//! others ready on links that have not served yet; and so on until nothing changes. Within a round all links decide at the
//! same time, so the outcome does not depend on the order in which they are looked at. Moves that share no link, those from and
//! to processors, take part in the rounds: what they free counts from the next round on. Stripped flits have left before the
//! first round.

use wormcast_network::ChannelId;

use super::FlitEngine;
use super::paths::{Step, report_crossing};
use super::trees::Copying;
use crate::core::worm::Route;
use crate::observers::observer::Observer;
use crate::selection::Selector;

/// A flit that could cross a link: (distance in the round robin, virtual channel, worm, vertex that the flit leaves; of a tree, the one that it goes to).
type Offer = (u32, u32, u32, u32);

/// Marks a delivery of a tree among vertices.
const DELIVERY: usize = 1 << 31;

/// A link and its turns.
#[derive(Clone, Default)]
struct Link {
    /// The virtual channel that comes first.
    turn: u32,
    /// Whether it has served in this cycle.
    served: bool,
    /// The best offer of this round.
    offer: Option<Offer>,
}

/// Whose turn it is on each link, and this cycle's bookkeeping.
#[derive(Default)]
pub(super) struct SharedLinks {
    links: Vec<Link>,
    /// Links that have served in this cycle: those, and the virtual channels served.
    served: Vec<(ChannelId, u32)>,
    /// Links with an offer in this round.
    offered: Vec<ChannelId>,
    /// Moves of this round that share no link: (worm, vertex).
    free: Vec<(u32, usize)>,
    /// For each active worm, how many flits have left each vertex at the start of the cycle.
    before: Vec<Vec<u32>>,
}

impl SharedLinks {
    pub(super) fn new(links: usize) -> Self {
        Self { links: vec![Link::default(); links], ..Self::default() }
    }

    /// Takes the offer of a flit to cross a link in this round, unless the link has served or has a better one.
    fn offer(&mut self, link: ChannelId, virtual_channel: u32, virtual_channels: u32, (slot, vertex): (u32, usize)) {
        let at = &mut self.links[link.index()];
        if at.served {
            return;
        }
        let distance = (virtual_channel + virtual_channels - at.turn) % virtual_channels;
        let offer = (distance, virtual_channel, slot, vertex as u32);
        match &mut at.offer {
            Some(best) => *best = offer.min(*best),
            none => {
                *none = Some(offer);
                self.offered.push(link);
            }
        }
    }

    /// Every link serves its best offer; calls `moves` with each worm and the vertex that its flit leaves. Returns whether any flit moved.
    fn serve(&mut self, mut moves: impl FnMut(u32, usize)) -> bool {
        let any = !self.offered.is_empty() || !self.free.is_empty();
        for link in self.offered.drain(..) {
            let at = &mut self.links[link.index()];
            if let Some((_, virtual_channel, slot, vertex)) = at.offer.take() {
                at.served = true;
                self.served.push((link, virtual_channel));
                moves(slot, vertex as usize);
            }
        }
        self.free.drain(..).for_each(|(slot, vertex)| moves(slot, vertex));
        any
    }

    /// Nothing else moves in this cycle: those that were served have had their turn.
    fn end_rounds(&mut self, selector: &mut Selector) {
        let counts = selector.counts_flits();
        for (link, virtual_channel) in self.served.drain(..) {
            if counts {
                selector.crossed(link, 1);
            }
            let at = &mut self.links[link.index()];
            (at.turn, at.served) = (virtual_channel + 1, false);
        }
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    pub(super) fn move_on_shared_links(&mut self) {
        let mut shared = std::mem::take(&mut self.movement.shared_links);
        let mut active = std::mem::take(&mut self.movement.active);
        self.begin_rounds(&mut shared, &active);
        loop {
            self.offer_flits(&mut shared, &active);
            let moved = shared.serve(|slot, vertex| match &mut self.core.worms[slot as usize].route {
                Route::Path(_, flits) => flits.left[vertex] += 1,
                Route::Tree(route, flits) if vertex & DELIVERY != 0 => {
                    flits.copy(route, Copying::Consumed((vertex & !DELIVERY) as u32));
                }
                Route::Tree(route, flits) => flits.copy(route, Copying::To(vertex as u32)),
            });
            if !moved {
                break;
            }
        }
        shared.end_rounds(&mut self.core.channels.arbiter.selector);
        let mut position = 0;
        active.retain(|&slot| {
            let before = &shared.before[position];
            position += 1;
            let goes_on = match self.core.worms[slot as usize].route {
                Route::Path(..) => self.settle_on_shared_links(slot, before),
                Route::Tree(..) => self.settle_copies(slot, before),
            };
            self.movement.is_active[slot as usize] = goes_on;
            goes_on
        });
        self.movement.active = active;
        self.movement.shared_links = shared;
    }

    /// Notes where flits are at the start of the cycle; address flits are stripped.
    fn begin_rounds(&mut self, shared: &mut SharedLinks, active: &[u32]) {
        shared.before.resize_with(active.len().max(shared.before.len()), Vec::new);
        for (before, &slot) in shared.before.iter_mut().zip(active) {
            before.clear();
            match &mut self.core.worms[slot as usize].route {
                Route::Path(route, flits) => {
                    before.extend_from_slice(&flits.left);
                    if !route.complete && flits.strip_at == self.core.now {
                        flits.strip();
                    }
                }
                Route::Tree(route, flits) => flits.positions(route, before),
            }
        }
    }

    /// Offers to the links what is ready in this round.
    fn offer_flits(&self, shared: &mut SharedLinks, active: &[u32]) {
        let (buffer, virtual_channels) = (self.core.config.buffer, self.core.config.virtual_channels);
        for (position, &slot) in active.iter().enumerate() {
            let worm = &self.core.worms[slot as usize];
            let (route, flits) = match &worm.route {
                Route::Path(route, flits) => (route, flits),
                Route::Tree(route, flits) => {
                    let before = std::mem::take(&mut shared.before[position]);
                    flits.each_copy(route, Some(&before), buffer, |copying| match copying {
                        // Into the source's router.
                        Copying::To(1) => shared.free.push((slot, 1)),
                        Copying::To(vertex) => {
                            let at = &route.vertices[vertex as usize];
                            let move_to = (slot, vertex as usize);
                            shared.offer(at.entered_by, at.virtual_channel, virtual_channels, move_to);
                        }
                        Copying::Consumed(delivery) => shared.free.push((slot, delivery as usize | DELIVERY)),
                    });
                    shared.before[position] = before;
                    continue;
                }
            };
            let last = route.last() as usize;
            for vertex in route.tail as usize..=last {
                let before = &shared.before[position];
                if flits.left[vertex] > before[vertex] || (vertex == last && !route.complete) {
                    continue;
                }
                let supply = if vertex == 0 { worm.flits } else { before[vertex - 1] };
                let room = vertex == last || flits.left[vertex] - flits.left[vertex + 1] < buffer;
                if supply <= flits.left[vertex] || !room {
                    continue;
                }
                if vertex == 0 || vertex == last {
                    shared.free.push((slot, vertex));
                } else {
                    let hop = route.hop(vertex as u32 + 1);
                    shared.offer(hop.entered_by, hop.virtual_channel, virtual_channels, (slot, vertex));
                }
            }
        }
    }

    /// Does what follows from a worm's moves, with the flits that had left each vertex `before` them; returns whether it may move in the next
    /// cycle.
    fn settle_on_shared_links(&mut self, slot: u32, before: &[u32]) -> bool {
        let (now, config) = (self.core.now, self.core.config);
        let worm = &self.core.worms[slot as usize];
        let addresses = config.header.stripped_of_path(worm.header).unwrap_or(0);
        let Route::Path(route, flits) = &worm.route else { return false };
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
        // A worm that lost every link may win one in the next cycle: it goes on until it is done or stuck.
        self.settle_path(slot, step) || (self.core.worms[slot as usize].live && self.has_ready_flit(slot))
    }

    /// Whether a flit of a path worm could cross if its link served it.
    fn has_ready_flit(&self, slot: u32) -> bool {
        let worm = &self.core.worms[slot as usize];
        let Route::Path(route, flits) = &worm.route else { return false };
        (route.tail as usize..route.last() as usize).any(|vertex| {
            let supply = if vertex == 0 { worm.flits } else { flits.left[vertex - 1] };
            supply > flits.left[vertex] && flits.left[vertex] - flits.left[vertex + 1] < self.core.config.buffer
        })
    }
}
