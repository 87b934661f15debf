//! Dimension-order routing on tori with a dateline in every ring.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Network, RouterId};

use super::e_cube::ECube;
use crate::capabilities::{Lanes, RoutingCapabilities, VcRange, VirtualChannels};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Dateline`].
pub const DATELINE: RoutingDescriptor = RoutingDescriptor::new(
    "dateline",
    "e-cube on a torus, whose worms change to the second class of virtual channels at the dateline of a ring",
    "a torus",
    |network, _| Ok(Box::new(Dateline::new(network, false)?)),
);

/// [`Dateline`], balanced.
pub const DATELINE_BALANCED: RoutingDescriptor = RoutingDescriptor::new(
    "dateline-balanced",
    "as `dateline`, but worms that do not cross a dateline may take either class",
    "a torus",
    |network, _| Ok(Box::new(Dateline::new(network, true)?)),
);

/// [E-cube routing](ECube) on a torus with two classes of virtual channels.
///
/// The dateline of a ring is the link between its last router and router 0, for both directions. A worm that has still to cross it takes the first half of the
/// virtual channels, that link included; one that has crossed it, or never will, the second half. So neither class closes a ring.
///
/// Balanced, a worm that does not cross the dateline may take any virtual channel on the link by which it enters the ring, and on the links after that if its
/// target lies so far on that no shortest way to it has crossed the dateline before. (Elsewhere a header, which knows only the channel by which it came, cannot tell.) The
/// dependencies then have cycles, but the second class, which has none, is open to everyone in them.
///
/// Source: Dally and Seitz 1987; Dally and Towles 2004, section 14.2.3. O(dimensions) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Dateline, Dependencies, VcRange, VirtualChannels};
///
/// let ring = "torus:8".parse::<TopologySpec>()?.build()?;
/// let dateline = Dateline::new(&ring, false)?;
/// let mut lanes = Vec::new();
/// // From 6 to 1: over the dateline, behind 7.
/// let mut class = |at| {
///     dateline.lanes(RouterId::new(at), None, RouterId::new(1), 2, &mut lanes);
///     lanes[0].1
/// };
/// assert_eq!([class(6), class(7), class(0)], [0, 0, 1].map(VcRange::only));
/// assert!(Dependencies::of_relation(&dateline).with_virtual_channels(2).deadlock(1).is_none());
/// assert!(Dependencies::of_relation(&dateline).with_virtual_channels(1).deadlock(1).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dateline {
    ways: ECube,
    balanced: bool,
}

impl Dateline {
    /// On a torus of any number of dimensions.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(torus: &Arc<Network>, balanced: bool) -> Result<Self, Unsupported> {
        let descriptor = if balanced { DATELINE_BALANCED } else { DATELINE };
        match ECube::new(torus) {
            Ok(ways) if torus.shape().wraps() => Ok(Self { ways, balanced }),
            _ => Err(descriptor.unsupported(torus)),
        }
    }

    /// The channel that e-cube takes, and which half of the virtual channels with it; `None` of them: either.
    pub(super) fn step(
        &self,
        at: RouterId,
        arrived: Option<ChannelId>,
        target: RouterId,
    ) -> Option<(ChannelId, Option<u8>)> {
        let network = self.network();
        for (dimension, axis) in self.ways.grid().axes().iter().enumerate() {
            let (here, there) = (axis.coordinate(at.index()), axis.coordinate(target.index()));
            if here == there {
                continue;
            }
            let k = axis.extent();
            let forward = (there + k - here) % k;
            let direction = if forward <= k - forward { Direction::Positive } else { Direction::Negative };
            let channel = network.channel_along(at, dimension, direction)?;
            let crosses = if direction == Direction::Positive { here > there } else { here < there };
            // Where the target would lie with the dateline behind router 0: a way that has crossed it leads at most so far.
            let behind = if direction == Direction::Positive { there } else { k - 1 - there };
            let from_there = if direction == Direction::Positive { k / 2 } else { (k - 1) / 2 };
            let enters = || arrived.is_none_or(|arrived| axis.coordinate(network.from(arrived).index()) == here);
            let class = if crosses {
                Some(0)
            } else if self.balanced && (behind >= from_there || enters()) {
                None
            } else {
                Some(1)
            };
            return Some((channel, class));
        }
        None
    }
}

impl RoutingRelation for Dateline {
    fn name(&self) -> &'static str {
        if self.balanced { DATELINE_BALANCED.name } else { DATELINE.name }
    }

    fn network(&self) -> &Arc<Network> {
        self.ways.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.ways.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Dateline {
    fn needed(&self) -> u8 {
        2
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        let half = count / 2;
        out.extend(self.step(at, arrived, target).map(|(channel, class)| {
            let range = match class {
                Some(0) => VcRange { first: 0, last: half - 1 },
                Some(_) => VcRange { first: half, last: count - 1 },
                None => VcRange { first: 0, last: count - 1 },
            };
            (channel, range)
        }));
    }
}
