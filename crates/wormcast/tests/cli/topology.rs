//! `wormcast topology`.

use std::fs;

use serde_json::json;

use crate::wormcast;

#[test]
fn json_has_the_stable_fields() {
    let description = wormcast(&["topology", "mesh:8x8", "--format", "json"]).json();
    let expected = json!({
        "name": "mesh:8x8", "routers": 64, "nodes": 64, "channels": 224, "links": 112,
        "degree": {"min": 2, "mean": 3.5, "max": 4},
        "diameter": 14, "average_distance": 16.0 / 3.0, "connected": true,
    });
    assert_eq!(description, expected);
}

#[test]
fn text_is_for_people() {
    let expected = "\
hypercube:4
  routers           16
  nodes             16
  links             32
  channels          64
  degree            4 to 4, mean 4.000
  connected         yes
  diameter          4
  average distance  2.133
";
    assert_eq!(wormcast(&["topology", "hypercube:4"]).success(), expected);
}

#[test]
fn a_file_that_is_not_connected_has_no_distances() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("parts");
    fs::write(&path, "# two parts\n0 1\n2 3\n").unwrap();
    let description = wormcast(&["topology", path.to_str().unwrap(), "--format", "json"]).json();
    assert_eq!(description["connected"], false);
    assert_eq!((&description["diameter"], &description["average_distance"]), (&json!(null), &json!(null)));
}

#[test]
fn pictures_and_graph_files() {
    let print = |format| wormcast(&["topology", "torus:3x3", "--format", format]).success();
    let dot = print("dot");
    assert!(dot.starts_with("graph \"torus:3x3\" {\n") && dot.ends_with("}\n"));
    assert_eq!(dot.matches(" -- ").count(), 18);
    let graphml = print("graphml");
    assert!(graphml.starts_with("<?xml") && graphml.ends_with("</graphml>\n"));
    assert_eq!((graphml.matches("<node ").count(), graphml.matches("<edge ").count()), (9, 18));
    let svg = print("svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<circle ").count(), 9);
}

#[test]
fn bad_topologies_are_explained() {
    let message = |spec: &str| wormcast(&["topology", spec]).bad_input();
    assert_eq!(
        message("mash:4x4"),
        "error: unknown topology `mash:4x4`: expected `mesh:AxBx…`, `torus:AxBx…`, `hypercube:N`, or the path of an \
         edge-list file; did you mean `mesh`?\n"
    );
    assert_eq!(
        message("mesh:4x0"),
        "error: topology `mesh:4x0`: an extent of 0 leaves no routers; expected a form such as `mesh:16x16`\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.txt");
    fs::write(&path, "0 1\n1 two\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        message(path),
        format!(
            "error: {path}:2: `two` is not a router number; expected two router numbers, as in `0 1`, or a comment after `#`\n"
        )
    );
}
