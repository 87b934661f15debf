//! Static analysis: whether worms can deadlock, and if so how, where routes lead, and how evenly they load links.
//!
//! Ask it of a [routing](of_routing), of [forwarding tables](of_tables), of every worm that an [algorithm](of_algorithm) may send, or of
//! [given multicasts](of_multicasts) beside unicasts. The answer is a [`Report`]: a value to look at, or to write as JSON, which is what
//! the command `wormcast routing` prints.
//!
//! ```
//! use wormcast_analysis::{Settings, of_algorithm};
//! use wormcast_multicast::{Options, algorithm_by_name};
//! use wormcast_network::TopologySpec;
//!
//! let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
//! let algorithm = algorithm_by_name("dual-path", &mesh, &Options::default())?;
//! let with = |ports| Settings { consumption_ports: Some(ports), ..Settings::default() };
//!
//! assert!(of_algorithm(algorithm.as_ref(), &with(4))?.deadlock_free);
//! let report = of_algorithm(algorithm.as_ref(), &with(2))?;
//! assert!(!report.deadlock_free);
//! // Each of these may be held by a worm that waits for the next: channels, and consumption channels of nodes.
//! let cycle: Vec<String> = report.resources.iter().flatten().map(ToString::to_string).collect();
//! assert_eq!(cycle[..2], ["channel 0,1 -> 1,1", "consumption channels of node 1,1"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - *Deadlock-free* is a proof: no sequence of messages of any length, whenever they are sent, leaves worms that wait for each other
//!   forever.
//! - A cycle is found whenever there may be a deadlock. That it can be reached is another matter, which [`Settings::reachable`] asks to
//!   be decided within a budget.
//! - Long work can be watched and stopped by [`wormcast_network::watch`]. A report then has what was found out, and
//!   [`Report::missing`] says what it lacks.

mod analyse;
mod error;
mod multicasts;
mod reachability;
mod replication;
mod report;
mod tables;

pub use analyse::{Unicasts, deadlock_of_scenario, of_algorithm, of_multicasts, of_routing, of_tables};
pub use error::AnalysisError;
pub use multicasts::Adding;
pub use reachability::{Reached, RunSettings, Sent};
pub use replication::{Replicating, Settings};
pub use report::{ClosedBy, Held, Load, LoadedChannel, Report, WormsAnalysed, most_loaded};
pub use tables::{ForwardingLoop, TablesFound, Undelivered, router_text};
