//! The XY tree in four parts, one for each quadrant around the source, on two virtual channels.

use std::sync::Arc;

use wormcast_network::{Network, NodeId};
use wormcast_routing::{Branching, Dependencies, E_CUBE, RoutingRelation, VcRange};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::{ForkingTrees, Offset, Output};
use crate::algorithms::mesh::xy_tree::xy_trees;
use crate::capabilities::{AlgorithmCapabilities, BranchingTrees};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};

/// [`DoubleChannelXyTree`].
pub const DOUBLE_CHANNEL_XY_TREE: Descriptor = Descriptor::built_in(
    "double-channel-xy-tree",
    "an XY tree for each quadrant around the source, on two virtual channels",
    Sends::Trees,
    |network, options| Ok(Box::new(DoubleChannelXyTree::new(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE);

/// The double-channel XY tree: up to four tree worms, one for the destinations in each quadrant around the source, each on channels that no worm of another quadrant takes.
///
/// Source: Lin, McKinley and Ni 1994. Two virtual channels are enough for four separate networks, since the worms of opposite quadrants take no channel in common: north-east and
/// south-west have the first, north-west and south-east the others. Straight destinations go with the next quadrant counterclockwise.
///
/// Meant for lockstep, where it is safe as long as all headers of a worm are equally far. By the rules of the simulation a header goes on while its sibling waits, and two worms of one
/// quadrant can block each other: the static check says so. Where buffers hold whole messages and branches are reserved one by one it is safe, as the plain [XY tree](crate::XY_TREE) is.
///
/// On 2-D meshes. O((destinations + channels) x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
/// use wormcast_routing::VcRange;
///
/// let mesh = "mesh:5x5".parse::<TopologySpec>()?.build()?;
/// let tree = algorithm_by_name("double-channel-xy-tree", &mesh, &Options::default())?;
/// let plan = tree.plan(&Multicast::new(parse_node(&mesh, "2,2")?, &parse_node_list(&mesh, "4,4;3,2;0,3;1,0")?));
/// let lists: Vec<_> = plan.worms.iter().map(|worm| worm.visits()).collect();
/// assert_eq!(lists, [parse_node_list(&mesh, "3,2;4,4")?, parse_node_list(&mesh, "0,3")?, parse_node_list(&mesh, "1,0")?]);
/// assert_eq!(plan.worms[2].virtual_channels, Some(VcRange::only(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DoubleChannelXyTree {
    trees: ForkingTrees,
}

/// A quadrant: the outputs that its worms take, and their virtual channels.
struct Quadrant {
    outputs: [Output; 2],
    class: VcRange,
}

const FIRST: VcRange = VcRange::only(0);
const OTHERS: VcRange = VcRange { first: 1, last: u8::MAX };

/// Counterclockwise, from the north-east on.
const QUADRANTS: [Quadrant; 4] = [
    Quadrant { outputs: [Output::East, Output::North], class: FIRST },
    Quadrant { outputs: [Output::West, Output::North], class: OTHERS },
    Quadrant { outputs: [Output::West, Output::South], class: FIRST },
    Quadrant { outputs: [Output::East, Output::South], class: OTHERS },
];

/// The place of the quadrant that a destination belongs to.
fn quadrant((x, y): Offset) -> usize {
    match (x.signum(), y.signum()) {
        (1, 0 | 1) | (0, 0) => 0,
        (-1 | 0, 1) => 1,
        (-1, _) => 2,
        _ => 3,
    }
}

impl DoubleChannelXyTree {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, _options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { trees: xy_trees(&DOUBLE_CHANNEL_XY_TREE, network)? })
    }
}

impl Algorithm for DoubleChannelXyTree {
    fn name(&self) -> &'static str {
        DOUBLE_CHANNEL_XY_TREE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let source = multicast.source();
        let mut parts: [Vec<NodeId>; 4] = Default::default();
        // Sorted once, instead of part by part.
        for (_, node) in self.trees.sorted(0, multicast.destinations()) {
            parts[quadrant(self.trees.offset(source, node))].push(node);
        }
        let parts = parts.iter().zip(&QUADRANTS).filter(|(part, _)| !part.is_empty());
        plan.worms.truncate(parts.clone().count());
        for (id, (part, of)) in parts.enumerate() {
            self.trees.put_worm(plan, id, source, part, Some(of.class));
        }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.dependencies_with(self.branching())
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { virtual_channels: 2, trees: Some(self), ..AlgorithmCapabilities::default() }
    }
}

impl BranchingTrees for DoubleChannelXyTree {
    fn branching(&self) -> Branching {
        self.trees.branching()
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        let network = &**self.network();
        let of = |quadrant: &Quadrant| {
            let outputs = quadrant.outputs;
            self.trees.dependencies_of(network, move |output| outputs.contains(&output), branching)
        };
        Dependencies::of_groups(network, 2, QUADRANTS.iter().map(of).collect())
    }
}
