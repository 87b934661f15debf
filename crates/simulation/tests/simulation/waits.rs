//! What worms hold and wait for when a run ends: worked out by hand, the same on engines that share a case, and consistent.

use std::collections::BTreeMap;
use std::sync::Arc;

use wormcast_multicast::{Algorithm, Encoded, Options, Plan, Worm, algorithm_by_name};
use wormcast_network::{ChannelSpace, Network, RouterId};
use wormcast_routing::{Adaptivity, ECube, Turnaround};
use wormcast_simulation::{
    Arrivals, Awaited, BranchTiming, BufferedSwitch, Count, Cycle, Engine, EngineChoice, FlitEngine, Mode,
    MulticastTraffic, Organization, Process, Run, Scenario, StartupMode, StopReason, SwitchConfig, SwitchEngine,
    Switching, Timing, TimingPreset, Traffic, Wait, WaitLog, WaitResource, WormAtEnd, WormEngine, Wormhole,
    simulate_observed,
};

use crate::support::{Told, build, link, node, plain, unicast};

fn waits<E: Engine>(mut engine: E, until: Cycle) -> (Vec<WormAtEnd>, Vec<u32>) {
    let worms = vec![unicast(0, 2), unicast(0, 1)];
    engine.submit(0, 0, 6, Plan { worms: vec![unicast(1, 2), unicast(2, 0).after(0)] });
    engine.submit(0, 1, 6, Plan { worms });
    assert_eq!(engine.run_until(until), StopReason::EndReached);
    let mut held = Vec::new();
    engine.each_held(&mut |channel| held.push(channel));
    held.sort_unstable_by_key(|held| (held.worm, held.flits));
    (engine.worms(), held.iter().map(|held| held.flits).collect())
}

/// A line of three with one port each, a routing delay of 1, one-flit buffers and six flits a worm. Worm 0 from 1 to 2 takes its
/// injection channel in 0, the link in 2 and the consumption channel in 4. Worm 1 is to go back from 2 as soon as it has the message.
/// Worm 2 from 0 to 2 has link 0->1 in 2 and asks for link 1->2 in 4; worm 3 waits for its injection channel from 0 on.
#[test]
fn who_waits_for_whom_by_hand() {
    let mesh = build("mesh:3");
    let space = ChannelSpace::new(&mesh, plain().ports);
    let port = |mut channels: Box<dyn Iterator<Item = _>>| WaitResource::Channel(channels.next().unwrap(), 0);
    let injection = |at| port(Box::new(space.injection(node(at))));
    let along = |from, to| WaitResource::Channel(link(&mesh, from, to), 0);
    let worm = |worm: u64, (source, to): (u32, u32), holds: Vec<WaitResource>, waits: Vec<Wait>| WormAtEnd {
        worm,
        message: worm / 2,
        source: node(source),
        destinations: vec![node(to)],
        holds,
        waits,
        deadlocked: false,
    };
    let wait = |since, at: Option<u32>, resource, worm| Wait {
        since: Some(since),
        at: at.map(RouterId::new),
        options: vec![Awaited { resource, worms: vec![worm] }],
    };
    let consumption = port(Box::new(space.consumption(node(2))));
    let expected = [
        worm(0, (1, 2), vec![injection(1), along(1, 2), consumption], vec![]),
        worm(1, (2, 0), vec![], vec![wait(0, None, WaitResource::Delivery(node(2)), 0)]),
        worm(2, (0, 2), vec![injection(0), along(0, 1)], vec![wait(4, Some(1), along(1, 2), 0)]),
        worm(3, (0, 1), vec![], vec![wait(0, None, WaitResource::Injection(node(0)), 2)]),
    ];
    // Flits have crossed the consumption channel in 4 and 5, the link also in 2, the injection channel in 0, 2, 4 and 5; those of worm
    // 2 stand one behind the other.
    let flits = [2, 3, 4, 1, 2];
    for (worms, held) in [
        waits(FlitEngine::new(&ECube::new(&mesh).unwrap(), plain(), Told::nobody()), 6),
        waits(WormEngine::new(&ECube::new(&mesh).unwrap(), plain(), Told::nobody()), 6),
    ] {
        assert_eq!(worms, expected);
        assert_eq!(held, flits);
    }
}

/// In per-port mode a worm holds its port while it is prepared, and the one behind it waits for that.
#[test]
fn a_port_is_held_during_the_startup() {
    let mesh = build("mesh:3");
    let config = wormcast_simulation::EngineConfig { startup: 9, startup_mode: StartupMode::PerPort, ..plain() };
    for (worms, held) in [
        waits(FlitEngine::new(&ECube::new(&mesh).unwrap(), config, Told::nobody()), 6),
        waits(WormEngine::new(&ECube::new(&mesh).unwrap(), config, Told::nobody()), 6),
    ] {
        assert_eq!(held, [0, 0]);
        assert_eq!((worms[2].holds.len(), worms[3].holds.len()), (1, 0));
        assert_eq!(worms[3].waits[0].options, [Awaited { resource: WaitResource::Injection(node(0)), worms: vec![2] }]);
        assert_eq!(worms[3].since(), Some(0));
    }
}

/// A steady load that is too much, or bursts that may deadlock with few consumption channels, until some cycle.
fn scenario(mesh: &str, name: &str, consumption: u32, (rate, cycles): (Option<f64>, u64)) -> Scenario {
    let network = build(mesh);
    let algorithm: Arc<dyn Algorithm> = Arc::from(algorithm_by_name(name, &network, &Options::default()).unwrap());
    let process = if rate.is_some() { Process::Poisson } else { Process::Burst };
    let interval = rate.is_none().then_some(20);
    let arrivals = Arrivals { process, rate, load: None, successes: None, sources: None, interval };
    let destinations = Count { least: 1, most: 6 }.into();
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 4, most: 60 }.into()),
        multicast: Some(MulticastTraffic { destinations, fraction: 0.9, sets: None }),
        unicast: None,
        trace: None,
    };
    let mode = Some(Mode::Finite);
    let run = Run { mode, messages: Some(4_000), max_cycles: Some(cycles), ..Run::default() };
    let startup = if rate.is_some() { 30 } else { 0 };
    let timing = Timing { startup, routing_delay: 1, ..Timing::default() };
    let switching = Wormhole { consumption_ports: Some(consumption), ..Wormhole::default() };
    Scenario::new(algorithm, &Switching::from(switching), &timing, &traffic, &run).unwrap()
}

fn log_of(scenario: &Scenario, engine: EngineChoice, seed: u64) -> (WaitLog, bool) {
    // As the command compiles it: told of waits, and not of releases.
    let mut log = WaitLog::default();
    let result = simulate_observed(scenario, engine, seed, &mut log).unwrap();
    let dead = log.worms().iter().filter(|worm| worm.deadlocked).count();
    if let Some(deadlock) = &result.deadlock {
        assert_eq!(dead, deadlock.dead, "as many are dead as the result says");
    }
    (log, result.deadlock.is_some())
}

/// Who is said to be in the way is: holders by what they say that they hold, then worms that wait for the same since earlier. The dead
/// wait for the dead alone, and a cycle of them closes.
fn check(worms: &[WormAtEnd], cycle: &[u64]) {
    let by_id: BTreeMap<u64, &WormAtEnd> = worms.iter().map(|worm| (worm.worm, worm)).collect();
    let mut owners = BTreeMap::new();
    for worm in worms {
        for &held in &worm.holds {
            assert_eq!(owners.insert(held, worm.worm), None, "{held:?} has two holders");
        }
    }
    let is_dead = |id: &u64| by_id[id].deadlocked;
    for worm in worms {
        for wait in &worm.waits {
            for Awaited { resource, worms: in_the_way } in &wait.options {
                if let WaitResource::Channel(channel, 0) = *resource {
                    let holder = owners.get(&WaitResource::Channel(channel, 0));
                    let queue = if holder.is_some() { &in_the_way[1..] } else { &in_the_way[..] };
                    assert_eq!(holder, in_the_way.first().filter(|_| holder.is_some()), "{worm:?}");
                    for id in queue {
                        let same = by_id[id]
                            .waits
                            .iter()
                            .find(|other| other.options.iter().any(|option| option.resource == *resource));
                        assert!(same.is_some_and(|other| other.since <= wait.since), "{id} is before {worm:?}");
                    }
                }
            }
        }
        let hopeless = |wait: &Wait| {
            wait.options.iter().all(|option| option.worms.iter().any(|id| *id != worm.worm && is_dead(id)))
        };
        assert!(!worm.deadlocked || worm.waits.iter().any(hopeless), "{worm:?}");
    }
    assert_eq!(cycle.is_empty(), !worms.iter().any(|worm| worm.deadlocked));
    for (place, id) in cycle.iter().enumerate() {
        let next = cycle[(place + 1) % cycle.len()];
        assert!(is_dead(id) && by_id[id].waits.iter().flat_map(|wait| &wait.options).any(|o| o.worms.contains(&next)));
    }
}

/// Overloads cut off in the middle, on both engines: the same worms, holds, waits, to the cycle.
#[test]
fn engines_say_the_same_at_any_end() {
    let json = |network: &Arc<Network>, scenario: &Scenario, log: &WaitLog| {
        let space = ChannelSpace::new(network, scenario.engine_config().ports);
        let mut json = Vec::new();
        log.write_json(network, space, &mut json).unwrap();
        String::from_utf8(json).unwrap()
    };
    let mut waiting = 0;
    for (seed, name) in [(1, "dual-path"), (2, "separate"), (3, "pure-negative-first"), (4, "spam"), (5, "dstm-tarjan")]
    {
        let mesh = if name == "dstm-tarjan" { "torus:4x4" } else { "mesh:4x4" };
        for cycles in [137, 500, 1234] {
            let scenario = scenario(mesh, name, 4, (Some(20.0), cycles));
            let (flit, _) = log_of(&scenario, EngineChoice::Flit, seed);
            let (worm, _) = log_of(&scenario, EngineChoice::Worm, seed);
            assert_eq!((flit.at(), worm.at()), (cycles, cycles));
            let network = scenario.network();
            assert_eq!(json(network, &scenario, &flit), json(network, &scenario, &worm), "{name} until {cycles}");
            check(flit.worms(), &flit.cycle());
            waiting += flit.worms().iter().filter(|worm| !worm.holds.is_empty() && worm.since().is_some()).count();
        }
    }
    assert!(waiting > 100, "{waiting}");
}

/// Deadlocks: all that is said of them holds, and both engines say it.
#[test]
fn deadlocks_are_whole_graphs() {
    let mut deadlocks = 0;
    for seed in 0..6 {
        for name in ["dual-path", "column-path", "multi-path"] {
            let scenario = scenario("mesh:4x4", name, 1, (None, 5_000));
            let (flit, dead) = log_of(&scenario, EngineChoice::Flit, seed);
            let (worm, also) = log_of(&scenario, EngineChoice::Worm, seed);
            assert_eq!(dead, also);
            check(flit.worms(), &flit.cycle());
            check(worm.worms(), &worm.cycle());
            deadlocks += u32::from(dead);
            if dead {
                // The engines may look at different times: what is dead in both is told alike.
                let dead = |log: &WaitLog| -> BTreeMap<u64, WormAtEnd> {
                    let worms = log.worms().iter().filter(|worm| worm.deadlocked);
                    worms.map(|worm| (worm.worm, worm.clone())).collect()
                };
                let (flit, worm) = (dead(&flit), dead(&worm));
                let both: Vec<u64> = flit.keys().copied().filter(|id| worm.contains_key(id)).collect();
                assert!(both.len() > 1);
                for id in both {
                    assert_eq!((&flit[&id].holds, flit[&id].since()), (&worm[&id].holds, worm[&id].since()));
                }
            }
        }
    }
    assert!(deadlocks > 5, "{deadlocks}");
}

/// Paper 4, Figure 2: two worms in lock-step, each with one of the two outputs that both want (see `switches.rs`).
#[test]
fn buffered_switches_say_who_waits_for_whom() {
    let network = build("bmin:4x1");
    let Organization::Input { read_path, .. } = BufferedSwitch::input_buffer().organization else { unreachable!() };
    let organization = Organization::Input { read_path, replication: BranchTiming::Synchronous };
    let switching = BufferedSwitch { organization, ..BufferedSwitch::input_buffer() };
    let config = SwitchConfig::new(&switching, &TimingPreset::Paper4.timing(), &network, 60);
    let routing = Turnaround::new(&network, Adaptivity::Adaptive).unwrap();
    let mut engine = SwitchEngine::new(&routing, config, Told::nobody());
    let both = |from| Worm::encoded(node(from), Encoded::bit_string(vec![node(2), node(3)]));
    for (message, (at, worm)) in (0..).zip([(0, unicast(3, 2)), (10, both(0)), (12, both(1)), (14, unicast(1, 2))]) {
        assert_eq!(engine.run_until(at), StopReason::EndReached);
        engine.submit(at, message, 60, Plan { worms: vec![worm] });
    }
    let StopReason::Deadlock(deadlock) = engine.run_until(Cycle::MAX) else { panic!("a deadlock") };
    let worms = engine.worms();
    let said: Vec<_> = worms.iter().map(|worm| (worm.worm, worm.deadlocked, worm.since().is_some())).collect();
    assert_eq!(said[..2], [(1, true, true), (2, true, true)]);
    assert_eq!(deadlock.dead, 2);
    let space = ChannelSpace::new(&network, wormcast_network::Ports { injection: 1, consumption: 1 });
    let output = |to| WaitResource::Channel(space.consumption(node(to)).next().unwrap(), 0);
    let wants = |worm: &WormAtEnd| worm.waits.iter().flat_map(|wait| wait.options.clone()).collect::<Vec<_>>();
    assert_eq!(wants(&worms[0]), [Awaited { resource: output(2), worms: vec![2] }]);
    assert_eq!(wants(&worms[1]), [Awaited { resource: output(3), worms: vec![1] }]);
    assert!(worms[0].holds.contains(&output(3)) && worms[1].holds.contains(&output(2)));
    // The fourth is behind the third in the same FIFO, if there is room, or before it.
    assert_eq!((worms[2].worm, worms[2].deadlocked), (3, false));
    assert_eq!(worms[2].waits.len(), 1);
    assert_eq!(worms[2].waits[0].options[0].worms, [2]);
}
