//! Worms that switches replicate: each destination is reached once, whatever way up is taken.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{Adaptivity, Decision, ReachabilityRouting, Root, RoutingRelation, Step, Turnaround, node_set};

use crate::support::build;

/// What a worm did: its channels up, those down, and its deliveries.
#[derive(Default, Debug)]
struct Walk {
    up: Vec<ChannelId>,
    down: Vec<ChannelId>,
    deliveries: Vec<NodeId>,
}

/// Walks a worm to all of its destinations; `choose` says which of so many channels up it takes.
fn walk(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    source: NodeId,
    destinations: &[NodeId],
    mut choose: impl FnMut(usize) -> usize,
) -> Walk {
    let switches = routing.capabilities().multidestination.unwrap();
    let set = node_set::of(network.nodes(), destinations.iter().copied());
    let mut walk = Walk::default();
    let mut decision = Decision::default();
    let mut work = vec![(network.router_of(source), None, set)];
    while let Some((at, arrived, set)) = work.pop() {
        switches.decide(at, arrived, &set, &mut decision);
        match decision.step().expect("there is a way") {
            Step::AnyOf(channels) => {
                assert!(walk.down.is_empty() && walk.deliveries.is_empty(), "up after down");
                let channel = channels[choose(channels.len())];
                assert_eq!(network.from(channel), at);
                walk.up.push(channel);
                work.push((network.to(channel), Some(channel), set));
            }
            Step::AllOf(branches) => {
                assert!(branches.deliveries.iter().all(|&node| network.router_of(node) == at));
                walk.deliveries.extend(branches.deliveries);
                let mut parts = node_set::of(network.nodes(), branches.deliveries.iter().copied());
                for (place, (channel, part)) in branches.iter().enumerate() {
                    assert_eq!(network.from(channel), at);
                    assert_eq!(part, branches.subset(place));
                    assert!(!node_set::is_empty(part));
                    for (whole, &word) in parts.iter_mut().zip(part) {
                        assert_eq!(*whole & word, 0, "parts overlap");
                        *whole |= word;
                    }
                    walk.down.push(channel);
                    work.push((network.to(channel), Some(channel), part.to_vec()));
                }
                assert_eq!(parts, set, "the parts are the whole");
            }
        }
    }
    walk
}

fn nodes(ids: &[u32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId::new).collect()
}

/// Figure 3 of paper 4: from the left of a 16-node network to processors below several switches.
#[test]
fn the_worm_of_figure_3() {
    let network = build("bmin:4x2");
    let routing = Turnaround::new(&network, Adaptivity::Adaptive).unwrap();
    for way in 0..4 {
        let walk = walk(&network, &routing, NodeId::new(1), &nodes(&[2, 6, 7, 13]), |_| way);
        // One hop up, to the stage of the least common ancestors; there to the switches of 2, of 6 and 7, and of 13.
        assert_eq!(walk.up.len(), 1);
        let top = network.to(walk.up[0]);
        assert_eq!(network.port_of(walk.up[0]), Some(4 + way as u32));
        let down: Vec<(RouterId, Option<u32>)> =
            walk.down.iter().map(|&c| (network.from(c), network.port_of(c))).collect();
        assert_eq!(down, [(top, Some(0)), (top, Some(1)), (top, Some(3))]);
        let mut delivered = walk.deliveries.clone();
        delivered.sort_unstable();
        assert_eq!(delivered, nodes(&[2, 6, 7, 13]));
    }
    // Without leaving the switch.
    let local = walk(&network, &routing, NodeId::new(5), &nodes(&[4, 7]), |_| unreachable!("no choice"));
    assert!(local.up.is_empty() && local.down.is_empty());
}

#[test]
fn straight_on_is_the_senders_digit_at_each_stage() {
    let network = build("bmin:3x4");
    let stages = *network.shape().stages().unwrap();
    let routing = Turnaround::new(&network, Adaptivity::First).unwrap();
    let switches = routing.capabilities().multidestination.unwrap();
    let mut decision = Decision::default();
    for source in (0..81).map(NodeId::new) {
        // To a node of the other half: all the way up.
        let target = NodeId::new((source.raw() + 40) % 81);
        let top = stages.common_stage(source, target);
        let set = node_set::of(81, [target]);
        let home = network.router_of(source);
        let mut channel = network.channel_by_port(home, 3 + source.raw() % 3).unwrap();
        for stage in 1..top {
            assert_eq!(stages.stage(network.to(channel)), stage);
            switches.decide(network.to(channel), Some(channel), &set, &mut decision);
            let Some(Step::AnyOf(&[next])) = decision.step() else { panic!("one way up") };
            assert_eq!(network.port_of(next), Some(3 + stages.digit(source.raw(), stage)));
            channel = next;
        }
    }
}

/// The highest digit in which addresses differ decides how far up; a unicast goes the same way as a worm to one destination.
#[test]
fn one_destination_is_a_unicast() {
    for spec in ["bmin:2x3", "bmin:3x3", "bmin:4x2", "bmin:5x1"] {
        let network = build(spec);
        let stages = *network.shape().stages().unwrap();
        let routing = Turnaround::new(&network, Adaptivity::Adaptive).unwrap();
        for source in network.node_ids() {
            for target in network.node_ids().filter(|&target| target != source) {
                let found = walk(&network, &routing, source, &[target], |_| 0);
                let top = stages.common_stage(source, target) as usize;
                assert_eq!((found.up.len(), found.down.len()), (top, top));
                let mut route = Vec::new();
                let (from, to) = (network.router_of(source), network.router_of(target));
                wormcast_routing::append_route(&routing, from, None, to, &mut route).unwrap();
                assert_eq!(route, [found.up, found.down].concat());
            }
        }
    }
}

proptest! {
    /// Up to the lowest stage from which all destinations are below, and each reached once.
    #[test]
    fn any_way_up_reaches_all(
        (radix, stages) in prop::sample::select(vec![(2, 1), (2, 3), (2, 5), (3, 3), (4, 2), (4, 3), (7, 2), (70, 1)]),
        source: prop::sample::Index,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
        ways in prop::collection::vec(0usize..60, 1..10),
    ) {
        let network = build(&format!("bmin:{radix}x{stages}"));
        let geometry = *network.shape().stages().unwrap();
        let source = NodeId::new(source.index(network.nodes()) as u32);
        let mut destinations: Vec<NodeId> = picks.iter().map(|p| NodeId::new(p.index(network.nodes()) as u32)).collect();
        destinations.sort_unstable();
        destinations.dedup();
        let mut way = ways.iter().cycle();
        let routing = Turnaround::new(&network, Adaptivity::Adaptive).unwrap();
        let mut found = walk(&network, &routing, source, &destinations, |n| {
            assert_eq!(n, radix);
            way.next().unwrap() % n
        });
        let top = destinations.iter().map(|&d| geometry.common_stage(source, d)).max().unwrap();
        prop_assert_eq!(found.up.len(), top as usize);
        found.deliveries.sort_unstable();
        prop_assert_eq!(&found.deliveries, &destinations);
        let mut channels = [found.up, found.down].concat();
        let taken = channels.len();
        channels.sort_unstable();
        channels.dedup();
        prop_assert_eq!(channels.len(), taken, "no channel twice");
    }

    /// The same on any connected network, with nodes anywhere; up is as short as it can be.
    #[test]
    fn reachability_strings_lead_to_all(
        seed in 0u64..50,
        degree in 2u32..6,
        root in 0u32..20,
        source in 0u32..20,
        picks in prop::collection::btree_set(0u32..20, 1..12),
        ways in prop::collection::vec(0usize..60, 1..10),
    ) {
        let network = build(&format!("random:nodes=20,degree={degree},seed={seed}"));
        let routing = ReachabilityRouting::new(&network, Root::Router(RouterId::new(root))).unwrap();
        let destinations: Vec<NodeId> = picks.into_iter().map(NodeId::new).collect();
        let set = node_set::of(20, destinations.iter().copied());
        let covers = |router| node_set::is_subset(&set, routing.below(router));
        let mut way = ways.iter().cycle();
        let mut found = walk(&network, &routing, NodeId::new(source), &destinations, |n| way.next().unwrap() % n);
        found.deliveries.sort_unstable();
        prop_assert_eq!(&found.deliveries, &destinations);
        // A search of its own, level by level.
        let mut level = vec![RouterId::new(source)];
        let mut hops = 0;
        while !level.iter().any(|&router| covers(router)) {
            hops += 1;
            level = level
                .iter()
                .flat_map(|&r| network.outputs(r).filter(|&c| routing.string(c).is_none()).map(|c| network.to(c)))
                .collect();
        }
        prop_assert_eq!(found.up.len(), hops);
    }
}

#[test]
fn strings_of_a_tree_are_its_subtrees() {
    // 0 above 1 and 2; 1 above 3 and 4.
    let tree = Network::from_links("tree", 5, &[(0, 1), (0, 2), (1, 3), (1, 4)]);
    let routing = ReachabilityRouting::new(&tree, Root::SmallestId).unwrap();
    let string = |u, v| {
        let channel = tree.channel_between(RouterId::new(u), RouterId::new(v)).unwrap();
        routing.string(channel).map(|set| set[0])
    };
    assert_eq!(string(0, 1), Some(0b11010));
    assert_eq!(string(0, 2), Some(0b00100));
    assert_eq!(string(1, 4), Some(0b10000));
    assert_eq!(string(4, 1), None);
}

#[test]
fn strings_need_a_connected_network() {
    let apart = Network::from_links("two pairs", 4, &[(0, 1), (2, 3)]);
    let message = ReachabilityRouting::new(&apart, Root::SmallestId).err().unwrap().to_string();
    let expected = "`up-down` needs a connected network for worms to several nodes, but `two pairs` is not";
    assert_eq!(message, expected);
}
