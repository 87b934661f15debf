//! Latencies of any number of messages in bounded memory: an exact mean, and percentiles.

use std::collections::BTreeMap;

use crate::result::Distribution;

/// Up to so many values are kept, and percentiles are exact; beyond it, they are counted in classes.
const KEPT: usize = 1 << 20;

/// Binary digits after the first that tell the classes apart, so that a percentile from classes is at most this share of itself too
/// low: 2^-14. Whole numbers below 2^15 have classes of their own.
const DIGITS: u32 = 14;

/// Values of which each is a sum of latencies over a number of destinations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    count: u64,
    /// Sums of latencies by their divisors. Whole numbers: the order in which messages complete does not matter.
    sums: BTreeMap<u32, u128>,
    most: f64,
    values: Values,
}

#[derive(Clone, Debug, Default)]
struct Values {
    /// All of them, while they are few.
    kept: Vec<f64>,
    /// How many there are in each class; empty while they are kept.
    classes: Vec<u64>,
}

impl Sample {
    /// Adds `sum / divisor`.
    pub(crate) fn add(&mut self, sum: u64, divisor: u32) {
        *self.sums.entry(divisor).or_default() += u128::from(sum);
        let value = sum as f64 / f64::from(divisor);
        self.count += 1;
        self.most = self.most.max(value);
        self.values.add(value);
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The values of both.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.count += other.count;
        self.most = self.most.max(other.most);
        for (&divisor, &sum) in &other.sums {
            *self.sums.entry(divisor).or_default() += sum;
        }
        other.values.kept.iter().for_each(|&value| self.values.add(value));
        self.values.add_classes(&other.values.classes);
        self
    }

    /// The mean; `None` without values.
    pub(crate) fn mean(&self) -> Option<f64> {
        let total: f64 = self.sums.iter().map(|(&divisor, &sum)| sum as f64 / f64::from(divisor)).sum();
        (self.count > 0).then(|| total / self.count as f64)
    }

    /// A summary of the values, percentiles by nearest rank.
    pub(crate) fn distribution(self, cycle_ns: f64) -> Distribution {
        let Some(mean) = self.mean() else { return Distribution::default() };
        let [p50, p95, p99] = self.values.at([0.5, 0.95, 0.99], self.count);
        Distribution {
            mean: Some(mean),
            mean_ns: Some(mean * cycle_ns),
            p50: Some(p50),
            p95: Some(p95),
            p99: Some(p99),
            max: Some(self.most),
        }
    }
}

impl Values {
    fn add(&mut self, value: f64) {
        if self.classes.is_empty() && self.kept.len() < KEPT {
            self.kept.push(value);
        } else {
            self.classify();
            self.count(class_of(value), 1);
        }
    }

    fn add_classes(&mut self, classes: &[u64]) {
        if !classes.is_empty() {
            self.classify();
            classes.iter().enumerate().for_each(|(class, &count)| self.count(class, count));
        }
    }

    /// Counts what was kept.
    fn classify(&mut self) {
        for value in std::mem::take(&mut self.kept) {
            self.count(class_of(value), 1);
        }
    }

    fn count(&mut self, class: usize, count: u64) {
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += count;
    }

    /// The values at these shares of the order, which increase, of `count` values.
    fn at<const N: usize>(mut self, shares: [f64; N], count: u64) -> [f64; N] {
        let place = |share: f64| ((share * count as f64).ceil() as u64).clamp(1, count) - 1;
        if self.classes.is_empty() {
            // Each is found among the values from the one before on: no need to sort all.
            let mut from = 0;
            return shares.map(|share| {
                let place = place(share) as usize;
                let (_, value, _) = self.kept[from..].select_nth_unstable_by(place - from, f64::total_cmp);
                from = place;
                *value
            });
        }
        let (mut class, mut below) = (0, 0);
        shares.map(|share| {
            while below + self.classes[class] <= place(share) {
                below += self.classes[class];
                class += 1;
            }
            least_of(class)
        })
    }
}

/// The class of a value: its exponent and its first binary digits. Everything below 1 is in the first.
fn class_of(value: f64) -> usize {
    (value.to_bits() >> (f64::MANTISSA_DIGITS - 1 - DIGITS)).saturating_sub(FIRST) as usize
}

/// The least value of a class.
fn least_of(class: usize) -> f64 {
    if class == 0 { 0.0 } else { f64::from_bits((class as u64 + FIRST) << (f64::MANTISSA_DIGITS - 1 - DIGITS)) }
}

/// The digits of the number just below 1, to this precision: that of the first class.
const FIRST: u64 = (1.0f64.to_bits() >> (f64::MANTISSA_DIGITS - 1 - DIGITS)) - 1;

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "percentiles are values of the sample")]
mod tests {
    use super::*;

    fn nearest_rank(sorted: &[f64], share: f64) -> f64 {
        sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
    }

    #[test]
    fn values_have_the_percentiles_of_the_sorted_list() {
        let mut sample = Sample::default();
        let mut all = Vec::new();
        for i in 0..1000u64 {
            let (sum, divisor) = ((i * 7919) % 1013, 1 + (i % 3) as u32);
            sample.add(sum, divisor);
            all.push(sum as f64 / f64::from(divisor));
        }
        all.sort_unstable_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / 1000.0;
        let found = sample.distribution(2.0);
        assert!((found.mean.unwrap() - mean).abs() < 1e-9);
        assert_eq!(found.mean_ns.unwrap(), found.mean.unwrap() * 2.0);
        for (found, share) in [(found.p50, 0.5), (found.p95, 0.95), (found.p99, 0.99), (found.max, 1.0)] {
            assert_eq!(found, Some(nearest_rank(&all, share)));
        }
    }

    #[test]
    fn classes_are_exact_for_small_numbers_and_close_for_large_ones() {
        for value in (0..40_000).chain((1..400).map(|i| i * 104_729)) {
            let value = f64::from(value);
            let least = least_of(class_of(value));
            assert!(least <= value && value - least <= value / f64::from(1 << DIGITS), "{value} is taken for {least}");
            assert!(value >= 32_768.0 || least == value, "{value} is taken for {least}");
        }
    }

    #[test]
    fn more_values_than_are_kept_are_summed_up_alike() {
        // Three times as many as are kept, in an order that mixes small and large.
        let count = 3 * KEPT as u64;
        let value = |i: u64| (i * 2_654_435_761) % 1_000_003;
        let mut sample = Sample::default();
        let mut all: Vec<f64> = (0..count).map(|i| value(i) as f64).collect();
        (0..count).for_each(|i| sample.add(value(i), 1));
        assert!(sample.values.kept.is_empty() && sample.values.classes.len() < 400_000);
        all.sort_unstable_by(f64::total_cmp);
        let halves = (0..2).map(|half| {
            let mut sample = Sample::default();
            (0..count).filter(|i| i % 2 == half).for_each(|i| sample.add(value(i), 1));
            sample
        });
        let merged = halves.reduce(|one, other| one.with(&other)).unwrap();
        assert_eq!(merged.mean(), sample.mean());
        let (found, merged) = (sample.distribution(1.0), merged.distribution(1.0));
        assert_eq!(found, merged);
        assert_eq!(found.max, all.last().copied());
        for (found, share) in [(found.p50, 0.5), (found.p95, 0.95), (found.p99, 0.99)] {
            let (found, exact) = (found.unwrap(), nearest_rank(&all, share));
            assert!(found <= exact && exact - found <= exact / f64::from(1 << DIGITS), "{found} for {exact}");
        }
    }

    #[test]
    fn the_order_of_values_does_not_matter() {
        let mut forwards = Sample::default();
        let mut backwards = Sample::default();
        let of = |i: u64| (1_000_000 + i * i, 1 + (i % 7) as u32);
        (0..999).map(of).for_each(|(sum, divisor)| forwards.add(sum, divisor));
        (0..999).rev().map(of).for_each(|(sum, divisor)| backwards.add(sum, divisor));
        assert_eq!(forwards.distribution(5.0), backwards.distribution(5.0));
        assert_eq!(Sample::default().distribution(5.0), Distribution::default());
    }
}
