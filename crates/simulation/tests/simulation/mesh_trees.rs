//! Trees on 2-D meshes: which switching they are safe with, and two or four worms by hand for each with which they deadlock.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, AlgorithmOptions, Options, algorithm_by_name};
use wormcast_network::Network;
use wormcast_routing::Branching;
use wormcast_simulation::{
    Arrivals, BranchReplication, Buffer, Count, EngineChoice, Mode, MulticastTraffic, Process, Reservation, Run,
    RunResult, Scenario, StartupMode, Timing, Traffic, Wormhole, simulate,
};

use crate::support::build;

const LOCKSTEP: (BranchReplication, Reservation) = (BranchReplication::Lockstep, Reservation::Atomic);
const ATOMIC: (BranchReplication, Reservation) = (BranchReplication::Independent, Reservation::Atomic);
const SEPARATE: (BranchReplication, Reservation) = (BranchReplication::Independent, Reservation::Separate);

/// Which trees block each other; those of routes in the order of dimensions are safe in stores, those of `rpm` nowhere.
const SAFE_IN_STORES: [&str; 5] = ["xy-tree", "yx-tree", "xy-mask", "yx-mask", "vctm"];

fn make(network: &Arc<Network>, name: &str) -> Arc<dyn Algorithm> {
    let own = AlgorithmOptions { cover: name.ends_with("-mask").then_some(true), ..AlgorithmOptions::default() };
    Arc::from(algorithm_by_name(name, network, &Options { own, ..Options::default() }).unwrap())
}

fn scenario(
    topology: &str,
    algorithm: &str,
    (replication, reservation): (BranchReplication, Reservation),
    buffer: Buffer,
    traffic: &Traffic,
    run: &Run,
) -> Scenario {
    let network = build(topology);
    let switching = Wormhole {
        buffer: Some(buffer),
        replication: Some(replication),
        reservation: Some(reservation),
        ..Wormhole::default()
    };
    let timing = Timing { startup: 0, routing_delay: 4, startup_mode: Some(StartupMode::PerPort), ..Timing::default() };
    Scenario::new(make(&network, algorithm), &switching.into(), &timing, traffic, run).unwrap()
}

/// Whether the static check calls a deadlock possible.
fn unsafe_worms(scenario: &Scenario) -> bool {
    let config = scenario.engine_config();
    let dependencies = scenario.algorithm().dependencies_with(config.branching());
    dependencies.with_virtual_channels(config.virtual_channels).deadlock(config.ports.consumption).is_some()
}

/// Runs a trace, with an engine.
fn run(
    (topology, algorithm, messages): (&str, &str, &str),
    replicating: (BranchReplication, Reservation),
    buffer: Buffer,
    engine: EngineChoice,
) -> (bool, RunResult) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("by-hand.trace");
    std::fs::write(&path, messages).unwrap();
    let traffic = Traffic { trace: Some(path.to_str().unwrap().to_owned()), ..Traffic::default() };
    let drained = Run { mode: Some(Mode::Drain), ..Run::default() };
    let scenario = scenario(topology, algorithm, replicating, buffer, &traffic, &drained);
    (unsafe_worms(&scenario), simulate(&scenario, engine, 1).unwrap())
}

/// Two messages for each algorithm: each worm holds what the other waits for.
const TWO_WORMS: [(&str, &str, &str); 8] = [
    // Both go up in both columns; each has one of them.
    ("mesh:2x2", "xy-tree", "0 0 20 2;3\n0 1 20 2;3\n"),
    ("mesh:2x2", "xy-mask", "0 0 20 2;3\n0 1 20 2;3\n"),
    ("mesh:2x2", "vctm", "0 0 20 2;3\n0 1 20 2;3\n"),
    // The same, mirrored.
    ("mesh:2x2", "yx-tree", "0 0 20 1;3\n0 2 20 1;3\n"),
    ("mesh:2x2", "yx-mask", "0 0 20 1;3\n0 2 20 1;3\n"),
    // Both go to both ends of a row.
    ("mesh:4x1", "xy-tree", "0 1 20 0;3\n0 2 20 0;3\n"),
    ("mesh:4x1", "yx-tree", "0 1 20 0;3\n0 2 20 0;3\n"),
    ("mesh:4x1", "rpm", "0 1 20 0;3\n0 2 20 0;3\n"),
];

#[test]
fn two_worms_in_lockstep_deadlock_and_were_called_unsafe() {
    for case in TWO_WORMS {
        for buffer in [Buffer::Flits(1), Buffer::Flits(4)] {
            for engine in [EngineChoice::Flit, EngineChoice::Worm] {
                let (unsafe_worms, result) = run(case, LOCKSTEP, buffer, engine);
                assert!(unsafe_worms && result.deadlock.is_some(), "{case:?}, {buffer:?}, {engine:?}");
                assert_eq!(result.messages.delivered, 0);
            }
            for replicating in [ATOMIC, SEPARATE] {
                let (unsafe_worms, result) = run(case, replicating, buffer, EngineChoice::Flit);
                assert!(unsafe_worms && result.deadlock.is_some(), "{case:?}, {buffer:?}, {replicating:?}");
            }
        }
        // One of the two alone is delivered, and so are both in stores.
        let first = case.2.lines().next().unwrap();
        let (_, alone) = run((case.0, case.1, first), LOCKSTEP, Buffer::Flits(1), EngineChoice::Worm);
        assert_eq!((alone.deadlock, alone.messages.delivered), (None, 1));
        for engine in [EngineChoice::Flit, EngineChoice::Worm] {
            let (_, stored) = run(case, SEPARATE, Buffer::Message, engine);
            assert_eq!((stored.deadlock, stored.messages.delivered), (None, 2), "{case:?}");
        }
    }
}

/// With room for whole messages, but branches that are requested together: of four worms two come in and wait behind the request of one that starts
/// there, which waits for the channel of the other that comes in.
#[test]
fn four_worms_deadlock_where_stores_reserve_branches_together() {
    // 0 > 1 > 3 behind 1 > 3 and 1 > 0; 1 > 0 > 2 behind 0 > 2 and 0 > 1.
    let xy = ("mesh:2x2", "xy-tree", "0 0 20 3\n0 1 20 2\n2 0 20 1;2\n2 1 20 0;3\n");
    let yx = ("mesh:2x2", "yx-tree", "0 0 20 3\n0 2 20 1\n2 0 20 1;2\n2 2 20 0;3\n");
    for case in [xy, ("mesh:2x2", "vctm", xy.2), yx] {
        for engine in [EngineChoice::Flit, EngineChoice::Worm] {
            let (unsafe_worms, result) = run(case, ATOMIC, Buffer::Message, engine);
            assert!(unsafe_worms && result.deadlock.is_some(), "{case:?}");
            let (unsafe_worms, result) = run(case, SEPARATE, Buffer::Message, engine);
            assert!(!unsafe_worms && result.deadlock.is_none(), "{case:?}");
            assert_eq!(result.messages.delivered, 4);
        }
    }
}

/// On one virtual channel not even its unicasts are safe, however much buffers hold: four of them turn round a square.
#[test]
fn recursive_partitioning_deadlocks_with_unicasts() {
    let square = ("mesh:2x2", "rpm", "0 0 20 3\n0 2 20 1\n0 3 20 0\n0 1 20 2\n");
    for (replicating, buffer) in [(LOCKSTEP, Buffer::Flits(1)), (SEPARATE, Buffer::Message)] {
        for engine in [EngineChoice::Flit, EngineChoice::Worm] {
            let (unsafe_worms, result) = run(square, replicating, buffer, engine);
            assert!(unsafe_worms && result.deadlock.is_some(), "{buffer:?}, {engine:?}");
        }
    }
}

/// The table of docs/algorithms.md: with stores and branches that are reserved one by one, and nowhere else, all but `rpm` are safe; runs agree.
#[test]
fn verdicts_hold_in_runs() {
    let arrivals = Arrivals {
        process: Process::Burst,
        rate: None,
        successes: None,
        sources: None,
        interval: Some(20),
        load: None,
    };
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 2, most: 40 }.into()),
        multicast: Some(MulticastTraffic {
            destinations: Count { least: 1, most: 6 }.into(),
            fraction: 0.9,
            sets: None,
        }),
        unicast: None,
        trace: None,
    };
    let finite = Run { mode: Some(Mode::Finite), messages: Some(400), ..Run::default() };
    for algorithm in [&SAFE_IN_STORES[..], &["rpm"]].concat() {
        for replicating in [LOCKSTEP, ATOMIC, SEPARATE] {
            for buffer in [Buffer::Flits(1), Buffer::Flits(8), Buffer::Message] {
                let cell = format!("{algorithm}, {replicating:?}, {buffer:?}");
                let scenario = scenario("mesh:5x4", algorithm, replicating, buffer, &traffic, &finite);
                let safe = !unsafe_worms(&scenario);
                let stored = replicating == SEPARATE && buffer == Buffer::Message;
                assert_eq!(safe, stored && algorithm != "rpm", "{cell}");
                let result = simulate(&scenario, EngineChoice::Auto, 1).unwrap();
                assert_eq!(result.deadlock.is_none(), safe, "{cell}");
            }
        }
        // Without a word about switching they are as safe as they can be.
        let network = build("mesh:5x4");
        let timing = Timing { startup: 0, ..Timing::default() };
        let default =
            Scenario::new(make(&network, algorithm), &Wormhole::default().into(), &timing, &traffic, &finite).unwrap();
        assert_eq!(unsafe_worms(&default), algorithm == "rpm");
    }
    // A line of three is too short for two trees in lockstep to block each other.
    for algorithm in ["xy-tree", "rpm"] {
        let line = scenario(
            "mesh:3x1",
            algorithm,
            LOCKSTEP,
            Buffer::Flits(1),
            &Traffic { multicast: None, ..traffic.clone() },
            &finite,
        );
        assert!(!unsafe_worms(&line));
    }
}

fn two_classes(network: &Arc<Network>) -> Arc<dyn Algorithm> {
    let own = AlgorithmOptions { classes: Some(2), ..AlgorithmOptions::default() };
    Arc::from(algorithm_by_name("rpm", network, &Options { own, ..Options::default() }).unwrap())
}

/// In two classes, recursive partitioning is as safe as other trees: with stores, and branches that are reserved one by one. The square of unicasts goes through, and so does
/// a flood; on one virtual channel it is refused.
#[test]
fn recursive_partitioning_in_two_classes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("by-hand.trace");
    let square = "0 0 20 3\n0 2 20 1\n0 3 20 0\n0 1 20 2\n";
    std::fs::write(&path, square).unwrap();
    let by_hand = Traffic { trace: Some(path.to_str().unwrap().to_owned()), ..Traffic::default() };
    let drained = Run { mode: Some(Mode::Drain), ..Run::default() };
    let timing = Timing { startup: 0, routing_delay: 4, startup_mode: Some(StartupMode::PerPort), ..Timing::default() };
    let arrivals = Arrivals {
        process: Process::Burst,
        rate: None,
        successes: None,
        sources: None,
        interval: Some(20),
        load: None,
    };
    let flood = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 2, most: 40 }.into()),
        multicast: Some(MulticastTraffic {
            destinations: Count { least: 1, most: 6 }.into(),
            fraction: 0.7,
            sets: None,
        }),
        unicast: None,
        trace: None,
    };
    let finite = Run { mode: Some(Mode::Finite), messages: Some(400), ..Run::default() };
    for (topology, traffic, run) in [("mesh:2x2", &by_hand, &drained), ("mesh:5x4", &flood, &finite)] {
        let network = build(topology);
        let on = |virtual_channels, (replication, reservation), buffer| {
            let switching = Wormhole {
                virtual_channels,
                buffer: Some(buffer),
                replication: Some(replication),
                reservation: Some(reservation),
                ..Wormhole::default()
            };
            Scenario::new(two_classes(&network), &switching.into(), &timing, traffic, run).unwrap()
        };
        for virtual_channels in [2, 3] {
            let scenario = on(virtual_channels, SEPARATE, Buffer::Message);
            assert!(!unsafe_worms(&scenario));
            let result = simulate(&scenario, EngineChoice::Auto, 1).unwrap();
            assert!(result.deadlock.is_none() && result.messages.delivered >= 4, "{result:?}");
        }
        if topology != "mesh:2x2" {
            for (replicating, buffer) in [(ATOMIC, Buffer::Message), (SEPARATE, Buffer::Flits(1))] {
                assert!(unsafe_worms(&on(2, replicating, buffer)));
            }
        }
        let switching = Wormhole::default().into();
        let refused = Scenario::new(two_classes(&network), &switching, &timing, traffic, run).map(|_| ()).unwrap_err();
        let problem = "`switching.virtual_channels`: `rpm` needs 2 virtual channels, but there is 1";
        assert_eq!(refused.to_string(), problem);
        // Nor does the check tell them apart there.
        let dependencies = two_classes(&network);
        assert!(dependencies.dependencies().with_virtual_channels(1).deadlock(4).is_some());
    }
}

/// Of two worms of one quadrant alone, the same one comes first to every channel. A third one holds up a branch of the first, so that the second comes in between: each has the column
/// that the other waits for, on the same virtual channel.
#[test]
fn quadrants_on_channels_of_their_own_deadlock() {
    let network = build("mesh:3x4");
    let make = || -> Arc<dyn Algorithm> {
        Arc::from(algorithm_by_name("double-channel-xy-tree", &network, &Options::default()).unwrap())
    };
    let check = |branching, virtual_channels| {
        let algorithm = make();
        let dependencies = algorithm.dependencies_with(branching).with_virtual_channels(virtual_channels);
        dependencies.deadlock(4).is_none()
    };
    assert!(!check(Branching::LOCKSTEP, 2) && check(Branching::STORED, 2));
    // What the classes are for: on one virtual channel there is a shorter cycle.
    assert!(!check(Branching::LOCKSTEP, 1) && check(Branching::STORED, 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("by-hand.trace");
    let timing = Timing { startup: 0, routing_delay: 4, startup_mode: Some(StartupMode::PerPort), ..Timing::default() };
    let drained = Run { mode: Some(Mode::Drain), ..Run::default() };
    let dies = |messages: &str, replicating: (BranchReplication, Reservation), buffer| {
        std::fs::write(&path, messages).unwrap();
        let traffic = Traffic { trace: Some(path.to_str().unwrap().to_owned()), ..Traffic::default() };
        let switching = Wormhole {
            virtual_channels: 2,
            buffer: Some(buffer),
            replication: Some(replicating.0),
            reservation: Some(replicating.1),
            ..Wormhole::default()
        };
        let scenario = Scenario::new(make(), &switching.into(), &timing, &traffic, &drained).unwrap();
        let result = simulate(&scenario, EngineChoice::Flit, 1).unwrap();
        assert!(result.deadlock.is_none() || unsafe_worms(&scenario));
        result.deadlock.is_some()
    };
    let (third, two) = ("0 3 20 7\n", "2 0 20 10;11\n15 6 20 10;11\n");
    for replicating in [ATOMIC, SEPARATE] {
        assert!(dies(&format!("{third}{two}"), replicating, Buffer::Flits(1)), "{replicating:?}");
        assert!(!dies(two, replicating, Buffer::Flits(1)));
        assert!(!dies(&format!("{third}{two}"), replicating, Buffer::Message));
    }
}

/// Random messages to three destinations each, all of them measured.
fn planned(algorithm: &str, own: AlgorithmOptions, sets: Option<u32>) -> Result<RunResult, String> {
    let network = build("mesh:5x4");
    let arrivals = Arrivals {
        process: Process::Bernoulli,
        rate: Some(0.5),
        successes: None,
        sources: None,
        interval: None,
        load: None,
    };
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count::fixed(8).into()),
        multicast: Some(MulticastTraffic { destinations: Count::fixed(3).into(), fraction: 1.0, sets }),
        unicast: None,
        trace: None,
    };
    let drained = Run { mode: Some(Mode::Drain), messages: Some(2_000), ..Run::default() };
    let made = algorithm_by_name(algorithm, &network, &Options { own, ..Options::default() }).unwrap();
    let timing = Timing { startup: 0, ..Timing::default() };
    let scenario = Scenario::new(Arc::from(made), &Wormhole::default().into(), &timing, &traffic, &drained).unwrap();
    simulate(&scenario, EngineChoice::Auto, 1).map_err(|error| error.to_string())
}

/// A run names the first set that is no mask; several masks carry it.
#[test]
fn sets_that_are_no_mask_end_a_run() {
    let refused = planned("xy-mask", AlgorithmOptions::default(), None).unwrap_err();
    assert!(refused.contains("a multicast from ") && refused.contains("these 3 are not such a set"), "{refused}");
    let cover = AlgorithmOptions { cover: Some(true), ..AlgorithmOptions::default() };
    assert_eq!(planned("xy-mask", cover, None).unwrap().messages.delivered, 2_000);
}

/// A tree that is set up takes fewer flits over links than the unicasts that set it up: what is used again, and what tables hold, decides how many are.
#[test]
fn tables_are_worth_it_where_sets_come_again() {
    let hops = |entries, sets| {
        let result = planned("vctm", AlgorithmOptions { entries, ..AlgorithmOptions::default() }, sets).unwrap();
        assert_eq!(result.messages.delivered, 2_000);
        result.flit_hops
    };
    // 2,000 messages from 20 nodes: one set each is set up once, 100 times used.
    let (set_up, reused, thrashed) = (hops(None, Some(1)), hops(Some(20), Some(1)), hops(Some(1), Some(1)));
    assert!(set_up < reused && reused < thrashed, "{set_up} {reused} {thrashed}");
    let separate = planned("separate", AlgorithmOptions::default(), Some(1)).unwrap().flit_hops;
    assert!(reused < separate * 95 / 100 && thrashed <= separate, "{reused} {thrashed} {separate}");
}
