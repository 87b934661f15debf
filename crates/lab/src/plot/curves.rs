//! The curves of a plot, from the summaries of a sweep.

use crate::figure::Figure;
use crate::file::TimeUnit;
use crate::quantity::Quantity;
use crate::stopping::Outcome;
use crate::summary::PointSummary;
use crate::verdict::position;

/// One line of a plot.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Curve {
    /// Its name in the legend.
    pub(crate) label: String,
    /// Its marks from left to right, or in the sweep's order if the horizontal axis is measured.
    pub(crate) marks: Vec<Mark>,
}

/// One point of a plot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: Height,
    /// Whether the point is saturated, which a load may be without losing its height.
    pub(crate) saturated: bool,
}

/// How high a mark is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Height {
    /// A value, and half the width of its interval.
    Value(f64, Option<f64>),
    /// Beyond the plot: latency without bound.
    Saturated,
    /// Nothing arrives any more.
    Deadlocked,
}

/// The values along the horizontal axis, in the order of the sweep, if they are names and no numbers.
pub(crate) fn names(figure: &Figure, summaries: &[PointSummary]) -> Vec<String> {
    let mut names = Vec::new();
    for coordinate in summaries.iter().filter_map(|summary| summary.coordinate(&figure.x)) {
        if coordinate.value.is_number() {
            return Vec::new();
        }
        position(&mut names, coordinate.text());
    }
    names
}

/// The curves in the order in which the sweep meets them; where names run along the horizontal axis, their positions are the numbers there.
pub(crate) fn curves(figure: &Figure, summaries: &[PointSummary], names: &[String]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for summary in summaries {
        let label = label(figure, summary);
        let Some(mark) = mark(figure, summary, names) else { continue };
        match curves.iter_mut().find(|curve| curve.label == label) {
            Some(curve) => curve.marks.push(mark),
            None => curves.push(Curve { label, marks: vec![mark] }),
        }
    }
    if Quantity::named(&figure.x).is_none() {
        for curve in &mut curves {
            curve.marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
    }
    curves
}

/// The series' value, with its setting if it is a number; where more is swept than the axis and the series, the other settings and values too.
fn label(figure: &Figure, summary: &PointSummary) -> String {
    let series = figure.series.as_deref();
    let first = series.and_then(|key| summary.coordinate(key)).map(crate::point::Coordinate::tag);
    let others =
        summary.coordinates.iter().filter(|c| ![figure.along.as_deref(), series].contains(&Some(c.key.as_str())));
    let others = others.map(crate::point::Coordinate::tag);
    first.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn mark(figure: &Figure, summary: &PointSummary, names: &[String]) -> Option<Mark> {
    let saturated = summary.saturated();
    let x = match summary.coordinate(&figure.x) {
        Some(coordinate) if !names.is_empty() => {
            names.iter().position(|name| *name == coordinate.text()).map(|position| position as f64)?
        }
        Some(coordinate) => coordinate.value.as_f64()?,
        None => summary.quantity(Quantity::named(&figure.x)?)?.0,
    };
    let y = match summary.quantity(figure.y) {
        Some((value, half_width)) => {
            let unit = match figure.unit {
                TimeUnit::Microseconds if figure.y.is_latency() => summary.cycle_ns / 1000.0,
                _ => 1.0,
            };
            Height::Value(value * unit, half_width.map(|half_width| half_width * unit))
        }
        None if saturated => Height::Saturated,
        None if summary.outcome == Outcome::Deadlocked => Height::Deadlocked,
        None => return None,
    };
    x.is_finite().then_some(Mark { x, y, saturated })
}
