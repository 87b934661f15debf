//! What an analysis says, and why there is none.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use wormcast_analysis::{
    AnalysisError, CycleResource, Replicating, Report, Settings, Unicasts, of_algorithm, of_multicasts, of_routing,
    of_tables,
};
use wormcast_multicast::{Algorithm, Multicast, Options, algorithm_by_name};
use wormcast_network::watch::{Watch, WorkProgress, watched};
use wormcast_network::{ChannelId, Network, NodeId, RouterId, TopologySpec};
use wormcast_routing::{
    HamiltonianAdaptive, Lanes, RoutingCapabilities, RoutingOptions, RoutingRelation, VcRange, VirtualChannels,
    choose_tables, routing_by_name,
};
use wormcast_simulation::{Buffer, NotCovered, Reservation};

fn network(spec: &str) -> Arc<Network> {
    spec.parse::<TopologySpec>().unwrap().build().unwrap()
}

fn algorithm(name: &str, network: &Arc<Network>) -> Box<dyn Algorithm> {
    algorithm_by_name(name, network, &Options::default()).unwrap()
}

fn routing(name: &str, network: &Arc<Network>) -> Box<dyn RoutingRelation> {
    routing_by_name(name, network, &RoutingOptions::default()).unwrap()
}

/// Every item may be held by a worm that waits for the next: channels that meet at a router, or consumption channels.
fn is_a_cycle(report: &Report) -> bool {
    let resources = report.resources.as_deref().unwrap_or_default();
    let next = resources.iter().cycle().skip(1);
    resources.len() > 1
        && resources.iter().zip(next).all(|pair| match pair {
            (CycleResource::Channel { channel: [_, to], .. }, CycleResource::Channel { channel: [from, _], .. }) => {
                to == from
            }
            _ => true,
        })
}

#[test]
fn an_algorithm_can_deadlock_with_too_few_consumption_channels() {
    let mesh = network("mesh:4x4");
    let dual_path = algorithm("dual-path", &mesh);
    for ports in 1..=4 {
        let settings = Settings { consumption_ports: Some(ports), ..Settings::default() };
        let report = of_algorithm(dual_path.as_ref(), &settings).unwrap();
        assert_eq!((report.deadlock_free, report.consumption_ports), (ports >= 3, ports));
        assert_eq!(report.resources.is_none(), report.deadlock_free);
        assert!(report.deadlock_free || is_a_cycle(&report), "{report:?}");
        assert_eq!((report.worms.only_unicasts, report.worms.trees), (false, false));
        assert_eq!((report.connected, report.diameter.is_some()), (Some(true), true));
    }
}

#[test]
fn a_routing_has_a_proof_or_a_cycle_with_its_pairs() {
    let mesh = network("mesh:4x4");
    let safe = of_routing(routing("negative-first", &mesh).as_ref(), &Settings::default()).unwrap();
    assert!(safe.deadlock_free && safe.numbering.is_some() && safe.cycle.is_none());
    let ring = network("ring:6");
    let up_down = of_routing(routing("up-down", &ring).as_ref(), &Settings::default()).unwrap();
    assert!(up_down.deadlock_free && up_down.numbering.is_some() && up_down.worms.only_unicasts);
    assert_eq!((up_down.turns, up_down.all_prohibited), (Some(6), 1));
    assert_eq!(up_down.prohibited.as_deref().map(<[_]>::len), Some(1));
    let none = Settings { listed_turns: Some(0), ..Settings::default() };
    let unlisted = of_routing(routing("up-down", &ring).as_ref(), &none).unwrap();
    assert_eq!((unlisted.prohibited.as_deref(), unlisted.all_prohibited), (Some(&[][..]), 1));
}

#[test]
fn tables_that_go_round_a_ring_can_deadlock() {
    let ring = network("ring:5");
    let chosen = choose_tables(routing("up-down", &ring).as_ref(), false).unwrap();
    let report = of_tables("five.lfts", &chosen.tables, &Settings::default()).unwrap();
    assert!(report.deadlock_free && report.numbering.is_some());
    let tables = report.tables.unwrap();
    assert_eq!((tables.file.as_str(), tables.pairs, tables.undelivered_pairs), ("five.lfts", 20, 0));
    let loads = report.link_load.unwrap();
    assert_eq!(loads.by_channel.len(), ring.channels());
}

#[test]
fn given_multicasts_close_a_cycle_together() {
    let line = network("mesh:4");
    let trees = algorithm("tree-one", &line);
    let with = |sources: &[u32], settings: &Settings| {
        of_multicasts(Unicasts::Routing(trees.routing()), settings, |adding| {
            sources.iter().try_for_each(|&source| {
                let multicast = Multicast::new(NodeId::new(source), &[NodeId::new(0), NodeId::new(3)]);
                adding.add(u64::from(source), trees.routing(), &multicast, &trees.plan(&multicast))
            })
        })
    };
    let one = with(&[1], &Settings::default()).unwrap();
    assert!(one.deadlock_free && one.multicasts == Some(1) && one.worms.trees);
    let both = with(&[1, 2], &Settings::default()).unwrap();
    // Branches of trees wait for each other's channels, which do not meet.
    assert_eq!(both.cycle.as_deref(), Some(&[[1, 0], [2, 3]][..]), "{both:?}");
    let lines: Vec<u64> = both.closed_by.iter().flatten().flat_map(|step| step.multicasts.clone()).collect();
    assert!(lines.contains(&1) && lines.contains(&2), "{lines:?}");
    let several = Settings { virtual_channels: Some(2), ..Settings::default() };
    assert!(with(&[1], &several).unwrap().deadlock_free && !with(&[1, 2], &several).unwrap().deadlock_free);
    let switches = Settings { replication: Some(Replicating::Synchronous), ..Settings::default() };
    assert_eq!(with(&[1], &switches).unwrap_err(), AnalysisError::Given);
}

#[test]
fn settings_for_other_worms_are_refused() {
    let mesh = network("mesh:4x4");
    let bmin = network("bmin:4x2");
    let refused = |network: &Arc<Network>, name: &str, settings: Settings| {
        of_algorithm(algorithm(name, network).as_ref(), &settings).unwrap_err()
    };
    let replication = |how| Settings { replication: Some(how), ..Settings::default() };
    let error = refused(&mesh, "dual-path", replication(Replicating::Asynchronous));
    assert_eq!(error, AnalysisError::NotReplicatedBySwitches("dual-path".to_owned()));
    let error = refused(&bmin, "bit-string", replication(Replicating::Lockstep));
    assert_eq!(error, AnalysisError::ReplicatedBySwitches("bit-string".to_owned()));
    let several = Settings { virtual_channels: Some(2), ..Settings::default() };
    assert!(of_algorithm(algorithm("tree-one", &mesh).as_ref(), &several).unwrap().deadlock_free);
    let lockstep = Settings { replication: Some(Replicating::Lockstep), ..several };
    assert!(!of_algorithm(algorithm("tree-one", &mesh).as_ref(), &lockstep).unwrap().deadlock_free);
}

/// Classes are told apart in lockstep, too, where an algorithm is defined with them; and with stores they make branches safe that are reserved together.
#[test]
fn classes_of_trees_are_told_apart() {
    let mesh = network("mesh:4x4");
    let safe = |name: &str, replication, buffer, reservation| {
        let settings = Settings {
            replication: Some(replication),
            buffer: Some(buffer),
            reservation: Some(reservation),
            ..Settings::default()
        };
        let report = of_algorithm(algorithm(name, &mesh).as_ref(), &settings).unwrap();
        assert_eq!(report.cycle.is_none(), report.deadlock_free);
        report.deadlock_free
    };
    let double = "double-channel-xy-tree";
    assert!(!safe(double, Replicating::Lockstep, Buffer::Flits(1), Reservation::Atomic));
    assert!(!safe(double, Replicating::Independent, Buffer::Flits(1), Reservation::Separate));
    assert!(safe(double, Replicating::Independent, Buffer::Message, Reservation::Atomic));
    assert!(!safe("xy-tree", Replicating::Independent, Buffer::Message, Reservation::Atomic));
    for name in [double, "xy-tree"] {
        assert!(safe(name, Replicating::Independent, Buffer::Message, Reservation::Separate));
    }
}

/// Stops everything from the first step of this work on.
struct StopAt(&'static str, Cell<bool>);

impl Watch for StopAt {
    fn step(&self, step: WorkProgress) -> ControlFlow<()> {
        self.1.set(self.1.get() || step.work == self.0);
        if self.1.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn an_analysis_that_is_stopped_keeps_its_verdict() {
    let mesh = network("mesh:16x16");
    let relation = routing("negative-first", &mesh);
    let watch = Rc::new(StopAt("measuring routes", Cell::new(false)));
    let report = watched(watch, || of_routing(relation.as_ref(), &Settings::default())).unwrap().unwrap();
    assert!(report.deadlock_free && report.connected.is_none() && report.load_interrupted);
    assert_eq!(report.missing, ["whether all are connected, distances and link loads"]);
    let json = |report: &Report| serde_json::to_value(report).unwrap();
    assert_eq!(json(&report)["missing"], serde_json::json!(report.missing));
    let whole = of_routing(relation.as_ref(), &Settings::default()).unwrap();
    assert_eq!(json(&whole).get("missing"), None);
}

/// What takes the memory of a large network says so.
#[test]
fn the_dependencies_of_a_closed_form_can_be_stopped() {
    let mesh = network("mesh:64x64");
    let relation = routing("e-cube", &mesh);
    let watch = Rc::new(StopAt("finding what waits for what", Cell::new(false)));
    let stopped = watched(watch, || of_routing(relation.as_ref(), &Settings::default()).is_ok()).unwrap_err();
    assert!(stopped.to_string().starts_with("stopped while finding what waits for what: 0 of "), "{stopped}");
}

/// Shortest ways round a ring, on two virtual channels of each link: worms that have still to cross the dateline have the first.
struct DatelineRing(Arc<Network>);

impl RoutingRelation for DatelineRing {
    fn name(&self) -> &'static str {
        "dateline-ring"
    }

    fn network(&self) -> &Arc<Network> {
        &self.0
    }

    fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        let next = RouterId::new((at.raw() + 1) % self.0.routers() as u32);
        out.extend((at != target).then(|| self.0.channel_between(at, next)).flatten());
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for DatelineRing {
    fn needed(&self) -> u8 {
        2
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        let mut ways = Vec::new();
        self.candidates(at, arrived, target, &mut ways);
        out.clear();
        out.extend(ways.into_iter().map(|channel| (channel, VcRange::only(u8::from(at < target)))));
    }
}

/// By default with as many virtual channels as it needs; with fewer, its classes fall together.
#[test]
fn a_routing_that_divides_virtual_channels_can_deadlock_on_fewer() {
    let relation = DatelineRing(network("ring:5"));
    let on = |virtual_channels| of_routing(&relation, &Settings { virtual_channels, ..Settings::default() }).unwrap();
    for enough in [None, Some(2), Some(3)] {
        assert!(on(enough).deadlock_free);
    }
    let report = on(Some(1));
    assert!(!report.deadlock_free);
    assert_eq!(report.cycle.map(|cycle| cycle.len()), Some(5));
}

#[test]
fn a_report_is_json() {
    let mesh = network("mesh:3x3");
    let settings = Settings { consumption_ports: Some(1), reachable: Some(1_000_000), ..Settings::default() };
    let report = of_algorithm(algorithm("dual-path", &mesh).as_ref(), &settings).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["topology"], &json["algorithm"]), (&"mesh:3x3".into(), &"dual-path".into()));
    assert_eq!(json["deadlock_free"], false);
    assert_eq!(json["reachability"]["verdict"], report.reachability.unwrap().verdict);
    assert!(json.get("missing").is_none() && json.get("numbering").is_none());
}

/// Given paths with several stops are followed by virtual channels beside the unicasts of a routing with classes, and by their own routing.
#[test]
fn given_paths_are_told_apart_by_virtual_channels() {
    let mesh = network("mesh:3x3");
    let routing = HamiltonianAdaptive::new(&mesh).unwrap();
    let given = |name: &str, settings: &Settings| {
        let multicasts = algorithm(name, &mesh);
        of_multicasts(Unicasts::Routing(&routing), settings, |adding| {
            [(0, [4, 8]), (8, [4, 0]), (2, [3, 6]), (6, [5, 1])].into_iter().try_for_each(|(source, to)| {
                let multicast = Multicast::new(NodeId::new(source), &to.map(NodeId::new));
                let line = u64::from(source);
                adding.add(line, multicasts.routing(), &multicast, &multicasts.plan(&multicast))
            })
        })
    };
    let ports = |consumption_ports| Settings { consumption_ports: Some(consumption_ports), ..Settings::default() };
    let safe = given("dual-path-adaptive", &ports(6)).unwrap();
    assert!(safe.deadlock_free && safe.multicasts == Some(4), "{safe:?}");
    // Few worms need fewer consumption channels than all that may be sent. Those of label routing, on any virtual channel, go with the escape, and meet at one stop only.
    let least = |name| (1..=6).find(|&count| given(name, &ports(count)).unwrap().deadlock_free);
    assert!(least("dual-path-adaptive").is_some_and(|least| (2..6).contains(&least)));
    assert_eq!(least("dual-path"), Some(1));
    let one = Settings { virtual_channels: Some(1), reachable: Some(1_000_000), ..ports(4) };
    let merged = given("dual-path-adaptive", &one).unwrap();
    assert!(!merged.deadlock_free);
    let reached = merged.reachability.unwrap();
    assert_eq!((reached.verdict, reached.settings.virtual_channels), ("reachable", 1), "{reached:?}");
    // Paths of another routing share links with unicasts as this one has them.
    let few = Settings { virtual_channels: Some(2), reachable: Some(1000), ..ports(1) };
    assert_eq!(given("dual-path", &few).unwrap_err(), AnalysisError::NotCovered(NotCovered::VirtualChannels));
}
