//! `wormcast compare`.

use crate::folder::Folder;

/// Few startups against short paths: the one is ahead at low rates, the other at high ones; the last rate is beyond saturation.
const SMALL: &str = r#"
topology = "mesh:8x8"
seed = 3
timing = { cycle_ns = 5.0, startup = 200, routing_delay = 2 }
switching = { buffer = 1, injection_ports = 4, consumption_ports = 4 }
[traffic]
arrivals = { process = "poisson", rate = 0.1 }
length = 32
multicast.destinations = 6
[run]
warmup = 5000
messages = 400
[stop]
min_replications = 5
max_replications = 5
[sweep]
algorithm = ["dual-path", "column-path", "minimal-negative-first"]
"traffic.arrivals.rate" = [0.01, 0.05, 4.0]
"#;

fn json(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let said = folder.run(&[&["compare", "--format", "json"], arguments].concat()).success();
    serde_json::from_str(&said).unwrap()
}

fn texts<'a>(list: &'a serde_json::Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap_or("-")).collect()
}

#[test]
fn two_series_are_compared_point_by_point() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let forwards = json(&folder, &["dual-path", "column-path", "small.toml"]);
    assert_eq!((forwards["quantity"].as_str(), forwards["unit"].as_str()), (Some("latency.last"), Some("us")));
    let points = forwards["points"].as_array().unwrap();
    assert_eq!(texts(&forwards["points"], "at"), ["0.01", "0.05", "4.0"]);
    assert_eq!((&points[0]["best"], &points[0]["reference"]), (&"dual-path".into(), &"column-path".into()));
    let first = &points[0]["standings"][0];
    assert_eq!(
        (&first["series"], &first["state"], &first["relation"]),
        (&"dual-path".into(), &"measured".into(), &"better".into())
    );
    assert!(first["difference"]["mean"].as_f64().unwrap() < 0.0);
    assert_eq!(first["difference"]["count"], 5);
    assert_eq!(texts(&points[2]["standings"], "state"), ["saturated", "saturated"]);
    // The other way round everything is the other way round.
    let backwards = json(&folder, &["column-path", "dual-path", "small.toml"]);
    for (one, other) in points.iter().zip(backwards["points"].as_array().unwrap()) {
        assert_eq!(one["best"], other["best"]);
        let mean = |point: &serde_json::Value| point["standings"][0]["difference"]["mean"].as_f64();
        assert_eq!(mean(one).map(|mean| -mean), mean(other));
    }
    // The sweep has run only what was compared; the store answers.
    let text = folder.run(&["compare", "dual-path", "column-path", "small.toml"]).success();
    assert!(text.starts_with("dual-path against column-path: latency.last, µs; "), "{text}");
    assert!(text.contains("; traffic.arrivals.rate in messages per node per µs\n"), "{text}");
    assert!(text.contains("  both are saturated\n"), "{text}");
    assert!(text.contains("; all are saturated at 1 point\n"), "{text}");
    let files = ["svg", "png"].map(|ending| format!("results/small-dual-path-column-path-comparison.{ending}"));
    assert!(text.ends_with(&format!("\nWrote {}.\n", files.join(", "))), "{text}");
    let plot = folder.read(&files[0]);
    assert!(
        plot.contains("dual-path") && !plot.contains("minimal-negative-first"),
        "what is not compared is not drawn"
    );
    // Where more is better, the higher one is.
    let loads = json(&folder, &["dual-path", "column-path", "small.toml", "--y", "delivered_load"]);
    let (beyond, higher) = (&loads["points"][2]["standings"], loads["higher_is_better"].as_bool());
    let load = |series: usize| beyond[series]["value"]["mean"].as_f64().unwrap();
    let winner = if load(0) > load(1) { "dual-path" } else { "column-path" };
    assert_eq!((loads["points"][2]["best"].as_str(), higher), (Some(winner), Some(true)));
}

#[test]
fn all_series_are_ranked_and_have_as_many_replications() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    // At the second rate the one needs more replications than the others.
    let set =
        ["small.toml", "--set", "stop.max_replications=9", "--set", "sweep.\"traffic.arrivals.rate\"=[0.01, 0.1]"];
    let ranked = json(&folder, &set);
    assert_eq!((ranked["series"].as_array().unwrap().len(), &ranked["pairs"]), (3, &6.into()));
    let points = ranked["points"].as_array().unwrap();
    assert_eq!(points[0]["best"], "dual-path");
    assert_eq!(texts(&points[0]["standings"], "series"), ["dual-path", "minimal-negative-first", "column-path"]);
    let counts = |point: &serde_json::Value| -> Vec<u64> {
        point["standings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|standing| standing["value"]["count"].as_u64().unwrap())
            .collect()
    };
    assert_eq!((counts(&points[0]), counts(&points[1])), (vec![5; 3], vec![9; 3]));
    // With several names, those; with one, that against all others.
    let named = json(&folder, &[&["column-path", "dual-path", "minimal-negative-first"], &set[..]].concat());
    assert_eq!(texts(&named["points"], "best"), texts(&ranked["points"], "best"));
    let one = json(&folder, &[&["column-path"], &set[..]].concat());
    assert_eq!((one["reference"].as_str(), &one["pairs"]), (Some("column-path"), &4.into()));
    assert_eq!(texts(&one["points"][0]["standings"], "relation"), ["better", "better", "-"]);
    let text = folder.run(&[&["compare"], &set[..]].concat()).success();
    assert!(text.starts_with("3 values of algorithm, each against each: latency.last, µs; "), "{text}");
    assert!(text.contains("traffic.arrivals.rate=0.01\n  dual-path               best         2."), "{text}");
    assert!(text.contains("\nCertainly the best, of 2 points: dual-path at "), "{text}");
}

/// What the text says of two series is what the JSON says, whoever is named, and in whatever order the sweep has them.
#[test]
fn the_text_of_two_series_has_the_sign_of_its_heading() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let [dual, column] = ["dual-path", "column-path"];
    for swept in [[dual, column], [column, dual]] {
        let set = format!("sweep.algorithm=[\"{}\", \"{}\"]", swept[0], swept[1]);
        for names in [&[dual][..], &[column], &[dual, column], &[column, dual]] {
            let arguments = [names, &["small.toml", "--set", &set]].concat();
            let text = folder.run(&[&["compare"], &arguments[..]].concat()).success();
            let first = names[0];
            let other = if first == dual { column } else { dual };
            assert!(text.starts_with(&format!("{first} against {other}: latency.last, µs; ")), "{names:?}: {text}");
            let comparison = json(&folder, &arguments);
            let mut measured = 0;
            for (point, line) in comparison["points"].as_array().unwrap().iter().zip(text.lines().skip(1)) {
                assert_eq!(line.split_whitespace().next(), point["at"].as_str());
                let standings = point["standings"].as_array().unwrap();
                let Some(with) = standings.iter().find(|standing| !standing["difference"].is_null()) else {
                    assert!(line.ends_with("both are saturated"), "{line}");
                    continue;
                };
                let number = |key: &str| with["difference"][key].as_f64().unwrap();
                let expected = if with["series"] == first { number("mean") } else { -number("mean") };
                let said = line.split_whitespace().find(|word| word.starts_with(['+', '-'])).unwrap();
                // Two digits of the interval are printed.
                let rounding = 0.051 * number("half_width");
                assert!((said.parse::<f64>().unwrap() - expected).abs() <= rounding, "{names:?}: {line}, {expected}");
                measured += 1;
            }
            assert_eq!(measured, 2);
        }
    }
}

#[test]
fn one_load_is_a_plot_too_and_other_settings_make_series() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let one = json(&folder, &["small.toml", "--set", "traffic.arrivals.rate=0.01"]);
    assert_eq!((one["points"].as_array().unwrap().len(), one["along"].is_null()), (1, true));
    assert_eq!(texts(&one["points"], "at"), [""], "the one value that was chosen heads nothing");
    // What is run with another setting has another name.
    let name = "results/small-traffic.arrivals.rate-0.01-comparison.svg";
    assert_eq!(one["plots"][0], name);
    let plot = folder.read(name);
    // Along the axis, and in no legend.
    assert_eq!(plot.matches("\nminimal-negative-first\n").count(), 1, "{plot}");
    assert!(plot.contains("\nDifference from the best mean (µs)\n"), "{plot}");
    // A percentile is no mean, and of few runs it has no interval.
    let arguments = ["small.toml", "--set", "traffic.arrivals.rate=0.01", "--y", "latency.p99"];
    let said = folder.run(&[&["compare"], &arguments[..]].concat()).success();
    assert!(said.contains("; differences from the best percentile with "), "{said}");
    let plot = folder.read("results/small-traffic.arrivals.rate-0.01-latency-p99-comparison.svg");
    assert!(plot.contains("\nDifference from the best percentile (µs)\n"), "{plot}");
    let swept = ["--set", "algorithm=dual-path", "--set", "sweep.engine=[\"flit\", \"worm\"]"];
    let engines = json(&folder, &[&["small.toml", "--set", "traffic.arrivals.rate=0.01"], &swept[..]].concat());
    assert_eq!((engines["key"].as_str(), engines["points"][0]["best"].is_null()), (Some("engine"), true));
    assert_eq!(engines["points"][0]["standings"][1]["difference"]["mean"], 0.0, "they agree");
}

#[test]
fn what_is_not_swept_is_not_compared() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let refused = |arguments: &[&str], expected: &[&str]| {
        let said = folder.run(&[&["compare"], arguments].concat());
        assert!(
            said.code == 2 && expected.iter().all(|text| said.stderr.contains(text)),
            "{arguments:?}: {}",
            said.stderr
        );
    };
    refused(
        &["dual-path", "colum-path", "small.toml"],
        &["`colum-path` is no value of `algorithm` in this sweep", "did you mean `column-path`?"],
    );
    refused(&["dual-path", "dual-path", "small.toml"], &["compared with itself"]);
    refused(
        &["a", "b", "small.toml", "--set", "algorithm=dual-path"],
        &["`algorithm` is not swept", "sweep.algorithm="],
    );
    refused(&["small.toml", "dual-path"], &["`small.toml` is not the last argument"]);
    refused(&["dual-path", "smal.toml"], &["cannot read the experiment file"]);
    refused(
        &["small.toml", "--set", "sweep.algorithm=[\"dual-path\"]"],
        &["`dual-path` is the only value of `algorithm`"],
    );
    refused(&["dual-path", "column-path", "small.toml", "--y", "link_utilisation"], &["compare something else"]);
    refused(&["a", "b", "small.toml", "--y", "latency.lst"], &["did you mean `latency.last`?"]);
    refused(
        &["small.toml", "--y", "latency.unicast"],
        &["`latency.unicast` is not measured in this experiment: expected one of latency.last, latency.mean, "],
    );
    refused(&["small.toml", "--y", "plan.steps"], &["`plan.steps` is not measured"]);
    refused(
        &["small.toml", "--y", "latency.last", "--set", "run.mode=plan"],
        &["`latency.last` is not measured in this experiment: expected one of plan.steps, plan.startups, "],
    );
}

#[test]
fn a_comparison_warns_of_worms_that_can_deadlock() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let one =
        ["compare", "small.toml", "--set", "switching.consumption_ports=1", "--set", "traffic.arrivals.rate=0.01"];
    let said = folder.run(&one).stderr;
    assert!(said.contains("warning: the static analysis finds that worms of `dual-path` can deadlock here"), "{said}");
}

/// It is below one that grows without bound, however few runs there are.
#[test]
fn a_percentile_without_an_interval_is_below_a_saturated_one() {
    let text = SMALL.replace(
        "[stop]\nmin_replications = 5\nmax_replications = 5",
        "[stop]\nmin_replications = 3\nmax_replications = 3",
    );
    let text =
        text.replace("[0.01, 0.05, 4.0]", "[0.05]").replace("\"dual-path\", \"column-path\", ", "\"dual-path\", ");
    let slow = "[with.minimal-negative-first]\ntiming.startup = 20000\n";
    let claim = "[[claim]]\nid = \"tail\"\ntext = \"a lower tail\"\ny = \"latency.p99\"\norder = { lower = [\"dual-path\"], higher = [\"minimal-negative-first\"] }\n";
    let folder = Folder::with(&[("small.toml", &format!("{text}{slow}{claim}"))]);
    let said = folder.run(&["sweep", "small.toml"]).success();
    let claims: serde_json::Value = serde_json::from_str(&folder.read("results/small.claims.json")).unwrap();
    assert_eq!(claims[0]["evidence"][0]["comparisons"][0]["finding"], "holds", "{said}");
}

#[test]
fn percentiles_without_an_interval_are_open_until_there_are_more_runs() {
    let text = SMALL.replace(
        "[stop]\nmin_replications = 5\nmax_replications = 5",
        "[stop]\nmin_replications = 3\nmax_replications = 3",
    );
    let text =
        text.replace("[0.01, 0.05, 4.0]", "[0.01]").replace("\"dual-path\", \"column-path\", ", "\"dual-path\", ");
    let claim = "[[claim]]\nid = \"tail\"\ntext = \"a lower tail\"\ny = \"latency.p99\"\norder = { lower = [\"dual-path\"], higher = [\"minimal-negative-first\"] }\n";
    let folder = Folder::with(&[("small.toml", &format!("{text}{claim}"))]);
    let arguments = ["small.toml", "--y", "latency.p99"];
    let few = json(&folder, &arguments);
    assert_eq!(few["points"][0]["best"], serde_json::Value::Null, "{few}");
    let said = folder.run(&["sweep", "small.toml"]).success();
    assert!(said.contains("no interval (too few replications) at 1"), "{said}");
    assert!(said.contains("To settle it takes more replications where a percentile has no interval."), "{said}");
    assert_eq!(folder.run(&["sweep", "small.toml"]).success(), said);
    let claims: serde_json::Value = serde_json::from_str(&folder.read("results/small.claims.json")).unwrap();
    assert_eq!(claims[0]["evidence"][0]["comparisons"][0]["finding"], "no-interval");
    // A budget that does not suffice ends the search, and says so.
    let little = json(&folder, &[&arguments[..], &["--until-decided", "1"]].concat());
    assert_eq!(little["points"][0]["best"], serde_json::Value::Null, "{little}");
    assert_eq!(little["until_decided"]["done"], false, "{little}");
    let more = json(&folder, &[&arguments[..], &["--until-decided", "100"]].concat());
    assert!(more["points"][0]["best"].is_string(), "{more}");
    let names = folder.files("results");
    assert!(names.contains(&"small-latency-p99-comparison.svg".to_owned()), "{names:?}");
}
