//! What a run is told: switching, timing, traffic and when to stop. Plain data, as experiment files spell it.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// How routers and nodes switch flits. The defaults are those of paper 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", default)]
pub struct Switching {
    /// The switching model.
    pub model: Model,
    /// Flits that the buffer at the end of each channel holds, for each virtual channel.
    pub buffer: u32,
    /// Virtual channels of each link, which share its bandwidth.
    pub virtual_channels: u32,
    /// Injection channels of each node.
    pub injection_ports: u32,
    /// Consumption channels of each node.
    pub consumption_ports: u32,
    /// What travels in front of the data.
    pub header: Header,
    /// Header flits of each worm, for headers of fixed length; by default one flit for every 16 nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_flits: Option<u32>,
    /// How flits leave a replication point.
    pub replication: Replication,
    /// How independent branches are reserved.
    pub reservation: Reservation,
    /// The same as `timing.startup_mode`: what it keeps busy belongs to the switch as much as to its timing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_mode: Option<StartupMode>,
}

impl Default for Switching {
    fn default() -> Self {
        Self {
            model: Model::Wormhole,
            buffer: 1,
            virtual_channels: 1,
            injection_ports: 4,
            consumption_ports: 4,
            header: Header::None,
            header_flits: None,
            replication: Replication::Lockstep,
            reservation: Reservation::Atomic,
            startup_mode: None,
        }
    }
}

/// The switching model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Worms hold channels from header to tail; small buffers at the channels' ends.
    Wormhole,
}

/// What travels in front of the data flits (model.md, rules 13 to 16).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// Nothing: the first data flit is the header.
    None,
    /// A fixed number of flits, the same on every branch, consumed as well.
    BitString,
    /// One address flit a stop, stripped at that stop; paths only.
    AllDestinations,
    /// One flit a destination or splitting router, parents first, stripped there; trees only.
    Tree,
}

/// How flits leave a replication point of a tree (rule 17). Paths always deliver in lockstep with what goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replication {
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

/// How long things take. The defaults are those of paper 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Nanoseconds a cycle, for reports and for rates a microsecond.
    pub cycle_ns: f64,
    /// Cycles that a node spends to prepare each worm.
    pub startup: u32,
    /// What is busy during a startup. Default serial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_mode: Option<StartupMode>,
    /// Cycles that a header spends in each router before it requests channels.
    pub routing_delay: u32,
    /// Cycles until an address flit is stripped, after the one in which it could have moved; by default the routing delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_delay: Option<u32>,
    /// Cycles between a delivery and the readiness of the worms that it triggers.
    pub receive_overhead: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            cycle_ns: 5.0,
            startup: 1000,
            startup_mode: None,
            routing_delay: 4,
            strip_delay: None,
            receive_overhead: 0,
        }
    }
}

/// What a startup keeps busy (rules 5 and 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartupMode {
    /// The node's processor: one worm at a time.
    #[default]
    Serial,
    /// An injection channel, which stays held through the transmission.
    PerPort,
}

/// Which messages are generated.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Traffic {
    /// When nodes generate messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Data flits a message: a number, or `{ uniform = [least, most] }`. Default 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Count>,
    /// Multicasts; without it, all messages are unicasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastTraffic>,
    /// Where unicasts go. Default uniform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unicast: Option<UnicastTraffic>,
    /// A message trace, which replaces all of the above: a file with a line `cycle source length destinations` a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// When nodes generate messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// The arrival process of each node.
    pub process: Process,
    /// Messages per node per microsecond; for all processes but bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Negative binomial: successes that make up a gap. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<u32>,
    /// Bursts: nodes that generate a message each, drawn anew for every burst. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u32>,
    /// Bursts: cycles from one to the next. Default: there is one burst, in cycle 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
}

/// How the gaps between a node's messages are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// A Poisson process in continuous time: arrivals fall into the cycle that contains them, several into one at times.
    Poisson,
    /// In each cycle with the same probability, at most one.
    Bernoulli,
    /// A Poisson process, but at most one in each cycle: an arrival that finds its cycle taken moves to the next.
    Exponential,
    /// Gaps that are the number of Bernoulli trials until a number of successes; with one success the same as `bernoulli`.
    NegativeBinomial,
    /// Many nodes at once.
    Burst,
}

/// Multicast messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MulticastTraffic {
    /// Destinations a message: a number, or `{ uniform = [least, most] }`. They are drawn uniformly, without repetition.
    pub destinations: Count,
    /// The share of messages that are multicasts; the others are unicasts.
    #[serde(default = "one")]
    pub fraction: f64,
}

fn one() -> f64 {
    1.0
}

/// Unicast messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnicastTraffic {
    /// How the destination depends on the source.
    pub pattern: Pattern,
    /// Hot spot: the node that is hot, as a number or coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Hot spot: the share of unicasts that go there; the others are uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
}

/// Where a unicast goes. A node that a permutation maps to itself sends no unicasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// To any other node with the same probability.
    Uniform,
    /// To one node more often than to others.
    HotSpot,
    /// Coordinates in reverse order; on other networks, the halves of the address exchanged. Square grids or 2^(2k) nodes.
    Transpose,
    /// Every bit of the address inverted. 2^k nodes.
    BitComplement,
    /// The bits of the address in reverse order. 2^k nodes.
    BitReversal,
    /// The bits of the address rotated left by one. 2^k nodes.
    Shuffle,
    /// The opposite corner: node i to node N - 1 - i.
    Complement,
    /// Almost half-way round dimension 0: `ceil(k/2) - 1` further. Grids.
    Tornado,
    /// The next node along each dimension, wrapping around. Grids.
    Neighbor,
}

/// When a run ends and what of it is measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// The kind of run; a trace or a single burst is finite by default, everything else steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Steady: cycles before the first measured message is generated, or `"auto"`: MSER-5 decides from the latencies (0 with
    /// traffic that comes to an end).
    pub warmup: Warmup,
    /// Steady: messages measured after warm-up (at least, with `"auto"`). Finite: messages delivered until the run ends, by
    /// default all of a trace or of a single burst. Otherwise the default is 20 messages a node, but 2,000 to 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Cycles after which a run is given up as saturated. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycles: Option<u64>,
}

impl Default for Run {
    fn default() -> Self {
        Self { mode: None, warmup: Warmup::Auto, messages: None, max_cycles: None }
    }
}

/// The kind of run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Warm-up, measured messages, then arrivals go on until those are delivered.
    Steady,
    /// From an empty network until a number of messages is delivered.
    Finite,
}

/// How the warm-up is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warmup {
    /// By the MSER-5 rule.
    Auto,
    /// A number of cycles.
    Cycles(u64),
}

/// A whole number, or a uniform distribution over a range of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The smallest value.
    pub least: u32,
    /// The largest value.
    pub most: u32,
}

impl Count {
    /// Always the same.
    pub const fn fixed(value: u32) -> Self {
        Self { least: value, most: value }
    }

    /// The mean.
    pub fn mean(self) -> f64 {
        f64::midpoint(f64::from(self.least), f64::from(self.most))
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        if self.least == self.most {
            return serializer.serialize_u32(self.least);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("uniform", &[self.least, self.most])?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl<'de> Visitor<'de> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or `{ uniform = [least, most] }`")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
                u32::try_from(value)
                    .map(Count::fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                u32::try_from(value)
                    .map(Count::fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                let key: Option<String> = map.next_key()?;
                if key.as_deref() != Some("uniform") {
                    let given = key.unwrap_or_default();
                    return Err(de::Error::unknown_field(&given, &["uniform"]));
                }
                let [least, most]: [u32; 2] = map.next_value()?;
                if let Some(extra) = map.next_key::<String>()? {
                    return Err(de::Error::unknown_field(&extra, &["uniform"]));
                }
                if least > most {
                    return Err(de::Error::custom(format!(
                        "uniform range [{least}, {most}] is empty: the least comes first"
                    )));
                }
                Ok(Count { least, most })
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A whole number, or a uniform distribution over a range of them.",
            "oneOf": [
                { "type": "integer", "minimum": 0 },
                {
                    "type": "object",
                    "properties": {
                        "uniform": {
                            "type": "array",
                            "items": { "type": "integer", "minimum": 0 },
                            "minItems": 2,
                            "maxItems": 2
                        }
                    },
                    "required": ["uniform"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

impl Serialize for Warmup {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Cycles(cycles) => serializer.serialize_u64(*cycles),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WarmupVisitor;

        impl Visitor<'_> for WarmupVisitor {
            type Value = Warmup;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of cycles, or \"auto\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Warmup, E> {
                u64::try_from(value)
                    .map(Warmup::Cycles)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Warmup, E> {
                Ok(Warmup::Cycles(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Warmup, E> {
                match value {
                    "auto" => Ok(Warmup::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(WarmupVisitor)
    }
}

impl JsonSchema for Warmup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Warmup".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of cycles, or \"auto\".",
            "oneOf": [{ "type": "integer", "minimum": 0 }, { "const": "auto" }]
        })
    }
}
