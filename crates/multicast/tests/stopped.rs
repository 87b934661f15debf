//! Plans of very many worms can be stopped, while their worms are followed and while they are written.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use wormcast_multicast::{Multicast, Options, PlanReport, PortModel, algorithm_by_name};
use wormcast_network::watch::{Watch, WorkProgress, watched};
use wormcast_network::{NodeId, parse_node_list};

use crate::support::build;

/// Stops at the second step, and says what the last one was.
#[derive(Default)]
struct AtTheSecond(Cell<Option<WorkProgress>>);

impl Watch for AtTheSecond {
    fn step(&self, step: WorkProgress) -> ControlFlow<()> {
        if self.0.replace(Some(step)).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn stopped<T>(work: impl FnOnce() -> T) -> Option<WorkProgress> {
    let watch = Rc::new(AtTheSecond::default());
    let done = watched(Rc::<AtTheSecond>::clone(&watch), work);
    assert_eq!(done.is_err(), watch.0.get().is_some_and(|step| step.done > 1024));
    watch.0.get()
}

#[test]
fn large_plans_are_stopped_and_small_ones_not_asked_about() {
    for (topology, steps) in [("mesh:64x64", true), ("mesh:32x32", false)] {
        let network = build(topology);
        let all = parse_node_list(&network, "all").unwrap();
        let multicast = Multicast::checked(NodeId::new(0), &all[1..]).unwrap();
        let algorithm = algorithm_by_name("separate", &network, &Options::default()).unwrap();
        let plan = algorithm.plan(&multicast);
        let summary = plan.summary(algorithm.routing(), PortModel::One).unwrap();
        let report = PlanReport {
            network: &network,
            algorithm: algorithm.name(),
            multicast: &multicast,
            summary: &summary,
            exact: None,
            flit_bits: PlanReport::FLIT_BITS,
            warning: None,
            reduction: None,
        };
        let at = |work| steps.then_some(WorkProgress { work, parts: "worms", done: 2048, of: 4095 });
        let summarised = stopped(|| plan.summary(algorithm.routing(), PortModel::One).is_ok());
        assert_eq!(summarised, at("following worms"), "{topology}");
        assert_eq!(stopped(|| report.json()), at("writing the plan"), "{topology}");
    }
}
