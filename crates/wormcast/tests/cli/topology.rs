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
        "pairs": 112, "nodes_per_router": {"min": 1, "mean": 1.0, "max": 1},
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
fn a_single_router_has_no_average_distance() {
    let description = wormcast(&["topology", "mesh:1x1", "--format", "json"]).json();
    assert_eq!((&description["diameter"], &description["average_distance"]), (&json!(0), &json!(null)));
    assert!(wormcast(&["topology", "mesh:1x1"]).success().ends_with("  diameter          0\n"));
    for routing in ["e-cube", "up-down"] {
        let analysis =
            wormcast(&["routing", "--topology", "mesh:1x1", "--routing", routing, "--format", "json"]).json();
        assert_eq!((&analysis["diameter"], &analysis["average_distance"]), (&json!(0), &json!(null)));
        assert_eq!((&analysis["connected"], &analysis["node_distance"]), (&json!(true), &json!(null)));
    }
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

const FABRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../network/tests/samples/cluster.topofile");

#[test]
fn a_fabric_has_switches_and_adapters() {
    let text = wormcast(&["topology", FABRIC]).success();
    let expected = "
  routers           3
  nodes             4, 0 to 2 a router
  adapters          3
  links             3, between 2 pairs of routers
  channels          6
  degree            1 to 3, mean 2.000
  connected         yes
  diameter          2
  average distance  1.333 between routers

router  nodes  links  name
0       0      3      S-0000000000000a01
1       2      2      S-0000000000000a02
2       2      1      S-0000000000000a03
";
    assert_eq!(text, format!("{FABRIC}{expected}"));
    let description = wormcast(&["topology", FABRIC, "--format", "json"]).json();
    assert_eq!((&description["adapters"], &description["pairs"]), (&json!(3), &json!(2)));
    assert_eq!(description["nodes_per_router"], json!({"min": 0, "mean": 4.0 / 3.0, "max": 2}));
    assert_eq!(description["node_names"][1], "H-0000000000000b02[1]");
}

#[test]
fn files_convert_into_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut path = FABRIC.to_owned();
    for (format, extension) in [("graphml", "graphml"), ("node-link", "json"), ("ibsim", "net"), ("anynet", "anynet")] {
        let text = wormcast(&["topology", &path, "--format", format]).success();
        path = directory.path().join(format!("cluster.{extension}")).to_str().unwrap().to_owned();
        fs::write(&path, text).unwrap();
        let description = wormcast(&["topology", &path, "--format", "json"]).json();
        let figures = ["routers", "nodes", "links", "pairs", "diameter"].map(|key| description[key].as_u64().unwrap());
        assert_eq!(figures, [3, 4, 3, 2, 2], "{format}");
    }
    let message = wormcast(&["topology", &path, "--format", "edge-list"]).bad_input();
    assert!(message.contains("an edge list has no place for routers that have no node, or several"), "{message}");
    assert_eq!(wormcast(&["topology", "ring:3", "--format", "edge-list"]).success(), "0 1\n0 2\n1 2\n");
}

#[test]
fn generated_graphs() {
    let graph = |spec| wormcast(&["topology", spec, "--format", "json"]).json();
    let random = graph("random:nodes=64,degree=4,seed=7");
    assert_eq!((&random["links"], &random["connected"]), (&json!(128), &json!(true)));
    assert_eq!(random, graph("random:nodes=64,degree=4,seed=7"));
    assert_eq!(graph("petersen")["diameter"], 2);
    assert_eq!(
        wormcast(&["topology", "regular:nodes=9,degree=3"]).bad_input(),
        "error: topology `regular:nodes=9,degree=3`: 9 routers cannot all have degree 3, as every link has two ends: 10 \
         routers or degree 4 can; expected a form such as `regular:nodes=64,degree=4,seed=7`\n"
    );
}

#[test]
fn bad_topologies_are_explained() {
    let message = |spec: &str| wormcast(&["topology", spec]).bad_input();
    assert_eq!(message("mash:4x4"), "error: unknown topology `mash:4x4`; did you mean `mesh`?\n");
    assert_eq!(
        message("nonsense"),
        "error: unknown topology `nonsense`: there is no such file; expected a form such as `mesh:16x16`, `torus:8x8`, \
         `hypercube:10` or `random:nodes=256,degree=4,seed=7`, or the path of a file\n"
    );
    assert_eq!(
        message("mesh:4x0"),
        "error: topology `mesh:4x0`: an extent of 0 leaves no routers; expected a form such as `mesh:16x16`\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.txt");
    fs::write(&path, "0 1\n1 99999999999\n").unwrap();
    assert!(message(path.to_str().unwrap()).contains(":2: router 99999999999 is beyond the limit of "));
    fs::write(&path, "0 1\n1 two\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        message(path),
        format!(
            "error: {path}:2: `two` is not a router number; expected two router numbers, as in `0 1`, with the link's cycles behind them if it takes more than one, as in `0 1 3`, or a comment after `#`\n"
        )
    );
}

#[test]
fn a_port_that_is_taken_is_named_with_the_edge_that_takes_it() {
    let key = |id: &str, name: &str| format!("<key id=\"{id}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"int\"/>");
    let edge = |ends: [&str; 2], ports: [u32; 2]| {
        let [[a, b], [p, q]] = [ends.map(str::to_owned), ports.map(|port| port.to_string())];
        format!("<edge source=\"{a}\" target=\"{b}\"><data key=\"p\">{p}</data><data key=\"q\">{q}</data></edge>\n")
    };
    let kind = "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>";
    let vertices = "<node id=\"alpha\"/><node id=\"beta\"/><node id=\"host\"><data key=\"k\">node</data></node>";
    let [p, q] = [key("p", "source_port"), key("q", "target_port")];
    let start = format!("<graphml>\n{p}{q}{kind}\n<graph edgedefault=\"undirected\">\n{vertices}\n");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.graphml");
    let first = edge(["alpha", "beta"], [1, 1]);
    for (second, expected) in [
        (edge(["beta", "alpha"], [2, 1]), ":6: port 1 of `alpha` is taken already, by the edge to `beta` in line 5;"),
        (edge(["host", "beta"], [1, 1]), ":6: port 1 of `beta` is taken already, by the edge to `alpha` in line 5;"),
        (edge(["beta", "beta"], [2, 3]), ":6: `beta` is joined to itself;"),
    ] {
        fs::write(&path, format!("{start}{first}{second}</graph>\n</graphml>\n")).unwrap();
        let message = wormcast(&["topology", path.to_str().unwrap()]).bad_input();
        assert!(message.contains(expected), "{message}");
    }
}
