//! What an experiment file claims about its sweep, so that it can be tested.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::quantity::Quantity;
use crate::verdict::Wording;

/// A claim about a sweep: a name, a sentence, and one test. Claims of one name are parts of one claim.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// The claim's name. Several tests may share one: it is then reproduced if all of them are.
    pub(crate) id: String,
    /// What is claimed, in a sentence.
    pub(crate) text: String,
    /// The sentence of the claim's source that this is a test of, word for word.
    #[serde(default)]
    pub(crate) quote: Option<String>,
    /// Where the quoted sentence stands in the source.
    #[serde(default)]
    pub(crate) section: Option<String>,
    /// What in the test is a reading of the source and does not stand in it: a threshold, a range, a number of replications.
    #[serde(default)]
    pub(crate) ours: Option<String>,
    /// The quantity that it is about. Default: the first that is plotted.
    #[serde(default)]
    pub(crate) y: Option<Quantity>,
    /// The least value along the horizontal axis that it is about. Default: the first.
    #[serde(default)]
    pub(crate) from: Option<f64>,
    /// The largest. Default: the last.
    #[serde(default)]
    pub(crate) to: Option<f64>,
    /// The end of its range along the horizontal axis that the source of the claim leaves open: then a verdict says where it holds, if
    /// not everywhere.
    #[serde(default)]
    pub(crate) open_end: Option<OpenEnd>,
    /// If the test fails because of an error in print: what is wrong, and what would be right.
    #[serde(default)]
    pub(crate) erratum: Option<String>,
    /// Whether this is what would be right in the place of an error in print, and not the claim itself.
    #[serde(default)]
    pub(crate) correction: bool,
    /// Whether this is a sentence of the experiment's own that has to hold for the claim to be judged at all, and not the claim itself.
    #[serde(default)]
    pub(crate) control: bool,
    /// The swept settings whose values are its series, if not the one of the plot. Several make names such as `u-min, central-buffer`.
    #[serde(default)]
    pub(crate) series: Vec<String>,
    /// The values of swept settings that it is about. Default: all.
    #[serde(default, rename = "where")]
    pub(crate) only: BTreeMap<String, Vec<serde_json::Value>>,
    /// Some series lie below others.
    #[serde(default)]
    pub(crate) order: Option<Order>,
    /// Some series end below what they had reached before.
    #[serde(default)]
    pub(crate) falls: Option<Falls>,
    /// Some series have these values.
    #[serde(default)]
    pub(crate) values: Option<Values>,
    /// The quantity exceeds another one of the same series by some share.
    #[serde(default)]
    pub(crate) gap: Option<Gap>,
    /// Some series saturate before or after a value of the horizontal axis.
    #[serde(default)]
    pub(crate) saturates: Option<Saturates>,
    /// Some series saturate later than others.
    #[serde(default)]
    pub(crate) outlasts: Option<Outlasts>,
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
    /// At each point, on average over them, or at one at least.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// To compare, in place of values, by which share they exceed this other quantity of the same series.
    #[serde(default)]
    pub(crate) over: Option<Quantity>,
    /// To compare, in place of values, how much they rise from one value of the horizontal axis to another: a list of such pairs, of numbers or
    /// of texts such as networks.
    #[serde(default)]
    pub(crate) rise: Vec<[RiseEnd; 2]>,
}

/// A value of the horizontal axis from which, or to which, something rises.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RiseEnd {
    /// A number.
    Number(f64),
    /// A text, such as a network.
    Text(String),
}

impl RiseEnd {
    /// Whether this is it, as a number or as a text.
    pub(crate) fn is(&self, number: Option<f64>, text: &str) -> bool {
        match self {
            Self::Number(own) => number == Some(*own),
            Self::Text(own) => text == own,
        }
    }
}

impl fmt::Display for RiseEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// An end of the range of a claim that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OpenEnd {
    /// From where on it holds.
    From,
    /// Up to where.
    To,
}

/// Where a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// At each point.
    #[default]
    Each,
    /// On average over all points.
    Average,
    /// At one point at least.
    Somewhere,
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
    #[schemars(with = "BTreeMap<String, Vec<Option<f64>>>")]
    pub(crate) of: BTreeMap<String, Vec<f64>>,
    /// How far off they may be. Default 1e-9.
    #[serde(default = "exact")]
    pub(crate) tolerance: f64,
}

/// How much more the claim's quantity is than another one, as a share of that, in each replication.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gap {
    /// The series.
    #[schemars(length(min = 1))]
    pub(crate) series: Vec<String>,
    /// The quantity that it is compared with.
    pub(crate) over: Quantity,
    /// The least share, such as 0.1 for a tenth more.
    #[serde(default)]
    pub(crate) at_least: Option<f64>,
    /// The largest.
    #[serde(default)]
    pub(crate) at_most: Option<f64>,
    /// At each point, on average over them, or at one at least; points that are saturated are left out.
    #[serde(default)]
    pub(crate) scope: Scope,
}

/// Where some series saturate along the horizontal axis: between the largest value up to which all are stable, and the smallest from
/// which on all are saturated.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saturates {
    /// The series.
    #[schemars(length(min = 1))]
    pub(crate) series: Vec<String>,
    /// They are saturated at this value.
    #[serde(default)]
    pub(crate) before: Option<f64>,
    /// They are stable at this value.
    #[serde(default)]
    pub(crate) after: Option<f64>,
}

/// Each series of one list saturates later than each one of another.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outlasts {
    /// The series that are claimed to saturate later.
    #[schemars(length(min = 1))]
    pub(crate) later: Vec<String>,
    /// The series that are claimed to saturate earlier.
    #[schemars(length(min = 1))]
    pub(crate) earlier: Vec<String>,
    /// The least factor between the values of the horizontal axis at which they saturate. Default 1.
    #[serde(default = "one")]
    pub(crate) at_least: f64,
    /// The largest factor.
    #[serde(default)]
    pub(crate) at_most: Option<f64>,
    /// Each pair, for all values of the other swept settings, or one of them at least.
    #[serde(default)]
    pub(crate) scope: Scope,
}

fn one() -> f64 {
    1.0
}

fn exact() -> f64 {
    1e-9
}

/// A test of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Test<'a> {
    Order(&'a Order),
    Falls(&'a Falls),
    Values(&'a Values),
    Gap(&'a Gap),
    Saturates(&'a Saturates),
    Outlasts(&'a Outlasts),
}

impl Claim {
    /// A claim without a name that some series lie below others.
    pub(crate) fn of_order(order: Order, quantity: Quantity) -> Self {
        Self {
            id: String::new(),
            text: String::new(),
            quote: None,
            section: None,
            ours: None,
            y: Some(quantity),
            from: None,
            to: None,
            open_end: None,
            erratum: None,
            correction: false,
            control: false,
            series: Vec::new(),
            only: BTreeMap::new(),
            order: Some(order),
            falls: None,
            values: None,
            gap: None,
            saturates: None,
            outlasts: None,
        }
    }

    /// What it goes back to.
    pub(crate) fn wording(&self) -> Wording {
        Wording { quote: self.quote.clone(), section: self.section.clone(), ours: self.ours.clone() }
    }

    /// Its tests; one is right.
    pub(crate) fn tests(&self) -> Vec<Test<'_>> {
        let all = [
            self.order.as_ref().map(Test::Order),
            self.falls.as_ref().map(Test::Falls),
            self.values.as_ref().map(Test::Values),
            self.gap.as_ref().map(Test::Gap),
            self.saturates.as_ref().map(Test::Saturates),
            self.outlasts.as_ref().map(Test::Outlasts),
        ];
        all.into_iter().flatten().collect()
    }

    /// The quantity that it is about a share of, if it is.
    pub(crate) fn over(&self) -> Option<Quantity> {
        self.gap.as_ref().map(|gap| gap.over).or_else(|| self.order.as_ref()?.over)
    }

    /// Whether it is about a value of the horizontal axis; values that are no numbers are always in.
    pub(crate) fn covers(&self, x: Option<f64>) -> bool {
        x.is_none_or(|x| self.from.is_none_or(|from| from <= x) && self.to.is_none_or(|to| x <= to))
    }

    /// Whether it is about certain places along the horizontal axis, or more than one.
    pub(crate) fn is_about_places(&self) -> bool {
        let ranges = self.from.is_some() || self.to.is_some();
        let rises = self.order.as_ref().is_some_and(|order| !order.rise.is_empty());
        ranges || rises || self.values.is_some() || self.falls.is_some()
    }

    /// Whether it is about a value of a swept setting.
    pub(crate) fn includes(&self, key: &str, value: &serde_json::Value) -> bool {
        self.only.get(key).is_none_or(|values| values.iter().any(|listed| same(listed, value)))
    }
}

/// Whether two settings are equal, however a number is written.
pub(crate) fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    a == b || a.as_f64().is_some_and(|number| b.as_f64() == Some(number))
}

impl<'a> Test<'a> {
    /// The lists of series that it names, each with its key.
    pub(crate) fn series(self) -> Vec<(&'static str, Vec<&'a str>)> {
        fn names(list: &[String]) -> Vec<&str> {
            list.iter().map(String::as_str).collect()
        }
        match self {
            Self::Order(order) => vec![("order.lower", names(&order.lower)), ("order.higher", names(&order.higher))],
            Self::Falls(falls) => vec![("falls.series", names(&falls.series))],
            Self::Values(values) => vec![("values.of", values.of.keys().map(String::as_str).collect())],
            Self::Gap(gap) => vec![("gap.series", names(&gap.series))],
            Self::Saturates(saturates) => vec![("saturates.series", names(&saturates.series))],
            Self::Outlasts(outlasts) => {
                vec![("outlasts.later", names(&outlasts.later)), ("outlasts.earlier", names(&outlasts.earlier))]
            }
        }
    }

    /// Its key in a claim.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Order(_) => "order",
            Self::Falls(_) => "falls",
            Self::Values(_) => "values",
            Self::Gap(_) => "gap",
            Self::Saturates(_) => "saturates",
            Self::Outlasts(_) => "outlasts",
        }
    }

    /// Whether it is a test of each value of the horizontal axis by itself.
    pub(crate) fn is_by_place(self) -> bool {
        match self {
            Self::Order(order) => order.scope == Scope::Each && order.rise.is_empty(),
            Self::Gap(gap) => gap.scope == Scope::Each,
            _ => false,
        }
    }

    /// Whether it is about where series saturate, and not about a quantity.
    pub(crate) fn is_about_saturation(self) -> bool {
        matches!(self, Self::Saturates(_) | Self::Outlasts(_))
    }
}
