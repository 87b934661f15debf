//! The static deadlock check for worms that switches replicate, depending on buffers and reservation.

use std::collections::VecDeque;

use wormcast_network::{ChannelId, Network, RouterId};

use crate::analysis::dependency::{Dependencies, Resource, WormRule};
use crate::multidestination::MultidestinationRouting;

/// Up, and then down: a worm that has come down goes up no more. A branch may go back down by the link on which the worm came up.
struct UpThenDown<'r>(&'r dyn MultidestinationRouting);

impl WormRule for UpThenDown<'_> {
    fn may_turn(&self, _: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        self.0.is_up(arriving) || !self.0.is_up(leaving)
    }

    fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
        // A delivery does not hold the other branches up: the switch has room for the whole packet.
        false
    }
}

impl<'n> Dependencies<'n> {
    /// Worms that switches replicate *asynchronously*, where a switch that accepts a packet has, or will have, room for all of it (paper 4,
    /// section 3.1): O(channels x degree).
    ///
    /// Branches do not wait for each other then, so that a worm is as many chains of channels as it has destinations, each up and then down. It
    /// never has a cycle.
    pub fn of_multidestination(switches: &'n dyn MultidestinationRouting) -> Self {
        Self::of_rule(switches.network(), &UpThenDown(switches)).with_encoded_worms()
    }
}

/// Something that a branch at a switch needs: a channel down, or a node's consumption channel.
fn outputs_down(switches: &dyn MultidestinationRouting, at: RouterId) -> impl Iterator<Item = Resource> {
    let network = switches.network();
    let channels = network.outputs(at).filter(move |&channel| !switches.is_up(channel));
    let nodes = network.nodes_of(at).map(Resource::Consumption);
    channels.map(Resource::Channel).chain(nodes)
}

/// Looks for worms that can block each other forever where switches replicate them *synchronously*, in lockstep, with buffers smaller
/// than a packet; returns what two of them hold, each of which waits for what the other holds, or `None` if there can be no deadlock
/// (paper 4, section 3.1 and Figure 2).
///
/// `together` says that a switch reserves all outputs that a worm needs at once. If it does not, two worms with two outputs in common block each other at one switch:
/// each has one of them. If it does, two worms block each other at two switches, to both of which both go: each has its output
/// at one of them. They come to the two switches by different channels, so there have to be switches that worms enter from above, or
/// in networks without a way up from the left, by different channels.
///
/// Where every switch is entered from above on at most one channel, there is no deadlock of the second kind: all worms to any two outputs part at the
/// same switch, the lowest that has both below it, and the worm that gets its outputs there is first at both. Elsewhere the answer errs on the side of
/// caution: it assumes that such worms meet, and where no two may do so, it names what two of several worms may hold.
///
/// Every node is taken to have one consumption channel. O(channels x degree).
pub fn synchronous_deadlock(switches: &dyn MultidestinationRouting, together: bool) -> Option<[Resource; 2]> {
    let network = &**switches.network();
    let mut starting = vec![0; network.routers()];
    for node in network.node_ids() {
        starting[network.entry_of(node).index()] += 1;
    }
    let routers = || network.router_ids();
    if !together {
        return routers().find_map(|at| {
            let mut outputs = outputs_down(switches, at);
            // Two worms have to come in, and to go on to the same two outputs.
            let ways_in = network.inputs(at).count() + starting[at.index()];
            Some([outputs.next()?, outputs.next()?]).filter(|_| ways_in > 1)
        });
    }
    let entered = |at: RouterId| network.inputs(at).filter(|&channel| !switches.is_up(channel));
    let first_down =
        |at: RouterId, but: RouterId| outputs_down(switches, at).find(|&output| !leads_to(network, output, but));
    let mut possible = None;
    for at in routers() {
        let mut ways = entered(at);
        let (Some(one), Some(other), Some(here)) = (ways.next(), ways.next(), first_down(at, at)) else { continue };
        if let Some(there) = meeting(switches, one, other).and_then(|there| first_down(there, at)) {
            return Some([here, there]);
        }
        // Worms that start at the ends of these channels, or cycles of more than two worms.
        let beside = || first_down(network.from(one), at).or_else(|| first_down(network.from(other), at));
        possible = possible.or_else(|| Some([here, beside().unwrap_or(Resource::Channel(one))]));
    }
    possible
}

fn leads_to(network: &Network, output: Resource, router: RouterId) -> bool {
    matches!(output, Resource::Channel(channel) if network.to(channel) == router)
}

/// A switch other than the one that both channels enter, to which worms can come both from where `one` starts and from where `other` does,
/// by different channels.
fn meeting(switches: &dyn MultidestinationRouting, one: ChannelId, other: ChannelId) -> Option<RouterId> {
    let network = switches.network();
    let at = network.to(one);
    let down = |from: RouterId| network.outputs(from).filter(|&c| !switches.is_up(c) && network.to(c) != at);
    // The channel by which each switch is first found from one side.
    let mut by = vec![None; network.routers()];
    let mut queue: VecDeque<RouterId> = VecDeque::from([network.from(one)]);
    while let Some(from) = queue.pop_front() {
        for channel in down(from) {
            let to = network.to(channel);
            if by[to.index()].is_none() {
                by[to.index()] = Some(channel);
                queue.push_back(to);
            }
        }
    }
    let mut seen = vec![false; network.routers()];
    queue.push_back(network.from(other));
    while let Some(from) = queue.pop_front() {
        for channel in down(from) {
            let to = network.to(channel);
            if by[to.index()].is_some_and(|first| first != channel) {
                return Some(to);
            }
            if !std::mem::replace(&mut seen[to.index()], true) {
                queue.push_back(to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::relation::RoutingRelation;
    use crate::{Adaptivity, ReachabilityRouting, Root, Turnaround};
    use wormcast_network::{NodeId, TopologySpec};

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    fn turnaround(spec: &str) -> Turnaround {
        Turnaround::new(&build(spec), Adaptivity::Adaptive).unwrap()
    }

    fn name(network: &Network, resource: Resource) -> String {
        match resource {
            Resource::Channel(channel) => format!("{}-{}", network.from(channel), network.to(channel)),
            Resource::Consumption(node) => format!("node {node}"),
        }
    }

    fn found(spec: &str, together: bool) -> Option<[String; 2]> {
        let routing = turnaround(spec);
        synchronous_deadlock(&routing, together).map(|cycle| cycle.map(|held| name(routing.network(), held)))
    }

    #[test]
    fn whole_packets_do_not_deadlock() {
        for spec in ["bmin:2x4", "bmin:4x2", "bmin:4x3", "bmin:8x1"] {
            assert_eq!(Dependencies::of_multidestination(&turnaround(spec)).deadlock(1), None);
        }
        for spec in ["ring:6", "petersen", "random:nodes=30,degree=4,seed=1"] {
            let network = build(spec);
            let routing = ReachabilityRouting::new(&network, Root::SmallestId).unwrap();
            assert_eq!(Dependencies::of_multidestination(&routing).deadlock(1), None);
        }
    }

    /// Figure 2, first case: at one switch, each worm has an output that the other needs.
    #[test]
    fn two_worms_at_one_switch() {
        let ports = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        assert_eq!(found("bmin:4x1", false), ports("node 0", "node 1"));
        assert_eq!(found("bmin:4x2", false), ports("node 0", "node 1"));
        // Arbitration that gives a worm all or nothing does away with it.
        assert_eq!(found("bmin:4x1", true), None);
    }

    /// Figure 2, second case: each worm has the outputs of one of two switches to which both go.
    #[test]
    fn two_worms_at_two_switches() {
        let ports = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        assert_eq!(found("bmin:2x2", true), ports("node 0", "node 2"));
        assert_eq!(found("bmin:4x2", true), ports("node 0", "node 4"));
    }

    /// Without a way up worms part at different switches of stage 0 and meet at those of the next.
    #[test]
    fn unidirectional_networks() {
        for spec in ["butterfly:2x3", "omega:2x3", "omega:4x2"] {
            let network = build(spec);
            let routing = crate::DestinationTag::new(&network).unwrap();
            assert_eq!(Dependencies::of_multidestination(&routing).deadlock(1), None);
            assert!(synchronous_deadlock(&routing, true).is_some());
            assert!(synchronous_deadlock(&routing, false).is_some());
        }
        let single = build("omega:4x1");
        assert_eq!(synchronous_deadlock(&crate::DestinationTag::new(&single).unwrap(), true), None);
    }

    /// The worms are there: in a 4-node network, from 1 and from 3 to 0 and 2, through different switches of stage 1. Each has one of the two
    /// consumption channels and waits for the other: the second case with one output a switch.
    #[test]
    fn the_predicted_worms_exist() {
        let routing = turnaround("bmin:2x2");
        let network = routing.network();
        let Some([Resource::Consumption(a), Resource::Consumption(b)]) = synchronous_deadlock(&routing, true) else {
            panic!("two nodes")
        };
        assert_eq!((a, b), (NodeId::new(0), NodeId::new(2)));
        let mut trees = Dependencies::new(network);
        let channel = |from, to| network.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
        for (home, top) in [(0, 2), (1, 3)] {
            let tree =
                [(channel(home, top), None, false), (channel(top, 0), Some(0), true), (channel(top, 1), Some(0), true)];
            trees.add_lockstep_tree(&tree);
        }
        assert!(trees.deadlock(1).is_some());
    }

    #[test]
    fn trees_are_safe_if_outputs_are_reserved_together() {
        let check = |spec: &str, together| {
            let network = build(spec);
            let routing = ReachabilityRouting::new(&network, Root::SmallestId).unwrap();
            synchronous_deadlock(&routing, together)
        };
        for seed in 0..5 {
            let tree = format!("tree:nodes=20,seed={seed}");
            assert_eq!(check(&tree, true), None);
            assert!(check(&tree, false).is_some());
            assert!(check(&format!("random:nodes=20,degree=4,seed={seed}"), true).is_some());
        }
        // Worms from 1 to itself cannot be, but from 0 to 1 and 2 and from 1 to 2 and others.
        assert!(check("ring:4", true).is_some());
        assert_eq!(check("mesh:2", true), None);
    }
}
