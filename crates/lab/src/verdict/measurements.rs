//! The data that one claim is judged on: the replications of its series at its values of the horizontal axis.

use serde_json::Value as Json;

use super::evidence::{Pending, SETTLED};
use super::explanation::{because, to_settle};
use super::rules::{Rule, all_rule, order_rule, somewhere_rule, strictly_somewhere_rule};
use super::{Comparison, Part, Verdict};
use crate::experiment::Experiment;
use crate::experiment::claim::{Claim, Scope, Test};
use crate::experiment::file::TimeUnit;
use crate::experiment::idle::draws_nothing;
use crate::experiment::point::{Coordinate, Point, plain_text};
use crate::runs::replication::Replication;
use crate::runs::scenarios::Job;
use crate::runs::stopping::Outcome;
use crate::runs::sweep::PointRuns;
use crate::statistics::Estimate;
use crate::statistics::quantity::Quantity;

/// The replications of one series at one value of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Cell {
    /// Values by replication.
    Values(Vec<f64>),
    /// A latency beyond saturation.
    Unbounded,
    /// A percentile without an interval, for too few runs.
    NoInterval,
    /// No value.
    Missing,
}

/// A value of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AxisPlace {
    pub(crate) text: String,
    pub(crate) number: Option<f64>,
}

impl AxisPlace {
    fn new(value: &Json) -> Self {
        Self { text: plain_text(value), number: value.as_f64() }
    }

    /// Whether it is the same value, however a number is written.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.text == other.text || (self.number.is_some() && self.number == other.number)
    }
}

/// A point of the sweep, as the claim sees it.
pub(crate) struct Entry<'a> {
    context: usize,
    series: String,
    place: usize,
    cell: Cell,
    /// Whether replications whose values are all equal say that others would be, too.
    pub(super) equal_are_certain: bool,
    pub(crate) point: &'a Point,
    pub(crate) runs: &'a PointRuns,
}

/// A claim with what it is judged on.
pub(crate) struct Measurements<'a> {
    pub(super) claim: &'a Claim,
    quantity: Quantity,
    pub(super) unit: Option<TimeUnit>,
    confidence: f64,
    /// The other swept settings, as text: each combination is a sweep of its own. Empty if there are none.
    pub(crate) contexts: Vec<String>,
    pub(crate) places: Vec<AxisPlace>,
    /// The values along the horizontal axis that the claim is about, of which some may not be places.
    pub(super) claimed: Vec<AxisPlace>,
    entries: Vec<Entry<'a>>,
}

impl<'a> Measurements<'a> {
    /// What a claim is judged on in an experiment; `about` is the one whose axes and quantity the claim speaks of.
    pub(crate) fn new(
        (experiment, about): (&Experiment, &Experiment),
        claim: &'a Claim,
        points: &'a [Point],
        runs: &'a [PointRuns],
    ) -> Self {
        let quantity = claim.y.unwrap_or_else(|| about.quantities()[0]);
        let (x, series) = (about.claim_axis(claim), about.claim_series(claim));
        // Values that are claimed have the file's unit.
        let unit = if claim.values.is_some() { about.unit() } else { experiment.unit() };
        let unit = (quantity.is_latency() && claim.over().is_none()).then_some(unit);
        let mut measured = Self {
            claim,
            quantity,
            unit,
            confidence: experiment.stop().confidence,
            contexts: Vec::new(),
            places: Vec::new(),
            claimed: about.claimed_values(claim).into_iter().map(AxisPlace::new).collect(),
            entries: Vec::new(),
        };
        for (point, of_point) in points.iter().zip(runs) {
            let value_at = |key: &str| experiment.value_at(point, key);
            let names: Option<Vec<String>> = series.iter().map(|key| value_at(key).map(Coordinate::text)).collect();
            let Some(names) = names else { continue };
            let place = match x.as_deref().map(value_at) {
                Some(Some(x)) => AxisPlace::new(&x.value),
                // Of the values that are no longer there.
                Some(None) if claim.is_about_places() => continue,
                Some(None) | None => AxisPlace { text: String::new(), number: None },
            };
            let included = |key: &String| value_at(key).is_some_and(|at| claim.includes(key, &at.value));
            if !claim.covers(place.number) || !claim.only.keys().all(included) {
                continue;
            }
            let others = point.coordinates.iter().filter(|c| !series.contains(&c.key) && Some(&c.key) != x.as_ref());
            let others: Vec<String> = others.map(Coordinate::tag).collect();
            let context = position(&mut measured.contexts, others.join(", "));
            let place = position(&mut measured.places, place);
            let (series, cell) = (names.join(", "), measured.cell(point, of_point));
            let equal_are_certain = claim.values.is_some() && equal_are_certain(experiment, point, of_point);
            measured.entries.push(Entry { context, series, place, cell, equal_are_certain, point, runs: of_point });
        }
        measured.sort_places();
        measured
    }

    /// Numbers along the horizontal axis in their order there, however the sweep lists them.
    fn sort_places(&mut self) {
        let Some(numbers) = self.places.iter().map(|place| place.number).collect::<Option<Vec<f64>>>() else { return };
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        let mut rank = vec![0; order.len()];
        for (to, &from) in order.iter().enumerate() {
            rank[from] = to;
        }
        for entry in &mut self.entries {
            entry.place = rank[entry.place];
        }
        self.places.sort_by(|a, b| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
    }

    fn cell(&self, point: &Point, of_point: &PointRuns) -> Cell {
        match of_point.outcome {
            Outcome::Saturated if self.quantity.is_latency() => return Cell::Unbounded,
            Outcome::Deadlocked | Outcome::Incomplete => return Cell::Missing,
            _ => {}
        }
        let has_no_interval = |quantity: Quantity| {
            quantity.is_percentile()
                && quantity
                    .estimate(&of_point.runs, self.confidence)
                    .is_some_and(|of| of.count > 1 && of.interval().is_none())
        };
        if [Some(self.quantity), self.claim.over()].into_iter().flatten().any(has_no_interval) {
            return Cell::NoInterval;
        }
        let values = self.measured(point, of_point).into_iter();
        let values: Option<Vec<f64>> = match self.claim.over() {
            None => values.collect(),
            // As a share of what it is compared with, both of the same replication.
            Some(over) => {
                let over = over.of_all(&of_point.runs, self.confidence).into_iter();
                let over = over.map(|over| over.filter(|&over| over != 0.0));
                values.zip(over).map(|(value, over)| Some(value? / over? - 1.0)).collect()
            }
        };
        values.filter(|values| !values.is_empty()).map_or(Cell::Missing, Cell::Values)
    }

    /// What the replications of a point have, in the unit.
    pub(crate) fn measured(&self, point: &Point, of_point: &PointRuns) -> Vec<Option<f64>> {
        let scale = self.scale(point);
        let values = self.quantity.of_all(&of_point.runs, self.confidence).into_iter();
        values.map(|value| value.map(|value| value * scale)).collect()
    }

    /// The estimate of the quantity at a point, in the unit.
    pub(crate) fn estimate(&self, point: &Point, of_point: &PointRuns) -> Option<Estimate> {
        Some(self.quantity.estimate(&of_point.runs, self.confidence)?.scaled(self.scale(point)))
    }

    /// The factor that converts cycles to the unit.
    fn scale(&self, point: &Point) -> f64 {
        match self.unit {
            Some(TimeUnit::Microseconds) => point.spec.timing.cycle_ns / 1000.0,
            _ => 1.0,
        }
    }

    /// The unit of values: `us` or `cycles` for times, else empty.
    pub(crate) fn unit_name(&self) -> &'static str {
        match self.unit {
            Some(TimeUnit::Microseconds) => "us",
            Some(TimeUnit::Cycles) => "cycles",
            None => "",
        }
    }

    /// A series at a value of the horizontal axis.
    pub(crate) fn entry(&self, context: usize, series: &str, place: usize) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| (entry.context, entry.place) == (context, place) && entry.series == series)
    }

    pub(super) fn at(&self, context: usize, series: &str, place: usize) -> &Cell {
        self.entry(context, series, place).map_or(&Cell::Missing, |entry| &entry.cell)
    }

    pub(super) fn part(&self) -> Part {
        // Others are refused when the file is read.
        let test = self.claim.tests().into_iter().next();
        let groups = test.map_or_else(Vec::new, |test| match test {
            Test::Order(order) => self.answers(self.order(order)),
            Test::Falls(falls) => self.answers(self.falls(falls)),
            Test::Values(values) => self.answers(self.values(values)),
            Test::Gap(gap) => self.answers(self.gap(gap)),
            Test::Saturates(saturates) => self.saturates(saturates),
            Test::Outlasts(outlasts) => self.outlasts(outlasts),
        });
        let judge: Rule = match test {
            Some(Test::Order(order)) if order.scope != Scope::Somewhere => order_rule,
            Some(Test::Order(_) | Test::Falls(_)) => strictly_somewhere_rule,
            Some(Test::Gap(gap)) if gap.scope == Scope::Somewhere => somewhere_rule,
            Some(Test::Outlasts(outlasts)) if outlasts.scope == Scope::Somewhere => somewhere_rule,
            _ => all_rule,
        };
        let unit = self.unit_name();
        let verdict = if groups.is_empty() { Verdict::Inconclusive } else { judge(&groups) };
        let mut because = because(&groups, test, if self.claim.over().is_some() { "%" } else { unit });
        if verdict == Verdict::Inconclusive {
            let deadlocked = self.entries.iter().any(|entry| entry.runs.outcome == Outcome::Deadlocked);
            because += &to_settle(&groups, self.claim.over().is_some(), deadlocked);
        }
        let open_end = self.claim.open_end.filter(|_| verdict != Verdict::Reproduced);
        let holds = open_end.and_then(|end| self.widest(&groups, judge, end));
        let about_saturation = test.is_some_and(Test::is_about_saturation);
        Part {
            text: self.claim.text.clone(),
            wording: self.claim.wording(),
            verdict,
            because,
            quantity: (!about_saturation).then_some(self.quantity),
            unit: if about_saturation { String::new() } else { unit.to_owned() },
            confidence: self.confidence_of_each(&groups, test),
            comparisons: groups.into_iter().flatten().collect(),
            holds,
            erratum: self.claim.erratum.clone(),
            correction: self.claim.correction,
            control: self.claim.control,
        }
    }

    fn confidence_of_each(&self, groups: &[Vec<Comparison>], test: Option<Test<'_>>) -> f64 {
        match test {
            Some(Test::Saturates(_) | Test::Outlasts(_)) => self.shared_confidence(self.brackets(test)),
            _ => self.shared_confidence(groups.iter().map(Vec::len).sum()),
        }
    }

    /// The confidence of each of several intervals (Bonferroni): each gets its share of the probability of error.
    pub(crate) fn shared_confidence(&self, count: usize) -> f64 {
        1.0 - (1.0 - self.confidence) / count.max(1) as f64
    }

    fn answers(&self, questions: Vec<Vec<Pending>>) -> Vec<Vec<Comparison>> {
        let confidence = self.shared_confidence(questions.iter().map(Vec::len).sum());
        questions.into_iter().map(|group| group.into_iter().map(|q| q.answer(confidence)).collect()).collect()
    }

    /// The name of a series, with its context if there are several.
    pub(super) fn name(&self, context: usize, series: &str) -> String {
        let context = &self.contexts[context];
        if context.is_empty() { series.to_owned() } else { format!("{series} ({context})") }
    }

    pub(super) fn range(&self) -> String {
        match (self.places.first(), self.places.last()) {
            (Some(first), Some(last)) if first == last => first.text.clone(),
            (Some(first), Some(last)) => format!("{} to {}", first.text, last.text),
            _ => String::new(),
        }
    }

    /// Where an average is taken.
    pub(super) fn on_average(&self) -> String {
        format!("{} on average", self.range()).trim_start().to_owned()
    }
}

/// Whether equal replications are enough: nothing in them is random, or they measured so many messages that a difference would have shown.
fn equal_are_certain(experiment: &Experiment, point: &Point, of_point: &PointRuns) -> bool {
    let seen = of_point.runs.iter().map(|run| match run {
        Replication::Simulated(run) => run.messages.measured,
        Replication::Planned(plan) => plan.messages,
        Replication::Trees(trees) => u64::from(trees.sets),
    });
    let job = || experiment.job_of(point, point.spec.seed);
    let same_trees = || job().is_ok_and(|job| matches!(job, Job::Trees(runs) if !runs.random));
    seen.sum::<u64>() >= SETTLED as u64 || draws_nothing(&point.spec) || same_trees()
}

/// Where a value is in a list, at its end if it was not there.
pub(crate) fn position<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
