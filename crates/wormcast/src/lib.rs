//! A workbench for multicast in wormhole-switched networks.
//!
//! One question asked of many networks: which worms should a multicast send, and what happens when they meet? This crate
//! gathers the floors of the workbench, lowest first; each uses only those before it. The command `wormcast` offers the
//! same to a shell; it is a module too, [`command`], so that a program can have it with algorithms of its own. Without the feature
//! `command`, which is on by default, there is neither.
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
//! // Whatever is sent: three consumption channels a node rule deadlock out, two do not.
//! assert!(algorithm.dependencies().deadlock(3).is_none());
//! assert!(algorithm.dependencies().deadlock(2).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
