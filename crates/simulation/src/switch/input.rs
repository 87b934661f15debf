//! The input buffer: packets that are replicated from the FIFO of their input (paper 4, section 5).

use super::wiring::Wiring;
use super::{Memory, State, SwitchConfig, SwitchEngine};
use crate::observers::observer::Observer;

/// How far the packets at the heads of FIFOs have been read by their branches.
pub(super) struct Readers {
    /// Whether branches move in lock-step, from registers of a flit and not from chunks.
    pub(super) synchronous: bool,
    /// Inputs whose packets have all their outputs and move in lock-step.
    pub(super) lockstep: Vec<u32>,
    /// Inputs whose packets are read chunk by chunk.
    replicating: Vec<u32>,
    /// Branches that have not read a chunk of the first packet, for each input and chunk.
    pub(super) counters: Vec<u8>,
    /// The most chunks of a packet.
    chunks: usize,
    /// Chunks of each input's first packet that all have read.
    pub(super) gone: Vec<u32>,
}

impl Readers {
    pub(super) fn new(wiring: &Wiring, config: &SwitchConfig, synchronous: bool) -> Self {
        let channels = wiring.consumption;
        let chunks = config.chunks(config.max_packet) as usize;
        Self {
            synchronous,
            lockstep: Vec::new(),
            replicating: Vec::new(),
            counters: vec![0; channels * chunks],
            chunks,
            gone: vec![0; channels],
        }
    }

    /// An input's first packet, of so many chunks' flits, is to be read by `branches` outputs.
    pub(super) fn begin(&mut self, input: usize, chunks: u32, branches: usize) {
        if self.synchronous {
            return;
        }
        self.counters[input * self.chunks..][..chunks as usize].fill(branches as u8);
        self.gone[input] = 0;
        self.replicating.push(input as u32);
    }

    /// The counters of the first packet of an input.
    pub(super) fn counters_of(&self, input: usize) -> &[u8] {
        &self.counters[input * self.chunks..][..self.chunks]
    }
}

impl<O: Observer> SwitchEngine<'_, O> {
    /// At each input, one branch reads a chunk: of those that have sent the one before, the one that was served least recently. The
    /// chunk goes when all have read it.
    pub(super) fn read_inputs(&mut self) {
        let Memory::Input(readers) = &mut self.memory else { return };
        let mut replicating = std::mem::take(&mut readers.replicating);
        replicating.retain(|&input| {
            self.read_input(input as usize);
            self.inputs[input as usize].state == State::Replicating
        });
        if let Memory::Input(readers) = &mut self.memory {
            readers.replicating = replicating;
        }
    }

    fn read_input(&mut self, input: usize) {
        let fifo = self.inputs[input];
        let flits = self.packets[fifo.front].flits;
        let there = flits - fifo.left + fifo.avail;
        let (lines, chunk) = (&self.lines, self.config.chunk_flits);
        let reads = |read: u32| chunk.min(flits - read);
        let ready = self.wants[input].iter().position(|want| {
            let line = &lines[want.output as usize];
            want.granted && line.from == input as u32 && line.ready == 0 && line.read < flits && {
                line.read + reads(line.read) <= there
            }
        });
        let Some(place) = ready else { return };
        let output = self.wants[input][place].output as usize;
        // Wants are in the order of service.
        self.wants[input][place..].rotate_left(1);
        let line = &mut self.lines[output];
        let (number, taken) = (line.read / chunk, reads(line.read));
        line.ready = taken;
        line.read += taken;
        self.moved = true;
        let Memory::Input(readers) = &mut self.memory else { return };
        let counter = &mut readers.counters[input * readers.chunks + number as usize];
        *counter -= 1;
        if *counter == 0 {
            debug_assert_eq!(number, readers.gone[input], "chunks go in order");
            readers.gone[input] += 1;
            self.take(input, taken);
        }
    }
}
