//! What users stumbled over, and may not again.

use serde_json::Value;

use crate::folder::Folder;

const IDLE: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
timing.startup = 100
traffic.length = 16
traffic.arrivals = { process = "poisson", rate = 0.1 }
traffic.multicast.destinations = 4
run.messages = 100
"#;

fn folder() -> Folder {
    Folder::with(&[("idle.toml", IDLE), ("late.trace", "0 0,0 32 3,0\n0 0,0 32 3,0\n")])
}

/// The end of the message, of bad input.
fn refused(settings: &[&str], expected: &str) {
    let run = folder().run(&[&["simulate", "idle.toml"][..], settings].concat());
    assert_eq!(run.code, 2, "{settings:?}: {}", run.stdout);
    assert!(run.stderr.contains(expected), "{settings:?}: {}", run.stderr);
}

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

#[test]
fn traffic_that_ends_within_the_warm_up_is_refused() {
    let late = ["--set=traffic={ trace = 'late.trace' }", "--set=run={ mode = 'steady', warmup = 5 }"];
    refused(&late, "the traffic ends within the warm-up, which lasts until cycle 5");
    let sweep = folder().run(&[&["sweep", "idle.toml"][..], &late].concat());
    assert!(sweep.code == 2 && sweep.stderr.contains("ends within the warm-up"), "{}", sweep.stderr);
}

#[test]
fn links_that_failed_are_named() {
    let torus = ["--set=topology=torus:4x4", "--set=algorithm=dstm-1", "--set=faults.random=2"];
    let folder = folder();
    let run = |more: &[&str]| folder.run(&[&["simulate", "idle.toml"][..], &torus, more].concat()).success();
    let report: Value = serde_json::from_str(&run(&["--format=json"])).unwrap();
    let links: Vec<&str> =
        report["failed_links"].as_array().unwrap().iter().map(|link| link.as_str().unwrap()).collect();
    assert_eq!(links.len(), 2);
    let text = run(&[]);
    assert!(text.contains(&format!("  failed links      {}\n", links.join(", "))), "{text}");
    assert!(!folder.run(&["simulate", "idle.toml"]).success().contains("failed links"));
}

/// `BookSim` has no ending of its own.
#[test]
fn an_anynet_file_may_be_called_net() {
    let anynet = "router 0 node 0 router 1\nrouter 1 node 1\n";
    let folder = Folder::with(&[("z.net", anynet), ("z.anynet", anynet)]);
    let of = |name: &str| folder.run(&["topology", name, "--format=json"]).success().replace(name, "z");
    assert_eq!(of("z.net"), of("z.anynet"));
}

/// Curves over what is known of a network beforehand go from left to right.
#[test]
fn networks_in_any_order_are_drawn_by_their_side() {
    let trees = r#"
run = { mode = "trees" }
plot.x = "trees.side"
stop = { min_replications = 2, max_replications = 2 }
[sweep]
algorithm = ["dstm-1"]
topology = ["torus:5x5", "torus:3x3", "torus:4x4"]
"#;
    let folder = Folder::with(&[("trees.toml", trees)]);
    let said = folder.run(&["sweep", "trees.toml"]).success();
    assert!(said.contains("combined diameter 6;") && !said.contains("at least"), "{said}");
    let picture = folder.read("results/trees.svg");
    let points = picture.split("points=\"").map(|line| line.split('"').next().unwrap());
    let points = points.filter(|points| points.matches(',').count() == 3).last().expect("a line of three points");
    let xs: Vec<f64> =
        points.split_whitespace().map(|point| point.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(xs.is_sorted(), "{xs:?}");
    assert!(
        folder.read("results/trees.csv").lines().next().unwrap().contains("trees_diameter,trees_diameter_half_width")
    );
}

/// In windows that are short against what a message takes, a network that is still filling falls behind as well; this one carries 0.115.
#[test]
fn a_load_that_a_network_carries_is_not_saturated_in_short_windows() {
    let carried = |settings: &[&str]| {
        let folder = Folder::with(&[(
            "e.toml",
            &IDLE.replace("startup = 100", "startup = 1000").replace("destinations = 4", "destinations = 3"),
        )]);
        folder.run(&[&["sweep", "e.toml"][..], settings].concat()).success()
    };
    let seeds = ["--set=sweep.seed=[1, 2, 3, 4, 5, 6, 7, 8]", "--set=traffic.arrivals.rate=0.07"];
    for messages in ["run.messages=20", "run.messages=50", "run.messages=200"] {
        let said = carried(&[&seeds[..], &["--set", messages]].concat());
        assert!(!said.contains("saturated"), "{messages}: {said}");
    }
    let beyond = carried(&["--set=traffic.arrivals.rate=0.25", "--set=run.messages=200"]);
    assert!(beyond.contains("saturated: "), "{beyond}");
}

#[test]
fn letters_that_the_png_cannot_show_are_named() {
    let sweep = "sweep.traffic.arrivals.rate = [0.01, 0.02]\n";
    let folder =
        Folder::with(&[("e.toml", &format!("title = \"Latency \u{e9} \u{5ef6}\u{8fdf} \u{5ef6}\"\n{IDLE}{sweep}"))]);
    let run = folder.run(&["sweep", "e.toml"]);
    let warning =
        "warning: the plot's PNG shows empty boxes for `\u{5ef6}` and `\u{8fdf}`, which its font lacks; use the SVG\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, warning), "{}", run.stdout);
    assert!(folder.read("results/e.svg").contains("\u{5ef6}\u{8fdf}"));
}

#[test]
fn a_split_over_one_tree_is_warned_of() {
    let reason = "there is one tree without failed links, and nothing to split over";
    let torus = ["--set=topology=torus:4x4", "--set=algorithm=dstm-1", "--set=options.split=true"];
    let with = |faults: &str| folder().run(&[&["simulate", "idle.toml", faults][..], &torus].concat()).stderr;
    let one = with("--set=faults.links=['0,0-1,0']");
    assert!(one.contains(&format!("`options.split` makes no difference here: {reason}")), "{one}");
    assert!(!with("--set=faults.links=[]").contains("options.split"));
    let request =
        r#"{"topology":"ring:5","algorithm":"dstm-tarjan","options":{"split":true},"source":3,"destinations":[4,1]}"#;
    let answer = crate::wormcast_with_input(&["plan", "--batch", "-"], request);
    assert!(answer.stdout.contains(&format!("`split` makes no difference: {reason}")), "{answer:?}");
}

#[test]
fn the_last_of_a_value_and_a_sweep_counts() {
    let folder = folder();
    let (value, sweep) = ("--set=traffic.arrivals.rate=0.03", "--set=sweep.traffic.arrivals.rate=[0.01, 0.02]");
    let rows = |settings: &[&str]| {
        let run =
            folder.run(&[&["sweep", "idle.toml", "--name=x", "--set=stop.min_replications=2"][..], settings].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        (folder.read("results/x.csv").lines().count() - 1, run.stderr)
    };
    let (count, warned) = rows(&[value, sweep]);
    assert_eq!(count, 2);
    assert!(warned.contains("traffic.arrivals.rate=0.03: replaced by"), "{warned}");
    let (count, warned) = rows(&[sweep, value]);
    assert_eq!(count, 1);
    assert!(warned.contains("[0.01, 0.02]: replaced by"), "{warned}");
    assert_eq!(rows(&["--set=traffic.arrivals={ process = 'bernoulli', rate = 0.03 }", sweep]), (2, String::new()));
    // A table replaces what was set in it, in names as well.
    let run = folder.run(&["sweep", "idle.toml", "--set=run.messages=50", "--set=run={ messages = 60 }"]);
    assert!(run.stdout.starts_with("idle with run = {") && !run.stdout.contains("run.messages = 50"), "{}", run.stdout);
}

#[test]
fn a_list_is_no_table() {
    for (setting, expected) in [
        ("run=['drain', 0, 7]", "`run` is a list: expected a table, such as `run = {"),
        ("traffic.arrivals=['poisson', 0.1]", "`traffic.arrivals` is a list: expected a table"),
        ("traffic.multicast=[3]", "`traffic.multicast` is a list: expected a table"),
        ("stop=[0.9]", "`stop` is a list: expected a table"),
        ("timing=[]", "`timing` is a list: expected a table"),
        ("plot=['run.messages']", "`plot` is a list: expected a table"),
    ] {
        refused(&[&format!("--set={setting}")], expected);
    }
    let twice = Folder::with(&[("e.toml", &IDLE.replace("run.messages = 100", "[[run]]\nmessages = 3"))]);
    let run = twice.run(&["simulate", "e.toml"]).bad_input();
    assert!(run.contains("`run` is a list: expected a table"), "{run}");
}

/// A sweep beyond saturation, whose waiting messages take ever more memory.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_ends_before_memory_does() {
    let folder = folder();
    let mut command = crate::command(&[
        "sweep",
        "idle.toml",
        "--jobs=1",
        "--set=run.messages=20000000",
        "--set=sweep.traffic.arrivals.rate=[3]",
    ]);
    let run = crate::outcome(command.env("WORMCAST_MEMORY", "150MB").current_dir(folder.path()).spawn().unwrap());
    assert_eq!(run.code, 1, "{}", run.stderr);
    let expected = [
        "out of memory: ",
        "which is all that `WORMCAST_MEMORY` allows",
        "results so far are kept in `results/store.db`",
    ];
    for part in expected {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

/// What `ulimit` leaves counts, whatever the variable says.
#[cfg(target_os = "linux")]
#[test]
fn the_variable_allows_no_more_than_ulimit() {
    let script = format!(
        "ulimit -v 600000; WORMCAST_MEMORY=100GB exec '{}' topology mesh:4000x4000",
        env!("CARGO_BIN_EXE_wormcast")
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = crate::outcome(shell.spawn().unwrap());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("`ulimit` allows no more"), "{}", run.stderr);

    // Too little to start: an error, not the end of a thread that the system refuses.
    let script = format!("ulimit -v 60000; exec '{}' simulate", env!("CARGO_BIN_EXE_wormcast"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = crate::outcome(shell.spawn().unwrap());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: the program needs about 67 MB of memory"), "{}", run.stderr);
}

#[test]
fn one_of_two_settings_that_say_the_same_takes_the_place_of_the_other() {
    let load = folder().run(&["simulate", "idle.toml", "--set=traffic.arrivals.load=0.1", "--format=json"]).success();
    let of_rate = folder().run(&["simulate", "idle.toml", "--format=json"]).success();
    assert_ne!(load, of_rate);
    let both = ["--set=traffic.arrivals.load=0.1", "--set=traffic.arrivals.rate=0.1"];
    refused(&both, "says the same as `rate`: give one of the two");
    // What the built-in file sweeps gives way as well.
    folder().run(&["simulate", "--set=traffic.arrivals.load=0.1", "--set=run.messages=100"]).success();
}

#[test]
fn settings_of_switches_say_whose_they_are_and_what_they_take() {
    let switches = ["--set=switching.model='central-buffer'", "--set=topology='bmin:4x2'", "--set=algorithm='u-min'"];
    let with = |setting: &str, expected: &str| refused(&[&switches[..], &[setting]].concat(), expected);
    let whose = "has no setting `replication`, which belongs to `model = \"wormhole\"` and `model = \"input-buffer\"`; expected one of model,";
    with("--set=switching.replication=lockstep", whose);
    with("--set=switching.header_chunks=1", "expected one of `\"replicated\"`, `\"next-packet-memory\"`");
}

#[test]
fn an_empty_heat_map_says_why_it_is_empty() {
    let folder = folder();
    // A deadlock in the warm-up.
    let set = [
        "topology='mesh:8x8'",
        "seed=4",
        "switching={ buffer = 1, injection_ports = 1, consumption_ports = 1 }",
        "timing={ startup = 0, routing_delay = 1 }",
        "traffic={ arrivals = { process = 'bernoulli', rate = 20 }, length = 40, multicast = { destinations = 8 } }",
        "run={ messages = 100, warmup = 3000 }",
    ];
    let set: Vec<String> = set.iter().map(|setting| format!("--set={setting}")).collect();
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let run = folder.run(&[&["simulate", "idle.toml", "--heat-map=heat.svg"][..], &set].concat());
    assert!(run.code == 1 && run.stderr.contains("heat.svg: no cycle was measured"), "{} {}", run.stdout, run.stderr);
}

/// Spanning trees are safe while a link has one holder. With several virtual channels two worms hold the same links, and each can be first at another
/// branch: the check said yes, and runs ended in a deadlock.
#[test]
fn branches_on_spanning_trees_can_block_each_other_on_several_virtual_channels() {
    let folder = folder();
    let cases = [
        ("random:nodes=11,degree=3,seed=43", "dstm-tarjan", "atomic", 3776, 8, 2, 3),
        ("torus:4x4", "dstm-1", "atomic", 3, 64, 2, 3),
        ("random:nodes=10,degree=3,seed=84", "spam", "separate", 4490, 64, 3, 1),
    ];
    for (topology, algorithm, reservation, seed, length, virtual_channels, ports) in cases {
        let verdict = |count: u32| {
            let (ports, count) = (ports.to_string(), count.to_string());
            let asked = [
                &["routing", "--topology", topology, "--algorithm", algorithm, "--consumption-ports", &ports][..],
                &[
                    "--buffer=1",
                    "--replication=independent",
                    "--reservation",
                    reservation,
                    "--virtual-channels",
                    &count,
                ],
                &["--format=json"],
            ];
            folder.run(&asked.concat()).json()["deadlock_free"].clone()
        };
        assert_eq!((verdict(1), verdict(virtual_channels)), (true.into(), false.into()), "{algorithm}");

        let set = [
            format!("topology='{topology}'"),
            format!("algorithm='{algorithm}'"),
            format!("seed={seed}"),
            "timing={ startup = 0, routing_delay = 0 }".to_owned(),
            format!(
                "traffic={{ arrivals = {{ process = 'burst', interval = 60 }}, length = {length}, multicast = {{ destinations = {{ uniform = [1, 5] }} }} }}"
            ),
            format!(
                "switching={{ buffer = 1, consumption_ports = {ports}, virtual_channels = {virtual_channels}, replication = 'independent', reservation = '{reservation}' }}"
            ),
            "run={ mode = 'drain', messages = 1500 }".to_owned(),
        ];
        let set: Vec<String> = set.iter().map(|setting| format!("--set={setting}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let run = folder.run(&[&["simulate", "idle.toml", "--format=json"][..], &set].concat());
        assert_eq!(run.code, 1, "{algorithm}: {}", run.stderr);
        assert!(run.stderr.contains("can deadlock here"), "{algorithm}: {}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["static_check"]["deadlock_free"], false, "{algorithm}");
        assert!(!report["deadlock"].is_null(), "{algorithm}");
    }
}
