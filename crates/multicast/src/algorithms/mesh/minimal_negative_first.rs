//! Minimal negative-first multicast, as printed.

use std::collections::BTreeMap;
use std::sync::Arc;

use wormcast_network::{Grid, Network, NodeId};
use wormcast_routing::{Dependencies, NEGATIVE_FIRST, NegativeFirst, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::chains::ChainCover;
use crate::algorithms::mesh::containment::{Site, by_row, chosen, greedy, nodes, reversed, sites};
use crate::algorithms::mesh::negative_first_rule::NegativeFirstRule;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::{AlgorithmOption, Greedy};

/// [`MinimalNegativeFirst`].
pub const MINIMAL_NEGATIVE_FIRST: Descriptor = Descriptor::built_in(
    "minimal-negative-first",
    "negative-first path worms on shortest paths, few of them",
    Sends::Paths,
    |network, options| Ok(Box::new(MinimalNegativeFirst::new(network, options)?)),
)
.on(Family::Mesh)
.routed_by(&NEGATIVE_FIRST)
.offering(&[AlgorithmOption::Greedy]);

/// Minimal negative-first multicast as printed: negative-first worms that reach every destination on a shortest path.
///
/// Source: paper 1, section 3.3, Figure 7. One worm for each column with destinations to the northwest, one for each row
/// with destinations to the southeast, and greedy containment-ordered lists for the southwest (reversed) and the northeast,
/// by columns or by rows ([`greedy`](crate::AlgorithmOptions::greedy)).
/// Theorem 2 claims that this makes the fewest such worms, which is false: from (1,0) in a 2x2 mesh to (0,0) and (0,1) it
/// sends two, where (0,0) then (0,1) needs one. [`MinimalNegativeFirstOptimal`](crate::MinimalNegativeFirstOptimal) mends
/// that.
///
/// In other than two dimensions, destinations are grouped by where their shortest negative-first paths turn from negative
/// to positive, and each group is covered by the fewest chains.
///
/// Needs a mesh. O(lists x destinations) in two dimensions, O(destinations^3) at worst in others.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// // The counterexample to Theorem 2.
/// let mesh = "mesh:2x2".parse::<TopologySpec>()?.build()?;
/// let multicast = Multicast::new(parse_node(&mesh, "1,0")?, &parse_node_list(&mesh, "0,0;0,1")?);
/// let worms = |name| {
///     let algorithm = algorithm_by_name(name, &mesh, &Options::default()).unwrap();
///     algorithm.plan(&multicast).worms.len()
/// };
/// assert_eq!(worms("minimal-negative-first"), 2);
/// assert_eq!(worms("minimal-negative-first-optimal"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MinimalNegativeFirst {
    routing: NegativeFirst,
    /// How the lists of the southwest and the northeast are made in two dimensions.
    greedy: Greedy,
}

impl MinimalNegativeFirst {
    /// On a mesh, with the greedy lists that the options say.
    ///
    /// # Errors
    /// If the network is of another kind, or has other than two dimensions and the options choose lists.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = MINIMAL_NEGATIVE_FIRST.relation(network, NegativeFirst::new)?;
        let greedy = chosen(&MINIMAL_NEGATIVE_FIRST, routing.grid(), options)?;
        Ok(Self { routing, greedy })
    }
}

impl Algorithm for MinimalNegativeFirst {
    fn name(&self) -> &'static str {
        MINIMAL_NEGATIVE_FIRST.name
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
            let lists = if grid.dimensions() == 2 {
                Quadrants::new(grid, multicast).into_lists(self.greedy)
            } else {
                grouped_lists(grid, multicast)
            };
            plan.replace_by_paths(multicast.source(), lists);
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &NegativeFirstRule { minimal: true })
    }
}

/// Destinations by where they lie from the source; each group in lexicographic order.
pub(crate) struct Quadrants {
    pub(crate) source: Site,
    /// One list for each column that has destinations strictly northwest, from the west; each by increasing y.
    pub(crate) northwest: Vec<Vec<Site>>,
    /// One list for each row that has destinations strictly southeast, from the south; each by increasing x.
    pub(crate) southeast: Vec<Vec<Site>>,
    pub(crate) southwest: Vec<Site>,
    pub(crate) northeast: Vec<Site>,
}

impl Quadrants {
    pub(crate) fn new(grid: &Grid, multicast: &Multicast) -> Self {
        let source = sites(grid, &[multicast.source()])[0];
        let (mut northwest, mut southeast) = (Vec::new(), Vec::new());
        let (mut southwest, mut northeast) = (Vec::new(), Vec::new());
        for site in sites(grid, multicast.destinations()) {
            match (site.x < source.x, site.y < source.y) {
                (true, false) if site.y > source.y => northwest.push(site),
                (false, true) if site.x > source.x => southeast.push(site),
                (false, false) => northeast.push(site),
                _ => southwest.push(site),
            }
        }
        let northwest = northwest.chunk_by(|one, next| one.x == next.x).map(<[Site]>::to_vec).collect();
        let southeast = by_row(southeast).chunk_by(|one, next| one.y == next.y).map(<[Site]>::to_vec).collect();
        Self { source, northwest, southeast, southwest, northeast }
    }

    /// Steps 3 to 6 of Figure 7.
    pub(crate) fn into_lists(mut self, by: Greedy) -> Vec<Vec<NodeId>> {
        let mut lists: Vec<Vec<NodeId>> =
            self.northwest.iter().chain(&self.southeast).map(|list| nodes(list)).collect();
        while !self.southwest.is_empty() {
            lists.push(reversed(&greedy(&mut self.southwest, by)));
        }
        while !self.northeast.is_empty() {
            lists.push(nodes(&greedy(&mut self.northeast, by)));
        }
        lists
    }
}

/// The generalisation to any number of dimensions.
fn grouped_lists(grid: &Grid, multicast: &Multicast) -> Vec<Vec<NodeId>> {
    let source = grid.coordinates(multicast.source().index());
    // By turning point: where all negative moves are done. The last orthant (upwards only) turns at the source itself, and
    // the destinations that only negative moves reach are their own turning points and form one group.
    let mut mixed: BTreeMap<Vec<u32>, Vec<(Vec<u32>, NodeId)>> = BTreeMap::new();
    let mut below = Vec::new();
    for &node in multicast.destinations() {
        let point = grid.coordinates(node.index());
        let turn: Vec<u32> = point.iter().zip(&source).map(|(&p, &s)| p.min(s)).collect();
        if turn == point {
            below.push((point, node));
        } else {
            mixed.entry(turn).or_default().push((point, node));
        }
    }
    let above = mixed.remove(&source).unwrap_or_default();
    let chains = |mut points: Vec<(Vec<u32>, NodeId)>| -> Vec<Vec<NodeId>> {
        points.sort_unstable();
        let contained = |a: usize, b: usize| points[a].0.iter().zip(&points[b].0).all(|(a, b)| a <= b);
        let mut cover = ChainCover::new(points.len(), |a, b| a != b && contained(a, b));
        cover.join(|_| true);
        cover.chains().into_iter().map(|chain| chain.into_iter().map(|p| points[p].1).collect()).collect()
    };
    let mut lists: Vec<Vec<NodeId>> = mixed.into_values().flat_map(chains).collect();
    lists.extend(chains(below).into_iter().map(|list| list.into_iter().rev().collect()));
    lists.extend(chains(above));
    lists
}
