//! What files say beyond the wiring: numbers of ports, names, identifiers, adapters.

use super::Network;
use crate::ids::{ChannelId, NodeId, RouterId};
use crate::topologies::shape::Shape;

/// A port of a host adapter, where a node of a fabric is attached.
///
/// An adapter with two connected ports is two nodes, which may be attached to different routers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdapterPort {
    /// The adapter; adapters are numbered from 0 in the order of their first node.
    pub adapter: u32,
    /// The number of its port.
    pub port: u32,
    /// The GUID of the adapter, which is that of none of its ports.
    pub guid: Option<u64>,
}

/// The position of a router, as given in its file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Coordinates {
    /// On earth, in degrees.
    Earth {
        /// North of the equator.
        latitude: f64,
        /// East of Greenwich.
        longitude: f64,
    },
    /// In a plane, in units of the file.
    Plane {
        /// To the right.
        x: f64,
        /// Upwards.
        y: f64,
    },
}

impl Coordinates {
    /// To the right and upwards.
    pub(crate) fn xy(self) -> [f64; 2] {
        match self {
            Self::Earth { latitude, longitude } => [longitude, latitude],
            Self::Plane { x, y } => [x, y],
        }
    }
}

/// What a file says beyond the wiring. Each list is empty where the file says nothing of the kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// Empty text: no name.
    pub(crate) router_names: Vec<Box<str>>,
    pub(crate) node_names: Vec<Box<str>>,
    pub(crate) router_guids: Vec<Option<u64>>,
    /// How many ports each router has, connected or not.
    pub(crate) router_ports: Vec<Option<u32>>,
    pub(crate) node_guids: Vec<Option<u64>>,
    /// The number of the port by which each channel leaves its router.
    pub(crate) channel_ports: Vec<u32>,
    /// The number of the router's port to which each node is attached.
    pub(crate) node_ports: Vec<u32>,
    pub(crate) adapter_ports: Vec<AdapterPort>,
    pub(crate) coordinates: Vec<Option<Coordinates>>,
    /// The cycles that a flit takes over each channel.
    pub(crate) link_delays: Vec<u32>,
}

impl Network {
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

    /// A router as users write it: coordinates in meshes and tori, elsewhere its name if it has one, or its number.
    pub fn router_label(&self, router: RouterId) -> String {
        match self.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) => {
                let coordinates = grid.coordinates(router.index());
                coordinates.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }
            _ => self.router_name(router).map_or_else(|| router.to_string(), str::to_owned),
        }
    }

    /// A node as users write it: coordinates in meshes and tori, and behind them which of the router's nodes it is if it has several, as in `4,3.1`; elsewhere its
    /// name if it has one, or its number.
    pub fn node_label(&self, node: NodeId) -> String {
        match self.shape() {
            Shape::Mesh(_) | Shape::Torus(_) => {
                let router = self.router_of(node);
                let label = self.router_label(router);
                match self.nodes_of(router).next() {
                    Some(first) if !self.has_one_node_each() => format!("{label}.{}", node.raw() - first.raw()),
                    _ => label,
                }
            }
            _ => self.node_name(node).map_or_else(|| node.to_string(), str::to_owned),
        }
    }

    /// Which of several channels from one router to another this one is, counted from 1 in the order of channels; `None` if it
    /// is the only one.
    ///
    /// ```
    /// use wormcast_network::{ChannelId, TopologySpec};
    ///
    /// let torus = "torus:2x3".parse::<TopologySpec>()?.build()?;
    /// assert_eq!([0, 1, 2].map(|c| torus.parallel_link(ChannelId::new(c))), [Some(1), Some(2), None]);
    /// # Ok::<(), wormcast_network::TopologyError>(())
    /// ```
    pub fn parallel_link(&self, channel: ChannelId) -> Option<u32> {
        let mut number = 0;
        let mut count = 0;
        for other in self.outputs(self.from(channel)).filter(|&other| self.to(other) == self.to(channel)) {
            count += 1;
            number += u32::from(other <= channel);
        }
        (count > 1).then_some(number)
    }

    /// A channel between routers as users write it, different for every channel: `0,1 -> 0,2`, with the numbers of the
    /// ports at both ends if ports have numbers, as in `leaf1[3] -> spine2[7]`, and else ` link 2` behind it if it is the second of
    /// several.
    pub fn link_label(&self, channel: ChannelId) -> String {
        let [from, to] = [self.from(channel), self.to(channel)].map(|router| self.router_label(router));
        match [channel, self.reverse(channel)].map(|end| self.port_of(end)) {
            [Some(out), Some(into)] if !self.is_unidirectional() => format!("{from}[{out}] -> {to}[{into}]"),
            _ => match self.parallel_link(channel) {
                Some(number) => format!("{from} -> {to} link {number}"),
                None => format!("{from} -> {to}"),
            },
        }
    }

    /// What identifies a channel between routers, as CSV fields: the routers at its ends as users write
    /// them, the numbers of the ports there, which are empty if ports have none, and [which of several](Self::parallel_link) it is,
    /// which is empty if it is the only one.
    pub fn link_ends(&self, channel: ChannelId) -> String {
        let [from, to] =
            [self.from(channel), self.to(channel)].map(|end| crate::text::csv_field(&self.router_label(end)));
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let into = if self.is_unidirectional() { None } else { self.port_of(self.reverse(channel)) };
        let [out, into, link] = [self.port_of(channel), into, self.parallel_link(channel)].map(number);
        format!("{from},{to},{out},{into},{link}")
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

    /// The cycles that a flit takes over a channel between routers, if the network's file says so; they are the same both ways.
    pub fn link_delay(&self, channel: ChannelId) -> Option<u32> {
        self.details.as_ref()?.link_delays.get(channel.index()).copied()
    }

    /// Whether the network's file says how long flits take over links.
    pub fn has_link_delays(&self) -> bool {
        self.details.as_deref().is_some_and(|details| !details.link_delays.is_empty())
    }

    /// The position of a router, if its file has one.
    pub fn coordinates(&self, router: RouterId) -> Option<Coordinates> {
        *self.details.as_ref()?.coordinates.get(router.index())?
    }

    /// The GUID of a switch, in a fabric: its own, or else the one that ibsim gives it.
    pub fn router_guid(&self, router: RouterId) -> Option<u64> {
        *self.details.as_ref()?.router_guids.get(router.index())?
    }

    /// How many ports a switch has, connected or not, if its file says so; they are numbered from 1.
    pub fn router_ports(&self, router: RouterId) -> Option<u32> {
        *self.details.as_ref()?.router_ports.get(router.index())?
    }

    /// The GUID of the adapter port that a node is, in a fabric: its own, or else the one that ibsim gives it.
    pub fn node_guid(&self, node: NodeId) -> Option<u64> {
        *self.details.as_ref()?.node_guids.get(node.index())?
    }

    /// The adapter's port that a node is, in a fabric.
    pub(crate) fn adapter_port(&self, node: NodeId) -> Option<AdapterPort> {
        self.details.as_ref()?.adapter_ports.get(node.index()).copied()
    }

    /// The GUID of the adapter that a node is a port of, in a fabric.
    pub fn adapter_guid(&self, node: NodeId) -> Option<u64> {
        self.adapter_port(node)?.guid
    }

    /// The number of host adapters, in a fabric.
    pub fn adapters(&self) -> Option<usize> {
        let ports = &self.details.as_ref()?.adapter_ports;
        ports.iter().map(|port| port.adapter as usize + 1).max()
    }
}
