//! Distances in a network that is routed on several trees (paper 5, section 5).

use std::ops::Range;

use wormcast_network::watch::{processors, shared};
use wormcast_network::{ChannelId, Network, RouterId};

use crate::trees::comb_distance::{Combs, PairSums};
use crate::trees::spanning_tree::SpanningTree;

/// Distances between routers when each worm takes the tree with the shortest route.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CombinedDistance {
    /// The largest distance between two routers.
    pub diameter: u32,
    /// The mean distance over pairs of different routers; 0 for a single router.
    pub average: f64,
}

/// The combined diameter and the average distance: over all pairs of routers, of the length of the shortest of their routes in the
/// trees. Routes over failed links do not count.
///
/// `None` if some pair has no route. O(trees x routers²) time, for 16 routers at once, and O(routers) memory; large networks
/// take as many threads as the machine has. For a large torus with the two trees of [`TorusTrees`](crate::TorusTrees) without failures it is O(routers x sides): only distances from the routers of one row
/// and one column are searched, and the others are counted.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{TorusTrees, combined_distance};
///
/// let torus = "torus:5x5".parse::<TopologySpec>()?.build()?;
/// let trees = TorusTrees::dstm_1(&torus, RouterId::new(0))?.build(&torus)?;
/// let distance = combined_distance(&torus, &trees, &[]).ok_or("connected")?;
/// assert_eq!(distance.diameter, 9); // Theorem 5.1: 2 x 5 - 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn combined_distance(network: &Network, trees: &[SpanningTree], failed: &[ChannelId]) -> Option<CombinedDistance> {
    let routers = network.routers();
    let sums = if routers <= 1 {
        Sums::default()
    } else if routers <= 1 << 16 && trees.iter().all(|tree| 2 * tree.height() < i16::MAX as u32) {
        all_pairs::<i16>(network, trees, failed)
    } else {
        all_pairs::<i32>(network, trees, failed)
    };
    let pairs = routers as f64 * (routers as f64 - 1.0);
    let average = if routers > 1 { sums.total as f64 / pairs } else { 0.0 };
    (!sums.apart).then_some(CombinedDistance { diameter: sums.diameter, average })
}

/// How many sources are processed together.
const LANES: usize = 16;

/// A distance, a post-order number or a part of a tree: as short as the network allows, because that many more fit into a register;
/// signed, because processors compare signed numbers faster.
trait Lane: Copy + Ord + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    /// No route.
    const FAR: Self;
    const LEAST: Self;
    /// Modulo the width.
    fn new(value: u32) -> Self;
    fn value(self) -> u32;
    /// Modulo the width.
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! lane {
    ($type:ty) => {
        impl Lane for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const FAR: Self = <$type>::MAX;
            const LEAST: Self = <$type>::MIN;
            fn new(value: u32) -> Self {
                value as Self
            }
            fn value(self) -> u32 {
                self.cast_unsigned().into()
            }
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    };
}

lane!(i16);
lane!(i32);

/// The sums over the pairs looked at so far.
#[derive(Clone, Copy, Default)]
struct Sums {
    diameter: u32,
    total: u64,
    /// Whether some pair has no route.
    apart: bool,
}

fn all_pairs<T: Lane>(network: &Network, trees: &[SpanningTree], failed: &[ChannelId]) -> Sums {
    /// The size of a network from which threads pay off.
    const LARGE: usize = 1 << 13;
    let routers = network.routers();
    // Rows of the table are in the order of the first tree, which then goes through it from one end to the other.
    let mut place = vec![0; routers];
    let order = trees.first().map_or(&[][..], SpanningTree::post_order);
    for (row, router) in (0..).zip(order.iter().rev()) {
        place[router.index()] = row;
    }
    let walks: Vec<Walk<T>> = trees.iter().map(|tree| Walk::new(network, tree, failed, &place)).collect();
    // Without a tree there are no routes.
    let Some((last, others)) = walks.split_last() else { return Sums { apart: true, ..Sums::default() } };
    let longest = 2 * trees.iter().map(SpanningTree::height).max().unwrap_or(0);
    let threads = if routers < LARGE { 1 } else { processors() };
    let combs = if routers >= LARGE && failed.is_empty() { Combs::recognise(network, trees) } else { None };
    match combs {
        Some(combs) => over_combs(&combs, &walks, longest, threads),
        None => searched(last, others, longest, threads),
    }
}

/// As [`all_pairs`], by searches from all routers.
fn searched<T: Lane>(last: &Walk<T>, others: &[Walk<T>], longest: u32, threads: usize) -> Sums {
    let routers = last.number.len();
    let shares = (0..threads).map(|_| (vec![[T::FAR; LANES]; routers], Sums::default())).collect();
    let each = |(table, sums): &mut (Vec<[T; LANES]>, Sums), sources: Range<usize>| {
        let block: Vec<usize> = sources.collect();
        let mut found = BlockSums::new(longest);
        nearest(others, last, &block, table, |_, distance| found.add(distance));
        sums.add(found, block.len());
    };
    let shares = shared(("measuring distances", "routers"), (LANES, 0..routers, routers), shares, each);
    let mut all = Sums::default();
    for (_, sums) in shares {
        all.merge(sums);
    }
    all
}

/// As [`all_pairs`]: searches from the routers on the spines, and counts all other pairs.
fn over_combs<T: Lane>(combs: &Combs, walks: &[Walk<T>], longest: u32, threads: usize) -> Sums {
    let Some((last, others)) = walks.split_last() else { return Sums { apart: true, ..Sums::default() } };
    let routers = last.number.len();
    let on_spine = |router: &usize| combs.is_on_spine(RouterId::new(*router as u32));
    let spines: Vec<usize> = (0..routers).filter(on_spine).collect();
    let mut is_on_spine = vec![false; routers];
    for &router in &spines {
        is_on_spine[last.row[router] as usize] = true;
    }
    let none = || (vec![[T::FAR; LANES]; routers], Sums::default(), Sums::default());
    let shares = (0..threads).map(|_| none()).collect();
    let each = |(table, all, among): &mut (Vec<[T; LANES]>, Sums, Sums), sources: Range<usize>| {
        let block = &spines[sources];
        let (mut to_all, mut to_spines) = (BlockSums::new(longest), BlockSums::new(longest));
        nearest(others, last, block, table, |row, distance| {
            to_all.add(distance);
            if is_on_spine[row] {
                to_spines.add(distance);
            }
        });
        all.add(to_all, block.len());
        among.add(to_spines, block.len());
    };
    let shares = shared(("measuring distances", "routers"), (LANES, 0..spines.len(), spines.len()), shares, each);
    let (mut all, mut among) = (Sums::default(), Sums::default());
    for (_, from, own) in shares {
        all.merge(from);
        among.merge(own);
    }
    // Pairs of a router on a spine and one that is not are met from one end only.
    let PairSums { total, longest } = combs.beside_spines();
    Sums { diameter: all.diameter.max(longest), total: 2 * all.total - among.total + total as u64, ..all }
}

/// Calls `visit` with each row and the distances to its router from these sources, at most as many as there are lanes, on the nearest of several trees.
#[inline]
fn nearest<T: Lane>(
    others: &[Walk<T>],
    last: &Walk<T>,
    sources: &[usize],
    table: &mut [[T; LANES]],
    mut visit: impl FnMut(usize, [T; LANES]),
) {
    for (which, walk) in others.iter().enumerate() {
        walk.visit(sources, |row, distance| {
            table[row] = if which == 0 { distance } else { smaller(distance, table[row]) };
        });
    }
    if others.is_empty() {
        last.visit(sources, visit);
    } else {
        last.visit(sources, |row, distance| visit(row, smaller(distance, table[row])));
    }
}

fn smaller<T: Lane>(a: [T; LANES], b: [T; LANES]) -> [T; LANES] {
    std::array::from_fn(|lane| a[lane].min(b[lane]))
}

/// The distances of all routers from the sources of a block, as they come.
struct BlockSums<T> {
    largest: [T; LANES],
    total: [u64; LANES],
    /// Of the last routers: of as many as surely fit.
    subtotal: [T; LANES],
    fit: u32,
    left: u32,
}

impl<T: Lane> BlockSums<T> {
    fn new(longest: u32) -> Self {
        let fit = (T::FAR.value() / longest.max(1)).max(1);
        Self { largest: [T::ZERO; LANES], total: [0; LANES], subtotal: [T::ZERO; LANES], fit, left: fit }
    }

    #[inline]
    fn add(&mut self, distance: [T; LANES]) {
        self.largest = std::array::from_fn(|lane| self.largest[lane].max(distance[lane]));
        self.subtotal = std::array::from_fn(|lane| self.subtotal[lane].plus(distance[lane]));
        self.left -= 1;
        if self.left == 0 {
            self.carry();
        }
    }

    fn carry(&mut self) {
        for (total, subtotal) in self.total.iter_mut().zip(&mut self.subtotal) {
            *total += u64::from(std::mem::replace(subtotal, T::ZERO).value());
        }
        self.left = self.fit;
    }
}

impl Sums {
    /// Adds the distances from the first `sources` of a block.
    fn add<T: Lane>(&mut self, mut block: BlockSums<T>, sources: usize) {
        block.carry();
        for lane in 0..sources {
            self.apart |= block.largest[lane] == T::FAR;
            self.diameter = self.diameter.max(block.largest[lane].value());
            self.total += block.total[lane];
        }
    }

    fn merge(&mut self, other: Self) {
        self.diameter = self.diameter.max(other.diameter);
        self.total += other.total;
        self.apart |= other.apart;
    }
}

/// A tree laid out for finding distances: parents before children.
struct Walk<T> {
    /// All routers but the root, each after its parent and before whatever is not below it.
    steps: Vec<Step<T>>,
    /// The root's row in the table.
    root: u32,
    height: u32,
    /// By router: the post-order number, the depth, and the part of the tree that failed links leave it in.
    number: Vec<T>,
    depth: Vec<T>,
    part: Vec<T>,
    /// Whether there is more than one part.
    cut: bool,
    /// By router: its row in the table.
    row: Box<[u32]>,
}

struct Step<T> {
    /// The router's row in the table.
    row: u32,
    depth: u32,
    /// The smallest post-order number below the router, and how many more there are; both such that signed numbers compare as
    /// unsigned ones would.
    lowest: T,
    others: T,
    part: T,
}

impl<T: Lane> Walk<T> {
    fn new(network: &Network, tree: &SpanningTree, failed: &[ChannelId], place: &[u32]) -> Self {
        let gone = |link: ChannelId| failed.iter().any(|&channel| channel == link || network.reverse(channel) == link);
        let routers = tree.routers();
        let mut part = vec![T::ZERO; routers];
        let mut parts = 0;
        let mut steps = Vec::with_capacity(routers);
        for &router in tree.post_order().iter().rev() {
            let Some((parent, down)) = tree.parent(router).zip(tree.down(router)) else { continue };
            part[router.index()] = part[parent.index()];
            if gone(down) {
                parts += 1;
                part[router.index()] = T::new(parts);
            }
            let below = tree.subtree(router);
            steps.push(Step {
                row: place[router.index()],
                depth: tree.depth(router),
                lowest: T::new(below.start).minus(T::LEAST),
                others: T::new(below.end - below.start - 1).plus(T::LEAST),
                part: part[router.index()],
            });
        }
        let all = (0..routers as u32).map(RouterId::new);
        Self {
            steps,
            root: place[tree.root().index()],
            height: tree.height(),
            number: all.clone().map(|router| T::new(tree.number(router))).collect(),
            depth: all.map(|router| T::new(tree.depth(router))).collect(),
            part,
            cut: parts > 0,
            row: place.into(),
        }
    }

    /// Calls `visit` with each row and its distances in this tree from these routers, at least one and at most as many as there are lanes.
    #[inline]
    fn visit(&self, sources: &[usize], mut visit: impl FnMut(usize, [T; LANES])) {
        // Beyond the last source it is looked at again, and the lane is not counted.
        let source = |lane: usize| sources[lane.min(sources.len() - 1)];
        let number: [T; LANES] = std::array::from_fn(|lane| self.number[source(lane)]);
        let part: [T; LANES] = std::array::from_fn(|lane| self.part[source(lane)]);
        let mut above = vec![[T::ZERO; LANES]; self.height as usize + 1];
        above[0] = std::array::from_fn(|lane| self.depth[source(lane)]);
        let mut pass_on = |row: u32, distance: [T; LANES], own: T| {
            let whole = |lane: usize| if part[lane] == own { distance[lane] } else { T::FAR };
            visit(row as usize, if self.cut { std::array::from_fn(whole) } else { distance });
        };
        pass_on(self.root, above[0], T::ZERO);
        for step in &self.steps {
            let parent = &above[step.depth as usize - 1];
            // One more than the parent, or one less if the source is below.
            let distance = std::array::from_fn(|lane| {
                let below = number[lane].minus(step.lowest) <= step.others;
                parent[lane].plus(if below { T::ZERO.minus(T::ONE) } else { T::ONE })
            });
            above[step.depth as usize] = distance;
            pass_on(step.row, distance, step.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Balance, TorusMethod, TorusTrees};
    use wormcast_network::TopologySpec;

    /// The sums over combs, and over all pairs; `None` if the trees are not recognised.
    fn both(network: &Network, trees: &[SpanningTree]) -> Option<[(u32, u64); 2]> {
        Some(both_with(network, trees, &Combs::recognise(network, trees)?))
    }

    fn both_with(network: &Network, trees: &[SpanningTree], combs: &Combs) -> [(u32, u64); 2] {
        let routers = network.routers();
        let place: Vec<u32> = (0..routers as u32).collect();
        let walks: Vec<Walk<i32>> = trees.iter().map(|tree| Walk::new(network, tree, &[], &place)).collect();
        let counted = over_combs(combs, &walks, 2 * routers as u32, 1);
        assert!(!counted.apart);
        let mut all = (0, 0);
        for from in network.router_ids() {
            for to in network.router_ids() {
                let distance = trees.iter().map(|tree| tree.distance(from, to)).min().unwrap_or(0);
                all = (all.0.max(distance), all.1 + u64::from(distance));
            }
        }
        [(counted.diameter, counted.total), all]
    }

    fn torus(spec: &str) -> std::sync::Arc<Network> {
        format!("torus:{spec}").parse::<TopologySpec>().unwrap().build().unwrap()
    }

    fn half(network: &Network, first: RouterId) -> RouterId {
        TorusTrees::dstm_1(network, first).unwrap().second
    }

    /// All methods, from starting nodes all over tori with even and odd sides, are what a look at each pair finds.
    #[test]
    fn distances_over_combs_are_counted() {
        for spec in ["4x4", "5x5", "4x7", "9x4", "6x5"] {
            let network = torus(spec);
            let mut noticed = false;
            for (which, method) in TorusMethod::all().enumerate() {
                let (first, second) = (RouterId::new(which as u32), RouterId::new((7 * which as u32 + 3) % 16));
                for second in [half(&network, first), second] {
                    let trees = TorusTrees { first, second, method, balance: Balance::default() };
                    let trees = trees.build(&network).unwrap();
                    let [counted, searched] = both(&network, &trees).expect("combs");
                    assert_eq!(counted, searched, "{method} on {spec} from {first} and {second}");
                    let stretched = Combs::recognise(&network, &trees).map(Combs::stretched).expect("combs");
                    let [wrong, right] = both_with(&network, &trees, &stretched);
                    noticed |= wrong != right;
                    let [one, other] = trees;
                    assert_eq!(both(&network, &[other, one]), Some([searched; 2]));
                }
            }
            // Wrong combs make wrong sums.
            assert!(noticed, "{spec}");
        }
    }

    /// Large tori are counted, with what searches from all routers find.
    #[test]
    fn large_tori_are_counted() {
        let network = torus("96x88");
        let trees = TorusTrees::dstm_1(&network, RouterId::new(77)).unwrap().build(&network).unwrap();
        let place: Vec<u32> = (0..network.routers() as u32).collect();
        let walks = trees.each_ref().map(|tree| Walk::<i16>::new(&network, tree, &[], &place));
        let longest = 2 * trees.iter().map(SpanningTree::height).max().unwrap();
        let Sums { diameter, total, .. } = searched(&walks[0], &walks[1..], longest, 1);
        let average = total as f64 / (network.routers() * (network.routers() - 1)) as f64;
        assert_eq!(combined_distance(&network, &trees, &[]), Some(CombinedDistance { diameter, average }));
        assert!(Combs::recognise(&network, &trees).is_some());
    }

    /// What is no pair of combs is not taken for one.
    #[test]
    fn other_trees_are_no_combs() {
        let network = torus("6x6");
        let trees = |balance| {
            let (first, second) = (RouterId::new(8), RouterId::new(8));
            TorusTrees { first, second, method: TorusMethod::DSTM_1, balance }.build(&network).unwrap()
        };
        assert!(both(&network, &trees(Balance::None)).is_some());
        // A spine that is opened elsewhere is still one.
        let [counted, searched] = both(&network, &trees(Balance::Branch)).expect("combs");
        assert_eq!(counted, searched);
        let [one, other] = trees(Balance::None);
        assert!(both(&network, &[one.clone(), one.clone()]).is_none());
        assert!(both(&network, std::slice::from_ref(&one)).is_none());
        // A link moved from a column to the row beside it.
        let links: Vec<ChannelId> = one.links().collect();
        let open =
            network.channel_ids().find(|&c| !one.contains(&network, c) && network.heading(c).is_some_and(|h| h.0 == 0));
        let moved = (0..links.len()).find_map(|at| {
            let mut links = links.clone();
            links[at] = open?;
            let vertical = network.heading(one.links().nth(at)?)?.0 == 1;
            SpanningTree::new(&network, one.root(), &links).ok().filter(|_| vertical)
        });
        assert!(both(&network, &[moved.unwrap(), other]).is_none());
    }
}
