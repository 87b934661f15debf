//! West-first routing.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Network, RouterId};

use super::compass::Compass;
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`WestFirst`].
pub const WEST_FIRST: RoutingDescriptor = RoutingDescriptor::new(
    "west-first",
    "west as far as need be, then every shortest way",
    "a 2-D mesh",
    |network, _| Ok(Box::new(WestFirst::new(network)?)),
);

/// Minimal adaptive west-first routing: all hops west, towards smaller x, come first; then every hop on a shortest way will do, x before y.
///
/// No worm turns to the west. Source: Glass and Ni 1992. O(1) a hop.
#[derive(Clone, Debug)]
pub struct WestFirst(Compass);

impl WestFirst {
    /// On a mesh of two dimensions.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(mesh: &Arc<Network>) -> Result<Self, Unsupported> {
        Compass::new(mesh, &WEST_FIRST).map(Self)
    }
}

impl RoutingRelation for WestFirst {
    fn name(&self) -> &'static str {
        WEST_FIRST.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let (along, across) = self.0.productive(at, target);
        out.clear();
        out.extend(along.map(|(channel, _)| channel));
        if along.is_none_or(|(_, direction)| direction != Direction::Negative) {
            out.extend(across.map(|(channel, _)| channel));
        }
    }
}
