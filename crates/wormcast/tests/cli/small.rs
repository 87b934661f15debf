//! Small experiments and a small fabric, to which tests add what they are about.

use crate::folder::Folder;

pub(crate) const IDLE: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
timing.startup = 100
traffic.length = 16
traffic.arrivals = { process = "poisson", rate = 0.1 }
traffic.multicast.destinations = 4
run.messages = 100
"#;

pub(crate) fn folder() -> Folder {
    Folder::with(&[("idle.toml", IDLE), ("late.trace", "0 0,0 32 3,0\n0 0,0 32 3,0\n")])
}

/// The end of the message, of bad input.
pub(crate) fn refused(settings: &[&str], expected: &str) {
    let run = folder().run(&[&["simulate", "idle.toml"][..], settings].concat());
    assert_eq!(run.code, 2, "{settings:?}: {}", run.stdout);
    assert!(run.stderr.contains(expected), "{settings:?}: {}", run.stderr);
}

pub(crate) const VERSIONS: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
[switching]
buffer = 2
[timing]
startup = 100
cycle_ns = 5.0
[traffic]
arrivals = { process = "poisson", rate = 0.1 }
length = { uniform = [10, 20] }
multicast = { destinations = 4, fraction = 0.5 }
[run]
warmup = 1000
messages = 50
[stop]
min_replications = 2
max_replications = 2
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = [0.05, 0.1]
[plot]
x = "traffic.arrivals.rate"
[[claim]]
id = "c1"
text = "dual-path is faster"
order = { lower = ["dual-path"], higher = ["column-path"] }
"#;

/// With the example's fabric.
pub(crate) fn fabric() -> Folder {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folder = folder();
    for file in ["fabric.toml", "fabric.net", "fabric.lfts", "fabric-updn.lfts", "fabric.mcfdbs"] {
        folder.write(file, &std::fs::read(root.join(file)).unwrap());
    }
    folder
}
