//! Tables of a page: a row for each value along the horizontal axis, a column for each series.

use super::ranking::UNSETTLED;
use super::{Cell, Table};
use crate::experiment::Experiment;
use crate::experiment::file::TimeUnit;
use crate::experiment::point::Coordinate;
use crate::figure::{Figure, setting_unit};
use crate::runs::stopping::Outcome;
use crate::statistics::in_short_percent;
use crate::statistics::quantity::Quantity;
use crate::statistics::summary::{NO_INTERVAL, PointSummary, without_interval};
use crate::verdict::position;

/// What a plot shows.
pub(super) fn caption(experiment: &Experiment, figure: &Figure) -> String {
    let confidence = in_short_percent(experiment.stop().confidence);
    let title = experiment.title().trim_end_matches('.');
    let title = match title {
        "" => String::new(),
        title if title.ends_with(['?', '!']) => format!("{title} "),
        title => format!("{title}: "),
    };
    format!("{title}{}. Bars are intervals with {confidence}% confidence.", figure.y_label())
}

/// A quantity at all points of an experiment: series beside each other, everything else below each other.
pub(super) fn table(experiment: &Experiment, quantity: Quantity, summaries: &[PointSummary]) -> Table {
    let series = experiment.series_key();
    let mut columns: Vec<String> = Vec::new();
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    let bare = without_interval(summaries, quantity).is_some();
    for summary in summaries {
        let name = summary.coordinate(&series).map_or_else(|| experiment.shown_as(quantity), Coordinate::text);
        let others = summary.coordinates.iter().filter(|coordinate| coordinate.key != series);
        if keys.is_empty() {
            keys = others.clone().map(|coordinate| with_unit(&coordinate.key)).collect();
        }
        let place: Vec<String> = others.map(Coordinate::text).collect();
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
        cells[column] = value(experiment, quantity, summary, bare);
    }
    let head = keys.into_iter().chain(columns.iter().cloned()).collect();
    let rows = rows.into_iter().map(|(place, mut cells)| {
        cells.resize(columns.len(), String::new());
        place.into_iter().map(Cell::Text).chain(cells.into_iter().map(Cell::Number)).collect()
    });
    Table::of_numbers(head, rows.collect())
}

/// A setting with its unit, if it has one.
fn with_unit(key: &str) -> String {
    setting_unit(key).map_or_else(|| key.to_owned(), |unit| format!("{key}, {unit}"))
}

/// What a point has of a quantity; `bare` says whether values without an interval are marked.
fn value(experiment: &Experiment, quantity: Quantity, summary: &PointSummary, bare: bool) -> String {
    let scale = match experiment.unit() {
        TimeUnit::Microseconds if quantity.is_latency() => summary.cycle_ns / 1000.0,
        _ => 1.0,
    };
    match (summary.quantity(quantity), summary.outcome) {
        (Some(estimate), _) => {
            let mark = if summary.is_reserved(quantity) || summary.trend { UNSETTLED } else { "" };
            let bare = if bare && estimate.interval().is_none() { format!(" {NO_INTERVAL}") } else { String::new() };
            let incomplete = if summary.outcome == Outcome::Incomplete { " (incomplete)" } else { "" };
            estimate.scaled(scale).text() + mark + &bare + incomplete
        }
        (None, Outcome::Incomplete) if summary.replications > 0 => "saturated (incomplete)".to_owned(),
        (None, Outcome::Saturated) => "saturated".to_owned(),
        (None, Outcome::Deadlocked) => "deadlocked".to_owned(),
        (None, _) => String::new(),
    }
}
