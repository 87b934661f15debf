//! A part of a network that is simulated beside the others: what belongs to it, and what it tells them between two cycles.
//!
//! A router's part has the channels that leave it, with their queues, and those of its node; and the worms whose header is there. What happens in a cycle
//! matters elsewhere from the next one on: a header that crosses into another part asks for a channel there then at the earliest, and a channel that is given
//! back can be granted from then on.

use std::ops::Range;

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, RouterId};

use super::Core;
use super::event::{Event, Kind};
use super::worm::{Flits, WormState};
use crate::observers::observer::{Cycle, Observer};

/// What of a network is simulated here: routers, the links that leave them and their nodes are numbered alike.
pub(crate) struct Part {
    routers: Range<u32>,
    links: Range<u32>,
    /// Channels of other parts that worms give back, and from which cycle on they can be granted again.
    pub(crate) releases: Vec<(ChannelId, Cycle)>,
    /// Worms whose header has crossed into another part.
    pub(crate) leaving: Vec<Leaving>,
}

/// A worm whose header has crossed into another part of the network: when it requests there, its slot where it comes from, and its vertex there.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) routed: Cycle,
    pub(crate) slot: u32,
    pub(crate) vertex: u32,
    pub(crate) stripped: bool,
}

/// What a part tells another between two cycles.
pub(crate) struct Mail<F: Flits> {
    releases: Vec<(ChannelId, Cycle)>,
    worms: Vec<(WormState<F>, Leaving)>,
}

impl Default for Part {
    /// All of it.
    fn default() -> Self {
        Self::new(0..u32::MAX, 0..u32::MAX)
    }
}

impl Part {
    /// These routers, one node each, and these links.
    pub(crate) fn new(routers: Range<u32>, links: Range<u32>) -> Self {
        Self { routers, links, releases: Vec::new(), leaving: Vec::new() }
    }

    #[inline]
    pub(crate) fn has(&self, router: RouterId) -> bool {
        self.routers.contains(&router.raw())
    }

    #[inline]
    pub(super) fn has_link(&self, link: ChannelId) -> bool {
        self.links.contains(&link.raw())
    }

    pub(super) fn owns(&self, space: ChannelSpace, channel: ChannelId) -> bool {
        if channel.index() < space.links() {
            return self.has_link(channel);
        }
        match space.kind(channel) {
            ChannelKind::Injection(node, _) | ChannelKind::Consumption(node, _) => self.routers.contains(&node.raw()),
            ChannelKind::Link => false,
        }
    }
}

impl<F: Flits> Default for Mail<F> {
    fn default() -> Self {
        Self { releases: Vec::new(), worms: Vec::new() }
    }
}

impl<F: Flits> Mail<F> {
    pub(crate) fn is_empty(&self) -> bool {
        self.releases.is_empty() && self.worms.is_empty()
    }

    /// Adds what another one says.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.releases.append(&mut other.releases);
        self.worms.append(&mut other.worms);
    }
}

impl<O: Observer, F: Flits> Core<'_, O, F> {
    /// Sends what the cycle has left for other parts; `part_of` tells that of a router.
    pub(crate) fn send(&mut self, part_of: impl Fn(RouterId) -> usize, out: &mut [Mail<F>]) {
        let part = &mut self.channels.part;
        for (channel, at) in part.releases.drain(..) {
            let router = match self.channels.space.kind(channel) {
                ChannelKind::Link => self.network.from(channel),
                ChannelKind::Injection(node, _) | ChannelKind::Consumption(node, _) => self.network.entry_of(node),
            };
            out[part_of(router)].releases.push((channel, at));
        }
        for leaving in part.leaving.drain(..) {
            let worm = std::mem::take(&mut self.worms[leaving.slot as usize]);
            self.free_worms.push(leaving.slot);
            if let super::Route::Path(route, _) = &worm.route {
                out[part_of(route.at)].worms.push((worm, leaving));
            }
        }
    }

    /// Takes in what other parts have sent, before a cycle.
    pub(crate) fn receive(&mut self, mail: &mut Mail<F>) {
        for (channel, at) in mail.releases.drain(..) {
            let slot = self.channels.arbiter.holder(channel, 0);
            self.channels.free(slot, channel, 0, at);
        }
        for (worm, Leaving { routed, vertex, stripped, .. }) in mail.worms.drain(..) {
            let id = worm.id;
            let pending: Vec<(u32, Cycle)> = match &worm.route {
                super::Route::Path(route, _) => route.deliveries_from(self.now).collect(),
                super::Route::Tree(..) => Vec::new(),
            };
            let slot = if let Some(slot) = self.free_worms.pop() {
                self.worms[slot as usize] = worm;
                slot
            } else {
                self.worms.push(worm);
                self.worms.len() as u32 - 1
            };
            self.channels.headers.push(routed, id, slot, vertex, stripped);
            for (vertex, at) in pending {
                self.channels.calendar.push(at, Event::of_worm(Kind::Delivers, id, slot, vertex));
            }
        }
    }

    /// Drops the deliveries of the cycle that are made elsewhere, as their worms have left.
    pub(crate) fn forget_deliveries(&mut self) {
        let Self { worms, channels, .. } = self;
        channels.delivering.retain(|event| {
            let worm = &worms[event.slot as usize];
            worm.live && event.is_of(worm.id)
        });
        // One that has come back may be in the same slot.
        channels.delivering.sort_unstable();
        channels.delivering.dedup();
    }
}
