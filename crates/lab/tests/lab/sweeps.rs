//! Scheduling, stopping and determinism.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use wormcast_lab::{
    Batch, BatchResult, Budget, Experiment, Outcome, Override, Point, PointRuns, Replication, Status, Stop, Store,
    SweepError, SweepObserver, Workers, WorkersError, csv, stored, summarise, sweep, sweep_with,
};
use wormcast_simulation::SimulationError;

use crate::synthetic;

const SERIES: Option<&str> = Some("algorithm");

fn jobs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn table(experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> String {
    csv(&summarise(points, runs, experiment.stop().confidence, SERIES))
}

#[test]
fn results_are_the_same_bytes_on_any_number_of_threads() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let reference = sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        jobs(1),
        &mut Store::in_memory().unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    let outcomes: BTreeSet<&str> = reference.iter().map(|runs| runs.outcome.name()).collect();
    assert_eq!(outcomes.into_iter().collect::<Vec<_>>(), ["exhausted", "precise", "saturated"]);
    for count in [2, 3, 8, 100] {
        // Replications end in any order.
        let run = |point: &Point, replication| {
            let jitter = (point.index as u64 * 31 + u64::from(replication) * 17) % 7;
            std::thread::sleep(Duration::from_micros(jitter * 60));
            synthetic::run(point, replication)
        };
        let runs = sweep(
            &mut Budget::default(),
            &points,
            experiment.stop(),
            jobs(count),
            &mut Store::in_memory().unwrap(),
            &mut (),
            run,
        )
        .unwrap();
        assert_eq!(table(&experiment, &points, &runs), table(&experiment, &points, &reference), "{count} threads");
        assert_eq!(runs, reference);
    }
}

/// Workers that finish batches in another order than they got them, and of whom there are now more, now fewer.
struct Scattered {
    under_way: Vec<Batch>,
    steps: usize,
    sizes: BTreeSet<usize>,
}

impl Workers<SimulationError> for Scattered {
    fn capacity(&mut self) -> usize {
        self.steps += 1;
        1 + self.steps * 7 % 5
    }

    fn most(&self) -> u32 {
        1 + (self.steps % 4) as u32
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        self.sizes.insert(batch.replications.len());
        self.under_way.push(batch);
        Ok(())
    }

    fn finished(&mut self) -> Result<BatchResult<SimulationError>, WorkersError> {
        let place = self.steps * 13 % self.under_way.len();
        let batch = self.under_way.swap_remove(place);
        let results = batch.numbers().map(|number| synthetic::run(&batch.point, number)).collect::<Result<_, _>>();
        Ok(BatchResult { batch, took: Duration::ZERO, replications: results.unwrap(), failure: None })
    }
}

#[test]
fn results_are_the_same_bytes_by_any_workers() {
    let experiment = synthetic::experiment();
    let (points, stop) = (experiment.points().unwrap(), experiment.stop());
    let reference = sweep(
        &mut Budget::default(),
        &points,
        stop,
        jobs(1),
        &mut Store::in_memory().unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    for seed in 0..20 {
        let mut workers = Scattered { under_way: Vec::new(), steps: seed, sizes: BTreeSet::new() };
        let mut store = Store::in_memory().unwrap();
        let runs = sweep_with(&mut Budget::default(), &points, stop, &mut workers, &mut store, &mut ()).unwrap();
        assert_eq!(runs, reference, "{seed}");
        assert!(workers.sizes.len() > 2 && workers.under_way.is_empty(), "{:?}", workers.sizes);
        assert_eq!(stored(&points, stop, &store).unwrap(), reference);
    }
}

/// Workers that give fewer results than were asked for, or none at all.
struct Bad(Option<Batch>, bool);

impl Workers<SimulationError> for Bad {
    fn capacity(&mut self) -> usize {
        1
    }

    fn most(&self) -> u32 {
        3
    }

    fn start(&mut self, batch: Batch) -> Result<(), WorkersError> {
        self.0 = Some(batch);
        Ok(())
    }

    fn finished(&mut self) -> Result<BatchResult<SimulationError>, WorkersError> {
        let batch = self.0.take().filter(|_| self.1).ok_or_else(|| WorkersError("all workers are gone".to_owned()))?;
        let replications = vec![synthetic::run(&batch.point, batch.numbers().start).unwrap()];
        Ok(BatchResult { batch, took: Duration::ZERO, replications, failure: None })
    }
}

#[test]
fn workers_that_are_gone_or_give_too_little_end_the_sweep() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    for (gives, expected) in [(true, "a worker gave 1 of 3 results"), (false, "all workers are gone")] {
        let mut store = Store::in_memory().unwrap();
        let mut workers = Bad(None, gives);
        let ended = sweep_with(&mut Budget::default(), &points, experiment.stop(), &mut workers, &mut store, &mut ());
        assert_eq!(ended.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_finished_sweep_is_answered_from_the_store() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let mut store = Store::in_memory().unwrap();
    let first = sweep(&mut Budget::default(), &points, experiment.stop(), jobs(2), &mut store, &mut (), synthetic::run)
        .unwrap();
    let none = |_: &Point, _: u32| -> Result<Replication, SimulationError> { panic!("everything is stored") };
    assert_eq!(
        sweep(&mut Budget::default(), &points, experiment.stop(), jobs(2), &mut store, &mut (), none).unwrap(),
        first
    );
    assert_eq!(stored(&points, experiment.stop(), &store).unwrap(), first);

    // A laxer rule uses less of what is there, as if the rest were not.
    let lax = Stop { relative_half_width: 0.5, ..experiment.stop().clone() };
    let used = sweep(&mut Budget::default(), &points, &lax, jobs(2), &mut store, &mut (), none).unwrap();
    let alone = sweep(
        &mut Budget::default(),
        &points,
        &lax,
        jobs(2),
        &mut Store::in_memory().unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    assert_eq!(used, alone);
    assert!(used.iter().all(|runs| runs.runs.len() == 5));

    // A forgotten point is incomplete, and a sweep computes it alone.
    store.forget([points[3].spec.config_hash().as_str()]).unwrap();
    assert_eq!(stored(&points, experiment.stop(), &store).unwrap()[3].outcome, Outcome::Incomplete);
    let computed = Mutex::new(BTreeSet::new());
    let note = |point: &Point, replication| {
        computed.lock().unwrap().insert(point.index);
        synthetic::run(point, replication)
    };
    assert_eq!(
        sweep(&mut Budget::default(), &points, experiment.stop(), jobs(2), &mut store, &mut (), note).unwrap(),
        first
    );
    assert_eq!(computed.into_inner().unwrap().into_iter().collect::<Vec<_>>(), [3]);
}

#[test]
fn no_replication_is_computed_in_vain() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let computed = AtomicU32::new(0);
    let count = |point: &Point, replication| {
        computed.fetch_add(1, Ordering::Relaxed);
        synthetic::run(point, replication)
    };
    let runs = sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        jobs(8),
        &mut Store::in_memory().unwrap(),
        &mut (),
        count,
    )
    .unwrap();
    assert_eq!(computed.into_inner() as usize, runs.iter().map(|runs| runs.runs.len()).sum::<usize>());
    // Saturated points stop at the least number of replications.
    assert!(runs.iter().filter(|runs| runs.outcome == Outcome::Saturated).all(|runs| runs.runs.len() == 5));
}

#[test]
fn a_deadlock_ends_its_point_alone() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let run = |point: &Point, replication| match (point.index, replication) {
        (2, 3 | 4) => Ok(synthetic::deadlocked(point, replication).into()),
        (2, _) => {
            std::thread::sleep(Duration::from_millis(2));
            synthetic::run(point, replication)
        }
        _ => synthetic::run(point, replication),
    };
    for count in [1, 4] {
        let runs = sweep(
            &mut Budget::default(),
            &points,
            experiment.stop(),
            jobs(count),
            &mut Store::in_memory().unwrap(),
            &mut (),
            run,
        )
        .unwrap();
        assert_eq!((runs[2].outcome, runs[2].runs.len()), (Outcome::Deadlocked, 4));
        assert!(runs.iter().enumerate().all(|(index, runs)| index == 2 || runs.outcome != Outcome::Deadlocked));
        let summaries = summarise(&points, &runs, 0.95, SERIES);
        assert_eq!(
            summaries[2].deadlock.as_ref().map(|(replication, deadlock)| (*replication, deadlock.at)),
            Some((3, 1234))
        );
        assert!(summaries[2].latency().is_none() && summaries[2].load().is_none());
        // Nothing is compared with a deadlock, and it with nothing.
        assert!(summaries[14].difference.is_none() && summaries[13].difference.is_some());
    }
}

#[test]
fn the_first_failure_is_reported_and_what_was_there_is_kept() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let mut store = Store::in_memory().unwrap();
    let run = |point: &Point, replication| {
        if (point.index, replication) == (1, 2) {
            return Err(SimulationError::Engine { engine: "worm", reason: "it is too hard".to_owned() });
        }
        let Ok(result) = synthetic::run(point, replication);
        Ok(result)
    };
    let error =
        sweep(&mut Budget::default(), &points, experiment.stop(), jobs(3), &mut store, &mut (), run).unwrap_err();
    assert_eq!(
        error.to_string(),
        "replication 2 of point 2 (algorithm=pure-negative-first traffic.arrivals.rate=0.002) failed: the worm engine is not exact here: it is too hard; use `flit` or `auto`"
    );
    assert!(store.load(&points[1].spec.config_hash()).unwrap().contains_key(&1));

    let run = |_: &Point, _: u32| -> Result<Replication, SimulationError> { panic!("oh {}", "no") };
    let error =
        sweep(&mut Budget::default(), &points[4..5], experiment.stop(), jobs(3), &mut store, &mut (), run).unwrap_err();
    assert!(
        matches!(error, SweepError::Panic { replication: 0..=2, ref message, .. } if message == "oh no"),
        "{error}"
    );
}

#[derive(Default)]
struct Log(Vec<(usize, u64, u64, u64)>);

impl SweepObserver for Log {
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        assert!(status.replications <= status.replications_expected);
        assert_eq!(self.0.is_empty(), status.point.is_none());
        self.0.push((status.points_done, status.replications, status.replications_expected, status.computed));
        ControlFlow::Continue(())
    }
}

/// Stops a sweep when so many points are done.
struct Until(usize);

impl SweepObserver for Until {
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        if status.points_done < self.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn an_observer_stops_a_sweep_and_the_next_one_goes_on() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let whole = |store: &mut Store, observer: &mut dyn SweepObserver, threads| {
        let mut budget = Budget::default();
        sweep(&mut budget, &points, experiment.stop(), jobs(threads), store, observer, synthetic::run).unwrap()
    };
    let reference = table(&experiment, &points, &whole(&mut Store::in_memory().unwrap(), &mut (), 1));
    for threads in [1, 3] {
        let mut store = Store::in_memory().unwrap();
        assert!(whole(&mut store, &mut Until(0), threads).iter().all(|runs| runs.runs.is_empty()), "none was begun");
        let runs = whole(&mut store, &mut Until(3), threads);
        let done = runs.iter().filter(|runs| runs.outcome != Outcome::Incomplete).count();
        assert!((3..points.len()).contains(&done), "{done} points");
        let mut log = Log::default();
        assert_eq!(table(&experiment, &points, &whole(&mut store, &mut log, threads)), reference);
        assert_eq!(log.0[0].0, done, "what was computed is there");
    }
}

#[test]
fn observers_see_every_replication() {
    let experiment = synthetic::experiment();
    let points = experiment.points().unwrap();
    let mut store = Store::in_memory().unwrap();
    let mut log = Log::default();
    let runs = sweep(&mut Budget::default(), &points, experiment.stop(), jobs(2), &mut store, &mut log, synthetic::run)
        .unwrap();
    let total: u64 = runs.iter().map(|runs| runs.runs.len() as u64).sum();
    assert_eq!(log.0.first(), Some(&(0, 0, 48 * 5, 0)));
    assert_eq!(log.0.last(), Some(&(48, total, total, total)));
    assert_eq!(log.0.len() as u64, total + 1);
    let mut again = Log::default();
    sweep(&mut Budget::default(), &points, experiment.stop(), jobs(2), &mut store, &mut again, synthetic::run).unwrap();
    assert_eq!(again.0, [(48, total, total, 0)]);
}

#[test]
fn tables_have_a_line_a_point_and_paired_differences() {
    let set = Override::set("sweep.\"traffic.arrivals.rate\"=[0.002, 0.008]").unwrap();
    let experiment = Experiment::parse("x.toml", synthetic::SWEEP, &[set]).unwrap();
    let points = experiment.points().unwrap();
    let runs = sweep(
        &mut Budget::default(),
        &points,
        experiment.stop(),
        jobs(2),
        &mut Store::in_memory().unwrap(),
        &mut (),
        synthetic::run,
    )
    .unwrap();
    let summaries = summarise(&points, &runs, 0.95, SERIES);
    let text = csv(&summaries);
    let mut reader = csv_rows(&text);
    let header = reader.remove(0);
    assert_eq!(header[..4], ["algorithm", "traffic.arrivals.rate", "outcome", "replications"]);
    assert_eq!(reader.len(), 8);
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let cell = |row: usize, name: &str| reader[row][column(name)].as_str();
    assert_eq!((cell(0, "algorithm"), cell(0, "traffic.arrivals.rate")), ("pure-negative-first", "0.002"));
    // The first series is what the others are compared with.
    assert_eq!((cell(0, "difference_cycles"), cell(1, "difference_cycles")), ("", ""));
    // dual-path is saturated at the second rate: no mean, no difference, but a load.
    assert_eq!((cell(5, "saturated"), cell(5, "latency_last_cycles"), cell(5, "difference_cycles")), ("true", "", ""));
    assert_eq!(cell(5, "accepted_load"), (0.0065f64 * 0.2).to_string());
    assert_eq!(cell(5, "config_hash"), points[5].spec.config_hash());
    // Common random numbers: the difference is known better than either mean.
    let minimal = &summaries[3];
    let difference = minimal.difference.unwrap();
    let last = minimal.latency().unwrap().last;
    assert!(difference.half_width.unwrap() < last.half_width.unwrap() / 2.0, "{difference:?} {last:?}");
    let ns: f64 = cell(3, "latency_last_ns").parse().unwrap();
    assert!((ns - last.mean * 5.0).abs() < 1e-6);
}

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}
