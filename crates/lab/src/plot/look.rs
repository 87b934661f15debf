//! What tells curves apart: a colour, a dash pattern and a marker.

use plotters::prelude::RGBColor;

/// How a curve is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Look {
    pub(crate) colour: RGBColor,
    /// Lengths of line and gap in turn, in units of the plot; empty for a whole line.
    pub(crate) dashes: &'static [f64],
    pub(crate) shape: Shape,
}

/// A marker's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    InvertedTriangle,
    Star,
    RightTriangle,
    Plus,
    LeftTriangle,
    Hourglass,
    Bowtie,
}

/// Okabe and Ito's colours without their yellow, which is too pale for lines, and a brown: people with any kind of colour vision tell
/// them apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 40, 30),
];

const DASHES: [&[f64]; 4] = [&[], &[8.0, 4.0], &[2.5, 3.0], &[9.0, 3.0, 2.5, 3.0]];

/// As many as have no divisor in common with the number of colours: both together repeat after 88 curves.
const SHAPES: [Shape; 11] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::InvertedTriangle,
    Shape::Star,
    Shape::RightTriangle,
    Shape::Plus,
    Shape::LeftTriangle,
    Shape::Hourglass,
    Shape::Bowtie,
];

/// The look of a curve, by its number: each two of the first 32 differ in at least two of colour, dashes and shape.
pub(crate) fn look(curve: usize) -> Look {
    Look {
        colour: COLOURS[curve % COLOURS.len()],
        dashes: DASHES[curve / COLOURS.len() % DASHES.len()],
        shape: SHAPES[curve % SHAPES.len()],
    }
}

impl Shape {
    /// The corners of its parts, clockwise on the screen, for radius 1; y runs downwards.
    pub(crate) fn parts(self) -> Vec<Vec<(f64, f64)>> {
        let regular = |corners: u32, turn: f64, radius: f64| {
            (0..corners)
                .map(|i| {
                    let angle = (f64::from(i) / f64::from(corners) + turn) * std::f64::consts::TAU;
                    (radius * angle.sin(), -radius * angle.cos())
                })
                .collect::<Vec<_>>()
        };
        match self {
            Self::Circle => vec![regular(24, 0.0, 1.0)],
            Self::Square => vec![regular(4, 0.125, 1.25)],
            Self::Triangle => vec![regular(3, 0.0, 1.3)],
            Self::Diamond => vec![regular(4, 0.0, 1.3)],
            Self::InvertedTriangle => vec![regular(3, 0.5, 1.3)],
            Self::Star => {
                let (tips, notches) = (regular(5, 0.0, 1.5), regular(5, 0.1, 0.65));
                vec![tips.into_iter().zip(notches).flat_map(|(tip, notch)| [tip, notch]).collect()]
            }
            Self::RightTriangle => vec![regular(3, 0.25, 1.3)],
            Self::Plus => {
                let (arm, half) = (1.3, 0.48);
                let quarter = [(-half, -half), (-half, -arm), (half, -arm)];
                let turned = |quarter: [(f64, f64); 3]| quarter.map(|(x, y)| (-y, x));
                let quarters = std::iter::successors(Some(quarter), |&last| Some(turned(last)));
                vec![quarters.take(4).flatten().collect()]
            }
            Self::LeftTriangle => vec![regular(3, 0.75, 1.3)],
            Self::Hourglass => {
                vec![vec![(-1.0, -1.25), (1.0, -1.25), (0.0, 0.1)], vec![(-1.0, 1.25), (0.0, -0.1), (1.0, 1.25)]]
            }
            Self::Bowtie => {
                vec![vec![(-1.25, -1.0), (0.1, 0.0), (-1.25, 1.0)], vec![(1.25, -1.0), (1.25, 1.0), (-0.1, 0.0)]]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_the_first_curves_differ_in_two_ways() {
        for a in 0..32 {
            for b in 0..a {
                let (one, other) = (look(a), look(b));
                let ways = [one.colour != other.colour, one.dashes != other.dashes, one.shape != other.shape];
                assert!(ways.into_iter().filter(|&differs| differs).count() >= 2, "{a} and {b}");
            }
        }
    }

    #[test]
    fn shapes_run_clockwise() {
        for shape in SHAPES {
            for part in shape.parts() {
                let next = part.iter().cycle().skip(1);
                let area: f64 = part.iter().zip(next).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
                assert!(area > 0.5, "{shape:?} {area}");
            }
        }
    }

    type Matrix = [[f64; 3]; 3];

    fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// What a colour is in linear light, from 0 to 1.
    fn linear(RGBColor(r, g, b): RGBColor) -> [f64; 3] {
        [r, g, b].map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Oklab, in which distances are about as large as they look.
    fn oklab(light: [f64; 3]) -> [f64; 3] {
        const CONES: Matrix = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const LAB: Matrix = [
            [0.210_454_255_3, 0.793_617_785, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766],
        ];
        times(&LAB, times(&CONES, light.map(|part| part.clamp(0.0, 1.0))).map(f64::cbrt))
    }

    #[test]
    fn colours_stay_apart_for_any_colour_vision() {
        // Machado, Oliveira and Fernandes (2009): what those without one kind of cones see.
        const VISIONS: [Matrix; 4] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        for vision in &VISIONS {
            let seen: Vec<[f64; 3]> = COLOURS.iter().map(|&colour| oklab(times(vision, linear(colour)))).collect();
            for (i, a) in seen.iter().enumerate() {
                for (j, b) in seen[..i].iter().enumerate() {
                    let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    // 0.02 is about what can just be told apart, side by side.
                    assert!(apart > 0.07, "colours {j} and {i} are {apart:.3} apart for {vision:?}");
                }
            }
        }
        for colour in COLOURS {
            let luminance: f64 = linear(colour).iter().zip([0.2126, 0.7152, 0.0722]).map(|(a, b)| a * b).sum();
            assert!(1.05 / (luminance + 0.05) > 2.2, "{colour:?} is too pale on white");
        }
    }
}
