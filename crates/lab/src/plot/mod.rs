//! Plots as SVG and PNG, with an embedded font: they look the same on every machine.

mod band;
mod canvas;
mod chart;
mod curves;
mod data;
mod differences;
mod draw;
mod legend;
mod look;
mod scale;
mod strip;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;

use ab_glyph::{Font, FontRef};
use maud::html;
use plotters::prelude::*;
use thiserror::Error;

use crate::comparison::Compared;
use crate::figure::Figure;
use crate::statistics::summary::PointSummary;
use canvas::Canvas;
use chart::Chart;
pub use data::{PlotAxis, PlotData, PlotPoint, PlotSeries, plot_data};
use draw::Layout;

/// A drawn plot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    /// As a text of SVG; its letters are text in the viewer's sans-serif font.
    pub svg: String,
    /// As the bytes of a PNG file, at twice the size in pixels.
    pub png: Vec<u8>,
}

impl Plot {
    /// The characters of its texts that the PNG shows as empty boxes, as its embedded font lacks them, each once; a viewer of the SVG takes them from fonts of its own.
    pub fn missing_from_png(&self) -> String {
        let Ok(font) = FontRef::try_from_slice(dejavu::sans::regular()) else { return String::new() };
        let mut missing = String::new();
        for letter in self.svg.chars().filter(|letter| !letter.is_ascii()) {
            if font.glyph_id(letter).0 == 0 && !missing.contains(letter) {
                missing.push(letter);
            }
        }
        missing
    }
}

/// A plot that cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlotError {
    /// No point has a value for the axes.
    #[error("there is nothing to plot: no point has both `{x}` and a result")]
    Empty {
        /// What runs along the horizontal axis.
        x: String,
    },
    /// No value is positive, as logarithmic axes require.
    #[error("there is nothing to plot: no point has `{x}` and `{y}` above 0, as logarithmic axes need them")]
    NotPositive {
        /// What runs along the horizontal axis.
        x: String,
        /// What is plotted.
        y: &'static str,
    },
    /// The drawing library failed.
    #[error("the plot cannot be drawn: {0}")]
    Drawing(String),
}

/// Units of the SVG's coordinates for a unit of the plot: coordinates are whole numbers.
const SVG_SCALE: f64 = 4.0;
/// Pixels of the PNG for a unit of the plot.
const PNG_SCALE: u32 = 2;
/// Pixels drawn for one of the PNG, a way: their mean makes edges smooth.
const SAMPLES: u32 = 2;

/// Draws the summaries of a sweep: the same ones make the same bytes.
///
/// Latencies of saturated points have no mean, so they have no height: a bar in a strip above the frame begins at the first load at
/// which a curve is saturated. The horizontal axis ends where no curve has anything new to say.
///
/// # Errors
/// If no point can be drawn.
pub fn plot(figure: &Figure, summaries: &[PointSummary]) -> Result<Plot, PlotError> {
    drawn(&curves::chart(figure, summaries)?)
}

/// Draws a comparison: how much more each series is than the best one or the one that was named, over the replications that both have,
/// and in a band along the horizontal axis which series is certainly the best.
///
/// # Errors
/// If no series has a result at any point.
pub fn plot_comparison(compared: &Compared) -> Result<Plot, PlotError> {
    drawn(&differences::chart(compared)?)
}

fn drawn(chart: &Chart) -> Result<Plot, PlotError> {
    embed_font()?;
    let layout = Layout::new(chart);
    let size = |scale: f64| {
        let (width, height) = layout.size();
        ((width * scale).round() as u32, (height * scale).round() as u32)
    };

    let (width, height) = size(SVG_SCALE);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        layout.draw(&Canvas { area: &area, scale: SVG_SCALE, drop: 0.07 }).map_err(drawing)?;
        area.present().map_err(drawing)?;
    }
    // The coordinates stay fine, the picture becomes as large as it is meant to be.
    let svg = svg.replacen(
        &format!("width=\"{width}\" height=\"{height}\""),
        &format!("width=\"{}\" height=\"{}\"", layout.size().0, layout.size().1),
        1,
    );
    // XML knows no other control characters.
    let svg = described(&svg, chart).replace(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'), "\u{fffd}");

    let (width, height) = size(f64::from(PNG_SCALE * SAMPLES));
    let mut pixels = vec![255; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        let scale = f64::from(PNG_SCALE * SAMPLES);
        layout.draw(&Canvas { area: &area, scale, drop: 0.19 }).map_err(drawing)?;
        area.present().map_err(drawing)?;
    }
    let (width, height) = (width / SAMPLES, height / SAMPLES);
    let png = encode(&shrink(&pixels, width as usize, height as usize), width, height).map_err(drawing)?;
    Ok(Plot { svg, png })
}

/// The picture with a title and, for those who cannot see it, what it shows in words.
fn described(svg: &str, chart: &Chart) -> String {
    let escaped = |text: &str| html! { (text) }.into_string();
    let shows = format!("{} against {}", chart.y_label, chart.x_label);
    let title = if chart.title.is_empty() { &shows } else { &chart.title };
    let (label, title) = (escaped(&chart.described()), escaped(title));
    svg.replacen('>', &format!(" role=\"img\" aria-label=\"{label}\">\n<title>{title}</title>"), 1)
}

fn drawing(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

/// Makes the embedded font the one that is asked for as `sans-serif`, once.
fn embed_font() -> Result<(), PlotError> {
    static EMBEDDED: OnceLock<bool> = OnceLock::new();
    let good = EMBEDDED.get_or_init(|| {
        plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
    });
    if *good { Ok(()) } else { Err(PlotError::Drawing("the embedded font is damaged".to_owned())) }
}

/// A pixel's red, green and blue.
type Colour = [u8; 3];

/// The means of squares of pixels; the result is `width` by `height`.
fn shrink(pixels: &[u8], width: usize, height: usize) -> Vec<Colour> {
    let samples = SAMPLES as usize;
    let (wide, _) = pixels.as_chunks::<3>();
    let mut small = Vec::with_capacity(width * height);
    for rows in wide.chunks_exact(width * samples * samples) {
        for x in 0..width {
            let square = rows.chunks_exact(width * samples).flat_map(|row| &row[x * samples..(x + 1) * samples]);
            let first = rows[x * samples];
            // Most of a plot is of one colour.
            small.push(if square.clone().all(|&colour| colour == first) {
                first
            } else {
                let sums = square.fold([0; 3], |sums: [u32; 3], colour| {
                    std::array::from_fn(|channel| sums[channel] + u32::from(colour[channel]))
                });
                sums.map(|sum| (sum / (SAMPLES * SAMPLES)) as u8)
            });
        }
    }
    small
}

/// The colours of a picture, and for each pixel which of them it has; `None` if there are more than a palette takes.
fn indexed(pixels: &[Colour]) -> Option<(Vec<Colour>, Vec<u8>)> {
    let (mut palette, mut known) = (Vec::new(), HashMap::new());
    let mut indices = Vec::with_capacity(pixels.len());
    let mut last: Option<(Colour, u8)> = None;
    for &pixel in pixels {
        let index = match last {
            Some((colour, index)) if colour == pixel => index,
            _ => match known.entry(pixel) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    palette.push(pixel);
                    *new.insert(u8::try_from(palette.len() - 1).ok()?)
                }
            },
        };
        last = Some((pixel, index));
        indices.push(index);
    }
    Some((palette, indices))
}

fn encode(pixels: &[Colour], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_depth(png::BitDepth::Eight);
    let of_palette = indexed(pixels);
    let data = if let Some((palette, indices)) = &of_palette {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette.as_flattened());
        // Differences of indices mean nothing.
        encoder.set_filter(png::Filter::NoFilter);
        indices
    } else {
        encoder.set_color(png::ColorType::Rgb);
        pixels.as_flattened()
    };
    let mut writer = encoder.write_header()?;
    writer.write_image_data(data)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_the_same_pixels_with_a_palette_and_without() {
        for colours in [1, 200, 256, 257, 4000] {
            let pixels: Vec<Colour> =
                (0..4096_u32).map(|i| [(i % colours) as u8, (i % colours / 256) as u8, 7]).collect();
            assert_eq!(indexed(&pixels).is_some(), colours <= 256);
            let file = encode(&pixels, 64, 64).unwrap();
            let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
            decoder.set_transformations(png::Transformations::EXPAND);
            let mut read = vec![0; pixels.len() * 3];
            decoder.read_info().unwrap().next_frame(&mut read).unwrap();
            assert_eq!(read, pixels.as_flattened());
        }
    }

    #[test]
    fn squares_become_their_means() {
        let row = |colours: [Colour; 4]| colours.as_flattened().to_vec();
        let [white, black] = [[255; 3], [0; 3]];
        let large = [row([white, white, black, white]), row([white, white, [1, 2, 3], white])].concat();
        assert_eq!(shrink(&large, 2, 1), [white, [127, 128, 128]]);
    }
}
