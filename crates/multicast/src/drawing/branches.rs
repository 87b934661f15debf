//! The branches of a tree worm: which router replicates it to which.

use std::fmt::{self, Write};

use wormcast_network::text::escape_xml;
use wormcast_network::{LineStyle, Network, RouterId, line_style};

use crate::plan::summary::{PlanSummary, WormSummary};

/// The height of a hop in pixels.
const ROW: f64 = 34.0;
/// The space on the left, for the numbers of the hops.
const LEFT: f64 = 64.0;
const HEIGHT: f64 = 16.0;
/// The width of a character of a router's name.
const CHARACTER: f64 = 5.8;

/// A router that the worm enters, or where it starts.
struct Entry {
    router: RouterId,
    parent: Option<usize>,
    /// Hops from the start.
    row: u32,
    /// In columns, from 0.
    column: f64,
    delivers: bool,
}

/// A plan's only worm as a tree: a row for each hop, routers above those to which they pass it on. Where branches part is easier to
/// see here than in a drawing of the network.
pub(super) struct BranchDiagram<'a> {
    network: &'a Network,
    worm: &'a WormSummary,
    entries: Vec<Entry>,
    pitch: f64,
}

impl<'a> BranchDiagram<'a> {
    /// The diagram of a plan of one worm that branches; of others there is none, nor where the network is drawn in stages, which shows
    /// the tree by itself.
    pub(super) fn new(network: &'a Network, summary: &'a PlanSummary) -> Option<Self> {
        let [worm] = &summary.worms[..] else { return None };
        if network.shape().stages().is_some() {
            return None;
        }
        let start = network.router_of(worm.from);
        let mut entries = vec![Entry { router: start, parent: None, row: 0, column: 0.0, delivers: false }];
        for (&channel, branch) in worm.channels.iter().zip(&worm.branches) {
            let parent = branch.parent.map_or(0, |parent| parent as usize + 1);
            let row = entries[parent].row + 1;
            let router = network.to(channel);
            entries.push(Entry { router, parent: Some(parent), row, column: 0.0, delivers: branch.delivers });
        }
        let mut children: Vec<Vec<usize>> = entries.iter().map(|_| Vec::new()).collect();
        for (place, entry) in entries.iter().enumerate() {
            children[entry.parent.unwrap_or(place)].extend(entry.parent.map(|_| place));
        }
        if children.iter().all(|below| below.len() < 2) {
            return None;
        }
        // Leaves side by side, everyone else above the middle of what is below.
        let (mut stack, mut leaves) = (vec![0], 0.0);
        while let Some(place) = stack.pop() {
            if children[place].is_empty() {
                entries[place].column = leaves;
                leaves += 1.0;
            }
            stack.extend(children[place].iter().rev());
        }
        for place in (0..entries.len()).rev() {
            if let [first, .., last] | [first @ last] = &children[place][..] {
                entries[place].column = f64::midpoint(entries[*first].column, entries[*last].column);
            }
        }
        let longest = entries.iter().map(|entry| network.router_label(entry.router).chars().count()).max().unwrap_or(1);
        let pitch = (longest as f64 * CHARACTER + 8.0).max(HEIGHT) + 8.0;
        Some(Self { network, worm, entries, pitch })
    }

    pub(super) fn width(&self) -> f64 {
        LEFT + (self.entries.iter().map(|entry| entry.column).fold(0.0, f64::max) + 1.0) * self.pitch
    }

    fn rows(&self) -> u32 {
        self.entries.iter().map(|entry| entry.row).max().unwrap_or(0)
    }

    pub(super) fn height(&self) -> f64 {
        (f64::from(self.rows()) + 1.5) * ROW
    }

    /// The centre of an entry.
    fn at(&self, entry: &Entry) -> (f64, f64) {
        (LEFT + (entry.column + 0.5) * self.pitch, (f64::from(entry.row) + 0.5) * ROW)
    }

    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        let LineStyle { colour, ink, .. } = line_style(self.worm.id);
        writeln!(out, r#"<g font-family="sans-serif" font-size="10" text-anchor="middle">"#)?;
        for hop in 1..=self.rows() {
            let y = (f64::from(hop) + 0.5) * ROW;
            let (from, to) = (LEFT - 8.0, self.width());
            writeln!(out, r##"<text x="14" y="{:.1}" fill="#222222" text-anchor="start">hop {hop}</text>"##, y + 3.5)?;
            writeln!(out, r##"<line x1="{from:.1}" x2="{to:.1}" y1="{y:.1}" y2="{y:.1}" stroke="#eeeeee"/>"##)?;
        }
        for entry in &self.entries {
            let Some(parent) = entry.parent else { continue };
            let ((x, y), (left, top)) = (self.at(entry), self.at(&self.entries[parent]));
            let across = y - ROW / 2.0;
            writeln!(
                out,
                r#"<polyline fill="none" stroke="{colour}" stroke-width="2" points="{left:.1},{top:.1} {left:.1},{across:.1} {x:.1},{across:.1} {x:.1},{y:.1}"/>"#
            )?;
        }
        for entry in &self.entries {
            let (x, y) = self.at(entry);
            let (fill, ink) = match entry {
                Entry { parent: None, .. } => ("#000000", "#ffffff"),
                Entry { delivers: true, .. } => (colour, ink),
                _ => ("#ffffff", "#222222"),
            };
            let (width, name) = (self.pitch - 8.0, self.network.router_label(entry.router));
            let (left, top) = (x - width / 2.0, y - HEIGHT / 2.0);
            writeln!(
                out,
                r##"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#222222"/>"##
            )?;
            writeln!(out, r#"<text x="{x:.1}" y="{:.1}" fill="{ink}">{}</text>"#, y + 3.5, escape_xml(&name))?;
        }
        writeln!(out, "</g>")
    }
}
