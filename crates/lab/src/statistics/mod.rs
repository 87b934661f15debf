//! Means of independent replications and their confidence intervals.

pub(crate) mod percentile;
pub(crate) mod quantity;
pub(crate) mod summary;
pub(crate) mod table;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A confidence in percent, for messages: with three digits behind the point, or as many more as show that it is less than certain.
///
/// ```
/// use wormcast_lab::in_percent;
///
/// assert_eq!([0.95, 0.9975].map(in_percent), ["95.000", "99.750"]);
/// assert_eq!([0.9999999, 0.99999].map(in_percent), ["99.99999", "99.999"]);
/// ```
pub fn in_percent(confidence: f64) -> String {
    const DIGITS: usize = 3;
    let text = |digits: usize| format!("{:.digits$}", 100.0 * confidence);
    // The last digits of a number next to 1 are those of its binary form.
    let certain = |text: &String| text.starts_with("100.");
    (DIGITS..=16).map(text).find(|text| !certain(text)).unwrap_or_else(|| text(DIGITS))
}

/// The same without the zeros at the end, for captions.
pub(crate) fn in_short_percent(confidence: f64) -> String {
    in_percent(confidence).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An estimated mean, or percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean of the values, or the percentile.
    pub mean: f64,
    /// Half the width of its confidence interval, or its longer side if it has sides of its own; `None` if it is not known, as for
    /// fewer than two values.
    pub half_width: Option<f64>,
    /// The ends of the interval where the estimate is not in its middle: that of a percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
    /// How many values there are.
    pub count: u32,
}

impl Estimate {
    /// The mean of independent values with the Student-t interval of this confidence (between 0 and 1); `None` without values.
    ///
    /// ```
    /// use wormcast_lab::Estimate;
    ///
    /// let estimate = Estimate::of(&[9.0, 10.0, 11.0], 0.95).unwrap();
    /// assert_eq!(estimate.mean, 10.0);
    /// // 4.303, the t quantile for two degrees of freedom, times 1 / sqrt(3).
    /// assert!((estimate.half_width.unwrap() - 2.484).abs() < 1e-3);
    /// ```
    pub fn of(values: &[f64], confidence: f64) -> Option<Self> {
        let count = values.len() as u32;
        if let [first, others @ ..] = values
            && others.iter().all(|value| value.total_cmp(first).is_eq())
        {
            // Their sum would be rounded, and their mean not be what they all are.
            return Some(Self { mean: *first, half_width: (count > 1).then_some(0.0), ends: None, count });
        }
        let mean = mean(values)?;
        let half_width = sample_variance(values)
            .map(|variance| t_quantile(values.len() - 1, confidence) * (variance / f64::from(count)).sqrt());
        Some(Self { mean, half_width, ends: None, count })
    }

    /// With an interval that has these ends.
    pub(crate) fn between(mean: f64, [low, high]: [f64; 2], count: u32) -> Self {
        Self { mean, half_width: Some((high - mean).max(mean - low)), ends: Some([low, high]), count }
    }

    /// Converts to a unit of which `by` make one of the present unit.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        Self {
            mean: self.mean * by,
            half_width: self.half_width.map(|half_width| half_width * by),
            ends: self.ends.map(|ends| ends.map(|end| end * by)),
            ..*self
        }
    }

    /// The ends of the interval, if it is known.
    pub fn interval(&self) -> Option<[f64; 2]> {
        self.ends.or_else(|| self.half_width.map(|half_width| [self.mean - half_width, self.mean + half_width]))
    }

    /// The mean of `values[i] - reference[i]`, pairs of runs with the same random numbers; what only one of them has is left out.
    pub(crate) fn of_differences(values: &[f64], reference: &[f64], confidence: f64) -> Option<Self> {
        Self::of(&differences(values.iter().copied().zip(reference.iter().copied())), confidence)
    }

    /// The mean with as many decimals as its interval makes sense of, and the interval: `12.35 ± 0.23`, or `12.35 (12.20 to 12.58)`.
    pub fn text(&self) -> String {
        match self.ends {
            Some([low, high]) if high - low > noise(self.mean) => {
                let decimals = decimals_of((high - low) / 2.0);
                format!("{:.decimals$} ({low:.decimals$} to {high:.decimals$})", self.mean)
            }
            _ => with_interval(self.mean, self.half_width),
        }
    }

    /// The half width as a share of the mean; `None` without a half width or if the mean is 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.half_width.filter(|_| self.mean != 0.0).map(|half_width| half_width / self.mean.abs())
    }
}

/// What differences of floating-point numbers may be instead of 0.
const NOISE: f64 = 1e-12;

/// The same of numbers that are as large as this one.
fn noise(of: f64) -> f64 {
    NOISE * of.abs().max(1.0)
}

/// The first less the second of each pair. Differences that are equal but for rounding are equal.
pub(crate) fn differences(pairs: impl IntoIterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut largest = 0.0f64;
    let difference = |(one, other): (f64, f64)| {
        largest = largest.max(one.abs()).max(other.abs());
        one - other
    };
    let differences: Vec<f64> = pairs.into_iter().map(difference).collect();
    unless_noise(differences, largest)
}

/// Values that were computed from numbers up to `largest`: if they differ by no more than rounding does, they are all the same, and 0 if that is near.
pub(crate) fn unless_noise(values: Vec<f64>, largest: f64) -> Vec<f64> {
    let noise = NOISE * largest;
    let ends = values
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], &value| [least.min(value), most.max(value)]);
    match values.first() {
        Some(&first) if ends[1] - ends[0] <= noise => {
            vec![if first.abs() <= noise { 0.0 } else { first }; values.len()]
        }
        _ => values,
    }
}

/// The decimals that an interval of this half width makes sense of.
fn decimals_of(half: f64) -> usize {
    (1.0 - half.log10().floor()).clamp(0.0, 13.0) as usize
}

/// A number with as many decimals as its interval makes sense of; with four digits without an interval.
pub(crate) fn with_interval(mean: f64, half_width: Option<f64>) -> String {
    let Some(half) = half_width.filter(|half| *half > noise(mean)) else { return number_text(mean, 4) };
    let decimals = decimals_of(half);
    let text = format!("{mean:.decimals$} ± {half:.decimals$}");
    // A mean that is rounded to 0 has no sign.
    match text.strip_prefix('-') {
        Some(positive) if mean.abs() < 0.5 * 0.1f64.powi(decimals as i32) => positive.to_owned(),
        _ => text,
    }
}

/// A number with so many significant digits, or as many as its whole part has, without zeros at its end.
///
/// ```
/// use wormcast_lab::number_text;
///
/// assert_eq!(number_text(4.722_222, 4), "4.722");
/// assert_eq!(number_text(123_456.7, 4), "123457");
/// ```
pub fn number_text(number: f64, digits: u32) -> String {
    if number.abs() < NOISE {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return number.to_string();
    }
    let decimals = (f64::from(digits) - 1.0 - number.abs().log10().floor()).clamp(0.0, 15.0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The arithmetic mean; `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The unbiased variance, over n - 1; `None` for fewer than two values.
pub(crate) fn sample_variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

/// The number that a Student-t variable exceeds in absolute value with probability 1 - `confidence`.
pub(crate) fn t_quantile(degrees_of_freedom: usize, confidence: f64) -> f64 {
    // Where the tails are long, the general algorithm fails at confidences near 1; these have closed forms.
    match degrees_of_freedom {
        1 => return 1.0 / (std::f64::consts::FRAC_PI_2 * (1.0 - confidence)).tan(),
        2 => return confidence * (2.0 / ((1.0 - confidence) * (1.0 + confidence))).sqrt(),
        _ => {}
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom as f64)
        .map_or(f64::INFINITY, |t| t.inverse_cdf(f64::midpoint(1.0, confidence)))
}

/// The lower end of the one-sided 95% confidence interval of the mean; `None` for fewer than two values.
pub(crate) fn lower_bound(values: &[f64]) -> Option<f64> {
    // One-sided 95% has the quantile of two-sided 90%.
    let estimate = Estimate::of(values, 0.90)?;
    Some(estimate.mean - estimate.half_width?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(given: f64, expected: f64, tolerance: f64) {
        assert!((given - expected).abs() <= tolerance, "{given} is not {expected}");
    }

    #[test]
    fn t_quantiles_are_those_of_the_tables() {
        for (degrees, confidence, expected) in [
            (1, 0.95, 12.706),
            (2, 0.95, 4.303),
            (9, 0.95, 2.262),
            (9, 0.90, 1.833),
            (9, 0.99, 3.250),
            (29, 0.95, 2.045),
            (99, 0.95, 1.984),
            (199, 0.99, 2.601),
        ] {
            close(t_quantile(degrees, confidence), expected, 6e-4);
        }
        // Exact: cot(pi/2 x 1e-9), and sqrt(2 / (1e-9 x (2 - 1e-9))) nearly.
        close(t_quantile(1, 1.0 - 1e-9) / 636_619_772.37, 1.0, 1e-6);
        close(t_quantile(2, 1.0 - 1e-9) / 1e9f64.sqrt(), 1.0, 1e-6);
        // The tails go down as the power of the degrees of freedom, and never up.
        for degrees in 1..40 {
            let quantiles = (1..=12).map(|nines| t_quantile(degrees, 1.0 - 0.1f64.powi(nines)));
            let quantiles: Vec<f64> = quantiles.collect();
            assert!(quantiles.is_sorted_by(|a, b| a < b), "{degrees}: {quantiles:?}");
        }
    }

    #[test]
    fn estimates_are_those_computed_by_hand() {
        // Mean 5, squared deviations 9+1+1+1+0+0+4+16 = 32 over 7.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        close(sample_variance(&values).unwrap(), 32.0 / 7.0, 1e-12);
        let estimate = Estimate::of(&values, 0.95).unwrap();
        close(estimate.mean, 5.0, 1e-12);
        close(estimate.half_width.unwrap(), 2.3646 * (32.0f64 / 56.0).sqrt(), 1e-3);
        close(estimate.relative_half_width().unwrap(), estimate.half_width.unwrap() / 5.0, 1e-12);
        close(lower_bound(&values).unwrap(), 5.0 - 1.8946 * (32.0f64 / 56.0).sqrt(), 1e-3);
    }

    #[test]
    fn equal_values_have_no_interval_whatever_their_sum_is_rounded_to() {
        for count in 2..40 {
            for value in [4.9625, 0.1, 663.5 - 459.6875, 1.0 / 3.0, -2143.25 / 7.0] {
                let estimate = Estimate::of(&vec![value; count], 0.95).unwrap();
                assert_eq!((estimate.mean, estimate.half_width), (value, Some(0.0)), "{count}");
            }
            // The same difference of values that are not the same.
            let pairs = (0..count).map(|i| (i as f64 / 7.0 + 0.3, i as f64 / 7.0 + 0.1));
            let estimate = Estimate::of(&differences(pairs), 0.95).unwrap();
            assert_eq!(estimate.half_width, Some(0.0), "{count}");
            close(estimate.mean, 0.2, 1e-12);
            assert!(differences((0..count).map(|i| (0.1 + 0.2 + i as f64, 0.3 + i as f64))).iter().all(|&d| d == 0.0));
        }
        // What differs by more than rounding does differs.
        let apart = differences([(1000.0, 999.0), (1000.0, 999.0 - 1e-8)]);
        assert!(Estimate::of(&apart, 0.95).unwrap().half_width.unwrap() > 1e-9);
    }

    #[test]
    fn numbers_have_the_decimals_that_their_intervals_make_sense_of() {
        assert_eq!(with_interval(12.3456, Some(0.234)), "12.35 ± 0.23");
        assert_eq!(with_interval(1234.5, Some(23.4)), "1234 ± 23");
        assert_eq!(with_interval(0.012_341, Some(0.000_123)), "0.01234 ± 0.00012");
        assert_eq!(with_interval(5.0, Some(0.0)), "5");
        assert_eq!(with_interval(0.123_456, None), "0.1235");
        assert_eq!(with_interval(1024.0, None), "1024");
        assert_eq!(with_interval(-0.0, None), "0");
        assert_eq!(with_interval(-1e-17, Some(3e-17)), "0");
        assert_eq!(with_interval(-0.001, Some(0.5)), "0.00 ± 0.50");
        assert_eq!(with_interval(-0.1, Some(0.5)), "-0.10 ± 0.50");
        for (number, text) in
            [(0.003_25, "0.00325"), (0.304_12, "0.3041"), (2.5, "2.5"), (1.444_4, "1.444"), (12_345.6, "12346")]
        {
            assert_eq!(number_text(number, 4), text);
        }
    }

    #[test]
    fn intervals_with_sides_of_their_own_are_shown_by_their_ends() {
        let skewed = Estimate::between(160.7, [154.2, 187.9], 10);
        close(skewed.half_width.unwrap(), 27.2, 1e-9);
        assert_eq!((skewed.text().as_str(), skewed.interval()), ("161 (154 to 188)", Some([154.2, 187.9])));
        assert_eq!(skewed.scaled(0.01).text(), "1.61 (1.54 to 1.88)");
        let symmetric = Estimate { mean: 5.0, half_width: Some(1.0), ends: None, count: 3 };
        assert_eq!((symmetric.interval(), symmetric.scaled(2.0).half_width), (Some([4.0, 6.0]), Some(2.0)));
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(Estimate::of(&[], 0.95), None);
        assert_eq!(Estimate::of(&[3.0], 0.95), Some(Estimate { mean: 3.0, half_width: None, ends: None, count: 1 }));
        assert_eq!(Estimate::of(&[3.0, 3.0], 0.95).unwrap().half_width, Some(0.0));
        assert_eq!(Estimate::of(&[0.0, 0.0], 0.95).unwrap().relative_half_width(), None);
    }

    #[test]
    fn paired_differences_are_tighter_than_separate_intervals() {
        // Common noise cancels.
        let noise = [10.0, -20.0, 30.0, 5.0, -15.0];
        let a: Vec<f64> = noise.iter().map(|x| 100.0 + x).collect();
        let b: Vec<f64> = noise.iter().enumerate().map(|(i, x)| 110.0 + x + 0.1 * i as f64).collect();
        let difference = Estimate::of_differences(&b, &a, 0.95).unwrap();
        close(difference.mean, 10.2, 1e-9);
        assert!(difference.half_width.unwrap() < 0.25);
        assert!(Estimate::of(&a, 0.95).unwrap().half_width.unwrap() > 20.0);
        assert_eq!(Estimate::of_differences(&b, &a[..2], 0.95).unwrap().count, 2);
    }
}
