//! How claims fare when settings change.

use super::{Block, Cell, Shown, Table};
use crate::verdict::{Comparison, Finding, Part, Verdict};

/// A sentence of a claim, and how it came out.
#[derive(Clone, Copy, Debug)]
pub struct Sentence<'a> {
    /// What is claimed.
    pub text: &'a str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: &'a str,
    /// What was compared; nothing if it was not tested on a sweep.
    pub comparisons: &'a [Comparison],
}

impl<'a> From<&'a Part> for Sentence<'a> {
    fn from(part: &'a Part) -> Self {
        Self { text: &part.text, verdict: part.verdict, because: &part.because, comparisons: &part.comparisons }
    }
}

/// A claim under a changed setting.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// The claim, where there are several.
    pub claim: Option<&'a str>,
    /// What the change is called.
    pub name: &'a str,
    /// What it sets.
    pub settings: &'a str,
    /// The verdict under it.
    pub verdict: Verdict,
    /// The anchor of the section about what is changed, if there is one.
    pub section: Option<&'a str>,
    /// The claim's sentences under it, each with what came out without it, if it was tested then.
    pub sentences: Vec<(Sentence<'a>, Option<Sentence<'a>>)>,
}

/// What becomes of claims when settings change: the verdicts, and the sentences that come out otherwise.
pub fn sensitivity(changes: &[Change<'_>]) -> Vec<Block> {
    if changes.is_empty() {
        return Vec::new();
    }
    let text = "Sensitivity: the same tests with a setting changed. Listed are sentences with another verdict than above, or that are tested only here, and \
                comparisons that certainly come out one way above and the other way here.";
    let mut blocks = vec![Block::Text(text.to_owned())];
    let mut details = Vec::new();
    for Change { claim, name, settings, verdict, section, sentences } in changes {
        let of_claim = claim.map_or_else(String::new, |claim| format!(" (claim `{claim}`)"));
        let mut changed = Vec::new();
        for (now, before) in sentences {
            if before.is_none_or(|before| before.verdict != now.verdict) {
                changed.push(format!("{}: {}", now.text, now.verdict));
            }
            changed.extend(before.iter().flat_map(|before| reversals(before.comparisons, now.comparisons)));
            details.push(vec![
                Cell::Text(format!("{name}{of_claim}")),
                Cell::Text(now.text.to_owned()),
                Cell::Verdict(now.verdict.into()),
                Cell::Text(now.because.replace('\n', "; ")),
            ]);
        }
        let because = if changed.is_empty() {
            "No verdict changes, and no comparison turns round.".to_owned()
        } else {
            changed.join("\n")
        };
        blocks.push(Block::Verdict {
            verdict: (*verdict).into(),
            text: format!("{name}: {settings}{of_claim}"),
            because,
            source: section.map(str::to_owned),
        });
    }
    let table = Table::of_words(["variation", "sentence", "verdict", "why"], details);
    blocks.push(Block::Details {
        summary: "All sentences under all variations".to_owned(),
        block: Box::new(Block::Table(table)),
        shown: Shown::Never,
    });
    blocks
}

/// A line for each pair of series that is compared: where what holds before fails now, or the other way round.
fn reversals(before: &[Comparison], now: &[Comparison]) -> Vec<String> {
    let mut lines: Vec<(&str, &str, Finding, Vec<&str>)> = Vec::new();
    for comparison in now {
        let same = |of: &&Comparison| {
            (&of.series, &of.against, &of.at) == (&comparison.series, &comparison.against, &comparison.at)
        };
        let Some(same) = before.iter().find(same) else { continue };
        if !matches!(
            (same.finding, comparison.finding),
            (Finding::Holds, Finding::Fails) | (Finding::Fails, Finding::Holds)
        ) {
            continue;
        }
        let of_pair = |line: &&mut (&str, &str, Finding, Vec<&str>)| {
            (line.0, line.1, line.2) == (comparison.series.as_str(), comparison.against.as_str(), comparison.finding)
        };
        match lines.iter_mut().find(of_pair) {
            Some((.., places)) => places.push(&comparison.at),
            None => lines.push((&comparison.series, &comparison.against, comparison.finding, vec![&comparison.at])),
        }
    }
    let line = |(series, against, finding, places): (&str, &str, Finding, Vec<&str>)| {
        let turned = if finding == Finding::Holds { "failed, and holds here" } else { "held, and fails here" };
        format!("{series} against {against}: {turned} at {}", places.join(", "))
    };
    lines.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(against: &str, at: &str, finding: Finding) -> Comparison {
        let (series, against, at) = ("a".to_owned(), against.to_owned(), at.to_owned());
        let (difference, saturation, against_saturation, replications) = (None, None, None, None);
        Comparison { series, against, at, difference, saturation, against_saturation, finding, replications }
    }

    #[test]
    fn comparisons_that_turn_round_are_told_by_pair() {
        use Finding::{Fails, Holds, Open};
        let before = [("b", "1", Holds), ("b", "2", Holds), ("b", "3", Open), ("c", "1", Fails), ("c", "2", Fails)];
        let now = [
            ("b", "1", Fails),
            ("b", "2", Fails),
            ("b", "3", Fails),
            ("c", "1", Holds),
            ("c", "2", Open),
            ("d", "1", Holds),
        ];
        let all = |of: &[(&str, &str, Finding)]| -> Vec<Comparison> {
            of.iter().map(|&(against, at, finding)| comparison(against, at, finding)).collect()
        };
        let told = reversals(&all(&before), &all(&now));
        assert_eq!(told, ["a against b: held, and fails here at 1, 2", "a against c: failed, and holds here at 1"]);
    }
}
