//! The observer trait, and the events that it receives.

use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::run::run_end::RunEnd;

/// A point in time, in cycles.
pub type Cycle = u64;

/// A message as observers see it when it is generated.
#[derive(Clone, Copy, Debug)]
pub struct Generated<'a> {
    /// Its id: messages are numbered in the order in which they are generated.
    pub message: u64,
    /// The cycle in which it is generated.
    pub at: Cycle,
    /// The node that generates it.
    pub source: NodeId,
    /// Its destinations.
    pub destinations: &'a [NodeId],
    /// Data flits.
    pub length: u32,
}

/// The parts of a delivery's latency, in cycles; they add up to `delivered - generated`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LatencyParts {
    /// Waiting for the processor, or in per-port mode for an injection channel.
    pub queueing: u64,
    /// Startups, and receive overheads of triggers.
    pub startup: u64,
    /// What the worms take in an empty network.
    pub network: u64,
    /// Waiting for channels; in serial mode, for an injection channel too.
    pub blocking: u64,
}

impl std::ops::AddAssign for LatencyParts {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.queueing += other.queueing;
        self.startup += other.startup;
        self.network += other.network;
        self.blocking += other.blocking;
    }
}

/// A message has arrived at one of its destinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The message.
    pub message: u64,
    /// The worm that brought it; worms are numbered in the order in which messages are generated and in plan order.
    pub worm: u64,
    /// The node that it was delivered to.
    pub node: NodeId,
    /// The cycle after the one in which the last data flit was consumed.
    pub delivered: Cycle,
    /// Where the time went.
    pub parts: LatencyParts,
}

/// Receives the events of a run. Every method has an empty default, and engines are compiled for each observer: what an observer does not
/// use costs nothing.
///
/// Within a cycle, events of different worms come in no particular order. A release may be reported after later events of other
/// worms, but carries its cycle; the releases of one worm come in order, before it is granted anything new, and all of them
/// before [`Engine::each_held`](crate::Engine::each_held) visits or the observer is given back.
pub trait Observer {
    /// Whether [`flit`](Self::flit) is called.
    const FLITS: bool = false;

    /// Whether [`buffered`](Self::buffered) is called.
    const OCCUPANCY: bool = false;

    /// Whether [`requested`](Self::requested) is called, and [`ended`](Self::ended) is told of worms.
    const WAITS: bool = false;

    /// Whether [`ended`](Self::ended) is called.
    const END: bool = false;

    /// Whether [`released`](Self::released) is called.
    const RELEASES: bool = true;

    /// Whether it has to be told when worms start, request, and are granted or give back channels. Where nobody asks for that, several threads can
    /// share a run.
    const CHANNELS: bool = true;

    /// Whether it watches a part of a network.
    #[doc(hidden)]
    const PART: bool = false;

    /// A message is generated.
    fn generated(&mut self, message: &Generated<'_>) {
        let _ = message;
    }

    /// A node starts to prepare a worm.
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        let _ = (at, message, worm, node);
    }

    /// A worm requests any one of these channels, or all of them, and is not granted them at once. It waits until one of them is
    /// granted or, if it requests all, until all are granted together.
    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        let _ = (at, worm, channels);
    }

    /// A worm is granted a channel, of a numbering as in [`ChannelSpace`](wormcast_network::ChannelSpace). A flit of it can
    /// cross in this same cycle.
    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        let _ = (at, worm, channel);
    }

    /// A flit of a worm, counted from 1 in the order in which its sender injects them, crosses a channel.
    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        let _ = (at, worm, channel, flit);
    }

    /// A worm gives a channel back after `flits` flits have crossed it; from the next cycle on it can be granted again.
    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let _ = (at, worm, channel, flits);
    }

    /// As [`released`](Self::released), as soon as it is known: in that cycle or before it, and of different worms and channels in any order.
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        let _ = (at, channel, flits);
    }

    /// A worm delivers.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// The flits that the buffers of a buffered switch hold at the end of a cycle, in every 64th cycle: in FIFOs, and in a central buffer
    /// by whole chunks. They hold the same in so many such cycles, of which this is the first.
    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        let _ = (at, switch, flits, samples);
    }

    /// The run is over.
    fn ended(&mut self, end: &RunEnd<'_>) {
        let _ = end;
    }

    /// Called at the end of every simulated cycle: whether the run may stop.
    fn done(&self) -> bool {
        false
    }
}

impl Observer for () {
    const RELEASES: bool = false;
    const CHANNELS: bool = false;
}

impl<O: Observer> Observer for &mut O {
    const FLITS: bool = O::FLITS;
    const OCCUPANCY: bool = O::OCCUPANCY;
    const WAITS: bool = O::WAITS;
    const END: bool = O::END;
    const RELEASES: bool = O::RELEASES;
    const CHANNELS: bool = O::CHANNELS;

    #[inline]
    fn generated(&mut self, message: &Generated<'_>) {
        (**self).generated(message);
    }

    #[inline]
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        (**self).started(at, message, worm, node);
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        (**self).requested(at, worm, channels);
    }

    #[inline]
    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        (**self).granted(at, worm, channel);
    }

    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        (**self).flit(at, worm, channel, flit);
    }

    #[inline]
    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        (**self).released(at, worm, channel, flits);
    }

    #[inline]
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        (**self).settled(at, channel, flits);
    }

    #[inline]
    fn delivered(&mut self, delivery: &Delivery) {
        (**self).delivered(delivery);
    }

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        (**self).buffered(at, switch, flits, samples);
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        (**self).ended(end);
    }

    #[inline]
    fn done(&self) -> bool {
        (**self).done()
    }
}

impl<O: Observer> Observer for Option<O> {
    const FLITS: bool = O::FLITS;
    const OCCUPANCY: bool = O::OCCUPANCY;
    const WAITS: bool = O::WAITS;
    const END: bool = O::END;
    const RELEASES: bool = O::RELEASES;
    const CHANNELS: bool = O::CHANNELS;

    fn generated(&mut self, message: &Generated<'_>) {
        if let Some(observer) = self {
            observer.generated(message);
        }
    }

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        if let Some(observer) = self {
            observer.started(at, message, worm, node);
        }
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        if let Some(observer) = self {
            observer.requested(at, worm, channels);
        }
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        if let Some(observer) = self {
            observer.granted(at, worm, channel);
        }
    }

    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        if let Some(observer) = self {
            observer.flit(at, worm, channel, flit);
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        if let Some(observer) = self {
            observer.released(at, worm, channel, flits);
        }
    }

    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        if let Some(observer) = self {
            observer.settled(at, channel, flits);
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        if let Some(observer) = self {
            observer.delivered(delivery);
        }
    }

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        if let Some(observer) = self {
            observer.buffered(at, switch, flits, samples);
        }
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        if let Some(observer) = self {
            observer.ended(end);
        }
    }

    fn done(&self) -> bool {
        self.as_ref().is_some_and(Observer::done)
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const FLITS: bool = A::FLITS || B::FLITS;
    const OCCUPANCY: bool = A::OCCUPANCY || B::OCCUPANCY;
    const WAITS: bool = A::WAITS || B::WAITS;
    const END: bool = A::END || B::END;
    const RELEASES: bool = A::RELEASES || B::RELEASES;
    const CHANNELS: bool = A::CHANNELS || B::CHANNELS;

    #[inline]
    fn generated(&mut self, message: &Generated<'_>) {
        self.0.generated(message);
        self.1.generated(message);
    }

    #[inline]
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        self.0.started(at, message, worm, node);
        self.1.started(at, message, worm, node);
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        self.0.requested(at, worm, channels);
        self.1.requested(at, worm, channels);
    }

    #[inline]
    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.0.granted(at, worm, channel);
        self.1.granted(at, worm, channel);
    }

    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        self.0.flit(at, worm, channel, flit);
        self.1.flit(at, worm, channel, flit);
    }

    #[inline]
    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        self.0.released(at, worm, channel, flits);
        self.1.released(at, worm, channel, flits);
    }

    #[inline]
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        self.0.settled(at, channel, flits);
        self.1.settled(at, channel, flits);
    }

    #[inline]
    fn delivered(&mut self, delivery: &Delivery) {
        self.0.delivered(delivery);
        self.1.delivered(delivery);
    }

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        self.0.buffered(at, switch, flits, samples);
        self.1.buffered(at, switch, flits, samples);
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.0.ended(end);
        self.1.ended(end);
    }

    #[inline]
    fn done(&self) -> bool {
        self.0.done() || self.1.done()
    }
}
