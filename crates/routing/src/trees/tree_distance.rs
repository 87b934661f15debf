//! Distances in a network that is routed on several trees (paper 5, section 5).

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::thread;

use wormcast_network::watch::{ask, stop};
use wormcast_network::{ChannelId, Network, RouterId};

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
/// take as many threads as the machine has.
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
    let blocks = routers.div_ceil(LANES);
    let threads = if routers < LARGE { 1 } else { thread::available_parallelism().map_or(1, NonZeroUsize::get) };
    let stopped = OnceLock::new();
    let share = |thread: usize| {
        let mut table = vec![[T::FAR; LANES]; routers];
        let mut sums = Sums::default();
        for block in (thread..blocks).step_by(threads) {
            // Only the calling thread, which is the first one, can be watched.
            if let ControlFlow::Break(at) = ask("measuring distances", "routers", block * LANES, routers) {
                let _ = stopped.set(at);
            }
            if stopped.get().is_some() {
                break;
            }
            let sources = block * LANES..routers.min((block + 1) * LANES);
            for (which, walk) in others.iter().enumerate() {
                walk.visit(sources.start, |row, distance| {
                    table[row] = if which == 0 { distance } else { smaller(distance, table[row]) };
                });
            }
            let mut block = BlockSums::new(longest);
            if others.is_empty() {
                last.visit(sources.start, |_, distance| block.add(distance));
            } else {
                last.visit(sources.start, |row, distance| block.add(smaller(distance, table[row])));
            }
            sums.add(block, sources.len());
        }
        sums
    };
    let sums = thread::scope(|scope| {
        let share = &share;
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        let mut sums = share(0);
        for other in others {
            match other.join() {
                Ok(other) => sums.merge(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sums
    });
    match stopped.into_inner() {
        Some(at) => stop(at),
        None => sums,
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
        }
    }

    /// Calls `visit` with each row and its distances in this tree from the routers from `first` on, as many as there are lanes.
    #[inline]
    fn visit(&self, first: usize, mut visit: impl FnMut(usize, [T; LANES])) {
        // Beyond the last router it is looked at again, and the lane is not counted.
        let source = |lane: usize| (first + lane).min(self.number.len() - 1);
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
