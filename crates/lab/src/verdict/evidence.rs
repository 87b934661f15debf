//! What the replications of one comparison say.

use super::{Comparison, Finding};
use crate::statistics::Estimate;

/// Replications from which on differences that are all equal count as certain.
const SETTLED: usize = 30;

/// A comparison before its finding is known.
pub(super) struct Question {
    pub(super) series: String,
    pub(super) against: String,
    pub(super) at: String,
    pub(super) evidence: Evidence,
}

pub(super) enum Evidence {
    /// Whether the mean of these differences is at most 0.
    Differences(Vec<f64>),
    /// Whether the mean of these is 0, give or take.
    Deviations(Vec<f64>, f64),
    /// Whether the mean of these shares lies between two bounds.
    Shares { of: Vec<f64>, least: f64, most: f64 },
    /// Settled by saturation, or by what is missing.
    Settled(Finding),
}

impl Question {
    /// The answer with intervals of this confidence.
    pub(super) fn answer(self, confidence: f64) -> Comparison {
        let (difference, finding) = self.evidence.finding(confidence);
        Comparison {
            series: self.series,
            against: self.against,
            at: self.at,
            difference,
            saturation: None,
            against_saturation: None,
            finding,
        }
    }
}

impl Evidence {
    pub(super) fn finding(&self, confidence: f64) -> (Option<Estimate>, Finding) {
        let (values, least, most) = match self {
            Self::Settled(finding) => return (None, *finding),
            Self::Differences(values) => (values, f64::NEG_INFINITY, 0.0),
            Self::Deviations(values, tolerance) => (values, -tolerance, *tolerance),
            Self::Shares { of, least, most } => (of, *least, *most),
        };
        let estimate = Estimate::of(values, confidence);
        let finding = match estimate.and_then(|estimate| Some((estimate.mean, estimate.half_width?))) {
            // A few values that happen to be equal do not say that all are.
            Some((_, half)) if half == 0.0 && values.len() < SETTLED && !matches!(self, Self::Deviations(..)) => {
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
