//! The engine trait and what every engine is configured with.

use wormcast_multicast::Plan;
use wormcast_network::{ChannelId, Network, Ports};
use wormcast_routing::{Branching, NoRoute};

use crate::config::buffer::Buffer;
use crate::config::delay::LinkDelay;
use crate::config::switching::{BranchReplication, Header, Reservation, SelectionPolicy, Wormhole};
use crate::config::{StartupMode, Timing};
use crate::observers::observer::{Cycle, Observer};
use crate::run::result::Deadlock;
use crate::run::run_end::{Held, WormAtEnd};

/// The parameters of switches and nodes that an engine needs, in cycles and flits. Checked by [`Scenario`](crate::Scenario).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineConfig {
    /// Injection and consumption channels of each node.
    pub ports: Ports,
    /// Flits a buffer, at least 1.
    pub buffer: u32,
    /// Virtual channels a link, at least 1; more than one for paths and for trees with independent branches only.
    pub virtual_channels: u32,
    /// Startup cycles a worm.
    pub startup: u32,
    /// What a startup keeps busy.
    pub startup_mode: StartupMode,
    /// Routing delay.
    pub routing_delay: u32,
    /// Strip delay.
    pub strip_delay: u32,
    /// Cycles between a delivery and the readiness of what it triggers.
    pub receive_overhead: u32,
    /// Cycles that a flit takes over a link.
    pub delay: LinkDelay,
    /// What travels in front of the data.
    pub header: Header,
    /// Flits of a fixed header.
    pub header_flits: u32,
    /// How flits leave a replication point.
    pub replication: BranchReplication,
    /// How independent branches are reserved.
    pub reservation: Reservation,
    /// Which of several free channels a header takes.
    pub selection: SelectionPolicy,
    /// The seed of what is drawn for `selection`; nothing else depends on it.
    pub seed: u64,
}

/// Why a call of [`Engine::run_until`] returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// It reached the end that was asked for.
    EndReached,
    /// The observer was done.
    ObserverDone,
    /// There is a deadlock.
    Deadlock(Deadlock),
    /// A header has no route to its next stop.
    NoRoute(NoRoute),
}

/// Takes plans at given cycles and tells an [`Observer`] what happens to them, by the rules of `docs/model.md`.
pub trait Engine {
    /// The observer.
    type Observer: Observer;

    /// The name in results.
    fn name(&self) -> &'static str;

    /// The first cycle that has not been simulated.
    fn now(&self) -> Cycle;

    /// Puts the worms of a message's plan into the queues of their senders: the message is generated at `at`, a cycle that has
    /// not been simulated. `length` is its number of data flits, at least 1. The plan is one that
    /// [`Plan::check`] finds nothing wrong with, and binds worms to existing channels only. Worms are numbered in the order of these calls.
    fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan);

    /// As [`submit`](Self::submit), leaving lists to be used again in the next plan: nothing else of the plan counts any more.
    fn submit_from(&mut self, at: Cycle, message: u64, length: u32, plan: &mut Plan) {
        self.submit(at, message, length, std::mem::take(plan));
    }

    /// Reserves memory for `worms` more worms, as [`submit`](Self::submit) would; `false` if there is not enough.
    fn has_room(&mut self, worms: usize) -> bool;

    /// Simulates all cycles before `end`, or fewer if the observer is done, worms are deadlocked or a header has no route.
    /// With `Cycle::MAX`, until nothing is left to happen.
    fn run_until(&mut self, end: Cycle) -> StopReason;

    /// Simulates until no worm is left, but no cycle from `limit` on: `now` is then the cycle after the last in which
    /// there was one. Ends early like [`run_until`](Self::run_until).
    fn drain(&mut self, limit: Cycle) -> StopReason;

    /// Whether no worm is left.
    fn is_empty(&self) -> bool;

    /// The worms that wait for each other forever by now. Running looks for them only now and then.
    fn deadlock(&mut self) -> Option<Deadlock>;

    /// Flits that have crossed channels between routers, counted when the channels are released.
    fn flit_hops(&mut self) -> u64;

    /// Calls `visit` with every channel that a worm holds and the flits that have crossed it so far, after all earlier releases
    /// have been reported.
    fn each_held(&mut self, visit: &mut dyn FnMut(Held));

    /// Calls `visit` with every link that a worm holds and whose release the observer has been [told of](Observer::settled) though it is still to come: its
    /// cycle, and the flits that will have crossed the link by then.
    fn each_settled(&mut self, visit: &mut dyn FnMut(ChannelId, Cycle, u32)) {
        let _ = visit;
    }

    /// Every worm that has been submitted and has not delivered everywhere, by id: what it holds, what it waits for, and whether
    /// it does so forever. All earlier releases are reported before.
    fn worms(&mut self) -> Vec<WormAtEnd>;

    /// The observer.
    fn observer(&self) -> &Self::Observer;

    /// The observer, mutably.
    fn observer_mut(&mut self) -> &mut Self::Observer;

    /// Ends the run and gives the observer back.
    fn into_observer(self) -> Self::Observer
    where
        Self: Sized;
}

/// Reserves room for more items in a list: for twice as many, or at least for some; `false` if there is not enough memory.
pub(crate) fn has_room<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.try_reserve(more).is_ok() || list.try_reserve_exact(more + list.len() / 16).is_ok()
}

impl EngineConfig {
    /// The configuration that the settings mean on `network`. The defaults are those of switches with one-flit buffers, where trees are
    /// replicated in lockstep; [`Wormhole::for_branching`] sets what an algorithm wants.
    pub fn new(switching: &Wormhole, timing: &Timing, network: &Network) -> Self {
        Self {
            ports: switching.ports(None),
            buffer: switching.buffer.map_or(1, Buffer::flits),
            virtual_channels: switching.virtual_channels,
            startup: timing.startup,
            startup_mode: timing.startup_mode.or(switching.startup_mode).unwrap_or_default(),
            routing_delay: timing.routing_delay,
            strip_delay: timing.strip_delay.unwrap_or(timing.routing_delay),
            receive_overhead: timing.receive_overhead,
            delay: timing.delay.unwrap_or_default().on(network),
            header: switching.header,
            header_flits: switching.header_flits.unwrap_or_else(|| Header::default_flits(network)),
            replication: switching.replication.unwrap_or(BranchReplication::Lockstep),
            reservation: switching.reservation.unwrap_or(Reservation::Atomic),
            selection: switching.selection,
            seed: 0,
        }
    }

    /// Whether what one worm does may matter to another in the same cycle, or to itself only later: virtual channels share links, or links take more than one cycle.
    pub(crate) fn has_streams(&self) -> bool {
        self.virtual_channels > 1 || !self.delay.is_one()
    }

    /// What decides whether branches of trees hold each other up. Buffers take whole worms if they are
    /// [`Buffer::WHOLE`] flits deep.
    pub fn branching(&self) -> Branching {
        let independent = self.replication == BranchReplication::Independent;
        Branching {
            packet_buffers: self.buffer >= Buffer::WHOLE,
            separate: independent && self.reservation == Reservation::Separate,
        }
    }
}
