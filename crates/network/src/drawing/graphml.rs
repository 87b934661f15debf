//! A network as GraphML, which can be read back: links, nodes, names, and where routers lie.

use std::fmt::{self, Write as _};

use super::layout::Layout;
use crate::files::{DELAY, NODE, ROUTER, links};
use crate::network::{Coordinates, Network};
use crate::text::escape_xml;

/// A network as GraphML: a vertex a router, an undirected edge a link, and each router's place in a drawing as `x` and `y`.
///
/// Names are the vertices' `label`, port numbers the edges' `source_port` and `target_port`, the delays of links their `delay_cycles`. Where not every router has one
/// node, or nodes have names or ports of their own, vertices have a `kind`, and each node is a vertex too.
///
/// ```
/// use wormcast_network::{NetworkGraphml, TopologySpec};
///
/// let mesh = "mesh:2".parse::<TopologySpec>()?.build()?;
/// assert!(NetworkGraphml(&mesh).to_string().contains(r#"<edge source="n0" target="n1"/>"#));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkGraphml<'n>(pub &'n Network);

impl fmt::Display for NetworkGraphml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        let layout = Layout::new(network);
        writeln!(f, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(f, r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#)?;
        writeln!(f, r#"  <key id="x" for="node" attr.name="x" attr.type="double"/>"#)?;
        writeln!(f, r#"  <key id="y" for="node" attr.name="y" attr.type="double"/>"#)?;
        let on_earth = |router| matches!(network.coordinates(router), Some(Coordinates::Earth { .. }));
        if network.router_ids().any(on_earth) {
            for name in ["Latitude", "Longitude"] {
                writeln!(f, r#"  <key id="{name}" for="node" attr.name="{name}" attr.type="double"/>"#)?;
            }
        }
        for (name, domain, kind) in [
            ("label", "node", "string"),
            ("kind", "node", "string"),
            ("source_port", "edge", "int"),
            ("target_port", "edge", "int"),
            ("name", "graph", "string"),
        ] {
            writeln!(f, r#"  <key id="{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>"#)?;
        }
        if network.has_link_delays() {
            writeln!(f, r#"  <key id="{DELAY}" for="edge" attr.name="{DELAY}" attr.type="int"/>"#)?;
        }
        writeln!(f, r#"  <graph edgedefault="undirected">"#)?;
        writeln!(f, r#"    <data key="name">{}</data>"#, escape_xml(network.name()))?;
        let fabric = !network.has_plain_nodes();
        for router in network.router_ids() {
            write!(f, r#"    <node id="n{router}">"#)?;
            // What a file said of the place is said again.
            if let Some(coordinates) = network.coordinates(router) {
                let [x, y] = coordinates.xy();
                write!(f, r#"<data key="x">{x:?}</data><data key="y">{y:?}</data>"#)?;
                if let Coordinates::Earth { latitude, longitude } = coordinates {
                    write!(f, r#"<data key="Latitude">{latitude:?}</data>"#)?;
                    write!(f, r#"<data key="Longitude">{longitude:?}</data>"#)?;
                }
            } else {
                let at = layout.position(router);
                let (x, y) = (at.x, layout.height() - at.y);
                write!(f, r#"<data key="x">{x:.1}</data><data key="y">{y:.1}</data>"#)?;
            }
            write_label(f, network.router_name(router))?;
            if fabric {
                write!(f, r#"<data key="kind">{ROUTER}</data>"#)?;
            }
            writeln!(f, "</node>")?;
        }
        let nodes = || network.node_ids().filter(|_| fabric);
        for node in nodes() {
            write!(f, r#"    <node id="h{node}">"#)?;
            write_label(f, network.own_node_name(node))?;
            writeln!(f, r#"<data key="kind">{NODE}</data></node>"#)?;
        }
        for link in links(network) {
            let (from, to) = (network.from(link), network.to(link));
            let mut data = String::new();
            if let (Some(p), Some(q)) = (network.port_of(link), network.port_of(network.reverse(link))) {
                write!(data, r#"<data key="source_port">{p}</data><data key="target_port">{q}</data>"#)?;
            }
            if let Some(cycles) = network.link_delay(link) {
                write!(data, r#"<data key="{DELAY}">{cycles}</data>"#)?;
            }
            if data.is_empty() {
                writeln!(f, r#"    <edge source="n{from}" target="n{to}"/>"#)?;
            } else {
                writeln!(f, r#"    <edge source="n{from}" target="n{to}">{data}</edge>"#)?;
            }
        }
        for node in nodes() {
            let router = network.router_of(node);
            match network.node_port(node) {
                Some(port) => writeln!(
                    f,
                    r#"    <edge source="n{router}" target="h{node}"><data key="source_port">{port}</data></edge>"#
                )?,
                None => writeln!(f, r#"    <edge source="n{router}" target="h{node}"/>"#)?,
            }
        }
        writeln!(f, "  </graph>\n</graphml>")
    }
}

fn write_label(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, r#"<data key="label">{}</data>"#, escape_xml(name)),
        None => Ok(()),
    }
}
