//! Networks as pictures and as files of graph tools.
//!
//! Each drawing implements [`Display`](std::fmt::Display), so that it can be written piece by piece: a large network's
//! never exists as one string.

mod beside;
mod dot;
mod graphml;
mod heat_map;
mod labels;
mod layered;
mod layout;
mod levels;
mod map;
mod outline;
mod palette;
mod stress;
mod svg;

pub use beside::{Vector, arrow, arrow_head, line_beside, same_direction};
pub use dot::NetworkDot;
pub use graphml::NetworkGraphml;
pub use heat_map::{CycleSvg, HeatMapSvg};
pub use layout::{Layout, Position};
pub use outline::NetworkOutline;
pub use palette::{LineStyle, line_style};
pub use svg::NetworkSvg;
