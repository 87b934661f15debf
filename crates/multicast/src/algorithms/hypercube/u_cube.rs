//! The U-cube algorithm.

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::hypercube::cube_chain::{center, chain_multicast, e_cube, relative_chain};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`UCube`].
pub const U_CUBE: Descriptor = Descriptor::built_in(
    "u-cube",
    "nodes forward by halves of a chain; the fewest steps on one port",
    Sends::Unicasts,
    |network, options| Ok(Box::new(UCube::new(network, options)?)),
)
.on(Family::Hypercube)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Resolution]);

/// U-cube: the holder of a chain sends to its middle node, which serves the upper half, and goes on with the lower half.
///
/// Source: McKinley, Xu, Esfahanian and Ni 1992, as paper 2, section 4.1 and Figure 4, gives it. The chain is the addresses
/// of source and destinations relative to the source (exclusive-or), in increasing order.
///
/// Designed for one port, where it takes ceil(log2(m + 1)) steps for m destinations, the fewest possible; on all ports it takes as
/// many. It does not contend: e-cube resolves the highest dimension first, so the path between two nodes of a chain shares no
/// channel with the path between two others that both come later, and two parts of a chain that different nodes serve do not
/// overlap (paper 2, section 4.1, after McKinley et al.). On all ports a node of the subtree may have to wait until its sender
/// has sent all of its own.
///
/// Needs a hypercube. O(m log m).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{Network, NodeId, TopologySpec};
///
/// // Paper 2, Figure 6(b): two steps, for 1010 forwards to 1011 while the source sends to 1001.
/// let cube = "hypercube:4".parse::<TopologySpec>()?.build()?;
/// let u_cube = algorithm_by_name("u-cube", &cube, &Options::default())?;
/// let plan = u_cube.plan(&Multicast::new(NodeId::new(0), &[0b1001, 0b1010, 0b1011].map(NodeId::new)));
/// let summary = plan.summary(u_cube.routing(), PortModel::One)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// assert_eq!(sent, [(0, 0b1010, 1), (0, 0b1001, 2), (0b1010, 0b1011, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UCube {
    routing: ECube,
}

impl UCube {
    /// On a hypercube, with its dimensions resolved as the options say.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, Unsupported> {
        Ok(Self { routing: U_CUBE.relation(network, |network| e_cube(network, options))? })
    }
}

impl Algorithm for UCube {
    fn name(&self) -> &'static str {
        U_CUBE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let chain = relative_chain(multicast, &self.routing);
        chain_multicast(multicast, &self.routing, &chain, plan, |_, left, right| center(left, right));
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.routing)
    }
}
