//! Stores whose files do not open any more: a copy of what is there, made fit to be opened.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::failure;
use super::{Store, StoreError, StoreProblem};

/// What a database begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where a database's header has the size of a page, the versions of those who may write and read it, and the number of pages.
const PAGE_SIZE: usize = 16;
const VERSIONS: std::ops::Range<usize> = 18..20;
const PAGES: std::ops::Range<usize> = 28..32;

/// The end of the header.
const HEADER: usize = 100;

impl Store {
    /// Opens a store that [`read`](Self::read) finds damaged, for a [merge](Self::merge) of what is left of it. The file stays as it is: a copy is opened, in
    /// which the fixed part of the header is what it has to be, and pages that are cut off are empty.
    ///
    /// Time, and space for temporary files: that of the store.
    ///
    /// # Errors
    /// If the file cannot be read or copied, or its tables cannot be found: nothing is left then.
    pub fn salvage(path: &Path) -> Result<Self, StoreError> {
        let unreadable = |error: std::io::Error| StoreProblem::Unreadable(error.to_string()).of(path);
        let mut bytes = fs::read(path).map_err(unreadable)?;
        mend(&mut bytes);
        let folder = tempfile::tempdir().map_err(unreadable)?;
        let copy = folder.path().join("store.db");
        fs::write(&copy, bytes).map_err(unreadable)?;
        let log = |file: &Path| {
            let mut name = OsString::from(file);
            name.push("-wal");
            name
        };
        if Path::new(&log(path)).exists() {
            fs::copy(log(path), log(&copy)).map_err(unreadable)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&copy, flags).map_err(|error| failure(path, error))?;
        let mut store = Self::on(path.to_owned(), connection);
        store.copy = Some(folder);
        if store.has_tables()? {
            return Ok(store);
        }
        Err(StoreProblem::Corrupt("the list of its tables is gone".to_owned()).of(path))
    }
}

/// Sets what every store's header has in common, and fills the file up to the number of pages that it names.
fn mend(bytes: &mut Vec<u8>) {
    if bytes.len() < HEADER {
        return;
    }
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    // Those of a database with a write-ahead log.
    bytes[VERSIONS].fill(2);
    let page = match u16::from_be_bytes([bytes[PAGE_SIZE], bytes[PAGE_SIZE + 1]]) {
        1 => 1 << 16,
        size => usize::from(size),
    };
    let pages = bytes[PAGES].iter().fold(0, |number, &byte| number << 8 | usize::from(byte));
    // A number that is itself damaged must not ask for more memory than there is.
    let whole = page.saturating_mul(pages);
    if whole <= bytes.len().saturating_mul(64) {
        bytes.resize(bytes.len().max(whole), 0);
    }
}
