//! Distances over two trees of a torus that are combs, without a look at every pair of routers.

use wormcast_network::{ChannelId, Direction, Grid, Network, RouterId};

use crate::trees::spanning_tree::SpanningTree;

/// Two trees of a torus, such as [`TorusTrees`](crate::TorusTrees): the first has a row and, from it, all columns but one; the second has that column and, from it, all rows
/// but that one.
///
/// Routers of the one row and of the one column are *on a spine*. Two others, (x, y) and (x', y'), are joined in the first tree down both columns and along the row,
/// h(y) + h(y') + |p(x) - p(x')| hops, or, if x = x', |h(y) - h(y')|; in the second tree, g(x) + g(x') + |q(y) - q(y')|, or, if y = y', |g(x) - g(x')|. Here p and q are the
/// places on the spines and h and g the distances from them. So the smaller distance is a part of x and x', a part of y and y', and the smaller of one more part of each: how often each of these
/// parts takes which value says it all.
pub(crate) struct Combs {
    /// By x: the place on the row, p; the distance from the column, g.
    x: Vec<Coordinate>,
    /// By y: the place on the column, q; the distance from the row, h.
    y: Vec<Coordinate>,
}

#[derive(Clone, Copy)]
struct Coordinate {
    place: i64,
    depth: i64,
}

/// What pairs of routers add up to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PairSums {
    pub(crate) total: u128,
    pub(crate) longest: u32,
}

/// Of many things that have a base and a value: how often each value comes, and the sum and the largest of the bases with it.
#[derive(Default)]
struct Histogram {
    lowest: i64,
    /// By value from the lowest one on.
    entries: Vec<(u64, i64, i64)>,
}

impl Histogram {
    /// Of values in a range.
    fn new(lowest: i64, highest: i64) -> Self {
        Self { lowest, entries: vec![(0, 0, 0); (highest - lowest + 1).max(0) as usize] }
    }

    fn add(&mut self, base: i64, value: i64) {
        let (count, bases, largest) = &mut self.entries[(value - self.lowest) as usize];
        *count += 1;
        *bases += base;
        *largest = base.max(*largest);
    }

    fn entries(&self) -> impl Iterator<Item = (i64, i64, i64, i64)> {
        let some = (self.lowest..).zip(&self.entries).filter(|(_, (count, ..))| *count > 0);
        some.map(|(value, &(count, bases, largest))| (value, count as i64, bases, largest))
    }

    /// For each thing of one and each of the other, the sum of both bases and of the smaller value. The values differ in O(extent) ways.
    fn joined(&self, other: &Self, sums: &mut PairSums) {
        let mut total = 0i128;
        for (value, count, bases, largest) in self.entries() {
            for (with, others, other_bases, other_largest) in other.entries() {
                let smaller = value.min(with);
                let (count, others) = (i128::from(count), i128::from(others));
                total +=
                    i128::from(bases) * others + i128::from(other_bases) * count + i128::from(smaller) * count * others;
                sums.longest = sums.longest.max((largest + other_largest + smaller) as u32);
            }
        }
        sums.total += total.unsigned_abs();
    }
}

impl Combs {
    /// The combs that two trees are, the first along rows; `None` if they are not, or if the torus is so narrow that it is not worth while.
    pub(crate) fn recognise(network: &Network, trees: &[SpanningTree]) -> Option<Self> {
        /// Up to which ratio of the sides pairs of coordinates are few beside routers.
        const NARROW: u32 = 64;
        let grid = network.shape().grid().filter(|_| network.shape().wraps())?;
        let (&[columns, rows], [one, two]) = (grid.extents(), trees) else { return None };
        // In shorter rings, links are parallel, or a row without two links is no spine.
        let (short, long) = (columns.min(rows), columns.max(rows));
        if short < 4 || long / short >= NARROW {
            return None;
        }
        let of = |first, second| {
            let (along, across) = (Ring { network, grid, tree: first }, Ring { network, grid, tree: second });
            let (row, column) = (along.spine(0)?, across.spine(1)?);
            let (places, heights) = along.comb(0, row, column)?;
            let (other_places, distances) = across.comb(1, column, row)?;
            let coordinates = |places: Vec<i64>, depths: Vec<i64>| {
                places.into_iter().zip(depths).map(|(place, depth)| Coordinate { place, depth }).collect()
            };
            Some(Self { x: coordinates(places, distances), y: coordinates(other_places, heights) })
        };
        of(one, two).or_else(|| of(two, one))
    }

    /// Whether a router is on a spine.
    pub(crate) fn is_on_spine(&self, router: RouterId) -> bool {
        let (x, y) = (router.index() % self.x.len(), router.index() / self.x.len());
        self.x[x].depth == 0 || self.y[y].depth == 0
    }

    /// The sum of the smaller distances over all ordered pairs of routers that are on no spine, and the largest. O(columns² + rows²).
    pub(crate) fn beside_spines(&self) -> PairSums {
        let mut sums = PairSums::default();
        let (x, y) = (pairs(&self.x), pairs(&self.y));
        x.joined(&y, &mut sums);
        // In the same column, the first tree does not go by the row; in the same row, the second not by the column.
        same(&self.x).joined(&differences(&self.y), &mut sums);
        same(&self.y).joined(&differences(&self.x), &mut sums);
        sums
    }
}

#[cfg(test)]
impl Combs {
    /// Not the combs of the trees: one column is further from its spine than it is.
    pub(crate) fn stretched(mut self) -> Self {
        if let Some(coordinate) = self.x.iter_mut().find(|coordinate| coordinate.depth > 0) {
            coordinate.depth += 1;
        }
        self
    }
}

fn off_spine(coordinates: &[Coordinate]) -> impl Iterator<Item = Coordinate> + Clone {
    coordinates.iter().copied().filter(|coordinate| coordinate.depth > 0)
}

/// Ordered pairs of different coordinates off the spine, with how far apart their places are.
fn different(coordinates: &[Coordinate]) -> impl Iterator<Item = (Coordinate, Coordinate, i64)> {
    let one = off_spine(coordinates).enumerate();
    one.flat_map(move |(which, one)| {
        let others = off_spine(coordinates).enumerate().filter(move |&(other, _)| other != which);
        others.map(move |(_, other)| (one, other, (one.place - other.place).abs()))
    })
}

/// Different coordinates: along the one spine, and what is longer down to the other.
fn pairs(coordinates: &[Coordinate]) -> Histogram {
    let extent = coordinates.len() as i64;
    let mut histogram = Histogram::new(-extent, 2 * extent);
    for (one, other, apart) in different(coordinates) {
        histogram.add(apart, one.depth + other.depth - apart);
    }
    histogram
}

/// Different coordinates of routers that agree in the other one: along the one spine, and what is longer straight on.
fn differences(coordinates: &[Coordinate]) -> Histogram {
    let extent = coordinates.len() as i64;
    let mut histogram = Histogram::new(-extent, extent);
    for (one, other, apart) in different(coordinates) {
        histogram.add(apart, (one.depth - other.depth).abs() - apart);
    }
    histogram
}

/// The same coordinate twice: down to the spine and back.
fn same(coordinates: &[Coordinate]) -> Histogram {
    let mut histogram = Histogram::new(0, 2 * coordinates.len() as i64);
    off_spine(coordinates).for_each(|coordinate| histogram.add(0, 2 * coordinate.depth));
    histogram
}

/// The rings of a torus, and which of their links a tree has.
struct Ring<'a> {
    network: &'a Network,
    grid: &'a Grid,
    tree: &'a SpanningTree,
}

impl Ring<'_> {
    /// The only link that the tree lacks of the ring along a dimension at this coordinate of the other one, by the coordinate where it starts; `None` if it lacks several.
    fn opened(&self, dimension: usize, across: u32) -> Option<u32> {
        let link = |along: u32| -> Option<ChannelId> {
            let coordinates = if dimension == 0 { [along, across] } else { [across, along] };
            let router = RouterId::new(self.grid.index(&coordinates) as u32);
            self.network.channel_along(router, dimension, Direction::Positive)
        };
        let lacks = |&along: &u32| !link(along).is_some_and(|link| self.tree.contains(self.network, link));
        let mut lacking = (0..self.grid.extents()[dimension]).filter(lacks);
        lacking.next().filter(|_| lacking.next().is_none())
    }

    /// Where a ring along a dimension is whole but for one link.
    fn spine(&self, dimension: usize) -> Option<u32> {
        (0..self.grid.extents()[1 - dimension]).find(|&across| self.opened(dimension, across).is_some())
    }

    /// The places along a spine, and the distances from it; `None` unless all rings that cross it, except one, are opened beside it, all on the same side.
    fn comb(&self, dimension: usize, spine: u32, except: u32) -> Option<(Vec<i64>, Vec<i64>)> {
        let [length, height] = [self.grid.extents()[dimension], self.grid.extents()[1 - dimension]];
        let cut = self.opened(dimension, spine)?;
        let mut teeth = (0..length).filter(|&along| along != except).map(|along| self.opened(1 - dimension, along));
        let open = teeth.next()??;
        if teeth.any(|other| other != Some(open)) {
            return None;
        }
        let places = (0..length).map(|along| i64::from((along + length - cut - 1) % length)).collect();
        let depths = |depth: &dyn Fn(u32) -> u32| (0..height).map(|at| i64::from(depth(at) % height)).collect();
        if open == spine {
            Some((places, depths(&|at| spine + height - at)))
        } else if (open + 1) % height == spine {
            Some((places, depths(&|at| at + height - spine)))
        } else {
            None
        }
    }
}
