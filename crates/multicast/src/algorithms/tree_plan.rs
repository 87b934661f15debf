//! Makes worms from a spanning tree and destinations.

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{SpanningTree, Unsupported};

use crate::headers::tree_header::{MAX_BITS, write_tree};
use crate::plan::{Tree, Trunk, Worm};

/// A worm to one node, wherever the routing takes it.
pub(crate) fn unicast(source: NodeId, destination: NodeId) -> Worm {
    Worm::path(source, vec![destination])
}

/// A worm to several nodes, in the memory of a tree whose branches are written over: it goes to their lowest common ancestor, on the first channel that `exit`
/// names, if any, and is replicated from there on.
pub(crate) fn tree_worm(
    network: &Network,
    spanning: &SpanningTree,
    source: NodeId,
    destinations: &[NodeId],
    exit: impl FnOnce(RouterId) -> Option<ChannelId>,
    mut tree: Tree,
) -> Worm {
    let top = write_tree(network, spanning, destinations, &mut tree);
    tree.trunk = (top != network.router_of(source)).then(|| Trunk { exit: exit(top), to: top });
    Worm::of_tree(source, tree)
}

/// Checks that header flits have a bit for each link and node of every router.
pub(crate) fn require_bits(algorithm: &'static str, network: &Network) -> Result<(), Unsupported> {
    let mut routers = network.router_ids();
    let crowded = |&router: &RouterId| network.outputs(router).len().max(network.nodes_of(router).len()) > MAX_BITS;
    match routers.find(crowded) {
        None => Ok(()),
        Some(router) => {
            Err(Unsupported::new(algorithm, &format!("at most {MAX_BITS} links and nodes a router"), network)
                .with_hint(&format!("router {router} has more")))
        }
    }
}
