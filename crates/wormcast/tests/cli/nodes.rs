//! Nodes and routers by number and by name, and the files that have them.

use crate::folder::Folder;
use crate::small::{IDLE, fabric};

/// `BookSim` has no ending of its own.
#[test]
fn an_anynet_file_may_be_called_net() {
    let anynet = "router 0 node 0 router 1\nrouter 1 node 1\n";
    let folder = Folder::with(&[("z.net", anynet), ("z.anynet", anynet)]);
    let of = |name: &str| folder.run(&["topology", name, "--format=json"]).success().replace(name, "z");
    assert_eq!(of("z.net"), of("z.anynet"));
}

/// Editors of graphs call vertices 1, 2, 3; numbers of nodes begin with 0.
#[test]
fn names_that_are_numbers_of_others_are_warned_of() {
    let vertices = (0..4).map(|id| format!("<node id='n{id}'><data key='l'>{}</data></node>", id + 1));
    let edges = (0..3).map(|id| format!("<edge source='n{id}' target='n{}'/>", id + 1));
    let inner = vertices.chain(edges).collect::<Vec<_>>().concat();
    let key = "<key id='l' for='node' attr.name='label' attr.type='string'/>";
    let graph = format!("<graphml>{key}<graph edgedefault='undirected'>{inner}</graph></graphml>");
    let folder = Folder::with(&[("idle.toml", IDLE), ("yed.graphml", &graph)]);
    let warned = "is called `1`, and where nodes are asked for, 1 is the number of another one";
    let of = |destinations: &str| {
        let network = ["plan", "--topology", "yed.graphml", "--algorithm", "tree-one", "--source", "1"];
        folder.run(&[&network[..], &["--destinations", destinations]].concat())
    };
    let run = of("3");
    assert!(run.code == 0 && run.stderr.contains(warned), "{run:?}");
    // No node has the number 4, and one has this name.
    let last = of("4");
    assert!(last.code == 0 && last.stdout == run.stdout, "{last:?}");
    let request = r#"{"topology":"yed.graphml","algorithm":"tree-one","source":1,"destinations":[3]}"#;
    folder.write("requests.jsonl", request.as_bytes());
    let answer = folder.run(&["plan", "--batch", "requests.jsonl"]);
    assert!(answer.stdout.contains(warned), "{answer:?}");
    let simulated = ["simulate", "idle.toml", "--set=topology=yed.graphml", "--set=algorithm=tree-one"];
    let run = folder.run(&[&simulated[..], &["--set=traffic.multicast.destinations=2"]].concat());
    assert_eq!((run.code, run.stderr.matches(warned).count()), (0, 1), "{run:?}");
}

/// Names that are whole numbers, where they are the number of no router.
#[test]
fn routers_are_called_by_names_that_are_numbers() {
    let nodes = (1..=6).map(|name| format!(r#"{{"id": {name}, "label": "{name}"}}"#)).collect::<Vec<_>>().join(",");
    let links = (1..=6).map(|name| format!(r#"{{"source": {name}, "target": {}}}"#, name % 6 + 1));
    let links = links.collect::<Vec<_>>().join(",");
    let network =
        format!(r#"{{"directed": false, "multigraph": false, "graph": {{}}, "nodes": [{nodes}], "links": [{links}]}}"#);
    let folder = Folder::with(&[("one.json", network.as_str())]);
    let stdout = |arguments: &[&str]| {
        let run = folder.run(arguments);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    let rooted = |root: &str| stdout(&["routing", "--topology=one.json", "--routing=up-down", "--root", root]);
    assert_eq!(rooted("6"), rooted("5"));
    assert_ne!(rooted("6"), rooted("4"));
    let plan = ["plan", "--topology=one.json", "--algorithm=spam", "--source=2", "--destinations=3"];
    let plan = |link: &str| stdout(&[&plan[..], &["--failed-link", link]].concat());
    assert_eq!(plan("4-6"), plan("4-5"));
}

/// The option was asked for, though it was given.
#[test]
fn tables_of_groups_that_are_cut_are_told_of_by_all_who_read_them() {
    let folder = fabric();
    let whole = std::fs::read_to_string(folder.path().join("fabric.mcfdbs")).unwrap();
    let cut: String = whole.lines().take(7).flat_map(|line| [line, "\n"]).collect();
    folder.write("cut.mc", cut.as_bytes());
    let set = "--set=options.multicast_tables=cut.mc";
    let run = ["simulate", "fabric.toml", set, "--set=options.multicasts=tables"];
    let said = folder.run(&run).bad_input();
    let expected = "error: --set options.multicast_tables=cut.mc: `options.multicast_tables`: no group there has several nodes for multicasts to go to";
    assert!(
        said.starts_with(expected) && said.contains("cut.mc:6: ") && said.contains("is the file truncated?"),
        "{said}"
    );
    let none = folder.run(&["simulate", "fabric.toml", "--set=options={}", "--set=algorithm=tables"]).bad_input();
    assert!(
        none.contains("`tables` knows no group of several nodes; `tables` knows those of `options.multicast_tables`, if that is given"),
        "{none}"
    );
    let doubts = |run: &crate::Outcome| run.code == 0 && run.stderr.contains("is the file truncated?");
    let drawn = folder.run(&[&run[..], &["--set=traffic.multicast.destinations=2"]].concat());
    assert!(doubts(&drawn), "{drawn:?}");
    let plan = ["plan", "--topology=fabric.net", "--algorithm=tables", "--source=host1", "--destinations=host2"];
    let planned = folder.run(&[&plan[..], &["--option=multicast_tables=cut.mc"]].concat());
    assert!(doubts(&planned), "{planned:?}");
    // Whole lines, but not all of them.
    let first: String = whole.lines().take(4).flat_map(|line| [line, "\n"]).collect();
    folder.write("cut.mc", first.as_bytes());
    let analysed = ["routing", "--topology=fabric.net", "--algorithm=tables"];
    for command in [&plan[..], &analysed] {
        let run = folder.run(&[command, &["--option=multicast_tables=cut.mc"]].concat());
        assert!(run.stderr.contains("lacks entries of the group 0xc001 at rack6"), "{run:?}");
    }
}

/// Numbers are those of nodes where a network is no grid, in the messages too; routers have names of their own.
#[test]
fn the_root_of_trees_is_a_node_s_router_or_a_router_by_its_name() {
    let fabric = include_str!("../../../../examples/fabric.net");
    let text = "topology = 'fabric.net'\nalgorithm = 'spam'\nrun = { mode = 'trees' }\n";
    let folder = Folder::with(&[("fabric.net", fabric), ("trees.toml", text)]);
    let root = |topology: &str, first: &str| {
        let trees = ["trees", "--topology", topology, "--construction", "spam", "--format", "json", "--first", first];
        folder.run(&trees)
    };
    let root_of = |first: &str| root("fabric.net", first).json()["trees"][0]["root"].clone();
    assert_eq!(root_of("host5"), root_of("4"));
    assert_eq!(root_of("rack2"), 1);
    folder.run(&["sweep", "trees.toml", "--set", "options.first=rack2"]).success();
    let said = folder.run(&["sweep", "trees.toml", "--set", "options.first=rock"]).bad_input();
    let expected = "expected a router, by the number from 0 to 11 or name of one of its nodes, or by its own name";
    assert!(said.contains(&format!("`rock` is not a starting node in `fabric.net`: {expected}")), "{said}");
    for (given, meant) in [("Rack2", "rack2"), ("hots5", "host5")] {
        let said = root("fabric.net", given).bad_input();
        assert!(said.contains(&format!("{expected}; did you mean `{meant}`?")), "{said}");
    }
    let said = root("mesh:2x2,nodes=2", "4").bad_input();
    assert!(said.contains("expected a router, by its number from 0 to 3 or by its coordinates"), "{said}");
    let near = ["sweep", "trees.toml", "--set", "stop.confidence=0.9999999999999999"];
    assert!(folder.run(&near).bad_input().contains("is too near to 1 for a finite interval"));
}
