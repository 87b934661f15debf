//! Unidirectional multistage networks: butterflies and omega networks.

use crate::ids::RouterId;
use crate::network::{Details, Network};
use crate::topologies::shape::Shape;
use crate::topologies::stages::Stages;

/// How the stages of a unidirectional multistage network are wired.
///
/// In both, nodes inject at stage 0 and consume behind the last stage, node p from port p / K^(L-1) of the switch at
/// position p % K^(L-1), and at port p % K of the switch at position p / K. At stage s a worm takes the port of digit
/// L - 1 - s of its destination (destination-tag routing), and there is exactly one route from each node to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wiring {
    /// A switch of stage s joins the rows that differ in digit L - 1 - s.
    Butterfly,
    /// A perfect shuffle before every stage.
    Omega,
}

/// A unidirectional multistage network.
pub(crate) fn unidirectional(name: String, stages: Stages, wiring: Wiring) -> Network {
    let (radix, width) = (stages.radix(), stages.width());
    let mut channels = Vec::with_capacity((stages.stages() - 1) as usize * stages.nodes() as usize);
    for from in (0..(stages.stages() - 1) * width).map(RouterId::new) {
        let (stage, position) = (stages.stage(from), stages.position(from));
        for port in 0..radix {
            let next = match wiring {
                Wiring::Butterfly => {
                    // The row behind the switch, without the digit that the next stage replaces.
                    let (digit, row) =
                        (stages.weight(stages.stages() - 2 - stage), row(&stages, stage, position, port));
                    row / (digit * radix) * digit + row % digit
                }
                Wiring::Omega => (position * radix + port) % width,
            };
            channels.push((from.raw(), stages.router(stage + 1, next).raw()));
        }
    }
    let last = (stages.stages() - 1) * width;
    let router_of = (0..stages.nodes()).map(|node| last + node / radix).collect();
    let entries = (0..stages.nodes()).map(|node| node % width).collect();
    let node_ports = (0..stages.nodes()).map(|node| node % radix).collect();
    let shape = match wiring {
        Wiring::Butterfly => Shape::Butterfly(stages),
        Wiring::Omega => Shape::Omega(stages),
    };
    Network::from_channels(name, (stages.stages() * width) as usize, &channels, radix)
        .with_nodes(router_of)
        .with_entries(entries)
        .with_details(Details { node_ports, ..Details::default() })
        .with_shape(shape)
}

/// The row behind a port of a butterfly's switch: the position with the port as digit L - 1 - stage.
fn row(stages: &Stages, stage: u32, position: u32, port: u32) -> u32 {
    let digit = stages.weight(stages.stages() - 1 - stage);
    position / digit * digit * stages.radix() + port * digit + position % digit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeId, TopologySpec};

    /// From every node, the digits of the destination lead to it, through as many switches as there are stages.
    #[test]
    fn destination_tags_lead_to_the_destination() {
        for spec in
            ["butterfly:2x3", "omega:2x3", "butterfly:3x3", "omega:3x3", "omega:4x2", "butterfly:2x5", "omega:8x1"]
        {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let stages = *network.shape().stages().unwrap();
            for source in (0..stages.nodes()).map(NodeId::new) {
                for target in 0..stages.nodes() {
                    let mut at = network.entry_of(source);
                    for stage in 0..stages.stages() - 1 {
                        assert_eq!(stages.stage(at), stage);
                        let port = stages.digit(target, stages.stages() - 1 - stage);
                        at = network.to(network.channel_by_port(at, port).unwrap());
                    }
                    assert_eq!(at, network.router_of(NodeId::new(target)), "{spec} from {source} to {target}");
                    assert_eq!(network.node_by_port(at, target % stages.radix()), Some(NodeId::new(target)));
                }
            }
        }
    }

    #[test]
    fn switches_have_as_many_inputs_as_outputs() {
        for spec in ["butterfly:3x3", "omega:3x3"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            assert!(network.is_unidirectional());
            assert_eq!((network.links(), network.channels()), (54, 54));
            for router in (0..27).map(RouterId::new) {
                assert_eq!(network.outputs(router).len(), if router.raw() < 18 { 3 } else { 0 });
                let inputs: Vec<_> = network.inputs(router).collect();
                assert_eq!(inputs.len(), if router.raw() < 9 { 0 } else { 3 });
                assert!(inputs.iter().all(|&channel| network.to(channel) == router));
            }
            let distances = network.distances();
            assert_eq!((distances.connected, distances.diameter, distances.average), (true, Some(2), Some(2.0)));
        }
    }

    /// The omega network of eight nodes: the switch at position w of each stage leads to positions 2w and 2w + 1 modulo 4 of the next.
    #[test]
    fn the_omega_network_of_eight_nodes() {
        let network = "omega:2x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let next = |router| network.outputs(RouterId::new(router)).map(|c| network.to(c).raw()).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(next), [[4, 5], [6, 7], [4, 5], [6, 7]]);
        assert_eq!([4, 5, 6, 7].map(next), [[8, 9], [10, 11], [8, 9], [10, 11]]);
    }
}
