//! One multicast in an idle mesh, simulated flit by flit: who has the message when.
//!
//! ```sh
//! cargo run --release --example simulate_one_multicast
//! ```

use wormcast::multicast::{Multicast, Options, algorithm_by_name};
use wormcast::network::{Network, TopologySpec, parse_node, parse_node_list};
use wormcast::simulation::{Cycle, Delivery, Engine, EngineConfig, FlitEngine, Observer, Timing, Wormhole};

/// Prints every delivery.
struct Printer<'a>(&'a Network);

impl Observer for Printer<'_> {
    fn delivered(&mut self, delivery: &Delivery) {
        let Delivery { worm, node, delivered, parts, .. } = delivery;
        println!("{:>5}  worm {worm} delivers to {}: {parts:?}", delivered, self.0.node_label(*node));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mesh = "mesh:8x8".parse::<TopologySpec>()?.build()?;
    let source = parse_node(&mesh, "4,3")?;
    let destinations = parse_node_list(&mesh, "1,4; 1,5; 2,7; 6,5; 7,2; 5,1; 2,1")?;
    let multicast = Multicast::new(source, &destinations);

    let algorithm = algorithm_by_name("pure-negative-first", &mesh, &Options::default())?;
    let plan = algorithm.plan(&multicast);
    plan.check(&mesh, &multicast)?;
    println!("{} sends {} worms", algorithm.name(), plan.worms.len());

    // The defaults of an experiment file: 1000 cycles of startup, 4 of routing delay, one flit a buffer.
    let config = EngineConfig::new(&Wormhole::default(), &Timing::default(), &mesh);
    let mut engine = FlitEngine::new(algorithm.routing(), config, Printer(&mesh));
    // Message 0 is generated in cycle 0 and has 64 data flits.
    engine.submit(0, 0, 64, plan);
    engine.run_until(Cycle::MAX);
    println!("{} flits crossed channels between routers in {} cycles", engine.flit_hops(), engine.now());
    Ok(())
}
