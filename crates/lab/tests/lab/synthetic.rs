//! A model that answers at once: a queue whose latency grows without bound as the load comes near an algorithm's capacity.

use std::convert::Infallible;

use wormcast_lab::{Experiment, Point, Replication, replication_seed};
use wormcast_simulation::{Deadlock, Distribution, Latency, LinkUse, Messages, Parts, Quantiles, RunResult, Window};

/// Four algorithms at six rates; the slow ones saturate within the sweep.
pub(crate) const SWEEP: &str = r#"
title = "Latency against arrival rate, 10 destinations, 16x16 mesh"
topology = "mesh:16x16"
seed = 1
[traffic]
arrivals = { process = "negative-binomial" }
multicast = { destinations = 10 }
[stop]
relative_half_width = 0.02
min_replications = 5
max_replications = 40
[sweep]
algorithm = ["pure-negative-first", "minimal-negative-first", "dual-path", "column-path"]
"traffic.arrivals.rate" = { from = 0.001, to = 0.012, points = 12 }
"#;

/// The sweep as an experiment.
pub(crate) fn experiment() -> Experiment {
    Experiment::parse("synthetic.toml", SWEEP, &[]).unwrap()
}

/// The capacity of an algorithm, in messages per node per microsecond, and its latency without load, in cycles.
fn character(algorithm: &str) -> (f64, f64) {
    match algorithm {
        "pure-negative-first" => (0.0115, 2900.0),
        "minimal-negative-first" => (0.0125, 3300.0),
        "dual-path" => (0.0065, 2100.0),
        _ => (0.0105, 4600.0),
    }
}

/// The run of a point in a replication.
#[expect(clippy::unnecessary_wraps, reason = "the form that sweeps want")]
pub(crate) fn run(point: &Point, replication: u32) -> Result<Replication, Infallible> {
    Ok(result(point, replication).into())
}

/// What happens in it.
pub(crate) fn result(point: &Point, replication: u32) -> RunResult {
    let seed = replication_seed(point.spec.seed, replication);
    let rate = point.spec.traffic.arrivals.as_ref().and_then(|arrivals| arrivals.rate).unwrap();
    let (capacity, idle) = character(&point.spec.algorithm);
    let share = rate / capacity;
    let saturated = share > 0.97;
    // The same noise in every point, more of it near saturation.
    let noise = (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let own = (point.index * 7 % 5) as f64 * 0.001;
    let latency = idle * (1.0 + 0.4 * share / (1.0 - share.min(0.97))) * (1.0 + noise * (0.05 + 0.3 * share) + own);
    let last = Distribution {
        mean: Some(latency),
        mean_ns: Some(latency * 5.0),
        p50: Some(latency * 0.9),
        p95: Some(latency * 1.8),
        p99: Some(latency * 2.4),
        max: Some(latency * 4.0),
    };
    let mean = Distribution { mean: Some(latency * 0.8), ..Distribution::default() };
    RunResult {
        seed,
        engine: "synthetic".to_owned(),
        cycles: 100_000,
        warmup: 5_000,
        messages: Messages { generated: 2500, delivered: 2400, in_flight: 100, measured: 2000 },
        deliveries: 24_000,
        duplicates: 0,
        forwarded: 0,
        latency: Latency {
            last,
            mean,
            quantiles: Some(Quantiles::new(vec![(0.5, latency * 0.9), (0.95, latency * 1.8), (0.99, latency * 2.4)])),
            parts: Parts { queueing: latency - 1500.0, startup: 1000.0, network: 150.0, blocking: 350.0 },
            ..Latency::default()
        },
        offered_load: rate * 2.0,
        injected_load: rate * 0.2,
        accepted_load: rate.min(capacity) * 0.2,
        delivered_load: rate.min(capacity) * 2.0,
        saturated,
        given_up: false,
        trend: None,
        window: Window {
            from: 5_000,
            to: 95_000,
            generated: 2000,
            completed: if saturated { 1700 } else { 2000 },
            offered: 20_000,
            delivered: if saturated { 17_000 } else { 20_000 },
            own_wait: 0.0,
        },
        links: LinkUse { busy: share * 0.3, busiest: share * 0.6, held: share * 0.5, blocked: share * 0.2 },
        flit_hops: 1_000_000,
        deadlock: None,
        buffers: None,
    }
}

/// The run, but dead.
pub(crate) fn deadlocked(point: &Point, replication: u32) -> RunResult {
    let deadlock = Some(Deadlock { at: 1234, dead: 2, cycle: Vec::new() });
    RunResult { deadlock, ..result(point, replication) }
}
