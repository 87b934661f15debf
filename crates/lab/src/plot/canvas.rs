//! Lines, shapes and text on either backend, in the plot's own units.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::look::Look;

/// A drawing area with so many of its pixels for a unit of the plot.
pub(crate) struct Canvas<'a, DB: DrawingBackend> {
    /// What is drawn on.
    pub(crate) area: &'a DrawingArea<DB, Shift>,
    /// Pixels a unit.
    pub(crate) scale: f64,
    /// How far the backend puts text too high, as a share of its size.
    pub(crate) drop: f64,
    /// Whether it has pixels, and is not a text that describes the picture. They are negative: what is 0 everywhere takes no time to be made, and is white in the end.
    pub(crate) bitmap: bool,
}

/// What goes wrong while drawing.
pub(crate) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Where text is in relation to its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
    /// Centred, and read from below.
    Upwards,
}

impl<DB: DrawingBackend> Canvas<'_, DB> {
    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    fn ink(&self, RGBColor(red, green, blue): RGBColor) -> RGBColor {
        if self.bitmap { RGBColor(!red, !green, !blue) } else { RGBColor(red, green, blue) }
    }

    fn stroke(&self, colour: RGBColor, width: f64) -> ShapeStyle {
        ShapeStyle {
            color: self.ink(colour).to_rgba(),
            filled: false,
            stroke_width: (width * self.scale).round().max(1.0) as u32,
        }
    }

    pub(crate) fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: f64) -> Drawn<DB> {
        let points: Vec<_> = points.iter().map(|&point| self.at(point)).collect();
        let stroke = self.stroke(colour, width);
        if self.bitmap
            && let &[from, to] = &points[..]
            && let Some(corners) = straight(from, to, stroke.stroke_width)
        {
            return self.area.draw(&Rectangle::new(corners, self.ink(colour).filled()));
        }
        self.area.draw(&PathElement::new(points, stroke))
    }

    /// A line along points, broken as a curve's look says: the pattern goes on around corners.
    pub(crate) fn dashed(&self, points: &[(f64, f64)], look: Look, width: f64) -> Drawn<DB> {
        for piece in pieces(points, look.dashes) {
            self.line(&piece, look.colour, width)?;
        }
        Ok(())
    }

    /// A marker of a radius; open ones hide what is behind them too.
    pub(crate) fn marker(&self, centre: (f64, f64), radius: f64, look: Look, open: bool) -> Drawn<DB> {
        const OUTLINE: f64 = 1.6;
        let (x, y) = centre;
        let polygon = |corners: &[(f64, f64)], colour: RGBColor| {
            let corners = corners.iter().map(|&(u, v)| self.at((x + u, y + v)));
            self.area.draw(&Polygon::new(corners.collect::<Vec<_>>(), self.ink(colour).filled()))
        };
        for part in look.shape.parts() {
            let corners: Vec<_> = part.into_iter().map(|(u, v)| (radius * u, radius * v)).collect();
            polygon(&corners, look.colour)?;
            if open {
                polygon(&inset(&corners, OUTLINE), WHITE)?;
            }
        }
        Ok(())
    }

    /// A filled rectangle.
    pub(crate) fn block(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor) -> Drawn<DB> {
        self.area.draw(&Rectangle::new([self.at(from), self.at(to)], self.ink(colour).filled()))
    }

    pub(crate) fn rectangle(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor, width: f64) -> Drawn<DB> {
        let ((left, top), (right, bottom)) = (from, to);
        // The sides apart: a closed path would cancel where it overlaps itself. They overlap at the corners.
        let half = width / 2.0;
        self.line(&[(left - half, top), (right + half, top)], colour, width)?;
        self.line(&[(left - half, bottom), (right + half, bottom)], colour, width)?;
        self.line(&[(left, top), (left, bottom)], colour, width)?;
        self.line(&[(right, top), (right, bottom)], colour, width)
    }

    pub(crate) fn text(&self, text: &str, at: (f64, f64), size: f64, align: Align, colour: RGBColor) -> Drawn<DB> {
        let horizontal = match align {
            Align::Left => HPos::Left,
            Align::Right => HPos::Right,
            Align::Centre | Align::Upwards => HPos::Center,
        };
        let font = ("sans-serif", size * self.scale).into_font();
        let font = if align == Align::Upwards { font.transform(FontTransform::Rotate270) } else { font };
        let style = font.color(&self.ink(colour)).pos(Pos::new(horizontal, VPos::Center));
        let drop = self.drop * size;
        let at = if align == Align::Upwards { (at.0 + drop, at.1) } else { (at.0, at.1 + drop) };
        self.area.draw(&Text::new(text, self.at(at), style))
    }
}

/// The corners of the pixels that the bitmap's backend gives to a line along a row or a column, so many pixels wide, one pixel after the other; the second is beyond them. `None` for
/// other lines, and for those that are shorter than they are wide.
fn straight((x, y): (i32, i32), (to_x, to_y): (i32, i32), width: u32) -> Option<[(i32, i32); 2]> {
    let half = f64::from(width) / 2.0;
    let side = |at: i32| ((f64::from(at) - half).round() as i32, (f64::from(at) + half).round() as i32);
    let length = x.abs_diff(to_x).max(y.abs_diff(to_y));
    if width < 2 || length <= width + 1 {
        return None;
    }
    if y == to_y {
        let (top, bottom) = side(y);
        return Some([(x.min(to_x), top), (x.max(to_x), bottom + 1)]);
    }
    let (left, right) = side(x);
    (x == to_x).then_some([(left, y.min(to_y)), (right + 1, y.max(to_y))])
}

/// The width of text in the embedded font; other fonts are hardly wider.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    // Widths are whole numbers: measure it large.
    let font = ("sans-serif", size * 10.0).into_font();
    font.box_size(text).map_or(0.0, |(width, _)| f64::from(width) / 10.0)
}

/// The pieces of a line along points that are drawn: lengths of line and gap in turn, all of it without any.
fn pieces(points: &[(f64, f64)], dashes: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let [first, rest @ ..] = points else { return Vec::new() };
    if dashes.is_empty() {
        return vec![points.to_vec()];
    }
    let (mut pieces, mut piece, mut before) = (Vec::new(), vec![*first], *first);
    let (mut turn, mut left) = (0, dashes[0]);
    for &corner in rest {
        loop {
            let (dx, dy) = (corner.0 - before.0, corner.1 - before.1);
            let length = dx.hypot(dy);
            if length <= left {
                left -= length;
                before = corner;
                if turn % 2 == 0 {
                    piece.push(corner);
                }
                break;
            }
            before = (before.0 + dx * left / length, before.1 + dy * left / length);
            piece.push(before);
            if turn % 2 == 0 {
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![before];
            }
            turn += 1;
            left = dashes[turn % dashes.len()];
        }
    }
    if turn % 2 == 0 && piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

/// A polygon whose sides are this far inside of those of another, whose corners run clockwise on the screen.
fn inset(corners: &[(f64, f64)], distance: f64) -> Vec<(f64, f64)> {
    let count = corners.len();
    let side = |from: (f64, f64), to: (f64, f64)| {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        (dx / length, dy / length)
    };
    (0..count)
        .map(|i| {
            let (before, here, after) = (corners[(i + count - 1) % count], corners[i], corners[(i + 1) % count]);
            let ((ax, ay), (bx, by)) = (side(before, here), side(here, after));
            // Where the two sides meet, each moved along its inner normal.
            let along = distance / (1.0 + ax * bx + ay * by);
            (here.0 - (ay + by) * along, here.1 + (ax + bx) * along)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_on_around_corners() {
        let corner = [(0.0, 0.0), (3.0, 0.0), (3.0, 9.0)];
        assert_eq!(pieces(&corner, &[]), [corner.to_vec()]);
        let expected = [vec![(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)], vec![(3.0, 3.0), (3.0, 7.0)]];
        assert_eq!(pieces(&corner, &[4.0, 2.0]), expected);
        assert_eq!(pieces(&corner, &[1.0, 5.0]), [vec![(0.0, 0.0), (1.0, 0.0)], vec![(3.0, 3.0), (3.0, 4.0)]]);
        assert!(pieces(&[], &[1.0]).is_empty());
    }

    /// The same pixels as the backend's own way, to the last one.
    #[test]
    fn straight_lines_have_the_pixels_of_any_other_line() {
        let pixels = |points: &[(f64, f64)], width: f64, bitmap: bool| {
            let mut pixels = vec![if bitmap { 0 } else { 255 }; 60 * 50 * 3];
            let area = BitMapBackend::with_buffer(&mut pixels, (60, 50)).into_drawing_area();
            Canvas { area: &area, scale: 1.0, drop: 0.0, bitmap }.line(points, RGBColor(1, 2, 3), width).unwrap();
            area.present().unwrap();
            drop(area);
            if bitmap { pixels.iter().map(|byte| !byte).collect() } else { pixels }
        };
        for width in 1..9 {
            for length in (-12..13).chain([17, -17]) {
                for (x, y) in [(20, 25), (23, 24), (30, 30)] {
                    for to in [(x + length, y), (x, y + length), (x + length, y + 1)] {
                        let points = [(x, y), to].map(|(x, y)| (f64::from(x), f64::from(y)));
                        let [fast, slow] = [true, false].map(|bitmap| pixels(&points, f64::from(width), bitmap));
                        assert!(fast == slow, "from {:?} to {to:?}, {width} wide", (x, y));
                    }
                }
            }
        }
    }

    #[test]
    fn an_inset_is_as_far_from_every_side() {
        let square = [(-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0)];
        assert_eq!(inset(&square, 0.5), square.map(|(x, y)| (x * 0.75, y * 0.75)));
    }
}
