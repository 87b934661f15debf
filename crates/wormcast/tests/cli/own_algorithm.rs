//! An algorithm of a user's own, `examples/own_algorithm.rs`, in every command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::folder::Folder;
use crate::{Outcome, outcome, wormcast};

// The tests of the example are part of these.
#[path = "../../../../examples/own_algorithm.rs"]
#[expect(dead_code, reason = "its `main` is that of the program")]
mod example;

/// Cargo builds examples before it runs the tests of a package, unless it is told of one test only.
pub(crate) fn program() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_BIN_EXE_wormcast")).with_file_name("examples");
    let program = folder.join(format!("own_algorithm{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "there is no {}: `cargo build -p wormcast --examples` makes it", program.display());
    program
}

fn own(folder: &Folder, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder.path());
    let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    outcome(streams.spawn().expect("the example starts"))
}

#[test]
fn it_is_planned_drawn_and_analysed() {
    let folder = Folder::with(&[]);
    let plan = |format: &str| {
        let multicast = ["--source", "3,3", "--destinations", "1,3;6,3;6,6", "--format", format];
        let arguments = [&["plan", "--topology", "mesh:8x8", "--algorithm", "comb"][..], &multicast].concat();
        own(&folder, &arguments).success()
    };
    assert!(plan("text").contains("6,3 > 6,6"));
    assert!(plan("svg").contains("comb on mesh:8x8: from 3,3 to 3 destinations, 2 worms"));
    let ports = |count: &str| {
        let which = ["routing", "--topology", "mesh:8x8", "--algorithm", "comb", "--consumption-ports", count];
        own(&folder, &[&which[..], &["--format", "json"]].concat()).json()["deadlock_free"].clone()
    };
    assert_eq!([ports("2"), ports("3")], [false, true]);
    // Its own errors are those of the workbench.
    let refused = own(&folder, &["routing", "--topology", "torus:4x4", "--algorithm", "comb"]).bad_input();
    assert_eq!(
        refused,
        "error: `comb` needs a 2-D mesh, but `torus:4x4` is a torus; for this one there is `dstm-1`, `dstm-2` and `dstm-tarjan-path`\n"
    );
}

#[test]
fn its_name_is_known_and_suggested() {
    let folder = Folder::with(&[]);
    for command in ["plan", "routing"] {
        assert!(own(&folder, &[command, "-h"]).success().contains("comb]"), "{command}");
        assert!(own(&folder, &[command, "--help"]).success().contains("- comb: "), "{command}");
    }
    assert!(own(&folder, &["routing", "--topology", "mesh:4x4", "--algorithm", "cmb"]).bad_input().contains("'comb'"));
    let unknown = own(&folder, &["simulate", "--set", "algorithm=cmb"]).bad_input();
    assert!(unknown.contains("did you mean `comb`?"), "{unknown}");
    let script = own(&folder, &["completions", "bash"]).success();
    assert!(script.contains("tables comb\"") && script.contains("complete -F _own_algorithm "), "{script}");
    // The program without it does not know it.
    assert!(wormcast(&["simulate", "--set", "algorithm=comb"]).bad_input().contains("unknown algorithm `comb`"));
}

#[test]
fn what_it_says_calls_it_by_its_name() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let version = own(&folder, &["--version"]).success();
    let start = concat!("own_algorithm (wormcast ", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(start) && version.ends_with(")\n"), "{version}");
    let missing = own(&folder, &["plot", "small.toml"]).bad_input();
    assert!(missing.ends_with("run `own_algorithm sweep small.toml` first\n"), "{missing}");
    for command in ["plan", "sweep"] {
        let help = own(&folder, &[command, "--help"]).success();
        let called = help.contains(&format!("Usage: own_algorithm {command}"))
            && help.contains(&format!("\n  own_algorithm {command} "));
        assert!(called && !help.contains("wormcast "), "{help}");
    }
    own(&folder, &["sweep", "small.toml"]).success();
    own(&folder, &["report", "small.toml"]).success();
    assert!(folder.read("results/small-report.md").contains("own_algorithm sweep small.toml"));
}

const SMALL: &str = r#"
topology = "mesh:8x8"
[traffic]
arrivals = { process = "poisson", rate = 0.001 }
length = 32
multicast.destinations = 10
[run]
warmup = 2000
messages = 100
[stop]
min_replications = 3
max_replications = 3
[sweep]
algorithm = ["comb", "column-path"]
"traffic.arrivals.rate" = [0.001, 0.002]
"#;

#[test]
fn it_is_swept_compared_and_reported() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    assert!(own(&folder, &["simulate", "small.toml", "--set", "algorithm=comb"]).success().starts_with("comb on mesh"));
    let swept = own(&folder, &["sweep", "small.toml", "--out", "results"]);
    assert_eq!(swept.code, 0, "{}", swept.stderr);
    assert!(folder.read("results/small.svg").contains("comb"));
    let compared = own(&folder, &["compare", "comb", "column-path", "small.toml", "--format", "json"]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    let compared: serde_json::Value = serde_json::from_str(&compared.stdout).expect("JSON");
    assert_eq!(compared["points"][0]["standings"][0]["difference"]["count"], 3, "{compared}");
    let reported = own(&folder, &["report", "small.toml"]);
    assert_eq!(reported.code, 0, "{}", reported.stderr);
}

/// So the guide's listing is compiled, run and tested.
#[test]
fn the_guide_shows_the_whole_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("text");
    let (example, page) = (read("examples/own_algorithm.rs"), read("docs/guide/algorithm.md"));
    let (_, code) = example.split_once("\n\n").expect("a description comes first");
    let (_, listing) = page.split_once("```rust,no_run\n").expect("a listing");
    assert_eq!(listing.split_once("```").expect("it ends").0, code);
}
