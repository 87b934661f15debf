//! Plans a second of every algorithm, on the paper's two sizes of problem.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wormcast_multicast::{ALGORITHMS, Multicast, Options, algorithm_by_name};
use wormcast_network::{Network, NodeId, TopologySpec};

/// How many different multicasts each measurement goes through.
const MULTICASTS: usize = 256;

/// Multicasts that look random and are the same in every run: splitmix64.
fn multicasts(network: &Arc<Network>, destinations: usize) -> Vec<Multicast> {
    let mut state = 0u64;
    let mut node = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        NodeId::new(((z ^ (z >> 31)) % network.nodes() as u64) as u32)
    };
    let mut multicast = || {
        let source = node();
        let mut wanted = Vec::new();
        while wanted.len() < destinations {
            let next = node();
            if next != source && !wanted.contains(&next) {
                wanted.push(next);
            }
        }
        Multicast::new(source, &wanted)
    };
    (0..MULTICASTS).map(|_| multicast()).collect()
}

fn plans(criterion: &mut Criterion) {
    for (topology, destinations) in [("mesh:8x8", 10), ("mesh:16x16", 30), ("hypercube:10", 200)] {
        let network = topology.parse::<TopologySpec>().and_then(|spec| spec.build()).expect("a valid topology");
        let multicasts = multicasts(&network, destinations);
        let mut group = criterion.benchmark_group(format!("{topology}, {destinations} destinations"));
        group.throughput(Throughput::Elements(MULTICASTS as u64));
        for name in ALGORITHMS.iter().map(|algorithm| algorithm.name) {
            // Each is defined on some of the networks.
            let Ok(algorithm) = algorithm_by_name(name, &network, &Options::default()) else { continue };
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    for multicast in &multicasts {
                        black_box(algorithm.plan(black_box(multicast)));
                    }
                });
            });
        }
    }
}

criterion_group!(benches, plans);
criterion_main!(benches);
