//! Distances in a network that is used by several trees (paper 5, section 5).

use std::num::NonZeroUsize;
use std::thread;

use wormcast_network::{ChannelId, Network, RouterId};

use crate::spanning_tree::SpanningTree;

/// Distances between routers where a worm takes the tree with the shorter way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CombinedDistance {
    /// The largest distance of two routers.
    pub diameter: u32,
    /// The mean distance over pairs of different routers; 0 for a single router.
    pub average: f64,
}

/// The combined diameter and the average distance: over all pairs of routers, of the length of the shorter of their ways in the
/// trees. A way over a failed link is none.
///
/// `None` if some pair has no way. O(trees x routers²) time, for 16 routers at once, and O(routers) memory; large networks
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
    } else if routers <= 1 << 16 && trees.iter().all(|tree| 2 * tree.height() < u32::from(u16::MAX)) {
        all_pairs::<u16>(network, trees, failed)
    } else {
        all_pairs::<u32>(network, trees, failed)
    };
    let pairs = routers as f64 * (routers as f64 - 1.0);
    let average = if routers > 1 { sums.total as f64 / pairs } else { 0.0 };
    (!sums.apart).then_some(CombinedDistance { diameter: sums.diameter, average })
}

/// How many sources are looked at together.
const LANES: usize = 16;

/// A distance, a post-order number or a part of a tree: as short as the network allows, because that many more fit into a register.
trait Lane: Copy + Ord + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    /// No way.
    const FAR: Self;
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
            fn new(value: u32) -> Self {
                value as Self
            }
            fn value(self) -> u32 {
                self.into()
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

lane!(u16);
lane!(u32);

/// Of the pairs looked at so far.
#[derive(Clone, Copy, Default)]
struct Sums {
    diameter: u32,
    total: u64,
    /// Whether some pair has no way.
    apart: bool,
}

fn all_pairs<T: Lane>(network: &Network, trees: &[SpanningTree], failed: &[ChannelId]) -> Sums {
    /// A network from which on starting threads pays.
    const LARGE: usize = 1 << 13;
    let routers = network.routers();
    let walks: Vec<Walk<T>> = trees.iter().map(|tree| Walk::new(network, tree, failed)).collect();
    let blocks = routers.div_ceil(LANES);
    let threads = if routers < LARGE { 1 } else { thread::available_parallelism().map_or(1, NonZeroUsize::get) };
    let share = |thread: usize| {
        let mut table = vec![[T::FAR; LANES]; routers];
        let mut sums = Sums::default();
        for block in (thread..blocks).step_by(threads) {
            let sources = block * LANES..routers.min((block + 1) * LANES);
            table.fill([T::FAR; LANES]);
            for walk in &walks {
                walk.lower(sources.start, &mut table);
            }
            sums.add(&table, sources.len());
        }
        sums
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        let mut sums = share(0);
        for other in others {
            match other.join() {
                Ok(other) => sums.merge(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sums
    })
}

impl Sums {
    /// Adds the distances of all routers from the first `sources` of a block.
    fn add<T: Lane>(&mut self, table: &[[T; LANES]], sources: usize) {
        let mut largest = [T::ZERO; LANES];
        let mut total = [0u64; LANES];
        // As many rows as their sum surely fits into 32 bits.
        for rows in table.chunks(1 << 16) {
            let mut subtotal = [0u32; LANES];
            for row in rows {
                for lane in 0..LANES {
                    largest[lane] = largest[lane].max(row[lane]);
                    subtotal[lane] = subtotal[lane].wrapping_add(row[lane].value());
                }
            }
            for lane in 0..LANES {
                total[lane] += u64::from(subtotal[lane]);
            }
        }
        for lane in 0..sources {
            self.apart |= largest[lane] == T::FAR;
            self.diameter = self.diameter.max(largest[lane].value());
            self.total += total[lane];
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
    root: RouterId,
    height: u32,
    /// By router: the post-order number, the depth, and the part of the tree that failed links leave it in.
    number: Vec<T>,
    depth: Vec<T>,
    part: Vec<T>,
    /// Whether there is more than one part.
    cut: bool,
}

struct Step<T> {
    router: RouterId,
    depth: u32,
    /// The smallest post-order number below the router, and how many more there are.
    lowest: T,
    others: T,
    part: T,
}

impl<T: Lane> Walk<T> {
    fn new(network: &Network, tree: &SpanningTree, failed: &[ChannelId]) -> Self {
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
                router,
                depth: tree.depth(router),
                lowest: T::new(below.start),
                others: T::new(below.end - below.start - 1),
                part: part[router.index()],
            });
        }
        let all = (0..routers as u32).map(RouterId::new);
        Self {
            steps,
            root: tree.root(),
            height: tree.height(),
            number: all.clone().map(|router| T::new(tree.number(router))).collect(),
            depth: all.map(|router| T::new(tree.depth(router))).collect(),
            part,
            cut: parts > 0,
        }
    }

    /// Lowers what is larger than the distance in this tree from the routers from `first` on, as many as there are lanes.
    fn lower(&self, first: usize, table: &mut [[T; LANES]]) {
        // Beyond the last router it is looked at again, and the lane is not counted.
        let source = |lane: usize| (first + lane).min(self.number.len() - 1);
        let number: [T; LANES] = std::array::from_fn(|lane| self.number[source(lane)]);
        let part: [T; LANES] = std::array::from_fn(|lane| self.part[source(lane)]);
        let mut above = vec![[T::ZERO; LANES]; self.height as usize + 1];
        above[0] = std::array::from_fn(|lane| self.depth[source(lane)]);
        let mut lower = |router: RouterId, distance: [T; LANES], own: T| {
            let row = &mut table[router.index()];
            for lane in 0..LANES {
                let apart = self.cut && part[lane] != own;
                row[lane] = row[lane].min(if apart { T::FAR } else { distance[lane] });
            }
        };
        lower(self.root, above[0], T::ZERO);
        for step in &self.steps {
            let parent = &above[step.depth as usize - 1];
            // One more than the parent, or one less if the source is below.
            let distance = std::array::from_fn(|lane| {
                let below = number[lane].minus(step.lowest) <= step.others;
                parent[lane].plus(if below { T::ZERO.minus(T::ONE) } else { T::ONE })
            });
            above[step.depth as usize] = distance;
            lower(step.router, distance, step.part);
        }
    }
}
