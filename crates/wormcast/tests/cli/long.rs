//! Long commands: what they say, how they are interrupted, and what is refused before it starts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::Folder;
use crate::{Outcome, command, outcome};

/// A command under a limit of memory.
fn limited(limit: &str, arguments: &[&str]) -> Outcome {
    outcome(command(arguments).env("WORMCAST_MEMORY", limit).spawn().expect("the command starts"))
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
}

/// Far less than what is interrupted would take to its end, and enough for a busy machine.
#[cfg(unix)]
const SOON: Duration = Duration::from_secs(10);

/// What a command leaves that gets a signal in the midst of its work, and how long it takes to end.
#[cfg(unix)]
fn interrupted(signal: &str, arguments: &[&str]) -> (Outcome, Duration) {
    let child = command(arguments).spawn().expect("the command starts");
    sleep(Duration::from_secs(3));
    send(signal, &child);
    let sent = Instant::now();
    let outcome = outcome(child);
    (outcome, sent.elapsed())
}

/// Distances in a large network: minutes of work. What was known before them is printed.
#[cfg(unix)]
#[test]
fn an_interrupted_topology_says_what_it_lacks() {
    const LARGE: &str = "tree:nodes=120000,seed=1";
    let (outcome, took) = interrupted("-INT", &["topology", LARGE, "--format", "json"]);
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(took < SOON, "{took:?}");
    let found: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    assert_eq!((&found["routers"], &found["links"]), (&120_000.into(), &119_999.into()));
    assert_eq!((&found["connected"], &found["diameter"]), (&Value::Null, &Value::Null));
    assert!(outcome.stderr.starts_with("interrupted while searching distances: "), "{outcome:?}");
    let lacks = "of 120000 routers: the answer lacks whether it is connected, the diameter and the average distance\n";
    assert!(outcome.stderr.ends_with(lacks), "{outcome:?}");

    let (outcome, _) = interrupted("-TERM", &["topology", LARGE]);
    assert_eq!(outcome.code, 143, "{outcome:?}");
    assert!(outcome.stdout.contains("  links             119999\n"), "{outcome:?}");
    assert!(!outcome.stdout.contains("diameter") && !outcome.stdout.contains("connected"), "{outcome:?}");
}

/// The proof comes before the distances of routes.
#[cfg(unix)]
#[test]
fn an_interrupted_analysis_keeps_its_verdict() {
    let large = ["routing", "--topology", "random:nodes=30000,degree=4,seed=1", "--routing", "up-down"];
    let (outcome, took) = interrupted("-INT", &[&large[..], &["--format", "json"]].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(took < SOON, "{took:?}");
    let found: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    assert_eq!((&found["deadlock_free"], &found["connected"]), (&true.into(), &Value::Null));
    assert!(
        outcome.stderr.contains("the answer lacks whether all are connected, distances and link loads"),
        "{outcome:?}"
    );
}

/// Files that lack what was not worked out are not written, and nothing else is blamed.
#[cfg(unix)]
#[test]
fn an_interrupted_analysis_writes_no_loads_and_says_why() {
    let folder = Folder::with(&[]);
    let links = folder.path().join("l.csv");
    let large = ["routing", "--topology", "mesh:150x150", "--routing", "up-down", "--links"];
    let (outcome, _) = interrupted("-INT", &[&large[..], &[links.to_str().expect("UTF-8")]].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(outcome.stdout.contains("  deadlock-free     yes\n"), "{outcome:?}");
    assert!(outcome.stdout.contains("  irreducible       not checked: interrupted\n"), "{outcome:?}");
    assert!(outcome.stderr.ends_with("the files of `--links` and `--heat-map`\n"), "{outcome:?}");
    assert!(folder.files("").is_empty());
}

/// The static verdict is known before the search.
#[cfg(unix)]
#[test]
fn an_interrupted_search_keeps_the_static_verdict() {
    let search = ["routing", "--topology", "mesh:4x4", "--algorithm", "dual-path", "--consumption-ports", "2"];
    let (outcome, took) = interrupted("-INT", &[&search[..], &["--reachable", "100000000"]].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(took < SOON, "{took:?}");
    assert!(outcome.stdout.contains("  deadlock-free     no\n"), "{outcome:?}");
    assert!(!outcome.stderr.contains("measuring link loads"), "{outcome:?}");
    assert!(outcome.stderr.ends_with("the answer lacks whether the deadlock can be reached\n"), "{outcome:?}");
}

/// Of the orders of links that were tried, the best is kept.
#[cfg(unix)]
#[test]
fn an_interrupted_search_for_trees_keeps_the_best() {
    let trees = ["trees", "--topology", "torus:8x8", "--construction", "dstm-tarjan", "--best", "100000000"];
    let (outcome, took) = interrupted("-INT", &[&trees[..], &["--format", "json"]].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(took < SOON, "{took:?}");
    let found: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    assert_eq!(found["trees"].as_array().map(Vec::len), Some(2));
    assert!(outcome.stderr.starts_with("interrupted while "), "{outcome:?}");
}

/// A run ends where it is, with its results and its files.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_its_results() {
    let folder = Folder::with(&[]);
    let set = ["--set", "algorithm=dual-path", "--set", "run.messages=100000000", "--set", "run.warmup=0"];
    let names = ["deliveries", "channels", "timeline", "waits", "heat-map"];
    let paths = names.map(|name| (format!("--{name}"), folder.path().join(name).display().to_string()));
    for name in names {
        std::fs::write(folder.path().join(name), "complete").expect("it can be written");
    }
    let files = [["--format", "json"]].into_iter().chain(paths.iter().map(|(option, path)| [&option[..], &path[..]]));
    let files = files.flatten().collect::<Vec<_>>();
    let (outcome, took) = interrupted("-INT", &[&["simulate"], &set[..], &files].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(took < SOON, "{took:?}");
    let found: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    let delivered = found["messages"]["delivered"].as_u64().expect("a number");
    assert!(delivered > 100 && delivered < 100_000_000, "{found}");
    for name in names {
        assert_eq!(folder.read(name), "complete", "an older file stays");
        let said = format!("{name}` is not written: the run was interrupted, and what it has is in `");
        assert!(
            outcome.stderr.contains(&said) && outcome.stderr.contains(&format!("{name}.partial`\n")),
            "{outcome:?}"
        );
        assert!(folder.bytes(&format!("{name}.partial")).len() > 10, "{name}");
    }
    assert!(folder.read("deliveries.partial").lines().count() as u64 > delivered);
    assert!(outcome.stderr.contains("\ninterrupted while simulating: "), "{outcome:?}");
}

/// The closing of a terminal is such a signal, but not for a process that was started to outlive its terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_terminal_ends_a_run_unless_it_is_to_be_ignored() {
    for (disposition, code) in [("--default-signal=HUP", 129), ("--ignore-signal=HUP", 130)] {
        let folder = Folder::with(&[]);
        let mut run = Command::new("env");
        run.args([disposition, env!("CARGO_BIN_EXE_wormcast"), "simulate", "--deliveries", "deliveries"]);
        run.args(["--set", "algorithm=dual-path", "--set", "run.messages=100000000", "--set", "run.warmup=0"]);
        run.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = run.spawn().expect("the command starts");
        sleep(Duration::from_secs(3));
        send("-HUP", &child);
        sleep(Duration::from_secs(1));
        send("-INT", &child);
        assert_eq!(outcome(child).code, code, "{disposition}");
        let files: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").flatten().collect();
        assert_eq!(files.len(), 1, "no file is left but what there is of the deliveries: {files:?}");
        assert!(folder.read("deliveries.partial").lines().count() > 10);
    }
}

/// A run that only plans says so.
#[cfg(unix)]
#[test]
fn an_interrupted_run_of_plans_says_how_far_it_was() {
    let set = [
        "--set",
        "algorithm=dual-path",
        "--set",
        "run.messages=1000000000",
        "--set",
        "run.mode=plan",
        "--set",
        "run.warmup=auto",
    ];
    let (outcome, _) = interrupted("-INT", &[&["simulate"], &set[..]].concat());
    assert_eq!(outcome.code, 130, "{outcome:?}");
    assert!(outcome.stderr.contains("interrupted while planning: "), "{outcome:?}");
    assert!(outcome.stderr.contains(" of 1000000000 messages: there is no answer yet"), "{outcome:?}");
}

/// Answers are written whole, and those to earlier lines stay.
#[cfg(unix)]
#[test]
fn an_interrupted_batch_has_answered_what_it_was_asked() {
    let mut child = command(&["plan", "--batch", "-"]).stdin(Stdio::piped()).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    for _ in 0..3 {
        writeln!(stdin, r#"{{"topology":"mesh:8x8","algorithm":"dual-path","source":28,"destinations":[33,41]}}"#)
            .unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert!(serde_json::from_str::<Value>(&line).expect("valid JSON")["worms"].is_array(), "{line}");
    }
    // It waits for the next request, and nobody sends one.
    send("-INT", &child);
    let sent = Instant::now();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(sent.elapsed() < SOON, "{:?}", sent.elapsed());
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(stderr.starts_with("interrupted while answering requests: 3 requests"), "{stderr}");
}

#[test]
fn a_network_that_does_not_fit_is_refused_and_one_that_fits_is_named() {
    let refused = limited("1GB", &["topology", "hypercube:24"]).bad_input();
    let start = "error: topology `hypercube:24` needs about 4.9 GB of memory, and there are ";
    assert!(refused.starts_with(start), "{refused}");
    let end = " left: `hypercube:21` fits, with 537 MB; `WORMCAST_MEMORY=…` sets another limit, such as `WORMCAST_MEMORY=5GB`\n";
    assert!(refused.ends_with(end), "{refused}");
    for (limit, spec) in [
        ("100MB", "mesh:2000x2000"),
        ("100MB", "torus:200x100x100"),
        ("100MB", "random:nodes=1000000,degree=3,seed=1"),
        ("100MB", "regular:nodes=1000000,degree=3,seed=1"),
        ("100MB", "small-world:nodes=1000000,degree=4,rewire=0.1,seed=1"),
        ("100MB", "complete:10000"),
        ("100MB", "ring:10000000"),
        ("100MB", "tree:nodes=10000000,seed=1"),
        ("100MB", "bmin:4x10"),
        ("100MB", "butterfly:4x10"),
        ("100MB", "omega:4x10"),
    ] {
        let refused = limited(limit, &["topology", spec]).bad_input();
        let fits = refused.split("left: `").nth(1).and_then(|rest| rest.split('`').next());
        let fits = fits.unwrap_or_else(|| panic!("{spec}: {refused}"));
        // On a slow machine it says how far it is.
        let run = limited(limit, &["topology", fits, "--format", "json"]);
        assert_eq!(run.code, 0, "{fits}: {}", run.stderr);
    }
    // Before anything that a file says is blamed for it.
    let run = limited("lots", &["simulate", "--set", "algorithm=dual-path"]).bad_input();
    assert!(run.starts_with("error: `WORMCAST_MEMORY=lots` is no amount of memory"), "{run}");
    let small = &["topology", "mesh:8x8"];
    assert!(
        limited("plenty", small)
            .bad_input()
            .contains("`WORMCAST_MEMORY=plenty` is no amount of memory; expected bytes")
    );
    limited("unlimited", small).success();
}

/// What the process may not have at all is refused just so, and not by an abort.
#[cfg(target_os = "linux")]
#[test]
fn the_limits_of_the_shell_are_known() {
    let shell = format!("ulimit -v 1500000; exec {} topology hypercube:24", env!("CARGO_BIN_EXE_wormcast"));
    let child = Command::new("sh").args(["-c", &shell]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let refused = outcome(child.expect("a shell")).bad_input();
    assert!(refused.contains("`hypercube:24` needs about 4.9 GB of memory"), "{refused}");
}

/// A run needs more than its network.
#[test]
fn a_run_that_does_not_fit_is_refused() {
    let set = ["--set", "topology=mesh:500x500", "--set", "algorithm=separate"];
    let refused = limited("80MB", &[&["simulate"], &set[..]].concat()).bad_input();
    assert!(refused.contains("a run on mesh:500x500 needs about "), "{refused}");
}
