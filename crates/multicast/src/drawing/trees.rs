//! Spanning trees as SVG.

use std::fmt::{self, Write};

use wormcast_network::text::escape_xml;
use wormcast_network::{ChannelId, Layout, LineStyle, Network, line_style};
use wormcast_routing::SpanningTree;

/// The height of a title.
const TITLE: f64 = 30.0;

/// Trees of a network side by side, each over the network's links in grey, with the root as a square; failed links are crossed out.
///
/// ```
/// use wormcast_multicast::trees_svg;
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::TorusTrees;
///
/// let torus = "torus:5x5".parse::<TopologySpec>()?.build()?;
/// let trees = TorusTrees::dstm_1(&torus, RouterId::new(0))?.build(&torus)?;
/// assert!(trees_svg(&torus, "DSTM-1", &trees, &[]).starts_with("<svg "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trees_svg(network: &Network, title: &str, trees: &[SpanningTree], failed: &[ChannelId]) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, network, title, trees, failed);
    out
}

fn write(
    out: &mut String,
    network: &Network,
    title: &str,
    trees: &[SpanningTree],
    failed: &[ChannelId],
) -> fmt::Result {
    let layout = Layout::new(network);
    let panels = trees.len().max(1) as f64;
    // The title may be wider than a small network.
    let (width, height) = ((layout.width() * panels).max(8.0 * title.len() as f64), layout.height() + 2.0 * TITLE);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
    )?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
    writeln!(
        out,
        r##"<text x="14" y="20" font-family="sans-serif" font-size="13" fill="#222222">{}</text>"##,
        escape_xml(title)
    )?;
    for (panel, tree) in (0u32..).zip(trees) {
        let left = f64::from(panel) * layout.width();
        writeln!(out, r#"<g transform="translate({left:.0} {:.0})">"#, 2.0 * TITLE)?;
        let root = escape_xml(&network.router_label(tree.root()));
        let cut = if failed.iter().any(|&link| tree.contains(network, link)) { ", cut" } else { "" };
        writeln!(
            out,
            r##"<text x="14" y="-8" font-family="sans-serif" font-size="12" fill="#222222">tree {panel}, root {root}, height {}{cut}</text>"##,
            tree.height()
        )?;
        layout.write_links(out)?;
        write_tree(out, &layout, tree, line_style(panel))?;
        write_failed(out, &layout, failed)?;
        layout.write_captions(out)?;
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")
}

fn write_tree(out: &mut String, layout: &Layout, tree: &SpanningTree, style: LineStyle) -> fmt::Result {
    let network = layout.network();
    let LineStyle { colour, ink, .. } = style;
    writeln!(out, r#"<g stroke="{colour}" fill="none" stroke-width="3" stroke-linecap="round">"#)?;
    for link in tree.links() {
        write_lines(out, layout, link)?;
    }
    writeln!(out, "</g>")?;
    writeln!(out, r#"<g font-family="sans-serif" font-size="9" text-anchor="middle">"#)?;
    for router in network.router_ids() {
        let at = layout.position(router);
        let name = escape_xml(&network.router_label(router));
        if router == tree.root() {
            let (x, y) = (at.x - 8.0, at.y - 8.0);
            writeln!(
                out,
                r#"<rect x="{x:.1}" y="{y:.1}" width="16" height="16" fill="{colour}"><title>root {name}</title></rect>"#
            )?;
            writeln!(out, r#"<text x="{:.1}" y="{:.1}" fill="{ink}">R</text>"#, at.x, at.y + 3.2)?;
        } else {
            let depth = tree.depth(router);
            writeln!(
                out,
                r#"<circle cx="{:.1}" cy="{:.1}" r="4.5" fill="{colour}"><title>{name}, depth {depth}</title></circle>"#,
                at.x, at.y
            )?;
        }
    }
    writeln!(out, "</g>")
}

/// A cross in the middle of each line of a failed link.
fn write_failed(out: &mut String, layout: &Layout, failed: &[ChannelId]) -> fmt::Result {
    writeln!(out, r##"<g stroke="#222222" stroke-width="2"><title>failed</title>"##)?;
    for &link in failed {
        for line in layout.lines(link) {
            let (Some(&from), Some(&to)) = (line.get((line.len() - 1) / 2), line.get(line.len() / 2)) else { continue };
            let (x, y) = (f64::midpoint(from.x, to.x), f64::midpoint(from.y, to.y));
            for (dx, dy) in [(5.0, 5.0), (5.0, -5.0)] {
                writeln!(
                    out,
                    r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
                    x - dx,
                    y - dy,
                    x + dx,
                    y + dy
                )?;
            }
        }
    }
    writeln!(out, "</g>")
}

fn write_lines(out: &mut String, layout: &Layout, link: ChannelId) -> fmt::Result {
    for line in layout.lines(link) {
        write!(out, r#"<polyline points=""#)?;
        for point in line {
            write!(out, "{:.1},{:.1} ", point.x, point.y)?;
        }
        writeln!(out, r#""/>"#)?;
    }
    Ok(())
}
