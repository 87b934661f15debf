//! The evidence of one comparison, from its replications.

use super::{Comparison, Finding};
use crate::statistics::Estimate;

/// Replications from which on differences that are all equal count as certain.
pub(crate) const SETTLED: usize = 30;

/// What that means for differences that are all equal.
pub(crate) const FEW_EQUAL: &str = "equal differences are certain from 30 pairs on";

/// A comparison before its finding is known.
pub(super) struct Pending {
    pub(super) series: String,
    pub(super) against: String,
    pub(super) at: String,
    pub(super) evidence: Evidence,
}

pub(super) enum Evidence {
    /// Whether the mean of these differences is at most 0.
    Differences(Vec<f64>),
    /// Whether the mean of these is 0 within a tolerance; and whether equal ones are certain even if they are few.
    Deviations(Vec<f64>, f64, bool),
    /// Whether the mean of these shares lies between two bounds.
    Shares { of: Vec<f64>, least: f64, most: f64 },
    /// Settled by saturation, or by what is missing.
    Settled(Finding),
}

impl Pending {
    /// The answer with intervals of this confidence.
    pub(super) fn answer(self, confidence: f64) -> Comparison {
        let (difference, finding) = self.evidence.finding(confidence);
        let replications = (finding == Finding::Open).then(|| self.evidence.replications(difference)).flatten();
        Comparison {
            series: self.series,
            against: self.against,
            at: self.at,
            difference,
            saturation: None,
            against_saturation: None,
            finding,
            replications,
        }
    }
}

impl Evidence {
    /// The values, and the least and the largest that their mean may be.
    fn bounds(&self) -> Option<(&[f64], f64, f64)> {
        match self {
            Self::Settled(_) => None,
            Self::Differences(values) => Some((values, f64::NEG_INFINITY, 0.0)),
            Self::Deviations(values, tolerance, _) => Some((values, -tolerance, *tolerance)),
            Self::Shares { of, least, most } => Some((of, *least, *most)),
        }
    }

    /// The replications at which the interval would not include a bound any more, if mean and variance stay what they are: the
    /// half-width falls with the root of their number.
    fn replications(&self, estimate: Option<Estimate>) -> Option<u64> {
        let ((values, least, most), estimate) = (self.bounds()?, estimate?);
        let Some(half) = estimate.half_width else { return Some(2) };
        if half == 0.0 {
            return Some(SETTLED as u64);
        }
        let distance = (estimate.mean - least).abs().min((estimate.mean - most).abs());
        let needed = (values.len() as f64 * (half / distance).powi(2)).ceil();
        // One that is as good as on the bound is not settled by any number.
        (needed < 1e9).then_some(needed as u64)
    }

    pub(super) fn finding(&self, confidence: f64) -> (Option<Estimate>, Finding) {
        if let Self::Settled(finding) = self {
            return (None, *finding);
        }
        let Some((values, least, most)) = self.bounds() else { return (None, Finding::Missing) };
        let estimate = Estimate::of(values, confidence);
        let finding = match estimate.and_then(|estimate| Some((estimate.mean, estimate.half_width?))) {
            // A few values that happen to be equal do not say that all are.
            Some((_, half))
                if half == 0.0 && values.len() < SETTLED && !matches!(self, Self::Deviations(_, _, true)) =>
            {
                Finding::Open
            }
            Some((mean, half)) if least <= mean - half && mean + half <= most => Finding::Holds,
            Some((mean, half)) if mean + half < least || most < mean - half => Finding::Fails,
            _ => Finding::Open,
        };
        (estimate, finding)
    }
}

/// The mean of differences whose sign is certain with this confidence.
pub(crate) fn certain_sign(differences: &[f64], confidence: f64) -> Option<f64> {
    let (estimate, finding) = Evidence::Differences(differences.to_vec()).finding(confidence);
    let Estimate { mean, half_width, .. } = estimate?;
    let certain = matches!(finding, Finding::Holds | Finding::Fails) && half_width? < mean.abs();
    certain.then_some(mean)
}
