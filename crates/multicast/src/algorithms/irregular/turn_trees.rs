//! Common parts of the tree algorithms: permitted turns, shortest paths over them, and plans made of trees.

use std::cell::OnceCell;
use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{
    Branching, Dependencies, RoutingRelation, TURN_PROHIBITION, TurnRouting, Unsupported, nearest_channels,
};

use crate::algorithm::{AlgorithmError, Multicast};
use crate::algorithms::irregular::shortest_ways::ShortestWays;
use crate::capabilities::BranchingTrees;
use crate::plan::ids::sorted_nodes;
use crate::plan::{Branch, Plan, Worm};
use crate::registry::descriptor::{Descriptor, Options};

/// The routing whose turns trees may take.
pub(crate) struct TurnTrees {
    routing: Box<dyn RoutingRelation>,
    /// The channels of each router in the place of its channels, by the router that they lead to, and then by their numbers.
    by_next: Box<[ChannelId]>,
}

/// What one tree is to reach.
pub(crate) struct Wanted<'a> {
    pub(crate) network: &'a Network,
    pub(crate) turns: &'a TurnRouting,
    /// The source's router.
    pub(crate) home: RouterId,
    /// Routers, each once and never the source's, in increasing order.
    pub(crate) ends: Vec<RouterId>,
    /// The nodes that are to get the message, by their routers, and where those of each end start.
    nodes: Vec<NodeId>,
    starts: Vec<usize>,
    by_next: &'a [ChannelId],
    /// The shortest paths to all of them, once they are asked for.
    ways: OnceCell<ShortestWays>,
}

impl TurnTrees {
    /// With the routing of the options, or turn prohibition.
    pub(crate) fn new(
        algorithm: &Descriptor,
        network: &Arc<Network>,
        options: &Options,
    ) -> Result<Self, AlgorithmError> {
        let routing = options.routing.unwrap_or(&TURN_PROHIBITION);
        let relation = routing.make(network, &options.of_routing())?;
        if !routing.over_turns {
            return Err(AlgorithmError::NeedsTurns { algorithm: algorithm.name, given: routing.name });
        }
        require_connected(algorithm.name, network)?;
        let mut by_next: Box<[ChannelId]> = network.channel_ids().collect();
        by_next.sort_unstable_by_key(|&channel| (network.from(channel), network.to(channel), channel));
        Ok(Self { routing: relation, by_next })
    }

    pub(crate) fn routing(&self) -> &dyn RoutingRelation {
        self.routing.as_ref()
    }

    pub(crate) fn turns(&self) -> &TurnRouting {
        self.routing.capabilities().turns.expect("checked when it was made")
    }

    /// One tree to all destinations, as `grow` makes it for their routers.
    pub(crate) fn plan(&self, multicast: &Multicast, grow: impl Fn(&Wanted<'_>) -> Vec<Branch>) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan, |wanted, branches| *branches = grow(wanted)))
    }

    /// Replaces a plan by one tree to all destinations, as `grow` makes it for their routers in place of other branches.
    pub(crate) fn plan_into(
        &self,
        multicast: &Multicast,
        plan: &mut Plan,
        grow: impl Fn(&Wanted<'_>, &mut Vec<Branch>),
    ) {
        if multicast.destinations().is_empty() {
            plan.worms.clear();
            return;
        }
        let (here, wanted) = self.wanted(multicast);
        let mut tree = plan.take_tree(0);
        tree.delivers.extend(here);
        if wanted.ends.is_empty() {
            tree.branches.clear();
        } else {
            grow(&wanted, &mut tree.branches);
        }
        plan.worms.truncate(1);
        plan.put(0, Worm::of_tree(multicast.source(), tree));
    }

    /// The destinations at the source's router, and what the tree has to reach.
    pub(crate) fn wanted(&self, multicast: &Multicast) -> (Vec<NodeId>, Wanted<'_>) {
        let network = &**self.routing.network();
        let home = network.router_of(multicast.source());
        let numbered = |&node: &NodeId| (network.router_of(node).raw(), node);
        let sorted = sorted_nodes(multicast.destinations().iter().map(numbered).collect(), network.routers());
        let (mut here, mut ends, mut nodes, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (router, node) in sorted {
            if router == home.raw() {
                here.push(node);
                continue;
            }
            if ends.last() != Some(&RouterId::new(router)) {
                ends.push(RouterId::new(router));
                starts.push(nodes.len());
            }
            nodes.push(node);
        }
        starts.push(nodes.len());
        let (turns, by_next) = (self.turns(), &*self.by_next);
        (here, Wanted { network, turns, home, ends, nodes, starts, by_next, ways: OnceCell::new() })
    }

    /// How many routers the tree of a plan has to reach: those with destinations, except for the source's.
    pub(crate) fn ends(network: &Network, multicast: &Multicast) -> usize {
        let mut ends: Vec<_> = multicast.destinations().iter().map(|&node| network.router_of(node)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.iter().filter(|&&router| router != network.router_of(multicast.source())).count()
    }

    /// With the switches that the trees are meant for.
    pub(crate) fn dependencies(&self) -> Dependencies<'_> {
        self.dependencies_with(self.branching())
    }
}

impl BranchingTrees for TurnTrees {
    fn branching(&self) -> Branching {
        Branching::STORED
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        Dependencies::of_trees(self.routing.network(), self.turns().turns(), branching)
    }
}

impl Wanted<'_> {
    /// The channels of a router, smallest next router first, then the smallest channel.
    pub(crate) fn outputs(&self, at: RouterId) -> &[ChannelId] {
        let (first, end) = self.network.output_places(at);
        &self.by_next[first as usize..end as usize]
    }

    /// Whether a worm that came by `arrived` may go on by a channel.
    #[inline]
    pub(crate) fn permits(&self, arrived: Option<ChannelId>) -> impl Fn(ChannelId) -> bool {
        self.turns.turns().permits_after(self.network, arrived)
    }

    /// The channels by which a worm that came to `at` by `arrived` may go on along permitted turns, in the same order.
    pub(crate) fn onwards(&self, at: RouterId, arrived: Option<ChannelId>) -> impl Iterator<Item = ChannelId> {
        let permits = self.permits(arrived);
        self.outputs(at).iter().copied().filter(move |&leaving| permits(leaving))
    }

    /// Replaces `out` by the first channels of the shortest permitted paths to `target`, in the same order. The target is another router.
    pub(crate) fn nearest(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let hops = |leaving| (leaving, self.turns.hops(leaving, target));
        nearest_channels(self.onwards(at, arrived).map(hops), out);
    }

    /// The place of a router among those that are to be reached.
    pub(crate) fn place_of(&self, router: RouterId) -> Option<usize> {
        self.ends.binary_search(&router).ok()
    }

    /// The nodes that are to get the message at the router at this place.
    pub(crate) fn nodes_at(&self, place: usize) -> &[NodeId] {
        &self.nodes[self.starts[place]..self.starts[place + 1]]
    }

    /// The nodes that are to get the message at a router.
    pub(crate) fn wanted_at(&self, router: RouterId) -> &[NodeId] {
        self.place_of(router).map_or(&[], |place| self.nodes_at(place))
    }

    /// The shortest paths by one search from the source, where that is better than the tables of each destination, which the next multicast may need again: to
    /// a quarter of all routers, to this share where the tables of all of them are in no near cache, or where those of this multicast alone take more than 16 MB. Which of both is
    /// asked makes no difference to a tree.
    pub(crate) fn many(&self, share: usize) -> Option<&ShortestWays> {
        const NEAR_TABLES: usize = 1 << 20;
        const MOST_TABLES: usize = 1 << 24;
        let (ends, routers, channels) = (self.ends.len(), self.network.routers(), self.network.channels());
        let share = if routers * channels > NEAR_TABLES { share } else { 4 };
        let many = share * ends >= routers || ends * channels > MOST_TABLES;
        many.then(|| self.ways.get_or_init(|| ShortestWays::new(self)))
    }
}

/// Where every node reaches every other: permitted turns do not keep them apart, but the network may.
pub(crate) fn require_connected(algorithm: &str, network: &Network) -> Result<(), Unsupported> {
    let mut routers = network.router_ids().filter(|&r| network.nodes_of(r).len() > 0);
    let Some(start) = routers.next() else { return Ok(()) };
    let mut reached = vec![false; network.routers()];
    reached[start.index()] = true;
    let mut work = vec![start];
    while let Some(router) = work.pop() {
        for next in network.outputs(router).map(|channel| network.to(channel)) {
            if !std::mem::replace(&mut reached[next.index()], true) {
                work.push(next);
            }
        }
    }
    match routers.find(|router| !reached[router.index()]) {
        None => Ok(()),
        Some(apart) => Err(Unsupported::disconnected(algorithm, network)
            .with_hint(&format!("no route leads from router {start} to router {apart}"))),
    }
}
