//! Exact decimal numbers in specifications, which can be compared for equality.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;

const SCALE: u64 = 1_000_000;

/// A non-negative number with at most six decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Decimal {
    millionths: u64,
}

impl Decimal {
    /// 1.
    pub const ONE: Self = Self { millionths: SCALE };

    /// A fraction, rounded up.
    pub(crate) fn ratio_up(numerator: u64, denominator: u64) -> Self {
        Self { millionths: (u128::from(numerator) * u128::from(SCALE)).div_ceil(u128::from(denominator)) as u64 }
    }

    /// The product with a whole number, divided by two and rounded to the nearest whole number.
    pub(crate) fn half_of(self, factor: u64) -> u128 {
        (u128::from(self.millionths) * u128::from(factor) + u128::from(SCALE)) / (2 * u128::from(SCALE))
    }

    /// Whether an event of this probability happens: one random draw.
    pub(crate) fn happens(self, rng: &mut impl rand::Rng) -> bool {
        rng.random_range(0..SCALE) < self.millionths
    }
}

impl FromStr for Decimal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 || whole.len() > 9 {
            return Err(());
        }
        let whole: u64 = whole.parse().map_err(|_| ())?;
        let fraction: u64 = format!("{fraction:0<6}").parse().map_err(|_| ())?;
        Ok(Self { millionths: whole * SCALE + fraction })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.millionths / SCALE, self.millionths % SCALE);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{fraction:06}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_there_and_back() {
        for text in ["0", "4", "3.5", "0.1", "0.000001", "999999999.999999"] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
        }
        assert_eq!("3.50".parse::<Decimal>().unwrap().to_string(), "3.5");
        for text in ["", ".5", "5.", "-1", "1e3", "0.0000001", "1234567890"] {
            assert_eq!(text.parse::<Decimal>(), Err(()), "{text}");
        }
        assert_eq!("3.5".parse::<Decimal>().unwrap().half_of(5), 9);
        assert_eq!(Decimal::ratio_up(510, 256).to_string(), "1.992188");
    }
}
