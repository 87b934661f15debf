//! `wormcast routing`.

use serde_json::json;

use crate::wormcast;

fn analyse(arguments: &[&str]) -> serde_json::Value {
    wormcast(&[&["routing", "--format", "json", "--topology"], arguments].concat()).json()
}

#[test]
fn a_safe_routing() {
    let analysis = analyse(&["mesh:4x4", "--routing", "negative-first"]);
    let expected = json!({
        "topology": "mesh:4x4", "routing": "negative-first", "consumption_ports": 4,
        "deadlock_free": true, "cycle": null, "resources": null, "connected": true,
        "turns": null, "prohibited": null, "fraction": null, "irreducible": null,
        "average_distance": 8.0 / 3.0, "diameter": 6, "link_load": null,
    });
    assert_eq!(analysis, expected);
}

#[test]
fn a_torus_without_virtual_channels_is_not_safe() {
    let analysis = analyse(&["torus:4x4", "--routing", "e-cube"]);
    assert_eq!(analysis["deadlock_free"], false);
    assert_eq!(analysis["cycle"], json!([[0, 1], [1, 2], [2, 3], [3, 0]]));
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
    channel 0 -> 4
    consumption channels of node 4
    channel 4 -> 0
    consumption channels of node 0
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
    let analysis = analyse(&["torus:5", "--routing", "turn-prohibition"]);
    let expected = json!({
        "topology": "torus:5", "routing": "turn-prohibition", "consumption_ports": 4,
        "deadlock_free": true, "cycle": null, "resources": null, "connected": true,
        "turns": 5, "prohibited": [[1, 0, 4]], "fraction": 0.2, "irreducible": true,
        "average_distance": 1.6, "diameter": 3, "link_load": {"mean": 3.2, "max": 4.0},
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
  turns             10
  prohibited turns  2 (20.0%)
  irreducible       yes
  Prohibited, both ways:
    1 - 4 - 3
    2 - 5 - 4
";
    assert_eq!(text("0"), expected);
    assert_eq!(text("smallest-id"), expected);
    assert!(text("maximum-degree").contains("    0 - 3 - 4\n    2 - 5 - 4\n"));
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

#[test]
fn bad_input_is_explained() {
    let message = |arguments: &[&str]| wormcast(&[&["routing", "--topology"], arguments].concat()).bad_input();
    assert!(message(&["mesh:4x4", "--routing", "ecube"]).contains("tip: a similar value exists: 'e-cube'"));
    assert!(message(&["mesh:4x4", "--algorithm", "dual"]).contains("tip: a similar value exists: 'dual-path'"));
    assert_eq!(
        message(&["torus:4x4", "--routing", "hamiltonian"]),
        "error: `hamiltonian` needs a mesh, but `torus:4x4` is a torus\n"
    );
    assert!(message(&["mesh:4x4"]).contains("required"));
    let trees = |option, value| message(&["mesh:4x4", "--algorithm", "tree-one", option, value]);
    assert!(trees("--buffer", "deep").contains("expected `message`, or a number of flits"));
    assert!(trees("--replication", "some").contains("[possible values: lockstep, independent,"));
    assert!(trees("--reservation", "some").contains("expected `atomic` or `separate`"));
    assert!(message(&["mesh:4x4", "--routing", "up-down", "--root", "top"]).contains("`top` is not a root"));
    assert_eq!(
        message(&["mesh:4x4", "--routing", "up-down", "--root", "16"]),
        "error: `up-down` needs router 16 as its root, but `mesh:4x4` is a 2-D mesh; its routers are 0 to 15\n"
    );
    assert!(message(&["mesh:4x4", "--routing", "e-cube", "--consumption-ports", "0"]).contains("0 is not in 1..=32"));
}
