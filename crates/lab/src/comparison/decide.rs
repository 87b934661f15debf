//! The runs of a comparison: those that its points lack, and those that decide it within a budget.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;

use super::{ComparedPoint, SeriesComparison, Settings, State};
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::file::Stop;
use crate::experiment::point::{Coordinate, Point};
use crate::runs::refine::{Gap, NARROW, widest};
use crate::runs::run::{RunError, run_points_until};
use crate::runs::stopping::Outcome;
use crate::runs::sweep::{Budget, Lengthened, PointRuns, SweepObserver};
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
        loop {
            let comparison = self.settings.compare(experiment, &measured.points, &measured.runs);
            let mut steps = Self::values(experiment, &comparison);
            steps.extend(self.open(&comparison, measured));
            steps.sort_by_key(|step| step.whole);
            if steps.is_empty() {
                return Ok(Decided { done: true, needed: None });
            }
            // Differences that happen to be 0 say nothing of how many it takes.
            let needed = steps.iter().try_fold(0u64, |sum, step| sum.checked_add(step.whole));
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

    /// Values of the horizontal axis that would halve the intervals in which series change places.
    fn values(experiment: &Experiment, comparison: &SeriesComparison) -> Vec<Step> {
        let Some(along) = &comparison.along else { return Vec::new() };
        let at = comparison.points.iter().filter_map(|point| point.at.parse().ok());
        let mut xs: Vec<f64> = at.collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let contexts = comparison.points.iter().map(|point| &point.of).collect::<BTreeSet<_>>().len();
        let curves = (contexts * comparison.series.len()) as u64;
        let wide = comparison.crossings.iter().filter(|one| Gap { from: one.from, to: one.to }.width() > NARROW);
        let gaps = wide.filter_map(|crossing| widest(&xs, crossing.from, crossing.to));
        let values = gaps.filter_map(|gap| Some(experiment.with_value(along, gap.middle())?.0));
        let price = curves * u64::from(experiment.stop().min_replications);
        values.map(|next| Step { price, whole: price, what: Addition::Value(Box::new(next)) }).collect()
    }

    /// Replications towards what would decide open points, if differences and their variances stay what they are.
    fn open(&self, comparison: &SeriesComparison, measured: &Measured) -> Vec<Step> {
        let open = comparison.points.iter().filter(|point| point.best.is_none() && point.contenders.len() > 1);
        let step = |point: &ComparedPoint| {
            let others = point.standings.iter().filter(|standing| {
                matches!(standing.state, State::Measured | State::Unsettled)
                    && standing.relation.is_none()
                    && point.contenders.contains(&standing.series)
            });
            let lacking = others.filter_map(|standing| {
                let difference = standing.difference?;
                let (pairs, mean) = (f64::from(difference.count), difference.mean.abs());
                // Too few for an interval.
                let Some(half) = difference.half_width else { return Some(u64::from(difference.count).max(1)) };
                if half > 0.0 {
                    return Some((pairs * ((half / mean).powi(2) * 1.1 - 1.0)).ceil().max(1.0) as u64);
                }
                // Differences that are all equal are certain from some number on, but for none: nothing decides between series that are equal in all pairs.
                (mean > 0.0).then(|| (SETTLED as u64).saturating_sub(difference.count.into()).max(1))
            });
            let lacking = lacking.max()?;
            let with_mean = measured.points.iter().zip(&measured.runs).filter(|(_, runs)| has_mean(runs));
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
        };
        open.filter_map(step).collect()
    }
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
    use super::next_round;

    #[test]
    fn rounds_at_most_double_what_is_there() {
        let rounds = |there| [1, 5, 12, 10_000].map(|lacking| next_round(lacking, there));
        assert_eq!(rounds(3), [1, 5, 7, 7], "a pilot first");
        assert_eq!(rounds(10), [1, 5, 10, 10]);
        assert_eq!(rounds(40), [1, 5, 12, 40]);
        assert_eq!(next_round(0, 10), 1);
    }
}
