//! Multicast on meshes: paths, trees, and forwarding.

pub(crate) mod bounded_negative_first;
pub(crate) mod by_router;
pub(crate) mod chains;
pub(crate) mod column_path;
pub(crate) mod containment;
pub(crate) mod double_channel_xy_tree;
pub(crate) mod dual_path;
pub(crate) mod dual_path_adaptive;
pub(crate) mod fork;
pub(crate) mod mask;
pub(crate) mod minimal_negative_first;
pub(crate) mod minimal_negative_first_optimal;
pub(crate) mod multi_path;
pub(crate) mod negative_first_rule;
pub(crate) mod pure_negative_first;
pub(crate) mod rpm;
pub(crate) mod schl;
pub(crate) mod u_mesh;
pub(crate) mod vctm;
pub(crate) mod xy_tree;
