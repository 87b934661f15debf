//! Instructions per flit-hop and per header-hop of both engines, counted by valgrind: for changes that a clock is too
//! noisy to see.
//!
//! It needs valgrind, and gungraun's runner in the same version as the library (see the root `Cargo.toml`); without the
//! runner it is skipped:
//!
//! ```sh
//! cargo install gungraun-runner --version 0.20.0 --locked
//! cargo bench -p wormcast-simulation --bench instructions
//! ```
//!
//! The harness compares each count with that of the run before. At the end comes a table with the instructions divided
//! by the hops of the run: of flits, and of headers, which is what the worm engine simulates. A count is of one whole
//! call of `simulate`, with its traffic, plans and measurements, but not of making the scenario. It depends on the
//! compiler and the C library, and hardly on anything else.

mod scenarios;

use std::path::Path;
use std::{env, fs};

use scenarios::{CASES, Case, network};
use wormcast_network::ChannelId;
use wormcast_simulation::{Cycle, EngineChoice, Observer, Scenario, simulate, simulate_observed};

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap()
}

/// What valgrind counts.
mod counted {
    use std::hint::black_box;

    use gungraun::{library_benchmark, library_benchmark_group, main};

    use super::{EngineChoice, Scenario, case, simulate};

    fn scenario(name: &str) -> Scenario {
        case(name).scenario()
    }

    #[library_benchmark(setup = scenario)]
    #[bench::unicast_64("unicast-64")]
    #[bench::unicast_20("unicast-20")]
    #[bench::pure_negative_first_10("pure-negative-first-10")]
    #[bench::dual_path_10("dual-path-10")]
    fn flit(scenario: Scenario) -> Scenario {
        black_box(simulate(&scenario, EngineChoice::Flit, 1).unwrap());
        scenario
    }

    #[library_benchmark(setup = scenario)]
    #[bench::unicast_64("unicast-64")]
    #[bench::unicast_20("unicast-20")]
    #[bench::pure_negative_first_10("pure-negative-first-10")]
    #[bench::dual_path_10("dual-path-10")]
    fn worm(scenario: Scenario) -> Scenario {
        black_box(simulate(&scenario, EngineChoice::Worm, 1).unwrap());
        scenario
    }

    library_benchmark_group!(name = engines; benchmarks = flit, worm);
    main!(library_benchmark_groups = engines);

    pub(super) fn run() {
        main();
    }
}

/// Counts the links that are granted: the hops of headers.
struct HeaderHops {
    links: usize,
    hops: u64,
}

impl Observer for HeaderHops {
    fn granted(&mut self, _at: Cycle, _worm: u64, channel: ChannelId) {
        self.hops += u64::from(channel.index() < self.links);
    }
}

/// The instructions that valgrind counted last, if the harness left its file where it does by default.
fn instructions(target: &Path, engine: &str, case: &str) -> Option<u64> {
    let bench = format!("{engine}.{}", case.replace('-', "_"));
    let folder = target.join("gungraun/wormcast-simulation/instructions/counted/engines").join(&bench);
    let text = fs::read_to_string(folder.join(format!("callgrind.{bench}.out"))).ok()?;
    text.lines().find_map(|line| line.strip_prefix("summary: ")?.split(' ').next()?.parse().ok())
}

/// Prints a line for each case and engine.
fn table(target: &Path) {
    println!("\n{:<24}{:<8}{:>15}{:>15}{:>15}", "", "engine", "instructions", "per flit-hop", "per header-hop");
    for name in ["unicast-64", "unicast-20", "pure-negative-first-10", "dual-path-10"] {
        let scenario = case(name).scenario();
        let mut headers = HeaderHops { links: network().channels(), hops: 0 };
        let result = simulate_observed(&scenario, EngineChoice::Worm, 1, &mut headers).unwrap();
        for engine in ["flit", "worm"] {
            let Some(count) = instructions(target, engine, name) else { continue };
            let per = |hops: u64| count as f64 / hops as f64;
            println!("{name:<24}{engine:<8}{count:>15}{:>15.2}{:>15.1}", per(result.flit_hops), per(headers.hops));
        }
    }
}

/// Whether gungraun will find its runner.
fn has_runner() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    option_env!("GUNGRAUN_RUNNER").is_some() || env::split_paths(&path).any(|dir| dir.join("gungraun-runner").is_file())
}

fn main() {
    if env::args().nth(1).as_deref() == Some("--gungraun-run") {
        // The harness starts this program again for every count.
        counted::run();
    } else if !env::args().any(|argument| argument == "--bench") {
        println!("instructions: nothing to test; run it by `cargo bench`");
    } else if !has_runner() {
        println!("instructions: skipped, as gungraun-runner is not installed");
    } else {
        counted::run();
        let executable = env::current_exe().unwrap_or_default();
        table(executable.ancestors().nth(3).unwrap_or(Path::new("target")));
    }
}
