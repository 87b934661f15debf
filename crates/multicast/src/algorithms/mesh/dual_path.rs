//! Dual-path multicast.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{
    Dependencies, HAMILTONIAN, Hamiltonian, RoutingRelation, Unsupported, WormRule, hamiltonian_label,
};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::plan::Plan;
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`DualPath`].
pub const DUAL_PATH: Descriptor = Descriptor::built_in(
    "dual-path",
    "at most two worms: one along rising Hamiltonian labels, one along falling ones",
    Sends::Paths,
    |network, _| Ok(Box::new(DualPath::new(network)?)),
)
.on(Family::Mesh)
.routed_by(&HAMILTONIAN);

/// Dual-path multicast: one worm through the destinations with labels above the source's, one through those below.
///
/// Source: Lin, McKinley and Ni 1994; paper 1's "Hamiltonian" algorithm. Labels follow the boustrophedon Hamiltonian path
/// of the mesh ([`hamiltonian_label`]); each worm visits its destinations in label order and takes short cuts between them.
/// At most two startups, but long worms.
///
/// Needs a mesh of any dimension. O(destinations x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let dual = algorithm_by_name("dual-path", &mesh, &Options::default())?;
/// let multicast = Multicast::new(parse_node(&mesh, "1,1")?, &parse_node_list(&mesh, "0,1;3,1;2,3;0,0")?);
/// let lists: Vec<_> = dual.plan(&multicast).worms.iter().map(|worm| worm.visits()).collect();
/// // Row 1 runs west: (0,1) comes after the source, (3,1) before it.
/// assert_eq!(lists, [parse_node_list(&mesh, "0,1;2,3")?, parse_node_list(&mesh, "3,1;0,0")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DualPath {
    routing: Hamiltonian,
}

impl DualPath {
    /// On a mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: DUAL_PATH.relation(network, Hamiltonian::new)? })
    }
}

/// The destinations above and below the source, each in the order in which a worm visits them; one node a router.
pub(crate) fn high_and_low(routing: &Hamiltonian, multicast: &Multicast) -> (Vec<NodeId>, Vec<NodeId>) {
    let label = |node: NodeId| routing.label(RouterId::new(node.raw()));
    let source = label(multicast.source());
    // Label and node in one number, which is sorted faster than a pair.
    let labelled = |&node: &NodeId| u64::from(label(node)) << 32 | u64::from(node.raw());
    let mut nodes: Vec<u64> = multicast.destinations().iter().map(labelled).collect();
    nodes.sort_unstable();
    let (low, high) = nodes.split_at(nodes.partition_point(|&node| node >> 32 < source.into()));
    let node = |&node: &u64| NodeId::new(node as u32);
    (high.iter().map(node).collect(), low.iter().rev().map(node).collect())
}

/// The rule of path-based worms: labels only rise or only fall; stops anywhere.
pub(crate) struct LabelRule;

impl WormRule for LabelRule {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        let Some(grid) = network.shape().mesh() else { return false };
        let rises =
            |channel| hamiltonian_label(grid, network.to(channel)) > hamiltonian_label(grid, network.from(channel));
        rises(arriving) == rises(leaving)
    }

    fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
        true
    }
}

impl Algorithm for DualPath {
    fn name(&self) -> &'static str {
        DUAL_PATH.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let (high, low) = high_and_low(&self.routing, multicast);
            let lists = [high, low].into_iter().filter(|stops| !stops.is_empty());
            plan.replace_by_paths(multicast.source(), lists.collect());
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &LabelRule)
    }
}
