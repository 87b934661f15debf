//! Universal globally adaptive load-balanced routing in the networks of large machines.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};

use super::machine_ways::MACHINES;
use super::valiant::Valiant;
use crate::capabilities::{Lanes, RoutingCapabilities, Waypoints};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Ugal`].
pub const UGAL: RoutingDescriptor = RoutingDescriptor::new(
    "ugal",
    "a shortest way, or one as `valiant` has it, whichever looks shorter by the load of its first channel",
    MACHINES,
    |network, _| Ok(Box::new(Ugal::new(network)?)),
);

/// UGAL with local knowledge: each worm draws a waypoint as with [`Valiant`], and goes straight if the load of the first channel of that way, times its hops, is at most that of the way over the waypoint.
///
/// The load of a channel is the number of its virtual channels that are held, and of the requests that wait for it. Classes are as with [`Valiant`], of which it takes a part of the ways.
///
/// Source: Singh 2005; Kim, Dally, Scott and Abts 2008 (UGAL-L). O(degree) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{RoutingRelation, Ugal, Waypoints};
///
/// let network = "hyperx:8,nodes=1".parse::<TopologySpec>()?.build()?;
/// let ugal = Ugal::new(&network)?;
/// let busy = network.channel_between(RouterId::new(0), RouterId::new(1)).unwrap();
/// let over = |load| ugal.waypoint(RouterId::new(0), RouterId::new(1), u64::MAX, &|channel| if channel == busy { load } else { 1 });
/// // One hop against two, over router 7.
/// assert_eq!([over(2), over(3)], [None, Some(RouterId::new(7))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ugal(Valiant);

impl Ugal {
    /// On a dragonfly, a `HyperX` or a Slim Fly.
    ///
    /// # Errors
    /// If the network is none of these.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Valiant::new(network).map(Self).map_err(|_| UGAL.unsupported(network))
    }
}

impl RoutingRelation for Ugal {
    fn name(&self) -> &'static str {
        UGAL.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.0.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(&self.0), waypoints: Some(self), ..RoutingCapabilities::default() }
    }
}

impl Waypoints for Ugal {
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        load: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId> {
        let waypoint = self.0.waypoint(source, target, drawn, load)?;
        let ways = self.0.ways();
        let (straight, hops) = ways.shortest(source, target)?;
        let (around, to) = ways.shortest(source, waypoint)?;
        let (_, from) = ways.shortest(waypoint, target)?;
        (u64::from(load(straight)) * hops > u64::from(load(around)) * (to + from)).then_some(waypoint)
    }

    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool {
        self.0.may_lead_over(source, waypoint)
    }

    fn may_lead(&self, source: RouterId, target: RouterId, waypoint: RouterId) -> bool {
        let first = |to| self.0.ways().shortest(source, to).map(|(channel, _)| channel);
        self.0.may_lead(source, target, waypoint) && first(target) != first(waypoint)
    }

    fn lanes_to(&self, at: RouterId, arrived: Option<ChannelId>, waypoint: RouterId, count: u8, out: &mut Lanes) {
        self.0.lanes_to(at, arrived, waypoint, count, out);
    }
}
