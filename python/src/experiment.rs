//! Experiments: described, run and compared.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::json;
use wormcast::command::this_program;
use wormcast::lab::{
    self, Batch, Job, Override, Point, Quantity, Replication, Shown, StoppableThreads, Store, SweepSafety,
    compare_series, run_sweep_with, stored_sweep, sweep_safety,
};
use wormcast::simulation::{DeliveryLog, EngineChoice, Scenario, plan_messages, simulate_observed};

use crate::algorithm::setting;
use crate::arrow::integers;
use crate::failure::{diagnostic, input, run, store as store_failure, sweep};
use crate::findings::{Comparison, Findings, Run, Table};
use crate::progress::Progress;
use crate::signals::interruptible;
use crate::workers::{Answer, Pool};

/// An experiment: a file or a text, with settings beside it.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Experiment {
    experiment: lab::Experiment,
    /// Settings beside it that others replace.
    warnings: Vec<String>,
}

impl Experiment {
    fn parsed(
        path: &str,
        text: Option<&str>,
        settings: &[String],
        quick: bool,
        variation: Option<&str>,
    ) -> PyResult<Self> {
        let overrides = settings.iter().map(|setting| Override::set(setting)).collect::<Result<Vec<_>, _>>();
        let overrides = overrides.map_err(diagnostic)?;
        let warnings = Override::check(&overrides, quick).map_err(diagnostic)?;
        let experiment = match text {
            Some(text) => lab::Experiment::parse(path, text, &overrides),
            None => lab::Experiment::read(Path::new(path), &overrides),
        };
        let mut experiment = experiment.map_err(diagnostic)?;
        if quick {
            if !experiment.has_quick() {
                return Err(input(format!("`{path}` has no quick version: expected a table `[quick]` of settings")));
            }
            experiment = experiment.quick().map_err(diagnostic)?;
        }
        if let Some(name) = variation {
            experiment = experiment.variation(name).map_err(diagnostic)?;
        }
        Ok(Self { experiment, warnings })
    }

    fn point(&self) -> PyResult<(Point, Job)> {
        let point = self.experiment.point().map_err(diagnostic)?;
        let job = self.experiment.job(&point).map_err(diagnostic)?;
        Ok((point, job))
    }
}

#[pymethods]
impl Experiment {
    #[new]
    fn new(
        py: Python<'_>,
        path: &str,
        text: Option<&str>,
        settings: Vec<String>,
        quick: bool,
        variation: Option<&str>,
    ) -> PyResult<Self> {
        interruptible(py, || Self::parsed(path, text, &settings, quick, variation))?
    }

    #[getter]
    fn title(&self) -> &str {
        self.experiment.title()
    }

    #[getter]
    fn name(&self) -> String {
        self.experiment.name()
    }

    #[getter]
    fn text(&self) -> &str {
        self.experiment.text()
    }

    #[getter]
    fn swept(&self) -> Vec<&str> {
        self.experiment.swept()
    }

    #[getter]
    fn variations(&self) -> Vec<String> {
        self.experiment.variations()
    }

    /// All points as JSON: their label, the swept settings, all settings, and the hash that names their results.
    fn points(&self, py: Python<'_>) -> PyResult<String> {
        let points = interruptible(py, || self.experiment.points())?.map_err(diagnostic)?;
        let point = |point: &Point| {
            let settings: serde_json::Map<String, serde_json::Value> =
                point.coordinates.iter().map(|c| (c.key.clone(), c.value.clone())).collect();
            json!({
                "label": point.label(),
                "settings": settings,
                "spec": point.spec,
                "config_hash": point.spec.config_hash(),
            })
        };
        Ok(serde_json::Value::from(points.iter().map(point).collect::<Vec<_>>()).to_string())
    }

    /// The files that its points read, each with the setting that names it.
    fn reads(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, PathBuf)>> {
        let experiment = &self.experiment;
        let points = interruptible(py, || experiment.points())?.map_err(diagnostic)?;
        let files: BTreeSet<_> = points.iter().flat_map(|point| experiment.files(point)).collect();
        Ok(files.into_iter().collect())
    }

    /// Checks that all points can be run, or the single configuration, and returns what is to be said of them: settings without effect, and points
    /// that may deadlock.
    fn check(&self, py: Python<'_>, single: bool) -> PyResult<Vec<String>> {
        let experiment = &self.experiment;
        interruptible(py, || {
            let (points, jobs) = if single {
                let (point, job) = self.point()?;
                (vec![point], vec![job])
            } else {
                experiment.check_measured().map_err(diagnostic)?;
                let points = experiment.points().map_err(diagnostic)?;
                let jobs = experiment.jobs(&points).map_err(diagnostic)?;
                (points, jobs)
            };
            let idle = experiment.idle_settings(&points, |index| jobs[index].idle_settings()).map_err(diagnostic)?;
            let mut warnings = self.warnings.clone();
            warnings.extend(idle.iter().map(ToString::to_string));
            warnings.extend(jobs.iter().filter_map(Job::trace_warning).map(str::to_owned));
            warnings.extend(jobs.iter().flat_map(Job::doubts));
            let SweepSafety { unsafe_points, .. } = sweep_safety(&points, &jobs);
            warnings.extend(unsafe_points.iter().map(|found| {
                let spec = &points[found.point].spec;
                let (algorithm, topology) = (&spec.algorithm, &spec.topology);
                format!("the static analysis finds that worms of `{algorithm}` can deadlock on `{topology}` with these settings")
            }));
            warnings.dedup();
            Ok(warnings)
        })?
    }

    /// Runs all points: on threads of this process, or by a pool of workers.
    fn run(
        &self,
        py: Python<'_>,
        store: Option<&str>,
        jobs: Option<usize>,
        fresh: bool,
        progress: Option<Py<PyAny>>,
        pool: Option<Py<PyAny>>,
    ) -> PyResult<Findings> {
        let experiment = self.experiment.clone();
        experiment.check_measured().map_err(diagnostic)?;
        let runner = interruptible(py, || lab::Runner::keeping_prepared(experiment))?.map_err(diagnostic)?;
        let mut progress = Progress::new(progress);
        let done = py.detach(|| {
            let mut store = opened(store)?;
            let runner = Arc::new(runner);
            let (done, raised) = match pool {
                Some(pool) => {
                    let mut workers = Pool::new(pool)?;
                    (run_sweep_with(&runner, &mut workers, &mut store, fresh, &mut progress), workers.raised)
                }
                None => {
                    let mut raised = None;
                    let ask = || {
                        raised = Python::attach(|py| py.check_signals()).err();
                        raised.is_some().then(|| "interrupted".to_owned())
                    };
                    let mut workers = StoppableThreads::new(threads(jobs)?, &runner, ask).map_err(run)?;
                    let done = run_sweep_with(&runner, &mut workers, &mut store, fresh, &mut progress);
                    drop(workers);
                    (done, raised)
                }
            };
            match raised {
                Some(raised) => Err(raised),
                None => done.map_err(sweep),
            }
        });
        match progress.raised {
            Some(raised) => Err(raised),
            None => Ok(Findings::new(self.experiment.clone(), done?, progress.damaged)),
        }
    }

    /// What a store has of the points, without running anything.
    fn stored(&self, py: Python<'_>, store: &str) -> PyResult<Findings> {
        let found = interruptible(py, || {
            if !Path::new(store).exists() {
                return Err(input(format!("there is no result store `{store}`: run the experiment first")));
            }
            if std::fs::metadata(store).is_ok_and(|found| found.is_file() && found.len() == 0) {
                return Err(input(format!("`{store}` is empty: expected a result store")));
            }
            let opened = Store::read(Path::new(store)).map_err(store_failure)?;
            stored_sweep(&self.experiment, &opened).map_err(sweep)
        })??;
        Ok(Findings::new(self.experiment.clone(), found, Vec::new()))
    }

    /// Compares series, and runs what that takes.
    #[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn compare(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        quantity: Option<&str>,
        budget: Option<u64>,
        store: Option<&str>,
        jobs: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Comparison> {
        let quantity = quantity.map(|name| setting("quantity", &serde_json::Value::from(name).to_string()));
        let quantity: Option<Quantity> = quantity.transpose()?;
        let mut progress = Progress::new(progress);
        let done = py.detach(|| {
            let mut store = opened(store)?;
            let jobs = threads(jobs)?;
            compare_series(&self.experiment, &names, quantity, budget, jobs, &mut store, &mut progress).map_err(sweep)
        });
        match progress.raised {
            Some(raised) => Err(raised),
            None => Ok(Comparison::new(done?)),
        }
    }

    /// Simulates the single configuration once, with deliveries if they are asked for.
    fn simulate(&self, py: Python<'_>, deliveries: bool) -> PyResult<Run> {
        interruptible(py, || {
            let (point, job) = self.point()?;
            let (spec, mut log) = (&point.spec, None);
            let result: Replication = match &job {
                Job::Plan(planning) => Replication::Planned(plan_messages(planning, spec.seed).map_err(run)?),
                _ => {
                    let scenario: &Scenario = job.scenario().map_err(input)?;
                    let failed = |error| match self.experiment.explain(&point, &error) {
                        Some(error) => diagnostic(error),
                        None => run(error),
                    };
                    let (engine, seed): (EngineChoice, u64) = (spec.engine, spec.seed);
                    if deliveries {
                        let mut kept = DeliveryLog::new(std::env::temp_dir());
                        let result = simulate_observed(scenario, engine, seed, &mut (Signalled::default(), &mut kept));
                        log = Some(kept);
                        result.map_err(failed)?.into()
                    } else {
                        simulate_observed(scenario, engine, seed, &mut Signalled::default()).map_err(failed)?.into()
                    }
                }
            };
            let mut rows = [const { Vec::new() }; 5];
            if let Some(log) = log {
                let visited = log.visit(|row| {
                    rows.iter_mut().zip(row).for_each(|(column, value)| column.push(value.cast_signed()));
                    Ok(())
                });
                visited.map_err(run)?;
            }
            let names = ["message", "source", "destination", "generated", "delivered"];
            let table = deliveries.then(|| integers(names.into_iter().zip(rows).collect())).transpose()?;
            let mut report = json!({
                "config_hash": spec.config_hash(),
                "topology": spec.topology,
                "algorithm": spec.algorithm,
            });
            if let (Some(all), Ok(serde_json::Value::Object(figures))) =
                (report.as_object_mut(), serde_json::to_value(Shown(&result)))
            {
                all.extend(figures);
            }
            Ok(Run::new(report.to_string(), table.map(Table::of_batch)))
        })?
    }
}

/// Asks for signals while a run goes on.
#[derive(Default)]
struct Signalled(std::cell::Cell<usize>);

impl wormcast::simulation::Observer for Signalled {
    fn done(&self) -> bool {
        const SELDOM: usize = 1 << 12;
        let cycles = self.0.get() + 1;
        self.0.set(cycles);
        if cycles.is_multiple_of(SELDOM) {
            // Unwinds if a signal has come.
            wormcast::network::watch::step("simulating", "busy cycles", cycles, 0);
        }
        false
    }
}

/// The threads of a sweep: those asked for, or as many as there are cores.
fn threads(jobs: Option<usize>) -> PyResult<NonZeroUsize> {
    const MOST: usize = 1024;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match jobs {
        None => Ok(cores()),
        Some(jobs) => NonZeroUsize::new(jobs.min(MOST)).ok_or_else(|| input("jobs: expected 1 or more")),
    }
}

/// A store, or none that outlives the sweep.
fn opened(path: Option<&str>) -> PyResult<Store> {
    let store = match path {
        None => Store::in_memory(),
        Some(path) => {
            let path = Path::new(path);
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)
                    .map_err(|error| run(format!("cannot make the folder `{}`: {error}", folder.display())))?;
            }
            Store::open(path)
        }
    };
    Ok(store.map_err(store_failure)?.made_by(this_program()))
}

/// Computes replications of an experiment's points in a worker. Networks and algorithms are made with the first replication that needs them.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Runner {
    runner: lab::Runner<'static>,
}

#[pymethods]
impl Runner {
    #[new]
    fn new(experiment: &Experiment) -> PyResult<Self> {
        Ok(Self { runner: lab::Runner::keeping(experiment.experiment.clone()).map_err(diagnostic)? })
    }

    /// Computes replications of a point, and returns an answer for the coordinator.
    fn compute(
        &self,
        py: Python<'_>,
        position: usize,
        window: (u32, Option<u64>),
        first: u32,
        count: u32,
        config_hash: &str,
    ) -> PyResult<Vec<u8>> {
        let (doubled, messages) = window;
        let points = self.runner.points();
        let Some(point) = points.get(position) else {
            return Err(input(format!("there is no point {position}; the experiment has {}", points.len())));
        };
        let point = if doubled > 0 { point.clone().lengthened(doubled, messages) } else { point.clone() };
        let found = point.spec.config_hash();
        if found != config_hash {
            return Err(run(format!(
                "point {position} is {found} here, and the coordinator asks for {config_hash}: a file that the experiment names, or an algorithm, is another"
            )));
        }
        let batch = Batch { position, point, replications: first..first + count };
        let answer = py.detach(|| Answer::compute(&self.runner, batch));
        serde_json::to_vec(&answer).map_err(run)
    }
}
