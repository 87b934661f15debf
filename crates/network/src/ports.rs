//! Injection and consumption channels: how nodes reach their routers.

use std::ops::Range;

use crate::ids::{ChannelId, NodeId};
use crate::network::Network;

/// The most injection or consumption channels that a node can have.
pub const MAX_NODE_PORTS: u32 = 32;

/// How many channels join each node to its router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// Channels from a node into its router, 1 to [`MAX_NODE_PORTS`].
    pub injection: u32,
    /// Channels from a router into its node, 1 to [`MAX_NODE_PORTS`].
    pub consumption: u32,
}

/// What a channel joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelKind {
    /// Router to router.
    Link,
    /// Node to router: the node and which of its injection channels this is.
    Injection(NodeId, u32),
    /// Router to node: the node and which of its consumption channels this is.
    Consumption(NodeId, u32),
}

/// One numbering for every channel of a network with its ports: links first, then each node's injection channels, then
/// each node's consumption channels.
///
/// ```
/// use wormcast_network::{ChannelKind, ChannelSpace, NodeId, Ports, TopologySpec};
///
/// let mesh = "mesh:2x2".parse::<TopologySpec>()?.build()?;
/// let space = ChannelSpace::new(&mesh, Ports { injection: 1, consumption: 2 });
/// assert_eq!(space.len(), 8 + 4 + 8);
/// let last = space.consumption(NodeId::new(3)).last().unwrap();
/// assert_eq!(space.kind(last), ChannelKind::Consumption(NodeId::new(3), 1));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChannelSpace {
    links: u32,
    nodes: u32,
    ports: Ports,
}

impl ChannelSpace {
    /// The channels of `network` where every node has these ports.
    pub fn new(network: &Network, ports: Ports) -> Self {
        Self { links: network.channels() as u32, nodes: network.nodes() as u32, ports }
    }

    /// The channels of a network of which no more is known than these numbers; `None` if they are too many for ids.
    pub fn of(links: usize, nodes: usize, ports: Ports) -> Option<Self> {
        let (links, nodes) = (u32::try_from(links).ok()?, u32::try_from(nodes).ok()?);
        let all = nodes.checked_mul(ports.injection.checked_add(ports.consumption)?)?.checked_add(links)?;
        (all < u32::MAX).then_some(Self { links, nodes, ports })
    }

    /// The ports that the numbering was made for.
    #[inline]
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// The number of channels between routers; they have the smallest ids.
    #[inline]
    pub fn links(&self) -> usize {
        self.links as usize
    }

    /// The number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }

    /// The number of channels of all kinds.
    pub fn len(&self) -> usize {
        (self.links + self.nodes * (self.ports.injection + self.ports.consumption)) as usize
    }

    /// Whether there are no channels at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn run(first: u32, length: u32) -> impl ExactSizeIterator<Item = ChannelId> {
        let run: Range<u32> = first..first + length;
        run.map(ChannelId::new)
    }

    /// The injection channels of a node.
    #[inline]
    pub fn injection(&self, node: NodeId) -> impl ExactSizeIterator<Item = ChannelId> + use<> {
        Self::run(self.links + node.raw() * self.ports.injection, self.ports.injection)
    }

    /// The consumption channels of a node.
    #[inline]
    pub fn consumption(&self, node: NodeId) -> impl ExactSizeIterator<Item = ChannelId> + use<> {
        let first = self.links + self.nodes * self.ports.injection;
        Self::run(first + node.raw() * self.ports.consumption, self.ports.consumption)
    }

    /// A channel of `network`, which the numbering was made for, as users write it: a link as
    /// [`link_label`](Network::link_label) has it, `injection 4,3[0]` or `consumption host7[1]` with the node and which of its
    /// channels, counted from 0.
    pub fn label(&self, network: &Network, channel: ChannelId) -> String {
        match self.kind(channel) {
            ChannelKind::Link => network.link_label(channel),
            ChannelKind::Injection(node, port) => format!("injection {}[{port}]", network.node_label(node)),
            ChannelKind::Consumption(node, port) => format!("consumption {}[{port}]", network.node_label(node)),
        }
    }

    /// What a channel joins.
    #[inline]
    pub fn kind(&self, channel: ChannelId) -> ChannelKind {
        let ports = self.ports;
        // Most nodes have one port, and divisions take long.
        let of = |port: u32, count: u32| if count == 1 { (port, 0) } else { (port / count, port % count) };
        let Some(port) = channel.raw().checked_sub(self.links) else { return ChannelKind::Link };
        match port.checked_sub(self.nodes * ports.injection) {
            None => {
                let (node, port) = of(port, ports.injection);
                ChannelKind::Injection(NodeId::new(node), port)
            }
            Some(port) => {
                let (node, port) = of(port, ports.consumption);
                ChannelKind::Consumption(NodeId::new(node), port)
            }
        }
    }
}
