//! Plans, summaries and reports in memory that others have used before.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{
    ALGORITHMS, Algorithm, JsonText, Multicast, Options, Plan, PlanReport, PlanSummary, PortModel, Summariser,
    algorithm_by_name,
};
use wormcast_network::{Network, NodeId, TopologySpec};

/// Every algorithm on a network that suits it, the networks in turn, so that large ones come before and after small ones.
fn everyone() -> Vec<Arc<dyn Algorithm>> {
    let networks =
        ["mesh:5x4", "hypercube:4", "bmin:4x2", "torus:4x4", "random:nodes=18,degree=3,seed=2", "mesh:3x3,nodes=2"];
    let build = |spec: &str| spec.parse::<TopologySpec>().unwrap().build().unwrap();
    let networks: Vec<Arc<Network>> = networks.map(build).into();
    let on_each = |name| networks.iter().filter_map(move |on| algorithm_by_name(name, on, &Options::default()).ok());
    ALGORITHMS.iter().flat_map(|algorithm| on_each(algorithm.name)).map(Arc::from).collect()
}

fn report<'a>(algorithm: &'a dyn Algorithm, multicast: &'a Multicast, summary: &'a PlanSummary) -> PlanReport<'a> {
    let (exact, warning, reduction) = (None, Some("\"\u{7}"), None);
    PlanReport {
        network: algorithm.network(),
        algorithm: algorithm.name(),
        multicast,
        summary,
        exact,
        flit_bits: 16,
        warning,
        reduction,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn memory_that_was_used_before_makes_no_difference(
        multicasts in prop::collection::vec((any::<prop::sample::Index>(), 0u32..16, prop::collection::vec(0u32..16, 1..40), any::<bool>()), 1..40),
    ) {
        let everyone = everyone();
        let (mut plan, mut summary, mut summariser) = (Plan::default(), PlanSummary::default(), Summariser::default());
        let mut text = JsonText::default();
        for (which, source, to, all_ports) in multicasts {
            let algorithm = &**which.get(&everyone);
            let to: Vec<NodeId> = to.into_iter().map(NodeId::new).collect();
            let Ok(multicast) = Multicast::checked(NodeId::new(source), &to) else { continue };
            let ports = if all_ports { PortModel::All } else { PortModel::One };
            algorithm.plan_into(&multicast, &mut plan);
            prop_assert_eq!(&plan, &algorithm.plan(&multicast), "{}", algorithm.name());
            summariser.summarise(&plan, algorithm.routing(), ports, &mut summary).unwrap();
            prop_assert_eq!(&summary, &plan.summary(algorithm.routing(), ports).unwrap(), "{}", algorithm.name());
            let report = report(algorithm, &multicast, &summary);
            // From the second on, channels are looked up.
            for _ in 0..3 {
                text.begin(algorithm.network());
                report.write(&mut text);
                prop_assert_eq!(std::str::from_utf8(text.bytes()).unwrap(), report.json(), "{}", algorithm.name());
            }
        }
    }

    /// First mentions stay, in their order, however many there are and however far apart.
    #[test]
    fn destinations_count_once(
        source in 0u32..60,
        to in prop::collection::vec(0u32..60, 0..80),
        apart in prop::sample::select(vec![1u32, 300, 70_000_000]),
    ) {
        let node = |id: u32| NodeId::new(id * apart);
        let given: Vec<NodeId> = to.iter().copied().map(node).collect();
        let mut once: Vec<NodeId> = Vec::new();
        for &destination in &given {
            if destination != node(source) && !once.contains(&destination) {
                once.push(destination);
            }
        }
        let multicast = Multicast::new(node(source), &given);
        prop_assert_eq!(multicast.destinations(), once);
    }
}
