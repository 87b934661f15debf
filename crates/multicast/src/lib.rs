//! Floor 3 of wormcast: which worms a multicast sends.
//!
//! An [`Algorithm`] turns a [`Multicast`] (a source and its destinations) into a [`Plan`], the one form that engines,
//! drawings and analyses understand. A new algorithm is one new file and one line in the [`registry`](algorithm_by_name).
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

mod algorithm;
mod bit_string;
mod capabilities;
mod chains;
mod column_path;
mod combine;
#[cfg(test)]
mod conformance;
mod containment;
mod contention;
mod covering_matrix;
mod cube_chain;
mod descriptor;
mod digit_products;
mod drawing;
mod dstm;
mod dstm_tarjan;
mod dstm_torus;
mod dual_path;
mod encoded;
mod family;
mod faults;
mod ids;
mod made;
mod maxport;
mod minimal_negative_first;
mod minimal_negative_first_optimal;
mod multi_path;
mod multiport;
mod negative_first_rule;
mod plan;
mod plan_dependencies;
mod promise;
mod pure_negative_first;
mod registry;
mod schl;
mod separate;
mod spam;
mod summary;
mod switches;
mod tree_header;
mod tree_infinity;
mod tree_one;
mod tree_plan;
mod tree_zero;
mod turn_trees;
mod u_cube;
mod u_mesh;
mod u_min;
mod unicast_tree;
mod w_sort;
mod watched;
mod weighted_sort;

pub use algorithm::{Algorithm, AlgorithmError, Multicast, NoDestination, WormKinds, left_out, worm_kinds};
pub use bit_string::{BIT_STRING, BitString};
pub use capabilities::{AlgorithmCapabilities, BranchingTrees, Covers, Minimum};
pub use column_path::{COLUMN_PATH, ColumnPath};
pub use combine::{COMBINE, Combine};
pub use contention::Contention;
pub use covering_matrix::{CoveringMatrix, CoveringRow};
pub use descriptor::{Descriptor, FaultRequest, MakeAlgorithm, Options, Part, Refused, Request};
pub use drawing::{plan_dot, plan_svg, trees_svg};
pub use dstm::Dstm;
pub use dstm_tarjan::{DSTM_TARJAN, DSTM_TARJAN_AVERAGE, DSTM_TARJAN_BEST, DSTM_TARJAN_PATH};
pub use dstm_torus::{DSTM_1, DSTM_2};
pub use dual_path::{DUAL_PATH, DualPath};
pub use encoded::{Encoded, EncodedRoute, Encoding};
pub use family::{Family, Routed, Sends};
pub use faults::{FaultError, FaultInformation, Faults};
pub use made::Made;
pub use maxport::{MAXPORT, Maxport};
pub use minimal_negative_first::{MINIMAL_NEGATIVE_FIRST, MinimalNegativeFirst};
pub use minimal_negative_first_optimal::{MINIMAL_NEGATIVE_FIRST_OPTIMAL, MinimalNegativeFirstOptimal};
pub use multi_path::{MULTI_PATH, MultiPath};
pub use multiport::{MULTIPORT, Multiport};
pub use plan::{Branch, Itinerary, Path, Plan, PlanError, Tree, Trunk, Worm};
pub use plan_dependencies::{UnknownWay, add_plan};
pub use promise::{BrokenPromise, check_plan, check_promise};
pub use pure_negative_first::{PURE_NEGATIVE_FIRST, PureNegativeFirst};
pub use registry::{ALGORITHMS, RegistrationError, algorithm_by_name, algorithms, is_own, register};
pub use schl::{SCHL, Schl};
pub use separate::{SEPARATE, Separate};
pub use spam::{SPAM, Spam};
pub use summary::{EncodedHeader, PlanSummary, PortModel, WormSummary};
pub use tree_header::{HeaderFlit, TreeEncoding};
pub use tree_infinity::{TREE_INFINITY, TreeInfinity};
pub use tree_one::{TREE_ONE, TreeOne};
pub use tree_zero::{TREE_ZERO, TreeZero};
pub use u_cube::{U_CUBE, UCube};
pub use u_mesh::{U_MESH, UMesh};
pub use u_min::{U_MIN, UMin};
pub use w_sort::{W_SORT, WSort};
pub use weighted_sort::{weighted_sort, weighted_sort_as_printed};
