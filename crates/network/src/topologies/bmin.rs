//! Bidirectional multistage networks: K-ary L-trees.

use crate::ids::RouterId;
use crate::network::{Details, Network};
use crate::topologies::shape::Shape;
use crate::topologies::stages::Stages;

/// A bidirectional multistage network (paper 4, Figure 1(b)), a K-ary L-tree.
///
/// Node `p` is at port `p % K` of switch `p / K` of stage 0. Right port K + j of the switch at position w of stage s is
/// joined to left port `digit s of w` of the switch at the position in stage s + 1 whose digit s is j and whose other digits are
/// those of w. The right ports of the last stage are not connected.
///
/// So left port j of a switch of stage s leads to the nodes whose digit s is j, and going right by port K + j at stage s
/// replaces digit s of the position.
pub(crate) fn bmin(name: String, stages: Stages) -> Network {
    let radix = stages.radix();
    let joined = (stages.stages() - 1) * stages.width();
    let mut links = Vec::with_capacity(joined as usize * radix as usize);
    let mut ports = Vec::with_capacity(links.capacity());
    for left in (0..joined).map(RouterId::new) {
        let (stage, position) = (stages.stage(left), stages.position(left));
        for j in 0..radix {
            let right = stages.router(stage + 1, stages.with_digit(position, stage, j));
            links.push((left.raw(), right.raw()));
            ports.push((radix + j, stages.digit(position, stage)));
        }
    }
    let routers = (stages.stages() * stages.width()) as usize;
    let router_of = (0..stages.nodes()).map(|node| node / radix).collect();
    let node_ports = (0..stages.nodes()).map(|node| node % radix).collect();
    Network::from_ports(name, routers, &links, &ports)
        .with_nodes(router_of)
        .with_details(Details { node_ports, ..Details::default() })
        .with_shape(Shape::Bmin(stages))
}

#[cfg(test)]
mod tests {
    use crate::{NodeId, RouterId, TopologySpec};

    /// Figure 3 of paper 4: 16 processors, switches of 4 left and 4 right ports in two stages.
    #[test]
    fn the_network_of_figure_3() {
        let network = "bmin:4x2".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!((network.routers(), network.nodes(), network.links()), (8, 16, 16));
        let to = |router, port| network.to(network.channel_by_port(RouterId::new(router), port).unwrap()).raw();
        // Each switch next to the nodes is joined to each switch behind.
        assert_eq!([4, 5, 6, 7].map(|port| to(2, port)), [4, 5, 6, 7]);
        assert_eq!([0, 1, 2, 3].map(|port| to(6, port)), [0, 1, 2, 3]);
        let nodes: Vec<u32> = network.nodes_of(RouterId::new(2)).map(NodeId::raw).collect();
        assert_eq!(nodes, [8, 9, 10, 11]);
        assert_eq!(network.node_by_port(RouterId::new(2), 3), Some(NodeId::new(11)));
        assert_eq!(network.nodes_of(RouterId::new(4)).len(), 0);
    }

    /// Left ports lead to the nodes with their number as the stage's digit; right ports replace that digit of the position.
    #[test]
    fn ports_are_digits() {
        for spec in ["bmin:2x1", "bmin:2x4", "bmin:3x3", "bmin:4x3", "bmin:5x2"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let stages = *network.shape().stages().unwrap();
            for channel in network.channel_ids() {
                let (from, to) = (network.from(channel), network.to(channel));
                let (low, high) = (from.min(to), from.max(to));
                let stage = stages.stage(low);
                assert_eq!(stages.stage(high), stage + 1);
                let replaced = stages.digit(stages.position(high), stage);
                assert_eq!(stages.with_digit(stages.position(low), stage, replaced), stages.position(high));
                let left = stages.digit(stages.position(low), stage);
                let port = if from == low { stages.radix() + replaced } else { left };
                assert_eq!(network.port_of(channel), Some(port));
                // The nodes below the switch at the left end have `left` as their digit of the stage of the right end.
                let first = stages.position(low) / stages.weight(stage) * stages.weight(stage + 1);
                assert_eq!(stages.digit(first, stage + 1), left);
            }
            assert!(network.distances().connected);
        }
    }
}
