//! Equations of the model that are about whole runs.

use std::sync::Arc;

use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_simulation::{
    Arrivals, Count, Destinations, EngineChoice, MulticastTraffic, Pattern, Process, Run, RunResult, Scenario,
    StartupMode, Switching, Timing, Traffic, UnicastTraffic, Warmup, Wormhole, simulate,
};

use crate::support::build;

/// Messages of 10 to 30 flits, three quarters of them to 2 to 6 nodes, at a rate or a load.
fn run(rate: Option<f64>, load: Option<f64>) -> RunResult {
    let mesh = build("mesh:4x4");
    let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default()).unwrap();
    let arrivals = Arrivals { process: Process::Poisson, rate, load, successes: None, sources: None, interval: None };
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 10, most: 30 }.into()),
        multicast: Some(MulticastTraffic {
            destinations: Count { least: 2, most: 6 }.into(),
            fraction: 0.75,
            sets: None,
        }),
        ..Traffic::default()
    };
    let settings = Run { messages: Some(2000), warmup: Warmup::Cycles(20_000), ..Run::default() };
    let timing = Timing { startup: 20, ..Timing::default() };
    let scenario = Scenario::new(Arc::from(algorithm), &Switching::default(), &timing, &traffic, &settings).unwrap();
    simulate(&scenario, EngineChoice::Auto, 3).unwrap()
}

/// Data flits that a message asks to be delivered, on average: the length times the destinations.
const ASKED_FOR: f64 = 20.0 * (0.75 * 4.0 + 0.25);

/// E = rate x length x destinations, and the measured load comes to it.
#[test]
fn the_effective_applied_load_is_rate_times_length_times_destinations() {
    let cycles_a_microsecond = 200.0;
    let load = 0.13;
    let result = run(None, Some(load));
    assert_eq!(result, run(Some(load / ASKED_FOR * cycles_a_microsecond), None));
    assert!(!result.saturated);
    assert!((result.offered_load / load - 1.0).abs() < 0.06, "{}", result.offered_load);
}

/// Nodes that a pattern maps to themselves send no unicasts; the others make up for them.
#[test]
fn a_load_counts_nodes_that_send_nothing() {
    for (network, pattern, share) in [
        ("mesh:8x8", Pattern::Transpose, None),
        ("mesh:4x4", Pattern::BitReversal, None),
        ("mesh:2x2", Pattern::Shuffle, None),
        ("mesh:4x4", Pattern::Transpose, Some(0.5)),
        ("mesh:4x4", Pattern::BitComplement, Some(0.5)),
    ] {
        let algorithm = algorithm_by_name("separate", &build(network), &Options::default()).unwrap();
        let arrivals = Arrivals {
            process: Process::Poisson,
            rate: None,
            load: Some(0.02),
            successes: None,
            sources: None,
            interval: None,
        };
        let multicast =
            share.map(|fraction| MulticastTraffic { destinations: Count::fixed(4).into(), fraction, sets: None });
        let traffic = Traffic {
            arrivals: Some(arrivals),
            length: Some(Count::fixed(8).into()),
            multicast,
            unicast: Some(UnicastTraffic { pattern, node: None, fraction: None }),
            ..Traffic::default()
        };
        let settings = Run { messages: Some(20_000), warmup: Warmup::Cycles(1000), ..Run::default() };
        let timing = Timing { startup: 0, ..Timing::default() };
        let scenario = Scenario::new(Arc::from(algorithm), &Switching::default(), &timing, &traffic, &settings);
        let result = simulate(&scenario.unwrap(), EngineChoice::Auto, 3).unwrap();
        assert!((result.offered_load / 0.02 - 1.0).abs() < 0.03, "{network} {pattern:?}: {}", result.offered_load);
    }
}

/// A message alone takes what runs say it would: the startup and network parts, and its waiting for worms of its own.
#[test]
fn a_message_waits_for_its_own_worms_in_an_empty_network() {
    use StartupMode::{PerPort, Serial};
    for (algorithm, worms, startup, mode, ports) in [
        ("separate", 15, 100, Serial, 1),
        ("separate", 15, 100, Serial, 4),
        ("separate", 15, 3, Serial, 1),
        ("separate", 15, 100, PerPort, 1),
        ("separate", 15, 100, PerPort, 4),
        ("dual-path", 2, 100, Serial, 1),
        ("xy-tree", 1, 100, Serial, 1),
    ] {
        let mesh = build("mesh:4x4");
        let made = algorithm_by_name(algorithm, &mesh, &Options::default()).unwrap();
        let timing = Timing { startup, startup_mode: Some(mode), ..Timing::default() };
        let switching = Switching::Wormhole(Wormhole { injection_ports: Some(ports), ..Wormhole::default() });
        // One every million cycles.
        let arrivals = Arrivals {
            process: Process::Poisson,
            rate: Some(1e-6),
            load: None,
            successes: None,
            sources: None,
            interval: None,
        };
        let traffic = Traffic {
            arrivals: Some(arrivals),
            length: Some(Count::fixed(20).into()),
            multicast: Some(MulticastTraffic { destinations: Destinations::All, fraction: 1.0, sets: None }),
            ..Traffic::default()
        };
        let settings = Run { messages: Some(100), warmup: Warmup::Cycles(0), ..Run::default() };
        let scenario = Scenario::new(Arc::from(made), &switching, &timing, &traffic, &settings).unwrap();
        let result = simulate(&scenario, EngineChoice::Auto, 3).unwrap();
        let parts = result.latency.parts;
        let alone = result.window.own_wait + parts.startup + parts.network;
        let taken = result.latency.last.mean.unwrap();
        // The last worm that is sent is not always the last that arrives, and an injection channel is not taken for all of the way.
        assert!((0.85..1.15).contains(&(alone / taken)), "{algorithm} {startup} {mode:?} {ports}: {alone} of {taken}");
        assert_eq!(result.window.own_wait > 0.0, worms > 1, "{algorithm} {ports}");
    }
}

/// Counts alone decide: whether deliveries fall short of what the window's messages ask for by more than 2%, at loads from idle to
/// far beyond saturation, some of them near it.
#[test]
fn a_run_is_saturated_if_deliveries_fall_behind() {
    let mut seen = [0, 0];
    for percent in [5, 10, 14, 18, 22, 26, 30, 40, 60, 125, 250, 1000] {
        let result = run(None, Some(f64::from(percent) / 100.0));
        let share = result.window.delivered as f64 / result.window.offered as f64;
        // Between the two, chance decides.
        assert!(if result.saturated { share < 0.98 } else { share > 0.93 }, "{percent}%: {:?}", result.window);
        assert!(percent < 60 || result.saturated, "{percent}%: {:?}", result.window);
        seen[usize::from(result.saturated)] += 1;
    }
    assert!(seen.iter().all(|&runs| runs >= 3), "{seen:?}");
}
