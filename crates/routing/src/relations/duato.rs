//! Fully adaptive minimal routing with an escape class.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId, Shape};

use super::dateline::Dateline;
use super::e_cube::ECube;
use crate::capabilities::{Lanes, RoutingCapabilities, VcRange, VirtualChannels};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Duato`].
pub const DUATO: RoutingDescriptor = RoutingDescriptor::new(
    "duato",
    "every shortest way on virtual channels of its own, and e-cube on the others as an escape",
    "a mesh, a torus or a hypercube",
    |network, _| Ok(Box::new(Duato::new(network)?)),
);

/// Fully adaptive minimal routing: a header may take any channel on a shortest way, on the adaptive virtual channels, or else the one that e-cube takes, on an escape
/// virtual channel.
///
/// Virtual channel 0 is the escape; on tori, 0 and 1, as [`Dateline`] divides them. All others are adaptive, and preferred. A header may leave the escape again. The
/// dependencies have cycles, but each header in them can also wait for the escape, which has none.
///
/// Source: Duato 1993. O(dimensions) a hop.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{Dependencies, Duato};
///
/// for (topology, needed) in [("mesh:4x4", 2), ("torus:5x5", 3), ("hypercube:4", 2)] {
///     let network = topology.parse::<TopologySpec>()?.build()?;
///     let duato = Duato::new(&network)?;
///     let deadlock = |count| Dependencies::of_relation(&duato).with_virtual_channels(count).deadlock(1);
///     assert!(deadlock(needed).is_none() && deadlock(1).is_some());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Duato {
    grid: Grid,
    escape: Escape,
}

#[derive(Clone, Debug)]
enum Escape {
    ECube(ECube),
    Dateline(Dateline),
}

impl Duato {
    /// On a mesh, a torus or a hypercube.
    ///
    /// # Errors
    /// If the network is none of these.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        let unsupported = |_| DUATO.unsupported(network);
        let ways = ECube::new(network).map_err(unsupported)?;
        let grid = ways.grid().clone();
        let escape = match network.shape() {
            Shape::Torus(_) => Escape::Dateline(Dateline::new(network, false).map_err(unsupported)?),
            _ => Escape::ECube(ways),
        };
        Ok(Self { grid, escape })
    }

    /// The channels on shortest ways, by dimension.
    fn productive(&self, at: RouterId, target: RouterId, mut take: impl FnMut(ChannelId)) {
        let network = self.network();
        for (dimension, axis) in self.grid.axes().iter().enumerate() {
            let (here, there) = (axis.coordinate(at.index()), axis.coordinate(target.index()));
            if here == there {
                continue;
            }
            let k = axis.extent();
            let (forward, backward) = if network.shape().wraps() {
                ((there + k - here) % k, (here + k - there) % k)
            } else {
                (u32::from(there < here), u32::from(there > here))
            };
            if forward <= backward {
                network.channel_along(at, dimension, Direction::Positive).into_iter().for_each(&mut take);
            }
            if backward <= forward {
                network.channel_along(at, dimension, Direction::Negative).into_iter().for_each(&mut take);
            }
        }
    }
}

impl RoutingRelation for Duato {
    fn name(&self) -> &'static str {
        DUATO.name
    }

    fn network(&self) -> &Arc<Network> {
        match &self.escape {
            Escape::ECube(ways) => ways.network(),
            Escape::Dateline(ways) => ways.network(),
        }
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        self.productive(at, target, |channel| out.push(channel));
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Duato {
    fn needed(&self) -> u8 {
        match self.escape {
            Escape::ECube(_) => 2,
            Escape::Dateline(_) => 3,
        }
    }

    fn lanes(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        let adaptive = VcRange { first: self.needed() - 1, last: count - 1 };
        self.productive(at, target, |channel| out.push((channel, adaptive)));
        let escape = match &self.escape {
            // The first productive dimension, or in hypercubes the last.
            Escape::ECube(_) if matches!(self.network().shape(), Shape::Hypercube(_)) => out.last().map(|at| (at.0, 0)),
            Escape::ECube(_) => out.first().map(|at| (at.0, 0)),
            Escape::Dateline(ways) => ways.step(at, None, target).map(|(channel, class)| (channel, class.unwrap_or(0))),
        };
        out.extend(escape.map(|(channel, class)| (channel, VcRange::only(class))));
    }
}
