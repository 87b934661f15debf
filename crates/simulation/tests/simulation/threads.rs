//! Runs on several threads against the same runs on one: every figure, and every delivery in its cycle, with the parts of its latency.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use wormcast_multicast::{Algorithm, Options, algorithm_by_name};
use wormcast_simulation::{EngineChoice, Scenario, one_thread_because, simulate_observed, simulate_on};

use crate::support::{Watched, build};

#[derive(Clone, Debug)]
struct Case {
    topology: &'static str,
    /// How multicasts are sent, if there are any; otherwise unicasts by this routing.
    algorithm: Option<&'static str>,
    routing: &'static str,
    switching: Value,
    timing: Value,
    traffic: Value,
    run: Value,
    seed: u64,
}

fn of<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

impl Case {
    /// `None` where they do not go together.
    fn scenario(&self) -> Option<Scenario> {
        let network = build(self.topology);
        let algorithm: Arc<dyn Algorithm> = match self.algorithm {
            Some(name) => algorithm_by_name(name, &network, &Options::default()).ok()?.into(),
            None => algorithm_by_name("separate", &network, &Options::routed_by(self.routing).ok()?).ok()?.into(),
        };
        let (switching, timing) = (of(&self.switching), of(&self.timing));
        Scenario::new(algorithm, &switching, &timing, &of(&self.traffic), &of(&self.run)).ok()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let topology = prop::sample::select(vec![
        "mesh:4x4",
        "mesh:5x3",
        "mesh:3x7",
        "mesh:8x8",
        "mesh:9",
        "mesh:3x3x3",
        "mesh:2x2",
        "hypercube:4",
        "hypercube:5",
    ]);
    let routing = prop::sample::select(vec!["e-cube", "e-cube", "e-cube", "negative-first", "west-first", "odd-even"]);
    let header = prop::sample::select(vec!["none", "none", "bit-string", "all-destinations"]);
    let mode = prop::sample::select(vec!["serial", "per-port"]);
    let switching =
        (1u32..9, 1u32..4, 1u32..6, header, mode).prop_map(|(buffer, injection, consumption, header, mode)| {
            json!({
                "buffer": buffer, "injection_ports": injection, "consumption_ports": consumption, "header": header,
                "startup_mode": mode
            })
        });
    let delay = || prop_oneof![3 => Just(0u32), 2 => 1u32..9];
    let timing = (delay(), delay(), delay()).prop_map(|(startup, routing, strip)| {
        json!({ "cycle_ns": 5.0, "startup": 4 * startup, "routing_delay": routing, "strip_delay": strip })
    });
    let length = prop_oneof![
        (1u32..80).prop_map(|length| json!(length)),
        (1u32..9, 0u32..90).prop_map(|(least, more)| json!({ "uniform": [least, least + more] }))
    ];
    let arrivals = prop_oneof![
        4 => (0.01f64..30.0).prop_map(|rate| json!({ "process": "poisson", "rate": rate })),
        1 => (0.01f64..30.0).prop_map(|rate| json!({ "process": "bernoulli", "rate": rate })),
        1 => (2u32..200).prop_map(|interval| json!({ "process": "burst", "sources": 4, "interval": interval })),
    ];
    let unicast = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "pattern": "hot-spot", "node": "1", "fraction": 0.3 })),
        1 => Just(json!({ "pattern": "complement" })),
    ];
    let paths =
        ["separate", "dual-path", "multi-path", "column-path", "pure-negative-first", "dual-path-adaptive", "schl"];
    let algorithm = prop::option::of(prop::sample::select(paths.to_vec()));
    let messages = (algorithm, 1u32..4, prop::sample::select(vec![0.5, 1.0]));
    let traffic = (length, arrivals, unicast, messages).prop_map(|(length, arrivals, unicast, messages)| {
        let mut traffic = json!({ "length": length, "arrivals": arrivals });
        if unicast != Value::Null {
            traffic["unicast"] = unicast;
        }
        let (algorithm, most, fraction) = messages;
        if algorithm.is_some() {
            traffic["multicast"] = json!({ "destinations": { "uniform": [1, most] }, "fraction": fraction });
        }
        (algorithm, traffic)
    });
    let run = (prop::sample::select(vec!["drain", "steady", "finite"]), 1u64..400, any::<bool>(), 1u64..4000).prop_map(
        |(mode, messages, limited, cycles)| {
            let mut run = json!({ "mode": mode, "messages": messages });
            if limited {
                run["max_cycles"] = json!(cycles);
            }
            run
        },
    );
    (topology, routing, switching, timing, traffic, run, any::<u64>()).prop_map(
        |(topology, routing, switching, timing, (algorithm, traffic), run, seed)| Case {
            topology,
            algorithm,
            routing,
            switching,
            timing,
            traffic,
            run,
            seed,
        },
    )
}

fn check(case: &Case) -> Result<bool, TestCaseError> {
    let Some(scenario) = case.scenario() else { return Ok(false) };
    if one_thread_because::<Watched>(&scenario, EngineChoice::Worm).is_some() {
        return Ok(false);
    }
    let mut alone = Watched::default();
    let expected = simulate_observed(&scenario, EngineChoice::Worm, case.seed, &mut alone);
    let expected = expected.map(|result| serde_json::to_value(result).unwrap());
    alone.sort();
    for threads in [1, 2, 3, 5] {
        let mut watched = Watched::default();
        let threads = NonZeroUsize::new(threads).unwrap();
        let found = simulate_on(&scenario, EngineChoice::Worm, case.seed, &mut watched, threads);
        prop_assert_eq!(&found.map(|result| serde_json::to_value(result).unwrap()), &expected);
        watched.sort();
        prop_assert_eq!(&watched, &alone);
    }
    Ok(true)
}

/// Most of the cases can be shared: the test would not notice if none were.
#[test]
fn threads_change_nothing() {
    let shared = Cell::new(0);
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(number()) });
    let checked = runner.run(&cases(), |case| {
        shared.set(shared.get() + u32::from(check(&case)?));
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    assert!(shared.get() > number() / 3, "{} of {} cases were shared", shared.get(), number());
}

/// Paths that leave a part and come back while deliveries there are still to come: in 4x4, parts end within rows.
#[test]
fn worms_come_back_to_where_they_still_deliver() {
    let case = |algorithm, seed| Case {
        topology: "mesh:4x4",
        algorithm: Some(algorithm),
        routing: "e-cube",
        switching: json!({ "buffer": 1, "injection_ports": 2, "consumption_ports": 4 }),
        timing: json!({ "cycle_ns": 5.0, "startup": 3 }),
        traffic: json!({
            "length": { "uniform": [1, 60] },
            "arrivals": { "process": "poisson", "rate": 0.05 },
            "multicast": { "destinations": { "uniform": [3, 9] }, "fraction": 1.0 }
        }),
        run: json!({ "mode": "drain", "messages": 300 }),
        seed,
    };
    for (algorithm, seed) in [("dual-path", 1), ("multi-path", 2), ("pure-negative-first", 3)] {
        assert!(check(&case(algorithm, seed)).unwrap_or_else(|error| panic!("{error}")), "{algorithm} was not shared");
    }
}

fn number() -> u32 {
    std::env::var("WORMCAST_CASES").map_or(60, |number| number.parse().expect("a number of cases"))
}
