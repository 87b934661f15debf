//! The distribution of a run's latencies, in a form that can be combined over several runs.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The percentiles that are asked for, around which the shares are densest.
pub(crate) const PERCENTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// How far shares are from a percentile p, in units of the square root of p (1 - p), the deviation of the share of one message. Of
/// several runs those shares matter that are within a few deviations of all messages of a run; the closer, the finer.
const OFFSETS: [f64; 27] = [
    0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.07, 0.085, 0.1, 0.12, 0.145, 0.175, 0.21,
    0.25, 0.3, 0.36, 0.43, 0.5, 0.6, 0.72, 0.86, 1.0,
];

/// The shares at which every run has a quantile, increasing from 0 to 1.
pub(crate) static SHARES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let around = |p: f64| {
        let unit = (p * (1.0 - p)).sqrt();
        OFFSETS.into_iter().flat_map(move |offset| [p - offset * unit, p + offset * unit])
    };
    let rounded = PERCENTILES.into_iter().flat_map(around).map(|share| (share * 1e5).round() / 1e5);
    let mut shares: Vec<f64> = rounded.filter(|share| (0.01..=0.9995).contains(share)).chain([0.0, 1.0]).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.dedup();
    shares
});

/// Quantiles of a run's latencies, in cycles: pairs of a share and the latency below which so large a share of the messages is, both
/// increasing, with straight lines between them.
///
/// Unlike nearest ranks they can be put together with those of other runs: the quantile of a share p is at the rank p (n + 1/2) of n values in
/// order, between those at the whole ranks around it, with equal values, which are whole cycles, spread evenly over the cycle around
/// them. There are 136 pairs, densest around the median, the 95th and the 99th percentile.
///
/// ```
/// use wormcast_simulation::Quantiles;
///
/// let quantiles = Quantiles::new(vec![(0.0, 99.5), (0.5, 120.0), (1.0, 200.5)]);
/// assert_eq!(quantiles.at(0.25), 109.75);
/// assert_eq!(quantiles.share_below(109.75), 0.25);
/// assert_eq!(quantiles.share_below(500.0), 1.0);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// Makes quantiles of one or more pairs of a share and a latency: shares increase, and latencies do not decrease.
    pub fn new(pairs: Vec<(f64, f64)>) -> Self {
        debug_assert!(!pairs.is_empty(), "no quantiles");
        debug_assert!(pairs.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{pairs:?}");
        Self(pairs)
    }

    /// The pairs of a share and a latency.
    pub fn pairs(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// The latency below which this share of the messages is.
    pub fn at(&self, share: f64) -> f64 {
        let place = self.0.partition_point(|pair| pair.0 < share);
        match (place.checked_sub(1).map(|before| self.0[before]), self.0.get(place)) {
            (Some(below), Some(&above)) => below.1 + (share - below.0) / (above.0 - below.0) * (above.1 - below.1),
            (None, Some(&(_, least))) => least,
            (Some((_, most)), None) => most,
            (None, None) => f64::NAN,
        }
    }

    /// The share of messages below this latency.
    pub fn share_below(&self, latency: f64) -> f64 {
        let place = self.0.partition_point(|pair| pair.1 < latency);
        match (place.checked_sub(1).map(|before| self.0[before]), self.0.get(place)) {
            (Some(below), Some(&above)) => below.0 + (latency - below.1) / (above.1 - below.1) * (above.0 - below.0),
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_densest_around_the_percentiles() {
        let shares = &*SHARES;
        assert_eq!((shares.len(), shares[0], shares[shares.len() - 1]), (136, 0.0, 1.0));
        for percentile in PERCENTILES {
            let place =
                shares.iter().position(|&share| share.total_cmp(&percentile).is_eq()).expect("a share of its own");
            let unit = (percentile * (1.0 - percentile)).sqrt();
            assert!(
                shares[place + 1] - shares[place] < 0.006 * unit && shares[place] - shares[place - 1] < 0.006 * unit
            );
        }
    }

    #[test]
    fn shares_and_quantiles_are_inverse() {
        let quantiles = Quantiles::new(vec![(0.0, 10.0), (0.25, 20.0), (0.5, 20.0), (1.0, 40.0)]);
        for (share, latency) in [(0.0, 10.0), (0.125, 15.0), (0.25, 20.0), (0.75, 30.0), (1.0, 40.0)] {
            assert!((quantiles.at(share) - latency).abs() < 1e-12, "{share}");
            assert!((quantiles.share_below(latency) - share).abs() < 1e-12, "{latency}");
        }
        assert!((quantiles.at(0.4) - 20.0).abs() < 1e-12, "between equal ones");
        assert_eq!((quantiles.share_below(5.0), quantiles.share_below(41.0)), (0.0, 1.0));
        let single = Quantiles::new(vec![(0.5, 7.0)]);
        assert_eq!((single.at(0.1), single.at(0.9), single.share_below(8.0)), (7.0, 7.0, 1.0));
    }

    #[test]
    fn quantiles_are_pairs_in_json() {
        let quantiles = Quantiles::new(vec![(0.0, 10.0), (1.0, 40.5)]);
        let text = serde_json::to_string(&quantiles).expect("JSON");
        assert_eq!(text, "[[0.0,10.0],[1.0,40.5]]");
        assert_eq!(serde_json::from_str::<Quantiles>(&text).expect("its own"), quantiles);
    }
}
