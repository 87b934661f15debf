//! Where series saturate, and claims about that.

use super::measurements::Measurements;
use super::{Bracket, Comparison, Finding};
use crate::experiment::claim::{Outlasts, Saturates, Scope, Test};
use crate::runs::replication::Replication;
use crate::runs::stopping::{Outcome, backlogs, from_cycle, is_steady};
use crate::runs::window::{begin_late, filling};
use crate::statistics::Estimate;
use wormcast_simulation::BACKLOG;

/// The share of the applied load by which what is received may fall short of it in the long run.
const SHORTFALL: f64 = 0.005;

/// How many latencies a window takes to tell messages that pile up from queues that are still filling: those make it fall short once, by a
/// part of a latency.
const LONG: f64 = 50.0;

/// Whether the windows of these runs are long against the latencies in them: where messages to one destination and to several are measured, against
/// those of both.
fn are_long(runs: &[Replication]) -> bool {
    runs.iter().filter_map(Replication::simulated).all(|run| {
        let cycles = run.window.to.saturating_sub(run.window.from) as f64;
        let kinds = [&run.latency.unicast, &run.latency.multicast].into_iter().flatten();
        let of_kinds = kinds.filter_map(|kind| kind.last.mean);
        let longest = of_kinds.chain(run.latency.last.mean).reduce(f64::max);
        longest.is_some_and(|latency| cycles >= LONG * latency)
    })
}

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
            // These start empty, and are saturated if they were given up; one that cannot be does not say that it carries its load.
            return match runs.iter().filter(|run| run.is_saturated()).count() {
                _ if runs.is_empty() => State::Open,
                0 if entry.point.spec.run.max_cycles.is_none() => State::Open,
                0 => State::Stable,
                given_up if given_up == runs.len() => State::Saturated,
                _ => State::Open,
            };
        }
        let outcome = entry.runs.outcome;
        let interval = Estimate::of(&backlogs(runs, from_cycle(&entry.point.spec)), confidence)
            .and_then(|e| Some((e.mean, e.half_width?)));
        match interval {
            // What the sweep calls saturated is never stable here, and what has settled is never saturated.
            Some((mean, half)) if mean + half <= SHORTFALL && outcome != Outcome::Saturated => State::Stable,
            // What falls behind in a short window may be a network that fills.
            Some((mean, half))
                if mean - half > BACKLOG.max(filling(runs)) && (outcome == Outcome::Saturated || are_long(runs)) =>
            {
                State::Saturated
            }
            Some((mean, half))
                if mean - half > SHORTFALL
                    && matches!(outcome, Outcome::Unsettled | Outcome::Saturated)
                    && are_long(runs)
                    && begin_late(runs) =>
            {
                State::Saturated
            }
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
            // A value that carries its load is not saturated, whatever the others say: along buffers, say, saturation ends.
            let is_stable = |x: f64| {
                let place = self.places.iter().position(|at| at.number == Some(x));
                place.is_some_and(|place| self.state(context, series, place, confidence) == State::Stable)
            };
            let stable_at = |x: f64| bracket.stable.is_some_and(|stable| stable >= x);
            let before = saturates.before.map(|x| finding(saturated_at(x), stable_at(x) || is_stable(x)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;
    use wormcast_simulation::KindLatency;

    /// A window that lasts nine latencies says nothing of half a percent: a queue that is filling takes as much.
    #[test]
    fn windows_are_long_against_latencies_or_not() {
        let lasting = |cycles: u64| {
            let mut run = run(100.0);
            let window = &mut run.in_time().window;
            window.to = window.from + cycles;
            run
        };
        assert!(are_long(&[lasting(5_000), lasting(9_000)]));
        assert!(!are_long(&[lasting(5_000), lasting(900)]));
        // Some broadcasts among unicasts take long, whatever the mean over messages.
        let mut mixed = lasting(5_000);
        mixed.in_time().latency.unicast = Some(Box::default());
        let mut broadcasts = KindLatency::default();
        broadcasts.last.mean = Some(1_000.0);
        mixed.in_time().latency.multicast = Some(Box::new(broadcasts));
        assert!(!are_long(&[mixed]));
        let mut without = lasting(5_000);
        without.in_time().latency.last.mean = None;
        assert!(!are_long(&[without]));
    }
}
