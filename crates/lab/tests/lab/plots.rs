//! Plots of made-up results. With `WORMCAST_TEST_PLOTS` set to a directory, they are written there to be looked at.

use std::num::NonZeroUsize;

use wormcast_lab::{
    Budget, Experiment, Figure, Outcome, Override, Plot, PlotError, Point, PointSummary, Quantity, Store,
    plot as plot_of, plot_data, summarise, sweep,
};
use wormcast_simulation::RunResult;

use crate::synthetic;

fn results(set: &[&str], run: impl Fn(&Point, u32) -> RunResult + Sync) -> (Figure, Vec<PointSummary>) {
    let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
    let experiment = Experiment::parse("x.toml", synthetic::SWEEP, &overrides).unwrap();
    let points = experiment.points().unwrap();
    let run = |point: &Point, replication| Ok::<_, std::convert::Infallible>(run(point, replication).into());
    let jobs = NonZeroUsize::new(2).unwrap();
    let runs =
        sweep(&mut Budget::default(), &points, experiment.stop(), jobs, &mut Store::in_memory().unwrap(), &mut (), run)
            .unwrap();
    let figure = experiment.figure().unwrap();
    let summaries = summarise(&points, &runs, experiment.stop().confidence, figure.series.as_deref());
    (figure, summaries)
}

fn plain(point: &Point, replication: u32) -> RunResult {
    synthetic::result(point, replication)
}

fn drawn(name: &str, set: &[&str], run: impl Fn(&Point, u32) -> RunResult + Sync) -> Plot {
    let (figure, summaries) = results(set, run);
    let plot = plot_of(&figure, &summaries).unwrap();
    if let Some(directory) = std::env::var_os("WORMCAST_TEST_PLOTS") {
        let path = std::path::Path::new(&directory).join(name);
        std::fs::write(path.with_extension("svg"), &plot.svg).unwrap();
        std::fs::write(path.with_extension("png"), &plot.png).unwrap();
    }
    plot
}

#[test]
fn latency_against_load() {
    let plot = drawn("latency", &[], plain);
    for text in [
        "Latency against arrival rate, 10 destinations, 16x16 mesh",
        "Arrival rate (messages per node per µs)",
        "Latency to the last destination (µs)",
        "minimal-negative-first",
        "\nsaturated\n",
        "saturation begins within the thin line",
        "95% confidence intervals",
    ] {
        assert!(plot.svg.contains(text), "{text}");
    }
    assert!(
        plot.svg.starts_with("<svg width=\"880\" height=\"660\" viewBox=\"0 0 3520 2640\""),
        "{}",
        &plot.svg[..200]
    );
    let title = "Latency against arrival rate, 10 destinations, 16x16 mesh";
    let shows =
        "Latency to the last destination (µs) against Arrival rate (messages per node per µs) of pure-negative-first; ";
    let head = plot.svg.lines().take(2).collect::<Vec<_>>().concat();
    assert!(head.contains(&format!(" role=\"img\" aria-label=\"{title}: {shows}")), "{head}");
    assert!(head.ends_with(&format!("><title>{title}</title>")), "{head}");
    assert_eq!(plot.png[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(plot, drawn("latency", &[], plain), "the same results make the same bytes");
}

#[test]
fn other_axes() {
    let load = drawn("accepted", &["plot.x=offered_load", "plot.y=accepted_load"], plain);
    assert!(load.svg.contains("Offered load (flits per node per cycle)") && load.svg.contains("Accepted load"));
    let log = drawn(
        "log",
        &[
            "sweep.\"traffic.arrivals.rate\"={ from = 0.0001, to = 0.01, points = 9, scale = 'log' }",
            "plot.unit=cycles",
            "plot.title=A title that is so long that it would not fit over the plot if it were not made smaller, as this one is",
        ],
        plain,
    );
    assert!(log.svg.contains("(cycles)") && !log.svg.contains("µs)</text>\n<text x=\"80\""));
    let single = drawn("single", &["algorithm=dual-path", "sweep.\"traffic.arrivals.rate\"=[0.003]"], plain);
    assert!(!single.svg.contains("saturat"));
    let crowd = drawn("crowd", &["sweep.\"switching.buffer\"=[1, 2, 4]"], plain);
    assert!(crowd.svg.contains("column-path, buffer 4"));
}

#[test]
fn what_all_curves_have_in_common_is_said_once() {
    let labels = |plot: &Plot| {
        let lines = plot.svg.lines().filter(|line| line.ends_with("path") && !line.contains('<'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let common = ["sweep.\"switching.buffer\"=[4]", "sweep.algorithm=['dual-path', 'column-path']"];
    let plot = drawn("common", &common, plain);
    assert_eq!(labels(&plot), ["dual-path", "column-path"]);
    assert!(plot.svg.contains("buffer 4; bars: 95%"), "below the plot");
    // The only series is left out too, where another setting tells the curves apart.
    let plot = drawn("common-series", &["sweep.\"switching.buffer\"=[1, 4]", "sweep.algorithm=['dual-path']"], plain);
    assert!(plot.svg.contains("\nbuffer 1\n") && plot.svg.contains("dual-path; bars: 95%"), "{}", plot.svg);
    // A curve alone has a name.
    let alone = drawn("alone", &["sweep.\"switching.buffer\"=[4]", "sweep.algorithm=['dual-path']"], plain);
    assert_eq!(labels(&alone), ["dual-path"]);
}

#[test]
fn at_a_single_load_curves_stand_beside_each_other() {
    let plot = drawn("one-load", &["sweep.\"traffic.arrivals.rate\"=[0.003]"], plain);
    assert!(plot.svg.contains("Arrival rate (messages per node per µs): 0.003"));
    for name in ["pure-negative-first", "minimal-negative-first", "dual-path", "column-path"] {
        assert_eq!(plot.svg.matches(&format!("\n{name}\n")).count(), 1, "at the axis, and not in a legend too");
    }
}

#[test]
fn logarithmic_axes() {
    let set = ["plot.x_scale=log", "plot.y_scale=log", "sweep.\"traffic.arrivals.rate\"=[0.0001, 0.001, 0.01]"];
    let plot = drawn("log-log", &set, plain);
    assert!(["\n0.0001\n", "\n0.001\n"].iter().all(|tick| plot.svg.contains(tick)), "{}", plot.svg);
    // Spaced by ratios, drawn by differences.
    let spaced = "sweep.\"traffic.arrivals.rate\"={ from = 0.0001, to = 0.01, points = 9, scale = 'log' }";
    let (log, linear) = (drawn("spaced", &[spaced], plain), drawn("unspaced", &[spaced, "plot.x_scale=linear"], plain));
    assert!(log.svg.contains("\n0.0002\n") && !linear.svg.contains("\n0.0002\n") && linear.svg.contains("\n0.000\n"));
    // What is not above 0 has no place there, and is counted.
    let none_at_first = |point: &Point, replication| {
        let mut result = plain(point, replication);
        result.latency.last.mean = result.latency.last.mean.map(|mean| if point.index == 0 { 0.0 } else { mean });
        result
    };
    let plot = drawn("log-zero", &set, none_at_first);
    assert!(plot.svg.contains("1 point is not shown: a logarithmic axis has no place for 0"), "{}", plot.svg);
    let (figure, summaries) =
        results(&[&set[..2], &["sweep.\"traffic.arrivals.rate\"=[0.0001, 0.001]"]].concat(), |point, replication| {
            let mut result = plain(point, replication);
            result.latency.last.mean = Some(0.0);
            result
        });
    assert!(matches!(plot_of(&figure, &summaries), Err(PlotError::NotPositive { .. })));
    let zero = Override::set("sweep.\"traffic.arrivals.rate\"=[0, 0.001]").unwrap();
    let overrides = [Override::set("plot.x_scale=log").unwrap(), zero];
    let error = Experiment::parse("x.toml", synthetic::SWEEP, &overrides).unwrap_err();
    assert!(error.message().contains("`traffic.arrivals.rate` is 0 at a point"), "{error}");
}

/// The horizontal position of the last label of the horizontal axis, as a share of the width.
fn last_tick(plot: &Plot, label: &str) -> f64 {
    let before = plot.svg.split(&format!("\n{label}\n")).next().unwrap();
    let x = before.rsplit("x=\"").next().unwrap().split('"').next().unwrap();
    x.parse::<f64>().unwrap() / 3520.0
}

#[test]
fn an_axis_ends_where_all_curves_are_saturated() {
    let rates = "sweep.\"traffic.arrivals.rate\"=[0.001, 0.002, 0.003, 0.004, 0.02]";
    let saturated_from = |load: f64| {
        move |point: &Point, replication| {
            let mut result = plain(point, replication);
            let rate = point.coordinate("traffic.arrivals.rate").unwrap().value.as_f64().unwrap();
            result.saturated = rate >= load;
            if result.saturated {
                result.latency.last.mean = None;
                result.window.delivered = result.window.offered * 85 / 100;
            }
            result
        }
    };
    let plot = drawn("cut", &[rates], saturated_from(0.003));
    assert!(!plot.svg.contains("\n0.020\n") && last_tick(&plot, "0.0030") > 0.9, "{}", plot.svg);
    assert!(plot.svg.contains("Saturated: pure-negative-first at 0.003; "), "in words too");
    let light = "sweep.\"traffic.arrivals.rate\"=[0.001, 0.002, 0.003, 0.004]";
    let none = drawn("unsaturated", &[light], saturated_from(1.0));
    assert!(last_tick(&none, "0.0040") > 0.9 && !none.svg.contains("aturated"), "{}", none.svg);
}

/// Plots of many shapes, to be looked at; what they must not do is tested where it can be said.
#[test]
fn many_shapes() {
    let algorithms: Vec<String> = (1..=16).map(|i| format!("'scheme-{i}'")).collect();
    let sixteen = drawn("sixteen", &[&format!("sweep.algorithm=[{}]", algorithms.join(", "))], |point, replication| {
        let mut result = plain(point, replication);
        let scheme: f64 = point.spec.algorithm.rsplit('-').next().unwrap().parse().unwrap();
        result.latency.last.mean = result.latency.last.mean.map(|mean| mean * (1.0 + scheme / 20.0));
        result
    });
    assert!((1..=16).all(|i| sixteen.svg.contains(&format!("scheme-{i}\n"))));
    let algorithms: Vec<String> = (1..=24).map(|i| format!("'scheme-{i}'")).collect();
    drawn("twenty-four", &[&format!("sweep.algorithm=[{}]", algorithms.join(", "))], |point, replication| {
        let mut result = plain(point, replication);
        let scheme: f64 = point.spec.algorithm.rsplit('-').next().unwrap().parse().unwrap();
        result.latency.last.mean = result.latency.last.mean.map(|mean| mean * (1.0 + scheme / 20.0));
        result
    });
    drawn("eight", &[&format!("sweep.algorithm=[{}]", algorithms[..8].join(", "))], |point, replication| {
        let mut result = plain(point, replication);
        let scheme: f64 = point.spec.algorithm.rsplit('-').next().unwrap().parse().unwrap();
        result.latency.last.mean = result.latency.last.mean.map(|mean| mean * (1.0 + scheme / 8.0));
        result
    });
    let scaled = |factor: f64| {
        move |point: &Point, replication| {
            let mut result = plain(point, replication);
            result.latency.last.mean = result.latency.last.mean.map(|mean| mean * factor);
            result
        }
    };
    drawn("tiny", &["algorithm=dual-path"], scaled(1e-9));
    drawn("huge", &["algorithm=dual-path"], scaled(1e12));
    drawn("percentile", &["plot.y=latency.p99"], plain);
    let long = "a-scheme-whose-name-is-so-long-that-it-does-not-fit-into-a-line-of-the-legend-whatever-its-letters-may-be-and-goes-on";
    let named = drawn("names", &[&format!("sweep.algorithm=['{long}-1', '<&\">', 'dual-path']")], plain);
    assert!(named.svg.contains("…") && named.svg.contains("&lt;&amp;&quot;&gt;"), "{}", &named.svg[..600]);
    drawn("rates", &["sweep.\"traffic.arrivals.rate\"={ from = 0.0061234567, to = 0.0061234667, points = 5 }"], plain);
    drawn("loads", &["sweep.\"traffic.length\"=[1000000, 30000000, 100000000]", "traffic.arrivals.rate=0.003"], plain);
    drawn("wide", &["sweep.\"traffic.arrivals.rate\"={ from = 1e-9, to = 0.01, points = 12, scale = 'log' }"], plain);
    drawn(
        "two-in-a-decade",
        &["sweep.\"traffic.arrivals.rate\"={ from = 0.0031, to = 0.0039, points = 5, scale = 'log' }"],
        plain,
    );
}

#[test]
fn deadlocks_are_crosses() {
    let run = |point: &Point, replication| match point.spec.algorithm.as_str() {
        "column-path" if point.index % 12 > 6 => synthetic::deadlocked(point, replication),
        _ => plain(point, replication),
    };
    assert!(drawn("deadlock", &[], run).svg.contains("crosses: deadlocked"));
    // What deadlocked was offered no load that could be measured.
    let (figure, summaries) = results(&["plot.x=offered_load"], run);
    let lost = summaries.iter().filter(|summary| summary.outcome == Outcome::Deadlocked).count();
    let note = format!("not shown, since deadlocked runs have no offered_load: column-path ({lost} points)");
    assert!(lost > 1 && plot_of(&figure, &summaries).unwrap().svg.contains(&note), "{lost}");
    assert!(plot_data(&figure, &summaries).unwrap().notes.contains(&note));
    let (figure, summaries) = results(&["plot.x=offered_load"], synthetic::deadlocked);
    assert!(matches!(plot_of(&figure, &summaries), Err(PlotError::Deadlocked { .. })));
}

#[test]
fn means_that_depend_on_the_window_are_open_markers() {
    let (figure, mut summaries) = results(&["sweep.\"traffic.arrivals.rate\"=[0.001, 0.002]"], plain);
    let note = "open markers: the mean depends on the window";
    assert!(!plot_of(&figure, &summaries).unwrap().svg.contains(note));
    summaries[1].trend = true;
    assert!(plot_of(&figure, &summaries).unwrap().svg.contains(note));
    // What gets through does not depend on it.
    let load = Figure { y: Quantity::DeliveredLoad, ..figure };
    assert!(!plot_of(&load, &summaries).unwrap().svg.contains("open markers"));
}

#[test]
fn nothing_but_saturation() {
    let run = |point: &Point, replication| {
        let mut result = plain(point, replication);
        result.saturated = true;
        result
    };
    drawn("saturated", &[], run);
}

#[test]
fn nothing_to_plot_is_an_error() {
    let (figure, _) = results(&["sweep.\"traffic.arrivals.rate\"=[0.003]"], plain);
    assert!(matches!(plot_of(&figure, &[]), Err(PlotError::Empty { .. })));
}
