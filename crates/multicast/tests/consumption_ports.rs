//! How many consumption channels a node needs before the static check rules deadlock out: the table of docs/algorithms.md.

use wormcast_multicast::{ALGORITHMS, Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_routing::Branching;

/// The fewest consumption channels with which no worms of this algorithm, whatever their destinations, can block each other.
fn fewest(algorithm: &str, topology: &str) -> Option<u32> {
    let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).ok()?;
    let dependencies = algorithm.dependencies();
    // A router of a 3-D mesh has six inputs: no more worms than that meet there.
    (1..=8).find(|&ports| dependencies.deadlock(ports).is_none())
}

#[test]
fn as_documented() {
    for algorithm in ALGORITHMS.iter().map(|algorithm| algorithm.name) {
        let (in_2d, in_3d) = match algorithm {
            "separate" | "u-mesh" | "bit-string" | "chain-ordered" => (1, Some(1)),
            "u-cube" | "maxport" | "combine" | "w-sort" => {
                assert_eq!(fewest(algorithm, "hypercube:5"), Some(1), "{algorithm}");
                continue;
            }
            "multiport" | "u-min" => {
                assert_eq!(fewest(algorithm, "bmin:4x2"), Some(1), "{algorithm}");
                assert_eq!(fewest(algorithm, "bmin:2x4"), Some(1), "{algorithm}");
                continue;
            }
            "pure-negative-first"
            | "bounded-negative-first"
            | "minimal-negative-first"
            | "minimal-negative-first-optimal"
            | "dual-path" => (3, Some(4)),
            // On its two virtual channels.
            "dual-path-adaptive" => {
                for topology in ["mesh:3x3", "mesh:4x4", "mesh:5x4", "mesh:8x8"] {
                    let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
                    let made = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
                    let fewest = |on| {
                        let dependencies = made.dependencies().with_virtual_channels(on);
                        (1..=12).find(|&ports| dependencies.deadlock(ports).is_none())
                    };
                    // Without the escape no number is enough; with more virtual channels more worms meet.
                    assert_eq!([1, 2, 3].map(fewest), [None, Some(6), Some(9)], "on {topology}");
                    assert_eq!(made.capabilities().ports.map(|ports| ports.consumption), Some(6));
                }
                continue;
            }
            "multi-path" | "schl" => (3, None),
            "column-path" => (2, None),
            "tree-zero" | "tree-one" | "tree-infinity" => {
                for topology in ["mesh:4x4", "mesh:4x4x4", "hypercube:4", "random:nodes=16,degree=3,seed=1"] {
                    assert_eq!(fewest(algorithm, topology), Some(1), "{algorithm} on {topology}");
                    // In lockstep there is no number.
                    let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
                    let made = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
                    let lockstep = made.dependencies_with(Branching::LOCKSTEP);
                    assert!(lockstep.deadlock(8).is_some(), "{algorithm} on {topology}");
                }
                continue;
            }
            "spam" => {
                for topology in
                    ["mesh:4x4", "mesh:4x4x4", "hypercube:4", "torus:5x4", "random:nodes=16,degree=3,seed=1"]
                {
                    assert_eq!(fewest(algorithm, topology), Some(1), "{algorithm} on {topology}");
                }
                continue;
            }
            "xy-tree" | "yx-tree" | "double-channel-xy-tree" | "xy-mask" | "yx-mask" | "vctm" => {
                for topology in ["mesh:2x2", "mesh:5x4", "mesh:8x8"] {
                    assert_eq!(fewest(algorithm, topology), Some(1), "{algorithm} on {topology}");
                }
                continue;
            }
            // No number of them is enough.
            "rpm" => {
                assert_eq!(fewest(algorithm, "mesh:2x2"), None);
                continue;
            }
            "tables" => {
                for topology in ["mesh:4x4", "hypercube:4", "bmin:4x2", "torus:5x4", "random:nodes=16,degree=3,seed=1"]
                {
                    assert_eq!(fewest(algorithm, topology), Some(1), "{algorithm} on {topology}");
                }
                continue;
            }
            "dstm-tarjan-best" | "dstm-tarjan-average" => continue,
            "dstm-1" | "dstm-2" | "dstm-tarjan" | "dstm-tarjan-path" => {
                // One for each tree, to which its worms are bound.
                for topology in ["torus:2x2", "torus:5x5", "torus:8x8"] {
                    let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
                    let made = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
                    let dependencies = made.dependencies();
                    assert_eq!((dependencies.bound_channels(), dependencies.deadlock(2)), (2, None), "on {topology}");
                }
                continue;
            }
            other => panic!("say in docs/algorithms.md what `{other}` needs"),
        };
        assert_eq!(fewest(algorithm, "mesh:4x4"), Some(in_2d), "{algorithm}");
        assert_eq!(fewest(algorithm, "mesh:8x8"), Some(in_2d), "{algorithm}");
        assert_eq!(fewest(algorithm, "mesh:4x4x4"), in_3d, "{algorithm}");
    }
}
