//! What the turn models of 2-D meshes have in common.

use std::sync::Arc;

use wormcast_network::{Axis, ChannelId, Direction, Grid, Network, RouterId};

use crate::registry::RoutingDescriptor;
use crate::relation::Unsupported;

/// A mesh of two dimensions: x grows east, y north.
#[derive(Clone, Debug)]
pub(super) struct Compass {
    network: Arc<Network>,
    axes: [Axis; 2],
}

/// A channel on a shortest way, and where it leads along its dimension.
pub(super) type Step = Option<(ChannelId, Direction)>;

impl Compass {
    pub(super) fn new(mesh: &Arc<Network>, routing: &RoutingDescriptor) -> Result<Self, Unsupported> {
        match mesh.shape().mesh().map(Grid::axes) {
            Some(&[x, y]) => Ok(Self { network: Arc::clone(mesh), axes: [x, y] }),
            _ => Err(routing.unsupported(mesh)),
        }
    }

    pub(super) fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The column of a router.
    pub(super) fn x(&self, router: RouterId) -> u32 {
        self.axes[0].coordinate(router.index())
    }

    /// The channels on shortest ways: along x and along y.
    pub(super) fn productive(&self, at: RouterId, target: RouterId) -> (Step, Step) {
        (self.step(at, target, 0), self.step(at, target, 1))
    }

    /// The channel on shortest ways along a dimension.
    #[inline]
    pub(super) fn step(&self, at: RouterId, target: RouterId, dimension: usize) -> Step {
        let (here, there) = self.axes[dimension].coordinates(at.index(), target.index());
        let direction = if there > here { Direction::Positive } else { Direction::Negative };
        if here == there {
            return None;
        }
        Some((self.network.channel_along(at, dimension, direction)?, direction))
    }
}
