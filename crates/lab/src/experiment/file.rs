//! The contents of an experiment file, as types; the JSON Schema is made from them.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};
use wormcast_multicast::{AlgorithmOptions, FaultInformation, FaultRequest};
use wormcast_network::TopologySpec;
use wormcast_simulation::{EngineChoice, Switching, Timing, Traffic};

use crate::experiment::claim::Claim;
use crate::experiment::open::OpenForm;
use crate::experiment::schema::{algorithm, routing};
use crate::runs::kind::RunTable;
use crate::statistics::quantity::Quantities;

/// An experiment: one configuration, or a sweep over several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "wormcast experiment")]
pub(crate) struct ExperimentFile {
    /// What the experiment shows; the title of its plot.
    #[serde(default)]
    pub(crate) title: String,
    /// The network, as `mesh:16x16`, or the path of a topology file, relative to this file; or a family with its parameters as
    /// settings of their own, as `random = { nodes = 256, degree = 4 }`, which can be swept. A graph that is drawn at random without
    /// a seed is drawn anew for each replication.
    #[serde(default, deserialize_with = "topology")]
    #[schemars(with = "Option<TopologyForm>")]
    pub(crate) topology: Option<String>,
    /// The multicast algorithm, such as `dual-path`; in mode `trees` a construction of trees, such as `dstm-1`.
    #[serde(default)]
    #[schemars(schema_with = "algorithm")]
    pub(crate) algorithm: Option<String>,
    /// The routing, for algorithms that offer a choice; for `tables`, also `{ tables = FILE }`.
    #[serde(default)]
    #[schemars(schema_with = "routing")]
    pub(crate) routing: Option<RoutingForm>,
    /// The root of up*/down*: `smallest-id`, `maximum-degree`, or a router's number or name. Default `smallest-id`.
    #[serde(default, deserialize_with = "root")]
    #[schemars(with = "Option<RootForm>")]
    pub(crate) root: Option<String>,
    /// Choices that some algorithms offer.
    #[serde(default)]
    pub(crate) options: AlgorithmOptions,
    /// The seed of every random choice. Default 0.
    #[serde(default)]
    pub(crate) seed: u64,
    /// The engine that simulates.
    #[serde(default)]
    pub(crate) engine: EngineChoice,
    /// Links that have failed.
    #[serde(default)]
    pub(crate) faults: FaultSettings,
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
    pub(crate) run: RunTable,
    /// How precise each point has to be.
    #[serde(default)]
    pub(crate) stop: Stop,
    /// Settings to vary, each by its dotted path, in quotes or not: a list of values, or a range. The first varies slowest.
    #[serde(default)]
    #[allow(dead_code, reason = "taken out of the document before; here for the schema")]
    sweep: BTreeMap<String, AxisForm>,
    /// Settings for the points of single algorithms, by their names, laid over the others.
    #[serde(default)]
    #[allow(dead_code, reason = "taken out of the document before; here for the schema")]
    with: BTreeMap<String, WithForm>,
    /// The plot of a sweep.
    #[serde(default)]
    pub(crate) plot: PlotSettings,
    /// Claims about the sweep, to be tested.
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
    /// Settings whose values the source of the experiment leaves open, with values under which claims may be tested as well.
    #[serde(default)]
    #[allow(dead_code, reason = "read from the document; here for the schema")]
    open: Vec<OpenForm>,
    /// Settings that make a quick version of the experiment, laid over the others: tables are merged, everything else is replaced.
    #[serde(default)]
    #[allow(dead_code, reason = "taken out of the document before; here for the schema")]
    quick: Option<Box<ExperimentFile>>,
    /// Variations of the experiment by their names: settings that are laid over the others, to see how much depends on them.
    #[serde(default)]
    #[allow(dead_code, reason = "taken out of the document before; here for the schema")]
    variation: BTreeMap<String, ExperimentFile>,
}

/// Settings that may differ by algorithm.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(dead_code, reason = "for the schema")]
struct WithForm {
    /// The routing, for algorithms that offer a choice.
    #[schemars(schema_with = "routing")]
    routing: Option<String>,
    /// The root of up*/down*: `smallest-id`, `maximum-degree`, or a router's number or name.
    #[serde(deserialize_with = "root")]
    #[schemars(with = "Option<RootForm>")]
    root: Option<String>,
    /// Choices that some algorithms offer.
    options: AlgorithmOptions,
    /// The engine that simulates.
    engine: EngineChoice,
    /// How routers and nodes switch flits.
    switching: Switching,
    /// How long things take.
    timing: Timing,
}

/// A routing in a file.
#[derive(Clone, Debug)]
pub(crate) enum RoutingForm {
    /// Its name.
    Name(String),
    /// A file of forwarding tables.
    Tables(String),
}

impl<'de> Deserialize<'de> for RoutingForm {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Tables {
            tables: String,
        }

        struct RoutingVisitor;

        impl<'de> de::Visitor<'de> for RoutingVisitor {
            type Value = RoutingForm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a routing, such as \"up-down\", or forwarding tables, as `{ tables = \"opensm.fdbs\" }`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<RoutingForm, E> {
                Ok(RoutingForm::Name(name.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, table: A) -> Result<RoutingForm, A::Error> {
                let Tables { tables } = Tables::deserialize(de::value::MapAccessDeserializer::new(table))?;
                Ok(RoutingForm::Tables(tables))
            }
        }

        deserializer.deserialize_any(RoutingVisitor)
    }
}

/// Links that have failed before the run, for algorithms on spanning trees.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultSettings {
    /// The links, each by the routers that it joins, by number, coordinates or name: `"0-1"` or `"0,0-1,0"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The number of further links that fail, drawn with the experiment's seed.
    #[serde(skip_serializing_if = "is_zero")]
    pub random: u32,
    /// Which nodes know of them.
    #[serde(skip_serializing_if = "is_default")]
    pub information: FaultInformation,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl FaultSettings {
    /// Whether nothing has failed.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }

    /// The faults that an algorithm is told of.
    pub(crate) fn request(&self) -> FaultRequest {
        FaultRequest { links: self.links.clone(), random: self.random, information: self.information }
    }
}

/// A root in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum RootForm {
    /// A router's number.
    Number(u32),
    /// Its name, or how it is found.
    Text(String),
}

/// A root as its text, whichever way it is given.
fn root<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    const EXPECTED: &str = "expected `smallest-id`, `maximum-degree`, or a router's number or name";
    let form = RootForm::deserialize(deserializer).map_err(|_| de::Error::custom(EXPECTED))?;
    Ok(Some(match form {
        RootForm::Number(number) => number.to_string(),
        RootForm::Text(text) => text,
    }))
}

/// A topology in a file.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum TopologyForm {
    /// Its text.
    Text(String),
    /// Its family and parameters.
    Family(Family),
}

/// A family of graphs that are drawn at random, with its parameters.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum Family {
    /// Connected random graphs of given average degree.
    Random(Parameters),
    /// Connected random graphs in which every router has this degree.
    Regular(Parameters),
    /// Small worlds.
    SmallWorld(Parameters),
    /// Random trees.
    Tree(Parameters),
}

/// The parameters of a family, as in its text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Routers.
    nodes: Option<u32>,
    /// Links a router.
    degree: Option<f64>,
    /// The probability that a link of a small world is moved.
    rewire: Option<f64>,
    /// The seed; without one, each replication draws a graph of its own.
    seed: Option<u64>,
}

/// A topology as its text, whichever way it is given.
fn topology<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct TopologyVisitor;

    impl<'de> de::Visitor<'de> for TopologyVisitor {
        type Value = TopologyForm;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a topology as text, such as \"mesh:16x16\", or a family of random graphs with its parameters, such as \
                 `random = { nodes = 256, degree = 4 }`",
            )
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<TopologyForm, E> {
            Ok(TopologyForm::Text(text.to_owned()))
        }

        // Not by an untagged enum, whose errors do not say what is wrong in the table.
        fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<TopologyForm, A::Error> {
            const FAMILIES: [&str; 4] = ["random", "regular", "small-world", "tree"];
            let Some(name) = table.next_key::<String>()? else {
                return Err(de::Error::custom(format!("an empty table, expected {}", &self as &dyn de::Expected)));
            };
            let family = match name.as_str() {
                "random" => Family::Random(table.next_value()?),
                "regular" => Family::Regular(table.next_value()?),
                "small-world" => Family::SmallWorld(table.next_value()?),
                "tree" => Family::Tree(table.next_value()?),
                other => {
                    return Err(match TopologySpec::example_of(other) {
                        Some(example) => de::Error::custom(format!("`{other}` is given as text, as in \"{example}\"")),
                        None => de::Error::unknown_variant(other, &FAMILIES),
                    });
                }
            };
            match table.next_key::<String>()? {
                Some(second) => {
                    Err(de::Error::custom(format!("`{name}` and `{second}` are two families: expected one")))
                }
                None => Ok(TopologyForm::Family(family)),
            }
        }
    }

    let (family, given) = match deserializer.deserialize_any(TopologyVisitor)? {
        TopologyForm::Text(text) => return Ok(Some(text)),
        TopologyForm::Family(Family::Random(given)) => ("random", given),
        TopologyForm::Family(Family::Regular(given)) => ("regular", given),
        TopologyForm::Family(Family::SmallWorld(given)) => ("small-world", given),
        TopologyForm::Family(Family::Tree(given)) => ("tree", given),
    };
    let text = |name, value: Option<String>| value.map(|value| format!("{name}={value}"));
    let parameters = [
        text("nodes", given.nodes.map(|nodes| nodes.to_string())),
        text("degree", given.degree.map(|degree| degree.to_string())),
        text("rewire", given.rewire.map(|rewire| rewire.to_string())),
        text("seed", given.seed.map(|seed| seed.to_string())),
    ];
    Ok(Some(format!("{family}:{}", parameters.into_iter().flatten().collect::<Vec<_>>().join(","))))
}

/// How precise each point has to be: replications go on until the confidence interval of what decides is narrow
/// enough: the mean latency to the last destination, of plans the steps, of trees the combined diameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// The confidence of all intervals, between 0 and 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence: f64,
    /// Half the width of the interval, as a share of the mean, at which a point is done.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub relative_half_width: f64,
    /// Replications of a point at least.
    #[schemars(range(min = 1))]
    pub min_replications: u32,
    /// Replications of a point at most. Default 200, or the least number if that is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX))]
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
    /// The rest of a dotted path, whose parts are tables in tables: `traffic.length = [8, 64]`.
    #[schemars(extend("propertyNames" = { "not": { "enum": ["from", "to", "points"] } }))]
    Tables(BTreeMap<String, AxisForm>),
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

/// The spacing of values, or of an axis.
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
    /// What is plotted, or a list, for one plot each. Default `latency.last`, in mode `plan` `plan.steps`, in mode `trees`
    /// `trees.diameter`.
    pub(crate) y: Quantities,
    /// The swept setting that makes one curve of each value. Default `algorithm`.
    pub(crate) series: Option<String>,
    /// The horizontal axis. Default: as the swept setting along it is spaced.
    pub(crate) x_scale: Option<Scale>,
    /// The vertical axis. A logarithmic one cannot show values that are not above 0; a note below the plot counts them.
    pub(crate) y_scale: Scale,
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
