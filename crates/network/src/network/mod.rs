//! The network itself: routers, channels and nodes in flat arrays.

use std::ops::Range;

use crate::ids::{ChannelId, NodeId, RouterId};
use crate::topologies::grid::{Axis, Direction};
use crate::topologies::shape::Shape;

mod details;
mod wiring;

pub(crate) use details::Details;
pub use details::{AdapterPort, Coordinates};

/// An immutable interconnection network.
///
/// Channels are numbered router by router: those that leave router `r` are consecutive. Grids number a router's
/// channels by dimension, the negative direction before the positive; networks whose ports have numbers, by port.
///
/// Nodes are numbered router by router too. In grids, and in files without nodes, every router has one, with the
/// same index; in a fabric a router has any number of nodes, or none.
///
/// Memory: 12 bytes a channel, 4 a router; 4 a node and 4 a router more where node and router numbers differ; names and
/// port numbers only where a file has them.
#[derive(Clone, Debug)]
pub struct Network {
    name: String,
    shape: Shape,
    /// Channels `first_out[r]..first_out[r + 1]` leave router `r`.
    first_out: Box<[u32]>,
    from: Box<[u32]>,
    to: Box<[u32]>,
    /// The channel that runs the other way along the same link; itself if there is none.
    reverse: Box<[u32]>,
    /// Where channels run one way only.
    unidirectional: Option<Box<Unidirectional>>,
    /// Which node is attached where; `None`: node `i` to router `i`.
    attachment: Option<Attachment>,
    /// What a file says beyond the wiring.
    details: Option<Box<Details>>,
}

/// What the channels that leave a router do not tell where channels run one way only.
#[derive(Clone, Debug, Default)]
struct Unidirectional {
    /// Channels by the router that they enter, and where those of each router start.
    entering: Box<[u32]>,
    first_in: Box<[u32]>,
    /// The router at which each node's worms start.
    entries: Box<[u32]>,
}

/// Which nodes are attached to which routers, where that is not the identity.
#[derive(Clone, Debug)]
struct Attachment {
    /// The router of each node, not decreasing.
    router_of: Box<[u32]>,
    /// Nodes `first_node[r]..first_node[r + 1]` are attached to router `r`.
    first_node: Box<[u32]>,
}

impl Attachment {
    /// The attachments for sorted routers, one a node; `None` if they are the identity.
    fn new(routers: usize, router_of: Vec<u32>) -> Option<Self> {
        if router_of.len() == routers && router_of.iter().enumerate().all(|(node, &router)| node == router as usize) {
            return None;
        }
        let mut first_node = vec![0u32; routers + 1];
        for &router in &router_of {
            first_node[router as usize + 1] += 1;
        }
        for router in 0..routers {
            first_node[router + 1] += first_node[router];
        }
        Some(Self { router_of: router_of.into(), first_node: first_node.into() })
    }
}

impl Network {
    /// The name: the specification or the file that it was built from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The regularity that algorithms may rely on.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of routers.
    pub fn routers(&self) -> usize {
        self.first_out.len() - 1
    }

    /// All routers, in the order of their ids.
    pub fn router_ids(&self) -> impl DoubleEndedIterator<Item = RouterId> + ExactSizeIterator + Clone + use<> {
        (0..self.routers() as u32).map(RouterId::new)
    }

    /// The number of nodes, at least one.
    pub fn nodes(&self) -> usize {
        self.attachment.as_ref().map_or(self.routers(), |attachment| attachment.router_of.len())
    }

    /// All nodes, in the order of their ids.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + Clone + use<> {
        (0..self.nodes() as u32).map(NodeId::new)
    }

    /// Whether every router has one node, with the same index.
    pub fn has_one_node_each(&self) -> bool {
        self.attachment.is_none()
    }

    /// The number of channels between routers, two a link unless links are [unidirectional](Self::is_unidirectional).
    pub fn channels(&self) -> usize {
        self.to.len()
    }

    /// All channels between routers, in the order of their ids: those that leave a router are consecutive.
    pub fn channel_ids(&self) -> impl DoubleEndedIterator<Item = ChannelId> + ExactSizeIterator + Clone + use<> {
        (0..self.channels() as u32).map(ChannelId::new)
    }

    /// The number of links between routers.
    pub fn links(&self) -> usize {
        if self.is_unidirectional() { self.channels() } else { self.channels() / 2 }
    }

    /// Whether channels run one way only, and nodes inject and consume at different routers: in unidirectional multistage networks.
    #[inline]
    pub fn is_unidirectional(&self) -> bool {
        self.unidirectional.is_some()
    }

    /// The channels that leave a router.
    #[inline]
    pub fn outputs(&self, router: RouterId) -> impl ExactSizeIterator<Item = ChannelId> + Clone + use<> {
        self.output_range(router).map(ChannelId::new)
    }

    /// The first of the channels that leave a router, and the one behind the last, as numbers.
    #[inline]
    pub fn output_places(&self, router: RouterId) -> (u32, u32) {
        let Range { start, end } = self.output_range(router);
        (start, end)
    }

    /// The channel at a position among those that leave a router.
    #[inline]
    pub fn output(&self, router: RouterId, position: u32) -> Option<ChannelId> {
        let outputs = self.output_range(router);
        (position < outputs.end - outputs.start).then(|| ChannelId::new(outputs.start + position))
    }

    /// The channels that enter a router.
    pub fn inputs(&self, router: RouterId) -> impl Iterator<Item = ChannelId> + Clone + '_ {
        let (outputs, entering) = match self.unidirectional.as_deref() {
            None => (self.output_range(router), &[][..]),
            Some(Unidirectional { entering, first_in, .. }) => {
                (0..0, &entering[first_in[router.index()] as usize..first_in[router.index() + 1] as usize])
            }
        };
        let back = outputs.map(move |channel| self.reverse(ChannelId::new(channel)));
        back.chain(entering.iter().copied().map(ChannelId::new))
    }

    #[inline]
    fn output_range(&self, router: RouterId) -> Range<u32> {
        self.first_out[router.index()]..self.first_out[router.index() + 1]
    }

    /// The router that a channel leaves.
    #[inline]
    pub fn from(&self, channel: ChannelId) -> RouterId {
        RouterId::new(self.from[channel.index()])
    }

    /// The router that a channel enters.
    #[inline]
    pub fn to(&self, channel: ChannelId) -> RouterId {
        RouterId::new(self.to[channel.index()])
    }

    /// The channel that runs the other way along the same link; the channel itself if links are [unidirectional](Self::is_unidirectional).
    #[inline]
    pub fn reverse(&self, channel: ChannelId) -> ChannelId {
        ChannelId::new(self.reverse[channel.index()])
    }

    /// The first channel between two routers, if they are neighbours.
    pub fn channel_between(&self, from: RouterId, to: RouterId) -> Option<ChannelId> {
        self.outputs(from).find(|&channel| self.to(channel) == to)
    }

    /// In a grid, the channel that leaves `router` along `dimension` in `direction`, if there is one.
    #[inline]
    pub fn channel_along(&self, router: RouterId, dimension: usize, direction: Direction) -> Option<ChannelId> {
        let axes = self.shape.grid()?.axes();
        let outputs = self.output_range(router);
        let towards = u32::from(direction == Direction::Positive);
        if outputs.len() == 2 * axes.len() {
            // Away from all borders there is a channel each way along each dimension.
            return (dimension < axes.len()).then(|| ChannelId::new(outputs.start + 2 * dimension as u32 + towards));
        }
        let wraps = self.shape.wraps();
        let both = |axis: &Axis| {
            let (c, k) = (axis.coordinate(router.index()), axis.extent());
            if wraps { (k > 1, k > 1) } else { (c > 0, c + 1 < k) }
        };
        let lower = axes.get(..dimension)?.iter().map(both);
        let skip: u32 = lower.map(|(negative, positive)| u32::from(negative) + u32::from(positive)).sum();
        let (negative, positive) = both(axes.get(dimension)?);
        let (present, skip) = match direction {
            Direction::Negative => (negative, skip),
            Direction::Positive => (positive, skip + u32::from(negative)),
        };
        present.then(|| ChannelId::new(outputs.start + skip))
    }

    /// Appends the channels along a dimension of a grid that does not wrap, from a router at one coordinate on to another, and returns the router where they end.
    /// `None` if there are no such channels.
    ///
    /// ```
    /// use wormcast_network::{RouterId, TopologySpec};
    ///
    /// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
    /// let mut route = Vec::new();
    /// assert_eq!(mesh.append_along(RouterId::new(7), 0, (3, 1), &mut route), Some(RouterId::new(5)));
    /// assert_eq!(route.iter().map(|&channel| mesh.to(channel).raw()).collect::<Vec<_>>(), [6, 5]);
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    #[inline]
    pub fn append_along(
        &self,
        router: RouterId,
        dimension: usize,
        (here, there): (u32, u32),
        route: &mut Vec<ChannelId>,
    ) -> Option<RouterId> {
        if here == there {
            return Some(router);
        }
        let direction = if here < there { Direction::Positive } else { Direction::Negative };
        let first = self.channel_along(router, dimension, direction)?;
        route.push(first);
        let more = here.abs_diff(there) - 1;
        if more == 0 {
            return Some(self.to(first));
        }
        // Behind the first, none of the routers is at a border of this dimension: their channels are in like places, and equally far apart.
        let was_missing = u32::from(direction == Direction::Positive && here == 0);
        let position = first.raw() - self.first_out[router.index()] + was_missing;
        let step = self.to(first).raw().wrapping_sub(router.raw());
        let starts = |hops: u32| self.first_out[router.raw().wrapping_add(hops.wrapping_mul(step)) as usize];
        let (mut place, apart) = (starts(1) + position, starts(2).wrapping_sub(starts(1)));
        // Mostly they are few, and how many cannot be foreseen: one by one is faster than by vectors and a rest.
        for _ in 0..more {
            route.push(ChannelId::new(place));
            place = place.wrapping_add(apart);
        }
        Some(RouterId::new(router.raw().wrapping_add((more + 1).wrapping_mul(step))))
    }

    /// In a grid, the dimension and the direction of a channel: that for which [`channel_along`](Self::channel_along) gives it.
    ///
    /// ```
    /// use wormcast_network::{Direction, RouterId, TopologySpec};
    ///
    /// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
    /// let up = mesh.channel_between(RouterId::new(5), RouterId::new(9)).ok_or("neighbours")?;
    /// assert_eq!(mesh.heading(up), Some((1, Direction::Positive)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn heading(&self, channel: ChannelId) -> Option<(usize, Direction)> {
        let from = self.from(channel);
        let ways = |dimension| [Direction::Negative, Direction::Positive].map(|direction| (dimension, direction));
        let mut all = (0..self.shape.grid()?.dimensions()).flat_map(ways);
        all.find(|&(dimension, direction)| self.channel_along(from, dimension, direction) == Some(channel))
    }

    /// Whether nodes need no mention: every router has one, and they have neither names nor ports of their own.
    pub(crate) fn has_plain_nodes(&self) -> bool {
        let plain = |details: &Details| details.node_names.is_empty() && details.node_ports.is_empty();
        self.has_one_node_each() && self.details.as_deref().is_none_or(plain)
    }

    /// The router at which worms of a node start: the one that it is attached to, unless links are
    /// [unidirectional](Self::is_unidirectional).
    #[inline]
    pub fn entry_of(&self, node: NodeId) -> RouterId {
        match &self.unidirectional {
            None => self.router_of(node),
            Some(unidirectional) => RouterId::new(unidirectional.entries[node.index()]),
        }
    }

    /// By router: how many nodes' worms start there.
    pub fn entering_nodes(&self) -> Vec<u32> {
        let mut entering = vec![0; self.routers()];
        for node in self.node_ids() {
            entering[self.entry_of(node).index()] += 1;
        }
        entering
    }

    /// The router that a node is attached to: where worms are delivered to it.
    #[inline]
    pub fn router_of(&self, node: NodeId) -> RouterId {
        match &self.attachment {
            None => RouterId::new(node.raw()),
            Some(attachment) => RouterId::new(attachment.router_of[node.index()]),
        }
    }

    /// The nodes that are attached to a router: consecutive, and none at a router that only switches.
    #[inline]
    pub fn nodes_of(&self, router: RouterId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        let nodes = match &self.attachment {
            None => router.raw()..router.raw() + 1,
            Some(attachment) => attachment.first_node[router.index()]..attachment.first_node[router.index() + 1],
        };
        nodes.map(NodeId::new)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::TopologySpec;
    use proptest::prelude::*;

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn a_mesh_numbers_channels_by_dimension_and_direction() {
        let mesh = build("mesh:3x3");
        let centre = RouterId::new(4);
        let to: Vec<_> = mesh.outputs(centre).map(|c| mesh.to(c).raw()).collect();
        assert_eq!(to, [3, 5, 1, 7]);
    }

    #[test]
    fn a_torus_of_two_rows_has_parallel_links() {
        let torus = build("torus:2x3");
        assert_eq!(torus.links(), 12);
        let parallel = torus.outputs(RouterId::new(0)).filter(|&c| torus.to(c) == RouterId::new(1)).count();
        assert_eq!(parallel, 2);
    }

    #[test]
    fn a_hypercube_joins_addresses_that_differ_in_one_bit() {
        let cube = build("hypercube:4");
        assert_eq!((cube.routers(), cube.links()), (16, 32));
        for channel in cube.channel_ids() {
            assert_eq!((cube.from(channel).raw() ^ cube.to(channel).raw()).count_ones(), 1);
        }
    }

    proptest! {
        /// Ways along a dimension are those hop by hop.
        #[test]
        fn straight_ways_are_those_of_their_hops(extents in prop::collection::vec(1u32..6, 1..4), from: prop::sample::Index) {
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let mesh = build(&format!("mesh:{name}"));
            let from = RouterId::new(from.index(mesh.routers()) as u32);
            for (dimension, &extent) in extents.iter().enumerate() {
                let here = mesh.shape().grid().unwrap().coordinate(from.index(), dimension);
                for there in 0..extent {
                    let direction = if there > here { Direction::Positive } else { Direction::Negative };
                    let (mut at, mut hops) = (from, vec![ChannelId::new(7)]);
                    for _ in 0..here.abs_diff(there) {
                        let channel = mesh.channel_along(at, dimension, direction).unwrap();
                        hops.push(channel);
                        at = mesh.to(channel);
                    }
                    let mut route = vec![ChannelId::new(7)];
                    prop_assert_eq!(mesh.append_along(from, dimension, (here, there), &mut route), Some(at));
                    prop_assert_eq!(route, hops);
                }
                // Out of the mesh there is no way.
                let beyond = if here == 0 { None } else { Some((here, here)) };
                prop_assert!(beyond.is_some() || mesh.append_along(from, dimension, (1, 0), &mut Vec::new()).is_none());
            }
        }

        #[test]
        fn channels_pair_up_into_links(extents in prop::collection::vec(1u32..5, 1..4), wraps: bool) {
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let network = build(&format!("{}:{name}", if wraps { "torus" } else { "mesh" }));
            let grid = network.shape().grid().unwrap();
            for channel in network.channel_ids() {
                let back = network.reverse(channel);
                prop_assert_ne!(back, channel);
                prop_assert_eq!(network.reverse(back), channel);
                prop_assert_eq!(network.from(back), network.to(channel));
                prop_assert_eq!(network.to(back), network.from(channel));
            }
            for router in network.router_ids() {
                let mut found = Vec::new();
                for dimension in 0..grid.dimensions() {
                    for direction in [Direction::Negative, Direction::Positive] {
                        found.extend(network.channel_along(router, dimension, direction));
                    }
                }
                prop_assert_eq!(found, network.outputs(router).collect::<Vec<_>>());
            }
        }
    }
}
