//! Layout of irregular networks: distances in the picture match hop distances as well as possible.
//!
//! Stress majorisation (E. Gansner, Y. Koren, S. North, "Graph drawing by stress majorization", 2004) from a start by pivots (U. Brandes,
//! C. Pich, "Eigensolver methods for progressive multidimensional scaling of large data", 2007). Nothing is drawn at random, and only
//! operations are used whose results are the same on every machine.

use std::collections::VecDeque;

use crate::watch::step;

/// In components of up to this many routers all distances count; in larger ones, those to neighbours and to pivots.
const ALL_PAIRS: usize = 1000;
/// The routers to which distances count in large components.
const PIVOTS: usize = 50;
/// The most terms of the sum that are moved along, over all rounds: this bounds the time, to some seconds.
const WORK: usize = 50_000_000;
const ROUNDS: usize = 300;
/// How many others of a square a vertex is moved away from in a round, where there are many vertices.
const CROWD: usize = 16;
/// When no router moves further than this, in link lengths, the layout is done.
const STILL: f64 = 1e-3;

/// The links of a network by router, each neighbour once.
pub(super) struct Graph {
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Graph {
    /// The graph of pairs of routers, in any order and any number of times.
    pub(super) fn new(vertices: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<(u32, u32)> = pairs.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut first = vec![0; vertices + 1];
        for &(from, _) in &pairs {
            first[from as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            first[vertex + 1] += first[vertex];
        }
        Self { first, to: pairs.into_iter().map(|(_, to)| to).collect() }
    }

    pub(super) fn vertices(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.to[self.first[vertex] as usize..self.first[vertex + 1] as usize]
    }

    /// Distances from the nearest of some vertices; `u32::MAX` where there is no route.
    pub(super) fn distances(&self, from: impl Iterator<Item = usize>) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.vertices()];
        let mut queue = VecDeque::new();
        for start in from {
            distances[start] = 0;
            queue.push_back(start);
        }
        while let Some(vertex) = queue.pop_front() {
            for &next in self.neighbours(vertex) {
                if distances[next as usize] == u32::MAX {
                    distances[next as usize] = distances[vertex] + 1;
                    queue.push_back(next as usize);
                }
            }
        }
        distances
    }

    /// The connected components, each with its vertices in their order, the largest first.
    fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.vertices()];
        let mut components = Vec::new();
        for start in 0..self.vertices() {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let (mut component, mut next) = (vec![start], 0);
            while next < component.len() {
                for &neighbour in self.neighbours(component[next]) {
                    if !std::mem::replace(&mut seen[neighbour as usize], true) {
                        component.push(neighbour as usize);
                    }
                }
                next += 1;
            }
            component.sort_unstable();
            components.push(component);
        }
        components.sort_by_key(|component| std::cmp::Reverse(component.len()));
        components
    }
}

type Position = [f64; 2];

/// The places of all vertices, in lengths of a link, y downwards. Components lie beside and below each other.
pub(super) fn layout(graph: &Graph) -> Vec<Position> {
    let mut places = vec![[0.0; 2]; graph.vertices()];
    let parts: Vec<(Vec<usize>, Vec<Position>)> = graph
        .components()
        .into_iter()
        .map(|component| (component.clone(), Component::new(graph, &component).layout()))
        .collect();
    // Shelves, filled from left to right, as wide as the whole is high if all have the same form.
    let size = |of: &[Position]| -> Position {
        [0, 1].map(|axis| of.iter().map(|place| place[axis]).fold(0.0, f64::max) + 1.5)
    };
    let area: f64 = parts.iter().map(|(_, of)| size(of)[0] * size(of)[1]).sum();
    let width = parts.first().map_or(0.0, |(_, of)| size(of)[0]).max(1.2 * area.sqrt());
    let (mut left, mut top, mut shelf) = (0.0, 0.0, 0.0);
    for (component, of) in parts {
        let [wide, high] = size(&of);
        if left > 0.0 && left + wide > width {
            (left, top, shelf) = (0.0, top + shelf, 0.0);
        }
        for (&vertex, place) in component.iter().zip(&of) {
            places[vertex] = [left + place[0], top + place[1]];
        }
        left += wide;
        shelf = f64::max(shelf, high);
    }
    places
}

/// A connected part with its vertices numbered from 0.
struct Component {
    graph: Graph,
    /// The pivots, and the distances from each; all vertices in small components.
    pivots: Vec<usize>,
    distances: Vec<Vec<u32>>,
}

impl Component {
    fn new(whole: &Graph, vertices: &[usize]) -> Self {
        let number = |vertex: u32| vertices.binary_search(&(vertex as usize)).unwrap_or(0) as u32;
        let pairs = vertices.iter().enumerate().flat_map(|(own, &vertex)| {
            whole.neighbours(vertex).iter().map(move |&neighbour| (own as u32, number(neighbour)))
        });
        let graph = Graph::new(vertices.len(), pairs);
        let wanted = if vertices.len() <= ALL_PAIRS { vertices.len() } else { PIVOTS };
        // Each as far as can be from those before.
        let (mut pivots, mut distances) = (Vec::with_capacity(wanted), Vec::with_capacity(wanted));
        let mut nearest = vec![u32::MAX; vertices.len()];
        let mut next = 0;
        for pivot in 0..wanted {
            step("searching distances for the picture", "routers", pivot, wanted);
            let from = graph.distances(std::iter::once(next));
            for (near, &distance) in nearest.iter_mut().zip(&from) {
                *near = distance.min(*near);
            }
            pivots.push(next);
            distances.push(from);
            let farthest = nearest.iter().enumerate().max_by_key(|&(vertex, near)| (*near, std::cmp::Reverse(vertex)));
            next = farthest.map_or(0, |(vertex, _)| vertex);
        }
        Self { graph, pivots, distances }
    }

    fn layout(&self) -> Vec<Position> {
        let mut places = self.start();
        self.improve(&mut places);
        turn(&mut places);
        places
    }

    /// The two main axes of the pivots' distances, with a small displacement for vertices that have all distances in common.
    fn start(&self) -> Vec<Position> {
        let (n, k) = (self.graph.vertices(), self.pivots.len().min(PIVOTS));
        let square = |pivot: usize, vertex: usize| {
            f64::from(self.distances[pivot][vertex]) * f64::from(self.distances[pivot][vertex])
        };
        let row: Vec<f64> = (0..k).map(|pivot| (0..n).map(|v| square(pivot, v)).sum::<f64>() / n as f64).collect();
        let all = row.iter().sum::<f64>() / k as f64;
        let centred: Vec<Vec<f64>> = (0..n)
            .map(|vertex| {
                let mean = (0..k).map(|pivot| square(pivot, vertex)).sum::<f64>() / k as f64;
                (0..k).map(|pivot| -0.5 * (square(pivot, vertex) - mean - row[pivot] + all)).collect()
            })
            .collect();
        let product: Vec<Vec<f64>> =
            (0..k).map(|a| (0..k).map(|b| centred.iter().map(|of| of[a] * of[b]).sum()).collect()).collect();
        let mut axes: Vec<Vec<f64>> = Vec::new();
        for axis in 0..2 {
            let mut vector: Vec<f64> = (0..k).map(|a| 1.0 / (1.0 + ((a + axis) % k) as f64)).collect();
            for _ in 0..100 {
                let mut next: Vec<f64> =
                    product.iter().map(|row| row.iter().zip(&vector).map(|(m, v)| m * v).sum()).collect();
                for known in &axes {
                    let along: f64 = next.iter().zip(known).map(|(a, b)| a * b).sum();
                    next.iter_mut().zip(known).for_each(|(a, b)| *a -= along * b);
                }
                let length = next.iter().map(|a| a * a).sum::<f64>().sqrt();
                if length < 1e-9 {
                    break;
                }
                vector = next.into_iter().map(|a| a / length).collect();
            }
            axes.push(vector);
        }
        let mut places: Vec<Position> =
            centred.iter().map(|of| [0, 1].map(|axis| of.iter().zip(&axes[axis]).map(|(c, a)| c * a).sum())).collect();
        // To the scale of the distances.
        let (mut drawn, mut meant) = (0.0, 0.0);
        for (place, &distance) in places.iter().zip(&self.distances[0]) {
            drawn += apart(*place, places[self.pivots[0]]);
            meant += f64::from(distance);
        }
        let scale = if drawn > 1e-9 { meant / drawn } else { 1.0 };
        for (vertex, place) in places.iter_mut().enumerate() {
            *place = [0, 1].map(|axis| scale * place[axis] + 0.02 * noise(2 * vertex as u64 + axis as u64));
        }
        places
    }

    /// Moves one vertex after the other to the position of least stress.
    fn improve(&self, places: &mut [Position]) {
        let n = places.len();
        let everybody = self.pivots.len() == n;
        let terms = n * self.pivots.len() + self.graph.to.len();
        // A pivot stands for as many vertices as there are for one.
        let share = n as f64 / self.pivots.len() as f64;
        let rounds = ROUNDS.min(WORK / terms.max(1)).max(5);
        for round in 0..rounds {
            step("placing routers", "rounds", round, rounds);
            let mut farthest = 0.0f64;
            for vertex in 0..n {
                let here = places[vertex];
                let (mut sum, mut weights) = ([0.0; 2], 0.0);
                let mut pull = |other: usize, distance: f64, weight: f64| {
                    let there = places[other];
                    let drawn = apart(here, there).max(1e-9);
                    let wanted = |axis: usize| there[axis] + distance * (here[axis] - there[axis]) / drawn;
                    sum = [sum[0] + weight * wanted(0), sum[1] + weight * wanted(1)];
                    weights += weight;
                };
                if !everybody {
                    for &neighbour in self.graph.neighbours(vertex) {
                        pull(neighbour as usize, 1.0, 1.0);
                    }
                }
                for (&pivot, distances) in self.pivots.iter().zip(&self.distances) {
                    let distance = f64::from(distances[vertex]);
                    if pivot != vertex && (everybody || distance > 1.0) {
                        pull(pivot, distance, share / (distance * distance));
                    }
                }
                if weights > 0.0 {
                    let moved = [sum[0] / weights, sum[1] / weights];
                    farthest = farthest.max(apart(here, moved));
                    places[vertex] = moved;
                }
            }
            if farthest < STILL {
                break;
            }
        }
    }
}

/// The longest side horizontal, the first vertex to the left and above the middle, the upper left corner at 0.
fn turn(places: &mut [Position]) {
    let n = places.len() as f64;
    let mean = [0, 1].map(|axis| places.iter().map(|place| place[axis]).sum::<f64>() / n);
    let moment = |a: usize, b: usize| places.iter().map(|of| (of[a] - mean[a]) * (of[b] - mean[b])).sum::<f64>();
    let (xx, xy, yy) = (moment(0, 0), moment(0, 1), moment(1, 1));
    let half = (xx - yy) / 2.0;
    let (cosine, sine) = match (half + (half * half + xy * xy).sqrt(), xy) {
        (along, across) if along.abs() + across.abs() < 1e-9 => (0.0, 1.0),
        (along, across) => {
            let length = (along * along + across * across).sqrt();
            (along / length, across / length)
        }
    };
    for place in &mut *places {
        let [x, y] = [place[0] - mean[0], place[1] - mean[1]];
        *place = [cosine * x + sine * y, cosine * y - sine * x];
    }
    for axis in 0..2 {
        if places.first().is_some_and(|first| first[axis] > 0.0) {
            for place in places.iter_mut() {
                place[axis] = -place[axis];
            }
        }
        let least = places.iter().map(|place| place[axis]).fold(f64::INFINITY, f64::min);
        for place in places.iter_mut() {
            place[axis] -= least;
        }
    }
}

/// The distance of two places; `hypot` may differ from machine to machine.
pub(super) fn apart(a: Position, b: Position) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

/// A number between -1 and 1 that looks drawn at random, and is always the same.
fn noise(of: u64) -> f64 {
    let mut bits = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Moves places apart that are nearer to each other than this, each pair by the same way, the others as little as can be.
pub(super) fn spread(places: &mut [Position], least: f64) {
    // Neighbours are looked for in squares of this side.
    let square = |place: Position| place.map(|along| (along / least).floor() as i64);
    // Of many, a few may stay near each other, and each makes way for few of a crowd at a time: the time is linear in their number.
    let (rounds, crowd) = if places.len() > ALL_PAIRS { (20, CROWD) } else { (100, usize::MAX) };
    for round in 0..rounds {
        step("moving routers apart", "rounds", round, rounds);
        let mut squares: Vec<([i64; 2], usize)> =
            places.iter().enumerate().map(|(vertex, &place)| (square(place), vertex)).collect();
        squares.sort_unstable();
        let mut moved = false;
        for vertex in 0..places.len() {
            let [column, row] = square(places[vertex]);
            for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
                let key = [column + dx, row + dy];
                let start = squares.partition_point(|&other| other <= (key, vertex));
                for &(_, other) in squares[start..].iter().take_while(|(other, _)| *other == key).take(crowd) {
                    let (here, there) = (places[vertex], places[other]);
                    let near = apart(here, there);
                    if near >= least * (1.0 - 1e-6) {
                        continue;
                    }
                    moved = true;
                    let way = if near > 1e-6 * least {
                        [0, 1].map(|axis| (there[axis] - here[axis]) / near)
                    } else {
                        // At one place: side by side, and the next time elsewhere.
                        [1.0, noise((vertex + round) as u64)]
                    };
                    for (axis, along) in way.into_iter().enumerate() {
                        let by = 0.5 * (least - near) * along;
                        places[vertex][axis] -= by;
                        places[other][axis] += by;
                    }
                }
            }
        }
        if !moved {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::rc::Rc;

    use super::*;
    use crate::watch::{Stopped, Watch, WorkProgress, watched};

    fn drawn(vertices: usize, pairs: &[(u32, u32)]) -> (Graph, Vec<Position>) {
        let graph = Graph::new(vertices, pairs.iter().copied());
        let places = layout(&graph);
        (graph, places)
    }

    /// The mean of squares of what distances in the picture lack, as shares of those in the network.
    fn stress(graph: &Graph, places: &[Position]) -> f64 {
        let n = places.len();
        let mut sum = 0.0;
        for from in 0..n {
            let distances = graph.distances(std::iter::once(from));
            let lacks = |to: usize| (apart(places[from], places[to]) / f64::from(distances[to]) - 1.0).powi(2);
            sum += (0..n).filter(|&to| to != from).map(lacks).sum::<f64>();
        }
        sum / (n * (n - 1)) as f64
    }

    fn grid(side: u32) -> Vec<(u32, u32)> {
        let at = |x: u32, y: u32| x + y * side;
        let steps =
            |x, y| [(x + 1 < side).then(|| (at(x, y), at(x + 1, y))), (y + 1 < side).then(|| (at(x, y), at(x, y + 1)))];
        (0..side * side).flat_map(|v| steps(v % side, v / side)).flatten().collect()
    }

    #[test]
    fn a_path_is_a_line_and_a_grid_is_a_grid() {
        let path: Vec<(u32, u32)> = (0..9).map(|v| (v, v + 1)).collect();
        let (_, places) = drawn(10, &path);
        for pair in places.windows(2) {
            assert!(
                (apart(pair[0], pair[1]) - 1.0).abs() < 0.05 && (pair[0][1] - pair[1][1]).abs() < 0.1,
                "{places:?}"
            );
        }
        let (graph, places) = drawn(100, &grid(10));
        // Distances in a grid are not those of the plane, so that some stress is left; a circle has ten times as much.
        assert!(stress(&graph, &places) < 0.03, "{}", stress(&graph, &places));
        let on_circle: Vec<Position> =
            (0..100).map(|v| f64::from(v) * 0.0628).map(|a| [8.0 * a.cos(), 8.0 * a.sin()]).collect();
        assert!(stress(&graph, &on_circle) > 0.1);
        assert_eq!(layout(&graph), places);
    }

    /// Above the bound, neighbours and pivots stand for all distances.
    #[test]
    fn large_networks_are_laid_out_by_pivots() {
        let side = 40;
        let (graph, places) = drawn((side * side) as usize, &grid(side));
        assert!(graph.vertices() > ALL_PAIRS);
        assert!(stress(&graph, &places) < 0.06, "{}", stress(&graph, &places));
    }

    #[test]
    fn components_lie_beside_each_other_and_nobody_on_somebody_else() {
        let star: Vec<(u32, u32)> = (1..8).map(|leaf| (0, leaf)).collect();
        let (_, mut places) = drawn(12, &[star, vec![(8, 9), (9, 10)]].concat());
        assert!(places.iter().flatten().all(|along| along.is_finite() && *along >= -1e-9), "{places:?}");
        spread(&mut places, 0.5);
        for (vertex, &place) in places.iter().enumerate() {
            assert!(places[..vertex].iter().all(|&other| apart(other, place) > 0.49), "{places:?}");
        }
    }

    #[test]
    fn places_that_coincide_are_spread() {
        let mut places = vec![[3.0, 3.0]; 30];
        spread(&mut places, 1.0);
        for (vertex, &place) in places.iter().enumerate() {
            assert!(places[..vertex].iter().all(|&other| apart(other, place) > 0.9), "{places:?}");
        }
    }

    /// Stops at the first step of this work that is beyond its beginning.
    struct StopAt(&'static str);

    impl Watch for StopAt {
        fn step(&self, step: WorkProgress) -> ControlFlow<()> {
            if step.work == self.0 && step.done > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[test]
    fn each_part_of_a_layout_can_be_stopped_and_says_how_far_it_is() {
        // All vertices but two have the same distances: they crowd.
        let pairs: Vec<(u32, u32)> = (1..2000).flat_map(|leaf| [(0, leaf), (leaf, 2000)]).collect();
        for part in ["searching distances for the picture", "placing routers", "moving routers apart"] {
            let work = || {
                let (_, mut places) = drawn(2001, &pairs);
                spread(&mut places, 0.5);
            };
            let Stopped(at) = watched(Rc::new(StopAt(part)), work).unwrap_err();
            assert!(at.work == part && at.done > 0 && at.of > at.done, "{at}");
        }
    }
}
