//! The runs of a comparison: those that its points lack, and those that decide it within a budget.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;

use super::{Arena, ComparedPoint, Crossing, SeriesComparison, Settings, Standing, State, places};
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::file::Stop;
use crate::experiment::point::{Coordinate, Point};
use crate::runs::refine::{Gap, NARROW};
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

/// No value is added in gaps this narrow: two of them, around a value that stays open, are as wide as a crossing may be.
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
    /// Whether something is left, and nothing that could be added decides it.
    pub(super) stuck: bool,
    /// What would decide the rest, if something would and as far as can be told.
    pub(super) needed: Option<Needed>,
}

/// An estimate of the replications that decide what is left.
#[derive(Clone, Copy)]
pub(super) struct Needed {
    pub(super) replications: u64,
    /// Whether it is the least: what further values take besides cannot be told.
    pub(super) at_least: bool,
}

/// Two series that change places, with the other settings there.
type Pair = (String, [String; 2]);

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
        let (first, _) = self.settings.ranked(experiment, &measured.points, &measured.runs);
        let own = places(experiment, first.along.as_deref())?;
        let pairs: BTreeSet<Pair> =
            first.crossings.into_iter().map(|crossing| (crossing.of, crossing.between)).collect();
        // Points at which further replications come to nothing.
        let mut stuck: BTreeSet<String> = BTreeSet::new();
        loop {
            let (comparison, arenas) = self.settings.ranked(experiment, &measured.points, &measured.runs);
            let ranking =
                Ranking { settings: self.settings, comparison: &comparison, arenas: &arenas, measured, stuck: &stuck };
            let (mut steps, needed) = ranking.steps(experiment, &own, &pairs);
            if steps.is_empty() {
                let done = ranking.is_decided(&own, &pairs);
                return Ok(Decided { done, stuck: !done, needed: None });
            }
            steps.sort_by_key(|step| step.whole);
            let unfinished = Decided { done: false, stuck: false, needed };
            let step = steps.into_iter().find(|step| step.price <= left.left());
            let Some(step) = step.filter(|_| !left.is_stopped()) else { return Ok(unfinished) };
            let (next, asked, point) = match step.what {
                Addition::Value(next) => (*next, replications.clone(), None),
                Addition::Replications(point, count) => {
                    let mut asked = replications.clone();
                    asked.insert(point.clone(), count);
                    (experiment.clone(), asked, Some(point))
                }
            };
            // What it took counts, even if it did not suffice.
            let Some(more) = self.measured(&next, left, &asked)? else { return Ok(unfinished) };
            // Where messages pile up, more replications may be given up.
            if let Some(point) = point.filter(|point| self.pairs_at(&more, point) <= self.pairs_at(measured, point)) {
                stuck.insert(point);
            }
            (*experiment, *measured, *replications) = (next, more, asked);
        }
    }

    /// The replications that all series of a point have which have a mean.
    fn pairs_at(&self, measured: &Measured, point: &str) -> usize {
        let with_mean = measured.points.iter().zip(&measured.runs).filter(|(_, runs)| has_mean(runs));
        let there = with_mean.filter(|(candidate, _)| beside(candidate, &self.settings.key) == point);
        there.map(|(_, runs)| runs.runs.len()).min().unwrap_or(0)
    }
}

/// What is known so far, and with which certainty.
struct Ranking<'r> {
    settings: &'r Settings,
    comparison: &'r SeriesComparison,
    /// By point of the comparison.
    arenas: &'r [Arena],
    measured: &'r Measured,
    /// Points at which further replications come to nothing.
    stuck: &'r BTreeSet<String>,
}

impl Ranking<'_> {
    /// The possible next steps, and an estimate of the replications that all decisions together need. `pairs` changed places before values were added.
    fn steps(
        &self,
        experiment: &Experiment,
        own: &BTreeSet<String>,
        pairs: &BTreeSet<Pair>,
    ) -> (Vec<Step>, Option<Needed>) {
        let mut steps = Vec::new();
        // By the value to be added, or by point. A difference that happens to be 0 says nothing about the number needed.
        let mut by_value: BTreeMap<u64, u64> = BTreeMap::new();
        let mut by_point: BTreeMap<usize, u64> = BTreeMap::new();
        let wide = self.comparison.crossings.iter().filter(|crossing| interval(crossing).width() > NARROW);
        for crossing in wide {
            let (xs, within) = self.within(crossing);
            let mut is_narrowed = false;
            for gap in interval(crossing).outermost(&xs) {
                let share = gap.share_of(interval(crossing));
                let along = self.comparison.along.as_deref().filter(|_| share > NARROW_GAP);
                if let Some((next, value)) = along.and_then(|along| experiment.with_value(along, gap.middle())) {
                    let step = self.value(next);
                    // Each halves the gap.
                    let halvings = (share / NARROW_GAP).log2().ceil().max(1.0) as u64;
                    raise(&mut by_value, value.to_bits(), step.whole.saturating_mul(halvings));
                    steps.push(step);
                    is_narrowed = true;
                }
            }
            // The cheapest are the furthest from where the curves cross, mostly; once they are decided, there is room for values next to them.
            let open = within.iter().filter_map(|&point| {
                Some((point, self.replications(point, self.to_order(point, &crossing.between)?)?))
            });
            let mut open: Vec<(usize, Step)> = open.collect();
            open.sort_by_key(|(_, step)| step.whole);
            // The most expensive one may stay open, and values that are to come may spare others.
            let needed = if is_narrowed { 0 } else { open.len().saturating_sub(1).max(1) };
            open.iter().take(needed).for_each(|(point, step)| raise(&mut by_point, *point, step.whole));
            steps.extend(open.into_iter().map(|(_, step)| step));
        }
        let own_points = || self.comparison.points.iter().enumerate().filter(|(_, point)| own.contains(&point.at));
        // More comparisons have wider intervals: what was certain of the ends may no longer be.
        let lost = pairs.iter().filter(|(of, between)| self.is_lost(of, between)).flat_map(|(of, between)| {
            own_points()
                .filter(move |(_, point)| point.of == *of)
                .filter_map(move |(index, _)| Some((index, self.to_order(index, between)?)))
        });
        let best = own_points().filter_map(|(index, point)| Some((index, to_best(point)?)));
        for (point, lacking) in lost.chain(best) {
            let Some(step) = self.replications(point, lacking) else { continue };
            raise(&mut by_point, point, step.whole);
            steps.push(step);
        }
        let at_least = !by_value.is_empty();
        let replications = by_value.into_values().chain(by_point.into_values()).try_fold(0u64, u64::checked_add);
        (steps, replications.map(|replications| Needed { replications, at_least }))
    }

    /// Whether it is certain where series change places, to 2%, and which one is best at each of the experiment's own points, unless they are equal in
    /// all pairs.
    fn is_decided(&self, own: &BTreeSet<String>, pairs: &BTreeSet<Pair>) -> bool {
        let SeriesComparison { points, crossings, .. } = self.comparison;
        crossings.iter().all(|crossing| interval(crossing).width() <= NARROW)
            && points.iter().filter(|point| own.contains(&point.at)).all(is_decided)
            && !pairs.iter().any(|(of, between)| self.is_lost(of, between))
    }

    /// Whether two series no longer change places for certain.
    fn is_lost(&self, of: &str, between: &[String; 2]) -> bool {
        let is_same =
            |crossing: &Crossing| crossing.of == of && between.iter().all(|name| crossing.between.contains(name));
        !self.comparison.crossings.iter().any(is_same)
    }

    /// The values from one end of a crossing to the other, in order, and the points between these.
    fn within(&self, crossing: &Crossing) -> (Vec<f64>, Vec<usize>) {
        let at = |(index, point): (usize, &ComparedPoint)| {
            let x = point.at.parse().ok().filter(|_| point.of == crossing.of)?;
            (crossing.from < x && x < crossing.to).then_some((x, index))
        };
        let (mut xs, within): (Vec<f64>, Vec<usize>) = self.comparison.points.iter().enumerate().filter_map(at).unzip();
        xs.extend([crossing.from, crossing.to]);
        xs.sort_by(f64::total_cmp);
        (xs, within)
    }

    /// A further value of the horizontal axis.
    fn value(&self, next: Experiment) -> Step {
        let contexts = self.comparison.points.iter().map(|point| &point.of).collect::<BTreeSet<_>>().len();
        let curves = (contexts * self.comparison.series.len()) as u64;
        let price = curves * u64::from(next.stop().min_replications);
        Step { price, whole: price, what: Addition::Value(Box::new(next)) }
    }

    /// How many more pairs make it certain which of two series is better at a point; `None` if it is, or if none do.
    fn to_order(&self, point: usize, between: &[String; 2]) -> Option<u64> {
        let number = |name: &String| self.settings.field.series.iter().position(|one| one == name);
        let (a, b, arena) = (number(&between[0])?, number(&between[1])?, &self.arenas[point]);
        lacking(&arena.difference(a, b).filter(|_| arena.compared(a, b).is_none())?)
    }

    /// The next round of the replications that a decision lacks at a point; `None` if they come to nothing.
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
        if self.stuck.contains(&label) {
            return None;
        }
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

/// Counts what several decisions need in common once: as much as the one that needs most.
fn raise<K: Ord>(needed: &mut BTreeMap<K, u64>, of: K, replications: u64) {
    let needed = needed.entry(of).or_default();
    *needed = replications.max(*needed);
}

/// Where two series change places.
fn interval(crossing: &Crossing) -> Gap {
    Gap { from: crossing.from, to: crossing.to }
}

/// The contenders of which it is open whether they are better than the one that they are compared with.
fn undecided(point: &ComparedPoint) -> impl Iterator<Item = &Standing> {
    point.standings.iter().filter(|standing| {
        matches!(standing.state, State::Measured | State::Unsettled)
            && standing.relation.is_none()
            && point.reference.as_ref() != Some(&standing.series)
            && point.contenders.contains(&standing.series)
    })
}

/// How many more pairs make it certain which series is the best; `None` if nothing is open, or none do.
fn to_best(point: &ComparedPoint) -> Option<u64> {
    let open = undecided(point).filter(|_| point.best.is_none());
    open.filter_map(|standing| lacking(&standing.difference?)).max()
}

/// Whether it is certain which series is the best, or that no number of pairs tells.
fn is_decided(point: &ComparedPoint) -> bool {
    let is_equal = |difference: &Estimate| difference.mean == 0.0 && difference.half_width == Some(0.0);
    let has_results = point.standings.iter().all(|standing| standing.state != State::NoResult);
    point.best.is_some()
        || has_results && undecided(point).all(|standing| standing.difference.as_ref().is_some_and(is_equal))
}

/// How many more pairs make a difference certain, if mean and variance stay as they are; `None` for series that are equal in all pairs.
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
    use super::*;
    use crate::comparison::Field;
    use crate::statistics::quantity::Quantity;

    #[test]
    fn rounds_at_most_double_what_is_there() {
        let rounds = |there| [1, 5, 12, 10_000].map(|lacking| next_round(lacking, there));
        assert_eq!(rounds(3), [1, 5, 7, 7], "a pilot first");
        assert_eq!(rounds(10), [1, 5, 10, 10]);
        assert_eq!(rounds(40), [1, 5, 12, 40]);
        assert_eq!(next_round(0, 10), 1);
    }

    /// What was certain of both ends of an interval may no longer be once there are more comparisons.
    #[test]
    fn a_comparison_without_a_crossing_that_it_had_is_not_decided() {
        let series = ["a", "b", "c"].map(str::to_owned).to_vec();
        let settings = Settings {
            key: "algorithm".to_owned(),
            field: Field { series: series.clone(), reference: None, sorted: true },
            quantity: Quantity::LatencyLast,
            higher_is_better: false,
        };
        let crossing = |of: &str, between: [&str; 2]| Crossing {
            of: of.to_owned(),
            between: between.map(str::to_owned),
            from: 0.99,
            to: 1.0,
        };
        let pairs: BTreeSet<Pair> = BTreeSet::from([("x=1".to_owned(), ["a", "b"].map(str::to_owned))]);
        let is_decided = |crossings: Vec<Crossing>| {
            let comparison = SeriesComparison {
                key: settings.key.clone(),
                series: series.clone(),
                reference: None,
                quantity: settings.quantity,
                unit: String::new(),
                higher_is_better: false,
                pairs: 3,
                confidence: 0.95,
                along: Some("traffic.arrivals.rate".to_owned()),
                points: Vec::new(),
                crossings,
                decision: None,
            };
            let measured = Measured { points: Vec::new(), runs: Vec::new() };
            let (comparison, measured, stuck) = (&comparison, &measured, &BTreeSet::new());
            let ranking = Ranking { settings: &settings, comparison, arenas: &[], measured, stuck };
            ranking.is_decided(&BTreeSet::new(), &pairs)
        };
        assert!(is_decided(vec![crossing("x=1", ["a", "b"])]));
        assert!(is_decided(vec![crossing("x=1", ["b", "a"])]), "they may change places twice");
        assert!(!is_decided(Vec::new()));
        assert!(!is_decided(vec![crossing("x=2", ["a", "b"])]), "elsewhere");
        assert!(!is_decided(vec![crossing("x=1", ["a", "c"])]), "of others");
        let wide = Crossing { from: 0.9, ..crossing("x=1", ["a", "b"]) };
        assert!(!is_decided(vec![wide]));
    }
}
