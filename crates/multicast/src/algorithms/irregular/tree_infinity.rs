//! The Infinity algorithm: trees with the fewest channels.

use std::array;
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

/// How many channels a part of a tree has: as narrow as they fit, because that many more are added and compared at once.
trait Cost: Copy + Ord {
    const ONE: Self;
    /// More than any tree has. Nothing makes it less.
    const NONE: Self;
    fn new(channels: u32) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! cost {
    ($type:ty) => {
        impl Cost for $type {
            const ONE: Self = 1;
            const NONE: Self = <$type>::MAX;
            fn new(channels: u32) -> Self {
                channels as Self
            }
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.saturating_add(other)
            }
        }
    };
}

cost!(u8);
cost!(u32);

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

    /// The most entries of the table, of at most four bytes each.
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
            // No tree has more channels than the paths to all destinations by themselves.
            let hops = |target| self.order.iter().filter_map(move |&channel| wanted.turns.hops(channel, target)).max();
            let most: u32 = wanted.ends.iter().filter_map(|&end| hops(end)).sum();
            return if most < u32::from(u8::MAX) {
                Table::<u8>::new(self, wanted).tree()
            } else {
                Table::<u32>::new(self, wanted).tree()
            };
        }
        let mut trees = [self.nearest_first(wanted), Vec::new(), Vec::new()];
        tree_one::grow(wanted, &mut trees[1]);
        tree_zero::grow(wanted, &mut trees[2]);
        trees.into_iter().min_by_key(Vec::len).expect("three")
    }

    fn next(&self, channel: ChannelId) -> &[ChannelId] {
        &self.next[self.first[channel.index()] as usize..self.first[channel.index() + 1] as usize]
    }

    /// The tree that grows by the destination nearest to it; of several, by the one that a search from the source's router and all branches, in their order,
    /// meets first.
    fn nearest_first(&self, wanted: &Wanted<'_>) -> Vec<Branch> {
        let network = wanted.network;
        let mut growing = Growing {
            trees: self,
            wanted,
            branches: Vec::new(),
            missing: vec![false; network.routers()],
            places: vec![None; network.channels()],
        };
        for end in &wanted.ends {
            growing.missing[end.index()] = true;
        }
        // Mostly, a missing router is beside the tree. Vertices beside which none was missing stay so: they are looked at once.
        let mut vertex = 0;
        for _ in 0..wanted.ends.len() {
            let near = loop {
                let near = growing.beside(vertex);
                if near.is_some() || vertex == growing.branches.len() {
                    break near;
                }
                vertex += 1;
            };
            match near {
                Some(channel) => growing.add(&[channel], vertex.checked_sub(1).map(|branch| branch as u32)),
                None => {
                    let (way, parent) = growing.search();
                    growing.add(&way, parent);
                }
            }
        }
        growing.branches
    }
}

/// A tree that grows by one destination after the other.
struct Growing<'a> {
    trees: &'a TreeInfinity,
    wanted: &'a Wanted<'a>,
    branches: Vec<Branch>,
    /// By router: whether the tree still has to reach it.
    missing: Vec<bool>,
    /// By channel: its place in the tree.
    places: Vec<Option<u32>>,
}

impl Growing<'_> {
    /// The first channel to a missing router at a vertex of the tree: 0 is the source's router, others are one more than the branch that ends there.
    fn beside(&self, vertex: usize) -> Option<ChannelId> {
        let network = self.wanted.network;
        let missing = |channel: &ChannelId| self.missing[network.to(*channel).index()];
        match vertex.checked_sub(1) {
            None => network.outputs(self.wanted.home).find(missing),
            Some(branch) => self.trees.next(self.branches[branch].channel).iter().copied().find(missing),
        }
    }

    /// The shortest way from the tree to a missing router, from its end, and the branch that it leaves.
    fn search(&self) -> (Vec<ChannelId>, Option<u32>) {
        const UNSEEN: u32 = u32::MAX;
        let network = self.wanted.network;
        // By channel: the one before it, or itself if it leaves the source's router.
        let mut before = vec![UNSEEN; network.channels()];
        let mut queue = VecDeque::new();
        let mut reach = |from: Option<ChannelId>, to: ChannelId, queue: &mut VecDeque<ChannelId>| {
            if self.places[to.index()].is_none() && before[to.index()] == UNSEEN {
                before[to.index()] = from.unwrap_or(to).raw();
                queue.push_back(to);
            }
        };
        network.outputs(self.wanted.home).for_each(|channel| reach(None, channel, &mut queue));
        for branch in &self.branches {
            for &next in self.trees.next(branch.channel) {
                reach(Some(branch.channel), next, &mut queue);
            }
        }
        let mut found = None;
        while let Some(channel) = queue.pop_front() {
            if self.missing[network.to(channel).index()] {
                found = Some(channel);
                break;
            }
            self.trees.next(channel).iter().for_each(|&next| reach(Some(channel), next, &mut queue));
        }
        let mut way = vec![found.expect("permitted turns lead everywhere")];
        let mut parent = None;
        while let Some(&channel) = way.last() {
            let previous = ChannelId::new(before[channel.index()]);
            if previous == channel {
                break;
            }
            parent = self.places[previous.index()];
            if parent.is_some() {
                break;
            }
            way.push(previous);
        }
        (way, parent)
    }

    /// Adds a way to a missing router, given from its end, which leaves a branch.
    fn add(&mut self, way: &[ChannelId], mut parent: Option<u32>) {
        for &channel in way.iter().rev() {
            let place = self.branches.len() as u32;
            self.branches.push(Branch { channel, parent, delivers: Vec::new() });
            self.places[channel.index()] = Some(place);
            parent = Some(place);
        }
        let router = self.wanted.network.to(way[0]);
        self.branches.last_mut().expect("the way has a channel").delivers = self.wanted.wanted_at(router).to_vec();
        self.missing[router.index()] = false;
    }
}

/// How many sets of destinations are looked at together.
const LANES: usize = 16;

/// How many channels are looked at together.
const BLOCK: usize = 64;

/// The fewest further channels by which a worm reaches each set of destinations.
struct Table<'a, C> {
    trees: &'a TreeInfinity,
    wanted: &'a Wanted<'a>,
    /// From channels: block by block of them, for each set.
    cost: Vec<[C; BLOCK]>,
    /// From the source's router, for each set.
    home: Vec<C>,
}

impl<'a, C: Cost> Table<'a, C> {
    fn new(trees: &'a TreeInfinity, wanted: &'a Wanted<'a>) -> Self {
        let sets = 1 << wanted.ends.len();
        let blocks = wanted.network.channels().div_ceil(BLOCK);
        let mut table = Self { trees, wanted, cost: vec![[C::NONE; BLOCK]; blocks * sets], home: vec![C::NONE; sets] };
        for (end, &target) in wanted.ends.iter().enumerate() {
            for &channel in &trees.order {
                let hops = wanted.turns.hops(channel, target).map_or(C::NONE, |hops| C::new(hops - 1));
                table.cost[channel.index() / BLOCK * sets + (1 << end)][channel.index() % BLOCK] = hops;
            }
            table.leave_home(1 << end);
        }
        // Sets of the same size do not depend on each other.
        let mut lanes = vec![[C::NONE; LANES]; blocks * BLOCK];
        for size in 2..=wanted.ends.len() as u32 {
            let of_size: Vec<usize> = (0..sets).filter(|set| set.count_ones() == size).collect();
            for group in of_size.chunks(LANES) {
                // Two trees that part at a channel, ...
                for (cost, lanes) in table.cost.chunks_exact(sets).zip(lanes.chunks_exact_mut(BLOCK)) {
                    for (lane, &set) in group.iter().enumerate() {
                        let best = parted(cost, set);
                        lanes.iter_mut().zip(best).for_each(|(lanes, best)| lanes[lane] = best);
                    }
                }
                // ... or the channel and what comes after it.
                for &channel in trees.order.iter().rev() {
                    let mut best = lanes[channel.index()];
                    for next in trees.next(channel) {
                        let after = lanes[next.index()];
                        best = array::from_fn(|lane| best[lane].min(after[lane].plus(C::ONE)));
                    }
                    lanes[channel.index()] = best;
                }
                for (cost, lanes) in table.cost.chunks_exact_mut(sets).zip(lanes.chunks_exact(BLOCK)) {
                    for (lane, &set) in group.iter().enumerate() {
                        cost[set].iter_mut().zip(lanes).for_each(|(cost, lanes)| *cost = lanes[lane]);
                    }
                }
                for &set in group {
                    let parts = proper_parts(set).map(|part| table.home[part].plus(table.home[set ^ part]));
                    table.home[set] = parts.min().unwrap_or(C::NONE);
                    table.leave_home(set);
                }
            }
        }
        table
    }

    /// Lowers the cost of a set from the source's router to that of leaving it by one channel.
    fn leave_home(&mut self, set: usize) {
        for next in self.wanted.network.outputs(self.wanted.home) {
            self.home[set] = self.home[set].min(self.cost(set, Some(next)).plus(C::ONE));
        }
    }

    fn cost(&self, set: usize, from: Option<ChannelId>) -> C {
        match from {
            Some(channel) => self.cost[channel.index() / BLOCK * self.home.len() + set][channel.index() % BLOCK],
            None => self.home[set],
        }
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
                && let Some(end) = self.wanted.place_of(network.to(channel))
                && set >> end & 1 == 1
            {
                branches[place as usize].delivers.extend_from_slice(self.wanted.nodes_at(end));
                set ^= 1 << end;
            }
            if set == 0 {
                return;
            }
            let cost = self.cost(set, from);
            let good = |next: &ChannelId| self.cost(set, Some(*next)).plus(C::ONE) == cost;
            let next = match from {
                Some(channel) => self.trees.next(channel).iter().copied().find(good),
                None => network.outputs(self.wanted.home).find(good),
            };
            let Some(next) = next else {
                let part =
                    proper_parts(set).find(|&part| self.cost(part, from).plus(self.cost(set ^ part, from)) == cost);
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

/// The costs of a set from a block of channels, for two trees that part there.
fn parted<C: Cost>(cost: &[[C; BLOCK]], set: usize) -> [C; BLOCK] {
    let mut best = [C::NONE; BLOCK];
    for part in proper_parts(set) {
        let (one, other) = (&cost[part], &cost[set ^ part]);
        best = array::from_fn(|channel| best[channel].min(one[channel].plus(other[channel])));
    }
    best
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
    use crate::plan::{Itinerary, Worm};
    use proptest::prelude::*;
    use wormcast_network::{NodeId, TopologySpec};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]

        /// The same tree whether or not the vertices beside the tree are looked at first.
        #[test]
        fn vertices_beside_the_tree_are_found_as_by_a_search(
            spec in prop::sample::select(vec![
                "mesh:5x6", "torus:4x4", "ring:20", "tree:nodes=30,seed=2", "random:nodes=40,degree=3,seed=5", "torus:2x7", "dragonfly:p=2,a=4,h=1",
            ]),
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let trees = TreeInfinity::new(&network, &Options::default()).unwrap();
            let node = |pick: &prop::sample::Index| NodeId::new(pick.index(network.nodes()) as u32);
            let destinations: Vec<NodeId> = picks.iter().map(node).collect();
            let multicast = Multicast::new(node(&source), &destinations);
            let searched = trees.trees.plan(&multicast, |wanted| {
                let missing = |router| wanted.place_of(router).is_some();
                let mut growing = Growing {
                    trees: &trees,
                    wanted,
                    branches: Vec::new(),
                    missing: network.router_ids().map(missing).collect(),
                    places: vec![None; network.channels()],
                };
                for _ in &wanted.ends {
                    let (way, parent) = growing.search();
                    growing.add(&way, parent);
                }
                growing.branches
            });
            prop_assert_eq!(trees.trees.plan(&multicast, |wanted| trees.nearest_first(wanted)), searched.clone());
            let same = |worm: &Worm| matches!(&worm.itinerary, Itinerary::Tree(tree) if !tree.branches.is_empty());
            prop_assert!(searched.worms.iter().all(|worm| same(worm) || multicast.destinations().len() < 3));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// The same trees with narrow numbers of channels as with wide ones.
        #[test]
        fn narrow_costs_make_the_same_trees(
            spec in prop::sample::select(vec!["mesh:5x6", "torus:4x4", "ring:20", "random:nodes=40,degree=4,seed=5", "mesh:40"]),
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..7),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let trees = TreeInfinity::new(&network, &Options::default()).unwrap();
            let node = |pick: &prop::sample::Index| NodeId::new(pick.index(network.nodes()) as u32);
            let multicast = Multicast::new(node(&source), &picks.iter().map(node).collect::<Vec<_>>());
            let wide = trees.trees.plan(&multicast, |wanted| Table::<u32>::new(&trees, wanted).tree());
            prop_assert_eq!(trees.plan(&multicast), wide.clone());
            prop_assert_eq!(trees.trees.plan(&multicast, |wanted| Table::<u8>::new(&trees, wanted).tree()), wide);
        }
    }

    /// The costs of each set from each channel, and in the end from the source's router, by the definition: a set at a time, a channel at a time.
    fn plain_costs(trees: &TreeInfinity, wanted: &Wanted<'_>) -> Vec<Vec<u32>> {
        let channels = trees.order.len();
        let mut costs: Vec<Vec<u32>> = vec![vec![u32::MAX; channels + 1]; 1 << wanted.ends.len()];
        for set in 1..costs.len() {
            let mut own: Vec<u32> = (0..=channels)
                .map(|at| {
                    let parts = proper_parts(set).map(|part| costs[part][at].saturating_add(costs[set ^ part][at]));
                    parts.min().unwrap_or(u32::MAX)
                })
                .collect();
            for &channel in trees.order.iter().rev() {
                let end = wanted.place_of(wanted.network.to(channel)).filter(|end| set == 1 << end);
                let after = trees.next(channel).iter().map(|next| own[next.index()].saturating_add(1)).min();
                let best = if end.is_some() { 0 } else { after.unwrap_or(u32::MAX) };
                own[channel.index()] = own[channel.index()].min(best);
            }
            let after = wanted.network.outputs(wanted.home).map(|next| own[next.index()].saturating_add(1)).min();
            own[channels] = own[channels].min(after.unwrap_or(u32::MAX));
            costs[set] = own;
        }
        costs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Blocks of channels and groups of sets have the costs of single ones.
        #[test]
        fn costs_are_those_of_the_definition(
            spec in prop::sample::select(vec!["mesh:5x6", "torus:4x4", "ring:20", "random:nodes=40,degree=4,seed=5", "mesh:33", "dragonfly:p=2,a=4,h=1"]),
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let trees = TreeInfinity::new(&network, &Options::default()).unwrap();
            let node = |pick: &prop::sample::Index| NodeId::new(pick.index(network.nodes()) as u32);
            let multicast = Multicast::new(node(&source), &picks.iter().map(node).collect::<Vec<_>>());
            let (_, wanted) = trees.trees.wanted(&multicast);
            let table = Table::<u32>::new(&trees, &wanted);
            for (set, plain) in plain_costs(&trees, &wanted).iter().enumerate().skip(1) {
                let (home, from_channels) = plain.split_last().unwrap();
                prop_assert_eq!(table.cost(set, None), *home, "of set {:b}", set);
                for channel in network.channel_ids() {
                    prop_assert_eq!(table.cost(set, Some(channel)), from_channels[channel.index()], "of set {:b} from {}", set, channel);
                }
            }
        }
    }

    /// On a line of 300 routers, trees have more channels than a byte counts: there, narrow numbers would not do.
    #[test]
    fn long_trees_take_wide_costs() {
        let network = "mesh:300".parse::<TopologySpec>().unwrap().build().unwrap();
        let trees = TreeInfinity::new(&network, &Options::default()).unwrap();
        let multicast = Multicast::new(NodeId::new(2), &[NodeId::new(0), NodeId::new(297)]);
        let tree = |plan: Plan| plan.worms.into_iter().next().map(|worm| worm.channels(trees.routing()).unwrap().len());
        assert_eq!(tree(trees.plan(&multicast)), Some(297));
        let narrow = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            trees.trees.plan(&multicast, |wanted| Table::<u8>::new(&trees, wanted).tree())
        }));
        assert!(narrow.is_err() || tree(narrow.unwrap()) != Some(297));
    }

    #[test]
    fn parts_are_each_pair_once() {
        assert_eq!(proper_parts(0b1011).collect::<Vec<_>>(), [0b1001, 0b0011, 0b0001]);
        assert_eq!(proper_parts(0b100).count(), 0);
        assert_eq!(proper_parts(0b1111).count(), 7);
    }
}
