//! A network for Graphviz, with its routers where the layout has them.

use std::fmt;

use super::layout::Layout;
use crate::files::links;
use crate::network::Network;
use crate::text::escape_dot;

/// A network as a Graphviz graph, with one edge for each link. Routers have positions, which `neato -n` uses, and names as tooltips; links have their delays as labels, if the network says them. Where
/// not every router has exactly one node, nodes are drawn too, as boxes; then use `neato` or `sfdp` without `-n`.
///
/// ```
/// use wormcast_network::{NetworkDot, TopologySpec};
///
/// let mesh = "mesh:2".parse::<TopologySpec>()?.build()?;
/// assert!(NetworkDot(&mesh).to_string().contains("  0 -- 1;\n"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkDot<'n>(pub &'n Network);

impl fmt::Display for NetworkDot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        let layout = Layout::new(network);
        writeln!(f, "graph \"{}\" {{", escape_dot(network.name()))?;
        writeln!(f, "  node [shape=circle, fontsize=10, width=0.3, fixedsize=true];")?;
        for router in network.router_ids() {
            let at = layout.position(router);
            // Graphviz's y runs upwards.
            write!(f, "  {router} [pos=\"{:.1},{:.1}!\"", at.x, layout.height() - at.y)?;
            write_name(f, network.router_name(router))?;
            writeln!(f, "];")?;
        }
        for link in links(network) {
            write!(f, "  {} -- {}", network.from(link), network.to(link))?;
            if let Some(cycles) = network.link_delay(link) {
                write!(f, " [label=\"{cycles}\"]")?;
            }
            writeln!(f, ";")?;
        }
        if !network.has_one_node_each() {
            writeln!(f, "  node [shape=box, width=0.2, height=0.15];")?;
            for node in network.node_ids() {
                write!(f, "  h{node} [label=\"{node}\"")?;
                write_name(f, network.node_name(node))?;
                writeln!(f, "];\n  {} -- h{node};", network.router_of(node))?;
            }
        }
        writeln!(f, "}}")
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, ", tooltip=\"{}\"", escape_dot(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{FileFormat, NetworkDot, NetworkSvg};

    #[test]
    fn delays_stand_at_their_links() {
        let delayed = FileFormat::EdgeList.parse("ring", "0 1 4\n1 2\n2 0 37\n").unwrap();
        let dot = NetworkDot(&delayed).to_string();
        assert!(dot.contains("  0 -- 1 [label=\"4\"];\n") && dot.contains("  1 -- 2 [label=\"1\"];\n"), "{dot}");
        let svg = NetworkSvg(&delayed).to_string();
        assert!(svg.contains(">37</text>") && svg.contains(">4</text>"), "{svg}");
        let plain = FileFormat::EdgeList.parse("ring", "0 1\n1 2\n2 0\n").unwrap();
        assert!(!NetworkDot(&plain).to_string().contains("label"));
    }
}
