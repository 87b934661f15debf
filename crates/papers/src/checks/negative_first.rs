//! Section 3.2 and Theorems 1 and 2 of paper 1.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt;
use wormcast_multicast::{
    Algorithm, AlgorithmOptions, Descriptor, Greedy, MINIMAL_NEGATIVE_FIRST, MINIMAL_NEGATIVE_FIRST_OPTIMAL, Multicast,
    Options, PURE_NEGATIVE_FIRST, SEPARATE, Worm,
};
use wormcast_network::{Direction, Network, NodeId, RouterId, parse_node, parse_node_list};

use super::{CheckOutcome, generator, network};

/// Figures 5 and 6: an 8x8 mesh, a source and 18 destinations.
const SOURCE: &str = "4,3";
const DESTINATIONS: &str = "1,4;1,5;2,7;5,4;6,5;6,7;7,4;0,2;2,0;2,2;2,3;3,1;3,2;4,2;5,0;5,1;5,2;7,2";
const LISTS: [&str; 3] = ["4,2;3,2;3,1;0,2;1,4;1,5;2,7;6,7", "2,0;5,0;5,1;5,2;7,2;7,4", "2,2;2,3;5,4;6,5"];

/// Meshes for random multicasts.
const SPECS: [&str; 4] = ["mesh:4x4", "mesh:5x5", "mesh:5x3", "mesh:3x3x3"];

pub(super) fn example(_: bool) -> CheckOutcome {
    lists_of(&PURE_NEGATIVE_FIRST)
}

/// The minimal algorithm in the place of the pure one.
pub(super) fn example_of_minimal(_: bool) -> CheckOutcome {
    lists_of(&MINIMAL_NEGATIVE_FIRST)
}

fn lists_of(algorithm: &Descriptor) -> CheckOutcome {
    let mesh = network("mesh:8x8");
    let nodes = |text: &str| parse_node_list(&mesh, text).unwrap_or_default();
    let Ok(source) = parse_node(&mesh, SOURCE) else { unreachable!("{SOURCE} is a node of the mesh") };
    let plan = made(algorithm, None, &mesh).plan(&Multicast::new(source, &nodes(DESTINATIONS)));
    let lists: Vec<Vec<NodeId>> = plan.worms.iter().map(Worm::visits).collect();
    let holds = lists == LISTS.map(nodes);
    let lengths: Vec<String> = lists.iter().map(|list| list.len().to_string()).collect();
    CheckOutcome::of(holds, format!("{} lists of {} destinations", lists.len(), lengths.join(", ")))
}

pub(super) fn theorem_1(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial::of(&PURE_NEGATIVE_FIRST, false))
}

pub(super) fn theorem_2(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial::of(&MINIMAL_NEGATIVE_FIRST, true))
}

pub(super) fn theorem_2_joined(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial::of(&MINIMAL_NEGATIVE_FIRST_OPTIMAL, true))
}

/// The minimal algorithm in the place of the pure one.
pub(super) fn theorem_1_of_minimal(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial::of(&MINIMAL_NEGATIVE_FIRST, false))
}

/// Step 5 of Figure 4 with row-greedy lists.
pub(super) fn theorem_1_by_rows(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial { greedy: Some(Greedy::Rows), ..Trial::of(&PURE_NEGATIVE_FIRST, false) })
}

/// The southwest and the northeast with column-greedy lists.
pub(super) fn quadrants_by_columns(quick: bool) -> CheckOutcome {
    fewest(
        quick,
        &Trial { greedy: Some(Greedy::Columns), in_quadrants: true, ..Trial::of(&MINIMAL_NEGATIVE_FIRST, true) },
    )
}

/// The southwest and the northeast with row-greedy lists.
pub(super) fn quadrants_by_rows(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial { greedy: Some(Greedy::Rows), in_quadrants: true, ..Trial::of(&MINIMAL_NEGATIVE_FIRST, true) })
}

/// A list for each destination.
pub(super) fn quadrants_one_by_one(quick: bool) -> CheckOutcome {
    fewest(quick, &Trial { in_quadrants: true, ..Trial::of(&SEPARATE, true) })
}

/// An algorithm for meshes on one.
fn made(algorithm: &Descriptor, greedy: Option<Greedy>, mesh: &Arc<Network>) -> Box<dyn Algorithm> {
    let own = AlgorithmOptions { greedy, ..AlgorithmOptions::default() };
    match algorithm.make(mesh, &Options { own, ..Options::default() }) {
        Ok(made) => made,
        Err(error) => unreachable!("{error}"),
    }
}

/// What is compared with an exhaustive search.
struct Trial<'a> {
    algorithm: &'a Descriptor,
    /// How its lists are made; if that is said, on 2-D meshes only.
    greedy: Option<Greedy>,
    /// Whether each destination has to be met on a shortest path from the source.
    shortest: bool,
    /// Whether all destinations lie southwest or northeast of the source, and those in 2-D meshes.
    in_quadrants: bool,
}

impl<'a> Trial<'a> {
    fn of(algorithm: &'a Descriptor, shortest: bool) -> Self {
        Self { algorithm, greedy: None, shortest, in_quadrants: false }
    }

    /// Whether a destination is one of those that are tried.
    fn takes(&self, mesh: &Network, source: NodeId, node: NodeId) -> bool {
        let axes = mesh.shape().mesh().map(wormcast_network::Grid::axes).unwrap_or_default();
        let mut order = axes.iter().map(|axis| axis.coordinate(node.index()).cmp(&axis.coordinate(source.index())));
        let (below, above) = (order.clone().all(std::cmp::Ordering::is_le), order.all(std::cmp::Ordering::is_ge));
        node != source && (!self.in_quadrants || below || above)
    }
}

/// Compares the worms that an algorithm sends with the fewest that there can be, found by exhaustive search.
fn fewest(quick: bool, trial: &Trial) -> CheckOutcome {
    let plane = trial.greedy.is_some() || trial.in_quadrants;
    let specs: Vec<&str> = SPECS.into_iter().filter(|spec| !plane || spec.matches('x').count() == 1).collect();
    let meshes: Vec<Arc<Network>> = specs.iter().map(|spec| network(spec)).collect();
    let algorithms: Vec<_> = meshes.iter().map(|mesh| made(trial.algorithm, trial.greedy, mesh)).collect();
    let mut random = generator(1);
    let cases = if quick { 500 } else { 5_000 };
    let (mut exact, mut more, mut example) = (0, 0, None);
    for case in 0..cases {
        let (mesh, algorithm) = (&meshes[case % specs.len()], &algorithms[case % specs.len()]);
        let nodes = mesh.nodes() as u32;
        let source = NodeId::new(random.random_range(0..nodes));
        let drawn: BTreeSet<NodeId> = (0..7).map(|_| NodeId::new(random.random_range(0..nodes))).collect();
        let destinations: Vec<NodeId> = drawn.into_iter().filter(|&node| trial.takes(mesh, source, node)).collect();
        let worms = algorithm.plan(&Multicast::new(source, &destinations)).worms.len();
        let (at, shortest) = (mesh.router_of(source), trial.shortest);
        let least = Search { network: mesh, source: at, destinations: &destinations, shortest }.fewest();
        if worms == least {
            exact += 1;
        } else {
            more += 1;
            example.get_or_insert_with(|| {
                let names: Vec<String> = destinations.iter().map(|&node| mesh.node_label(node)).collect();
                let from = mesh.node_label(source);
                format!(
                    "{worms} instead of {least} from {from} to {} in {}",
                    names.join("; "),
                    specs[case % specs.len()]
                )
            });
        }
    }
    let because = match example {
        None => {
            format!("as many as an exhaustive search finds, in all {exact} random multicasts to up to 7 destinations")
        }
        Some(example) => format!("more in {more} of {cases} random multicasts to up to 7 destinations: {example}"),
    };
    CheckOutcome::of(more == 0, because)
}

/// An exhaustive search for the fewest negative-first paths: knows paths only by their definition, moves along channels.
struct Search<'a> {
    network: &'a Network,
    source: RouterId,
    destinations: &'a [NodeId],
    /// Whether each destination has to be met on a shortest path from the source.
    shortest: bool,
}

impl Search<'_> {
    fn fewest(&self) -> usize {
        let coverable = self.coverable();
        // The fewest for each set of destinations, a bit each: one path for a part, and the fewest for the rest.
        let mut fewest = vec![0; coverable.len()];
        for all in 1..coverable.len() {
            fewest[all] = usize::MAX;
            let mut part = all;
            while part != 0 {
                if coverable[part] {
                    fewest[all] = fewest[all].min(1 + fewest[all & !part]);
                }
                part = (part - 1) & all;
            }
        }
        fewest[coverable.len() - 1]
    }

    /// Whether one path can meet all destinations of a set.
    fn coverable(&self) -> Vec<bool> {
        let sets = 1usize << self.destinations.len();
        let met = |at: RouterId| {
            let here = self.destinations.iter().position(|&node| self.network.router_of(node) == at);
            here.map_or(0, |bit| 1usize << bit)
        };
        let mut coverable = vec![false; sets];
        let mut seen = vec![false; self.network.routers() * 2 * sets];
        let mut work = vec![(self.source, false, 0usize)];
        while let Some((at, positive, set)) = work.pop() {
            let state = (at.index() * 2 + usize::from(positive)) * sets + set;
            if std::mem::replace(&mut seen[state], true) {
                continue;
            }
            coverable[set] = true;
            let dimensions = self.network.shape().mesh().map_or(0, |grid| grid.axes().len());
            for dimension in 0..dimensions {
                for direction in [Direction::Negative, Direction::Positive] {
                    let up = direction == Direction::Positive;
                    let channel = self.network.channel_along(at, dimension, direction);
                    let Some(next) = channel.map(|channel| self.network.to(channel)) else { continue };
                    // A path is a shortest one exactly if each move leads away from its source.
                    if (positive && !up) || (self.shortest && self.distance(next) < self.distance(at)) {
                        continue;
                    }
                    work.push((next, positive || up, set | met(next)));
                }
            }
        }
        // A worm need not deliver wherever it passes.
        for set in (1..sets).rev().filter(|&set| set > 0) {
            if coverable[set] {
                (0..self.destinations.len()).for_each(|bit| coverable[set & !(1 << bit)] = true);
            }
        }
        coverable
    }

    fn distance(&self, at: RouterId) -> u32 {
        let axes = self.network.shape().mesh().map(wormcast_network::Grid::axes).unwrap_or_default();
        axes.iter().map(|axis| axis.coordinate(at.index()).abs_diff(axis.coordinate(self.source.index()))).sum()
    }
}
