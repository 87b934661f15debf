//! Figures 4 and 5 and Table 1 of paper 3: the multicast from node 6 to 1, 2, 3, 12 and 13.
//!
//! The figure's image is not in the text at hand. The graph here was searched for: of 14 nodes and degree 4, with everything that the
//! text says of Figure 4 (all turns around node 0 are prohibited, and turn (8, 2, 11) is), with all entries of Table 1, and with the
//! sizes of the three trees and the ways of the first two.

use std::sync::Arc;

use wormcast_multicast::{Multicast, Options, algorithm_by_name};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::turn_prohibition;

fn graph() -> Arc<Network> {
    let links = [
        (6, 2),
        (6, 7),
        (6, 8),
        (6, 9),
        (1, 2),
        (2, 11),
        (11, 12),
        (3, 12),
        (12, 13),
        (7, 13),
        (2, 8),
        (5, 11),
        (1, 10),
        (5, 12),
        (4, 9),
        (0, 4),
        (8, 11),
        (1, 13),
        (0, 9),
        (10, 13),
        (3, 5),
        (0, 7),
        (5, 7),
        (9, 10),
        (3, 10),
        (3, 4),
        (0, 8),
        (1, 4),
    ];
    Network::from_links("figure-4", 14, &links)
}

fn multicast() -> Multicast {
    Multicast::new(NodeId::new(6), &[1, 2, 3, 12, 13].map(NodeId::new))
}

fn channel(network: &Arc<Network>, from: u32, to: u32) -> ChannelId {
    network.channel_between(RouterId::new(from), RouterId::new(to)).unwrap()
}

#[test]
fn figure_4() {
    let network = graph();
    assert!((0..14).all(|router| network.outputs(RouterId::new(router)).len() == 4));
    let turns = turn_prohibition(&network);
    assert!(!turns.permits(&network, channel(&network, 8, 2), channel(&network, 2, 11)));
    for from in network.outputs(RouterId::new(0)) {
        for to in network.outputs(RouterId::new(0)).filter(|&to| to != from) {
            assert!(!turns.permits(&network, network.reverse(from), to));
        }
    }
}

#[test]
fn figure_5() {
    let network = graph();
    let taken = |name: &str| {
        let algorithm = algorithm_by_name(name, &network, &Options::default()).unwrap();
        let plan = algorithm.plan(&multicast());
        let mut taken = plan.worms[0].channels(algorithm.routing()).unwrap();
        taken.sort_unstable();
        taken
    };
    let trees: [(&str, &[(u32, u32)]); 2] = [
        ("tree-zero", &[(6, 2), (2, 1), (2, 11), (11, 5), (5, 3), (11, 12), (6, 7), (7, 13)]),
        ("tree-one", &[(6, 2), (6, 7), (2, 1), (2, 11), (7, 13), (11, 12), (12, 3)]),
    ];
    for (name, expected) in trees {
        let mut expected: Vec<ChannelId> = expected.iter().map(|&(from, to)| channel(&network, from, to)).collect();
        expected.sort_unstable();
        assert_eq!(taken(name), expected, "{name}");
    }
    // Several trees have six.
    assert_eq!(taken("tree-infinity").len(), 6);
}

#[test]
fn table_1() {
    let network = graph();
    let one = algorithm_by_name("tree-one", &network, &Options::default()).unwrap();
    let matrices = one.capabilities().covers.unwrap().covering_matrices(&multicast());
    let source = &matrices[0];
    assert_eq!((source.at, source.arrived), (RouterId::new(6), None));
    assert_eq!(source.destinations, [1, 2, 3, 12, 13].map(RouterId::new));
    let table = [
        (2, [Some(1), Some(0), Some(3), Some(2), Some(3)], [true, true, true, true, false]),
        (7, [Some(2), None, None, None, Some(1)], [false, false, false, false, true]),
        (8, [Some(2), Some(1), Some(3), Some(2), Some(3)], [false; 5]),
        (9, [None; 5], [false; 5]),
    ];
    for ((next, hops, taken), row) in table.into_iter().zip(&source.rows) {
        assert_eq!(network.to(row.channel), RouterId::new(next));
        assert_eq!((&row.hops[..], &row.taken[..]), (&hops[..], &taken[..]), "next node {next}");
    }
    // At 11, to which 12 and 3 are left, one next node is enough: the worm is not replicated there.
    let at_11 = matrices.iter().find(|matrix| matrix.at == RouterId::new(11)).unwrap();
    assert_eq!(at_11.destinations, [3, 12].map(RouterId::new));
    let chosen = at_11.rows.iter().filter(|row| row.taken.contains(&true));
    assert_eq!(chosen.map(|row| network.to(row.channel)).collect::<Vec<_>>(), [RouterId::new(12)]);
    // The other algorithms have none.
    let zero = algorithm_by_name("tree-zero", &network, &Options::default()).unwrap();
    assert!(zero.capabilities().covers.is_none());
}
