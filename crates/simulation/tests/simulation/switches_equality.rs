//! The switch engine against the naive simulation of its rules: every delivery in the same cycle.

use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{Encoded, Multicast, Options, Plan, Worm, algorithm_by_name};
use wormcast_network::Network;
use wormcast_routing::{Adaptivity, DestinationTag, ECube, RoutingRelation, Turnaround};
use wormcast_simulation::{
    BranchTiming, BufferedSwitch, Cycle, Engine, HeaderChunks, Organization, ReadPath, SelectionPolicy, StopReason,
    SwitchConfig, SwitchEngine, TimingPreset,
};

use crate::support::{Log, Sent, build, node, unicast};
use crate::switch_oracle::SwitchOracle;

/// Chunks, FIFOs and buffers from the smallest that do to some to spare, and the longest message.
fn switches() -> impl Strategy<Value = (BufferedSwitch, u32)> {
    let header = prop::sample::select(vec![HeaderChunks::Replicated, HeaderChunks::NextPacketMemory]);
    (any::<bool>(), 1u32..10, 1u32..40, 0u32..30, 1u32..4, header).prop_map(
        |(central, chunk_flits, length, spare, crossing_delay, header_chunks)| {
            let base = if central {
                let chunks = (length + 1).div_ceil(chunk_flits) + 2 * 8 + spare / 4;
                let organization = Organization::Central { chunks, header_chunks };
                BufferedSwitch { input_fifo: chunk_flits + spare, organization, ..BufferedSwitch::central_buffer() }
            } else {
                let read_path = ReadPath::SplitRam;
                let organization = Organization::Input { read_path, replication: BranchTiming::Asynchronous };
                let input_fifo = (length + 1).max(chunk_flits) + spare;
                BufferedSwitch { input_fifo, organization, ..BufferedSwitch::input_buffer() }
            };
            (BufferedSwitch { chunk_flits, crossing_delay, ..base }, length)
        },
    )
}

/// A message before the network is known: cycles after the one before, length, source, which others, and how it is sent.
type Draft = (u64, u32, usize, Vec<bool>, u8);

fn message(network: &Arc<Network>, at: Cycle, longest: u32, (_, length, source, others, kind): &Draft) -> Option<Sent> {
    let nodes = network.nodes();
    let source = source % nodes;
    let destinations: Vec<u32> = (0..nodes).filter(|&n| n != source && others[n]).map(|n| n as u32).collect();
    let &first = destinations.first()?;
    let ids: Vec<_> = destinations.iter().copied().map(node).collect();
    let worms = match kind % 4 {
        0 => vec![unicast(source as u32, first)],
        1 => {
            let in_software = if network.is_unidirectional() { "separate" } else { "u-min" };
            let algorithm = algorithm_by_name(in_software, network, &Options::default()).unwrap();
            algorithm.plan(&Multicast::new(node(source as u32), &ids)).worms
        }
        _ => vec![Worm::encoded(node(source as u32), Encoded::bit_string(ids))],
    };
    Some((at, 1 + length % longest, worms))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_engine_is_the_naive_simulation(
        (switching, longest) in switches(),
        spec in prop::sample::select(vec![
            "bmin:2x1", "bmin:4x1", "bmin:2x2", "bmin:3x2", "bmin:2x3", "bmin:4x2",
            "omega:2x2", "omega:2x3", "omega:4x2", "butterfly:2x3", "butterfly:3x2",
        ]),
        drafts in prop::collection::vec(
            (0u64..12, 0u32..100, 0usize..16, prop::collection::vec(prop::bool::weighted(0.35), 16), any::<u8>()),
            1..30,
        ),
        (startup, receive_overhead, routing_delay) in (0u32..4, 0u32..3, 1u32..6),
        (selection, seed) in (selections(), any::<u64>()),
    ) {
        let network = build(spec);
        let timing = TimingPreset::Paper4.timing();
        let config = SwitchConfig {
            startup,
            receive_overhead,
            routing_delay,
            selection,
            seed,
            ..SwitchConfig::new(&switching, &timing, &network, longest)
        };
        config.check(&network).expect("large enough buffers");
        let mut at = 0;
        let sent: Vec<Sent> = drafts
            .iter()
            .filter_map(|draft| {
                at += draft.0;
                message(&network, at, longest, draft)
            })
            .collect();
        if network.is_unidirectional() {
            compare(&network, &DestinationTag::new(&network).unwrap(), config, &sent)?;
        } else {
            compare(&network, &Turnaround::new(&network, Adaptivity::Adaptive).unwrap(), config, &sent)?;
        }
    }

    /// Two cables between some switches, over which worms are spread although the routing names one way only.
    #[test]
    fn cables_are_chosen_alike(
        (switching, longest) in switches(),
        spec in prop::sample::select(vec!["torus:2x2", "torus:2x3", "torus:2x2x2"]),
        drafts in prop::collection::vec((0u64..12, 0u32..100, 0u32..12, 0u32..12), 1..30),
        (selection, seed) in (selections(), any::<u64>()),
    ) {
        let network = build(spec);
        let nodes = network.nodes() as u32;
        let timing = TimingPreset::Paper4.timing();
        let config = SwitchConfig { selection, seed, ..SwitchConfig::new(&switching, &timing, &network, longest) };
        let mut at = 0;
        let sent = drafts.iter().filter(|(_, _, from, to)| from % nodes != to % nodes).map(|&(gap, length, from, to)| {
            at += gap;
            (at, 1 + length % longest, vec![unicast(from % nodes, to % nodes)])
        });
        compare(&network, &ECube::new(&network).unwrap(), config, &sent.collect::<Vec<Sent>>())?;
    }
}

fn selections() -> impl Strategy<Value = Option<SelectionPolicy>> {
    use SelectionPolicy::{First, LeastLoaded, Random, RoundRobin};
    prop::sample::select(vec![None, None, Some(First), Some(Random), Some(RoundRobin), Some(LeastLoaded)])
}

fn compare(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    config: SwitchConfig,
    sent: &[Sent],
) -> Result<(), TestCaseError> {
    let naive = SwitchOracle::new(network, routing, config).run(sent);
    let mut engine = SwitchEngine::new(routing, config, Log::<false>::default());
    for (message, (at, length, worms)) in (0..).zip(sent) {
        prop_assert_eq!(engine.run_until(*at), StopReason::EndReached);
        engine.submit(*at, message, *length, Plan { worms: worms.clone() });
    }
    prop_assert_eq!(engine.run_until(Cycle::MAX), StopReason::EndReached);
    let log = engine.into_observer();
    let mut times: Vec<_> = log.deliveries.iter().map(|d| (d.worm, d.node.raw(), d.delivered)).collect();
    times.sort_unstable();
    prop_assert_eq!(times, naive);
    Ok(())
}
