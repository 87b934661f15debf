//! Results on disk: one row a replication, written as soon as it is there.

mod error;
mod merge;
pub(crate) mod origin;
mod origin_table;
mod remains;
mod rows;
mod salvage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use tempfile::TempDir;
use wormcast_simulation::MODEL_VERSION;

use self::error::failure;
pub use self::error::{StoreError, StoreProblem};
pub use self::merge::Merged;
pub use self::remains::Gap;
pub use self::rows::DamagedRow;
use self::rows::{COLUMNS, Row, add_hashes, results_table, row_hash};
use crate::experiment::point::PointSpec;
use crate::output::ending_of_one_kind;
use crate::runs::replication::Replication;
use crate::store::origin::{Program, machine};

/// The layout of the database.
const SCHEMA_VERSION: u32 = 2;

/// How long to wait for other processes that write. They do so for milliseconds, but a slow disk may take seconds now and then,
/// and hours of work should not end for that.
const PATIENCE: Duration = Duration::from_secs(30);

/// `wcst`, which marks the file as a result store.
const APPLICATION_ID: i32 = 0x7763_7374;

/// The smallest page, and so the smallest database, in bytes.
const SMALLEST: u64 = 512;

/// A database of results, by description and replication. Several processes of one machine may use one at the same time (two that run the
/// same sweep both compute it), and one that is killed loses no replication that was finished.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// What is noted of the results that are added.
    program: Program,
    machine: String,
    /// Whether there is a table for that.
    notes: bool,
    /// The folder of the copy that is read in place of a file that does not open, removed behind the connection.
    copy: Option<TempDir>,
}

impl Store {
    /// Opens a store, and makes it if there is none.
    ///
    /// # Errors
    /// If the file cannot be opened, is no store, or is damaged, newer or locked.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let start = Instant::now();
        loop {
            // The database waits for locks by itself, but not for all of those that it takes while it is opened.
            match Self::try_open(path) {
                Err(StoreError { problem: StoreProblem::Locked, .. }) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }

    fn try_open(path: &Path) -> Result<Self, StoreError> {
        // The database may take a file of one byte for an empty one, and overwrite it. The file is not opened to find out: closing
        // it would give up the locks of this process on it, which another store may hold.
        let foreign = match std::fs::metadata(path) {
            // A table of that name would replace it.
            _ if ending_of_one_kind(path).is_some() => {
                Some("its name is that of a file of another kind, and one that ends in `.db` is expected")
            }
            Ok(found) if found.is_file() => (1..SMALLEST).contains(&found.len()).then_some("it is not a database"),
            Ok(found) if !found.is_dir() => Some("it is a device or a pipe"),
            _ => None,
        };
        if let Some(what) = foreign {
            return Err(StoreProblem::Foreign(what.to_owned()).of(path));
        }
        if path.as_os_str().is_empty() {
            return Err(StoreProblem::Unreadable("its name is empty".to_owned()).of(path));
        }
        let fail = |error| failure(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(plain(path), flags).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        let mut store = Self::on(path.to_owned(), connection);
        store.prepare()?;
        Ok(store)
    }

    /// Opens a store that is there, to read it: also where it, or its folder, may not be written.
    ///
    /// # Errors
    /// As [`open`](Self::open); and if it cannot be written, and has a log beside it, or the layout of an older version.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        // Who may write takes away the files that the database makes beside a store to read it.
        match Self::open(path) {
            Err(StoreError { problem: StoreProblem::ReadOnly | StoreProblem::Unreadable(_), .. }) if path.is_file() => {
                Self::unchanging(path)
            }
            // On a full disk those files find no place.
            Err(StoreError { problem: problem @ (StoreProblem::Disk(_) | StoreProblem::Full), path })
                if path.is_file() =>
            {
                Self::unchanging(&path).map_err(|_| problem.of(&path))
            }
            result => result,
        }
    }

    /// Opens a read-only store by its file alone.
    fn unchanging(path: &Path) -> Result<Self, StoreError> {
        let fail = |error| failure(path, error);
        let unreadable = |reason: String| Err(StoreProblem::Unreadable(reason).of(path));
        let mut log = OsString::from(path);
        log.push("-wal");
        if std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
            let log = log.display();
            return unreadable(format!("it may not be written, and has to take in `{log}` first"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(immutable(path), flags).map_err(fail)?;
        let store = Self::on(path.to_owned(), connection);
        store.has_tables()?;
        match store.layout()? {
            SCHEMA_VERSION => Ok(store),
            _ => unreadable("an older version of wormcast made it, and it may not be written to update it".to_owned()),
        }
    }

    /// A store that lasts as long as the value.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| failure(&path, error))?;
        let mut store = Self::on(path, connection);
        store.prepare()?;
        Ok(store)
    }

    fn on(path: PathBuf, connection: Connection) -> Self {
        Self { path, connection, program: Program::default(), machine: machine(), notes: false, copy: None }
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let fail = |error| failure(&path, error);
        let has_tables = self.has_tables()?;
        // Write-ahead logging: a killed process leaves whole rows. NORMAL may lose the last rows with the machine's power, but
        // never damages the file.
        self.connection.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        self.connection.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
        if !has_tables {
            let transaction =
                self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fail)?;
            transaction
                .execute_batch(&format!(
                    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                     CREATE TABLE IF NOT EXISTS points (config_hash TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
                     {}",
                    results_table("results")
                ))
                .map_err(fail)?;
            for (key, value) in [("schema_version", SCHEMA_VERSION), ("model_version", MODEL_VERSION)] {
                transaction
                    .execute("INSERT OR IGNORE INTO meta VALUES (?1, ?2)", params![key, value.to_string()])
                    .map_err(fail)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
            transaction.commit().map_err(fail)?;
        }
        if self.layout()? == SCHEMA_VERSION {
            return Ok(());
        }
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fail)?;
        // Another process may have been faster.
        if layout(&transaction).map_err(fail)? != Some(SCHEMA_VERSION) {
            let hashed: i64 = transaction
                .query_row("SELECT count(*) FROM pragma_table_info('results') WHERE name = 'hash'", [], |row| {
                    row.get(0)
                })
                .map_err(fail)?;
            if hashed > 0 {
                return Err(StoreProblem::Corrupt("its version is not that of its tables".to_owned()).of(&path));
            }
            add_hashes(&transaction).map_err(fail)?;
            transaction
                .execute("UPDATE meta SET value = ?1 WHERE key = 'schema_version'", [SCHEMA_VERSION.to_string()])
                .map_err(fail)?;
        }
        transaction.commit().map_err(fail)
    }

    /// Whether it has tables; an error if they are not those of a store.
    fn has_tables(&self) -> Result<bool, StoreError> {
        let fail = |error| failure(&self.path, error);
        // In this order: who sees the tables of another process that is making the store also sees its id.
        let tables: i64 =
            self.connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(fail)?;
        let id: i32 = self.connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fail)?;
        if id != APPLICATION_ID && tables > 0 {
            return Err(StoreProblem::Foreign("it is a database of another program".to_owned()).of(&self.path));
        }
        Ok(tables > 0)
    }

    /// The version of its layout, which is known.
    fn layout(&self) -> Result<u32, StoreError> {
        match layout(&self.connection).map_err(|error| failure(&self.path, error))? {
            Some(found) if found > SCHEMA_VERSION => Err(StoreProblem::Newer(found).of(&self.path)),
            Some(found) => Ok(found),
            None => Err(StoreProblem::Corrupt("its version is missing".to_owned()).of(&self.path)),
        }
    }

    /// Brings what the log beside a store has into the store's file, as closing the store does: for a process that is to end
    /// without closing it. Other processes may go on using the store; what they prevent from being moved stays in the log.
    ///
    /// # Errors
    /// If there is no such file, or it is no store, or cannot be written.
    pub fn checkpoint(path: &Path) -> Result<(), StoreError> {
        let fail = |error| failure(path, error);
        let connection = Connection::open_with_flags(plain(path), OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(fail)?;
        connection.busy_timeout(Duration::from_millis(200)).map_err(fail)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(fail)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stored results of a point, by replication.
    ///
    /// # Errors
    /// If a row of the point is not what was written ([`StoreProblem::Damaged`], which names all of them; [`set_aside`](Self::set_aside)
    /// takes them away), or the store is damaged elsewhere, or locked.
    pub fn load(&self, config_hash: &str) -> Result<BTreeMap<u32, Replication>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut statement = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM results WHERE config_hash = ?1"))
            .map_err(fail)?;
        let mut rows = statement.query(params![config_hash]).map_err(fail)?;
        let (mut results, mut damaged) = (BTreeMap::new(), Vec::new());
        while let Some(row) = rows.next().map_err(fail)? {
            let row = Row::of(row).map_err(fail)?;
            let Some((model, replication, json)) = row.sound() else {
                damaged.push(row.damaged());
                continue;
            };
            if model != i64::from(MODEL_VERSION) {
                continue;
            }
            let unreadable = |reason: String| {
                let problem = format!("replication {replication} of {config_hash} is unreadable ({reason})");
                StoreProblem::Corrupt(problem).of(&self.path)
            };
            let number = u32::try_from(replication).map_err(|error| unreadable(error.to_string()))?;
            results.insert(number, serde_json::from_str(json).map_err(|error| unreadable(error.to_string()))?);
        }
        if damaged.is_empty() { Ok(results) } else { Err(StoreProblem::Damaged(damaged).of(&self.path)) }
    }

    /// Stores the result of a replication: from then on the end of the process does not lose it.
    ///
    /// # Errors
    /// If the store is full, read-only or locked.
    pub fn insert(&mut self, config_hash: &str, replication: u32, result: &Replication) -> Result<(), StoreError> {
        // JSON has no infinities: a result with one would not come back.
        let json = serde_json::to_string(result)
            .and_then(|json| serde_json::from_str::<Replication>(&json).map(|_| json))
            .map_err(|error| StoreProblem::Unstorable(error.to_string()).of(&self.path))?;
        let hash = row_hash(config_hash.as_bytes(), MODEL_VERSION.into(), replication.into(), json.as_bytes());
        self.execute(
            &format!("INSERT OR REPLACE INTO results ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5)"),
            params![config_hash, MODEL_VERSION, replication, json, hash],
        )
    }

    /// Notes what hashes stand for, for people who read the store.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn describe<'s>(
        &mut self,
        points: impl IntoIterator<Item = (&'s str, &'s PointSpec)>,
    ) -> Result<(), StoreError> {
        self.together(|store| {
            for (config_hash, spec) in points {
                store.execute(
                    "INSERT OR IGNORE INTO points (config_hash, description) VALUES (?1, ?2)",
                    params![config_hash, serde_json::to_string(spec).unwrap_or_default()],
                )?;
            }
            Ok(())
        })
    }

    /// Forgets all results of points.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn forget<'s>(&mut self, config_hashes: impl IntoIterator<Item = &'s str>) -> Result<(), StoreError> {
        let noted = self.has_origins()?;
        self.together(|store| {
            for config_hash in config_hashes {
                store.execute("DELETE FROM results WHERE config_hash = ?1", params![config_hash])?;
                if noted {
                    store.execute("DELETE FROM origins WHERE config_hash = ?1", params![config_hash])?;
                }
            }
            Ok(())
        })
    }

    /// Does all of it or nothing.
    fn together(&mut self, work: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE", [])?;
        match work(self) {
            Ok(()) => self.execute("COMMIT", []),
            Err(error) => {
                // The first error is the one to report.
                let _ = self.execute("ROLLBACK", []);
                Err(error)
            }
        }
    }

    fn execute(&mut self, sql: &str, params: impl rusqlite::Params) -> Result<(), StoreError> {
        let path = &self.path;
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| failure(path, error))?;
        statement.execute(params).map_err(|error| failure(path, error))?;
        Ok(())
    }
}

/// A path that the database takes for that of a file, whatever its name: `:memory:` and `file:…` mean something else to it.
fn plain(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// The URI that tells the database that the file does not change, so that it makes no files beside it.
fn immutable(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for &byte in plain(path).as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to text does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}

/// The version of a store's layout, if it has one.
fn layout(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let version: Option<String> =
        connection.query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |row| row.get(0)).optional()?;
    Ok(version.and_then(|version| version.parse().ok()))
}
