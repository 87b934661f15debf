//! Options of single algorithms: in commands, in batches and in experiments, for all points or for those of one algorithm.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::wormcast;

const PLAN: [&str; 9] = [
    "plan",
    "--topology",
    "mesh:8x8",
    "--algorithm",
    "bounded-negative-first",
    "--source",
    "4,3",
    "--destinations",
    "1,4;1,5;2,7;6,5;7,2;5,1;2,1",
];

/// The worms of a plan.
fn worms(arguments: &[&str]) -> Value {
    wormcast(&[&PLAN, arguments, &["--format", "json"]].concat()).json()["worms"].clone()
}

#[test]
fn a_bound_on_detours_lies_between_two_algorithms() {
    let of = |name: &str| {
        let arguments: Vec<&str> = PLAN.iter().map(|&word| if word == PLAN[4] { name } else { word }).collect();
        wormcast(&[&arguments[..], &["--format", "json"]].concat()).json()["worms"].clone()
    };
    let (minimal, pure) = (of("minimal-negative-first-optimal"), of("pure-negative-first"));
    assert_eq!((worms(&["--option", "detour=0"]), worms(&[])), (minimal.clone(), pure.clone()));
    let count = |worms: &Value| worms.as_array().unwrap().len();
    let between = count(&worms(&["--option", "detour=4"]));
    assert!(count(&pure) < between && between < count(&minimal), "{between}");
    // A batch says the same.
    let request = |options: &str| {
        format!(
            r#"{{"topology":"mesh:8x8","algorithm":"bounded-negative-first","source":"4,3","destinations":"{}"{options}}}"#,
            PLAN[8]
        )
    };
    let lines = [r#","options":{"detour":4}"#, "", r#","options":{"detuor":4}"#, r#","options":{"pair":"balance"}"#];
    let folder = Folder::with(&[("all.jsonl", &lines.map(request).join("\n"))]);
    let answers = folder.run(&["plan", "--batch", "all.jsonl"]).stdout;
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((count(&answers[0]["worms"]), &answers[1]["worms"]), (between, &pure));
    assert!(answers[2]["error"].as_str().unwrap().contains("did you mean `detour`?"), "{}", answers[2]);
    let error = answers[3]["error"].as_str().unwrap();
    assert_eq!(error, "`bounded-negative-first` has no option `pair`, which is one of `dstm-tarjan-best`");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let refused = |arguments: &[&str], expected: &str| {
        let message = wormcast(arguments).bad_input();
        assert!(message.contains(expected), "{message}");
    };
    let plan = |option: &str, expected: &str| refused(&[&PLAN[..], &["--option", option]].concat(), expected);
    plan("detour", "--option detour: expected `key=value`, as in `detour=4`");
    plan("detour=-1", "--option detour=-1: ");
    plan("detour=few", "--option detour=few: ");
    plan("detours=4", "did you mean `detour`?");
    plan("cross_links=false", "`bounded-negative-first` has no option `cross_links`, which is one of `spam`");
    plan("greedy=rows", "which is one of `pure-negative-first` and `minimal-negative-first`");
    plan("resolution=ascending", "which is one of `u-cube`, `maxport`, `combine` and `w-sort`");
    let cuboid = ["plan", "--topology", "mesh:3x3x3", "--algorithm", "pure-negative-first", "--source", "0"];
    let greedy = ["--destinations", "1;2", "--option", "greedy=rows"];
    refused(&[&cuboid[..], &greedy].concat(), "makes greedy lists in 2-D meshes only");
    plan("draw=replication", "only the runs of an experiment are replicated");
    refused(&[&PLAN[..], &["--option", "detour=1", "--option", "detour=2"]].concat(), "this option is there twice");
    let mesh = ["routing", "--topology", "mesh:4x4"];
    let routing = |more: &[&str], expected: &str| refused(&[&mesh[..], more].concat(), expected);
    routing(
        &["--routing", "e-cube", "--option", "cross_links=false"],
        "the routing `e-cube` has no option `cross_links`",
    );
    routing(&["--routing", "spam", "--option", "detour=2"], "the routing `spam` has no option `detour`");
    let separate = ["--algorithm", "separate", "--option", "cross_links=false"];
    routing(&separate, "`separate` has no option `cross_links`");
    let torus = ["plan", "--topology", "torus:4x4", "--algorithm", "dstm-1", "--source", "0", "--destinations", "1;2"];
    refused(&[&torus[..], &["--option", "second=4,0"]].concat(), "`4,0` is not a starting node in `torus:4x4`");
    refused(&[&torus[..], &["--option", "method=+x-y-y+x"]].concat(), "constructions of trees in mode `trees`");
}

#[test]
fn spam_can_do_without_cross_links() {
    let analysed = |what: &[&str]| {
        let report = wormcast(&[&["routing", "--topology", "torus:4x4", "--format", "json"], what].concat()).json();
        assert_eq!((&report["deadlock_free"], &report["connected"]), (&json!(true), &json!(true)), "{report}");
        report["average_distance"].as_f64()
    };
    let tree = ["--option", "cross_links=false"];
    let [whole, alone] = [&[][..], &tree].map(|more| analysed(&[&["--routing", "spam"], more].concat()).unwrap());
    let trees = wormcast(&["trees", "--topology", "torus:4x4", "--construction", "spam", "--format", "json"]).json();
    // In the tree, and nowhere else.
    assert!(whole < alone && Some(alone) == trees["average_distance"].as_f64(), "{whole} {alone} {trees}");
    assert_eq!((trees["trees"][0]["root"].as_u64(), trees["unused"].as_array().unwrap().len()), (Some(0), 17));
    analysed(&[&["--algorithm", "spam"][..], &tree].concat());
    analysed(&[&["--algorithm", "separate", "--routing", "spam"][..], &tree].concat());
}

#[test]
fn trees_start_elsewhere_and_are_best_by_several_measures() {
    let answer = |arguments: &[&str]| {
        let answer = wormcast(&[&["trees", "--format", "json", "--topology"], arguments].concat()).json();
        (answer["combined_diameter"].as_u64().unwrap(), answer["average_distance"].as_f64().unwrap())
    };
    // Theorem 5.1 is exact at even sizes from another start than the printed one.
    let second = |second| answer(&["torus:4x4", "--construction", "dstm-1", "--second", second]).0;
    assert_eq!(["half", "below-half", "+2,+2", "-2,+2", "+1,+2", "2,2"].map(second), [6, 7, 6, 6, 7, 6]);
    let best = |by| answer(&["torus:6x6", "--construction", "dstm-tarjan", "--best", "30", "--by", by]);
    let [diameter, distance, balance] = ["diameter", "distance", "balance"].map(best);
    assert!(diameter.0 <= distance.0.min(balance.0) && distance.1 <= diameter.1.min(balance.1));
    let alone = wormcast(&["trees", "--topology", "torus:4x4", "--construction", "dstm-tarjan", "--by", "balance"]);
    assert!(alone.bad_input().contains("--best"));
}

/// What a sweep has of its points, with the settings of one algorithm.
#[test]
fn one_algorithm_has_settings_of_its_own() {
    let file = r#"
topology = "torus:4x4"
traffic = { arrivals = { process = "poisson", rate = 0.02 }, length = 10, multicast = { destinations = 5 } }
timing.startup = 100
switching.header = "tree"
run = { messages = 100, warmup = { messages = 20 } }
stop = { min_replications = 2, max_replications = 2 }
sweep = { algorithm = ["dstm-1", "spam"], traffic.arrivals.rate = [0.02, 0.03] }
[with.spam]
timing.startup = 200
switching = { header = "bit-string", header_flits = 3 }
options.cross_links = false
"#;
    let folder = Folder::with(&[("one.toml", file)]);
    folder.run(&["sweep", "one.toml"]).success();
    let table = folder.read("results/one.csv");
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|&other| other == name).unwrap();
    let cells: Vec<_> =
        lines.map(|line| (line[column("algorithm")], line[column("startup_cycles")].parse::<f64>().unwrap())).collect();
    assert_eq!(cells, [("dstm-1", 100.0), ("dstm-1", 100.0), ("spam", 200.0), ("spam", 200.0)]);
    // The points are those of a run with these settings for all.
    let set = [
        "algorithm=spam",
        "timing.startup=200",
        "switching.header=bit-string",
        "switching.header_flits=3",
        "options.cross_links=false",
    ];
    let plain = file.split("[with").next().unwrap();
    folder.write("plain.toml", plain.as_bytes());
    let hash =
        |arguments: &[&str]| folder.run(&[arguments, &["--format", "json"]].concat()).json()["config_hash"].clone();
    let set: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
    let own = hash(&["simulate", "one.toml", "--set", "algorithm=spam"]);
    assert_eq!(own, hash(&[&["simulate", "plain.toml"], &set[..]].concat()));
    assert!(table.lines().nth(3).unwrap().contains(own.as_str().unwrap()), "{table}");
    let wrong = folder.run(&["sweep", "one.toml", "--set", "with.spum.timing.startup=3"]).bad_input();
    assert!(
        wrong.contains("`spum` is no algorithm of this experiment") && wrong.contains("did you mean `spam`?"),
        "{wrong}"
    );
    let swept = folder.run(&["sweep", "one.toml", "--set", "sweep.timing.startup=[1,2]"]).bad_input();
    assert!(swept.contains("`timing.startup` is swept, and cannot be set for one algorithm"), "{swept}");
}

/// Trees that are drawn once are the same in all replications; drawn in each replication, they are those of its seed.
#[test]
fn random_trees_are_drawn_once_or_in_each_replication() {
    let file = r#"
topology = "torus:4x4"
algorithm = "dstm-tarjan"
traffic = { arrivals = { process = "burst", sources = 1 }, length = 10, multicast = { destinations = 1 } }
run.mode = "drain"
stop = { min_replications = 12, max_replications = 12 }
"#;
    let folder = Folder::with(&[("one.toml", file)]);
    let hops = |draw: &str| {
        let set = format!("options.draw={draw}");
        folder.run(&["sweep", "one.toml", "--set", &set, "--name", draw, "--replications", "all.csv"]).success();
        let table = folder.read("all.csv");
        let column = table.lines().next().unwrap().split(',').position(|name| name == "flit_hops").unwrap();
        let cell = |line: &str| line.split(',').nth(column).unwrap().to_owned();
        table.lines().skip(1).map(cell).collect::<Vec<_>>()
    };
    let [once, anew] = ["once", "replication"].map(hops);
    assert!(once.len() == 12 && anew.len() == 12 && once != anew, "{once:?} {anew:?}");
    let refused =
        folder.run(&["sweep", "one.toml", "--set", "algorithm=dstm-1", "--set", "options.draw=once"]).bad_input();
    assert!(refused.contains("`dstm-1` has no option `draw`"), "{refused}");
    let placed = folder.run(&["simulate", "one.toml", "--set", "options.pair=distance"]).bad_input();
    assert!(placed.contains("--set options.pair=distance: `dstm-tarjan` has no option `pair`"), "{placed}");
}

/// The starts of trees are swept in mode `trees`, too.
#[test]
fn starts_of_trees_are_swept() {
    let file = r#"
topology = "torus:16x16"
algorithm = "dstm-2"
run.mode = "trees"
stop = { min_replications = 2, max_replications = 2 }
sweep."options.second" = ["quarter", "+4,+4", "4,4"]
plot = { x = "trees.side", y = ["trees.diameter", "trees.average_distance"] }
"#;
    let folder = Folder::with(&[("one.toml", file)]);
    let said = folder.run(&["sweep", "one.toml"]);
    assert_eq!(said.code, 0, "{said:?}");
    let table = folder.read("results/one.csv");
    // From the end: starts may have commas.
    let column = table.lines().next().unwrap().rsplit(',').position(|name| name == "trees_average_distance").unwrap();
    let distances = table.lines().skip(1).map(|line| line.rsplit(',').nth(column).unwrap().parse::<f64>().unwrap());
    assert_eq!(distances.map(|distance| format!("{distance:.3}")).collect::<Vec<_>>(), ["14.720", "14.596", "14.596"]);
}
