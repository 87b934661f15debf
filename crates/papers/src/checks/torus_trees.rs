//! Remarks of paper 5 on trees: where to start them, failed links, and more dimensions.

use rand::seq::SliceRandom;
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{
    Balance, CombinedDistance, SpanningTree, TorusMethod, TorusTrees, TreeError, combined_distance,
    edge_disjoint_trees, local_fault_distance, working_links,
};

use super::{CheckOutcome, generator, network};

/// The sides of the tori on which all starts are looked at: multiples of 4, which have midpoints.
fn sides(quick: bool) -> &'static [u32] {
    if quick { &[8, 16] } else { &[8, 12, 16, 20] }
}

/// Two trees of a torus: how far the second starting node is from the first, by which method, and what distances they have.
struct Start {
    offset: (u32, u32),
    method: TorusMethod,
    distance: CombinedDistance,
}

impl Start {
    fn text(&self) -> String {
        let Self { offset: (x, y), method, distance } = self;
        format!(
            "R2 = R1 + ({x}, {y}) by {method} has a combined diameter of {} and an average distance of {:.3}",
            distance.diameter, distance.average
        )
    }
}

/// The trees from some second starting nodes by some methods.
fn starts(side: u32, offsets: impl Iterator<Item = (u32, u32)>, methods: &[TorusMethod]) -> Vec<Start> {
    let torus = network(&format!("torus:{side}x{side}"));
    offsets
        .flat_map(|offset| methods.iter().map(move |&method| (offset, method)))
        .map(|((x, y), method)| {
            let [first, second] = [0, y * side + x].map(RouterId::new);
            let trees = trees_of(&torus, TorusTrees { first, second, method, balance: Balance::None });
            Start { offset: (x, y), method, distance: distance_in(&torus, &trees) }
        })
        .collect()
}

fn trees_of(torus: &Network, trees: TorusTrees) -> [SpanningTree; 2] {
    trees.build(torus).unwrap_or_else(|error| unreachable!("{error}"))
}

fn distance_in(network: &Network, trees: &[SpanningTree]) -> CombinedDistance {
    combined_distance(network, trees, &[]).unwrap_or_else(|| unreachable!("spanning trees reach all routers"))
}

/// The smallest combined diameter and the smallest average distance.
fn least<'a>(starts: impl IntoIterator<Item = &'a Start>) -> (u32, f64) {
    starts.into_iter().fold((u32::MAX, f64::INFINITY), |(diameter, average), start| {
        (diameter.min(start.distance.diameter), average.min(start.distance.average))
    })
}

/// Along the row both minima fall up to the midpoint and rise behind it.
pub(super) fn midpoint_of_row(quick: bool) -> CheckOutcome {
    midpoint_of_row_by(quick, &TorusMethod::all().collect::<Vec<_>>())
}

/// The same by the method of DSTM-1 alone.
pub(super) fn midpoint_of_row_by_dstm_1(quick: bool) -> CheckOutcome {
    midpoint_of_row_by(quick, &[TorusMethod::DSTM_1])
}

fn midpoint_of_row_by(quick: bool, methods: &[TorusMethod]) -> CheckOutcome {
    for &side in sides(quick) {
        let row = starts(side, (1..=side / 2).map(|y| (0, y)), methods);
        if let Some(problem) = not_a_valley(side, &row) {
            return CheckOutcome::of(false, format!("{side}x{side}, along the row: {problem}"));
        }
    }
    CheckOutcome::of(true, format!("tori of {:?} rows and columns, all second starting nodes of the row", sides(quick)))
}

/// Along the diagonal both minima fall up to the midpoint and rise behind it.
pub(super) fn midpoint_of_diagonal(quick: bool) -> CheckOutcome {
    let methods: Vec<_> = TorusMethod::all().collect();
    for &side in sides(quick) {
        let diagonal = starts(side, (1..=side / 2).map(|step| (step, step)), &methods);
        if let Some(problem) = not_a_valley(side, &diagonal) {
            return CheckOutcome::of(false, format!("{side}x{side}, along the diagonal: {problem}"));
        }
    }
    let because = format!("tori of {:?} rows and columns, all second starting nodes of the diagonal", sides(quick));
    CheckOutcome::of(true, because)
}

/// Where the minima do not fall up to a quarter of the side and rise from there on; a minimum may stay the same from one node to the next.
fn not_a_valley(side: u32, starts: &[Start]) -> Option<String> {
    let at = |step: u32| least(starts.iter().filter(|start| start.offset.1 == step));
    (1..side / 2).find_map(|step| {
        let (here, next) = (at(step), at(step + 1));
        let [(low, low_mean), (high, high_mean)] = if step < side / 4 { [next, here] } else { [here, next] };
        // Averages are quotients of whole numbers by the same number of pairs, so that equal ones are the same.
        (low > high || low_mean > high_mean).then(|| {
            format!(
                "from {step} to {} steps away the smallest combined diameter goes from {} to {}, the smallest average distance from {:.3} to {:.3}",
                step + 1,
                here.0,
                next.0,
                here.1,
                next.1
            )
        })
    })
}

/// No start of the diagonal has a shorter diameter or average distance than the best of the row.
pub(super) fn row_against_diagonal(quick: bool) -> CheckOutcome {
    shortest(quick, |side| (1..=side / 2).map(|step| (step, step)).collect())
}

/// No start at all has one.
pub(super) fn dstm_2_is_shortest(quick: bool) -> CheckOutcome {
    shortest(quick, |side| (1..side * side).map(|index| (index % side, index / side)).collect())
}

/// No start of the row has one.
pub(super) fn dstm_2_is_shortest_of_row(quick: bool) -> CheckOutcome {
    shortest(quick, |side| (1..=side / 2).map(|y| (0, y)).collect())
}

/// Whether DSTM-2's trees are at least as short as those from all second starting nodes in question by all methods.
fn shortest(quick: bool, offsets: impl Fn(u32) -> Vec<(u32, u32)>) -> CheckOutcome {
    let methods: Vec<_> = TorusMethod::all().collect();
    let mut looked_at = 0;
    // The largest first: Figure 9 is about a 16x16 torus.
    let sides: &[u32] = if quick { &[16] } else { &[16, 8, 12] };
    for &side in sides {
        let all = starts(side, offsets(side).into_iter(), &methods);
        let dstm_2 = starts(side, [(0, side / 4)].into_iter(), &[TorusMethod::DSTM_2]);
        let (diameter, average) = least(&dstm_2);
        let ahead = |start: &&Start| start.distance.diameter < diameter || start.distance.average < average;
        let best = all.iter().filter(ahead).min_by(|a, b| a.distance.average.total_cmp(&b.distance.average));
        if let Some(best) = best {
            let fewer = all.iter().filter(ahead).count();
            let least_diameter = least(&all).0;
            let because = format!(
                "{side}x{side}: {}; DSTM-2 has {diameter} and {average:.3}. {fewer} of {} constructions are ahead in one of the two; the smallest combined diameter is {least_diameter}",
                best.text(),
                all.len()
            );
            return CheckOutcome::of(false, because);
        }
        looked_at += all.len();
    }
    CheckOutcome::of(true, format!("{looked_at} constructions in tori of {sides:?} rows and columns"))
}

/// Average distances with one failed link against those of random pairs of trees without.
pub(super) fn failed_link_average(quick: bool) -> CheckOutcome {
    failed_links(quick, 1.0, |distance| distance.average, "average distance")
}

/// Mean combined diameters with one failed link against those of random pairs of trees without.
pub(super) fn failed_link_diameter(quick: bool) -> CheckOutcome {
    failed_links(quick, 1.0, |distance| f64::from(distance.diameter), "combined diameter")
}

/// Distances of random pairs that are half as long as they are.
pub(super) fn failed_link_average_of_halves(quick: bool) -> CheckOutcome {
    failed_links(quick, 0.5, |distance| distance.average, "average distance")
}

fn failed_links(quick: bool, scale: f64, value: impl Fn(CombinedDistance) -> f64, what: &str) -> CheckOutcome {
    let (sides, pairs, most): (&[u32], _, _) =
        if quick { (&[9, 17], 20, 100) } else { (&[5, 7, 9, 13, 17, 25, 33], 100, 500) };
    let mut random = generator(11);
    let mut figures = Vec::new();
    let mut holds = true;
    for &side in sides {
        let torus = network(&format!("torus:{side}x{side}"));
        let mut links = working_links(&torus, &[]);
        let tarjan: Vec<f64> = (0..pairs)
            .map(|_| {
                links.shuffle(&mut random);
                let found = edge_disjoint_trees(&torus, &links, Some(2));
                let trees = found.unwrap_or_else(|error| unreachable!("{error}")).trees;
                value(distance_in(&torus, &trees))
            })
            .collect();
        let tarjan = scale * mean(&tarjan);
        links.shuffle(&mut random);
        links.truncate(most);
        for (name, start) in [
            ("DSTM-1", TorusTrees::dstm_1(&torus, RouterId::new(0))),
            ("DSTM-2", TorusTrees::dstm_2(&torus, RouterId::new(0))),
        ] {
            let trees = trees_of(&torus, start.unwrap_or_else(|error| unreachable!("{error}")));
            let with = |distance: &dyn Fn(ChannelId) -> Option<CombinedDistance>| {
                let all = links.iter().map(|&link| distance(link).map(&value));
                mean(&all.map(|value| value.unwrap_or(f64::INFINITY)).collect::<Vec<_>>())
            };
            let global = with(&|link| combined_distance(&torus, &trees, &[link]));
            let local = with(&|link| local_fault_distance(&torus, &trees, link));
            holds &= global < tarjan && local < tarjan;
            figures.push(format!("{side}x{side}, {name}: {global:.2} and {local:.2} against {tarjan:.2}"));
        }
    }
    let because = format!("{what} with global and with local information: {}", figures.join("; "));
    CheckOutcome::of(holds, because)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Three trees in k-ary 3-cubes, and n in k-ary n-cubes.
pub(super) fn dimensions(quick: bool) -> CheckOutcome {
    trees_by_dimension(quick, "torus")
}

/// Meshes in the place of tori.
pub(super) fn dimensions_of_meshes(quick: bool) -> CheckOutcome {
    trees_by_dimension(quick, "mesh")
}

fn trees_by_dimension(quick: bool, family: &str) -> CheckOutcome {
    // By dimension, the largest k.
    let largest: &[(usize, u32)] = if quick { &[(3, 6), (4, 3)] } else { &[(3, 10), (4, 5), (5, 3), (6, 3)] };
    let mut looked_at = Vec::new();
    for &(dimensions, largest) in largest {
        for k in 2..=largest {
            let spec = vec![k.to_string(); dimensions].join("x");
            let cube = network(&format!("{family}:{spec}"));
            if let Some(problem) = not_as_many(&cube, dimensions) {
                return CheckOutcome::of(false, format!("{}: {problem}", cube.name()));
            }
        }
        looked_at.push(format!("2- to {largest}-ary {dimensions}-cubes"));
    }
    let because = format!("{}; each time no more than that, as there are too few links", looked_at.join(", "));
    CheckOutcome::of(true, because)
}

/// ⌊n/2⌋ trees in a hypercube of n dimensions.
pub(super) fn hypercubes(quick: bool) -> CheckOutcome {
    let largest = if quick { 8 } else { 10 };
    for dimensions in 2..=largest {
        if let Some(problem) = not_as_many(&network(&format!("hypercube:{dimensions}")), dimensions / 2) {
            return CheckOutcome::of(false, format!("hypercube of {dimensions} dimensions: {problem}"));
        }
    }
    CheckOutcome::of(true, format!("hypercubes of 2 to {largest} dimensions; each time no more than that"))
}

/// Whether there are not just so many edge-disjoint spanning trees.
fn not_as_many(network: &Network, expected: usize) -> Option<String> {
    let found = match edge_disjoint_trees(network, &working_links(network, &[]), None) {
        Ok(found) => found.trees,
        Err(error) => return Some(error.to_string()),
    };
    if found.len() != expected {
        return Some(format!("{} trees, not {expected}", found.len()));
    }
    let mut used = vec![false; network.channels()];
    for tree in &found {
        if !tree.is_spanning(network) {
            return Some("a tree that does not span it".to_owned());
        }
        for link in tree.links() {
            let link = link.index().min(network.reverse(link).index());
            if std::mem::replace(&mut used[link], true) {
                return Some("a link in two trees".to_owned());
            }
        }
    }
    None
}

/// The larger share of the routers below the root that a branch of the root holds, of the worse of two trees: 1/2 if both are balanced.
fn imbalance(network: &Network, trees: &[SpanningTree]) -> f64 {
    let below_root = (network.routers() - 1) as f64;
    let largest = |tree: &SpanningTree| {
        let branches = tree.children(tree.root()).iter().map(|&channel| tree.subtree(network.to(channel)).len());
        branches.max().unwrap_or(0) as f64 / below_root
    };
    trees.iter().map(largest).fold(0.0, f64::max)
}

/// No other second starting node, and no other method, gives trees that are better balanced than DSTM-1's after the root is adjusted.
pub(super) fn dstm_1_is_balanced(quick: bool) -> CheckOutcome {
    balanced(quick, |torus| TorusTrees::dstm_1(torus, RouterId::new(0)))
}

/// The same with R2 one row and one column nearer where sides are even.
pub(super) fn dstm_1_is_balanced_if_nearer(quick: bool) -> CheckOutcome {
    balanced(quick, |torus| {
        let first = RouterId::new(0);
        let start = TorusTrees::dstm_1(torus, first)?;
        let side = (torus.routers() as f64).sqrt() as u32;
        let half = (side - 1) / 2;
        Ok(TorusTrees { second: RouterId::new(half * side + half), ..start })
    })
}

/// The same of DSTM-2.
pub(super) fn dstm_2_is_balanced(quick: bool) -> CheckOutcome {
    balanced(quick, |torus| TorusTrees::dstm_2(torus, RouterId::new(0)))
}

fn balanced(quick: bool, chosen: impl Fn(&Network) -> Result<TorusTrees, TreeError>) -> CheckOutcome {
    let sides: &[u32] = if quick { &[5, 8, 16] } else { &[4, 5, 7, 8, 9, 12, 15, 16, 20] };
    let mut figures = Vec::new();
    let mut holds = true;
    for &side in sides {
        let torus = network(&format!("torus:{side}x{side}"));
        let Ok(chosen) = chosen(&torus) else { continue };
        let own = imbalance(&torus, &trees_of(&torus, chosen));
        let first = RouterId::new(0);
        let all = torus.router_ids().skip(1).flat_map(|second| TorusMethod::all().map(move |method| (second, method)));
        let others = all.map(|(second, method)| {
            let trees = trees_of(&torus, TorusTrees { first, second, method, balance: Balance::Root });
            (imbalance(&torus, &trees), second, method)
        });
        let Some((least, second, method)) = others.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        holds &= own <= least;
        let better = if own <= least {
            String::new()
        } else {
            let (x, y) = (second.raw() % side, second.raw() / side);
            format!(", and {:.1}% with R2 = R1 + ({x}, {y}) by {method}", 100.0 * least)
        };
        figures.push(format!("{side}x{side} {:.1}%{better}", 100.0 * own));
    }
    CheckOutcome::of(holds, format!("routers in the larger branch of the root: {}", figures.join("; ")))
}

/// DSTM-2 is less balanced than DSTM-1, and so is Tarjan(best) not.
pub(super) fn dstm_2_is_less_balanced(quick: bool) -> CheckOutcome {
    let sides: &[u32] = if quick { &[8, 16] } else { &[5, 8, 9, 12, 16, 20, 32] };
    let mut figures = Vec::new();
    let mut holds = true;
    for &side in sides {
        let torus = network(&format!("torus:{side}x{side}"));
        let of = |start: Result<TorusTrees, TreeError>| {
            imbalance(&torus, &trees_of(&torus, start.unwrap_or_else(|error| unreachable!("{error}"))))
        };
        let first = RouterId::new(0);
        let [one, two] = [of(TorusTrees::dstm_1(&torus, first)), of(TorusTrees::dstm_2(&torus, first))];
        holds &= one < two;
        figures.push(format!("{side}x{side} {:.1}% and {:.1}%", 100.0 * one, 100.0 * two));
    }
    CheckOutcome::of(holds, format!("routers in the larger branch, DSTM-1 and DSTM-2: {}", figures.join(", ")))
}

/// The steps of Appendix A's algorithm for a broadcast on DSTM-1's trees, as Appendix C counts them, against 3N - √N.
pub(super) fn header_steps(quick: bool) -> CheckOutcome {
    header_steps_are(quick, |n| 3 * n * n - n)
}

/// What they add up to.
pub(super) fn header_steps_exactly(quick: bool) -> CheckOutcome {
    header_steps_are(quick, |n| 3 * n * n - 3 * n - 1)
}

/// Lists that are gone through from the wrong end.
pub(super) fn header_steps_from_the_other_end(quick: bool) -> CheckOutcome {
    compared(quick, |n| 3 * n * n - 3 * n - 1, [true, false])
}

fn header_steps_are(quick: bool, expected: impl Fn(usize) -> usize) -> CheckOutcome {
    compared(quick, expected, [false, true])
}

/// Counts the steps on both trees, whose lists of destinations are gone through from the front or from the end.
fn compared(quick: bool, expected: impl Fn(usize) -> usize, front: [bool; 2]) -> CheckOutcome {
    let largest = if quick { 16 } else { 40 };
    let mut figures = Vec::new();
    let mut holds = true;
    for side in 4..=largest {
        let torus = network(&format!("torus:{side}x{side}"));
        let Ok(start) = TorusTrees::dstm_1(&torus, RouterId::new(0)) else { continue };
        let trees = trees_of(&torus, TorusTrees { balance: Balance::None, ..start });
        let [first, second] = [0, 1].map(|tree| steps(&torus, &trees[tree], front[tree]));
        let expected = expected(side as usize);
        holds &= first == expected && second == expected;
        figures.push(format!("{side}x{side} {first} and {second} ({expected})"));
    }
    CheckOutcome::of(holds, format!("steps on the two trees: {}", figures.join(", ")))
}

/// Each router takes itself off the list of destinations: one step. Where the tree splits, the destinations at the front of the list, or at
/// its end, are moved to their branch one by one, and the rest goes to the other: one more.
fn steps(network: &Network, tree: &SpanningTree, front: bool) -> usize {
    let of = |router: RouterId| {
        let sizes: Vec<usize> =
            tree.children(router).iter().map(|&channel| tree.subtree(network.to(channel)).len()).collect();
        let moved = if front { sizes.split_last() } else { sizes.split_first() };
        1 + moved.map_or(0, |(_, moved)| moved.iter().map(|size| size + 1).sum::<usize>())
    };
    network.router_ids().map(of).sum()
}
