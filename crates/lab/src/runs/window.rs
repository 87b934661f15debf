//! Whether the window of steady runs is long enough: what their batches of messages say together.

use wormcast_simulation::RunResult;

use crate::runs::replication::Replication;
use crate::statistics::{Estimate, mean};

/// Messages from which on a window has batches of two at least.
const FEW: u64 = 40;

/// The correlation of neighbouring batches, a twentieth of a window each, up to which a point's first window is long enough.
const UNCORRELATED: f64 = 0.15;

/// The correlation up to which a window twice as long is long enough: twice as much, as where correlations decay within a batch.
const UNCORRELATED_IN_HALF: f64 = 2.0 * UNCORRELATED;

/// How many standard deviations of the correlation of independent batches are chance.
const CHANCE: f64 = 2.33;

/// The confidence with which the second halves of windows differ from the first, if they do.
const TREND: f64 = 0.99;

/// The messages that a node could send one after the other in the windows of saturated runs, at least.
const MESSAGES_LONG: f64 = 20.0;

/// How many messages a node has waiting on average after having sent n at the very load that it can carry: this times the root of n, as with a random walk that does not fall below 0.
const VERGE: f64 = 0.797_884_560_802_865_4;

/// The latency, in times that a message takes in an empty network, from which on queueing is most of it.
const QUEUED: f64 = 2.0;

/// The batches of those runs that have any.
fn batches_of(runs: &[Replication]) -> impl Iterator<Item = &[f64]> {
    let batches = runs.iter().filter_map(Replication::simulated).map(|run| run.latency.batches.as_slice());
    batches.filter(|batches| !batches.is_empty())
}

/// The correlation of neighbouring batch means, pooled over runs and about the mean of all runs, so that what is common to a whole run
/// counts as correlation, too; `None` if there are no batches.
pub(crate) fn correlation(runs: &[Replication]) -> Option<f64> {
    let batches: Vec<&[f64]> = batches_of(runs).collect();
    let all: Vec<f64> = batches.iter().copied().flatten().copied().collect();
    let centre = mean(&all)?;
    let square = all.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / all.len() as f64;
    let products: Vec<f64> = batches
        .iter()
        .flat_map(|batches| batches.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)))
        .collect();
    Some(if square == 0.0 { 0.0 } else { mean(&products)? / square })
}

/// Whether the second halves of the windows have another mean than the first, over runs.
fn drifts(runs: &[Replication]) -> bool {
    let differences: Option<Vec<f64>> = batches_of(runs)
        .map(|batches| {
            let (first, second) = batches.split_at(batches.len() / 2);
            Some(mean(second)? - mean(first)?)
        })
        .collect();
    let estimate = differences.and_then(|differences| Estimate::of(&differences, TREND));
    estimate.is_some_and(|drift| drift.half_width.is_some_and(|half| drift.mean.abs() > half))
}

/// Whether the mean of these runs does not depend on the length of their window, as far as they can tell. `half` is the correlation
/// in the runs with windows half as long that came before them, if there were any.
///
/// A window is long enough if neighbouring batches of the window half as long were nearly uncorrelated: so nothing is chosen on the data
/// that are averaged. (Rare congestion raises both the correlation and the mean, and accepting a window for its own correlation would prefer
/// runs without it.) Only the first window has to speak for itself. The means of its halves must not differ, and no run may be
/// saturated by itself.
pub(crate) fn settled(runs: &[Replication], half: Option<f64>) -> bool {
    if are_short(runs) {
        return false;
    }
    let Some(correlation) = correlation(runs) else { return true };
    let batches: usize = batches_of(runs).map(<[f64]>::len).sum();
    let chance = CHANCE / (batches as f64).sqrt();
    let uncorrelated =
        half.map_or_else(|| correlation <= UNCORRELATED.max(chance), |half| half <= UNCORRELATED_IN_HALF);
    uncorrelated && !drifts(runs) && !runs.iter().any(Replication::is_saturated)
}

/// The cycles that messages of a run take in an empty network, on average, with the worms that their sources send before the last one.
fn empty_latency(run: &RunResult) -> f64 {
    run.window.own_wait + run.latency.parts.startup + run.latency.parts.network
}

/// The share of a run's window that lies before a message of the first cycle can have arrived.
pub(crate) fn begun_before(run: &RunResult) -> f64 {
    let before = empty_latency(run) - run.window.from as f64;
    before.max(0.0) / run.window.to.saturating_sub(run.window.from).max(1) as f64
}

/// How long windows last on average, and when they begin, in times that a message takes in an empty network.
fn in_empty_latencies(runs: &[Replication]) -> Option<(f64, f64)> {
    let runs: Vec<&RunResult> = runs.iter().filter_map(Replication::simulated).collect();
    let of = |value: fn(&RunResult) -> f64| mean(&runs.iter().map(|run| value(run)).collect::<Vec<f64>>());
    let takes = of(empty_latency)?.max(f64::MIN_POSITIVE);
    let lasts = of(|run| run.window.to.saturating_sub(run.window.from) as f64)?;
    Some((lasts / takes, of(|run| run.window.from as f64)? / takes))
}

/// Whether windows are too short for means: they last for less than [`MESSAGES_LONG`] times as long as a message takes in an empty network, and
/// either begin before twice that time, when the network is still filling, or have so few messages that a run cannot be judged by itself, or messages that spend most of
/// their time in queues, which change more slowly than that.
fn are_short(runs: &[Replication]) -> bool {
    let runs_of = || runs.iter().filter_map(Replication::simulated);
    let few = runs_of().all(|run| run.window.generated < FEW);
    let queued = || {
        let latencies: Vec<f64> = runs_of().filter_map(|run| run.latency.last.mean).collect();
        let empty: Vec<f64> = runs_of().map(empty_latency).collect();
        mean(&latencies).zip(mean(&empty)).is_some_and(|(latency, empty)| latency > QUEUED * empty)
    };
    in_empty_latencies(runs).is_some_and(|(last, begin)| last < MESSAGES_LONG && (few || begin < 2.0 || queued()))
}

/// The share of what is asked for in these windows by which a network that can just carry its load falls behind, because its queues are still filling: as a node that sends a message in the
/// time that one takes in an empty network, at a load of 1, from the beginning of the run to the end of its window.
pub(crate) fn filling(runs: &[Replication]) -> f64 {
    in_empty_latencies(runs).map_or(0.0, |(last, begin)| {
        if last > 0.0 { VERGE * ((begin + last).sqrt() - begin.sqrt()) / last } else { 1.0 }
    })
}

/// Whether queues had a quarter as long to fill as the windows last.
pub(crate) fn begin_late(runs: &[Replication]) -> bool {
    in_empty_latencies(runs).is_some_and(|(last, begin)| 4.0 * begin >= last)
}

/// The messages a run that it would take at least, if correlations decay exponentially: batches so long that neighbours are
/// uncorrelated.
pub(crate) fn needed(runs: &[Replication]) -> Option<u64> {
    let window = window_of(runs)?;
    let needed = correlation(runs).map(|correlation| {
        let factor = batch_length(UNCORRELATED) / batch_length(correlation.clamp(0.001, 0.999));
        (window as f64 * factor.max(2.0)).ceil() as u64
    });
    if are_short(runs) { Some(needed.unwrap_or(0).max(2 * window)) } else { needed }
}

/// The messages a run that saturated runs would need for their loads, if their windows are shorter than [`MESSAGES_LONG`] times what a
/// node needs for a message.
///
/// Beyond saturation all nodes are busy, and in step: what a window counts may be off by up to a message of each node, one part in as
/// many as fit into it, in all replications alike.
pub(crate) fn needed_for_loads(runs: &[Replication], node_cycles: u64) -> Option<u64> {
    let window = window_of(runs)?;
    let lasts: Vec<f64> = runs
        .iter()
        .filter_map(Replication::simulated)
        .map(|run| run.window.to.saturating_sub(run.window.from) as f64)
        .collect();
    let lasts = mean(&lasts)?.max(1.0);
    let least = MESSAGES_LONG * node_cycles as f64;
    (lasts < least).then(|| (window as f64 * least / lasts).ceil() as u64)
}

/// The messages of a run's window.
pub(crate) fn window_of(runs: &[Replication]) -> Option<u64> {
    runs.iter()
        .filter_map(Replication::simulated)
        .map(|run| run.window.generated)
        .max()
        .filter(|&messages| messages > 0)
}

/// The length of batches, in time constants of an exponentially decaying correlation, whose neighbours have this correlation:
/// the x with (1 - e^-x)^2 / (2 (x - 1 + e^-x)) = `correlation`.
fn batch_length(correlation: f64) -> f64 {
    let of = |x: f64| (1.0 - (-x).exp()).powi(2) / (2.0 * (x - 1.0 + (-x).exp()));
    let (mut low, mut high) = (1e-3, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if of(middle) > correlation {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{noise, run};

    /// Runs whose batches are correlated from one to the next.
    fn runs(count: u64, memory: f64, seed: u64) -> Vec<Replication> {
        let of = |replication: u64| {
            let mut level = 0.0;
            let batches = (0..20).map(|i| {
                level =
                    memory * level + (1.0 - memory * memory).sqrt() * noise(seed * 1_000_003 + replication * 97 + i);
                100.0 + level
            });
            let mut run = run(100.0);
            run.in_time().latency.batches = batches.collect();
            run
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn windows_with_uncorrelated_batches_are_long_enough() {
        let settled_with = |memory, half| (0..200).filter(|&seed| settled(&runs(10, memory, seed), half)).count();
        assert!(settled_with(0.0, None) >= 190, "{}", settled_with(0.0, None));
        assert!(settled_with(0.7, None) <= 2, "{}", settled_with(0.7, None));
        // What runs with half the window said decides, and nothing else.
        assert!(settled_with(0.3, Some(0.2)) >= 180, "{}", settled_with(0.3, Some(0.2)));
        assert_eq!(settled_with(0.0, Some(0.6)), 0);
    }

    #[test]
    fn what_is_common_to_a_run_is_correlation() {
        let mut of_levels = runs(10, 0.0, 1);
        for (run, level) in of_levels.iter_mut().zip([-9.0, 4.0, 2.0, -7.0, 8.0, 1.0, -3.0, 5.0, -6.0, 3.0]) {
            run.in_time().latency.batches.iter_mut().for_each(|batch| *batch += level);
        }
        assert!(correlation(&of_levels).unwrap() > 0.8);
        assert!(!settled(&of_levels, None));
    }

    #[test]
    fn drifting_windows_are_too_short_whatever_the_correlation() {
        let mut drifting = runs(100, 0.0, 2);
        for run in &mut drifting {
            run.in_time().latency.batches[10..].iter_mut().for_each(|batch| *batch += 0.2);
        }
        assert!(correlation(&drifting).unwrap() < UNCORRELATED);
        assert!(!settled(&drifting, Some(0.0)));
        assert!(settled(&runs(100, 0.0, 2), Some(0.0)));
    }

    #[test]
    fn a_window_that_is_too_short_says_how_long_it_would_have_to_be() {
        // Where batches are 4.22 time constants long, neighbours have the correlation 0.15.
        assert!((batch_length(0.15) - 4.22).abs() < 0.01, "{}", batch_length(0.15));
        let strongly = runs(50, 0.8, 3);
        let window = window_of(&strongly).unwrap();
        let factor = needed(&strongly).unwrap() as f64 / window as f64;
        assert!((8.0..25.0).contains(&factor), "{factor}");
    }

    #[test]
    fn loads_of_saturated_runs_take_twenty_messages_of_each_node() {
        // The window of these runs lasts 8,900 cycles and has 1,000 messages.
        let runs = [run(1.0), run(1.0)];
        assert_eq!(needed_for_loads(&runs, 445), None);
        assert_eq!(needed_for_loads(&runs, 446), Some(1003));
        assert_eq!(needed_for_loads(&runs, 4450), Some(10_000));
    }

    #[test]
    fn windows_in_which_the_network_still_fills_are_too_short_to_judge() {
        let with = |from: u64, lasts: u64, generated: u64| {
            let mut run = run(1.0);
            let in_time = run.in_time();
            (in_time.latency.parts.startup, in_time.latency.parts.network) = (60.0, 40.0);
            (in_time.window.from, in_time.window.to, in_time.window.generated) = (from, from + lasts, generated);
            [run.clone(), run]
        };
        assert!(are_short(&with(199, 1999, 1000)) && !are_short(&with(200, 1999, 1000)));
        assert!(!are_short(&with(0, 2000, 1000)), "a twentieth of it is no backlog");
        // What queues for most of the time is not known after a few times that a message takes.
        let queued = |lasts: u64, latency: f64| {
            let mut runs = with(1000, lasts, 1000);
            for run in &mut runs {
                run.in_time().latency.last.mean = Some(latency);
            }
            are_short(&runs)
        };
        assert!(queued(1999, 201.0) && !queued(1999, 199.0) && !queued(2000, 500.0));
        assert!(are_short(&with(200, 1999, 39)) && !are_short(&with(200, 2000, 39)));
        assert!(!settled(&with(0, 100, 1000), None) && needed(&with(0, 100, 1000)) == Some(2000));
        assert!((begun_before(with(20, 1000, 5)[0].simulated().unwrap()) - 0.08).abs() < 1e-12);
    }

    /// A node that is loaded with just what it can send: what it has waiting is what the rule says, whatever the warm-up.
    #[test]
    fn queues_at_the_verge_fill_like_random_walks() {
        for (begin, lasts) in [(0, 50), (4, 69), (25, 50), (100, 400)] {
            let walk = |seed: u64| {
                let mut waiting = 0.0f64;
                let mut at = [0.0; 2];
                for message in 0..begin + lasts {
                    if message == begin {
                        at[0] = waiting;
                    }
                    // As many arrivals as a Poisson process has in the time of one, of mean and variance 1.
                    let mut product = noise_between(seed * 1_000_003 + message * 31);
                    let mut arrivals = 0.0;
                    while product > (-1.0f64).exp() {
                        arrivals += 1.0;
                        product *= noise_between(seed * 1_000_003 + message * 31 + arrivals as u64 * 7_919 + 1);
                    }
                    waiting = (waiting + arrivals - 1.0).max(0.0);
                }
                at[1] = waiting;
                at[1] - at[0]
            };
            let behind = (0..4000).map(walk).sum::<f64>() / 4000.0 / lasts as f64;
            let mut run = run(1.0);
            (run.in_time().window.from, run.in_time().window.to) = (100 * begin, 100 * (begin + lasts));
            (run.in_time().latency.parts.startup, run.in_time().latency.parts.network) = (60.0, 40.0);
            let rule = filling(&[run]);
            assert!(behind < 1.05 * rule && behind > 0.7 * rule, "{begin} {lasts}: {behind} of {rule}");
        }
    }

    /// A number that looks independent of those of other keys and uniform between 0 and 1.
    fn noise_between(key: u64) -> f64 {
        (crate::runs::seed::replication_seed(key, 0) >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn runs_without_batches_do_not_depend_on_a_window() {
        assert!(settled(&[run(1.0), run(2.0)], None));
        assert_eq!(needed(&[run(1.0)]), None);
    }
}
