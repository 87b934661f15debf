//! The W-sort algorithm.

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::hypercube::cube_chain::{chain_multicast, e_cube, highdim, relative_chain};
use crate::algorithms::hypercube::weighted_sort::weighted_sort;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`WSort`].
pub const W_SORT: Descriptor = Descriptor::built_in(
    "w-sort",
    "Maxport along a chain in which the more crowded half of a subcube comes first",
    Sends::Unicasts,
    |network, options| Ok(Box::new(WSort::new(network, options)?)),
)
.on(Family::Hypercube)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Resolution]);

/// W-sort: Maxport along a weighted chain, in which the half of a subcube with more destinations comes first.
///
/// Source: paper 2, section 4.2, Figures 7 and 8. The first node of a subcube receives the message for all of it; after the weighted
/// sort ([`weighted_sort`]) that is a node in its most crowded corner, which then reaches the most destinations by different ports.
///
/// Designed for all ports. It does not contend (paper 2, Theorem 6): the weighted chain is cube-ordered (Theorem 5), which is all
/// that the argument for Maxport needs.
///
/// Needs a hypercube. O(m log m) for m destinations.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{Network, NodeId, TopologySpec};
///
/// // Paper 2, Figure 8(c): two steps where U-cube and Maxport take four.
/// let cube = "hypercube:4".parse::<TopologySpec>()?.build()?;
/// let w_sort = algorithm_by_name("w-sort", &cube, &Options::default())?;
/// let plan = w_sort.plan(&Multicast::new(NodeId::new(0), &[1, 3, 5, 7, 11, 12, 14, 15].map(NodeId::new)));
/// let summary = plan.summary(w_sort.routing(), PortModel::All)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// assert_eq!(sent, [(0, 14, 1), (0, 5, 1), (0, 3, 1), (0, 1, 1), (14, 11, 2), (14, 12, 2), (14, 15, 2), (5, 7, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WSort {
    routing: ECube,
}

impl WSort {
    /// On a hypercube, with its dimensions resolved as the options say.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, Unsupported> {
        Ok(Self { routing: W_SORT.relation(network, |network| e_cube(network, options))? })
    }
}

impl Algorithm for WSort {
    fn name(&self) -> &'static str {
        W_SORT.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let mut chain = relative_chain(multicast, &self.routing);
        weighted_sort(&mut chain);
        chain_multicast(multicast, &self.routing, &chain, plan, highdim);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.routing)
    }
}
