//! What is wrong with settings, in words about the file or the option that gives them.

use crate::folder::Folder;
use crate::small::{IDLE, VERSIONS, fabric, folder, refused};
use crate::wormcast;

#[test]
fn numbers_that_are_too_large_are_shown_as_they_were_given() {
    for setting in ["startup", "routing_delay", "receive_overhead", "strip_delay"] {
        let expected = "5000000000 is out of range: expected 0 to 268435456";
        refused(&[&format!("--set=timing.{setting}=5000000000")], expected);
    }
    for length in ["1000000000000", "9223372036854775807"] {
        let expected = format!("{length} is out of range: expected 1 to 16777216 flits");
        refused(&[&format!("--set=traffic.length={length}")], &expected);
    }
}

#[test]
fn what_is_missing_or_not_there_says_what_it_may_be() {
    refused(
        &["--set=traffic.arrivals={ rate = 1 }"],
        "missing setting `traffic.arrivals.process`: expected one of poisson, bernoulli, exponential, negative-binomial, burst",
    );
    refused(&["--set=plot.y=[]"], "the list is empty: expected the name of a quantity, or a list of them");
    let sweep = ["--set=sweep.algorithm=['dual-path', 'u-mesh']", "--set=sweep.traffic.arrivals.rate=[0.1, 0.2]"];
    let run = folder().run(&[&["sweep", "idle.toml", "--set=plot.x=traffic.length"][..], &sweep].concat());
    assert!(run.code == 2 && !run.stderr.contains("one of algorithm"), "{}", run.stderr);
}

/// The sweep gives a part of a table; what else the table needs an override has taken away.
#[test]
fn an_override_is_to_blame_for_what_it_takes_from_beside_what_is_swept() {
    let swept =
        format!("{IDLE}\n[sweep]\n\"traffic.arrivals.rate\" = [0.1, 0.2]\n[plot]\nx = \"traffic.arrivals.rate\"\n");
    let folder = Folder::with(&[("swept.toml", &swept), ("idle.toml", IDLE)]);
    let missing = "missing setting `traffic.arrivals.process`: expected one of poisson, ";
    for set in ["traffic={}", "traffic.arrivals={}"] {
        let run = folder.run(&["sweep", "swept.toml", "--set", set]);
        assert!(run.stderr.starts_with(&format!("error: --set {set}: {missing}")), "{}", run.stderr);
    }
    let set = "sweep.traffic.arrivals.rate=[0.1, 0.2]";
    let run = folder.run(&["sweep", "idle.toml", "--set", "traffic={}", "--set", set]);
    assert!(run.stderr.starts_with(&format!("error: --set traffic={{}}: {missing}")), "{}", run.stderr);
}

#[test]
fn a_number_is_told_as_it_was_given() {
    refused(
        &["--set=run.messages=1e2"],
        "number `1e2` with a point or an exponent, expected a whole number, at least 1",
    );
    refused(&["--set=run.messages=100.0"], "number `100.0` with a point or an exponent");
}

#[test]
fn what_is_beside_the_experiment_only_in_the_working_directory_is_found_out() {
    let folder = Folder::with(&[("B/e.toml", IDLE), ("net.edges", "0 1\n1 2\n"), ("net.lfts", "")]);
    for (setting, file) in [("topology", "net.edges"), ("options.tables", "net.lfts")] {
        let set = format!("--set={setting}={file}");
        let error = folder.run(&["simulate", "B/e.toml", &set]).bad_input();
        assert!(error.contains(&format!("cannot read `B/{file}`: No such file or directory")), "{error}");
        let whole = folder.path().join(file).display().to_string();
        let advice = format!("paths are relative to the experiment file: give the whole one, `{whole}`");
        assert!(error.replace('\n', " ").contains(&advice), "{error}");
    }
}

#[test]
fn slips_of_the_pen_are_recognised() {
    let trees = "topology = 'mesh:4x4'\nalgorithm = 'spam'\nrun.mode = 'trees'\nroot = 5\n";
    let trees = Folder::with(&[("trees.toml", trees)]).run(&["sweep", "trees.toml"]).bad_input();
    assert!(trees.contains("`options.first` says where trees begin") && trees.contains("trees.toml:4:"), "{trees}");
    let swept = ["--set=sweep.traffic.arrivals.rate=[0.1]", "--set=traffic.arrivals=poisson"];
    refused(&swept, "--set traffic.arrivals=poisson: `traffic.arrivals` is not a table: expected one, such as");
    refused(&["--set=traffic.multicasts.sets=1"], "did you mean `multicast`?");
    refused(&["--set=run.seed=1"], "`seed` stands before the first table");
    refused(&["--set=traffic.rate=0.01"], "did you mean `traffic.arrivals.rate`?");
    let comma = Folder::with(&[("comma.toml", &IDLE.replace("rate = 0.1", "rate = 0,1"))]);
    let comma = comma.run(&["simulate", "comma.toml"]).bad_input();
    assert!(comma.contains("numbers have a decimal point, as in `0.01`, and no comma"), "{comma}");
    let comma = Folder::with(&[("list.toml", &format!("{IDLE}\n[sweep]\n\"traffic.arrivals.rate\" = [0,01]\n"))]);
    let comma = comma.run(&["sweep", "list.toml"]).bad_input();
    assert!(comma.contains("numbers have a decimal point, as in `0.01`, and no comma"), "{comma}");
    refused(&["--set=switching.injection_ports=all"], "expected a whole number from 1 to 32");
    refused(&["--set=timing.startup=fast"], "expected a whole number from 0 to 268435456");
    refused(&["--set=traffic.arrivals.successes=x"], "expected a whole number from 1 to 65536");
    refused(&["--set=traffic.multicast.sets=99999999999"], "expected a whole number from 1 to 4294967295");
    let merged = folder().run(&["merge", "idle.toml", "--out", "o"]).bad_input();
    assert!(merged.contains("`idle.toml` is not a result store") && !merged.contains("--store"), "{merged}");
    assert!(wormcast(&["topology", "Petersen"]).bad_input().contains("did you mean `petersen`?"));
}

#[test]
fn what_is_set_in_a_table_on_one_line_is_blamed_itself() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\n[traffic]\nlength = { uniform = [10, 100] }\n\
                arrivals = { process = 'poisson', rate = 0.1 }\n[traffic.multicast]\ndestinations = 3\n";
    let folder = Folder::with(&[("x.toml", text)]);
    for (setting, said) in [
        ("traffic.length.uniform=[100,10]", "is empty"),
        ("traffic.length.uniform=[0,10]", "expected 1 to"),
        ("traffic.length.uniform=[1,2,3]", "a list of length 3"),
        ("traffic.length.bytes=64", "expected either"),
        ("faults.links=[0-1]", "texts in lists and tables need quotes, as in `[\"0-1\"]`"),
        ("traffic.unicast={pattern=transpose}", "texts in lists and tables need quotes"),
    ] {
        let refused = folder.run(&["simulate", "x.toml", "--set", setting]).bad_input();
        assert!(refused.contains(&format!("--set {setting}: ")) && refused.contains(said), "{refused}");
        assert!(!refused.contains("x.toml:4"), "{refused}");
    }
    folder.write("drawn.toml", text.replace("'mesh:4x4'", "{ random = { nodes = 16, degree = 3 } }").as_bytes());
    let drawn = ["--set", "algorithm=separate", "--set", "topology.random.degree=20"];
    let refused = folder.run(&[&["simulate", "drawn.toml"][..], &drawn].concat()).bad_input();
    assert!(refused.contains("--set topology.random.degree=20: ") && refused.contains("is too large"), "{refused}");
    // What is wrong in the file stays there.
    folder.write("y.toml", text.replace("[10, 100]", "[100, 10]").as_bytes());
    let refused = folder.run(&["simulate", "y.toml", "--set", "traffic.multicast.destinations=2"]).bad_input();
    assert!(refused.contains("y.toml:4:") && refused.contains("is empty"), "{refused}");
}

/// Advice to choose a rate led to a second refusal where no rate is possible.
#[test]
fn a_mistake_that_no_choice_mends_comes_before_the_advice_to_choose() {
    let folder = folder();
    folder.write(
        "s.toml",
        b"topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.multicast.destinations = 3\n\
        traffic.arrivals.process = 'poisson'\n[sweep]\ntraffic.arrivals.rate = [0.1, 0.2]\n",
    );
    let said = folder.run(&["simulate", "s.toml"]).bad_input();
    assert!(said.contains("is swept: choose one with `--set traffic.arrivals.rate=0.1`"), "{said}");
    folder.write("t.toml", folder.read("s.toml").replace("'poisson'", "'burst'").as_bytes());
    let said = folder.run(&["simulate", "t.toml"]).bad_input();
    assert!(said.contains("a burst has no rate") && said.contains("t.toml:6:26"), "{said}");
}

/// They were pointed at in the table around them, or in the plain value.
#[test]
fn settings_of_tables_are_pointed_at() {
    let folder = folder();
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\n[traffic]\nmulticast.destinations = 3\n\
        arrivals = { process = 'poisson', rate = 0.1 }\n";
    folder.write("a.toml", format!("{text}[switching]\nmodel = 'input-buffer'\nreplication = 'lockstep'\n").as_bytes());
    let said = folder.run(&["simulate", "a.toml"]).bad_input();
    assert!(said.contains("a.toml:8:15"), "{said}");
    let drawn = text.replace("'mesh:4x4'", "{ random = { nodes = 16, degree = 3 } }").replace("dual-path", "separate");
    folder.write("b.toml", format!("{drawn}[sweep]\ntopology.random.degree = [3, 40]\n").as_bytes());
    let said = folder.run(&["sweep", "b.toml"]).bad_input();
    assert!(said.contains("b.toml:7:30"), "{said}");
}

#[test]
fn a_list_is_no_table() {
    for (setting, expected) in [
        ("run=['drain', 0, 7]", "`run` is a list: expected a table, such as `run = {"),
        ("traffic.arrivals=['poisson', 0.1]", "`traffic.arrivals` is a list: expected a table"),
        ("traffic.multicast=[3]", "`traffic.multicast` is a list: expected a table"),
        ("stop=[0.9]", "`stop` is a list: expected a table"),
        ("timing=[]", "`timing` is a list: expected a table"),
        ("run.mode={steady={}}", "`run.mode` is a table: expected one of steady, "),
        ("run.mode={steady=[]}", "`run.mode` is a table: expected one of steady, "),
        ("engine={auto={}}", "`engine` is a table: expected one of auto, "),
        ("switching.selection={random={}}", "`switching.selection` is a table: expected one of first, "),
        ("options.greedy={rows={}}", "`options.greedy` is a table: expected one of columns, rows"),
        ("plot=['run.messages']", "`plot` is a list: expected a table"),
    ] {
        refused(&[&format!("--set={setting}")], expected);
    }
    let twice = Folder::with(&[("e.toml", &IDLE.replace("run.messages = 100", "[[run]]\nmessages = 3"))]);
    let run = twice.run(&["simulate", "e.toml"]).bad_input();
    assert!(run.contains("`run` is a list: expected a table"), "{run}");
    let order = "{ lower = ['dual-path'], higher = ['separate'], scope = { average = {} } }";
    let claimed = format!("{IDLE}\n[[claim]]\nid = 'low'\ntext = 'It is lower.'\norder = {order}\n");
    let run = Folder::with(&[("e.toml", &claimed)]).run(&["simulate", "e.toml"]).bad_input();
    assert!(run.contains("`claim.order.scope` is a table: expected one of "), "{run}");
}

#[test]
fn settings_of_switches_say_whose_they_are_and_what_they_take() {
    let switches = ["--set=switching.model='central-buffer'", "--set=topology='bmin:4x2'", "--set=algorithm='u-min'"];
    let with = |setting: &str, expected: &str| refused(&[&switches[..], &[setting]].concat(), expected);
    let whose = "has no setting `replication`, which belongs to `model = \"wormhole\"` and `model = \"input-buffer\"`; expected one of model,";
    with("--set=switching.replication=lockstep", whose);
    with("--set=switching.header_chunks=1", "expected one of `\"replicated\"`, `\"next-packet-memory\"`");
}

/// The caret stood under the file's algorithm, which is right for the file's network.
#[test]
fn what_does_not_fit_another_network_is_said_of_the_setting_that_chose_it() {
    let folder = Folder::with(&[("mesh.toml", &IDLE.replace("dual-path\"", "separate\"\nrouting = \"west-first\""))]);
    let place = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|setting| format!("--set={setting}")).collect();
        let arguments = [&["simulate", "mesh.toml"][..], &set.iter().map(String::as_str).collect::<Vec<_>>()].concat();
        folder.run(&arguments).bad_input()
    };
    let said = place(&["topology=ring:6"]);
    assert!(said.contains("--set topology=ring:6") && !said.contains("algorithm = "), "{said}");
    // The routing is given beside the file, too: then it is what does not fit, and not the algorithm.
    let said = place(&["topology=ring:6", "routing=e-cube"]);
    assert!(said.contains("--set routing=e-cube") && !said.contains("algorithm = "), "{said}");
    let file = IDLE.replace("dual-path\"", "separate\"\nrouting = \"e-cube\"").replace("mesh:4x4", "ring:6");
    folder.write("ring.toml", file.as_bytes());
    let said = folder.run(&["simulate", "ring.toml"]).bad_input();
    assert!(said.contains("ring.toml:4:11") && said.contains("| routing = \"e-cube\""), "{said}");
}

/// An error in the members was pointed at in the tables.
#[test]
fn who_is_no_member_is_said_of_the_groups() {
    let folder = fabric();
    folder.write("two.groups", b"0xc001: host1;host2\n");
    let said = folder
        .run(&["simulate", "fabric.toml", "--set=options.multicasts=tables", "--set=options.groups=two.groups"])
        .bad_input();
    assert!(said.contains("its member host2") && said.contains("--set options.groups=two.groups"), "{said}");
    // Numbers are addresses there, so nobody is asked for a number of a node.
    for (members, expected) in [
        (
            "host1;host99",
            "`host99` is no host and no switch: expected a name such as `host9`, an identifier (`0x…`) or an address",
        ),
        ("host1,host2", "members are separated by `;`"),
        ("host1;rack9", "`rack9` is no host and no switch: expected a name"),
    ] {
        folder.write("wrong.groups", format!("0xc001: {members}\n").as_bytes());
        let fabric =
            ["routing", "--topology=fabric.net", "--tables=fabric-updn.lfts", "--multicast-tables=fabric.mcfdbs"];
        let said = folder.run(&[&fabric[..], &["--groups=wrong.groups"]].concat()).bad_input();
        assert!(said.contains(expected) && said.contains("wrong.groups:1"), "{said}");
    }
}

/// Links in the network's file may be long although no setting says so.
#[test]
fn what_long_links_cannot_carry_is_said_where_they_are_chosen() {
    let folder = Folder::with(&[("long.edges", "0 1 3\n1 2 3\n2 0 3\n"), ("idle.toml", IDLE)]);
    let message = |more: &[&str]| {
        let given = ["simulate", "idle.toml", "--set=topology=long.edges", "--set=algorithm=tree-one"];
        let rest = ["--set=traffic.multicast.destinations=1", "--set=timing.startup=0"];
        folder.run(&[&given[..], &rest, more].concat()).bad_input()
    };
    let said = "moves in lockstep over links of one cycle only";
    let chosen = message(&["--set=switching.replication=lockstep"]);
    assert!(chosen.contains(said) && chosen.contains("--set switching.replication=lockstep"), "{chosen}");
}

/// Errors that blamed what is right, or proposed what would be refused next.
#[test]
fn errors_are_where_the_mistake_is() {
    let folder = Folder::with(&[("base.toml", VERSIONS)]);
    let edited = |from: &str, to: &str| {
        assert!(VERSIONS.contains(from));
        folder.write("edited.toml", VERSIONS.replacen(from, to, 1).as_bytes());
        folder.run(&["sweep", "edited.toml"]).bad_input()
    };
    let set = |command: &str, set: &str| folder.run(&[command, "base.toml", "--set", set]).bad_input();
    for (from, to, line, help) in [
        ("\"column-path\"]\n", "\"colum-path\"]\n", "unknown algorithm `colum-path`", "did you mean `column-path`?"),
        ("[0.05, 0.1]", "[0.05, \"0.1\"]", "\"0.1\", expected a number as the others are", "edited.toml:21"),
        ("[plot]", "[with.dual-path]\nbuffer = 3\n[plot]", "unknown setting `buffer`", "`switching.buffer`?"),
        ("[plot]", "[with.dual-path]\nbufer = 3\n[plot]", "unknown setting `bufer`", "edited.toml:23"),
        ("[plot]", "[with.dual-path]\nseed = 3\n[plot]", "`seed` cannot differ by algorithm", "options"),
        ("arrivals = {", "arrivals = 0.1\nother = {", "such as `traffic.arrivals = { process = \"poisson\"", "line"),
        ("id = \"c1\"", "id = \"c1\"\ny = [\"latency.last\"]", "expected a text", "edited.toml:26"),
        (
            "topology =",
            "title = 2026-11-27\ntopology =",
            "no setting takes a date or a time; text needs quotes",
            "title",
        ),
    ] {
        let said = edited(from, to);
        assert!(said.contains(line) && (said.contains(help) || help == "line"), "{said}");
    }
    for (setting, line, help) in [
        (
            "run.warmup.messages=100",
            "is a part of `run.warmup`, which is given as a whole",
            "`run.warmup = { messages = … }`",
        ),
        (
            "traffic.multicast.destinations.uniform=[2,3]",
            "is a part of `traffic.multicast.destinations`",
            "uniform = …",
        ),
        ("topology.x=1", "`topology.x` names no setting: `topology` is not a table", ""),
        ("title=2026-11-27", "no setting takes a date or a time", ""),
    ] {
        let said = set("sweep", setting);
        assert!(said.contains(line) && said.contains(help), "{said}");
    }
    let alike =
        folder.run(&["sweep", "base.toml", "--set=plot.y=latency.unicast", "--set=traffic.multicast.fraction=1"]);
    let alike = alike.bad_input();
    assert!(alike.contains("all messages are of one kind here") && !alike.contains("did you mean"), "{alike}");
    // An example is one that runs.
    folder.write(
        "own.toml",
        VERSIONS.replace("[\"dual-path\"", "[\"comb\"").replace("algorithm = \"dual-path\"\n", "").as_bytes(),
    );
    let swept = folder.run(&["simulate", "own.toml", "--set=claim=[]", "--set=traffic.arrivals.rate=0.1"]).bad_input();
    assert!(swept.contains("`--set algorithm=column-path`"), "{swept}");
    // A sweep that cannot be run singly was not told that it made no difference.
    let sweep = folder.run(&["simulate", "base.toml", "--set", "sweep.switching.virtual_channels=[2,4]"]).bad_input();
    assert!(sweep.contains("is swept: choose one") && !sweep.contains("makes no difference"), "{sweep}");
    for (option, name, ending) in [("--heat-map", "l.csv", "`.svg`"), ("--links", "l.svg", "`.csv`")] {
        let said = folder.run(&["routing", "--topology=mesh:3x3", "--routing=e-cube", option, name]).bad_input();
        assert!(
            said.contains(&format!("`{option}` writes no `{name}`: expected a name that ends in {ending}")),
            "{said}"
        );
    }
    // Where the only swept setting is the axis, it is no series.
    let series = folder.run(&["compare", "base.toml", "--set=algorithm=dual-path", "--set=claim=[]"]).bad_input();
    assert!(series.contains("sweep it as well, as by `--set 'sweep.algorithm=[…]'`"), "{series}");
    let alone = VERSIONS.replace("algorithm = [\"dual-path\", \"column-path\"]\n", "");
    folder.write("alone.toml", alone.split("[[claim]]").next().unwrap().as_bytes());
    let axis = folder.run(&["plot", "alone.toml", "--set=plot.series=routing"]).bad_input();
    assert!(axis.contains("`traffic.arrivals.rate` alone is, which is the horizontal axis"), "{axis}");
}

/// Mistakes that were seen only where another algorithm or model was run, or led on to the next one.
#[test]
fn mistakes_are_seen_whatever_is_run() {
    let folder = Folder::with(&[("base.toml", VERSIONS)]);
    for wrong in ["switching.injection_port = 1", "timing.cycle_ns = \"x\""] {
        let text = VERSIONS.replace("[plot]", &format!("[with.column-path]\n{wrong}\n[plot]"));
        folder.write("with.toml", text.as_bytes());
        for set in ["algorithm=dual-path", "sweep.algorithm=['dual-path', 'u-mesh']"] {
            let said = folder.run(&["sweep", "with.toml", "--set", set, "--set=claim=[]"]).bad_input();
            assert!(said.contains("with.toml:"), "{said}");
        }
    }
    let one = ["simulate", "base.toml", "--set=traffic.arrivals.rate=0.1", "--set", "algorithm=dual-path-adaptive"];
    let channels = folder.run(&one).bad_input();
    assert!(channels.contains("--set algorithm=dual-path-adaptive: ") && channels.contains("needs 2"), "{channels}");
    let switch = folder.run(&["sweep", "base.toml", "--set=switching={model='input-buffer', fifo=8}"]).bad_input();
    assert!(switch.contains("unknown setting `fifo`") && !switch.contains("virtual_channels"), "{switch}");
    folder.write("falls.toml", VERSIONS.replace("algorithm = [\"dual-path\", \"column-path\"]\n", "").as_bytes());
    let along = "claim=[{id='a', text='a', series=['traffic.arrivals.rate'], falls={series=['0.05']}}]";
    let falls = folder.run(&["sweep", "falls.toml", "--set", along]).bad_input();
    assert!(falls.contains("nothing is swept beside the series"), "{falls}");
}

#[test]
fn what_is_written_another_way_is_told() {
    let set = |setting: &str| folder().run(&["simulate", "idle.toml", &format!("--set={setting}")]).bad_input();
    for (setting, expected) in [
        ("topology={ mesh = [4, 4] }", "`mesh` is given as text, as in \"mesh:16x16\""),
        ("topology={ rondom = { nodes = 9 } }", "did you mean `random`?"),
        ("topology={}", "an empty table, expected a topology as text"),
        // A preset of another paper is another machine's.
        ("timing={ preset = 'paper-2' }", "expected one of paper-1, ncube-2, paper-4"),
        ("traffic.length={ uniform = [10] }", "a list of length 1, expected two numbers"),
    ] {
        let said = set(setting);
        assert!(said.contains(expected), "{setting}: {said}");
    }
}

#[test]
fn small_things_are_told_as_they_are() {
    let folder = folder();
    let known = folder.run(&["simulate", "idle.toml", "--set=plot.y=latency.p90"]).bad_input();
    assert!(known.contains("expected one of") && known.contains("latency.p95"), "{known}");
    let burst = "--set=traffic.arrivals={ process = 'burst', sources = 10 }";
    let pattern = "--set=traffic.unicast.pattern=transpose";
    let run = folder.run(&["simulate", "idle.toml", burst, pattern, "--set=traffic.multicast.fraction=0.3"]);
    assert!(run.stderr.contains("the burst has at most 10 messages"), "{}", run.stderr);
    let root = folder.run(&["trees", "--topology=mesh:3x3", "--construction=spam", "--root=5"]).bad_input();
    assert!(root.contains("that of `trees` is `--first`"), "{root}");
    let swept = format!("{IDLE}algorithm_ = 1\n").replace("algorithm_ = 1\n", "[sweep]\nswitching.buffer = [2, 8]\n");
    let swept = swept.replace("\"dual-path\"", "\"xy-tree\"");
    folder.write("swept.toml", format!("{swept}\n[stop]\nmax_replications = 10\n").as_bytes());
    // Some deadlock.
    assert_eq!(folder.run(&["sweep", "swept.toml"]).code, 1);
    folder.run(&["report", "swept.toml"]);
    let page = folder.files("results").into_iter().find(|name| name.ends_with("-report.md")).expect("a page");
    assert_eq!(folder.read(&format!("results/{page}")).matches("Worms of xy-tree on mesh:4x4 can deadlock").count(), 1);
    // Loops and missing entries by coordinates, as everything else of a mesh.
    folder.write("ring.txt", b"router 0\n0 here\nrouter 1\n0 to 2\nrouter 2\n0 to 1\n");
    let ring = folder.run(&["routing", "--topology=mesh:3", "--tables=ring.txt"]);
    assert!(ring.stdout.contains("runs in a loop through router "), "{ring:?}");
    folder.write("grid.txt", b"router 0\n0 here\nrouter 1\n0 to 4\nrouter 4\n0 to 1\n");
    let grid = folder.run(&["routing", "--topology=mesh:3x3", "--tables=grid.txt"]);
    for told in
        ["1,0 to 0,0: runs in a loop through router 1,", "to node 0,0: channel 1,", "at router 2,0 for node 0,0"]
    {
        assert!(grid.stdout.contains(told), "{told}: {}", grid.stdout);
    }
}

/// What a mistake is about is said where it is.
#[test]
fn slips_in_paths_and_names_are_told_with_what_was_meant() {
    let quoted = |table: &str, path: &str| format!("{IDLE}\n[{table}]\n\"{path}\" = 5\n");
    let folder = Folder::with(&[
        ("quick.toml", &quoted("quick", "run.messages")),
        ("variation.toml", &quoted("variation.late", "timing.startup")),
        ("base.toml", IDLE),
        (
            "named.json",
            r#"{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": 0, "label": "a\u0007"}, {"id": 1}], "links": [{"source": 0, "target": 1}]}"#,
        ),
        (
            "title.toml",
            &format!(
                "title = \"one\\nline\"\n{IDLE}\n[sweep]\n\"timing.startup\" = [1, 2]\n[stop]\nmin_replications = 2\nmax_replications = 2\n"
            ),
        ),
    ]);
    for (file, path) in [("quick.toml", "run.messages"), ("variation.toml", "timing.startup")] {
        let said = folder.run(&["sweep", file]).bad_input();
        assert!(said.contains(&format!("unknown setting `{path}`")), "{said}");
        assert!(said.contains(&format!("outside of `[sweep]` paths have no quotes: `{path} = …`")), "{said}");
    }
    for given in ["base.tom", "base", "bsae.toml"] {
        let said = folder.run(&["compare", "dual-path", "multi-path", given]).bad_input();
        assert!(said.contains("`base.toml`"), "{given}: {said}");
    }
    let said = folder.run(&["simulate", "base.toml", "--set", "timing.cycle_ns=1e-300"]).bad_input();
    assert!(said.contains("1e-300 is out of range"), "{said}");
    let said = folder.run(&["topology", "named.json", "--format", "graphml"]).bad_input();
    assert!(said.contains("GraphML has no place for the character '\\u{7}' of the name \"a\\u{7}\""), "{said}");
    assert!(said.contains("use `node-link`"), "{said}");
    folder.run(&["sweep", "title.toml"]).success();
    folder.run(&["report", "title.toml"]).success();
    let page = folder.read("results/title-report.md");
    assert_eq!(page.lines().next(), Some("# one line"), "{page}");
}
