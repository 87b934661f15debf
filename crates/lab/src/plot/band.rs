//! Bands along the horizontal axis: which series is certainly the best where.

use plotters::prelude::*;

use super::canvas::{Align, Canvas, Drawn};
use super::chart::{Band, Best};
use super::draw::{Frame, GREY, GRID, NOTE};
use super::legend::shortened;
use super::look::{Look, look};

const ROW: f64 = 17.0;
const GAP: f64 = 4.0;
const RADIUS: f64 = 3.8;
/// How far a place alone reaches to either side.
const ALONE: f64 = 9.0;

/// The height of all bands with the gap above each.
pub(crate) fn height(bands: &[Band]) -> f64 {
    bands.len() as f64 * (ROW + GAP)
}

/// What stands to the left of a band.
pub(crate) fn name(band: &Band, room: f64) -> String {
    if band.label.is_empty() { "best".to_owned() } else { shortened(&band.label, NOTE, room) }
}

/// Draws them below the frame; where names run along the axis, places are not joined.
pub(crate) fn draw<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    frame: &Frame<'_>,
    bands: &[Band],
    names: bool,
    room: f64,
) -> Drawn<DB> {
    for (row, band) in bands.iter().enumerate() {
        let top = frame.bottom + GAP + row as f64 * (ROW + GAP);
        let (bottom, middle) = (top + ROW, top + ROW / 2.0);
        canvas.block((frame.left, top), (frame.right, bottom), GRID)?;
        canvas.text(&name(band, room), (frame.left - 8.0, middle), NOTE, Align::Right, GREY)?;
        for (from, to, best) in stretches(frame, &band.places, names) {
            canvas.block((from, top), (to, bottom), look(best).colour)?;
        }
        let places: Vec<f64> = band.places.iter().map(|&(x, _)| frame.left_of(x)).collect();
        let slot = places.windows(2).map(|pair| pair[1] - pair[0]).fold(frame.right - frame.left, f64::min);
        for (&x, (_, best)) in places.iter().zip(&band.places) {
            match best {
                Best::Certain(best) => {
                    canvas.marker((x, middle), RADIUS, Look { colour: WHITE, ..look(*best) }, false)?;
                }
                Best::Open(contenders) => {
                    let step = 2.6 * RADIUS;
                    let start = x - step * (contenders.len() as f64 - 1.0) / 2.0;
                    if step * contenders.len() as f64 > slot {
                        canvas.text("?", (x, middle), NOTE, Align::Centre, GREY)?;
                        continue;
                    }
                    for (number, contender) in contenders.iter().enumerate() {
                        canvas.marker((start + number as f64 * step, middle), RADIUS, look(*contender), false)?;
                    }
                }
                Best::Nobody => {}
            }
        }
    }
    Ok(())
}

/// The stretches of a band with a certain best: from the first to the last of neighbouring places that have the same.
fn stretches(frame: &Frame<'_>, places: &[(f64, Best)], names: bool) -> Vec<(f64, f64, usize)> {
    let same = |a: &(f64, Best), b: &(f64, Best)| !names && a.1 == b.1;
    let run = |run: &[(f64, Best)]| match run {
        [(first, Best::Certain(best)), ..] => {
            let last = run[run.len() - 1].0;
            let (from, to) = (frame.left_of(*first) - ALONE, frame.left_of(last) + ALONE);
            Some((from.max(frame.left), to.min(frame.right), *best))
        }
        _ => None,
    };
    places.chunk_by(same).filter_map(run).collect()
}
