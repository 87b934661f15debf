//! The negative-first algorithms against exhaustive search: no plan with fewer worms exists.
//!
//! The search knows meshes only as boxes of integer points and negative-first paths only by their definition (paper 1,
//! Definition 3); it shares nothing with the algorithms.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use wormcast_multicast::{AlgorithmOptions, Greedy, Multicast, Options, algorithm_by_name};
use wormcast_network::{NodeId, TopologySpec};

/// A multicast in a mesh; points are coordinates.
#[derive(Clone, Debug)]
struct Instance {
    extents: Vec<u32>,
    source: Vec<u32>,
    destinations: Vec<Vec<u32>>,
}

/// Which paths a worm may take.
#[derive(Clone, Copy, PartialEq)]
enum Paths {
    /// Any negative-first path.
    Any,
    /// Negative-first paths that reach every stop on a shortest path from the source.
    Shortest,
}

/// A state of the search: where the worm is, whether it has made a positive move, and which destinations it has met.
type State = (Vec<u32>, bool, usize);

impl Instance {
    /// For each set of destinations (a bit each), whether one worm can deliver to all of it.
    fn coverable(&self, paths: Paths) -> Vec<bool> {
        let met = |at: &[u32]| self.destinations.iter().position(|d| d == at).map_or(0, |bit| 1 << bit);
        let from_source = |at: &[u32]| -> u32 { at.iter().zip(&self.source).map(|(&a, &s)| a.abs_diff(s)).sum() };
        let mut coverable = vec![false; 1 << self.destinations.len()];
        let start: State = (self.source.clone(), false, 0);
        let mut seen: HashSet<State> = HashSet::from([start.clone()]);
        let mut work = vec![start];
        while let Some((at, positive, mask)) = work.pop() {
            coverable[mask] = true;
            for dimension in 0..at.len() {
                for step in [-1, 1] {
                    let Some(c) = at[dimension].checked_add_signed(step).filter(|&c| c < self.extents[dimension])
                    else {
                        continue;
                    };
                    if positive && step < 0 {
                        continue;
                    }
                    let mut next = at.clone();
                    next[dimension] = c;
                    // A path is shortest to its end exactly if each move leads away from the source.
                    if paths == Paths::Shortest && from_source(&next) < from_source(&at) {
                        continue;
                    }
                    let mask = mask | met(&next);
                    let state = (next, positive || step > 0, mask);
                    if seen.insert(state.clone()) {
                        work.push(state);
                    }
                }
            }
        }
        // A worm need not deliver wherever it passes.
        for mask in (0..coverable.len()).rev().filter(|&mask| mask != 0) {
            if coverable[mask] {
                (0..self.destinations.len()).for_each(|bit| coverable[mask & !(1 << bit)] = true);
            }
        }
        coverable
    }

    /// The fewest worms that deliver to all destinations: dynamic programming over sets.
    fn fewest_worms(&self, paths: Paths) -> usize {
        let coverable = self.coverable(paths);
        let mut fewest = vec![0; coverable.len()];
        for mask in 1..coverable.len() {
            let mut best = usize::MAX;
            let mut part = mask;
            while part != 0 {
                if coverable[part] {
                    best = best.min(1 + fewest[mask & !part]);
                }
                part = (part - 1) & mask;
            }
            fewest[mask] = best;
        }
        fewest[coverable.len() - 1]
    }

    /// The size of the largest set of points of which none contains another, by trying all sets.
    fn width(points: &[&Vec<u32>]) -> usize {
        let contains = |a: &[u32], b: &[u32]| b.iter().zip(a).all(|(b, a)| b <= a);
        let antichain = |set: &usize| {
            let members: Vec<_> = (0..points.len()).filter(|i| set >> i & 1 == 1).collect();
            members.iter().all(|&i| members.iter().all(|&j| i == j || !contains(points[i], points[j])))
        };
        (0..1usize << points.len()).filter(antichain).map(|set| set.count_ones() as usize).max().unwrap_or(0)
    }

    /// The certificate of Theorem 1: max(width(D without SW), ceil(width(D) / 2)).
    fn certificate(&self) -> usize {
        let all: Vec<&Vec<u32>> = self.destinations.iter().collect();
        let southwest = |point: &[u32]| point.iter().zip(&self.source).all(|(p, s)| p <= s);
        let outside: Vec<&Vec<u32>> = self.destinations.iter().filter(|d| !southwest(d)).collect();
        Self::width(&outside).max(Self::width(&all).div_ceil(2))
    }

    /// How many worms the algorithm of this name sends.
    fn worms(&self, algorithm: &str) -> usize {
        self.worms_with(algorithm, None)
    }

    fn worms_with(&self, algorithm: &str, greedy: Option<Greedy>) -> usize {
        let extents = self.extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let mesh = format!("mesh:{extents}").parse::<TopologySpec>().unwrap().build().unwrap();
        let grid = mesh.shape().mesh().unwrap();
        let node = |point: &Vec<u32>| NodeId::new(grid.index(point) as u32);
        let destinations: Vec<NodeId> = self.destinations.iter().map(node).collect();
        let multicast = Multicast::new(node(&self.source), &destinations);
        let own = AlgorithmOptions { greedy, ..AlgorithmOptions::default() };
        let options = Options { own, ..Options::default() };
        let plan = algorithm_by_name(algorithm, &mesh, &options).unwrap().plan(&multicast);
        plan.check(&mesh, &multicast).unwrap();
        plan.worms.len()
    }

    fn check_pure(&self) -> TestCaseResult {
        let fewest = self.fewest_worms(Paths::Any);
        prop_assert_eq!(self.worms("pure-negative-first"), fewest);
        prop_assert_eq!(self.certificate(), fewest);
        if self.extents.len() == 2 {
            // Section 3.2: "the row-greedy algorithm could also be used here".
            prop_assert_eq!(self.worms_with("pure-negative-first", Some(Greedy::Rows)), fewest);
        }
        Ok(())
    }

    fn check_minimal(&self) -> TestCaseResult {
        let fewest = self.fewest_worms(Paths::Shortest);
        prop_assert_eq!(self.worms("minimal-negative-first-optimal"), fewest);
        let minimal = self.worms("minimal-negative-first");
        prop_assert!(minimal >= fewest);
        if self.extents.len() == 2 {
            // Section 3.3: either algorithm makes the fewest lists for the southwest and the northeast.
            prop_assert_eq!(self.worms_with("minimal-negative-first", Some(Greedy::Rows)), minimal);
        }
        Ok(())
    }
}

/// Meshes of `dimensions` dimensions with up to `side` routers along each, any source, up to `most` destinations; large
/// meshes with many destinations are the most likely.
fn instances(dimensions: usize, side: u32, most: usize) -> impl Strategy<Value = Instance> {
    let extent = prop_oneof![1 => 1..=side, 3 => Just(side)];
    prop::collection::vec(extent, dimensions).prop_flat_map(move |extents| {
        let point = extents.iter().map(|&k| 0..k).collect::<Vec<_>>();
        let count = prop_oneof![1 => 0..=most, 3 => Just(most)];
        // Repetitions and the source drop out.
        let destinations = count.prop_flat_map({
            let point = point.clone();
            move |count| prop::collection::vec(point.clone(), count)
        });
        (Just(extents), point, destinations).prop_map(|(extents, source, destinations)| {
            let distinct: BTreeSet<Vec<u32>> = destinations.into_iter().filter(|point| *point != source).collect();
            Instance { extents, source, destinations: distinct.into_iter().collect() }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn pure_sends_the_fewest_worms(instance in instances(2, 5, 7)) {
        instance.check_pure()?;
    }

    #[test]
    fn minimal_optimal_sends_the_fewest_worms(instance in instances(2, 5, 7)) {
        instance.check_minimal()?;
    }

    #[test]
    fn pure_sends_the_fewest_worms_in_three_dimensions(instance in instances(3, 3, 7)) {
        instance.check_pure()?;
    }

    #[test]
    fn minimal_optimal_sends_the_fewest_worms_in_three_dimensions(instance in instances(3, 3, 7)) {
        instance.check_minimal()?;
    }
}

/// Every mesh up to 5x5 and every source in it, with ten sets of up to seven destinations each: 2,250 cases.
#[test]
fn every_source_of_every_mesh_up_to_5x5() {
    let mut state = 1u32;
    let mut draw = |below: u32| {
        // The generator of Numerical Recipes: its high bits will do.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut cases = 0;
    for (width, height) in (1..=5).flat_map(|width| (1..=5).map(move |height| (width, height))) {
        for index in 0..width * height {
            let source = vec![index % width, index / width];
            for _ in 0..10 {
                let count = draw(8);
                let drawn: BTreeSet<Vec<u32>> = (0..count).map(|_| vec![draw(width), draw(height)]).collect();
                let destinations = drawn.into_iter().filter(|point| *point != source).collect();
                let instance = Instance { extents: vec![width, height], source: source.clone(), destinations };
                let checked = instance.check_pure().and_then(|()| instance.check_minimal());
                assert!(checked.is_ok(), "{instance:?}: {checked:?}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 2250);
}

/// Paper 1, Theorem 2 is false for Figure 7 as printed: (0,0) lies on the way from (1,0) to (0,1).
#[test]
fn counterexample_to_theorem_2() {
    let instance = Instance { extents: vec![2, 2], source: vec![1, 0], destinations: vec![vec![0, 0], vec![0, 1]] };
    assert_eq!(instance.fewest_worms(Paths::Shortest), 1);
    assert_eq!(instance.worms("minimal-negative-first-optimal"), 1);
    assert_eq!(instance.worms("minimal-negative-first"), 2);
}
