//! The cost of analysing irregular networks against their size: each part of what `wormcast routing` does, and a hop.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use wormcast_network::{Network, RouterId};
use wormcast_routing::{
    Adaptivity, ChannelNumbering, Dependencies, Root, RoutingRelation, TurnRouting, analyse_tables, choose_tables,
    turn_prohibition, up_down,
};

/// A connected network that looks random and is the same in every run: a random tree and further links, by splitmix64.
fn random(routers: u32, degree: u32) -> Arc<Network> {
    let mut state = 0u64;
    let mut below = |limit: u32| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(limit)) as u32
    };
    let mut links: Vec<(u32, u32)> = (1..routers).map(|v| (below(v), v)).collect();
    while links.len() < (routers * degree / 2) as usize {
        let (u, v) = (below(routers), below(routers));
        if u != v {
            links.push((u, v));
        }
    }
    Network::from_links("random", routers as usize, &links)
}

fn turns(criterion: &mut Criterion) {
    for (routers, degree) in [(64, 4), (256, 4), (256, 16), (1024, 4), (1024, 16), (4096, 16)] {
        let network = random(routers, degree);
        let name = format!("{routers} routers, degree {degree}");
        let mut group = criterion.benchmark_group(&name);
        group.sample_size(10);
        let prohibition = turn_prohibition(&network);
        group.bench_function("turn prohibition", |b| b.iter(|| turn_prohibition(black_box(&network))));
        group.bench_function("up*/down*", |b| b.iter(|| up_down(black_box(&network), Root::SmallestId)));
        let permits = |held, next| prohibition.permits(&network, held, next);
        group.bench_function("proof", |b| b.iter(|| ChannelNumbering::find(&network, permits)));
        group.bench_function("irreducibility", |b| b.iter(|| prohibition.irreducible(&network)));
        let routing = || TurnRouting::new("", &network, prohibition.clone(), Adaptivity::Adaptive);
        let made = routing();
        group.bench_function("survey", |b| b.iter(|| made.survey()));
        if routers <= 1024 {
            let chosen = choose_tables(&made, true).expect("permitted turns connect all");
            group.bench_function("choosing forwarding tables", |b| b.iter(|| choose_tables(&made, true)));
            group.bench_function("analysing forwarding tables", |b| {
                b.iter(|| {
                    let report = analyse_tables(&chosen.tables);
                    (report, Dependencies::of_tables(&chosen.tables).deadlock(1))
                });
            });
        }
        let mut candidates = Vec::new();
        group.bench_function("table for one target", |b| {
            b.iter_batched(
                routing,
                |routing| routing.candidates(RouterId::new(1), None, RouterId::new(0), &mut candidates),
                BatchSize::SmallInput,
            );
        });
        group.bench_with_input(BenchmarkId::new("hops", network.channels()), &made, |b, routing| {
            let channels: Vec<_> = (0..routers).flat_map(|r| network.outputs(RouterId::new(r))).collect();
            b.iter(|| {
                for &channel in &channels {
                    routing.candidates(network.to(channel), Some(channel), RouterId::new(7), &mut candidates);
                    black_box(&candidates);
                }
            });
        });
    }
}

criterion_group!(benches, turns);
criterion_main!(benches);
