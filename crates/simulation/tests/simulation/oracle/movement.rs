//! The phase in which flits move (rules 2, 4, 8, 13 to 18).

use std::collections::{BTreeMap, BTreeSet};

use wormcast_multicast::Itinerary;
use wormcast_network::NodeId;
use wormcast_simulation::{BranchReplication, Cycle, Header};

use super::{Holder, Oracle, What, Wrong};

impl Oracle<'_> {
    /// Whether a flit names the router at a vertex, where it is stripped.
    pub(super) fn names(&self, id: usize, vertex: usize, flit: u32) -> bool {
        let worm = &self.worms[id];
        let at = &worm.vertices[vertex];
        if flit > worm.header {
            return false;
        }
        match self.config.header {
            Header::AllDestinations => !at.delivers.is_empty() && at.stops == flit as usize,
            Header::Tree => {
                let place = worm.names.get(flit as usize - 1);
                place.is_some_and(|&place| worm.places.get(place) == Some(&vertex))
            }
            _ => false,
        }
    }

    /// Whether a flit leaves a vertex by an output.
    fn takes(&self, id: usize, vertex: usize, output: usize, flit: u32) -> bool {
        let worm = &self.worms[id];
        if flit > worm.header
            || self.config.header == Header::BitString
            || worm.places.is_empty() && !worm.names.is_empty()
        {
            return true;
        }
        if self.config.header == Header::Tree && worm.names.is_empty() {
            // A unicast's header flit.
            return true;
        }
        if self.names(id, vertex, flit) {
            return false;
        }
        match (worm.vertices[vertex].outputs[output].to, self.config.header) {
            (None, _) => false,
            (Some(_), Header::AllDestinations) => true,
            (Some(child), _) => {
                let mut up = Some(worm.places[worm.names[flit as usize - 1]]);
                while up.is_some_and(|v| v != child) {
                    up = worm.parents[up.unwrap()];
                }
                up.is_some()
            }
        }
    }

    /// Whether a buffer has room, as far as is known before its link in this cycle (rule 22).
    fn has_room(&self, now: Cycle, id: usize, vertex: usize) -> bool {
        let at = &self.worms[id].vertices[vertex];
        let unknown = at.known.iter().filter(|&&known| known > now).count();
        at.buffer.len() + unknown < self.config.buffer as usize
    }

    /// The cycles beyond the first that something takes over a channel.
    fn lag(&self, channel: u32, what: Wrong) -> u64 {
        if self.wrong == Some(what) { 0 } else { self.lags[channel as usize] }
    }

    /// The flit that may leave a vertex by a group of outputs, and those of the group that it takes: it was there at the start of
    /// the cycle, every channel is held and every buffer has room.
    fn can_leave(&self, now: Cycle, id: usize, vertex: usize, group: &[usize]) -> Option<(u32, Vec<usize>)> {
        let at = &self.worms[id].vertices[vertex];
        let lockstep = self.in_lockstep(id);
        let waits = |flit: u32| lockstep || flit > at.outputs[group[0]].last;
        let &(flit, came) = at.buffer.iter().find(|&&(flit, _)| waits(flit))?;
        if came >= now || self.names(id, vertex, flit) {
            return None;
        }
        let taken: Vec<usize> = group.iter().copied().filter(|&o| self.takes(id, vertex, o, flit)).collect();
        let open = |&o: &usize| {
            let output = &at.outputs[o];
            output.channel.is_some() && output.to.is_none_or(|to| self.has_room(now, id, to))
        };
        taken.iter().all(open).then_some((flit, taken))
    }

    fn leave(&mut self, now: Cycle, id: usize, vertex: usize, flit: u32, taken: &[usize]) {
        let tail = self.worms[id].flits;
        for &o in taken {
            let output = &mut self.worms[id].vertices[vertex].outputs[o];
            output.last = flit;
            output.crossed += 1;
            let (channel, to, node, crossed) = (output.channel.unwrap(), output.to, output.node, output.crossed);
            self.log(now, What::Flit { worm: id as u64, channel, flit });
            self.sent[channel as usize] += 1;
            match to {
                Some(to) => {
                    let comes = now + self.lag(channel, Wrong::Arrivals);
                    let to = &mut self.worms[id].vertices[to];
                    to.buffer.push_back((flit, comes));
                    to.entered += 1;
                }
                None if flit == tail => {
                    self.release(now, id, channel, None, crossed);
                    self.deliver(now, id, node.unwrap());
                }
                None => {}
            }
        }
        // The slot frees once every output has the flit.
        let all_have = |this: &Self, flit: u32| {
            let outputs = &this.worms[id].vertices[vertex].outputs;
            (0..outputs.len()).all(|o| outputs[o].last >= flit || !this.takes(id, vertex, o, flit))
        };
        let front = self.worms[id].vertices[vertex].buffer.front().map(|front| front.0);
        if front.is_some_and(|front| all_have(self, front)) {
            self.drop_front(now, id, vertex);
        }
    }

    fn drop_front(&mut self, now: Cycle, id: usize, vertex: usize) {
        let worm = &mut self.worms[id];
        let tail = worm.flits;
        let at = &mut worm.vertices[vertex];
        let (flit, _) = at.buffer.pop_front().unwrap();
        let (by, entered) = (at.by.unwrap(), at.entered);
        let is_empty = at.buffer.is_empty();
        let known = now + self.lag(by, Wrong::Slots);
        self.worms[id].vertices[vertex].known.push(known);
        if flit == tail {
            assert!(is_empty);
            self.release(now, id, by, Some(vertex), entered);
        }
    }

    fn release(&mut self, now: Cycle, id: usize, channel: u32, vertex: Option<usize>, flits: u32) {
        let lag = self.lag(channel, Wrong::Releases);
        let places = &mut self.held[channel as usize];
        let place = places.iter().position(|&place| place == Some((id, vertex))).expect("it holds the channel");
        match lag {
            0 => places[place] = None,
            lag => self.returning.push((now + lag, channel, place)),
        }
        self.log(now, What::Release { worm: id as u64, channel, flits });
        let returning = |channel, place| self.returning.iter().any(|&(_, c, p)| (c, p) == (channel, place));
        let held = |(channel, places): (usize, &Vec<Option<Holder>>)| {
            let own = |(place, holder): (usize, &Option<Holder>)| {
                holder.is_some_and(|(worm, _)| worm == id) && !returning(channel as u32, place)
            };
            places.iter().enumerate().any(own)
        };
        let holds = self.held.iter().enumerate().any(held);
        let asks = self.requests.iter().any(|request| request.worm == id);
        if !holds && !asks {
            self.worms[id].finished = true;
        }
    }

    fn deliver(&mut self, now: Cycle, id: usize, node: NodeId) {
        let delivered = now + 1;
        self.log(now, What::Delivery { worm: id as u64, node: node.raw(), delivered });
        for worm in &mut self.worms {
            if worm.after == Some(id) && worm.plan.from == node {
                worm.ready = Some(delivered + u64::from(self.config.receive_overhead));
            }
        }
    }

    /// Strips the flits whose time has come.
    fn strip(&mut self, now: Cycle) {
        for id in 0..self.worms.len() {
            for vertex in 0..self.worms[id].vertices.len() {
                let at = &self.worms[id].vertices[vertex];
                let Some(&(flit, came)) = at.buffer.front() else { continue };
                let due = match self.config.header {
                    Header::Tree => at.granted == Some(now),
                    _ => now == came + 1 + u64::from(self.config.strip_delay),
                };
                if due && self.names(id, vertex, flit) {
                    self.worms[id].vertices[vertex].stripped = Some(now);
                    self.drop_front(now, id, vertex);
                }
            }
        }
    }

    /// Whether the processor can inject a flit of the worm.
    fn can_inject(&self, now: Cycle, id: usize) -> bool {
        let worm = &self.worms[id];
        worm.vertices[0].by.is_some()
            && worm.prepared.is_some_and(|prepared| prepared <= now)
            && worm.injected < worm.flits
            && worm.injected_in != Some(now)
            && self.has_room(now, id, 0)
    }

    fn inject(&mut self, now: Cycle, id: usize) {
        let worm = &mut self.worms[id];
        worm.injected += 1;
        worm.injected_in = Some(now);
        let (flit, source) = (worm.injected, &mut worm.vertices[0]);
        source.buffer.push_back((flit, now));
        source.entered += 1;
        let channel = source.by.unwrap();
        self.log(now, What::Flit { worm: id as u64, channel, flit });
    }

    /// The outputs that only move together.
    fn groups(&self, id: usize, vertex: usize) -> Vec<Vec<usize>> {
        let outputs = self.worms[id].vertices[vertex].outputs.len();
        match self.in_lockstep(id) {
            true if outputs > 0 => vec![(0..outputs).collect()],
            true => Vec::new(),
            false => (0..outputs).map(|o| vec![o]).collect(),
        }
    }

    /// Whether the outputs of a worm move together. Only trees have branches that could be independent.
    pub(super) fn in_lockstep(&self, id: usize) -> bool {
        self.config.replication == BranchReplication::Lockstep
            || matches!(self.worms[id].plan.itinerary, Itinerary::Path(_))
    }

    fn is_tree(&self, id: usize) -> bool {
        matches!(self.worms[id].plan.itinerary, Itinerary::Tree(_))
    }

    /// The channels that a group of outputs would use for its next flit, if that can leave and the group has not moved yet.
    fn next_move(&self, now: Cycle, id: usize, vertex: usize, group: &[usize]) -> Option<Move> {
        let at = &self.worms[id].vertices[vertex];
        // A header flit that was stripped has taken its turn.
        if at.stripped == Some(now) || at.outputs[group[0]].moved_in == Some(now) {
            return None;
        }
        let (flit, outputs) = self.can_leave(now, id, vertex, group)?;
        let links = outputs.iter().filter(|&&o| at.outputs[o].to.is_some());
        let links = links.map(|&o| (at.outputs[o].channel.unwrap(), at.outputs[o].to)).collect();
        Some(Move { id, vertex, flit, outputs, links, group: group.to_vec() })
    }

    /// Rule 18: rounds, in each of which first trees in lockstep take the links that they need, and then every link that has not served yet picks one of the other worms that are ready by now.
    /// What needs no link moves in the first round that it can; stripped flits have left before.
    pub(super) fn move_flits(&mut self, now: Cycle) {
        // Rule 23.
        for (_, channel, place) in self.returning.extract_if(.., |&mut (known, ..)| known == now) {
            self.held[channel as usize][place] = None;
        }
        self.strip(now);
        let mut served = BTreeSet::new();
        loop {
            let mut injections = Vec::new();
            let mut moves = Vec::new();
            for id in (0..self.worms.len()).filter(|&id| !self.worms[id].finished) {
                if self.can_inject(now, id) {
                    injections.push(id);
                }
                for vertex in 0..self.worms[id].vertices.len() {
                    for group in self.groups(id, vertex) {
                        moves.extend(self.next_move(now, id, vertex, &group));
                    }
                }
            }
            moves.retain(|a_move| a_move.links.iter().all(|(link, _)| !served.contains(link)));
            // Trees in lockstep go first, the older ones before the younger.
            let (trees, mut moves): (Vec<Move>, Vec<Move>) =
                moves.into_iter().partition(|m| self.in_lockstep(m.id) && self.is_tree(m.id));
            let mut taken = BTreeSet::new();
            let mut together = Vec::new();
            for a_move in trees {
                if a_move.links.iter().all(|(link, _)| !taken.contains(link)) {
                    taken.extend(a_move.links.iter().map(|&(link, _)| link));
                    together.push(a_move);
                }
            }
            moves.retain(|a_move| a_move.links.iter().all(|(link, _)| !taken.contains(link)));
            let mut turns: BTreeMap<u32, usize> = BTreeMap::new();
            for &(link, to) in moves.iter().flat_map(|a_move| &a_move.links) {
                let places = &self.held[link as usize];
                let first = self.last_user[link as usize].map_or(0, |last| last + 1);
                let in_turn = (0..places.len()).map(|i| (first + i) % places.len());
                let is_ready = |place: usize| {
                    let wants =
                        |m: &Move| m.links.iter().any(|&(l, to)| l == link && places[place] == Some((m.id, to)));
                    moves.iter().any(wants)
                };
                let chosen = in_turn.into_iter().find(|&place| is_ready(place));
                turns.insert(link, chosen.expect("this worm, if no other"));
                debug_assert!(places.iter().flatten().any(|&(_, vertex)| vertex == to));
            }
            moves.retain(|m| m.links.iter().all(|&(l, to)| self.held[l as usize][turns[&l]] == Some((m.id, to))));
            for &(link, to) in together.iter().flat_map(|a_move| &a_move.links) {
                let id = together.iter().find(|m| m.links.contains(&(link, to))).map(|m| m.id).unwrap();
                let place = self.held[link as usize].iter().position(|&place| place == Some((id, to)));
                turns.insert(link, place.expect("it holds the link"));
            }
            moves.extend(together);
            if moves.is_empty() && injections.is_empty() {
                break;
            }
            for (link, place) in turns {
                self.last_user[link as usize] = Some(place);
                served.insert(link);
            }
            for id in injections {
                self.inject(now, id);
            }
            for Move { id, vertex, flit, outputs, group, .. } in moves {
                for o in group {
                    self.worms[id].vertices[vertex].outputs[o].moved_in = Some(now);
                }
                self.leave(now, id, vertex, flit, &outputs);
            }
        }
    }
}

/// A flit that can leave a vertex by some outputs.
struct Move {
    id: usize,
    vertex: usize,
    flit: u32,
    outputs: Vec<usize>,
    /// The links among them, each with the vertex that it leads to.
    links: Vec<(u32, Option<usize>)>,
    /// All outputs that move together.
    group: Vec<usize>,
}
