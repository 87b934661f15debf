//! Edge-disjoint spanning trees by the algorithm of Roskind and Tarjan: as many as a network has.

use std::cmp::Ordering;

use wormcast_network::watch::{WorkProgress, round, step, stop};
use wormcast_network::{Grid, Network};

use crate::relation::Unsupported;
use crate::trees::edge_disjoint::{EdgeDisjointTrees, edge_disjoint_trees, working_links};
use crate::trees::link_orders::{RandomOrders, hamilton_order};
use crate::trees::registry::{TreeChoice, TreeDescriptor, TreeOptions, check_count, repaired};
use crate::trees::spanning_tree::SpanningTree;
use crate::trees::torus_trees::Balance;
use crate::trees::tree_distance::{CombinedDistance, combined_distance};
use crate::trees::tree_error::TreeError;

/// As many trees as the network has ([`edge_disjoint_trees`]), its links in a random order. The root is the starting node, if one is
/// given; otherwise each tree has its own, where it is [best balanced](crate::SpanningTree::best_balanced_root).
pub const TARJAN_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-tarjan",
    summary: "as many as there are, or `--trees K`; in a random order of the links, or the best of several",
    needs: "a connected network",
    choices: &[TreeChoice::Trees, TreeChoice::BestOf, TreeChoice::BestBy, TreeChoice::Roots],
    draws: true,
    around_faults: true,
    make: tarjan,
};

/// Roskind and Tarjan's algorithm on a square torus, in an order of links that makes the two trees Hamilton paths; repaired where links have failed.
pub const HAMILTON_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-tarjan-path",
    summary: "two Hamilton paths",
    needs: "a torus of two dimensions of equal size, at least 2",
    choices: &[TreeChoice::Roots],
    draws: false,
    around_faults: false,
    make: hamilton_paths,
};

/// What makes the best trees of several orders of the links the best.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BestBy {
    /// The smallest combined diameter; of several, the smallest average distance.
    #[default]
    Diameter,
    /// The smallest average distance; of several, the smallest combined diameter.
    Distance,
    /// Of the tenth (rounded up) with the smallest product of combined diameter and average distance, the one whose largest branch at a
    /// root is smallest; of several, the one whose trees' largest branches have the smallest sum, then the smallest product.
    Balance,
}

/// The names of [`BestBy`], for messages.
pub const BEST_BY: [&str; 3] = ["diameter", "distance", "balance"];

impl BestBy {
    /// The one of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Diameter, Self::Distance, Self::Balance];
        all.into_iter().zip(BEST_BY).find(|&(_, known)| known == name).map(|(best, _)| best)
    }

    /// How many of so many orders may be chosen of, once all have been seen.
    fn shortlisted(self, orders: usize) -> usize {
        if self == Self::Balance { orders.div_ceil(10) } else { 1 }
    }

    /// Which of two sets of trees has the better distances.
    fn compare(self, one: &CombinedDistance, other: &CombinedDistance) -> Ordering {
        let product = |distance: &CombinedDistance| f64::from(distance.diameter) * distance.average;
        let by_diameter = one.diameter.cmp(&other.diameter);
        let by_average = one.average.total_cmp(&other.average);
        match self {
            Self::Diameter => by_diameter.then(by_average),
            Self::Distance => by_average.then(by_diameter),
            Self::Balance => product(one).total_cmp(&product(other)),
        }
    }
}

/// The sizes of the largest branches at the roots of trees: the largest of them, and their sum.
fn largest_branches(network: &Network, trees: &[SpanningTree]) -> (usize, usize) {
    let largest = |tree: &SpanningTree| {
        let branches = tree.children(tree.root()).iter().map(|&child| tree.subtree(network.to(child)).len());
        branches.max().unwrap_or(0)
    };
    trees.iter().map(largest).fold((0, 0), |(most, sum), branch| (most.max(branch), sum + branch))
}

fn tarjan(network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    let mut orders = RandomOrders::new(working_links(network, &options.failed), options.seed);
    let attempts = options.best_of.unwrap_or(1).max(1);
    let by = options.best_by.unwrap_or_default();
    // The best ones so far, the best first; of equal ones, the first that was drawn.
    let mut shortlist: Vec<(CombinedDistance, EdgeDisjointTrees)> = Vec::new();
    for number in 0..attempts {
        let mut found = || {
            let found = edge_disjoint_trees(network, orders.next(), options.trees)?;
            check_count(network, options, options.trees.unwrap_or(1), &found)?;
            Ok::<_, TreeError>(found)
        };
        if attempts == 1 {
            return rooted(network, found()?, options);
        }
        let (work, parts) = ("trying orders of links", "orders");
        let at = WorkProgress { work, parts, done: number as u64, of: attempts as u64 };
        let tried = round(at, || {
            step(work, parts, number, attempts);
            let found = found()?;
            let distance = combined_distance(network, &found.trees, &[]);
            Ok::<_, TreeError>((found, distance))
        });
        let (found, distance) = match tried {
            Ok(tried) => tried?,
            // The best of those that were tried.
            Err(_) if !shortlist.is_empty() => break,
            Err(stopped) => stop(stopped),
        };
        // Spanning trees reach everyone.
        let Some(distance) = distance else { continue };
        let place = shortlist.partition_point(|(other, _)| by.compare(other, &distance).is_le());
        shortlist.insert(place, (distance, found));
        shortlist.truncate(by.shortlisted(attempts));
    }
    let sets = shortlist.into_iter().map(|(_, found)| rooted(network, found, options));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    // The first of several, which has the better distances.
    let best = sets.into_iter().min_by_key(|set| largest_branches(network, &set.trees));
    Ok(best.unwrap_or_else(|| EdgeDisjointTrees { trees: Vec::new(), limit: None }))
}

fn hamilton_paths(network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    let grid = square(HAMILTON_TREES.name, network)?;
    let found = edge_disjoint_trees(network, &hamilton_order(network, grid), Some(2))?;
    let found = rooted(network, found, options)?;
    repaired(network, found.trees, options)
}

/// Checks that a network is a torus of two dimensions of equal size, at least 2.
///
/// # Errors
/// If it is not; the message names `name`, what it needs, and what the network is.
pub fn require_square_torus(name: &str, network: &Network) -> Result<(), Unsupported> {
    square(name, network).map(drop)
}

fn square<'n>(name: &str, network: &'n Network) -> Result<&'n Grid, Unsupported> {
    let square = network.shape().grid().filter(|grid| {
        network.shape().wraps() && matches!(grid.extents(), &[columns, rows] if columns == rows && columns >= 2)
    });
    square.ok_or_else(|| {
        let error = Unsupported::new(name, HAMILTON_TREES.needs, network);
        match network.shape().grid().filter(|_| network.shape().wraps()).map(Grid::extents) {
            Some([columns, rows]) => Unsupported { is: format!("a torus of {columns} by {rows} routers"), ..error },
            Some(extents) => Unsupported { is: format!("a {}-D torus", extents.len()), ..error },
            None => error,
        }
    })
}

/// The trees with their roots.
fn rooted(
    network: &Network,
    mut found: EdgeDisjointTrees,
    options: &TreeOptions,
) -> Result<EdgeDisjointTrees, TreeError> {
    for tree in &mut found.trees {
        let root = match (options.first, options.balance) {
            (None, Some(Balance::Root) | None) => tree.best_balanced_root(network),
            (first, _) => first.unwrap_or_default(),
        };
        *tree = tree.rooted_at(network, root)?;
    }
    Ok(found)
}
