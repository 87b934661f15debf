//! The configuration of the switch engine.

use wormcast_multicast::{Encoded, Encoding};
use wormcast_network::{Network, NodeId, RouterId};

use super::wiring::{MAX_SWITCH_PORTS, Wiring};
use crate::config::switching::{BranchTiming, BufferedSwitch, HeaderChunks, Organization, SelectionPolicy};
use crate::config::{StartupMode, Timing};
use crate::run::scenario::{ConfigError, MAX_LENGTH};

/// The parameters of switches and nodes that the switch engine needs, in cycles and flits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchConfig {
    /// Startup cycles a worm.
    pub startup: u32,
    /// What a startup keeps busy.
    pub startup_mode: StartupMode,
    /// Cycles between a delivery and the readiness of what it triggers.
    pub receive_overhead: u32,
    /// Cycles in which a header is routed.
    pub routing_delay: u32,
    /// Cycles from then until it crosses the next link, in an idle switch; at least 1.
    pub crossing_delay: u32,
    /// Flits of an input's FIFO.
    pub input_fifo: u32,
    /// Flits of a chunk.
    pub chunk_flits: u32,
    /// Bits of a flit, for headers.
    pub flit_bits: u32,
    /// Header flits of worms that encode their destinations, if they are fixed.
    pub header_flits: Option<u32>,
    /// Header flits of unicasts.
    pub unicast_header_flits: u32,
    /// The most flits of a packet, its header included.
    pub max_packet: u32,
    /// Which of several free channels up a packet takes; `None`: the one that was given a packet least recently.
    pub selection: Option<SelectionPolicy>,
    /// The seed of what is drawn for `selection`; nothing else depends on it.
    pub seed: u64,
    /// Where packets are buffered.
    pub organization: Organization,
}

impl SwitchConfig {
    /// The configuration that the settings mean on `network`, where packets have at most `longest` data flits.
    pub fn new(switching: &BufferedSwitch, timing: &Timing, network: &Network, longest: u32) -> Self {
        let nodes = network.nodes() as u32;
        let flit_bits = switching.flit_bytes * 8;
        // As many bits as tell the nodes apart, one at least.
        let address = (u32::BITS - nodes.saturating_sub(1).leading_zeros()).max(1);
        let unicast = switching.unicast_header_flits.unwrap_or(address.div_ceil(flit_bits));
        let header = switching.header_flits.unwrap_or_else(|| Encoding::most_flits(network, flit_bits));
        Self {
            startup: timing.startup,
            startup_mode: timing.startup_mode.or(switching.startup_mode).unwrap_or_default(),
            receive_overhead: timing.receive_overhead,
            routing_delay: timing.routing_delay,
            crossing_delay: switching.crossing_delay,
            input_fifo: switching.input_fifo,
            chunk_flits: switching.chunk_flits,
            flit_bits,
            header_flits: switching.header_flits,
            unicast_header_flits: unicast,
            max_packet: switching.max_packet.unwrap_or(header.max(unicast) + longest),
            selection: switching.selection,
            seed: 0,
            organization: switching.organization,
        }
    }

    /// Whether the branches of a worm wait for each other.
    pub fn is_synchronous(&self) -> bool {
        matches!(self.organization, Organization::Input { replication: BranchTiming::Synchronous, .. })
    }

    /// Cycles through an idle switch, from one link to the next, for a worm that is not replicated there.
    pub fn switch_latency(&self) -> u32 {
        self.routing_delay + self.crossing_delay
    }

    /// Cycles between a flit's arrival in a FIFO and when it may be taken out of it, less one.
    pub(super) fn fifo_delay(&self) -> u32 {
        self.switch_latency() - 1
    }

    /// The header flits of a worm.
    pub(super) fn header_flits_of(&self, encoded: &Encoded, network: &Network, from: NodeId) -> u32 {
        self.header_flits.unwrap_or_else(|| encoded.header_flits(network, from, self.flit_bits))
    }

    /// The chunks of a packet.
    pub(super) fn chunks(&self, flits: u32) -> u32 {
        flits.div_ceil(self.chunk_flits)
    }

    /// The most chunks that a replicated packet takes in a central buffer of a switch with so many outputs.
    pub(super) fn most_chunks(&self, outputs: u32, header_chunks: HeaderChunks) -> u32 {
        let copies = if header_chunks == HeaderChunks::Replicated { outputs.saturating_sub(1) } else { 0 };
        self.chunks(self.max_packet) + copies
    }

    /// Flits that the buffers of each switch can hold.
    pub(crate) fn storage(&self, network: &Network) -> Vec<u64> {
        let central = match self.organization {
            Organization::Central { chunks, .. } => u64::from(chunks) * u64::from(self.chunk_flits),
            Organization::Input { .. } => 0,
        };
        let inputs = Wiring::inputs_by_switch(network);
        inputs.into_iter().map(|inputs| u64::from(inputs) * u64::from(self.input_fifo) + central).collect()
    }

    /// Checks that the buffers are large enough to be free of deadlock.
    ///
    /// # Errors
    /// The first setting that is invalid.
    pub fn check(&self, network: &Network) -> Result<(), ConfigError> {
        let error = |key: &str, problem: String| Err(ConfigError { key: format!("switching.{key}"), problem });
        let most = Wiring::most_ports(network);
        if most > MAX_SWITCH_PORTS {
            let problem = format!(
                "buffered switches have at most {MAX_SWITCH_PORTS} ports, but one of {} has {most}",
                network.name()
            );
            return error("model", problem);
        }
        if self.input_fifo < self.chunk_flits {
            let problem =
                format!("an input of {} has no room for a chunk of {} flits", self.input_fifo, self.chunk_flits);
            return error("input_fifo", problem);
        }
        let longest = self.max_packet;
        match self.organization {
            Organization::Input { replication: BranchTiming::Synchronous, .. } => {}
            Organization::Input { .. } if longest > self.input_fifo => {
                let problem = format!(
                    "{} flits do not hold the longest packet, of {longest} flits with its header, and worms could deadlock: raise `input_fifo`, or send shorter messages",
                    self.input_fifo
                );
                return error("input_fifo", problem);
            }
            Organization::Input { .. } => {}
            Organization::Central { chunks, header_chunks } => {
                let outputs = |switch| network.outputs(switch).len() + network.nodes_of(switch).len();
                let most = (0..network.routers() as u32).map(|s| outputs(RouterId::new(s))).max().unwrap_or(0) as u32;
                let least = most + self.most_chunks(most, header_chunks) + 1;
                if chunks < least || chunks > MAX_LENGTH {
                    let problem = format!(
                        "{chunks} is out of range: expected {least} to {MAX_LENGTH}, for the longest packet, of {longest} flits with its header, its copies of the header chunk, a chunk for each output and one more"
                    );
                    return error("central_chunks", problem);
                }
            }
        }
        Ok(())
    }
}
