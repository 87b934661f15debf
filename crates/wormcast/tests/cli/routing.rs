//! `wormcast routing`.

use std::fmt::Write;

use serde_json::json;

use crate::folder::Folder;
use crate::wormcast;

fn analyse(arguments: &[&str]) -> serde_json::Value {
    wormcast(&[&["routing", "--format", "json", "--topology"], arguments].concat()).json()
}

#[test]
fn what_depends_on_waypoints_and_classes_is_said() {
    let dragonfly = ["routing", "--topology", "dragonfly:p=2,a=4,h=2", "--routing"];
    let note = "distances and loads count ways without a waypoint only";
    for (routing, over_waypoints) in [("minimal", false), ("valiant", true), ("ugal", true)] {
        let arguments = [&dragonfly[..], &[routing]].concat();
        assert_eq!(wormcast(&arguments).success().contains(note), over_waypoints, "{routing}");
        let json = wormcast(&[&arguments[..], &["--format", "json"]].concat()).json();
        assert_eq!((json.get("distances_of") == Some(&"ways without a waypoint".into())), over_waypoints, "{routing}");
    }
    let refused =
        wormcast(&["routing", "--topology", "torus:4x4", "--routing", "dateline", "--export", "-"]).bad_input();
    assert!(refused.contains("takes 2 classes of virtual channels, which these tables do not have"), "{refused}");
    let failed = wormcast(&["routing", "--topology", "mesh:4x4", "--routing", "duato", "--numbering", "-"]);
    assert!(failed.code == 1 && failed.stderr.contains("keep to classes of virtual channels"), "{failed:?}");
    let of_trees = ["routing", "--topology", "mesh:3x3", "--algorithm", "tree-one", "--replication", "asynchronous"];
    let refused = wormcast(&of_trees).bad_input();
    assert!(refused.contains("for trees, give `lockstep` or `independent`"), "{refused}");
}

#[test]
fn a_safe_routing() {
    let mut analysis = analyse(&["mesh:4x4", "--routing", "negative-first"]);
    let load = analysis["link_load"].take();
    // 16 x 15 pairs, 8/3 hops each, over 48 channels.
    assert!((load["mean"].as_f64().unwrap() - 40.0 / 3.0).abs() < 1e-9, "{load}");
    let expected = json!({
        "topology": "mesh:4x4", "routing": "negative-first", "consumption_ports": 4,
        "deadlock_free": true, "cycle": null, "resources": null, "closed_by": null, "connected": true,
        "turns": null, "prohibited": null, "fraction": null, "irreducible": null,
        "average_distance": 8.0 / 3.0, "node_distance": 8.0 / 3.0, "diameter": 6, "link_load": null,
    });
    assert_eq!(analysis, expected);
}

#[test]
fn a_torus_without_virtual_channels_is_not_safe() {
    let analysis = analyse(&["torus:4x4", "--routing", "e-cube"]);
    assert_eq!(analysis["deadlock_free"], false);
    assert_eq!(analysis["cycle"], json!([[0, 1], [1, 2], [2, 3], [3, 0]]));
    assert_eq!(analysis["closed_by"][0]["examples"], json!([[0, 2], [0, 6], [0, 10]]));
}

/// A ring of switches in the form of a fabric, and `OpenSM`'s tables for it.
pub(crate) const FABRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fabric.net");
pub(crate) const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fabric.lfts");

#[test]
fn tables_are_analysed_and_repaired() {
    let folder = Folder::with(&[]);
    let run = |arguments: &[&str]| folder.run(&[&["routing", "--topology", FABRIC], arguments].concat());
    let broken = run(&["--tables", TABLES, "--format", "json"]).json();
    assert_eq!((&broken["routing"], &broken["deadlock_free"]), (&json!("tables"), &json!(false)));
    assert_eq!(broken["cycle"], json!([[0, 5], [5, 4], [4, 3], [3, 2], [2, 1], [1, 0]]));
    let first = json!({"channel": [0, 5], "names": ["rack1", "rack6"], "ports": [1, 2]});
    assert_eq!(broken["resources"][0], first);
    let closed_by = json!({
        "pairs": 12, "examples": [[0, 6], [1, 6], [0, 7]],
        "names": [["host1", "host7"], ["host2", "host7"], ["host1", "host8"]],
    });
    assert_eq!(broken["closed_by"][0], closed_by);
    assert_eq!((&broken["tables"]["entries"], &broken["tables"]["undelivered_pairs"]), (&json!(108), &json!(0)));
    assert_eq!((&broken["node_distance"], &broken["link_load"]["max"]), (&json!(1.8), &json!(24.0)));
    let text = run(&["--tables", TABLES]).success();
    assert!(
        text.contains("    rack1[1] -> rack6[2]: host1 to host7, host2 to host7, host1 to host8, 9 more\n"),
        "{text}"
    );

    let exported = run(&["--routing", "up-down", "--export", "repaired.lfts", "--numbering", "proof.csv"]).success();
    assert!(
        exported.ends_with("  tables            108 entries in repaired.lfts\n  their distance    1.933 on average\n")
    );
    assert!(
        folder
            .read("repaired.lfts")
            .starts_with("Unicast lids [0-18] of switch Lid 13 guid 0x0000000000200000 ('rack1'):\n")
    );
    let proof = folder.read("proof.csv");
    let heading = "channel,from,to,number,from_name,to_name,from_port,to_port,link";
    assert_eq!((proof.lines().count(), proof.lines().next()), (13, Some(heading)));
    let repaired = run(&["--tables", "repaired.lfts", "--format", "json"]).json();
    assert_eq!((&repaired["deadlock_free"], &repaired["connected"]), (&json!(true), &json!(true)));
    // In the other form, and back.
    run(&["--tables", "repaired.lfts", "--export", "own.txt", "--export-form", "text"]).success();
    assert!(folder.read("own.txt").starts_with("router \"rack1\"\n\"host1\" address 1 here\n"));
    run(&["--tables", "own.txt", "--export", "again.lfts"]).success();
    assert_eq!(folder.read("again.lfts"), folder.read("repaired.lfts"));
}

#[test]
fn broken_tables_are_described() {
    let table =
        "router 0\n0 here\n1 to 1\n2 to 1\nrouter 1\n0 to 0\n1 here\n2 to 0\nrouter 2\n1 to 1\n2 here\n0 port 9\n";
    let folder = Folder::with(&[("x.txt", table)]);
    let expected = "\
tables on mesh:3
  deadlock-free     no
  A cycle, in which each may be held by a worm that waits for the next:
    channel 0 -> 1: 0 to 2, 1 to 2
    channel 1 -> 0: 0 to 2, 1 to 2
  connected         no
  link load         mean 0.75, largest 1.00 pairs a channel
  The most loaded channels:
    1.00  channel 0 -> 1
    1.00  channel 1 -> 0
    1.00  channel 2 -> 1
  entries           9
  undelivered       3 of 6 pairs
  forwarding loops  1
  missing entries   0
  Messages that do not arrive:
    2 to 0: router 2 sends it to port 9, where nothing is attached
    0 to 2: runs in a loop through router 0
    1 to 2: runs in a loop through router 0
  Loops:
    to node 2: channel 0 -> 1, channel 1 -> 0
";
    assert_eq!(folder.run(&["routing", "--topology", "mesh:3", "--tables", "x.txt"]).success(), expected);
}

/// Every channel with the names and ports of both its ends and its load, parallel ones apart; the most loaded in the text; a picture.
#[test]
fn links_are_named_with_their_loads() {
    let folder = Folder::with(&[]);
    let run = |topology: &str, routing: &str, more: &[&str]| {
        folder.run(&[&["routing", "--topology", topology, "--routing", routing], more].concat())
    };
    let files = ["--links", "links.csv", "--heat-map", "map.svg"];
    let text = run("mesh:4x1", "e-cube", &files).success();
    let expected = "\
channel,from,to,from_name,to_name,from_port,to_port,link,load
0,0,1,\"0,0\",\"1,0\",,,,3
1,1,0,\"1,0\",\"0,0\",,,,3
2,1,2,\"1,0\",\"2,0\",,,,4
3,2,1,\"2,0\",\"1,0\",,,,4
4,2,3,\"2,0\",\"3,0\",,,,3
5,3,2,\"3,0\",\"2,0\",,,,3
";
    assert_eq!(folder.read("links.csv"), expected);
    let list = "  link load         mean 3.33, largest 4.00 pairs a channel\n  The most loaded channels:\n    4.00  channel 1,0 -> 2,0\n    4.00  channel 2,0 -> 1,0\n    3.00  channel 0,0 -> 1,0\n";
    assert!(text.contains(list), "{text}");
    let map = folder.read("map.svg");
    assert!(map.starts_with("<svg ") && map.contains(">4  1,0 -&gt; 2,0</text>"), "{map}");
    // Both links between two routers, each way.
    run("torus:2x1", "up-down", &["--links", "links.csv"]).success();
    let csv = folder.read("links.csv");
    let parallel: Vec<&str> = csv.lines().filter(|line| line.contains(",0,1,")).collect();
    assert_eq!(parallel, ["0,0,1,\"0,0\",\"1,0\",,,1,0.5", "1,0,1,\"0,0\",\"1,0\",,,2,0.5"]);
    // All alike: there is no most loaded one.
    assert!(!run("torus:3x3", "e-cube", &[]).success().contains("most loaded"));
    let json = run("mesh:4x1", "e-cube", &["--format", "json"]).json();
    let first = &json["link_load"]["most_loaded"][0];
    assert_eq!((&first["channel"], &first["load"]), (&json!([1, 2]), &json!(4.0)));
    let fabric = wormcast(&[
        "routing",
        "--topology",
        "../../examples/fabric.net",
        "--tables",
        "../../examples/fabric.lfts",
        "--links",
        "-",
    ]);
    let text = fabric.stdout;
    assert!(fabric.code == 0 && text.starts_with("channel,from,to,"), "{text}");
    assert!(text.contains(",rack1,rack2,2,1,,") && text.contains(",rack1,rack6,1,2,,"), "{text}");
}

/// Estimates near what all pairs have, and nothing that a sample cannot tell.
#[test]
fn distances_are_estimated_from_a_sample() {
    let folder = Folder::with(&[]);
    let run = |more: &[&str]| {
        let network = "random:nodes=400,degree=4,seed=1";
        folder.run(&[&["routing", "--topology", network, "--routing", "turn-prohibition"], more].concat())
    };
    let exact = run(&["--format", "json"]).json();
    let found = run(&["--sample", "200", "--seed", "3", "--format", "json"]).json();
    let sample = &found["sample"];
    assert_eq!((&sample["destinations"], &sample["of"], &sample["seed"]), (&json!(200), &json!(400), &json!(3)));
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let near = |one: &serde_json::Value, other: &serde_json::Value, half_width: &serde_json::Value| {
        let (off, half_width) = ((number(one) - number(other)).abs(), number(half_width));
        assert!(off <= 2.0 * half_width && half_width < 0.02 * number(other), "{off} and {half_width}");
    };
    near(&found["average_distance"], &exact["average_distance"], &sample["average_distance_half_width"]);
    near(&sample["mean_load"], &exact["link_load"]["mean"], &sample["mean_load_half_width"]);
    assert!(number(&sample["longest"]) <= number(&exact["diameter"]));
    assert_eq!(sample["turns"], json!({ "drawn": 200, "needed": 200 }));
    for unknown in ["connected", "diameter", "link_load", "irreducible"] {
        assert!(found[unknown].is_null() && !exact[unknown].is_null(), "{unknown}");
    }
    for same in ["deadlock_free", "prohibited", "fraction"] {
        assert_eq!(found[same], exact[same]);
    }
    let text = run(&["--sample", "200"]).success();
    for said in [
        "  diameter          at least ",
        " ± 0.",
        "from the routes to 200 of 400 routers with nodes, drawn at random\n",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(
        text.contains("irreducible       not known: 200 of 200 prohibited turns drawn at random are needed\n"),
        "{text}"
    );
    assert_eq!(run(&["--sample", "200"]).success(), text, "seed 0 by default");
    // All prohibited turns are fewer than the sample.
    let few = ["routing", "--topology", "mesh:7x7", "--routing", "up-down", "--sample", "40", "--format", "json"];
    let few = wormcast(&few).json();
    assert!(
        few["irreducible"] == true && few["sample"]["turns"].is_null() && few["sample"]["destinations"] == 40,
        "{few}"
    );
    assert_ne!(run(&["--sample", "200", "--seed", "1"]).success(), text);
    // All of them are not a sample.
    let all = run(&["--sample", "--format", "json"]);
    assert!(
        all.stderr.contains("`--sample` makes no difference: 400 routers with nodes are all measured"),
        "{}",
        all.stderr
    );
    assert_eq!(serde_json::from_str::<serde_json::Value>(&all.stdout).unwrap(), exact);
    let known =
        wormcast(&["routing", "--topology", "mesh:9x9", "--routing", "e-cube", "--sample", "30", "--seed", "2"]);
    for said in ["distances of `e-cube` are known without a search", "`--seed` makes no difference"] {
        assert!(known.stderr.contains(said), "{}", known.stderr);
    }
    for (wrong, said) in [
        (&["--sample", "29"][..], "expected a whole number, at least 30"),
        (&["--sample", "--links", "l.csv"], "cannot be used with"),
    ] {
        let refused = run(wrong);
        assert!(refused.code == 2 && refused.stderr.contains(said), "{}", refused.stderr);
    }
}

/// Two trees that hold what the other waits for, and unicasts that could not.
#[test]
fn given_multicasts_are_analysed_beside_unicasts() {
    let multicast = |topology: &str, source: u32| {
        format!(r#"{{"topology":"{topology}","algorithm":"tree-one","source":{source},"destinations":[0,3]}}"#)
    };
    let (one, both) = (multicast("mesh:4", 1), format!("{}\n\n{}\n", multicast("mesh:4", 1), multicast("mesh:4", 2)));
    let other = format!("{one}\n{}\n", multicast("mesh:5", 1));
    let folder = Folder::with(&[("one", one.as_str()), ("both", both.as_str()), ("other", other.as_str())]);
    let run = |file| folder.run(&["routing", "--topology", "mesh:4", "--routing", "e-cube", "--multicasts", file]);
    let text = run("one").success();
    assert!(text.starts_with("e-cube on mesh:4\n  deadlock-free     yes\n  multicasts        1\n"), "{text}");
    let expected = "\
e-cube on mesh:4
  deadlock-free     no
  A cycle, in which each may be held by a worm that waits for the next:
    channel 1 -> 0: multicasts of line 1
    channel 2 -> 3: multicasts of line 3
  multicasts        2
";
    let text = run("both").success();
    assert!(text.starts_with(expected), "{text}");
    let message = run("other").bad_input();
    assert_eq!(message, "error: other:2: the multicast is on `mesh:5`; expected `mesh:4`, as for the routing\n");
    assert!(run("none").bad_input().starts_with("error: cannot read `none`: "));
}

#[test]
fn tables_that_cannot_be_written() {
    let folder = Folder::with(&[("x.txt", "router 0\n0 there\n")]);
    let message = |arguments: &[&str]| folder.run(&[&["routing", "--topology"], arguments].concat()).bad_input();
    assert_eq!(
        message(&["random:nodes=100,degree=6,seed=1", "--routing", "up-down", "--export", "x.lfts"]),
        "error: forwarding tables cannot express `up-down` on `random:nodes=100,degree=6,seed=1`: at router 95, of the worms \
         to router 39, those that come from router 11 have to go on to router 8 and those that come from router 29 have to go \
         on to router 15; one entry cannot say both; `--allow-detours` takes longer ways over permitted turns where that is so\n"
    );
    assert_eq!(
        message(&["torus:4x4", "--routing", "e-cube", "--export", "x.lfts"]),
        "error: `e-cube` on `torus:4x4` can deadlock, so no tables are written; `up-down` and `turn-prohibition` cannot\n"
    );
    // What is advised helps.
    let bmin = ["bmin:2x3", "--routing", "up-down", "--export", "x.lfts"];
    assert_eq!(
        message(&bmin),
        "error: `OpenSM`'s tables have no place for a port 0 (ports have the numbers 1 to 254), as in bmin:2x3; use `--export-form text`\n"
    );
    let text = [&["routing", "--topology"], &bmin[..], &["--export-form", "text"]].concat();
    let own = Folder::with(&[("apart", "0 1\n2 3\n")]);
    own.run(&text).success();
    let tables = ["routing", "--topology", "bmin:2x3", "--tables", "x.lfts"];
    assert!(own.run(&tables).success().starts_with("tables on bmin:2x3\n  deadlock-free     yes\n"));
    let apart = ["routing", "--topology", "apart", "--routing", "up-down", "--export", "y.lfts"];
    assert_eq!(
        own.run(&apart).bad_input(),
        "error: forwarding tables cannot express `up-down` on `apart`: there is no route from router 2 to router 0\n"
    );
    assert!(
        message(&["mesh:2", "--tables", "x.txt"])
            .starts_with("error: x.txt:2: found `there`; expected `router \"S1\"`")
    );
    assert!(message(&["mesh:2", "--tables", "none"]).starts_with("error: cannot read `none`: "));
    assert_eq!(folder.files(""), ["x.txt"]);
    let detours = ["--routing", "up-down", "--allow-detours", "--export", "x.lfts", "--format", "json"];
    let exported = folder.run(&[&["routing", "--topology", "random:nodes=100,degree=6,seed=1"], &detours[..]].concat());
    assert_eq!(exported.json()["exported"]["detours"].as_array().map(Vec::len), Some(2));
    let unproven = folder.run(&["routing", "--topology", "torus:4", "--routing", "e-cube", "--numbering", "n.csv"]);
    assert_eq!(unproven.code, 1);
    assert!(unproven.stderr.contains("`n.csv` was not written: a numbering proves that unicasts cannot deadlock"));
}

/// Column-path worms up and down a column deliver at each other's routers: one consumption channel is too few.
#[test]
fn consumption_channels_close_cycles_too() {
    let check = |ports| analyse(&["mesh:4x4", "--algorithm", "column-path", "--consumption-ports", ports]);
    let analysis = check("1");
    assert_eq!(analysis["deadlock_free"], false);
    assert_eq!(analysis["cycle"], json!([[0, 4], [4, 0]]));
    let expected = json!([{"channel": [0, 4]}, {"consumption": 4}, {"channel": [4, 0]}, {"consumption": 0}]);
    assert_eq!(analysis["resources"], expected);
    assert_eq!((&analysis["algorithm"], &analysis["routing"]), (&json!("column-path"), &json!("e-cube")));
    assert_eq!(check("2")["deadlock_free"], true);
}

#[test]
fn text_spells_the_cycle_out() {
    let arguments = ["routing", "--topology", "mesh:4x4", "--algorithm", "column-path", "--consumption-ports", "1"];
    let expected = "\
column-path, routed by e-cube on mesh:4x4
  deadlock-free     no
  A cycle, in which each may be held by a worm that waits for the next:
    channel 0,0 -> 0,1
    consumption channels of node 0,1
    channel 0,1 -> 0,0
    consumption channels of node 0,0
  consumption ports 1
  connected         yes
  diameter          6
  average distance  2.667
";
    assert_eq!(wormcast(&arguments).success(), expected);
}

/// A ring of five in which no worm passes through router 0.
#[test]
fn turn_prohibition_on_a_ring() {
    let mut analysis = analyse(&["torus:5", "--routing", "turn-prohibition"]);
    let most_loaded = analysis["link_load"]["most_loaded"].take();
    assert_eq!(most_loaded[0], json!({"channel": [1, 2], "load": 4.0}));
    assert_eq!(most_loaded.as_array().unwrap().len(), 10);
    let expected = json!({
        "topology": "torus:5", "routing": "turn-prohibition", "consumption_ports": 4,
        "deadlock_free": true, "cycle": null, "resources": null, "closed_by": null, "connected": true,
        "turns": 5, "prohibited": [[1, 0, 4]], "fraction": 0.2, "irreducible": true,
        "average_distance": 1.6, "node_distance": 1.6, "diameter": 3,
        "link_load": {"mean": 3.2, "max": 4.0, "most_loaded": null},
    });
    assert_eq!(analysis, expected);
}

#[test]
fn up_down_has_a_root() {
    let text = |root| {
        let arguments = ["routing", "--topology", "mesh:3x2", "--routing", "up-down-deterministic", "--root", root];
        wormcast(&arguments).success()
    };
    let expected = "\
up-down-deterministic on mesh:3x2
  deadlock-free     yes
  connected         yes
  diameter          3
  average distance  1.667
  link load         mean 3.57, largest 6.00 pairs a channel
  The most loaded channels:
    6.00  channel 0,0 -> 1,0
    6.00  channel 1,0 -> 2,0
    5.00  channel 0,1 -> 0,0
    4.00  channel 1,0 -> 0,0
    4.00  channel 2,0 -> 1,0
    4.00  channel 1,1 -> 0,1
    4.00  channel 2,1 -> 1,1
    3.00  channel 0,0 -> 0,1
    3.00  channel 1,0 -> 1,1
    3.00  channel 2,0 -> 2,1
  turns             10
  prohibited turns  2 (20.0%)
  irreducible       yes
  Prohibited, both ways:
    1,0 - 1,1 - 0,1
    2,0 - 2,1 - 1,1
";
    assert_eq!(text("0"), expected);
    assert_eq!(text("smallest-id"), expected);
    assert_eq!(text("0,0"), expected);
    assert!(text("maximum-degree").contains("    0,0 - 0,1 - 1,1\n    2,0 - 2,1 - 1,1\n"));
}

#[test]
fn algorithms_take_routings_of_turns() {
    let analysis = analyse(&["torus:4x4", "--algorithm", "separate", "--routing", "turn-prohibition"]);
    assert_eq!(analysis["routing"], "turn-prohibition");
    assert_eq!(analysis["deadlock_free"], true);
    assert_eq!(analysis["irreducible"], true);
}

#[test]
fn an_algorithm_may_be_given_its_routing() {
    let analysis = analyse(&["hypercube:3", "--algorithm", "separate", "--routing", "negative-first"]);
    assert_eq!(analysis["routing"], "negative-first");
    assert_eq!(analysis["deadlock_free"], true);
}

#[test]
fn trees_are_safe_with_the_buffers_that_they_are_meant_for() {
    let safe = |options: &[&str]| {
        let fixed = ["mesh:4x4", "--algorithm", "tree-one", "--routing", "up-down"];
        analyse(&[&fixed[..], options].concat())["deadlock_free"].clone()
    };
    assert_eq!(safe(&[]), true);
    assert_eq!(safe(&["--buffer", "message", "--replication", "independent", "--reservation", "separate"]), true);
    for unsafe_ in [["--buffer", "64"], ["--replication", "lockstep"], ["--reservation", "atomic"]] {
        assert_eq!(safe(&unsafe_), false, "{unsafe_:?}");
    }
}

/// What the witness of a deadlock says is what a run of it does, in both engines.
#[test]
fn a_reachable_deadlock_has_a_witness_that_deadlocks() {
    for (topology, what, more) in [
        ("torus:4", ["--routing", "e-cube"], "algorithm = \"separate\"\nrouting = \"e-cube\"\n"),
        ("mesh:3x3", ["--algorithm", "dual-path"], "algorithm = \"dual-path\"\n"),
        // Without its classes, the routing takes the channels of e-cube.
        ("torus:4", ["--routing", "dateline"], "algorithm = \"separate\"\nrouting = \"e-cube\"\n"),
        ("torus:5x5", ["--routing", "dateline"], "algorithm = \"separate\"\nrouting = \"e-cube\"\n"),
    ] {
        let folder = Folder::with(&[]);
        let options = [
            "--consumption-ports",
            "1",
            "--virtual-channels",
            "1",
            "--reachable",
            "--witness",
            "dead.trace",
            "--format",
            "json",
        ];
        let arguments = [&["routing", "--topology", topology][..], &what, &options].concat();
        let reachability = folder.run(&arguments).json()["reachability"].clone();
        assert_eq!(reachability["verdict"], "reachable", "{reachability}");
        let witness = reachability["witness"].as_array().unwrap().clone();
        let trace = folder.read("dead.trace");
        assert_eq!(trace.lines().filter(|line| !line.starts_with('#')).count(), witness.len(), "{trace}");
        let settings = reachability["settings"].clone();
        let experiment = format!(
            "topology = \"{topology}\"\n{more}[switching]\nconsumption_ports = 1\ninjection_ports = {}\nbuffer = {}\n\
             [timing]\nstartup = {}\nrouting_delay = {}\n[traffic]\ntrace = \"dead.trace\"\n",
            settings["injection_ports"], settings["buffer"], settings["startup"], settings["routing_delay"]
        );
        folder.write("dead.toml", experiment.as_bytes());
        for engine in ["flit", "worm"] {
            let run = folder.run(&["simulate", "dead.toml", "--engine", engine]);
            assert!(run.stderr.contains("error: deadlock in cycle"), "{topology}, {engine}: {run:?}");
        }
    }
}

/// The settings of a witness can be used as they are printed, also those of trees and of buffers that hold any worm.
#[test]
fn settings_of_a_witness_are_those_of_files() {
    for (topology, what, buffer) in [
        ("ring:5", &["--algorithm", "tree-one"][..], "message"),
        ("mesh:4x2", &["--algorithm", "yx-tree", "--consumption-ports", "3"], "1"),
    ] {
        let folder = Folder::with(&[]);
        let options = ["--replication", "lockstep", "--buffer", buffer, "--reachable", "--witness", "dead.trace"];
        let run = folder.run(&[&["routing", "--topology", topology][..], what, &options].concat());
        let line = run.stdout.lines().find(|line| line.contains("Messages that deadlock")).expect(&run.stdout);
        let settings = line.trim().trim_start_matches("Messages that deadlock, with ").trim_end_matches(':');
        let settings: Vec<String> = settings.split(", ").map(|setting| setting.replacen(' ', " = ", 1)).collect();
        let (timing, switching) = settings.split_at(2);
        let experiment = format!(
            "topology = \"{topology}\"\nalgorithm = \"{}\"\n[timing]\n{}\n[switching]\n{}\n[traffic]\ntrace = \"dead.trace\"\n",
            what[1],
            timing.join("\n"),
            switching.join("\n")
        );
        folder.write("dead.toml", experiment.as_bytes());
        let run = folder.run(&["simulate", "dead.toml"]);
        assert!(run.stderr.contains("error: deadlock in cycle"), "{experiment}: {run:?}");
    }
}

#[test]
fn what_cannot_be_reached_or_is_not_covered_is_said() {
    let folder = Folder::with(&[]);
    let run = |arguments: &[&str]| folder.run(&[&["routing", "--topology"], arguments].concat());
    let named = run(&["torus:4x4", "--routing", "e-cube", "--reachable"]).success();
    assert!(named.contains("    cycle 0: 2 flits from 0,3 to 2,1\n"), "nodes are named as channels are: {named}");
    let safe = run(&["mesh:4", "--routing", "e-cube", "--reachable", "--format", "json"]).json();
    assert_eq!(safe["reachability"]["verdict"], "not reachable");
    let refused = run(&["mesh:4", "--routing", "e-cube", "--reachable", "--witness", "none.trace"]);
    assert!(
        refused.stderr.contains("`none.trace` was not written: no messages are known that deadlock"),
        "{refused:?}"
    );
    let few = run(&["mesh:4x4", "--algorithm", "dual-path", "--consumption-ports", "1", "--reachable", "10"]).success();
    assert!(few.contains("  deadlock          not decided\n"), "{few}");
    assert!(few.contains("a step for each of the 16 x 2^15 sets of destinations"), "{few}");
    // More steps than sets of destinations, and too few for their worms: an answer comes in a second or so.
    let dual = ["mesh:4x4", "--algorithm", "dual-path", "--consumption-ports", "2", "--reachable"];
    let more = run(&[&dual[..], &["600000"]].concat()).success();
    assert!(more.contains("600000 steps were enough to plan ") && more.contains(" of 524288 messages: "), "{more}");
    let waypoints = ["dragonfly:p=1,a=2,h=1", "--routing", "valiant", "--reachable", "--virtual-channels", "1"];
    assert!(run(&waypoints).bad_input().contains("worms go over routers that are drawn"));
}

#[test]
fn bad_input_is_explained() {
    let message = |arguments: &[&str]| wormcast(&[&["routing", "--topology"], arguments].concat()).bad_input();
    assert!(message(&["mesh:4x4", "--routing", "ecube"]).contains("did you mean 'e-cube'?"));
    assert!(message(&["mesh:4x4", "--algorithm", "dual"]).contains("did you mean 'dual-path'?"));
    assert_eq!(
        message(&["torus:4x4", "--routing", "hamiltonian"]),
        "error: `hamiltonian` needs a mesh, but `torus:4x4` is a torus\n"
    );
    assert!(message(&["mesh:4x4"]).contains("required"));
    let trees = |option, value| message(&["mesh:4x4", "--algorithm", "tree-one", option, value]);
    assert!(trees("--buffer", "deep").contains("expected `message`, or 1 to 16777216 flits"));
    assert!(trees("--replication", "some").contains("expected one of lockstep, independent, "));
    assert!(trees("--reservation", "some").contains("expected `atomic` or `separate`"));
    assert!(message(&["mesh:4x4", "--routing", "up-down", "--root", "top"]).contains("`top` is not a root in"));
    assert_eq!(
        message(&["mesh:4x4", "--routing", "up-down", "--root", "16"]),
        "error: `16` is not a root in `mesh:4x4`: expected `smallest-id`, `maximum-degree` or a router, 0 to 15\n"
    );
    assert!(message(&["mesh:4x4", "--routing", "e-cube", "--consumption-ports", "0"]).contains("from 1 to 32"));
}

/// The masks of a tree over the ring of `examples/fabric.net` without one link.
fn multicast_tree(without: u32) -> String {
    let mut text = String::new();
    for switch in 0..6 {
        // Port 1 leads to the switch before, port 2 to the one behind, port 3 to a host.
        let cut = |port| (port == 2 && switch == without) || (port == 1 && switch == (without + 1) % 6);
        let ports: Vec<String> = (1..=3).filter(|&port| !cut(port)).map(|port| format!("{port:#05x} ")).collect();
        write!(text, "\nSwitch {:#018x}\nLID    : Out Port(s)\n0xC001 : {}\n", 0x20_0000 + switch, ports.join(" "))
            .unwrap();
    }
    text
}

/// What is left of a group in a file that is cut would else be taken for all of it.
#[test]
fn multicast_tables_that_are_cut_are_warned_of() {
    let folder = Folder::with(&[]);
    folder.run(&["routing", "--topology", FABRIC, "--routing", "up-down", "--export", "updn.lfts"]).success();
    let with = |text: &str| {
        folder.write("mc", text.as_bytes());
        folder.run(&["routing", "--topology", FABRIC, "--tables", "updn.lfts", "--multicast-tables", "mc"])
    };
    let whole = multicast_tree(5);
    assert_eq!(with(&whole).stderr, "");
    let cut = with(&whole[..whole.rfind("\nSwitch").unwrap()]);
    let warning = |group, others| {
        format!(
            "warning: `mc` lacks entries of the group {group} at rack6, to which others send its packets{others}: is it truncated?\n"
        )
    };
    assert_eq!((cut.code, cut.stderr), (0, warning("0xc001", "")));
    let two = |text: &str| {
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| {
                if line.starts_with("0xC001") {
                    line.to_owned() + &line.replace("C001", "C002")
                } else {
                    line.to_owned()
                }
            })
            .collect::<String>()
    };
    assert_eq!(with(&two(&whole)).stderr, "");
    let cut = with(&two(&whole)[..two(&whole).rfind("\nSwitch").unwrap()]);
    assert_eq!(cut.stderr, warning("0xc001", ", and of another group"));
}

#[test]
fn multicast_tables_are_checked_together_with_unicasts() {
    let folder = Folder::with(&[("groups.txt", "0xc001: host1;host5;0x100011\n0xc002: host2;host4\n")]);
    folder.run(&["routing", "--topology", FABRIC, "--routing", "up-down", "--export", "updn.lfts"]).success();
    let mut verdicts = Vec::new();
    for without in 0..6 {
        std::fs::write(folder.path().join("mc"), multicast_tree(without)).unwrap();
        let analysed = |options: &[&str]| -> serde_json::Value {
            let words = [
                "routing",
                "--topology",
                FABRIC,
                "--tables",
                "updn.lfts",
                "--multicast-tables",
                "mc",
                "--format",
                "json",
            ];
            folder.run(&[&words[..], options].concat()).json()
        };
        let found = analysed(&[]);
        let ibdmchk = analysed(&["--branching", "ibdmchk"]);
        assert_eq!(found["deadlock_free"], ibdmchk["deadlock_free"]);
        let group = &found["groups"][0];
        assert_eq!((&group["mlid"], &group["connected"]), (&json!("0xc001"), &json!(true)));
        assert_eq!((group["members"].as_array().unwrap().len(), &group["missing"]), (6, &json!([])));
        assert_eq!(found["cycle"].is_null(), found["deadlock_free"] == json!(true));
        if found["deadlock_free"] == json!(false) {
            assert_eq!(found["blame"]["alone"], json!(["0xc001"]));
            let groups = |step: &serde_json::Value| step["groups"] == json!(["0xc001"]);
            assert!(found["closed_by"].as_array().unwrap().iter().any(groups), "{found}");
        }
        verdicts.push(found["deadlock_free"] == json!(true));
        let some = analysed(&["--groups", "groups.txt", "--branching", "lockstep"]);
        assert_eq!(some["groups"][0]["members"], json!(["host1", "host5", "host9"]));
        assert_eq!(
            some["groups"][1],
            json!({"mlid": "0xc002", "members": ["host2", "host4"], "connected": false, "missing": ["host2", "host4"]})
        );
    }
    // As `ibdmchk -M` says of a ring of six whose up*/down* routing has its root at the first.
    assert_eq!(verdicts, [false, false, true, true, false, false]);
    let words = ["routing", "--topology", FABRIC, "--multicast-tables", "mc"];
    let refused = |more: &[&str]| folder.run(&[&words[..], more].concat()).bad_input();
    assert!(refused(&["--routing", "up-down"]).contains("expected `--tables FILE`, too"));
    assert!(refused(&["--tables", "updn.lfts", "--reachable"]).contains("leave it out"));
    assert!(refused(&["--tables", "updn.lfts", "--branching", "trees"]).contains("`packets`, `lockstep` or `ibdmchk`"));
    std::fs::write(folder.path().join("mc"), "Switch 0x200000\n0xC001 : 0x063\n").unwrap();
    assert!(refused(&["--tables", "updn.lfts"]).starts_with("error: mc:2: `rack1` has no port 99: it has 8;"));
}

#[test]
fn fabrics_are_checked_lane_by_lane() {
    let folder = Folder::with(&[("mc", &multicast_tree(0))]);
    folder.run(&["routing", "--topology", FABRIC, "--routing", "up-down", "--export", "updn.lfts"]).success();
    // The members' packets have service level 1, and so a lane of their own.
    let mut levels = String::new();
    for guid in (0..12).map(|host| 0x10_0000 + 2 * host + 1) {
        writeln!(levels, "{guid:#x} 49153 1").unwrap();
    }
    std::fs::write(folder.path().join("levels"), levels).unwrap();
    let words = ["routing", "--topology", FABRIC, "--tables", "updn.lfts", "--multicast-tables", "mc"];
    let analysed = |more: &[&str]| folder.run(&[&words[..], &["--format", "json"], more].concat()).json();
    assert_eq!(analysed(&[])["deadlock_free"], false);
    let lanes = analysed(&["--lanes", "levels"]);
    assert_eq!((&lanes["deadlock_free"], &lanes["lanes"]["count"]), (&json!(true), &json!(2)), "{lanes}");
    assert_eq!(lanes["lanes"]["switches_without"], 6);

    // The cycle on the fabric, numbered as it is printed.
    folder.run(&[&words[..], &["--cycle-map", "cycle.svg"]].concat()).success();
    let picture = std::fs::read_to_string(folder.path().join("cycle.svg")).unwrap();
    assert!(picture.contains(">rack5[1] -&gt; rack4[2]: group 0xc001</text>"), "{picture}");
    assert_eq!(picture.matches("stroke=\"#d7301f\"").count(), 6, "the channels of the cycle: {picture}");
    let safe = folder.run(&[&words[..], &["--lanes", "levels", "--cycle-map", "none.svg"]].concat());
    assert_eq!((safe.code, folder.path().join("none.svg").exists()), (0, false));
    assert!(safe.stderr.contains("`none.svg` is not written: there is no cycle"), "{safe:?}");

    // All on one lane after all, by the tables of the switches.
    let mut maps = String::new();
    for switch in 0..6 {
        writeln!(maps, "Switch {:#018x}, base LID 1, \"rack\"", 0x20_0000 + switch).unwrap();
        for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
            writeln!(maps, "{a:<3} {b:<3} : {}", "0  ".repeat(16)).unwrap();
        }
    }
    std::fs::write(folder.path().join("maps"), &maps).unwrap();
    let one = analysed(&["--lanes", "levels", "--sl2vl", "maps"]);
    assert_eq!((&one["deadlock_free"], &one["lanes"]["count"]), (&json!(false), &json!(1)));
    assert_eq!(one["lanes"]["by_lane"][0]["deadlock_free"], false);
    assert!(one["resources"].as_array().unwrap().iter().all(|resource| resource["lane"] == 0), "{one}");
    let text = folder.run(&[&words[..], &["--lanes", "levels", "--sl2vl", "maps"]].concat()).success();
    assert!(text.contains("rack1[1] -> rack6[2] on lane 0: "), "{text}");
    assert!(text.contains("    on lane 0, packets can be blocked forever on "), "{text}");

    let refused = |more: &[&str]| folder.run(&[&words[..], more].concat()).bad_input();
    assert!(refused(&["--lanes", "2"]).contains("a number of lanes is for `--repair`"));
    assert!(refused(&["--lanes", "levels", "--reachable"]).contains("nor virtual lanes"));
    assert!(refused(&["--sl2vl", "levels"]).starts_with("error: levels:1: "));
    std::fs::write(folder.path().join("maps"), maps.replace("1   2   : 0", "1   2   : 16")).unwrap();
    assert!(refused(&["--sl2vl", "maps"]).starts_with("error: maps:13: `16` is no lane from 0 to 15"));
    let alone = wormcast(&["routing", "--topology", FABRIC, "--routing", "up-down", "--lanes", "levels"]).bad_input();
    assert!(alone.contains("`--lanes` goes with unicast tables: expected `--tables FILE`, too"), "{alone}");
}

#[test]
fn lanes_that_depend_on_ports_give_way_to_levels() {
    let folder = Folder::with(&[("mc", &multicast_tree(0))]);
    folder.run(&["routing", "--topology", FABRIC, "--routing", "up-down", "--export", "updn.lfts"]).success();
    let words = ["routing", "--topology", FABRIC, "--tables", "updn.lfts", "--multicast-tables", "mc"];
    let file = |name: &str| folder.read(&format!("repaired/{name}"));
    // OpenSM loads no lanes that depend on ports with routes from a file: here those of level 7, by which nothing is sent, from one port.
    let mut maps = String::new();
    for (switch, arriving, leaving) in (0..6).flat_map(|s| (0..=8).flat_map(move |a| (0..=8).map(move |b| (s, a, b)))) {
        let last = if (switch, arriving) == (1, 3) { "0x66" } else { "0x67" };
        writeln!(maps, "{:#018x} {arriving} {leaving} 0x01 0x23 0x45 {last} 0x89 0xab 0xcd 0xef", 0x20_0000 + switch)
            .unwrap();
    }
    std::fs::write(folder.path().join("maps"), maps).unwrap();
    let by_port = [&words[..], &["--repair", "repaired", "--sl2vl", "maps"]].concat();
    let said = folder.run(&by_port).success();
    let expected =
        "no path leaves its service level, but each level is a lane now; switches lose their tables of lanes";
    assert!(said.contains(expected), "{said}");
    let repair = folder.run(&[&by_port[..], &["--format", "json"]].concat()).json()["repair"].clone();
    assert_eq!((&repair["changed"], &repair["levels_are_lanes"]), (&json!("unicast-lanes"), &json!(true)));
    assert_eq!((&repair["deadlock_free"], &repair["moved_pairs"]), (&json!(true), &json!(0)));
    assert!(!file("lfts").is_empty() && !file("lid-matrix").is_empty());
    // Though all packets have level 0, which no switch must put on the lane that it had.
    assert_eq!(file("opensm.conf"), "qos TRUE\nqos_swe_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n");
}

#[test]
fn trees_are_built_and_tables_repaired() {
    let groups = "0xc001: host1;host3;host5;host7;host9;host11\n0xc002: host2;host4\n";
    let folder = Folder::with(&[("groups", groups), ("mc", &multicast_tree(0))]);
    folder.run(&["routing", "--topology", FABRIC, "--routing", "up-down", "--export", "updn.lfts"]).success();
    let words = ["routing", "--topology", FABRIC, "--tables", "updn.lfts"];
    let analysed = |more: &[&str]| folder.run(&[&words[..], &["--format", "json"], more].concat()).json();
    let built = ["--multicast-trees", "permitted", "--groups", "groups", "--export-multicast", "built"];
    let found = analysed(&built);
    assert_eq!(found["deadlock_free"], true);
    assert_eq!(found["exported_multicast"], json!({"file": "built", "groups": 2}));
    // What was written is what was analysed.
    let again = analysed(&["--multicast-tables", "built", "--groups", "groups"]);
    assert_eq!((&again["groups"], &again["deadlock_free"]), (&found["groups"], &json!(true)));
    let opensm = ["--multicast-trees", "opensm", "--groups", "groups", "--export-multicast", "opensm"];
    let by_opensm = folder.run(&[&words[..], &opensm].concat());
    assert_eq!(by_opensm.code, 0, "{by_opensm:?}");
    assert!(by_opensm.stderr.contains("give its `opensm-lid-matrix.dump` with `--lid-matrix`"), "{by_opensm:?}");
    assert!(by_opensm.stdout.contains("0xc001: 6 members, reaches all"), "{by_opensm:?}");
    // By hand: the ring's switches are two or three hops away from all others, so the first is the root, and the fourth is reached by its first port.
    let written = std::fs::read_to_string(folder.path().join("opensm")).unwrap();
    assert!(written.contains("Switch 0x0000000000200003\nLID    : Out Port(s)\n0xC001 : 0x002  0x003 \n"), "{written}");

    let beside = ["--multicast-tables", "mc", "--repair", "repaired"];
    let repaired = analysed(&beside);
    assert_eq!(repaired["deadlock_free"], false, "the verdict is on what was given");
    let repair = &repaired["repair"];
    assert_eq!(
        (&repair["changed"], &repair["search"], &repair["deadlock_free"]),
        (&json!("trees"), &json!("found"), &json!(true))
    );
    assert_eq!(
        (&repair["changed_entries"], &repair["groups"][0]["links"]),
        (&json!(0), &json!({"before": 5, "after": 5}))
    );
    let file = |name: &str| std::fs::read_to_string(folder.path().join("repaired").join(name)).unwrap();
    assert_eq!(file("lfts"), std::fs::read_to_string(folder.path().join("updn.lfts")).unwrap());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&file("repair.json")).unwrap(), *repair);
    let matrix = ["--multicast-trees", "opensm", "--lid-matrix", "repaired/lid-matrix", "--groups", "repaired/groups"];
    let loaded = analysed(&[&matrix[..], &["--export-multicast", "loaded"]].concat());
    assert_eq!(loaded["deadlock_free"], true);
    assert_eq!(std::fs::read_to_string(folder.path().join("loaded")).unwrap(), file("opensm.mcfdbs"));
    // A matrix that is cut gave another verdict, without a word.
    let whole = file("lid-matrix");
    let lines = whole.lines().count();
    let cut: String = whole.lines().take(lines - 1).flat_map(|line| [line, "\n"]).collect();
    folder.write("repaired/lid-matrix", cut.as_bytes());
    let told = folder.run(&[&words[..], &matrix].concat());
    let expected = format!("lid-matrix:{}: the section of ", lines - 1);
    assert!(told.stderr.contains(&expected) && told.stderr.contains(": is the file cut?"), "{told:?}");
    folder.write("repaired/lid-matrix", whole.as_bytes());
    assert_eq!(folder.run(&[&words[..], &matrix].concat()).stderr, "");
    // The proof: numbers rise from each channel to those that the tables and the trees lead on to.
    assert!(
        file("numbering.csv")
            .starts_with("channel,from,to,lane,number,from_name,to_name,from_port,to_port,link\n0,0,5,0,")
    );
    assert_eq!(file("numbering.csv").lines().count(), 13);

    // A lane of their own is only for groups that cannot have other trees.
    assert_eq!(analysed(&[&beside[..], &["--lanes", "4"]].concat())["repair"]["changed"], "trees");

    let refused = |more: &[&str]| folder.run(&[&words[..], more].concat()).bad_input();
    assert!(refused(&["--lanes", "mc", "--lanes", "mc"]).contains("`--lanes` is given 2 times: expected one file"));
    assert!(refused(&["--repair", "r", "--lanes", "3", "--lanes", "4"]).contains("expected one file and one number"));
    assert!(refused(&["--multicast-trees", "opensm"]).contains("--groups"));
    let built = |how: &'static str, more: &[&'static str]| {
        [&["--multicast-trees", how, "--groups", "groups"][..], more].concat()
    };
    assert!(refused(&built("opensm-torus", &[])).contains("needs `--torus-config FILE`"));
    assert!(refused(&built("opensm-nue", &[])).contains("needs `--lid-matrix FILE`"));
    assert!(refused(&built("opensm-torus", &["--torus-config", "mc"])).starts_with("error: mc:2: "));
    let torus = built("opensm-torus", &["--torus-config", "mc", "--lid-matrix", "mc"]);
    assert!(refused(&torus).contains("`--lid-matrix` is for `--multicast-trees opensm`, `opensm-sssp` and"));
    let sssp = built("opensm-sssp", &["--torus-config", "mc"]);
    assert!(refused(&sssp).contains("`--torus-config` is for `--multicast-trees opensm-torus`"));
    assert!(
        refused(&["--multicast-trees", "steiner", "--groups", "groups"])
            .contains("expected one of opensm, opensm-sssp, opensm-nue, opensm-torus, permitted")
    );
    assert!(refused(&["--repair", "r", "--lanes", "16"]).contains("expected a number of lanes from 1 to 15"));
    assert!(refused(&["--repair", "-"]).contains("expected a folder"));
    assert!(!folder.path().join("-").exists());
    assert!(refused(&["--repair", "r", "--lanes", "mc"]).starts_with("error: mc:3: "));
    assert!(
        refused(&[&beside[..], &["--branching", "lockstep"]].concat()).contains("leave `--branching lockstep` out")
    );
    // OpenSM's own files are not taken for those of an earlier repair.
    folder.write("its/opensm.conf", b"mine");
    let message = refused(&[&beside[..3], &["its"]].concat());
    assert!(message.contains("`its/opensm.conf` is there, and no repair has written it"), "{message}");
    assert_eq!(folder.files("its"), ["opensm.conf"]);
    folder.write("repaired/opensm.conf", b"mine");
    assert!(refused(&beside).contains("`repaired/opensm.conf` is there, and no repair has written it"));
    let own =
        folder.run(&["routing", "--topology", FABRIC, "--tables", "repaired/lfts", "--repair", "repaired"]).bad_input();
    assert!(own.contains("repaired/lfts"), "{own}");
    assert!(!folder.path().join("r").exists());
}

#[test]
fn routes_that_loop_by_themselves_are_repaired() {
    let folder = Folder::with(&[]);
    // Unicasts that loop by themselves.
    folder
        .run(&["routing", "--topology", "ring:6", "--routing", "up-down", "--export", "ring", "--export-form", "text"])
        .success();
    let mut looping = String::new();
    for router in 0..6 {
        writeln!(looping, "router {router}").unwrap();
        for node in 0..6 {
            let to = (router + 1) % 6;
            writeln!(looping, "{node} {}", if node == router { "here".to_owned() } else { format!("to {to}") })
                .unwrap();
        }
    }
    std::fs::write(folder.path().join("looping"), looping).unwrap();
    let ring =
        ["routing", "--topology", "ring:6", "--tables", "looping", "--repair", "ring-repaired", "--format", "json"];
    let held = folder.run(&ring).json();
    assert_eq!((&held["deadlock_free"], &held["repair"]["changed"]), (&json!(false), &json!("unicasts")));
    assert_eq!((&held["repair"]["deadlock_free"], &held["repair"]["root"]), (&json!(true), &json!("0")));
    let changed = held["repair"]["changed_entries"].as_u64().unwrap();
    assert!(changed > 0 && changed < 30, "{held}");

    // The same routes on several lanes: two are not enough for routes of five channels one way round a ring of six, three are.
    let on_two = folder.run(&[&ring[..], &["--lanes", "2"]].concat()).json();
    assert_eq!(
        (&on_two["repair"]["changed"], &on_two["repair"]["unicast_lanes"]),
        (&json!("unicasts"), &json!("proven"))
    );
    let on_three = folder.run(&[&ring[..], &["--lanes", "3"]].concat()).json();
    let repair = &on_three["repair"];
    assert_eq!(
        (&repair["changed"], &repair["unicast_lanes"], &repair["deadlock_free"], &repair["changed_entries"]),
        (&json!("unicast-lanes"), &json!("found"), &json!(true), &json!(0))
    );
    let again = ["routing", "--topology", "ring:6", "--tables", "ring-repaired/lfts", "--format", "json"];
    assert_eq!(folder.run(&again).json()["deadlock_free"], false);
    let in_lanes = folder.run(&[&again[..], &["--lanes", "ring-repaired/lanes"]].concat()).json();
    assert_eq!(in_lanes["deadlock_free"], true);
    // What starts from these lanes has nothing to do, and on fewer lanes changes routes.
    let lanes = [&again[..], &["--lanes", "ring-repaired/lanes", "--repair", "again"]].concat();
    assert_eq!(folder.run(&lanes).json()["repair"]["changed"], "nothing");
    let fewer = folder.run(&[&lanes[..], &["--lanes", "2"]].concat()).json();
    assert_eq!((&fewer["repair"]["changed"], &fewer["repair"]["deadlock_free"]), (&json!("unicasts"), &json!(true)));
}

/// A sender that is no member had the level that it had before, and so a lane that the repair does not count.
#[test]
fn a_repair_puts_packets_to_a_group_on_one_level_whoever_sends_them() {
    // The third node is in no group; groups are 0xc001 = 49153 and on.
    let folder = Folder::with(&[("levels", "0x0000000000100002 49153 2\n")]);
    let example = |name: &str| format!("{}/../../examples/fabric.{name}", env!("CARGO_MANIFEST_DIR"));
    let (fabric, tables, trees) = (example("net"), example("lfts"), example("mcfdbs"));
    let repaired = |tables: &str, trees: &str, more: &[&str]| {
        let words = ["routing", "--topology", &fabric, "--tables", tables, "--multicast-tables", trees];
        folder.run(&[&words[..], &["--format", "json"], more].concat()).json()
    };
    let given = ["--lanes", "levels", "--lanes", "2", "--repair", "mended"];
    let first = repaired(&tables, &trees, &given);
    assert_eq!((&first["repair"]["changed"], &first["repair"]["lanes"]), (&json!("unicast-lanes"), &json!(2)));
    let (tables, trees) = ("mended/lfts", "mended/opensm.mcfdbs");
    let with = ["--groups", "mended/groups", "--lanes", "mended/lanes"];
    assert_eq!(repaired(tables, trees, &with)["lanes"]["count"], 2);
    let again = repaired(tables, trees, &[&with[..], &["--lanes", "2", "--repair", "again"]].concat());
    assert_eq!(again["repair"]["changed"], "nothing");
}
