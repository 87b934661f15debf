//! Verdicts on claims: what the replications of a sweep say, with a probability of error that is the same however many points and
//! series a claim is about.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Falls, Order, Scope, Values};
use crate::experiment::Experiment;
use crate::file::{Quantity, TimeUnit};
use crate::point::Point;
use crate::statistics::Estimate;
use crate::stopping::Outcome;
use crate::sweep::PointRuns;

/// Replications from which on differences that are all equal count as certain.
const SETTLED: usize = 30;

/// The most places that a sentence names.
const MOST_PLACES: usize = 8;

/// What a sweep says of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The intervals are too wide, or points are missing.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// It does not hold.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Inconclusive => "inconclusive",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// A claim and what the sweep says of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The claim's name.
    pub claim: String,
    /// The verdict: the worst of its parts.
    pub verdict: Verdict,
    /// Its parts, each with its evidence.
    pub evidence: Vec<Part>,
}

/// One test of a claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// What is claimed.
    pub text: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The unit of its values: `us` or `cycles` for times, else empty.
    pub unit: String,
    /// The confidence of each interval in `comparisons`, such that all of them hold together with the experiment's.
    pub confidence: f64,
    /// What was compared.
    pub comparisons: Vec<Comparison>,
}

/// One comparison of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The series.
    pub series: String,
    /// What it is compared with: another series, a value of the horizontal axis, or a number.
    pub against: String,
    /// Where: the value of the horizontal axis, or the range.
    pub at: String,
    /// The mean difference from what it is compared with, over replications with the same random numbers; `None` without one.
    pub difference: Option<Estimate>,
    /// What follows for the claim.
    pub finding: Finding,
}

/// What a comparison says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// As claimed.
    Holds,
    /// Not as claimed.
    Fails,
    /// The interval includes both.
    Open,
    /// There is nothing to compare.
    Missing,
}

/// Judges the claims of an experiment. Parts of one claim make one verdict, in the order in which the claims first occur.
pub(crate) fn verdicts(experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> Vec<ClaimVerdict> {
    let mut verdicts: Vec<ClaimVerdict> = Vec::new();
    for claim in experiment.claims() {
        let part = Court::new(experiment, claim, points, runs).part();
        match verdicts.iter_mut().find(|verdict| verdict.claim == claim.id) {
            Some(whole) => {
                whole.verdict = whole.verdict.max(part.verdict);
                whole.evidence.push(part);
            }
            None => {
                verdicts.push(ClaimVerdict { claim: claim.id.clone(), verdict: part.verdict, evidence: vec![part] });
            }
        }
    }
    verdicts
}

/// The replications of one series at one value of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
enum Cell {
    /// Values by replication.
    Values(Vec<f64>),
    /// A latency beyond saturation.
    Unbounded,
    /// Nothing.
    Missing,
}

/// A value of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    text: String,
    number: Option<f64>,
}

/// Everything that one claim is judged on.
struct Court<'a> {
    claim: &'a Claim,
    quantity: Quantity,
    unit: Option<TimeUnit>,
    confidence: f64,
    /// The other swept settings, as text: each combination is a sweep of its own. Empty if there are none.
    contexts: Vec<String>,
    places: Vec<Place>,
    /// (context, series, place) of each point, and its cell.
    cells: Vec<((usize, String, usize), Cell)>,
}

/// A comparison before its finding is known.
struct Question {
    series: String,
    against: String,
    at: String,
    evidence: Evidence,
}

enum Evidence {
    /// Whether the mean of these differences is at most 0.
    Differences(Vec<f64>),
    /// Whether the mean of these is 0, give or take.
    Deviations(Vec<f64>, f64),
    /// Settled by saturation, or by what is missing.
    Settled(Finding),
}

/// From the comparisons of each group to a verdict.
type Judge = fn(&[Vec<Comparison>]) -> Verdict;

impl<'a> Court<'a> {
    fn new(experiment: &Experiment, claim: &'a Claim, points: &[Point], runs: &[PointRuns]) -> Self {
        let quantity = claim.y.unwrap_or_else(|| experiment.quantities()[0]);
        let (x, series) = (experiment.claim_axis(), experiment.series_key());
        let unit = quantity.is_latency().then(|| experiment.unit());
        let mut court = Self {
            claim,
            quantity,
            unit,
            confidence: experiment.stop().confidence,
            contexts: Vec::new(),
            places: Vec::new(),
            cells: Vec::new(),
        };
        for (point, of_point) in points.iter().zip(runs) {
            let Some(name) = point.coordinate(&series) else { continue };
            let place = x.as_deref().and_then(|x| point.coordinate(x)).map_or_else(
                || Place { text: String::new(), number: None },
                |x| Place { text: x.text(), number: x.value.as_f64() },
            );
            if !claim.covers(place.number) {
                continue;
            }
            let others = point.coordinates.iter().filter(|c| c.key != series && Some(&c.key) != x.as_ref());
            let others: Vec<String> =
                others.map(|c| format!("{} {}", c.key.rsplit('.').next().unwrap_or(&c.key), c.text())).collect();
            let context = position(&mut court.contexts, others.join(", "));
            let place = position(&mut court.places, place);
            court.cells.push(((context, name.text(), place), court.cell(point, of_point)));
        }
        court.sort_places();
        court
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
        for ((.., place), _) in &mut self.cells {
            *place = rank[*place];
        }
        self.places.sort_by(|a, b| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
    }

    fn cell(&self, point: &Point, of_point: &PointRuns) -> Cell {
        match of_point.outcome {
            Outcome::Saturated if self.quantity.is_latency() => return Cell::Unbounded,
            Outcome::Deadlocked | Outcome::Incomplete => return Cell::Missing,
            _ => {}
        }
        let scale = match self.unit {
            Some(TimeUnit::Microseconds) => point.spec.timing.cycle_ns / 1000.0,
            _ => 1.0,
        };
        let values: Option<Vec<f64>> =
            of_point.runs.iter().map(|run| self.quantity.of(run).map(|value| value * scale)).collect();
        values.filter(|values| !values.is_empty()).map_or(Cell::Missing, Cell::Values)
    }

    fn at(&self, context: usize, series: &str, place: usize) -> &Cell {
        let here = |&&((c, ref s, p), _): &&((usize, String, usize), Cell)| c == context && s == series && p == place;
        self.cells.iter().find(here).map_or(&Cell::Missing, |(_, cell)| cell)
    }

    fn part(&self) -> Part {
        let (questions, judge): (Vec<Vec<Question>>, Judge) =
            match (&self.claim.order, &self.claim.falls, &self.claim.values) {
                (Some(order), ..) => (self.order(order), judge_order),
                (_, Some(falls), _) => (self.falls(falls), judge_falls),
                (.., Some(values)) => (self.values(values), judge_values),
                // Refused when the file is read.
                (None, None, None) => (Vec::new(), judge_values),
            };
        // Bonferroni: each of n intervals may err with 1/n of the probability.
        let count = questions.iter().map(Vec::len).sum::<usize>().max(1);
        let confidence = 1.0 - (1.0 - self.confidence) / count as f64;
        let answer = |question: Question| {
            let (difference, finding) = question.evidence.finding(confidence);
            Comparison { series: question.series, against: question.against, at: question.at, difference, finding }
        };
        let groups: Vec<Vec<Comparison>> =
            questions.into_iter().map(|group| group.into_iter().map(answer).collect()).collect();
        let unit = match self.unit {
            Some(TimeUnit::Microseconds) => "us",
            Some(TimeUnit::Cycles) => "cycles",
            None => "",
        };
        Part {
            text: self.claim.text.clone(),
            verdict: if groups.is_empty() { Verdict::Inconclusive } else { judge(&groups) },
            because: because(&groups, unit, self.claim.falls.is_some()),
            quantity: self.quantity,
            unit: unit.to_owned(),
            confidence,
            comparisons: groups.into_iter().flatten().collect(),
        }
    }

    /// The name of a series, with its context if there are several.
    fn name(&self, context: usize, series: &str) -> String {
        let context = &self.contexts[context];
        if context.is_empty() { series.to_owned() } else { format!("{series} ({context})") }
    }

    fn range(&self) -> String {
        let ends = (self.places.first(), self.places.last());
        if let (Some(first), Some(last)) = ends { format!("{} to {}", first.text, last.text) } else { String::new() }
    }

    /// One group for each pair of series.
    fn order(&self, order: &Order) -> Vec<Vec<Question>> {
        let mut groups = Vec::new();
        for context in 0..self.contexts.len() {
            for lower in &order.lower {
                for higher in &order.higher {
                    let excess = |cells: &[(usize, f64)]| self.excess(context, lower, higher, order.by, cells);
                    let question = |at: String, evidence| Question {
                        series: self.name(context, lower),
                        against: higher.clone(),
                        at,
                        evidence,
                    };
                    let each: Vec<(String, Vec<(usize, f64)>)> = if order.rise.is_empty() {
                        self.places.iter().enumerate().map(|(i, place)| (place.text.clone(), vec![(i, 1.0)])).collect()
                    } else {
                        let rise = |&[a, b]: &[f64; 2]| {
                            let find = |x: f64| self.places.iter().position(|place| place.number == Some(x));
                            Some((format!("{a} to {b}"), vec![(find(b)?, 1.0), (find(a)?, -1.0)]))
                        };
                        order.rise.iter().filter_map(rise).collect()
                    };
                    groups.push(match order.scope {
                        Scope::Each => each.into_iter().map(|(at, cells)| question(at, excess(&cells))).collect(),
                        Scope::Average => {
                            let share = 1.0 / each.len().max(1) as f64;
                            let cells = each.iter().flat_map(|(_, cells)| cells);
                            let cells: Vec<_> = cells.map(|&(place, weight)| (place, weight * share)).collect();
                            vec![question(format!("{} on average", self.range()), excess(&cells))]
                        }
                    });
                }
            }
        }
        groups
    }

    /// By replication, how much a weighted sum over places is more for the lower series than for the higher one.
    fn excess(&self, context: usize, lower: &str, higher: &str, by: f64, cells: &[(usize, f64)]) -> Evidence {
        let mut differences: Option<Vec<f64>> = None;
        let mut settled = None;
        for &(place, weight) in cells {
            match (self.at(context, lower, place), self.at(context, higher, place)) {
                (Cell::Values(low), Cell::Values(high)) => {
                    let here = low.iter().zip(high).map(|(low, high)| weight * (low - (1.0 - by) * high));
                    differences = Some(match differences {
                        None => here.collect(),
                        Some(sum) => sum.iter().zip(here).map(|(sum, here)| sum + here).collect(),
                    });
                }
                // Without bound at one place, whatever there is at the others; but not one way here and the other way there.
                (Cell::Unbounded, Cell::Values(_)) if weight > 0.0 && settled != Some(Finding::Holds) => {
                    settled = Some(Finding::Fails);
                }
                (Cell::Values(_), Cell::Unbounded) if weight > 0.0 && settled != Some(Finding::Fails) => {
                    settled = Some(Finding::Holds);
                }
                _ => return Evidence::Settled(Finding::Missing),
            }
        }
        if let Some(finding) = settled {
            return Evidence::Settled(finding);
        }
        differences.map_or(Evidence::Settled(Finding::Missing), Evidence::Differences)
    }

    /// One group for each series.
    fn falls(&self, falls: &Falls) -> Vec<Vec<Question>> {
        let mut groups = Vec::new();
        let Some(last) = self.places.len().checked_sub(1) else { return groups };
        for context in 0..self.contexts.len() {
            for series in &falls.series {
                let end = self.at(context, series, last);
                let question = |place: usize| Question {
                    series: self.name(context, series),
                    against: format!("at {}", self.places[place].text),
                    at: self.places[last].text.clone(),
                    evidence: match (end, self.at(context, series, place)) {
                        (Cell::Values(end), Cell::Values(before)) => Evidence::Differences(
                            end.iter().zip(before).map(|(end, before)| end - (1.0 - falls.by) * before).collect(),
                        ),
                        (Cell::Values(_), Cell::Unbounded) => Evidence::Settled(Finding::Holds),
                        _ => Evidence::Settled(Finding::Missing),
                    },
                };
                groups.push((0..last).map(question).collect());
            }
        }
        groups
    }

    /// One group for each series.
    fn values(&self, values: &Values) -> Vec<Vec<Question>> {
        let mut groups = Vec::new();
        for context in 0..self.contexts.len() {
            for (series, expected) in &values.of {
                let question = |(place, expected): (usize, &f64)| Question {
                    series: self.name(context, series),
                    against: expected.to_string(),
                    at: self.places[place].text.clone(),
                    evidence: match self.at(context, series, place) {
                        Cell::Values(values) => Evidence::Deviations(
                            values.iter().map(|value| value - expected).collect(),
                            self.tolerance(),
                        ),
                        Cell::Unbounded => Evidence::Settled(Finding::Fails),
                        Cell::Missing => Evidence::Settled(Finding::Missing),
                    },
                };
                let claimed = (0..self.places.len()).zip(expected).filter(|(_, expected)| !expected.is_nan());
                groups.push(claimed.map(question).collect());
            }
        }
        groups
    }

    fn tolerance(&self) -> f64 {
        self.claim.values.as_ref().map_or(0.0, |values| values.tolerance)
    }
}

impl Evidence {
    fn finding(&self, confidence: f64) -> (Option<Estimate>, Finding) {
        let interval = |values: &[f64]| {
            let estimate = Estimate::of(values, confidence)?;
            Some((estimate, estimate.mean - estimate.half_width?, estimate.mean + estimate.half_width?))
        };
        match self {
            Self::Settled(finding) => (None, *finding),
            // A few values that happen to be equal do not say that all are.
            Self::Differences(values)
                if values.len() < SETTLED && interval(values).is_some_and(|(_, low, high)| low >= high) =>
            {
                (Estimate::of(values, confidence), Finding::Open)
            }
            Self::Differences(values) => match interval(values) {
                Some((estimate, _, high)) if high <= 0.0 => (Some(estimate), Finding::Holds),
                Some((estimate, low, _)) if low > 0.0 => (Some(estimate), Finding::Fails),
                _ => (Estimate::of(values, confidence), Finding::Open),
            },
            Self::Deviations(values, tolerance) => match interval(values) {
                Some((estimate, low, high)) if -tolerance <= low && high <= *tolerance => {
                    (Some(estimate), Finding::Holds)
                }
                Some((estimate, low, high)) if high < -tolerance || *tolerance < low => {
                    (Some(estimate), Finding::Fails)
                }
                _ => (Estimate::of(values, confidence), Finding::Open),
            },
        }
    }
}

impl Comparison {
    /// Whether the difference is certainly not 0.
    fn strict(&self) -> bool {
        let below = |estimate: Estimate| estimate.half_width.is_some_and(|half| estimate.mean + half < 0.0);
        self.finding == Finding::Holds && self.difference.is_none_or(below)
    }
}

fn any(comparisons: &[Comparison], finding: Finding) -> bool {
    comparisons.iter().any(|comparison| comparison.finding == finding)
}

fn all(comparisons: &[Comparison], finding: Finding) -> bool {
    !comparisons.is_empty() && comparisons.iter().all(|comparison| comparison.finding == finding)
}

/// All hold, and each pair differs somewhere.
fn judge_order(groups: &[Vec<Comparison>]) -> Verdict {
    if groups.iter().any(|group| any(group, Finding::Fails)) {
        Verdict::NotReproduced
    } else if groups.iter().all(|group| all(group, Finding::Holds) && group.iter().any(Comparison::strict)) {
        Verdict::Reproduced
    } else if groups.iter().any(|group| all(group, Finding::Holds) && !group.iter().any(Comparison::strict)) {
        // The same everywhere.
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

/// Every series falls from somewhere.
fn judge_falls(groups: &[Vec<Comparison>]) -> Verdict {
    if groups.iter().all(|group| group.iter().any(Comparison::strict)) {
        Verdict::Reproduced
    } else if groups.iter().any(|group| {
        !group.is_empty()
            && group.iter().all(|c| c.finding == Finding::Fails || (c.finding == Finding::Holds && !c.strict()))
    }) {
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

/// All hold.
fn judge_values(groups: &[Vec<Comparison>]) -> Verdict {
    if groups.iter().any(|group| any(group, Finding::Fails)) {
        Verdict::NotReproduced
    } else if groups.iter().all(|group| all(group, Finding::Holds)) {
        Verdict::Reproduced
    } else {
        Verdict::Inconclusive
    }
}

/// A line for each group: how many of its comparisons say what, where it fails, and the least and the largest difference.
fn because(groups: &[Vec<Comparison>], unit: &str, falls: bool) -> String {
    let lines: Vec<String> =
        groups.iter().filter(|group| !group.is_empty()).map(|group| line(group, unit, falls)).collect();
    if lines.is_empty() { "what the claim compares is not in this sweep".to_owned() } else { lines.join("\n") }
}

fn line(group: &[Comparison], unit: &str, falls: bool) -> String {
    let first = &group[0];
    let same = group.iter().all(|comparison| comparison.against == first.against);
    let of = |finding| group.iter().filter(move |comparison| comparison.finding == finding);
    let count = |finding| of(finding).count();
    let mut line = first.series.clone();
    if falls {
        let _ = write!(line, " ends lower than it is at {} of {} points", count(Finding::Holds), group.len());
    } else {
        if same {
            let _ = write!(line, " against {}", first.against);
        }
        let _ = write!(line, ": holds at {} of {}", count(Finding::Holds), group.len());
        if count(Finding::Fails) > 0 {
            let mut places: Vec<&str> = of(Finding::Fails).map(|comparison| comparison.at.as_str()).collect();
            if places.len() > MOST_PLACES {
                places.truncate(MOST_PLACES);
                places.push("…");
            }
            let _ = write!(line, ", fails at {} ({})", count(Finding::Fails), places.join(", "));
        }
    }
    for (finding, word) in [(Finding::Open, "open"), (Finding::Missing, "nothing to compare")] {
        if count(finding) > 0 {
            let _ = write!(line, ", {word} at {}", count(finding));
        }
    }
    let place = |comparison: &Comparison| match (falls, same) {
        (true, _) => format!("from {}", comparison.against.trim_start_matches("at ")),
        (false, true) => format!("at {}", comparison.at),
        (false, false) => format!("from {} at {}", comparison.against, comparison.at),
    };
    let mean = |comparison: &&Comparison| comparison.difference.map_or(0.0, |difference| difference.mean);
    let measured = || group.iter().filter(|comparison| comparison.difference.is_some());
    let least = measured().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    let most = measured().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    if let (Some(least), Some(most)) = (least, most) {
        let _ = write!(line, "; difference {} {}", figure(least, unit), place(least));
        if group.len() > 1 {
            let _ = write!(line, " to {} {}", figure(most, unit), place(most));
        }
    }
    line
}

/// A difference with its interval.
fn figure(comparison: &Comparison, unit: &str) -> String {
    let Some(difference) = comparison.difference else { return String::new() };
    let half = difference.half_width.map_or_else(|| " (no interval)".to_owned(), |half| format!(" ± {}", short(half)));
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", unit.replace("us", "µs")) };
    let mean = short(difference.mean);
    let sign = if difference.mean > 0.0 && mean != "0" { "+" } else { "" };
    format!("{sign}{mean}{half}{unit}")
}

/// A number with four digits or so.
fn short(number: f64) -> String {
    let decimals = if number.abs() >= 1000.0 {
        0
    } else if number.abs() >= 10.0 {
        1
    } else {
        3
    };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Where a value is in a list, at its end if it was not there.
fn position<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;

    const SWEEP: &str = r#"
topology = "mesh:4x4"
traffic.arrivals = { process = "burst", sources = 1 }
plot.unit = "cycles"
[sweep]
algorithm = ["a", "b"]
"traffic.multicast.destinations" = [1, 2, 3, 4]
[[claim]]
id = "c"
text = "t"
"#;

    /// The verdict on a claim if the latency is `latency(series, x)` with noise of this size, half of it the same in all series.
    fn judged(test: &str, noise: f64, latency: impl Fn(&str, f64) -> Option<f64>) -> Part {
        let experiment = Experiment::parse("x.toml", &format!("{SWEEP}{test}\n"), &[]).unwrap();
        let points = experiment.points().unwrap();
        let runs: Vec<PointRuns> = points
            .iter()
            .map(|point| {
                let x = point.coordinates[1].value.as_f64().unwrap();
                let Some(latency) = latency(&point.spec.algorithm, x) else {
                    return PointRuns { outcome: Outcome::Saturated, runs: vec![run(1.0); 40] };
                };
                let own = |i: u32| f64::from((i * 7 + point.index as u32 * 3) % 5) - 2.0;
                let common = |i: u32| f64::from(i * 11 % 7) - 3.0;
                let runs = (0..40).map(|i| run(latency + noise * (own(i) + common(i)))).collect();
                PointRuns { outcome: Outcome::Precise, runs }
            })
            .collect();
        let mut verdicts = verdicts(&experiment, &points, &runs);
        assert_eq!((verdicts.len(), verdicts[0].evidence.len()), (1, 1));
        assert_eq!(verdicts[0].verdict, verdicts[0].evidence[0].verdict);
        verdicts.remove(0).evidence.remove(0)
    }

    /// 100 at first, rising by 10; `b` is higher by `gap`.
    fn parallel(gap: f64) -> impl Fn(&str, f64) -> Option<f64> {
        move |series, x| Some(100.0 + 10.0 * x + if series == "b" { gap } else { 0.0 })
    }

    const ORDER: &str = "order = { lower = ['a'], higher = ['b'] }";

    #[test]
    fn orders_that_hold_fail_or_stay_open() {
        assert_eq!(judged(ORDER, 0.1, parallel(10.0)).verdict, Verdict::Reproduced);
        let false_claim = judged(ORDER, 0.1, parallel(-10.0));
        assert_eq!(false_claim.verdict, Verdict::NotReproduced);
        assert!(
            false_claim.because.starts_with("a against b: holds at 0 of 4, fails at 4 (1, 2, 3, 4); difference +10 ± "),
            "{}",
            false_claim.because
        );
        assert_eq!(judged(ORDER, 10.0, parallel(1.0)).verdict, Verdict::Inconclusive);
        // Series that are the same everywhere are not lower.
        assert_eq!(judged(ORDER, 0.0, parallel(0.0)).verdict, Verdict::NotReproduced);
        // Equal in places is good enough.
        let meet = |series: &str, x: f64| parallel(if x < 2.0 { 0.0 } else { 5.0 })(series, x);
        assert_eq!(judged(ORDER, 0.0, meet).verdict, Verdict::Reproduced);
        // One point that is the other way round is enough to say no, unless the claim is about the average or other points.
        let cross = |series: &str, x: f64| parallel(if (1.5..2.5).contains(&x) { -5.0 } else { 10.0 })(series, x);
        assert_eq!(judged(ORDER, 0.1, cross).verdict, Verdict::NotReproduced);
        let average = "order = { lower = ['a'], higher = ['b'], scope = 'average' }";
        assert_eq!(judged(average, 0.1, cross).verdict, Verdict::Reproduced);
        assert_eq!(judged(&format!("from = 3\n{ORDER}"), 0.1, cross).verdict, Verdict::Reproduced);
    }

    #[test]
    fn orders_by_a_share() {
        let test = |by: f64| format!("order = {{ lower = ['a'], higher = ['b'], by = {by} }}");
        let halves = |series: &str, _: f64| Some(if series == "b" { 100.0 } else { 80.0 });
        assert_eq!(judged(&test(0.1), 0.1, halves).verdict, Verdict::Reproduced);
        assert_eq!(judged(&test(0.3), 0.1, halves).verdict, Verdict::NotReproduced);
        assert_eq!(judged(&test(-0.1), 0.1, parallel(-1.0)).verdict, Verdict::Reproduced);
    }

    #[test]
    fn staircases() {
        let steps = |series: &str, x: f64| Some(if series == "b" && x >= 3.0 { 200.0 } else { 100.0 + 25.0 * x });
        let test = "order = { lower = ['a'], higher = ['b'], rise = [[2, 3]] }";
        assert_eq!(judged(test, 0.1, steps).verdict, Verdict::Reproduced);
        let test = "order = { lower = ['a'], higher = ['b'], rise = [[2, 3], [3, 4]] }";
        assert_eq!(judged(test, 0.1, steps).verdict, Verdict::NotReproduced);
    }

    #[test]
    fn falls_somewhere() {
        let test = "falls = { series = ['a'] }";
        let hill = |_: &str, x: f64| Some(if (2.5..3.5).contains(&x) { 150.0 } else { 100.0 + x });
        assert_eq!(judged(test, 0.1, hill).verdict, Verdict::Reproduced);
        assert_eq!(judged(test, 0.1, parallel(0.0)).verdict, Verdict::NotReproduced);
        assert_eq!(judged(test, 100.0, hill).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn values() {
        let exact = |series: &str, x: f64| Some(if series == "a" { x } else { 9.0 });
        assert_eq!(judged("values = { of = { a = [1, 2, nan, 4] } }", 0.0, exact).verdict, Verdict::Reproduced);
        let part = judged("values = { of = { a = [1, 2, 3, 5], b = [9, 9, 9, 9] } }", 0.0, exact);
        assert_eq!(part.verdict, Verdict::NotReproduced);
        assert_eq!(part.comparisons.iter().filter(|c| c.finding == Finding::Fails).count(), 1);
        assert_eq!(judged("values = { of = { a = [1, 2, 3, 4] } }", 0.1, exact).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn saturation_is_latency_without_bound() {
        let saturates = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| series == "a" || x < 4.0);
        assert_eq!(judged(ORDER, 0.1, saturates).verdict, Verdict::Reproduced);
        let saturates = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| series == "b" || x < 4.0);
        assert_eq!(judged(ORDER, 0.1, saturates).verdict, Verdict::NotReproduced);
        let both = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| x < 4.0);
        let part = judged(ORDER, 0.1, both);
        assert_eq!(part.verdict, Verdict::Inconclusive);
        assert_eq!(part.comparisons[3].finding, Finding::Missing);
    }

    #[test]
    fn with_more_comparisons_each_has_a_wider_interval() {
        let one = judged("to = 1\norder = { lower = ['a'], higher = ['b'] }", 1.0, parallel(0.0));
        let four = judged(ORDER, 1.0, parallel(0.0));
        assert!((one.confidence - 0.95).abs() < 1e-12 && (four.confidence - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
        let width = |part: &Part| part.comparisons[0].difference.unwrap().half_width.unwrap();
        assert!(width(&four) > width(&one));
    }

    /// Claims that are true of pure noise, 500 times: not reproduced no more often than the confidence allows.
    #[test]
    fn noise_seldom_contradicts_a_claim() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        let wrong = (0..500).filter(|_| {
            let differences: Vec<Evidence> =
                (0..4).map(|_| Evidence::Differences((0..20).map(|_| noise() + noise()).collect())).collect();
            let confidence = 1.0 - 0.05 / 4.0;
            differences.iter().any(|evidence| evidence.finding(confidence).1 == Finding::Fails)
        });
        // Half of the errors are on this side: 2.5% expected, 3.9% three standard deviations above.
        assert!(wrong.count() <= 23);
    }

    #[test]
    fn a_few_equal_differences_settle_nothing() {
        let finding = |values: Vec<f64>| Evidence::Differences(values).finding(0.95).1;
        assert_eq!(finding(vec![-1.0; 4]), Finding::Open);
        assert_eq!(finding(vec![1.0; 4]), Finding::Open);
        assert_eq!(finding(vec![-1.0; 30]), Finding::Holds);
        assert_eq!(finding(vec![1.0; 30]), Finding::Fails);
    }

    #[test]
    fn parts_of_one_claim_make_one_verdict() {
        let more = "order = { lower = ['a'], higher = ['b'] }\n[[claim]]\nid = 'c'\ntext = 'u'\norder = { lower = ['b'], higher = ['a'] }";
        let experiment = Experiment::parse("x.toml", &format!("{SWEEP}{more}\n"), &[]).unwrap();
        let points = experiment.points().unwrap();
        let latency = |point: &Point| if point.spec.algorithm == "a" { 1.0 } else { 2.0 };
        let runs = |point: &Point| PointRuns { outcome: Outcome::Precise, runs: vec![run(latency(point)); 40] };
        let runs: Vec<PointRuns> = points.iter().map(runs).collect();
        let verdicts = verdicts(&experiment, &points, &runs);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].verdict, Verdict::NotReproduced);
        assert_eq!(
            verdicts[0].evidence.iter().map(|p| p.verdict).collect::<Vec<_>>(),
            [Verdict::Reproduced, Verdict::NotReproduced]
        );
        let json = serde_json::to_value(&verdicts).unwrap();
        assert_eq!(json[0]["verdict"], "not reproduced");
    }

    #[test]
    fn bad_claims_are_pointed_at() {
        for (test, at, message) in [
            ("", "\"c\"", "claim `c` needs one test"),
            (
                "order = { lower = ['a'], higher = ['b'] }\nfalls = { series = ['a'] }",
                "\"c\"",
                "claim `c` needs one test",
            ),
            (
                "order = { lower = ['aa'], higher = ['b'] }",
                "['aa']",
                "`aa` is no value of `algorithm` in this sweep: expected one of a, b",
            ),
            ("order = { lower = [], higher = ['b'] }", "[]", "expected at least one series"),
            ("order = { lower = ['a'], higher = ['b'], by = 2 }", "2", "expected a share below 1"),
            (
                "order = { lower = ['a'], higher = ['b'], rise = [[1, 9]] }",
                "[[1, 9]]",
                "9 is no value of `traffic.multicast.destinations`",
            ),
            (
                "from = 7\nfalls = { series = ['a'] }",
                "7",
                "no value of `traffic.multicast.destinations` lies in the range",
            ),
            (
                "values = { of = { a = [1] } }",
                "[1]",
                "expected 4 values, one for each of `traffic.multicast.destinations`, and found 1",
            ),
            ("values = { of = { a = [1, 2, 3, 4] }, tolerance = -1 }", "-1", "expected a number that is not negative"),
            ("oder = 1", "oder", "unknown setting `oder`"),
        ] {
            let error = Experiment::parse("x.toml", &format!("{SWEEP}{test}\n"), &[]).expect_err(test);
            assert_eq!(error.span_text(), Some(at), "{test}: {error}");
            assert!(error.message().starts_with(message), "{error}");
        }
    }
}
