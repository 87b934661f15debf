//! The delivery log: which node got which message when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use wormcast_network::NodeId;

use crate::observers::observer::{Cycle, Delivery, Generated, Observer};

/// Keeps every delivery of a run to a destination: the first, if a node gets a message twice.
///
/// Memory does not grow with the run: at most 64 MiB of deliveries, and for each message that has not arrived everywhere 64 bytes and 8 a
/// destination. What is more goes to a temporary file without a name, 32 bytes a delivery.
#[derive(Debug)]
pub struct DeliveryLog {
    /// Messages that have not arrived everywhere.
    messages: HashMap<u64, Open>,
    /// Deliveries that are in memory.
    rows: Vec<Row>,
    /// The most of them.
    most: usize,
    spilled: Spill,
}

/// A message on its way.
#[derive(Debug)]
struct Open {
    source: NodeId,
    generated: Cycle,
    /// Sorted; and whether they have it.
    destinations: Box<[(NodeId, bool)]>,
    missing: usize,
}

/// A delivery, in the order of the file: by message, then by time and destination.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Row {
    message: u64,
    delivered: Cycle,
    destination: u32,
    source: u32,
    generated: Cycle,
}

impl DeliveryLog {
    const ROWS: usize = 1 << 20;

    /// No deliveries yet. `folder` is where a temporary file goes, should there be many.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with_rows(folder.into(), Self::ROWS)
    }

    fn with_rows(folder: PathBuf, most: usize) -> Self {
        let spilled = Spill { folder, file: None, runs: Vec::new(), error: None };
        Self { messages: HashMap::new(), rows: Vec::new(), most, spilled }
    }

    /// Writes `message,source,destination,generated,delivered` (cycles), one line a delivery, by message and then by time and
    /// destination.
    ///
    /// # Errors
    /// If writing fails, or the temporary file could not be written or read.
    pub fn write_csv(self, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        writeln!(out, "message,source,destination,generated,delivered")?;
        self.visit(|[message, source, destination, generated, delivered]| {
            writeln!(out, "{message},{source},{destination},{generated},{delivered}")
        })?;
        out.flush()
    }

    /// Visits message, source, destination, and the cycles in which it was generated and delivered, of each delivery, in the same order.
    ///
    /// # Errors
    /// That of `visit`, or if the temporary file could not be written or read.
    pub fn visit(mut self, mut visit: impl FnMut([u64; 5]) -> io::Result<()>) -> io::Result<()> {
        self.rows.sort_unstable();
        self.spilled.merge(self.rows, self.most, |row| {
            let Row { message, delivered, destination, source, generated } = *row;
            visit([message, source.into(), destination.into(), generated, delivered])
        })
    }
}

impl Observer for DeliveryLog {
    const RELEASES: bool = false;

    fn generated(&mut self, message: &Generated<'_>) {
        let mut destinations: Box<[_]> = message.destinations.iter().map(|&node| (node, false)).collect();
        destinations.sort_unstable();
        let missing = destinations.len();
        let open = Open { source: message.source, generated: message.at, destinations, missing };
        self.messages.insert(message.message, open);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let Some(open) = self.messages.get_mut(&delivery.message) else { return };
        // A node that only sends the message on is no destination.
        let Ok(at) = open.destinations.binary_search_by_key(&delivery.node, |&(node, _)| node) else { return };
        if std::mem::replace(&mut open.destinations[at].1, true) {
            return;
        }
        if self.rows.len() == self.most {
            self.rows.sort_unstable();
            self.spilled.add(&self.rows);
            self.rows.clear();
        }
        self.rows.push(Row {
            message: delivery.message,
            delivered: delivery.delivered,
            destination: delivery.node.raw(),
            source: open.source.raw(),
            generated: open.generated,
        });
        open.missing -= 1;
        if open.missing == 0 {
            self.messages.remove(&delivery.message);
        }
    }

    /// A run whose deliveries cannot be kept need not go on.
    fn done(&self) -> bool {
        self.spilled.error.is_some()
    }
}

/// Sorted runs of rows in one file.
#[derive(Debug)]
struct Spill {
    folder: PathBuf,
    file: Option<File>,
    /// How many rows each run has; they follow each other in the file.
    runs: Vec<usize>,
    /// What went wrong first.
    error: Option<io::Error>,
}

impl Spill {
    fn add(&mut self, rows: &[Row]) {
        if self.error.is_none() {
            self.error = self.try_add(rows).err();
        }
    }

    fn try_add(&mut self, rows: &[Row]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let mut out = BufWriter::with_capacity(1 << 16, file);
        for row in rows {
            out.write_all(&row.to_bytes())?;
        }
        out.flush()?;
        self.runs.push(rows.len());
        Ok(())
    }

    /// Visits all rows in order, those in memory as well, which are sorted. At most `most` of the others are in memory at once, but some of
    /// each run.
    fn merge(self, rows: Vec<Row>, most: usize, mut visit: impl FnMut(&Row) -> io::Result<()>) -> io::Result<()> {
        const LEAST: usize = 16;
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some(mut file) = self.file else { return rows.iter().try_for_each(visit) };
        let chunk = (most / self.runs.len()).max(LEAST);
        let mut start = 0;
        let mut runs: Vec<Run> = Vec::with_capacity(self.runs.len() + 1);
        for length in self.runs {
            runs.push(Run { rows: Vec::new(), next: 0, unread: start..start + length });
            start += length;
        }
        runs.push(Run { rows, next: 0, unread: 0..0 });
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            if let Some(row) = run.next(&mut file, chunk)? {
                heads.push(Reverse((row, index)));
            }
        }
        while let Some(Reverse((row, index))) = heads.pop() {
            visit(&row)?;
            if let Some(row) = runs[index].next(&mut file, chunk)? {
                heads.push(Reverse((row, index)));
            }
        }
        Ok(())
    }
}

/// A sorted run that is being read.
struct Run {
    rows: Vec<Row>,
    next: usize,
    /// Rows of the file that come behind these.
    unread: std::ops::Range<usize>,
}

impl Run {
    fn next(&mut self, file: &mut File, chunk: usize) -> io::Result<Option<Row>> {
        if self.next == self.rows.len() && !self.unread.is_empty() {
            let count = chunk.min(self.unread.len());
            file.seek(SeekFrom::Start((self.unread.start * Row::BYTES) as u64))?;
            let mut bytes = vec![0; count * Row::BYTES];
            file.read_exact(&mut bytes)?;
            self.rows.clear();
            self.rows.extend(bytes.as_chunks().0.iter().map(Row::from_bytes));
            self.next = 0;
            self.unread.start += count;
        }
        let row = self.rows.get(self.next).copied();
        self.next += 1;
        Ok(row)
    }
}

impl Row {
    const BYTES: usize = 32;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let nodes = u64::from(self.destination) << 32 | u64::from(self.source);
        let mut bytes = [0; Self::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip([self.message, self.delivered, nodes, self.generated]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut words = bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
        let mut word = || words.next().unwrap_or_default();
        let (message, delivered, nodes, generated) = (word(), word(), word(), word());
        Self { message, delivered, destination: (nodes >> 32) as u32, source: nodes as u32, generated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::observer::LatencyParts;

    /// Messages of three destinations each, which arrive one message interleaved with the next, the last one nowhere.
    fn log(most: usize) -> String {
        let mut log = DeliveryLog::with_rows(std::env::temp_dir(), most);
        let destinations = [7, 3, 5].map(NodeId::new);
        let deliver = |log: &mut DeliveryLog, message: u64, node: u32, delivered: Cycle| {
            let parts = LatencyParts::default();
            log.delivered(&Delivery { message, worm: message, node: NodeId::new(node), delivered, parts });
        };
        for message in 0..100 {
            let (source, at) = (NodeId::new(1), message * 10);
            log.generated(&Generated { message, at, source, destinations: &destinations, length: 8 });
            deliver(&mut log, message, 3, at + 5);
            deliver(&mut log, message, 3, at + 6);
            deliver(&mut log, message, 2, at + 6);
            if let Some(before) = message.checked_sub(1) {
                deliver(&mut log, before, 7, at + 7);
                deliver(&mut log, before, 5, at + 7);
            }
        }
        assert_eq!(log.messages.len(), 1, "who has arrived everywhere is forgotten");
        assert_eq!(log.spilled.runs.len(), if most < 298 { 297 / most } else { 0 });
        let mut csv = Vec::new();
        log.write_csv(&mut csv).expect("a temporary folder");
        String::from_utf8(csv).expect("UTF-8")
    }

    #[test]
    fn what_does_not_fit_in_memory_comes_back_sorted() {
        let all = log(1000);
        let mut lines = all.lines();
        assert_eq!(lines.next(), Some("message,source,destination,generated,delivered"));
        for message in 0..99 {
            let at = message * 10;
            for (node, delivered) in [(3, at + 5), (5, at + 17), (7, at + 17)] {
                assert_eq!(lines.next(), Some(&*format!("{message},1,{node},{at},{delivered}")));
            }
        }
        assert_eq!((lines.next(), lines.next()), (Some("99,1,3,990,995"), None));
        for most in [1, 2, 7, 64, 297] {
            assert_eq!(log(most), all, "{most} rows in memory");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_ends_the_run() {
        let mut log = DeliveryLog::with_rows(PathBuf::from("/no/such/folder"), 1);
        let destinations = [1, 2].map(NodeId::new);
        let source = NodeId::new(0);
        log.generated(&Generated { message: 0, at: 0, source, destinations: &destinations, length: 8 });
        for node in destinations {
            assert!(!log.done());
            log.delivered(&Delivery { message: 0, worm: 0, node, delivered: 9, parts: LatencyParts::default() });
        }
        assert!(log.done());
        assert_eq!(log.write_csv(io::sink()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
