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
        "average_distance": 8.0 / 3.0, "diameter": 6,
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

#[test]
fn an_algorithm_may_be_given_its_routing() {
    let analysis = analyse(&["hypercube:3", "--algorithm", "separate", "--routing", "negative-first"]);
    assert_eq!(analysis["routing"], "negative-first");
    assert_eq!(analysis["deadlock_free"], true);
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
    assert!(message(&["mesh:4x4", "--routing", "e-cube", "--consumption-ports", "0"]).contains("0 is not in 1..=32"));
}
