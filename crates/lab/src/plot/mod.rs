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

use std::io::Write;
use std::sync::OnceLock;

use ab_glyph::{Font, FontRef};
use flate2::Compression;
use flate2::write::ZlibEncoder;
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
    /// All points are deadlocked, and what is along the axis is measured.
    #[error("there is nothing to plot: deadlocked runs have no `{x}`")]
    Deadlocked {
        /// What runs along the horizontal axis.
        x: String,
    },
    /// No value is positive, as logarithmic axes require.
    #[error("there is nothing to plot: no point has `{}` above 0, as logarithmic axes need", .along.join("` and `"))]
    NotPositive {
        /// What runs along the logarithmic axes.
        along: Vec<String>,
    },
    /// The drawing library failed.
    #[error("the plot cannot be drawn: {0}")]
    Drawing(String),
}

impl PlotError {
    /// Whether there is nothing to draw, which says nothing against what else there is.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::Deadlocked { .. } | Self::NotPositive { .. })
    }
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
        area.fill(&WHITE).map_err(drawing)?;
        layout.draw(&Canvas { area: &area, scale: SVG_SCALE, drop: 0.07, bitmap: false }).map_err(drawing)?;
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
    let mut negative = vec![0; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut negative, (width, height)).into_drawing_area();
        let scale = f64::from(PNG_SCALE * SAMPLES);
        layout.draw(&Canvas { area: &area, scale, drop: 0.19, bitmap: true }).map_err(drawing)?;
        area.present().map_err(drawing)?;
    }
    let (width, height) = (width / SAMPLES, height / SAMPLES);
    let png = encode(&shrink(&negative, width as usize, height as usize), width, height).map_err(drawing)?;
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

/// The means of squares of the pixels of a negative, as the rows of a PNG of `width` by `height`: each has the number of its filter, and is the difference from the row above.
fn shrink(negative: &[u8], width: usize, height: usize) -> Vec<u8> {
    const SQUARE: usize = 3 * SAMPLES as usize;
    /// Bytes of a line that are looked at together.
    const BLOCK: usize = 32 * SQUARE;
    /// The filter that stands for differences from above.
    const UP: u8 = 2;
    /// The sum of the four pixels of a white square, in one colour.
    const WHITE_SQUARE: u16 = 4 * u8::MAX as u16;
    const { assert!(SAMPLES == 2, "squares have two lines of two pixels") };
    let row = width * SQUARE;
    let mut filtered = vec![0; (1 + width * 3) * height];
    let mut means = vec![0; width * 3];
    let mut above: Option<(&[u8], &[u8])> = None;
    let lines = negative.chunks_exact(row * SAMPLES as usize).map(|rows| rows.split_at(row));
    for ((upper, lower), filtered) in lines.zip(filtered.chunks_exact_mut(1 + width * 3)) {
        filtered[0] = UP;
        let blocks = means.chunks_mut(BLOCK / 2).zip(filtered[1..].chunks_mut(BLOCK / 2));
        for (start, (means, filtered)) in (0..row).step_by(BLOCK).zip(blocks) {
            let block = start..row.min(start + BLOCK);
            let (one, other) = (&upper[block.clone()], &lower[block.clone()]);
            // Most of a plot is as what is above it.
            if above.is_some_and(|(upper, lower)| upper[block.clone()] == *one && lower[block] == *other) {
                continue;
            }
            let squares = one.as_chunks::<SQUARE>().0.iter().zip(other.as_chunks::<SQUARE>().0);
            let pixels = means.as_chunks_mut::<3>().0.iter_mut().zip(filtered.as_chunks_mut::<3>().0);
            for (([a, b, c, d, e, f], [g, h, i, j, k, l]), (above, filtered)) in squares.zip(pixels) {
                // Of what is no negative.
                let mean = |a: &u8, b: &u8, c: &u8, d: &u8| {
                    ((WHITE_SQUARE - u16::from(*a) - u16::from(*b) - u16::from(*c) - u16::from(*d)) / 4) as u8
                };
                let means = [mean(a, d, g, j), mean(b, e, h, k), mean(c, f, i, l)];
                for ((filtered, mean), above) in filtered.iter_mut().zip(means).zip(above) {
                    *filtered = mean.wrapping_sub(*above);
                    *above = mean;
                }
            }
        }
        above = Some((upper, lower));
    }
    filtered
}

/// As a PNG, compressed lightly: that takes less than half of the time that the smallest file takes, for one that is half as large again. All rows are
/// compressed at once: the encoder's own way takes most of its time for clearing a buffer, twice a row.
fn encode(filtered: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut compressor = ZlibEncoder::new(Vec::new(), Compression::new(1));
    compressor.write_all(filtered)?;
    let mut bytes = Vec::new();
    let mut writer = header(&mut bytes, width, height).write_header()?;
    writer.write_chunk(png::chunk::IDAT, &compressor.finish()?)?;
    writer.finish()?;
    Ok(bytes)
}

/// The encoder of a picture of this size.
fn header(bytes: &mut Vec<u8>, width: u32, height: u32) -> png::Encoder<'_, &mut Vec<u8>> {
    let mut encoder = png::Encoder::new(bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a PNG has for the negative of this picture.
    fn picture(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
        let negative: Vec<u8> = pixels.iter().map(|value| !value).collect();
        encode(&shrink(&negative, width as usize, height as usize), width, height).unwrap()
    }

    fn decoded(file: &[u8], bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap().next_frame(&mut read).unwrap();
        read
    }

    /// Each pixel four times.
    fn enlarged(pixels: &[u8], width: usize) -> Vec<u8> {
        let row =
            |row: &[u8]| row.as_chunks::<3>().0.iter().flat_map(|pixel| [*pixel; 2]).flatten().collect::<Vec<u8>>();
        pixels.chunks_exact(width * 3).flat_map(|pixels| row(pixels).repeat(2)).collect()
    }

    #[test]
    fn squares_become_their_means() {
        let row = |colours: [[u8; 3]; 4]| colours.as_flattened().to_vec();
        let [white, black] = [[255; 3], [0; 3]];
        let small = |large: &[u8], width, height| {
            let file = picture(large, width, height);
            decoded(&file, width as usize * height as usize * 3)
        };
        let large = [row([white, white, black, white]), row([white, white, [1, 2, 3], white])].concat();
        assert_eq!(small(&large, 2, 1), [white, [127, 128, 128]].as_flattened());
        // Blocks that are as those above, but for one that has another pixel in its last line, and part of one.
        let wide = |other: Option<usize>| {
            let pixel = |x| if Some(x) == other { [3; 3] } else { [7, 7, (x / 64) as u8] };
            (0..2 * 80).flat_map(pixel).collect::<Vec<u8>>()
        };
        let (plain, spot) = (wide(None), wide(Some(64)));
        let line = |other: Option<usize>| {
            (0..80).flat_map(move |x| if Some(x) == other { [6, 6, 1] } else { [7, 7, (x / 32) as u8] })
        };
        let expected: Vec<u8> = line(None).chain(line(Some(32))).chain(line(None)).collect();
        assert_eq!(small(&[&plain[..], &plain, &plain, &spot, &plain, &plain].concat(), 80, 3), expected);
        let striped = [row([white, white, black, white]), row([black, black, black, white])].concat();
        assert_eq!(small(&striped, 2, 1), [127; 6]);
    }

    #[test]
    fn pictures_keep_their_pixels() {
        let pixels: Vec<u8> = (0..32 * 16 * 3).map(|i: u32| (i * i / 7) as u8).collect();
        assert_eq!(decoded(&picture(&enlarged(&pixels, 32), 32, 16), pixels.len()), pixels);
    }

    /// The same bytes as the encoder's own way, row by row.
    #[test]
    fn rows_may_be_compressed_together() {
        for (width, height) in [(700, 300), (32, 16), (1, 1), (1, 40)] {
            let colour = |i: u32| if (i / 900).is_multiple_of(3) { (i.wrapping_mul(i) / 7 % 251) as u8 } else { 255 };
            let pixels: Vec<u8> = (0..width * height * 3).map(colour).collect();
            let mut bytes = Vec::new();
            let mut encoder = header(&mut bytes, width, height);
            encoder.set_deflate_compression(png::DeflateCompression::Level(1));
            encoder.set_filter(png::Filter::Up);
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(&pixels).unwrap();
            writer.finish().unwrap();
            assert_eq!(picture(&enlarged(&pixels, width as usize), width, height), bytes, "{width}x{height}");
        }
    }
}
