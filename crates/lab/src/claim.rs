//! What an experiment file claims about its sweep, so that it can be tested.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::file::Quantity;

/// A claim about a sweep: a name, a sentence, and one test. Claims of one name are parts of one claim.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// The claim's name. Several tests may share one: it is then reproduced if all of them are.
    pub(crate) id: String,
    /// What is claimed, in a sentence.
    pub(crate) text: String,
    /// The quantity that it is about. Default: the first that is plotted.
    #[serde(default)]
    pub(crate) y: Option<Quantity>,
    /// The least value along the horizontal axis that it is about. Default: the first.
    #[serde(default)]
    pub(crate) from: Option<f64>,
    /// The largest. Default: the last.
    #[serde(default)]
    pub(crate) to: Option<f64>,
    /// Some series lie below others.
    #[serde(default)]
    pub(crate) order: Option<Order>,
    /// Some series end below what they had reached before.
    #[serde(default)]
    pub(crate) falls: Option<Falls>,
    /// Some series have these values.
    #[serde(default)]
    pub(crate) values: Option<Values>,
}

/// Each of the lower series lies at or below each of the higher ones, and truly below them somewhere.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The series that are claimed to be lower.
    #[schemars(length(min = 1))]
    pub(crate) lower: Vec<String>,
    /// The series that are claimed to be higher.
    #[schemars(length(min = 1))]
    pub(crate) higher: Vec<String>,
    /// By which share of the higher one at least; negative to let the lower one be higher by so much. Default 0.
    #[serde(default)]
    pub(crate) by: f64,
    /// At each point, or on average over them.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// To compare, in place of values, how much they rise from one value of the horizontal axis to another: a list of such pairs.
    #[serde(default)]
    pub(crate) rise: Vec<[f64; 2]>,
}

/// Where an order holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// At each point.
    #[default]
    Each,
    /// On average over all points.
    Average,
}

/// At some point, each series is higher than at the last one.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Falls {
    /// The series.
    #[schemars(length(min = 1))]
    pub(crate) series: Vec<String>,
    /// By which share of the higher value at least. Default 0.
    #[serde(default)]
    pub(crate) by: f64,
}

/// The values of some series at all points, in the order of the horizontal axis.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    /// The values of each series; `nan` where nothing is claimed.
    pub(crate) of: BTreeMap<String, Vec<f64>>,
    /// How far off they may be. Default 1e-9.
    #[serde(default = "exact")]
    pub(crate) tolerance: f64,
}

fn exact() -> f64 {
    1e-9
}

impl Claim {
    /// The names of all series that the claim mentions, with the path of the list that they are in.
    pub(crate) fn series(&self) -> Vec<(&'static str, &str)> {
        let mut names = Vec::new();
        if let Some(order) = &self.order {
            names.extend(order.lower.iter().map(|name| ("order.lower", name.as_str())));
            names.extend(order.higher.iter().map(|name| ("order.higher", name.as_str())));
        }
        if let Some(falls) = &self.falls {
            names.extend(falls.series.iter().map(|name| ("falls.series", name.as_str())));
        }
        if let Some(values) = &self.values {
            names.extend(values.of.keys().map(|name| ("values.of", name.as_str())));
        }
        names
    }

    /// How many tests there are; one is right.
    pub(crate) fn tests(&self) -> usize {
        usize::from(self.order.is_some()) + usize::from(self.falls.is_some()) + usize::from(self.values.is_some())
    }

    /// Whether it is about a value of the horizontal axis; values that are no numbers are always in.
    pub(crate) fn covers(&self, x: Option<f64>) -> bool {
        x.is_none_or(|x| self.from.is_none_or(|from| from <= x) && self.to.is_none_or(|to| x <= to))
    }
}
