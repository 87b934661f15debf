//! Plans and trees as pictures.

mod branches;
mod dot;
mod legend;
mod palette;
mod svg;
mod tree;
mod trees;

pub use dot::plan_dot;
pub use svg::plan_svg;
pub use trees::trees_svg;
