//! An algorithm of one's own: planned, checked, and simulated against two that wormcast has.
//!
//! The comb sends worms along e-cube paths, like column-path: along the source's row (the back of the comb), then along one
//! column (a tooth). Unlike column-path, a worm also delivers on its way along the row, so that destinations in the source's
//! row rarely cost a worm of their own. What that takes is said in one [`WormRule`]; the static check then tells how many
//! consumption channels a node needs.
//!
//! ```sh
//! cargo run --release --example own_algorithm
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use wormcast::multicast::{Algorithm, Multicast, Options, Plan, Worm, algorithm_by_name};
use wormcast::network::{ChannelId, Network, NodeId, TopologySpec};
use wormcast::routing::{Dependencies, ECube, RoutingRelation, WormRule};
use wormcast::simulation::{
    Arrivals, Count, EngineChoice, MulticastTraffic, Process, Run, Scenario, Switching, Timing, Traffic, simulate,
};

/// The comb, for a mesh of two dimensions.
struct Comb;

impl Algorithm for Comb {
    fn name(&self) -> &'static str {
        "comb"
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &ECube
    }

    fn plan(&self, network: &Network, multicast: &Multicast) -> Plan {
        let grid = network.shape().mesh().expect("a mesh");
        let at = |node: NodeId| (grid.coordinate(node.index(), 0), grid.coordinate(node.index(), 1));
        let (x0, y0) = at(multicast.source());
        // Teeth by column and direction (up: true), each with its stops from the row outwards.
        let mut teeth: BTreeMap<(u32, bool), Vec<NodeId>> = BTreeMap::new();
        // Destinations on the source's row, to the west and to the east of it.
        let mut rows: [Vec<NodeId>; 2] = [Vec::new(), Vec::new()];
        for &node in multicast.destinations() {
            let (x, y) = at(node);
            if y == y0 {
                rows[usize::from(x > x0)].push(node);
            } else {
                teeth.entry((x, y > y0)).or_default().push(node);
            }
        }
        for stops in teeth.values_mut() {
            stops.sort_by_key(|&node| at(node).1.abs_diff(y0));
        }
        for (mut row, east) in rows.into_iter().zip([false, true]) {
            row.sort_by_key(|&node| at(node).0.abs_diff(x0));
            let Some(&last) = row.last() else { continue };
            // The tooth that goes furthest on this side takes the row's destinations along, if it gets past the last of them.
            let side = teeth.keys().copied().filter(|&(x, _)| (x > x0) == east);
            let furthest = side.max_by_key(|&(x, _)| x.abs_diff(x0));
            match furthest.filter(|&(x, _)| x.abs_diff(x0) >= at(last).0.abs_diff(x0)) {
                Some(tooth) => {
                    teeth.entry(tooth).or_default().splice(0..0, row);
                }
                // A worm of their own, as far as the last of them.
                None => {
                    teeth.entry((at(last).0, true)).or_default().splice(0..0, row);
                }
            }
        }
        Plan { worms: teeth.into_values().map(|stops| Worm::path(multicast.source(), stops)).collect() }
    }

    fn dependencies<'n>(&self, network: &'n Network) -> Dependencies<'n> {
        Dependencies::of_rule(network, &ECubeStops)
    }
}

/// E-cube paths that may stop anywhere.
struct ECubeStops;

impl WormRule for ECubeStops {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        let Some(grid) = network.shape().mesh() else { return false };
        // Along x, the router numbers of neighbours differ by 1; along y, by the length of a row.
        let heading = |channel| {
            let (from, to) = (network.from(channel).index(), network.to(channel).index());
            (from.abs_diff(to) == grid.stride(1), to > from)
        };
        let ((along_y, up), (then_y, then_up)) = (heading(arriving), heading(leaving));
        (!along_y && then_y) || (along_y == then_y && up == then_up)
    }

    fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
        true
    }
}

/// Multicasts to 10 of 64 nodes, `rate` messages per node per microsecond.
fn traffic(rate: f64) -> Traffic {
    Traffic {
        arrivals: Some(Arrivals {
            process: Process::Poisson,
            rate: Some(rate),
            load: None,
            successes: None,
            sources: None,
            interval: None,
        }),
        length: Some(Count { least: 10, most: 100 }.into()),
        multicast: Some(MulticastTraffic { destinations: Count::fixed(10).into(), fraction: 1.0 }),
        ..Traffic::default()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mesh = Arc::new("mesh:8x8".parse::<TopologySpec>()?.build()?);
    let known = |name| algorithm_by_name(name, &mesh, &Options::default()).map(Arc::from);
    let algorithms: [Arc<dyn Algorithm>; 3] = [Arc::new(Comb), known("column-path")?, known("dual-path")?];

    println!("10 destinations in {}; ports: consumption channels a node needs", mesh.name());
    println!("algorithm    worms  ports  latency in cycles at 0.005, 0.015, 0.025 messages/node/us");
    for algorithm in algorithms {
        // The source's row is the fourth: three destinations on it, the others spread over the mesh.
        let destinations = [0, 9, 15, 18, 24, 30, 31, 44, 50, 61].map(NodeId::new);
        let multicast = Multicast::new(NodeId::new(27), &destinations);
        let plan = algorithm.plan(&mesh, &multicast);
        plan.check(&mesh, &multicast)?;
        let dependencies = algorithm.dependencies(&mesh);
        let ports = (1..=8).find(|&ports| dependencies.deadlock(ports).is_none());

        let mut latencies = String::new();
        for rate in [0.005, 0.015, 0.025] {
            let scenario = Scenario::new(
                Arc::clone(&mesh),
                Arc::clone(&algorithm),
                &Switching::default(),
                &Timing::default(),
                &traffic(rate),
                &Run { messages: Some(2000), ..Run::default() },
            )?;
            let result = simulate(&scenario, EngineChoice::Auto, 1)?;
            let mean = result.latency.last.mean.filter(|_| !result.saturated && result.deadlock.is_none());
            latencies += &mean.map_or_else(|| "  saturated".to_owned(), |mean| format!("  {mean:9.0}"));
        }
        let ports = ports.map_or_else(|| "-".to_owned(), |ports| ports.to_string());
        println!("{:<11}  {:5}  {ports:>5}{latencies}", algorithm.name(), plan.worms.len());
    }
    Ok(())
}
