//! What plots draw, and the tables beside them, from a result store.

use axum::extract::State as Extracted;
use serde::Serialize;
use wormcast_lab::{Cell, Experiment, Findings, PlotData, Quantity, Store, Table, csv, plot_data, stored_sweep, table};
use wormcast_network::text::expected_name;
use wormcast_simulation::{Parts, Quantiles};

use super::experiment::read;
use super::{Given, Shared, State, answer};
use crate::answer::{Json, Refusal};

#[derive(Serialize)]
struct Curves {
    #[serde(flatten)]
    plot: PlotData,
    /// What the experiment plots.
    quantities: Vec<&'static str>,
    table: Rows,
    csv: String,
}

#[derive(Serialize)]
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<serde_json::Value>>,
}

impl Rows {
    fn of(table: &Table) -> Self {
        let count = table.columns.first().map_or(0, |column| column.values.len());
        let row = |row: usize| table.columns.iter().map(|column| value(&column.values[row])).collect();
        Self {
            columns: table.columns.iter().map(|column| column.name.clone()).collect(),
            rows: (0..count).map(row).collect(),
        }
    }
}

fn value(cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Text(text) => text.clone().into(),
        Cell::Number(number) => (*number).into(),
        Cell::Count(count) => (*count).into(),
        Cell::Flag(flag) => (*flag).into(),
        Cell::Json(number) => number.clone().into(),
    }
}

/// An experiment, and what a store of the folder has of it.
pub(super) fn found(state: &State, given: &Given) -> Result<(Experiment, Findings), Refusal> {
    let experiment = read(&state.folder, given.need("experiment")?, &serde_json::Map::new(), &[])?;
    let path = state.folder.file(given.need("store")?)?;
    let store = Store::read(&path).map_err(Refusal::bad_input)?;
    let findings = stored_sweep(&experiment, &store).map_err(Refusal::bad_input)?;
    Ok((experiment, findings))
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["experiment", "store", "y"], &[])?;
    answer(&state, move |state| {
        let (experiment, findings) = found(state, &given)?;
        if findings.runs.iter().all(|runs| runs.runs.is_empty()) {
            let [file, store] = ["experiment", "store"].map(|name| given.get(name).unwrap_or_default());
            return Err(Refusal::Failed(format!(
                "`{store}` has no results of `{file}`: `sweep` computes them, or choose another store"
            )));
        }
        let Some(mut figure) = experiment.figure() else {
            return Err(Refusal::BadInput("this experiment has no numbers to plot against".to_owned()));
        };
        if let Some(name) = given.get("y") {
            figure.y = Quantity::named(name).ok_or_else(|| {
                let expected = expected_name(name, Quantity::names().collect::<Vec<_>>());
                Refusal::BadInput(format!("there is no quantity `{name}`{expected}"))
            })?;
        }
        let plot = plot_data(&figure, &findings.summaries).map_err(Refusal::failed)?;
        Ok(Curves {
            plot,
            quantities: experiment.quantities().into_iter().map(Quantity::name).collect(),
            table: Rows::of(&table(&findings.summaries)),
            csv: csv(&findings.summaries),
        })
    })
    .await
}

#[derive(Serialize)]
struct Distribution {
    /// The share of messages whose latency is at most this many cycles.
    quantiles: Vec<[f64; 2]>,
    /// Means of the parts of the latency to the last destination, in cycles.
    parts: Option<Parts>,
    cycle_ns: f64,
    replications: u32,
}

pub(super) async fn distribution(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["experiment", "store", "point"], &[])?;
    answer(&state, move |state| {
        let (_, findings) = found(state, &given)?;
        let point = given.need("point")?;
        let place = findings.summaries.iter().position(|summary| summary.config_hash == point);
        let place = place.ok_or_else(|| Refusal::Missing(format!("the experiment has no point `{point}`")))?;
        let summary = &findings.summaries[place];
        let runs = findings.runs[place].runs.iter().filter_map(|run| run.simulated());
        let measured: Vec<(&Quantiles, u64)> =
            runs.filter_map(|run| Some((run.latency.quantiles.as_ref()?, run.messages.measured))).collect();
        Ok(Distribution {
            quantiles: together(&measured),
            parts: summary.latency().map(|latency| latency.parts),
            cycle_ns: summary.cycle_ns,
            replications: summary.replications,
        })
    })
    .await
}

/// The distribution over the messages of several runs.
fn together(runs: &[(&Quantiles, u64)]) -> Vec<[f64; 2]> {
    let mut latencies: Vec<f64> =
        runs.iter().flat_map(|(quantiles, _)| quantiles.pairs().iter().map(|&(_, latency)| latency)).collect();
    latencies.sort_unstable_by(f64::total_cmp);
    latencies.dedup();
    let all: u64 = runs.iter().map(|&(_, measured)| measured).sum();
    let share = |latency: f64| -> f64 {
        runs.iter().map(|(quantiles, measured)| quantiles.share_below(latency) * *measured as f64).sum::<f64>()
            / all.max(1) as f64
    };
    latencies.into_iter().map(|latency| [share(latency), latency]).collect()
}
