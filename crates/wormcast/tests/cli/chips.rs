//! Routers of meshes and tori with several nodes, and links of several cycles, in the commands.

use serde_json::json;

use crate::folder::Folder;
use crate::wormcast;

#[test]
fn nodes_of_one_router_are_told_apart() {
    let described = wormcast(&["topology", "mesh:4x4,nodes=4", "--format", "json"]).json();
    assert_eq!((&described["routers"], &described["nodes"], &described["links"]), (&json!(16), &json!(64), &json!(24)));
    let text = wormcast(&["topology", "torus:3x3,nodes=2"]).success();
    assert!(text.contains("nodes             18, 2 a router") && text.contains("between routers"), "{text}");
    let plan = |source: &str, destinations: &str| {
        let network = ["plan", "--topology", "mesh:4x4,nodes=2", "--algorithm", "dual-path"];
        wormcast(&[&network[..], &["--source", source, "--destinations", destinations]].concat())
    };
    let text = plan("1,1.0", "3,1.1; 3,1.0; 1,1.1").success();
    assert!(text.contains("2 worms from 1,1.0 to 3 destinations"), "{text}");
    assert!(text.contains("3,1.1") && text.contains("1,1.1"), "{text}");
    let told = plan("1,1", "3,1.1").bad_input();
    assert!(told.contains("`1,1` is a router with several nodes: expected one of `1,1.0` to `1,1.1`"), "{told}");
    let told = plan("1,1.2", "3,1.1").bad_input();
    assert!(told.contains("a router of mesh:4x4,nodes=2 has nodes 0 to 1"), "{told}");
    let svg = [
        &["plan", "--topology", "mesh:4x4,nodes=2", "--algorithm", "xy-tree", "--format", "svg"][..],
        &["--source", "0", "--destinations", "all"],
    ];
    assert!(wormcast(&svg.concat()).success().contains("3,3.1"));
    let masks =
        ["plan", "--topology", "mesh:4x4,nodes=2", "--algorithm", "xy-mask", "--source", "0", "--destinations", "2"];
    let told = wormcast(&masks).bad_input();
    assert!(told.contains("needs one node a router") && told.contains("`xy-tree` sends the same trees"), "{told}");
}

#[test]
fn files_keep_several_nodes_and_delays() {
    let folder = Folder::with(&[("line.edges", "0 1 3\n1 2\n2 3 5\n")]);
    for (spec, format, file) in [
        ("mesh:3x3,nodes=2", "graphml", "mesh.graphml"),
        ("torus:3x3,nodes=3", "node-link", "torus.json"),
        ("mesh:3x2,nodes=2", "anynet", "mesh.anynet"),
        ("mesh:3x2,nodes=2", "ibsim", "mesh.ibsim"),
        ("line.edges", "graphml", "line.graphml"),
        ("line.edges", "node-link", "line.json"),
        ("line.edges", "edge-list", "again.edges"),
    ] {
        let written = folder.run(&["topology", spec, "--format", format]).success();
        folder.write(file, written.as_bytes());
        let [before, after] = [spec, file].map(|spec| folder.run(&["topology", spec, "--format", "json"]).json());
        for key in ["routers", "nodes", "links", "diameter", "link_delay"] {
            assert_eq!(before[key], after[key], "{key} of {spec} as {format}");
        }
    }
    let described = folder.run(&["topology", "line.edges"]).success();
    assert!(described.contains("link delay        1 to 5 cycles, mean 3.000"), "{described}");
    let told = folder.run(&["topology", "line.edges", "--format", "anynet"]).bad_input();
    assert!(told.contains("links of more than one cycle") && told.contains("`graphml`"), "{told}");
    folder.write("bad.edges", b"0 1 5000\n");
    let told = folder.run(&["topology", "bad.edges"]).bad_input();
    assert!(told.contains("bad.edges:1: a link's delay of 5000 cycles is out of range: expected 1 to 4096"), "{told}");
    let edge = |delay: &str| {
        format!(
            r#"{{"nodes": [{{"id": 0}}, {{"id": 1}}], "edges": [{{"source": 0, "target": 1, "delay_cycles": {delay}}}]}}"#
        )
    };
    folder.write("bad.json", edge("0").as_bytes());
    let told = folder.run(&["topology", "bad.json"]).bad_input();
    assert!(told.contains("a link's delay of 0 cycles is out of range"), "{told}");
    let graphml = r#"<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"><data key="delay_cycles">soon</data></edge></graph></graphml>"#;
    folder.write("bad.graphml", graphml.as_bytes());
    let told = folder.run(&["topology", "bad.graphml"]).bad_input();
    assert!(told.contains("`delay_cycles` is `soon`: expected a whole number of cycles"), "{told}");
}

const EXPERIMENT: &str = "topology = 'mesh:4x4,nodes=2'
algorithm = 'separate'
[switching]
buffer = 16
[timing]
startup = 10
routing_delay = 2
[traffic]
arrivals = { process = 'poisson', rate = 0.0001 }
length = 8
multicast = { destinations = 6 }
[run]
mode = 'drain'
messages = 100
";

#[test]
fn multicasts_run_on_concentrated_meshes_and_tori() {
    let folder = Folder::with(&[("x.toml", EXPERIMENT)]);
    let run = |topology: &str, algorithm: &str, set: &[&str]| {
        let (topology, algorithm) = (format!("--set=topology={topology}"), format!("--set=algorithm={algorithm}"));
        let set: Vec<String> = set.iter().map(|set| format!("--set={set}")).collect();
        let mut arguments = vec!["simulate", "x.toml", "--format", "json", &topology, &algorithm];
        arguments.extend(set.iter().map(String::as_str));
        let outcome = folder.run(&arguments);
        // On one virtual network `rpm` is not safe, which is said.
        let warned = outcome.stderr.contains("can deadlock here");
        assert!(outcome.code == 0 && warned == (algorithm == "--set=algorithm=rpm"), "{outcome:?}");
        serde_json::from_str::<serde_json::Value>(&outcome.stdout).unwrap()
    };
    let classes = "switching.virtual_channels=3";
    for (topology, algorithm, set) in [
        ("mesh:4x4,nodes=2", "separate", &[][..]),
        ("mesh:4x4,nodes=2", "separate", &["routing=negative-first"]),
        ("mesh:4x4,nodes=2", "separate", &["routing=west-first"]),
        ("mesh:4x4,nodes=2", "separate", &["routing=north-last"]),
        ("mesh:4x4,nodes=2", "separate", &["routing=odd-even"]),
        ("mesh:4x4,nodes=2", "separate", &["routing=up-down"]),
        ("mesh:4x4,nodes=2", "separate", &["routing=duato", classes]),
        ("torus:4x4,nodes=2", "separate", &["routing=dateline", classes]),
        ("torus:4x4,nodes=2", "separate", &["routing=duato", classes]),
        ("mesh:4x4,nodes=3", "dual-path", &[]),
        ("mesh:4x4,nodes=3", "dual-path-adaptive", &["switching.virtual_channels=2"]),
        ("mesh:4x4,nodes=3", "multi-path", &[]),
        ("mesh:4x4,nodes=3", "column-path", &[]),
        ("mesh:4x4,nodes=3", "pure-negative-first", &[]),
        ("mesh:4x4,nodes=3", "minimal-negative-first", &[]),
        ("mesh:4x4,nodes=3", "bounded-negative-first", &["options.detour=2"]),
        ("mesh:4x4,nodes=3", "schl", &[]),
        ("mesh:4x4,nodes=3", "u-mesh", &[]),
        ("mesh:3x3x2,nodes=2", "u-mesh", &[]),
        ("mesh:4x4,nodes=3", "xy-tree", &["switching.buffer=message"]),
        ("mesh:4x4,nodes=3", "rpm", &["switching.buffer=message"]),
        ("mesh:4x4,nodes=3", "vctm", &["switching.buffer=message"]),
        ("mesh:4x4,nodes=3", "double-channel-xy-tree", &["switching.buffer=message", "switching.virtual_channels=2"]),
        ("torus:4x4,nodes=2", "dstm-1", &[]),
        ("torus:4x4,nodes=2", "tree-one", &["switching.buffer=message"]),
    ] {
        let report = run(topology, algorithm, set);
        assert_eq!(report["messages"]["delivered"], 100, "{algorithm} on {topology} with {set:?}");
    }
    // As many nodes, but shorter ways.
    let latency = |topology: &str| {
        run(topology, "separate", &["traffic.multicast.destinations=1"])["latency"]["last"]["mean"].as_f64().unwrap()
    };
    assert!(latency("mesh:4x4,nodes=4") < latency("mesh:8x8"));
}

const ONE: &str = "topology = 'mesh:4x4'
algorithm = 'separate'
[switching]
buffer = 32
[timing]
startup = 10
routing_delay = 2
[traffic]
trace = 'one.trace'
";

#[test]
fn links_take_as_long_as_is_said() {
    let folder = Folder::with(&[("x.toml", EXPERIMENT), ("one.toml", ONE), ("line.edges", "0 1 3\n1 2 7\n")]);
    let of_file = |file: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| format!("--set={set}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        folder.run(&[&["simulate", file, "--format", "json"], &set[..]].concat())
    };
    let run = |set: &[&str]| of_file("x.toml", set);
    folder.write("one.trace", b"0 0 8 3\n");
    let alone = |topology: &str, set: &[&str]| {
        let topology = format!("topology={topology}");
        let report = of_file("one.toml", &[&[&topology[..]], set].concat()).json();
        (report["latency"]["last"]["mean"].as_f64().unwrap() as u64, report["engine"].as_str().unwrap().to_owned())
    };
    // Node 3 is 3 links along x from node 0: S + (D + 1)(r + 1) + L.
    let plain = 10 + 4 * 3 + 8;
    assert_eq!(alone("mesh:4x4", &[]), (plain, "worm".to_owned()));
    assert_eq!(alone("mesh:4x4", &["timing.delay=1"]), (plain, "worm".to_owned()));
    assert_eq!(alone("mesh:4x4", &["timing.delay=4"]), (plain + 3 * 3, "flit".to_owned()));
    assert_eq!(alone("mesh:4x4", &["timing.delay=[4, 9]"]), (plain + 3 * 3, "flit".to_owned()));
    assert_eq!(alone("mesh:4x4", &["timing.delay=[1, 9]"]), (plain, "flit".to_owned()));
    folder.write("one.trace", b"0 0 8 2\n");
    assert_eq!(alone("line.edges", &["routing=up-down"]), (10 + 3 * 3 + 8 + 2 + 6, "flit".to_owned()));
    assert_eq!(alone("line.edges", &["routing=up-down", "timing.delay=1"]), (10 + 3 * 3 + 8, "worm".to_owned()));

    let told = |set: &[&str]| run(set).bad_input();
    let few = told(&["timing.delay=[1, 2, 3]"]);
    assert!(
        few.contains("3 numbers do not fit mesh:4x4,nodes=2: expected a number, or 2, one for each dimension, x first"),
        "{few}"
    );
    let one = told(&["timing.delay=[7]"]);
    assert!(one.contains("a list of 1 number does not fit mesh:4x4,nodes=2: expected a number, or 2"), "{one}");
    assert!(told(&["timing.delay=0"]).contains("0 is out of range: expected 1 to 4096 cycles"));
    assert!(told(&["timing.delay=5000"]).contains("5000 is out of range: expected 1 to 4096 cycles"));
    assert!(told(&["timing.delay=soon"]).contains("expected a whole number of cycles from 1 to 4096"));
    let buffered = [
        "switching={ model = 'central-buffer' }",
        "topology=bmin:4x2",
        "algorithm=bit-string",
        "timing.delay=2",
        "traffic.length={ bytes = 64 }",
    ];
    let buffered = told(&buffered);
    assert!(buffered.contains("links between buffered switches take one cycle"), "{buffered}");
    let lockstep = ["algorithm=xy-tree", "timing.delay=2", "switching.replication=lockstep"];
    let lockstep = run(&lockstep).bad_input();
    assert!(lockstep.contains("timing.delay") && lockstep.contains("replication = \"independent\""), "{lockstep}");
}
