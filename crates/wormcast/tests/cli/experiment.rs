//! What is said about experiments that make no sense: exit code 2, nothing on standard output, and a message that names the
//! place, what was expected and the nearest valid choice.

use crate::folder::Folder;

const GOOD: &str = r#"title = "t"
topology = "mesh:4x4"
algorithm = "dual-path"
seed = 3
[timing]
startup = 10
[traffic]
arrivals = { process = "poisson", rate = 0.01 }
multicast = { destinations = 3 }
[run]
messages = 10
"#;

const TRACED: &str = r#"topology = "mesh:4x4"
algorithm = "dual-path"
traffic.trace = "messages.txt"
"#;

/// Checks that a message says all of these, whichever command is asked, and is short.
fn refused(folder: &Folder, file: &str, said: &[&str]) {
    for command in ["simulate", "sweep", "plot"] {
        let message = folder.run(&[command, file]).bad_input();
        if command == "plot" && message.contains("there is no result store") {
            // Only what concerns no single point is noticed before the store is.
            continue;
        }
        assert!(message.starts_with("error: "), "{message}");
        for part in said {
            assert!(message.contains(part), "{command}: no `{part}` in\n{message}");
        }
        assert!(message.lines().count() <= 8, "{message}");
        assert!(!message.contains("panicked"), "{message}");
    }
    assert!(!folder.path().join("results").exists());
}

#[test]
fn the_examples_to_be_broken_are_good() {
    let folder = Folder::with(&[("x.toml", GOOD), ("t.toml", TRACED), ("messages.txt", "0 0 8 3\n")]);
    folder.run(&["simulate", "x.toml"]).success();
    folder.run(&["simulate", "t.toml"]).success();
}

#[test]
fn mistakes_in_a_file_are_pointed_at() {
    let cases: &[(&str, &str, &[&str])] = &[
        // Unknown keys.
        ("seed = 3", "sede = 3", &["unknown setting `sede`", "x.toml:4:1", "did you mean `seed`?"]),
        ("startup = 10", "start_up = 10", &["unknown setting `start_up`", "x.toml:6:1", "did you mean `startup`?"]),
        ("[timing]", "[timming]", &["unknown setting `timming`", "x.toml:5:", "did you mean `timing`?"]),
        ("rate = 0.01", "rte = 0.01", &["unknown setting `rte`", "x.toml:8:", "did you mean `rate`?"]),
        // Wrong types and ranges.
        ("seed = 3", "seed = \"three\"", &["x.toml:4:8", "expected a whole number"]),
        ("startup = 10", "startup = -1", &["x.toml:6:11", "expected a whole number from 0 to 268435456"]),
        ("startup = 10", "startup = 1.5", &["x.toml:6:11", "expected a whole number"]),
        ("startup = 10", "startup = 999999999", &["x.toml:6:11", "out of range: expected 0 to 268435456"]),
        ("startup = 10", "cycle_ns = 0", &["x.toml:6:12", "is out of range: expected 0.000001 to 1000000000 ns"]),
        ("startup = 10", "cycle_ns = nan", &["x.toml:6:12", "is out of range: expected 0.000001 to 1000000000 ns"]),
        ("startup = 10", "cycle_ns = inf", &["x.toml:6:12", "is out of range: expected 0.000001 to 1000000000 ns"]),
        ("seed = 3", "switching.buffer = 0", &["x.toml:4:20", "expected 1 to"]),
        ("seed = 3", "switching.consumption_ports = 0", &["x.toml:4:31", "expected 1 to"]),
        ("seed = 3", "switching.header = \"al-destinations\"", &["x.toml:4:20", "did you mean `all-destinations`?"]),
        ("messages = 10", "messages = 0", &["x.toml:11:12", "expected at least 1 message"]),
        ("messages = 10", "mode = \"stedy\"", &["x.toml:11:8", "did you mean `steady`?"]),
        ("messages = 10", "warmup = \"automatic\"", &["x.toml:11:10", "a number of cycles, or \"auto\""]),
        ("messages = 10", "warmup = -3", &["x.toml:11:10", "`-3`", "or `{ messages = … }`"]),
        ("messages = 10", "warmup = 2.5", &["x.toml:11:10", "or `{ messages = … }`"]),
        ("messages = 10", "warmup = { messages = -3 }", &["x.toml:11:23", "`-3`", "a whole number, not negative"]),
        ("messages = 10", "warmup = { messages = \"auto\" }", &["x.toml:11:23", "a whole number, not negative"]),
        ("messages = 10", "warmup = { mesages = 3 }", &["x.toml:11:12", "unknown setting `mesages`"]),
        ("messages = 10", "warmup = { messages = 3, cycles = 5 }", &["x.toml:11:26", "unknown setting `cycles`"]),
        ("messages = 10", "warmup = {}", &["x.toml:11:10", "missing setting", "messages"]),
        ("messages = 10", "warmup = { messages = 1000000000001 }", &["x.toml:11:1", "at most 1000000000000 messages"]),
        // Topologies, algorithms, nodes.
        ("mesh:4x4", "mash:4x4", &["x.toml:2:12", "did you mean `mesh`?"]),
        ("mesh:4x4", "mesh:4x", &["x.toml:2:12", "an extent is missing"]),
        ("mesh:4x4", "mesh:99999x99999", &["x.toml:2:12", "has 9999800001 routers"]),
        ("mesh:4x4", "torus:4x4", &["x.toml:3:13", "`dual-path` needs a mesh, but `torus:4x4` is a torus"]),
        ("dual-path", "column-pth", &["x.toml:3:13", "did you mean `column-path`?"]),
        (
            "mesh:4x4\"\nalgorithm = \"dual-path",
            "mesh:2x2x2\"\nalgorithm = \"column-path",
            &["x.toml:3:13", "needs a 2-D mesh"],
        ),
        ("seed = 3", "routing = \"e-cube\"", &["x.toml:4:11", "`dual-path` is defined with `hamiltonian` routing"]),
        ("seed = 3", "engine = \"flits\"", &["x.toml:4:10", "did you mean `flit`?"]),
        (
            "multicast = { destinations = 3 }",
            "unicast = { pattern = \"hot-spot\", node = \"4,0\", fraction = 0.5 }",
            &["x.toml:9:", "4,0", "mesh:4x4"],
        ),
        ("multicast = { destinations = 3 }", "unicast = { pattern = \"hotspot\" }", &["did you mean `hot-spot`?"]),
        // Impossible loads.
        ("rate = 0.01", "rate = 0", &["x.toml:8:", "0 is not a positive number of messages"]),
        ("rate = 0.01", "rate = -0.5", &["x.toml:8:", "-0.5 is not a positive number of messages"]),
        ("rate = 0.01", "rate = nan", &["x.toml:8:", "NaN is not a positive number of messages"]),
        ("rate = 0.01", "rate = inf", &["x.toml:8:", "inf is not a positive number of messages"]),
        ("rate = 0.01", "rate = 1e-30", &["x.toml:8:", "1e-30", "impossible"]),
        ("rate = 0.01", "rate = 1e9", &["x.toml:8:", "impossible: over 1000 messages a cycle"]),
        ("\"poisson\", rate = 0.01", "\"bernoulli\", rate = 201", &["x.toml:8:", "201 is impossible: at most 200"]),
        ("destinations = 3", "destinations = 16", &["x.toml:9:", "expected 1 to 15 destinations in mesh:4x4"]),
        ("destinations = 3", "destinations = 0", &["x.toml:9:", "expected 1 to 15 destinations in mesh:4x4"]),
        ("destinations = 3", "destinations = 3, fraction = 1.5", &["x.toml:9:", "1.5 is not a share from 0 to 1"]),
        ("destinations = 3", "destinations = { uniform = [5, 2] }", &["x.toml:9:", "the least comes first"]),
        ("multicast =", "length = 0\nmulticast =", &["x.toml:9:10", "expected 1 to 16777216 data flits"]),
        (
            "{ process = \"poisson\", rate = 0.01 }",
            "{ process = \"burst\", interval = 9000000000000000000 }",
            &["x.toml:8:", "interval", "expected 1 to"],
        ),
        (
            "{ process = \"poisson\", rate = 0.01 }",
            "{ process = \"burst\", sources = 17 }",
            &["expected 1 to 16 nodes"],
        ),
        ("arrivals =", "# arrivals =", &["x.toml:7:2", "`arrivals = { process = \"poisson\", rate = 0.01 }`"]),
        ("mesh:4x4", "mesh:1x1", &["mesh:1x1", "x.toml:"]),
        // Malformed TOML.
        ("seed = 3", "seed = ", &["x.toml:4:"]),
        ("seed = 3", "seed = 3\nseed = 4", &["x.toml:5:1", "twice"]),
        ("title = \"t\"", "title = \"t", &["x.toml:1:"]),
        ("[timing]", "[timing", &["x.toml:5:"]),
    ];
    for (from, to, said) in cases {
        assert!(GOOD.contains(from), "{from}");
        let folder = Folder::with(&[("x.toml", &GOOD.replacen(from, to, 1))]);
        refused(&folder, "x.toml", said);
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let folder = Folder::with(&[]);
    std::fs::create_dir(folder.path().join("folder.toml")).unwrap();
    folder.write("binary.toml", &[0, 159, 146, 150, 255, 0, 10, 13]);
    folder.write("empty.toml", b"");
    refused(&folder, "none.toml", &["none.toml: cannot read the experiment file: ", "No such file"]);
    refused(&folder, "folder.toml", &["folder.toml: cannot read the experiment file: ", "directory"]);
    refused(&folder, "binary.toml", &["this is no text: the byte 0x9f is not UTF-8 here", "binary.toml:1:2"]);
    refused(&folder, "empty.toml", &["missing setting `topology`: expected one such as `topology = \"mesh:16x16\"`"]);
}

#[test]
fn mistakes_in_a_trace_are_pointed_at() {
    let good = "0 0 8 3\n# a comment\n";
    let cases: &[(&str, &[&str])] = &[
        ("5 0 8", &["messages.txt:3: ", "column 4, `destinations`, is missing"]),
        (
            "5 0",
            &["messages.txt:3: column 3, `length`, is missing; expected `cycle source length destinations`, as in"],
        ),
        ("five 0 8 3", &["messages.txt:3: `five` is not a cycle"]),
        ("-5 0 8 3", &["messages.txt:3: `-5` is not a cycle"]),
        ("18446744073709551615 0 8 3", &["messages.txt:3: ", "cycle"]),
        ("5 16 8 3", &["messages.txt:3: node 16 is out of range: mesh:4x4 has nodes 0 to 15"]),
        ("5 4,0 8 3", &["messages.txt:3: ", "4,0"]),
        ("5 0 8 3;16", &["messages.txt:3: node 16 is out of range"]),
        ("5 0 8 1,2,3", &["messages.txt:3: ", "1,2,3", "2 coordinates such as `0,0`"]),
        ("5 0 8 3;;4", &["messages.txt:3: "]),
        // Not the same as 35, and not as 3;5.
        ("5 0 8 3 5", &["messages.txt:3: ", "3 5"]),
        ("5 0 0 3", &["messages.txt:3: `0` is not a length"]),
        ("5 0 8.5 3", &["messages.txt:3: `8.5` is not a length"]),
        ("5 3 8 3", &["messages.txt:3: no destination but the source"]),
        ("5 0 8 3\n4 0 8 3", &["messages.txt:4: cycle 4 comes after cycle 5"]),
    ];
    for (line, said) in cases {
        let folder = Folder::with(&[("x.toml", TRACED), ("messages.txt", &format!("{good}{line}\n"))]);
        refused(&folder, "x.toml", &[said, &["x.toml:3:17"][..]].concat());
    }
    let folder = Folder::with(&[("x.toml", TRACED), ("messages.txt", "# none\n\n")]);
    refused(&folder, "x.toml", &["messages.txt: no messages", "x.toml:3:17"]);
    folder.write("messages.txt", &[0, 255, 254, 10]);
    refused(&folder, "x.toml", &["messages.txt:1: the bytes are not UTF-8", "x.toml:3:17"]);
    std::fs::remove_file(folder.path().join("messages.txt")).unwrap();
    refused(&folder, "x.toml", &["cannot read `messages.txt`: No such file", "x.toml:3:17"]);
    std::fs::create_dir(folder.path().join("messages.txt")).unwrap();
    refused(&folder, "x.toml", &["cannot read `messages.txt`: Is a directory", "x.toml:3:17"]);
}

#[test]
fn mistakes_in_a_topology_file_are_pointed_at() {
    let file = "topology = \"links.txt\"\nalgorithm = \"separate\"\ntraffic.arrivals = { process = \"poisson\", rate = 0.01 }\n";
    for (links, said) in [
        ("0 1\n1 x\n", "links.txt:2: `x` is not a router number"),
        ("0 1\n1\n", "links.txt:2: found 1 word"),
        ("", "links.txt:1: the file has no links"),
    ] {
        let folder = Folder::with(&[("x.toml", file), ("links.txt", links)]);
        refused(&folder, "x.toml", &[said, "x.toml:1:12"]);
    }
    refused(&Folder::with(&[("x.toml", file)]), "x.toml", &["links.txt", "x.toml:1:12", "no such file"]);
}

#[test]
fn mistakes_in_arguments_name_them() {
    let folder = Folder::with(&[("x.toml", GOOD)]);
    for (argument, said) in [
        ("sede=4", "--set sede=4: unknown setting `sede`"),
        ("seed", "--set seed: expected `key=value`"),
        ("seed=", "--set seed=: "),
        ("=4", "--set =4: "),
        ("seed=x", "--set seed=x: text \"x\", expected a whole number"),
        ("seed.x=1", "--set seed.x=1: `seed.x` names no setting: `seed` is not a table"),
        ("topology=mesh:4xx4", "--set topology=mesh:4xx4: topology `mesh:4xx4`: an extent is missing"),
        ("algorithm=dualpath", "--set algorithm=dualpath: unknown algorithm `dualpath`"),
        ("traffic.arrivals.rate=0", "--set traffic.arrivals.rate=0: 0 is not a positive number"),
        ("traffic.length=[1", "--set traffic.length=[1: "),
    ] {
        for command in ["simulate", "sweep"] {
            let message = folder.run(&[command, "x.toml", "--set", argument]).bad_input();
            let message = message.replace("`traffic.arrivals.rate`: ", "");
            assert!(message.contains(said), "{argument}: {message}");
        }
    }
    let seed = |seed: &str| folder.run(&["simulate", "x.toml", &format!("--seed={seed}")]).bad_input();
    assert!(seed("-1").contains("invalid value '-1' for '--seed <SEED>'"));
    assert!(seed("x").contains("invalid value 'x' for '--seed <SEED>'"));
    assert!(seed("18446744073709551616").contains("invalid value '18446744073709551616' for '--seed <SEED>'"));
    // Beyond TOML's own integers, but a seed like any other.
    let report = folder.run(&["simulate", "x.toml", "--seed=18446744073709551615", "--format=json"]).json();
    assert_eq!(report["seed"].as_u64(), Some(u64::MAX));
    let engine = folder.run(&["simulate", "x.toml", "--engine", "wurm"]).bad_input();
    assert!(engine.contains("'worm'"), "{engine}");
}

#[test]
fn a_setting_that_only_the_sweep_gives_has_to_be_chosen() {
    let swept =
        GOOD.replace("algorithm = \"dual-path\"\n", "") + "[sweep]\nalgorithm = [\"dual-path\", \"column-path\"]\n";
    let folder = Folder::with(&[("x.toml", &swept)]);
    let message = folder.run(&["simulate", "x.toml"]).bad_input();
    assert!(message.contains("`algorithm` is swept: choose one with `--set algorithm=dual-path`"), "{message}");
    assert!(message.contains("x.toml:12:1"), "{message}");
    folder.run(&["simulate", "x.toml", "--set", "algorithm=column-path"]).success();
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = Folder::with(&[("x.toml", GOOD), ("file", "")]);
    for (option, path) in [("--deliveries", "no/d.csv"), ("--timeline", "file/t.json"), ("--deliveries", ".")] {
        let outcome = folder.run(&["simulate", "x.toml", option, path]);
        assert!(outcome.code == 1 && outcome.stdout.is_empty(), "{outcome:?}");
        assert!(outcome.stderr.starts_with(&format!("error: cannot write `{path}`: ")), "{outcome:?}");
    }
    #[cfg(target_os = "linux")]
    for option in ["--deliveries", "--timeline"] {
        let outcome = folder.run(&["simulate", "x.toml", option, "/dev/full"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{outcome:?}");
        assert!(outcome.stderr.starts_with("error: cannot write `/dev/full`: No space left"), "{outcome:?}");
    }
}

#[test]
fn settings_without_effect_are_named() {
    let folder = Folder::with(&[("x.toml", GOOD)]);
    let warned = |command: &str, set: &[&str]| {
        let arguments: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let short = ["--set=stop.min_replications=1", "--set=stop.max_replications=1"];
        let short = if command == "sweep" { &short[..] } else { &[] };
        let outcome = folder.run(&[&[command, "x.toml"], short, &arguments].concat());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        outcome.stderr
    };
    for command in ["simulate", "sweep"] {
        assert_eq!(
            warned(command, &["traffic.unicast.pattern=transpose"]),
            "warning: --set traffic.unicast.pattern=transpose: `traffic.unicast` makes no difference here: no unicasts are \
             sent: `traffic.multicast.fraction` is 1\n"
        );
        assert!(warned(command, &["switching.replication=lockstep"]).contains("`dual-path` sends paths"));
        assert_eq!(warned(command, &["traffic.unicast.pattern=transpose", "traffic.multicast.fraction=0.5"]), "");
    }
    // What is of use at one point of a sweep is of use.
    let swept = "sweep.'traffic.multicast.fraction'=[0.5, 1.0]";
    assert_eq!(warned("sweep", &["traffic.unicast.pattern=transpose", swept]), "");
    let swept = "sweep.'traffic.multicast.fraction'=[1.0]";
    assert!(warned("sweep", &["traffic.unicast.pattern=transpose", swept]).contains("`traffic.unicast` makes no"));
}

#[test]
fn numbers_are_called_too_large_without_names_of_types() {
    let folder = Folder::with(&[("x.toml", GOOD)]);
    for (set, said) in [
        ("seed=99999999999999999999", "number `99999999999999999999` is too large, expected a whole number"),
        ("run.messages=9999999999999999999999999999999999999999999", "this number is too large"),
        ("traffic.length={ uniform = [1, 2, 3] }", "a list of length 3, expected two numbers"),
    ] {
        let message = folder.run(&["simulate", "x.toml", "--set", set]).bad_input();
        assert!(message.contains(said) && !message.contains("i128"), "{message}");
    }
}
