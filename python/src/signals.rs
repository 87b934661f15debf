//! Long work that Ctrl-C stops.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use wormcast::network::watch::{Watch, WorkProgress, watched};

use crate::failure::panicked;

/// How often it is asked whether a signal has come.
pub(crate) const OFTEN: Duration = Duration::from_millis(100);

/// Asks Python for signals, now and then.
struct Signals {
    asked: Cell<Instant>,
    interruption: Rc<RefCell<Option<PyErr>>>,
}

impl Watch for Signals {
    fn step(&self, _: WorkProgress) -> ControlFlow<()> {
        // Work that is stopped may go on with another part.
        if self.interruption.borrow().is_some() {
            return ControlFlow::Break(());
        }
        if self.asked.get().elapsed() < OFTEN {
            return ControlFlow::Continue(());
        }
        self.asked.set(Instant::now());
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *self.interruption.borrow_mut() = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Does work without Python's lock. A signal ends it, and a panic becomes an exception.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| {
        let interruption = Rc::new(RefCell::new(None));
        let signals = Signals { asked: Cell::new(Instant::now()), interruption: Rc::clone(&interruption) };
        match catch_unwind(AssertUnwindSafe(|| watched(Rc::new(signals), work))) {
            Ok(done) => match (interruption.take(), done) {
                (None, Ok(done)) => Ok(done),
                (Some(interruption), _) => Err(interruption),
                (None, Err(_)) => Err(PyKeyboardInterrupt::new_err(())),
            },
            Err(panic) => Err(panicked(&*panic)),
        }
    })
}
