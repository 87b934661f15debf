//! How evenly a routing loads the channels under uniform traffic.

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::ClosedForm;
use crate::relation::RoutingRelation;

/// How evenly a routing loads the channels under uniform traffic.
///
/// The load of a channel is the number of ordered pairs of different nodes whose worms cross it, where each worm takes
/// each of its candidates with the same probability: an expected number for adaptive routing, a count for deterministic.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkLoad {
    /// The mean over channels.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The load of each channel.
    pub by_channel: Box<[f64]>,
}

impl LinkLoad {
    /// The summary of the loads of all channels.
    pub(crate) fn new(by_channel: Vec<f64>) -> Self {
        Self {
            mean: by_channel.iter().sum::<f64>() / by_channel.len().max(1) as f64,
            max: by_channel.iter().copied().fold(0.0, f64::max),
            by_channel: by_channel.into(),
        }
    }
}

/// The load of each channel under a relation; `None` if some worm can take the same channel again, so that it is unknown how often it
/// crosses one. A worm that loses its route counts up to where it does.
///
/// O(routers x channels x candidates) time, or O(channels) where the relation has a [closed form](crate::ClosedForm); O(channels) memory. [`TurnRouting::survey`](crate::TurnRouting::survey) is faster
/// for routing over permitted turns.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{ECube, link_load};
///
/// // Of the channels of a line of four, those in the middle are crossed by 2 x 2 pairs, the others by 1 x 3.
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let load = link_load(&ECube::new(&line)?).ok_or("e-cube makes progress")?;
/// assert_eq!(*load.by_channel, [3.0, 3.0, 4.0, 4.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn link_load(relation: &dyn RoutingRelation) -> Option<LinkLoad> {
    let Some((closed_form, nodes)) = <dyn ClosedForm>::of(relation) else { return load_of_routes(relation) };
    let load = |channel| (u128::from(closed_form.crossing(channel)) * u128::from(nodes * nodes)) as f64;
    Some(LinkLoad::new(relation.network().channel_ids().map(load).collect()))
}

/// The same by following routes.
pub(crate) fn load_of_routes(relation: &dyn RoutingRelation) -> Option<LinkLoad> {
    let network = &**relation.network();
    let nodes_at = network.entering_nodes();
    let channels = network.channels();
    let mut load = vec![0.0; channels];
    let mut walk = Walk {
        network,
        relation,
        flow: vec![0.0; channels],
        state: vec![State::New; channels],
        order: Vec::new(),
        open: Vec::new(),
        next: Vec::new(),
        first: vec![(0, 0); channels],
        candidates: Vec::new(),
    };
    for target in network.router_ids().filter(|&target| network.nodes_of(target).len() > 0) {
        step("measuring link loads", "routers", target.index(), network.routers());
        walk.begin();
        let receivers = network.nodes_of(target).len() as f64;
        // Where links lead in one direction, a node sends from one router and receives at another, and never to itself.
        let mut pairs: Vec<f64> = nodes_at.iter().map(|&senders| f64::from(senders) * receivers).collect();
        for node in network.nodes_of(target) {
            pairs[network.entry_of(node).index()] -= 1.0;
        }
        for source in network.router_ids().filter(|&s| s != target && pairs[s.index()] > 0.0) {
            walk.enter(source, pairs[source.index()], target)?;
        }
        while let Some(channel) = walk.order.pop() {
            let flow = std::mem::take(&mut walk.flow[channel.index()]);
            load[channel.index()] += flow;
            let (first, end) = walk.first[channel.index()];
            let share = flow / f64::from((end - first).max(1));
            for &next in &walk.next[first as usize..end as usize] {
                walk.flow[next.index()] += share;
            }
        }
    }
    Some(LinkLoad::new(load))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the route that is being followed.
    Open,
    /// In `order`, as all that follows it.
    Done,
}

/// The channels that worms to one target take, in an order in which each comes after those that follow it.
struct Walk<'a> {
    network: &'a Network,
    relation: &'a dyn RoutingRelation,
    /// What of the traffic to the target enters each channel.
    flow: Vec<f64>,
    state: Vec<State>,
    order: Vec<ChannelId>,
    /// The route that is being followed: channels, and how many of the following ones have been looked at.
    open: Vec<(ChannelId, u32)>,
    /// The channels that may follow each one: where they are in `next`.
    next: Vec<ChannelId>,
    first: Vec<(u32, u32)>,
    candidates: Vec<ChannelId>,
}

impl Walk<'_> {
    /// Forgets the last target.
    fn begin(&mut self) {
        self.state.fill(State::New);
        self.order.clear();
        self.next.clear();
    }

    /// Follows all routes of the worms of so many pairs of nodes; `None` if one returns to its own channel.
    fn enter(&mut self, source: RouterId, pairs: f64, target: RouterId) -> Option<()> {
        self.relation.candidates(source, None, target, &mut self.candidates);
        let share = pairs / self.candidates.len().max(1) as f64;
        let candidates = std::mem::take(&mut self.candidates);
        for &channel in &candidates {
            self.flow[channel.index()] += share;
        }
        let starts = candidates.clone();
        self.candidates = candidates;
        starts.into_iter().try_for_each(|channel| self.follow(channel, target))
    }

    fn follow(&mut self, start: ChannelId, target: RouterId) -> Option<()> {
        self.open_channel(start, target)?;
        while let Some((channel, looked_at)) = self.open.pop() {
            let (first, end) = self.first[channel.index()];
            if first + looked_at == end {
                self.state[channel.index()] = State::Done;
                self.order.push(channel);
                continue;
            }
            self.open.push((channel, looked_at + 1));
            let next = self.next[(first + looked_at) as usize];
            self.open_channel(next, target)?;
        }
        Some(())
    }

    fn open_channel(&mut self, channel: ChannelId, target: RouterId) -> Option<()> {
        match self.state[channel.index()] {
            State::Done => return Some(()),
            State::Open => return None,
            State::New => {}
        }
        self.state[channel.index()] = State::Open;
        let at = self.network.to(channel);
        let first = self.next.len() as u32;
        if at != target {
            self.relation.candidates(at, Some(channel), target, &mut self.candidates);
            self.next.extend_from_slice(&self.candidates);
        }
        self.first[channel.index()] = (first, self.next.len() as u32);
        self.open.push((channel, 0));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::survey::{Lengths, RoutesTo, for_each_target, survey_of_routes};
    use crate::{RoutingOptions, TurnRouting, routing_by_name};
    use wormcast_network::TopologySpec;

    /// The sum over channels is that of the hops of all pairs of different nodes: in a butterfly or an omega network all cross every stage.
    #[test]
    fn no_node_sends_to_itself_where_links_lead_one_way() {
        for (spec, radix, stages) in
            [("omega:2x2", 2u32, 2u32), ("omega:2x3", 2, 3), ("butterfly:3x2", 3, 2), ("butterfly:2x3", 2, 3)]
        {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let relation = routing_by_name("destination-tag", &network, &RoutingOptions::default()).unwrap();
            let found = link_load(relation.as_ref()).unwrap();
            let nodes = f64::from(radix.pow(stages));
            let hops = nodes * (nodes - 1.0) * f64::from(stages - 1);
            assert!((found.by_channel.iter().sum::<f64>() - hops).abs() < 1e-9, "{spec}");
        }
    }

    /// Against the searches for 64 targets at once, adaptive and not: where some links are parallel, with more targets than one word holds, many and no nodes at a router, hubs, and routers that
    /// no path reaches.
    fn loads_and_lengths_are_those_of_the_survey_of_turns(name: &str) {
        let random = (0..12).map(|seed| format!("random:nodes={},degree={},seed={seed}", 20 + 15 * seed, 3 + seed % 4));
        let named = ["mesh:4x3", "torus:2x3", "torus:4x4", "mesh:9x8", "hyperx:3x3,nodes=2", "tree:nodes=90,seed=3"];
        let specs = random.chain(named.map(str::to_owned)).chain(["complete:70".to_owned(), "ring:131".to_owned()]);
        let built = specs.map(|spec| spec.parse::<TopologySpec>().unwrap().build().unwrap());
        let star: Vec<_> = (1..100).map(|leaf| (0, leaf)).chain([(1, 2), (5, 77)]).collect();
        let apart: Vec<_> = (1..70).map(|leaf| (leaf / 3, leaf)).chain((71..80).map(|leaf| (leaf - 1, leaf))).collect();
        // Rings with chords, each of which shares a router with an earlier one: these have special links.
        let glued = (0..20u32).map(|seed| {
            let (mut links, mut routers, mut draw) = (Vec::new(), 1, seed);
            let mut below = |limit: u32| {
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (draw >> 8) % limit
            };
            for _ in 0..5 + 2 * seed {
                let own: Vec<u32> = std::iter::once(below(routers)).chain(routers..routers + 2 + below(4)).collect();
                routers += own.len() as u32 - 1;
                links.extend((0..own.len()).map(|i| (own[i], own[(i + 1) % own.len()])));
                if own.len() > 4 {
                    links.push((own[0], own[2 + below(2) as usize]));
                }
            }
            Network::from_links("glued", routers as usize, &links)
        });
        let listed = [Network::from_links("star", 100, &star), Network::from_links("apart", 80, &apart)];
        // A router that joins dense parts by two links each: worms from one part may enter another by its special link alone, and from there both lead on.
        let parts = (0..4u32).flat_map(|part| {
            let first = 1 + 10 * part;
            let within = (0..10).flat_map(move |a| (0..a).map(move |b| (first + b, first + a)));
            within.chain([(0, first), (0, first + 1)])
        });
        let joined = Network::from_links("joined", 41, &parts.collect::<Vec<_>>());
        let listed = glued.chain(listed).chain([joined]);
        for network in built.chain(listed) {
            let Ok(relation) = routing_by_name(name, &network, &RoutingOptions::default()) else {
                assert!(!network.distances().connected, "{name} on {}", network.name());
                continue;
            };
            let (lengths, expected) = relation.capabilities().turns.map(|turns: &TurnRouting| turns.survey()).unwrap();
            let found = link_load(relation.as_ref()).unwrap();
            for (found, expected) in found.by_channel.iter().zip(&expected.by_channel) {
                assert!((found - expected).abs() < 1e-9, "{name} on {}", network.name());
            }
            assert!((found.mean - expected.mean).abs() < 1e-9 && (found.max - expected.max).abs() < 1e-9);
            assert_eq!(lengths, survey_of_routes(relation.as_ref()), "{name} on {}", network.name());
            // In any order, and with some of them twice.
            let targets: Vec<RouterId> = network.router_ids().rev().chain(network.router_ids().step_by(3)).collect();
            let mut one_by_one: Vec<Lengths> = Vec::new();
            for_each_target(relation.as_ref(), &targets, |lengths| one_by_one.push(lengths));
            let expected = targets.iter().zip(one_by_one).map(|(&target, lengths)| RoutesTo::new(target, lengths));
            let found = crate::survey_to(relation.as_ref(), &targets);
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name} on {}", network.name());
        }
    }

    #[test]
    fn those_of_turn_prohibition_are() {
        loads_and_lengths_are_those_of_the_survey_of_turns("turn-prohibition");
    }

    #[test]
    fn those_of_up_down_are() {
        loads_and_lengths_are_those_of_the_survey_of_turns("up-down");
    }

    #[test]
    fn those_of_deterministic_up_down_are() {
        loads_and_lengths_are_those_of_the_survey_of_turns("up-down-deterministic");
    }
}
