//! The measured messages of a steady run in batches: whether messages pile up, and whether the mean depends on the window.

use crate::observers::observer::Cycle;

/// How many batches a window has.
pub(crate) const BATCHES: usize = 20;

/// The share of the deliveries asked for by which a run may fall behind before it counts as saturated.
pub const BACKLOG: f64 = 0.02;

/// Batches that it takes to judge saturation.
const TELLING: usize = 5;

/// What a Student-t variable with 4, 5, … 19 degrees of freedom exceeds with probability 1%.
#[allow(clippy::approx_constant, reason = "2.718 is a quantile here")]
const T_99: [f64; BATCHES - TELLING + 1] =
    [3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.718, 2.681, 2.650, 2.624, 2.602, 2.583, 2.567, 2.552, 2.539];

/// The correlation of neighbours that 20 independent values exceed with probability 1%: -1/20, and 2.33 standard deviations.
const CORRELATED: f64 = 0.45;

/// What a standard normal variable exceeds in absolute value with probability 1%.
const Z_99: f64 = 2.576;

/// Figures of one batch.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    /// The cycle in which its first message was generated.
    from: Cycle,
    /// Deliveries that its messages ask for.
    offered: u64,
    /// Deliveries, of whatever message, while its messages were generated.
    delivered: u64,
    /// Of its messages, those that are complete, and the sum of their latencies.
    complete: u64,
    sum: u128,
}

/// A window's messages, split into batches of equal numbers in the order in which they are generated.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    messages: u64,
    all: [Batch; BATCHES],
    /// The batch whose messages are being generated; none before the window and after it.
    current: Option<usize>,
}

impl Batches {
    /// For a window of so many messages; `None` for fewer than two a batch.
    pub(crate) fn new(messages: u64) -> Option<Self> {
        let all = [Batch::default(); BATCHES];
        (messages >= 2 * BATCHES as u64).then_some(Self { messages, all, current: None })
    }

    fn of(&self, message: u64) -> usize {
        match message.checked_mul(BATCHES as u64) {
            Some(product) => (product / self.messages) as usize,
            None => (u128::from(message) * BATCHES as u128 / u128::from(self.messages)) as usize,
        }
    }

    /// Message number `message` of the window, from 0, was generated.
    pub(crate) fn generated(&mut self, message: u64, at: Cycle, destinations: u64) {
        let batch = self.of(message);
        if self.current != Some(batch) {
            self.current = Some(batch);
            self.all[batch].from = at;
        }
        self.all[batch].offered += destinations;
    }

    /// A message was delivered to a destination.
    #[inline]
    pub(crate) fn delivered(&mut self) {
        if let Some(current) = self.current {
            self.all[current].delivered += 1;
        }
    }

    /// Message number `message` of the window is complete.
    pub(crate) fn completed(&mut self, message: u64, latency: u64) {
        let batch = self.of(message);
        self.all[batch].complete += 1;
        self.all[batch].sum += u128::from(latency);
    }

    /// The window ends.
    pub(crate) fn close(&mut self) {
        self.current = None;
    }

    /// Whether deliveries fall behind what is asked for by more than `share` of it, with a confidence of 99% (one-sided, over batches).
    /// Batches that begin before cycle `settled` say nothing: nothing can have arrived yet. `None` if too few are left.
    pub(crate) fn behind(&self, share: f64, settled: Cycle) -> Option<bool> {
        let telling = self.all.iter().filter(|batch| batch.from >= settled);
        let excess: Vec<f64> =
            telling.map(|batch| batch.offered as f64 * (1.0 - share) - batch.delivered as f64).collect();
        let count = excess.len();
        let quantile = T_99.get(count.checked_sub(TELLING)?)?;
        let mean = excess.iter().sum::<f64>() / count as f64;
        let squares: f64 = excess.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / ((count - 1) * count) as f64).sqrt();
        Some(mean > quantile * error)
    }

    /// Mean latencies of the batches; empty if one has no complete message.
    pub(crate) fn means(&self) -> Vec<f64> {
        let means = self.all.iter().map(|b| (b.complete > 0).then(|| b.sum as f64 / b.complete as f64));
        means.collect::<Option<_>>().unwrap_or_default()
    }
}

/// Whether means of successive batches say that the mean of the window depends on its length: neighbours are correlated, or the means
/// rise or fall, each with a confidence of 99%.
///
/// The first is the lag-one autocorrelation of batch means (Law and Carson 1979), the second the rank test of Mann (1945) and Kendall.
pub(crate) fn depends_on_window(means: &[f64]) -> bool {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    let neighbours: f64 = means.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let rises: f64 = means
        .iter()
        .enumerate()
        .flat_map(|(at, one)| means[at + 1..].iter().map(move |later| later.total_cmp(one) as i8))
        .map(f64::from)
        .sum();
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    neighbours > CORRELATED * squares || rises.abs() > Z_99 * deviation
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look independent and uniform between 0 and 1.
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        (1u64..).map(move |i| {
            let mut z = (seed << 20).wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        })
    }

    #[test]
    fn independent_means_seldom_seem_to_depend_on_the_window() {
        let flagged =
            (0..5000).filter(|&seed| depends_on_window(&noise(seed).take(BATCHES).collect::<Vec<_>>())).count();
        // Two tests at 1% each.
        assert!((25..=125).contains(&flagged), "{flagged} of 5000");
    }

    #[test]
    fn rising_and_correlated_means_depend_on_the_window() {
        let rising = |seed| noise(seed).take(BATCHES).enumerate().map(|(i, x)| x + 0.1 * i as f64).collect::<Vec<_>>();
        let slow = |seed| {
            let walk = noise(seed).take(BATCHES).scan(0.0, |level, x| {
                *level = 0.9 * *level + x - 0.5;
                Some(*level)
            });
            walk.collect::<Vec<_>>()
        };
        assert!((0..500).filter(|&seed| depends_on_window(&rising(seed))).count() > 450);
        assert!((0..500).filter(|&seed| depends_on_window(&slow(seed))).count() > 300);
    }

    /// A window of 100 batches' worth of messages at one a cycle and one destination each, of which a share is delivered.
    fn window(share: f64, seed: u64) -> Batches {
        let mut batches = Batches::new(2000).unwrap();
        for (message, x) in (0..2000).zip(noise(seed)) {
            batches.generated(message, message, 1);
            if x < share {
                batches.delivered();
            }
        }
        batches.close();
        batches
    }

    #[test]
    fn counts_alone_say_whether_messages_pile_up() {
        let said = |share: f64| (0..200).filter(|&seed| window(share, seed).behind(BACKLOG, 0) == Some(true)).count();
        assert_eq!(said(0.46), 200);
        assert_eq!(said(0.90), 200);
        // At the limit itself it may be said in 1% of the cases.
        assert!(said(0.98) <= 8);
        assert_eq!(said(1.0), 0);
    }

    #[test]
    fn the_first_batch_counts_like_the_others() {
        // Each falls a little behind, but the first one has more deliveries than all others lack.
        let said = |first: u64| {
            let mut batches = Batches::new(2000).unwrap();
            for message in 0..2000 {
                batches.generated(message, message, 1);
                let delivered = if message == 0 { first } else { u64::from(message % 100 >= 3) };
                (0..delivered).for_each(|_| batches.delivered());
            }
            batches.behind(BACKLOG, 0)
        };
        assert_eq!((said(0), said(40)), (Some(true), Some(false)));
    }

    #[test]
    fn batches_in_which_nothing_can_have_arrived_say_nothing() {
        // Nothing arrives in the first half of the window, everything in the second.
        let mut batches = Batches::new(2000).unwrap();
        for message in 0..2000 {
            batches.generated(message, message, 1);
            if message >= 1000 {
                batches.delivered();
            }
        }
        assert_eq!(batches.behind(BACKLOG, 0), Some(true));
        assert_eq!(batches.behind(BACKLOG, 1000), Some(false));
        assert_eq!(batches.behind(BACKLOG, 1700), None);
        assert!(Batches::new(39).is_none());
    }
}
