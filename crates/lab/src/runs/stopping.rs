//! When a point has enough replications: a function of its results alone, whatever order they arrive in.

use serde::{Deserialize, Serialize};
use wormcast_simulation::{BACKLOG, Warmup};

use crate::experiment::file::Stop;
use crate::experiment::point::PointSpec;
use crate::runs::kind::RunMode;
use crate::runs::replication::Replication;
use crate::runs::window::{begun_before, filling, settled};
use crate::statistics::{Estimate, lower_bound};

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
    /// The mean still depends on the length of the window, which the replications allowed do not let grow further.
    Unsettled,
    /// Messages pile up: there is no mean.
    Saturated,
    /// Worms wait for each other forever in at least one replication.
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
            Self::Unsettled => "unsettled",
            Self::Saturated => "saturated",
            Self::Deadlocked => "deadlocked",
            Self::Incomplete => "incomplete",
        }
    }
}

/// What to do next for a point, judging by its first replications.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoppingDecision {
    /// Go on until there are so many.
    Need(u32),
    /// The point is done with so many, however many more there are.
    Done(Outcome, u32),
    /// Windows have to be twice as long.
    Longer,
}

/// The windows of a point's runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Windows {
    /// Whether the runs have windows at all: steady ones do.
    pub(crate) steady: bool,
    /// Whether these begin behind a cycle that was given, and not with a message of a given number.
    pub(crate) from_cycle: bool,
    /// How often they have been doubled.
    pub(crate) doubled: u32,
    /// The correlation of batches before the last doubling.
    pub(crate) half: Option<f64>,
}

impl Windows {
    /// Those of a point's first runs.
    pub(crate) fn first(spec: &PointSpec) -> Self {
        Self { steady: is_steady(spec), from_cycle: from_cycle(spec), doubled: 0, half: None }
    }

    /// Replications at most: as many messages in all as `stop` allows at the first length.
    pub(crate) fn most(self, stop: &Stop) -> u32 {
        stop.most().checked_shr(self.doubled).unwrap_or(0).max(stop.min_replications)
    }

    /// Whether the replications needed at least may have windows twice as long.
    fn may_grow(self, stop: &Stop) -> bool {
        self.steady && stop.most().checked_shr(self.doubled + 1).unwrap_or(0) >= stop.min_replications
    }
}

/// Judges replications `0..runs.len()` of a point.
///
/// Decisions fall at checkpoints, and only on what lies before them: the first at the least number of replications, the next
/// where the interval should be narrow enough if the variance stays what it is, but at least a quarter and at most twice as far.
/// A deadlock ends the point at its replication, if a checkpoint did not do so before. Where many replications are asked for, ten
/// that are all saturated end it, too. While the mean depends on the length of the windows, these are doubled, as long as the
/// replications needed at least then have no more messages in all than the replications allowed have at the first length.
pub(crate) fn judge(stop: &Stop, windows: Windows, runs: &[Replication]) -> StoppingDecision {
    let deadlock = runs.iter().position(|run| run.deadlock().is_some());
    let most = windows.most(stop);
    let steady = windows.steady;
    let mut checkpoint = stop.min_replications.min(HOPELESS);
    loop {
        if let Some(at) = deadlock.filter(|&at| at < checkpoint as usize) {
            return StoppingDecision::Done(Outcome::Deadlocked, at as u32 + 1);
        }
        let Some(seen) = runs.get(..checkpoint as usize) else { return StoppingDecision::Need(checkpoint) };
        if checkpoint < stop.min_replications {
            if seen.iter().all(Replication::is_saturated) && backlog(seen, windows) == Backlog::Grows {
                return StoppingDecision::Done(Outcome::Saturated, checkpoint);
            }
            checkpoint = stop.min_replications;
            continue;
        }
        let backlog = backlog(seen, windows);
        if backlog == Backlog::Grows {
            return StoppingDecision::Done(Outcome::Saturated, checkpoint);
        }
        let settled = !steady || backlog == Backlog::None && settled(seen, windows.half);
        if !settled && windows.may_grow(stop) {
            return StoppingDecision::Longer;
        }
        let done = |outcome| StoppingDecision::Done(if settled { outcome } else { Outcome::Unsettled }, checkpoint);
        let relative = estimate(seen, stop.confidence).and_then(|estimate| estimate.relative_half_width());
        if relative.is_some_and(|relative| relative <= stop.relative_half_width) {
            return done(Outcome::Precise);
        }
        if checkpoint >= most {
            return done(Outcome::Exhausted);
        }
        let n = f64::from(checkpoint);
        let wanted = relative.map_or(f64::INFINITY, |relative| n * (relative / stop.relative_half_width).powi(2));
        // At most 2^32, which the cast keeps within bounds by saturation.
        checkpoint = (wanted.ceil().clamp(n + (n / 4.0).floor().max(1.0), n * 2.0) as u32).min(most);
    }
}

/// What replications say of messages that pile up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backlog {
    /// None, as far as they can tell.
    None,
    /// They fall behind, but for too short a time to tell a network that fills from one that is saturated.
    Open,
    /// The point is saturated.
    Grows,
}

/// Whether these replications say that messages pile up: if the share of the deliveries asked for within the windows that were not made in them is above 2% with a confidence of 95%, and above
/// what [filling queues](filling) explain; or if most were given up waiting for messages of their windows. If most are saturated by themselves and all together are not, that is open.
/// Finite runs start empty and their backlog grows by nature; they saturate by themselves only, and one that was given up is enough.
pub(crate) fn backlog(runs: &[Replication], Windows { steady, from_cycle, .. }: Windows) -> Backlog {
    let alone = runs.iter().filter(|run| run.is_saturated()).count();
    if !steady {
        // Without its slowest messages, or runs, the mean of finite runs would be too small.
        return if alone > 0 { Backlog::Grows } else { Backlog::None };
    }
    let behind = backlogs(runs, from_cycle);
    // One alone has no interval, and speaks for itself.
    let bound = lower_bound(&behind).or_else(|| behind.first().copied().filter(|_| alone > 0)).unwrap_or(0.0);
    if bound > BACKLOG.max(filling(runs)) || runs.iter().filter(|run| waited_in_vain(run)).count() * 2 > runs.len() {
        Backlog::Grows
    } else if bound > BACKLOG || alone * 2 > runs.len() {
        Backlog::Open
    } else {
        Backlog::None
    }
}

/// Whether a run was given up after its window because messages did not arrive, for a long time. If it was behind by more than a quarter, it was given up at once.
fn waited_in_vain(run: &Replication) -> bool {
    run.is_saturated()
        && run.simulated().is_some_and(|run| {
            let window = run.window;
            run.messages.measured < window.generated && 4 * window.delivered >= 3 * window.offered
        })
}

/// The share of the deliveries asked for in the window of each run by which those made in it fall behind.
///
/// A window that begins with the first message after a given cycle begins behind a gap that is longer than others: the cycle is more likely
/// to lie in a long one. So fewer messages are on their way then than when it ends, by up to one, which does not count as falling behind.
/// Nor does what a window lacks that begins before the first message can have arrived.
pub(crate) fn backlogs(runs: &[Replication], from_cycle: bool) -> Vec<f64> {
    let runs = runs.iter().filter_map(Replication::simulated).filter(|run| run.window.offered > 0);
    runs.map(|run| {
        let window = run.window;
        let gap = if from_cycle { 1.0 / window.generated.max(1) as f64 } else { 0.0 };
        1.0 - gap - begun_before(run) - window.delivered as f64 / window.offered as f64
    })
    .collect()
}

/// Whether windows begin behind a cycle that was given, and not with a message of a given number.
pub(crate) fn from_cycle(spec: &PointSpec) -> bool {
    matches!(spec.run.warmup, Warmup::Cycles(_))
}

/// What has to become precise, over replications.
pub(crate) fn estimate(runs: &[Replication], confidence: f64) -> Option<Estimate> {
    let means: Vec<f64> = runs.iter().filter_map(|run| run.kind().decisive().of(run)).collect();
    Estimate::of(&means, confidence)
}

/// Whether the point's runs are steady-state runs.
pub(crate) fn is_steady(spec: &PointSpec) -> bool {
    spec.run.mode.map_or_else(|| !spec.traffic.ends(), |mode| mode == RunMode::Steady)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::run;

    fn stop(least: u32, most: u32) -> Stop {
        Stop { min_replications: least, max_replications: Some(most), ..Stop::default() }
    }

    const WINDOWS: Windows = Windows { steady: true, from_cycle: false, doubled: 0, half: None };
    const NONE: Windows = Windows { steady: false, ..WINDOWS };

    fn judged(stop: &Stop, runs: &[Replication]) -> StoppingDecision {
        judge(stop, WINDOWS, runs)
    }

    #[test]
    fn precise_points_stop_at_the_first_checkpoint() {
        let runs: Vec<_> = (0..20).map(|i| run(100.0 + f64::from(i % 3))).collect();
        assert_eq!(judged(&stop(10, 50), &runs[..9]), StoppingDecision::Need(10));
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Done(Outcome::Precise, 10));
    }

    #[test]
    fn noisy_points_go_on_from_checkpoint_to_checkpoint() {
        let runs: Vec<_> = (0..60).map(|i| run(if i % 2 == 0 { 100.0 } else { 200.0 })).collect();
        // The relative half width of ten is 2.262 * 52.7 / 150 / sqrt(10) = 0.251: twenty-five times as many would be needed.
        assert_eq!(judged(&stop(10, 50), &runs[..10]), StoppingDecision::Need(20));
        assert_eq!(judged(&stop(10, 50), &runs[..39]), StoppingDecision::Need(40));
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Done(Outcome::Exhausted, 50));
        // A verdict never depends on what lies beyond its checkpoint.
        for n in 0..60 {
            if let StoppingDecision::Done(outcome, used) = judged(&stop(10, 50), &runs[..n]) {
                assert_eq!((outcome, used), (Outcome::Exhausted, 50));
            }
        }
    }

    #[test]
    fn saturation_stops_early() {
        let mut runs: Vec<_> = (0..10).map(|i| run(100.0 * f64::from(i + 1))).collect();
        for run in &mut runs[..6] {
            run.in_time().saturated = true;
        }
        // Most say so, but not all together.
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Longer);
        // Most have waited for messages that did not arrive.
        for run in &mut runs[..6] {
            run.in_time().messages.measured = 990;
        }
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Done(Outcome::Saturated, 10));
        runs[0].in_time().saturated = false;
        assert!(matches!(judged(&stop(10, 50), &runs), StoppingDecision::Need(_)));
        // No single run says so, but all of them fall behind by about 4%.
        for (i, run) in runs.iter_mut().enumerate() {
            run.in_time().saturated = false;
            run.in_time().window.delivered = 9500 + 20 * i as u64;
        }
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Done(Outcome::Saturated, 10));
        assert!(matches!(judge(&stop(10, 50), NONE, &runs), StoppingDecision::Need(_)));
    }

    #[test]
    fn a_network_that_fills_is_not_yet_saturated() {
        // All fall behind by 4%, which a node at its limit does in windows of 322 times what a message takes in an empty network, with hardly any warm-up.
        let judged = |times: f64, most: u32| {
            let runs: Vec<_> = (0..10)
                .map(|i| {
                    let mut run = run(100.0 + f64::from(i % 3));
                    let in_time = run.in_time();
                    in_time.window.delivered = in_time.window.offered * 96 / 100;
                    in_time.latency.parts.startup = 0.0;
                    in_time.latency.parts.network = (in_time.window.to - in_time.window.from) as f64 / times;
                    run
                })
                .collect();
            judge(&stop(10, most), WINDOWS, &runs)
        };
        assert_eq!(judged(318.0, 20), StoppingDecision::Longer);
        assert_eq!(judged(318.0, 10), StoppingDecision::Done(Outcome::Unsettled, 10));
        assert_eq!(judged(326.0, 20), StoppingDecision::Done(Outcome::Saturated, 10));
    }

    #[test]
    fn ten_saturated_replications_are_enough_to_give_up() {
        let mut runs: Vec<_> = (0..100).map(|_| run(100.0)).collect();
        for run in &mut runs[..10] {
            (run.in_time().saturated, run.in_time().messages.measured) = (true, 990);
        }
        assert_eq!(judged(&stop(100, 200), &runs[..9]), StoppingDecision::Need(10));
        assert_eq!(judged(&stop(100, 200), &runs[..10]), StoppingDecision::Done(Outcome::Saturated, 10));
        runs[4].in_time().saturated = false;
        assert_eq!(judged(&stop(100, 200), &runs[..10]), StoppingDecision::Need(100));
        assert_eq!(judged(&stop(100, 200), &runs), StoppingDecision::Done(Outcome::Precise, 100));
    }

    #[test]
    fn a_deadlock_ends_the_point_at_its_replication() {
        let mut runs: Vec<_> = (0..20).map(|i| run(100.0 + f64::from(i % 3))).collect();
        runs[13].in_time().deadlock = Some(wormcast_simulation::Deadlock { at: 5, dead: 2, cycle: Vec::new() });
        // Ten were enough before it.
        assert_eq!(judged(&stop(10, 50), &runs), StoppingDecision::Done(Outcome::Precise, 10));
        assert_eq!(judged(&stop(16, 50), &runs), StoppingDecision::Done(Outcome::Deadlocked, 14));
        assert_eq!(judged(&stop(16, 50), &runs[..14]), StoppingDecision::Done(Outcome::Deadlocked, 14));
        assert_eq!(judged(&stop(16, 50), &runs[..13]), StoppingDecision::Need(16));
    }

    #[test]
    fn runs_without_a_latency_do_not_make_a_point_precise() {
        let mut runs: Vec<_> = (0..10).map(|_| run(100.0)).collect();
        for run in &mut runs[1..] {
            run.in_time().latency.last.mean = None;
        }
        assert_eq!(judged(&stop(10, 10), &runs), StoppingDecision::Done(Outcome::Exhausted, 10));
    }

    /// Runs whose batches drift, so that their mean depends on the window.
    fn drifting(count: u32) -> Vec<Replication> {
        let of = |i: u32| {
            let mut run = run(100.0 + f64::from(i % 3));
            run.in_time().latency.batches = (0..20).map(|batch| f64::from(batch) + f64::from(i % 7)).collect();
            run
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn windows_grow_while_the_mean_depends_on_them_and_replications_allow() {
        let runs = drifting(10);
        let judged = |most: u32, doubled: u32| {
            let windows = Windows { doubled, ..WINDOWS };
            judge(&stop(10, most), windows, &runs)
        };
        assert_eq!(judged(20, 0), StoppingDecision::Longer);
        assert_eq!(judged(19, 0), StoppingDecision::Done(Outcome::Unsettled, 10));
        assert_eq!(judged(200, 3), StoppingDecision::Longer);
        assert_eq!(judged(200, 4), StoppingDecision::Done(Outcome::Unsettled, 10));
        assert_eq!(Windows { doubled: 2, ..WINDOWS }.most(&stop(10, 200)), 50);
        assert_eq!(Windows { doubled: 40, ..WINDOWS }.most(&stop(10, 200)), 10);
        // Runs without a window are what they are.
        assert_eq!(judge(&stop(10, 200), NONE, &runs), StoppingDecision::Done(Outcome::Precise, 10));
    }
}
