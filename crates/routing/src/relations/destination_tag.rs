//! Destination-tag routing on unidirectional multistage networks.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId, Shape, Stages};

use crate::capabilities::RoutingCapabilities;
use crate::multidestination::{Decision, MultidestinationRouting, node_set};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`DestinationTag`].
pub const DESTINATION_TAG: RoutingDescriptor = RoutingDescriptor::new(
    "destination-tag",
    "one channel: by the digits of the destination",
    "a unidirectional multistage network, such as `omega:4x3`",
    |network, _| Ok(Box::new(DestinationTag::new(network)?)),
);

/// Destination-tag routing: at stage s a worm takes the port given by digit L - 1 - s of the destination.
///
/// Source: paper 4, sections 2 and 3.3: a unidirectional multistage network has one route from each node to each other, through all stages.
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
/// append_route(&DestinationTag::new(&network)?, from, None, to, &mut route)?;
/// // 6 is 110: by port 1, by port 1, and at the last stage by port 0 to the node.
/// let ports: Vec<_> = route.iter().map(|&channel| network.port_of(channel)).collect();
/// assert_eq!(ports, [Some(1), Some(1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DestinationTag {
    network: Arc<Network>,
    stages: Stages,
    /// Whether stages are wired as in an omega network, not a butterfly.
    omega: bool,
}

impl DestinationTag {
    /// On a unidirectional multistage network.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        let (stages, omega) = match network.shape() {
            Shape::Butterfly(stages) => (*stages, false),
            Shape::Omega(stages) => (*stages, true),
            _ => return Err(DESTINATION_TAG.unsupported(network)),
        };
        Ok(Self { network: Arc::clone(network), stages, omega })
    }

    /// The nodes that a switch leads to: the first of them and their number, K^(L - stage).
    fn ahead(&self, at: RouterId) -> (u32, u32) {
        let stages = &self.stages;
        let (stage, position) = (stages.stage(at), stages.position(at));
        let left = stages.weight(stages.stages() - 1 - stage);
        // The digits of the destination that ports of earlier stages have told.
        let told = if self.omega { position % stages.weight(stage) } else { position / left };
        let count = left * stages.radix();
        (told * count, count)
    }
}

impl RoutingRelation for DestinationTag {
    fn name(&self) -> &'static str {
        DESTINATION_TAG.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let Self { network, stages, .. } = self;
        out.clear();
        let (first, count) = self.ahead(at);
        let (node, of_target) = self.ahead(target);
        if of_target >= count || stages.stage(target) + 1 != stages.stages() {
            return;
        }
        if (first..first + count).contains(&node) {
            let port = (node - first) / (count / stages.radix());
            out.extend(network.outputs(at).nth(port as usize));
        }
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { multidestination: Some(self), ..RoutingCapabilities::default() }
    }
}

impl MultidestinationRouting for DestinationTag {
    fn is_up(&self, _channel: ChannelId) -> bool {
        false
    }

    fn decide(&self, at: RouterId, _arrived: Option<ChannelId>, destinations: &[u64], decision: &mut Decision) {
        let network = self.network();
        decision.reset(destinations.len(), true);
        let (first, count) = self.ahead(at);
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
