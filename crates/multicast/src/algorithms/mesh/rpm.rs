//! Recursive partitioning multicast.

use std::sync::Arc;

use wormcast_network::{Network, NodeId};
use wormcast_routing::{Branching, Dependencies, RoutingRelation, VcRange};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::{ForkingTrees, Offset, Output, Parts, Rule, RuleRouting, no_routing};
use crate::capabilities::{AlgorithmCapabilities, BranchingTrees};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options, RequestPart};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`Rpm`].
pub const RPM: Descriptor = Descriptor::built_in(
    "rpm",
    "one tree: at every router, eight parts of the mesh share as few outputs as possible",
    Sends::Trees,
    |network, options| Ok(Box::new(Rpm::new(network, options)?)),
)
.on(Family::Mesh2d)
.offering(&[AlgorithmOption::Classes]);

/// Recursive partitioning multicast: a tree worm, each of whose routers divides the destinations into eight parts around it, and decides by which of
/// these are empty whether those in the corners leave along the row or along the column.
///
/// Source: Wang, Jin, Jouppi and Choi, NOCS 2009. A corner goes along with a straight part that is served anyway, and with a neighbouring corner where that saves a
/// channel. All routes are shortest. The rule is the same after half a turn, but not after reflection: a single destination to the north-east or south-west is reached
/// along the column first, one to the north-west or south-east along the row first.
///
/// On 2-D meshes. *Not* safe on one virtual channel, whatever the buffers: its worms, even unicasts, take all turns. With the option `classes = 2` there are two virtual
/// networks: one worm for all destinations to the north of the source, on virtual channel 0, and one for those to the south, on the others; what is straight east or west goes with the first that
/// there is. Then it is as safe as the [XY tree](crate::XY_TREE). O(destinations x log destinations + columns x rows that have any + channels).
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
    /// Whether worms to the north and to the south keep to virtual channels of their own.
    divided: bool,
}

impl Rpm {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind, a routing is asked for, or classes other than 1 or 2 are.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        no_routing(&RPM, options, RPM.name)?;
        let unicasts = RPM.relation(network, |network| Ok(RuleRouting::new(RPM.name, network, Rule::ByParts(rule))))?;
        let divided = match options.own.classes {
            None | Some(1) => false,
            Some(2) => true,
            Some(other) => {
                let problem = format!("has 1 or 2 classes of virtual channels, not {other}");
                let part = RequestPart::Option(AlgorithmOption::Classes);
                return Err(AlgorithmError::NotTaken { algorithm: RPM.name, part, problem });
            }
        };
        let trees = ForkingTrees::new(Box::new(unicasts), Rule::ByParts(rule), |network, held, next| {
            network.reverse(held) != next
        });
        Ok(Self { trees, divided })
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
        (1, 1) if goes_north(parts) => Output::North,
        (1, 1) => Output::East,
        (1, _) if goes_east(parts) => Output::East,
        (0 | 1, _) => Output::South,
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
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        if !self.divided {
            return self.trees.plan_into(multicast, plan);
        }
        let source = multicast.source();
        let rows = |node: NodeId| self.trees.offset(source, node).1;
        let (mut north, mut south) = (Vec::new(), Vec::new());
        let any_north = multicast.destinations().iter().any(|&node| rows(node) > 0);
        let any_south = multicast.destinations().iter().any(|&node| rows(node) < 0);
        for &node in multicast.destinations() {
            let to_south = rows(node) < 0 || rows(node) == 0 && any_south && !any_north;
            if to_south { &mut south } else { &mut north }.push(node);
        }
        let groups = [(north, NORTH), (south, SOUTH)];
        let groups = groups.iter().filter(|(group, _)| !group.is_empty());
        plan.worms.truncate(groups.clone().count());
        for (id, (group, class)) in groups.enumerate() {
            self.trees.put_worm(plan, id, source, group, Some(*class));
        }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.dependencies_with(self.branching())
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let virtual_channels = if self.divided { 2 } else { 0 };
        AlgorithmCapabilities { virtual_channels, trees: Some(self), ..AlgorithmCapabilities::default() }
    }
}

/// The virtual channels of worms that never go south, and of those that never go north.
const NORTH: VcRange = VcRange::only(0);
const SOUTH: VcRange = VcRange { first: 1, last: u8::MAX };

impl BranchingTrees for Rpm {
    fn branching(&self) -> Branching {
        self.trees.branching()
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        if !self.divided {
            return self.trees.dependencies_with(branching);
        }
        let network = &**self.network();
        let without = |other| self.trees.dependencies_of(network, move |output| output != other, branching);
        Dependencies::of_groups(network, 2, vec![without(Output::South), without(Output::North)])
    }
}
