//! What makes no sense is refused before anything runs, and what has no effect is said.

use crate::folder::Folder;
use crate::{Outcome, command, outcome};

/// One point that takes milliseconds.
const ONE: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
traffic = { arrivals = { process = "poisson", rate = 0.01 }, length = 10, multicast = { destinations = 3 } }
run.messages = 100
"#;

/// Two algorithms at two rates.
const TWO: &str = r#"
topology = "mesh:4x4"
traffic = { arrivals = { process = "poisson" }, length = 10, multicast = { destinations = 3 } }
run.messages = 100
stop = { min_replications = 2, max_replications = 2 }
sweep = { algorithm = ["dual-path", "multi-path"], traffic.arrivals.rate = [0.01, 0.02] }
"#;

fn folder() -> Folder {
    Folder::with(&[("one.toml", ONE), ("two.toml", TWO)])
}

/// The command with settings beside the file.
fn with(folder: &Folder, command: &[&str], set: &[&str]) -> Outcome {
    let set = set.iter().flat_map(|setting| ["--set", setting]);
    folder.run(&command.iter().copied().chain(set).collect::<Vec<_>>())
}

#[track_caller]
fn refused(folder: &Folder, command: &[&str], set: &[&str], expected: &str) {
    let message = with(folder, command, set).bad_input();
    assert!(message.contains(expected), "{set:?}: {message}");
    assert_eq!(folder.files("."), ["one.toml", "two.toml"], "nothing is made");
}

#[test]
fn quantities_that_no_run_measures_are_refused_before_any_runs() {
    let folder = folder();
    for quantity in ["plan.steps", "buffer_occupancy", "trees.diameter", "latency.unicast"] {
        let expected = format!("`{quantity}` is not measured in this experiment");
        refused(&folder, &["sweep", "two.toml"], &[&format!("plot.y={quantity}")], &expected);
    }
    refused(&folder, &["sweep", "two.toml"], &["plot.x=trees.side"], "`trees.side` is not measured in this experiment");
    let unicasts = ["plot.y=latency.unicast", "traffic.multicast.fraction=0.5"];
    assert_eq!(with(&folder, &["sweep", "two.toml"], &unicasts).code, 0);
    // What is offered in its place is measured.
    let other = folder.run(&["compare", "two.toml", "--y", "plan.steps"]).bad_input();
    assert!(other.contains("latency.last") && !other.contains("latency.unicast"), "{other}");
}

#[test]
fn a_run_that_ends_within_its_warm_up_is_refused() {
    let folder = folder();
    let set = ["run.max_cycles=60000", "run.warmup=60001"];
    let expected = "60000 cycles end within the warm-up: expected more than `run.warmup`, which is 60001";
    refused(&folder, &["simulate", "one.toml"], &set, expected);
    refused(&folder, &["sweep", "one.toml"], &set, expected);
}

#[test]
fn a_network_in_parts_is_refused_whatever_the_seed() {
    let parts = "router 0 node 0 router 1\nrouter 1 node 1\nrouter 2 node 2 router 3\nrouter 3 node 3\nrouter 4\n";
    let folder = Folder::with(&[("one.toml", ONE), ("parts.anynet", parts), ("pairs.txt", "0 0 10 1\n50 2 10 3\n")]);
    let apart = ["topology=parts.anynet", "algorithm=separate", "routing=up-down", "traffic.multicast.destinations=1"];
    let expected = "`parts.anynet` is not connected: no link joins routers 0, 1 to the rest";
    for seed in 0..5 {
        let seed = format!("seed={seed}");
        let set: Vec<&str> = apart.iter().copied().chain([&*seed]).collect();
        for command in ["simulate", "sweep"] {
            let message = with(&folder, &[command, "one.toml"], &set).bad_input();
            assert!(message.contains(expected), "{message}");
        }
        let planned = [&set[..], &["run.mode=plan"]].concat();
        assert!(with(&folder, &["sweep", "one.toml"], &planned).bad_input().contains(expected));
    }
    // What stays within the parts can be sent: that of a trace, and of a permutation.
    let text = "topology = \"parts.anynet\"\nalgorithm = \"separate\"\nrouting = \"up-down\"\n";
    folder.write("trace.toml", format!("{text}traffic.trace = \"pairs.txt\"\n").as_bytes());
    assert_eq!(folder.run(&["simulate", "trace.toml"]).code, 0);
    let random = "run.messages = 100\n[traffic]\narrivals = { process = \"poisson\", rate = 0.01 }\n";
    let pattern = |name: &str| format!("{text}{random}unicast.pattern = \"{name}\"\n");
    // Of two bits, the lower one changes between 0 and 1 and between 2 and 3; the order of the bits takes 1 to 2.
    folder.write("across.toml", pattern("bit-reversal").as_bytes());
    assert!(folder.run(&["simulate", "across.toml"]).bad_input().contains(expected));
    let nested = "router 0 node 0 router 3\nrouter 1 node 1 router 2\nrouter 2 node 2\nrouter 3 node 3\n";
    folder.write("parts.anynet", nested.as_bytes());
    folder.write("within.toml", pattern("complement").as_bytes());
    assert_eq!(folder.run(&["simulate", "within.toml"]).code, 0);
}

#[test]
fn an_empty_file_is_no_store_and_stays_empty() {
    let folder = folder();
    folder.write("empty.db", b"");
    for command in ["plot", "report"] {
        let message = folder.run(&[command, "two.toml", "--store", "empty.db"]).bad_input();
        assert!(message.contains("`empty.db` is empty: expected a result store"), "{message}");
        assert!(folder.bytes("empty.db").is_empty());
    }
}

#[test]
fn names_that_nobody_knows_are_refused_by_what_reads_a_store() {
    let folder = folder();
    assert_eq!(folder.run(&["sweep", "two.toml"]).code, 0);
    let before = folder.files("results");
    let wrong = [
        (
            "sweep.algorithm=[\"dual-path\", \"multy-path\"]",
            "unknown algorithm `multy-path`; did you mean `multi-path`?",
        ),
        ("algorithm=e-cube", "unknown algorithm `e-cube`: this is the name of a routing"),
        ("sweep.algorithm=[\"dual-path\",\"e-cube\"]", "unknown algorithm `e-cube`: this is the name of a routing"),
        ("routing=dual-path", "unknown routing `dual-path`: this is the name of an algorithm"),
        ("sweep.algorithm=[\"dual-paht\"]", "unknown algorithm `dual-paht`; did you mean `dual-path`?"),
        ("sweep.algorithm=[\"dual-path\", \"u-cube\"]", "`u-cube`"),
    ];
    for (set, expected) in wrong {
        for command in ["plot", "report"] {
            let message = with(&folder, &[command, "two.toml"], &[set]).bad_input();
            assert!(message.contains(expected), "{message}");
        }
    }
    assert_eq!(folder.files("results"), before);
    // What is missing only because nobody ran it is no mistake.
    let more = ["sweep.algorithm=[\"dual-path\", \"column-path\"]"];
    assert_eq!(with(&folder, &["plot", "two.toml"], &more).code, 0);
}

#[test]
fn a_store_is_no_device() {
    let folder = folder();
    for command in ["sweep", "plot", "report"] {
        let message = folder.run(&[command, "two.toml", "--store", "/dev/null"]).bad_input();
        assert!(message.contains("`/dev/null` is not a result store: it is a device or a pipe"), "{message}");
    }
}

#[test]
fn contradictions_are_refused() {
    let folder = folder();
    let simulate = ["simulate", "one.toml"];
    refused(&folder, &[&simulate[..], &["--seed", "3"]].concat(), &["seed=4"], "--seed 3: contradicts `--set seed=4`");
    let engine = [&simulate[..], &["--engine", "flit"]].concat();
    refused(&folder, &engine, &["engine=worm"], "--engine flit: contradicts `--set engine=worm`");
    let range = ["sweep.seed={from=1,to=10,points=1}"];
    refused(&folder, &["sweep", "one.toml"], &range, "a range from one number to another has at least 2 points");
    let range = ["sweep.traffic.length={from=10,to=1,points=3}"];
    refused(
        &folder,
        &["sweep", "one.toml"],
        &range,
        "`traffic.length` takes whole numbers, and 5.5 is one of this range",
    );
    for (values, said) in [
        ("[1.5, 2]", "number `1.5`, expected a whole number of flits"),
        ("{ from = 1, to = 1e9, points = 2 }", "`traffic.length` takes whole numbers"),
        ("{ from = 1, to = 1000000000, points = 2 }", "expected"),
    ] {
        refused(&folder, &["sweep", "one.toml"], &[&format!("sweep.traffic.length={values}")], said);
    }
    refused(&folder, &simulate, &["quick.run.messages=5"], "`quick` is a version of the file");
    // The same twice is no contradiction, and a table may come before what is set in it.
    with(&folder, &simulate, &["seed=5", "seed=5", "timing={startup=5}", "timing.routing_delay=2"]).success();
}

#[test]
fn settings_without_effect_are_named() {
    let folder = Folder::with(&[("one.toml", ONE), ("two.toml", TWO), ("t.txt", "0 0 8 3\n0 1 8 2\n")]);
    let trace = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.trace = 't.txt'\nrun.messages = 50\n";
    folder.write("trace.toml", trace.as_bytes());
    let said = |command: &[&str], set: &[&str]| {
        let run = with(&folder, command, set);
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    let simulate = ["simulate", "one.toml"];
    assert_eq!(
        said(&simulate, &["plot.y=latency.mean"]),
        "warning: --set plot.y=latency.mean: `plot` makes no difference to a single run\n"
    );
    let threads = said(&["sweep", "two.toml", "--jobs", "5000"], &["run.messages=40"]);
    assert!(threads.contains("warning: --jobs 5000: a sweep runs at most 1024 threads\n"), "{threads}");
    let sweeps = ["sweep.algorithm=[\"dual-path\"]"];
    assert!(said(&simulate, &sweeps).contains("`sweep` makes no difference to a single run"));
    assert!(said(&simulate, &["stop.confidence=0.9"]).contains("`stop` makes no difference to a single run"));
    assert!(said(&["simulate", "trace.toml"], &[]).contains("the trace has 2 messages, and a run cannot have more"));
    assert_eq!(said(&["simulate", "trace.toml"], &["run.messages=2"]), "");
    let selection = "`switching.selection` makes no difference here: ";
    assert!(said(&simulate, &["switching.selection=random"]).contains(selection));
    let adaptive = ["switching.selection=random", "algorithm=separate", "routing=negative-first"];
    assert!(!said(&simulate, &adaptive).contains(selection));
}

#[test]
fn impossible_claims_are_refused() {
    let claims = [
        ("order = { lower = ['dual-path'], higher = ['dual-path'] }", "`dual-path` is in both lists"),
        ("outlasts = { later = ['dual-path'], earlier = ['dual-path'] }", "`dual-path` is in both lists"),
        (
            "gap = { series = ['dual-path'], over = 'latency.last', at_least = 0.1 }",
            "expected another quantity than `latency.last`",
        ),
        (
            "gap = { series = ['dual-path'], over = 'latency.mean', at_least = 0.6, at_most = 0.1 }",
            "expected at least as much as `at_least`",
        ),
        ("saturates = { series = ['dual-path'], before = 0.01, after = 0.02 }", "expected more than `after`"),
        ("saturates = { series = ['dual-path'], before = 0.5 }", "0.5 is outside of the sweep"),
        ("falls = { series = ['dual-path'], by = -5 }", "expected a share from 0"),
        ("", "claim `c` needs a test: one of `order`"),
        (
            "falls = { series = ['dual-path'] }\nvalues = { of = { dual-path = [1, 2] } }",
            "claim `c` has 2 tests, `falls` and `values`: write a claim for each, with the same `id`",
        ),
        ("y = 'plan.steps'\nfalls = { series = ['dual-path'] }", "`plan.steps` is not measured in this experiment"),
    ];
    for (test, expected) in claims {
        let folder = Folder::with(&[("two.toml", &format!("{TWO}[[claim]]\nid = 'c'\ntext = 'T'\n{test}\n"))]);
        let message = folder.run(&["sweep", "two.toml"]).bad_input();
        assert!(message.contains(expected), "{test}: {message}");
    }
    for (claim, expected) in [
        ("[[claim]]\nid = ''\ntext = 'T'\n", "this is empty: expected a text such as \"dual-path-is-best\""),
        ("[[claim]]\nid = 'c'\ntext = ' '\n", "this is empty: expected a text such as \"Dual-path is best\""),
        ("[claim]\nid = 'c'\n", "claims are a list of tables: write `[[claim]]` for each"),
    ] {
        let text = format!("{TWO}{claim}falls = {{ series = ['dual-path'] }}\n");
        let message = Folder::with(&[("two.toml", &text)]).run(&["sweep", "two.toml"]).bad_input();
        assert!(message.contains(expected), "{claim}: {message}");
    }
}

#[test]
fn variations_have_names_that_files_can_have() {
    for (name, expected) in [
        ("'a/b'", "`a/b` cannot name a variation: expected a part of a file's name, such as `no-startup`"),
        ("'../../etc'", "`../../etc` cannot name a variation"),
        ("''", "`` cannot name a variation"),
        ("quick", "`quick` cannot name a variation: files of the quick version are called so"),
    ] {
        let folder = Folder::with(&[("one.toml", &format!("{ONE}[variation.{name}]\nseed = 1\n"))]);
        let message = folder.run(&["sweep", "one.toml"]).bad_input();
        assert!(message.contains(expected) && message.contains("one.toml:6:"), "{message}");
    }
}

/// Names that mean something to the database are names of files; what is wrong with a store is failed work, for every command.
#[test]
fn a_store_is_a_file_and_a_damaged_one_fails_every_command() {
    let folder = folder();
    for name in [":memory:", "file:x?mode=memory"] {
        folder.run(&["sweep", "one.toml", "--store", name]).success();
        assert!(folder.path().join(name).is_file(), "{name}");
        folder.run(&["plot", "one.toml", "--store", name]).success();
    }
    folder.run(&["sweep", "two.toml"]).success();
    let whole = folder.bytes("results/store.db");
    folder.write("results/store.db", &whole[..whole.len() / 2]);
    for command in ["sweep", "compare", "plot", "report"] {
        let failed = folder.run(&[command, "two.toml"]);
        assert_eq!(failed.code, 1, "{command}: {failed:?}");
        assert!(failed.stderr.contains("`results/store.db` is damaged"), "{command}: {failed:?}");
    }
}

/// What a run says that was given up, or that ended before it measured anything.
#[test]
fn a_run_that_was_given_up_says_so() {
    let folder = folder();
    let nothing = with(&folder, &["simulate", "one.toml"], &["run.warmup=2000", "run.max_cycles=2001"]).bad_input();
    let expected =
        "no message was generated from cycle 2000, where the warm-up ends, to cycle 2001, where the run does";
    assert!(nothing.contains(expected), "{nothing}");
    // Messages that were generated in the window, none of which has arrived.
    let report =
        with(&folder, &["simulate", "one.toml", "--format", "json"], &["run.warmup=2000", "run.max_cycles=3000"])
            .json();
    assert_eq!((&report["given_up"], &report["saturated"]), (&true.into(), &true.into()));
    assert_eq!(
        (&report["warmup"], &report["messages"]["measured"]),
        (&report["window"]["from"], &0.into()),
        "{report}"
    );
    assert!(report["warmup"].as_u64() >= Some(2000), "{report}");
    // A load that is carried, and too little time for its messages.
    let cut = ["run.warmup=0", "run.messages=1000", "run.max_cycles=400000"];
    let text = with(&folder, &["simulate", "one.toml"], &cut).success();
    let expected = "  window            cut short at `run.max_cycles`, with deliveries keeping up: raise that, or lower `run.messages`\n";
    assert!(text.contains(expected), "{text}");
    let cut = [&cut[..], &["stop.min_replications=2", "stop.max_replications=2"]].concat();
    let text = with(&folder, &["sweep", "one.toml"], &cut).success();
    assert!(text.contains(", 2 of them cut short at `run.max_cycles`)"), "{text}");
    let finite = with(&folder, &["simulate", "one.toml"], &["run.mode=finite"]);
    assert!(finite.code == 0 && !finite.stdout.contains("warm-up"), "{finite:?}");
}

/// Where the shell limits the address space, a table that doubles asks for more than there is long before the memory is full.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_outgrows_the_limits_of_the_shell_ends_with_a_message() {
    let folder = folder();
    for limit in [700_000, 1_000_000] {
        let shell = format!(
            "ulimit -v {limit}; exec {} simulate one.toml --set traffic.arrivals.rate=190 --set run.messages=100000000",
            env!("CARGO_BIN_EXE_wormcast")
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &shell]).current_dir(folder.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let failed = outcome(command.spawn().expect("a shell"));
        assert_eq!(failed.code, 1, "{failed:?}");
        assert!(failed.stderr.contains("error: out of memory "), "{failed:?}");
        assert!(failed.stderr.contains("a lower load"), "{failed:?}");
    }
    let mut run =
        command(&["simulate", "one.toml", "--set", "traffic.arrivals.rate=190", "--set", "run.messages=100000000"]);
    run.current_dir(folder.path()).env("WORMCAST_MEMORY", "300MB");
    let failed = outcome(run.spawn().expect("the command starts"));
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("more than 95% of what `WORMCAST_MEMORY` allows; a lower load"), "{failed:?}");
}

/// The limit is not looked at between a small and a large allocation.
#[cfg(unix)]
#[test]
fn an_allocation_that_the_shell_refuses_ends_a_command_with_its_exit_code() {
    let plan = "plan --topology mesh:700x700 --algorithm u-mesh --source 0 --destinations all";
    for limit in [250_000, 300_000] {
        let shell = format!("ulimit -v {limit}; exec {} {plan}", env!("CARGO_BIN_EXE_wormcast"));
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &shell]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let failed = outcome(command.spawn().expect("a shell"));
        let said = ["memory allocation of ", "error: out of memory "].iter().any(|said| failed.stderr.contains(said));
        assert!(failed.code == 1 && said, "{failed:?}");
    }
}

/// Some editors put a mark before the first line, which nobody sees.
#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let trace = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.trace = 't.txt'\n";
    let request = r#"{"topology":"mesh:2x2","algorithm":"separate","source":0,"destinations":[3]}"#;
    let folder = Folder::with(&[
        ("trace.toml", trace),
        ("t.txt", "\u{feff}0 0 8 3\n"),
        ("requests.jsonl", &format!("\u{feff}{request}\n{request}\n")),
    ]);
    folder.run(&["simulate", "trace.toml"]).success();
    assert_eq!(folder.run(&["plan", "--batch", "requests.jsonl", "--strict"]).success().lines().count(), 2);
}

/// The setting that is to blame is the one that is shown.
#[test]
fn the_setting_to_blame_is_pointed_at() {
    let folder = folder();
    let simulate = ["simulate", "one.toml"];
    let central = ["switching.model=central-buffer", "algorithm=bit-string"];
    for (set, expected) in [
        (&["routing=turnaround", "algorithm=separate"][..], "--set routing=turnaround: "),
        (
            &["algorithm=bit-string", "topology=bmin:2x4"],
            "--set algorithm=bit-string: `bit-string` sends worms with encoded",
        ),
        (
            &[central[0], central[1], "topology=bmin:2x4", "switching.max_packet=100000"],
            "--set switching.max_packet=100000: ",
        ),
        (&["topology="], "--set topology=: this is empty: expected a topology such as"),
        (&["topology={random={nodes=10,degree=3,sead=3}}"], "did you mean `seed`?"),
        (&["topology={randon={nodes=10}}"], "did you mean `random`?"),
        (&["topology={random={nodes=\"ten\"}}"], "expected a whole number"),
        (&["traffic.trace=t.txt", "traffic.arrivals={rate=1}"], "a trace replaces random traffic"),
        (&["switching.consumption_ports=-3"], "expected a whole number from 1 to 32"),
        (&["traffic.length=2020-01-01"], "no setting takes a date or a time"),
    ] {
        refused(&folder, &simulate, set, expected);
    }
    let long = format!("algorithm={}", "x".repeat(100_000));
    let message = with(&folder, &simulate, &[&long]).bad_input();
    assert!(message.len() < 10_000, "{} bytes", message.len());
    let empty = ["plan", "--topology", "mesh:4x4", "--algorithm", "separate", "--source", "0", "--destinations", ""];
    assert!(folder.run(&empty).bad_input().contains("`--destinations` is empty: expected nodes"));
}

#[test]
fn what_readers_stumbled_over() {
    let folder = Folder::with(&[("two.toml", TWO), ("apart.edges", "0 1\n2 3\n")]);
    let refused = |arguments: &[&str]| folder.run(arguments).bad_input();
    let message = refused(&["trees", "--topology", "omega:4x2", "--construction", "dstm-tarjan"]);
    assert!(message.contains("`dstm-tarjan` needs links with channels both ways"), "{message}");
    // What is suggested works there.
    for (name, needs) in [
        ("chain-ordered", "links with channels both ways"),
        ("tree-zero", "links with channels both ways"),
        ("spam", "links with channels both ways"),
        ("dstm-tarjan-best", "links with channels both ways"),
        ("dstm-1", "a torus of two dimensions, each of at least 2 routers"),
        ("u-min", "a bidirectional multistage network, such as `bmin:4x3`"),
    ] {
        let plan = ["plan", "--topology", "butterfly:4x2", "--source", "0", "--destinations", "1;5", "--algorithm"];
        let message = refused(&[&plan[..], &[name]].concat());
        let expected = format!("`{name}` needs {needs}, but `butterfly:4x2` is");
        assert!(message.contains(&expected) && message.ends_with("there is `multiport`\n"), "{message}");
        folder.run(&[&plan[..], &["multiport"]].concat()).success();
    }
    for name in ["tree", "spam", "up-down", "turn-prohibition", "turnaround", "turnaround-deterministic"] {
        let routing = ["routing", "--topology", "omega:4x2", "--routing"];
        let message = refused(&[&routing[..], &[name]].concat());
        assert!(message.starts_with(&format!("error: `{name}` needs ")), "{message}");
        assert!(message.ends_with("; use `destination-tag`\n"), "{message}");
        folder.run(&[&routing[..], &["destination-tag"]].concat()).success();
    }
    let trees = ["routing", "--topology", "apart.edges", "--algorithm", "tree-one"];
    let message = refused(&trees);
    assert!(message.contains("needs a connected network, but `apart.edges` is not; no route leads from"), "{message}");
    let message = refused(&["sweep", "two.toml", "--set", "sweep.traffic.arrivals.rate=[nan, 0.05]"]);
    assert!(message.contains("`traffic.arrivals.rate` has a value that is not a finite number"), "{message}");
    let text = "topology = \"mesh:4x4\"\ntraffic.arrivals = { process = \"poisson\", rate = 0.01 }\n[sweep]\n\"traffic.arrivals.rate\" = [0.01, nan]\n";
    folder.write("nan.toml", text.as_bytes());
    let message = refused(&["sweep", "nan.toml"]);
    assert!(message.contains("nan.toml:4:34"), "{message}");
    for command in ["sweep", "plot", "report"] {
        let message = refused(&[command, "two.toml", "--store", "."]);
        assert!(message.contains("cannot open the result store"), "{message}");
    }
}

#[test]
fn messages_that_a_finite_run_leaves_unmeasured_are_told() {
    let folder = folder();
    let rate = ["traffic.arrivals.rate=2", "run.messages=100"];
    let finite = with(&folder, &["simulate", "one.toml"], &[&rate[..], &["run.mode=finite"]].concat());
    assert_eq!(finite.code, 0);
    assert!(finite.stderr.contains("were in flight at the end of this finite run and are not measured"), "{finite:?}");
    let drained = with(&folder, &["simulate", "one.toml"], &[&rate[..], &["run.mode=drain"]].concat());
    assert_eq!((drained.code, drained.stderr.as_str()), (0, ""));
    assert!(drained.stdout.contains("100 generated, 100 delivered, 0 in flight, 100 measured"), "{drained:?}");
    let report = [&rate[..], &["run.mode=drain", "run.until=4000", "run.messages=100"]].concat();
    let report = with(&folder, &["simulate", "one.toml"], &report).bad_input();
    assert!(report.contains("says when arrivals stop, as `run.messages` does"), "{report}");
    let timed = folder.read("one.toml").replace("run.messages = 100", "run = { mode = 'drain', until = 4000 }");
    folder.write("timed.toml", timed.as_bytes());
    let report = folder.run(&["simulate", "timed.toml", "--format", "json"]).json();
    let messages = &report["messages"];
    assert!(messages["generated"].as_u64() > Some(0) && messages["generated"] == messages["delivered"], "{report}");
    assert_eq!((&messages["in_flight"], &messages["measured"]), (&0.into(), &messages["generated"]), "{report}");
    // The name of the mode has no other spelling.
    let old = with(&folder, &["simulate", "one.toml"], &["run.mode=drained"]).bad_input();
    assert!(old.contains("did you mean `drain`?"), "{old}");
    let text = with(&folder, &["sweep", "one.toml"], &[&rate[..], &["run.mode=finite"]].concat()).success();
    assert!(
        text.contains("% of the messages not measured)") && text.contains("`run.mode = \"drain\"` measures all"),
        "{text}"
    );
    let text = with(&folder, &["sweep", "one.toml"], &[&rate[..], &["run.mode=drain"]].concat()).success();
    assert!(!text.contains("not measured"), "{text}");
}
