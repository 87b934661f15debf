//! Disjoint spanning-tree multicast, for any set of edge-disjoint spanning trees.

use std::sync::Arc;

use wormcast_network::split_mix::mix;
use wormcast_network::{ChannelId, Network, NodeId, Ports, RouterId};
use wormcast_routing::{
    Dependencies, EdgeDisjointTrees, RoutingRelation, SpanningTree, TREE_ROUTING, TreeError, TreeRouting, Unsupported,
};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::tree_plan::{require_bits, tree_worm, unicast};
use crate::capabilities::AlgorithmCapabilities;
use crate::faults::{FaultInformation, Faults};
use crate::headers::tree_header::TreeHeader;
use crate::plan::{Itinerary, Path, Plan, Tree, Worm};
use crate::registry::descriptor::{Descriptor, MakeAlgorithm, Options};
use crate::registry::family::Sends;
use crate::registry::options::AlgorithmOption;

/// The descriptor of a kind of [`Dstm`]; the kinds differ in their trees.
pub(crate) const fn over_trees(name: &'static str, summary: &'static str, make: MakeAlgorithm) -> Descriptor {
    Descriptor::built_in(name, summary, Sends::Trees, make).routed_by(&TREE_ROUTING).drawing().with_faults()
}

/// The DSTM algorithm: each multicast is one worm on one of several edge-disjoint spanning trees.
///
/// Source: Wang and Blough (paper 5), section 3. A multicast takes a tree at random, goes up it and down to the lowest common
/// ancestor of its destinations, and is replicated from there on, down the tree only. A unicast takes the tree on which its route
/// is shortest. Links where branches part are reserved at once, and each tree has a consumption channel of its own at every
/// node, so the trees have nothing in common that a worm could wait for, and none can deadlock.
///
/// The tree of a multicast follows from the seed, the source and the destinations alone, whatever their order: the same
/// message takes the same tree in every run, and at every load.
///
/// O(D log D + N) a multicast to D of N nodes, O(depth) a unicast. One startup.
///
/// *Split* ([`AlgorithmOptions::split`](crate::AlgorithmOptions::split), the alternative of section 3.2.1): a multicast is split into a worm
/// for each tree without failed links, with the destinations that are nearest to the source on it. A startup a tree that is used.
///
/// *Failed links* (section 7). With global information unicasts take the shortest intact route, and multicasts a tree
/// without failed links; if there is none, the trees are rebuilt. With local information worms are sent as if nothing had
/// failed. One that comes to a failed link is absorbed at the router before it, as far as it would have gone over the link, and
/// sent on from there, in software, on a tree without failed links. Where the source itself is that router, it sends on that
/// tree at once.
pub struct Dstm {
    name: &'static str,
    routing: TreeRouting,
    seed: u64,
    /// The trees without failed links, at least one.
    whole: Vec<usize>,
    /// The failed links that only their neighbours know of.
    hidden: Faults,
    /// All failed links.
    failed: Vec<ChannelId>,
    /// Whether multicasts are split over all trees.
    split: bool,
}

impl Dstm {
    /// On these trees of a network.
    ///
    /// # Errors
    /// If the trees share a link or all have failed ones, or a router has more than 128
    /// links or nodes.
    pub fn new(
        name: &'static str,
        network: &Arc<Network>,
        trees: Vec<SpanningTree>,
        options: &Options,
    ) -> Result<Self, AlgorithmError> {
        require_bits(name, network)?;
        let faults = &options.faults;
        let has_failed = |tree: &SpanningTree| faults.links.iter().any(|&link| tree.contains(network, link));
        let whole: Vec<usize> = (0..trees.len()).filter(|&tree| !has_failed(&trees[tree])).collect();
        if whole.is_empty() && !trees.is_empty() {
            return Err(AlgorithmError::NoWholeTree { algorithm: name, trees: trees.len() });
        }
        let no_node = |link: ChannelId| {
            [network.from(link), network.to(link)].into_iter().find(|&router| network.nodes_of(router).len() == 0)
        };
        let split = options.own.split == Some(true);
        if split && faults.information == FaultInformation::Local && !faults.links.is_empty() {
            return Err(AlgorithmError::SplitAroundFaults { algorithm: name });
        }
        let unable = faults.links.iter().find_map(|&link| no_node(link));
        if let (FaultInformation::Local, Some(router)) = (faults.information, unable) {
            let error = Unsupported::new(name, "a node at both ends of every failed link, to send worms on", network);
            return Err(error.with_hint(&format!("router {router} has none")).into());
        }
        let routing = TreeRouting::new(network, trees)?;
        let (routing, hidden) = match faults.information {
            FaultInformation::Global => (routing.without(&faults.links), Faults::default()),
            FaultInformation::Local => (routing, faults.clone()),
        };
        Ok(Self { name, routing, seed: options.seed, whole, hidden, failed: faults.links.clone(), split })
    }

    /// On the trees of a construction, which is asked again for trees without the failed links if no tree is without one.
    pub(crate) fn by_construction(
        name: &'static str,
        network: &Arc<Network>,
        options: &Options,
        construct: impl Fn(Vec<ChannelId>) -> Result<EdgeDisjointTrees, TreeError>,
    ) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let trees = construct(Vec::new())?.trees;
        let made = match Self::new(name, network, trees, options) {
            Err(AlgorithmError::NoWholeTree { .. }) if options.faults.information == FaultInformation::Global => {
                Self::new(name, network, construct(options.faults.links.clone())?.trees, options)
            }
            made => made,
        };
        Ok(Box::new(made?))
    }

    /// The trees.
    pub fn trees(&self) -> &[SpanningTree] {
        self.routing.trees()
    }

    /// The tree that a multicast takes, the same for the same seed and nodes.
    fn choice(&self, multicast: &Multicast, trees: usize) -> usize {
        // Sums of hashes do not depend on the order of the destinations.
        let salted = |node: NodeId| mix(u64::from(node.raw()) ^ self.seed.rotate_left(32));
        let nodes = multicast.destinations().iter().fold(0u64, |sum, &node| sum.wrapping_add(salted(node)));
        let hash = mix(nodes ^ mix(u64::from(multicast.source().raw()) ^ mix(self.seed)));
        ((u128::from(hash) * trees as u128) >> 64) as usize
    }
}

impl Dstm {
    /// The worm that a node sends on a tree.
    fn worm(&self, network: &Network, tree: usize, from: NodeId, destinations: &[NodeId]) -> Worm {
        self.worm_in(network, tree, from, destinations, Tree::default())
    }

    /// As [`worm`](Self::worm), in the memory of an earlier tree.
    fn worm_in(&self, network: &Network, tree: usize, from: NodeId, destinations: &[NodeId], memory: Tree) -> Worm {
        let source = network.router_of(from);
        let exit = |top| self.routing.next(tree, source, top);
        let worm = match destinations {
            &[node] => {
                let to = network.router_of(node);
                let stops = vec![node];
                Worm {
                    itinerary: Itinerary::Path(Path { exit: exit(to).filter(|_| to != source), stops }),
                    ..unicast(from, node)
                }
            }
            several => tree_worm(network, &self.trees()[tree], from, several, exit, memory),
        };
        Worm { consumption_class: Some(tree as u8), ..worm }
    }

    /// The worms of a multicast that is split: each destination is reached on the tree on which it is nearest, the first of several.
    fn split_plan(&self, multicast: &Multicast) -> Plan {
        let (network, from) = (self.network(), multicast.source());
        let source = network.router_of(from);
        let nearest = |node: NodeId| {
            let distance = |&tree: &usize| self.trees()[tree].distance(source, network.router_of(node));
            self.whole.iter().copied().min_by_key(distance).unwrap_or(0)
        };
        let mut shares: Vec<Vec<NodeId>> = vec![Vec::new(); self.trees().len()];
        multicast.destinations().iter().for_each(|&node| shares[nearest(node)].push(node));
        let used = shares.iter().enumerate().filter(|(_, share)| !share.is_empty());
        Plan { worms: used.map(|(tree, share)| self.worm(network, tree, from, share)).collect() }
    }

    /// The worms of a multicast on a tree whose failed links only their neighbours know of: the first as far as it comes, and
    /// those that forward it, on an intact tree.
    fn around_faults(
        &self,
        network: &Network,
        from: NodeId,
        tree: usize,
        whole: usize,
        destinations: &[NodeId],
    ) -> Plan {
        let source = network.router_of(from);
        let spanning = &self.trees()[tree];
        let failed = |channel| self.hidden.has_failed(network, channel);
        let encoding = TreeHeader::new(network, spanning, destinations);
        let mut plan = Plan::default();
        // On the way to where the branches begin.
        let mut at = source;
        while at != encoding.top {
            let Some(next) = self.routing.next(tree, at, encoding.top) else { return plan };
            if failed(next) {
                return self.relayed(network, from, at, tree, whole, destinations);
            }
            at = network.to(next);
        }
        // Beyond the first failed link of each branch, by the router before it.
        let mut lost: Vec<(RouterId, Vec<NodeId>)> = Vec::new();
        let mut relay_of: Vec<Option<usize>> = Vec::with_capacity(encoding.branches.len());
        let mut reached = encoding.delivers.clone();
        for branch in &encoding.branches {
            let above = branch.parent.and_then(|parent| relay_of[parent as usize]);
            let relay = above.or_else(|| {
                failed(branch.channel).then(|| {
                    let before = network.from(branch.channel);
                    lost.iter().position(|&(router, _)| router == before).unwrap_or_else(|| {
                        lost.push((before, Vec::new()));
                        lost.len() - 1
                    })
                })
            });
            match relay {
                Some(relay) => lost[relay].1.extend_from_slice(&branch.delivers),
                None => reached.extend_from_slice(&branch.delivers),
            }
            relay_of.push(relay);
        }
        for &(router, _) in lost.iter().filter(|&&(router, _)| router != source) {
            let node = relay_node(network, router);
            if !reached.contains(&node) {
                reached.push(node);
            }
        }
        if reached.is_empty() {
            // The source is at the only fault: nothing goes on this tree.
            return Plan { worms: vec![self.worm(network, whole, from, destinations)] };
        }
        plan.worms.push(self.worm(network, tree, from, &reached));
        for (router, nodes) in lost {
            let (sender, after) = if router == source { (from, None) } else { (relay_node(network, router), Some(0)) };
            plan.worms.push(Worm { after, ..self.worm(network, whole, sender, &nodes) });
        }
        plan
    }

    /// A multicast of which nothing gets further than a router on the way to where its branches begin.
    fn relayed(
        &self,
        network: &Network,
        from: NodeId,
        at: RouterId,
        tree: usize,
        whole: usize,
        destinations: &[NodeId],
    ) -> Plan {
        if at == network.router_of(from) {
            return Plan { worms: vec![self.worm(network, whole, from, destinations)] };
        }
        let relay = relay_node(network, at);
        let left: Vec<NodeId> = destinations.iter().copied().filter(|&node| node != relay).collect();
        let mut worms = vec![self.worm(network, tree, from, &[relay])];
        if !left.is_empty() {
            worms.push(self.worm(network, whole, relay, &left).after(0));
        }
        Plan { worms }
    }
}

/// The node that absorbs worms at a router.
fn relay_node(network: &Network, router: RouterId) -> NodeId {
    network.nodes_of(router).next().unwrap_or(NodeId::new(0))
}

impl Algorithm for Dstm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let network = self.network();
        let source = network.router_of(multicast.source());
        if self.split && multicast.destinations().len() > 1 {
            *plan = self.split_plan(multicast);
            return;
        }
        let (tree, destinations) = match multicast.destinations() {
            [] => return plan.worms.clear(),
            one @ &[node] => (self.routing.shortest(source, network.router_of(node)), one),
            several if self.hidden.links.is_empty() => (self.whole[self.choice(multicast, self.whole.len())], several),
            several => (self.choice(multicast, self.trees().len()), several),
        };
        if !self.hidden.links.is_empty() {
            let whole = self.whole[self.choice(multicast, self.whole.len())];
            *plan = self.around_faults(network, multicast.source(), tree, whole, destinations);
            return;
        }
        plan.worms.truncate(1);
        let memory = plan.take_tree(0);
        plan.put(0, self.worm_in(network, tree, multicast.source(), destinations, memory));
    }

    fn dependencies(&self) -> Dependencies<'_> {
        // Worms are absorbed before a failed link, if they are sent on its way at all.
        Dependencies::of_spanning_trees(&self.routing, self.trees(), true).without(&self.failed)
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let ports = Some(Ports { injection: 1, consumption: self.trees().len() as u32 });
        let idle = (self.split && self.whole.len() == 1)
            .then_some((AlgorithmOption::Split, "there is one tree without failed links, and nothing to split over"));
        AlgorithmCapabilities { ports, idle, ..AlgorithmCapabilities::default() }
    }
}
