//! Constructions of edge-disjoint spanning trees, by name.

use wormcast_network::{Network, RouterId};

use crate::registry::UnknownName;
use crate::spanning_tree::SpanningTree;
use crate::torus_trees::{Balance, TorusMethod, TorusTrees};
use crate::tree_error::TreeError;

/// The names that [`tree_construction_by_name`] knows.
pub const TREE_CONSTRUCTIONS: [&str; 2] = ["dstm-1", "dstm-2"];

/// What a construction may be told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeOptions {
    /// The seed of constructions that make random choices.
    pub seed: u64,
    /// The starting node of the first tree of a torus.
    pub first: RouterId,
    /// The starting node of the second tree, if not the construction's own.
    pub second: Option<RouterId>,
    /// The directions in which trees of a torus are grown, if not the construction's own.
    pub method: Option<TorusMethod>,
    /// Where roots are; `None`: where the construction puts them.
    pub balance: Option<Balance>,
}

/// The edge-disjoint spanning trees of this construction.
///
/// # Errors
/// If there is no construction of that name, naming the nearest, or it is not defined on the network.
pub fn tree_construction_by_name(
    name: &str,
    network: &Network,
    options: &TreeOptions,
) -> Result<Vec<SpanningTree>, TreeError> {
    let trees = match name {
        "dstm-1" => TorusTrees::dstm_1(network, options.first)?,
        "dstm-2" => TorusTrees::dstm_2(network, options.first)?,
        _ => {
            let expected = TREE_CONSTRUCTIONS.to_vec();
            return Err(UnknownName { kind: "tree construction", given: name.to_owned(), expected }.into());
        }
    };
    let trees = TorusTrees {
        second: options.second.unwrap_or(trees.second),
        method: options.method.unwrap_or(trees.method),
        balance: options.balance.unwrap_or(trees.balance),
        ..trees
    };
    Ok(trees.build(network)?.into())
}
