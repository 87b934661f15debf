//! Whole runs: nothing is lost, nothing comes twice, the figures agree with an own count, and only what the static check warns
//! of can deadlock.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use wormcast_multicast::{ALGORITHMS, Algorithm, Options, Sends, algorithm_by_name};
use wormcast_network::{Network, NodeId};
use wormcast_simulation::{
    Arrivals, Count, Cycle, Delivery, Destinations, EngineChoice, Generated, Header, Mode, MulticastTraffic, Observer,
    Process, Run, RunResult, Scenario, StartupMode, Switching, Timing, Traffic, Warmup, Wormhole, simulate,
};

use crate::support::{build, watch};

/// A message as it was generated: when, from where, to whom, how long.
type Message = (Cycle, NodeId, Vec<NodeId>, u32);

/// Its own account of a run.
#[derive(Default)]
struct Ledger {
    messages: Vec<Message>,
    deliveries: Vec<Delivery>,
}

impl Observer for Ledger {
    fn generated(&mut self, message: &Generated<'_>) {
        assert_eq!(message.message, self.messages.len() as u64, "messages are numbered in order");
        assert!(self.messages.last().is_none_or(|last| last.0 <= message.at), "in the order of time");
        self.messages.push((message.at, message.source, message.destinations.to_vec(), message.length));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
}

/// What a run is told, small and random.
#[derive(Clone, Debug)]
struct Case {
    mesh: String,
    algorithm: &'static str,
    routing: Option<&'static str>,
    switching: Wormhole,
    /// Consumption channels beyond the least number that is safe.
    spare: u32,
    timing: Timing,
    traffic: Traffic,
    run: Run,
    seed: u64,
}

impl Case {
    fn algorithm(&self, network: &Arc<Network>, name: &str) -> Option<Arc<dyn Algorithm>> {
        let routing = self.routing.filter(|_| name == "separate");
        let options = routing.map_or_else(Options::default, |routing| Options::routed_by(routing).unwrap());
        algorithm_by_name(name, network, &options).ok().map(Arc::from)
    }

    /// The scenario with as few consumption channels as are safe, and some to spare.
    fn scenario(&self, name: &str) -> Option<Scenario> {
        let network = build(&self.mesh);
        let algorithm = self.algorithm(&network, name)?;
        let mut switching = self.switching.clone();
        switching.virtual_channels = switching.virtual_channels.max(algorithm.needed_virtual_channels().0.into());
        let safe = safe_ports(&*algorithm, switching.virtual_channels).expect("safe with some number");
        switching.consumption_ports = Some(safe + self.spare);
        let mut traffic = self.traffic.clone();
        if let Some(MulticastTraffic { destinations: Destinations::Count(count), .. }) = &mut traffic.multicast {
            let most = network.nodes() as u32 - 1;
            count.most = count.most.min(most);
            count.least = count.least.min(most);
        }
        if let Some(arrivals) = &mut traffic.arrivals {
            arrivals.sources = arrivals.sources.map(|sources| sources.min(network.nodes() as u32));
        }
        let scenario = Scenario::new(algorithm, &switching.into(), &self.timing, &traffic, &self.run);
        Some(scenario.unwrap_or_else(|error| panic!("{error}")))
    }
}

/// The least number of consumption channels with which the static check finds no deadlock.
fn safe_ports(algorithm: &dyn Algorithm, virtual_channels: u32) -> Option<u32> {
    let dependencies = algorithm.dependencies().with_virtual_channels(virtual_channels);
    (1..=32).find(|&ports| dependencies.deadlock(ports).is_none())
}

/// The algorithms that send no trees, which nothing makes safe in lockstep, and no worms that only buffered switches replicate.
fn of_paths() -> impl Iterator<Item = &'static str> {
    let paths = ALGORITHMS.iter().filter(|algorithm| matches!(algorithm.sends, Some(Sends::Paths | Sends::Unicasts)));
    paths.map(|algorithm| algorithm.name)
}

fn meshes() -> impl Strategy<Value = String> {
    prop_oneof![
        (2u32..10).prop_map(|a| format!("mesh:{a}")),
        (1u32..6, 2u32..6).prop_map(|(a, b)| format!("mesh:{a}x{b}")),
        (2u32..4, 1u32..4, 1u32..3).prop_map(|(a, b, c)| format!("mesh:{a}x{b}x{c}")),
    ]
}

fn switching() -> impl Strategy<Value = Wormhole> {
    let header = prop::sample::select(vec![Header::None, Header::None, Header::BitString, Header::AllDestinations]);
    (1u32..12, header, 1u32..4, 1u32..4, prop_oneof![3 => Just(1u32), 1 => 2u32..4]).prop_map(
        |(buffer, header, header_flits, injection_ports, virtual_channels)| Wormhole {
            buffer: Some(buffer.into()),
            virtual_channels,
            injection_ports: Some(injection_ports),
            header,
            header_flits: (header == Header::BitString).then_some(header_flits),
            ..Wormhole::default()
        },
    )
}

fn timing() -> impl Strategy<Value = Timing> {
    let mode = prop_oneof![Just(StartupMode::Serial), Just(StartupMode::PerPort)];
    (0u32..40, mode, 0u32..5, prop::option::of(0u32..5)).prop_map(
        |(startup, startup_mode, routing_delay, strip_delay)| Timing {
            startup,
            startup_mode: Some(startup_mode),
            routing_delay,
            strip_delay,
            ..Timing::default()
        },
    )
}

/// Arrivals from idle to far beyond saturation; with whether they come to an end.
fn arrivals() -> impl Strategy<Value = (Arrivals, bool)> {
    let process = prop::sample::select(vec![
        Process::Poisson,
        Process::Bernoulli,
        Process::Exponential,
        Process::NegativeBinomial,
    ]);
    let load = prop::sample::select(vec![1e-5, 1e-3, 0.01, 0.2]);
    let random = (process, load, 1u32..4).prop_map(|(process, per_cycle, successes)| {
        let successes = (process == Process::NegativeBinomial).then_some(successes);
        // 5 ns a cycle: 200 cycles a microsecond.
        (
            Arrivals { process, rate: Some(per_cycle * 200.0), load: None, successes, sources: None, interval: None },
            false,
        )
    });
    let burst = (1u32..20, prop::option::of(1u64..2000)).prop_map(|(sources, interval)| {
        let arrivals = Arrivals {
            process: Process::Burst,
            rate: None,
            load: None,
            successes: None,
            sources: Some(sources),
            interval,
        };
        (arrivals, interval.is_none())
    });
    prop_oneof![4 => random, 1 => burst]
}

fn cases() -> impl Strategy<Value = Case> {
    let destinations = (1u32..8, 0u32..4, prop::sample::select(vec![1.0, 1.0, 0.3, 0.0]));
    let traffic = (arrivals(), prop::option::of(destinations), 1u32..12, 0u32..30).prop_map(
        |((arrivals, ends), multicast, length, more)| {
            let multicast = multicast.map(|(least, more, fraction)| MulticastTraffic {
                destinations: Count { least, most: least + more }.into(),
                fraction,
                sets: None,
            });
            let length = Some(Count { least: length, most: length + more }.into());
            (Traffic { arrivals: Some(arrivals), length, multicast, unicast: None, trace: None }, ends)
        },
    );
    let counted = (0u64..80).prop_map(Warmup::Messages);
    let warmup = prop_oneof![Just(Warmup::Auto), (0u64..3000).prop_map(Warmup::Cycles), counted];
    let run = (prop::bool::ANY, warmup, 1u64..60);
    let algorithm = prop::sample::select(of_paths().collect::<Vec<_>>());
    let routing = prop::sample::select(vec![None, Some("e-cube"), Some("negative-first")]);
    (meshes(), algorithm, routing, switching(), 0u32..2, timing(), traffic, run, any::<u64>()).prop_map(
        |(mesh, algorithm, routing, switching, spare, timing, (traffic, ends), (steady, warmup, messages), seed)| {
            let mode = if ends {
                None
            } else if steady {
                Some(Mode::Steady)
            } else {
                Some(Mode::Finite)
            };
            // All of a burst, or as many messages as asked for.
            let messages = (!ends).then_some(messages);
            // Far beyond saturation, nodes that forward in software may take forever to deliver a few messages: 2,000 generated
            // at each node are enough.
            let rate = traffic.arrivals.as_ref().and_then(|arrivals| arrivals.rate);
            let max_cycles = rate.map(|rate| ((2000.0 * 200.0 / rate) as u64).max(3000));
            let run = Run { mode, warmup, messages, until: None, max_cycles };
            Case { mesh, algorithm, routing, switching, spare, timing, traffic, run, seed }
        },
    )
}

fn observed(scenario: &Scenario, seed: u64) -> (RunResult, Ledger) {
    watch(scenario, EngineChoice::Auto, seed, Ledger::default()).expect("the engine can run it")
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

/// The ids of the messages that a run measures the loads of, as far as they are generated.
fn window(case: &Case, own: &Ledger) -> Range<usize> {
    let all = own.messages.len();
    let count = case.run.messages.unwrap_or(u64::MAX / 4) as usize;
    let range = match (case.run.mode, case.run.warmup) {
        (Some(Mode::Steady), Warmup::Auto) => count.div_ceil(2)..count + count.div_ceil(2),
        (Some(Mode::Steady), Warmup::Messages(before)) => before as usize..before as usize + count,
        (Some(Mode::Steady), Warmup::Cycles(cycles)) => {
            let first = own.messages.iter().position(|message| message.0 >= cycles).unwrap_or(all);
            first..first + count
        }
        _ => 0..all,
    };
    range.start.min(all)..range.end.min(all)
}

/// The messages whose load counts: those that are measured or, of bursts in a steady run, all of the window's cycles, without the last burst of a window that ends before the next.
fn offered_in(case: &Case, own: &Ledger, ids: Range<usize>, (from, to): (Cycle, Cycle)) -> Range<usize> {
    let Some(arrivals) = case.traffic.arrivals.as_ref().filter(|arrivals| arrivals.process == Process::Burst) else {
        return ids;
    };
    if ids.is_empty() || case.run.mode != Some(Mode::Steady) {
        return ids;
    }
    let first_at = |cycle: Cycle| own.messages.partition_point(|message| message.0 < cycle);
    let end = match (own.messages.last(), arrivals.interval) {
        // The next one, which closes the window, is not generated if the run is given up there and then.
        (Some(last), Some(interval)) if last.0 < to && (last.0 + interval > to || case.run.max_cycles == Some(to)) => {
            first_at(last.0)
        }
        _ => first_at(to),
    };
    first_at(from)..end
}

fn check(case: &Case, scenario: &Scenario, result: &RunResult, own: &Ledger) -> Result<(), TestCaseError> {
    prop_assert_eq!(&result.deadlock, &None, "the static check promised that there is none");

    // Every delivery goes to a destination, once, in time, and its parts add up.
    let mut arrived: BTreeMap<(u64, NodeId), Cycle> = BTreeMap::new();
    for delivery in &own.deliveries {
        let (at, _, destinations, _) = &own.messages[delivery.message as usize];
        prop_assert!(destinations.contains(&delivery.node), "{:?} was not asked for", delivery);
        prop_assert_eq!(arrived.insert((delivery.message, delivery.node), delivery.delivered), None, "twice");
        let parts = delivery.parts;
        prop_assert_eq!(
            parts.queueing + parts.startup + parts.network + parts.blocking,
            delivery.delivered - at,
            "{:?}",
            delivery
        );
        // One startup for each time that the message was sent on.
        let startup = u64::from(case.timing.startup);
        prop_assert!(parts.startup >= startup && (startup == 0 || parts.startup % startup == 0));
        prop_assert!(startup > 0 || parts.startup == 0);
        prop_assert!(delivery.delivered <= result.cycles);
    }
    prop_assert_eq!((result.deliveries, result.duplicates), (own.deliveries.len() as u64, 0));

    // Messages are delivered or in flight.
    let last = |id: usize| -> Option<Cycle> {
        let destinations = &own.messages[id].2;
        let times: Option<Vec<Cycle>> =
            destinations.iter().map(|&node| arrived.get(&(id as u64, node)).copied()).collect();
        times.and_then(|times| times.into_iter().max())
    };
    let delivered = (0..own.messages.len()).filter(|&id| last(id).is_some()).count() as u64;
    let messages = result.messages;
    prop_assert_eq!((messages.generated, messages.delivered), (own.messages.len() as u64, delivered));
    prop_assert_eq!(messages.in_flight, messages.generated - delivered);
    let finite = case.run.mode != Some(Mode::Steady);
    if finite && !result.saturated {
        prop_assert!(delivered >= case.run.messages.unwrap_or(messages.generated));
    }

    // Loads.
    let ids = window(case, own);
    let nodes = scenario.network().nodes() as f64;
    // A window within one cycle has no loads.
    let span = (result.window.to - result.window.from) as f64;
    let load = |flits: u64| if span > 0.0 { flits as f64 / (nodes * span) } else { 0.0 };
    let flits = |message: &Message| u64::from(message.3);
    let counted = offered_in(case, own, ids.clone(), (result.window.from, result.window.to));
    prop_assert_eq!(result.window.generated, counted.len() as u64);
    let counted = &own.messages[counted];
    let injected: u64 = counted.iter().map(flits).sum();
    let offered: u64 = counted.iter().map(|message| flits(message) * message.2.len() as u64).sum();
    prop_assert!(close(result.injected_load, load(injected)));
    prop_assert!(close(result.offered_load, load(offered)));
    let within = |at: Cycle| !ids.is_empty() && result.window.from < at && at <= result.window.to;
    let now = own.deliveries.iter().filter(|delivery| within(delivery.delivered));
    let carried: u64 = now.map(|delivery| flits(&own.messages[delivery.message as usize])).sum();
    prop_assert!(close(result.delivered_load, load(carried)), "{} {}", result.delivered_load, load(carried));
    let completed = (0..own.messages.len()).filter(|&id| last(id).is_some_and(within));
    let completed: Vec<usize> = completed.collect();
    prop_assert_eq!(result.window.completed, completed.len() as u64);
    let asked: usize = counted.iter().map(|message| message.2.len()).sum();
    let made = own.deliveries.iter().filter(|delivery| within(delivery.delivered)).count();
    prop_assert_eq!((result.window.offered, result.window.delivered), (asked as u64, made as u64));
    prop_assert!(close(result.accepted_load, load(completed.iter().map(|&id| flits(&own.messages[id])).sum())));

    // Latencies: those of the delivered messages among the measured ones.
    let distribution = &result.latency.last;
    let parts = result.latency.parts;
    let sum = parts.queueing + parts.startup + parts.network + parts.blocking;
    prop_assert!(close(sum, distribution.mean.unwrap_or(0.0)), "{:?} {:?}", parts, distribution);
    let mut latencies: Vec<f64> = ids.filter_map(|id| last(id).map(|at| (at - own.messages[id].0) as f64)).collect();
    latencies.sort_by(f64::total_cmp);
    prop_assert_eq!(messages.measured, latencies.len() as u64);
    prop_assert_eq!(distribution.max, latencies.last().copied());
    let mean = latencies.iter().sum::<f64>() / latencies.len().max(1) as f64;
    prop_assert!(close(distribution.mean.unwrap_or(0.0), mean));
    prop_assert!(distribution.mean_ns.is_none_or(|ns| close(ns, mean * 5.0)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(case in cases()) {
        let Some(scenario) = case.scenario(case.algorithm) else { return Ok(()) };
        let (result, own) = observed(&scenario, case.seed);
        check(&case, &scenario, &result, &own)?;
        // The seed alone decides, watched or not, on any engine.
        prop_assert_eq!(&simulate(&scenario, EngineChoice::Auto, case.seed).unwrap(), &result);
        let flit = simulate(&scenario, EngineChoice::Flit, case.seed).unwrap();
        prop_assert_eq!(RunResult { engine: result.engine.clone(), ..flit }, result);
    }

    /// Common random numbers: what is sent does not depend on how.
    #[test]
    fn all_algorithms_see_the_same_messages(mut case in cases()) {
        // Well beyond the warm-up, which is below 3000 cycles: runs that measure nothing are refused.
        case.run.max_cycles = case.run.max_cycles.map(|cycles| (cycles / 10).max(4000));
        let sent = of_paths().filter_map(|name| case.scenario(name));
        let sent: Vec<Vec<Message>> = sent.map(|scenario| observed(&scenario, case.seed).1.messages).collect();
        for pair in sent.windows(2) {
            let both = pair[0].len().min(pair[1].len());
            prop_assert_eq!(&pair[0][..both], &pair[1][..both]);
        }
    }
}

/// A run of bursts on a mesh with one-flit buffers, on each engine, whose limit is far away, if it has one.
#[test]
fn a_finite_run_ends_with_its_last_worm() {
    for (mesh, algorithm, seed) in
        [("mesh:3x1x1", "pure-negative-first", 516_226_707_754_070_254), ("mesh:4x4", "dual-path", 1)]
    {
        let network = build(mesh);
        let algorithm: Arc<dyn Algorithm> =
            Arc::from(algorithm_by_name(algorithm, &network, &Options::default()).unwrap());
        let ends = [None, Some(1_000_000)].map(|max_cycles| {
            let switching = Switching::from(Wormhole { buffer: Some(1.into()), ..Wormhole::default() });
            let timing = Timing { startup: 0, routing_delay: 0, ..Timing::default() };
            let arrivals = Arrivals {
                process: Process::Burst,
                rate: None,
                load: None,
                successes: None,
                sources: Some(network.nodes() as u32),
                interval: None,
            };
            let destinations = Count { least: 1, most: 2 }.into();
            let traffic = Traffic {
                arrivals: Some(arrivals),
                length: Some(Count { least: 1, most: 4 }.into()),
                multicast: Some(MulticastTraffic { destinations, fraction: 1.0, sets: None }),
                unicast: None,
                trace: None,
            };
            let run = Run { max_cycles, ..Run::default() };
            let scenario = Scenario::new(algorithm.clone(), &switching, &timing, &traffic, &run).unwrap();
            [EngineChoice::Worm, EngineChoice::Flit].map(|engine| {
                let result = simulate(&scenario, engine, seed).unwrap();
                assert_eq!(
                    Some(result.cycles),
                    result.latency.last.max.map(|last| last as Cycle),
                    "{mesh}, {max_cycles:?}"
                );
                result.cycles
            })
        });
        assert!(ends.iter().flatten().all(|&end| end == ends[0][0]), "{mesh}: {ends:?}");
    }
}

/// Bursts from every node, without rest.
fn heavy(mesh: &str, algorithm: &str, switching: &Wormhole, seed: u64) -> RunResult {
    let switching = &Switching::from(switching.clone());
    let network = build(mesh);
    let algorithm: Arc<dyn Algorithm> = Arc::from(algorithm_by_name(algorithm, &network, &Options::default()).unwrap());
    let nodes = network.nodes() as u32;
    let timing = Timing { startup: 0, routing_delay: 1, ..Timing::default() };
    let arrivals = Arrivals {
        process: Process::Burst,
        rate: None,
        load: None,
        successes: None,
        sources: None,
        interval: Some(20),
    };
    let destinations = Count { least: 1, most: (nodes - 1).min(8) }.into();
    let traffic = Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 4, most: 60 }.into()),
        multicast: Some(MulticastTraffic { destinations, fraction: 0.9, sets: None }),
        unicast: None,
        trace: None,
    };
    let run = Run { mode: Some(Mode::Finite), messages: Some(8 * u64::from(nodes)), ..Run::default() };
    let scenario = Scenario::new(algorithm, switching, &timing, &traffic, &run).unwrap();
    simulate(&scenario, EngineChoice::Auto, seed).unwrap()
}

/// What the simulator finds dead, the static check called possible; and it does not cry wolf at everything.
#[test]
fn only_what_the_static_check_warns_of_deadlocks() {
    let mut dead: BTreeMap<&str, u32> = BTreeMap::new();
    let mut seed = 0;
    for mesh in ["mesh:6", "mesh:2x5", "mesh:4x4", "mesh:5x3", "mesh:3x3x2", "mesh:2x2x2x2", "mesh:1x7"] {
        let network = build(mesh);
        for name in of_paths() {
            let Ok(algorithm) = algorithm_by_name(name, &network, &Options::default()) else { continue };
            for (virtual_channels, buffer, header) in [
                (1, 1, Header::None),
                (1, 3, Header::AllDestinations),
                (1, 8, Header::BitString),
                (2, 1, Header::None),
                (3, 2, Header::AllDestinations),
            ] {
                if virtual_channels < u32::from(algorithm.needed_virtual_channels().0) {
                    continue;
                }
                let safe = safe_ports(&*algorithm, virtual_channels).expect("safe with some number");
                for consumption_ports in 1..=safe {
                    seed += 1;
                    let switching = Wormhole {
                        virtual_channels,
                        buffer: Some(buffer.into()),
                        header,
                        consumption_ports: Some(consumption_ports),
                        ..Wormhole::default()
                    };
                    let result = heavy(mesh, name, &switching, seed);
                    let Some(deadlock) = result.deadlock else {
                        assert_eq!(result.messages.in_flight, result.messages.generated - result.messages.delivered);
                        continue;
                    };
                    assert!(consumption_ports < safe, "{name} on {mesh} with {switching:?}: {deadlock:?}");
                    *dead.entry(name).or_default() += 1;
                    // The witness is a cycle: each member waits for something that the next one has or gets first.
                    for (i, worm) in deadlock.cycle.iter().enumerate() {
                        let next = &deadlock.cycle[(i + 1) % deadlock.cycle.len()];
                        // Holds it, or is before it in the queue for a link.
                        let held = |wanted: &String| {
                            let port = format!("{wanted}[");
                            next.holds.iter().any(|held| held == wanted || held.starts_with(&port))
                                || next.waits_for.contains(wanted) && wanted.contains("->")
                        };
                        assert!(worm.waits_for.iter().any(held), "{name} on {mesh}: {deadlock:?}");
                    }
                }
            }
        }
    }
    for name in ["pure-negative-first", "dual-path", "multi-path", "column-path"] {
        assert!(dead.get(name).is_some_and(|&count| count > 0), "no run of {name} deadlocks: {dead:?}");
    }
    assert_eq!(dead.get("separate"), None);
}

/// E-cube on a ring needs virtual channels, which it does not use: the simulator finds the deadlock that the check warns of.
#[test]
fn a_torus_deadlocks_and_a_hypercube_does_not() {
    let dead = |spec| {
        let network = build(spec);
        let algorithm = algorithm_by_name("separate", &network, &Options::default()).unwrap();
        let warned = safe_ports(&*algorithm, 1).is_none();
        let found = (0..4).any(|seed| heavy(spec, "separate", &Wormhole::default(), seed).deadlock.is_some());
        (warned, found)
    };
    assert_eq!(dead("torus:5x5"), (true, true));
    assert_eq!(dead("hypercube:4"), (false, false));
}

/// A few messages of many nodes come sooner than the first arrives: that is no saturation.
#[test]
fn an_idle_network_is_not_saturated_however_few_messages_are_measured() {
    for (algorithm, warmup) in
        [("dual-path", Warmup::Auto), ("dual-path", Warmup::Cycles(50)), ("separate", Warmup::Cycles(0))]
    {
        let network = build("mesh:32x32");
        let algorithm: Arc<dyn Algorithm> =
            Arc::from(algorithm_by_name(algorithm, &network, &Options::default()).unwrap());
        // One message of the whole network in 100 cycles, a startup of 1000.
        let arrivals = Arrivals {
            process: Process::Poisson,
            rate: Some(0.002),
            load: None,
            successes: None,
            sources: None,
            interval: None,
        };
        let multicast = Some(MulticastTraffic { destinations: Count::fixed(4).into(), fraction: 1.0, sets: None });
        let traffic = Traffic { arrivals: Some(arrivals), multicast, ..Traffic::default() };
        let run = Run { mode: Some(Mode::Steady), warmup, messages: Some(5), until: None, max_cycles: None };
        let (switching, timing) = (Switching::default(), Timing::default());
        let scenario = Scenario::new(algorithm, &switching, &timing, &traffic, &run).unwrap();
        let result = simulate(&scenario, EngineChoice::Auto, 1).unwrap();
        assert!(!result.saturated && result.messages.measured >= 5, "{result:?}");
    }
}

/// Zero is printed without a sign.
#[test]
fn what_was_not_measured_is_nothing() {
    let network = build("mesh:2x2");
    let algorithm: Arc<dyn Algorithm> =
        Arc::from(algorithm_by_name("separate", &network, &Options::default()).unwrap());
    let arrivals = Arrivals {
        process: Process::Poisson,
        rate: Some(0.02),
        load: None,
        successes: None,
        sources: None,
        interval: None,
    };
    let traffic = Traffic { arrivals: Some(arrivals), ..Traffic::default() };
    let (switching, timing) = (Switching::default(), Timing::default());
    let run = |mode| {
        let run = Run { mode: Some(mode), messages: Some(5), max_cycles: Some(1), ..Run::default() };
        let scenario = Scenario::new(Arc::clone(&algorithm), &switching, &timing, &traffic, &run).unwrap();
        simulate(&scenario, EngineChoice::Auto, 1)
    };
    let within = run(wormcast_simulation::Mode::Steady).unwrap_err();
    assert_eq!(within.setting(), Some("run.max_cycles"), "{within}");
    let result = run(wormcast_simulation::Mode::Finite).unwrap();
    assert_eq!(result.latency.last.mean, None);
    let parts = result.latency.parts;
    assert!([parts.queueing, parts.startup, parts.network, parts.blocking].iter().all(|part| part.is_sign_positive()));
}

/// Poisson multicasts at a rate beyond what the network delivers.
fn flood(rate: f64) -> Traffic {
    let arrivals = Arrivals {
        process: Process::Poisson,
        rate: Some(rate),
        load: None,
        successes: None,
        sources: None,
        interval: None,
    };
    let destinations = Count { least: 1, most: 5 }.into();
    Traffic {
        arrivals: Some(arrivals),
        length: Some(Count { least: 4, most: 60 }.into()),
        multicast: Some(MulticastTraffic { destinations, fraction: 0.9, sets: None }),
        ..Traffic::default()
    }
}

/// A drained run is the run of the trace of its messages: all are measured, and none comes after them.
#[test]
fn a_drained_run_is_that_of_the_trace_of_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let flits = Switching::default();
    let buffered: Switching = serde_json::from_str(r#"{ "model": "central-buffer" }"#).unwrap();
    for (topology, name, switching, engine) in [
        ("mesh:4x4", "dual-path", &flits, EngineChoice::Worm),
        ("mesh:4x4", "dual-path", &flits, EngineChoice::Flit),
        ("torus:4x4", "dstm-2", &flits, EngineChoice::Auto),
        ("bmin:4x2", "u-min", &buffered, EngineChoice::Auto),
    ] {
        let network = build(topology);
        let algorithm: Arc<dyn Algorithm> = Arc::from(algorithm_by_name(name, &network, &Options::default()).unwrap());
        let timing = Timing { startup: 50, ..Timing::default() };
        let outcome = |traffic: &Traffic, run: &Run| {
            let scenario = Scenario::new(Arc::clone(&algorithm), switching, &timing, traffic, run).unwrap();
            watch(&scenario, engine, 7, Ledger::default()).unwrap()
        };
        let drained = Run { mode: Some(Mode::Drain), ..Run::default() };
        let cycles = 3_000;
        for run in [Run { messages: Some(150), ..drained.clone() }, Run { until: Some(cycles), ..drained.clone() }] {
            let (result, ledger) = outcome(&flood(2.0), &run);
            let sent = ledger.messages.len() as u64;
            assert_eq!(run.messages.unwrap_or(sent), sent, "{name}");
            assert!(run.until.is_none_or(|until| ledger.messages.iter().all(|message| message.0 < until)), "{name}");
            let messages = result.messages;
            assert_eq!((messages.generated, messages.delivered, messages.in_flight), (sent, sent, 0), "{name}");
            assert_eq!((messages.measured, result.saturated, result.warmup), (sent, false, 0), "{name}");
            let line = |(at, source, destinations, length): &Message| {
                let to: Vec<String> = destinations.iter().map(ToString::to_string).collect();
                format!("{at} {source} {length} {}\n", to.join(";"))
            };
            let path = folder.path().join("sent.trace");
            std::fs::write(&path, ledger.messages.iter().map(line).collect::<String>()).unwrap();
            let trace = Traffic { trace: Some(path.to_str().unwrap().to_owned()), ..Traffic::default() };
            let (again, same) = outcome(&trace, &drained);
            assert_eq!(same.messages, ledger.messages, "{name}");
            assert_eq!(same.deliveries, ledger.deliveries, "{name}");
            assert_eq!((again.latency, again.cycles), (result.latency.clone(), result.cycles), "{name}");
            // A finite run of as many messages ends earlier and measures those that were quick; with more to come, not the same ones.
            let finite = Run { mode: Some(Mode::Finite), messages: Some(sent), ..Run::default() };
            let (censored, _) = outcome(&flood(2.0), &finite);
            assert!(censored.messages.in_flight > 0 && censored.messages.measured == sent, "{name}");
        }
        // The cycles before the limit are those in which messages come, not those in which they may arrive.
        let all = outcome(&flood(2.0), &Run { until: Some(cycles), ..drained.clone() }).1.messages;
        let fewer = outcome(&flood(2.0), &Run { until: Some(cycles / 2), ..drained.clone() }).1.messages;
        assert_eq!(fewer[..], all[..fewer.len()], "{name}");
        assert!(all[fewer.len()].0 >= cycles / 2, "{name}");
    }
}

#[test]
fn when_arrivals_stop_is_said_once_and_of_drained_runs_only() {
    let network = build("mesh:3x3");
    let algorithm: Arc<dyn Algorithm> =
        Arc::from(algorithm_by_name("dual-path", &network, &Options::default()).unwrap());
    let (switching, timing) = (Switching::default(), Timing::default());
    for (run, expected) in [
        (Run { until: Some(10), ..Run::default() }, "only `mode = \"drain\"` stops arrivals"),
        (Run { mode: Some(Mode::Finite), until: Some(10), ..Run::default() }, "only `mode = \"drain\"`"),
        (Run { mode: Some(Mode::Drain), until: Some(10), messages: Some(5), ..Run::default() }, "give one of the two"),
        (Run { mode: Some(Mode::Drain), until: Some(0), ..Run::default() }, "expected at least 1 cycle"),
    ] {
        let problem = Scenario::new(Arc::clone(&algorithm), &switching, &timing, &flood(0.1), &run).err().unwrap();
        assert_eq!(problem.key, "run.until");
        assert!(problem.problem.contains(expected), "{problem}");
    }
}
