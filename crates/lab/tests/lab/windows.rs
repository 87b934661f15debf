//! Windows that grow, saturation by counts, and loads that are added where they decide, with real runs.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use wormcast_lab::{
    ComparedPoint, Experiment, Findings, Lengthened, Onset, Outcome, Override, PointRuns, Runner, State, Status, Stop,
    StoppableThreads, Store, SweepObserver, compare_series, csv, refine_sweep, replication_seed, run_sweep,
    run_sweep_with, stored_sweep,
};

/// A small mesh, which carries about half a message a node and microsecond.
const MESH: &str = "
topology = 'mesh:4x4'
algorithm = 'dual-path'
timing.startup = 100
traffic.length = 24
traffic.multicast.destinations = 4
traffic.arrivals.process = 'poisson'
run.messages = 200
stop = { min_replications = 5, max_replications = 40, relative_half_width = 0.2 }
plot.unit = 'cycles'
";

fn jobs() -> NonZeroUsize {
    NonZeroUsize::new(2).unwrap()
}

fn experiment(more: &str) -> Experiment {
    Experiment::parse("mesh.toml", &format!("{MESH}{more}\n"), &[]).unwrap()
}

fn swept(experiment: &Experiment, store: &mut Store) -> Findings {
    run_sweep(experiment, jobs(), store, false, &mut ()).unwrap()
}

/// Each length of window has replications of its own, which are told by their seeds.
fn has_replications_from(first: u32, of_point: &PointRuns) -> bool {
    let seeds = of_point.runs.iter().map(|run| run.simulated().unwrap().seed);
    seeds.eq((first..).map(|replication| replication_seed(0, replication)).take(of_point.runs.len()))
}

#[test]
fn windows_grow_where_latencies_are_correlated_and_nowhere_else() {
    let experiment = experiment("[sweep]\ntraffic.arrivals.rate = [0.02, 0.47]");
    let mut store = Store::in_memory().unwrap();
    let findings = swept(&experiment, &mut store);
    let [light, heavy] = &findings.summaries[..] else { panic!("two points") };
    assert_eq!((light.window, light.trend, light.needed), (200, false, None));
    // 40 replications of 200 messages are as many as 5 of 1,600.
    assert_eq!((heavy.window, heavy.replications >= 5), (1600, true), "{heavy:?}");
    assert_eq!((heavy.outcome, heavy.trend), (Outcome::Unsettled, true));
    assert!(heavy.needed.unwrap() > 1600 && heavy.latency().is_some(), "{heavy:?}");
    assert!(findings.runs[1].runs.iter().all(|run| run.simulated().unwrap().messages.measured == 1600));
    assert_eq!(findings.runs[0].lengthened, None);
    assert_eq!(findings.runs[1].lengthened, Some(Lengthened { messages: 1600, doubled: 3 }));
    assert!(has_replications_from(0, &findings.runs[0]) && has_replications_from(3 << 20, &findings.runs[1]));
    // What the store has says the same, and with `fresh` all of it is made again.
    assert_eq!(stored_sweep(&experiment, &store).unwrap().summaries, findings.summaries);
    let again = run_sweep(&experiment, jobs(), &mut store, true, &mut ()).unwrap();
    assert_eq!(again.summaries, findings.summaries);
    // Without room for it, the window stays, and so does the reservation.
    let fixed = Override::set("stop={ min_replications = 10, max_replications = 10 }").unwrap();
    let text = format!("{MESH}[sweep]\ntraffic.arrivals.rate = [0.47]\n");
    let fixed = swept(&Experiment::parse("mesh.toml", &text, &[fixed]).unwrap(), &mut store);
    assert_eq!((fixed.summaries[0].window, fixed.summaries[0].outcome), (200, Outcome::Unsettled));
}

#[test]
fn replications_that_even_series_have_the_windows_and_numbers_of_their_point() {
    let text = "[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.arrivals.rate = [0.42]";
    let stop = Override::set("stop={ min_replications = 5, max_replications = 320, relative_half_width = 0.02 }");
    let experiment = Experiment::parse("mesh.toml", &format!("{MESH}{text}\n"), &[stop.unwrap()]).unwrap();
    let mut store = Store::in_memory().unwrap();
    let alone = swept(&experiment, &mut store);
    compare_series(&experiment, &[], None, None, jobs(), &mut store, &mut ()).unwrap();
    let most = alone.runs.iter().map(|of_point| of_point.runs.len()).max().unwrap();
    let mut evened = 0;
    for (index, of_point) in alone.runs.iter().enumerate() {
        let Some(Lengthened { messages, doubled }) = of_point.lengthened else { continue };
        let window = Override::set(&format!("run.messages={messages}")).unwrap();
        let lengthened = Experiment::parse("mesh.toml", &format!("{MESH}{text}\n"), &[window]).unwrap();
        let stored = store.load(&lengthened.points().unwrap()[index].spec.config_hash()).unwrap();
        assert!(stored.len() >= most && *stored.keys().next().unwrap() == doubled << 20, "{:?}", stored.keys());
        for (replication, (&number, run)) in (0u32..).zip(&stored) {
            let run = run.simulated().unwrap();
            assert_eq!((number, run.seed), ((doubled << 20) + replication, replication_seed(0, number)));
            assert_eq!(run.messages.measured, messages);
        }
        evened += stored.len() - of_point.runs.len();
    }
    assert!(evened > 0, "one series has more replications than the other");
}

#[test]
fn a_load_of_twice_the_capacity_is_saturated_however_short_the_window() {
    for messages in [100, 400, 3000] {
        let run = |rate: f64| {
            let set = |given: String| Override::set(&given).unwrap();
            let overrides = [set(format!("traffic.arrivals.rate={rate}")), set(format!("run.messages={messages}"))];
            wormcast_lab::run_point(&Experiment::parse("mesh.toml", MESH, &overrides).unwrap())
                .unwrap()
                .1
                .simulated()
                .unwrap()
                .clone()
        };
        let result = run(1.1);
        assert!(result.saturated, "{messages}: {:?}", result.window);
        let result = run(0.1);
        assert!(!result.saturated && result.trend.is_some(), "{messages}: {:?}", result.window);
    }
}

/// Says once that it is to stop, after so many replications.
struct After(u64);

impl SweepObserver for After {
    fn update(&mut self, _: &Status<'_>) -> ControlFlow<()> {
        let stops = self.0 == 0;
        self.0 = self.0.wrapping_sub(1);
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Halves of whole numbers are rounded once: a point is called what it runs.
#[test]
fn refinement_of_whole_numbers_runs_what_it_says() {
    let text = "traffic.arrivals.rate = 0.3\n[sweep]\nalgorithm = ['dual-path', 'separate']\ntraffic.multicast.destinations = [1, 4, 15]";
    let stop = Override::set("stop={ min_replications = 2, max_replications = 2 }").unwrap();
    let text = format!("{MESH}{text}\n").replace("destinations = 4", "destinations = 3");
    let experiment = Experiment::parse("mesh.toml", &text, &[stop]).unwrap();
    let refined = refine_sweep(&experiment, 200, jobs(), &mut Store::in_memory().unwrap(), &mut ()).unwrap();
    let points = refined.experiment.points().unwrap();
    let mut values = BTreeSet::new();
    for point in &points {
        let called = point.coordinates.iter().find(|one| one.key == "traffic.multicast.destinations").unwrap();
        let spec = serde_json::to_value(&point.spec).unwrap();
        assert_eq!(spec["traffic"]["multicast"]["destinations"], called.value);
        values.insert(called.value.as_u64().unwrap());
    }
    assert!(values.len() > 3, "something was added: {values:?}");
    let descriptions: BTreeSet<String> = points.iter().map(|point| point.spec.config_hash()).collect();
    assert_eq!(descriptions.len(), points.len(), "no point stands twice");
}

#[test]
fn refinement_finds_where_a_series_becomes_saturated_within_its_budget() {
    let experiment = experiment("[sweep]\ntraffic.arrivals.rate = [0.1, 0.9]");
    let mut store = Store::in_memory().unwrap();
    let refined = refine_sweep(&experiment, 2000, jobs(), &mut store, &mut ()).unwrap();
    assert!(refined.refinement.done && refined.refinement.spent <= 2000, "{:?}", refined.refinement);
    let saturated = |outcome: Outcome| outcome == Outcome::Saturated;
    let loads: Vec<(f64, bool)> = refined
        .findings
        .summaries
        .iter()
        .map(|point| (point.coordinates[0].value.as_f64().unwrap(), saturated(point.outcome)))
        .collect();
    assert!(loads.is_sorted_by(|a, b| a.0 < b.0), "{loads:?}");
    let first = loads.iter().position(|&(_, saturated)| saturated).unwrap();
    let (below, above) = (loads[first - 1].0, loads[first].0);
    assert!((above - below) / above <= 0.02 && (0.4..0.7).contains(&above), "{loads:?}");
    let is_settled = |outcome: Outcome| matches!(outcome, Outcome::Precise | Outcome::Exhausted);
    let settled =
        refined.findings.summaries.iter().zip(&loads).take_while(|(point, _)| is_settled(point.outcome)).last();
    let settled = settled.map(|(_, &(load, _))| load);
    assert!(settled.is_some_and(|settled| settled <= below), "{loads:?}");
    assert_eq!(refined.onsets, [Onset { of: String::new(), ends: false, settled, from: below, to: above }]);

    let mut store = Store::in_memory().unwrap();
    let short = refine_sweep(&experiment, 7, jobs(), &mut store, &mut ()).unwrap();
    assert!(!short.refinement.done && short.refinement.spent <= 7, "{:?}", short.refinement);
    assert!(short.refinement.unfinished.is_some(), "a value takes ten");
    // Who stops it has not spent what was left, even if the first sweep was the one that was stopped.
    for count in [0, 20] {
        let mut store = Store::in_memory().unwrap();
        let stopped = refine_sweep(&experiment, 2000, jobs(), &mut store, &mut After(count)).unwrap().refinement;
        assert!(!stopped.done && stopped.spent < 100 && stopped.unfinished.is_none(), "{stopped:?}");
    }
    assert_eq!(short.findings.summaries.len(), 3.min(short.findings.summaries.len()));
    assert!(short.findings.summaries.iter().all(|point| point.outcome != Outcome::Incomplete));
}

#[test]
fn a_comparison_decides_within_its_budget() {
    let text = "[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.arrivals.rate = [0.05, 0.25]";
    let experiment = experiment(text);
    let compared = |budget| {
        let mut store = Store::in_memory().unwrap();
        compare_series(&experiment, &[], None, budget, jobs(), &mut store, &mut ()).unwrap().comparison
    };
    let before = compared(None);
    assert_eq!(before.decision, None);
    let after = compared(Some(3000));
    let decision = after.decision.unwrap();
    assert!(decision.spent <= 3000);
    assert_eq!(decision.done, decision.needed.is_none(), "{decision:?}");
    if decision.done {
        let own = || after.points.iter().filter(|point| !point.added);
        assert_eq!(own().count(), before.points.len());
        assert!(own().all(|point| point.best.is_some() || point.contenders.len() < 2));
        assert!(after.crossings.iter().all(|crossing| crossing.to - crossing.from <= 0.02 * crossing.to));
    }
    let open = |comparison: &wormcast_lab::SeriesComparison| {
        comparison.points.iter().filter(|point| point.best.is_none()).count()
    };
    assert!(open(&after) <= open(&before) || after.points.len() > before.points.len());
    // The stopping rule of the experiment is that of the points that are added.
    assert_eq!(
        experiment.stop(),
        &Stop { min_replications: 5, max_replications: Some(40), relative_half_width: 0.2, ..Stop::default() }
    );
}

/// Loads are added next to what is certain. Between loads at which the order is open, no more are added: replications decide there.
#[test]
fn a_larger_budget_decides_more_of_a_crossing() {
    let text = "[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.arrivals.rate = [0.1, 0.5]";
    let startup = [Override::set("timing.startup=20").unwrap()];
    let experiment = Experiment::parse("mesh.toml", &format!("{MESH}{text}\n"), &startup).unwrap();
    let mut store = Store::in_memory().unwrap();
    let mut last = 1.0;
    for budget in [100, 300, 1000] {
        let compared = compare_series(&experiment, &[], None, Some(budget), jobs(), &mut store, &mut ()).unwrap();
        let (crossings, points) = (&compared.comparison.crossings, &compared.comparison.points);
        let mut xs: Vec<f64> = points.iter().map(|point| point.at.parse().unwrap()).collect();
        xs.sort_by(f64::total_cmp);
        assert!(xs.len() <= 24 && xs.windows(2).all(|pair| pair[1] - pair[0] >= 0.004 * pair[1]), "{xs:?}");
        let width = (crossings[0].to - crossings[0].from) / crossings[0].to;
        assert!(width <= last, "{budget}: {width} after {last:?}");
        last = width;
        let decision = compared.comparison.decision.unwrap();
        assert_eq!(decision.done, width <= 0.02, "{budget}: {decision:?}");
    }
    assert!(last <= 0.05, "{last}");
}

#[test]
fn no_value_fits_between_whole_numbers() {
    let text = "[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.multicast.destinations = [4, 6]";
    let set = ["timing.startup=20", "traffic.arrivals.rate=0.34", "plot.x='traffic.multicast.destinations'"];
    let set = set.map(|given| Override::set(given).unwrap());
    let mesh = MESH.replace("traffic.multicast.destinations = 4\n", "");
    let experiment = Experiment::parse("mesh.toml", &format!("{mesh}{text}\n"), &set).unwrap();
    let mut store = Store::in_memory().unwrap();
    let compared = compare_series(&experiment, &[], None, Some(400), jobs(), &mut store, &mut ()).unwrap();
    let crossing = &compared.comparison.crossings[0];
    assert_eq!((crossing.from, crossing.to), (4.0, 5.0));
    let decision = compared.comparison.decision.unwrap();
    assert!(decision.stuck && !decision.done && decision.needed.is_none(), "{decision:?}");
    assert!(decision.spent < 400 && compared.comparison.points[1].added, "{decision:?}");
}

#[test]
fn a_few_pairs_that_happen_to_agree_do_not_end_a_decision() {
    // Of three pairs the mean difference is close to 0 now and then, and would ask for millions of them.
    let text = "[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.arrivals.rate = [0.25]";
    for seed in 0..12 {
        let set = |given: &str| Override::set(given).unwrap();
        let overrides = [
            set(&format!("seed={seed}")),
            set("stop={ min_replications = 3, max_replications = 3, relative_half_width = 0.5 }"),
        ];
        let experiment = Experiment::parse("mesh.toml", &format!("{MESH}{text}\n"), &overrides).unwrap();
        let mut store = Store::in_memory().unwrap();
        let compared = compare_series(&experiment, &[], None, Some(600), jobs(), &mut store, &mut ()).unwrap();
        let decision = compared.comparison.decision.unwrap();
        assert!(decision.done || decision.spent > 150, "seed {seed}: {decision:?}");
        assert!(decision.spent <= 600);
    }
}

#[test]
fn a_comparison_says_which_means_depend_on_the_window() {
    let experiment =
        experiment("[sweep]\nalgorithm = ['dual-path', 'column-path']\ntraffic.arrivals.rate = [0.02, 0.47]");
    let mut store = Store::in_memory().unwrap();
    let compared = compare_series(&experiment, &[], None, None, jobs(), &mut store, &mut ()).unwrap().comparison;
    let state = |point: usize, series: &str| {
        let standing = compared.points[point].standings.iter().find(|standing| standing.series == series).unwrap();
        (standing.state, standing.value.is_some())
    };
    assert_eq!(state(0, "dual-path"), (State::Measured, true));
    assert_eq!(state(1, "dual-path"), (State::Unsettled, true));
    assert_eq!(compared.points.iter().map(ComparedPoint::depends_on_windows).collect::<Vec<_>>(), [false, true]);
}

/// The gap before the first message behind a cycle is longer than others, so that less is on its way when the window begins than when it
/// ends: in short windows that looks like a backlog of several percent.
#[test]
fn short_windows_behind_a_warm_up_in_cycles_are_not_taken_for_saturated() {
    let saturated = |warmup: &str, load: f64| {
        let of = |seed: u64| {
            let text = MESH
                .replace("run.messages = 200", "run.messages = 10")
                .replace("min_replications = 5, max_replications = 40", "min_replications = 10, max_replications = 10");
            let more = format!("seed = {seed}\ntraffic.arrivals.rate = {load}\nrun.warmup = {warmup}");
            let experiment = Experiment::parse("mesh.toml", &format!("{more}\n{text}"), &[]).unwrap();
            let findings = run_sweep(&experiment, jobs(), &mut Store::in_memory().unwrap(), false, &mut ()).unwrap();
            findings.summaries[0].saturated()
        };
        (0..20).filter(|&seed| of(seed)).count()
    };
    assert!(saturated("20000", 0.1) <= 3 && saturated("'auto'", 0.1) <= 3);
    assert_eq!(saturated("20000", 3.0), 20, "and those that are saturated are");
}

#[test]
fn threads_that_can_be_stopped_compute_the_same_and_end_within_a_replication() {
    let small = experiment("[sweep]\ntraffic.arrivals.rate = [0.1, 0.2]");
    let expected = swept(&small, &mut Store::in_memory().unwrap());
    let runner = Arc::new(Runner::keeping_prepared(small).unwrap());
    let mut store = Store::in_memory().unwrap();
    let mut threads = StoppableThreads::new(jobs(), &runner, || None).unwrap();
    let found = run_sweep_with(&runner, &mut threads, &mut store, false, &mut ()).unwrap();
    assert_eq!(csv(&found.summaries), csv(&expected.summaries));
    // One replication would take hours.
    let endless = Experiment::parse(
        "mesh.toml",
        &format!(
            "{}\n[sweep]\ntraffic.arrivals.rate = [0.1]\n",
            MESH.replace("messages = 200", "messages = 1_000_000_000")
        ),
        &[],
    )
    .unwrap();
    let endless = Arc::new(Runner::keeping_prepared(endless).unwrap());
    let mut asked = 0;
    let ask = || {
        asked += 1;
        (asked == 3).then(|| "enough".to_owned())
    };
    let mut threads = StoppableThreads::new(jobs(), &endless, ask).unwrap();
    let mut store = Store::in_memory().unwrap();
    let stopped = run_sweep_with(&endless, &mut threads, &mut store, false, &mut ());
    assert!(stopped.is_err_and(|error| error.to_string().contains("enough")));
    drop(threads);
    assert_eq!(asked, 3);
}
