//! E-cube, or dimension-order, routing.

use std::sync::Arc;

use wormcast_network::text::quoted;
use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId, Shape};

use crate::capabilities::{RoutingCapabilities, Spread};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported};

/// [`ECube`].
pub const E_CUBE: RoutingDescriptor = RoutingDescriptor::new(
    "e-cube",
    "one channel: one dimension after the other",
    "a mesh, a torus or a hypercube",
    |network, _| Ok(Box::new(ECube::new(network).map_err(|problem| with_others(&problem, network))?)),
);

/// Names the routings of the network's own kind, or those for any network.
fn with_others(problem: &Unsupported, network: &Arc<Network>) -> Unsupported {
    let fitting: Vec<&str> = E_CUBE.others_of_kind(network).map(|routing| routing.name).collect();
    let hint = match fitting.len() {
        0 => "`up-down` and `turn-prohibition` are for any network with channels both ways".to_owned(),
        1 => format!("{} is for such networks", quoted(fitting)),
        _ => format!("{} are for such networks", quoted(fitting)),
    };
    problem.clone().with_hint(&hint)
}

/// E-cube routing: one dimension after the other, always along a shortest path.
///
/// Meshes and tori resolve dimension 0 (x) first, hypercubes their highest dimension first, as every example of paper 2
/// does, or their lowest ([`ascending`](Self::ascending)). In a torus the shorter way round is taken, the positive one if both are equal; without virtual
/// channels this is *not* free of deadlock, which the dependency analysis shows.
///
/// Source: Sullivan and Bashkow 1977; Dally and Seitz 1987. O(dimensions) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{ECube, append_route};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let mut route = Vec::new();
/// append_route(&ECube::new(&mesh)?, RouterId::new(0), None, RouterId::new(6), &mut route)?;
/// let visited: Vec<u32> = route.iter().map(|&c| mesh.to(c).raw()).collect();
/// assert_eq!(visited, [1, 2, 6]); // x first: (1,0), (2,0), (2,1)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ECube {
    network: Arc<Network>,
    grid: Grid,
    /// Whether a hypercube resolves its lowest dimension first.
    ascending: bool,
}

impl ECube {
    /// On a mesh, a torus or a hypercube.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        if let Some(grid) = network.shape().grid() {
            return Ok(Self { network: Arc::clone(network), grid: grid.clone(), ascending: false });
        }
        Err(E_CUBE.unsupported(network))
    }

    /// In a hypercube, with the lowest dimension first, as the nCUBE-2 has it. Meshes and tori keep their order.
    #[must_use]
    pub fn ascending(self) -> Self {
        Self { ascending: true, ..self }
    }

    /// Whether a hypercube resolves its lowest dimension first.
    pub fn is_ascending(&self) -> bool {
        self.ascending
    }

    /// The grid of the network.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl RoutingRelation for ECube {
    fn name(&self) -> &'static str {
        E_CUBE.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        out.clear();
        match network.shape() {
            Shape::Hypercube(_) => {
                let differing = at.raw() ^ target.raw();
                let Some(highest) = differing.checked_ilog2() else { return };
                let next = if self.ascending { differing.trailing_zeros() } else { highest };
                // An address bit has one neighbour: below if the bit is set, above if it is not.
                let direction = if at.raw() >> next & 1 == 1 { Direction::Negative } else { Direction::Positive };
                out.extend(network.channel_along(at, next as usize, direction));
            }
            Shape::Mesh(_) => out.extend(self.only(at, target)),
            Shape::Torus(grid) => {
                for (dimension, axis) in grid.axes().iter().enumerate() {
                    let here = axis.coordinate(at.index());
                    let there = axis.coordinate(target.index());
                    if here == there {
                        continue;
                    }
                    let k = axis.extent();
                    let forward = (there + k - here) % k;
                    let direction = if forward <= k - forward { Direction::Positive } else { Direction::Negative };
                    out.extend(network.channel_along(at, dimension, direction));
                    return;
                }
            }
            _ => {}
        }
    }

    fn only(&self, at: RouterId, target: RouterId) -> Option<ChannelId> {
        let Shape::Mesh(grid) = self.network.shape() else { return None };
        // Channels are numbered by dimension, the negative direction first; borders lack some. They are counted on the way to the dimension
        // at hand, without branches.
        let mut position = 0;
        for axis in grid.axes() {
            let (here, there) = axis.coordinates(at.index(), target.index());
            let negative = u32::from(here > 0);
            if here != there {
                return self.network.output(at, position + (u32::from(there > here) & negative));
            }
            position += negative + u32::from(here + 1 < axis.extent());
        }
        None
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { spread: Some(self), ..RoutingCapabilities::default() }
    }
}

impl Spread for ECube {
    /// In a torus with two routers in a dimension, either of the two links between them.
    fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        self.candidates(at, arrived, target, out);
        if let (true, Some(&first)) = (network.shape().wraps(), out.first()) {
            out.extend(network.outputs(at).filter(|&c| c != first && network.to(c) == network.to(first)));
        }
    }
}
