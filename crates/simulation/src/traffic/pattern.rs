//! Destinations of unicasts: the usual permutations and distributions.

use wormcast_network::{Network, NodeId, Shape};

use crate::config::Pattern;

/// The node that a permutation pattern sends `source`'s unicasts to; `None` for patterns that draw their destinations.
///
/// The error says what the pattern needs and the network lacks.
pub(crate) fn permuted(pattern: Pattern, network: &Network, source: NodeId) -> Result<Option<NodeId>, String> {
    let (nodes, id) = (network.nodes() as u32, source.raw());
    let bits = || {
        nodes
            .is_power_of_two()
            .then(|| nodes.ilog2())
            .ok_or_else(|| format!("needs a power of two of nodes, and {} has {nodes}", network.name()))
    };
    let grid = || network.shape().grid().ok_or_else(|| format!("needs coordinates, and {} has none", network.name()));
    // In a grid, coordinates move, and a node keeps its place among those of a router.
    let router = network.router_of(source);
    let at_router = |to: usize| {
        let each = network.nodes_of(router).len() as u32;
        to as u32 * each + id % each
    };
    let moved = |shift: &dyn Fn(u32, u32) -> u32, dimensions: usize| {
        let grid = grid()?;
        let mut at = grid.coordinates(router.index());
        for (c, &k) in at.iter_mut().zip(grid.extents()).take(dimensions) {
            *c = shift(*c, k) % k;
        }
        Ok::<u32, String>(at_router(grid.index(&at)))
    };
    let to = match pattern {
        Pattern::Uniform | Pattern::HotSpot => return Ok(None),
        Pattern::Transpose => match network.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid)
                if grid.dimensions() > 1 && grid.extents().iter().all(|k| *k == grid.extents()[0]) =>
            {
                let mut at = grid.coordinates(router.index());
                at.reverse();
                at_router(grid.index(&at))
            }
            _ => {
                let bits = bits().map_err(|_| {
                    let network = network.name();
                    format!("needs equal extents in all dimensions, or 2^(2k) nodes, and {network} has {nodes}")
                })?;
                if bits % 2 == 1 {
                    return Err(format!("needs an even number of address bits, and {} has {bits}", network.name()));
                }
                let half = bits / 2;
                (id >> half) | (id & ((1 << half) - 1)) << half
            }
        },
        Pattern::BitComplement => id ^ ((1u32 << bits()?) - 1),
        Pattern::BitReversal => match bits()? {
            0 => id,
            bits => id.reverse_bits() >> (32 - bits),
        },
        Pattern::Shuffle => match bits()? {
            0 => id,
            bits => (id << 1 | id >> (bits - 1)) & ((1 << bits) - 1),
        },
        Pattern::Complement => nodes - 1 - id,
        Pattern::Tornado => moved(&|c, k| c + k.div_ceil(2) - 1, 1)?,
        Pattern::Neighbor => moved(&|c, _| c + 1, usize::MAX)?,
    };
    Ok(Some(NodeId::new(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    fn targets(pattern: Pattern, topology: &str) -> Result<Vec<u32>, String> {
        let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
        let target = |id| permuted(pattern, &network, NodeId::new(id)).map(|to| to.unwrap().raw());
        (0..network.nodes() as u32).map(target).collect()
    }

    #[test]
    fn permutations_by_hand() {
        assert_eq!(targets(Pattern::Transpose, "mesh:3x3").unwrap(), [0, 3, 6, 1, 4, 7, 2, 5, 8]);
        assert_eq!(targets(Pattern::Transpose, "hypercube:4").unwrap()[0b0111], 0b1101);
        assert_eq!(targets(Pattern::BitComplement, "mesh:4").unwrap(), [3, 2, 1, 0]);
        assert_eq!(targets(Pattern::BitReversal, "hypercube:3").unwrap(), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(targets(Pattern::Shuffle, "hypercube:3").unwrap(), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(targets(Pattern::Complement, "mesh:3x2").unwrap(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(targets(Pattern::Tornado, "torus:5x1").unwrap(), [2, 3, 4, 0, 1]);
        assert_eq!(targets(Pattern::Neighbor, "torus:2x2").unwrap(), [3, 2, 1, 0]);
        assert_eq!(targets(Pattern::Neighbor, "torus:2x2,nodes=2").unwrap(), [6, 7, 4, 5, 2, 3, 0, 1]);
        assert_eq!(targets(Pattern::Transpose, "mesh:2x2,nodes=2").unwrap(), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(targets(Pattern::Tornado, "torus:3,nodes=2").unwrap(), [2, 3, 4, 5, 0, 1]);
        assert_eq!(targets(Pattern::Complement, "mesh:2,nodes=2").unwrap(), [3, 2, 1, 0]);
    }

    #[test]
    fn unsuitable_networks_are_refused() {
        assert_eq!(
            targets(Pattern::Shuffle, "mesh:3x3").unwrap_err(),
            "needs a power of two of nodes, and mesh:3x3 has 9"
        );
        assert!(targets(Pattern::Transpose, "mesh:3x2").unwrap_err().starts_with("needs equal extents"));
        assert!(targets(Pattern::Transpose, "hypercube:3").unwrap_err().contains("even number of address bits"));
        assert!(targets(Pattern::Transpose, "mesh:2x4").unwrap_err().contains("even number of address bits"));
    }
}
