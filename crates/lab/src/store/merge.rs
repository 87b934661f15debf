//! Bringing the results of one store into another, for sweeps whose points were computed in several places.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};
use serde_json::Value as Json;

use super::error::failure;
use super::remains::{Gap, is_damage};
use super::rows::{COLUMNS, DamagedRow, Row, row_hash};
use super::{MODEL_VERSION, Store, StoreError, StoreProblem};
use crate::runs::replication::Replication;

/// What came of a [merge](Store::merge).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Merged {
    /// Results that were added.
    pub added: u64,
    /// Results that were there already.
    pub present: u64,
    /// Results of other versions of the model, which stay where they are: this version never reads them.
    pub of_other_models: u64,
    /// One of these versions.
    pub other_model: Option<i64>,
    /// Damaged rows, which stay where they are.
    pub damaged: Vec<DamagedRow>,
    /// Parts of the store that cannot be read, since pages of its file are damaged.
    pub gaps: Vec<Gap>,
}

/// A result as a store has it.
struct Found {
    config_hash: String,
    model: i64,
    replication: i64,
    result: String,
}

impl Store {
    /// Adds what another store has and this one lacks: results, descriptions of points, and where results come from. All of it or,
    /// on an error, nothing. Merging a store again changes nothing. A damaged row here that is sound there is replaced. Of a store whose pages are
    /// damaged, everything that can be read is added.
    ///
    /// # Errors
    /// If one of the stores fails, or both have the same replication with different results
    /// ([`StoreProblem::Conflict`]): a result is a function of its point, so one of them is wrong.
    pub fn merge(&mut self, other: &Self) -> Result<Merged, StoreError> {
        if other.has_origins()? {
            self.make_origins()?;
        }
        let mut merged = Merged::default();
        self.together(|store| {
            let points = added_points(store, other, &mut merged)?;
            copy_descriptions(store, other)?;
            if other.has_origins()? {
                for config_hash in &points {
                    copy_origins(store, other, config_hash)?;
                }
            }
            Ok(())
        })?;
        Ok(merged)
    }

    /// The descriptions of points that can be read, by their names, and whether these are all.
    ///
    /// # Errors
    /// If the store cannot be read for another reason than damage.
    pub(crate) fn descriptions(&self) -> Result<(BTreeMap<String, Json>, bool), StoreError> {
        let mut descriptions = BTreeMap::new();
        let all = self.each_description(|(config_hash, text)| {
            descriptions.extend(serde_json::from_str(&text).map(|description| (config_hash, description)));
            Ok(())
        })?;
        Ok((descriptions, all))
    }

    /// Reads the descriptions of points, each with its name, from both ends up to damage, so that one may come twice. Returns whether they could all be read.
    fn each_description(
        &self,
        mut with: impl FnMut((String, String)) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut whole = true;
        for order in ["ASC", "DESC"] {
            let query = format!("SELECT config_hash, description FROM points ORDER BY config_hash {order}");
            let mut statement = self.connection.prepare(&query).map_err(fail)?;
            let mut rows = statement.query([]).map_err(fail)?;
            let ended = loop {
                let row = match rows.next() {
                    Ok(Some(row)) => row.get(0).and_then(|name: String| Ok((name, row.get::<_, String>(1)?))),
                    Ok(None) => break true,
                    Err(error) => Err(error),
                };
                match row {
                    Ok(row) => with(row)?,
                    // A row of a page that has been lost in part, or whose text is not UTF-8.
                    Err(rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::Utf8Error(..)) => whole = false,
                    Err(error) if is_damage(&error) => break false,
                    Err(error) => return Err(fail(error)),
                }
            };
            if ended {
                return Ok(whole && order == "ASC");
            }
        }
        Ok(false)
    }

    /// What this store has of a replication, unless it is damaged.
    fn found(&self, wanted: &Found) -> Result<Option<String>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut statement = self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM results WHERE config_hash = ?1 AND model = ?2 AND replication = ?3"
            ))
            .map_err(fail)?;
        let of = params![wanted.config_hash, wanted.model, wanted.replication];
        let sound = |row: &rusqlite::Row<'_>| Ok(Row::of(row)?.sound().map(|(_, _, json)| json.to_owned()));
        Ok(statement.query_row(of, sound).optional().map_err(fail)?.flatten())
    }
}

/// Adds the results, and gives the points that have new ones.
fn added_points(store: &mut Store, other: &Store, merged: &mut Merged) -> Result<Vec<String>, StoreError> {
    let mut points: Vec<String> = Vec::new();
    let gaps = other.each_row(|row| {
        let (Some((config_hash, ..)), Some((model, replication, result))) = (row.place(), row.sound()) else {
            merged.damaged.push(row.damaged());
            return Ok(());
        };
        if model != i64::from(MODEL_VERSION) {
            merged.of_other_models += 1;
            merged.other_model = Some(model);
            return Ok(());
        }
        let new = Found { config_hash: config_hash.to_owned(), model, replication, result: result.to_owned() };
        match store.found(&new)? {
            Some(old) if is_same(&old, &new.result) => merged.present += 1,
            Some(_) => {
                let row = row.damaged();
                return Err(StoreProblem::Conflict { row, with: other.path.clone() }.of(&store.path));
            }
            None => {
                let Found { config_hash, model, replication, result } = new;
                let hash = row_hash(config_hash.as_bytes(), model, replication, result.as_bytes());
                store.execute(
                    &format!("INSERT OR REPLACE INTO results ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5)"),
                    params![config_hash, model, replication, result, hash],
                )?;
                merged.added += 1;
                if points.last() != Some(&config_hash) {
                    points.push(config_hash);
                }
            }
        }
        Ok(())
    })?;
    merged.gaps = gaps;
    Ok(points)
}

/// Whether two texts stand for the same result, as two versions of the program may write them.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Replication>(text).ok();
    one == other || read(one).is_some_and(|one| read(other) == Some(one))
}

/// Copies what descriptions of points can be read: they are for people, and no result needs them.
fn copy_descriptions(store: &mut Store, other: &Store) -> Result<(), StoreError> {
    let copied =
        |row| store.execute("INSERT OR IGNORE INTO points (config_hash, description) VALUES (?1, ?2)", row).map(drop);
    other.each_description(copied).map(drop)
}

fn copy_origins(store: &mut Store, other: &Store, config_hash: &str) -> Result<(), StoreError> {
    let fail = |error| failure(&other.path, error);
    let mut statement = other
        .connection
        .prepare_cached(
            "SELECT version, revision, machine, first, last, replications, nanoseconds FROM origins
             WHERE config_hash = ?1 AND model = ?2",
        )
        .map_err(fail)?;
    let mut rows = statement.query(params![config_hash, MODEL_VERSION]).map_err(fail)?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            // A note that cannot be read is as good as none.
            Err(error) if is_damage(&error) => break,
            Err(error) => return Err(fail(error)),
        };
        let words = (row.get::<_, String>(0), row.get::<_, String>(1), row.get::<_, String>(2));
        let numbers = (row.get::<_, i64>(3), row.get::<_, i64>(4), row.get::<_, i64>(5), row.get::<_, i64>(6));
        // What is no note is as good as none.
        let (Ok(version), Ok(revision), Ok(machine)) = words else { continue };
        let (Ok(first), Ok(last), Ok(replications), Ok(nanoseconds)) = numbers else { continue };
        store.execute(
            "INSERT INTO origins VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET first = min(first, ?6), last = max(last, ?7),
                 replications = replications + ?8, nanoseconds = nanoseconds + ?9",
            params![config_hash, MODEL_VERSION, version, revision, machine, first, last, replications, nanoseconds],
        )?;
    }
    Ok(())
}
