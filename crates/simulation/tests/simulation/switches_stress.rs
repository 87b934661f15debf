//! Buffered switches far beyond saturation: nothing is lost, nothing comes twice, nothing stops.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wormcast_multicast::{Encoded, Plan, Worm};
use wormcast_network::{Network, NodeId};
use wormcast_routing::{Adaptivity, Turnaround};
use wormcast_simulation::{
    BranchTiming, BufferedSwitch, Cycle, Delivery, Engine, HeaderChunks, Observer, Organization, ReadPath, StopReason,
    SwitchConfig, SwitchEngine, TimingPreset,
};

use crate::support::{Told, build, shared};

/// Who still has to get which message.
#[derive(Default)]
struct Ledger {
    missing: HashMap<(u64, NodeId), Cycle>,
    last: Cycle,
}

impl Observer for Ledger {
    fn delivered(&mut self, delivery: &Delivery) {
        let generated = self.missing.remove(&(delivery.message, delivery.node)).expect("asked for, and not had yet");
        let parts = delivery.parts;
        assert_eq!(parts.queueing + parts.startup + parts.network + parts.blocking, delivery.delivered - generated);
        self.last = self.last.max(delivery.delivered);
    }
}

/// `count` messages to `fan` destinations each (of a range), as many a cycle as `burst` says, all delivered.
fn flood(
    network: &Arc<Network>,
    switching: &BufferedSwitch,
    length: u32,
    fan: (usize, usize),
    count: u64,
    burst: u64,
    seed: u64,
) -> Cycle {
    let routing = Turnaround::new(network, Adaptivity::Adaptive).unwrap();
    let config = SwitchConfig::new(switching, &TimingPreset::Paper4.timing(), network, length);
    config.check(network).expect("large enough buffers");
    let ledger = shared(Ledger::default());
    let mut engine = SwitchEngine::new(&routing, config, Told::new(&ledger));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let nodes = network.nodes();
    let mut all: Vec<NodeId> = (0..nodes as u32).map(NodeId::new).collect();
    for message in 0..count {
        let at = message / burst;
        assert_eq!(engine.run_until(at), StopReason::EndReached);
        let fan = rng.random_range(fan.0..=fan.1.min(nodes - 1));
        for place in 0..=fan {
            let other = rng.random_range(place..nodes);
            all.swap(place, other);
        }
        let (source, destinations) = (all[0], all[1..=fan].to_vec());
        ledger.borrow_mut().missing.extend(destinations.iter().map(|&node| ((message, node), at)));
        let worm = if fan == 1 && rng.random_bool(0.5) {
            Worm::path(source, destinations)
        } else {
            Worm::encoded(source, Encoded::bit_string(destinations))
        };
        engine.submit(at, message, length, Plan { worms: vec![worm] });
    }
    assert_eq!(engine.run_until(Cycle::MAX), StopReason::EndReached);
    assert!(engine.is_empty());
    assert!(ledger.borrow().missing.is_empty(), "everything arrives");
    ledger.borrow().last
}

fn central(chunks: u32, header_chunks: HeaderChunks) -> BufferedSwitch {
    BufferedSwitch { organization: Organization::Central { chunks, header_chunks }, ..BufferedSwitch::central_buffer() }
}

/// Small and large buffers, chunks and networks, every size of multicast.
fn switches() -> impl Strategy<Value = (BufferedSwitch, u32)> {
    let header = prop::sample::select(vec![HeaderChunks::Replicated, HeaderChunks::NextPacketMemory]);
    let read_path = prop::sample::select(vec![ReadPath::RegisterStaircase, ReadPath::SplitRam]);
    (any::<bool>(), 1u32..10, 1u32..80, 0u32..40, 1u32..4, header, read_path).prop_map(
        |(is_central, chunk_flits, length, spare, crossing_delay, header_chunks, read_path)| {
            let base = if is_central {
                let least = (length + 8).div_ceil(chunk_flits) + 2 * 8 + 1;
                BufferedSwitch { input_fifo: chunk_flits + spare, ..central(least + spare, header_chunks) }
            } else {
                let organization = Organization::Input { read_path, replication: BranchTiming::Asynchronous };
                let fifo = (length + 8).max(chunk_flits) + spare;
                BufferedSwitch { input_fifo: fifo, organization, ..BufferedSwitch::input_buffer() }
            };
            (BufferedSwitch { chunk_flits, crossing_delay, ..base }, length)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The invariants of every buffer are checked in every cycle (debug assertions of the engine).
    #[test]
    fn nothing_is_lost_in_small_networks(
        (switching, length) in switches(),
        spec in prop::sample::select(vec!["bmin:2x1", "bmin:2x2", "bmin:2x3", "bmin:3x2", "bmin:4x2"]),
        least in 1usize..4,
        seed in any::<u64>(),
    ) {
        let network = build(spec);
        let least = least.min(network.nodes() - 1);
        flood(&network, &switching, length, (least, 16), 60, 4, seed);
    }
}

/// 16 and 64 nodes, both architectures, 128 and 512 bytes, every size of multicast, a million messages in all.
#[test]
#[ignore = "minutes: a million messages"]
fn nothing_is_lost_in_a_million_messages() {
    for (spec, count) in [("bmin:4x2", 160_000), ("bmin:4x3", 90_000)] {
        let network = build(spec);
        for switching in [BufferedSwitch::central_buffer(), BufferedSwitch::input_buffer()] {
            for length in [64, 256] {
                let last = flood(&network, &switching, length, (2, network.nodes() - 1), count, 2, u64::from(length));
                println!("{spec} {:?} {length} flits: {count} messages in {last} cycles", switching.organization);
            }
        }
    }
}
