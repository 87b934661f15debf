//! The dependencies of trees over permitted turns.

use fixedbitset::FixedBitSet;
use wormcast_network::{ChannelId, Network, RouterId};

use super::covered::CoveredTrees;
use super::{Branching, Dependencies, Stop};
use crate::turns::turn_set::TurnSet;

impl<'n> Dependencies<'n> {
    /// The dependencies of tree worms that take permitted turns only, whatever their destinations: enough of them to tell whether the worms
    /// can block each other, not all.
    ///
    /// *If buffers take whole worms*, a worm that waits for a channel holds only those to the router where it waits. Requested one
    /// by one, channels are waited for along permitted turns, as by unicasts. Requested together, they are not: a worm that queues for
    /// one of them waits for all, also for those that it could not turn into itself.
    ///
    /// *Otherwise* a branch that waits holds up the others. Where a route of three links x - s - y - z is permitted, two trees can block
    /// each other: one from s holds s - x and waits for y - z, the other from y holds y - z and waits for s - x. Then these are
    /// listed, one such pair for each link in the middle, and the turns. Elsewhere a worm that holds a channel may wait for every
    /// channel that it may turn into, for those that come after a sibling of a channel on the way to the one held, and for a
    /// delivery at the end of that sibling. All branches at a router are requested together, every router with a node may be
    /// delivered to, and a router with several by worms that start there. If channels are requested one by one, a worm may hold
    /// one and wait for a sibling of it, whichever that is.
    ///
    /// It counts trees that no algorithm would send, such as those that enter a router twice without need, so it may call a
    /// deadlock possible where there is none (a ring of three routers). O(turns), or O(channels x degree^2) where buffers are
    /// small and no permitted route has three links.
    pub fn of_trees(network: &'n Network, turns: &TurnSet, branching: Branching) -> Self {
        Self::of_turning_trees(network, |_| true, |held, next| turns.permits(network, held, next), branching)
    }

    /// As [`of_trees`](Self::of_trees), for trees whose worms may turn from one channel into another as `may_turn` says, which may permit a turn one way only, and
    /// never the one straight back; and take no channels but those that it `takes`.
    ///
    /// Where no two trees block each other over one link, as they do where x - s - y - z and z - y - s - x are ways from s and from y, it takes O(channels^2).
    pub fn of_turning_trees(
        network: &'n Network,
        takes: impl Fn(ChannelId) -> bool,
        may_turn: impl Fn(ChannelId, ChannelId) -> bool,
        branching: Branching,
    ) -> Self {
        let mut dependencies = Self::new(network);
        let (takes, may_turn) = (&takes, &may_turn);
        let outputs = move |router| network.outputs(router).filter(move |&channel| takes(channel));
        let onwards = move |c: ChannelId| outputs(network.to(c)).filter(move |&d| may_turn(c, d));
        let of_turns = network
            .channel_ids()
            .filter(|&held| takes(held))
            .flat_map(|held| onwards(held).map(move |next| (held.raw(), next.raw())));
        dependencies.waits.extend(of_turns);
        let turns = dependencies.waits.len();
        if !branching.packet_buffers {
            dependencies.hold_up_branches(&outputs, &onwards, branching.separate);
        }
        let is_turn =
            |&(held, next): &(u32, u32)| onwards(ChannelId::new(held)).any(|channel| channel == ChannelId::new(next));
        let mut between: Vec<(u32, u32)> =
            dependencies.waits[turns..].iter().filter(|pair| !is_turn(pair)).copied().collect();
        between.sort_unstable();
        let taken = network.channel_ids().filter(|&channel| takes(channel)).map(ChannelId::index).collect();
        dependencies.covered = CoveredTrees::Turning { takes: taken, between, branching };
        if !branching.separate {
            for router in network.router_ids() {
                if network.nodes_of(router).len() > 0 {
                    // A worm may start here.
                    let pairs = outputs(router).zip(outputs(router).skip(1));
                    dependencies.together.extend(pairs.map(|(a, b)| (a.raw(), b.raw())));
                } else {
                    let arriving = network.outputs(router).map(|output| network.reverse(output)).filter(|&c| takes(c));
                    let pairs = arriving.flat_map(|c| onwards(c).zip(onwards(c).skip(1)));
                    dependencies.together.extend(pairs.map(|(a, b)| (a.raw(), b.raw())));
                }
            }
        }
        dependencies.tidy();
        dependencies
    }

    /// Adds what follows from small buffers: see [`of_trees`](Self::of_trees).
    fn hold_up_branches<O: Iterator<Item = ChannelId>, I: Iterator<Item = ChannelId>>(
        &mut self,
        outputs: &impl Fn(RouterId) -> O,
        onwards: &impl Fn(ChannelId) -> I,
        separate: bool,
    ) {
        let network = self.network;
        let nodes_at = |router| network.nodes_of(router).len();
        self.separate = separate;
        self.starts.grow(network.channels());
        let mut blocking = false;
        for held in network.router_ids().flat_map(outputs) {
            if nodes_at(network.to(held)) > 0 {
                self.stops.push(Stop { arriving: held, leaving: None });
            }
            self.starts.set(held.index(), nodes_at(network.from(held)) > 1);
            // The ends of a way with this link in the middle: on two routers if there is a choice.
            let ends = || onwards(network.reverse(held)).flat_map(|x| onwards(held).map(move |z| (x, z)));
            let apart = |&(x, z): &(ChannelId, ChannelId)| network.to(x) != network.to(z);
            if let Some((one, other)) = ends().find(apart).or_else(|| ends().next()) {
                self.waits.extend([(one.raw(), other.raw()), (other.raw(), one.raw())]);
                blocking = true;
            }
        }
        if separate {
            let siblings = network.router_ids().flat_map(|r| outputs(r).zip(outputs(r).skip(1)));
            self.waits.extend(siblings.flat_map(|(a, b)| [(a.raw(), b.raw()), (b.raw(), a.raw())]));
        }
        if blocking {
            return;
        }
        // By what is held: what may be requested meanwhile, and where a delivery may be waited for.
        let mut waits = vec![FixedBitSet::new(); network.channels()];
        let mut held_up = waits.clone();
        let delivers = |end: ChannelId| network.outputs(network.to(end)).len() > 1 || nodes_at(network.to(end)) > 1;
        for router in network.router_ids() {
            let from: Vec<Vec<ChannelId>> =
                outputs(router).map(|first| reached_from(network, first, onwards)).collect();
            for (place, held) in from.iter().enumerate() {
                let siblings =
                    || from.iter().enumerate().filter(|&(other, _)| other != place).map(|(_, reached)| reached);
                for &held in held {
                    held_up[held.index()].grow(network.channels());
                    held_up[held.index()].extend(siblings().flatten().filter(|&&c| delivers(c)).map(|c| c.index()));
                    // Siblings are granted together, and nobody requests what it holds.
                    for &requested in siblings().flat_map(|reached| &reached[1..]).filter(|&&c| c != held) {
                        if waits[requested.index()].contains(held.index()) {
                            // Two trees that block each other decide it.
                            self.waits.extend([(held.raw(), requested.raw()), (requested.raw(), held.raw())]);
                            return;
                        }
                        waits[held.index()].grow(network.channels());
                        waits[held.index()].insert(requested.index());
                    }
                }
            }
        }
        self.waits.extend(pairs(&waits));
        self.held_up.extend(pairs(&held_up));
    }
}

fn pairs(rows: &[FixedBitSet]) -> impl Iterator<Item = (u32, u32)> {
    (0..).zip(rows).flat_map(|(held, row)| row.ones().map(move |next| (held, next as u32)))
}

/// A channel and all to which a worm may get from it.
fn reached_from<I: Iterator<Item = ChannelId>>(
    network: &Network,
    first: ChannelId,
    onwards: &impl Fn(ChannelId) -> I,
) -> Vec<ChannelId> {
    let mut seen = FixedBitSet::with_capacity(network.channels());
    seen.insert(first.index());
    let mut reached = vec![first];
    let mut next = 0;
    while next < reached.len() {
        reached.extend(onwards(reached[next]).filter(|c| !seen.put(c.index())));
        next += 1;
    }
    reached
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Resource;
    use wormcast_network::{NetworkBuilder, NodeDetails, RouterId, TopologySpec};

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn trees_over_permitted_turns() {
        let free = |spec: &str, ports| {
            let network = build(spec);
            Dependencies::of_trees(&network, &crate::turn_prohibition(&network), Branching::LOCKSTEP)
                .deadlock(ports)
                .is_none()
        };
        // Two trees from the inner routers of a line of four, each to both ends.
        assert!(!free("mesh:4", 9));
        assert!(free("mesh:3", 2) && free("mesh:2", 1));
        for spec in ["mesh:3x3", "torus:5", "hypercube:3", "random:nodes=20,degree=3,seed=1"] {
            assert!(!free(spec, 9), "{spec}");
        }
        assert!(!free("random:nodes=2000,degree=8,seed=1", 9));
        // A star: its leaves have one link each.
        let star = Network::from_links("star", 6, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]);
        let dependencies = Dependencies::of_trees(&star, &crate::turn_prohibition(&star), Branching::LOCKSTEP);
        assert_eq!(dependencies.deadlock(5), None);
    }

    /// Two routers, joined by a link, with two nodes each.
    pub(in super::super) fn two_routers() -> Arc<Network> {
        let mut pair = NetworkBuilder::new("pair");
        pair.at_least(2).unwrap();
        pair.link(RouterId::new(0), RouterId::new(1)).unwrap();
        for router in [0, 0, 1, 1] {
            pair.node(RouterId::new(router), NodeDetails::default()).unwrap();
        }
        pair.build().unwrap()
    }

    /// Two routers with several nodes each, and trees from either to the nodes of both: each holds a consumption channel where it
    /// starts and waits for one where the other started.
    #[test]
    fn deliveries_beside_the_source_count() {
        let pair = two_routers();
        let turns = crate::turn_prohibition(&pair);
        let deadlock = |packet_buffers, separate, ports| {
            Dependencies::of_trees(&pair, &turns, Branching { packet_buffers, separate }).deadlock(ports)
        };
        let cycle = deadlock(false, false, 1).unwrap();
        assert!(cycle.iter().any(|resource| matches!(resource, Resource::Consumption(_))), "{cycle:?}");
        // One worm at a time holds the channel out of a router. One by one, others may hold deliveries without it.
        assert_eq!(deadlock(false, false, 2), None);
        assert!(deadlock(false, true, 9).is_some());
        assert!(deadlock(true, true, 1).is_none() && deadlock(true, false, 1).is_none());
    }

    #[test]
    fn branching_decides() {
        let free = |spec: &str, packet_buffers, separate| {
            let network = build(spec);
            let branching = Branching { packet_buffers, separate };
            Dependencies::of_trees(&network, &crate::turn_prohibition(&network), branching).deadlock(1).is_none()
        };
        for spec in ["mesh:4", "mesh:3x3", "torus:5", "random:nodes=20,degree=3,seed=1"] {
            assert!(free(spec, true, true), "{spec}");
            // Who queues for one channel waits for those that are requested together with it.
            assert!(!free(spec, true, false), "{spec}");
            assert!(!free(spec, false, false) && !free(spec, false, true), "{spec}");
        }
        assert!(free("mesh:2", true, false) && free("mesh:3", true, true));
    }

    /// The cycle that is found is one of two trees, each of which holds what the other waits for.
    #[test]
    fn trees_that_block_each_other() {
        let network = build("random:nodes=14,degree=4,seed=3");
        let turns = crate::turn_prohibition(&network);
        let cycle = Dependencies::of_trees(&network, &turns, Branching::LOCKSTEP).deadlock(4).unwrap();
        let [Resource::Channel(one), Resource::Channel(other)] = cycle[..] else { panic!("{cycle:?}") };
        let middle = network.channel_between(network.from(one), network.from(other)).unwrap();
        let back = network.reverse(middle);
        let mut trees = Dependencies::new(&network);
        for (short, long) in [(one, [middle, other]), (other, [back, one])] {
            assert!(turns.permits(&network, long[0], long[1]));
            trees.add_lockstep_tree(&[(short, None, true), (long[0], None, false), (long[1], Some(1), true)]);
        }
        assert!(trees.deadlock(4).is_some());
    }
}
