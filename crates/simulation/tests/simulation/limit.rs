//! The program that `benches/limit` measures against finds the same latencies as the engines: another implementation of the model, of one case.

#[path = "../../benches/limit/kernel.rs"]
#[allow(dead_code, reason = "the program measures more")]
mod kernel;
#[path = "../../benches/limit/parts.rs"]
#[allow(dead_code, reason = "the program measures more")]
mod parts;

use kernel::{Case, Clock};
use parts::Post;
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_simulation::{EngineChoice, Scenario, simulate};

/// Idle to far beyond saturation, with windows shorter and longer than paths.
#[test]
fn a_program_for_one_case_finds_the_same_latencies() {
    finds_the_same_latencies(&[
        (4, 1, 1, 0.1, 500),
        (4, 7, 1, 9.0, 2000),
        (5, 64, 4, 0.5, 2000),
        (8, 20, 4, 1.25, 20_000),
        (8, 20, 1, 3.0, 3000),
    ]);
}

#[test]
fn a_program_for_one_case_finds_the_same_latencies_of_longer_ways() {
    finds_the_same_latencies(&[(11, 9, 2, 2.0, 3000), (16, 64, 4, 0.2, 2000), (24, 16, 4, 20.0, 4000)]);
}

/// Links that do not fit into a cache.
#[test]
fn a_program_for_one_case_finds_the_same_latencies_in_a_large_mesh() {
    finds_the_same_latencies(&[(96, 16, 4, 2.0, 1000)]);
}

/// Cases by the side of the mesh, flits of a message, flits of a buffer, messages of a node and time, and all messages.
fn finds_the_same_latencies(cases: &[(u32, u32, u32, f64, u64)]) {
    for &(side, flits, buffer, rate, messages) in cases {
        let case = Case { side, flits, buffer, rate, cycle_ns: 5.0, messages, seed: u64::from(side + flits) };
        let network = format!("mesh:{side}x{side}").parse::<TopologySpec>().unwrap().build().unwrap();
        let algorithm = algorithm_by_name("separate", &network, &Options::default()).unwrap();
        let text = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let switching = text(format!(r#"{{ "buffer": {buffer}, "injection_ports": 1, "consumption_ports": 1 }}"#));
        let timing = text(r#"{ "cycle_ns": 5.0, "startup": 0, "routing_delay": 0 }"#.to_owned());
        let arrivals = format!(r#"{{ "process": "poisson", "rate": {rate} }}"#);
        let traffic = text(format!(r#"{{ "arrivals": {arrivals}, "length": {flits} }}"#));
        let run = text(format!(r#"{{ "mode": "drain", "messages": {messages} }}"#));
        let scenario = Scenario::new(
            algorithm.into(),
            &serde_json::from_value(switching).unwrap(),
            &serde_json::from_value(timing).unwrap(),
            &serde_json::from_value(traffic).unwrap(),
            &serde_json::from_value(run).unwrap(),
        )
        .unwrap();
        let expected = kernel::simulate(&case, &mut Clock::default());
        for (strips, threaded) in [(1, true), (2, false), (2, side == 16), (3, side == 4), (4, false)] {
            let (outcome, _) = parts::simulate(&case, (strips, Post::Exact), threaded, &mut Clock::default());
            assert_eq!(outcome, expected, "{side}x{side}, {flits} flits, {strips} strips");
        }
        for engine in [EngineChoice::Worm, EngineChoice::Flit] {
            let result = simulate(&scenario, engine, case.seed).unwrap();
            let found = (result.latency.last.mean.unwrap(), result.flit_hops);
            assert_eq!(found, (expected.mean_latency, expected.flit_hops), "{engine:?}, {side}x{side}, {flits} flits");
        }
    }
}

/// What strips tell each other comes a cycle late, or in the order in which it comes: another result.
#[test]
fn strips_notice_wrong_times_and_a_wrong_order() {
    for (side, flits, buffer, rate) in [(8, 20, 4, 2.0), (6, 9, 2, 5.0)] {
        let case = Case { side, flits, buffer, rate, cycle_ns: 5.0, messages: 3000, seed: 3 };
        let expected = kernel::simulate(&case, &mut Clock::default());
        let of = |post| parts::simulate(&case, (3, post), false, &mut Clock::default()).0;
        assert_eq!(of(Post::Exact), expected);
        assert_ne!(of(Post::Late), expected);
        assert_ne!(of(Post::Unsorted), expected);
    }
}
