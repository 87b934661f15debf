//! The progress of sweeps, told to Python.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use wormcast::lab::{DamagedRow, Status, SweepObserver};

use crate::signals::OFTEN;

/// Tells a function of Python how far a sweep is, and asks for signals.
pub(crate) struct Progress {
    told: Option<Py<PyAny>>,
    last: Option<Instant>,
    /// What the function, or a signal, has raised.
    pub(crate) raised: Option<PyErr>,
    /// The rows of the store that were damaged.
    pub(crate) damaged: Vec<String>,
}

impl Progress {
    pub(crate) fn new(told: Option<Py<PyAny>>) -> Self {
        Self { told, last: None, raised: None, damaged: Vec::new() }
    }
}

impl SweepObserver for Progress {
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        let all = status.points_done == status.points;
        let recent = |last: Instant| last.elapsed() < Duration::min(OFTEN, Duration::from_secs(1));
        if !all && self.last.is_some_and(recent) {
            return ControlFlow::Continue(());
        }
        self.last = Some(Instant::now());
        let label = status.point.as_ref().map(|of| of.point.label()).unwrap_or_default();
        let numbers = (
            status.points_done,
            status.points,
            status.replications,
            status.replications_expected,
            status.computed,
            label,
        );
        let done = Python::attach(|py| {
            py.check_signals()?;
            self.told.as_ref().map_or(Ok(()), |told| told.call1(py, numbers).map(drop))
        });
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn damaged(&mut self, row: &DamagedRow) {
        self.damaged.push(row.to_string());
    }
}
