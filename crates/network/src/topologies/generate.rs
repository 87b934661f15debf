//! Generated graphs, most of them random.
//!
//! A graph is a function of its parameters and seed alone, on every machine. Links are sorted, so that a router's channels are in
//! the order of its neighbours.

use std::collections::HashSet;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::decimal::Decimal;
use crate::split_mix::mix;

/// Links, each from the smaller router.
pub(crate) type Links = Vec<(u32, u32)>;

/// The purpose of random numbers; part of every seed.
#[derive(Clone, Copy)]
enum Purpose {
    Random = 1,
    Regular = 2,
    SmallWorld = 3,
    Tree = 4,
}

fn generator(seed: u64, purpose: Purpose, attempt: u64) -> Xoshiro256PlusPlus {
    let mixed = [purpose as u64, attempt].into_iter().fold(seed, |state, value| mix(state ^ mix(value)));
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

fn link(u: u32, v: u32) -> (u32, u32) {
    (u.min(v), u.max(v))
}

fn sorted(links: impl IntoIterator<Item = (u32, u32)>) -> Links {
    let mut links: Links = links.into_iter().collect();
    links.sort_unstable();
    links
}

/// A connected graph without parallel links: a tree that is uniform among all labelled trees, and then links that are uniform
/// among the pairs of routers that have none yet, until there are as many as asked for.
///
/// Every connected graph is possible; those with more spanning trees are more likely. O(links).
pub(crate) fn random(nodes: u32, links: usize, seed: u64) -> Links {
    let mut rng = generator(seed, Purpose::Random, 0);
    let tree = uniform_tree(nodes, &mut rng);
    let pairs = nodes as usize * (nodes as usize - 1) / 2;
    let (free, missing) = (pairs - tree.len(), links - tree.len());
    let mut chosen: HashSet<(u32, u32)> = tree.into_iter().collect();
    if missing <= free / 2 {
        while chosen.len() < links {
            let (u, v) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
            if u != v {
                chosen.insert(link(u, v));
            }
        }
        return sorted(chosen);
    }
    // Most pairs are wanted: the last ones would be found by luck only, and listing all pairs costs no more than the links.
    let every = (0..nodes).flat_map(|u| (u + 1..nodes).map(move |v| (u, v)));
    let mut rest: Links = every.filter(|pair| !chosen.contains(pair)).collect();
    for position in 0..missing {
        let other = rng.random_range(position as u64..rest.len() as u64) as usize;
        rest.swap(position, other);
    }
    rest.truncate(missing);
    sorted(chosen.into_iter().chain(rest))
}

/// A tree that is uniform among all labelled trees: a random Prüfer code. O(nodes).
pub(crate) fn tree(nodes: u32, seed: u64) -> Links {
    sorted(uniform_tree(nodes, &mut generator(seed, Purpose::Tree, 0)))
}

fn uniform_tree(nodes: u32, rng: &mut Xoshiro256PlusPlus) -> Links {
    if nodes < 2 {
        return Vec::new();
    }
    let code: Vec<u32> = (0..nodes - 2).map(|_| rng.random_range(0..nodes)).collect();
    let mut degree = vec![1u32; nodes as usize];
    for &vertex in &code {
        degree[vertex as usize] += 1;
    }
    let mut links = Vec::with_capacity(nodes as usize - 1);
    // The smallest leaf that was not one before.
    let mut smallest = degree.iter().position(|&d| d == 1).unwrap_or(0) as u32;
    let mut leaf = smallest;
    for &vertex in &code {
        links.push(link(leaf, vertex));
        degree[vertex as usize] -= 1;
        if degree[vertex as usize] == 1 && vertex < smallest {
            leaf = vertex;
        } else {
            smallest += 1;
            while degree[smallest as usize] != 1 {
                smallest += 1;
            }
            leaf = smallest;
        }
    }
    links.push(link(leaf, nodes - 1));
    links
}

/// A connected graph without parallel links in which every router has the same degree.
///
/// Degree 2: a ring through the routers in random order. More: a graph of neighbours on a ring, and then ten attempts a link
/// to swap ends, (a, b) and (c, d) for (a, d) and (c, b), of two random links; a swap that would make a parallel link or join a
/// router to itself is not done. Such a walk tends to the uniform distribution among all graphs of that degree. If the result
/// is not connected, which is rare from degree 3 on, it goes on by an attempt a link until it is. `None`: not connected after a
/// thousand times that. O(links) as long as it is not.
pub(crate) fn regular(nodes: u32, degree: u32, seed: u64) -> Option<Links> {
    let mut rng = generator(seed, Purpose::Regular, 0);
    if degree == 2 {
        let mut order: Vec<u32> = (0..nodes).collect();
        for last in (1..nodes).rev() {
            order.swap(last as usize, rng.random_range(0..=last) as usize);
        }
        let next = order.iter().cycle().skip(1);
        return Some(sorted(order.iter().zip(next).map(|(&u, &v)| link(u, v))));
    }
    let mut links: Links = Vec::with_capacity(nodes as usize * degree as usize / 2);
    for offset in 1..=degree / 2 {
        links.extend((0..nodes).map(|u| link(u, (u + offset) % nodes)));
    }
    if degree % 2 == 1 {
        links.extend((0..nodes / 2).map(|u| (u, u + nodes / 2)));
    }
    let mut present: HashSet<(u32, u32)> = links.iter().copied().collect();
    let count = links.len() as u64;
    let mut attempts = 10 * count;
    for _ in 0..1000 {
        for _ in 0..attempts {
            let (i, j) = (rng.random_range(0..count) as usize, rng.random_range(0..count) as usize);
            let ((a, b), (mut c, mut d)) = (links[i], links[j]);
            if rng.random_range(0..2u32) == 1 {
                (c, d) = (d, c);
            }
            let (first, second) = (link(a, d), link(c, b));
            if a == d || c == b || i == j || first == second || present.contains(&first) || present.contains(&second) {
                continue;
            }
            present.remove(&links[i]);
            present.remove(&links[j]);
            present.extend([first, second]);
            (links[i], links[j]) = (first, second);
        }
        if is_connected(nodes, &links) {
            return Some(sorted(links));
        }
        attempts = count;
    }
    None
}

/// A small world after Watts and Strogatz: a ring in which each router is joined to `degree / 2` neighbours on either side,
/// and then, distance by distance and router by router, each link to a neighbour ahead is moved with a probability of
/// `rewire`: to a router that is uniform among those that are not joined yet, unless there are none. Graphs that are not
/// connected are thrown away. `None`: a hundred were. O(links) for each.
pub(crate) fn small_world(nodes: u32, degree: u32, rewire: Decimal, seed: u64) -> Option<Links> {
    (0..100).find_map(|attempt| {
        let mut rng = generator(seed, Purpose::SmallWorld, attempt);
        let near = |offset: u32| (0..nodes).map(move |u| (u, (u + offset) % nodes));
        let mut present: HashSet<(u32, u32)> = (1..=degree / 2).flat_map(near).map(|(u, v)| link(u, v)).collect();
        let mut degrees = vec![degree; nodes as usize];
        for (u, v) in (1..=degree / 2).flat_map(near) {
            if !rewire.happens(&mut rng) || degrees[u as usize] == nodes - 1 {
                continue;
            }
            let w = loop {
                let w = rng.random_range(0..nodes);
                if w != u && !present.contains(&link(u, w)) {
                    break w;
                }
            };
            present.remove(&link(u, v));
            present.insert(link(u, w));
            degrees[v as usize] -= 1;
            degrees[w as usize] += 1;
        }
        let links = sorted(present);
        is_connected(nodes, &links).then_some(links)
    })
}

/// Each router joined to the next, and the last to the first.
pub(crate) fn ring(nodes: u32) -> Links {
    sorted((0..nodes).map(|u| link(u, (u + 1) % nodes)))
}

/// Each router joined to every other.
pub(crate) fn complete(nodes: u32) -> Links {
    (0..nodes).flat_map(|u| (u + 1..nodes).map(move |v| (u, v))).collect()
}

/// The Petersen graph: a ring of routers 0 to 4, each joined to one of 5 to 9, which are joined at distance two.
pub(crate) fn petersen() -> Links {
    sorted((0..5).flat_map(|i| [link(i, (i + 1) % 5), (i, i + 5), link(i + 5, (i + 2) % 5 + 5)]))
}

fn is_connected(nodes: u32, links: &[(u32, u32)]) -> bool {
    let mut parent: Vec<u32> = (0..nodes).collect();
    let mut parts = nodes;
    for &(u, v) in links {
        let [u, v] = [u, v].map(|mut at| {
            while parent[at as usize] != at {
                parent[at as usize] = parent[parent[at as usize] as usize];
                at = parent[at as usize];
            }
            at
        });
        if u != v {
            parent[u as usize] = v;
            parts -= 1;
        }
    }
    parts == 1
}
