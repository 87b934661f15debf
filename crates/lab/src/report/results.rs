//! Results as tables.

use super::{Block, Cell};
use crate::experiment::Experiment;
use crate::file::{Quantity, TimeUnit};
use crate::statistics::Estimate;
use crate::stopping::Outcome;
use crate::summary::PointSummary;

/// What a plot shows.
pub(super) fn caption(experiment: &Experiment, quantity: Quantity) -> String {
    let confidence = 100.0 * experiment.stop().confidence;
    let what = experiment.title().trim_end_matches('.');
    let what = if what.is_empty() { quantity.name() } else { what };
    format!("{what}. Bars are intervals with {confidence:.0}% confidence.")
}

/// A quantity at all points of an experiment: series beside each other, everything else below each other.
pub(super) fn table(experiment: &Experiment, quantity: Quantity, summaries: &[PointSummary]) -> Block {
    let series = experiment.series_key();
    let mut columns: Vec<String> = Vec::new();
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for summary in summaries {
        let name =
            summary.coordinate(&series).map_or_else(|| experiment.shown_as(quantity), crate::point::Coordinate::text);
        let others = summary.coordinates.iter().filter(|coordinate| coordinate.key != series);
        if keys.is_empty() {
            keys = others.clone().map(|coordinate| coordinate.key.clone()).collect();
        }
        let place: Vec<String> = others.map(crate::point::Coordinate::text).collect();
        let column = position(&mut columns, name);
        let row = match rows.iter().position(|(known, _)| *known == place) {
            Some(row) => row,
            None => {
                rows.push((place, Vec::new()));
                rows.len() - 1
            }
        };
        let cells = &mut rows[row].1;
        cells.resize(cells.len().max(column + 1), String::new());
        cells[column] = value(experiment, quantity, summary);
    }
    let head = keys.into_iter().map(Cell::Text).chain(columns.iter().cloned().map(Cell::Text)).collect();
    let rows = rows.into_iter().map(|(place, mut cells)| {
        cells.resize(columns.len(), String::new());
        place.into_iter().map(Cell::Text).chain(cells.into_iter().map(Cell::Number)).collect()
    });
    Block::Table { head, rows: rows.collect() }
}

/// The place of a value in a list that gets it if it has not.
fn position(list: &mut Vec<String>, value: String) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

fn value(experiment: &Experiment, quantity: Quantity, summary: &PointSummary) -> String {
    let scale = match experiment.unit() {
        TimeUnit::Microseconds if quantity.is_latency() => summary.cycle_ns / 1000.0,
        _ => 1.0,
    };
    match (summary.quantity(quantity), summary.outcome) {
        (Some((mean, half_width)), _) => number(mean * scale, half_width.map(|half| half * scale)),
        (None, Outcome::Saturated) => "saturated".to_owned(),
        (None, Outcome::Deadlocked) => "deadlocked".to_owned(),
        (None, _) => String::new(),
    }
}

/// A mean difference with its interval and its unit.
pub(super) fn estimate(estimate: Estimate, unit: &str) -> String {
    let unit = if unit == "us" { "µs" } else { unit };
    format!("{} {unit}", number(estimate.mean, estimate.half_width)).trim_end().to_owned()
}

/// A number with as many decimals as its interval makes sense of.
fn number(mean: f64, half_width: Option<f64>) -> String {
    let Some(half) = half_width.filter(|half| *half > 0.0) else { return plain(mean, 4) };
    let decimals = (1.0 - half.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{mean:.decimals$} ± {half:.decimals$}")
}

/// A number with so many significant digits, without zeros at its end.
fn plain(number: f64, digits: i32) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let decimals = (f64::from(digits) - 1.0 - number.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_decimals_that_their_intervals_make_sense_of() {
        assert_eq!(number(12.3456, Some(0.234)), "12.35 ± 0.23");
        assert_eq!(number(1234.5, Some(23.4)), "1234 ± 23");
        assert_eq!(number(0.012_341, Some(0.000_123)), "0.01234 ± 0.00012");
        assert_eq!(number(5.0, Some(0.0)), "5");
        assert_eq!(number(0.123_456, None), "0.1235");
        assert_eq!(number(1024.0, None), "1024");
    }
}
