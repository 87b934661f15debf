//! Floor 2 of wormcast: how one worm may travel.
//!
//! A [`RoutingRelation`] maps (router, arriving channel, target) to the output channels that a header may take, in order
//! of preference. Engines, path lengths and the deadlock analysis of [`Dependencies`] all use this one trait.
//!
//! ```
//! use wormcast_network::TopologySpec;
//! use wormcast_routing::{Dependencies, RoutingOptions, routing_by_name};
//!
//! let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
//! let e_cube = routing_by_name("e-cube", &torus, &RoutingOptions::default())?;
//! let deadlock = Dependencies::of_relation(e_cube.as_ref()).deadlock(1);
//! assert!(deadlock.is_some(), "without virtual channels, each ring of a torus is a cycle of dependencies");
//!
//! let prohibition = routing_by_name("turn-prohibition", &torus, &RoutingOptions::default())?;
//! assert!(Dependencies::of_relation(prohibition.as_ref()).deadlock(1).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capabilities;
mod dependency;
mod destination_tag;
mod e_cube;
mod edge_disjoint;
mod fault_distance;
mod forwarding_tables;
mod hamiltonian;
mod irreducible;
mod link_forests;
mod link_load;
mod link_orders;
mod multidestination;
mod negative_first;
mod numbering;
mod reachability;
mod registry;
mod relation;
mod replication;
mod spam_routing;
mod spanning_tree;
mod survey;
mod tarjan_trees;
mod torus_trees;
mod tree_distance;
mod tree_error;
mod tree_registry;
mod tree_routing;
mod turn_prohibition;
mod turn_routing;
mod turn_search;
mod turn_set;
mod turnaround;
mod up_down;
mod witness;

pub use capabilities::{RoutingCapabilities, Spread, TreeDescent, VcRange, VirtualChannels};
pub use dependency::{Branching, Dependencies, Resource, WormRule, Worms};
pub use destination_tag::{DESTINATION_TAG, DestinationTag};
pub use e_cube::{E_CUBE, ECube};
pub use edge_disjoint::{EdgeDisjointTrees, Partition, edge_disjoint_trees, repair_trees, working_links};
pub use fault_distance::local_fault_distance;
pub use forwarding_tables::{
    Arrival, ChosenTables, Conflict, Destination, Fault, ForwardingLoop, ForwardingTables, MOST_LISTED, NetworkLfts,
    NoTables, Output, TablesError, TablesReport, TablesText, Target, Undelivered, analyse_tables, choose_tables,
    parse_lfts, parse_tables, read_tables, witness_of_tables,
};
pub use hamiltonian::{HAMILTONIAN, Hamiltonian, hamiltonian_label};
pub use link_load::{LinkLoad, link_load};
pub use multidestination::{Branches, Decision, MultidestinationRouting, Step, node_set};
pub use negative_first::{NEGATIVE_FIRST, NegativeFirst};
pub use numbering::{ChannelNumbering, NotAProof};
pub use reachability::ReachabilityRouting;
pub use registry::{ROUTINGS, RoutingDescriptor, RoutingError, RoutingOptions, UnknownName, routing_by_name};
pub use relation::{NoRoute, RoutingRelation, Unsupported, append_route, nearest_channels};
pub use replication::synchronous_deadlock;
pub use spam_routing::{SPAM_ROUTING, SpamRouting};
pub use spanning_tree::{NotSpanning, SpanningTree};
pub use survey::{Survey, survey};
pub use tarjan_trees::{HAMILTON_TREES, TARJAN_TREES, require_square_torus};
pub use torus_trees::{
    BALANCES, Balance, DSTM_1_TREES, DSTM_2_TREES, DSTM_TREES, InvalidMethod, Sweep, TorusMethod, TorusTrees,
    require_torus,
};
pub use tree_distance::{CombinedDistance, combined_distance};
pub use tree_error::TreeError;
pub use tree_registry::{TREE_CONSTRUCTIONS, TreeChoice, TreeDescriptor, TreeOptions, tree_construction_by_name};
pub use tree_routing::{TREE_ROUTING, TreeRouting, TreesError};
pub use turn_prohibition::{TURN_PROHIBITION, TURN_PROHIBITION_DETERMINISTIC, turn_prohibition};
pub use turn_routing::{Choice, TurnRouting};
pub use turn_set::TurnSet;
pub use turnaround::{TURNAROUND, TURNAROUND_DETERMINISTIC, Turnaround};
pub use up_down::{InvalidRoot, Root, UP_DOWN, UP_DOWN_DETERMINISTIC, up_down};
pub use witness::{Witness, witness_of_relation};
