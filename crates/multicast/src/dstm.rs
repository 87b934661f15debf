//! Disjoint spanning-tree multicast, for any set of edge-disjoint spanning trees.

use wormcast_network::{Network, NodeId, Ports};
use wormcast_routing::{Dependencies, RoutingRelation, SpanningTree, TreeRouting};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast, Options, own_routing};
use crate::plan::Plan;
use crate::tree_plan::{require_bits, tree_worm, unicast};

/// The DSTM algorithm: each multicast is one worm on one of several edge-disjoint spanning trees.
///
/// Source: Wang and Blough (paper 5), section 3. A multicast takes a tree at random, goes up it and down to the lowest common
/// ancestor of its destinations, and is replicated from there on, down the tree only. A unicast takes the tree on which its way
/// is shortest. Links where branches part are reserved at once, and each tree has a consumption channel of its own at every
/// node, so the trees have nothing in common that a worm could wait for, and none can deadlock.
///
/// The tree of a multicast follows from the seed, the source and the destinations alone, whatever their order: the same
/// message takes the same tree in every run, and at every load.
///
/// O(D log D + N) a multicast to D of N nodes, O(depth) a unicast. One startup.
pub struct Dstm {
    name: &'static str,
    routing: TreeRouting,
    seed: u64,
}

impl Dstm {
    /// On these trees of a network.
    ///
    /// # Errors
    /// If a routing other than `tree` is asked for, the trees share a link, or a router has more than 128 links or nodes.
    pub fn new(
        name: &'static str,
        network: &Network,
        trees: Vec<SpanningTree>,
        options: &Options,
    ) -> Result<Self, AlgorithmError> {
        own_routing(name, "tree", options)?;
        require_bits(name, network)?;
        Ok(Self { name, routing: TreeRouting::new(network, trees)?, seed: options.seed })
    }

    /// The trees.
    pub fn trees(&self) -> &[SpanningTree] {
        self.routing.trees()
    }

    /// The tree of a multicast, the same for the same seed and nodes.
    fn tree_of(&self, multicast: &Multicast) -> usize {
        let trees = self.trees().len() as u64;
        // Sums of hashes do not depend on the order of the destinations.
        let salted = |node: NodeId| mix(u64::from(node.raw()) ^ self.seed.rotate_left(32));
        let nodes = multicast.destinations().iter().fold(0u64, |sum, &node| sum.wrapping_add(salted(node)));
        let hash = mix(nodes ^ mix(u64::from(multicast.source().raw()) ^ mix(self.seed)));
        ((u128::from(hash) * u128::from(trees)) >> 64) as usize
    }
}

/// One step of SplitMix64.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Algorithm for Dstm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, network: &Network, multicast: &Multicast) -> Plan {
        let source = network.router_of(multicast.source());
        let (worm, tree) = match multicast.destinations() {
            [] => return Plan::default(),
            &[node] => (unicast(multicast.source(), node), self.routing.shortest(source, network.router_of(node))),
            several => {
                let tree = self.tree_of(multicast);
                let exit = |top| self.routing.next(network, tree, source, top);
                (tree_worm(network, &self.trees()[tree], multicast.source(), several, exit), tree)
            }
        };
        Plan { worms: vec![crate::plan::Worm { consumption_class: Some(tree as u8), ..worm }] }
    }

    fn ports(&self) -> Option<Ports> {
        Some(Ports { injection: 1, consumption: self.trees().len() as u32 })
    }

    fn dependencies<'n>(&self, network: &'n Network) -> Dependencies<'n> {
        Dependencies::of_spanning_trees(network, &self.routing, self.trees(), true)
    }
}
