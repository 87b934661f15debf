//! The central buffer: chunks in a queue for each output (paper 4, section 4), and which ports may write and read them.

use super::wiring::{MAX_SWITCH_PORTS, Order, Wiring};
use super::{Memory, NIL, Source, State, SwitchConfig, SwitchEngine, Want};
use crate::config::switching::HeaderChunks;
use crate::observers::observer::Observer;

/// What a chunk was taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Nothing.
    Free,
    /// A packet that goes to one output, from the chunks that all share.
    Single,
    /// A packet that is replicated: promised when it was admitted.
    Replicated,
    /// The packet that an output is sending: that output's own chunk.
    Own,
}

/// The central buffers of all switches, in flat arrays. Chunk `c` of switch `s` is number `s * chunks + c`; pointers are such numbers.
pub(super) struct Central {
    /// Chunks of a switch.
    pub(super) chunks: usize,
    /// Whether each output has a next-packet memory of its own.
    separate: bool,
    /// The packet behind in the queue, at header chunks; indexed by `link`.
    pub(super) next_packet: Vec<u32>,
    /// What the queue's output sends as this packet, at header chunks; indexed by `link`.
    pub(super) head: Vec<u32>,
    pub(super) next_chunk: Vec<u32>,
    pub(super) flits: Vec<u32>,
    /// Outputs that have not read the chunk.
    pub(super) readers: Vec<u8>,
    pub(super) uses: Vec<Use>,
    /// The free chunks of each switch, the first `free_count` of its part.
    pub(super) free: Vec<u32>,
    pub(super) free_count: Vec<u32>,
    /// Shared chunks that are neither taken nor promised, of each switch.
    pub(super) spare: Vec<u32>,
    /// Shared chunks taken by packets that go to one output, and how many these may take at most.
    pub(super) singles: Vec<u32>,
    pub(super) singles_limit: Vec<u32>,
    // By channel, as an output.
    pub(super) first_packet: Vec<u32>,
    pub(super) last_packet: Vec<u32>,
    pub(super) first_chunk: Vec<u32>,
    /// Packets in the queue.
    pub(super) queued: Vec<u32>,
    /// Whether the output's own chunk is taken.
    pub(super) own_taken: Vec<bool>,
    // By channel, as an input.
    pub(super) last_chunk: Vec<u32>,
    /// The header chunks of the packet that is written, one for each output or one for all.
    pub(super) headers: Vec<Vec<u32>>,
    /// Inputs of each switch with a complete chunk to write, and outputs with a chunk to read.
    pub(super) writes: Vec<u64>,
    pub(super) reads: Vec<u64>,
    write_order: Order,
    read_order: Order,
}

impl Central {
    /// The chunks that a packet with so many branches takes for copies of its header, beside its own chunks.
    pub(super) fn header_copies(&self, branches: usize) -> u32 {
        if self.separate { 0 } else { branches as u32 - 1 }
    }

    pub(super) fn new(wiring: &Wiring, config: &SwitchConfig, chunks: u32, header_chunks: HeaderChunks) -> Self {
        let all = wiring.switches * chunks as usize;
        let channels = wiring.space.len();
        let separate = header_chunks == HeaderChunks::NextPacketMemory;
        let links = if separate { wiring.outputs.len() * chunks as usize } else { all };
        let outputs = |switch| wiring.outputs_of(switch);
        let shared = |switch| chunks - outputs(switch);
        let limit = |switch| shared(switch) - config.most_chunks(outputs(switch), header_chunks);
        Self {
            chunks: chunks as usize,
            separate,
            next_packet: vec![NIL; links],
            head: vec![NIL; links],
            next_chunk: vec![NIL; all],
            flits: vec![0; all],
            readers: vec![0; all],
            uses: vec![Use::Free; all],
            // The last one is taken first.
            free: (0..all as u32).rev().map(|chunk| flip(chunk, wiring.switches as u32, chunks)).collect(),
            free_count: vec![chunks; wiring.switches],
            spare: (0..wiring.switches).map(shared).collect(),
            singles: vec![0; wiring.switches],
            singles_limit: (0..wiring.switches).map(limit).collect(),
            first_packet: vec![NIL; channels],
            last_packet: vec![NIL; channels],
            first_chunk: vec![NIL; channels],
            queued: vec![0; channels],
            own_taken: vec![false; channels],
            last_chunk: vec![NIL; channels],
            headers: vec![Vec::new(); channels],
            writes: vec![0; wiring.switches],
            reads: vec![0; wiring.switches],
            write_order: Order::new(&wiring.first_in),
            read_order: Order::new(&wiring.first_out),
        }
    }

    /// Chunks of a switch that are taken.
    pub(super) fn used(&self, switch: usize) -> u32 {
        self.chunks as u32 - self.free_count[switch]
    }

    #[inline]
    pub(super) fn queue_is_empty(&self, output: usize) -> bool {
        self.first_packet[output] == NIL
    }

    /// Where a header chunk's next-packet pointer for an output is.
    #[inline]
    pub(super) fn link(&self, wiring: &Wiring, output: usize, chunk: u32) -> usize {
        if !self.separate {
            return chunk as usize;
        }
        let place = wiring.first_out[wiring.from[output] as usize] as usize + wiring.out_port[output] as usize;
        place * self.chunks + chunk as usize % self.chunks
    }

    /// An output has sent a packet's last flit: if another is queued, it can be read.
    #[inline]
    pub(super) fn line_idle(&mut self, wiring: &Wiring, output: usize) {
        if self.first_packet[output] != NIL {
            self.readable(wiring, output);
        }
    }

    /// An output asks for a chunk.
    #[inline]
    pub(super) fn readable(&mut self, wiring: &Wiring, output: usize) {
        self.reads[wiring.from[output] as usize] |= 1 << wiring.out_port[output];
    }

    /// Takes a free chunk for so many flits and readers.
    fn take(&mut self, switch: usize, flits: u32, readers: usize, purpose: Use) -> u32 {
        self.free_count[switch] -= 1;
        let chunk = self.free[switch * self.chunks + self.free_count[switch] as usize];
        let at = chunk as usize;
        debug_assert_eq!(self.uses[at], Use::Free);
        (self.next_chunk[at], self.flits[at], self.readers[at]) = (NIL, flits, readers as u8);
        self.uses[at] = purpose;
        chunk
    }

    /// Gives a chunk back that all have read, the last of them `output`.
    fn give_back(&mut self, switch: usize, chunk: u32, output: usize) {
        match self.uses[chunk as usize] {
            Use::Single => {
                self.singles[switch] -= 1;
                self.spare[switch] += 1;
            }
            Use::Replicated => self.spare[switch] += 1,
            Use::Own => self.own_taken[output] = false,
            Use::Free => debug_assert!(false, "chunk {chunk} is given back twice"),
        }
        self.uses[chunk as usize] = Use::Free;
        self.free[switch * self.chunks + self.free_count[switch] as usize] = chunk;
        self.free_count[switch] += 1;
    }

    /// Puts a packet with this header chunk at the end of an output's queue.
    fn enqueue(&mut self, wiring: &Wiring, output: usize, chunk: u32, packet: u32) {
        let link = self.link(wiring, output, chunk);
        (self.next_packet[link], self.head[link]) = (NIL, packet);
        if self.first_packet[output] == NIL {
            self.first_packet[output] = chunk;
        } else {
            let last = self.link(wiring, output, self.last_packet[output]);
            self.next_packet[last] = chunk;
        }
        self.last_packet[output] = chunk;
        self.queued[output] += 1;
    }
}

/// The numbers of each switch's chunks in decreasing order, given those of all in decreasing order.
fn flip(chunk: u32, switches: u32, chunks: u32) -> u32 {
    (switches - 1 - chunk / chunks) * chunks + chunk % chunks
}

impl<O: Observer> SwitchEngine<'_, O> {
    /// If an input's next chunk is complete, it asks for it to be written.
    #[inline]
    pub(super) fn chunk_complete(&mut self, input: usize) {
        let fifo = &self.inputs[input];
        if fifo.avail >= fifo.left.min(self.config.chunk_flits)
            && let Memory::Central(central) = &mut self.memory
        {
            central.writes[self.wiring.to[input] as usize] |= 1 << self.wiring.in_port[input];
        }
    }

    /// In each switch, one input writes a chunk: of those that may, the one that was served least recently.
    pub(super) fn write_chunks(&mut self) {
        for switch in 0..self.wiring.switches {
            let Memory::Central(central) = &self.memory else { return };
            let asking = central.writes[switch];
            if asking == 0 {
                continue;
            }
            let mut order = [0; MAX_SWITCH_PORTS];
            let ports = central.write_order.of(switch);
            let count = ports.len();
            order[..count].copy_from_slice(ports);
            let mut room = true;
            let port = order[..count].iter().copied().find(|&port| {
                asking >> port & 1 == 1 && self.write(switch, self.wiring.input(switch, port), &mut room)
            });
            if let (Some(port), Memory::Central(central)) = (port, &mut self.memory) {
                central.write_order.served(switch, port);
                self.moved = true;
            }
        }
    }

    /// Writes an input's next chunk if it may. An input that waits for room to be admitted keeps those behind it from being admitted:
    /// `room` says whether none has yet.
    fn write(&mut self, switch: usize, input: usize, room: &mut bool) -> bool {
        let shortest = if self.inputs[input].state == State::Waiting { self.shortest_queue(input) } else { None };
        let Memory::Central(central) = &mut self.memory else { return false };
        let fifo = self.inputs[input];
        let flits = fifo.left.min(self.config.chunk_flits);
        let purpose = match fifo.state {
            State::Waiting => {
                if !*room || central.spare[switch] == 0 {
                    *room = false;
                    return false;
                }
                if central.singles[switch] >= central.singles_limit[switch] {
                    return false;
                }
                let Some(chosen) = shortest else { return false };
                self.wants[input].clear();
                self.wants[input].push(Want { granted: true, ..chosen });
                self.requests[switch] &= !(1 << self.wiring.in_port[input]);
                Use::Single
            }
            State::Admission => {
                let need = self.config.chunks(fifo.left) + central.header_copies(self.wants[input].len());
                if !*room || central.spare[switch] < need {
                    *room = false;
                    return false;
                }
                central.spare[switch] -= need;
                Use::Replicated
            }
            _ if self.wants[input].len() > 1 => Use::Replicated,
            _ if central.spare[switch] > 0 && central.singles[switch] < central.singles_limit[switch] => Use::Single,
            _ => {
                // The packet that an output is sending always gets on, by the output's own chunk.
                let Some(&Want { output, packet, .. }) = self.wants[input].first() else { return false };
                let output = output as usize;
                let waits = self.lines[output].packet == packet && central.first_chunk[output] == NIL;
                if !waits || central.own_taken[output] {
                    return false;
                }
                central.own_taken[output] = true;
                Use::Own
            }
        };
        if purpose == Use::Single {
            central.singles[switch] += 1;
            central.spare[switch] -= 1;
        }
        if matches!(fifo.state, State::Waiting | State::Admission) {
            central.headers[input].clear();
            central.last_chunk[input] = NIL;
            self.inputs[input].state = State::Writing;
        }
        let written =
            self.write_header(switch, input, flits, purpose) || self.write_body(switch, input, flits, purpose);
        debug_assert!(written);
        true
    }

    /// The output with the shortest queue of those that an input's first packet may have.
    fn shortest_queue(&self, input: usize) -> Option<Want> {
        let Memory::Central(central) = &self.memory else { return None };
        self.preferred(input, self.wants[input].iter().copied(), |want| central.queued[want.output as usize])
    }

    /// Writes the header chunk, or the next copy of it; whether there was one to write.
    fn write_header(&mut self, switch: usize, input: usize, flits: u32, purpose: Use) -> bool {
        let Memory::Central(central) = &mut self.memory else { return false };
        let wants = &self.wants[input];
        let (done, copies) = (central.headers[input].len(), if central.separate { 1 } else { wants.len() });
        if done >= copies {
            return false;
        }
        let readers = if central.separate { wants.len() } else { 1 };
        let chunk = central.take(switch, flits, readers, purpose);
        central.headers[input].push(chunk);
        for want in &wants[done..done + readers] {
            let output = want.output as usize;
            central.enqueue(&self.wiring, output, chunk, want.packet);
            if self.lines[output].source == Source::Idle {
                central.readable(&self.wiring, output);
            }
        }
        if done + 1 == copies {
            self.written(input, flits);
        }
        true
    }

    /// Writes a chunk behind the header chunk.
    fn write_body(&mut self, switch: usize, input: usize, flits: u32, purpose: Use) -> bool {
        let Memory::Central(central) = &mut self.memory else { return false };
        let wants = &self.wants[input];
        let chunk = central.take(switch, flits, wants.len(), purpose);
        let last = central.last_chunk[input];
        for (place, want) in wants.iter().enumerate() {
            let output = want.output as usize;
            if self.lines[output].packet == want.packet && central.first_chunk[output] == NIL {
                // It has read all before this one, and whatever that was may be gone.
                central.first_chunk[output] = chunk;
                if self.lines[output].ready == 0 {
                    central.readable(&self.wiring, output);
                }
            } else if last == NIL {
                let headers = &central.headers[input];
                let header = headers[place.min(headers.len() - 1)];
                central.next_chunk[header as usize] = chunk;
            } else {
                central.next_chunk[last as usize] = chunk;
            }
        }
        central.last_chunk[input] = chunk;
        self.written(input, flits);
        true
    }

    /// A chunk's flits have left the FIFO.
    fn written(&mut self, input: usize, flits: u32) {
        if let Memory::Central(central) = &mut self.memory {
            central.writes[self.wiring.to[input] as usize] &= !(1 << self.wiring.in_port[input]);
        }
        self.take(input, flits);
        if self.inputs[input].state == State::Writing {
            self.chunk_complete(input);
        }
    }

    /// In each switch, one output reads a chunk: of those that have sent the one before, the one that was served least recently.
    pub(super) fn read_chunks(&mut self) {
        for switch in 0..self.wiring.switches {
            let Memory::Central(central) = &mut self.memory else { return };
            let asking = central.reads[switch];
            if asking == 0 {
                continue;
            }
            let Some(port) = central.read_order.of(switch).iter().copied().find(|&port| asking >> port & 1 == 1) else {
                continue;
            };
            central.read_order.served(switch, port);
            central.reads[switch] &= !(1 << port);
            let output = self.wiring.output(switch, port);
            let chunk = if self.lines[output].source == Source::Idle {
                let chunk = central.first_packet[output];
                let link = central.link(&self.wiring, output, chunk);
                central.first_packet[output] = central.next_packet[link];
                central.queued[output] -= 1;
                let packet = central.head[link];
                self.start(output, packet, Source::Register, self.now + 1);
                chunk
            } else {
                central.first_chunk[output]
            };
            self.moved = true;
            let Memory::Central(central) = &mut self.memory else { return };
            let at = chunk as usize;
            self.lines[output].ready = central.flits[at];
            central.first_chunk[output] = central.next_chunk[at];
            central.readers[at] -= 1;
            if central.readers[at] == 0 {
                central.give_back(switch, chunk, output);
            }
        }
    }

    /// An output has sent what was in its register, and goes on with its packet.
    #[inline]
    pub(super) fn register_emptied(&mut self, output: usize) {
        if let Memory::Central(central) = &mut self.memory
            && central.first_chunk[output] != NIL
        {
            central.readable(&self.wiring, output);
        }
    }
}
