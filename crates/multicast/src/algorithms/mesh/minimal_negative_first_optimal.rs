//! Minimal negative-first multicast with the fewest worms.

use std::sync::Arc;

use wormcast_network::{Grid, Network, NodeId};
use wormcast_routing::{Dependencies, NEGATIVE_FIRST, NegativeFirst, RoutingRelation, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::chains::ChainCover;
use crate::algorithms::mesh::minimal_negative_first::Quadrants;
use crate::algorithms::mesh::negative_first_rule::NegativeFirstRule;
use crate::plan::Plan;
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};
use crate::registry::options::Greedy;

/// [`MinimalNegativeFirstOptimal`].
pub const MINIMAL_NEGATIVE_FIRST_OPTIMAL: Descriptor = Descriptor::built_in(
    "minimal-negative-first-optimal",
    "the fewest negative-first path worms on shortest paths",
    Sends::Paths,
    |network, _| Ok(Box::new(MinimalNegativeFirstOptimal::new(network)?)),
)
.on(Family::Mesh)
.routed_by(&NEGATIVE_FIRST);

/// Minimal negative-first multicast that meets paper 1's Definition 2: the fewest negative-first worms that reach every
/// destination on a shortest path.
///
/// Source: paper 1, Definition 2 and Figure 7, corrected. A worm to a northwest column first runs west along
/// the source's row: the one to the westernmost such column can deliver to every southwest destination on that row up to
/// its column. Likewise the worm to the southernmost southeast row serves the source's column. This is optimal: two
/// northwest columns, or a column and a row, never share a worm; only southwest destinations on the source's row or column
/// can ride one of those worms; the two chosen worms pick up all that any could; and the southwest destinations that remain
/// need as many worms as their containment order is wide, which grows with the set.
///
/// In other than two dimensions the lists are a minimum chain cover of the order "lies on a shortest negative-first path
/// to", which is transitive, by matching.
///
/// Needs a mesh. O(lists x destinations) in two dimensions, O(destinations^3) at worst in others.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let optimal = algorithm_by_name("minimal-negative-first-optimal", &mesh, &Options::default())?;
/// let multicast = Multicast::new(parse_node(&mesh, "3,1")?, &parse_node_list(&mesh, "1,3;2,1;0,1")?);
/// let lists: Vec<_> = optimal.plan(&multicast).worms.iter().map(|worm| worm.visits()).collect();
/// // (2,1) rides the worm to column 1; (0,1) lies beyond it.
/// assert_eq!(lists, [parse_node_list(&mesh, "2,1;1,3")?, parse_node_list(&mesh, "0,1")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MinimalNegativeFirstOptimal {
    routing: NegativeFirst,
}

impl MinimalNegativeFirstOptimal {
    /// On a mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: MINIMAL_NEGATIVE_FIRST_OPTIMAL.relation(network, NegativeFirst::new)? })
    }
}

impl Algorithm for MinimalNegativeFirstOptimal {
    fn name(&self) -> &'static str {
        MINIMAL_NEGATIVE_FIRST_OPTIMAL.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let lists = lists(self.routing.grid(), multicast);
            plan.replace_by_paths(multicast.source(), lists);
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &NegativeFirstRule { minimal: true })
    }
}

/// The destinations of each worm, in order.
pub(crate) fn lists(grid: &Grid, multicast: &Multicast) -> Vec<Vec<NodeId>> {
    if grid.dimensions() == 2 { riding_lists(grid, multicast) } else { covered_lists(grid, multicast) }
}

/// Figure 7 with riders.
fn riding_lists(grid: &Grid, multicast: &Multicast) -> Vec<Vec<NodeId>> {
    let mut quadrants = Quadrants::new(grid, multicast);
    let source = quadrants.source;
    // Southwest sites are in lexicographic order: put the riders, nearest to the source first, in front of their worm.
    if let Some(westernmost) = quadrants.northwest.first_mut() {
        let column = westernmost[0].x;
        let riders = quadrants.southwest.extract_if(.., |site| site.y == source.y && site.x >= column);
        westernmost.splice(..0, riders.collect::<Vec<_>>().into_iter().rev());
    }
    if let Some(southernmost) = quadrants.southeast.first_mut() {
        let row = southernmost[0].y;
        let riders = quadrants.southwest.extract_if(.., |site| site.x == source.x && site.y >= row);
        southernmost.splice(..0, riders.collect::<Vec<_>>().into_iter().rev());
    }
    quadrants.into_lists(Greedy::Columns)
}

/// A minimum chain cover of "lies on a shortest negative-first path to".
fn covered_lists(grid: &Grid, multicast: &Multicast) -> Vec<Vec<NodeId>> {
    struct Point {
        at: Vec<u32>,
        /// Where the shortest negative-first paths to it have made all their negative moves.
        turn: Vec<u32>,
        node: NodeId,
    }
    let source = grid.coordinates(multicast.source().index());
    let all = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(a, b)| a <= b);
    let point = |&node: &NodeId| {
        let at = grid.coordinates(node.index());
        let turn = at.iter().zip(&source).map(|(&p, &s)| p.min(s)).collect();
        Point { at, turn, node }
    };
    let mut points: Vec<Point> = multicast.destinations().iter().map(point).collect();
    points.sort_unstable_by(|a, b| a.at.cmp(&b.at));
    let precedes = |a: usize, b: usize| {
        let (first, then) = (&points[a], &points[b]);
        let still_negative = first.at == first.turn;
        // On the negative part of the way to the second's turning point, or on the positive part behind the same one.
        a != b
            && ((still_negative && all(&then.turn, &first.at)) || (first.turn == then.turn && all(&first.at, &then.at)))
    };
    let mut cover = ChainCover::new(points.len(), precedes);
    cover.join(|_| true);
    cover.chains().into_iter().map(|chain| chain.into_iter().map(|p| points[p].node).collect()).collect()
}
