//! The table that says where results come from: which program computed them, on what machine, when, and how long it took. It is kept beside the results and
//! is no part of them: two stores with the same results are equal in everything but this.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
use rusqlite::params;

use super::{MODEL_VERSION, Store, StoreError, failure};
use crate::store::origin::{Origin, Program};

impl Store {
    /// Notes in rows that it adds which program this is.
    #[must_use]
    pub fn made_by(mut self, program: Program) -> Self {
        self.program = program;
        self
    }

    /// Notes that a replication of a point has just been computed, in so much time.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn note(&mut self, config_hash: &str, took: Duration) -> Result<(), StoreError> {
        self.make_origins()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let (Program { version, revision }, machine) = (self.program, self.machine.clone());
        self.execute(
            "INSERT INTO origins VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1, ?7)
             ON CONFLICT DO UPDATE SET first = min(first, ?6), last = max(last, ?6),
                 replications = replications + 1, nanoseconds = nanoseconds + ?7",
            params![
                config_hash,
                MODEL_VERSION,
                version,
                revision,
                machine,
                now.cast_signed(),
                nanoseconds.cast_signed()
            ],
        )
    }

    /// Stores that are older than the table of notes get it with the first result that is added.
    pub(super) fn make_origins(&mut self) -> Result<(), StoreError> {
        if !self.notes {
            self.execute(
                "CREATE TABLE IF NOT EXISTS origins (
                     config_hash TEXT NOT NULL,
                     model INTEGER NOT NULL,
                     version TEXT NOT NULL,
                     revision TEXT NOT NULL,
                     machine TEXT NOT NULL,
                     first INTEGER NOT NULL,
                     last INTEGER NOT NULL,
                     replications INTEGER NOT NULL,
                     nanoseconds INTEGER NOT NULL,
                     PRIMARY KEY (config_hash, model, version, revision, machine)
                 ) WITHOUT ROWID",
                [],
            )?;
            self.notes = true;
        }
        Ok(())
    }

    /// Whether it has notes.
    pub(super) fn has_origins(&self) -> Result<bool, StoreError> {
        let count = "SELECT count(*) FROM sqlite_master WHERE name = 'origins'";
        let tables: u32 =
            self.connection.query_row(count, [], |row| row.get(0)).map_err(|error| failure(&self.path, error))?;
        Ok(tables > 0)
    }

    /// Where the results of points come from, by program and machine, the earliest first; nothing of results that were computed before
    /// stores took notes.
    ///
    /// # Errors
    /// If the store fails.
    pub fn origins<'s>(&self, config_hashes: impl IntoIterator<Item = &'s str>) -> Result<Vec<Origin>, StoreError> {
        let fail = |error| failure(&self.path, error);
        let mut origins = Vec::new();
        if !self.has_origins()? {
            return Ok(origins);
        }
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT version, revision, machine, first, last, replications, nanoseconds FROM origins
                 WHERE config_hash = ?1 AND model = ?2",
            )
            .map_err(fail)?;
        for config_hash in config_hashes {
            let rows = statement.query_map(params![config_hash, MODEL_VERSION], |row| {
                Ok(Origin {
                    version: row.get(0)?,
                    revision: row.get(1)?,
                    machine: row.get(2)?,
                    first: row.get::<_, i64>(3)?.cast_unsigned(),
                    last: row.get::<_, i64>(4)?.cast_unsigned(),
                    replications: row.get::<_, i64>(5)?.cast_unsigned(),
                    computing: Duration::from_nanos(row.get::<_, i64>(6)?.cast_unsigned()),
                })
            });
            for row in rows.map_err(fail)? {
                match row {
                    Ok(origin) if is_plausible(&origin) => Origin::merge(&mut origins, origin),
                    // What is no note is as good as none.
                    Ok(_) | Err(InvalidColumnType(..) | IntegralValueOutOfRange(..) | FromSqlConversionFailure(..)) => {
                    }
                    Err(error) => return Err(fail(error)),
                }
            }
        }
        origins.sort_by(|a, b| (a.first, &a.version, &a.revision).cmp(&(b.first, &b.version, &b.revision)));
        Ok(origins)
    }
}

/// Whether a note can be one that was taken. Nothing else protects notes, which change with each replication; results do not depend
/// on them, and what is no note is as good as none.
fn is_plausible(origin: &Origin) -> bool {
    /// The beginning of 2000, in seconds.
    const EARLIEST: u64 = 946_684_800;
    /// More than any clock is ahead of another.
    const AHEAD: u64 = 7 * 24 * 3600;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |since| since.as_secs());
    let span = EARLIEST..=now.saturating_add(AHEAD);
    origin.first <= origin.last
        && span.contains(&origin.first)
        && span.contains(&origin.last)
        && (1..=u64::MAX / 2).contains(&origin.replications)
        && origin.computing.as_nanos() <= u128::from(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;

    #[test]
    fn origins_are_added_up_by_program_and_forgotten_with_their_results() {
        let mut store = Store::in_memory().unwrap();
        assert!(store.origins(["a"]).unwrap().is_empty(), "a store without notes");
        let second = Duration::from_secs(1);
        for (point, replication) in [("a", 0), ("a", 1), ("b", 0), ("c", 0)] {
            store.insert(point, replication, &run(1.0)).unwrap();
            store.note(point, second).unwrap();
        }
        let of = |store: &Store, points: &[&str]| store.origins(points.iter().copied()).unwrap();
        let [origin] = &of(&store, &["a", "b"])[..] else { panic!("one program") };
        assert_eq!((origin.replications, origin.computing), (3, 3 * second));
        assert!(origin.first <= origin.last && origin.first > 1_700_000_000, "{origin:?}");
        let mut store = store.made_by(Program { version: "9.9.9", revision: "1234567" });
        store.note("b", second).unwrap();
        let both = of(&store, &["a", "b"]);
        let counts: Vec<_> = both.iter().map(|origin| (origin.revision.as_str(), origin.replications)).collect();
        assert!(counts.contains(&("", 3)) && counts.contains(&("1234567", 1)) && counts.len() == 2, "{counts:?}");
        for damage in [
            "nanoseconds = -1",
            "replications = -3",
            "first = 1 << 62",
            "last = 0",
            "replications = 0",
            "first = 'x'",
            "nanoseconds = 1.5",
            "version = x'ff'",
        ] {
            store.execute(&format!("UPDATE origins SET {damage} WHERE config_hash = 'c'"), []).unwrap();
            assert!(of(&store, &["c"]).is_empty(), "{damage}");
            store.execute("DELETE FROM origins WHERE config_hash = 'c'", []).unwrap();
            store.note("c", second).unwrap();
        }
        store.forget(["a", "b"]).unwrap();
        assert!(of(&store, &["a", "b"]).is_empty() && of(&store, &["c"]).len() == 1);
    }
}
