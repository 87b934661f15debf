//! Negative-first routing.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId};

use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`NegativeFirst`].
pub const NEGATIVE_FIRST: RoutingDescriptor = RoutingDescriptor::new(
    "negative-first",
    "all productive negative directions, then all positive ones",
    "a mesh or a hypercube",
    |network, _| Ok(Box::new(NegativeFirst::new(network)?)),
);

/// Minimal adaptive negative-first routing: all productive moves in negative directions come before any positive one.
///
/// While the target lies in a negative direction, every such direction is a candidate, x first; only then are the
/// positive ones (model.md, rule 12). On hypercubes this is p-cube routing.
///
/// Source: Glass and Ni 1992; paper 1, section 3.1. O(dimensions) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{NegativeFirst, RoutingRelation};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let mut candidates = Vec::new();
/// // From (2,2) to (0,1): west or south.
/// NegativeFirst::new(&mesh)?.candidates(RouterId::new(10), None, RouterId::new(4), &mut candidates);
/// let next: Vec<u32> = candidates.iter().map(|&c| mesh.to(c).raw()).collect();
/// assert_eq!(next, [9, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NegativeFirst {
    network: Arc<Network>,
    grid: Grid,
}

impl NegativeFirst {
    /// On a mesh or a hypercube.
    ///
    /// # Errors
    /// If the network is neither.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        match network.shape().grid() {
            Some(grid) if !network.shape().wraps() => Ok(Self { network: Arc::clone(network), grid: grid.clone() }),
            _ => Err(NEGATIVE_FIRST.unsupported(network)),
        }
    }

    /// The grid of the network.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl RoutingRelation for NegativeFirst {
    fn name(&self) -> &'static str {
        NEGATIVE_FIRST.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        for direction in [Direction::Negative, Direction::Positive] {
            for (dimension, axis) in self.grid.axes().iter().enumerate() {
                let here = axis.coordinate(at.index());
                let there = axis.coordinate(target.index());
                let productive = match direction {
                    Direction::Negative => there < here,
                    Direction::Positive => there > here,
                };
                if productive {
                    out.extend(network.channel_along(at, dimension, direction));
                }
            }
            if !out.is_empty() {
                return;
            }
        }
    }

    /// The first candidate is that of the first dimension, as long as there is any: one dimension after the other.
    fn follow(
        &self,
        from: RouterId,
        _arrived: Option<ChannelId>,
        to: RouterId,
        _candidates: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        let mut at = from;
        for direction in [Direction::Negative, Direction::Positive] {
            for (dimension, axis) in self.grid.axes().iter().enumerate() {
                let (here, there) = axis.coordinates(from.index(), to.index());
                if here == there || (here < there) != (direction == Direction::Positive) {
                    continue;
                }
                match self.network.append_along(at, dimension, (here, there), route) {
                    Some(end) => at = end,
                    None => return false,
                }
            }
        }
        true
    }
}
