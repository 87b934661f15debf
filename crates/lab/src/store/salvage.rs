//! Stores whose files do not open any more: a copy of what is there, made fit to be opened.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, Write};
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
    /// Whether its file ends within a page, as no store does that has not been cut.
    pub fn is_cut(&self) -> bool {
        let page = self.connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0)).map(u64::from);
        let length = fs::metadata(&self.path).map(|file| file.len());
        page.is_ok_and(|page| page > 0 && length.is_ok_and(|length| length % page > 0))
    }

    /// Opens a store that [`read`](Self::read) finds damaged, for a [merge](Self::merge) of what is left of it. The file stays as it is: a copy is opened, in
    /// which the fixed part of the header is what it has to be, and pages that are cut off are empty.
    ///
    /// Time, and space for temporary files: that of the store.
    ///
    /// # Errors
    /// If the file cannot be read or copied, or its tables cannot be found: nothing is left then.
    pub fn salvage(path: &Path) -> Result<Self, StoreError> {
        let unreadable = |error: io::Error| StoreProblem::Unreadable(error.to_string()).of(path);
        let folder = tempfile::tempdir().map_err(unreadable)?;
        let copy = folder.path().join("store.db");
        fs::copy(path, &copy).and_then(|_| mend(&copy)).map_err(unreadable)?;
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

/// Sets what every store's header has in common, and lengthens the file to the number of pages that it names.
fn mend(copy: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(copy)?;
    let length = file.metadata()?.len();
    let mut header = [0; HEADER];
    if length < HEADER as u64 {
        return Ok(());
    }
    file.read_exact(&mut header)?;
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    // Those of a database with a write-ahead log.
    header[VERSIONS].fill(2);
    file.rewind()?;
    file.write_all(&header)?;
    let page = match u16::from_be_bytes([header[PAGE_SIZE], header[PAGE_SIZE + 1]]) {
        1 => 1 << 16,
        size => u64::from(size),
    };
    let pages = header[PAGES].iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    // What is added takes no space. A number that is damaged may ask for more than a file can have; the database then says what it thinks of the rest.
    let _ = file.set_len(length.max(page * pages));
    Ok(())
}
