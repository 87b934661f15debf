//! The switch engine against cycles worked out by hand (docs/switches.md), and what it must never lose.

use std::sync::Arc;

use wormcast_multicast::{Encoded, Plan, Worm};
use wormcast_network::{Network, NodeId};
use wormcast_routing::{Adaptivity, Turnaround};
use wormcast_simulation::{
    BranchTiming, BufferedSwitch, Cycle, Engine, HeaderChunks, Organization, StopReason, SwitchConfig, SwitchEngine,
    TimingPreset,
};

use crate::support::{Log, build, node, unicast};

fn nodes(ids: &[u32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId::new).collect()
}

fn multicast(from: u32, to: &[u32]) -> Worm {
    Worm::encoded(node(from), Encoded::bit_string(nodes(to)))
}

fn config(network: &Arc<Network>, switching: &BufferedSwitch, longest: u32) -> SwitchConfig {
    let config = SwitchConfig::new(switching, &TimingPreset::Paper4.timing(), network, longest);
    config.check(network).expect("large enough buffers");
    config
}

fn both() -> [BufferedSwitch; 2] {
    [BufferedSwitch::central_buffer(), BufferedSwitch::input_buffer()]
}

/// Messages, each a worm: when, data flits, worm.
type Sent = (Cycle, u32, Worm);

fn run(network: &Arc<Network>, config: SwitchConfig, sent: Vec<Sent>) -> (Log, StopReason) {
    let routing = Turnaround::new(network, Adaptivity::Adaptive).unwrap();
    let mut engine = SwitchEngine::new(&routing, config, Log::<true>::default());
    for (message, (at, length, worm)) in (0..).zip(sent) {
        assert_eq!(engine.run_until(at), StopReason::EndReached);
        engine.submit(at, message, length, Plan { worms: vec![worm] });
    }
    let progress = engine.run_until(Cycle::MAX);
    assert_eq!(engine.is_empty(), progress == StopReason::EndReached);
    (engine.into_observer(), progress)
}

/// The cycle in which each node has each message, by (message, node).
fn delivered(spec: &str, switching: &BufferedSwitch, sent: Vec<Sent>) -> Vec<(u64, u32, Cycle)> {
    let network = build(spec);
    let longest = sent.iter().map(|sent| sent.1).max().unwrap_or(1);
    let (log, progress) = run(&network, config(&network, switching, longest), sent);
    assert_eq!(progress, StopReason::EndReached);
    let mut times: Vec<_> = log.deliveries.iter().map(|d| (d.message, d.node.raw(), d.delivered)).collect();
    times.sort_unstable();
    times
}

/// 6 cycles a switch, and a cycle a flit: one of header and 64 of data.
#[test]
fn an_idle_switch_takes_six_cycles() {
    for switching in both() {
        assert_eq!(delivered("bmin:8x1", &switching, vec![(0, 64, unicast(1, 6))]), [(0, 6, 6 + 65)]);
        assert_eq!(delivered("bmin:4x2", &switching, vec![(5, 64, unicast(1, 14))]), [(0, 14, 5 + 3 * 6 + 65)]);
        assert_eq!(delivered("bmin:4x2", &switching, vec![(5, 64, multicast(1, &[14]))]), [(0, 14, 5 + 3 * 6 + 65)]);
    }
}

/// Of the 6 cycles, 4 are the routing's: a header that crosses into a FIFO in cycle 0 may cross the next channel in 6, or 2 after routing.
#[test]
fn four_of_the_six_cycles_are_for_routing() {
    let network = build("bmin:8x1");
    for switching in both() {
        let usual = config(&network, &switching, 64);
        assert_eq!((usual.routing_delay, usual.switch_latency()), (4, 6));
        for routing_delay in [1, 4, 9] {
            let (log, _) = run(&network, SwitchConfig { routing_delay, ..usual }, vec![(0, 64, unicast(1, 6))]);
            // Nodes 0 to 7 have an injection channel each, and then a consumption channel.
            let crossed: Vec<_> = [1, 8 + 6].map(|channel| log.flits[&(0, channel, 1)]).to_vec();
            assert_eq!(crossed, [0, u64::from(routing_delay) + 2]);
            assert_eq!(log.at(0, 6), u64::from(routing_delay) + 2 + 65);
        }
    }
}

/// Where a worm is replicated, the header waits for 7 more flits of its chunk; a chunk is read in each cycle.
#[test]
fn a_chunk_path_takes_seven_cycles_more() {
    for switching in both() {
        let times = delivered("bmin:8x1", &switching, vec![(0, 64, multicast(1, &[0, 3, 6]))]);
        assert_eq!(times, [(0, 0, 13 + 65), (0, 3, 13 + 65 + 1), (0, 6, 13 + 65 + 2)]);
    }
}

/// Packets behind each other on all ports: 65 flits in 65 cycles, every time.
#[test]
fn every_port_goes_at_full_speed() {
    const PACKETS: u32 = 20;
    for switching in both() {
        let pairs = (0..PACKETS).flat_map(|_| (0..8).map(|from| (0, 64, unicast(from, from ^ 1)))).collect();
        let last = delivered("bmin:8x1", &switching, pairs).into_iter().map(|(.., at)| at).max();
        assert_eq!(last, Some(6 + u64::from(PACKETS) * 65));
        // 7 outputs read what one input writes. 63 flits and the header: 8 chunks, which leave time for one more read.
        let broadcasts = (0..PACKETS).map(|_| (0, 63, multicast(0, &[1, 2, 3, 4, 5, 6, 7]))).collect();
        let last = delivered("bmin:8x1", &switching, broadcasts).into_iter().map(|(.., at)| at).max();
        assert!(last.is_some_and(|last| last <= 13 + u64::from(PACKETS) * 64 + 16), "{last:?} with {switching:?}");
    }
}

/// 8 copies of one flit's header chunk take a write cycle each; next-packet memories take one for all.
#[test]
fn replicated_header_chunks_take_write_cycles() {
    let central = |header_chunks| BufferedSwitch {
        organization: Organization::Central { chunks: 256, header_chunks },
        ..BufferedSwitch::central_buffer()
    };
    // One chunk each from 0 and 1, at the same time, to the other six: the second may write when the first has.
    let sent = || vec![(0, 7, multicast(0, &[2, 3, 4, 5, 6, 7])), (0, 7, multicast(1, &[2, 3, 4, 5, 6, 7]))];
    let copies = delivered("bmin:8x1", &central(HeaderChunks::Replicated), sent());
    let memories = delivered("bmin:8x1", &central(HeaderChunks::NextPacketMemory), sent());
    // Least recently served: the inputs write copies in turns, 12 cycles, and outputs read in turns, one in a cycle.
    let last = |times: &[(u64, u32, Cycle)]| times.iter().map(|&(.., at)| at).max();
    assert!(last(&memories) <= last(&copies));
    // The first chunk is there in cycle 12 and read by the first output at once.
    let first = |times: &[(u64, u32, Cycle)]| times.iter().map(|&(.., at)| at).min();
    assert_eq!((first(&copies), first(&memories)), (Some(13 + 8), Some(13 + 8)));
}

/// A unicast that meets a busy output goes by the central buffer, and leaves right behind what it waited for.
#[test]
fn a_blocked_unicast_waits_in_the_central_buffer() {
    let switching = BufferedSwitch::central_buffer();
    let sent = vec![(0, 63, unicast(0, 2)), (1, 63, unicast(1, 2)), (20, 63, unicast(1, 3))];
    // In 70 the first is gone; 1's second packet is behind its first, which frees the channel as it is written.
    assert_eq!(delivered("bmin:4x1", &switching, sent), [(0, 2, 70), (1, 2, 134), (2, 3, 1 + 64 + 6 + 64)]);
    // From its input's FIFO, it holds up what is behind it.
    let sent = vec![(0, 63, unicast(0, 2)), (1, 63, unicast(1, 2)), (20, 63, unicast(1, 3))];
    assert_eq!(delivered("bmin:4x1", &BufferedSwitch::input_buffer(), sent), [(0, 2, 70), (1, 2, 134), (2, 3, 198)]);
}

fn synchronous(input_fifo: u32) -> BufferedSwitch {
    let Organization::Input { read_path, .. } = BufferedSwitch::input_buffer().organization else { unreachable!() };
    let organization = Organization::Input { read_path, replication: BranchTiming::Synchronous };
    BufferedSwitch { input_fifo, organization, ..BufferedSwitch::input_buffer() }
}

/// Paper 4, Figure 2, left: of two worms to the same outputs of a switch, each has reserved one of them.
#[test]
fn two_worms_that_share_a_switch_deadlock_in_lockstep_only() {
    let network = build("bmin:4x1");
    // 3's worm keeps output 2 busy while 0's asks, which gets output 3 only; then it is 1's turn.
    let sent = || vec![(0, 60, unicast(3, 2)), (10, 60, multicast(0, &[2, 3])), (12, 60, multicast(1, &[2, 3]))];
    let (log, progress) = run(&network, config(&network, &synchronous(320), 60), sent());
    let StopReason::Deadlock(deadlock) = progress else { panic!("{progress:?}: {:?}", log.delivered()) };
    assert_eq!((deadlock.dead, deadlock.cycle.len()), (2, 2));
    let mut cycle = deadlock.cycle;
    cycle.sort_by_key(|worm| worm.worm);
    let members: Vec<_> = cycle.iter().map(|worm| (worm.worm, &worm.holds[1..], &worm.waits_for[..])).collect();
    let (two, three) = (["consumption 2".to_owned()], ["consumption 3".to_owned()]);
    assert_eq!(members, [(1, &three[..], &two[..]), (2, &two[..], &three[..])]);
    for switching in both() {
        assert_eq!(run(&network, config(&network, &switching, 60), sent()).1, StopReason::EndReached);
    }
}

/// Paper 4, Figure 2, right: two worms that are each replicated to two switches, where one of them comes first here and the
/// other there. No arbitration at a single switch can help, but buffers for whole packets do.
#[test]
fn two_worms_that_share_two_switches_deadlock_in_lockstep_only() {
    let network = build("bmin:3x2");
    // Both go up from switch 0, by different ways, and down to switches 1 and 2. The unicasts take the three ways up in turn, so that
    // the worms take the first and the second again; switch 1 has served the first, and switch 2 the second.
    let to = [3, 4, 6, 7];
    let sent = || {
        let before = [(0, 3), (30, 6), (60, 5)].map(|(at, to)| (at, 1, unicast(2, to)));
        let worms = [0, 1].map(|from| (100, 60, multicast(from, &to)));
        before.into_iter().chain(worms).collect()
    };
    let (log, progress) = run(&network, config(&network, &synchronous(16), 60), sent());
    let StopReason::Deadlock(deadlock) = progress else { panic!("{progress:?}: {:?}", log.delivered()) };
    assert_eq!(deadlock.dead, 2);
    let waits = |worm, at| {
        let member = |member: &&wormcast_simulation::DeadWorm| (member.worm, member.header_at) == (worm, at);
        deadlock.cycle.iter().find(member).map(|member| member.waits_for.clone())
    };
    let outputs = |first: u32| Some((first..first + 2).map(|node| format!("consumption {node}")).collect::<Vec<_>>());
    assert_eq!((waits(3, 1), waits(4, 2)), (outputs(3), outputs(6)), "{deadlock:?}");
    // With FIFOs for whole packets, lock-step gets through here, and so do the two switches.
    for switching in [synchronous(320), BufferedSwitch::central_buffer(), BufferedSwitch::input_buffer()] {
        assert_eq!(run(&network, config(&network, &switching, 60), sent()).1, StopReason::EndReached);
    }
}

#[test]
fn buffers_that_are_too_small_are_refused() {
    let network = build("bmin:4x2");
    let problem = |switching: &BufferedSwitch, longest| {
        let config = SwitchConfig::new(switching, &TimingPreset::Paper4.timing(), &network, longest);
        config.check(&network).map_err(|error| error.to_string())
    };
    assert_eq!(problem(&BufferedSwitch::central_buffer(), 256), Ok(()));
    assert_eq!(problem(&BufferedSwitch::input_buffer(), 319), Ok(()));
    let error = problem(&BufferedSwitch::input_buffer(), 320).unwrap_err();
    assert!(error.starts_with("`switching.input_fifo`: 320 flits do not hold the longest packet, of 321"), "{error}");
    let error = problem(&BufferedSwitch::central_buffer(), 2000).unwrap_err();
    assert!(error.starts_with("`switching.central_chunks`: 256 is out of range: expected 267 to"), "{error}");
    assert_eq!(problem(&synchronous(16), 320), Ok(()));
}
