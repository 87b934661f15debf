//! `wormcast simulate`.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::wormcast;

/// Small numbers to work by hand: 10 cycles of startup, a routing delay of 2, one port each, one-flit buffers.
const BY_HAND: &str = r#"
topology = "mesh:4x4"
algorithm = "separate"
traffic.trace = "messages.txt"
[switching]
buffer = 1
injection_ports = 1
consumption_ports = 1
[timing]
cycle_ns = 5.0
startup = 10
routing_delay = 2
"#;

/// A lone unicast; two worms of one message; two messages that want the same link.
const MESSAGES: &str = "\
# cycle source length destinations
0   0   8 3
100 1,1 8 2,1;1,3

200 0   8 2   # waits for the next one
200 1   8 2
";

fn by_hand() -> Folder {
    Folder::with(&[("x.toml", BY_HAND), ("messages.txt", MESSAGES)])
}

#[test]
fn deliveries_are_those_worked_out_by_hand() {
    let folder = by_hand();
    folder.run(&["simulate", "x.toml", "--deliveries", "out.csv"]).success();
    // Rule 4, S + (D + 1)(r + 1) + L: 10 + 4 * 3 + 8 = 30 and 10 + 2 * 3 + 8 = 24.
    // The second worm of message 1 is prepared in 120. The injection channel is its own from 123 on: the first worm's header
    // crosses the consumption channel in 116, so its eighth flit leaves the injection buffer in 122. 123 + 3 * 3 + 8 = 140.
    // Message 3 takes the link from 1 to 2 in 213 and crosses the consumption channel until 223. Message 2 asked for the link
    // in 216, gets it in 224, and the consumption channel three cycles later: 227 + 8 = 235.
    let expected = "\
message,source,destination,generated,delivered
0,0,3,0,30
1,5,6,100,124
1,5,13,100,140
2,0,2,200,235
3,1,2,200,224
";
    assert_eq!(folder.read("out.csv"), expected);
}

#[test]
fn json_has_every_documented_field() {
    let run = by_hand().run(&["simulate", "x.toml", "--seed", "7", "--engine", "flit", "--format", "json"]);
    assert_eq!((run.code, run.stderr.contains("`seed` makes no difference here: a trace says")), (0, true), "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["seed"], &report["engine"], &report["deadlock"]), (&json!(7), &json!("flit"), &Value::Null));
    assert_eq!(report["config_hash"].as_str().unwrap().len(), 64);
    assert_eq!(report["cycles"], 235);
    let messages = json!({"generated": 4, "delivered": 4, "in_flight": 0, "measured": 4});
    assert_eq!(report["messages"], messages);
    assert_eq!((&report["deliveries"], &report["duplicates"]), (&json!(5), &json!(0)));
    assert_eq!(report["saturated"], false);
    // Latencies to the last destination: 30, 40, 35, 24; the mean over destinations of message 1 is 32.
    let last = &report["latency"]["last"];
    assert_eq!((&last["mean"], &last["mean_ns"]), (&json!(129.0 / 4.0), &json!(129.0 / 4.0 * 5.0)));
    assert_eq!((&last["p50"], &last["p99"], &last["max"]), (&json!(30.0), &json!(40.0), &json!(40.0)));
    let mean = &report["latency"]["mean"];
    assert_eq!((&mean["mean"], &mean["mean_ns"]), (&json!(121.0 / 4.0), &json!(121.0 / 4.0 * 5.0)));
    assert_eq!((&mean["p50"], &mean["p99"], &mean["max"]), (&json!(30.0), &json!(35.0), &json!(35.0)));
    // Message 1's last worm waits 10 cycles for the processor and 3 for the injection channel, message 2's 8 for a link.
    let parts = json!({"queueing": 10.0 / 4.0, "startup": 10.0, "network": (20.0 + 17.0 + 17.0 + 14.0) / 4.0, "blocking": 11.0 / 4.0});
    assert_eq!(report["latency"]["parts"], parts);
    // 5 deliveries of 8 flits in 235 cycles at 16 nodes.
    for load in ["offered_load", "delivered_load"] {
        assert_eq!(report[load], json!(40.0 / (16.0 * 235.0)), "{load}");
    }
}

/// Lockstep holds a stop's flits back until those behind it move: 4 data flits over 0, 1, 2, 3 with a routing delay of 1.
#[test]
fn a_path_delivers_on_its_way() {
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", "0 0 4 1;2;3\n")]);
    let set = [
        "topology=mesh:4",
        "algorithm=dual-path",
        "timing.startup=0",
        "timing.routing_delay=1",
        "switching.consumption_ports=2",
    ];
    let arguments: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    folder.run(&[&["simulate", "x.toml", "--deliveries", "out.csv"], &arguments[..]].concat()).success();
    // The header crosses the links in 2, 4, 6 and the last consumption channel in 8; the last flit leaves router 1 in
    // 8 + 3 - 2 = 9, router 2 in 8 + 3 - 1 = 10, router 3 in 8 + 3 = 11.
    let expected = "message,source,destination,generated,delivered\n0,0,1,0,10\n0,0,2,0,11\n0,0,3,0,12\n";
    assert_eq!(folder.read("out.csv"), expected);
}

#[test]
fn text_is_for_people() {
    let text = by_hand().run(&["simulate", "x.toml", "--engine", "flit"]).success();
    assert!(text.starts_with("separate on mesh:4x4, seed 0, flit engine\n"), "{text}");
    assert!(text.contains("4 generated, 4 delivered, 0 in flight, 4 measured"), "{text}");
    assert!(text.contains("mean 32.2 cycles (0.161 µs), median 30, 99% 40, largest 40"), "{text}");
}

#[test]
fn the_timeline_is_a_trace_event_file() {
    let folder = by_hand();
    folder.run(&["simulate", "x.toml", "--timeline", "out.json"]).success();
    let timeline: Value = serde_json::from_str(&folder.read("out.json")).expect("valid JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}"));
    let named = |phase: &str| -> Vec<&Value> { events.iter().filter(|event| event["ph"] == phase).collect() };
    let mut tracks = std::collections::HashSet::new();
    for name in named("M") {
        assert!(name["args"]["name"].as_str().is_some_and(|name| !name.is_empty()), "{name}");
        tracks.insert((name["pid"].as_u64(), name["tid"].as_u64()));
    }
    assert_eq!(named("M").len() + named("X").len() + named("i").len(), events.len());
    let mut slices: Vec<(u64, u64, f64, f64)> = Vec::new();
    for slice in named("X") {
        assert!(number(slice, "ts") >= 0.0 && number(slice, "dur") > 0.0, "{slice}");
        // 235 cycles of 5 ns are 1.175 us.
        assert!(number(slice, "ts") + number(slice, "dur") <= 1.175 + 1e-9, "{slice}");
        assert!(tracks.contains(&(slice["pid"].as_u64(), slice["tid"].as_u64())), "{slice} has a named track");
        let end = number(slice, "ts") + number(slice, "dur");
        slices.push((slice["pid"].as_u64().unwrap(), slice["tid"].as_u64().unwrap(), number(slice, "ts"), end));
    }
    // A channel has one holder at a time, a processor one startup.
    slices.sort_by(|a, b| a.partial_cmp(b).unwrap());
    for pair in slices.windows(2) {
        assert!((pair[0].0, pair[0].1) != (pair[1].0, pair[1].1) || pair[0].3 <= pair[1].2 + 1e-9, "{pair:?}");
    }
    // 5 startups; links 3 + 1 + 2 + 2 + 1; an injection and a consumption channel a worm; two waits.
    assert_eq!(slices.len(), 5 + 9 + 10 + 2);
    let held = named("X").into_iter().find(|s| s["args"]["from_cycle"] == 213 && s["name"] == "worm 4").unwrap();
    assert_eq!((&held["args"]["to_cycle"], &held["args"]["flits"]), (&json!(224), &json!(8)));
    assert_eq!(named("i").len(), 5);
    let delivered: Vec<_> = named("i").iter().map(|event| event["args"]["cycle"].as_u64().unwrap()).collect();
    assert_eq!(delivered.iter().max(), Some(&235));
}

/// Worms that are under way when a run ends hold their channels until then, in the timeline and in the table.
#[test]
fn the_timeline_and_the_table_of_channels_agree_on_what_is_held() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.arrivals = { process = 'poisson', rate = 0.2 }\n\
        traffic.length = 40\ntraffic.multicast.destinations = 3\nrun = { mode = 'steady', warmup = 0, messages = 40 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let mut open = 0;
    for seed in 1..=8 {
        let seed = format!("--seed={seed}");
        folder.run(&["simulate", "x.toml", &seed, "--timeline", "t.json", "--channels", "c.csv"]).success();
        let timeline: Value = serde_json::from_str(&folder.read("t.json")).expect("valid JSON");
        let events = timeline["traceEvents"].as_array().expect("events");
        let holds: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 1).collect();
        let cycle = |hold: &Value, key: &str| hold["args"][key].as_u64().expect("a cycle");
        let in_timeline: u64 = holds.iter().map(|hold| cycle(hold, "to_cycle") - cycle(hold, "from_cycle")).sum();
        let table = folder.read("c.csv");
        let held = |row: &str| row.split(',').nth(5).and_then(|held| held.parse::<u64>().ok()).expect("a number");
        assert_eq!(in_timeline, table.lines().skip(1).map(held).sum::<u64>(), "{seed}");
        open += holds.iter().filter(|hold| hold["args"]["flits"].is_null()).count();
    }
    assert!(open > 0, "some holds are open");
}

/// Viewers round to whole nanoseconds and drop what overlaps with another slice of its track.
#[test]
fn no_two_slices_of_a_track_overlap() {
    for (settings, beside) in [
        ("timing = { cycle_ns = 5.0, startup = 20 }", 0),
        ("timing = { cycle_ns = 13.33, startup = 20 }", 0),
        ("timing = { cycle_ns = 0.5, startup = 20, startup_mode = 'per-port' }\nswitching.injection_ports = 2", 1),
        ("timing = { cycle_ns = 13.33, startup = 0 }\nswitching.virtual_channels = 2", 1),
        ("timing = { cycle_ns = 2.5, startup = 20, startup_mode = 'per-port' }\nswitching.virtual_channels = 3", 2),
    ] {
        let text = format!(
            "topology = 'mesh:4x4'\nalgorithm = 'u-mesh'\ntraffic.arrivals = {{ process = 'poisson', rate = 2.0 }}\n\
            traffic.length = 12\ntraffic.multicast.destinations = 4\nrun = {{ mode = 'drain', messages = 100 }}\n{settings}\n"
        );
        let folder = Folder::with(&[("x.toml", &text)]);
        folder.run(&["simulate", "x.toml", "--timeline", "t.json"]).success();
        let timeline: Value = serde_json::from_str(&folder.read("t.json")).expect("valid JSON");
        let events = timeline["traceEvents"].as_array().expect("events");
        let nanoseconds = |event: &Value, key: &str| (event[key].as_f64().unwrap() * 1000.0).round();
        let mut slices: Vec<_> = events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let start = nanoseconds(event, "ts");
                (event["pid"].as_u64(), event["tid"].as_u64(), start, start + nanoseconds(event, "dur"))
            })
            .collect();
        slices.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert!(slices.len() > 1000, "{settings}");
        for pair in slices.windows(2) {
            let alike = (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
            assert!(!alike || pair[0].3 <= pair[1].2, "{settings}: {pair:?}");
        }
        // One beside the other where several worms share a link, and nowhere else.
        let most = |process: u64| {
            let tracks = events.iter().filter(|event| event["name"] == "thread_name" && event["pid"] == process);
            let names = tracks.filter_map(|track| track["args"]["name"].as_str());
            let places = names.filter_map(|name| name.strip_suffix(')')?.rsplit_once(" (")?.1.parse::<u32>().ok());
            places.max().map_or(0, |place| place - 1)
        };
        let channels = if settings.contains("virtual") { beside } else { 0 };
        assert_eq!(most(1), channels, "{settings}");
        assert_eq!(most(2) > 0, settings.contains("per-port"), "{settings}");
    }
}

/// A window shows what overlaps with it and nothing else, and changes no result.
#[test]
fn a_timeline_has_a_window() {
    let folder = by_hand();
    let run = |window: &[&str]| {
        let printed = folder.run(&[&["simulate", "x.toml", "--timeline", "out.json"], window].concat()).success();
        let timeline: Value = serde_json::from_str(&folder.read("out.json")).expect("valid JSON");
        let events = timeline["traceEvents"].as_array().expect("events").clone();
        let mut times: Vec<(u64, u64)> = Vec::new();
        let mut tracks = std::collections::HashSet::new();
        let mut named = std::collections::HashSet::new();
        for event in &events {
            let arguments = &event["args"];
            let track = (event["pid"].as_u64(), event["tid"].as_u64());
            let cycle = |key: &str| arguments[key].as_u64();
            match (event["ph"].as_str(), event["name"] == "process_name") {
                (Some("M"), true) => continue,
                (Some("M"), false) => drop(named.insert(track)),
                _ => drop(tracks.insert(track)),
            }
            times.extend(cycle("from_cycle").zip(cycle("to_cycle")));
            // Startups take 10 cycles, deliveries none.
            let lasts = if event["ph"] == "X" { 10 } else { 1 };
            times.extend(cycle("cycle").map(|at| (at, at + lasts)));
        }
        assert_eq!(tracks, named, "the tracks that have events have names");
        times.sort_unstable();
        (printed, times)
    };
    let (printed, all) = run(&[]);
    assert_eq!(all.len(), 5 + 9 + 10 + 5 + 2);
    for (window, from, to) in [("105:130", 105, 130), (":124", 0, 124), ("224:", 224, u64::MAX), ("50:90", 50, 90)] {
        let within: Vec<_> = all.iter().copied().filter(|&(start, end)| start < to && end > from).collect();
        assert_eq!(run(&["--timeline-window", window]), (printed.clone(), within), "{window}");
    }
    for (window, said) in
        [("7", "expected two cycles"), (":", "expected two cycles"), ("9:x", "`x` is no cycle"), ("9:9", "it is empty")]
    {
        let error = folder.run(&["simulate", "x.toml", "--timeline", "t", "--timeline-window", window]).bad_input();
        assert!(error.contains(said), "{error}");
    }
    let late = folder.run(&["simulate", "x.toml", "--timeline", "t", "--timeline-window", "99999:"]);
    assert!(
        late.stderr.contains("the timeline is empty: `--timeline-window` begins in cycle 99999, and the run ends"),
        "{late:?}"
    );
    let alone = folder.run(&["simulate", "x.toml", "--timeline-window", "1:2"]).bad_input();
    assert!(alone.contains("--timeline <FILE>"), "{alone}");
}

/// Two worms in one column, up and down, each stopping where the other must.
const DEADLOCK: &str = "0 0,0 40 0,1;0,2\n0 0,3 40 0,2;0,1\n";

#[test]
fn a_deadlock_is_reported_with_its_cycle_and_a_warning() {
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", DEADLOCK)]);
    let simulate = |ports: &str| {
        let ports = format!("switching.consumption_ports={ports}");
        folder.run(&["simulate", "x.toml", "--set", "algorithm=column-path", "--set", &ports, "--format", "json"])
    };
    let outcome = simulate("1");
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    let deadlock = &report["deadlock"];
    assert_eq!(deadlock["dead"], 2);
    let member = |id: usize| deadlock["cycle"].as_array().unwrap().iter().find(|worm| worm["worm"] == id).unwrap();
    assert_eq!((&member(0)["header_at"], &member(0)["waits_for"]), (&json!(8), &json!(["consumption 0,2"])));
    assert_eq!((&member(1)["header_at"], &member(1)["waits_for"]), (&json!(4), &json!(["consumption 0,1"])));
    assert_eq!((&member(0)["router"], &member(1)["router"]), (&json!("0,2"), &json!("0,1")));
    let holds = |id: usize, channel: &str| member(id)["holds"].as_array().unwrap().contains(&json!(channel));
    assert!(holds(0, "consumption 0,1[0]") && holds(0, "0,1 -> 0,2"));
    assert!(holds(1, "consumption 0,2[0]") && holds(1, "0,2 -> 0,1"));
    assert_eq!(report["messages"], json!({"generated": 2, "delivered": 0, "in_flight": 2, "measured": 0}));
    assert_eq!((&report["latency"]["last"]["mean"], &report["latency"]["last"]["max"]), (&Value::Null, &Value::Null));
    assert_eq!(report["static_check"]["deadlock_free"], false);
    let warning = "warning: the static analysis finds that worms of `column-path` can deadlock here: see `wormcast routing --topology mesh:4x4 --algorithm column-path --consumption-ports 1`\n";
    assert!(outcome.stderr.starts_with(warning), "{outcome:?}");
    assert!(outcome.stderr.contains("\nerror: deadlock in cycle "), "{outcome:?}");

    let report = simulate("2").json();
    assert_eq!((&report["deadlock"], &report["messages"]["delivered"]), (&Value::Null, &json!(2)));
    assert_eq!(report["static_check"], json!({"deadlock_free": true, "cycle": null}));
}

/// Following all routes would take longer than the run: that it is left out is said, and how to do it. Where none have to be followed, it is done.
#[test]
fn a_network_too_large_for_the_static_check_is_said_to_be() {
    let text = "algorithm = 'separate'\nrouting = 'west-first'\nrun.messages = 2\ntraffic.arrivals = { process = 'burst', sources = 2 }\n\
                traffic.multicast = { destinations = 3 }\ntopology = 'mesh:128x128'\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let why = "routes would have to be followed, and the routers times the channels of the network are more than 2^28";
    let warning = format!(
        "warning: whether worms of `separate` on `mesh:128x128` can deadlock is not analysed before the run, as {why}: \
         see `wormcast routing --topology mesh:128x128 --algorithm separate --routing west-first`\n"
    );
    let outcome = folder.run(&["simulate", "x.toml", "--format", "json"]);
    assert_eq!(outcome.stderr, warning);
    let report: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
    assert_eq!((&report["static_check"], &report["static_check_skipped"]), (&Value::Null, &json!(why)));
    let outcome = folder.run(&["simulate", "x.toml", "--set", "topology=mesh:4x4", "--format", "json"]);
    assert_eq!(outcome.json().get("static_check_skipped"), None);
    for quick in ["routing=e-cube", "routing=turn-prohibition"] {
        let report = folder.run(&["simulate", "x.toml", "--set", quick, "--format", "json"]).json();
        assert_eq!(report["static_check"], json!({"deadlock_free": true, "cycle": null}), "{quick}");
    }
}

/// Who waits for whom when a run ends: as data, the same on both engines, and as pictures, in a deadlock and without one.
#[test]
fn waits_are_written_as_data_and_as_pictures() {
    let messages = format!("{DEADLOCK}3 0,0 40 0,3\n");
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", &messages)]);
    let run = |engine: &str, file: &str| {
        let set = ["--set", "algorithm=column-path", "--set", "switching.consumption_ports=1", "--engine", engine];
        let outcome = folder.run(&[&["simulate", "x.toml", "--waits", file], &set[..]].concat());
        assert_eq!(outcome.code, 1, "{outcome:?}");
        outcome
    };
    run("flit", "flit.json");
    run("worm", "worm.json");
    assert_eq!(folder.read("flit.json"), folder.read("worm.json"));
    let worms: Value = serde_json::from_str(&folder.read("flit.json")).expect("valid JSON");
    let [first, second, third] = &worms.as_array().unwrap()[..] else { panic!("three worms: {worms}") };
    let dead: Vec<bool> = [first, second, third].map(|worm| worm["deadlocked"].as_bool().unwrap()).to_vec();
    // The third waits for the first to leave its injection channel: as long as that is there, so is it.
    assert_eq!(dead, [true, true, true]);
    assert_eq!((&first["worm"], &first["message"], &first["source"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!((&first["destinations"], &first["destination_names"]), (&json!([4, 8]), &json!(["0,1", "0,2"])));
    // Prepared in 10; headers ask in 13, 16 and 19 and are granted at once but for the last, which both want in the same cycle.
    assert_eq!((&first["since"], &second["since"], &third["since"]), (&json!(19), &json!(19), &json!(20)));
    let waits = |worm: &Value| worm["waits_for"].as_array().unwrap().clone();
    let wait = &waits(first)[0];
    assert_eq!((&wait["kind"], &wait["name"], &wait["at"]), (&json!("consumption"), &json!("0,2"), &json!("0,2")));
    assert_eq!(
        (&wait["worms"], &waits(second)[0]["worms"], &waits(third)[0]["worms"]),
        (&json!([1]), &json!([0]), &json!([0]))
    );
    let links: Vec<_> = first["holds"].as_array().unwrap().iter().filter(|held| held["kind"] == "link").collect();
    let ends: Vec<_> =
        links.iter().map(|held| (held["from"].as_str().unwrap(), held["to"].as_str().unwrap())).collect();
    assert_eq!(ends, [("0,0", "0,1"), ("0,1", "0,2")]);

    let outcome = run("worm", "waits.svg");
    assert!(!outcome.stderr.contains("--waits FILE"), "{outcome:?}");
    let svg = folder.read("waits.svg");
    assert!(svg.starts_with("<svg ") && svg.contains("3 worms wait forever; 2 of them in a cycle come first"), "{svg}");
    assert!(
        svg.contains("worm 0 from 0,0 to 0,1; 0,2, 2 wait for it: waits at 0,2 since 19 for consumption 0,2 (worm 1)"),
        "{svg}"
    );
    run("worm", "waits.dot");
    let dot = folder.read("waits.dot");
    assert!(dot.contains("w0 -> w1 [label=\"consumption 0,2, since 19\", color=red, penwidth=2];"), "{dot}");
    assert!(dot.contains("w2 -> w0 [label=\"injection 0,0, since 20\", color=red];"), "{dot}");

    // With enough channels nothing is left at the end; before it, worms are on their way and wait for nobody forever.
    let enough = ["--set", "algorithm=column-path", "--set", "switching.consumption_ports=2", "--waits", "-"];
    let done = folder.run(&[&["simulate", "x.toml"], &enough[..]].concat());
    assert_eq!((done.code, done.stdout.as_str()), (0, "[\n]\n"));
    let cut = folder.run(&[&["simulate", "x.toml", "--set", "run.max_cycles=30"], &enough[..]].concat());
    let worms: Value = serde_json::from_str(&cut.stdout).expect("valid JSON");
    assert_eq!(worms.as_array().unwrap().len(), 3);
    assert!(worms.as_array().unwrap().iter().all(|worm| worm["deadlocked"] == false), "{worms}");
}

/// Waits have tracks in the timeline, and a deadlock is a line across all of them.
#[test]
fn the_timeline_shows_waits_and_the_deadlock() {
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", MESSAGES), ("dead.txt", DEADLOCK)]);
    let waits = |file: &str| -> Vec<Value> {
        let timeline: Value = serde_json::from_str(&folder.read(file)).expect("valid JSON");
        let events = timeline["traceEvents"].as_array().unwrap();
        events.iter().filter(|event| event["pid"] == 3 && event["ph"] != "M").cloned().collect()
    };
    for engine in ["flit", "worm"] {
        folder.run(&["simulate", "x.toml", "--engine", engine, "--timeline", "t.json"]).success();
        // Worked out above: the second worm of message 1 waits for the injection channel, and message 2 for the link.
        let mut found: Vec<_> = waits("t.json")
            .iter()
            .map(|event| {
                let arguments = &event["args"];
                assert_eq!((&event["ph"], &arguments["deadlocked"]), (&json!("X"), &json!(false)));
                let cycles = [&arguments["from_cycle"], &arguments["to_cycle"]].map(|cycle| cycle.as_u64().unwrap());
                (arguments["worm"].as_u64().unwrap(), arguments["for"][0].as_str().unwrap().to_owned(), cycles)
            })
            .collect();
        found.sort_unstable();
        let expected = [(2, "injection 1,1".to_owned(), [120, 123]), (3, "1,0 -> 2,0".to_owned(), [216, 224])];
        assert_eq!(found, expected, "{engine}");

        let set = ["traffic.trace=dead.txt", "algorithm=column-path", "switching.consumption_ports=1"];
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
        let arguments = ["simulate", "x.toml", "--engine", engine, "--timeline", "dead.json"];
        assert_eq!(folder.run(&[&arguments[..], &set].concat()).code, 1);
        let dead = waits("dead.json");
        let named = |name: &str| dead.iter().filter(|event| event["name"] == name).count();
        assert_eq!(
            (named("worm 0 waits forever"), named("worm 1 waits forever"), named("deadlock of 2 worms")),
            (1, 1, 1)
        );
    }
}

/// The busiest links have names, in text, JSON and the picture.
#[test]
fn the_busiest_links_are_named() {
    let folder = by_hand();
    let text = folder.run(&["simulate", "x.toml"]).success();
    // 24 flits cross the link from 1 to 2 in 235 cycles.
    let list = "  The busiest channels:\n     10.2%  1,0 -> 2,0\n";
    assert!(text.contains(list), "{text}");
    let report = folder.run(&["simulate", "x.toml", "--format", "json", "--heat-map", "map.svg"]).json();
    let first = &report["busiest_links"][0];
    assert_eq!((&first["from"], &first["to"], &first["from_name"]), (&json!(1), &json!(2), &json!("1,0")));
    assert_eq!(first["busy"], report["links"]["busiest"]);
    assert!(report["busiest_links"].as_array().unwrap().len() <= 10);
    // A run goes on after its window, until the last of the messages that count has arrived: what crosses then is left out.
    let steady = Folder::with(&[("x.toml", &format!("{SIMPLE}run = {{ warmup = 0, messages = 50 }}\n"))]);
    let report = steady.run(&["simulate", "x.toml", "--set", "traffic.arrivals.rate=0.5", "--format", "json"]).json();
    assert_eq!(report["busiest_links"][0]["busy"], report["links"]["busiest"]);
    let map = folder.read("map.svg");
    assert!(map.starts_with("<svg ") && map.contains("1,0 -&gt; 2,0"), "{map}");
}

/// What is still held when a run ends counts until then, parallel cables are told apart, and ports are named.
#[test]
fn open_holds_count_and_parallel_cables_have_names() {
    let run = r#"
topology = "cables.net"
algorithm = "separate"
routing = "up-down"
switching = { injection_ports = 2, consumption_ports = 2, buffer = 1 }
timing = { startup = 0, routing_delay = 1 }
traffic.trace = "t"
run.max_cycles = 10
"#;
    let fabric = "Switch 4 \"leaf1\"\n[1] \"leaf2\"[3]\n[2] \"leaf2\"[4]\n[3] \"host1\"[1]\n[4] \"host2\"[1]\n\n\
        Switch 4 \"leaf2\"\n[1] \"host3\"[1]\n[3] \"leaf1\"[1]\n[4] \"leaf1\"[2]\n\n\
        Hca 1 \"host1\"\n[1] \"leaf1\"[3]\n\nHca 1 \"host2\"\n[1] \"leaf1\"[4]\n\nHca 1 \"host3\"\n[1] \"leaf2\"[1]\n";
    let folder = Folder::with(&[("x.toml", run), ("cables.net", fabric), ("t", "0 0 50 2\n0 1 50 2\n")]);
    for engine in ["flit", "worm"] {
        let arguments = ["simulate", "x.toml", "--engine", engine, "--channels", "use.csv", "--format", "json"];
        let report = folder.run(&arguments).json();
        let csv = folder.read("use.csv");
        let links: Vec<&str> = csv.lines().filter(|line| line.starts_with("link,0,1")).collect();
        // Granted in 2. A flit has crossed in 2, and one a cycle from 4 on, when the header has gone on.
        assert_eq!(links, ["link,0,1,,7,8,1,leaf1,leaf2,1,3,1", "link,0,1,,7,8,1,leaf1,leaf2,2,4,2"], "{engine}");
        let busiest = &report["busiest_links"];
        assert_eq!((&busiest[0]["ports"], &busiest[1]["ports"]), (&json!([1, 3]), &json!([2, 4])), "{report}");
        assert_eq!((&busiest[0]["from_name"], &busiest[1]["link"]), (&json!("leaf1"), &json!(2)));
    }
}

/// With virtual channels, more worms meet at a router: what is safe without them need not be with them.
#[test]
fn virtual_channels_count_in_the_static_check() {
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", "0 0 8 3\n")]);
    let free = |ports: u32, virtual_channels: u32| {
        let (ports, count) = (ports.to_string(), virtual_channels.to_string());
        let set = [
            format!("--set=switching.consumption_ports={ports}"),
            format!("--set=switching.virtual_channels={count}"),
            "--set=algorithm=column-path".to_owned(),
        ];
        let arguments: Vec<&str> = set.iter().map(String::as_str).collect();
        let outcome = folder.run(&[&["simulate", "x.toml", "--format", "json"], &arguments[..]].concat());
        let report: Value = serde_json::from_str(&outcome.stdout).expect("valid JSON");
        let free = report["static_check"]["deadlock_free"].clone();
        assert_eq!(free == false, outcome.stderr.contains("can deadlock here"), "{outcome:?}");
        let routing = ["routing", "--topology", "mesh:4x4", "--algorithm", "column-path", "--format", "json"];
        let options = ["--consumption-ports", &ports, "--virtual-channels", &count];
        assert_eq!(wormcast(&[&routing[..], &options].concat()).json()["deadlock_free"], free);
        free
    };
    assert_eq!((free(1, 1), free(2, 1)), (json!(false), json!(true)));
    assert_eq!((free(2, 2), free(4, 2)), (json!(false), json!(true)));
}

/// What was delivered before a deadlock is written all the same.
#[test]
fn a_deadlock_keeps_the_results_so_far() {
    let messages = format!("{DEADLOCK}\n").replace("0 0,", "50 0,");
    let folder = Folder::with(&[("x.toml", BY_HAND), ("messages.txt", &format!("0 15 8 14\n{messages}"))]);
    let files = ["--timeline", "t.json", "--deliveries", "d.csv"];
    let outcome = folder.run(&[&["simulate", "x.toml", "--set", "algorithm=column-path"], &files[..]].concat());
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("deadlock in cycle "), "{outcome:?}");
    assert_eq!(folder.read("d.csv").lines().count(), 2);
    serde_json::from_str::<Value>(&folder.read("t.json")).expect("valid JSON");
}

#[test]
fn the_seed_alone_decides() {
    let toml = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.messages = 200\n[traffic]\nmulticast.destinations = 3\narrivals = { process = 'poisson', rate = 0.1 }\n";
    let folder = Folder::with(&[("x.toml", toml)]);
    let run = |seed: &str| {
        let text =
            folder.run(&["simulate", "x.toml", "--seed", seed, "--format", "json", "--deliveries", "d.csv"]).success();
        (text, folder.read("d.csv"))
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1").1, run("2").1);
    let set = folder.run(&["simulate", "x.toml", "--set", "seed=1", "--format", "json"]).success();
    assert_eq!(set, run("1").0, "--seed is --set seed");
}

/// Every engine that runs a configuration gives the same result; one that cannot says so and names one that can.
#[test]
fn engines_agree_or_decline() {
    let folder = by_hand();
    let run = |engine: &str| folder.run(&["simulate", "x.toml", "--engine", engine, "--deliveries", "d.csv"]);
    run("flit").success();
    let reference = folder.read("d.csv");
    run("auto").success();
    assert_eq!(folder.read("d.csv"), reference);
    let worm = run("worm");
    if worm.code == 0 {
        assert_eq!(folder.read("d.csv"), reference);
    } else {
        let message = worm.bad_input();
        assert!(message.starts_with("error: ") && message.contains("worm engine") && message.contains("`auto`"));
    }
}

#[test]
fn settings_on_the_command_line_replace_the_files() {
    let folder = by_hand();
    let cycles =
        |set: &str| folder.run(&["simulate", "x.toml", "--format", "json", "--set", set]).json()["cycles"].clone();
    // The last message waits for nobody else's link on a routing without the shared one, and for less with less startup.
    assert_eq!(cycles("timing.startup=0"), 225);
    assert_eq!(cycles("traffic.trace=messages.txt"), 235);
    let both = ["--set", "timing.startup=20", "--set", "timing.startup=0"];
    let last_counts = folder.run(&[&["simulate", "x.toml", "--format", "json"], &both[..]].concat());
    assert_eq!(last_counts.stderr, "warning: --set timing.startup=20: replaced by `--set timing.startup=0`\n");
    assert!(last_counts.stdout.contains("\"cycles\":225,"), "{}", last_counts.stdout);
}

#[cfg(unix)]
#[test]
fn files_may_be_streams() {
    let folder = by_hand();
    let out = folder.run(&["simulate", "x.toml", "--deliveries", "/dev/stdout", "--format", "json"]);
    assert!(out.stdout.starts_with("message,source,destination,generated,delivered\n0,0,3,0,30\n"), "{out:?}");
    serde_json::from_str::<Value>(&out.stderr).expect("valid JSON");
    folder.run(&["simulate", "x.toml", "--timeline", "/dev/null"]).success();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file(), "a device stays one");
}

/// A link keeps being one: what it points to is written.
#[cfg(unix)]
#[test]
fn links_are_followed() {
    let folder = by_hand();
    std::os::unix::fs::symlink(folder.path().join("target.csv"), folder.path().join("link.csv")).unwrap();
    for _ in 0..2 {
        folder.run(&["simulate", "x.toml", "--deliveries", "link.csv"]).success();
        assert!(folder.path().join("link.csv").is_symlink());
        assert_eq!(folder.read("target.csv").lines().count(), 6);
    }
}

#[test]
fn the_built_in_experiment_has_an_algorithm_of_its_own() {
    let short = ["simulate", "--set", "topology=mesh:4x4", "--set", "run.messages=20", "--set", "run.warmup=0"];
    let text = wormcast(&[&short[..], &["--set=traffic.multicast.destinations=3"]].concat()).success();
    assert!(text.starts_with("dual-path on mesh:4x4, seed 1, "), "{text}");
}

/// Data on standard output are data only: the summary goes to standard error.
#[test]
fn data_on_standard_output_are_not_mixed_with_the_summary() {
    let folder = by_hand();
    for option in ["--deliveries", "--timeline", "--channels"] {
        folder.run(&["simulate", "x.toml", option, "data"]).success();
        for format in ["text", "json"] {
            let outcome = folder.run(&["simulate", "x.toml", option, "-", "--format", format]);
            assert_eq!((outcome.code, outcome.stdout), (0, folder.read("data")), "{option}");
            let summary = folder.run(&["simulate", "x.toml", "--format", format]).success();
            assert_eq!(outcome.stderr, summary, "{option}");
        }
    }
    let mixed = folder.run(&["simulate", "x.toml", "--deliveries", "-", "--channels", "/dev/stdout"]).bad_input();
    assert!(mixed.contains("`--deliveries` and `--channels` both write to standard output"), "{mixed}");
}

#[test]
fn one_file_cannot_take_two_outputs() {
    let folder = by_hand();
    let run = folder.run(&["simulate", "x.toml", "--timeline", "out", "--deliveries", "out"]);
    assert!(run.bad_input().contains("`--timeline` and `--deliveries` both name `out`"));
    // They are written at the same time, as the run goes on.
    let run = folder.run(&["simulate", "x.toml", "--timeline", "-", "--channels", "-"]);
    assert!(run.bad_input().contains("`--timeline` and `--channels` both write to standard output"));
}

/// A trace that is run as a steady one is measured from the first message on, or from the end of the warm-up.
#[test]
fn a_trace_can_be_steady() {
    let folder = by_hand();
    let measured = |warmup: &str| {
        let set = ["simulate", "x.toml", "--set", "run.mode=steady", "--set", warmup, "--format", "json"];
        let report = folder.run(&set).json();
        assert_eq!(report["messages"]["delivered"], 4);
        assert_eq!(report["saturated"], false);
        report["messages"]["measured"].as_u64().unwrap()
    };
    assert_eq!(measured("run.warmup=auto"), 4);
    // Two of the four are generated in cycle 200.
    assert_eq!(measured("run.warmup=150"), 2);
    // Messages are told apart, whenever they come.
    assert_eq!([0, 1, 3].map(|count| measured(&format!("run.warmup.messages={count}"))), [4, 3, 1]);
    let set = ["simulate", "x.toml", "--set", "run.mode=steady", "--set", "run.warmup={messages=4}"];
    let refused = folder.run(&set).bad_input();
    assert!(refused.contains("the trace ends within the warm-up: expected fewer messages than its 4"), "{refused}");
}

/// What a startup keeps busy may be said with the switching or with the timing, but not in two ways.
#[test]
fn the_startup_mode_has_two_places() {
    let folder = by_hand();
    let run = |assignments: &[&str]| {
        let mut arguments = vec!["simulate", "x.toml", "--deliveries", "out.csv"];
        arguments.extend(assignments.iter().flat_map(|assignment| ["--set", assignment]));
        folder.run(&arguments)
    };
    run(&["timing.startup_mode=per-port"]).success();
    let expected = folder.read("out.csv");
    run(&["switching.startup_mode=per-port"]).success();
    assert_eq!(folder.read("out.csv"), expected);
    let refused = run(&["switching.startup_mode=per-port", "timing.startup_mode=serial"]).bad_input();
    assert!(refused.contains("contradicts `timing.startup_mode`"), "{refused}");
}

/// Two worms of 6 flits for node 2 of a line of three, r = 1 and one-flit buffers: worm 0 holds link 1->2 from 2 to 9, worm 1
/// requests it in 4 and holds it from 10 to 17 (the hand-worked case of rule 8).
#[test]
fn channels_are_busy_held_and_blocked() {
    let folder = Folder::with(&[
        (
            "x.toml",
            "topology = \"mesh:3\"\nalgorithm = \"separate\"\n[switching]\ninjection_ports = 1\nconsumption_ports = 1\n\
             [timing]\nstartup = 0\nrouting_delay = 1\n[traffic]\ntrace = \"t\"\n",
        ),
        ("t", "0 1 6 2\n0 0 6 2\n"),
    ]);
    for engine in ["flit", "worm"] {
        folder.run(&["simulate", "x.toml", "--engine", engine, "--channels", "use.csv"]).success();
        let csv = folder.read("use.csv");
        let line = |start: &str| csv.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{csv}"));
        assert_eq!(line("link,1,2,"), "link,1,2,,12,16,4,1,2,,,", "{engine}");
        assert_eq!(line("link,2,1,"), "link,2,1,,0,0,0,2,1,,,");
        // Granted in 4 and 12, six flits each.
        assert_eq!(line("consumption,2,2,0"), "consumption,2,2,0,12,12,0,2,2,,,");
        // Links both ways, then a port each way at three nodes.
        assert_eq!(csv.lines().count(), 1 + 4 + 3 + 3);
    }
}

/// Settings that a test adds to.
const SIMPLE: &str = r#"
topology = "mesh:4x4"
algorithm = "separate"
traffic.arrivals = { process = "poisson", rate = 0.001 }
traffic.length = 8
traffic.multicast = { destinations = 3 }
"#;

#[test]
fn a_plan_knows_no_time() {
    let plan = SIMPLE.replace(r#"process = "poisson", rate = 0.001"#, r#"process = "burst", sources = 1"#)
        + "[run]\nmode = \"plan\"\nmessages = 1\n";
    let folder = Folder::with(&[("x.toml", &*plan), ("t.toml", &format!("{plan}max_cycles = 9\n"))]);
    let planned = folder.run(&["simulate", "x.toml"]);
    let warning = "warning: x.toml:5:18: `traffic.length` makes no difference here: `mode = \"plan\"` knows no time\n";
    assert_eq!((planned.code, planned.stderr.as_str()), (0, warning));
    let message = folder.run(&["simulate", "t.toml"]).bad_input();
    assert!(message.contains("`run.max_cycles`: `mode = \"plan\"` knows no time: leave it out\n"), "{message}");
    assert!(message.contains("t.toml:10:14"), "{message}");
    let message = folder.run(&["simulate", "x.toml", "--deliveries", "d.csv"]).bad_input();
    assert!(message.starts_with("error: `--deliveries` writes what happens in time"), "{message}");
    let message = folder.run(&["simulate", "x.toml", "--engine", "flit"]).bad_input();
    assert!(message.contains("a run with `mode = \"plan\"` has no engine"), "{message}");
}

/// What an engine or the switching cannot do is said at the line that asks for it.
#[test]
fn the_line_that_asks_too_much_is_named() {
    let engine = SIMPLE.to_owned() + "engine = \"worm\"\nswitching.virtual_channels = 2\n";
    let header =
        SIMPLE.replace("separate", "tree-zero") + "routing = \"up-down\"\n[switching]\nheader = \"all-destinations\"\n";
    let folder = Folder::with(&[("engine.toml", &engine), ("header.toml", &header)]);
    for (file, place) in [("engine.toml", "engine.toml:7:10"), ("header.toml", "header.toml:9:10")] {
        let message = folder.run(&["simulate", file]).bad_input();
        assert!(message.contains(place), "{message}");
    }
}

/// One file, both kinds of switches: the engine, the measures of buffered switches, and what they refuse.
#[test]
fn buffered_switches_have_an_engine_of_their_own() {
    const FILE: &str = r#"
topology = "bmin:2x2"
algorithm = "bit-string"
switching.model = "central-buffer"
timing.preset = "paper-4"
traffic.arrivals = { process = "exponential", load = 0.3 }
traffic.length = { bytes = 16 }
traffic.multicast = { destinations = 2, fraction = 0.5 }
run = { warmup = 0, messages = 200 }
"#;
    let folder = Folder::with(&[("x.toml", FILE), ("messages.txt", MESSAGES), ("wormhole.toml", BY_HAND)]);
    let simulate = |extra: &[&str]| folder.run(&[&["simulate", "x.toml", "--format", "json"], extra].concat());
    for model in ["central-buffer", "input-buffer"] {
        let result = simulate(&["--set", &format!("switching.model={model}")]).json();
        assert_eq!(result["engine"], "switch");
        assert_eq!((&result["duplicates"], &result["deadlock"]), (&json!(0), &Value::Null));
        assert_eq!(result["static_check"]["deadlock_free"], true);
        assert!(result["latency"]["unicast"]["last"]["mean"].is_number(), "{result}");
        assert!(result["latency"]["multicast"]["measured"].as_u64() > Some(0));
        assert!(result["buffers"]["share"].as_f64() > Some(0.0));
        assert!((result["offered_load"].as_f64().unwrap() - 0.3).abs() < 0.1, "{result}");
    }
    let error = simulate(&["--engine", "flit"]).bad_input();
    assert!(error.contains("the `flit` engine simulates wormhole switching"), "{error}");
    let error = simulate(&["--set", "switching.buffer=2"]).bad_input();
    assert!(error.contains("`model = \"central-buffer\"` has no setting `buffer`"), "{error}");
    let error = simulate(&["--set", "traffic.length.bytes=1024000"]).bad_input();
    assert!(error.contains("`switching.central_chunks`: 256 is out of range: expected "), "{error}");
    let error = folder.run(&["simulate", "wormhole.toml", "--buffers", "-"]).bad_input();
    assert!(error.contains("`--buffers` writes what buffered switches hold"), "{error}");
    folder.run(&["simulate", "x.toml", "--buffers", "buffers.csv"]).success();
    let csv = folder.read("buffers.csv");
    assert!(csv.starts_with("cycle,switch,flits\n"), "{csv}");
}

/// The root of up*/down* by its number, as a number or as text: the same point.
#[test]
fn roots_are_numbers_or_text() {
    let folder = by_hand();
    let run = |root: &str| {
        let root = format!("root={root}");
        let arguments = ["simulate", "x.toml", "--set", "routing=up-down", "--set", &root, "--format", "json"];
        folder.run(&arguments).json()
    };
    assert_eq!(run("5"), run("'5'"));
    assert_ne!(run("5")["config_hash"], run("6")["config_hash"]);
    let refused = folder.run(&["simulate", "x.toml", "--set", "routing=up-down", "--set", "root=[5]"]).bad_input();
    assert!(refused.contains("expected `smallest-id`, `maximum-degree`, or a router's number or name"), "{refused}");
}

/// A finite run leaves worms on their way, whose flits have crossed channels as well.
#[test]
fn flit_hops_are_those_of_all_channels() {
    const BURSTS: &str = "topology = 'hypercube:4'\nalgorithm = 'w-sort'\nseed = 3\ntraffic.length = 16\n\
        traffic.arrivals = { process = 'burst', interval = 700 }\ntraffic.multicast.destinations = 6\n\
        run = { mode = 'finite', messages = 40 }\n";
    let folder = Folder::with(&[("bursts.toml", BURSTS)]);
    let run = folder.run(&["simulate", "bursts.toml", "--format", "json", "--channels", "used.csv"]);
    let run: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(run["messages"]["in_flight"].as_u64().unwrap() > 0, "{run}");
    let used = folder.read("used.csv");
    let column = used.lines().next().unwrap().split(',').position(|name| name == "busy").unwrap();
    let links = used.lines().filter(|line| line.starts_with("link,"));
    let busy: u64 = links.map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(run["flit_hops"], busy);
}

/// The same bytes on any number of threads; where one has to do, that is said.
#[test]
fn threads_share_a_run_or_the_command_says_why_not() {
    let folder = Folder::with(&[]);
    let simulate = |more: &[&str]| {
        let small = ["simulate", "--set", "algorithm=separate", "--format", "json"];
        folder.run(&[&small[..], &["--set", "run={ mode = 'drain', messages = 40 }"], more].concat())
    };
    let expected = simulate(&[]);
    assert_eq!(expected.code, 0, "{expected:?}");
    for threads in ["1", "2", "3"] {
        let outcome = simulate(&["--threads", threads]);
        assert_eq!((outcome.code, &outcome.stdout), (0, &expected.stdout));
        let sooner =
            "`--threads N`: a network of 256 routers is simulated sooner on fewer threads".replace('N', threads);
        let warned = (outcome.stderr.contains(&sooner), outcome.stderr.matches("warning: ").count());
        assert_eq!(warned, if threads == "1" { (false, 0) } else { (true, 1) }, "{}", outcome.stderr);
    }
    let because = |more: &[&str], reason: &str| {
        let alone = simulate(more);
        let outcome = simulate(&[more, &["--threads", "2"]].concat());
        assert_eq!((outcome.code, outcome.stdout), (0, alone.stdout));
        let warning = format!("warning: `--threads 2`: the run has one thread, as {reason}\n");
        assert!(outcome.stderr.contains(&warning), "{}", outcome.stderr);
    };
    because(&["--engine", "flit"], "it is not simulated by the worm engine");
    because(&["--timeline", "t.json"], "what is asked for needs the events of the whole network in their order");
    because(&["--set", "algorithm=spam"], "some of its worms may branch, or wait for the delivery of another one");
    because(
        &["--set", "switching.selection=random"],
        "which channels its headers take depends on more than what is free",
    );
    assert_eq!(simulate(&["--threads", "0"]).code, 2);
}
