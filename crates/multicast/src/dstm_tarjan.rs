//! DSTM on as many edge-disjoint spanning trees as a network has, found by the algorithm of Roskind and Tarjan.

use wormcast_network::Network;
use wormcast_routing::{CombinedDistance, SpanningTree, TreeOptions, combined_distance, tree_construction_by_name};

use crate::algorithm::{AlgorithmError, Options};
use crate::dstm::Dstm;

/// How many random orders of links the best and the average pair are chosen from, as in paper 5, section 5.3.
const ORDERS: usize = 500;

/// DSTM on the trees of one random order of links, drawn with the seed: as many as there are, on any connected network.
///
/// # Errors
/// If the network is not connected, or another routing is asked for.
///
/// ```
/// use wormcast_multicast::{Options, algorithm_by_name};
/// use wormcast_network::TopologySpec;
///
/// // Three edge-disjoint spanning trees, each with a consumption channel of its own at every node.
/// let cube = "hypercube:6".parse::<TopologySpec>()?.build()?;
/// let dstm = algorithm_by_name("dstm-tarjan", &cube, &Options::default())?;
/// assert_eq!(dstm.ports().map(|ports| ports.consumption), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(crate) fn tarjan(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    let trees = tree_construction_by_name("dstm-tarjan", network, &seeded(options))?;
    Dstm::new("dstm-tarjan", network, trees, options)
}

/// DSTM on the best trees of 500 random orders: those with the smallest combined diameter, of several the smallest average
/// distance.
///
/// # Errors
/// As [`tarjan`].
pub(crate) fn best(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    let options_of_trees = TreeOptions { best_of: Some(ORDERS), ..seeded(options) };
    let trees = tree_construction_by_name("dstm-tarjan", network, &options_of_trees)?;
    Dstm::new("dstm-tarjan-best", network, trees, options)
}

/// DSTM on the most average trees of 500 random orders: those whose combined diameter and average distance are nearest to the
/// means over all, each as a share of the mean.
///
/// # Errors
/// As [`tarjan`].
pub(crate) fn average(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    let mut drawn: Vec<(CombinedDistance, Vec<SpanningTree>)> = Vec::with_capacity(ORDERS);
    for order in 0..ORDERS as u64 {
        let seed = options.seed.wrapping_add(order);
        let trees = tree_construction_by_name("dstm-tarjan", network, &TreeOptions { seed, ..seeded(options) })?;
        // Spanning trees reach everyone.
        drawn.extend(combined_distance(network, &trees, &[]).map(|distance| (distance, trees)));
    }
    let count = drawn.len().max(1) as f64;
    let diameter = drawn.iter().map(|(distance, _)| f64::from(distance.diameter)).sum::<f64>() / count;
    let average = drawn.iter().map(|(distance, _)| distance.average).sum::<f64>() / count;
    let off = |distance: &CombinedDistance| {
        (f64::from(distance.diameter) / diameter - 1.0).abs() + (distance.average / average - 1.0).abs()
    };
    let middle = drawn.into_iter().min_by(|(one, _), (other, _)| off(one).total_cmp(&off(other)));
    let trees = middle.map(|(_, trees)| trees).unwrap_or_default();
    Dstm::new("dstm-tarjan-average", network, trees, options)
}

/// DSTM on the two Hamilton paths that a special order of links makes of a square torus (paper 5, Figure 7).
///
/// # Errors
/// If the network is no square torus, or another routing is asked for.
pub(crate) fn path(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    let trees = tree_construction_by_name("dstm-tarjan-path", network, &TreeOptions::default())?;
    Dstm::new("dstm-tarjan-path", network, trees, options)
}

fn seeded(options: &Options) -> TreeOptions {
    TreeOptions { seed: options.seed, ..TreeOptions::default() }
}
