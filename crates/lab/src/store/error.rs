//! Errors of a store.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use super::remains::is_cut;
use super::rows::DamagedRow;
use super::{APPLICATION_ID, SCHEMA_VERSION};

/// Why a store cannot be used.
#[derive(Debug, Error)]
#[error("{}", .problem.text(.path))]
pub struct StoreError {
    /// The store.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: StoreProblem,
}

/// What is wrong with a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The file cannot be opened or made: what the operating system or the database said.
    Unreadable(String),
    /// The file is something else.
    Foreign(String),
    /// A newer version of the program made it, with this version of its layout.
    Newer(u32),
    /// Its contents are damaged.
    Corrupt(String),
    /// Rows of it are not what was written: all of them that were asked for.
    Damaged(Vec<DamagedRow>),
    /// Another store has another result of the same replication.
    Conflict {
        /// The replication.
        row: DamagedRow,
        /// The other store.
        with: PathBuf,
    },
    /// A result that has no form on disk: an error of the program.
    Unstorable(String),
    /// Another process has locked it.
    Locked,
    /// It can be read, but not written.
    ReadOnly,
    /// It cannot be read or written although it is open: a broken disk, a quota, a network drive that is gone.
    Disk(String),
    /// There is no space left.
    Full,
    /// Anything else that the database reports.
    Other(rusqlite::Error),
}

impl StoreProblem {
    /// With the store that has it.
    pub(crate) fn of(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), problem: self }
    }

    fn text(&self, path: &Path) -> String {
        let store = path.display();
        match self {
            Self::Unreadable(reason) => format!("cannot open the result store `{store}`: {reason}"),
            Self::Foreign(reason) => {
                format!("`{store}` is not a result store: {reason}; choose another file")
            }
            Self::Newer(found) => format!(
                "the result store `{store}` has layout {found}, and this version of wormcast knows {SCHEMA_VERSION} at most"
            ),
            Self::Corrupt(reason) => {
                format!("the result store `{store}` is damaged: {reason}")
            }
            Self::Damaged(rows) => damaged(path, rows),
            Self::Conflict { row, with } => format!(
                "the result stores `{store}` and `{}` have different results of {row}: a result is a function of its point, so one of them is wrong",
                with.display()
            ),
            Self::Unstorable(reason) => format!("the result store `{store}` cannot hold a result: {reason}"),
            Self::Locked => format!("the result store `{store}` is locked by another process"),
            Self::ReadOnly => format!(
                "the result store `{store}` cannot be written, or its directory takes no new files, which the database needs"
            ),
            Self::Disk(reason) => {
                format!(
                    "the result store `{store}` cannot be read or written: {reason} (is the disk full, or a quota reached?); what it has is kept"
                )
            }
            Self::Full => format!(
                "no space left for the result store `{store}`; what it has is safe, and the sweep goes on from there"
            ),
            Self::Other(reason) => format!("the result store `{store}` failed: {reason}"),
        }
    }
}

/// Whether a file that is no database has the mark of a store all the same.
fn was_a_store(path: &Path) -> bool {
    // The application id in a database's header. What cannot be opened is not open already, so that no locks are lost by reading it.
    const MARK: std::ops::Range<usize> = 68..72;
    let mut start = [0; MARK.end];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start[MARK] == APPLICATION_ID.to_be_bytes()
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
    problem(path, error).of(path)
}

fn problem(path: &Path, error: rusqlite::Error) -> StoreProblem {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};

    let reason = error.to_string();
    if let InvalidColumnType(..) | IntegralValueOutOfRange(..) | FromSqlConversionFailure(..) = error {
        return StoreProblem::Corrupt("a table has a value that wormcast never writes".to_owned());
    }
    if let Some(table) = reason.strip_prefix("no such table: ") {
        return StoreProblem::Corrupt(format!(
            "the table `{}` is missing",
            table.split_whitespace().next().unwrap_or(table)
        ));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) if was_a_store(path) => {
            StoreProblem::Corrupt("the beginning of the file is not what was written".to_owned())
        }
        Some(ErrorCode::NotADatabase) => StoreProblem::Foreign("it is not a database".to_owned()),
        Some(ErrorCode::DatabaseCorrupt) => StoreProblem::Corrupt(reason),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StoreProblem::Locked
        }
        Some(ErrorCode::DiskFull) => StoreProblem::Full,
        Some(ErrorCode::ReadOnly) => StoreProblem::ReadOnly,
        Some(ErrorCode::SystemIoFailure) if is_cut(&error) => {
            StoreProblem::Corrupt("the file ends where there should be more of it".to_owned())
        }
        Some(ErrorCode::SystemIoFailure) => StoreProblem::Disk(reason),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            // The operating system's own words are clearer, if it has any. What cannot be opened is not open already, so that no
            // locks are lost by trying.
            let reason = match std::fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
                Ok(_) => match std::fs::File::open(path) {
                    Ok(_) => return StoreProblem::ReadOnly,
                    Err(error) => error.to_string(),
                },
                // A link to itself, say.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => error.to_string(),
                Err(_) if path.is_symlink() => {
                    let target = std::fs::read_link(path).unwrap_or_default();
                    format!("it is a link to `{}`, which is not there and cannot be made", target.display())
                }
                Err(_) => match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                    Some(parent) if !parent.exists() => format!("there is no directory `{}`", parent.display()),
                    Some(parent) => {
                        format!("there is none, and the directory `{}` takes no new file", parent.display())
                    }
                    None => "there is none, and the current directory takes no new file".to_owned(),
                },
            };
            StoreProblem::Unreadable(reason)
        }
        _ => StoreProblem::Other(error),
    }
}
