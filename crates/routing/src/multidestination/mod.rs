//! How switches route worms whose headers encode a set of destinations.

pub(crate) mod reachability_strings;
pub(crate) mod replication;

use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::relation::RoutingRelation;

/// Sets of nodes as bit strings: bit `n % 64` of word `n / 64` is node `n`.
///
/// Functions on slices, so that engines can keep sets wherever they like.
pub mod node_set {
    use std::ops::Range;

    use wormcast_network::NodeId;

    /// The words that a set of these many nodes takes.
    pub fn words(nodes: usize) -> usize {
        nodes.div_ceil(64)
    }

    /// The set of these nodes, of a network of `nodes` nodes.
    pub fn of(nodes: usize, members: impl IntoIterator<Item = NodeId>) -> Vec<u64> {
        let mut set = vec![0; words(nodes)];
        for node in members {
            insert(&mut set, node);
        }
        set
    }

    /// Adds a node.
    #[inline]
    pub fn insert(set: &mut [u64], node: NodeId) {
        set[node.index() / 64] |= 1 << (node.index() % 64);
    }

    /// Whether a node is in the set.
    #[inline]
    pub fn contains(set: &[u64], node: NodeId) -> bool {
        set[node.index() / 64] >> (node.index() % 64) & 1 == 1
    }

    /// The number of members.
    #[inline]
    pub fn len(set: &[u64]) -> usize {
        set.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(set: &[u64]) -> bool {
        set.iter().all(|&word| word == 0)
    }

    /// Whether all members are in `other`.
    #[inline]
    pub fn is_subset(set: &[u64], other: &[u64]) -> bool {
        set.iter().zip(other).all(|(&a, &b)| a & !b == 0)
    }

    /// The members, in increasing order.
    pub fn members(set: &[u64]) -> impl Iterator<Item = NodeId> + '_ {
        set.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(NodeId::new(place as u32 * 64 + bit))
            })
        })
    }

    /// The words that have nodes from `first` to before `end`.
    #[inline]
    pub(crate) fn places(first: u32, end: u32) -> Range<usize> {
        first as usize / 64..(end as usize).div_ceil(64)
    }

    /// Whether all members are from `first` to before `end`, which are nodes of the network.
    #[inline]
    pub(crate) fn is_within(set: &[u64], first: u32, end: u32) -> bool {
        let mut places = places(first, end);
        is_empty(&set[..places.start])
            && is_empty(&set[places.end..])
            && places.all(|place| set[place] & !mask(place, first, end) == 0)
    }

    /// The mask of the nodes from `first` to before `end` in one word.
    #[inline]
    pub(crate) fn mask(word: usize, first: u32, end: u32) -> u64 {
        let base = word as u64 * 64;
        let (low, high) = (u64::from(first).max(base), u64::from(end).min(base + 64));
        if low >= high { 0 } else { (!0 >> (64 - (high - low))) << (low - base) }
    }
}

/// How switches route worms whose headers encode sets of destinations (paper 4, sections 3.2 and 3.3).
///
/// Every switch knows for its downward ports which nodes are reached through them: the port's *reachability string*. A worm goes up,
/// adaptively, until the nodes below a switch include all of its destinations; from there on it goes down and is replicated: to each port
/// those of its destinations that are in the port's string. The strings of one switch do not overlap in the worm's destinations, so each
/// is reached once, whatever route was taken on the way up.
pub trait MultidestinationRouting: RoutingRelation {
    /// Whether worms go up by this channel; otherwise they go down by it.
    fn is_up(&self, channel: ChannelId) -> bool;

    /// Replaces `decision` by what a worm to `destinations` does at `at`, where it came by `arrived` (`None` in its source's router).
    ///
    /// The set is not empty, has [`node_set::words`] words and, on the way down, only nodes that the worm was sent this way for: the part of the
    /// branch by which it came. The decision is empty if there is no route, which cannot happen to a worm that followed decisions
    /// where the source reaches all destinations.
    ///
    /// Called once for each header and switch; it does not allocate beyond the growth of `decision`, which a caller keeps.
    fn decide(&self, at: RouterId, arrived: Option<ChannelId>, destinations: &[u64], decision: &mut Decision);
}

/// What a multidestination worm does at a switch. Reuse it, to avoid allocations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    pub(crate) down: bool,
    pub(crate) channels: Vec<ChannelId>,
    pub(crate) deliveries: Vec<NodeId>,
    /// The branches' sets one after the other.
    pub(crate) subsets: Vec<u64>,
    /// The words of a set.
    words: usize,
    /// For relations that search: hops by router, and the routers that were found.
    pub(crate) hops: Vec<u32>,
    pub(crate) found: Vec<RouterId>,
}

/// A step of a multidestination worm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// Up, with all destinations, by any one of these channels, the preferred one first.
    AnyOf(&'a [ChannelId]),
    /// Down, by all of these branches.
    AllOf(Branches<'a>),
}

/// The branches by which a worm goes down from a switch: at least one, channel or node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branches<'a> {
    /// The channels, in the order of ports.
    pub channels: &'a [ChannelId],
    /// The nodes of this switch that get the message here, in increasing order.
    pub deliveries: &'a [NodeId],
    subsets: &'a [u64],
    words: usize,
}

impl<'a> Branches<'a> {
    /// The destinations of the branch by `channels[place]`.
    #[inline]
    pub fn subset(&self, place: usize) -> &'a [u64] {
        &self.subsets[place * self.words..(place + 1) * self.words]
    }

    /// The channels, each with its destinations.
    pub fn iter(&self) -> impl Iterator<Item = (ChannelId, &'a [u64])> + use<'a> {
        self.channels.iter().copied().zip(self.subsets.chunks_exact(self.words.max(1)))
    }
}

impl Decision {
    /// The step; `None` if there is no route.
    #[inline]
    pub fn step(&self) -> Option<Step<'_>> {
        if self.channels.is_empty() && self.deliveries.is_empty() {
            return None;
        }
        if self.down {
            let Self { channels, deliveries, subsets, words, .. } = self;
            Some(Step::AllOf(Branches { channels, deliveries, subsets, words: *words }))
        } else {
            Some(Step::AnyOf(&self.channels))
        }
    }

    /// Clears the decision; sets have `words` words from now on.
    pub(crate) fn reset(&mut self, words: usize, down: bool) {
        self.down = down;
        self.words = words;
        self.channels.clear();
        self.deliveries.clear();
        self.subsets.clear();
    }

    /// Adds a branch with the destinations that `string` yields, word by word, unless there are none.
    #[inline]
    pub(crate) fn branch(&mut self, channel: ChannelId, destinations: &[u64], string: impl Fn(usize) -> u64) {
        let start = self.subsets.len();
        self.subsets.extend(destinations.iter().enumerate().map(|(place, &word)| word & string(place)));
        if node_set::is_empty(&self.subsets[start..]) {
            self.subsets.truncate(start);
        } else {
            self.channels.push(channel);
        }
    }

    /// Adds a branch with the destinations from `first` to before `end`, unless there are none.
    #[inline]
    pub(crate) fn branch_to_range(&mut self, channel: ChannelId, destinations: &[u64], first: u32, end: u32) {
        let within = |place| destinations[place] & node_set::mask(place, first, end);
        let places = node_set::places(first, end);
        if places.clone().all(|place| within(place) == 0) {
            return;
        }
        let start = self.subsets.len();
        self.subsets.resize(start + destinations.len(), 0);
        places.for_each(|place| self.subsets[start + place] = within(place));
        self.channels.push(channel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn masks_are_ranges(first in 0u32..200, length in 0u32..200) {
            let end = first + length;
            let set: Vec<u64> = (0..7).map(|word| node_set::mask(word, first, end)).collect();
            let members: Vec<u32> = node_set::members(&set).map(NodeId::raw).collect();
            prop_assert_eq!(&members, &(first..end).collect::<Vec<_>>());
            prop_assert_eq!(node_set::len(&set), length as usize);
            prop_assert_eq!(&set, &node_set::of(448, members.into_iter().map(NodeId::new)));
            let (mut whole, mut range) = (Decision::default(), Decision::default());
            for (decision, by_range) in [(&mut whole, false), (&mut range, true)] {
                decision.reset(7, true);
                let all = node_set::of(448, (0..448).filter(|id| id % 3 == 0).map(NodeId::new));
                for (first, end) in [(first, end), (0, 64), (first, first + 1)] {
                    if by_range {
                        decision.branch_to_range(ChannelId::new(first), &all, first, end);
                    } else {
                        decision.branch(ChannelId::new(first), &all, |place| node_set::mask(place, first, end));
                    }
                }
            }
            prop_assert_eq!(whole, range);
            for (first, end) in [(first, end), (first + 1, end + 1), (first, end + 1), (0, 448), (first.saturating_sub(1), end)] {
                let within = node_set::members(&set).all(|node| (first..end).contains(&node.raw()));
                prop_assert_eq!(node_set::is_within(&set, first, end), within);
            }
        }
    }
}
