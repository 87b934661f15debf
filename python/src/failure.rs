//! Errors as exceptions, with the texts that the command has.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use wormcast::lab::{Diagnostic, RunError as LabError, StoreError, StoreProblem, SweepError};
use wormcast::network::text::without_error_numbers;

create_exception!(
    wormcast,
    InputError,
    PyValueError,
    "What was given is wrong. The text says what, where, and what was expected."
);
create_exception!(wormcast, RunError, PyRuntimeError, "The input is good, but the work failed.");

create_exception!(
    wormcast,
    WorkersError,
    PyRuntimeError,
    "Workers are gone for good, or return what is no result. What was computed before is in the store."
);

/// The exception for an error in what was given.
pub(crate) fn input(error: impl Display) -> PyErr {
    InputError::new_err(without_error_numbers(&error.to_string()))
}

/// The exception for a mistake in an experiment, with its place.
pub(crate) fn diagnostic(error: Diagnostic) -> PyErr {
    let text = error.render(false);
    input(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
}

/// The exception for work that failed.
pub(crate) fn run(error: impl Display) -> PyErr {
    RunError::new_err(without_error_numbers(&error.to_string()))
}

/// The exception for what went wrong with a store.
pub(crate) fn store(error: StoreError) -> PyErr {
    match error.problem {
        StoreProblem::Foreign(_) | StoreProblem::Newer(_) => input(error),
        StoreProblem::Unreadable(_) if error.path.exists() => input(error),
        _ => run(error),
    }
}

/// The exception for an experiment without a result.
pub(crate) fn sweep(error: LabError) -> PyErr {
    match error {
        LabError::Input(error) => diagnostic(*error),
        LabError::Store(error) | LabError::Sweep(SweepError::Store(error)) => store(error),
        LabError::Sweep(SweepError::Workers(error)) => WorkersError::new_err(error.to_string()),
        // As for the command: a replication that cannot be simulated was asked for wrongly.
        LabError::Run(error) => input(error),
        LabError::Sweep(error @ SweepError::Run { .. }) => input(error),
        other => run(other),
    }
}

/// The exception for a panic, which is what an algorithm written in Python ends a run with when it fails.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> PyErr {
    if let Some(error) = panic.downcast_ref::<PyErr>() {
        return Python::attach(|py| error.clone_ref(py));
    }
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    run(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the program panicked".to_owned()))
}
