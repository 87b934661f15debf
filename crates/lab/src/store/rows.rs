//! Rows of a store, and whether they are what was written.

use std::fmt;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Rows, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::error::failure;
use super::{Store, StoreError};
use crate::experiment::point::hexadecimal;
use crate::runs::sweep::replication_of;

/// The table of results, by the name that it has, or is to have.
pub(super) fn results_table(name: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {name} (
             config_hash TEXT NOT NULL,
             model INTEGER NOT NULL,
             replication INTEGER NOT NULL,
             result TEXT NOT NULL,
             hash TEXT NOT NULL,
             PRIMARY KEY (config_hash, model, replication)
         ) WITHOUT ROWID;"
    )
}

/// The columns of a row, as [`Row::of`] expects them.
pub(super) const COLUMNS: &str = "config_hash, model, replication, result, hash";

/// Rows of points that nothing in the store describes: a damaged name of a point leads here.
const WITHOUT_POINT: &str = "NOT EXISTS (SELECT 1 FROM points WHERE points.config_hash = results.config_hash)";

/// What a row has in its column `hash`: the SHA-256 of all of its other columns, so that a result under another name does not
/// pass either.
pub(super) fn row_hash(config_hash: &[u8], model: i64, replication: i64, result: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(config_hash);
    hash.update(format!("\n{model}\n{replication}\n"));
    hash.update(result);
    hexadecimal(&hash.finalize())
}

/// A row as it is in the file: whatever it has to say, and in whatever types.
pub(super) struct Row<'r> {
    columns: [ValueRef<'r>; 5],
}

impl<'r> Row<'r> {
    /// The row of a query for [`COLUMNS`].
    pub(super) fn of(row: &'r rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { columns: [row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?, row.get_ref(3)?, row.get_ref(4)?] })
    }

    /// The version of the model, the replication, and the result, if the row is what was written.
    pub(super) fn sound(&self) -> Option<(i64, i64, &'r str)> {
        use ValueRef::{Integer, Text};
        match self.columns {
            [Text(config_hash), Integer(model), Integer(replication), Text(result), Text(hash)]
                if row_hash(config_hash, model, replication, result).as_bytes() == hash =>
            {
                Some((model, replication, std::str::from_utf8(result).ok()?))
            }
            _ => None,
        }
    }

    /// Its place in the table, if the columns that say it have the right types: point, version of the model, replication.
    pub(super) fn place(&self) -> Option<(&'r str, i64, i64)> {
        match self.columns {
            [ValueRef::Text(name), ValueRef::Integer(model), ValueRef::Integer(replication), ..] => {
                Some((std::str::from_utf8(name).ok()?, model, replication))
            }
            _ => None,
        }
    }

    /// The row by the names that it has now.
    pub(super) fn damaged(&self) -> DamagedRow {
        DamagedRow { config_hash: shown(self.columns[0]), replication: shown(self.columns[2]) }
    }
}

/// A row of a store that is not what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DamagedRow {
    /// Its point, by the name that the row has now.
    pub config_hash: String,
    /// Its replication, by the number that the row has now.
    pub replication: String,
}

impl fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is damaged may be anything.
        let number = self.replication.parse().map(replication_of);
        let windows = match number {
            Ok((1, _)) => " with windows doubled once".to_owned(),
            Ok((times, _)) if times > 1 => format!(" with windows doubled {times} times"),
            _ => String::new(),
        };
        let replication = number.map_or_else(|_| self.replication.clone(), |(_, replication)| replication.to_string());
        write!(f, "replication {replication}{windows} of point {}", self.config_hash)
    }
}

/// A value that may be anything, on one line.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "(nothing)".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
    }
}

impl Store {
    /// The damaged rows of points, of whatever version of the model, and those whose point is unknown: these may have been of any
    /// point.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn damaged<'s>(&self, config_hashes: impl IntoIterator<Item = &'s str>) -> Result<Vec<DamagedRow>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut damaged = Vec::new();
        let mut collect = |mut rows: Rows<'_>| -> rusqlite::Result<()> {
            while let Some(row) = rows.next()? {
                let row = Row::of(row)?;
                if row.sound().is_none() && !damaged.contains(&row.damaged()) {
                    damaged.push(row.damaged());
                }
            }
            Ok(())
        };
        let of_point = format!("SELECT {COLUMNS} FROM results WHERE config_hash = ?1");
        let mut statement = self.connection.prepare_cached(&of_point).map_err(fail)?;
        for config_hash in config_hashes {
            statement.query(params![config_hash]).and_then(&mut collect).map_err(fail)?;
        }
        let others = format!("SELECT {COLUMNS} FROM results WHERE {WITHOUT_POINT}");
        let mut statement = self.connection.prepare_cached(&others).map_err(fail)?;
        statement.query([]).and_then(&mut collect).map_err(fail)?;
        Ok(damaged)
    }

    /// Puts the [damaged](Self::damaged) rows of points into a table of their own, `damaged`, for inspection:
    /// the store is then as if they had never been there.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn set_aside<'s>(
        &mut self,
        config_hashes: impl IntoIterator<Item = &'s str>,
    ) -> Result<Vec<DamagedRow>, StoreError> {
        let damaged = self.damaged(config_hashes)?;
        if !damaged.is_empty() {
            self.separate(&damaged)?;
        }
        Ok(damaged)
    }

    /// Sets aside rows that are known to be damaged.
    pub(crate) fn separate(&mut self, damaged: &[DamagedRow]) -> Result<(), StoreError> {
        separate(&mut self.connection, damaged).map_err(|error| failure(&self.path, error))
    }
}

/// Rebuilds the table of results without the damaged rows. They cannot just be deleted: a row whose name is damaged is not in
/// its place, and is not found by its name.
fn separate(connection: &mut Connection, damaged: &[DamagedRow]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS damaged (config_hash, model, replication, result, hash);")?;
    transaction.execute_batch(&results_table("sound_results"))?;
    {
        let mut all = transaction.prepare(&format!("SELECT {COLUMNS} FROM results"))?;
        let put = |what: &str| transaction.prepare(&format!("INSERT OR {what} VALUES (?1, ?2, ?3, ?4, ?5)"));
        let mut aside = put("ABORT INTO damaged")?;
        let mut keep = put("REPLACE INTO sound_results")?;
        // Of other points, a damaged row may have the name of a sound one.
        let mut keep_damaged = put("IGNORE INTO sound_results")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let row = Row::of(row)?;
            let values = row.columns.iter().map(|&value| Value::try_from(value)).collect::<Result<Vec<Value>, _>>();
            // Text that is no text any more is kept byte by byte.
            let values = values.unwrap_or_else(|_| row.columns.iter().map(|&value| bytes(value)).collect());
            let statement = match row.sound() {
                Some(_) => &mut keep,
                None if damaged.contains(&row.damaged()) => &mut aside,
                None => &mut keep_damaged,
            };
            statement.execute(rusqlite::params_from_iter(values))?;
        }
    }
    transaction.execute_batch("DROP TABLE results; ALTER TABLE sound_results RENAME TO results;")?;
    transaction.commit()
}

fn bytes(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// Gives each row of a store of layout 1, which had none, its hash.
pub(super) fn add_hashes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("ALTER TABLE results ADD COLUMN hash TEXT NOT NULL DEFAULT '';")?;
    let mut all = connection.prepare("SELECT config_hash, model, replication, result FROM results")?;
    let mut put = connection
        .prepare("UPDATE results SET hash = ?4 WHERE config_hash = ?1 AND model = ?2 AND replication = ?3")?;
    let mut rows = all.query([])?;
    let mut hashes: Vec<(String, i64, i64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        if let (
            ValueRef::Text(config_hash),
            ValueRef::Integer(model),
            ValueRef::Integer(replication),
            ValueRef::Text(result),
        ) = (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?, row.get_ref(3)?)
            && let Ok(name) = std::str::from_utf8(config_hash)
        {
            hashes.push((name.to_owned(), model, replication, row_hash(config_hash, model, replication, result)));
        }
    }
    for (config_hash, model, replication, hash) in hashes {
        put.execute(params![config_hash, model, replication, hash])?;
    }
    Ok(())
}
