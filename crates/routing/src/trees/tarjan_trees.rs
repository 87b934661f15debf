//! Edge-disjoint spanning trees by the algorithm of Roskind and Tarjan: as many as a network has.

use wormcast_network::watch::{attempt, step, stop};
use wormcast_network::{Grid, Network};

use crate::relation::Unsupported;
use crate::trees::edge_disjoint::{EdgeDisjointTrees, edge_disjoint_trees, working_links};
use crate::trees::link_orders::{RandomOrders, hamilton_order};
use crate::trees::registry::{TreeChoice, TreeDescriptor, TreeOptions, check_count, repaired};
use crate::trees::torus_trees::Balance;
use crate::trees::tree_distance::combined_distance;
use crate::trees::tree_error::TreeError;

/// As many trees as the network has ([`edge_disjoint_trees`]), its links in a random order. The root is the starting node, if one is
/// given; otherwise each tree has its own, where it is [best balanced](crate::SpanningTree::best_balanced_root).
pub const TARJAN_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-tarjan",
    summary: "as many as there are, or `--trees K`; in a random order of the links, or the best of several",
    needs: "a connected network",
    choices: &[TreeChoice::Trees, TreeChoice::BestOf],
    draws: true,
    around_faults: true,
    make: tarjan,
};

/// Roskind and Tarjan's algorithm on a square torus, in an order of links that makes the two trees Hamilton paths; repaired where links have failed.
pub const HAMILTON_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-tarjan-path",
    summary: "two Hamilton paths",
    needs: "a torus of two dimensions of equal size, at least 2",
    choices: &[],
    draws: false,
    around_faults: false,
    make: hamilton_paths,
};

fn tarjan(network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    let mut orders = RandomOrders::new(working_links(network, &options.failed), options.seed);
    let mut best: Option<((u32, f64), EdgeDisjointTrees)> = None;
    let attempts = options.best_of.unwrap_or(1).max(1);
    for number in 0..attempts {
        let mut found = || {
            let found = edge_disjoint_trees(network, orders.next(), options.trees)?;
            check_count(network, options, options.trees.unwrap_or(1), &found)?;
            Ok::<_, TreeError>(found)
        };
        if attempts == 1 {
            return rooted(network, found()?, options);
        }
        let tried = attempt(|| {
            step("trying orders of links", "orders", number, attempts);
            let found = found()?;
            let distance = combined_distance(network, &found.trees, &[]);
            Ok::<_, TreeError>((found, distance))
        });
        let (found, distance) = match tried {
            Ok(tried) => tried?,
            // The best of those that were tried.
            Err(_) if best.is_some() => break,
            Err(stopped) => stop(stopped),
        };
        // Spanning trees reach everyone.
        let Some(distance) = distance else { continue };
        let score = (distance.diameter, distance.average);
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, found));
        }
    }
    let found = best.map_or_else(|| EdgeDisjointTrees { trees: Vec::new(), limit: None }, |(_, found)| found);
    rooted(network, found, options)
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
