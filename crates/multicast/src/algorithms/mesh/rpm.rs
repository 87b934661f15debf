//! Recursive partitioning multicast.

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::{ForkingTrees, Offset, Output, Parts, RuleRouting, no_routing};
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};

/// [`Rpm`].
pub const RPM: Descriptor = Descriptor::built_in(
    "rpm",
    "one tree: at every router, eight parts of the mesh share as few outputs as possible",
    Sends::Trees,
    |network, options| Ok(Box::new(Rpm::new(network, options)?)),
)
.on(Family::Mesh2d);

/// Recursive partitioning multicast: a tree worm, each of whose routers divides the destinations into eight parts around it, and decides by which of
/// these are empty whether those in the corners leave along the row or along the column.
///
/// Source: Wang, Jin, Jouppi and Choi, NOCS 2009. A corner goes along with a straight part that is served anyway, and with a neighbouring corner where that saves a
/// channel. All routes are shortest. The rule is the same after half a turn, but not after reflection: a single destination to the north-east or south-west is reached
/// along the column first, one to the north-west or south-east along the row first.
///
/// On 2-D meshes. *Not* safe on one virtual channel, whatever the buffers: its worms, even unicasts, take all turns. O(destinations x hops to the farthest one).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let multicast = Multicast::new(parse_node(&mesh, "0,0")?, &parse_node_list(&mesh, "1,3;2,3;3,3")?);
/// let links = |name| {
///     let algorithm = algorithm_by_name(name, &mesh, &Options::default())?;
///     Ok::<_, Box<dyn std::error::Error>>(algorithm.plan(&multicast).worms[0].channels(algorithm.routing())?.len())
/// };
/// // Up, and along the row of the destinations; the XY tree goes up in three columns.
/// assert_eq!((links("rpm")?, links("xy-tree")?), (6, 12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rpm {
    trees: ForkingTrees,
}

impl Rpm {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind, or a routing is asked for.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        no_routing(&RPM, options, RPM.name)?;
        let unicasts = RPM.relation(network, |network| Ok(RuleRouting::new(RPM.name, network, rule)))?;
        Ok(Self {
            trees: ForkingTrees::new(Box::new(unicasts), rule, |network, held, next| network.reverse(held) != next),
        })
    }
}

/// Whether the east output is taken.
fn goes_east(parts: Parts) -> bool {
    parts.east || parts.south_east && !parts.south && !parts.south_west
}

/// Whether the north output is taken.
fn goes_north(parts: Parts) -> bool {
    let Parts { east, north_east, north, north_west, south_west, south_east, .. } = parts;
    north || north_east && (!east || !south_west && south_east || north_west)
}

/// By which output a destination leaves: of the two that lead nearer to a corner, the one that serves others, too.
pub(crate) fn rule(parts: Parts, (x, y): Offset) -> Output {
    let turned = parts.turned();
    match (x.signum(), y.signum()) {
        (1, 0) => Output::East,
        (-1, 0) => Output::West,
        (0, 1) => Output::North,
        (0, _) => Output::South,
        (1, 1) if goes_north(parts) => Output::North,
        (1, 1) => Output::East,
        (1, _) if goes_east(parts) => Output::East,
        (1, _) => Output::South,
        (_, 1) if goes_east(turned) => Output::West,
        (_, 1) => Output::North,
        _ if goes_north(turned) => Output::South,
        _ => Output::West,
    }
}

impl Algorithm for Rpm {
    fn name(&self) -> &'static str {
        RPM.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        self.trees.plan(multicast)
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}
