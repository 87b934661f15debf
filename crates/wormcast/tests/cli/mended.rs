//! What users stumbled over, and may not again.

use serde_json::Value;

use crate::folder::Folder;

const IDLE: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
timing.startup = 100
traffic.length = 16
traffic.arrivals = { process = "poisson", rate = 0.1 }
traffic.multicast.destinations = 4
run.messages = 100
"#;

fn folder() -> Folder {
    Folder::with(&[("idle.toml", IDLE), ("late.trace", "0 0,0 32 3,0\n0 0,0 32 3,0\n")])
}

/// The end of the message, of bad input.
fn refused(settings: &[&str], expected: &str) {
    let run = folder().run(&[&["simulate", "idle.toml"][..], settings].concat());
    assert_eq!(run.code, 2, "{settings:?}: {}", run.stdout);
    assert!(run.stderr.contains(expected), "{settings:?}: {}", run.stderr);
}

#[test]
fn numbers_that_are_too_large_are_shown_as_they_were_given() {
    for setting in ["startup", "routing_delay", "receive_overhead", "strip_delay"] {
        let expected = "5000000000 is out of range: expected 0 to 268435456";
        refused(&[&format!("--set=timing.{setting}=5000000000")], expected);
    }
    for length in ["1000000000000", "9223372036854775807"] {
        let expected = format!("{length} is out of range: expected 1 to 16777216 flits");
        refused(&[&format!("--set=traffic.length={length}")], &expected);
    }
}

#[test]
fn what_is_missing_or_not_there_says_what_it_may_be() {
    refused(
        &["--set=traffic.arrivals={ rate = 1 }"],
        "missing setting `traffic.arrivals.process`: expected one of poisson, bernoulli, exponential, negative-binomial, burst",
    );
    refused(&["--set=plot.y=[]"], "the list is empty: expected the name of a quantity, or a list of them");
    let sweep = ["--set=sweep.algorithm=['dual-path', 'u-mesh']", "--set=sweep.traffic.arrivals.rate=[0.1, 0.2]"];
    let run = folder().run(&[&["sweep", "idle.toml", "--set=plot.x=traffic.length"][..], &sweep].concat());
    assert!(run.code == 2 && !run.stderr.contains("one of algorithm"), "{}", run.stderr);
}

#[test]
fn traffic_that_ends_within_the_warm_up_is_refused() {
    let late = ["--set=traffic={ trace = 'late.trace' }", "--set=run={ mode = 'steady', warmup = 5 }"];
    refused(&late, "the traffic ends within the warm-up, which lasts until cycle 5");
    let sweep = folder().run(&[&["sweep", "idle.toml"][..], &late].concat());
    assert!(sweep.code == 2 && sweep.stderr.contains("ends within the warm-up"), "{}", sweep.stderr);
}

#[test]
fn links_that_failed_are_named() {
    let torus = ["--set=topology=torus:4x4", "--set=algorithm=dstm-1", "--set=faults.random=2"];
    let folder = folder();
    let run = |more: &[&str]| folder.run(&[&["simulate", "idle.toml"][..], &torus, more].concat()).success();
    let report: Value = serde_json::from_str(&run(&["--format=json"])).unwrap();
    let links: Vec<&str> =
        report["failed_links"].as_array().unwrap().iter().map(|link| link.as_str().unwrap()).collect();
    assert_eq!(links.len(), 2);
    let text = run(&[]);
    assert!(text.contains(&format!("  failed links      {}\n", links.join(", "))), "{text}");
    assert!(!folder.run(&["simulate", "idle.toml"]).success().contains("failed links"));
}

/// `BookSim` has no ending of its own.
#[test]
fn an_anynet_file_may_be_called_net() {
    let anynet = "router 0 node 0 router 1\nrouter 1 node 1\n";
    let folder = Folder::with(&[("z.net", anynet), ("z.anynet", anynet)]);
    let of = |name: &str| folder.run(&["topology", name, "--format=json"]).success().replace(name, "z");
    assert_eq!(of("z.net"), of("z.anynet"));
}

/// Curves over what is known of a network beforehand go from left to right.
#[test]
fn networks_in_any_order_are_drawn_by_their_side() {
    let trees = r#"
run = { mode = "trees" }
plot.x = "trees.side"
stop = { min_replications = 2, max_replications = 2 }
[sweep]
algorithm = ["dstm-1"]
topology = ["torus:5x5", "torus:3x3", "torus:4x4"]
"#;
    let folder = Folder::with(&[("trees.toml", trees)]);
    let said = folder.run(&["sweep", "trees.toml"]).success();
    assert!(said.contains("combined diameter 6;") && !said.contains("at least"), "{said}");
    let picture = folder.read("results/trees.svg");
    let points = picture.split("points=\"").map(|line| line.split('"').next().unwrap());
    let points = points.filter(|points| points.matches(',').count() == 3).last().expect("a line of three points");
    let xs: Vec<f64> =
        points.split_whitespace().map(|point| point.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(xs.is_sorted(), "{xs:?}");
    assert!(
        folder.read("results/trees.csv").lines().next().unwrap().contains("trees_diameter,trees_diameter_half_width")
    );
}
