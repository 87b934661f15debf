//! Relations that divide the virtual channels of links.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Multicast, Options, Plan, Worm, add_plan, algorithm_by_name};
use wormcast_network::{ChannelId, Network, NodeId, Ports, RouterId};
use wormcast_routing::{
    Branching, Dependencies, Lanes, RoutingCapabilities, RoutingOptions, RoutingRelation, VcRange, VirtualChannels,
    Waypoints, append_route, routing_by_name,
};
use wormcast_simulation::{
    BranchReplication, BufferedSwitch, Cycle, Delivery, Engine, EngineConfig, FlitEngine, NotCovered, Observer,
    ReachabilityVerdict, Run, Scenario, Sendable, StopReason, Switching, Timing, Traffic, WormEngine, Wormhole,
    search_deadlock,
};

use crate::support::{Dateline, Sent, Told, build, plain, run, run_with, shared, tree, unicast};

fn config(virtual_channels: u32) -> EngineConfig {
    EngineConfig { virtual_channels, ports: Ports { injection: 2, consumption: 2 }, buffer: 1, ..plain() }
}

/// Two long messages of each node of a ring, two hops ahead.
fn round() -> Vec<Sent> {
    (0..8).map(|i| (0, 50, vec![unicast(i % 4, (i + 2) % 4)])).collect()
}

#[test]
fn worms_block_each_other_round_a_ring_unless_they_change_at_its_dateline() {
    let ring = build("torus:4");
    let run = |divided| run_with(&Dateline::new(&ring, divided), config(2), round());
    let (_, free) = run(false);
    assert!(matches!(free, StopReason::Deadlock(_)), "{free:?}");
    let (log, divided) = run(true);
    assert_eq!(divided, StopReason::EndReached);
    assert_eq!(log.delivered().len(), 8);
}

#[test]
fn the_static_check_tells_virtual_channels_apart() {
    for spec in ["torus:4", "torus:5", "torus:4x4", "torus:5x3"] {
        let torus = build(spec);
        let dateline = Dateline::new(&torus, true);
        let divided = Dependencies::of_relation(&dateline).with_virtual_channels(2);
        assert_eq!(divided.deadlock(1), None, "{spec}");
        // With fewer than it needs, no classes can be kept.
        assert!(Dependencies::of_relation(&dateline).deadlock(1).is_some(), "{spec}");
        let any = Dateline::new(&torus, false);
        let free = Dependencies::of_relation(&any);
        assert!(free.deadlock(1).is_some(), "{spec}");
        // Between channels there is no difference.
        assert_eq!((divided.missing(&free), free.missing(&divided)), (None, None));
        // They stay apart beside paths that are followed, and not beside worms of which nobody knows which they take.
        let mut more = Dependencies::of_relation(&dateline).with_virtual_channels(2);
        let (held, next) = more.direct().next().unwrap();
        let way = [torus.to(held), torus.to(next)];
        more.add_worms(|worms| worms.path(&dateline, (torus.from(held), None, &way), VcRange::ANY, |_| ()));
        assert_eq!(more.deadlock(2), None, "{spec}");
        more.add_worms(|worms| worms.hop(held, next, false));
        assert!(more.deadlock(2).is_some(), "{spec}");
    }
}

/// Unicasts by a relation that divides virtual channels.
struct Unicasts(Dateline);

impl Algorithm for Unicasts {
    fn name(&self) -> &'static str {
        "unicasts"
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.0
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let unicast = |to: &wormcast_network::NodeId| unicast(multicast.source().raw(), to.raw());
        Plan { worms: multicast.destinations().iter().map(unicast).collect() }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.0)
    }
}

#[test]
fn too_few_virtual_channels_are_refused() {
    let ring = build("torus:4");
    let traffic: Traffic =
        serde_json::from_str(r#"{ "arrivals": { "process": "burst" }, "multicast": { "destinations": 1 } }"#).unwrap();
    let scenario = |switching: Switching| {
        let algorithm = Arc::new(Unicasts(Dateline::new(&ring, true)));
        let made = Scenario::new(algorithm, &switching, &Timing::default(), &traffic, &Run::default());
        made.map(|_| ()).map_err(|error| error.to_string())
    };
    let wormhole = |virtual_channels| Switching::from(Wormhole { virtual_channels, ..Wormhole::default() });
    let few = "`switching.virtual_channels`: `dateline` needs 2 virtual channels, but there is 1";
    assert_eq!(scenario(wormhole(1)), Err(few.to_owned()));
    assert_eq!(scenario(wormhole(2)), Ok(()));
    let none = "`switching.model`: `dateline` needs 2 virtual channels, which buffered switches do not have";
    assert_eq!(scenario(Switching::Buffered(BufferedSwitch::central_buffer())), Err(none.to_owned()));
    // An engine by itself finds no way that a header may take.
    let (_, progress) = run_with(&Dateline::new(&ring, true), config(1), round());
    assert!(matches!(progress, StopReason::NoRoute(_)), "{progress:?}");
    // The worm engine knows of one virtual channel.
    assert!(WormEngine::<()>::objection(&config(2)).is_some());
    let found = search_deadlock(&Dateline::new(&ring, true), &config(1), &[], 100);
    assert_eq!(found.unwrap_err(), NotCovered::TooFewVirtualChannels);
}

/// The relations with classes, on networks where worms turn, cross datelines and go over waypoints, with the fewest virtual channels that are safe.
const DIVIDED: [(&str, &str, u32); 16] = [
    ("dateline", "torus:4x4", 2),
    ("dateline", "torus:5", 2),
    ("dateline-balanced", "torus:4x4", 2),
    ("dateline-balanced", "torus:6x5", 2),
    ("duato", "mesh:4x4", 2),
    ("duato", "torus:4x4", 3),
    ("duato", "hypercube:4", 2),
    ("minimal", "dragonfly:p=2,a=4,h=1", 2),
    ("minimal", "slimfly:q=3,nodes=1", 2),
    ("minimal", "hyperx:4x4,nodes=1", 1),
    ("valiant", "dragonfly:p=1,a=4,h=1", 4),
    ("valiant", "hyperx:4x4,nodes=1", 2),
    ("valiant", "slimfly:q=3,nodes=1", 4),
    ("valiant-group", "dragonfly:p=1,a=4,h=1", 3),
    ("ugal", "dragonfly:p=1,a=4,h=1", 4),
    ("ugal", "hyperx:4x4,nodes=1", 2),
];

fn made(name: &str, network: &Arc<Network>) -> Box<dyn RoutingRelation> {
    routing_by_name(name, network, &RoutingOptions::default()).unwrap()
}

/// Counts deliveries.
#[derive(Default)]
struct Delivered(u64);

impl Observer for Delivered {
    fn delivered(&mut self, _: &Delivery) {
        self.0 += 1;
    }
}

/// Messages without a pause, so that four for each node wait or are on their way: how many arrive, and how it ends.
fn saturated(relation: &dyn RoutingRelation, config: EngineConfig, messages: u64) -> (u64, StopReason) {
    let nodes = relation.network().nodes() as u64;
    let delivered = shared(Delivered::default());
    let mut engine = FlitEngine::new(relation, config, Told::new(&delivered));
    for message in 0..messages {
        while message - delivered.borrow().0 >= 4 * nodes {
            match engine.run_until(engine.now() + 8) {
                StopReason::EndReached => {}
                other => return (delivered.borrow().0, other),
            }
        }
        let drawn = (message + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let source = message % nodes;
        let destination = (source + 1 + (drawn >> 32) % (nodes - 1)) % nodes;
        let worms = vec![unicast(source as u32, destination as u32)];
        let at = engine.now();
        engine.submit(at, message, 1 + (drawn >> 20) as u32 % 12, Plan { worms });
    }
    let progress = engine.drain(Cycle::MAX);
    (delivered.borrow().0, progress)
}

#[test]
fn saturated_networks_with_classes_do_not_deadlock() {
    for (name, spec, needed) in DIVIDED {
        let network = build(spec);
        let relation = made(name, &network);
        let long = name == "dateline" && spec == "torus:4x4";
        let messages = if long { 100_000 } else { 5_000 };
        let (delivered, progress) = saturated(&*relation, config(needed), messages);
        assert_eq!((delivered, progress), (messages, StopReason::EndReached), "{name} on {spec}");
    }
    // The same without classes.
    for (spec, count) in [("torus:4x4", 1), ("torus:4x4", 2), ("torus:5", 1)] {
        let (_, progress) = saturated(&Dateline::new(&build(spec), false), config(count), 100_000);
        assert!(matches!(progress, StopReason::Deadlock(_)), "{spec} with {count}: {progress:?}");
    }
}

/// A relation whose classes all fall together.
struct Merged(Box<dyn RoutingRelation>);

impl RoutingRelation for Merged {
    fn name(&self) -> &'static str {
        "merged"
    }

    fn network(&self) -> &Arc<Network> {
        self.0.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.0.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        let own = self.0.capabilities();
        RoutingCapabilities { virtual_channels: Some(self), waypoints: own.waypoints.map(|_| self as _), ..own }
    }
}

fn merge(lanes: &mut Lanes) {
    for lane in lanes {
        lane.1 = VcRange::only(0);
    }
}

impl VirtualChannels for Merged {
    fn needed(&self) -> u8 {
        1
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        let own = self.0.capabilities().virtual_channels.unwrap();
        own.lanes(at, arrived, target, own.needed(), out);
        merge(out);
    }
}

impl Waypoints for Merged {
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        load: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId> {
        self.0.capabilities().waypoints.unwrap().waypoint(source, target, drawn, load)
    }

    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool {
        self.0.capabilities().waypoints.unwrap().may_lead_over(source, waypoint)
    }

    fn lanes_to(&self, at: RouterId, arrived: Option<ChannelId>, waypoint: RouterId, _: u8, out: &mut Lanes) {
        let own = self.0.capabilities();
        own.waypoints.unwrap().lanes_to(at, arrived, waypoint, own.virtual_channels.unwrap().needed(), out);
        merge(out);
    }
}

#[test]
fn without_their_classes_worms_block_each_other() {
    for (name, spec, needed) in DIVIDED.into_iter().filter(|&(name, _, needed)| needed > 1 && name != "minimal") {
        let network = build(spec);
        let merged = Merged(made(name, &network));
        assert!(Dependencies::of_relation(&merged).with_virtual_channels(needed).deadlock(1).is_some());
        let (_, progress) = saturated(&merged, config(1), 50_000);
        assert!(matches!(progress, StopReason::Deadlock(_)), "{name} on {spec}: {progress:?}");
    }
}

/// Rule 4, over as many links as the worm has crossed: on shortest ways, or over a waypoint.
#[test]
fn an_empty_network_delivers_at_the_closed_form() {
    for (name, spec, needed) in DIVIDED {
        let network = build(spec);
        let relation = made(name, &network);
        let links = network.channels() as u32;
        let nodes = network.nodes() as u32;
        let mut detours = 0;
        for source in (0..nodes).step_by(3) {
            for destination in (0..nodes).filter(|&node| node != source) {
                let seed = u64::from(source * nodes + destination);
                let config = EngineConfig { seed, startup: 7, routing_delay: 3, ..config(needed) };
                let (log, progress) = run_with(&*relation, config, vec![(0, 5, vec![unicast(source, destination)])]);
                assert_eq!(progress, StopReason::EndReached);
                let hops = log.grants.keys().filter(|key| key.1 < links).count() + log.grants_again.len();
                assert_eq!(log.at(0, destination), 7 + (hops as u64 + 1) * 4 + 5, "{name} on {spec}");
                let mut route = Vec::new();
                let [from, to] = [source, destination].map(|node| network.router_of(NodeId::new(node)));
                append_route(&*relation, from, None, to, &mut route).unwrap();
                detours += usize::from(hops > route.len());
                assert!(hops == route.len() || name.starts_with("valiant"), "{name} on {spec}");
            }
        }
        // UGAL goes straight where nothing is loaded.
        assert_eq!(detours > 0, name.starts_with("valiant"), "{name} on {spec}");
    }
}

/// Trees in lockstep on two virtual channels: two of them that share one block each other as they do on one, those that do not share any cannot. If each may take either, it takes two of a kind.
#[test]
fn trees_in_lockstep_block_each_other_on_one_virtual_channel() {
    let line = build("mesh:4");
    let trees = algorithm_by_name("tree-one", &line, &Options::default()).unwrap();
    let tree = |source, on: Option<u8>| {
        let multicast = Multicast::new(NodeId::new(source), &[0, 3].map(NodeId::new));
        let mut worms = trees.plan(&multicast).worms;
        worms[0].virtual_channels = on.map(VcRange::only);
        worms
    };
    let config = EngineConfig {
        ports: Ports { injection: 2, consumption: 4 },
        virtual_channels: 2,
        replication: BranchReplication::Lockstep,
        ..plain()
    };
    let deadlocks = |sent: Vec<Vec<Worm>>, buffer| {
        let mut engine = FlitEngine::new(trees.routing(), EngineConfig { buffer, ..config }, Told::nobody());
        for (number, worms) in (0..).zip(sent) {
            engine.submit(0, number, 4, Plan { worms });
        }
        matches!(engine.run_until(Cycle::MAX), StopReason::Deadlock(_))
    };
    // Where a buffer holds a whole worm of four flits, the branch that has got its channel gives it back.
    for buffer in [1, 2, 3, 4, 100] {
        let block = |sent| assert_eq!(deadlocks(sent, buffer), buffer < 4, "{buffer}");
        block(vec![tree(1, Some(0)), tree(2, Some(0))]);
        block(vec![tree(1, None), tree(2, None), tree(1, None), tree(2, None)]);
        assert!(!deadlocks(vec![tree(1, Some(0)), tree(2, Some(1))], buffer), "{buffer}");
        assert!(!deadlocks(vec![tree(1, None), tree(2, None)], buffer), "{buffer}");
    }
    // The check, which does not tell virtual channels of trees apart that their plans name, and warns of buffers for whole worms, too: others may ask for channels together.
    let mut given = Dependencies::new(&line).with_virtual_channels(2);
    for (source, safe) in [(1, true), (2, false)] {
        let plan = Plan { worms: tree(source, None) };
        given.add_worms(|worms| add_plan(worms, trees.routing(), &plan, Branching::LOCKSTEP)).unwrap();
        assert_eq!(given.deadlock(4).is_none(), safe);
    }
    // The search finds as many worms as it takes.
    let multicasts = [1, 2].map(|source| Sendable {
        multicast: Multicast::new(NodeId::new(source), &[0, 3].map(NodeId::new)),
        plan: Plan { worms: tree(source, None) },
    });
    let found = search_deadlock(trees.routing(), &config, &multicasts, 100_000).unwrap();
    let ReachabilityVerdict::Reachable(witness) = &found.verdict else { panic!("{found:?}") };
    assert_eq!(witness.messages.len(), 4, "{witness}");
    let apart = [(1, 0), (2, 1)].map(|(source, on)| Sendable {
        plan: Plan { worms: tree(source, Some(on)) },
        multicast: Multicast::new(NodeId::new(source), &[0, 3].map(NodeId::new)),
    });
    let found = search_deadlock(trees.routing(), &config, &apart, 100_000).unwrap();
    assert_eq!(found.verdict, ReachabilityVerdict::NotReachable, "{found:?}");
}

/// A flit of a tree in lockstep goes before the others: the path that shares its link waits until the tree has passed.
#[test]
fn trees_in_lockstep_go_first() {
    let line = build("mesh:3");
    let config = EngineConfig {
        ports: Ports { injection: 2, consumption: 2 },
        virtual_channels: 2,
        startup: 0,
        routing_delay: 0,
        replication: BranchReplication::Lockstep,
        ..plain()
    };
    let fork = tree(&line, 1, &[(1, 0, None, true), (1, 2, None, true)]);
    let sent = |order: [Worm; 2]| order.into_iter().map(|worm| (0, 5, vec![worm])).collect::<Vec<Sent>>();
    // In a buffer of one flit there is room for the next only once that has left: then the link serves the path meanwhile, and the tree in the cycle after that.
    let alternate = run(&line, EngineConfig { buffer: 1, ..config }, sent([fork.clone(), unicast(1, 2)]));
    assert_eq!([alternate.at(0, 0), alternate.at(0, 2), alternate.at(1, 2)], [11, 11, 12]);
    let config = EngineConfig { buffer: 2, ..config };
    // Whichever comes first: the tree's flits cross in cycles 1 to 5 and are consumed in 2 to 6; those of the path cross in 6 to 10, and are consumed in 7 to 11.
    let first = run(&line, config, sent([fork.clone(), unicast(1, 2)]));
    assert_eq!([first.at(0, 0), first.at(0, 2), first.at(1, 2)], [7, 7, 12]);
    let second = run(&line, config, sent([unicast(1, 2), fork]));
    assert_eq!([second.at(0, 2), second.at(1, 0), second.at(1, 2)], [12, 7, 7]);
}
