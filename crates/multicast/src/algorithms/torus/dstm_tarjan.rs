//! DSTM on as many edge-disjoint spanning trees as a network has, found by the algorithm of Roskind and Tarjan.

use wormcast_network::{ChannelId, Network};
use wormcast_routing::{
    CombinedDistance, EdgeDisjointTrees, HAMILTON_TREES, SpanningTree, TARJAN_TREES, TreeError, TreeOptions,
    combined_distance,
};

use crate::algorithms::torus::dstm::{Dstm, over_trees};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::Family;
use crate::registry::options::AlgorithmOption;

/// How many random orders of links the best and the average pair are chosen from, as in paper 5, section 5.3.
const ORDERS: usize = 500;

/// DSTM on the trees of one random order of links, drawn with the seed: as many as there are, on any connected network.
///
/// ```
/// use wormcast_multicast::{Options, algorithm_by_name};
/// use wormcast_network::TopologySpec;
///
/// // Three edge-disjoint spanning trees, each with a consumption channel of its own at every node.
/// let cube = "hypercube:6".parse::<TopologySpec>()?.build()?;
/// let dstm = algorithm_by_name("dstm-tarjan", &cube, &Options::default())?;
/// assert_eq!(dstm.capabilities().ports.map(|ports| ports.consumption), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const DSTM_TARJAN: Descriptor = over_trees(
    "dstm-tarjan",
    "one worm on one of as many edge-disjoint spanning trees as there are, from a random order of links",
    |network, options| {
        Dstm::by_construction(DSTM_TARJAN.name, network, options, |failed| {
            TARJAN_TREES.build(network, &TreeOptions { failed, ..seeded(options) })
        })
    },
)
.on(Family::Connected)
.offering(&[AlgorithmOption::Draw, AlgorithmOption::Split]);

/// DSTM on the best trees of 500 random orders: by default those with the smallest combined diameter, of several the smallest average
/// distance ([`AlgorithmOptions::pair`](crate::AlgorithmOptions::pair)).
pub const DSTM_TARJAN_BEST: Descriptor =
    over_trees("dstm-tarjan-best", "the same, on the best trees of 500 random orders", |network, options| {
        Dstm::by_construction(DSTM_TARJAN_BEST.name, network, options, |failed| {
            TARJAN_TREES.build(
                network,
                &TreeOptions {
                    failed,
                    best_of: Some(ORDERS),
                    best_by: options.own.pair.map(Into::into),
                    ..seeded(options)
                },
            )
        })
    })
    .on(Family::Connected)
    .offering(&[AlgorithmOption::Pair, AlgorithmOption::Draw, AlgorithmOption::Split]);

/// DSTM on the most average trees of 500 random orders: those whose combined diameter and average distance are nearest to the
/// means over all, each as a share of the mean.
pub const DSTM_TARJAN_AVERAGE: Descriptor = over_trees(
    "dstm-tarjan-average",
    "the same, on the most average trees of 500 random orders",
    |network, options| {
        Dstm::by_construction(DSTM_TARJAN_AVERAGE.name, network, options, |failed| {
            most_average(network, options, &failed)
        })
    },
)
.on(Family::Connected)
.offering(&[AlgorithmOption::Draw, AlgorithmOption::Split]);

/// DSTM on the two Hamilton paths that a special order of links makes of a square torus (paper 5, Figure 7).
pub const DSTM_TARJAN_PATH: Descriptor =
    over_trees("dstm-tarjan-path", "one worm on one of two Hamilton paths", |network, options| {
        Dstm::by_construction(DSTM_TARJAN_PATH.name, network, options, |failed| {
            HAMILTON_TREES.build(network, &TreeOptions { failed, ..TreeOptions::default() })
        })
    })
    .on(Family::SquareTorus)
    .offering(&[AlgorithmOption::Split]);

fn most_average(network: &Network, options: &Options, failed: &[ChannelId]) -> Result<EdgeDisjointTrees, TreeError> {
    let mut drawn: Vec<(CombinedDistance, Vec<SpanningTree>)> = Vec::with_capacity(ORDERS);
    for order in 0..ORDERS as u64 {
        let seed = seeded(options).seed.wrapping_add(order);
        let of_trees = TreeOptions { seed, failed: failed.to_vec(), ..TreeOptions::default() };
        let trees = TARJAN_TREES.build(network, &of_trees)?.trees;
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
    Ok(EdgeDisjointTrees { trees: middle.map(|(_, trees)| trees).unwrap_or_default(), limit: None })
}

fn seeded(options: &Options) -> TreeOptions {
    TreeOptions { seed: options.tree_seed.unwrap_or(options.seed), ..TreeOptions::default() }
}
