//! Tests of the store.

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
    result.in_time().offered_load = f64::NAN;
    let error = Store::in_memory().unwrap().insert("a", 0, &result).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Unstorable(_)), "{error}");
}

#[test]
fn results_of_another_model_are_ignored() {
    let mut store = Store::in_memory().unwrap();
    store.insert("a", 0, &run(1.0)).unwrap();
    let hash = row_hash(b"a", i64::from(MODEL_VERSION) + 1, 0, &result_of(&store));
    store.connection.execute("UPDATE results SET model = model + 1, hash = ?1", [hash]).unwrap();
    assert!(store.load("a").unwrap().is_empty());
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let message = |path: &Path| Store::open(path).unwrap_err().to_string();

    std::fs::write(at("text.db"), "not a database at all, but long enough to have a header".repeat(40)).unwrap();
    assert!(
        message(&at("text.db")).ends_with("text.db` is not a result store: it is not a database; choose another file")
    );

    std::fs::write(at("short.db"), "notes").unwrap();
    assert!(message(&at("short.db")).contains("short.db` is not a result store: it is not a database"));
    assert_eq!(std::fs::read(at("short.db")).unwrap(), b"notes", "it is left alone");
    std::fs::write(at("empty.db"), "").unwrap();
    Store::open(&at("empty.db")).unwrap();

    Connection::open(at("other.db")).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
    assert!(message(&at("other.db")).contains("it is a database of another program"));

    assert!(message(&at("no/such/x.db")).contains("there is no directory"));
    for table in ["table.csv", "plot.SVG", "experiment.toml"] {
        assert!(message(&at(table)).ends_with(
            "is not a result store: its name is that of a file of another kind, and one that ends in `.db` is expected; choose another file"
        ));
        assert!(!at(table).exists());
    }
    Store::open(&at("table.sqlite")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("loop.db", at("loop.db")).unwrap();
        assert!(message(&at("loop.db")).contains("symbolic links"), "{}", message(&at("loop.db")));
    }
    std::fs::create_dir(at("dir.db")).unwrap();
    assert!(message(&at("dir.db")).contains("it is a directory"));

    let store = Store::open(&at("newer.db")).unwrap();
    store.connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'", []).unwrap();
    assert!(message(&at("newer.db")).contains("has layout 99"));

    let mut store = Store::open(&at("damaged.db")).unwrap();
    store.insert("a", 0, &run(1.0)).unwrap();
    store.connection.execute("UPDATE results SET result = '{'", []).unwrap();
    let error = store.load("a").unwrap_err().to_string();
    assert!(error.ends_with("damaged.db` is damaged, and cannot be used:\n  replication 0 of point a"), "{error}");
}

#[test]
fn a_full_disk_is_reported_and_spares_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("results.db")).unwrap();
    store.connection.pragma_update(None, "max_page_count", 12).unwrap();
    let error = (0..1000).find_map(|replication| store.insert("a", replication, &run(1.0)).err()).unwrap();
    assert!(matches!(error.problem, StoreProblem::Full), "{error}");
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
    // Those of this process: another one may hold locks on a file of the same number in another file system.
    let process = format!(" {} ", std::process::id());
    let locks = || {
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|lock| lock.contains(&process) && lock.contains(&inode)).count()
    };
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

fn result_of(store: &Store) -> Vec<u8> {
    store
        .connection
        .query_row("SELECT result FROM results", [], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))
        .unwrap()
}

/// Another digit for a digit, another byte for any other.
fn flipped(byte: u8) -> u8 {
    byte ^ 1
}

#[test]
fn no_changed_byte_of_a_row_passes() {
    let mut store = Store::in_memory().unwrap();
    store.insert("point", 3, &run(100.25)).unwrap();
    let columns = ["config_hash", "model", "replication", "result", "hash"];
    let read = |store: &Store, column: &str| -> Vec<u8> {
        let query = format!("SELECT CAST({column} AS TEXT) FROM results");
        store.connection.query_row(&query, [], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec())).unwrap()
    };
    let before: Vec<rusqlite::types::Value> = columns
        .map(|column| {
            store.connection.query_row(&format!("SELECT {column} FROM results"), [], |row| row.get(0)).unwrap()
        })
        .to_vec();
    let mut flips = 0;
    for column in columns {
        let bytes = read(&store, column);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] = flipped(changed[at]);
            let typed = if ["model", "replication"].contains(&column) { "INTEGER" } else { "TEXT" };
            let update = format!("UPDATE results SET {column} = CAST(?1 AS {typed})");
            store.connection.execute(&update, [changed]).unwrap();
            let found = store.damaged(["point"]).unwrap();
            assert_eq!(found.len(), 1, "byte {at} of {column}");
            match store.load("point") {
                Err(StoreError { problem: StoreProblem::Damaged(rows), .. }) => assert_eq!(rows, found),
                Ok(loaded) => assert!(column == "config_hash" && loaded.is_empty(), "byte {at} of {column}"),
                Err(error) => panic!("byte {at} of {column}: {error}"),
            }
            let restore = "UPDATE results SET config_hash = ?1, model = ?2, replication = ?3, result = ?4, hash = ?5";
            store.connection.execute(restore, rusqlite::params_from_iter(&before)).unwrap();
            flips += 1;
        }
    }
    assert!(flips > 500 && store.damaged(["point"]).unwrap().is_empty());
    assert_eq!(store.load("point").unwrap()[&3], run(100.25));
}

/// Whatever byte of its file changes, what comes out of a store is what was written, or an error.
#[test]
fn no_changed_byte_of_the_file_changes_a_result() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["results.db", "copy.db"].map(|name| directory.path().join(name));
    let points = ["alpha", "beta", "gamma"];
    let mut store = Store::open(&path).unwrap();
    for (point, latency) in points.into_iter().zip([1.25, 7.5, 9.75]) {
        store.insert(point, 0, &run(latency)).unwrap();
    }
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let all = |store: &Store| -> Result<Vec<_>, StoreError> {
        let rows = store.damaged(points)?;
        if !rows.is_empty() {
            return Err(StoreProblem::Damaged(rows).of(&copy));
        }
        points.iter().map(|point| store.load(point)).collect()
    };
    let good = all(&Store::open(&path).unwrap()).unwrap();
    let start = whole.windows(4).position(|bytes| bytes == b"beta").unwrap();
    let mut named = 0;
    for at in start..start + 700 {
        let mut bytes = whole.clone();
        bytes[at] = flipped(bytes[at]);
        std::fs::write(&copy, bytes).unwrap();
        match Store::open(&copy).and_then(|store| all(&store)) {
            Ok(read) => assert!(read == good, "byte {at}"),
            Err(StoreError { problem: StoreProblem::Damaged(_), .. }) => named += 1,
            Err(StoreError { problem: StoreProblem::Corrupt(_), .. }) => {}
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(named > 400, "{named}");
}

#[test]
fn a_table_that_is_missing_is_named() {
    let mut store = Store::in_memory().unwrap();
    store.insert("a", 0, &run(1.0)).unwrap();
    store.connection.execute_batch("DROP TABLE results").unwrap();
    let error = store.load("a").unwrap_err().to_string();
    assert!(error.contains("the table `results` is missing"), "{error}");
}

#[test]
fn damaged_rows_are_set_aside_and_those_of_others_are_left() {
    let mut store = Store::in_memory().unwrap();
    let spec = serde_json::json!({});
    for (point, replication) in [("a", 0), ("a", 1), ("b", 0), ("c", 0)] {
        store.insert(point, replication, &run(f64::from(replication) + 1.0)).unwrap();
        store
            .connection
            .execute("INSERT OR IGNORE INTO points VALUES (?1, ?2)", params![point, spec.to_string()])
            .unwrap();
    }
    let change = |store: &Store, what: &str| store.connection.execute_batch(what).unwrap();
    change(
        &store,
        "UPDATE results SET result = replace(result, '1000', '1001') WHERE config_hash = 'a' AND replication = 1",
    );
    change(&store, "UPDATE results SET result = CAST(x'7bff' AS TEXT) WHERE config_hash = 'b'");
    change(&store, "UPDATE results SET config_hash = 'd' WHERE config_hash = 'c'");
    let row = |config_hash: &str, replication: &str| DamagedRow {
        config_hash: config_hash.to_owned(),
        replication: replication.to_owned(),
    };
    // That of b is no business of a's; that of d may be.
    assert_eq!(store.set_aside(["a"]).unwrap(), [row("a", "1"), row("d", "0")]);
    assert_eq!(store.load("a").unwrap().into_keys().collect::<Vec<_>>(), [0]);
    assert_eq!(store.damaged(["b"]).unwrap(), [row("b", "0")]);
    assert_eq!(store.set_aside(["b"]).unwrap(), [row("b", "0")]);
    assert_eq!(store.set_aside(["a", "b", "c", "d"]).unwrap(), []);
    let kept: i64 = store.connection.query_row("SELECT count(*) FROM damaged", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 3);
    store.insert("b", 0, &run(2.0)).unwrap();
    assert_eq!(store.load("b").unwrap()[&0], run(2.0));
}

#[test]
fn a_store_without_hashes_gets_them_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let mut store = Store::open(&path).unwrap();
    store.insert("a", 0, &run(3.0)).unwrap();
    let old = "ALTER TABLE results DROP COLUMN hash; UPDATE meta SET value = '1' WHERE key = 'schema_version'";
    store.connection.execute_batch(old).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("a").unwrap()[&0], run(3.0));
    store.connection.execute("UPDATE results SET result = replace(result, '1000', '1001')", []).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert!(
        matches!(store.load("a"), Err(StoreError { problem: StoreProblem::Damaged(_), .. })),
        "no hash is made for it again"
    );
    // A store that says that it has none is no way round them.
    store.connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'", []).unwrap();
    let error = Store::open(&path).unwrap_err().to_string();
    assert!(error.contains("its version is not that of its tables"), "{error}");
}

#[test]
fn names_that_mean_something_to_the_database_are_names_of_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "a%20b?immutable=1#c"] {
        let path = directory.path().join(name);
        Store::open(&path).unwrap().insert("a", 0, &run(7.0)).unwrap();
        assert!(path.is_file(), "{name}");
        assert_eq!(Store::unchanging(&path).unwrap().load("a").unwrap().len(), 1, "{name}");
    }
    for name in [":memory:", "file:x?mode=memory"] {
        assert_eq!(plain(Path::new(name)), PathBuf::from(format!("./{name}")));
    }
    assert!(Store::open(Path::new("")).unwrap_err().to_string().ends_with("its name is empty"));
}

#[test]
fn a_store_that_may_not_be_written_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    Store::open(&path).unwrap().insert("a", 0, &run(7.0)).unwrap();
    // As where neither it nor its folder may be written, which does not stop every user from writing.
    let mut store = Store::unchanging(&path).unwrap();
    assert_eq!(store.load("a").unwrap()[&0], run(7.0));
    assert!(matches!(store.insert("a", 1, &run(8.0)), Err(StoreError { problem: StoreProblem::ReadOnly, .. })));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is made beside it");
    // On a file system without writing, the database says that it cannot open what can be read.
    let refused = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    let refused = failure(&path, rusqlite::Error::SqliteFailure(refused, None));
    assert!(matches!(refused.problem, StoreProblem::ReadOnly), "{refused}");
    // What is only in the log would be left out.
    let open = Store::open(&path).unwrap();
    open.connection.execute_batch("CREATE TABLE more (x)").unwrap();
    let error = Store::unchanging(&path).unwrap_err().to_string();
    assert!(error.ends_with("results.db-wal` first"), "{error}");
    assert_eq!(Store::read(&path).unwrap().load("a").unwrap().len(), 1);
}

fn store_with(results: &[(&str, u32, f64)]) -> Store {
    let mut store = Store::in_memory().unwrap();
    for &(point, replication, latency) in results {
        store.insert(point, replication, &run(latency)).unwrap();
        store.note(point, Duration::from_secs(1)).unwrap();
    }
    store
}

fn contents(store: &Store) -> Vec<(String, u32)> {
    let of = |point: &str| store.load(point).unwrap().into_keys().collect::<Vec<u32>>();
    ["a", "b", "c"].iter().flat_map(|point| of(point).into_iter().map(|number| ((*point).to_owned(), number))).collect()
}

#[test]
fn stores_are_merged_and_to_merge_again_changes_nothing() {
    let mut store = store_with(&[("a", 0, 1.0), ("b", 1, 2.0)]);
    let other = store_with(&[("a", 0, 1.0), ("a", 1, 1.0 / 3.0), ("c", 0, 4.0)]);
    let merged = store.merge(&other).unwrap();
    assert_eq!(merged, Merged { added: 2, present: 1, ..Merged::default() });
    let all = [("a", 0), ("a", 1), ("b", 1), ("c", 0)].map(|(point, number)| (point.to_owned(), number));
    assert_eq!(contents(&store), all);
    assert_eq!(store.load("a").unwrap()[&1], run(1.0 / 3.0), "to the last bit");
    assert_eq!(store.merge(&other).unwrap(), Merged { present: 3, ..Merged::default() });
    let noted: u64 = store.origins(["c"]).unwrap().iter().map(|origin| origin.replications).sum();
    assert_eq!((contents(&store), noted), (all.to_vec(), 1));
    assert!(store.damaged(["a", "b", "c"]).unwrap().is_empty());
}

#[test]
fn of_two_results_of_one_replication_none_is_taken() {
    let mut store = store_with(&[("b", 0, 2.0)]);
    let error = store.merge(&store_with(&[("a", 0, 1.0), ("b", 0, 3.0), ("c", 0, 1.0)])).unwrap_err();
    assert!(error.to_string().contains("have different results of replication 0 of point b"), "{error}");
    assert_eq!(contents(&store), [("b".to_owned(), 0)], "all of it or nothing");
    assert_eq!(store.load("b").unwrap()[&0], run(2.0));
}

#[test]
fn what_is_damaged_or_of_another_model_is_not_merged_and_what_is_damaged_here_is_mended() {
    let mut store = store_with(&[("a", 0, 1.0)]);
    let damage = "UPDATE results SET result = replace(result, '1', '2') WHERE config_hash = ?1";
    store.connection.execute(damage, ["a"]).unwrap();
    assert!(store.load("a").is_err());
    let other = store_with(&[("a", 0, 1.0), ("b", 0, 1.0), ("c", 0, 1.0)]);
    other.connection.execute(damage, ["b"]).unwrap();
    let result: String =
        other.connection.query_row("SELECT result FROM results WHERE config_hash = 'c'", [], |row| row.get(0)).unwrap();
    let newer = i64::from(MODEL_VERSION) + 1;
    let hash = row_hash(b"c", newer, 0, result.as_bytes());
    other
        .connection
        .execute("UPDATE results SET model = ?1, hash = ?2 WHERE config_hash = 'c'", params![newer, hash])
        .unwrap();
    let merged = store.merge(&other).unwrap();
    let damaged = vec![DamagedRow { config_hash: "b".to_owned(), replication: "0".to_owned() }];
    let expected = Merged { added: 1, of_other_models: 1, other_model: Some(newer), damaged, ..Merged::default() };
    assert_eq!(merged, expected);
    assert_eq!(store.load("a").unwrap()[&0], run(1.0));
    assert_eq!(contents(&store), [("a".to_owned(), 0)]);
}

#[test]
fn a_merge_for_which_the_disk_is_too_small_adds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("results.db")).unwrap();
    store.insert("b", 0, &run(1.0)).unwrap();
    let other = store_with(&(0..200).map(|number| ("a", number, 1.0)).collect::<Vec<_>>());
    store.make_origins().unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages + 4).unwrap();
    let error = store.merge(&other).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Full), "{error}");
    assert_eq!(contents(&store), [("b".to_owned(), 0)]);
}

/// Pages of a file that are overwritten, as a write that was torn leaves them.
fn torn(whole: &[u8], pages: impl IntoIterator<Item = usize>) -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut bytes = whole.to_vec();
    for page in pages {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
    }
    bytes
}

#[test]
fn what_can_be_read_of_a_store_with_torn_pages_is_merged_and_the_rest_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["results.db", "copy.db"].map(|name| directory.path().join(name));
    let mut store = Store::open(&path).unwrap();
    let names: Vec<String> = (0..12).map(hexadecimal_name).collect();
    let contents = |store: &Store| -> Vec<(String, u32)> {
        let of = |name: &String| {
            store.load(name).unwrap().into_keys().map(|number| (name.clone(), number)).collect::<Vec<_>>()
        };
        let mut sorted = names.clone();
        sorted.sort();
        sorted.iter().flat_map(of).collect()
    };
    for name in &names {
        for replication in 0..12 {
            store.insert(name, replication, &run(f64::from(replication) + 0.25)).unwrap();
        }
    }
    let all = contents(&store);
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let pages = whole.len() / 4096;
    assert!(pages > 30, "{pages}");
    let (mut partly, mut many, mut refused) = (0, 0, 0);
    for page in 1..pages {
        std::fs::write(&copy, torn(&whole, [page])).unwrap();
        let mut into = Store::in_memory().unwrap();
        match Store::read(&copy).and_then(|other| into.merge(&other)) {
            Ok(merged) => {
                let saved = contents(&into);
                assert!(saved.iter().all(|row| all.contains(row)), "page {page}");
                assert_eq!(merged.added as usize, saved.len(), "page {page}");
                // What is missing is named, and nothing is named without reason.
                assert_eq!(merged.gaps.is_empty(), saved.len() == all.len(), "page {page}: {:?}", merged.gaps);
                for gap in &merged.gaps {
                    let key = |row: &DamagedRow| (row.config_hash.clone(), row.replication.parse::<u32>().unwrap());
                    let inside = |row: &(String, u32)| {
                        gap.after.as_ref().is_none_or(|after| *row > key(after))
                            && gap.before.as_ref().is_none_or(|before| *row < key(before))
                    };
                    assert!(!saved.iter().any(inside), "page {page}");
                    assert!(all.iter().any(inside), "page {page}");
                }
                if !merged.gaps.is_empty() {
                    many += usize::from(all.len() - saved.len() > 12);
                    partly += usize::from(!saved.is_empty());
                }
            }
            Err(StoreError { problem: StoreProblem::Corrupt(_), .. }) => refused += 1,
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    // Only pages above the leaves take many rows along. Rows are wide, a page has four, so these are a quarter of the pages.
    assert!(partly > 20 && many < pages / 3 && refused < 5, "{partly}, {many}, {refused}");
    // Two pages with a good one between them: what is between is found.
    let several = torn(&whole, (pages - 9..pages).step_by(2));
    std::fs::write(&copy, several).unwrap();
    let mut into = Store::in_memory().unwrap();
    let merged = into.merge(&Store::read(&copy).unwrap()).unwrap();
    assert!(merged.gaps.len() > 1 && merged.added > 100, "{merged:?}");
}

fn hexadecimal_name(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[test]
fn a_store_whose_first_page_is_damaged_is_no_file_of_another_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    drop(Store::open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..40].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Corrupt(_)), "{error}");
    bytes[68] = b'x';
    std::fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::Foreign(_)), "{error}");
}
