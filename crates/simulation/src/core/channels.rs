//! Channels over time: their holders, the requests that wait for them, and what is scheduled for later cycles.

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace};

use super::arbiter::Arbiter;
use super::event::Event;
use super::headers::Headers;
use super::part::Part;
use crate::calendar::Calendar;
use crate::config::delay::Lags;
use crate::observers::observer::{Cycle, Observer};

/// The arbiter, and the calendar of wake-ups.
pub(crate) struct Channels {
    pub(crate) space: ChannelSpace,
    pub(crate) arbiter: Arbiter,
    pub(crate) calendar: Calendar<Event>,
    /// Deliveries of the cycle at hand (worm engine).
    pub(crate) delivering: Vec<Event>,
    /// Headers that spend their routing delay.
    pub(crate) headers: Headers,
    /// What the request at hand asks for, for observers.
    pub(crate) asked: Vec<ChannelId>,
    /// Whether nodes wait for free injection channels to start worms (per-port mode).
    pub(crate) ports_start_worms: bool,
    /// Whether a link needs nothing but to be given back: links have one virtual channel and take one cycle, and nobody strips flits of paths or counts them.
    pub(crate) plain_links: bool,
    /// Whether flits are counted one by one as they cross links.
    pub(crate) shared_links: bool,
    /// A release is known to the router before a link this much later (rule 23).
    pub(crate) lags: Lags,
    /// Which of the network is simulated here.
    pub(crate) part: Part,
}

impl Channels {
    /// As [`free`](Self::free) for a link: the releases of every hop.
    #[inline]
    pub(crate) fn free_link(&mut self, slot: u32, link: ChannelId, virtual_channel: u32, at: Cycle) {
        let at = at + Cycle::from(self.lags.of(link.raw()));
        if self.arbiter.free_link_from(link, virtual_channel, slot, at) {
            self.calendar.push(at, Event::wake(link.raw()));
        }
    }

    /// As [`free_link`](Self::free_link), where links have one virtual channel and take one cycle.
    #[inline]
    pub(crate) fn free_one(&mut self, slot: u32, link: ChannelId, at: Cycle) {
        debug_assert!(self.lags.is_empty());
        if self.arbiter.free_one_from(link, slot, at) {
            self.calendar.push(at, Event::wake(link.raw()));
        }
    }

    /// As [`free`](Self::free) in a part of a network: if the channel belongs to another one, that is told.
    #[inline(never)]
    pub(crate) fn free_in_part(&mut self, channel: ChannelId, at: Cycle) {
        if self.part.owns(self.space, channel) {
            // A worm that has come back may have another slot than when it was granted the channel.
            self.free(self.arbiter.holder(channel, 0), channel, 0, at);
        } else {
            self.part.releases.push((channel, at));
        }
    }

    /// As [`free`](Self::free), for an injection or consumption channel.
    #[allow(clippy::inline_always, reason = "twice a message")]
    #[inline(always)]
    pub(crate) fn free_port(&mut self, slot: u32, port: ChannelId, at: Cycle) {
        if let Some(queue) = self.arbiter.free_port_from(port, slot, at) {
            self.calendar.push(at, Event::wake(queue));
        }
        if self.ports_start_worms
            && let ChannelKind::Injection(node, _) = self.space.kind(port)
        {
            self.calendar.push(at, Event::free(node));
        }
    }

    /// Notes how many flits of a worm will have crossed a link by the time that it can be granted again. Where several virtual channels share
    /// it, flits are counted one by one.
    #[inline]
    pub(crate) fn count_flits(&mut self, link: ChannelId, flits: u32) {
        if self.arbiter.selector.counts_flits() && !self.shared_links {
            self.arbiter.selector.crossed(link, flits);
        }
    }

    /// A worm will have released a channel by cycle `at` (behind a link that takes several, by when the router before it knows): requests that wait for it are looked at then.
    pub(crate) fn free(&mut self, slot: u32, channel: ChannelId, virtual_channel: u32, at: Cycle) {
        let at = at + Cycle::from(self.lags.of(channel.raw()));
        if let Some(queue) = self.arbiter.free_from(channel, virtual_channel, slot, at) {
            self.calendar.push(at, Event::wake(queue));
        }
        if self.ports_start_worms
            && let ChannelKind::Injection(node, _) = self.space.kind(channel)
        {
            self.calendar.push(at, Event::free(node));
        }
    }

    /// The last flit of a worm crosses a consumption channel in cycle `at`, now or later.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Cycle, at: Cycle, event: Event) {
        // What is due in this cycle has been taken from the calendar.
        if at == now { self.delivering.push(event) } else { self.calendar.push(at, event) }
    }

    /// Arranges the wake-ups that the requests since the last call need.
    #[inline]
    pub(crate) fn arrange_wakes(&mut self) {
        for (at, queue) in self.arbiter.take_wakes() {
            self.calendar.push(at, Event::wake(queue));
        }
    }
}

/// The observer, and what the core counts itself.
pub(crate) struct Reports<O> {
    pub(crate) observer: O,
    pub(crate) flit_hops: u64,
    pub(crate) links: usize,
}

impl<O: Observer> Reports<O> {
    /// As [`settled`](Self::settled), for a channel between routers.
    #[inline]
    pub(crate) fn link_settled(&mut self, at: Cycle, link: ChannelId, flits: u32) {
        self.observer.settled(at, link, flits);
        self.flit_hops += u64::from(flits);
    }

    /// A channel will have been given back in cycle `at`, after `flits` flits of a worm have crossed it.
    #[inline]
    pub(crate) fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        self.observer.settled(at, channel, flits);
        if channel.index() < self.links {
            self.flit_hops += u64::from(flits);
        }
    }
}
