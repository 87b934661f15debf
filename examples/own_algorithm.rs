//! An algorithm of one's own, in every command of wormcast: `docs/guide/algorithm.md` explains this file step by step.
//!
//! The comb sends worms along e-cube paths, like column-path: along the source's row (the back of the comb), then along one
//! column (a tooth). Unlike column-path, a worm also delivers on its way along the row, so that destinations in the source's
//! row rarely cost a worm of their own.
//!
//! ```sh
//! cargo run --release --example own_algorithm -- plan --topology mesh:8x8 --algorithm comb --source 3,3 --destinations '1,3;6,3;6,6'
//! ```

use std::collections::BTreeMap;
use std::process::ExitCode;

use wormcast::multicast::{Algorithm, Descriptor, Family, Multicast, Plan, Worm};
use wormcast::network::{ChannelId, Network, NodeId};
use wormcast::routing::{Dependencies, E_CUBE, ECube, RoutingRelation, WormRule};

/// The comb, for a mesh of two dimensions.
struct Comb {
    routing: ECube,
}

/// What users are told of it, what it needs, and how it is made for a network.
const COMB: Descriptor = Descriptor::new("comb", 1, |network, _| Ok(Box::new(Comb { routing: ECube::new(network)? })))
    .about("along the row, delivering on the way, then along one column")
    .on(Family::Mesh2d)
    .routed_by(&E_CUBE);

impl Algorithm for Comb {
    fn name(&self) -> &'static str {
        COMB.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let grid = self.routing.grid();
        let at = |node: NodeId| {
            let router = self.network().router_of(node).index();
            (grid.coordinate(router, 0), grid.coordinate(router, 1))
        };
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
            let tooth = furthest.filter(|&(x, _)| x.abs_diff(x0) >= at(last).0.abs_diff(x0));
            // Or else a worm of their own, as far as the last of them.
            let tooth = tooth.unwrap_or((at(last).0, true));
            teeth.entry(tooth).or_default().splice(0..0, row);
        }
        Plan { worms: teeth.into_values().map(|stops| Worm::path(multicast.source(), stops)).collect() }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &ECubeStops)
    }
}

/// E-cube paths that may stop anywhere.
struct ECubeStops;

impl WormRule for ECubeStops {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        match (network.heading(arriving), network.heading(leaving)) {
            // One dimension after the other, and never back.
            (Some((d1, along1)), Some((d2, along2))) => d1 < d2 || (d1 == d2 && along1 == along2),
            _ => false,
        }
    }

    fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
        true
    }
}

fn main() -> ExitCode {
    wormcast::command::run_with([COMB])
}

#[cfg(test)]
mod tests {
    use wormcast::multicast::check_contract;
    use wormcast::network::TopologySpec;

    use super::*;

    fn comb(mesh: &str) -> Comb {
        Comb { routing: ECube::new(&mesh.parse::<TopologySpec>().unwrap().build().unwrap()).unwrap() }
    }

    #[test]
    fn every_multicast_to_three_nodes_keeps_the_contract() {
        for mesh in ["mesh:4x4", "mesh:3x2,nodes=2"] {
            let comb = comb(mesh);
            let nodes: Vec<NodeId> = comb.network().node_ids().collect();
            for &source in &nodes {
                for (i, &a) in nodes.iter().enumerate() {
                    for (j, &b) in nodes[..i].iter().enumerate() {
                        for &c in &nodes[..j] {
                            check_contract(&comb, &Multicast::new(source, &[a, b, c])).unwrap();
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn three_consumption_channels_rule_deadlock_out_and_two_do_not() {
        let comb = comb("mesh:8x8");
        assert!(comb.dependencies().deadlock(3).is_none());
        assert!(comb.dependencies().deadlock(2).is_some());
    }
}
