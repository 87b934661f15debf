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

#[test]
fn two_series_are_compared_point_by_point() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let run = |a: &str, b: &str| {
        let said = folder.run(&["compare", a, b, "small.toml", "--format", "json"]).success();
        serde_json::from_str::<serde_json::Value>(&said).unwrap()
    };
    let forwards = run("dual-path", "column-path");
    assert_eq!((forwards["quantity"].as_str(), forwards["unit"].as_str()), (Some("latency.last"), Some("us")));
    let points = forwards["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|p| p["at"].as_str().unwrap()).collect::<Vec<_>>(), ["0.01", "0.05", "4.0"]);
    assert_eq!(points[0]["better"], "dual-path");
    assert!(points[0]["difference"]["mean"].as_f64().unwrap() < 0.0);
    assert_eq!(points[0]["difference"]["count"], 5);
    assert!(points[2]["difference"].is_null(), "both are saturated");
    // The other way round everything is the other way round.
    let backwards = run("column-path", "dual-path");
    for (one, other) in points.iter().zip(backwards["points"].as_array().unwrap()) {
        assert_eq!(one["better"], other["better"]);
        let mean = |point: &serde_json::Value| point["difference"]["mean"].as_f64();
        assert_eq!(mean(one).map(|mean| -mean), mean(other));
    }
    // The sweep has run only what was compared; the store answers.
    let text = folder.run(&["compare", "dual-path", "column-path", "small.toml"]).success();
    assert!(text.starts_with("dual-path against column-path: latency.last, "), "{text}");
    assert!(text.lines().last().unwrap().contains("of 3 points"), "{text}");
    // Where more is better, the higher one is.
    let loads = folder.run(&["compare", "dual-path", "column-path", "small.toml", "--y", "delivered_load"]).success();
    assert!(loads.starts_with("dual-path against column-path: delivered_load"), "{loads}");
}

#[test]
fn what_is_not_swept_is_not_compared() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let unknown = folder.run(&["compare", "dual-path", "colum-path", "small.toml"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("`colum-path` is no value of `algorithm` in this sweep"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("did you mean `column-path`?"), "{}", unknown.stderr);
    let same = folder.run(&["compare", "dual-path", "dual-path", "small.toml"]);
    assert!(same.code == 2 && same.stderr.contains("compared with itself"), "{}", same.stderr);
    let alone = folder.run(&["compare", "a", "b", "small.toml", "--set", "algorithm=dual-path"]);
    assert!(alone.code == 2 && alone.stderr.contains("`algorithm` is not swept"), "{}", alone.stderr);
    let neither = folder.run(&["compare", "dual-path", "column-path", "small.toml", "--y", "link_utilisation"]);
    assert!(neither.code == 2 && neither.stderr.contains("compare something else"), "{}", neither.stderr);
    let quantity = folder.run(&["compare", "a", "b", "small.toml", "--y", "latency.lst"]);
    assert!(quantity.code == 2 && quantity.stderr.contains("did you mean `latency.last`?"), "{}", quantity.stderr);
}
