//! The evidence for a verdict: tests on sweeps, and checks.

use serde::Serialize;
use wormcast_lab::report::Sentence;
use wormcast_lab::{Part, Verdict};

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
    /// Whether it does.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: String,
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

    /// The experiment or the check.
    pub fn source(&self) -> &str {
        match self {
            Self::Sweep { experiment, .. } => experiment,
            Self::Check(checked) => checked.check,
        }
    }
}
