//! Flit-hops a second of both engines: `cargo bench -p wormcast-simulation`.
//!
//! One element is a flit that crosses a channel between two routers, as in the figures that other simulators publish.

mod scenarios;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use scenarios::CASES;
use wormcast_simulation::{EngineChoice, simulate};

fn flit_hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flit-hops on mesh:16x16");
    group.sample_size(10);
    for case in &CASES {
        let (name, scenario) = (case.name, case.scenario());
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
