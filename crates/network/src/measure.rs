//! Measures of a network: degrees and distances.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use crate::ids::{ChannelId, RouterId};
use crate::network::Network;
use crate::topologies::shape::Shape;
use crate::watch::{processors, shared, step};

/// How many of something routers have, such as channels that leave them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Degrees {
    /// The smallest.
    pub min: usize,
    /// The mean over routers.
    pub mean: f64,
    /// The largest.
    pub max: usize,
}

/// A part of a network that no link joins to the rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CutOff {
    /// Its first routers.
    pub first: Vec<RouterId>,
    /// How many routers it has.
    pub routers: usize,
}

impl CutOff {
    /// The routers that a message lists.
    const SHOWN: usize = 8;

    /// The smallest of several components, of equal ones the first; `None` where there are not several.
    pub fn of(components: Vec<Vec<RouterId>>) -> Option<Self> {
        if components.len() < 2 {
            return None;
        }
        let smallest = components.into_iter().min_by_key(Vec::len)?;
        Some(Self { routers: smallest.len(), first: smallest.into_iter().take(Self::SHOWN).collect() })
    }
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.first.iter().map(|router| router.raw().to_string()).collect();
        let plural = if self.routers == 1 { "" } else { "s" };
        write!(f, "no link joins router{plural} {}", list.join(", "))?;
        if self.routers > self.first.len() {
            write!(f, ", … ({} routers)", self.routers)?;
        }
        f.write_str(" to the rest")
    }
}

/// The largest product of routers and channels for which distances are searched from every router: some minutes of work.
const MOST_SEARCHED: u64 = 1 << 36;

/// Hop counts between routers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distances {
    /// Whether every router reaches every other.
    pub connected: bool,
    /// The largest distance between two routers; `None` if they are not all connected, or if there are too many to search from each.
    pub diameter: Option<u32>,
    /// The mean distance over ordered pairs of different routers; `None` where there is no diameter, and for a single
    /// router, as there are no pairs.
    pub average: Option<f64>,
}

impl Network {
    /// The numbers of nodes at routers.
    pub fn nodes_a_router(&self) -> Degrees {
        let nodes = |r| self.nodes_of(RouterId::new(r)).len();
        let routers = self.routers() as u32;
        Degrees {
            min: (0..routers).map(nodes).min().unwrap_or(0),
            mean: self.nodes() as f64 / f64::from(routers.max(1)),
            max: (0..routers).map(nodes).max().unwrap_or(0),
        }
    }

    /// The number of pairs of routers that are joined, however many links they are joined by: O(channels log degree).
    pub fn joined_pairs(&self) -> usize {
        let mut above: Vec<RouterId> = Vec::new();
        let distinct = |router: RouterId| {
            above.clear();
            above.extend(self.outputs(router).map(|channel| self.to(channel)).filter(|&to| to > router));
            above.sort_unstable();
            above.dedup();
            above.len()
        };
        self.router_ids().map(distinct).sum()
    }

    /// The numbers of channels that leave routers.
    pub fn degrees(&self) -> Degrees {
        let degree = |r| self.outputs(RouterId::new(r)).len();
        let routers = self.routers() as u32;
        Degrees {
            min: (0..routers).map(degree).min().unwrap_or(0),
            mean: self.channels() as f64 / f64::from(routers.max(1)),
            max: (0..routers).map(degree).max().unwrap_or(0),
        }
    }

    /// Distances between routers; in unidirectional multistage networks from those at which nodes inject to those at which they consume.
    ///
    /// Grids have closed forms, O(sum of extents); other networks take a breadth-first search from every router, 512 of them at once where
    /// distances are short: O(routers x channels), divided by up to 60 there. From a product of 2^36 on, only connectedness is determined, in O(channels).
    pub fn distances(&self) -> Distances {
        match self.shape() {
            Shape::Mesh(grid) | Shape::Torus(grid) | Shape::Hypercube(grid) => {
                let wraps = self.shape().wraps();
                let routers = grid.len() as u128;
                let (mut diameter, mut total) = (0u32, 0u128);
                for &k in grid.extents() {
                    let along = |offset: u32| if wraps { offset.min(k - offset) } else { offset };
                    diameter += (0..k).map(along).max().unwrap_or(0);
                    // Ordered pairs of coordinates that lie `offset` apart, times the pairs of the other coordinates.
                    let within: u128 = (1..k).map(|o| 2 * u128::from(k - o) * u128::from(along(o))).sum();
                    let others = routers / u128::from(k);
                    total += within * others * others;
                }
                let pairs = routers * (routers - 1);
                let average = (pairs > 0).then(|| total as f64 / pairs as f64);
                Distances { connected: true, diameter: Some(diameter), average }
            }
            Shape::Butterfly(stages) | Shape::Omega(stages) => {
                let hops = stages.stages() - 1;
                Distances { connected: true, diameter: Some(hops), average: Some(f64::from(hops)) }
            }
            _ => self.searched_distances(),
        }
    }

    /// The routers of each connected component of the network with only the usable channels, in ascending order, those of the smallest router
    /// first: O(routers + channels). A link is usable in both directions or in neither, and no link is [unidirectional](Self::is_unidirectional).
    pub fn components(&self, usable: impl Fn(ChannelId) -> bool) -> Vec<Vec<RouterId>> {
        let mut met = vec![false; self.routers()];
        let mut components = Vec::new();
        for start in self.router_ids() {
            if std::mem::replace(&mut met[start.index()], true) {
                continue;
            }
            let mut component = vec![start];
            let mut next = 0;
            while let Some(&router) = component.get(next) {
                next += 1;
                for channel in self.outputs(router).filter(|&channel| usable(channel)) {
                    let to = self.to(channel);
                    if !std::mem::replace(&mut met[to.index()], true) {
                        component.push(to);
                    }
                }
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    fn searched_distances(&self) -> Distances {
        /// Distances up to which joint searches pay off: they meet often enough.
        const SHORT: u32 = 64;
        /// Routers from which threads pay off.
        const LARGE: usize = 1 << 12;
        let apart = Distances { connected: false, diameter: None, average: None };
        let routers = self.routers();
        if routers == 0 {
            return apart;
        }
        // One search says whether everyone is reached, and bounds the distances.
        let mut alone = Search { network: self, distance: vec![u32::MAX; routers], queue: VecDeque::new() };
        let first = alone.run(RouterId::new(0));
        let too_many = routers as u64 * self.channels() as u64 > MOST_SEARCHED;
        if first.routers < routers as u64 || too_many {
            return Distances { connected: first.routers == routers as u64, ..apart };
        }
        let mut all = Reached::default();
        if first.longest <= SHORT {
            all = self.searched_together(if routers < LARGE { 1 } else { processors() });
        } else {
            for source in self.router_ids() {
                step("searching distances", "routers", source.index(), routers);
                all.add(alone.run(source));
            }
        }
        let pairs = routers as u64 * (routers as u64 - 1);
        if all.routers < pairs + routers as u64 {
            return apart;
        }
        let average = (pairs > 0).then(|| all.total as f64 / pairs as f64);
        Distances { connected: true, diameter: Some(all.longest), average }
    }
}

impl Network {
    /// What searches from all routers find, many at once, on so many threads.
    fn searched_together(&self, threads: usize) -> Reached {
        let shares = (0..threads).map(|_| (Searches::new(self), Reached::default())).collect();
        let each = |(searches, found): &mut (Searches<'_>, Reached), sources| found.add(searches.run(sources));
        let what = ("searching distances", "routers");
        let shares = shared(what, (TOGETHER, 0..self.routers(), self.routers()), shares, each);
        let mut all = Reached::default();
        for (_, found) in shares {
            all.add(found);
        }
        all
    }
}

/// What searches have found.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Reached {
    /// Routers that were reached, those of the start included, added up over searches.
    routers: u64,
    /// Their distances.
    total: u64,
    longest: u32,
}

impl Reached {
    fn add(&mut self, other: Self) {
        self.routers += other.routers;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }
}

/// Breadth-first searches from one router after the other.
struct Search<'n> {
    network: &'n Network,
    distance: Vec<u32>,
    queue: VecDeque<RouterId>,
}

impl Search<'_> {
    fn run(&mut self, source: RouterId) -> Reached {
        let Self { network, distance, queue } = self;
        distance.fill(u32::MAX);
        distance[source.index()] = 0;
        queue.push_back(source);
        let mut found = Reached::default();
        while let Some(router) = queue.pop_front() {
            let hops = distance[router.index()];
            found.add(Reached { routers: 1, total: u64::from(hops), longest: hops });
            for next in network.outputs(router).map(|channel| network.to(channel)) {
                if distance[next.index()] == u32::MAX {
                    distance[next.index()] = hops + 1;
                    queue.push_back(next);
                }
            }
        }
        found
    }
}

/// How many searches go together, and the words of a bit for each.
const TOGETHER: usize = 512;
const WORDS: usize = TOGETHER / 64;

/// Searches have come to many routers if they have to more than one of so many.
const MANY: usize = 4;

/// Breadth-first searches from many routers at once. Those that come to a router at the same distance follow its channels together. Where searches have come to
/// many routers, it is the others that look whether one has come to a neighbour: a router that all have seen need not.
struct Searches<'n> {
    network: &'n Network,
    /// By router: which searches have been there, ...
    seen: Vec<[u64; WORDS]>,
    /// ... and which have come there in this round and in the next.
    here: Vec<[u64; WORDS]>,
    next: Vec<[u64; WORDS]>,
    /// Routers to which a search has come.
    active: Vec<RouterId>,
    coming: Vec<RouterId>,
}

impl<'n> Searches<'n> {
    fn new(network: &'n Network) -> Self {
        let none = || vec![[0; WORDS]; network.routers()];
        Self { network, seen: none(), here: none(), next: none(), active: Vec::new(), coming: Vec::new() }
    }

    /// Searches from these routers, at most [`TOGETHER`].
    fn run(&mut self, sources: Range<usize>) -> Reached {
        self.seen.fill([0; WORDS]);
        let mut all = [0; WORDS];
        for bit in 0..sources.len() {
            all[bit / 64] |= 1 << (bit % 64);
        }
        let mut found = Reached { routers: sources.len() as u64, ..Reached::default() };
        for (bit, router) in sources.enumerate() {
            self.seen[router][bit / 64] |= 1 << (bit % 64);
            self.here[router] = self.seen[router];
            self.active.push(RouterId::new(router as u32));
        }
        for distance in 1.. {
            if self.active.len() > self.network.routers() / MANY && !self.network.is_unidirectional() {
                self.look_round(&all);
            } else {
                self.go_on();
            }
            let mut reached = 0;
            for &router in &self.coming {
                for (seen, next) in self.seen[router.index()].iter_mut().zip(&self.next[router.index()]) {
                    *seen |= next;
                    reached += u64::from(next.count_ones());
                }
            }
            if reached == 0 {
                break;
            }
            found.routers += reached;
            found.total += reached * u64::from(distance);
            found.longest = distance;
            std::mem::swap(&mut self.active, &mut self.coming);
            std::mem::swap(&mut self.here, &mut self.next);
        }
        found
    }

    /// Takes all searches to the neighbours of the routers to which they have come.
    fn go_on(&mut self) {
        for router in self.active.drain(..) {
            let searches = std::mem::replace(&mut self.here[router.index()], [0; WORDS]);
            for channel in self.network.outputs(router) {
                let to = self.network.to(channel);
                let (seen, next) = (&self.seen[to.index()], &mut self.next[to.index()]);
                let (mut before, mut new) = (0, 0);
                for ((next, &seen), &coming) in next.iter_mut().zip(seen).zip(&searches) {
                    before |= *next;
                    *next |= coming & !seen;
                    new |= *next;
                }
                if before == 0 && new != 0 {
                    self.coming.push(to);
                }
            }
        }
    }

    /// The same, asked by routers that not all searches have seen; links have both directions.
    fn look_round(&mut self, all: &[u64; WORDS]) {
        for router in self.network.router_ids() {
            let seen = &self.seen[router.index()];
            if seen == all {
                continue;
            }
            let mut coming = [0; WORDS];
            for channel in self.network.outputs(router) {
                let here = &self.here[self.network.to(channel).index()];
                coming.iter_mut().zip(here).for_each(|(coming, &here)| *coming |= here);
            }
            coming.iter_mut().zip(seen).for_each(|(coming, &seen)| *coming &= !seen);
            if coming != [0; WORDS] {
                self.next[router.index()] = coming;
                self.coming.push(router);
            }
        }
        for router in self.active.drain(..) {
            self.here[router.index()] = [0; WORDS];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::rc::Rc;

    use super::*;
    use crate::TopologySpec;
    use crate::watch::{Watch, WorkProgress, attempt, watched};
    use proptest::prelude::*;

    /// A search from each router by itself.
    fn naive(network: &Network) -> Distances {
        let (mut longest, mut total, mut connected) = (0, 0, true);
        for source in network.router_ids() {
            let mut distance = vec![None; network.routers()];
            distance[source.index()] = Some(0u32);
            let mut queue = VecDeque::from([source]);
            while let Some(router) = queue.pop_front() {
                for to in network.outputs(router).map(|channel| network.to(channel)) {
                    if distance[to.index()].is_none() {
                        distance[to.index()] = distance[router.index()].map(|hops| hops + 1);
                        queue.push_back(to);
                    }
                }
            }
            connected &= distance.iter().all(Option::is_some);
            longest = longest.max(distance.iter().copied().flatten().max().unwrap_or(0));
            total += distance.iter().copied().flatten().map(u64::from).sum::<u64>();
        }
        let pairs = network.routers() * (network.routers() - 1);
        let average = (connected && pairs > 0).then(|| total as f64 / pairs as f64);
        Distances { connected, diameter: connected.then_some(longest), average }
    }

    /// Short distances and long ones, more routers than are searched from at once, and networks in two parts.
    #[test]
    fn searches_together_find_what_they_find_alone() {
        for spec in [
            "random:nodes=1100,degree=5,seed=3",
            "tree:nodes=700,seed=2",
            "ring:300",
            "bmin:4x4",
            "complete:65",
            "ring:3",
        ] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            assert_eq!(network.searched_distances(), naive(&network), "{spec}");
            let [one, three] = [1, 3].map(|threads| network.searched_together(threads));
            assert_eq!(one, three);
            let (mut alone, mut together) = (Reached::default(), Reached::default());
            let mut search = Search { network: &network, distance: vec![0; network.routers()], queue: VecDeque::new() };
            network.router_ids().for_each(|source| alone.add(search.run(source)));
            let mut searches = Searches::new(&network);
            (0..network.routers()).step_by(TOGETHER).for_each(|start| {
                together.add(searches.run(start..network.routers().min(start + TOGETHER)));
            });
            assert_eq!(alone, together, "{spec}");
        }
        let apart = Network::from_links("apart", 5, &[(0, 1), (2, 3), (3, 4)]);
        assert_eq!(apart.searched_distances(), naive(&apart));
        let isolated = Network::from_links("isolated", 1, &[]);
        assert_eq!(isolated.searched_distances(), naive(&isolated));
    }

    /// Work that is stopped ends, and says where it was.
    #[test]
    fn a_search_can_be_stopped() {
        struct After(u64);
        impl Watch for After {
            fn step(&self, step: WorkProgress) -> ControlFlow<()> {
                if step.done >= self.0 && step.of > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let network = "random:nodes=3000,degree=5,seed=3".parse::<TopologySpec>().unwrap().build().unwrap();
        let stopped = watched(Rc::new(After(1000)), || network.distances()).unwrap_err();
        assert_eq!(stopped.to_string(), "stopped while searching distances: 1024 of 3000 routers");
        let all = watched(Rc::new(After(3000)), || network.distances()).expect("not stopped");
        assert_eq!(all, network.distances());
        // A part that is stopped leaves the rest to go on.
        let rest = watched(Rc::new(After(0)), || (attempt(|| network.distances()).is_err(), 7));
        assert_eq!(rest, Ok((true, 7)));
    }

    proptest! {
        /// The closed forms against breadth-first search.
        #[test]
        fn closed_forms_equal_search(extents in prop::collection::vec(1u32..6, 1..4), family in 0..2) {
            let family = ["mesh", "torus"][family as usize];
            let name = extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            let network = format!("{family}:{name}").parse::<TopologySpec>().unwrap().build().unwrap();
            let (closed, searched) = (network.distances(), network.searched_distances());
            prop_assert_eq!(closed.diameter, searched.diameter);
            prop_assert_eq!(closed.average.is_none(), network.routers() == 1, "no pairs, no average");
            match (closed.average, searched.average) {
                (Some(closed), Some(searched)) => prop_assert!((closed - searched).abs() < 1e-12),
                averages => prop_assert_eq!(averages, (None, None)),
            }
        }
    }
}
