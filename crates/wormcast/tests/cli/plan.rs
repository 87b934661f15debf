//! `wormcast plan`.

use serde_json::json;

use crate::wormcast;

/// Arguments for a plan on an 8x8 mesh.
fn on_mesh<'a>(algorithm: &'a str, source: &'a str, destinations: &'a str) -> Vec<&'a str> {
    let fixed = ["plan", "--topology", "mesh:8x8", "--algorithm"];
    [&fixed[..], &[algorithm, "--source", source, "--destinations", destinations]].concat()
}

#[test]
fn options_without_effect_are_told() {
    let plan = ["plan", "--topology", "mesh:4x4", "--source", "0", "--destinations", "5;10", "--seed", "1"];
    let said = |more: &[&str]| {
        let outcome = wormcast(&[&plan[..], more].concat());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        outcome.stderr
    };
    assert_eq!(
        said(&["--algorithm", "dual-path", "--flit-bits", "8"]),
        "warning: `--seed` makes no difference: `dual-path` makes no random choices\n\
         warning: `--flit-bits` makes no difference: no header of `dual-path` encodes destinations\n"
    );
    assert_eq!(said(&["--algorithm", "dstm-tarjan"]), "");
}

/// The reverse of a YX tree: along the row first.
#[test]
fn a_reduction_is_the_tree_in_reverse() {
    let arguments = ["plan", "--topology", "mesh:4x4", "--algorithm", "yx-mask", "--source", "1,1"];
    let arguments = [&arguments[..], &["--destinations", "0,0;2,0;0,2;2,2", "--reduction"]].concat();
    let text = wormcast(&arguments).success();
    let end = "\
reduction to 1,1: 4 contributors combined in 3 routers, depth 2
alone: startup + 3 x (routing delay + 1) + flits, in cycles
several at once can deadlock, unless they share no channel and no contributor

router  goes to   combines
1,0     1,1       from 2,0, from 0,0
1,2     1,1       from 2,2, from 0,2
1,1     the root  from 1,2, from 1,0
";
    assert!(text.ends_with(end), "{text}");
    let json = wormcast(&[&arguments[..], &["--format", "json"]].concat()).json();
    assert_eq!(
        json["reduction"],
        json!({
            "root": 5, "contributors": [0, 2, 8, 10], "depth": 2,
            "channels": [[8, 9], [10, 9], [0, 1], [2, 1], [1, 5], [9, 5]],
            "joins": [
                { "router": 1, "inputs": [[2, 1], [0, 1]], "nodes": [], "output": [1, 5] },
                { "router": 9, "inputs": [[10, 9], [8, 9]], "nodes": [], "output": [9, 5] },
                { "router": 5, "inputs": [[9, 5], [1, 5]], "nodes": [], "output": null },
            ],
        })
    );
    let refused = |more: &[&str]| wormcast(&[&arguments[..], more].concat()).bad_input();
    assert!(refused(&["--format", "svg"]).contains("`--reduction` is text or JSON"));
    let separate = [&on_mesh("separate", "0", "1;2")[..], &["--reduction"]].concat();
    let separate = wormcast(&separate).bad_input();
    assert!(
        separate.contains("a reduction is one tree in reverse, and this plan has 2 worms; expected an algorithm"),
        "{separate}"
    );
}

#[test]
fn json_is_as_documented() {
    let arguments = [on_mesh("pure-negative-first", "28", "33;41"), vec!["--format", "json"]].concat();
    assert_eq!(
        wormcast(&arguments).success(),
        "{\"topology\":\"mesh:8x8\",\"algorithm\":\"pure-negative-first\",\"source\":28,\"destinations\":[33,41],\
         \"worms\":[{\"id\":0,\"from\":28,\"after\":null,\"step\":1,\"visits\":[33,41],\
         \"channels\":[[28,27],[27,26],[26,25],[25,33],[33,41]]}],\"startups\":1,\"steps\":1,\"channels\":5,\"longest\":5,\"contention\":null}\n"
    );
}

#[test]
fn coordinates_and_numbers_give_the_same_plan() {
    let numbers = [on_mesh("dual-path", "28", "33;41;58"), vec!["--format", "json"]].concat();
    let coordinates = [on_mesh("dual-path", "4,3", "1,4;1,5;2,7"), vec!["--format", "json"]].concat();
    assert_eq!(wormcast(&numbers).success(), wormcast(&coordinates).success());
}

/// The example of paper 1, section 3.2.
#[test]
fn text_lists_the_worms() {
    let destinations = "1,4;1,5;2,7;5,4;6,5;6,7;7,4;0,2;2,0;2,2;2,3;3,1;3,2;4,2;5,0;5,1;5,2;7,2";
    let expected = "\
pure-negative-first on mesh:8x8: 3 worms from 4,3 to 18 destinations
startups 3, steps 3, channels 42, longest 18
contention-free

worm  from  after  step  channels  visits
0     4,3   -      1     18        4,2 > 3,2 > 3,1 > 0,2 > 1,4 > 1,5 > 2,7 > 6,7
1     4,3   -      2     14        2,0 > 5,0 > 5,1 > 5,2 > 7,2 > 7,4
2     4,3   -      3     10        2,2 > 2,3 > 5,4 > 6,5
";
    assert_eq!(wormcast(&on_mesh("pure-negative-first", "4,3", destinations)).success(), expected);
}

#[test]
fn all_ports_take_fewer_steps() {
    let steps = |ports| {
        let arguments = [on_mesh("separate", "27", "26;28;19;35"), vec!["--format", "json", "--ports", ports]].concat();
        wormcast(&arguments).json()["steps"].clone()
    };
    assert_eq!((steps("one"), steps("all")), (json!(4), json!(1)));
}

#[test]
fn somebody_has_to_be_sent_to() {
    // The source has the message.
    for destinations in ["28", "4,3;28"] {
        let message = wormcast(&on_mesh("column-path", "28", destinations)).bad_input();
        assert_eq!(message, "error: no destination but the source, node 28: expected at least one other node\n");
    }
    for destinations in ["", ";", " ; "] {
        let message = wormcast(&on_mesh("column-path", "28", destinations)).bad_input();
        assert!(message.starts_with("error: `--destinations` is empty: expected nodes separated by `;`"), "{message}");
    }
    let plan = wormcast(&[on_mesh("column-path", "28", "28;29"), vec!["--format", "json"]].concat());
    assert_eq!((plan.code, plan.stderr.as_str()), (0, "warning: 4,3 is the source, not a destination\n"));
    assert!(plan.stdout.contains("\"destinations\":[29]"), "{}", plan.stdout);
}

#[test]
fn pictures() {
    let picture =
        |format| wormcast(&[on_mesh("column-path", "28", "33;41;7;0"), vec!["--format", format]].concat()).success();
    let svg = picture("svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("worm 2 from 4,3"));
    let dot = picture("dot");
    assert!(dot.starts_with("digraph \"mesh:8x8\" {\n") && dot.ends_with("}\n"));
    assert!(dot.contains("  28 [label=\"4,3\"") && dot.contains("  28 -> 27 [label=\"0\""));
}

#[test]
fn bad_input_is_explained() {
    let message = |algorithm, source, destinations| wormcast(&on_mesh(algorithm, source, destinations)).bad_input();
    let unknown = message("dualpath", "0", "1");
    assert!(unknown.starts_with("error: invalid value 'dualpath' for '--algorithm <NAME>'"), "{unknown}");
    assert!(unknown.contains("did you mean 'dual-path'?"), "{unknown}");
    assert_eq!(
        message("dual-path", "8,0", "1"),
        "error: node 8,0 is out of range: dimension 0 of mesh:8x8 goes from 0 to 7\n"
    );
    assert_eq!(
        message("dual-path", "0", "1;x"),
        "error: `x` is not a node: expected a number from 0 to 63, or 2 coordinates such as `0,0`\n"
    );
    let torus = ["plan", "--topology", "torus:4x4", "--algorithm", "dual-path", "--source", "0", "--destinations", "1"];
    assert_eq!(
        wormcast(&torus).bad_input(),
        "error: `dual-path` needs a mesh, but `torus:4x4` is a torus; for this one there is `dstm-1`, `dstm-2` and `dstm-tarjan-path`\n"
    );
    assert!(wormcast(&["plan", "--topology", "mesh:4x4"]).bad_input().contains("--algorithm <NAME>"));
}

/// Paper 2, Figure 8(c).
#[test]
fn hypercube_trees_have_the_steps_of_the_paper() {
    let plan = |ports| {
        wormcast(&[
            &["plan", "--topology", "hypercube:4", "--algorithm", "w-sort", "--source", "0", "--format", "json"][..],
            &["--destinations", "1;3;5;7;11;12;14;15", "--ports", ports],
        ].concat()).json()
    };
    let all = plan("all");
    let steps: Vec<_> = all["worms"].as_array().unwrap().iter().map(|worm| worm["step"].clone()).collect();
    assert_eq!(json!(steps), json!([1, 1, 1, 1, 2, 2, 2, 2]));
    assert_eq!((&all["steps"], &all["contention"]), (&json!(2), &json!(null)));
    assert_eq!(
        all["worms"][4],
        json!({"id":4,"from":14,"after":0,"step":2,"visits":[11],"channels":[[14,10],[10,11]]})
    );
    assert_eq!(plan("one")["steps"], json!(4));
}

#[test]
fn a_broadcast_needs_no_list() {
    let fixed = ["plan", "--topology", "hypercube:3", "--algorithm", "u-cube", "--source", "5", "--destinations"];
    let plan = |list| wormcast(&[&fixed[..], &[list]].concat()).success();
    // A list that names the source is warned of.
    assert_eq!(plan("all"), plan("0;1;2;3;4;6;7"));
    let expected = "\
u-cube on hypercube:3: 7 worms from 5 to 7 destinations
startups 3, steps 3, channels 7, longest 1
contention-free

worm  from  after  step  channels  visits
0     5     -      1     1         1
1     5     -      2     1         7
2     5     -      3     1         4
3     1     0      2     1         3
4     1     0      3     1         0
5     7     1      3     1         6
6     3     3      3     1         2
";
    assert_eq!(plan("all"), expected);
}

#[test]
fn algorithms_say_which_network_they_need() {
    let message = |topology, algorithm| {
        wormcast(&["plan", "--topology", topology, "--algorithm", algorithm, "--source", "0", "--destinations", "1"])
            .bad_input()
    };
    assert_eq!(
        message("mesh:4x4", "combine"),
        "error: `combine` needs a hypercube, but `mesh:4x4` is a 2-D mesh; for this one there is `u-mesh`\n"
    );
    assert_eq!(
        message("torus:4x4", "u-mesh"),
        "error: `u-mesh` needs a mesh, but `torus:4x4` is a torus; for this one there is `dstm-1`, `dstm-2` and `dstm-tarjan-path`\n"
    );
    assert_eq!(
        message("mesh:4x4x4", "schl"),
        "error: `schl` needs a 2-D mesh, but `mesh:4x4x4` is a 3-D mesh; for this one there is `pure-negative-first`, `minimal-negative-first`, \
         `minimal-negative-first-optimal`, `bounded-negative-first` and `dual-path`\n"
    );
}

#[test]
fn tree_one_shows_its_covering_matrices() {
    let fixed = ["plan", "--topology", "mesh:3x2", "--source", "0", "--destinations", "5;4", "--algorithm"];
    let text = |algorithm| wormcast(&[&fixed[..], &[algorithm]].concat()).success();
    let expected = "
covering matrix at 0,0 (the source): hops from next routers, X: no route, *: taken
next  1,1   2,1
1,0     1*    2*
0,1     1     2

covering matrix at 1,0 (from 0,0): hops from next routers, X: no route, *: taken
next  1,1   2,1
2,0     2     1
1,1     0*    1*

covering matrix at 1,1 (from 1,0): hops from next routers, X: no route, *: taken
next  2,1
0,1     X
2,1     0*
";
    let one = text("tree-one");
    assert!(one.ends_with(expected), "{one}");
    assert!(!text("tree-zero").contains("covering"));
}

#[test]
fn trees_say_whether_they_are_exact() {
    let on_line = |algorithm, destinations| {
        let fixed = ["plan", "--topology", "mesh:20", "--source", "3", "--algorithm"];
        wormcast(&[&fixed[..], &[algorithm, "--destinations", destinations]].concat()).success()
    };
    let expected = "\
tree-infinity on mesh:20: 1 worm from 3 to 2 destinations
startups 1, steps 1, channels 4, longest 3
contention-free
exact: no plan of this kind has fewer channels

worm  from  after  step  channels  visits
0     3     -      1     4         2 > 6
";
    assert_eq!(on_line("tree-infinity", "6;2"), expected);
    assert!(on_line("tree-infinity", "all").contains("\nnot exact: found by a heuristic\n"));
    assert!(!on_line("tree-one", "6;2").contains("exact"));
}

/// One link of a tree has failed: with local information the worm is absorbed before it and sent on.
#[test]
fn failed_links() {
    let arguments = |more: &[&'static str]| -> Vec<String> {
        let base =
            ["plan", "--topology", "torus:4x4", "--algorithm", "dstm-1", "--source", "0", "--destinations", "all"];
        base.iter().chain(&["--format", "json"]).chain(more).map(ToString::to_string).collect()
    };
    let json = |arguments: &[String]| -> serde_json::Value {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        serde_json::from_str(&wormcast(&arguments).success()).unwrap()
    };
    let whole = json(&arguments(&[]));
    let header = whole["worms"][0]["header"].as_array().unwrap();
    assert!(header.len() >= 15, "a flit for each destination");
    // The first branch below the lowest common ancestor fails.
    let link = format!("--failed-link={}-{}", header[0]["node"], header[0]["outputs"][0]);
    let around = json(&[arguments(&[]), vec![link.clone()]].concat());
    assert_eq!(around["worms"].as_array().unwrap().len(), 1);
    let sent_on = json(&[arguments(&["--local-information"]), vec![link]].concat());
    assert_eq!(sent_on["worms"].as_array().unwrap().len(), 2);
}

/// A node that gets a worm only to send it on is marked; one that wants the message as well is not.
#[test]
fn who_absorbs_a_worm_is_marked() {
    let base = ["plan", "--topology", "torus:4x4", "--algorithm", "dstm-1"];
    let with = |more: &[&str]| wormcast(&[&base, more].concat()).success();
    // In some tree the way from 0 to another node is over a link behind its first, which fails.
    let mut absorbed = 0;
    for destination in ["5", "6", "7", "9", "10", "11", "13", "14", "15"] {
        let plain: serde_json::Value =
            serde_json::from_str(&with(&["--source", "0", "--destinations", destination, "--format", "json"])).unwrap();
        let channels = plain["worms"][0]["channels"].as_array().unwrap();
        let Some(link) = channels.get(1) else { continue };
        let failed = format!("--failed-link={}-{}", link[0], link[1]);
        let arguments = ["--local-information", "--source", "0", "--destinations", destination, &failed];
        let answer: serde_json::Value =
            serde_json::from_str(&with(&[&arguments[..], &["--format", "json"]].concat())).unwrap();
        assert_eq!(answer["worms"][0]["visits"], serde_json::json!([link[0]]));
        assert_eq!(answer["worms"][0]["absorbed"], serde_json::json!([link[0]]));
        assert_eq!(answer["worms"][1].get("absorbed"), None);
        assert!(with(&arguments).contains(" (absorbed)\n"));
        absorbed += 1;
    }
    assert!(absorbed > 5);
}

#[test]
fn links_that_cut_a_node_off_are_named() {
    let cut = ["0-1", "0-3", "0-4", "0-12"].map(|link| format!("--failed-link={link}"));
    for algorithm in ["spam", "dstm-1", "dstm-tarjan"] {
        let mut arguments = vec!["plan", "--topology", "torus:4x4", "--algorithm", algorithm];
        arguments.extend(["--source", "1", "--destinations", "2;3"]);
        arguments.extend(cut.iter().map(String::as_str));
        let message = wormcast(&arguments).bad_input();
        let expected = "`torus:4x4` without the failed links is not connected: no link joins router 0 to the rest";
        assert!(message.contains(expected), "{message}");
    }
}
