//! Link loads as colours.

use std::collections::HashSet;
use std::fmt;

use super::beside::{arrow, arrow_head, line_beside};
use super::layout::{Layout, Position};
use crate::ids::{ChannelId, RouterId};
use crate::network::Network;
use crate::text::escape_xml;
use crate::topologies::shape::Shape;

/// From no load to the largest.
const COLOURS: [(f64, f64, f64); 5] =
    [(217.0, 217.0, 217.0), (253.0, 204.0, 138.0), (252.0, 141.0, 89.0), (215.0, 48.0, 31.0), (110.0, 0.0, 12.0)];
/// How many channels are numbered and named.
const NAMED: usize = 10;
/// The most routers of which all are named in a picture that does not say otherwise which is which.
const MOST_NAMES: usize = 80;
/// The most channels that have arrow heads.
const MOST_ARROWS: usize = 800;
/// The height of the title, and the widths of its characters and of those of the legend.
const TITLE: f64 = 26.0;
const TITLE_CHARACTER: f64 = 7.0;
const CHARACTER: f64 = 6.3;
const LINE: f64 = 16.0;
/// The length and the width of the scale.
const SCALE: (f64, f64) = (160.0, 14.0);

/// The load of each channel of a network as an SVG picture. The higher the load, the darker and wider the line; higher loads are drawn on top.
///
/// Every channel is drawn to the right of the middle of its link, seen in its direction. The ten most loaded are numbered, and a list
/// names them.
///
/// ```
/// use wormcast_network::{HeatMapSvg, TopologySpec};
///
/// let line = "mesh:3".parse::<TopologySpec>()?.build()?;
/// let svg = HeatMapSvg { network: &line, loads: &[2.0, 2.0, 2.0, 1.0], title: "pairs on mesh:3", digits: 0 };
/// assert!(svg.to_string().contains("0 -&gt; 1"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct HeatMapSvg<'a> {
    /// The network.
    pub network: &'a Network,
    /// The load of each channel between routers, not negative, in any unit.
    pub loads: &'a [f64],
    /// What the picture shows, and in what unit.
    pub title: &'a str,
    /// Digits after the decimal point of loads.
    pub digits: usize,
}

impl fmt::Display for HeatMapSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = Layout::new(self.network);
        let most = self.loads.iter().copied().fold(0.0, f64::max);
        let mut channels: Vec<ChannelId> = self.network.channel_ids().collect();
        channels.sort_by(|&a, &b| self.load(b).total_cmp(&self.load(a)).then(a.cmp(&b)));
        let named: Vec<ChannelId> = channels.iter().copied().take(NAMED).filter(|&c| self.load(c) > 0.0).collect();
        channels.reverse();
        Picture { of: self, layout, most, channels, named }.write(f)
    }
}

impl HeatMapSvg<'_> {
    fn load(&self, channel: ChannelId) -> f64 {
        self.loads.get(channel.index()).copied().unwrap_or(0.0)
    }
}

struct Picture<'a> {
    of: &'a HeatMapSvg<'a>,
    layout: Layout<'a>,
    /// The largest load.
    most: f64,
    /// All channels, those with the largest load last.
    channels: Vec<ChannelId>,
    /// The most loaded ones, highest first.
    named: Vec<ChannelId>,
}

impl Picture<'_> {
    fn share(&self, channel: ChannelId) -> f64 {
        if self.most > 0.0 { self.of.load(channel) / self.most } else { 0.0 }
    }

    fn write(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list();
        let longest = list.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * CHARACTER + 30.0;
        let width = self.layout.width() + 20.0 + longest.max(SCALE.0 + 40.0) + 10.0;
        let width = width.max(self.of.title.chars().count() as f64 * TITLE_CHARACTER + 28.0);
        let height = TITLE + self.layout.height().max(list.len() as f64 * LINE + 110.0);
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
        )?;
        writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        writeln!(
            out,
            r##"<text x="14" y="20" font-family="sans-serif" font-size="13" fill="#222222">{}</text>"##,
            escape_xml(self.of.title)
        )?;
        writeln!(out, r#"<g transform="translate(0 {TITLE})">"#)?;
        self.write_channels(out)?;
        self.write_routers(out)?;
        if matches!(self.of.network.shape(), Shape::Mesh(_) | Shape::Torus(_)) {
            self.layout.write_captions(out)?;
        } else {
            self.write_names(out)?;
        }
        self.write_numbers(out)?;
        self.write_scale(out)?;
        self.write_list(out, &list)?;
        writeln!(out, "</g>\n</svg>")
    }

    /// The lines of a channel beside its link's.
    fn lines(&self, channel: ChannelId) -> Vec<Vec<Position>> {
        let aside = if self.of.network.is_unidirectional() { 0.0 } else { 1.2 + self.width(channel) / 2.0 };
        let lines = self.layout.lines(channel).into_iter();
        lines.map(|line| line_beside(&line, &vec![aside; line.len()])).collect()
    }

    fn width(&self, channel: ChannelId) -> f64 {
        1.0 + 4.0 * self.share(channel)
    }

    fn write_channels(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrows = self.channels.len() <= MOST_ARROWS && !self.of.network.is_unidirectional();
        writeln!(out, r#"<g fill="none">"#)?;
        for &channel in &self.channels {
            let (colour, width) = (colour(self.share(channel)), self.width(channel));
            let name = self.of.network.link_label(channel);
            let load = self.of.load(channel);
            write!(out, r#"<g stroke="{colour}" fill="{colour}" stroke-width="{width:.2}"><title>"#)?;
            write!(out, "{}: {load:.*}</title>", escape_xml(&name), self.of.digits)?;
            let lines = self.lines(channel);
            for line in &lines {
                write!(out, r#"<polyline fill="none" points=""#)?;
                for point in line {
                    write!(out, "{:.1},{:.1} ", point.x, point.y)?;
                }
                write!(out, r#""/>"#)?;
            }
            if let Some(line) = lines.first().filter(|line| arrows && line.len() > 1) {
                let middle = line.len() / 2;
                let [from, to] = [line[middle - 1], line[middle]];
                let at = Position { x: from.x + 0.6 * (to.x - from.x), y: from.y + 0.6 * (to.y - from.y) };
                let (tip, along) = arrow(from, at, 0.0, 0.0);
                write!(out, r#"<polygon stroke="none" points=""#)?;
                for corner in arrow_head(tip, along) {
                    write!(out, "{:.1},{:.1} ", corner.x, corner.y)?;
                }
                write!(out, r#""/>"#)?;
            }
            writeln!(out, "</g>")?;
        }
        writeln!(out, "</g>")
    }

    fn write_routers(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, r##"<g fill="#ffffff" stroke="#666666">"##)?;
        for router in self.of.network.router_ids() {
            let at = self.layout.position(router);
            let name = escape_xml(&self.of.network.router_label(router));
            writeln!(out, r#"<circle cx="{:.1}" cy="{:.1}" r="4.5"><title>{name}</title></circle>"#, at.x, at.y)?;
        }
        writeln!(out, "</g>")
    }

    /// Names beside routers: of all, or of those at the channels with the most load.
    fn write_names(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.of.network;
        let ends = self.named.iter().flat_map(|&channel| [network.from(channel), network.to(channel)]);
        let ends: HashSet<RouterId> = ends.collect();
        let all = network.routers() <= MOST_NAMES;
        writeln!(
            out,
            r##"<g font-family="sans-serif" font-size="9" fill="#222222" stroke="#ffffff" stroke-width="2.5" paint-order="stroke">"##
        )?;
        let middle = self.layout.width() / 2.0;
        for router in network.router_ids().filter(|router| all || ends.contains(router)) {
            let at = self.layout.position(router);
            let name = escape_xml(&network.router_label(router));
            let (aside, anchor) = if at.x < middle - 1.0 { (-7.0, "end") } else { (7.0, "start") };
            let y = at.y + if at.y < self.layout.height() / 2.0 { -6.0 } else { 12.0 };
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}" text-anchor="{anchor}">{name}</text>"#, at.x + aside)?;
        }
        writeln!(out, "</g>")
    }

    /// The places of the channels with the most load in their order.
    fn write_numbers(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, r#"<g font-family="sans-serif" font-size="8.5" text-anchor="middle">"#)?;
        for (place, &channel) in self.named.iter().enumerate().rev() {
            let lines = self.lines(channel);
            let Some(line) = lines.first().filter(|line| line.len() > 1) else { continue };
            let middle = line.len() / 2;
            let [from, to] = [line[middle - 1], line[middle]];
            // Not on top of the number of the channel the other way.
            let (x, y) = (from.x + 0.42 * (to.x - from.x), from.y + 0.42 * (to.y - from.y));
            writeln!(out, r##"<circle cx="{x:.1}" cy="{y:.1}" r="6.5" fill="#ffffff" stroke="#222222"/>"##)?;
            writeln!(out, r##"<text x="{x:.1}" y="{:.1}" fill="#222222">{}</text>"##, y + 3.0, place + 1)?;
        }
        writeln!(out, "</g>")
    }

    fn write_scale(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (x, y, (length, height)) = (self.layout.width() + 16.0, 34.0, SCALE);
        writeln!(out, r#"<linearGradient id="load">"#)?;
        for step in 0..COLOURS.len() {
            let share = step as f64 / (COLOURS.len() - 1) as f64;
            writeln!(out, r#"<stop offset="{share}" stop-color="{}"/>"#, colour(share))?;
        }
        writeln!(out, "</linearGradient>")?;
        writeln!(out, r#"<rect x="{x:.1}" y="{y}" width="{length}" height="{height}" fill="url(#load)"/>"#)?;
        writeln!(out, r##"<g font-family="sans-serif" font-size="10" text-anchor="middle" fill="#222222">"##)?;
        for load in self.ticks() {
            let x = x + if self.most > 0.0 { load / self.most * length } else { 0.0 };
            writeln!(out, r#"<text x="{x:.1}" y="{:.1}">{load:.*}</text>"#, y + height + 12.0, self.of.digits)?;
        }
        writeln!(out, "</g>")
    }

    /// Loads along the scale: quarters of the largest, unless there are no digits for them.
    fn ticks(&self) -> Vec<f64> {
        let unit = 0.1f64.powi(self.of.digits as i32);
        let steps = [4.0, 3.0, 2.0].into_iter().find(|steps| {
            let each = self.most / steps / unit;
            each >= 10.0 || (each >= 1.0 && (each - each.round()).abs() < 1e-9)
        });
        let steps = steps.unwrap_or(1.0);
        let ticks = (0..=steps as u32).map(|step| f64::from(step) / steps * self.most);
        if self.most > 0.0 { ticks.collect() } else { vec![0.0] }
    }

    fn list(&self) -> Vec<String> {
        let digits = self.of.digits;
        let line = |&channel: &ChannelId| {
            format!("{:.digits$}  {}", self.of.load(channel), self.of.network.link_label(channel))
        };
        self.named.iter().map(line).collect()
    }

    fn write_list(&self, out: &mut fmt::Formatter<'_>, list: &[String]) -> fmt::Result {
        let x = self.layout.width() + 16.0;
        writeln!(out, r##"<g font-family="sans-serif" font-size="11" fill="#222222">"##)?;
        for (place, text) in list.iter().enumerate() {
            let y = 90.0 + place as f64 * LINE;
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, x + 12.0, place + 1)?;
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}">{}</text>"#, x + 22.0, escape_xml(text))?;
        }
        writeln!(out, "</g>")
    }
}

/// The colour of a share of the largest load.
fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let (low, high, part) = (COLOURS[below], COLOURS[below + 1], place - below as f64);
    let mix = |low: f64, high: f64| (low + part * (high - low)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
}
