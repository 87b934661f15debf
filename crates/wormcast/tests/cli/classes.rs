//! Routings with virtual channel classes, and the networks of large machines, in the commands.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::wormcast;

fn analyse(topology: &str, routing: &str, virtual_channels: Option<u32>) -> Value {
    let count = virtual_channels.map(|count| count.to_string());
    let mut arguments = vec!["routing", "--format", "json", "--topology", topology, "--routing", routing];
    arguments.extend(count.iter().flat_map(|count| ["--virtual-channels", count]));
    wormcast(&arguments).json()
}

/// By default as many virtual channels as are needed; one less, and the classes fall together.
#[test]
fn verdicts_depend_on_the_classes() {
    for (topology, routing, needed) in [
        ("torus:5x4", "dateline", 2),
        ("torus:5x4", "dateline-balanced", 2),
        ("torus:5x4", "duato", 3),
        ("mesh:4x4", "duato", 2),
        ("hypercube:4", "duato", 2),
        ("mesh:5x4", "west-first", 1),
        ("mesh:5x4", "north-last", 1),
        ("mesh:5x4", "odd-even", 1),
        ("dragonfly:p=2,a=4,h=2", "minimal", 2),
        ("dragonfly:p=2,a=4,h=2", "valiant", 4),
        ("dragonfly:p=2,a=4,h=2", "valiant-group", 3),
        ("hyperx:4x4,nodes=2", "minimal", 1),
        ("hyperx:4x4,nodes=2", "valiant", 2),
        ("slimfly:q=5,nodes=2", "minimal", 2),
        ("slimfly:q=4,nodes=2", "minimal", 2),
        ("torus:5x4,nodes=3", "dateline", 2),
        ("mesh:4x4,nodes=2", "duato", 2),
        ("mesh:5x4,nodes=2", "odd-even", 1),
        ("slimfly:q=5,nodes=2", "valiant", 4),
        ("dragonfly:p=2,a=4,h=2", "ugal", 4),
        ("fattree:k=3,levels=3", "nca", 1),
    ] {
        let analysis = analyse(topology, routing, None);
        assert_eq!((&analysis["deadlock_free"], &analysis["cycle"]), (&json!(true), &json!(null)), "{routing}");
        assert_eq!(analysis["connected"], true, "{routing} on {topology}");
        if needed > 1 {
            let fewer = analyse(topology, routing, Some(needed - 1));
            assert_eq!(fewer["deadlock_free"], false, "{routing} on {topology}");
            let cycle = fewer["cycle"].as_array().unwrap();
            for (place, link) in cycle.iter().enumerate() {
                assert_eq!(link[1], cycle[(place + 1) % cycle.len()][0], "{cycle:?}");
            }
            let classes = fewer["resources"].as_array().unwrap().iter().map(|at| at["virtual_channel"].as_u64());
            let named: Vec<Option<u64>> = classes.collect();
            assert!(named.iter().all(|class| class.is_some() == (needed > 2)), "{fewer}");
        }
    }
    let text = wormcast(&["routing", "--topology", "torus:5x4", "--routing", "duato", "--virtual-channels", "2"]);
    assert!(text.success().contains(" on virtual channel "));
}

const EXPERIMENT: &str = "topology = 'torus:4x4'
algorithm = 'separate'
routing = 'duato'
[switching]
virtual_channels = 3
buffer = 2
[timing]
startup = 10
routing_delay = 2
[traffic]
arrivals = { process = 'poisson', rate = 0.01 }
length = 8
multicast = { destinations = 1 }
[run]
mode = 'drain'
messages = 300
warmup = 0
";

#[test]
fn runs_take_routings_with_classes() {
    let folder = Folder::with(&[("x.toml", EXPERIMENT)]);
    let run = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| format!("--set={set}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        folder.run(&[&["simulate", "x.toml", "--format", "json", "--timeline", "x.trace"], &set[..]].concat())
    };
    for (topology, routing, needed) in [
        ("torus:4x4", "duato", 3),
        ("torus:4x4", "dateline", 2),
        ("torus:4x4", "dateline-balanced", 2),
        ("mesh:4x4", "odd-even", 1),
        ("dragonfly:p=1,a=4,h=1", "valiant", 4),
        ("dragonfly:p=1,a=4,h=1", "valiant-group", 3),
        ("slimfly:q=3,nodes=2", "minimal", 2),
        ("hyperx:4x4,nodes=1", "minimal", 1),
        ("hyperx:4x4,nodes=1", "ugal", 2),
        ("fattree:k=4,levels=2", "nca", 1),
    ] {
        let network = format!("topology={topology}");
        let routing = format!("routing={routing}");
        let count = |count: u32| format!("switching.virtual_channels={count}");
        let report = run(&[&network, &routing, &count(needed)]).json();
        assert_eq!(report["messages"]["delivered"], 300, "{routing} on {topology}");
        assert_eq!(report["static_check"]["deadlock_free"], true, "{routing} on {topology}");
        assert!(!folder.read("x.trace").is_empty());
        if needed > 1 {
            let few = run(&[&network, &routing, &count(needed - 1)]).bad_input();
            assert!(few.contains(&format!("needs {needed} virtual channels, but there ")), "{few}");
        }
    }
}

#[test]
fn large_machines_are_described_and_drawn() {
    for (spec, routers, nodes, links, diameter) in [
        ("dragonfly:p=2,a=4,h=2", 36, 72, 90, 3),
        ("hyperx:4x4,nodes=4", 16, 64, 48, 2),
        ("fattree:k=4,levels=3", 48, 64, 128, 4),
        ("slimfly:q=5,nodes=4", 50, 200, 175, 2),
        ("slimfly:q=8,nodes=2", 128, 256, 768, 2),
    ] {
        let described = wormcast(&["topology", spec, "--format", "json"]).json();
        let figures = ["routers", "nodes", "links", "diameter"].map(|key| described[key].as_u64().unwrap());
        assert_eq!(figures, [routers, nodes, links, diameter], "{spec}");
        assert_eq!(described["name"], spec);
        let svg = wormcast(&["topology", spec, "--format", "svg"]).success();
        assert!(svg.starts_with("<svg") && svg.contains("</svg>"));
        for format in ["graphml", "node-link", "anynet"] {
            let folder = Folder::with(&[]);
            let text = folder.run(&["topology", spec, "--format", format]).success();
            let name = format!("x.{}", if format == "node-link" { "json" } else { format });
            let folder = Folder::with(&[(&name, &text)]);
            let again = folder.run(&["topology", &name, "--format", "json"]).json();
            assert_eq!(
                (&again["nodes"], &again["links"]),
                (&described["nodes"], &described["links"]),
                "{spec} as {format}"
            );
        }
    }
}
