//! Results on disk: one row a replication, written as soon as it is there.

mod origins;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use thiserror::Error;
use wormcast_simulation::RunResult;

use crate::origin::{Program, machine};
use crate::point::PointSpec;

/// The version of the simulation model. Stored results of another version are ignored; raise it with every change after which
/// the same description and seed may give another result.
pub const MODEL_VERSION: u32 = 4;

/// The layout of the database.
const SCHEMA_VERSION: u32 = 1;

/// How long to wait for other processes that write. They do so for milliseconds, but a slow disk may take seconds now and then,
/// and hours of work should not end for that.
const PATIENCE: Duration = Duration::from_secs(30);

/// `wcst`, which marks the file as a result store.
const APPLICATION_ID: i32 = 0x7763_7374;

/// The smallest page, and so the smallest database, in bytes.
const SMALLEST: u64 = 512;

/// A database of results, by description and replication. Several processes may use one at the same time, and one that is killed
/// loses no replication that was finished.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// What is noted of the results that are added.
    program: Program,
    machine: String,
    /// Whether there is a table for that.
    notes: bool,
}

/// Why a store cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("cannot open the result store `{path}`: {reason}")]
    Unreadable {
        /// The store.
        path: PathBuf,
        /// What the operating system or the database said.
        reason: String,
    },
    /// The file is something else.
    #[error("`{path}` is not a result store: {reason}; choose another file with --store")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        reason: String,
    },
    /// A newer version of the program made it.
    #[error(
        "the result store `{path}` has layout {found}, and this version of wormcast knows {SCHEMA_VERSION} at most"
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its layout's version.
        found: u32,
    },
    /// Its contents are damaged.
    #[error("the result store `{path}` is damaged: {reason}; delete it to start again")]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A result that has no form on disk: an error of the program.
    #[error("the result store `{path}` cannot hold a result: {reason}")]
    Unstorable {
        /// The store.
        path: PathBuf,
        /// What is wrong with the result.
        reason: String,
    },
    /// Another process keeps it for itself.
    #[error("the result store `{path}` is locked by another process")]
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// It may not be written.
    #[error("the result store `{path}` is read-only")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// It cannot be read or written although it is open: a broken disk, a quota, a network drive that is gone.
    #[error("the result store `{path}` cannot be read or written: {reason}; what it has is kept")]
    Disk {
        /// The store.
        path: PathBuf,
        /// What the database said.
        reason: String,
    },
    /// There is no space left.
    #[error("no space left for the result store `{path}`; what it has is safe, and the sweep goes on from there")]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// Anything else that the database reports.
    #[error("the result store `{path}` failed: {reason}")]
    Other {
        /// The store.
        path: PathBuf,
        /// The database's error.
        reason: rusqlite::Error,
    },
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
                Err(StoreError::Locked { .. }) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }

    fn try_open(path: &Path) -> Result<Self, StoreError> {
        // The database may take a file of one byte for an empty one, and overwrite it. The file is not opened to find out: closing
        // it would give up the locks of this process on it, which another store may hold.
        let metadata = std::fs::metadata(path);
        if metadata.is_ok_and(|metadata| metadata.is_file() && (1..SMALLEST).contains(&metadata.len())) {
            return Err(StoreError::Foreign { path: path.to_owned(), reason: "it is not a database".to_owned() });
        }
        let fail = |error| failure(path, error);
        let connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        let mut store = Self::on(path.to_owned(), connection);
        store.prepare()?;
        Ok(store)
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
        Self { path, connection, program: Program::default(), machine: machine(), notes: false }
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let fail = |error| failure(&path, error);
        // In this order: who sees the tables of another process that is making the store also sees its id.
        let tables: i64 =
            self.connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(fail)?;
        let id: i32 = self.connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fail)?;
        if id != APPLICATION_ID && tables > 0 {
            return Err(StoreError::Foreign { path, reason: "it is a database of another program".to_owned() });
        }
        // Write-ahead logging: a killed process leaves whole rows. NORMAL may lose the last rows with the machine's power, but
        // never damages the file.
        self.connection.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        self.connection.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
        if tables == 0 {
            let transaction =
                self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fail)?;
            transaction
                .execute_batch(
                    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                     CREATE TABLE IF NOT EXISTS points (config_hash TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
                     CREATE TABLE IF NOT EXISTS results (
                         config_hash TEXT NOT NULL,
                         model INTEGER NOT NULL,
                         replication INTEGER NOT NULL,
                         result TEXT NOT NULL,
                         PRIMARY KEY (config_hash, model, replication)
                     ) WITHOUT ROWID;",
                )
                .map_err(fail)?;
            for (key, value) in [("schema_version", SCHEMA_VERSION), ("model_version", MODEL_VERSION)] {
                transaction
                    .execute("INSERT OR IGNORE INTO meta VALUES (?1, ?2)", params![key, value.to_string()])
                    .map_err(fail)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
            transaction.commit().map_err(fail)?;
        }
        let version: Option<String> = self
            .connection
            .query_row("SELECT value FROM meta WHERE key = 'schema_version'", [], |row| row.get(0))
            .optional()
            .map_err(fail)?;
        match version.as_deref().map(str::parse::<u32>) {
            Some(Ok(found)) if found > SCHEMA_VERSION => Err(StoreError::Newer { path, found }),
            Some(Ok(_)) => Ok(()),
            _ => Err(StoreError::Corrupt { path, reason: "its version is missing".to_owned() }),
        }
    }

    /// Brings what the log beside a store has into the store's file, as closing the store does: for a process that is to end
    /// without closing it. Whoever uses the store goes on; what they keep from being brought over stays in the log.
    ///
    /// # Errors
    /// If there is no such file, or it is no store, or cannot be written.
    pub fn checkpoint(path: &Path) -> Result<(), StoreError> {
        let fail = |error| failure(path, error);
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(fail)?;
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
    /// If the store is damaged or locked.
    pub fn load(&self, config_hash: &str) -> Result<BTreeMap<u32, RunResult>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut statement = self
            .connection
            .prepare_cached("SELECT replication, result FROM results WHERE config_hash = ?1 AND model = ?2")
            .map_err(fail)?;
        let rows = statement
            .query_map(params![config_hash, MODEL_VERSION], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)))
            .map_err(fail)?;
        let mut results = BTreeMap::new();
        for row in rows {
            let (replication, json) = row.map_err(fail)?;
            let result = serde_json::from_str(&json).map_err(|error| StoreError::Corrupt {
                path: self.path.clone(),
                reason: format!("replication {replication} of {config_hash} is unreadable ({error})"),
            })?;
            results.insert(replication, result);
        }
        Ok(results)
    }

    /// Stores the result of a replication; it is safe from the end of the process on.
    ///
    /// # Errors
    /// If the store is full, read-only or locked.
    pub fn insert(&mut self, config_hash: &str, replication: u32, result: &RunResult) -> Result<(), StoreError> {
        // JSON has no infinities: a result with one would not come back.
        let json = serde_json::to_string(result)
            .and_then(|json| serde_json::from_str::<RunResult>(&json).map(|_| json))
            .map_err(|error| StoreError::Unstorable { path: self.path.clone(), reason: error.to_string() })?;
        self.execute(
            "INSERT OR REPLACE INTO results (config_hash, model, replication, result) VALUES (?1, ?2, ?3, ?4)",
            params![config_hash, MODEL_VERSION, replication, json],
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

fn failure(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, reason: "it is not a database".to_owned() },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, reason },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Locked { path }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::SystemIoFailure) => StoreError::Disk { path, reason },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            // The operating system's own words are clearer, if it has any. What cannot be opened is not open already, so that no
            // locks are lost by trying.
            let reason = match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
                Ok(_) => std::fs::File::open(&path).err().map_or_else(
                    || "it cannot be written, or its directory takes no new files, which the database needs".to_owned(),
                    |error| error.to_string(),
                ),
                Err(_) => match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                    Some(parent) if !parent.exists() => format!("there is no directory `{}`", parent.display()),
                    Some(parent) => {
                        format!("there is none, and the directory `{}` takes no new file", parent.display())
                    }
                    None => "there is none, and the current directory takes no new file".to_owned(),
                },
            };
            StoreError::Unreadable { path, reason }
        }
        _ => StoreError::Other { path, reason: error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;

    #[test]
    fn results_survive_reopening_and_fresh_forgets_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let mut store = Store::open(&path).unwrap();
        store.insert("a", 0, &run(100.25)).unwrap();
        store.insert("a", 2, &run(1.0 / 3.0)).unwrap();
        store.insert("b", 0, &run(7.0)).unwrap();
        drop(store);
        let mut store = Store::open(&path).unwrap();
        let loaded = store.load("a").unwrap();
        assert_eq!(loaded.keys().copied().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(loaded[&2], run(1.0 / 3.0), "to the last bit");
        store.forget(["a"]).unwrap();
        assert!(store.load("a").unwrap().is_empty());
        assert_eq!(store.load("b").unwrap().len(), 1);
    }

    #[test]
    fn after_a_checkpoint_the_file_alone_has_all_results() {
        let directory = tempfile::tempdir().unwrap();
        let [path, copy] = ["results.db", "copy.db"].map(|name| directory.path().join(name));
        let mut store = Store::open(&path).unwrap();
        store.insert("a", 0, &run(7.0)).unwrap();
        Store::checkpoint(&path).unwrap();
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(Store::open(&copy).unwrap().load("a").unwrap()[&0], run(7.0));
        // The one that is open goes on.
        store.insert("a", 1, &run(8.0)).unwrap();
        assert_eq!(Store::open(&path).unwrap().load("a").unwrap().len(), 2);
        assert!(Store::checkpoint(&directory.path().join("none.db")).is_err());
    }

    #[test]
    fn results_that_would_not_come_back_are_refused() {
        let mut result = run(1.0);
        result.offered_load = f64::NAN;
        let error = Store::in_memory().unwrap().insert("a", 0, &result).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    }

    #[test]
    fn results_of_another_model_are_ignored() {
        let mut store = Store::in_memory().unwrap();
        store.insert("a", 0, &run(1.0)).unwrap();
        store.connection.execute("UPDATE results SET model = model + 1", []).unwrap();
        assert!(store.load("a").unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_file_and_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let message = |path: &Path| Store::open(path).unwrap_err().to_string();

        std::fs::write(at("text.db"), "not a database at all, but long enough to have a header".repeat(40)).unwrap();
        assert!(
            message(&at("text.db"))
                .ends_with("text.db` is not a result store: it is not a database; choose another file with --store")
        );

        std::fs::write(at("short.db"), "notes").unwrap();
        assert!(message(&at("short.db")).contains("short.db` is not a result store: it is not a database"));
        assert_eq!(std::fs::read(at("short.db")).unwrap(), b"notes", "it is left alone");
        std::fs::write(at("empty.db"), "").unwrap();
        Store::open(&at("empty.db")).unwrap();

        Connection::open(at("other.db"))
            .unwrap()
            .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
            .unwrap();
        assert!(message(&at("other.db")).contains("it is a database of another program"));

        assert!(message(&at("no/such/x.db")).contains("there is no directory"));
        std::fs::create_dir(at("dir.db")).unwrap();
        assert!(message(&at("dir.db")).contains("it is a directory"));

        let store = Store::open(&at("newer.db")).unwrap();
        store.connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'", []).unwrap();
        assert!(message(&at("newer.db")).contains("has layout 99"));

        let mut store = Store::open(&at("damaged.db")).unwrap();
        store.insert("a", 0, &run(1.0)).unwrap();
        store.connection.execute("UPDATE results SET result = '{'", []).unwrap();
        assert!(store.load("a").unwrap_err().to_string().contains("is damaged: replication 0 of a is unreadable"));
    }

    #[test]
    fn a_full_disk_is_reported_and_spares_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("results.db")).unwrap();
        store.connection.pragma_update(None, "max_page_count", 12).unwrap();
        let error = (0..1000).find_map(|replication| store.insert("a", replication, &run(1.0)).err()).unwrap();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(store.load("a").unwrap().len() > 5);
    }

    #[test]
    fn several_may_make_and_use_a_store_at_the_same_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for replication in 0..5 {
                        Store::open(path).unwrap().insert("a", writer * 5 + replication, &run(1.0)).unwrap();
                    }
                });
            }
        });
        assert_eq!(Store::open(&path).unwrap().load("a").unwrap().len(), 40);
    }

    /// A process's locks on a file are gone as soon as it closes the file, however often it has it open.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_store_that_is_opened_twice_keeps_its_locks() {
        use std::os::unix::fs::MetadataExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let store = Store::open(&path).unwrap();
        let inode = format!(":{} ", path.metadata().unwrap().ino());
        let locks = || std::fs::read_to_string("/proc/locks").unwrap().matches(&inode).count();
        let before = locks();
        let again = Store::open(&path).unwrap();
        assert!(before > 0 && locks() == before);
        drop((store, again));
    }

    #[test]
    fn a_lock_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.db");
        let mut store = Store::open(&path).unwrap();
        store.connection.busy_timeout(Duration::from_millis(10)).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let error = store.insert("a", 0, &run(1.0)).unwrap_err();
        assert!(error.to_string().ends_with("results.db` is locked by another process"), "{error}");
    }
}
