//! Verdicts on claims, from the replications of a sweep, with a probability of error that is the same however many points and
//! series a claim is about.

mod comparisons;
mod evidence;
mod explanation;
mod measurements;
mod range;
mod rules;
mod saturation;
#[cfg(test)]
mod tests;
mod wording;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use self::evidence::{FEW_EQUAL, SETTLED, certain_sign};
pub(crate) use self::measurements::{Entry, Measurements, position};
pub use self::range::Range;
pub use self::wording::Wording;
use crate::experiment::Experiment;
use crate::experiment::claim::Claim;
use crate::experiment::point::Point;
use crate::runs::sweep::PointRuns;
use crate::statistics::Estimate;
use crate::statistics::quantity::Quantity;

/// The verdict of a sweep on a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The intervals are too wide, or points are missing.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// It does not hold.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Inconclusive => "inconclusive",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// A claim and the sweep's verdict on it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The claim's name.
    pub claim: String,
    /// The verdict: the worst of its parts, without corrections; inconclusive if a control does not hold, or if there are no other parts.
    pub verdict: Verdict,
    /// Its parts, each with its evidence.
    pub evidence: Vec<Part>,
}

/// One test of a claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// What is claimed.
    pub text: String,
    /// What it goes back to.
    #[serde(flatten)]
    pub wording: Wording,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: String,
    /// The quantity; `None` if it is about where series saturate.
    pub quantity: Option<Quantity>,
    /// The unit of its values: `us` or `cycles` for times, else empty.
    pub unit: String,
    /// The confidence of each interval in `comparisons`, such that all of them hold together with the experiment's.
    pub confidence: f64,
    /// What was compared.
    pub comparisons: Vec<Comparison>,
    /// Where along the horizontal axis it holds, if not everywhere, and if the claim leaves that open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Range>,
    /// If it fails because of an error in print: what is wrong, and what would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erratum: Option<String>,
    /// Whether this is what would be right in the place of an error in print: not a part of the claim itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub correction: bool,
    /// Whether this is a sentence of the experiment's own that has to hold for the claim to be judged at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}

/// One comparison of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The series.
    pub series: String,
    /// What it is compared with: another series or quantity, a value of the horizontal axis, or a number.
    pub against: String,
    /// Where: the value of the horizontal axis, or the range.
    pub at: String,
    /// The mean difference from what it is compared with, over replications with the same random numbers, for another quantity as a share
    /// of that; `None` without one.
    pub difference: Option<Estimate>,
    /// Where the series saturates, if that is what is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Bracket>,
    /// Where the other series saturates, if that is what is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_saturation: Option<Bracket>,
    /// What follows for the claim.
    pub finding: Finding,
    /// If it is open: the replications that would settle it, if mean and variance stay what they are; `None` if no number would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replications: Option<u64>,
}

/// Where a series saturates along the horizontal axis of a sweep.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bracket {
    /// The largest value up to which it is certainly stable at all values of the sweep; `None` if it is not so at the first.
    pub stable: Option<f64>,
    /// The smallest value from which on it is certainly saturated at all of them; `None` if it is not so at the last.
    pub saturated: Option<f64>,
}

/// The finding of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// As claimed.
    Holds,
    /// Not as claimed.
    Fails,
    /// The interval includes both.
    Open,
    /// There is nothing to compare.
    Missing,
    /// A percentile has no interval: there are too few runs.
    #[serde(rename = "no-interval")]
    NoInterval,
}

/// Judges one claim about an experiment.
fn judge_part(experiment: &Experiment, claim: &Claim, points: &[Point], runs: &[PointRuns]) -> Part {
    Measurements::new((experiment, experiment.claimed()), claim, points, runs).part()
}

/// Judges the claims of an experiment. Parts of one claim make one verdict, in the order in which the claims first occur.
pub(crate) fn verdicts(experiment: &Experiment, points: &[Point], runs: &[PointRuns]) -> Vec<ClaimVerdict> {
    let mut verdicts: Vec<ClaimVerdict> = Vec::new();
    for claim in experiment.claims() {
        let part = judge_part(experiment, claim, points, runs);
        match verdicts.iter_mut().find(|verdict| verdict.claim == claim.id) {
            Some(whole) => whole.evidence.push(part),
            None => {
                verdicts.push(ClaimVerdict { claim: claim.id.clone(), verdict: part.verdict, evidence: vec![part] });
            }
        }
    }
    for whole in &mut verdicts {
        let own = whole.evidence.iter().filter(|part| !part.correction && !part.control).map(|part| part.verdict);
        // What is right, or has to hold, is no sentence of the claim.
        whole.verdict = own.max().unwrap_or(Verdict::Inconclusive);
        if whole.evidence.iter().any(|part| part.control && part.verdict != Verdict::Reproduced) {
            whole.verdict = Verdict::Inconclusive;
        }
    }
    verdicts
}
