//! Which routers a routing relation reaches, and how long its routes are.

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, RouterId};

use crate::capabilities::ClosedForm;
use crate::relation::RoutingRelation;

/// Reach and route lengths of a routing relation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Survey {
    /// Whether there is a route between all routers at which worms start or end.
    pub connected: bool,
    /// The mean length in hops of the shortest permitted routes, over ordered pairs of different routers; `None` if some
    /// pair has no route, or there are no pairs.
    pub average_distance: Option<f64>,
    /// The average distance between nodes at different routers: routers count as often as they have nodes.
    pub node_distance: Option<f64>,
    /// The longest between routers.
    pub diameter: Option<u32>,
}

/// Adds distances up, between routers and between their nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    connected: bool,
    pairs: u64,
    total: u64,
    longest: u32,
    node_pairs: u64,
    node_total: u64,
}

impl Lengths {
    pub(crate) fn new() -> Self {
        Self { connected: true, pairs: 0, total: 0, longest: 0, node_pairs: 0, node_total: 0 }
    }

    /// The distance from one router to another with so many pairs of nodes; `None`: there is no route. Routers without nodes are not
    /// ends.
    #[inline]
    pub(crate) fn add(&mut self, pairs: usize, hops: Option<u32>) {
        self.add_but(pairs, 0, hops);
    }

    /// The same where some of these pairs are of one node, which sends nothing to itself.
    #[inline]
    fn add_but(&mut self, pairs: usize, own: usize, hops: Option<u32>) {
        let (pairs, node_pairs) = (pairs as u64, (pairs - own) as u64);
        if pairs == 0 {
            return;
        }
        let Some(hops) = hops else {
            self.connected = false;
            return;
        };
        self.pairs += 1;
        self.total += u64::from(hops);
        self.longest = self.longest.max(hops);
        self.node_pairs += node_pairs;
        self.node_total += node_pairs * u64::from(hops);
    }

    /// Adds what was added to another one.
    pub(crate) fn merge(&mut self, other: Self) {
        self.connected &= other.connected;
        self.pairs += other.pairs;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
        self.node_pairs += other.node_pairs;
        self.node_total += other.node_total;
    }

    /// The total hops of all pairs of nodes, which is how many channels their worms cross.
    pub(crate) fn node_hops(&self) -> u64 {
        self.node_total
    }

    fn average(&self, total: u64, pairs: u64) -> Option<f64> {
        (self.connected && pairs > 0).then(|| total as f64 / pairs as f64)
    }

    pub(crate) fn survey(&self) -> Survey {
        Survey {
            connected: self.connected,
            average_distance: self.average(self.total, self.pairs),
            node_distance: self.average(self.node_total, self.node_pairs),
            diameter: self.connected.then_some(self.longest),
        }
    }
}

/// Measures the shortest permitted routes between all pairs of routers with nodes: at switches without nodes no worm starts or ends.
///
/// Searches backwards from each target over the channels by which worms to it arrive: O(routers x channels), or O(dimensions) where the relation has a
/// [closed form](crate::ClosedForm).
pub fn survey(relation: &dyn RoutingRelation) -> Survey {
    let Some((closed_form, nodes)) = <dyn ClosedForm>::of(relation) else { return survey_of_routes(relation) };
    let routers = relation.network().routers() as u128;
    let pairs = routers * (routers - 1);
    let (total, longest) = closed_form.lengths();
    let average = |each: u128| (pairs > 0).then(|| (each * total) as f64 / (each * pairs) as f64);
    Survey {
        connected: true,
        average_distance: average(1),
        node_distance: average(u128::from(nodes) * u128::from(nodes)),
        diameter: Some(longest),
    }
}

/// The same by searches.
pub(crate) fn survey_of_routes(relation: &dyn RoutingRelation) -> Survey {
    let network = relation.network();
    let targets: Vec<RouterId> = network.router_ids().filter(|&router| network.nodes_of(router).len() > 0).collect();
    let mut lengths = Lengths::new();
    for_each_target(relation, &targets, |found| lengths.merge(found));
    lengths.survey()
}

/// The routes to one router from all others at which worms start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutesTo {
    /// The router.
    pub target: RouterId,
    /// Whether there is a route from each.
    pub connected: bool,
    /// From how many there is one.
    pub sources: u64,
    /// The sum of the lengths of shortest permitted routes from these, in hops.
    pub hops: u64,
    /// The longest of them.
    pub longest: u32,
    /// Pairs of nodes that they are for.
    pub node_pairs: u64,
    /// The sum of their lengths over these pairs, which is how many channels the worms of all of them cross.
    pub node_hops: u64,
}

impl RoutesTo {
    pub(crate) fn new(target: RouterId, lengths: Lengths) -> Self {
        let Lengths { connected, pairs, total, longest, node_pairs, node_total } = lengths;
        Self { target, connected, sources: pairs, hops: total, longest, node_pairs, node_hops: node_total }
    }
}

/// Measures the shortest permitted routes to some routers, in their order: for samples of networks in which those of [all pairs](survey) take too long.
///
/// O(channels) for each target, times the channels that a header may take at a router.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{ECube, survey_to};
///
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let routes = survey_to(&ECube::new(&line)?, &[RouterId::new(1), RouterId::new(3)]);
/// assert_eq!([(routes[0].hops, routes[0].longest), (routes[1].hops, routes[1].longest)], [(1 + 1 + 2, 2), (3 + 2 + 1, 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn survey_to(relation: &dyn RoutingRelation, targets: &[RouterId]) -> Vec<RoutesTo> {
    if let Some(turns) = relation.capabilities().turns {
        return turns.routes_to(targets);
    }
    let mut found = Vec::with_capacity(targets.len());
    for_each_target(relation, targets, |lengths| found.push(lengths));
    targets.iter().zip(found).map(|(&target, lengths)| RoutesTo::new(target, lengths)).collect()
}

/// Searches backwards from each target.
pub(crate) fn for_each_target(relation: &dyn RoutingRelation, targets: &[RouterId], mut found: impl FnMut(Lengths)) {
    let network = &**relation.network();
    // Unidirectional networks are entered elsewhere than they are left.
    let nodes_at = network.entering_nodes();
    let starts = || network.router_ids().filter(|router| nodes_at[router.index()] > 0);
    let mut hops = vec![u32::MAX; network.channels()];
    let mut candidates = Vec::new();
    let (mut frontier, mut next, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for (searched, &target) in targets.iter().enumerate() {
        step("measuring routes", "destinations", searched, targets.len());
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
                        relation.candidates(at, Some(arriving), target, &mut candidates);
                        if candidates.contains(&channel) {
                            hops[arriving.index()] = distance;
                            next.push(arriving);
                        }
                    }
                }
            }
            std::mem::swap(&mut frontier, &mut next);
        }
        // Where links lead one way, a node sends from another router than it receives at.
        own.clear();
        own.extend(network.nodes_of(target).map(|node| network.entry_of(node)).filter(|&entry| entry != target));
        let mut lengths = Lengths::new();
        for source in starts().filter(|&source| source != target) {
            relation.candidates(source, None, target, &mut candidates);
            let shortest = candidates.iter().map(|c: &ChannelId| hops[c.index()]).min();
            let nodes = nodes_at[source.index()] as usize * network.nodes_of(target).len();
            let of_one_node = own.iter().filter(|&&entry| entry == source).count();
            lengths.add_but(nodes, of_one_node, shortest.filter(|&hops| hops != u32::MAX));
        }
        found(lengths);
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
            let (e_cube, negative_first) = (ECube::new(&network).unwrap(), NegativeFirst::new(&network).unwrap());
            for relation in [&e_cube as &dyn RoutingRelation, &negative_first] {
                let survey = survey(relation);
                assert!(survey.connected);
                assert_eq!(survey.diameter, distances.diameter);
                assert!((survey.average_distance.unwrap() - distances.average.unwrap()).abs() < 1e-12);
            }
        }
    }

    /// Switches without nodes do not count.
    #[test]
    fn turnaround_routes_are_as_long_as_common_ancestors_are_high() {
        let network = "bmin:2x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let found = survey(&crate::Turnaround::new(&network, crate::Adaptivity::Adaptive).unwrap());
        // From each of four switches one other is 2 hops away, and two are 4.
        assert_eq!(
            found,
            Survey {
                connected: true,
                average_distance: Some(10.0 / 3.0),
                node_distance: Some(10.0 / 3.0),
                diameter: Some(4)
            }
        );
    }

    #[test]
    fn unidirectional_routes_cross_all_stages() {
        for spec in ["omega:3x3", "butterfly:2x3"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let found = survey(&crate::DestinationTag::new(&network).unwrap());
            assert_eq!(
                found,
                Survey { connected: true, average_distance: Some(2.0), node_distance: Some(2.0), diameter: Some(2) }
            );
            assert_eq!(
                crate::Dependencies::of_relation(&crate::DestinationTag::new(&network).unwrap()).deadlock(1),
                None
            );
        }
    }

    /// In two dimensions the Hamiltonian routing function takes shortest paths (Lin, McKinley and Ni 1994, Lemma 1).
    #[test]
    fn hamiltonian_routes_are_shortest_in_two_dimensions() {
        let mesh = "mesh:5x4".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(
            survey(&Hamiltonian::new(&mesh).unwrap()).average_distance,
            survey(&ECube::new(&mesh).unwrap()).average_distance
        );
    }
}
