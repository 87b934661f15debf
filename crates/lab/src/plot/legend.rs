//! The names of curves above a plot.

use plotters::prelude::*;

use super::canvas::{Align, Canvas, Drawn, text_width};
use super::draw::{LINE, RADIUS, TICK};
use super::look::look;

/// The names, in columns.
pub(crate) struct Legend {
    /// The numbers of the curves and their names.
    entries: Vec<(usize, String)>,
    /// The widths of the columns.
    columns: Vec<f64>,
}

const KEY: f64 = 42.0;
const KEY_GAP: f64 = 8.0;
const ENTRY_GAP: f64 = 26.0;

impl Legend {
    /// The height of a line.
    pub(crate) const LINE: f64 = 23.0;

    /// In as many columns as have room; without the curves that have no name.
    pub(crate) fn new<'a>(labels: impl Iterator<Item = &'a str>, room: f64) -> Self {
        let named = labels.enumerate().filter(|(_, label)| !label.is_empty());
        let text = |(index, label)| (index, shortened(label, TICK, room - KEY - KEY_GAP));
        let entries: Vec<(usize, String)> = named.map(text).collect();
        let widths: Vec<f64> = entries.iter().map(|(_, label)| KEY + KEY_GAP + text_width(label, TICK)).collect();
        let columns = |count: usize| -> Vec<f64> {
            let column = |first: usize| widths.iter().skip(first).step_by(count).copied().fold(0.0, f64::max);
            (0..count).map(column).collect()
        };
        let wide = |columns: &[f64]| columns.iter().sum::<f64>() + ENTRY_GAP * (columns.len() as f64 - 1.0);
        let fitting = (1..=entries.len()).rev().map(columns).find(|columns| wide(columns) <= room);
        let columns = fitting.unwrap_or_else(|| vec![room]);
        Self { entries, columns }
    }

    /// The height of all lines.
    pub(crate) fn height(&self) -> f64 {
        self.entries.len().div_ceil(self.columns.len()) as f64 * Self::LINE
    }

    /// Draws it between two edges and below a third.
    pub(crate) fn draw<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        (left, right): (f64, f64),
        top: f64,
    ) -> Drawn<DB> {
        let wide = self.columns.iter().sum::<f64>() + ENTRY_GAP * (self.columns.len() as f64 - 1.0);
        let start = f64::midpoint(left, right) - wide / 2.0;
        for (number, (curve, label)) in self.entries.iter().enumerate() {
            let (row, column) = (number / self.columns.len(), number % self.columns.len());
            let x = start + self.columns[..column].iter().map(|width| width + ENTRY_GAP).sum::<f64>();
            let y = top + (row as f64 + 0.5) * Self::LINE;
            let look = look(*curve);
            canvas.dashed(&[(x, y), (x + KEY, y)], look, LINE)?;
            canvas.marker((x + KEY / 2.0, y), RADIUS, look, false)?;
            canvas.text(label, (x + KEY + KEY_GAP, y), TICK, Align::Left, BLACK)?;
        }
        Ok(())
    }
}

/// A text that is no wider than this: what has no room in the middle is left out, since names often differ at an end.
pub(crate) fn shortened(text: &str, size: f64, room: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut kept = letters.len();
    let mut short = text.to_owned();
    while text_width(&short, size) > room && kept > 2 {
        kept -= 1;
        let (start, end) = (kept.div_ceil(2), letters.len() - kept / 2);
        short = letters[..start].iter().chain(&['…']).chain(&letters[end..]).collect();
    }
    short
}
