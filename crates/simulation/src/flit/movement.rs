//! The movement phase where links have one virtual channel.

use wormcast_network::ChannelId;

use super::FlitEngine;
use super::arbiter::NONE;
use super::worm::{Body, PathBody};
use crate::config::Header;
use crate::observer::{Cycle, Observer};

/// What a path worm did in a cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct Step {
    pub(super) moved: bool,
    /// Its header has entered the last vertex, or is the header there since the address flit is stripped.
    pub(super) header_arrived: bool,
    /// Its last flit has left this vertex.
    pub(super) tail_left: Option<usize>,
}

impl PathBody {
    /// Moves every flit that can move, from the header backwards: a flit crosses if it was there at the start of the cycle and
    /// the buffer ahead has room, counting the flit that leaves it in this same cycle. Calls `cross` with each vertex that a
    /// flit leaves and the flit's number.
    fn step(&mut self, flits: u32, buffer: u32, now: Cycle, mut cross: impl FnMut(&Self, usize, u32)) -> Step {
        let last = self.left.len() - 1;
        let mut moved = false;
        if self.draining {
            if self.left[last - 1] > self.left[last] {
                self.left[last] += 1;
                moved = true;
                cross(self, last, self.left[last]);
            }
        } else if self.strip_at == now {
            self.strip();
            moved = true;
        }
        let mut ahead = self.left[last];
        let mut here = self.left[last - 1];
        for vertex in (self.first..last).rev() {
            let supply = if vertex == 0 { flits } else { self.left[vertex - 1] };
            if supply > here && here - ahead < buffer {
                here += 1;
                self.left[vertex] = here;
                moved = true;
                cross(self, vertex, here);
            }
            (ahead, here) = (here, supply);
        }
        Step { moved, header_arrived: self.header_arrived(), tail_left: self.tail_left(flits) }
    }

    /// Strips the address flit at the last vertex: the next flit is the header there as soon as it is there.
    pub(super) fn strip(&mut self) {
        *self.left.last_mut().expect("a worm that moves has vertices") += 1;
        self.arrived = false;
    }

    /// Whether there is a header at the last vertex that was not there before.
    pub(super) fn header_arrived(&self) -> bool {
        let last = self.left.len() - 1;
        !self.arrived && self.left[last - 1] > self.left[last]
    }

    /// Takes the first vertex off the worm if its last flit has left it. At most one vertex a cycle: the next holds the flit.
    pub(super) fn tail_left(&mut self, flits: u32) -> Option<usize> {
        let vertex = self.first;
        (self.left[vertex] == flits).then(|| {
            self.first += 1;
            vertex
        })
    }

    /// No flit is lost, made up or out of its buffer.
    pub(super) fn check(&self, flits: u32, buffer: u32) {
        debug_assert!(self.left[0] <= flits);
        debug_assert!(
            self.left.windows(2).all(|pair| pair[1] <= pair[0] && pair[0] - pair[1] <= buffer),
            "between two vertices there are from none to {buffer} flits"
        );
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    /// Moves every worm that may move; those that cannot fall asleep.
    pub(super) fn move_worms(&mut self) {
        // Nothing that happens in this phase wakes a worm before the next cycle: the list does not grow meanwhile.
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&slot| {
            let goes_on = match self.worms[slot as usize].body {
                Body::Path(_) => self.move_path(slot),
                Body::Tree(_) => self.move_tree(slot),
            };
            if !goes_on {
                self.worms[slot as usize].active = false;
            }
            goes_on
        });
        self.active = active;
    }

    /// Returns whether the worm has moved and is not done.
    fn move_path(&mut self, slot: u32) -> bool {
        let (now, buffer) = (self.now, self.config.buffer);
        let worm = &mut self.worms[slot as usize];
        let (id, flits) = (worm.id, worm.flits);
        let data_from = if self.config.header == Header::AllDestinations { worm.header } else { 0 };
        let Body::Path(body) = &mut worm.body else { return false };
        let step = if O::FLITS {
            let observer = &mut self.observer;
            body.step(flits, buffer, now, |body, vertex, flit| {
                report_crossing(observer, now, id, body, vertex, flit, data_from);
            })
        } else {
            body.step(flits, buffer, now, |_, _, _| {})
        };
        if cfg!(debug_assertions) {
            body.check(flits, buffer);
        }
        self.settle_path(slot, step)
    }

    /// Does what follows from a path worm's step; returns whether it goes on.
    pub(super) fn settle_path(&mut self, slot: u32, step: Step) -> bool {
        let worm = &self.worms[slot as usize];
        let Body::Path(body) = &worm.body else { return false };
        if step.header_arrived {
            let last = body.left.len() as u32 - 1;
            self.header_arrived(slot, last);
        }
        match step.tail_left {
            Some(vertex) if vertex > 0 => self.leave(slot, vertex),
            _ => step.moved,
        }
    }

    /// The last flit has left a vertex: releases what the worm held for it. Returns whether anything is left of the worm.
    fn leave(&mut self, slot: u32, vertex: usize) -> bool {
        let stripping = self.config.header == Header::AllDestinations;
        let worm = &mut self.worms[slot as usize];
        let (flits, header) = (worm.flits, worm.header);
        let Body::Path(body) = &mut worm.body else { return false };
        let (channel, virtual_channel) = (body.entered_by[vertex], body.virtual_channel[vertex]);
        let consumption = body.consumption[vertex];
        let crossed = flits - body.stripped;
        body.stripped += u32::from(stripping && consumption != NONE);
        let done = body.first == body.left.len();
        self.release(slot, channel, virtual_channel, crossed);
        if consumption != NONE {
            let consumed = if stripping { flits - header } else { flits };
            self.release(slot, ChannelId::new(consumption), 0, consumed);
            let node = self.network.node_of(self.router_at(&self.worms[slot as usize], vertex as u32));
            self.deliver(slot, vertex, node);
        }
        if done {
            self.finish(slot);
        }
        !done
    }
}

/// Tells the observer which channels a flit crosses as it leaves a vertex: the one to the next vertex, and the consumption
/// channel if it is one that the node takes (`data_from` flits are addresses, which it does not).
pub(super) fn report_crossing<O: Observer>(
    observer: &mut O,
    now: Cycle,
    worm: u64,
    body: &PathBody,
    vertex: usize,
    flit: u32,
    data_from: u32,
) {
    if let Some(&channel) = body.entered_by.get(vertex + 1) {
        observer.flit(now, worm, channel, flit);
    }
    if body.consumption[vertex] != NONE && flit > data_from {
        observer.flit(now, worm, ChannelId::new(body.consumption[vertex]), flit);
    }
}
