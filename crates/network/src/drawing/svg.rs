//! Networks as SVG: routers where the layout puts them, links between them, and what is drawn over both.

use std::fmt;

use super::layout::{Caption, Layout, Position};
use crate::ids::{ChannelId, NodeId};
use crate::network::Network;
use crate::text::escape_xml;
use crate::watch::{step, step_every};

/// The width of a digit of a router's number.
const DIGIT: f64 = 5.2;

/// A network as an SVG picture: its links, and its routers with their names and, where they fit, their numbers; in multistage
/// networks and small fabrics its nodes too.
///
/// ```
/// use wormcast_network::{NetworkSvg, TopologySpec};
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// assert!(NetworkSvg(&torus).to_string().starts_with("<svg "));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkSvg<'n>(pub &'n Network);

impl fmt::Display for NetworkSvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        step("placing routers", "", 0, 0);
        let layout = Layout::new(network);
        let (width, height) = (layout.width(), layout.height());
        step("drawing links", "", 0, 0);
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
        )?;
        writeln!(f, "<title>{}</title>", escape_xml(network.name()))?;
        writeln!(f, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
        layout.write_links(f)?;
        let disc = layout.disc();
        writeln!(f, r##"<g fill="#ffffff" stroke="#555555" stroke-width="1.2">"##)?;
        for router in network.router_ids() {
            step_every(12, "drawing routers", "routers", router.index(), network.routers());
            let at = layout.position(router);
            write!(f, r#"<circle cx="{:.1}" cy="{:.1}" r="{disc}""#, at.x, at.y)?;
            match network.router_name(router) {
                Some(name) => writeln!(f, "><title>{}</title></circle>", escape_xml(name))?,
                None => writeln!(f, "/>")?,
            }
        }
        writeln!(f, "</g>")?;
        writeln!(f, r##"<g font-family="sans-serif" font-size="9" text-anchor="middle" fill="#222222">"##)?;
        for router in network.router_ids() {
            step_every(12, "drawing the numbers of routers", "routers", router.index(), network.routers());
            let (at, number) = (layout.position(router), router.to_string());
            if number.len() as f64 * DIGIT < 2.0 * disc {
                writeln!(f, r#"<text x="{:.1}" y="{:.1}">{number}</text>"#, at.x, at.y + 3.2)?;
            }
        }
        writeln!(f, "</g>")?;
        layout.write_nodes(f)?;
        match network.shape() {
            crate::Shape::Mesh(_) | crate::Shape::Torus(_) => layout.write_captions(f)?,
            crate::Shape::Irregular if network.has_names() => {
                let name = |router| network.router_name(router).unwrap_or_default().to_owned();
                write_texts(f, layout.names(name))?;
            }
            // Captions would only repeat the numbers.
            _ => {}
        }
        writeln!(f, "</svg>")
    }
}

impl Layout<'_> {
    /// Writes the network's links as an SVG group, with their delays if the network says them, and cables to nodes that are drawn apart.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_links(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let network = self.network();
        writeln!(out, r##"<g fill="none" stroke="#cccccc" stroke-width="1.5">"##)?;
        for channel in network.channel_ids() {
            if channel > network.reverse(channel) {
                continue;
            }
            for line in self.lines(channel) {
                write!(out, r#"<polyline points=""#)?;
                for point in line {
                    write!(out, "{:.1},{:.1} ", point.x, point.y)?;
                }
                writeln!(out, r#""/>"#)?;
            }
        }
        for node in self.nodes() {
            let routers = [network.router_of(node), network.entry_of(node)];
            for (router, end) in routers.into_iter().zip(self.places(node)) {
                let at = self.position(router);
                writeln!(out, r#"<polyline points="{:.1},{:.1} {:.1},{:.1}"/>"#, at.x, at.y, end.x, end.y)?;
            }
        }
        writeln!(out, "</g>")?;
        let delays = self.delays();
        if delays.is_empty() { Ok(()) } else { write_texts(out, delays) }
    }

    /// The cycles of each link, in the middle of its line.
    fn delays(&self) -> Vec<Caption> {
        let network = self.network();
        let of_link = |channel: ChannelId| {
            let cycles = network.link_delay(channel)?;
            let line = self.lines(channel).into_iter().next()?;
            let [first, second] = [line.get((line.len() - 1) / 2)?, line.get(line.len() / 2)?];
            let at = Position { x: f64::midpoint(first.x, second.x), y: f64::midpoint(first.y, second.y) };
            Some(Caption { at, text: cycles.to_string() })
        };
        network.channel_ids().filter(|&channel| channel <= network.reverse(channel)).filter_map(of_link).collect()
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.network().node_ids()
    }

    /// Where a node is drawn apart from its routers: where it consumes and, if that is elsewhere, where it injects.
    fn places(&self, node: NodeId) -> impl Iterator<Item = Position> + use<> {
        let entry = self.entry_position(node).filter(|_| self.network().is_unidirectional());
        self.node_position(node).into_iter().chain(entry)
    }

    /// Writes the nodes that are drawn apart from their routers as an SVG group.
    fn write_nodes(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.nodes().all(|node| self.node_position(node).is_none()) {
            return Ok(());
        }
        writeln!(out, r##"<g font-family="sans-serif" font-size="9" text-anchor="middle" fill="#222222">"##)?;
        for node in self.nodes() {
            for Position { x, y } in self.places(node) {
                let (left, top) = (x - 10.0, y - 8.0);
                writeln!(
                    out,
                    r##"<rect x="{left:.1}" y="{top:.1}" width="20" height="16" fill="#eeeeee" stroke="#555555"/>"##
                )?;
                writeln!(out, r#"<text x="{x:.1}" y="{:.1}">{node}</text>"#, y + 3.2)?;
            }
        }
        writeln!(out, "</g>")
    }

    /// Writes the captions as an SVG group.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_captions(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write_texts(out, self.captions())
    }
}

fn write_texts(out: &mut dyn fmt::Write, captions: Vec<Caption>) -> fmt::Result {
    // A white edge keeps them legible on top of lines.
    writeln!(
        out,
        r##"<g font-family="sans-serif" font-size="10" text-anchor="middle" fill="#777777" stroke="#ffffff" stroke-width="3" paint-order="stroke">"##
    )?;
    for Caption { at, text } in captions {
        writeln!(out, r#"<text x="{:.1}" y="{:.1}">{}</text>"#, at.x, at.y + 3.5, escape_xml(&text))?;
    }
    writeln!(out, "</g>")
}
