//! The U-mesh algorithm.

use std::sync::Arc;

use wormcast_network::{Grid, Network, NodeId, RouterId};
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::unicast_tree::{other_half, unicast_tree};
use crate::plan::Plan;
use crate::plan::ids::sorted_nodes;
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`UMesh`].
pub const U_MESH: Descriptor = Descriptor::built_in(
    "u-mesh",
    "nodes forward by halves of a chain; the fewest steps on one port",
    Sends::Unicasts,
    |network, _| Ok(Box::new(UMesh::new(network)?)),
)
.on(Family::Mesh)
.routed_by(&E_CUBE);

/// U-mesh: source and destinations in the order in which e-cube resolves dimensions; the holder of a part of that chain sends to
/// the node nearest to itself in the half that it is not in, which serves that half.
///
/// Source: McKinley, Xu, Esfahanian and Ni, Unicast-based multicast communication in wormhole-routed networks, IEEE Transactions on
/// Parallel and Distributed Systems 5(12), 1994. Unlike in U-cube, the source keeps its place in the chain.
///
/// Designed for one port, where it takes ceil(log2(m + 1)) steps for m destinations, the fewest possible. It does not contend
/// on one port: nodes after the source in the chain send forwards only, those before it backwards only, and parts that different
/// nodes serve do not overlap; two e-cube paths between nodes of a chain, all of one before all of the other, share no channel
/// unless they lead towards each other.
///
/// Needs a mesh of any dimension. O(m log m).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// // The chain, x first: 0,2  1,0  [1,1]  2,2  3,1.
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let u_mesh = algorithm_by_name("u-mesh", &mesh, &Options::default())?;
/// let multicast = Multicast::new(NodeId::new(5), &parse_node_list(&mesh, "0,2;1,0;2,2;3,1")?);
/// let summary = u_mesh.plan(&multicast).summary(u_mesh.routing(), PortModel::One)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// // To 2,2, which serves 3,1; to 1,0, which serves 0,2.
/// assert_eq!(sent, [(5, 10, 1), (5, 1, 2), (10, 7, 2), (1, 8, 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UMesh {
    routing: ECube,
}

impl UMesh {
    /// On a mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: U_MESH.relation(network, ECube::new)? })
    }
}

/// The unicasts by which `source` gives a message to `others`, which are all different from it and from each other, in place of an earlier plan.
pub(crate) fn mesh_multicast(
    grid: &Grid,
    router_of: impl Fn(NodeId) -> RouterId,
    source: NodeId,
    others: &[NodeId],
    plan: &mut Plan,
) {
    // Coordinates as digits, the one that e-cube resolves first as the most significant.
    let place = |node: NodeId| {
        let router = router_of(node).index();
        grid.axes().iter().fold(0, |place, axis| place * axis.extent() + axis.coordinate(router))
    };
    let nodes = others.iter().copied().chain([source]);
    let placed = sorted_nodes(nodes.map(|node| (place(node), node)).collect(), grid.len());
    let chain: Vec<NodeId> = placed.into_iter().map(|(_, node)| node).collect();
    let position = chain.iter().position(|&node| node == source).unwrap_or(0);
    unicast_tree(&chain, position, plan, other_half);
}

impl Algorithm for UMesh {
    fn name(&self) -> &'static str {
        U_MESH.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let grid = self.routing.grid();
        let router_of = |node| self.network().router_of(node);
        mesh_multicast(grid, router_of, multicast.source(), multicast.destinations(), plan);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.routing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::{ChannelId, TopologySpec};
    use wormcast_routing::append_route;

    /// What the argument against contention rests on.
    #[test]
    fn paths_apart_in_the_chain_meet_only_if_they_lead_towards_each_other() {
        let mesh = "mesh:3x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let router = |place: usize| mesh.router_of(NodeId::new((place / 4 + place % 4 * 3) as u32));
        let path = |from: usize, to: usize| {
            let mut channels: Vec<ChannelId> = Vec::new();
            append_route(&ECube::new(&mesh).unwrap(), router(from), None, router(to), &mut channels).unwrap();
            channels
        };
        let meet = |a: &[ChannelId], b: &[ChannelId]| a.iter().any(|channel| b.contains(channel));
        let mut towards = 0;
        for a in 0..12 {
            for b in a + 1..12 {
                for c in b..12 {
                    for d in c + 1..12 {
                        assert!(!meet(&path(a, b), &path(c, d)));
                        assert!(!meet(&path(b, a), &path(d, c)));
                        assert!(!meet(&path(b, a), &path(c, d)));
                        towards += usize::from(meet(&path(a, b), &path(d, c)));
                    }
                }
            }
        }
        assert!(towards > 0);
    }
}
