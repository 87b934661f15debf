//! As many edge-disjoint spanning trees as there are, with the proof; repaired trees; distances over several trees.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::watch::{Watch, WorkProgress, watched};
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{
    Balance, BestBy, HAMILTON_TREES, SpanningTree, TARJAN_TREES, TorusMethod, TreeDescriptor, TreeError, TreeOptions,
    combined_distance, edge_disjoint_trees, repair_trees, tree_construction_by_name, working_links,
};

use crate::support::build;

fn link(network: &Arc<Network>, channel: ChannelId) -> ChannelId {
    channel.min(network.reverse(channel))
}

/// That these are edge-disjoint spanning trees of working links.
fn check_trees(network: &Arc<Network>, trees: &[SpanningTree], failed: &[ChannelId]) {
    let mut free: BTreeSet<ChannelId> = working_links(network, failed).into_iter().collect();
    for tree in trees {
        assert!(tree.is_spanning(network));
        for channel in tree.links() {
            assert!(free.remove(&link(network, channel)), "a link is used twice, or has failed");
        }
    }
}

/// The largest number of edge-disjoint spanning trees, by the theorem of Tutte and Nash-Williams and nothing else: the least that any
/// partition of the routers allows.
fn most_trees(network: &Arc<Network>) -> usize {
    fn least(network: &Arc<Network>, part: &mut Vec<usize>, parts: usize) -> usize {
        if part.len() == network.routers() {
            let links = working_links(network, &[]).into_iter();
            let crossing = links.filter(|&link| part[network.from(link).index()] != part[network.to(link).index()]);
            return crossing.count().checked_div(parts - 1).unwrap_or(usize::MAX);
        }
        let mut fewest = usize::MAX;
        for own in 0..=parts {
            part.push(own);
            fewest = fewest.min(least(network, part, parts.max(own + 1)));
            part.pop();
        }
        fewest
    }
    least(network, &mut Vec::new(), 0)
}

/// A connected multigraph, its links in any order.
fn graphs(routers: std::ops::Range<u32>, more: usize) -> impl Strategy<Value = Arc<Network>> {
    routers.prop_flat_map(move |routers| {
        let tree = (1..routers).map(|router| 0..router).collect::<Vec<_>>();
        let more = prop::collection::vec((0..routers, 0..routers), 0..more);
        (tree, more).prop_flat_map(move |(tree, more)| {
            let mut links: Vec<(u32, u32)> = tree.into_iter().zip(1..).collect();
            links.extend(more.into_iter().filter(|(a, b)| a != b));
            Just(links).prop_shuffle().prop_map(move |links| Network::from_links("graph", routers as usize, &links))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn there_are_as_many_as_the_theorem_says(network in graphs(2..7, 24)) {
        let found = edge_disjoint_trees(&network, &working_links(&network, &[]), None).unwrap();
        check_trees(&network, &found.trees, &[]);
        prop_assert_eq!(found.trees.len(), most_trees(&network));
    }

    /// Trees prove that there are so many, the partition that there are no more: no theorem is needed.
    #[test]
    fn the_partition_proves_that_there_are_no_more(
        network in graphs(2..40, 200),
        wanted in prop::option::of(1usize..6),
        seed: u64,
    ) {
        let most = edge_disjoint_trees(&network, &working_links(&network, &[]), None).unwrap();
        check_trees(&network, &most.trees, &[]);
        let limit = most.limit.unwrap();
        prop_assert_eq!(limit.allows(&network, &[]), Some(most.trees.len()));
        prop_assert!(limit.crossing(&network, &[]) < (most.trees.len() + 1) * (limit.parts() - 1));
        prop_assert_eq!(limit.members().concat().len(), network.routers());

        let options = TreeOptions { seed, trees: wanted, ..TreeOptions::default() };
        match TARJAN_TREES.build(&network, &options) {
            Ok(found) => {
                check_trees(&network, &found.trees, &[]);
                prop_assert_eq!(found.trees.len(), wanted.unwrap_or(most.trees.len()));
            }
            Err(TreeError::TooFew { found, wanted, parts, crossing, .. }) => {
                prop_assert_eq!(found, most.trees.len());
                prop_assert!(found < wanted && crossing < (found + 1) * (parts - 1));
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn distances_are_those_of_a_naive_search(network in graphs(2..20, 60), cut in prop::collection::vec(any::<prop::sample::Index>(), 0..3)) {
        let found = edge_disjoint_trees(&network, &working_links(&network, &[]), None).unwrap();
        let failed: Vec<_> = cut.iter().map(|at| ChannelId::new(at.index(network.channels()) as u32)).collect();
        let routers = network.routers();
        let mut least = vec![vec![u32::MAX / 2; routers]; routers];
        for tree in &found.trees {
            let mut distance = vec![vec![u32::MAX / 2; routers]; routers];
            for (router, row) in distance.iter_mut().enumerate() {
                row[router] = 0;
            }
            for channel in tree.links().filter(|&c| !failed.contains(&c) && !failed.contains(&network.reverse(c))) {
                let (a, b) = (network.from(channel).index(), network.to(channel).index());
                (distance[a][b], distance[b][a]) = (1, 1);
            }
            for via in 0..routers {
                for a in 0..routers {
                    for b in 0..routers {
                        distance[a][b] = distance[a][b].min(distance[a][via] + distance[via][b]);
                    }
                }
            }
            for (least, row) in least.iter_mut().flatten().zip(distance.iter().flatten()) {
                *least = (*least).min(*row);
            }
        }
        let all: Vec<u32> = least.concat();
        let combined = combined_distance(&network, &found.trees, &failed);
        if all.iter().any(|&distance| distance >= u32::MAX / 2) {
            prop_assert_eq!(combined, None);
        } else {
            let combined = combined.unwrap();
            prop_assert_eq!(combined.diameter, *all.iter().max().unwrap());
            let pairs = (routers * (routers - 1)) as f64;
            prop_assert!((combined.average - f64::from(all.iter().sum::<u32>()) / pairs).abs() < 1e-9);
        }
    }

    #[test]
    fn roots_are_balanced_best(network in graphs(1..30, 30)) {
        let tree = &edge_disjoint_trees(&network, &working_links(&network, &[]), Some(1)).unwrap().trees[0];
        let largest_branch = |root| {
            let tree = tree.rooted_at(&network, root).unwrap();
            tree.children(root).iter().map(|&child| tree.subtree(network.to(child)).len()).max().unwrap_or(0)
        };
        let all = network.router_ids();
        let best = all.map(largest_branch).min().unwrap();
        prop_assert_eq!(largest_branch(tree.best_balanced_root(&network)), best);
    }
}

#[test]
fn known_numbers_of_trees() {
    let known = [
        ("mesh:5x7", 1),
        ("mesh:3x3x3", 2),
        ("mesh:4x3x5", 2),
        ("mesh:2x3x3", 1),
        ("torus:9", 1),
        ("torus:7x5", 2),
        ("torus:2x2", 2),
        ("torus:4x4x4", 3),
        ("torus:3x5x2", 3),
        ("torus:3x3x3x3", 4),
        ("hypercube:2", 1),
        ("hypercube:5", 2),
        ("hypercube:6", 3),
        ("hypercube:9", 4),
        ("complete:7", 3),
        ("complete:12", 6),
        ("petersen", 1),
        ("tree:nodes=50,seed=1", 1),
    ];
    for (spec, trees) in known {
        let network = build(spec);
        let found = TARJAN_TREES.build(&network, &TreeOptions { seed: 7, ..TreeOptions::default() }).unwrap();
        check_trees(&network, &found.trees, &[]);
        assert_eq!(found.trees.len(), trees, "{spec}");
        assert_eq!(found.limit.unwrap().allows(&network, &[]), Some(trees), "{spec}");
    }
}

/// A network of one router has the empty tree.
#[test]
fn a_single_router() {
    let network = build("mesh:1");
    for trees in [None, Some(3)] {
        let options = TreeOptions { trees, best_of: Some(2), ..TreeOptions::default() };
        let found = tree_construction_by_name("dstm-tarjan", &network, &options).unwrap();
        assert_eq!(found.len(), trees.unwrap_or(1));
        assert_eq!(combined_distance(&network, &found, &[]).unwrap().diameter, 0);
    }
}

/// Figure 7 of paper 5, and other sizes.
#[test]
fn the_hamilton_order_makes_two_hamilton_paths() {
    for side in 2..=16 {
        let network = build(&format!("torus:{side}x{side}"));
        let trees = tree_construction_by_name("dstm-tarjan-path", &network, &TreeOptions::default()).unwrap();
        check_trees(&network, &trees, &[]);
        assert_eq!(trees.len(), 2);
        for tree in &trees {
            let all = network.router_ids();
            assert!(all.into_iter().all(|router| tree.degree(router) <= 2), "{side}");
        }
    }
}

#[test]
fn seeds_make_other_trees_and_the_same_seed_the_same() {
    let network = build("torus:8x8");
    let trees = |seed| {
        tree_construction_by_name("dstm-tarjan", &network, &TreeOptions { seed, ..TreeOptions::default() }).unwrap()
    };
    assert_eq!(trees(1), trees(1));
    assert_ne!(trees(1), trees(2));
}

#[test]
fn the_best_of_several_is_no_worse_than_fewer() {
    let network = build("torus:8x8");
    let score = |best_of| {
        let options = TreeOptions { seed: 3, best_of: Some(best_of), ..TreeOptions::default() };
        let trees = tree_construction_by_name("dstm-tarjan", &network, &options).unwrap();
        let distance = combined_distance(&network, &trees, &[]).unwrap();
        (distance.diameter, distance.average)
    };
    let scores = [1, 4, 16, 64].map(score);
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores[3] < scores[0]);
}

/// The progress is that of all orders, and not of what is done for each; whoever stops it has the best of those that were tried.
#[test]
fn the_best_of_those_that_were_tried_is_left_when_it_is_stopped() {
    struct After(u64, std::cell::RefCell<Vec<WorkProgress>>);
    impl Watch for After {
        fn step(&self, step: WorkProgress) -> ControlFlow<()> {
            self.1.borrow_mut().push(step);
            if step.done >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let network = build("torus:8x8");
    let best = |best_of| {
        let options = TreeOptions { seed: 3, best_of: Some(best_of), ..TreeOptions::default() };
        TARJAN_TREES.build(&network, &options).unwrap().trees
    };
    let watch = Rc::new(After(16, std::cell::RefCell::default()));
    let stopped = watched(Rc::clone(&watch) as Rc<dyn Watch>, || best(100)).unwrap();
    assert_eq!(stopped, best(16));
    assert_ne!(stopped, best(100));
    let steps = watch.1.borrow();
    assert!(steps.len() > 17 && steps.is_sorted_by_key(|step| step.done), "{steps:?}");
    assert!(steps.iter().all(|step| step.work == "trying orders of links" && step.of == 100), "{steps:?}");
}

/// What is best by each measure, said independently: from all orders, one by one.
#[test]
fn the_best_of_several_is_best_by_its_measure() {
    let network = build("torus:6x6");
    let orders = 40;
    for seed in 0..3 {
        let best = |best_of, best_by| {
            let options = TreeOptions { seed, best_of: Some(best_of), best_by, ..TreeOptions::default() };
            TARJAN_TREES.build(&network, &options).unwrap().trees
        };
        let measured = |trees: &[SpanningTree]| {
            let distance = combined_distance(&network, trees, &[]).unwrap();
            let branches = |tree: &SpanningTree| {
                let children = tree.children(tree.root()).iter().map(|&child| network.to(child));
                children.map(|child| tree.subtree(child).len()).max().unwrap()
            };
            let branches: Vec<usize> = trees.iter().map(branches).collect();
            (distance.diameter, distance.average, *branches.iter().max().unwrap(), branches.iter().sum::<usize>())
        };
        let by_diameter = measured(&best(orders, Some(BestBy::Diameter)));
        let by_distance = measured(&best(orders, Some(BestBy::Distance)));
        let by_balance = measured(&best(orders, Some(BestBy::Balance)));
        assert_eq!(measured(&best(orders, None)), by_diameter);
        assert!(by_diameter.0 <= by_distance.0 && by_distance.1 <= by_diameter.1);
        assert!(by_balance.0 >= by_diameter.0 && by_balance.1 >= by_distance.1);
        assert!(by_balance.2 <= by_diameter.2.max(by_distance.2), "{by_balance:?} {by_diameter:?} {by_distance:?}");
        // A tenth of ten orders is one: the one with the smallest product.
        let (few, product) = (measured(&best(10, Some(BestBy::Balance))), |m: (u32, f64, _, _)| f64::from(m.0) * m.1);
        for other in [BestBy::Diameter, BestBy::Distance] {
            assert!(product(few) <= product(measured(&best(10, Some(other)))));
        }
    }
}

/// A torus is joined by four links however it is parted, so it has two trees as long as not more than two links fail, and one as long as
/// not more than three do.
#[test]
fn trees_of_a_torus_are_repaired() {
    let network = build("torus:4x3");
    let links = working_links(&network, &[]);
    for name in ["dstm-1", "dstm-2"] {
        let options = |failed: &[ChannelId]| TreeOptions { failed: failed.to_vec(), ..TreeOptions::default() };
        let intact = tree_construction_by_name(name, &network, &options(&[])).unwrap();
        for (at, &one) in links.iter().enumerate() {
            for &other in &links[at..] {
                let failed = [one, other];
                let trees = tree_construction_by_name(name, &network, &options(&failed)).unwrap();
                check_trees(&network, &trees, &failed);
                assert_eq!(trees.len(), 2);
                if !intact.iter().any(|tree| failed.iter().any(|&link| tree.contains(&network, link))) {
                    assert_eq!(trees, intact, "nothing was to be repaired");
                }
            }
        }
        for at in 0..links.len() - 2 {
            let failed = [links[at], links[at + 1], links[links.len() - 1 - at / 2]];
            if BTreeSet::from(failed).len() < 3 {
                continue;
            }
            let found = repair_trees(&network, &intact, &failed).unwrap();
            check_trees(&network, &found.trees, &failed);
            assert_eq!(found.trees.len(), 1);
            assert_eq!(found.limit.unwrap().allows(&network, &failed), Some(1));
        }
    }
}

#[test]
fn faults_that_disconnect_are_reported() {
    let network = build("torus:4x4");
    let failed: Vec<_> = network.outputs(RouterId::new(5)).collect();
    for name in ["dstm-1", "dstm-tarjan", "dstm-tarjan-path"] {
        let options = TreeOptions { failed: failed.clone(), ..TreeOptions::default() };
        let message = tree_construction_by_name(name, &network, &options).unwrap_err().to_string();
        assert_eq!(
            message,
            "`torus:4x4` without the failed links is not connected: no link joins router 5 to the rest"
        );
    }
    let message = |spec: &str, trees| {
        let options = TreeOptions { trees: Some(trees), ..TreeOptions::default() };
        tree_construction_by_name("dstm-tarjan", &build(spec), &options).unwrap_err().to_string()
    };
    assert_eq!(
        message("torus:4x4", 3),
        "`torus:4x4` has 2 edge-disjoint spanning trees, not 3: routers can be put into 16 groups with only 32 links between \
         them, and 3 trees need 45"
    );
    assert_eq!(
        message("mesh:9", 2),
        "`mesh:9` has 1 edge-disjoint spanning tree, not 2: routers can be put into 9 groups with only 8 links between \
         them, and 2 trees need 16"
    );
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let network = build("torus:4x4");
    let message = |name: &str, options: TreeOptions| {
        TreeDescriptor::named(name).unwrap().build(&network, &options).unwrap_err().to_string()
    };
    let second = || TreeOptions { second: Some(RouterId::new(3).into()), ..TreeOptions::default() };
    let refused = "no choice of the second starting node: `dstm-1`, `dstm-2` and `dstm` have";
    assert!(message("dstm-tarjan", second()).ends_with(refused));
    let method = || TreeOptions { method: Some(TorusMethod::DSTM_2), ..TreeOptions::default() };
    assert_eq!(message("dstm-1", method()), "`dstm-1` has no choice of the method: `dstm` has");
    let by = || TreeOptions { best_by: Some(BestBy::Balance), ..TreeOptions::default() };
    assert_eq!(message("spam", by()), "`spam` has no choice of what is best: `dstm-tarjan` has");
    let best = || TreeOptions { best_of: Some(3), ..TreeOptions::default() };
    assert_eq!(message("dstm", best()), "`dstm` has no choice of the best of several: `dstm-tarjan` has");
    let branch = || TreeOptions { balance: Some(Balance::Branch), ..TreeOptions::default() };
    assert!(
        message("dstm-tarjan-path", branch())
            .ends_with("no choice of moved branches: `dstm-1`, `dstm-2` and `dstm` have")
    );
    let both = || TreeOptions { first: Some(RouterId::new(3)), balance: Some(Balance::Root), ..TreeOptions::default() };
    assert!(message("dstm-tarjan", both()).contains("no choice of a balanced root beside the starting node"));
    let rectangle = build("torus:4x5");
    let error = HAMILTON_TREES.build(&rectangle, &TreeOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`dstm-tarjan-path` needs a torus of two dimensions of equal size, at least 2, but `torus:4x5` is a torus of 4 by 5 \
         routers"
    );
}
