//! Trees of dimension-order routes: all that go the same way share a channel.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network};
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::{ForkingTrees, Rule, RuleRouting, no_routing};
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};

/// [`DimensionOrderTree`], along the row first.
pub const XY_TREE: Descriptor = Descriptor::built_in(
    "xy-tree",
    "one tree: along the source's row, and from there along each column with destinations",
    Sends::Trees,
    |network, options| Ok(Box::new(DimensionOrderTree::xy(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE);

/// [`DimensionOrderTree`], along the column first.
pub const YX_TREE: Descriptor = Descriptor::built_in(
    "yx-tree",
    "one tree: along the source's column, and from there along each row with destinations",
    Sends::Trees,
    |network, options| Ok(Box::new(DimensionOrderTree::yx(network, options)?)),
)
.on(Family::Mesh2d);

/// The routing of unicasts along the column first.
pub(crate) const YX: &str = "yx";

/// The XY tree, or the YX tree: the routes of dimension-order unicasts to all destinations, laid over each other, as one worm.
///
/// Source: the multicast of the network-on-chip generator `ProNoC`; many others have it. A router forks by the port on which the worm came: one that goes along a column
/// goes on along it; one that goes along the row goes on along the row if a column that way has a destination, and turns into the column if that has one; all
/// deliver. `yx-tree` is its mirror image. Worms do not fork on shortest paths to as few channels as possible: [`rpm`](crate::RPM) takes fewer.
///
/// On 2-D meshes. Safe where buffers hold whole messages and branches are independent and reserved separately, which is the default; in lockstep two worms can deadlock.
/// O((destinations + channels) x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let tree = algorithm_by_name("xy-tree", &mesh, &Options::default())?;
/// let plan = tree.plan(&Multicast::new(NodeId::new(0), &parse_node_list(&mesh, "1,2;3,1;3,0")?));
/// let channels: Vec<String> = plan.worms[0].channels(tree.routing())?.into_iter().map(|c| mesh.link_ends(c)).collect();
/// // (0,0) > (1,0), where column 1 goes up and the row goes on to (3,0), and up to (3,1).
/// assert_eq!(channels.len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DimensionOrderTree {
    name: &'static str,
    trees: ForkingTrees,
}

impl DimensionOrderTree {
    /// `xy-tree` on a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn xy(network: &Arc<Network>, _options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { name: XY_TREE.name, trees: xy_trees(&XY_TREE, network)? })
    }

    /// `yx-tree` on a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind, or a routing is asked for.
    pub fn yx(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { name: YX_TREE.name, trees: yx_trees(&YX_TREE, network, options)? })
    }
}

/// The trees of XY routes.
pub(crate) fn xy_trees(algorithm: &Descriptor, network: &Arc<Network>) -> Result<ForkingTrees, AlgorithmError> {
    let e_cube = algorithm.relation(network, ECube::new)?;
    Ok(ForkingTrees::new(Box::new(e_cube), Rule::InOrder(0), |network, held, next| in_order(network, held, next, 0)))
}

/// The trees of YX routes.
pub(crate) fn yx_trees(
    algorithm: &Descriptor,
    network: &Arc<Network>,
    options: &Options,
) -> Result<ForkingTrees, AlgorithmError> {
    no_routing(algorithm, options, YX)?;
    let unicasts = algorithm.relation(network, |network| Ok(RuleRouting::new(YX, network, Rule::InOrder(1))))?;
    Ok(ForkingTrees::new(Box::new(unicasts), Rule::InOrder(1), |network, held, next| in_order(network, held, next, 1)))
}

/// Straight on, or out of the dimension that comes first.
fn in_order(network: &Network, held: ChannelId, next: ChannelId, first: usize) -> bool {
    let heading = |channel| network.heading(channel).expect("a channel of a mesh");
    let (held, next) = (heading(held), heading(next));
    held == next || held.0 == first && next.0 != first
}

impl Algorithm for DimensionOrderTree {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        self.trees.plan_into(multicast, plan);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}
