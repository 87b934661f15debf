//! The whole way with a real engine.

use std::num::NonZeroUsize;

use wormcast_lab::{
    Experiment, Outcome, Override, RunError, Store, csv, plot, replication_seed, run_point, run_sweep, stored_sweep,
};
use wormcast_simulation::simulate;

const TEXT: &str = r#"
topology = "mesh:4x4"
seed = 5
traffic.arrivals = { process = "poisson", rate = 0.02 }
traffic.multicast.destinations = 4
run = { messages = 100, warmup = 2000 }
stop = { min_replications = 3, max_replications = 6 }
[sweep]
algorithm = ["dual-path", "column-path"]
traffic.arrivals.rate = [0.01, 0.05, 10]
"#;

fn jobs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

#[test]
fn sweeps_are_reproducible_and_stored() {
    let experiment = Experiment::parse("x.toml", TEXT, &[]).unwrap();
    let mut store = Store::in_memory().unwrap();
    let summaries = run_sweep(&experiment, jobs(2), &mut store, false, &mut ()).unwrap().summaries;
    assert_eq!(summaries.len(), 6);
    // Ten messages a microsecond from every node are more than a mesh of this kind can take.
    assert!(summaries[2].outcome == Outcome::Saturated && summaries[2].latency().is_none());
    assert!(summaries[0].latency().is_some() && summaries[3].difference.is_some());
    let table = csv(&summaries);
    assert_eq!(csv(&stored_sweep(&experiment, &store).unwrap().summaries), table);
    assert_eq!(csv(&run_sweep(&experiment, jobs(1), &mut store, true, &mut ()).unwrap().summaries), table);
    plot(&experiment.figure().unwrap(), &summaries).unwrap();

    // A stored replication is the run of its seed.
    let points = experiment.points().unwrap();
    let job = experiment.job(&points[1]).unwrap();
    let scenario = job.scenario().unwrap();
    let stored = store.load(&points[1].spec.config_hash()).unwrap();
    assert_eq!(
        Some(&simulate(scenario, points[1].spec.engine, replication_seed(5, 2)).unwrap()),
        stored[&2].simulated()
    );
}

#[test]
fn single_runs_have_the_seed_of_the_experiment() {
    let set = |text: &str| Override::set(text).unwrap();
    let experiment = Experiment::parse("x.toml", TEXT, &[set("algorithm=dual-path")]).unwrap();
    let (point, result) = run_point(&experiment).unwrap();
    assert_eq!((point.spec.seed, result.simulated().unwrap().seed), (5, 5));

    let experiment = Experiment::parse("x.toml", TEXT, &[]).unwrap();
    assert!(matches!(run_point(&experiment), Err(RunError::Input(_))));
    // Settings that only the scenario can judge are pointed at as well.
    for (argument, message) in [
        ("switching.buffer=0", "--set switching.buffer=0: `switching.buffer`: 0 is out of range"),
        (
            "traffic.multicast.destinations=99",
            "--set traffic.multicast.destinations=99: `traffic.multicast.destinations`: ",
        ),
    ] {
        let experiment = Experiment::parse("x.toml", TEXT, &[set("algorithm=dual-path"), set(argument)]).unwrap();
        let error = run_point(&experiment).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let text = TEXT.replace("[0.01, 0.05, 10]", "[0.01, -1]");
    let experiment = Experiment::parse("x.toml", &text, &[]).unwrap();
    let error = run_sweep(&experiment, jobs(1), &mut Store::in_memory().unwrap(), false, &mut ()).unwrap_err();
    assert!(error.to_string().starts_with("x.toml:10:32: `traffic.arrivals.rate`: "), "{error}");
}
