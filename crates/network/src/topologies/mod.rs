//! The topologies that have names: their specifications, their regular structure, and their links.

pub(crate) mod bmin;
pub(crate) mod generate;
pub(crate) mod graph_spec;
pub(crate) mod grid;
pub(crate) mod shape;
pub(crate) mod spec;
pub(crate) mod stages;
pub(crate) mod unidirectional;
