//! Software multicast along a chain that follows a spanning tree.

use std::sync::Arc;

use wormcast_network::{Network, NodeId};
use wormcast_routing::{Dependencies, RoutingDescriptor, RoutingRelation, SpamRouting, SpanningTree, UP_DOWN};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::irregular::turn_trees::require_connected;
use crate::algorithms::unicast_tree::{other_half, unicast_tree};
use crate::plan::Plan;
use crate::plan::ids::sorted_nodes;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Routed, Sends};

/// [`ChainOrdered`].
pub const CHAIN_ORDERED: Descriptor = Descriptor::built_in(
    "chain-ordered",
    "nodes forward by halves of a chain that follows a spanning tree; where routes stay on it, the fewest steps on one port",
    Sends::Unicasts,
    |network, options| Ok(Box::new(ChainOrdered::new(network, options)?)),
)
.on(Family::Connected)
.routed(Routed::Any(up_down));

/// The default on every network.
fn up_down(_: &Network) -> &'static RoutingDescriptor {
    &UP_DOWN
}

/// Software multicast on irregular networks: source and destinations in the order in which a walk around a breadth-first spanning tree
/// meets their routers, from the source on; the holder of a part of that chain, always its first node, sends to the first node of
/// the half behind it, which serves that half.
///
/// Source: paper 3, section 4, names it among the schemes that do without replication in routers, and cites Kesavan, Bodalapati
/// and Panda, Multicast on irregular switch-based networks with wormhole routing, HPCA 1997, who do so with U-mesh. Their order is not in the
/// text; this one is that of a depth-first walk on the breadth-first tree from the routing's root.
///
/// Where routes stay on the tree, as in a network that is one, ceil(log2(m + 1)) steps on one port for m destinations, the fewest possible: worms do not
/// contend, for all lead forwards, and parts that different nodes serve do not overlap. The nodes
/// on that side of a link on which the source is not are neighbours in the chain, so of two such routes, one before the other, that both
/// cross the link, the first enters that side and the second leaves it. Links beside the tree make routes shorter, and some of them meet:
/// worms that share a channel are in different steps, so there may be more.
///
/// On every connected network, with any routing. O(m log m).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let chain = algorithm_by_name("chain-ordered", &torus, &Options::default())?;
/// let plan = chain.plan(&Multicast::new(NodeId::new(0), &[1, 5, 6, 9, 10, 13, 14].map(NodeId::new)));
/// let summary = plan.summary(chain.routing(), PortModel::One)?;
/// assert_eq!((plan.worms.len(), summary.steps), (7, 3));
///
/// // Elsewhere worms may share a channel: three steps here, and not two.
/// let graph = "random:nodes=6,degree=2.5,seed=1".parse::<TopologySpec>()?.build()?;
/// let chain = algorithm_by_name("chain-ordered", &graph, &Options::default())?;
/// let plan = chain.plan(&Multicast::new(NodeId::new(0), &[4, 1, 3].map(NodeId::new)));
/// assert_eq!(plan.summary(chain.routing(), PortModel::One)?.steps, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChainOrdered {
    routing: Box<dyn RoutingRelation>,
    tree: SpanningTree,
}

impl ChainOrdered {
    /// With the routing of the options, or up*/down*.
    ///
    /// # Errors
    /// If the routing is not defined on the network, or the network has no spanning tree.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = options.routing.unwrap_or(&UP_DOWN).make(network, &options.of_routing())?;
        require_connected(CHAIN_ORDERED.name, network)?;
        let tree = SpamRouting::new(network, options.root.unwrap_or_default())?.tree().clone();
        Ok(Self { routing, tree })
    }
}

impl Algorithm for ChainOrdered {
    fn name(&self) -> &'static str {
        CHAIN_ORDERED.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.routing.as_ref()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let network = self.network();
        let nodes = multicast.destinations().iter().copied().chain([multicast.source()]);
        // The numbers of a subtree's routers are consecutive in every depth-first order.
        let numbered = nodes.map(|node| (self.tree.number(network.router_of(node)), node)).collect();
        let mut chain: Vec<NodeId> =
            sorted_nodes(numbered, network.routers()).into_iter().map(|(_, node)| node).collect();
        let first = chain.iter().position(|&node| node == multicast.source()).unwrap_or(0);
        chain.rotate_left(first);
        unicast_tree(&chain, 0, plan, other_half);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(self.routing())
    }
}
