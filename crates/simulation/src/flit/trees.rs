//! Tree worms: replication in lockstep or on independent branches, with one common header or one flit a router
//! (model.md, rules 16 and 17).

use wormcast_multicast::Tree;
use wormcast_network::{ChannelId, Network, RouterId};

use super::FlitEngine;
use super::arbiter::{Grant, Key, NONE, Pool};
use super::worm::{Address, Body, TreeBody, TreeVertex, Worm};
use crate::config::{Replication, Reservation};
use crate::observer::Observer;

/// What happened to a tree worm at a vertex in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TreeEvent {
    /// The first flit has entered.
    HeaderArrived(u32),
    /// The last flit has left on all branches.
    TailLeft(u32),
    /// The consumption channel has taken the last flit.
    Consumed(u32),
}

/// The header flits of a tree that has one for each destination and each router where it splits.
pub(super) fn header_flits(tree: &Tree) -> u32 {
    let branches_from = |parent| tree.branches.iter().filter(|branch| branch.parent == parent).count();
    let named = (0..tree.branches.len()).filter(|&i| tree.branches[i].delivers || branches_from(Some(i as u32)) > 1);
    named.count() as u32 + u32::from(branches_from(None) > 1)
}

/// The body of a tree worm that starts at `source`.
pub(super) fn body(
    network: &Network,
    source: RouterId,
    tree: &Tree,
    worm: &Worm,
    length: u32,
    scripted: bool,
) -> TreeBody {
    let vertex = |parent, depth, entered_by, delivers| TreeVertex {
        parent,
        first_child: NONE,
        sibling: NONE,
        entered_by,
        virtual_channel: 0,
        depth,
        delivers,
        consumption: NONE,
        entered: 0,
        left: 0,
        total: worm.flits,
        consumed: 0,
        granted: false,
        reserved: false,
        strips: false,
        script: Vec::new(),
    };
    // Vertex 0 is the processor, 1 the source's router, 2 + i the router that branch i enters.
    let mut vertices = vec![vertex(NONE, 0, ChannelId::new(NONE), None), vertex(0, 0, ChannelId::new(NONE), None)];
    debug_assert_eq!(source, network.router_of(worm.from));
    for branch in &tree.branches {
        let parent = branch.parent.map_or(1, |parent| parent + 2);
        let depth = vertices[parent as usize].depth + 1;
        let node = network.node_of(network.to(branch.channel));
        vertices.push(vertex(parent, depth, branch.channel, branch.delivers.then_some(node)));
    }
    // Children in the order of the branches.
    for child in (1..vertices.len()).rev() {
        let parent = vertices[child].parent as usize;
        vertices[child].sibling = vertices[parent].first_child;
        vertices[parent].first_child = child as u32;
    }
    let mut body = TreeBody { open: vertices.len(), vertices };
    if scripted {
        let mut flit = 0;
        for named in 1..body.vertices.len() {
            let splits = body.children(named).count() > 1;
            if body.vertices[named].delivers.is_none() && !splits {
                continue;
            }
            // The flit that names a router passes all routers above it.
            flit += 1;
            body.vertices[named].script.push(Address { flit, to: named as u32 });
            let mut below = named;
            while below > 0 {
                let parent = body.vertices[below].parent as usize;
                body.vertices[parent].script.push(Address { flit, to: below as u32 });
                below = parent;
            }
        }
        for vertex in &mut body.vertices {
            vertex.total = vertex.script.len() as u32 + length;
        }
    }
    body
}

/// The heights of a vertex's ancestors, from the source's router down to the vertex itself: the longest ways down, in hops.
pub(super) fn heights_above(body: &TreeBody, vertex: usize) -> Vec<u32> {
    let mut deepest: Vec<u32> = body.vertices.iter().map(|v| v.depth).collect();
    for child in (2..body.vertices.len()).rev() {
        let parent = body.vertices[child].parent as usize;
        deepest[parent] = deepest[parent].max(deepest[child]);
    }
    let mut heights = Vec::new();
    let mut at = vertex;
    while at > 0 {
        heights.push(deepest[at] - body.vertices[at].depth);
        at = body.vertices[at].parent as usize;
    }
    heights.reverse();
    heights
}

impl TreeBody {
    /// Moves every flit that can move, children before parents; `cross` is called with each channel that a flit crosses and the
    /// flit's number.
    fn step(
        &mut self,
        buffer: u32,
        replication: Replication,
        events: &mut Vec<TreeEvent>,
        mut cross: impl FnMut(ChannelId, u32),
    ) -> bool {
        let mut moved = false;
        for v in (0..self.vertices.len()).rev() {
            if self.vertices[v].left == self.vertices[v].total {
                continue;
            }
            let before = self.vertices[v].left;
            moved |= match replication {
                Replication::Lockstep => self.leave_together(v, buffer, events, &mut cross),
                Replication::Independent => self.leave_apart(v, buffer, events, &mut cross),
            };
            let vertex = &self.vertices[v];
            if vertex.left > before && vertex.left == vertex.total {
                self.open -= 1;
                events.push(TreeEvent::TailLeft(v as u32));
            }
        }
        moved
    }

    /// Flits at a vertex at the start of the cycle that have not left it: parents move after their children.
    fn waiting(&self, v: usize) -> u32 {
        let vertex = &self.vertices[v];
        if v == 0 { vertex.total - vertex.left } else { vertex.entered - vertex.left }
    }

    fn has_room(&self, v: usize, buffer: u32) -> bool {
        self.vertices[v].entered - self.vertices[v].left < buffer
    }

    fn enter(&mut self, v: usize, events: &mut Vec<TreeEvent>) {
        let vertex = &mut self.vertices[v];
        vertex.entered += 1;
        if vertex.entered == 1 {
            events.push(TreeEvent::HeaderArrived(v as u32));
        }
    }

    /// Lockstep: a flit leaves on all branches that carry it, or on none.
    fn leave_together(
        &mut self,
        v: usize,
        buffer: u32,
        events: &mut Vec<TreeEvent>,
        cross: &mut impl FnMut(ChannelId, u32),
    ) -> bool {
        if std::mem::take(&mut self.vertices[v].strips) {
            self.vertices[v].left += 1;
            return true;
        }
        if !self.vertices[v].granted || self.waiting(v) == 0 {
            return false;
        }
        let flit = self.vertices[v].left + 1;
        match self.vertices[v].script.get(flit as usize - 1).copied() {
            Some(address) => {
                let child = address.to as usize;
                if !self.has_room(child, buffer) {
                    return false;
                }
                cross(self.vertices[child].entered_by, address.flit);
                self.enter(child, events);
            }
            None => {
                if !self.children(v).all(|child| self.has_room(child, buffer)) {
                    return false;
                }
                // Address flits that do not come here were injected before the data.
                let number = flit + (self.vertices[0].total - self.vertices[v].total);
                let mut child = self.vertices[v].first_child;
                while child != NONE {
                    cross(self.vertices[child as usize].entered_by, number);
                    self.enter(child as usize, events);
                    child = self.vertices[child as usize].sibling;
                }
                if self.vertices[v].consumption != NONE {
                    cross(ChannelId::new(self.vertices[v].consumption), number);
                    if flit == self.vertices[v].total {
                        events.push(TreeEvent::Consumed(v as u32));
                    }
                }
            }
        }
        self.vertices[v].left = flit;
        true
    }

    /// Independent branches: each copies a flit when it can, and the slot frees with the last copy.
    fn leave_apart(
        &mut self,
        v: usize,
        buffer: u32,
        events: &mut Vec<TreeEvent>,
        cross: &mut impl FnMut(ChannelId, u32),
    ) -> bool {
        let arrived = if v == 0 { self.vertices[0].total } else { self.vertices[v].entered };
        let mut moved = false;
        let mut copied = u32::MAX;
        let mut child = self.vertices[v].first_child;
        while child != NONE {
            let c = child as usize;
            if self.vertices[c].reserved && arrived > self.vertices[c].entered && self.has_room(c, buffer) {
                cross(self.vertices[c].entered_by, self.vertices[c].entered + 1);
                self.enter(c, events);
                moved = true;
            }
            copied = copied.min(self.vertices[c].entered);
            child = self.vertices[c].sibling;
        }
        let vertex = &mut self.vertices[v];
        if vertex.delivers.is_some() {
            if vertex.consumption != NONE && arrived > vertex.consumed {
                vertex.consumed += 1;
                moved = true;
                cross(ChannelId::new(vertex.consumption), vertex.consumed);
                if vertex.consumed == vertex.total {
                    events.push(TreeEvent::Consumed(v as u32));
                }
            }
            copied = copied.min(vertex.consumed);
        }
        vertex.left = copied;
        moved
    }

    /// No flit is lost, made up or out of its buffer.
    fn check(&self, buffer: u32) {
        for vertex in &self.vertices[1..] {
            debug_assert!(vertex.left <= vertex.entered && vertex.entered <= vertex.total);
            debug_assert!(vertex.entered - vertex.left <= buffer, "a buffer holds at most {buffer} flits");
        }
    }
}

impl<O: Observer> FlitEngine<'_, O> {
    /// Moves a tree worm; returns whether it has moved and is not done.
    pub(super) fn move_tree(&mut self, slot: u32) -> bool {
        let (now, buffer, replication) = (self.now, self.config.buffer, self.config.replication);
        let mut events = std::mem::take(&mut self.tree_events);
        let worm = &mut self.worms[slot as usize];
        let id = worm.id;
        let Body::Tree(body) = &mut worm.body else { return false };
        let observer = &mut self.observer;
        let moved = body.step(buffer, replication, &mut events, |channel, flit| {
            if O::FLITS {
                observer.flit(now, id, channel, flit);
            }
        });
        if cfg!(debug_assertions) {
            body.check(buffer);
        }
        let done = body.open == 0;
        for &event in &events {
            match event {
                TreeEvent::HeaderArrived(vertex) => self.header_arrived(slot, vertex),
                TreeEvent::TailLeft(vertex) if vertex > 0 => {
                    let Body::Tree(body) = &self.worms[slot as usize].body else { continue };
                    let vertex = &body.vertices[vertex as usize];
                    let (channel, virtual_channel, crossed) =
                        (vertex.entered_by, vertex.virtual_channel, vertex.entered);
                    self.release(slot, channel, virtual_channel, crossed);
                }
                TreeEvent::TailLeft(_) => {}
                TreeEvent::Consumed(vertex) => {
                    let Body::Tree(body) = &self.worms[slot as usize].body else { continue };
                    let at = &body.vertices[vertex as usize];
                    let (consumption, consumed) = (ChannelId::new(at.consumption), at.total - at.script.len() as u32);
                    let Some(node) = at.delivers else { continue };
                    self.release(slot, consumption, 0, consumed);
                    self.deliver(slot, vertex as usize, node);
                }
            }
        }
        events.clear();
        self.tree_events = events;
        if done {
            self.finish(slot);
        }
        moved && !done
    }

    /// A header asks for the branches, and the consumption channel, of the vertex where it is.
    pub(super) fn request_branches(&mut self, slot: u32, vertex: u32) {
        let separate =
            self.config.replication == Replication::Independent && self.config.reservation == Reservation::Separate;
        let worm = &mut self.worms[slot as usize];
        let Body::Tree(body) = &worm.body else { return };
        let at = &body.vertices[vertex as usize];
        let pool = at.delivers.map(|node| Pool::Consumption(node, worm.class));
        let (id, now) = (worm.id, self.now);
        let key = |part| Key { cycle: now, worm: id, part };
        self.candidates.clear();
        self.candidates.extend(body.children(vertex as usize).map(|child| body.vertices[child].entered_by));
        if separate {
            if pool.is_some() {
                worm.requests += 1;
                self.arbiter.submit(key(vertex), slot, vertex, pool, &[], true);
            }
            for (child, link) in body.children(vertex as usize).zip(&self.candidates) {
                worm.requests += 1;
                self.arbiter.submit(key(child as u32), slot, vertex, None, std::slice::from_ref(link), true);
            }
        } else {
            worm.requests += 1;
            self.arbiter.submit(key(vertex), slot, vertex, pool, &self.candidates, true);
        }
    }

    pub(super) fn apply_to_tree(&mut self, grant: &Grant) {
        let worm = &mut self.worms[grant.worm as usize];
        worm.waited += self.now - grant.requested;
        let Body::Tree(body) = &mut worm.body else { return };
        let v = grant.vertex as usize;
        if let Some(channel) = grant.pooled {
            body.vertices[v].consumption = channel.raw();
        }
        let mut child = body.vertices[v].first_child;
        while child != NONE {
            let vertex = &mut body.vertices[child as usize];
            if let Some(&(_, virtual_channel)) = grant.links.iter().find(|&&(link, _)| link == vertex.entered_by) {
                (vertex.reserved, vertex.virtual_channel) = (true, virtual_channel);
            }
            child = vertex.sibling;
        }
        let at = &mut body.vertices[v];
        at.granted = true;
        at.strips = at.script.first().is_some_and(|address| address.to == grant.vertex);
    }
}
