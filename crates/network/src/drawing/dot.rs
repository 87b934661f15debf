//! Graphviz.

use std::fmt;

use super::escape::escape_dot;
use super::layout::Layout;
use crate::ids::{ChannelId, RouterId};
use crate::network::Network;

/// A network as a Graphviz graph, one edge a link; routers have positions, which `neato -n` uses.
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
        for router in (0..network.routers() as u32).map(RouterId::new) {
            let at = layout.position(router);
            // Graphviz's y runs upwards.
            writeln!(f, "  {router} [pos=\"{:.1},{:.1}!\"];", at.x, layout.height() - at.y)?;
        }
        for channel in (0..network.channels() as u32).map(ChannelId::new) {
            if channel < network.reverse(channel) {
                writeln!(f, "  {} -- {};", network.from(channel), network.to(channel))?;
            }
        }
        writeln!(f, "}}")
    }
}
