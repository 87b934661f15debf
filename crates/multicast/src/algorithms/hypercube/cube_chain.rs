//! Chains of hypercube addresses relative to the source, and multicasts along them.

use std::sync::Arc;

use wormcast_network::{Network, NodeId};
use wormcast_routing::{ECube, RoutingRelation, Unsupported};

use crate::algorithm::Multicast;
use crate::algorithms::unicast_tree::{Share, unicast_tree};
use crate::plan::Plan;
use crate::registry::descriptor::Options;
use crate::registry::options::Resolution;

/// E-cube routing that resolves dimensions as the options say.
pub(crate) fn e_cube(network: &Arc<Network>, options: &Options) -> Result<ECube, Unsupported> {
    let routing = ECube::new(network)?;
    Ok(if options.own.resolution == Some(Resolution::Ascending) { routing.ascending() } else { routing })
}

/// The bits of an address in the order in which they are resolved, the first one highest; of such a one, the address.
fn in_order_of_resolution(routing: &ECube, address: u32) -> u32 {
    if !routing.is_ascending() {
        return address;
    }
    let dimensions = routing.network().routers().ilog2();
    address.reverse_bits().checked_shr(u32::BITS - dimensions).unwrap_or(0)
}

/// The source-relative dimension-ordered chain (paper 2, section 4.1): the addresses of source and destinations, exclusive-or
/// the source's, with their bits in the order in which they are resolved, in increasing order. The source comes first, as 0.
pub(crate) fn relative_chain(multicast: &Multicast, routing: &ECube) -> Vec<u32> {
    let source = multicast.source().raw();
    let mut chain = Vec::with_capacity(multicast.destinations().len() + 1);
    chain.push(0);
    chain.extend(multicast.destinations().iter().map(|node| in_order_of_resolution(routing, node.raw() ^ source)));
    chain.sort_unstable();
    chain
}

/// The multicast in which the first node of a part of the chain, from `left` to `right`, sends to the one at
/// `next(chain, left, right)`, which serves from there to `right`, and goes on with what is before it; in place of an earlier plan.
pub(crate) fn chain_multicast(
    multicast: &Multicast,
    routing: &ECube,
    chain: &[u32],
    plan: &mut Plan,
    next: impl Fn(&[u32], usize, usize) -> usize,
) {
    let source = multicast.source().raw();
    let node = |&relative: &u32| NodeId::new(in_order_of_resolution(routing, relative) ^ source);
    let nodes: Vec<NodeId> = chain.iter().map(node).collect();
    let hand_over = |share: Share| {
        let receiver = next(chain, share.left, share.right);
        Share { left: receiver, holder: receiver, right: share.right }
    };
    unicast_tree(&nodes, 0, plan, hand_over);
}

/// The middle of a part of a chain, rounded up: *center* of paper 2, Figure 4.
pub(crate) fn center(left: usize, right: usize) -> usize {
    left + (right - left).div_ceil(2)
}

/// The first position in a part of a cube-ordered chain that lies in the other half of the smallest subcube around the part
/// than the node at `left`: *highdim* of paper 2, Figure 4. There is one if `left < right`. O(log length).
pub(crate) fn highdim(chain: &[u32], left: usize, right: usize) -> usize {
    let first = chain[left];
    // The first bit in which the ends differ: nodes of a subcube are contiguous, so all before the split agree in it.
    let top = (first ^ chain[right]).checked_ilog2().unwrap_or(0);
    left + chain[left..=right].partition_point(|&address| (address ^ first) >> top == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::{ChannelId, TopologySpec};
    use wormcast_routing::append_route;

    /// What the arguments against contention rest on.
    #[test]
    fn theorems_1_and_2_of_paper_2_and_paths_apart_in_the_chain() {
        let cube = "hypercube:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let node = |id: u32| cube.router_of(NodeId::new(id));
        let path = |from: u32, to: u32| {
            let mut channels: Vec<ChannelId> = Vec::new();
            append_route(&ECube::new(&cube).unwrap(), node(from), None, node(to), &mut channels).unwrap();
            channels
        };
        let paths: Vec<Vec<ChannelId>> = (0..256).map(|pair| path(pair / 16, pair % 16)).collect();
        for (a, b, c, d) in (0u32..1 << 16).map(|all| (all >> 12, all >> 8 & 15, all >> 4 & 15, all & 15)) {
            let (first, second) = (&paths[(a * 16 + b) as usize], &paths[(c * 16 + d) as usize]);
            let apart = a < b && b <= c && c < d;
            let other_ports = a == c && (a ^ b).checked_ilog2() != (c ^ d).checked_ilog2();
            let in_and_out =
                (0..4).any(|free| a >> free == b >> free && c >> free != a >> free && d >> free != a >> free);
            if apart || other_ports || in_and_out {
                assert!(first.iter().all(|channel| !second.contains(channel)), "{a} to {b}, {c} to {d}");
            }
        }
    }

    #[test]
    fn the_chain_is_relative_to_the_source() {
        // Paper 2, Figure 5; the printed chain leaves 1110 out.
        let destinations = [0b0001, 0b0011, 0b0101, 0b0111, 0b1000, 0b1010, 0b1011, 0b1111].map(NodeId::new);
        let cube = "hypercube:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let multicast = Multicast::new(NodeId::new(0b0100), &destinations);
        let chain = relative_chain(&multicast, &ECube::new(&cube).unwrap());
        assert_eq!(chain, [0b0000, 0b0001, 0b0011, 0b0101, 0b0111, 0b1011, 0b1100, 0b1110, 0b1111]);
        assert_eq!((center(0, 8), highdim(&chain, 0, 8)), (4, 5));
        assert_eq!((center(0, 3), highdim(&chain, 0, 4)), (2, 3));
    }

    /// Paper 2, section 4.1: "if addresses are resolved from lowest to highest, then a dimension-ordered chain is: 10100, 10010, 00110".
    #[test]
    fn dimension_order_goes_by_the_order_of_resolution() {
        let cube = "hypercube:5".parse::<TopologySpec>().unwrap().build().unwrap();
        let multicast = Multicast::new(NodeId::new(0), &[0b10100, 0b00110, 0b10010].map(NodeId::new));
        let descending = ECube::new(&cube).unwrap();
        for (routing, expected) in [
            (descending.clone(), [0, 0b00110, 0b10010, 0b10100]),
            (descending.ascending(), [0, 0b10100, 0b10010, 0b00110]),
        ] {
            let chain = relative_chain(&multicast, &routing);
            let nodes: Vec<u32> = chain.iter().map(|&place| in_order_of_resolution(&routing, place)).collect();
            assert_eq!(nodes, expected);
        }
    }
}
