//! Graphs to test on.

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::Network;

/// Links between routers, in the order in which a network is made of them.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) routers: usize,
    pub(crate) links: Vec<(u32, u32)>,
}

impl Graph {
    pub(crate) fn network(&self) -> Arc<Network> {
        Network::from_links("graph", self.routers, &self.links)
    }

    pub(crate) fn turns(&self) -> u64 {
        let mut degree = vec![0u64; self.routers];
        for &(u, v) in &self.links {
            degree[u as usize] += 1;
            degree[v as usize] += 1;
        }
        degree.iter().map(|d| d * d.saturating_sub(1) / 2).sum()
    }

    /// The same with routers numbered by `numbers`, and links turned round where `turned` says.
    fn renumbered(&self, numbers: &[u32], turned: u64) -> Self {
        let links = self.links.iter().enumerate().map(|(i, &(u, v))| {
            let (u, v) = (numbers[u as usize], numbers[v as usize]);
            if turned >> (i % 64) & 1 == 1 { (v, u) } else { (u, v) }
        });
        Self { routers: self.routers, links: links.collect() }
    }
}

pub(crate) fn complete(n: u32) -> Graph {
    Graph { routers: n as usize, links: (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect() }
}

pub(crate) fn petersen() -> Graph {
    let links = (0..5).flat_map(|i| [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]).collect();
    Graph { routers: 10, links }
}

fn ring(n: u32) -> Graph {
    Graph { routers: n as usize, links: (0..n).map(|v| (v, (v + 1) % n)).collect() }
}

fn grid(width: u32, height: u32) -> Graph {
    let mut links = Vec::new();
    for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
        let router = y * width + x;
        links.extend((x + 1 < width).then_some((router, router + 1)));
        links.extend((y + 1 < height).then_some((router, router + width)));
    }
    Graph { routers: (width * height) as usize, links }
}

/// A tree with the parents given, and further links between any two routers; parallel ones only if wanted.
fn random(parents: &[u32], extra: &[(u32, u32)], parallel: bool) -> Graph {
    let routers = parents.len() as u32 + 1;
    let mut links: Vec<(u32, u32)> = (1..routers).zip(parents).map(|(v, p)| (v, p % v)).collect();
    for &(u, v) in extra {
        let (u, v) = (u % routers, v % routers);
        let known = links.iter().any(|&link| link == (u, v) || link == (v, u));
        if u != v && (parallel || !known) {
            links.push((u, v));
        }
    }
    Graph { routers: routers as usize, links }
}

/// How a block is joined to what was there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Joint {
    /// By a link between two routers: a bridge.
    Bridge,
    /// By a router that both share: a cut vertex.
    Shared,
    /// By a new router between two others: all its links are bridges.
    Between,
}

/// Graphs side by side, each joined to one before; and the routers that were put in between.
fn joined(blocks: Vec<(Graph, u32, u32, Joint)>) -> (Graph, Vec<u32>) {
    let mut whole = Graph { routers: 0, links: Vec::new() };
    let mut between = Vec::new();
    for (block, here, there, joint) in blocks {
        let (before, size) = (whole.routers as u32, block.routers as u32);
        if before == 0 {
            whole = block;
            continue;
        }
        let (here, there) = (here % before, there % size);
        // A shared router has its old number; those behind it close the gap.
        let number = |v: u32| match (joint, v.cmp(&there)) {
            (Joint::Bridge | Joint::Between, _) | (_, Ordering::Less) => before + v,
            (Joint::Shared, Ordering::Equal) => here,
            (Joint::Shared, Ordering::Greater) => before + v - 1,
        };
        whole.links.extend(block.links.iter().map(|&(u, v)| (number(u), number(v))));
        let (router, there) = (before + size, number(there));
        match joint {
            Joint::Bridge => whole.links.push((here, there)),
            Joint::Shared => {}
            Joint::Between => {
                whole.links.extend([(here, router), (router, there)]);
                between.push(router);
            }
        }
        whole.routers += match joint {
            Joint::Bridge => block.routers,
            Joint::Shared => block.routers - 1,
            Joint::Between => block.routers + 1,
        };
    }
    (whole, between)
}

fn block() -> impl Strategy<Value = Graph> {
    prop_oneof![
        1 => (1u32..7).prop_map(complete),
        1 => (3u32..8).prop_map(ring),
        1 => Just(petersen()),
        1 => (2u32..5, 2u32..4).prop_map(|(w, h)| grid(w, h)),
        // Trees too, if nothing is added.
        3 => (
            prop::collection::vec(any::<u32>(), 0..12),
            prop::collection::vec((any::<u32>(), any::<u32>()), 0..16),
            prop::bool::weighted(0.2),
        )
            .prop_map(|(parents, extra, parallel)| random(&parents, &extra, parallel)),
    ]
}

/// Connected graphs: known ones and random ones, alone or joined at bridges and cut vertices, with any numbering. In half of
/// them, routers put between others have the smallest numbers, so that they are taken first.
pub(crate) fn graph() -> impl Strategy<Value = Graph> {
    let joint = prop::sample::select(vec![Joint::Bridge, Joint::Shared, Joint::Between]);
    let blocks = prop::collection::vec((block(), any::<u32>(), any::<u32>(), joint), 1..5);
    blocks.prop_map(joined).prop_flat_map(|(graph, between)| {
        let routers = Just((0..graph.routers as u32).collect::<Vec<_>>()).prop_shuffle();
        (Just(graph), routers, any::<u64>(), any::<bool>()).prop_map(move |(graph, mut routers, turned, first)| {
            if first {
                routers.sort_by_key(|router| !between.contains(router));
            }
            let mut numbers = vec![0; routers.len()];
            for (number, &router) in (0..).zip(&routers) {
                numbers[router as usize] = number;
            }
            graph.renumbered(&numbers, turned)
        })
    })
}
