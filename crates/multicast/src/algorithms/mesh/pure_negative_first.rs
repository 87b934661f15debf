//! Pure negative-first multicast.

use std::sync::Arc;

use wormcast_network::{Grid, Network, NodeId};
use wormcast_routing::{Dependencies, NEGATIVE_FIRST, NegativeFirst, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::chains::ChainCover;
use crate::algorithms::mesh::containment::{Site, by_row, chosen, column_greedy, greedy, nodes, row_greedy, sites};
use crate::algorithms::mesh::negative_first_rule::NegativeFirstRule;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::{AlgorithmOption, Greedy};

/// [`PureNegativeFirst`].
pub const PURE_NEGATIVE_FIRST: Descriptor = Descriptor::built_in(
    "pure-negative-first",
    "the fewest negative-first path worms",
    Sends::Paths,
    |network, options| Ok(Box::new(PureNegativeFirst::new(network, options)?)),
)
.on(Family::Mesh)
.routed_by(&NEGATIVE_FIRST)
.offering(&[AlgorithmOption::Greedy]);

/// Pure negative-first multicast: the fewest worms that negative-first paths allow, however long.
///
/// Source: paper 1, section 3.2, Figure 4. A worm's list is a containment-ordered list of nodes southwest of the source,
/// reversed, then any containment-ordered list: first down, then up. Lists are made greedily, first for the northwest, then
/// the southeast, the northeast and the southwest; the southwest's ride in front of others, or in front of each other.
///
/// The lists of the northeast are made by columns or, which the paper permits as well, by rows
/// ([`greedy`](crate::AlgorithmOptions::greedy)).
///
/// In two dimensions this is the printed algorithm; it is optimal (Theorem 1). In any other number of dimensions chain
/// covers by matching take the place of the greedy lists: nodes outside the source's lower orthant are joined into as few
/// chains as possible, and augmenting with the others keeps them so; then the number of lists is
/// `max(width(D without SW), ceil(width(D) / 2))`, the lower bound.
///
/// Needs a mesh. O(lists x destinations) in two dimensions, O(destinations^3) at worst in others.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let pure = algorithm_by_name("pure-negative-first", &mesh, &Options::default())?;
/// let multicast = Multicast::new(parse_node(&mesh, "2,1")?, &parse_node_list(&mesh, "0,2;1,0;3,3")?);
/// let plan = pure.plan(&multicast);
/// // (1,0) lies southwest and is visited on the way down, (0,2) and (3,3) on the way up.
/// assert_eq!(plan.worms.len(), 1);
/// assert_eq!(plan.worms[0].visits(), parse_node_list(&mesh, "1,0;0,2;3,3")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PureNegativeFirst {
    routing: NegativeFirst,
    /// How the lists of the northeast are made in two dimensions.
    greedy: Greedy,
}

impl PureNegativeFirst {
    /// On a mesh, with the greedy lists that the options say.
    ///
    /// # Errors
    /// If the network is of another kind, or has other than two dimensions and the options choose lists.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = PURE_NEGATIVE_FIRST.relation(network, NegativeFirst::new)?;
        let greedy = chosen(&PURE_NEGATIVE_FIRST, routing.grid(), options)?;
        Ok(Self { routing, greedy })
    }
}

impl Algorithm for PureNegativeFirst {
    fn name(&self) -> &'static str {
        PURE_NEGATIVE_FIRST.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let lists = lists(self.routing.grid(), multicast, self.greedy);
            plan.replace_by_paths(multicast.source(), lists);
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &NegativeFirstRule { minimal: false })
    }
}

/// The destinations of each worm, in order; in two dimensions with greedy lists of the northeast.
pub(crate) fn lists(grid: &Grid, multicast: &Multicast, northeast: Greedy) -> Vec<Vec<NodeId>> {
    let (positive, either) =
        if grid.dimensions() == 2 { greedy_lists(grid, multicast, northeast) } else { matched_lists(grid, multicast) };
    combine(positive, either)
}

/// Containment-ordered lists: those that have to be routed upwards, and those southwest of the source, which can go first.
type Lists = (Vec<Vec<NodeId>>, Vec<Vec<NodeId>>);

/// Steps 2 to 6 of Figure 4.
fn greedy_lists(grid: &Grid, multicast: &Multicast, by: Greedy) -> Lists {
    let source = sites(grid, &[multicast.source()])[0];
    let mut rest = sites(grid, multicast.destinations());
    let northwest = |site: &Site| site.x < source.x && site.y > source.y;
    let southeast = |site: &Site| site.x > source.x && site.y < source.y;
    let northeast = |site: &Site| site.x >= source.x && site.y >= source.y;
    let (mut positive, mut either) = (Vec::new(), Vec::new());
    while rest.iter().any(northwest) {
        positive.push(nodes(&column_greedy(&mut rest)));
    }
    let mut rows = by_row(rest.clone());
    while rest.iter().any(southeast) {
        positive.push(nodes(&row_greedy(&mut rest, &mut rows)));
    }
    while rest.iter().any(northeast) {
        positive.push(nodes(&greedy(&mut rest, by)));
    }
    while !rest.is_empty() {
        either.push(nodes(&column_greedy(&mut rest)));
    }
    (positive, either)
}

/// The lists in a mesh of any number of dimensions.
fn matched_lists(grid: &Grid, multicast: &Multicast) -> Lists {
    let source = grid.coordinates(multicast.source().index());
    let mut points: Vec<(Vec<u32>, NodeId)> =
        multicast.destinations().iter().map(|&node| (grid.coordinates(node.index()), node)).collect();
    points.sort_unstable();
    let contains = |upper: &[u32], lower: &[u32]| lower.iter().zip(upper).all(|(l, u)| l <= u);
    let outside: Vec<bool> = points.iter().map(|(point, _)| !contains(&source, point)).collect();
    let mut cover = ChainCover::new(points.len(), |a, b| a != b && contains(&points[b].0, &points[a].0));
    // First those that must be visited on the way up, then all: no chain more than necessary goes up.
    cover.join(|point| outside[point]);
    cover.join(|_| true);
    let (positive, either): (Vec<_>, Vec<_>) =
        cover.chains().into_iter().partition(|chain| chain.iter().any(|&point| outside[point]));
    let named = |chains: Vec<Vec<usize>>| {
        chains.into_iter().map(|chain| chain.into_iter().map(|point| points[point].1).collect()).collect()
    };
    (named(positive), named(either))
}

/// Steps 7 to 9 of Figure 4: each list that can go first is reversed and put in front of another.
fn combine(positive: Vec<Vec<NodeId>>, either: Vec<Vec<NodeId>>) -> Vec<Vec<NodeId>> {
    let mut lists = Vec::new();
    let mut positive = positive.into_iter();
    let mut either = either.into_iter();
    while let Some(down) = either.next() {
        let up = positive.next().or_else(|| either.next()).unwrap_or_default();
        lists.push(down.into_iter().rev().chain(up).collect());
    }
    lists.extend(positive);
    lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::{TopologySpec, parse_node, parse_node_list};

    /// Paper 1, section 3.2, Figures 5 and 6: the lists A, B and C.
    #[test]
    fn example_of_section_3_2() {
        let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
        let destinations = "1,4;1,5;2,7;5,4;6,5;6,7;7,4;0,2;2,0;2,2;2,3;3,1;3,2;4,2;5,0;5,1;5,2;7,2";
        let multicast =
            Multicast::new(parse_node(&mesh, "4,3").unwrap(), &parse_node_list(&mesh, destinations).unwrap());
        let plan = PureNegativeFirst::new(&mesh, &Options::default()).unwrap().plan(&multicast);
        let lists: Vec<_> = plan.worms.iter().map(crate::plan::Worm::visits).collect();
        let list = |text| parse_node_list(&mesh, text).unwrap();
        assert_eq!(
            lists,
            [list("4,2;3,2;3,1;0,2;1,4;1,5;2,7;6,7"), list("2,0;5,0;5,1;5,2;7,2;7,4"), list("2,2;2,3;5,4;6,5"),]
        );
        plan.check(&mesh, &multicast).unwrap();
    }
}
