//! Which series is best where, and where that changes.

use super::{Block, Cell, Shown, Table};
use crate::comparison::{ComparedPoint, SeriesComparison, Standing, State};
use crate::experiment::Experiment;
use crate::runs::run::Findings;
use crate::statistics::{Estimate, in_percent};

/// The rankings of an experiment's series: by the first quantity for all to see, by others for those who ask.
pub(super) fn blocks(experiment: &Experiment, findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (number, comparison) in findings.rankings.iter().enumerate() {
        let what = experiment.shown_as(comparison.quantity);
        if number == 0 {
            let confidence = in_percent(comparison.confidence);
            let statistic = comparison.quantity.statistic();
            let of_others = comparison.points.iter().flat_map(|point| &point.standings).any(is_of_others);
            blocks.push(Block::Text(format!(
                "Which is best, by {what}: differences are from the best {statistic}, over runs with the same random numbers{}, with \
                 {confidence}% confidence each.",
                if of_others { format!(", except where {OTHERS} is added") } else { String::new() }
            )));
            if comparison.points.iter().any(ComparedPoint::depends_on_windows) {
                blocks.push(Block::Text(format!("{UNSETTLED}: this {statistic} still depends on the length of the runs; what is certain holds for runs of this length.")));
            }
            let changes: Vec<String> = comparison.crossings.iter().map(ToString::to_string).collect();
            if !changes.is_empty() {
                blocks.push(Block::List(changes));
            }
            blocks.push(Block::Table(table(comparison)));
        } else {
            blocks.push(Block::Details {
                summary: format!("Which is best, by {what}"),
                block: Box::new(Block::Table(table(comparison))),
                shown: Shown::Printed,
            });
        }
    }
    blocks
}

fn table(comparison: &SeriesComparison) -> Table {
    let along = comparison.along.as_deref().unwrap_or("at");
    // What the axis does not say has a column of its own.
    let is_split = comparison.points.iter().any(|point| !point.of.is_empty());
    let row = |point: &ComparedPoint| {
        let of = is_split.then(|| point.of.clone());
        let words = of.into_iter().chain([point.at.clone(), best(point), others(point)]);
        words.map(Cell::Text).collect()
    };
    let rows = comparison.points.iter().map(row).collect();
    if is_split {
        Table::of_words(["of", along, "best", "the others"], rows)
    } else {
        Table::of_words([along, "best", "the others"], rows)
    }
}

/// The one that is certainly the best with its value, or those that may be.
fn best(point: &ComparedPoint) -> String {
    let value = |name: &str| {
        let standing = point.standings.iter().find(|standing| standing.series == name);
        standing.map_or_else(String::new, |standing| {
            standing.value.map_or_else(String::new, |value| format!(": {}{}", value.text(), mark(standing)))
        })
    };
    match (&point.best, &point.contenders[..]) {
        (Some(best), _) => format!("{best}{}", value(best)),
        (None, []) => format!("none: {}", point.all_fail().unwrap_or("no series has a value")),
        (None, several) => {
            // Differences are from the reference: it comes first, with its value.
            let reference = point.reference.as_ref().filter(|reference| several.contains(reference));
            let first = reference.map(|reference| format!("{reference}{}", value(reference)));
            let others = several.iter().filter(|name| Some(*name) != reference).cloned();
            format!("open: {}", first.into_iter().chain(others).collect::<Vec<_>>().join(", or "))
        }
    }
}

/// The others by their differences, then those without a value.
fn others(point: &ComparedPoint) -> String {
    let mut parts = Vec::new();
    for standing @ Standing { series, difference, .. } in &point.standings {
        if let Some(difference) = difference {
            let why = standing.open_because();
            let open = match (point.contenders.contains(series), why) {
                (true, Some(why)) => format!(" (open: {why})"),
                (true, None) => " (open)".to_owned(),
                // It is behind the best; how far is not certain.
                (false, Some(why)) => format!(" (not best: {why})"),
                (false, None) => String::new(),
            };
            let others = if is_of_others(standing) { format!(" {OTHERS}") } else { String::new() };
            parts.push(format!("{series} {}{}{others}{open}", signed(difference), mark(standing)));
        }
    }
    for (state, word) in [
        (State::Saturated, "saturated"),
        (State::Deadlocked, "deadlocked"),
        (State::NoResult, "without a complete result"),
    ] {
        let names: Vec<&str> = point
            .standings
            .iter()
            .filter(|standing| standing.state == state)
            .map(|standing| standing.series.as_str())
            .collect();
        if !names.is_empty() {
            parts.push(format!("{word}: {}", names.join(", ")));
        }
    }
    parts.join("; ")
}

/// What marks a value that still depends on the window.
pub(super) const UNSETTLED: &str = "†";

/// What marks a difference between runs that did not meet the same messages, as one series needed longer windows.
const OTHERS: &str = "(of other messages)";

fn is_of_others(standing: &Standing) -> bool {
    standing.difference.is_some() && standing.same_messages == Some(false)
}

fn mark(standing: &Standing) -> &'static str {
    if standing.state == State::Unsettled { UNSETTLED } else { "" }
}

fn signed(difference: &Estimate) -> String {
    let sign = if difference.mean > 0.0 { "+" } else { "" };
    format!("{sign}{}", difference.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Relation;

    #[test]
    fn differences_between_runs_of_other_messages_are_marked() {
        let estimate = |mean: f64| Estimate { mean, half_width: Some(0.5), ends: None, count: 5 };
        let standing = |series: &str, same_messages| Standing {
            series: series.to_owned(),
            state: State::Measured,
            value: Some(estimate(12.0)),
            difference: Some(estimate(2.0)),
            same_messages,
            relation: Some(Relation::Worse),
        };
        let point = ComparedPoint {
            of: String::new(),
            at: "0.1".to_owned(),
            added: false,
            best: Some("a".to_owned()),
            contenders: vec!["a".to_owned()],
            reference: Some("a".to_owned()),
            standings: vec![standing("same", Some(true)), standing("other", Some(false))],
        };
        let told = others(&point);
        let parts: Vec<&str> = told.split("; ").collect();
        assert_eq!(parts.iter().map(|part| part.ends_with(OTHERS)).collect::<Vec<_>>(), [false, true], "{told}");
    }
}
