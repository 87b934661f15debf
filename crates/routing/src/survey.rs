//! How far a routing relation leads.

use wormcast_network::{ChannelId, Network, RouterId};

use crate::relation::RoutingRelation;

/// Reach and route lengths of a routing relation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Survey {
    /// Whether every router that worms start at or go to has a route to every other of them.
    pub connected: bool,
    /// The mean length in hops of the shortest permitted routes, over ordered pairs of different routers; `None` if some
    /// pair has no route.
    pub average_distance: Option<f64>,
    /// The longest of them.
    pub diameter: Option<u32>,
}

/// Measures the shortest permitted routes between all pairs of routers with nodes: switches without are no ends of worms.
///
/// Searches backwards from each target over the channels by which worms to it arrive: O(routers x channels).
pub fn survey(network: &Network, relation: &dyn RoutingRelation) -> Survey {
    let ends = || (0..network.routers() as u32).map(RouterId::new).filter(|&router| network.nodes_of(router).len() > 0);
    let entries = network.entries();
    let starts = || (0..network.routers() as u32).map(RouterId::new).filter(|router| entries[router.index()]);
    let mut pairs = 0u64;
    let (mut total, mut diameter, mut connected) = (0u64, 0, true);
    let mut hops = vec![u32::MAX; network.channels()];
    let mut candidates = Vec::new();
    let (mut frontier, mut next) = (Vec::new(), Vec::new());
    for target in ends() {
        // hops[c]: from the start of channel c to the target.
        hops.fill(u32::MAX);
        frontier.clear();
        let entering = |router: RouterId| network.inputs(router);
        for channel in entering(target) {
            hops[channel.index()] = 1;
            frontier.push(channel);
        }
        let mut distance = 1;
        while !frontier.is_empty() {
            distance += 1;
            next.clear();
            for &channel in &frontier {
                let at = network.from(channel);
                if at == target {
                    continue;
                }
                for arriving in entering(at).filter(|c| network.from(*c) != target) {
                    if hops[arriving.index()] == u32::MAX {
                        relation.candidates(network, at, Some(arriving), target, &mut candidates);
                        if candidates.contains(&channel) {
                            hops[arriving.index()] = distance;
                            next.push(arriving);
                        }
                    }
                }
            }
            std::mem::swap(&mut frontier, &mut next);
        }
        for source in starts().filter(|&source| source != target) {
            pairs += 1;
            relation.candidates(network, source, None, target, &mut candidates);
            let shortest = candidates.iter().map(|c: &ChannelId| hops[c.index()]).min();
            match shortest {
                None | Some(u32::MAX) => connected = false,
                Some(length) => {
                    total += u64::from(length);
                    diameter = diameter.max(length);
                }
            }
        }
    }
    let pairs = pairs.max(1);
    Survey {
        connected,
        average_distance: connected.then_some(total as f64 / pairs as f64),
        diameter: connected.then_some(diameter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ECube, Hamiltonian, NegativeFirst};
    use wormcast_network::TopologySpec;

    #[test]
    fn minimal_relations_are_as_long_as_distances() {
        for spec in ["mesh:4x5", "mesh:3x2x3", "hypercube:4"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let distances = network.distances();
            for relation in [&ECube as &dyn RoutingRelation, &NegativeFirst] {
                let survey = survey(&network, relation);
                assert!(survey.connected);
                assert_eq!(survey.diameter, distances.diameter);
                assert!((survey.average_distance.unwrap() - distances.average.unwrap()).abs() < 1e-12);
            }
        }
    }

    /// Switches that no node is at do not count.
    #[test]
    fn turnaround_routes_are_as_long_as_common_ancestors_are_high() {
        let network = "bmin:2x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let found = survey(&network, &crate::Turnaround::new(crate::Choice::Adaptive));
        // From each of four switches one other is 2 hops away, and two are 4.
        assert_eq!(found, Survey { connected: true, average_distance: Some(10.0 / 3.0), diameter: Some(4) });
    }

    #[test]
    fn one_way_routes_cross_all_stages() {
        for spec in ["omega:3x3", "butterfly:2x3"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let found = survey(&network, &crate::DestinationTag);
            assert_eq!(found, Survey { connected: true, average_distance: Some(2.0), diameter: Some(2) });
            assert_eq!(crate::Dependencies::of_relation(&network, &crate::DestinationTag).deadlock(1), None);
        }
    }

    /// In two dimensions the Hamiltonian routing function takes shortest paths (Lin, McKinley and Ni 1994, Lemma 1).
    #[test]
    fn hamiltonian_routes_are_shortest_in_two_dimensions() {
        let mesh = "mesh:5x4".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(survey(&mesh, &Hamiltonian).average_distance, survey(&mesh, &ECube).average_distance);
    }
}
