//! What becomes of claims when settings change.

use super::{Block, Cell, Shown, Table};
use crate::reproduction::Varied;
use crate::verdict::{Comparison, Finding, Verdict};

/// A sentence without a change: its verdict, and what was compared.
type Base<'a> = (Verdict, &'a [Comparison]);

/// What variations change; `base` is what a source says of a sentence without a change.
pub(super) fn blocks<'a>(variations: &[Varied], base: impl Fn(&str, &str) -> Option<Base<'a>>) -> Vec<Block> {
    if variations.is_empty() {
        return Vec::new();
    }
    let text = "Sensitivity: the same tests with a setting changed. Told are the sentences whose verdict is another than above, or that are tested \
                here alone, and the comparisons that turn round: certainly one way above, certainly the other way here.";
    let mut blocks = vec![Block::Text(text.to_owned())];
    let mut details = Vec::new();
    for varied in variations {
        let mut changes = Vec::new();
        for of in &varied.evidence {
            let before = base(&varied.source, of.text());
            if before.is_none_or(|(verdict, _)| verdict != of.verdict()) {
                changes.push(format!("{}: {}", of.text(), of.verdict()));
            }
            changes.extend(before.into_iter().flat_map(|(_, comparisons)| reversals(comparisons, of.comparisons())));
            details.push(vec![
                Cell::Text(varied.variation.clone()),
                Cell::Text(of.text().to_owned()),
                Cell::Verdict(of.verdict()),
                Cell::Text(of.because().replace('\n', "; ")),
            ]);
        }
        let because = if changes.is_empty() {
            "No verdict changes, and no comparison turns round.".to_owned()
        } else {
            changes.join("\n")
        };
        blocks.push(Block::Verdict {
            verdict: varied.verdict,
            text: format!("{}: {}", varied.variation, varied.settings),
            because,
            source: varied.swept.then(|| varied.source.clone()),
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
