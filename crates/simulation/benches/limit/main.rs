//! What a header-hop costs in the worm engine and in a program that is written for one case alone: [`kernel`], and what several cores bring to both.
//!
//! `limit kernel|engine SIDE MESSAGES [FLITS]` runs one of the two and prints what it took; `benches/limit` at the root does so in turns and writes a
//! table; `limit flit` runs the flit engine. `limit engines SIDE MESSAGES FLITS THREADS ROUNDS` compares the engine on one thread and on several, `threads` the program and its form in
//! strips ([`parts`]), `longest` the same with all strips on one core; `limit barrier THREADS CYCLES` says what it takes to wait for each other. `limit burst SIDE [CYCLES]` runs a
//! multicast from every node at once.

mod kernel;
mod parts;

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::time::Instant;

use kernel::{Case, Clock, Outcome};
use parts::Post;
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_simulation::{EngineChoice, Observer, Scenario, Switching, one_thread_because, simulate, simulate_on};

/// Of the load at which the middle links are always busy, 4/k flits a node a cycle: about 60% of saturation.
const SHARE: f64 = 0.25;
const CYCLE_NS: f64 = 5.0;

/// Nanoseconds that this thread has had a processor, or since it began where the system does not say.
fn processor_ns(begin: Instant) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = text.and_then(|text| text.split(' ').next()?.parse().ok());
    told.unwrap_or(begin.elapsed().as_nanos() as u64)
}

/// A scenario on a square mesh, from its tables as JSON.
fn on_mesh(side: u32, algorithm: &str, switching: &str, timing: &str, traffic: &str, run: &str) -> Scenario {
    let network = format!("mesh:{side}x{side}").parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name(algorithm, &network, &Options::default()).unwrap();
    let switching: Switching = serde_json::from_str(switching).unwrap();
    let (timing, run) = (serde_json::from_str(timing).unwrap(), serde_json::from_str(run).unwrap());
    Scenario::new(algorithm.into(), &switching, &timing, &serde_json::from_str(traffic).unwrap(), &run).unwrap()
}

/// The same case for the library.
fn scenario(case: &Case) -> Scenario {
    let Case { side, flits, buffer, rate, cycle_ns, messages, .. } = case;
    on_mesh(
        *side,
        "separate",
        &format!(r#"{{ "buffer": {buffer}, "injection_ports": 1, "consumption_ports": 1 }}"#),
        &format!(r#"{{ "cycle_ns": {cycle_ns}, "startup": 0, "routing_delay": 0 }}"#),
        &format!(r#"{{ "arrivals": {{ "process": "poisson", "rate": {rate} }}, "length": {flits} }}"#),
        &format!(r#"{{ "mode": "drain", "messages": {messages} }}"#),
    )
}

/// Runs `examples/burst.toml`, every node sends a multicast to 10 destinations at once, for so many cycles, and prints what a header-hop takes.
fn burst(side: u32, cycles: u64) {
    let scenario = on_mesh(
        side,
        "pure-negative-first",
        r#"{ "injection_ports": 4, "consumption_ports": 4 }"#,
        r#"{ "startup": 1000 }"#,
        r#"{ "arrivals": { "process": "burst" }, "length": 64, "multicast": { "destinations": 10 } }"#,
        &format!(r#"{{ "max_cycles": {cycles} }}"#),
    );
    let begin = Instant::now();
    let before = processor_ns(begin);
    let result = simulate(&scenario, EngineChoice::Worm, 1).unwrap();
    let nanoseconds = processor_ns(begin) - before;
    let hops = result.flit_hops / 64;
    println!(
        "{{ \"side\": {side}, \"cycles\": {}, \"deliveries\": {}, \"hops\": {hops}, \"ns\": {nanoseconds}, \"ns_per_hop\": {:.1} }}",
        result.cycles,
        result.deliveries,
        nanoseconds as f64 / hops as f64
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |place: usize, default: u64| arguments.get(place).map_or(default, |text| text.parse().unwrap());
    let Some(which) = arguments.first() else {
        println!("limit: nothing to test; `benches/limit` runs it");
        return;
    };
    let (side, messages, flits) = (number(1, 16) as u32, number(2, 20_000), number(3, 64) as u32);
    let rate = SHARE * 4.0 / f64::from(side) / f64::from(flits) / CYCLE_NS * 1000.0;
    let case = Case { side, flits, buffer: 4, rate, cycle_ns: CYCLE_NS, messages, seed: 1 };
    match which.as_str() {
        "burst" => return burst(side, number(2, u64::MAX)),
        "engines" => return engines(&case, number(4, 2) as usize, number(5, 5)),
        "threads" | "longest" => return both(&case, number(4, 2) as u32, number(5, 5), which == "threads"),
        "barrier" => return barrier(number(1, 2) as u32, number(2, 100_000)),
        _ => {}
    }
    let begin = Instant::now();
    let (outcome, nanoseconds) = match which.as_str() {
        "kernel" => {
            let before = processor_ns(begin);
            let outcome = kernel::simulate(&case, &mut Clock::default());
            (outcome, processor_ns(begin) - before)
        }
        _ => {
            let scenario = scenario(&case);
            let before = processor_ns(begin);
            let threads = NonZeroUsize::new(number(4, 1) as usize).unwrap();
            let engine = if which == "flit" { EngineChoice::Flit } else { EngineChoice::Worm };
            let result = simulate_on(&scenario, engine, case.seed, &mut (), threads).unwrap();
            let mean_latency = result.latency.last.mean.unwrap();
            let outcome = Outcome { mean_latency, flit_hops: result.flit_hops, digest: 0 };
            (outcome, processor_ns(begin) - before)
        }
    };
    let hops = outcome.flit_hops / u64::from(flits);
    println!(
        "{{ \"hops\": {hops}, \"mean\": {}, \"ns\": {nanoseconds}, \"ns_per_hop\": {:.1} }}",
        outcome.mean_latency,
        nanoseconds as f64 / hops as f64
    );
}

/// Keeps the shorter of each two times.
fn keep(shortest: &mut Vec<u64>, times: impl Iterator<Item = u64>) {
    if shortest.is_empty() {
        shortest.extend(times);
    } else {
        shortest.iter_mut().zip(times).for_each(|(least, took)| *least = took.min(*least));
    }
}

/// Runs the kernel and its form in strips in turns, and prints what a cycle takes. Each cycle counts as long as it took in the round that
/// was quickest there: other programs interrupt one round here and another there. `threaded`: the strips side by side; otherwise one after the other on one core, and a cycle takes as long as its longest strip: what threads
/// would take if they never had to wait for anything but each other.
fn both(case: &Case, strips: u32, rounds: u64, threaded: bool) {
    let (mut serial, mut side_by_side) = (Vec::new(), Vec::new());
    let mut whole = [Vec::new(), Vec::new()];
    let mut last = None;
    for _ in 0..rounds {
        let mut clock = Clock(Some(Vec::new()));
        let expected = kernel::simulate(case, &mut clock);
        let times: Vec<u64> = clock.nanoseconds().collect();
        whole[0].push(times.iter().sum::<u64>());
        keep(&mut serial, times.into_iter());
        let mut clock = Clock(Some(Vec::new()));
        let (outcome, work) = parts::simulate(case, (strips, Post::Exact), threaded, &mut clock);
        assert_eq!(outcome, expected, "{strips} strips give another result");
        let times: Vec<u64> = if threaded { clock.nanoseconds().collect() } else { work.nanoseconds.clone() };
        whole[1].push(times.iter().sum::<u64>());
        keep(&mut side_by_side, times.into_iter());
        last = Some(work);
    }
    let Some(work) = last else { return };
    let cycles = serial.len() as f64;
    let all = side_by_side.iter().sum::<u64>() as f64 / cycles;
    let longest = if threaded {
        all
    } else {
        let cycle = side_by_side.chunks(strips as usize).map(|cycle| cycle.iter().max().unwrap_or(&0));
        cycle.sum::<u64>() as f64 / cycles
    };
    let [kernel_runs, strips_runs] = whole.map(|mut times| {
        times.sort_unstable();
        [times[0], times[times.len() / 2]].map(|time| (time as f64 / cycles) as u64)
    });
    let serial = serial.iter().sum::<u64>() as f64 / cycles;
    println!(
        "{{ \"side\": {}, \"flits\": {}, \"threaded\": {threaded}, \"rounds\": {rounds}, \"kernel_ns\": {serial:.0}, \"strips_ns\": {all:.0}, \"longest_ns\": {longest:.0}, \"times\": {:.2}, \"kernel_runs\": {kernel_runs:?}, \"strips_runs\": {strips_runs:?}{} }}",
        case.side,
        case.flits,
        serial / longest,
        summary(&work)
    );
}

/// Notes when each cycle of the engine was over.
#[derive(Default)]
struct Cycles(RefCell<Clock>);

impl Observer for Cycles {
    const RELEASES: bool = false;
    const CHANNELS: bool = false;

    fn done(&self) -> bool {
        self.0.borrow_mut().tick();
        false
    }
}

/// As [`both`], for the engine on one thread and on several.
fn engines(case: &Case, threads: usize, rounds: u64) {
    let scenario = scenario(case);
    assert_eq!(one_thread_because::<Cycles>(&scenario, EngineChoice::Worm), None);
    let mut shortest = [Vec::new(), Vec::new()];
    let mut whole = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let mut found = Vec::new();
        for (place, threads) in [1, threads].into_iter().enumerate() {
            let mut cycles = Cycles(RefCell::new(Clock(Some(Vec::new()))));
            let threads = NonZeroUsize::new(threads).unwrap();
            let result = simulate_on(&scenario, EngineChoice::Worm, case.seed, &mut cycles, threads).unwrap();
            found.push(serde_json::to_value(result).unwrap());
            let times: Vec<u64> = cycles.0.into_inner().nanoseconds().collect();
            whole[place].push(times.iter().sum::<u64>());
            keep(&mut shortest[place], times.into_iter());
        }
        assert_eq!(found[0], found[1], "{threads} threads give another result");
    }
    let cycles = shortest.each_ref().map(Vec::len);
    let [one, several] = shortest.map(|times| times.iter().sum::<u64>());
    let [one_runs, several_runs] = whole.map(|mut times| {
        times.sort_unstable();
        [times[0], times[times.len() / 2]].map(|time| time / 1000)
    });
    println!(
        "{{ \"side\": {}, \"flits\": {}, \"messages\": {}, \"threads\": {threads}, \"rounds\": {rounds}, \"cycles\": {cycles:?}, \"one_us\": {}, \"several_us\": {}, \"times\": {:.2}, \"one_runs_us\": {one_runs:?}, \"several_runs_us\": {several_runs:?} }}",
        case.side,
        case.flits,
        case.messages,
        one / 1000,
        several / 1000,
        one as f64 / several as f64
    );
}

/// What a barrier takes: so many threads that do nothing else.
fn barrier(strips: u32, cycles: u64) {
    let case = Case { side: strips, flits: 1, buffer: 1, rate: 1e-12, cycle_ns: CYCLE_NS, messages: 1, seed: 1 };
    let mut clock = Clock(Some(Vec::new()));
    parts::wait_for_each_other(&case, strips, cycles, &mut clock);
    let mut times: Vec<u64> = clock.nanoseconds().collect();
    times.sort_unstable();
    let quantile = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
    println!(
        "{{ \"threads\": {strips}, \"cycles\": {cycles}, \"p10_ns\": {}, \"median_ns\": {}, \"p90_ns\": {} }}",
        quantile(0.1),
        quantile(0.5),
        quantile(0.9)
    );
}

/// What of a run in strips decides what more of them would bring: the grants of the strip that has most of them, cycle by cycle, against the mean.
fn summary(work: &parts::Work) -> String {
    let strips = work.grants.len();
    let cycles = work.grants[0].len();
    let mut most = 0u64;
    let mut all = 0u64;
    for cycle in 0..cycles {
        let of = work.grants.iter().map(|strip| u64::from(strip[cycle]));
        most += of.clone().max().unwrap_or(0);
        all += of.sum::<u64>();
    }
    format!(
        ", \"strips\": {strips}, \"cycles\": {cycles}, \"grants\": {all}, \"longest\": {most}, \"headers\": {}, \"releases\": {}",
        work.headers, work.releases
    )
}
