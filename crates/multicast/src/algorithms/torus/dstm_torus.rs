//! DSTM on the two edge-disjoint spanning trees that a torus has by construction.

use wormcast_network::Network;
use wormcast_routing::{DSTM_1_TREES, DSTM_2_TREES, SecondStart, TreeOptions, parse_start};

use crate::algorithm::AlgorithmError;
use crate::algorithms::torus::dstm::{Dstm, over_trees};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::Family;
use crate::registry::options::{AlgorithmOption, AlgorithmOptions};

/// DSTM on the best balanced pair of paper 5 (section 5.1, DSTM-1), in any 2-D torus.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let dstm = algorithm_by_name("dstm-1", &torus, &Options::default())?;
/// let plan = dstm.plan(&Multicast::new(NodeId::new(0), &[5, 10, 15].map(NodeId::new)));
/// // One worm, bound to the consumption channels of its tree.
/// assert_eq!(plan.worms.len(), 1);
/// assert!(plan.worms[0].consumption_class.is_some_and(|class| class < 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const DSTM_1: Descriptor =
    over_trees("dstm-1", "one worm on one of two spanning trees, the best balanced pair", |network, options| {
        let starts = starts(network, options)?;
        Dstm::by_construction(DSTM_1.name, network, options, |failed| {
            DSTM_1_TREES.build(network, &TreeOptions { failed, ..starts.clone() })
        })
    })
    .on(Family::Torus)
    .offering(STARTS);

/// DSTM on the pair with the shortest routes of paper 5 (section 5.1, DSTM-2).
pub const DSTM_2: Descriptor = over_trees(
    "dstm-2",
    "one worm on one of two spanning trees, the pair with the shortest routes",
    |network, options| {
        let starts = starts(network, options)?;
        Dstm::by_construction(DSTM_2.name, network, options, |failed| {
            DSTM_2_TREES.build(network, &TreeOptions { failed, ..starts.clone() })
        })
    },
)
.on(Family::Torus)
.offering(STARTS);

/// The options of both.
const STARTS: &[AlgorithmOption] = &[AlgorithmOption::First, AlgorithmOption::Second, AlgorithmOption::Split];

fn starts(network: &Network, options: &Options) -> Result<TreeOptions, AlgorithmError> {
    let AlgorithmOptions { first, second, .. } = &options.own;
    let wrong = |option| move |error| AlgorithmError::Start { option, error };
    let first = first.as_deref().map(|text| parse_start(network, text)).transpose();
    let second = second.as_deref().map(|text| SecondStart::parse(network, text)).transpose();
    Ok(TreeOptions {
        first: first.map_err(wrong(AlgorithmOption::First))?,
        second: second.map_err(wrong(AlgorithmOption::Second))?,
        ..TreeOptions::default()
    })
}
