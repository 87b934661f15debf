//! The topologies that have names: their specifications, their regular structure, and their links.

pub(crate) mod bmin;
pub(crate) mod dragonfly;
pub(crate) mod field;
pub(crate) mod generate;
pub(crate) mod graph_spec;
pub(crate) mod grid;
pub(crate) mod hyperx;
pub(crate) mod link_classes;
pub(crate) mod machine;
pub(crate) mod shape;
pub(crate) mod slimfly;
pub(crate) mod spec;
pub(crate) mod stages;
pub(crate) mod unidirectional;
