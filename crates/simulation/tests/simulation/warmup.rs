//! Where a run begins to measure: after so many cycles, or so many messages.

use std::fmt::Write as _;
use std::sync::Arc;

use wormcast_multicast::{Algorithm, Options, algorithm_by_name};
use wormcast_simulation::{
    ConfigError, Cycle, EngineChoice, Generated, Mode, Observer, Run, RunEnd, RunResult, Scenario, SimulationError,
    Switching, Timing, Traffic, Warmup, simulate,
};

use crate::support::{build, watch};

/// When messages are generated, and what the run measures of links, at its end.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    generated: Vec<Cycle>,
    window: (Cycle, Cycle),
    link_flits: Vec<i64>,
    lines: String,
}

impl Observer for Seen {
    const END: bool = true;

    fn generated(&mut self, message: &Generated<'_>) {
        self.generated.push(message.at);
        let to: Vec<String> = message.destinations.iter().map(ToString::to_string).collect();
        writeln!(self.lines, "{} {} {} {}", message.at, message.source, message.length, to.join(";")).unwrap();
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.window = end.window;
        self.link_flits = end.link_flits.to_vec();
    }
}

fn scenario(
    topology: &str,
    name: &str,
    switching: &str,
    traffic: &Traffic,
    run: &Run,
) -> Result<Scenario, ConfigError> {
    let algorithm: Arc<dyn Algorithm> =
        Arc::from(algorithm_by_name(name, &build(topology), &Options::default()).unwrap());
    let switching: Switching = serde_json::from_str(switching).unwrap();
    let timing = Timing { startup: 50, ..Timing::default() };
    Scenario::new(algorithm, &switching, &timing, traffic, run)
}

fn steady(warmup: Warmup) -> Run {
    Run { mode: Some(Mode::Steady), warmup, messages: Some(200), ..Run::default() }
}

fn traffic(rest: &str) -> Traffic {
    serde_json::from_str(&format!(r#"{{ "length": {{ "uniform": [4, 40] }}, {rest} }}"#)).unwrap()
}

const POISSON: &str = r#""arrivals": { "process": "poisson", "rate": 0.2 }, "multicast": { "destinations": 3 }"#;

#[test]
fn a_warm_up_of_messages_is_one_of_the_cycles_until_the_next_is_generated() {
    let folder = tempfile::tempdir().unwrap();
    for (topology, name, switching, engine) in [
        ("mesh:4x4", "dual-path", "{}", EngineChoice::Worm),
        ("mesh:4x4", "dual-path", "{}", EngineChoice::Flit),
        ("torus:4x4", "dstm-2", r#"{ "header": "tree" }"#, EngineChoice::Auto),
        ("bmin:4x2", "bit-string", r#"{ "model": "central-buffer" }"#, EngineChoice::Auto),
    ] {
        let outcome = |traffic: &Traffic, warmup: Warmup| -> (RunResult, Seen) {
            let scenario = scenario(topology, name, switching, traffic, &steady(warmup)).unwrap();
            watch(&scenario, engine, 3, Seen::default()).unwrap()
        };
        let random = traffic(POISSON);
        let (_, all) = outcome(&random, Warmup::Messages(0));
        let path = folder.path().join("sent.trace");
        std::fs::write(&path, &all.lines).unwrap();
        let trace = Traffic { trace: Some(path.to_str().unwrap().to_owned()), ..Traffic::default() };
        for traffic in [random, trace] {
            // The first of its cycle: cycles cannot part the messages of one.
            let firsts = (1..150).filter(|&id| all.generated[id - 1] < all.generated[id]);
            for id in [0].into_iter().chain(firsts.step_by(20)) {
                let at = all.generated[id];
                let (counted, timed) = (Warmup::Messages(id as u64), Warmup::Cycles(at));
                let [by_messages, by_cycles] = [counted, timed].map(|warmup| outcome(&traffic, warmup));
                assert_eq!(by_messages, by_cycles, "{name} {id}");
                let (result, seen) = by_messages;
                assert_eq!((result.warmup, seen.window.0), (at, at), "{name} {id}");
                assert!(result.messages.generated >= id as u64 + 200 || traffic.trace.is_some(), "{name} {id}");
                assert!(
                    result.messages.measured <= 200 && result.window.generated == result.messages.measured,
                    "{name}"
                );
            }
        }
    }
}

/// Messages of one cycle are told apart, as cycles cannot.
#[test]
fn a_warm_up_of_messages_may_end_between_two_of_one_cycle() {
    let burst = traffic(r#""arrivals": { "process": "burst", "interval": 1000 }, "multicast": { "destinations": 3 }"#);
    let measured = |warmup| {
        let run = Run { messages: Some(10), ..steady(warmup) };
        let scenario = scenario("mesh:4x4", "dual-path", "{}", &burst, &run).unwrap();
        let result = simulate(&scenario, EngineChoice::Auto, 3).unwrap();
        (result.warmup, result.window.generated, result.messages.measured)
    };
    // The load is that of the whole burst.
    assert_eq!(measured(Warmup::Messages(20)), (1000, 16, 10));
    assert_eq!(measured(Warmup::Messages(16)), measured(Warmup::Cycles(1)));
}

/// A burst of sixteen messages: as many come before those that are measured as there are, up to half as many.
#[test]
fn an_automatic_warm_up_of_traffic_that_ends_leaves_what_is_to_be_measured() {
    let burst = traffic(r#""arrivals": { "process": "burst" }, "multicast": { "destinations": 3 }"#);
    let measured = |messages: Option<u64>| {
        let run = Run { messages, ..steady(Warmup::Auto) };
        let scenario = scenario("mesh:4x4", "dual-path", "{}", &burst, &run).unwrap();
        let result = simulate(&scenario, EngineChoice::Auto, 3).unwrap();
        (result.messages.measured, result.latency.last.mean)
    };
    for (messages, warmup) in [(Some(4), 2), (Some(10), 5), (Some(12), 4), (Some(16), 0), (None, 0)] {
        let (count, mean) = measured(messages);
        assert_eq!(count, messages.unwrap_or(16), "{messages:?}");
        let run = Run { messages, ..steady(Warmup::Messages(warmup)) };
        let scenario = scenario("mesh:4x4", "dual-path", "{}", &burst, &run).unwrap();
        let counted = simulate(&scenario, EngineChoice::Auto, 3).unwrap();
        assert_eq!((counted.messages.measured, counted.latency.last.mean), (count, mean), "{messages:?}");
    }
}

#[test]
fn warm_ups_that_leave_nothing_to_measure_are_refused() {
    let random = traffic(POISSON);
    let burst = traffic(r#""arrivals": { "process": "burst" }, "multicast": { "destinations": 3 }"#);
    let refused = |traffic: &Traffic, run: &Run| {
        let problem = scenario("mesh:4x4", "dual-path", "{}", traffic, run).err()?;
        assert_eq!(problem.key, "run.warmup");
        Some(problem.problem)
    };
    let messages = |count| steady(Warmup::Messages(count));
    // Sixteen nodes send one each.
    assert_eq!(refused(&burst, &messages(15)), None);
    let expected = "the burst ends within the warm-up: expected fewer messages than its 16";
    for count in [16, 17, 1 << 60] {
        let problem = refused(&burst, &messages(count)).unwrap();
        assert!(problem == expected || count > 17 && problem.contains("expected at most"), "{problem}");
    }
    assert_eq!(refused(&random, &messages(1_000_000_000_000)), None);
    assert!(
        refused(&random, &messages(1_000_000_000_001)).unwrap().ends_with("expected at most 1000000000000 messages")
    );
    // Runs without a warm-up have none to end in.
    assert_eq!(refused(&burst, &Run { mode: Some(Mode::Finite), messages: None, ..messages(16) }), None);
    let given_up = Run { max_cycles: Some(500), ..messages(100_000) };
    let scenario = scenario("mesh:4x4", "dual-path", "{}", &random, &given_up).unwrap();
    let error = simulate(&scenario, EngineChoice::Auto, 3).unwrap_err();
    assert!(matches!(error, SimulationError::WithinWarmUp { warmup: 100_000, setting: "run.warmup", .. }), "{error}");
}

#[test]
fn settings_that_a_warm_up_of_messages_makes_idle_are_told() {
    let idle = |traffic: &str, run: &str| -> Vec<&str> {
        let run: Run = serde_json::from_str(run).unwrap();
        let scenario = scenario("mesh:4x4", "dual-path", "{}", &self::traffic(traffic), &run).unwrap();
        let idle = scenario.idle_settings().into_iter().map(|setting| setting.key);
        idle.filter(|key| key.starts_with("run.")).collect()
    };
    let burst = r#""arrivals": { "process": "burst" }"#;
    assert_eq!(idle(burst, r#"{ "mode": "drain", "warmup": { "messages": 3 } }"#), ["run.warmup"]);
    assert_eq!(idle(burst, r#"{ "mode": "finite", "warmup": { "messages": 3 } }"#), ["run.warmup"]);
    assert!(idle(burst, r#"{ "mode": "finite", "warmup": { "messages": 0 } }"#).is_empty());
    assert!(idle(burst, r#"{ "mode": "steady", "warmup": { "messages": 3 }, "messages": 13 }"#).is_empty());
    assert_eq!(idle(burst, r#"{ "mode": "steady", "warmup": { "messages": 3 }, "messages": 14 }"#), ["run.messages"]);
    assert_eq!(serde_json::to_string(&Warmup::Messages(3)).unwrap(), r#"{"messages":3}"#);
}

/// A light load takes long to generate its messages. That `max_cycles` does not leave it the time makes no saturated network of it.
#[test]
fn a_window_that_is_cut_short_is_judged_by_its_deliveries() {
    let run = |rate: f64, messages: u64, max_cycles: Cycle| {
        let arrivals = format!(r#""arrivals": {{ "process": "poisson", "rate": {rate} }}"#);
        let traffic = traffic(&format!(r#"{arrivals}, "multicast": {{ "destinations": 3 }}"#));
        let run = Run { max_cycles: Some(max_cycles), messages: Some(messages), ..steady(Warmup::Cycles(1_000)) };
        let scenario = scenario("mesh:4x4", "dual-path", r#"{ "consumption_ports": 3 }"#, &traffic, &run).unwrap();
        simulate(&scenario, EngineChoice::Auto, 3).unwrap()
    };
    // 16 nodes, a message per 1,000 cycles and node: half of them are generated.
    let light = run(0.2, 1_000, 32_000);
    assert!(light.given_up && !light.saturated, "{light:?}");
    assert!((400..600).contains(&light.messages.measured), "{light:?}");
    let whole = run(0.2, 1_000, 200_000);
    assert!(!whole.given_up && !whole.saturated, "{whole:?}");
    let heavy = run(20.0, 20_000, 4_000);
    assert!(heavy.given_up && heavy.saturated, "{heavy:?}");
    // Nothing can have arrived: nothing is known of the load.
    let blind = run(0.2, 1_000, 1_040);
    assert!(blind.given_up && blind.saturated, "{blind:?}");
}
