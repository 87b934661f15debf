//! Networks put together piece by piece: routers without nodes or with several, names, port numbers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thiserror::Error;

use crate::ids::RouterId;
use crate::network::{AdapterPort, Coordinates, Details, Network};
use crate::topologies::link_classes::MAX_LINK_DELAY;
use crate::topologies::spec::MAX_ROUTERS;

/// The most nodes that a network put together piece by piece may have.
pub const MAX_NODES: usize = 1 << 24;
/// The most links that a network put together piece by piece may have.
pub const MAX_LINKS: usize = 1 << 26;
/// The largest port number.
pub const MAX_PORT_NUMBER: u32 = 65_535;

/// Why a piece cannot be added to the network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no such router.
    #[error("there is no router {0}")]
    UnknownRouter(RouterId),
    /// Both ends of a link are the same router.
    #[error("{0} is joined to itself")]
    SelfLoop(String),
    /// Two cables at one port.
    #[error("port {port} of {described} is taken already")]
    PortTaken {
        /// The router.
        router: RouterId,
        /// By its name, if it has one.
        described: String,
        /// The number of its port.
        port: u32,
    },
    /// A port's number is too large.
    #[error("port {0} is beyond the limit of {MAX_PORT_NUMBER}")]
    PortTooLarge(u32),
    /// Some links have port numbers and others do not.
    #[error("ports have numbers on some links and nodes and none on others")]
    MixedPorts,
    /// A limit is exceeded.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// The most that are supported.
        limit: usize,
    },
    /// A link whose flits take no time, or too long.
    #[error("a link's delay of {0} cycles is out of range: expected 1 to {MAX_LINK_DELAY}")]
    Delay(u32),
    /// There is no link that could have a delay.
    #[error("there is no link")]
    NoLink,
    /// The network has no routers.
    #[error("there is no router")]
    Empty,
}

/// What is known of a node beyond its router.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeDetails {
    /// Its name; empty if it has none.
    pub name: String,
    /// The number of the router's port to which it is attached.
    pub port: Option<u32>,
    /// The host adapter's port that this node is. Adapters may have any number, the same for all ports of one adapter.
    pub adapter: Option<AdapterPort>,
    /// The GUID of that port.
    pub guid: Option<u64>,
}

/// Builds a network from routers, the links between them and the nodes attached to them.
///
/// Without a call of [`node`](Self::node), every router has one node with the same index; after one, only the nodes that
/// were added. Nodes are numbered router by router, at one router by port or else as they were added. Links keep their
/// order, unless ports have numbers: then a router's channels are in the order of ports.
///
/// ```
/// use wormcast_network::{NetworkBuilder, NodeDetails, NodeId, RouterId};
///
/// let mut builder = NetworkBuilder::new("star");
/// let spine = builder.router("spine")?;
/// for name in ["leaf a", "leaf b"] {
///     let leaf = builder.router(name)?;
///     builder.link(spine, leaf)?;
///     builder.node(leaf, NodeDetails::default())?;
///     builder.node(leaf, NodeDetails::default())?;
/// }
/// let network = builder.build()?;
/// assert_eq!((network.routers(), network.nodes(), network.nodes_of(spine).len()), (3, 4, 0));
/// assert_eq!(network.router_of(NodeId::new(3)), RouterId::new(2));
/// assert_eq!(network.router_name(RouterId::new(2)), Some("leaf b"));
/// # Ok::<(), wormcast_network::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NetworkBuilder {
    name: String,
    routers: usize,
    /// As long as the last router that has a name asks for.
    router_names: Vec<Box<str>>,
    router_guids: Vec<Option<u64>>,
    router_ports: Vec<Option<u32>>,
    coordinates: Vec<Option<Coordinates>>,
    links: Vec<(u32, u32)>,
    link_ports: Vec<(u32, u32)>,
    /// As long as the last link that has a delay asks for.
    link_delays: Vec<u32>,
    nodes: Vec<(u32, NodeDetails)>,
    /// Whether ports have numbers; unknown before the first link or node.
    numbered: Option<bool>,
    taken: HashSet<(u32, u32)>,
}

impl NetworkBuilder {
    /// An empty network of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            routers: 0,
            router_names: Vec::new(),
            router_guids: Vec::new(),
            router_ports: Vec::new(),
            coordinates: Vec::new(),
            links: Vec::new(),
            link_ports: Vec::new(),
            link_delays: Vec::new(),
            nodes: Vec::new(),
            numbered: None,
            taken: HashSet::new(),
        }
    }

    /// The number of routers so far.
    pub fn routers(&self) -> usize {
        self.routers
    }

    /// The number of links so far.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Adds a router; an empty name means that it has none.
    ///
    /// # Errors
    /// If there are [`MAX_ROUTERS`] already.
    pub fn router(&mut self, name: &str) -> Result<RouterId, BuildError> {
        let router = self.routers;
        self.at_least(router + 1)?;
        if !name.is_empty() {
            self.router_names.resize(router, Box::default());
            self.router_names.push(name.into());
        }
        Ok(RouterId::new(router as u32))
    }

    /// Adds routers without names until there are this many.
    ///
    /// # Errors
    /// If that is more than [`MAX_ROUTERS`].
    pub fn at_least(&mut self, routers: usize) -> Result<(), BuildError> {
        if routers > MAX_ROUTERS {
            return Err(BuildError::TooMany { what: "routers", limit: MAX_ROUTERS });
        }
        self.routers = self.routers.max(routers);
        Ok(())
    }

    /// Sets a router's GUID.
    ///
    /// # Errors
    /// If there is no such router.
    pub fn guid(&mut self, router: RouterId, guid: u64) -> Result<(), BuildError> {
        self.known(router)?;
        put(&mut self.router_guids, router, guid);
        Ok(())
    }

    /// Sets the number of ports of a router, connected or not.
    ///
    /// # Errors
    /// If there is no such router.
    pub fn ports(&mut self, router: RouterId, count: u32) -> Result<(), BuildError> {
        self.known(router)?;
        put(&mut self.router_ports, router, count);
        Ok(())
    }

    /// Sets the position of a router, for drawings.
    ///
    /// # Errors
    /// If there is no such router.
    pub fn coordinates(&mut self, router: RouterId, coordinates: Coordinates) -> Result<(), BuildError> {
        self.known(router)?;
        put(&mut self.coordinates, router, coordinates);
        Ok(())
    }

    /// Adds a link. Parallel links are kept.
    ///
    /// # Errors
    /// If it joins a router to itself or to one that does not exist, if other ports have numbers, or if there are
    /// [`MAX_LINKS`] already.
    pub fn link(&mut self, a: RouterId, b: RouterId) -> Result<(), BuildError> {
        self.check_link(a, b)?;
        self.set_numbered(false)?;
        self.links.push((a.raw(), b.raw()));
        Ok(())
    }

    /// Adds a link between numbered ports.
    ///
    /// # Errors
    /// As [`link`](Self::link), and if one of the ports is taken.
    pub fn link_ports(&mut self, (a, p): (RouterId, u32), (b, q): (RouterId, u32)) -> Result<(), BuildError> {
        self.check_link(a, b)?;
        self.set_numbered(true)?;
        self.take(a, p)?;
        self.take(b, q)?;
        self.links.push((a.raw(), b.raw()));
        self.link_ports.push((p, q));
        Ok(())
    }

    /// Sets the cycles that flits take over the link that was added last, both ways; those of which nothing is said take 1.
    ///
    /// # Errors
    /// If there is no link, or the delay is 0 or longer than [`MAX_LINK_DELAY`].
    pub fn delay(&mut self, cycles: u32) -> Result<(), BuildError> {
        if !(1..=MAX_LINK_DELAY).contains(&cycles) {
            return Err(BuildError::Delay(cycles));
        }
        let Some(last) = self.links.len().checked_sub(1) else { return Err(BuildError::NoLink) };
        self.link_delays.resize(last, 1);
        self.link_delays.push(cycles);
        Ok(())
    }

    /// Adds a node.
    ///
    /// # Errors
    /// If there is no such router, if its port is taken, if some nodes have ports and others do not, or if
    /// there are [`MAX_NODES`] already.
    pub fn node(&mut self, router: RouterId, details: NodeDetails) -> Result<(), BuildError> {
        self.known(router)?;
        if self.nodes.len() == MAX_NODES {
            return Err(BuildError::TooMany { what: "nodes", limit: MAX_NODES });
        }
        self.set_numbered(details.port.is_some())?;
        if let Some(port) = details.port {
            self.take(router, port)?;
        }
        self.nodes.push((router.raw(), details));
        Ok(())
    }

    fn known(&self, router: RouterId) -> Result<(), BuildError> {
        if router.index() < self.routers { Ok(()) } else { Err(BuildError::UnknownRouter(router)) }
    }

    fn check_link(&self, a: RouterId, b: RouterId) -> Result<(), BuildError> {
        self.known(a)?;
        self.known(b)?;
        if a == b {
            return Err(BuildError::SelfLoop(self.describe(a)));
        }
        if self.links.len() == MAX_LINKS {
            return Err(BuildError::TooMany { what: "links", limit: MAX_LINKS });
        }
        Ok(())
    }

    fn describe(&self, router: RouterId) -> String {
        match self.router_names.get(router.index()) {
            Some(name) if !name.is_empty() => format!("router `{name}`"),
            _ => format!("router {router}"),
        }
    }

    fn set_numbered(&mut self, numbered: bool) -> Result<(), BuildError> {
        if *self.numbered.get_or_insert(numbered) == numbered { Ok(()) } else { Err(BuildError::MixedPorts) }
    }

    fn take(&mut self, router: RouterId, port: u32) -> Result<(), BuildError> {
        if port > MAX_PORT_NUMBER {
            return Err(BuildError::PortTooLarge(port));
        }
        if self.taken.insert((router.raw(), port)) {
            Ok(())
        } else {
            Err(BuildError::PortTaken { router, described: self.describe(router), port })
        }
    }

    /// Builds the network in O(links log links + nodes log nodes).
    ///
    /// # Errors
    /// If there is no router.
    pub fn build(mut self) -> Result<Arc<Network>, BuildError> {
        if self.routers == 0 {
            return Err(BuildError::Empty);
        }
        let network = Network::from_ports(self.name, self.routers, &self.links, &self.link_ports);
        let mut details = Details::default();
        // Links of one cycle are what links are of which nothing is said.
        if self.link_delays.iter().any(|&cycles| cycles > 1) {
            self.link_delays.resize(self.links.len(), 1);
            details.link_delays = Network::delays_of(self.routers, &self.links, &self.link_ports, &self.link_delays);
        }
        if self.router_names.iter().any(|name| !name.is_empty()) {
            self.router_names.resize(self.routers, Box::default());
            details.router_names = self.router_names;
        }
        if !self.router_guids.is_empty() {
            self.router_guids.resize(self.routers, None);
            details.router_guids = self.router_guids;
        }
        if !self.router_ports.is_empty() {
            self.router_ports.resize(self.routers, None);
            details.router_ports = self.router_ports;
        }
        if !self.coordinates.is_empty() {
            self.coordinates.resize(self.routers, None);
            details.coordinates = self.coordinates;
        }
        if self.nodes.is_empty() {
            return Ok(Arc::new(network.with_details(details)));
        }
        self.nodes.sort_by_key(|(router, node)| (*router, node.port));
        details.node_ports = self.nodes.iter().filter_map(|(_, node)| node.port).collect();
        if self.nodes.iter().any(|(_, node)| !node.name.is_empty()) {
            details.node_names = self.nodes.iter().map(|(_, node)| node.name.as_str().into()).collect();
        }
        if self.nodes.iter().any(|(_, node)| node.guid.is_some()) {
            details.node_guids = self.nodes.iter().map(|(_, node)| node.guid).collect();
        }
        if self.nodes.iter().all(|(_, node)| node.adapter.is_some()) {
            let mut numbers = HashMap::new();
            for port in self.nodes.iter().filter_map(|(_, node)| node.adapter) {
                let next = numbers.len() as u32;
                let adapter = *numbers.entry(port.adapter).or_insert(next);
                details.adapter_ports.push(AdapterPort { adapter, ..port });
            }
        }
        let router_of = self.nodes.iter().map(|&(router, _)| router).collect();
        Ok(Arc::new(network.with_nodes(router_of).with_details(details)))
    }
}

/// Says something of a router, of which nothing may have been said yet.
fn put<T: Clone>(of_routers: &mut Vec<Option<T>>, router: RouterId, said: T) {
    if of_routers.len() <= router.index() {
        of_routers.resize(router.index() + 1, None);
    }
    of_routers[router.index()] = Some(said);
}
