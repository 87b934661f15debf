//! Rankings of made-up results, of which the truth is known.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ranking::crossings;
use super::*;
use crate::plot::{Plot, PlotError, plot_comparison};
use crate::statistics::{sample_variance, t_quantile};
use crate::synthetic::run;

fn values(values: &[f64]) -> At {
    At::Values { values: values.iter().copied().map(Some).collect(), settled: true, doubled: 0, estimate: None }
}

/// Values around a mean, with the same noise in all series and some of their own.
fn around(mean: f64, own: usize) -> At {
    values(
        &(0..10).map(|i| mean + [3.0, -2.0, 5.0, -6.0, 0.0][i % 5] + 0.1 * ((i * own) % 7) as f64).collect::<Vec<_>>(),
    )
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|series| format!("s{series}")).collect()
}

fn point(outcomes: Vec<At>, reference: Option<usize>, higher_is_better: bool) -> ComparedPoint {
    let series = names(outcomes.len());
    let field = Field { reference: reference.map(|at| series[at].clone()), series, sorted: reference.is_none() };
    Arena::new(outcomes, reference, higher_is_better, 0.99).point(&field, "", "1", 0.95)
}

#[test]
fn the_best_is_certain_if_all_others_are_worse() {
    let ranked = point(vec![around(105.0, 3), around(100.0, 2), around(120.0, 5)], None, false);
    assert_eq!((ranked.best.as_deref(), &ranked.contenders[..]), (Some("s1"), &["s1".to_owned()][..]));
    assert_eq!(
        ranked.standings.iter().map(|standing| standing.series.as_str()).collect::<Vec<_>>(),
        ["s1", "s0", "s2"]
    );
    assert_eq!(ranked.standings[0].difference, None);
    let second = &ranked.standings[1];
    assert_eq!(second.relation, Some(Relation::Worse));
    // The noise that they share is larger than their difference: only pairs tell them apart.
    assert!(second.value.unwrap().half_width.unwrap() > 2.5 && second.difference.unwrap().half_width.unwrap() < 0.5);
    assert!((second.difference.unwrap().mean - 5.0).abs() < 0.2);
    // Where more is better it is the other way round.
    let most = point(vec![around(105.0, 3), around(100.0, 2), around(120.0, 5)], None, true);
    assert_eq!(most.best.as_deref(), Some("s2"));
    assert_eq!(most.standings.iter().map(|standing| standing.series.as_str()).collect::<Vec<_>>(), ["s2", "s0", "s1"]);
}

/// Series whose windows were not doubled as often met other messages.
#[test]
fn pairs_of_other_messages_are_told_apart() {
    let longer = match around(120.0, 5) {
        At::Values { values, settled, estimate, .. } => At::Values { values, settled, doubled: 2, estimate },
        other => other,
    };
    let ranked = point(vec![around(100.0, 5), around(110.0, 5), longer], Some(0), false);
    let same: Vec<Option<bool>> = ranked.standings.iter().map(|standing| standing.same_messages).collect();
    assert_eq!(same, [None, Some(true), Some(false)]);
}

/// Percentiles of few runs have no interval: nothing is certain of them, whatever the values of single runs are like.
#[test]
fn what_has_no_interval_is_not_certainly_worse() {
    let percentile = |mean: f64| At::Values {
        values: vec![None; 4],
        settled: true,
        doubled: 0,
        estimate: Some(Estimate { mean, half_width: None, ends: None, count: 4 }),
    };
    let ranked = point(vec![percentile(9000.0), percentile(100.0), around(120.0, 5)], None, false);
    let names: Vec<&str> = ranked.standings.iter().map(|standing| standing.series.as_str()).collect();
    assert_eq!((ranked.best, ranked.contenders.len(), &names[..]), (None, 3, &["s1", "s2", "s0"][..]));
    for (standing, more) in ranked.standings[1..].iter().zip([20.0, 8900.0]) {
        let difference = standing.difference.unwrap();
        assert!((difference.mean - more).abs() < 2.0 && difference.half_width.is_none(), "{difference:?}");
        assert_eq!(standing.relation, None);
        assert_eq!(standing.open_because(), Some("no interval: it takes more runs"));
    }
}

#[test]
fn who_cannot_be_told_from_the_best_is_a_contender() {
    let noisy: Vec<f64> = (0..10).map(|i| 100.0 + if i % 2 == 0 { 10.0 } else { -9.0 }).collect();
    let ranked = point(vec![values(&noisy), around(100.0, 1), around(150.0, 2)], None, false);
    assert_eq!((ranked.best, ranked.contenders), (None, vec!["s0".to_owned(), "s1".to_owned()]));
    assert_eq!(ranked.standings[2].relation, Some(Relation::Worse));
    // Nobody is certain of one replication, nor of ten that happen to be equal.
    for few in [&[1.0][..], &[1.0; 10]] {
        let more: Vec<f64> = few.iter().map(|value| value + 1.0).collect();
        let ranked = point(vec![values(few), values(&more)], None, false);
        assert_eq!(ranked.best, None);
        let why = (few.len() > 1).then_some("equal differences are certain from 30 pairs on");
        assert_eq!(ranked.standings[1].open_because(), why);
    }
}

#[test]
fn saturation_deadlock_and_no_result_are_told_apart() {
    let states = |ranked: &ComparedPoint| ranked.standings.iter().map(|standing| standing.state).collect::<Vec<_>>();
    let ranked = point(vec![At::Saturated, around(100.0, 1), At::Deadlocked], None, false);
    assert_eq!(ranked.best.as_deref(), Some("s1"), "the only one that carries the load");
    assert_eq!(states(&ranked), [State::Measured, State::Saturated, State::Deadlocked]);
    assert_eq!(ranked.standings[1].relation, Some(Relation::Worse));
    let nobody = point(vec![At::Saturated, At::Saturated], None, false);
    assert_eq!((nobody.best.as_ref(), nobody.contenders.len(), nobody.reference.as_ref()), (None, 0, None));
    assert_eq!(nobody.all_fail(), Some("all are saturated"));
    let stuck = point(vec![At::Deadlocked, At::Deadlocked], None, false);
    assert_eq!(stuck.all_fail(), Some("all are deadlocked"));
    let both = point(vec![At::Deadlocked, At::Saturated], None, false);
    assert_eq!(both.all_fail(), Some("all are saturated or deadlocked"));
    assert_eq!(point(vec![At::NoResult, At::Saturated], None, false).all_fail(), None, "one may");
    // A series that was not measured may be better still.
    let unknown = point(vec![around(100.0, 1), At::NoResult, around(120.0, 2)], None, false);
    assert_eq!((unknown.best.as_ref(), &unknown.contenders[..]), (None, &["s0".to_owned()][..]));
    // Only replications that both have make pairs.
    let gaps =
        At::Values { values: vec![Some(1.0), None, Some(1.5), Some(1.2)], settled: true, doubled: 0, estimate: None };
    let pair = point(vec![gaps, values(&[2.0, 3.0, 2.6])], Some(1), false);
    assert_eq!(pair.standings[0].difference.unwrap().count, 2);
    assert!((pair.standings[0].difference.unwrap().mean + 1.05).abs() < 1e-12);
}

#[test]
fn one_against_all_others_looks_at_no_other_pairs() {
    let outcomes = || vec![around(110.0, 3), around(100.0, 2), around(120.0, 5), At::Saturated];
    let ranked = point(outcomes(), Some(0), false);
    assert_eq!((ranked.reference.as_deref(), ranked.best.as_deref()), (Some("s0"), Some("s1")));
    let relations: Vec<_> = ranked.standings.iter().map(|standing| standing.relation).collect();
    assert_eq!(relations, [None, Some(Relation::Better), Some(Relation::Worse), Some(Relation::Worse)]);
    let field = Field { series: names(4), reference: Some("s0".to_owned()), sorted: true };
    let arena = Arena::new(outcomes(), Some(0), false, 0.99);
    assert_eq!(arena.point(&field, "", "1", 0.95).standings[0].series, "s1", "the best mean comes first");
}

#[test]
fn the_best_changes_where_the_lines_cross() {
    // One rises from 100, the other falls to it; they meet at 2.25.
    let at = |x: f64| vec![around(100.0 + 8.0 * (x - 2.25), 2), around(100.0, 2), around(200.0, 1)];
    let xs = [1.0, 2.0, 3.0, 4.0];
    let mut arenas: Vec<Arena> = xs.iter().map(|&x| Arena::new(at(x), None, false, 0.99)).collect();
    // Equal differences are not certain from few replications: here own noise is the same.
    assert!(crossings(&names(2), "", &xs, &arenas).is_empty());
    let at = |x: f64| vec![around(100.0 + 8.0 * (x - 2.25), 2), around(100.0, 3), around(200.0, 1)];
    arenas = xs.iter().map(|&x| Arena::new(at(x), None, false, 0.99)).collect();
    let [found] = &crossings(&names(2), "of", &xs, &arenas)[..] else { panic!("one crossing") };
    assert_eq!((found.between.clone(), found.of.as_str()), (["s0".to_owned(), "s1".to_owned()], "of"));
    assert_eq!([found.from, found.to].map(|x| x.to_string()), ["2", "3"]);
    // One that is saturated is worse than one that is not.
    arenas[2] = Arena::new(vec![At::Saturated, around(100.0, 3), At::Saturated], None, false, 0.99);
    assert_eq!(crossings(&names(2), "of", &xs, &arenas)[0], *found);
    // Where the order is open, the interval reaches across.
    let open = || values(&[100.0, 120.0, 80.0, 110.0]);
    arenas[2] = Arena::new(vec![open(), around(100.0, 3), around(200.0, 1)], None, false, 0.99);
    assert_eq!(crossings(&names(2), "", &xs, &arenas)[0].to.to_string(), "4");
    assert!(crossings(&names(2), "", &xs[..2], &arenas[..2]).is_empty());
    // Series that are not compared with each other do not cross.
    let arenas: Vec<Arena> = xs.iter().map(|&x| Arena::new(at(x), Some(2), false, 0.99)).collect();
    assert!(crossings(&names(3), "", &xs, &arenas).is_empty());
}

/// Replications of series with these means: noise that they share, and some of their own.
fn drawn(means: &[f64], replications: usize, random: &mut Xoshiro256PlusPlus) -> Vec<At> {
    // The sum of twelve has variance 1 and is close to normal.
    let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let common: Vec<f64> = (0..replications).map(|_| 5.0 * normal()).collect();
    means.iter().map(|mean| values(&common.iter().map(|common| mean + common + normal()).collect::<Vec<_>>())).collect()
}

#[test]
fn intervals_cover_the_truth_and_the_best_is_hardly_ever_wrong() {
    const TRIALS: usize = 1500;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_261_120);
    for means in [&[10.0, 10.0][..], &[10.0, 10.4, 11.0, 13.0], &[10.0; 5]] {
        let pairs = means.len() * (means.len() - 1) / 2;
        let confidence = 1.0 - 0.05 / pairs as f64;
        let (mut uncovered, mut wrong, mut decided, mut singles) = (0, 0, 0, 0);
        for _ in 0..TRIALS {
            let arena = Arena::new(drawn(means, 8, &mut random), None, false, confidence);
            let misses = (0..means.len()).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| {
                let difference = arena.difference(a, b).unwrap();
                (difference.mean - (means[a] - means[b])).abs() > difference.half_width.unwrap()
            });
            let misses = misses.count();
            singles += misses;
            uncovered += usize::from(misses > 0);
            // The first is the best, or one of those that are.
            wrong += usize::from(arena.best().is_some_and(|best| best != 0 && means[best] > means[0]));
            decided += usize::from(arena.best().is_some());
        }
        // 5% of 1500 are 75, give or take three times 8.4.
        assert!(uncovered <= 100, "{uncovered} of {TRIALS}");
        assert!(wrong <= 100, "{wrong} of {TRIALS}");
        // Each interval alone errs as often as it may, so none is wider than it has to be.
        let each = singles as f64 / (pairs * TRIALS) as f64;
        assert!((0.5..1.5).contains(&(each / (1.0 - confidence))), "{each} against {}", 1.0 - confidence);
        let equal = means.iter().all(|mean| (mean - means[0]).abs() < 1e-9);
        // Where all are the same, to call one of them the best is an error too.
        assert!(if equal { decided <= 100 } else { decided < TRIALS }, "{decided}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a judgement written down from the definitions, whatever the order of the series.
    #[test]
    fn contenders_are_those_that_nobody_beats(
        table in proptest::collection::vec(proptest::collection::vec(-4i32..5, 2..7), 2..5),
        saturated in proptest::collection::vec(any::<bool>(), 5),
        higher in any::<bool>(),
        turn in 0usize..4,
    ) {
        let count = table.len();
        let of = |series: usize| {
            if saturated[series] { At::Saturated } else { values(&table[series].iter().map(|&v| f64::from(v)).collect::<Vec<_>>()) }
        };
        let beats = |a: usize, b: usize| match (saturated[a], saturated[b]) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => {
                let gains: Vec<f64> =
                    table[a].iter().zip(&table[b]).map(|(a, b)| f64::from(if higher { a - b } else { b - a })).collect();
                let n = gains.len() as f64;
                let mean = gains.iter().sum::<f64>() / n;
                let spread = sample_variance(&gains).unwrap();
                spread > 0.0 && mean > t_quantile(gains.len() - 1, 0.9) * (spread / n).sqrt()
            }
        };
        let expected: Vec<usize> = (0..count).filter(|&b| !saturated[b] && !(0..count).any(|a| a != b && beats(a, b))).collect();
        let order: Vec<usize> = (0..count).map(|series| (series + turn) % count).collect();
        let arena = Arena::new(order.iter().map(|&series| of(series)).collect(), None, higher, 0.9);
        let series: Vec<String> = order.iter().map(ToString::to_string).collect();
        let ranked = arena.point(&Field { series, reference: None, sorted: true }, "", "", 0.9);
        let mut contenders: Vec<usize> = ranked.contenders.iter().map(|name| name.parse().unwrap()).collect();
        contenders.sort_unstable();
        prop_assert_eq!(&contenders, &expected);
        let best = ranked.best.map(|name| name.parse::<usize>().unwrap());
        prop_assert_eq!(best, if let [only] = expected[..] { Some(only) } else { None });
    }
}

/// The plot of a comparison; it is written to the folder that `WORMCAST_TEST_PLOTS` names, to be looked at.
fn picture(name: &str, compared: &Compared) -> Plot {
    let plot = plot_comparison(compared).unwrap();
    if let Some(directory) = std::env::var_os("WORMCAST_TEST_PLOTS") {
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.png")), &plot.png).unwrap();
    }
    plot
}

/// A comparison of made-up series along loads: what each is at each of the loads 1, 2, 3, …
fn along_loads(reference: Option<&str>, series: &[(&str, &[At])]) -> Compared {
    let names: Vec<String> = series.iter().map(|(name, _)| (*name).to_owned()).collect();
    let field = Field { series: names.clone(), reference: reference.map(str::to_owned), sorted: reference.is_none() };
    let number = reference.and_then(|reference| names.iter().position(|name| name == reference));
    let point = |load: usize| {
        let outcomes = series.iter().map(|(_, at)| at[load].clone()).collect();
        Arena::new(outcomes, number, false, 0.99).point(&field, "", &(load + 1).to_string(), 0.95)
    };
    let loads = series[0].1.len();
    let along = Some("traffic.multicast.destinations".to_owned());
    let comparison = SeriesComparison {
        key: "algorithm".to_owned(),
        series: names,
        reference: reference.map(str::to_owned),
        quantity: Quantity::LatencyLast,
        unit: "us".to_owned(),
        higher_is_better: false,
        pairs: 1,
        confidence: 0.99,
        along: along.clone(),
        points: (0..loads).map(point).collect(),
        crossings: Vec::new(),
        decision: None,
    };
    let figure = Figure {
        title: String::new(),
        x: along.clone().unwrap(),
        along,
        log_x: false,
        log_y: false,
        y: Quantity::LatencyLast,
        series: Some("algorithm".to_owned()),
        unit: crate::experiment::file::TimeUnit::Microseconds,
        confidence: 0.95,
    };
    Compared { comparison, figure }
}

#[test]
fn a_plot_of_a_comparison_shows_differences_and_who_is_best() {
    let flat: Vec<At> = (0..6).map(|_| around(100.0, 2)).collect();
    let rising: Vec<At> =
        (0..6u32).map(|load| if load < 5 { around(94.0 + 4.0 * f64::from(load), 3) } else { At::Saturated }).collect();
    let noisy = |load: u32| {
        values(&(0..10).map(|i| 101.0 + f64::from(load) + if i % 2 == 0 { 9.0 } else { -8.0 }).collect::<Vec<_>>())
    };
    let noisy: Vec<At> = (0..6).map(noisy).collect();
    let series = [("flat", &flat[..]), ("rising", &rising[..])];
    let plot = picture("comparison-pair", &along_loads(Some("flat"), &series));
    for text in [
        "\nDifference from flat (µs)\n",
        "Saturated: rising at 6. Certainly the best: rising at 1; rising at 2; flat at 3",
    ] {
        assert!(plot.svg.contains(text), "{text}: {}", plot.svg);
    }
    // The mean of the other is 6 less at the first load, and their own values are not shown.
    assert!(plot.svg.contains("\n-6\n") || plot.svg.contains("\n-5\n"), "{}", plot.svg);
    assert!(!plot.svg.contains("\n100\n"), "{}", plot.svg);
    let three = [("flat", &flat[..]), ("rising", &rising[..]), ("noisy", &noisy[..])];
    let plot = picture("comparison-ranked", &along_loads(None, &three));
    assert!(plot.svg.contains("\nDifference from the best mean (µs)\n"), "{}", plot.svg);
    assert!(plot.svg.contains("open markers: not certainly different"), "{}", plot.svg);
    // One load: the names are at the axis.
    let one = [("flat", &flat[..1]), ("rising", &rising[..1]), ("noisy", &noisy[..1])];
    let plot = picture("comparison-one-load", &along_loads(None, &one));
    assert_eq!(plot.svg.matches("\nrising\n").count(), 1, "{}", plot.svg);
    assert!(plot.svg.contains("\nDestinations per message: 1\n"), "{}", plot.svg);
    let nothing: Vec<At> = vec![At::NoResult; 2];
    let nothing = along_loads(None, &[("a", &nothing[..]), ("b", &nothing[..])]);
    assert!(matches!(plot_comparison(&nothing), Err(PlotError::Empty { .. })));
}

const SWEEP: &str = r#"
topology = "mesh:4x4"
traffic.arrivals = { process = "burst", sources = 1 }
plot.unit = "cycles"
stop = { min_replications = 2, max_replications = 8 }
[sweep]
routing = ["a", "b", "c"]
algorithm = ["x", "y"]
"traffic.multicast.destinations" = [1, 2, 3]
"#;

#[test]
fn a_sweep_is_compared_along_its_axis_and_for_each_other_setting() {
    let experiment = Experiment::parse("x.toml", SWEEP, &[]).unwrap();
    let points = experiment.points().unwrap();
    // Of `x`, c is best at first and a at last; of `y`, b always; c is saturated at 3.
    let runs: Vec<PointRuns> = points
        .iter()
        .map(|point| {
            let text = |key: &str| point.coordinate(key).unwrap().text();
            let at: f64 = text("traffic.multicast.destinations").parse().unwrap();
            let (series, other) = (text("routing"), text("algorithm"));
            let mean = match (series.as_str(), other.as_str()) {
                ("a", "x") => 100.0,
                ("b", "y") => 50.0,
                ("c", _) => 80.0 + 10.0 * at,
                _ => 200.0,
            };
            let outcome = if series == "c" && at > 2.5 { Outcome::Saturated } else { Outcome::Precise };
            let noise = |i: usize| ((i * 7 + point.index * 3) % 5) as f64 * 0.1;
            PointRuns::new(outcome, (0..6).map(|i| run(mean + noise(i))).collect())
        })
        .collect();
    let field = chosen(&experiment, &points, "routing", &[]).unwrap();
    let quantity = Quantity::LatencyLast;
    let settings = Settings { key: "routing".to_owned(), field, quantity, higher_is_better: false };
    let compared = settings.compare(&experiment, &points, &runs);
    assert_eq!((compared.pairs, compared.unit.as_str(), compared.reference.as_ref()), (3 * 2 * 3, "cycles", None));
    assert!((compared.confidence - (1.0 - 0.05 / 18.0)).abs() < 1e-12);
    assert_eq!(compared.along.as_deref(), Some("traffic.multicast.destinations"));
    let best = |of: &str| {
        let points = compared.points.iter().filter(|point| point.of == of);
        points.map(|point| (point.at.as_str(), point.best.as_deref().unwrap_or("-"))).collect::<Vec<_>>()
    };
    assert_eq!(best("x")[..1], [("1", "c")]);
    assert_eq!(best("x")[2], ("3", "a"));
    assert_eq!(best("y"), [("1", "b"), ("2", "b"), ("3", "b")]);
    // Of `x`, c falls behind a; b, which is worse than both, overtakes c when that is saturated.
    let crossings: Vec<_> =
        compared.crossings.iter().map(|c| (c.of.as_str(), c.between.join(" "), c.from, c.to)).collect();
    assert!(crossings.contains(&("x", "c a".to_owned(), 1.0, 3.0)), "{crossings:?}");
    assert!(crossings.contains(&("x", "c b".to_owned(), 2.0, 3.0)), "{crossings:?}");
    assert!(!crossings.iter().any(|(_, between, ..)| between.contains('a') && between.contains('b')));
    let figure = settings.figure(&experiment, &points, compared.along.as_deref());
    assert_eq!((figure.series.as_deref(), figure.x.as_str()), (Some("routing"), "traffic.multicast.destinations"));
    let plot = picture("comparison", &Compared { comparison: compared, figure });
    for text in [
        "\nDifference from the best mean (cycles)\n",
        "Saturated: c, x at 3; c, y at 3. Certainly the best (x): c, x at 1; a, x at 3. ",
        "Certainly the best (y): b, y at 1; b, y at 2; b, y at 3\"",
        "intervals that all hold together with 95% confidence",
    ] {
        assert!(plot.svg.contains(text), "{text}: {}", plot.svg);
    }
    // The experiment says `algorithm`, unless that is not swept.
    assert_eq!(series_key(&experiment, &points).unwrap(), "algorithm");
    let set = |assignments: &[&str]| {
        let overrides: Vec<_> = assignments.iter().map(|given| crate::Override::set(given).unwrap()).collect();
        let experiment = Experiment::parse("x.toml", SWEEP, &overrides).unwrap();
        let points = experiment.points().unwrap();
        series_key(&experiment, &points)
    };
    assert_eq!(set(&["algorithm=x"]).unwrap(), "routing");
    let several = set(&["algorithm=x", "sweep.engine=['flit', 'worm']"]).unwrap_err();
    assert!(several.message().ends_with("which of routing, engine makes the series?"), "{several}");
    assert_eq!(several.help(), Some("say so, as by `--set plot.series=routing`"));
    let none = set(&["algorithm=x", "routing=a"]).unwrap_err();
    assert!(none.message().ends_with("`algorithm` is not swept, only `traffic.multicast.destinations`"), "{none}");
}
