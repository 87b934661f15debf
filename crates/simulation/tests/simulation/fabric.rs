//! Fabrics: routers that have no node, or several.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Branch, Itinerary, Multicast, Plan, Tree, Worm};
use wormcast_network::{ChannelId, Network, NetworkBuilder, NodeDetails, RouterId};
use wormcast_routing::RoutingRelation;
use wormcast_simulation::{Cycle, Engine, FlitEngine, StopReason, WormEngine};

use crate::support::{Log, Sent, link, node, path, plain, unicast};

/// Routers in a line: nodes 0, 1 and 2 at the first, none at the second, 3 and 4 at the third.
fn line() -> Along {
    let mut builder = NetworkBuilder::new("line");
    builder.at_least(3).unwrap();
    for router in [0, 1] {
        builder.link(RouterId::new(router), RouterId::new(router + 1)).unwrap();
    }
    for router in [0, 2, 0, 2, 0] {
        builder.node(RouterId::new(router), NodeDetails::default()).unwrap();
    }
    Along { network: builder.build().unwrap() }
}

/// Along the line.
struct Along {
    network: Arc<Network>,
}

impl RoutingRelation for Along {
    fn name(&self) -> &'static str {
        "along"
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        if at != target {
            let next = if target > at { at.raw() + 1 } else { at.raw() - 1 };
            out.push(link(network, at.raw(), next));
        }
    }
}

/// What both engines agree on.
fn run(messages: &[Sent]) -> Log<false> {
    let line = line();
    let mut flit = FlitEngine::new(&line, plain(), Log::<false>::default());
    let mut worm = WormEngine::new(&line, plain(), Log::<false>::default());
    for (id, (at, length, worms)) in messages.iter().enumerate() {
        flit.submit(*at, id as u64, *length, Plan { worms: worms.clone() });
        worm.submit(*at, id as u64, *length, Plan { worms: worms.clone() });
    }
    assert_eq!(flit.run_until(Cycle::MAX), StopReason::EndReached);
    assert_eq!(worm.run_until(Cycle::MAX), StopReason::EndReached);
    let (flit, worm) = (flit.into_observer(), worm.into_observer());
    assert_eq!(flit.delivered(), worm.delivered());
    assert_eq!((&flit.grants, &flit.releases), (&worm.grants, &worm.releases));
    flit
}

#[test]
fn a_message_within_a_router_takes_no_link() {
    let log = run(&[(0, 5, vec![unicast(0, 2)])]);
    // One router, r + 1 = 2, and five flits.
    assert_eq!(log.at(0, 2), 7);
    assert!(log.grants.keys().all(|&(_, channel)| channel >= 4));
}

#[test]
fn a_delivery_is_to_the_node_that_is_meant() {
    // Two nodes of one router receive at the same time, but two messages for one of them do not.
    let log = run(&[(0, 5, vec![unicast(0, 1)]), (0, 5, vec![unicast(2, 4)]), (0, 5, vec![unicast(1, 2)])]);
    assert_eq!((log.at(0, 1), log.at(1, 4), log.at(2, 2)), (7, 11, 7));
    let log = run(&[(0, 5, vec![unicast(0, 2)]), (0, 5, vec![unicast(1, 2)])]);
    assert_eq!((log.at(0, 2), log.at(1, 2)), (7, 12));
}

#[test]
fn paths_and_trees_deliver_to_nodes_of_a_router() {
    let line = line();
    let multicast = Multicast::new(node(0), &[node(2), node(4)]);
    let both = path(0, &[2, 4]);
    assert_eq!(Plan { worms: vec![both.clone()] }.check(&line.network, &multicast), Ok(()));
    let log = run(&[(0, 5, vec![both])]);
    // Flits are consumed at the first stop as they leave for the second, whose router the header reaches in cycle 4.
    assert_eq!((log.at(0, 2), log.at(0, 4)), (9, 11));

    let branch = |from, to, parent, delivers: &[u32]| {
        let delivers = delivers.iter().copied().map(node).collect();
        Branch { channel: link(&line.network, from, to), parent, delivers }
    };
    let tree = |to: &[u32]| Worm::tree(node(0), vec![branch(0, 1, None, &[]), branch(1, 2, Some(0), to)]);
    let log = run(&[(0, 5, vec![tree(&[4])])]);
    assert_eq!(log.at(0, 4), 11);

    // To all nodes of a router at once, each by a consumption channel of its own; also to those beside the source.
    let Itinerary::Tree(to_both) = tree(&[3, 4]).itinerary else { unreachable!() };
    let everywhere = Tree { delivers: vec![node(1), node(2)], ..to_both };
    let everywhere = Worm { itinerary: Itinerary::Tree(everywhere), ..tree(&[]) };
    for worm in [everywhere, path(0, &[2, 1, 4, 3])] {
        let multicast = Multicast::new(node(0), &[1, 2, 3, 4].map(node));
        assert_eq!(Plan { worms: vec![worm.clone()] }.check(&line.network, &multicast), Ok(()));
        let log = run(&[(0, 5, vec![worm.clone()])]);
        assert_eq!([1, 2, 3, 4].map(|to| log.at(0, to)), [9, 9, 11, 11]);
        // Whoever needs several waits until all are free: 4's is taken for cycles 6 to 10 by a message from 3.
        let log = run(&[(0, 9, vec![unicast(3, 4)]), (0, 5, vec![worm])]);
        assert_eq!((log.at(0, 4), [3, 4].map(|to| log.at(1, to))), (11, [16, 16]));
    }

    let check = |worm: Worm, destinations: &[u32]| {
        let destinations: Vec<_> = destinations.iter().map(|&id| node(id)).collect();
        let multicast = Multicast::new(node(0), &destinations);
        Plan { worms: vec![worm] }.check(&line.network, &multicast).unwrap_err().to_string()
    };
    assert_eq!(check(tree(&[1]), &[1]), "worm 0 has a branch that delivers to a node of another router");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn engines_agree_and_deliver_all(messages in prop::collection::vec((0u64..60, 1u32..12, 0u32..5, 0u32..5), 1..30)) {
        let mut messages = messages;
        messages.retain(|&(_, _, from, to)| from != to);
        messages.sort_unstable();
        let sent: Vec<Sent> =
            messages.iter().map(|&(at, length, from, to)| (at, length, vec![unicast(from, to)])).collect();
        let log = run(&sent);
        let expected: Vec<(u64, u32)> = (0u64..).zip(&messages).map(|(id, &(.., to))| (id, to)).collect();
        prop_assert_eq!(log.delivered().into_keys().collect::<Vec<_>>(), expected);
    }
}
