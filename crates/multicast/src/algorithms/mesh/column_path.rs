//! Column-path multicast.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId};
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported, WormRule};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::containment::sites;
use crate::plan::{Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`ColumnPath`].
pub const COLUMN_PATH: Descriptor = Descriptor::built_in(
    "column-path",
    "at most two worms a column: along the row, then up or down the column",
    Sends::Paths,
    |network, _| Ok(Box::new(ColumnPath::new(network)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE);

/// Column-path multicast: for each column with destinations, at most one worm up and one down, all on e-cube paths.
///
/// Source: Boppana, Chalasani and Raghavendra 1994, as paper 1 uses it. Every worm runs along the source's row to its column
/// and then along the column. A destination on the source's row rides the worm of its column that goes up, or the one that
/// goes down if nothing lies above. Columns are served from the west, upwards before downwards.
///
/// Needs a 2-D mesh. At most two worms a column; O(destinations x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let column = algorithm_by_name("column-path", &mesh, &Options::default())?;
/// let multicast = Multicast::new(parse_node(&mesh, "1,1")?, &parse_node_list(&mesh, "3,1;3,3;3,2;3,0;1,0")?);
/// let lists: Vec<_> = column.plan(&multicast).worms.iter().map(|worm| worm.visits()).collect();
/// let list = |text| parse_node_list(&mesh, text);
/// assert_eq!(lists, [list("1,0")?, list("3,1;3,2;3,3")?, list("3,0")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ColumnPath {
    routing: ECube,
}

impl ColumnPath {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: COLUMN_PATH.relation(network, ECube::new)? })
    }
}

/// E-cube paths that stop only in their last column.
pub(crate) struct ColumnRule;

impl WormRule for ColumnRule {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        match (network.heading(arriving), network.heading(leaving)) {
            (Some((d1, along1)), Some((d2, along2))) => d1 < d2 || (d1 == d2 && along1 == along2),
            _ => false,
        }
    }

    fn may_stop(&self, network: &Network, _: ChannelId, leaving: ChannelId) -> bool {
        network.heading(leaving).is_some_and(|(dimension, _)| dimension == 1)
    }
}

impl Algorithm for ColumnPath {
    fn name(&self) -> &'static str {
        COLUMN_PATH.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let grid = self.routing.grid();
            let source = sites(grid, &[multicast.source()])[0];
            let sites = sites(grid, multicast.destinations());
            let mut worms = 0;
            let mut put = |nodes: &mut dyn Iterator<Item = NodeId>| {
                let mut stops = plan.take_stops(worms);
                stops.extend(nodes);
                plan.put(worms, Worm::path(multicast.source(), stops));
                worms += 1;
            };
            for column in sites.chunk_by(|one, next| one.x == next.x) {
                let (below, others) = column.split_at(column.partition_point(|site| site.y < source.y));
                // What is on the source's row goes with those above it, if there are any.
                let none_above = others.last().is_none_or(|site| site.y == source.y);
                let (up, level) = if none_above && !below.is_empty() { (&[][..], others) } else { (others, &[][..]) };
                if !up.is_empty() {
                    put(&mut up.iter().map(|site| site.node));
                }
                if !below.is_empty() {
                    put(&mut level.iter().chain(below.iter().rev()).map(|site| site.node));
                }
            }
            plan.worms.truncate(worms);
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &ColumnRule)
    }
}
