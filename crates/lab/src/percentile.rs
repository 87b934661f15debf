//! Percentiles of the messages of several runs, with confidence intervals.

use wormcast_simulation::Quantiles;

use crate::statistics::{mean, sample_variance, t_quantile};

/// What runs store latencies to, in cycles.
const STEP: f64 = 1e-3;

/// A value for each run, whose mean and Student-t interval of this confidence are an estimate of the latency below which this share of the
/// messages is. Runs count alike.
///
/// The mean over runs of their percentiles would not do: where latencies come in groups, a percentile that falls into a gap jumps from run
/// to run. The share of messages below a latency does not, and its mean over runs has a Student-t interval. So the interval of the
/// percentile is from the latency below which the share is on average as much less, to that below which it is as much more, as the
/// shares below the percentile itself are uncertain by; and the estimate is its middle. Each run's value is as far from that as its share is
/// from the mean share, scaled to the interval: differences of the values of two series are paired as those of means are.
pub(crate) fn of_runs(runs: &[&Quantiles], share: f64, confidence: f64) -> Vec<f64> {
    if runs.len() < 2 {
        return runs.iter().map(|run| run.at(share)).collect();
    }
    let below = |latency: f64| -> Vec<f64> { runs.iter().map(|run| run.share_below(latency)).collect() };
    let ends =
        |of: fn(&Quantiles) -> Option<&(f64, f64)>| runs.iter().filter_map(move |run| of(run)).map(|pair| pair.1);
    let least = ends(|run| run.pairs().first()).fold(f64::INFINITY, f64::min);
    let most = ends(|run| run.pairs().last()).fold(least, f64::max);
    let steps = ((most - least) / STEP).ceil() as u64;
    // Below which so many are on average.
    let latency_at = |share: f64| {
        let reached = |step: u64| mean(&below(least + step as f64 * STEP)).is_some_and(|mean| mean >= share);
        least + first(steps, reached) as f64 * STEP
    };
    let percentile = latency_at(share);
    let shares = below(percentile);
    let n = runs.len() as f64;
    let deviation = sample_variance(&shares).unwrap_or_default().sqrt() / n.sqrt();
    // That of equal shares is 0 but for rounding.
    if deviation <= f64::EPSILON {
        return vec![percentile; runs.len()];
    }
    let half = t_quantile(runs.len() - 1, confidence) * deviation;
    let (low, high) = (latency_at(share - half), latency_at(share + half));
    let middle = mean(&shares).unwrap_or_default();
    shares.iter().map(|of_run| f64::midpoint(low, high) + (middle - of_run) * (high - low) / (2.0 * half)).collect()
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

    use super::*;
    use crate::statistics::Estimate;

    /// The quantiles of some latencies, one for each.
    fn quantiles(mut latencies: Vec<f64>) -> Quantiles {
        latencies.sort_unstable_by(f64::total_cmp);
        let ranks = 1..=latencies.len();
        let share = |rank: usize| rank as f64 / (latencies.len() as f64 + 0.5);
        Quantiles::new(ranks.map(|rank| (share(rank), latencies[rank - 1])).collect())
    }

    fn estimate(runs: &[Quantiles], share: f64) -> Estimate {
        let values = of_runs(&runs.iter().collect::<Vec<_>>(), share, 0.95);
        assert_eq!(values.len(), runs.len());
        Estimate::of(&values, 0.95).unwrap()
    }

    #[test]
    fn one_run_has_its_own_and_equal_runs_have_no_interval() {
        let run = quantiles((1..=1000).map(f64::from).collect());
        assert_eq!(of_runs(&[&run], 0.95, 0.95), [run.at(0.95)]);
        let all = estimate(&vec![run.clone(); 5], 0.95);
        assert_eq!(all.half_width, Some(0.0));
        assert!((all.mean - run.at(0.95)).abs() <= STEP);
        assert!(of_runs(&[], 0.5, 0.95).is_empty());
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
            assert!((found.mean - f64::midpoint(low, high)).abs() <= 3.0 * STEP, "{found:?}, {low} to {high}");
            assert!((found.half_width.unwrap() - (high - low) / 2.0).abs() <= 3.0 * STEP, "{found:?}, {low} to {high}");
            assert!(low < percentile.0 && percentile.0 < high);
        }
    }

    #[test]
    fn an_interval_ends_where_latencies_do() {
        // Two runs are so uncertain that the share may be anything.
        let runs = [vec![10.0, 20.0, 30.0], vec![12.0, 28.0, 40.0]].map(quantiles);
        let found = estimate(&runs, 0.5);
        assert!((found.mean - 25.0).abs() < 1e-9 && (found.half_width.unwrap() - 15.0).abs() < 1e-9, "{found:?}");
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
            let covers = |estimate: Estimate| (estimate.mean - truth).abs() <= estimate.half_width.unwrap();
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
        let values = |runs: &[Quantiles]| of_runs(&runs.iter().collect::<Vec<_>>(), 0.95, 0.95);
        let difference = Estimate::of_differences(&values(&other), &values(&one), 0.95).unwrap();
        assert!((difference.mean - 5.0).abs() < 2.0 * STEP && difference.half_width.unwrap() < 0.1, "{difference:?}");
        assert!(estimate(&one, 0.95).half_width.unwrap() > 20.0);
        // Each run of these is slower than the one before.
        assert!(values(&one).is_sorted(), "{:?}", values(&one));
    }
}
