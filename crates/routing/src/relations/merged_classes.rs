//! A routing on links that have fewer virtual channels than its classes need.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::{Lanes, RoutingCapabilities, VcRange, VirtualChannels, Waypoints};
use crate::relation::{RoutingRelation, Straight};

/// A relation that [divides virtual channels](VirtualChannels), on links that may have too few of them: the virtual channels that they lack are one with their last. It shows
/// what the classes are for, by worms that run into the deadlock which the static check finds [without them](crate::Dependencies::with_virtual_channels).
///
/// Where links have enough, and of a relation that divides nothing, it is the relation itself.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Duato, MergedClasses, VcRange, VirtualChannels};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let (duato, mut lanes) = (Duato::new(&mesh)?, Vec::new());
/// // Both shortest ways, and the escape, which is one with the first of them.
/// MergedClasses::new(&duato).lanes(RouterId::new(0), None, RouterId::new(5), 1, &mut lanes);
/// assert_eq!(lanes.len(), 2);
/// assert!(lanes.iter().all(|lane| lane.1 == VcRange::only(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct MergedClasses<'r> {
    relation: &'r dyn RoutingRelation,
}

impl<'r> MergedClasses<'r> {
    /// The relation with as many classes as there are virtual channels.
    pub fn new(relation: &'r dyn RoutingRelation) -> Self {
        Self { relation }
    }

    /// How many virtual channels the relation is asked for where links have `count`.
    fn asked(&self, count: u8) -> u8 {
        self.relation.capabilities().virtual_channels.map_or(count, |division| division.needed().max(count))
    }
}

/// Keeps ranges to the virtual channels that there are.
fn merge(lanes: &mut Lanes, count: u8) {
    let last = count.saturating_sub(1);
    let mut kept = 0;
    for index in 0..lanes.len() {
        let (channel, range) = lanes[index];
        let lane = (channel, VcRange { first: range.first.min(last), last: range.last.min(last) });
        if !lanes[..kept].contains(&lane) {
            lanes[kept] = lane;
            kept += 1;
        }
    }
    lanes.truncate(kept);
}

impl RoutingRelation for MergedClasses<'_> {
    fn name(&self) -> &'static str {
        self.relation.name()
    }

    fn network(&self) -> &Arc<Network> {
        self.relation.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.relation.candidates(at, arrived, target, out);
    }

    fn straight(&self, at: RouterId, target: RouterId) -> Option<Straight> {
        self.relation.straight(at, target)
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        let of_relation = self.relation.capabilities();
        RoutingCapabilities {
            virtual_channels: of_relation.virtual_channels.map(|_| self as &dyn VirtualChannels),
            waypoints: of_relation.waypoints.map(|_| self as &dyn Waypoints),
            ..of_relation
        }
    }
}

impl VirtualChannels for MergedClasses<'_> {
    fn needed(&self) -> u8 {
        1
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        if let Some(division) = self.relation.capabilities().virtual_channels {
            division.lanes(at, arrived, target, self.asked(count), out);
            merge(out, count);
        }
    }
}

impl Waypoints for MergedClasses<'_> {
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        load: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId> {
        self.relation.capabilities().waypoints?.waypoint(source, target, drawn, load)
    }

    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool {
        self.relation.capabilities().waypoints.is_some_and(|waypoints| waypoints.may_lead_over(source, waypoint))
    }

    fn may_lead(&self, source: RouterId, target: RouterId, waypoint: RouterId) -> bool {
        let waypoints = self.relation.capabilities().waypoints;
        waypoints.is_some_and(|waypoints| waypoints.may_lead(source, target, waypoint))
    }

    fn lanes_to(&self, at: RouterId, arrived: Option<ChannelId>, waypoint: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        if let Some(waypoints) = self.relation.capabilities().waypoints {
            waypoints.lanes_to(at, arrived, waypoint, self.asked(count), out);
            merge(out, count);
        }
    }
}
