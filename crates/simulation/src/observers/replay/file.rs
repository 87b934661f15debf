//! The outer form of the file: chunks that are deflated one by one, the header with their index, and where that is.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::observers::sink::Sink;

/// What the file begins with; a transfer that changes line ends destroys it.
pub const REPLAY_MAGIC: [u8; 8] = *b"\x89WCRP\r\n\x1a";
/// What it ends with.
pub(super) const END: [u8; 8] = *b"wcreplay";
/// The version of the format.
pub(super) const VERSION: u32 = 1;
/// The bytes at the end that say where the header is.
pub(super) const TRAILER: usize = 32;

/// Why a file is not one, or cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It cannot be read at all.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// It begins with something else.
    #[error("it is not a recorded run: expected a file that `simulate --replay` has written")]
    NotOne,
    /// It has no end.
    #[error("its end is missing: it was cut off, or is still being written")]
    Cut,
    /// It is of another version.
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    Version(u32),
    /// Bytes of it have changed.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// There is no chunk of this number.
    #[error("it has no chunk {index}: they are counted from 0, and there {}", if *chunks == 1 { "is 1".to_owned() } else { format!("are {chunks}") })]
    NoChunk {
        /// The number asked for.
        index: usize,
        /// How many there are.
        chunks: usize,
    },
}

pub(super) fn damaged(what: impl Into<String>) -> ReplayError {
    ReplayError::Damaged(what.into())
}

/// Where a piece of the file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// As it is in the file.
    pub(super) bytes: u32,
    /// Inflated.
    pub(super) size: u32,
    /// Of the deflated bytes.
    pub(super) crc32: u32,
}

/// Writes the pieces of a file, one after the other.
#[derive(Debug)]
pub(super) struct Pieces<W: Write> {
    out: Sink<W>,
    offset: u64,
}

impl<W: Write> Pieces<W> {
    pub(super) fn new(out: W) -> Self {
        let mut out = Sink::new(out);
        out.write(|out| out.write_all(&REPLAY_MAGIC));
        Self { out, offset: REPLAY_MAGIC.len() as u64 }
    }

    /// Deflates a piece and appends it.
    pub(super) fn append(&mut self, piece: &[u8]) -> Place {
        let mut place = Place { offset: self.offset, bytes: 0, size: 0, crc32: 0 };
        self.out.write(|out| {
            let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
            deflate.write_all(piece)?;
            let deflated = deflate.finish()?;
            let too_long = |_| io::Error::other("a piece of a recorded run has more than 4 GB");
            place.bytes = deflated.len().try_into().map_err(too_long)?;
            place.size = piece.len().try_into().map_err(too_long)?;
            place.crc32 = checksum(&deflated);
            out.write_all(&deflated)
        });
        self.offset += u64::from(place.bytes);
        place
    }

    pub(super) fn has_failed(&self) -> bool {
        self.out.has_failed()
    }

    /// Writes the header, and where it is.
    pub(super) fn finish(mut self, header: &[u8]) -> io::Result<W> {
        let place = self.append(header);
        self.out.write(|out| {
            out.write_all(&place.offset.to_le_bytes())?;
            for number in [place.bytes, place.size, place.crc32, VERSION] {
                out.write_all(&number.to_le_bytes())?;
            }
            out.write_all(&END)
        });
        self.out.finish()
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Where the header is, by the last bytes of a file of this length, and the version that they name.
pub(super) fn header_place(trailer: [u8; TRAILER], length: u64) -> Result<(Place, u32), ReplayError> {
    let number = |at: usize| u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]]);
    let offset = u64::from(number(0)) | u64::from(number(4)) << 32;
    let place = Place { offset, bytes: number(8), size: number(12), crc32: number(16) };
    let fits = offset >= REPLAY_MAGIC.len() as u64
        && offset.checked_add(u64::from(place.bytes)).and_then(|end| end.checked_add(TRAILER as u64)) == Some(length);
    match (fits, trailer[24..] == END) {
        (true, true) => Ok((place, number(20))),
        (true, false) => Err(damaged("its last bytes are others than were written")),
        (false, true) => Err(damaged("its end names no place for the header")),
        (false, false) => Err(ReplayError::Cut),
    }
}

/// That the bytes of a piece are those that were written.
pub(super) fn check(deflated: &[u8], place: &Place, what: &str) -> Result<(), ReplayError> {
    if deflated.len() as u64 == u64::from(place.bytes) && checksum(deflated) == place.crc32 {
        return Ok(());
    }
    Err(damaged(format!("{what} has other bytes than were written")))
}

/// Inflates a piece.
pub(super) fn inflate(deflated: &[u8], place: &Place, what: &str) -> Result<Vec<u8>, ReplayError> {
    check(deflated, place, what)?;
    let mut inflated = Vec::new();
    let mut stream = DeflateDecoder::new(deflated).take(u64::from(place.size) + 1);
    stream.read_to_end(&mut inflated).map_err(|_| damaged(format!("{what} cannot be inflated")))?;
    if inflated.len() as u64 != u64::from(place.size) {
        return Err(damaged(format!("{what} has another size than was written")));
    }
    Ok(inflated)
}
