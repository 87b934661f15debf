//! Floor 1 of wormcast: what is wired to what.
//!
//! A [`Network`] is a set of routers joined by directed channels, with nodes (processors) attached to routers. It is
//! immutable and stored in flat arrays, so that a mesh of a million routers fits into a few dozen megabytes. A
//! [`TopologySpec`] such as `mesh:16x16` is the recipe that builds one; a file is another recipe, and a [`NetworkBuilder`]
//! puts one together piece by piece.
//!
//! ```
//! use wormcast_network::{NodeId, TopologySpec};
//!
//! let network = "mesh:8x8".parse::<TopologySpec>()?.build()?;
//! assert_eq!(network.routers(), 64);
//! assert_eq!(network.links(), 112);
//! let grid = network.shape().mesh().expect("a mesh has coordinates");
//! assert_eq!(grid.coordinates(NodeId::new(28).index()), [4, 3]);
//! # Ok::<(), wormcast_network::TopologyError>(())
//! ```
//!
//! In a fabric a router has any number of nodes, or none:
//!
//! ```
//! use wormcast_network::{FileFormat, RouterId};
//!
//! let text = r#"
//! Switch 8 "leaf"
//! [1] "spine"[1]
//! [2] "a"[1]
//! [3] "b"[1]
//! Switch 8 "spine"
//! Hca 1 "a"
//! Hca 1 "b"
//! "#;
//! let fabric = FileFormat::Fabric.parse("two hosts", text)?;
//! let [leaf, spine] = [0, 1].map(RouterId::new);
//! assert_eq!((fabric.nodes_of(leaf).len(), fabric.nodes_of(spine).len()), (2, 0));
//! assert_eq!(fabric.channel_by_port(leaf, 1).map(|channel| fabric.to(channel)), Some(spine));
//! # Ok::<(), wormcast_network::TopologyError>(())
//! ```

mod builder;
mod decimal;
mod demand;
mod drawing;
mod error;
mod files;
mod ids;
mod input;
mod measure;
mod memory;
mod nearest;
mod network;
mod node_list;
mod ports;
pub mod split_mix;
mod topologies;
pub mod watch;

pub use builder::{BuildError, MAX_LINKS, MAX_NODES, MAX_PORT, NetworkBuilder, NodeDetails};
pub use decimal::Decimal;
pub use drawing::{
    HeatMapSvg, Layout, LineStyle, NetworkDot, NetworkGraphml, NetworkSvg, Point, Vector, arrow, arrow_head,
    escape_dot, escape_xml, line_beside, line_style, same_direction,
};
pub use error::{NodeError, TopologyError};
pub use files::{
    FileFormat, MAX_FILE_BYTES, NetworkAnynet, NetworkEdgeList, NetworkIbsim, NetworkNodeLink, as_fabric,
    parse_edge_list,
};
pub use ids::{ChannelId, NodeId, RouterId};
pub use input::{
    BYTE_ORDER_MARK, ReadError, STANDARD_INPUT, input_name, is_standard_input, read_input, read_text,
    take_standard_input,
};
pub use measure::{CutOff, Degrees, Distances};
pub use memory::{
    Bytes, MEMORY_VARIABLE, MemoryError, MemoryLimits, OutOfMemory, available_memory, require_memory, resident_memory,
};
pub use nearest::{did_you_mean, expected_name, nearest, quoted, short_list};
pub use network::{AdapterPort, Coordinates, Network, csv_field};
pub use node_list::{is_all_nodes, parse_node, parse_node_list};
pub use ports::{ChannelKind, ChannelSpace, MAX_PORTS, Ports};
pub use topologies::graph_spec::GraphSpec;
pub use topologies::grid::{Axis, Direction, Grid};
pub use topologies::shape::Shape;
pub use topologies::spec::{MAX_ROUTERS, TOPOLOGY_FORMS, TopologySpec};
pub use topologies::stages::Stages;
