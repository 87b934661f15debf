//! `HyperX`: a grid whose lines are complete graphs.

use std::fmt;

use crate::ids::RouterId;
use crate::topologies::grid::Grid;

/// A regular `HyperX` (Ahn and others 2009): `hyperx:AxB…,nodes=T`. A grid in which every router is joined to all others that differ from it in one coordinate; with two dimensions
/// also called a flattened butterfly (Kim, Dally and Abts 2007).
///
/// ```
/// use wormcast_network::TopologySpec;
///
/// let network = "hyperx:4x3,nodes=2".parse::<TopologySpec>()?.build()?;
/// assert_eq!((network.routers(), network.nodes(), network.links()), (12, 24, 3 * 6 + 4 * 3));
/// assert_eq!(network.distances().diameter, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HyperX {
    pub(crate) grid: Grid,
    pub(crate) nodes: u32,
}

impl HyperX {
    /// The coordinates of routers.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Nodes of a router.
    pub fn nodes_each(&self) -> u32 {
        self.nodes
    }

    /// The router like `at` but for one coordinate, which is that of `target`.
    #[inline]
    pub fn towards(&self, at: RouterId, target: RouterId, dimension: usize) -> RouterId {
        let [here, there] = [at, target].map(|router| self.grid.coordinate(router.index(), dimension) as usize);
        RouterId::new((at.index() + there * self.grid.stride(dimension) - here * self.grid.stride(dimension)) as u32)
    }

    pub(crate) fn link_count(extents: &[u32]) -> u128 {
        let routers: u128 = extents.iter().map(|&k| u128::from(k)).product();
        extents.iter().map(|&k| routers * u128::from(k - 1) / 2).sum()
    }

    pub(crate) fn links(&self) -> Vec<(u32, u32)> {
        let mut links = Vec::with_capacity(Self::link_count(self.grid.extents()) as usize);
        for router in 0..self.grid.len() {
            for (dimension, &extent) in self.grid.extents().iter().enumerate() {
                let further = 1..extent - self.grid.coordinate(router, dimension);
                links.extend(
                    further.map(|by| (router as u32, (router + by as usize * self.grid.stride(dimension)) as u32)),
                );
            }
        }
        links
    }
}

impl fmt::Display for HyperX {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.grid.extents().iter().map(ToString::to_string).collect();
        write!(f, "hyperx:{},nodes={}", extents.join("x"), self.nodes)
    }
}
