//! Routing by the labels of a Hamiltonian path.

use std::sync::Arc;

use wormcast_network::{ChannelId, Grid, Network, RouterId};

use crate::capabilities::{ClosedForm, RoutingCapabilities};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};
use crate::relations::e_cube::grid_lengths;

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
/// Source: Lin, McKinley and Ni 1994, the function R. O(degree) a hop; 4 bytes a router, and 4 a channel.
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
    /// By router.
    labels: Arc<[u32]>,
    /// By channel, those of the routers that they enter.
    ahead: Arc<[u32]>,
}

impl Hamiltonian {
    /// On a mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        match network.shape().mesh() {
            Some(grid) => {
                let labels: Arc<[u32]> = network.router_ids().map(|router| hamiltonian_label(grid, router)).collect();
                let ahead = network.channel_ids().map(|channel| labels[network.to(channel).index()]).collect();
                Ok(Self { network: Arc::clone(network), grid: grid.clone(), labels, ahead })
            }
            None => Err(HAMILTONIAN.unsupported(network)),
        }
    }

    /// The grid of the network.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The [label](hamiltonian_label) of a router.
    #[inline]
    pub fn label(&self, router: RouterId) -> u32 {
        self.labels[router.index()]
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
        out.clear();
        out.extend(self.next(at, target));
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        let plane = self.grid.dimensions() <= 2;
        let closed_form = plane.then_some(self as &dyn ClosedForm);
        RoutingCapabilities { closed_form, ..RoutingCapabilities::default() }
    }
}

impl Hamiltonian {
    /// The one channel towards a target.
    #[inline]
    pub(super) fn next(&self, at: RouterId, target: RouterId) -> Option<ChannelId> {
        let (here, there) = (self.label(at), self.label(target));
        let (first, end) = self.network.output_places(at);
        let ahead = (first..end).zip(&self.ahead[first as usize..end as usize]);
        // The label that is nearest to the target's, and not beyond. No two are the same.
        let mut best = (u32::MAX, None);
        for (channel, &label) in ahead {
            let (is_on_the_way, left) = if there > here {
                (label > here && label <= there, there.wrapping_sub(label))
            } else {
                (label < here && label >= there, label.wrapping_sub(there))
            };
            if is_on_the_way && left < best.0 {
                best = (left, Some(ChannelId::new(channel)));
            }
        }
        best.1
    }
}

/// In one or two dimensions.
///
/// A worm to a row further on goes straight to the row before that of its target. From there it crosses to the target's row at once, if the target lies ahead in the direction of the target's row, and goes
/// along that row; if not, it goes along the row where it is until it is level with the target, and crosses then. Either is the greatest label that does not exceed the target's.
///
/// All is the same for labels that fall, with rows counted from the other end and against their directions. Distances are those of the mesh (Lin, McKinley and Ni 1994, Lemma 1).
impl ClosedForm for Hamiltonian {
    /// Wherever labels go on to rise, or to fall: along a row, across several, from a row into the next at the target's column, and out of it again.
    fn follows(&self, held: ChannelId, requested: ChannelId) -> bool {
        let network = &*self.network;
        let rises = |channel| self.label(network.to(channel)) > self.label(network.from(channel));
        rises(held) == rises(requested)
    }

    fn lengths(&self) -> (u128, u32) {
        grid_lengths(&self.grid, false)
    }

    fn crossing(&self, channel: ChannelId) -> u64 {
        let (from, to) = (self.network.from(channel), self.network.to(channel));
        let (width, height) = (self.grid.extents()[0], self.grid.extents().get(1).copied().unwrap_or(1));
        let column = |router: RouterId| self.grid.coordinate(router.index(), 0);
        let row = |router: RouterId| router.raw() / width;
        let rises = self.label(to) > self.label(from);
        // Rows in the order in which the worm comes to them, and columns in the direction of a row.
        let rows_before = |router| if rises { row(router) } else { height - 1 - row(router) };
        let columns_before = |router| {
            let eastward = (row(router) % 2 == 0) == rises;
            if eastward { column(router) } else { width - 1 - column(router) }
        };
        let (width, height, before) = (u64::from(width), u64::from(height), u64::from(rows_before(from)));
        if row(from) == row(to) {
            // Targets in this row, from here and from the rows before; and, from the same rows, those of the next row which lie behind in its direction.
            let columns = u64::from(columns_before(from)) + 1;
            let rows = before + 1 + if before + 1 < height { before + 1 } else { 0 };
            return columns * (width - columns) * rows;
        }
        // Straight on to any row beyond the next; into the next, from its column to targets ahead in it, and from all columns behind to the one here.
        let ahead = width - u64::from(columns_before(to));
        (before + 1) * (width * (height - before - 2) + 2 * ahead - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;

    /// The function R: of the neighbours whose labels do not go beyond the target's, that with the nearest one.
    #[test]
    fn labels_go_as_far_as_the_target_permits() {
        for spec in ["mesh:6", "mesh:4x5", "mesh:2x2", "mesh:3x2x4"] {
            let mesh = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let routing = Hamiltonian::new(&mesh).unwrap();
            for (at, to) in mesh.router_ids().flat_map(|at| mesh.router_ids().map(move |to| (at, to))) {
                let (here, there) = (routing.label(at), routing.label(to));
                let neighbours = mesh.outputs(at).map(|channel| (routing.label(mesh.to(channel)), channel));
                let expected = match here.cmp(&there) {
                    std::cmp::Ordering::Less => neighbours.filter(|&(label, _)| label > here && label <= there).max(),
                    std::cmp::Ordering::Equal => None,
                    std::cmp::Ordering::Greater => {
                        neighbours.filter(|&(label, _)| label < here && label >= there).min()
                    }
                };
                assert_eq!(routing.next(at, to), expected.map(|(_, channel)| channel), "{spec}: {at} to {to}");
            }
        }
    }

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
