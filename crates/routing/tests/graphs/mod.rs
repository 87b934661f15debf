//! Graphs to test on.

use proptest::prelude::*;
use wormcast_network::Network;

/// Links between routers, in the order in which a network is made of them.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) routers: usize,
    pub(crate) links: Vec<(u32, u32)>,
}

impl Graph {
    pub(crate) fn network(&self) -> Network {
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

/// Graphs side by side, each joined to one before: by a link (a bridge), or by a router that both share (a cut vertex).
fn joined(blocks: Vec<(Graph, u32, u32, bool)>) -> Graph {
    let mut all: Option<Graph> = None;
    for (block, here, there, bridge) in blocks {
        let Some(whole) = &mut all else {
            all = Some(block);
            continue;
        };
        let (before, size) = (whole.routers as u32, block.routers as u32);
        let (here, there) = (here % before, there % size);
        // A shared router has its old number; those behind it close the gap.
        let number = |v: u32| match (bridge, v.cmp(&there)) {
            (true, _) | (_, std::cmp::Ordering::Less) => before + v,
            (false, std::cmp::Ordering::Equal) => here,
            (false, std::cmp::Ordering::Greater) => before + v - 1,
        };
        whole.links.extend(block.links.iter().map(|&(u, v)| (number(u), number(v))));
        if bridge {
            whole.links.push((here, number(there)));
        }
        whole.routers += block.routers - usize::from(!bridge);
    }
    all.unwrap_or(Graph { routers: 1, links: Vec::new() })
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

/// Connected graphs: known ones and random ones, alone or joined at bridges and cut vertices, with any numbering.
pub(crate) fn graph() -> impl Strategy<Value = Graph> {
    let blocks = prop::collection::vec((block(), any::<u32>(), any::<u32>(), any::<bool>()), 1..5);
    blocks.prop_map(joined).prop_flat_map(|graph| {
        let numbers = Just((0..graph.routers as u32).collect::<Vec<_>>()).prop_shuffle();
        (Just(graph), numbers, any::<u64>()).prop_map(|(graph, numbers, turned)| graph.renumbered(&numbers, turned))
    })
}
