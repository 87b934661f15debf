//! A plot as papers print it: frame, ticks, curves with markers and intervals, legend.

use plotters::prelude::*;

use super::canvas::{Align, Canvas, Drawn, look, text_width};
use super::curves::{Curve, Height, Mark};
use super::scale::Scale;
use crate::figure::Figure;

/// Width and height of a plot with a legend of one line, in its own units: pixels of a drawing that is not enlarged.
const SIZE: (f64, f64) = (880.0, 620.0);

const TITLE: f64 = 19.0;
const LABEL: f64 = 17.0;
const TICK: f64 = 15.0;
const NOTE: f64 = 13.0;
const RADIUS: f64 = 5.0;
const GREY: RGBColor = RGBColor(90, 90, 90);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// How far the largest value stays below the top.
const HEADROOM: f64 = 1.15;

/// A plot, laid out.
pub(crate) struct Layout<'a> {
    figure: &'a Figure,
    curves: &'a [Curve],
    /// The names of the curves in the legend.
    labels: Vec<String>,
    /// The entries of each line of the legend, with their widths, and the width of the line.
    legend: Vec<(Vec<(usize, f64)>, f64)>,
    notes: String,
    left: f64,
    right: f64,
    height: f64,
    x: Scale,
    y: Scale,
}

const KEY: f64 = 34.0;
const KEY_GAP: f64 = 8.0;
const ENTRY_GAP: f64 = 26.0;
const LEGEND_LINE: f64 = 23.0;

impl<'a> Layout<'a> {
    /// Chooses axes and sizes.
    pub(crate) fn new(figure: &'a Figure, curves: &'a [Curve], names: &[String]) -> Self {
        let marks = || curves.iter().flat_map(|curve| &curve.marks);
        let xs: Vec<f64> = marks().map(|mark| mark.x).collect();
        let values =
            || marks().filter_map(|mark| if let Height::Value(y, half) = mark.y { Some((y, half)) } else { None });
        let highest = values().map(|(y, _)| y).fold(0.0, f64::max);
        let ends = values().map(|(y, half)| y + half.unwrap_or(0.0)).fold(0.0, f64::max);
        let mut y = Scale::from_zero((highest * HEADROOM).max(ends * 1.02));
        if values().next().is_none() {
            // A scale would mean nothing.
            y.ticks.clear();
        }
        let tick_width = y.ticks.iter().map(|(_, label)| text_width(label, TICK)).fold(0.0, f64::max);
        let (left, right) = (48.0 + tick_width, SIZE.0 - 24.0);
        let room = right - left - KEY - KEY_GAP;
        let labels: Vec<String> = curves.iter().map(|curve| shortened(&curve.label, room)).collect();
        let legend = legend_lines(&labels, right - left);
        let height = SIZE.1 + LEGEND_LINE * legend.len().saturating_sub(1) as f64;
        let mut x = if names.is_empty() { Scale::around(&xs, figure.log) } else { Scale::of_names(names) };
        thin(&mut x, right - left, !names.is_empty());
        Self { figure, curves, labels, legend, notes: notes(figure, curves), left, right, height, x, y }
    }

    /// Width and height, in units.
    pub(crate) fn size(&self) -> (f64, f64) {
        (SIZE.0, self.height)
    }

    /// Draws all of it.
    pub(crate) fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn<DB> {
        canvas.area.fill(&WHITE)?;
        let mut top = 18.0;
        let title = &self.figure.title;
        if !title.is_empty() {
            top += TITLE;
            let room = (SIZE.0 - 30.0) / text_width(title, TITLE);
            canvas.text(title, (SIZE.0 / 2.0, top - 4.0), TITLE * room.min(1.0), Align::Centre, BLACK)?;
            top += 14.0;
        }
        if !self.legend.is_empty() {
            self.draw_legend(canvas, top)?;
            top += LEGEND_LINE * self.legend.len() as f64 + 8.0;
        }
        let bottom = self.height - 68.0 - if self.notes.is_empty() { 0.0 } else { 20.0 };
        let frame = Frame { left: self.left, right: self.right, top, bottom, x: &self.x, y: &self.y };
        axes(canvas, self.figure, &frame)?;
        canvas.text(&self.notes, (self.right, self.height - 16.0), NOTE, Align::Right, GREY)?;
        let mut tops = Tops::default();
        for (index, curve) in self.curves.iter().enumerate() {
            draw_curve(canvas, &frame, index, curve, &mut tops)?;
        }
        Ok(())
    }

    fn draw_legend<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, top: f64) -> Drawn<DB> {
        let mut y = top + LEGEND_LINE / 2.0;
        for (entries, used) in &self.legend {
            let mut x = f64::midpoint(self.left, self.right) - used / 2.0;
            for &(index, width) in entries {
                let (shape, colour) = look(index);
                canvas.line(&[(x, y), (x + KEY, y)], colour, 2.0)?;
                canvas.marker((x + KEY / 2.0, y), RADIUS, shape, colour, false)?;
                canvas.text(&self.labels[index], (x + KEY + KEY_GAP, y), TICK, Align::Left, BLACK)?;
                x += width + ENTRY_GAP;
            }
            y += LEGEND_LINE;
        }
        Ok(())
    }
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

/// A text that is no wider than this: what has no room in the middle is left out, since names often differ at an end.
fn shortened(text: &str, room: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut kept = letters.len();
    let mut short = text.to_owned();
    while text_width(&short, TICK) > room && kept > 2 {
        kept -= 1;
        let (start, end) = (kept.div_ceil(2), letters.len() - kept / 2);
        short = letters[..start].iter().chain(&['…']).chain(&letters[end..]).collect();
    }
    short
}

/// The entries of the legend in as many lines as they need; none for a single curve without a name.
fn legend_lines(labels: &[String], room: f64) -> Vec<(Vec<(usize, f64)>, f64)> {
    let mut lines: Vec<(Vec<(usize, f64)>, f64)> = Vec::new();
    for (index, label) in labels.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
        let width = KEY + KEY_GAP + text_width(label, TICK);
        match lines.last_mut().filter(|(_, used)| used + ENTRY_GAP + width <= room) {
            Some((entries, used)) => {
                entries.push((index, width));
                *used += ENTRY_GAP + width;
            }
            None => lines.push((vec![(index, width)], width)),
        }
    }
    lines
}

/// Where the frame is.
struct Frame<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Scale,
    y: &'a Scale,
}

impl Frame<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left_of(x), self.bottom - self.y.share(y) * (self.bottom - self.top))
    }

    fn left_of(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (self.right - self.left)
    }
}

fn notes(figure: &Figure, curves: &[Curve]) -> String {
    let any = |test: fn(&Mark) -> bool| curves.iter().flat_map(|curve| &curve.marks).any(test);
    let mut notes = Vec::new();
    if any(|mark| matches!(mark.y, Height::Value(_, Some(_)))) {
        notes.push(format!("bars: {}% confidence intervals", (figure.confidence * 1000.0).round() / 10.0));
    }
    if any(|mark| mark.saturated) {
        notes.push("open markers: saturated".to_owned());
    }
    if any(|mark| mark.y == Height::Deadlocked) {
        notes.push("crosses: deadlocked".to_owned());
    }
    notes.join("; ")
}

fn axes<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, figure: &Figure, frame: &Frame<'_>) -> Drawn<DB> {
    let Frame { left, right, top, bottom, .. } = *frame;
    for (value, label) in &frame.y.ticks {
        let y = frame.bottom - frame.y.share(*value) * (bottom - top);
        canvas.line(&[(left, y), (right, y)], GRID, 1.0)?;
        canvas.line(&[(left, y), (left + 6.0, y)], BLACK, 1.2)?;
        canvas.text(label, (left - 8.0, y), TICK, Align::Right, BLACK)?;
    }
    for (value, label) in &frame.x.ticks {
        let x = frame.left_of(*value);
        canvas.line(&[(x, top), (x, bottom)], GRID, 1.0)?;
        canvas.line(&[(x, bottom), (x, bottom - 6.0)], BLACK, 1.2)?;
        canvas.text(label, (x, bottom + 16.0), TICK, Align::Centre, BLACK)?;
    }
    canvas.rectangle((left, top), (right, bottom), BLACK, 1.2)?;
    canvas.text(&figure.x_label(), (f64::midpoint(left, right), bottom + 44.0), LABEL, Align::Centre, BLACK)?;
    canvas.text(&figure.y_label(), (20.0, f64::midpoint(top, bottom)), LABEL, Align::Upwards, BLACK)
}

/// The marks at the top so far, so that those of several curves at one place stand below each other and, from the fifth on, beside
/// them: far from the top they would look like values.
#[derive(Default)]
struct Tops(Vec<f64>);

impl Tops {
    fn place(&mut self, frame: &Frame<'_>, x: f64) -> (f64, f64) {
        let left = frame.left_of(x);
        let there = self.0.iter().filter(|&&other| (other - left).abs() < 2.0 * RADIUS).count();
        self.0.push(left);
        // Columns to the right and to the left in turn: 0, 1, -1, 2, …
        let (row, column) = (there % 4, there / 4);
        let aside = column.div_ceil(2) as f64 * if column % 2 == 1 { 1.0 } else { -1.0 };
        (left + aside * 2.8 * RADIUS, frame.top + 12.0 + row as f64 * 2.8 * RADIUS)
    }
}

fn draw_curve<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame<'_>,
    index: usize,
    curve: &Curve,
    tops: &mut Tops,
) -> Drawn<DB> {
    const LINE: f64 = 2.0;
    let (shape, colour) = look(index);
    let mut markers = Vec::new();
    let mut previous: Option<(&Mark, (f64, f64))> = None;
    for mark in &curve.marks {
        let place = match mark.y {
            Height::Value(y, half_width) => {
                let place = frame.at(mark.x, y);
                if let Some(half_width) = half_width {
                    interval(canvas, frame, mark.x, (y - half_width, y + half_width), colour)?;
                }
                if let Some((Mark { y: Height::Value(..), .. }, before)) = previous {
                    canvas.line(&[before, place], colour, LINE)?;
                }
                place
            }
            Height::Saturated | Height::Deadlocked => {
                // Of a row of saturated points, the first says it all.
                let again = previous.is_some_and(|(before, _)| !matches!(before.y, Height::Value(..)));
                if again {
                    continue;
                }
                let place = tops.place(frame, mark.x);
                if let Some((_, before)) = previous {
                    canvas.dashed(before, place, colour, LINE)?;
                }
                place
            }
        };
        markers.push((place, mark));
        previous = Some((mark, place));
    }
    // Above all lines of the curve.
    for (place, mark) in markers {
        if mark.y == Height::Deadlocked {
            let (x, y) = place;
            canvas.line(&[(x - RADIUS, y - RADIUS), (x + RADIUS, y + RADIUS)], colour, 2.4)?;
            canvas.line(&[(x - RADIUS, y + RADIUS), (x + RADIUS, y - RADIUS)], colour, 2.4)?;
        } else {
            canvas.marker(place, RADIUS, shape, colour, mark.saturated)?;
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
    let (x, low) = frame.at(x, low.max(0.0));
    let high = frame.at(0.0, high).1;
    canvas.line(&[(x, low), (x, high)], colour, 1.2)?;
    canvas.line(&[(x - CAP, low), (x + CAP, low)], colour, 1.2)?;
    canvas.line(&[(x - CAP, high), (x + CAP, high)], colour, 1.2)
}
