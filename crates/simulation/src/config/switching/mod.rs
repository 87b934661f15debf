//! How routers and nodes switch flits: a switching model with its settings, as experiment files spell them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_network::Ports;
use wormcast_network::text::short_list;
use wormcast_routing::Branching;

use crate::config::StartupMode;
use crate::config::buffer::Buffer;

mod header;
mod settings;
pub use header::Header;
use settings::SwitchingSettings;

/// The switching model and its settings. In a file, `switching.model` chooses; settings of another model are errors.
///
/// ```
/// use wormcast_simulation::{BufferedSwitch, Organization, Switching, Wormhole};
///
/// let switching: Switching = serde_json::from_str(r#"{ "buffer": 4 }"#)?;
/// assert_eq!(switching, Wormhole { buffer: Some(4.into()), ..Wormhole::default() }.into());
/// let switching: Switching = serde_json::from_str(r#"{ "model": "input-buffer" }"#)?;
/// assert_eq!(switching, BufferedSwitch::input_buffer().into());
/// let misplaced = serde_json::from_str::<Switching>(r#"{ "model": "central-buffer", "buffer": 4 }"#);
/// assert!(misplaced.unwrap_err().to_string().starts_with("`model = \"central-buffer\"` has no setting `buffer`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "SwitchingSettings", into = "SwitchingSettings")]
pub enum Switching {
    /// Worms hold channels from header to tail; small buffers at the channels' ends.
    Wormhole(Wormhole),
    /// Switches that buffer whole packets (paper 4).
    Buffered(BufferedSwitch),
}

/// Wormhole switching. The defaults are those of paper 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Wormhole {
    /// What the buffer at the end of each channel holds, for each virtual channel; by default what the algorithm's trees are meant
    /// for, and one flit for paths.
    pub buffer: Option<Buffer>,
    /// Bytes of a flit, for message lengths in bytes. Default 1.
    pub flit_bytes: Option<u32>,
    /// Virtual channels of each link, which share its bandwidth.
    pub virtual_channels: u32,
    /// Injection channels of each node. Default: what the algorithm is defined with, or 4.
    pub injection_ports: Option<u32>,
    /// Consumption channels of each node. Default: what the algorithm is defined with, or 4.
    pub consumption_ports: Option<u32>,
    /// What travels in front of the data.
    pub header: Header,
    /// Header flits of each worm, for headers of fixed length; by default one flit for every 16 nodes.
    pub header_flits: Option<u32>,
    /// How flits leave a replication point; by default what the algorithm's trees are meant for.
    pub replication: Option<BranchReplication>,
    /// How independent branches are reserved; by default what the algorithm's trees are meant for.
    pub reservation: Option<Reservation>,
    /// Which of several free channels a header takes.
    pub selection: SelectionPolicy,
    /// Another place for `timing.startup_mode`: what it keeps busy belongs to the switch as much as to its timing.
    pub startup_mode: Option<StartupMode>,
}

/// Switches with buffers for whole packets, and nodes with one injection and one consumption channel. The defaults are those of
/// paper 4, section 7.1. `docs/switches.md` has the exact rules.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferedSwitch {
    /// Bytes of a flit, for message lengths in bytes and the lengths of headers.
    pub flit_bytes: u32,
    /// Flits that the FIFO at each input holds.
    pub input_fifo: u32,
    /// Flits of a chunk: what a buffer's memory is written and read by.
    pub chunk_flits: u32,
    /// Cycles from the end of a header's routing until it crosses the next link, in an idle switch.
    pub crossing_delay: u32,
    /// Header flits of a multidestination worm; by default as many as hold a bit for each node.
    pub header_flits: Option<u32>,
    /// Header flits of a unicast; by default as many as hold a node's number.
    pub unicast_header_flits: Option<u32>,
    /// The most flits of a packet, its header included; by default as many as the buffers are sure to take.
    pub max_packet: Option<u32>,
    /// Which of several free channels up a packet takes; by default the one that was given a packet least recently.
    pub selection: Option<SelectionPolicy>,
    /// Another place for `timing.startup_mode`.
    pub startup_mode: Option<StartupMode>,
    /// Where packets are buffered.
    pub organization: Organization,
}

/// Where a buffered switch keeps the packets that have to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Organization {
    /// In one memory that all ports share, in a queue for each output (paper 4, section 4).
    Central {
        /// Chunks of the memory.
        chunks: u32,
        /// How the packet queues of a replicated packet are kept apart.
        header_chunks: HeaderChunks,
    },
    /// In the FIFO of its input (paper 4, section 5).
    Input {
        /// How chunks get from the input's memory to the outputs.
        read_path: ReadPath,
        /// Whether branches wait for each other.
        replication: BranchTiming,
    },
}

/// How the packet queues of outputs that share a packet are kept apart (paper 4, section 4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderChunks {
    /// The header chunk is written once for each output: more chunks, and a write cycle for each.
    #[default]
    Replicated,
    /// Each output has a memory of next-packet pointers of its own: one header chunk, one write.
    NextPacketMemory,
}

/// How chunks get from an input's memory to the outputs (paper 4, section 5.2). Both keep every output at a flit a cycle, by the same
/// cycles: they differ in wires and registers only, and so do results in nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPath {
    /// One chunk-wide memory and a staircase of registers that hand its flits on.
    #[default]
    RegisterStaircase,
    /// A flit-wide memory for each flit of a chunk.
    SplitRam,
}

/// Whether the branches of a worm wait for each other in a buffered switch (paper 4, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BranchTiming {
    /// Each branch goes on when it can.
    #[default]
    Asynchronous,
    /// Branches reserve their outputs one by one and move in lock-step: the scheme that can deadlock.
    Synchronous,
}

impl Default for Switching {
    fn default() -> Self {
        Self::Wormhole(Wormhole::default())
    }
}

impl From<Wormhole> for Switching {
    fn from(wormhole: Wormhole) -> Self {
        Self::Wormhole(wormhole)
    }
}

impl From<BufferedSwitch> for Switching {
    fn from(buffered: BufferedSwitch) -> Self {
        Self::Buffered(buffered)
    }
}

impl Default for Wormhole {
    fn default() -> Self {
        Self {
            buffer: None,
            flit_bytes: None,
            virtual_channels: 1,
            injection_ports: None,
            consumption_ports: None,
            header: Header::None,
            header_flits: None,
            replication: None,
            reservation: None,
            selection: SelectionPolicy::First,
            startup_mode: None,
        }
    }
}

impl Wormhole {
    /// The channels of each node: those of the settings, where these say nothing those that the algorithm is defined with, and
    /// where it is with none, those of paper 1.
    pub(crate) fn ports(&self, algorithm: Option<Ports>) -> Ports {
        let default = algorithm.unwrap_or(Ports { injection: 4, consumption: 4 });
        Ports {
            injection: self.injection_ports.unwrap_or(default.injection),
            consumption: self.consumption_ports.unwrap_or(default.consumption),
        }
    }

    /// Fills in what depends on how an algorithm wants its trees to branch, where nothing else is asked for.
    #[must_use]
    pub fn for_branching(&self, branching: Branching) -> Self {
        let (replication, reservation) = if branching.separate {
            (BranchReplication::Independent, Reservation::Separate)
        } else {
            (BranchReplication::Lockstep, Reservation::Atomic)
        };
        let buffer = if branching.packet_buffers { Buffer::Message } else { Buffer::Flits(1) };
        Self {
            buffer: self.buffer.or(Some(buffer)),
            replication: self.replication.or(Some(replication)),
            reservation: self.reservation.or(Some(reservation)),
            ..self.clone()
        }
    }
}

impl BufferedSwitch {
    /// The central-buffer switch of paper 4: 8 inputs of 64 flits and 256 chunks of 8 flits, 5 KB.
    pub fn central_buffer() -> Self {
        Self::new(64, Organization::Central { chunks: 256, header_chunks: HeaderChunks::default() })
    }

    /// The input-buffer switch of paper 4, of the same storage: 8 inputs of 320 flits.
    pub fn input_buffer() -> Self {
        Self::new(320, Organization::Input { read_path: ReadPath::default(), replication: BranchTiming::default() })
    }

    fn new(input_fifo: u32, organization: Organization) -> Self {
        Self {
            flit_bytes: 2,
            input_fifo,
            chunk_flits: 8,
            crossing_delay: 2,
            header_flits: None,
            unicast_header_flits: None,
            max_packet: None,
            selection: None,
            startup_mode: None,
            organization,
        }
    }
}

impl Switching {
    /// Bytes of a flit.
    pub fn flit_bytes(&self) -> u32 {
        match self {
            Self::Wormhole(wormhole) => wormhole.flit_bytes.unwrap_or(1),
            Self::Buffered(buffered) => buffered.flit_bytes,
        }
    }

    /// What `switching.startup_mode` says.
    pub fn startup_mode(&self) -> Option<StartupMode> {
        match self {
            Self::Wormhole(wormhole) => wormhole.startup_mode,
            Self::Buffered(buffered) => buffered.startup_mode,
        }
    }

    /// The settings of a model, as a file spells it; none if there is no such model.
    pub fn settings_of(model: &str) -> &'static [&'static str] {
        settings::KEYS.iter().find(|(name, _)| *name == model).map_or(&[], |(_, keys)| keys)
    }

    /// Why a setting of some model has no place beside `model` (as a file spells it; `None`: the default); `None` if it has one, or is
    /// no setting at all.
    pub fn misplaced(model: Option<&str>, key: &str) -> Option<String> {
        let model = model.unwrap_or("wormhole");
        let keys = settings::KEYS.iter().find(|(name, _)| *name == model)?.1;
        let others: Vec<String> = settings::KEYS
            .iter()
            .filter(|(_, keys)| keys.contains(&key))
            .map(|(name, _)| format!("`model = \"{name}\"`"))
            .collect();
        (!others.is_empty() && !keys.contains(&key)).then(|| {
            let (others, own) = (others.join(" and "), short_list(keys.iter().copied()));
            format!("`model = \"{model}\"` has no setting `{key}`, which belongs to {others}; expected one of {own}")
        })
    }
}

/// How flits leave a replication point of a tree (rule 17). Paths always deliver in lockstep with what goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Replication")]
#[serde(rename_all = "kebab-case")]
pub enum BranchReplication {
    /// On all branches in the same cycle or on none.
    Lockstep,
    /// On each branch when it can; the slot frees with the last copy.
    Independent,
}

/// How independent branches are reserved (rule 17).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reservation {
    /// All at once.
    Atomic,
    /// One request a branch, each starting at its own grant.
    Separate,
}

/// Which of several channels that are free a header takes (rule 19; in buffered switches a packet on its way up, rule S4 of `docs/switches.md`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Selection")]
#[serde(rename_all = "kebab-case")]
pub enum SelectionPolicy {
    /// The first in the routing's order of preference.
    #[default]
    First,
    /// Any, each with the same probability.
    Random,
    /// The next after the one taken last from the same candidates, in the order of channels, cyclically.
    RoundRobin,
    /// The one for which the fewest requests wait (in buffered switches nothing waits for a free channel); of several the one that the fewest
    /// flits have crossed.
    LeastLoaded,
}
