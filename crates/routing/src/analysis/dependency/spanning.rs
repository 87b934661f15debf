//! The dependencies of multicasts on spanning trees.

use wormcast_network::ChannelId;

use super::covered::CoveredTrees;
use super::{Dependencies, Stop};
use crate::relation::RoutingRelation;
use crate::trees::spanning_tree::SpanningTree;

impl<'n> Dependencies<'n> {
    /// The dependencies of worms that follow `relation`, alone to a destination or to the router where a multicast's branches
    /// begin, and from there on replicated down the one of these trees that they came on, with all that they need at a router
    /// reserved at once.
    ///
    /// `bound`: the trees share no link, and each has a consumption channel of its own at every node. Without it there is one
    /// tree, to whose worms all consumption channels are open, and all links belong to it.
    ///
    /// What the branches of one worm hold back in each other is left out; docs/model.md has the proof that it cannot add a
    /// deadlock, as long as no worm that goes down a tree waits for anything but channels further down it. Where the relation
    /// breaks that premise, all channels of the tree are taken to wait for each other. The proof also needs a link to have one holder: with
    /// [several virtual channels](Self::with_virtual_channels) the branches of a router are taken to wait for each other.
    ///
    /// O(routers x channels), as [`of_relation`](Self::of_relation).
    pub fn of_spanning_trees(relation: &'n dyn RoutingRelation, trees: &[SpanningTree], bound: bool) -> Self {
        debug_assert!(bound || trees.len() == 1);
        let network = relation.network();
        let mut dependencies = Self::of_relation(relation);
        dependencies.divided = None;
        let mut tree_of = vec![None; network.channels()];
        for (index, tree) in trees.iter().enumerate() {
            for down in tree.links() {
                for channel in [down, network.reverse(down)] {
                    tree_of[channel.index()] = Some(index as u8);
                }
            }
        }
        if !bound {
            tree_of.fill(Some(0));
        }
        let is_down = |channel: ChannelId| {
            tree_of[channel.index()]
                .is_some_and(|tree| trees[usize::from(tree)].down(network.to(channel)) == Some(channel))
        };
        let down = network.channel_ids().filter(|&channel| is_down(channel)).map(ChannelId::index).collect();
        dependencies.covered = CoveredTrees::Spanning { down };
        // A unicast takes the tree with the shortest route, a multicast any of them: up to the ancestor of all destinations.
        if bound {
            for tree in trees {
                let up = |router| tree.down(router).map(|down| network.reverse(down));
                let turns = network.router_ids().filter_map(|router| {
                    let next = up(router)?;
                    Some(tree.children(router).iter().map(move |&child| (network.reverse(child).raw(), next.raw())))
                });
                dependencies.waits.extend(turns.flatten());
            }
        }
        // Branches begin wherever a worm may come, and go on below.
        for arriving in network.channel_ids() {
            let Some(tree) = tree_of[arriving.index()] else { continue };
            let router = network.to(arriving);
            let children = trees[usize::from(tree)].children(router);
            for &down in children {
                // Two worms that hold both of these links can each be first on one of them, and wait below the other.
                dependencies
                    .shared
                    .extend(children.iter().filter(|&&other| other != down).map(|other| (down.raw(), other.raw())));
                dependencies.waits.push((arriving.raw(), down.raw()));
                if network.nodes_of(router).len() > 0 {
                    // So can two that deliver here and go on, where these are reserved one by one.
                    if is_down(arriving) {
                        dependencies.shared.push((down.raw(), arriving.raw()));
                    }
                    dependencies.stops.push(Stop { arriving, leaving: Some(down) });
                }
            }
        }
        let premise = dependencies
            .waits
            .iter()
            .all(|&(held, next)| !is_down(ChannelId::new(held)) || is_down(ChannelId::new(next)));
        if !premise {
            for one in network.channel_ids().filter(|&one| is_down(one)) {
                let others = network
                    .channel_ids()
                    .filter(|&c| is_down(c) && c != one && tree_of[c.index()] == tree_of[one.index()]);
                dependencies.waits.extend(others.map(|other| (one.raw(), other.raw())));
            }
        }
        for pairs in [&mut dependencies.waits, &mut dependencies.shared] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        if bound {
            dependencies.classes = Some(tree_of.into());
        }
        dependencies
    }

    /// How many consumption channels worms are bound to, at every node: the check takes each for itself, and nodes must have so
    /// many. 0 if all are open to all.
    pub fn bound_channels(&self) -> u32 {
        let classes = self.classes.iter().flat_map(|classes| classes.iter().flatten());
        classes.max().map_or(0, |&most| u32::from(most) + 1)
    }
}
