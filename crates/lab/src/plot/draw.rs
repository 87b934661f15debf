//! A plot as papers print it: frame, ticks, curves with markers and intervals.

use plotters::prelude::*;

use super::band;
use super::canvas::{Align, Canvas, Drawn, text_width};
use super::chart::{Across, Chart, Curve, Mark};
use super::legend::{Legend, shortened};
use super::look::look;
use super::scale::Scale;
use super::strip::{SATURATED, Strip};
use crate::statistics::summary::NO_INTERVAL;

/// Width and height of a plot with a legend of one line, in its own units: pixels of a drawing that is not enlarged.
const SIZE: (f64, f64) = (880.0, 620.0);
/// How much lower a plot is that has no values.
const NO_VALUES: f64 = 300.0;

const TITLE: f64 = 19.0;
const LABEL: f64 = 17.0;
pub(crate) const TICK: f64 = 15.0;
pub(crate) const NOTE: f64 = 13.0;
const NOTE_LINE: f64 = 19.0;
pub(crate) const RADIUS: f64 = 5.0;
/// The width of the lines of curves.
pub(crate) const LINE: f64 = 2.0;
pub(crate) const GREY: RGBColor = RGBColor(90, 90, 90);
pub(crate) const GRID: RGBColor = RGBColor(225, 225, 225);

/// The most room that names to the left of the frame take.
const NAMES: f64 = 130.0;

/// A plot, laid out.
pub(crate) struct Layout<'a> {
    chart: &'a Chart,
    legend: Legend,
    strip: Strip,
    /// The lines below the plot.
    notes: Vec<String>,
    left: f64,
    right: f64,
    height: f64,
    x: Scale,
    /// None if there are no values.
    y: Option<Scale>,
}

impl<'a> Layout<'a> {
    /// Chooses axes and sizes.
    pub(crate) fn new(chart: &'a Chart) -> Self {
        let heights: Vec<_> = chart.marks().filter_map(Mark::value).collect();
        let y = (!heights.is_empty()).then(|| Scale::heights(&heights, chart.log_y, chart.signed));
        let strip = Strip::new(chart);
        let ticks = y.iter().flat_map(|y| &y.ticks).map(|(_, label)| 40.0 + text_width(label, TICK));
        let bands = chart.bands.iter().map(|band| text_width(&band::name(band, NAMES), NOTE));
        let beside = bands.chain((strip.height() > 0.0).then(|| text_width(SATURATED, NOTE)));
        // Beside the frame, and clear of the edge.
        let left = ticks.chain(beside.map(|width| width + 6.0)).fold(0.0, f64::max) + 8.0;
        let right = SIZE.0 - 24.0;
        let mut x = match &chart.across {
            Across::Names(names) => Scale::of_names(names),
            Across::Set { log } => Scale::along(&telling(&chart.curves), *log),
            Across::Measured { log } => Scale::along(&chart.marks().map(|mark| mark.x).collect::<Vec<_>>(), *log),
        };
        thin(&mut x, right - left, matches!(chart.across, Across::Names(_)));
        // Where the names are at the curves, no legend is needed.
        let named = chart.is_beside() && !x.ticks.is_empty();
        let labels = chart.curves.iter().map(|curve| curve.label.as_str()).filter(|_| !named);
        let legend = Legend::new(labels, right - left);
        let notes = in_lines(chart.notes.iter().cloned().chain(strip.notes()), SIZE.0 - 2.0 * 24.0);
        let more = |lines: usize, line: f64| lines.saturating_sub(1) as f64 * line;
        let height = SIZE.1 - if y.is_none() { NO_VALUES } else { 0.0 }
            + (legend.height() - Legend::LINE).max(0.0)
            + strip.height()
            + band::height(&chart.bands)
            + more(notes.len(), NOTE_LINE);
        Self { chart, legend, strip, notes, left, right, height, x, y }
    }

    /// Width and height, in units.
    pub(crate) fn size(&self) -> (f64, f64) {
        (SIZE.0, self.height)
    }

    /// Draws all of it on a white area.
    pub(crate) fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn<DB> {
        let mut top = 18.0;
        let title = &self.chart.title;
        if !title.is_empty() {
            top += TITLE;
            let size = fitting(title, TITLE, SIZE.0 - 30.0);
            canvas.text(title, (SIZE.0 / 2.0, top - 4.0), size, Align::Centre, BLACK)?;
            top += 14.0;
        }
        if self.legend.height() > 0.0 {
            self.legend.draw(canvas, (self.left, self.right), top)?;
            top += self.legend.height() + 8.0;
        }
        top += self.strip.height();
        let below = 68.0 + NOTE_LINE * self.notes.len() as f64 + band::height(&self.chart.bands);
        let bottom = self.height - below;
        let nothing = Scale::nothing();
        let y = self.y.as_ref().unwrap_or(&nothing);
        let frame = Frame { left: self.left, right: self.right, top, bottom, x: &self.x, y };
        self.axes(canvas, &frame)?;
        self.strip.draw(canvas, &frame)?;
        band::draw(canvas, &frame, &self.chart.bands, matches!(self.chart.across, Across::Names(_)), NAMES)?;
        let mut line = self.height - 16.0 - NOTE_LINE * self.notes.len().saturating_sub(1) as f64;
        for note in &self.notes {
            canvas.text(note, (self.right, line), NOTE, Align::Right, GREY)?;
            line += NOTE_LINE;
        }
        for (index, curve) in self.chart.curves.iter().enumerate() {
            let joined = !matches!(self.chart.across, Across::Names(_));
            draw_curve(canvas, &frame, index, curve, joined)?;
        }
        Ok(())
    }

    fn axes<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, frame: &Frame<'_>) -> Drawn<DB> {
        let Frame { left, right, top, bottom, .. } = *frame;
        for (value, label) in &frame.y.ticks {
            let y = frame.top_of(*value);
            canvas.line(&[(left, y), (right, y)], GRID, 1.0)?;
            canvas.line(&[(left, y), (left + 6.0, y)], BLACK, 1.2)?;
            canvas.text(label, (left - 8.0, y), TICK, Align::Right, BLACK)?;
        }
        let labels = bottom + band::height(&self.chart.bands);
        for (value, label) in &frame.x.ticks {
            let x = frame.left_of(*value);
            canvas.line(&[(x, top), (x, bottom)], GRID, 1.0)?;
            canvas.line(&[(x, bottom), (x, bottom - 6.0)], BLACK, 1.2)?;
            canvas.text(label, (x, labels + 16.0), TICK, Align::Centre, BLACK)?;
        }
        if self.chart.signed && (0.0..=1.0).contains(&frame.y.share(0.0)) {
            let y = frame.top_of(0.0);
            canvas.line(&[(left, y), (right, y)], GREY, 1.2)?;
        }
        canvas.rectangle((left, top), (right, bottom), BLACK, 1.2)?;
        let (middle, x_label, y_label) = (f64::midpoint(left, right), &self.chart.x_label, &self.chart.y_label);
        let size = fitting(x_label, LABEL, right - left);
        canvas.text(x_label, (middle, labels + 44.0), size, Align::Centre, BLACK)?;
        let centre = f64::midpoint(top, bottom);
        if self.y.is_none() {
            let nothing = format!("{y_label}: no point has a value");
            let size = fitting(&nothing, LABEL, right - left - 20.0);
            return canvas.text(&nothing, (middle, centre), size, Align::Centre, GREY);
        }
        let size = fitting(y_label, LABEL, bottom - top + 30.0);
        canvas.text(y_label, (20.0, centre), size, Align::Upwards, BLACK)
    }
}

/// The numbers along the horizontal axis as far as they tell something: behind its last value and the first load at which it is
/// saturated, a curve says nothing new.
fn telling(curves: &[Curve]) -> Vec<f64> {
    let end = |curve: &Curve| {
        let valued = curve.marks.iter().rposition(|mark| mark.value().is_some());
        // The first mark behind the last value, or else the last value.
        let behind = valued.map_or(0, |last| last + 1);
        curve.marks.get(behind).or(curve.marks.last()).map(|mark| mark.x)
    };
    let most = curves.iter().filter_map(end).fold(f64::NEG_INFINITY, f64::max);
    let all = || curves.iter().flat_map(|curve| &curve.marks).map(|mark| mark.x);
    let told: Vec<f64> = all().filter(|&x| x <= most).collect();
    // Where everything is saturated from the first load on, that much is to be seen.
    if told.iter().all(|x| x.total_cmp(&told[0]).is_eq()) { all().collect() } else { told }
}

/// The size at which a text has this much room, or the size that is wanted.
fn fitting(text: &str, size: f64, room: f64) -> f64 {
    size * (room / text_width(text, size)).min(1.0)
}

/// Notes in as few lines as have room for them.
fn in_lines(notes: impl Iterator<Item = String>, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for note in notes {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line}; {note}"), NOTE) <= room => *line = format!("{line}; {note}"),
            _ => lines.push(shortened(&note, NOTE, room)),
        }
    }
    lines
}

/// Leaves out labels of a horizontal axis that have no room: every other one until the rest has, or all, if they are names, which the
/// legend has too.
fn thin(scale: &mut Scale, room: f64, names: bool) {
    let collide = |ticks: &[(f64, String)]| {
        let half = |label: &str| text_width(label, TICK) / 2.0;
        ticks.windows(2).any(|pair| {
            let apart = (scale.share(pair[1].0) - scale.share(pair[0].0)) * room;
            apart < half(&pair[0].1) + half(&pair[1].1) + TICK / 2.0
        })
    };
    let mut ticks = scale.ticks.clone();
    while collide(&ticks) {
        ticks = if names { Vec::new() } else { ticks.into_iter().step_by(2).collect() };
    }
    scale.ticks = ticks;
}

/// Where the frame is.
pub(crate) struct Frame<'a> {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    x: &'a Scale,
    y: &'a Scale,
}

impl Frame<'_> {
    pub(crate) fn left_of(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (self.right - self.left)
    }

    fn top_of(&self, y: f64) -> f64 {
        self.bottom - self.y.share(y) * (self.bottom - self.top)
    }
}

fn draw_curve<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame<'_>,
    index: usize,
    curve: &Curve,
    joined: bool,
) -> Drawn<DB> {
    let look = look(index);
    let place = |mark: &Mark| mark.value().map(|(y, _)| (frame.left_of(mark.x), frame.top_of(y)));
    for mark in &curve.marks {
        if let Some((_, Some([low, high]))) = mark.value() {
            interval(canvas, frame, mark.x, (low, high), look.colour)?;
        }
    }
    // No line leads across a mark without a height.
    for run in curve.marks.split(|mark| mark.value().is_none()).filter(|run| joined && run.len() > 1) {
        canvas.dashed(&run.iter().filter_map(place).collect::<Vec<_>>(), look, LINE)?;
    }
    for mark in &curve.marks {
        if let Some(place) = place(mark) {
            canvas.marker(place, RADIUS, look, mark.open)?;
            if mark.bare {
                let beside = (place.0 + RADIUS + 2.0, place.1 - RADIUS - 4.0);
                canvas.text(NO_INTERVAL, beside, NOTE, Align::Left, look.colour)?;
            }
        }
    }
    Ok(())
}

fn interval<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame<'_>,
    x: f64,
    (low, high): (f64, f64),
    colour: RGBColor,
) -> Drawn<DB> {
    const CAP: f64 = 5.0;
    let x = frame.left_of(x);
    let (high, low) = (frame.top_of(high), frame.top_of(low));
    // An interval that goes on below the axis has no end to be seen.
    let cut = low.is_nan() || low > frame.bottom + 0.5;
    let low = if cut { frame.bottom } else { low };
    canvas.line(&[(x, low), (x, high)], colour, 1.2)?;
    if !cut {
        canvas.line(&[(x - CAP, low), (x + CAP, low)], colour, 1.2)?;
    }
    canvas.line(&[(x - CAP, high), (x + CAP, high)], colour, 1.2)
}
