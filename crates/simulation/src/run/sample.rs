//! Latencies of any number of messages in bounded memory: an exact mean, and percentiles.

use std::collections::BTreeMap;

use crate::run::quantiles::{PERCENTILES, Quantiles, SHARES};
use crate::run::result::Distribution;

/// Up to this many values are kept, and percentiles are exact; beyond, values are counted in classes.
const KEPT: usize = 1 << 20;

/// Binary digits after the first that tell the classes apart, so that a percentile from classes is at most this share of itself too
/// low: 2^-14. Whole numbers below 2^15 have classes of their own.
const DIGITS: u32 = 14;

/// Values of which each is a sum of latencies over a number of destinations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    count: u64,
    /// Sums of latencies by their divisors, that of the divisor 1 apart. Whole numbers: the order in which messages complete does not matter.
    whole: u128,
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
    #[inline]
    pub(crate) fn add(&mut self, sum: u64, divisor: u32) {
        let value = if divisor == 1 {
            self.whole += u128::from(sum);
            sum as f64
        } else {
            *self.sums.entry(divisor).or_default() += u128::from(sum);
            sum as f64 / f64::from(divisor)
        };
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
        if self.count == 0 {
            return other.clone();
        }
        self.count += other.count;
        self.most = self.most.max(other.most);
        self.whole += other.whole;
        for (&divisor, &sum) in &other.sums {
            *self.sums.entry(divisor).or_default() += sum;
        }
        other.values.kept.iter().for_each(|&value| self.values.add(value));
        self.values.add_classes(&other.values.classes);
        self
    }

    /// The mean; `None` without values.
    pub(crate) fn mean(&self) -> Option<f64> {
        let parts = self.sums.iter().map(|(&divisor, &sum)| sum as f64 / f64::from(divisor));
        let total = parts.fold(self.whole as f64, |total, part| total + part);
        (self.count > 0).then(|| total / self.count as f64)
    }

    /// A summary of the values, percentiles by nearest rank.
    pub(crate) fn distribution(&mut self, cycle_ns: f64) -> Distribution {
        let Some(mean) = self.mean() else { return Distribution::default() };
        let nearest = |share: f64| ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
        let found = self.values.at(PERCENTILES.into_iter().map(nearest));
        let mut found = found.into_iter().map(|tied| tied.value);
        Distribution {
            mean: Some(mean),
            mean_ns: Some(mean * cycle_ns),
            p50: found.next(),
            p95: found.next(),
            p99: found.next(),
            max: Some(self.most),
        }
    }

    /// Quantiles that can be combined with those of other samples, to a thousandth; `None` without values.
    ///
    /// A nearest rank jumps from value to value and lies below the quantile in the tail of a small sample. So the rank is p (n + 1/2),
    /// at which the mean over samples of an exponential tail is right, between the values at the two whole ranks around it; and
    /// equal values, which are whole cycles, count as spread evenly over the cycle around them.
    pub(crate) fn quantiles(&mut self) -> Option<Quantiles> {
        let count = self.count;
        if count == 0 {
            return None;
        }
        let ranks = || SHARES.iter().map(|share| (share * (count as f64 + 0.5)).clamp(1.0, count as f64));
        let below = self.values.at(ranks().map(|rank| rank as u64));
        let above = self.values.at(ranks().map(|rank| (rank as u64 + 1).min(count)));
        let mut pairs = Vec::with_capacity(SHARES.len());
        let mut least = f64::NEG_INFINITY;
        for (((&share, rank), below), above) in SHARES.iter().zip(ranks()).zip(below).zip(above) {
            let low = below.spread(rank.floor());
            let high = above.spread((rank.floor() + 1.0).min(count as f64));
            let value = ((low + rank.fract() * (high - low)) * 1e3).round() / 1e3;
            // Classes of large values are wider than the cycle over which equal values are spread.
            least = value.max(least);
            pairs.push((share, least));
        }
        Some(Quantiles::new(pairs))
    }
}

/// A value of a sample, with its equals.
#[derive(Clone, Copy, Debug)]
struct Tied {
    value: f64,
    /// How many are smaller.
    below: u64,
    /// How many are equal.
    equal: u64,
}

impl Tied {
    /// The value at this rank, from 1 on, one of those of the equals, if these are spread over a cycle.
    fn spread(self, rank: f64) -> f64 {
        self.value - 0.5 + (rank - self.below as f64) / (self.equal as f64 + 1.0)
    }
}

impl Values {
    #[inline]
    fn add(&mut self, value: f64) {
        if self.classes.is_empty() && self.kept.len() < KEPT {
            self.kept.push(value);
        } else {
            self.add_to_class(value);
        }
    }

    #[inline(never)]
    fn add_to_class(&mut self, value: f64) {
        self.classify();
        self.count(class_of(value), 1);
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

    /// The values at these ranks, from 1 on, which do not decrease.
    fn at(&mut self, ranks: impl Iterator<Item = u64>) -> Vec<Tied> {
        if self.classes.is_empty() {
            sort(&mut self.kept);
            let tied = |rank: u64| {
                let value = self.kept[rank as usize - 1];
                let below = self.kept.partition_point(|&other| other < value);
                let equal = self.kept[below..].partition_point(|&other| other <= value);
                Tied { value, below: below as u64, equal: equal as u64 }
            };
            return ranks.map(tied).collect();
        }
        let (mut class, mut below) = (0, 0);
        let tied = |rank: u64| {
            while below + self.classes[class] < rank {
                below += self.classes[class];
                class += 1;
            }
            Tied { value: least_of(class), below, equal: self.classes[class] }
        };
        ranks.map(tied).collect()
    }
}

/// Sorts values of which none is negative.
fn sort(values: &mut [f64]) {
    if values.is_sorted() {
        return;
    }
    // Latencies are small whole numbers, if they are not means over destinations: counting each is quicker than comparing them.
    let limit = 2 * values.len() as u64;
    let mut counts = Vec::new();
    for &value in &*values {
        let whole = value as u64;
        if (whole as f64).to_bits() != value.to_bits() || whole >= limit {
            // They have the order of their bits.
            return values.sort_unstable_by_key(|value| value.to_bits());
        }
        if counts.len() <= whole as usize {
            counts.resize(whole as usize + 1, 0u32);
        }
        counts[whole as usize] += 1;
    }
    let mut place = 0;
    for (whole, count) in counts.into_iter().enumerate() {
        values[place..place + count as usize].fill(whole as f64);
        place += count as usize;
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
    use rand::SeedableRng as _;
    use rand_distr::{Distribution as _, Exp};
    use rand_xoshiro::Xoshiro256PlusPlus;

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
        let mut merged = halves.reduce(|one, other| one.with(&other)).unwrap();
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
    fn values_are_sorted_by_counting_or_by_comparing() {
        let noise = |i: u64| (i * 7919) % 1013;
        let whole: Vec<f64> = (0..600).map(|i| noise(i) as f64).collect();
        let with = |value: f64| whole.iter().copied().chain([value, 3.0]).collect::<Vec<_>>();
        // Counted; then with a fraction, beyond the counts, and the largest that there is.
        for values in [vec![], vec![0.0], whole.clone(), with(0.5), with(1204.0), with(1e300), with(f64::MAX)] {
            let (mut found, mut expected) = (values.clone(), values);
            sort(&mut found);
            expected.sort_by(f64::total_cmp);
            assert_eq!(found, expected);
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

    #[test]
    fn equal_values_are_spread_over_their_cycle() {
        let mut sample = Sample::default();
        (0..300).for_each(|_| sample.add(50, 1));
        (0..200).for_each(|_| sample.add(100, 1));
        let found = sample.quantiles().unwrap();
        // Rank 250.25 of 300 in one cycle, and ranks 475.475 and 495.495, so the 175th and 195th of 200 and a bit.
        for (share, exact) in
            [(0.5, 49.5 + 250.25 / 301.0), (0.95, 99.5 + 175.475 / 201.0), (0.99, 99.5 + 195.495 / 201.0)]
        {
            assert!((found.at(share) - exact).abs() <= 5e-4, "{share}: {} is not {exact}", found.at(share));
        }
        assert!((found.share_below(75.0) - 0.6).abs() < 0.01, "three fifths are below");
        let mut one = Sample::default();
        one.add(7, 1);
        assert!(one.quantiles().unwrap().pairs().iter().all(|&(_, value)| value == 7.0));
        assert_eq!(Sample::default().quantiles(), None);
    }

    #[test]
    fn quantiles_of_many_values_are_those_of_few() {
        // Values large enough for classes of several cycles.
        let value = |i: u64| 30_000 + (i * 2_654_435_761) % 100_003;
        let (mut kept, mut classed) = (Sample::default(), Sample::default());
        (0..50_000).for_each(|i| kept.add(value(i), 1));
        (0..2_000_000).for_each(|i| classed.add(value(i), 1));
        assert!(!classed.values.classes.is_empty());
        let (kept, classed) = (kept.quantiles().unwrap(), classed.quantiles().unwrap());
        for (&(share, few), &(_, many)) in kept.pairs().iter().zip(classed.pairs()) {
            // A class is at most eight cycles wide here, and 50,000 of 100,003 numbers are within a few of all.
            assert!((few - many).abs() < 40.0, "{share}: {few} and {many}");
        }
    }

    #[test]
    fn quantiles_of_small_samples_are_right_on_average() {
        // Of an exponential distribution with the mean 10,000: 2000 samples of 500.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let exponential = Exp::new(1e-4).unwrap();
        let samples = 2000;
        let (mut averaged, mut nearest) = ([0.0; 3], 0.0);
        for _ in 0..samples {
            let mut sample = Sample::default();
            (0..500).for_each(|_| sample.add(f64::round(exponential.sample(&mut random)) as u64, 1));
            let found = sample.quantiles().unwrap();
            for (sum, share) in averaged.iter_mut().zip(PERCENTILES) {
                *sum += found.at(share) / f64::from(samples);
            }
            nearest += sample.distribution(1.0).p99.unwrap() / f64::from(samples);
        }
        // Standard errors: 10, 44 and 100.
        for (value, (share, tolerance)) in averaged.into_iter().zip([(0.5f64, 40.0), (0.95, 150.0), (0.99, 350.0)]) {
            let exact = -10_000.0 * (1.0 - share).ln();
            assert!((value - exact).abs() < tolerance, "{value} instead of {exact}");
        }
        // The nearest rank is too low by far more than that.
        assert!(nearest < -10_000.0 * 0.01f64.ln() - 600.0, "{nearest}");
    }
}
