//! Dependencies worm by worm.

use wormcast_network::ChannelId;

use super::{Dependencies, Stop};

impl<'n> Dependencies<'n> {
    /// Adds one tree worm, as [`Worms::lockstep_tree`] takes it.
    #[cfg(test)]
    pub(crate) fn add_lockstep_tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)]) {
        self.add_worms(|worms| worms.lockstep_tree(tree));
    }

    /// Adds any number of worms, for the price of one sort; returns what the closure does.
    pub fn add_worms<T>(&mut self, add: impl FnOnce(&mut Worms<'_, 'n>) -> T) -> T {
        let result = add(&mut Worms { dependencies: self });
        self.tidy();
        result
    }
}

/// Takes worms for [`Dependencies::add_worms`].
pub struct Worms<'d, 'n> {
    dependencies: &'d mut Dependencies<'n>,
}

impl Worms<'_, '_> {
    /// A hop that a path worm may take: it came by `arriving` and goes on by `leaving`. `stops`: it delivers in between, and holds a
    /// consumption channel there while it goes on.
    pub fn hop(&mut self, arriving: ChannelId, leaving: ChannelId, stops: bool) {
        self.dependencies.waits.push((arriving.raw(), leaving.raw()));
        if stops {
            self.dependencies.stops.push(Stop { arriving, leaving: Some(leaving) });
        }
    }

    /// A lockstep tree worm: its channels, each with the position of the one before it (`None` for those that leave the source's
    /// router) and whether the worm delivers at the router that it enters. O(channels^2 x height).
    ///
    /// A flit leaves a replication point on all branches or on none, and buffers are small: whoever holds a channel of the
    /// tree may wait for any other that is not granted by then, on other branches too (paper 5, Figure 1).
    pub fn lockstep_tree(&mut self, tree: &[(ChannelId, Option<usize>, bool)]) {
        let Dependencies { waits, together, stops, held_up, .. } = &mut *self.dependencies;
        for (i, &(held, parent, delivers)) in tree.iter().enumerate() {
            // What leaves the routers on the way to `held` was granted before it, or together with it.
            let mut granted = vec![parent];
            while let Some(Some(ancestor)) = granted.last() {
                granted.push(tree[*ancestor].1);
            }
            for (j, &(requested, other_parent, _)) in tree.iter().enumerate() {
                if !granted.contains(&other_parent) {
                    waits.push((held.raw(), requested.raw()));
                }
                if other_parent == parent && i < j {
                    together.push((held.raw(), requested.raw()));
                }
                // What is needed where another branch ends may not be granted yet, if this one does not go on from there.
                if i != j && !granted.contains(&Some(j)) {
                    held_up.push((held.raw(), requested.raw()));
                }
            }
            if delivers {
                stops.push(Stop { arriving: held, leaving: None });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::{Network, RouterId, TopologySpec};

    fn build(spec: &str) -> Network {
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
