//! Build interconnection networks, read and write them as files, measure them, and draw them.
//!
//! A [`Network`] is a set of routers joined by directed channels, with nodes (processors) attached to routers. Most networks come
//! from a short text, a [`TopologySpec`]:
//!
//! ```
//! use wormcast_network::{NodeId, TopologySpec};
//!
//! let network = "mesh:8x8".parse::<TopologySpec>()?.build()?;
//! assert_eq!((network.routers(), network.links()), (64, 112));
//! assert_eq!(network.distances().diameter, Some(14));
//! let grid = network.shape().mesh().expect("a mesh has coordinates");
//! assert_eq!(grid.coordinates(NodeId::new(28).index()), [4, 3]);
//! # Ok::<(), wormcast_network::TopologyError>(())
//! ```
//!
//! Such texts also name tori, hypercubes, multistage networks, random graphs, and files. Networks can be read from InfiniBand fabrics,
//! GraphML, node-link JSON and anynet, in which a router may have any number of nodes, or none, and from edge lists, in which each has one:
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
//!
//! # Guarantees
//!
//! - A network never changes, and is stored in flat arrays: a mesh of a million routers takes 55 megabytes.
//! - Ids of routers, channels and nodes are dense and start at 0, so they index plain arrays. Channels and nodes are numbered router by
//!   router.
//! - A random graph depends on its parameters and its seed alone, on every machine.
//! - A file that is wrong gives an error with the line and what was expected there. What a format can express is read back as it was
//!   written; [`FileFormat::check_expresses`] says whether it can.
//! - A network that is named by a text and would not fit in memory is refused before it is built ([`TopologySpec::build`], on Linux).
//!
//! # Where to look next
//!
//! - [`NetworkBuilder`] puts a network together router by router and link by link.
//! - [`NetworkSvg`], [`NetworkDot`] and [`NetworkGraphml`] draw and export one; [`HeatMapSvg`] colours its links by load, and [`CycleSvg`] marks a cycle of them.
//! - [`Network::distances`] and [`Degrees`] measure one.
//! - [`watch`] reports the progress of long computations and stops them.

mod builder;
mod decimal;
mod demand;
mod drawing;
mod error;
mod files;
mod ids;
pub mod input;
mod measure;
mod memory;
mod network;
mod node_list;
mod ports;
pub mod split_mix;
pub mod text;
mod topologies;
pub mod watch;

pub use builder::{BuildError, MAX_LINKS, MAX_NODES, MAX_PORT_NUMBER, NetworkBuilder, NodeDetails};
pub use decimal::Decimal;
pub use drawing::{
    CycleSvg, HeatMapSvg, Layout, LineStyle, NetworkDot, NetworkGraphml, NetworkOutline, NetworkSvg, Position, Vector,
    arrow, arrow_head, line_beside, line_style, same_direction,
};
pub use error::{NodeError, TopologyError};
pub use files::{
    FileFormat, MAX_FILE_BYTES, NetworkAnynet, NetworkEdgeList, NetworkIbsim, NetworkNodeLink, as_fabric,
    parse_edge_list,
};
pub use ids::{ChannelId, NodeId, RouterId};
pub use measure::{CutOff, Degrees, Distances};
pub use memory::{
    Bytes, MEMORY_VARIABLE, MemoryError, MemoryLimits, OutOfMemory, available_memory, is_memory_limited_by_shell,
    require_memory, require_room_to_start, resident_memory,
};
pub use network::{AdapterPort, Coordinates, Network};
pub use node_list::{
    is_all_nodes, misleading_name, parse_node, parse_node_list, parse_router, router_named, routers_named,
};
pub use ports::{ChannelKind, ChannelSpace, MAX_NODE_PORTS, Ports};
pub use topologies::dragonfly::Dragonfly;
pub use topologies::graph_spec::GraphSpec;
pub use topologies::grid::{Axis, Direction, Grid};
pub use topologies::hyperx::HyperX;
pub use topologies::link_classes::MAX_LINK_DELAY;
pub use topologies::machine::MachineSpec;
pub use topologies::shape::Shape;
pub use topologies::slimfly::SlimFly;
pub use topologies::spec::{MAX_ROUTERS, TOPOLOGY_FORMS, TopologySpec};
pub use topologies::stages::Stages;
