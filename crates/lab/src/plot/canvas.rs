//! Lines, shapes and text on either backend, in the plot's own units.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A drawing area with so many of its pixels for a unit of the plot.
pub(crate) struct Canvas<'a, DB: DrawingBackend> {
    /// What is drawn on.
    pub(crate) area: &'a DrawingArea<DB, Shift>,
    /// Pixels a unit.
    pub(crate) scale: f64,
    /// How far the backend puts text too high, as a share of its size.
    pub(crate) drop: f64,
}

/// What goes wrong while drawing.
pub(crate) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// A marker's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    InvertedTriangle,
    Pentagon,
    Star,
    Hexagon,
}

/// The shapes of the first curves; with the colours they make 56 distinct ones.
const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::InvertedTriangle,
    Shape::Pentagon,
    Shape::Star,
    Shape::Hexagon,
];

/// Okabe and Ito's colours, which people with any kind of colour vision tell apart; their yellow is too pale for lines.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Shape and colour of a curve.
pub(crate) fn look(curve: usize) -> (Shape, RGBColor) {
    (SHAPES[curve % SHAPES.len()], COLOURS[curve % COLOURS.len()])
}

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

    fn stroke(&self, colour: RGBColor, width: f64) -> ShapeStyle {
        ShapeStyle {
            color: colour.to_rgba(),
            filled: false,
            stroke_width: (width * self.scale).round().max(1.0) as u32,
        }
    }

    pub(crate) fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: f64) -> Drawn<DB> {
        let points: Vec<_> = points.iter().map(|&point| self.at(point)).collect();
        self.area.draw(&PathElement::new(points, self.stroke(colour, width)))
    }

    pub(crate) fn dashed(&self, from: (f64, f64), to: (f64, f64), colour: RGBColor, width: f64) -> Drawn<DB> {
        const DASH: f64 = 6.0;
        const GAP: f64 = 5.0;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let along = |distance: f64| {
            let share = if length > 0.0 { (distance / length).min(1.0) } else { 0.0 };
            (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
        };
        let mut start = 0.0;
        while start < length {
            self.line(&[along(start), along(start + DASH)], colour, width)?;
            start += DASH + GAP;
        }
        Ok(())
    }

    /// A marker of a radius; open ones hide what is behind them too.
    pub(crate) fn marker(
        &self,
        centre: (f64, f64),
        radius: f64,
        shape: Shape,
        colour: RGBColor,
        open: bool,
    ) -> Drawn<DB> {
        let (x, y) = centre;
        let corners = corners(shape);
        let polygon = |radius: f64, colour: RGBColor| {
            let outline = corners.iter().map(|&(u, v)| self.at((x + radius * u, y + radius * v)));
            self.area.draw(&Polygon::new(outline.collect::<Vec<_>>(), colour.filled()))
        };
        polygon(radius, colour)?;
        // An outline of even width is what a smaller shape leaves of a larger one.
        if open { polygon(radius * inside(shape, radius), WHITE) } else { Ok(()) }
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
        let style = font.color(&colour).pos(Pos::new(horizontal, VPos::Center));
        let drop = self.drop * size;
        let at = if align == Align::Upwards { (at.0 + drop, at.1) } else { (at.0, at.1 + drop) };
        self.area.draw(&Text::new(text, self.at(at), style))
    }
}

/// The width of text in the embedded font; other fonts are hardly wider.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    // Widths are whole numbers: measure it large.
    let font = ("sans-serif", size * 10.0).into_font();
    font.box_size(text).map_or(0.0, |(width, _)| f64::from(width) / 10.0)
}

/// How large the white inside of an open marker is, for an outline of 1.8 units.
fn inside(shape: Shape, radius: f64) -> f64 {
    // The distance of the sides from the centre, for radius 1.
    let sides = match shape {
        Shape::Triangle | Shape::InvertedTriangle => 0.65,
        Shape::Square => 0.88,
        Shape::Diamond => 0.92,
        Shape::Star => 0.63,
        Shape::Pentagon => 0.93,
        Shape::Circle | Shape::Hexagon => 1.0,
    };
    (1.0 - 1.8 / (radius * sides)).max(0.0)
}

/// The corners of a shape of radius 1, y downwards.
fn corners(shape: Shape) -> Vec<(f64, f64)> {
    let regular = |corners: u32, turn: f64, radius: f64| {
        (0..corners)
            .map(|i| {
                let angle = (f64::from(i) / f64::from(corners) + turn) * std::f64::consts::TAU;
                (radius * angle.sin(), -radius * angle.cos())
            })
            .collect::<Vec<_>>()
    };
    match shape {
        Shape::Circle => regular(24, 0.0, 1.0),
        Shape::Square => regular(4, 0.125, 1.25),
        Shape::Triangle => regular(3, 0.0, 1.3),
        Shape::Diamond => regular(4, 0.0, 1.3),
        Shape::InvertedTriangle => regular(3, 0.5, 1.3),
        Shape::Pentagon => regular(5, 0.0, 1.15),
        Shape::Star => {
            let (tips, notches) = (regular(5, 0.0, 1.5), regular(5, 0.1, 0.65));
            tips.into_iter().zip(notches).flat_map(|(tip, notch)| [tip, notch]).collect()
        }
        Shape::Hexagon => regular(6, 0.0, 1.15),
    }
}
