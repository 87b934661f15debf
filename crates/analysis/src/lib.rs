//! Find out before any run whether worms can deadlock, how long their routes are, and how evenly they load the links.
//!
//! Analyse a [routing](of_routing), [forwarding tables](of_tables), every worm that an [algorithm](of_algorithm) may send, or
//! [given multicasts](of_multicasts) together with unicasts. The result is a [`Report`], which can be written as JSON; the command
//! `wormcast routing` prints the same.
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
//! - *Deadlock-free* is a proof for the worms that were analysed and the settings that were given: all that a routing or an algorithm may send, or just
//!   the given multicasts, of any length and at any time. No such worms wait for each other forever.
//! - Otherwise the report has a cycle of channels, each of which may be held by a worm that waits for the next. Some such cycles can never come about;
//!   [`Settings::reachable`] asks for a search, within a budget, for messages that reach the deadlock.
//! - Long computations can be followed and stopped through [`wormcast_network::watch`]. The report then has the results so far, and
//!   [`Report::missing`] says which are missing.
//!
//! # Where to look next
//!
//! - [`deadlock_of_scenario`] checks just what one simulation would send.
//! - [`most_loaded`] names the channels with the highest load.
//! - The checks themselves are [`wormcast_routing::Dependencies`] and [`wormcast_simulation::search_deadlock`].

mod analyse;
mod error;
mod fabric;
mod groups;
mod idle;
mod multicasts;
mod reachability;
mod report;
mod sample;
mod settings;
mod tables;

pub use analyse::{
    Unicasts, deadlock_of_scenario, dependencies_of_algorithm, of_algorithm, of_multicasts, of_routing, of_tables,
    steps_of_scenario,
};
pub use error::AnalysisError;
pub use fabric::{Fabric, of_fabric};
pub use groups::{Blame, GroupFound, Groups, LaneFound, LanesFound};
pub use idle::IdleSetting;
pub use multicasts::Adding;
pub use reachability::{Reached, RunSettings, Sent};
pub use report::{ClosedBy, CycleResource, Load, LoadedChannel, Report, WormsAnalysed, most_loaded};
pub use sample::{Sample, Sampled, SampledTurns};
pub use settings::{Replicating, Settings};
pub use tables::{LoopText, TablesFound, UndeliveredText, router_text};
