//! Flit-hops a second of both engines: `cargo bench -p wormcast-simulation`.
//!
//! One element is a flit that crosses a channel between two routers, as in the figures that other simulators publish.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_simulation::{
    Arrivals, Count, EngineChoice, MulticastTraffic, Process, Run, Scenario, Switching, Timing, Traffic, Warmup,
    simulate,
};

/// A steady run on a 16x16 mesh: `rate` messages per node per microsecond, 5 ns a cycle.
fn scenario(algorithm: &str, rate: f64, length: Count, destinations: Option<u32>, startup: u32) -> Scenario {
    let network = Arc::new("mesh:16x16".parse::<TopologySpec>().unwrap().build().unwrap());
    let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
    let traffic = Traffic {
        arrivals: Some(Arrivals {
            process: Process::Poisson,
            rate: Some(rate),
            successes: None,
            sources: None,
            interval: None,
        }),
        length: Some(length),
        multicast: destinations.map(|n| MulticastTraffic { destinations: Count::fixed(n), fraction: 1.0 }),
        ..Traffic::default()
    };
    let run = Run { warmup: Warmup::Cycles(5000), messages: Some(4000), ..Run::default() };
    let timing = Timing { startup, ..Timing::default() };
    Scenario::new(network, algorithm.into(), &Switching::default(), &timing, &traffic, &run).unwrap()
}

fn flit_hops(criterion: &mut Criterion) {
    let paper = Count { least: 10, most: 100 };
    let cases = [
        // Medium loads: busy, and below saturation, as is asserted.
        ("unicast-64", scenario("separate", 0.15, Count::fixed(64), None, 0)),
        ("unicast-20", scenario("separate", 0.3, Count::fixed(20), None, 0)),
        ("pure-negative-first-10", scenario("pure-negative-first", 0.009, paper, Some(10), 1000)),
        ("minimal-negative-first-10", scenario("minimal-negative-first", 0.012, paper, Some(10), 1000)),
        ("dual-path-10", scenario("dual-path", 0.005, paper, Some(10), 1000)),
        ("column-path-10", scenario("column-path", 0.012, paper, Some(10), 1000)),
    ];
    let mut group = criterion.benchmark_group("flit-hops on mesh:16x16");
    group.sample_size(10);
    for (name, scenario) in cases {
        let result = simulate(&scenario, EngineChoice::Flit, 1).unwrap();
        assert!(!result.saturated && result.deadlock.is_none(), "{name} is meant to run at medium load");
        group.throughput(Throughput::Elements(result.flit_hops));
        for (engine, choice) in [("flit", EngineChoice::Flit), ("worm", EngineChoice::Worm)] {
            group.bench_with_input(BenchmarkId::new(engine, name), &scenario, |bencher, scenario| {
                bencher.iter(|| simulate(black_box(scenario), choice, 1));
            });
        }
        println!(
            "{name}: links busy {:.1}%, latency {:.0?} cycles",
            result.links.busy * 100.0,
            result.latency.last.mean
        );
    }
    group.finish();
}

criterion_group!(benches, flit_hops);
criterion_main!(benches);
