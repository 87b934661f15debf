//! Saturation and deadlock: a strip above the frame in which each curve has a lane of its own, since they have no height.

use plotters::prelude::*;

use super::canvas::{Align, Canvas, Drawn};
use super::chart::{Across, Chart, Curve, Height};
use super::draw::{Frame, GREY, NOTE};
use super::look::look;

/// What a lane shows, at places of the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
enum Sign {
    /// It begins somewhere from here to there.
    Begins(f64, f64),
    /// Saturated from here to there, or from here on.
    Saturated(f64, Option<f64>),
    /// The first place of such a range.
    First(f64),
    /// A deadlock.
    Deadlocked(f64),
}

impl Sign {
    /// Where it begins.
    fn from(&self) -> f64 {
        match *self {
            Self::Begins(from, _) | Self::Saturated(from, _) | Self::First(from) | Self::Deadlocked(from) => from,
        }
    }
}

/// The lanes of the curves that have something to show there.
pub(crate) struct Strip {
    lanes: Vec<(usize, Vec<Sign>)>,
    saturated: bool,
}

const BACKGROUND: RGBColor = RGBColor(245, 245, 245);
/// What stands to the left of the strip, if any of its curves is saturated.
pub(crate) const SATURATED: &str = "saturated";
const GAP: f64 = 7.0;

impl Strip {
    pub(crate) fn new(chart: &Chart) -> Self {
        let lanes = chart.curves.iter().map(|curve| signs(curve, &chart.across)).enumerate();
        let saturated = chart.marks().any(|mark| mark.y == Height::Saturated);
        Self { lanes: lanes.filter(|(_, signs)| !signs.is_empty()).collect(), saturated }
    }

    /// The height with the gap below it; 0 if there is nothing to show.
    pub(crate) fn height(&self) -> f64 {
        if self.lanes.is_empty() { 0.0 } else { self.lanes.len() as f64 * self.pitch() + GAP }
    }

    fn pitch(&self) -> f64 {
        if self.lanes.len() <= 12 { 11.0 } else { 7.0 }
    }

    /// What has to be said of it.
    pub(crate) fn notes(&self) -> Vec<String> {
        let any = |test: fn(&Sign) -> bool| self.lanes.iter().flat_map(|(_, signs)| signs).any(test);
        let mut notes = Vec::new();
        if any(|sign| matches!(sign, Sign::Begins(..))) {
            notes.push("saturation begins within the thin line".to_owned());
        }
        if any(|sign| matches!(sign, Sign::Deadlocked(_))) {
            notes.push("crosses: deadlocked".to_owned());
        }
        notes
    }

    /// Draws it above the frame.
    pub(crate) fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, frame: &Frame<'_>) -> Drawn<DB> {
        if self.lanes.is_empty() {
            return Ok(());
        }
        let (pitch, bottom) = (self.pitch(), frame.top - GAP);
        let top = bottom - pitch * self.lanes.len() as f64;
        let radius = 0.4 * pitch;
        canvas.block((frame.left, top), (frame.right, bottom), BACKGROUND)?;
        if self.saturated {
            let at = (frame.left - 8.0, f64::midpoint(top, bottom));
            canvas.text(SATURATED, at, NOTE, Align::Right, GREY)?;
        }
        let inside = |x: f64| frame.left_of(x).clamp(frame.left, frame.right);
        // The axis ends where no curve has anything new to say: what lies beyond is not drawn at its end.
        let beyond = |x: f64| frame.left_of(x) > frame.right + 0.5;
        for (lane, (curve, signs)) in self.lanes.iter().enumerate() {
            let (look, y) = (look(*curve), top + (lane as f64 + 0.5) * pitch);
            for sign in signs.iter().filter(|sign| !beyond(sign.from())) {
                match *sign {
                    Sign::Begins(from, to) => canvas.line(&[(inside(from), y), (inside(to), y)], look.colour, 1.2)?,
                    Sign::Saturated(from, to) => {
                        let to = to.map_or(frame.right, inside);
                        let half = 0.18 * pitch;
                        canvas.block((inside(from), y - half), (to, y + half), look.colour)?;
                    }
                    Sign::First(x) => canvas.marker((inside(x), y), radius, look, false)?,
                    Sign::Deadlocked(x) => {
                        let (x, arm) = (inside(x), 0.9 * radius);
                        canvas.line(&[(x - arm, y - arm), (x + arm, y + arm)], look.colour, 2.0)?;
                        canvas.line(&[(x - arm, y + arm), (x + arm, y - arm)], look.colour, 2.0)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What the lane of a curve shows, in the order in which it is drawn.
fn signs(curve: &Curve, across: &Across) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut first = Vec::new();
    let mut rest = &curve.marks[..];
    let mut before = None;
    while let Some(mark) = rest.first() {
        let run = rest.iter().take_while(|other| other.y == mark.y).count();
        let (equal, others) = rest.split_at(run);
        let last = equal[run - 1];
        rest = others;
        match (mark.y, across) {
            (Height::Value(..), _) => {}
            (Height::Deadlocked, _) => signs.extend(equal.iter().map(|mark| Sign::Deadlocked(mark.x))),
            (Height::Saturated, Across::Set { .. }) => {
                signs.extend(before.map(|before| Sign::Begins(before, mark.x)));
                signs.push(Sign::Saturated(mark.x, (!rest.is_empty()).then_some(last.x)));
                first.push(Sign::First(mark.x));
            }
            // Nothing is between names, and measured loads need not rise.
            (Height::Saturated, Across::Measured { .. } | Across::Names(_)) => {
                first.extend(equal.iter().map(|mark| Sign::First(mark.x)));
            }
        }
        // Where it deadlocked, nothing was carried.
        before = (mark.y != Height::Deadlocked).then_some(last.x);
    }
    signs.append(&mut first);
    signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::chart::Mark;

    const V: Height = Height::Value(1.0, None);
    const S: Height = Height::Saturated;
    const D: Height = Height::Deadlocked;

    fn lane(heights: &[Height], across: &Across) -> Vec<Sign> {
        let marks = heights.iter().zip(1..).map(|(&y, x)| Mark { x: f64::from(x), y, open: false, bare: false });
        signs(&Curve { label: String::new(), marks: marks.collect() }, across)
    }

    #[test]
    fn saturation_begins_between_two_loads_and_goes_on_from_the_second() {
        let set = Across::Set { log: false };
        assert_eq!(lane(&[V, V], &set), []);
        let from_three = [Sign::Begins(2.0, 3.0), Sign::Saturated(3.0, None), Sign::First(3.0)];
        assert_eq!(lane(&[V, V, S, S], &set), from_three);
        assert_eq!(lane(&[S, S], &set), [Sign::Saturated(1.0, None), Sign::First(1.0)], "nobody knows since when");
        // A higher load that is carried again is not hidden.
        assert_eq!(
            lane(&[V, S, S, V, S], &set),
            [
                Sign::Begins(1.0, 2.0),
                Sign::Saturated(2.0, Some(3.0)),
                Sign::Begins(4.0, 5.0),
                Sign::Saturated(5.0, None),
                Sign::First(2.0),
                Sign::First(5.0)
            ]
        );
        assert_eq!(lane(&[V, D, D], &set), [Sign::Deadlocked(2.0), Sign::Deadlocked(3.0)]);
        let after_a_deadlock = [Sign::Deadlocked(1.0), Sign::Saturated(2.0, None), Sign::First(2.0)];
        assert_eq!(lane(&[D, S], &set), after_a_deadlock);
    }

    #[test]
    fn nothing_is_between_names() {
        assert_eq!(lane(&[V, S, S], &Across::Names(Vec::new())), [Sign::First(2.0), Sign::First(3.0)]);
        assert_eq!(lane(&[V, S, S], &Across::Measured { log: false }), [Sign::First(2.0), Sign::First(3.0)]);
    }
}
