//! Which series is best at a point, from the replications of all series, and where that changes.

use super::{ComparedPoint, Crossing, Field, Relation, Standing, State};
use crate::statistics::{Estimate, differences};
use crate::verdict::certain_sign;

/// What a series has at a point.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Outcome {
    /// Values by replication, `None` where one has none; and whether their mean does not depend on the window.
    Values {
        values: Vec<Option<f64>>,
        settled: bool,
        /// How often windows were doubled: only series that agree in it met the same messages.
        doubled: u32,
        /// The estimate that they belong to, where it is not that of their mean. It may have no interval, and then no values either.
        estimate: Option<Estimate>,
    },
    Saturated,
    Deadlocked,
    NoResult,
}

impl Outcome {
    fn values(&self) -> Option<Vec<f64>> {
        if let Self::Values { values, .. } = self { Some(values.iter().copied().flatten().collect()) } else { None }
    }

    fn estimate(&self, confidence: f64) -> Option<Estimate> {
        match self {
            Self::Values { estimate: Some(estimate), .. } => Some(*estimate),
            _ => Estimate::of(&self.values()?, confidence),
        }
    }

    fn state(&self) -> State {
        match self {
            Self::Values { settled: true, .. } => State::Measured,
            Self::Values { settled: false, .. } => State::Unsettled,
            Self::Saturated => State::Saturated,
            Self::Deadlocked => State::Deadlocked,
            Self::NoResult => State::NoResult,
        }
    }
}

/// Whether several runs have too little to say for an interval.
fn has_no_interval(estimate: &Estimate) -> bool {
    estimate.count > 1 && estimate.half_width.is_none() && estimate.ends.is_none()
}

/// All series at one point, and what is certain of them.
pub(super) struct Arena {
    outcomes: Vec<Outcome>,
    higher_is_better: bool,
    confidence: f64,
    /// The one with which all others are compared, if not each with each.
    given: Option<usize>,
    /// The series that are not certainly worse than one that they were compared with, by number.
    contenders: Vec<usize>,
    /// What differences are from: the one that is given, or the contender with the best mean.
    reference: Option<usize>,
}

impl Arena {
    /// Compares each with each, or each with the `reference` if one is given, by intervals of this confidence.
    pub(super) fn new(
        outcomes: Vec<Outcome>,
        reference: Option<usize>,
        higher_is_better: bool,
        confidence: f64,
    ) -> Self {
        let mut arena =
            Self { outcomes, higher_is_better, confidence, given: reference, contenders: Vec::new(), reference };
        let count = arena.outcomes.len();
        let beaten = |a: usize| (0..count).any(|b| a != b && arena.compared(a, b) == Some(Relation::Worse));
        let contenders = (0..count).filter(|&a| arena.outcomes[a].values().is_some() && !beaten(a)).collect();
        arena.contenders = contenders;
        if reference.is_none() {
            arena.reference = arena.contenders.iter().copied().min_by(|&a, &b| arena.rank(a).total_cmp(&arena.rank(b)));
        }
        arena
    }

    /// How one series certainly compares with another, if they are compared at all.
    pub(super) fn compared(&self, a: usize, b: usize) -> Option<Relation> {
        let named = |given: usize| a == given || b == given;
        if self.given.is_none_or(named) { self.relation(a, b) } else { None }
    }

    /// How much more one series is than another, over the replications in which both have a value; without an interval if one of them
    /// has none.
    pub(super) fn difference(&self, a: usize, b: usize) -> Option<Estimate> {
        let [one, other] = [a, b].map(|series| self.outcomes[series].estimate(self.confidence));
        match (one?, other?) {
            (one, other) if has_no_interval(&one) || has_no_interval(&other) => Some(Estimate {
                mean: one.mean - other.mean,
                half_width: None,
                ends: None,
                count: one.count.min(other.count),
            }),
            _ => Estimate::of(&self.differences(a, b)?, self.confidence),
        }
    }

    fn differences(&self, a: usize, b: usize) -> Option<Vec<f64>> {
        let (Outcome::Values { values: a, .. }, Outcome::Values { values: b, .. }) =
            (&self.outcomes[a], &self.outcomes[b])
        else {
            return None;
        };
        Some(differences(a.iter().zip(b).filter_map(|(a, b)| (*a).zip(*b))))
    }

    /// Whether the replications of two series met the same messages; `None` if one has no values.
    fn same_messages(&self, a: usize, b: usize) -> Option<bool> {
        match (&self.outcomes[a], &self.outcomes[b]) {
            (Outcome::Values { doubled: a, .. }, Outcome::Values { doubled: b, .. }) => Some(a == b),
            _ => None,
        }
    }

    /// How one series certainly compares with another. One that carries the load is better than one that does not.
    fn relation(&self, a: usize, b: usize) -> Option<Relation> {
        match (&self.outcomes[a], &self.outcomes[b]) {
            (Outcome::Values { .. }, Outcome::Saturated | Outcome::Deadlocked) => Some(Relation::Better),
            (Outcome::Saturated | Outcome::Deadlocked, Outcome::Values { .. }) => Some(Relation::Worse),
            _ => {
                let higher = certain_sign(&self.differences(a, b)?, self.confidence)? > 0.0;
                Some(if higher == self.higher_is_better { Relation::Better } else { Relation::Worse })
            }
        }
    }

    /// A number that is lower for a better mean; infinite without one.
    fn rank(&self, series: usize) -> f64 {
        let mean = self.outcomes[series].estimate(self.confidence).map(|estimate| estimate.mean);
        mean.map_or(f64::INFINITY, |mean| if self.higher_is_better { -mean } else { mean })
    }

    /// The series that is certainly the best. On the event that all intervals hold the best one is not found worse than another, so
    /// if only one is left, it is that one; a series without a result may be anything.
    pub(super) fn best(&self) -> Option<usize> {
        match self.contenders[..] {
            [best] if !self.outcomes.contains(&Outcome::NoResult) => Some(best),
            _ => None,
        }
    }

    /// The point in the form that is published; `confidence` is that of the series' own intervals.
    pub(super) fn point(&self, field: &Field, of: &str, at: &str, confidence: f64) -> ComparedPoint {
        let name = |series: usize| field.series[series].clone();
        let standing = |series: usize| {
            let outcome = &self.outcomes[series];
            let other = self.reference.filter(|&reference| reference != series);
            Standing {
                series: name(series),
                state: outcome.state(),
                value: outcome.estimate(confidence),
                difference: other.and_then(|reference| self.difference(series, reference)),
                same_messages: other.and_then(|reference| self.same_messages(series, reference)),
                relation: other.and_then(|reference| self.relation(series, reference)),
            }
        };
        let mut order: Vec<usize> = (0..self.outcomes.len()).collect();
        if field.sorted {
            order.sort_by(|&a, &b| self.rank(a).total_cmp(&self.rank(b)));
        }
        ComparedPoint {
            of: of.to_owned(),
            at: at.to_owned(),
            added: false,
            best: self.best().map(name),
            contenders: self.contenders.iter().map(|&series| name(series)).collect(),
            reference: self.reference.map(name),
            standings: order.into_iter().map(standing).collect(),
        }
    }
}

/// Where the order of two series certainly changes along the horizontal axis, whose values are `xs`: for each pair, from the last value
/// at which the one is certainly better to the first at which the other is.
pub(super) fn crossings(series: &[String], of: &str, xs: &[f64], arenas: &[Arena]) -> Vec<Crossing> {
    let mut found = Vec::new();
    let pairs = (0..series.len()).flat_map(|a| (a + 1..series.len()).map(move |b| (a, b)));
    for (a, b) in pairs {
        let mut last: Option<(usize, Relation)> = None;
        for (here, arena) in arenas.iter().enumerate() {
            let Some(relation) = arena.compared(a, b) else { continue };
            if let Some((from, before)) = last.filter(|&(_, before)| before != relation) {
                let (first, then) = if before == Relation::Better { (a, b) } else { (b, a) };
                let between = [series[first].clone(), series[then].clone()];
                found.push(Crossing { of: of.to_owned(), between, from: xs[from], to: xs[here] });
            }
            last = Some((here, relation));
        }
    }
    found.sort_by(|one, other| one.from.total_cmp(&other.from));
    found
}
