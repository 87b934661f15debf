//! The tree of a multicast by unicasts: which node sends to which in each step.

use std::collections::HashMap;
use std::fmt::{self, Write};

use wormcast_network::text::escape_xml;
use wormcast_network::{Network, NodeId};

use super::palette::{Style, Styles};
use crate::algorithm::Multicast;
use crate::plan::summary::PlanSummary;

/// The height of a step in pixels.
const ROW: f64 = 34.0;
/// The space on the left, for the names of the steps.
const LEFT: f64 = 64.0;
const HEIGHT: f64 = 16.0;
/// The width of a character of a node's name.
const CHARACTER: f64 = 5.8;

/// The positions of the tree's nodes: the source in row 0, every other node in the row of the step that serves it.
///
/// A node's last receiver lies below it in the same column, the others to the right, those of earlier steps further away. So
/// the line along which a node sends in a step meets nothing between it and the receivers.
pub(super) struct TreeDiagram<'a> {
    network: &'a Network,
    summary: &'a PlanSummary,
    source: NodeId,
    /// The worm by whose delivery the sender of each has the message.
    senders: Vec<Option<u32>>,
    /// The column of the node that each worm delivers to; the source's is 0.
    columns: Vec<u32>,
    pitch: f64,
}

impl<'a> TreeDiagram<'a> {
    /// The diagram of a plan that forwards and whose worms are all unicasts; of others there is none.
    pub(super) fn new(network: &'a Network, summary: &'a PlanSummary, multicast: &Multicast) -> Option<Self> {
        let worms = &summary.worms;
        if worms.iter().all(|worm| worm.after.is_none()) || worms.iter().any(|worm| worm.visits.len() != 1) {
            return None;
        }
        let senders: Vec<Option<u32>> = worms.iter().map(|worm| worm.after).collect();
        let mut receivers: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        for (worm, &sender) in worms.iter().zip(&senders) {
            receivers.entry(sender).or_default().push(worm.id);
        }
        let mut columns = vec![0; worms.len()];
        let mut last = 0;
        // The next to place is on top; with a column if it lies below its sender.
        let mut stack: Vec<(Option<u32>, Option<u32>)> = vec![(None, Some(0))];
        while let Some((holder, given)) = stack.pop() {
            let column = given.unwrap_or_else(|| {
                last += 1;
                last
            });
            if let Some(worm) = holder {
                columns[worm as usize] = column;
            }
            let Some(mut served) = receivers.remove(&holder) else { continue };
            served.sort_by_key(|&id| worms[id as usize].step);
            let below = served.pop();
            stack.extend(served.into_iter().map(|id| (Some(id), None)));
            stack.extend(below.map(|id| (Some(id), Some(column))));
        }
        let names = worms.iter().map(|worm| worm.visits[0]).chain([multicast.source()]);
        let longest = names.map(|node| network.node_label(node).len()).max().unwrap_or(1);
        let pitch = (longest as f64 * CHARACTER + 8.0).max(HEIGHT) + 8.0;
        Some(Self { network, summary, source: multicast.source(), senders, columns, pitch })
    }

    pub(super) fn width(&self) -> f64 {
        LEFT + (f64::from(self.columns.iter().copied().max().unwrap_or(0)) + 1.0) * self.pitch
    }

    pub(super) fn height(&self) -> f64 {
        (f64::from(self.summary.steps) + 1.5) * ROW
    }

    /// The centre of the node that a worm delivers to, or of the source.
    fn at(&self, worm: Option<u32>) -> (f64, f64) {
        let (column, step) =
            worm.map_or((0, 0), |id| (self.columns[id as usize], self.summary.worms[id as usize].step));
        (LEFT + (f64::from(column) + 0.5) * self.pitch, (f64::from(step) + 0.5) * ROW)
    }

    pub(super) fn write(&self, out: &mut String, styles: &Styles) -> fmt::Result {
        writeln!(out, r#"<g font-family="sans-serif" font-size="10" text-anchor="middle">"#)?;
        for step in 1..=self.summary.steps {
            let y = (f64::from(step) + 0.5) * ROW;
            writeln!(
                out,
                r##"<text x="14" y="{:.1}" fill="#222222" text-anchor="start">step {step}</text>"##,
                y + 3.5
            )?;
            let (from, to) = (LEFT - 8.0, self.width());
            writeln!(out, r##"<line x1="{from:.1}" x2="{to:.1}" y1="{y:.1}" y2="{y:.1}" stroke="#eeeeee"/>"##)?;
        }
        for (worm, &sender) in self.summary.worms.iter().zip(&self.senders) {
            let ((x, y), (left, top)) = (self.at(Some(worm.id)), self.at(sender));
            let Style { colour, dash, .. } = styles.style(worm.step - 1);
            let dashes = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
            let across = y - ROW / 2.0;
            writeln!(
                out,
                r#"<polyline fill="none" stroke="{colour}" stroke-width="2"{dashes} points="{left:.1},{top:.1} {left:.1},{across:.1} {x:.1},{across:.1} {x:.1},{y:.1}"/>"#
            )?;
        }
        self.write_node(out, None, self.source, "#000000", "#ffffff")?;
        for worm in &self.summary.worms {
            let Style { colour, ink, .. } = styles.style(worm.step - 1);
            self.write_node(out, Some(worm.id), worm.visits[0], &colour, ink)?;
        }
        writeln!(out, "</g>")
    }

    fn write_node(&self, out: &mut String, worm: Option<u32>, node: NodeId, fill: &str, ink: &str) -> fmt::Result {
        let (x, y) = self.at(worm);
        let (width, name) = (self.pitch - 8.0, self.network.node_label(node));
        let (left, top) = (x - width / 2.0, y - HEIGHT / 2.0);
        writeln!(
            out,
            r##"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#222222"/>"##
        )?;
        writeln!(out, r#"<text x="{x:.1}" y="{:.1}" fill="{ink}">{}</text>"#, y + 3.5, escape_xml(&name))
    }
}
