//! Maxport: software multicast on hypercubes that uses as many ports of a node at a time as it can (paper 2).

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::hypercube::cube_chain::{chain_multicast, e_cube, highdim, relative_chain};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`Maxport`].
pub const MAXPORT: Descriptor = Descriptor::built_in(
    "maxport",
    "nodes forward by halves of subcubes, along each dimension at most once",
    Sends::Unicasts,
    |network, options| Ok(Box::new(Maxport::new(network, options)?)),
)
.on(Family::Hypercube)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Resolution]);

/// Maxport: the holder of a chain sends to the first node of the other half of its subcube, which serves that half, and goes on
/// with its own half.
///
/// Source: paper 2, section 4.1: Figure 4 with *next = highdim*. So a node sends along each dimension at most once, to as many nodes
/// as its ports and the destinations permit.
///
/// Designed for all ports, where all unicasts of a node leave in one step. It does not contend: a node and the nodes
/// that it is served with lie in a subcube, and paths inside a subcube share no channel with paths outside (paper 2, Theorem 2);
/// the paths of one node leave by different channels (Theorem 1). A half with many destinations may hang from one node: up to
/// as many steps as there are dimensions.
///
/// Needs a hypercube. O(m log m) for m destinations.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{Network, NodeId, TopologySpec};
///
/// // Paper 2, Figure 6(a): a chain of three steps where U-cube takes two.
/// let cube = "hypercube:4".parse::<TopologySpec>()?.build()?;
/// let maxport = algorithm_by_name("maxport", &cube, &Options::default())?;
/// let plan = maxport.plan(&Multicast::new(NodeId::new(0), &[0b1001, 0b1010, 0b1011].map(NodeId::new)));
/// let summary = plan.summary(maxport.routing(), PortModel::All)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// assert_eq!(sent, [(0, 0b1001, 1), (0b1001, 0b1010, 2), (0b1010, 0b1011, 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Maxport {
    routing: ECube,
}

impl Maxport {
    /// On a hypercube, with its dimensions resolved as the options say.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, Unsupported> {
        Ok(Self { routing: MAXPORT.relation(network, |network| e_cube(network, options))? })
    }
}

impl Algorithm for Maxport {
    fn name(&self) -> &'static str {
        MAXPORT.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        chain_multicast(multicast, &self.routing, &relative_chain(multicast, &self.routing), plan, highdim);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.routing)
    }
}
