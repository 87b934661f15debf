//! Theorem 4.1 of paper 5: two edge-disjoint binary spanning trees in any torus, two links unused.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::{ChannelId, Direction, Network, RouterId};
use wormcast_routing::{
    Balance, SecondStart, SpanningTree, Sweep, TorusMethod, TorusTrees, TreeOptions, combined_distance,
    tree_construction_by_name,
};

use crate::support::build;

fn torus(columns: u32, rows: u32) -> Arc<Network> {
    build(&format!("torus:{columns}x{rows}"))
}

/// A link, whichever of its channels names it.
fn link(network: &Arc<Network>, channel: ChannelId) -> ChannelId {
    channel.min(network.reverse(channel))
}

fn links(network: &Arc<Network>, tree: &SpanningTree) -> BTreeSet<ChannelId> {
    tree.links().map(|channel| link(network, channel)).collect()
}

/// Whether links join all routers: by flooding, which has nothing in common with how trees are made.
fn joins_all(network: &Arc<Network>, links: &BTreeSet<ChannelId>) -> bool {
    let mut met = vec![false; network.routers()];
    met[0] = true;
    let mut queue = vec![RouterId::new(0)];
    while let Some(router) = queue.pop() {
        for channel in network.outputs(router).filter(|&channel| links.contains(&link(network, channel))) {
            let next = network.to(channel);
            if !std::mem::replace(&mut met[next.index()], true) {
                queue.push(next);
            }
        }
    }
    met.into_iter().all(|met| met)
}

/// Everything that Theorem 4.1 and section 4 say of one pair of trees.
fn check(network: &Arc<Network>, trees: TorusTrees) {
    let [one, two] = trees.build(network).unwrap();
    let [first, second] = [links(network, &one), links(network, &two)];
    for (tree, links) in [(&one, &first), (&two, &second)] {
        assert_eq!(links.len(), network.routers() - 1, "{trees:?}");
        assert!(joins_all(network, links), "{trees:?}");
        assert!(tree.is_spanning(network), "{trees:?}");
        assert!(tree.is_binary(), "{trees:?}");
    }
    assert!(first.is_disjoint(&second), "{trees:?}");
    let all: BTreeSet<_> =
        (0..network.channels() as u32).map(|channel| link(network, ChannelId::new(channel))).collect();
    let unused: BTreeSet<_> = all.into_iter().filter(|link| !first.contains(link) && !second.contains(link)).collect();
    assert_eq!(unused.len(), 2, "{trees:?}");

    // Without moved branches, the unused links are the one of the row behind R1 and the one of the column behind R2.
    let behind = |start, dimension, grows| {
        let direction = if grows == Direction::Positive { Direction::Negative } else { Direction::Positive };
        link(network, network.channel_along(start, dimension, direction).unwrap())
    };
    let TorusMethod { first: Sweep { x, .. }, second: Sweep { y, .. } } = trees.method;
    let expected = BTreeSet::from([behind(trees.first, 0, x), behind(trees.second, 1, y)]);
    match trees.balance {
        Balance::None => {
            assert_eq!((one.root(), two.root()), (trees.first, trees.second));
            assert_eq!(unused, expected);
        }
        Balance::Root => {
            assert_eq!(one.root(), two.root());
            assert_eq!(unused, expected);
        }
        Balance::Branch => {
            assert_eq!((one.root(), two.root()), (trees.first, trees.second));
            for (tree, extent) in [(&one, 0), (&two, 1)] {
                let extent = network.shape().grid().unwrap().extents()[extent];
                // A ring of two has only one other router to put on either side.
                assert!(tree.degree(tree.root()) == 2 || extent == 2, "{trees:?}");
            }
        }
    }
}

const BALANCES: [Balance; 3] = [Balance::None, Balance::Root, Balance::Branch];

#[test]
fn every_torus_from_2_to_12_with_every_method_and_balance() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for columns in 2..=12 {
        for rows in 2..=12 {
            let network = torus(columns, rows);
            for method in TorusMethod::all() {
                for balance in BALANCES {
                    let routers = 0..columns * rows;
                    let starts = (routers.clone(), routers).new_tree(&mut runner).unwrap();
                    let (first, second) = proptest::strategy::ValueTree::current(&starts);
                    let [first, second] = [first, second].map(RouterId::new);
                    check(&network, TorusTrees { first, second, method, balance });
                }
            }
        }
    }
}

/// All pairs of starting nodes, too: 20 million pairs of trees.
#[test]
#[ignore = "takes minutes; `cargo test --release -p wormcast-routing --test torus_trees -- --ignored`"]
fn every_pair_of_starting_nodes() {
    for columns in 2..=12 {
        for rows in 2..=12 {
            let network = torus(columns, rows);
            for first in (0..columns * rows).map(RouterId::new) {
                for second in (0..columns * rows).map(RouterId::new) {
                    for method in TorusMethod::all() {
                        for balance in BALANCES {
                            check(&network, TorusTrees { first, second, method, balance });
                        }
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_torus(columns in 2u32..40, rows in 2u32..40, starts: (prop::sample::Index, prop::sample::Index),
                 method in 0usize..16, balance in 0usize..3) {
        let network = torus(columns, rows);
        let [first, second] = [starts.0, starts.1].map(|start| RouterId::new(start.index(network.routers()) as u32));
        let method = TorusMethod::all().nth(method).unwrap();
        check(&network, TorusTrees { first, second, method, balance: BALANCES[balance] });
    }
}

/// Table 1, edge set by edge set, as it is printed.
#[test]
fn table_1() {
    let (columns, rows) = (6, 5);
    let network = torus(columns, rows);
    let grid = network.shape().grid().unwrap();
    let node = |x: u32, y: u32| RouterId::new(grid.index(&[x % columns, y % rows]) as u32);
    let h = |x: u32, y: u32| link(&network, network.channel_along(node(x, y), 0, Direction::Positive).unwrap());
    let v = |x: u32, y: u32| link(&network, network.channel_along(node(x, y), 1, Direction::Positive).unwrap());
    let ((x1, y1), (x2, y2)) = ((1, 2), (4, 3));
    let behind = |x: u32| x + columns - 1;
    let pairs = || (0..columns).flat_map(|x| (0..rows).map(move |y| (x, y)));
    let mut first = BTreeSet::new();
    first.extend((0..columns).filter(|&x| x != behind(x1) % columns).map(|x| h(x, y1)));
    first.extend(pairs().filter(|&(x, y)| x != x2 && y != y1).map(|(x, y)| v(x, y)));
    first.extend((0..rows).filter(|&y| y != y1).map(|y| h(behind(x2), y)));
    let mut second = BTreeSet::new();
    second.extend((0..rows).filter(|&y| y != y2).map(|y| v(x2, y)));
    second.extend(pairs().filter(|&(x, y)| x != behind(x2) % columns && y != y1).map(|(x, y)| h(x, y)));
    second.extend((0..columns).filter(|&x| x != x2).map(|x| v(x, y1)));

    let trees =
        TorusTrees { first: node(x1, y1), second: node(x2, y2), method: TorusMethod::DSTM_1, balance: Balance::Root };
    let [one, two] = trees.build(&network).unwrap();
    assert_eq!(links(&network, &one), first);
    assert_eq!(links(&network, &two), second);
    // Nodes P and Q of Figure 4, where the row of R1 and the column of R2 meet.
    assert_eq!((one.root(), two.root()), (node(x2, y1), node(x2, y1)));
}

/// Figure 5: both starting nodes in one row; the root of the second tree gets a second branch.
#[test]
fn half_a_branch_is_moved() {
    let network = torus(5, 5);
    let (first, second) = (RouterId::new(0), RouterId::new(3));
    let trees = |balance| TorusTrees { first, second, method: TorusMethod::DSTM_1, balance }.build(&network).unwrap();
    let [before, after] = [Balance::None, Balance::Branch].map(trees);
    assert_eq!(before[0], after[0]);
    assert_eq!((before[1].degree(second), after[1].degree(second)), (1, 2));
    let column = |y: u32| RouterId::new(3 + 5 * y);
    // Downwards from (3,0): four routers in one branch before, two on either side after.
    assert_eq!([4, 3, 2, 1].map(|y| before[1].depth(column(y))), [1, 2, 3, 4]);
    assert_eq!([4, 3, 2, 1].map(|y| after[1].depth(column(y))), [1, 2, 2, 1]);
}

/// The diameter and the average distance of a construction with its second starting node there.
fn distances(network: &Arc<Network>, name: &str, second: &str) -> (u32, f64) {
    let second = SecondStart::parse(network, second).unwrap();
    let options = TreeOptions { second: Some(second), ..TreeOptions::default() };
    let trees = tree_construction_by_name(name, network, &options).unwrap();
    let distance = combined_distance(network, &trees, &[]).unwrap();
    (distance.diameter, distance.average)
}

/// Theorem 5.1 says 2n - 1 for every n. That is so a column before where the paper has the second starting node, which is the same where n
/// is odd.
#[test]
fn theorem_5_1_is_exact_just_below_half_of_the_torus() {
    for n in 3..=16 {
        let network = torus(n, n);
        assert_eq!(distances(&network, "dstm-1", "below-half").0, 2 * n - 1, "{n}");
        let printed = distances(&network, "dstm-1", "half");
        assert_eq!(printed.0, 2 * n - 2 + n % 2, "{n}");
        let offset = format!("+{},+{}", n / 2, n / 2);
        assert_eq!(distances(&network, "dstm-1", &offset), printed, "{n}");
        let router = (n / 2 * (n + 1)).to_string();
        assert_eq!(distances(&network, "dstm-1", &router), printed, "{n}");
        let quarter = distances(&network, "dstm-2", "quarter");
        assert_eq!((quarter, quarter.0), (distances(&network, "dstm-2", &format!("+0,+{}", n / 4)), 2 * n - 2), "{n}");
        assert_eq!(distances(&network, "dstm-2", &format!("+0,-{}", n - n / 4)), quarter, "around the torus, {n}");
    }
}

/// Section 5.1 has the best start a quarter of the way up the column: distances are 30 and 14.720 there in a 16x16 torus. From (4,4) they
/// are shorter.
#[test]
fn dstm_2_has_a_better_start_than_the_printed_one() {
    let network = torus(16, 16);
    let [printed, better] = ["quarter", "4,4"].map(|second| distances(&network, "dstm-2", second));
    let rounded = |(diameter, average): (u32, f64)| format!("{diameter} {average:.3}");
    assert_eq!((rounded(printed), rounded(better)), ("30 14.720".to_owned(), "30 14.596".to_owned()));
}

#[test]
fn what_is_no_second_start_is_refused() {
    let network = torus(4, 5);
    for text in ["20", "4,0", "+1", "1,+1,", "halff", "+a,+b", "", "+9999999999,+1"] {
        let message = SecondStart::parse(&network, text).unwrap_err().to_string();
        let expected = "is not a starting node in `torus:4x5`: expected a router, by its number from 0 to 19 or by its coordinates, `half`, `below-half`, `quarter`, or";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn other_networks_are_refused() {
    let message = |spec: &str, name: &str, first: u32| {
        let options = TreeOptions { first: Some(RouterId::new(first)), ..TreeOptions::default() };
        tree_construction_by_name(name, &build(spec), &options).unwrap_err().to_string()
    };
    assert!(message("torus:4x4", "dstm-tarjn", 0).ends_with("; did you mean `dstm-tarjan`?"));
    for spec in ["torus:4", "torus:1x4", "torus:4x4x4", "mesh:4x4", "hypercube:4", "petersen"] {
        let message = message(spec, "dstm-1", 0);
        assert!(
            message.starts_with("`dstm-1` needs a torus of two dimensions, each of at least 2 routers, but"),
            "{message}"
        );
    }
    assert!(message("torus:4x4", "dstm-2", 16).ends_with("its routers are 0 to 15"));
}
