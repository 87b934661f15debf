//! The runs of a comparison: those that its points lack, and those that decide it within a budget.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::ops::Range;

use super::{Arena, ComparedPoint, Crossing, SeriesComparison, Settings, State, places};
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::file::Stop;
use crate::experiment::point::{Coordinate, Point};
use crate::runs::refine::{Gap, NARROW, outermost};
use crate::runs::run::{RunError, run_points_until};
use crate::runs::stopping::Outcome;
use crate::runs::sweep::{Budget, Lengthened, PointRuns, SweepObserver};
use crate::statistics::Estimate;
use crate::store::Store;
use crate::verdict::SETTLED;

/// The points that are compared, with as many replications of each series as the one with most has.
pub(super) struct Measured {
    pub(super) points: Vec<Point>,
    pub(super) runs: Vec<PointRuns>,
}

/// Runs what is compared.
pub(super) struct Work<'w> {
    pub(super) settings: &'w Settings,
    pub(super) jobs: NonZeroUsize,
    pub(super) store: &'w mut Store,
    pub(super) observer: &'w mut dyn SweepObserver,
}

/// Replications asked for at points, by what these have in common for all series.
pub(super) type Replications = HashMap<String, usize>;

/// Gaps beside the ends of a crossing that are left: two of these, around a value at which nothing can be decided, are as wide as a crossing may be.
const NARROW_GAP: f64 = NARROW / 2.0;

/// Pairs of replications from which it is estimated how many a decision takes: fewer say too little of the difference.
const PILOT: u64 = 10;

/// What may decide something.
struct Step {
    /// Replications that it adds.
    price: u64,
    /// Replications that the decision takes in all, as far as can be told.
    whole: u64,
    what: Addition,
}

/// What a step adds.
enum Addition {
    /// A further value of the horizontal axis.
    Value(Box<Experiment>),
    /// Further replications at a point.
    Replications(String, usize),
}

/// How far a comparison got with its budget.
pub(super) struct Decided {
    /// Whether nothing is left to decide.
    pub(super) done: bool,
    /// Replications that would decide the rest, as far as can be told.
    pub(super) needed: Option<u64>,
}

impl Work<'_> {
    /// Runs all points of an experiment that are compared; `None` if the budget does not last.
    pub(super) fn measured(
        &mut self,
        experiment: &Experiment,
        left: &mut Budget,
        replications: &Replications,
    ) -> Result<Option<Measured>, RunError> {
        let Settings { key, field, .. } = self.settings;
        let compared = |point: &Point| point.coordinate(key).is_some_and(|name| field.series.contains(&name.text()));
        let points: Vec<Point> = experiment.points()?.into_iter().filter(compared).collect();
        let runs =
            run_points_until(left, experiment, &points, experiment.stop(), self.jobs, self.store, self.observer)?;
        if runs.iter().any(|of_point| of_point.outcome == Outcome::Incomplete) {
            return Ok(None);
        }
        self.evened(experiment, Measured { points, runs }, left, replications)
    }

    /// Runs further replications, so that all series of a point have as many as the one with most, or as are asked for; those that
    /// are saturated or deadlocked have nothing to pair. How points ended stays as it was: only a deadlock that turns up counts.
    fn evened(
        &mut self,
        experiment: &Experiment,
        Measured { points, mut runs }: Measured,
        left: &mut Budget,
        replications: &Replications,
    ) -> Result<Option<Measured>, RunError> {
        let mut most = replications.clone();
        for (point, of_point) in points.iter().zip(&runs).filter(|(_, of_point)| has_mean(of_point)) {
            let most = most.entry(beside(point, &self.settings.key)).or_default();
            *most = of_point.runs.len().max(*most);
        }
        let mut lacking: Vec<(usize, usize)> = Vec::new();
        for (index, (point, of_point)) in points.iter().zip(&runs).enumerate().filter(|(_, (_, runs))| has_mean(runs)) {
            let target = most[&beside(point, &self.settings.key)];
            if of_point.runs.len() < target {
                lacking.push((target, index));
            }
        }
        lacking.sort_unstable();
        for group in lacking.chunk_by(|a, b| a.0 == b.0) {
            let count = group[0].0 as u32;
            let stop = Stop { min_replications: count, max_replications: Some(count), ..experiment.stop().clone() };
            // With the windows that they have: as many replications as these leave no room for longer ones.
            let of_group = |&(_, index): &(usize, usize)| {
                let mut point = points[index].clone();
                if let Some(Lengthened { messages, doubled }) = runs[index].lengthened {
                    (point.spec.run.messages, point.doubled) = (Some(messages), doubled);
                }
                point
            };
            let of_group: Vec<Point> = group.iter().map(of_group).collect();
            let further = run_points_until(left, experiment, &of_group, &stop, self.jobs, self.store, self.observer)?;
            for (&(_, index), further) in group.iter().zip(further) {
                let PointRuns { outcome, lengthened, .. } = runs[index];
                let outcome = match further.outcome {
                    Outcome::Incomplete => return Ok(None),
                    Outcome::Deadlocked => Outcome::Deadlocked,
                    _ => outcome,
                };
                runs[index] = PointRuns { outcome, runs: further.runs, lengthened };
            }
        }
        Ok(Some(Measured { points, runs }))
    }

    /// Adds what decides while the budget lasts, the decision first that takes the fewest replications in all. Those of a point are
    /// added in rounds that at most double them, since the estimate of how many it takes is only as good as the replications it is from.
    pub(super) fn decide(
        &mut self,
        experiment: &mut Experiment,
        measured: &mut Measured,
        left: &mut Budget,
        replications: &mut Replications,
    ) -> Result<Decided, RunError> {
        let mut own = None;
        loop {
            let (comparison, arenas) = self.settings.ranked(experiment, &measured.points, &measured.runs);
            let own = match &own {
                Some(own) => own,
                None => own.insert(places(experiment, comparison.along.as_deref())?),
            };
            let ranking = Ranking { settings: self.settings, comparison: &comparison, arenas: &arenas, measured };
            let (mut steps, needed) = ranking.steps(experiment, own);
            if steps.is_empty() {
                return Ok(Decided { done: true, needed: None });
            }
            steps.sort_by_key(|step| step.whole);
            let Some(step) = steps.into_iter().find(|step| step.price <= left.left()) else {
                return Ok(Decided { done: false, needed });
            };
            let (next, asked) = match step.what {
                Addition::Value(next) => (*next, replications.clone()),
                Addition::Replications(point, count) => {
                    let mut asked = replications.clone();
                    asked.insert(point, count);
                    (experiment.clone(), asked)
                }
            };
            // What it took counts, even if it did not suffice.
            let Some(more) = self.measured(&next, left, &asked)? else { return Ok(Decided { done: false, needed }) };
            (*experiment, *measured, *replications) = (next, more, asked);
        }
    }
}

/// What is known so far, and with which certainty.
struct Ranking<'r> {
    settings: &'r Settings,
    comparison: &'r SeriesComparison,
    /// By point of the comparison.
    arenas: &'r [Arena],
    measured: &'r Measured,
}

impl Ranking<'_> {
    /// What would decide something, if differences and their variances stay what they are, and the replications that all of it takes as far as can be told.
    fn steps(&self, experiment: &Experiment, own: &BTreeSet<String>) -> (Vec<Step>, Option<u64>) {
        let mut steps = Vec::new();
        // By point, or by crossing if a value is to come; differences that happen to be 0 say nothing of how many it takes.
        let mut needed: BTreeMap<(usize, bool), u64> = BTreeMap::new();
        let mut need = |of: usize, is_value: bool, step: &Step| {
            let needed = needed.entry((of, is_value)).or_default();
            *needed = step.whole.max(*needed);
        };
        let is_wide = |crossing: &Crossing| Gap { from: crossing.from, to: crossing.to }.width() > NARROW;
        for (number, crossing) in self.comparison.crossings.iter().enumerate().filter(|(_, one)| is_wide(one)) {
            let (mut xs, within) = self.within(crossing);
            xs.insert(0, crossing.from);
            xs.push(crossing.to);
            let gap = outermost(&xs, crossing.from, crossing.to).filter(|gap| gap.width() > NARROW_GAP);
            let next = gap.zip(self.comparison.along.as_ref());
            let next = next.and_then(|(gap, along)| Some(self.value(experiment.with_value(along, gap.middle())?.0)));
            let costs: Vec<Option<u64>> = within.iter().map(|&point| self.to_order(point, &crossing.between)).collect();
            let open = left_open(&xs, &costs).unwrap_or(0..0);
            for (k, &point) in within.iter().enumerate().filter(|(k, _)| !open.contains(k)) {
                if let Some(step) = costs[k].and_then(|cost| self.replications(point, cost)) {
                    // Where a value is to come, it may spare them.
                    if next.is_none() {
                        need(point, false, &step);
                    }
                    steps.push(step);
                }
            }
            if let Some(next) = next {
                need(number, true, &next);
                steps.push(next);
            }
        }
        for (index, point) in self.comparison.points.iter().enumerate().filter(|(_, point)| own.contains(&point.at)) {
            if let Some(step) = to_best(point).and_then(|cost| self.replications(index, cost)) {
                need(index, false, &step);
                steps.push(step);
            }
        }
        let needed = needed.into_values().try_fold(0u64, u64::checked_add);
        (steps, needed)
    }

    /// The values between the ends of a crossing, in order, and the points there.
    fn within(&self, crossing: &Crossing) -> (Vec<f64>, Vec<usize>) {
        let at = |(index, point): (usize, &ComparedPoint)| {
            let x = point.at.parse().ok().filter(|_| point.of == crossing.of)?;
            (crossing.from < x && x < crossing.to).then_some((x, index))
        };
        let mut within: Vec<(f64, usize)> = self.comparison.points.iter().enumerate().filter_map(at).collect();
        within.sort_by(|a, b| a.0.total_cmp(&b.0));
        within.into_iter().unzip()
    }

    /// A further value of the horizontal axis.
    fn value(&self, next: Experiment) -> Step {
        let contexts = self.comparison.points.iter().map(|point| &point.of).collect::<BTreeSet<_>>().len();
        let curves = (contexts * self.comparison.series.len()) as u64;
        let price = curves * u64::from(next.stop().min_replications);
        Step { price, whole: price, what: Addition::Value(Box::new(next)) }
    }

    /// Replications that it lacks to be certain which of two series is the better one; `None` if nothing decides between them.
    fn to_order(&self, point: usize, between: &[String; 2]) -> Option<u64> {
        let [a, b] = between.each_ref().map(|name| self.settings.field.series.iter().position(|one| one == name));
        lacking(&self.arenas[point].difference(a?, b?)?)
    }

    /// The next round of the replications that a decision lacks at a point.
    fn replications(&self, point: usize, lacking: u64) -> Option<Step> {
        let (comparison, point) = (self.comparison, &self.comparison.points[point]);
        let with_mean = self.measured.points.iter().zip(&self.measured.runs).filter(|(_, runs)| has_mean(runs));
        let at = with_mean.filter(|(candidate, _)| {
            let place = comparison.along.as_ref().and_then(|along| candidate.coordinate(along));
            place.is_none_or(|place| place.text() == point.at)
                && of(candidate, &self.settings.key, comparison) == point.of
        });
        let at: Vec<(&Point, &PointRuns)> = at.collect();
        let label = beside(at.first()?.0, &self.settings.key);
        let there = at.iter().map(|(_, runs)| runs.runs.len() as u64).max()?;
        let next = next_round(lacking, there);
        let price_of = |more: u64| {
            let of_each = at.iter().map(|(_, runs)| (there - runs.runs.len() as u64).saturating_add(more));
            of_each.fold(0, u64::saturating_add)
        };
        let what = Addition::Replications(label, usize::try_from(there + next).ok()?);
        Some(Step { price: price_of(next), whole: price_of(lacking), what })
    }
}

/// Replications that a point lacks to be certain which series is the best; `None` if nothing is open, or nothing decides.
fn to_best(point: &ComparedPoint) -> Option<u64> {
    if point.best.is_some() || point.contenders.len() < 2 {
        return None;
    }
    let others = point.standings.iter().filter(|standing| {
        matches!(standing.state, State::Measured | State::Unsettled)
            && standing.relation.is_none()
            && point.contenders.contains(&standing.series)
    });
    others.filter_map(|standing| lacking(&standing.difference?)).max()
}

/// How many more pairs it takes until a difference is certain, if it and its variance stay what they are; `None` if nothing decides: between
/// series that are equal in all pairs.
fn lacking(difference: &Estimate) -> Option<u64> {
    let (pairs, mean) = (f64::from(difference.count), difference.mean.abs());
    // Too few for an interval.
    let Some(half) = difference.half_width else { return Some(u64::from(difference.count).max(1)) };
    if half > 0.0 {
        return Some((pairs * ((half / mean).powi(2) * 1.1 - 1.0)).ceil().max(1.0) as u64);
    }
    // Differences that are all equal are certain from some number on, but for none.
    (mean > 0.0).then(|| (SETTLED as u64).saturating_sub(difference.count.into()).max(1))
}

/// Which of the values in an interval may stay open so that to decide the others, for so many replications each, narrows it to 2%, and takes the
/// fewest replications in all; `None` if deciding all of them does not. `xs` has the ends besides. O(values^3).
fn left_open(xs: &[f64], costs: &[Option<u64>]) -> Option<Range<usize>> {
    let ends = (0..xs.len()).flat_map(|from| (from + 1..xs.len()).map(move |to| (from, to)));
    let narrow = ends.filter(|&(from, to)| Gap { from: xs[from], to: xs[to] }.width() <= NARROW);
    let decided = narrow.filter_map(|(from, to)| {
        let others = costs[..from].iter().chain(&costs[to - 1..]);
        let cost = others.copied().try_fold(0u64, |sum, cost| Some(sum.saturating_add(cost?)))?;
        Some((cost, from..to - 1))
    });
    decided.min_by_key(|(cost, _)| *cost).map(|(_, open)| open)
}

/// How many replications the next round adds to those that are there, where a decision seems to lack so many: at most as many again,
/// but at least a pilot's. Never none, which would come again and again.
fn next_round(lacking: u64, there: u64) -> u64 {
    lacking.min(there.max(PILOT.saturating_sub(there))).max(1)
}

/// Whether a point has a mean: what is saturated or deadlocked has nothing to pair.
fn has_mean(of_point: &PointRuns) -> bool {
    matches!(of_point.outcome, Outcome::Precise | Outcome::Exhausted | Outcome::Unsettled)
}

/// What a point has in common with those of the other series.
fn beside(point: &Point, series: &str) -> String {
    let others = point.coordinates.iter().filter(|coordinate| coordinate.key != series);
    others.map(|coordinate| format!("{}={}", coordinate.key, coordinate.text())).collect::<Vec<_>>().join(" ")
}

/// The other settings that are swept, as comparisons call them.
fn of(point: &Point, series: &str, comparison: &SeriesComparison) -> String {
    let others = point.coordinates.iter().filter(|c| c.key != series && Some(&c.key) != comparison.along.as_ref());
    others.map(Coordinate::tag).collect::<Vec<_>>().join(", ")
}

/// What cannot happen: a budget without a limit that does not last.
pub(super) fn unlimited(experiment: &Experiment) -> Diagnostic {
    Diagnostic::file(experiment.path(), "some points have no result".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{left_open, next_round};

    #[test]
    fn what_is_cheap_to_decide_narrows_an_interval() {
        let xs = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05];
        let costs = [10, 40, 1000, 30].map(Some);
        assert_eq!(left_open(&xs, &costs), Some(2..3), "1.02 to 1.04");
        assert_eq!(left_open(&xs, &[Some(10), None, Some(5), Some(5)]), Some(1..2));
        assert_eq!(left_open(&xs, &[None, Some(10), Some(10), None]), None, "nothing decides at either end");
        assert_eq!(left_open(&[1.0, 1.5, 2.0], &[Some(3)]), None, "one decision leaves a half");
        assert_eq!(left_open(&[1.0, 1.01], &[]), Some(0..0));
    }

    #[test]
    fn rounds_at_most_double_what_is_there() {
        let rounds = |there| [1, 5, 12, 10_000].map(|lacking| next_round(lacking, there));
        assert_eq!(rounds(3), [1, 5, 7, 7], "a pilot first");
        assert_eq!(rounds(10), [1, 5, 10, 10]);
        assert_eq!(rounds(40), [1, 5, 12, 40]);
        assert_eq!(next_round(0, 10), 1);
    }
}
