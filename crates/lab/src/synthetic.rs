//! Made-up results for tests.

use wormcast_simulation::{Distribution, Latency, LinkUse, Messages, RunResult, Window};

/// A run with this mean latency.
pub(crate) fn run(latency: f64) -> RunResult {
    let last = Distribution {
        mean: Some(latency),
        mean_ns: Some(latency * 5.0),
        p50: Some(latency),
        p95: Some(latency * 2.0),
        p99: Some(latency * 3.0),
        max: Some(latency * 4.0),
    };
    let mean = Distribution { mean: Some(latency / 2.0), ..Distribution::default() };
    RunResult {
        seed: 0,
        engine: "synthetic".to_owned(),
        cycles: 10_000,
        warmup: 100,
        messages: Messages { generated: 1000, delivered: 1000, in_flight: 0, measured: 1000 },
        deliveries: 1000,
        duplicates: 0,
        forwarded: 0,
        latency: Latency { last, mean, ..Latency::default() },
        offered_load: 0.5,
        injected_load: 0.05,
        accepted_load: 0.05,
        delivered_load: 0.5,
        saturated: false,
        window: Window { from: 100, to: 9000, generated: 1000, completed: 1000 },
        links: LinkUse::default(),
        flit_hops: 1,
        deadlock: None,
        buffers: None,
        plan: None,
        trees: None,
    }
}
