//! What plots draw, and the tables beside them, from a result store.

use axum::extract::State as Extracted;
use serde::Serialize;
use wormcast_lab::{
    Cell, Diagnostic, Experiment, Figure, Findings, PlotData, Quantity, RunError, Store, StoreError, StoreProblem,
    Table, csv, differences_text, other_settings, plot_data, stored_sweep, table,
};
use wormcast_network::text::expected_name;
use wormcast_simulation::{Parts, Quantiles};

use super::experiment::read;
use super::{Given, Shared, State, answer};
use crate::answer::{Json, Refusal};

#[derive(Serialize)]
struct Curves {
    /// What the plot draws, if it draws something.
    #[serde(flatten)]
    plot: Option<PlotData>,
    #[serde(flatten)]
    unplotted: Option<Unplotted>,
    /// What the experiment plots.
    quantities: Vec<&'static str>,
    /// Whether runs were simulated, which have latencies and can be recorded.
    simulated: bool,
    table: Rows,
    csv: String,
}

/// What there is in place of a plot: the table has what there is.
#[derive(Serialize)]
struct Unplotted {
    title: String,
    /// Why there is none.
    notes: Vec<String>,
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

/// Why a store cannot be read, without the advice for the command line.
pub(super) fn not_readable(error: &StoreError) -> Refusal {
    match &error.problem {
        StoreProblem::Foreign(reason) => {
            let file = error.path.display();
            Refusal::BadInput(format!("`{file}` is not a result store: {reason}; choose another file"))
        }
        StoreProblem::Newer(_) | StoreProblem::Unreadable(_) => Refusal::bad_input(error),
        _ => Refusal::Failed(error.to_string()),
    }
}

/// Why results cannot be had: the experiment is invalid, or the store fails.
fn not_found(error: RunError) -> Refusal {
    match error {
        RunError::Store(error) => not_readable(&error),
        RunError::Input(_) => Refusal::bad_input(error),
        other => Refusal::failed(other),
    }
}

/// What is wrong, without the place in an experiment file.
fn without_place(error: &Diagnostic) -> Refusal {
    let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
    Refusal::BadInput(format!("{}{help}", error.message()))
}

/// An experiment, and what a store of the folder has of it.
pub(super) fn found(state: &State, given: &Given) -> Result<(Experiment, Findings), Refusal> {
    let (file, name) = (given.need("experiment")?, given.need("store")?);
    let experiment = read(&state.folder, file, &serde_json::Map::new(), &[])?;
    let store = Store::read(&state.folder.file(name)?).map_err(|error| not_readable(&error))?;
    let findings = stored_sweep(&experiment, &store).map_err(not_found)?;
    if findings.runs.iter().all(|runs| runs.runs.is_empty()) {
        let others = other_settings(&experiment, &store).map_err(not_found)?;
        let differ = others.map_or_else(String::new, |others| {
            let differences = differences_text(&others);
            format!(". Its points are others: {differences}. Results of `--quick`, `--set` and `--variation` are for the command `plot`")
        });
        return Err(Refusal::Failed(format!(
            "`{name}` has no results of `{file}`: sweep it, or choose another store{differ}"
        )));
    }
    Ok((experiment, findings))
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["experiment", "store", "y"], &[])?;
    answer(&state, move |state| {
        let (experiment, findings) = found(state, &given)?;
        let quantities = experiment.quantities();
        let y = match given.get("y") {
            Some(name) => Some(Quantity::named(name).ok_or_else(|| {
                let expected = expected_name(name, Quantity::names().collect::<Vec<_>>());
                Refusal::BadInput(format!("there is no quantity `{name}`{expected}"))
            })?),
            None => None,
        };
        match y {
            // The request is wrong, not a place in the file.
            Some(y) => experiment.check_quantity(y).map_err(|error| without_place(&error))?,
            None => experiment.check_measured().map_err(Refusal::bad_input)?,
        }
        let figure = experiment.figure().map(|figure| Figure { y: y.unwrap_or(figure.y), ..figure });
        let drawn = figure.map(|figure| plot_data(&figure, &findings.summaries));
        let (plot, why) = match drawn {
            Some(Ok(plot)) => (Some(plot), None),
            Some(Err(nothing)) if nothing.is_empty() => (None, Some(nothing.to_string())),
            Some(Err(error)) => return Err(Refusal::failed(error)),
            None => (None, Some("this experiment has no numbers to plot against".to_owned())),
        };
        let mut runs = findings.runs.iter().flat_map(|point| &point.runs);
        Ok(Curves {
            simulated: runs.any(|run| run.simulated().is_some()),
            unplotted: why.map(|why| Unplotted { title: experiment.title().to_owned(), notes: vec![why] }),
            plot,
            quantities: quantities.into_iter().map(Quantity::name).collect(),
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
