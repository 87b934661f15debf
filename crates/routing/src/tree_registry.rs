//! Constructions of edge-disjoint spanning trees, by name.

use wormcast_network::watch::{attempt, step, stop};
use wormcast_network::{ChannelId, Network, RouterId};

use crate::edge_disjoint::{EdgeDisjointTrees, edge_disjoint_trees, repair_trees, working_links};
use crate::link_orders::{RandomOrders, hamilton_order};
use crate::registry::UnknownName;
use crate::relation::Unsupported;
use crate::spanning_tree::SpanningTree;
use crate::torus_trees::{Balance, TorusMethod, TorusTrees};
use crate::tree_distance::combined_distance;
use crate::tree_error::TreeError;

/// The names that [`tree_construction_by_name`] knows.
pub const TREE_CONSTRUCTIONS: [&str; 5] = ["dstm-1", "dstm-2", "dstm", "dstm-tarjan", "dstm-tarjan-path"];

/// What a construction may be told. What is `None` is as the construction has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeOptions {
    /// The seed of constructions that make random choices.
    pub seed: u64,
    /// The starting node of the first tree of a torus, router 0 by default; for the others, the root of all trees.
    pub first: Option<RouterId>,
    /// The starting node of the second tree of a torus. Default: that of DSTM-1. For `dstm`.
    pub second: Option<RouterId>,
    /// The directions in which trees of a torus are grown. Default: those of DSTM-1. For `dstm`.
    pub method: Option<TorusMethod>,
    /// Where roots are. Default: [`Balance::Root`]; a root that is given is [`Balance::None`].
    pub balance: Option<Balance>,
    /// How many trees. Default: as many as there are. For `dstm-tarjan`.
    pub trees: Option<usize>,
    /// Of how many random orders the best is taken: that with the smallest combined diameter, of several the smallest average
    /// distance. Default 1. For `dstm-tarjan`.
    pub best_of: Option<usize>,
    /// Links that have failed, each named by either of its channels: no tree uses them.
    pub failed: Vec<ChannelId>,
}

/// The edge-disjoint spanning trees of this construction:
///
/// - `dstm-1`, `dstm-2` and `dstm`: the two trees of a torus ([`TorusTrees`]). Where links have failed, they are
///   repaired ([`repair_trees`]).
/// - `dstm-tarjan`: as many trees as the network has ([`edge_disjoint_trees`]), its links in a random order. The root is the
///   starting node, if one is given; otherwise each tree has its own, where it is [best
///   balanced](SpanningTree::best_balanced_root).
/// - `dstm-tarjan-path`: the same on a square torus in an order that makes two Hamilton paths; repaired, too.
///
/// # Errors
/// If there is no construction of that name, naming the nearest; if it is not defined on the network or has no use for an option;
/// if there are fewer trees than asked for, or the network is not connected.
pub fn tree_construction_by_name(
    name: &str,
    network: &Network,
    options: &TreeOptions,
) -> Result<Vec<SpanningTree>, TreeError> {
    Ok(build_trees(name, network, options)?.trees)
}

/// The same, with the proof that there are no more trees, if one was found.
///
/// # Errors
/// As [`tree_construction_by_name`].
pub fn build_trees(name: &str, network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    if network.is_one_way() && TREE_CONSTRUCTIONS.contains(&name) {
        return Err(Unsupported::new(name, "links with channels both ways", network).into());
    }
    let first = options.first.unwrap_or_default();
    match name {
        "dstm-1" => {
            refuse_torus_choices("dstm-1", options)?;
            torus(network, TorusTrees::dstm_1(network, first)?, options)
        }
        "dstm-2" => {
            refuse_torus_choices("dstm-2", options)?;
            torus(network, TorusTrees::dstm_2(network, first)?, options)
        }
        "dstm" => {
            refuse_random_choices("dstm", options)?;
            torus(network, TorusTrees::dstm_1(network, first)?, options)
        }
        "dstm-tarjan" => tarjan(network, options),
        "dstm-tarjan-path" => hamilton_paths(network, options),
        _ => {
            let expected = TREE_CONSTRUCTIONS.to_vec();
            Err(UnknownName { kind: "tree construction", given: name.to_owned(), expected }.into())
        }
    }
}

fn refuse(construction: &'static str, option: &'static str, hint: &'static str, given: bool) -> Result<(), TreeError> {
    if given { Err(TreeError::Choice { construction, option, hint }) } else { Ok(()) }
}

/// That nothing is chosen which only `dstm` has a choice of.
fn refuse_torus_choices(name: &'static str, options: &TreeOptions) -> Result<(), TreeError> {
    refuse(name, "the second starting node", "`dstm` has", options.second.is_some())?;
    refuse(name, "the method", "`dstm` has", options.method.is_some())?;
    refuse_random_choices(name, options)
}

/// That nothing is chosen which only `dstm-tarjan` has a choice of.
fn refuse_random_choices(name: &'static str, options: &TreeOptions) -> Result<(), TreeError> {
    refuse(name, "the number of trees", "`dstm-tarjan` has", options.trees.is_some())?;
    refuse(name, "the best of several", "`dstm-tarjan` has", options.best_of.is_some())
}

/// That a root which is given shall not be balanced.
fn refuse_given_root(name: &'static str, options: &TreeOptions) -> Result<(), TreeError> {
    let both = options.first.is_some() && options.balance == Some(Balance::Root);
    refuse(name, "a root that is balanced", "it is the starting node that is given", both)
}

fn torus(network: &Network, trees: TorusTrees, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    let trees = TorusTrees {
        second: options.second.unwrap_or(trees.second),
        method: options.method.unwrap_or(trees.method),
        balance: options.balance.unwrap_or_default(),
        ..trees
    };
    repaired(network, trees.build(network)?.into(), options)
}

/// The trees, repaired if links have failed.
fn repaired(
    network: &Network,
    trees: Vec<SpanningTree>,
    options: &TreeOptions,
) -> Result<EdgeDisjointTrees, TreeError> {
    if options.failed.is_empty() {
        return Ok(EdgeDisjointTrees { trees, limit: None });
    }
    let wanted = trees.len();
    let found = repair_trees(network, &trees, &options.failed)?;
    check_count(network, options, if found.trees.is_empty() { wanted } else { 0 }, &found)?;
    Ok(found)
}

/// That there are as many trees as wanted.
fn check_count(
    network: &Network,
    options: &TreeOptions,
    wanted: usize,
    found: &EdgeDisjointTrees,
) -> Result<(), TreeError> {
    match &found.limit {
        Some(limit) if found.trees.len() < wanted => {
            Err(TreeError::too_few(network, &options.failed, wanted, found.trees.len(), limit))
        }
        _ => Ok(()),
    }
}

fn tarjan(network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    const NAME: &str = "dstm-tarjan";
    refuse(NAME, "the second starting node", "`dstm` has", options.second.is_some())?;
    refuse(NAME, "the method", "`dstm` has", options.method.is_some())?;
    refuse(NAME, "moved branches", "its trees are of no particular form", options.balance == Some(Balance::Branch))?;
    refuse_given_root(NAME, options)?;
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
    const NAME: &str = "dstm-tarjan-path";
    refuse_torus_choices(NAME, options)?;
    refuse(NAME, "moved branches", "its trees are paths", options.balance == Some(Balance::Branch))?;
    refuse_given_root(NAME, options)?;
    let square = network.shape().grid().filter(|grid| {
        network.shape().wraps() && matches!(grid.extents(), &[columns, rows] if columns == rows && columns >= 2)
    });
    let Some(grid) = square else {
        return Err(Unsupported::new(NAME, "a torus of two dimensions of equal size, at least 2", network).into());
    };
    let found = edge_disjoint_trees(network, &hamilton_order(network, grid), Some(2))?;
    let found = rooted(network, found, options)?;
    repaired(network, found.trees, options)
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
