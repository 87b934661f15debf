//! The rules that turn the comparisons of each group into a verdict.

use super::{Comparison, Finding, Verdict};
use crate::statistics::Estimate;

pub(super) type Rule = fn(&[Vec<Comparison>]) -> Verdict;

impl Comparison {
    /// Whether the difference is certainly not 0.
    pub(super) fn strict(&self) -> bool {
        let below = |estimate: Estimate| estimate.half_width.is_some_and(|half| estimate.mean + half < 0.0);
        self.finding == Finding::Holds && self.difference.is_none_or(below)
    }
}

fn any(comparisons: &[Comparison], finding: Finding) -> bool {
    comparisons.iter().any(|comparison| comparison.finding == finding)
}

fn all(comparisons: &[Comparison], finding: Finding) -> bool {
    !comparisons.is_empty() && comparisons.iter().all(|comparison| comparison.finding == finding)
}

/// All hold, and each pair differs somewhere.
pub(super) fn order_rule(groups: &[Vec<Comparison>]) -> Verdict {
    let same_everywhere = |group: &[Comparison]| all(group, Finding::Holds) && !group.iter().any(Comparison::strict);
    if groups.iter().any(|group| any(group, Finding::Fails)) {
        Verdict::NotReproduced
    } else if groups.iter().all(|group| all(group, Finding::Holds) && group.iter().any(Comparison::strict)) {
        Verdict::Reproduced
    } else if groups.iter().any(|group| same_everywhere(group)) {
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

/// In every group one holds that is not a tie.
pub(super) fn strictly_somewhere_rule(groups: &[Vec<Comparison>]) -> Verdict {
    let never = |comparison: &Comparison| {
        comparison.finding == Finding::Fails || (comparison.finding == Finding::Holds && !comparison.strict())
    };
    if groups.iter().all(|group| group.iter().any(Comparison::strict)) {
        Verdict::Reproduced
    } else if groups.iter().any(|group| !group.is_empty() && group.iter().all(never)) {
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

/// In every group one holds.
pub(super) fn somewhere_rule(groups: &[Vec<Comparison>]) -> Verdict {
    if groups.iter().all(|group| any(group, Finding::Holds)) {
        Verdict::Reproduced
    } else if groups.iter().any(|group| all(group, Finding::Fails)) {
        Verdict::NotReproduced
    } else {
        Verdict::Inconclusive
    }
}

/// All hold.
pub(super) fn all_rule(groups: &[Vec<Comparison>]) -> Verdict {
    if groups.iter().any(|group| any(group, Finding::Fails)) {
        Verdict::NotReproduced
    } else if groups.iter().all(|group| all(group, Finding::Holds)) {
        Verdict::Reproduced
    } else {
        Verdict::Inconclusive
    }
}
