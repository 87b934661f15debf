//! The rules of `docs/switches.md` once more, as literally as they can be put: FIFOs are queues of flits, an output's queue is a list
//! of packets with lists of chunks, room is counted anew each time, and every cycle looks at everything. Slow, and without the
//! engine's pointers, counters, wake-ups and calendars, with which it shares nothing.

mod buffers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wormcast_multicast::{Itinerary, Worm};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{Decision, RoutingRelation, Step, node_set};
use wormcast_simulation::{Cycle, Organization, SelectionPolicy, SwitchConfig};

use crate::oracle::mix;
use crate::support::Sent;

/// A flit in a FIFO, which it may leave after cycle `arrival`.
struct Flit {
    packet: usize,
    arrival: Cycle,
}

/// A copy of a worm on one channel.
#[derive(Clone)]
struct Packet {
    worm: usize,
    flits: u32,
    destinations: Vec<u64>,
}

/// A worm as its sender sees it.
struct Sender {
    worm: Worm,
    length: u32,
    /// When it is ready to be prepared; `None`: not known yet.
    ready: Option<Cycle>,
    /// The worm whose delivery makes it ready.
    after: Option<usize>,
    started: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Node,
    Crossbar(usize),
    Register,
}

/// A channel that is being crossed.
struct Crossing {
    packet: usize,
    left: u32,
    from: From,
    register: u32,
    /// Input buffer: flits read so far.
    read: u32,
}

/// A packet in an output's queue, with its chunks that the output has not read.
struct Stored {
    packet: usize,
    chunks: VecDeque<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Single,
    Replicated,
    Own(usize),
}

struct Chunk {
    switch: usize,
    flits: u32,
    readers: usize,
    purpose: Purpose,
}

/// A branch that the first packet of a FIFO is to have: the output, and the copy that it carries.
#[derive(Clone, Copy)]
struct Branch {
    output: usize,
    packet: usize,
    granted: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// Not routed.
    New,
    /// For any one output.
    Waiting,
    Crossing,
    /// For room in the central buffer.
    Admission,
    /// Into the central buffer.
    Writing,
    /// From the input buffer.
    Replicating,
}

/// What happens to the first packet of a FIFO.
struct First {
    stage: Stage,
    branches: Vec<Branch>,
    /// Its flits that have left.
    gone: u32,
    /// Copies of the header chunk that have been written.
    headers: usize,
    /// Chunks promised to it that it has not taken.
    promised: u32,
}

impl First {
    fn new() -> Self {
        Self { stage: Stage::New, branches: Vec::new(), gone: 0, headers: 0, promised: 0 }
    }
}

pub(crate) struct SwitchOracle<'a> {
    network: &'a Network,
    routing: &'a dyn RoutingRelation,
    config: SwitchConfig,
    now: Cycle,
    senders: Vec<Sender>,
    /// For each node, the worm in its startup with its end, and those that wait for the injection channel.
    preparing: Vec<Option<(usize, Cycle)>>,
    prepared: Vec<VecDeque<usize>>,
    packets: Vec<Packet>,
    /// By channel: links, injection channels, consumption channels.
    fifos: Vec<VecDeque<Flit>>,
    firsts: Vec<First>,
    crossings: Vec<Option<Crossing>>,
    /// Central buffer: packets queued at an output, and what of the one that it sends is still to be read.
    queues: Vec<VecDeque<Stored>>,
    sending: Vec<VecDeque<usize>>,
    chunks: Vec<Option<Chunk>>,
    /// Inputs and outputs of each switch, the one that was served least recently first.
    granted: Vec<Vec<usize>>,
    given: Vec<Vec<usize>>,
    wrote: Vec<Vec<usize>>,
    read: Vec<Vec<usize>>,
    /// Flits that have crossed each channel, and what was taken last of each set of candidates.
    sent: Vec<u64>,
    taken: BTreeMap<BTreeSet<usize>, usize>,
    /// (worm, node, when).
    pub(crate) deliveries: Vec<(u64, u32, Cycle)>,
}

impl<'a> SwitchOracle<'a> {
    pub(crate) fn new(network: &'a Network, routing: &'a dyn RoutingRelation, config: SwitchConfig) -> Self {
        let (links, nodes) = (network.channels(), network.nodes());
        let channels = links + 2 * nodes;
        let routers = || (0..network.routers() as u32).map(RouterId::new);
        let at = |switch: RouterId| network.nodes_of(switch).map(NodeId::index);
        let inputs: Vec<Vec<usize>> = routers()
            .map(|switch| {
                let from_links = network.inputs(switch).map(ChannelId::index);
                let sends_here = |node: &NodeId| network.entry_of(*node) == switch;
                from_links.chain(network.node_ids().filter(sends_here).map(|node| links + node.index())).collect()
            })
            .collect();
        let outputs: Vec<Vec<usize>> = routers()
            .map(|switch| {
                let to_links = network.outputs(switch).map(ChannelId::index);
                to_links.chain(at(switch).map(|node| links + nodes + node)).collect()
            })
            .collect();
        Self {
            network,
            routing,
            config,
            now: 0,
            senders: Vec::new(),
            preparing: vec![None; nodes],
            prepared: vec![VecDeque::new(); nodes],
            packets: Vec::new(),
            fifos: (0..channels).map(|_| VecDeque::new()).collect(),
            firsts: (0..channels).map(|_| First::new()).collect(),
            crossings: (0..channels).map(|_| None).collect(),
            queues: (0..channels).map(|_| VecDeque::new()).collect(),
            sending: vec![VecDeque::new(); channels],
            chunks: Vec::new(),
            granted: inputs.clone(),
            given: outputs.clone(),
            wrote: inputs,
            read: outputs,
            sent: vec![0; channels],
            taken: BTreeMap::new(),
            deliveries: Vec::new(),
        }
    }

    /// All deliveries of these messages.
    pub(crate) fn run(mut self, messages: &[Sent]) -> Vec<(u64, u32, Cycle)> {
        let mut expected = 0;
        for (at, length, worms) in messages {
            let first = self.senders.len();
            for worm in worms {
                expected += match &worm.itinerary {
                    Itinerary::Encoded(encoded) => encoded.destinations.len(),
                    _ => 1,
                };
                let after = worm.after.map(|after| first + after as usize);
                let ready = after.is_none().then_some(*at);
                self.senders.push(Sender { worm: worm.clone(), length: *length, ready, after, started: false });
            }
        }
        while self.deliveries.len() < expected {
            assert!(self.now < 1_000_000, "everything arrives");
            self.nodes();
            self.cross();
            for switch in 0..self.network.routers() {
                self.grant(switch);
            }
            match self.config.organization {
                Organization::Central { .. } => {
                    for switch in 0..self.network.routers() {
                        self.write(switch);
                        self.read_chunk(switch);
                    }
                }
                Organization::Input { .. } => {
                    for input in 0..self.fifos.len() {
                        self.read_input(input);
                    }
                }
            }
            self.now += 1;
        }
        self.deliveries.sort_unstable();
        self.deliveries
    }

    fn links(&self) -> usize {
        self.network.channels()
    }

    fn nodes(&mut self) {
        for node in 0..self.network.nodes() {
            loop {
                if let Some((worm, end)) = self.preparing[node] {
                    if end > self.now {
                        break;
                    }
                    self.preparing[node] = None;
                    self.prepared[node].push_back(worm);
                }
                let waits = |worm: &usize| {
                    let sender = &self.senders[*worm];
                    sender.worm.from.index() == node && !sender.started && sender.ready.is_some_and(|at| at <= self.now)
                };
                let next = (0..self.senders.len()).filter(waits).min_by_key(|&worm| (self.senders[worm].ready, worm));
                let Some(worm) = next else { break };
                self.senders[worm].started = true;
                self.preparing[node] = Some((worm, self.now + Cycle::from(self.config.startup)));
            }
            let injection = self.links() + node;
            if self.crossings[injection].is_none()
                && let Some(worm) = self.prepared[node].pop_front()
            {
                let sender = &self.senders[worm];
                let (header, to) = match &sender.worm.itinerary {
                    Itinerary::Encoded(encoded) => {
                        let bits = self.config.flit_bits;
                        let header = encoded.header_flits(self.network, sender.worm.from, bits);
                        (header, encoded.destinations.clone())
                    }
                    Itinerary::Path(path) => (self.config.unicast_header_flits, path.stops.clone()),
                    Itinerary::Tree(_) => unreachable!("not sent"),
                };
                let destinations = node_set::of(self.network.nodes(), to);
                self.packets.push(Packet { worm, flits: header + sender.length, destinations });
                self.begin(injection, self.packets.len() - 1, From::Node);
            }
        }
    }

    fn begin(&mut self, channel: usize, packet: usize, from: From) {
        assert!(self.crossings[channel].is_none());
        let left = self.packets[packet].flits;
        self.crossings[channel] = Some(Crossing { packet, left, from, register: 0, read: 0 });
        for outputs in &mut self.given {
            served(outputs, channel);
        }
    }

    /// Flits of a FIFO's first packet that may leave.
    fn available(&self, input: usize) -> u32 {
        let Some(front) = self.fifos[input].front() else { return 0 };
        let of_first = self.fifos[input].iter().take_while(|flit| flit.packet == front.packet);
        of_first.filter(|flit| flit.arrival <= self.now).count() as u32
    }

    fn cross(&mut self) {
        // What is known at the beginning of the cycle.
        let full: Vec<bool> = self.fifos.iter().map(|fifo| fifo.len() as u32 >= self.config.input_fifo).collect();
        let earlier = |fifo: &VecDeque<Flit>, now| fifo.front().is_some_and(|flit| flit.arrival < now);
        let there: Vec<bool> = self.fifos.iter().map(|fifo| earlier(fifo, self.now)).collect();
        for (channel, full) in full.into_iter().enumerate() {
            let Some(crossing) = &mut self.crossings[channel] else { continue };
            let flit = match crossing.from {
                From::Node => true,
                From::Crossbar(input) => there[input],
                From::Register => crossing.register > 0,
            };
            if !flit || full {
                continue;
            }
            crossing.left -= 1;
            self.sent[channel] += 1;
            let (packet, left, from) = (crossing.packet, crossing.left, crossing.from);
            if from == From::Register {
                crossing.register -= 1;
            }
            if left == 0 {
                self.crossings[channel] = None;
            }
            if let From::Crossbar(input) = from {
                self.leave(input, 1);
            }
            let consumption = self.links() + self.network.nodes();
            if channel < consumption {
                let delay = self.config.routing_delay + self.config.crossing_delay - 1;
                self.fifos[channel].push_back(Flit { packet, arrival: self.now + Cycle::from(delay) });
            } else if left == 0 {
                self.deliver(packet, NodeId::new((channel - consumption) as u32));
            }
        }
    }

    /// Flits of the first packet leave a FIFO; behind the last one the next packet is first.
    fn leave(&mut self, input: usize, flits: u32) {
        for _ in 0..flits {
            let flit = self.fifos[input].pop_front().expect("a flit");
            self.firsts[input].gone += 1;
            if self.firsts[input].gone == self.packets[flit.packet].flits {
                self.firsts[input] = First::new();
            }
        }
    }

    fn deliver(&mut self, packet: usize, node: NodeId) {
        let worm = self.packets[packet].worm;
        let delivered = self.now + 1;
        self.deliveries.push((worm as u64, node.raw(), delivered));
        for sender in &mut self.senders {
            if sender.after == Some(worm) && sender.worm.from == node {
                sender.ready = Some(delivered + Cycle::from(self.config.receive_overhead));
            }
        }
    }

    fn grant(&mut self, switch: usize) {
        for input in self.granted[switch].clone() {
            if self.available(input) == 0 {
                continue;
            }
            if self.firsts[input].stage == Stage::New {
                self.route(switch, input);
            }
            match self.firsts[input].stage {
                Stage::Waiting => {
                    let Some(Branch { output, packet, .. }) = self.preferred(switch, input, true) else { continue };
                    if !self.is_directed(input) {
                        let set = self.firsts[input].branches.iter().map(|branch| branch.output).collect();
                        self.taken.insert(set, output);
                    }
                    self.begin(output, packet, From::Crossbar(input));
                    self.firsts[input].stage = Stage::Crossing;
                    served(&mut self.granted[switch], input);
                }
                Stage::Replicating => {
                    let mut any = false;
                    for place in 0..self.firsts[input].branches.len() {
                        let Branch { output, packet, granted } = self.firsts[input].branches[place];
                        if !granted && self.crossings[output].is_none() {
                            self.begin(output, packet, From::Register);
                            self.firsts[input].branches[place].granted = true;
                            any = true;
                        }
                    }
                    if any {
                        served(&mut self.granted[switch], input);
                    }
                }
                _ => {}
            }
        }
    }

    /// Where the first packet of a FIFO goes from here.
    fn route(&mut self, switch: usize, input: usize) {
        let at = RouterId::new(switch as u32);
        let arrived = (input < self.links()).then(|| ChannelId::new(input as u32));
        let packet = self.packets[self.fifos[input][0].packet].clone();
        let consumption = self.links() + self.network.nodes();
        let mut to: Vec<(usize, Vec<u64>)> = Vec::new();
        let mut replicated = false;
        match &self.senders[packet.worm].worm.itinerary {
            Itinerary::Path(path) => {
                let target = path.stops[0];
                let router = self.network.router_of(target);
                let mut candidates = Vec::new();
                if router == at {
                    to.push((consumption + target.index(), packet.destinations.clone()));
                } else if let (Some(exit), None) = (path.exit, arrived) {
                    candidates.push(exit);
                } else {
                    match self.config.selection {
                        None | Some(SelectionPolicy::First) => {
                            self.routing.candidates(at, arrived, router, &mut candidates);
                        }
                        Some(_) => self.routing.spread(at, arrived, router, &mut candidates),
                    }
                }
                to.extend(candidates.iter().map(|channel| (channel.index(), packet.destinations.clone())));
            }
            _ => {
                let mut decision = Decision::default();
                let switches = self.routing.capabilities().multidestination.expect("a relation for sets");
                switches.decide(at, arrived, &packet.destinations, &mut decision);
                match decision.step().expect("a way") {
                    Step::AnyOf(channels) => {
                        to.extend(channels.iter().map(|channel| (channel.index(), packet.destinations.clone())));
                    }
                    Step::AllOf(branches) => {
                        to.extend(branches.iter().map(|(channel, subset)| (channel.index(), subset.to_vec())));
                        for &node in branches.deliveries {
                            to.push((consumption + node.index(), node_set::of(self.network.nodes(), [node])));
                        }
                        replicated = to.len() > 1;
                    }
                }
            }
        }
        assert!(!to.is_empty());
        let first = &mut self.firsts[input];
        for (output, destinations) in to {
            self.packets.push(Packet { destinations, ..packet.clone() });
            first.branches.push(Branch { output, packet: self.packets.len() - 1, granted: false });
        }
        first.stage = match (replicated, self.config.organization) {
            (false, _) => Stage::Waiting,
            (true, Organization::Central { .. }) => Stage::Admission,
            (true, Organization::Input { .. }) => Stage::Replicating,
        };
    }

    /// Of the outputs that will do, one that is free, or else the one with the shortest queue; of several the one that was given a packet
    /// least recently, or, if the sender has chosen the first channel, the first.
    fn preferred(&self, switch: usize, input: usize, free: bool) -> Option<Branch> {
        let first = &self.firsts[input];
        let worm = self.packets[self.fifos[input][0].packet].worm;
        let directed = self.is_directed(input);
        let idle = |branch: &&Branch| self.crossings[branch.output].is_none() && self.queues[branch.output].is_empty();
        if let (Some(selection), true, false) = (self.config.selection, free, directed) {
            let free: Vec<Branch> = first.branches.iter().filter(idle).copied().collect();
            return self.select(selection, worm, &first.branches, &free);
        }
        let mut best: Option<((usize, usize), Branch)> = None;
        for (place, branch) in first.branches.iter().enumerate().filter(|(_, branch)| !free || idle(branch)) {
            let rank = self.given[switch].iter().position(|&output| output == branch.output).expect("an output");
            let queue = if free { 0 } else { self.queues[branch.output].len() };
            let key = (queue, if directed { place } else { rank });
            if best.is_none_or(|(other, _)| key < other) {
                best = Some((key, *branch));
            }
        }
        best.map(|(_, branch)| branch)
    }
}

impl SwitchOracle<'_> {
    /// Whether the sender has chosen the first channel.
    fn is_directed(&self, input: usize) -> bool {
        let worm = self.packets[self.fifos[input][0].packet].worm;
        matches!(&self.senders[worm].worm.itinerary, Itinerary::Path(path) if path.exit.is_some())
    }

    /// Of the free outputs that a packet may take, the one that the selection picks.
    fn select(&self, selection: SelectionPolicy, worm: usize, any: &[Branch], free: &[Branch]) -> Option<Branch> {
        let set: BTreeSet<usize> = any.iter().map(|branch| branch.output).collect();
        match selection {
            _ if any.len() == 1 || free.is_empty() => free.first().copied(),
            SelectionPolicy::First => free.first().copied(),
            SelectionPolicy::Random => {
                let drawn = [4, worm as u64, self.now].iter().fold(self.config.seed, |z, &value| mix(z ^ mix(value)));
                Some(free[(u128::from(drawn) * free.len() as u128 / (1 << 64)) as usize])
            }
            SelectionPolicy::RoundRobin => {
                let last = self.taken.get(&set);
                let behind = free.iter().filter(|branch| last.is_none_or(|&last| branch.output > last));
                let next = behind.min_by_key(|branch| branch.output);
                next.or(free.iter().min_by_key(|branch| branch.output)).copied()
            }
            SelectionPolicy::LeastLoaded => {
                let least = free.iter().map(|branch| self.sent[branch.output]).min();
                free.iter().find(|branch| Some(self.sent[branch.output]) == least).copied()
            }
        }
    }
}

/// Puts one at the end, if it is there.
fn served(order: &mut Vec<usize>, one: usize) {
    if let Some(place) = order.iter().position(|&other| other == one) {
        let one = order.remove(place);
        order.push(one);
    }
}
