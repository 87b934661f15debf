//! The curves of a plot as data, for programs that draw them themselves.

use serde::Serialize;

use super::PlotError;
use super::chart::{Across, Height};
use super::curves::{chart, placed};
use crate::experiment::point::Coordinate;
use crate::figure::Figure;
use crate::runs::stopping::Outcome;
use crate::statistics::summary::PointSummary;

/// What a plot draws.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlotData {
    /// The title; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis.
    pub y: PlotAxis,
    /// The curves, in the order of the legend.
    pub series: Vec<PlotSeries>,
    /// What is said below the plot.
    pub notes: Vec<String>,
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlotAxis {
    /// The setting's dotted path, or the name of a quantity.
    pub name: String,
    /// The axis in words, with its unit.
    pub label: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A curve.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlotSeries {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which the plot joins them.
    pub points: Vec<PlotPoint>,
}

/// A point of a curve.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlotPoint {
    /// Its place along the horizontal axis.
    pub x: f64,
    /// Its height; `None` if it is saturated or deadlocked and has none.
    pub mean: Option<f64>,
    /// The lower end of its interval, if it has one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether it is saturated.
    pub saturated: bool,
    /// Whether a replication of it deadlocked.
    pub deadlocked: bool,
    /// Whether it has a reservation: an open marker.
    pub unsettled: bool,
    /// Replications that it is a mean of.
    pub replications: u32,
    /// The point's name in the store.
    pub point: String,
    /// The swept settings and their values here.
    pub settings: Vec<Coordinate>,
}

/// What [`plot`](super::plot) draws of a figure, with the point that each mark is of.
///
/// # Errors
/// If no point can be drawn.
pub fn plot_data(figure: &Figure, summaries: &[PointSummary]) -> Result<PlotData, PlotError> {
    let chart = chart(figure, summaries)?;
    let mut series: Vec<PlotSeries> =
        chart.curves.iter().map(|curve| PlotSeries { name: curve.label.clone(), points: Vec::new() }).collect();
    for (label, summary, mark) in placed(figure, summaries) {
        let Some(place) = chart.curves.iter().position(|curve| curve.label == label) else { continue };
        let (mean, interval) = mark.value().map_or((None, None), |(mean, interval)| (Some(mean), interval));
        series[place].points.push(PlotPoint {
            x: mark.x,
            mean,
            low: interval.map(|[low, _]| low),
            high: interval.map(|[_, high]| high),
            saturated: mark.y == Height::Saturated || summary.outcome == Outcome::Saturated,
            deadlocked: summary.outcome == Outcome::Deadlocked,
            unsettled: mark.open,
            replications: summary.replications,
            point: summary.config_hash.clone(),
            settings: summary.coordinates.clone(),
        });
    }
    if let Across::Set { .. } = chart.across {
        for curve in &mut series {
            curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
    }
    let x = PlotAxis { name: figure.x.clone(), label: figure.x_label(), log: figure.log_x };
    let y = PlotAxis { name: figure.y.name().to_owned(), label: figure.y_label(), log: figure.log_y };
    Ok(PlotData { title: chart.title, x, y, series, notes: chart.notes })
}
