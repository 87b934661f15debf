//! Can this algorithm deadlock on this fabric? And if so, how?
//!
//! ```sh
//! cargo run --release --example can_it_deadlock
//! ```

use wormcast::analysis::{Settings, of_algorithm};
use wormcast::multicast::{Options, algorithm_by_name};
use wormcast::network::TopologySpec;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fabric = "examples/fabric.net".parse::<TopologySpec>()?.build()?;
    let algorithm = algorithm_by_name("tree-one", &fabric, &Options::default())?;
    let report = of_algorithm(algorithm.as_ref(), &Settings::default())?;
    println!("{} on {}: deadlock-free: {}", algorithm.name(), fabric.name(), report.deadlock_free);
    for held in report.resources.iter().flatten() {
        println!("  held by a worm that waits for the next: {held}");
    }
    Ok(())
}
