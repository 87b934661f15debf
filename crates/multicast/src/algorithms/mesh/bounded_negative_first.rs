//! Negative-first multicast between minimal and pure: detours up to a bound.

use std::sync::Arc;

use wormcast_network::{Grid, Network, NodeId};
use wormcast_routing::{Dependencies, NEGATIVE_FIRST, NegativeFirst, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::negative_first_rule::NegativeFirstRule;
use crate::algorithms::mesh::{minimal_negative_first_optimal, pure_negative_first};
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::{AlgorithmOption, Greedy};

/// [`BoundedNegativeFirst`].
pub const BOUNDED_NEGATIVE_FIRST: Descriptor = Descriptor::built_in(
    "bounded-negative-first",
    "few negative-first path worms whose detours stay within a bound: between minimal and pure",
    Sends::Paths,
    |network, options| Ok(Box::new(BoundedNegativeFirst::new(network, options)?)),
)
.on(Family::Mesh)
.routed_by(&NEGATIVE_FIRST)
.offering(&[AlgorithmOption::Detour]);

/// Negative-first multicast with detours up to a bound: fewer worms than the minimal algorithm, shorter ones than the pure algorithm.
///
/// Source: paper 1, section 5, asks for "something in between" the pure and the minimal algorithm; the algorithm is this project's. The
/// *detour* of a destination is what its worm travels to it beyond its distance from the source. No detour is longer than
/// [`detour`](crate::AlgorithmOptions::detour).
///
/// - With the bound 0, the plan is that of [`MinimalNegativeFirstOptimal`](crate::MinimalNegativeFirstOptimal).
/// - Without one, or where the worms of [`PureNegativeFirst`](crate::PureNegativeFirst) keep it, the plan is that one's.
/// - Otherwise there are two plans, and the one with fewer worms is taken, the first of equal ones: the lists of the minimal algorithm, of which two are
///   joined as long as the bound allows any, those first that make the shortest detour; and the lists of the pure algorithm, each cut before
///   the first destination that is too far around, and so on with the rest of the list.
///
/// A list is cut into as few pieces as possible: a destination's detour is twice what the point where the worm turns from negative to positive
/// channels lies below both source and destination, so any piece has shorter ones. The number of worms is not always the smallest that the bound allows.
///
/// All worms are negative-first paths, so none can deadlock, whatever the bound. Needs a mesh. O(lists² x destinations) beside what the two others
/// take.
///
/// ```
/// use wormcast_multicast::{AlgorithmOptions, Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let multicast = Multicast::new(parse_node(&mesh, "2,2")?, &parse_node_list(&mesh, "1,1;1,3;3,0;3,3")?);
/// let worms = |detour| {
///     let options = Options { own: AlgorithmOptions { detour, ..AlgorithmOptions::default() }, ..Options::default() };
///     algorithm_by_name("bounded-negative-first", &mesh, &options).unwrap().plan(&multicast).worms.len()
/// };
/// // By way of (1,1), (1,3) is two hops further, and (3,3) four.
/// assert_eq!([Some(0), Some(2), None].map(worms), [4, 3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BoundedNegativeFirst {
    routing: NegativeFirst,
    /// The largest detour; `None`: any.
    detour: Option<u32>,
}

impl BoundedNegativeFirst {
    /// On a mesh, with the bound that the options say.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = BOUNDED_NEGATIVE_FIRST.relation(network, NegativeFirst::new)?;
        Ok(Self { routing, detour: options.own.detour })
    }

    fn lists(&self, multicast: &Multicast) -> Vec<Vec<NodeId>> {
        let grid = self.routing.grid();
        let Some(bound) = self.detour else { return pure_negative_first::lists(grid, multicast, Greedy::Columns) };
        let minimal = minimal_negative_first_optimal::lists(grid, multicast);
        if bound == 0 {
            return minimal;
        }
        let pure = pure_negative_first::lists(grid, multicast, Greedy::Columns);
        let worms = Bounded { grid, source: grid.coordinates(multicast.source().index()), bound };
        let cut: Vec<Vec<NodeId>> = pure.iter().flat_map(|list| worms.cut(list)).collect();
        if cut.len() == pure.len() {
            return pure;
        }
        let joined = worms.joined(minimal);
        if joined.len() <= cut.len() { joined } else { cut }
    }
}

/// Lists of destinations from a source, with bounded detours.
struct Bounded<'g> {
    grid: &'g Grid,
    source: Vec<u32>,
    bound: u32,
}

/// Where a node lies.
struct Place {
    at: Vec<u32>,
    node: NodeId,
}

/// Whether no coordinate of the one is larger than that of the other.
fn is_below(one: &[u32], other: &[u32]) -> bool {
    one.iter().zip(other).all(|(a, b)| a <= b)
}

/// Whether places in lexicographic order lie one below the other.
fn is_chain(places: &[&Place]) -> bool {
    places.windows(2).all(|pair| is_below(&pair[0].at, &pair[1].at))
}

impl Bounded<'_> {
    /// How much further each destination of a list is along it than straight from the source.
    fn detours(&self, list: &[NodeId]) -> impl Iterator<Item = u32> {
        let distance = |a: &[u32], b: &[u32]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
        let (mut at, mut hops) = (self.source.clone(), 0);
        list.iter().map(move |node| {
            let next = self.grid.coordinates(node.index());
            hops += distance(&at, &next);
            at = next;
            hops - distance(&self.source, &at)
        })
    }

    /// The fewest pieces of a list without longer detours than the bound.
    fn cut(&self, list: &[NodeId]) -> Vec<Vec<NodeId>> {
        let (mut pieces, mut rest) = (Vec::new(), list);
        while !rest.is_empty() {
            // The first has no detour.
            let within = self.detours(rest).take_while(|&detour| detour <= self.bound).count().max(1);
            let (piece, behind) = rest.split_at(within);
            pieces.push(piece.to_vec());
            rest = behind;
        }
        pieces
    }

    /// The lists, two of them made one as long as that is possible.
    fn joined(&self, lists: Vec<Vec<NodeId>>) -> Vec<Vec<NodeId>> {
        let mut lists: Vec<Option<Vec<NodeId>>> = lists.into_iter().map(Some).collect();
        let pair = |lists: &[Option<Vec<NodeId>>], one: usize, other: usize| {
            let (detour, list) = self.join(lists[one].as_ref()?, lists[other].as_ref()?)?;
            Some((detour, one, other, list))
        };
        let mut pairs: Vec<(u32, usize, usize, Vec<NodeId>)> = (0..lists.len())
            .flat_map(|other| (0..other).map(move |one| (one, other)))
            .filter_map(|(one, other)| pair(&lists, one, other))
            .collect();
        while let Some(best) = (0..pairs.len()).min_by_key(|&place| (pairs[place].0, pairs[place].1, pairs[place].2)) {
            let (_, one, other, list) = pairs.swap_remove(best);
            (lists[one], lists[other]) = (Some(list), None);
            pairs.retain(|&(_, a, b, _)| [a, b].iter().all(|place| ![one, other].contains(place)));
            let again = (0..lists.len()).filter(|&place| place != one);
            pairs.extend(again.filter_map(|place| pair(&lists, one.min(place), one.max(place))));
        }
        lists.into_iter().flatten().collect()
    }

    /// One list of two, with its longest detour, if there is one within the bound: destinations below the source go down or, all of those
    /// of one list or of both, up with the others.
    fn join(&self, one: &[NodeId], other: &[NodeId]) -> Option<(u32, Vec<NodeId>)> {
        let place = |&node: &NodeId| Place { at: self.grid.coordinates(node.index()), node };
        let places = [one, other].map(|list| list.iter().map(place).collect::<Vec<Place>>());
        let ways = [[true, true], [true, false], [false, true], [false, false]];
        let lists = ways.into_iter().filter_map(|down| {
            let (mut descending, mut rising) = (Vec::new(), Vec::new());
            for (places, down) in places.iter().zip(down) {
                for place in places {
                    let goes_down = down && is_below(&place.at, &self.source);
                    if goes_down { &mut descending } else { &mut rising }.push(place);
                }
            }
            descending.sort_unstable_by(|a: &&Place, b| a.at.cmp(&b.at));
            rising.sort_unstable_by(|a: &&Place, b| a.at.cmp(&b.at));
            if !is_chain(&descending) || !is_chain(&rising) {
                return None;
            }
            let list: Vec<NodeId> = descending.iter().rev().chain(&rising).map(|place| place.node).collect();
            let longest = self.detours(&list).max().unwrap_or(0);
            (longest <= self.bound).then_some((longest, list))
        });
        lists.min_by_key(|&(longest, _)| longest)
    }
}

impl Algorithm for BoundedNegativeFirst {
    fn name(&self) -> &'static str {
        BOUNDED_NEGATIVE_FIRST.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            plan.replace_by_paths(multicast.source(), self.lists(multicast));
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &NegativeFirstRule { minimal: self.detour == Some(0) })
    }
}
