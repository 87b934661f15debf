//! Networks whose links do not fit into a cache, where the core reads ahead what headers will look at and the counts of links are added up later: the worm engine
//! against the flit engine, on one thread and on two.

use std::num::NonZeroUsize;

use serde_json::{Value, json};
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_simulation::{EngineChoice, Scenario, one_thread_because, simulate_observed, simulate_on};

use crate::support::{Watched, build};

fn scenario(algorithm: &str, header: &str, traffic: &Value, run: &Value) -> Scenario {
    // 36,480 links.
    let network = build("mesh:96x96");
    let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
    let switching = json!({
        "buffer": 2, "injection_ports": 2, "consumption_ports": 4, "header": header, "replication": "lockstep"
    });
    Scenario::new(
        algorithm.into(),
        &serde_json::from_value(switching).unwrap(),
        &serde_json::from_value(json!({ "startup": 3 })).unwrap(),
        &serde_json::from_value(traffic.clone()).unwrap(),
        &serde_json::from_value(run.clone()).unwrap(),
    )
    .unwrap()
}

#[test]
fn engines_agree_on_networks_that_do_not_fit_into_a_cache() {
    let burst = json!({ "process": "burst", "sources": 1200 });
    // Trees in lockstep may deadlock, which engines find in other cycles.
    let few = json!({ "process": "burst", "sources": 40 });
    let often = json!({ "process": "poisson", "rate": 0.6 });
    let multicast = |count: u32| json!({ "destinations": count });
    let steady = json!({ "mode": "steady", "messages": 600, "warmup": { "messages": 300 } });
    let finite = json!({ "mode": "finite" });
    for (algorithm, header, arrivals, multicast, run) in [
        // Straight ways, ways with several candidates, strips, worms that trigger others, trees.
        ("separate", "none", &often, Value::Null, &steady),
        ("separate", "none", &burst, Value::Null, &finite),
        ("pure-negative-first", "none", &burst, multicast(3), &finite),
        ("dual-path", "all-destinations", &often, multicast(2), &steady),
        ("u-mesh", "none", &burst, multicast(2), &finite),
        ("xy-tree", "bit-string", &few, multicast(2), &finite),
    ] {
        let traffic = json!({ "arrivals": arrivals, "length": { "uniform": [3, 20] }, "multicast": multicast });
        let scenario = scenario(algorithm, header, &traffic, run);
        let found = [EngineChoice::Flit, EngineChoice::Worm].map(|engine| {
            let mut watched = Watched::default();
            let mut result = simulate_observed(&scenario, engine, 1, &mut watched).unwrap();
            result.engine.clear();
            watched.sort();
            (result, watched)
        });
        let [(expected, of_flits), (result, of_worms)] = &found;
        assert_eq!(result, expected, "{algorithm}");
        assert!(of_worms.deliveries.len() >= 80 && of_worms.deliveries == of_flits.deliveries, "{algorithm}");
        assert_eq!(of_worms.links, of_flits.links, "{algorithm}");
        // Nothing is lost of what is added up later.
        if *run == finite {
            assert_eq!(of_worms.links.iter().sum::<i64>(), result.flit_hops as i64, "{algorithm}");
        }
        if one_thread_because::<Watched>(&scenario, EngineChoice::Worm).is_none() {
            let mut watched = Watched::default();
            let two = NonZeroUsize::new(2).unwrap();
            let mut shared = simulate_on(&scenario, EngineChoice::Worm, 1, &mut watched, two).unwrap();
            shared.engine.clear();
            watched.sort();
            assert_eq!(&shared, expected, "{algorithm} on two threads");
            assert_eq!((watched.deliveries, &watched.links), (of_flits.deliveries.clone(), &of_flits.links));
        }
    }
}
