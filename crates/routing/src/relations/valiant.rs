//! Valiant's randomised routing in the networks of large machines.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId, Shape};

use super::machine_ways::{Class, MACHINES, Part, Ways};
use crate::capabilities::{Lanes, RoutingCapabilities, VirtualChannels, Waypoints};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Valiant`], over a router.
pub const VALIANT: RoutingDescriptor = RoutingDescriptor::new(
    "valiant",
    "a shortest way to a router that is drawn at random, and one from there",
    MACHINES,
    |network, _| Ok(Box::new(Valiant::new(network)?)),
);

/// [`Valiant`], over a group of a dragonfly.
pub const VALIANT_GROUP: RoutingDescriptor = RoutingDescriptor::new(
    "valiant-group",
    "a shortest way to a group that is drawn at random, and one from there",
    "a dragonfly",
    |network, _| Ok(Box::new(Valiant::over_groups(network)?)),
);

/// Valiant's randomised routing: a worm goes first to a router that is drawn for it where it starts, and from there to its target, each time as [`Minimal`](crate::Minimal) has it.
/// Over groups, in a dragonfly, it goes first into a group, which it need not cross.
///
/// Hops to the waypoint and those from there on take different classes of virtual channels, on top of those that shortest ways need: in a dragonfly 4 over a router, 3 over a group; in a `HyperX` 2; in a Slim
/// Fly 4. Links between groups need two of them: they are divided by halves. A worm whose waypoint is its source or its target goes straight.
///
/// The distances and loads that an analysis gives are those of the ways without a waypoint. Of the stops of a path worm, only the way to the first leads over a waypoint.
///
/// Source: Valiant 1982; Kim, Dally, Scott and Abts 2008. O(degree) a hop.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{Dependencies, RoutingRelation, Valiant};
///
/// let network = "dragonfly:p=1,a=4,h=2".parse::<TopologySpec>()?.build()?;
/// let is_safe = |relation: &Valiant, count| {
///     Dependencies::of_relation(relation).with_virtual_channels(count).deadlock(1).is_none()
/// };
/// let (over_routers, over_groups) = (Valiant::new(&network)?, Valiant::over_groups(&network)?);
/// assert!(is_safe(&over_routers, 4) && !is_safe(&over_routers, 3));
/// assert!(is_safe(&over_groups, 3) && !is_safe(&over_groups, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Valiant {
    ways: Ways,
    over_groups: bool,
}

impl Valiant {
    /// Over a router, on a dragonfly, a `HyperX` or a Slim Fly.
    ///
    /// # Errors
    /// If the network is none of these.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        let ways = Ways::new(network).ok_or_else(|| VALIANT.unsupported(network))?;
        Ok(Self { ways, over_groups: false })
    }

    /// Over a group of a dragonfly.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn over_groups(network: &Arc<Network>) -> Result<Self, Unsupported> {
        match (network.shape(), Ways::new(network)) {
            (Shape::Dragonfly(_), Some(ways)) => Ok(Self { ways, over_groups: true }),
            _ => Err(VALIANT_GROUP.unsupported(network)),
        }
    }

    pub(super) fn ways(&self) -> &Ways {
        &self.ways
    }

    /// The class of a hop: on the way to the waypoint, or after it.
    fn class(&self, part: Part, before: bool) -> Class {
        let after = u8::from(!before);
        match self.network().shape() {
            _ if part == Part::Between => Class { number: after, of: 2 },
            Shape::HyperX(_) => Class { number: after, of: 2 },
            // On the way to a group there is no hop within it.
            Shape::Dragonfly(_) if self.over_groups => Class { number: after + u8::from(part == Part::Last), of: 3 },
            _ => Class { number: 2 * after + u8::from(part == Part::Last), of: 4 },
        }
    }

    fn lanes(&self, at: RouterId, target: RouterId, before: bool, count: u8, out: &mut Lanes) {
        out.clear();
        self.ways.each(at, target, |channel, part| out.push((channel, self.class(part, before).range(count))));
    }
}

impl RoutingRelation for Valiant {
    fn name(&self) -> &'static str {
        if self.over_groups { VALIANT_GROUP.name } else { VALIANT.name }
    }

    fn network(&self) -> &Arc<Network> {
        self.ways.network()
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        self.ways.each(at, target, |channel, _| out.push(channel));
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), waypoints: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Valiant {
    fn needed(&self) -> u8 {
        match self.network().shape() {
            Shape::HyperX(_) => 2,
            _ if self.over_groups => 3,
            _ => 4,
        }
    }

    fn lanes(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        self.lanes(at, target, false, count, out);
    }
}

impl Waypoints for Valiant {
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        _: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId> {
        let scaled = |of: u32| ((u128::from(drawn) * u128::from(of)) >> 64) as u32;
        match self.network().shape() {
            Shape::Dragonfly(dragonfly) if self.over_groups => {
                let group = scaled(dragonfly.groups());
                let leads_on = ![source, target].map(|router| dragonfly.group(router)).contains(&group);
                // The router at which its worms enter it.
                leads_on.then(|| dragonfly.gateway(group, dragonfly.group(source)))
            }
            _ => {
                let router = RouterId::new(scaled(self.network().routers() as u32));
                (router != source && router != target).then_some(router)
            }
        }
    }

    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool {
        match self.network().shape() {
            Shape::Dragonfly(dragonfly) if self.over_groups => {
                let (from, over) = (dragonfly.group(source), dragonfly.group(waypoint));
                from != over && dragonfly.gateway(over, from) == waypoint
            }
            _ => source != waypoint,
        }
    }

    fn may_lead(&self, source: RouterId, target: RouterId, waypoint: RouterId) -> bool {
        let is_apart = match self.network().shape() {
            Shape::Dragonfly(dragonfly) if self.over_groups => dragonfly.group(target) != dragonfly.group(waypoint),
            _ => target != waypoint,
        };
        is_apart && self.may_lead_over(source, waypoint)
    }

    fn lanes_to(&self, at: RouterId, _: Option<ChannelId>, waypoint: RouterId, count: u8, out: &mut Lanes) {
        self.lanes(at, waypoint, true, count, out);
    }
}
