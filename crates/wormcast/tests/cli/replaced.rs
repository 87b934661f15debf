//! No output takes the place of what a user has, and what is refused leaves nothing behind.

use crate::folder::Folder;
use crate::small::{IDLE, VERSIONS, folder};

/// A file may be called as a variation of another one.
#[test]
fn a_table_of_other_settings_is_not_replaced_in_silence() {
    let few = IDLE.to_owned() + "stop.min_replications = 2\n";
    let folder = Folder::with(&[
        ("col.toml", &(few.clone() + "[variation.deep]\nseed = 5\n")),
        ("col-deep.toml", &(few + "seed = 7\n")),
    ]);
    for _ in 0..2 {
        folder.run(&["sweep", "col.toml", "--variation", "deep"]).success();
    }
    let other = folder.run(&["sweep", "col-deep.toml"]);
    assert!(
        other.code == 0
            && other.stderr.contains("`results/col-deep.csv` had results of other settings, and is replaced"),
        "{other:?}"
    );
    let named = folder.run(&["sweep", "col.toml", "--name", "col-deep"]);
    assert!(named.stderr.contains("and another `--name` gives files another name"), "{named:?}");
}

/// It made a folder with an empty store.
#[test]
fn a_comparison_that_is_refused_leaves_nothing() {
    let sweep = "[sweep]\nalgorithm = [\"dual-path\", \"column-path\"]\n";
    let folder = Folder::with(&[("two.toml", &format!("{IDLE}{sweep}"))]);
    for (arguments, said) in [
        (&["dual-path", "columnpath"][..], "`columnpath` is no value of `algorithm`"),
        (&["dual-path", "dual-path"], "expected each series once"),
        (&["--y", "latency.unicast"], "latency.unicast"),
        (&["--set", "topology=hypercube:4"], "needs a"),
    ] {
        let message = folder.run(&[&["compare"], arguments, &["two.toml", "--out", "nr"]].concat()).bad_input();
        assert!(message.contains(said), "{message}");
        assert!(!folder.path().join("nr").exists(), "{arguments:?}");
    }
}

#[test]
fn no_file_of_the_users_is_replaced_in_silence() {
    let folder = folder();
    let few = ["--set", "stop.min_replications=2", "--set", "stop.max_replications=2", "--out", "."];
    folder.write("idle.csv", b"a,b\n1,2\n");
    folder.write("mine-report.md", b"# Mine\n");
    let named = ["--name", "idle"];
    let swept = folder.run(&[&["sweep", "idle.toml"], &few[..], &named].concat());
    assert!(
        swept.code == 0 && swept.stderr.contains("`./idle.csv` was no table of results, and is replaced"),
        "{swept:?}"
    );
    let again = folder.run(&[&["sweep", "idle.toml"], &few[..], &named].concat());
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    let report = ["report", "idle.toml"];
    let told = folder.run(&[&report[..], &few[..], &["--name", "mine"]].concat());
    assert!(told.stderr.contains("`./mine-report.md` was no report, and is replaced"), "{told:?}");
    // What the experiment reads is none of its results.
    folder.write("n-report.md", b"0 1\n1 2\n2 0\n");
    let read =
        ["--set", "topology=./n-report.md", "--set", "algorithm=tree-one", "--set", "traffic.multicast.destinations=1"];
    folder.run(&[&["sweep", "idle.toml"], &few[..], &read, &["--name", "n"]].concat()).success();
    let refused = folder.run(&[&report[..], &few[..], &read, &["--name", "n"]].concat()).bad_input();
    assert!(refused.contains("read as `topology`") && folder.read("n-report.md").starts_with("0 1"), "{refused}");
}

/// A name that was left out let an output take the place of what was to be read.
#[test]
fn no_output_replaces_an_experiment_a_network_or_a_store() {
    let folder = Folder::with(&[("my.toml", VERSIONS), ("my.edges", "0 1\n1 2\n")]);
    folder.run(&["sweep", "my.toml"]).success();
    for option in ["--deliveries", "--timeline", "--channels", "--replay", "--waits", "--heat-map"] {
        for (file, kind) in [("my.toml", "an experiment"), ("results/store.db", "a result store")] {
            let before = folder.bytes(file);
            let said = folder.run(&["simulate", option, file]).bad_input();
            assert!(
                said.contains(&format!("`{option}` would replace `{file}`, {kind}: choose another file")),
                "{said}"
            );
            assert_eq!(folder.bytes(file), before);
        }
    }
    for option in ["--export", "--links", "--numbering"] {
        let said = folder.run(&["routing", "--topology=mesh:3x3", "--routing=up-down", option, "my.edges"]).bad_input();
        assert!(said.contains("would replace `my.edges`, a network"), "{said}");
    }
    // Whatever they are called, and what is not read at all.
    folder.write("my.exp", VERSIONS.as_bytes());
    for (option, file) in [("--replay", "a.replay"), ("--deliveries", "b.csv")] {
        folder
            .run(&[
                "simulate",
                "my.toml",
                "--set=algorithm=dual-path",
                "--set=traffic.arrivals.rate=0.01",
                option,
                file,
            ])
            .success();
    }
    for file in ["t.lfts", "t.mcfdbs", "t.trace"] {
        folder.write(file, b"not empty\n");
    }
    for (file, kind) in [
        ("my.exp", "an experiment"),
        ("a.replay", "a recorded run"),
        ("t.lfts", "forwarding tables"),
        ("t.mcfdbs", "multicast tables"),
        ("t.trace", "a trace of messages"),
    ] {
        let before = folder.bytes(file);
        let said = folder.run(&["simulate", "--timeline", file]).bad_input();
        assert!(said.contains(&format!("`--timeline` would replace `{file}`, {kind}: choose another file")), "{said}");
        assert_eq!(folder.bytes(file), before);
    }
    // Also under the names that other programs give them.
    let fabric = include_str!("../../../../examples/fabric.net");
    let tables = include_str!("../../../../examples/fabric.lfts");
    let groups = include_str!("../../../../examples/fabric.mcfdbs");
    let node_link = r#"{"directed": false, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}"#;
    for (file, text, kind) in [
        ("n.ibnetdiscover", "anything", "a network"),
        ("n.anynet", "anything", "a network"),
        ("n.txt", fabric, "a network"),
        ("n.xml", "<?xml version='1.0'?>\n<graphml></graphml>\n", "a network"),
        ("n.json", node_link, "a network"),
        ("n", "# a ring\n0 1\n1 2\n2 0\n", "a network"),
        ("routers", "router 0 node 0 router 1\n", "a network"),
        ("opensm-lfts.dump", tables, "forwarding tables"),
        ("opensm.fdbs", "osm_ucast_mgr_dump_ucast_routes: Switch 0x1\n", "forwarding tables"),
        ("opensm-lid-matrix.dump", "Switch: guid 0x0000000000200000\n", "forwarding tables"),
        ("groups", groups, "multicast tables"),
        ("burst.txt", "# cycle, source, flits, destinations\n0 0,0 32 3,3;1,2\n", "a trace of messages"),
    ] {
        folder.write(file, text.as_bytes());
        let said = folder.run(&["simulate", "--timeline", file]).bad_input();
        assert!(said.contains(&format!("`--timeline` would replace `{file}`, {kind}: choose another file")), "{said}");
        assert_eq!(folder.bytes(file), text.as_bytes());
    }
    // Files of the kind that an option writes are replaced.
    let again = ["simulate", "my.toml", "--set=algorithm=dual-path", "--set=traffic.arrivals.rate=0.01"];
    folder.run(&[&again[..], &["--replay=a.replay", "--deliveries=b.csv"]].concat()).success();
    for _ in 0..2 {
        folder.run(&["routing", "--topology=mesh:3x3", "--routing=up-down", "--export", "t.lfts"]).success();
    }
    let every = ["--deliveries=d.csv", "--timeline=d.json", "--channels=d2.csv", "--heat-map=d.svg"];
    for _ in 0..2 {
        folder.run(&[&again[..], &every].concat()).success();
        let routing = ["routing", "--topology=mesh:3x3", "--routing=up-down", "--links=l.csv", "--numbering=l2.csv"];
        folder.run(&routing).success();
    }
    let store = folder.run(&["sweep", "results/store.db"]).bad_input();
    assert!(store.contains("this is a result store, which `--store` takes"), "{store}");
    let named = folder.run(&["sweep", "--name", "my.toml"]).bad_input();
    assert!(named.contains("is the name of a file"), "{named}");
}

#[test]
fn names_of_files_fit_what_is_written() {
    let folder = folder();
    folder.write("base2.toml", IDLE.as_bytes());
    let arrivals = IDLE.lines().find(|line| line.contains("arrivals")).unwrap();
    let traced = IDLE.replace(arrivals, "traffic.trace = 'lat.trace'").replace("traffic.length = 16\n", "");
    let traced = traced.replace("traffic.multicast.destinations = 4\nrun.messages = 100\n", "");
    folder.write("t.toml", traced.as_bytes());
    folder.write("net.edges", b"0 1\n1 2\n");
    for (command, option, name, ending) in [
        ("simulate idle.toml", "--timeline", "t.svg", "`.json`"),
        ("simulate idle.toml", "--replay", "r.json", "`.replay`"),
        ("routing --topology=mesh:3x3 --routing=e-cube", "--numbering", "n.toml", "`.csv`"),
        ("routing --topology=net.edges --routing=up-down", "--export", "x.csv", "`.lfts` or `.txt`"),
        ("routing --topology=torus:4 --routing=e-cube --reachable", "--witness", "w.csv", "`.trace`"),
    ] {
        let words: Vec<&str> = command.split(' ').chain([option, name]).collect();
        let said = folder.run(&words).bad_input();
        let expected = format!("`{option}` writes no `{name}`: expected a name that ends in {ending}");
        assert!(said.contains(&expected), "{said}");
        assert!(!folder.path().join(name).exists());
    }
    for command in ["sweep idle.toml", "merge idle.toml", "reproduce paper-1-table-1"] {
        let said = folder.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["--store=s.csv"]].concat()).bad_input();
        assert!(said.contains("of another kind: expected one that ends in `.db`"), "{said}");
    }
    // The file that may be meant where there is none.
    for (command, meant) in [
        ("sweep base2", "did you mean `base2.toml`?"),
        ("compare base2", "did you mean the file `base2.toml`?"),
        ("sweep idel.toml", "did you mean `idle.toml`?"),
        ("topology ./net.edge", "did you mean `./net.edges`?"),
        ("simulate t.toml", "did you mean `late.trace`?"),
        ("routing --topology=net.edges --tables=net.edgs", "did you mean `net.edges`?"),
        ("reproduce paper-1-table-1 --explain 100", "as in `--explain=100`"),
    ] {
        let said = folder.run(&command.split(' ').collect::<Vec<_>>()).bad_input();
        assert!(said.contains(meant), "{command}: {said}");
    }
    let axis = folder.run(&[
        "sweep",
        "idle.toml",
        "--set=run.mode=plan",
        "--set=sweep.seed=[1, 2]",
        "--set=plot.x=offered_load",
    ]);
    let axis = axis.bad_input();
    assert!(axis.contains("is not measured in this experiment") && axis.contains("expected one of seed"), "{axis}");
}
