//! Networks as InfiniBand fabrics, in the form that `ibsim` reads.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::FileFormat;
use super::fabric::{MAX_SWITCH_PORTS, guid_of};
use crate::error::TopologyError;
use crate::ids::{NodeId, RouterId};
use crate::network::{AdapterPort, Network};

/// A port plan: which port of its router each channel and each node has.
struct PortPlan {
    channels: Vec<u32>,
    nodes: Vec<u32>,
}

impl PortPlan {
    /// The network's own port numbers; where it has none, the smallest that are free, each router's channels first.
    fn new(network: &Network) -> Self {
        let (mut channels, mut nodes) = (Vec::with_capacity(network.channels()), Vec::with_capacity(network.nodes()));
        for router in network.router_ids() {
            let own_channels = network.outputs(router).map(|channel| network.port_of(channel));
            let own_nodes = network.nodes_of(router).map(|node| network.node_port(node));
            // In the order of ports, but nodes may come between channels.
            let mut taken: Vec<u32> = own_channels.clone().chain(own_nodes.clone()).flatten().collect();
            taken.sort_unstable();
            let mut taken = taken.into_iter().peekable();
            let mut next = 0;
            let mut number = |own: Option<u32>| {
                own.unwrap_or_else(|| {
                    loop {
                        next += 1;
                        while taken.next_if(|&port| port < next).is_some() {}
                        if taken.peek() != Some(&next) {
                            return next;
                        }
                    }
                })
            };
            channels.extend(own_channels.map(&mut number));
            nodes.extend(own_nodes.map(&mut number));
        }
        Self { channels, nodes }
    }
}

/// What an ibsim network cannot express.
pub(super) fn inexpressible(network: &Network) -> Option<String> {
    let plan = PortPlan::new(network);
    let bad = plan.channels.iter().chain(&plan.nodes).find(|port| !(1..=MAX_SWITCH_PORTS).contains(port));
    bad.map(|port| format!("a port {port} (ports have the numbers 1 to {MAX_SWITCH_PORTS})"))
}

/// A network as an ibsim network: a switch for each router, a host adapter for each node, or as the network was read.
///
/// Names are kept if they are all different and fit between quotes; else switches are `S0`, `S1`, … and adapters `H0`, `H1`, ….
/// Links and nodes without port numbers get ports from 1 on, links first. Write it only after
/// [`FileFormat::check_expresses`](crate::FileFormat::check_expresses). Identifiers are written where the network has them.
///
/// ```
/// use wormcast_network::{NetworkIbsim, TopologySpec};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// let text = NetworkIbsim(&ring).to_string();
/// assert!(text.starts_with("Switch 36 \"S0\"\n[1] \"S1\"[1]\n[2] \"S2\"[1]\n[3] \"H0\"[1]\n\n"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkIbsim<'n>(pub &'n Network);

impl fmt::Display for NetworkIbsim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        FabricText { network: self.0, is_for_ibsim: true }.fmt(f)
    }
}

/// A fabric's file, for `ibsim` or for this program, which takes any names.
struct FabricText<'n> {
    network: &'n Network,
    is_for_ibsim: bool,
}

impl fmt::Display for FabricText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, is_for_ibsim } = *self;
        let plan = PortPlan::new(network);
        // The nodes of each adapter, by port.
        let mut adapters: Vec<Vec<(u32, NodeId)>> = Vec::new();
        let mut adapter_ports = Vec::with_capacity(network.nodes());
        for node in network.node_ids() {
            let AdapterPort { adapter, port, .. } =
                network.adapter_port(node).unwrap_or(AdapterPort { adapter: node.raw(), port: 1, guid: None });
            adapters.resize_with(adapters.len().max(adapter as usize + 1), Vec::new);
            adapters[adapter as usize].push((port, node));
            adapter_ports.push((adapter as usize, port));
        }
        let names = Names::new(network, &mut adapters, is_for_ibsim);
        let mut free = names.free_identifiers();
        for router in network.router_ids() {
            let mut cables: Vec<(u32, &str, u32)> = Vec::new();
            for channel in network.outputs(router) {
                let back = network.reverse(channel);
                let there = &names.switches[network.to(channel).index()];
                cables.push((plan.channels[channel.index()], there, plan.channels[back.index()]));
            }
            for node in network.nodes_of(router) {
                let (adapter, port) = adapter_ports[node.index()];
                cables.push((plan.nodes[node.index()], &names.adapters[adapter], port));
            }
            cables.sort_unstable();
            // Switches of 36 ports are what ibsim's examples and most clusters have.
            let own = network.router_ports(router).unwrap_or(36);
            let ports = cables.last().map_or(own, |&(port, ..)| port.max(own));
            let name = &names.switches[router.index()];
            let apart = || free.as_mut().filter(|_| guid_of(name, "S-").is_none()).and_then(Iterator::next);
            if let Some(guid) = network.router_guid(router).or_else(apart) {
                writeln!(f, "switchguid={guid:#x}")?;
            }
            writeln!(f, "Switch {ports} \"{}\"", names.switches[router.index()])?;
            for (port, there, remote) in cables {
                writeln!(f, "[{port}] \"{there}\"[{remote}]")?;
            }
            writeln!(f)?;
        }
        for (ports, name) in adapters.iter().zip(&names.adapters) {
            let below = |node: NodeId, port: u32| Some(network.node_guid(node)?.wrapping_sub(u64::from(port)));
            let own = |&(port, node): &(u32, NodeId)| network.adapter_guid(node).or_else(|| below(node, port));
            let apart = || free.as_mut().filter(|_| guid_of(name, "H-").is_none()).and_then(Iterator::next);
            if let Some(guid) = ports.first().and_then(own).or_else(apart) {
                writeln!(f, "caguid={guid:#x}")?;
            }
            writeln!(f, "Hca {} \"{name}\"", ports.last().map_or(1, |&(port, _)| port))?;
            for &(port, node) in ports {
                let switch = &names.switches[network.router_of(node).index()];
                let guid = network.node_guid(node).map_or_else(String::new, |guid| format!("({guid:x})"));
                writeln!(f, "[{port}]{guid} \"{switch}\"[{}]", plan.nodes[node.index()])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Names for an ibsim network: all different, none with a quote.
struct Names {
    switches: Vec<String>,
    adapters: Vec<String>,
}

impl Names {
    fn new(network: &Network, adapters: &mut [Vec<(u32, NodeId)>], is_for_ibsim: bool) -> Self {
        let own_switch = |router: u32| network.router_name(RouterId::new(router)).map(str::to_owned);
        let own_adapter = |ports: &[(u32, NodeId)]| match ports {
            [(_, node)] => network.own_node_name(*node).map(str::to_owned),
            [(port, node), ..] => network.own_node_name(*node)?.strip_suffix(&format!("[{port}]")).map(str::to_owned),
            [] => None,
        };
        for ports in adapters.iter_mut() {
            ports.sort_unstable();
        }
        let switches: Option<Vec<String>> = (0..network.routers() as u32).map(own_switch).collect();
        let hosts: Option<Vec<String>> = adapters.iter().map(|ports| own_adapter(ports)).collect();
        let numbered = |letter: char, count: usize| (0..count).map(|i| format!("{letter}{i}")).collect::<Vec<_>>();
        let mut names = Self {
            switches: switches.unwrap_or_else(|| numbered('S', network.routers())),
            adapters: hosts.unwrap_or_else(|| numbered('H', adapters.len())),
        };
        if !names.are_good(is_for_ibsim) {
            names = Self { switches: numbered('S', network.routers()), adapters: numbered('H', adapters.len()) };
        }
        names
    }

    fn are_good(&self, is_for_ibsim: bool) -> bool {
        // What ibsim takes of a name for its own purposes, and how much of it tells devices apart.
        const RESERVED: [char; 2] = ['#', '@'];
        const DIFFERENT: usize = 63;
        const LONGEST: usize = 255;
        let mut seen = HashSet::with_capacity(self.switches.len() + self.adapters.len());
        self.switches.iter().chain(&self.adapters).all(|name| {
            let takes = !is_for_ibsim || name.len() <= LONGEST && !name.contains(RESERVED);
            let told = if is_for_ibsim { &name.as_bytes()[..name.len().min(DIFFERENT)] } else { name.as_bytes() };
            takes && !name.is_empty() && !name.contains(['"', '\n', '\r']) && seen.insert(told)
        })
    }

    /// Identifiers, each with room for those of an adapter's ports, for devices that have none where the names of others are identifiers: those by number might be
    /// the same.
    fn free_identifiers(&self) -> Option<impl Iterator<Item = u64> + use<>> {
        let switches = self.switches.iter().filter_map(|name| guid_of(name, "S-"));
        let largest = switches.chain(self.adapters.iter().filter_map(|name| guid_of(name, "H-"))).max()?;
        let first = (largest >> 8).checked_add(2)?;
        Some((first..u64::MAX >> 8).map(|number| number << 8))
    }
}

/// The network as a fabric: itself if it was read from one, else what reading its ibsim file gives, with names, port numbers and
/// identifiers for all routers and nodes. Routers, channels and nodes keep their numbers.
///
/// # Errors
/// If it does not fit: a switch has at most 254 ports.
///
/// ```
/// use wormcast_network::{NodeId, RouterId, TopologySpec, as_fabric};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// let fabric = as_fabric(&ring)?;
/// assert_eq!(fabric.router_name(RouterId::new(2)), Some("S2"));
/// assert_eq!((fabric.node_name(NodeId::new(2)), fabric.node_port(NodeId::new(2))), (Some("H2"), Some(3)));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub fn as_fabric(network: &Arc<Network>) -> Result<Arc<Network>, TopologyError> {
    let nodes = || network.node_ids();
    if nodes().all(|node| network.node_guid(node).is_some() && network.adapter_port(node).is_some()) {
        return Ok(Arc::clone(network));
    }
    FileFormat::Fabric.check_expresses(network)?;
    FileFormat::Fabric.parse(network.name(), &FabricText { network, is_for_ibsim: false }.to_string())
}
