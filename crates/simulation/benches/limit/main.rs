//! What a header-hop costs in the worm engine and in a program that is written for one case alone: [`kernel`].
//!
//! `limit kernel|engine SIDE MESSAGES [FLITS]` runs one of the two and prints what it took; `benches/limit` at the root does so in turns and writes a
//! table.

mod kernel;

use std::time::Instant;

use kernel::{Case, Outcome};
use wormcast_multicast::{Options, algorithm_by_name};
use wormcast_network::TopologySpec;
use wormcast_simulation::{EngineChoice, Scenario, Switching, simulate};

/// Of the load at which the middle links are always busy, 4/k flits a node a cycle: about 60% of saturation.
const SHARE: f64 = 0.25;
const CYCLE_NS: f64 = 5.0;

/// Nanoseconds that this process has had a processor, or since it began where the system does not say.
fn processor_ns(begin: Instant) -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok();
    let told = text.and_then(|text| text.split(' ').next()?.parse().ok());
    told.unwrap_or(begin.elapsed().as_nanos() as u64)
}

/// The same case for the library.
fn scenario(case: &Case) -> Scenario {
    let network = format!("mesh:{0}x{0}", case.side).parse::<TopologySpec>().unwrap().build().unwrap();
    let algorithm = algorithm_by_name("separate", &network, &Options::default()).unwrap();
    let switching: Switching = serde_json::from_str(&format!(
        r#"{{ "buffer": {}, "injection_ports": 1, "consumption_ports": 1 }}"#,
        case.buffer
    ))
    .unwrap();
    let timing =
        serde_json::from_str(&format!(r#"{{ "cycle_ns": {}, "startup": 0, "routing_delay": 0 }}"#, case.cycle_ns))
            .unwrap();
    let (rate, flits) = (case.rate, case.flits);
    let traffic = format!(r#"{{ "arrivals": {{ "process": "poisson", "rate": {rate} }}, "length": {flits} }}"#);
    let run = format!(r#"{{ "mode": "drain", "messages": {} }}"#, case.messages);
    let (traffic, run) = (serde_json::from_str(&traffic).unwrap(), serde_json::from_str(&run).unwrap());
    Scenario::new(algorithm.into(), &switching, &timing, &traffic, &run).unwrap()
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
    let begin = Instant::now();
    let (outcome, nanoseconds) = if which == "kernel" {
        let before = processor_ns(begin);
        let outcome = kernel::simulate(&case);
        (outcome, processor_ns(begin) - before)
    } else {
        let scenario = scenario(&case);
        let before = processor_ns(begin);
        let result = simulate(&scenario, EngineChoice::Worm, case.seed).unwrap();
        let mean_latency = result.latency.last.mean.unwrap();
        (Outcome { mean_latency, flit_hops: result.flit_hops }, processor_ns(begin) - before)
    };
    let hops = outcome.flit_hops / u64::from(flits);
    println!(
        "{{ \"hops\": {hops}, \"mean\": {}, \"ns\": {nanoseconds}, \"ns_per_hop\": {:.1} }}",
        outcome.mean_latency,
        nanoseconds as f64 / hops as f64
    );
}
