//! Plan multicasts in wormhole-switched networks, check that their worms cannot deadlock, simulate them, and run whole experiments.
//!
//! This crate is what programs depend on: it re-exports the library crates of the workbench. The command `wormcast` offers the same from
//! a shell; it is the module [`command`], so that a program can have the command with algorithms of its own. Both need the feature
//! `command`, which is on by default.
//!
//! ```
//! use wormcast::multicast::{Multicast, Options, PortModel, algorithm_by_name};
//! use wormcast::network::{TopologySpec, parse_node, parse_node_list};
//!
//! let mesh = "mesh:8x8".parse::<TopologySpec>()?.build()?;
//! let multicast = Multicast::new(parse_node(&mesh, "4,3")?, &parse_node_list(&mesh, "1,4; 1,5; 7,2")?);
//!
//! // The fewest worms whose paths are negative-first: one up the west side, one to the southeast.
//! let algorithm = algorithm_by_name("pure-negative-first", &mesh, &Options::default())?;
//! let plan = algorithm.plan(&multicast);
//! assert_eq!(plan.summary(algorithm.routing(), PortModel::One)?.startups, 2);
//!
//! // With three consumption channels a node, no set of messages can deadlock; with two, the check finds a cycle.
//! assert!(algorithm.dependencies().deadlock(3).is_none());
//! assert!(algorithm.dependencies().deadlock(2).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - A result depends on its description and its seed alone: not on the number of threads or what ran before. Between platforms, the last bit
//!   of a logarithm may differ, and with it the cycle of an arrival or the last digits of an interval.
//! - Wrong input is an error that says what was found, what was expected, and where. It never panics.
//! - The libraries print nothing; only the command does. There is no unsafe code.
//!
//! # Where to look next
//!
//! | to | use |
//! |---|---|
//! | build, read, draw and measure networks | [`network`] |
//! | route worms and check for deadlock | [`routing`] |
//! | plan multicasts, or write an algorithm of your own | [`multicast`] |
//! | simulate, and observe what happens | [`simulation`] |
//! | analyse routings, tables and algorithms before any run | [`analysis`] |
//! | sweep, store, compare and plot | [`lab`] |
//! | reproduce the papers | [`papers`] |
//!
//! The guide is in `docs/guide`, the rules of the simulation are in `docs/model.md`.

#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "command")]
mod commands;
#[cfg(feature = "command")]
mod failure;
#[cfg(feature = "command")]
mod interrupt;
#[cfg(feature = "command")]
mod program;
#[cfg(feature = "command")]
mod progress;
#[cfg(feature = "command")]
mod usage;
#[cfg(feature = "command")]
mod work;

pub use wormcast_analysis as analysis;
pub use wormcast_lab as lab;
pub use wormcast_multicast as multicast;
pub use wormcast_network as network;
pub use wormcast_papers as papers;
pub use wormcast_routing as routing;
#[cfg(feature = "serve")]
pub use wormcast_serve as serve;
pub use wormcast_simulation as simulation;

/// The guide's listings, compiled and run as doc tests.
#[cfg(doctest)]
mod guide {
    #[cfg(feature = "command")]
    #[doc = include_str!("../guide/algorithm.md")]
    mod algorithm {}

    #[doc = include_str!("../guide/topology.md")]
    mod topology {}

    #[doc = include_str!("../guide/observer.md")]
    mod observer {}
}
