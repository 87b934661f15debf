//! Measured quantities, by the names that experiment files use.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use wormcast_simulation::{PlanCosts, Quantiles, RunResult};

use crate::runs::kind::Kind;
use crate::runs::replication::Replication;
use crate::runs::tree_runs::TreeFigures;
use crate::statistics::Estimate;
use crate::statistics::percentile::{Percentile, percentile};

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
    /// Mean latency of messages to one destination, where there are others too.
    #[serde(rename = "latency.unicast")]
    LatencyUnicast,
    /// Mean latency of messages to several destinations, to the last of them, where there are others too.
    #[serde(rename = "latency.multicast")]
    LatencyMulticast,
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
    /// The mean share of the buffers of buffered switches that is taken.
    #[serde(rename = "buffer_occupancy")]
    BufferOccupancy,
    /// Steps of a message's plan; as all `plan.…`, of runs in `mode = "plan"`.
    #[serde(rename = "plan.steps")]
    PlanSteps,
    /// Worms that the busiest node sends for all messages of a run.
    #[serde(rename = "plan.startups")]
    PlanStartups,
    /// Worms that a node sends for all messages of a run, averaged over nodes.
    #[serde(rename = "plan.mean_startups")]
    PlanMeanStartups,
    /// Channels that a message's worms take.
    #[serde(rename = "plan.channels")]
    PlanChannels,
    /// The share of plans that are not contention-free.
    #[serde(rename = "plan.contention")]
    PlanContention,
    /// The share of turns that the routing prohibits.
    #[serde(rename = "plan.prohibited")]
    PlanProhibited,
    /// The routers along the first dimension of the network; as all `trees.…`, of runs in `mode = "trees"`.
    #[serde(rename = "trees.side")]
    TreesSide,
    /// The combined diameter of a set of trees: the largest distance of two routers, each in the tree where it is shorter.
    #[serde(rename = "trees.diameter")]
    TreesDiameter,
    /// The smallest combined diameter of the sets of a run.
    #[serde(rename = "trees.least_diameter")]
    TreesLeastDiameter,
    /// The largest combined diameter of the sets of a run.
    #[serde(rename = "trees.largest_diameter")]
    TreesLargestDiameter,
    /// The average distance of two routers, each in the tree where it is shorter.
    #[serde(rename = "trees.average_distance")]
    TreesAverageDistance,
    /// Links in none of the trees of a set.
    #[serde(rename = "trees.unused")]
    TreesUnused,
    /// The share of sets whose trees span the network and have no link in common.
    #[serde(rename = "trees.disjoint")]
    TreesDisjoint,
    /// The share of sets whose trees are all binary.
    #[serde(rename = "trees.binary")]
    TreesBinary,
}

impl Quantity {
    /// All quantities, by name.
    pub(crate) const ALL: [(&'static str, Self); 26] = [
        ("latency.last", Self::LatencyLast),
        ("latency.mean", Self::LatencyMean),
        ("latency.p50", Self::LatencyP50),
        ("latency.p95", Self::LatencyP95),
        ("latency.p99", Self::LatencyP99),
        ("latency.unicast", Self::LatencyUnicast),
        ("latency.multicast", Self::LatencyMulticast),
        ("offered_load", Self::OfferedLoad),
        ("accepted_load", Self::AcceptedLoad),
        ("delivered_load", Self::DeliveredLoad),
        ("link_utilisation", Self::LinkUtilisation),
        ("buffer_occupancy", Self::BufferOccupancy),
        ("plan.steps", Self::PlanSteps),
        ("plan.startups", Self::PlanStartups),
        ("plan.mean_startups", Self::PlanMeanStartups),
        ("plan.channels", Self::PlanChannels),
        ("plan.contention", Self::PlanContention),
        ("plan.prohibited", Self::PlanProhibited),
        ("trees.side", Self::TreesSide),
        ("trees.diameter", Self::TreesDiameter),
        ("trees.least_diameter", Self::TreesLeastDiameter),
        ("trees.largest_diameter", Self::TreesLargestDiameter),
        ("trees.average_distance", Self::TreesAverageDistance),
        ("trees.unused", Self::TreesUnused),
        ("trees.disjoint", Self::TreesDisjoint),
        ("trees.binary", Self::TreesBinary),
    ];

    /// The quantity of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, quantity)| quantity)
    }

    /// Whether a higher value is better, or a lower one; `None` if that depends on what is wanted.
    pub(crate) fn higher_is_better(self) -> Option<bool> {
        match self {
            Self::AcceptedLoad | Self::DeliveredLoad | Self::TreesDisjoint | Self::TreesBinary => Some(true),
            Self::OfferedLoad | Self::LinkUtilisation | Self::BufferOccupancy | Self::TreesSide | Self::TreesUnused => {
                None
            }
            Self::LatencyLast
            | Self::LatencyMean
            | Self::LatencyP50
            | Self::LatencyP95
            | Self::LatencyP99
            | Self::LatencyUnicast
            | Self::LatencyMulticast
            | Self::PlanSteps
            | Self::PlanStartups
            | Self::PlanMeanStartups
            | Self::PlanChannels
            | Self::PlanContention
            | Self::PlanProhibited
            | Self::TreesDiameter
            | Self::TreesLeastDiameter
            | Self::TreesLargestDiameter
            | Self::TreesAverageDistance => Some(false),
        }
    }

    /// What its value is over several runs, in a word: a `mean`, or a `percentile`.
    pub fn statistic(self) -> &'static str {
        if self.percentile().is_some() { "percentile" } else { "mean" }
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|&(name, _)| name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, quantity)| *quantity == self).map_or("", |&(name, _)| name)
    }

    /// Whether it can run along the horizontal axis: a measured load, or the size of a network.
    pub(crate) fn is_load(self) -> bool {
        matches!(
            self,
            Self::OfferedLoad | Self::AcceptedLoad | Self::DeliveredLoad | Self::LinkUtilisation | Self::TreesSide
        )
    }

    /// The kind of runs that measure it.
    pub fn kind(self) -> Kind {
        match self {
            Self::LatencyLast
            | Self::LatencyMean
            | Self::LatencyP50
            | Self::LatencyP95
            | Self::LatencyP99
            | Self::LatencyUnicast
            | Self::LatencyMulticast
            | Self::OfferedLoad
            | Self::AcceptedLoad
            | Self::DeliveredLoad
            | Self::LinkUtilisation
            | Self::BufferOccupancy => Kind::Simulated,
            Self::PlanSteps
            | Self::PlanStartups
            | Self::PlanMeanStartups
            | Self::PlanChannels
            | Self::PlanContention
            | Self::PlanProhibited => Kind::Planned,
            Self::TreesSide
            | Self::TreesDiameter
            | Self::TreesLeastDiameter
            | Self::TreesLargestDiameter
            | Self::TreesAverageDistance
            | Self::TreesUnused
            | Self::TreesDisjoint
            | Self::TreesBinary => Kind::Trees,
        }
    }

    /// Its value in one run, in cycles for times; `None` if the run has none.
    pub(crate) fn of(self, run: &Replication) -> Option<f64> {
        match run {
            Replication::Simulated(run) => self.in_time(run),
            Replication::Planned(plan) => self.of_plans(&plan.costs),
            Replication::Trees(trees) => self.of_trees(&trees.figures),
        }
    }

    fn in_time(self, run: &RunResult) -> Option<f64> {
        // All messages that are measured may be of one cycle.
        let lasts = run.window.to > run.window.from;
        match self {
            Self::LatencyLast => run.latency.last.mean,
            Self::LatencyMean => run.latency.mean.mean,
            Self::LatencyP50 | Self::LatencyP95 | Self::LatencyP99 => {
                run.latency.quantiles.as_ref().zip(self.percentile()).map(|(quantiles, share)| quantiles.at(share))
            }
            Self::LatencyUnicast => run.latency.unicast.as_ref()?.last.mean,
            Self::LatencyMulticast => run.latency.multicast.as_ref()?.last.mean,
            Self::OfferedLoad => lasts.then_some(run.offered_load),
            Self::AcceptedLoad => lasts.then_some(run.accepted_load),
            Self::DeliveredLoad => lasts.then_some(run.delivered_load),
            Self::LinkUtilisation => lasts.then_some(run.links.busy),
            Self::BufferOccupancy => run.buffers.map(|buffers| buffers.share),
            _ => None,
        }
    }

    fn of_plans(self, costs: &PlanCosts) -> Option<f64> {
        match self {
            Self::PlanSteps => Some(costs.steps),
            Self::PlanStartups => Some(costs.startups as f64),
            Self::PlanMeanStartups => Some(costs.mean_startups),
            Self::PlanChannels => Some(costs.channels),
            Self::PlanContention => Some(costs.contention),
            Self::PlanProhibited => costs.prohibited,
            _ => None,
        }
    }

    fn of_trees(self, figures: &TreeFigures) -> Option<f64> {
        match self {
            Self::TreesSide => Some(figures.side),
            Self::TreesDiameter => Some(figures.diameter),
            Self::TreesLeastDiameter => Some(figures.least_diameter),
            Self::TreesLargestDiameter => Some(figures.largest_diameter),
            Self::TreesAverageDistance => Some(figures.average_distance),
            Self::TreesUnused => Some(figures.unused),
            Self::TreesDisjoint => Some(figures.disjoint),
            Self::TreesBinary => Some(figures.binary),
            _ => None,
        }
    }

    /// Whether it is a percentile, which has an interval only with enough runs.
    pub(crate) fn is_percentile(self) -> bool {
        self.percentile().is_some()
    }

    /// The share that a percentile is at.
    fn percentile(self) -> Option<f64> {
        match self {
            Self::LatencyP50 => Some(0.5),
            Self::LatencyP95 => Some(0.95),
            Self::LatencyP99 => Some(0.99),
            _ => None,
        }
    }

    /// Its values in replications of one point: `None` for those that have none, and for all where a percentile has no interval. A
    /// percentile of all messages is not the mean of the percentiles of runs: of these, the values are those of [`Percentile`].
    pub(crate) fn of_all(self, runs: &[Replication], confidence: f64) -> Vec<Option<f64>> {
        if self.percentile().is_none() {
            return runs.iter().map(|run| self.of(run)).collect();
        }
        let mut values = self.percentile_of(runs, confidence).map_or_else(Vec::new, |found| found.values).into_iter();
        runs.iter().map(|run| quantiles(run).and_then(|_| values.next())).collect()
    }

    /// Its estimate from the replications of one point; `None` if none of them has a value.
    pub(crate) fn estimate(self, runs: &[Replication], confidence: f64) -> Option<Estimate> {
        if self.percentile().is_some() {
            return self.percentile_of(runs, confidence).map(|found| found.estimate);
        }
        let values: Vec<f64> = runs.iter().filter_map(|run| self.of(run)).collect();
        Estimate::of(&values, confidence)
    }

    fn percentile_of(self, runs: &[Replication], confidence: f64) -> Option<Percentile> {
        let quantiles: Vec<&Quantiles> = runs.iter().filter_map(quantiles).collect();
        percentile(&quantiles, self.percentile()?, confidence)
    }

    /// Whether it is a time, in cycles, which a saturated point does not have.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Self::LatencyLast
                | Self::LatencyMean
                | Self::LatencyP50
                | Self::LatencyP95
                | Self::LatencyP99
                | Self::LatencyUnicast
                | Self::LatencyMulticast
        )
    }
}

fn quantiles(run: &Replication) -> Option<&Quantiles> {
    run.simulated()?.latency.quantiles.as_ref()
}

/// A quantity, or several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Quantities(pub(crate) Vec<Quantity>);

impl<'de> Deserialize<'de> for Quantities {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantitiesVisitor;

        impl<'de> Visitor<'de> for QuantitiesVisitor {
            type Value = Quantities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a quantity, or a list of them")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Quantities, E> {
                Quantity::deserialize(name.into_deserializer()).map(|quantity| Quantities(vec![quantity]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Quantities, A::Error> {
                let mut quantities: Vec<Quantity> = Vec::new();
                while let Some(quantity) = list.next_element()? {
                    if quantities.contains(&quantity) {
                        return Err(de::Error::custom(format!("`{}` is listed twice", quantity.name())));
                    }
                    quantities.push(quantity);
                }
                if quantities.is_empty() {
                    Err(de::Error::custom("the list is empty: expected the name of a quantity, or a list of them"))
                } else {
                    Ok(Quantities(quantities))
                }
            }
        }

        deserializer.deserialize_any(QuantitiesVisitor)
    }
}

impl JsonSchema for Quantities {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantities".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let quantity = generator.subschema_for::<Quantity>();
        schemars::json_schema!({
            "description": "A quantity, or a list of them.",
            "anyOf": [quantity, { "type": "array", "items": quantity, "minItems": 1 }]
        })
    }
}
