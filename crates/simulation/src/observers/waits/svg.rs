//! Worms that wait for each other, where they are in the network.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;

use wormcast_network::text::escape_xml;
use wormcast_network::{
    ChannelId, ChannelKind, ChannelSpace, Layout, LineStyle, Network, Position, RouterId, Shape, arrow, arrow_head,
    line_beside, line_style,
};

use super::{Names, WaitLog, in_the_picture};
use crate::run::run_end::{Wait, WaitResource, WormAtEnd};

/// The worms that are told apart: as many as there are styles.
const DRAWN: usize = 24;
/// How far to the right of its channels a worm is drawn, and how much further each virtual channel and each wait.
const LANE: f64 = 3.0;
/// The height of a worm's number on its link.
const TAG: f64 = 11.0;
/// The radius of a router's disc.
const RADIUS: f64 = 4.5;
/// The height of the title.
const TITLE: f64 = 26.0;
/// The height of a line of the legend, and the widths of a character there and of the title.
const LINE: f64 = 15.0;
const CHARACTER: f64 = 5.9;
const TITLE_CHARACTER: f64 = 7.0;
/// The most characters of a line of the legend.
const WIDEST: usize = 110;

/// The worms that were in the network when a run ended and waited, or were waited for, as an SVG picture of the network.
///
/// Dead worms come first, a cycle of them before the others, then those that most worms wait for: behind them congestion begins. The first
/// 24 have a colour or a dash pattern of their own, and a line in the legend: what a worm holds is drawn as a line along the
/// channels, with a tag at its head, what it waits for as a thin arrow that begins where it waits. A disc is a router of which a worm
/// holds a consumption channel, a ring one at which it waits for one, or for a buffer. Links that other worms hold are darker than those that are free.
pub struct WaitsSvg<'a> {
    /// The worms.
    pub log: &'a WaitLog,
    /// The network that they are in.
    pub network: &'a Network,
    /// The numbering of its channels.
    pub space: ChannelSpace,
}

impl fmt::Display for WaitsSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycle = self.log.cycle();
        let mut worms = in_the_picture(self.log);
        let waiting = waiting_for(self.log);
        let rank = |worm: &WormAtEnd| {
            let place = cycle.iter().position(|&id| id == worm.worm).unwrap_or(cycle.len());
            (
                !worm.deadlocked,
                place,
                Reverse(waiting.get(&worm.worm).copied().unwrap_or_default()),
                worm.holds.is_empty(),
                worm.waits.is_empty(),
                worm.since().unwrap_or(u64::MAX),
                worm.worm,
            )
        };
        worms.sort_by_key(|worm| rank(worm));
        let layout = Layout::new(self.network);
        Picture { of: self, names: Names { network: self.network, space: self.space }, layout, worms, waiting, cycle }
            .write(f)
    }
}

struct Picture<'a> {
    of: &'a WaitsSvg<'a>,
    names: Names<'a>,
    layout: Layout<'a>,
    /// All that are shown, those first that have a style.
    worms: Vec<&'a WormAtEnd>,
    /// How many wait for a worm, by its number.
    waiting: HashMap<u64, usize>,
    cycle: Vec<u64>,
}

impl Picture<'_> {
    fn drawn(&self) -> impl Iterator<Item = (LineStyle, &WormAtEnd)> {
        self.worms.iter().take(DRAWN).enumerate().map(|(place, worm)| (line_style(place as u32), *worm))
    }

    fn write(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, legend) = (self.title(), self.legend());
        let longest = legend.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let width = self.layout.width() + 50.0 + longest as f64 * CHARACTER + 14.0;
        let width = width.max(title.chars().count() as f64 * TITLE_CHARACTER + 28.0);
        let height = TITLE + self.layout.height().max((legend.len() as f64 + 2.0) * LINE);
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
        )?;
        writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        writeln!(
            out,
            r##"<text x="14" y="20" font-family="sans-serif" font-size="13" fill="#222222">{}</text>"##,
            escape_xml(&title)
        )?;
        writeln!(out, r#"<g transform="translate(0 {TITLE})">"#)?;
        self.layout.write_links(out)?;
        self.write_others(out)?;
        for (style, worm) in self.drawn() {
            self.write_held(out, style, worm)?;
        }
        self.write_waits(out)?;
        self.layout.write_captions(out)?;
        self.write_routers(out)?;
        self.write_tags(out)?;
        self.write_legend(out, &legend)?;
        writeln!(out, "</g>\n</svg>")
    }

    fn title(&self) -> String {
        let dead = self.of.log.worms().iter().filter(|worm| worm.deadlocked).count();
        let waiting = self.worms.iter().filter(|worm| !worm.waits.is_empty()).count();
        let what = match (dead, self.cycle.len()) {
            (0, _) => format!("{waiting} worms in the network wait, none forever"),
            (dead, cycle) => format!("{dead} worms wait forever; {cycle} of them in a cycle come first"),
        };
        format!("{} in cycle {}: {what}", self.of.network.name(), self.of.log.at())
    }

    /// The lines along which a channel is drawn, in its direction; ports only where nodes are drawn apart.
    fn lines(&self, channel: ChannelId) -> Vec<Vec<Position>> {
        let network = self.of.network;
        let port = |node: Option<Position>, router| node.map(|node| vec![node, self.layout.position(router)]);
        match self.of.space.kind(channel) {
            ChannelKind::Link => self.layout.lines(channel),
            ChannelKind::Injection(node, _) => {
                port(self.layout.entry_position(node), network.entry_of(node)).into_iter().collect()
            }
            ChannelKind::Consumption(node, _) => {
                let mut line = port(self.layout.node_position(node), network.router_of(node));
                if let Some(line) = &mut line {
                    line.reverse();
                }
                line.into_iter().collect()
            }
        }
    }

    /// What the worms without a style hold.
    fn write_others(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let styled: HashSet<u64> = self.drawn().map(|(_, worm)| worm.worm).collect();
        writeln!(out, r##"<g fill="none" stroke="#999999" stroke-width="1.5">"##)?;
        for worm in self.of.log.worms().iter().filter(|worm| !styled.contains(&worm.worm)) {
            for held in &worm.holds {
                if let WaitResource::Channel(channel, _) = *held {
                    for line in self.lines(channel) {
                        write_line(out, &line_beside(&line, &vec![LANE; line.len()]))?;
                    }
                }
            }
        }
        writeln!(out, "</g>")
    }

    fn write_held(&self, out: &mut fmt::Formatter<'_>, style: LineStyle, worm: &WormAtEnd) -> fmt::Result {
        let LineStyle { colour, dash, .. } = style;
        writeln!(out, r#"<g fill="none" stroke="{colour}" stroke-width="2.6" stroke-dasharray="{dash}">"#)?;
        for held in &worm.holds {
            let WaitResource::Channel(channel, virtual_channel) = *held else { continue };
            let distance = LANE * (f64::from(virtual_channel) + 1.0);
            for line in self.lines(channel) {
                write_line(out, &line_beside(&line, &vec![distance; line.len()]))?;
            }
        }
        writeln!(out, "</g>")
    }

    /// Arrows to what the worms wait for; behind each other where several wait for the same.
    fn write_waits(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut waiting: HashMap<ChannelId, u32> = HashMap::new();
        for (style, worm) in self.drawn() {
            let LineStyle { colour, .. } = style;
            writeln!(out, r#"<g fill="{colour}" stroke="{colour}" stroke-width="1.2">"#)?;
            for option in worm.waits.iter().filter(|wait| is_in_the_way(wait)).flat_map(|wait| &wait.options) {
                let (WaitResource::Channel(channel, _) | WaitResource::Slot(channel)) = option.resource else {
                    continue;
                };
                let lines = self.lines(channel);
                let Some(line) = lines.first().filter(|line| line.len() > 1) else { continue };
                let before = waiting.entry(channel).or_default();
                let distance = LANE * (2.4 + f64::from(*before));
                *before += 1;
                // Part of the way.
                let beside = line_beside(line, &vec![distance; line.len()]);
                let [from, to] = [beside[0], beside[1]];
                let share = if beside.len() > 2 { 1.0 } else { 0.62 };
                let end = Position { x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) };
                writeln!(
                    out,
                    r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke-dasharray="3 2"/>"#,
                    from.x, from.y, end.x, end.y
                )?;
                let (tip, along) = arrow(from, end, 0.0, 0.0);
                write!(out, r#"<polygon points=""#)?;
                for corner in arrow_head(tip, along) {
                    write!(out, "{:.1},{:.1} ", corner.x, corner.y)?;
                }
                writeln!(out, r#""/>"#)?;
            }
            writeln!(out, "</g>")?;
        }
        Ok(())
    }

    fn write_routers(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.of.network;
        let mut rings: HashMap<RouterId, u32> = HashMap::new();
        let mut named: HashSet<RouterId> = HashSet::new();
        let mut fill: HashMap<RouterId, &str> = HashMap::new();
        writeln!(out, r#"<g fill="none" stroke-width="2">"#)?;
        for (style, worm) in self.drawn() {
            for held in &worm.holds {
                let WaitResource::Channel(channel, _) = *held else { continue };
                match self.of.space.kind(channel) {
                    ChannelKind::Link => named.extend([network.from(channel), network.to(channel)]),
                    ChannelKind::Consumption(node, _) => drop(fill.insert(network.router_of(node), style.colour)),
                    ChannelKind::Injection(..) => {}
                }
            }
            for wait in worm.waits.iter().filter(|wait| is_in_the_way(wait)) {
                named.extend(wait.at);
                let to_a_node = |resource| match resource {
                    WaitResource::Consumption(_) | WaitResource::Room(_) => true,
                    WaitResource::Channel(id, _) => matches!(self.of.space.kind(id), ChannelKind::Consumption(..)),
                    _ => false,
                };
                let Some(at) = wait.at.filter(|_| wait.options.iter().any(|option| to_a_node(option.resource))) else {
                    continue;
                };
                let ring = rings.entry(at).or_default();
                let (centre, radius) = (self.layout.position(at), RADIUS + 4.5 + 3.0 * f64::from(*ring));
                *ring += 1;
                writeln!(
                    out,
                    r#"<circle cx="{:.1}" cy="{:.1}" r="{radius:.1}" stroke="{}"/>"#,
                    centre.x, centre.y, style.colour
                )?;
            }
        }
        writeln!(out, "</g>")?;
        writeln!(out, r##"<g stroke="#666666">"##)?;
        for router in network.router_ids() {
            let (at, colour) = (self.layout.position(router), fill.get(&router).unwrap_or(&"#ffffff"));
            let radius = if fill.contains_key(&router) { RADIUS + 1.5 } else { RADIUS };
            writeln!(
                out,
                r#"<circle cx="{:.1}" cy="{:.1}" r="{radius}" fill="{colour}"><title>{}</title></circle>"#,
                at.x,
                at.y,
                escape_xml(&network.router_label(router))
            )?;
        }
        writeln!(out, "</g>")?;
        // Where nothing else says which router is which.
        if !matches!(network.shape(), Shape::Mesh(_) | Shape::Torus(_)) {
            writeln!(
                out,
                r##"<g font-family="sans-serif" font-size="9" fill="#222222" stroke="#ffffff" stroke-width="2.5" paint-order="stroke">"##
            )?;
            for router in network.router_ids().filter(|router| named.contains(router)) {
                let at = self.layout.position(router);
                let name = escape_xml(&network.router_label(router));
                writeln!(out, r#"<text x="{:.1}" y="{:.1}">{name}</text>"#, at.x + 7.0, at.y - 7.0)?;
            }
            writeln!(out, "</g>")?;
        }
        Ok(())
    }

    /// The number of each worm in the middle of the last link that it holds.
    fn write_tags(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, r#"<g font-family="sans-serif" font-size="8.5" text-anchor="middle">"#)?;
        let mut placed: Vec<(f64, f64, f64)> = Vec::new();
        for (style, worm) in self.drawn() {
            let links = worm.holds.iter().rev().filter_map(|held| match *held {
                WaitResource::Channel(channel, _) => {
                    self.lines(channel).into_iter().last().filter(|line| line.len() > 1)
                }
                _ => None,
            });
            let Some(line) = links.into_iter().next() else { continue };
            let beside = line_beside(&line, &vec![LANE; line.len()]);
            let middle = beside.len() / 2;
            let [a, b] = [beside[middle - 1], beside[middle]];
            let text = worm.worm.to_string();
            let (x, half) = (f64::midpoint(a.x, b.x), 3.0 + 2.6 * text.len() as f64);
            let y = below(&placed, (x, f64::midpoint(a.y, b.y), half));
            placed.push((x, y, half));
            writeln!(
                out,
                r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{TAG}" rx="3" fill="{}"/>"#,
                x - half,
                y - TAG / 2.0,
                2.0 * half,
                style.colour
            )?;
            writeln!(out, r#"<text x="{x:.1}" y="{:.1}" fill="{}">{text}</text>"#, y + 3.0, style.ink)?;
        }
        writeln!(out, "</g>")
    }

    fn legend(&self) -> Vec<(Option<LineStyle>, String)> {
        let mut lines: Vec<_> = self.drawn().map(|(style, worm)| (Some(style), self.describe(worm))).collect();
        let more = self.worms.len().saturating_sub(DRAWN);
        if more > 0 {
            lines.push((None, format!("and {more} more, in grey")));
        }
        let shown: HashSet<u64> = self.worms.iter().map(|worm| worm.worm).collect();
        let moving = self.of.log.worms().iter().filter(|worm| !shown.contains(&worm.worm) && !worm.holds.is_empty());
        match moving.count() {
            0 => {}
            1 => lines.push((None, "and one more that moves, in grey".to_owned())),
            moving => lines.push((None, format!("and {moving} more that move, in grey"))),
        }
        lines
    }

    /// A worm in a line of text.
    fn describe(&self, worm: &WormAtEnd) -> String {
        let network = self.of.network;
        let from = network.node_label(worm.source);
        let to: Vec<String> = worm.destinations.iter().take(2).map(|&node| network.node_label(node)).collect();
        let more = if worm.destinations.len() > to.len() { " and more" } else { "" };
        let mut text = format!("worm {} from {from} to {}{more}", worm.worm, to.join("; "));
        if let Some(behind) = self.waiting.get(&worm.worm) {
            text = format!("{text}, {behind} {} for it", if *behind == 1 { "waits" } else { "wait" });
        }
        if let Some(wait) = worm.waits.iter().find(|wait| is_in_the_way(wait)).or(worm.waits.first()) {
            let at = wait.at.map_or_else(String::new, |at| format!(" at {}", network.router_label(at)));
            let since = wait.since.map_or_else(String::new, |since| format!(" since {since}"));
            let options: Vec<String> = wait.options.iter().map(|option| self.names.label(option.resource)).collect();
            let who: Vec<String> = wait.options[0].worms.iter().take(3).map(ToString::to_string).collect();
            let who = if who.is_empty() { String::new() } else { format!(" (worm {})", who.join(", ")) };
            let what = options.join(" or ");
            text = format!("{text}: waits{at}{since} for {what}{who}");
        }
        if text.chars().count() > WIDEST {
            text = text.chars().take(WIDEST - 1).chain(['…']).collect();
        }
        text
    }

    fn write_legend(&self, out: &mut fmt::Formatter<'_>, legend: &[(Option<LineStyle>, String)]) -> fmt::Result {
        let x = self.layout.width() + 6.0;
        writeln!(out, r##"<g font-family="sans-serif" font-size="11" fill="#222222">"##)?;
        for (place, (style, text)) in legend.iter().enumerate() {
            let y = (place as f64 + 1.5) * LINE;
            if let &Some(LineStyle { colour, dash, .. }) = style {
                writeln!(
                    out,
                    r#"<line x1="{x:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="2.6" stroke-dasharray="{dash}"/>"#,
                    y - 4.0,
                    x + 30.0,
                    y - 4.0
                )?;
            }
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}">{}</text>"#, x + 38.0, escape_xml(text))?;
        }
        writeln!(out, "</g>")
    }
}

/// How many worms wait for each that others wait for.
fn waiting_for(log: &WaitLog) -> HashMap<u64, usize> {
    let mut waiting = HashMap::new();
    for worm in log.worms() {
        let in_the_way = worm.waits.iter().flat_map(|wait| &wait.options).flat_map(|option| &option.worms);
        for &id in in_the_way.filter(|&&id| id != worm.worm).collect::<HashSet<_>>() {
            *waiting.entry(id).or_default() += 1;
        }
    }
    waiting
}

/// Whether others have what a worm waits for: if not, it waits for something else besides.
fn is_in_the_way(wait: &Wait) -> bool {
    wait.options.iter().all(|option| !option.worms.is_empty())
}

/// How far down the middle of a tag has to be, so that it covers none of those that are placed. Each is a middle and half of the width:
/// several worms may hold one link, and those of both its directions lie close together.
fn below(placed: &[(f64, f64, f64)], (x, mut y, half): (f64, f64, f64)) -> f64 {
    const GAP: f64 = 1.0;
    let covered =
        |y: f64| placed.iter().find(|(px, py, wide)| (x - px).abs() < half + wide && (y - py).abs() < TAG + GAP / 2.0);
    // Each round leaves one behind for good.
    while let Some((_, above, _)) = covered(y) {
        y = above + TAG + GAP;
    }
    y
}

fn write_line(out: &mut fmt::Formatter<'_>, line: &[Position]) -> fmt::Result {
    write!(out, r#"<polyline points=""#)?;
    for point in line {
        write!(out, "{:.1},{:.1} ", point.x, point.y)?;
    }
    writeln!(out, r#""/>"#)
}

#[cfg(test)]
mod tests {
    use super::{TAG, below};

    #[test]
    fn tags_do_not_cover_each_other() {
        // Two directions of one link, across and along, several worms on one link, and one further away.
        let wanted = [(50.0, 20.0), (50.0, 26.0), (56.0, 20.0), (50.0, 20.0), (50.0, 43.0), (50.0, 20.0), (90.0, 20.0)];
        let mut placed: Vec<(f64, f64, f64)> = Vec::new();
        for (x, y) in wanted {
            let tag = (x, below(&placed, (x, y, 8.2)), 8.2);
            assert!(tag.1 >= y);
            for (px, py, wide) in &placed {
                assert!((x - px).abs() >= 8.2 + wide || (tag.1 - py).abs() >= TAG, "{tag:?} covers {px},{py}");
            }
            placed.push(tag);
        }
        assert!((placed[0].1 - 20.0).abs() < 1e-9 && (placed[6].1 - 20.0).abs() < 1e-9, "where they would be alone");
    }
}
