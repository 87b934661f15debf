//! Odd-even routing.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Network, RouterId};

use super::compass::Compass;
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`OddEven`].
pub const ODD_EVEN: RoutingDescriptor = RoutingDescriptor::new(
    "odd-even",
    "shortest ways whose turns depend on whether the column is odd or even",
    "a 2-D mesh",
    |network, _| Ok(Box::new(OddEven::new(network)?)),
);

/// Minimal adaptive routing by the odd-even turn model: no turn from east to north or south in even columns (of even x), and none from north or south to west in
/// odd ones. What is left of the shortest ways will do, x before y.
///
/// Source: Chiu 2000, whose function asks for the source; the channel of arrival says the same: who came along a column that is even and goes east started in it. O(1) a hop.
#[derive(Clone, Debug)]
pub struct OddEven(Compass);

impl OddEven {
    /// On a mesh of two dimensions.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(mesh: &Arc<Network>) -> Result<Self, Unsupported> {
        Compass::new(mesh, &ODD_EVEN).map(Self)
    }
}

impl RoutingRelation for OddEven {
    fn name(&self) -> &'static str {
        ODD_EVEN.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let (along, across) = self.0.productive(at, target);
        out.clear();
        let Some((channel, direction)) = along else {
            out.extend(across.map(|(channel, _)| channel));
            return;
        };
        let (here, there) = (self.0.x(at), self.0.x(target));
        let is_odd = |x: u32| x % 2 == 1;
        let (straight, turns) = match direction {
            Direction::Positive => {
                let came_east = arrived.is_some_and(|arrived| self.0.x(self.network().from(arrived)) != here);
                (across.is_none() || is_odd(there) || there - here > 1, is_odd(here) || !came_east)
            }
            Direction::Negative => (true, !is_odd(here)),
        };
        out.extend(straight.then_some(channel));
        out.extend(across.filter(|_| turns).map(|(channel, _)| channel));
    }
}
