//! Routing by nearest common ancestors in fat trees.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};

use super::turnaround::Turnaround;
use crate::capabilities::RoutingCapabilities;
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};
use crate::turns::turn_routing::Adaptivity;

/// [`Nca`].
pub const NCA: RoutingDescriptor = RoutingDescriptor::new(
    "nca",
    "up to a nearest common ancestor by any port, then down",
    "a fat tree, such as `fattree:k=4,levels=3`",
    |network, _| Ok(Box::new(Nca::new(network)?)),
);

/// Up to a nearest common ancestor of source and target, by any port, and down by the only way: [`Turnaround`] under the name that it has for fat trees. Which of the free ports up a header
/// takes is a matter of the switches' selection; other simulators draw it at random.
///
/// Source: Scherson and Chien 1993; Petrini and Vanneschi 1997. No virtual channels needed. O(k) a hop.
#[derive(Clone, Debug)]
pub struct Nca(Turnaround);

impl Nca {
    /// On a fat tree.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Turnaround::new(network, Adaptivity::Adaptive).map(Self).map_err(|_| NCA.unsupported(network))
    }
}

impl RoutingRelation for Nca {
    fn name(&self) -> &'static str {
        NCA.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.0.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        self.0.capabilities()
    }
}
