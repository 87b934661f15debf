//! Which worm holds which channel, which wait for it, and which gets it next (model.md, rules 8 to 12).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, Network, NodeId, Ports, RouterId};
use wormcast_routing::VcRange;

use super::hold::Hold;
use super::queues::Queues;
use crate::calendar::sort;
use crate::observers::observer::Cycle;
use crate::selection::Selector;

/// No worm, no entry.
pub(crate) const NONE: u32 = u32::MAX;

/// The order of requests: by cycle, then worm id, then position in the worm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) cycle: Cycle,
    pub(crate) worm: u64,
    pub(crate) part: u32,
}

/// What a request asks for: all of its parts at once.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) key: Key,
    /// The slot of the worm.
    pub(crate) worm: u32,
    /// The vertex of the worm at which it was made.
    pub(crate) vertex: u32,
    pub(crate) all_links: bool,
    live: bool,
    /// Where what it asks for is put down.
    asks: Asks,
    /// The links, the pool and the queue entries of one that asks for few.
    few_links: [ChannelId; Self::FEW],
    pool: Pool,
    few_entries: [u32; Self::FEW],
    /// What one that asks for more asks for.
    many: Option<Box<Many>>,
}

/// Where what a request asks for is put down: in the request itself, if it is little, as there may be millions that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    /// A path asks for a link of one virtual channel, and for nothing else.
    Link,
    /// For the only port of a pool, and for nothing else.
    Port,
    /// For so many links, and, if there are none, for a pool.
    Few(u8),
    Many,
}

/// What a request asks for, if that is much.
#[derive(Clone, Default, Debug)]
struct Many {
    /// One channel of each of these pools.
    pools: Vec<Pool>,
    /// Links: any one of them, in order of preference, or all of them. One may come several times, with different ranges.
    links: Vec<ChannelId>,
    /// The acceptable virtual channels of each; empty: any.
    ranges: Vec<VcRange>,
    /// The queue entries: those of the links, then those of the pools.
    entries: Vec<u32>,
}

impl Request {
    const FEW: usize = 2;

    const NONE: Self = Self {
        key: Key { cycle: 0, worm: 0, part: 0 },
        worm: NONE,
        vertex: 0,
        all_links: false,
        live: false,
        asks: Asks::Few(0),
        few_links: [ChannelId::new(NONE); Self::FEW],
        pool: Pool::Injection(NodeId::new(0)),
        few_entries: [NONE; Self::FEW],
        many: None,
    };

    /// One channel of each of these pools.
    #[inline]
    pub(crate) fn pools(&self) -> &[Pool] {
        match self.asks {
            Asks::Port | Asks::Few(0) => std::slice::from_ref(&self.pool),
            Asks::Link | Asks::Few(_) => &[],
            Asks::Many => self.many.as_deref().map_or(&[], |many| &many.pools),
        }
    }

    /// Links: any one of them, in order of preference, or all of them. One may come several times, with different ranges.
    #[inline]
    pub(crate) fn links(&self) -> &[ChannelId] {
        match self.asks {
            Asks::Link => &self.few_links[..1],
            Asks::Port => &[],
            Asks::Few(links) => &self.few_links[..usize::from(links)],
            Asks::Many => self.many.as_deref().map_or(&[], |many| &many.links),
        }
    }

    /// The queue entries: those of the links, then those of the pools.
    #[inline]
    fn entries(&self) -> &[u32] {
        match self.asks {
            Asks::Link | Asks::Port | Asks::Few(0) => &self.few_entries[..1],
            Asks::Few(links) => &self.few_entries[..usize::from(links)],
            Asks::Many => self.many.as_deref().map_or(&[], |many| &many.entries),
        }
    }

    /// The acceptable virtual channels of the link at this position.
    #[inline]
    pub(crate) fn range(&self, position: usize) -> VcRange {
        match &self.many {
            Some(many) if self.asks == Asks::Many => range(&many.ranges, position),
            _ => VcRange::ANY,
        }
    }

    /// Puts down what it asks for, and the queue entries.
    fn asks_for(
        &mut self,
        Wanted { pools, links, ranges, all_links }: Wanted<'_>,
        entries: &[u32],
        spare: impl FnOnce() -> Option<Box<Many>>,
    ) {
        self.all_links = all_links;
        let few = match (links, pools) {
            ([], &[pool]) => {
                self.pool = pool;
                true
            }
            (links, []) => !links.is_empty() && links.len() <= Self::FEW,
            _ => false,
        };
        if few && ranges.is_empty() {
            self.asks = Asks::Few(links.len() as u8);
            self.few_links[..links.len()].copy_from_slice(links);
            self.few_entries[..entries.len()].copy_from_slice(entries);
            return;
        }
        self.asks = Asks::Many;
        let many = self.many.get_or_insert_with(|| spare().unwrap_or_default());
        many.pools.clear();
        many.pools.extend_from_slice(pools);
        many.links.clear();
        many.links.extend_from_slice(links);
        many.ranges.clear();
        many.ranges.extend_from_slice(ranges);
        many.entries.clear();
        many.entries.extend_from_slice(entries);
    }

    /// Whether it asks for this virtual channel of a link.
    fn accepts(&self, link: ChannelId, virtual_channel: u32) -> bool {
        let mut places = self.links().iter().enumerate().filter(|&(_, &other)| other == link);
        places.any(|(position, _)| self.range(position).contains(virtual_channel))
    }
}

#[inline]
fn range(ranges: &[VcRange], position: usize) -> VcRange {
    ranges.get(position).copied().unwrap_or(VcRange::ANY)
}

/// A pool of equivalent channels of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pool {
    Injection(NodeId),
    /// With the one channel that a worm is bound to, if it is.
    Consumption(NodeId, Option<u8>),
}

/// What a request asks for; all of it is granted together.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// One channel of each of these pools, which are different ones.
    pub(crate) pools: &'a [Pool],
    /// Links: any one of them, in order of preference, or all of them.
    pub(crate) links: &'a [ChannelId],
    /// The acceptable virtual channels of each; empty: any.
    pub(crate) ranges: &'a [VcRange],
    pub(crate) all_links: bool,
}

/// A granted request.
#[derive(Debug, Default)]
pub(crate) struct Grant {
    pub(crate) worm: u32,
    pub(crate) vertex: u32,
    /// When it was requested.
    pub(crate) requested: Cycle,
    /// The channels of the pools, in the order in which those were asked for.
    pub(crate) pooled: Vec<ChannelId>,
    /// The links, with the virtual channel that was given of each.
    pub(crate) links: Vec<(ChannelId, u32)>,
}

/// All channels of a network with their holders and queues.
///
/// Queues of links are first come, first served, and only their heads can be granted; pools keep their waiters in order and
/// serve the first that can be granted in full. Worms give channels back with effect from a later cycle, so nothing has to
/// happen in that cycle unless a request waits: then there is a wake-up. Memory: 16 bytes a link and pool,
/// 8 a port where nodes have several, and 8 a virtual channel where links have several.
pub(crate) struct Arbiter {
    space: ChannelSpace,
    virtual_channels: u32,
    /// Whether requests may accept only some virtual channels, so that a request may overtake others at a link that accept different ones.
    divided: bool,
    /// Whether nodes have one port of each kind: then ports are numbered like their pools, and their holders are there.
    single_ports: bool,
    now: Cycle,
    /// The holder of each port where nodes have several, and, where links have several virtual channels, that of each of these, link by link.
    ports: Vec<Hold>,
    holds: Vec<Hold>,
    /// Of links, with their holders where these have one virtual channel; then of injection pools, then of consumption pools.
    queues: Queues,
    requests: Vec<Request>,
    free_requests: Vec<u32>,
    /// Requests that were granted in this cycle. Their places are free from the next one on, in the order of keys, however early in the cycle they were
    /// granted: where several requests of a worm can be named in a deadlock, their places decide.
    granted_now: Vec<(Key, u32)>,
    /// Whether all worms have one request at most, so that it does not matter which places are free.
    one_request: bool,
    /// Requests that something has changed for: the only ones that a pass has to look at.
    work: BinaryHeap<Reverse<(Key, u32)>>,
    /// Queues that have to be woken in a later cycle, because one of their channels becomes free then.
    wakes: Vec<(Cycle, u32)>,
    pending: usize,
    pub(crate) selector: Selector,
    /// Links that have been granted in this cycle, if somebody asks for loads.
    granted: Option<Vec<ChannelId>>,
    /// Scratch: the links that a request may be granted.
    free: Vec<ChannelId>,
    /// Scratch: the entries of a request.
    entries: Vec<u32>,
    /// Memory for requests that ask for much.
    #[allow(clippy::vec_box, reason = "it is handed on as it is")]
    spare: Vec<Box<Many>>,
}

impl Arbiter {
    pub(crate) fn new(network: &Network, space: ChannelSpace, virtual_channels: u32, selector: Selector) -> Self {
        let single_ports = space.ports() == Ports { injection: 1, consumption: 1 };
        let ports = if single_ports { 0 } else { space.len() - space.links() };
        let several = if virtual_channels > 1 { space.links() * virtual_channels as usize } else { 0 };
        let ends = network.channel_ids().map(|link| network.to(link));
        Self {
            space,
            virtual_channels,
            divided: virtual_channels > 1,
            single_ports,
            now: 0,
            ports: vec![Hold::FREE; ports],
            holds: vec![Hold::FREE; several],
            queues: Queues::new(ends, 2 * network.nodes()),
            requests: Vec::new(),
            free_requests: Vec::new(),
            granted_now: Vec::new(),
            one_request: true,
            work: BinaryHeap::new(),
            wakes: Vec::new(),
            pending: 0,
            selector,
            granted: None,
            free: Vec::new(),
            entries: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// From now on worms may have several requests.
    pub(crate) fn takes_branching(&mut self) {
        self.one_request = false;
    }

    /// Has it count the loads of links.
    pub(crate) fn count_loads(&mut self) {
        self.granted = Some(Vec::new());
    }

    /// The virtual channels of a link that are held, with the requests that wait for it, when the cycle began: what is granted or asked for
    /// in this cycle does not count.
    pub(crate) fn load(&self, link: ChannelId) -> u32 {
        let held = (0..self.virtual_channels).filter(|&vc| !self.is_free(link, vc)).count();
        let new = self.granted.iter().flatten().filter(|&&granted| granted == link).count();
        let waits = |&request: &u32| self.requests[request as usize].key.cycle < self.now;
        let mut last = NONE;
        let entries = self.queues.iter(link.index()).filter(|&other| std::mem::replace(&mut last, other) != other);
        (held - new + entries.filter(waits).count()) as u32
    }

    /// Reads what a grant of a queue looks at, for a cache to have it; the number means nothing.
    #[inline]
    pub(crate) fn read(&self, queue: u32) -> u32 {
        self.queues.lines.get(queue as usize).map_or(0, |line| line.to.raw())
    }

    /// The router that a link enters, from where its next grant looks anyway.
    #[inline]
    pub(crate) fn end_of(&self, link: ChannelId) -> RouterId {
        self.queues.lines[link.index()].to
    }

    /// The slot of the first worm that waits in a queue, or `NONE`.
    #[inline]
    pub(crate) fn first_waiting(&self, queue: u32) -> u32 {
        self.queues.first(queue as usize).map_or(NONE, |request| self.requests[request as usize].worm)
    }

    /// Whether requests may ask for some virtual channels only.
    pub(crate) fn is_divided(&self) -> bool {
        self.divided
    }

    /// Requests that wait.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Advances to a cycle; cycles must not decrease.
    #[inline]
    pub(crate) fn begin(&mut self, now: Cycle) {
        self.now = now;
        if !self.granted_now.is_empty() {
            self.free_granted();
        }
        if let Some(granted) = &mut self.granted {
            granted.clear();
        }
    }

    /// Frees the places of the requests that were granted in the cycle before.
    #[inline(never)]
    fn free_granted(&mut self) {
        if self.granted_now.len() > 1 {
            sort(&mut self.granted_now, |&(key, _)| key);
        }
        for &(_, index) in &self.granted_now {
            self.free_requests.push(index);
        }
        self.granted_now.clear();
    }

    pub(crate) fn request(&self, index: u32) -> Option<&Request> {
        self.requests.get(index as usize).filter(|request| request.live)
    }

    /// The live requests with their indices.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (u32, &Request)> {
        self.requests
            .iter()
            .enumerate()
            .filter(|(_, request)| request.live)
            .map(|(index, request)| (index as u32, request))
    }

    #[inline]
    fn held(&self, channel: ChannelId, virtual_channel: u32) -> Hold {
        match channel.index().checked_sub(self.space.links()) {
            Some(port) if !self.single_ports => self.ports[port],
            None if self.virtual_channels > 1 => {
                self.holds[channel.index() * self.virtual_channels as usize + virtual_channel as usize]
            }
            _ => self.queues.lines[channel.index()].hold,
        }
    }

    #[inline]
    fn held_mut(&mut self, channel: ChannelId, virtual_channel: u32) -> &mut Hold {
        match channel.index().checked_sub(self.space.links()) {
            Some(port) if !self.single_ports => &mut self.ports[port],
            None if self.virtual_channels > 1 => {
                &mut self.holds[channel.index() * self.virtual_channels as usize + virtual_channel as usize]
            }
            _ => &mut self.queues.lines[channel.index()].hold,
        }
    }

    /// The slot of the worm that holds a channel and has not said until when, or `NONE`.
    pub(crate) fn holder(&self, channel: ChannelId, virtual_channel: u32) -> u32 {
        self.held(channel, virtual_channel).worm()
    }

    #[inline]
    fn is_free(&self, channel: ChannelId, virtual_channel: u32) -> bool {
        self.held(channel, virtual_channel).is_free(self.now)
    }

    fn free_virtual_channel(&self, link: ChannelId, range: VcRange) -> Option<u32> {
        range.of(self.virtual_channels).find(|&vc| self.is_free(link, vc))
    }

    #[allow(clippy::inline_always, reason = "which pool it is, is mostly known")]
    #[inline(always)]
    fn queue_of(&self, pool: Pool) -> usize {
        match pool {
            Pool::Injection(node) => self.space.links() + node.index(),
            Pool::Consumption(node, _) => self.space.links() + self.space.nodes() + node.index(),
        }
    }

    /// The channels that would satisfy a pool request.
    #[inline]
    pub(crate) fn members(&self, pool: Pool) -> impl Iterator<Item = ChannelId> + use<> {
        let (node, class) = match pool {
            Pool::Injection(node) => (node, None),
            Pool::Consumption(node, class) => (node, class),
        };
        let (first, count) = match pool {
            Pool::Injection(_) => (self.space.injection(node).next(), self.space.ports().injection),
            Pool::Consumption(..) => (self.space.consumption(node).next(), self.space.ports().consumption),
        };
        let first = first.map_or(0, ChannelId::raw);
        let (skip, take) = class.map_or((0, count), |class| (u32::from(class), 1));
        (first + skip..first + skip + take).map(ChannelId::new)
    }

    /// The ports that would satisfy a pool request: where their holders are.
    #[allow(clippy::inline_always, reason = "which pool it is, is mostly known")]
    #[inline(always)]
    fn ports_of(&self, pool: Pool) -> Range<usize> {
        let Ports { injection, consumption } = self.space.ports();
        let of_each = |node: NodeId, count: u32| node.index() * count as usize;
        let (first, count) = match pool {
            Pool::Injection(node) => (of_each(node, injection), injection),
            Pool::Consumption(node, class) => {
                let first = self.space.nodes() * injection as usize + of_each(node, consumption);
                class.map_or((first, consumption), |class| (first + usize::from(class), 1))
            }
        };
        first..first + count as usize
    }

    #[allow(clippy::inline_always, reason = "which pool it is, is mostly known")]
    #[inline(always)]
    pub(crate) fn free_member(&self, pool: Pool) -> Option<ChannelId> {
        if self.single_ports {
            let queue = self.queue_of(pool);
            return self.queues.lines[queue].hold.is_free(self.now).then_some(ChannelId::new(queue as u32));
        }
        let ports = self.ports_of(pool);
        let place = self.ports[ports.clone()].iter().position(|port| port.is_free(self.now))?;
        Some(ChannelId::new((self.space.links() + ports.start + place) as u32))
    }

    /// Takes a channel without a request (injection in per-port mode).
    #[inline]
    pub(crate) fn hold(&mut self, channel: ChannelId, virtual_channel: u32, worm: u32) {
        debug_assert!(self.is_free(channel, virtual_channel), "a channel has one holder");
        *self.held_mut(channel, virtual_channel) = Hold::by(worm);
        if let Some(granted) = &mut self.granted {
            granted.push(channel);
        }
    }

    /// Releases a link: it can be granted from cycle `at` on. Returns whether a request waits for it.
    #[inline]
    pub(crate) fn free_link_from(&mut self, link: ChannelId, virtual_channel: u32, worm: u32, at: Cycle) -> bool {
        debug_assert_eq!(self.holder(link, virtual_channel), worm, "only the holder releases");
        let (shared, line) = (self.virtual_channels > 1, &mut self.queues.lines[link.index()]);
        let waits = !line.is_empty();
        if shared {
            *self.held_mut(link, virtual_channel) = Hold::until(at);
        } else {
            line.hold = Hold::until(at);
        }
        waits
    }

    /// As [`free_link_from`](Self::free_link_from), where links have one virtual channel.
    #[inline]
    pub(crate) fn free_one_from(&mut self, link: ChannelId, worm: u32, at: Cycle) -> bool {
        debug_assert_eq!(self.holder(link, 0), worm, "only the holder releases");
        let line = &mut self.queues.lines[link.index()];
        line.hold = Hold::until(at);
        !line.is_empty()
    }

    /// Releases a channel: it can be granted from cycle `at` on. If a request waits for it, returns the queue to wake then.
    #[inline]
    pub(crate) fn free_from(&mut self, channel: ChannelId, virtual_channel: u32, worm: u32, at: Cycle) -> Option<u32> {
        debug_assert_eq!(self.holder(channel, virtual_channel), worm, "only the holder releases");
        *self.held_mut(channel, virtual_channel) = Hold::until(at);
        let is_link = channel.index() < self.space.links();
        let queue = if is_link { channel.index() } else { self.queue_of_port(channel) };
        (!self.queues.is_empty(queue)).then_some(queue as u32)
    }

    #[inline]
    fn queue_of_port(&self, port: ChannelId) -> usize {
        if self.single_ports {
            return port.index();
        }
        match self.space.kind(port) {
            ChannelKind::Injection(node, _) => self.queue_of(Pool::Injection(node)),
            ChannelKind::Consumption(node, _) => self.queue_of(Pool::Consumption(node, None)),
            ChannelKind::Link => port.index(),
        }
    }

    /// A channel of a queue became free: marks the requests that may be granted it for the next pass, that is, the head, or
    /// all that ask for a consumption channel, as the head may lack a link. (Those are few: one for each channel into the router.)
    pub(crate) fn wake(&mut self, queue: u32) {
        let queue = queue as usize;
        if queue < self.space.links() + self.space.nodes() {
            self.wake_head(queue);
        } else {
            self.wake_all(queue);
        }
    }

    /// A channel of a queue became free: grants it to the first request before the cycle's pass, if nothing could change the outcome: the request asks for
    /// nothing else, so it holds up none that it would have to wait for, and none before it may take what it wants. Returns whether `grant`
    /// describes one.
    pub(crate) fn grant_first(&mut self, queue: u32, grant: &mut Grant) -> bool {
        if self.divided || self.granted.is_some() {
            return false;
        }
        let Some(index) = self.queues.first(queue as usize) else { return false };
        let request = &self.requests[index as usize];
        if request.links().len() + request.pools().len() != 1 || !self.satisfiable(index, grant) {
            return false;
        }
        self.grant(index, grant);
        true
    }

    /// As [`grant_first`](Self::grant_first), if the first request is for [one channel](Self::queue_for_one) and nothing else: returns the slot and the vertex of the worm, the channel,
    /// and the router that it enters, if it is a link.
    #[allow(clippy::inline_always, reason = "of every wait, from one place")]
    #[inline(always)]
    pub(crate) fn grant_one(&mut self, queue: u32) -> Option<(u32, u32, ChannelId, Option<RouterId>)> {
        let index = self.queues.first(queue as usize)?;
        let request = &mut self.requests[index as usize];
        let line = &mut self.queues.lines[queue as usize];
        if !matches!(request.asks, Asks::Link | Asks::Port) || !line.hold.is_free(self.now) {
            return None;
        }
        line.hold = Hold::by(request.worm);
        request.live = false;
        let to = (request.asks == Asks::Link).then_some(line.to);
        let granted = (request.worm, request.vertex, request.few_links[0], to);
        if self.one_request {
            self.free_requests.push(index);
        } else {
            self.granted_now.push((request.key, index));
        }
        // The next has to wait.
        self.queues.remove_first(queue as usize);
        self.pending -= 1;
        Some(granted)
    }

    /// Whether a queue is for one channel alone.
    pub(crate) fn is_for_one(&self, queue: u32) -> bool {
        let (queue, links) = (queue as usize, self.space.links());
        let ports = self.space.ports();
        queue < links || if queue < links + self.space.nodes() { ports.injection == 1 } else { ports.consumption == 1 }
    }

    /// Whether the cycle's pass has anything to look at.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// The wake-ups, (cycle, queue), that the requests since the last call need.
    pub(crate) fn take_wakes(&mut self) -> impl Iterator<Item = (Cycle, u32)> {
        self.wakes.drain(..)
    }

    /// As [`free_from`](Self::free_from), for a port.
    #[allow(clippy::inline_always, reason = "twice a message")]
    #[inline(always)]
    pub(crate) fn free_port_from(&mut self, port: ChannelId, worm: u32, at: Cycle) -> Option<u32> {
        debug_assert_eq!(self.holder(port, 0), worm, "only the holder releases");
        if self.single_ports {
            let line = &mut self.queues.lines[port.index()];
            line.hold = Hold::until(at);
            return (!line.is_empty()).then_some(port.raw());
        }
        self.ports[port.index() - self.space.links()] = Hold::until(at);
        let queue = self.queue_of_port(port);
        (!self.queues.is_empty(queue)).then_some(queue as u32)
    }

    fn look_at(&mut self, request: u32) {
        self.work.push(Reverse((self.requests[request as usize].key, request)));
    }

    fn wake_head(&mut self, queue: usize) {
        // Of injection channels, whoever waits takes any that is free.
        if self.divided && queue < self.space.links() {
            self.wake_all(queue);
        } else if let Some(request) = self.queues.first(queue) {
            self.look_at(request);
        }
    }

    fn wake_all(&mut self, queue: usize) {
        let requests = &self.requests;
        self.work.extend(self.queues.iter(queue).map(|index| Reverse((requests[index as usize].key, index))));
    }

    /// Makes a request: grants it at once if nothing could change the outcome, or puts it at the end of the queues of everything
    /// that it asks for. Returns whether `grant` describes it as granted. Requests have to come in the order of their keys.
    pub(crate) fn ask(&mut self, key: Key, worm: u32, vertex: u32, wanted: Wanted<'_>, grant: &mut Grant) -> bool {
        if self.undisputed(key.worm, wanted, grant) {
            (grant.worm, grant.vertex, grant.requested) = (worm, vertex, key.cycle);
            for &(link, vc) in &grant.links {
                self.hold(link, vc, worm);
            }
            for &channel in &grant.pooled {
                self.hold(channel, 0, worm);
            }
            return true;
        }
        self.queue(key, worm, vertex, wanted);
        false
    }

    /// Makes a request that cannot be granted at once: puts it at the end of the queues of everything that it asks for.
    pub(crate) fn queue(&mut self, key: Key, worm: u32, vertex: u32, wanted: Wanted<'_>) {
        let Wanted { pools, links, .. } = wanted;
        let index = self.new_request();
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        for &link in links {
            // The first in a queue looks ahead: the holder of the channel will wake those that are in it by then, if it has
            // still to say until when.
            if self.queues.is_empty(link.index()) {
                for vc in 0..self.virtual_channels {
                    let ends = self.held(link, vc).ends(self.now);
                    self.wakes.extend(ends.map(|at| (at, link.raw())));
                }
            }
            entries.push(self.queues.push(link.index(), index));
        }
        for &pool in pools {
            let queue = self.queue_of(pool);
            // Worms bound to classes share the queue: every member counts.
            let all = match pool {
                Pool::Consumption(node, _) => Pool::Consumption(node, None),
                injection @ Pool::Injection(_) => injection,
            };
            if self.queues.is_empty(queue) {
                for channel in self.members(all) {
                    let ends = self.held(channel, 0).ends(self.now);
                    self.wakes.extend(ends.map(|at| (at, queue as u32)));
                }
            }
            entries.push(self.queues.push(queue, index));
        }
        let request = &mut self.requests[index as usize];
        (request.key, request.worm, request.vertex, request.live) = (key, worm, vertex, true);
        request.asks_for(wanted, &entries, || self.spare.pop());
        self.entries = entries;
        self.pending += 1;
        if self.may_be_granted(wanted) {
            self.look_at(index);
        }
    }

    /// Whether something of each part is free in this cycle; if not, only a later one can bring a grant.
    fn may_be_granted(&self, Wanted { pools, links, ranges, all_links }: Wanted<'_>) -> bool {
        let places = links.iter().enumerate();
        let mut free = places.map(|(place, &link)| self.free_virtual_channel(link, range(ranges, place)).is_some());
        let links_free = links.is_empty() || if all_links { free.all(|free| free) } else { free.any(|free| free) };
        links_free && pools.iter().all(|&pool| self.free_member(pool).is_some())
    }

    /// Grants a request for any one of some links at once, if nothing could change the outcome; returns the link, and the router that
    /// it enters.
    ///
    /// As [`ask`](Self::ask), for what headers of paths ask for on nearly every hop.
    #[inline]
    pub(crate) fn take_link(&mut self, candidates: &[ChannelId], worm: u32) -> Option<(ChannelId, RouterId)> {
        if self.virtual_channels > 1 || (candidates.len() > 1 && !self.selector.is_first()) {
            return None;
        }
        for &link in candidates {
            if self.queues.lines[link.index()].hold.is_free(self.now) {
                return self.take_one(link, worm).map(|to| (link, to));
            }
        }
        None
    }

    /// As [`take_link`](Self::take_link), for one link that has no more than one virtual channel; returns the router that it enters.
    #[inline]
    pub(crate) fn take_one(&mut self, link: ChannelId, worm: u32) -> Option<RouterId> {
        debug_assert_eq!(self.virtual_channels, 1);
        self.take_line(link.index(), worm)
    }

    /// Takes a link that has one virtual channel, or a port that has a pool of its own.
    #[allow(clippy::inline_always, reason = "on every hop")]
    #[inline(always)]
    fn take_line(&mut self, queue: usize, worm: u32) -> Option<RouterId> {
        let line = &mut self.queues.lines[queue];
        if !line.hold.is_free(self.now) || !line.is_empty() {
            return None;
        }
        line.hold = Hold::by(worm);
        Some(line.to)
    }

    /// As [`queue`](Self::queue), for a path that asks for one link, or a worm that asks for the [only port](Self::only_port) of a pool, which is not granted at once; returns the cycle in
    /// which its queue has to be woken, if nobody else will do it.
    #[allow(clippy::inline_always, reason = "of every wait, from one place")]
    #[inline(always)]
    pub(crate) fn queue_for_one(
        &mut self,
        key: Key,
        (worm, vertex): (u32, u32),
        (channel, pool): (ChannelId, Option<Pool>),
    ) -> Option<Cycle> {
        let (index, queue) = (self.new_request(), channel.index());
        let hold = self.queues.lines[queue].hold;
        let wake = if self.queues.is_empty(queue) { hold.ends(self.now) } else { None };
        let entry = self.queues.push(queue, index);
        let request = &mut self.requests[index as usize];
        (request.key, request.worm, request.vertex) = (key, worm, vertex);
        (request.all_links, request.live, request.few_links[0], request.few_entries[0]) = (false, true, channel, entry);
        request.asks = Asks::Link;
        if let Some(pool) = pool {
            (request.asks, request.pool) = (Asks::Port, pool);
        }
        self.pending += 1;
        if hold.is_free(self.now) {
            self.look_at(index);
        }
        wake
    }

    /// The one port of a pool, where nodes have one of each kind and nothing else depends on who is granted it.
    pub(crate) fn only_port(&self, pool: Pool) -> Option<ChannelId> {
        let only = self.single_ports && !self.divided && self.granted.is_none();
        only.then(|| ChannelId::new(self.queue_of(pool) as u32))
    }

    /// A place for a request.
    #[inline]
    fn new_request(&mut self) -> u32 {
        self.free_requests.pop().unwrap_or_else(|| {
            self.requests.push(Request::NONE);
            self.requests.len() as u32 - 1
        })
    }

    /// As [`ask`](Self::ask), for a request for a pool alone: where paths begin and end.
    #[allow(clippy::inline_always, reason = "which pool it is, is known")]
    #[inline(always)]
    pub(crate) fn take_member(&mut self, pool: Pool, worm: u32) -> Option<ChannelId> {
        let queue = self.queue_of(pool);
        let channel = if self.single_ports {
            self.take_line(queue, worm)?;
            ChannelId::new(queue as u32)
        } else {
            self.take_one_of(pool, queue, worm)?
        };
        if let Some(granted) = &mut self.granted {
            granted.push(channel);
        }
        Some(channel)
    }

    /// As [`take_member`](Self::take_member), for a pool of several.
    #[inline]
    fn take_one_of(&mut self, pool: Pool, queue: usize, worm: u32) -> Option<ChannelId> {
        let channel = self.free_member(pool).filter(|_| self.queues.is_empty(queue))?;
        self.ports[channel.index() - self.space.links()] = Hold::by(worm);
        Some(channel)
    }

    /// Whether a new request can be granted before this cycle's pass: what it gets is free and no other request has asked for it, so
    /// no request before it in the pass can take it; and any link that it would have preferred is held, so none can become free.
    /// Nor can a request before it change what is selected: it would have to ask for one of these links.
    fn undisputed(&mut self, worm: u64, wanted: Wanted<'_>, grant: &mut Grant) -> bool {
        let Wanted { pools, links, ranges, all_links } = wanted;
        grant.links.clear();
        grant.pooled.clear();
        for &pool in pools {
            match self.free_member(pool) {
                Some(channel) if self.queues.is_empty(self.queue_of(pool)) => grant.pooled.push(channel),
                _ => return false,
            }
        }
        let selects = !all_links && !self.selector.is_first();
        self.free.clear();
        let mut preferred = VcRange::ANY;
        for (place, &link) in links.iter().enumerate() {
            match self.free_virtual_channel(link, range(ranges, place)) {
                Some(_) if selects && self.queues.is_empty(link.index()) => {
                    if self.free.is_empty() {
                        preferred = range(ranges, place);
                    }
                    if range(ranges, place) == preferred {
                        self.free.push(link);
                    }
                }
                Some(vc) if self.queues.is_empty(link.index()) => {
                    grant.links.push((link, vc));
                    if !all_links {
                        return true;
                    }
                }
                None if !all_links => {}
                _ => return false,
            }
        }
        if selects && !self.free.is_empty() {
            // Nobody waits for any of them.
            let link = self.selector.choose((self.now, worm), links, &self.free, |_| 0);
            grant.links.extend(self.free_virtual_channel(link, preferred).map(|vc| (link, vc)));
            return true;
        }
        all_links || links.is_empty()
    }

    /// Continues the cycle's pass, in the order of keys, until a request can be granted; grants it and describes it in
    /// `grant`. Returns whether there was one.
    pub(crate) fn next_grant(&mut self, grant: &mut Grant) -> bool {
        while let Some(Reverse((key, index))) = self.work.pop() {
            let request = &self.requests[index as usize];
            // The slot may have been granted, and used again, since it was put up.
            if request.live && request.key == key && self.satisfiable(index, grant) {
                self.grant(index, grant);
                return true;
            }
        }
        false
    }

    /// Whether all parts of the request can be granted now; if so, `grant` says which channels.
    fn satisfiable(&mut self, index: u32, grant: &mut Grant) -> bool {
        let request = &self.requests[index as usize];
        grant.links.clear();
        grant.pooled.clear();
        grant.pooled.extend(request.pools().iter().map_while(|&pool| self.free_member(pool)));
        if grant.pooled.len() < request.pools().len() {
            return false;
        }
        if !request.all_links && !self.selector.is_first() && !request.links().is_empty() {
            return self.select(index, grant);
        }
        for (position, &link) in request.links().iter().enumerate() {
            match self.open_virtual_channel(request, position) {
                Some(vc) => {
                    grant.links.push((link, vc));
                    if !request.all_links {
                        return true;
                    }
                }
                None if request.all_links => return false,
                None => {}
            }
        }
        request.all_links || request.links().is_empty()
    }

    /// Whether any of a request's links can be granted now; if so, adds the one that is selected to `grant`.
    fn select(&mut self, index: u32, grant: &mut Grant) -> bool {
        let mut free = std::mem::take(&mut self.free);
        free.clear();
        let request = &self.requests[index as usize];
        let mut preferred = VcRange::ANY;
        for (position, &link) in request.links().iter().enumerate() {
            let range = request.range(position);
            if !free.is_empty() && range != preferred || self.open_virtual_channel(request, position).is_none() {
                continue;
            }
            preferred = range;
            free.push(link);
        }
        let found = !free.is_empty();
        if found {
            // Requests of this cycle do not count: which are known by now depends on the order in which worms are looked at. The
            // request itself counts once at each link, or at none. One that asks for several ranges of a link has entries side by side.
            let (requests, queues, now) = (&self.requests, &self.queues, self.now);
            let waits = |&other: &u32| requests[other as usize].key.cycle < now;
            let waiting = |link: ChannelId| {
                let mut last = NONE;
                queues
                    .iter(link.index())
                    .filter(|&other| std::mem::replace(&mut last, other) != other)
                    .filter(waits)
                    .count()
            };
            let link = self.selector.choose((now, request.key.worm), request.links(), &free, waiting);
            let mut places = request.links().iter().enumerate().filter(|&(_, &other)| other == link);
            let position = places.find(|&(position, _)| request.range(position) == preferred);
            let vc = position.and_then(|(position, _)| self.open_virtual_channel(request, position));
            grant.links.extend(vc.map(|vc| (link, vc)));
        }
        self.free = free;
        found
    }

    fn grant(&mut self, index: u32, grant: &mut Grant) {
        let request = &mut self.requests[index as usize];
        request.live = false;
        (grant.worm, grant.vertex, grant.requested) = (request.worm, request.vertex, request.key.cycle);
        for &(link, vc) in &grant.links {
            self.hold(link, vc, grant.worm);
        }
        for &channel in &grant.pooled {
            self.hold(channel, 0, grant.worm);
        }
        let request = &mut self.requests[index as usize];
        self.granted_now.push((request.key, index));
        self.pending -= 1;
        if matches!(request.asks, Asks::Link | Asks::Port) {
            // The next has to wait.
            self.queues.remove(request.few_links[0].index(), request.few_entries[0]);
            return;
        }
        let links = request.links().len();
        for position in 0..links {
            let request = &self.requests[index as usize];
            let (link, entry) = (request.links()[position], request.entries()[position]);
            // The next has to wait if the link is the one that was granted.
            let next_is_first = self.queues.remove(link.index(), entry);
            if self.divided || (next_is_first && self.is_free(link, 0)) {
                self.wake_head(link.index());
            }
        }
        for position in 0..self.requests[index as usize].pools().len() {
            let request = &self.requests[index as usize];
            let (pool, entry) = (request.pools()[position], request.entries()[links + position]);
            let queue = self.queue_of(pool);
            if self.queues.remove(queue, entry) && matches!(pool, Pool::Injection(_)) {
                self.wake_head(queue);
            }
        }
        self.spare.extend(self.requests[index as usize].many.take());
    }

    /// The lowest virtual channel of its `position`-th link that a request may be granted: one that is free and that no request before it asks for.
    #[inline]
    fn open_virtual_channel(&self, request: &Request, position: usize) -> Option<u32> {
        let (link, range) = (request.links()[position], request.range(position));
        if self.queues.is_first(link.index(), request.entries()[position]) {
            return self.free_virtual_channel(link, range);
        }
        if !self.divided {
            return None;
        }
        let is_open = |&vc: &u32| self.is_free(link, vc) && self.ahead(request, position, vc).next().is_none();
        range.of(self.virtual_channels).find(is_open)
    }

    /// The requests before this one in the queue of its `position`-th link that ask for a virtual channel of it, the nearest first.
    pub(crate) fn ahead(&self, request: &Request, position: usize, virtual_channel: u32) -> impl Iterator<Item = u32> {
        let (link, own) = (request.links()[position], request.key);
        let before = self.queues.before(link.index(), request.entries()[position]);
        before.filter(move |&other| {
            let other = &self.requests[other as usize];
            !self.divided || other.key != own && other.accepts(link, virtual_channel)
        })
    }

    /// The holders of these virtual channels of a link; `NONE` for those that are free or have an end that is known.
    pub(crate) fn link_holders(&self, link: ChannelId, range: VcRange) -> impl Iterator<Item = u32> {
        range.of(self.virtual_channels).map(move |vc| self.holder(link, vc))
    }
}
