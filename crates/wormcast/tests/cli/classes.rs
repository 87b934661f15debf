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
        ("mesh:5x4", "hamiltonian-adaptive", 2),
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
        ("mesh:4x4", "hamiltonian-adaptive", 2),
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

const MULTICASTS: &str = "topology = 'mesh:4x4'
algorithm = 'dual-path-adaptive'
switching = { virtual_channels = 2, buffer = 2 }
timing = { startup = 10, routing_delay = 2 }
run = { mode = 'drain', messages = 200, warmup = 0 }
[traffic]
arrivals = { process = 'poisson', rate = 0.01 }
length = 8
multicast.destinations = 4
[sweep]
algorithm = ['dual-path', 'dual-path-adaptive']
";

/// Adaptive path multicast: planned as dual-path, safe with its escape and six consumption channels, and not without.
#[test]
fn adaptive_paths_have_an_escape() {
    let folder = Folder::with(&[("x.toml", MULTICASTS)]);
    let plan = |algorithm: &str| {
        let to = ["--source", "1,1", "--destinations", "0,1;3,1;2,3;0,0", "--format", "json"];
        let planned = folder.run(&[&["plan", "--topology", "mesh:4x4", "--algorithm", algorithm], &to[..]].concat());
        let worms = planned.json()["worms"].as_array().unwrap().clone();
        worms.iter().map(|worm| worm["visits"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(plan("dual-path-adaptive"), plan("dual-path"));
    let check = |options: &[&str]| {
        let of = ["routing", "--topology", "mesh:4x4", "--algorithm", "dual-path-adaptive", "--format", "json"];
        wormcast(&[&of[..], options].concat()).json()
    };
    let safe = |options: &[&str]| check(options)["deadlock_free"] == true;
    assert!(safe(&[]) && safe(&["--virtual-channels", "3", "--consumption-ports", "9"]));
    assert!(!safe(&["--virtual-channels", "1"]) && !safe(&["--virtual-channels", "3"]));
    assert!(!safe(&["--option", "classes=1"]) && !safe(&["--option", "classes=1", "--virtual-channels", "4"]));
    let few = check(&["--consumption-ports", "5"]);
    let resources = few["resources"].as_array().unwrap();
    assert!(resources.iter().any(|at| at["consumption"].is_u64()), "{few}");
    assert!(resources.iter().all(|at| at["consumption"].is_u64() || at["virtual_channel"].is_u64()), "{few}");

    let simulate = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| format!("--set={set}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        folder.run(&[&["simulate", "x.toml", "--format", "json"], &set[..]].concat())
    };
    let report = simulate(&[]).json();
    assert_eq!(
        (&report["messages"]["delivered"], &report["static_check"]["deadlock_free"]),
        (&json!(200), &json!(true))
    );
    let few = simulate(&["switching.virtual_channels=1"]).bad_input();
    assert!(few.contains("needs 2 virtual channels, but there is 1"), "{few}");
    let none = simulate(&["switching.virtual_channels=1", "options.classes=1"]);
    assert!(none.code == 0 && none.stderr.contains("can deadlock here"), "{none:?}");
    assert!(simulate(&["options.classes=3"]).bad_input().contains("has 1 or 2 classes of virtual channels, not 3"));
    assert!(simulate(&["topology=mesh:4x4x4"]).bad_input().contains("needs a 2-D mesh"));
    let swept = folder.run(&["sweep", "x.toml", "--out", "out"]);
    assert!(swept.code == 0 && swept.stdout.contains("algorithm=dual-path-adaptive"), "{swept:?}");

    let options = ["--option", "classes=1", "--reachable", "--witness", "dead.trace", "--format", "json"];
    let of = ["routing", "--topology", "mesh:2x3", "--algorithm", "dual-path-adaptive"];
    let reachability = folder.run(&[&of[..], &options].concat()).json()["reachability"].clone();
    assert_eq!(reachability["verdict"], "reachable", "{reachability}");
    let settings = &reachability["settings"];
    let experiment = format!(
        "topology = 'mesh:2x3'\nalgorithm = 'dual-path-adaptive'\noptions.classes = 1\n[switching]\nconsumption_ports = {}\n\
         injection_ports = {}\nbuffer = {}\nvirtual_channels = {}\n[timing]\nstartup = {}\nrouting_delay = {}\n\
         [traffic]\ntrace = 'dead.trace'\n",
        settings["consumption_ports"],
        settings["injection_ports"],
        settings["buffer"],
        settings["virtual_channels"],
        settings["startup"],
        settings["routing_delay"]
    );
    folder.write("dead.toml", experiment.as_bytes());
    for engine in ["flit", "worm"] {
        let run = folder.run(&["simulate", "dead.toml", "--engine", engine]);
        assert!(run.stderr.contains("error: deadlock in cycle"), "{engine}: {run:?}");
    }
    // With the escape, the same messages arrive.
    let with = experiment.replace("options.classes = 1\n", "").replace("virtual_channels = 1", "virtual_channels = 2");
    folder.write("alive.toml", with.as_bytes());
    assert_eq!(folder.run(&["simulate", "alive.toml"]).code, 0);
}
