//! What the worms of the switch engine hold and wait for when a run ends.

use std::collections::HashMap;

use wormcast_network::{ChannelId, RouterId};

use super::packets::Course;
use super::{Memory, NIL, Source, State, SwitchEngine};
use crate::config::StartupMode;
use crate::observers::observer::{Cycle, Observer};
use crate::run::run_end::{Awaited, Wait, WaitResource, WormAtEnd};

/// What has been found of each worm, by slot.
struct States {
    worms: HashMap<u32, WormAtEnd>,
}

impl States {
    fn holds(&mut self, slot: u32, resource: WaitResource) {
        if let Some(worm) = self.worms.get_mut(&slot)
            && !worm.holds.contains(&resource)
        {
            worm.holds.push(resource);
        }
    }

    fn waits(&mut self, slot: u32, since: Option<Cycle>, at: Option<RouterId>, options: Vec<Awaited>) {
        if let Some(worm) = self.worms.get_mut(&slot) {
            worm.waits.push(Wait { since, at, options });
        }
    }
}

fn channel(id: usize) -> WaitResource {
    WaitResource::Channel(ChannelId::new(id as u32), 0)
}

impl<O: Observer> SwitchEngine<'_, O> {
    /// All worms, by id.
    pub(super) fn worms_at_end(&self) -> Vec<WormAtEnd> {
        let search = self.search();
        let mut states = States { worms: HashMap::new() };
        for (slot, worm) in self.worms.iter() {
            let destinations = match &worm.course {
                Course::Unicast { target, .. } => vec![*target],
                Course::Encoded(encoded) => encoded.destinations.clone(),
            };
            let state = WormAtEnd {
                worm: worm.id,
                message: worm.message,
                source: worm.from,
                destinations,
                holds: Vec::new(),
                waits: Vec::new(),
                deadlocked: false,
            };
            states.worms.insert(slot, state);
        }
        for slot in self.dead_worms(&search) {
            if let Some(worm) = states.worms.get_mut(&slot) {
                worm.deadlocked = true;
            }
        }
        self.before_the_network(&mut states);
        for (id, line) in self.lines.iter().enumerate().filter(|(_, line)| line.source != Source::Idle) {
            states.holds(self.packets[line.packet].worm, channel(id));
        }
        for input in 0..self.inputs.len() {
            self.in_fifo(input, &mut states);
        }
        for output in 0..self.lines.len() {
            self.in_central_buffer(output, &mut states);
        }
        let mut worms: Vec<WormAtEnd> = states.worms.into_values().collect();
        worms.sort_unstable_by_key(|worm| worm.worm);
        worms
    }

    fn id(&self, slot: u32) -> u64 {
        self.worms[slot].id
    }

    fn id_of(&self, packet: u32) -> u64 {
        self.id(self.packets[packet].worm)
    }

    /// Worms at their senders.
    fn before_the_network(&self, states: &mut States) {
        for (_, worm) in self.worms.iter() {
            for &(node, follower) in &worm.followers {
                let awaited = Awaited { resource: WaitResource::Delivery(node), worms: vec![worm.id] };
                // Until it is triggered, it is as ready as its message.
                states.waits(follower, Some(self.worms[follower].ready), None, vec![awaited]);
            }
        }
        for node in self.network.node_ids() {
            let sender = self.hosts.sender(node);
            let injection = self.wiring.links + node.index();
            let on_line = Some(self.lines[injection].packet).filter(|&packet| packet != NIL);
            let mut before = on_line.map(|packet| self.id_of(packet));
            for &slot in &sender.prepared {
                let awaited = Awaited { resource: channel(injection), worms: before.into_iter().collect() };
                let prepared = self.worms[slot].started + Cycle::from(self.config.startup);
                states.waits(slot, Some(prepared), None, vec![awaited]);
                before = Some(self.id(slot));
            }
            let serial = self.config.startup_mode == StartupMode::Serial;
            let resource = if serial { WaitResource::Processor(node) } else { channel(injection) };
            let mut before = match sender.preparing {
                Some(slot) => Some(self.id(slot)),
                None if serial => None,
                None => before,
            };
            for (ready, slot) in sender.waiting.into_iter().filter(|&(ready, _)| ready < self.now) {
                let awaited = Awaited { resource, worms: before.into_iter().collect() };
                states.waits(slot, Some(ready), None, vec![awaited]);
                before = Some(self.id(slot));
            }
        }
    }

    /// Packets in the FIFO at a channel's end, and the line that its node sends by.
    fn in_fifo(&self, input: usize, states: &mut States) {
        let fifo = self.inputs[input];
        let slot_of = |packet: u32| self.packets[packet].worm;
        let own = ChannelId::new(input as u32);
        let line = &self.lines[input];
        if line.source == Source::Node && self.blocked(line) {
            let worm = slot_of(line.packet);
            let since = self.worms[worm].started + Cycle::from(self.config.startup);
            states.waits(worm, Some(since), None, vec![self.slot_behind(input)]);
        }
        if fifo.front == NIL {
            return;
        }
        let at = RouterId::new(self.wiring.to[input]);
        let (mut packet, mut before) = (fifo.front, None);
        while packet != NIL {
            let worm = slot_of(packet);
            states.holds(worm, WaitResource::Slot(own));
            if let Some(before) = before {
                let awaited = Awaited { resource: WaitResource::Slot(own), worms: vec![self.id_of(before)] };
                states.waits(worm, None, Some(at), vec![awaited]);
            }
            (before, packet) = (Some(packet), self.packets[packet].next);
        }
        let (worm, since) = (slot_of(fifo.front), Some(self.routed[input]));
        let mut wait = |options| states.waits(worm, since, Some(at), options);
        let wants = &self.wants[input];
        let lacks = |flits: u32| fifo.avail < flits.min(fifo.left);
        let chunk = self.config.chunk_flits;
        let central = matches!(self.memory, Memory::Central(_));
        match fifo.state {
            State::Empty | State::New => {}
            State::Waiting => {
                let mut options: Vec<Awaited> =
                    wants.iter().map(|want| self.output(want.output as usize, want.packet)).collect();
                if central && !lacks(chunk) {
                    options.push(self.room(at));
                }
                wait(options);
            }
            State::Admission | State::Writing if lacks(chunk) => wait(vec![self.flits_by(input)]),
            State::Admission => wait(vec![self.room(at)]),
            State::Writing => {
                if let Memory::Central(central) = &self.memory
                    && wants.len() == 1
                    && (central.spare[at.index()] == 0
                        || central.singles[at.index()] >= central.singles_limit[at.index()])
                {
                    wait(vec![self.room(at)]);
                }
            }
            State::Crossing | State::Replicating | State::Lockstep => {
                for want in wants {
                    let output = want.output as usize;
                    let line = &self.lines[output];
                    if line.from != input as u32 {
                        // A branch that has been sent has left the line to others, and asks no more.
                        if fifo.state == State::Replicating && !want.granted {
                            wait(vec![self.output(output, want.packet)]);
                        }
                    } else if self.blocked(line) {
                        wait(vec![self.slot_behind(output)]);
                    }
                }
                let least = if fifo.state == State::Replicating && !self.is_lockstep() { chunk } else { 1 };
                if lacks(least) && line.packet == fifo.front {
                    wait(vec![self.flits_by(input)]);
                }
            }
        }
    }

    /// Packets that an output has still to send from a central buffer.
    fn in_central_buffer(&self, output: usize, states: &mut States) {
        let Memory::Central(central) = &self.memory else { return };
        let (line, switch) = (&self.lines[output], self.wiring.from[output]);
        if switch == NIL {
            return;
        }
        let at = RouterId::new(switch);
        if line.source == Source::Register {
            let worm = self.packets[line.packet].worm;
            states.holds(worm, WaitResource::Room(at));
            if self.blocked(line) {
                states.waits(worm, None, Some(at), vec![self.slot_behind(output)]);
            }
        }
        let mut chunk = central.first_packet[output];
        let mut before = Some(line.packet).filter(|&packet| packet != NIL);
        while chunk != NIL {
            let link = central.link(&self.wiring, output, chunk);
            let packet = central.head[link];
            let worm = self.packets[packet].worm;
            states.holds(worm, WaitResource::Room(at));
            if let Some(before) = before {
                let awaited = Awaited { resource: channel(output), worms: vec![self.id_of(before)] };
                states.waits(worm, None, Some(at), vec![awaited]);
            }
            (before, chunk) = (Some(packet), central.next_packet[link]);
        }
    }

    /// Whether branches move in lock-step, flit by flit.
    fn is_lockstep(&self) -> bool {
        matches!(&self.memory, Memory::Input(readers) if readers.synchronous)
    }

    /// An output, which another packet has, or others in a central buffer's queue.
    fn output(&self, output: usize, packet: u32) -> Awaited {
        let mut worms: Vec<u64> = Vec::new();
        let line = self.lines[output].packet;
        if line != NIL && line != packet {
            worms.push(self.id_of(line));
        }
        if let Memory::Central(central) = &self.memory {
            let mut chunk = central.first_packet[output];
            while chunk != NIL {
                let link = central.link(&self.wiring, output, chunk);
                worms.push(self.id_of(central.head[link]));
                chunk = central.next_packet[link];
            }
        }
        Awaited { resource: channel(output), worms }
    }

    /// A slot of the FIFO at a channel's end, whose first packet has to go on.
    fn slot_behind(&self, id: usize) -> Awaited {
        let front = self.inputs[id].front;
        let worms = if front == NIL { Vec::new() } else { vec![self.id_of(front)] };
        Awaited { resource: WaitResource::Slot(ChannelId::new(id as u32)), worms }
    }

    /// Flits of its own that have still to cross a channel.
    fn flits_by(&self, id: usize) -> Awaited {
        let packet = self.lines[id].packet;
        let worms = if packet == NIL { Vec::new() } else { vec![self.id_of(packet)] };
        Awaited { resource: WaitResource::Flits(ChannelId::new(id as u32)), worms }
    }

    /// Room in a central buffer, which the packets have that its outputs have still to send.
    fn room(&self, switch: RouterId) -> Awaited {
        let first = self.wiring.first_out[switch.index()] as usize;
        let end = self.wiring.first_out[switch.index() + 1] as usize;
        let mut worms: Vec<u64> = Vec::new();
        if let Memory::Central(central) = &self.memory {
            for &output in &self.wiring.outputs[first..end] {
                let output = output as usize;
                if self.lines[output].source == Source::Register {
                    worms.push(self.id_of(self.lines[output].packet));
                }
                let mut chunk = central.first_packet[output];
                while chunk != NIL {
                    let link = central.link(&self.wiring, output, chunk);
                    worms.push(self.id_of(central.head[link]));
                    chunk = central.next_packet[link];
                }
            }
        }
        worms.sort_unstable();
        worms.dedup();
        Awaited { resource: WaitResource::Room(switch), worms }
    }
}
