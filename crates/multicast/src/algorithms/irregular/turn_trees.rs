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
use crate::plan::{Branch, Itinerary, Plan, Tree, Worm};
use crate::registry::descriptor::{Descriptor, Options};

/// The routing whose turns trees may take.
pub(crate) struct TurnTrees {
    routing: Box<dyn RoutingRelation>,
}

/// What one tree is to reach.
pub(crate) struct Wanted<'a> {
    pub(crate) network: &'a Network,
    pub(crate) turns: &'a TurnRouting,
    /// The source's router.
    pub(crate) home: RouterId,
    /// Routers, each once and never the source's, in increasing order, with the nodes that are to get the message there.
    pub(crate) ends: Vec<(RouterId, Vec<NodeId>)>,
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
        Ok(Self { routing: relation })
    }

    pub(crate) fn routing(&self) -> &dyn RoutingRelation {
        self.routing.as_ref()
    }

    pub(crate) fn turns(&self) -> &TurnRouting {
        self.routing.capabilities().turns.expect("checked when it was made")
    }

    /// One tree to all destinations, as `grow` makes it for their routers.
    pub(crate) fn plan(&self, multicast: &Multicast, grow: impl Fn(&Wanted<'_>) -> Vec<Branch>) -> Plan {
        if multicast.destinations().is_empty() {
            return Plan::default();
        }
        let (delivers, wanted) = self.wanted(multicast);
        let branches = if wanted.ends.is_empty() { Vec::new() } else { grow(&wanted) };
        let itinerary = Itinerary::Tree(Tree { delivers, branches, ..Tree::default() });
        Plan {
            worms: vec![Worm {
                from: multicast.source(),
                after: None,
                itinerary,
                consumption_class: None,
                virtual_channels: None,
            }],
        }
    }

    /// The destinations at the source's router, and what the tree has to reach.
    pub(crate) fn wanted(&self, multicast: &Multicast) -> (Vec<NodeId>, Wanted<'_>) {
        let network = &**self.routing.network();
        let home = network.router_of(multicast.source());
        let mut nodes: Vec<_> = multicast.destinations().iter().map(|&node| (network.router_of(node), node)).collect();
        nodes.sort_unstable();
        let (mut here, mut ends) = (Vec::new(), Vec::new());
        for of_router in nodes.chunk_by(|a, b| a.0 == b.0) {
            let wanted = of_router.iter().map(|&(_, node)| node).collect();
            match of_router[0].0 {
                router if router == home => here = wanted,
                router => ends.push((router, wanted)),
            }
        }
        (here, Wanted { network, turns: self.turns(), home, ends, ways: OnceCell::new() })
    }

    /// How many routers the tree of a plan has to reach: those with destinations, but for the source's.
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
    /// The channels by which a worm that came to `at` by `arrived` may go on along permitted turns.
    pub(crate) fn onwards(&self, at: RouterId, arrived: Option<ChannelId>) -> impl Iterator<Item = ChannelId> {
        let turns = self.turns.turns();
        let permitted = move |arriving, leaving| turns.permits(self.network, arriving, leaving);
        let outputs = self.network.outputs(at);
        outputs.filter(move |&leaving| arrived.is_none_or(|arriving| permitted(arriving, leaving)))
    }

    /// Replaces `out` by the first channels of the shortest permitted paths to `target`, sorted by the router that they lead
    /// to. The target is another router.
    pub(crate) fn nearest(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let hops = |leaving| (leaving, self.turns.hops(leaving, target));
        nearest_channels(self.onwards(at, arrived).map(hops), out);
        out.sort_unstable_by_key(|&leaving| self.by_next(leaving));
    }

    /// Smallest next router first, then the smallest channel.
    pub(crate) fn by_next(&self, channel: ChannelId) -> (RouterId, ChannelId) {
        (self.network.to(channel), channel)
    }

    /// The place of a router among those that are to be reached.
    pub(crate) fn place_of(&self, router: RouterId) -> Option<usize> {
        self.ends.binary_search_by_key(&router, |end| end.0).ok()
    }

    /// The nodes that are to get the message at a router.
    pub(crate) fn wanted_at(&self, router: RouterId) -> &[NodeId] {
        self.place_of(router).map_or(&[], |place| &self.ends[place].1)
    }

    /// The shortest paths by one search from the source, where that is better than the tables of each destination, which the next multicast may need again: to
    /// a quarter of all routers, or where the tables of this multicast alone take more than 16 MB. Which of both is asked makes no difference to a tree.
    pub(crate) fn many(&self) -> Option<&ShortestWays> {
        const MOST_TABLES: usize = 1 << 24;
        let ends = self.ends.len();
        let many = 4 * ends >= self.network.routers() || ends * self.network.channels() > MOST_TABLES;
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
