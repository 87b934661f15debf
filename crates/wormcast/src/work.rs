//! Long commands other than sweeps: shows their progress, and stops them with the results so far.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::interrupt;
use crate::network::watch::{Stopped, Watch, WorkProgress, attempt, watched};
use crate::network::{MemoryLimits, OutOfMemory};
use crate::progress::Meter;

/// Nothing is shown for commands that end sooner.
const QUIET: Duration = Duration::from_secs(1);
/// How often the display and the memory are looked after.
const TICK: Duration = Duration::from_millis(100);
/// How long an interrupted command may take to print what it has.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a simulation says that it does.
pub(crate) const SIMULATING: &str = "simulating";

thread_local! {
    /// What the answer lacks because of parts that were stopped.
    static MISSING: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Does a part of a command that the rest of its answer can do without; `None` if it was interrupted. `missing` is what the answer then
/// lacks.
pub(crate) fn part<T>(missing: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    attempt(work).map_err(|_| lacks(missing)).ok()
}

/// Says what else an answer lacks because a part of it was stopped.
pub(crate) fn lacks(missing: &'static str) {
    MISSING.with_borrow_mut(|all| all.push(missing));
}

/// Runs a command: shows on standard error how far it is, once that takes long, and ends it early at one of the
/// [signals](interrupt::signals) that ask for it, or if memory runs out. Then the answer has what was found out until then, and a line says what it lacks.
pub(crate) fn run(command: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let shared = Arc::new(Shared { signal: AtomicI32::new(0), at: Mutex::new(None), stopped: Mutex::new(None) });
    let (ended, end) = mpsc::channel();
    let signals = signals(&shared);
    let monitor = {
        let shared = Arc::clone(&shared);
        // Without it the command is silent, and does the same.
        std::thread::Builder::new().spawn(move || monitor(&shared, &end)).ok()
    };
    let result = watched(Rc::new(Observed(Arc::clone(&shared))), command);
    drop(ended);
    // It takes its bar away first.
    let _ = monitor.map(std::thread::JoinHandle::join);
    if let Some(signals) = signals {
        signals.close();
    }
    let signal = shared.signal.load(Ordering::Relaxed);
    let missing = MISSING.take();
    let stopped = *shared.stopped.lock().unwrap_or_else(PoisonError::into_inner);
    let interrupted = |message: String| Failure::Interrupted { signal, message };
    match (result, stopped) {
        (Err(Stopped(step)), _) => Err(interrupted(format!("interrupted while {step}: there is no answer yet"))),
        (Ok(done), Some(step)) => {
            done?;
            Err(interrupted(match &missing[..] {
                [] => format!("interrupted while {step}: the answer is of what was done until then"),
                lacks => format!("interrupted while {step}: the answer lacks {}", lacks.join(", ")),
            }))
        }
        (Ok(done), None) => done,
    }
}

/// The state that the command's thread, the monitor and the signal handlers share.
struct Shared {
    /// 0: none has come.
    signal: AtomicI32,
    /// How far the command is.
    at: Mutex<Option<WorkProgress>>,
    /// Where it was told to stop first.
    stopped: Mutex<Option<WorkProgress>>,
}

/// Passes on what the work says of itself.
struct Observed(Arc<Shared>);

impl Watch for Observed {
    fn step(&self, step: WorkProgress) -> ControlFlow<()> {
        let Self(shared) = self;
        *shared.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(step);
        if shared.signal.load(Ordering::Relaxed) == 0 {
            return ControlFlow::Continue(());
        }
        shared.stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(step);
        ControlFlow::Break(())
    }
}

/// Shows how far the command is, until it ends; and ends the process before the system kills it for its memory.
fn monitor(shared: &Shared, end: &mpsc::Receiver<()>) {
    let started = Instant::now();
    let terminal = io::stderr().is_terminal();
    let mut meter: Option<Meter> = None;
    let limits = MemoryLimits::now();
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TICK) {
        if let Some(reached) = limits.reached() {
            out_of_memory(shared, &reached);
        }
        if started.elapsed() >= QUIET {
            let at = *shared.at.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(step) = at {
                meter.get_or_insert_with(|| Meter::new(started, terminal)).show(step);
            }
        }
    }
    if let Some(meter) = meter {
        meter.finish();
    }
}

/// Ends the process. Everything that has been printed so far stays.
fn out_of_memory(shared: &Shared, reached: &OutOfMemory) -> ! {
    let at = *shared.at.lock().unwrap_or_else(PoisonError::into_inner);
    let remedy = match at {
        // Messages that wait are what grows.
        Some(WorkProgress { work: SIMULATING, .. }) => "a lower load, a smaller network or `run.max_cycles` takes less",
        _ => "a smaller network takes less",
    };
    let at = at.map_or_else(String::new, |step| format!(" while {step}"));
    let line = format!("error: out of memory{at}: {reached}; {remedy}{}\n", reached.remedy());
    let _ = io::stderr().write_all(line.as_bytes());
    std::process::exit(1);
}

#[cfg(unix)]
type Signals = signal_hook::iterator::Handle;

/// Records the first signal. If the command does not print its results soon after, the process ends without them.
#[cfg(unix)]
fn signals(shared: &Arc<Shared>) -> Option<Signals> {
    // If a handler cannot be set, the signal ends the process as it always does.
    let mut signals = interrupt::signals().ok()?;
    let handle = signals.handle();
    let shared = Arc::clone(shared);
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        shared.signal.store(signal, Ordering::Relaxed);
        std::thread::sleep(PATIENCE);
        let at = *shared.at.lock().unwrap_or_else(PoisonError::into_inner);
        let at = at.map_or_else(String::new, |step| format!(" while {step}"));
        let _ = io::stderr().write_all(format!("interrupted{at}: the answer is not complete\n").as_bytes());
        std::process::exit(128 + signal);
    };
    if std::thread::Builder::new().spawn(wait).is_err() {
        // Nobody would look at the signals.
        handle.close();
        return None;
    }
    Some(handle)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn close(self) {}
}

/// Elsewhere the system's own way to end a process does it.
#[cfg(not(unix))]
fn signals(_: &Arc<Shared>) -> Option<Signals> {
    None
}
