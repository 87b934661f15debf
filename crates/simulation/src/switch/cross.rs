//! Movement: flits cross channels, arrive, and are delivered.

use wormcast_network::ChannelId;

use super::{Input, Memory, NIL, Source, State, SwitchEngine};
use crate::observers::observer::{Cycle, Delivery, LatencyParts, Observer};

impl<O: Observer> SwitchEngine<'_, O> {
    /// Every output sends a flit if it has one and there is a slot for it.
    pub(super) fn cross(&mut self) {
        let mut active = std::mem::take(&mut self.active);
        let mut at = 0;
        while at < active.len() {
            let channel = active[at] as usize;
            let line = &mut self.lines[channel];
            if line.ready == 0 || line.space == 0 {
                at += 1;
                continue;
            }
            line.ready -= 1;
            let (source, from, none_ready) = (line.source, line.from, line.ready == 0);
            if source == Source::Crossbar {
                self.take(from as usize, 1);
            }
            if self.send(channel) {
                active.swap_remove(at);
                continue;
            }
            if none_ready && source == Source::Register {
                self.register_emptied(channel);
            }
            at += 1;
        }
        self.active = active;
        if matches!(&self.memory, Memory::Input(readers) if !readers.lockstep.is_empty()) {
            self.cross_in_lockstep();
        }
    }

    /// A flit crosses a channel. Whether it was the packet's last: then the channel is idle, and still in `active`.
    #[inline]
    fn send(&mut self, channel: usize) -> bool {
        self.moved = true;
        let line = &mut self.lines[channel];
        line.left -= 1;
        let (packet, flits, left) = (line.packet, line.flits, line.left);
        if channel < self.wiring.consumption {
            line.space -= 1;
            if left + 1 == flits {
                self.enter(channel, packet);
            }
            self.crossed.push(channel as u32);
            if self.counts_flits
                && channel < self.wiring.links
                && let Some(selector) = &mut self.selector
            {
                selector.crossed(ChannelId::new(channel as u32), 1);
            }
        }
        if O::FLITS {
            let worm = self.worms[self.packets[packet].worm].id;
            self.observer.flit(self.now, worm, ChannelId::new(channel as u32), flits - left);
        }
        if left == 0 {
            self.finish(channel);
        }
        left == 0
    }

    /// A packet's first flit gets into a FIFO.
    fn enter(&mut self, input: usize, packet: u32) {
        let Input { front, back, .. } = self.inputs[input];
        let fifo = &mut self.inputs[input];
        fifo.back = packet;
        if front == NIL {
            (fifo.front, fifo.left, fifo.state) = (packet, self.packets[packet].flits, State::New);
        } else {
            self.packets[back].next = packet;
        }
    }

    /// A packet's last flit has crossed a channel.
    fn finish(&mut self, channel: usize) {
        let line = &mut self.lines[channel];
        let (packet, flits) = (line.packet, line.flits);
        (line.packet, line.source, line.from, line.ready) = (NIL, Source::Idle, NIL, 0);
        let worm = self.worms[self.packets[packet].worm].id;
        self.observer.settled(self.now, ChannelId::new(channel as u32), flits);
        self.observer.released(self.now, worm, ChannelId::new(channel as u32), flits);
        if channel < self.wiring.links {
            self.flit_hops += u64::from(flits);
        } else if channel < self.wiring.consumption {
            self.hosts.wake((channel - self.wiring.links) as u32, self.now + 1);
            return;
        } else {
            self.deliver(channel, packet);
        }
        if let Memory::Central(central) = &mut self.memory {
            central.line_idle(&self.wiring, channel);
        }
    }

    /// A packet has been consumed.
    fn deliver(&mut self, channel: usize, packet: u32) {
        let node = self.wiring.node(channel);
        let delivered = self.now + 1;
        let slot = self.packets[packet].worm;
        let network = Cycle::from(self.packets[packet].idle) + Cycle::from(self.packets[packet].flits);
        self.packets.remove(packet);
        let worm = &mut self.worms[slot];
        let on_its_way = delivered - worm.started - Cycle::from(self.config.startup);
        debug_assert!(on_its_way >= network, "nothing is faster than in an empty network");
        let parts = LatencyParts {
            queueing: worm.before.queueing + worm.started - worm.ready,
            startup: worm.before.startup + Cycle::from(self.config.startup),
            network: worm.before.network + network,
            blocking: worm.before.blocking + on_its_way.saturating_sub(network),
        };
        worm.missing -= 1;
        let (id, message, last) = (worm.id, worm.message, worm.missing == 0);
        let mut followers = std::mem::take(&mut worm.followers);
        let overhead = Cycle::from(self.config.receive_overhead);
        followers.retain(|&(at, follower)| {
            if at == node {
                let worm = &mut self.worms[follower];
                worm.ready = delivered + overhead;
                worm.before = LatencyParts { startup: parts.startup + overhead, ..parts };
                self.hosts.add(node, worm.ready, worm.id, follower);
            }
            at != node
        });
        self.worms[slot].followers = followers;
        if last {
            self.worms.remove(slot);
        }
        self.observer.delivered(&Delivery { message, worm: id, node, delivered, parts });
    }

    /// Takes flits that may leave out of a FIFO.
    #[inline]
    pub(super) fn take(&mut self, input: usize, flits: u32) {
        let fifo = &mut self.inputs[input];
        fifo.avail -= flits;
        fifo.left -= flits;
        let left = fifo.left;
        self.freed.push((input as u32, flits));
        if left == 0 {
            self.pop_front(input);
        }
    }

    /// Flits that have gone through the routing stages may leave their FIFOs from now on.
    pub(super) fn arrive(&mut self) {
        self.coming += self.crossed.len() as u32;
        self.wheel.push_back(std::mem::take(&mut self.crossed));
        let mut arrived = self.wheel.pop_front().unwrap_or_default();
        self.coming -= arrived.len() as u32;
        self.moved |= !arrived.is_empty();
        for &channel in &arrived {
            let input = channel as usize;
            let fifo = &mut self.inputs[input];
            fifo.avail += 1;
            match fifo.state {
                State::New => self.request(input),
                State::Crossing => self.lines[fifo.output as usize].ready += 1,
                State::Waiting | State::Admission | State::Writing => self.chunk_complete(input),
                _ => {}
            }
        }
        arrived.clear();
        self.crossed = arrived;
    }

    /// Worms in lock-step send a flit on all branches, or on none.
    fn cross_in_lockstep(&mut self) {
        let Memory::Input(readers) = &mut self.memory else { return };
        let mut group = std::mem::take(&mut readers.lockstep);
        group.retain(|&input| {
            let input = input as usize;
            let open = |engine: &Self| {
                engine.inputs[input].avail > 0
                    && engine.wants[input].iter().all(|want| engine.lines[want.output as usize].space > 0)
            };
            if !open(self) {
                return true;
            }
            let mut last = false;
            for place in 0..self.wants[input].len() {
                let output = self.wants[input][place].output;
                last = self.send(output as usize);
                if last {
                    self.active.retain(|&channel| channel != output);
                }
            }
            self.take(input, 1);
            !last
        });
        if let Memory::Input(readers) = &mut self.memory {
            debug_assert!(readers.lockstep.is_empty());
            readers.lockstep = group;
        }
    }
}
