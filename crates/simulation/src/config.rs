//! What a run is told: timing, traffic and when to stop. Plain data, as experiment files spell it. `switching.rs` has the rest.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use crate::switching::{Header, Replication, Reservation};

/// How long things take. In a file, a preset may stand for all of it, and single settings beside it replace the preset's; what is
/// kept here, stored and hashed are the values that result.
///
/// ```
/// use wormcast_simulation::{Timing, TimingPreset};
///
/// let timing: Timing = serde_json::from_str(r#"{ "preset": "ncube-2", "startup": 100 }"#)?;
/// assert_eq!(timing, Timing { startup: 100, ..TimingPreset::Ncube2.timing() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "TimingSettings")]
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
        TimingPreset::Paper1.timing()
    }
}

/// Timing as files spell it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Timing")]
struct TimingSettings {
    /// The machine whose constants hold where this table gives no others. Default `paper-1`.
    #[serde(default)]
    preset: TimingPreset,
    /// Nanoseconds a cycle, for reports and for rates a microsecond. Default that of the preset.
    cycle_ns: Option<f64>,
    /// Cycles that a node spends to prepare each worm. Default that of the preset.
    startup: Option<u32>,
    /// What is busy during a startup. Default serial.
    startup_mode: Option<StartupMode>,
    /// Cycles that a header spends in each router before it requests channels. Default that of the preset.
    routing_delay: Option<u32>,
    /// Cycles until an address flit is stripped, after the one in which it could have moved; by default the routing delay.
    strip_delay: Option<u32>,
    /// Cycles between a delivery and the readiness of the worms that it triggers. Default that of the preset.
    receive_overhead: Option<u32>,
}

impl From<TimingSettings> for Timing {
    fn from(given: TimingSettings) -> Self {
        let preset = given.preset.timing();
        Self {
            cycle_ns: given.cycle_ns.unwrap_or(preset.cycle_ns),
            startup: given.startup.unwrap_or(preset.startup),
            startup_mode: given.startup_mode.or(preset.startup_mode),
            routing_delay: given.routing_delay.unwrap_or(preset.routing_delay),
            strip_delay: given.strip_delay.or(preset.strip_delay),
            receive_overhead: given.receive_overhead.unwrap_or(preset.receive_overhead),
        }
    }
}

impl JsonSchema for Timing {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        TimingSettings::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        TimingSettings::json_schema(generator)
    }
}

/// The timing of a machine, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum TimingPreset {
    /// The mesh of paper 1, section 4: 5 ns a flit, 5 us a startup, 20 ns a router.
    #[default]
    #[serde(rename = "paper-1")]
    Paper1,
    /// The nCUBE-2 hypercube, with flits of one byte: 0.45 us a byte, 95 us to send a message and 75 us to receive one (McKinley, Xu,
    /// Esfahanian and Ni 1994); 1.8 us a hop.
    #[serde(rename = "ncube-2")]
    Ncube2,
    /// The switches of paper 4, section 7.1: 13.33 ns a flit, 4 cycles to route, and no startups or receive overheads (section 7.2).
    #[serde(rename = "paper-4")]
    Paper4,
}

impl TimingPreset {
    /// Its constants.
    ///
    /// `ncube-2`: P. K. McKinley, H. Xu, A.-H. Esfahanian and L. M. Ni, *Unicast-based multicast communication in wormhole-routed
    /// networks*, IEEE Transactions on Parallel and Distributed Systems 5(12), 1994, report 95 us for a send and 75 us for a receive;
    /// T. von Eicken, D. E. Culler, S. C. Goldstein and K. E. Schauser, *Active messages*, ISCA 1992, 160 us together and 0.45 us a
    /// byte, the 2.2 Mbyte/s of the channels. Paper 2 itself gives no constants. The sources do not agree on the time of a hop beyond
    /// its being a few microseconds at most; 1.8 us are this project's choice, and in a 10-cube 1% of what 4096 bytes take.
    pub const fn timing(self) -> Timing {
        match self {
            Self::Paper1 => Timing {
                cycle_ns: 5.0,
                startup: 1000,
                startup_mode: None,
                routing_delay: 4,
                strip_delay: None,
                receive_overhead: 0,
            },
            // 95 and 75 us in whole cycles of 0.45 us; a hop takes the routing delay and a cycle.
            Self::Ncube2 => Timing {
                cycle_ns: 450.0,
                startup: 211,
                startup_mode: None,
                routing_delay: 3,
                strip_delay: None,
                receive_overhead: 167,
            },
            Self::Paper4 => Timing {
                cycle_ns: 13.33,
                startup: 0,
                startup_mode: None,
                routing_delay: 4,
                strip_delay: None,
                receive_overhead: 0,
            },
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
    /// Data flits a message: a number, or `{ uniform = [least, most] }`; or `{ bytes = … }` with one of the two. Default 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
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
    /// In place of the rate: the effective applied load, data flits that messages ask to be delivered per node per cycle. The
    /// rate is then this over the mean number of destinations and the mean length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
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
    /// Destinations a message: a number, `{ uniform = [least, most] }`, or `"all"` other nodes. They are drawn uniformly, without
    /// repetition.
    pub destinations: Destinations,
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
    /// Steady: messages measured after warm-up (at least, with `"auto"`). Finite: messages delivered until the run ends. Plan:
    /// messages planned. Trees: sets of trees, default 1. Finite and plan by default all of a trace or of a single burst. Otherwise the default is 20 messages a node, but 2,000 to 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Cycles after which a run is given up as saturated. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycles: Option<u64>,
    /// Plan: how many worms a node sends in one step. Default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<StepPorts>,
}

impl Default for Run {
    fn default() -> Self {
        Self { mode: None, warmup: Warmup::Auto, messages: None, max_cycles: None, ports: None }
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
    /// No time at all: messages are planned, and their plans' steps, startups and channels counted.
    Plan,
    /// No messages either: `algorithm` names a construction of edge-disjoint spanning trees, and `messages` sets of trees are built and
    /// measured, one where nothing is random.
    Trees,
}

/// How many worms a node sends in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPorts {
    /// One.
    #[default]
    One,
    /// One by each of its channels.
    All,
}

impl From<StepPorts> for wormcast_multicast::PortModel {
    fn from(ports: StepPorts) -> Self {
        match ports {
            StepPorts::One => Self::One,
            StepPorts::All => Self::All,
        }
    }
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

    /// The range with these ends.
    fn between<E: de::Error>([least, most]: [u32; 2]) -> Result<Self, E> {
        if least > most {
            return Err(E::custom(format!("uniform range [{least}, {most}] is empty: the least comes first")));
        }
        Ok(Self { least, most })
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
                let ends = map.next_value()?;
                if let Some(extra) = map.next_key::<String>()? {
                    return Err(de::Error::unknown_field(&extra, &["uniform"]));
                }
                Count::between(ends)
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

/// How many destinations a multicast has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destinations {
    /// So many.
    Count(Count),
    /// All nodes but the source: a broadcast.
    All,
}

impl From<Count> for Destinations {
    fn from(count: Count) -> Self {
        Self::Count(count)
    }
}

impl Serialize for Destinations {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for Destinations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DestinationsVisitor;

        impl<'de> Visitor<'de> for DestinationsVisitor {
            type Value = Destinations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, `{ uniform = [least, most] }`, or \"all\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Destinations, E> {
                let count = u32::try_from(value).map(Count::fixed);
                count.map(Destinations::Count).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Destinations, E> {
                let count = u32::try_from(value).map(Count::fixed);
                count.map(Destinations::Count).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Destinations, E> {
                match value {
                    "all" => Ok(Destinations::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Destinations, A::Error> {
                Count::deserialize(de::value::MapAccessDeserializer::new(map)).map(Destinations::Count)
            }
        }

        deserializer.deserialize_any(DestinationsVisitor)
    }
}

impl JsonSchema for Destinations {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Destinations".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let count = generator.subschema_for::<Count>();
        schemars::json_schema!({
            "description": "A number of destinations, or all nodes but the source.",
            "anyOf": [count, { "const": "all" }]
        })
    }
}

/// The length of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// In data flits.
    Flits(Count),
    /// In bytes: as many flits as they take, the last one perhaps not full.
    Bytes(Count),
}

impl Length {
    /// The shortest and the longest, in the unit that is given.
    pub fn range(self) -> Count {
        let (Self::Flits(range) | Self::Bytes(range)) = self;
        range
    }

    /// The data flits of a message of this length in the unit that is given, for flits of `flit_bytes` bytes.
    pub(crate) fn flits(self, length: u32, flit_bytes: u32) -> u32 {
        match self {
            Self::Flits(_) => length,
            Self::Bytes(_) => length.div_ceil(flit_bytes),
        }
    }
}

impl Length {
    /// The mean in flits of so many bytes each, the last one of a message perhaps not full.
    pub(crate) fn mean_flits(self, flit_bytes: u32) -> f64 {
        let Self::Bytes(Count { least, most }) = self else { return self.range().mean() };
        // The flits of 1 to `bytes` bytes together: a flit's worth of each number of full ones, and the rest.
        let up_to = |bytes: u32| {
            let (full, rest) = (u64::from(bytes / flit_bytes), u64::from(bytes % flit_bytes));
            (u64::from(flit_bytes) * full * (full + 1) / 2 + rest * (full + 1)) as f64
        };
        (up_to(most) - up_to(least.saturating_sub(1))) / (f64::from(most - least) + 1.0)
    }
}

impl From<Count> for Length {
    fn from(flits: Count) -> Self {
        Self::Flits(flits)
    }
}

impl Serialize for Length {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        match self {
            Self::Flits(flits) => flits.serialize(serializer),
            Self::Bytes(bytes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("bytes", bytes)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LengthVisitor;

        impl<'de> Visitor<'de> for LengthVisitor {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a whole number of flits, `{ uniform = [least, most] }`, or `{ bytes = … }` with one of the two",
                )
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Length, E> {
                let flits = u32::try_from(value).map(Count::fixed);
                flits.map(Length::Flits).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Length, E> {
                let flits = u32::try_from(value).map(Count::fixed);
                flits.map(Length::Flits).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Length, A::Error> {
                const KEYS: &[&str] = &["uniform", "bytes"];
                let key: String = map.next_key()?.unwrap_or_default();
                let length = match key.as_str() {
                    "bytes" => Length::Bytes(map.next_value()?),
                    "uniform" => Length::Flits(Count::between(map.next_value()?)?),
                    _ => return Err(de::Error::unknown_field(&key, KEYS)),
                };
                match map.next_key::<String>()? {
                    Some(extra) if KEYS.contains(&extra.as_str()) => Err(de::Error::custom(
                        "expected either `uniform` or `bytes`; `{ bytes = { uniform = … } }` is both",
                    )),
                    Some(extra) => Err(de::Error::unknown_field(&extra, KEYS)),
                    None => Ok(length),
                }
            }
        }

        deserializer.deserialize_any(LengthVisitor)
    }
}

impl JsonSchema for Length {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let count = generator.subschema_for::<Count>();
        schemars::json_schema!({
            "description": "The length of messages: data flits, or bytes.",
            "anyOf": [
                count,
                {
                    "type": "object",
                    "properties": { "bytes": count },
                    "required": ["bytes"],
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
