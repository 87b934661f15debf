//! North-last routing.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Network, RouterId};

use super::compass::Compass;
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`NorthLast`].
pub const NORTH_LAST: RoutingDescriptor = RoutingDescriptor::new(
    "north-last",
    "every shortest way, but north only when nothing else is left",
    "a 2-D mesh",
    |network, _| Ok(Box::new(NorthLast::new(network)?)),
);

/// Minimal adaptive north-last routing: a hop north, towards larger y, is taken only when no other is left; otherwise every hop on a shortest way will do, x before y.
///
/// No worm that goes north turns. Source: Glass and Ni 1992. O(1) a hop.
#[derive(Clone, Debug)]
pub struct NorthLast(Compass);

impl NorthLast {
    /// On a mesh of two dimensions.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(mesh: &Arc<Network>) -> Result<Self, Unsupported> {
        Compass::new(mesh, &NORTH_LAST).map(Self)
    }
}

impl RoutingRelation for NorthLast {
    fn name(&self) -> &'static str {
        NORTH_LAST.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let (along, across) = self.0.productive(at, target);
        out.clear();
        out.extend(along.map(|(channel, _)| channel));
        if along.is_none() || across.is_some_and(|(_, direction)| direction == Direction::Negative) {
            out.extend(across.map(|(channel, _)| channel));
        }
    }
}
