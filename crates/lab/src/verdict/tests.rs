//! Claims on made-up results: those for which they hold, and those for which they must not.

use proptest::prelude::*;

use super::evidence::{Evidence, Pending};
use super::*;
use crate::experiment::document::Override;
use crate::runs::stopping::Outcome;
use crate::synthetic::run;

const SWEEP: &str = r#"
topology = "mesh:4x4"
traffic.arrivals = { process = "burst", sources = 1 }
plot.unit = "cycles"
[sweep]
algorithm = ["a", "b"]
"traffic.multicast.destinations" = [1, 2, 3, 4]
[[claim]]
id = "c"
text = "t"
"#;

/// The verdict on a claim if the latency is `latency(series, x)` with noise of this size, half of it the same in all series.
fn judged(test: &str, noise: f64, latency: impl Fn(&str, f64) -> Option<f64>) -> Part {
    judged_with(&[], test, noise, latency)
}

/// The same where settings are given by `--set`.
fn judged_with(sets: &[&str], test: &str, noise: f64, latency: impl Fn(&str, f64) -> Option<f64>) -> Part {
    let sets: Vec<_> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let experiment = Experiment::parse("x.toml", &format!("{SWEEP}{test}\n"), &sets).unwrap();
    let points = experiment.points().unwrap();
    let runs: Vec<PointRuns> = points
        .iter()
        .map(|point| {
            let x = experiment.value_at(point, "traffic.multicast.destinations").unwrap().value.as_f64().unwrap();
            let Some(latency) = latency(&point.spec.algorithm, x) else {
                return PointRuns::new(Outcome::Saturated, vec![run(1.0); 40]);
            };
            let own = |i: u32| f64::from((i * 7 + point.index as u32 * 3) % 5) - 2.0;
            let common = |i: u32| f64::from(i * 11 % 7) - 3.0;
            let runs = (0..40).map(|i| run(latency + noise * (own(i) + common(i)))).collect();
            PointRuns::new(Outcome::Precise, runs)
        })
        .collect();
    let mut verdicts = verdicts(&experiment, &points, &runs);
    assert_eq!((verdicts.len(), verdicts[0].evidence.len()), (1, 1));
    assert_eq!(verdicts[0].verdict, verdicts[0].evidence[0].verdict);
    verdicts.remove(0).evidence.remove(0)
}

/// 100 at first, rising by 10; `b` is higher by `gap`.
fn parallel(gap: f64) -> impl Fn(&str, f64) -> Option<f64> {
    move |series, x| Some(100.0 + 10.0 * x + if series == "b" { gap } else { 0.0 })
}

const ORDER: &str = "order = { lower = ['a'], higher = ['b'] }";

/// The value that it has instead is then the only one: what is claimed of others says nothing about it.
#[test]
fn a_setting_that_is_taken_out_of_the_sweep_has_one_value() {
    const AXIS: &str = "traffic.multicast.destinations";
    let at = |x: u32, test: &str| judged_with(&[&format!("{AXIS}={x}")], test, 0.1, parallel(10.0));
    let values = "values = { of = { a = [110, 500, 130, 140] }, tolerance = 1 }";
    for (x, expected) in [
        (1, Verdict::Reproduced),
        (2, Verdict::NotReproduced),
        (3, Verdict::Reproduced),
        // None of those that the file sweeps.
        (7, Verdict::Inconclusive),
    ] {
        assert_eq!(at(x, values).verdict, expected, "{x}");
    }
    assert_eq!(at(4, values).comparisons[0].at, "4");
    assert!(at(4, values).because.ends_with(" at 4"));
    let restricted = [
        format!("from = 3\n{ORDER}"),
        format!("where = {{ '{AXIS}' = [3, 4] }}\n{ORDER}"),
        "from = 3\ngap = { series = ['a'], over = 'latency.mean', at_most = 1 }\ny = 'latency.last'".to_owned(),
    ];
    for test in &restricted {
        let (outside, inside) = (at(2, test), at(3, test));
        assert_eq!((outside.verdict, outside.comparisons.len()), (Verdict::Inconclusive, 0), "{test}");
        assert!(outside.because.starts_with("what the claim compares is not in this sweep"), "{}", outside.because);
        assert_eq!(inside.verdict, Verdict::Reproduced, "{test}");
    }
    // The series, too.
    let of_series =
        |series: &str, test: &str| judged_with(&[&format!("algorithm={series}")], test, 0.1, parallel(10.0)).verdict;
    assert_eq!(of_series("a", "values = { of = { a = [110, 120, 130, 140] }, tolerance = 1 }"), Verdict::Reproduced);
    assert_eq!(of_series("b", "values = { of = { a = [110, 120, 130, 140] }, tolerance = 1 }"), Verdict::Inconclusive);
    assert_eq!(of_series("a", ORDER), Verdict::Inconclusive);
    let falls = "where = { algorithm = ['b'] }\nfalls = { series = ['b'], by = 0.0 }";
    let falling = |_: &str, x: f64| Some(200.0 - 10.0 * x);
    assert_eq!(judged_with(&["algorithm=b"], falls, 0.1, falling).verdict, Verdict::Reproduced);
    assert_eq!(judged_with(&["algorithm=a"], falls, 0.1, falling).verdict, Verdict::Inconclusive);
}

/// A refined sweep has values between those for which something is claimed.
#[test]
fn values_that_refinement_adds_are_none_that_are_claimed() {
    let text = format!("{SWEEP}values = {{ of = {{ a = [110, 120, 140, 150] }}, tolerance = 1 }}\n");
    let experiment = Experiment::parse("x.toml", &text.replace("[1, 2, 3, 4]", "[1, 2, 4, 5]"), &[]).unwrap();
    let (refined, added) = experiment.with_value("traffic.multicast.destinations", 3.0).unwrap();
    assert_eq!((refined.points().unwrap().len(), added.to_bits()), (10, 3f64.to_bits()));
    let of = |experiment: &Experiment| {
        let points = experiment.points().unwrap();
        let latency = |point: &Point| 100.0 + 10.0 * point.coordinates[1].value.as_f64().unwrap();
        let runs = points.iter().map(|point| PointRuns::new(Outcome::Precise, vec![run(latency(point)); 40]));
        let part = &verdicts(experiment, &points, &runs.collect::<Vec<_>>())[0].evidence[0];
        (part.verdict, part.comparisons.iter().map(|one| one.at.clone()).collect::<Vec<_>>())
    };
    assert_eq!(of(&experiment).0, Verdict::Reproduced);
    assert_eq!(of(&refined), of(&experiment));
}

/// Few replications that happen to be equal do not say that all are, unless nothing in them is random or they rest on many messages.
#[test]
fn values_of_few_equal_replications_are_open() {
    let verdict = |replications: usize, messages: u32| {
        let test = "values = { of = { a = [110, 120, 130, 140] } }";
        let experiment = Experiment::parse("x.toml", &format!("{SWEEP}{test}\n"), &[]).unwrap();
        let points = experiment.points().unwrap();
        let of = |point: &Point| {
            let mut run = run(100.0 + 10.0 * point.coordinates[1].value.as_f64().unwrap());
            if let crate::runs::replication::Replication::Simulated(run) = &mut run {
                run.messages.measured = u64::from(messages);
            }
            PointRuns::new(Outcome::Precise, vec![run; replications])
        };
        let runs: Vec<PointRuns> = points.iter().map(of).collect();
        verdicts(&experiment, &points, &runs)[0].verdict
    };
    assert_eq!(verdict(3, 1), Verdict::Inconclusive);
    assert_eq!(verdict(3, 10), Verdict::Reproduced);
    assert_eq!(verdict(30, 1), Verdict::Reproduced);
}

/// Whatever is plotted, and whatever else is swept, claims are about what the file says.
#[test]
fn other_plots_and_sweeps_leave_claims_alone() {
    let values = "values = { of = { a = [110, 120, 130, 140] }, tolerance = 1 }";
    let buffers = "sweep.switching.buffer=[1, 3]";
    for sets in [
        &["plot.y=delivered_load"][..],
        &["plot.unit=us"],
        &[buffers, "plot.x=switching.buffer"],
        &[buffers, "plot.x=switching.buffer", "traffic.multicast.destinations=3"],
        &["sweep.traffic.multicast.destinations=[4, 2]"],
        &["sweep.algorithm=['a', 'c']"],
        &[buffers, "plot.series=switching.buffer"],
    ] {
        let part = judged_with(sets, values, 0.1, parallel(10.0));
        assert_eq!((part.verdict, &*part.unit), (Verdict::Reproduced, "cycles"), "{sets:?}: {}", part.because);
        let wrong = values.replace("130, 140", "13, 140").replace("120, 13,", "12, 13,");
        assert_eq!(judged_with(sets, &wrong, 0.1, parallel(10.0)).verdict, Verdict::NotReproduced, "{sets:?}");
    }
    let from = format!("from = 3\n{ORDER}");
    let cross = |series: &str, x: f64| parallel(if x < 3.0 { -10.0 } else { 10.0 })(series, x);
    for sets in [&[buffers, "plot.x=switching.buffer"][..], &["plot.y=link_utilisation"]] {
        let part = judged_with(sets, &from, 0.1, cross);
        assert_eq!(part.verdict, Verdict::Reproduced, "{sets:?}: {}", part.because);
        assert_eq!(part.quantity, Some(Quantity::named("latency.last").unwrap()));
    }
    // What is not run is not there to be judged.
    assert_eq!(judged_with(&["sweep.algorithm=['a', 'c']"], ORDER, 0.1, parallel(10.0)).verdict, Verdict::Inconclusive);
    // Claims that are given beside the file are about what is given beside it.
    let claim = "claim=[{id='d', text='d', from=30, order={lower=['a'], higher=['b']}}]";
    let sets = [claim, "sweep.traffic.multicast.destinations=[2, 30]"];
    assert_eq!(judged_with(&sets, ORDER, 0.1, parallel(10.0)).comparisons.len(), 1);
}

/// Each value belongs to its place also where `where` leaves others out, and in the order along the axis.
#[test]
fn values_belong_to_their_places() {
    let values = "values = { of = { a = [110, 120, 500, 140] }, tolerance = 1 }";
    let at = |places: &str| {
        judged(&format!("where = {{ 'traffic.multicast.destinations' = [{places}] }}\n{values}"), 0.1, parallel(10.0))
    };
    assert_eq!(at("2, 4").verdict, Verdict::Reproduced);
    assert_eq!(at("4").comparisons[0].against, "140");
    assert_eq!(at("3, 4").verdict, Verdict::NotReproduced);
}

#[test]
fn orders_that_hold_fail_or_stay_open() {
    assert_eq!(judged(ORDER, 0.1, parallel(10.0)).verdict, Verdict::Reproduced);
    let false_claim = judged(ORDER, 0.1, parallel(-10.0));
    assert_eq!(false_claim.verdict, Verdict::NotReproduced);
    assert!(
        false_claim.because.starts_with("a against b: holds at 0 of 4, fails at 4 (1, 2, 3, 4); difference +10.00 ± "),
        "{}",
        false_claim.because
    );
    assert_eq!(judged(ORDER, 10.0, parallel(1.0)).verdict, Verdict::Inconclusive);
    // Series that are the same everywhere are not lower.
    assert_eq!(judged(ORDER, 0.0, parallel(0.0)).verdict, Verdict::NotReproduced);
    // Equal in places is good enough.
    let meet = |series: &str, x: f64| parallel(if x < 2.0 { 0.0 } else { 5.0 })(series, x);
    assert_eq!(judged(ORDER, 0.0, meet).verdict, Verdict::Reproduced);
    // One point that is the other way round is enough to say no, unless the claim is about the average or other points.
    let cross = |series: &str, x: f64| parallel(if (1.5..2.5).contains(&x) { -5.0 } else { 10.0 })(series, x);
    assert_eq!(judged(ORDER, 0.1, cross).verdict, Verdict::NotReproduced);
    let average = "order = { lower = ['a'], higher = ['b'], scope = 'average' }";
    assert_eq!(judged(average, 0.1, cross).verdict, Verdict::Reproduced);
    assert_eq!(judged(&format!("from = 3\n{ORDER}"), 0.1, cross).verdict, Verdict::Reproduced);
}

#[test]
fn orders_by_a_share() {
    let test = |by: f64| format!("order = {{ lower = ['a'], higher = ['b'], by = {by} }}");
    let halves = |series: &str, _: f64| Some(if series == "b" { 100.0 } else { 80.0 });
    assert_eq!(judged(&test(0.1), 0.1, halves).verdict, Verdict::Reproduced);
    assert_eq!(judged(&test(0.3), 0.1, halves).verdict, Verdict::NotReproduced);
    assert_eq!(judged(&test(-0.1), 0.1, parallel(-1.0)).verdict, Verdict::Reproduced);
}

#[test]
fn staircases() {
    let steps = |series: &str, x: f64| Some(if series == "b" && x >= 3.0 { 200.0 } else { 100.0 + 25.0 * x });
    let test = "order = { lower = ['a'], higher = ['b'], rise = [[2, 3]] }";
    assert_eq!(judged(test, 0.1, steps).verdict, Verdict::Reproduced);
    let test = "order = { lower = ['a'], higher = ['b'], rise = [[2, 3], [3, 4]] }";
    assert_eq!(judged(test, 0.1, steps).verdict, Verdict::NotReproduced);
}

#[test]
fn falls_somewhere() {
    let test = "falls = { series = ['a'] }";
    let hill = |_: &str, x: f64| Some(if (2.5..3.5).contains(&x) { 150.0 } else { 100.0 + x });
    assert_eq!(judged(test, 0.1, hill).verdict, Verdict::Reproduced);
    assert_eq!(judged(test, 0.1, parallel(0.0)).verdict, Verdict::NotReproduced);
    assert_eq!(judged(test, 100.0, hill).verdict, Verdict::Inconclusive);
    // What is saturated in the end, and only there, ends lower than nowhere.
    let saturated_from = |from: f64| move |series: &str, x: f64| parallel(0.0)(series, x).filter(|_| x < from);
    assert_eq!(judged(test, 0.1, saturated_from(3.5)).verdict, Verdict::NotReproduced);
    let part = judged(test, 0.1, saturated_from(2.5));
    assert_eq!(part.verdict, Verdict::Inconclusive);
    assert!(part.because.ends_with("one is missing, or both are saturated."), "{}", part.because);
}

#[test]
fn values() {
    let exact = |series: &str, x: f64| Some(if series == "a" { x } else { 9.0 });
    assert_eq!(judged("values = { of = { a = [1, 2, nan, 4] } }", 0.0, exact).verdict, Verdict::Reproduced);
    let part = judged("values = { of = { a = [1, 2, 3, 5], b = [9, 9, 9, 9] } }", 0.0, exact);
    assert_eq!(part.verdict, Verdict::NotReproduced);
    assert_eq!(part.comparisons.iter().filter(|c| c.finding == Finding::Fails).count(), 1);
    assert_eq!(judged("values = { of = { a = [1, 2, 3, 4] } }", 0.1, exact).verdict, Verdict::Inconclusive);
}

#[test]
fn saturation_is_latency_without_bound() {
    let saturates = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| series == "a" || x < 4.0);
    assert_eq!(judged(ORDER, 0.1, saturates).verdict, Verdict::Reproduced);
    let saturates = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| series == "b" || x < 4.0);
    assert_eq!(judged(ORDER, 0.1, saturates).verdict, Verdict::NotReproduced);
    let both = |series: &str, x: f64| parallel(10.0)(series, x).filter(|_| x < 4.0);
    let part = judged(ORDER, 0.1, both);
    assert_eq!(part.verdict, Verdict::Inconclusive);
    assert_eq!(part.comparisons[3].finding, Finding::Missing);
}

#[test]
fn with_more_comparisons_each_has_a_wider_interval() {
    let one = judged("to = 1\norder = { lower = ['a'], higher = ['b'] }", 1.0, parallel(0.0));
    let four = judged(ORDER, 1.0, parallel(0.0));
    assert!((one.confidence - 0.95).abs() < 1e-12 && (four.confidence - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
    let width = |part: &Part| part.comparisons[0].difference.unwrap().half_width.unwrap();
    assert!(width(&four) > width(&one));
}

/// Claims that are true of pure noise, 500 times: not reproduced no more often than the confidence allows.
#[test]
fn noise_seldom_contradicts_a_claim() {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let wrong = (0..500).filter(|_| {
        let differences: Vec<Evidence> =
            (0..4).map(|_| Evidence::Differences((0..20).map(|_| noise() + noise()).collect())).collect();
        let confidence = 1.0 - 0.05 / 4.0;
        differences.iter().any(|evidence| evidence.finding(confidence).1 == Finding::Fails)
    });
    // Half of the errors are on this side: 2.5% expected, 3.9% three standard deviations above.
    assert!(wrong.count() <= 23);
}

#[test]
fn a_few_equal_differences_settle_nothing() {
    let finding = |values: Vec<f64>| Evidence::Differences(values).finding(0.95).1;
    assert_eq!(finding(vec![-1.0; 4]), Finding::Open);
    assert_eq!(finding(vec![1.0; 4]), Finding::Open);
    assert_eq!(finding(vec![-1.0; 30]), Finding::Holds);
    assert_eq!(finding(vec![1.0; 30]), Finding::Fails);
}

#[test]
fn parts_of_one_claim_make_one_verdict() {
    let more = "order = { lower = ['a'], higher = ['b'] }\n[[claim]]\nid = 'c'\ntext = 'u'\norder = { lower = ['b'], higher = ['a'] }";
    let experiment = Experiment::parse("x.toml", &format!("{SWEEP}{more}\n"), &[]).unwrap();
    let points = experiment.points().unwrap();
    let latency = |point: &Point| if point.spec.algorithm == "a" { 1.0 } else { 2.0 };
    let runs = |point: &Point| PointRuns::new(Outcome::Precise, vec![run(latency(point)); 40]);
    let runs: Vec<PointRuns> = points.iter().map(runs).collect();
    let verdicts = verdicts(&experiment, &points, &runs);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0].verdict, Verdict::NotReproduced);
    assert_eq!(
        verdicts[0].evidence.iter().map(|p| p.verdict).collect::<Vec<_>>(),
        [Verdict::Reproduced, Verdict::NotReproduced]
    );
    let json = serde_json::to_value(&verdicts).unwrap();
    assert_eq!(json[0]["verdict"], "not reproduced");
}

#[test]
fn bad_claims_are_pointed_at() {
    for (test, at, message) in [
        ("", "\"c\"", "claim `c` needs a test"),
        (
            "order = { lower = ['a'], higher = ['b'] }\nfalls = { series = ['a'] }",
            "\"c\"",
            "claim `c` has 2 tests, `order` and `falls`: ",
        ),
        ("order = { lower = ['aa'], higher = ['b'] }", "['aa']", "`aa` is no value of `algorithm` in this sweep"),
        ("order = { lower = [], higher = ['b'] }", "[]", "expected at least one series"),
        ("order = { lower = ['a'], higher = ['b'], by = 2 }", "2", "expected a share below 1"),
        (
            "order = { lower = ['a'], higher = ['b'], rise = [[1, 9]] }",
            "[[1, 9]]",
            "9 is no value of `traffic.multicast.destinations`",
        ),
        ("from = 7\nfalls = { series = ['a'] }", "7", "no value of `traffic.multicast.destinations` lies in the range"),
        (
            "values = { of = { a = [1] } }",
            "[1]",
            "expected 4 values, one for each of `traffic.multicast.destinations`, and found 1",
        ),
        (
            "values = { of = { a = [1, 2, 3, 4] }, tolerance = -1 }",
            "-1",
            "expected a finite number that is not negative",
        ),
        ("oder = 1", "oder", "unknown setting `oder`"),
    ] {
        let error = Experiment::parse("x.toml", &format!("{SWEEP}{test}\n"), &[]).expect_err(test);
        assert_eq!(error.span_text(), Some(at), "{test}: {error}");
        assert!(error.message().starts_with(message), "{error}");
    }
}

const LOADS: &str = r#"
topology = "mesh:4x4"
traffic.arrivals = { process = "poisson", load = 0.1 }
traffic.multicast.destinations = 2
[sweep]
algorithm = ["a", "b"]
"switching.buffer" = [1, 2]
"traffic.arrivals.load" = [0.2, 0.4, 0.6, 0.8]
[plot]
x = "traffic.arrivals.load"
[[claim]]
id = "c"
text = "t"
"#;

/// The verdict if of a thousand messages so many are not completed in the windows of `runs` runs, by series, buffer and load; the
/// mean over destinations is 100 cycles, and the latency to the last is more by `gap`.
fn with_backlogs(test: &str, backlog: impl Fn(&str, u64, f64) -> [u64; 4], gap: impl Fn(&str, f64) -> f64) -> Part {
    let text = format!("{LOADS}{test}\n");
    let experiment = Experiment::parse("x.toml", &text, &[]).unwrap();
    let points = experiment.points().unwrap();
    let runs: Vec<PointRuns> = points
        .iter()
        .map(|point| {
            let (buffer, load) = (&point.coordinates[1].value, point.coordinates[2].value.as_f64().unwrap());
            let backlogs = backlog(&point.spec.algorithm, buffer.as_u64().unwrap(), load);
            let runs: Vec<_> = (0..12)
                .map(|i| {
                    let noise = 0.01 * ((i * 7 + point.index) % 5) as f64 - 0.02;
                    let mut run = run(100.0 * (1.0 + gap(&point.spec.algorithm, load) + noise));
                    let in_time = run.in_time();
                    in_time.latency.mean.mean = Some(100.0);
                    in_time.window.delivered = in_time.window.offered - 10 * backlogs[i % 4];
                    run
                })
                .collect();
            let saturated = backlogs.iter().sum::<u64>() > 4 * 30;
            PointRuns::new(if saturated { Outcome::Saturated } else { Outcome::Precise }, runs)
        })
        .collect();
    verdicts(&experiment, &points, &runs).remove(0).evidence.remove(0)
}

/// `a` saturates between 0.4 and 0.6, `b` between 0.6 and 0.8, if the buffer is 1; with 2, neither does before 0.8.
fn plain(series: &str, buffer: u64, load: f64) -> [u64; 4] {
    let limit = if series == "a" { 0.5 } else { 0.7 };
    if buffer == 1 && load > limit { [80, 90, 100, 110] } else { [0, 3, 1, 2] }
}

fn saturation(test: &str) -> Part {
    with_backlogs(test, plain, |_, _| 0.0)
}

#[test]
fn series_saturate_before_and_after() {
    let one = "where = { \"switching.buffer\" = [1] }\n";
    for (test, verdict) in [
        ("saturates = { series = ['a'], before = 0.6 }", Verdict::Reproduced),
        ("saturates = { series = ['a'], after = 0.4 }", Verdict::Reproduced),
        ("saturates = { series = ['a'], after = 0.4, before = 0.6 }", Verdict::Reproduced),
        ("saturates = { series = ['a'], before = 0.5 }", Verdict::Inconclusive),
        ("saturates = { series = ['a'], after = 0.4, before = 0.5 }", Verdict::Inconclusive),
        ("saturates = { series = ['a'], before = 0.4 }", Verdict::NotReproduced),
        ("saturates = { series = ['a'], after = 0.6 }", Verdict::NotReproduced),
        ("saturates = { series = ['a', 'b'], before = 0.6 }", Verdict::NotReproduced),
        ("saturates = { series = ['a', 'b'], before = 0.8 }", Verdict::Reproduced),
    ] {
        assert_eq!(saturation(&format!("{one}{test}")).verdict, verdict, "{test}");
    }
    let part = saturation("saturates = { series = ['a'], before = 0.6 }");
    assert_eq!(part.verdict, Verdict::NotReproduced);
    assert_eq!(
        part.because,
        "a (buffer 1) saturates between 0.4 and 0.6; before 0.6: holds\na (buffer 2) saturates after 0.8; before 0.6: fails"
    );
    assert_eq!((part.quantity, part.unit.as_str(), part.confidence), (None, "", 0.975));
    assert_eq!(part.comparisons[0].saturation, Some(Bracket { stable: Some(0.4), saturated: Some(0.6) }));
    assert_eq!(part.comparisons[1].saturation, Some(Bracket { stable: Some(0.8), saturated: None }));
}

#[test]
fn series_outlast_others() {
    let one = "where = { \"switching.buffer\" = [1] }\n";
    for (test, verdict) in [
        // 0.6 to 0.8 against 0.4 to 0.6: a factor of 1 to 2.
        ("outlasts = { later = ['b'], earlier = ['a'] }", Verdict::Reproduced),
        ("outlasts = { later = ['b'], earlier = ['a'], at_most = 2 }", Verdict::Reproduced),
        ("outlasts = { later = ['b'], earlier = ['a'], at_most = 1.5 }", Verdict::Inconclusive),
        ("outlasts = { later = ['b'], earlier = ['a'], at_least = 1.1 }", Verdict::Inconclusive),
        ("outlasts = { later = ['b'], earlier = ['a'], at_least = 2 }", Verdict::NotReproduced),
        ("outlasts = { later = ['a'], earlier = ['b'] }", Verdict::NotReproduced),
        // Buffers as series: 2 lasts beyond the sweep.
        (
            "series = ['algorithm', 'switching.buffer']\noutlasts = { later = ['a, 2'], earlier = ['b, 1'], at_least = 0.9 }",
            Verdict::Reproduced,
        ),
    ] {
        let test = if test.starts_with("series") { test.to_owned() } else { format!("{one}{test}") };
        assert_eq!(saturation(&test).verdict, verdict, "{test}");
    }
    // With large buffers it is open: one of the settings is enough if the claim says so.
    let part = saturation("outlasts = { later = ['b'], earlier = ['a'] }");
    assert_eq!(part.verdict, Verdict::Inconclusive);
    assert_eq!(
        part.because,
        "b (buffer 1) saturates between 0.6 and 0.8, a between 0.4 and 0.6, a factor of 1 to 2: holds\n\
         b (buffer 2) saturates after 0.8, a after 0.8, a factor of 0 or more: open\n\
         To settle it takes more loads, or more replications, after 0.8."
    );
    let somewhere = "outlasts = { later = ['b'], earlier = ['a'], scope = 'somewhere' }";
    assert_eq!(saturation(somewhere).verdict, Verdict::Reproduced);
}

/// A backlog that may be above or below the limit leaves the bracket wide; one that is not the same way round everywhere, too.
#[test]
fn brackets_are_as_wide_as_the_noise() {
    let noisy = |_: &str, _: u64, load: f64| match load {
        x if x < 0.3 => [0, 1, 2, 3],
        x if x < 0.7 => [0, 40, 10, 30],
        _ => [90, 100, 90, 100],
    };
    let part = with_backlogs("saturates = { series = ['a'], before = 0.8, after = 0.2 }", noisy, |_, _| 0.0);
    assert_eq!(part.comparisons[0].saturation, Some(Bracket { stable: Some(0.2), saturated: Some(0.8) }));
    // What the sweep calls saturated is, if it is certain that more than half a percent is missing in windows that are long.
    let called = |_: &str, _: u64, load: f64| match load {
        x if x < 0.3 => [0, 1, 2, 3],
        x if x < 0.7 => [10, 60, 20, 35],
        _ => [90, 100, 90, 100],
    };
    let part = with_backlogs("saturates = { series = ['a'], before = 0.8, after = 0.2 }", called, |_, _| 0.0);
    assert_eq!(part.comparisons[0].saturation, Some(Bracket { stable: Some(0.2), saturated: Some(0.4) }));
    let island = |_: &str, _: u64, load: f64| if (0.3..0.5).contains(&load) { [90, 95, 99, 100] } else { [0, 1, 2, 3] };
    let part = with_backlogs("saturates = { series = ['a'], after = 0.6 }", island, |_, _| 0.0);
    assert_eq!(part.comparisons[0].saturation, Some(Bracket { stable: Some(0.2), saturated: None }));
    assert_eq!(part.verdict, Verdict::Inconclusive);
}

#[test]
fn gaps_between_two_quantities() {
    // 0 at low loads, 0.55 at 0.6 for `a`; always 0.4 for `b`. Saturated from 0.8 on, which claims leave out.
    let gap = |series: &str, load: f64| {
        if series == "b" {
            0.4
        } else if load > 0.5 {
            0.55
        } else {
            0.0
        }
    };
    let saturated = |_: &str, _: u64, load: f64| if load > 0.7 { [90, 95, 99, 100] } else { [0, 1, 2, 3] };
    let judged = |test: &str| with_backlogs(&format!("gap = {{ over = 'latency.mean', {test} }}"), saturated, gap);
    for (test, verdict) in [
        ("series = ['a'], at_most = 0.6", Verdict::Reproduced),
        ("series = ['a', 'b'], at_most = 0.6", Verdict::Reproduced),
        ("series = ['a'], at_least = 0.5", Verdict::NotReproduced),
        ("series = ['a'], at_least = 0.5, at_most = 0.6, scope = 'somewhere'", Verdict::Reproduced),
        ("series = ['b'], at_least = 0.5, at_most = 0.6, scope = 'somewhere'", Verdict::NotReproduced),
        ("series = ['b'], at_least = 0.3", Verdict::Reproduced),
        ("series = ['b'], at_most = 0.4", Verdict::Inconclusive),
        ("series = ['b'], at_least = 0.4, scope = 'somewhere'", Verdict::Inconclusive),
        ("series = ['a'], at_least = 0.15, at_most = 0.2, scope = 'average'", Verdict::Reproduced),
        ("series = ['a'], at_least = 0.2, scope = 'average'", Verdict::NotReproduced),
    ] {
        assert_eq!(judged(test).verdict, verdict, "{test}");
    }
    // The share of `a` is the smaller one, but for the last load.
    for (to, verdict) in [(0.4, Verdict::Reproduced), (0.6, Verdict::NotReproduced)] {
        let test = format!("to = {to}\norder = {{ lower = ['a'], higher = ['b'], over = 'latency.mean' }}");
        assert_eq!(with_backlogs(&test, saturated, gap).verdict, verdict, "{to}");
    }
    // Of a saturated point there is no share, whoever is saturated.
    for who in ["a", "b"] {
        let alone = |series: &str, _: u64, load: f64| {
            if series == who && load > 0.7 { [90, 95, 99, 100] } else { [0, 1, 2, 3] }
        };
        let test = "from = 0.7\norder = { lower = ['a'], higher = ['b'], over = 'latency.mean' }";
        let part = with_backlogs(test, alone, |_, _| 0.0);
        assert_eq!(part.verdict, Verdict::Inconclusive, "{who}");
        assert!(part.because.ends_with("nothing to compare: one is missing or saturated."), "{}", part.because);
    }
    let part = judged("series = ['b'], at_least = 0.3");
    assert_eq!((part.unit.as_str(), part.comparisons.len()), ("", 6));
    assert!(
        part.because.starts_with("b (buffer 1) against latency.mean: holds at 3 of 3; difference +39."),
        "{}",
        part.because
    );
    assert!(part.because.contains(" % at 0."), "{}", part.because);
}

#[test]
fn orders_that_hold_somewhere() {
    let test = "order = { lower = ['a'], higher = ['b'], scope = 'somewhere' }";
    let cross = |series: &str, x: f64| parallel(if (1.5..2.5).contains(&x) { 10.0 } else { -10.0 })(series, x);
    assert_eq!(judged(test, 0.1, cross).verdict, Verdict::Reproduced);
    assert_eq!(judged(test, 0.1, parallel(-10.0)).verdict, Verdict::NotReproduced);
    assert_eq!(judged(test, 0.1, parallel(0.0)).verdict, Verdict::Inconclusive);
}

proptest! {
    /// Whatever the loads at which two series saturate, brackets have them inside, and no verdict says what is wrong.
    #[test]
    fn saturation_is_never_misjudged(a in 0.0f64..1.0, b in 0.0f64..1.0, factor in 0.3f64..3.0, noise in 0u64..12) {
        let limit = |series: &str| if series == "a" { a } else { b };
        let backlog = move |series: &str, _: u64, load: f64| {
            let mean = if load > limit(series) { 40 } else { 3 };
            [mean + noise, mean, mean + noise / 2, mean]
        };
        let at_least = format!("outlasts = {{ later = ['a'], earlier = ['b'], at_least = {factor} }}");
        let part = with_backlogs(&at_least, backlog, |_, _| 0.0);
        let Comparison { saturation: Some(of_a), against_saturation: Some(of_b), .. } = part.comparisons[0] else { panic!() };
        for (bracket, limit) in [(of_a, a), (of_b, b)] {
            prop_assert!(bracket.stable.is_none_or(|stable| stable <= limit));
            prop_assert!(bracket.saturated.is_none_or(|saturated| saturated > limit));
        }
        match part.verdict {
            Verdict::Reproduced => prop_assert!(a >= factor * b),
            Verdict::NotReproduced => prop_assert!(a <= factor * b),
            Verdict::Inconclusive => {}
        }
        let x = 0.2 * (1.0 + (factor * 10.0) % 4.0).floor();
        let before = with_backlogs(&format!("saturates = {{ series = ['a'], before = {x} }}"), backlog, |_, _| 0.0);
        let after = with_backlogs(&format!("saturates = {{ series = ['a'], after = {x} }}"), backlog, |_, _| 0.0);
        match before.verdict {
            Verdict::Reproduced => prop_assert!(a < x && after.verdict == Verdict::NotReproduced),
            Verdict::NotReproduced => prop_assert!(a >= x - 1e-9 && after.verdict == Verdict::Reproduced),
            Verdict::Inconclusive => prop_assert_eq!(after.verdict, Verdict::Inconclusive),
        }
    }
}

#[test]
fn bad_claims_about_saturation_and_gaps_are_pointed_at() {
    for (test, at, message) in [
        ("saturates = { series = ['a'] }", "saturates", "expected `before`, `after` or both"),
        ("saturates = { series = ['c'], before = 1 }", "['c']", "`c` is no value of `algorithm`"),
        (
            "y = 'latency.last'\nsaturates = { series = ['a'], before = 1 }",
            "'latency.last'",
            "a claim about saturation",
        ),
        ("outlasts = { later = ['a'], earlier = ['b'], at_least = 0 }", "0", "expected a factor above 0"),
        ("outlasts = { later = ['a'], earlier = ['b'], at_most = 0.5 }", "0.5", "expected a factor of at least"),
        ("outlasts = { later = ['a'], earlier = ['b'], scope = 'average' }", "'average'", "a series saturates once"),
        ("gap = { series = ['a'], over = 'latency.mean' }", "gap", "expected `at_least`"),
        (
            "order = { lower = ['a'], higher = ['b'], rise = [[0.2, 0.2]] }",
            "[[0.2, 0.2]]",
            "nothing rises from a value",
        ),
        ("order = { lower = ['a'], higher = ['b'], rise = [] }", "[]", "expected at least one pair"),
        ("falls = { series = ['a', 'b', 'a'] }", "'a'", "`a` is listed twice"),
        ("series = []\nfalls = { series = ['a'] }", "[]", "expected at least one swept setting"),
        ("from = 0.7\nfalls = { series = ['a'] }", "0.7", "one value of `traffic.arrivals.load` is left"),
        (
            "where = { 'traffic.arrivals.load' = [0.2] }\nfalls = { series = ['a'] }",
            "where",
            "one value of `traffic.arrivals.load` is left",
        ),
        (
            "to = 0.3\nwhere = { 'traffic.arrivals.load' = [0.8] }\nfalls = { series = ['a'] }",
            "where",
            "no value of `traffic.arrivals.load` of these",
        ),
        ("where = { algorithm = ['b'] }\nfalls = { series = ['a'] }", "['a']", "`where` leaves out `a`"),
        (
            "where = { algorithm = [] }\nfalls = { series = ['a'] }",
            "where",
            "expected at least one value of `algorithm`",
        ),
        (
            "where = { 'switching.bufer' = [1] }\nsaturates = { series = ['a'], before = 1 }",
            "where",
            "`switching.bufer` is not swept",
        ),
        (
            "where = { 'switching.buffer' = [3] }\nsaturates = { series = ['a'], before = 1 }",
            "where",
            "3 is no value of `switching.buffer` in this sweep: expected one of 1, 2",
        ),
        (
            "series = ['algorithm', 'switching.buffer']\nsaturates = { series = ['a'], before = 1 }",
            "['a']",
            "`a` is no value of `algorithm` and `switching.buffer` in this sweep: expected one of `a, 1`, `a, 2`, `b, 1`, `b, 2`",
        ),
        (
            "series = ['routing']\nsaturates = { series = ['a'], before = 1 }",
            "['routing']",
            "a claim compares series, and `routing` is not swept",
        ),
    ] {
        let text = format!("{LOADS}{test}\n");
        let error = Experiment::parse("x.toml", &text, &[]).expect_err(test);
        assert_eq!(error.span_text(), Some(at), "{test}: {error}");
        assert!(error.message().starts_with(message), "{error}");
    }
}

/// What an open comparison asks for is enough, and half of it is not.
#[test]
fn as_many_replications_as_it_takes_settle_a_comparison() {
    let values = |count: u64| -> Vec<f64> {
        // Of mean -1 over each 35, and a variance of some 6.
        (0..count).map(|i| (i * 7 % 5) as f64 - 3.0 + (i * 11 % 7) as f64 - 3.0).collect()
    };
    let comparison = |count| {
        let (series, against, at) = (String::new(), String::new(), String::new());
        Pending { series, against, at, evidence: Evidence::Differences(values(count)) }.answer(0.999_9)
    };
    let open = comparison(70);
    assert_eq!(open.finding, Finding::Open);
    let needed = open.replications.unwrap();
    assert!((71..140).contains(&needed), "{needed}");
    assert_eq!(comparison(needed.next_multiple_of(35)).finding, Finding::Holds);
    assert_eq!(comparison(needed / 70 * 35).finding, Finding::Open);
    assert!(comparison(needed.next_multiple_of(35)).replications.is_none(), "only what is open asks");

    let unsure = judged(ORDER, 10.0, parallel(1.0));
    let last = unsure.because.lines().last().unwrap();
    assert!(last.starts_with("To settle it takes about ") && last.ends_with(" replications a point."), "{last}");
    let saturated = |series: &str, x: f64| parallel(5.0)(series, x).filter(|_| x < 2.5);
    let both = judged(ORDER, 0.1, saturated);
    assert!(both.because.ends_with("one is missing, or both are saturated."), "{}", both.because);
    assert!(!judged(ORDER, 0.1, parallel(10.0)).because.contains("settle"));
}

#[test]
fn words_of_the_source_are_carried_and_shown() {
    let words = "quote = 'A is faster.'\nsection = 'Section 4'\nours = 'by how much'\n";
    let part = judged(&format!("{words}{ORDER}"), 0.1, parallel(10.0));
    let json = serde_json::to_string(&part).unwrap();
    let start =
        r#"{"text":"t","quote":"A is faster.","section":"Section 4","ours":"by how much","verdict":"reproduced","#;
    assert!(json.starts_with(start), "{json}");
    assert_eq!(serde_json::from_str::<Part>(&json).unwrap().wording, part.wording);
    assert_eq!(part.wording.quoted().unwrap(), "“A is faster.” (Section 4)");
    assert_eq!(part.wording.reading().unwrap(), "Our reading: by how much.");
    let bare = judged(ORDER, 0.1, parallel(10.0));
    let json = serde_json::to_string(&bare).unwrap();
    assert!(json.starts_with(r#"{"text":"t","verdict":"reproduced","#), "{json}");
    for (words, said) in [
        ("quote = ' '", "11:9: this is empty: expected a sentence"),
        ("section = 'Section 4'", "11:11: expected the place of a `quote`"),
        ("quote = 'A.'\nsection = ''", "12:11: expected the place of a `quote`"),
        ("ours = ''", "11:8: this is empty: expected what in the test"),
    ] {
        let message = Experiment::parse("x.toml", &format!("{SWEEP}{words}\n{ORDER}\n"), &[]).unwrap_err().to_string();
        assert!(message.starts_with(&format!("x.toml:{said}")), "{message}");
    }
}
