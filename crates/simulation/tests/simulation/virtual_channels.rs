//! Relations that divide the virtual channels of links.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Multicast, Plan};
use wormcast_network::{ChannelId, Network, NodeId, Ports, RouterId};
use wormcast_routing::{
    Dependencies, Lanes, RoutingCapabilities, RoutingOptions, RoutingRelation, VcRange, VirtualChannels, Waypoints,
    append_route, routing_by_name,
};
use wormcast_simulation::{
    BufferedSwitch, Cycle, Delivery, Engine, EngineConfig, FlitEngine, NotCovered, Observer, Run, Scenario, StopReason,
    Switching, Timing, Traffic, WormEngine, Wormhole, search_deadlock,
};

use crate::support::{Dateline, Sent, build, plain, run_with, unicast};

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
        // Beside other worms they are not told apart.
        let mut more = Dependencies::of_relation(&dateline).with_virtual_channels(2);
        more.add_worms(|_| ());
        assert!(more.deadlock(1).is_some());
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
    // The worm engine and the search for deadlocks know of one virtual channel.
    assert!(WormEngine::<()>::objection(&config(2)).is_some());
    let found = search_deadlock(&Dateline::new(&ring, true), &config(1), &[], 100);
    assert_eq!(found.unwrap_err(), NotCovered::VirtualChannels);
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
    let mut engine = FlitEngine::new(relation, config, Delivered::default());
    for message in 0..messages {
        while message - engine.observer().0 >= 4 * nodes {
            match engine.run_until(engine.now() + 8) {
                StopReason::EndReached => {}
                other => return (engine.into_observer().0, other),
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
    (engine.into_observer().0, progress)
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
