//! Routing: the outputs that packets at the heads of FIFOs need, and which packet gets them.

use wormcast_network::{ChannelId, NodeId, RouterId};
use wormcast_routing::{NoRoute, Step};

use super::packets::Course;
use super::wiring::MAX_SWITCH_PORTS;
use super::{Memory, NIL, Source, State, SwitchEngine, Want};
use crate::observers::observer::Observer;

impl<O: Observer> SwitchEngine<'_, O> {
    /// Headers that have gone through the routing stages get outputs that are free; the input that was served least recently comes first.
    pub(super) fn grant(&mut self) {
        for switch in 0..self.wiring.switches {
            let asking = self.requests[switch];
            if asking == 0 {
                continue;
            }
            let mut order = [0; MAX_SWITCH_PORTS];
            let ports = self.grant_order.of(switch);
            let count = ports.len();
            order[..count].copy_from_slice(ports);
            for &port in order[..count].iter().filter(|&&port| asking >> port & 1 == 1) {
                let input = self.wiring.input(switch, port);
                if self.inputs[input].state == State::New && !self.decide(input) {
                    return;
                }
                let served = match self.inputs[input].state {
                    State::Waiting => self.grant_one(input),
                    State::Replicating => self.grant_branches(input),
                    _ => {
                        self.requests[switch] &= !(1 << port);
                        self.chunk_complete(input);
                        false
                    }
                };
                if served {
                    self.grant_order.served(switch, port);
                }
            }
        }
    }

    /// Whether an output is free and no packet has priority at it.
    #[inline]
    fn free(&self, output: u32) -> bool {
        self.lines[output as usize].source == Source::Idle
            && match &self.memory {
                Memory::Central(central) => central.queue_is_empty(output as usize),
                Memory::Input(_) => true,
            }
    }

    /// A packet that is not replicated here takes a free one of its candidates, and crosses flit by flit.
    fn grant_one(&mut self, input: usize) -> bool {
        let Some(Want { output, packet, .. }) = self.free_want(input) else {
            self.chunk_complete(input);
            return false;
        };
        self.start(output as usize, packet, Source::Crossbar, self.now + 1);
        let fifo = &mut self.inputs[input];
        (fifo.state, fifo.output) = (State::Crossing, output);
        let line = &mut self.lines[output as usize];
        (line.from, line.ready) = (input as u32, fifo.avail);
        self.stop_asking(input);
        true
    }

    /// A free one of the outputs that an input's first packet may have.
    fn free_want(&mut self, input: usize) -> Option<Want> {
        let free = |engine: &Self, want: &Want| engine.free(want.output);
        if self.selector.is_none() || self.wants[input].len() == 1 || self.is_directed(input) {
            let wants = self.wants[input].iter().copied().filter(|want| free(self, want));
            return self.preferred(input, wants, |_| 0);
        }
        let channel = |want: Want| ChannelId::new(want.output);
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        open.extend(self.wants[input].iter().copied().filter(|want| free(self, want)).map(channel));
        self.candidates.clear();
        self.candidates.extend(self.wants[input].iter().copied().map(channel));
        let worm = self.worms[self.packets[self.inputs[input].front].worm].id;
        let chosen = match &mut self.selector {
            // A free output has nothing in its queue.
            Some(selector) if !open.is_empty() => {
                Some(selector.choose((self.now, worm), &self.candidates, &open, |_| 0))
            }
            _ => None,
        };
        self.open = open;
        self.wants[input].iter().copied().find(|want| Some(channel(*want)) == chosen)
    }

    /// Whether the sender of an input's first packet has given it its first channel.
    fn is_directed(&self, input: usize) -> bool {
        let packet = self.inputs[input].front;
        matches!(self.worms[self.packets[packet].worm].course, Course::Unicast { exit: Some(_), .. })
    }

    /// Among several acceptable outputs, the one with the smallest key, and of those the one that was given a packet least recently: switches
    /// spread what goes up, whatever the destinations. A worm that its sender has given its first channel keeps to the routing's
    /// preference instead: its plan relies on it.
    pub(super) fn preferred(
        &self,
        input: usize,
        wants: impl Iterator<Item = Want>,
        key: impl Fn(&Want) -> u32,
    ) -> Option<Want> {
        if self.wants[input].len() == 1 || self.is_directed(input) {
            return wants.min_by_key(key);
        }
        let ports = self.output_order.of(self.wiring.to[input] as usize);
        let rank = |want: &Want| ports.iter().position(|&port| port == self.wiring.out_port[want.output as usize]);
        wants.min_by_key(|want| (key(want), rank(want)))
    }

    /// A packet that is replicated from its FIFO takes the outputs that are free.
    fn grant_branches(&mut self, input: usize) -> bool {
        let Memory::Input(readers) = &self.memory else { return false };
        let source = if readers.synchronous { Source::Lockstep } else { Source::Register };
        let (mut served, mut missing) = (false, false);
        for place in 0..self.wants[input].len() {
            let Want { output, packet, granted } = self.wants[input][place];
            if granted {
                continue;
            }
            if !self.free(output) {
                missing = true;
                continue;
            }
            self.start(output as usize, packet, source, self.now + 1);
            self.lines[output as usize].from = input as u32;
            self.wants[input][place].granted = true;
            served = true;
        }
        if !missing {
            self.stop_asking(input);
            if source == Source::Lockstep {
                self.inputs[input].state = State::Lockstep;
                if let Memory::Input(readers) = &mut self.memory {
                    readers.lockstep.push(input as u32);
                }
            }
        }
        served
    }

    /// An input asks for no outputs any more, nor for its chunks to be written.
    fn stop_asking(&mut self, input: usize) {
        let (switch, port) = (self.wiring.to[input] as usize, self.wiring.in_port[input]);
        self.requests[switch] &= !(1 << port);
        if let Memory::Central(central) = &mut self.memory {
            central.writes[switch] &= !(1 << port);
        }
    }

    /// Tells the observer what a packet asks for: one of these outputs, or each of them. A flit can cross in the next cycle at the
    /// earliest: only from then on does it wait.
    fn report_requests(&mut self, packet: u32, wants: &[Want], each: bool) {
        let worm = self.worms[self.packets[packet].worm].id;
        let outputs: Vec<ChannelId> = wants.iter().map(|want| ChannelId::new(want.output)).collect();
        let together = if each { 1 } else { outputs.len().max(1) };
        for channels in outputs.chunks(together) {
            self.observer.requested(self.now + 1, worm, channels);
        }
    }

    /// Decides where the first packet of a FIFO goes; returns whether there is a route.
    fn decide(&mut self, input: usize) -> bool {
        let packet = self.inputs[input].front;
        let at = RouterId::new(self.wiring.to[input]);
        let arrived = (input < self.wiring.links).then(|| ChannelId::new(input as u32));
        let flits = self.packets[packet].flits;
        let alone = self.config.switch_latency();
        let mut wants = std::mem::take(&mut self.wants[input]);
        wants.clear();
        let want = |output: ChannelId, packet| Want { output: output.raw(), packet, granted: false };
        let consumption = |node: NodeId| ChannelId::new((self.wiring.consumption + node.index()) as u32);
        let mut replicated = false;
        let mut no_route = None;
        match &self.worms[self.packets[packet].worm].course {
            &Course::Unicast { exit, target } => {
                let router = self.network.router_of(target);
                let branch = self.packets.branch(packet, None, alone);
                if router == at {
                    wants.push(want(consumption(target), branch));
                } else if let (Some(exit), None) = (exit, arrived) {
                    wants.push(want(exit, branch));
                } else {
                    match self.spread {
                        Some(spread) => spread.spread(at, arrived, router, &mut self.candidates),
                        None => self.routing.candidates(at, arrived, router, &mut self.candidates),
                    }
                    wants.extend(self.candidates.iter().map(|&channel| want(channel, branch)));
                    if wants.is_empty() {
                        no_route = Some(NoRoute::new(self.routing, at, router));
                    }
                }
            }
            Course::Encoded(encoded) => {
                // In lock-step, flits come right from the FIFO.
                let chunk = match &self.memory {
                    Memory::Input(readers) if readers.synchronous => 0,
                    _ => self.config.chunk_flits.min(flits) - 1,
                };
                let step = self.multidestination.and_then(|switches| {
                    switches.decide(at, arrived, self.packets.set(packet), &mut self.decision);
                    self.decision.step()
                });
                match step {
                    Some(Step::AnyOf(channels)) => {
                        let branch = self.packets.branch(packet, None, alone);
                        wants.extend(channels.iter().map(|&channel| want(channel, branch)));
                    }
                    Some(Step::AllOf(branches)) => {
                        let copies = branches.channels.len() + branches.deliveries.len();
                        replicated = copies > 1;
                        let idle = if replicated { alone + chunk } else { alone };
                        for (channel, subset) in branches.iter() {
                            wants.push(want(channel, self.packets.branch(packet, Some(subset), idle)));
                        }
                        for &node in branches.deliveries {
                            wants.push(want(consumption(node), self.packets.delivery(packet, node, idle)));
                        }
                    }
                    None => {
                        let to = encoded.destinations.first().map_or(at, |&node| self.network.router_of(node));
                        no_route = Some(NoRoute::new(self.routing, at, to));
                    }
                }
            }
        }
        self.inputs[input].state = match (&self.memory, replicated) {
            (_, false) => State::Waiting,
            (Memory::Central(_), true) => State::Admission,
            (Memory::Input(_), true) => State::Replicating,
        };
        self.routed[input] = self.now;
        if O::WAITS {
            self.report_requests(packet, &wants, replicated);
        }
        self.wants[input] = wants;
        if replicated && let Memory::Input(readers) = &mut self.memory {
            readers.begin(input, self.config.chunks(flits), self.wants[input].len());
        }
        debug_assert_ne!(packet, NIL);
        self.no_route = no_route;
        self.no_route.is_none()
    }
}
