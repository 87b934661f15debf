//! GraphML.

use std::fmt;

use super::escape::escape_xml;
use super::layout::Layout;
use crate::ids::{ChannelId, RouterId};
use crate::network::Network;

/// A network as GraphML: an undirected edge a link, and each router's place in a drawing as `x` and `y`.
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
        writeln!(f, r#"  <key id="name" for="graph" attr.name="name" attr.type="string"/>"#)?;
        writeln!(f, r#"  <graph edgedefault="undirected">"#)?;
        writeln!(f, r#"    <data key="name">{}</data>"#, escape_xml(network.name()))?;
        for router in (0..network.routers() as u32).map(RouterId::new) {
            let at = layout.position(router);
            let (x, y) = (at.x, layout.height() - at.y);
            writeln!(f, r#"    <node id="n{router}"><data key="x">{x:.1}</data><data key="y">{y:.1}</data></node>"#)?;
        }
        for channel in (0..network.channels() as u32).map(ChannelId::new) {
            if channel < network.reverse(channel) {
                let (from, to) = (network.from(channel), network.to(channel));
                writeln!(f, r#"    <edge source="n{from}" target="n{to}"/>"#)?;
            }
        }
        writeln!(f, "  </graph>\n</graphml>")
    }
}
