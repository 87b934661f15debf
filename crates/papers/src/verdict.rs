//! What becomes of a claim: the verdicts, and how sentences, conditions and errata make one.

use std::fmt;

use serde::Serialize;
use wormcast_lab::Verdict;
use wormcast_lab::report::{Badge, Tone};

/// The verdict on a paper's claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum PaperVerdict {
    /// Every sentence holds.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Every sentence holds under a condition that the paper leaves open.
    #[serde(rename = "reproduced if")]
    ReproducedIf,
    /// Some sentences hold, and there is no condition known under which all do.
    #[serde(rename = "partly")]
    Partly,
    /// No sentence holds, whatever value the settings have that the paper leaves open, as far as they were tried.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// What does not hold is an error in print, and what would be right in its place holds.
    #[serde(rename = "erratum")]
    Erratum,
    /// Nothing that is certain decides: intervals are too wide, results are missing, or no conditions were tried.
    #[serde(rename = "inconclusive")]
    Inconclusive,
}

impl PaperVerdict {
    /// All of them, the best first.
    pub const ALL: [Self; 6] =
        [Self::Reproduced, Self::ReproducedIf, Self::Erratum, Self::Partly, Self::Contradicted, Self::Inconclusive];

    /// Whether every sentence holds, under a condition or without.
    pub const fn is_reproduced(self) -> bool {
        matches!(self, Self::Reproduced | Self::ReproducedIf)
    }

    /// Its name in tables and data.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::ReproducedIf => "reproduced if",
            Self::Partly => "partly",
            Self::Contradicted => "contradicted",
            Self::Erratum => "erratum",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for PaperVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<PaperVerdict> for Badge {
    fn from(verdict: PaperVerdict) -> Self {
        let tone = match verdict {
            PaperVerdict::Reproduced | PaperVerdict::ReproducedIf => Tone::Good,
            PaperVerdict::Partly | PaperVerdict::Erratum | PaperVerdict::Inconclusive => Tone::Open,
            PaperVerdict::Contradicted => Tone::Bad,
        };
        Self { text: verdict.name().to_owned(), tone }
    }
}

/// What a sentence is to a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The paper says it.
    Claimed,
    /// The paper says it, and it is known to be an error in print.
    Erratum,
    /// It is what would be right in the place of an error in print.
    Correction,
    /// It is ours, and has to hold for the claim to be judged at all.
    Control,
}

/// What is known of a sentence of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    /// As the experiments and checks are.
    pub(crate) verdict: Verdict,
    /// Whether it holds in a part of the range that it leaves open.
    pub(crate) in_part: bool,
    /// What it is to the claim.
    pub(crate) role: Role,
    /// Whether some condition that was tried makes it hold.
    pub(crate) under_some: bool,
}

/// What was found out about the conditions of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// There is a condition under which all sentences hold.
    Found,
    /// There is none among those that were tried, or there are none to try.
    Without,
    /// None were tried, although settings are open.
    Not,
}

/// The verdict on a claim of these sentences.
pub(crate) fn conclude(sentences: &[Known], search: Search) -> PaperVerdict {
    let all_hold = |role: Role| {
        sentences.iter().filter(|known| known.role == role).all(|known| known.verdict == Verdict::Reproduced)
    };
    let corrected = all_hold(Role::Correction);
    let own = || sentences.iter().filter(|known| matches!(known.role, Role::Claimed | Role::Erratum));
    let wrong_in_print =
        |known: &Known| known.role == Role::Erratum && corrected && known.verdict == Verdict::NotReproduced;
    let mut unsettled = own().filter(|known| known.verdict != Verdict::Reproduced && !wrong_in_print(known)).peekable();
    if own().next().is_none() || !all_hold(Role::Control) {
        return PaperVerdict::Inconclusive;
    }
    if unsettled.peek().is_none() {
        let any_wrong = own().any(wrong_in_print);
        return if any_wrong { PaperVerdict::Erratum } else { PaperVerdict::Reproduced };
    }
    if search == Search::Found {
        return PaperVerdict::ReproducedIf;
    }
    let fails = unsettled.any(|known| known.verdict == Verdict::NotReproduced);
    let some_hold = own().any(|known| known.verdict == Verdict::Reproduced || known.in_part || known.under_some);
    match (fails, some_hold, search) {
        (false, ..) | (true, _, Search::Not) => PaperVerdict::Inconclusive,
        (true, true, _) => PaperVerdict::Partly,
        (true, false, _) => PaperVerdict::Contradicted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(verdict: Verdict) -> Known {
        Known { verdict, in_part: false, role: Role::Claimed, under_some: false }
    }

    #[test]
    fn sentences_conditions_and_errata_make_a_verdict() {
        use Verdict::{Inconclusive, NotReproduced, Reproduced};
        let [holds, open, fails] = [Reproduced, Inconclusive, NotReproduced].map(known);
        let wrong = Known { role: Role::Erratum, ..fails };
        let right = Known { role: Role::Correction, ..holds };
        let not_right = Known { role: Role::Correction, ..fails };
        let somewhere = Known { under_some: true, ..fails };
        let in_part = Known { in_part: true, ..fails };
        for (sentences, search, verdict) in [
            (&[holds, holds][..], Search::Not, PaperVerdict::Reproduced),
            (&[holds, open], Search::Not, PaperVerdict::Inconclusive),
            (&[holds, open], Search::Found, PaperVerdict::ReproducedIf),
            (&[holds, fails], Search::Found, PaperVerdict::ReproducedIf),
            (&[holds, fails], Search::Without, PaperVerdict::Partly),
            (&[holds, fails], Search::Not, PaperVerdict::Inconclusive),
            (&[in_part, fails], Search::Not, PaperVerdict::Inconclusive),
            (&[fails], Search::Without, PaperVerdict::Contradicted),
            (&[fails, open], Search::Without, PaperVerdict::Contradicted),
            (&[fails], Search::Not, PaperVerdict::Inconclusive),
            (&[somewhere, fails], Search::Without, PaperVerdict::Partly),
            (&[in_part, fails], Search::Without, PaperVerdict::Partly),
            (&[holds, wrong], Search::Without, PaperVerdict::Erratum),
            (&[wrong, right], Search::Without, PaperVerdict::Erratum),
            // An erratum counts only if what it says is right holds.
            (&[wrong, not_right], Search::Without, PaperVerdict::Contradicted),
            (&[holds, wrong, fails], Search::Without, PaperVerdict::Partly),
            // What is right instead does not make up for what fails, nor fails the claim.
            (&[fails, right], Search::Without, PaperVerdict::Contradicted),
            // Without its control, nothing is said.
            (&[holds, Known { role: Role::Control, ..holds }], Search::Not, PaperVerdict::Reproduced),
            (&[holds, Known { role: Role::Control, ..open }], Search::Not, PaperVerdict::Inconclusive),
            (&[], Search::Not, PaperVerdict::Inconclusive),
        ] {
            assert_eq!(conclude(sentences, search), verdict, "{sentences:?} {search:?}");
        }
    }
}
