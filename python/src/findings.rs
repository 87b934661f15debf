//! What was found: tables, verdicts, plots.

use std::sync::OnceLock;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wormcast::lab::{
    self, Compared, Table as LabTable, csv, plot, plot_comparison, replaced, replications_csv, replications_json,
    replications_table, table,
};

use crate::arrow::{batch, stream};
use crate::failure::run;

/// A table that other libraries take without a copy.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        Self { batch }
    }

    fn of(table: &LabTable) -> PyResult<Self> {
        Ok(Self { batch: batch(table)? })
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Best effort, as the protocol allows: the schema is what it is.
        drop(requested_schema);
        stream(py, &self.batch)
    }
}

/// A plot: its quantity, the end of its files' names, SVG, PNG.
type Drawn = (String, String, String, Vec<u8>);

/// Writes a file: the old one or the new one stays, never half of one.
#[pyfunction]
pub(crate) fn write_file(path: &str, contents: &[u8]) -> PyResult<()> {
    lab::write_file(std::path::Path::new(path), contents).map_err(run)
}

/// The findings of a sweep.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Findings {
    experiment: lab::Experiment,
    found: lab::Findings,
    /// The rows of the store that were damaged, and set aside.
    #[pyo3(get)]
    damaged: Vec<String>,
    table: OnceLock<RecordBatch>,
}

impl Findings {
    pub(crate) fn new(experiment: lab::Experiment, findings: lab::Findings, damaged: Vec<String>) -> Self {
        Self { experiment, found: findings, damaged, table: OnceLock::new() }
    }
}

#[pymethods]
impl Findings {
    /// The table, a row a point.
    fn table(&self) -> PyResult<Table> {
        let batch = match self.table.get() {
            Some(made) => made.clone(),
            None => {
                let made = batch(&table(&self.found.summaries))?;
                self.table.get_or_init(|| made).clone()
            }
        };
        Ok(Table { batch })
    }

    /// A row a replication.
    fn replications(&self) -> PyResult<Table> {
        Table::of(&replications_table(&self.found.summaries, &self.found.runs))
    }

    fn csv(&self) -> String {
        csv(&self.found.summaries)
    }

    fn replications_csv(&self) -> String {
        replications_csv(&self.found.summaries, &self.found.runs)
    }

    fn replications_json(&self) -> String {
        replications_json(&self.found.summaries, &self.found.runs)
    }

    /// The summary of each point, as JSON.
    fn summaries(&self) -> PyResult<String> {
        serde_json::to_string(&self.found.summaries).map_err(run)
    }

    /// The claims and their verdicts, as JSON.
    fn claims(&self) -> PyResult<String> {
        serde_json::to_string(&self.found.verdicts).map_err(run)
    }

    /// The same, as a file of the command has them.
    fn claims_file(&self) -> PyResult<String> {
        Ok(serde_json::to_string_pretty(&self.found.verdicts).map_err(run)? + "\n")
    }

    /// Which series is best where, for each quantity that is shown, as JSON.
    fn rankings(&self) -> PyResult<String> {
        serde_json::to_string(&self.found.rankings).map_err(run)
    }

    /// What the first plot shows: the setting or load along the horizontal axis, the quantity, and what makes the curves.
    fn axes(&self) -> (String, String, Option<String>) {
        let figure = self.experiment.figures().into_iter().next();
        figure.map_or_else(Default::default, |figure| (figure.x, figure.y.name().to_owned(), figure.series))
    }

    /// What a file had that the table would replace, if that is something else.
    fn replaced(&self, table: &str) -> Option<&'static str> {
        let old = std::fs::read(table).ok()?;
        replaced(&String::from_utf8_lossy(&old), &self.found.summaries)
    }

    /// The plots: the quantity, the end of its files' names, as SVG and as PNG.
    fn plots(&self, py: Python<'_>) -> PyResult<Vec<Drawn>> {
        py.detach(|| {
            let figures = self.experiment.figures();
            let mut plots = Vec::with_capacity(figures.len());
            for figure in &figures {
                match plot(figure, &self.found.summaries) {
                    Ok(drawn) => {
                        plots.push((figure.y.name().to_owned(), figure.file_suffix(&figures), drawn.svg, drawn.png));
                    }
                    Err(error) if error.is_empty() => {}
                    Err(error) => return Err(run(error)),
                }
            }
            Ok(plots)
        })
    }
}

/// A comparison of series.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Comparison {
    compared: Compared,
}

impl Comparison {
    pub(crate) fn new(compared: Compared) -> Self {
        Self { compared }
    }
}

#[pymethods]
impl Comparison {
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.compared.comparison).map_err(run)
    }

    /// Where series change places, in words.
    fn crossings(&self) -> Vec<String> {
        self.compared.comparison.crossings.iter().map(ToString::to_string).collect()
    }

    /// The plot as SVG and as PNG; `None` if there is nothing to draw.
    fn plot(&self, py: Python<'_>) -> PyResult<Option<(String, Vec<u8>)>> {
        py.detach(|| match plot_comparison(&self.compared) {
            Ok(drawn) => Ok(Some((drawn.svg, drawn.png))),
            Err(error) if error.is_empty() => Ok(None),
            Err(error) => Err(run(error)),
        })
    }
}

/// The result of a run.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Run {
    #[pyo3(get)]
    json: String,
    deliveries: Option<Table>,
}

impl Run {
    pub(crate) fn new(json: String, deliveries: Option<Table>) -> Self {
        Self { json, deliveries }
    }
}

#[pymethods]
impl Run {
    /// A row for each delivery: message, source, destination, and the cycles in which it was generated and delivered.
    fn deliveries(&self) -> Option<Table> {
        self.deliveries.as_ref().map(|table| Table { batch: table.batch.clone() })
    }
}
