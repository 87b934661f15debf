//! The occupancy of switch buffers, in part of a run and over all of it.

use std::io::{self, Write};

use wormcast_network::RouterId;

use crate::observers::observer::{Cycle, Observer};
use crate::observers::sink::Sink;
use crate::run::result::BufferUse;

/// Sums samples of each switch. Memory: 8 bytes a switch.
#[derive(Default)]
pub(crate) struct BufferCounter {
    sums: Vec<u64>,
    samples: u64,
    most: u64,
}

impl BufferCounter {
    /// So many samples in which a switch's buffers hold the same.
    pub(crate) fn add(&mut self, switch: RouterId, flits: u64, samples: u64) {
        if self.sums.len() <= switch.index() {
            self.sums.resize(switch.index() + 1, 0);
        }
        self.sums[switch.index()] += flits * samples;
        self.samples += samples;
        self.most = self.most.max(flits);
    }

    /// The summary, for switches that can hold this many flits each; `None` without samples.
    pub(crate) fn result(&self, storage: &[u64]) -> Option<BufferUse> {
        if self.samples == 0 || self.sums.is_empty() {
            return None;
        }
        // Every sample is of all switches.
        let switches = self.sums.len() as f64;
        let rounds = self.samples as f64 / switches;
        let share = |(&sum, &storage): (&u64, &u64)| sum as f64 / rounds / storage.max(1) as f64;
        Some(BufferUse {
            mean: self.sums.iter().sum::<u64>() as f64 / self.samples as f64,
            most: self.most,
            share: self.sums.iter().zip(storage).map(share).sum::<f64>() / switches,
        })
    }
}

/// Writes what the buffers of buffered switches hold over a whole run: `cycle,switch,flits`, one line a sample, as the run goes on. Where nothing moves for longer
/// there is one line for all samples, which holds until the switch's next one.
#[derive(Debug)]
pub struct BufferLog<W: Write> {
    out: Sink<W>,
}

impl<W: Write> BufferLog<W> {
    /// Without samples yet; they are written to `out`, in small pieces that are buffered.
    pub fn new(out: W) -> Self {
        let mut out = Sink::new(out);
        out.write(|out| writeln!(out, "cycle,switch,flits"));
        Self { out }
    }

    /// Returns the writer.
    ///
    /// # Errors
    /// If writing failed, now or during the run.
    pub fn finish(self) -> io::Result<W> {
        self.out.finish()
    }
}

impl<W: Write> Observer for BufferLog<W> {
    const OCCUPANCY: bool = true;
    const RELEASES: bool = false;

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, _samples: u64) {
        self.out.write(|out| writeln!(out, "{at},{switch},{flits}"));
    }

    /// A run whose samples cannot be written need not go on.
    fn done(&self) -> bool {
        self.out.has_failed()
    }
}
