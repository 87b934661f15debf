//! The cost of edge-disjoint spanning trees against the size of the network: building, repairing, measuring.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use wormcast_network::{Network, TopologySpec};
use wormcast_routing::{
    SpanningTree, TreeOptions, combined_distance, edge_disjoint_trees, repair_trees, tree_construction_by_name,
    working_links,
};

fn build(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().expect("a topology").build().expect("a network")
}

fn trees(name: &str, network: &Arc<Network>, seed: u64) -> Vec<SpanningTree> {
    let options = TreeOptions { seed, ..TreeOptions::default() };
    tree_construction_by_name(name, network, &options).expect("trees")
}

fn constructions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("construction");
    group.sample_size(10);
    for spec in ["torus:16x16", "torus:33x33", "torus:256x256"] {
        let network = build(spec);
        group.bench_function(BenchmarkId::new("dstm-1", spec), |b| b.iter(|| trees("dstm-1", black_box(&network), 0)));
    }
    let networks = ["torus:16x16", "torus:33x33", "torus:128x128", "torus:16x16x16", "hypercube:12", "mesh:33x33"];
    for spec in networks {
        let network = build(spec);
        let mut seed = 0;
        group.bench_function(BenchmarkId::new("dstm-tarjan", spec), |b| {
            b.iter(|| {
                seed += 1;
                trees("dstm-tarjan", black_box(&network), seed)
            });
        });
    }
    // That there is no second tree has to be found out, in the order of the links and not at random.
    let mesh = build("mesh:128x128");
    let links = working_links(&mesh, &[]);
    group.bench_function("two trees of mesh:128x128, in vain", |b| {
        b.iter(|| edge_disjoint_trees(black_box(&mesh), &links, Some(2)).expect("one tree"));
    });
}

fn repair(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("repair");
    group.sample_size(10);
    for spec in ["torus:16x16", "torus:256x256"] {
        let network = build(spec);
        let intact = trees("dstm-1", &network, 0);
        let failed: Vec<_> = intact.iter().filter_map(|tree| tree.links().nth(tree.routers() / 3)).collect();
        group.bench_function(BenchmarkId::new("two failed links", spec), |b| {
            b.iter(|| repair_trees(black_box(&network), &intact, &failed).expect("trees"));
        });
    }
}

fn distances(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("distance");
    group.sample_size(10);
    for spec in ["torus:16x16", "torus:33x33", "torus:64x64"] {
        let network = build(spec);
        let pair = trees("dstm-1", &network, 0);
        group.bench_function(BenchmarkId::new("all pairs", spec), |b| {
            b.iter(|| combined_distance(black_box(&network), &pair, &[]));
        });
    }
}

criterion_group!(benches, constructions, repair, distances);
criterion_main!(benches);
