//! DSTM on the two edge-disjoint spanning trees that a torus has by construction.

use wormcast_network::Network;
use wormcast_routing::{TreeOptions, tree_construction_by_name};

use crate::algorithm::{AlgorithmError, Options};
use crate::dstm::Dstm;

/// DSTM on the best balanced pair of paper 5 (section 5.1, DSTM-1), in any 2-D torus.
///
/// # Errors
/// If the network is no 2-D torus, or another routing is asked for.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let dstm = algorithm_by_name("dstm-1", &torus, &Options::default())?;
/// let plan = dstm.plan(&torus, &Multicast::new(NodeId::new(0), &[5, 10, 15].map(NodeId::new)));
/// // One worm, bound to the consumption channels of its tree.
/// assert_eq!(plan.worms.len(), 1);
/// assert!(plan.worms[0].consumption_class.is_some_and(|class| class < 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(crate) fn dstm_1(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    of("dstm-1", network, options)
}

/// DSTM on the pair with the shortest ways of paper 5 (section 5.1, DSTM-2).
///
/// # Errors
/// As [`dstm_1`].
pub(crate) fn dstm_2(network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    of("dstm-2", network, options)
}

fn of(name: &'static str, network: &Network, options: &Options) -> Result<Dstm, AlgorithmError> {
    Dstm::by_construction(name, network, options, |failed| {
        tree_construction_by_name(name, network, &TreeOptions { failed, ..TreeOptions::default() })
    })
}
