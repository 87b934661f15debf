//! Made-up results for tests.

use wormcast_simulation::{Distribution, Latency, LinkUse, Messages, Quantiles, RunResult, Window};

use crate::runs::replication::Replication;

/// A run with this mean latency.
pub(crate) fn run(latency: f64) -> Replication {
    let last = Distribution {
        mean: Some(latency),
        mean_ns: Some(latency * 5.0),
        p50: Some(latency),
        p95: Some(latency * 2.0),
        p99: Some(latency * 3.0),
        max: Some(latency * 4.0),
    };
    // Noise may make latencies negative.
    let quantile = |share: f64, times: f64| (share, latency + times * latency.abs());
    let quantiles = Some(Quantiles::new(vec![quantile(0.5, 0.0), quantile(0.95, 1.0), quantile(0.99, 2.0)]));
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
        latency: Latency { last, mean, quantiles, ..Latency::default() },
        offered_load: 0.5,
        injected_load: 0.05,
        accepted_load: 0.05,
        delivered_load: 0.5,
        saturated: false,
        given_up: false,
        trend: None,
        window: Window {
            from: 100,
            to: 9000,
            generated: 1000,
            completed: 1000,
            offered: 10_000,
            delivered: 10_000,
            own_wait: 0.0,
        },
        links: LinkUse::default(),
        flit_hops: 1,
        deadlock: None,
        buffers: None,
    }
    .into()
}

/// A number that looks independent of those of other keys, with mean 0 and variance 1: the sum of twelve uniform ones.
pub(crate) fn noise(key: u64) -> f64 {
    let uniform = |i: u64| (crate::runs::seed::replication_seed(key, i as u32) >> 11) as f64 / (1u64 << 53) as f64;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

impl Replication {
    /// The result of a simulation, to be changed.
    pub(crate) fn in_time(&mut self) -> &mut RunResult {
        match self {
            Self::Simulated(run) => run,
            Self::Planned(_) | Self::Trees(_) => panic!("nothing is simulated"),
        }
    }
}
