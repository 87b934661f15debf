//! The worked examples of paper 2: trees and steps, each figure under its own name.
//!
//! The tree of every multicast is given as (from, to, step). Figure 5 prints its chain without 1110; there are eight destinations.

use wormcast_multicast::{Multicast, Options, Plan, PlanSummary, PortModel, Worm, algorithm_by_name};
use wormcast_network::{Network, NodeId, TopologySpec};
use wormcast_routing::ECube;

/// A unicast: from, to, step.
type Arc = (u32, u32, u32);

/// The destinations of Figure 2, from source 0000.
const FIGURE_2: [u32; 8] = [0b0001, 0b0011, 0b0101, 0b0111, 0b1011, 0b1100, 0b1110, 0b1111];

fn cube() -> std::sync::Arc<Network> {
    "hypercube:4".parse::<TopologySpec>().unwrap().build().unwrap()
}

fn arcs(summary: &PlanSummary) -> Vec<Arc> {
    let mut arcs: Vec<Arc> =
        summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
    arcs.sort_unstable();
    arcs
}

/// Checks the tree of a multicast in a 4-cube, and that it is contention-free.
fn check(algorithm: &str, ports: PortModel, source: u32, destinations: &[u32], steps: u32, expected: &[Arc]) {
    let cube = cube();
    let algorithm = algorithm_by_name(algorithm, &cube, &Options::default()).unwrap();
    let destinations: Vec<NodeId> = destinations.iter().copied().map(NodeId::new).collect();
    let multicast = Multicast::new(NodeId::new(source), &destinations);
    let plan = algorithm.plan(&multicast);
    assert_eq!(plan.check(&cube, &multicast), Ok(()));
    let summary = plan.summary(algorithm.routing(), ports).unwrap();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(arcs(&summary), expected);
    assert_eq!(summary.steps, steps);
    assert_eq!(summary.contention(), None);
}

/// A tree that no algorithm here makes, relays included.
fn by_hand(unicasts: &[(u32, u32)]) -> PlanSummary {
    let trigger = |from| unicasts.iter().position(|&(_, to)| to == from).map(|id| id as u32);
    let worm = |&(from, to): &(u32, u32)| Worm {
        after: trigger(from),
        ..Worm::path(NodeId::new(from), vec![NodeId::new(to)])
    };
    Plan { worms: unicasts.iter().map(worm).collect() }.summary(&ECube::new(&cube()).unwrap(), PortModel::One).unwrap()
}

/// Figure 3(a): neighbours only, as store-and-forward switching needs. Five nodes relay that are no destinations.
#[test]
fn figure_3_a_store_and_forward_takes_four_steps() {
    let summary = by_hand(&[
        (0b0000, 0b1000),
        (0b0000, 0b0100),
        (0b1000, 0b1010),
        (0b0000, 0b0010),
        (0b0100, 0b0110),
        (0b1000, 0b1100),
        (0b1010, 0b1110),
        (0b0000, 0b0001),
        (0b0010, 0b0011),
        (0b0100, 0b0101),
        (0b0110, 0b0111),
        (0b1010, 0b1011),
        (0b1110, 0b1111),
    ]);
    assert!(summary.worms.iter().all(|worm| worm.channels.len() == 1));
    assert_eq!(summary.worms[..3].iter().map(|worm| worm.step).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!((summary.steps, summary.contention()), (4, None));
    let relays: Vec<u32> =
        summary.worms.iter().map(|w| w.visits[0].raw()).filter(|to| !FIGURE_2.contains(to)).collect();
    assert_eq!(relays, [0b1000, 0b0100, 0b1010, 0b0010, 0b0110]);
}

/// Figure 3(b): with wormhole routing only the routers of 0010 and 0110 are passed; three nodes still relay.
#[test]
fn figure_3_b_wormhole_routing_takes_four_steps_too() {
    let summary = by_hand(&[
        (0b0000, 0b1000),
        (0b0000, 0b0100),
        (0b1000, 0b1010),
        (0b0000, 0b0011),
        (0b0100, 0b0111),
        (0b1000, 0b1100),
        (0b1010, 0b1110),
        (0b0000, 0b0001),
        (0b0100, 0b0101),
        (0b1010, 0b1011),
        (0b1110, 0b1111),
    ]);
    assert_eq!((summary.steps, summary.contention()), (4, None));
    assert_eq!((summary.worms[3].step, summary.worms[3].channels.len()), (3, 2));
}

/// The tree of Figures 3(c) and 3(d), by step on one port and on all ports.
const U_CUBE_TREE: [(u32, u32, u32, u32); 8] = [
    (0b0000, 0b0111, 1, 1),
    (0b0000, 0b0011, 2, 1),
    (0b0000, 0b0001, 3, 1),
    (0b0011, 0b0101, 3, 2),
    (0b0111, 0b1100, 2, 2),
    (0b0111, 0b1011, 3, 3),
    (0b1100, 0b1110, 3, 3),
    (0b1110, 0b1111, 4, 4),
];

#[test]
fn figure_3_c_u_cube_on_one_port_takes_four_steps() {
    let expected = U_CUBE_TREE.map(|(from, to, step, _)| (from, to, step));
    check("u-cube", PortModel::One, 0, &FIGURE_2, 4, &expected);
}

/// 1011 is reached in step 3: its path leaves 0111 by the channel that leads to 1100.
#[test]
fn figure_3_d_u_cube_on_all_ports_still_takes_four_steps() {
    let expected = U_CUBE_TREE.map(|(from, to, _, step)| (from, to, step));
    check("u-cube", PortModel::All, 0, &FIGURE_2, 4, &expected);
}

/// The tree of Figures 3(e) and 8(c).
const W_SORT_TREE: [Arc; 8] = [
    (0b0000, 0b1110, 1),
    (0b0000, 0b0101, 1),
    (0b0000, 0b0011, 1),
    (0b0000, 0b0001, 1),
    (0b1110, 0b1011, 2),
    (0b1110, 0b1100, 2),
    (0b1110, 0b1111, 2),
    (0b0101, 0b0111, 2),
];

#[test]
fn figure_3_e_two_steps_are_enough_on_all_ports() {
    check("w-sort", PortModel::All, 0, &FIGURE_2, 2, &W_SORT_TREE);
}

/// The multicast of Figure 3(c), seen from 0100: every address exclusive-or 0100.
#[test]
fn figure_5_the_chain_is_relative_to_the_source() {
    let destinations = [0b0001, 0b0011, 0b0101, 0b0111, 0b1000, 0b1010, 0b1011, 0b1111];
    let expected = U_CUBE_TREE.map(|(from, to, step, _)| (from ^ 0b0100, to ^ 0b0100, step));
    check("u-cube", PortModel::One, 0b0100, &destinations, 4, &expected);
}

#[test]
fn figure_6_a_maxport_takes_three_steps() {
    let expected = [(0, 0b1001, 1), (0b1001, 0b1010, 2), (0b1010, 0b1011, 3)];
    check("maxport", PortModel::All, 0, &[0b1001, 0b1010, 0b1011], 3, &expected);
}

#[test]
fn figure_6_b_u_cube_takes_two_steps() {
    let expected = [(0, 0b1010, 1), (0, 0b1001, 2), (0b1010, 0b1011, 2)];
    check("u-cube", PortModel::All, 0, &[0b1001, 0b1010, 0b1011], 2, &expected);
}

/// Node 7 cannot send to 11 and 12 in one step: both leave by one channel.
#[test]
fn figure_8_a_u_cube_takes_four_steps() {
    let expected = [(0, 7, 1), (0, 3, 1), (0, 1, 1), (3, 5, 2), (7, 12, 2), (7, 11, 3), (12, 14, 3), (14, 15, 4)];
    check("u-cube", PortModel::All, 0, &[1, 3, 5, 7, 11, 12, 14, 15], 4, &expected);
}

#[test]
fn figure_8_b_maxport_takes_four_steps() {
    let expected = [(0, 11, 1), (0, 5, 1), (0, 3, 1), (0, 1, 1), (5, 7, 2), (11, 12, 2), (12, 14, 3), (14, 15, 4)];
    check("maxport", PortModel::All, 0, &[1, 3, 5, 7, 11, 12, 14, 15], 4, &expected);
}

/// After the weighted sort: 0, 1, 3, 5, 7, 14, 15, 12, 11.
#[test]
fn figure_8_c_w_sort_takes_two_steps() {
    check("w-sort", PortModel::All, 0, &[1, 3, 5, 7, 11, 12, 14, 15], 2, &W_SORT_TREE);
}
