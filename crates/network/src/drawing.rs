//! Networks as pictures and as files of graph tools.
//!
//! Each drawing implements [`Display`](std::fmt::Display), so that it can be written piece by piece: a large network's
//! never exists as one string.

mod dot;
mod escape;
mod graphml;
mod labels;
mod layered;
mod layout;
mod levels;
mod map;
mod stress;
mod svg;

pub use dot::NetworkDot;
pub use escape::{escape_dot, escape_xml};
pub use graphml::NetworkGraphml;
pub use layout::{Layout, Point};
pub use svg::NetworkSvg;
