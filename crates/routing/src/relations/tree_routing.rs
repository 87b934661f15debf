//! Routing along spanning trees.

use std::sync::Arc;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::{RoutingCapabilities, TreeDescent};
use crate::registry::RoutingDescriptor;
use crate::relation::RoutingRelation;
use crate::relations::up_down::require_ways_back;
use crate::trees::registry::TreeOptions;
use crate::trees::spanning_tree::SpanningTree;
use crate::trees::tarjan_trees::TARJAN_TREES;
use crate::trees::torus_trees::DSTM_1_TREES;

/// [`TreeRouting`] on the edge-disjoint spanning trees that the network is known to have: those of DSTM-1 in a 2-D torus.
pub const TREE_ROUTING: RoutingDescriptor = RoutingDescriptor::new(
    "tree",
    "up and down one of several edge-disjoint spanning trees, in the source the one with the shortest route",
    TARJAN_TREES.needs,
    |network, options| {
        require_ways_back(&TREE_ROUTING, network)?;
        let construction = if has_known_trees(network) { DSTM_1_TREES } else { TARJAN_TREES };
        let options = TreeOptions { seed: options.seed, ..TreeOptions::default() };
        Ok(Box::new(TreeRouting::new(network, construction.build(network, &options)?.trees)?))
    },
)
.of_any_kind()
.drawing_on(|network| !has_known_trees(network));

/// Whether the network is a 2-D torus, whose edge-disjoint spanning trees are known.
fn has_known_trees(network: &Network) -> bool {
    network.shape().wraps() && network.shape().grid().is_some_and(|grid| grid.dimensions() == 2)
}

/// Up and down one of several edge-disjoint spanning trees.
///
/// A header stays on the tree of the link by which it came: up until its target is below, then down. What a router keeps of a
/// tree is the link to its parent and, for each child, the range of post-order numbers below it: constant memory a child. In
/// its source router a unicast chooses the tree with the shortest route, the first of several; a worm that is to take another
/// leaves by a first channel that its plan names.
///
/// No worm goes down and then up, and the trees share no link, so there is no deadlock among unicasts.
///
/// *Source:* paper 5, sections 3.1 and 3.2. *Memory:* that of the trees and one byte a channel. O(children) a hop, O(depth) in
/// the source router.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{SpanningTree, TreeRouting, append_route};
///
/// // A ring of five as a line, rooted in its middle: 3 - 4 - 0 - 1 - 2.
/// let ring = "torus:5".parse::<TopologySpec>()?.build()?;
/// let channel = |from, to| ring.channel_between(RouterId::new(from), RouterId::new(to));
/// let links: Vec<_> = [(3, 4), (4, 0), (0, 1), (1, 2)].into_iter().filter_map(|(u, v)| channel(u, v)).collect();
/// let tree = SpanningTree::new(&ring, RouterId::new(0), &links)?;
/// let routing = TreeRouting::new(&ring, vec![tree])?;
/// let mut route = Vec::new();
/// append_route(&routing, RouterId::new(3), None, RouterId::new(2), &mut route)?;
/// assert_eq!(route.iter().map(|&c| ring.to(c).raw()).collect::<Vec<_>>(), [4, 0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TreeRouting {
    network: Arc<Network>,
    trees: Vec<SpanningTree>,
    /// The tree of each channel, or `NONE`.
    tree_of: Box<[u8]>,
    /// For a tree that failed links cut, the part that each router belongs to.
    parts: Vec<Option<Box<[u32]>>>,
}

const NONE: u8 = u8::MAX;

/// Why trees cannot be routed on together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreesError {
    /// No tree, or more than a byte can tell apart.
    #[error("tree routing needs 1 to 255 trees, not {0}")]
    Number(usize),
    /// A tree of another network.
    #[error("tree {tree} has {routers} routers, but `{network}` has {expected}")]
    Routers {
        /// The tree.
        tree: usize,
        /// Its routers.
        routers: usize,
        /// The network.
        network: String,
        /// The network's routers.
        expected: usize,
    },
    /// Two trees share a link.
    #[error("trees {one} and {other} share the link between routers {from} and {to}")]
    Shared {
        /// The first tree.
        one: usize,
        /// The second.
        other: usize,
        /// One end of the link.
        from: RouterId,
        /// The other.
        to: RouterId,
    },
}

impl TreeRouting {
    /// Routing on these trees of `network`.
    ///
    /// # Errors
    /// If there are no trees, or they are not of this network or not edge-disjoint.
    pub fn new(network: &Arc<Network>, trees: Vec<SpanningTree>) -> Result<Self, TreesError> {
        if trees.is_empty() || trees.len() >= usize::from(NONE) {
            return Err(TreesError::Number(trees.len()));
        }
        let mut tree_of = vec![NONE; network.channels()];
        for (index, tree) in trees.iter().enumerate() {
            if tree.routers() != network.routers() {
                let (routers, expected) = (tree.routers(), network.routers());
                return Err(TreesError::Routers { tree: index, routers, network: network.name().to_owned(), expected });
            }
            for down in tree.links() {
                for channel in [down, network.reverse(down)] {
                    let other = std::mem::replace(&mut tree_of[channel.index()], index as u8);
                    if other != NONE {
                        let (from, to) = (network.from(down), network.to(down));
                        return Err(TreesError::Shared { one: other.into(), other: index, from, to });
                    }
                }
            }
        }
        let parts = vec![None; trees.len()];
        Ok(Self { network: Arc::clone(network), trees, tree_of: tree_of.into(), parts })
    }

    /// Makes these links known as failed to every router: unicasts then take the shortest intact route. O(routers) for
    /// each tree.
    #[must_use]
    pub fn without(mut self, failed: &[ChannelId]) -> Self {
        let network = &self.network;
        for (tree, parts) in self.trees.iter().zip(&mut self.parts) {
            let has_failed = |channel| failed.iter().any(|&link| link == channel || network.reverse(link) == channel);
            if !failed.iter().any(|&link| tree.contains(network, link)) {
                continue;
            }
            // Parents before children.
            let mut part = vec![0; tree.routers()];
            for &router in tree.post_order().iter().rev() {
                let joined = tree.down(router).filter(|&down| !has_failed(down));
                part[router.index()] = joined.map_or(router.raw(), |down| part[network.from(down).index()]);
            }
            *parts = Some(part.into());
        }
        self
    }

    /// The trees.
    pub fn trees(&self) -> &[SpanningTree] {
        &self.trees
    }

    /// The tree that a channel's link is part of.
    #[inline]
    pub(crate) fn tree_of(&self, channel: ChannelId) -> Option<usize> {
        let tree = self.tree_of[channel.index()];
        (tree != NONE).then_some(tree.into())
    }

    /// The tree with the shortest intact route between two routers, the first of several: O(depth). At least one tree is intact.
    pub fn shortest(&self, from: RouterId, to: RouterId) -> usize {
        let joins =
            |&tree: &usize| self.parts[tree].as_ref().is_none_or(|parts| parts[from.index()] == parts[to.index()]);
        let distance = |&tree: &usize| self.trees[tree].distance(from, to);
        (0..self.trees.len()).filter(joins).min_by_key(distance).unwrap_or(0)
    }

    /// The channel on which a header at `at` continues along a tree to `target`, another router.
    #[inline]
    pub fn next(&self, tree: usize, at: RouterId, target: RouterId) -> Option<ChannelId> {
        let tree = &self.trees[tree];
        let above = tree.is_below(target, at);
        if above { tree.towards(&self.network, at, target) } else { tree.up(at) }
    }
}

impl SpanningTree {
    /// The channel from a router to the child that `below` is, or is below: O(children).
    #[inline]
    pub fn towards(&self, network: &Network, at: RouterId, below: RouterId) -> Option<ChannelId> {
        let number = self.number(below);
        self.children(at).iter().copied().find(|&child| self.subtree(network.to(child)).contains(&number))
    }
}

impl RoutingRelation for TreeRouting {
    fn name(&self) -> &'static str {
        TREE_ROUTING.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        if at == target {
            return;
        }
        match arrived {
            None => out.extend(self.next(self.shortest(at, target), at, target)),
            Some(channel) => {
                let Some(tree) = self.tree_of(channel) else { return };
                let next = self.next(tree, at, target);
                // A worm that came down and has missed its target does not turn back.
                out.extend(next.filter(|&next| next != network.reverse(channel)));
            }
        }
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { descent: Some(self), ..RoutingCapabilities::default() }
    }
}

impl TreeDescent for TreeRouting {
    fn down(&self, at: RouterId, on: ChannelId, target: RouterId) -> Option<ChannelId> {
        self.trees[self.tree_of(on)?].towards(&self.network, at, target)
    }
}
