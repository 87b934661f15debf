//! Errors as exceptions, with the texts that the command has.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use wormcast::lab::{RunError as LabError, StoreError, StoreProblem};

create_exception!(
    wormcast,
    InputError,
    PyValueError,
    "What was given is wrong. The text says what, where, and what was expected."
);
create_exception!(wormcast, RunError, PyRuntimeError, "The input is good, but the work failed.");

/// The exception for an error in what was given.
pub(crate) fn input(error: impl Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The exception for work that failed.
pub(crate) fn run(error: impl Display) -> PyErr {
    RunError::new_err(error.to_string())
}

/// The exception for what went wrong with a store.
pub(crate) fn store(error: StoreError) -> PyErr {
    match error.problem {
        StoreProblem::Foreign(_) | StoreProblem::Newer(_) => input(error),
        _ => run(error),
    }
}

/// The exception for an experiment without a result.
pub(crate) fn sweep(error: LabError) -> PyErr {
    match error {
        LabError::Input(diagnostic) => input(diagnostic),
        LabError::Store(error) => store(error),
        other => run(other),
    }
}

/// The exception for a panic, which is what an algorithm written in Python ends a run with when it fails.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    run(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "the program panicked".to_owned()))
}
