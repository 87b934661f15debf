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

/// How a worm is drawn.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) colour: &'static str,
    /// The colour of text on it.
    pub(super) ink: &'static str,
    /// An SVG dash pattern; empty for a solid line.
    pub(super) dash: &'static str,
}

/// The style of a plan's worm.
pub(super) fn style(worm: u32) -> Style {
    let worm = worm as usize;
    let (colour, light) = COLOURS[worm % COLOURS.len()];
    let dash = DASHES[worm / COLOURS.len() % DASHES.len()];
    Style { colour, ink: if light { "#000000" } else { "#ffffff" }, dash }
}
