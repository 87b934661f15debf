//! When a point has enough replications: a function of its results alone, whatever order they arrive in.

use serde::{Deserialize, Serialize};
use wormcast_simulation::{Mode, Process, RunResult};

use crate::file::Stop;
use crate::point::PointSpec;
use crate::quantity::Quantity;
use crate::statistics::{Estimate, lower_bound};

/// The share of messages by which a steady run may fall behind before it counts as saturated.
pub(crate) const BACKLOG: f64 = 0.02;

/// Replications that are enough to give a point up, if each of them is saturated by itself.
const HOPELESS: u32 = 10;

/// How a point ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The mean is as precise as asked for.
    Precise,
    /// The replications allowed did not make it so; its interval says how precise it is.
    Exhausted,
    /// Messages pile up: there is no mean.
    Saturated,
    /// Worms wait for each other for ever in at least one replication.
    Deadlocked,
    /// Replications are missing.
    Incomplete,
}

impl Outcome {
    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Exhausted => "exhausted",
            Self::Saturated => "saturated",
            Self::Deadlocked => "deadlocked",
            Self::Incomplete => "incomplete",
        }
    }
}

/// What the first replications of a point say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Go on until there are so many.
    Need(u32),
    /// The point is done with so many, however many more there are.
    Done(Outcome, u32),
}

/// Judges replications `0..runs.len()` of a point.
///
/// Decisions fall at checkpoints, and only on what lies before them: the first at the least number of replications, the next
/// where the interval should be narrow enough if the variance stays what it is, but at least a quarter and at most twice as far.
/// A deadlock ends the point at its replication, if a checkpoint did not do so before. Where many replications are asked for, ten
/// that are all saturated end it, too.
pub(crate) fn judge(stop: &Stop, steady: bool, runs: &[RunResult]) -> Verdict {
    let deadlock = runs.iter().position(|run| run.deadlock.is_some());
    let most = stop.most();
    let mut checkpoint = stop.min_replications.min(HOPELESS);
    loop {
        if let Some(at) = deadlock.filter(|&at| at < checkpoint as usize) {
            return Verdict::Done(Outcome::Deadlocked, at as u32 + 1);
        }
        let Some(seen) = runs.get(..checkpoint as usize) else { return Verdict::Need(checkpoint) };
        if checkpoint < stop.min_replications {
            if seen.iter().all(|run| run.saturated) {
                return Verdict::Done(Outcome::Saturated, checkpoint);
            }
            checkpoint = stop.min_replications;
            continue;
        }
        if saturated(seen, steady) {
            return Verdict::Done(Outcome::Saturated, checkpoint);
        }
        let relative = latency(seen, stop.confidence).and_then(|estimate| estimate.relative_half_width());
        if relative.is_some_and(|relative| relative <= stop.relative_half_width) {
            return Verdict::Done(Outcome::Precise, checkpoint);
        }
        if checkpoint >= most {
            return Verdict::Done(Outcome::Exhausted, checkpoint);
        }
        let n = f64::from(checkpoint);
        let wanted = relative.map_or(f64::INFINITY, |relative| n * (relative / stop.relative_half_width).powi(2));
        // At most 2^32, which the cast keeps within bounds by saturation.
        checkpoint = (wanted.ceil().clamp(n + (n / 4.0).floor().max(1.0), n * 2.0) as u32).min(most);
    }
}

/// Whether these replications say that messages pile up: most of them by themselves, or all together, if the share of messages
/// that were generated and not completed within the windows is above 2% with a confidence of 95%. Finite runs start empty and
/// their backlog grows by nature; they saturate by themselves only, and one that was given up is enough.
fn saturated(runs: &[RunResult], steady: bool) -> bool {
    if !steady && runs.iter().any(|run| run.saturated) {
        // Without its slowest messages, or runs, the mean would be too small.
        return true;
    }
    if runs.iter().filter(|run| run.saturated).count() * 2 > runs.len() {
        return true;
    }
    steady && lower_bound(&backlogs(runs)).is_some_and(|bound| bound > BACKLOG)
}

/// The share of the messages generated in the window of each run that the completed ones fall behind.
pub(crate) fn backlogs(runs: &[RunResult]) -> Vec<f64> {
    let share = |run: &RunResult| 1.0 - run.window.completed as f64 / run.window.generated as f64;
    runs.iter().filter(|run| run.window.generated > 0).map(share).collect()
}

/// What has to become precise: the mean latency to the last destination over replications, or the steps if runs only plan, or the
/// combined diameter if they only build trees.
pub(crate) fn latency(runs: &[RunResult], confidence: f64) -> Option<Estimate> {
    let decisive = [Quantity::LatencyLast, Quantity::PlanSteps, Quantity::TreesDiameter];
    let means: Vec<f64> =
        runs.iter().filter_map(|run| decisive.into_iter().find_map(|quantity| quantity.of(run))).collect();
    Estimate::of(&means, confidence)
}

/// Whether the point's runs are steady-state runs.
pub(crate) fn is_steady(spec: &PointSpec) -> bool {
    spec.run.mode.map_or_else(
        || {
            let burst = |arrivals: &wormcast_simulation::Arrivals| {
                arrivals.process == Process::Burst && arrivals.interval.is_none()
            };
            spec.traffic.trace.is_none() && !spec.traffic.arrivals.as_ref().is_some_and(burst)
        },
        |mode| mode == Mode::Steady,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;

    fn stop(least: u32, most: u32) -> Stop {
        Stop { min_replications: least, max_replications: Some(most), ..Stop::default() }
    }

    fn judged(stop: &Stop, runs: &[RunResult]) -> Verdict {
        judge(stop, true, runs)
    }

    #[test]
    fn precise_points_stop_at_the_first_checkpoint() {
        let runs: Vec<_> = (0..20).map(|i| run(100.0 + f64::from(i % 3))).collect();
        assert_eq!(judged(&stop(10, 50), &runs[..9]), Verdict::Need(10));
        assert_eq!(judged(&stop(10, 50), &runs), Verdict::Done(Outcome::Precise, 10));
    }

    #[test]
    fn noisy_points_go_on_from_checkpoint_to_checkpoint() {
        let runs: Vec<_> = (0..60).map(|i| run(if i % 2 == 0 { 100.0 } else { 200.0 })).collect();
        // The relative half width of ten is 2.262 * 52.7 / 150 / sqrt(10) = 0.251: twenty-five times as many would be needed.
        assert_eq!(judged(&stop(10, 50), &runs[..10]), Verdict::Need(20));
        assert_eq!(judged(&stop(10, 50), &runs[..39]), Verdict::Need(40));
        assert_eq!(judged(&stop(10, 50), &runs), Verdict::Done(Outcome::Exhausted, 50));
        // A verdict never depends on what lies beyond its checkpoint.
        for n in 0..60 {
            if let Verdict::Done(outcome, used) = judged(&stop(10, 50), &runs[..n]) {
                assert_eq!((outcome, used), (Outcome::Exhausted, 50));
            }
        }
    }

    #[test]
    fn saturation_stops_early() {
        let mut runs: Vec<_> = (0..10).map(|i| run(100.0 * f64::from(i + 1))).collect();
        for run in &mut runs[..6] {
            run.saturated = true;
        }
        assert_eq!(judged(&stop(10, 50), &runs), Verdict::Done(Outcome::Saturated, 10));
        runs[0].saturated = false;
        assert!(matches!(judged(&stop(10, 50), &runs), Verdict::Need(_)));
        // No single run says so, but all of them fall behind by about 4%.
        for (i, run) in runs.iter_mut().enumerate() {
            run.saturated = false;
            run.window.completed = 950 + 2 * i as u64;
        }
        assert_eq!(judged(&stop(10, 50), &runs), Verdict::Done(Outcome::Saturated, 10));
        assert!(matches!(judge(&stop(10, 50), false, &runs), Verdict::Need(_)));
    }

    #[test]
    fn ten_saturated_replications_are_enough_to_give_up() {
        let mut runs: Vec<_> = (0..100).map(|_| run(100.0)).collect();
        for run in &mut runs[..10] {
            run.saturated = true;
        }
        assert_eq!(judged(&stop(100, 200), &runs[..9]), Verdict::Need(10));
        assert_eq!(judged(&stop(100, 200), &runs[..10]), Verdict::Done(Outcome::Saturated, 10));
        runs[4].saturated = false;
        assert_eq!(judged(&stop(100, 200), &runs[..10]), Verdict::Need(100));
        assert_eq!(judged(&stop(100, 200), &runs), Verdict::Done(Outcome::Precise, 100));
    }

    #[test]
    fn a_deadlock_ends_the_point_at_its_replication() {
        let mut runs: Vec<_> = (0..20).map(|i| run(100.0 + f64::from(i % 3))).collect();
        runs[13].deadlock = Some(wormcast_simulation::Deadlock { at: 5, dead: 2, cycle: Vec::new() });
        // Ten were enough before it.
        assert_eq!(judged(&stop(10, 50), &runs), Verdict::Done(Outcome::Precise, 10));
        assert_eq!(judged(&stop(16, 50), &runs), Verdict::Done(Outcome::Deadlocked, 14));
        assert_eq!(judged(&stop(16, 50), &runs[..14]), Verdict::Done(Outcome::Deadlocked, 14));
        assert_eq!(judged(&stop(16, 50), &runs[..13]), Verdict::Need(16));
    }

    #[test]
    fn runs_without_a_latency_do_not_make_a_point_precise() {
        let mut runs: Vec<_> = (0..10).map(|_| run(100.0)).collect();
        for run in &mut runs[1..] {
            run.latency.last.mean = None;
        }
        assert_eq!(judged(&stop(10, 10), &runs), Verdict::Done(Outcome::Exhausted, 10));
    }
}
