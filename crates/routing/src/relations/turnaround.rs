//! Turnaround routing on bidirectional multistage networks.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId, Stages};

use crate::capabilities::RoutingCapabilities;
use crate::multidestination::{Decision, MultidestinationRouting, node_set};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported, follow_step_by_step};
use crate::relations::destination_tag::DESTINATION_TAG;
use crate::relations::up_down::UP_DOWN;
use crate::turns::turn_routing::Adaptivity;

/// [`Turnaround`] with all channels up.
pub const TURNAROUND: RoutingDescriptor = RoutingDescriptor::new(
    "turnaround",
    "on the way up all right ports, on the way down one channel",
    "a bidirectional multistage network",
    |network, _| Ok(Box::new(Turnaround::new(network, Adaptivity::Adaptive)?)),
);

/// [`Turnaround`] with the preferred channel up only.
pub const TURNAROUND_DETERMINISTIC: RoutingDescriptor = RoutingDescriptor::new(
    "turnaround-deterministic",
    "one channel: up straight on, but out of its first switch as the destination decides",
    TURNAROUND.needs,
    |network, _| Ok(Box::new(Turnaround::new(network, Adaptivity::First)?)),
);

/// Turnaround routing: up to the stage of the least common ancestors of source and destination, then down.
///
/// Source: paper 4, sections 2 and 3.3; Scherson and Chien, Least common ancestor networks, 1993. Every switch of that stage that a worm can
/// reach leads down to the destination, so on the way up any right port will do; on the way down the left port at stage s is digit s of
/// the destination.
///
/// The preferred channel up keeps straight on: a worm that came by left port j leaves by right port K + j. If its source's router starts it by
/// the port of the source's digit 0, that is the port of the source's digit at each stage, and no two sources ever prefer the same
/// channel (paper 4's software multicast relies on it). That router by itself does not know which of its nodes sends; it prefers the port of
/// digit 1 of the destination, the lowest one of several. The other ports follow cyclically. With [`Adaptivity::First`] the preferred channel is the only one: deterministic routing.
///
/// Needs a bidirectional multistage network (`bmin:KxL`). No tables; O(K) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Adaptivity, Turnaround, append_route};
///
/// let network = "bmin:2x3".parse::<TopologySpec>()?.build()?;
/// let mut route = Vec::new();
/// // From the switch of nodes 0 and 1 to that of nodes 6 and 7: up two stages and down again.
/// append_route(&Turnaround::new(&network, Adaptivity::Adaptive)?, RouterId::new(0), None, RouterId::new(3), &mut route)?;
/// let visited: Vec<u32> = route.iter().map(|&c| network.to(c).raw()).collect();
/// assert_eq!(visited, [5, 9, 7, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Turnaround {
    network: Arc<Network>,
    stages: Stages,
    choice: Adaptivity,
}

impl Turnaround {
    /// With all channels up, or the preferred one only.
    ///
    /// # Errors
    /// If the network is not a bidirectional multistage network.
    pub fn new(network: &Arc<Network>, choice: Adaptivity) -> Result<Self, Unsupported> {
        if let Some(&stages) = network.shape().bmin() {
            return Ok(Self { network: Arc::clone(network), stages, choice });
        }
        let hint = if network.is_unidirectional() {
            format!("use `{}`", DESTINATION_TAG.name)
        } else {
            format!("`bmin:KxL` is one, and `{}` does the same on other networks", UP_DOWN.name)
        };
        Err(Unsupported::new(name(choice), TURNAROUND.needs, network).with_hint(&hint))
    }

    /// The preferred one of the channels to the right, for a worm that goes up at `at` to the switch at the position `towards`.
    #[inline]
    fn straight_on(&self, at: RouterId, arrived: Option<ChannelId>, towards: u32) -> u32 {
        let Self { network, stages, .. } = self;
        let came_by = arrived.and_then(|channel| network.port_of(network.reverse(channel)));
        came_by.filter(|&port| port < stages.radix()).unwrap_or_else(|| stages.digit(towards, stages.stage(at)))
    }

    /// Replaces `out` by the channels to the right, the preferred one first; `towards` is the position of the destination's switch.
    fn up(&self, at: RouterId, arrived: Option<ChannelId>, towards: u32, out: &mut Vec<ChannelId>) {
        out.clear();
        let Self { network, stages, .. } = self;
        let radix = stages.radix();
        // Channels are in the order of ports; those to the right are the last.
        let outputs = network.outputs(at);
        let lefts = outputs.len().saturating_sub(radix as usize);
        let straight = self.straight_on(at, arrived, towards) as usize;
        let rights = outputs.skip(lefts);
        let count = if self.choice == Adaptivity::First { 1 } else { radix as usize };
        out.extend(rights.clone().skip(straight).chain(rights.take(straight)).take(count));
    }
}

fn name(choice: Adaptivity) -> &'static str {
    match choice {
        Adaptivity::Adaptive => TURNAROUND.name,
        Adaptivity::First => TURNAROUND_DETERMINISTIC.name,
    }
}

/// The nodes below a switch: the first of them and their number.
fn below(stages: &Stages, at: RouterId) -> (u32, u32) {
    let stage = stages.stage(at);
    let nodes = stages.weight(stage) * stages.radix();
    (stages.position(at) / stages.weight(stage) * nodes, nodes)
}

impl RoutingRelation for Turnaround {
    fn name(&self) -> &'static str {
        name(self.choice)
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let Self { network, stages, .. } = self;
        out.clear();
        if at == target {
            return;
        }
        let (stage, position) = (stages.stage(at), stages.position(target));
        if stages.stage(target) > 0 {
            // No node is there.
            return;
        }
        let weight = stages.weight(stage);
        if stages.position(at) / weight == position / weight {
            let digit = if stage == 0 { return } else { stages.digit(position, stage - 1) };
            out.extend(network.outputs(at).nth(digit as usize));
        } else {
            self.up(at, arrived, position, out);
        }
    }

    fn follow(
        &self,
        from: RouterId,
        arrived: Option<ChannelId>,
        to: RouterId,
        candidates: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        let Self { network, stages, .. } = self;
        if stages.stage(to) > 0 {
            return follow_step_by_step(self, (from, arrived), to, candidates, route);
        }
        let (radix, towards) = (stages.radix(), stages.position(to));
        let (mut at, mut stage, mut place) = (from, stages.stage(from), stages.position(from));
        let mut weight = stages.weight(stage);
        let mut take = |at: RouterId, port: u32| {
            let channel = network.output(at, port)?;
            route.push(channel);
            Some(network.to(channel))
        };
        // Up, by the port that it came by, until the destination is below.
        let mut straight = self.straight_on(from, arrived, towards);
        while place / weight != towards / weight {
            // Ports to the left come first.
            let lefts = if stage == 0 { 0 } else { radix };
            let Some(next) = take(at, lefts + straight) else { return false };
            let digit = place / weight % radix;
            place = place - digit * weight + straight * weight;
            (at, straight, stage, weight) = (next, digit, stage + 1, weight * radix);
        }
        while stage > 0 {
            (stage, weight) = (stage - 1, weight / radix);
            let Some(next) = take(at, towards / weight % radix) else { return false };
            at = next;
        }
        at == to
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { multidestination: Some(self), ..RoutingCapabilities::default() }
    }
}

impl MultidestinationRouting for Turnaround {
    fn is_up(&self, channel: ChannelId) -> bool {
        let network = self.network();
        network.from(channel) < network.to(channel)
    }

    fn decide(&self, at: RouterId, arrived: Option<ChannelId>, destinations: &[u64], decision: &mut Decision) {
        let Self { network, stages, .. } = self;
        decision.reset(destinations.len(), false);
        let (first, count) = below(stages, at);
        if !node_set::is_within(destinations, first, first + count) {
            let lowest = node_set::members(destinations).next().map_or(0, |node| node.raw() / stages.radix());
            self.up(at, arrived, lowest, &mut decision.channels);
            return;
        }
        decision.reset(destinations.len(), true);
        if stages.stage(at) == 0 {
            let nodes = (first..first + count).map(NodeId::new);
            decision.deliveries.extend(nodes.filter(|&node| node_set::contains(destinations, node)));
            return;
        }
        // Left port j leads to the j-th part of the nodes below.
        let part = count / stages.radix();
        for (start, channel) in (first..first + count).step_by(part as usize).zip(network.outputs(at)) {
            decision.branch_to_range(channel, destinations, start, start + part);
        }
    }
}
