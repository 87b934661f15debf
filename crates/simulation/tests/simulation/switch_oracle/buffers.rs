//! How chunks are written and read: rules S5 to S12.

use std::collections::VecDeque;

use wormcast_simulation::{HeaderChunks, Organization};

use super::{Branch, Chunk, From, Purpose, Stage, Stored, SwitchOracle, served};

impl SwitchOracle<'_> {
    /// Shared chunks of a switch that are neither taken nor promised, and those taken by packets that go to one output.
    fn room(&self, switch: usize, chunks: u32) -> (u32, u32) {
        let taken = |purpose: fn(Purpose) -> bool| {
            let here = |chunk: &&Chunk| chunk.switch == switch && purpose(chunk.purpose);
            self.chunks.iter().flatten().filter(here).count() as u32
        };
        let promised: u32 = self.wrote[switch].iter().map(|&input| self.firsts[input].promised).sum();
        let shared = chunks - self.given[switch].len() as u32;
        let single = taken(|purpose| purpose == Purpose::Single);
        (shared - taken(|purpose| !matches!(purpose, Purpose::Own(_))) - promised, single)
    }

    /// One input writes a chunk.
    pub(super) fn write(&mut self, switch: usize) {
        let Organization::Central { chunks, header_chunks } = self.config.organization else { return };
        let copied = header_chunks == HeaderChunks::Replicated;
        let outputs = self.given[switch].len() as u32;
        let longest = self.config.max_packet.div_ceil(self.config.chunk_flits) + if copied { outputs - 1 } else { 0 };
        let most_single = chunks - outputs - longest;
        let mut nobody_waits = true;
        for input in self.wrote[switch].clone() {
            let first = &self.firsts[input];
            if !matches!(first.stage, Stage::Waiting | Stage::Admission | Stage::Writing) {
                continue;
            }
            let Some(front) = self.fifos[input].front() else { continue };
            let left = self.packets[front.packet].flits - first.gone;
            let flits = left.min(self.config.chunk_flits);
            if self.available(input) < flits {
                continue;
            }
            let (spare, singles) = self.room(switch, chunks);
            let purpose = match first.stage {
                Stage::Waiting => {
                    if !nobody_waits || spare == 0 {
                        nobody_waits = false;
                        continue;
                    }
                    if singles >= most_single {
                        continue;
                    }
                    let chosen = self.preferred(switch, input, false).expect("an output");
                    self.firsts[input].branches = vec![chosen];
                    Purpose::Single
                }
                Stage::Admission => {
                    let need = left.div_ceil(self.config.chunk_flits)
                        + if copied { first.branches.len() as u32 - 1 } else { 0 };
                    if !nobody_waits || spare < need {
                        nobody_waits = false;
                        continue;
                    }
                    self.firsts[input].promised = need;
                    Purpose::Replicated
                }
                _ if first.branches.len() > 1 => Purpose::Replicated,
                _ if spare > 0 && singles < most_single => Purpose::Single,
                _ => {
                    let Branch { output, packet, .. } = first.branches[0];
                    let sends = self.crossings[output].as_ref().is_some_and(|crossing| crossing.packet == packet);
                    let taken = self.chunks.iter().flatten().any(|chunk| chunk.purpose == Purpose::Own(output));
                    if !sends || !self.sending[output].is_empty() || taken {
                        continue;
                    }
                    Purpose::Own(output)
                }
            };
            self.firsts[input].stage = Stage::Writing;
            self.write_one(switch, input, flits, purpose, copied);
            served(&mut self.wrote[switch], input);
            return;
        }
    }

    fn write_one(&mut self, switch: usize, input: usize, flits: u32, purpose: Purpose, copied: bool) {
        let branches = self.firsts[input].branches.clone();
        let headers = self.firsts[input].headers;
        let copies = if copied { branches.len() } else { 1 };
        let is_header = headers < copies;
        let readers: Vec<Branch> = if is_header && copied { vec![branches[headers]] } else { branches };
        self.chunks.push(Some(Chunk { switch, flits, readers: readers.len(), purpose }));
        let chunk = self.chunks.len() - 1;
        if purpose == Purpose::Replicated {
            self.firsts[input].promised -= 1;
        }
        for Branch { output, packet, .. } in readers {
            if is_header {
                self.queues[output].push_back(Stored { packet, chunks: VecDeque::from([chunk]) });
            } else if self.crossings[output].as_ref().is_some_and(|crossing| crossing.packet == packet) {
                self.sending[output].push_back(chunk);
            } else {
                let stored = self.queues[output].iter_mut().find(|stored| stored.packet == packet);
                stored.expect("queued").chunks.push_back(chunk);
            }
        }
        if is_header {
            self.firsts[input].headers += 1;
        }
        // Copies of the header chunk leave nothing behind but the last.
        if !is_header || headers + 1 == copies {
            self.leave(input, flits);
        }
    }

    /// One output reads a chunk.
    pub(super) fn read_chunk(&mut self, switch: usize) {
        let asks = |&output: &usize| match &self.crossings[output] {
            None => !self.queues[output].is_empty(),
            Some(crossing) => {
                crossing.from == From::Register && crossing.register == 0 && !self.sending[output].is_empty()
            }
        };
        let Some(output) = self.read[switch].iter().copied().find(asks) else { return };
        served(&mut self.read[switch], output);
        if self.crossings[output].is_none() {
            let stored = self.queues[output].pop_front().expect("a packet");
            self.begin(output, stored.packet, From::Register);
            self.sending[output] = stored.chunks;
        }
        let chunk = self.sending[output].pop_front().expect("a chunk");
        let read = self.chunks[chunk].as_mut().expect("still there");
        self.crossings[output].as_mut().expect("begun").register = read.flits;
        read.readers -= 1;
        if read.readers == 0 {
            self.chunks[chunk] = None;
        }
    }

    /// One branch of an input reads a chunk.
    pub(super) fn read_input(&mut self, input: usize) {
        if self.firsts[input].stage != Stage::Replicating {
            return;
        }
        let chunk = self.config.chunk_flits;
        // All that has arrived may have been read.
        let Some(front) = self.fifos[input].front() else { return };
        let flits = self.packets[front.packet].flits;
        let there = self.firsts[input].gone + self.available(input);
        for place in 0..self.firsts[input].branches.len() {
            let Branch { output, packet, granted } = self.firsts[input].branches[place];
            // A branch whose last flit is gone has nothing to read.
            let Some(crossing) =
                self.crossings[output].as_mut().filter(|crossing| granted && crossing.packet == packet)
            else {
                continue;
            };
            let next = chunk.min(flits - crossing.read);
            if next == 0 || crossing.register > 0 || crossing.read + next > there {
                continue;
            }
            crossing.register = next;
            crossing.read += next;
            // It goes behind the others.
            let branch = self.firsts[input].branches.remove(place);
            self.firsts[input].branches.push(branch);
            break;
        }
        let read = |branch: &Branch| match &self.crossings[branch.output] {
            Some(crossing) if crossing.packet == branch.packet => crossing.read,
            _ if branch.granted => flits,
            _ => 0,
        };
        let by_all = self.firsts[input].branches.iter().map(read).min().unwrap_or(0);
        self.leave(input, by_all - self.firsts[input].gone);
    }
}
