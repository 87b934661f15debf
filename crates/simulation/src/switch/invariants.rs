//! What is always true of the buffers, checked after every cycle where assertions are on.

use super::central::{Central, Use};
use super::{Input, Memory, NIL, Source, State, SwitchEngine};
use crate::observers::observer::Observer;

impl<O: Observer> SwitchEngine<'_, O> {
    /// Checks that flits, slots, chunks, promises and counters add up, and that every queue holds what was written and not yet read, in
    /// order.
    pub(super) fn check_invariants(&self) {
        let mut coming = vec![0; self.inputs.len()];
        for &channel in self.wheel.iter().flatten() {
            coming[channel as usize] += 1;
        }
        for (input, fifo) in self.inputs[..self.wiring.consumption].iter().enumerate() {
            self.check_fifo(input, fifo, coming[input]);
        }
        match &self.memory {
            Memory::Central(central) => (0..self.wiring.switches).for_each(|switch| self.check_buffer(central, switch)),
            Memory::Input(readers) => {
                for (input, fifo) in self.inputs.iter().enumerate() {
                    if fifo.state != State::Replicating || readers.synchronous {
                        continue;
                    }
                    let chunk = self.config.chunk_flits;
                    let chunks = self.config.chunks(self.packets[fifo.front].flits);
                    for (number, &counter) in (0..chunks).zip(readers.counters_of(input)) {
                        let unread = self.wants[input].iter().filter(|want| {
                            let line = &self.lines[want.output as usize];
                            !want.granted || (line.from == input as u32 && line.read <= number * chunk)
                        });
                        assert_eq!(unread.count(), counter as usize, "chunk {number} at input {input}");
                    }
                }
            }
        }
    }

    fn check_fifo(&self, input: usize, fifo: &Input, coming: u32) {
        let line = &self.lines[input];
        assert_eq!(self.config.input_fifo - line.space, fifo.avail + coming, "slots of input {input}");
        let (mut flits, mut packet, mut last) = (0, fifo.front, NIL);
        while packet != NIL {
            flits += if packet == fifo.front { fifo.left } else { self.packets[packet].flits };
            (last, packet) = (packet, self.packets[packet].next);
        }
        assert_eq!(last, fifo.back, "the last packet of input {input}");
        let crossing = line.packet != NIL && line.packet == fifo.back;
        assert_eq!(flits, fifo.avail + coming + if crossing { line.left } else { 0 }, "flits of input {input}");
        assert_eq!(fifo.state == State::Empty, fifo.front == NIL, "input {input} is empty");
        if fifo.state == State::Crossing {
            assert_eq!(self.lines[fifo.output as usize].ready, fifo.avail, "flits of input {input} that can cross");
        }
    }

    fn check_buffer(&self, central: &Central, switch: usize) {
        let all = switch * central.chunks..(switch + 1) * central.chunks;
        let count = |purpose| central.uses[all.clone()].iter().filter(|&&other| other == purpose).count() as u32;
        let free = &central.free[all.clone()][..central.free_count[switch] as usize];
        assert!(free.iter().all(|&chunk| central.uses[chunk as usize] == Use::Free), "free chunks are free");
        assert_eq!(count(Use::Free), central.free_count[switch], "every free chunk is listed");
        assert_eq!(count(Use::Single), central.singles[switch]);
        let outputs = self.wiring.first_out[switch] as usize..self.wiring.first_out[switch + 1] as usize;
        let outputs = &self.wiring.outputs[outputs];
        let own = outputs.iter().filter(|&&output| central.own_taken[output as usize]).count();
        assert_eq!(count(Use::Own), own as u32);
        let inputs = self.wiring.first_in[switch] as usize..self.wiring.first_in[switch + 1] as usize;
        let promised: u32 =
            self.wiring.inputs[inputs].iter().map(|&input| self.promised(central, input as usize)).sum();
        let shared = central.chunks as u32 - outputs.len() as u32;
        let taken = count(Use::Single) + count(Use::Replicated);
        assert_eq!(central.spare[switch] + taken + promised, shared, "shared chunks of switch {switch}");

        let mut readers = vec![0; central.chunks];
        for &output in outputs {
            self.check_queue(central, output as usize, &mut readers);
        }
        for (chunk, readers) in all.zip(readers) {
            let expected = if central.uses[chunk] == Use::Free { 0 } else { central.readers[chunk] };
            assert_eq!(expected, readers, "readers of chunk {chunk}");
        }
    }

    /// Chunks that an input's packet was promised and has not taken.
    fn promised(&self, central: &Central, input: usize) -> u32 {
        let fifo = &self.inputs[input];
        if fifo.state != State::Writing || self.wants[input].len() < 2 {
            return 0;
        }
        let headers = if central.next_packet.len() == central.uses.len() { self.wants[input].len() } else { 1 };
        let missing = (headers - central.headers[input].len()) as u32;
        // While copies of the header chunk are missing, its flits are still in the FIFO.
        self.config.chunks(fifo.left) + missing - u32::from(missing > 0)
    }

    /// Walks an output's queue, counts it among the readers of each chunk that it has to read, and checks that they hold what was
    /// written and not read.
    fn check_queue(&self, central: &Central, output: usize, readers: &mut [u8]) {
        let mut walk = |mut chunk: u32| {
            let mut flits = 0;
            while chunk != NIL {
                readers[chunk as usize % central.chunks] += 1;
                flits += central.flits[chunk as usize];
                chunk = central.next_chunk[chunk as usize];
            }
            flits
        };
        let written = |packet: u32| {
            let writes = |input: &u32| {
                self.inputs[*input as usize].state == State::Writing
                    && self.wants[*input as usize].iter().any(|want| want.packet == packet)
            };
            let switch = self.wiring.from[output] as usize;
            let inputs = self.wiring.first_in[switch] as usize..self.wiring.first_in[switch + 1] as usize;
            let Some(&input) = self.wiring.inputs[inputs].iter().find(|input| writes(input)) else {
                return self.packets[packet].flits;
            };
            let (flits, missing) = (self.packets[packet].flits, self.inputs[input as usize].left);
            // A header chunk that is still copied has not left the FIFO; its first copy may be read and gone. A branch may have fewer flits than what comes in.
            if missing >= flits { flits.min(self.config.chunk_flits) } else { flits - missing }
        };
        let line = &self.lines[output];
        if line.source == Source::Register {
            let read = self.packets[line.packet].flits - line.left + line.ready;
            assert_eq!(walk(central.first_chunk[output]) + read, written(line.packet), "the packet at output {output}");
        }
        let (mut header, mut packets) = (central.first_packet[output], 0);
        while header != NIL {
            let link = central.link(&self.wiring, output, header);
            packets += 1;
            assert_eq!(walk(header), written(central.head[link]), "packet {packets} in the queue of output {output}");
            if central.next_packet[link] == NIL {
                assert_eq!(central.last_packet[output], header, "the last packet of output {output}");
            }
            header = central.next_packet[link];
        }
        assert_eq!(packets, central.queued[output], "packets in the queue of output {output}");
    }
}
