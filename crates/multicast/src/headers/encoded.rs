//! Multidestination worms whose headers encode a set of destinations, for switches to route and replicate.

use wormcast_network::{ChannelId, Network, NodeId, Stages};
use wormcast_routing::{Decision, NoRoute, RoutingRelation, Step, node_set};

/// The itinerary of a worm whose header encodes its destinations: the switches route it
/// ([`MultidestinationRouting`](wormcast_routing::MultidestinationRouting)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The nodes that it delivers to, in any order.
    pub destinations: Vec<NodeId>,
    /// How its header encodes them.
    pub encoding: Encoding,
}

/// How a header encodes the destinations of a worm for switches (paper 4, section 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A bit for each node of the network, which switches compare with their reachability strings. It can express any set.
    BitString,
    /// A mask of ports for each stage: the worm goes to all nodes whose digits are all in the masks, so to a product of sets of
    /// digits. Switches need no knowledge of where their ports lead.
    Multiport,
}

impl Encoding {
    const ALL: [Self; 2] = [Self::BitString, Self::Multiport];

    /// Its name, which is that of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Self::BitString => "bit-string",
            Self::Multiport => "multiport",
        }
    }

    /// The bits of the header of a worm that goes up to the stage `top` before it comes down, as far as worms go up at all. Without stages
    /// there is no multiport header, and [`Plan::check`](crate::Plan::check) refuses it.
    fn bits(self, network: &Network, top: impl FnOnce() -> u32) -> u32 {
        match (self, network.shape().stages()) {
            (Self::BitString, _) | (Self::Multiport, None) => network.nodes() as u32,
            (Self::Multiport, Some(stages)) if network.is_unidirectional() => stages.stages() * stages.radix(),
            (Self::Multiport, Some(stages)) => {
                (top() + 1) * stages.radix() + stages.stages().next_power_of_two().trailing_zeros()
            }
        }
    }

    /// The most header flits of `flit_bits` bits each that a worm can have on a network, however its destinations are encoded; at least 1.
    /// 0 bits count as 1.
    pub fn most_flits(network: &Network, flit_bits: u32) -> u32 {
        let top = || network.shape().stages().map_or(0, |stages| stages.stages() - 1);
        let bits = Self::ALL.iter().map(|encoding| encoding.bits(network, top)).max().unwrap_or(0);
        bits.div_ceil(flit_bits.max(1)).max(1)
    }
}

/// The channels that an encoded worm takes, each after the one that leads to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EncodedRoute {
    /// The channels, each with the position of the one that enters the switch which it leaves; `None`: it leaves the source's.
    pub channels: Vec<(ChannelId, Option<u32>)>,
    /// The nodes that get the message, each with the position of the channel by which the worm came to their switch.
    pub deliveries: Vec<(NodeId, Option<u32>)>,
}

impl EncodedRoute {
    /// The longest route to a delivery, in hops: O(channels).
    pub fn longest(&self) -> u32 {
        let mut depths: Vec<u32> = Vec::with_capacity(self.channels.len());
        for &(_, parent) in &self.channels {
            depths.push(parent.map_or(1, |parent| depths[parent as usize] + 1));
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

impl Encoded {
    /// A worm with a bit-string header.
    pub fn bit_string(destinations: Vec<NodeId>) -> Self {
        Self { destinations, encoding: Encoding::BitString }
    }

    /// A worm with a multiport header.
    pub fn multiport(destinations: Vec<NodeId>) -> Self {
        Self { destinations, encoding: Encoding::Multiport }
    }

    /// The route of the worm from `from`, where `choose(n)` picks one of `n` channels up; 0 is the preferred one.
    ///
    /// O(channels x the time of the routing for a hop).
    ///
    /// # Errors
    /// If the routing does not reach all destinations, or does not route worms of this kind.
    pub fn route(
        &self,
        routing: &dyn RoutingRelation,
        from: NodeId,
        mut choose: impl FnMut(usize) -> usize,
    ) -> Result<EncodedRoute, NoRoute> {
        let target = self.destinations.first().map_or(from, |&first| first);
        let network = routing.network();
        let ends = (network.entry_of(from), network.router_of(target));
        let no_route = || NoRoute::new(routing, ends.0, ends.1);
        let switches = routing.capabilities().multidestination.ok_or_else(no_route)?;
        let mut route = EncodedRoute::default();
        if self.destinations.is_empty() {
            return Ok(route);
        }
        let set = node_set::of(network.nodes(), self.destinations.iter().copied());
        let mut decision = Decision::default();
        let mut work = vec![(ends.0, None, set)];
        while let Some((at, parent, set)) = work.pop() {
            let arrived = parent.map(|parent: u32| route.channels[parent as usize].0);
            switches.decide(at, arrived, &set, &mut decision);
            let place = route.channels.len();
            match decision.step() {
                Some(Step::AnyOf(channels)) if place <= network.channels() => {
                    let channel = channels[choose(channels.len()) % channels.len()];
                    route.channels.push((channel, parent));
                    work.push((network.to(channel), Some(place as u32), set));
                }
                Some(Step::AllOf(branches)) if place <= network.channels() => {
                    route.deliveries.extend(branches.deliveries.iter().map(|&node| (node, parent)));
                    route.channels.extend(branches.channels.iter().map(|&channel| (channel, parent)));
                    // The first branch is on top.
                    let next = branches
                        .iter()
                        .zip(place as u32..)
                        .map(|((c, part), id)| (network.to(c), Some(id), part.to_vec()));
                    let start = work.len();
                    work.extend(next);
                    work[start..].reverse();
                }
                _ => return Err(no_route()),
            }
        }
        Ok(route)
    }

    /// The bits of the header of a worm from `from`.
    ///
    /// A bit string has one for each node of the network. Multiport encoding has a mask of K bits for each stage at which the worm may be
    /// replicated, from that of the least common ancestors of source and destinations down, and, where worms go up first, the number of
    /// stages to go up, in as many bits as count the stages: unlike a switch with reachability strings, one without cannot
    /// tell where to turn. Paper 4 lets bit-string headers carry such a count too, for simpler switches; here it does not, as strings
    /// contain as much.
    pub fn header_bits(&self, network: &Network, from: NodeId) -> u32 {
        let top = || {
            let stages = network.shape().stages();
            let common = |stages: &Stages| {
                self.destinations.iter().map(|&node| stages.common_stage(from, node)).max().unwrap_or(0)
            };
            stages.map_or(0, common)
        };
        self.encoding.bits(network, top)
    }

    /// The length of the header in flits of `flit_bits` bits each; 0 bits count as 1.
    pub fn header_flits(&self, network: &Network, from: NodeId, flit_bits: u32) -> u32 {
        self.header_bits(network, from).div_ceil(flit_bits.max(1))
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self, network: &Network) -> Option<&'static str> {
        if self.destinations.is_empty() {
            return Some("has no destination");
        }
        match self.encoding {
            Encoding::BitString => None,
            Encoding::Multiport => self.multiport_problem(network),
        }
    }

    fn multiport_problem(&self, network: &Network) -> Option<&'static str> {
        let Some(stages) = network.shape().stages() else {
            return Some("has a multiport header, which needs a multistage network");
        };
        // As many different destinations as the product of the sets of their digits: then they are the product.
        let mut product = 1usize;
        let mut values: Vec<u32> = Vec::with_capacity(self.destinations.len());
        for digit in 0..stages.stages() {
            values.clear();
            values.extend(self.destinations.iter().map(|node| stages.digit(node.raw(), digit)));
            values.sort_unstable();
            values.dedup();
            product = product.saturating_mul(values.len());
        }
        (product != self.destinations.len()).then_some("has destinations that no multiport header can tell")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::algorithm::Multicast;
    use crate::plan::summary::PortModel;
    use crate::plan::{Plan, Worm};
    use wormcast_network::TopologySpec;
    use wormcast_routing::{Adaptivity, RoutingOptions, Turnaround, routing_by_name};

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    fn nodes(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId::new).collect()
    }

    /// The worm of paper 4, Figure 3: up one stage, down to three switches, to the nodes there.
    #[test]
    fn a_worm_in_an_idle_network() {
        let network = build("bmin:4x2");
        let routing = Turnaround::new(&network, Adaptivity::Adaptive).unwrap();
        let plan = Plan { worms: vec![Worm::encoded(NodeId::new(1), Encoded::bit_string(nodes(&[13, 2, 6, 7])))] };
        let multicast = Multicast::new(NodeId::new(1), &nodes(&[2, 6, 7, 13]));
        assert_eq!(plan.check(&network, &multicast), Ok(()));
        let summary = plan.summary(&routing, PortModel::One).unwrap();
        let ends: Vec<(u32, u32)> =
            summary.worms[0].channels.iter().map(|&c| (network.from(c).raw(), network.to(c).raw())).collect();
        assert_eq!(ends, [(0, 4), (4, 0), (4, 1), (4, 3)]);
        assert_eq!((summary.channels, summary.longest), (4, 2));
        let up_down = routing_by_name("up-down", &network, &RoutingOptions::default()).unwrap();
        let Err(error) = plan.summary(up_down.as_ref(), PortModel::One) else { panic!("no switches") };
        assert_eq!(error.to_string(), "`up-down` has no route from router 0 to router 3");
    }

    #[test]
    fn headers_have_as_many_bits_as_they_need() {
        let network = build("bmin:4x3");
        let bits = |encoded: Encoded, from| encoded.header_bits(&network, NodeId::new(from));
        assert_eq!(bits(Encoded::bit_string(nodes(&[1])), 0), 64);
        // A mask of 4 for each of as many stages as the worm comes down, and 2 for 0 to 2 stages up.
        assert_eq!(bits(Encoded::multiport(nodes(&[1])), 0), 6);
        assert_eq!(bits(Encoded::multiport(nodes(&[1, 5])), 0), 10);
        assert_eq!(bits(Encoded::multiport(nodes(&[1, 5])), 63), 14);
        let broadcast = Encoded::bit_string(nodes(&[1, 2, 3]));
        assert_eq!([8, 16, 64, 100].map(|flit| broadcast.header_flits(&network, NodeId::new(0), flit)), [8, 4, 1, 1]);
    }

    #[test]
    fn no_header_is_longer_than_the_longest() {
        for spec in ["bmin:2x2", "bmin:4x2", "bmin:2x4", "butterfly:4x2", "omega:2x4", "mesh:3x3"] {
            let network = build(spec);
            let all: Vec<NodeId> = network.node_ids().collect();
            for flit_bits in [0, 1, 8, 16] {
                let most = Encoding::most_flits(&network, flit_bits);
                let flits =
                    |encoded: fn(_) -> Encoded, from| encoded(all.clone()).header_flits(&network, from, flit_bits);
                let longest =
                    all.iter().map(|&from| flits(Encoded::bit_string, from).max(flits(Encoded::multiport, from)));
                assert_eq!(longest.max(), Some(most), "{spec} {flit_bits}");
            }
        }
    }

    #[test]
    fn plans_are_checked() {
        let network = build("bmin:4x2");
        let check = |network: &Network, ids: &[u32], encoded: fn(Vec<NodeId>) -> Encoded| {
            let multicast = Multicast::new(NodeId::new(0), &nodes(ids));
            let plan = Plan { worms: vec![Worm::encoded(NodeId::new(0), encoded(nodes(ids)))] };
            plan.check(network, &multicast).map_err(|error| error.to_string())
        };
        assert_eq!(check(&network, &[1, 5, 9], Encoded::multiport), Ok(()));
        assert_eq!(check(&network, &[1, 2, 5, 6], Encoded::multiport), Ok(()));
        assert_eq!(
            check(&network, &[1, 2, 5], Encoded::multiport),
            Err("worm 0 has destinations that no multiport header can tell".to_owned())
        );
        assert_eq!(check(&network, &[1, 2, 5], Encoded::bit_string), Ok(()));
        assert_eq!(
            check(&build("mesh:4x4"), &[1], Encoded::multiport),
            Err("worm 0 has a multiport header, which needs a multistage network".to_owned())
        );
        let none = Plan { worms: vec![Worm::encoded(NodeId::new(0), Encoded::bit_string(Vec::new()))] };
        let error = none.check(&network, &Multicast::new(NodeId::new(0), &[])).unwrap_err();
        assert_eq!(error.to_string(), "worm 0 has no destination");
    }
}
