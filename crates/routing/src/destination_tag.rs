//! Destination-tag routing on unidirectional multistage networks.

use wormcast_network::{ChannelId, Network, RouterId, Shape};

use crate::multidestination::{Decision, MultidestinationRouting, node_set};
use crate::registry::{RoutingDescriptor, stateless};
use crate::relation::{RoutingRelation, Unsupported};

/// [`DestinationTag`].
pub const DESTINATION_TAG: RoutingDescriptor = RoutingDescriptor::new(
    "destination-tag",
    "one channel: by the digits of the destination",
    "a unidirectional multistage network, such as `omega:4x3`",
    |network, _| stateless(DestinationTag, network),
);

/// Destination-tag routing: at stage s by the port of digit L - 1 - s of the destination.
///
/// Source: paper 4, sections 2 and 3.3: a unidirectional multistage network has one way from each node to each, through all stages.
/// A worm to several nodes is replicated to all ports whose reachability strings have destinations in common with it, from stage 0 on.
///
/// Needs a unidirectional multistage network (`butterfly:KxL`, `omega:KxL`). No tables; O(1) a hop.
///
/// ```
/// use wormcast_network::{NodeId, TopologySpec};
/// use wormcast_routing::{DestinationTag, append_route};
///
/// let network = "omega:2x3".parse::<TopologySpec>()?.build()?;
/// let (from, to) = (network.entry_of(NodeId::new(5)), network.router_of(NodeId::new(6)));
/// let mut route = Vec::new();
/// append_route(&network, &DestinationTag, from, None, to, &mut route)?;
/// // 6 is 110: by port 1, by port 1, and at the last stage by port 0 to the node.
/// let ports: Vec<_> = route.iter().map(|&channel| network.port_of(channel)).collect();
/// assert_eq!(ports, [Some(1), Some(1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DestinationTag;

/// The nodes that a switch leads to: the first of them and their number, K^(L - stage).
fn ahead(network: &Network, at: RouterId) -> Option<(u32, u32)> {
    let stages = network.shape().stages()?;
    let (stage, position) = (stages.stage(at), stages.position(at));
    let left = stages.weight(stages.stages() - 1 - stage);
    // The digits of the destination that ports of earlier stages have told.
    let told = match network.shape() {
        Shape::Butterfly(_) => position / left,
        Shape::Omega(_) => position % stages.weight(stage),
        _ => return None,
    };
    let count = left * stages.radix();
    Some((told * count, count))
}

impl RoutingRelation for DestinationTag {
    fn name(&self) -> &'static str {
        DESTINATION_TAG.name
    }

    fn supports(&self, network: &Network) -> Result<(), Unsupported> {
        match network.shape() {
            Shape::Butterfly(_) | Shape::Omega(_) => Ok(()),
            _ => Err(DESTINATION_TAG.unsupported(network)),
        }
    }

    fn candidates(
        &self,
        network: &Network,
        at: RouterId,
        _arrived: Option<ChannelId>,
        target: RouterId,
        out: &mut Vec<ChannelId>,
    ) {
        out.clear();
        let Some((first, count)) = ahead(network, at) else { return };
        let Some((node, _)) = ahead(network, target).filter(|&(_, of_target)| of_target < count) else { return };
        let Some(stages) = network.shape().stages().filter(|stages| stages.stage(target) + 1 == stages.stages()) else {
            return;
        };
        if (first..first + count).contains(&node) {
            let port = (node - first) / (count / stages.radix());
            out.extend(network.outputs(at).nth(port as usize));
        }
    }

    fn multidestination(&self) -> Option<&dyn MultidestinationRouting> {
        Some(self)
    }
}

impl MultidestinationRouting for DestinationTag {
    fn is_up(&self, _network: &Network, _channel: ChannelId) -> bool {
        false
    }

    fn decide(
        &self,
        network: &Network,
        at: RouterId,
        _arrived: Option<ChannelId>,
        destinations: &[u64],
        decision: &mut Decision,
    ) {
        decision.reset(destinations.len(), true);
        let Some((first, count)) = ahead(network, at) else { return };
        let outside = |(place, &word): (usize, &u64)| word & !node_set::mask(place, first, first + count) != 0;
        if destinations.iter().enumerate().any(outside) {
            return;
        }
        let outputs = network.outputs(at);
        if outputs.len() == 0 {
            decision.deliveries.extend(node_set::members(destinations));
            return;
        }
        let part = count / outputs.len() as u32;
        for (start, channel) in (first..first + count).step_by(part as usize).zip(outputs) {
            decision.branch(channel, destinations, |place| node_set::mask(place, start, start + part));
        }
    }
}
