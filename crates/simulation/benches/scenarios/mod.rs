//! What the benchmarks simulate.

use std::sync::Arc;

use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::{Network, TopologySpec};
use wormcast_simulation::{
    Arrivals, Count, MulticastTraffic, Process, Run, Scenario, Switching, Timing, Traffic, Warmup,
};

/// The lengths of the multicasts, as in the papers.
const PAPER: Count = Count { least: 10, most: 100 };

/// A steady run on a 16x16 mesh, 5 ns a cycle.
pub(crate) struct Case {
    /// Its name in reports.
    pub(crate) name: &'static str,
    algorithm: &'static str,
    /// Messages per node per microsecond.
    rate: f64,
    /// Data flits.
    length: Count,
    /// Of each message; one of unicasts.
    destinations: Option<u32>,
    /// Cycles of a startup.
    startup: u32,
}

/// Medium loads: busy, and below saturation.
pub(crate) const CASES: [Case; 6] = [
    unicast("unicast-64", 0.15, 64),
    unicast("unicast-20", 0.3, 20),
    multicast("pure-negative-first-10", "pure-negative-first", 0.009),
    multicast("minimal-negative-first-10", "minimal-negative-first", 0.012),
    multicast("dual-path-10", "dual-path", 0.005),
    multicast("column-path-10", "column-path", 0.012),
];

const fn unicast(name: &'static str, rate: f64, flits: u32) -> Case {
    let length = Count { least: flits, most: flits };
    Case { name, algorithm: "separate", rate, length, destinations: None, startup: 0 }
}

const fn multicast(name: &'static str, algorithm: &'static str, rate: f64) -> Case {
    Case { name, algorithm, rate, length: PAPER, destinations: Some(10), startup: 1000 }
}

/// The network of all cases.
pub(crate) fn network() -> Arc<Network> {
    "mesh:16x16".parse::<TopologySpec>().unwrap().build().unwrap()
}

impl Case {
    /// The case, ready to be simulated.
    pub(crate) fn scenario(&self) -> Scenario {
        let network = network();
        let algorithm = algorithm_by_name(self.algorithm, &network, &Options::default()).unwrap();
        let traffic = Traffic {
            arrivals: Some(Arrivals {
                process: Process::Poisson,
                rate: Some(self.rate),
                load: None,
                successes: None,
                sources: None,
                interval: None,
            }),
            length: Some(self.length.into()),
            multicast: self.destinations.map(|n| MulticastTraffic {
                destinations: Count::fixed(n).into(),
                fraction: 1.0,
                sets: None,
            }),
            ..Traffic::default()
        };
        let run = Run { warmup: Warmup::Cycles(5000), messages: Some(4000), ..Run::default() };
        let timing = Timing { startup: self.startup, ..Timing::default() };
        Scenario::new(algorithm.into(), &Switching::default(), &timing, &traffic, &run).unwrap()
    }
}
