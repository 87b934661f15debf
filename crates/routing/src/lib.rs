//! Route worms through a network, and prove that they cannot deadlock.
//!
//! A [`RoutingRelation`] maps a router, the channel on which a header arrived, and the header's target to the output channels that it
//! may take, in order of preference. [`Dependencies`] collect which channels a worm may wait for while it holds others, and check whether
//! worms can block each other forever:
//!
//! ```
//! use wormcast_network::TopologySpec;
//! use wormcast_routing::{Dependencies, RoutingOptions, routing_by_name};
//!
//! let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
//! let e_cube = routing_by_name("e-cube", &torus, &RoutingOptions::default())?;
//! // With one consumption channel at each node.
//! let deadlock = Dependencies::of_relation(e_cube.as_ref()).deadlock(1);
//! assert!(deadlock.is_some(), "without virtual channels, each ring of a torus is a cycle of dependencies");
//!
//! let prohibition = routing_by_name("turn-prohibition", &torus, &RoutingOptions::default())?;
//! assert!(Dependencies::of_relation(prohibition.as_ref()).deadlock(1).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - A relation belongs to one network and, made by name, refuses networks that it is not defined on. Its answers do not depend on
//!   earlier questions.
//! - The deadlock check misses no deadlock of the worms that it was told of. It may report one that no run reaches.
//! - Trees that are called edge-disjoint share no link. Where [`edge_disjoint_trees`] finds fewer than asked for, it has a partition that proves that there are no more.
//! - A relation's `candidates` does not allocate beyond the growth of the list that it fills, so engines can call it on every hop.
//!
//! # Where to look next
//!
//! - [`ROUTINGS`] lists the routings; [`routing_by_name`] makes one.
//! - [`TurnSet`] and [`TurnRouting`] turn a set of permitted turns, each permitted both ways, into a routing; [`turn_prohibition()`] and [`up_down`] find such sets.
//! - [`survey`] and [`link_load`] measure how long routes are and how evenly they load the links.
//! - [`ForwardingTables`] read, write, check and choose the tables of real switches, such as those of InfiniBand.
//! - [`edge_disjoint_trees`] and [`TorusTrees`] build spanning trees.

mod analysis;
mod capabilities;
mod forwarding_tables;
mod multidestination;
mod registry;
mod relation;
mod relations;
mod trees;
mod turns;

pub use analysis::dependency::{Branching, Dependencies, Resource, Uncovered, UncoveredBinding, WormRule, Worms};
pub use analysis::link_load::{LinkLoad, link_load};
pub use analysis::numbering::{ChannelNumbering, NotAProof};
pub use analysis::survey::{RoutesTo, Survey, survey, survey_to};
pub use analysis::witness::{Witness, witness_in_classes, witness_of_relation};
pub use capabilities::{
    ClosedForm, Lanes, RoutingCapabilities, Spread, TreeDescent, VcRange, VirtualChannels, Waypoints,
};
pub use forwarding_tables::{
    Arrival, Branch, Changed, ChosenTables, Conflict, Destination, Fault, ForwardingLoop, ForwardingTables,
    GROUPS_INPUT, GroupBranching, GroupReport, GroupTree, HopMatrix, MOST_LISTED, MULTICAST_TABLES_INPUT,
    MulticastGroup, MulticastTables, NetworkLfts, NetworkMcfdbs, NoRepair, NoTables, NoWeights, Output, Repair,
    SearchEnd, TABLES_INPUT, TablesError, TablesReport, TablesText, Target, Torus2QosTrees, TreeRule, Undelivered,
    UnicastWaits, VirtualLanes, WeighedEngine, WeighedTrees, analyse_tables, choose_tables, parse_fdbs,
    parse_hop_matrix, parse_lfts, parse_multicast_tables, parse_tables, permitted_trees, read_hop_matrix, read_levels,
    read_maps, read_members, read_multicast_tables, read_tables, read_torus, repair, witness_in_lanes,
    witness_of_tables,
};
pub use multidestination::reachability_strings::ReachabilityRouting;
pub use multidestination::replication::synchronous_deadlock;
pub use multidestination::{Branches, Decision, MultidestinationRouting, Step, node_set};
pub use registry::{ROUTINGS, RoutingDescriptor, RoutingError, RoutingOptions, UnknownName, routing_by_name};
pub use relation::{
    NoRoute, RoutingRelation, Straight, Unsupported, append_route, append_route_with, nearest_channels,
};
pub use relations::dateline::{DATELINE, DATELINE_BALANCED, Dateline};
pub use relations::destination_tag::{DESTINATION_TAG, DestinationTag};
pub use relations::duato::{DUATO, Duato};
pub use relations::e_cube::{E_CUBE, ECube};
pub use relations::hamiltonian::{HAMILTONIAN, Hamiltonian, hamiltonian_label};
pub use relations::hamiltonian_adaptive::{HAMILTONIAN_ADAPTIVE, HamiltonianAdaptive};
pub use relations::merged_classes::MergedClasses;
pub use relations::minimal::{MINIMAL, Minimal};
pub use relations::nca::{NCA, Nca};
pub use relations::negative_first::{NEGATIVE_FIRST, NegativeFirst};
pub use relations::north_last::{NORTH_LAST, NorthLast};
pub use relations::odd_even::{ODD_EVEN, OddEven};
pub use relations::spam_routing::{SPAM_ROUTING, SPAM_TREE, SpamRouting};
pub use relations::tree_routing::{TREE_ROUTING, TreeRouting, TreesError};
pub use relations::turn_prohibition::{TURN_PROHIBITION, TURN_PROHIBITION_DETERMINISTIC, turn_prohibition};
pub use relations::turnaround::{TURNAROUND, TURNAROUND_DETERMINISTIC, Turnaround};
pub use relations::ugal::{UGAL, Ugal};
pub use relations::up_down::{InvalidRoot, Root, UP_DOWN, UP_DOWN_DETERMINISTIC, up_down};
pub use relations::valiant::{VALIANT, VALIANT_GROUP, Valiant};
pub use relations::west_first::{WEST_FIRST, WestFirst};
pub use trees::edge_disjoint::{EdgeDisjointTrees, Partition, edge_disjoint_trees, repair_trees, working_links};
pub use trees::fault_distance::local_fault_distance;
pub use trees::registry::{TREE_CONSTRUCTIONS, TreeChoice, TreeDescriptor, TreeOptions, tree_construction_by_name};
pub use trees::spanning_tree::{NotSpanning, SpanningTree};
pub use trees::tarjan_trees::{BEST_BY, BestBy, HAMILTON_TREES, TARJAN_TREES, require_square_torus};
pub use trees::torus_trees::{
    BALANCES, Balance, DSTM_1_TREES, DSTM_2_TREES, DSTM_TREES, InvalidMethod, InvalidStart, SecondStart, Sweep,
    TorusMethod, TorusTrees, parse_start, require_torus,
};
pub use trees::tree_distance::{CombinedDistance, combined_distance};
pub use trees::tree_error::TreeError;
pub use turns::turn_routing::{Adaptivity, TurnRouting};
pub use turns::turn_set::TurnSet;
