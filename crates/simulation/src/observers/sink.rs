//! The writer of observers that write during a run.

use std::io::{self, BufWriter, Write};

/// A buffered writer for observers, whose methods cannot fail: after the first error it takes nothing more, and [`finish`](Self::finish)
/// returns it.
#[derive(Debug)]
pub(crate) struct Sink<W: Write> {
    out: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, out), error: None }
    }

    /// Writes a piece, unless an earlier one failed.
    pub(crate) fn write(&mut self, piece: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = piece(&mut self.out).err();
        }
    }

    /// Whether writing has failed: a run that only serves this file may then end.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Flushes and returns the writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error.take() {
            // What is still in the buffer would fail as well.
            drop(self.out.into_parts());
            return Err(error);
        }
        self.out.flush()?;
        self.out.into_inner().map_err(io::IntoInnerError::into_error)
    }
}
