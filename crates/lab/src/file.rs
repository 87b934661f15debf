//! What an experiment file may say, as types; the JSON Schema is made from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_simulation::{EngineChoice, Run, Switching, Timing, Traffic};

/// An experiment: one configuration, or a sweep over several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "wormcast experiment")]
pub(crate) struct ExperimentFile {
    /// What the experiment shows; the title of its plot.
    #[serde(default)]
    pub(crate) title: String,
    /// The network, as `mesh:16x16`, or the path of a topology file, relative to this file.
    #[serde(default)]
    pub(crate) topology: Option<String>,
    /// The multicast algorithm, such as `dual-path`.
    #[serde(default)]
    pub(crate) algorithm: Option<String>,
    /// The routing, for algorithms that leave a choice.
    #[serde(default)]
    pub(crate) routing: Option<String>,
    /// The seed of every random choice. Default 0.
    #[serde(default)]
    pub(crate) seed: u64,
    /// The engine that simulates.
    #[serde(default)]
    pub(crate) engine: Engine,
    /// How routers and nodes switch flits.
    #[serde(default)]
    pub(crate) switching: Switching,
    /// How long things take.
    #[serde(default)]
    pub(crate) timing: Timing,
    /// Which messages are generated.
    #[serde(default)]
    pub(crate) traffic: Traffic,
    /// When a run ends and what of it is measured.
    #[serde(default)]
    pub(crate) run: Run,
    /// How precise each point has to be.
    #[serde(default)]
    pub(crate) stop: Stop,
    /// Settings to vary, each by its dotted path: a list of values, or a range. The first varies slowest.
    #[serde(default)]
    #[allow(dead_code, reason = "taken out of the document before; here for the schema")]
    sweep: BTreeMap<String, AxisForm>,
    /// The plot of a sweep.
    #[serde(default)]
    pub(crate) plot: PlotSettings,
}

/// The engine that simulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The fastest that is exact for the scenario.
    #[default]
    Auto,
    /// The reference, flit by flit.
    Flit,
    /// The fast one.
    Worm,
}

impl From<Engine> for EngineChoice {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Auto => Self::Auto,
            Engine::Flit => Self::Flit,
            Engine::Worm => Self::Worm,
        }
    }
}

/// How precise each point has to be: replications go on until the confidence interval of the mean latency to the last
/// destination is narrow enough.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// The confidence of all intervals, between 0 and 1.
    pub confidence: f64,
    /// Half the width of the interval, as a share of the mean, at which a point is done.
    pub relative_half_width: f64,
    /// Replications of a point at least.
    pub min_replications: u32,
    /// Replications of a point at most. Default 200, or the least number if that is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_replications: Option<u32>,
}

impl Default for Stop {
    fn default() -> Self {
        Self { confidence: 0.95, relative_half_width: 0.05, min_replications: 10, max_replications: None }
    }
}

impl Stop {
    /// Replications of a point at most.
    pub fn most(&self) -> u32 {
        self.max_replications.unwrap_or(200).max(self.min_replications)
    }
}

/// The values of a swept setting.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "for the schema")]
pub(crate) enum AxisForm {
    /// The values themselves.
    List(#[schemars(length(min = 1))] Vec<serde_json::Value>),
    /// Evenly spaced values.
    Range(Range),
}

/// Evenly spaced values.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    /// The first value.
    pub(crate) from: f64,
    /// The last value.
    pub(crate) to: f64,
    /// How many values, the ends included.
    #[schemars(range(min = 1))]
    pub(crate) points: u32,
    /// Whether neighbours have the same difference or the same ratio.
    #[serde(default)]
    pub(crate) scale: Scale,
}

/// The spacing of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// The plot of a sweep.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PlotSettings {
    /// The swept setting along the horizontal axis, or a load that is measured. Default: the first numbers that are swept.
    pub(crate) x: Option<String>,
    /// What is plotted. Default `latency.last`.
    pub(crate) y: Option<Quantity>,
    /// The swept setting that makes one curve of each value. Default `algorithm`.
    pub(crate) series: Option<String>,
    /// The title, if not the experiment's.
    pub(crate) title: Option<String>,
    /// The unit of latencies.
    pub(crate) unit: TimeUnit,
}

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Microseconds.
    #[default]
    #[serde(rename = "us")]
    Microseconds,
    /// Cycles.
    #[serde(rename = "cycles")]
    Cycles,
}

/// A measured quantity of a point, by the name that experiment files use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Quantity {
    /// Mean latency to the last destination.
    #[default]
    #[serde(rename = "latency.last")]
    LatencyLast,
    /// Mean latency, averaged over destinations.
    #[serde(rename = "latency.mean")]
    LatencyMean,
    /// Median latency to the last destination.
    #[serde(rename = "latency.p50")]
    LatencyP50,
    /// 95th percentile of the latency to the last destination.
    #[serde(rename = "latency.p95")]
    LatencyP95,
    /// 99th percentile of the latency to the last destination.
    #[serde(rename = "latency.p99")]
    LatencyP99,
    /// Flits that messages ask to be delivered, per node per cycle.
    #[serde(rename = "offered_load")]
    OfferedLoad,
    /// Flits of completed messages, each counted once, per node per cycle.
    #[serde(rename = "accepted_load")]
    AcceptedLoad,
    /// Flits delivered, per node per cycle.
    #[serde(rename = "delivered_load")]
    DeliveredLoad,
    /// The mean share of cycles in which a link is busy.
    #[serde(rename = "link_utilisation")]
    LinkUtilisation,
}

impl Quantity {
    /// All quantities, by name.
    pub(crate) const ALL: [(&'static str, Self); 9] = [
        ("latency.last", Self::LatencyLast),
        ("latency.mean", Self::LatencyMean),
        ("latency.p50", Self::LatencyP50),
        ("latency.p95", Self::LatencyP95),
        ("latency.p99", Self::LatencyP99),
        ("offered_load", Self::OfferedLoad),
        ("accepted_load", Self::AcceptedLoad),
        ("delivered_load", Self::DeliveredLoad),
        ("link_utilisation", Self::LinkUtilisation),
    ];

    /// The quantity of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, quantity)| quantity)
    }

    /// Whether it is a time, in cycles, which a saturated point does not have.
    pub fn is_latency(self) -> bool {
        matches!(self, Self::LatencyLast | Self::LatencyMean | Self::LatencyP50 | Self::LatencyP95 | Self::LatencyP99)
    }
}

/// The JSON Schema of experiment files.
///
/// ```
/// let schema = wormcast_lab::schema();
/// assert_eq!(schema["title"], "wormcast experiment");
/// assert_eq!(schema["additionalProperties"], false);
/// ```
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ExperimentFile).to_value()
}
