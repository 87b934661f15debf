//! What users stumbled over, and may not again.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::folder::Folder;
use crate::wormcast;

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
fn control_characters_of_a_title_leave_a_picture_that_is_xml() {
    let folder = folder();
    let rates = "--set=sweep.traffic.arrivals.rate=[0.1, 0.2]";
    folder.run(&["sweep", "idle.toml", "--set=title=\"a\\u0007b\"", "--set=stop.min_replications=2", rates]).success();
    let picture = folder.read("results/idle-traffic.arrivals.rate-0.1-0.2.svg");
    assert!(picture.contains("a\u{fffd}b") && !picture.contains('\u{7}'), "{picture}");
}

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

/// Points that a variation shares with its experiment are no results of its own.
#[test]
fn a_report_tells_of_no_variation_that_was_not_run() {
    let claim = "[sweep]\nalgorithm = [\"dual-path\", \"column-path\"]\ntraffic.arrivals.rate = [0.01, 0.02]\n[[claim]]\nid = \"lower\"\ntext = \"dual is lower\"\n\
                 order = { lower = [\"dual-path\"], higher = [\"column-path\"] }\n[variation.half]\nsweep.traffic.arrivals.rate = [0.01, 0.03]\n";
    let swept = IDLE.replace("algorithm = \"dual-path\"\n", "").replace(", rate = 0.1", "")
        + "stop.min_replications = 2\n"
        + claim;
    let folder = Folder::with(&[("v.toml", &swept)]);
    folder.run(&["sweep", "v.toml"]).success();
    folder.run(&["report", "v.toml"]).success();
    assert!(!folder.read("results/v-report.md").contains("Sensitivity"));
    folder.run(&["sweep", "v.toml", "--variation", "half"]).success();
    folder.run(&["report", "v.toml"]).success();
    assert!(folder.read("results/v-report.md").contains("Sensitivity"));
}

/// The length of worms that fit into any buffer came out as 0.
#[test]
fn the_search_for_a_schedule_takes_buffers_for_whole_messages() {
    for network in ["ring:4", "petersen"] {
        let trees =
            ["routing", "--topology", network, "--algorithm", "tree-zero", "--replication", "lockstep", "--reachable"];
        let found = wormcast(&trees);
        assert!(found.code == 0 && found.stdout.contains("reachable"), "{network}: {found:?}");
    }
    let paths = [
        "routing",
        "--topology",
        "mesh:3x3",
        "--algorithm",
        "dual-path",
        "--consumption-ports",
        "1",
        "--reachable",
        "--buffer",
        "message",
    ];
    assert_eq!(wormcast(&paths).code, 0);
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

/// Plans wait for no channel.
#[test]
fn plans_ask_for_no_virtual_channels() {
    let set = [
        "--set=topology='torus:4x4'",
        "--set=algorithm=separate",
        "--set=routing=dateline",
        "--set=run={ mode = 'plan', messages = 5 }",
    ];
    let run = folder().run(&[&["simulate", "idle.toml"][..], &set].concat());
    assert!(run.code == 0 && !run.stderr.contains("virtual"), "{run:?}");
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

/// The commands that warnings recommend know which links have failed, and say the same.
#[test]
fn deadlocks_with_failed_links_recommend_a_command_with_these() {
    let text = "topology = 'torus:4x4'\nalgorithm = 'dstm-tarjan'\nfaults.random = 3\nrun.messages = 20\n\
                switching.virtual_channels = 2\n[traffic]\nlength = 16\nmulticast = { destinations = 4 }\n\
                arrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let recommended = |said: &str| -> Vec<Vec<String>> {
        let commands = said.lines().filter(|line| line.contains("can deadlock here: see `"));
        let words = |line: &str| -> Vec<String> {
            let command = line.split('`').nth(3).unwrap().split(' ').skip(1);
            command.map(|word| word.trim_matches('\'').to_owned()).collect()
        };
        commands.map(words).collect()
    };
    let explains = |command: &[String]| {
        let told = folder.run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(told.stderr.is_empty() && told.stdout.contains("deadlock-free     no\n"), "{command:?}: {told:?}");
    };
    let [run] = &recommended(&folder.run(&["simulate", "x.toml"]).stderr)[..] else { panic!("one command") };
    assert_eq!(run.iter().filter(|word| *word == "--failed-link").count(), 3, "{run:?}");
    explains(run);
    // Without the failed links there are other trees.
    let failed = folder.run(&["simulate", "x.toml", "--format", "json"]);
    let failed: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    // The same links, from either end: `0,0 - 1,0` here, `0-1` or `1-0` in the command.
    let number = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        x.parse::<u32>().unwrap() + 4 * y.parse::<u32>().unwrap()
    };
    let sorted = |one: u32, other: u32| (one.min(other), one.max(other));
    let of_run: BTreeSet<(u32, u32)> = failed["failed_links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link.as_str().unwrap().split_once(" - ").unwrap())
        .map(|(one, other)| sorted(number(one), number(other)))
        .collect();
    let of_command: BTreeSet<(u32, u32)> = run
        .windows(2)
        .filter(|words| words[0] == "--failed-link")
        .map(|words| words[1].split_once('-').unwrap())
        .map(|(one, other)| sorted(one.parse().unwrap(), other.parse().unwrap()))
        .collect();
    assert_eq!((of_run.len(), &of_run), (3, &of_command));
    let analysed =
        folder.run(&[&run.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--format", "json"]].concat());
    assert_eq!(analysed.json()["failed_links"], failed["failed_links"]);
    let swept = folder.run(&["sweep", "x.toml", "--set", "sweep.faults.random=[2,3,4]", "--jobs", "1"]);
    let swept = recommended(&swept.stderr);
    assert!((1..=3).contains(&swept.len()), "{swept:?}");
    for command in &swept {
        explains(command);
    }
    // Links that the file names, as it names them, and who knows of them.
    let set = ["--set=faults={ links = [\"0,0-1,0\"], information = \"local\" }", "--set=algorithm=dstm-1"];
    let local = folder.run(&[&["simulate", "x.toml"], &set[..]].concat());
    for command in recommended(&local.stderr) {
        assert!(command.contains(&"0,0-1,0".to_owned()) && command.contains(&"--local-information".to_owned()));
        explains(&command);
    }
    // No analysis is recommended that would be refused.
    let few = folder.run(&[
        "simulate",
        "x.toml",
        "--set=algorithm=dstm-1",
        "--set=switching.consumption_ports=1",
        "--set=faults={}",
    ]);
    assert!(
        few.stderr
            .contains("can deadlock here: `dstm-1` binds its worms to 2 consumption channels at every node, not 1\n"),
        "{}",
        few.stderr
    );
    let refused = folder.run(&["routing", "--topology", "mesh:3x3", "--routing", "e-cube", "--failed-link", "0-1"]);
    let said = refused.bad_input();
    assert!(said.contains("expected `--algorithm` with one of ") && said.contains("dstm-1"), "{said}");
    let other = ["routing", "--topology", "mesh:3x3", "--algorithm", "dual-path", "--failed-link", "0-1"];
    let refused = folder.run(&other).bad_input();
    assert!(refused.contains("dual-path"), "{refused}");
}

/// Where what a tree holds makes no difference, neither do the numbers of channels, and the command does without.
#[test]
fn recommended_commands_have_no_idle_options() {
    let text = "topology = 'mesh:5x4'\nalgorithm = 'rpm'\nrun.messages = 20\nswitching.virtual_channels = 2\n\
                switching.consumption_ports = 2\n[traffic]\nlength = 16\nmulticast = { destinations = 4 }\n\
                arrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let said = folder.run(&["simulate", "x.toml"]).stderr;
    let line = said.lines().find(|line| line.contains("can deadlock here: see `")).unwrap_or_else(|| panic!("{said}"));
    let command: Vec<&str> = line.split('`').nth(3).unwrap().split(' ').skip(1).collect();
    let told = folder.run(&command);
    assert!(told.stderr.is_empty() && told.stdout.contains("deadlock-free     no\n"), "{command:?}: {told:?}");
}

/// Bursts have neither rate nor load: those of the file give way, swept or not, as a load gives way to a rate.
#[test]
fn bursts_take_the_place_of_rates() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.messages = 20\n[traffic]\nlength = 16\n\
                multicast.destinations = 3\narrivals = { process = 'poisson', rate = 0.1 }\n[sweep]\n\
                'traffic.arrivals.rate' = [0.1, 0.2]\n'traffic.length' = [8, 16]\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let whole = ["--set", "traffic.arrivals={ process = \"burst\", sources = 3, interval = 900 }"];
    let parts = [
        "--set=traffic.arrivals.process=burst",
        "--set=traffic.arrivals.sources=3",
        "--set=traffic.arrivals.interval=900",
    ];
    let run = |set: &[&str]| folder.run(&[&["sweep", "x.toml", "--name", "x", "--jobs", "1"], set].concat());
    let table = |set: &[&str]| {
        let run = run(set);
        assert_eq!(run.code, 0, "{run:?}");
        folder.read("results/x.csv")
    };
    assert_eq!(table(&whole), table(&parts));
    assert!(table(&whole).starts_with("traffic.length,outcome,"), "{}", table(&whole));
    let both = ["--set=traffic.arrivals.process=burst", "--set=traffic.arrivals.rate=0.3"];
    assert!(run(&both).bad_input().contains("a burst has no rate"), "{:?}", run(&both));
}

/// What is analysed is a graph that is run, and the command that is named analyses the same.
#[test]
fn deadlocks_on_graphs_that_are_drawn_are_those_of_the_graph() {
    let text = "topology = { tree = { nodes = 4 } }\nalgorithm = 'tree-zero'\nrouting = 'up-down'\n\
                switching = { replication = 'lockstep', buffer = 1 }\nrun.messages = 20\n\
                stop = { min_replications = 2, max_replications = 2 }\n[traffic]\nlength = 16\n\
                multicast = { destinations = 2 }\narrivals = { process = 'poisson', rate = 0.05 }\n";
    let folder = Folder::with(&[("x.toml", text)]);
    let (mut safe, mut not) = (0, 0);
    for seed in 0..8 {
        let seed = format!("seed={seed}");
        for command in [&["simulate"][..], &["sweep", "--jobs", "1", "--fresh"]] {
            let run = folder.run(&[command, &["x.toml", "--set", &seed]].concat());
            let graph = |words: &[&str]| folder.run(words).success().contains("deadlock-free     no");
            if let Some((_, named)) = run.stderr.split_once("can deadlock here: see `wormcast ") {
                let words: Vec<&str> =
                    named.split_once('`').unwrap().0.split(' ').map(|word| word.trim_matches('\'')).collect();
                assert!(graph(&words) && words[2].contains(",seed="), "{words:?}");
                not += 1;
            } else {
                safe += 1;
            }
        }
    }
    assert!(safe > 2 && not > 2, "{safe} {not}");
    // Trees are drawn once, with the experiment's seed, unless each replication has its own.
    folder.write("y.toml", text.replace("tree = { nodes = 4 }", "random = { nodes = 12, degree = 5 }").as_bytes());
    let trees = ["--set", "algorithm=dstm-tarjan", "--set", "switching={ virtual_channels = 2 }", "--set", "seed=3"];
    let swept = |more: &[&str]| {
        let sweep = ["sweep", "y.toml", "--jobs", "1", "--set", "routing=tree"];
        folder.run(&[&sweep[..], &trees, more].concat()).stderr
    };
    let once = swept(&[]);
    assert!(once.contains(" --seed 3 ") && !once.contains(",seed=3'"), "{once}");
    let each = swept(&["--set", "options.draw=replication"]);
    let (_, seed) = each.split_once(",seed=").expect("a graph's");
    let seed: String = seed.chars().take_while(char::is_ascii_digit).collect();
    assert!(seed != "3" && each.contains(&format!("--seed {seed}")), "{each}");
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

/// The tables of `vctm` are filled in runs; a plan by itself has its tree set up, however few entries there are.
#[test]
fn entries_of_tables_are_of_runs() {
    let warned = "makes no difference: what is planned by itself finds all that it needs set up";
    let entries = ["--topology=mesh:8x8", "--algorithm=vctm", "--option=entries=1"];
    let plan = [&["plan"], &entries[..], &["--source=3,3", "--destinations=1,4;2,3;7,7"]].concat();
    let run = crate::wormcast(&plan);
    assert!(run.code == 0 && run.stderr.contains(&format!("`--option entries` {warned}")), "{run:?}");
    let run = crate::wormcast(&[&["routing"], &entries[..]].concat());
    assert!(run.stderr.contains(&format!("`--option entries` {warned}")), "{run:?}");
    let request =
        r#"{"topology":"mesh:8x8","algorithm":"vctm","options":{"entries":1},"source":3,"destinations":[4,1]}"#;
    let answer = crate::wormcast_with_input(&["plan", "--batch", "-"], request);
    assert!(answer.stdout.contains(&format!("`entries` {warned}")), "{answer:?}");
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
    let (count, warned) = rows(&["--set=traffic.arrivals={ process = 'bernoulli', rate = 0.03 }", sweep]);
    assert!(count == 2 && !warned.contains("replaced by"), "{warned}");
    // A table replaces what was set in it, in names as well.
    let run = folder.run(&["sweep", "idle.toml", "--set=run.messages=50", "--set=run={ messages = 60 }"]);
    assert!(run.stdout.starts_with("idle with run = {") && !run.stdout.contains("run.messages = 50"), "{}", run.stdout);
}

#[test]
fn a_single_run_is_not_told_of_a_sweep_that_replaces_its_value() {
    let folder = folder();
    let run = folder.run(&["simulate", "idle.toml", "--set=algorithm=u-mesh", "--set=sweep.algorithm=['dual-path']"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("u-mesh") && run.stderr.contains("makes no difference to a single run"), "{run:?}");
    assert!(!run.stderr.contains("replaced by"), "{}", run.stderr);
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
        "more than 95% of what `WORMCAST_MEMORY` allows",
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

/// Only `up-down` was suggested where the network has routings of its own.
#[test]
fn the_routings_of_the_networks_kind_are_suggested() {
    let said = |topology: &str| {
        let arguments = [
            "plan",
            "--topology",
            topology,
            "--algorithm=separate",
            "--routing=e-cube",
            "--source=0",
            "--destinations=1",
        ];
        let with = wormcast(&arguments).bad_input();
        let without = wormcast(&[&arguments[..4], &arguments[5..]].concat());
        (with, without)
    };
    for topology in ["dragonfly:p=2,a=4,h=2", "hyperx:3x3,nodes=1", "slimfly:q=5,nodes=1"] {
        let (with, without) = said(topology);
        let group = if topology.starts_with("dragonfly") { "`valiant-group`, " } else { "" };
        let names = format!("`minimal`, `valiant`, {group}`ugal`").replace(", `ugal`", " and `ugal`");
        assert!(with.contains(&format!("; {names} are for such networks")), "{with}");
        let without = without.bad_input();
        assert!(
            without.contains(&format!("; {names} are for such networks: ask for one of them as the routing")),
            "{without}"
        );
    }
    let (with, without) = said("fattree:k=4,levels=2");
    assert!(with.contains("`turnaround`, `turnaround-deterministic` and `nca` are for such networks"), "{with}");
    assert_eq!(without.code, 0, "it has a routing of its own");
    assert!(said("butterfly:2x3").0.contains("`destination-tag` is for such networks"));
    assert!(said("ring:5").0.contains("`up-down` and `turn-prohibition` are for any network"));
}

/// It was called idle, and selected the flit engine.
#[test]
fn how_branches_are_replicated_selects_no_engine_where_nothing_branches() {
    let folder = folder();
    let run =
        folder.run(&["simulate", "idle.toml", "--set=switching.replication=independent", "--set=switching.buffer=2"]);
    assert!(run.stderr.contains("`switching.replication` makes no difference"), "{}", run.stderr);
    assert!(run.stdout.contains("worm engine"), "{}", run.stdout);
    let plain = folder.run(&["simulate", "idle.toml", "--set=switching.buffer=2"]);
    assert_eq!((plain.code, plain.stdout), (0, run.stdout));
}

/// 64 KB of stack for the main thread were too few.
#[cfg(unix)]
#[test]
fn a_small_stack_is_enough() {
    let line = format!(
        "ulimit -s 64; exec '{}' plan --topology mesh:8x8 --algorithm dual-path --source 4,3 --destinations '1,4;7,2'",
        env!("CARGO_BIN_EXE_wormcast")
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.starts_with(b"dual-path on mesh:8x8"), "{output:?}");
}

/// A saturated point was called the middle of its curve, and a confidence below 1 was 100.000%.
#[test]
fn a_report_plays_a_point_of_the_curve_and_says_no_confidence_of_100_percent() {
    let sweep = "\n[stop]\nconfidence = 0.9999999\nmin_replications = 2\nmax_replications = 2\n[sweep]\nalgorithm = [\"dual-path\", \"column-path\"]\n\"traffic.arrivals.rate\" = [0.05, 0.1, 0.2, 5.0, 9.0, 20.0, 50.0]\n";
    let folder = Folder::with(&[("curve.toml", &format!("{IDLE}{sweep}"))]);
    folder.run(&["sweep", "curve.toml", "--jobs=1"]);
    let run = folder.run(&["report", "curve.toml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (text, page) = (folder.read("results/curve-report.md"), folder.read("results/curve-report.html"));
    assert!(!text.contains("to be played"), "{text}");
    assert!(page.contains("the middle of its curve") && page.contains("All 155 messages of "), "{page}");
    assert!(
        ["0.05", "0.1", "0.2"].iter().any(|rate| page.contains(&format!("traffic.arrivals.rate={rate}, the middle"))),
        "{page}"
    );
    assert!(!page.contains("100.000%") && !page.contains("100% confidence"), "{page}");
    assert!(page.contains("99.99999% confidence"), "{page}");
    let compared = folder.run(&["compare", "dual-path", "column-path", "curve.toml"]).stdout;
    assert!(!compared.contains("100.000%"), "{compared}");
}

/// A store with torn pages could only be deleted.
#[test]
fn what_is_left_of_a_store_with_torn_pages_can_be_merged() {
    let sweep = "\n[stop]\nmin_replications = 9\nmax_replications = 9\n[sweep]\n\"traffic.arrivals.rate\" = [0.01, 0.02, 0.03, 0.04]\n";
    let folder = Folder::with(&[("torn.toml", &format!("{IDLE}{sweep}"))]);
    let whole = folder.run(&["sweep", "torn.toml", "--jobs=1"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let table = folder.read("results/torn.csv");
    let mut bytes = folder.bytes("results/store.db");
    // A page of results: that of the one in the middle.
    let results: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"\"cycles\"")).collect();
    let middle = results[results.len() / 2] / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    folder.write("results/store.db", &bytes);
    let damaged = folder.run(&["plot", "torn.toml"]);
    assert_eq!(damaged.code, 1, "{}", damaged.stderr);
    assert!(
        damaged.stderr.contains("`wormcast merge results/store.db --store rescued.db` brings what can still be read"),
        "{}",
        damaged.stderr
    );
    let merged = folder.run(&["merge", "results/store.db", "--store=rescued.db", "--experiment=torn.toml"]);
    assert_eq!(merged.code, 1, "{}", merged.stderr);
    assert!(merged.stderr.contains("is damaged: the rows after replication"), "{}", merged.stderr);
    assert!(merged.stderr.ends_with("error: parts of a store cannot be read\n"), "{}", merged.stderr);
    assert_eq!(folder.bytes("results/store.db"), bytes, "it is only read");
    let again = folder.run(&["sweep", "torn.toml", "--jobs=1", "--store=rescued.db"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(folder.read("results/torn.csv"), table);
    assert_eq!(folder.run(&["plot", "torn.toml", "--store=rescued.db"]).code, 0);
}

/// A store that does not even open was sent from `merge` to `merge`.
#[test]
fn what_is_left_of_a_store_that_does_not_open_can_be_merged() {
    let sweep = "\n[stop]\nmin_replications = 9\nmax_replications = 9\n[sweep]\n\"traffic.arrivals.rate\" = [0.01, 0.02, 0.03, 0.04]\n";
    let folder = Folder::with(&[("torn.toml", &format!("{IDLE}{sweep}"))]);
    assert_eq!(folder.run(&["sweep", "torn.toml", "--jobs=1"]).code, 0);
    let table = folder.read("results/torn.csv");
    let bytes = folder.bytes("results/store.db");
    let merged = |bytes: &[u8]| {
        folder.write("results/store.db", bytes);
        let _ = std::fs::remove_file(folder.path().join("rescued.db"));
        let merged = folder.run(&["merge", "results/store.db", "--store=rescued.db"]);
        assert_eq!(folder.bytes("results/store.db"), bytes, "it is only read");
        merged
    };
    // With the experiment, as many as without, however much of the descriptions is lost.
    for half in [bytes.len() / 2, bytes.len() / 3] {
        let cut = merged(&bytes[..half]);
        let alone = cut.stdout.clone();
        std::fs::remove_file(folder.path().join("rescued.db")).unwrap();
        let of = folder.run(&["merge", "results/store.db", "--store=rescued.db", "--experiment=torn.toml"]);
        assert_eq!(of.code, 1, "{}", of.stderr);
        assert_eq!(alone.lines().next(), of.stdout.lines().next(), "{}", of.stderr);
        assert!(alone.contains("results added") && !alone.starts_with("0 "), "{alone}");
    }
    // The end is cut off, also in the middle of a page.
    for lost in [4096, 3 * 4096, 5000] {
        let cut = merged(&bytes[..bytes.len() - lost]);
        assert_eq!(cut.code, 1, "{}", cut.stderr);
        assert!(cut.stderr.contains("; reading what is left of it from a repaired copy"), "{lost}: {}", cut.stderr);
        let again = folder.run(&["sweep", "torn.toml", "--jobs=1", "--store=rescued.db"]);
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert_eq!(folder.read("results/torn.csv"), table);
    }
    // All rows are whole behind a header that is not.
    for (place, value) in [(0, b"zzzz".as_slice()), (18, &[9, 9])] {
        let mut changed = bytes.clone();
        changed[place..place + value.len()].copy_from_slice(value);
        let whole = merged(&changed);
        assert_eq!(whole.code, 0, "{}", whole.stderr);
        assert!(whole.stdout.contains("36 results added"), "{}", whole.stdout);
    }
    // Without the first page nothing says where anything is.
    let mut changed = bytes.clone();
    changed[100..4096].fill(0);
    let lost = merged(&changed);
    assert_eq!(lost.code, 1, "{}", lost.stderr);
    assert!(
        lost.stderr.contains("nothing in it can be read") && !lost.stderr.contains("wormcast merge"),
        "{}",
        lost.stderr
    );
    assert!(!folder.path().join("rescued.db").exists());
}

/// With the example's fabric.
fn fabric() -> Folder {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folder = folder();
    for file in ["fabric.toml", "fabric.net", "fabric.lfts", "fabric-updn.lfts", "fabric.mcfdbs"] {
        folder.write(file, &std::fs::read(root.join(file)).unwrap());
    }
    folder
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
        ("host1;host99", "`host99` is no host: expected a name such as `host9`, an identifier (`0x…`) or an address"),
        ("host1,host2", "members are separated by `;`"),
        ("host1;rack1", "`rack1` is a switch: members are hosts"),
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

/// A correction, or what has to hold, is no sentence of the claim; and a time is no share of a load.
#[test]
fn a_claim_needs_a_sentence_of_its_own_and_shares_of_the_same_kind() {
    let swept = IDLE.replace("algorithm = \"dual-path\"\n", "")
        + "stop.min_replications = 2\nstop.max_replications = 2\nsweep.algorithm = [\"dual-path\", \"column-path\"]\n";
    let order = "order = { lower = [\"dual-path\"], higher = [\"column-path\"]";
    let claim = |more: &str| format!("{swept}[[claim]]\nid = \"a\"\ntext = \"t\"\n{more}\n");
    let folder = Folder::with(&[]);
    let sweep = |more: &str| {
        folder.write("c.toml", claim(more).as_bytes());
        folder.run(&["sweep", "c.toml"])
    };
    for alone in ["correction = true", "control = true"] {
        let said = sweep(&format!("{alone}\n{order} }}")).success();
        assert!(said.contains("claim a: inconclusive"), "{said}");
    }
    assert!(sweep(&format!("{order} }}")).success().contains("claim a: reproduced"));
    let gap = "gap = { series = [\"dual-path\"], over = \"offered_load\", at_least = 0.1 }";
    let loads = format!("{order}, over = \"delivered_load\" }}");
    let values = "values = { of = { dual-path = [inf] }, tolerance = 3 }";
    for (wrong, message) in [
        (gap, "`latency.last` is no share of `offered_load`: one of them is a time"),
        (&loads, "`latency.last` is no share of `delivered_load`"),
        (values, "expected finite numbers, or `nan`"),
    ] {
        let refused = sweep(wrong).bad_input();
        assert!(refused.contains(message), "{refused}");
    }
    // In another unit, the same numbers would claim something else: they stay in the file's, whatever is plotted.
    folder.write("c.toml", claim("values = { of = { dual-path = [1] }, tolerance = 3 }").as_bytes());
    folder.run(&["sweep", "c.toml"]).success();
    let verdict = folder.read("results/c.claims.json");
    for plotted in ["plot.unit=cycles", "plot.y=delivered_load"] {
        folder.run(&["plot", "c.toml", "--set", plotted]).success();
        assert_eq!(folder.read("results/c.claims.json"), verdict, "{plotted}");
    }
    let unnamed = folder.run(&["sweep", "c.toml", "--store", ""]).bad_input();
    assert!(unnamed.contains("a store is a file: expected its name"), "{unnamed}");
}

#[test]
fn an_algorithm_without_a_root_refuses_one_whatever_its_routing() {
    let folder = folder();
    for algorithm in ["rpm", "xy-tree", "vctm", "dual-path"] {
        let message =
            folder.run(&["routing", "--topology", "mesh:4x4", "--algorithm", algorithm, "--root", "5"]).bad_input();
        assert!(message.contains("has no root; `up-down`"), "{message}");
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

#[test]
fn a_root_that_no_routing_of_a_sweep_has_is_warned_of() {
    let folder = folder();
    let run = |routings: &str| {
        let sweep = ["sweep", "idle.toml", "--set=algorithm=separate", "--set=root=5", "--set=stop.min_replications=2"];
        folder.run(&[&sweep[..], &["--set=stop.max_replications=2", routings]].concat())
    };
    let none = run("--set=sweep.routing=['e-cube', 'west-first']");
    assert!(
        none.code == 0 && none.stderr.contains("`root` makes no difference here: no routing of the sweep has one"),
        "{none:?}"
    );
    let some = run("--set=sweep.routing=['e-cube', 'up-down']");
    assert!(some.code == 0 && !some.stderr.contains("`root`"), "{some:?}");
}

/// A small sweep with a claim, and other versions.
const VERSIONS: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
[switching]
buffer = 2
[timing]
startup = 100
cycle_ns = 5.0
[traffic]
arrivals = { process = "poisson", rate = 0.1 }
length = { uniform = [10, 20] }
multicast = { destinations = 4, fraction = 0.5 }
[run]
warmup = 1000
messages = 50
[stop]
min_replications = 2
max_replications = 2
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = [0.05, 0.1]
[plot]
x = "traffic.arrivals.rate"
[[claim]]
id = "c1"
text = "dual-path is faster"
order = { lower = ["dual-path"], higher = ["column-path"] }
"#;

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

/// What makes no difference: the seed of a trace, and a preset of which nothing is left.
#[test]
fn more_settings_without_effect_are_told() {
    let folder = Folder::with(&[("base.toml", VERSIONS), ("t.csv", "cycle,source,destinations,flits\n0,0,\"5\",4\n")]);
    let run = |more: &[&str]| {
        let given = ["simulate", "base.toml", "--set=traffic.arrivals.rate=0.1"];
        let run = folder.run(&[&given[..], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    assert!(run(&["--set=timing.preset=paper-4"]).contains("`timing.preset` makes no difference here"));
    folder.write("base.toml", VERSIONS.replace("cycle_ns = 5.0\n", "").as_bytes());
    assert!(!run(&["--set=timing.preset=paper-4"]).contains("timing.preset"));
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

/// The command that a warning recommends has nothing to warn of itself.
#[test]
fn the_analysis_that_is_advised_is_quiet() {
    let folder = folder();
    for (topology, algorithm, settings) in [
        ("mesh:4x4", "column-path", &["switching.consumption_ports=1"][..]),
        ("mesh:4x4", "dual-path", &["switching.consumption_ports=1", "switching.virtual_channels=2"]),
        ("mesh:4x4", "xy-tree", &["switching.replication=lockstep", "switching.buffer=2"]),
        (
            "mesh:4x4",
            "xy-tree",
            &["switching.replication=independent", "switching.buffer=2", "switching.reservation=separate"],
        ),
        ("torus:4x4", "separate", &["routing=e-cube"]),
        ("torus:4x4", "separate", &["routing=e-cube", "switching.virtual_channels=2", "switching.consumption_ports=2"]),
        ("torus:4x4", "separate", &["routing=dateline", "switching.virtual_channels=2"]),
    ] {
        let mut words = vec!["simulate".to_owned(), "idle.toml".to_owned(), "--seed=1".to_owned()];
        let own = [format!("topology={topology}"), format!("algorithm={algorithm}")];
        words.extend(own.iter().map(String::as_str).chain(settings.iter().copied()).map(|set| format!("--set={set}")));
        let run = folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let Some(advised) = run.stderr.split('`').find(|part| part.starts_with("wormcast routing ")) else {
            assert!(settings.contains(&"routing=dateline"), "{words:?}: {run:?}");
            continue;
        };
        let said = folder.run(&advised.split(' ').skip(1).collect::<Vec<_>>()).success();
        assert!(said.contains("deadlock-free     no"), "{advised}: {said}");
    }
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

#[test]
fn a_cycle_over_waypoints_has_its_worms() {
    for (topology, routing) in [
        ("hyperx:3x3", "valiant"),
        ("hyperx:4x4", "ugal"),
        ("dragonfly:p=1,a=2,h=1", "valiant-group"),
        ("slimfly:q=5", "valiant"),
    ] {
        let said = wormcast(&[
            "routing",
            "--topology",
            topology,
            "--routing",
            routing,
            "--virtual-channels=1",
            "--format=json",
        ]);
        let closed_by = &said.json()["closed_by"];
        let examples = |step: &Value| step["examples"].as_array().map_or(0, Vec::len);
        let steps = closed_by.as_array().expect("a cycle");
        assert!(!steps.is_empty() && steps.iter().all(|step| examples(step) > 0), "{topology} {routing}: {closed_by}");
    }
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

/// What a run does not leave room for is told with a network of the family whose runs fit.
#[test]
fn a_run_that_does_not_fit_names_a_smaller_network() {
    let run = |topology: &str, memory: &str| {
        let folder = folder();
        let mut command = crate::command(&["simulate", "idle.toml", &format!("--set=topology={topology}")]);
        command.env("WORMCAST_MEMORY", memory).current_dir(folder.path());
        crate::outcome(command.spawn().expect("the command starts"))
    };
    let said = run("mesh:512x512", "100MB").bad_input();
    let smaller = said.split('`').find(|spec| spec.starts_with("mesh:")).unwrap_or_else(|| panic!("{said}"));
    assert!(said.contains("a run on mesh:512x512 needs about") && said.contains("starts, with about"), "{said}");
    // What its messages take is another matter.
    assert_ne!(run(smaller, "100MB").code, 2);
}

/// Nothing is random here: what a sum is rounded to decided between open, best and worse.
const EQUAL: &str = r#"
topology = "mesh:4x4"
[traffic]
arrivals = { process = "burst" }
length = 8
multicast.destinations = "all"
[stop]
min_replications = 5
max_replications = 5
[sweep]
algorithm = ["dual-path", "column-path", "u-mesh"]
timing.startup = [100, 200]
[[claim]]
id = "a"
text = "dual-path is best"
order = { lower = ["dual-path"], higher = ["column-path"] }
"#;

#[test]
fn equal_differences_are_open_below_thirty_pairs_and_certain_from_there() {
    let folder = Folder::with(&[("equal.toml", EQUAL)]);
    for count in [3, 5, 10, 12, 20, 29, 30, 37] {
        let stop = format!("--set=stop={{ min_replications = {count}, max_replications = {count} }}");
        let swept = folder.run(&["sweep", "equal.toml", &stop]).success();
        let expected = if count < 30 { "inconclusive" } else { "reproduced" };
        let verdict = swept.lines().find(|line| line.contains("dual-path is best")).unwrap();
        assert!(verdict.contains(expected), "{count}: {swept}");
        let compared = folder.run(&["compare", "equal.toml", &stop, "--format=json"]);
        let compared: Value = serde_json::from_str(&compared.success()).expect("JSON");
        for point in compared["points"].as_array().unwrap() {
            assert_eq!(point["best"].is_null(), count < 30, "{count}: {point}");
            for standing in point["standings"].as_array().unwrap() {
                assert!(
                    standing["difference"]["half_width"].as_f64().is_none_or(|half| half <= 0.0),
                    "{count}: {standing}"
                );
            }
        }
    }
    // They differ, so that more pairs decide.
    let stop = "--set=stop={ min_replications = 3, max_replications = 3 }";
    let decided = folder.run(&["compare", "equal.toml", stop, "--until-decided=1000", "--format=json"]).success();
    let decided: Value = serde_json::from_str(&decided).expect("JSON");
    assert!(decided["points"].as_array().unwrap().iter().all(|point| point["best"] == "dual-path"), "{decided}");
}

#[test]
fn a_plot_that_a_logarithmic_axis_leaves_empty_ends_nothing() {
    let planned = "topology = \"mesh:4x4\"\nrun.mode = \"plan\"\n[traffic]\narrivals = { process = \"burst\" }\nmulticast.destinations = 5\n[sweep]\nalgorithm = [\"dual-path\", \"separate\"]\nseed = [1, 2]\n[plot]\ny = [\"plan.contention\", \"plan.steps\"]\ny_scale = \"log\"\n";
    let folder = Folder::with(&[("log.toml", planned)]);
    let swept = folder.run(&["sweep", "log.toml"]);
    assert_eq!(swept.code, 0, "{}", swept.stderr);
    assert!(
        swept.stderr.contains("no point has `plan.contention` above 0, as logarithmic axes need"),
        "{}",
        swept.stderr
    );
    assert!(folder.files("results").contains(&"log-plan-steps.svg".to_owned()));
    folder.run(&["report", "log.toml"]).success();
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

/// Where damage leaves open whether a store has points of an experiment, they are looked for.
#[test]
fn a_damaged_store_of_several_experiments_gives_what_is_left_of_one() {
    let plan = |seeds: &str| {
        format!(
            "topology = \"mesh:4x4\"\nrun.mode = \"plan\"\nrun.messages = 3\n[traffic]\narrivals.process = \"burst\"\nmulticast.destinations = 5\n[stop]\nmin_replications = 2\nmax_replications = 2\n[sweep]\nalgorithm = [\"dual-path\"]\nseed = {seeds}\n"
        )
    };
    let all: Vec<u32> = (1..=60).collect();
    let folder = Folder::with(&[("others.toml", &plan(&format!("{all:?}"))), ("one.toml", &plan("[1000]"))]);
    for file in ["others.toml", "one.toml"] {
        assert_eq!(folder.run(&["sweep", file, "--store=all.db"]).code, 0);
    }
    let bytes = folder.bytes("all.db");
    // A point whose description is lost may be the experiment's.
    folder.write("lost.db", &bytes);
    let store = rusqlite::Connection::open(folder.path().join("lost.db")).unwrap();
    let lost =
        store.execute("UPDATE points SET description = x'00' WHERE description LIKE '%\"seed\":1000%'", []).unwrap();
    drop(store);
    assert_eq!(lost, 1);
    let merged = folder.run(&["merge", "lost.db", "--store=found.db", "--experiment=one.toml"]);
    assert!(!merged.stderr.contains("of other settings"), "{merged:?}");
    let mut read = 0;
    for part in 60..100 {
        folder.write("cut.db", &bytes[..bytes.len() * part / 100]);
        let merged = |of: &[&str]| {
            let _ = std::fs::remove_file(folder.path().join("left.db"));
            folder.run(&[&["merge", "cut.db", "--store=left.db"], of].concat())
        };
        let (alone, of_one) = (merged(&[]), merged(&["--experiment=one.toml"]));
        assert_eq!(alone.code, of_one.code, "{part}: {}", of_one.stderr);
        assert_eq!(alone.stdout.lines().next(), of_one.stdout.lines().next(), "{part}: {}", of_one.stderr);
        read += usize::from(alone.stdout.contains("results added"));
    }
    assert!(read > 5, "{read}");
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

#[test]
fn times_of_cycles_are_told_as_they_were_given() {
    for (given, told) in [("0", "0"), ("-5", "-5"), ("2.5e9", "2500000000"), ("1e-300", "1e-300"), ("1e300", "1e300")] {
        let expected = format!("`timing.cycle_ns`: {told} is out of range: expected 0.000001 to 1000000000 ns");
        refused(&[&format!("--set=timing.cycle_ns={given}")], &expected);
    }
}

/// What a report says of worms held for both values of a setting, where one is safe.
#[test]
fn a_report_says_which_of_the_swept_settings_let_worms_deadlock() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'xy-tree'\ntiming = { startup = 10 }\nrun = { warmup = 200, messages = 50 }\n\
        traffic = { arrivals = { process = 'poisson', rate = 0.1 }, length = 8, multicast = { destinations = 3 } }\n\
        stop = { min_replications = 2, max_replications = 2 }\n[sweep]\n'switching.replication' = ['lockstep', 'independent']\n\
        'traffic.arrivals.rate' = [0.1, 0.2]\n'traffic.multicast.destinations' = [3, 4]\n[plot]\nx = 'traffic.arrivals.rate'\n";
    let folder = Folder::with(&[("x.toml", text)]);
    assert_eq!(folder.run(&["sweep", "x.toml"]).code, 0);
    folder.run(&["report", "x.toml"]).success();
    let report = folder.read("results/x-report.md");
    let start = "Worms of xy-tree on mesh:4x4, with switching.replication=lockstep, can deadlock, whether";
    assert_eq!(report.matches("can deadlock, whether").count(), 1, "{report}");
    assert!(report.contains(start), "{report}");
}

#[test]
fn a_ranking_has_the_values_of_its_axis_in_their_column() {
    let text = "topology = 'mesh:4x4'\ntiming = { startup = 10 }\nrun = { warmup = 200, messages = 50 }\n\
        traffic = { arrivals = { process = 'poisson', rate = 0.1 }, length = 8, multicast = { destinations = 3 } }\n\
        stop = { min_replications = 6, max_replications = 6 }\n[sweep]\nalgorithm = ['dual-path', 'column-path']\n\
        'traffic.arrivals.rate' = [0.1, 0.2]\n'traffic.multicast.destinations' = [3, 4]\n[plot]\nx = 'traffic.arrivals.rate'\n";
    let folder = Folder::with(&[("x.toml", text)]);
    assert_eq!(folder.run(&["sweep", "x.toml"]).code, 0);
    folder.run(&["report", "x.toml"]).success();
    let report = folder.read("results/x-report.md");
    assert!(report.contains("| of | traffic.arrivals.rate"), "{report}");
    assert!(report.contains("| destinations 3 | 0.1 |"), "{report}");
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

/// What an override leaves no room for in a version is said to those who ask for the version.
#[test]
fn overrides_and_versions_that_nobody_asks_for_go_together() {
    let switches = ["topology=bmin:4x2", "switching.model=central-buffer", "algorithm=bit-string"];
    let sets: Vec<String> = switches.iter().map(|setting| format!("--set={setting}")).collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    for version in [
        "[variation.a]\nswitching.buffer = 8\n",
        "[quick]\nswitching.buffer = 8\n",
        "[[open]]\nsetting = 'switching.buffer'\nvalues = [8]\nwhy = 'It is not in the text.'\n",
    ] {
        let folder = Folder::with(&[("e.toml", &format!("{IDLE}{version}"))]);
        let simulated = folder.run(&[&["simulate", "e.toml"][..], &sets].concat());
        assert_eq!(simulated.code, 0, "{version}: {}", simulated.stderr);
        // What is wrong in itself is still said at once, and so is what an override says of a version.
        let wrong = Folder::with(&[("e.toml", &format!("{IDLE}{}", version.replace("buffer", "bufer")))]);
        let said = wrong.run(&[&["simulate", "e.toml"][..], &sets].concat()).bad_input();
        assert!(said.contains("bufer"), "{said}");
    }
    let traced = format!("{IDLE}[variation.t]\ntraffic.trace = 't.trace'\n");
    let said = Folder::with(&[("e.toml", &traced)]).run(&["simulate", "e.toml"]).bad_input();
    assert!(said.contains("e.toml:10:") && said.contains("the file has `traffic.arrivals`"), "{said}");
    let folder = Folder::with(&[("e.toml", &format!("{IDLE}[variation.a]\nswitching.buffer = 8\n"))]);
    let asked = [&["sweep", "e.toml", "--variation", "a"][..], &sets].concat();
    let said = folder.run(&asked).bad_input();
    assert!(said.contains("has no setting `buffer`"), "{said}");
    let said = folder.run(&["simulate", "e.toml", "--set", "variation.a.switching.bufer=3"]).bad_input();
    assert!(said.contains("bufer"), "{said}");
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
    let said = root("mesh:2x2,nodes=2", "4").bad_input();
    assert!(said.contains("expected a router, by its number from 0 to 3 or by its coordinates"), "{said}");
    let near = ["sweep", "trees.toml", "--set", "stop.confidence=0.9999999999999999"];
    assert!(folder.run(&near).bad_input().contains("is too near to 1 for a finite interval"));
}
