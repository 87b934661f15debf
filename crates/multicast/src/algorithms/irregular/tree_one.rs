//! The One algorithm: as few next routers as possible, hop by hop.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network};
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

/// A set of destinations, by their places.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn union(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// The smallest number of sets whose union has `all` elements, the first such in order; greedily if there are many.
fn cover(sets: &[Set], size: usize) -> Vec<usize> {
    let all = size as u32;
    if sets.len() > EXACT_COVER {
        let (mut covered, mut chosen) = (Set::new(size), Vec::new());
        while covered.len() < all {
            let gain = |&i: &usize| (covered.union(&sets[i]).len(), std::cmp::Reverse(i));
            let best = (0..sets.len()).max_by_key(gain).expect("every destination can be reached");
            covered = covered.union(&sets[best]);
            chosen.push(best);
        }
        chosen.sort_unstable();
        return chosen;
    }
    // What each set and all after it cover.
    let mut from = vec![Set::new(size); sets.len() + 1];
    for i in (0..sets.len()).rev() {
        from[i] = from[i + 1].union(&sets[i]);
    }
    let mut chosen = Vec::new();
    (1..=sets.len()).find(|&count| choose(sets, &from, 0, count, &Set::new(size), all, &mut chosen));
    chosen
}

/// Chooses `count` more sets, from `first` on, that complete the cover.
fn choose(
    sets: &[Set],
    from: &[Set],
    first: usize,
    count: usize,
    covered: &Set,
    all: u32,
    chosen: &mut Vec<usize>,
) -> bool {
    if covered.len() == all {
        return true;
    }
    if count == 0 {
        return false;
    }
    for i in first..sets.len() {
        if covered.union(&from[i]).len() < all {
            return false;
        }
        chosen.push(i);
        if choose(sets, from, i + 1, count - 1, &covered.union(&sets[i]), all, chosen) {
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

/// The channels by which to go on to the destinations at these places, none of which is here.
fn divide(
    wanted: &Wanted<'_>,
    ways: Option<&ShortestWays>,
    arrived: Option<ChannelId>,
    parent: Option<u32>,
    places: &[usize],
) -> Vec<Leg> {
    let at = arrived.map_or(wanted.home, |channel| wanted.network.to(channel));
    let mut channels: Vec<ChannelId> = wanted.onwards(at, arrived).collect();
    channels.sort_unstable_by_key(|&channel| wanted.by_next(channel));
    let mut sets = vec![Set::new(places.len()); channels.len()];
    let mut nearest = Vec::new();
    for (which, &place) in places.iter().enumerate() {
        if let Some(ways) = ways {
            let leads = channels.iter().map(|&channel| ways.lead(wanted, arrived, channel, place));
            leads.zip(&mut sets).filter(|(leads, _)| *leads).for_each(|(_, set)| set.insert(which));
            continue;
        }
        wanted.nearest(at, arrived, wanted.ends[place].0, &mut nearest);
        for &channel in &nearest {
            let row = channels.binary_search_by_key(&wanted.by_next(channel), |&c| wanted.by_next(c));
            sets[row.expect("it was listed")].insert(which);
        }
    }
    let mut of_use = sets.iter().map(|set| set.len() > 0);
    channels.retain(|_| of_use.next() == Some(true));
    drop(of_use);
    sets.retain(|set| set.len() > 0);
    let chosen = cover(&sets, places.len());
    let mut legs: Vec<Leg> = chosen.iter().map(|&i| Leg { channel: channels[i], parent, wanted: Vec::new() }).collect();
    for (which, &place) in places.iter().enumerate() {
        let first = chosen.iter().position(|&i| sets[i].contains(which)).expect("a cover covers all");
        legs[first].wanted.push(place);
    }
    legs
}

/// The tree of smallest covers.
pub(crate) fn grow(wanted: &Wanted<'_>) -> Vec<Branch> {
    grow_by(wanted, wanted.many())
}

/// By the paths that one search from the source has found, or else by the tables of each target; both give the same tree.
pub(crate) fn grow_by(wanted: &Wanted<'_>, ways: Option<&ShortestWays>) -> Vec<Branch> {
    let network = wanted.network;
    let mut branches: Vec<Branch> = Vec::new();
    let mut legs = divide(wanted, ways, None, None, &(0..wanted.ends.len()).collect::<Vec<_>>());
    while !legs.is_empty() {
        // All legs are as far from the source. Where several enter a router, earlier ones take over what they can.
        legs.sort_by_key(|leg| network.to(leg.channel));
        for later in 1..legs.len() {
            let router = network.to(legs[later].channel);
            let first = legs.partition_point(|leg| network.to(leg.channel) < router);
            for earlier in first..later {
                let (before, after) = legs.split_at_mut(later);
                let (taker, giver) = (&mut before[earlier], &mut after[0]);
                let hops = |channel, place: usize| wanted.turns.hops(channel, wanted.ends[place].0);
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
            let here = leg.wanted.iter().position(|&place| wanted.ends[place].0 == router);
            let here = here.map(|which| &wanted.ends[leg.wanted.swap_remove(which)].1);
            let delivers = here.cloned().unwrap_or_default();
            branches.push(Branch { channel: leg.channel, parent: leg.parent, delivers });
            leg.wanted.sort_unstable();
            if !leg.wanted.is_empty() {
                next.append(&mut divide(wanted, ways, Some(leg.channel), Some(place), &leg.wanted));
            }
        }
        legs = next;
    }
    without_dead_ends(&branches)
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
        self.trees.plan(multicast, grow)
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
        if wanted.ends.is_empty() { Vec::new() } else { CoveringMatrix::of_tree(&wanted, &grow(&wanted)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(size: usize, lists: &[&[usize]]) -> Vec<Set> {
        let set = |list: &&[usize]| {
            let mut set = Set::new(size);
            list.iter().for_each(|&place| set.insert(place));
            set
        };
        lists.iter().map(set).collect()
    }

    #[test]
    fn covers_are_smallest_and_first() {
        // Greedy would take the third and then both others.
        assert_eq!(cover(&sets(6, &[&[0, 1, 2], &[3, 4, 5], &[0, 1, 3, 4]]), 6), [0, 1]);
        assert_eq!(cover(&sets(2, &[&[0], &[0, 1], &[0, 1]]), 2), [1]);
        assert_eq!(cover(&sets(70, &[&(0..69).collect::<Vec<_>>(), &[69]]), 70), [0, 1]);
        let singles: Vec<Vec<usize>> = (0..20).map(|i| vec![i]).collect();
        let mut lists: Vec<&[usize]> = singles.iter().map(Vec::as_slice).collect();
        lists.push(&[0, 1, 2, 3]);
        assert_eq!(cover(&sets(20, &lists), 20), (4..21).collect::<Vec<_>>());
    }
}
