//! Packets that block each other forever.
//!
//! Two kinds of things can be stuck: the first packet of a FIFO, which never leaves it, and a line, which never sends another flit of the
//! packet that crosses it. All are assumed stuck; one after the other is found not to be, because something that it waits
//! for is not. What remains can only wait for what remains, and none of it moves now: so none ever will.

use wormcast_network::{ChannelId, ChannelKind, RouterId};

use super::{Line, Memory, NIL, Source, State, SwitchEngine};
use crate::observers::observer::Observer;
use crate::run::result::{DeadWorm, Deadlock};

/// What a stuck packet waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Obstacle {
    /// A line that another packet has.
    Line(usize),
    /// A slot of the FIFO at a line's end.
    Slot(usize),
    /// Flits that come by its own channel.
    Flits,
}

pub(super) struct Search {
    inputs: Vec<bool>,
    lines: Vec<bool>,
}

impl<O: Observer> SwitchEngine<'_, O> {
    /// What will never move: O((inputs + outputs) x what one waits for), times how deep the waits are.
    pub(super) fn search(&self) -> Search {
        let waiting = |state| !matches!(state, State::Empty | State::New);
        let mut search = Search {
            inputs: self.inputs.iter().map(|input| waiting(input.state)).collect(),
            lines: self.lines.iter().map(|line| line.source != Source::Idle).collect(),
        };
        loop {
            let mut changed = false;
            for input in 0..search.inputs.len() {
                if search.inputs[input] && self.obstacle(input, &search).is_none() {
                    search.inputs[input] = false;
                    changed = true;
                }
            }
            for line in 0..search.lines.len() {
                if search.lines[line] && !self.line_stuck(line, &search) {
                    search.lines[line] = false;
                    changed = true;
                }
            }
            if !changed {
                return search;
            }
        }
    }

    /// The slots of the worms with packets that will never move.
    pub(super) fn dead_worms(&self, search: &Search) -> Vec<u32> {
        let worm_of = |input: usize| self.packets[self.inputs[input].front].worm;
        let mut dead: Vec<u32> = (0..search.inputs.len()).filter(|&i| search.inputs[i]).map(worm_of).collect();
        dead.sort_unstable();
        dead.dedup();
        dead
    }

    /// The packets that will never move, if there are any.
    pub(super) fn find_deadlock(&self) -> Option<Deadlock> {
        let search = self.search();
        let first = search.inputs.iter().position(|&stuck| stuck)?;
        let dead = self.dead_worms(&search);
        // From one to what it waits for, until one is met again.
        let mut walk = vec![first];
        let start = loop {
            let next = self.after(walk[walk.len() - 1], &search);
            match walk.iter().position(|&earlier| earlier == next) {
                Some(start) => break start,
                None => walk.push(next),
            }
        };
        let mut cycle: Vec<DeadWorm> = walk[start..].iter().map(|&input| self.describe(input, &search)).collect();
        cycle.dedup_by(|a, b| a.worm == b.worm && a.header_at == b.header_at);
        Some(Deadlock { at: self.now.saturating_sub(1), dead: dead.len(), cycle })
    }

    /// The stuck packet that a stuck packet waits for.
    fn after(&self, input: usize, search: &Search) -> usize {
        let upstream = |line: usize| match self.lines[line].from {
            NIL => self.writer_of(line).unwrap_or(line),
            from => from as usize,
        };
        match self.obstacle(input, search) {
            Some(Obstacle::Slot(line)) => line,
            Some(Obstacle::Flits) => upstream(input),
            Some(Obstacle::Line(line)) if self.blocked(&self.lines[line]) && line < self.wiring.consumption => {
                if search.inputs[upstream(line)] { upstream(line) } else { line }
            }
            Some(Obstacle::Line(line)) => upstream(line),
            None => input,
        }
    }

    /// Whether a line has a flit but no slot for it.
    pub(super) fn blocked(&self, line: &Line) -> bool {
        let flit = match line.source {
            Source::Lockstep => self.inputs[line.from as usize].avail > 0,
            _ => line.ready > 0,
        };
        flit && line.space == 0
    }

    /// The input that writes what a line reads from a central buffer.
    fn writer_of(&self, line: usize) -> Option<usize> {
        let packet = self.lines[line].packet;
        let writes = |&input: &usize| {
            self.inputs[input].state == State::Writing && self.wants[input].iter().any(|want| want.packet == packet)
        };
        (0..self.wiring.consumption).find(writes)
    }

    fn line_stuck(&self, channel: usize, search: &Search) -> bool {
        let line = &self.lines[channel];
        if self.blocked(line) {
            return search.inputs[channel];
        }
        match (&self.memory, line.source) {
            (_, Source::Crossbar) => self.inputs[line.from as usize].avail == 0 && search.inputs[line.from as usize],
            (_, Source::Lockstep) => search.inputs[line.from as usize],
            (Memory::Input(_), Source::Register) => {
                line.ready == 0 && self.starved(line.from as usize, 1) && search.lines[line.from as usize]
            }
            (Memory::Central(central), Source::Register) => {
                line.ready == 0
                    && central.first_chunk[channel] == NIL
                    && self.writer_of(channel).is_some_and(|input| search.inputs[input])
            }
            _ => false,
        }
    }

    /// Whether a FIFO lacks flits of its first packet, of which so many at a time can go on, and they still have to cross its channel.
    fn starved(&self, input: usize, flits: u32) -> bool {
        let (fifo, line) = (&self.inputs[input], &self.lines[input]);
        let coming = self.config.input_fifo - line.space - fifo.avail;
        fifo.avail < flits.min(fifo.left) && coming == 0 && line.packet == fifo.front
    }

    /// Whether all that is in a switch's central buffer is stuck there.
    fn buffer_stuck(&self, switch: usize, search: &Search) -> bool {
        let outputs = self.wiring.first_out[switch] as usize..self.wiring.first_out[switch + 1] as usize;
        self.wiring.outputs[outputs].iter().all(|&output| {
            let Memory::Central(central) = &self.memory else { return true };
            let used =
                !central.queue_is_empty(output as usize) || self.lines[output as usize].source == Source::Register;
            !used || search.lines[output as usize]
        })
    }

    /// What keeps a FIFO's first packet where it is, given what is stuck; `None`: nothing.
    fn obstacle(&self, input: usize, search: &Search) -> Option<Obstacle> {
        let fifo = &self.inputs[input];
        let wants = &self.wants[input];
        let stuck = |output: u32| search.lines[output as usize];
        let slot = |output: u32| self.blocked(&self.lines[output as usize]) && search.inputs[output as usize];
        let starved = |flits| self.starved(input, flits) && search.lines[input];
        let first = |place: Option<u32>| place.map(|output| Obstacle::Line(output as usize));
        match fifo.state {
            State::Empty | State::New => None,
            State::Crossing => {
                let output = wants.iter().find(|want| self.has(input, want))?.output;
                if slot(output) { Some(Obstacle::Slot(output as usize)) } else { starved(1).then_some(Obstacle::Flits) }
            }
            State::Waiting => {
                if !wants.iter().all(|want| stuck(want.output)) {
                    return None;
                }
                let Memory::Central(_) = &self.memory else { return first(wants.first().map(|want| want.output)) };
                let whole = fifo.avail >= fifo.left.min(self.config.chunk_flits);
                if !whole {
                    return starved(self.config.chunk_flits).then_some(Obstacle::Flits);
                }
                self.no_room(input, search).then(|| first(wants.first().map(|want| want.output)))?
            }
            State::Admission | State::Writing => {
                if fifo.avail < fifo.left.min(self.config.chunk_flits) {
                    return starved(self.config.chunk_flits).then_some(Obstacle::Flits);
                }
                self.no_room(input, search).then(|| first(wants.first().map(|want| want.output)))?
            }
            State::Replicating => {
                let waits = wants.iter().find(|want| !want.granted && stuck(want.output));
                let blocked = wants.iter().find(|want| want.granted && self.has(input, want) && slot(want.output));
                first(waits.map(|want| want.output))
                    .or_else(|| blocked.map(|want| Obstacle::Slot(want.output as usize)))
                    .or_else(|| starved(self.config.chunk_flits).then_some(Obstacle::Flits))
            }
            State::Lockstep => wants
                .iter()
                .find(|want| slot(want.output))
                .map(|want| Obstacle::Slot(want.output as usize))
                .or_else(|| starved(1).then_some(Obstacle::Flits)),
        }
    }

    /// Whether a branch of an input's first packet is still crossing its line.
    fn has(&self, input: usize, want: &super::Want) -> bool {
        let line = &self.lines[want.output as usize];
        match self.inputs[input].state {
            // By way of the shared buffer; the packet is there as long as its chunks are written.
            State::Writing => line.packet == want.packet,
            _ => line.from == input as u32,
        }
    }

    /// Whether an input's next chunk finds no room in a central buffer, and never will.
    fn no_room(&self, input: usize, search: &Search) -> bool {
        let Memory::Central(central) = &self.memory else { return false };
        let switch = self.wiring.to[input] as usize;
        let full = match self.inputs[input].state {
            State::Admission => {
                let copies = central.header_copies(self.wants[input].len());
                central.spare[switch] < self.config.chunks(self.inputs[input].left) + copies
            }
            State::Writing if self.wants[input].len() > 1 => false,
            _ => central.spare[switch] == 0 || central.singles[switch] >= central.singles_limit[switch],
        };
        full && self.buffer_stuck(switch, search)
    }

    fn describe(&self, input: usize, search: &Search) -> DeadWorm {
        let worm = &self.worms[self.packets[self.inputs[input].front].worm];
        let wants = &self.wants[input];
        let mut holds = vec![self.channel_name(input)];
        holds.extend(
            wants.iter().filter(|want| self.has(input, want)).map(|want| self.channel_name(want.output as usize)),
        );
        let waits_for = match self.obstacle(input, search) {
            Some(Obstacle::Slot(line)) => vec![format!("a slot behind {}", self.channel_name(line))],
            Some(Obstacle::Flits) => vec![format!("flits by {}", self.channel_name(input))],
            Some(Obstacle::Line(_)) | None => {
                let missing = wants.iter().filter(|want| !self.has(input, want));
                missing.map(|want| self.channel_name(want.output as usize)).collect()
            }
        };
        let at = RouterId::new(self.wiring.to[input]);
        let router = self.network.router_label(at);
        DeadWorm { worm: worm.id, message: worm.message, header_at: at.raw(), router, holds, waits_for }
    }

    /// A channel as users write it; nodes have one each way.
    fn channel_name(&self, channel: usize) -> String {
        let id = ChannelId::new(channel as u32);
        match self.wiring.space.kind(id) {
            ChannelKind::Link => self.network.link_label(id),
            ChannelKind::Injection(node, _) => format!("injection {}", self.network.node_label(node)),
            ChannelKind::Consumption(node, _) => format!("consumption {}", self.network.node_label(node)),
        }
    }
}
