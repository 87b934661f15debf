//! Paper 1, Table 1: startups of all-to-all broadcast on an n x n mesh, as exact closed forms.
//!
//! Only SCHL forwards in software; of all other algorithms, a source's startups are the worms of its broadcast. The printed forms
//! and what they differ in are in docs/algorithms.md.

use wormcast_multicast::{Multicast, Options, algorithm_by_name};
use wormcast_network::{NodeId, TopologySpec};

const SIDES: std::ops::RangeInclusive<u64> = 2..=16;

/// The startups of each source's broadcast on an n x n mesh: the largest number and the sum over the n^2 sources.
fn broadcast_startups(algorithm: &str, n: u64) -> (u64, u64) {
    let mesh = format!("mesh:{n}x{n}").parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name(algorithm, &mesh, &Options::default()).unwrap();
    let nodes: Vec<NodeId> = mesh.node_ids().collect();
    let startups = |&source: &NodeId| {
        let plan = algorithm.plan(&Multicast::new(source, &nodes));
        assert!(plan.worms.iter().all(|worm| worm.from == source));
        plan.worms.len() as u64
    };
    let startups: Vec<u64> = nodes.iter().map(startups).collect();
    (startups.iter().copied().max().unwrap(), startups.iter().sum())
}

/// Checks the maximum, and the mean times `denominator * n^2`, which is an integer polynomial.
fn check(algorithm: &str, max: impl Fn(u64) -> u64, denominator: u64, scaled_mean: impl Fn(u64) -> u64) {
    for n in SIDES {
        let (largest, sum) = broadcast_startups(algorithm, n);
        assert_eq!(largest, max(n), "maximum of {algorithm} for n = {n}");
        assert_eq!(sum * denominator, scaled_mean(n), "mean of {algorithm} for n = {n}");
    }
}

/// As printed for even n: 41n/48 - 3/8 - 1/(6n). For odd n: 41n/48 - 5/16 + 7/(48n) + 5/(16n^2).
#[test]
fn pure_negative_first() {
    let mean = |n: u64| match n % 2 {
        0 => 41 * n.pow(3) - 18 * n.pow(2) - 8 * n,
        _ => 41 * n.pow(3) - 15 * n.pow(2) + 7 * n + 15,
    };
    check("pure-negative-first", |n| n, 48, mean);
}

/// Maximum 3n - 3, mean 5n/3 - 1 + 4/(3n) - 2/n^2; printed: 3n - 2 and the mean of the optimal variant.
#[test]
fn minimal_negative_first() {
    check("minimal-negative-first", |n| 3 * n - 3, 3, |n| 5 * n.pow(3) - 3 * n.pow(2) + 4 * n - 6);
}

/// Maximum 3n - 4, mean 5n/3 - 2 + 4/(3n): the mean that is printed for the minimal algorithm.
#[test]
fn minimal_negative_first_optimal() {
    check("minimal-negative-first-optimal", |n| 3 * n - 4, 3, |n| 5 * n.pow(3) - 6 * n.pow(2) + 4 * n);
}

/// As printed: maximum 2, mean 2 - 2/n^2, for the two ends of the Hamiltonian path send one worm alone.
#[test]
fn dual_path() {
    check("dual-path", |_| 2, 1, |n| 2 * n.pow(2) - 2);
}

/// Not printed: maximum 4, mean 4 - 4/n, one worm for each neighbour of the source.
#[test]
fn multi_path() {
    check("multi-path", |n| if n == 2 { 2 } else { 4 }, 1, |n| 4 * n.pow(2) - 4 * n);
}

/// As printed: maximum 2n (for n = 2 no source has rows on both sides), mean 2n - 2.
#[test]
fn column_path() {
    check("column-path", |n| if n == 2 { 2 } else { 2 * n }, 1, |n| 2 * n.pow(3) - 2 * n.pow(2));
}

/// Every node broadcasts; a node's startups are the worms that it sends in all of the broadcasts together. Printed: maximum
/// 2n + 7, mean 2n + 4 - 12/n + 4/n^2. The mean is exact; the maximum is 2n + 8 from n = 3 on, and 3 for n = 2.
#[test]
fn schl() {
    for n in SIDES {
        let mesh = format!("mesh:{n}x{n}").parse::<TopologySpec>().unwrap().build().unwrap();
        let schl = algorithm_by_name("schl", &mesh, &Options::default()).unwrap();
        let nodes: Vec<NodeId> = mesh.node_ids().collect();
        let mut startups = vec![0u64; nodes.len()];
        for &source in &nodes {
            for worm in &schl.plan(&Multicast::new(source, &nodes)).worms {
                startups[worm.from.index()] += 1;
            }
        }
        assert_eq!(startups.iter().max(), Some(&if n == 2 { 3 } else { 2 * n + 8 }), "maximum for n = {n}");
        let scaled_mean = 2 * n.pow(3) + 4 * n.pow(2) + 4;
        assert_eq!(startups.iter().sum::<u64>() + 12 * n, scaled_mean, "mean for n = {n}");
    }
}
