//! Floor 2 of wormcast: how one worm may travel.
//!
//! A [`RoutingRelation`] maps (router, arriving channel, target) to the output channels that a header may take, in order
//! of preference. Engines, path lengths and the deadlock analysis of [`Dependencies`] all use this one trait.
//!
//! ```
//! use wormcast_network::TopologySpec;
//! use wormcast_routing::{Dependencies, routing_by_name};
//!
//! let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
//! let e_cube = routing_by_name("e-cube")?;
//! let deadlock = Dependencies::of_relation(&torus, e_cube.as_ref()).deadlock(1);
//! assert!(deadlock.is_some(), "without virtual channels, each ring of a torus is a cycle of dependencies");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dependency;
mod e_cube;
mod hamiltonian;
mod negative_first;
mod registry;
mod relation;
mod survey;

pub use dependency::{Dependencies, Resource, WormRule};
pub use e_cube::ECube;
pub use hamiltonian::{Hamiltonian, hamiltonian_label};
pub use negative_first::NegativeFirst;
pub use registry::{ROUTINGS, UnknownName, routing_by_name};
pub use relation::{NoRoute, RoutingRelation, Unsupported, append_route};
pub use survey::{Survey, survey};
