//! Warm-up removal by the MSER-5 rule.

/// How many of the first observations to discard, at most `most` of them.
///
/// MSER-5 (White 1997; White, Cobb and Spratt 2000): of the means of batches of five, discard the first d, where d minimises the
/// squared standard error of what is left, `sum (y - mean)^2 / (n - d)^2`. O(observations).
pub(crate) fn mser_5(observations: &[f64], most: usize) -> usize {
    const BATCH: usize = 5;
    let batches: Vec<f64> =
        observations.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end: the statistics of what is left grow by one batch a step (Welford).
    for (discarded, &batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let delta: f64 = batch - mean;
        mean += delta / count;
        squares += delta * (batch - mean);
        if discarded * BATCH <= most {
            let error = squares / (count * count);
            if error <= best.0 {
                best = (error, discarded * BATCH);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_discarded_and_a_constant_is_not() {
        let mut ramp: Vec<f64> = (0..100).map(f64::from).collect();
        ramp.extend((0..900).map(|i| 100.0 + f64::from(i % 7)));
        let discarded = mser_5(&ramp, 500);
        assert!((85..=105).contains(&discarded), "{discarded}");
        assert_eq!(mser_5(&[3.0; 200], 100), 0);
        assert_eq!(mser_5(&ramp, 40), 40);
        assert_eq!(mser_5(&[1.0, 2.0], 1), 0);
    }

    /// The definition, straight.
    #[test]
    fn agrees_with_the_definition() {
        let data: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 23) + 200.0 / f64::from(i + 1)).collect();
        let batches: Vec<f64> = data.chunks_exact(5).map(|b| b.iter().sum::<f64>() / 5.0).collect();
        let error = |d: usize| {
            let left = &batches[d..];
            let mean = left.iter().sum::<f64>() / left.len() as f64;
            left.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (left.len() as f64).powi(2)
        };
        let best = (0..=6).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap();
        assert_eq!(mser_5(&data, 30), best * 5);
    }
}
