//! Plots, comparisons and reports: what they show, and what they say of it.

use serde_json::Value;

use crate::folder::Folder;
use crate::small::{IDLE, folder, refused};

#[test]
fn control_characters_of_a_title_leave_a_picture_that_is_xml() {
    let folder = folder();
    let rates = "--set=sweep.traffic.arrivals.rate=[0.1, 0.2]";
    folder.run(&["sweep", "idle.toml", "--set=title=\"a\\u0007b\"", "--set=stop.min_replications=2", rates]).success();
    let picture = folder.read("results/idle-traffic.arrivals.rate-0.1-0.2.svg");
    assert!(picture.contains("a\u{fffd}b") && !picture.contains('\u{7}'), "{picture}");
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

/// A file whose name begins with a hyphen was told as what is read as an option.
#[test]
fn commands_that_are_told_take_a_file_for_a_file() {
    let folder = Folder::with(&[("-x.toml", IDLE)]);
    let told = folder.run(&["plot", "--", "-x.toml"]).bad_input();
    assert!(told.contains("run `wormcast sweep ./-x.toml` first"), "{told}");
    folder.run(&["sweep", "./-x.toml", "--set=stop.min_replications=2"]).success();
}

/// They were 0 in JSON and in rows, which are averaged; the text and the table had nothing.
#[test]
fn what_was_not_measured_is_null() {
    let figures = ["/offered_load", "/injected_load", "/accepted_load", "/delivered_load"];
    let links = ["/links/busy", "/links/busiest", "/links/held", "/links/blocked"];
    let parts =
        ["/latency/parts/queueing", "/latency/parts/startup", "/latency/parts/network", "/latency/parts/blocking"];
    let folder = folder();
    let simulated = |settings: &[&str]| -> Value {
        folder.run(&[&["simulate", "idle.toml", "--format=json"][..], settings].concat()).json()
    };
    let all = |run: &Value, paths: &[&str], is: fn(&Value) -> bool| {
        paths.iter().all(|path| is(run.pointer(path).unwrap_or_else(|| panic!("{path}: {run}"))))
    };
    // No message in the run; messages, none of which arrives; messages.
    let none = simulated(&["--set=run={ mode = 'drain', until = 2 }", "--set=traffic.arrivals.rate=0.0001"]);
    assert!([&figures, &links, &parts].into_iter().all(|paths| all(&none, paths, Value::is_null)), "{none}");
    let early =
        simulated(&["--set=run={ mode = 'finite', messages = 5, max_cycles = 50 }", "--set=traffic.arrivals.rate=9"]);
    assert!(all(&early, &parts, Value::is_null) && all(&early, &figures, Value::is_number), "{early}");
    let run = simulated(&[]);
    assert!([&figures, &links, &parts].into_iter().all(|paths| all(&run, paths, Value::is_number)), "{run}");
    let planned = folder.run(&["simulate", "idle.toml", "--format=json", "--set=run={ mode = 'plan', messages = 5 }"]);
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert!([&figures, &links, &parts].into_iter().all(|paths| all(&planned, paths, Value::is_null)), "{planned}");
    // The mean of rows is that of the table.
    let sweep = [
        "--set=run={ mode = 'drain', until = 2000 }",
        "--set=traffic.arrivals.rate=0.01",
        "--set=stop={ min_replications = 12, max_replications = 12 }",
    ];
    folder.run(&[&["sweep", "idle.toml", "--name=few", "--replications=rows.csv"][..], &sweep].concat()).success();
    let column = |file: &str| -> Vec<Option<f64>> {
        let text = folder.read(file);
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let place = lines.next().unwrap().iter().position(|name| name == "offered_load").expect("a column");
        lines.map(|row| row[place].parse().ok()).collect()
    };
    let rows = column("rows.csv");
    let loads: Vec<f64> = rows.iter().copied().flatten().collect();
    assert!((2..12).contains(&loads.len()) && rows.len() == 12, "{rows:?}");
    let mean = loads.iter().sum::<f64>() / loads.len() as f64;
    assert!((mean / column("results/few.csv")[0].unwrap() - 1.0).abs() < 1e-4, "{mean}");
}
