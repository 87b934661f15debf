//! Colours that readers with colour-vision deficiencies can tell apart: Okabe and Ito's, without black and yellow.

/// Colour and whether text on it should be dark.
const COLOURS: [(&str, bool); 6] = [
    ("#0072b2", false),
    ("#d55e00", false),
    ("#009e73", false),
    ("#cc79a7", true),
    ("#e69f00", true),
    ("#56b4e9", true),
];

/// Dash patterns tell worms apart when the colours come round again; the first is a solid line.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// How one of several things is drawn, such as the worms of a plan.
#[derive(Clone, Copy)]
pub struct LineStyle {
    /// The colour of lines and discs.
    pub colour: &'static str,
    /// The colour of text on it.
    pub ink: &'static str,
    /// An SVG dash pattern; empty for a solid line.
    pub dash: &'static str,
}

/// The style of the thing with this number: 24 of them are all different.
pub fn line_style(number: u32) -> LineStyle {
    let number = number as usize;
    let (colour, light) = COLOURS[number % COLOURS.len()];
    let dash = DASHES[number / COLOURS.len() % DASHES.len()];
    LineStyle { colour, ink: if light { "#000000" } else { "#ffffff" }, dash }
}
