//! Relations that divide the virtual channels of links.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Multicast, Plan};
use wormcast_network::Ports;
use wormcast_routing::{Dependencies, RoutingRelation};
use wormcast_simulation::{
    BufferedSwitch, EngineConfig, NotCovered, Run, Scenario, StopReason, Switching, Timing, Traffic, WormEngine,
    Wormhole, search_deadlock,
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
