//! Dragonflies, `HyperX`, Slim Flies and fat trees: sizes, degrees and distances are those of their closed forms.

use std::collections::BTreeSet;
use std::sync::Arc;

use wormcast_network::{Network, RouterId, Shape, TopologySpec};

fn build(spec: &str) -> Arc<Network> {
    let parsed = spec.parse::<TopologySpec>().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parsed.to_string(), spec);
    parsed.build().unwrap()
}

/// Hops between all pairs of routers, one search after the other.
fn farthest(network: &Network) -> u32 {
    let mut farthest = 0;
    for start in network.router_ids() {
        let mut hops = vec![u32::MAX; network.routers()];
        hops[start.index()] = 0;
        let mut frontier = vec![start];
        while let Some(&first) = frontier.first() {
            let distance = hops[first.index()] + 1;
            let mut next = Vec::new();
            for channel in frontier.iter().flat_map(|&router| network.outputs(router)) {
                let to = network.to(channel);
                if hops[to.index()] == u32::MAX {
                    hops[to.index()] = distance;
                    next.push(to);
                }
            }
            frontier = next;
        }
        farthest = farthest.max(*hops.iter().max().unwrap());
    }
    farthest
}

fn is_simple(network: &Network) -> bool {
    let pairs: BTreeSet<_> = network.channel_ids().map(|c| (network.from(c), network.to(c))).collect();
    pairs.len() == network.channels() && pairs.iter().all(|(from, to)| from != to)
}

#[test]
fn dragonflies_join_every_two_groups_once() {
    for (p, a, h) in [(1, 2, 1), (2, 4, 2), (1, 3, 1), (3, 4, 1), (1, 2, 3), (2, 5, 3), (4, 1, 3), (1, 1, 1)] {
        let network = build(&format!("dragonfly:p={p},a={a},h={h}"));
        let groups = a * h + 1;
        assert_eq!((network.routers(), network.nodes()), (a * groups, p * a * groups));
        let degrees = network.degrees();
        assert_eq!((degrees.min, degrees.max), (a - 1 + h, a - 1 + h));
        assert!(is_simple(&network));
        let mut between = BTreeSet::new();
        for channel in network.channel_ids() {
            let (from, to) = (network.from(channel), network.to(channel));
            let [one, other] = [from, to].map(|router| router.index() / a);
            if one == other {
                continue;
            }
            assert!(between.insert((one, other)), "groups {one} and {other} are joined once");
            let Shape::Dragonfly(shape) = network.shape() else { panic!() };
            assert_eq!(shape.gateway(one as u32, other as u32), from);
        }
        assert_eq!(between.len(), groups * (groups - 1));
        // Local, global, local; with as many global links as other routers of the group, or alone, less.
        let diameter = farthest(&network);
        assert_eq!(network.distances().diameter, Some(diameter));
        assert!(diameter <= 3 && (a == 1 || h > 1 || diameter == 3 || a == 2), "{diameter}");
        if (p, a, h) == (2, 4, 2) {
            assert_eq!(diameter, 3);
        }
    }
}

#[test]
fn hyperx_is_as_far_across_as_it_has_dimensions() {
    for (spec, extents) in [
        ("hyperx:5,nodes=1", &[5][..]),
        ("hyperx:4x4,nodes=4", &[4, 4]),
        ("hyperx:3x5,nodes=2", &[3, 5]),
        ("hyperx:3x4x2,nodes=1", &[3, 4, 2]),
        ("hyperx:2x2x2x2,nodes=3", &[2, 2, 2, 2]),
    ] {
        let network = build(spec);
        let routers: usize = extents.iter().product();
        assert_eq!(network.routers(), routers);
        let degree = extents.iter().map(|k| k - 1).sum();
        assert_eq!((network.degrees().min, network.degrees().max), (degree, degree));
        assert!(is_simple(&network));
        assert_eq!(farthest(&network) as usize, extents.len());
        let coordinates = |router: RouterId| {
            let mut rest = router.index();
            extents.iter().map(|k| (rest % k, rest /= k).0).collect::<Vec<_>>()
        };
        for channel in network.channel_ids() {
            let (from, to) = (coordinates(network.from(channel)), coordinates(network.to(channel)));
            assert_eq!(from.iter().zip(&to).filter(|(a, b)| a != b).count(), 1);
        }
    }
    assert_eq!(build("hyperx:4x4,nodes=4").nodes(), 64);
    assert_eq!("hyperx:4x4".parse::<TopologySpec>().unwrap().to_string(), "hyperx:4x4,nodes=1");
}

#[test]
fn slim_flies_have_diameter_2() {
    for q in [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27] {
        let network = build(&format!("slimfly:q={q},nodes=2"));
        assert_eq!((network.routers(), network.nodes()), (2 * q * q, 4 * q * q));
        // (3q - δ) / 2 for q = 4w + δ.
        let degree = match q % 4 {
            0 => 3 * q / 2,
            1 => (3 * q - 1) / 2,
            _ => (3 * q).div_ceil(2),
        };
        assert_eq!((network.degrees().min, network.degrees().max), (degree, degree), "q = {q}");
        assert!(is_simple(&network));
        assert_eq!((farthest(&network), network.distances().diameter), (2, Some(2)), "q = {q}");
        let Shape::SlimFly(fly) = network.shape() else { panic!() };
        for one in network.router_ids().take(40) {
            for other in network.router_ids() {
                assert_eq!(fly.joined(one, other), network.channel_between(one, other).is_some(), "{one:?} {other:?}");
            }
        }
    }
    // The Hoffman-Singleton graph: 50 vertices of degree 7, which with diameter 2 is as many as there can be, and no triangle.
    let network = build("slimfly:q=5,nodes=1");
    let joined = |a: RouterId, b: RouterId| network.channel_between(a, b).is_some();
    let neighbours: Vec<RouterId> = network.outputs(RouterId::new(0)).map(|c| network.to(c)).collect();
    assert_eq!(neighbours.len(), 7);
    assert!(neighbours.iter().all(|&a| neighbours.iter().all(|&b| !joined(a, b))));
}

#[test]
fn fat_trees_are_bidirectional_multistage_networks() {
    for (fat, bmin) in [("fattree:k=4,levels=3", "bmin:4x3"), ("fattree:k=2,levels=4", "bmin:2x4")] {
        let (fat, bmin) = (build(fat), build(bmin));
        assert_eq!(fat.shape(), bmin.shape());
        assert_eq!((fat.nodes(), fat.routers(), fat.links()), (bmin.nodes(), bmin.routers(), bmin.links()));
        assert!(fat.channel_ids().all(|c| (fat.from(c), fat.to(c)) == (bmin.from(c), bmin.to(c))));
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let message = |text: &str| text.parse::<TopologySpec>().unwrap_err().to_string();
    for (given, says) in [
        ("dragonfly:p=2,a=4", "`h` is missing"),
        ("dragonfly:p=2,a=0,h=2", "`a=0` leaves nothing"),
        ("dragonfly:p=2,a=4,g=2", "there is no key `g`"),
        ("dragonfly:p=2,a=100000,h=100000", "routers; at most"),
        ("dragonfly", "needs its size, as in `dragonfly:p=2,a=4,h=2`"),
        ("dragonfli:p=2,a=4,h=2", "did you mean `dragonfly`?"),
        ("hyperx:4x0", "an extent of 0"),
        ("hyperx:4x4,node=2", "did you mean `nodes`?"),
        ("hyperx:4x4,nodes=0", "`nodes=0` leaves nothing"),
        ("hyperx:100000", "links are too many"),
        ("slimfly:q=10,nodes=2", "`q=10` is not a prime power from 3 on: the nearest is `q=9` or `q=11`"),
        ("slimfly:q=12", "the nearest is `q=11` or `q=13`"),
        ("slimfly:q=1,nodes=1", "the nearest is `q=3`"),
        ("slimfly:q=2", "the nearest is `q=3`"),
        ("slimfly:q=1000003", "routers; at most"),
        ("slimfly:nodes=2", "`q` is missing"),
        ("fattree:k=4", "`levels` is missing"),
        ("fattree:k=1,levels=2", "at least 2 ports on each side"),
    ] {
        assert!(message(given).contains(says), "{given}: {}", message(given));
    }
}
