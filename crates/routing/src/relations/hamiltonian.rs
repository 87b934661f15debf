//! Routing by the labels of a Hamiltonian path.

use std::sync::Arc;

use wormcast_network::{ChannelId, Grid, Network, RouterId};

use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`Hamiltonian`].
pub const HAMILTONIAN: RoutingDescriptor = RoutingDescriptor::new(
    "hamiltonian",
    "one channel: along labels that rise, or fall, all the way",
    "a mesh",
    |network, _| Ok(Box::new(Hamiltonian::new(network)?)),
);

/// The position of a router on the boustrophedon Hamiltonian path of a mesh, from 0.
///
/// The path runs along dimension 0, turns round at each end, and steps through the higher dimensions in the same manner:
/// in two dimensions the label of (x, y) is `y*k0 + x` in even rows and `y*k0 + k0 - 1 - x` in odd ones (Lin, McKinley
/// and Ni 1994).
pub fn hamiltonian_label(grid: &Grid, router: RouterId) -> u32 {
    (0..grid.dimensions()).rev().fold(0, |label, dimension| {
        let k = grid.extents()[dimension];
        let c = grid.coordinate(router.index(), dimension);
        let digit = if label % 2 == 0 { c } else { k - 1 - c };
        label * k + digit
    })
}

/// The routing function of path-based multicast: towards a higher label take the neighbour with the greatest label that
/// does not exceed the target's; towards a lower label, the smallest that is not below it.
///
/// Labels along a route only rise or only fall, so two acyclic subnetworks carry all worms. The next router on the
/// Hamiltonian path is always a neighbour, so every target is reached.
///
/// Source: Lin, McKinley and Ni 1994, the function R. O(degree x dimensions) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Hamiltonian, append_route};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let mut route = Vec::new();
/// // From (0,0), label 0, to (1,1), label 6: up to (0,1), label 7, would overshoot, so go east first.
/// append_route(&Hamiltonian::new(&mesh)?, RouterId::new(0), None, RouterId::new(5), &mut route)?;
/// let visited: Vec<u32> = route.iter().map(|&c| mesh.to(c).raw()).collect();
/// assert_eq!(visited, [1, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hamiltonian {
    network: Arc<Network>,
    grid: Grid,
}

impl Hamiltonian {
    /// On a mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        match network.shape().mesh() {
            Some(grid) => Ok(Self { network: Arc::clone(network), grid: grid.clone() }),
            None => Err(HAMILTONIAN.unsupported(network)),
        }
    }

    /// The grid of the network.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl RoutingRelation for Hamiltonian {
    fn name(&self) -> &'static str {
        HAMILTONIAN.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        let grid = &self.grid;
        let (here, there) = (hamiltonian_label(grid, at), hamiltonian_label(grid, target));
        let neighbours = network.outputs(at).map(|channel| (hamiltonian_label(grid, network.to(channel)), channel));
        let next = if there > here {
            neighbours.filter(|&(label, _)| label > here && label <= there).max()
        } else {
            neighbours.filter(|&(label, _)| label < here && label >= there).min()
        };
        out.extend(next.map(|(_, channel)| channel));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;

    proptest! {
        #[test]
        fn consecutive_labels_are_neighbours(extents in prop::collection::vec(1u32..6, 1..4)) {
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let mesh = format!("mesh:{name}").parse::<TopologySpec>().unwrap().build().unwrap();
            let grid = mesh.shape().mesh().unwrap();
            let mut by_label = vec![None; mesh.routers()];
            for router in mesh.router_ids() {
                by_label[hamiltonian_label(grid, router) as usize] = Some(router);
            }
            let path: Vec<_> = by_label.into_iter().map(|r| r.expect("labels are a permutation")).collect();
            for pair in path.windows(2) {
                prop_assert!(mesh.channel_between(pair[0], pair[1]).is_some());
            }
        }
    }
}
