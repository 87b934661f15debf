//! Shortest ways in the networks of large machines.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};

use super::machine_ways::{MACHINES, Ways};
use crate::capabilities::{Lanes, RoutingCapabilities, VirtualChannels};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Minimal`].
pub const MINIMAL: RoutingDescriptor = RoutingDescriptor::new(
    "minimal",
    "a shortest way: in a dragonfly the only one between groups, in a HyperX one dimension after the other",
    MACHINES,
    |network, _| Ok(Box::new(Minimal::new(network)?)),
);

/// Minimal routing in a dragonfly, a `HyperX` or a Slim Fly.
///
/// - *Dragonfly*: to the router of the group that has the link to the target's group, over it, and within that group. Hops within a group before and after the one between groups take
///   two classes of virtual channels.
/// - *`HyperX`*: one dimension after the other, the first first, a hop each. One virtual channel will do.
/// - *Slim Fly*: any way of at most two hops, by the smallest channel if several are free. The hop to the target's router takes the second of two classes.
///
/// In a dragonfly two groups are joined by one link, so a way within the rules is not always the shortest one of the graph, which may lead through a third group.
///
/// Source: Kim, Dally, Scott and Abts 2008; Ahn and others 2009; Besta and Hoefler 2014. O(degree) a hop.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{Dependencies, Minimal};
///
/// for (topology, needed) in [("dragonfly:p=1,a=4,h=2", 2), ("hyperx:4x4,nodes=1", 1), ("slimfly:q=5,nodes=1", 2)] {
///     let network = topology.parse::<TopologySpec>()?.build()?;
///     let minimal = Minimal::new(&network)?;
///     let deadlock = |count| Dependencies::of_relation(&minimal).with_virtual_channels(count).deadlock(1);
///     assert!(deadlock(needed).is_none());
///     assert!(needed == 1 || deadlock(1).is_some());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Minimal(Ways);

impl Minimal {
    /// On a dragonfly, a `HyperX` or a Slim Fly.
    ///
    /// # Errors
    /// If the network is none of these.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ways::new(network).map(Self).ok_or_else(|| MINIMAL.unsupported(network))
    }
}

impl RoutingRelation for Minimal {
    fn name(&self) -> &'static str {
        MINIMAL.name
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        self.0.each(at, target, |channel, _| out.push(channel));
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Minimal {
    fn needed(&self) -> u8 {
        self.0.classes()
    }

    fn lanes(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        self.0.lanes(at, target, count, out);
    }
}
