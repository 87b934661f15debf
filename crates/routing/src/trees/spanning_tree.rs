//! A rooted spanning tree of a network's routers.

use std::ops::Range;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};

/// A spanning tree with a root, in flat arrays.
///
/// Children are in the order of their channels at the parent, that is of its ports. Routers are numbered in post-order: each
/// after everything below it. The routers of a subtree then have consecutive numbers ([`subtree`](Self::subtree)), which is
/// all that a router has to know of a child to route down the tree (paper 5, section 3.2.2).
///
/// Memory: 36 bytes a router.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::SpanningTree;
///
/// // 0 - 1 - 2 - 3, rooted in the middle.
/// let mesh = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let [a, b, c, d] = [0, 1, 2, 3].map(RouterId::new);
/// let links: Vec<_> = [(a, b), (b, c), (c, d)].iter().filter_map(|&(u, v)| mesh.channel_between(u, v)).collect();
/// let tree = SpanningTree::new(&mesh, b, &links)?;
/// assert_eq!(tree.post_order(), [a, d, c, b]);
/// assert_eq!((tree.parent(d), tree.depth(d), tree.distance(a, d)), (Some(c), 2, 3));
/// assert_eq!(tree.subtree(c), 1..3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpanningTree {
    root: RouterId,
    /// The channel from each router to its parent, and back; meaningless at the root.
    up: Box<[ChannelId]>,
    down: Box<[ChannelId]>,
    /// The parent of each router; the root is its own.
    parent: Box<[RouterId]>,
    depth: Box<[u32]>,
    order: Box<[RouterId]>,
    number: Box<[u32]>,
    /// The smallest post-order number in the subtree of each router.
    lowest: Box<[u32]>,
    /// The channels to the children of `r` are `children[first_child[r]..first_child[r + 1]]`.
    first_child: Box<[u32]>,
    children: Box<[ChannelId]>,
}

/// Why links are not a spanning tree.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotSpanning {
    /// The network does not have the root.
    #[error("router {root} cannot be the root: `{network}` has routers 0 to {last}")]
    NoRoot {
        /// The root that was asked for.
        root: RouterId,
        /// The network.
        network: String,
        /// Its last router.
        last: usize,
    },
    /// There is one link too many or one too few.
    #[error("{links} links cannot be a spanning tree of `{network}`, whose {routers} routers need {}", routers - 1)]
    Links {
        /// The links given.
        links: usize,
        /// The network.
        network: String,
        /// Its routers.
        routers: usize,
    },
    /// The right number of links, but with a cycle.
    #[error(
        "the links are no spanning tree of `{network}`: they lead from root {root} to {reached} of its {routers} routers"
    )]
    Unreached {
        /// The root.
        root: RouterId,
        /// The network.
        network: String,
        /// How many routers the links lead to.
        reached: usize,
        /// How many routers there are.
        routers: usize,
    },
}

impl SpanningTree {
    /// The tree of these links, each named by either of its channels, with this root: linear in the network.
    ///
    /// # Errors
    /// If the links are not a spanning tree.
    pub fn new(network: &Network, root: RouterId, links: &[ChannelId]) -> Result<Self, NotSpanning> {
        let routers = network.routers();
        let name = || network.name().to_owned();
        if root.index() >= routers {
            return Err(NotSpanning::NoRoot { root, network: name(), last: routers.saturating_sub(1) });
        }
        if links.len() + 1 != routers {
            return Err(NotSpanning::Links { links: links.len(), network: name(), routers });
        }
        let mut in_tree = vec![false; network.channels()];
        for &link in links {
            in_tree[link.index()] = true;
            in_tree[network.reverse(link).index()] = true;
        }
        let none = ChannelId::new(u32::MAX);
        let mut tree = Self {
            root,
            up: vec![none; routers].into(),
            down: vec![none; routers].into(),
            parent: vec![root; routers].into(),
            depth: vec![0; routers].into(),
            order: Box::default(),
            number: vec![0; routers].into(),
            lowest: vec![0; routers].into(),
            first_child: Box::default(),
            children: Box::default(),
        };
        let mut order = Vec::with_capacity(routers);
        let mut children = Vec::with_capacity(routers);
        // The channels still to be looked at from each router between the root and the current one.
        let mut path = vec![(root, network.outputs(root))];
        let mut reached = 1;
        let mut met = vec![false; routers];
        met[root.index()] = true;
        while let Some((router, outputs)) = path.last_mut() {
            let router = *router;
            let back = tree.up[router.index()];
            let next = outputs.find(|&channel| in_tree[channel.index()] && channel != back);
            let Some(channel) = next else {
                tree.number[router.index()] = order.len() as u32;
                order.push(router);
                path.pop();
                continue;
            };
            let child = network.to(channel);
            if met[child.index()] {
                // A cycle: as many links as a tree has do not reach everyone then.
                continue;
            }
            met[child.index()] = true;
            reached += 1;
            let i = child.index();
            tree.down[i] = channel;
            tree.up[i] = network.reverse(channel);
            tree.parent[i] = router;
            tree.depth[i] = tree.depth[router.index()] + 1;
            tree.lowest[i] = order.len() as u32;
            path.push((child, network.outputs(child)));
        }
        if reached < routers {
            return Err(NotSpanning::Unreached { root, network: name(), reached, routers });
        }
        let mut first_child = Vec::with_capacity(routers + 1);
        for router in (0..routers as u32).map(RouterId::new) {
            first_child.push(children.len() as u32);
            children
                .extend(network.outputs(router).filter(|&channel| tree.down[network.to(channel).index()] == channel));
        }
        first_child.push(children.len() as u32);
        tree.order = order.into();
        tree.first_child = first_child.into();
        tree.children = children.into();
        Ok(tree)
    }

    /// Roots the tree at another router; its links stay.
    ///
    /// # Errors
    /// If the network does not have the root.
    pub fn rooted_at(&self, network: &Network, root: RouterId) -> Result<Self, NotSpanning> {
        Self::new(network, root, &self.links().collect::<Vec<_>>())
    }

    /// The root.
    pub fn root(&self) -> RouterId {
        self.root
    }

    /// The number of routers.
    pub fn routers(&self) -> usize {
        self.parent.len()
    }

    /// The tree's links, each as the channel from parent to child, in the order of the children's ids.
    pub fn links(&self) -> impl Iterator<Item = ChannelId> + Clone + '_ {
        let root = self.root.index();
        self.down.iter().enumerate().filter(move |&(router, _)| router != root).map(|(_, &channel)| channel)
    }

    /// Whether the channel's link, in either direction, is part of the tree.
    pub fn contains(&self, network: &Network, channel: ChannelId) -> bool {
        self.down[network.to(channel).index()] == channel || self.up[network.from(channel).index()] == channel
    }

    /// A router's parent; `None` at the root.
    #[inline]
    pub fn parent(&self, router: RouterId) -> Option<RouterId> {
        (router != self.root).then(|| self.parent[router.index()])
    }

    /// The channel from a router to its parent; `None` at the root.
    #[inline]
    pub fn up(&self, router: RouterId) -> Option<ChannelId> {
        (router != self.root).then(|| self.up[router.index()])
    }

    /// The channel to a router from its parent; `None` at the root.
    #[inline]
    pub fn down(&self, router: RouterId) -> Option<ChannelId> {
        (router != self.root).then(|| self.down[router.index()])
    }

    /// The channels from a router to its children, in the order of their ids.
    #[inline]
    pub fn children(&self, router: RouterId) -> &[ChannelId] {
        &self.children[self.first_child[router.index()] as usize..self.first_child[router.index() + 1] as usize]
    }

    /// How many links a router is away from the root.
    #[inline]
    pub fn depth(&self, router: RouterId) -> u32 {
        self.depth[router.index()]
    }

    /// The largest depth.
    pub fn height(&self) -> u32 {
        self.depth.iter().copied().max().unwrap_or(0)
    }

    /// All routers, each after its children; the root last.
    pub fn post_order(&self) -> &[RouterId] {
        &self.order
    }

    /// A router's position in [`post_order`](Self::post_order).
    #[inline]
    pub fn number(&self, router: RouterId) -> u32 {
        self.number[router.index()]
    }

    /// The post-order numbers of a router and everything below it.
    #[inline]
    pub fn subtree(&self, router: RouterId) -> Range<u32> {
        self.lowest[router.index()]..self.number[router.index()] + 1
    }

    /// Whether `below` is in the subtree of `router`.
    #[inline]
    pub fn is_below(&self, below: RouterId, router: RouterId) -> bool {
        self.subtree(router).contains(&self.number(below))
    }

    /// The lowest router that has both in its subtree: O(depth).
    pub fn lowest_common_ancestor(&self, one: RouterId, other: RouterId) -> RouterId {
        let mut at = one;
        while !self.is_below(other, at) {
            at = self.parent[at.index()];
        }
        at
    }

    /// The number of links between two routers: O(depth).
    pub fn distance(&self, one: RouterId, other: RouterId) -> u32 {
        let top = self.depth(self.lowest_common_ancestor(one, other));
        self.depth(one) + self.depth(other) - 2 * top
    }

    /// The router whose largest branch, if it were the root, is smallest: of several the one with the fewest branches, then the
    /// smallest. No branch has more than half of all routers. O(routers).
    pub fn best_balanced_root(&self, network: &Network) -> RouterId {
        let routers = self.routers();
        let rank = |router: RouterId| {
            let above = routers - self.subtree(router).len();
            let below = self.children(router).iter().map(|&child| self.subtree(network.to(child)).len()).max();
            (above.max(below.unwrap_or(0)), self.degree(router), router)
        };
        self.order.iter().copied().min_by_key(|&router| rank(router)).unwrap_or(self.root)
    }

    /// Whether no router has more than two children.
    pub fn is_binary(&self) -> bool {
        self.first_child.windows(2).all(|pair| pair[1] - pair[0] <= 2)
    }

    /// The number of the tree's links at a router.
    pub fn degree(&self, router: RouterId) -> usize {
        self.children(router).len() + usize::from(router != self.root)
    }

    /// Whether the links join all routers of the network without a cycle. [`new`](Self::new) ensures it; this checks
    /// the links again, independently.
    pub fn is_spanning(&self, network: &Network) -> bool {
        let mut group: Vec<usize> = (0..network.routers()).collect();
        let find = |group: &mut Vec<usize>, mut router: usize| {
            while group[router] != router {
                group[router] = group[group[router]];
                router = group[router];
            }
            router
        };
        let mut links = 0;
        for link in self.links() {
            let (one, other) = (network.from(link).index(), network.to(link).index());
            let (one, other) = (find(&mut group, one), find(&mut group, other));
            if one == other {
                return false;
            }
            group[one] = other;
            links += 1;
        }
        links + 1 == network.routers()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let ring = build("torus:4");
        let root = RouterId::new(0);
        let link = |a: u32, b: u32| ring.channel_between(RouterId::new(a), RouterId::new(b)).unwrap();
        let message = |root, links: &[ChannelId]| SpanningTree::new(&ring, root, links).unwrap_err().to_string();
        assert_eq!(message(RouterId::new(4), &[]), "router 4 cannot be the root: `torus:4` has routers 0 to 3");
        assert_eq!(
            message(root, &[link(0, 1), link(1, 2)]),
            "2 links cannot be a spanning tree of `torus:4`, whose 4 routers need 3"
        );
        assert_eq!(
            message(root, &[link(0, 1), link(1, 2), link(2, 1)]),
            "the links are no spanning tree of `torus:4`: they lead from root 0 to 3 of its 4 routers"
        );
        let complete = build("complete:4");
        let triangle: Vec<_> = [(0, 1), (1, 2), (0, 2)]
            .map(|(a, b)| complete.channel_between(RouterId::new(a), RouterId::new(b)).unwrap())
            .into();
        assert!(SpanningTree::new(&complete, root, &triangle).is_err());
        assert!(SpanningTree::new(&complete, RouterId::new(3), &triangle).is_err());
    }

    /// By breadth-first search.
    fn distances(network: &Network, source: RouterId) -> Vec<u32> {
        let mut distance = vec![u32::MAX; network.routers()];
        distance[source.index()] = 0;
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(router) = queue.pop_front() {
            for next in network.outputs(router).map(|channel| network.to(channel)) {
                if distance[next.index()] == u32::MAX {
                    distance[next.index()] = distance[router.index()] + 1;
                    queue.push_back(next);
                }
            }
        }
        distance
    }

    /// A spanning tree drawn at random: each router but the first is joined to an earlier one, and roots are anywhere.
    fn trees() -> impl Strategy<Value = (Vec<u32>, u32)> {
        (1u32..40).prop_flat_map(|routers| {
            let parents = (1..routers).map(|router| 0..router).collect::<Vec<_>>();
            (parents, 0..routers)
        })
    }

    proptest! {
        #[test]
        fn all_parts_agree((parents, root) in trees()) {
            let links: Vec<(u32, u32)> = parents.iter().zip(1..).map(|(&p, r)| (p, r)).collect();
            let routers = links.len() + 1;
            let network = Network::from_links("random tree", routers, &links);
            let channels: Vec<_> = network.channel_ids()
                .filter(|&c| c < network.reverse(c)).collect();
            let tree = SpanningTree::new(&network, RouterId::new(root), &channels).unwrap();
            prop_assert!(tree.is_spanning(&network));
            prop_assert_eq!(tree.links().count(), routers - 1);
            let all = (0..routers as u32).map(RouterId::new);
            for router in all.clone() {
                prop_assert_eq!(tree.post_order()[tree.number(router) as usize], router);
                let below: Vec<u32> = tree.subtree(router).collect();
                let mut expected = vec![tree.number(router)];
                for &channel in tree.children(router) {
                    let child = network.to(channel);
                    prop_assert_eq!(tree.parent(child), Some(router));
                    prop_assert_eq!(tree.down(child), Some(channel));
                    prop_assert_eq!(tree.up(child), Some(network.reverse(channel)));
                    prop_assert_eq!(tree.depth(child), tree.depth(router) + 1);
                    expected.extend(tree.subtree(child));
                }
                expected.sort_unstable();
                prop_assert_eq!(below, expected);
                prop_assert_eq!(tree.degree(router), network.outputs(router).len());
                let distances = distances(&network, router);
                for other in all.clone() {
                    prop_assert_eq!(tree.distance(router, other), distances[other.index()]);
                }
            }
        }
    }
}
