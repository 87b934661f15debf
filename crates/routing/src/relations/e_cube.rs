//! E-cube, or dimension-order, routing.

use std::sync::Arc;

use wormcast_network::text::quoted;
use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId, Shape};

use crate::capabilities::{ClosedForm, RoutingCapabilities, Spread};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Straight, Unsupported, follow_step_by_step};

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
            _ => out.extend(self.straight(at, target).map(|straight| straight.first)),
        }
    }

    #[inline]
    fn straight(&self, at: RouterId, target: RouterId) -> Option<Straight> {
        let grid = match self.network.shape() {
            Shape::Mesh(grid) => grid,
            Shape::Hypercube(_) => {
                let differing = at.raw() ^ target.raw();
                let highest = differing.checked_ilog2()?;
                // A router has one channel for each address bit, in their order.
                let position = if self.ascending { differing.trailing_zeros() } else { highest };
                return self.network.output(at, position).map(|first| Straight { first, more: 0, position });
            }
            _ => return None,
        };
        // Channels are numbered by dimension, the negative direction first; borders lack some. They are counted on the way to the dimension
        // at hand, without branches.
        let mut position = 0;
        for axis in grid.axes() {
            let (here, there) = axis.coordinates(at.index(), target.index());
            let negative = u32::from(here > 0);
            if here != there {
                let positive = u32::from(there > here);
                let first = self.network.output(at, position + (positive & negative))?;
                // Behind the first, none of them is at the border that the way leads away from.
                return Some(Straight { first, more: here.abs_diff(there) - 1, position: position + positive });
            }
            position += negative + u32::from(here + 1 < axis.extent());
        }
        None
    }

    fn follow(
        &self,
        from: RouterId,
        arrived: Option<ChannelId>,
        to: RouterId,
        candidates: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        match self.network.shape() {
            Shape::Mesh(grid) => {
                let mut at = Some(from);
                for (dimension, axis) in grid.axes().iter().enumerate() {
                    let ends = axis.coordinates(from.index(), to.index());
                    at = at.and_then(|at| self.network.append_along(at, dimension, ends, route));
                }
                return at.is_some();
            }
            Shape::Hypercube(_) => {}
            _ => return follow_step_by_step(self, (from, arrived), to, candidates, route),
        }
        let mut at = from.raw();
        while let Some(highest) = (at ^ to.raw()).checked_ilog2() {
            let dimension = if self.ascending { (at ^ to.raw()).trailing_zeros() } else { highest };
            let Some(channel) = self.network.output(RouterId::new(at), dimension) else { return false };
            route.push(channel);
            at ^= 1 << dimension;
        }
        true
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { spread: Some(self), closed_form: Some(self), ..RoutingCapabilities::default() }
    }
}

/// The sum of the distances over ordered pairs of routers of a grid, and the longest of them.
pub(crate) fn grid_lengths(grid: &Grid, wraps: bool) -> (u128, u32) {
    let routers = grid.len() as u128;
    let (mut total, mut longest) = (0, 0);
    for &k in grid.extents() {
        let along = |offset: u32| if wraps { offset.min(k - offset) } else { offset };
        // Ordered pairs of coordinates that lie `offset` apart, with whatever other coordinates.
        let within: u128 = (1..k).map(|offset| 2 * u128::from(k - offset) * u128::from(along(offset))).sum();
        let others = routers / u128::from(k);
        total += within * others * others;
        longest += (0..k).map(along).max().unwrap_or(0);
    }
    (total, longest)
}

impl ECube {
    /// The most hops in a row along a dimension of a torus.
    fn most_in_a_row(extent: u32, direction: Direction) -> u32 {
        // Of two ways that are equally long, the positive one is taken.
        if direction == Direction::Positive { extent / 2 } else { extent.saturating_sub(1) / 2 }
    }
}

/// Dimensions are resolved one after the other, so a worm that holds a channel of one may only go on along it, or turn into one that is resolved later.
///
/// It may do all of that: from where the channel starts, to where the next one ends, is a route. Only in a torus a hop further along a dimension may be one too many for the shorter way.
impl ClosedForm for ECube {
    fn follows(&self, held: ChannelId, requested: ChannelId) -> bool {
        let Some(((of_held, arriving), (of_next, leaving))) =
            self.network.heading(held).zip(self.network.heading(requested))
        else {
            return false;
        };
        if of_held == of_next {
            let furthest = || Self::most_in_a_row(self.grid.extents()[of_held], arriving);
            return arriving == leaving && (!self.network.shape().wraps() || furthest() >= 2);
        }
        let descending = matches!(self.network.shape(), Shape::Hypercube(_)) && !self.ascending;
        (of_held < of_next) != descending
    }

    fn lengths(&self) -> (u128, u32) {
        grid_lengths(&self.grid, self.network.shape().wraps())
    }

    /// Where a worm crosses a channel, it has its target's coordinate in each dimension that is resolved before and its source's in each that is resolved later. The other coordinate of
    /// the two is any.
    fn crossing(&self, channel: ChannelId) -> u64 {
        let Some((dimension, direction)) = self.network.heading(channel) else { return 0 };
        let k = self.grid.extents()[dimension];
        let others = self.grid.len() as u64 / u64::from(k);
        if self.network.shape().wraps() {
            // Of the pairs in the ring that are `hops` apart in this direction, as many cross the channel.
            let most = u64::from(Self::most_in_a_row(k, direction));
            return others * (most * (most + 1) / 2);
        }
        // From any coordinate up to the start of the channel to any beyond.
        let ends = [self.network.from(channel), self.network.to(channel)];
        let before = ends.map(|end| self.grid.coordinate(end.index(), dimension)).into_iter().max().unwrap_or(0);
        others * u64::from(before) * u64::from(k - before)
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

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    /// The routers on the way from one to another, coordinate by coordinate.
    fn by_coordinates(grid: &Grid, (from, to): (usize, usize), descending: bool) -> Vec<usize> {
        let (mut at, target) = (grid.coordinates(from), grid.coordinates(to));
        let mut way = vec![from];
        let order = 0..grid.dimensions();
        for dimension in if descending { order.rev().collect::<Vec<_>>() } else { order.collect() } {
            while at[dimension] != target[dimension] {
                let further = at[dimension] < target[dimension];
                at[dimension] = if further { at[dimension] + 1 } else { at[dimension] - 1 };
                way.push(grid.index(&at));
            }
        }
        way
    }

    /// The same by straight parts, each of which asks the relation once; with how many there are.
    fn by_straight_parts(routing: &ECube, (from, to): (usize, usize)) -> (Vec<usize>, usize) {
        let network = routing.network();
        let (mut way, mut parts) = (vec![from], 0);
        let mut at = RouterId::new(from as u32);
        while at.index() != to {
            let Straight { first, more, position } = routing.straight(at, RouterId::new(to as u32)).unwrap();
            parts += 1;
            at = network.to(first);
            way.push(at.index());
            for _ in 0..more {
                at = network.to(network.output(at, position).unwrap());
                way.push(at.index());
            }
        }
        (way, parts)
    }

    #[test]
    fn straight_parts_make_up_the_route() {
        let specs = ["mesh:5", "mesh:1x6", "mesh:5x4", "mesh:2x2", "mesh:3x1x4", "mesh:4x3x3", "hypercube:4"];
        for spec in specs {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let relations = [ECube::new(&network).unwrap(), ECube::new(&network).unwrap().ascending()];
            for routing in relations {
                let hypercube = matches!(network.shape(), Shape::Hypercube(_));
                let descending = hypercube && !routing.is_ascending();
                for (from, to) in
                    (0..network.routers()).flat_map(|from| (0..network.routers()).map(move |to| (from, to)))
                {
                    let (way, parts) = by_straight_parts(&routing, (from, to));
                    assert_eq!(way, by_coordinates(routing.grid(), (from, to), descending), "{spec} {from} {to}");
                    let differing = (0..routing.grid().dimensions())
                        .filter(|&d| routing.grid().coordinate(from, d) != routing.grid().coordinate(to, d));
                    assert_eq!(parts, differing.count(), "as few parts as there are, {spec} {from} {to}");
                }
            }
        }
        let torus = "torus:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(ECube::new(&torus).unwrap().straight(RouterId::new(0), RouterId::new(1)), None);
    }
}
