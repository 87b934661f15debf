//! `wormcast trees`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{Outcome, wormcast};

fn trees(arguments: &[&str]) -> Outcome {
    wormcast(&[&["trees", "--topology"], arguments].concat())
}

fn answer(arguments: &[&str]) -> Value {
    trees(&[arguments, &["--format", "json"]].concat()).json()
}

/// The links of a list, the smaller router of each first.
fn links(list: &Value) -> Vec<(u64, u64)> {
    let ends = |link: &Value| (link[0].as_u64().unwrap(), link[1].as_u64().unwrap());
    list.as_array().unwrap().iter().map(ends).map(|(u, v)| (u.min(v), u.max(v))).collect()
}

#[test]
fn options_without_effect_are_told() {
    let said = |arguments: &[&str]| {
        let outcome = trees(&[&["torus:4x4"], arguments].concat());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        outcome.stderr
    };
    let random = |name: &str| format!("warning: `--seed` makes no difference: `{name}` makes no random choices\n");
    for name in ["dstm-1", "dstm-tarjan-path"] {
        assert_eq!(said(&["--construction", name, "--seed", "1"]), random(name));
    }
    let tarjan = ["--construction", "dstm-tarjan", "--failed-link", "0-1", "--seed", "1"];
    assert_eq!(said(&tarjan), "");
    assert_eq!(
        said(&[&tarjan[..], &["--repair"]].concat()),
        "warning: `--repair` makes no difference: `dstm-tarjan` goes around failed links in any case\n"
    );
}

#[test]
fn json_has_the_stable_fields() {
    let answer = answer(&["torus:3x3", "--construction", "dstm-1"]);
    // R1 = (0,0) and R2 = (1,1); along row 0 to the right, then down the columns; column 1 from the left.
    let first = json!({
        "root": 1, "height": 4, "binary": true,
        "edges": [[1, 0], [1, 2], [6, 3], [3, 4], [8, 5], [0, 6], [6, 7], [2, 8]],
    });
    assert_eq!(answer["trees"][0], first);
    assert_eq!(answer["trees"].as_array().unwrap().len(), 2);
    assert_eq!(answer["unused"], json!([[0, 2], [4, 7]]));
    assert_eq!(answer["combined_diameter"], 5);
    assert_eq!(answer["average_distance"], 35.0 / 18.0);
    assert_eq!((&answer["topology"], &answer["construction"]), (&json!("torus:3x3"), &json!("dstm-1")));
    assert_eq!((&answer["failed"], &answer["cut"]), (&json!([]), &json!([])));
    assert_eq!((&answer["with_cut"], &answer["limit"]), (&Value::Null, &Value::Null));
}

/// Links are used once, and two not at all, parallel ones in tori of two rows included.
#[test]
fn every_link_is_in_one_tree_or_unused() {
    for (topology, routers) in [("torus:2x2", 4), ("torus:2x7", 14), ("torus:6x5", 30)] {
        for construction in ["dstm-1", "dstm-2", "dstm-tarjan"] {
            let seed: &[&str] = if construction == "dstm-tarjan" { &["--seed", "5"] } else { &[] };
            let answer = answer(&[&[topology, "--construction", construction], seed].concat());
            let mut all = links(&answer["unused"]);
            assert_eq!(all.len(), 2);
            for tree in answer["trees"].as_array().unwrap() {
                let edges = links(&tree["edges"]);
                assert_eq!(edges.len(), routers - 1);
                all.extend(edges);
            }
            all.sort_unstable();
            let network = wormcast(&["topology", topology, "--format", "edge-list"]).success();
            let mut expected: Vec<(u64, u64)> = network
                .lines()
                .filter(|line| !line.starts_with('#'))
                .filter_map(|line| line.split_once(' '))
                .map(|(u, v)| (u.parse().unwrap(), v.parse().unwrap()))
                .map(|(u, v): (u64, u64)| (u.min(v), u.max(v)))
                .collect();
            expected.sort_unstable();
            assert_eq!(all, expected, "{construction} on {topology}");
        }
    }
}

#[test]
fn text_is_for_people() {
    let expected = "\
dstm-1 on torus:4x4
  trees             2
  unused links      2: 0,0 - 3,0; 2,2 - 2,3
  combined diameter 6
  average distance  2.717

tree  root     height  binary  branches at the root
0     2,0      5       yes     11, 4 routers
1     2,0      5       yes     4, 11 routers
";
    assert_eq!(trees(&["torus:4x4", "--construction", "dstm-1"]).success(), expected);
    let expected = "\
dstm-tarjan on petersen
  trees             1
  unused links      6: 1 - 2; 3 - 4; 4 - 9; 5 - 7; 5 - 8; 6 - 8
  combined diameter 8
  average distance  3.511
  no more trees     15 links between 10 groups of routers, and 2 trees need 18
";
    let text = trees(&["petersen", "--construction", "dstm-tarjan"]).success();
    let (figures, _) = text.split_once("\ntree").unwrap();
    assert_eq!(figures, expected);
}

#[test]
fn a_failed_link_cuts_a_tree_or_is_gone_around() {
    let intact = answer(&["torus:5x5", "--construction", "dstm-1"]);
    let arguments = ["torus:5x5", "--construction", "dstm-1", "--failed-link", "1,0-2,0"];
    let left = answer(&arguments);
    assert_eq!(left["failed"], json!([[1, 2]]));
    assert_eq!(left["trees"], json!([intact["trees"][1]]));
    assert_eq!(left["cut"][0]["edges"].as_array().unwrap().len(), 23);
    assert!(!links(&left["cut"][0]["edges"]).contains(&(1, 2)));
    let diameter = |answer: &Value| answer["combined_diameter"].as_u64().unwrap();
    // What is left of the cut tree shortens some ways; a whole tree more.
    assert!(diameter(&left) >= diameter(&left["with_cut"]) && diameter(&left["with_cut"]) >= diameter(&intact));

    let repaired = answer(&[&arguments[..], &["--repair"]].concat());
    let two: BTreeSet<_> =
        repaired["trees"].as_array().unwrap().iter().flat_map(|tree| links(&tree["edges"])).collect();
    assert_eq!((two.len(), links(&repaired["unused"]).len()), (48, 1));
    assert!(!two.contains(&(1, 2)));
    assert_eq!(repaired["cut"], json!([]));

    let around = answer(&["torus:5x5", "--construction", "dstm-tarjan", "--failed-link", "1-2"]);
    assert_eq!(around["trees"].as_array().unwrap().len(), 2);
    assert!(around["trees"].as_array().unwrap().iter().all(|tree| !links(&tree["edges"]).contains(&(1, 2))));

    let text = trees(&arguments).success();
    assert!(text.contains("  failed links      1,0 - 2,0\n  trees             1\n  cut by failures   1\n"), "{text}");
    assert!(text.contains(", with what is left of cut trees\n"), "{text}");
}

/// The first of two parallel links, then the second.
#[test]
fn parallel_links_fail_one_by_one() {
    let failed = |arguments: &[&str]| answer(&[&["torus:2x3", "--construction", "dstm-tarjan"], arguments].concat());
    assert_eq!(failed(&["--failed-link", "0-1"])["trees"].as_array().unwrap().len(), 2);
    let both = failed(&["--failed-link", "0-1", "--failed-link", "1-0"]);
    assert_eq!(both["failed"], json!([[0, 1], [1, 0]]));
    assert!(both["trees"].as_array().unwrap().iter().all(|tree| !links(&tree["edges"]).contains(&(0, 1))));
    let message = trees(&[
        "torus:2x3",
        "--construction",
        "dstm-1",
        "--failed-link",
        "0-1",
        "--failed-link",
        "0-1",
        "--failed-link",
        "0-1",
    ])
    .bad_input();
    assert!(message.contains("links between routers 0 and 1 already failed"), "{message}");
}

#[test]
fn as_many_trees_as_there_are_and_why_not_more() {
    let answer = answer(&["torus:3x3x3", "--construction", "dstm-tarjan", "--best", "5"]);
    assert_eq!(answer["trees"].as_array().unwrap().len(), 3);
    assert_eq!(answer["limit"]["allows"], 3);
    assert_eq!(answer["limit"]["parts"].as_array().unwrap().len(), 27);
    assert_eq!(answer["limit"]["crossing"], 81);
    let message = trees(&["torus:3x3x3", "--construction", "dstm-tarjan", "--trees", "4"]).bad_input();
    assert_eq!(
        message,
        "error: `torus:3x3x3` has 3 edge-disjoint spanning trees, not 4: routers can be put into 27 groups with only 81 links \
         between them, and 4 trees need 104\n"
    );
}

#[test]
fn starting_nodes_directions_and_roots_can_be_chosen() {
    let arguments =
        ["torus:5x5", "--construction", "dstm", "--first", "1,1", "--second", "3,1", "--method", "-x+y+y-x"];
    let root = |balance: &[&str]| {
        let answer = answer(&[&arguments[..], balance].concat());
        [0, 1].map(|tree: usize| answer["trees"][tree]["root"].as_u64().unwrap())
    };
    assert_eq!(root(&[]), [8, 8]);
    assert_eq!(root(&["--balance", "none"]), [6, 8]);
    let unused = |balance| links(&answer(&[&arguments[..], &["--balance", balance]].concat())["unused"]);
    assert_eq!(unused("none"), [(3, 8), (6, 7)]);
    // Half of column 3 has moved: from (3,1) upwards two routers, downwards two.
    assert_eq!(unused("branch"), [(6, 7), (18, 23)]);
}

#[test]
fn svg_has_a_panel_for_each_tree() {
    let svg = trees(&["torus:4x4x4", "--construction", "dstm-tarjan", "--format", "svg"]).success();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<title>root ").count(), 3);
}

#[test]
fn bad_input_is_explained() {
    let message = |arguments: &[&str]| trees(arguments).bad_input();
    assert!(message(&["torus:4x4", "--construction", "dstm1"]).contains("did you mean 'dstm-1'?"));
    assert_eq!(
        message(&["mesh:4x4", "--construction", "dstm-1"]),
        "error: `dstm-1` needs a torus of two dimensions, each of at least 2 routers, but `mesh:4x4` is a 2-D mesh; \
         `dstm-tarjan` finds trees of every network\n"
    );
    let with = |more: &[&str]| message(&[&["torus:4x4", "--construction", "dstm-1"], more].concat());
    let no_link = |text: &str| {
        let expected = "expected two routers that are joined, 0 to 15, as in `0-1` or `0,0-1,0`";
        assert_eq!(
            with(&["--failed-link", text]),
            format!("error: `{text}` is not a link of `torus:4x4`: {expected}\n")
        );
    };
    no_link("0");
    no_link("0-99");
    assert_eq!(
        with(&["--failed-link", "0-2"]),
        "error: `0-2`: `torus:4x4` has no link between routers 0 and 2; router 0 is joined to 1, 3, 4, 12\n"
    );
    assert_eq!(
        with(&["--failed-link", "0-1", "--failed-link", "0-3", "--failed-link", "0-4", "--failed-link", "0-12"]),
        "error: `torus:4x4` without the failed links is not connected: no link joins router 0 to the rest\n"
    );
    let elsewhere = |topology| message(&[topology, "--construction", "dstm-1"]);
    let needs = "error: `dstm-1` needs a torus of two dimensions, each of at least 2 routers, but";
    let instead = "`dstm-tarjan` finds trees of every network\n";
    assert_eq!(elsewhere("torus:4x4x4"), format!("{needs} `torus:4x4x4` is a torus of 4 x 4 x 4 routers; {instead}"));
    assert_eq!(elsewhere("torus:1x5"), format!("{needs} `torus:1x5` is a torus of 1 x 5 routers; {instead}"));
    assert!(
        with(&["--second", "16"]).contains("`16` is not a starting node in `torus:4x4`: expected a router, by its number from 0 to 15 or by its coordinates")
    );
    let tarjan = message(&["torus:4x4", "--construction", "dstm-tarjan", "--second", "5"]);
    assert!(
        tarjan.contains("has no choice of the second starting node: `dstm-1`, `dstm-2` and `dstm` have"),
        "{tarjan}"
    );
    assert!(with(&["--method", "+x"]).contains("expected x and y of the first tree, then y and x of the second"));
    assert!(with(&["--balance", "roots"]).contains("did you mean 'root'?"));
    assert!(with(&["--first", "4,4"]).contains("dimension 0 of torus:4x4 goes from 0 to 3"));
}

#[test]
fn one_tree_from_its_root_has_nothing_to_balance() {
    for (balance, said) in
        [("none", "`spam` has no choice of where roots are"), ("branch", "`spam` has no choice of moved")]
    {
        let run = trees(&["mesh:4x4", "--construction", "spam", "--balance", balance]);
        assert!(run.bad_input().contains(said), "{balance}");
    }
}
