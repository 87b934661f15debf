//! Which channels enter and leave each switch, and which port was served least recently.

use wormcast_network::{ChannelId, ChannelSpace, Network, NodeId, Ports, RouterId};

use super::NIL;

/// The most inputs, and the most outputs, of a switch: they are sets of bits.
pub(super) const MAX_SWITCH_PORTS: usize = 64;

/// The ports of all switches, in flat arrays. A channel is an output of the switch that it leaves and an input of the one that it
/// enters; nodes have one channel to their switch and one from it.
pub(super) struct Wiring {
    pub(super) space: ChannelSpace,
    pub(super) switches: usize,
    /// The first channel that is not between switches: the injection channel of node 0.
    pub(super) links: usize,
    /// The first consumption channel.
    pub(super) consumption: usize,
    /// The switch that each channel leaves, and its place among the outputs there; `NIL` for injection channels.
    pub(super) from: Vec<u32>,
    pub(super) out_port: Vec<u8>,
    /// The switch that each channel enters, and its place among the inputs there; `NIL` for consumption channels.
    pub(super) to: Vec<u32>,
    pub(super) in_port: Vec<u8>,
    /// Inputs `inputs[first_in[s]..first_in[s + 1]]` enter switch `s`.
    pub(super) first_in: Vec<u32>,
    pub(super) inputs: Vec<u32>,
    pub(super) first_out: Vec<u32>,
    pub(super) outputs: Vec<u32>,
}

/// The injection and consumption channels of each node.
pub(super) const PORTS: Ports = Ports { injection: 1, consumption: 1 };

impl Wiring {
    pub(super) fn new(network: &Network) -> Self {
        let space = ChannelSpace::new(network, PORTS);
        let (links, nodes) = (space.links(), network.nodes());
        let mut wiring = Self {
            space,
            switches: network.routers(),
            links,
            consumption: links + nodes,
            from: vec![NIL; space.len()],
            out_port: vec![0; space.len()],
            to: vec![NIL; space.len()],
            in_port: vec![0; space.len()],
            first_in: vec![0],
            inputs: Vec::new(),
            first_out: vec![0],
            outputs: Vec::new(),
        };
        // Where links are unidirectional, nodes send to another switch than they receive from.
        let mut injection: Vec<Vec<u32>> = vec![Vec::new(); network.routers()];
        for node in network.node_ids() {
            injection[network.entry_of(node).index()].extend(space.injection(node).map(ChannelId::raw));
        }
        for switch in network.router_ids() {
            let inputs = network.inputs(switch).map(ChannelId::raw).chain(injection[switch.index()].iter().copied());
            for (port, input) in inputs.enumerate() {
                (wiring.to[input as usize], wiring.in_port[input as usize]) = (switch.raw(), port as u8);
                wiring.inputs.push(input);
            }
            let consumption = network.nodes_of(switch).flat_map(|node| space.consumption(node));
            for (port, output) in network.outputs(switch).chain(consumption).map(ChannelId::raw).enumerate() {
                (wiring.from[output as usize], wiring.out_port[output as usize]) = (switch.raw(), port as u8);
                wiring.outputs.push(output);
            }
            wiring.first_in.push(wiring.inputs.len() as u32);
            wiring.first_out.push(wiring.outputs.len() as u32);
        }
        wiring
    }

    /// The most ports of a switch of a network: links and nodes, one way or the other.
    pub(super) fn most_ports(network: &Network) -> usize {
        let outputs = |switch: RouterId| network.outputs(switch).len() + network.nodes_of(switch).len();
        let most = network.router_ids().map(outputs).max().unwrap_or(0);
        Self::inputs_by_switch(network).into_iter().max().map_or(most, |inputs| most.max(inputs as usize))
    }

    /// The inputs of each switch: links and nodes that send to it.
    pub(super) fn inputs_by_switch(network: &Network) -> Vec<u32> {
        let mut inputs = network.entering_nodes();
        for (switch, inputs) in network.router_ids().zip(&mut inputs) {
            *inputs += network.inputs(switch).count() as u32;
        }
        inputs
    }

    /// The number of outputs of a switch.
    pub(super) fn outputs_of(&self, switch: usize) -> u32 {
        self.first_out[switch + 1] - self.first_out[switch]
    }

    /// An input of a switch by its place.
    #[inline]
    pub(super) fn input(&self, switch: usize, port: u8) -> usize {
        self.inputs[self.first_in[switch] as usize + port as usize] as usize
    }

    /// An output of a switch by its place.
    #[inline]
    pub(super) fn output(&self, switch: usize, port: u8) -> usize {
        self.outputs[self.first_out[switch] as usize + port as usize] as usize
    }

    /// The node that a consumption channel leads to.
    #[inline]
    pub(super) fn node(&self, consumption: usize) -> NodeId {
        NodeId::new((consumption - self.consumption) as u32)
    }
}

/// For each switch its ports, the one that was served least recently first.
pub(super) struct Order {
    first: Vec<u32>,
    ports: Vec<u8>,
}

impl Order {
    /// In the order of ports; `first` is where each switch's ports begin.
    pub(super) fn new(first: &[u32]) -> Self {
        let ports = first.windows(2).flat_map(|pair| (0..pair[1] - pair[0]).map(|port| port as u8)).collect();
        Self { first: first.to_vec(), ports }
    }

    /// The ports of a switch in this order.
    #[inline]
    pub(super) fn of(&self, switch: usize) -> &[u8] {
        &self.ports[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// A port has been served: it goes last.
    #[inline]
    pub(super) fn served(&mut self, switch: usize, port: u8) {
        let ports = &mut self.ports[self.first[switch] as usize..self.first[switch + 1] as usize];
        // A switch has few ports: to move each by one takes less time than to call for it.
        if let Some(mut place) = ports.iter().position(|&other| other == port) {
            while let Some(&next) = ports.get(place + 1) {
                ports[place] = next;
                place += 1;
            }
            ports[place] = port;
        }
    }
}
