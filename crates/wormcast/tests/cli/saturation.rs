//! Windows, and which runs are called saturated.

use serde_json::Value;

use crate::folder::Folder;
use crate::small::{IDLE, folder, refused};

/// They counted as loads of 0, and the points as saturated.
#[test]
fn runs_that_end_before_their_first_measured_message_are_refused() {
    let early = ["--set=run={ messages = 10, warmup = 1000, max_cycles = 1001 }", "--set=traffic.arrivals.rate=0.01"];
    let expected = "no message was generated from cycle 1000, where the warm-up ends, to cycle 1001, where the run does: expected more cycles, or a shorter `run.warmup`";
    refused(&early, expected);
    let sweep = folder().run(&[&["sweep", "idle.toml"][..], &early].concat());
    assert!(sweep.code == 2 && sweep.stderr.contains(expected), "{}", sweep.stderr);
}

/// A run whose next message comes after its limit had been called saturated though all that it measures was delivered, and its loads were those of one cycle.
#[test]
fn a_window_of_one_burst_lasts_until_the_next() {
    let burst = [
        "--set=traffic={ arrivals = { process = 'burst', interval = 20000 }, multicast.destinations = 5 }",
        "--set=run={ mode = 'steady', warmup = { messages = 16 }, messages = 8 }",
        "--set=algorithm=separate",
    ];
    let folder = folder();
    let found = folder.run(&[&["simulate", "idle.toml", "--format=json"][..], &burst].concat()).json();
    assert_eq!(
        (&found["saturated"], &found["offered_load"], &found["given_up"]),
        (&false.into(), &(5.0 * 32.0 / 20000.0).into(), &Value::Null)
    );
    let text = folder.run(&[&["simulate", "idle.toml"][..], &burst].concat()).success();
    assert!(text.contains("  window            too few messages to say whether they pile up"), "{text}");
    assert!(text.contains("  load              0.0080 data flits") && !text.contains("saturated"), "{text}");
    let swept = folder.run(&[&["sweep", "idle.toml"][..], &burst].concat()).success();
    assert!(!swept.contains("saturated") && swept.contains(" µs ("), "{swept}");
}

#[test]
fn traffic_that_ends_within_the_warm_up_is_refused() {
    let late = ["--set=traffic={ trace = 'late.trace' }", "--set=run={ mode = 'steady', warmup = 5 }"];
    refused(&late, "the traffic ends within the warm-up, which lasts until cycle 5");
    let sweep = folder().run(&[&["sweep", "idle.toml"][..], &late].concat());
    assert!(sweep.code == 2 && sweep.stderr.contains("ends within the warm-up"), "{}", sweep.stderr);
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

/// A window that cuts a burst in two counts whole bursts with the time that belongs to them.
#[test]
fn windows_of_bursts_count_whole_bursts() {
    let text = "topology = \"mesh:6x6\"\nalgorithm = \"dual-path\"\ntiming.startup = 50\n[traffic]\narrivals = { process = \"burst\", interval = 20000 }\nlength = 20\nmulticast.destinations = 5\n";
    let trace: String = (0..40)
        .flat_map(|burst| (0..16).map(move |node| format!("{} {node} 20 {}\n", 5000 * burst, (node + 5) % 16)))
        .collect();
    let traced = "topology = \"mesh:4x4\"\nalgorithm = \"dual-path\"\ntiming.startup = 50\ntraffic.trace = \"t.trace\"\nrun.mode = \"steady\"\n";
    let folder = Folder::with(&[("bursts.toml", text), ("t.trace", &trace), ("traced.toml", traced)]);
    for (file, messages, warmup, load) in [
        ("bursts.toml", 395, "30000", 0.005),
        ("bursts.toml", 396, "30000", 0.005),
        ("bursts.toml", 400, "30000", 0.005),
        ("bursts.toml", 1000, "{ messages = 5 }", 0.005),
        ("bursts.toml", 382, "'auto'", 0.005),
        ("traced.toml", 95, "5000", 20.0 / 5000.0),
        ("traced.toml", 96, "{ messages = 3 }", 20.0 / 5000.0),
    ] {
        let [messages, warmup] = [format!("--set=run.messages={messages}"), format!("--set=run.warmup={warmup}")];
        let run = folder.run(&["simulate", file, &messages, &warmup, "--format=json"]);
        let run: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
        assert_eq!(run["saturated"], false, "{messages} {warmup}: {run}");
        for of in ["offered_load", "delivered_load"] {
            let found = run[of].as_f64().unwrap();
            assert!((found / load - 1.0).abs() < 1e-9, "{messages} {warmup}: {of} {found}");
        }
        assert_eq!(run["messages"]["measured"].as_u64().unwrap().to_string(), messages.rsplit('=').next().unwrap());
    }
    for cycles in [150_000, 160_100, 169_999] {
        let cut = ["--set=run.messages=1008", "--set=run.warmup=30000", &format!("--set=run.max_cycles={cycles}")];
        let cut = folder.run(&[&["simulate", "bursts.toml", "--format=json"][..], &cut].concat());
        let cut: Value = serde_json::from_str(&cut.stdout).unwrap_or_else(|_| panic!("{cut:?}"));
        assert!(cut["saturated"] == false && cut["offered_load"].as_f64().unwrap() <= 0.005, "{cycles}: {cut}");
    }
    let whole = folder.run(&["simulate", "traced.toml", "--set=run.warmup=10000"]).success();
    assert!(!whole.contains("too few messages"), "{whole}");
}

/// Along intervals or buffers, saturation ends: what is carried where it is claimed to be saturated refutes the claim.
#[test]
fn a_value_that_is_carried_is_not_saturated() {
    let text = "topology = \"mesh:6x6\"\nalgorithm = \"dual-path\"\ntiming.startup = 50\nrun.messages = 720\nrun.warmup = 0\n[stop]\nmin_replications = 5\nmax_replications = 5\n[traffic]\narrivals = { process = \"burst\", interval = 20000 }\nlength = 20\nmulticast.destinations = 5\n[sweep]\nalgorithm = [\"dual-path\"]\n\"traffic.arrivals.interval\" = [100, 5000, 20000]\n[[claim]]\nid = \"s\"\ntext = \"is saturated\"\nsaturates = { series = [\"dual-path\"], before = 20000 }\n";
    let folder = Folder::with(&[("ends.toml", text)]);
    let swept = folder.run(&["sweep", "ends.toml"]).success();
    assert!(swept.contains("interval=100: saturated") && !swept.contains("interval=20000: saturated"), "{swept}");
    assert!(swept.contains("claim s: not reproduced"), "{swept}");
    let early = folder.run(&[
        "sweep",
        "ends.toml",
        "--set=topology=bmin:4x2",
        "--set=sweep.algorithm=['u-min', 'bit-string']",
        "--set=traffic.multicast.destinations=1",
        "--set=claim=[]",
    ]);
    assert!(early.bad_input().contains("buffered switches replicate: set `switching.model"));
}

/// Windows in which queues are still filling called loads saturated that are carried, and claims were borne out by that.
#[test]
fn queues_that_fill_are_no_saturation() {
    // Each node sends a message in 5,000 cycles: 90% of what it carries, and twice as much.
    let nodes = "topology = \"mesh:8x8\"\nalgorithm = \"separate\"\nrun.messages = 300\n[traffic]\narrivals.process = \"poisson\"\nlength = 16\nmulticast.destinations = 5\n[stop]\nmin_replications = 10\nmax_replications = 10\n[sweep]\ntraffic.arrivals.rate = [0.036, 0.08]\n[[claim]]\nid = \"c\"\ntext = \"is saturated\"\nsaturates = { series = [\"separate\"], before = 0.036 }\n";
    // One message in a hundred goes to all, which takes 63 startups: 5% of what nodes carry, and a tenth.
    let mixed = nodes.replace("destinations = 5", "destinations = \"all\"\nmulticast.fraction = 0.01");
    let mixed = mixed
        .replace("[0.036, 0.08]", "[0.006, 0.012]")
        .replace("before = 0.036", "before = 0.006")
        .replace("messages = 300", "messages = 400");
    // 100 messages, most of which wait for their startups.
    let short =
        nodes.replace("separate", "column-path").replace("8x8", "4x4").replace("messages = 300", "messages = 100");
    let short = short
        .replace("[0.036, 0.08]", "[0.05, 0.06]")
        .replace("before = 0.036", "before = 0.06")
        .replace("destinations = 5", "destinations = 3");
    let files = [("nodes.toml", nodes), ("mixed.toml", mixed.as_str()), ("short.toml", short.as_str())];
    let files: Vec<(&str, String)> = files
        .map(|(name, text)| (name, format!("{text}\n").replace("[sweep]\n", "[sweep]\nalgorithm = [\"A\"]\n")))
        .into();
    for (name, text) in &files {
        let algorithm = if *name == "short.toml" { "column-path" } else { "separate" };
        let folder = Folder::with(&[(name, &text.replace("\"A\"", &format!("\"{algorithm}\"")))]);
        let empty = if *name == "mixed.toml" { "0" } else { "20000" };
        for warmup in ["'auto'", "10000", empty] {
            let swept = folder.run(&["sweep", name, &format!("--set=run.warmup={warmup}")]).success();
            let loads: Vec<&str> = swept.lines().filter(|line| line.contains("rate=")).collect();
            let [carried, second] = loads[..] else { panic!("{name}: {swept}") };
            assert!(!carried.contains("saturated"), "{name} {warmup}: {carried}");
            assert_eq!(second.contains("saturated"), *name == "nodes.toml", "{name} {warmup}: {second}");
            assert!(!swept.contains("claim c: reproduced"), "{name} {warmup}: {swept}");
        }
    }
}
