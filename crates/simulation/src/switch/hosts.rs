//! Nodes: startups, and worms that wait for their injection channel.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wormcast_network::{ChannelId, NodeId};

use super::{Source, SwitchEngine};
use crate::config::StartupMode;
use crate::observers::observer::{Cycle, Observer};

/// A node as a sender.
#[derive(Default)]
struct Host {
    /// Worms that are or will be ready, by (ready cycle, worm id), with their slots.
    waiting: BinaryHeap<Reverse<(Cycle, u64, u32)>>,
    /// The worm in its startup, and when that ends.
    preparing: Option<(u32, Cycle)>,
    /// Prepared worms, which wait for the injection channel.
    prepared: VecDeque<u32>,
}

/// A node's worms that have not entered the network, by slot.
pub(super) struct Sender {
    /// Those that are or will be ready, with when, in their order.
    pub(super) waiting: Vec<(Cycle, u32)>,
    /// The one in its startup.
    pub(super) preparing: Option<u32>,
    /// Those that wait for the injection channel.
    pub(super) prepared: Vec<u32>,
}

/// All nodes as senders.
pub(super) struct Hosts {
    hosts: Vec<Host>,
    /// When to look at which node.
    events: BinaryHeap<Reverse<(Cycle, u32)>>,
}

impl Hosts {
    pub(super) fn new(nodes: usize) -> Self {
        Self { hosts: std::iter::repeat_with(Host::default).take(nodes).collect(), events: BinaryHeap::new() }
    }

    /// Puts a worm into the queue of its sender.
    pub(super) fn add(&mut self, node: NodeId, ready: Cycle, id: u64, slot: u32) {
        self.hosts[node.index()].waiting.push(Reverse((ready, id, slot)));
        self.wake(node.raw(), ready);
    }

    /// Has a node looked at in a cycle.
    pub(super) fn wake(&mut self, node: u32, at: Cycle) {
        self.events.push(Reverse((at, node)));
    }

    /// What a node has to send.
    pub(super) fn sender(&self, node: NodeId) -> Sender {
        let Host { waiting, preparing, prepared } = &self.hosts[node.index()];
        let mut waiting: Vec<(Cycle, u64, u32)> = waiting.iter().map(|worm| worm.0).collect();
        waiting.sort_unstable();
        Sender {
            waiting: waiting.into_iter().map(|(ready, _, slot)| (ready, slot)).collect(),
            preparing: preparing.map(|(slot, _)| slot),
            prepared: prepared.iter().copied().collect(),
        }
    }

    /// When something is next to happen.
    pub(super) fn next(&self) -> Option<Cycle> {
        self.events.peek().map(|event| event.0.0)
    }
}

impl<O: Observer> SwitchEngine<'_, O> {
    /// What happens at nodes in this cycle, before flits move.
    pub(super) fn look_at_hosts(&mut self) {
        while let Some(&Reverse((at, node))) = self.hosts.events.peek()
            && at <= self.now
        {
            self.hosts.events.pop();
            self.look_at_host(node);
        }
    }

    fn look_at_host(&mut self, node: u32) {
        let now = self.now;
        let injection = self.wiring.links + node as usize;
        let serial = self.config.startup_mode == StartupMode::Serial;
        loop {
            let host = &mut self.hosts.hosts[node as usize];
            if let Some((slot, end)) = host.preparing {
                if end > now {
                    break;
                }
                host.preparing = None;
                host.prepared.push_back(slot);
                if O::WAITS {
                    let channel = ChannelId::new(injection as u32);
                    self.observer.requested(now, self.worms[slot].id, &[channel]);
                }
            }
            // On each port: a worm that is on its way, or about to be, keeps the only one.
            let free = serial || (self.lines[injection].source == Source::Idle && host.prepared.is_empty());
            match host.waiting.peek() {
                Some(&Reverse((ready, _, slot))) if ready <= now && free => {
                    host.waiting.pop();
                    let end = now + Cycle::from(self.config.startup);
                    host.preparing = Some((slot, end));
                    if end > now {
                        self.hosts.wake(node, end);
                    }
                    self.moved = true;
                    let worm = &mut self.worms[slot];
                    worm.started = now;
                    self.observer.started(now, worm.message, worm.id, worm.from);
                }
                _ => break,
            }
        }
        if self.lines[injection].source == Source::Idle
            && let Some(slot) = self.hosts.hosts[node as usize].prepared.pop_front()
        {
            let worm = &self.worms[slot];
            let destinations: &[NodeId] = match &worm.course {
                super::packets::Course::Unicast { .. } => &[],
                super::packets::Course::Encoded(encoded) => &encoded.destinations,
            };
            let packet = self.packets.first(slot, worm.flits, destinations);
            self.start(injection, packet, Source::Node, now);
        }
    }
}
