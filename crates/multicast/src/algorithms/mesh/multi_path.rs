//! Multi-path multicast.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{Dependencies, HAMILTONIAN, Hamiltonian, RoutingRelation, Unsupported, hamiltonian_label};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::dual_path::{LabelRule, high_and_low};
use crate::plan::{Itinerary, Path, Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`MultiPath`].
pub const MULTI_PATH: Descriptor = Descriptor::built_in(
    "multi-path",
    "dual-path with each half split between the source's neighbours: at most four worms",
    Sends::Paths,
    |network, _| Ok(Box::new(MultiPath::new(network)?)),
)
.on(Family::Mesh2d)
.routed_by(&HAMILTONIAN);

/// Multi-path multicast: dual-path, with each half split between the source's neighbours; at most four worms.
///
/// Source: Lin, McKinley and Ni 1994. If the source has two neighbours with higher labels, one lies in its own row and one in
/// the next: the destinations on the former's side of the source's column go to a worm that leaves through it, the others to
/// one that leaves through the latter. The half below is split the same way.
///
/// Needs a 2-D mesh. O(destinations x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let multi = algorithm_by_name("multi-path", &mesh, &Options::default())?;
/// let multicast = Multicast::new(parse_node(&mesh, "1,2")?, &parse_node_list(&mesh, "0,3;3,3;1,1;3,0;0,0")?);
/// let lists: Vec<_> = multi.plan(&multicast).worms.iter().map(|worm| worm.visits()).collect();
/// // Row 2 runs east: upwards, the east goes through (2,2) and the rest through (1,3);
/// // downwards, the west goes through (0,2) and the rest through (1,1).
/// let list = |text| parse_node_list(&mesh, text);
/// assert_eq!(lists, [list("3,3")?, list("0,3")?, list("0,0")?, list("1,1;3,0")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiPath {
    routing: Hamiltonian,
}

impl MultiPath {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: MULTI_PATH.relation(network, Hamiltonian::new)? })
    }
}

/// Splits one half by the source's neighbours in it: those on the row neighbour's side of the source's column, and the rest.
fn split(
    routing: &Hamiltonian,
    source: NodeId,
    half: Vec<NodeId>,
    high: bool,
) -> Vec<(Option<ChannelId>, Vec<NodeId>)> {
    let (network, grid) = (routing.network(), routing.grid());
    let router = RouterId::new(source.raw());
    let label = hamiltonian_label(grid, router);
    let x = |index: usize| grid.coordinate(index, 0);
    let in_half = |channel: &ChannelId| (hamiltonian_label(grid, network.to(*channel)) > label) == high;
    let (along, across): (Vec<ChannelId>, Vec<ChannelId>) = network
        .outputs(router)
        .filter(in_half)
        .partition(|&channel| x(network.to(channel).index()) != x(source.index()));
    let (&[along], &[across]) = (&along[..], &across[..]) else { return vec![(None, half)] };
    let eastward = x(network.to(along).index()) > x(source.index());
    let (side, rest) = half.into_iter().partition(|node| {
        let there = x(node.index());
        if eastward { there > x(source.index()) } else { there < x(source.index()) }
    });
    vec![(Some(along), side), (Some(across), rest)]
}

impl Algorithm for MultiPath {
    fn name(&self) -> &'static str {
        MULTI_PATH.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let source = multicast.source();
            let (high, low) = high_and_low(&self.routing, multicast);
            let mut lists = split(&self.routing, source, high, true);
            lists.extend(split(&self.routing, source, low, false));
            let worm = |(exit, stops)| Worm {
                itinerary: Itinerary::Path(Path { exit, stops }),
                ..Worm::path(source, Vec::new())
            };
            plan.worms.clear();
            plan.worms.extend(lists.into_iter().filter(|(_, stops)| !stops.is_empty()).map(worm));
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &LabelRule)
    }
}
