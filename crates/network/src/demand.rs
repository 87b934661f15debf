//! Estimates how much memory a network takes, before it is built.

use crate::memory::{Bytes, MemoryError, require_memory};
use crate::topologies::graph_spec::GraphSpec;
use crate::topologies::spec::TopologySpec;

/// Bytes that building takes at its peak, as `tests/memory.rs` measures them: a channel of a grid and a router have their place in the
/// arrays, other networks are lists of links first.
mod bytes {
    pub(super) const GRID_CHANNEL: u64 = 12;
    pub(super) const GRID_ROUTER: u64 = 4;
    /// A node where routers have several, and as much a router.
    pub(super) const GRID_NODE: u64 = 4;
    /// A link of a graph, including the set that keeps random links distinct.
    pub(super) const RANDOM_LINK: u64 = 80;
    pub(super) const LINK: u64 = 48;
    pub(super) const GRAPH_ROUTER: u64 = 32;
    pub(super) const BMIN_LINK: u64 = 100;
    pub(super) const ONE_WAY_CHANNEL: u64 = 36;
    pub(super) const SWITCH: u64 = 24;
    pub(super) const STAGE_NODE: u64 = 24;
    /// A byte of a file, with the text.
    pub(super) const FILE: u64 = 17;
}

impl TopologySpec {
    /// The peak memory that building the network takes, in bytes, rounded up; `None` for a file that does not exist. For files it
    /// is estimated from their length.
    ///
    /// ```
    /// use wormcast_network::TopologySpec;
    ///
    /// let cube: TopologySpec = "hypercube:24".parse()?;
    /// // 24 x 2^24 channels of 12 bytes, 2^24 routers of 4.
    /// assert_eq!(cube.memory(), Some((24 * 12 + 4) << 24));
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    pub fn memory(&self) -> Option<u64> {
        let routers = |extents: &[u32]| extents.iter().map(|&k| u64::from(k)).product::<u64>();
        let grid = |routers: u64, channels: u64, each: u32| {
            let nodes = if each > 1 { routers * u64::from(each + 1) * bytes::GRID_NODE } else { 0 };
            routers * bytes::GRID_ROUTER + channels * bytes::GRID_CHANNEL + nodes
        };
        let stages = |radix: u32, stages: u32| {
            let nodes = u64::from(radix).pow(stages);
            (nodes, nodes / u64::from(radix) * u64::from(stages), nodes * u64::from(stages - 1))
        };
        Some(match self {
            Self::Mesh(extents, each) => {
                let all = routers(extents);
                grid(all, extents.iter().map(|&k| 2 * (all - all / u64::from(k))).sum(), *each)
            }
            Self::Torus(extents, each) => {
                let all = routers(extents);
                grid(all, 2 * all * extents.iter().filter(|&&k| k > 1).count() as u64, *each)
            }
            Self::Hypercube(n) => grid(1 << n, u64::from(*n) << n, 1),
            Self::Bmin(radix, count) | Self::FatTree(radix, count) => {
                let (nodes, switches, links) = stages(*radix, *count);
                nodes * bytes::STAGE_NODE + switches * bytes::SWITCH + links * bytes::BMIN_LINK
            }
            Self::Butterfly(radix, count) | Self::Omega(radix, count) => {
                let (nodes, switches, channels) = stages(*radix, *count);
                nodes * bytes::STAGE_NODE + switches * bytes::SWITCH + channels * bytes::ONE_WAY_CHANNEL
            }
            Self::Machine(machine) => {
                let (routers, links, nodes) = machine.sizes();
                let nodes = nodes as u64 * bytes::STAGE_NODE;
                routers as u64 * bytes::GRAPH_ROUTER + links as u64 * bytes::LINK + nodes
            }
            Self::Graph(graph) => graph.memory(),
            Self::File(path) => std::fs::metadata(path).ok()?.len().checked_mul(bytes::FILE)?,
        })
    }

    /// The next smaller network of the family.
    fn smaller(&self) -> Option<Self> {
        let extents = |extents: &[u32]| {
            let mut extents = extents.to_vec();
            let longest = extents.iter_mut().max().filter(|longest| **longest > 1)?;
            *longest -= (*longest / 16).max(1);
            Some(extents)
        };
        let stages = |count: u32| count.checked_sub(1).filter(|&count| count > 0);
        match self {
            Self::Mesh(given, nodes) => extents(given).map(|extents| Self::Mesh(extents, *nodes)),
            Self::Torus(given, nodes) => extents(given).map(|extents| Self::Torus(extents, *nodes)),
            Self::Hypercube(n) => n.checked_sub(1).filter(|&n| n > 0).map(Self::Hypercube),
            Self::Bmin(radix, count) => stages(*count).map(|count| Self::Bmin(*radix, count)),
            Self::FatTree(radix, count) => stages(*count).map(|count| Self::FatTree(*radix, count)),
            Self::Machine(machine) => machine.smaller().map(Self::Machine),
            Self::Butterfly(radix, count) => stages(*count).map(|count| Self::Butterfly(*radix, count)),
            Self::Omega(radix, count) => stages(*count).map(|count| Self::Omega(*radix, count)),
            Self::Graph(graph) => graph.smaller().map(Self::Graph),
            Self::File(_) => None,
        }
    }

    /// The largest of the next smaller networks of the family that fits: of at most 4,096 of them.
    pub fn largest_that(&self, fits: impl Fn(&Self) -> bool) -> Option<Self> {
        std::iter::successors(self.smaller(), Self::smaller).take(4096).find(fits)
    }

    /// Refuses a network that does not fit in memory, and names a smaller one that does.
    pub(crate) fn check_memory(&self) -> Result<(), MemoryError> {
        let Some(needed) = self.memory() else { return Ok(()) };
        require_memory(format_args!("topology `{self}`"), needed, |available| {
            // What the process has by itself differs a little from one run to the next.
            let room = available / 10 * 9;
            let spec = self.largest_that(|spec| spec.memory().is_some_and(|needed| needed <= room))?;
            Some(format!("`{spec}` fits, with {}", Bytes(spec.memory()?)))
        })
    }
}

impl GraphSpec {
    fn memory(&self) -> u64 {
        let (nodes, links, link) = match *self {
            Self::Random { nodes, degree, .. } => (nodes, degree.half_of(u64::from(nodes)), bytes::RANDOM_LINK),
            Self::Regular { nodes, degree, .. } | Self::SmallWorld { nodes, degree, .. } => {
                (nodes, u128::from(nodes) * u128::from(degree) / 2, bytes::RANDOM_LINK)
            }
            Self::Tree { nodes, .. } | Self::Ring(nodes) => (nodes, u128::from(nodes), bytes::LINK),
            Self::Complete(nodes) => (nodes, pairs(nodes), bytes::LINK),
            Self::Petersen => (10, 15, bytes::LINK),
        };
        u64::from(nodes) * bytes::GRAPH_ROUTER + links as u64 * link
    }

    fn smaller(&self) -> Option<Self> {
        // An even number of routers is right for every degree.
        let fewer = |nodes: u32| (nodes - (nodes / 16).max(2)) & !1;
        let fewer = |nodes: u32, least: u32| (nodes > least + 2).then(|| fewer(nodes).max(least));
        Some(match *self {
            Self::Random { nodes, degree, seed } => {
                // The average degree stays possible as long as there are more routers than it.
                let nodes = fewer(nodes, 4)?;
                let links = degree.half_of(u64::from(nodes));
                (u128::from(nodes) - 1..=pairs(nodes)).contains(&links).then_some(Self::Random {
                    nodes,
                    degree,
                    seed,
                })?
            }
            Self::Regular { nodes, degree, seed } => {
                Self::Regular { nodes: fewer(nodes, (degree + 2) & !1)?, degree, seed }
            }
            Self::SmallWorld { nodes, degree, rewire, seed } => {
                Self::SmallWorld { nodes: fewer(nodes, degree + 2)?, degree, rewire, seed }
            }
            Self::Tree { nodes, seed } => Self::Tree { nodes: fewer(nodes, 2)?, seed },
            Self::Ring(nodes) => Self::Ring(fewer(nodes, 4)?),
            Self::Complete(nodes) => Self::Complete(fewer(nodes, 2)?),
            Self::Petersen => return None,
        })
    }
}

/// Pairs of routers.
fn pairs(nodes: u32) -> u128 {
    u128::from(nodes) * u128::from(nodes.saturating_sub(1)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_network_of_the_family_is_one_that_there_is() {
        for text in [
            "mesh:64x64",
            "torus:9x7x5",
            "mesh:16x16,nodes=4",
            "torus:8x8,nodes=3",
            "hypercube:12",
            "bmin:4x4",
            "fattree:k=4,levels=4",
            "dragonfly:p=2,a=6,h=3",
            "hyperx:6x4x3,nodes=3",
            "slimfly:q=13,nodes=4",
            "omega:3x5",
            "random:nodes=500,degree=6,seed=3",
            "random:nodes=100,degree=98,seed=3",
            "regular:nodes=128,degree=7,seed=3",
            "small-world:nodes=128,degree=6,rewire=0.2,seed=3",
            "tree:nodes=77,seed=3",
            "ring:99",
            "complete:60",
        ] {
            let spec: TopologySpec = text.parse().unwrap();
            let mut before = spec.memory().unwrap();
            for smaller in std::iter::successors(spec.smaller(), TopologySpec::smaller) {
                let again: TopologySpec = smaller.to_string().parse().unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(again, smaller);
                let memory = smaller.memory().unwrap();
                assert!(memory < before, "{smaller} after {text}");
                before = memory;
            }
        }
    }
}
