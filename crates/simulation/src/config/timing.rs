//! The timing of routers and nodes.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::config::delay::LinkDelay;
use crate::run::scenario::MAX_DELAY;

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
    /// Cycles that a flit takes over a link between routers; by default what the network's file says, or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<LinkDelay>,
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
    #[schemars(extend("exclusiveMinimum" = 0))]
    cycle_ns: Option<f64>,
    /// Cycles that a node spends to prepare each worm. Default that of the preset.
    #[serde(default, deserialize_with = "delay")]
    #[schemars(with = "Option<u32>", range(max = MAX_DELAY))]
    startup: Option<u32>,
    /// What is busy during a startup. Default serial.
    startup_mode: Option<StartupMode>,
    /// Cycles that a header spends in each router before it requests channels. Default that of the preset.
    #[serde(default, deserialize_with = "delay")]
    #[schemars(with = "Option<u32>", range(max = MAX_DELAY))]
    routing_delay: Option<u32>,
    /// Cycles until an address flit is stripped, after the one in which it could have moved; by default the routing delay.
    #[serde(default, deserialize_with = "delay")]
    #[schemars(with = "Option<u32>", range(max = MAX_DELAY))]
    strip_delay: Option<u32>,
    /// Cycles between a delivery and the readiness of the worms that it triggers. Default that of the preset.
    #[serde(default, deserialize_with = "delay")]
    #[schemars(with = "Option<u32>", range(max = MAX_DELAY))]
    receive_overhead: Option<u32>,
    /// Cycles that a flit takes over a link between routers: a number, or a list with one for each class of links. Default what the network's file says, or 1.
    delay: Option<LinkDelay>,
}

/// Cycles. The range is checked with the other settings; what is beyond the type has to be told here.
fn delay<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let cycles = u64::deserialize(deserializer)?;
    let beyond = |_| D::Error::custom(format!("{cycles} is out of range: expected 0 to {MAX_DELAY}"));
    u32::try_from(cycles).map(Some).map_err(beyond)
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
            delay: given.delay.or(preset.delay),
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
                delay: None,
            },
            // 95 and 75 us in whole cycles of 0.45 us; a hop takes the routing delay and a cycle.
            Self::Ncube2 => Timing {
                cycle_ns: 450.0,
                startup: 211,
                startup_mode: None,
                routing_delay: 3,
                strip_delay: None,
                receive_overhead: 167,
                delay: None,
            },
            Self::Paper4 => Timing {
                cycle_ns: 13.33,
                startup: 0,
                startup_mode: None,
                routing_delay: 4,
                strip_delay: None,
                receive_overhead: 0,
                delay: None,
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
