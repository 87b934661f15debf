//! Dependencies worm by worm.

use wormcast_network::{ChannelId, RouterId};

use super::virtual_channels::{Waits, legs_of_path};
use super::{Branching, Dependencies, Stop};
use crate::capabilities::VcRange;
use crate::relation::RoutingRelation;

impl<'n> Dependencies<'n> {
    /// Adds one tree worm in lockstep, as [`Worms::tree`] takes it.
    #[cfg(test)]
    pub(crate) fn add_lockstep_tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)]) {
        self.add_worms(|worms| worms.tree(tree, Branching::LOCKSTEP));
    }

    /// Adds any number of worms and sorts once at the end; returns what the closure returns.
    pub fn add_worms<T>(&mut self, add: impl FnOnce(&mut Worms<'_, 'n>) -> T) -> T {
        let result = add(&mut Worms { dependencies: self, on_path: false });
        self.tidy();
        result
    }
}

/// Takes worms for [`Dependencies::add_worms`].
pub struct Worms<'d, 'n> {
    dependencies: &'d mut Dependencies<'n>,
    /// Whether what is added is part of a path that has been followed.
    on_path: bool,
}

impl Worms<'_, '_> {
    /// A path worm of a relation, with the hops and starts that `hops` adds: it starts at a router, takes the channel `exit` first, if that is given, and stops at these routers, one after
    /// the other. Where virtual channels are told apart, those that are in `own` are all that it takes.
    pub fn path(
        &mut self,
        relation: &dyn RoutingRelation,
        (source, exit, stops): (RouterId, Option<ChannelId>, &[RouterId]),
        own: VcRange,
        hops: impl FnOnce(&mut Self),
    ) {
        let Dependencies { network, divided, virtual_channels, .. } = &mut *self.dependencies;
        if let Some(divided) = divided {
            let given = divided.given.get_or_insert_with(|| Waits::new(network, *virtual_channels));
            given.add(&legs_of_path(relation, (source, exit, stops), own, *virtual_channels), true);
        }
        self.on_path = true;
        hops(self);
        self.on_path = false;
    }

    /// Of worms that are not followed by virtual channels nobody knows which they take.
    fn mix(&mut self) {
        if !self.on_path {
            self.dependencies.divided = None;
        }
    }

    /// A hop of a path worm, which arrived on `arriving` and leaves on `leaving`. If `stops`, it delivers in between, and holds a
    /// consumption channel there while it goes on.
    pub fn hop(&mut self, arriving: ChannelId, leaving: ChannelId, stops: bool) {
        self.mix();
        self.dependencies.waits.push((arriving.raw(), leaving.raw()));
        if stops {
            self.dependencies.stops.push(Stop { arriving, leaving: Some(leaving) });
        }
    }

    /// A tree worm: its channels, each with the position of the one before it (`None` for those that leave the source's router) and
    /// whether the worm delivers at the router that it enters. O(channels^2 x height).
    ///
    /// With small buffers, branches hold each other up, in lockstep as well as where they are reserved one by one: a worm that holds a channel of the
    /// tree may wait for any other that is not granted by then, on other branches too (paper 5, Figure 1). If all channels out of a router
    /// are requested together, those beside the way to the one that is held have been granted.
    ///
    /// With buffers for whole worms, a branch that waits holds only the channel to the router where it waits; if channels are requested
    /// together, a worm that queues for one waits for the others.
    pub fn tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)], branching: Branching) {
        self.tree_from(false, tree, branching);
    }

    /// As [`tree`](Self::tree), for a worm that may deliver to other nodes of its sender's router.
    pub fn tree_from(&mut self, delivers: bool, tree: &[(ChannelId, Option<usize>, bool)], branching: Branching) {
        self.mix();
        let Dependencies { network, waits, together, stops, held_up, starts, separate, .. } = &mut *self.dependencies;
        *separate |= branching.separate && !branching.packet_buffers;
        if delivers && !branching.packet_buffers {
            starts.grow(network.channels());
            for &(first, ..) in tree.iter().filter(|(_, parent, _)| parent.is_none()) {
                starts.insert(first.index());
                if branching.separate {
                    // What it needs there may be granted last.
                    let inputs = || network.inputs(network.from(first));
                    held_up.extend(tree.iter().flat_map(|&(held, ..)| inputs().map(move |at| (held.raw(), at.raw()))));
                }
            }
        }
        for (i, &(held, parent, delivers)) in tree.iter().enumerate() {
            // The way to `held`, and itself.
            let mut way = vec![i];
            while let Some(ancestor) = way.last().and_then(|&last| tree[last].1) {
                way.push(ancestor);
            }
            // What leaves the routers on the way was granted before it, or together with it.
            let granted: Vec<Option<usize>> = way.iter().map(|&place| tree[place].1).collect();
            for (j, &(requested, other_parent, _)) in tree.iter().enumerate() {
                let waits_for_it = match branching {
                    Branching { packet_buffers: true, .. } => other_parent == Some(i),
                    Branching { separate: true, .. } => !way.contains(&j),
                    Branching { separate: false, .. } => !granted.contains(&other_parent),
                };
                if waits_for_it {
                    waits.push((held.raw(), requested.raw()));
                }
                if other_parent == parent && i < j && !branching.separate {
                    together.push((held.raw(), requested.raw()));
                }
                if branching.packet_buffers {
                    continue;
                }
                // What is needed where another branch ends may not be granted yet, if this one does not go on from there.
                if i != j && !granted.contains(&Some(j)) {
                    held_up.push((held.raw(), requested.raw()));
                }
            }
            if delivers && !branching.packet_buffers {
                stops.push(Stop { arriving: held, leaving: None });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::trees::tests::two_routers;
    use super::*;
    use wormcast_network::{Network, RouterId, TopologySpec};

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    /// Paper 5, Figure 1: two lockstep trees, each of which holds what the other's sibling branch needs.
    #[test]
    fn sibling_branches_can_deadlock_where_paths_cannot() {
        let mesh = build("mesh:3x2");
        let channel = |u, v| mesh.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let mut dependencies = Dependencies::new(&mesh);
        // From 0: up then along; and along then up. Both reach 4 and 2 by different last channels.
        dependencies.add_lockstep_tree(&[
            (channel(1, 2), None, true),
            (channel(1, 0), None, false),
            (channel(0, 3), Some(1), true),
        ]);
        assert_eq!(dependencies.deadlock(4), None, "one tree alone cannot block itself");
        dependencies.add_lockstep_tree(&[
            (channel(0, 3), None, true),
            (channel(0, 1), None, false),
            (channel(1, 2), Some(1), true),
        ]);
        assert!(dependencies.deadlock(4).is_some());
    }

    /// Two trees on a line, from its inner routers to both ends. They block each other unless each branch goes on by itself.
    #[test]
    fn branching_decides() {
        let line = build("mesh:4");
        let channel = |u, v| line.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let trees = [
            [(channel(1, 0), None, true), (channel(1, 2), None, false), (channel(2, 3), Some(1), true)],
            [(channel(2, 3), None, true), (channel(2, 1), None, false), (channel(1, 0), Some(1), true)],
        ];
        let free = |packet_buffers, separate| {
            let mut dependencies = Dependencies::new(&line);
            dependencies.add_worms(|worms| {
                for tree in &trees {
                    worms.tree(tree, Branching { packet_buffers, separate });
                }
            });
            dependencies.deadlock(4).is_none()
        };
        assert!(free(true, true));
        assert!(!free(false, false) && !free(false, true));
        // Who queues for the channel to an end waits for the other one of its request, too.
        assert!(!free(true, false));
        // Reserved one by one, a tree may hold one branch while it waits for the other.
        let mut one = Dependencies::new(&line);
        one.add_worms(|worms| worms.tree(&trees[0], Branching { packet_buffers: false, separate: true }));
        assert!(one.contains(channel(1, 0), channel(1, 2)));
    }

    /// Two routers with two nodes each; each tree delivers to the other node at its own router, which it holds, and to the one that the other tree holds.
    #[test]
    fn a_delivery_where_a_tree_begins_can_block_another() {
        let pair = two_routers();
        let deadlock = |delivers, branching| {
            let mut dependencies = Dependencies::new(&pair);
            dependencies.add_worms(|worms| {
                for channel in pair.channel_ids() {
                    worms.tree_from(delivers, &[(channel, None, true)], branching);
                }
            });
            [1, 2].map(|ports| dependencies.deadlock(ports).is_some())
        };
        assert_eq!(deadlock(false, Branching::LOCKSTEP), [false, false]);
        assert_eq!(deadlock(true, Branching::LOCKSTEP), [true, false]);
        assert_eq!(deadlock(true, Branching { packet_buffers: false, separate: true }), [true, true]);
        assert_eq!(deadlock(true, Branching::STORED), [false, false]);
    }

    /// Three trees on a triangle, from each corner to the others: each waits at one for a delivery that the next one holds, as that
    /// waits on its other branch.
    #[test]
    fn a_delivery_holds_up_sibling_branches() {
        let ring = Network::from_links("ring", 3, &[(0, 1), (1, 2), (2, 0)]);
        let channel = |u, v| ring.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        let mut dependencies = Dependencies::new(&ring);
        for (from, a, b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            assert_eq!(dependencies.deadlock(2), None);
            dependencies.add_lockstep_tree(&[(channel(from, a), None, true), (channel(from, b), None, true)]);
        }
        assert!(dependencies.deadlock(1).is_some());
        assert_eq!(dependencies.deadlock(2), None);
        assert!(dependencies.held_up.contains(&(channel(0, 1).raw(), channel(0, 2).raw())));
    }
}
