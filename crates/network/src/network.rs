//! The network itself: routers, channels and nodes in flat arrays.

use std::ops::Range;

use crate::grid::{Axis, Direction};
use crate::ids::{ChannelId, NodeId, RouterId};
use crate::shape::Shape;

/// An immutable interconnection network.
///
/// Channels are numbered router by router: those that leave router `r` are consecutive. Grids number a router's
/// channels by dimension, the negative direction before the positive; networks whose ports have numbers, by port.
///
/// Nodes are numbered router by router too. In grids, and in files that know no nodes, every router has one, with the
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
    one_way: Option<Box<OneWay>>,
    /// Who is attached where; `None`: node `i` to router `i`.
    attachment: Option<Attachment>,
    /// What a file says beyond the wiring.
    details: Option<Box<Details>>,
}

/// What cannot be read off the channels that leave a router where no channel has a way back.
#[derive(Clone, Debug, Default)]
struct OneWay {
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
    /// Of sorted routers, one a node; `None` if it is the identity.
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

/// A port of a host adapter: the place where a node of a fabric is attached.
///
/// An adapter with two connected ports is two nodes, which may be attached to different routers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdapterPort {
    /// The adapter; adapters are numbered from 0 in the order of their first node.
    pub adapter: u32,
    /// The number of its port.
    pub port: u32,
}

/// What a file says beyond the wiring. Each list is empty where the file says nothing of the kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// Empty text: no name.
    pub(crate) router_names: Vec<Box<str>>,
    pub(crate) node_names: Vec<Box<str>>,
    pub(crate) router_guids: Vec<Option<u64>>,
    pub(crate) node_guids: Vec<Option<u64>>,
    /// The number of the port by which each channel leaves its router.
    pub(crate) channel_ports: Vec<u32>,
    /// The number of the router's port to which each node is attached.
    pub(crate) node_ports: Vec<u32>,
    pub(crate) adapter_ports: Vec<AdapterPort>,
}

impl Network {
    /// A network from its links, each of which becomes two channels; one node a router.
    ///
    /// Parallel links are kept, each with channels of its own. Takes time and memory linear in routers and links.
    pub fn from_links(name: impl Into<String>, routers: usize, links: &[(u32, u32)]) -> Self {
        let mut next = starts(routers, links);
        let mut place = |router: u32| {
            let place = next[router as usize];
            next[router as usize] += 1;
            place
        };
        let places = links.iter().map(|&(u, v)| (place(u), place(v))).collect();
        Self::from_places(name.into(), routers, links, places)
    }

    /// The same where each end of a link has a port of its own, by which a router's channels are numbered:
    /// O(links log links). `ports` is empty where ports have no numbers.
    pub(crate) fn from_ports(name: String, routers: usize, links: &[(u32, u32)], ports: &[(u32, u32)]) -> Self {
        if ports.is_empty() {
            return Self::from_links(name, routers, links);
        }
        let mut ends: Vec<(u32, u32, u32)> = Vec::with_capacity(links.len() * 2);
        for (link, (&(u, v), &(p, q))) in (0u32..).zip(links.iter().zip(ports)) {
            ends.extend([(u, p, link * 2), (v, q, link * 2 + 1)]);
        }
        ends.sort_unstable();
        let mut places = vec![(0, 0); links.len()];
        let mut channel_ports = Vec::with_capacity(ends.len());
        for (channel, &(_, port, end)) in (0u32..).zip(&ends) {
            let (forth, back) = &mut places[end as usize / 2];
            *(if end % 2 == 0 { forth } else { back }) = channel;
            channel_ports.push(port);
        }
        let mut network = Self::from_places(name, routers, links, places);
        network.details = Some(Box::new(Details { channel_ports, ..Details::default() }));
        network
    }

    /// A network from its links and the ids of their two channels.
    fn from_places(name: String, routers: usize, links: &[(u32, u32)], places: Vec<(u32, u32)>) -> Self {
        let channels = links.len() * 2;
        let (mut from, mut to, mut reverse) = (vec![0; channels], vec![0; channels], vec![0; channels]);
        for (&(u, v), (forth, back)) in links.iter().zip(places) {
            for (channel, a, b, other) in [(forth, u, v, back), (back, v, u, forth)] {
                from[channel as usize] = a;
                to[channel as usize] = b;
                reverse[channel as usize] = other;
            }
        }
        Self {
            name,
            shape: Shape::Irregular,
            first_out: starts(routers, links).into(),
            from: from.into(),
            to: to.into(),
            reverse: reverse.into(),
            one_way: None,
            attachment: None,
            details: None,
        }
    }

    /// A network of channels without a way back, sorted by the router that they leave, each numbered from 0 as a port.
    pub(crate) fn from_channels(name: String, routers: usize, channels: &[(u32, u32)], ports: u32) -> Self {
        let mut first_out = vec![0u32; routers + 1];
        let mut first_in = vec![0u32; routers + 1];
        for &(from, to) in channels {
            first_out[from as usize + 1] += 1;
            first_in[to as usize + 1] += 1;
        }
        for router in 0..routers {
            first_out[router + 1] += first_out[router];
            first_in[router + 1] += first_in[router];
        }
        let mut entering: Vec<u32> = (0..channels.len() as u32).collect();
        entering.sort_by_key(|&channel| channels[channel as usize].1);
        let channel_ports = (0..channels.len() as u32).map(|channel| channel % ports).collect();
        Self {
            name,
            shape: Shape::Irregular,
            first_out: first_out.into(),
            from: channels.iter().map(|&(from, _)| from).collect(),
            to: channels.iter().map(|&(_, to)| to).collect(),
            reverse: (0..channels.len() as u32).collect(),
            one_way: Some(Box::new(OneWay {
                entering: entering.into(),
                first_in: first_in.into(),
                entries: Box::default(),
            })),
            attachment: None,
            details: Some(Box::new(Details { channel_ports, ..Details::default() })),
        }
    }

    /// The same network of channels without a way back, whose nodes' worms start at these routers.
    pub(crate) fn with_entries(mut self, entries: Vec<u32>) -> Self {
        if let Some(one_way) = &mut self.one_way {
            one_way.entries = entries.into();
        }
        self
    }

    /// The same network with these nodes, one for each of these sorted routers.
    pub(crate) fn with_nodes(mut self, router_of: Vec<u32>) -> Self {
        self.attachment = Attachment::new(self.routers(), router_of);
        self
    }

    /// The same network, whose wiring has this shape.
    pub(crate) fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The same network with what else is known of it; numbers of channels' ports stay.
    pub(crate) fn with_details(mut self, details: Details) -> Self {
        let channel_ports = self.details.take().map_or_else(Vec::new, |details| details.channel_ports);
        self.details = Some(Box::new(Details { channel_ports, ..details }));
        self
    }

    /// A mesh, torus or hypercube.
    pub(crate) fn from_shape(name: String, shape: Shape) -> Self {
        let wraps = shape.wraps();
        let grid = shape.grid().expect("only grids are built from their shape").clone();
        let routers = grid.len();
        let has = |c: u32, k: u32, direction| match direction {
            _ if wraps => k > 1,
            Direction::Negative => c > 0,
            Direction::Positive => c + 1 < k,
        };
        // Walk the grid as an odometer: dividing a million indices by their strides is what would take the time.
        let for_each_router = |visit: &mut dyn FnMut(usize, &[u32])| {
            let mut at = vec![0u32; grid.dimensions()];
            for router in 0..routers {
                visit(router, &at);
                for (c, &k) in at.iter_mut().zip(grid.extents()) {
                    *c += 1;
                    if *c < k {
                        break;
                    }
                    *c = 0;
                }
            }
        };
        let degree = |at: &[u32]| -> u32 {
            let directions = [Direction::Negative, Direction::Positive];
            at.iter()
                .zip(grid.extents())
                .map(|(&c, &k)| directions.into_iter().filter(|&d| has(c, k, d)).count() as u32)
                .sum()
        };
        let mut first_out = Vec::with_capacity(routers + 1);
        let mut channels = 0u32;
        for_each_router(&mut |_, at| {
            first_out.push(channels);
            channels += degree(at);
        });
        first_out.push(channels);

        let mut from = Vec::with_capacity(channels as usize);
        let mut to = Vec::with_capacity(channels as usize);
        let mut reverse = Vec::with_capacity(channels as usize);
        for_each_router(&mut |router, at| {
            for (d, (&c, &k)) in at.iter().zip(grid.extents()).enumerate() {
                for direction in [Direction::Negative, Direction::Positive] {
                    if !has(c, k, direction) {
                        continue;
                    }
                    let there = match direction {
                        Direction::Negative => (c + k - 1) % k,
                        Direction::Positive => (c + 1) % k,
                    };
                    let neighbour = router + there as usize * grid.stride(d) - c as usize * grid.stride(d);
                    // The way back is the neighbour's channel in the other direction of the same dimension: skip
                    // those of its lower dimensions, where it stands just as this router does.
                    let lower: u32 = degree(&at[..d]);
                    let opposite = direction == Direction::Negative;
                    let skip = lower + u32::from(opposite && has(there, k, Direction::Negative));
                    from.push(router as u32);
                    to.push(neighbour as u32);
                    reverse.push(first_out[neighbour] + skip);
                }
            }
        });
        Self {
            name,
            shape,
            first_out: first_out.into(),
            from: from.into(),
            to: to.into(),
            reverse: reverse.into(),
            one_way: None,
            attachment: None,
            details: None,
        }
    }

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

    /// The number of nodes, at least one.
    pub fn nodes(&self) -> usize {
        self.attachment.as_ref().map_or(self.routers(), |attachment| attachment.router_of.len())
    }

    /// Whether every router has one node, with the same index.
    pub fn has_one_node_each(&self) -> bool {
        self.attachment.is_none()
    }

    /// The number of channels between routers, two a link unless links are [one-way](Self::is_one_way).
    pub fn channels(&self) -> usize {
        self.to.len()
    }

    /// The number of links between routers.
    pub fn links(&self) -> usize {
        if self.is_one_way() { self.channels() } else { self.channels() / 2 }
    }

    /// Whether channels have no way back and nodes inject and consume at different routers: in unidirectional multistage networks.
    #[inline]
    pub fn is_one_way(&self) -> bool {
        self.one_way.is_some()
    }

    /// The channels that leave a router.
    #[inline]
    pub fn outputs(&self, router: RouterId) -> impl ExactSizeIterator<Item = ChannelId> + Clone + use<> {
        self.output_range(router).map(ChannelId::new)
    }

    /// The channels that enter a router.
    pub fn inputs(&self, router: RouterId) -> impl Iterator<Item = ChannelId> + Clone + '_ {
        let (outputs, entering) = match self.one_way.as_deref() {
            None => (self.output_range(router), &[][..]),
            Some(OneWay { entering, first_in, .. }) => {
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

    /// The channel that runs the other way along the same link; the channel itself if links are [one-way](Self::is_one_way).
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

    /// Whether there is nothing to tell of nodes: every router has one, and they have neither names nor ports of their own.
    pub(crate) fn has_plain_nodes(&self) -> bool {
        let plain = |details: &Details| details.node_names.is_empty() && details.node_ports.is_empty();
        self.has_one_node_each() && self.details.as_deref().is_none_or(plain)
    }

    /// The router at which worms of a node start: the one that it is attached to, unless links are
    /// [one-way](Self::is_one_way).
    #[inline]
    pub fn entry_of(&self, node: NodeId) -> RouterId {
        match &self.one_way {
            None => self.router_of(node),
            Some(one_way) => RouterId::new(one_way.entries[node.index()]),
        }
    }

    /// By router: whether any node's worms start there.
    pub fn entries(&self) -> Vec<bool> {
        let mut entries = vec![false; self.routers()];
        for node in (0..self.nodes() as u32).map(NodeId::new) {
            entries[self.entry_of(node).index()] = true;
        }
        entries
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

    /// The number of the port by which a channel leaves its router, if the file that the network comes from numbers ports.
    pub fn port_of(&self, channel: ChannelId) -> Option<u32> {
        self.details.as_ref()?.channel_ports.get(channel.index()).copied()
    }

    /// The number of the router's port to which a node is attached, if ports have numbers.
    pub fn node_port(&self, node: NodeId) -> Option<u32> {
        self.details.as_ref()?.node_ports.get(node.index()).copied()
    }

    /// The channel that leaves a router by the port of this number: O(log degree), as channels are in the order of ports.
    pub fn channel_by_port(&self, router: RouterId, port: u32) -> Option<ChannelId> {
        let ports = &self.details.as_ref()?.channel_ports;
        let outputs = self.output_range(router);
        let of_router = ports.get(outputs.start as usize..outputs.end as usize)?;
        of_router.binary_search(&port).ok().map(|position| ChannelId::new(outputs.start + position as u32))
    }

    /// The node that is attached to the port of this number: O(log nodes of the router).
    pub fn node_by_port(&self, router: RouterId, port: u32) -> Option<NodeId> {
        let ports = &self.details.as_ref()?.node_ports;
        let first = self.nodes_of(router).next()?.index();
        let of_router = ports.get(first..first + self.nodes_of(router).len())?;
        of_router.binary_search(&port).ok().map(|position| NodeId::new((first + position) as u32))
    }

    /// Whether any router or node has a name.
    pub fn has_names(&self) -> bool {
        let has_names = |details: &Details| !details.router_names.is_empty() || !details.node_names.is_empty();
        self.details.as_deref().is_some_and(has_names)
    }

    /// A router's name, if its file has names.
    pub fn router_name(&self, router: RouterId) -> Option<&str> {
        let name: &str = self.details.as_ref()?.router_names.get(router.index())?;
        (!name.is_empty()).then_some(name)
    }

    /// A node's name, if its file has names; where nodes have none of their own and every router has one node, the router's.
    pub fn node_name(&self, node: NodeId) -> Option<&str> {
        match &self.details.as_ref()?.node_names {
            names if names.is_empty() && self.has_one_node_each() => self.router_name(self.router_of(node)),
            _ => self.own_node_name(node),
        }
    }

    /// The name that a node has of its own.
    pub(crate) fn own_node_name(&self, node: NodeId) -> Option<&str> {
        let name: &str = self.details.as_ref()?.node_names.get(node.index())?;
        (!name.is_empty()).then_some(name)
    }

    /// A switch's globally unique identifier, if its file has them.
    pub fn router_guid(&self, router: RouterId) -> Option<u64> {
        *self.details.as_ref()?.router_guids.get(router.index())?
    }

    /// The globally unique identifier of the adapter's port that is a node, if its file has them.
    pub fn node_guid(&self, node: NodeId) -> Option<u64> {
        *self.details.as_ref()?.node_guids.get(node.index())?
    }

    /// The adapter's port that a node is, in a fabric.
    pub fn adapter_port(&self, node: NodeId) -> Option<AdapterPort> {
        self.details.as_ref()?.adapter_ports.get(node.index()).copied()
    }

    /// The number of host adapters, in a fabric.
    pub fn adapters(&self) -> Option<usize> {
        let ports = &self.details.as_ref()?.adapter_ports;
        ports.iter().map(|port| port.adapter as usize + 1).max()
    }
}

/// Where each router's channels start, and where the last one's end.
fn starts(routers: usize, links: &[(u32, u32)]) -> Vec<u32> {
    let mut first_out = vec![0u32; routers + 1];
    for &(u, v) in links {
        first_out[u as usize + 1] += 1;
        first_out[v as usize + 1] += 1;
    }
    for router in 0..routers {
        first_out[router + 1] += first_out[router];
    }
    first_out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;
    use proptest::prelude::*;

    fn build(spec: &str) -> Network {
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
        for channel in (0..cube.channels() as u32).map(ChannelId::new) {
            assert_eq!((cube.from(channel).raw() ^ cube.to(channel).raw()).count_ones(), 1);
        }
    }

    proptest! {
        #[test]
        fn channels_pair_up_into_links(extents in prop::collection::vec(1u32..5, 1..4), wraps: bool) {
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let network = build(&format!("{}:{name}", if wraps { "torus" } else { "mesh" }));
            let grid = network.shape().grid().unwrap();
            for channel in (0..network.channels() as u32).map(ChannelId::new) {
                let back = network.reverse(channel);
                prop_assert_ne!(back, channel);
                prop_assert_eq!(network.reverse(back), channel);
                prop_assert_eq!(network.from(back), network.to(channel));
                prop_assert_eq!(network.to(back), network.from(channel));
            }
            for router in (0..network.routers() as u32).map(RouterId::new) {
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
