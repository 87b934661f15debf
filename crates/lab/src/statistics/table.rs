//! Results as tables: a line a point, or a line a replication.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::experiment::point::Coordinate;
use crate::runs::replication::Shown;
use crate::runs::sweep::PointRuns;
use crate::statistics::Estimate;
use crate::statistics::summary::{LatencySummary, PointSummary};

/// A table of results: columns of equal length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
}

/// A column of a [`Table`].
#[derive(Clone, PartialEq, Debug)]
pub struct TableColumn {
    /// What is at its head.
    pub name: String,
    /// A value for each row.
    pub values: Vec<Cell>,
}

/// A value of a table. All values of a measured column are of one variant. What a row does not have is `None`.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(Option<String>),
    /// A measured value.
    Number(Option<f64>),
    /// How many.
    Count(Option<u64>),
    /// Whether something is so.
    Flag(Option<bool>),
    /// A number of a setting or of a result, as files have it.
    Json(serde_json::Number),
}

impl Cell {
    /// Whether the row has no such value.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Text(None) | Self::Number(None) | Self::Count(None) | Self::Flag(None))
    }

    /// The value of a setting or a figure; lists and tables become text.
    fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::Text(None),
            Json::Bool(flag) => Self::Flag(Some(*flag)),
            Json::Number(number) => Self::Json(number.clone()),
            Json::String(text) => Self::Text(Some(text.clone())),
            other => Self::Text(Some(other.to_string())),
        }
    }

    /// As CSV has it: empty if the row has none.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone().unwrap_or_default(),
            Self::Number(number) => number.map_or_else(String::new, |number| number.to_string()),
            Self::Count(count) => count.map_or_else(String::new, |count| count.to_string()),
            Self::Flag(flag) => flag.map_or_else(String::new, |flag| flag.to_string()),
            Self::Json(number) => number.to_string(),
        }
    }
}

/// A measured column: its name, and what a point has there.
type Column = (&'static str, fn(&PointSummary) -> Cell);

/// The measured columns of a table, behind those of the swept settings.
const COLUMNS: [Column; 74] = [
    ("outcome", |s| Cell::Text(Some(s.outcome.name().to_owned()))),
    ("replications", |s| Cell::Count(Some(s.replications.into()))),
    ("window_messages", |s| Cell::Count((s.window > 0).then_some(s.window))),
    ("trend", |s| Cell::Flag((s.window > 0).then_some(s.trend || s.short))),
    ("window_needed", |s| Cell::Count(s.needed)),
    ("unmeasured_share", |s| Cell::Number((s.unmeasured > 0.0).then_some(s.unmeasured))),
    ("latency_last_cycles", |s| Cell::Number(last(s).map(|last| last.mean))),
    ("latency_last_ns", |s| Cell::Number(last(s).map(|last| last.mean * s.cycle_ns))),
    ("latency_last_half_width_cycles", |s| Cell::Number(last(s).and_then(|last| last.half_width))),
    ("latency_mean_cycles", |s| Cell::Number(mean(s).map(|mean| mean.mean))),
    ("latency_mean_half_width_cycles", |s| Cell::Number(mean(s).and_then(|mean| mean.half_width))),
    ("latency_p50_cycles", |s| Cell::Number(of_latency(s, |latency| latency.p50).map(|p50| p50.mean))),
    ("latency_p50_low_cycles", |s| Cell::Number(end(s, |latency| latency.p50, 0))),
    ("latency_p50_high_cycles", |s| Cell::Number(end(s, |latency| latency.p50, 1))),
    ("latency_p95_cycles", |s| Cell::Number(of_latency(s, |latency| latency.p95).map(|p95| p95.mean))),
    ("latency_p95_low_cycles", |s| Cell::Number(end(s, |latency| latency.p95, 0))),
    ("latency_p95_high_cycles", |s| Cell::Number(end(s, |latency| latency.p95, 1))),
    ("latency_p99_cycles", |s| Cell::Number(of_latency(s, |latency| latency.p99).map(|p99| p99.mean))),
    ("latency_p99_low_cycles", |s| Cell::Number(end(s, |latency| latency.p99, 0))),
    ("latency_p99_high_cycles", |s| Cell::Number(end(s, |latency| latency.p99, 1))),
    ("latency_unicast_cycles", |s| Cell::Number(unicast(s).map(|latency| latency.mean))),
    ("latency_unicast_half_width_cycles", |s| Cell::Number(unicast(s).and_then(|latency| latency.half_width))),
    ("latency_multicast_cycles", |s| Cell::Number(multicast(s).map(|latency| latency.mean))),
    ("latency_multicast_half_width_cycles", |s| Cell::Number(multicast(s).and_then(|latency| latency.half_width))),
    ("queueing_cycles", |s| Cell::Number(s.latency().map(|latency| latency.parts.queueing))),
    ("startup_cycles", |s| Cell::Number(s.latency().map(|latency| latency.parts.startup))),
    ("network_cycles", |s| Cell::Number(s.latency().map(|latency| latency.parts.network))),
    ("blocking_cycles", |s| Cell::Number(s.latency().map(|latency| latency.parts.blocking))),
    ("offered_load", |s| Cell::Number(s.load().map(|load| load.offered.mean))),
    ("offered_load_half_width", |s| Cell::Number(s.load().and_then(|load| load.offered.half_width))),
    ("injected_load", |s| Cell::Number(s.load().map(|load| load.injected.mean))),
    ("injected_load_half_width", |s| Cell::Number(s.load().and_then(|load| load.injected.half_width))),
    ("accepted_load", |s| Cell::Number(s.load().map(|load| load.accepted.mean))),
    ("accepted_load_half_width", |s| Cell::Number(s.load().and_then(|load| load.accepted.half_width))),
    ("delivered_load", |s| Cell::Number(s.load().map(|load| load.delivered.mean))),
    ("delivered_load_half_width", |s| Cell::Number(s.load().and_then(|load| load.delivered.half_width))),
    ("link_utilisation", |s| Cell::Number(s.load().map(|load| load.link_busy.mean))),
    ("link_utilisation_half_width", |s| Cell::Number(s.load().and_then(|load| load.link_busy.half_width))),
    ("link_utilisation_busiest", |s| Cell::Number(s.load().map(|load| load.link_busiest.mean))),
    ("link_utilisation_busiest_half_width", |s| Cell::Number(s.load().and_then(|load| load.link_busiest.half_width))),
    ("buffer_occupancy", |s| Cell::Number(s.load().and_then(|load| load.buffers).map(|share| share.mean))),
    ("buffer_occupancy_half_width", |s| {
        Cell::Number(s.load().and_then(|load| load.buffers).and_then(|share| share.half_width))
    }),
    ("plan_steps", |s| Cell::Number(s.plan().map(|plan| plan.steps.mean))),
    ("plan_steps_half_width", |s| Cell::Number(s.plan().and_then(|plan| plan.steps.half_width))),
    ("plan_startups", |s| Cell::Number(s.plan().map(|plan| plan.startups.mean))),
    ("plan_startups_half_width", |s| Cell::Number(s.plan().and_then(|plan| plan.startups.half_width))),
    ("plan_mean_startups", |s| Cell::Number(s.plan().map(|plan| plan.mean_startups.mean))),
    ("plan_mean_startups_half_width", |s| Cell::Number(s.plan().and_then(|plan| plan.mean_startups.half_width))),
    ("plan_channels", |s| Cell::Number(s.plan().map(|plan| plan.channels.mean))),
    ("plan_channels_half_width", |s| Cell::Number(s.plan().and_then(|plan| plan.channels.half_width))),
    ("plan_contention", |s| Cell::Number(s.plan().map(|plan| plan.contention.mean))),
    ("plan_contention_half_width", |s| Cell::Number(s.plan().and_then(|plan| plan.contention.half_width))),
    ("plan_prohibited", |s| Cell::Number(s.plan().and_then(|plan| plan.prohibited).map(|share| share.mean))),
    ("plan_prohibited_half_width", |s| {
        Cell::Number(s.plan().and_then(|plan| plan.prohibited).and_then(|share| share.half_width))
    }),
    ("trees_diameter", |s| Cell::Number(s.trees().map(|trees| trees.diameter.mean))),
    ("trees_diameter_half_width", |s| Cell::Number(s.trees().and_then(|trees| trees.diameter.half_width))),
    ("trees_least_diameter", |s| Cell::Number(s.trees().map(|trees| trees.least_diameter.mean))),
    ("trees_least_diameter_half_width", |s| Cell::Number(s.trees().and_then(|trees| trees.least_diameter.half_width))),
    ("trees_largest_diameter", |s| Cell::Number(s.trees().map(|trees| trees.largest_diameter.mean))),
    ("trees_largest_diameter_half_width", |s| {
        Cell::Number(s.trees().and_then(|trees| trees.largest_diameter.half_width))
    }),
    ("trees_average_distance", |s| Cell::Number(s.trees().map(|trees| trees.average_distance.mean))),
    ("trees_average_distance_half_width", |s| {
        Cell::Number(s.trees().and_then(|trees| trees.average_distance.half_width))
    }),
    ("trees_unused", |s| Cell::Number(s.trees().map(|trees| trees.unused.mean))),
    ("trees_unused_half_width", |s| Cell::Number(s.trees().and_then(|trees| trees.unused.half_width))),
    ("trees_disjoint", |s| Cell::Number(s.trees().map(|trees| trees.disjoint.mean))),
    ("trees_disjoint_half_width", |s| Cell::Number(s.trees().and_then(|trees| trees.disjoint.half_width))),
    ("trees_binary", |s| Cell::Number(s.trees().map(|trees| trees.binary.mean))),
    ("trees_binary_half_width", |s| Cell::Number(s.trees().and_then(|trees| trees.binary.half_width))),
    ("saturated", |s| Cell::Flag(Some(s.saturated()))),
    ("deadlocked", |s| Cell::Flag(Some(s.deadlock.is_some()))),
    ("difference_cycles", |s| Cell::Number(s.difference.map(|difference| difference.mean))),
    ("difference_half_width_cycles", |s| Cell::Number(s.difference.and_then(|difference| difference.half_width))),
    ("cycle_ns", |s| Cell::Number(Some(s.cycle_ns))),
    ("config_hash", |s| Cell::Text(Some(s.config_hash.clone()))),
];

/// What every table of simulated runs has, even if no point has a value.
const LATENCY: [&str; 3] = ["latency_last_cycles", "latency_last_ns", "latency_last_half_width_cycles"];

fn of_latency(summary: &PointSummary, part: fn(&LatencySummary) -> Option<Estimate>) -> Option<Estimate> {
    summary.latency().and_then(part)
}

/// The lower (0) or the upper (1) end of an interval.
fn end(summary: &PointSummary, part: fn(&LatencySummary) -> Option<Estimate>, which: usize) -> Option<f64> {
    Some(of_latency(summary, part)?.interval()?[which])
}

fn last(summary: &PointSummary) -> Option<Estimate> {
    summary.latency().map(|latency| latency.last)
}

fn mean(summary: &PointSummary) -> Option<Estimate> {
    summary.latency().and_then(|latency| latency.mean)
}

fn unicast(summary: &PointSummary) -> Option<Estimate> {
    summary.latency().and_then(|latency| latency.unicast)
}

fn multicast(summary: &PointSummary) -> Option<Estimate> {
    summary.latency().and_then(|latency| latency.multicast)
}

/// The table of a sweep: a row a point. What a point does not have is empty: latencies of a saturated
/// point, everything of a deadlocked one. What no point has is left out, except for the latency to the last destination.
pub fn table(summaries: &[PointSummary]) -> Table {
    let timed = summaries.iter().all(|summary| summary.plan().is_none() && summary.trees().is_none());
    let mut columns = settings(summaries, &summaries.iter().collect::<Vec<_>>());
    for (name, value) in COLUMNS {
        let values: Vec<Cell> = summaries.iter().map(value).collect();
        if values.iter().any(|cell| !cell.is_empty()) || timed && LATENCY.contains(&name) {
            columns.push(TableColumn { name: name.to_owned(), values });
        }
    }
    Table { columns }
}

/// The replications that a sweep's figures are means of: a row a replication. Behind the swept settings and
/// the replication's number come the figures of its result, by their dotted paths in the JSON of `simulate`, such as
/// `latency.last.mean` (times are in cycles); lists, as in a deadlock, are left out, and so is what no replication has. A figure that has the name of a swept setting is
/// told from it by a prefix: `result.seed` is the replication's seed where the experiment's is swept.
pub fn replications_table(summaries: &[PointSummary], runs: &[PointRuns]) -> Table {
    let rows: Vec<(&PointSummary, usize, BTreeMap<String, Cell>)> = replications(summaries, runs)
        .map(|(summary, replication, run)| {
            let mut figures = BTreeMap::new();
            flatten(&run, "", &mut figures);
            (summary, replication, figures)
        })
        .collect();
    let names: BTreeSet<&String> = rows.iter().flat_map(|(_, _, figures)| figures.keys()).collect();
    let mut columns = settings(summaries, &rows.iter().map(|(summary, ..)| *summary).collect::<Vec<_>>());
    let swept: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut column = |name: &str, values: Vec<Cell>| {
        let name = if swept.contains(name) { format!("result.{name}") } else { name.to_owned() };
        columns.push(TableColumn { name, values });
    };
    column("replication", rows.iter().map(|&(_, number, _)| Cell::Count(Some(number as u64))).collect());
    for name in names {
        let values = rows.iter().map(|(_, _, figures)| figures.get(name).cloned().unwrap_or(Cell::Text(None)));
        column(name, values.collect());
    }
    column("cycle_ns", rows.iter().map(|(summary, ..)| Cell::Number(Some(summary.cycle_ns))).collect());
    column("config_hash", rows.iter().map(|(summary, ..)| Cell::Text(Some(summary.config_hash.clone()))).collect());
    Table { columns }
}

/// The [table] of a sweep as CSV: a header, then a line a point.
pub fn csv(summaries: &[PointSummary]) -> String {
    table(summaries).csv()
}

/// What a file had that the table of these points replaces, if that is something else: results of other settings, or none.
pub fn replaced(old: &str, summaries: &[PointSummary]) -> Option<&'static str> {
    if old.trim().is_empty() || summaries.iter().any(|summary| old.contains(&summary.config_hash)) {
        return None;
    }
    let is_table = old.lines().next().is_some_and(|head| head.contains("config_hash"));
    Some(if is_table { "had results of other settings" } else { "was no table of results" })
}

/// The [table of replications](replications_table) as CSV: a header, then a line a replication.
pub fn replications_csv(summaries: &[PointSummary], runs: &[PointRuns]) -> String {
    replications_table(summaries, runs).csv()
}

impl Table {
    /// As CSV: a header, then a line a row; what a row does not have is empty.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let rows = self.columns.first().map_or(0, |column| column.values.len());
        // Writing to memory cannot fail, and all lines have the same length.
        let _ = writer.write_record(self.columns.iter().map(|column| &column.name));
        for row in 0..rows {
            let _ = writer.write_record(self.columns.iter().map(|column| column.values[row].text()));
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// All replications as JSON lines: an object for each, with the swept `settings` by their dotted paths, the `replication`'s number, its whole
/// `result` as `simulate` prints it, `cycle_ns` and the point's `config_hash`.
pub fn replications_json(summaries: &[PointSummary], runs: &[PointRuns]) -> String {
    let lines = replications(summaries, runs).map(|(summary, replication, result)| {
        let settings: serde_json::Map<String, Json> =
            summary.coordinates.iter().map(|coordinate| (coordinate.key.clone(), coordinate.value.clone())).collect();
        let line = json!({
            "settings": settings,
            "replication": replication,
            "result": result,
            "cycle_ns": summary.cycle_ns,
            "config_hash": summary.config_hash,
        });
        format!("{line}\n")
    });
    lines.collect()
}

/// All replications, each with its point, its number and its result.
fn replications<'a>(
    summaries: &'a [PointSummary],
    runs: &'a [PointRuns],
) -> impl Iterator<Item = (&'a PointSummary, usize, Json)> {
    summaries.iter().zip(runs).flat_map(|(summary, of_point)| {
        let results = of_point.runs.iter().enumerate();
        // What the store takes, JSON takes.
        results
            .map(move |(replication, run)| (summary, replication, serde_json::to_value(Shown(run)).unwrap_or_default()))
    })
}

/// The figures of a result, by dotted paths.
fn flatten(value: &Json, path: &str, figures: &mut BTreeMap<String, Cell>) {
    match value {
        Json::Object(map) => {
            for (name, inner) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(inner, &path, figures);
            }
        }
        Json::Null | Json::Array(_) => {}
        scalar => {
            figures.insert(path.to_owned(), Cell::of(scalar));
        }
    }
}

/// The columns of the swept settings, with those of a point in each of these rows.
fn settings(summaries: &[PointSummary], rows: &[&PointSummary]) -> Vec<TableColumn> {
    let swept = summaries.first().map_or(&[][..], |summary| &summary.coordinates);
    let column = |(place, coordinate): (usize, &Coordinate)| TableColumn {
        name: coordinate.key.clone(),
        values: rows.iter().map(|summary| Cell::of(&summary.coordinates[place].value)).collect(),
    };
    swept.iter().enumerate().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::runs::replication::Replication;
    use crate::runs::stopping::Outcome;
    use crate::statistics::summary::summarise;
    use crate::synthetic::run;

    fn points(text: &str) -> (Vec<PointSummary>, Vec<PointRuns>) {
        let points = Experiment::parse("test.toml", text, &[]).unwrap().points().unwrap();
        let runs = |index: usize| vec![run(100.0 + index as f64), run(102.0 + index as f64)];
        let runs: Vec<PointRuns> = (0..points.len())
            .map(|index| match index {
                2 => PointRuns::new(Outcome::Saturated, runs(index)),
                _ => PointRuns::new(Outcome::Precise, runs(index)),
            })
            .collect();
        (summarise(&points, &runs, 0.95, None), runs)
    }

    const SWEPT: &str = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.arrivals.process = 'poisson'\n\
                         traffic.multicast.destinations = 3\nsweep.traffic.arrivals.rate = [0.1, 0.2, 0.4]\n";

    fn cells(text: &str) -> Vec<Vec<&str>> {
        text.lines().map(|line| line.split(',').collect()).collect()
    }

    #[test]
    fn columns_that_no_point_has_are_left_out_and_all_others_documented() {
        let (summaries, _) = points(SWEPT);
        let text = csv(&summaries);
        let table = cells(&text);
        assert!(table.iter().all(|row| row.len() == table[0].len()));
        for (column, name) in table[0].iter().enumerate() {
            assert!(table[1..].iter().any(|row| !row[column].is_empty()), "{name} is empty");
        }
        assert!(
            !text.contains("plan_steps") && !text.contains("latency_unicast") && text.contains(",latency_p95_cycles,")
        );
        // Where nothing has a latency, it is still a table of latencies.
        let saturated = csv(&summaries[2..]);
        assert!(
            saturated.contains(
                "outcome,replications,window_messages,trend,window_needed,latency_last_cycles,latency_last_ns,"
            ) && !saturated.contains("latency_p95")
        );
        let documented = include_str!("../../../../docs/experiments.md");
        for (name, _) in COLUMNS {
            assert!(documented.contains(&format!("`{name}`")), "{name} is documented");
        }
    }

    #[test]
    fn replications_have_a_row_each() {
        let (summaries, runs) = points(SWEPT);
        let text = replications_csv(&summaries, &runs);
        let table = cells(&text);
        assert_eq!(table.len(), 1 + 6, "those of saturated points, too");
        assert_eq!(table[0][..2], ["traffic.arrivals.rate", "replication"]);
        let column = |name: &str| table[0].iter().position(|known| *known == name).unwrap();
        let of = |name: &str| table[1..].iter().map(|row| row[column(name)]).collect::<Vec<_>>();
        assert_eq!(of("replication"), ["0", "1", "0", "1", "0", "1"]);
        assert_eq!(of("latency.last.mean"), ["100.0", "102.0", "101.0", "103.0", "102.0", "104.0"]);
        assert_eq!(of("config_hash")[4], summaries[2].config_hash);
        // A setting and a figure of the same name are two columns.
        let (swept, of_seeds) = points(&SWEPT.replace(
            "sweep.traffic.arrivals.rate = [0.1, 0.2, 0.4]",
            "traffic.arrivals.rate = 0.1\nsweep.seed = [1, 2, 4]",
        ));
        let text = replications_csv(&swept, &of_seeds);
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        assert_eq!(names.iter().filter(|name| name.ends_with("seed")).collect::<Vec<_>>(), [&"seed", &"result.seed"]);
        assert!(!table[0].contains(&"latency.mean.p50") && !table[0].iter().any(|name| name.starts_with("deadlock")));

        let lines: Vec<Json> =
            replications_json(&summaries, &runs).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(
            (&lines[3]["settings"]["traffic.arrivals.rate"], &lines[3]["replication"]),
            (&json!(0.2), &json!(1))
        );
        let back: Replication = serde_json::from_value(lines[3]["result"].clone()).unwrap();
        assert_eq!(back, run(103.0), "nothing is lost");
    }
}
