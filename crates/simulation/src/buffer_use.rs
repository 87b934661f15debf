//! What the buffers of switches hold in a part of a run, and over all of it.

use std::io::{self, Write};

use wormcast_network::RouterId;

use crate::observer::{Cycle, Observer};
use crate::result::BufferUse;

/// Sums samples of each switch. Memory: 8 bytes a switch.
#[derive(Default)]
pub(crate) struct BufferCounter {
    sums: Vec<u64>,
    samples: u64,
    most: u64,
}

impl BufferCounter {
    pub(crate) fn add(&mut self, switch: RouterId, flits: u64) {
        if self.sums.len() <= switch.index() {
            self.sums.resize(switch.index() + 1, 0);
        }
        self.sums[switch.index()] += flits;
        self.samples += 1;
        self.most = self.most.max(flits);
    }

    /// Of switches that can hold so many flits each; `None` without samples.
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

/// Keeps what the buffers of buffered switches hold over a whole run: every sample of every switch, 24 bytes each.
#[derive(Clone, Debug, Default)]
pub struct BufferLog {
    samples: Vec<(Cycle, RouterId, u64)>,
}

impl BufferLog {
    /// Writes `cycle,switch,flits`, one line a sample.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "cycle,switch,flits")?;
        for (cycle, switch, flits) in &self.samples {
            writeln!(out, "{cycle},{switch},{flits}")?;
        }
        out.flush()
    }
}

impl Observer for BufferLog {
    const OCCUPANCY: bool = true;

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64) {
        self.samples.push((at, switch, flits));
    }
}
