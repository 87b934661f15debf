//! Why a store cannot be used.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use super::SCHEMA_VERSION;
use super::rows::DamagedRow;

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
    /// Rows of it are not what was written.
    #[error("{}", damaged(.path, .rows))]
    Damaged {
        /// The store.
        path: PathBuf,
        /// All of them that were asked for.
        rows: Vec<DamagedRow>,
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

fn damaged(path: &Path, rows: &[DamagedRow]) -> String {
    let (count, path) = (rows.len(), path.display());
    let list: Vec<String> = rows.iter().map(|row| format!("\n  {row}")).collect();
    let list = list.concat();
    match count {
        1 => format!("a row of the result store `{path}` is damaged, and cannot be used:{list}"),
        _ => format!("{count} rows of the result store `{path}` are damaged, and cannot be used:{list}"),
    }
}

/// What an error of the database comes to.
pub(super) fn failure(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};

    let path = path.to_owned();
    let reason = error.to_string();
    if let InvalidColumnType(..) | IntegralValueOutOfRange(..) | FromSqlConversionFailure(..) = error {
        return StoreError::Corrupt { path, reason: "a table has a value that wormcast never writes".to_owned() };
    }
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
