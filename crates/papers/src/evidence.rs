//! The evidence for a verdict: tests on sweeps, and checks.

use crate::verdict::Role;
use serde::Serialize;
use wormcast_lab::report::Sentence;
use wormcast_lab::{Part, Range, Verdict, Wording};

/// The evidence for a verdict.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A test on a sweep.
    Sweep {
        /// The experiment.
        experiment: String,
        /// The test.
        #[serde(flatten)]
        part: Part,
    },
    /// Something that was counted or searched, without a sweep.
    Check(Checked),
}

/// The result of a check that is not a sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// Its name.
    pub check: &'static str,
    /// What should hold.
    pub text: &'static str,
    /// What it goes back to.
    #[serde(flatten)]
    pub wording: Wording,
    /// Whether it does.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: String,
    /// If it fails because of an error in print: what is wrong, and what would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erratum: Option<&'static str>,
    /// Whether this is what would be right in the place of an error in print: not a part of the claim itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub correction: bool,
}

impl Evidence {
    /// What was tested, and how it came out.
    pub fn sentence(&self) -> Sentence<'_> {
        match self {
            Self::Sweep { part, .. } => part.into(),
            Self::Check(Checked { text, verdict, because, .. }) => {
                Sentence { text, verdict: *verdict, because, comparisons: &[] }
            }
        }
    }

    /// What it goes back to.
    pub fn wording(&self) -> &Wording {
        match self {
            Self::Sweep { part, .. } => &part.wording,
            Self::Check(checked) => &checked.wording,
        }
    }

    /// Where it holds, if not everywhere and if the claim leaves that open.
    pub(crate) fn holds(&self) -> Option<&Range> {
        match self {
            Self::Sweep { part, .. } => part.holds.as_ref(),
            Self::Check(_) => None,
        }
    }

    /// What is wrong in print, if it fails because of that.
    pub fn erratum(&self) -> Option<&str> {
        match self {
            Self::Sweep { part, .. } => part.erratum.as_deref(),
            Self::Check(checked) => checked.erratum,
        }
    }

    /// What it is to the claim.
    pub fn role(&self) -> Role {
        let (erratum, correction, control) = match self {
            Self::Sweep { part, .. } => (part.erratum.is_some(), part.correction, part.control),
            Self::Check(checked) => (checked.erratum.is_some(), checked.correction, false),
        };
        match (correction, control, erratum) {
            (true, ..) => Role::Correction,
            (_, true, _) => Role::Control,
            (.., true) => Role::Erratum,
            _ => Role::Claimed,
        }
    }

    /// The experiment or the check.
    pub fn source(&self) -> &str {
        match self {
            Self::Sweep { experiment, .. } => experiment,
            Self::Check(checked) => checked.check,
        }
    }
}
