//! The header of a multicast on a spanning tree, and how its source computes it (paper 5, section 3.1 and Appendix A).

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::SpanningTree;

use crate::plan::ids::sorted_nodes;
use crate::plan::{Branch, Branches, Tree};

/// A header flit: a router, and the outputs that the worm takes there.
///
/// A worm has one for each router where it delivers or its branches part, parents first. The first to reach the router that it
/// names sets that router up, and is stripped. The split flag of the paper is no part of the header that a source prepares: a
/// flit has it from the first router on that was set up by one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderFlit {
    /// The router.
    pub router: RouterId,
    /// The output bits: bit i stands for the i-th of the router's [outputs](Network::outputs).
    pub outputs: u128,
    /// The consumption bits: bit i stands for the i-th of the router's [nodes](Network::nodes_of).
    pub nodes: u128,
}

/// The most links or nodes of a router that header flits can tell apart.
pub(crate) const MAX_BITS: usize = u128::BITS as usize;

impl HeaderFlit {
    /// The channels that the worm takes.
    pub fn channels(self, network: &Network) -> impl Iterator<Item = ChannelId> + use<> {
        let (first, end) = network.output_places(self.router);
        set_bits(self.outputs).map(move |bit| first + bit).take_while(move |&place| place < end).map(ChannelId::new)
    }

    /// The nodes that it delivers to.
    pub fn delivers(self, network: &Network) -> impl Iterator<Item = NodeId> + use<> {
        let mut nodes = network.nodes_of(self.router);
        let (first, count) = (nodes.next().map_or(0, NodeId::raw), nodes.len() as u32 + 1);
        set_bits(self.nodes).take_while(move |&bit| bit < count).map(move |bit| NodeId::new(first + bit))
    }
}

/// The places of the bits that are set, in increasing order.
fn set_bits(mut bits: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        place
    })
}

/// A multicast on a spanning tree, from the lowest common ancestor of its destinations on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeHeader {
    /// The lowest common ancestor.
    pub top: RouterId,
    /// The destinations there.
    pub delivers: Vec<NodeId>,
    /// The channels below it, parents first.
    pub branches: Vec<Branch>,
    /// The header.
    pub header: Vec<HeaderFlit>,
}

impl TreeHeader {
    /// Encodes a multicast to these destinations, each given once; there is at least one, and no router has more than 128 links
    /// or nodes.
    ///
    /// The destinations are sorted by their numbers in post-order. From the lowest common ancestor down, each router strips
    /// those at itself, which are the last, and hands each child the run of numbers that is below it. With D destinations on N
    /// routers the sorting takes O(D log D); everything after visits each router of the multicast's tree once, looks at its
    /// children, and searches for the ends of runs only where the tree parts: O(D + N).
    ///
    /// Paper 5 prints its procedure with a gap; its runs are found one destination after the other, which is the same header.
    ///
    /// ```
    /// use wormcast_multicast::TreeHeader;
    /// use wormcast_network::{Network, NodeId, RouterId};
    /// use wormcast_routing::SpanningTree;
    ///
    /// // Figure 2: from node 7 to 1, 5, 6 and 8. The worm goes up to 1, and parts there and in 2.
    /// let links = [(1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7), (4, 8)];
    /// let network = Network::from_links("figure 2", 9, &[&links[..], &[(0, 1)]].concat());
    /// let channels: Vec<_> = (0..8).map(|i| network.channel_between(
    ///     RouterId::new([1, 1, 2, 2, 3, 3, 4, 1][i]), RouterId::new([2, 3, 4, 5, 6, 7, 8, 0][i])).unwrap()).collect();
    /// let tree = SpanningTree::new(&network, RouterId::new(1), &channels)?;
    /// let encoding = TreeHeader::new(&network, &tree, &[1, 5, 6, 8].map(NodeId::new));
    /// assert_eq!(encoding.top, RouterId::new(1));
    /// assert_eq!(encoding.header.iter().map(|flit| flit.router.raw()).collect::<Vec<_>>(), [1, 2, 8, 5, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(network: &Network, tree: &SpanningTree, destinations: &[NodeId]) -> Self {
        let mut made = Tree::default();
        let top = write_tree(network, tree, destinations, &mut made);
        let Tree { delivers, branches, header, .. } = made;
        Self { top, delivers, branches, header }
    }
}

/// Writes deliveries, branches and header of the multicast from a spanning tree's router, which it returns, into a tree that has none but branches to be written
/// over.
pub(crate) fn write_tree(
    network: &Network,
    spanning: &SpanningTree,
    destinations: &[NodeId],
    tree: &mut Tree,
) -> RouterId {
    let numbered = |&node: &NodeId| (spanning.number(network.router_of(node)), node);
    let sorted = sorted_nodes(destinations.iter().map(numbered).collect(), network.routers());
    let end = |number: u32| spanning.post_order()[number as usize];
    let top = spanning.lowest_common_ancestor(end(sorted[0].0), end(sorted[sorted.len() - 1].0));
    let mut branches = Branches::over(&mut tree.branches);
    let mut work = vec![Part { router: top, entered: None, run: &sorted }];
    while let Some(Part { mut router, mut entered, run }) = work.pop() {
        let (Some(&(least, _)), Some(&(most, _))) = (run.first(), run.last()) else { continue };
        // Straight on, as long as the whole run is below one child. Of children in their order, each has larger numbers than the one before.
        let position = loop {
            let position = entered.map(|(channel, parent)| branches.put(channel, parent));
            if most == spanning.number(router) {
                break position;
            }
            let below = spanning.children(router).iter().map(|&child| (child, network.to(child)));
            match below.into_iter().find(|&(_, to)| least <= spanning.number(to)) {
                Some((child, to)) if most <= spanning.number(to) => (router, entered) = (to, Some((child, position))),
                _ => break position,
            }
        };
        let own = spanning.number(router);
        let here = run.iter().rev().take_while(|to| to.0 == own).count();
        let (mut below, here) = run.split_at(run.len() - here);
        let delivers = match position {
            Some(branch) => branches.delivers(branch),
            None => &mut tree.delivers,
        };
        delivers.extend(here.iter().map(|to| to.1));
        let first_node = network.nodes_of(router).next().map_or(0, NodeId::raw);
        let nodes = here.iter().fold(0, |bits, to| bits | 1u128 << (to.1.raw() - first_node));
        let (waiting, first) = (work.len(), network.output_places(router).0);
        let mut outputs = 0;
        for &child in spanning.children(router) {
            let (Some(&(least, _)), Some(&(most, _))) = (below.first(), below.last()) else { break };
            let to = network.to(child);
            let last = spanning.number(to);
            if last < least {
                continue;
            }
            let end = if most <= last { below.len() } else { end_of_run(below, last + 1) };
            let (run, rest) = below.split_at(end);
            outputs |= 1u128 << (child.raw() - first);
            work.push(Part { router: to, entered: Some((child, position)), run });
            below = rest;
        }
        // The first child's subtree comes first.
        work[waiting..].reverse();
        tree.header.push(HeaderFlit { router, outputs, nodes });
    }
    branches.end();
    top
}

/// A router that has still to be looked at: how it is entered, by a channel and the branch before it, and its run.
struct Part<'a> {
    router: RouterId,
    entered: Option<(ChannelId, Option<u32>)>,
    run: &'a [(u32, NodeId)],
}

/// Where the numbers below `limit` end, of which the first is one, searched for from both ends at once: O(log) of the shorter part.
pub(crate) fn end_of_run(run: &[(u32, NodeId)], limit: u32) -> usize {
    let mut step = 1;
    loop {
        if step >= run.len() {
            return run.partition_point(|entry| entry.0 < limit);
        }
        if run[step].0 >= limit {
            return run[..step].partition_point(|entry| entry.0 < limit);
        }
        if run[run.len() - step].0 < limit {
            let start = run.len() - step;
            return start + run[start..].partition_point(|entry| entry.0 < limit);
        }
        step *= 2;
    }
}
