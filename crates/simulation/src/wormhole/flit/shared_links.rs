//! The movement phase where virtual channels share links (model.md, rule 18) or links take several cycles (rules 21 to 25), for path worms and trees with independent branches. Trees in
//! lockstep go before them, where links take one cycle (`lockstep`).
//!
//! A link moves one flit a cycle, for the ready worm that comes first in the round robin after the last user. A worm is ready
//! on a link if it has a flit there, waiting since the start of the cycle, and the buffer ahead has room, counting what leaves
//! it in this cycle. The second condition depends on who is served further on, which may depend on this link in turn. So the
//! cycle is settled in rounds: first every link serves one of the worms that are ready by themselves; what that frees makes
//! others ready on links that have not served yet; and so on until nothing changes. Within a round all links decide at the
//! same time, so the outcome does not depend on the order in which they are looked at. Moves that share no link, those from and
//! to processors, take part in the rounds: what they free counts from the next round on. Stripped flits have left before the
//! first round.
//!
//! What a worm sends over a virtual channel, or over a port, is a *stream*. Whether one is ready is changed by nothing but moves of its own and
//! of its neighbours. So the first round looks at links with ready streams only, and each further one at streams whose buffers have got
//! room in the round before: a cycle takes O(flits that move), whatever waits.
//!
//! Over a link that takes d cycles, what crosses in a cycle comes to the buffer behind it d - 1 cycles later, its *lag*, at the end of the movement phase; and a slot that frees there is
//! known before it as much later, at the beginning of the phase. Both are put down for then (`Away`). With a lag of 0 that is this same cycle, as without.

use wormcast_network::{ChannelId, ChannelSpace};

use super::lockstep::Lockstep;
use super::paths::report_crossing;
use super::trees::{Copying, TreeEvent};
use super::{FlitEngine, FlitMovement};
use crate::config::delay::Lags;
use crate::config::switching::BranchReplication;
use crate::core::arbiter::NONE;
use crate::core::worm::{PathRoute, Route, TreeRoute, WormState};
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, Observer};

/// Marks the vertices of trees, and deliveries among these.
const TREE: u32 = 1 << 31;
const DELIVERY: u32 = 1 << 30;

/// What a worm sends over a virtual channel of a link, or over a port.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Flits in the buffer before it that were there when the cycle began and have not crossed.
    waiting: u32,
    /// Free slots in the buffer behind it.
    room: u32,
    /// Flits that have not crossed.
    to_come: u32,
    /// Of a path worm, the stream into the buffer before it.
    before: u32,
    /// Of a path worm, the stream out of the buffer behind it, or `NONE` until the header has got on. Of a tree that goes on, `NONE`.
    behind: u32,
    /// The slot of the worm.
    worm: u32,
    /// The vertex that it leaves; of a tree, the one that it goes to, or the delivery.
    vertex: u32,
    channel: u32,
}

/// A link and its turns; or a port, a link of its own.
#[derive(Clone, Copy, Default)]
struct Link {
    /// A bit for each virtual channel whose stream is ready: in this cycle, as far as that is known, and in the next. `SharedLinks::this` says which is which.
    ready: [u64; 2],
    /// The cycle after the one in which it served last.
    served: Cycle,
    /// The place of the stream on its first virtual channel.
    first: u32,
    /// The virtual channel that comes first.
    turn: u8,
}

/// What is on its way over links that take several cycles.
#[derive(Default)]
struct Away {
    lags: Lags,
    /// By cycle, modulo the longest lag and one: the streams whose flits come to the end of their link, and those for which slots are known to be free.
    landing: Vec<Vec<u32>>,
    freeing: Vec<Vec<u32>>,
    /// By stream: flits and freed slots on their way.
    by_stream: Vec<u32>,
    /// All of them.
    pending: usize,
}

impl Away {
    fn new(lags: Lags, streams: usize) -> Self {
        if lags.is_empty() {
            return Self::default();
        }
        let cycles = lags.most() as usize + 1;
        Self {
            lags,
            landing: vec![Vec::new(); cycles],
            freeing: vec![Vec::new(); cycles],
            by_stream: vec![0; streams],
            pending: 0,
        }
    }

    /// Where what comes in a cycle is.
    fn slot(&self, cycle: Cycle) -> usize {
        (cycle % self.landing.len() as Cycle) as usize
    }

    fn sends(&mut self, place: u32, at: Cycle) {
        let slot = self.slot(at);
        self.landing[slot].push(place);
        self.by_stream[place as usize] += 1;
        self.pending += 1;
    }

    fn gives_back(&mut self, place: u32, at: Cycle) {
        let slot = self.slot(at);
        self.freeing[slot].push(place);
        self.by_stream[place as usize] += 1;
        self.pending += 1;
    }

    /// A flit or a freed slot has come.
    fn comes(&mut self, place: u32) {
        self.by_stream[place as usize] -= 1;
        self.pending -= 1;
    }

    /// Of the slots behind a stream that are not known to be free, those without a flit.
    fn of(&self, place: usize) -> u32 {
        self.by_stream.get(place).copied().unwrap_or(0)
    }
}

/// All streams, whose turn it is on each link, and this cycle's bookkeeping.
#[derive(Default)]
pub(super) struct SharedLinks {
    virtual_channels: u32,
    /// Links between routers: as many channels come first.
    shared: usize,
    /// Of each virtual channel (link by link), then of each port; and one that stands for all that there are not.
    streams: Vec<Stream>,
    links: Vec<Link>,
    /// Which half of `Link::ready` is of this cycle.
    this: usize,
    /// Links with streams that are ready in this cycle, before its first round.
    listed: List,
    /// Links with streams that are ready in the next cycle, as far as that is known.
    coming: List,
    /// Streams that are ready because of moves of this round.
    freed: List,
    /// Streams before which there was no flit and behind which there was no room when a flit came in this cycle.
    late: List,
    /// How many flits have moved in this cycle; and where, if that is asked for.
    moves: usize,
    moved: Vec<u32>,
    /// Path worms of which a flit has come to the vertex where the header is.
    arrivals: Vec<u32>,
    /// Path worms whose last flit has left a vertex.
    tails: Vec<u32>,
    /// What has happened to trees.
    tree_events: Vec<(u32, TreeEvent)>,
    /// Flits and freed slots that are on links.
    away: Away,
    pub(super) lockstep: Lockstep,
    /// Whether there may be something to move in the next cycle.
    pub(super) busy: bool,
}

/// A list of bounded length, to which adding costs the same whether something is added or not: that cannot be foreseen.
#[derive(Default)]
struct List {
    items: Vec<u32>,
    length: usize,
}

impl List {
    fn new(most: usize) -> Self {
        Self { items: vec![0; most + 1], length: 0 }
    }

    #[inline]
    fn push_if(&mut self, item: u32, condition: bool) {
        self.items[self.length] = item;
        self.length += usize::from(condition);
    }

    fn clear(&mut self) {
        self.length = 0;
    }

    fn as_slice(&self) -> &[u32] {
        &self.items[..self.length]
    }
}

/// Whether both hold, without a branch: which of the two does not cannot be foreseen.
#[inline]
fn both(one: bool, other: bool) -> bool {
    u8::from(one) & u8::from(other) == 1
}

impl SharedLinks {
    /// For links with several virtual channels, or with lags; otherwise worms move one by one.
    pub(super) fn new(space: ChannelSpace, config: &EngineConfig, lags: Lags) -> Self {
        if !config.has_streams() {
            return Self::default();
        }
        let virtual_channels = config.virtual_channels;
        debug_assert!(virtual_channels <= u64::BITS);
        let (shared, ports) = (space.links(), space.len() - space.links());
        let mut links = Self {
            virtual_channels,
            shared,
            lockstep: Lockstep::new(config.buffer),
            streams: vec![Stream::default(); shared * virtual_channels as usize + ports + 1],
            away: Away::new(lags, shared * virtual_channels as usize + ports + 1),
            links: vec![Link::default(); space.len()],
            listed: List::new(space.len()),
            coming: List::new(space.len()),
            freed: List::new(space.len()),
            late: List::new(shared * virtual_channels as usize + ports),
            ..Self::default()
        };
        for channel in 0..space.len() as u32 {
            links.links[channel as usize].first = links.place(channel, 0) as u32;
        }
        links
    }

    /// The place of the stream that stands for those that there are not: before one out of a processor, and behind one into a processor.
    fn no_stream(&self) -> u32 {
        self.streams.len() as u32 - 1
    }

    /// The place of the stream on a virtual channel.
    fn place(&self, channel: u32, virtual_channel: u32) -> usize {
        let channel = channel as usize;
        let ports = channel.saturating_sub(self.shared);
        (channel - ports) * self.virtual_channels as usize + ports + virtual_channel as usize
    }

    /// The place of the stream by which a path worm leaves a vertex.
    fn out_of(&self, route: &PathRoute, vertex: u32) -> usize {
        if vertex < route.last() {
            self.place(route.entered_by(vertex + 1).raw(), route.virtual_channel(vertex + 1))
        } else {
            self.place(route.first_consumption(vertex), 0)
        }
    }

    /// A worm may send over a channel from this cycle on.
    fn open(&mut self, place: usize, stream: Stream) {
        debug_assert_eq!(self.streams[place].to_come, 0, "the stream before it has ended");
        self.streams[place] = stream;
        if stream.waiting > 0 {
            self.is_ready(place);
        }
    }

    /// Notes before the first round that a stream is ready.
    fn is_ready(&mut self, place: usize) {
        let channel = self.streams[place].channel;
        let link = &mut self.links[channel as usize];
        let ready = &mut link.ready[self.this];
        self.listed.push_if(channel, *ready == 0);
        *ready |= 1 << (place as u32 - link.first);
    }

    /// Notes which streams of a link will be ready in the next cycle.
    #[inline]
    fn will_be_ready(&mut self, channel: u32, streams: u64) {
        let ready = &mut self.links[channel as usize].ready[self.this ^ 1];
        self.coming.push_if(channel, both(*ready == 0, streams != 0));
        *ready |= streams;
    }

    /// A slot of the buffer behind a stream is free; returns whether that makes it ready.
    #[inline]
    fn frees(&mut self, place: usize) -> bool {
        let stream = &mut self.streams[place];
        stream.room += 1;
        both(stream.room == 1, stream.waiting > 0)
    }

    /// All rounds of a cycle; notes where flits move if that is asked for.
    fn rounds<const MOVES: bool>(&mut self, worms: &mut [WormState<FlitMovement>], now: Cycle) {
        if self.away.lags.is_empty() {
            self.rounds_with::<MOVES, false>(worms, now);
        } else {
            self.rounds_with::<MOVES, true>(worms, now);
        }
    }

    fn rounds_with<const MOVES: bool, const LAGS: bool>(&mut self, worms: &mut [WormState<FlitMovement>], now: Cycle) {
        self.moves = 0;
        self.moved.clear();
        // It is never freed, and no flit that comes makes it ready.
        let no_stream = self.no_stream() as usize;
        self.streams[no_stream] = Stream { waiting: 1, room: 1, ..Stream::default() };
        let mut offered = std::mem::take(&mut self.listed);
        let mut freed = std::mem::take(&mut self.freed);
        loop {
            let together = self.serve_together(worms, now);
            self.moves += together;
            for &channel in offered.as_slice() {
                self.moves += usize::from(self.serve::<MOVES, LAGS>(channel, worms, now, &mut freed));
            }
            offered.clear();
            if freed.length == 0 && together == 0 {
                break;
            }
            for &place in freed.as_slice() {
                let channel = self.streams[place as usize].channel;
                let link = &mut self.links[channel as usize];
                let stream = 1 << (place - link.first);
                if link.served > now {
                    self.will_be_ready(channel, stream);
                } else {
                    let ready = &mut link.ready[self.this];
                    offered.push_if(channel, *ready == 0);
                    *ready |= stream;
                }
            }
            freed.clear();
        }
        for position in 0..self.late.length {
            let place = self.late.items[position];
            let stream = &mut self.streams[place as usize];
            stream.waiting += 1;
            let (channel, ready) = (stream.channel, u64::from(stream.room > 0));
            let first = self.links[channel as usize].first;
            self.will_be_ready(channel, ready << (place - first));
        }
        self.late.clear();
        self.freed = freed;
        self.listed = std::mem::replace(&mut self.coming, offered);
        self.this ^= 1;
    }

    /// Trees in lockstep take the links that they need; returns how many flits leave their vertices.
    fn serve_together(&mut self, worms: &mut [WormState<FlitMovement>], now: Cycle) -> usize {
        let Self { links, lockstep, tree_events, .. } = self;
        lockstep.round(worms, now, tree_events, |needed| {
            let free = needed.iter().all(|&(channel, _)| links[channel as usize].served <= now);
            for &(channel, virtual_channel) in needed.iter().filter(|_| free) {
                let link = &mut links[channel as usize];
                (link.served, link.turn) = (now + 1, ((virtual_channel + 1) % u64::BITS) as u8);
            }
            free
        })
    }

    /// A link serves the ready stream whose turn it is; returns whether it does, which it does not if it has served in this cycle.
    #[inline]
    fn serve<const MOVES: bool, const LAGS: bool>(
        &mut self,
        channel: u32,
        worms: &mut [WormState<FlitMovement>],
        now: Cycle,
        freed: &mut List,
    ) -> bool {
        let link = &mut self.links[channel as usize];
        let ready = std::mem::take(&mut link.ready[self.this]);
        if link.served > now {
            self.will_be_ready(channel, ready);
            return false;
        }
        let turn = u32::from(link.turn);
        let virtual_channel = (turn + ready.rotate_right(turn).trailing_zeros()) % u64::BITS;
        link.turn = ((virtual_channel + 1) % u64::BITS) as u8;
        link.served = now + 1;
        let place = link.first + virtual_channel;
        let stream = &mut self.streams[place as usize];
        debug_assert!(
            stream.waiting > 0 && stream.room > 0 && stream.to_come > 0,
            "a ready stream has a flit and room"
        );
        stream.waiting -= 1;
        stream.room -= 1;
        stream.to_come -= 1;
        let Stream { waiting, room, to_come, mut before, behind, worm, vertex, .. } = *stream;
        // The others, and this one if it has got another flit and room for it.
        let again = u64::from(both(waiting > 0, room > 0));
        self.will_be_ready(channel, ready & !(1 << virtual_channel) | again << virtual_channel);
        if MOVES {
            self.moved.push(place);
        }
        let lag = if LAGS { self.away.lags.of(channel) } else { 0 };
        if vertex & TREE != 0 {
            before = self.copy(worms, worm, vertex, (now, lag == 0));
        } else if to_come == 0 {
            self.tails.push(worm);
        }
        match if LAGS { self.lag_before(before) } else { 0 } {
            0 => {
                let is_ready = self.frees(before as usize);
                freed.push_if(before, is_ready);
            }
            lag => self.away.gives_back(before, now + Cycle::from(lag)),
        }
        if lag > 0 {
            self.away.sends(place, now + Cycle::from(lag));
        } else if behind != NONE {
            self.comes(behind);
        } else if vertex & TREE != 0 {
            self.comes_to_branches(worms, worm, vertex & !TREE);
        } else {
            self.arrivals.push(worm);
        }
        true
    }

    /// The lag of the link of a stream, by which it is later known that a slot behind it is free.
    #[inline]
    fn lag_before(&self, place: u32) -> u32 {
        if self.away.lags.is_empty() || place == self.no_stream() {
            return 0;
        }
        self.away.lags.of(self.streams[place as usize].channel)
    }

    /// Before the first round: slots behind links are known to be free.
    fn take_freed(&mut self, now: Cycle) {
        if self.away.lags.is_empty() {
            return;
        }
        let slot = self.away.slot(now);
        let mut freeing = std::mem::take(&mut self.away.freeing[slot]);
        for place in freeing.drain(..) {
            self.away.comes(place);
            if self.frees(place as usize) {
                self.is_ready(place as usize);
            }
        }
        self.away.freeing[slot] = freeing;
    }

    /// After the last round: flits come to the ends of links, and can leave the buffers there from the next cycle on.
    fn land(&mut self, worms: &mut [WormState<FlitMovement>], now: Cycle) {
        if self.away.lags.is_empty() {
            return;
        }
        let slot = self.away.slot(now);
        let mut landing = std::mem::take(&mut self.away.landing[slot]);
        for place in landing.drain(..) {
            self.away.comes(place);
            let Stream { behind, worm, vertex, .. } = self.streams[place as usize];
            if vertex & TREE == 0 {
                if behind == NONE {
                    self.arrivals.push(worm);
                } else {
                    self.gets_flit(behind as usize);
                }
                continue;
            }
            let vertex = (vertex & !TREE) as usize;
            let Route::Tree(route, flits) = &mut worms[worm as usize].route else { continue };
            if flits.lands(vertex) {
                self.tree_events.push((worm, TreeEvent::HeaderArrived(vertex as u32)));
            }
            let (children, deliveries) = outputs(route, vertex);
            children.for_each(|(channel, vc)| self.gets_flit(self.place(channel, vc)));
            deliveries.for_each(|channel| self.gets_flit(self.place(channel, 0)));
        }
        self.away.landing[slot] = landing;
    }

    /// After the last round: a flit is in the buffer before a stream.
    fn gets_flit(&mut self, place: usize) {
        let stream = &mut self.streams[place];
        stream.waiting += 1;
        if stream.waiting == 1 && stream.room > 0 {
            self.is_ready(place);
        }
    }

    /// The next cycle, from `now` on, in which something comes to the end of a link, or is known to be free behind one.
    pub(super) fn next_due(&self, now: Cycle) -> Option<Cycle> {
        if self.away.pending == 0 {
            return None;
        }
        let is_due = |&cycle: &Cycle| {
            let slot = self.away.slot(cycle);
            !self.away.landing[slot].is_empty() || !self.away.freeing[slot].is_empty()
        };
        (now..=now + Cycle::from(self.away.lags.most())).find(is_due)
    }

    /// A flit has come into the buffer before a stream. It can leave it in the next cycle.
    #[inline]
    fn comes(&mut self, place: u32) {
        let stream = &mut self.streams[place as usize];
        let (first, has_room) = (stream.waiting == 0, stream.room > 0);
        // Room that it gets in this cycle is not for this flit.
        let late = both(first, !has_room);
        stream.waiting += u32::from(!late);
        let channel = stream.channel;
        self.late.push_if(place, late);
        let ready = u64::from(both(first, has_room));
        let begin = self.links[channel as usize].first;
        self.will_be_ready(channel, ready << ((place - begin) % u64::BITS));
    }

    /// A branch of a tree copies a flit; returns the stream into the buffer where that frees a slot.
    fn copy(
        &mut self,
        worms: &mut [WormState<FlitMovement>],
        slot: u32,
        vertex: u32,
        now_and_lands: (Cycle, bool),
    ) -> u32 {
        let Route::Tree(route, flits) = &mut worms[slot as usize].route else { return self.no_stream() };
        let number = vertex & !(TREE | DELIVERY);
        let copying = if vertex & DELIVERY == 0 { Copying::To(number) } else { Copying::Consumed(number) };
        match flits.copy(route, copying, now_and_lands, |event| self.tree_events.push((slot, event))) {
            None | Some(0) => self.no_stream(),
            Some(vertex) => {
                let at = &route.vertices[vertex];
                self.place(at.entered_by.raw(), at.virtual_channel) as u32
            }
        }
    }

    /// A flit of a tree has come to a vertex.
    fn comes_to_branches(&mut self, worms: &[WormState<FlitMovement>], slot: u32, vertex: u32) {
        let Route::Tree(route, _) = &worms[slot as usize].route else { return };
        let (children, deliveries) = outputs(route, vertex as usize);
        children.for_each(|(channel, vc)| self.comes(self.place(channel, vc) as u32));
        deliveries.for_each(|channel| self.comes(self.place(channel, 0) as u32));
    }

    /// The number of the last flit of a path worm that has left a vertex, 0 before the first.
    pub(super) fn left(&self, route: &PathRoute, flits: u32, vertex: u32) -> u32 {
        flits - self.streams[self.out_of(route, vertex)].to_come
    }

    /// Whether the stream on a virtual channel is ready, before the first round.
    fn may_move(&self, channel: u32, virtual_channel: u32) -> bool {
        self.links[channel as usize].ready[self.this] >> virtual_channel & 1 == 1
    }
}

/// The channels of links, with their virtual channels, and of deliveries by which a tree sends from a vertex by now.
fn outputs(
    route: &TreeRoute,
    vertex: usize,
) -> (impl Iterator<Item = (u32, u32)> + '_, impl Iterator<Item = u32> + '_) {
    let children = route.children(vertex).map(|child| &route.vertices[child]).filter(|child| child.reserved);
    let deliveries = route.deliveries_of(&route.vertices[vertex]).iter().map(|delivery| delivery.channel.raw());
    (
        children.map(|child| (child.entered_by.raw(), child.virtual_channel)),
        deliveries.filter(|&channel| channel != NONE),
    )
}

impl<O: Observer> FlitEngine<'_, O> {
    /// A header is granted what it asked for at a vertex: its worm sends over more channels.
    pub(super) fn open_streams(&mut self, slot: u32, vertex: u32) {
        let (buffer, worm) = (self.core.config.buffer, &mut self.core.worms[slot as usize]);
        let shared = &mut self.movement.shared_links;
        let no_stream = shared.no_stream();
        let open = Stream { room: buffer, before: no_stream, behind: NONE, worm: slot, ..Stream::default() };
        match &mut worm.route {
            Route::Path(route, flits) => {
                let place = shared.out_of(route, vertex);
                let mut stream = Stream { to_come: worm.flits - flits.stripped(), vertex, ..open };
                if vertex == 0 {
                    stream.waiting = worm.flits;
                } else {
                    let before = shared.out_of(route, vertex - 1);
                    stream.before = before as u32;
                    stream.waiting = buffer - shared.streams[before].room - shared.away.of(before);
                    shared.streams[before].behind = place as u32;
                }
                if vertex < route.last() {
                    stream.channel = route.entered_by(vertex + 1).raw();
                    if vertex > 0 && !shared.away.lags.is_empty() {
                        flits.takes_link(shared.away.lags.of(stream.channel));
                    }
                } else {
                    (stream.channel, stream.room, stream.behind) = (route.first_consumption(vertex), NONE, no_stream);
                }
                flits.opened(vertex);
                shared.open(place, stream);
            }
            Route::Tree(route, flits) if self.core.config.replication == BranchReplication::Lockstep => {
                flits.granted(route, vertex);
                shared.lockstep.add(worm.id, slot);
            }
            Route::Tree(route, flits) => {
                flits.granted(route, vertex);
                let total = route.vertices[vertex as usize].total;
                let arrived = flits.arrived(route, vertex as usize);
                let open = Stream { waiting: arrived, to_come: total, ..open };
                let mut begin = |channel: ChannelId, virtual_channel, stream: Stream| {
                    let place = shared.place(channel.raw(), virtual_channel);
                    let Stream { worm, vertex, to_come, .. } = shared.streams[place];
                    // Others may have been granted before.
                    if to_come == 0 || (worm, vertex) != (slot, stream.vertex) {
                        shared.open(place, Stream { channel: channel.raw(), ..stream });
                    }
                };
                for child in route.children(vertex as usize) {
                    let to = &route.vertices[child];
                    if to.reserved && flits.is_untouched(Copying::To(child as u32)) {
                        begin(to.entered_by, to.virtual_channel, Stream { vertex: TREE | child as u32, ..open });
                    }
                }
                let (first, end) = route.vertices[vertex as usize].deliveries;
                for delivery in first..end {
                    let channel = route.deliveries[delivery as usize].channel;
                    if channel.raw() != NONE && flits.is_untouched(Copying::Consumed(delivery)) {
                        let vertex = TREE | DELIVERY | delivery;
                        begin(channel, 0, Stream { vertex, room: NONE, behind: no_stream, ..open });
                    }
                }
            }
        }
    }

    pub(super) fn move_on_shared_links(&mut self) {
        let mut shared = std::mem::take(&mut self.movement.shared_links);
        shared.take_freed(self.core.now);
        self.strip_addresses(&mut shared);
        let selector = &mut self.core.channels.arbiter.selector;
        if O::FLITS || selector.counts_flits() {
            shared.rounds::<true>(&mut self.core.worms, self.core.now);
            if selector.counts_flits() {
                let channels = shared.moved.iter().map(|&place| shared.streams[place as usize].channel);
                let links = channels.filter(|&channel| (channel as usize) < shared.shared);
                let together = shared.lockstep.crossed.iter().map(|crossing| crossing.channel.raw());
                let together = together.filter(|&channel| (channel as usize) < shared.shared);
                links.chain(together).for_each(|link| selector.crossed(ChannelId::new(link), 1));
            }
        } else {
            shared.rounds::<false>(&mut self.core.worms, self.core.now);
        }
        shared.land(&mut self.core.worms, self.core.now);
        if O::FLITS {
            self.report_flits(&shared);
        }
        for slot in shared.arrivals.drain(..) {
            self.header_arrives(slot);
        }
        // The flit behind one that was stripped may have been there already.
        for position in 0..self.core.reminded.len() {
            let slot = self.core.reminded[position];
            let Route::Path(route, _) = &self.core.worms[slot as usize].route else { continue };
            let before = shared.out_of(route, route.last() - 1);
            if shared.streams[before].room + shared.away.of(before) < self.core.config.buffer {
                self.header_arrives(slot);
            }
        }
        // Flits of worms that are done now, and of no others: nothing can come of these in the next cycle.
        let mut last = 0;
        for slot in shared.tails.drain(..) {
            let Route::Path(route, _) = &self.core.worms[slot as usize].route else { continue };
            last += usize::from(self.tail_leaves(slot, route.tail));
        }
        for (slot, event) in shared.tree_events.drain(..) {
            last += self.settle_branch(slot, event);
        }
        shared.lockstep.forget(&self.core.worms);
        let waits = shared.listed.length > 0 || shared.lockstep.waits;
        shared.busy = waits || !self.core.reminded.is_empty() || shared.moves > last;
        self.movement.shared_links = shared;
    }

    /// Strips the address flits whose time has come.
    fn strip_addresses(&mut self, shared: &mut SharedLinks) {
        for &slot in &self.core.reminded {
            let Route::Path(route, flits) = &mut self.core.worms[slot as usize].route else { continue };
            flits.strip();
            let into = shared.out_of(route, route.last() - 1);
            match shared.lag_before(into as u32) {
                0 if shared.frees(into) => shared.is_ready(into),
                0 => {}
                lag => shared.away.gives_back(into as u32, self.core.now + Cycle::from(lag)),
            }
        }
    }

    fn report_flits(&mut self, shared: &SharedLinks) {
        for crossing in &shared.lockstep.crossed {
            let id = self.core.worms[crossing.slot as usize].id;
            self.core.reports.observer.flit(self.core.now, id, crossing.channel, crossing.flit);
        }
        for stream in shared.moved.iter().map(|&place| &shared.streams[place as usize]) {
            let worm = &self.core.worms[stream.worm as usize];
            let (now, observer) = (self.core.now, &mut self.core.reports.observer);
            match &worm.route {
                Route::Path(route, _) => {
                    let addresses = self.core.config.header.stripped_of_path(worm.header).unwrap_or(0);
                    let flit = worm.flits - stream.to_come;
                    report_crossing(observer, now, worm.id, route, stream.vertex, flit, addresses);
                }
                Route::Tree(..) => {
                    observer.flit(now, worm.id, ChannelId::new(stream.channel), worm.flits - stream.to_come);
                }
            }
        }
    }

    /// Whether a tree worm has moved in the last cycle, or may move in this one.
    pub(super) fn tree_moves_on_shared_links(&self, slot: u32) -> bool {
        let Route::Tree(route, flits) = &self.core.worms[slot as usize].route else { return false };
        let (shared, config, now) = (&self.movement.shared_links, &self.core.config, self.core.now);
        if config.replication == BranchReplication::Lockstep {
            let may_leave = |v| flits.may_leave(route, v, config.buffer, now);
            return flits.has_moved_before(now, 1) || (0..flits.known()).any(may_leave);
        }
        let mut branches = route.vertices.iter().filter(|at| at.reserved);
        let mut deliveries = route.deliveries.iter().filter(|delivery| delivery.channel.raw() != NONE);
        let under_way = shared.away.pending > 0 && flits.has_moved_before(self.core.now, shared.away.lags.most());
        under_way
            || flits.has_moved_before(self.core.now, 1)
            || branches.any(|at| shared.may_move(at.entered_by.raw(), at.virtual_channel))
            || deliveries.any(|delivery| shared.may_move(delivery.channel.raw(), 0))
    }
}
