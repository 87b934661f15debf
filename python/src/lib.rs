//! The native half of the Python package: networks, plans, analyses, sweeps and their results.
//!
//! It is private: `wormcast/*.py` is what users see. Reports cross the border as the JSON that the command prints, tables by the Arrow `PyCapsule` interface.
//! Python's lock is released while anything is computed.

use pyo3::prelude::*;

mod algorithm;
mod analysis;
mod arrow;
mod experiment;
mod failure;
mod findings;
mod network;
mod own_algorithm;
mod progress;
mod signals;
mod workers;

#[pymodule]
mod _native {
    use std::ffi::OsString;

    use pyo3::prelude::*;
    use wormcast::command::{run_inside, this_program};
    use wormcast::multicast::algorithms as known;
    use wormcast::routing::ROUTINGS;
    use wormcast::simulation::MODEL_VERSION;

    #[pymodule_export]
    use crate::algorithm::Algorithm;
    #[pymodule_export]
    use crate::analysis::{analyse_routing, analyse_tables};
    #[pymodule_export]
    use crate::experiment::{Experiment, Runner};
    #[pymodule_export]
    use crate::failure::{InputError, RunError, WorkersError};
    #[pymodule_export]
    use crate::findings::{Comparison, Findings, Run, Table, write_file};
    #[pymodule_export]
    use crate::network::Network;
    #[pymodule_export]
    use crate::own_algorithm::register;

    /// The version, and the commit if it is known; and the version of the model, which results depend on.
    #[pyfunction]
    fn version() -> (String, String, u32) {
        let program = this_program();
        (program.version.to_owned(), program.revision.to_owned(), MODEL_VERSION)
    }

    /// The names of all algorithms, and what each does.
    #[pyfunction]
    fn algorithms() -> Vec<(&'static str, &'static str)> {
        known().into_iter().map(|algorithm| (algorithm.name, algorithm.summary)).collect()
    }

    /// The names of all routings, and what each does.
    #[pyfunction]
    fn routings() -> Vec<(&'static str, &'static str)> {
        ROUTINGS.iter().map(|routing| (routing.name, routing.summary)).collect()
    }

    /// Runs a command line, and returns its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| run_inside(arguments))
    }
}
