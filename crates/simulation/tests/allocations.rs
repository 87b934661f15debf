//! Engines allocate nothing for an event once they are warm, and observers that write files keep nothing of the past. A test binary of its
//! own, as it counts what its allocator is asked for.

use wormcast_multicast::{Branch, Multicast, Options, Plan, Worm, algorithm_by_name};
use wormcast_network::{ChannelSpace, NodeId, Ports, RouterId, TopologySpec};
use wormcast_simulation::{
    BranchReplication, BufferLog, Cycle, DeliveryLog, Engine, EngineChoice, EngineConfig, FlitEngine, Generated,
    Header, LinkDelay, Observer, Reservation, Scenario, SelectionPolicy, StartupMode, StopReason, Switching, Timeline,
    Timing, WormEngine, simulate,
};

fn config(header: Header) -> EngineConfig {
    EngineConfig {
        ports: Ports { injection: 2, consumption: 4 },
        buffer: 2,
        virtual_channels: 1,
        startup: 20,
        startup_mode: StartupMode::Serial,
        routing_delay: 2,
        strip_delay: 2,
        receive_overhead: 0,
        delay: LinkDelay::default(),
        header,
        header_flits: 2,
        replication: BranchReplication::Lockstep,
        reservation: Reservation::Atomic,
        selection: SelectionPolicy::First,
        seed: 0,
    }
}

/// The same plans again and again, so far apart that each round ends before the next: allocations of each round, plans and the
/// taking in of messages left out.
fn rounds<E: Engine>(mut engine: E, plans: &[Plan]) -> Vec<u64> {
    const PERIOD: Cycle = 1 << 15;
    let run = |engine: &mut E, until| {
        allocation_counter::measure(|| assert_eq!(engine.run_until(until), StopReason::EndReached)).count_total
    };
    let round = |round: Cycle| {
        let mut allocations = 0;
        for (id, plan) in (0..).zip(plans) {
            let at = round * PERIOD + id * 7;
            allocations += run(&mut engine, at);
            engine.submit(at, round * plans.len() as u64 + id, 1 + (id as u32 * 13) % 90, plan.clone());
        }
        allocations += run(&mut engine, (round + 1) * PERIOD);
        assert!(engine.is_empty(), "a round ends before the next");
        allocations
    };
    (0..48).map(round).collect()
}

/// The worm engine comes to rest. The flit engine keeps a list as long as the path for each worm, which grows as long as places in
/// its table meet longer paths than before: less and less. So do requests in either engine where a selection takes other ways in each
/// round.
fn check(selection: SelectionPolicy, worm: &[u64], flit: &[u64]) {
    assert!(
        worm[0] > 50 && flit[0] > 50,
        "the count works: the first round has to allocate: {} and {}",
        worm[0],
        flit[0]
    );
    if selection == SelectionPolicy::First {
        assert_eq!(worm[32..], [0; 16], "worm engine: {worm:?}");
    }
    for (engine, rounds) in [("worm", worm), ("flit", flit)] {
        assert!(rounds[32..].iter().all(|&round| round <= rounds[0] / 100), "{engine} engine: {rounds:?}");
    }
}

#[test]
fn warm_engines_allocate_nothing_for_events() {
    let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
    for (name, header, selection) in [
        ("dual-path", Header::AllDestinations, SelectionPolicy::First),
        ("pure-negative-first", Header::None, SelectionPolicy::First),
        ("pure-negative-first", Header::None, SelectionPolicy::RoundRobin),
        ("pure-negative-first", Header::None, SelectionPolicy::LeastLoaded),
    ] {
        let algorithm = algorithm_by_name(name, &mesh, &Options::default()).unwrap();
        let plan = |i: u32| {
            let destinations: Vec<NodeId> = (1..7).map(|k| NodeId::new((i * 11 + k * k * 5) % 64)).collect();
            algorithm.plan(&Multicast::new(NodeId::new(i * 37 % 64), &destinations))
        };
        let plans: Vec<Plan> = (0..300).map(plan).collect();
        let config = EngineConfig { selection, ..config(header) };
        let worm = rounds(WormEngine::new(algorithm.routing(), config, ()), &plans);
        check(selection, &worm, &rounds(FlitEngine::new(algorithm.routing(), config, ()), &plans));
        // Where virtual channels share links, lists have their length from the beginning on, or grow to that of a busy cycle.
        let shared = EngineConfig { virtual_channels: 2, ..config };
        let shared = rounds(FlitEngine::new(algorithm.routing(), shared, ()), &plans);
        assert!(shared[0] > 100 && shared[32..].iter().all(|&round| round < shared[0] / 100), "{name}: {shared:?}");
    }
}

#[test]
fn trees_too() {
    let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name("separate", &mesh, &Options::default()).unwrap();
    // A comb from the corner: along row 0, and up every column. All start there, so none can block another forever.
    let channel = |from: u32, to: u32| {
        let router = |id| mesh.router_of(NodeId::new(id));
        mesh.channel_between(router(from), router(to)).unwrap()
    };
    let mut branches = Vec::new();
    let mut trunk = None;
    for x in 0..8u32 {
        if x > 0 {
            branches.push(Branch { channel: channel(x - 1, x), parent: trunk, delivers: vec![NodeId::new(x)] });
            trunk = Some(branches.len() as u32 - 1);
        }
        let mut parent = trunk;
        for y in 1..8 {
            branches.push(Branch {
                channel: channel(x + 8 * (y - 1), x + 8 * y),
                parent,
                delivers: vec![NodeId::new(x + 8 * y)],
            });
            parent = Some(branches.len() as u32 - 1);
        }
    }
    let plans = vec![Plan { worms: vec![Worm::tree(NodeId::new(0), branches)] }; 40];
    let config = config(Header::BitString);
    let worm = rounds(WormEngine::new(algorithm.routing(), config, ()), &plans);
    check(SelectionPolicy::First, &worm, &rounds(FlitEngine::new(algorithm.routing(), config, ()), &plans));
}

/// Writes nowhere, and counts.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The most memory that a run of the worm engine with an observer takes, in bytes, and what the observer says of its end.
fn peak<O: Observer, R>(messages: u64, observer: O, finish: impl FnOnce(O) -> R) -> (u64, R) {
    let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name("separate", &mesh, &Options::default()).unwrap();
    let mut end = None;
    let info = allocation_counter::measure(|| {
        let mut engine = WormEngine::new(algorithm.routing(), config(Header::AllDestinations), observer);
        for id in 0..messages {
            let destinations = [1, 2, 3].map(|k| NodeId::new((id as u32 * 11 + k * 17) % 64));
            let multicast = Multicast::new(NodeId::new(id as u32 * 37 % 64), &destinations);
            let at = id * 40;
            assert_eq!(engine.run_until(at), StopReason::EndReached);
            let source = multicast.source();
            let generated = Generated { message: id, at, source, destinations: multicast.destinations(), length: 8 };
            engine.observer_mut().generated(&generated);
            engine.submit(at, id, 8, algorithm.plan(&multicast));
        }
        assert_eq!(engine.drain(Cycle::MAX), StopReason::EndReached);
        end = Some(finish(engine.into_observer()));
    });
    (info.bytes_max, end.expect("the run has ended"))
}

/// A timeline takes a few hundred kilobytes however long the run is, and its file grows with the run.
#[test]
fn files_of_a_run_are_not_kept_in_memory() {
    let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
    let space = ChannelSpace::new(&mesh, config(Header::None).ports);
    let timeline = |messages| {
        let timeline = Timeline::new(&mesh, space, 5.0, 20, Counter(0));
        peak(messages, timeline, |timeline| timeline.finish().unwrap().0)
    };
    let ((short, little), (long, much)) = (timeline(500), timeline(5000));
    assert!(much > 9 * little && much > 5_000_000, "{little} and {much} bytes");
    assert!(long < short + 200_000, "{short} and {long} bytes of memory");

    // Deliveries stay in memory up to a limit, their messages do not: three of 40 bytes, and the copies as a list grows.
    let log = |messages| peak(messages, DeliveryLog::new(std::env::temp_dir()), drop).0;
    let grown = log(5000) - log(500);
    assert!(grown < 4500 * 3 * 40 * 2, "{grown} bytes for 4,500 messages");
}

/// A run that has sent next to nothing takes as much memory as is said, and not a small part of it.
#[test]
fn runs_take_as_much_memory_as_is_said() {
    let buffered = serde_json::from_str(r#"{ "model": "central-buffer" }"#).unwrap();
    let several = serde_json::from_str(r#"{ "virtual_channels": 4 }"#).unwrap();
    for (text, algorithm, switching, slack) in [
        ("mesh:120x120", "separate", Switching::default(), 3.0),
        ("mesh:120x120", "separate", several, 3.0),
        ("hypercube:13", "separate", Switching::default(), 3.0),
        ("bmin:4x6", "u-min", buffered, 4.0),
    ] {
        let network = text.parse::<TopologySpec>().unwrap().build().unwrap();
        let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).unwrap().into();
        let traffic = serde_json::from_str(
            r#"{ "arrivals": { "process": "burst", "sources": 1 }, "length": 8, "multicast": { "destinations": 2 } }"#,
        );
        let run = serde_json::from_str(r#"{ "messages": 1 }"#).unwrap();
        let timing = Timing::default();
        let scenario = Scenario::new(algorithm, &switching, &timing, &traffic.unwrap(), &run).unwrap();
        let mut result = None;
        let info = allocation_counter::measure(|| result = Some(simulate(&scenario, EngineChoice::Auto, 1)));
        result.unwrap().unwrap();
        let (said, peak) = (scenario.memory(), info.bytes_max);
        println!("{text}: {said} bytes said, {peak} taken");
        assert!(peak <= said + 65_536, "{text} takes {peak} bytes, not {said}");
        assert!(peak as f64 * slack >= said as f64, "{text} takes {peak} bytes, and is said to take {said}");
    }
}

/// An observer that cannot write ends the run.
#[test]
fn a_full_disk_ends_a_run() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut log = BufferLog::new(Full);
    for at in 0..1 << 14 {
        log.buffered(at, RouterId::new(0), 7, 1);
    }
    assert!(log.done(), "the buffer is full, and nobody takes it");
    assert_eq!(log.finish().err().map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull));
}
