//! Percentiles of the messages of several runs, with confidence intervals.

use wormcast_simulation::Quantiles;

use crate::statistics::{Estimate, mean, sample_variance, t_quantile};

/// What runs store latencies to, in cycles.
const STEP: f64 = 1e-3;

/// A percentile of the messages of several runs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Percentile {
    /// The percentile with its interval, which is not known if there are too few runs.
    pub(crate) estimate: Estimate,
    /// A value for each run, with the percentile as their mean and an interval as wide as that of the estimate: differences of the values
    /// of two series are paired as those of means are.
    pub(crate) values: Vec<f64>,
}

/// The latency below which this share of the messages of all runs is, with an interval of this confidence; `None` without runs. Runs count
/// alike.
///
/// The mean over runs of their percentiles would not do: where latencies come in groups, a percentile that falls into a gap jumps from run
/// to run. The share of messages below a latency does not, and its mean over runs has a Student-t interval. So the interval of the
/// percentile is from the latency below which the share is on average as much less, to that below which it is as much more, as the
/// shares below the percentile itself are uncertain by. Each run's value is as far from the percentile as its share is from the mean
/// share, scaled to the interval.
pub(crate) fn percentile(runs: &[&Quantiles], share: f64, confidence: f64) -> Option<Percentile> {
    let below = |latency: f64| -> Vec<f64> { runs.iter().map(|run| run.share_below(latency)).collect() };
    let ends =
        |of: fn(&Quantiles) -> Option<&(f64, f64)>| runs.iter().filter_map(move |run| of(run)).map(|pair| pair.1);
    let least = ends(|run| run.pairs().first()).min_by(f64::total_cmp)?;
    let most = ends(|run| run.pairs().last()).fold(least, f64::max);
    let count = runs.len() as u32;
    if let [run] = runs {
        let mean = run.at(share);
        let estimate = Estimate { mean, half_width: None, ends: None, count };
        return Some(Percentile { estimate, values: vec![mean] });
    }
    let steps = ((most - least) / STEP).ceil() as u64;
    // Below which so many are on average.
    let latency_at = |share: f64| {
        let reached = |step: u64| mean(&below(least + step as f64 * STEP)).is_some_and(|mean| mean >= share);
        least + first(steps, reached) as f64 * STEP
    };
    let at = latency_at(share);
    let shares = below(at);
    let deviation = sample_variance(&shares)?.sqrt() / f64::from(count).sqrt();
    // That of equal shares is 0 but for rounding.
    if deviation <= f64::EPSILON {
        let estimate = Estimate { mean: at, half_width: Some(0.0), ends: None, count };
        return Some(Percentile { estimate, values: vec![at; runs.len()] });
    }
    let uncertain = t_quantile(runs.len() - 1, confidence) * deviation;
    // Nothing is known beyond the largest latency.
    let low = (share > uncertain).then(|| latency_at(share - uncertain).min(at));
    let high = (share + uncertain < 1.0).then(|| latency_at(share + uncertain).max(at));
    let middle = mean(&shares)?;
    let scaled = |half: f64| shares.iter().map(|of_run| at + (middle - of_run) * half / uncertain).collect();
    let (estimate, values) = match (low, high) {
        (Some(low), Some(high)) => (Estimate::between(at, [low, high], count), scaled((high - low) / 2.0)),
        // Whatever values stood for it would have an interval.
        _ => (Estimate { mean: at, half_width: None, ends: None, count }, Vec::new()),
    };
    Some(Percentile { estimate, values })
}

/// The first number before `end` of which this holds, if it holds of all behind it; `end` if it holds of none.
fn first(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, end);
    while from < to {
        let middle = from.midpoint(to);
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "values of single runs are taken as they are")]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use wormcast_simulation::{Latency, RunResult};

    use super::*;
    use crate::runs::replication::Replication;
    use crate::statistics::quantity::Quantity;

    /// The quantiles of some latencies, one for each.
    fn quantiles(mut latencies: Vec<f64>) -> Quantiles {
        latencies.sort_unstable_by(f64::total_cmp);
        let ranks = 1..=latencies.len();
        let share = |rank: usize| rank as f64 / (latencies.len() as f64 + 0.5);
        Quantiles::new(ranks.map(|rank| (share(rank), latencies[rank - 1])).collect())
    }

    fn found(runs: &[Quantiles], share: f64) -> Percentile {
        percentile(&runs.iter().collect::<Vec<_>>(), share, 0.95).unwrap()
    }

    /// The estimate, whose values have an interval as wide.
    #[track_caller]
    fn estimate(runs: &[Quantiles], share: f64) -> Estimate {
        let Percentile { estimate, values } = found(runs, share);
        if estimate.interval().is_none() && runs.len() > 1 {
            assert!(values.is_empty(), "{estimate:?}");
            return estimate;
        }
        assert_eq!(values.len(), runs.len());
        let of_values = Estimate::of(&values, 0.95).unwrap();
        assert!((of_values.mean - estimate.mean).abs() < 1e-6, "{estimate:?}");
        if let Some([low, high]) = estimate.ends {
            assert!((of_values.half_width.unwrap() - (high - low) / 2.0).abs() < 1e-6, "{estimate:?}");
        }
        estimate
    }

    #[test]
    fn one_run_has_its_own_and_equal_runs_have_no_interval() {
        let run = quantiles((1..=1000).map(f64::from).collect());
        assert_eq!(found(std::slice::from_ref(&run), 0.95).values, [run.at(0.95)]);
        assert_eq!(estimate(std::slice::from_ref(&run), 0.95).interval(), None);
        let all = estimate(&vec![run.clone(); 5], 0.95);
        assert_eq!(all.half_width, Some(0.0));
        assert!((all.mean - run.at(0.95)).abs() <= STEP);
        assert_eq!(percentile(&[], 0.5, 0.95), None);
    }

    #[test]
    fn the_interval_is_the_one_that_a_search_of_all_latencies_finds() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let runs: Vec<Quantiles> = (0..6)
            .map(|run| quantiles((0..200).map(|_| f64::from(run) + 20.0 * random.random::<f64>().powi(3)).collect()))
            .collect();
        let shares = |latency: f64| runs.iter().map(|run| run.share_below(latency)).collect::<Vec<f64>>();
        for share in [0.5, 0.95] {
            let found = estimate(&runs, share);
            let all: Vec<(f64, Estimate)> = (0..30_000)
                .map(|step| f64::from(step) * STEP)
                .map(|latency| (latency, Estimate::of(&shares(latency), 0.95).unwrap()))
                .collect();
            let far = |estimate: &Estimate| (estimate.mean - share).abs();
            let percentile = all.iter().min_by(|a, b| far(&a.1).total_cmp(&far(&b.1))).unwrap();
            let half = percentile.1.half_width.unwrap();
            let inside: Vec<f64> =
                all.iter().filter(|(_, estimate)| far(estimate) <= half).map(|&(latency, _)| latency).collect();
            let (low, high) = (inside[0], inside[inside.len() - 1]);
            let [least, most] = found.interval().unwrap();
            assert!(
                (least - low).abs() <= 3.0 * STEP && (most - high).abs() <= 3.0 * STEP,
                "{found:?}, {low} to {high}"
            );
            assert!((found.mean - percentile.0).abs() <= 3.0 * STEP && low < found.mean && found.mean < high);
        }
    }

    #[test]
    fn a_percentile_is_that_of_all_messages_however_few_runs_there_are() {
        // Four runs, the share of whose messages is too uncertain for an interval of the 99th percentile.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let latencies: Vec<Vec<f64>> = (0..4)
            .map(|run| (0..100).map(|_| 50.0 - 10.0 * f64::from(1 + run) * random.random::<f64>().ln()).collect())
            .collect();
        let runs: Vec<Quantiles> = latencies.iter().cloned().map(quantiles).collect();
        let mut all = latencies.concat();
        all.sort_unstable_by(f64::total_cmp);
        for (share, known) in [(0.5, true), (0.99, false)] {
            let found = estimate(&runs, share);
            let [before, after] = [0.97, 1.03].map(|near| all[((share * near * 400.0) as usize).min(399)]);
            assert!(before <= found.mean && found.mean <= after, "{found:?}: {before} to {after}");
            assert_eq!(found.interval().is_some(), known, "{found:?}");
        }
        // Nor have two runs much to say, and yet their median is between theirs.
        let two = [vec![10.0, 20.0, 30.0], vec![12.0, 28.0, 40.0]].map(quantiles);
        let found = estimate(&two, 0.5);
        assert!(20.0 <= found.mean && found.mean < 28.0 && found.interval().is_none(), "{found:?}");
    }

    #[test]
    fn quantities_of_points_are_such_percentiles() {
        // Two runs without congestion and one with: the median of all messages is not near the mean of the runs' medians.
        let of_runs = [100.0, 100.0, 4000.0].map(|from| quantiles((0..100).map(|i| from + f64::from(i)).collect()));
        let runs = of_runs.clone().map(|quantiles| {
            let latency = Latency { quantiles: Some(quantiles), ..Latency::default() };
            Replication::from(RunResult { latency, ..RunResult::default() })
        });
        let estimate = Quantity::LatencyP50.estimate(&runs, 0.95).unwrap();
        assert_eq!(estimate, found(&of_runs, 0.5).estimate);
        assert!((170.0..180.0).contains(&estimate.mean), "{estimate:?}");
        // Three runs are too few for an interval, and so for values to compare by.
        assert_eq!(Quantity::LatencyP50.of_all(&runs, 0.95), [None; 3]);
        let alike = of_runs.clone().map(|_| Replication::from(runs[0].simulated().expect("in time").clone()));
        let values = found(&vec![of_runs[0].clone(); 3], 0.5).values.into_iter().map(Some).collect::<Vec<_>>();
        assert_eq!(Quantity::LatencyP50.of_all(&alike, 0.95), values);
    }

    #[test]
    fn medians_between_two_groups_are_covered() {
        // Half of the latencies, and a few, are from 100 on, the others from 200 on: the median is at the end of the first group.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let truth = 100.0 + 10.0 * 0.5 / 0.51;
        let (samples, replications) = (1000, 10);
        let (mut held, mut held_by_means) = (0, 0);
        for _ in 0..samples {
            let mut latency = || if random.random_bool(0.51) { 100.0 } else { 200.0 } + 10.0 * random.random::<f64>();
            let runs: Vec<Quantiles> =
                (0..replications).map(|_| quantiles((0..300).map(|_| latency()).collect())).collect();
            let covers = |estimate: Estimate| {
                let [low, high] = estimate.interval().unwrap();
                low <= truth && truth <= high
            };
            held += u32::from(covers(estimate(&runs, 0.5)));
            let medians: Vec<f64> = runs.iter().map(|run| run.at(0.5)).collect();
            held_by_means += u32::from(covers(Estimate::of(&medians, 0.95).unwrap()));
        }
        assert!((930..=970).contains(&held), "{held} of {samples}");
        assert!(held_by_means < 900, "the mean of medians: {held_by_means} of {samples}");
    }

    #[test]
    fn differences_of_two_series_are_paired() {
        // The same chance in both, and the second slower by 5.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let common: Vec<Vec<f64>> = (0..8)
            .map(|run| (0..400).map(|_| 100.0 + 30.0 * f64::from(run) + 50.0 * random.random::<f64>()).collect())
            .collect();
        let one: Vec<Quantiles> = common.iter().cloned().map(quantiles).collect();
        let other: Vec<Quantiles> =
            common.iter().map(|run| quantiles(run.iter().map(|latency| latency + 5.0).collect())).collect();
        let values = |runs: &[Quantiles]| found(runs, 0.5).values;
        let difference = Estimate::of_differences(&values(&other), &values(&one), 0.95).unwrap();
        assert!((difference.mean - 5.0).abs() < 2.0 * STEP && difference.half_width.unwrap() < 0.1, "{difference:?}");
        assert!(estimate(&one, 0.5).half_width.unwrap() > 20.0);
        // Each run of these is slower than the one before.
        assert!(values(&one).is_sorted(), "{:?}", values(&one));
    }
}
