//! Plans as SVG pictures.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use wormcast_network::text::escape_xml;
use wormcast_network::{ChannelId, Layout, Network, NodeId, Position, arrow, arrow_head, line_beside, same_direction};

use super::branches::BranchDiagram;
use super::legend::{Legend, Line};
use super::palette::{Style, Styles};
use super::tree::TreeDiagram;
use crate::algorithm::Multicast;
use crate::plan::summary::{PlanSummary, WormSummary};

/// The largest radius of a router's disc in pixels.
const RADIUS: f64 = 9.0;
/// How far apart parallel worms are drawn, unless there are too many.
const LANE: f64 = 4.5;
/// The most that a worm is drawn beside its links.
const WIDEST: f64 = 20.0;
/// The height of the title above the network.
const TITLE: f64 = 26.0;
/// The width of a character of the title.
const TITLE_CHARACTER: f64 = 7.0;
pub(super) const LINE: f64 = 16.0;
/// The width of a character in the legend.
const CHARACTER: f64 = 6.7;
/// The widest diagram of a tree below a drawing that is narrower.
const WIDEST_TREE: f64 = 1600.0;
/// The width of a digit in a disc.
const DIGIT: f64 = 5.2;
/// A worm that runs straight on for so many channels without a delivery has an arrow head in the middle.
const LONG_RUN: usize = 3;

/// A plan as an SVG picture, with the name of the algorithm that made it.
///
/// The source is a black square. Each worm has a colour, and a dash pattern where there are more worms than colours; it runs to
/// the right of its links and in a lane of its own beside other worms. The nodes that it delivers to are filled with its
/// colour and numbered in the order of delivery. A legend lists every worm's visits.
///
/// Where nodes forward the message, colours and numbers are those of steps instead, and the legend lists each step's worms. If all
/// worms are unicasts, their tree is drawn below: a row for each step. Below a single worm that branches is its tree, with a row for
/// each hop. Where there are more steps than colours, they go from dark to light, and from wide lines to narrow ones.
///
/// In pictures of large networks, things without room are left out: numbers that are wider than their discs, trees that are much wider than
/// the network, and the end of long lists in the legend, which says how much there is.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name, plan_svg};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default())?;
/// let multicast = Multicast::new(NodeId::new(5), &[NodeId::new(0), NodeId::new(15)]);
/// let summary = algorithm.plan(&multicast).summary(algorithm.routing(), PortModel::One)?;
/// let svg = plan_svg(&mesh, algorithm.name(), &summary, &multicast);
/// assert!(svg.starts_with("<svg ") && svg.contains("worm 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_svg(network: &Network, algorithm: &str, summary: &PlanSummary, multicast: &Multicast) -> String {
    let layout = Layout::new(network);
    let lanes = Lanes::new(&layout, summary);
    let forwards = summary.worms.iter().any(|worm| worm.after.is_some());
    let tree = TreeDiagram::new(network, summary, multicast);
    let branches = BranchDiagram::new(network, summary);
    let styles = Styles::of(if forwards { summary.steps } else { 0 });
    let radius = RADIUS.min(layout.disc());
    let picture =
        Picture { network, algorithm, layout, summary, multicast, lanes, forwards, tree, branches, styles, radius };
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = picture.write(&mut svg);
    svg
}

/// Which lane each worm takes on each of its channels: from one turn to the next the same, the first that no earlier worm
/// takes on any of these channels.
struct Lanes {
    /// By worm and the channel's position in it.
    lanes: Vec<Vec<u32>>,
    /// The distance between lanes.
    pitch: f64,
}

impl Lanes {
    fn new(layout: &Layout, summary: &PlanSummary) -> Self {
        let mut taken: HashMap<ChannelId, HashSet<u32>> = HashMap::new();
        let ends = |channel: ChannelId| {
            let network = layout.network();
            (layout.position(network.from(channel)), layout.position(network.to(channel)))
        };
        let straight_on = |first: &ChannelId, then: &ChannelId| same_direction(ends(*first), ends(*then));
        let mut lanes = Vec::with_capacity(summary.worms.len());
        for worm in &summary.worms {
            let mut of_worm = Vec::with_capacity(worm.channels.len());
            for run in worm.channels.chunk_by(straight_on) {
                let busy = |lane: &u32| run.iter().any(|c| taken.get(c).is_some_and(|t| t.contains(lane)));
                let free = (0..worm.id).find(|lane| !busy(lane)).unwrap_or(worm.id);
                for &channel in run {
                    taken.entry(channel).or_default().insert(free);
                    of_worm.push(free);
                }
            }
            lanes.push(of_worm);
        }
        let widest = lanes.iter().flatten().copied().max().unwrap_or(0);
        Self { lanes, pitch: LANE.min(WIDEST / (f64::from(widest) + 0.5)) }
    }

    /// How far to the right of its channels a worm runs.
    fn distances(&self, worm: &WormSummary) -> impl Iterator<Item = f64> {
        self.lanes[worm.id as usize].iter().map(|&lane| (f64::from(lane) + 0.5) * self.pitch)
    }
}

/// A line of a worm and how far to the right of it each of its segments is drawn.
struct Run {
    line: Vec<Position>,
    distances: Vec<f64>,
}

impl Run {
    /// The line that is drawn; where it would pass beside the discs at its ends, it is led to their centres.
    fn drawn(&self, radius: f64) -> Vec<Position> {
        let mut points = line_beside(&self.line, &self.distances);
        let beside = |distance: Option<&f64>| distance.is_some_and(|&distance| distance > radius - 1.0);
        if beside(self.distances.first()) {
            points.insert(0, self.line[0]);
        }
        if beside(self.distances.last()) {
            points.extend(self.line.last());
        }
        points
    }
}

struct Picture<'a> {
    network: &'a Network,
    algorithm: &'a str,
    layout: Layout<'a>,
    summary: &'a PlanSummary,
    multicast: &'a Multicast,
    lanes: Lanes,
    /// Whether colours and numbers are those of steps.
    forwards: bool,
    tree: Option<TreeDiagram<'a>>,
    branches: Option<BranchDiagram<'a>>,
    styles: Styles,
    /// Of the discs.
    radius: f64,
}

impl Picture<'_> {
    fn style(&self, worm: &WormSummary) -> Style {
        self.styles.style(if self.forwards { worm.step - 1 } else { worm.id })
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let title = self.title();
        let legend = Legend {
            network: self.network,
            summary: self.summary,
            by_steps: self.forwards,
            style: &|worm| self.style(worm),
            height: self.layout.height(),
        };
        let mut legend = legend.lines();
        let wide = |legend: &[Line]| {
            let longest = legend.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
            self.layout.width() + 40.0 + longest as f64 * CHARACTER + 20.0
        };
        let room = wide(&legend).max(WIDEST_TREE);
        let tree = self.tree.as_ref().filter(|tree| tree.width() <= room);
        let branches = self.branches.as_ref().filter(|tree| tree.width() <= room);
        if self.tree.is_some() && tree.is_none() || self.branches.is_some() && branches.is_none() {
            legend.push((None, "The tree is too wide to be drawn here.".to_owned()));
        }
        let width = wide(&legend);
        let width = width.max(tree.map_or(0.0, |tree| tree.width() + 20.0));
        let width = width.max(branches.map_or(0.0, |tree| tree.width() + 20.0));
        let width = width.max(title.chars().count() as f64 * TITLE_CHARACTER + 28.0);
        let tree_top = TITLE + self.layout.height().max((legend.len() as f64 + 2.0) * LINE);
        let height = tree_top + tree.map_or(0.0, TreeDiagram::height) + branches.map_or(0.0, BranchDiagram::height);
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
        for worm in &self.summary.worms {
            self.write_lines(out, worm)?;
        }
        self.layout.write_captions(out)?;
        for worm in &self.summary.worms {
            self.write_heads(out, worm)?;
        }
        self.write_routers(out)?;
        self.write_nodes(out)?;
        self.write_legend(out, &legend)?;
        writeln!(out, "</g>")?;
        if let Some(tree) = tree {
            writeln!(out, r#"<g transform="translate(0 {tree_top:.0})">"#)?;
            tree.write(out, &self.styles)?;
            writeln!(out, "</g>")?;
        }
        if let Some(branches) = branches {
            writeln!(out, r#"<g transform="translate(0 {tree_top:.0})">"#)?;
            branches.write(out)?;
            writeln!(out, "</g>")?;
        }
        writeln!(out, "</svg>")
    }

    fn title(&self) -> String {
        let steps =
            if self.forwards { format!(", {}", count(self.summary.steps as usize, "step")) } else { String::new() };
        format!(
            "{} on {}: from {} to {}, {}{steps}",
            self.algorithm,
            self.network.name(),
            self.network.node_label(self.multicast.source()),
            count(self.multicast.destinations().len(), "destination"),
            count(self.summary.worms.len(), "worm"),
        )
    }

    /// The lines of a worm, interrupted where a branch starts or a link wraps around.
    fn runs(&self, worm: &WormSummary) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut end = None;
        for (&channel, distance) in worm.channels.iter().zip(self.lanes.distances(worm)) {
            let mut goes_on = end == Some(self.network.from(channel));
            for line in self.layout.lines(channel) {
                let segments = line.len() - 1;
                match runs.last_mut().filter(|_| goes_on) {
                    Some(run) => run.line.extend(&line[1..]),
                    None => runs.push(Run { line, distances: Vec::new() }),
                }
                if let Some(run) = runs.last_mut() {
                    run.distances.extend(std::iter::repeat_n(distance, segments));
                }
                goes_on = false;
            }
            end = Some(self.network.to(channel));
        }
        runs.extend(self.cables(worm).map(|(line, distance)| Run { line: line.to_vec(), distances: vec![distance] }));
        runs
    }

    /// The lines from the sender to its router and from routers to receivers, where nodes are drawn apart; as far to the right as
    /// the worm's first channel.
    fn cables(&self, worm: &WormSummary) -> impl Iterator<Item = ([Position; 2], f64)> {
        let distance = self.lanes.distances(worm).next().unwrap_or(self.lanes.pitch / 2.0);
        let at = |node: NodeId| self.layout.position(self.network.router_of(node));
        let place = |node: NodeId| self.layout.node_position(node);
        let entry = self.layout.position(self.network.entry_of(worm.from));
        let sent = self.layout.entry_position(worm.from).map(|start| [start, entry]);
        let received = worm.visits.iter().filter_map(move |&node| Some([at(node), place(node)?]));
        sent.into_iter().chain(received).map(move |line| (line, distance))
    }

    fn write_lines(&self, out: &mut String, worm: &WormSummary) -> fmt::Result {
        let Style { colour, dash, width, .. } = self.style(worm);
        writeln!(out, r#"<g stroke="{colour}" fill="none" stroke-linejoin="round"><title>worm {}</title>"#, worm.id)?;
        let dashes = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        for run in self.runs(worm) {
            writeln!(
                out,
                r#"<polyline fill="none" stroke-width="{width}"{dashes} points="{}"/>"#,
                list(&run.drawn(self.radius))
            )?;
        }
        writeln!(out, "</g>")
    }

    /// An arrow head at each delivery, of a path at the first arrival at the node that is next; and in the middle of long straight runs.
    fn write_heads(&self, out: &mut String, worm: &WormSummary) -> fmt::Result {
        let Style { colour, .. } = self.style(worm);
        writeln!(out, r#"<g stroke="none" fill="{colour}"><title>worm {}</title>"#, worm.id)?;
        for ([from, to], distance) in self.cables(worm).skip(1) {
            let (tip, along) = arrow(from, to, distance, self.radius + 1.0);
            writeln!(out, r#"<polygon points="{}"/>"#, list(&arrow_head(tip, along)))?;
        }
        let apart = |node: NodeId| self.layout.node_position(node).is_some();
        let mut awaited = worm.visits.iter().filter(|&&node| !apart(node)).peekable();
        let channels = worm.channels.iter().enumerate().zip(self.lanes.distances(worm));
        // Channels since the last delivery or turn, with the way of the last one.
        let mut run: Vec<(Position, Position, f64)> = Vec::new();
        for ((place, &channel), distance) in channels {
            let next = |&&node: &&NodeId| self.network.router_of(node) == self.network.to(channel);
            // Where a worm branches, it may pass a router on the way up and deliver there on the way down.
            let delivers = match worm.branches.get(place) {
                Some(branch) => {
                    branch.delivers && self.network.nodes_of(self.network.to(channel)).any(|node| !apart(node))
                }
                None => awaited.next_if(next).is_some(),
            };
            let lines = self.layout.lines(channel);
            let Some([.., from, to]) = lines.last().map(Vec::as_slice) else { continue };
            let follows =
                run.last().is_some_and(|&(start, end, _)| end == *from && same_direction((start, end), (*from, *to)));
            if lines.len() > 1 || !follows {
                Self::write_middle(out, &run)?;
                run.clear();
            }
            run.push((*from, *to, distance));
            if delivers {
                Self::write_middle(out, &run)?;
                run.clear();
                let (tip, along) = arrow(*from, *to, distance, self.radius + 1.0);
                writeln!(out, r#"<polygon points="{}"/>"#, list(&arrow_head(tip, along)))?;
            }
        }
        Self::write_middle(out, &run)?;
        writeln!(out, "</g>")
    }

    /// An arrow head in the middle of a straight run, if it is long.
    fn write_middle(out: &mut String, run: &[(Position, Position, f64)]) -> fmt::Result {
        if run.len() < LONG_RUN {
            return Ok(());
        }
        let (from, to, distance) = run[(run.len() - 1) / 2];
        // Half a head beyond the middle of the link.
        let length = (to.x - from.x).hypot(to.y - from.y);
        let (tip, along) = arrow(from, to, distance, length / 2.0 - 4.0);
        writeln!(out, r#"<polygon points="{}"/>"#, list(&arrow_head(tip, along)))
    }

    /// The routers; those with nodes that are not drawn apart are marked for them.
    fn write_routers(&self, out: &mut String) -> fmt::Result {
        let delivery = self.deliveries();
        writeln!(out, r#"<g font-family="sans-serif" font-size="9" text-anchor="middle">"#)?;
        for router in self.network.router_ids() {
            let at = self.layout.position(router);
            let name = self.network.router_label(router);
            let here = || self.network.nodes_of(router).filter(|&node| self.layout.node_position(node).is_none());
            // Of several deliveries at one router, the first.
            let first = here().filter_map(|node| delivery.get(&node)).min_by_key(|d| d.0.id);
            let is_source = here().any(|node| node == self.multicast.source());
            if is_source || first.is_some() {
                self.write_mark(out, at, &name, is_source, first)?;
            } else {
                let (x, y) = (at.x, at.y);
                writeln!(
                    out,
                    r##"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="#ffffff" stroke="#888888"><title>{}</title></circle>"##,
                    escape_xml(&name)
                )?;
            }
        }
        writeln!(out, "</g>")
    }

    /// The nodes that are drawn apart from their routers, with their numbers below.
    fn write_nodes(&self, out: &mut String) -> fmt::Result {
        let delivery = self.deliveries();
        let places = self.network.node_ids();
        let places: Vec<_> = places.filter_map(|node| Some((node, self.layout.node_position(node)?))).collect();
        if places.is_empty() {
            return Ok(());
        }
        let apart = self.network.is_unidirectional();
        writeln!(out, r#"<g font-family="sans-serif" font-size="9" text-anchor="middle">"#)?;
        for (node, at) in places {
            let name = self.network.node_label(node);
            let (x, y) = (at.x, at.y);
            let is_source = node == self.multicast.source();
            let reached = delivery.get(&node);
            if let Some(Position { x, y }) = self.layout.entry_position(node).filter(|_| apart) {
                if is_source {
                    self.write_mark(out, Position { x, y }, &name, true, None)?;
                }
                writeln!(
                    out,
                    r##"<text x="{:.1}" y="{:.1}" fill="#222222">{}</text>"##,
                    x - 22.0,
                    y + 3.2,
                    escape_xml(&name)
                )?;
            }
            if (is_source && !apart) || reached.is_some() {
                self.write_mark(out, at, &name, is_source && !apart, reached)?;
            } else {
                writeln!(
                    out,
                    r##"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="#eeeeee" stroke="#888888"><title>{}</title></circle>"##,
                    escape_xml(&name)
                )?;
            }
            let (x, y) = if apart { (x + 22.0, y + 3.2) } else { (x, y + 22.0) };
            // Side by side there is room for short names.
            let short = if apart || name.chars().count() <= 4 { name } else { node.to_string() };
            writeln!(out, r##"<text x="{x:.1}" y="{y:.1}" fill="#222222">{}</text>"##, escape_xml(&short))?;
        }
        writeln!(out, "</g>")
    }

    /// By node: the worm that delivers to it, and as which of its visits.
    fn deliveries(&self) -> HashMap<NodeId, (&WormSummary, usize)> {
        let worms = self.summary.worms.iter();
        worms.flat_map(|worm| worm.visits.iter().zip(1..).map(move |(&node, order)| (node, (worm, order)))).collect()
    }

    /// The source's square, or the disc of a node that a worm delivers to.
    fn write_mark(
        &self,
        out: &mut String,
        Position { x, y }: Position,
        name: &str,
        is_source: bool,
        reached: Option<&(&WormSummary, usize)>,
    ) -> fmt::Result {
        let name = escape_xml(name);
        if is_source {
            let (left, top, side) = (x - self.radius, y - self.radius, 2.0 * self.radius);
            writeln!(
                out,
                r##"<rect x="{left:.1}" y="{top:.1}" width="{side}" height="{side}" fill="#000000"><title>source {name}</title></rect>"##
            )?;
            return writeln!(out, r##"<text x="{x:.1}" y="{:.1}" fill="#ffffff">S</text>"##, y + 3.2);
        }
        let Some(&(worm, order)) = reached else { return Ok(()) };
        let Style { colour, ink, .. } = self.style(worm);
        let (id, step, radius) = (worm.id, worm.step, self.radius);
        writeln!(
            out,
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}" stroke="#222222"><title>{name}: visit {order} of worm {id}, step {step}</title></circle>"##
        )?;
        let number = if self.forwards { step as usize } else { order }.to_string();
        if number.len() as f64 * DIGIT > 2.0 * radius {
            return Ok(());
        }
        writeln!(out, r#"<text x="{x:.1}" y="{:.1}" fill="{ink}">{number}</text>"#, y + 3.2)
    }

    fn write_legend(&self, out: &mut String, legend: &[Line]) -> fmt::Result {
        let left = self.layout.width();
        writeln!(out, r##"<g font-family="monospace" font-size="11" fill="#222222" xml:space="preserve">"##)?;
        for (row, (style, text)) in legend.iter().enumerate() {
            let y = (row as f64 + 1.0) * LINE;
            if let Some(Style { colour, dash, width, .. }) = style {
                let width = width.max(3.0);
                let dashes = if dash.is_empty() { "none" } else { dash };
                let middle = y - 3.5;
                writeln!(
                    out,
                    r#"<line x1="{left:.1}" x2="{:.1}" y1="{middle:.1}" y2="{middle:.1}" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"/>"#,
                    left + 30.0
                )?;
            }
            writeln!(out, r#"<text x="{:.1}" y="{y:.1}">{}</text>"#, left + 38.0, escape_xml(text))?;
        }
        writeln!(out, "</g>")
    }
}

pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn list(points: &[Position]) -> String {
    let mut list = String::with_capacity(points.len() * 12);
    for point in points {
        // Writing to a string does not fail.
        let _ = write!(list, "{:.1},{:.1} ", point.x, point.y);
    }
    list
}
