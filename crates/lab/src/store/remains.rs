//! The rows of a store some of whose pages are damaged: all of those that the database can still reach.

use std::collections::BTreeSet;
use std::fmt;

use rusqlite::{ErrorCode, Statement, ffi, params};

use super::error::failure;
use super::rows::{COLUMNS, DamagedRow, Row};
use super::{MODEL_VERSION, Store, StoreError};

/// How many replications behind the last row before a damaged page are tried one by one; then the steps double.
const ONE_BY_ONE: i64 = 512;

/// The place of a row in the table of results, which is kept in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    config_hash: String,
    model: i64,
    replication: i64,
}

impl Place {
    fn before_all_of(config_hash: &str) -> Self {
        Self { config_hash: config_hash.to_owned(), model: i64::MIN, replication: i64::MIN }
    }

    fn row(&self) -> DamagedRow {
        DamagedRow { config_hash: self.config_hash.clone(), replication: self.replication.to_string() }
    }

    /// The same point's places behind this one, from near to far.
    fn next_ones(&self) -> impl Iterator<Item = Self> + '_ {
        let near = 1..=ONE_BY_ONE;
        let far = (10..=32).map(|power| 1 << power);
        near.chain(far)
            .map_while(|step| Some(Self { replication: self.replication.checked_add(step)?, ..self.clone() }))
    }
}

/// A part of a store that cannot be read: the rows between two others. How many there were is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The row before it; `None`: it begins with the first row.
    pub after: Option<DamagedRow>,
    /// The row after it; `None`: it goes on to the last row.
    pub before: Option<DamagedRow>,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.after, &self.before) {
            (Some(after), Some(before)) => write!(f, "the rows after {after} and before {before}"),
            (Some(after), None) => write!(f, "the rows after {after}"),
            (None, Some(before)) => write!(f, "the rows before {before}"),
            (None, None) => f.write_str("the rows"),
        }
    }
}

/// Whether the database has found a damaged page, or the end of the file within one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) || is_cut(error)
}

/// Whether the file ends within a page.
pub(super) fn is_cut(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHORT_READ)
}

impl Store {
    /// Gives `take` all rows that can be read, in their order, each once. Returns the parts that cannot be read.
    ///
    /// Behind a damaged page, reading goes on at the next row that the database can find by a name: those of all points that any table
    /// still names are tried, and prefixes of hashes for the others.
    ///
    /// # Errors
    /// If the store fails otherwise, or `take` does.
    pub(super) fn each_row(
        &self,
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<Vec<Gap>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let query = format!(
            "SELECT {COLUMNS} FROM results WHERE (config_hash, model, replication) >= (?1, ?2, ?3)
             ORDER BY config_hash, model, replication"
        );
        let mut statement = self.connection.prepare(&query).map_err(fail)?;
        let (mut start, mut gaps) = (Place::before_all_of(""), Vec::new());
        // Where a gap begins whose end is not found yet.
        let mut open: Option<Option<DamagedRow>> = None;
        loop {
            let mut last = None;
            let mut rows = statement.query(params![start.config_hash, start.model, start.replication]).map_err(fail)?;
            let damage = loop {
                match rows.next() {
                    Ok(None) => break None,
                    Err(error) if is_damage(&error) => break Some(error),
                    Err(error) => return Err(fail(error)),
                    Ok(Some(row)) => {
                        let place = Row::of(row).map(|row| {
                            row.place().map(|(name, model, replication)| (name.to_owned(), model, replication))
                        });
                        match place {
                            Err(error) if is_damage(&error) => break Some(error),
                            Err(error) => return Err(fail(error)),
                            Ok(place) => {
                                let row = Row::of(row).map_err(fail)?;
                                if let Some(after) = open.take() {
                                    gaps.push(Gap { after, before: Some(row.damaged()) });
                                }
                                take(&row)?;
                                if let Some((config_hash, model, replication)) = place {
                                    last = Some(Place { config_hash, model, replication });
                                }
                            }
                        }
                    }
                }
            };
            drop(rows);
            if damage.is_none() {
                break;
            }
            let at = last.unwrap_or_else(|| start.clone());
            if open.is_none() {
                open = Some((!at.config_hash.is_empty()).then(|| at.row()));
            }
            let Some(next) = self.next_readable(&mut statement, &at) else { break };
            start = next;
        }
        if let Some(after) = open {
            gaps.push(Gap { after, before: None });
        }
        Ok(gaps)
    }

    /// A place behind this one from which the database can read on.
    fn next_readable(&self, statement: &mut Statement<'_>, at: &Place) -> Option<Place> {
        let mut is_readable = |place: &Place| {
            let Place { config_hash, model, replication } = place;
            let found = statement
                .query(params![config_hash, model, replication])
                .and_then(|mut rows| rows.next().map(|row| row.map(Row::of).map(|_| ())));
            found.is_ok()
        };
        if let Some(next) = at.next_ones().find(|place| !at.config_hash.is_empty() && is_readable(place)) {
            return Some(next);
        }
        let mut names = self.known_names();
        names.extend((0..1 << 12).map(|prefix| format!("{prefix:03x}")));
        names.iter().filter(|name| **name > at.config_hash).find_map(|name| {
            let first = Place::before_all_of(name);
            if is_readable(&first) {
                return Some(first);
            }
            if name.len() == 3 {
                return None;
            }
            let own = Place { config_hash: name.clone(), model: i64::from(MODEL_VERSION), replication: -1 };
            own.next_ones().find(&mut is_readable)
        })
    }

    /// The names of points that any table can still tell.
    fn known_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for table in ["points", "origins", "results"] {
            for order in ["ASC", "DESC"] {
                let query = format!("SELECT config_hash FROM {table} ORDER BY config_hash {order}");
                let Ok(mut statement) = self.connection.prepare(&query) else { continue };
                let Ok(mut rows) = statement.query([]) else { continue };
                while let Ok(Some(row)) = rows.next() {
                    names.extend(row.get::<_, String>(0));
                }
            }
        }
        names
    }
}
