//! How worms and steps are drawn: as other pictures draw several things, or, for many steps, in a row from dark to light, after viridis.

use wormcast_network::{LineStyle, line_style};

/// More steps than this are drawn as a row.
const STEPS: u32 = 6;

/// From dark to light, as red, green and blue.
const ROW: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [214.0, 206.0, 40.0]];

/// The width of lines, and of the first and the last of many steps.
const WIDTH: f64 = 2.0;
const WIDTHS: [f64; 2] = [5.0, 1.4];

/// How a worm is drawn.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) colour: String,
    /// The colour of text on it.
    pub(super) ink: &'static str,
    /// An SVG dash pattern; empty for a solid line.
    pub(super) dash: &'static str,
    /// The width of lines, in pixels.
    pub(super) width: f64,
}

/// How the worms or steps of a plan are drawn.
pub(super) struct Styles {
    /// The number of steps, if they form a row; 0 if not.
    row: u32,
}

impl Styles {
    /// Styles for so many steps; 0 for worms, which have no order.
    pub(super) fn of(steps: u32) -> Self {
        Self { row: if steps > STEPS { steps } else { 0 } }
    }

    /// The style of a worm or a step, from 0.
    pub(super) fn style(&self, number: u32) -> Style {
        if self.row == 0 {
            return style(number);
        }
        let share = f64::from(number) / f64::from(self.row - 1);
        let place = share * (ROW.len() - 1) as f64;
        let below = (place as usize).min(ROW.len() - 2);
        let mix =
            |c: usize| (ROW[below][c] + (place - below as f64) * (ROW[below + 1][c] - ROW[below][c])).round() as u8;
        let width = ((WIDTHS[0] + share * (WIDTHS[1] - WIDTHS[0])) * 10.0).round() / 10.0;
        let colour = format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
        Style { colour, ink: if share > 0.6 { "#000000" } else { "#ffffff" }, dash: "", width }
    }
}

/// The style of a plan's worm.
pub(super) fn style(worm: u32) -> Style {
    let LineStyle { colour, ink, dash } = line_style(worm);
    Style { colour: colour.to_owned(), ink, dash, width: WIDTH }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_go_from_dark_and_wide_to_light_and_narrow() {
        let styles = Styles::of(10);
        let all: Vec<Style> = (0..10).map(|step| styles.style(step)).collect();
        assert_eq!((all[0].colour.as_str(), all[9].colour.as_str()), ("#440154", "#d6ce28"));
        assert!(
            all.windows(2).all(|pair| pair[0].width > pair[1].width && pair[0].colour != pair[1].colour),
            "{all:?}"
        );
        assert_eq!(Styles::of(6).style(5).colour, style(5).colour);
    }
}
