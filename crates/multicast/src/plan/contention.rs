//! Whether the worms of a plan can contend: paper 2, Definition 4.

use wormcast_network::ChannelId;

use crate::plan::Worm;
use crate::plan::ids::IdTable;
use crate::plan::summary::PlanSummary;

/// Two worms of a plan that are not contention-free, and where they meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contention {
    /// The worm of the earlier step, or of the same step and the smaller id.
    pub first: u32,
    /// The other worm.
    pub second: u32,
    /// A channel that both take.
    pub channel: ChannelId,
}

impl PlanSummary {
    /// Two worms that contend (paper 2, Definition 4), or `None` if the plan is contention-free.
    ///
    /// Two worms, from u in step t and from x in step t' >= t, are contention-free if they share no channel, or if t < t' and x
    /// has the message from u: it is u, or a node to which a worm of such a node delivers (Definition 3). How long a worm
    /// takes is not known in advance, so only what has to happen before can be relied on. The definition is for
    /// unicasts; a worm with several stops or branches counts with all its channels.
    ///
    /// Steps are [`WormSummary::step`](crate::WormSummary::step): a worm that shares a channel with an earlier one of the plan waits for it. By the definition
    /// that is enough if the earlier one is its sender's own or that of a node above its sender in the tree, and only then.
    ///
    /// It was found with the steps that the summary was made with: what is changed in `worms` since makes no difference to it.
    ///
    /// If several pairs contend, returns the one whose second worm is the first to be sent. Found with the summary, in O(channels taken + worms): where
    /// every worm on a channel descends from the one before it, each descends from all before it.
    pub fn contention(&self) -> Option<Contention> {
        self.contention
    }
}

/// The nodes that send worms, as a tree: each hangs from the sender of the worm that it has the message from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Senders {
    numbers: IdTable,
    /// The sender of each worm; senders are numbered as they first occur, parents before children.
    of: Vec<u32>,
    parents: Vec<Option<u32>>,
    sizes: Vec<u32>,
    /// Where the next child's subtree starts.
    next: Vec<u32>,
    /// The senders in the subtree of each, itself first, in a numbering in which they are consecutive.
    reach: Vec<std::ops::Range<u32>>,
}

impl Senders {
    /// Those of a plan on a network of so many nodes, in place of those of another.
    pub(crate) fn find(&mut self, worms: &[Worm], nodes: usize) {
        let Self { numbers, of, parents, sizes, next, reach } = self;
        numbers.start(nodes, worms.len());
        of.clear();
        parents.clear();
        for worm in worms {
            let number = numbers.get(worm.from.index()).unwrap_or_else(|| {
                let number = parents.len() as u32;
                numbers.insert(worm.from.index(), number);
                parents.push(worm.after.map(|trigger| of[trigger as usize]));
                number
            });
            of.push(number);
        }
        sizes.clear();
        sizes.resize(parents.len(), 1);
        for (sender, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = parent {
                sizes[*parent as usize] += sizes[sender];
            }
        }
        let mut free = 0;
        next.clear();
        reach.clear();
        for (parent, size) in parents.iter().zip(sizes) {
            let slot = parent.map_or(&mut free, |parent| &mut next[parent as usize]);
            let start = *slot;
            *slot += *size;
            next.push(start + 1);
            reach.push(start..start + *size);
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.parents.len()
    }

    /// The number of the sender of a worm.
    #[inline]
    pub(crate) fn of(&self, worm: usize) -> usize {
        self.of[worm] as usize
    }

    /// Whether the sender of `second` is that of `first`, or has the message through it.
    #[inline]
    pub(crate) fn reaches(&self, first: usize, second: usize) -> bool {
        self.reach[self.of(first)].contains(&self.reach[self.of(second)].start)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::Plan;
    use crate::plan::summary::{PortModel, WormSummary};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use wormcast_network::{Network, NodeId, TopologySpec};
    use wormcast_routing::ECube;

    fn node(id: u32) -> NodeId {
        NodeId::new(id)
    }

    fn mesh(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn contention_names_the_worms_and_the_channel() {
        let line = mesh("mesh:5");
        let unicast = |from, to| Worm::path(node(from), vec![node(to)]);
        let contention = |worms: Vec<Worm>| {
            let summary = Plan { worms }.summary(&ECube::new(&line).unwrap(), PortModel::One).unwrap();
            let found = summary.contention();
            found.map(|c| (c.first, c.second, line.from(c.channel).raw(), line.to(c.channel).raw()))
        };
        // 2 forwards by the channel that the source's second worm has used: it has the message from the source.
        assert_eq!(contention(vec![unicast(1, 2), unicast(1, 4), unicast(2, 3).after(0)]), None);
        // The other way round, the source would have to wait for 2.
        assert_eq!(contention(vec![unicast(1, 2), unicast(2, 3).after(0), unicast(1, 4)]), Some((1, 2, 2, 3)));
        // Neither of 0 and 2 has the message from the other.
        let plan = vec![unicast(1, 0), unicast(1, 2), unicast(0, 3).after(0), unicast(2, 4).after(1)];
        assert_eq!(contention(plan), Some((2, 3, 2, 3)));
    }

    /// Definition 4, pair by pair.
    fn by_definition(worms: &[WormSummary]) -> bool {
        let reachable_set = |u: NodeId| {
            let mut reachable = HashSet::from([u]);
            for worm in worms {
                if reachable.contains(&worm.from) {
                    reachable.extend(&worm.visits);
                }
            }
            reachable
        };
        let reachable: Vec<HashSet<NodeId>> = worms.iter().map(|worm| reachable_set(worm.from)).collect();
        (0..worms.len()).all(|a| {
            (0..worms.len()).filter(|&b| b != a && worms[a].step <= worms[b].step).all(|b| {
                let disjoint = worms[a].channels.iter().all(|channel| !worms[b].channels.contains(channel));
                disjoint || (worms[a].step < worms[b].step && reachable[a].contains(&worms[b].from))
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Random trees of unicasts, each from a node that has the message to one that has not.
        #[test]
        fn as_defined(
            choices in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
            all: bool,
        ) {
            let network = mesh("mesh:4x3");
            let ports = if all { PortModel::All } else { PortModel::One };
            let mut has: Vec<(u32, Option<u32>)> = vec![(5, None)];
            let mut worms = Vec::new();
            for (sender, receiver) in choices {
                let rest: Vec<u32> = (0..12).filter(|id| has.iter().all(|(has, _)| has != id)).collect();
                if rest.is_empty() {
                    break;
                }
                let &(from, after) = sender.get(&has);
                let to = *receiver.get(&rest);
                has.push((to, Some(worms.len() as u32)));
                worms.push(Worm { after, ..Worm::path(node(from), vec![node(to)]) });
            }
            let summary = Plan { worms }.summary(&ECube::new(&network).unwrap(), ports).unwrap();
            let found = summary.contention();
            prop_assert_eq!(found.is_none(), by_definition(&summary.worms));
            if let Some(Contention { first, second, channel }) = found {
                prop_assert!([first, second].iter().all(|&id| summary.worms[id as usize].channels.contains(&channel)));
                // Of all that contend with a worm that is sent before them, the first to be sent.
                let order = |id: u32| (summary.worms[id as usize].step, id);
                prop_assert!(order(first) < order(second));
                let before = summary.worms.iter().filter(|worm| order(worm.id) < order(second)).cloned();
                prop_assert!(by_definition(&before.collect::<Vec<_>>()));
            }
        }
    }
}
