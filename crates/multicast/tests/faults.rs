//! Multicasts on spanning trees without some links.

use std::sync::Arc;

use wormcast_multicast::{
    AlgorithmError, AlgorithmOptions, FaultInformation, Faults, Multicast, Options, algorithm_by_name,
};
use wormcast_network::{Network, NodeId};

use crate::support::{Numbers, build};

/// Plans random unicasts and multicasts; returns how many worms are sent on by nodes that want nothing themselves.
fn plans_avoid(
    network: &Arc<Network>,
    algorithm: &str,
    faults: &Faults,
    times: usize,
) -> Result<usize, AlgorithmError> {
    // Split multicasts in every other case.
    let split = algorithm.starts_with("dstm").then_some(
        faults.information == FaultInformation::Global && faults.links.first().is_some_and(|link| link.raw() % 2 == 0),
    );
    let own = AlgorithmOptions { split, ..AlgorithmOptions::default() };
    let options = Options { faults: faults.clone(), own, ..Options::default() };
    let algorithm = algorithm_by_name(algorithm, network, &options)?;
    let dependencies = algorithm.dependencies();
    for (held, requested) in dependencies.direct() {
        assert!(![held, requested].iter().any(|&channel| faults.has_failed(network, channel)), "{held} {requested}");
    }
    let mut numbers = Numbers(faults.links.iter().map(|link| u64::from(link.raw())).sum());
    let mut relayed = 0;
    for time in 0..times {
        let mut node = || NodeId::new(numbers.below(network.nodes()) as u32);
        let (source, first) = (node(), node());
        let count = if time % 2 == 0 { 0 } else { time % network.nodes() };
        let destinations: Vec<NodeId> = std::iter::once(first).chain((0..count).map(|_| node())).collect();
        let multicast = Multicast::new(source, &destinations);
        let plan = algorithm.plan(&multicast);
        assert_eq!(plan.check(network, &multicast), Ok(()), "{} {multicast:?} {plan:?}", algorithm.name());
        for worm in &plan.worms {
            let channels = worm.channels(algorithm.routing()).unwrap();
            let used = channels.iter().find(|&&channel| faults.has_failed(network, channel));
            assert_eq!(used, None, "{multicast:?} {plan:?}");
            // What is left out of the dependencies is no worm's.
            for (place, &held) in channels.iter().enumerate() {
                let later = channels[place + 1..].iter().filter(|&&next| network.to(held) == network.from(next));
                for &next in later {
                    assert!(dependencies.contains(held, next), "{} {held} {next} {plan:?}", algorithm.name());
                }
            }
            relayed += usize::from(worm.after.is_some() && !multicast.destinations().contains(&worm.from));
        }
    }
    Ok(relayed)
}

#[test]
fn any_one_link_may_fail() {
    let mut relayed = 0;
    for (topology, algorithms) in [
        ("torus:4x4", &["dstm-1", "dstm-2", "dstm-tarjan", "spam"][..]),
        ("torus:5x3", &["dstm-1", "dstm-2"]),
        ("hypercube:4", &["dstm-tarjan"]),
    ] {
        let network = build(topology);
        let channels = network.channel_ids();
        for link in channels.filter(|&channel| channel < network.reverse(channel)) {
            for information in [FaultInformation::Global, FaultInformation::Local] {
                let faults = Faults { links: vec![link], information };
                for &algorithm in algorithms {
                    match plans_avoid(&network, algorithm, &faults, 40) {
                        Ok(relays) if information == FaultInformation::Local => relayed += relays,
                        Ok(relays) => assert_eq!(relays, 0),
                        Err(AlgorithmError::NoWholeTree { algorithm: "spam", .. }) => {}
                        Err(error) => panic!("{algorithm} on {topology}: {error}"),
                    }
                }
            }
        }
    }
    assert!(relayed > 500, "{relayed} worms are sent on");
}

/// With global information, everything works until the network falls apart, and that is an error.
#[test]
fn many_links_may_fail() {
    let network = build("torus:5x4");
    let (mut apart, mut together) = (0, 0);
    for seed in 0..40 {
        let mut faults = Faults::default();
        faults.fail_at_random(&network, 2 + seed as usize / 2, seed).unwrap();
        for algorithm in ["dstm-1", "dstm-tarjan", "spam"] {
            match plans_avoid(&network, algorithm, &faults, 20) {
                Ok(relays) => {
                    assert_eq!(relays, 0);
                    together += 1;
                }
                Err(error) => {
                    assert!(
                        error.to_string().contains("not connected")
                            || error.to_string().contains("a connected network"),
                        "{error}"
                    );
                    apart += 1;
                }
            }
        }
    }
    assert!(apart > 0 && together > 60, "{apart} {together}");
}

#[test]
fn what_does_not_go_with_faults() {
    let message = |topology: &str, algorithm: &str, links: &[&str], information| {
        let network = build(topology);
        let mut faults = Faults { information, ..Faults::default() };
        for link in links {
            faults.fail(&network, link).unwrap();
        }
        let options = Options { faults, ..Options::default() };
        algorithm_by_name(algorithm, &network, &options).err().map(|error| error.to_string())
    };
    assert_eq!(
        message("mesh:4x4", "dual-path", &["0-1"], FaultInformation::Global).unwrap(),
        "`dual-path` needs all links; `spam`, `dstm-tarjan`, `dstm-tarjan-best` and `dstm-tarjan-average` can do without some"
    );
    assert_eq!(
        message("torus:4x4", "separate", &["0-1"], FaultInformation::Global).unwrap(),
        "`separate` needs all links; `spam`, `dstm-1`, `dstm-2`, `dstm-tarjan`, `dstm-tarjan-best`, `dstm-tarjan-average` \
         and `dstm-tarjan-path` can do without some"
    );
    // Both trees cut.
    let cut = ["0-1", "0-4", "5-6", "5-9"];
    assert!(message("torus:4x4", "dstm-1", &cut, FaultInformation::Global).is_none());
    assert_eq!(
        message("torus:4x4", "dstm-1", &cut, FaultInformation::Local).unwrap(),
        "with local information, `dstm-1` needs one tree of its 2 without a failed link; with global information it makes new ones"
    );
    let corner = ["0-1", "0-3", "0-4", "0-12"];
    let apart = message("torus:4x4", "dstm-1", &corner, FaultInformation::Global).unwrap();
    assert!(apart.contains("is not connected"), "{apart}");
}
