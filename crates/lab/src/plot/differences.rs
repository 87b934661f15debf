//! The plot of a comparison: how much more each series is than the best one, and which is certainly the best where.

use super::PlotError;
use super::chart::{Across, Band, Best, Chart, Curve, Height, Mark};
use crate::comparison::{Compared, ComparedPoint, Standing, State};
use crate::statistics::in_short_percent;
use crate::statistics::summary::NO_INTERVAL;
use crate::verdict::position;

/// What a comparison shows.
///
/// # Errors
/// If no series has a value, or is saturated or deadlocked, at any point.
pub(crate) fn chart(compared: &Compared) -> Result<Chart, PlotError> {
    let Compared { comparison, figure } = compared;
    let (mut contexts, mut places): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for point in &comparison.points {
        position(&mut contexts, point.of.as_str());
        position(&mut places, point.at.as_str());
    }
    let numbers: Option<Vec<f64>> = places.iter().map(|at| at.parse().ok()).collect();
    let at = |point: &ComparedPoint| {
        let place = places.iter().position(|at| *at == point.at)?;
        Some(numbers.as_ref().map_or(place as f64, |numbers| numbers[place]))
    };
    // The curves of a context stand together, in the order of the series.
    let number = |of: &str, series: &str| {
        let context = contexts.iter().position(|context| *context == of)?;
        let series = comparison.series.iter().position(|name| name == series)?;
        Some(context * comparison.series.len() + series)
    };
    let labels = contexts.iter().flat_map(|of| {
        let label = move |name: &String| if of.is_empty() { name.clone() } else { format!("{name}, {of}") };
        comparison.series.iter().map(label)
    });
    let mut curves: Vec<Curve> = labels.map(|label| Curve { label, marks: Vec::new() }).collect();
    let mut bands: Vec<Band> = contexts.iter().map(|of| Band { label: (*of).to_owned(), places: Vec::new() }).collect();
    for point in &comparison.points {
        let (Some(x), Some(context)) = (at(point), contexts.iter().position(|of| *of == point.of)) else { continue };
        for standing in &point.standings {
            if let (Some(curve), Some((y, open))) = (number(&point.of, &standing.series), height(point, standing)) {
                // That of single runs is no wonder.
                let bare = standing.difference.is_some_and(|of| of.count > 1 && of.interval().is_none());
                curves[curve].marks.push(Mark { x, y, open, bare });
            }
        }
        let contenders = point.contenders.iter().filter_map(|name| number(&point.of, name));
        let best = match point.best.as_deref().and_then(|best| number(&point.of, best)) {
            Some(best) => Best::Certain(best),
            None if point.contenders.is_empty() => Best::Nobody,
            None => Best::Open(contenders.collect()),
        };
        bands[context].places.push((x, best));
    }
    if curves.iter().all(|curve| curve.marks.is_empty()) {
        return Err(PlotError::Empty { x: figure.x.clone() });
    }
    let from = comparison
        .reference
        .as_ref()
        .map_or_else(|| format!("the best {}", comparison.quantity.statistic()), Clone::clone);
    let across = match numbers {
        Some(_) => Across::Set { log: figure.log_x },
        None => Across::Names(places.iter().map(|&place| place.to_owned()).collect()),
    };
    let mut chart = Chart {
        title: figure.title.clone(),
        x_label: figure.x_label(),
        y_label: figure.difference_label(&from),
        across,
        log_y: false,
        signed: true,
        curves,
        bands,
        notes: Vec::new(),
    };
    if chart.marks().any(|mark| matches!(mark.y, Height::Value(_, Some(_)))) {
        let confidence = in_short_percent(figure.confidence);
        chart.notes.push(format!("bars: intervals that all hold together with {confidence}% confidence"));
    }
    if chart.marks().any(|mark| mark.bare) {
        chart.notes.push(format!("marked {NO_INTERVAL}: no interval, it takes more runs"));
    }
    if chart.marks().any(|mark| mark.open) {
        chart.notes.push("open markers: not certainly different".to_owned());
    }
    if comparison.points.iter().any(ComparedPoint::depends_on_windows) {
        chart.notes.push(format!("some {}s depend on the window", comparison.quantity.statistic()));
    }
    chart.notes.push("band: which is certainly the best; on grey: which may be the best".to_owned());
    match places[..] {
        [only] if chart.curves.len() > 1 => {
            let along = comparison
                .along
                .as_ref()
                .map_or_else(|| chart.x_label.clone(), |_| format!("{}: {only}", chart.x_label));
            Ok(chart.beside(along))
        }
        _ => Ok(chart),
    }
}

/// How high a series is at a point, and whether that is a difference of which nothing is certain.
fn height(point: &ComparedPoint, standing: &Standing) -> Option<(Height, bool)> {
    match standing.state {
        State::Saturated => Some((Height::Saturated, false)),
        State::Deadlocked => Some((Height::Deadlocked, false)),
        State::NoResult => None,
        State::Measured | State::Unsettled if point.reference.as_ref() == Some(&standing.series) => {
            Some((Height::Value(0.0, None), point.contenders.len() > 1))
        }
        State::Measured | State::Unsettled => {
            let difference = standing.difference?;
            Some((Height::Value(difference.mean, difference.interval()), standing.relation.is_none()))
        }
    }
}
