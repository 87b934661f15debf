//! Switching as experiment files spell it: one table, whose settings belong to its model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_network::MAX_NODE_PORTS;

use super::{
    BranchReplication, BranchTiming, BufferedSwitch, Header, HeaderChunks, Organization, ReadPath, Reservation,
    SelectionPolicy, Switching, Wormhole,
};
use crate::config::StartupMode;
use crate::config::buffer::Buffer;
use crate::run::scenario::{MAX_DELAY, MAX_FLIT_BYTES, MAX_LENGTH};

/// The settings of each model.
pub(super) const KEYS: [(&str, &[&str]); 3] = [
    (
        "wormhole",
        &[
            "model",
            "buffer",
            "flit_bytes",
            "virtual_channels",
            "injection_ports",
            "consumption_ports",
            "header",
            "header_flits",
            "replication",
            "reservation",
            "selection",
            "startup_mode",
        ],
    ),
    (
        "central-buffer",
        &[
            "model",
            "flit_bytes",
            "input_fifo",
            "chunk_flits",
            "central_chunks",
            "header_chunks",
            "crossing_delay",
            "header_flits",
            "unicast_header_flits",
            "max_packet",
            "selection",
            "startup_mode",
        ],
    ),
    (
        "input-buffer",
        &[
            "model",
            "flit_bytes",
            "input_fifo",
            "chunk_flits",
            "read_path",
            "replication",
            "crossing_delay",
            "header_flits",
            "unicast_header_flits",
            "max_packet",
            "selection",
            "startup_mode",
        ],
    ),
];

/// Switching as files spell it.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Switching")]
pub(super) struct SwitchingSettings {
    /// The switching model, which the other settings belong to. Default `wormhole`.
    #[serde(default)]
    model: Model,
    /// Wormhole: flits that the buffer at the end of each channel holds, for each virtual channel, or `"message"`: any worm as a
    /// whole. Default 1, and `"message"` for `tree-zero`, `tree-one`, `tree-infinity`, trees on meshes and `tables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<Buffer>,
    /// Bytes of a flit, for message lengths in bytes and, in buffered switches, the lengths of headers. Default 1, in buffered
    /// switches 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_FLIT_BYTES))]
    flit_bytes: Option<u32>,
    /// Wormhole: virtual channels of each link, which share its bandwidth. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    virtual_channels: Option<u32>,
    /// Wormhole: injection channels of each node. Default 4, and 1 for algorithms on spanning trees; buffered switches have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_NODE_PORTS))]
    injection_ports: Option<u32>,
    /// Wormhole: consumption channels of each node. Default 4, or what the algorithm is defined with; buffered switches have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_NODE_PORTS))]
    consumption_ports: Option<u32>,
    /// Wormhole: what travels in front of the data. Default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Header>,
    /// Header flits of each worm, for headers of fixed length; by default one flit for every 16 nodes. Buffered switches: of a
    /// multidestination worm; by default as many as hold a bit for each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_LENGTH))]
    header_flits: Option<u32>,
    /// How flits leave a replication point: wormhole `lockstep` (default) or `independent` (default for `tree-zero`, `tree-one`,
    /// `tree-infinity`, trees on meshes and `tables`), input-buffer `asynchronous` (default) or `synchronous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    replication: Option<ReplicationName>,
    /// Wormhole: how independent branches are reserved. Default `atomic`, and `separate` for `tree-zero`, `tree-one`,
    /// `tree-infinity`, trees on meshes and `tables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation: Option<Reservation>,
    /// Which of several free channels a header takes. Wormhole: of the candidates of an adaptive routing, and, unless it is `first`,
    /// of parallel links; default `first`. Buffered switches: of the channels up; by default the one that was given a packet least
    /// recently.
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<SelectionPolicy>,
    /// Another place for `timing.startup_mode`: what it keeps busy belongs to the switch as much as to its timing.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup_mode: Option<StartupMode>,
    /// Buffered switches: flits that the FIFO at each input holds. Default 64 with a central buffer, 320 without.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_LENGTH))]
    input_fifo: Option<u32>,
    /// Buffered switches: flits of a chunk, what a buffer's memory is written and read by. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_LENGTH))]
    chunk_flits: Option<u32>,
    /// Central-buffer: chunks of the shared memory. Default 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    central_chunks: Option<u32>,
    /// Central-buffer: how the packet queues of a replicated packet are kept apart. Default `replicated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    header_chunks: Option<HeaderChunks>,
    /// Input-buffer: how chunks get from an input's memory to the outputs; both by the same cycles. Default `register-staircase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_path: Option<ReadPath>,
    /// Buffered switches: cycles from the end of a header's routing until it crosses the next link, in an idle switch. Default 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_DELAY))]
    crossing_delay: Option<u32>,
    /// Buffered switches: header flits of a unicast; by default as many as hold a node's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_LENGTH))]
    unicast_header_flits: Option<u32>,
    /// Buffered switches: the most flits of a packet, its header included. Default: those of the longest packet of the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_packet: Option<u32>,
}

impl SwitchingSettings {
    /// The settings that are given, by name.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("buffer", self.buffer.is_some()),
            ("flit_bytes", self.flit_bytes.is_some()),
            ("virtual_channels", self.virtual_channels.is_some()),
            ("injection_ports", self.injection_ports.is_some()),
            ("consumption_ports", self.consumption_ports.is_some()),
            ("header", self.header.is_some()),
            ("header_flits", self.header_flits.is_some()),
            ("replication", self.replication.is_some()),
            ("reservation", self.reservation.is_some()),
            ("selection", self.selection.is_some()),
            ("startup_mode", self.startup_mode.is_some()),
            ("input_fifo", self.input_fifo.is_some()),
            ("chunk_flits", self.chunk_flits.is_some()),
            ("central_chunks", self.central_chunks.is_some()),
            ("header_chunks", self.header_chunks.is_some()),
            ("read_path", self.read_path.is_some()),
            ("crossing_delay", self.crossing_delay.is_some()),
            ("unicast_header_flits", self.unicast_header_flits.is_some()),
            ("max_packet", self.max_packet.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
    }
}

impl TryFrom<SwitchingSettings> for Switching {
    type Error = String;

    fn try_from(given: SwitchingSettings) -> Result<Self, String> {
        let model = given.model.name();
        if let Some(problem) = given.given().find_map(|key| Self::misplaced(Some(model), key)) {
            return Err(problem);
        }
        let organization = match given.model {
            Model::Wormhole => {
                let default = Wormhole::default();
                return Ok(Self::Wormhole(Wormhole {
                    buffer: given.buffer,
                    flit_bytes: given.flit_bytes,
                    virtual_channels: given.virtual_channels.unwrap_or(default.virtual_channels),
                    injection_ports: given.injection_ports,
                    consumption_ports: given.consumption_ports,
                    header: given.header.unwrap_or(default.header),
                    header_flits: given.header_flits,
                    replication: match given.replication {
                        None => None,
                        Some(ReplicationName::Lockstep) => Some(BranchReplication::Lockstep),
                        Some(ReplicationName::Independent) => Some(BranchReplication::Independent),
                        Some(_) => {
                            return Err(format!(
                                "`replication` of `model = \"{model}\"` is `lockstep` or `independent`"
                            ));
                        }
                    },
                    reservation: given.reservation,
                    selection: given.selection.unwrap_or_default(),
                    startup_mode: given.startup_mode,
                }));
            }
            Model::CentralBuffer => Organization::Central {
                chunks: given.central_chunks.unwrap_or(256),
                header_chunks: given.header_chunks.unwrap_or_default(),
            },
            Model::InputBuffer => Organization::Input {
                read_path: given.read_path.unwrap_or_default(),
                replication: match given.replication {
                    None | Some(ReplicationName::Asynchronous) => BranchTiming::Asynchronous,
                    Some(ReplicationName::Synchronous) => BranchTiming::Synchronous,
                    Some(_) => {
                        return Err(format!(
                            "`replication` of `model = \"{model}\"` is `asynchronous` or `synchronous`"
                        ));
                    }
                },
            },
        };
        let default = match given.model {
            Model::CentralBuffer => BufferedSwitch::central_buffer(),
            _ => BufferedSwitch::input_buffer(),
        };
        Ok(Self::Buffered(BufferedSwitch {
            flit_bytes: given.flit_bytes.unwrap_or(default.flit_bytes),
            input_fifo: given.input_fifo.unwrap_or(default.input_fifo),
            chunk_flits: given.chunk_flits.unwrap_or(default.chunk_flits),
            crossing_delay: given.crossing_delay.unwrap_or(default.crossing_delay),
            header_flits: given.header_flits,
            unicast_header_flits: given.unicast_header_flits,
            max_packet: given.max_packet,
            selection: given.selection,
            startup_mode: given.startup_mode,
            organization,
        }))
    }
}

impl From<Switching> for SwitchingSettings {
    fn from(switching: Switching) -> Self {
        match switching {
            Switching::Wormhole(wormhole) => Self {
                model: Model::Wormhole,
                buffer: wormhole.buffer,
                flit_bytes: wormhole.flit_bytes,
                virtual_channels: Some(wormhole.virtual_channels),
                injection_ports: wormhole.injection_ports,
                consumption_ports: wormhole.consumption_ports,
                header: Some(wormhole.header),
                header_flits: wormhole.header_flits,
                replication: wormhole.replication.map(|replication| match replication {
                    BranchReplication::Lockstep => ReplicationName::Lockstep,
                    BranchReplication::Independent => ReplicationName::Independent,
                }),
                reservation: wormhole.reservation,
                // The default is not written down: points keep their hashes.
                selection: Some(wormhole.selection).filter(|&selection| selection != SelectionPolicy::First),
                startup_mode: wormhole.startup_mode,
                ..Self::default()
            },
            Switching::Buffered(buffered) => {
                let common = Self {
                    flit_bytes: Some(buffered.flit_bytes),
                    input_fifo: Some(buffered.input_fifo),
                    chunk_flits: Some(buffered.chunk_flits),
                    crossing_delay: Some(buffered.crossing_delay),
                    header_flits: buffered.header_flits,
                    unicast_header_flits: buffered.unicast_header_flits,
                    max_packet: buffered.max_packet,
                    selection: buffered.selection,
                    startup_mode: buffered.startup_mode,
                    ..Self::default()
                };
                match buffered.organization {
                    Organization::Central { chunks, header_chunks } => Self {
                        model: Model::CentralBuffer,
                        central_chunks: Some(chunks),
                        header_chunks: Some(header_chunks),
                        ..common
                    },
                    Organization::Input { read_path, replication } => Self {
                        model: Model::InputBuffer,
                        read_path: Some(read_path),
                        replication: Some(match replication {
                            BranchTiming::Asynchronous => ReplicationName::Asynchronous,
                            BranchTiming::Synchronous => ReplicationName::Synchronous,
                        }),
                        ..common
                    },
                }
            }
        }
    }
}

impl JsonSchema for Switching {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        SwitchingSettings::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        SwitchingSettings::json_schema(generator)
    }
}

/// The switching model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Model {
    /// Worms hold channels from header to tail; small buffers at the channels' ends.
    #[default]
    Wormhole,
    /// Switches with a crossbar and a buffer that all ports share (paper 4, section 4).
    CentralBuffer,
    /// Switches with a buffer for each input (paper 4, section 5).
    InputBuffer,
}

impl Model {
    fn name(self) -> &'static str {
        match self {
            Self::Wormhole => "wormhole",
            Self::CentralBuffer => "central-buffer",
            Self::InputBuffer => "input-buffer",
        }
    }
}

/// How flits leave a replication point, in the words of all models.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ReplicationName {
    /// Wormhole: on all branches in the same cycle or on none.
    Lockstep,
    /// Wormhole: on each branch when it can; the slot frees with the last copy.
    Independent,
    /// Input-buffer: on each branch when it can, from a buffer that holds the whole packet.
    Asynchronous,
    /// Input-buffer: on all branches in the same cycle or on none, each reserved when it can be. Can deadlock.
    Synchronous,
}
