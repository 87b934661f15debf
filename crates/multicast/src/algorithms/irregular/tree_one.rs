//! The One algorithm: as few next routers as possible, hop by hop.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId};
use wormcast_routing::{Dependencies, RoutingRelation, TURN_PROHIBITION};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::irregular::covering_matrix::CoveringMatrix;
use crate::algorithms::irregular::shortest_ways::ShortestWays;
use crate::algorithms::irregular::turn_trees::{TurnTrees, Wanted};
use crate::capabilities::{AlgorithmCapabilities, Covers};
use crate::plan::{Branch, Plan};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Routed, Sends};

/// [`TreeOne`].
pub const TREE_ONE: Descriptor = Descriptor::built_in(
    "tree-one",
    "one tree: at each router as few next routers as cover the destinations",
    Sends::Trees,
    |network, options| Ok(Box::new(TreeOne::new(network, options)?)),
)
.on(Family::Connected)
.routed(Routed::OverTurns(&TURN_PROHIBITION));

/// The most channels among which a smallest cover is searched for; of more, it is chosen greedily.
const EXACT_COVER: usize = 16;

/// The One algorithm: a tree worm that goes on, at each router, by as few channels as lead to all of its destinations on
/// shortest permitted paths.
///
/// Source: Karpovsky, Zakrevski, Mustafa and Agarwal (paper 3), section 4, Table 1. Which channels lead to which destinations
/// is the covering matrix. Of several smallest covers the one with the smallest next routers is taken, and a destination
/// goes by the first channel of the cover that leads to it. With more than 16 channels to choose from the cover is
/// greedy: the channel that leads to most of what is left, again and again. Where branches meet in a router after the same
/// number of hops, the first takes over the destinations of others that are as near from it.
///
/// On every connected network, with any routing over permitted turns; turn prohibition is the default. One startup.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:3x3".parse::<TopologySpec>()?.build()?;
/// let one = algorithm_by_name("tree-one", &mesh, &Options::default())?;
/// let plan = one.plan(&Multicast::new(NodeId::new(3), &[NodeId::new(5), NodeId::new(7)]));
/// let summary = plan.summary(one.routing(), PortModel::One)?;
/// assert_eq!((summary.startups, summary.channels), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TreeOne {
    trees: TurnTrees,
}

impl TreeOne {
    /// With the routing of the options, or turn prohibition.
    ///
    /// # Errors
    /// If the routing is not defined on the network or not one over permitted turns, or the network is not connected.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { trees: TurnTrees::new(&TREE_ONE, network, options)? })
    }
}

/// Sets of destinations, by their places: a row of words each.
struct Sets {
    words: usize,
    rows: Vec<u64>,
}

impl Sets {
    /// So many empty sets of up to `size` destinations.
    fn new(count: usize, size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { words, rows: vec![0; count * words] }
    }

    fn insert(&mut self, set: usize, place: usize) {
        self.rows[set * self.words + place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, set: usize, place: usize) -> bool {
        self.row(set)[place / 64] >> (place % 64) & 1 == 1
    }

    fn row(&self, set: usize) -> &[u64] {
        &self.rows[set * self.words..(set + 1) * self.words]
    }

    /// Makes a set the union of another and one of other sets.
    fn unite(&mut self, set: usize, one: usize, (others, other): (&Self, usize)) {
        for word in 0..self.words {
            self.rows[set * self.words + word] = self.rows[one * self.words + word] | others.row(other)[word];
        }
    }

    /// How many are in a set or in one of other sets.
    fn len_with(&self, set: usize, (others, other): (&Self, usize)) -> u32 {
        self.row(set).iter().zip(others.row(other)).map(|(a, b)| (a | b).count_ones()).sum()
    }

    fn len(&self, set: usize) -> u32 {
        self.len_with(set, (self, set))
    }
}

/// The smallest number of `count` sets whose union has all `size` elements, the first such in order; greedily if there are many.
fn cover(sets: &Sets, count: usize, size: usize) -> Vec<usize> {
    let all = size as u32;
    if count > EXACT_COVER {
        let (mut covered, mut chosen) = (Sets::new(1, size), Vec::new());
        while covered.len(0) < all {
            let gain = |&i: &usize| (covered.len_with(0, (sets, i)), std::cmp::Reverse(i));
            let best = (0..count).max_by_key(gain).expect("every destination can be reached");
            covered.unite(0, 0, (sets, best));
            chosen.push(best);
        }
        chosen.sort_unstable();
        return chosen;
    }
    // What each set and all after it cover.
    let mut from = Sets::new(count + 1, size);
    for i in (0..count).rev() {
        from.unite(i, i + 1, (sets, i));
    }
    // What the sets that are chosen cover: none, the first, the first two.
    let mut covered = Sets::new(count + 1, size);
    let mut chosen = Vec::new();
    (1..=count).find(|&more| choose(sets, &from, 0, more, &mut covered, all, &mut chosen));
    chosen
}

/// Chooses `more` sets, from `first` on, that complete the cover.
fn choose(
    sets: &Sets,
    from: &Sets,
    first: usize,
    more: usize,
    covered: &mut Sets,
    all: u32,
    chosen: &mut Vec<usize>,
) -> bool {
    let depth = chosen.len();
    if covered.len(depth) == all {
        return true;
    }
    if more == 0 {
        return false;
    }
    let count = from.rows.len() / from.words - 1;
    for i in first..count {
        if covered.len_with(depth, (from, i)) < all {
            return false;
        }
        covered.unite(depth + 1, depth, (sets, i));
        chosen.push(i);
        if choose(sets, from, i + 1, more - 1, covered, all, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// A channel that was chosen, and the places of the destinations that go by it.
struct Leg {
    channel: ChannelId,
    parent: Option<u32>,
    wanted: Vec<usize>,
}

/// Appends the channels by which to go on to the destinations at these places, none of which is here.
fn divide(
    wanted: &Wanted<'_>,
    ways: Option<&ShortestWays>,
    arrived: Option<ChannelId>,
    parent: Option<u32>,
    places: Vec<usize>,
    legs: &mut Vec<Leg>,
) {
    let at = arrived.map_or(wanted.home, |channel| wanted.network.to(channel));
    let mut channels: Vec<ChannelId> = wanted.onwards(at, arrived).collect();
    let mut sets = Sets::new(channels.len(), places.len());
    match ways {
        Some(ways) => {
            channels.retain(|&channel| ways.goes_on(arrived, channel));
            if let &[place] = &places[..] {
                // The first that leads there.
                let first = channels.iter().find(|&&channel| ways.leads_to(wanted, channel, place));
                legs.extend(first.map(|&channel| Leg { channel, parent, wanted: places }));
                return;
            }
            for (set, &channel) in channels.iter().enumerate() {
                let led_to = |&(_, &place): &(usize, &usize)| ways.leads_to(wanted, channel, place);
                places.iter().enumerate().filter(led_to).for_each(|(which, _)| sets.insert(set, which));
            }
        }
        None => {
            let mut nearest = Vec::new();
            for (which, &place) in places.iter().enumerate() {
                wanted.nearest(at, arrived, wanted.ends[place], &mut nearest);
                let led_by = channels.iter().enumerate().filter(|(_, channel)| nearest.contains(channel));
                led_by.for_each(|(set, _)| sets.insert(set, which));
            }
        }
    }
    let of_use: Vec<usize> = (0..channels.len()).filter(|&set| sets.len(set) > 0).collect();
    sets.rows = of_use.iter().flat_map(|&set| sets.row(set)).copied().collect();
    let chosen = cover(&sets, of_use.len(), places.len());
    let first = legs.len();
    legs.extend(chosen.iter().map(|&set| Leg { channel: channels[of_use[set]], parent, wanted: Vec::new() }));
    for (which, &place) in places.iter().enumerate() {
        let leg = chosen.iter().position(|&set| sets.contains(set, which)).expect("a cover covers all");
        legs[first + leg].wanted.push(place);
    }
}

/// The tree of smallest covers, in place of other branches.
pub(crate) fn grow(wanted: &Wanted<'_>, branches: &mut Vec<Branch>) {
    grow_by(wanted, wanted.many(4), branches);
}

/// By the paths that one search from the source has found, or else by the tables of each target; both give the same tree.
pub(crate) fn grow_by(wanted: &Wanted<'_>, ways: Option<&ShortestWays>, grown: &mut Vec<Branch>) {
    let network = wanted.network;
    let mut branches: Vec<Branch> = Vec::new();
    let mut legs = Vec::new();
    divide(wanted, ways, None, None, (0..wanted.ends.len()).collect(), &mut legs);
    while !legs.is_empty() {
        // All legs are as far from the source. Where several enter a router, earlier ones take over what they can.
        legs.sort_by_key(|leg| network.to(leg.channel));
        for later in 1..legs.len() {
            let router = network.to(legs[later].channel);
            let first = legs.partition_point(|leg| network.to(leg.channel) < router);
            for earlier in first..later {
                let (before, after) = legs.split_at_mut(later);
                let (taker, giver) = (&mut before[earlier], &mut after[0]);
                let hops = |channel, place: usize| wanted.turns.hops(channel, wanted.ends[place]);
                let as_near = |place: &mut usize| match ways {
                    // The giver is on a shortest path from the source, at the same level.
                    Some(ways) => ways.leads_to(wanted, taker.channel, *place),
                    None => hops(taker.channel, *place) == hops(giver.channel, *place),
                };
                if !taker.wanted.is_empty() {
                    taker.wanted.extend(giver.wanted.extract_if(.., as_near));
                }
            }
        }
        let mut next = Vec::new();
        for mut leg in legs.into_iter().filter(|leg| !leg.wanted.is_empty()) {
            let place = branches.len() as u32;
            let router = network.to(leg.channel);
            let here = leg.wanted.iter().position(|&place| wanted.ends[place] == router);
            let here = here.map(|which| wanted.nodes_at(leg.wanted.swap_remove(which)));
            let delivers = here.map_or_else(Vec::new, <[NodeId]>::to_vec);
            branches.push(Branch { channel: leg.channel, parent: leg.parent, delivers });
            leg.wanted.sort_unstable();
            if !leg.wanted.is_empty() {
                divide(wanted, ways, Some(leg.channel), Some(place), leg.wanted, &mut next);
            }
        }
        legs = next;
    }
    *grown = without_dead_ends(&branches);
}

/// The branches that lead to a delivery: some have given all of theirs away.
fn without_dead_ends(branches: &[Branch]) -> Vec<Branch> {
    let mut needed = vec![false; branches.len()];
    for (place, branch) in branches.iter().enumerate().rev() {
        needed[place] |= !branch.delivers.is_empty();
        if let Some(parent) = branch.parent.filter(|_| needed[place]) {
            needed[parent as usize] = true;
        }
    }
    let mut places = Vec::with_capacity(branches.len());
    let mut kept: Vec<Branch> = Vec::new();
    for (branch, needed) in branches.iter().zip(needed) {
        places.push(kept.len() as u32);
        if needed {
            kept.push(Branch { parent: branch.parent.map(|parent| places[parent as usize]), ..branch.clone() });
        }
    }
    kept
}

impl Algorithm for TreeOne {
    fn name(&self) -> &'static str {
        TREE_ONE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        self.trees.plan_into(multicast, plan, grow);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { covers: Some(self), trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}

impl Covers for TreeOne {
    fn covering_matrices(&self, multicast: &Multicast) -> Vec<CoveringMatrix> {
        let (_, wanted) = self.trees.wanted(multicast);
        let mut branches = Vec::new();
        if !wanted.ends.is_empty() {
            grow(&wanted, &mut branches);
        }
        if branches.is_empty() { Vec::new() } else { CoveringMatrix::of_tree(&wanted, &branches) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(size: usize, lists: &[&[usize]]) -> Vec<usize> {
        let mut sets = Sets::new(lists.len(), size);
        for (set, list) in lists.iter().enumerate() {
            list.iter().for_each(|&place| sets.insert(set, place));
        }
        super::cover(&sets, lists.len(), size)
    }

    #[test]
    fn covers_are_smallest_and_first() {
        // Greedy would take the third and then both others.
        assert_eq!(cover(6, &[&[0, 1, 2], &[3, 4, 5], &[0, 1, 3, 4]]), [0, 1]);
        assert_eq!(cover(2, &[&[0], &[0, 1], &[0, 1]]), [1]);
        assert_eq!(cover(70, &[&(0..69).collect::<Vec<_>>(), &[69]]), [0, 1]);
        let singles: Vec<Vec<usize>> = (0..20).map(|i| vec![i]).collect();
        let mut lists: Vec<&[usize]> = singles.iter().map(Vec::as_slice).collect();
        lists.push(&[0, 1, 2, 3]);
        assert_eq!(cover(20, &lists), (4..21).collect::<Vec<_>>());
    }
}
