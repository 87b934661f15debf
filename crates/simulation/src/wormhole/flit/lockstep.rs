//! Trees in lockstep whose links are shared by virtual channels (model.md, rule 18).
//!
//! A flit that several branches take needs the links of all of them in one cycle. If it had to wait until it is its virtual channel's turn on each, two trees that share two links could wait for each other
//! forever, each with the turn on one of them. So in each round such flits go before all others, those of older worms first: the oldest that can move gets all that it needs.

use wormcast_network::ChannelId;

use super::FlitMovement;
use super::trees::TreeEvent;
use crate::core::worm::{Route, WormState};
use crate::observers::observer::Cycle;

/// A flit of a tree crosses a channel.
pub(super) struct Crossing {
    /// The slot of the worm.
    pub(super) slot: u32,
    pub(super) channel: ChannelId,
    pub(super) flit: u32,
}

/// The trees in lockstep that have been granted channels.
#[derive(Default)]
pub(super) struct Lockstep {
    buffer: u32,
    /// Their ids and slots, the oldest first.
    trees: Vec<(u64, u32)>,
    /// Flits that can leave in this round: the slot of the worm, and the vertex.
    ready: Vec<(u32, usize)>,
    /// The links that one of them needs, with their virtual channels.
    links: Vec<(u32, u32)>,
    /// What has crossed in this cycle.
    pub(super) crossed: Vec<Crossing>,
    /// The last cycle in which there was a round.
    last: Option<Cycle>,
    /// Whether a flit could have left in the last round, but for a link that served another worm.
    pub(super) waits: bool,
}

impl Lockstep {
    pub(super) fn new(buffer: u32) -> Self {
        Self { buffer, ..Self::default() }
    }

    /// A tree is granted channels.
    pub(super) fn add(&mut self, id: u64, slot: u32) {
        if let Err(place) = self.trees.binary_search(&(id, slot)) {
            self.trees.insert(place, (id, slot));
        }
    }

    /// Leaves out the trees that are done.
    pub(super) fn forget(&mut self, worms: &[WormState<FlitMovement>]) {
        self.trees.retain(|&(id, slot)| worms[slot as usize].live && worms[slot as usize].id == id);
    }

    /// Moves the flits that can move as things are when the round begins, if `take` says that the links which they need, each with its virtual channel, are theirs. Returns how many
    /// leave their vertices.
    pub(super) fn round(
        &mut self,
        worms: &mut [WormState<FlitMovement>],
        now: Cycle,
        events: &mut Vec<(u32, TreeEvent)>,
        mut take: impl FnMut(&[(u32, u32)]) -> bool,
    ) -> usize {
        if self.last != Some(now) {
            (self.last, self.waits) = (Some(now), false);
            self.crossed.clear();
        }
        if self.trees.is_empty() {
            return 0;
        }
        self.ready.clear();
        for &(_, slot) in &self.trees {
            let Route::Tree(route, flits) = &worms[slot as usize].route else { continue };
            let leaving = (0..flits.known()).filter(|&v| flits.may_leave(route, v, self.buffer, now));
            self.ready.extend(leaving.map(|v| (slot, v)));
        }
        self.waits = false;
        let (mut moved, mut happened) = (0, Vec::new());
        for &(slot, v) in &self.ready {
            let Route::Tree(route, flits) = &mut worms[slot as usize].route else { continue };
            self.links.clear();
            self.links.extend(route.children(v).map(|child| {
                let to = &route.vertices[child];
                (to.entered_by.raw(), to.virtual_channel)
            }));
            if !take(&self.links) {
                self.waits = true;
                continue;
            }
            let crossed = &mut self.crossed;
            flits.leave(route, v, now, &mut happened, |channel, flit| crossed.push(Crossing { slot, channel, flit }));
            events.extend(happened.drain(..).map(|event| (slot, event)));
            moved += 1;
        }
        moved
    }
}
