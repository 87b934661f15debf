//! Plans that no engine should run, and routings that lead nowhere, are errors of a run and not results.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Descriptor, Multicast, Options, Plan, PortModel, algorithm_by_name, register};
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{Dependencies, ECube, NoRoute, RoutingRelation};
use wormcast_simulation::{
    Arrivals, Count, Cycle, Engine, EngineChoice, FlitEngine, MulticastTraffic, Planning, Process, Run, Scenario,
    SimulationError, StopReason, Switching, Timing, Traffic, WormEngine, plan_messages, simulate,
};

use crate::support::{Log, build, node, path, plain};

fn e_cube() -> ECube {
    ECube::new(&build("mesh:4")).unwrap()
}

/// E-cube that does not know the way to one router.
struct Gap(ECube, u32);

impl RoutingRelation for Gap {
    fn name(&self) -> &'static str {
        "gap"
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        if target.raw() != self.1 {
            self.0.candidates(at, arrived, target, out);
        }
    }
}

/// An algorithm made of a function.
struct FnAlgorithm<R, F>(R, F);

impl<R: RoutingRelation, F: Fn(&Multicast) -> Plan + Send + Sync> Algorithm for FnAlgorithm<R, F> {
    fn name(&self) -> &'static str {
        "made"
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.0
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        (self.1)(multicast)
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.0)
    }
}

/// One broadcast from every node of a line of four.
fn broadcasts() -> Traffic {
    Traffic {
        arrivals: Some(Arrivals {
            process: Process::Burst,
            rate: None,
            load: None,
            successes: None,
            sources: None,
            interval: None,
        }),
        multicast: Some(MulticastTraffic { destinations: Count::fixed(3).into(), fraction: 1.0, sets: None }),
        ..Traffic::default()
    }
}

/// What either engine says of them.
fn refused(algorithm: impl Algorithm + 'static) -> String {
    let traffic = broadcasts();
    let algorithm = Arc::new(algorithm);
    let (switching, timing) = (Switching::default(), Timing::default());
    let scenario = Scenario::new(algorithm, &switching, &timing, &traffic, &Run::default()).unwrap();
    let error = |engine| -> SimulationError { simulate(&scenario, engine, 0).unwrap_err() };
    assert_eq!(error(EngineChoice::Flit), error(EngineChoice::Worm));
    error(EngineChoice::Flit).to_string()
}

fn unicasts(multicast: &Multicast) -> Plan {
    Plan { worms: multicast.destinations().iter().map(|to| path(multicast.source().raw(), &[to.raw()])).collect() }
}

#[test]
fn a_plan_that_leaves_somebody_out() {
    let forgetful = |multicast: &Multicast| {
        let mut plan = unicasts(multicast);
        plan.worms.retain(|worm| worm.visits() != [node(3)]);
        plan
    };
    let message = refused(FnAlgorithm(e_cube(), forgetful));
    assert_eq!(message, "the plan of `made` is not as promised: no worm delivers to destination 3");
}

#[test]
fn a_plan_with_a_worm_that_waits_for_itself() {
    let circular = |multicast: &Multicast| {
        let mut plan = unicasts(multicast);
        plan.worms[0].after = Some(0);
        plan
    };
    assert!(
        refused(FnAlgorithm(e_cube(), circular))
            .starts_with("the plan of `made` is not as promised: worm 0 starts at node")
    );
}

#[test]
fn a_worm_that_is_bound_to_a_consumption_channel_beyond_the_last() {
    let bound = |multicast: &Multicast| {
        let mut plan = unicasts(multicast);
        for worm in &mut plan.worms {
            worm.consumption_class = Some(4);
        }
        plan
    };
    assert_eq!(
        refused(FnAlgorithm(e_cube(), bound)),
        "`made` sends paths, which are bound to consumption channels that the nodes do not have: raise `consumption_ports` to 5"
    );
}

#[test]
fn a_routing_that_leads_nowhere() {
    let message = refused(FnAlgorithm(Gap(e_cube(), 2), unicasts));
    assert!(message.starts_with("`gap` has no route from router ") && message.ends_with(" to router 2"), "{message}");
}

/// Unicasts, of which the static check is told if the algorithm is called so.
struct Registered(&'static str, ECube);

impl Algorithm for Registered {
    fn name(&self) -> &'static str {
        self.0
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.1
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        unicasts(multicast)
    }

    fn dependencies(&self) -> Dependencies<'_> {
        let network = self.network();
        if self.0 == "told" { Dependencies::of_relation(&self.1) } else { Dependencies::new(network) }
    }
}

/// A way to have an algorithm's plans looked at.
type Way<'a> = &'a dyn Fn(Arc<dyn Algorithm>) -> Result<(), SimulationError>;

/// What `plan` says of a single multicast, runs say of their first ones; of the workbench's algorithms only tests do.
#[test]
fn what_the_static_check_of_an_own_algorithm_was_not_told_of() {
    register(Descriptor::new("told", 1, |network, _| Ok(Box::new(Registered("told", ECube::new(network)?))))).unwrap();
    register(Descriptor::new("untold", 1, |network, _| Ok(Box::new(Registered("untold", ECube::new(network)?)))))
        .unwrap();
    let (switching, timing, traffic) = (Switching::default(), Timing::default(), broadcasts());
    let in_time = |algorithm: Arc<dyn Algorithm>| {
        let scenario = Scenario::new(algorithm, &switching, &timing, &traffic, &Run::default()).unwrap();
        simulate(&scenario, EngineChoice::Auto, 0).map(drop)
    };
    let planned = |algorithm: Arc<dyn Algorithm>| {
        let settings = (&switching, &timing);
        let planning = Planning::new(algorithm, settings, &traffic, None, PortModel::One).unwrap();
        plan_messages(&planning, 0).map(drop)
    };
    for run in [&in_time as Way<'_>, &planned] {
        let own = |name: &str| run(algorithm_by_name(name, &build("mesh:4"), &Options::default()).unwrap().into());
        assert!(own("told").is_ok());
        let error = own("untold").unwrap_err().to_string();
        let start = "the plan of `untold` is not as promised: worm ";
        assert!(
            error.starts_with(start)
                && error.ends_with(", which `dependencies` (in Python `promise`) does not include"),
            "{error}"
        );
        assert!(run(Arc::new(Registered("unregistered", e_cube()))).is_ok());
    }
}

/// The engines by themselves: a worm that delivers to node 1 and knows no route on to node 2.
#[test]
fn an_engine_says_where_a_header_is_stranded() {
    let gap = Gap(e_cube(), 2);
    let stranded = |engine: &mut dyn FnMut(Plan) -> StopReason| engine(Plan { worms: vec![path(0, &[1, 2])] });
    let no_route = NoRoute::new(&gap, RouterId::new(1), RouterId::new(2));
    let mut flit = FlitEngine::new(&gap, plain(), Log::<false>::default());
    let mut worm = WormEngine::new(&gap, plain(), Log::<false>::default());
    let by_flit = stranded(&mut |plan| {
        flit.submit(0, 0, 8, plan);
        flit.run_until(Cycle::MAX)
    });
    let by_worm = stranded(&mut |plan| {
        worm.submit(0, 0, 8, plan);
        worm.run_until(Cycle::MAX)
    });
    assert_eq!((by_flit, by_worm), (StopReason::NoRoute(no_route.clone()), StopReason::NoRoute(no_route)));
}
