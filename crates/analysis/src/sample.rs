//! Distances in networks where the routes between all pairs take too long: from a sample of destinations.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use wormcast_network::{Network, RouterId};
use wormcast_routing::{ClosedForm, RoutesTo, RoutingRelation, TurnSet, survey_to};

/// The destinations to which routes are measured, drawn from all routers that have nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// How many. Intervals are not to be trusted below some [30](Self::LEAST).
    pub destinations: usize,
    /// The seed of the draw.
    pub seed: u64,
}

/// What the distances of a report are estimated from, and how well.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sampled {
    /// The routers with nodes to which routes were measured, from all others.
    pub destinations: usize,
    /// The routers that they were drawn from.
    pub of: usize,
    /// The seed of the draw.
    pub seed: u64,
    /// The half-width of the 95% interval of the average distance between routers; `None` if all that were drawn are alike, which says nothing of those that were not.
    pub average_distance_half_width: Option<f64>,
    /// And of that between nodes.
    pub node_distance_half_width: Option<f64>,
    /// The longest route that was found: the diameter is at least this.
    pub longest: u32,
    /// The mean load of channels, in pairs of nodes.
    pub mean_load: Option<f64>,
    /// The half-width of its 95% interval.
    pub mean_load_half_width: Option<f64>,
    /// The prohibited turns that were drawn, for a routing over permitted turns that prohibits more than there are destinations in the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<SampledTurns>,
}

/// Prohibited turns that were drawn at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SampledTurns {
    /// How many.
    pub drawn: usize,
    /// How many of them are needed: those that would close a cycle if they were permitted.
    pub needed: usize,
}

/// A mean, and the half-width of its 95% interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) half_width: Option<f64>,
}

/// What a sample says of the routes between all pairs.
pub(crate) struct Routes {
    pub(crate) sampled: Sampled,
    /// `None` if some pair has no route, or there are no pairs.
    pub(crate) average_distance: Option<Mean>,
    pub(crate) node_distance: Option<Mean>,
    /// Whether all routes that were looked for exist.
    pub(crate) all_found: bool,
}

impl Sample {
    /// The fewest destinations that are drawn: of fewer, one that differs from the others is too often missed.
    pub const LEAST: u32 = 30;

    /// Why it makes no difference: then all pairs are measured.
    pub fn is_idle(self, relation: &dyn RoutingRelation) -> Option<String> {
        let all = destinations(relation.network()).count();
        if <dyn ClosedForm>::of(relation).is_some() {
            return Some(format!("distances of `{}` are known without a search", relation.name()));
        }
        let routers = if all == 1 { "1 router" } else { &format!("{all} routers") };
        (all <= self.destinations).then(|| format!("{routers} with nodes are all measured"))
    }

    /// Measures the routes to routers drawn at random, all of them equally likely, each at most once.
    pub(crate) fn routes(self, relation: &dyn RoutingRelation) -> Routes {
        let network = relation.network();
        let mut all: Vec<RouterId> = destinations(network).collect();
        let of = all.len();
        self.draw(&mut all);
        let count = all.len();
        let routes = survey_to(relation, &all);
        let all_found = routes.iter().all(|to| to.connected);
        let mean = |of_pairs: fn(&RoutesTo) -> (u64, u64)| {
            let pairs: Vec<(f64, f64)> =
                routes.iter().map(of_pairs).map(|(hops, pairs)| (hops as f64, pairs as f64)).collect();
            ratio(&pairs, of).filter(|_| all_found)
        };
        let average_distance = mean(|to| (to.hops, to.sources));
        let node_distance = mean(|to| (to.node_hops, to.node_pairs));
        // Each destination stands for as many as there are for each that was drawn; all send over the same channels.
        let loads: Vec<(f64, f64)> = routes.iter().map(|to| (to.node_hops as f64, 1.0)).collect();
        let each = of as f64 / network.channels().max(1) as f64;
        let mean_load = ratio(&loads, of);
        Routes {
            sampled: Sampled {
                destinations: count,
                of,
                seed: self.seed,
                average_distance_half_width: average_distance.and_then(|mean| mean.half_width),
                node_distance_half_width: node_distance.and_then(|mean| mean.half_width),
                longest: routes.iter().map(|to| to.longest).max().unwrap_or(0),
                mean_load: mean_load.map(|mean| mean.value * each),
                mean_load_half_width: mean_load.and_then(|mean| mean.half_width).map(|half_width| half_width * each),
                turns: None,
            },
            average_distance,
            node_distance,
            all_found,
        }
    }
}

impl Sample {
    /// Keeps as many of these as there are destinations, all sets of them equally likely.
    fn draw<T>(self, all: &mut Vec<T>) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let count = self.destinations.min(all.len());
        for place in 0..count {
            let other = random.random_range(place..all.len());
            all.swap(place, other);
        }
        all.truncate(count);
    }

    /// Draws prohibited turns, and counts those that are needed; `None` if there are no more than it would draw.
    pub(crate) fn turns(self, network: &Network, turns: &TurnSet) -> Option<SampledTurns> {
        if turns.prohibited_turns() <= self.destinations as u64 {
            return None;
        }
        let mut all: Vec<_> = turns.prohibited(network).collect();
        self.draw(&mut all);
        Some(SampledTurns { drawn: all.len(), needed: turns.needed(network, &all)? })
    }
}

/// The routers to which worms go.
fn destinations(network: &Network) -> impl Iterator<Item = RouterId> + '_ {
    network.router_ids().filter(|&router| network.nodes_of(router).len() > 0)
}

/// The ratio of the totals of two quantities in a population of `of`, from those of some members drawn without replacement, with a 95% interval (Cochran 1977,
/// chapter 6), unless all that were drawn are alike and others are left; `None` for fewer than two.
fn ratio(drawn: &[(f64, f64)], of: usize) -> Option<Mean> {
    let count = drawn.len();
    let (above, below) = drawn.iter().fold((0.0, 0.0), |(above, below), &(a, b)| (above + a, below + b));
    if count < 2 || below <= 0.0 {
        return None;
    }
    let value = above / below;
    let squares: f64 = drawn.iter().map(|(a, b)| (a - value * b).powi(2)).sum();
    let left_out = 1.0 - count as f64 / of as f64;
    let variance = left_out * squares / (count - 1) as f64 / count as f64;
    let quantile = StudentsT::new(0.0, 1.0, (count - 1) as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
    let half_width = quantile * variance.max(0.0).sqrt() / (below / count as f64);
    // Not what rounding leaves of equal ones.
    let tells = count == of || half_width > 1e-12 * value.abs();
    Some(Mean { value, half_width: tells.then_some(half_width) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wormcast_network::TopologySpec;
    use wormcast_routing::{RoutingOptions, routing_by_name, survey};

    use super::*;

    fn network(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    /// How many of 1,000 intervals hold the true mean, and how many would if half-widths were `times` as large.
    fn covered(spec: &str, routing: &str, destinations: usize, times: f64) -> (u32, u32) {
        let network = network(spec);
        let relation = routing_by_name(routing, &network, &RoutingOptions::default()).unwrap();
        let truth = survey(relation.as_ref()).average_distance.unwrap();
        let (mut held, mut would) = (0, 0);
        for seed in 0..1000 {
            let found = Sample { destinations, seed }.routes(relation.as_ref());
            let Mean { value, half_width } = found.average_distance.unwrap();
            let half_width = half_width.unwrap();
            held += u32::from((value - truth).abs() <= half_width);
            would += u32::from((value - truth).abs() <= half_width * times);
        }
        (held, would)
    }

    /// Of 1,000 intervals at 95%, 950 should, with a standard deviation of 7.
    #[test]
    fn intervals_hold_the_true_mean_as_often_as_they_say() {
        for (spec, routing, destinations) in [
            ("random:nodes=300,degree=4,seed=1", "turn-prohibition", 20),
            ("random:nodes=300,degree=4,seed=1", "up-down", 100),
            ("mesh:12x12", "west-first", 30),
        ] {
            let (held, _) = covered(spec, routing, destinations, 1.0);
            assert!((930..=970).contains(&held), "{spec}: {held}");
        }
    }

    /// Half of the destinations are known: as if they had been drawn from many more, intervals are too wide.
    #[test]
    fn what_was_drawn_is_known() {
        let (held, without) = covered("random:nodes=200,degree=4,seed=2", "up-down", 100, 2.0f64.sqrt());
        assert!((930..=970).contains(&held) && without > 980, "{held} and {without}");
    }

    #[test]
    fn ratios_are_those_computed_by_hand() {
        // 2 + 3 + 7 hops over 1 + 2 + 3 pairs: 2 a pair; 0, -1 and 1 are left, so the variance is (1 - 3/12) x 2/2 / 3 = 1/4.
        let found = ratio(&[(2.0, 1.0), (3.0, 2.0), (7.0, 3.0)], 12).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.half_width.unwrap() - 4.3027 * 0.5 / 2.0).abs() < 1e-3, "{found:?}");
        assert_eq!(ratio(&[(2.0, 1.0)], 12), None);
        // Three alike of twelve say nothing of the other nine; of three they are all.
        let alike = [(2.0, 1.0); 3];
        assert_eq!(ratio(&alike, 12), Some(Mean { value: 2.0, half_width: None }));
        assert_eq!(ratio(&alike, 3), Some(Mean { value: 2.0, half_width: Some(0.0) }));
    }

    /// Of destinations that are all alike, as many as there are have the same mean.
    #[test]
    fn no_node_sends_to_itself() {
        for spec in ["butterfly:2x3", "omega:2x4"] {
            let network = network(spec);
            let relation = routing_by_name("destination-tag", &network, &RoutingOptions::default()).unwrap();
            let load = wormcast_routing::link_load(relation.as_ref()).unwrap();
            let found = Sample { destinations: 2, seed: 0 }.routes(relation.as_ref()).sampled;
            assert!((found.mean_load.unwrap() - load.mean).abs() < 1e-9, "{spec}: {found:?}");
            assert_eq!((found.mean_load_half_width, found.average_distance_half_width), (None, None));
        }
    }

    /// All of a network are the network, whatever their order.
    #[test]
    fn a_sample_of_all_has_no_error() {
        for (spec, routing) in [
            ("random:nodes=60,degree=4,seed=1", "turn-prohibition"),
            ("bmin:2x3", "turnaround"),
            ("butterfly:2x3", "destination-tag"),
            ("omega:2x4", "destination-tag"),
        ] {
            let network = network(spec);
            let relation = routing_by_name(routing, &network, &RoutingOptions::default()).unwrap();
            let exact = survey(relation.as_ref());
            let load = wormcast_routing::link_load(relation.as_ref()).unwrap();
            let Routes { sampled, average_distance, node_distance, all_found } =
                Sample { destinations: 1000, seed: 4 }.routes(relation.as_ref());
            let same = |found: Option<Mean>, exact: Option<f64>| {
                let Mean { value, half_width } = found.unwrap();
                (value - exact.unwrap()).abs() < 1e-9 && half_width.unwrap().abs() < 1e-9
            };
            assert!(all_found && sampled.destinations == sampled.of);
            assert!(same(average_distance, exact.average_distance) && same(node_distance, exact.node_distance));
            assert!(Some(sampled.longest) == exact.diameter && (sampled.mean_load.unwrap() - load.mean).abs() < 1e-9);
        }
    }

    #[test]
    fn pairs_without_a_route_are_told() {
        let apart = Arc::new(Network::from_links("apart", 4, &[(0, 1), (2, 3)]));
        let turns = wormcast_routing::TurnRouting::new(
            "all turns",
            &apart,
            wormcast_routing::turn_prohibition(&apart),
            wormcast_routing::Adaptivity::Adaptive,
        );
        let found = Sample { destinations: 2, seed: 0 }.routes(&turns);
        assert!(!found.all_found && found.average_distance.is_none());
    }
}
