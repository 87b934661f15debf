//! The settings of traffic: which messages are generated.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{Count, Destinations, Length};
use crate::traffic::MAX_SUCCESSES;

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

impl Traffic {
    /// Whether its messages come to an end: those of a trace, and of a single burst.
    pub fn ends(&self) -> bool {
        let burst = |arrivals: &Arrivals| arrivals.process == Process::Burst && arrivals.interval.is_none();
        self.trace.is_some() || self.arrivals.as_ref().is_some_and(burst)
    }

    /// Whether all its multicasts have several destinations, and it has any. For a trace this is unknown before it is read.
    pub fn has_only_wide_multicasts(&self) -> bool {
        let wide = |destinations| !matches!(destinations, Destinations::Count(Count { least: 0..=1, .. }));
        let some = self.multicast.as_ref().filter(|multicast| multicast.fraction > 0.0);
        self.trace.is_none() && some.is_some_and(|multicast| wide(multicast.destinations))
    }

    /// Whether a run may have both messages to one destination and messages to several. For a trace this is unknown before it is read.
    pub fn may_be_mixed(&self) -> bool {
        let Some(MulticastTraffic { destinations, fraction, .. }) = &self.multicast else {
            return self.trace.is_some();
        };
        let both = matches!(destinations, Destinations::Count(Count { least: 1, most: 2.. }));
        self.trace.is_some() || *fraction > 0.0 && (*fraction < 1.0 || both)
    }
}

/// When nodes generate messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// The arrival process of each node.
    pub process: Process,
    /// Messages per node per microsecond; for all processes but bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Option<f64>,
    /// In place of the rate: the effective applied load, data flits that messages ask to be delivered per node per cycle. The
    /// rate is then this over the mean number of destinations and the mean length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub load: Option<f64>,
    /// Negative binomial: successes that make up a gap. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_SUCCESSES))]
    pub successes: Option<u32>,
    /// Bursts: nodes that generate a message each, drawn anew for every burst. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub sources: Option<u32>,
    /// Bursts: cycles from one to the next. Default: there is one burst, in cycle 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
}

impl Arrivals {
    /// One burst in cycle 0, of messages from so many nodes.
    pub fn burst(sources: u32) -> Self {
        let process = Process::Burst;
        Self { process, rate: None, load: None, successes: None, sources: Some(sources), interval: None }
    }
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
    /// Destinations a message: a number or `{ uniform = [least, most] }`, of nodes that are drawn uniformly, without repetition; `"all"` other nodes; or
    /// `"group"`: the other members of a group that the source is in, drawn uniformly from those that the algorithm knows. Nodes in no group send no multicasts.
    pub destinations: Destinations,
    /// The share of messages that are multicasts; the others are unicasts.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
    /// The sets of destinations that each node has: a multicast goes to one of them, each as often as the others. Default: a set is drawn for every multicast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub sets: Option<u32>,
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
    /// Hot spot: the node that is hot, as a number, coordinates or a name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "node")]
    #[schemars(with = "Option<NodeForm>")]
    pub node: Option<String>,
    /// Hot spot: the share of unicasts that go there; the others are uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: Option<f64>,
}

/// A node in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum NodeForm {
    /// Its number.
    Number(u32),
    /// Its number, coordinates or name.
    Text(String),
}

/// A node as its text, whichever way it is given.
fn node<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    const EXPECTED: &str = "expected a node's number, its coordinates such as \"4,3\", or its name";
    let form = NodeForm::deserialize(deserializer).map_err(|_| de::Error::custom(EXPECTED))?;
    Ok(Some(match form {
        NodeForm::Number(number) => number.to_string(),
        NodeForm::Text(text) => text,
    }))
}

/// Where a unicast goes. A node that a permutation maps to itself sends no unicasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// To any other node with the same probability.
    Uniform,
    /// To one node more often than to others.
    HotSpot,
    /// Coordinates in reverse order in grids of equal extents; on other networks, the halves of the address exchanged. Such grids or 2^(2k) nodes.
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
