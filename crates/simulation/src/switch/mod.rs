//! The switch engine: buffered switches with multidestination worms, cycle by cycle (paper 4). `docs/switches.md` has its rules.

mod at_end;
mod central;
mod config;
mod cross;
mod deadlock;
mod grant;
mod hosts;
mod input;
mod invariants;
mod packets;
mod wiring;

use std::collections::VecDeque;

use wormcast_multicast::{Itinerary, Plan};
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{Decision, MultidestinationRouting, NoRoute, RoutingCapabilities, RoutingRelation, Spread};

use self::central::Central;
pub use self::config::SwitchConfig;
use self::hosts::Hosts;
use self::input::Readers;
use self::packets::{Course, Packet, Packets, SwitchWorm, SwitchWorms};
use self::wiring::{Order, Wiring};
use crate::config::switching::{BranchTiming, Organization, SelectionPolicy};
use crate::engine::{Engine, StopReason};
use crate::observers::observer::{Cycle, LatencyParts, Observer};
use crate::run::result::Deadlock;
use crate::run::run_end::{Held, WormAtEnd};
use crate::selection::Selector;

/// No channel, packet or chunk.
const NIL: u32 = u32::MAX;

/// Cycles between two looks for worms that block each other while others move.
const DEADLOCK_PERIOD: Cycle = 4096;

/// Cycles between two samples of the buffers.
const SAMPLE_PERIOD: Cycle = 64;

/// Where the flits come from that an output sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// Nothing is sent.
    Idle,
    /// From a node.
    Node,
    /// Flit by flit from an input's FIFO.
    Crossbar,
    /// Chunk by chunk from a buffer, by way of the output's register.
    Register,
    /// From an input's FIFO, together with the other branches.
    Lockstep,
}

/// The sending end of a channel.
#[derive(Clone, Copy, Debug)]
struct Line {
    source: Source,
    /// The packet that crosses; `NIL` if idle.
    packet: u32,
    /// Its flits.
    flits: u32,
    /// Those that have not crossed.
    left: u32,
    /// Slots of the FIFO at the other end that are free, as far as is known here.
    space: u32,
    /// Flits that can cross: of the node, in the input's FIFO or in the register; 0 in lock-step.
    ready: u32,
    /// The input that the packet comes from; `NIL` if from a node or a shared buffer.
    from: u32,
    /// Flits that have been read from an input's buffer.
    read: u32,
}

/// How far the packet at the head of an input's FIFO is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// There is none.
    Empty,
    /// Its header is not routed.
    New,
    /// It waits for an output, any of its candidates.
    Waiting,
    /// It crosses flit by flit.
    Crossing,
    /// Central buffer: it is to be replicated and waits for room for all of it.
    Admission,
    /// Central buffer: its chunks are written.
    Writing,
    /// Input buffer: it is replicated; branches that have their outputs go on.
    Replicating,
    /// Input buffer: it is replicated once all branches have their outputs.
    Lockstep,
}

/// The receiving end of a channel: a FIFO.
#[derive(Clone, Copy, Debug)]
struct Input {
    state: State,
    /// Flits that may leave: they have gone through the routing stages.
    avail: u32,
    /// Flits of the first packet that have not left.
    left: u32,
    /// The first packet and the last; `NIL`: none.
    front: u32,
    back: u32,
    /// The output that the first packet crosses to, flit by flit.
    output: u32,
}

/// An output that a packet at the head of a FIFO is to have.
#[derive(Clone, Copy, Debug)]
struct Want {
    output: u32,
    /// What it carries there.
    packet: u32,
    granted: bool,
}

/// Where packets that wait are kept.
enum Memory {
    Central(Box<Central>),
    Input(Readers),
}

/// The switch engine. It simulates cycle by cycle, and only those in which something may happen.
pub struct SwitchEngine<'a, O> {
    network: &'a Network,
    routing: &'a dyn RoutingRelation,
    /// Parallel channels, where packets choose among those that are free.
    spread: Option<&'a dyn Spread>,
    multidestination: Option<&'a dyn MultidestinationRouting>,
    config: SwitchConfig,
    observer: O,
    now: Cycle,
    wiring: Wiring,
    lines: Vec<Line>,
    inputs: Vec<Input>,
    /// Lines that are not idle.
    active: Vec<u32>,
    /// Channels that flits have crossed in this cycle.
    crossed: Vec<u32>,
    /// Channels whose flits become available, for each cycle ahead.
    wheel: VecDeque<Vec<u32>>,
    /// Flits on their way through the routing stages.
    coming: u32,
    /// FIFOs in which slots became free in this cycle, and how many.
    freed: Vec<(u32, u32)>,
    packets: Packets,
    worms: SwitchWorms,
    next_worm: u64,
    hosts: Hosts,
    /// Inputs, for each switch, that ask for outputs.
    requests: Vec<u64>,
    grant_order: Order,
    /// Outputs, the one that was given a packet least recently first.
    output_order: Order,
    /// What each input's first packet is to have, and when that was decided.
    wants: Vec<Vec<Want>>,
    routed: Vec<Cycle>,
    memory: Memory,
    decision: Decision,
    candidates: Vec<ChannelId>,
    /// Which of several free channels up a packet takes, unless it is the one that was given a packet least recently.
    selector: Option<Selector>,
    /// Whether that depends on the flits that have crossed them.
    counts_flits: bool,
    /// Scratch: those that are free.
    open: Vec<ChannelId>,
    no_route: Option<NoRoute>,
    /// Whether anything has happened in this cycle.
    moved: bool,
    flit_hops: u64,
}

impl<'a, O: Observer> SwitchEngine<'a, O> {
    /// An engine for an empty network; `routing` routes the worms.
    ///
    /// `config` is one that [`SwitchConfig::check`] has no objection to.
    pub fn new(routing: &'a dyn RoutingRelation, config: SwitchConfig, observer: O) -> Self {
        let network = &**routing.network();
        let RoutingCapabilities { spread, multidestination, .. } = routing.capabilities();
        let chooses = config.selection.is_some_and(|selection| selection != SelectionPolicy::First);
        let wiring = Wiring::new(network);
        let channels = wiring.space.len();
        let line = |channel| Line {
            source: Source::Idle,
            packet: NIL,
            flits: 0,
            left: 0,
            space: if channel < wiring.consumption { config.input_fifo } else { u32::MAX },
            ready: 0,
            from: NIL,
            read: 0,
        };
        let selector = config.selection.map(|selection| Selector::new(selection, config.seed, wiring.links));
        let memory = match config.organization {
            Organization::Central { chunks, header_chunks } => {
                Memory::Central(Box::new(Central::new(&wiring, &config, chunks, header_chunks)))
            }
            Organization::Input { replication, .. } => {
                Memory::Input(Readers::new(&wiring, &config, replication == BranchTiming::Synchronous))
            }
        };
        Self {
            network,
            routing,
            spread: spread.filter(|_| chooses),
            multidestination,
            observer,
            now: 0,
            lines: (0..channels).map(line).collect(),
            inputs: vec![
                Input { state: State::Empty, avail: 0, left: 0, front: NIL, back: NIL, output: NIL };
                channels
            ],
            active: Vec::new(),
            crossed: Vec::new(),
            wheel: vec![Vec::new(); config.fifo_delay() as usize].into(),
            coming: 0,
            freed: Vec::new(),
            packets: Packets::new(network.nodes()),
            worms: SwitchWorms::default(),
            next_worm: 0,
            hosts: Hosts::new(network.nodes()),
            requests: vec![0; wiring.switches],
            grant_order: Order::new(&wiring.first_in),
            output_order: Order::new(&wiring.first_out),
            wants: vec![Vec::new(); channels],
            routed: vec![0; channels],
            memory,
            decision: Decision::default(),
            candidates: Vec::new(),
            counts_flits: selector.as_ref().is_some_and(Selector::counts_flits),
            selector,
            open: Vec::new(),
            no_route: None,
            moved: false,
            flit_hops: 0,
            wiring,
            config,
        }
    }

    /// Simulates one cycle.
    fn cycle(&mut self) {
        self.moved = false;
        self.look_at_hosts();
        self.cross();
        self.arrive();
        self.grant();
        match self.memory {
            Memory::Central(_) => {
                self.write_chunks();
                self.read_chunks();
            }
            Memory::Input(_) => self.read_inputs(),
        }
        for (input, slots) in self.freed.drain(..) {
            self.lines[input as usize].space += slots;
        }
        if cfg!(debug_assertions) {
            self.check_invariants();
        }
        if O::OCCUPANCY && self.now.is_multiple_of(SAMPLE_PERIOD) {
            self.sample_buffers(self.now, 1);
        }
        self.now += 1;
    }

    /// Gives a line a packet, whose first flit may cross from `first` on.
    fn start(&mut self, channel: usize, packet: u32, source: Source, first: Cycle) {
        let line = &mut self.lines[channel];
        debug_assert_eq!(line.source, Source::Idle);
        line.source = source;
        line.packet = packet;
        line.flits = self.packets[packet].flits;
        line.left = line.flits;
        (line.ready, line.read, line.from) = (if source == Source::Node { line.flits } else { 0 }, 0, NIL);
        self.active.push(channel as u32);
        self.moved = true;
        if source != Source::Node {
            self.output_order.served(self.wiring.from[channel] as usize, self.wiring.out_port[channel]);
        }
        let worm = self.worms[self.packets[packet].worm].id;
        self.observer.granted(first, worm, ChannelId::new(channel as u32));
    }

    /// The first packet of a FIFO has left it.
    fn pop_front(&mut self, input: usize) {
        let front = self.inputs[input].front;
        let next = self.packets[front].next;
        self.packets.remove(front);
        self.wants[input].clear();
        let fifo = &mut self.inputs[input];
        fifo.front = next;
        if next == NIL {
            (fifo.back, fifo.left, fifo.state) = (NIL, 0, State::Empty);
        } else {
            (fifo.left, fifo.state) = (self.packets[next].flits, State::New);
            if fifo.avail > 0 {
                self.request(input);
            }
        }
    }

    /// An input's first packet asks for outputs from now on.
    #[inline]
    fn request(&mut self, input: usize) {
        self.requests[self.wiring.to[input] as usize] |= 1 << self.wiring.in_port[input];
    }

    /// Goes on with a later cycle. Until then buffers hold what they hold.
    fn skip_to(&mut self, next: Cycle) {
        let first = self.now.next_multiple_of(SAMPLE_PERIOD);
        if O::OCCUPANCY && first < next {
            self.sample_buffers(first, (next - 1 - first) / SAMPLE_PERIOD + 1);
        }
        self.now = next;
    }

    /// Reports what the buffers hold in a cycle, and so many samples from then on.
    fn sample_buffers(&mut self, at: Cycle, samples: u64) {
        for switch in 0..self.wiring.switches {
            let inputs = self.wiring.first_in[switch] as usize..self.wiring.first_in[switch + 1] as usize;
            let fifo = |&input: &u32| u64::from(self.config.input_fifo - self.lines[input as usize].space);
            let mut flits: u64 = self.wiring.inputs[inputs].iter().map(fifo).sum();
            if let Memory::Central(central) = &self.memory {
                flits += u64::from(central.used(switch)) * u64::from(self.config.chunk_flits);
            }
            self.observer.buffered(at, RouterId::new(switch as u32), flits, samples);
        }
    }

    /// Simulates all cycles before `end`, or until no worm is left.
    fn advance(&mut self, end: Cycle, drain: bool) -> StopReason {
        while self.now < end && !(drain && self.worms.is_empty()) {
            if self.active.is_empty() && self.coming == 0 && self.packets.len() == 0 {
                // Nothing is in the network: go on with what nodes have to do next.
                match self.hosts.next() {
                    Some(next) if next > self.now => self.skip_to(next.min(end)),
                    Some(_) => {}
                    None if end == Cycle::MAX => return StopReason::EndReached,
                    None => self.skip_to(end),
                }
                if self.now >= end {
                    return StopReason::EndReached;
                }
            }
            self.cycle();
            if let Some(no_route) = self.no_route.take() {
                return StopReason::NoRoute(no_route);
            }
            if self.observer.done() {
                return StopReason::ObserverDone;
            }
            let still = !self.moved && self.coming == 0;
            if (still || self.now.is_multiple_of(DEADLOCK_PERIOD))
                && let Some(deadlock) = self.find_deadlock()
            {
                return StopReason::Deadlock(deadlock);
            }
            if still
                && !self.worms.is_empty()
                && let Some(next) = self.hosts.next()
            {
                // Nothing in the network changes before a node does something.
                self.skip_to(self.now.max(next.min(end)));
            }
        }
        StopReason::EndReached
    }
}

impl<O: Observer> Engine for SwitchEngine<'_, O> {
    type Observer = O;

    fn name(&self) -> &'static str {
        "switch"
    }

    fn now(&self) -> Cycle {
        self.now
    }

    fn has_room(&mut self, worms: usize) -> bool {
        self.worms.has_room(worms)
    }

    fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) {
        let first = self.next_worm;
        let mut slots: Vec<u32> = Vec::with_capacity(plan.worms.len());
        for planned in plan.worms {
            let (course, header, missing) = match planned.itinerary {
                Itinerary::Path(path) => {
                    debug_assert_eq!(path.stops.len(), 1, "`simulate` refuses others");
                    let target = path.stops.first().copied().unwrap_or(planned.from);
                    (Course::Unicast { exit: path.exit, target }, self.config.unicast_header_flits, 1)
                }
                Itinerary::Encoded(encoded) => {
                    let header = self.config.header_flits_of(&encoded, self.network, planned.from);
                    let missing = encoded.destinations.len() as u32;
                    (Course::Encoded(encoded), header, missing)
                }
                Itinerary::Tree(_) => unreachable!("`simulate` refuses them"),
            };
            let id = self.next_worm;
            self.next_worm += 1;
            let slot = self.worms.add(SwitchWorm {
                id,
                message,
                from: planned.from,
                course,
                flits: header + length,
                missing,
                followers: Vec::new(),
                ready: at,
                started: 0,
                before: LatencyParts::default(),
            });
            slots.push(slot);
            match planned.after {
                None => self.hosts.add(planned.from, at, id, slot),
                Some(trigger) => self.worms[slots[trigger as usize]].followers.push((planned.from, slot)),
            }
        }
        debug_assert_eq!(self.next_worm - first, slots.len() as u64);
    }

    fn run_until(&mut self, end: Cycle) -> StopReason {
        self.advance(end, false)
    }

    fn drain(&mut self, limit: Cycle) -> StopReason {
        self.advance(limit, true)
    }

    fn is_empty(&self) -> bool {
        self.worms.is_empty()
    }

    fn deadlock(&mut self) -> Option<Deadlock> {
        self.find_deadlock()
    }

    fn flit_hops(&mut self) -> u64 {
        self.flit_hops
    }

    fn each_held(&mut self, visit: &mut dyn FnMut(Held)) {
        for &channel in &self.active {
            let line = &self.lines[channel as usize];
            let Packet { worm, flits, .. } = self.packets[line.packet];
            let (channel, worm) = (ChannelId::new(channel), self.worms[worm].id);
            visit(Held { channel, virtual_channel: 0, worm, flits: flits - line.left });
        }
    }

    fn worms(&mut self) -> Vec<WormAtEnd> {
        self.worms_at_end()
    }

    fn observer(&self) -> &O {
        &self.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    fn into_observer(self) -> O {
        self.observer
    }
}
