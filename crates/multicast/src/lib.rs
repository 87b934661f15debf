//! Plan multicasts: which worms to send so that a message reaches all of its destinations.
//!
//! An [`Algorithm`] turns a [`Multicast`], a source and its destinations, into a [`Plan`]: a list of worms, each with its sender and its
//! route. Plans are what engines simulate, drawings show and analyses check.
//!
//! ```
//! use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
//! use wormcast_network::{TopologySpec, parse_node, parse_node_list};
//!
//! let mesh = "mesh:8x8".parse::<TopologySpec>()?.build()?;
//! let algorithm = algorithm_by_name("pure-negative-first", &mesh, &Options::default())?;
//! let multicast = Multicast::new(parse_node(&mesh, "4,3")?, &parse_node_list(&mesh, "1,4;1,5")?);
//! let plan = algorithm.plan(&multicast);
//! let summary = plan.summary(algorithm.routing(), PortModel::One)?;
//! assert_eq!((summary.startups, summary.longest), (1, 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - A plan depends on the network, the algorithm, its options and the multicast alone.
//! - Every destination gets the message exactly once, and every worm has a route. [`check_contract`] checks both, and that path worms stay
//!   within the dependencies that the algorithm declares.
//! - An algorithm refuses, when it is made, networks and options that it is not defined for, and its error says what would do.
//! - An algorithm of your own, once you [`register`] it, is known by its name like a built-in one. Every channel that its routing
//!   answers with is checked to leave the router that was asked about.
//!
//! # Where to look next
//!
//! - [`ALGORITHMS`] lists the built-in algorithms; [`Request`] asks for one with its routing, root, seed and failed links.
//! - [`Algorithm`] is the trait to implement, and the guide's `docs/guide/algorithm.md` implements one step by step.
//! - [`plan_svg`] and [`plan_dot`] draw plans.
//! - [`Encoding`] and [`TreeHeader`] are headers: of worms that switches replicate, and of trees.

mod algorithm;
mod algorithms;
mod capabilities;
mod checks;
mod drawing;
mod faults;
mod headers;
mod plan;
mod registry;

pub use algorithm::{Algorithm, AlgorithmError, Multicast, NoDestination, WormKinds, left_out, worm_kinds};
pub use algorithms::hypercube::combine::{COMBINE, Combine};
pub use algorithms::hypercube::maxport::{MAXPORT, Maxport};
pub use algorithms::hypercube::u_cube::{U_CUBE, UCube};
pub use algorithms::hypercube::w_sort::{W_SORT, WSort};
pub use algorithms::hypercube::weighted_sort::{weighted_sort, weighted_sort_as_printed};
pub use algorithms::irregular::chain_ordered::{CHAIN_ORDERED, ChainOrdered};
pub use algorithms::irregular::covering_matrix::{CoveringMatrix, CoveringRow};
pub use algorithms::irregular::spam::{SPAM, Spam};
pub use algorithms::irregular::tables::{TABLES, Tables};
pub use algorithms::irregular::tree_infinity::{TREE_INFINITY, TreeInfinity};
pub use algorithms::irregular::tree_one::{TREE_ONE, TreeOne};
pub use algorithms::irregular::tree_zero::{TREE_ZERO, TreeZero};
pub use algorithms::mesh::bounded_negative_first::{BOUNDED_NEGATIVE_FIRST, BoundedNegativeFirst};
pub use algorithms::mesh::column_path::{COLUMN_PATH, ColumnPath};
pub use algorithms::mesh::double_channel_xy_tree::{DOUBLE_CHANNEL_XY_TREE, DoubleChannelXyTree};
pub use algorithms::mesh::dual_path::{DUAL_PATH, DualPath};
pub use algorithms::mesh::dual_path_adaptive::{DUAL_PATH_ADAPTIVE, DualPathAdaptive};
pub use algorithms::mesh::mask::{Mask, MaskMulticast, XY_MASK, YX_MASK};
pub use algorithms::mesh::minimal_negative_first::{MINIMAL_NEGATIVE_FIRST, MinimalNegativeFirst};
pub use algorithms::mesh::minimal_negative_first_optimal::{
    MINIMAL_NEGATIVE_FIRST_OPTIMAL, MinimalNegativeFirstOptimal,
};
pub use algorithms::mesh::multi_path::{MULTI_PATH, MultiPath};
pub use algorithms::mesh::pure_negative_first::{PURE_NEGATIVE_FIRST, PureNegativeFirst};
pub use algorithms::mesh::rpm::{RPM, Rpm};
pub use algorithms::mesh::schl::{SCHL, Schl};
pub use algorithms::mesh::u_mesh::{U_MESH, UMesh};
pub use algorithms::mesh::vctm::{VCTM, Vctm};
pub use algorithms::mesh::xy_tree::{DimensionOrderTree, XY_TREE, YX_TREE};
pub use algorithms::multistage::bit_string::{BIT_STRING, BitString};
pub use algorithms::multistage::multiport::{MULTIPORT, Multiport};
pub use algorithms::multistage::u_min::{U_MIN, UMin};
pub use algorithms::separate::{SEPARATE, Separate};
pub use algorithms::torus::dstm::Dstm;
pub use algorithms::torus::dstm_tarjan::{DSTM_TARJAN, DSTM_TARJAN_AVERAGE, DSTM_TARJAN_BEST, DSTM_TARJAN_PATH};
pub use algorithms::torus::dstm_torus::{DSTM_1, DSTM_2};
pub use capabilities::{
    AlgorithmCapabilities, BranchingTrees, Covers, Minimum, Planner, Remembers, Selective, Session,
};
pub use checks::contract::{ContractViolation, check_contract, check_plan};
pub use drawing::{plan_dot, plan_svg, trees_svg};
pub use faults::{FaultError, FaultInformation, Faults};
pub use headers::encoded::{Encoded, EncodedRoute, Encoding};
pub use headers::tree_header::{HeaderFlit, TreeHeader};
pub use plan::contention::Contention;
pub use plan::dependencies::{UnknownRoute, add_plan};
pub use plan::json_text::JsonText;
pub use plan::reduction::{Join, NoReduction, Reduction};
pub use plan::report::PlanReport;
pub use plan::summary::{EncodedHeader, PlanSummary, PortModel, Summariser, WormSummary};
pub use plan::{Branch, Itinerary, Path, Plan, PlanError, Tree, Trunk, Worm};
pub use registry::algorithm_cache::AlgorithmCache;
pub use registry::descriptor::{
    Descriptor, FaultRequest, MakeAlgorithm, MakeWithState, Options, Refused, Request, RequestPart,
};
pub use registry::family::{Family, Routed, Sends};
pub use registry::options::{
    AlgorithmOption, AlgorithmOptions, BestPair, Draw, Greedy, Multicasts, Replacement, Resolution,
};
pub use registry::{
    ALGORITHMS, RegistrationError, algorithm_by_name, algorithms, is_own, register, replace, routing_named,
};
