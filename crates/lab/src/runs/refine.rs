//! Adds loads where they matter: where a series becomes saturated, or no longer is, and where two series change places.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;

use serde::Serialize;

use crate::comparison::{Crossing, crossings_of};
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::Point;
use crate::runs::run::{Findings, RunError, findings, run_points_until};
use crate::runs::stopping::Outcome;
use crate::runs::sweep::{Budget, PointRuns, SweepObserver};
use crate::store::Store;

/// The share of its upper end to which an interval is narrowed down.
pub(crate) const NARROW: f64 = 0.02;

/// Two neighbouring values of the horizontal axis, with something to be found between them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Gap {
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Gap {
    /// Its width as a share of its upper end.
    pub(crate) fn width(self) -> f64 {
        (self.to - self.from) / self.to.abs().max(self.from.abs())
    }

    /// A value in the middle, to four significant digits if that is still between the ends.
    pub(crate) fn middle(self) -> f64 {
        let middle = f64::midpoint(self.from, self.to);
        let short = format!("{middle:.3e}").parse().unwrap_or(middle);
        if self.from < short && short < self.to { short } else { middle }
    }

    /// How wide it is, as a share of the upper end of an interval that it is in.
    pub(crate) fn share_of(self, interval: Self) -> f64 {
        (self.to - self.from) / interval.to.abs().max(interval.from.abs())
    }

    /// The gaps between neighbours of `xs` within this interval.
    fn gaps(self, xs: &[f64]) -> impl DoubleEndedIterator<Item = Self> {
        let neighbours = xs.windows(2).map(|pair| Self { from: pair[0], to: pair[1] });
        neighbours.filter(move |gap| gap.from >= self.from && gap.to <= self.to)
    }

    /// The first and the last gap of this interval. Only values in these narrow it: nothing is gained between two values at which something is open.
    pub(crate) fn outermost(self, xs: &[f64]) -> impl Iterator<Item = Self> {
        let first = self.gaps(xs).next();
        let last = self.gaps(xs).next_back().filter(|&last| Some(last) != first);
        first.into_iter().chain(last)
    }
}

/// Where a curve becomes saturated, or no longer is: somewhere in an interval, which is as narrow as what was run allows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Onset {
    /// The settings that the curve's points have in common, `key=value`; empty if the curve is the only one.
    pub of: String,
    /// Whether saturation ends here, as along the intervals of bursts or the sizes of buffers: a curve that is saturated at its first value.
    pub ends: bool,
    /// The settled value that is nearest to where the curve is saturated; `None` if none is settled. If it is no end of the interval, the windows
    /// of those between were too short to tell.
    pub settled: Option<f64>,
    /// The last value before the first that is saturated; or, where saturation ends, the last that is saturated.
    pub from: f64,
    /// The next value.
    pub to: f64,
}

impl Onset {
    /// Of a curve with values in order; `None` if it is saturated nowhere, everywhere, or at both ends.
    fn of(of: String, curve: &[(f64, Outcome)]) -> Option<Self> {
        let is_saturated = |&(_, outcome): &(f64, Outcome)| outcome == Outcome::Saturated;
        let is_settled = |&&(_, outcome): &&(f64, Outcome)| matches!(outcome, Outcome::Precise | Outcome::Exhausted);
        let first = curve.iter().position(is_saturated)?;
        let ends = first == 0;
        // The first value beyond the interval's beginning.
        let at = if ends { curve.iter().rposition(is_saturated)? + 1 } else { first };
        let (before, after) = curve.split_at(at);
        let settled = if ends { after.iter().find(is_settled) } else { before.iter().rfind(is_settled) };
        Some(Self { of, ends, settled: settled.map(|&(x, _)| x), from: before.last()?.0, to: after.first()?.0 })
    }
}

impl fmt::Display for Onset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, ends, settled, from, to } = self;
        if !of.is_empty() {
            write!(f, "{of}: ")?;
        }
        if *ends {
            write!(f, "saturated up to {from}, ")?;
            return match settled {
                Some(settled) if settled <= to => write!(f, "not saturated from {to} on"),
                Some(settled) => write!(f, "unsettled from {to} on, not saturated from {settled} on"),
                None => write!(f, "unsettled from {to} on"),
            };
        }
        match settled {
            Some(settled) if settled >= from => write!(f, "not saturated up to {from}, ")?,
            Some(settled) => write!(f, "not saturated up to {settled}, unsettled up to {from}, ")?,
            None => write!(f, "unsettled up to {from}, ")?,
        }
        write!(f, "saturated from {to} on")
    }
}

/// What a refinement did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Refinement {
    /// Replications that it might add.
    pub budget: u64,
    /// Replications that it added.
    pub spent: u64,
    /// Whether all intervals are as narrow as they were to be, 2% of their upper ends.
    pub done: bool,
    /// The widest interval that is left, from end to end, and that more values would narrow, as a share of its upper end; `None` if there is
    /// none.
    pub widest: Option<f64>,
    /// The widest interval between two series that change places which is left although its values are close enough, as a share of its
    /// upper end: at these it is not certain which is better, so that it takes more replications; `None` if there is none.
    pub undecided: Option<f64>,
    /// The value at which the budget ran out; `None` if it did not. Its replications are in the store, but it is none of the sweep's values.
    pub unfinished: Option<f64>,
}

/// A sweep that was refined.
#[derive(Clone, Debug)]
pub struct RefinedSweep {
    /// The experiment with the values that were added.
    pub experiment: Experiment,
    /// What was found.
    pub findings: Findings,
    /// Where its curves become saturated, or no longer are.
    pub onsets: Vec<Onset>,
    /// Where pairs of its series change places.
    pub crossings: Vec<Crossing>,
    /// What it took.
    pub refinement: Refinement,
}

impl Experiment {
    /// The swept setting to which a [refinement](refine_sweep) adds values, by its dotted path.
    ///
    /// # Errors
    /// If no numbers are swept along the horizontal axis.
    pub fn refined_axis(&self) -> Result<String, Diagnostic> {
        self.figure().and_then(|figure| figure.along).ok_or_else(|| {
            let message = "there is nothing to refine: no numbers are swept along the horizontal axis";
            Diagnostic::file(self.path(), message)
        })
    }
}

/// Runs an experiment, as [`run_sweep`](crate::run_sweep) does, and then adds values of its horizontal axis in the middle of the widest
/// interval in which a series becomes saturated (or no longer is), or two series change places, until all are at most 2% of their upper ends or `budget`
/// further replications have been run. What a value that the budget does not last for has cost stays in the store.
///
/// # Errors
/// If there are no numbers along the horizontal axis that loads could be added to; and as [`run_sweep`](crate::run_sweep).
pub fn refine_sweep(
    experiment: &Experiment,
    budget: u64,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn SweepObserver,
) -> Result<RefinedSweep, RunError> {
    let along = experiment.refined_axis()?;
    let mut current = experiment.clone();
    let mut points = current.points()?;
    let mut first = Budget::default();
    let mut runs = run_points_until(&mut first, &current, &points, current.stop(), jobs, store, observer)?;
    let mut left = Budget::of(budget);
    // Intervals that no further value fits into.
    let mut closed: Vec<Gap> = Vec::new();
    let mut unfinished = None;
    let (onsets, crossings, remaining) = loop {
        let crossings = crossings_of(&current, &points, &runs);
        let onsets = onsets(&along, &points, &runs);
        let remaining = Remaining::of(&onsets, &crossings, &values(&along, &points), &closed);
        let Some(gap) = remaining.next.filter(|_| !first.is_stopped()) else { break (onsets, crossings, remaining) };
        let Some((more, value)) = current.with_value(&along, gap.middle()) else {
            closed.push(gap);
            continue;
        };
        let added = more.points()?;
        let of_added = run_points_until(&mut left, &more, &added, more.stop(), jobs, store, observer)?;
        if of_added.iter().any(|of_point| of_point.outcome == Outcome::Incomplete) {
            unfinished = (!left.is_stopped()).then_some(value);
            break (onsets, crossings, remaining);
        }
        (current, points, runs) = (more, added, of_added);
    };
    let Remaining { widest, undecided, .. } = remaining;
    let done = widest.is_none() && undecided.is_none() && !first.is_stopped();
    let refinement = Refinement { budget, spent: budget - left.left(), done, widest, undecided, unfinished };
    let findings = findings(&current, &points, runs);
    Ok(RefinedSweep { experiment: current, findings, onsets, crossings, refinement })
}

/// What there is still to be narrowed down.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Remaining {
    /// The widest gap between neighbouring values, into which the next one goes; `None` if all are narrow or closed.
    next: Option<Gap>,
    /// As in a [`Refinement`].
    widest: Option<f64>,
    undecided: Option<f64>,
}

impl Remaining {
    /// Of intervals between values `xs`, of which no further value fits into those that are `closed`.
    fn of(onsets: &[Onset], crossings: &[Crossing], xs: &[f64], closed: &[Gap]) -> Self {
        let onset_gaps = onsets.iter().map(|onset| (Gap { from: onset.from, to: onset.to }, false));
        let crossing_gaps = crossings.iter().map(|crossing| (Gap { from: crossing.from, to: crossing.to }, true));
        let wider = |a: &Gap, b: &Gap| a.width().total_cmp(&b.width());
        let mut remaining = Self { next: None, widest: None, undecided: None };
        for (interval, is_crossing) in onset_gaps.chain(crossing_gaps) {
            let gaps: Vec<Gap> =
                if is_crossing { interval.outermost(xs).collect() } else { interval.gaps(xs).collect() };
            let open = gaps.into_iter().filter(|gap| gap.share_of(interval) > NARROW && !closed.contains(gap));
            let inner = open.max_by(wider);
            if interval.width() <= NARROW || inner.is_none() && !is_crossing {
                continue;
            }
            remaining.next = remaining.next.into_iter().chain(inner).max_by(wider);
            let of_kind = if inner.is_some() { &mut remaining.widest } else { &mut remaining.undecided };
            *of_kind = Some(of_kind.map_or(interval.width(), |width| width.max(interval.width())));
        }
        remaining
    }
}

/// The values of a swept setting, in order.
fn values(along: &str, points: &[Point]) -> Vec<f64> {
    let mut xs: Vec<f64> = points.iter().filter_map(|point| point.coordinate(along)?.value.as_f64()).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs
}

/// Where each curve becomes saturated, or no longer is.
fn onsets(along: &str, points: &[Point], runs: &[PointRuns]) -> Vec<Onset> {
    let mut curves: BTreeMap<String, Vec<(f64, Outcome)>> = BTreeMap::new();
    for (point, of_point) in points.iter().zip(runs) {
        let Some(x) = point.coordinate(along).and_then(|coordinate| coordinate.value.as_f64()) else { continue };
        let others = point.coordinates.iter().filter(|coordinate| coordinate.key != along);
        let curve = others.map(|c| format!("{}={}", c.key, c.text())).collect::<Vec<_>>().join(" ");
        curves.entry(curve).or_default().push((x, of_point.outcome));
    }
    let onset = |(of, mut curve): (String, Vec<(f64, Outcome)>)| {
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        Onset::of(of, &curve)
    };
    curves.into_iter().filter_map(onset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_windows_that_are_too_short_are_not_said_to_be_carried() {
        let onset =
            |of: &str, settled| Onset { of: of.to_owned(), ends: false, settled, from: 0.75, to: 1.0 }.to_string();
        assert_eq!(onset("", Some(0.75)), "not saturated up to 0.75, saturated from 1 on");
        assert_eq!(onset("a=1", Some(0.5)), "a=1: not saturated up to 0.5, unsettled up to 0.75, saturated from 1 on");
        assert_eq!(onset("", None), "unsettled up to 0.75, saturated from 1 on");
    }

    /// Its width is all of its upper end, however narrow it is, until its lower end is above 0.
    #[test]
    fn an_interval_from_0_is_halved_until_it_is_narrow() {
        for truth in [3e-4, 0.02, 0.7] {
            let (mut gap, mut halvings) = (Gap { from: 0.0, to: 1.0 }, 0);
            while gap.width() > NARROW {
                let middle = gap.middle();
                assert!(gap.from < middle && middle < gap.to && gap.share_of(gap) > NARROW, "{gap:?}");
                *(if middle < truth { &mut gap.from } else { &mut gap.to }) = middle;
                halvings += 1;
            }
            assert!(gap.from <= truth && truth <= gap.to && halvings <= 18, "{gap:?} after {halvings}");
        }
    }

    /// Longer intervals between bursts, or larger buffers, carry what shorter ones do not.
    #[test]
    fn saturation_may_end_along_the_axis() {
        use Outcome::{Exhausted, Precise, Saturated, Unsettled};
        let text = |outcomes: &[Outcome]| {
            let curve: Vec<(f64, Outcome)> = (1..).map(f64::from).zip(outcomes.iter().copied()).collect();
            Onset::of(String::new(), &curve).map(|onset| onset.to_string())
        };
        let said = |outcomes: &[Outcome]| text(outcomes).unwrap();
        assert_eq!(said(&[Saturated, Saturated, Precise, Precise]), "saturated up to 2, not saturated from 3 on");
        assert_eq!(
            said(&[Saturated, Unsettled, Exhausted]),
            "saturated up to 1, unsettled from 2 on, not saturated from 3 on"
        );
        assert_eq!(said(&[Saturated, Precise, Saturated, Unsettled]), "saturated up to 3, unsettled from 4 on");
        assert_eq!(
            said(&[Precise, Unsettled, Saturated]),
            "not saturated up to 1, unsettled up to 2, saturated from 3 on"
        );
        assert_eq!(said(&[Precise, Saturated, Precise]), "not saturated up to 1, saturated from 2 on");
        for nowhere in [&[Precise, Unsettled][..], &[Saturated; 3], &[Saturated, Precise, Saturated], &[]] {
            assert_eq!(text(nowhere), None, "{nowhere:?}");
        }
    }

    #[test]
    fn gaps_are_halved_at_short_numbers_between_their_ends() {
        let gap = Gap { from: 0.001, to: 0.002 };
        assert_eq!(gap.middle().to_string(), "0.0015");
        assert!((gap.width() - 0.5).abs() < 1e-12);
        let narrow = Gap { from: 0.123_456_1, to: 0.123_456_2 };
        assert!(narrow.from < narrow.middle() && narrow.middle() < narrow.to);
        let xs = [1.0, 3.0, 4.0, 5.0, 9.0];
        let outermost = |from, to| Gap { from, to }.outermost(&xs).map(|gap| (gap.from, gap.to)).collect::<Vec<_>>();
        assert_eq!(outermost(1.0, 9.0), [(1.0, 3.0), (5.0, 9.0)]);
        assert_eq!(outermost(1.0, 3.0), [(1.0, 3.0)]);
        assert_eq!(outermost(3.0, 3.5), []);
        // An interval that begins at 0 is all of its upper end, and its gaps are not.
        assert!((Gap { from: 0.0, to: 0.1 }.share_of(Gap { from: 0.0, to: 0.4 }) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_is_left_is_the_widest_interval_of_all_and_not_its_widest_gap() {
        let onset = Onset { of: String::new(), ends: false, settled: None, from: 0.75, to: 1.0 };
        let crossing = |from, to| Crossing { of: String::new(), between: ["a", "b"].map(str::to_owned), from, to };
        let xs = [0.5, 0.625, 0.75, 1.0];
        let left = Remaining::of(std::slice::from_ref(&onset), &[crossing(0.5, 1.0)], &xs, &[]);
        assert_eq!(left, Remaining { next: Some(Gap { from: 0.75, to: 1.0 }), widest: Some(0.5), undecided: None });
        // Of values that are close to each other, which is better is open.
        let dense: Vec<f64> = (500..=1000).map(|x| f64::from(x) / 1000.0).collect();
        let left = Remaining::of(&[], &[crossing(0.5, 1.0)], &dense, &[]);
        assert_eq!(left, Remaining { next: None, widest: None, undecided: Some(0.5) });
        let narrow = Onset { of: String::new(), ends: false, settled: Some(0.99), from: 0.99, to: 1.0 };
        // A gap that no value fits into does not hide another.
        let whole = [1.0, 2.0, 3.0, 21.0, 40.0];
        let closed = [Gap { from: 1.0, to: 2.0 }];
        let left = Remaining::of(&[], &[crossing(1.0, 40.0)], &whole, &closed);
        assert_eq!(left.next, Some(Gap { from: 21.0, to: 40.0 }));
        let left = Remaining::of(&[narrow], &[], &xs, &[]);
        assert_eq!(left, Remaining { next: None, widest: None, undecided: None });
    }
}
