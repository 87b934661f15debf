//! A sweep that is killed and resumed.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use wormcast_lab::{Point, Store, csv, summarise, sweep};

use crate::synthetic;

const STORE: &str = "WORMCAST_TEST_STORE";
const JOBS: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// Not a test: the process that is killed, this executable again.
#[test]
#[ignore = "the victim of the test below"]
fn victim() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let mut store = Store::open(Path::new(&path)).unwrap();
    let slow = |point: &Point, replication| {
        std::thread::sleep(Duration::from_millis(4));
        synthetic::run(point, replication)
    };
    sweep(&points, experiment.stop(), JOBS, &mut store, &mut (), slow).unwrap();
}

/// Kills the victim as soon as the store has so many results.
fn kill_at(path: &Path, results: usize, points: &[Point]) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "interruption::victim", "--ignored"])
        .env(STORE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while stored(path, points).len() < results {
        assert!(
            start.elapsed() < Duration::from_secs(60) && victim.try_wait().unwrap().is_none(),
            "the victim is stuck"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    // SIGKILL.
    victim.kill().unwrap();
    victim.wait().unwrap();
}

fn stored(path: &Path, points: &[Point]) -> BTreeSet<(usize, u32)> {
    // While the victim makes the file it may not be a store yet.
    let Ok(store) = Store::open(path) else { return BTreeSet::new() };
    let of = |point: &Point| store.load(&point.spec.config_hash()).map(|runs| runs.into_keys().collect::<Vec<_>>());
    let all = points.iter().map(|point| (point.index, of(point).unwrap_or_default()));
    all.flat_map(|(index, replications)| replications.into_iter().map(move |replication| (index, replication)))
        .collect()
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    for results in [20, 120] {
        kill_at(&path, results, &points);
    }
    let before = stored(&path, &points);
    assert!(before.len() >= 120);

    let computed = Mutex::new(BTreeSet::new());
    let note = |point: &Point, replication| {
        assert!(computed.lock().unwrap().insert((point.index, replication)));
        synthetic::run(point, replication)
    };
    let mut store = Store::open(&path).unwrap();
    let resumed = sweep(&points, experiment.stop(), JOBS, &mut store, &mut (), note).unwrap();
    let computed = computed.into_inner().unwrap();
    assert!(!computed.is_empty() && computed.is_disjoint(&before));

    let whole =
        sweep(&points, experiment.stop(), JOBS, &mut Store::in_memory().unwrap(), &mut (), synthetic::run).unwrap();
    let table = |runs| csv(&summarise(&points, runs, 0.95, Some("algorithm")));
    assert_eq!(table(&resumed), table(&whole));
}
