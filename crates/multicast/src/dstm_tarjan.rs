//! DSTM on as many edge-disjoint spanning trees as a network has, found by the algorithm of Roskind and Tarjan.

use wormcast_network::{ChannelId, Network};
use wormcast_routing::{
    CombinedDistance, SpanningTree, TreeError, TreeOptions, combined_distance, tree_construction_by_name,
};

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
    Dstm::by_construction("dstm-tarjan", network, options, |failed| {
        tree_construction_by_name("dstm-tarjan", network, &TreeOptions { failed, ..seeded(options) })
    })
}

/// DSTM on the best trees of 500 random orders: those with the smallest combined diameter, of several the smallest average
/// distance.
///
/// # Errors
/// As [`tarjan`].
pub(crate) fn best(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    Dstm::by_construction("dstm-tarjan-best", network, options, |failed| {
        let of_trees = TreeOptions { failed, best_of: Some(ORDERS), ..seeded(options) };
        tree_construction_by_name("dstm-tarjan", network, &of_trees)
    })
}

/// DSTM on the most average trees of 500 random orders: those whose combined diameter and average distance are nearest to the
/// means over all, each as a share of the mean.
///
/// # Errors
/// As [`tarjan`].
pub(crate) fn average(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    Dstm::by_construction("dstm-tarjan-average", network, options, |failed| most_average(network, options, &failed))
}

fn most_average(network: &Network, options: &Options, failed: &[ChannelId]) -> Result<Vec<SpanningTree>, TreeError> {
    let mut drawn: Vec<(CombinedDistance, Vec<SpanningTree>)> = Vec::with_capacity(ORDERS);
    for order in 0..ORDERS as u64 {
        let seed = options.seed.wrapping_add(order);
        let of_trees = TreeOptions { seed, failed: failed.to_vec(), ..TreeOptions::default() };
        let trees = tree_construction_by_name("dstm-tarjan", network, &of_trees)?;
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
    Ok(middle.map(|(_, trees)| trees).unwrap_or_default())
}

/// DSTM on the two Hamilton paths that a special order of links makes of a square torus (paper 5, Figure 7).
///
/// # Errors
/// If the network is no square torus, or another routing is asked for.
pub(crate) fn path(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    Dstm::by_construction("dstm-tarjan-path", network, options, |failed| {
        tree_construction_by_name("dstm-tarjan-path", network, &TreeOptions { failed, ..TreeOptions::default() })
    })
}

fn seeded(options: &Options) -> TreeOptions {
    TreeOptions { seed: options.seed, ..TreeOptions::default() }
}
