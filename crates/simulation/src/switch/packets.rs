//! Worms, and the copies of them that are in or between switches.

use std::collections::HashSet;

use wormcast_multicast::Encoded;
use wormcast_network::{ChannelId, NodeId};
use wormcast_routing::node_set;

use super::NIL;
use crate::engine::has_room;
use crate::observers::observer::{Cycle, LatencyParts};

/// A copy of a worm on one channel and in the buffer at its end: what a branch carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The slot of its worm.
    pub(super) worm: u32,
    /// Its flits, header included.
    pub(super) flits: u32,
    /// The packet behind it in the same FIFO; `NIL`: none.
    pub(super) next: u32,
    /// Cycles that its header takes from the source to its channel in an empty network.
    pub(super) idle: u32,
}

/// All packets, and the destinations of each as a bit string.
pub(super) struct Packets {
    list: Vec<Packet>,
    sets: Vec<u64>,
    words: usize,
    free: Vec<u32>,
}

impl Packets {
    pub(super) fn new(nodes: usize) -> Self {
        Self { list: Vec::new(), sets: Vec::new(), words: node_set::words(nodes), free: Vec::new() }
    }

    /// A new packet without destinations.
    fn add(&mut self, packet: Packet) -> u32 {
        if let Some(id) = self.free.pop() {
            self.list[id as usize] = packet;
            return id;
        }
        self.list.push(packet);
        self.sets.resize(self.sets.len() + self.words, 0);
        self.list.len() as u32 - 1
    }

    /// The packet in which a worm leaves its sender.
    pub(super) fn first(&mut self, worm: u32, flits: u32, destinations: &[NodeId]) -> u32 {
        let id = self.add(Packet { worm, flits, next: NIL, idle: 0 });
        let set = self.set_mut(id);
        set.fill(0);
        for &node in destinations {
            node_set::insert(set, node);
        }
        id
    }

    /// A packet that carries on what `packet` brings to `subset` of its destinations (all, without), `idle` cycles later.
    pub(super) fn branch(&mut self, packet: u32, subset: Option<&[u64]>, idle: u32) -> u32 {
        let old = self.list[packet as usize];
        let id = self.add(Packet { next: NIL, idle: old.idle + idle, ..old });
        let (from, to) = (packet as usize * self.words, id as usize * self.words);
        match subset {
            Some(subset) => self.sets[to..to + self.words].copy_from_slice(subset),
            None => self.sets.copy_within(from..from + self.words, to),
        }
        id
    }

    /// A packet that is delivered to a node of this switch.
    pub(super) fn delivery(&mut self, packet: u32, node: NodeId, idle: u32) -> u32 {
        let old = self.list[packet as usize];
        let id = self.add(Packet { next: NIL, idle: old.idle + idle, ..old });
        let set = self.set_mut(id);
        set.fill(0);
        node_set::insert(set, node);
        id
    }

    /// Forgets a packet.
    pub(super) fn remove(&mut self, packet: u32) {
        self.free.push(packet);
    }

    /// Packets that are there.
    pub(super) fn len(&self) -> usize {
        self.list.len() - self.free.len()
    }

    /// Its destinations.
    pub(super) fn set(&self, packet: u32) -> &[u64] {
        &self.sets[packet as usize * self.words..][..self.words]
    }

    fn set_mut(&mut self, packet: u32) -> &mut [u64] {
        &mut self.sets[packet as usize * self.words..][..self.words]
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;

    #[inline]
    fn index(&self, packet: u32) -> &Packet {
        &self.list[packet as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    #[inline]
    fn index_mut(&mut self, packet: u32) -> &mut Packet {
        &mut self.list[packet as usize]
    }
}

/// The course of a worm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Course {
    /// To one node, over routes of the relation, perhaps by a given first channel.
    Unicast { exit: Option<ChannelId>, target: NodeId },
    /// To the nodes that its header encodes.
    Encoded(Encoded),
}

/// A worm from its submission to its last delivery.
#[derive(Clone, Debug)]
pub(super) struct SwitchWorm {
    pub(super) id: u64,
    pub(super) message: u64,
    pub(super) from: NodeId,
    pub(super) course: Course,
    /// Flits, header included.
    pub(super) flits: u32,
    /// Deliveries to come.
    pub(super) missing: u32,
    /// Worms that its delivery at their sender makes ready, each with that node.
    pub(super) followers: Vec<(NodeId, u32)>,
    /// When it was or becomes ready to be prepared.
    pub(super) ready: Cycle,
    /// When its startup began.
    pub(super) started: Cycle,
    /// Where the time until it was ready went.
    pub(super) before: LatencyParts,
}

/// All worms that are not delivered everywhere.
#[derive(Default)]
pub(super) struct SwitchWorms {
    list: Vec<SwitchWorm>,
    free: Vec<u32>,
}

impl SwitchWorms {
    pub(super) fn add(&mut self, worm: SwitchWorm) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.list[slot as usize] = worm;
            return slot;
        }
        self.list.push(worm);
        self.list.len() as u32 - 1
    }

    pub(super) fn has_room(&mut self, worms: usize) -> bool {
        has_room(&mut self.list, worms.saturating_sub(self.free.len()))
    }

    pub(super) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// All of them, with their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &SwitchWorm)> {
        let free: HashSet<u32> = self.free.iter().copied().collect();
        (0u32..).zip(&self.list).filter(move |(slot, _)| !free.contains(slot))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.len() == self.free.len()
    }
}

impl std::ops::Index<u32> for SwitchWorms {
    type Output = SwitchWorm;

    #[inline]
    fn index(&self, slot: u32) -> &SwitchWorm {
        &self.list[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for SwitchWorms {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut SwitchWorm {
        &mut self.list[slot as usize]
    }
}
