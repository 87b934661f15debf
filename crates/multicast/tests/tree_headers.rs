//! Headers replayed through the routers' procedure (paper 5, section 3.1.2), written from the paper.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use wormcast_multicast::{HeaderFlit, TreeHeader};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{
    Root, RoutingRelation, SpamRouting, SpanningTree, TreeOptions, TreeRouting, tree_construction_by_name,
};

use crate::support::{Numbers, build};

/// What a router has set up for a worm that came by one channel.
enum Router {
    /// Every flit behind the first follows it.
    Pass(ChannelId),
    /// The first flit named the router: these are its outputs.
    SetUp(Vec<ChannelId>),
}

/// The way of one worm: what routers do with its header, flit by flit.
struct Replay<'a> {
    network: &'a Network,
    routing: &'a dyn RoutingRelation,
    /// By the channel by which the worm came; `None` in the source's router.
    routers: HashMap<Option<ChannelId>, Router>,
    delivered: Vec<NodeId>,
}

impl Replay<'_> {
    fn header_flit(&mut self, source: RouterId, exit: Option<ChannelId>, flit: HeaderFlit) {
        let (mut at, mut arrived, mut split) = (source, None, false);
        loop {
            let descent = self.routing.capabilities().descent.unwrap();
            let down = |on| descent.down(at, on, flit.router).expect("a router below");
            let next = match self.routers.get(&arrived) {
                None if flit.router == at => {
                    self.routers.insert(arrived, Router::SetUp(flit.channels(self.network).collect()));
                    self.delivered.extend(flit.delivers(self.network));
                    return;
                }
                None => {
                    let mut candidates = Vec::new();
                    match (split, arrived, exit) {
                        (true, Some(on), _) => candidates.push(down(on)),
                        (_, None, Some(exit)) => candidates.push(exit),
                        _ => self.routing.candidates(at, arrived, flit.router, &mut candidates),
                    }
                    self.routers.insert(arrived, Router::Pass(candidates[0]));
                    candidates[0]
                }
                Some(Router::SetUp(outputs)) => {
                    split = true;
                    let next = down(outputs[0]);
                    assert!(outputs.contains(&next), "an output that the router has reserved");
                    next
                }
                Some(&Router::Pass(next)) => {
                    // The two rules of the paper agree where the split flag is set.
                    assert!(!split || next == down(next));
                    next
                }
            };
            (at, arrived) = (self.network.to(next), Some(next));
        }
    }

    /// What the data, which goes wherever it is led, ends at.
    fn data(&self, arrived: Option<ChannelId>, hops: &mut usize) {
        match &self.routers[&arrived] {
            Router::Pass(next) => {
                *hops += 1;
                self.data(Some(*next), hops);
            }
            Router::SetUp(outputs) => {
                *hops += outputs.len();
                for &next in outputs {
                    self.data(Some(next), hops);
                }
            }
        }
    }
}

/// Random multicasts, from few destinations to all, on one tree.
fn replay(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    tree: &SpanningTree,
    own: Option<&TreeRouting>,
    times: u64,
) {
    let mut numbers = Numbers(times);
    for _ in 0..times {
        let source = RouterId::new(numbers.below(network.routers()) as u32);
        let most = 1 + numbers.below(network.nodes() - 1);
        let drawn = (0..=numbers.below(most)).map(|_| NodeId::new(numbers.below(network.nodes()) as u32));
        let destinations: BTreeSet<NodeId> = drawn.filter(|&node| network.router_of(node) != source).collect();
        if destinations.is_empty() {
            continue;
        }
        let destinations: Vec<NodeId> = destinations.into_iter().collect();
        let encoding = TreeHeader::new(network, tree, &destinations);
        let index = own.and_then(|own| own.trees().iter().position(|one| one == tree));
        let exit = own.zip(index).and_then(|(own, index)| own.next(index, source, encoding.top));
        let exit = exit.filter(|_| encoding.top != source);
        let mut replay = Replay { network, routing, routers: HashMap::new(), delivered: Vec::new() };
        for &flit in &encoding.header {
            replay.header_flit(source, exit, flit);
        }
        replay.delivered.sort_unstable();
        assert_eq!(replay.delivered, destinations, "exactly the destinations");
        let mut hops = 0;
        replay.data(None, &mut hops);
        assert!(hops >= encoding.branches.len(), "the data goes where the branches are, and up before");
        assert!(encoding.header.len() < 2 * destinations.len(), "fewer splits than destinations");
        // Parents first.
        for (place, flit) in encoding.header.iter().enumerate() {
            assert!(encoding.header[..place].iter().all(|before| !tree.is_below(before.router, flit.router)));
        }
    }
}

#[test]
fn headers_deliver_exactly_the_destinations() {
    for (topology, construction, times) in [
        ("torus:16x16", "dstm-1", 3_000),
        ("torus:9x9", "dstm-2", 3_000),
        ("torus:5x8", "dstm-1", 2_000),
        ("torus:8x8", "dstm-tarjan", 2_000),
        ("hypercube:6", "dstm-tarjan", 1_000),
        ("random:nodes=60,degree=6,seed=1", "dstm-tarjan", 1_000),
    ] {
        let network = build(topology);
        let options = TreeOptions { seed: 3, ..TreeOptions::default() };
        let trees = tree_construction_by_name(construction, &network, &options).unwrap();
        let routing = TreeRouting::new(&network, trees).unwrap();
        for tree in routing.trees() {
            replay(&network, &routing, tree, Some(&routing), times);
        }
    }
    for topology in ["torus:16x16", "mesh:7x5", "random:nodes=50,degree=4,seed=9"] {
        let network = build(topology);
        let spam = SpamRouting::new(&network, Root::SmallestId).unwrap();
        replay(&network, &spam, spam.tree(), None, 1_000);
    }
}

/// Figure 2: node 7 sends to 1, 5, 6 and 8. The paper lists 1, 2, 5, 6, 8 and says that any order will do in which parents
/// come first; ours is the order of a walk through the tree.
#[test]
fn figure_2() {
    let links = [(1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7), (4, 8), (0, 1)];
    let network = Network::from_links("figure 2", 9, &links);
    let channel = |u: u32, v: u32| network.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
    let channels: Vec<_> = links.iter().map(|&(u, v)| channel(u, v)).collect();
    let tree = SpanningTree::new(&network, RouterId::new(1), &channels).unwrap();
    let encoding = TreeHeader::new(&network, &tree, &[8, 6, 5, 1].map(NodeId::new));
    let flits: Vec<_> = encoding
        .header
        .iter()
        .map(|flit| {
            let outputs: Vec<u32> = flit.channels(&network).map(|channel| network.to(channel).raw()).collect();
            (flit.router.raw(), outputs, flit.delivers(&network).count())
        })
        .collect();
    let expected = [(1, vec![2, 3], 1), (2, vec![4, 5], 0), (8, vec![], 1), (5, vec![], 1), (6, vec![], 1)];
    assert_eq!(flits, expected);
    let routing = TreeRouting::new(&network, vec![tree.clone()]).unwrap();
    let mut replay = Replay { network: &network, routing: &routing, routers: HashMap::new(), delivered: Vec::new() };
    // 6 passes 3 twice: up, behind the flit for 1, and down.
    for &flit in &encoding.header {
        replay.header_flit(RouterId::new(7), None, flit);
    }
    let named = |from, to| matches!(replay.routers.get(&Some(channel(from, to))), Some(Router::Pass(_)));
    assert!(named(7, 3) && named(1, 3));
    replay.delivered.sort_unstable();
    assert_eq!(replay.delivered, [1, 5, 6, 8].map(NodeId::new));
}
