//! Where series saturate, and claims about that.

use super::measurements::Measurements;
use super::{Bracket, Comparison, Finding};
use crate::experiment::claim::{Outlasts, Saturates, Scope, Test};
use crate::runs::stopping::{Outcome, SHORTFALL, backlogs, is_steady};
use crate::statistics::Estimate;

/// Whether a point is stable or saturated, by its replications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Stable,
    Saturated,
    /// It is not certain.
    Open,
}

impl Measurements<'_> {
    /// How many brackets a claim needs.
    pub(super) fn brackets(&self, test: Option<Test<'_>>) -> usize {
        let mut names: Vec<&str> =
            test.map_or_else(Vec::new, |test| test.series().into_iter().flat_map(|(_, names)| names).collect());
        names.sort_unstable();
        names.dedup();
        names.len() * self.contexts.len()
    }

    /// A series is stable up to some load and saturated from there on. So values of the sweep can be tested one after the other, from the
    /// least up to the first that is not certainly stable, and from the largest down to the first that is not certainly saturated, each
    /// with the whole confidence: an end is wrong only if the test at the first value of the other kind is (fixed-sequence tests).
    fn bracket(&self, context: usize, series: &str, confidence: f64) -> Bracket {
        let states: Vec<(f64, State)> = self
            .places
            .iter()
            .enumerate()
            .filter_map(|(place, at)| Some((at.number?, self.state(context, series, place, confidence))))
            .collect();
        let stable = states.iter().take_while(|(_, state)| *state == State::Stable).last();
        let saturated = states.iter().rev().take_while(|(_, state)| *state == State::Saturated).last();
        Bracket { stable: stable.map(|&(x, _)| x), saturated: saturated.map(|&(x, _)| x) }
    }

    fn state(&self, context: usize, series: &str, place: usize, confidence: f64) -> State {
        let Some(entry) = self.entry(context, series, place) else { return State::Open };
        let runs = &entry.runs.runs;
        if runs.iter().any(|run| run.deadlock().is_some()) {
            return State::Open;
        }
        if !is_steady(&entry.point.spec) {
            // These start empty, and are saturated if they were given up.
            return match runs.iter().filter(|run| run.is_saturated()).count() {
                _ if runs.is_empty() => State::Open,
                0 => State::Stable,
                given_up if given_up == runs.len() => State::Saturated,
                _ => State::Open,
            };
        }
        let is_saturated = entry.runs.outcome == Outcome::Saturated;
        let interval = Estimate::of(&backlogs(runs), confidence).and_then(|e| Some((e.mean, e.half_width?)));
        match interval {
            // What the sweep calls saturated is never stable here, and what it calls stable is never saturated.
            Some((mean, half)) if mean + half <= SHORTFALL && !is_saturated => State::Stable,
            Some((mean, half)) if mean - half > SHORTFALL && is_saturated => State::Saturated,
            _ => State::Open,
        }
    }

    /// One group for each series.
    pub(super) fn saturates(&self, saturates: &Saturates) -> Vec<Vec<Comparison>> {
        let confidence = self.shared_confidence(self.brackets(Some(Test::Saturates(saturates))));
        let claimed = [("before", saturates.before), ("after", saturates.after)];
        let claimed: Vec<String> =
            claimed.iter().filter_map(|(word, value)| value.map(|value| format!("{word} {value}"))).collect();
        let compare = |context: usize, series: &String| {
            let bracket = self.bracket(context, series, confidence);
            let saturated_at = |x: f64| bracket.saturated.is_some_and(|saturated| saturated <= x);
            let stable_at = |x: f64| bracket.stable.is_some_and(|stable| stable >= x);
            let before = saturates.before.map(|x| finding(saturated_at(x), stable_at(x)));
            let after = saturates.after.map(|x| finding(stable_at(x), saturated_at(x)));
            Comparison {
                series: self.name(context, series),
                against: claimed.join(", "),
                at: self.range(),
                difference: None,
                saturation: Some(bracket),
                against_saturation: None,
                finding: both(before, after),
                replications: None,
            }
        };
        let contexts = 0..self.contexts.len();
        contexts.flat_map(|context| saturates.series.iter().map(move |name| vec![compare(context, name)])).collect()
    }

    /// One group for each pair of series, or one for all settings together if one of them is enough.
    pub(super) fn outlasts(&self, outlasts: &Outlasts) -> Vec<Vec<Comparison>> {
        let confidence = self.shared_confidence(self.brackets(Some(Test::Outlasts(outlasts))));
        let mut groups = Vec::new();
        for later in &outlasts.later {
            for earlier in &outlasts.earlier {
                let compare = |context: usize| {
                    let (a, b) = (self.bracket(context, later, confidence), self.bracket(context, earlier, confidence));
                    let (least, most) = factor(a, b);
                    let at_least = finding(least >= outlasts.at_least, most <= outlasts.at_least);
                    let at_most = outlasts.at_most.map(|bound| finding(most <= bound, least >= bound));
                    Comparison {
                        series: self.name(context, later),
                        against: earlier.clone(),
                        at: self.range(),
                        difference: None,
                        saturation: Some(a),
                        against_saturation: Some(b),
                        finding: both(Some(at_least), at_most),
                        replications: None,
                    }
                };
                let comparisons: Vec<Comparison> = (0..self.contexts.len()).map(compare).collect();
                if outlasts.scope == Scope::Somewhere {
                    groups.push(comparisons);
                } else {
                    groups.extend(comparisons.into_iter().map(|comparison| vec![comparison]));
                }
            }
        }
        groups
    }
}

/// The least and the largest factor by which one saturates later than the other; values of the horizontal axis are loads.
pub(super) fn factor(later: Bracket, earlier: Bracket) -> (f64, f64) {
    let least = match (later.stable, earlier.saturated) {
        (Some(stable), Some(saturated)) if saturated > 0.0 => stable / saturated,
        _ => 0.0,
    };
    let most = match (later.saturated, earlier.stable) {
        (Some(saturated), Some(stable)) if stable > 0.0 => saturated / stable,
        _ => f64::INFINITY,
    };
    (least, most)
}

fn finding(holds: bool, fails: bool) -> Finding {
    match (holds, fails) {
        (true, false) => Finding::Holds,
        (false, true) => Finding::Fails,
        _ => Finding::Open,
    }
}

/// The brackets of a claim with one bound or two.
fn both(first: Option<Finding>, second: Option<Finding>) -> Finding {
    let findings = [first, second];
    if findings.contains(&Some(Finding::Fails)) {
        Finding::Fails
    } else if findings.contains(&Some(Finding::Open)) {
        Finding::Open
    } else {
        Finding::Holds
    }
}
