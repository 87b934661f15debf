//! Headers of multicasts on a spanning tree: O(D log D + N) for D destinations on N routers (paper 5, Theorem 5.3).

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wormcast_multicast::TreeHeader;
use wormcast_network::{Network, NodeId, TopologySpec};
use wormcast_routing::{SpanningTree, TreeOptions, tree_construction_by_name};

/// So many nodes that look drawn at random, the same in every run: a walk by an odd step visits each once.
fn destinations(network: &Arc<Network>, count: usize) -> Vec<NodeId> {
    let nodes = network.nodes() as u64;
    (0..count as u64).map(|i| NodeId::new((i * 40_503 % nodes) as u32)).collect()
}

fn tree(side: u32) -> (Arc<Network>, SpanningTree) {
    let spec = format!("torus:{side}x{side}");
    let network = spec.parse::<TopologySpec>().and_then(|spec| spec.build()).expect("a torus");
    let trees = tree_construction_by_name("dstm-1", &network, &TreeOptions::default()).expect("two trees");
    (network, trees.into_iter().next().expect("two trees"))
}

fn headers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("header, 16,384 routers, by destinations");
    let (network, spanning) = tree(128);
    for count in [2, 16, 128, 1_024, 4_096, 16_384] {
        let wanted = destinations(&network, count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::from_parameter(count), &wanted, |bencher, wanted| {
            bencher.iter(|| TreeHeader::new(&network, &spanning, black_box(wanted)));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("header of a broadcast, by routers");
    for side in [8, 16, 32, 64, 128, 256] {
        let (network, spanning) = tree(side);
        let wanted = destinations(&network, network.nodes());
        group.throughput(Throughput::Elements(wanted.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(wanted.len()), &wanted, |bencher, wanted| {
            bencher.iter(|| TreeHeader::new(&network, &spanning, black_box(wanted)));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("header for 48 destinations, by routers");
    for side in [8, 16, 32, 64, 128, 256] {
        let (network, spanning) = tree(side);
        let wanted = destinations(&network, 48);
        group.throughput(Throughput::Elements(wanted.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(side * side), &wanted, |bencher, wanted| {
            bencher.iter(|| TreeHeader::new(&network, &spanning, black_box(wanted)));
        });
    }
    group.finish();
}

criterion_group!(benches, headers);
criterion_main!(benches);
