//! Equations of the model that are about whole runs.

use std::sync::Arc;

use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_simulation::{
    Arrivals, Count, EngineChoice, MulticastTraffic, Process, Run, RunResult, Scenario, Switching, Timing, Traffic,
    Warmup, simulate,
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
