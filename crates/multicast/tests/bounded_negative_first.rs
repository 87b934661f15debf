//! Negative-first worms with bounded detours: its ends, its bound, and the fewest worms that there can be, by trying all.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Algorithm, AlgorithmOptions, Multicast, Options, Plan, algorithm_by_name, check_contract};
use wormcast_network::{Grid, Network, NodeId, TopologySpec};

fn build(extents: &[u32]) -> Arc<Network> {
    let text: Vec<String> = extents.iter().map(ToString::to_string).collect();
    format!("mesh:{}", text.join("x")).parse::<TopologySpec>().unwrap().build().unwrap()
}

fn bounded(mesh: &Arc<Network>, detour: Option<u32>) -> Box<dyn Algorithm> {
    let own = AlgorithmOptions { detour, ..AlgorithmOptions::default() };
    algorithm_by_name("bounded-negative-first", mesh, &Options { own, ..Options::default() }).unwrap()
}

fn plain(mesh: &Arc<Network>, name: &str, multicast: &Multicast) -> Plan {
    algorithm_by_name(name, mesh, &Options::default()).unwrap().plan(multicast)
}

fn distance(grid: &Grid, one: NodeId, other: NodeId) -> u32 {
    let along = |d| grid.coordinate(one.index(), d).abs_diff(grid.coordinate(other.index(), d));
    (0..grid.dimensions()).map(along).sum()
}

/// The longest detour of a plan's worms, along the channels that they take.
fn longest_detour(mesh: &Network, algorithm: &dyn Algorithm, plan: &Plan, source: NodeId) -> u32 {
    let grid = mesh.shape().grid().unwrap();
    let of_worm = |worm: &wormcast_multicast::Worm| {
        let channels = worm.channels(algorithm.routing()).unwrap();
        let stops = worm.visits();
        let hops = |stop: NodeId| {
            let reached = channels.iter().position(|&channel| mesh.to(channel) == mesh.router_of(stop));
            reached.unwrap() as u32 + 1 - distance(grid, source, stop)
        };
        stops.into_iter().map(hops).max().unwrap()
    };
    plan.worms.iter().map(of_worm).max().unwrap_or(0)
}

/// The fewest negative-first lists without longer detours, by trying all orders of all sets.
fn fewest(grid: &Grid, source: NodeId, destinations: &[NodeId], bound: u32) -> usize {
    struct Walk<'g> {
        grid: &'g Grid,
        source: NodeId,
        destinations: &'g [NodeId],
        bound: u32,
        /// The sets that one list can have.
        one: Vec<bool>,
    }
    impl Walk<'_> {
        fn from(&mut self, set: usize, at: NodeId, hops: u32, risen: bool) {
            self.one[set] = true;
            for (place, &next) in self.destinations.iter().enumerate() {
                let moves: Vec<(u32, u32)> = (0..self.grid.dimensions())
                    .map(|d| (self.grid.coordinate(at.index(), d), self.grid.coordinate(next.index(), d)))
                    .collect();
                let (falls, rises) = (moves.iter().any(|(a, b)| a > b), moves.iter().any(|(a, b)| a < b));
                let hops = hops + distance(self.grid, at, next);
                let detour = hops - distance(self.grid, self.source, next);
                if set & 1 << place == 0 && !(risen && falls) && detour <= self.bound {
                    self.from(set | 1 << place, next, hops, risen || rises);
                }
            }
        }
    }
    let one = vec![false; 1 << destinations.len()];
    let mut walk = Walk { grid, source, destinations, bound, one };
    walk.from(0, source, 0, false);
    let mut least = vec![usize::MAX; walk.one.len()];
    least[0] = 0;
    for set in 1..least.len() {
        let mut part = set;
        while part > 0 {
            if walk.one[part] && least[set ^ part] != usize::MAX {
                least[set] = least[set].min(least[set ^ part] + 1);
            }
            part = (part - 1) & set;
        }
    }
    least[least.len() - 1]
}

fn multicasts(most: usize) -> impl Strategy<Value = (Vec<u32>, prop::sample::Index, Vec<prop::sample::Index>)> {
    let extents = prop_oneof![
        5 => prop::collection::vec(1u32..=6, 2),
        1 => prop::collection::vec(1u32..=9, 1),
        2 => prop::collection::vec(1u32..=3, 3),
    ];
    (extents, any::<prop::sample::Index>(), prop::collection::vec(any::<prop::sample::Index>(), 1..=most))
}

fn multicast(mesh: &Network, source: prop::sample::Index, destinations: &[prop::sample::Index]) -> Multicast {
    let node = |index: &prop::sample::Index| NodeId::new(index.index(mesh.nodes()) as u32);
    Multicast::new(node(&source), &destinations.iter().map(node).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Without detours it is the minimal algorithm, and with any the pure one, worm for worm.
    #[test]
    fn its_ends_are_the_two_algorithms((extents, source, destinations) in multicasts(24)) {
        let mesh = build(&extents);
        let multicast = multicast(&mesh, source, &destinations);
        let with = |detour| bounded(&mesh, detour).plan(&multicast);
        prop_assert_eq!(with(Some(0)), plain(&mesh, "minimal-negative-first-optimal", &multicast));
        let pure = plain(&mesh, "pure-negative-first", &multicast);
        // Nothing lies further below the source.
        let grid = mesh.shape().grid().unwrap();
        let most: u32 = grid.coordinates(multicast.source().index()).iter().map(|&c| 2 * c).sum();
        for detour in [None, Some(u32::MAX), Some(most.max(1))] {
            prop_assert_eq!(&with(detour), &pure);
        }
    }

    /// Every destination is reached once, within the bound, by negative-first paths, no more of them than the minimal algorithm has and no
    /// fewer than the pure one.
    #[test]
    fn the_bound_is_kept((extents, source, destinations) in multicasts(24), bound in 0u32..14) {
        let mesh = build(&extents);
        let multicast = multicast(&mesh, source, &destinations);
        let algorithm = bounded(&mesh, Some(bound));
        let plan = algorithm.plan(&multicast);
        prop_assert_eq!(plan.check(&mesh, &multicast), Ok(()));
        prop_assert!(check_contract(algorithm.as_ref(), &multicast).is_ok());
        prop_assert!(longest_detour(&mesh, algorithm.as_ref(), &plan, multicast.source()) <= bound);
        let worms = |name| plain(&mesh, name, &multicast).worms.len();
        let (least, most) = (worms("pure-negative-first"), worms("minimal-negative-first-optimal"));
        prop_assert!((least..=most).contains(&plan.worms.len()), "{} of {}..={}", plan.worms.len(), least, most);
        prop_assert_eq!(algorithm.dependencies().deadlock(4), None);
    }
}

/// How far it is from the fewest worms that a bound allows: no fewer are possible, and seldom are.
#[test]
fn few_worms_are_more_than_the_fewest() {
    let (mut cases, mut more, mut worst) = (0, 0, 0);
    for extents in [vec![3, 3], vec![4, 4], vec![2, 5], vec![5, 5], vec![3, 3, 2], vec![7]] {
        let mesh = build(&extents);
        let grid = mesh.shape().grid().unwrap();
        for seed in 0..60u64 {
            // Neighbouring numbers look alike, these do not.
            let drawn = |salt: u64| wormcast_network::split_mix::mix(seed * 1_000 + salt);
            let nodes = mesh.nodes() as u64;
            let node = |salt| NodeId::new((drawn(salt) % nodes) as u32);
            let destinations: Vec<NodeId> = (1..=(2 + drawn(0) % 5)).map(node).collect();
            let multicast = Multicast::new(node(99), &destinations);
            for bound in [0, 1, 2, 4, 6, 20] {
                let found = bounded(&mesh, Some(bound)).plan(&multicast).worms.len();
                let fewest = fewest(grid, multicast.source(), multicast.destinations(), bound);
                assert!(found >= fewest, "{extents:?} {multicast:?} {bound}");
                // Both ends are proved to have the fewest.
                assert!(![0, 20].contains(&bound) || found == fewest, "{extents:?} {multicast:?} {bound}");
                cases += 1;
                more += usize::from(found > fewest);
                worst = worst.max(found - fewest);
            }
        }
    }
    assert!(more * 50 <= cases && worst <= 1, "{more} of {cases} have more, up to {worst}");
}
