//! Combine: software multicast on hypercubes. Maxport, unless one node would have to serve most destinations; then U-cube (paper 2).

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::hypercube::cube_chain::{center, chain_multicast, e_cube, highdim, relative_chain};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`Combine`].
pub const COMBINE: Descriptor = Descriptor::built_in(
    "combine",
    "Maxport, unless one node would have to serve most destinations; then U-cube",
    Sends::Unicasts,
    |network, options| Ok(Box::new(Combine::new(network, options)?)),
)
.on(Family::Hypercube)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Resolution]);

/// Combine: Maxport, unless that would leave the receiver with more than half of the chain; then U-cube.
///
/// Source: paper 2, section 4.1: Figure 4 with *next = max(highdim, center)*. It uses several ports, but not at the price of one
/// node that serves most destinations.
///
/// Designed for all ports; a node may send along one dimension several times, one step after the other. No node has to serve more than
/// half of what its sender had left, so on all ports it never takes more steps than U-cube: ceil(log2(m + 1)) for m destinations.
/// It does not contend: before a node sends along a lower dimension it has given away the other half of its subcube, so other
/// nodes serve disjoint subcubes, or parts of one that do not overlap, as U-cube's.
///
/// Needs a hypercube. O(m log m).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{Network, NodeId, TopologySpec};
///
/// // As U-cube within the half that holds all destinations (paper 2, Figure 6).
/// let cube = "hypercube:4".parse::<TopologySpec>()?.build()?;
/// let combine = algorithm_by_name("combine", &cube, &Options::default())?;
/// let plan = combine.plan(&Multicast::new(NodeId::new(0), &[0b1001, 0b1010, 0b1011].map(NodeId::new)));
/// let summary = plan.summary(combine.routing(), PortModel::All)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// assert_eq!(sent, [(0, 0b1010, 1), (0, 0b1001, 2), (0b1010, 0b1011, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Combine {
    routing: ECube,
}

impl Combine {
    /// On a hypercube, with its dimensions resolved as the options say.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, Unsupported> {
        Ok(Self { routing: COMBINE.relation(network, |network| e_cube(network, options))? })
    }
}

impl Algorithm for Combine {
    fn name(&self) -> &'static str {
        COMBINE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let next = |chain: &[u32], left, right| highdim(chain, left, right).max(center(left, right));
        chain_multicast(multicast, &self.routing, &relative_chain(multicast, &self.routing), plan, next);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.routing)
    }
}
