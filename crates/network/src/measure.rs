//! Figures that describe a network: degrees and distances.

use std::collections::VecDeque;

use crate::ids::RouterId;
use crate::network::Network;
use crate::shape::Shape;

/// How many of something routers have, such as channels that leave them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Degrees {
    /// The smallest.
    pub min: usize,
    /// The mean over routers.
    pub mean: f64,
    /// The largest.
    pub max: usize,
}

/// The largest product of routers and channels for which distances are searched from every router: some minutes of work.
const MOST_SEARCHED: u64 = 1 << 36;

/// Hop counts between routers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distances {
    /// Whether every router reaches every other.
    pub connected: bool,
    /// The largest distance between two routers; `None` if they are not all connected, or too many to search from each.
    pub diameter: Option<u32>,
    /// The mean distance over ordered pairs of different routers; `None` where there is no diameter, and for a single
    /// router, as there are no pairs.
    pub average: Option<f64>,
}

impl Network {
    /// The numbers of nodes at routers.
    pub fn nodes_a_router(&self) -> Degrees {
        let nodes = |r| self.nodes_of(RouterId::new(r)).len();
        let routers = self.routers() as u32;
        Degrees {
            min: (0..routers).map(nodes).min().unwrap_or(0),
            mean: self.nodes() as f64 / f64::from(routers.max(1)),
            max: (0..routers).map(nodes).max().unwrap_or(0),
        }
    }

    /// The number of pairs of routers that are joined, however many links they are joined by: O(channels log degree).
    pub fn joined_pairs(&self) -> usize {
        let mut above: Vec<RouterId> = Vec::new();
        let distinct = |router: RouterId| {
            above.clear();
            above.extend(self.outputs(router).map(|channel| self.to(channel)).filter(|&to| to > router));
            above.sort_unstable();
            above.dedup();
            above.len()
        };
        self.router_ids().map(distinct).sum()
    }

    /// The numbers of channels that leave routers.
    pub fn degrees(&self) -> Degrees {
        let degree = |r| self.outputs(RouterId::new(r)).len();
        let routers = self.routers() as u32;
        Degrees {
            min: (0..routers).map(degree).min().unwrap_or(0),
            mean: self.channels() as f64 / f64::from(routers.max(1)),
            max: (0..routers).map(degree).max().unwrap_or(0),
        }
    }

    /// Distances between routers; in unidirectional multistage networks from those at which nodes inject to those at which they consume.
    ///
    /// Grids have closed forms, O(sum of extents); other networks take a breadth-first search from every router,
    /// O(routers x channels); from a product of 2^36 on, only whether they are connected, O(channels).
    pub fn distances(&self) -> Distances {
        match self.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) | Shape::Hypercube(grid) => {
                let wraps = self.shape().wraps();
                let routers = grid.len() as u128;
                let (mut diameter, mut total) = (0u32, 0u128);
                for &k in grid.extents() {
                    let along = |offset: u32| if wraps { offset.min(k - offset) } else { offset };
                    diameter += (0..k).map(along).max().unwrap_or(0);
                    // Ordered pairs of coordinates that lie `offset` apart, times the pairs of the other coordinates.
                    let within: u128 = (1..k).map(|o| 2 * u128::from(k - o) * u128::from(along(o))).sum();
                    let others = routers / u128::from(k);
                    total += within * others * others;
                }
                let pairs = routers * (routers - 1);
                let average = (pairs > 0).then(|| total as f64 / pairs as f64);
                Distances { connected: true, diameter: Some(diameter), average }
            }
            Shape::Butterfly(stages) | Shape::Omega(stages) => {
                let hops = stages.stages() - 1;
                Distances { connected: true, diameter: Some(hops), average: Some(f64::from(hops)) }
            }
            Shape::Bmin(_) | Shape::Irregular => self.searched_distances(),
        }
    }

    fn searched_distances(&self) -> Distances {
        let routers = self.routers();
        let (mut diameter, mut total) = (0u32, 0u64);
        let mut distance = vec![u32::MAX; routers];
        let mut queue = VecDeque::with_capacity(routers);
        let too_many = routers as u64 * self.channels() as u64 > MOST_SEARCHED;
        for source in 0..routers {
            distance.fill(u32::MAX);
            distance[source] = 0;
            queue.push_back(RouterId::new(source as u32));
            let mut reached = 0;
            while let Some(router) = queue.pop_front() {
                let hops = distance[router.index()];
                reached += 1;
                diameter = diameter.max(hops);
                total += u64::from(hops);
                for channel in self.outputs(router) {
                    let next = self.to(channel);
                    if distance[next.index()] == u32::MAX {
                        distance[next.index()] = hops + 1;
                        queue.push_back(next);
                    }
                }
            }
            if reached < routers {
                return Distances { connected: false, diameter: None, average: None };
            }
            if too_many {
                return Distances { connected: true, diameter: None, average: None };
            }
        }
        let pairs = routers * routers.saturating_sub(1);
        let average = (pairs > 0).then(|| total as f64 / pairs as f64);
        Distances { connected: true, diameter: Some(diameter), average }
    }
}

#[cfg(test)]
mod tests {
    use crate::TopologySpec;
    use proptest::prelude::*;

    proptest! {
        /// The closed forms against breadth-first search.
        #[test]
        fn closed_forms_equal_search(extents in prop::collection::vec(1u32..6, 1..4), family in 0..2) {
            let family = ["mesh", "torus"][family as usize];
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let network = format!("{family}:{name}").parse::<TopologySpec>().unwrap().build().unwrap();
            let (closed, searched) = (network.distances(), network.searched_distances());
            prop_assert_eq!(closed.diameter, searched.diameter);
            prop_assert_eq!(closed.average.is_none(), network.routers() == 1, "no pairs, no average");
            match (closed.average, searched.average) {
                (Some(closed), Some(searched)) => prop_assert!((closed - searched).abs() < 1e-12),
                averages => prop_assert_eq!(averages, (None, None)),
            }
        }
    }
}
