//! The curves of a sweep, from its summaries.

use super::PlotError;
use super::chart::{Across, Chart, Curve, Height, Mark};
use crate::experiment::file::TimeUnit;
use crate::experiment::point::Coordinate;
use crate::figure::Figure;
use crate::runs::kind::Kind;
use crate::runs::stopping::Outcome;
use crate::statistics::in_short_percent;
use crate::statistics::quantity::Quantity;
use crate::statistics::summary::{NO_INTERVAL, PointSummary, incomplete_points, without_interval};

/// What a figure shows of the summaries.
///
/// # Errors
/// If no point can be drawn.
pub(crate) fn chart(figure: &Figure, summaries: &[PointSummary]) -> Result<Chart, PlotError> {
    let empty = || PlotError::Empty { x: figure.x.clone() };
    let marked: Vec<(&PointSummary, Mark)> =
        summaries.iter().filter_map(|summary| Some((summary, mark(figure, summary)?))).collect();
    let placeless: Vec<&PointSummary> = summaries.iter().filter(|summary| is_placeless(figure, summary)).collect();
    if marked.is_empty() {
        return Err(if placeless.is_empty() { empty() } else { PlotError::Deadlocked { x: figure.x.clone() } });
    }
    let quantity = Quantity::named(&figure.x);
    let measured = quantity.is_some();
    let measured_before = quantity.is_some_and(|quantity| quantity.kind() != Kind::Simulated);
    let shown = |mark: &Mark| is_shown(figure, mark);
    let legend = Legend::of(figure, summaries);
    let mut curves: Vec<Curve> = Vec::new();
    for (summary, mark) in marked.iter().filter(|(_, mark)| shown(mark)) {
        let label = legend.label(summary);
        match curves.iter_mut().find(|curve| curve.label == label) {
            Some(curve) => curve.marks.push(*mark),
            None => curves.push(Curve { label, marks: vec![*mark] }),
        }
    }
    let placeless = deadlocked(&figure.x, placeless.into_iter().map(|summary| legend.label(summary)));
    let hidden = marked.iter().filter(|(_, mark)| !shown(mark)).count();
    if curves.is_empty() {
        let logarithmic = [(figure.log_x, figure.x.as_str()), (figure.log_y, figure.y.name())];
        let along = logarithmic.into_iter().filter(|&(log, _)| log).map(|(_, name)| name.to_owned()).collect();
        return Err(PlotError::NotPositive { along });
    }
    let log = figure.log_x;
    let across = if measured { Across::Measured { log } } else { Across::Set { log } };
    // A curve over a load that is measured comes back where the network delivers less than at lower loads. What is known of a network
    // beforehand, such as its side, is in order.
    if !measured || measured_before {
        for curve in &mut curves {
            curve.marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
    }
    let mut chart = Chart {
        title: figure.title.clone(),
        x_label: figure.x_label(),
        y_label: figure.y_label(),
        across,
        log_y: figure.log_y,
        signed: false,
        curves,
        bands: Vec::new(),
        notes: legend.common,
    };
    if chart.marks().any(|mark| matches!(mark.y, Height::Value(_, Some(_)))) {
        chart.notes.push(format!("bars: {}% confidence intervals", in_short_percent(figure.confidence)));
    }
    if let Some((bare, valued)) = without_interval(summaries, figure.y) {
        for mark in chart.curves.iter_mut().flat_map(|curve| &mut curve.marks) {
            mark.bare = matches!(mark.y, Height::Value(_, None));
        }
        chart.notes.push(format!("no interval at {bare} of {valued} points, marked {NO_INTERVAL}: it takes more runs"));
    }
    chart.notes.extend(incomplete_points(summaries));
    chart.notes.extend(placeless);
    if chart.marks().any(|mark| mark.open) {
        let any = |is: fn(&PointSummary) -> bool| summaries.iter().any(is);
        let open = match (any(|summary| summary.trend), any(|summary| summary.unmeasured > 0.0)) {
            _ if !figure.y.is_latency() => "saturated",
            (true, true) => "the mean depends on the window, or leaves out messages still in flight",
            (false, true) => "the mean leaves out messages still in flight",
            _ => "the mean depends on the window",
        };
        chart.notes.push(format!("open markers: {open}"));
    }
    let short = summaries.iter().filter(|summary| !figure.y.is_latency() && summary.is_reserved(figure.y)).count();
    if short > 0 {
        chart.notes.push(format!("windows too short for this at {short} of {} points", summaries.len()));
    }
    if hidden > 0 {
        let points = if hidden == 1 { "point is" } else { "points are" };
        chart.notes.push(format!("{hidden} {points} not shown: a logarithmic axis has no place for 0"));
    }
    match chart.only_place() {
        Some(x) if !measured && chart.curves.len() > 1 => {
            let label = format!("{}: {x}", chart.x_label);
            Ok(chart.beside(label))
        }
        _ => Ok(chart),
    }
}

/// Whether a point has no place along a measured axis because it is deadlocked: nothing is measured there.
fn is_placeless(figure: &Figure, summary: &PointSummary) -> bool {
    summary.outcome == Outcome::Deadlocked && mark(figure, summary).is_none()
}

/// A note that counts the deadlocked points of each curve that cannot be placed on a measured axis.
fn deadlocked(x: &str, labels: impl Iterator<Item = String>) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for label in labels {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    let of = |(label, count): &(String, usize)| {
        let points = format!("{count} {}", if *count == 1 { "point" } else { "points" });
        if label.is_empty() { points } else { format!("{label} ({points})") }
    };
    let all: Vec<String> = counts.iter().map(of).collect();
    (!all.is_empty()).then(|| format!("not shown, since deadlocked runs have no {x}: {}", all.join(", ")))
}

/// The marks of a figure with their labels and the summaries that they are of: those that a plot shows, in the order of the summaries.
pub(crate) fn placed<'s>(figure: &Figure, summaries: &'s [PointSummary]) -> Vec<(String, &'s PointSummary, Mark)> {
    let marked: Vec<(&PointSummary, Mark)> =
        summaries.iter().filter_map(|summary| Some((summary, mark(figure, summary)?))).collect();
    let legend = Legend::of(figure, summaries);
    let there = marked.into_iter().filter(|(_, mark)| is_shown(figure, mark));
    there.map(|(summary, mark)| (legend.label(summary), summary, mark)).collect()
}

/// Whether a mark has a place on the figure's axes.
fn is_shown(figure: &Figure, mark: &Mark) -> bool {
    let height = mark.value().is_none_or(|(y, _)| y > 0.0);
    (!figure.log_x || mark.x > 0.0) && (!figure.log_y || height)
}

/// Which swept settings tell curves apart.
struct Legend {
    /// The settings in a label, the series first.
    keys: Vec<String>,
    /// What all curves have in common besides, in words.
    common: Vec<String>,
}

impl Legend {
    /// Of what has a mark, or would have if it were not deadlocked.
    fn of(figure: &Figure, summaries: &[PointSummary]) -> Self {
        let is_there = |summary: &&PointSummary| mark(figure, summary).is_some() || is_placeless(figure, summary);
        let there: Vec<&PointSummary> = summaries.iter().filter(is_there).collect();
        let series = figure.series.as_deref();
        let first = there.first().map_or(&[][..], |summary| &summary.coordinates);
        let varies = |of: &Coordinate| {
            there.iter().any(|summary| summary.coordinate(&of.key).is_some_and(|other| other.value != of.value))
        };
        let told = first.iter().filter(|of| figure.along.as_deref() != Some(of.key.as_str()));
        let (mut keys, mut common) = (Vec::new(), Vec::new());
        for of in told {
            if varies(of) {
                let at = if series == Some(of.key.as_str()) { 0 } else { keys.len() };
                keys.insert(at, of.key.clone());
            } else {
                common.push(of);
            }
        }
        // A curve alone is called what its series says.
        if keys.is_empty()
            && let Some(at) = common.iter().position(|of| series == Some(of.key.as_str()))
        {
            keys.push(common.remove(at).key.clone());
        }
        Self { keys, common: common.into_iter().map(Coordinate::tag).collect() }
    }

    fn label(&self, summary: &PointSummary) -> String {
        let tags = self.keys.iter().filter_map(|key| summary.coordinate(key)).map(Coordinate::tag);
        tags.collect::<Vec<_>>().join(", ")
    }
}

fn mark(figure: &Figure, summary: &PointSummary) -> Option<Mark> {
    let saturated = summary.saturated();
    let x = match summary.coordinate(&figure.x) {
        Some(coordinate) => coordinate.value.as_f64()?,
        None => summary.quantity(Quantity::named(&figure.x)?)?.mean,
    };
    let y = match summary.quantity(figure.y) {
        Some(estimate) => {
            let unit = match figure.unit {
                TimeUnit::Microseconds if figure.y.is_latency() => summary.cycle_ns / 1000.0,
                _ => 1.0,
            };
            let estimate = estimate.scaled(unit);
            Height::Value(estimate.mean, estimate.interval())
        }
        None if saturated => Height::Saturated,
        None if summary.outcome == Outcome::Deadlocked => Height::Deadlocked,
        None => return None,
    };
    // A load at saturation is what gets through; a latency that the window decides is too small.
    let reserved = if figure.y.is_latency() { summary.is_reserved(figure.y) } else { saturated };
    let open = reserved && matches!(y, Height::Value(..));
    x.is_finite().then_some(Mark { x, y, open, bare: false })
}
