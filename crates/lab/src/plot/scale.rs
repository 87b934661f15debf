//! Axes: where values are and which of them are labelled.

/// An axis from one value to another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    log: bool,
    /// Labelled values.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// A horizontal axis around values, with some room at the ends; from 0 if they come near it.
    pub(crate) fn along(values: &[f64], log: bool) -> Self {
        let Some((least, most)) = ends(values) else { return Self::linear(0.0, 1.0) };
        if least.total_cmp(&most).is_eq() {
            let room = if least == 0.0 { 1.0 } else { least.abs() };
            return Self { from: least - room, to: least + room, log: false, ticks: vec![(least, alone(least))] };
        }
        if log && least > 0.0 {
            let room = (most / least).powf(0.04);
            let mut scale = Self::logarithmic(least / room, most * room);
            if values.iter().all(|value| value.log2().fract() == 0.0) && most / least <= 1024.0 {
                // 1, 2, 4, 8, 16: as they were chosen.
                let powers = least.log2() as i32..=most.log2() as i32;
                scale.ticks = powers.map(|power| 2f64.powi(power)).map(|value| (value, plain(value))).collect();
            }
            return scale;
        }
        let room = 0.04 * (most - least);
        let from = if least >= 0.0 && least < 0.2 * most { 0.0 } else { least - room };
        Self::linear(from, most + room)
    }

    /// A vertical axis around heights and their intervals; from 0 if they come near it. Where heights below 0 mean nothing, intervals
    /// do not take the axis there.
    pub(crate) fn heights(heights: &[(f64, Option<[f64; 2]>)], log: bool, signed: bool) -> Self {
        let values: Vec<f64> = heights.iter().map(|&(height, _)| height).collect();
        let Some((least, most)) = ends(&values) else { return Self::linear(0.0, 1.0) };
        let bottoms = heights.iter().map(|&(height, interval)| interval.map_or(height, |[low, _]| low));
        let low = bottoms.filter(|&low| !log || low > least / 10.0).fold(least, f64::min);
        let high =
            heights.iter().map(|&(height, interval)| interval.map_or(height, |[_, high]| high)).fold(most, f64::max);
        if log && least > 0.0 {
            let room = if most > least { (most / least).powf(0.06).max(1.005) } else { 2.0 };
            let (from, to) = ((least / room).min(low / room.sqrt()), (most * room).max(high * room.sqrt()));
            return Self::logarithmic(from, to);
        }
        // More than two fifths of an axis are never empty below the least value.
        let near_zero = least.total_cmp(&most).is_eq() || least < 0.4 * most;
        let base = if least >= 0.0 && near_zero { 0.0 } else { least };
        let span = if most > base { most - base } else { base.abs().max(1.0) };
        let floor = if signed || least < 0.0 { f64::NEG_INFINITY } else { 0.0 };
        let from = if base == 0.0 && low >= 0.0 { 0.0 } else { (base - 0.06 * span).min(low - 0.02 * span).max(floor) };
        Self::linear(from, (most + 0.08 * span).max(high + 0.02 * span))
    }

    /// An axis without values.
    pub(crate) fn nothing() -> Self {
        Self { from: 0.0, to: 1.0, log: false, ticks: Vec::new() }
    }

    /// An axis with a name at each of 0, 1, 2, …
    pub(crate) fn of_names(names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(position, name)| (position as f64, name.clone())).collect();
        Self { from: -0.5, to: names.len() as f64 - 0.5, log: false, ticks }
    }

    fn linear(from: f64, to: f64) -> Self {
        let step = step((to - from) / 7.0);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let largest = to.abs().max(from.abs());
        let label = |value: f64| {
            if decimals <= 6 && largest < 1e7 || decimals <= 9 && (1e-4..1.0).contains(&largest) {
                format!("{:.decimals$}", value + 0.0)
            } else {
                scientific(value, step)
            }
        };
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|i| (i as f64 * step, label(i as f64 * step))).collect();
        Self { from, to, log: false, ticks }
    }

    fn logarithmic(from: f64, to: f64) -> Self {
        let decades = (to / from).log10();
        let multiples: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let values = powers.flat_map(|power| multiples.iter().map(move |multiple| multiple * 10f64.powi(power)));
        let ticks = values.filter(|&value| value >= from && value <= to).map(|value| (value, plain(value))).collect();
        let mut scale = Self { from, to, log: true, ticks };
        if scale.ticks.len() < 2 {
            // So short that even steps look well.
            scale.ticks = Self::linear(from, to).ticks;
        }
        scale
    }

    /// Where a value is, from 0 at the start of the axis to 1 at its end; outside for values beyond.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }
}

/// The least and the largest of finite values.
fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = (finite().reduce(f64::min)?, finite().reduce(f64::max)?);
    Some((least, most))
}

/// A number that has no neighbours, as it was written.
fn alone(value: f64) -> String {
    if value == 0.0 || (1e-4..1e7).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not much less than this.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let multiples = [1.0, 2.0, 5.0, 10.0];
    multiples.into_iter().map(|multiple| multiple * power).find(|&step| step >= least * 0.85).unwrap_or(power)
}

/// A number with a power of ten, and as many digits as tell it from its neighbours, which are `step` away.
fn scientific(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 15.0) as usize;
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((number, power)) if number.contains('.') => {
            format!("{}e{power}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A number without noise from its binary form.
fn plain(value: f64) -> String {
    if !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    /// An axis from 0 to a value.
    fn up_to(most: f64) -> Scale {
        Scale::linear(0.0, most)
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&up_to(11.5)), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&up_to(0.021)), ["0.000", "0.005", "0.010", "0.015", "0.020"]);
        assert_eq!(labels(&up_to(1.2)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]);
        assert_eq!(labels(&up_to(17.0)), ["0", "5", "10", "15"]);
        assert_eq!(labels(&Scale::along(&[10.0, 100.0], true)), ["10", "20", "50", "100"]);
        assert_eq!(labels(&Scale::along(&[1.0, 2.0, 16.0], true)), ["1", "2", "4", "8", "16"]);
        assert_eq!(labels(&Scale::along(&[1.0, 3.0, 16.0], true)), ["1", "2", "5", "10"]);
        assert_eq!(labels(&Scale::along(&[0.001, 10.0], true)), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(&Scale::along(&[98.0, 102.0], false)), ["98", "99", "100", "101", "102"]);
        assert_eq!(labels(&Scale::along(&[0.003; 2], false)), ["0.003"]);
        assert_eq!(labels(&up_to(2.1e-8)), ["0", "5e-9", "1e-8", "1.5e-8", "2e-8"]);
        assert_eq!(labels(&up_to(6.1e13)), ["0", "1e13", "2e13", "3e13", "4e13", "5e13", "6e13"]);
        assert_eq!(labels(&up_to(6_000_000.0))[1..3], ["1000000", "2000000"]);
    }

    #[test]
    fn degenerate_axes_are_drawn_all_the_same() {
        for values in [&[][..], &[0.0], &[5.0], &[-3.0, -3.0], &[3.0], &[1e-9], &[f64::NAN]] {
            for log in [false, true] {
                let heights: Vec<_> = values.iter().map(|&value| (value, None)).collect();
                for scale in [Scale::along(values, log), Scale::heights(&heights, log, false)] {
                    assert!(!scale.ticks.is_empty() && scale.ticks.len() < 20, "{values:?} {scale:?}");
                    let inside = |value: f64| value.is_nan() || (0.0..=1.0).contains(&scale.share(value));
                    assert!(values.iter().all(|&value| inside(value)), "{values:?} {scale:?}");
                }
            }
        }
    }

    #[test]
    fn no_half_of_an_axis_is_empty() {
        for least in [0.0, 0.1, 3.0, 5.0, 8.0, 9.9] {
            for log in [false, true] {
                let heights =
                    Scale::heights(&[(least, Some([least - 0.1, least + 0.1])), (10.0, Some([9.7, 10.3]))], log, false);
                let along = Scale::along(&[least, 10.0], log);
                for (scale, low, high) in [(heights, least - 0.1, 10.3), (along, least, 10.0)] {
                    let (from, to) = (scale.share(low.max(0.0)), scale.share(high));
                    let fits = (from.is_nan() || from < 0.42) && (0.85..=1.0).contains(&to);
                    assert!(fits, "{least} {from} {to} {scale:?}");
                }
            }
        }
        // Where nothing is below 0, intervals do not take the axis there; where it means something, they are seen.
        let near = [(1.0, Some([-1.0, 3.0])), (10.0, None)];
        assert!(Scale::heights(&near, false, false).share(0.0).abs() < 1e-12);
        assert!(Scale::heights(&near, false, true).share(-1.0) > 0.0);
        let negative = Scale::heights(&[(-5.0, Some([-6.0, -4.0])), (0.0, None)], false, true);
        assert!(negative.share(-6.0) >= 0.0 && negative.share(0.0) > 0.85, "{negative:?}");
    }
}
