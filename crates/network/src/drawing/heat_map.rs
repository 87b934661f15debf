//! Channels marked by colour: their loads, or a cycle of them.

use std::collections::HashSet;
use std::fmt;

use super::beside::{arrow, arrow_head, line_beside};
use super::layout::{Layout, Position};
use crate::ids::{ChannelId, RouterId};
use crate::network::Network;
use crate::text::{escape_xml, shortened};
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
/// The width of a character of a name beside a router, at most on average, and the distance of names from their routers.
const NAME_CHARACTER: f64 = 5.6;
const NAME_ASIDE: f64 = 7.0;
/// The longest name beside a router, in characters: longer ones are cut.
const LONGEST_NAME: usize = 40;
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
        let Self { network, title, digits, .. } = *self;
        let most = self.loads.iter().copied().fold(0.0, f64::max);
        let mut channels: Vec<ChannelId> = network.channel_ids().collect();
        channels.sort_by(|&a, &b| self.load(b).total_cmp(&self.load(a)).then(a.cmp(&b)));
        let named: Vec<ChannelId> = channels.iter().copied().take(NAMED).filter(|&c| self.load(c) > 0.0).collect();
        channels.reverse();
        let line = |&c: &ChannelId| format!("{:.digits$}  {}", self.load(c), network.link_label(c));
        let list = named.iter().map(line).collect();
        let share = |channel: ChannelId| if most > 0.0 { self.load(channel) / most } else { 0.0 };
        let tip = |channel: ChannelId| format!(": {:.digits$}", self.load(channel));
        let scale = Some((most, digits));
        Picture { network, title, layout: Layout::new(network), channels, share: &share, tip: &tip, named, list, scale }
            .write(f)
    }
}

impl HeatMapSvg<'_> {
    fn load(&self, channel: ChannelId) -> f64 {
        self.loads.get(channel.index()).copied().unwrap_or(0.0)
    }
}

/// A cycle of channels on a network as an SVG picture. They are numbered in their order, and a list says of each what is known of it.
///
/// ```
/// use wormcast_network::{CycleSvg, TopologySpec};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// let around = ring.channel_ids().step_by(2).map(|channel| (channel, ring.link_label(channel))).collect::<Vec<_>>();
/// let svg = CycleSvg { network: &ring, cycle: &around, title: "a cycle on ring:3" };
/// assert!(svg.to_string().contains("a cycle on ring:3"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct CycleSvg<'a> {
    /// The network.
    pub network: &'a Network,
    /// The channels of the cycle, each with its line in the list.
    pub cycle: &'a [(ChannelId, String)],
    /// What the picture shows.
    pub title: &'a str,
}

impl fmt::Display for CycleSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// How red the cycle is.
        const MARKED: f64 = 0.75;
        let Self { network, title, cycle } = *self;
        let on_cycle: HashSet<ChannelId> = cycle.iter().map(|&(channel, _)| channel).collect();
        let mut channels: Vec<ChannelId> = network.channel_ids().collect();
        channels.sort_by_key(|channel| on_cycle.contains(channel));
        let share = |channel: ChannelId| if on_cycle.contains(&channel) { MARKED } else { 0.0 };
        let (named, list) = cycle.iter().cloned().unzip();
        let tip = |_: ChannelId| String::new();
        let layout = Layout::new(network);
        Picture { network, title, layout, channels, share: &share, tip: &tip, named, list, scale: None }.write(f)
    }
}

/// A network whose channels are marked.
struct Picture<'a> {
    network: &'a Network,
    title: &'a str,
    layout: Layout<'a>,
    /// All channels in the order in which they are drawn.
    channels: Vec<ChannelId>,
    /// How strongly each is marked, from 0 to 1.
    share: &'a dyn Fn(ChannelId) -> f64,
    /// What is said of each behind its name, when the pointer is on it.
    tip: &'a dyn Fn(ChannelId) -> String,
    /// Those that are numbered.
    named: Vec<ChannelId>,
    /// A line for each of these.
    list: Vec<String>,
    /// The largest load, and its digits after the decimal point.
    scale: Option<(f64, usize)>,
}

impl Picture<'_> {
    fn write(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.list.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * CHARACTER + 30.0;
        let beside = longest.max(if self.scale.is_some() { SCALE.0 + 40.0 } else { 0.0 });
        let [left, right] = self.overhangs();
        let width = left + self.layout.width() + right + 20.0 + beside + 10.0;
        let width = width.max(self.title.chars().count() as f64 * TITLE_CHARACTER + 28.0);
        let height = TITLE + self.layout.height().max(self.list.len() as f64 * LINE + 110.0);
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
        )?;
        writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        writeln!(
            out,
            r##"<text x="14" y="20" font-family="sans-serif" font-size="13" fill="#222222">{}</text>"##,
            escape_xml(self.title)
        )?;
        writeln!(out, r#"<g transform="translate({left:.0} {TITLE})">"#)?;
        self.write_channels(out)?;
        self.write_routers(out)?;
        if self.has_coordinates() {
            self.layout.write_captions(out)?;
        } else {
            self.write_names(out)?;
        }
        self.write_numbers(out)?;
        if let Some((most, digits)) = self.scale {
            self.write_scale(out, most, digits)?;
        }
        self.write_list(out)?;
        writeln!(out, "</g>\n</svg>")
    }

    /// The lines of a channel beside its link's.
    fn lines(&self, channel: ChannelId) -> Vec<Vec<Position>> {
        let aside = if self.network.is_unidirectional() { 0.0 } else { 1.2 + self.width(channel) / 2.0 };
        let lines = self.layout.lines(channel).into_iter();
        lines.map(|line| line_beside(&line, &vec![aside; line.len()])).collect()
    }

    fn width(&self, channel: ChannelId) -> f64 {
        1.0 + 4.0 * (self.share)(channel)
    }

    fn write_channels(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrows = self.channels.len() <= MOST_ARROWS && !self.network.is_unidirectional();
        writeln!(out, r#"<g fill="none">"#)?;
        for &channel in &self.channels {
            let (colour, width) = (colour((self.share)(channel)), self.width(channel));
            let name = self.network.link_label(channel) + &(self.tip)(channel);
            write!(out, r#"<g stroke="{colour}" fill="{colour}" stroke-width="{width:.2}"><title>"#)?;
            write!(out, "{}</title>", escape_xml(&name))?;
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
        for router in self.network.router_ids() {
            let at = self.layout.position(router);
            let name = escape_xml(&self.network.router_label(router));
            writeln!(out, r#"<circle cx="{:.1}" cy="{:.1}" r="4.5"><title>{name}</title></circle>"#, at.x, at.y)?;
        }
        writeln!(out, "</g>")
    }

    /// Whether coordinates at the edges say which router is which.
    fn has_coordinates(&self) -> bool {
        matches!(self.network.shape(), Shape::Mesh(_) | Shape::Torus(_))
    }

    /// The routers that are named: all, or those at the channels with the most load. With each, whether its name is to the left of it.
    fn named_routers(&self) -> Vec<(RouterId, bool)> {
        let network = self.network;
        let ends = self.named.iter().flat_map(|&channel| [network.from(channel), network.to(channel)]);
        let ends: HashSet<RouterId> = ends.collect();
        let all = network.routers() <= MOST_NAMES;
        let middle = self.layout.width() / 2.0;
        let named = network.router_ids().filter(|router| all || ends.contains(router));
        named.map(|router| (router, self.layout.position(router).x < middle - 1.0)).collect()
    }

    fn name(&self, router: RouterId) -> String {
        shortened(&self.network.router_label(router), LONGEST_NAME).into_owned()
    }

    /// By how much names go beyond the layout, to the left and to the right.
    fn overhangs(&self) -> [f64; 2] {
        let mut beyond = [0.0f64; 2];
        if !self.has_coordinates() {
            for (router, is_left) in self.named_routers() {
                let name = self.name(router).chars().count() as f64 * NAME_CHARACTER + NAME_ASIDE;
                let x = self.layout.position(router).x;
                let room = if is_left { x } else { self.layout.width() - x };
                let side = &mut beyond[usize::from(!is_left)];
                *side = side.max((name - room + 4.0).ceil());
            }
        }
        beyond
    }

    /// Where the scale and the list begin.
    fn beside(&self) -> f64 {
        self.layout.width() + self.overhangs()[1] + 16.0
    }

    /// Names beside routers.
    fn write_names(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            r##"<g font-family="sans-serif" font-size="9" fill="#222222" stroke="#ffffff" stroke-width="2.5" paint-order="stroke">"##
        )?;
        for (router, is_left) in self.named_routers() {
            let at = self.layout.position(router);
            let name = escape_xml(&self.name(router));
            let (aside, anchor) = if is_left { (-NAME_ASIDE, "end") } else { (NAME_ASIDE, "start") };
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

    fn write_scale(&self, out: &mut fmt::Formatter<'_>, most: f64, digits: usize) -> fmt::Result {
        let (x, y, (length, height)) = (self.beside(), 34.0, SCALE);
        writeln!(out, r#"<linearGradient id="load">"#)?;
        for step in 0..COLOURS.len() {
            let share = step as f64 / (COLOURS.len() - 1) as f64;
            writeln!(out, r#"<stop offset="{share}" stop-color="{}"/>"#, colour(share))?;
        }
        writeln!(out, "</linearGradient>")?;
        writeln!(out, r#"<rect x="{x:.1}" y="{y}" width="{length}" height="{height}" fill="url(#load)"/>"#)?;
        writeln!(out, r##"<g font-family="sans-serif" font-size="10" text-anchor="middle" fill="#222222">"##)?;
        for load in ticks(most, digits) {
            let x = x + if most > 0.0 { load / most * length } else { 0.0 };
            writeln!(out, r#"<text x="{x:.1}" y="{:.1}">{load:.*}</text>"#, y + height + 12.0, digits)?;
        }
        writeln!(out, "</g>")
    }

    fn write_list(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.beside();
        writeln!(out, r##"<g font-family="sans-serif" font-size="11" fill="#222222">"##)?;
        let top = if self.scale.is_some() { 90.0 } else { 40.0 };
        for (place, text) in self.list.iter().enumerate() {
            let y = top + place as f64 * LINE;
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}" text-anchor="end">{}</text>"#, x + 12.0, place + 1)?;
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}">{}</text>"#, x + 22.0, escape_xml(text))?;
        }
        writeln!(out, "</g>")
    }
}

/// Loads along the scale: quarters of the largest, unless there are no digits for them.
fn ticks(most: f64, digits: usize) -> Vec<f64> {
    let unit = 0.1f64.powi(digits as i32);
    let steps = [4.0, 3.0, 2.0].into_iter().find(|steps| {
        let each = most / steps / unit;
        each >= 10.0 || (each >= 1.0 && (each - each.round()).abs() < 1e-9)
    });
    let steps = steps.unwrap_or(1.0);
    let ticks = (0..=steps as u32).map(|step| f64::from(step) / steps * most);
    if most > 0.0 { ticks.collect() } else { vec![0.0] }
}

/// The colour of a share of the largest load.
fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let (low, high, part) = (COLOURS[below], COLOURS[below + 1], place - below as f64);
    let mix = |low: f64, high: f64| (low + part * (high - low)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::NetworkBuilder;

    /// Names such as those of `ibnetdiscover` began to the left of the picture, and ran into the list.
    #[test]
    fn long_names_stay_within_the_picture_and_beside_the_list() {
        let mut builder = NetworkBuilder::new("x");
        let routers: Vec<RouterId> =
            (0..6).map(|number| builder.router(&format!("S-e41d2d030000010{number}")).unwrap()).collect();
        for (place, &router) in routers.iter().enumerate() {
            builder.link(router, routers[(place + 1) % 6]).unwrap();
        }
        let network = builder.build().unwrap();
        let loads = vec![1.0; network.channels()];
        let map = HeatMapSvg { network: &network, loads: &loads, title: "", digits: 0 }.to_string();
        let number = |text: &str, name: &str| -> Option<f64> {
            text.split_once(name)?.1.split(['"', ' ']).next().and_then(|number| number.parse().ok())
        };
        let left = number(&map, "<g transform=\"translate(").unwrap();
        let list = map.lines().filter(|line| line.contains(" -&gt; ") && line.starts_with("<text"));
        let list = list.filter_map(|line| number(line, "<text x=\"")).fold(f64::INFINITY, f64::min);
        let names: Vec<&str> =
            map.lines().filter(|line| line.contains(">S-e41d2d030000010") && line.contains("text-anchor")).collect();
        assert_eq!(names.len(), 6);
        for name in names {
            let (x, width) = (number(name, "<text x=\"").unwrap(), 18.0 * NAME_CHARACTER);
            let (from, to) = if name.contains("\"end\"") { (x - width, x) } else { (x, x + width) };
            assert!(left + from >= 0.0 && to < list, "{name}: {left}, {list}");
        }
    }
}
