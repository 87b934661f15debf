//! Flit-hops a second of the switch engine: `cargo bench -p wormcast-simulation --bench switches`.
//!
//! 64 nodes, unicasts of 128 bytes at 60% load. One element is a flit that crosses a channel between two switches.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_simulation::{
    Arrivals, BufferedSwitch, Count, EngineChoice, Process, Run, Scenario, TimingPreset, Traffic, Warmup, simulate,
};

fn scenario(switching: BufferedSwitch) -> Scenario {
    let network = "bmin:4x3".parse::<TopologySpec>().unwrap().build().unwrap();
    let options = Options::routed_by("turnaround").unwrap();
    let algorithm = algorithm_by_name("separate", &network, &options).unwrap();
    let traffic = Traffic {
        arrivals: Some(Arrivals {
            process: Process::Exponential,
            rate: None,
            load: Some(0.6),
            successes: None,
            sources: None,
            interval: None,
        }),
        length: Some(Count::fixed(64).into()),
        ..Traffic::default()
    };
    let run = Run { warmup: Warmup::Cycles(2000), messages: Some(20_000), ..Run::default() };
    let timing = TimingPreset::Paper4.timing();
    Scenario::new(algorithm.into(), &switching.into(), &timing, &traffic, &run).unwrap()
}

fn flit_hops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("flit-hops on bmin:4x3");
    group.sample_size(10);
    for (name, switching) in
        [("central-buffer", BufferedSwitch::central_buffer()), ("input-buffer", BufferedSwitch::input_buffer())]
    {
        let scenario = scenario(switching);
        let result = simulate(&scenario, EngineChoice::Auto, 1).unwrap();
        group.throughput(Throughput::Elements(result.flit_hops));
        group.bench_with_input(BenchmarkId::new("switch", name), &scenario, |bencher, scenario| {
            bencher.iter(|| simulate(black_box(scenario), EngineChoice::Auto, 1));
        });
        println!(
            "{name}: links busy {:.1}%, latency {:.0?} cycles, saturated {}",
            result.links.busy * 100.0,
            result.latency.last.mean,
            result.saturated
        );
    }
    group.finish();
}

criterion_group!(benches, flit_hops);
criterion_main!(benches);
