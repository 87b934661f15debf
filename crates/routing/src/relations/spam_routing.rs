//! SPAM's unicasts: up, then down cross links, then down tree links.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::{RoutingCapabilities, TreeDescent};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported, nearest_channels};
use crate::relations::up_down::{Root, require_ways_back};
use crate::trees::edge_disjoint::EdgeDisjointTrees;
use crate::trees::registry::TreeDescriptor;
use crate::trees::spanning_tree::SpanningTree;
use crate::trees::torus_trees::Balance;
use crate::trees::tree_error::TreeError;

/// [`SpamRouting`].
pub const SPAM_ROUTING: RoutingDescriptor = RoutingDescriptor::new(
    "spam",
    "up, then down links beside one spanning tree, then down the tree; all channels on shortest such routes",
    "a connected network whose links have channels both ways",
    |network, options| {
        let spam = SpamRouting::without(network, options.root.unwrap_or_default(), &[])?;
        Ok(Box::new(if options.tree_only { spam.on_tree_only() } else { spam }))
    },
)
.of_any_kind()
.with_root()
.with_cross_links();

/// The spanning tree of [`SpamRouting`], breadth-first from the starting node; where links have failed, without them.
pub const SPAM_TREE: TreeDescriptor = TreeDescriptor {
    name: "spam",
    summary: "one: the breadth-first tree of SPAM",
    needs: "a connected network",
    choices: &[],
    draws: false,
    around_faults: true,
    make: |network, options| {
        let root = options.first.map_or(Root::SmallestId, Root::Router);
        let has_failed =
            |channel| options.failed.iter().any(|&link| link == channel || network.reverse(link) == channel);
        let unconnected = |error| {
            let cut = (!options.failed.is_empty()).then(|| TreeError::disconnected(network, &options.failed)).flatten();
            cut.unwrap_or(TreeError::Unsupported(error))
        };
        let tree = breadth_first(network, root, has_failed).map_err(unconnected)?;
        let tree = match options.balance {
            Some(Balance::Root) => tree.rooted_at(network, tree.best_balanced_root(network))?,
            _ => tree,
        };
        Ok(EdgeDisjointTrees { trees: vec![tree], limit: None })
    },
};

/// The routing of SPAM, single phase adaptive multicast, on any connected network.
///
/// A breadth-first tree from the root gives every router a level; a link goes up towards the lower level, between routers of
/// one level towards the smaller id. Links of the tree are tree links, the others cross links. A header takes zero or more
/// channels up, of either kind, then zero or more cross links down, then zero or more tree links down. What it may still do
/// follows from the channel by which it came. It may take any channel that begins a shortest route of this kind to its target,
/// the smallest preferred.
///
/// Every channel is followed by channels of a later rank only (up by level, then cross by level, then tree by level): no
/// deadlock among unicasts.
///
/// *Source:* Libeskind-Hadas, Mazzoni and Rajagopalan, *Tree-based multicasting in wormhole-routed irregular topologies*, 1998;
/// paper 5, section 2.
///
/// *Memory:* for each target that was asked for, six bytes a router. A target's distances are computed when it is first asked
/// for, in O(channels). O(degree) a hop.
pub struct SpamRouting {
    network: Arc<Network>,
    tree: SpanningTree,
    kinds: Box<[Kind]>,
    /// By target: hops still to go by (router, phase).
    rows: Box<[OnceLock<Box<[u16]>>]>,
}

/// What a channel is. As phases of a header: what it may still take is this kind and those after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Up,
    CrossDown,
    TreeDown,
    /// A channel that no header takes: a failed one, or a cross link that is left out.
    Unused,
}

const PHASES: [Kind; 3] = [Kind::Up, Kind::CrossDown, Kind::TreeDown];
const UNREACHABLE: u16 = u16::MAX;

impl SpamRouting {
    /// With the breadth-first tree from this root: O(channels).
    ///
    /// # Errors
    /// If the network is not connected, or does not have the root.
    pub fn new(network: &Arc<Network>, root: Root) -> Result<Self, Unsupported> {
        Self::build(network, root, &[])
    }

    /// As [`new`](Self::new), where these links have failed.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the failed links cut routers off.
    pub fn without(network: &Arc<Network>, root: Root, failed: &[ChannelId]) -> Result<Self, TreeError> {
        if failed.is_empty() {
            return Ok(Self::new(network, root)?);
        }
        Self::build(network, root, failed)
            .map_err(|error| TreeError::disconnected(network, failed).unwrap_or(TreeError::Unsupported(error)))
    }

    /// The same without cross links: headers go up the tree and down it.
    #[must_use]
    pub fn on_tree_only(mut self) -> Self {
        let network = &*self.network;
        let of_tree = |channel| {
            let down = |channel: ChannelId| self.tree.down(network.to(channel)) == Some(channel);
            down(channel) || down(network.reverse(channel))
        };
        for (channel, kind) in network.channel_ids().zip(&mut self.kinds) {
            if !of_tree(channel) {
                *kind = Kind::Unused;
            }
        }
        self
    }

    fn build(network: &Arc<Network>, root: Root, failed: &[ChannelId]) -> Result<Self, Unsupported> {
        let has_failed = |channel| failed.iter().any(|&link| link == channel || network.reverse(link) == channel);
        let tree = breadth_first(network, root, has_failed)?;
        let rank = |router: RouterId| (tree.depth(router), router);
        let kind = |channel: ChannelId| {
            let (from, to) = (network.from(channel), network.to(channel));
            match (rank(to) < rank(from), tree.down(to) == Some(channel)) {
                _ if has_failed(channel) => Kind::Unused,
                (true, _) => Kind::Up,
                (false, false) => Kind::CrossDown,
                (false, true) => Kind::TreeDown,
            }
        };
        let kinds = (0..network.channels() as u32).map(|channel| kind(ChannelId::new(channel))).collect();
        let rows = std::iter::repeat_with(OnceLock::new).take(network.routers()).collect();
        Ok(Self { network: Arc::clone(network), tree, kinds, rows })
    }

    /// The breadth-first tree.
    pub fn tree(&self) -> &SpanningTree {
        &self.tree
    }

    fn row(&self, target: RouterId) -> &[u16] {
        let network = &*self.network;
        self.rows[target.index()].get_or_init(|| {
            // Backwards from the target, in whatever phase it is reached.
            let mut hops = vec![UNREACHABLE; 3 * network.routers()];
            let mut queue = VecDeque::new();
            for phase in PHASES {
                hops[place(target, phase)] = 0;
                queue.push_back((target, phase));
            }
            while let Some((router, phase)) = queue.pop_front() {
                let next = hops[place(router, phase)].saturating_add(1).min(UNREACHABLE - 1);
                for channel in network.outputs(router).map(|output| network.reverse(output)) {
                    if self.kinds[channel.index()] != phase {
                        continue;
                    }
                    for before in PHASES.into_iter().filter(|&before| before <= phase) {
                        let hops = &mut hops[place(network.from(channel), before)];
                        if *hops == UNREACHABLE {
                            *hops = next;
                            queue.push_back((network.from(channel), before));
                        }
                    }
                }
            }
            hops.into()
        })
    }
}

fn place(router: RouterId, phase: Kind) -> usize {
    3 * router.index() + phase as usize
}

/// The breadth-first tree of a connected network; children are found in the order of channels.
fn breadth_first(
    network: &Network,
    root: Root,
    has_failed: impl Fn(ChannelId) -> bool,
) -> Result<SpanningTree, Unsupported> {
    let routers = (0..network.routers() as u32).map(RouterId::new);
    let start = match root {
        Root::SmallestId => RouterId::new(0),
        Root::MaximumDegree => routers
            .clone()
            .max_by_key(|&router| (network.outputs(router).len(), std::cmp::Reverse(router)))
            .unwrap_or(RouterId::new(0)),
        Root::Router(router) => router,
    };
    if start.index() >= network.routers() {
        let last = network.routers().saturating_sub(1);
        let needs = format!("router {start} as its root");
        let error = Unsupported::new(SPAM_ROUTING.name, &needs, network);
        return Err(error.with_hint(&format!("its routers are 0 to {last}")));
    }
    let mut met = vec![false; network.routers()];
    met[start.index()] = true;
    let (mut links, mut queue) = (Vec::with_capacity(network.routers() - 1), VecDeque::from([start]));
    while let Some(router) = queue.pop_front() {
        for channel in network.outputs(router).filter(|&channel| !has_failed(channel)) {
            let next = network.to(channel);
            if !std::mem::replace(&mut met[next.index()], true) {
                links.push(channel);
                queue.push_back(next);
            }
        }
    }
    require_ways_back(&SPAM_ROUTING, network)?;
    match (routers.clone().find(|router| !met[router.index()]), SpanningTree::new(network, start, &links)) {
        (None, Ok(tree)) => Ok(tree),
        (Some(apart), _) => Err(Unsupported::disconnected(SPAM_ROUTING.name, network)
            .with_hint(&format!("no route leads from router {start} to router {apart}"))),
        (None, Err(_)) => Err(SPAM_ROUTING.unsupported(network)),
    }
}

impl RoutingRelation for SpamRouting {
    fn name(&self) -> &'static str {
        SPAM_ROUTING.name
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
        let row = self.row(target);
        let phase = arrived.map_or(Kind::Up, |channel| self.kinds[channel.index()]);
        let hops = |channel: ChannelId| {
            let kind = self.kinds[channel.index()];
            let may_take = kind >= phase && kind != Kind::Unused;
            may_take.then(|| row[place(network.to(channel), kind)]).filter(|&hops| hops != UNREACHABLE).map(u32::from)
        };
        nearest_channels(network.outputs(at).map(|channel| (channel, hops(channel))), out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        // Two bytes for each of three phases.
        let target_bytes = self.network.routers() as u64 * 6;
        RoutingCapabilities { descent: Some(self), target_bytes, ..RoutingCapabilities::default() }
    }
}

impl TreeDescent for SpamRouting {
    fn down(&self, at: RouterId, _on: ChannelId, target: RouterId) -> Option<ChannelId> {
        self.tree.towards(&self.network, at, target)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Dependencies, append_route, survey};
    use wormcast_network::TopologySpec;

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn everyone_is_reached_without_deadlock() {
        for spec in ["torus:5x4", "mesh:4x4", "hypercube:4", "random:nodes=40,degree=4,seed=3", "complete:6"] {
            let network = build(spec);
            for root in [Root::SmallestId, Root::MaximumDegree, Root::Router(RouterId::new(3))] {
                let spam = SpamRouting::new(&network, root).unwrap();
                assert!(survey(&spam).connected, "{spec}");
                assert_eq!(Dependencies::of_relation(&spam).deadlock(1), None, "{spec}");
            }
        }
        let apart = Network::from_links("two", 4, &[(0, 1), (2, 3)]);
        assert_eq!(
            SpamRouting::new(&apart, Root::SmallestId).err().unwrap().to_string(),
            "`spam` needs a connected network, but `two` is not; no route leads from router 0 to router 2"
        );
    }

    /// Without cross links every route is that in the tree, and the tree's links alone are used.
    #[test]
    fn without_cross_links_ways_are_those_of_the_tree() {
        for spec in ["torus:5x4", "hypercube:4", "random:nodes=40,degree=4,seed=3", "complete:6", "ring:7"] {
            let network = build(spec);
            for root in [Root::SmallestId, Root::Router(RouterId::new(3))] {
                let whole = SpamRouting::new(&network, root).unwrap();
                let spam = SpamRouting::new(&network, root).unwrap().on_tree_only();
                assert_eq!(Dependencies::of_relation(&spam).deadlock(1), None, "{spec}");
                assert!(survey(&spam).connected, "{spec}");
                let mut fewer = 0;
                for (from, to) in network.router_ids().flat_map(|from| network.router_ids().map(move |to| (from, to))) {
                    let mut route = Vec::new();
                    append_route(&spam, from, None, to, &mut route).unwrap();
                    let mut at = from;
                    let mut expected = Vec::new();
                    while at != to {
                        let next = spam.tree().towards(&network, at, to).or_else(|| spam.tree().up(at)).unwrap();
                        expected.push(next);
                        at = network.to(next);
                    }
                    assert_eq!(route, expected, "{spec}");
                    let length = route.len();
                    route.clear();
                    append_route(&whole, from, None, to, &mut route).unwrap();
                    assert!(route.len() <= length, "{spec}");
                    fewer += usize::from(route.len() < length);
                }
                assert!(fewer > 0, "{spec}");
            }
        }
    }

    /// Every route obeys the rule, stated independently: the kinds of its channels never go back.
    #[test]
    fn ways_go_up_then_across_then_down() {
        let network = build("random:nodes=30,degree=4,seed=1");
        let spam = SpamRouting::new(&network, Root::SmallestId).unwrap();
        let tree = spam.tree();
        let step = |channel: ChannelId| {
            let (from, to) = (network.from(channel), network.to(channel));
            let up = (tree.depth(to), to) < (tree.depth(from), from);
            let of_tree = tree.parent(to) == Some(from) && tree.down(to) == Some(channel);
            if up { 0 } else { 1 + u32::from(of_tree) }
        };
        let mut crossings = 0;
        for from in (0..30).map(RouterId::new) {
            for to in (0..30).map(RouterId::new) {
                let mut route = Vec::new();
                append_route(&spam, from, None, to, &mut route).unwrap();
                assert!(route.windows(2).all(|pair| step(pair[0]) <= step(pair[1])));
                assert!(route.len() as u32 <= tree.distance(from, to), "never longer than by the tree");
                crossings += route.iter().filter(|&&channel| step(channel) == 1).count();
            }
        }
        assert!(crossings > 0);
    }
}
