//! The Infinity algorithm: trees with the fewest channels.

use std::collections::VecDeque;
use std::sync::Arc;

use wormcast_network::{ChannelId, Network};
use wormcast_routing::{Dependencies, RoutingRelation, TURN_PROHIBITION};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::irregular::turn_trees::{TurnTrees, Wanted};
use crate::algorithms::irregular::{tree_one, tree_zero};
use crate::capabilities::{AlgorithmCapabilities, Minimum};
use crate::plan::{Branch, Plan};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Routed, Sends};

/// [`TreeInfinity`].
pub const TREE_INFINITY: Descriptor = Descriptor::built_in(
    "tree-infinity",
    "one tree: the fewest channels that permitted turns allow",
    Sends::Trees,
    |network, options| Ok(Box::new(TreeInfinity::new(network, options)?)),
)
.on(Family::Connected)
.routed(Routed::OverTurns(&TURN_PROHIBITION));

/// More than any tree has; three of them can be added.
const NONE: u32 = u32::MAX / 4;

/// The Infinity algorithm: a tree worm with as few channels as any that takes permitted turns only.
///
/// Source: Karpovsky, Zakrevski, Mustafa and Agarwal (paper 3), section 4, which says exhaustive search. This is dynamic
/// programming over (set of destinations, channel by which a worm arrived), after Dreyfus and Wagner: where a tree may go on
/// depends on the channel, not on the router, so it is a Steiner arborescence over channels. A router is entered twice only if
/// that saves channels, because of turns.
///
/// Exact for up to [`EXACT_DESTINATIONS`](Self::EXACT_DESTINATIONS) destinations, if the table has no more than 2^25 entries
/// ([`is_exact`](Self::is_exact)). Beyond, the smallest of three trees: Zero's, One's, and the one that again and again adds the
/// destination nearest to it, by the shortest permitted route from anywhere in it. Never larger than Zero's or One's.
///
/// On every connected network, with any routing over permitted turns; turn prohibition is the default. One startup.
/// O(3^destinations x channels + 2^destinations x turns) if exact, else O(destinations x turns).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:3x3".parse::<TopologySpec>()?.build()?;
/// let infinity = algorithm_by_name("tree-infinity", &mesh, &Options::default())?;
/// let plan = infinity.plan(&Multicast::new(NodeId::new(3), &[NodeId::new(5), NodeId::new(7)]));
/// let summary = plan.summary(infinity.routing(), PortModel::One)?;
/// assert_eq!((summary.startups, summary.channels), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TreeInfinity {
    trees: TurnTrees,
    /// All channels, each after those that may turn into it.
    order: Vec<ChannelId>,
    /// Where the channels that each may turn into start in `next`; one more than channels.
    first: Vec<u32>,
    next: Vec<ChannelId>,
}

impl TreeInfinity {
    /// The most destinations for which a tree is certain to have the fewest channels.
    pub const EXACT_DESTINATIONS: usize = 12;

    /// The most entries of the table, of four bytes each.
    const MOST_ENTRIES: usize = 1 << 25;

    /// With the routing of the options, or turn prohibition. O(turns).
    ///
    /// # Errors
    /// If the routing is not defined on the network or not one over permitted turns, or the network is not connected.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let trees = TurnTrees::new(&TREE_INFINITY, network, options)?;
        let turns = trees.turns().turns();
        let channels = || network.channel_ids();
        let (mut first, mut next) = (vec![0], Vec::new());
        let mut before = vec![0u32; network.channels()];
        for channel in channels() {
            let outputs = network.outputs(network.to(channel));
            next.extend(outputs.filter(|&leaving| turns.permits(network, channel, leaving)));
            for leaving in &next[first[channel.index()] as usize..] {
                before[leaving.index()] += 1;
            }
            first.push(next.len() as u32);
        }
        let mut order: Vec<ChannelId> = channels().filter(|channel| before[channel.index()] == 0).collect();
        let mut done = 0;
        while let Some(&channel) = order.get(done) {
            done += 1;
            for &leaving in &next[first[channel.index()] as usize..first[channel.index() + 1] as usize] {
                before[leaving.index()] -= 1;
                if before[leaving.index()] == 0 {
                    order.push(leaving);
                }
            }
        }
        assert_eq!(order.len(), network.channels(), "permitted turns have no cycle");
        Ok(Self { trees, order, first, next })
    }

    /// Whether trees to so many destinations, on as many routers, have the fewest channels for certain.
    pub fn is_exact(&self, destinations: usize) -> bool {
        destinations <= Self::EXACT_DESTINATIONS && (self.order.len() + 1) << destinations <= Self::MOST_ENTRIES
    }

    fn grow(&self, wanted: &Wanted<'_>) -> Vec<Branch> {
        if self.is_exact(wanted.ends.len()) {
            return Table::new(self, wanted).tree();
        }
        let trees = [self.nearest_first(wanted), tree_one::grow(wanted), tree_zero::grow(wanted)];
        trees.into_iter().min_by_key(Vec::len).expect("three")
    }

    fn next(&self, channel: ChannelId) -> &[ChannelId] {
        &self.next[self.first[channel.index()] as usize..self.first[channel.index() + 1] as usize]
    }

    /// The tree that grows by the destination nearest to it.
    fn nearest_first(&self, wanted: &Wanted<'_>) -> Vec<Branch> {
        const UNSEEN: u32 = u32::MAX;
        let network = wanted.network;
        let mut branches: Vec<Branch> = Vec::new();
        let mut missing: Vec<bool> = vec![false; network.routers()];
        for end in &wanted.ends {
            missing[end.0.index()] = true;
        }
        let mut left = wanted.ends.len();
        // By channel: its place in the tree.
        let mut places: Vec<Option<u32>> = vec![None; network.channels()];
        let mut queue = VecDeque::new();
        while left > 0 {
            // By channel: the one before it, or itself if it leaves the source's router.
            let mut before = vec![UNSEEN; network.channels()];
            let mut reach = |from: Option<ChannelId>, to: ChannelId, queue: &mut VecDeque<ChannelId>| {
                if places[to.index()].is_none() && before[to.index()] == UNSEEN {
                    before[to.index()] = from.unwrap_or(to).raw();
                    queue.push_back(to);
                }
            };
            queue.clear();
            network.outputs(wanted.home).for_each(|channel| reach(None, channel, &mut queue));
            for branch in &branches {
                self.next(branch.channel).iter().for_each(|&next| reach(Some(branch.channel), next, &mut queue));
            }
            let mut found = None;
            while let Some(channel) = queue.pop_front() {
                if missing[network.to(channel).index()] {
                    found = Some(channel);
                    break;
                }
                self.next(channel).iter().for_each(|&next| reach(Some(channel), next, &mut queue));
            }
            let end = found.expect("permitted turns lead everywhere");
            let mut way = vec![end];
            let mut parent = None;
            while let Some(&channel) = way.last() {
                let previous = ChannelId::new(before[channel.index()]);
                if previous == channel {
                    break;
                }
                parent = places[previous.index()];
                if parent.is_some() {
                    break;
                }
                way.push(previous);
            }
            for &channel in way.iter().rev() {
                let place = branches.len() as u32;
                branches.push(Branch { channel, parent, delivers: Vec::new() });
                places[channel.index()] = Some(place);
                parent = Some(place);
            }
            let router = network.to(end);
            branches.last_mut().expect("the way has a channel").delivers = wanted.wanted_at(router).to_vec();
            missing[router.index()] = false;
            left -= 1;
        }
        branches
    }
}

/// The fewest further channels by which a worm reaches each set of destinations from each channel.
struct Table<'a> {
    trees: &'a TreeInfinity,
    wanted: &'a Wanted<'a>,
    /// Entries for one set: one for each channel, and one for the source's router.
    row: usize,
    cost: Vec<u32>,
}

impl<'a> Table<'a> {
    fn new(trees: &'a TreeInfinity, wanted: &'a Wanted<'a>) -> Self {
        let network = wanted.network;
        let row = network.channels() + 1;
        let mut cost = vec![NONE; row << wanted.ends.len()];
        for set in 1..1usize << wanted.ends.len() {
            let (smaller, own) = cost.split_at_mut(set * row);
            let own = &mut own[..row];
            let lowest = set & set.wrapping_neg();
            if set == lowest {
                let target = wanted.ends[set.trailing_zeros() as usize].0;
                for &channel in &trees.order {
                    let hops = wanted.turns.hops(channel, target);
                    own[channel.index()] = hops.map_or(NONE, |hops| hops - 1);
                }
            } else {
                // Two trees that part here, ...
                for part in proper_parts(set) {
                    let one = &smaller[part * row..][..row];
                    let other = &smaller[(set ^ part) * row..][..row];
                    for ((own, one), other) in own.iter_mut().zip(one).zip(other) {
                        *own = (*own).min(one + other);
                    }
                }
                // ... or a channel and what comes after it.
                for &channel in trees.order.iter().rev() {
                    let after = trees.next(channel).iter().map(|next| own[next.index()] + 1);
                    own[channel.index()] = after.fold(own[channel.index()], u32::min);
                }
            }
            let after = network.outputs(wanted.home).map(|next| own[next.index()] + 1);
            own[row - 1] = after.fold(own[row - 1], u32::min);
        }
        Self { trees, wanted, row, cost }
    }

    fn cost(&self, set: usize, from: Option<ChannelId>) -> u32 {
        self.cost[set * self.row + from.map_or(self.row - 1, ChannelId::index)]
    }

    /// A tree to all destinations with the fewest channels.
    fn tree(&self) -> Vec<Branch> {
        let mut branches = Vec::new();
        self.grow((1 << self.wanted.ends.len()) - 1, None, None, &mut branches);
        branches
    }

    /// Appends a tree to `set` that goes on from a channel, which is the branch at `parent`. It goes on by the smallest channel
    /// that is good enough for all of the set, or else parts.
    fn grow(&self, mut set: usize, mut from: Option<ChannelId>, mut parent: Option<u32>, branches: &mut Vec<Branch>) {
        let network = self.wanted.network;
        loop {
            if let (Some(channel), Some(place)) = (from, parent)
                && let Ok(end) = self.wanted.ends.binary_search_by_key(&network.to(channel), |end| end.0)
                && set >> end & 1 == 1
            {
                branches[place as usize].delivers.clone_from(&self.wanted.ends[end].1);
                set ^= 1 << end;
            }
            if set == 0 {
                return;
            }
            let cost = self.cost(set, from);
            let good = |next: &ChannelId| self.cost(set, Some(*next)) + 1 == cost;
            let next = match from {
                Some(channel) => self.trees.next(channel).iter().copied().find(good),
                None => network.outputs(self.wanted.home).find(good),
            };
            let Some(next) = next else {
                let part = proper_parts(set).find(|&part| self.cost(part, from) + self.cost(set ^ part, from) == cost);
                let part = part.expect("the cost comes from somewhere");
                self.grow(part, from, parent, branches);
                set ^= part;
                continue;
            };
            branches.push(Branch { channel: next, parent, delivers: Vec::new() });
            parent = Some(branches.len() as u32 - 1);
            from = Some(next);
        }
    }
}

/// The subsets of a set that have its smallest element but not all.
fn proper_parts(set: usize) -> impl Iterator<Item = usize> {
    let lowest = set & set.wrapping_neg();
    let others = set ^ lowest;
    // All subsets of the others but the others themselves, in decreasing order.
    let smaller = move |&subset: &usize| (subset > 0).then(|| (subset - 1) & others);
    let largest = (others > 0).then(|| (others - 1) & others);
    std::iter::successors(largest, smaller).map(move |subset| lowest | subset)
}

impl Algorithm for TreeInfinity {
    fn name(&self) -> &'static str {
        TREE_INFINITY.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        self.trees.plan(multicast, |wanted| self.grow(wanted))
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { minimum: Some(self), trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}

impl Minimum for TreeInfinity {
    fn is_exact(&self, multicast: &Multicast) -> bool {
        TreeInfinity::is_exact(self, TurnTrees::ends(self.network(), multicast))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_each_pair_once() {
        assert_eq!(proper_parts(0b1011).collect::<Vec<_>>(), [0b1001, 0b0011, 0b0001]);
        assert_eq!(proper_parts(0b100).count(), 0);
        assert_eq!(proper_parts(0b1111).count(), 7);
    }
}
