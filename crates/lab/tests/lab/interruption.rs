//! Sweeps that are killed, and stores that several processes use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rusqlite::{Connection, OpenFlags};
use wormcast_lab::{Budget, Point, PointRuns, Status, Store, SweepObserver, csv, summarise, sweep};

use crate::synthetic;

const STORE: &str = "WORMCAST_TEST_STORE";
const SEED: &str = "WORMCAST_TEST_SEED";
const JOBS: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// The rows of a store: hash of the point and replication, with the result as it is stored.
type Rows = BTreeMap<(String, u32), String>;

/// What a victim did, a line each; it is written at once, so that it is there whenever the victim ends.
fn log(store: &Path) -> PathBuf {
    store.with_extension("log")
}

/// Not a test: the process that is killed, this executable again. It notes each replication before it starts, and after each that
/// is stored how many are.
#[test]
#[ignore = "the victim of the tests below"]
fn victim() {
    struct Note<'a>(&'a File);
    impl SweepObserver for Note<'_> {
        fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
            self.0.write_all(format!("stored {}\n", status.computed).as_bytes()).unwrap();
            ControlFlow::Continue(())
        }
    }
    let Some(path) = std::env::var_os(STORE) else { return };
    let path = Path::new(&path);
    let log = OpenOptions::new().create(true).append(true).open(log(path)).unwrap();
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let mut store = Store::open(path).unwrap();
    let slow = |point: &Point, replication| {
        (&log).write_all(format!("start {} {replication}\n", point.spec.config_hash()).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_micros(500));
        synthetic::run(point, replication)
    };
    sweep(&mut Budget::default(), &points, experiment.stop(), JOBS, &mut store, &mut Note(&log), slow).unwrap();
}

fn start(store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "interruption::victim", "--ignored"])
        .env(STORE, store)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The rows of a store that is whole. Whatever the victim had begun to write is undone, as for anybody who opens the file.
fn rows(store: &Path) -> Rows {
    let connection = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let tables: u32 = connection
        .query_row("SELECT count(*) FROM sqlite_master WHERE name = 'results'", [], |row| row.get(0))
        .unwrap();
    if tables == 0 {
        // It was killed before the tables were made.
        return Rows::new();
    }
    let mut statement = connection.prepare("SELECT config_hash, replication, result FROM results").unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// What the victim's log says: the replications that it started, and how many were stored.
fn noted(store: &Path) -> (BTreeSet<(String, u32)>, usize) {
    let text = std::fs::read_to_string(log(store)).unwrap_or_default();
    let (mut started, mut stored) = (BTreeSet::new(), 0);
    // The last line may not be whole while the victim lives.
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["start", hash, replication] => assert!(started.insert((hash.to_owned(), replication.parse().unwrap()))),
            ["stored", count] => stored = count.parse().unwrap(),
            _ => panic!("{line}"),
        }
    }
    (started, stored)
}

/// Another one every time, unless a seed is given.
fn generator() -> Xoshiro256PlusPlus {
    let seed = std::env::var(SEED).map_or_else(|_| RandomState::new().hash_one(0), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn table(points: &[Point], runs: &[PointRuns]) -> String {
    csv(&summarise(points, runs, 0.95, Some("algorithm")))
}

/// SIGKILL at 20 random moments, from the making of the store to the last replications.
#[test]
fn a_killed_sweep_loses_only_what_was_in_flight() {
    let mut random = generator();
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.db");
    let whole = sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        JOBS,
        &mut Store::open(&alone).unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    let reference = rows(&alone);
    let total = reference.len();

    let store = directory.path().join("results.db");
    let mut before = Rows::new();
    let mut lives = Vec::new();
    while lives.len() < 20 {
        // Eight are to end while the store is made or hardly used, each with a new one; the others anywhere in what is left.
        let left = (total - before.len()) / (21 - lives.len());
        let end = if lives.len() < 8 { 0 } else { before.len() + random.random_range(1..=2 * left.max(1)) };
        if end == 0 || before.len() == total {
            for ending in ["db", "db-wal", "db-shm", "db-journal"] {
                let _ = std::fs::remove_file(store.with_extension(ending));
            }
            before.clear();
        }
        let _ = std::fs::remove_file(log(&store));
        let mut victim = start(&store);
        let reached = || match end {
            0 => store.exists(),
            _ => before.len() + noted(&store).1 >= end,
        };
        let since = Instant::now();
        while !reached() && victim.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < Duration::from_secs(60), "the victim is stuck");
            std::thread::yield_now();
        }
        let delay = random.random_range(0..if end == 0 { 20_000 } else { 2000 });
        std::thread::sleep(Duration::from_micros(delay));
        victim.kill().unwrap();
        let killed = victim.wait().unwrap().code().is_none();

        let after = rows(&store);
        let (started, stored) = noted(&store);
        for (key, result) in &after {
            assert_eq!(reference.get(key), Some(result), "a result is not that of a sweep that was left alone");
            assert!(before.contains_key(key) || started.contains(key), "a result from nowhere");
        }
        assert!(before.keys().all(|key| after.contains_key(key)), "a result of an earlier life is gone");
        assert!(started.iter().all(|key| !before.contains_key(key)), "a result was computed again");
        assert!(after.len() - before.len() >= stored, "a result that was called stored is gone");
        let lost = started.iter().filter(|key| !after.contains_key(key)).count();
        assert!(lost <= JOBS.get(), "{lost} replications are lost");
        before = after;
        // On a busy machine one may be done before it is killed; it does not count.
        if killed {
            lives.push((before.len(), lost));
        } else {
            assert_eq!(before.len(), total);
        }
    }
    println!("of {total} results, stored and lost: {lives:?}");

    let computed = Mutex::new(BTreeSet::new());
    let note = |point: &Point, replication| {
        assert!(computed.lock().unwrap().insert((point.spec.config_hash(), replication)));
        synthetic::run(point, replication)
    };
    let resumed = sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        JOBS,
        &mut Store::open(&store).unwrap(),
        &mut (),
        note,
    )
    .unwrap();
    let computed = computed.into_inner().unwrap();
    assert!(computed.iter().all(|key| !before.contains_key(key)) && computed.len() + before.len() == total);
    assert_eq!(table(&points, &resumed), table(&points, &whole));
    assert!(rows(&store) == reference);
}

/// Three processes make one store and fill it at the same time; one of them is killed.
#[test]
fn several_processes_share_a_store() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("alone.db");
    sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        JOBS,
        &mut Store::open(&alone).unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    let store = directory.path().join("results.db");
    let mut processes = [(); 3].map(|()| start(&store));
    std::thread::sleep(Duration::from_millis(generator().random_range(0..100)));
    processes[0].kill().unwrap();
    for (number, mut process) in processes.into_iter().enumerate() {
        assert!(process.wait().unwrap().success() || number == 0);
    }
    assert!(rows(&store) == rows(&alone));
}
