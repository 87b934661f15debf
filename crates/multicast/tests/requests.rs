//! Requests: what of them an error is about, and that what they ask for is made once.

use std::collections::HashSet;
use std::sync::Arc;

use wormcast_multicast::{AlgorithmCache, FaultInformation, FaultRequest, Request, RequestPart};
use wormcast_network::{Network, TopologyError, TopologySpec};

fn build(spec: &str) -> Result<Arc<Network>, TopologyError> {
    spec.parse::<TopologySpec>()?.build()
}

fn request(algorithm: &str, routing: Option<&str>, root: Option<&str>) -> Request {
    Request { root: root.map(str::to_owned), ..Request::new(algorithm, routing).unwrap() }
}

#[test]
fn errors_say_what_they_are_about() {
    let of = |topology: &str, request: &Request| request.make(&build(topology).unwrap()).err().map(|error| error.part);
    for (algorithm, routing, root, topology, part) in [
        ("separate", None, None, "mesh:4x4", None),
        ("dual-path", None, None, "torus:4x4", Some(RequestPart::Algorithm)),
        ("dual-path", Some("e-cube"), None, "mesh:4x4", Some(RequestPart::Routing)),
        ("dual-path", Some("hamiltonian"), None, "mesh:4x4", None),
        ("tree-one", Some("e-cube"), None, "mesh:4x4", Some(RequestPart::Routing)),
        ("separate", Some("turnaround"), None, "mesh:4x4", Some(RequestPart::Routing)),
        ("separate", None, None, "ring:5", Some(RequestPart::Algorithm)),
        ("separate", Some("up-down"), Some("99"), "ring:5", Some(RequestPart::Root)),
        ("separate", None, Some("1"), "mesh:4x4", Some(RequestPart::Root)),
        ("spam", None, Some("maximum-degree"), "ring:5", None),
    ] {
        assert_eq!(of(topology, &request(algorithm, routing, root)), part, "{algorithm}, {routing:?}, {root:?}");
    }
    let failing = |algorithm: &str, links: &[&str], random, information| {
        let links = links.iter().map(|&link| link.to_owned()).collect();
        Request { faults: FaultRequest { links, random, information }, ..request(algorithm, None, None) }
    };
    let (global, local) = (FaultInformation::Global, FaultInformation::Local);
    for (request, part) in [
        (failing("dstm-1", &["0-1"], 1, global), None),
        (failing("dual-path", &["0-1"], 0, global), Some(RequestPart::Faults)),
        (failing("spam", &["0-1"], 0, local), Some(RequestPart::Faults)),
        (failing("spam", &["0-9"], 0, global), Some(RequestPart::FailedLinks)),
        (failing("spam", &[], 99, global), Some(RequestPart::RandomFaults)),
        (failing("spam", &[], 32, global), Some(RequestPart::RandomFaults)),
        (failing("spam", &["0-1", "0-3", "0-4", "0-12"], 0, global), Some(RequestPart::Faults)),
    ] {
        assert_eq!(of("torus:4x4", &request), part, "{request:?}");
    }
    let unknown = |algorithm, routing| Request::new(algorithm, routing).err().map(|error| error.part);
    assert_eq!(unknown("dualpath", Some("ecube")), Some(RequestPart::Algorithm));
    assert_eq!(unknown("dual-path", Some("ecube")), Some(RequestPart::Routing));
}

#[test]
fn requests_differ_in_every_part() {
    let plain = request("spam", None, None);
    let faults = FaultRequest { random: 1, ..FaultRequest::default() };
    let all: HashSet<Request> = [
        Request { root: Some("1".to_owned()), ..plain.clone() },
        Request { seed: 1, ..plain.clone() },
        Request { faults, ..plain.clone() },
        request("spam", Some("spam"), None),
        request("separate", None, None),
        plain.clone(),
        plain,
    ]
    .into();
    assert_eq!(all.len(), 6);
}

#[test]
fn networks_and_algorithms_are_made_once() {
    let mut cache = AlgorithmCache::bounded(2, usize::MAX);
    let mut get = |name: &str, request: &Request| {
        let network = cache.network(name, || build(name)).unwrap();
        let algorithm = cache.algorithm(name, &network, request).unwrap();
        (network, algorithm)
    };
    let [separate, tree] = ["separate", "tree-one"].map(|algorithm| request(algorithm, None, None));
    let (network, first) = get("mesh:4x4", &separate);
    let (same, other) = get("mesh:4x4", &tree);
    assert!(Arc::ptr_eq(&network, &same) && other.name() == "tree-one");
    assert!(Arc::ptr_eq(&first, &get("mesh:4x4", &separate).1));
    // The third is one too many: everything is made anew, and goes on.
    let (elsewhere, _) = get("mesh:5x5", &separate);
    assert!(!Arc::ptr_eq(&network, &get("mesh:4x4", &separate).0));
    assert!(Arc::ptr_eq(&elsewhere, &get("mesh:5x5", &separate).0));
}
